package planner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-sql/weir/planner/bind"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/planner/physical"
	"github.com/weir-sql/weir/types"
)

// converter turns logical plans into physical ones.
type converter struct {
	env      *Env
	parallel int
	twoPhase bool
	final    bool // updating operators over bounded input give their final rows once
	scans    map[string]*shared
	warnings []Warning
	// late is the node that a logical.LateRows stands for; lateRoots are the sinks of late rows.
	late      map[logical.Node]physical.Node // and a logical.BadRecords
	lateRoots []physical.Node
	ttl       time.Duration // table.exec.state.ttl
	shown     bool          // a CURRENT_WATERMARK reads the rows of what is being converted
}

// shared is a scan with several readers.
type shared struct {
	wanted []int // of all readers, ascending
	scan   physical.Node
}

// physicalPlan makes the physical plan of one or more logical ones.
func physicalPlan(env *Env, roots []logical.Node, query bool) (*physical.Plan, []Warning, error) {
	c := &converter{env: env, parallel: max(1, env.Int("parallelism.default", 1)), twoPhase: optimize(env), scans: map[string]*shared{},
		final: env.Batch() || query && env.TableResult()}
	if err := c.readTTL(); err != nil {
		return nil, nil, err
	}
	c.share(roots)
	var out []physical.Node
	for _, r := range roots {
		n, err := c.convert(r, c.final)
		if err != nil {
			return nil, nil, err
		}
		if query {
			n = physical.NewCollect(c.single(n))
		}
		out = append(out, n)
	}
	out = append(out, c.lateRoots...)
	if err := c.checkTTL(out); err != nil {
		return nil, nil, err
	}
	if err := keepsChanges(env, out); err != nil {
		return nil, nil, err
	}
	p := physical.NewPlan(out...)
	if err := p.Check(); err != nil {
		return nil, nil, &Error{Code: logical.CodeInternal, Msg: "internal error: " + err.Error()}
	}
	return p, c.warnings, nil
}

func optimize(env *Env) bool { return !strings.EqualFold(env.Config["weir.optimizer"], "off") }

// share finds scans of one table with several readers. Bounded ones are shared only where no task chooses between inputs (no union): a reader that waits
// for another input while it holds a shared scan back could wait for ever.
func (c *converter) share(roots []logical.Node) {
	count := map[string]int{}
	wanted := map[string]map[int]bool{}
	bounded := map[string]bool{}
	union := false
	var visit func(n logical.Node)
	visit = func(n logical.Node) {
		switch n := n.(type) {
		case *logical.Union:
			union = true
		case *logical.Scan:
			k := scanKey(n)
			count[k]++
			bounded[k] = n.Handle.Bounded()
			if wanted[k] == nil {
				wanted[k] = map[int]bool{}
			}
			for _, w := range n.Wanted {
				wanted[k][w] = true
			}
		}
		for _, in := range n.Inputs() {
			visit(in)
		}
	}
	for _, r := range roots {
		visit(r)
	}
	for k, n := range count {
		if n < 2 || bounded[k] && union {
			continue
		}
		s := &shared{}
		for w := range wanted[k] {
			s.wanted = append(s.wanted, w)
		}
		slices.Sort(s.wanted)
		c.scans[k] = s
	}
}

// scanKey is the same for scans that read the same: the handle stands for the table with its options.
func scanKey(s *logical.Scan) string {
	return fmt.Sprintf("%p %d %s", s.Handle, s.Table.ID, s.Table.Path)
}

// convert makes the physical node; final asks updating operators over bounded input for their last rows only.
func (c *converter) convert(n logical.Node, final bool) (physical.Node, error) {
	switch n := n.(type) {
	case *logical.Scan:
		return c.scan(n)
	case *logical.Values:
		return physical.NewValues(n.Columns, n.Rows), nil
	case *logical.Project:
		defer c.reading(n.Exprs...)()
		// A filter below becomes part of the same Calc.
		if f, ok := n.In.(*logical.Filter); ok {
			defer c.reading(f.Cond)()
			in, err := c.convert(f.In, final)
			if err != nil {
				return nil, err
			}
			return calc(in, f.Cond, n.Exprs, n.Names), nil
		}
		in, err := c.convert(n.In, final)
		if err != nil {
			return nil, err
		}
		return calc(in, nil, n.Exprs, n.Names), nil
	case *logical.Filter:
		defer c.reading(n.Cond)()
		in, err := c.convert(n.In, final)
		if err != nil {
			return nil, err
		}
		return physical.NewCalc(in, n.Cond, nil, nil), nil
	case *logical.WindowTableFunction:
		in, err := c.convert(n.In, final)
		if err != nil {
			return nil, err
		}
		return physical.NewWindowTableFunction(in, n.Window), nil
	case *logical.Aggregate:
		return c.aggregate(n, final)
	case *logical.LateRows, *logical.BadRecords:
		return c.late[n], nil
	case *logical.Expand:
		in, err := c.convert(n.In, final)
		if err != nil {
			return nil, err
		}
		return physical.NewExpand(in, n.Projects, n.Columns), nil
	case *logical.Union:
		var ins []physical.Node
		copies := 0
		for _, i := range n.Ins {
			in, err := c.convert(i, final)
			if err != nil {
				return nil, err
			}
			ins = append(ins, in)
			copies = max(copies, in.Props().Partitioning.Count)
		}
		if copies > 1 {
			for i := range ins {
				ins[i] = c.single(ins[i])
			}
		}
		return physical.NewUnion(ins...), nil
	case *logical.Sort:
		return c.sort(n, -1, 0)
	case *logical.Limit:
		return c.limit(n, final)
	case *logical.Sink:
		return c.sink(n, final)
	}
	return nil, &Error{Code: logical.CodeInternal, Msg: fmt.Sprintf("internal error: no physical node for %T", n)}
}

// calc makes a Calc, in one with a Calc below that only picks columns.
func calc(in physical.Node, cond logical.Expr, exprs []logical.Expr, names []string) physical.Node {
	if cond == nil && unchanged(in.Schema(), exprs, names) {
		return in
	}
	below, ok := in.(*physical.Calc)
	if !ok || below.Condition != nil {
		return physical.NewCalc(in, cond, exprs, names)
	}
	for _, e := range below.Projections {
		if _, ok := e.(*logical.Column); !ok {
			return physical.NewCalc(in, cond, exprs, names)
		}
	}
	merged := make([]logical.Expr, len(exprs))
	for i, e := range exprs {
		merged[i] = logical.Substitute(e, below.Projections)
	}
	if cond != nil {
		cond = logical.Substitute(cond, below.Projections)
	}
	return physical.NewCalc(below.Inputs()[0], cond, merged, names)
}

// unchanged reports a projection that gives the columns as they are.
func unchanged(s types.Schema, exprs []logical.Expr, names []string) bool {
	if len(s) != len(exprs) {
		return false
	}
	for i, e := range exprs {
		c, ok := e.(*logical.Column)
		if !ok || c.Index != i || s[i].Name != names[i] || s[i].Type.Attr != c.Type.Attr {
			return false
		}
	}
	return true
}

// single brings everything to one place.
func (c *converter) single(n physical.Node) physical.Node {
	if n.Props().Partitioning.Count == 1 {
		return n
	}
	return physical.NewExchange(n, physical.Gather, nil, 1)
}

// byKey brings rows with equal keys to one place.
func (c *converter) byKey(n physical.Node, keys []int) physical.Node {
	if len(keys) == 0 {
		return c.single(n)
	}
	if c.parallel == 1 && n.Props().Partitioning.Count == 1 {
		return n
	}
	return physical.NewExchange(n, physical.HashExchange, keys, c.parallel)
}

func (c *converter) aggregate(a *logical.Aggregate, final bool) (physical.Node, error) {
	shown := c.shown
	if a.Window == nil || a.Window.Proctime {
		c.shown = false
	}
	in, err := c.convert(a.In, final)
	c.shown = shown
	if err != nil {
		return nil, err
	}
	var out physical.Node
	if a.Window != nil {
		if a.Window.Attached {
			what := "an aggregate over windows of TIMESTAMP_LTZ that its rows have already, in a time zone other than UTC,"
			if a.Window.Proctime {
				what = "an aggregate over windows of processing time that its rows have already"
			}
			return nil, bind.Unsupported(a.Pos, what)
		}
		emit := a.Emit
		if emit == nil {
			if emit, err = bind.SessionEmit(c.env, a.Pos); err != nil {
				return nil, err
			}
			if emit != nil && a.Window.Proctime {
				emit.Late, emit.Lateness = -1, 0 // no row is late
			}
		}
		if emit.None() {
			emit = nil
		}
		if a.Late != nil {
			if in.Props().Changelog != physical.Append && !a.Late.Kind {
				return nil, logical.ErrorAt(a.Late.Pos, logical.CodeHint, "declare late_kind STRING, which gets +I, -U, +U or -D",
					"the rows of this input may be taken back (a changelog), and the table of late rows does not say which are: it has no column 'late_kind'")
			}
			in = c.single(in) // the late rows of one place have an order
		}
		out = c.windowAggregate(a, in, emit, final && in.Props().Bounded)
		if a.Late != nil {
			if err := c.lateRows(a, out); err != nil {
				return nil, err
			}
		}
	} else {
		bounded := in.Props().Bounded
		empty := false
		if v, ok := a.In.(*logical.Values); ok {
			empty = len(v.Rows) == 0
		}
		if v, ok := in.(*physical.Calc); ok && len(a.GroupBy) == 0 && !empty {
			empty = emptyInput(v)
		}
		final := final && bounded || empty
		x := c.byKey(in, a.GroupBy)
		g := physical.NewGroupAggregate(x, a.GroupBy, a.Aggregates, final, len(a.GroupBy) == 0 && (empty || c.env.Batch()), a.Pos)
		g.Expire(c.ttl)
		out = g
		if !bounded && len(a.GroupBy) > 0 && !final && c.ttl == 0 {
			c.warnings = append(c.warnings, Warning{Pos: a.Pos, Text: fmt.Sprintf("%s keeps state for each key for ever: the input is unbounded; "+
				"a window (TUMBLE, HOP, CUMULATE) with window_start and window_end in GROUP BY bounds it", a.Clause)})
		}
	}
	if a.Name != "" {
		physical.SetName(out, a.Name)
	}
	return out, nil
}

// emptyInput reports a Calc over a table that is known to have no rows.
func emptyInput(n physical.Node) bool {
	switch n := n.(type) {
	case *physical.Calc:
		return emptyInput(n.Inputs()[0])
	case *physical.Values:
		return len(n.Rows) == 0
	}
	return false
}

func (c *converter) windowAggregate(a *logical.Aggregate, in physical.Node, emit *logical.Emit, final bool) physical.Node {
	g := physical.WindowGrouping{Window: *a.Window, GroupBy: a.GroupBy, Aggregates: a.Aggregates, WindowColumns: a.WindowColumns}
	// Partial rows have neither an order nor the values of DISTINCT.
	onePhase := slices.ContainsFunc(a.Aggregates, func(x logical.AggregateCall) bool { return x.OrderDependent || x.Distinct })
	if c.shown && !a.Window.Proctime {
		in = c.single(in)
		w := physical.NewWindowAggregate(in, g)
		if emit != nil {
			w = physical.NewEmittingWindowAggregate(in, g, emit, final)
		}
		w.Shown = true
		return w
	}
	if emit == nil && c.twoPhase && !onePhase && !a.Window.Proctime && in.Props().Changelog == physical.Append {
		local := physical.NewLocalWindowAggregate(in, g)
		keys := make([]int, len(a.GroupBy))
		for i := range keys {
			keys[i] = i
		}
		return physical.NewGlobalWindowAggregate(c.byKey(local, keys), local)
	}
	if a.Late == nil {
		in = c.byKey(in, a.GroupBy)
	}
	if emit != nil {
		return physical.NewEmittingWindowAggregate(in, g, emit, final)
	}
	return physical.NewWindowAggregate(in, g)
}

// lateRows makes the sink of a LATE_ROWS hint over the operator that judges the rows.
func (c *converter) lateRows(a *logical.Aggregate, out physical.Node) error {
	if g, ok := out.(*physical.GlobalWindowAggregate); ok {
		out = g.Local()
	}
	return c.aside(a.Late.Rows, physical.NewLateRows(out, *a.Window, a.Late.Columns, a.Late.Rows.Columns, a.Name), a.Late.Sink)
}

// aside makes a sink for rows that are not the statement's: late rows, bad records.
func (c *converter) aside(leaf logical.Node, rows physical.Node, sink *logical.Sink) error {
	if c.late == nil {
		c.late = map[logical.Node]physical.Node{}
	}
	c.late[leaf] = rows
	out, err := c.sink(sink, false)
	if err != nil {
		return err
	}
	out.(*physical.Sink).Aside = true
	c.lateRoots = append(c.lateRoots, out)
	return nil
}

// sort converts ORDER BY, with a LIMIT (count >= 0) as top-N.
func (c *converter) sort(s *logical.Sort, count, offset int64) (physical.Node, error) {
	in, err := c.convert(s.In, true)
	if err != nil {
		return nil, err
	}
	if !in.Props().Bounded {
		hint := "sort within windows, or read a bounded table"
		return nil, logical.ErrorAt(s.Pos, logical.CodeSort, hint, "ORDER BY needs all rows, and this input is unbounded: it never ends")
	}
	if in.Props().Changelog != physical.Append {
		return nil, bind.Unsupported(s.Pos, "ORDER BY over rows that are taken back (a changelog table)")
	}
	in = c.single(in)
	if count >= 0 {
		return physical.NewTopN(in, s.Keys, count, offset), nil
	}
	return physical.NewSort(in, s.Keys), nil
}

func (c *converter) limit(l *logical.Limit, final bool) (physical.Node, error) {
	if s, ok := l.In.(*logical.Sort); ok {
		if l.Count >= 0 && l.Count+l.Offset <= maxTopN {
			return c.sort(s, l.Count, l.Offset)
		}
		in, err := c.sort(s, -1, 0)
		if err != nil {
			return nil, err
		}
		return physical.NewLimit(in, l.Count, l.Offset), nil
	}
	in, err := c.convert(l.In, final || boundedPlan(l.In))
	if err != nil {
		return nil, err
	}
	if in.Props().Changelog != physical.Append {
		return nil, bind.Unsupported(l.Pos, "LIMIT over a result that changes")
	}
	in = c.single(in)
	// Not with a watermark: rows are then taken in the order of time, and some may be dropped.
	if s, ok := in.(*physical.Scan); ok && l.Count >= 0 && s.Watermark == nil && len(c.scans) == 0 {
		s.Limit = l.Count + l.Offset
	}
	return physical.NewLimit(in, l.Count, l.Offset), nil
}

// maxTopN is up to where a LIMIT keeps rows sorted as they come instead of sorting everything.
const maxTopN = 1 << 20

func boundedPlan(n logical.Node) bool {
	if s, ok := n.(*logical.Scan); ok {
		return s.Handle.Bounded()
	}
	for _, in := range n.Inputs() {
		if !boundedPlan(in) {
			return false
		}
	}
	return true
}

// sink converts INSERT: a sink that only adds takes no changes.
func (c *converter) sink(s *logical.Sink, final bool) (physical.Node, error) {
	in, err := c.convert(s.In, final)
	if err != nil {
		return nil, err
	}
	if err := c.acceptable(s, in); err != nil {
		return nil, err
	}
	out := physical.NewSink(c.single(in), s.Table, s.Handle, s.Metadata, s.NotNull, s.Key)
	if strings.EqualFold(c.env.Config["table.exec.sink.not-null-enforcer"], "DROP") {
		out.Enforce = physical.DropOnNull
	}
	out.Overwrite, out.StaticPartition, out.Pos = s.Overwrite, s.StaticPartition, s.Pos
	return out, nil
}

func (c *converter) acceptable(s *logical.Sink, in physical.Node) error {
	p := in.Props()
	if p.Changelog == physical.Append || s.Handle.AcceptsKinds() == "all" {
		return nil
	}
	if s.Handle.AcceptsKinds() == "I,UA,D" && sameColumns(s.Key, p.Key) {
		return nil
	}
	name := logical.TableName(s.Table)
	pos, clause := updating(in)
	hint := "write into a table that takes changes, such as one without WITH (in memory), or aggregate per window: GROUP BY window_start, window_end over TUMBLE, " +
		"HOP or CUMULATE adds rows only"
	if p.Bounded {
		hint = "SET 'execution.runtime-mode' = 'batch' gives each row once, at the end; or aggregate per window: GROUP BY window_start, window_end"
	}
	if emits(in) {
		hint = "without early and late firing a window gives its row once; or write into a table that takes changes, such as one without WITH (in memory)"
		if p.Bounded {
			hint = "SET 'execution.runtime-mode' = 'batch' gives each row once, when its lateness has passed; or write into a table that takes changes"
		}
	}
	what := "only takes rows that are added"
	if s.Handle.AcceptsKinds() == "I,UA,D" {
		what = fmt.Sprintf("takes changes by its PRIMARY KEY (%s) only", strings.Join(s.Table.PrimaryKey, ", "))
		hint = "let the PRIMARY KEY of the table be the key of the query"
	}
	return logical.ErrorAt(pos, logical.CodeUpdatingSink, hint, "the sink %s %s, and %s changes rows that it gave before", name, what, clause)
}

func sameColumns(a, b []int) bool {
	if a == nil || b == nil || len(a) != len(b) {
		return false
	}
	x, y := slices.Clone(a), slices.Clone(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}
