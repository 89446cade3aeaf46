// Package build turns physical plans into graphs of tasks. It is the only package that knows both sides: what the planner says and what the engine runs.
package build

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/watermark"
	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/expr"
	"github.com/weir-sql/weir/exec/op"
	"github.com/weir-sql/weir/exec/task"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/planner/physical"
	"github.com/weir-sql/weir/types"
)

// Options are what building needs beside the plan. Clock and Allocator are those of the job.
type Options struct {
	Config    map[string]string
	Clock     connectors.Clock
	Allocator memory.Allocator
	Zone      *time.Location
	Database  string // what CURRENT_DATABASE() gives
	// Generators are the watermark generators that tables may name, by their names in upper case.
	Generators map[string]watermark.Factory
	// Collect makes the sink that takes the rows of a SELECT.
	Collect func(c *physical.Collect) (connectors.Sink, error)
}

// Graph turns a plan into the tasks that run it.
func Graph(p *physical.Plan, o Options) (*task.Graph, error) {
	if o.Clock == nil {
		o.Clock = task.SystemClock{}
	}
	if o.Allocator == nil {
		o.Allocator = memory.DefaultAllocator
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	b := &builder{o: o, g: &task.Graph{}, readers: map[physical.Node]int{}, made: map[physical.Node]*stage{}, times: map[string]int{},
		need: map[physical.Node]physical.WatermarkNeed{}, judges: map[physical.Node]*stage{},
		sources: map[physical.Node][]*task.Task{}}
	nodes := p.Nodes()
	for _, n := range nodes {
		for _, in := range n.Inputs() {
			switch n.(type) {
			case *physical.LateRows, *physical.BadRecords: // they hang on the side
			default:
				b.readers[in]++
			}
		}
		switch n := n.(type) {
		case *physical.Union:
			b.merges = true
		case *physical.Exchange:
			b.parallel = b.parallel || n.To > 1
		}
	}
	for _, n := range nodes { // readers come before what they read
		b.needs(n)
	}
	for _, r := range p.Roots {
		for b.turn = range b.turns(r) {
			if err := b.root(r); err != nil {
				return nil, err
			}
		}
	}
	return b.g, nil
}

// builder is the state of one Graph call.
type builder struct {
	o        Options
	g        *task.Graph
	readers  map[physical.Node]int
	made     map[physical.Node]*stage // nodes that several readers share
	times    map[string]int           // how often a node's id was used
	need     map[physical.Node]physical.WatermarkNeed
	judges   map[physical.Node]*stage       // the operators that judge late rows, by their nodes
	sources  map[physical.Node][]*task.Task // of each scan: one for each time that it is read
	turn     int                            // which of them a sink of bad records is built for
	merges   bool                           // some task chooses between inputs
	parallel bool
}

// stage is where the rows of a node come out.
type stage struct {
	task *task.Task
	op   *task.Op // nil: the source or the inputs of the task
	head bool     // all so far is run by the source's workers
}

func (s *stage) to(t task.Target) {
	if s.op == nil || s.head {
		s.task.To = append(s.task.To, t)
		return
	}
	s.op.To = append(s.op.To, t)
}

// needs works out which Before vectors a node has to give: what the plan says, and exact ones where rows of several inputs or partitions are put in
// order by them. The place of a window's result comes from the window: for that it needs nothing of its rows.
func (b *builder) needs(n physical.Node) {
	need := max(b.need[n], n.Props().WatermarkNeed)
	b.need[n] = need
	ask := func(in physical.Node, w physical.WatermarkNeed) { b.need[in] = max(b.need[in], w) }
	for _, in := range n.Inputs() {
		switch n := n.(type) {
		case *physical.Union:
			if n.Props().Bounded {
				ask(in, max(need, physical.NeedExact))
			} else {
				ask(in, need)
			}
		case *physical.Exchange:
			if merged(n) {
				ask(in, max(need, physical.NeedExact))
			} else {
				ask(in, need)
			}
		case *physical.GroupAggregate:
			ask(in, need)
		case *physical.LocalWindowAggregate:
			ask(in, max(need, physical.NeedLate))
		case *physical.Calc, *physical.Expand, *physical.WindowTableFunction, *physical.Limit, *physical.ChangelogNormalize:
			ask(in, need)
		}
	}
}

// id makes a node's id unique where the node is built more than once.
func (b *builder) id(n physical.Node) string {
	id := n.ID()
	b.times[id]++
	if k := b.times[id]; k > 1 {
		return fmt.Sprintf("%s@%d", id, k)
	}
	return id
}

// root builds a sink or the collector of a SELECT and all before it.
func (b *builder) root(n physical.Node) error {
	in, err := b.node(n.Inputs()[0])
	if err != nil {
		return err
	}
	switch n := n.(type) {
	case *physical.Collect:
		if b.o.Collect == nil {
			return errors.New("internal error: nobody collects the rows")
		}
		in.to(task.Target{Sink: &task.Sink{ID: b.id(n), Name: n.Op(), New: func() (connectors.Sink, error) { return b.o.Collect(n) }}})
	case *physical.Sink:
		table, ok := n.Handle.(connectors.SinkTable)
		if !ok {
			return fmt.Errorf("table %s cannot be written: its connector is a source only", n.Table.Path)
		}
		if len(n.NotNull) > 0 {
			in = b.chain(in, n.Op(), b.id(n)+"-not-null", 1, n.Schema(), func() exec.Operator { return newNotNull(n) })
		}
		w := connectors.Write{Overwrite: n.Overwrite, StaticPartition: n.StaticPartition, Unbounded: !n.Inputs()[0].Props().Bounded}
		if c, ok := n.Handle.(connectors.WriteChecker); ok {
			if err := c.CheckWrite(w); err != nil {
				return err
			}
		}
		in.to(task.Target{Sink: &task.Sink{ID: b.id(n), Name: n.Op() + " " + n.Table.Path.String(), Aside: n.Aside, New: func() (connectors.Sink, error) { return table.Sink(w) }}})
	default:
		return fmt.Errorf("internal error: %s cannot be the root of a plan", n.Op())
	}
	return nil
}

// node builds what gives the rows of n. A node with several readers is built once and feeds all of them; but where a task behind chooses between inputs, a
// bounded scan is read once for each reader, so that no reader waits for another.
func (b *builder) node(n physical.Node) (*stage, error) {
	shared := b.readers[n] > 1 && (!b.merges || !n.Props().Bounded)
	if shared {
		if s := b.made[n]; s != nil {
			return s, nil
		}
	}
	s, err := b.make(n)
	if err != nil {
		return nil, err
	}
	if b.readers[n] > 1 {
		// Readers of a shared node branch off the task's goroutine; nothing more goes to the workers.
		s = &stage{task: s.task, op: s.op, head: s.head}
		if s.head {
			s.op = nil
		}
		s.head = false
		b.made[n] = s
	}
	return s, nil
}

// make is the one place that knows which operator runs a node.
func (b *builder) make(n physical.Node) (*stage, error) {
	id := b.id(n)
	switch n := n.(type) {
	case *physical.Scan:
		src, err := b.source(n, id)
		if err != nil {
			return nil, err
		}
		st := b.sourceTask(n, src)
		b.sources[n] = append(b.sources[n], st.task)
		return st, nil
	case *physical.Values:
		src, err := b.values(n, id)
		if err != nil {
			return nil, err
		}
		return b.sourceTask(n, src), nil
	case *physical.Union:
		return b.union(n, id)
	case *physical.Exchange:
		return b.exchange(n, id)
	case *physical.LateRows:
		return b.lateRows(n, id)
	case *physical.BadRecords:
		return b.badRecords(n, id)
	}
	in, err := b.node(n.Inputs()[0])
	if err != nil {
		return nil, err
	}
	is := n.Inputs()[0].Schema()
	switch n := n.(type) {
	case *physical.Calc:
		return b.calc(n, id, in)
	case *physical.LocalWindowAggregate:
		cfg, err := windowConfig(&n.WindowGrouping, is, nil)
		if err != nil {
			return nil, err
		}
		b.judges[n] = b.stateless(in, n, id, nil, func() exec.Operator { return op.NewLocalWindowAggregate(cfg) })
		return b.judges[n], nil
	case *physical.GlobalWindowAggregate:
		cfg, err := windowConfig(&n.WindowGrouping, n.Local().Inputs()[0].Schema(), n.Schema())
		if err != nil {
			return nil, err
		}
		cfg.Exact = b.need[n] >= physical.NeedExact
		return b.chain(in, n.Op(), id, 1, n.Schema(), func() exec.Operator { return op.NewGlobalWindowAggregate(cfg) }), nil
	case *physical.WindowAggregate:
		cfg, err := windowConfig(&n.WindowGrouping, is, n.Schema())
		if err != nil {
			return nil, err
		}
		cfg.Retract = n.Inputs()[0].Props().Changelog != physical.Append
		cfg.Exact, cfg.Shown = b.need[n] >= physical.NeedExact, n.Shown
		make := func() exec.Operator { return op.NewWindowAggregate(cfg) }
		if n.Emit != nil {
			e := op.Emission{Early: emitMicros(n.Emit.Early), Late: emitMicros(n.Emit.Late), Lateness: n.Emit.Lateness.Microseconds(), Final: n.Final}
			make = func() exec.Operator { return op.NewEmittingWindowAggregate(cfg, e) }
		}
		b.judges[n] = b.chain(in, n.Op(), id, 1, n.Schema(), make)
		return b.judges[n], nil
	case *physical.ChangelogNormalize:
		return b.chain(in, n.Op(), id, 1, n.Schema(), func() exec.Operator { return op.NewChangelogNormalize(n.Key, n.Schema(), n.TTL) }), nil
	case *physical.GroupAggregate:
		cfg := op.GroupAggregateConfig{Keys: n.GroupBy, Schema: n.Schema(), Retract: n.Retracts, UpdateBefore: true, Final: n.Final, EmitEmpty: n.EmitEmpty, TTL: n.TTL}
		for _, k := range n.GroupBy {
			cfg.KeyTypes = append(cfg.KeyTypes, is[k].Type)
		}
		if cfg.Aggregates, err = aggregates(n.Aggregates, is); err != nil {
			return nil, err
		}
		return b.chain(in, n.Op(), id, 1, n.Schema(), func() exec.Operator { return op.NewGroupAggregate(cfg) }), nil
	case *physical.WindowTableFunction:
		w, column, schema := window(n.Window), n.Window.TimeColumn, n.Schema()
		if n.Window.Proctime {
			column = -1
		}
		return b.stateless(in, n, id, schema, func() exec.Operator { return op.NewWindowTableFunction(w, column, schema) }), nil
	case *physical.Expand:
		return b.expand(n, id, in)
	case *physical.Sort:
		keys, retract := sortKeys(n.Keys, is), n.Inputs()[0].Props().Changelog != physical.Append
		return b.chain(in, n.Op(), id, 1, n.Schema(), func() exec.Operator { return op.NewSort(keys, n.Schema(), retract) }), nil
	case *physical.TopN:
		keys := sortKeys(n.Keys, is)
		return b.chain(in, n.Op(), id, 1, n.Schema(), func() exec.Operator { return op.NewTopN(keys, n.Count, n.Offset, n.Schema()) }), nil
	case *physical.Limit:
		return b.chain(in, n.Op(), id, 1, n.Schema(), func() exec.Operator { return op.NewLimit(n.Count, n.Offset) }), nil
	}
	return nil, fmt.Errorf("%s is not supported yet", n.Op())
}

func (b *builder) sourceTask(n physical.Node, src *task.Source) *stage {
	src.Need = task.WatermarkNeed(b.need[n])
	src.NeedSeq = b.parallel
	t := &task.Task{ID: src.ID, Partitions: 1, Source: src}
	b.g.Tasks = append(b.g.Tasks, t)
	return &stage{task: t, head: true}
}

// chain puts an operator behind a stage, in the same task.
func (b *builder) chain(in *stage, name, id string, inputs int, schema types.Schema, make func() exec.Operator) *stage {
	o := &task.Op{ID: id, Name: name, Inputs: inputs}
	if schema != nil {
		o.Schema = schema.Arrow()
	}
	o.New = checked(make, name, o.Schema)
	in.to(task.Target{Op: o})
	return &stage{task: in.task, op: o}
}

// stateless puts an operator that keeps nothing between batches behind a stage: on the workers, where all before it runs there too.
func (b *builder) stateless(in *stage, n physical.Node, id string, schema types.Schema, make func() exec.Operator) *stage {
	if !in.head {
		return b.chain(in, n.Op(), id, 1, schema, make)
	}
	o := &task.Op{ID: id, Name: n.Op(), Inputs: 1}
	if schema != nil {
		o.Schema = schema.Arrow()
	}
	o.New = checked(make, n.Op(), o.Schema)
	in.task.Head = append(in.task.Head, o)
	return &stage{task: in.task, op: o, head: true}
}

func (b *builder) calc(n *physical.Calc, id string, in *stage) (*stage, error) {
	var filter expr.Evaluator
	var err error
	if n.Condition != nil {
		if filter, err = evaluator(n.Condition); err != nil {
			return nil, err
		}
	}
	projections, err := evaluators(n.Projections)
	if err != nil {
		return nil, err
	}
	ordered := slices.ContainsFunc(projections, expr.OrderDependent) || filter != nil && expr.OrderDependent(filter)
	schema := n.Schema()
	if !ordered {
		return b.stateless(in, n, id, schema, func() exec.Operator { return op.NewCalc(filter, projections, schema) }), nil
	}
	// Expressions that go on from row to row keep that in the evaluator: each run needs its own.
	return b.chain(in, n.Op(), id, 1, schema, func() exec.Operator {
		filter := filter
		if n.Condition != nil {
			filter, _ = evaluator(n.Condition)
		}
		own, _ := evaluators(n.Projections)
		return op.NewCalc(filter, own, schema)
	}), nil
}

// lateRows hangs what becomes of late rows on the side of the operator that judges them. That operator has been built: its sink stands behind the roots
// that read it.
func (b *builder) lateRows(n *physical.LateRows, id string) (*stage, error) {
	j := b.judges[n.Inputs()[0]]
	if j == nil {
		return nil, fmt.Errorf("internal error: nobody judges the rows of %s", n.ID())
	}
	name := n.Operator
	if name == "" {
		name = j.op.ID
	}
	cfg := op.LateRowsConfig{Window: window(n.Window), TimeColumn: n.Window.TimeColumn, Columns: n.Columns, Operator: name, Schema: n.Schema()}
	o := &task.Op{ID: id, Name: n.Op(), Inputs: 1, Schema: n.Schema().Arrow()}
	o.New = checked(func() exec.Operator { return op.NewLateRows(cfg) }, n.Op(), o.Schema)
	if j.op.Side == nil {
		j.op.Side = map[string][]task.Target{}
	}
	j.op.Side["late"] = append(j.op.Side["late"], task.Target{Op: o})
	return &stage{task: j.task, op: o}, nil
}

// union joins the tasks of its inputs: in a defined order where all are bounded.
func (b *builder) union(n *physical.Union, id string) (*stage, error) {
	t := &task.Task{ID: id, Partitions: 1, Ordered: n.Props().Bounded, NeedSeq: b.parallel, Steps: b.need[n] == physical.NeedSteps, Schema: n.Schema().Arrow()}
	some := false
	for i, in := range n.Inputs() {
		s, err := b.node(in)
		if err != nil {
			return nil, err
		}
		x := &task.Exchange{ID: fmt.Sprintf("%s-input-%d", id, i+1), Schema: in.Schema().Arrow(), Bounded: in.Props().Bounded}
		some = some || x.Bounded
		s.to(task.Target{Exchange: x})
		t.Inputs = append(t.Inputs, x)
	}
	t.BoundedFirst = some && !t.Ordered
	b.g.Tasks = append(b.g.Tasks, t)
	return &stage{task: t}, nil
}

func (b *builder) exchange(n *physical.Exchange, id string) (*stage, error) {
	in, err := b.node(n.Inputs()[0])
	if err != nil {
		return nil, err
	}
	return b.exchangeOf(in, n, id, n.Keys, n.Inputs()[0].Schema()), nil
}

func (b *builder) exchangeOf(in *stage, n *physical.Exchange, id string, keys []int, schema types.Schema) *stage {
	if n.Kind == physical.Gather {
		keys = nil
	}
	merge := merged(n)
	if merge && n.To > 1 {
		// The rows that copies make of one row are told apart by the numbers that lie between its own and the next one's: there are none where it was made of
		// another row itself. So the rows go through one place, which puts them in order and numbers them anew.
		in, merge = b.exchangeTask(in, id+"-order", nil, schema, 1, true, true), false
	}
	return b.exchangeTask(in, id, keys, schema, max(n.To, 1), n.Props().Bounded, merge)
}

// merged reports that the rows of an exchange go through one place that puts them in order.
func merged(n *physical.Exchange) bool {
	return n.Props().Bounded && (n.From > 1 || n.To > 1 && !numbered(n.Inputs()[0]))
}

// numbered reports that each row of n has a number of its own, stream.SeqStep from the next.
func numbered(n physical.Node) bool {
	switch n := n.(type) {
	case *physical.Scan, *physical.Values, *physical.Union:
		return true
	case *physical.Exchange:
		return n.To <= 1 && n.From > 1
	case *physical.Calc, *physical.LocalWindowAggregate:
		return numbered(n.Inputs()[0])
	}
	return false
}

// exchangeTask begins the task behind an exchange. One that merges has the rows of several copies in order, with numbers of its own.
func (b *builder) exchangeTask(in *stage, id string, keys []int, schema types.Schema, partitions int, bounded, merge bool) *stage {
	x := &task.Exchange{ID: id, Keys: keys, Schema: schema.Arrow(), Bounded: bounded}
	in.to(task.Target{Exchange: x})
	t := &task.Task{ID: id + "-task", Partitions: partitions, Inputs: []*task.Exchange{x}, Ordered: merge, NeedSeq: merge}
	b.g.Tasks = append(b.g.Tasks, t)
	return &stage{task: t}
}

// expand runs grouping sets: the operator makes the copies and numbers them, and a Calc puts in the constants that a set has.
func (b *builder) expand(n *physical.Expand, id string, in *stage) (*stage, error) {
	is, schema := n.Inputs()[0].Schema(), n.Schema()
	sets := make([]op.ExpandSet, len(n.Projects))
	var plain types.Schema
	outs := make([]expr.Evaluator, len(schema))
	var constants []int
	for c, col := range schema {
		src, literal := -1, false
		for _, p := range n.Projects {
			switch e := p[c].(type) {
			case *logical.Column:
				if src >= 0 && src != e.Index {
					return nil, fmt.Errorf("internal error: column %s of grouping sets is two columns", col.Name)
				}
				src = e.Index
			case *logical.Literal:
				literal = literal || e.Value != nil
			default:
				return nil, fmt.Errorf("internal error: column %s of grouping sets is %s", col.Name, e)
			}
		}
		if literal && src >= 0 {
			return nil, fmt.Errorf("internal error: column %s of grouping sets is a column and a constant", col.Name)
		}
		if literal || src < 0 {
			constants = append(constants, c)
			continue
		}
		for k, p := range n.Projects {
			if _, ok := p[c].(*logical.Column); ok {
				sets[k].Columns = append(sets[k].Columns, src)
			} else {
				sets[k].Columns = append(sets[k].Columns, -1)
			}
		}
		outs[c] = expr.Column(len(plain), col.Type)
		plain = append(plain, types.Column{Name: col.Name, Type: is[src].Type.WithNull(true)})
	}
	for k := range sets {
		sets[k].ID = int64(k)
	}
	set := expr.Column(len(plain), types.BigIntType.NotNull())
	plain = append(plain, types.Column{Name: "$set", Type: types.BigIntType.NotNull()})
	for _, c := range constants {
		var conds, results []expr.Evaluator
		for k, p := range n.Projects {
			is, err := expr.Call("=", nil, []expr.Evaluator{set, expr.Literal(int64(k), types.BigIntType.NotNull())}, types.BooleanType.NotNull(), expr.Where{Text: "grouping set"})
			if err != nil {
				return nil, err
			}
			v, err := evaluator(p[c])
			if err != nil {
				return nil, err
			}
			conds, results = append(conds, is), append(results, v)
		}
		outs[c] = expr.Case(conds[1:], results[1:], results[0], schema[c].Type)
	}
	copies := b.stateless(in, n, id, plain, func() exec.Operator { return op.NewExpand(sets, plain) })
	return b.stateless(copies, n, id+"-constants", schema, func() exec.Operator { return op.NewCalc(nil, outs, schema) }), nil
}

func sortKeys(keys []physical.SortKey, is types.Schema) []op.SortKey {
	out := make([]op.SortKey, len(keys))
	for i, k := range keys {
		out[i] = op.SortKey{Column: k.Column, Type: is[k.Column].Type, Desc: k.Desc, NullsLast: !k.NullsFirst}
	}
	return out
}

// emitMicros is a delay in microseconds; negative (none) stays so.
func emitMicros(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Microseconds()
}

func window(w physical.Window) op.Window {
	out := op.Window{Kind: map[logical.WindowKind]op.WindowKind{physical.Tumble: op.Tumble, physical.Hop: op.Hop, physical.Cumulate: op.Cumulate}[w.Kind],
		Size: w.Size, Step: w.Slide, Offset: w.Offset, Precision: w.Precision, LTZ: w.LTZ}
	if w.Unit == 1 {
		out.Precision = max(out.Precision, 4)
	}
	return out
}

// windowConfig describes a window aggregate over an input of columns is. out is nil for a local phase.
func windowConfig(g *physical.WindowGrouping, is, out types.Schema) (op.WindowAggregateConfig, error) {
	w := g.Window
	cfg := op.WindowAggregateConfig{TimeColumn: w.TimeColumn, Keys: g.GroupBy, Schema: out, Window: window(w)}
	if w.Attached {
		return cfg, fmt.Errorf("an aggregate over windows that were assigned before (%s) is not supported yet", w.TextOver(is))
	}
	if w.Proctime {
		cfg.TimeColumn = -1
	}
	for _, k := range g.GroupBy {
		cfg.KeyTypes = append(cfg.KeyTypes, is[k].Type)
		if is[k].Name == "$e" { // the number of the grouping set
			cfg.SetColumn = k
		}
	}
	for _, c := range g.WindowColumns {
		cfg.Properties = append(cfg.Properties, map[physical.WindowColumn]op.WindowProperty{physical.WindowStart: op.WindowStart, physical.WindowEnd: op.WindowEnd,
			physical.WindowTime: op.WindowTime}[c])
	}
	var err error
	cfg.Aggregates, err = aggregates(g.Aggregates, is)
	return cfg, err
}

// aggregates describes calls over an input of columns is.
func aggregates(calls []logical.AggregateCall, is types.Schema) ([]op.Aggregate, error) {
	var out []op.Aggregate
	for _, c := range calls {
		s := expr.AggSpec{Name: c.Func, Result: c.Type, IgnoreNulls: c.IgnoreNulls, Where: placed(c.Text, c.Pos)}
		args := c.Args
		if c.Func == "LISTAGG" && len(args) == 2 {
			lit := c.Literals[1]
			sep, ok := "", false
			if lit != nil {
				sep, ok = lit.Value.(string)
			}
			if !ok {
				return nil, fmt.Errorf("the separator of %s must be a constant text", c.Text)
			}
			s.Separator, args = sep, args[:1]
		} else if c.Func == "LISTAGG" {
			s.Separator = ","
		}
		for _, a := range args {
			s.Args = append(s.Args, is[a].Type)
		}
		out = append(out, op.Aggregate{Spec: s, Args: args, Filter: c.Filter, Distinct: c.Distinct})
	}
	return out, nil
}
