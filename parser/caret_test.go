package parser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-sql/weir/parser/ast"
)

// TestCarets replaces each token of each script by %% in turn. The error must be
// exactly there in nine cases of ten, and never further away than one word
// before.
func TestCarets(t *testing.T) {
	files, err := filepath.Glob("testdata/scripts/*.sql")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	total, exact, before := 0, 0, 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		if _, err := Parse(text); err != nil {
			t.Errorf("%s: %s", file, err.(*Error).Render(text, file))
			continue
		}
		toks := lex(text, ast.Pos{Line: 1, Column: 1}, len(text)).toks
		for i, tok := range toks[:len(toks)-1] {
			broken := text[:tok.pos.Offset] + "%%" + text[tok.end:]
			_, err := Parse(broken)
			if err == nil {
				t.Errorf("%s:%d:%d: no error when %q becomes %%%%", file, tok.pos.Line, tok.pos.Column, tok.text)
				continue
			}
			e := err.(*Error)
			total++
			switch {
			case e.Code == CodeInternal || strings.Contains(e.Msg, "`#"):
				t.Errorf("%s: %q: %v", file, tok.text, e)
			case e.Pos.Offset == tok.pos.Offset || e.Pos.Offset == tok.pos.Offset+1:
				exact++
			case i > 0 && e.Pos.Offset >= toks[i-1].pos.Offset && e.Pos.Offset < tok.pos.Offset:
				before++
				t.Logf("%s: %q at %d:%d: %v", file, tok.text, tok.pos.Line, tok.pos.Column, e)
			default:
				t.Errorf("%s: %q at %d:%d becomes %%%%, but the error is at %v", file, tok.text, tok.pos.Line, tok.pos.Column, e)
			}
		}
	}
	t.Logf("%d scripts, %d tokens replaced: %d carets exactly there (%.1f %%), %d one word before",
		len(files), total, exact, 100*float64(exact)/float64(total), before)
	if exact*10 < total*9 {
		t.Errorf("only %d of %d carets are exactly there", exact, total)
	}
}
