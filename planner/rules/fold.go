package rules

import (
	"errors"
	"strings"

	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// FoldConstants computes what does not depend on any row.
//
//	before: SELECT price * (60 * 60) FROM bids WHERE DATE '2024-05-01' < CAST('2024-06-01' AS DATE)
//	after:  SELECT price * 3600 FROM bids WHERE TRUE
//
// Wrong for: SELECT CASE WHEN FALSE THEN 1 / 0 END. A constant that fails is left alone: it fails when, and only when, a row asks for it. And for RAND() or
// CURRENT_TIMESTAMP, which are not constant. The exception is an implicit cast of a literal (`d = '2024-13-01'`), which no row can repair: it is an error
// of the query.
func FoldConstants(n logical.Node, fold Fold) (logical.Node, error) {
	return logical.Rewrite(n, func(n logical.Node) (logical.Node, error) {
		return mapExprs(n, func(e logical.Expr) (logical.Expr, error) { return foldExpr(e, fold) })
	})
}

func foldExpr(e logical.Expr, fold Fold) (logical.Expr, error) {
	e, err := logical.MapChildren(e, func(k logical.Expr) (logical.Expr, error) { return foldExpr(k, fold) })
	if err != nil {
		return nil, err
	}
	switch x := e.(type) {
	case *logical.Column, *logical.Literal:
		return e, nil
	case *logical.Case:
		e = foldCase(x)
	case *logical.Call:
		if x.Name == "AND" || x.Name == "OR" {
			e = foldLogic(x)
		}
	}
	for _, k := range logical.Children(e) {
		if _, ok := k.(*logical.Literal); !ok {
			return e, nil
		}
	}
	switch x := e.(type) {
	case *logical.Column, *logical.Literal: // what is left of a CASE, AND or OR
		return e, nil
	case *logical.Call:
		if x.User != nil { // called for rows only
			return e, nil
		}
	}
	if fold == nil || logical.Volatile(e) != nil {
		return e, nil
	}
	v, err := fold(e)
	if err != nil {
		if c, ok := e.(*logical.Cast); ok && c.Implicit {
			return nil, constantError(c, err)
		}
		return e, nil
	}
	t := e.ResultType()
	return &logical.Literal{Value: v, Type: t.WithNull(t.Nullable || v == nil), Pos: logical.PosOf(e)}, nil
}

func constantError(c *logical.Cast, err error) error {
	var own *logical.Error
	if errors.As(err, &own) {
		return own
	}
	msg := err.Error()
	if i := strings.LastIndex(msg, " in `"); i > 0 {
		msg = msg[:i]
	}
	return logical.ErrorAt(logical.PosOf(c.Arg), logical.CodeConstant, "", "%s", msg)
}

// foldCase drops branches that are never taken.
func foldCase(c *logical.Case) logical.Expr {
	out := &logical.Case{Else: c.Else, Type: c.Type, Pos: c.Pos}
	for _, w := range c.Whens {
		if lit, ok := w.Cond.(*logical.Literal); ok {
			if lit.Value != true {
				continue // FALSE and NULL
			}
			out.Else = w.Result
			break
		}
		out.Whens = append(out.Whens, w)
	}
	if len(out.Whens) == 0 {
		return out.Else
	}
	return out
}

// foldLogic drops operands that decide nothing, and gives the one that decides all.
func foldLogic(c *logical.Call) logical.Expr {
	decides := c.Name == "OR" // TRUE decides OR, FALSE decides AND
	var rest []logical.Expr
	for _, a := range c.Args {
		if lit, ok := a.(*logical.Literal); ok && lit.Value != nil {
			if lit.Value == decides {
				return &logical.Literal{Value: decides, Type: types.BooleanType.NotNull(), Pos: lit.Pos}
			}
			continue
		}
		rest = append(rest, a)
	}
	switch len(rest) {
	case len(c.Args):
		return c
	case 0:
		return &logical.Literal{Value: !decides, Type: types.BooleanType.NotNull(), Pos: c.Pos}
	case 1:
		return rest[0]
	}
	d := *c
	d.Args = rest
	return &d
}
