package shell

import (
	"bytes"
	"context"
	"runtime"
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

// atPrompt makes what runs statements as the REPL does and leaves when ctx ends.
func atPrompt(ctx context.Context, t *testing.T, r *Runner, sql string) func() {
	r.Interactive = true
	s := &repl{r: r, beside: r.Err, leaving: make(chan struct{})}
	return func() {
		if err := s.statements(ctx, sql, ""); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		s.leave()
	}
}

// TestStallIsTold: a query that takes rows and gives none says why, on stderr, whether its result is printed or written; not with --quiet.
// How often it says so is tested with the looks themselves: here the clock may run far ahead of whoever looks.
func TestStallIsTold(t *testing.T) {
	const table = "CREATE TABLE w (ts TIMESTAMP(3), n BIGINT) WITH ('connector' = 'blackhole'); "
	const windows = "SELECT window_start, COUNT(*) FROM TUMBLE(TABLE c, DESCRIPTOR(ts), INTERVAL '1' DAY) GROUP BY window_start, window_end"
	for _, c := range []struct {
		name, sql     string
		quiet, prompt bool
		want          string
	}{
		{"select", windows, false, false, "no result for 5 s: no window is over yet"},
		{"insert", table + "INSERT INTO w " + windows, false, false, "insert-into_default_catalog.default_database.w: no result for 5 s: no window is over yet"},
		{"insert that is waited for", table + "SET 'table.dml-sync' = 'true'; INSERT INTO w " + windows, false, false, "no result for 5 s: no window is over yet"},
		{"quiet", windows, true, false, ""},
		{"at the prompt", windows, false, true, "no result for 5 s: no window is over yet"},
		{"in the background", table + "INSERT INTO w " + windows, false, true, "job 1: no result for 5 s: no window is over yet"},
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
			defer cancel()
			run := func() { r.RunScript(ctx, c.sql, "") }
			if c.prompt {
				run = atPrompt(ctx, t, r, c.sql)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				run()
			}()
			// second hands a row over, and goes on when it has been read: what is said depends on what there is, not on who is faster.
			read := int64(0)
			second := func() {
				t.Helper()
				select {
				case rows <- row{clock.Now()}:
					read++
				case <-ctx.Done():
					t.Fatalf("the row was not taken; stderr %q", errOut.String())
				}
				for jobs := db.Jobs(); len(jobs) == 0 || jobs[0].Stats().RowsIn < read; jobs = db.Jobs() {
					if ctx.Err() != nil {
						t.Fatal("the row was not read")
					}
					runtime.Gosched()
				}
				if err := clock.Advance(ctx, time.Second); err != nil {
					t.Fatal(err)
				}
			}
			for range 30 {
				second()
			}
			for c.want != "" && !strings.Contains(errOut.String(), c.want) { // until the one that looks has come to it
				second()
			}
			cancel()
			<-ended
			if c.quiet && errOut.String() != "" {
				t.Errorf("stderr %q", errOut.String())
			}
		})
	}
}
