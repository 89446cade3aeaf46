package shell

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/weir-sql/weir"
)

// TestMain runs the tests, or is the REPL that a test has started in a pseudo-terminal.
func TestMain(m *testing.M) {
	if os.Getenv("WEIR_TEST_REPL") == "" {
		goleak.VerifyTestMain(m)
		return
	}
	db, err := weir.Open(weir.Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(ExitFailed)
	}
	status := REPL(context.Background(), &Runner{DB: db, Out: os.Stdout, Err: os.Stderr, Progress: true})
	if err := db.Close(); err != nil {
		fmt.Println(err)
		status = ExitFailed
	}
	os.Exit(status)
}
