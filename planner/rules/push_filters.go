package rules

import (
	"strings"

	"github.com/weir-sql/weir/planner/logical"
)

// PushFilters moves conditions toward the sources.
//
//	before: SELECT * FROM (SELECT auction AS a, price FROM bids UNION ALL SELECT auction, price FROM old_bids) WHERE a = 7
//	after:  SELECT auction AS a, price FROM bids WHERE auction = 7 UNION ALL SELECT auction, price FROM old_bids WHERE auction = 7
//
// A condition stops at a scan: the scan's watermark expression sees every row, filtered or not, since a filtered row still advances time.
//
// A condition that may fail does not overtake one that may keep it from failing: in WHERE UPPER(b) = 'OK' AND 10 / x > 1 the second one waits for the first.
//
// Wrong for: SELECT * FROM (SELECT * FROM t LIMIT 10) WHERE a = 7 (the limit counts rows before the filter), for a condition that is volatile or asks for
// the watermark, and below a window aggregate, where it would change which rows are counted as late.
func PushFilters(n logical.Node) (logical.Node, error) {
	return logical.Rewrite(n, func(n logical.Node) (logical.Node, error) {
		f, ok := n.(*logical.Filter)
		if !ok {
			return n, nil
		}
		var stay []logical.Expr
		out := f.In
		for _, c := range logical.Conjuncts(f.Cond) {
			if stay != nil && !neverFails(c) {
				stay = append(stay, c)
			} else if in := push(out, c); in != nil {
				out = in
			} else {
				stay = append(stay, c)
			}
		}
		if stay == nil {
			return out, nil
		}
		return filter(out, logical.And(stay...)), nil
	})
}

// neverFails reports a condition that has a value for every row: comparisons and logic over columns and constants.
func neverFails(cond logical.Expr) bool {
	ok := true
	logical.Walk(cond, func(e logical.Expr) bool {
		switch e := e.(type) {
		case *logical.Column, *logical.Literal, *logical.FieldAccess:
		case *logical.Call:
			switch e.Name {
			case "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "NOT", "IN", "LIKE", "BETWEEN", "BETWEEN SYMMETRIC":
			default:
				ok = ok && strings.HasPrefix(e.Name, "IS ")
			}
		case *logical.Cast: // between numbers upward, and of text lengths
			ok = ok && e.Implicit && !(e.Arg.ResultType().IsText() && !e.Type.IsText())
		default:
			ok = false
		}
		return ok
	})
	return ok
}

// filter puts a condition over a plan, together with that of a filter on its top.
func filter(n logical.Node, cond logical.Expr) logical.Node {
	if f, ok := n.(*logical.Filter); ok {
		return &logical.Filter{In: f.In, Cond: logical.And(f.Cond, cond)}
	}
	return &logical.Filter{In: n, Cond: cond}
}

// pushed puts a condition as deep into a plan as it goes, at least on top.
func pushed(n logical.Node, cond logical.Expr) logical.Node {
	if in := push(n, cond); in != nil {
		return in
	}
	return filter(n, cond)
}

// push moves one condition below the top of a plan; nil when it must stay above.
func push(n logical.Node, cond logical.Expr) logical.Node {
	if logical.Volatile(cond) != nil {
		return nil
	}
	used := logical.Columns(cond)
	switch n := n.(type) {
	case *logical.Filter:
		if neverFails(cond) {
			if in := push(n.In, cond); in != nil {
				return n.WithInputs(in)
			}
		}
		return filter(n, cond)
	case *logical.Project:
		for c := range used {
			if !cheap(n.Exprs[c]) {
				return nil
			}
		}
		return n.WithInputs(pushed(n.In, logical.Substitute(cond, n.Exprs)))
	case *logical.WindowTableFunction:
		for c := range used {
			if c >= len(n.In.Schema()) {
				return nil
			}
		}
		return n.WithInputs(pushed(n.In, cond))
	case *logical.Union:
		ins := make([]logical.Node, len(n.Ins))
		for i, in := range n.Ins {
			ins[i] = pushed(in, cond)
		}
		return n.WithInputs(ins...)
	case *logical.Sort:
		return n.WithInputs(pushed(n.In, cond))
	case *logical.Aggregate:
		if n.Window != nil || len(n.GroupBy) == 0 || len(used) == 0 {
			return nil
		}
		to := make([]int, len(n.Schema()))
		for c := range used {
			if c >= len(n.GroupBy) {
				return nil
			}
		}
		copy(to, n.GroupBy)
		return n.WithInputs(pushed(n.In, logical.Remap(cond, to)))
	}
	return nil
}
