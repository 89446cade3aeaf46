package ast

import (
	"strings"
	"testing"
)

func ident(s string) Ident { return Ident{Name: s} }

func name(parts ...string) *Name {
	n := &Name{}
	for _, p := range parts {
		n.Parts = append(n.Parts, ident(p))
	}
	return n
}

func TestQuoteIdent(t *testing.T) {
	for in, want := range map[string]string{
		"a": "a", "A_1": "A_1", "_x": "_x", "1a": "`1a`", "a b": "`a b`", "a`b": "`a``b`", "order": "`order`", "Date": "`Date`",
		"": "``", "é": "`é`", "week": "`week`", "name": "name",
	} {
		if got := QuoteIdent(in); got != want {
			t.Errorf("%q: %s, not %s", in, got, want)
		}
	}
}

// TestPrintMade prints trees that no parser made.
func TestPrintMade(t *testing.T) {
	num := func(s string) Expr { return &Literal{Kind: NumberLit, Value: s} }
	bin := func(op string, l, r Expr) Expr { return &Binary{Op: op, L: l, R: r} }
	a, b, c := name("a"), name("b"), name("c")
	for _, x := range []struct {
		n    Node
		want string
	}{
		{bin("*", bin("+", a, b), c), "(a + b) * c"},
		{bin("-", a, bin("-", b, c)), "a - (b - c)"},
		{bin("AND", bin("OR", a, b), &Unary{Op: "NOT", X: bin("AND", b, c)}), "(a OR b) AND NOT (b AND c)"},
		{&Unary{Op: "-", X: &Unary{Op: "-", X: num("1")}}, "- -1"},
		{&Unary{Op: "-", X: bin("+", a, b)}, "-(a + b)"},
		{bin("=", &Unary{Op: "NOT", X: a}, b), "(NOT a) = b"},
		{&Between{X: bin("=", a, b), Low: bin("AND", a, b), High: c}, "(a = b) BETWEEN (a AND b) AND c"},
		{&Is{X: bin("AND", a, b), Kind: IsTrue}, "(a AND b) IS TRUE"},
		{bin("+", &Is{X: a, Kind: IsNull}, num("1")), "(a IS NULL) + 1"},
		{&FieldAccess{X: a, Field: ident("b")}, "(a).b"},
		{&Subscript{X: bin("||", a, b), Index: num("1")}, "(a || b)[1]"},
		{&Like{X: a, Pattern: bin("OR", b, c), Escape: &StringLit{Value: "'"}}, "a LIKE (b OR c) ESCAPE ''''"},
		{&Literal{Kind: StringKind, Value: "it's"}, "'it''s'"},
		{&Literal{Kind: TimestampLit, Value: "2024-05-01 10:00:00"}, "TIMESTAMP '2024-05-01 10:00:00'"},
		{&TypeName{Name: "MAP", Key: &TypeName{Name: "STRING"}, Elem: &TypeName{Name: "DECIMAL", Params: []int{10, 2}, NotNull: true}}, "MAP<STRING, DECIMAL(10, 2) NOT NULL>"},
		{&Hint{Name: "X", Args: []HintArg{{Key: "a*/b", Quoted: true}}}, `X(E'a*\x2fb')`},
		{&ObjectName{Parts: []Ident{ident("cat"), ident("db"), ident("user")}}, "cat.db.`user`"},
	} {
		if got := Print(x.n); got != x.want {
			t.Errorf("got %s, want %s", got, x.want)
		}
	}
}

func TestWalk(t *testing.T) {
	q := &QueryStatement{Query: &Query{
		Body: &Select{
			Items: []SelectItem{{X: &Binary{Op: "+", L: name("a"), R: &Call{Args: []Expr{name("b")}}}}},
			From:  &Join{Left: &Table{}, Right: &DerivedTable{Query: &Query{Body: &Values{}}}},
			Where: &Case{Whens: []When{{Cond: name("c"), Result: name("d")}}},
		},
		OrderBy: []OrderItem{{X: name("e")}},
	}}
	names := func(into func(Node) bool) string {
		var out []string
		Walk(q, func(n Node) bool {
			if n, ok := n.(*Name); ok {
				out = append(out, n.Parts[0].Name)
			}
			return into(n)
		})
		return strings.Join(out, " ")
	}
	if got := names(func(Node) bool { return true }); got != "a b c d e" {
		t.Errorf("visited %s", got)
	}
	if got := names(func(n Node) bool { _, call := n.(*Call); return !call }); got != "a c d e" {
		t.Errorf("without calls, visited %s", got)
	}
	// Parts stored by value are visited in place.
	Walk(q, func(n Node) bool {
		if o, ok := n.(*OrderItem); ok {
			o.Desc = true
		}
		return true
	})
	if !q.Query.OrderBy[0].Desc {
		t.Error("an OrderItem was visited as a copy")
	}
	Walk(nil, nil)
	var none *Select
	Walk(none, nil)
}

func TestSourceOf(t *testing.T) {
	b := &StmtBase{Span: Span{Start: Pos{Offset: 10, Line: 1, Column: 11}, Stop: 20}, Source: "0123456789"}
	at := func(from, to int) Node {
		return &Star{Span: Span{Start: Pos{Offset: from, Line: 1, Column: 1}, Stop: to}}
	}
	if got := b.SourceOf(at(12, 15)); got != "234" {
		t.Error(got)
	}
	for _, n := range []Node{at(9, 12), at(15, 21), at(15, 14), &Star{}} {
		if got := b.SourceOf(n); got != "" {
			t.Error(got)
		}
	}
}
