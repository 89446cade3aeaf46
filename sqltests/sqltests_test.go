package sqltests_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/weir-sql/weir/connectors/all"
	"github.com/weir-sql/weir/sqltests"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSuite runs the suite of the project under the default configuration and, in long mode, under the whole matrix, as `weir test --matrix` does.
func TestSuite(t *testing.T) {
	variants := sqltests.Matrix()
	if testing.Short() {
		variants = variants[:1]
	}
	cfg := sqltests.Config{Connectors: all.Connectors(), Formats: all.Formats()}
	for _, dir := range []string{"cases", "conformance", "functions", "queries", "statements", "time", "bugs"} {
		t.Run(dir, func(t *testing.T) { sqltests.RunWith(t, dir, cfg, variants) })
	}
}
