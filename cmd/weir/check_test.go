package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestCheckPortable names each thing that Weir takes and Flink does not, with its place and what to write instead.
func TestCheckPortable(t *testing.T) {
	csv := write(t, "p.csv", "a,ts\n1,2024-05-01 10:00:00\n")
	file := write(t, "p.sql", `SET 'parallelism.default' = '1'; SET 'weir.threads' = '1';
CREATE TABLE t (a INT, user STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen', 'number-of-rows' = '1', 'scan.watermark.max-future' = '5 min');
CREATE TABLE m (a INT);
CREATE TABLE i WITH ('connector' = 'filesystem', 'path' = '`+csv+`', 'format' = 'csv' /*weir , 'csv.header' = 'true' */);
SELECT a AS x, COUNT(*) FROM t WHERE a != 1 GROUP BY x;
SELECT a + 1, COUNT(*) FROM t GROUP BY 1;
SELECT /*+ LATE_ROWS('late') */ COUNT(*) FROM t;
SELECT a FROM '`+csv+`'; /* x */ SELECT 1;
SELECT a FROM t /*+ OPTIONS('scan.watermark.max-future' = '1 min') */;
SHOW WATERMARKS;
CREATE OR REPLACE VIEW v AS SELECT 1 AS a;
SELECT /*weir+ LATE_ROWS('late') */ COUNT(*) FROM t WHERE a <> 1 /*weir AND a != 2 */;
SELECT 1; -- the end
`)
	_, out, errOut := call("", "check", file, "--portable", "--json")
	var found []finding
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Fatalf("%v: %s %s", err, out, errOut)
	}
	var got []string
	for _, f := range found {
		if f.Severity == "portability" {
			got = append(got, fmt.Sprintf("%d:%d %s | %s", f.Line, f.Column, f.Message, f.Hint))
		}
	}
	want := []string{
		"1:34 Flink's client takes one statement a line: SET | begin the statement on a line of its own",
		"2:24 Flink reserves this word: user | write `user`",
		"2:133 Flink refuses options that it does not know: 'scan.watermark.max-future' = '5 min' | write /*weir , 'scan.watermark.max-future' = '5 min' */",
		"3:14 Flink has no tables without a connector: m | declare a connector: WITH ('connector' = ..)",
		"4:14 Flink does not infer the columns of a table: i | declare them: SHOW CREATE TABLE i writes the declaration",
		"5:40 Flink has no != | write <>",
		"5:54 Flink groups by expressions, not by aliases or positions: x | write a",
		"6:40 Flink groups by expressions, not by aliases or positions: 1 | write a + 1",
		"7:8 Flink refuses hints that it does not know: /*+ LATE_ROWS('late') */ | write /*weir+ LATE_ROWS('late') */",
		"8:15 Flink has no files as tables: '" + csv + "' | declare a table: SHOW CREATE TABLE '" + csv + "' writes the declaration",
		"8:" + fmt.Sprint(27+len(csv)) + " Flink's client takes one statement a line: SELECT | begin the statement on a line of its own",
		"9:17 Flink refuses options that it does not know: /*+ OPTIONS('scan.watermark.max-future' = '1 min') */ | write /*weir+ OPTIONS('scan.watermark.max-future' = '1 min') */",
		"10:1 Flink has no such statement: SHOW WATERMARKS | write /*weir SHOW WATERMARKS */",
		"11:8 Flink does not take this: OR REPLACE | ",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
	_, out, _ = call("", "check", file, "--portable")
	for _, w := range want {
		w, _, _ := strings.Cut(w, " | ")
		place, msg, _ := strings.Cut(w, " ")
		if !strings.Contains(out, "portability: "+file+":"+place+": "+msg+"\n") {
			t.Errorf("the text has no %s", w)
		}
	}
	if _, out, _ = call("", "check", file); strings.Contains(out, "portability") {
		t.Errorf("without --portable:\n%s", out)
	}
}

// TestCheckTables: what is to be said of a declared table is said once, where it is declared, whether a statement reads it or not.
func TestCheckTables(t *testing.T) {
	const kafka = `'connector' = 'kafka', 'topic' = 'x', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json'`
	const columns = `(a INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH (` + kafka
	idle := func(place, table string) string { // what a finding is, up to its first colon behind the place
		return place + " warning table default_catalog.default_database." + table + " has no idle timeout"
	}
	for _, c := range []struct {
		name, script string
		want         []string
	}{
		{"only declared", `CREATE TABLE k ` + columns + `);`, []string{idle("1:14", "k")}},
		{"declared and read", "CREATE TABLE k " + columns + ");\nSELECT a FROM k;\nSELECT a FROM k UNION ALL SELECT a FROM k;", []string{idle("1:14", "k")}},
		{"place", "\n\n  CREATE TABLE IF NOT EXISTS\n    `k k` " + columns + `);`, []string{idle("4:5", "`k k`")}},
		{"only written", `CREATE TABLE k ` + columns + `); INSERT INTO k VALUES (1, TIMESTAMP '2024-01-01 00:00:00');`, []string{idle("1:14", "k")}},
		{"explained", `CREATE TABLE k ` + columns + `); EXPLAIN SELECT a FROM k;`, []string{idle("1:14", "k")}},
		{"advised", `CREATE TABLE k ` + columns + `, 'scan.bounded.mode' = 'latest-offset'); ADVISE WATERMARK FOR k;`, nil},
		{"read by a statement that fails", `CREATE TABLE k ` + columns + `); SELECT b FROM k;`, []string{idle("1:14", "k"),
			"0:0 error column 'b' does not exist"}},
		{"with a timeout", `CREATE TABLE k ` + columns + `, 'scan.watermark.idle-timeout' = '1 s');`, nil},
		{"without a watermark", `CREATE TABLE k (a INT) WITH (` + kafka + `);`, nil},
		{"bounded", `CREATE TABLE k ` + columns + `, 'scan.bounded.mode' = 'latest-offset');`, nil},
		{"batch", `SET 'execution.runtime-mode' = 'batch'; CREATE TABLE k ` + columns + `);`, nil},
		{"setting before", `SET 'table.exec.source.idle-timeout' = '1 s'; CREATE TABLE k ` + columns + `);`, nil},
		{"setting behind", `CREATE TABLE k ` + columns + `); SET 'table.exec.source.idle-timeout' = '1 s';`, nil},
		{"setting taken back", `SET 'table.exec.source.idle-timeout' = '1 s'; CREATE TABLE k ` + columns + `); RESET 'table.exec.source.idle-timeout';`, []string{idle("1:60", "k")}},
		{"setting behind a read", `CREATE TABLE k ` + columns + `); SELECT a FROM k; SET 'table.exec.source.idle-timeout' = '1 s';`, []string{idle("1:14", "k")}},
		{"setting for each read", `CREATE TABLE k ` + columns + `); SET 'table.exec.source.idle-timeout' = '1 s'; SELECT a FROM k; RESET;`, nil},
		{"hint", `CREATE TABLE k ` + columns + `); SELECT a FROM k /*+ OPTIONS('scan.watermark.idle-timeout' = '1 s') */;`, nil},
		{"dropped", `CREATE TABLE k ` + columns + `); DROP TABLE k;`, nil},
		{"read and dropped", `CREATE TABLE k ` + columns + `); SELECT a FROM k; DROP TABLE k;`, []string{idle("1:14", "k")}},
		{"declared again", "CREATE TABLE k " + columns + "); DROP TABLE k;\nCREATE TABLE k " + columns + `);`, []string{idle("2:14", "k")}},
		{"declared again with a timeout", `CREATE TABLE k ` + columns + `); DROP TABLE k; CREATE TABLE k ` + columns + `, 'scan.watermark.idle-timeout' = '1 s');`, nil},
		{"there already", "CREATE TABLE k " + columns + ");\nCREATE TABLE IF NOT EXISTS k " + columns + `);`, []string{idle("1:14", "k")}},
		{"altered", `CREATE TABLE k ` + columns + `); ALTER TABLE k SET ('scan.watermark.idle-timeout' = '1 s');`, nil},
		{"renamed", `CREATE TABLE k ` + columns + `); ALTER TABLE k RENAME TO l;`, []string{idle("1:14", "l")}},
		{"temporary, and what it hides", "CREATE TABLE k " + columns + ");\nCREATE TEMPORARY TABLE k " + columns + `);`, []string{idle("1:14", "k"), idle("2:24", "k")}},
		{"LIKE", "CREATE TABLE k " + columns + ");\nCREATE TABLE l WITH ('topic' = 'l') LIKE k;", []string{idle("1:14", "k"), idle("2:14", "l")}},
		{"LIKE with a timeout", "CREATE TABLE k " + columns + ");\nCREATE TABLE l WITH ('scan.watermark.idle-timeout' = '1 s') LIKE k;", []string{idle("1:14", "k")}},
		{"elsewhere", "CREATE DATABASE d; USE d;\nCREATE TABLE k " + columns + "); CREATE CATALOG c WITH ('type' = 'generic_in_memory'); USE CATALOG c; CREATE DATABASE e;\nCREATE TABLE e.k " + columns + `);`,
			[]string{"2:14 warning table default_catalog.d.k has no idle timeout", "3:14 warning table c.e.k has no idle timeout"}},
		{"gone with its database", `CREATE DATABASE d; CREATE TABLE d.k ` + columns + `); DROP DATABASE d CASCADE;`, nil},
		{"behind a view", `CREATE TABLE k ` + columns + `); CREATE VIEW v AS SELECT a FROM k;`, []string{idle("1:14", "k")}},
		{"behind a view with a hint", `CREATE TABLE k ` + columns + `); CREATE VIEW v AS SELECT a FROM k /*+ OPTIONS('scan.watermark.idle-timeout' = '1 s') */;`, nil},
		{"as query", `CREATE TABLE k ` + columns + `); CREATE TABLE m (WATERMARK FOR ts AS ts) WITH (` + kafka + `) AS SELECT a, ts FROM k;`,
			[]string{idle("1:14", "k"), idle("1:193", "m")}},

		{"unknown option", `CREATE TABLE k (a INT) WITH (` + kafka + `, 'scan.startup.mod' = 'latest-offset');`,
			[]string{"1:138 error table k: unknown option 'scan.startup.mod' of connector 'kafka' with format 'json'; did you mean 'scan.startup.mode'?"}},
		{"wrong value", `CREATE TABLE k (a INT) WITH ('scan.startup.mode' = 'latest', ` + kafka + `);`,
			[]string{"1:30 error table k: option 'scan.startup.mode': 'latest' is not one of group-offsets, earliest-offset, latest-offset, timestamp, specific-offsets"}},
		{"unknown format", `CREATE TABLE k (a INT) WITH ('topic' = 'jsn', 'connector' = 'kafka', 'properties.bootstrap.servers' = 'h:1', 'format' = 'jsn');`,
			[]string{"1:110 error table k: unknown format 'jsn'; did you mean 'json'?"}},
		{"unknown connector", `CREATE TABLE k (a INT) WITH ('topic' = 'kafak', 'connector' = 'kafak');`, []string{"1:49 error table k: unknown connector 'kafak'; did you mean 'kafka'?"}},
		{"misspelt format", `CREATE TABLE k (a INT) WITH ('connector' = 'kafka', 'topic' = 'x', 'fromat' = 'json');`,
			[]string{"1:68 error table k: unknown option 'fromat' of connector 'kafka'; did you mean 'format'?"}},
		{"missing option", `CREATE TABLE k (a INT) WITH ('connector' = 'kafka', 'topic' = 'x', 'format' = 'json');`,
			[]string{"1:14 error table k: connector 'kafka' with format 'json' needs the option 'properties.bootstrap.servers': Addresses of brokers, host:port, separated by commas."}},
		{"of a sink", `CREATE TABLE p (a INT) WITH ('connector' = 'print', 'print-identifer' = 'x'); CREATE TABLE b (a INT) WITH ('connector' = 'blackhole');`,
			[]string{"1:53 error table p: unknown option 'print-identifer' of connector 'print'; did you mean 'print-identifier'?"}},
		{"wrong and read: told once", `CREATE TABLE k (a INT) WITH ('connector' = 'kafak'); SELECT a FROM k;`, []string{"1:68 error table k: unknown connector 'kafak'; did you mean 'kafka'?"}},
		{"inherited", "CREATE TABLE k (a INT) WITH (" + kafka + ", 'nope' = '1');\nCREATE TABLE l LIKE k;", []string{
			"2:14 error table l: unknown option 'nope' of connector 'kafka' with format 'json'; it takes"}},
		{"a template", `CREATE TABLE k (a INT) WITH ('connector' = 'kafka', 'properties.bootstrap.servers' = 'h:1', 'format' = 'json'); CREATE TABLE l WITH ('topic' = 'l') LIKE k;`, nil},
		{"what a hint gives", `CREATE TABLE k (a INT) WITH ('connector' = 'kafka', 'properties.bootstrap.servers' = 'h:1', 'format' = 'json'); SELECT a FROM k /*+ OPTIONS('topic' = 'l') */;`, nil},
		{"altered in time", `CREATE TABLE k (a INT) WITH (` + kafka + `, 'nope' = '1'); ALTER TABLE k RESET ('nope');`, nil},
		{"table of bad records", `CREATE DATABASE d; USE d; CREATE TABLE bad (bad_error STRING); CREATE TABLE k (a INT) WITH (` + kafka + `, 'bad-records.table' = 'bad'); USE default_database;`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, errOut := call("", "check", "--json", write(t, "s.sql", c.script))
			var found []finding
			if err := json.Unmarshal([]byte(out), &found); err != nil {
				t.Fatalf("%v: %s %s", err, out, errOut)
			}
			bad := 0
			for i, f := range found {
				got := fmt.Sprintf("%d:%d %s %s", f.Line, f.Column, f.Severity, f.Message)
				if i < len(c.want) && strings.HasPrefix(c.want[i], "0:0 ") { // elsewhere
					got = "0:0 " + f.Severity + " " + f.Message
				}
				if i >= len(c.want) || !strings.HasPrefix(got, c.want[i]) {
					t.Errorf("got  %s", got)
				}
				if f.Severity == "error" {
					bad = 1
				}
			}
			if len(found) != len(c.want) {
				t.Errorf("want %s", strings.Join(c.want, "\n     "))
			}
			if status != bad {
				t.Errorf("status %d", status)
			}
		})
	}
}

// TestCheckTablesOfSeveralScripts: the scripts of one command are one session, and a table is told of where it is declared.
func TestCheckTablesOfSeveralScripts(t *testing.T) {
	tables := write(t, "tables.sql", `CREATE TABLE k (a INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');`)
	use := write(t, "use.sql", "SELECT a FROM k;\nSELECT nope FROM k;")
	status, out, _ := call("", "check", tables, use)
	i, j := strings.Index(out, "warning: "+tables+":1:14: table default_catalog.default_database.k has no idle timeout"), strings.Index(out, "error: "+use+":2:8: ")
	if status != 1 || i != 0 || j < i || strings.Count(out, "idle timeout") != 1 || !strings.Contains(out, "\n    |              ^\n") {
		t.Errorf("status %d:\n%s", status, out)
	}
	set := write(t, "set.sql", "SET 'table.exec.source.idle-timeout' = '1 s';")
	if status, out, _ = call("", "check", tables, set); status != 0 || out != "" {
		t.Errorf("status %d:\n%s", status, out)
	}
}

// TestCheckBehindViews: what concerns the query of a view is told where the statement names it; places in the view are those of another statement.
func TestCheckBehindViews(t *testing.T) {
	file := write(t, "v.sql", `CREATE TABLE k (a INT) WITH ('connector' = 'datagen');
CREATE VIEW v AS


SELECT a, COUNT(*) AS n FROM k GROUP BY a;
CREATE VIEW w AS SELECT n, 1 AS one FROM v;
SELECT n
  FROM w;
SELECT one FROM w ORDER BY n;
SET 'execution.runtime-mode' = 'batch';
SELECT n FROM w;
`)
	_, out, _ := call("", "check", file)
	for _, want := range []string{"8:8: GROUP BY keeps state", "9:28: ORDER BY needs all rows", "11:15: table default_catalog.default_database.k is unbounded"} {
		if !strings.Contains(out, ": "+file+":"+want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}
