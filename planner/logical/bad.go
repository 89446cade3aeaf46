package logical

import "github.com/weir-sql/weir/types"

// Bad says what the option 'bad-records.table' wants of a scan: the records that cannot be read go into a table.
type Bad struct {
	// Sink takes them: its plan ends in Rows.
	Sink *Sink
	Rows *BadRecords
}

// BadColumns are the columns that a table of bad records may have, in the order of BadRecords.
var BadColumns = types.Schema{
	{Name: "bad_raw", Type: types.BytesType.NotNull()},
	{Name: "bad_error", Type: types.StringType.NotNull()},
	{Name: "bad_table", Type: types.StringType.NotNull()},
	{Name: "bad_split", Type: types.StringType.NotNull()},
	{Name: "bad_position", Type: types.BigIntType.NotNull()},
	{Name: "bad_time", Type: types.TimestampLTZOf(3).NotNull()},
}

// BadRecords is the records that a scan could not read; it has no inputs, since it hangs on the scan's side. Columns are BadColumns, where bad_raw may be
// STRING.
type BadRecords struct{ Columns types.Schema }

// Op implements Node.
func (*BadRecords) Op() string { return "BadRecords" }

// Inputs implements Node.
func (*BadRecords) Inputs() []Node { return nil }

// WithInputs implements Node.
func (n *BadRecords) WithInputs(...Node) Node { return n }

// Schema implements Node.
func (n *BadRecords) Schema() types.Schema { return n.Columns }

// Details implements Node.
func (n *BadRecords) Details() string { return "" }
