package physical

import (
	"strings"

	"github.com/weir-sql/weir/types"
)

// BadRecords is the records that a scan, its input, could not read, for the table of 'bad-records.table'. The columns are logical.BadColumns; bad_raw may
// be STRING.
type BadRecords struct{ node }

// NewBadRecords makes the node on the side of a scan.
func NewBadRecords(in *Scan, schema types.Schema) *BadRecords {
	n := &BadRecords{}
	n.inputs = []Node{in}
	n.schema = schema
	n.props = Props{Partitioning: Partitioning{Count: 1}, EventTime: -1, Bounded: in.Props().Bounded}
	return n
}

// Op implements Node.
func (*BadRecords) Op() string { return "BadRecords" }

// Details implements Node.
func (n *BadRecords) Details() []Detail {
	return []Detail{{"fields", strings.Join(n.schema.Names(), ", ")}}
}
