package parser

import (
	"os"
	"testing"

	"github.com/weir-sql/weir/parser/ast"
)

func BenchmarkParse(b *testing.B) {
	script, err := os.ReadFile("testdata/scripts/01_orders.sql")
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, text string }{
		{"small", "SELECT a FROM t WHERE b > 1"},
		{"script", string(script)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(c.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLex(b *testing.B) {
	script, err := os.ReadFile("testdata/scripts/01_orders.sql")
	if err != nil {
		b.Fatal(err)
	}
	text := string(script)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		lex(text, ast.Pos{Line: 1, Column: 1}, len(text))
	}
}
