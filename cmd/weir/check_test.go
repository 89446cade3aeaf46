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
