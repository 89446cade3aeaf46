package physical

import (
	"fmt"
	"strings"

	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// WindowKind is the kind of a window function.
type WindowKind uint8

// The window kinds.
const (
	Tumble WindowKind = iota
	Hop
	Cumulate
)

func (k WindowKind) String() string { return [...]string{"TUMBLE", "HOP", "CUMULATE"}[k] }

// Window says which windows a row belongs to. All lengths are in microseconds; Size is a multiple of Slide.
type Window struct {
	Kind WindowKind
	Size int64 // TUMBLE's and HOP's size, CUMULATE's maximum size
	// Slide is HOP's slide and CUMULATE's step; the size for TUMBLE.
	Slide  int64
	Offset int64 // shifts the grid; may be negative
	// TimeColumn is the event time column of the input. It is TIMESTAMP or, when LTZ, TIMESTAMP_LTZ: the windows are then those of the wall clock in the
	// session zone.
	TimeColumn int
	LTZ        bool
	// Proctime: windows of processing time. TimeColumn is then a PROCTIME() column, whose values are ignored.
	Proctime bool
	// Unit is what window_time lies before window_end, and at which watermark (end - Unit) a window fires: 1000 for precision <= 3, 1 for 4 to 6.
	Unit int64
	// Precision is that of window_start, window_end (TIMESTAMP) and window_time (kind of the time column): 3, or that of the time column when it is greater.
	Precision int
	// Attached: the input already has its window in the columns StartColumn and EndColumn (TIMESTAMP(Precision)): each row belongs to that one window
	// only. Kind, Size, Slide and Offset then tell where it came from, for EXPLAIN.
	Attached               bool
	StartColumn, EndColumn int
	// Pos is the place of the window function in the text.
	Pos ast.Pos
}

// StartType is the type of window_start and window_end.
func (w Window) StartType() types.Type { return types.TimestampOf(w.Precision).NotNull() }

// TimeType is the type of window_time: a time attribute of the kind of the time column.
func (w Window) TimeType() types.Type {
	t := types.TimestampOf(w.Precision)
	if w.LTZ {
		t = types.TimestampLTZOf(w.Precision)
	}
	if w.Proctime {
		return t.NotNull().WithAttr(types.Proctime)
	}
	return t.NotNull().WithAttr(types.Rowtime)
}

// String prints the window as EXPLAIN shows it.
func (w Window) String() string { return w.text("") }

func (w Window) text(timeColumn string) string {
	var b strings.Builder
	if w.Attached {
		b.WriteString("ATTACHED ")
	}
	b.WriteString(w.Kind.String() + "(")
	if timeColumn != "" && !w.Attached {
		fmt.Fprintf(&b, "time=%s, ", timeColumn)
	}
	switch w.Kind {
	case Hop:
		fmt.Fprintf(&b, "slide=%s, ", micros(w.Slide))
	case Cumulate:
		fmt.Fprintf(&b, "step=%s, ", micros(w.Slide))
	}
	fmt.Fprintf(&b, "size=%s", micros(w.Size))
	if w.Offset != 0 {
		fmt.Fprintf(&b, ", offset=%s", micros(w.Offset))
	}
	if w.Proctime {
		b.WriteString(", processing time")
	}
	return b.String() + ")"
}

func (w Window) detail(in types.Schema) Detail {
	return Detail{"window", w.text(windowTimeName(w, in))}
}

func windowTimeName(w Window, in types.Schema) string {
	if w.Attached {
		return ""
	}
	return logical.QuoteName(in[w.TimeColumn].Name)
}

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
	return []Detail{f.Window.detail(f.inputs[0].Schema())}
}

// WindowColumn is a property of the window in an aggregate's output.
type WindowColumn uint8

// The window columns.
const (
	WindowStart WindowColumn = iota // first instant, wall clock
	WindowEnd                       // first instant behind, wall clock
	WindowTime                      // end - unit, of the time column's kind, a time attribute
)

func (c WindowColumn) String() string {
	return [...]string{"window_start", "window_end", "window_time"}[c]
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
	d = append(d, g.Window.detail(in), Detail{"select", aggregateList(in, g.GroupBy, g.Aggregates, g.WindowColumns)})
	return d
}

// WindowAggregate aggregates per window and key in one phase, rows in order: for aggregates that depend on the order of rows, for input that retracts,
// and with the optimizer off. Late rows (all of whose windows have fired) are counted and dropped.
type WindowAggregate struct {
	node
	WindowGrouping
}

// NewWindowAggregate makes the one-phase aggregate.
func NewWindowAggregate(in Node, g WindowGrouping) *WindowAggregate {
	a := &WindowAggregate{WindowGrouping: g}
	a.inputs = []Node{in}
	a.schema = g.schemaOver(in.Schema())
	a.props = windowProps(in, &a.WindowGrouping, a.schema)
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
func (a *WindowAggregate) Details() []Detail { return a.details(a.inputs[0].Schema()) }

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
