package weir_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weir-sql/weir"
)

func showRows(t *testing.T, db *weir.DB, sql string) []string {
	t.Helper()
	q, err := db.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for r, err := range q.All() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.TrimSpace(fmt.Sprintln(r.Values...)))
	}
	return out
}

func TestShowWatermarksAndLateRows(t *testing.T) {
	clock := weir.NewVirtualClock(time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC))
	db, err := weir.Open(weir.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	type row struct {
		TS time.Time `weir:"ts,watermark=5s"`
	}
	at := func(s int) row { return row{time.Date(2024, 5, 1, 10, 0, s, 0, time.UTC)} }
	busy, silent := make(chan row), make(chan row)
	for name, c := range map[string]chan row{"busy": busy, "silent": silent} {
		if err := db.RegisterTable(name, c); err != nil {
			t.Fatal(err)
		}
	}
	exec := func(sql string) {
		t.Helper()
		if err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE counts (w TIMESTAMP(6), n BIGINT)")
	if got := showRows(t, db, "SHOW WATERMARKS"); got != nil {
		t.Errorf("without a job: %q", got)
	}
	_, err = db.Start(t.Context(), `INSERT INTO counts SELECT window_start, COUNT(*) FROM TUMBLE(TABLE both_of_them, DESCRIPTOR(ts), INTERVAL '10' SECOND)
		GROUP BY window_start, window_end`)
	if err == nil {
		t.Fatal("a table that does not exist was read")
	}
	exec("CREATE VIEW both_of_them AS SELECT ts FROM busy UNION ALL SELECT ts FROM silent")
	job, err := db.Start(t.Context(), `INSERT INTO counts SELECT /*weir+ NAME('tens') */ window_start, COUNT(*)
		FROM TUMBLE(TABLE both_of_them, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end`)
	if err != nil {
		t.Fatal(err)
	}
	// read waits until so many rows have come out of the channels: Sync knows nothing of a row that is still on its way to the reader.
	read := func(rows int64) {
		t.Helper()
		for job.Stats().RowsIn < rows {
			if job.Finished() {
				t.Fatalf("the job has ended: %v", job.Err())
			}
			runtime.Gosched()
		}
		if err := job.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	busy <- at(30)
	read(1)
	check := func(what string, got, want []string) {
		t.Helper()
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%s:\ngot  %q\nwant %q", what, got, want)
		}
	}
	id := job.ID()
	busyTable, silentTable := "default_catalog.default_database.busy", "default_catalog.default_database.silent"
	split := showRows(t, db, "SHOW WATERMARKS")
	if len(split) != 2 {
		t.Fatalf("%q", split)
	}
	part := func(table, rest string) string { return fmt.Sprint(id, " ", table, " ", rest) }
	check("one is silent", split, []string{
		part(busyTable, "go 2024-05-01 10:00:25.000 -25s active 2024-05-01 10:00:00.000 FALSE"),
		part(silentTable, "go <nil> <nil> active <nil> TRUE")})
	silent <- at(40)
	read(2)
	busy <- at(1)
	read(3)
	check("both speak", showRows(t, db, "SHOW WATERMARKS"), []string{
		part(busyTable, "go 2024-05-01 10:00:25.000 -25s active 2024-05-01 10:00:00.000 TRUE"),
		part(silentTable, "go 2024-05-01 10:00:35.000 -35s active 2024-05-01 10:00:00.000 FALSE")})
	check("late rows", showRows(t, db, "SHOW LATE ROWS"), []string{id + " tens 1 0"})
	close(busy)
	close(silent)
	if err := job.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("the job has ended", showRows(t, db, "SHOW WATERMARKS"), nil)
}

func TestExplainWatermark(t *testing.T) {
	db, err := weir.Open(weir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Exec(t.Context(), `
CREATE TABLE clicks (u STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'test');
CREATE TABLE guarded (u STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS PERCENTILE_WATERMARK(ts, 0.99))
WITH ('connector' = 'test', 'scan.watermark.idle-timeout' = '30 s', 'scan.watermark.max-future' = '5 min', 'scan.watermark.future-rows' = 'drop');`); err != nil {
		t.Fatal(err)
	}
	const want = `Collect-1: the result of the query
+- GlobalWindowAggregate-1: a window closes when the watermark reaches its end less INTERVAL '0.001' SECOND; a row whose last window has closed is late and dropped
   :  results come before the watermark that released them goes on
   +- Union-1: the minimum of its inputs that are neither idle nor at their end: the slowest holds it back
      :- Scan-1: table default_catalog.default_database.clicks: for ts by (ts - INTERVAL '5' SECOND), the highest value so far: heuristic, a row further behind than it allows is late
      :     each split (partition, file) has its own; the table's is the minimum of those that are neither idle nor at their end
      :     a split without rows holds it back for ever: 'scan.watermark.idle-timeout' = '30 s' lets it be passed over
      :     one row stamped far ahead moves it there, and makes others late: 'scan.watermark.max-future' = '5 min' guards it
      +- Scan-2: table default_catalog.default_database.guarded: for ts by the generator PERCENTILE_WATERMARK: heuristic, from the rows seen so far
            each split (partition, file) has its own; the table's is the minimum of those that are neither idle nor at their end
            a split without rows for 30s is passed over; when all are silent it stays where it is
            rows more than 5m0s ahead of processing time do not move it (drop)`
	got := showRows(t, db, `EXPLAIN WATERMARK SELECT window_start, COUNT(*)
		FROM TUMBLE((SELECT ts FROM clicks UNION ALL SELECT ts FROM guarded), DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end`)
	if len(got) != 1 || got[0] != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

func TestExplainWatermarkOfStrategies(t *testing.T) {
	db, err := weir.Open(weir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i, c := range []struct{ watermark, options, want string }{
		{"ts", "", "for ts by ts, the highest value so far: perfect if times never step back in a split"},
		{"CASE WHEN u = 'mark' THEN ts END", "", "heuristic, as good as what the expression knows: a row at or behind it is late"},
		{"CASE WHEN u = 'mark' THEN ts END", "", "rows for which it is NULL do not move it: a split that has no other rows holds it back"},
		{"SOURCE_WATERMARK()", "", "by the connector (SOURCE_WATERMARK()): perfect if what the connector promises holds"},
		{"ts", ", 'scan.watermark.null-rows' = 'keep'", "rows without event time do not move it; windows leave them out"},
		{"ts", ", 'scan.watermark.null-rows' = 'drop'", "rows without event time are dropped and do not move it"},
		{"ts", ", 'scan.watermark.emit.strategy' = 'on-periodic'", "it goes on every 200ms (on-periodic), not behind every row"},
	} {
		name := fmt.Sprintf("t%d", i)
		if err := db.Exec(t.Context(), fmt.Sprintf("CREATE TABLE %s (u STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS %s) WITH ('connector' = 'test'%s)", name, c.watermark, c.options)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(showRows(t, db, "EXPLAIN WATERMARK SELECT * FROM "+name), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s\ndoes not say %q", c.watermark, got, c.want)
		}
	}
}
