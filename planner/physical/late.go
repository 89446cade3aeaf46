package physical

import (
	"strings"

	"github.com/weir-sql/weir/types"
)

// LateRows is the rows that a window aggregate drops as late, for the table of a LATE_ROWS hint. Its input is the operator that judges them (a
// LocalWindowAggregate or a WindowAggregate), on whose side output it hangs.
type LateRows struct {
	node
	Window Window
	// Columns of the aggregate's input that are kept; behind them in the schema come those of logical.LateColumns.
	Columns []int
	// Operator names who dropped the row; empty: the id of the input.
	Operator string
}

// NewLateRows makes the node over a LocalWindowAggregate or a WindowAggregate in one copy.
func NewLateRows(in Node, w Window, columns []int, schema types.Schema, operator string) *LateRows {
	n := &LateRows{Window: w, Columns: columns, Operator: operator}
	n.inputs = []Node{in}
	n.schema = schema
	n.props = Props{Partitioning: Partitioning{Count: 1}, EventTime: -1, Bounded: in.Props().Bounded}
	return n
}

// Op implements Node.
func (*LateRows) Op() string { return "LateRows" }

// Details implements Node.
func (n *LateRows) Details() []Detail {
	return []Detail{{"fields", strings.Join(n.schema.Names(), ", ")}}
}
