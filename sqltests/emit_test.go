package sqltests_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestEmitAtAnyParallelism: the changes of windows with late firing come in the same order, to the byte, however many copies of the operator and whatever
// batches there are: they are put in order by the rows and watermarks that cause them.
func TestEmitAtAnyParallelism(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"a", "b"} {
		writeEvents(t, filepath.Join(dir, name), 8, 60, uint64(i))
	}
	for _, query := range []string{
		`SELECT /*+ EMIT('late' = '0 s', 'allowed-lateness' = '20 s') */ window_end, k, v, COUNT(*) AS n, LISTAGG(CAST(v AS STRING)) AS vs
			FROM CUMULATE(TABLE u, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '30' SECOND) GROUP BY window_start, window_end, CUBE(k, v) HAVING COUNT(*) > 1`,
		// A lateness that ends where a window closes, late rows that wait for it, and a window behind that shows every change.
		`SELECT /*+ EMIT('early' = '0 s', 'allowed-lateness' = '5 s') */ window_end, SUM(n) AS n, COUNT(*) AS c FROM TUMBLE((
			SELECT /*+ EMIT('late' = '1 d', 'allowed-lateness' = '20 s') */ window_time AS wt, k, COUNT(*) AS n
			FROM TUMBLE(TABLE u, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end, window_time, k
		), DESCRIPTOR(wt), INTERVAL '1' MINUTE) GROUP BY window_start, window_end`,
	} {
		want := runScaled(t, query, "ts", dir, 1, 0, nil, nil)
		if strings.Count(want, "-U,") < 20 || !strings.Contains(want, "+U,") {
			t.Fatalf("next to no changes:\n%s", want)
		}
		for _, parallel := range []int{1, 3, 4} {
			for _, batch := range []int{1, 7, 0} {
				if got := runScaled(t, query, "ts", dir, 2, batch, nil, []int{parallel}); got != want {
					t.Fatalf("parallelism %d, batch size %d: another result\n%s\n%s", parallel, batch, query, firstDifference(want, got))
				}
			}
		}
	}
}
