package parser

import (
	"strings"
	"sync"
	"testing"

	"github.com/weir-sql/weir/parser/ast"
)

func parseError(t *testing.T, text string) *Error {
	t.Helper()
	_, err := Parse(text)
	e, ok := err.(*Error)
	if !ok {
		t.Fatalf("%q: %v", text, err)
	}
	return e
}

func TestProposals(t *testing.T) {
	for _, c := range []struct{ text, hint string }{
		{"SELCT 1", "did you mean SELECT?"},
		{"slect 1", "did you mean SELECT?"},
		{"CRAETE TABLE t (a INT)", "did you mean CREATE?"},
		{"SELECT a FORM t", "did you mean FROM?"},
		{"SELECT a FROM t WEHRE a = 1", "did you mean WHERE?"},
		{"SELECT a FROM t GRUOP BY a", "did you mean GROUP?"},
		{"SELECT a FROM t LEFT JION s ON a = b", "did you mean JOIN?"},
		{"SELECT CAST(a AS BIGNIT)", "did you mean BIGINT?"},
		{"SELECT CAST(a AS TEXT)", "use STRING"},
		{"SELECT a FROM t ORDER YB a", "did you mean BY?"},
		{"SHOW TABELS", "did you mean TABLES?"},
		{"CREATE TABEL t (a INT)", "did you mean TABLE?"},
		{"CREATE TABLE t (a INT) WIHT ('a' = 'b')", "did you mean WITH?"},
		{"SELECT INTERVAL '1' HUOR", "did you mean HOUR?"},
		{"SELECT EXTRACT(YAER FROM ts)", "did you mean YEAR?"},
		{"SELECT 1 == 2", "did you mean =?"},
		{"SELECT SUM(a) OVER (PARTITON BY b)", ""},
		{"DROP TABLE t CASCADE", ""},
		{"SELECT order FROM t", ""},
		{"SELECT a AS order FROM t", "write `order` to use it as a name"},
		{"SELECT a::INT", "write CAST(x AS type)"},
		{"SELECT INTERVAL 1.5 SECOND", "write INTERVAL '1.5' SECOND"},
	} {
		if e := parseError(t, c.text); e.Hint != c.hint {
			t.Errorf("%s: %v\n hint %q, want %q", c.text, e, e.Hint, c.hint)
		}
	}
}

func TestExpected(t *testing.T) {
	e := parseError(t, "DROP THING x")
	for _, w := range []string{"TABLE", "VIEW", "DATABASE", "CATALOG", "FUNCTION"} {
		if !strings.Contains(strings.Join(e.Expected, " "), w) {
			t.Errorf("Expected lacks %s: %q", w, e.Expected)
		}
	}
	if e := parseError(t, "SELECT * FROM a LEFT JOIN b WHERE x"); e.Msg != "expected ON or USING but found 'WHERE'" {
		t.Error(e)
	}
}

func TestRender(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"SELECT\n\ta +\n\tFROM t", "q.sql:3:2: expected an expression but found 'FROM' [WEIR-1001]\n  3 | \tFROM t\n    | \t^^^^\n"},
		{"SELECT '\u65e5\u672c' ||| x", "q.sql:1:15: expected an expression but found '|' [WEIR-1001]\n" +
			"  1 | SELECT '\u65e5\u672c' ||| x\n    |                 ^\n"},
		{"SELECT e\u0301 x y", "q.sql:1:13: expected ',', FROM, UNION, INTERSECT, EXCEPT, ... but found 'y' [WEIR-1001]\n" +
			"  1 | SELECT e\u0301 x y\n    |            ^\n"},
		{"SELECT 1 +", "q.sql:1:11: expected an expression but found the end [WEIR-1001]\n  1 | SELECT 1 +\n    |           ^\n"},
		{"SELECT 1 + -- end\n\n", "q.sql:1:11: expected an expression but found the end [WEIR-1001]\n  1 | SELECT 1 + -- end\n    |           ^\n"},
		{"SELECT 'a\nb' 'c\nd'", "q.sql:2:4: expected AS, ',', FROM, UNION, INTERSECT, ... but found the string 'c\nd' [WEIR-1001]\n" +
			"  2 | b' 'c\n    |    ^^\n"},
		{"SELECT a\r\nFROM FROM\r\n", "q.sql:2:6: expected a table but found the reserved word FROM [WEIR-1003]\n" +
			"  2 | FROM FROM\n    |      ^^^^\n  hint: write `FROM` to use it as a name\n"},
		{"SELECT " + strings.Repeat("a, ", 100) + "%", "q.sql:1:308: expected an expression but found '%' [WEIR-1001]\n  1 | ..., " +
			strings.Repeat("a, ", 19) + "a, %\n    |      " + strings.Repeat(" ", 58) + "   ^\n"},
	} {
		e := parseError(t, c.text)
		if got := e.Render(c.text, "q.sql"); got != c.want {
			// The cut of a long line may fall anywhere: only the caret must be below the place.
			if len(c.text) > 200 && caretBelow(got, '%') {
				continue
			}
			t.Errorf("%q\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}

// TestExcerptOfAWord: a place without an end is that of the word there.
func TestExcerptOfAWord(t *testing.T) {
	text := "SELECT caf\u00e9_1 + CURRENT_TIMESTAMP(3), (x)\nFROM t"
	for word, width := range map[string]int{"caf\u00e9_1": 6, "CURRENT": 17, "(x)": 1, "FROM": 4, "t": 1, "+": 1} {
		at := strings.LastIndex(text, word)
		for _, end := range []int{0, at} {
			got := Excerpt(text, ast.Pos{Line: 1, Column: 1, Offset: at}, end)
			if n := strings.Count(got, "^"); n != width {
				t.Errorf("%s has %d carets, want %d:\n%s", word, n, width, got)
			}
		}
	}
}

// caretBelow reports whether the caret of a rendered error is under the last c of its line.
func caretBelow(rendered string, c byte) bool {
	lines := strings.Split(rendered, "\n")
	return len(lines) > 2 && strings.IndexByte(lines[2], '^') == strings.LastIndexByte(lines[1], c)
}

func TestColumnsCountRunes(t *testing.T) {
	e := parseError(t, "SELECT 'h\u00e9llo \U0001F389', FROM t")
	if e.Pos.Column != 19 || e.Pos.Offset != 22 {
		t.Errorf("%+v", e.Pos)
	}
	// A byte order mark has no column.
	e = parseError(t, "\ufeffSELECT FROM t")
	if e.Pos.Column != 8 || e.Pos.Line != 1 {
		t.Errorf("%+v", e.Pos)
	}
}

func TestLimits(t *testing.T) {
	rep := strings.Repeat
	for _, c := range []struct {
		name, text string
		code       string // empty: it parses
	}{
		{"parentheses", "SELECT " + rep("(", 100_000) + "1" + rep(")", 100_000), CodeLimit},
		{"open parentheses", "SELECT " + rep("(", 500_000), CodeLimit},
		{"some parentheses", "SELECT " + rep("(", 200) + "1" + rep(")", 200), ""},
		{"sum", "SELECT 1" + rep(" + 1", 100_000), CodeLimit},
		{"some terms", "SELECT 1" + rep(" + 1", 9_000), ""},
		{"AND", "SELECT a" + rep(" AND a", 100_000), CodeLimit},
		{"IN list", "SELECT a IN (1" + rep(", 1", 100_000) + ")", ""},
		{"minus", "SELECT " + rep("- ", 100_000) + "1", CodeLimit},
		{"NOT", "SELECT " + rep("NOT ", 100_000) + "a", CodeLimit},
		{"CASE", "SELECT " + rep("CASE WHEN a THEN ", 20_000) + "1" + rep(" END", 20_000), CodeLimit},
		{"branches", "SELECT CASE" + rep(" WHEN a THEN b", 20_000) + " END", CodeLimit},
		{"subscripts", "SELECT a" + rep("[1]", 20_000), CodeLimit},
		{"fields", "SELECT (a)" + rep(".b", 20_000), CodeLimit},
		{"IS", "SELECT a" + rep(" IS NULL", 20_000), CodeLimit},
		{"unions", "SELECT 1" + rep(" UNION ALL SELECT 1", 20_000), CodeLimit},
		{"joins", "SELECT 1 FROM t" + rep(" JOIN t ON a", 20_000), CodeLimit},
		{"open joins", "SELECT 1 FROM t" + rep(" JOIN t", 20_000), CodeLimit},
		{"commas", "SELECT 1 FROM t" + rep(", t", 20_000), CodeLimit},
		{"subqueries", rep("SELECT * FROM (", 5_000) + "SELECT 1" + rep(")", 5_000), CodeLimit},
		{"types", "SELECT CAST(a AS " + rep("ARRAY<", 5_000) + "INT" + rep(">", 5_000) + ")", CodeLimit},
		{"array types", "SELECT CAST(a AS INT" + rep(" ARRAY", 5_000) + ")", CodeLimit},
		{"pattern", "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (" + rep("(", 5_000) + "A" + rep(")", 5_000) + ") DEFINE A AS TRUE)", CodeLimit},
		{"EXPLAIN", rep("EXPLAIN ", 5_000) + "SELECT 1", CodeSyntax},
		{"named arguments", "SELECT " + rep("f(a => ", 5_000) + "1" + rep(")", 5_000), CodeLimit},
		{"columns", "SELECT a" + rep(", a AS b", 50_000) + " FROM t", ""},
		{"statements", rep("SELECT 1;\n", 20_000), ""},
		{"comment", "/*" + rep("x\n", 1<<18) + "*/ SELECT 1", ""},
		{"string", "SELECT '" + rep("x", 1<<19) + "'", ""},
		{"number", "SELECT " + rep("9", 1<<19), ""},
		{"too long", "SELECT '" + rep("x", MaxText) + "'", CodeLimit},
	} {
		stmts, err := Parse(c.text)
		switch {
		case c.code == "" && err != nil:
			t.Errorf("%s: %.200s", c.name, err.Error())
		case c.code != "" && err == nil:
			t.Errorf("%s: no error", c.name)
		case c.code != "" && err.(*Error).Code != c.code:
			t.Errorf("%s: %.200s", c.name, err.Error())
		}
		for _, s := range stmts { // what is parsed can be walked and printed
			ast.Walk(s, func(ast.Node) bool { return true })
			_ = ast.Print(s)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 50 {
				if _, err := Parse("WITH a AS (SELECT b FROM t WHERE c > 1) SELECT SUM(b) FROM a GROUP BY d"); err != nil {
					t.Error(err)
				}
				if _, err := Parse("SELECT a b c"); err == nil {
					t.Error("no error")
				}
			}
		}()
	}
	wg.Wait()
}

func TestParseExpr(t *testing.T) {
	x, err := ParseExpr("ts - INTERVAL '5' SECOND")
	if err != nil || ast.Print(x) != "ts - INTERVAL '5' SECOND" || x.End() != 24 {
		t.Error(x, err)
	}
	for _, bad := range []string{"", "a b", "a,", "SELECT 1", "a;", "*"} {
		if _, err := ParseExpr(bad); err == nil {
			t.Errorf("%q: no error", bad)
		} else {
			checkError(t, bad, err)
		}
	}
}

func TestParseStatement(t *testing.T) {
	if s, err := ParseStatement("SELECT 1;"); err != nil || s == nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "-- x", "SELECT 1; SELECT 2"} {
		if _, err := ParseStatement(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
