package rules

import (
	"slices"

	"github.com/weir-sql/weir/planner/logical"
)

// LowerAttached turns an aggregate over windows that its rows have as columns into one over a tumbling window of window_time.
//
//	before: SELECT window_start, window_end, COUNT(*) FROM (SELECT window_start, window_end, k, SUM(v) AS s FROM HOP(.., 2 s, 10 s) GROUP BY window_start,
//	        window_end, k) GROUP BY window_start, window_end                  WindowAggregate(ATTACHED HOP(slide 2 s, size 10 s))
//	after:  the same over TUMBLE(window_time, 2 s), with window_start as one more key
//
// A row that belongs to the window [s, e) has window_time = e - 1 ms, and every window of the kind ends on the grid of the slide: so the tumbling window
// that the row falls into ends at e as well, closes at the same watermark, and holds no row of another end. window_start follows from the end, so it tells
// no more groups apart.
//
// Wrong for windows of TIMESTAMP_LTZ in a zone that turns its clocks back: window_time is an instant, and going from it to the wall clock again would lose
// which of the two hours was meant; and for windows of processing time, where a row's window is when it comes. Such an aggregate stays attached, and is refused when the plan is made physical.
func LowerAttached(n logical.Node, utc bool) (logical.Node, error) {
	return logical.Rewrite(n, func(n logical.Node) (logical.Node, error) {
		a, ok := n.(*logical.Aggregate)
		if !ok || a.Window == nil || !a.Window.Attached || a.Window.Proctime || a.Window.LTZ && !utc {
			return n, nil
		}
		in, time := withWindowTime(a.In)
		if in == nil {
			return n, nil
		}
		w := *a.Window
		w.Attached, w.Kind, w.Size, w.TimeColumn = false, logical.Tumble, w.Slide, time
		w.StartColumn, w.EndColumn = 0, 0
		c := *a
		c.In, c.Window, c.WindowColumns = in, &w, nil
		c.GroupBy = append(slices.Clone(a.GroupBy), a.Window.StartColumn)
		for _, wc := range a.WindowColumns {
			if wc != logical.WindowStart {
				c.WindowColumns = append(c.WindowColumns, wc)
			}
		}
		// Back into the order of a's output.
		out, want := c.Schema(), a.Schema()
		p := &logical.Project{In: &c, Names: want.Names()}
		keys, aggs := len(a.GroupBy), len(a.Aggregates)
		for i := range keys {
			p.Exprs = append(p.Exprs, logical.NewColumn(out, i))
		}
		for i := range aggs {
			p.Exprs = append(p.Exprs, logical.NewColumn(out, keys+1+i))
		}
		at := keys + 1 + aggs
		for _, wc := range a.WindowColumns {
			if wc == logical.WindowStart {
				p.Exprs = append(p.Exprs, logical.NewColumn(out, keys))
				continue
			}
			p.Exprs = append(p.Exprs, logical.NewColumn(out, at))
			at++
		}
		return p, nil
	})
}

// withWindowTime makes a plan whose output has window_time behind all of its columns, or where it is already; nil when it cannot.
func withWindowTime(n logical.Node) (logical.Node, int) {
	if o := logical.OriginOf(n); o != nil {
		s := n.Schema()
		for i := range s {
			if o.Time[i] && s[i].Type.Attr == o.Window.TimeType().Attr {
				return n, i
			}
		}
	}
	switch n := n.(type) {
	case *logical.Filter:
		in, t := withWindowTime(n.In)
		if in == nil {
			return nil, 0
		}
		return n.WithInputs(in), t
	case *logical.Project:
		in, t := withWindowTime(n.In)
		if in == nil {
			return nil, 0
		}
		p := &logical.Project{In: in, Exprs: slices.Clone(n.Exprs), Names: slices.Clone(n.Names)}
		p.Exprs, p.Names = append(p.Exprs, logical.NewColumn(in.Schema(), t)), append(p.Names, "$window_time")
		return p, len(p.Exprs) - 1
	case *logical.Expand:
		in, t := withWindowTime(n.In)
		if in == nil {
			return nil, 0
		}
		x := &logical.Expand{In: in, Columns: append(slices.Clone(n.Columns), in.Schema()[t])}
		for _, set := range n.Projects {
			x.Projects = append(x.Projects, append(slices.Clone(set), logical.NewColumn(in.Schema(), t)))
		}
		return x, len(n.Columns)
	case *logical.Union:
		u := &logical.Union{Columns: n.Columns}
		for i, in := range n.Ins {
			x, t := withWindowTime(in)
			if x == nil {
				return nil, 0
			}
			s := x.Schema()
			p := &logical.Project{In: x, Names: append(n.Columns.Names(), "$window_time")}
			for k := range n.Columns {
				p.Exprs = append(p.Exprs, logical.NewColumn(s, k))
			}
			p.Exprs = append(p.Exprs, logical.NewColumn(s, t))
			if i == 0 {
				u.Columns = append(slices.Clone(n.Columns), s[t])
			}
			u.Ins = append(u.Ins, p)
		}
		return u, len(n.Columns)
	case *logical.Aggregate:
		if n.Window == nil {
			return nil, 0
		}
		c := *n
		c.WindowColumns = append(slices.Clone(n.WindowColumns), logical.WindowTime)
		return &c, len(c.Schema()) - 1
	}
	return nil, 0
}
