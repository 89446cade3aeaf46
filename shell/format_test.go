package shell

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-sql/weir"
)

// runText runs a script and returns what it prints.
func runText(t *testing.T, r *Runner, sql string) (out, errOut string, status int) {
	t.Helper()
	db, err := weir.Open(weir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var o, e bytes.Buffer
	if r == nil {
		r = &Runner{}
	}
	r.DB, r.Out, r.Err = db, &o, &e
	status = r.RunScript(context.Background(), sql, "script.sql")
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	return o.String(), e.String(), status
}

// formatted runs a query that must work in a format.
func formatted(t *testing.T, o WriterOptions, sql string) string {
	t.Helper()
	out, errOut, status := runText(t, &Runner{Writer: o, Quiet: true}, sql)
	if status != 0 || errOut != "" {
		t.Fatalf("%s: status %d, %s", sql, status, errOut)
	}
	return out
}

const rp05 = "SELECT CAST(NULL AS STRING) a, '' b, 'NULL' c;"

func TestRP05NullEmptyAndTheWord(t *testing.T) {
	for format, want := range map[string]string{
		"table":     "+--------+---+------+\n| a      | b | c    |\n+--------+---+------+\n| <NULL> |   | NULL |\n+--------+---+------+\n",
		"changelog": "+----+--------+---+------+\n| op | a      | b | c    |\n+----+--------+---+------+\n| +I | <NULL> |   | NULL |\n+----+--------+---+------+\n",
		"csv":       "a,b,c\n,\"\",NULL\n",
		"tsv":       "a\tb\tc\n\t\"\"\tNULL\n",
		"json":      "[\n  {\"a\":null,\"b\":\"\",\"c\":\"NULL\"}\n]\n",
		"jsonl":     "{\"a\":null,\"b\":\"\",\"c\":\"NULL\"}\n",
		"markdown":  "| a | b | c |\n|---|---|---|\n| *NULL* |  | NULL |\n",
		"vertical":  "-[ 1 ]-\na | <NULL>\nb |\nc | NULL\n",
	} {
		if got := formatted(t, WriterOptions{Format: format}, rp05); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", format, got, want)
		}
	}
	// What csv prints, a csv source reads back.
	file := filepath.Join(t.TempDir(), "nulls.csv")
	if err := os.WriteFile(file, []byte(formatted(t, WriterOptions{Format: "csv"}, rp05)), 0o600); err != nil {
		t.Fatal(err)
	}
	again := "CREATE TABLE r (a STRING, b STRING, c STRING) WITH ('connector' = 'filesystem', 'path' = '" + file + "', 'format' = 'csv', 'csv.header' = 'true'); SELECT a IS NULL AS a, b = '' AS b, c = 'NULL' AS c FROM r;"
	if got, want := formatted(t, WriterOptions{Format: "csv"}, again), "a,b,c\nTRUE,TRUE,TRUE\n"; got != want {
		t.Errorf("read back:\n%s", got)
	}
}

func TestFormats(t *testing.T) {
	const types = `SELECT TRUE AS b, CAST(4 AS DOUBLE) AS d, CAST(1.50 AS DECIMAL(5,2)) AS n, TIMESTAMP '2024-05-01 10:00:00' AS t, ARRAY['a', CAST(NULL AS STRING)] AS l, x'0a' AS y;`
	const odd = "SELECT 'a,b' AS `c,1`, 'say \"hi\"' AS q, 'l1' || CHR(10) || 'l2' AS n, ' pad ' AS p, 'x|y*' AS m, CHR(27) || '[31m' AS e, '表示' AS w;"
	const changes = "CREATE TABLE t (k STRING, v INT); INSERT INTO t VALUES ('a', 1), ('b', 2), ('a', 3); SELECT k, SUM(v) AS s FROM t GROUP BY k;"
	for _, c := range []struct{ name, format, sql, want string }{
		{"types", "csv", types, "b,d,n,t,l,y\nTRUE,4.0,1.50,2024-05-01 10:00:00,\"[a, NULL]\",x'0a'\n"},
		{"types", "jsonl", types, `{"b":true,"d":4.0,"n":1.5,"t":"2024-05-01 10:00:00","l":["a",null],"y":"Cg=="}` + "\n"},
		{"odd", "csv", odd, "\"c,1\",q,n,p,m,e,w\n\"a,b\",\"say \"\"hi\"\"\",\"l1\nl2\",\" pad \",x|y*,\x1b[31m,表示\n"},
		{"odd", "tsv", odd, "c,1\tq\tn\tp\tm\te\tw\na,b\t\"say \"\"hi\"\"\"\t\"l1\nl2\"\t\" pad \"\tx|y*\t\x1b[31m\t表示\n"},
		{"odd", "markdown", odd, "| c,1 | q | n | p | m | e | w |\n|---|---|---|---|---|---|---|\n| a,b | say \"hi\" | l1<br>l2 |  pad  | x\\|y\\* | \\x1b[31m | 表示 |\n"},
		{"odd", "vertical", odd, "-[ 1 ]-\nc,1 | a,b\nq   | say \"hi\"\nn   | l1\\nl2\np   |  pad \nm   | x|y*\ne   | \\x1b[31m\nw   | 表示\n"},
		{"odd", "table", odd, "+-----+----------+--------+-------+------+----------+------+\n" +
			"| c,1 | q        | n      | p     | m    | e        | w    |\n" +
			"+-----+----------+--------+-------+------+----------+------+\n" +
			"| a,b | say \"hi\" | l1\\nl2 |  pad  | x|y* | \\x1b[31m | 表示 |\n" +
			"+-----+----------+--------+-------+------+----------+------+\n"},
		{"changes", "csv", changes, "op,k,s\n+I,a,1\n+I,b,2\n-U,a,1\n+U,a,4\n"},
		{"changes", "jsonl", changes, `{"op":"+I","k":"a","s":1}
{"op":"+I","k":"b","s":2}
{"op":"-U","k":"a","s":1}
{"op":"+U","k":"a","s":4}
`},
		{"changes", "json", changes, `[
  {"op":"+I","k":"a","s":1},
  {"op":"+I","k":"b","s":2},
  {"op":"-U","k":"a","s":1},
  {"op":"+U","k":"a","s":4}
]
`},
		{"changes", "markdown", changes, "| op | k | s |\n|---|---|---|\n| +I | a | 1 |\n| +I | b | 2 |\n| -U | a | 1 |\n| +U | a | 4 |\n"},
		{"changes", "vertical", "SET 'weir.result-mode' = 'table'; " + changes, "-[ 1 ]-\nk | a\ns | 4\n-[ 2 ]-\nk | b\ns | 2\n"},
		{"changes", "table", changes, "+----+---+---+\n| op | k | s |\n+----+---+---+\n| +I | a | 1 |\n| +I | b | 2 |\n| -U | a | 1 |\n| +U | a | 4 |\n+----+---+---+\n"},
		{"empty", "json", "SELECT a FROM (VALUES (1)) AS t(a) WHERE FALSE;", "[]\n"},
		{"empty", "jsonl", "SELECT a FROM (VALUES (1)) AS t(a) WHERE FALSE;", ""},
		{"empty", "csv", "SELECT a FROM (VALUES (1)) AS t(a) WHERE FALSE;", "a\n"},
		{"empty", "table", "SELECT a FROM (VALUES (1)) AS t(a) WHERE FALSE;", "+---+\n| a |\n+---+\n"},
		{"long", "table", "SELECT '" + strings.Repeat("x", 70) + "' AS a;", "+" + strings.Repeat("-", 62) + "+\n| a" + strings.Repeat(" ", 60) + "|\n+" + strings.Repeat("-", 62) + "+\n| " +
			strings.Repeat("x", 59) + "… |\n+" + strings.Repeat("-", 62) + "+\n"},
	} {
		t.Run(c.name+" "+c.format, func(t *testing.T) {
			if got := formatted(t, WriterOptions{Format: c.format}, c.sql); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
	if got := formatted(t, WriterOptions{Format: "csv", NoHeader: true}, rp05); got != ",\"\",NULL\n" {
		t.Errorf("no header: %q", got)
	}
}

// TestTableAfterSample looks at rows behind those that have set a table's widths: they look the same, and long cells are cut.
func TestTableAfterSample(t *testing.T) {
	const n = widthSample + 3
	out := formatted(t, WriterOptions{}, `CREATE TABLE g (id BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '503', 'rows-per-second' = '1000000',
		'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '503');
		SELECT id, CASE WHEN id = 502 THEN '表示表示表示表示表示表示表示表示' WHEN id = 503 THEN CAST(NULL AS STRING) ELSE 'x' END AS s FROM g;`)
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != n+4 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, l := range lines {
		if displayWidth(l) != displayWidth(lines[0]) {
			t.Errorf("line %d is %q", i, l)
		}
	}
	for _, want := range []string{"|                  500 | x                    |", "|                  501 | x                    |", "|                  502 | 表示表示表示表示表…  |", "|                  503 | <NULL>               |"} {
		if !strings.Contains(out, want+"\n") {
			t.Errorf("no line %q; the end is\n%s", want, strings.Join(lines[n-3:], "\n"))
		}
	}
}

func TestTableFitsTerminal(t *testing.T) {
	out := formatted(t, WriterOptions{Width: 40}, "SELECT '"+strings.Repeat("a", 50)+"' AS a, '"+strings.Repeat("b", 30)+"' AS b, 1 AS c;")
	for _, l := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		if displayWidth(l) != 40 {
			t.Errorf("%q is %d wide, want 40", l, displayWidth(l))
		}
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "é表": "é表", "a\nb": `a\nb`, "a\tb\r": `a\tb\r`, "\x1b[0m": `\x1b[0m`, "\xff": `\xff`, "\u202eabc": `\u202eabc`, "\x7f": `\x7f`, "\u0085": `\x85`,
		"\ufffd": "\ufffd",
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) = %q, want %q", in, got, want)
		}
	}
	if got := cut("表示表示", 5); got != "表示…" {
		t.Errorf("cut: %q", got)
	}
}

// TestTextResults: EXPLAIN and SHOW CREATE TABLE print text, not a table with one cell.
func TestTextResults(t *testing.T) {
	out := formatted(t, WriterOptions{}, "CREATE TABLE m (a INT); SHOW CREATE TABLE m; EXPLAIN SELECT a FROM m;")
	if !strings.HasPrefix(out, "CREATE TABLE ") || !strings.Contains(out, "\n== ") || strings.Contains(out, "+--") || strings.Contains(out, `\n`) {
		t.Errorf("got\n%s", out)
	}
	if out = formatted(t, WriterOptions{Format: "csv"}, "CREATE TABLE m (a INT); SHOW CREATE TABLE m;"); !strings.HasPrefix(out, "result\n\"CREATE TABLE") {
		t.Errorf("csv:\n%s", out)
	}
}
