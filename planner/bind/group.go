package bind

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// maxGroupingSets bounds what CUBE and ROLLUP multiply to.
const maxGroupingSets = 1024

// groupBy makes an aggregate of n over key columns: a window aggregate when the bounds of one window, both of them, are among the keys. keyOut tells where
// each key is in the output, aggOut where the aggregates begin.
func groupBy(n logical.Node, keys []int, calls []logical.AggregateCall) (a *logical.Aggregate, keyOut []int, aggOut int) {
	a = &logical.Aggregate{In: n, Aggregates: calls}
	start, end := -1, -1
	origin := logical.OriginOf(n)
	if origin != nil {
		for _, k := range keys {
			if origin.Start[k] && start < 0 {
				start = k
			}
			if origin.End[k] && end < 0 {
				end = k
			}
		}
	}
	keyOut = make([]int, len(keys))
	if start < 0 || end < 0 {
		for i := range keys {
			keyOut[i] = i
		}
		a.GroupBy = keys
		return a, keyOut, len(keys)
	}
	w := origin.Window
	w.Attached, w.StartColumn, w.EndColumn, w.TimeColumn = true, start, end, -1
	a.Window = &w
	which := make([]int, len(keys)) // the window column that a key is, -1 for others
	for i, k := range keys {
		which[i] = -1
		switch {
		case origin.Start[k]:
			which[i] = int(logical.WindowStart)
		case origin.End[k]:
			which[i] = int(logical.WindowEnd)
		case origin.Time[k]:
			which[i] = int(logical.WindowTime)
		default:
			keyOut[i] = len(a.GroupBy)
			a.GroupBy = append(a.GroupBy, k)
		}
	}
	at := map[int]int{}
	for _, c := range []logical.WindowColumn{logical.WindowStart, logical.WindowEnd, logical.WindowTime} {
		if index := indexOf(which, int(c)); index >= 0 {
			at[int(c)] = len(a.GroupBy) + len(calls) + len(a.WindowColumns)
			a.WindowColumns = append(a.WindowColumns, c)
		}
	}
	for i, c := range which {
		if c >= 0 {
			keyOut[i] = at[c]
		}
	}
	return a, keyOut, len(a.GroupBy)
}

func indexOf(list []int, x int) int {
	for i, v := range list {
		if v == x {
			return i
		}
	}
	return -1
}

// groupBinder binds GROUP BY and what stands over it.
type groupBinder struct {
	sb    *selectBinder
	exprs []logical.Expr // the distinct keys, over the input
	nodes []ast.Node
	sets  [][]int // each a list of keys; one for a plain GROUP BY
}

// keys binds GROUP BY: the grouping sets of its elements are multiplied.
func (g *groupBinder) keys() error {
	sel := g.sb.sel
	if sel.GroupByDistinct {
		return unsupported(sel.GroupBy[0], featGroupByDistinct)
	}
	g.sets = [][]int{{}}
	for _, e := range sel.GroupBy {
		sets, err := g.element(e)
		if err != nil {
			return err
		}
		if len(g.sets)*len(sets) > maxGroupingSets {
			return logical.Errorf(e, logical.CodeStatement, "", "GROUP BY has more than %d grouping sets", maxGroupingSets)
		}
		var product [][]int
		for _, a := range g.sets {
			for _, b := range sets {
				set := append([]int(nil), a...)
				for _, k := range b {
					if indexOf(set, k) < 0 {
						set = append(set, k)
					}
				}
				product = append(product, set)
			}
		}
		g.sets = product
	}
	g.sortSets()
	return nil
}

// sortSets brings the sets into the order in which a row is copied for them: that of GROUPING_ID over all keys, as in Flink. Changes come out in this order.
func (g *groupBinder) sortSets() {
	n := 0
	for _, set := range g.sets {
		for _, k := range set {
			n = max(n, k+1)
		}
	}
	slices.SortStableFunc(g.sets, func(a, b []int) int {
		for k := range n {
			inA, inB := slices.Contains(a, k), slices.Contains(b, k)
			if inA != inB {
				if inA {
					return -1
				}
				return 1
			}
		}
		return 0
	})
}

// element gives the grouping sets of one element of GROUP BY.
func (g *groupBinder) element(e ast.Expr) ([][]int, error) {
	gr, ok := e.(*ast.Grouping)
	if !ok {
		if r, isRow := e.(*ast.RowCons); isRow {
			set, err := g.set(r.Elems)
			return [][]int{set}, err
		}
		k, err := g.key(e)
		return [][]int{{k}}, err
	}
	switch gr.Kind {
	case ast.GroupingSet:
		set, err := g.set(gr.Items)
		return [][]int{set}, err
	case ast.GroupingSets:
		var out [][]int
		for _, it := range gr.Items {
			sets, err := g.element(it)
			if err != nil {
				return nil, err
			}
			out = append(out, sets...)
		}
		return out, nil
	}
	// ROLLUP and CUBE: each item is a key or a set of keys that go together.
	var items [][]int
	for _, it := range gr.Items {
		sets, err := g.element(it)
		if err != nil {
			return nil, err
		}
		if len(sets) != 1 {
			return nil, logical.Errorf(it, logical.CodeStatement, "", "%s takes columns and lists of columns only", gr.Kind)
		}
		items = append(items, sets[0])
	}
	join := func(parts [][]int) []int {
		var out []int
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	var out [][]int
	if gr.Kind == ast.Rollup {
		for n := len(items); n >= 0; n-- {
			out = append(out, join(items[:n]))
		}
		return out, nil
	}
	if len(items) > 10 {
		return nil, logical.Errorf(gr, logical.CodeStatement, "", "CUBE of %d columns has more than %d grouping sets", len(items), maxGroupingSets)
	}
	for bits := 1<<len(items) - 1; bits >= 0; bits-- {
		var parts [][]int
		for i, it := range items {
			if bits&(1<<(len(items)-1-i)) != 0 {
				parts = append(parts, it)
			}
		}
		out = append(out, join(parts))
	}
	return out, nil
}

func (g *groupBinder) set(items []ast.Expr) ([]int, error) {
	set := []int{}
	for _, it := range items {
		k, err := g.key(it)
		if err != nil {
			return nil, err
		}
		set = append(set, k)
	}
	return set, nil
}

// key binds one expression of GROUP BY and gives its number. A position or a name of the select list is accepted, which Flink does not.
func (g *groupBinder) key(e ast.Expr) (int, error) {
	sb := g.sb
	s := &scope{rel: sb.rel, clause: "GROUP BY"}
	var x logical.Expr
	var err error
	if k, oerr := ordinal(e, len(sb.sel.Items), "GROUP BY"); oerr != nil {
		return 0, oerr
	} else if k >= 0 {
		it := &sb.sel.Items[k]
		if _, ok := it.X.(*ast.Star); ok {
			return 0, logical.Errorf(e, logical.CodeOrdinal, "name the column", "GROUP BY %d: that is *", k+1)
		}
		sb.b.extend(e, ast.ExtGroupBy, sb.b.text(it.X))
		x, err = sb.b.expr(it.X, s)
	} else {
		x, err = g.named(e, s)
	}
	if err != nil {
		return 0, err
	}
	if err := groupable(e, "GROUP BY", x.ResultType()); err != nil {
		return 0, err
	}
	if x.ResultType().Kind == types.Null {
		x = sb.b.coerce(e, x, types.StringType)
	}
	for i, o := range g.exprs {
		if logical.Equal(o, x) && logical.Volatile(x) == nil {
			return i, nil
		}
	}
	g.exprs, g.nodes = append(g.exprs, x), append(g.nodes, e)
	return len(g.exprs) - 1, nil
}

// named binds a key that is no position: a column of the input wins over a name of the select list.
func (g *groupBinder) named(e ast.Expr, s *scope) (logical.Expr, error) {
	sb := g.sb
	x, err := sb.b.expr(e, s)
	n, ok := e.(*ast.Name)
	if err == nil || !ok || len(n.Parts) != 1 {
		return x, err
	}
	for _, it := range sb.sel.Items {
		if it.Alias != nil && it.Alias.Name == n.Parts[0].Name {
			y, aerr := sb.b.expr(it.X, s)
			if aerr != nil {
				return nil, aerr
			}
			sb.b.extend(e, ast.ExtGroupBy, sb.b.text(it.X))
			return y, nil
		}
	}
	return nil, err
}

// build makes the aggregate and moves the select list, HAVING and ORDER BY above it.
func (g *groupBinder) build() error {
	sb, calls := g.sb, g.sb.scope.aggs.calls
	// Below: the keys, then the arguments and filters.
	exprs := append([]logical.Expr(nil), g.exprs...)
	names := make([]string, 0, len(exprs))
	for i, x := range g.exprs {
		name := "$k" + strconv.Itoa(i)
		switch x := x.(type) {
		case *logical.Column:
			name = x.Name
		case *logical.FieldAccess:
			name = x.Name
		}
		names = append(names, name)
	}
	column := func(x logical.Expr) int {
		// Keys may be set to NULL by grouping sets: an argument has a column of its own then.
		from := 0
		if len(g.sets) > 1 {
			from = len(g.exprs)
		}
		if k := find(exprs[from:], x); k >= 0 {
			return from + k
		}
		name := "$a" + strconv.Itoa(len(exprs)-len(g.exprs))
		if c, ok := x.(*logical.Column); ok {
			name = c.Name
		}
		exprs, names = append(exprs, x), append(names, name)
		return len(exprs) - 1
	}
	aggs := make([]logical.AggregateCall, len(calls))
	for i, c := range calls {
		aggs[i] = c.call
		aggs[i].Name = "EXPR$" + strconv.Itoa(i)
		aggs[i].Filter = -1
		for _, x := range c.args {
			aggs[i].Args = append(aggs[i].Args, column(x))
		}
		if c.filter != nil {
			aggs[i].Filter = column(c.filter)
		}
	}
	late, err := g.lateColumns(column)
	if err != nil {
		return err
	}
	g.nameAggregates(aggs)
	var n logical.Node = &logical.Project{In: sb.rel.node, Exprs: exprs, Names: uniqueNames(names)}
	keys := make([]int, len(g.exprs))
	for i := range keys {
		keys[i] = i
	}
	grouping := make([]int, len(sb.scope.grouping.calls)) // the column that answers each GROUPING()
	if len(g.sets) > 1 || len(g.sets[0]) < len(g.exprs) {
		n, keys, grouping = g.expand(n, keys)
	}
	a, keyOut, aggOut := groupBy(n, keys, aggs)
	a.Name, a.Clause = sb.name, "GROUP BY"
	if len(sb.sel.GroupBy) > 0 {
		a.Pos = sb.b.pos(sb.sel.GroupBy[0])
	} else if len(calls) > 0 {
		a.Pos = calls[0].call.Pos
		if sb.b.viewAt != nil {
			a.Pos = sb.b.viewAt.Pos()
		}
	} else {
		a.Pos = sb.b.pos(sb.sel)
	}
	if len(sb.sel.GroupBy) == 0 {
		a.Clause = "an aggregate without GROUP BY"
	}
	if err := sb.setEmit(a); err != nil {
		return err
	}
	if late != nil {
		if a.Late, err = g.lateRows(a, late); err != nil {
			return err
		}
	}
	up := &lifter{g: g, out: a.Schema(), keyOut: keyOut, aggOut: aggOut}
	for _, c := range grouping {
		up.grouping = append(up.grouping, keyOut[indexOf(keys, c)])
	}
	if len(g.sets) == 1 {
		up.grouping = nil
	}
	for i, x := range sb.exprs {
		y, err := up.lift(x, sb.nodes[i])
		if err != nil {
			return err
		}
		sb.exprs[i] = y
	}
	for i, x := range sb.hidden {
		y, err := up.lift(x, &sb.q.OrderBy[0])
		if err != nil {
			return err
		}
		sb.hidden[i] = y
	}
	var out logical.Node = a
	if sb.having != nil {
		cond, err := up.lift(sb.having, sb.sel.Having)
		if err != nil {
			return err
		}
		out = &logical.Filter{In: a, Cond: cond}
	}
	sb.rel = &relation{node: out}
	return nil
}

// nameAggregates gives the output columns of the aggregate the names of the select list, where it has them.
func (g *groupBinder) nameAggregates(aggs []logical.AggregateCall) {
	for i, x := range g.sb.exprs {
		if c, ok := x.(*logical.Column); ok && c.Index >= aggregateBase && c.Index < groupingBase && strings.HasPrefix(aggs[c.Index-aggregateBase].Name, "EXPR$") {
			aggs[c.Index-aggregateBase].Name = g.sb.names[i]
		}
	}
}

// expand makes one row per grouping set: keys that are not in the set are NULL. Behind them come $e, the number of the set, and the answers of GROUPING().
func (g *groupBinder) expand(n logical.Node, keys []int) (logical.Node, []int, []int) {
	in := n.Schema()
	e := &logical.Expand{In: n, Columns: append(types.Schema(nil), in...)}
	for _, k := range keys {
		inAll := true
		for _, set := range g.sets {
			inAll = inAll && indexOf(set, k) >= 0
		}
		if !inAll {
			e.Columns[k].Type = e.Columns[k].Type.WithNull(true).WithAttr(types.NoTimeAttr)
		}
	}
	for i, set := range g.sets {
		row := identity(in)
		for _, k := range keys {
			if indexOf(set, k) < 0 {
				row[k] = &logical.Literal{Type: e.Columns[k].Type}
			}
		}
		row = append(row, &logical.Literal{Value: int64(i), Type: types.BigIntType.NotNull()})
		for _, args := range g.sb.scope.grouping.calls {
			var bits int64
			if args == nil { // GROUP_ID
				for _, other := range g.sets[:i] {
					if sameSet(set, other) {
						bits++
					}
				}
			}
			for _, k := range args {
				bits <<= 1
				if indexOf(set, k) < 0 {
					bits |= 1
				}
			}
			row = append(row, &logical.Literal{Value: bits, Type: types.BigIntType.NotNull()})
		}
		e.Projects = append(e.Projects, row)
	}
	e.Columns = append(e.Columns, types.Column{Name: "$e", Type: types.BigIntType.NotNull()})
	keys = append(append([]int(nil), keys...), len(in))
	var grouping []int
	for i := range g.sb.scope.grouping.calls {
		e.Columns = append(e.Columns, types.Column{Name: "$g" + strconv.Itoa(i), Type: types.BigIntType.NotNull()})
		grouping = append(grouping, len(in)+1+i)
		keys = append(keys, len(in)+1+i)
	}
	return e, keys, grouping
}

func sameSet(a, b []int) bool {
	for _, k := range a {
		if indexOf(b, k) < 0 {
			return false
		}
	}
	return len(a) == len(b)
}

// lifter turns expressions over the aggregation's input into expressions over its output.
type lifter struct {
	g        *groupBinder
	out      types.Schema
	keyOut   []int
	aggOut   int
	grouping []int // nil: a plain GROUP BY, where GROUPING() is 0
}

func (l *lifter) lift(x logical.Expr, n ast.Node) (logical.Expr, error) {
	at := func(i int, pos ast.Pos) logical.Expr {
		c := logical.NewColumn(l.out, i)
		c.Pos = pos
		return c
	}
	if c, ok := x.(*logical.Column); ok {
		switch {
		case c.Index >= groupingBase:
			if l.grouping == nil {
				return &logical.Literal{Value: int64(0), Type: types.BigIntType.NotNull(), Pos: c.Pos}, nil
			}
			return at(l.grouping[c.Index-groupingBase], c.Pos), nil
		case c.Index >= aggregateBase:
			return at(l.aggOut+c.Index-aggregateBase, c.Pos), nil
		}
	}
	for i, k := range l.g.exprs {
		if logical.Equal(k, x) {
			return at(l.keyOut[i], logical.PosOf(x)), nil
		}
	}
	if c, ok := x.(*logical.Column); ok {
		return nil, l.notGrouped(c, n)
	}
	widened := false
	y, err := logical.MapChildren(x, func(k logical.Expr) (logical.Expr, error) {
		m, err := l.lift(k, n)
		if err == nil && m.ResultType().Nullable && !k.ResultType().Nullable {
			widened = true
		}
		return m, err
	})
	if err != nil {
		return nil, err
	}
	if t := y.ResultType(); widened && !t.Nullable {
		if c, ok := y.(*logical.Call); !ok || !strings.HasPrefix(c.Name, "IS ") {
			y = logical.WithType(y, t.WithNull(true)) // a key that grouping sets may make NULL
		}
	}
	return y, nil
}

func (l *lifter) notGrouped(c *logical.Column, n ast.Node) error {
	pos := c.Pos
	if !pos.IsValid() {
		pos = n.Pos()
	}
	hint := "add it to GROUP BY, or aggregate it: MAX(" + c.String() + ")"
	if len(l.g.exprs) == 0 {
		return logical.ErrorAt(pos, logical.CodeNotGrouped, "add GROUP BY, or aggregate it: MAX("+c.String()+")",
			"column '%s' stands beside an aggregate, and there is no GROUP BY", c.Name)
	}
	return logical.ErrorAt(pos, logical.CodeNotGrouped, hint, "column '%s' is neither in GROUP BY nor in an aggregate", c.Name)
}

// groupable refuses to group values with MAPs in them: equal ones can have their entries in another order.
func groupable(n ast.Node, what string, t types.Type) error {
	if hasMap(t) {
		return logical.Errorf(n, logical.CodeArguments, "", "%s cannot compare values of type %s", what, t.WithNull(true))
	}
	return nil
}

func hasMap(t types.Type) bool {
	switch t.Kind {
	case types.Map, types.Multiset:
		return true
	case types.Array:
		return hasMap(*t.Elem)
	case types.Row:
		return slices.ContainsFunc(t.Fields, func(f types.Field) bool { return hasMap(f.Type) })
	}
	return false
}
