package sqltests_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors/all"
)

// rescaledQueries are those of TestRepeatable and some more that have rows under way between copies: from one group to another, to a place of order.
var rescaledQueries = append(slices.Clone(repeatableQueries),
	`SELECT n, COUNT(*) AS c, SUM(s) AS t FROM (SELECT k, v, COUNT(*) AS n, SUM(v) AS s FROM a GROUP BY k, v) GROUP BY n`,
	`SELECT n, COUNT(*) AS c, LAST_VALUE(k) AS l FROM (SELECT window_start, k, COUNT(*) AS n FROM TUMBLE(TABLE u, DESCRIPTOR(ts), INTERVAL '20' SECOND)
		GROUP BY window_start, window_end, k) GROUP BY n`,
	`SELECT k, n FROM (
		SELECT k, COUNT(*) AS n FROM TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '20' SECOND) GROUP BY window_start, window_end, k
		UNION ALL SELECT k, COUNT(*) AS n FROM HOP(TABLE b, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '20' SECOND) GROUP BY window_start, window_end, k)`,
	`SELECT window_start, n, COUNT(*) AS c FROM TUMBLE((SELECT window_time AS wt, k, COUNT(*) AS n FROM TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '5' SECOND)
		GROUP BY window_start, window_end, window_time, k), DESCRIPTOR(wt), INTERVAL '20' SECOND) GROUP BY window_start, window_end, n`,
	`SELECT k, n FROM (SELECT k, COUNT(*) AS n FROM u GROUP BY k, v) LIMIT 40`,
	`SELECT k, v, COUNT(*) AS n FROM u GROUP BY k, v ORDER BY n DESC, v, k LIMIT 20`,
	`SELECT window_start, k, v, COUNT(*) AS n FROM CUMULATE(TABLE a, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '30' SECOND)
		GROUP BY GROUPING SETS ((window_start, window_end, k), (window_start, window_end, v))`,
)

// TestRescaled: a query at another parallelism, and one that is stopped and goes on at another, again and again, gives what it gives at parallelism 1: the
// same rows and changes, in the same order.
func TestRescaled(t *testing.T) {
	runs := 24
	if testing.Short() {
		runs = 4
	}
	dir := t.TempDir()
	for i, name := range []string{"a", "b"} {
		writeEvents(t, filepath.Join(dir, name), 4, 60, uint64(i+10))
	}
	rnd := rand.New(rand.NewPCG(8, 8))
	for qi, query := range rescaledQueries {
		for _, watermark := range []string{"ts", "ts - INTERVAL '2' SECOND"} {
			want := runOnce(t, query, watermark, dir, 1, 0, nil)
			for _, p := range []int{3, 4} {
				for _, batch := range []int{0, 5} {
					if got := runScaled(t, query, watermark, dir, p-2, batch, nil, []int{p}); got != want {
						t.Fatalf("query %d, watermark %s, %d threads, batch size %d, parallelism %d: another result\n%s", qi, watermark, p-2, batch, p, firstDifference(want, got))
					}
				}
			}
			for run := range runs {
				threads, batch := []int{1, 2}[run%2], []int{1, 7, 0}[run%3]
				parallel := []int{1 + rnd.IntN(4)}
				var stops []int64
				for range 1 + run%4 {
					stops = append(stops, 1+rnd.Int64N(100))
					parallel = append(parallel, 1+rnd.IntN(4))
				}
				if got := runScaled(t, query, watermark, dir, threads, batch, stops, parallel); got != want {
					t.Fatalf("query %d, watermark %s, %d threads, batch size %d, stops behind %v rows, parallelism %v: another result\n%s", qi, watermark, threads, batch, stops,
						parallel, firstDifference(want, got))
				}
			}
		}
	}
}

// TestRestoreOfAnotherPlan: a snapshot at another parallelism is not taken by a query that lacks what has state in it.
func TestRestoreOfAnotherPlan(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	writeEvents(t, filepath.Join(dir, "a"), 2, 60, 5)
	db, err := weir.Open(weir.Options{Connectors: all.Connectors(), Formats: all.Formats()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Exec(ctx, fmt.Sprintf("CREATE TABLE a (k STRING, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'filesystem', 'path' = '%s', 'format' = 'json')",
		filepath.Join(dir, "a"))); err != nil {
		t.Fatal(err)
	}
	nothing := func(weir.Schema, weir.Batch) error { return nil }
	res, err := db.ExecuteWith(ctx, "SELECT k, COUNT(*) FROM a GROUP BY k", weir.ExecOptions{OnBatch: nothing, StopAfterRows: 10})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := res.Job.StoppedAt(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Release()
	if err := db.Exec(ctx, "SET 'parallelism.default' = '3'"); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"SELECT COUNT(DISTINCT v) FROM TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '1' SECOND) GROUP BY window_start, window_end, k": "the snapshot has state of GroupAggregate-1, which the plan does not have",
		"SELECT k, COUNT(*) FROM (VALUES ('a'), ('b')) AS t(k) GROUP BY k":                                                        "the snapshot has nothing of Values-1, which the plan reads",
	} {
		_, err := db.ExecuteWith(ctx, query, weir.ExecOptions{OnBatch: nothing, Restore: snap})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", query, err, want)
		}
	}
}
