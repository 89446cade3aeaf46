package mysql

import (
	"strings"
	"testing"

	tidb "github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/weir-sql/weir/parser/ast"
)

type noSource struct{}

func (noSource) Start(int) ast.Pos           { return ast.Pos{} }
func (noSource) Parens(int) (ast.Span, bool) { return ast.Span{}, false }

func pieces(text string) []Piece {
	var ps []Piece
	for i, w := range strings.Fields(text) {
		ps = append(ps, Piece{w, i})
	}
	return ps
}

func names(n int) []Slot {
	var out []Slot
	for i := range n {
		out = append(out, &ast.Name{Parts: []ast.Ident{{Name: string(rune('a' + i))}}})
	}
	return out
}

func TestExpr(t *testing.T) {
	x, _, err := Expr(pieces("`#0` + `#1` DIV `#2` AND NOT `#3` = `#4`"), names(5), noSource{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := ast.Print(x), "a + b || c AND NOT d = e"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

// TestErrorPlace: a syntax error is at the right piece, in long texts too, of
// which TiDB quotes only a part.
func TestErrorPlace(t *testing.T) {
	for _, before := range []int{0, 1, 300, 3000} {
		text := strings.Repeat("`#0` + ", before) + "`#0` ) + `#0`" + strings.Repeat(" + `#0`", before)
		_, _, err := Expr(pieces(text), names(1), noSource{})
		e, ok := err.(*Error)
		if !ok || e.Internal != "" || e.Src != 2*before+1 {
			t.Errorf("%d operators before it: %v at %d", before, err, e.Src)
		}
	}
	if _, _, err := Expr(pieces("`#0` +"), names(1), noSource{}); err.(*Error).Src != -1 {
		t.Errorf("%+v", err)
	}
}

// TestNothingIsLost: what does not come out again is an internal error, not a
// query with another meaning.
func TestNothingIsLost(t *testing.T) {
	for _, c := range []struct {
		text  string
		slots []Slot
	}{
		{"`#0` + `#0`", names(1)},                                       // used twice
		{"`#7`", names(1)},                                              // no such slot
		{"a", names(1)},                                                 // a user's name
		{"1", names(1)},                                                 // a user's literal
		{"`#0` <=> `#1`", names(2)},                                     // an operator that only carries others
		{"`#0` | `#1`", names(2)},                                       //
		{"`#0` AS `#1`", names(2)},                                      // an alias where none can be
		{"`#0` IN ( `#1` , `#2` )", names(3)},                           // without the slot of IN
		{"`#0` LIKE `#1`", names(2)},                                    //
		{"`#0` ( `#1` )", names(2)},                                     // a name as a function
		{"`#0`", []Slot{&Order{}}},                                      // a marker as a value
		{"CASE WHEN `#0` THEN `#1` END", names(2)},                      // written as a call
		{"`#0` = ANY ( SELECT `#1` )", names(2)},                        //
		{"EXISTS ( SELECT `#0` )", names(1)},                            //
		{"MIN ( `#0` ) OVER ( )", names(1)},                             // without the slot of OVER
		{"`#0` ( )", []Slot{Fn(func([]Arg) ast.Expr { panic("bug") })}}, // a bug in a slot
	} {
		x, _, err := Expr(pieces(c.text), c.slots, noSource{})
		if e, ok := err.(*Error); !ok || e.Internal == "" {
			t.Errorf("%s: %v %v", c.text, x, err)
		}
	}
}

func TestQueryNeedsItsSlots(t *testing.T) {
	sel := func() Slot { return &ast.Select{} }
	for _, c := range []struct {
		text  string
		slots []Slot
	}{
		{"SELECT `#0`", names(1)},
		{"SELECT `#0` , `#1` FROM `#2` JOIN `#3` ON `#4`", append([]Slot{sel()}, names(4)...)},
		{"SELECT `#0` , `#1` ORDER BY `#2`", append([]Slot{sel()}, names(2)...)},
		{"SELECT `#0` , `#1` LIMIT 5", append([]Slot{sel()}, names(1)...)},
		{"DELETE FROM `#0`", names(1)},
		{"SELECT `#0` FROM ( SELECT `#1` ) AS `#2`", []Slot{sel(), sel(), sel()}},
	} {
		q, err := Query(pieces(c.text), c.slots, noSource{})
		if e, ok := err.(*Error); !ok || e.Internal == "" {
			t.Errorf("%s: %v %v", c.text, q, err)
		}
	}
}

func TestDriver(t *testing.T) {
	v := tidb.NewValueExpr("1.50", "", "")
	if v.GetValue() != "1.50" || v.GetString() != "1.50" || tidb.NewValueExpr(v, "", "") != v {
		t.Errorf("%v", v)
	}
	// The driver that comes with TiDB panics on such a number.
	if d, err := tidb.NewDecimal(strings.Repeat("9", 200)); err != nil || d == nil {
		t.Error(err)
	}
}
