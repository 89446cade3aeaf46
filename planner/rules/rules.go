// Package rules improves logical plans: one rule per file. Each file opens with a query before and after, and with a query for which the rule would be
// wrong.
package rules

import (
	"github.com/weir-sql/weir/planner/logical"
)

// Fold computes a constant expression.
type Fold func(e logical.Expr) (any, error)

// Options of Apply.
type Options struct {
	Fold Fold
	// Optimize: without it, only the rules run that are part of a query's meaning.
	Optimize bool
	// UTC: the session time zone is UTC, so that the wall clock never goes back.
	UTC bool
}

// Apply runs the rules over a plan.
func Apply(n logical.Node, o Options) (logical.Node, error) {
	n, err := FoldConstants(n, o.Fold)
	if err != nil {
		return nil, err
	}
	if n, err = RemoveFalse(n); err != nil {
		return nil, err
	}
	if n, err = FuseWindows(n); err != nil {
		return nil, err
	}
	if n, err = LowerAttached(n, o.UTC); err != nil {
		return nil, err
	}
	if !o.Optimize {
		return n, nil
	}
	if n, err = PushFilters(n); err != nil {
		return nil, err
	}
	n = PruneColumns(n)
	return MergeProjects(n)
}

// cheap reports an expression that may be computed twice without harm.
func cheap(e logical.Expr) bool {
	switch e := e.(type) {
	case *logical.Column, *logical.Literal:
		return true
	case *logical.FieldAccess:
		return cheap(e.Arg)
	}
	return false
}

// mapExprs makes a copy of a node with f applied to its expressions.
func mapExprs(n logical.Node, f func(logical.Expr) (logical.Expr, error)) (logical.Node, error) {
	list := func(es []logical.Expr) ([]logical.Expr, error) {
		out := make([]logical.Expr, len(es))
		for i, e := range es {
			var err error
			if out[i], err = f(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	lists := func(in [][]logical.Expr) ([][]logical.Expr, error) {
		out := make([][]logical.Expr, len(in))
		for i, es := range in {
			var err error
			if out[i], err = list(es); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	var err error
	switch n := n.(type) {
	case *logical.Project:
		c := *n
		c.Exprs, err = list(n.Exprs)
		return &c, err
	case *logical.Filter:
		c := *n
		c.Cond, err = f(n.Cond)
		return &c, err
	case *logical.Expand:
		c := *n
		c.Projects, err = lists(n.Projects)
		return &c, err
	case *logical.Values:
		c := *n
		c.Rows, err = lists(n.Rows)
		return &c, err
	case *logical.Scan:
		c := *n
		c.Computed = append([]logical.Expr(nil), n.Computed...)
		for i, e := range c.Computed {
			if e != nil && err == nil {
				c.Computed[i], err = f(e)
			}
		}
		if n.Watermark != nil && err == nil {
			w := *n.Watermark
			if w.Expr != nil {
				w.Expr, err = f(w.Expr)
			}
			w.Inputs = append([]logical.Expr(nil), w.Inputs...)
			for i, e := range w.Inputs {
				if err == nil {
					w.Inputs[i], err = f(e)
				}
			}
			c.Watermark = &w
		}
		return &c, err
	}
	return n, nil
}
