package physical

import (
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// Aliases of the logical plan's descriptions.
type (
	// Window says which windows a row belongs to.
	Window = logical.Window
	// WindowKind is the kind of a window function.
	WindowKind = logical.WindowKind
	// WindowColumn is a property of the window in an aggregate's output.
	WindowColumn = logical.WindowColumn
	// Aggregate is a call of an aggregate function.
	Aggregate = logical.AggregateCall
	// SortKey is one column of an order.
	SortKey = logical.SortKey
)

// The window kinds and columns.
const (
	Tumble   = logical.Tumble
	Hop      = logical.Hop
	Cumulate = logical.Cumulate

	WindowStart = logical.WindowStart
	WindowEnd   = logical.WindowEnd
	WindowTime  = logical.WindowTime
)

func windowDetail(w Window, in types.Schema) Detail { return Detail{"window", w.TextOver(in)} }

// WindowTableFunction adds the columns window_start, window_end and window_time behind the input's: one row per window that a row belongs to, HOP from
// the latest start to the earliest, CUMULATE from the shortest window to the longest. It has no state and knows no late rows; a row without event
// time is dropped and counted.
type WindowTableFunction struct {
	node
	Window Window
}

// NewWindowTableFunction makes the three columns behind the input's. The time column loses its attribute to window_time.
func NewWindowTableFunction(in Node, w Window) *WindowTableFunction {
	f := &WindowTableFunction{Window: w}
	f.inputs = []Node{in}
	for _, c := range in.Schema() {
		c.Type.Attr = types.NoTimeAttr
		f.schema = append(f.schema, c)
	}
	f.schema = append(f.schema, types.Column{Name: "window_start", Type: w.StartType()}, types.Column{Name: "window_end", Type: w.StartType()},
		types.Column{Name: "window_time", Type: w.TimeType()})
	f.props = *in.Props()
	if w.Kind != Tumble {
		if f.props.Key != nil {
			f.props.Key = append(append([]int{}, f.props.Key...), len(in.Schema()), len(in.Schema())+1)
		}
	}
	f.props.EventTime = eventTime(f.schema)
	f.props.State = NoState
	return f
}

// Op implements Node.
func (*WindowTableFunction) Op() string { return "WindowTableFunction" }

// Details implements Node.
func (f *WindowTableFunction) Details() []Detail {
	return []Detail{windowDetail(f.Window, f.inputs[0].Schema())}
}

// WindowGrouping is what all window aggregates have. The output is the GroupBy columns, then the Aggregates, then the WindowColumns.
type WindowGrouping struct {
	Window        Window
	GroupBy       []int // key columns of the input, in order; may be empty
	Aggregates    []Aggregate
	WindowColumns []WindowColumn
}

// Schema is the output of the final phase over an input.
func (g *WindowGrouping) schemaOver(in types.Schema) types.Schema {
	var s types.Schema
	for _, k := range g.GroupBy {
		s = append(s, types.Column{Name: in[k].Name, Type: in[k].Type.WithAttr(types.NoTimeAttr)})
	}
	for _, a := range g.Aggregates {
		s = append(s, types.Column{Name: a.Name, Type: a.Type})
	}
	for _, w := range g.WindowColumns {
		t := g.Window.StartType()
		if w == WindowTime {
			t = g.Window.TimeType()
		}
		s = append(s, types.Column{Name: w.String(), Type: t})
	}
	return s
}

// key is the output's key: group columns and the window, when it is all there.
func (g *WindowGrouping) key() []int {
	key := []int{}
	for i := range g.GroupBy {
		key = append(key, i)
	}
	for i, w := range g.WindowColumns {
		if w == WindowEnd || w == WindowTime || w == WindowStart && g.Window.Kind != Cumulate {
			return append(key, len(g.GroupBy)+len(g.Aggregates)+i)
		}
	}
	return nil
}

func (g *WindowGrouping) details(in types.Schema) []Detail {
	var d []Detail
	if len(g.GroupBy) > 0 {
		d = append(d, Detail{"groupBy", columnNames(in, g.GroupBy)})
	}
	d = append(d, windowDetail(g.Window, in), Detail{"select", logical.AggregateList(in, g.GroupBy, g.Aggregates, g.WindowColumns)})
	return d
}

// WindowAggregate aggregates per window and key in one phase, rows in order: for aggregates that depend on the order of rows, for input that retracts,
// and with the optimizer off. Late rows (all of whose windows have fired) are counted and dropped.
type WindowAggregate struct {
	node
	WindowGrouping
	// Emit, where not nil, has windows give results also before and after they close: the output is then a changelog. With Final each result comes once,
	// when the allowed lateness has passed.
	Emit  *logical.Emit
	Final bool
	// Shown: CURRENT_WATERMARK behind it asks for the watermark that was in force when a window closed. It then runs in one copy, row by row.
	Shown bool
}

// NewWindowAggregate makes the one-phase aggregate.
func NewWindowAggregate(in Node, g WindowGrouping) *WindowAggregate {
	a := &WindowAggregate{WindowGrouping: g}
	a.inputs = []Node{in}
	a.schema = g.schemaOver(in.Schema())
	a.props = windowProps(in, &a.WindowGrouping, a.schema)
	return a
}

// NewEmittingWindowAggregate makes an aggregate with early or late firing.
func NewEmittingWindowAggregate(in Node, g WindowGrouping, emit *logical.Emit, final bool) *WindowAggregate {
	a := NewWindowAggregate(in, g)
	a.Emit, a.Final = emit, final
	if !final {
		a.props.Changelog = Retract
	}
	return a
}

func windowProps(in Node, g *WindowGrouping, s types.Schema) Props {
	p := Props{Partitioning: Partitioning{Count: in.Props().Partitioning.Count}, EventTime: eventTime(s), Bounded: in.Props().Bounded, Key: g.key(),
		State: PerWindow}
	for i := range g.GroupBy {
		p.Partitioning.Columns = append(p.Partitioning.Columns, i)
	}
	return p
}

// Op implements Node.
func (*WindowAggregate) Op() string { return "WindowAggregate" }

// Details implements Node.
func (a *WindowAggregate) Details() []Detail {
	d := a.details(a.inputs[0].Schema())
	if a.Emit != nil {
		e := a.Emit.String()
		if a.Final {
			e = "final, " + e
		}
		d = append(d, Detail{"emit", e})
	}
	return d
}

// LocalWindowAggregate is the first of two phases: it judges late rows and folds the rows of each batch into one partial row per key and slice. It
// keeps nothing between batches. The layout of its output is between the two operators (exec/op); Schema lists the keys, then one nominal column per
// aggregate, then the slice's end, for EXPLAIN only.
type LocalWindowAggregate struct {
	node
	WindowGrouping
}

// NewLocalWindowAggregate makes the first phase.
func NewLocalWindowAggregate(in Node, g WindowGrouping) *LocalWindowAggregate {
	a := &LocalWindowAggregate{WindowGrouping: g}
	a.inputs = []Node{in}
	plain := g
	plain.WindowColumns = nil
	a.schema = append(plain.schemaOver(in.Schema()), types.Column{Name: "$slice_end", Type: types.BigIntType.NotNull()})
	ip := in.Props()
	a.props = Props{Partitioning: Partitioning{Count: ip.Partitioning.Count}, EventTime: -1, Bounded: ip.Bounded}
	return a
}

// Op implements Node.
func (*LocalWindowAggregate) Op() string { return "LocalWindowAggregate" }

// Details implements Node.
func (a *LocalWindowAggregate) Details() []Detail { return a.details(a.inputs[0].Schema()) }

// GlobalWindowAggregate is the second phase: it merges partial rows and emits each window when the watermark passes. WindowGrouping is that of the
// local phase: its column numbers are those of the local phase's input (Local().Inputs()[0]).
type GlobalWindowAggregate struct {
	node
	WindowGrouping
	local *LocalWindowAggregate
}

// NewGlobalWindowAggregate makes the second phase over local, directly or behind exchanges (in).
func NewGlobalWindowAggregate(in Node, local *LocalWindowAggregate) *GlobalWindowAggregate {
	a := &GlobalWindowAggregate{WindowGrouping: local.WindowGrouping, local: local}
	a.inputs = []Node{in}
	a.schema = a.schemaOver(local.inputs[0].Schema())
	a.props = windowProps(in, &a.WindowGrouping, a.schema)
	return a
}

// Local is the first phase.
func (a *GlobalWindowAggregate) Local() *LocalWindowAggregate { return a.local }

// Op implements Node.
func (*GlobalWindowAggregate) Op() string { return "GlobalWindowAggregate" }

// Details implements Node.
func (a *GlobalWindowAggregate) Details() []Detail { return a.details(a.local.inputs[0].Schema()) }
