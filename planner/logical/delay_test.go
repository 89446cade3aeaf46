package logical

import (
	"testing"

	"github.com/weir-sql/weir/types"
)

func TestDelay(t *testing.T) {
	ts, other := &Column{Index: 1}, &Column{Index: 0}
	less := func(e Expr, us int64) Expr {
		return &Call{Name: "-", Args: []Expr{e, &Literal{Value: types.DurationVal(us), Type: types.DayTimeType}}}
	}
	for _, c := range []struct {
		name string
		e    Expr
		want int64
		ok   bool
	}{
		{"ts", ts, 0, true},
		{"ts less 5", less(ts, 5), 5, true},
		{"less 5, less 3", less(less(ts, 5), 3), 8, true},
		{"less 5, less 0, in a cast", &Cast{Arg: less(less(ts, 5), 0)}, 5, true},
		{"another column", less(other, 5), 0, false},
		{"no constant", &Call{Name: "-", Args: []Expr{ts, other}}, 0, false},
		{"another function", &Call{Name: "+", Args: []Expr{ts, other}}, 0, false},
	} {
		if got, ok := Delay(c.e, 1); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %d, %t", c.name, got, ok)
		}
	}
}
