package explain

import (
	"fmt"
	"strings"

	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/planner/physical"
)

// Watermark tells, for each operator of a plan that has a say in it, where the watermark comes from, how far it may be trusted, what becomes of it, and what
// can hold it back: from the sinks at the top to the tables.
func Watermark(p *physical.Plan) string {
	var b strings.Builder
	seen := map[physical.Node]bool{}
	var tree func(n physical.Node, first, rest string)
	tree = func(n physical.Node, first, rest string) {
		lines := watermarkLines(n)
		if lines == nil && len(n.Inputs()) == 1 { // it hands the watermark on as it is
			tree(n.Inputs()[0], first, rest)
			return
		}
		if seen[n] {
			fmt.Fprintf(&b, "%s%s: as above\n", first, n.ID())
			return
		}
		seen[n] = true
		more := rest + "   "
		if len(n.Inputs()) > 0 {
			more = rest + ":  "
		}
		for i, l := range lines {
			if i == 0 {
				fmt.Fprintf(&b, "%s%s: %s\n", first, n.ID(), l)
			} else {
				fmt.Fprintf(&b, "%s%s\n", more, l)
			}
		}
		ins := n.Inputs()
		for i, in := range ins {
			f, r := branch(rest, i == len(ins)-1)
			tree(in, f, r)
		}
	}
	for _, r := range p.Roots {
		tree(r, "", "")
	}
	return b.String()
}

// watermarkLines describes a node's part; nil when it has none.
func watermarkLines(n physical.Node) []string {
	window := func(w physical.Window) []string {
		if w.Proctime {
			return []string{"windows of processing time: they close by the clock, and no row is late"}
		}
		return []string{"a window closes when the watermark reaches its end less " + logical.FormatDuration(w.Unit) + "; a row whose last window has closed is late and dropped",
			"results come before the watermark that released them goes on"}
	}
	switch n := n.(type) {
	case *physical.Scan:
		return scanLines(n)
	case *physical.Union:
		return []string{"the minimum of its inputs that are neither idle nor at their end: the slowest holds it back"}
	case *physical.Exchange:
		if n.From > 1 {
			return []string{fmt.Sprintf("the minimum of %d copies", n.From)}
		}
		return nil
	case *physical.WindowAggregate:
		if n.Emit != nil && !n.Window.Proctime {
			return emitLines(n)
		}
		return window(n.Window)
	case *physical.GlobalWindowAggregate:
		return window(n.Window)
	case *physical.GroupAggregate:
		return []string{"results have no event time: windows cannot follow"}
	case *physical.Sort, *physical.TopN:
		return []string{"results have no event time: windows cannot follow"}
	case *physical.Sink:
		if n.Aside {
			return []string{"rows beside the result, into " + logical.TableName(n.Table)}
		}
		return []string{"writes into " + logical.TableName(n.Table)}
	case *physical.Collect:
		return []string{"the result of the query"}
	case *physical.Values:
		return []string{"constants have no event time"}
	}
	if len(n.Inputs()) > 1 {
		return []string{"the minimum of its inputs that are neither idle nor at their end: the slowest holds it back"}
	}
	return nil
}

// emitLines describes windows with early or late firing.
func emitLines(n *physical.WindowAggregate) []string {
	unit := logical.FormatDuration(n.Window.Unit)
	late := n.Emit.Lateness
	if late == 0 {
		return []string{"a window closes when the watermark reaches its end less " + unit + ", and gives results before that by the clock; a row whose last window has " +
			"closed is late and dropped", "results come before the watermark that released them goes on"}
	}
	return []string{fmt.Sprintf("a window closes when the watermark reaches its end less %s, and takes late rows until the watermark is %s further; a row behind "+
		"that of its last window is late and dropped", unit, late),
		fmt.Sprintf("the watermark goes on less %s: a late result is not late behind", late)}
}

func scanLines(s *physical.Scan) []string {
	table := "table " + logical.TableName(s.Table)
	w := s.Watermark
	if w == nil {
		out := table + " declares no WATERMARK: it has none"
		if s.Props().Bounded {
			out += " until its end"
		}
		return []string{out}
	}
	ts := s.Schema()[w.Column].Name
	var out []string
	switch {
	case w.Source:
		out = append(out, fmt.Sprintf("%s: for %s by the connector (SOURCE_WATERMARK()): perfect if what the connector promises holds", table, ts))
	case w.Strategy:
		out = append(out, fmt.Sprintf("%s: for %s by the strategy that the source was registered with: heuristic, from the rows seen so far", table, ts))
	case w.Generator != "":
		out = append(out, fmt.Sprintf("%s: for %s by the generator %s: heuristic, from the rows seen so far", table, ts, w.Generator))
	default:
		delay, plain := logical.Delay(w.Expr, w.Column)
		switch {
		case plain && delay == 0:
			out = append(out, fmt.Sprintf("%s: for %s by %s, the highest value so far: perfect if times never step back in a split, else a row at or behind it is late", table, ts, w.Expr))
		case plain:
			out = append(out, fmt.Sprintf("%s: for %s by %s, the highest value so far: heuristic, a row further behind than it allows is late", table, ts, w.Expr))
		default:
			out = append(out, fmt.Sprintf("%s: for %s by %s, the highest value so far: heuristic, as good as what the expression knows: a row at or behind it is late", table, ts, w.Expr),
				"rows for which it is NULL do not move it: a split that has no other rows holds it back")
		}
	}
	out = append(out, "each split (partition, file) has its own; the table's is the minimum of those that are neither idle nor at their end")
	switch {
	case s.Props().Bounded:
		out = append(out, "nothing holds it back for ever: the table ends, and then every window closes")
	case w.IdleTimeout > 0:
		out = append(out, fmt.Sprintf("a split without rows for %s is passed over; when all are silent it stays where it is", w.IdleTimeout))
	default:
		out = append(out, "a split without rows holds it back for ever: 'scan.watermark.idle-timeout' = '30 s' lets it be passed over")
	}
	switch w.Nulls {
	case physical.KeepNullRows:
		out = append(out, "rows without event time do not move it; windows leave them out")
	case physical.DropNullRows:
		out = append(out, "rows without event time are dropped and do not move it")
	}
	if !w.Source {
		if w.MaxFuture > 0 {
			out = append(out, fmt.Sprintf("rows more than %s ahead of processing time do not move it (%s)", w.MaxFuture, w.Future))
		} else if !s.Props().Bounded {
			out = append(out, "one row stamped far ahead moves it there, and makes others late: 'scan.watermark.max-future' = '5 min' guards it")
		}
	}
	if a := w.Alignment; a.On() {
		out = append(out, fmt.Sprintf("aligned: a split more than %s ahead of the lowest of group '%s' is not read until the others have come closer (looked at every %s); a silent "+
			"split holds the others", a.MaxDrift, a.Group, a.UpdateInterval))
	}
	if w.Periodic > 0 {
		out = append(out, fmt.Sprintf("it goes on every %s (on-periodic), not behind every row", w.Periodic))
	}
	return out
}
