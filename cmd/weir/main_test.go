package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or is the command itself in a process that a test has started.
func TestMain(m *testing.M) {
	if os.Getenv("WEIR_TEST_MAIN") != "" {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// call runs the command in this process.
func call(stdin string, args ...string) (status int, out, errOut string) {
	var o, e bytes.Buffer
	status = run(args, strings.NewReader(stdin), &o, &e)
	return status, o.String(), e.String()
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCommandLine(t *testing.T) {
	good := write(t, "good.sql", "CREATE TABLE t (a INT);\nINSERT INTO t VALUES (1), (2);\n")
	use := write(t, "use.sql", "SELECT a FROM t;")
	bad := write(t, "bad.sql", "SELECT 1 AS one;\nSELECT\n  nope;\nSELECT 3 AS three;")
	for _, c := range []struct {
		name     string
		args     []string
		stdin    string
		status   int
		out, err string // regular expressions; "" is nothing at all
	}{
		{"-c", []string{"-c", "SELECT 1 AS a; SELECT 'x' AS b", "--format", "csv"}, "", 0, `^a\n1\nb\nx\n$`, `^1 row in \S+ s\n1 row in \S+ s\n$`},
		{"-c quiet", []string{"-c", "SELECT 1 AS a", "--quiet"}, "", 0, `^\+---\+\n\| a \|\n\+---\+\n\| 1 \|\n\+---\+\n$`, ``},
		{"-c nothing", []string{"-c", ""}, "", 0, ``, ``},
		{"-c error", []string{"-c", "SELECT nope"}, "", 1, ``, `^error: 1:8: .*nope.*\[WEIR-\d+\]\n  1 \| SELECT nope\n    \|        \^\^\^\^\n`},
		{"standard input", []string{"--format=csv"}, "SELECT 1 AS a;", 0, `^a\n1\n$`, `1 row`},
		{"standard input error", nil, "SELECT 1;\n SELECT x;", 1, `1`, `<stdin>:2:9: `},
		{"run -", []string{"run", "-", "--format=csv", "--quiet"}, "\ufeffSELECT 1 AS a;", 0, `^a\n1\n$`, ``},
		{"run two in one session", []string{"run", good, use, "--format=csv", "--no-header"}, "", 0, `^1\n2\n$`, `^2 rows written in .*\n2 rows in`},
		{"run error", []string{"run", bad, "--format=csv"}, "", 1, `^one\n1\n$`, `error: ` + regexp.QuoteMeta(bad) + `:3:3: .*\n  3 \|   nope;\n    \|   \^\^\^\^\n`},
		{"run on", []string{"run", bad, "--format=csv", "--continue-on-error", "--quiet"}, "", 1, `^one\n1\nthree\n3\n$`, `:3:3: `},
		{"run on to the next script", []string{"run", bad, use, "--continue-on-error", "--quiet"}, "", 1, `three`, `use.sql:1:15: `},
		{"no such script", []string{"run", "nowhere.sql"}, "", 1, ``, `^weir: open nowhere.sql: `},
		{"no script", []string{"run"}, "", 2, ``, `^weir: nothing to run; write: weir run script.sql ...\n$`},
		{"check nothing", []string{"check", "--json"}, "", 2, ``, `^weir: nothing to check; write: weir check script.sql ...\n$`},
		{"unknown flag", []string{"run", good, "--restor"}, "", 2, ``, `unknown flag: --restor`},
		{"unknown command", []string{"rnu"}, "", 2, ``, `unknown command "rnu"; did you mean run\?`},
		{"a script as command", []string{good}, "", 2, ``, `to run a script write: weir run `},
		{"unknown format", []string{"-c", "SELECT 1", "--format", "jsno"}, "", 2, ``, `unknown format "jsno".*did you mean json`},
		{"max-rows", []string{"-c", "SELECT * FROM (VALUES (1), (2), (3)) AS t(a)", "--max-rows", "2", "--format", "csv"}, "", 0, `^a\n1\n2\n$`, `only the first 2 rows are shown \(--max-rows\)`},
		{"max-rows wrong", []string{"-c", "SELECT 1", "--max-rows", "-2"}, "", 2, ``, `--max-rows`},
		{"set", []string{"-c", "SET", "--set", "weir.threads=1", "--set", "'table.local-time-zone' = 'Asia/Tokyo'", "--format", "csv"}, "", 0, `table.local-time-zone,Asia/Tokyo\nweir.threads,1\n$`, ``},
		{"set unknown", []string{"-c", "SELECT 1", "--set", "weir.threds=1"}, "", 2, ``, `weir.threds.*did you mean 'weir.threads'`},
		{"set wrong", []string{"-c", "SELECT 1", "--set", "weir.threads"}, "", 2, ``, `--set wants key=value`},
		{"zone", []string{"-c", "SET 'table.local-time-zone' = 'Asia/Tokyo'; SELECT CAST(TIMESTAMP '2024-05-01 10:00:00' AS TIMESTAMP_LTZ(3)) AS t", "--format", "csv", "--quiet"}, "", 0, `^t\n2024-05-01 10:00:00.000\n$`, ``},
		{"version", []string{"version"}, "", 0, `^weir \S+ \(go1`, ``},
		{"help", []string{"--help"}, "", 0, `Available Commands`, ``},
		{"explain", []string{"explain", good}, "", 0, `Sink`, ``},
		{"explain error", []string{"explain", bad}, "", 1, `Collect`, `:3:3: `},
		{"check", []string{"check", use}, "", 1, `^error: ` + regexp.QuoteMeta(use) + `:1:15: `, ``},
		{"check two in one session", []string{"check", good, use}, "", 0, ``, ``},
		{"explain two in one session", []string{"explain", good, use}, "", 0, `Sink(.|\n)*Collect`, ``},
		{"check fine", []string{"check", good}, "", 0, ``, ``},
		{"test nothing", []string{"test", t.TempDir()}, "", 2, ``, `no \*.slt`},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, errOut := call(c.stdin, c.args...)
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			for _, s := range []struct{ what, got, want string }{{"stdout", out, c.out}, {"stderr", errOut, c.err}} {
				if s.want == "" && s.got != "" || !regexp.MustCompile(s.want).MatchString(s.got) {
					t.Errorf("%s:\n%s\nwant %s", s.what, s.got, s.want)
				}
			}
		})
	}
}

// TestFormats has one golden output of each format, for a result that grows and for one that changes.
func TestFormats(t *testing.T) {
	const rows = "SELECT a, b FROM (VALUES (1, 'x'), (2, CAST(NULL AS STRING)), (3, '')) AS t(a, b)"
	const changes = "SELECT k, COUNT(*) AS n FROM (VALUES ('a'), ('b'), ('a')) AS t(k) GROUP BY k"
	for _, c := range []struct{ format, rows, changes string }{
		{"table", "+---+--------+\n| a | b      |\n+---+--------+\n| 1 | x      |\n| 2 | <NULL> |\n| 3 |        |\n+---+--------+\n",
			"+----+---+---+\n| op | k | n |\n+----+---+---+\n| +I | a | 1 |\n| +I | b | 1 |\n| -U | a | 1 |\n| +U | a | 2 |\n+----+---+---+\n"},
		{"changelog", "+----+---+--------+\n| op | a | b      |\n+----+---+--------+\n| +I | 1 | x      |\n| +I | 2 | <NULL> |\n| +I | 3 |        |\n+----+---+--------+\n",
			"+----+---+---+\n| op | k | n |\n+----+---+---+\n| +I | a | 1 |\n| +I | b | 1 |\n| -U | a | 1 |\n| +U | a | 2 |\n+----+---+---+\n"},
		{"csv", "a,b\n1,x\n2,\n3,\"\"\n", "op,k,n\n+I,a,1\n+I,b,1\n-U,a,1\n+U,a,2\n"},
		{"tsv", "a\tb\n1\tx\n2\t\n3\t\"\"\n", "op\tk\tn\n+I\ta\t1\n+I\tb\t1\n-U\ta\t1\n+U\ta\t2\n"},
		{"json", "[\n  {\"a\":1,\"b\":\"x\"},\n  {\"a\":2,\"b\":null},\n  {\"a\":3,\"b\":\"\"}\n]\n",
			"[\n  {\"op\":\"+I\",\"k\":\"a\",\"n\":1},\n  {\"op\":\"+I\",\"k\":\"b\",\"n\":1},\n  {\"op\":\"-U\",\"k\":\"a\",\"n\":1},\n  {\"op\":\"+U\",\"k\":\"a\",\"n\":2}\n]\n"},
		{"jsonl", "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":null}\n{\"a\":3,\"b\":\"\"}\n",
			"{\"op\":\"+I\",\"k\":\"a\",\"n\":1}\n{\"op\":\"+I\",\"k\":\"b\",\"n\":1}\n{\"op\":\"-U\",\"k\":\"a\",\"n\":1}\n{\"op\":\"+U\",\"k\":\"a\",\"n\":2}\n"},
		{"markdown", "| a | b |\n|---|---|\n| 1 | x |\n| 2 | *NULL* |\n| 3 |  |\n", "| op | k | n |\n|---|---|---|\n| +I | a | 1 |\n| +I | b | 1 |\n| -U | a | 1 |\n| +U | a | 2 |\n"},
		{"vertical", "-[ 1 ]-\na | 1\nb | x\n-[ 2 ]-\na | 2\nb | <NULL>\n-[ 3 ]-\na | 3\nb |\n",
			"-[ 1 ]-\nop | +I\nk  | a\nn  | 1\n-[ 2 ]-\nop | +I\nk  | b\nn  | 1\n-[ 3 ]-\nop | -U\nk  | a\nn  | 1\n-[ 4 ]-\nop | +U\nk  | a\nn  | 2\n"},
	} {
		for sql, want := range map[string]string{rows: c.rows, changes: c.changes} {
			if status, out, errOut := call("", "-c", sql, "--format", c.format, "--quiet"); status != 0 || out != want || errOut != "" {
				t.Errorf("%s, %s: status %d, %s, got\n%s\nwant\n%s", c.format, sql, status, errOut, out, want)
			}
		}
	}
	status, out, _ := call("", "-c", "SET 'weir.result-mode' = 'table'; "+changes, "--format", "csv", "--quiet")
	if want := "k,n\na,2\nb,1\n"; status != 0 || out != want {
		t.Errorf("final table: status %d, got\n%s\nwant\n%s", status, out, want)
	}
}

// TestTabs: a file of tab-separated values is a table, and its declaration reads it too.
func TestTabs(t *testing.T) {
	file := write(t, "x.tsv", "a\tb\n1\tx, y\n")
	_, declaration, errOut := call("", "-c", "SHOW CREATE TABLE '"+file+"'")
	for _, sql := range []string{"SELECT a, b FROM '" + file + "'", declaration + "; SELECT a, b FROM x"} {
		if status, out, more := call("", "-c", sql, "--format", "csv", "--quiet"); status != 0 || out != "a,b\n1,\"x, y\"\n" {
			t.Errorf("%s: %s%s%s", sql, out, errOut, more)
		}
	}
}

// TestFinalTableOfChanges: the table that a changelog amounts to, typed as it was.
func TestFinalTableOfChanges(t *testing.T) {
	file := write(t, "users.json", `{"before":null,"after":{"id":1,"name":"ann"},"op":"c"}
{"before":null,"after":{"id":2,"name":"bob"},"op":"c"}
{"before":null,"after":{"id":3,"name":null},"op":"c"}
{"before":{"id":1,"name":"ann"},"after":{"id":1,"name":"eve"},"op":"u"}
{"before":{"id":2,"name":"bob"},"after":null,"op":"d"}
`)
	sql := "CREATE TABLE u (id INT, name STRING) WITH ('connector' = 'filesystem', 'path' = '" + file + "', 'format' = 'debezium-json'); "
	const mode = "SET 'weir.result-mode' = 'table'; "
	for _, c := range []struct{ sql, format, want string }{
		{mode + sql + "SELECT * FROM u", "csv", "id,name\n1,eve\n3,\n"},
		{mode + sql + "SELECT * FROM u", "jsonl", "{\"id\":1,\"name\":\"eve\"}\n{\"id\":3,\"name\":null}\n"},
		{mode + sql + "SELECT * FROM u WHERE id > 5", "csv", "id,name\n"},
		{sql + "SELECT id FROM u WHERE id < 3", "csv", "op,id\n+I,1\n+I,2\n-U,1\n+U,1\n-D,2\n"},
	} {
		if status, out, errOut := call("", "-c", c.sql, "--format", c.format, "--quiet"); status != 0 || out != c.want || errOut != "" {
			t.Errorf("%s, %s: status %d, %s, got\n%s\nwant\n%s", c.sql, c.format, status, errOut, out, c.want)
		}
	}
}

func TestFlagsThatAreNotThereYet(t *testing.T) {
	for _, args := range [][]string{{"-c", "SELECT 1", "--checkpoint-dir", "x"}, {"run", "-", "--restore"}} {
		status, out, errOut := call("SELECT 1", args...)
		if status != 2 || out != "" || !strings.Contains(errOut, "--checkpoint-dir and --restore are not supported yet: checkpoints are kept in memory only") {
			t.Errorf("%v: status %d, out %q, stderr %s", args, status, out, errOut)
		}
	}
	status, out, errOut := call("", "-c", "SELECT 1", "--metrics", "nowhere")
	if status != 2 || out != "" || !strings.Contains(errOut, "--metrics nowhere: ") {
		t.Errorf("status %d, out %q, stderr %s", status, out, errOut)
	}
}

func TestStatsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "stats.json")
	data := write(t, "clicks.csv", "u,ts\nann,2024-05-01 10:00:01\nbob,2024-05-01 10:00:12\ncid,2024-05-01 10:00:02\n")
	sql := `CREATE TABLE clicks (u STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'filesystem', 'path' = '` + data + `', 'format' = 'csv', 'csv.header' = 'true');
SELECT window_start, COUNT(*) AS n FROM TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end`
	status, out, errOut := call("", "-c", sql, "--stats", file, "--format", "csv")
	if want := "window_start,n\n2024-05-01 10:00:00.000,1\n2024-05-01 10:00:10.000,1\n"; status != 0 || out != want {
		t.Fatalf("status %d, %s, got\n%s", status, errOut, out)
	}
	if !strings.Contains(errOut, "; 1 late row\n") {
		t.Errorf("the summary is %q", errOut)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Statements []struct {
			Statement string
			Line      int
			WallMs    float64 `json:"wall_ms"`
			Watermark string
			RowsIn    int64 `json:"rows_in"`
			RowsOut   int64 `json:"rows_out"`
			LateRows  int64 `json:"late_rows"`
			Tables    []struct {
				Name     string
				Counters map[string]int64
			}
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Statements) != 2 {
		t.Fatalf("got %s", text)
	}
	if s := got.Statements[1]; s.Line != 2 || s.RowsIn != 3 || s.RowsOut != 2 || s.LateRows != 1 || s.Watermark != "2024-05-01 10:00:12.000" || s.WallMs <= 0 || len(s.Tables) == 0 {
		t.Errorf("got %s", text)
	}
	if status, _, errOut := call("", "-c", "SELECT 1", "--quiet", "--stats", filepath.Join(file, "x")); status != 1 || !strings.Contains(errOut, "weir: open ") {
		t.Errorf("a file that cannot be written: %d, %s", status, errOut)
	}
}

func TestCheckReports(t *testing.T) {
	file := write(t, "c.sql", `CREATE TABLE e (id BIGINT) WITH ('connector' = 'datagen');
SELECT id, COUNT(*) FROM e WHERE id != 3 GROUP BY id;
SELECT nope FROM e;
SELECT 1 +;`)
	status, out, _ := call("", "check", file, "--json")
	var found []finding
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var got []string
	for _, f := range found {
		if f.File != file || f.Message == "" || f.Severity == "error" && f.Code == "" {
			t.Errorf("%+v", f)
		}
		got = append(got, f.Severity+" "+string(rune('0'+f.Line)))
	}
	if want := "warning 2, error 3, error 4"; strings.Join(got, ", ") != want || status != 1 {
		t.Errorf("status %d, got %s, want %s", status, strings.Join(got, ", "), want)
	}
	if _, out, _ = call("", "check", file, "--portable"); !strings.Contains(out, "portability: "+file+":2:37: ") || !strings.Contains(out, "<>") {
		t.Errorf("portable:\n%s", out)
	}
	if status, out, _ = call("", "check", "--json", write(t, "fine.sql", "SELECT 1;")); status != 0 || strings.TrimSpace(out) != "[]" {
		t.Errorf("fine: %d, %s", status, out)
	}
	status, out, errOut := call("", "explain", "--json", write(t, "e.sql", "SELECT 1 AS a;"))
	if status != 0 || !json.Valid([]byte(out)) {
		t.Errorf("explain --json: %d, %s, %s", status, errOut, out)
	}
}

func TestTestReports(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"good.slt": "query I\nSELECT 1\n----\n1\n",
		"bad.slt":  "query I\nSELECT 1\n----\n2\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	junit := filepath.Join(dir, "out.xml")
	status, out, errOut := call("", "test", dir, "--junit", junit)
	if status != 1 || !strings.Contains(out, "bad.slt:1") {
		t.Errorf("status %d, %s, %s", status, errOut, out)
	}
	var suites struct {
		Suites []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
		} `xml:"testsuite"`
	}
	data, err := os.ReadFile(junit)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(data, &suites); err != nil {
		t.Fatal(err)
	}
	failures := 0
	for _, s := range suites.Suites {
		failures += s.Failures
	}
	if failures != 1 {
		t.Errorf("junit:\n%s", data)
	}
	if status, out, _ = call("", "test", filepath.Join(dir, "good.slt"), "--json"); status != 0 || !json.Valid([]byte(out)) {
		t.Errorf("json: %d, %s", status, out)
	}
	if status, out, _ = call("", "test", dir, "--run", "good"); status != 0 || strings.Contains(out, "bad.slt") {
		t.Errorf("run: %d, %s", status, out)
	}
	if status, _, errOut = call("", "test", dir, "--run", "("); status != 2 {
		t.Errorf("a wrong expression: %d, %s", status, errOut)
	}
	config := write(t, "config", "# settings\nweir.threads = 1\n")
	if status, _, errOut = call("", "test", filepath.Join(dir, "good.slt"), "--config", config, "--set", "weir.batch-size=2", "--quiet", "-j", "1", "--matrix"); status != 0 {
		t.Errorf("config: %d, %s", status, errOut)
	}
	if status, _, errOut = call("", "test", filepath.Join(dir, "bad.slt"), "--rewrite"); status != 0 {
		t.Errorf("rewrite: %d, %s", status, errOut)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "bad.slt")); string(data) != "query I\nSELECT 1\n----\n1\n" {
		t.Errorf("rewritten:\n%s", data)
	}
}
