package logical

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/types"
)

// Node is a node of the logical plan: *Scan, *Values, *Project, *Filter, *WindowTableFunction, *Aggregate, *Expand, *Union, *Sort, *Limit or *Sink. Rules
// make changed copies; nodes are not changed once they are part of a plan.
type Node interface {
	// Op is the node's name in EXPLAIN.
	Op() string
	Inputs() []Node
	// WithInputs makes a copy over other inputs, of the same schema.
	WithInputs(ins ...Node) Node
	Schema() types.Schema
	// Details are the arguments for EXPLAIN.
	Details() string
}

// Scan reads a table. Wanted are the positions in Table.Columns that are read, ascending; they are the output.
type Scan struct {
	Table  *catalog.Table
	Handle catalog.ConnectorTable
	// Computed has the expression of each computed column of Table.Columns, over all of Table.Columns; nil elsewhere.
	Computed  []Expr
	Watermark *Watermark
	Wanted    []int
	Limit     int64 // 0: all
	Bad       *Bad  // set by 'bad-records.table'
	SkipBad   bool  // bad records are counted and go nowhere: ADVISE WATERMARK over a table with 'bad-records.table'
	Pos       ast.Pos
}

// Watermark is a declared watermark. Column and the columns of Expr are positions in Table.Columns.
type Watermark struct {
	Column int
	Expr   Expr // nil when the connector or a generator supplies watermarks
	// Generator is the name of a generator, with its arguments: constants, and a RowArg for each that is not.
	Generator string
	Args      []any
	// Strategy: a generator that belongs to the source (SOURCE_WATERMARK() over one that was registered with a strategy); its Args are RowArgs.
	Strategy bool
	// Inputs are the arguments that are not constant, over Table.Columns.
	Inputs []Expr
	// Options are the scan.watermark.* options of the table.
	Options map[string]string
}

// RowArg stands for Watermark.Inputs[Index] among the arguments of a generator.
type RowArg struct {
	Index int
	Text  string
	Type  types.Type
}

// Values is a constant table.
type Values struct {
	Columns types.Schema
	Rows    [][]Expr
}

// Project computes columns.
type Project struct {
	In    Node
	Exprs []Expr
	Names []string
}

// Filter passes the rows for which Cond is TRUE.
type Filter struct {
	In   Node
	Cond Expr
}

// WindowTableFunction is TUMBLE, HOP or CUMULATE: window_start, window_end and window_time behind the input's columns.
type WindowTableFunction struct {
	In     Node
	Window Window
}

// Aggregate is GROUP BY or DISTINCT. The output is the GroupBy columns, the Aggregates, and with a Window the WindowColumns.
type Aggregate struct {
	In         Node
	GroupBy    []int // columns of In
	Aggregates []AggregateCall
	// Window is set for a window aggregate; Attached until the rule that is its meaning fuses it with its window function.
	Window        *Window
	WindowColumns []WindowColumn
	// Name is that of a NAME hint.
	Name string
	// Late is set by a LATE_ROWS hint.
	Late *Late
	// Emit is set by an EMIT hint.
	Emit *Emit
	// Pos is the place of GROUP BY, or of the first aggregate.
	Pos ast.Pos
	// Clause says what made it: "GROUP BY", "DISTINCT", "UNION".
	Clause string
}

// AggregateCall is a call of an aggregate function over columns of the input.
type AggregateCall struct {
	Func string // canonical name in the catalog: COUNT, SUM, ...
	// Args are columns of the input, of exactly the types that the function's signature asked for; none for COUNT(*).
	Args []int
	// Literals has the constant that an argument is, nil for one that is not (LISTAGG's separator); same length as Args.
	Literals []*Literal
	Distinct bool
	// Filter is a BOOLEAN column of the input: rows where it is not TRUE are left out; -1 for none.
	Filter int
	Type   types.Type
	Name   string // of the output column
	// OrderDependent: the result depends on the order of rows, so that it is computed in one phase, in row order.
	OrderDependent bool
	// IgnoreNulls and RespectNulls are the written null treatment.
	IgnoreNulls, RespectNulls bool
	Text                      string // as written, for run-time errors
	Pos                       ast.Pos
}

// Expand makes one row per element of Projects of each row: grouping sets.
type Expand struct {
	In       Node
	Projects [][]Expr
	Columns  types.Schema
}

// Union is UNION ALL.
type Union struct {
	Ins     []Node
	Columns types.Schema
}

// SortKey is one column of an order.
type SortKey struct {
	Column     int
	Desc       bool
	NullsFirst bool // set out: the default (NULL is lowest) is already in here
}

// Sort is ORDER BY.
type Sort struct {
	In   Node
	Keys []SortKey
	Pos  ast.Pos
}

// Limit is LIMIT (-1: none) and OFFSET.
type Limit struct {
	In            Node
	Count, Offset int64
	Pos           ast.Pos
}

// Sink is INSERT INTO; its input has the columns that the connector's sink takes.
type Sink struct {
	In              Node
	Table           *catalog.Table
	Handle          catalog.ConnectorTable
	Metadata        []string
	NotNull         []int
	Key             []int
	Overwrite       bool
	StaticPartition map[string]string
	Pos             ast.Pos
}

// Op implements Node.
func (*Scan) Op() string { return "Scan" }

// Op implements Node.
func (*Values) Op() string { return "Values" }

// Op implements Node.
func (*Project) Op() string { return "Project" }

// Op implements Node.
func (*Filter) Op() string { return "Filter" }

// Op implements Node.
func (*WindowTableFunction) Op() string { return "WindowTableFunction" }

// Op implements Node.
func (a *Aggregate) Op() string {
	if a.Window != nil {
		return "WindowAggregate"
	}
	return "Aggregate"
}

// Op implements Node.
func (*Expand) Op() string { return "Expand" }

// Op implements Node.
func (*Union) Op() string { return "Union" }

// Op implements Node.
func (*Sort) Op() string { return "Sort" }

// Op implements Node.
func (*Limit) Op() string { return "Limit" }

// Op implements Node.
func (*Sink) Op() string { return "Sink" }

// Inputs implements Node.
func (*Scan) Inputs() []Node { return nil }

// Inputs implements Node.
func (*Values) Inputs() []Node { return nil }

// Inputs implements Node.
func (n *Project) Inputs() []Node { return []Node{n.In} }

// Inputs implements Node.
func (n *Filter) Inputs() []Node { return []Node{n.In} }

// Inputs implements Node.
func (n *WindowTableFunction) Inputs() []Node { return []Node{n.In} }

// Inputs implements Node.
func (n *Aggregate) Inputs() []Node { return []Node{n.In} }

// Inputs implements Node.
func (n *Expand) Inputs() []Node { return []Node{n.In} }

// Inputs implements Node.
func (n *Union) Inputs() []Node { return n.Ins }

// Inputs implements Node.
func (n *Sort) Inputs() []Node { return []Node{n.In} }

// Inputs implements Node.
func (n *Limit) Inputs() []Node { return []Node{n.In} }

// Inputs implements Node.
func (n *Sink) Inputs() []Node { return []Node{n.In} }

// WithInputs implements Node.
func (n *Scan) WithInputs(...Node) Node { return n }

// WithInputs implements Node.
func (n *Values) WithInputs(...Node) Node { return n }

// WithInputs implements Node.
func (n *Project) WithInputs(ins ...Node) Node { c := *n; c.In = ins[0]; return &c }

// WithInputs implements Node.
func (n *Filter) WithInputs(ins ...Node) Node { c := *n; c.In = ins[0]; return &c }

// WithInputs implements Node.
func (n *WindowTableFunction) WithInputs(ins ...Node) Node { c := *n; c.In = ins[0]; return &c }

// WithInputs implements Node.
func (n *Aggregate) WithInputs(ins ...Node) Node { c := *n; c.In = ins[0]; return &c }

// WithInputs implements Node.
func (n *Expand) WithInputs(ins ...Node) Node { c := *n; c.In = ins[0]; return &c }

// WithInputs implements Node.
func (n *Union) WithInputs(ins ...Node) Node { c := *n; c.Ins = slices.Clone(ins); return &c }

// WithInputs implements Node.
func (n *Sort) WithInputs(ins ...Node) Node { c := *n; c.In = ins[0]; return &c }

// WithInputs implements Node.
func (n *Limit) WithInputs(ins ...Node) Node { c := *n; c.In = ins[0]; return &c }

// WithInputs implements Node.
func (n *Sink) WithInputs(ins ...Node) Node { c := *n; c.In = ins[0]; return &c }

// Schema implements Node.
func (n *Scan) Schema() types.Schema {
	s := make(types.Schema, len(n.Wanted))
	for i, w := range n.Wanted {
		s[i] = types.Column{Name: n.Table.Columns[w].Name, Type: n.Table.Columns[w].Type}
	}
	return s
}

// Schema implements Node.
func (n *Values) Schema() types.Schema { return n.Columns }

// Schema implements Node.
func (n *Project) Schema() types.Schema {
	s := make(types.Schema, len(n.Exprs))
	for i, e := range n.Exprs {
		s[i] = types.Column{Name: n.Names[i], Type: e.ResultType()}
	}
	return s
}

// Schema implements Node.
func (n *Filter) Schema() types.Schema { return n.In.Schema() }

// Schema implements Node.
func (n *WindowTableFunction) Schema() types.Schema {
	var s types.Schema
	for _, c := range n.In.Schema() {
		c.Type.Attr = types.NoTimeAttr
		s = append(s, c)
	}
	return append(s, types.Column{Name: "window_start", Type: n.Window.StartType()}, types.Column{Name: "window_end", Type: n.Window.StartType()},
		types.Column{Name: "window_time", Type: n.Window.TimeType()})
}

// Schema implements Node.
func (n *Aggregate) Schema() types.Schema {
	in := n.In.Schema()
	var s types.Schema
	for _, k := range n.GroupBy {
		s = append(s, types.Column{Name: in[k].Name, Type: in[k].Type.WithAttr(types.NoTimeAttr)})
	}
	for _, a := range n.Aggregates {
		s = append(s, types.Column{Name: a.Name, Type: a.Type})
	}
	for _, w := range n.WindowColumns {
		t := n.Window.StartType()
		if w == WindowTime {
			t = n.Window.TimeType()
		}
		s = append(s, types.Column{Name: w.String(), Type: t})
	}
	return s
}

// Schema implements Node.
func (n *Expand) Schema() types.Schema { return n.Columns }

// Schema implements Node.
func (n *Union) Schema() types.Schema { return n.Columns }

// Schema implements Node.
func (n *Sort) Schema() types.Schema { return WithoutAttr(n.In.Schema()) }

// Schema implements Node.
func (n *Limit) Schema() types.Schema { return n.In.Schema() }

// Schema implements Node.
func (n *Sink) Schema() types.Schema { return n.In.Schema() }

// WithoutAttr drops time attributes.
func WithoutAttr(in types.Schema) types.Schema {
	out := make(types.Schema, len(in))
	for i, c := range in {
		c.Type.Attr = types.NoTimeAttr
		out[i] = c
	}
	return out
}

// Details implements Node.
func (n *Scan) Details() string {
	s := fmt.Sprintf("table=[%s], fields=[%s]", TableName(n.Table), strings.Join(n.Schema().Names(), ", "))
	if n.Limit > 0 {
		s += fmt.Sprintf(", limit=[%d]", n.Limit)
	}
	return s
}

// TableName names a table for EXPLAIN and messages.
func TableName(t *catalog.Table) string {
	if t.File != "" {
		return "'" + t.File + "'"
	}
	return QuoteName(t.Path.Catalog) + "." + QuoteName(t.Path.Database) + "." + QuoteName(t.Path.Name)
}

// Details implements Node.
func (n *Values) Details() string {
	rows := make([]string, 0, len(n.Rows))
	for i, r := range n.Rows {
		if i == 10 {
			rows = append(rows, fmt.Sprintf("... %d rows", len(n.Rows)))
			break
		}
		rows = append(rows, "("+join(r, ", ")+")")
	}
	return "rows=[" + strings.Join(rows, ", ") + "]"
}

// Details implements Node.
func (n *Project) Details() string { return "select=[" + Projections(n.Exprs, n.Names) + "]" }

// Projections prints expressions with their names.
func Projections(es []Expr, names []string) string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = e.String()
		if name := QuoteName(names[i]); name != out[i] {
			out[i] += " AS " + name
		}
	}
	return strings.Join(out, ", ")
}

// Details implements Node.
func (n *Filter) Details() string { return "where=[" + n.Cond.String() + "]" }

// Details implements Node.
func (n *WindowTableFunction) Details() string {
	return "window=[" + n.Window.TextOver(n.In.Schema()) + "]"
}

// Details implements Node.
func (n *Aggregate) Details() string {
	in := n.In.Schema()
	var parts []string
	if len(n.GroupBy) > 0 {
		names := make([]string, len(n.GroupBy))
		for i, k := range n.GroupBy {
			names[i] = QuoteName(in[k].Name)
		}
		parts = append(parts, "groupBy=["+strings.Join(names, ", ")+"]")
	}
	if n.Window != nil {
		parts = append(parts, "window=["+n.Window.TextOver(in)+"]")
	}
	parts = append(parts, "select=["+AggregateList(in, n.GroupBy, n.Aggregates, n.WindowColumns)+"]")
	if n.Late != nil {
		parts = append(parts, "lateRows=["+TableName(n.Late.Sink.Table)+"]")
	}
	return strings.Join(parts, ", ")
}

// AggregateList prints the output of an aggregate.
func AggregateList(in types.Schema, groupBy []int, as []AggregateCall, ws []WindowColumn) string {
	var out []string
	for _, k := range groupBy {
		out = append(out, QuoteName(in[k].Name))
	}
	for _, a := range as {
		out = append(out, a.text(in))
	}
	for _, w := range ws {
		out = append(out, w.String())
	}
	return strings.Join(out, ", ")
}

func (a AggregateCall) text(in types.Schema) string {
	args := "*"
	if len(a.Args) > 0 {
		parts := make([]string, len(a.Args))
		for i, c := range a.Args {
			parts[i] = QuoteName(in[c].Name)
			if a.Literals != nil && a.Literals[i] != nil {
				parts[i] = a.Literals[i].String()
			}
		}
		args = strings.Join(parts, ", ")
	}
	if a.Distinct {
		args = "DISTINCT " + args
	}
	s := a.Func + "(" + args + ")"
	if a.Filter >= 0 {
		s += " FILTER " + QuoteName(in[a.Filter].Name)
	}
	return s + " AS " + QuoteName(a.Name)
}

// Details implements Node.
func (n *Expand) Details() string {
	out := make([]string, len(n.Projects))
	for i, p := range n.Projects {
		out[i] = "(" + join(p, ", ") + ")"
	}
	return "projects=[" + strings.Join(out, ", ") + "]"
}

// Details implements Node.
func (n *Union) Details() string { return "all=[true]" }

// Details implements Node.
func (n *Sort) Details() string { return "orderBy=[" + SortKeys(n.In.Schema(), n.Keys) + "]" }

// SortKeys prints an order.
func SortKeys(s types.Schema, keys []SortKey) string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = QuoteName(s[k.Column].Name)
		if k.Desc {
			out[i] += " DESC"
		} else {
			out[i] += " ASC"
		}
		if k.NullsFirst == k.Desc { // not the default
			out[i] += map[bool]string{true: " NULLS FIRST", false: " NULLS LAST"}[k.NullsFirst]
		}
	}
	return strings.Join(out, ", ")
}

// Details implements Node.
func (n *Limit) Details() string {
	var parts []string
	if n.Count >= 0 {
		parts = append(parts, fmt.Sprintf("limit=[%d]", n.Count))
	}
	if n.Offset > 0 {
		parts = append(parts, fmt.Sprintf("offset=[%d]", n.Offset))
	}
	return strings.Join(parts, ", ")
}

// Details implements Node.
func (n *Sink) Details() string {
	return fmt.Sprintf("table=[%s], fields=[%s]", TableName(n.Table), strings.Join(n.Schema().Names(), ", "))
}

// Rewrite rebuilds a plan from the leaves up: f is called for every node after its inputs were rewritten and gives what to put in its place.
func Rewrite(n Node, f func(Node) (Node, error)) (Node, error) {
	ins := n.Inputs()
	if len(ins) > 0 {
		out := make([]Node, len(ins))
		changed := false
		for i, in := range ins {
			var err error
			if out[i], err = Rewrite(in, f); err != nil {
				return nil, err
			}
			changed = changed || out[i] != in
		}
		if changed {
			n = n.WithInputs(out...)
		}
	}
	return f(n)
}

// Format prints a plan as a tree.
func Format(n Node) string {
	var b strings.Builder
	var print func(n Node, depth int)
	print = func(n Node, depth int) {
		b.WriteString(strings.Repeat("  ", depth) + n.Op() + "(" + n.Details() + ")\n")
		for _, in := range n.Inputs() {
			print(in, depth+1)
		}
	}
	print(n, 0)
	return b.String()
}
