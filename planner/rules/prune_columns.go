package rules

import (
	"slices"

	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// PruneColumns reads and computes only the columns that somebody uses.
//
//	before: SELECT a FROM (SELECT a, b, UPPER(c) AS d FROM t)   Scan(a, b, c)
//	after:  SELECT a FROM (SELECT a FROM t)                     Scan(a)
//
// Wrong for: SELECT DISTINCT a, b, where a column that is not used above still tells rows apart, and for the columns of a table's watermark, which no query
// need name. The aggregates of an updating GROUP BY stay too: a change of one of them is a change of the row.
func PruneColumns(n logical.Node) logical.Node {
	all := make([]bool, len(n.Schema()))
	for i := range all {
		all[i] = true
	}
	out, to := prune(n, all)
	return arrange(out, to, n.Schema())
}

// arrange brings the columns of a pruned plan into the order and number of want: column i is at to[i].
func arrange(n logical.Node, to []int, want types.Schema) logical.Node {
	s := n.Schema()
	same := len(s) == len(want)
	for i, k := range to {
		same = same && k == i
	}
	if same {
		return n
	}
	p := &logical.Project{In: n}
	for i, k := range to {
		p.Exprs, p.Names = append(p.Exprs, logical.NewColumn(s, k)), append(p.Names, want[i].Name)
	}
	return p
}

// prune drops columns of n that are not in need. to tells where a needed column is in the result (which may have others too); -1 for those dropped.
func prune(n logical.Node, need []bool) (out logical.Node, to []int) {
	switch n := n.(type) {
	case *logical.Scan:
		c := *n
		c.Wanted = nil
		keep := map[int]bool{}
		if w := n.Watermark; w != nil {
			keep[w.Column] = true
			for i := range logical.Columns(append([]logical.Expr{w.Expr}, w.Inputs...)...) {
				keep[i] = true
			}
		}
		if n.Handle.ChangelogKinds() == "I,UA,D" { // a change is of the row with its key
			for _, k := range n.Table.PrimaryKey {
				keep[n.Table.Index(k)] = true
			}
		}
		to = none(len(need))
		for i, w := range n.Wanted {
			if need[i] || keep[w] {
				to[i] = len(c.Wanted)
				c.Wanted = append(c.Wanted, w)
			}
		}
		return &c, to
	case *logical.Values:
		c := *n
		c.Columns, c.Rows = nil, make([][]logical.Expr, len(n.Rows))
		to = none(len(need))
		for i := range need {
			if !need[i] {
				continue
			}
			to[i] = len(c.Columns)
			c.Columns = append(c.Columns, n.Columns[i])
			for r := range n.Rows {
				c.Rows[r] = append(c.Rows[r], n.Rows[r][i])
			}
		}
		return &c, to
	case *logical.Project:
		below := make([]bool, len(n.In.Schema()))
		for i, e := range n.Exprs {
			if need[i] {
				mark(below, e)
			}
		}
		in, move := prune(n.In, below)
		p := &logical.Project{In: in}
		to = none(len(need))
		for i, e := range n.Exprs {
			if need[i] {
				to[i] = len(p.Exprs)
				p.Exprs, p.Names = append(p.Exprs, logical.Remap(e, move)), append(p.Names, n.Names[i])
			}
		}
		return p, to
	case *logical.Filter:
		below := slices.Clone(need)
		mark(below, n.Cond)
		in, move := prune(n.In, below)
		return narrow(&logical.Filter{In: in, Cond: logical.Remap(n.Cond, move)}, move, need)
	case *logical.WindowTableFunction:
		k := len(n.In.Schema())
		below := slices.Clone(need[:k])
		below[n.Window.TimeColumn] = true
		in, move := prune(n.In, below)
		c := *n
		c.In = in
		c.Window.TimeColumn = move[n.Window.TimeColumn]
		to = move
		for i := range 3 {
			to = append(to, len(in.Schema())+i)
		}
		return &c, to
	case *logical.Aggregate:
		return pruneAggregate(n, need)
	case *logical.Expand:
		below := make([]bool, len(n.In.Schema()))
		for _, set := range n.Projects {
			for i, e := range set {
				if need[i] {
					mark(below, e)
				}
			}
		}
		in, move := prune(n.In, below)
		c := &logical.Expand{In: in, Projects: make([][]logical.Expr, len(n.Projects))}
		to = none(len(need))
		for i := range need {
			if !need[i] {
				continue
			}
			to[i] = len(c.Columns)
			c.Columns = append(c.Columns, n.Columns[i])
			for k, set := range n.Projects {
				c.Projects[k] = append(c.Projects[k], logical.Remap(set[i], move))
			}
		}
		return c, to
	case *logical.Union:
		c := &logical.Union{}
		to = none(len(need))
		var want types.Schema
		for i := range need {
			if need[i] {
				to[i] = len(want)
				want = append(want, n.Columns[i])
			}
		}
		c.Columns = want
		for _, in := range n.Ins {
			p, move := prune(in, need)
			var order []int
			for i := range need {
				if need[i] {
					order = append(order, move[i])
				}
			}
			c.Ins = append(c.Ins, arrange(p, order, want))
		}
		return c, to
	case *logical.Sort:
		below := slices.Clone(need)
		for _, k := range n.Keys {
			below[k.Column] = true
		}
		in, move := prune(n.In, below)
		c := &logical.Sort{In: in, Pos: n.Pos}
		for _, k := range n.Keys {
			k.Column = move[k.Column]
			c.Keys = append(c.Keys, k)
		}
		return c, move
	case *logical.Limit:
		in, move := prune(n.In, need)
		return n.WithInputs(in), move
	}
	// A sink: all of its input.
	ins := make([]logical.Node, len(n.Inputs()))
	for i, in := range n.Inputs() {
		ins[i] = PruneColumns(in)
	}
	to = make([]int, len(need))
	for i := range to {
		to[i] = i
	}
	return n.WithInputs(ins...), to
}

// narrow drops what only the filter itself needed.
func narrow(f *logical.Filter, move []int, need []bool) (logical.Node, []int) {
	s := f.Schema()
	used := make([]bool, len(s))
	for i, k := range move {
		if need[i] && k >= 0 {
			used[k] = true
		}
	}
	if !slices.Contains(used, false) {
		return f, move
	}
	p := &logical.Project{In: f}
	to := make([]int, len(s))
	for k := range s {
		to[k] = -1
		if used[k] {
			to[k] = len(p.Exprs)
			p.Exprs, p.Names = append(p.Exprs, logical.NewColumn(s, k)), append(p.Names, s[k].Name)
		}
	}
	out := make([]int, len(move))
	for i, k := range move {
		out[i] = -1
		if k >= 0 {
			out[i] = to[k]
		}
	}
	return p, out
}

func pruneAggregate(n *logical.Aggregate, need []bool) (logical.Node, []int) {
	below := make([]bool, len(n.In.Schema()))
	for _, k := range n.GroupBy {
		below[k] = true
	}
	c := *n
	c.Aggregates, c.WindowColumns = nil, nil
	to := none(len(need))
	for i := range n.GroupBy {
		to[i] = i
	}
	for i, g := range n.Aggregates {
		o := len(n.GroupBy) + i
		if n.Window != nil && !need[o] {
			continue
		}
		to[o] = len(n.GroupBy) + len(c.Aggregates)
		c.Aggregates = append(c.Aggregates, g)
		for _, a := range g.Args {
			below[a] = true
		}
		if g.Filter >= 0 {
			below[g.Filter] = true
		}
	}
	for i, w := range n.WindowColumns {
		if o := len(n.GroupBy) + len(n.Aggregates) + i; need[o] {
			to[o] = len(n.GroupBy) + len(c.Aggregates) + len(c.WindowColumns)
			c.WindowColumns = append(c.WindowColumns, w)
		}
	}
	if n.Window != nil {
		if n.Window.Attached {
			below[n.Window.StartColumn], below[n.Window.EndColumn] = true, true
		} else {
			below[n.Window.TimeColumn] = true
		}
	}
	if n.Late != nil {
		for _, k := range n.Late.Columns {
			below[k] = true
		}
	}
	in, move := prune(n.In, below)
	c.In = in
	c.GroupBy = moveAll(n.GroupBy, move)
	if n.Late != nil {
		late := *n.Late
		late.Columns = moveAll(late.Columns, move)
		c.Late = &late
	}
	for i := range c.Aggregates {
		g := &c.Aggregates[i]
		g.Args = moveAll(g.Args, move)
		if g.Filter >= 0 {
			g.Filter = move[g.Filter]
		}
	}
	if n.Window != nil {
		w := *n.Window
		if w.Attached {
			w.StartColumn, w.EndColumn = move[w.StartColumn], move[w.EndColumn]
		} else {
			w.TimeColumn = move[w.TimeColumn]
		}
		c.Window = &w
	}
	return &c, to
}

func moveAll(cols, to []int) []int {
	var out []int
	for _, c := range cols {
		out = append(out, to[c])
	}
	return out
}

func none(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = -1
	}
	return out
}

func mark(need []bool, e logical.Expr) {
	for c := range logical.Columns(e) {
		need[c] = true
	}
}
