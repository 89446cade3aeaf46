package weir

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-sql/weir/connectors"
	testconn "github.com/weir-sql/weir/connectors/test"
	"github.com/weir-sql/weir/exec"
)

// stalled is a running query over test tables, on a virtual clock that stands at 10:00:00.
type stalled struct {
	t     *testing.T
	clock *VirtualClock
	reg   *testconn.Registry
	db    *DB
	job   *Job
	watch *stallWatch
}

const tens = "SELECT window_start, COUNT(*) FROM TUMBLE(TABLE %s, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end"

func stall(t *testing.T, ddl, query string) *stalled {
	t.Helper()
	s := &stalled{t: t, clock: NewVirtualClock(time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)), reg: testconn.NewRegistry()}
	var err error
	if s.db, err = Open(Options{Clock: s.clock, Connectors: []connectors.Connector{s.reg.Connector()}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	if err := s.db.Exec(t.Context(), ddl+"; CREATE TABLE r (w TIMESTAMP(3), n BIGINT) WITH ('connector' = 'blackhole')"); err != nil {
		t.Fatal(err)
	}
	if s.job, err = s.db.Start(t.Context(), "INSERT INTO r "+query); err != nil {
		t.Fatal(err)
	}
	s.watch = s.job.newStallWatch()
	return s
}

func (s *stalled) input(table string, split int, rows ...string) {
	s.t.Helper()
	for _, r := range rows {
		if err := s.reg.Table("`default_catalog`.`default_database`.`"+table+"`").Append(split, r); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := s.job.Sync(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// after moves the clock on, second by second, and returns what was said.
func (s *stalled) after(d time.Duration) string {
	s.t.Helper()
	var said []string
	for ; d > 0; d -= stallEvery {
		if err := s.clock.Advance(s.t.Context(), stallEvery); err != nil {
			s.t.Fatal(err)
		}
		if note := s.watch.look(s.t.Context()); note != "" {
			said = append(said, note)
		}
	}
	return strings.Join(said, "\n")
}

func (s *stalled) says(what string, d time.Duration, want ...string) {
	s.t.Helper()
	got := s.after(d)
	if len(want) == 0 && got != "" {
		s.t.Errorf("%s: %q, want nothing", what, got)
	}
	for _, w := range want {
		if !strings.Contains(got, w) {
			s.t.Errorf("%s: %q does not say %q", what, got, w)
		}
	}
	lines := strings.Split(got, "\n")
	for i := range lines {
		if i > 0 && lines[i] == lines[i-1] {
			s.t.Errorf("%s: said twice: %q", what, lines[i])
		}
	}
}

func ddl(watermark, options string) string {
	return fmt.Sprintf("CREATE TABLE t (u STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS %s) WITH ('connector' = 'test'%s)", watermark, options)
}

const long = 10 * time.Second

func TestStallSilentSplit(t *testing.T) {
	s := stall(t, ddl("ts - INTERVAL '1' SECOND", ", 'splits' = '2'"), fmt.Sprintf(tens, "t"))
	s.says("without rows there is nothing to say", long)
	s.input("t", 0, "a,2024-05-01 10:00:01", "a,2024-05-01 10:00:31")
	s.says("never a row", time.Second, "no result for 5 s: split 1 of table default_catalog.default_database.t has had no row yet and holds the watermark back",
		"'scan.watermark.idle-timeout' = '30 s'", "SET 'table.exec.source.idle-timeout'", "the first open window of GlobalWindowAggregate-1 closes at watermark 2024-05-01 10:00:09.999")
	s.says("the same cause is told once", long)
	s.input("t", 1, "b,2024-05-01 10:00:05")
	s.input("t", 0, "a,2024-05-01 10:00:32")
	s.says("another cause", 6*time.Second, "split 1 of table default_catalog.default_database.t has had no row since 2024-05-01 10:00:21.000 and holds the watermark at 2024-05-01 10:00:04.000")
	s.input("t", 1, "b,2024-05-01 10:00:40")
	if got := s.job.Stats().RowsOut; got == 0 {
		t.Error("no window has closed")
	}
	s.says("a result: it begins anew, and no row comes", long)
	s.input("t", 0, "a,2024-05-01 10:01:00")
	s.says("stalled behind a result", long, "split 1 of table default_catalog.default_database.t has had no row since 2024-05-01 10:00:27.000 and holds the watermark at 2024-05-01 10:00:39.000")
}

func TestStallIdleTimeout(t *testing.T) {
	s := stall(t, ddl("ts", ", 'splits' = '2', 'scan.watermark.idle-timeout' = '3 s'"), fmt.Sprintf(tens, "t"))
	s.input("t", 0, "a,2024-05-01 10:00:01", "a,2024-05-01 10:00:31")
	s.says("too soon", 2*time.Second)
	s.input("t", 0, "a,2024-05-01 10:00:32")
	s.says("the silent split is passed over", long)
	if got := s.job.Stats().RowsOut; got != 1 {
		t.Errorf("%d windows have closed", got)
	}
	s = stall(t, ddl("ts", ", 'splits' = '2', 'scan.watermark.idle-timeout' = '3 s'"), fmt.Sprintf(tens, "t"))
	s.input("t", 0, "a,2024-05-01 10:00:01", "a,2024-05-01 10:00:31")
	s.input("t", 1, "b,2024-05-01 10:00:05")
	s.says("all idle", long, "every split is idle, and the watermark stays where it is until rows come")
	s = stall(t, ddl("ts", ", 'splits' = '2', 'scan.watermark.idle-timeout' = '30 s'"), fmt.Sprintf(tens, "t"))
	s.input("t", 0, "a,2024-05-01 10:00:01", "a,2024-05-01 10:00:31")
	s.says("not yet", 6*time.Second, "split 1 of table default_catalog.default_database.t has had no row yet", "it is passed over when it has been silent for 30s")
}

func TestStallCauses(t *testing.T) {
	for _, c := range []struct {
		name, watermark, options, query string
		rows                            []string
		want                            []string
	}{
		{"future guard", "ts", ", 'scan.watermark.max-future' = '1 min'", fmt.Sprintf(tens, "t"), []string{"a,2024-05-02 10:00:00", "b,2024-05-02 10:00:30"},
			[]string{"rows come, and lie more than 1m0s ahead of processing time", ": split 0 of table default_catalog.default_database.t holds the watermark", "'scan.watermark.max-future'"}},
		{"punctuated", "CASE WHEN u = 'mark' THEN ts END", "", fmt.Sprintf(tens, "t"), []string{"a,2024-05-01 10:00:01", "b,2024-05-01 10:01:00"},
			[]string{"the declared watermark CASE WHEN (u = 'mark') THEN ts", "is NULL, or nothing new"}},
		{"source", "SOURCE_WATERMARK()", "", fmt.Sprintf(tens, "t"), []string{"a,2024-05-01 10:00:01"}, []string{"the connector gives rows and no new watermark"}},
		{"large delay", "ts - INTERVAL '1' HOUR", "", fmt.Sprintf(tens, "t"), []string{"a,2024-05-01 10:00:01", "b,2024-05-01 10:00:02"},
			[]string{"no window is over yet: the watermark is 2024-05-01 09:00:0", "as declared 1h0m0s behind the newest row: rows up to 2024-05-01 11:00:09.999 close the window"}},
		{"old rows", "ts", "", fmt.Sprintf(tens, "t"), []string{"a,2024-05-01 10:00:05", "a,2024-05-01 10:00:01"}, []string{
			"the rows that come are older than the newest that came before, and do not move the watermark: split 0 of table default_catalog.default_database.t holds the watermark at",
			"'scan.watermark.max-future' = '5 min' keeps the next one"}},
		{"nothing passes", "ts", "", "SELECT ts, CHAR_LENGTH(u) FROM t WHERE u = 'x'", []string{"a,2024-05-01 10:00:01"}, []string{"has taken ", " and given none"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stall(t, ddl(c.watermark, c.options), c.query)
			s.input("t", 0, c.rows[0])
			said := s.after(time.Second)
			for i := range 8 { // rows go on to come
				row := c.rows[len(c.rows)-1]
				if c.name == "large delay" {
					row = fmt.Sprintf("b,2024-05-01 10:00:%02d", 3+i)
				}
				s.input("t", 0, row)
				said += s.after(time.Second)
			}
			for _, w := range c.want {
				if !strings.Contains(said, w) {
					t.Errorf("%q does not say %q", said, w)
				}
			}
			if n := strings.Count(said, "no result for"); n != 1 && c.name != "old rows" { // there the watermark has moved first
				t.Errorf("said %d times: %q", n, said)
			}
		})
	}
}

func TestStallLateRows(t *testing.T) {
	s := stall(t, ddl("ts", ""), fmt.Sprintf(tens, "t"))
	s.input("t", 0, "a,2024-05-01 11:00:01", "a,2024-05-01 11:00:31") // an hour ahead: a window closes
	s.after(time.Second)
	s.input("t", 0, "b,2024-05-01 11:00:41") // and another one
	s.after(time.Second)
	s.input("t", 0, "b,2024-05-01 10:00:05")
	s.says("late rows behind a row from the future: the window of that row is open", long, "split 0 of table default_catalog.default_database.t has had no row since")
}

func TestStallAllLate(t *testing.T) {
	s := stall(t, ddl("ts", ""), strings.Replace(fmt.Sprintf(tens, "t"), "TABLE t", "(SELECT ts FROM t WHERE u = 'b')", 1))
	s.input("t", 0, "a,2024-05-01 12:00:00", "b,2024-05-01 10:00:01", "b,2024-05-01 10:00:02")
	s.says("all late", long, "2 rows came too late for the windows (SHOW LATE ROWS), and none is in an open one: the watermark of table",
		"is ahead of processing time, a row from the future may have moved it there; 'scan.watermark.max-future'")
}

// TestStallPaused: the other table of the alignment group is silent, and is read by another result.
func TestStallPaused(t *testing.T) {
	const group = ", 'scan.watermark.alignment.group' = 'g', 'scan.watermark.alignment.max-drift' = '5 s', 'scan.watermark.alignment.update-interval' = '1 s'"
	s := stall(t, ddl("ts", group)+"; "+strings.Replace(ddl("ts", group), "TABLE t", "TABLE t2", 1), fmt.Sprintf(tens, "t"))
	job, err := s.db.Start(t.Context(), "EXECUTE STATEMENT SET BEGIN INSERT INTO r "+fmt.Sprintf(tens, "t")+"; INSERT INTO r "+strings.Replace(fmt.Sprintf(tens, "t2"), "'10'", "'20'", 1)+"; END")
	if err != nil {
		t.Fatal(err)
	}
	s.job, s.watch = job, job.newStallWatch()
	s.input("t2", 0, "b,2024-05-01 10:00:01")
	s.input("t", 0, "a,2024-05-01 10:00:02", "a,2024-05-01 10:00:09")
	s.says("paused", long, "split 0 of table default_catalog.default_database.t is paused by watermark alignment and holds the watermark at 2024-05-01 10:00:09.000",
		"'scan.watermark.alignment.max-drift'")
	for _, w := range job.Watermarks(t.Context()) {
		if paused := w.Table == "default_catalog.default_database.t"; (w.State == SplitPaused) != paused || w.DriftMs == nil || paused && (w.Pauses != 1 || *w.DriftMs != 8000) {
			t.Errorf("%+v", w)
		}
	}
}

// TestHoldersOfTwoResults: each INSERT of a set waits for its own table only.
func TestHoldersOfTwoResults(t *testing.T) {
	s := stall(t, ddl("ts", "")+"; "+strings.Replace(ddl("ts", ""), "TABLE t", "TABLE t2", 1), fmt.Sprintf(tens, "t"))
	job, err := s.db.Start(t.Context(), "EXECUTE STATEMENT SET BEGIN INSERT INTO r "+fmt.Sprintf(tens, "t")+"; INSERT INTO r "+fmt.Sprintf(tens, "t2")+"; END")
	if err != nil {
		t.Fatal(err)
	}
	s.job = job
	s.input("t", 0, "a,2024-05-01 10:00:31")
	s.input("t2", 0, "a,2024-05-01 10:00:11")
	for _, w := range job.Watermarks(t.Context()) {
		if w.Holds == nil || !*w.Holds {
			t.Errorf("%s does not hold the watermark of its result", w.Table)
		}
	}
}

// TestWatchStalls has the driver tell by itself, and end.
func TestWatchStalls(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := stall(t, ddl("ts", ", 'splits' = '2'"), fmt.Sprintf(tens, "t"))
	notes := make(chan string, 10)
	stop := s.job.WatchStalls(func(note string) { notes <- note })
	s.input("t", 0, "a,2024-05-01 10:00:31")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for said := false; !said; {
		select {
		case note := <-notes:
			if !strings.Contains(note, "split 1 of table default_catalog.default_database.t has had no row yet") {
				t.Errorf("%q", note)
			}
			said = true
		case <-ctx.Done():
			t.Fatal("nothing was said")
		default:
			if err := s.clock.Advance(ctx, stallEvery); err != nil {
				t.Fatal(err)
			}
		}
	}
	stop()
	stop = s.job.WatchStalls(func(string) {})
	_ = s.job.Cancel()
	stop()
	_ = s.db.Close()
}

// TestStallAfterRestore: a split that had rows before the restore and none since has no time of its last row.
func TestStallAfterRestore(t *testing.T) {
	s := stall(t, ddl("ts - INTERVAL '1' SECOND", ", 'splits' = '2'"), fmt.Sprintf(tens, "t"))
	s.input("t", 0, "a,2024-05-01 10:00:01")
	s.input("t", 1, "b,2024-05-01 10:00:05")
	snap, err := s.job.Stop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Release()
	res, err := s.db.ExecuteWith(t.Context(), "INSERT INTO r "+fmt.Sprintf(tens, "t"), ExecOptions{Restore: snap})
	if err != nil {
		t.Fatal(err)
	}
	s.job = res.Job
	s.watch = s.job.newStallWatch()
	s.says("restored", time.Second)
	s.input("t", 0, "a,2024-05-01 10:00:31")
	s.says("silent since", long, "split 1 of table default_catalog.default_database.t has had no row since the restore and holds the watermark at 2024-05-01 10:00:04.000")
}

// TestSplitCauses: what the tables of the other tests do not come to: causes that need a connector of its own, with the option that cures each.
func TestSplitCauses(t *testing.T) {
	now := time.Date(2024, 5, 1, 10, 1, 0, 0, time.UTC)
	row, mark := now.Add(-time.Second), now.Add(-time.Hour)
	split := SplitWatermark{Table: "c.d.t", Split: "7", Operator: "Scan-1", State: SplitActive, Rows: 9, LastRow: &row, Watermark: &mark}
	for _, c := range []struct {
		facts    tableFacts
		split    func(*SplitWatermark)
		counters map[string]int64
		want     string
	}{
		{tableFacts{plain: true}, func(s *SplitWatermark) { s.Split, s.Rows, s.Watermark = "", 0, nil }, nil,
			"table c.d.t has no split (partition, file) yet and holds the watermark back; 'scan.watermark.idle-timeout' = '30 s' in the table's WITH, or SET " +
				"'table.exec.source.idle-timeout' = '30 s', passes also a table without splits over"},
		{tableFacts{plain: true, idleTimeout: time.Minute}, func(s *SplitWatermark) { s.Split, s.Rows, s.Watermark = "", 0, nil }, nil,
			"table c.d.t has no split (partition, file) yet and holds the watermark back; it is passed over when it has been silent for 1m0s ('scan.watermark.idle-timeout')"},
		{tableFacts{plain: true, bounded: true}, nil, nil, "table c.d.t is read to its end first and holds the watermark at 2024-05-01 09:01:00.000"},
		{tableFacts{plain: true, timeColumn: "ts"}, func(s *SplitWatermark) { s.Watermark = nil }, map[string]int64{exec.NullTimeRows: 9},
			"no row of split 7 of table c.d.t has an event time ('ts' is NULL) and holds the watermark back"},
		{tableFacts{generator: "mine"}, nil, nil,
			"the generator mine gives no new watermark for the rows that come: split 7 of table c.d.t holds the watermark at 2024-05-01 09:01:00.000"},
		{tableFacts{plain: true, maxFuture: time.Minute}, nil, nil,
			"the rows that come are older than the newest that came before, and do not move the watermark: split 7 of table c.d.t holds the watermark at 2024-05-01 09:01:00.000"},
	} {
		s := split
		if c.split != nil {
			c.split(&s)
		}
		m := newRecall(now.Add(-time.Minute))
		m.splits[[2]string{s.Operator, s.Split}] = splitMemory{at: now.Add(-time.Minute)}
		got := splitCause(standing{now: now, tables: map[string]tableFacts{"Scan-1": c.facts}, counters: map[string]map[string]int64{"Scan-1": c.counters}}, &m, s, 0)
		if got.text != c.want {
			t.Errorf("got  %s\nwant %s", got.text, c.want)
		}
	}
}

// TestStallOfSink: an INSERT whose sink takes no rows says so, although none comes in any more; a reader of results that pauses is not told.
func TestStallOfSink(t *testing.T) {
	for _, insert := range []bool{true, false} {
		at := time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)
		m := newRecall(at)
		var said []string
		for i := range 12 {
			st := standing{now: at.Add(time.Duration(i) * time.Second), insert: insert, rowsIn: 9, rowsOut: 3, splits: []SplitWatermark{{Operator: "Scan-1", Split: "0", Rows: 9, Blocked: i > 0}}}
			if note := m.next(st); note != "" {
				said = append(said, fmt.Sprint(i, " ", note))
			}
		}
		want := "6 no result for 5 s: the sink takes no rows, so none are read"
		if !insert {
			want = ""
		}
		if got := strings.Join(said, "; "); got != want {
			t.Errorf("INSERT %t: %q, want %q", insert, got, want)
		}
	}
}

// stuckWriter takes nothing until it is released.
type stuckWriter struct{ called, release chan struct{} }

func (w *stuckWriter) Write(p []byte) (int, error) {
	select {
	case w.called <- struct{}{}:
	default:
	}
	<-w.release
	return len(p), nil
}

// TestBlockedAtOnce: a sink that takes nothing from the first row on is known to hold its table up, although the table could never tell how it stands.
func TestBlockedAtOnce(t *testing.T) {
	w := &stuckWriter{called: make(chan struct{}, 1), release: make(chan struct{})}
	reg := testconn.NewRegistry()
	db, err := Open(Options{Connectors: []connectors.Connector{reg.Connector()}, Stdout: w})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	defer close(w.release)
	if err := db.Exec(t.Context(), "CREATE TABLE t (u STRING) WITH ('connector' = 'test'); CREATE TABLE p (u STRING) WITH ('connector' = 'print')"); err != nil {
		t.Fatal(err)
	}
	job, err := db.Start(t.Context(), "INSERT INTO p SELECT u FROM t")
	if err != nil {
		t.Fatal(err)
	}
	if err := reg.Table("`default_catalog`.`default_database`.`t`").Append(0, "a"); err != nil {
		t.Fatal(err)
	}
	<-w.called
	over, cancel := context.WithCancel(t.Context())
	cancel()
	splits := job.Watermarks(over)
	if len(splits) != 1 || !splits[0].Blocked {
		t.Fatalf("%+v", splits)
	}
	if rows := watermarkRows(splits); rows[0][5] != "active, waits for its sink" {
		t.Errorf("%q", rows)
	}
}
