package bind

import (
	"slices"

	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// rowFields gives the pairs of fields of (a, b) = (c, d) and (a, b) <> (c, d), of which each is compared: a NULL in one makes the comparison NULL when the
// others do not decide it. Rows from elsewhere are compared as values, in which NULL equals NULL. nil for anything else.
func (*Binder) rowFields(op string, l, r ast.Expr) [][2]ast.Expr {
	x, ok := l.(*ast.RowCons)
	y, ok2 := r.(*ast.RowCons)
	if !ok || !ok2 || len(x.Elems) != len(y.Elems) || len(x.Elems) == 0 || op != "=" && op != "<>" {
		return nil
	}
	pairs := make([][2]ast.Expr, len(x.Elems))
	for i := range pairs {
		pairs[i] = [2]ast.Expr{x.Elems[i], y.Elems[i]}
	}
	return pairs
}

// compareFields compares pair by pair: all have to be equal, or one of them different.
func (b *Binder) compareFields(n ast.Node, s *scope, op string, pairs [][2]ast.Expr) (logical.Expr, error) {
	join := map[string]string{"=": "AND", "<>": "OR"}[op]
	var all logical.Expr
	for _, p := range pairs {
		x, err := b.function(n, s, op, nil, p[0], p[1])
		if err == nil && all != nil {
			x, err = b.apply(n, join, nil, []logical.Expr{all, x})
		}
		if err != nil {
			return nil, err
		}
		all = x
	}
	return all, nil
}

// inList binds x IN (a, b, ...). (x, y) IN ((a, b), ...) is (x, y) = (a, b) OR ...
func (b *Binder) inList(e *ast.InList, s *scope) (logical.Expr, error) {
	rows := slices.ContainsFunc(e.List, func(y ast.Expr) bool { return b.rowFields("=", e.X, y) != nil })
	if !rows {
		return b.function(e, s, "IN", nil, append([]ast.Expr{e.X}, e.List...)...)
	}
	row, err := b.expr(e.X, s)
	if err != nil {
		return nil, err
	}
	if c := logical.Volatile(row); c != nil && len(e.List) > 1 { // each comparison would have another value of it
		return nil, logical.ErrorAt(c.Pos, "WEIR-1526", "compute it in a subquery in FROM", "%s in a row before IN is not supported yet: it gives another value for each row of the list", c.Name)
	}
	var all logical.Expr
	for _, y := range e.List {
		var x logical.Expr
		var err error
		if fields := b.rowFields("=", e.X, y); fields != nil {
			x, err = b.compareFields(e, s, "=", fields)
		} else {
			x, err = b.function(e, s, "=", nil, e.X, y)
		}
		if err == nil && all != nil {
			x, err = b.apply(e, "OR", nil, []logical.Expr{all, x})
		}
		if err != nil {
			return nil, err
		}
		all = x
	}
	return all, nil
}

// overlaps makes comparisons of (start, end) OVERLAPS (start, end): each end may be an interval, and may lie before its start. The periods overlap when
// each begins, at its earlier bound, not behind the later bound of the other.
func (b *Binder) overlaps(e *ast.Binary, s *scope) (logical.Expr, error) {
	bounds := func(side ast.Expr) (lo, hi logical.Expr, err error) {
		row, ok := side.(*ast.RowCons)
		if !ok || len(row.Elems) != 2 {
			return nil, nil, logical.Errorf(side, logical.CodeArguments, "usage: (start, end) OVERLAPS (start, end)", "OVERLAPS takes two points in time on each side")
		}
		es, _, err := b.exprs(row.Elems, s)
		if err != nil {
			return nil, nil, err
		}
		start, end := es[0], es[1]
		if !start.ResultType().IsDatetime() {
			return nil, nil, logical.Errorf(row.Elems[0], logical.CodeArguments, "", "OVERLAPS takes points in time, not %s", start.ResultType().WithNull(true))
		}
		if end.ResultType().IsInterval() {
			if end, err = b.apply(row.Elems[1], "+", nil, []logical.Expr{start, end}); err != nil {
				return nil, nil, err
			}
		}
		inOrder, err := b.apply(row, "<=", nil, []logical.Expr{start, end})
		if err != nil {
			return nil, nil, err
		}
		t, ok := types.Common(start.ResultType(), end.ResultType())
		if !ok {
			return nil, nil, logical.Errorf(row, logical.CodeArguments, "", "OVERLAPS cannot compare %s with %s", start.ResultType().WithNull(true),
				end.ResultType().WithNull(true))
		}
		t.Attr = types.NoTimeAttr
		start, end = b.coerce(row.Elems[0], start, t), b.coerce(row.Elems[1], end, t)
		pick := func(x, y logical.Expr) logical.Expr {
			return &logical.Case{Whens: []logical.When{{Cond: inOrder, Result: x}}, Else: y, Type: t, Pos: row.Pos()}
		}
		return pick(start, end), pick(end, start), nil
	}
	lo1, hi1, err := bounds(e.L)
	if err != nil {
		return nil, err
	}
	lo2, hi2, err := bounds(e.R)
	if err != nil {
		return nil, err
	}
	first, err := b.apply(e, ">=", nil, []logical.Expr{hi1, lo2})
	if err != nil {
		return nil, err
	}
	second, err := b.apply(e, ">=", nil, []logical.Expr{hi2, lo1})
	if err != nil {
		return nil, err
	}
	return b.apply(e, "AND", nil, []logical.Expr{first, second})
}

func (b *Binder) like(e *ast.Like, s *scope) (logical.Expr, error) {
	name := "LIKE"
	if e.Similar {
		name = "SIMILAR TO"
	}
	var args []logical.Expr
	for _, a := range []ast.Expr{e.X, e.Pattern} {
		x, err := b.expr(a, s)
		if err != nil {
			return nil, err
		}
		args = append(args, x)
	}
	if e.Escape != nil {
		if len([]rune(e.Escape.Value)) != 1 {
			return nil, logical.Errorf(e.Escape, logical.CodeArguments, "", "ESCAPE needs one character, not '%s'", e.Escape.Value)
		}
		args = append(args, &logical.Literal{Value: e.Escape.Value, Type: types.CharOf(1).NotNull(), Pos: e.Escape.Pos()})
	}
	x, err := b.apply(e, name, nil, args)
	return b.not(e, x, err, e.Not)
}
