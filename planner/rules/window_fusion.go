package rules

import (
	"slices"

	"github.com/weir-sql/weir/planner/logical"
)

// FuseWindows puts a window function into the aggregate over its windows, so that a row is folded into its slice once, instead of being copied into
// every window that it belongs to.
//
//	before: SELECT window_start, window_end, k, COUNT(*) FROM HOP(TABLE t, ...) WHERE v > 0 GROUP BY window_start, window_end, k
//	        WindowAggregate(ATTACHED HOP) over WindowTableFunction(HOP) over Scan
//	after:  WindowAggregate(HOP) over Filter over Scan
//
// It is part of the meaning: a row is late for a fused aggregate when its last window has fired.
//
// Wrong for: ... WHERE window_start > '2024-05-01', or MAX(window_start), or a window that comes from another aggregate: what uses the bounds as values
// needs the rows of every window. Such an aggregate stays attached to the columns that have the bounds.
func FuseWindows(n logical.Node) (logical.Node, error) {
	return logical.Rewrite(n, func(n logical.Node) (logical.Node, error) {
		a, ok := n.(*logical.Aggregate)
		if !ok || a.Window == nil || !a.Window.Attached {
			return n, nil
		}
		s := strip(a.In)
		if s == nil {
			return n, nil
		}
		c := *a
		c.In = s.node
		w := s.window
		w.TimeColumn = s.time
		c.Window = &w
		if c.GroupBy = s.move(a.GroupBy); c.GroupBy == nil && len(a.GroupBy) > 0 {
			return n, nil
		}
		if a.Late != nil {
			late := *a.Late
			if late.Columns = s.move(late.Columns); len(late.Columns) < len(a.Late.Columns) {
				return n, nil
			}
			c.Late = &late
		}
		c.Aggregates = slices.Clone(a.Aggregates)
		for i := range c.Aggregates {
			g := &c.Aggregates[i]
			args := s.move(g.Args)
			if args == nil && len(g.Args) > 0 {
				return n, nil
			}
			g.Args = args
			if g.Filter >= 0 {
				if g.Filter = s.to[g.Filter]; g.Filter < 0 {
					return n, nil
				}
			}
		}
		return &c, nil
	})
}

// stripped is a plan without its window function.
type stripped struct {
	node   logical.Node
	window logical.Window
	to     []int // where the columns of the original are now, -1 for the window's
	time   int   // the time column
}

func (s *stripped) move(cols []int) []int {
	var out []int
	for _, c := range cols {
		if s.to[c] < 0 {
			return nil
		}
		out = append(out, s.to[c])
	}
	return out
}

func (s *stripped) expr(e logical.Expr) logical.Expr {
	for c := range logical.Columns(e) {
		if s.to[c] < 0 {
			return nil
		}
	}
	return logical.Remap(e, s.to)
}

// strip takes the window function out from under projections, filters and grouping sets that do not compute with its columns; nil when they do.
func strip(n logical.Node) *stripped {
	switch n := n.(type) {
	case *logical.WindowTableFunction:
		k := len(n.In.Schema())
		s := &stripped{node: n.In, window: n.Window, time: n.Window.TimeColumn}
		for i := range k + 3 {
			if i >= k {
				i = -1
			}
			s.to = append(s.to, i)
		}
		return s
	case *logical.Filter:
		s := strip(n.In)
		if s == nil {
			return nil
		}
		cond := s.expr(n.Cond)
		if cond == nil {
			return nil
		}
		return &stripped{node: &logical.Filter{In: s.node, Cond: cond}, window: s.window, to: s.to, time: s.time}
	case *logical.Project:
		s := strip(n.In)
		if s == nil {
			return nil
		}
		p := &logical.Project{In: s.node}
		out := &stripped{node: p, window: s.window}
		for i, e := range n.Exprs {
			if c, ok := e.(*logical.Column); ok && s.to[c.Index] < 0 {
				out.to = append(out.to, -1)
				continue
			}
			x := s.expr(e)
			if x == nil {
				return nil
			}
			out.to = append(out.to, len(p.Exprs))
			p.Exprs, p.Names = append(p.Exprs, x), append(p.Names, n.Names[i])
		}
		out.time = len(p.Exprs)
		in := s.node.Schema()
		for i, e := range p.Exprs { // the time column may be there already
			if c, ok := e.(*logical.Column); ok && c.Index == s.time && c.Type.Attr == in[s.time].Type.Attr {
				out.time = i
			}
		}
		if out.time == len(p.Exprs) {
			name := in[s.time].Name
			if slices.Contains(p.Names, name) {
				name = "$rowtime"
			}
			p.Exprs, p.Names = append(p.Exprs, logical.NewColumn(in, s.time)), append(p.Names, name)
		}
		return out
	case *logical.Expand:
		s := strip(n.In)
		if s == nil {
			return nil
		}
		x := &logical.Expand{In: s.node, Projects: make([][]logical.Expr, len(n.Projects))}
		out := &stripped{node: x, window: s.window}
		for i, col := range n.Columns {
			window := 0
			for k, set := range n.Projects {
				if c, ok := set[i].(*logical.Column); ok && s.to[c.Index] < 0 {
					window++
					continue
				}
				e := s.expr(set[i])
				if e == nil {
					return nil
				}
				x.Projects[k] = append(x.Projects[k], e)
			}
			switch window {
			case len(n.Projects):
				out.to = append(out.to, -1)
			case 0:
				out.to = append(out.to, len(x.Columns))
				x.Columns = append(x.Columns, col)
			default:
				return nil
			}
		}
		in := s.node.Schema()
		out.time = len(x.Columns)
		x.Columns = append(x.Columns, in[s.time])
		x.Columns[out.time].Name = "$rowtime"
		for k := range x.Projects {
			x.Projects[k] = append(x.Projects[k], logical.NewColumn(in, s.time))
		}
		return out
	}
	return nil
}
