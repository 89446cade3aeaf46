//go:build unix

package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const rp01 = "SELECT 'a;b' AS `c;d`; SELECT 2 -- x; don't\n; /* ; ' */ SELECT 'it''s';\n\n"

// results counts tables on a screen.
func results(screen string) int { return strings.Count(screen, " row in ") }

func TestRP01StatementsTyped(t *testing.T) {
	e := startREPL(t)
	for _, line := range strings.SplitAfter(strings.TrimSuffix(rp01, "\n"), "\n") {
		e.send(strings.TrimSuffix(line, "\n") + "\r")
	}
	e.wait("it's")
	e.prompt("weir> ")
	checkRP01(t, e.text())
}

func TestRP01StatementsPasted(t *testing.T) {
	for name, text := range map[string]string{"raw": rp01, "bracketed": "\033[200~" + rp01 + "\033[201~"} {
		t.Run(name, func(t *testing.T) {
			e := startREPL(t)
			e.send(text)
			e.wait("it's")
			e.prompt("weir> ")
			checkRP01(t, e.text())
		})
	}
}

func checkRP01(t *testing.T, screen string) {
	t.Helper()
	for _, want := range []string{"| c;d |", "| a;b |", "|      2 |", "| it's   |"} {
		if !strings.Contains(screen, want) {
			t.Errorf("no %q in\n%s", want, screen)
		}
	}
	if n := results(screen); n != 3 {
		t.Errorf("%d results, want 3:\n%s", n, screen)
	}
	if strings.Contains(screen, "error") {
		t.Errorf("an error:\n%s", screen)
	}
}

func TestRP01OpenQuote(t *testing.T) {
	e := startREPL(t)
	for _, c := range []struct{ line, prompt string }{
		{"SELECT 'abc", "in string> "},
		{"SELECT `abc", "in quoted name> "},
		{"SELECT (1 +", "in parenthesis> "},
		{"SELECT /* x", "in comment> "},
		{"SELECT", "   -> "},
		{"EXECUTE STATEMENT SET BEGIN", "in statement set> "},
	} {
		e.send(c.line + "\r")
		e.prompt(c.prompt)
		e.send("\x03")
		e.prompt("weir> ")
	}
	if out := e.enter("SELECT /*+ \U0001F600 */ 1;"); !strings.Contains(out, "error") && results(out) != 1 {
		t.Errorf("a hint with an emoji gave\n%s", out)
	}
	if out := e.enter("SELECT 7;"); !strings.Contains(out, "| 7 |") && !strings.Contains(out, "     7 |") {
		t.Errorf("the shell does not go on:\n%s", out)
	}
}

const up = "\033[A"

func TestRP03History(t *testing.T) {
	file := filepath.Join(t.TempDir(), "weir", "history")
	e := startREPL(t, "WEIR_HISTORY="+file)
	for _, line := range []string{"SELECT", "1", ";"} {
		e.send(line + "\r")
	}
	e.wait("1 row in")
	e.prompt("weir> ")
	e.send(up)
	e.prompt("weir> SELECT↵1↵;")
	e.send("\r")
	e.until("two results", func(s string) bool { return results(s) == 2 })
	e.prompt("weir> ")
	e.send("SELECT 1; SELECT 2;\r")
	e.until("four results", func(s string) bool { return results(s) == 4 })
	e.prompt("weir> ")
	e.send(up)
	e.prompt("weir> SELECT 1; SELECT 2;")
	e.send("\x03")
	e.send(" SELECT 'blank';\r")
	e.send("CREATE TABLE s (a INT) WITH ('connector' = 'blackhole', 'properties.sasl.jaas.config' = 'x');\r")
	e.until("two statements", func(s string) bool { return results(s) == 5 && strings.Contains(s, "sasl") })
	e.send("\\q\r")
	if got := e.exit(); got != 0 {
		t.Errorf("exit status %d", got)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := "SELECT\\n1\\n;\nSELECT 1; SELECT 2;\n\\\\q\n"; string(data) != want {
		t.Errorf("the history file has\n%s\nwant\n%s", data, want)
	}
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 {
		t.Errorf("the history file has mode %v", info.Mode())
	}

	e = startREPL(t, "WEIR_HISTORY="+file)
	e.send(up + up + up)
	e.prompt("weir> SELECT↵1↵;")
	e.send("\r")
	e.wait("1 row in")
	e.prompt("weir> ")
	// Search, and Ctrl-K while completions are shown: keys that the line editor stumbles over.
	e.send("\x12SELECT 1; S")
	e.wait("bck-i-search")
	e.send("\r")
	e.until("three results", func(s string) bool { return results(s) == 3 })
}

func TestREPLComplete(t *testing.T) {
	e := startREPL(t)
	e.enter("CREATE TABLE bids (auction BIGINT, price DOUBLE, ts TIMESTAMP(3)) WITH ('connector' = 'datagen');")
	for _, c := range []struct{ typed, want string }{
		{"SEL\t", "SELECT"},
		{"sel\t", "select"},
		{"SELECT * FROM bi\t", "SELECT * FROM bids"},
		{"SELECT auction FROM bids WHERE pric\t", "SELECT auction FROM bids WHERE price"},
		{"SELECT b.au\t", "SELECT b.au"}, // nothing is known of b yet
		{"SELECT * FROM bids AS b WHERE b.au\t", "SELECT * FROM bids AS b WHERE b.auction"},
		{"SELECT CONCAT_\t", "SELECT CONCAT_WS("},
		{"SET 'weir.thr\t", "SET 'weir.threads'"},
		{"CREATE TABLE x (a INT) WITH ('connector' = 'datagen', 'rows-\t", "CREATE TABLE x (a INT) WITH ('connector' = 'datagen', 'rows-per-second'"},
		{"\\tim\t", "\\timing"},
		{"\\format mark\t", "\\format markdown"},
		{"\\d bi\t", "\\d bids"},
	} {
		e.send("\x0c")
		e.until("an empty screen", func(s string) bool { return s == "weir>" })
		e.send(c.typed)
		e.prompt("weir> " + c.want)
		e.send("\x03")
		e.until("a new prompt", func(s string) bool { return strings.HasSuffix(s, "\nweir>") })
	}
	// Several candidates are listed; Ctrl-K must not end the shell then.
	e.send("SELECT * FROM bids WHERE CON\t\t")
	e.wait("CONCAT_WS(")
	e.send("\x0b")
	e.send("\x03\x03")
	if out := e.enter("SELECT 5;"); results(out) != 1 {
		t.Errorf("the shell does not go on:\n%s", out)
	}
}

func TestREPLInterrupt(t *testing.T) {
	e := startREPL(t)
	e.enter("CREATE TABLE ticks (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '100', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '1000000000');")
	e.enter("CREATE TABLE endless (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '100');")
	// Rows of a running query are shown as they come.
	e.send("SELECT * FROM endless; SELECT 'behind';\r")
	e.wait(" id |")
	e.until("rows", func(s string) bool { return strings.Count(s, "\n|") > 5 })
	e.send("\x03")
	e.wait("stopped: ")
	e.wait("1 statement not run")
	e.prompt("weir> ")
	if strings.Contains(e.text(), "behind  |") {
		t.Errorf("the statement behind the stopped one has run:\n%s", e.text())
	}
	if out := e.enter("SELECT 6;"); results(out) != 1 {
		t.Errorf("the shell does not go on:\n%s", out)
	}
	// An INSERT without an end runs in the background.
	e.enter("CREATE TABLE nowhere (id BIGINT) WITH ('connector' = 'blackhole');")
	if out := e.enter("INSERT INTO nowhere SELECT id FROM endless;"); !strings.Contains(out, "runs in the background") {
		t.Errorf("an endless INSERT gave\n%s", out)
	}
	id := e.enter("\\jobs")
	if !strings.Contains(id, "insert-into_default_catalog.default_database.nowhere") {
		t.Fatalf("\\jobs gave\n%s", id)
	}
	id = strings.Fields(id)[1]
	e.send("\\stop " + id + "\r")
	e.wait("job " + id + " has ended: ")
	// A bounded one is waited for, and can be stopped.
	e.send("\x0cINSERT INTO nowhere SELECT id FROM ticks;\r")
	e.until("a progress line", func(s string) bool { return strings.Contains(s[strings.LastIndexByte(s, '\n')+1:], " s: ") })
	e.send("\x03")
	e.wait("stopped: ")
	e.prompt("weir> ")
	// Ctrl-D leaves, also in the middle of a statement, and stops what runs.
	e.enter("INSERT INTO nowhere SELECT id FROM endless;")
	e.send("SELECT\r")
	e.prompt("   -> ")
	e.send("\x04")
	if got := e.exit(); got != 0 {
		t.Errorf("exit status %d", got)
	}
	if !strings.Contains(e.text(), "stopping 1 job") {
		t.Errorf("the job is not stopped:\n%s", e.text())
	}
}

func TestREPLMeta(t *testing.T) {
	e := startREPL(t)
	script := filepath.Join(t.TempDir(), "s.sql")
	if err := os.WriteFile(script, []byte("\ufeffCREATE TABLE t (a INT, b STRING);\r\nINSERT INTO t VALUES (1, 'x'), (2, NULL);\r\nSELECT nothing FROM t;\nSELECT 'not reached';"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out.csv")
	for _, c := range []struct{ line, want string }{
		{"\\i " + script, script + ":3:8: "},
		{"\\d", "| t "},
		{"\\d t", "| a    | INT"},
		{"SELECT * FROM t;", "| 1 | x      |"},
		{"SELECT * FROM t;", "| 2 | <NULL> |"},
		{"SELECT * FROM t;", "2 rows in"},
		{"\\format csv", "format csv"},
		{"SELECT * FROM t;", "a,b\n1,x\n2,\n"},
		{"\\x", "format vertical"},
		{"SELECT * FROM t WHERE a = 1;", "-[ 1 ]-\na | 1\nb | x\n"},
		{"\\format tabel", "did you mean ta"},
		{"\\x", "format table"},
		{"\\limit 1", "limit 1"},
		{"SELECT * FROM t;", "only the first 1 rows are shown (\\limit 0 shows all)"},
		{"\\limit -3", "error: "},
		{"\\limit 0", "all rows"},
		{"\\timing", "timing is on"},
		{"SELECT 1;", "Time: "},
		{"\\timing off", "timing is off"},
		{"\\set weir.threads 2", "ok"},
		{"\\set", "| weir.threads | 2     |"},
		{"\\settings", "* weir.threads"},
		{"\\set weir.threats 2", "did you mean 'weir.threads'?"},
		{"\\formt csv", "did you mean \\format?"},
		{"\\q now", "\\q takes no argument"},
		{"\\i", "\\i wants an argument"},
		{"\\i nowhere.sql", "no such file"},
		{"\\?", "\\timing [on|off]"},
		{"HELP", "\\timing [on|off]"},
		{"help;", "\\timing [on|off]"},
		{"\\jobs", "nothing runs"},
		{"\\stop 77", "there is no job 77"},
		{"\\o " + out, ""},
		{"SELECT 'to the file';", "1 row in"},
		{"\\o", ""},
		{"SELECT '表' AS `名`, 'a\033[31mb\033[0m' AS c;", "| 名 |"},
		{"SELECT 1; SELECT nope; SELECT 2;", "1:18: "},
		{"SELECT 1; SELECT nope; SELECT 22;", "|     22 |"},
	} {
		// A raw escape would be a key: it is typed as a literal of SQL.
		line := strings.ReplaceAll(c.line, "\033", "' || CHR(27) || '")
		if got := e.enter(line); !strings.Contains(got, c.want) {
			t.Errorf("%s gave\n%s\nwant %s", line, got, c.want)
		}
	}
	if got := e.enter("SELECT 'a' || CHR(27) || '[31mb' AS c;"); !strings.Contains(got, `| a\x1b[31mb |`) {
		t.Errorf("a control character gave\n%s", got)
	}
	if data, err := os.ReadFile(out); err != nil || !strings.Contains(string(data), "to the file") {
		t.Errorf("\\o wrote %q, %v", data, err)
	}
	e.send("CLEAR;\r")
	e.until("an empty screen", func(s string) bool { return s == "weir>" })
	e.send("quit\r")
	if got := e.exit(); got != 0 {
		t.Errorf("exit status %d", got)
	}
}
