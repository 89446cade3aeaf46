package parser

import (
	"testing"

	"github.com/weir-sql/weir/parser/ast"
)

// TestSpans takes the text of every expression of the corpus out of its
// statement, by the node's place and end, and parses it: it must be the same
// expression. So is the text of nearly every query.
func TestSpans(t *testing.T) {
	exprs, queries := 0, 0
	for _, text := range allCorpus(t) {
		stmts, err := Parse(text)
		if err != nil {
			continue
		}
		for _, s := range stmts {
			ast.Walk(s, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Star, *ast.NamedArg, *ast.TableArg, *ast.Descriptor, *ast.TimeUnit, *ast.Default, *ast.Grouping:
					return true // no expressions by themselves
				case *ast.Literal:
					if n.Kind == ast.NumberLit && n.Value[0] == '-' {
						return true // a partition's value
					}
				case *ast.Call:
					for _, a := range n.Args {
						if na, ok := a.(*ast.NamedArg); ok {
							a = na.Value
						}
						if ta, ok := a.(*ast.TableArg); ok && ta.Query != nil {
							return true // only a table function may have such an argument
						}
					}
				case *ast.Query:
					// That of an inner query may begin or end inside a parenthesis.
					again, err := ParseStatement(s.Base().SourceOf(n))
					if err == nil && ast.Dump(n) == ast.Dump(again.(*ast.QueryStatement).Query) {
						queries++
					}
					return true
				}
				x, ok := n.(ast.Expr)
				if _, model := n.(*ast.ModelArg); !ok || model { // MODEL m is an argument only
					return true
				}
				src := s.Base().SourceOf(n)
				again, err := ParseExpr(src)
				if err != nil {
					t.Errorf("%s\n%T %q: %v", text, n, src, err)
					return true
				}
				if a, b := ast.Dump(x), ast.Dump(again); a != b {
					t.Errorf("%s\n%T %q is %s, not %s", text, n, src, b, a)
				}
				exprs++
				return true
			})
		}
	}
	t.Logf("%d expressions, %d queries", exprs, queries)
	if exprs < 2000 || queries < 400 {
		t.Error("too few")
	}
}
