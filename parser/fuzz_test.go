package parser

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/weir-sql/weir/parser/ast"
)

// checkError fails unless the error is a good one: ours, with a place in the text
// that can be shown, and without the innards of rewriting.
func checkError(t testing.TB, text string, err error) {
	t.Helper()
	e, ok := err.(*Error)
	if !ok {
		t.Fatalf("error of type %T: %v", err, err)
	}
	if e.Code == CodeInternal {
		t.Fatalf("%q: %v", text, e)
	}
	if e.Code == "" || e.Msg == "" || e.Pos.Line < 1 || e.Pos.Column < 1 || e.Pos.Offset < 0 || e.Pos.Offset > len(text) ||
		e.End > len(text) || strings.Contains(e.Error(), "`#") && !strings.Contains(text, "#") {
		t.Fatalf("%q: bad error %+v", text, e)
	}
	if want := 1 + strings.Count(text[:e.Pos.Offset], "\n"); e.Pos.Line != want {
		t.Fatalf("%q: error on line %d, but its offset is on line %d", text, e.Pos.Line, want)
	}
	if r := e.Render(text, ""); !utf8.ValidString(r) && utf8.ValidString(text) {
		t.Fatalf("%q: rendered %q", text, r)
	}
}

func FuzzLexer(f *testing.F) {
	for _, s := range allCorpus(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		toks := lex(text, ast.Pos{Line: 1, Column: 1}, len(text)).toks
		end := 0
		for i, tok := range toks {
			if tok.pos.Offset < end || tok.end < tok.pos.Offset || tok.end > len(text) {
				t.Fatalf("token %d of %q: %d to %d after %d", i, text, tok.pos.Offset, tok.end, end)
			}
			end = tok.end
			if (tok.kind == tokBad) != (tok.err != nil) {
				t.Fatalf("token %d of %q: kind %d, error %v", i, text, tok.kind, tok.err)
			}
			if tok.err != nil {
				checkError(t, text, tok.err)
			}
		}
		if toks[len(toks)-1].kind != tokEOF {
			t.Fatalf("%q does not end in tokEOF", text)
		}
		// Every statement that Split finds is a part of the text, in order.
		parts, rest := Split(text)
		at := 0
		for _, p := range append(parts, rest.Part) {
			if p.Start.Offset < at || p.End < p.Start.Offset || p.Next < p.End || p.Next > len(text) {
				t.Fatalf("%q: part %+v after %d", text, p, at)
			}
			at = p.Next
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range allCorpus(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		began := time.Now()
		stmts, err := Parse(text)
		if d := time.Since(began); d > 5*time.Second && len(text) < 10_000 {
			t.Fatalf("%d bytes took %v", len(text), d)
		}
		if err != nil {
			checkError(t, text, err)
			return
		}
		for _, s := range stmts {
			ast.Walk(s, func(n ast.Node) bool {
				if n.End() < n.Pos().Offset || n.End() > len(text) {
					t.Fatalf("%q: %T from %d to %d", text, n, n.Pos().Offset, n.End())
				}
				return true
			})
			for _, e := range s.Base().Extensions {
				if e.Text == "" || e.End() > len(text) {
					t.Fatalf("%q: extension %+v", text, e)
				}
			}
		}
		roundTrip(t, text)
		parts, rest := Split(text)
		if rest.Part.End > rest.Part.Start.Offset {
			parts = append(parts, rest.Part)
		}
		if len(parts) != len(stmts) {
			t.Fatalf("%q: %d parts, %d statements", text, len(parts), len(stmts))
		}
		for i, p := range parts {
			s, err := ParsePart(text, p)
			if err != nil {
				t.Fatalf("%q: part %d: %v", text, i, err)
			}
			if a, b := ast.Dump(stmts[i]), ast.Dump(s); a != b || s.Pos() != stmts[i].Pos() {
				t.Fatalf("%q: part %d is %s, not %s", text, i, b, a)
			}
		}
	})
}
