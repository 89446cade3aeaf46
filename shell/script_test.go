package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/task"
)

func TestRP01Script(t *testing.T) {
	text := "\ufeff" + strings.ReplaceAll("SELECT 'a;b' AS `c;d`; SELECT 2 -- x; don't\n; /* ; ' */ SELECT 'it''s';\n\n", "\n", "\r\n")
	out, errOut, status := runText(t, &Runner{Writer: WriterOptions{Format: "csv"}}, text)
	if want := "c;d\na;b\nEXPR$0\n2\nEXPR$0\nit's\n"; out != want || status != 0 {
		t.Errorf("status %d, %s; got\n%s", status, errOut, out)
	}
	for _, c := range []struct{ text, want string }{
		{"SELECT 1;\nSELECT 'abc", "script.sql:2:8: "},
		{"SELECT 1;\n SELECT `abc", "script.sql:2:9: "},
		{"SELECT 1;\n  /* no end", "script.sql:2:3: "},
		{"SELECT 1; SELECT 2 /* no end", "script.sql:1:20: "},
	} {
		_, errOut, status := runText(t, nil, c.text)
		if status != ExitFailed || !strings.Contains(errOut, c.want) {
			t.Errorf("%q: status %d, %s; want %s", c.text, status, errOut, c.want)
		}
	}
}

func TestErrorsHavePlaceAndCaret(t *testing.T) {
	const text = "SELECT 1;\nSELECT 2,\n  nope\nFROM (VALUES (1)) AS t(a);\nSELECT 3;"
	out, errOut, status := runText(t, &Runner{Writer: WriterOptions{Format: "csv"}}, text)
	if status != ExitFailed || out != "EXPR$0\n1\n" || !strings.HasPrefix(errOut, "1 row") || !strings.Contains(errOut, "error: script.sql:3:3: ") || !strings.Contains(errOut, "  3 |   nope\n    |   ^^^^\n") {
		t.Errorf("status %d, out %q, err\n%s", status, out, errOut)
	}
	out, errOut, status = runText(t, &Runner{Writer: WriterOptions{Format: "csv"}, ContinueOnError: true}, text)
	if status != ExitFailed || out != "EXPR$0\n1\nEXPR$0\n3\n" {
		t.Errorf("continue: status %d, out %q, err\n%s", status, out, errOut)
	}
	// A failure while rows come has what was printed before it.
	out, errOut, status = runText(t, &Runner{Writer: WriterOptions{Format: "jsonl"}}, "SELECT 10 / a AS q FROM (VALUES (1), (0)) AS t(a);")
	if status != ExitFailed || !strings.Contains(errOut, "error: ") {
		t.Errorf("status %d, out %q, err\n%s", status, out, errOut)
	}
}

func TestWarningsAndSummaries(t *testing.T) {
	const text = `CREATE TABLE c (u STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen', 'number-of-rows' = '10');
SELECT 1;`
	_, errOut, _ := runText(t, nil, text)
	if !strings.Contains(errOut, "1 row in ") {
		t.Errorf("no summary: %s", errOut)
	}
	if _, errOut, _ = runText(t, &Runner{Quiet: true}, text); errOut != "" {
		t.Errorf("quiet: %s", errOut)
	}
	_, errOut, _ = runText(t, &Runner{Writer: WriterOptions{MaxRows: 3}}, "SET 'weir.result-mode' = 'table'; CREATE TABLE e (id BIGINT) WITH ('connector' = 'datagen'); SELECT id, COUNT(*) FROM e GROUP BY id;")
	if !strings.Contains(errOut, "changelog is printed") || !strings.Contains(errOut, "warning: line 1, column ") {
		t.Errorf("an endless result as table: %s", errOut)
	}
	got := summary("5 rows", weir.Stats{LateRows: 3, PartlyLateRows: 1, BadRows: 2, NullTimeRows: 1, FutureRows: 4, StrayRetractions: 1,
		Tables: []weir.TableStats{{Counters: map[string]int64{"null_messages": 1}}, {Counters: map[string]int64{"null_messages": 1, "lost_offsets": 2}}}}, 1500*time.Millisecond)
	if want := "5 rows in 1.500 s; 3 late rows; 1 partly late row; 2 bad records; 1 row without event time; 4 future rows; 1 stray retraction; " +
		"2 messages without a value; 2 lost offsets"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestMaxRows(t *testing.T) {
	for _, c := range []struct {
		sql        string
		max, limit int64
		rows       int
		note       string
	}{
		{"SELECT * FROM (VALUES (1), (2), (3)) AS t(a);", 2, 0, 2, "only the first 2 rows are shown (--max-rows)"},
		{"SELECT * FROM (VALUES (1), (2), (3)) AS t(a);", 3, 0, 3, ""},
		{"SELECT * FROM (VALUES (1), (2), (3)) AS t(a);", 0, 1, 1, "\\limit 0"},
		{"SELECT * FROM (VALUES (1), (2), (3)) AS t(a);", 2, 5, 2, "--max-rows"},
		{"CREATE TABLE e (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '1000'); SELECT id FROM e;", 5, 0, 5, "only the first 5 rows"},
	} {
		for _, format := range Formats {
			out, errOut, status := runText(t, &Runner{Writer: WriterOptions{Format: format, NoHeader: true, MaxRows: c.max}, Limit: c.limit}, c.sql)
			if status != 0 || c.note == "" && strings.Contains(errOut, "only") || !strings.Contains(errOut, c.note) {
				t.Errorf("%s, %s: status %d, %s", c.sql, format, status, errOut)
			}
			if format == "csv" && strings.Count(out, "\n") != c.rows {
				t.Errorf("%s: %q", c.sql, out)
			}
			if format == "json" && !json.Valid([]byte(out)) {
				t.Errorf("%s: no JSON: %q", c.sql, out)
			}
		}
	}
}

func TestStats(t *testing.T) {
	r := &Runner{Quiet: true}
	_, _, status := runText(t, r, "CREATE TABLE t (a INT);\n INSERT INTO t VALUES (1), (2);\nSELECT a FROM t; SELECT nope;")
	if status != ExitFailed {
		t.Fatal(status)
	}
	var buf bytes.Buffer
	if err := r.WriteStats(&buf); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Statements []struct {
			File, Statement, Error string
			Line                   int
			WallMs                 float64 `json:"wall_ms"`
			RowsIn                 int64   `json:"rows_in"`
			RowsOut                int64   `json:"rows_out"`
			Tables                 []any
		}
	}
	if err := json.Unmarshal(buf.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	s := got.Statements
	if len(s) != 4 || s[1].RowsOut != 2 || s[1].Line != 2 || s[1].File != "script.sql" || s[2].RowsIn != 2 || s[2].RowsOut != 2 || s[3].Error == "" || len(s[2].Tables) == 0 || s[2].WallMs <= 0 {
		t.Errorf("got %s", buf.String())
	}
}

// limitedWriter fails as a closed pipe does after some bytes.
type limitedWriter struct {
	left int
	seen bytes.Buffer
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		return 0, syscall.EPIPE
	}
	w.left -= len(p)
	return w.seen.Write(p)
}

func TestClosedOutput(t *testing.T) {
	const gen = "CREATE TABLE e (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '100000');"
	for _, c := range []struct {
		sql    string
		status int
		note   string
	}{
		{gen + "SELECT id FROM e;", ExitOK, ""},
		{gen + "SELECT id FROM e; SELECT 2;", ExitFailed, "1 statement not run"},
		{gen + "CREATE TABLE n (id BIGINT) WITH ('connector' = 'blackhole'); INSERT INTO n SELECT id FROM e; SELECT id FROM e;", ExitFailed, "1 job stopped"},
	} {
		for _, format := range Formats {
			db, err := weir.Open(weir.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var errOut bytes.Buffer
			r := &Runner{DB: db, Out: &limitedWriter{left: 1000}, Err: &errOut, Writer: WriterOptions{Format: format}}
			status := r.RunScript(context.Background(), c.sql, "")
			if status != c.status || !strings.Contains(errOut.String(), c.note) || strings.Contains(errOut.String(), "error") {
				t.Errorf("%s, %s: status %d, %s", c.sql, format, status, errOut.String())
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// lookout calls found once what is written has a text.
type lookout struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	text  string
	found func()
}

func (l *lookout) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.buf.Write(p)
	if l.found != nil && strings.Contains(l.buf.String(), l.text) {
		l.found()
		l.found = nil
	}
	return n, err
}

func TestStoppedInOrder(t *testing.T) {
	const gen = "CREATE TABLE e (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '1000');"
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	db, err := weir.Open(weir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, errOut := &lookout{text: "\n", found: cancel}, &bytes.Buffer{}
	r := &Runner{DB: db, Out: rows, Err: errOut, Writer: WriterOptions{Format: "csv", NoHeader: true}}
	status := r.RunScript(ctx, gen+"SELECT id FROM e; SELECT 2;", "")
	if status != ExitInterrupted || !strings.Contains(errOut.String(), "stopped: ") || !strings.HasSuffix(rows.buf.String(), "\n") {
		t.Errorf("status %d, %s, %q", status, errOut.String(), rows.buf.String())
	}
	if err := r.RunStatement(ctx, weir.Split("SELECT 1").Statements[0]); !errors.Is(err, errStopped) {
		t.Errorf("after the stop: %v", err)
	}
}

// startClock calls looked when it is looked at first: the time at which a job starts.
type startClock struct {
	connectors.Clock
	once   sync.Once
	looked func()
}

func (c *startClock) Now() time.Time {
	if c.looked != nil {
		c.once.Do(c.looked)
	}
	return c.Clock.Now()
}

// TestStoppedAtStart: an interrupt that comes while a job starts stops it in order, with its summary, and says so: it may have written rows already.
func TestStoppedAtStart(t *testing.T) {
	const tables = `CREATE TABLE e (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '1000'); CREATE TABLE n (id BIGINT) WITH ('connector' = 'blackhole');`
	for _, c := range []struct{ setting, sql string }{
		{"false", "SELECT id FROM e"},
		{"false", "INSERT INTO n SELECT id FROM e"},
		{"true", "INSERT INTO n SELECT id FROM e"},
	} {
		clock := &startClock{Clock: task.SystemClock{}}
		db, err := weir.Open(weir.Options{Config: map[string]string{"table.dml-sync": c.setting}, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Exec(t.Context(), tables); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		clock.looked = cancel
		var errOut bytes.Buffer
		r := &Runner{DB: db, Out: &bytes.Buffer{}, Err: &errOut, Writer: WriterOptions{Format: "csv", NoHeader: true}, stopNote: time.Hour}
		status := r.RunScript(ctx, c.sql+"; SELECT 2;", "")
		if status != ExitInterrupted || !strings.HasPrefix(errOut.String(), "stopped: ") || strings.Count(errOut.String(), "\n") != 1 {
			t.Errorf("%s: status %d, %q", c.sql, status, errOut.String())
		}
		if jobs := db.Jobs(); len(jobs) != 0 {
			t.Errorf("%s: %d jobs are left", c.sql, len(jobs))
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// heldWriter takes nothing until it is let go. It calls begun when the first text comes.
type heldWriter struct {
	begun func()
	free  chan struct{}
}

func (w heldWriter) Write(p []byte) (int, error) {
	w.begun()
	<-w.free
	return len(p), nil
}

// TestStillStopping: while what a job has read cannot be worked off, whoever stops it is told what is waited for.
func TestStillStopping(t *testing.T) {
	const sql = `CREATE TABLE e (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '1000');
CREATE TABLE p (id BIGINT) WITH ('connector' = 'print');
INSERT INTO p SELECT id FROM e;`
	for _, sync := range []string{"false", "true"} {
		ctx, cancel := context.WithCancel(t.Context())
		held := heldWriter{begun: cancel, free: make(chan struct{})}
		db, err := weir.Open(weir.Options{Stdout: held, Config: map[string]string{"table.dml-sync": sync}})
		if err != nil {
			t.Fatal(err)
		}
		errOut := &lookout{text: "is still stopping", found: func() { close(held.free) }}
		r := &Runner{DB: db, Out: &bytes.Buffer{}, Err: errOut, Writer: WriterOptions{Format: "csv"}, stopNote: time.Nanosecond}
		status := r.RunScript(ctx, sql, "")
		if got := errOut.buf.String(); status != ExitInterrupted || !strings.Contains(got, "insert-into_default_catalog.default_database.p is still stopping: what it has read is worked off") {
			t.Errorf("table.dml-sync %s: status %d, %s", sync, status, got)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestUnboundedInsertRunsBeside(t *testing.T) {
	const sql = `CREATE TABLE e (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '1000');
CREATE TABLE n (id BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO n SELECT id FROM e;
SELECT 'beside' AS x;`
	db, err := weir.Open(weir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithCancel(context.Background())
	out, errOut := &lookout{text: "beside", found: cancel}, &bytes.Buffer{}
	r := &Runner{DB: db, Out: out, Err: errOut, Writer: WriterOptions{Format: "csv"}}
	if status := r.RunScript(ctx, sql, ""); status != ExitInterrupted || !strings.Contains(errOut.String(), "insert-into_default_catalog.default_database.n: ") {
		t.Errorf("status %d, %s", status, errOut.String())
	}
	if jobs := db.Jobs(); len(jobs) != 0 {
		t.Errorf("%d jobs are left", len(jobs))
	}
}

// TestBackgroundFailure: an INSERT that fails beside a query that has no end is told at once.
func TestBackgroundFailure(t *testing.T) {
	const sql = `CREATE TABLE e (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '1000');
CREATE TABLE n (id BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO n SELECT id / (id - id) FROM e;
SELECT id FROM e;`
	db, err := weir.Open(weir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithCancel(context.Background())
	out, errOut := &bytes.Buffer{}, &lookout{text: "script.sql:3:", found: cancel}
	r := &Runner{DB: db, Out: out, Err: errOut, Writer: WriterOptions{Format: "csv"}}
	if status := r.RunScript(ctx, sql, "script.sql"); status != ExitInterrupted || !strings.Contains(errOut.buf.String(), "error: script.sql:3:") {
		t.Errorf("status %d, %s", status, errOut.buf.String())
	}
	// Alone it makes the status 1.
	_, text, status := runText(t, nil, strings.TrimSuffix(sql, "SELECT id FROM e;"))
	if status != ExitFailed || strings.Count(text, "error: ") != 1 || !strings.Contains(text, "failed: 0 rows given to the sink") {
		t.Errorf("status %d, %s", status, text)
	}
}

// TestWritten: rows of an INSERT that did not end in order are not said to be written.
func TestWritten(t *testing.T) {
	for state, want := range map[weir.JobState]string{
		weir.JobFinished: "2 rows written",
		weir.JobFailed:   "failed: 2 rows given to the sink, of which those since its last commit may be missing",
		weir.JobCanceled: "canceled: 2 rows given to the sink, of which those since its last commit may be missing",
	} {
		if got := written(state, 2); got != want {
			t.Errorf("%s: %s", state, got)
		}
	}
}

// TestChangesNote: who sees changes in a table is told once how to see the table that they amount to.
func TestChangesNote(t *testing.T) {
	const q = "SELECT COUNT(*) FROM (VALUES (1), (2)) AS t(a);"
	const note = "SET 'weir.result-mode' = 'table' shows the final table"
	for _, c := range []struct {
		name, format, text string
		want               int
	}{
		{"changes", "", q + q, 1},
		{"table", "", "SET 'weir.result-mode' = 'table';" + q, 0},
		{"additions", "", "SELECT a FROM (VALUES (1), (2)) AS t(a);", 0},
		{"for programs", "csv", q, 0},
		{"asked for", "changelog", q, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, errOut, _ := runText(t, &Runner{Writer: WriterOptions{Format: c.format}}, c.text)
			if got := strings.Count(errOut, note); got != c.want {
				t.Errorf("the note is there %d times, not %d: %s", got, c.want, errOut)
			}
		})
	}
}
