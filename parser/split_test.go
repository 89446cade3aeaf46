package parser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-sql/weir/parser/ast"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // the statements
		rest string
		open Open
		at   string // line:column of rest.Pos
	}{
		{"", nil, "", OpenNothing, ""},
		{" ;; -- x\n ; ", nil, "", OpenNothing, ""},
		{"SELECT 1;", []string{"SELECT 1"}, "", OpenNothing, ""},
		{"SELECT 1", nil, "SELECT 1", OpenStatement, "1:1"},
		{"SELECT 1; SELECT 2; ", []string{"SELECT 1", "SELECT 2"}, "", OpenNothing, ""},
		{"SELECT ';' AS `;` /* ; */ -- ;\n, 2;", []string{"SELECT ';' AS `;` /* ; */ -- ;\n, 2"}, "", OpenNothing, ""},
		{"SELECT 'it''s;'; x", []string{"SELECT 'it''s;'"}, "x", OpenStatement, "1:18"},
		{`SELECT E'\';'; SELECT '\';`, []string{`SELECT E'\';'`, `SELECT '\'`}, "", OpenNothing, ""},
		{"SELECT 'abc", nil, "SELECT 'abc", OpenString, "1:8"},
		{"SELECT 1;\n SELECT\n  'abc\n;", []string{"SELECT 1"}, "SELECT\n  'abc\n;", OpenString, "3:3"},
		{"SELECT `a;", nil, "SELECT `a;", OpenName, "1:8"},
		{"SELECT 1 /* a;", nil, "SELECT 1 /* a;", OpenComment, "1:10"},
		{"/* a;", nil, "", OpenComment, "1:1"},
		{"SELECT (1 + [2", nil, "SELECT (1 + [2", OpenParenthesis, "1:13"},
		{"SELECT (1 + 2) + (", nil, "SELECT (1 + 2) + (", OpenParenthesis, "1:18"},
		{"SELECT (1; SELECT 2;", []string{"SELECT (1", "SELECT 2"}, "", OpenNothing, ""},
		{"EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT CASE WHEN b THEN 1 END; INSERT INTO b SELECT 2; END; SELECT 1;",
			[]string{"EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT CASE WHEN b THEN 1 END; INSERT INTO b SELECT 2; END", "SELECT 1"}, "", OpenNothing, ""},
		{"EXPLAIN STATEMENT SET BEGIN INSERT INTO a SELECT 1; END;", []string{"EXPLAIN STATEMENT SET BEGIN INSERT INTO a SELECT 1; END"}, "", OpenNothing, ""},
		{"BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END; SELECT 1;",
			[]string{"BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END", "SELECT 1"}, "", OpenNothing, ""},
		{"EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;", nil, "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;", OpenStatementSet, "1:1"},
		{"EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END", nil, "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END", OpenStatement, "1:1"},
		{"SELECT 1 /*weir , 2; */; SELECT 3;", []string{"SELECT 1 /*weir , 2; */", "SELECT 3"}, "", OpenNothing, ""},
		{"/*weir SHOW WATERMARKS */; SELECT 1 /*weir , 2 */; /*weir SELECT */ 3;", []string{"/*weir SHOW WATERMARKS */", "SELECT 1 /*weir , 2 */", "/*weir SELECT */ 3"}, "", OpenNothing, ""},
		{"SELECT @ 1; SELECT \"x;y\"; SELECT 2;", []string{"SELECT @ 1", "SELECT \"x;y\"", "SELECT 2"}, "", OpenNothing, ""},
		{"\ufeffSELECT 1;\r\nSELECT 2;\r\n", []string{"SELECT 1", "SELECT 2"}, "", OpenNothing, ""},
	} {
		parts, rest := Split(c.text)
		var got []string
		for _, p := range parts {
			got = append(got, c.text[p.Start.Offset:p.End])
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%q:\n got %q\nwant %q", c.text, got, c.want)
		}
		if r := c.text[rest.Part.Start.Offset:rest.Part.End]; r != c.rest || rest.Open != c.open {
			t.Errorf("%q: rest %q (%s), want %q (%s)", c.text, r, rest.Open, c.rest, c.open)
		}
		if at := fmt.Sprintf("%d:%d", rest.Pos.Line, rest.Pos.Column); c.at != "" && at != c.at {
			t.Errorf("%q: open at %s, want %s", c.text, at, c.at)
		}
	}
}

// TestRP01: several statements on a line, semicolons in strings, names and
// comments, an apostrophe in a comment, BOM and CRLF.
func TestRP01(t *testing.T) {
	text := "SELECT 'a;b' AS `c;d`; SELECT 2 -- x; don't\n; /* ; ' */ SELECT 'it''s';\n\n"
	for _, text := range []string{text, "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")} {
		stmts, err := Parse(text)
		if err != nil || len(stmts) != 3 {
			t.Fatalf("%q: %d statements, %v", text, len(stmts), err)
		}
		for i, want := range []string{"SELECT 'a;b' AS `c;d`", "SELECT 2", "SELECT 'it''s'"} {
			if got := ast.Print(stmts[i]); got != want {
				t.Errorf("statement %d is %s, not %s", i, got, want)
			}
		}
		if parts, rest := Split(text); len(parts) != 3 || rest.Open != OpenNothing {
			t.Errorf("%q: %d parts, rest %q", text, len(parts), rest.Open)
		}
	}
	// A hint with an emoji.
	_, err := Parse("SELECT /*+ \U0001F600 */ 1;")
	if e, ok := err.(*Error); !ok || e.Pos.Line != 1 || e.Pos.Column != 12 {
		t.Errorf("hint with an emoji: %v", err)
	}
	// A quote that is not closed: the error is at the opening quote.
	_, err = Parse("SELECT 1;\nSELECT\n  'abc\n;\nSELECT 2;")
	if e, ok := err.(*Error); !ok || e.Pos.Line != 3 || e.Pos.Column != 3 || e.Code != CodeLexical {
		t.Errorf("open quote: %v", err)
	}
}

func TestParsePartPositions(t *testing.T) {
	text := "-- first\nSELECT 1;\n\n  SELECT a\n  FROM t WHERE;\nSELECT 3"
	parts, rest := Split(text)
	if len(parts) != 2 || rest.Open != OpenStatement {
		t.Fatalf("%d parts, %q", len(parts), rest.Open)
	}
	if s, err := ParsePart(text, parts[0]); err != nil || s.Pos().Line != 2 {
		t.Errorf("first: %v %v", s, err)
	}
	_, err := ParsePart(text, parts[1])
	if e, ok := err.(*Error); !ok || e.Pos.Line != 5 || e.Pos.Column != 15 {
		t.Errorf("second: %v", err)
	}
	// One broken statement does not keep the next one from being run.
	if s, err := ParsePart(text, rest.Part); err != nil || s.Pos().Line != 6 || s.Base().Source != "SELECT 3" {
		t.Errorf("third: %v %v", s, err)
	}
}

func TestParseGivesTheStatementsBeforeTheError(t *testing.T) {
	stmts, err := Parse("SELECT 1; SELECT 2; SELECT FROM; SELECT 4 'x")
	if len(stmts) != 2 {
		t.Errorf("%d statements", len(stmts))
	}
	if e, ok := err.(*Error); !ok || e.Pos.Column != 28 {
		t.Errorf("%v", err)
	}
}

// TestLongScript: a script may be longer than what is parsed at once.
func TestLongScript(t *testing.T) {
	text := "SELECT 1;\n" + strings.Repeat("-- a long comment\n", MaxText/10) + "SELECT 2;\nSELECT FROM;"
	parts, _ := Split(text)
	if len(parts) != 3 {
		t.Fatalf("%d parts", len(parts))
	}
	if s, err := ParsePart(text, parts[1]); err != nil || ast.Print(s) != "SELECT 2" {
		t.Error(s, err)
	}
	_, err := ParsePart(text, parts[2])
	if e, ok := err.(*Error); !ok || e.Pos.Line != 3+MaxText/10 || e.Pos.Column != 8 {
		t.Error(err)
	}
}
