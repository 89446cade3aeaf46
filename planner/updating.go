package planner

import (
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/planner/physical"
)

// updating finds the operator that makes a plan's changelog more than append, and how the user wrote it.
func updating(n physical.Node) (ast.Pos, string) {
	switch n := n.(type) {
	case *physical.GroupAggregate:
		if len(n.Aggregates) == 0 {
			return n.Pos, "DISTINCT"
		}
		if len(n.GroupBy) == 0 {
			return n.Pos, "an aggregate without GROUP BY"
		}
		return n.Pos, "GROUP BY"
	case *physical.Scan:
		return n.Pos, "the table " + logical.TableName(n.Table)
	}
	if w, ok := n.(*physical.WindowAggregate); ok && w.Emit != nil {
		return w.Emit.Pos, w.Emit.Clause
	}
	for _, in := range n.Inputs() {
		if in.Props().Changelog != physical.Append {
			return updating(in)
		}
	}
	return ast.Pos{}, "the query"
}

// emits reports whether it is early or late firing of windows that makes a plan's changelog more than append.
func emits(n physical.Node) bool {
	if n.Props().Changelog == physical.Append {
		return false
	}
	if w, ok := n.(*physical.WindowAggregate); ok {
		return w.Emit != nil
	}
	for _, in := range n.Inputs() {
		if in.Props().Changelog != physical.Append {
			return emits(in)
		}
	}
	return false
}
