package catalog

import (
	"strings"

	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/types"
)

// ConnectorTable is what the planner asks of a connector's side of a table. connectors.Table satisfies it; its methods use types only.
type ConnectorTable interface {
	// Schema returns the physical columns, declared or inferred.
	Schema() types.Schema
	// MetadataKeys returns the metadata that the table can give; MetadataWritable says which of them a sink takes.
	MetadataKeys() types.Schema
	MetadataWritable(key string) bool
	// Bounded reports whether reading ends.
	Bounded() bool
	// ChangelogKinds returns the row kinds that a scan of the table produces ("I", "I,UA,D" or "all"); empty when the table is no source.
	ChangelogKinds() string
	// AcceptsKinds returns the row kinds that the sink takes, in the same form; empty when the table is no sink.
	AcceptsKinds() string
	// RowEstimate returns about how many rows there are, or -1.
	RowEstimate() int64
	// SuppliesWatermarks reports whether the source emits watermarks itself (SOURCE_WATERMARK()).
	SuppliesWatermarks() bool
}

// Path is the full name of a table, view or function.
type Path struct{ Catalog, Database, Name string }

// String joins the parts with dots, quoted where they need it.
func (p Path) String() string {
	return quoteName(p.Catalog) + "." + quoteName(p.Database) + "." + quoteName(p.Name)
}

// ColumnKind is the kind of a table's column.
type ColumnKind uint8

// The kinds of columns.
const (
	Physical ColumnKind = iota
	Computed
	Metadata
)

// Column is a column of a table.
type Column struct {
	Name string
	Kind ColumnKind
	// Type is the declared type, and of a computed column the type of its expression. Attr is set for time attributes.
	Type types.Type
	// Expr and Text are a computed column's expression and its text as SHOW CREATE TABLE prints it.
	Expr ast.Expr
	Text string
	// Key is the connector's key of a metadata column; Virtual means that it is not written.
	Key     string
	Virtual bool
	Comment string
}

// Watermark is WATERMARK FOR Column AS Expr.
type Watermark struct {
	Column string
	Expr   ast.Expr
	Text   string
	// Source is SOURCE_WATERMARK(): the connector supplies watermarks.
	Source bool
	Pos    ast.Pos
}

// Option is one entry of WITH, in order of declaration.
type Option struct{ Key, Value string }

// Table is a table of the catalog. It is immutable once it is in the catalog; ALTER TABLE puts a changed copy in its place.
type Table struct {
	// ID tells tables apart that have or had the same name; ALTER TABLE keeps it. See NewID.
	ID          int64
	Path        Path
	Temporary   bool
	Columns     []Column
	Watermark   *Watermark
	PrimaryKey  []string
	KeyName     string // of the constraint
	PartitionBy []string
	Options     []Option
	Comment     string
	// Inferred is set for a table that was declared without columns, and for files as tables.
	Inferred bool
	// File is the path of a file as a table (FROM 'x.csv'), not in any catalog.
	File string
}

// Schema returns all columns in order of declaration, as a query sees them.
func (t *Table) Schema() types.Schema {
	s := make(types.Schema, len(t.Columns))
	for i, c := range t.Columns {
		s[i] = types.Column{Name: c.Name, Type: c.Type}
	}
	return s
}

// PhysicalSchema returns the physical columns.
func (t *Table) PhysicalSchema() types.Schema {
	var s types.Schema
	for _, c := range t.Columns {
		if c.Kind == Physical {
			s = append(s, types.Column{Name: c.Name, Type: c.Type.WithAttr(types.NoTimeAttr)})
		}
	}
	return s
}

// SinkColumns returns the positions of the columns that an INSERT fills: physical and non-virtual metadata columns, in order of declaration.
func (t *Table) SinkColumns() []int {
	var out []int
	for i, c := range t.Columns {
		if c.Kind == Physical || c.Kind == Metadata && !c.Virtual {
			out = append(out, i)
		}
	}
	return out
}

// Index returns the position of a column, or -1.
func (t *Table) Index(name string) int {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return i
		}
	}
	return -1
}

// Option returns the value of an option, or "".
func (t *Table) Option(key string) string {
	for _, o := range t.Options {
		if o.Key == key {
			return o.Value
		}
	}
	return ""
}

// Connector returns the table's connector: 'memory' for one without WITH, 'filesystem' for a file.
func (t *Table) Connector() string {
	if c := t.Option("connector"); c != "" {
		return c
	}
	if t.File != "" {
		return "filesystem"
	}
	return "memory"
}

func quoteName(n string) string { return "`" + strings.ReplaceAll(n, "`", "``") + "`" }
