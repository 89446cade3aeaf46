package planner

import (
	"maps"
	"slices"
	"strings"

	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/planner/physical"
)

// keepsChanges refuses a plan in which a row that is taken back (-U, -D) would not be the row that was given: where a function that gives another value each
// time is computed from changes, and what reads them compares or subtracts whole rows. A table with a PRIMARY KEY does not: it takes the last row of a key.
// Flink lets it go by default, and refuses it with the same setting and the value TRY_RESOLVE.
func keepsChanges(env *Env, roots []physical.Node) error {
	if strings.EqualFold(env.Config["table.optimizer.non-deterministic-update.strategy"], "IGNORE") {
		return nil
	}
	for _, r := range roots {
		if _, err := unsteady(r); err != nil {
			return err
		}
	}
	return nil
}

// unsteady returns for each column of n the volatile call that its value in a change comes from; nil without any.
func unsteady(n physical.Node) (cols []*logical.Call, err error) {
	var ins [][]*logical.Call
	for _, in := range n.Inputs() {
		c, err := unsteady(in)
		if err != nil {
			return nil, err
		}
		ins = append(ins, c)
	}
	if n.Props().Changelog == physical.Append && !slices.ContainsFunc(n.Inputs(), func(in physical.Node) bool { return in.Props().Changelog != physical.Append }) {
		return nil, nil
	}
	// of looks at columns of the input whose values must stay the same.
	of := func(columns ...int) error {
		for _, c := range columns {
			if c >= 0 && c < len(ins[0]) && ins[0][c] != nil {
				return unsteadyError(ins[0][c])
			}
		}
		return nil
	}
	switch n := n.(type) {
	case *physical.Scan:
		return project(nil, n.Projections), nil
	case *physical.Calc:
		if n.Condition != nil {
			if c := project(ins[0], []logical.Expr{n.Condition})[0]; c != nil {
				return nil, unsteadyError(c)
			}
		}
		return project(ins[0], n.Projections), nil
	case *physical.Expand:
		cols = make([]*logical.Call, len(n.Schema()))
		for _, p := range n.Projects {
			merge(cols, project(ins[0], p))
		}
		return cols, nil
	case *physical.Union:
		cols = make([]*logical.Call, len(n.Schema()))
		for _, in := range ins {
			merge(cols, in)
		}
		return cols, nil
	case *physical.Exchange:
		return ins[0], of(n.Keys...)
	case *physical.ChangelogNormalize: // it keeps the row that it has given
		return nil, of(n.Key...)
	case *physical.BadRecords:
		return nil, nil
	case *physical.WindowTableFunction:
		return ins[0], of(n.Window.TimeColumn)
	case *physical.GroupAggregate:
		return nil, of(read(n.GroupBy, n.Aggregates)...)
	case *physical.WindowAggregate:
		return nil, of(append(read(n.GroupBy, n.Aggregates), n.Window.TimeColumn)...)
	case *physical.Sink:
		if n.Key != nil {
			return nil, of(n.Key...)
		}
	}
	for i := range ins[0] { // whole rows are shown, written, or taken out
		if err := of(i); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// project is what becomes of unsteady columns in expressions over them.
func project(in []*logical.Call, es []logical.Expr) []*logical.Call {
	out := make([]*logical.Call, len(es))
	for i, e := range es {
		if out[i] = logical.Volatile(e); out[i] != nil {
			continue
		}
		for _, c := range slices.Sorted(maps.Keys(logical.Columns(e))) {
			if c < len(in) && in[c] != nil && out[i] == nil {
				out[i] = in[c]
			}
		}
	}
	return out
}

func merge(cols, more []*logical.Call) {
	for i, c := range more {
		if cols[i] == nil {
			cols[i] = c
		}
	}
}

// read lists the columns that an aggregate reads.
func read(groupBy []int, aggs []physical.Aggregate) []int {
	out := slices.Clone(groupBy)
	for _, a := range aggs {
		out = append(append(out, a.Args...), a.Filter)
	}
	return out
}

func unsteadyError(c *logical.Call) error {
	return logical.ErrorAt(c.Pos, logical.CodeUnsteady, "write to a table with a PRIMARY KEY, call it before the rows are aggregated, or, to have it as in Flink, "+
		"SET 'table.optimizer.non-deterministic-update.strategy' = 'IGNORE'",
		"%s gives another value when a row is taken back: the changes of this query would not fit together", c.Name)
}
