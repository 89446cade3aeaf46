package sqltests_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors/all"
)

// writeEvents makes files of events with uneven and overlapping times, some rows of each far behind: they are late.
func writeEvents(t *testing.T, dir string, files, rows int, seed uint64) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(seed, 1))
	start := time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)
	for f := range files {
		var sb strings.Builder
		at := start.Add(time.Duration(rnd.IntN(600)) * time.Second)
		step := 50 + rnd.IntN(3000)
		for i := range rows/2 + rnd.IntN(rows) {
			at = at.Add(time.Duration(rnd.IntN(step)) * time.Millisecond)
			ts := at.Add(-time.Duration(rnd.IntN(3000)) * time.Millisecond)
			if rnd.IntN(40) == 0 {
				ts = ts.Add(-time.Duration(rnd.IntN(120)) * time.Second)
			}
			fmt.Fprintf(&sb, "{\"k\":\"k%d\",\"v\":%d,\"d\":%g,\"ts\":\"%s\"}\n", rnd.IntN(7), i, float64(rnd.IntN(1000))/7, ts.Format("2006-01-02 15:04:05.000"))
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("part-%02d.json", f)), []byte(sb.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// repeatableQueries put rows of several splits and inputs in order and depend on it: late rows, sums of DOUBLE, first and last values, lists.
var repeatableQueries = []string{
	`SELECT window_start, window_end, k, COUNT(*) AS n, SUM(v) AS s, SUM(d) AS sd, FIRST_VALUE(v) AS f, LAST_VALUE(v) AS l
		FROM TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '20' SECOND) GROUP BY window_start, window_end, k`,
	`SELECT window_start, window_end, COUNT(*) AS n, COUNT(DISTINCT k) AS dk, MAX(v) AS m
		FROM HOP(TABLE a, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '40' SECOND) GROUP BY window_start, window_end`,
	`SELECT window_start, window_end, k, COUNT(*) AS n, LISTAGG(CAST(v AS STRING)) AS vs
		FROM TUMBLE(TABLE u, DESCRIPTOR(ts), INTERVAL '30' SECOND) GROUP BY window_start, window_end, k`,
	`SELECT /*+ EMIT('late' = '1 d', 'allowed-lateness' = '30 s') */ window_end, SUM(n) AS n, COUNT(*) AS c FROM TUMBLE((
		SELECT /*+ EMIT('late' = '0 s', 'allowed-lateness' = '10 s') */ window_time AS wt, k, COUNT(*) AS n
		FROM HOP(TABLE u, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND) GROUP BY window_start, window_end, window_time, k
	), DESCRIPTOR(wt), INTERVAL '20' SECOND) GROUP BY window_start, window_end`,
	`SELECT k, v, ts FROM u WHERE MOD(v, 5) = 0`,
	`SELECT k, COUNT(*) AS n, SUM(d) AS sd, LAST_VALUE(v) AS l FROM u GROUP BY k`,
	`SELECT k, n, CURRENT_WATERMARK(wt) AS w FROM (SELECT k, window_time AS wt, COUNT(*) AS n FROM TUMBLE((SELECT * FROM a WHERE MOD(v, 3) <> 0),
		DESCRIPTOR(ts), INTERVAL '20' SECOND) GROUP BY window_start, window_end, window_time, k)`,
	`SELECT n, c, CURRENT_WATERMARK(wt2) AS w FROM (SELECT n, window_time AS wt2, COUNT(*) AS c FROM TUMBLE((SELECT k, window_time AS wt, COUNT(*) AS n
		FROM HOP(TABLE b, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '4' SECOND) GROUP BY window_start, window_end, window_time, k),
		DESCRIPTOR(wt), INTERVAL '10' SECOND, INTERVAL '3' SECOND) GROUP BY window_start, window_end, window_time, n)`,
	`SELECT k, n, CURRENT_WATERMARK(wt) AS w FROM (
		SELECT k, window_time AS wt, COUNT(*) AS n FROM TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '20' SECOND) GROUP BY window_start, window_end, window_time, k
		UNION ALL
		SELECT k, window_time AS wt, COUNT(*) AS n FROM TUMBLE(TABLE b, DESCRIPTOR(ts), INTERVAL '30' SECOND) GROUP BY window_start, window_end, window_time, k)`,
	`SELECT k, n, CURRENT_WATERMARK(wt) AS w FROM (SELECT k, window_time AS wt, COUNT(*) AS n FROM TUMBLE((
		SELECT * FROM a WHERE MOD(v, 3) <> 0 UNION ALL SELECT * FROM b WHERE MOD(v, 4) = 0), DESCRIPTOR(ts), INTERVAL '5' SECOND)
		GROUP BY window_start, window_end, window_time, k)`,
	`SELECT k, SUM(n) AS n, LAST_VALUE(n) AS l FROM (
		SELECT k, COUNT(*) AS n FROM TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '20' SECOND) GROUP BY window_start, window_end, k
		UNION ALL SELECT k, COUNT(*) AS n FROM TUMBLE(TABLE b, DESCRIPTOR(ts), INTERVAL '20' SECOND) GROUP BY window_start, window_end, k) GROUP BY k`,
	`SELECT k, SUM(n) AS n, LAST_VALUE(n) AS l FROM (
		SELECT /*+ EMIT('late' = '0 s', 'allowed-lateness' = '10 s') */ k, COUNT(*) AS n FROM TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '20' SECOND)
			GROUP BY window_start, window_end, k
		UNION ALL SELECT k, MAX(d) AS n FROM HOP(TABLE b, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '20' SECOND) GROUP BY window_start, window_end, k
		UNION ALL SELECT k, v AS n FROM a WHERE MOD(v, 7) = 0) GROUP BY k`,
}

// runOnce gives the changelog of a query as text, with the late rows behind. With stops the job is stopped with a snapshot after each so many rows and
// goes on from it.
func runOnce(t *testing.T, query, watermark, dir string, threads, batch int, stops []int64) string {
	return runScaled(t, query, watermark, dir, threads, batch, stops, nil)
}

// runScaled is runOnce with a parallelism for each part between two stops; without, it is 1.
func runScaled(t *testing.T, query, watermark, dir string, threads, batch int, stops []int64, parallel []int) string {
	t.Helper()
	ctx := t.Context()
	config := map[string]string{"weir.threads": strconv.Itoa(threads), "weir.scan.block-size": "16 kb"}
	if batch > 0 {
		config["weir.batch-size"] = strconv.Itoa(batch)
	}
	db, err := weir.Open(weir.Options{Connectors: all.Connectors(), Formats: all.Formats(), Config: config})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, name := range []string{"a", "b"} {
		if err := db.Exec(ctx, fmt.Sprintf("CREATE TABLE %s (k STRING, v BIGINT, d DOUBLE, ts TIMESTAMP(3), WATERMARK FOR ts AS %s) WITH ('connector' = 'filesystem', 'path' = '%s', 'format' = 'json')",
			name, watermark, filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Exec(ctx, "CREATE VIEW u AS SELECT * FROM a UNION ALL SELECT * FROM b"); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	take := func(columns weir.Schema, b weir.Batch) error {
		for _, l := range weir.ChangelogCSV(b, columns, time.UTC) {
			out.WriteString(l + "\n")
		}
		return nil
	}
	var from *weir.Snapshot
	for i := 0; ; i++ {
		o := weir.ExecOptions{OnBatch: take, Restore: from}
		if i < len(parallel) {
			if err := db.Exec(ctx, fmt.Sprintf("SET 'parallelism.default' = '%d'", parallel[i])); err != nil {
				t.Fatal(err)
			}
		}
		if i < len(stops) {
			o.StopAfterRows = stops[i]
		}
		res, err := db.ExecuteWith(ctx, query, o)
		if from != nil {
			from.Release()
			from = nil
		}
		if err != nil {
			t.Fatal(err)
		}
		if i < len(stops) {
			if from, err = res.Job.StoppedAt(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if err := res.Job.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		if from == nil {
			late, err := res.Job.Metric(context.Background(), "late_rows")
			if err != nil {
				t.Fatal(err)
			}
			return out.String() + "late " + late + "\n"
		}
	}
}

// TestRepeatable: a bounded query gives the same bytes on every run, on loaded cores, over any number of threads, at any batch size, and with restores
// at random rows.
func TestRepeatable(t *testing.T) {
	runs := 50
	if testing.Short() {
		runs = 6
	}
	dir := t.TempDir()
	for i, name := range []string{"a", "b"} {
		writeEvents(t, filepath.Join(dir, name), 8, 60, uint64(i))
	}
	stop := make(chan struct{})
	defer close(stop)
	for range runtime.GOMAXPROCS(0) { // load
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
					runtime.Gosched()
				}
			}
		}()
	}
	rnd := rand.New(rand.NewPCG(7, 7))
	for qi, query := range repeatableQueries {
		for _, watermark := range []string{"ts", "ts - INTERVAL '2' SECOND"} {
			want := runOnce(t, query, watermark, dir, 1, 0, nil)
			if strings.Count(want, "\n") < 20 && qi < 5 {
				t.Fatalf("query %d gives next to nothing:\n%s", qi, want)
			}
			for run := range runs {
				threads, batch := []int{1, 2, 8}[run%3], []int{1, 7, 0}[run/3%3]
				var stops []int64
				for range run % 4 {
					stops = append(stops, 1+rnd.Int64N(150))
				}
				if got := runOnce(t, query, watermark, dir, threads, batch, stops); got != want {
					t.Fatalf("query %d, watermark %s, %d threads, batch size %d, stops behind %v rows: another result\n%s", qi, watermark, threads, batch, stops, firstDifference(want, got))
				}
			}
			t.Logf("query %d, watermark %s: %d runs, sha256 %x", qi, watermark, runs, sha256.Sum256([]byte(want)))
		}
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range x {
		if i >= len(y) || x[i] != y[i] {
			other := "(nothing)"
			if i < len(y) {
				other = y[i]
			}
			return fmt.Sprintf("line %d of %d and %d:\n  want %s\n  got  %s", i+1, len(x), len(y), x[i], other)
		}
	}
	return fmt.Sprintf("%d lines, then %d more", len(x), len(y)-len(x))
}
