package logical

import (
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/types"
)

// Late says what a LATE_ROWS hint wants of a window aggregate: the rows that it drops as late go into a table.
type Late struct {
	// Columns are the columns of the aggregate's input that are kept.
	Columns []int
	// Kind says that the table takes late_kind, Pos is the place of the table's name in the hint.
	Kind bool
	Pos  ast.Pos
	// Sink takes them: its plan ends in Rows.
	Sink *Sink
	Rows *LateRows
}

// The columns that the engine adds to late rows, behind those of the input.
const (
	LateOperator  = "late_operator"
	LateWatermark = "late_watermark"
	LateWindowEnd = "late_window_end"
	LateBy        = "late_by"
	LateKind      = "late_kind"
)

// LateColumns are the added columns, in order, of a window with the given precision.
func LateColumns(precision int) types.Schema {
	ts := types.TimestampOf(precision).NotNull()
	return types.Schema{{Name: LateOperator, Type: types.StringType.NotNull()}, {Name: LateWatermark, Type: ts}, {Name: LateWindowEnd, Type: ts},
		{Name: LateBy, Type: types.BigIntType.NotNull()}, {Name: LateKind, Type: types.StringType.NotNull()}}
}

// LateRows is the rows that a window aggregate drops as late; it has no inputs, since it hangs on the aggregate's side.
type LateRows struct{ Columns types.Schema }

// Op implements Node.
func (*LateRows) Op() string { return "LateRows" }

// Inputs implements Node.
func (*LateRows) Inputs() []Node { return nil }

// WithInputs implements Node.
func (n *LateRows) WithInputs(...Node) Node { return n }

// Schema implements Node.
func (n *LateRows) Schema() types.Schema { return n.Columns }

// Details implements Node.
func (n *LateRows) Details() string { return "" }
