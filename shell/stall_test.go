package shell

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-sql/weir"
)

// lockedBuffer is a buffer for what several goroutines print.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestStallIsTold: a query that takes rows and gives none says why, on stderr, whether its result is printed or written; not with --quiet.
func TestStallIsTold(t *testing.T) {
	const table = "CREATE TABLE w (ts TIMESTAMP(3), n BIGINT) WITH ('connector' = 'blackhole'); "
	const windows = "SELECT window_start, COUNT(*) FROM TUMBLE(TABLE c, DESCRIPTOR(ts), INTERVAL '1' DAY) GROUP BY window_start, window_end"
	for _, c := range []struct {
		name, sql string
		quiet     bool
		want      string
	}{
		{"select", windows, false, "no result for 5 s: no window is over yet"},
		{"insert", table + "INSERT INTO w " + windows, false, "insert-into_default_catalog.default_database.w: no result for 5 s: no window is over yet"},
		{"insert that is waited for", table + "SET 'table.dml-sync' = 'true'; INSERT INTO w " + windows, false, "no result for 5 s: no window is over yet"},
		{"quiet", windows, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := weir.NewVirtualClock(time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC))
			db, err := weir.Open(weir.Options{Clock: clock})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			type row struct {
				TS time.Time `weir:"ts,watermark=5s"`
			}
			rows := make(chan row)
			if err := db.RegisterTable("c", rows); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			errOut := &lockedBuffer{}
			r := &Runner{DB: db, Out: &out, Err: errOut, Quiet: c.quiet, Writer: WriterOptions{Format: "csv"}}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				r.RunScript(ctx, c.sql, "")
			}()
			for range 30 { // 30 s: a row each second, and time for the one that looks
				select {
				case rows <- row{clock.Now()}:
				case <-ctx.Done():
					t.Fatal("the row was not taken")
				}
				if err := clock.Advance(ctx, time.Second); err != nil {
					t.Fatal(err)
				}
			}
			for c.want != "" && !strings.Contains(errOut.String(), c.want) {
				if ctx.Err() != nil {
					t.Fatalf("stderr %q does not say %q", errOut.String(), c.want)
				}
				rows <- row{clock.Now()}
				if err := clock.Advance(ctx, time.Second); err != nil {
					t.Fatal(err)
				}
			}
			cancel()
			<-ended
			if c.quiet && errOut.String() != "" {
				t.Errorf("stderr %q", errOut.String())
			}
			if n := strings.Count(errOut.String(), "no result for"); n > 1 {
				t.Errorf("said %d times: %s", n, errOut.String())
			}
		})
	}
}
