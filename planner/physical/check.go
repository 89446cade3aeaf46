package physical

import (
	"fmt"
	"slices"

	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// Check holds a plan against the rules of its properties. A breach is a bug of the planner.
func (p *Plan) Check() error {
	ids := map[string]bool{}
	for _, n := range p.Nodes() {
		if n.ID() == "" || ids[n.ID()] {
			return fmt.Errorf("%s has no id of its own: %q", n.Op(), n.ID())
		}
		ids[n.ID()] = true
		if err := checkNode(n); err != nil {
			return fmt.Errorf("%s: %w", n.ID(), err)
		}
	}
	for _, r := range p.Roots {
		switch r.(type) {
		case *Sink, *Collect:
		default:
			return fmt.Errorf("%s is no root", r.ID())
		}
		if r.Props().Partitioning.Count != 1 {
			return fmt.Errorf("%s is in %d copies", r.ID(), r.Props().Partitioning.Count)
		}
	}
	return nil
}

func checkNode(n Node) error {
	s, p := n.Schema(), n.Props()
	for _, k := range append(append([]int{}, p.Key...), p.Partitioning.Columns...) {
		if k < 0 || k >= len(s) {
			return fmt.Errorf("key or partitioning column %d of %d columns", k, len(s))
		}
	}
	if p.EventTime >= 0 && (p.EventTime >= len(s) || s[p.EventTime].Type.Attr != types.Rowtime) {
		return fmt.Errorf("event time column %d is no rowtime attribute", p.EventTime)
	}
	if p.Changelog == Upsert && p.Key == nil {
		return fmt.Errorf("upserts without a key")
	}
	for _, in := range n.Inputs() {
		ip := in.Props()
		if order, wm := demands(n); order && !ip.OrderNeeded || wm > ip.WatermarkNeed {
			return fmt.Errorf("needs order %t and watermarks %s of %s, which has %t and %s", order, wm, in.ID(), ip.OrderNeeded, ip.WatermarkNeed)
		}
		if _, ok := n.(*Exchange); !ok && ip.Partitioning.Count != p.Partitioning.Count {
			return fmt.Errorf("%d copies over %d of %s", p.Partitioning.Count, ip.Partitioning.Count, in.ID())
		}
	}
	switch n := n.(type) {
	case *Calc:
		es := n.Projections
		if n.Condition != nil {
			if n.Condition.ResultType().Kind != types.Boolean {
				return fmt.Errorf("condition of type %s", n.Condition.ResultType())
			}
			es = append([]logical.Expr{n.Condition}, es...)
		}
		return checkExprs(es, n.inputs[0].Schema())
	case *Scan:
		if err := checkExprs(n.Projections, n.Raw); err != nil {
			return err
		}
		for i, e := range n.Projections {
			if !e.ResultType().SameKind(s[i].Type) {
				return fmt.Errorf("column %s is %s, computed as %s", s[i].Name, s[i].Type, e.ResultType())
			}
		}
		if w := n.Watermark; w != nil && w.Expr != nil {
			return checkExprs([]logical.Expr{w.Expr}, s)
		}
	case *Expand:
		for _, set := range n.Projects {
			if len(set) != len(s) {
				return fmt.Errorf("%d expressions for %d columns", len(set), len(s))
			}
			for i, e := range set {
				if !e.ResultType().SameKind(s[i].Type) || e.ResultType().Nullable && !s[i].Type.Nullable {
					return fmt.Errorf("column %s is %s, computed as %s", s[i].Name, s[i].Type, e.ResultType())
				}
			}
			if err := checkExprs(set, n.inputs[0].Schema()); err != nil {
				return err
			}
		}
	case *Union:
		for _, in := range n.inputs {
			is := in.Schema()
			if len(is) != len(s) {
				return fmt.Errorf("%d columns in %s, %d in the union", len(is), in.ID(), len(s))
			}
			for i := range is {
				if !is[i].Type.SameKind(s[i].Type) || is[i].Type.Nullable && !s[i].Type.Nullable {
					return fmt.Errorf("column %s is %s in %s, %s in the union", s[i].Name, is[i].Type, in.ID(), s[i].Type)
				}
			}
		}
	case *WindowAggregate:
		if err := checkMeet(n, n.GroupBy, n.inputs[0].Schema()); err != nil {
			return err
		}
		return checkGrouping(&n.WindowGrouping, n.inputs[0])
	case *GlobalWindowAggregate:
		keys := make([]int, len(n.GroupBy))
		for i := range keys {
			keys[i] = i
		}
		return checkMeet(n, keys, n.local.Schema())
	case *LocalWindowAggregate:
		return checkGrouping(&n.WindowGrouping, n.inputs[0])
	case *GroupAggregate:
		if err := checkMeet(n, n.GroupBy, n.inputs[0].Schema()); err != nil {
			return err
		}
		return checkAggregates(n.GroupBy, n.Aggregates, n.inputs[0].Schema())
	case *Sort:
		return checkSorted(n.inputs[0])
	case *TopN:
		return checkSorted(n.inputs[0])
	case *WindowTableFunction:
		return checkTimeColumn(n.Window, n.inputs[0].Schema())
	}
	return nil
}

// checkMeet checks that rows with equal keys are in one copy of a keyed operator.
func checkMeet(n Node, keys []int, in types.Schema) error {
	p := n.Inputs()[0].Props().Partitioning
	if p.Count == 1 {
		return nil
	}
	if p.Columns == nil {
		return fmt.Errorf("%d copies, and equal keys are anywhere", p.Count)
	}
	for _, c := range p.Columns {
		if !slices.Contains(keys, c) {
			return fmt.Errorf("its input is spread by column %s, which is no key", in[c].Name)
		}
	}
	return nil
}

func checkSorted(in Node) error {
	if p := in.Props(); p.Changelog != Append || !p.Bounded || p.Partitioning.Count != 1 {
		return fmt.Errorf("sorts input that is %s, bounded %t, in %d copies", p.Changelog, p.Bounded, p.Partitioning.Count)
	}
	return nil
}

func checkTimeColumn(w Window, in types.Schema) error {
	want := types.Rowtime
	if w.Proctime {
		want = types.Proctime
	}
	if w.TimeColumn < 0 || w.TimeColumn >= len(in) || in[w.TimeColumn].Type.Attr != want {
		return fmt.Errorf("time column %d is no time attribute", w.TimeColumn)
	}
	if (in[w.TimeColumn].Type.Kind == types.TimestampLTZ) != w.LTZ {
		return fmt.Errorf("time column %s, LTZ %t", in[w.TimeColumn].Type, w.LTZ)
	}
	return nil
}

func checkGrouping(g *WindowGrouping, in Node) error {
	s := in.Schema()
	if g.Window.Attached {
		for _, c := range []int{g.Window.StartColumn, g.Window.EndColumn} {
			if c < 0 || c >= len(s) || s[c].Type.Kind != types.Timestamp {
				return fmt.Errorf("window column %d is no timestamp", c)
			}
		}
	} else if err := checkTimeColumn(g.Window, s); err != nil {
		return err
	}
	return checkAggregates(g.GroupBy, g.Aggregates, s)
}

func checkAggregates(keys []int, as []Aggregate, in types.Schema) error {
	for _, k := range keys {
		if k < 0 || k >= len(in) {
			return fmt.Errorf("key %d of %d columns", k, len(in))
		}
	}
	for _, a := range as {
		if len(a.Args) != len(a.Literals) {
			return fmt.Errorf("%s: %d literals for %d arguments", a.Func, len(a.Literals), len(a.Args))
		}
		for _, c := range a.Args {
			if c < 0 || c >= len(in) {
				return fmt.Errorf("%s: argument %d of %d columns", a.Func, c, len(in))
			}
		}
		if a.Filter >= len(in) || a.Filter >= 0 && in[a.Filter].Type.Kind != types.Boolean {
			return fmt.Errorf("%s: filter %d", a.Func, a.Filter)
		}
	}
	return nil
}

// checkExprs checks that columns exist, with the type that the expression takes them for.
func checkExprs(es []logical.Expr, in types.Schema) error {
	var err error
	for _, e := range es {
		logical.Walk(e, func(x logical.Expr) bool {
			c, ok := x.(*logical.Column)
			if !ok || err != nil {
				return err == nil
			}
			if c.Index < 0 || c.Index >= len(in) {
				err = fmt.Errorf("column %d (%s) of %d columns in %s", c.Index, c.Name, len(in), e)
				return false
			}
			if t := in[c.Index].Type; !t.SameKind(c.Type) || t.Nullable && !c.Type.Nullable {
				err = fmt.Errorf("column %s is %s and taken for %s in %s", c.Name, t, c.Type, e)
			}
			return true
		})
	}
	return err
}
