package physical

import (
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
)

// Sink writes its input into a table. The input has exactly the columns that connectors.SinkTable.Sink asks for: the table's physical columns in order,
// then its writable metadata columns, of the declared types (nullability aside).
type Sink struct {
	node
	Table  *catalog.Table
	Handle catalog.ConnectorTable
	// Metadata are the keys of the metadata columns, in order.
	Metadata []string
	// NotNull are the columns that are declared NOT NULL while the input may have NULL; Enforce says what to do then.
	NotNull []int
	Enforce NotNullEnforcer
	// Key is the declared PRIMARY KEY as columns of the input; nil when there is none.
	Key []int
	// Overwrite is INSERT OVERWRITE; StaticPartition has the constants of PARTITION (k = v), as text.
	Overwrite       bool
	StaticPartition map[string]string
	// Aside: it takes late rows, which are not the statement's.
	Aside bool
	// Pos is the place of the table's name in the text.
	Pos ast.Pos
}

// NotNullEnforcer is what becomes of a row with NULL for a NOT NULL column ('table.exec.sink.not-null-enforcer').
type NotNullEnforcer uint8

// The enforcers.
const (
	ErrorOnNull NotNullEnforcer = iota
	DropOnNull                  // dropped and counted
)

// NewSink makes the sink. The caller has checked that the table takes the changelog.
func NewSink(in Node, t *catalog.Table, h catalog.ConnectorTable, metadata []string, notNull []int, key []int) *Sink {
	s := &Sink{Table: t, Handle: h, Metadata: metadata, NotNull: notNull, Key: key}
	s.inputs = []Node{in}
	s.schema = in.Schema()
	s.props = *in.Props()
	s.props.State = NoState
	return s
}

// Op implements Node.
func (*Sink) Op() string { return "Sink" }

// Details implements Node.
func (s *Sink) Details() []Detail {
	d := []Detail{{"table", logical.TableName(s.Table)}, {"fields", strings.Join(s.schema.Names(), ", ")}}
	if len(s.NotNull) > 0 {
		d = append(d, Detail{map[NotNullEnforcer]string{ErrorOnNull: "notNull", DropOnNull: "dropNull"}[s.Enforce], columnNames(s.schema, s.NotNull)})
	}
	if s.Overwrite {
		d = append(d, Detail{"overwrite", "true"})
	}
	return d
}

// Collect is the root of a SELECT: it hands the rows to whoever asked. Its changelog is that of its input.
type Collect struct{ node }

// NewCollect makes the root.
func NewCollect(in Node) *Collect {
	c := &Collect{}
	c.inputs = []Node{in}
	c.schema = in.Schema()
	c.props = *in.Props()
	c.props.State = NoState
	return c
}

// Op implements Node.
func (*Collect) Op() string { return "Collect" }

// Details implements Node.
func (c *Collect) Details() []Detail {
	out := make([]string, len(c.schema))
	for i, col := range c.schema {
		out[i] = logical.QuoteName(col.Name)
	}
	return []Detail{{"fields", strings.Join(out, ", ")}}
}
