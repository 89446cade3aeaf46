package ast

// CreateTable is CREATE [OR REPLACE] [TEMPORARY] TABLE ..; also REPLACE TABLE.
type CreateTable struct {
	StmtBase
	Temporary bool
	// Replace is REPLACE TABLE; OrReplace is CREATE OR REPLACE TABLE. Both need As.
	Replace, OrReplace bool
	IfNotExists        bool
	Name               ObjectName
	// Columns in declaration order. They may be missing altogether (inferred, or
	// from Like or As).
	Columns       []*ColumnDef
	Watermark     *WatermarkDef
	PrimaryKey    *PrimaryKey // a column's own PRIMARY KEY is here too
	Comment       *StringLit
	Distribution  *Distribution
	PartitionedBy []Ident
	Options       []Option // WITH (..); nil when not given
	Like          *TableLike
	As            *Query
}

// ColumnKind is the kind of a ColumnDef.
type ColumnKind string

// Kinds of columns.
const (
	PhysicalColumn ColumnKind = "physical" // name type
	ComputedColumn ColumnKind = "computed" // name AS expr
	MetadataColumn ColumnKind = "metadata" // name type METADATA [FROM 'key'] [VIRTUAL]
	NamedColumn    ColumnKind = "named"    // name alone: CREATE TABLE t (a, b) AS query
)

// ColumnDef declares a column.
type ColumnDef struct {
	Span
	Name ObjectName // one part, but for nested fields in ALTER TABLE MODIFY
	Kind ColumnKind
	Type *TypeName // nil for computed and named columns
	Expr Expr      // of a computed column
	// MetadataKey is FROM 'key'; nil means that the column's name is the key.
	MetadataKey *StringLit
	Virtual     bool
	Comment     *StringLit
	// Position is only for ALTER TABLE: "", FIRST or AFTER (then After is set).
	Position string
	After    *ObjectName
}

// WatermarkDef is WATERMARK FOR column AS expr.
type WatermarkDef struct {
	Span
	Column ObjectName
	Expr   Expr
}

// PrimaryKey is [CONSTRAINT name] PRIMARY KEY (columns) NOT ENFORCED.
type PrimaryKey struct {
	Span
	Name    *Ident
	Columns []Ident
}

// Distribution is DISTRIBUTED [BY [HASH|RANGE] (columns)] [INTO n BUCKETS].
type Distribution struct {
	Span
	Kind    string // "", HASH or RANGE
	Columns []Ident
	Buckets *Literal
}

// TableLike is LIKE source [(options)].
type TableLike struct {
	Span
	Source  ObjectName
	Options []LikeOption
}

// LikeOption is INCLUDING|EXCLUDING|OVERWRITING feature.
type LikeOption struct {
	Span
	Mode    string // INCLUDING, EXCLUDING or OVERWRITING
	Feature string // ALL, CONSTRAINTS, DISTRIBUTION, PARTITIONS, GENERATED, OPTIONS, WATERMARKS or METADATA
}

// CreateView is CREATE [TEMPORARY] VIEW.
type CreateView struct {
	StmtBase
	OrReplace   bool
	Temporary   bool
	IfNotExists bool
	Name        ObjectName
	Columns     []Ident
	Comment     *StringLit
	Query       *Query
	// QueryText is the query as written.
	QueryText string `dump:"-"`
}

// CreateCatalog is CREATE CATALOG.
type CreateCatalog struct {
	StmtBase
	IfNotExists bool
	Name        Ident
	Comment     *StringLit
	Options     []Option
}

// CreateDatabase is CREATE DATABASE.
type CreateDatabase struct {
	StmtBase
	IfNotExists bool
	Name        ObjectName
	Comment     *StringLit
	Options     []Option
}

// CreateFunction is CREATE [TEMPORARY [SYSTEM]] FUNCTION; also ALTER FUNCTION (Alter).
type CreateFunction struct {
	StmtBase
	Alter, OrReplace  bool
	Temporary, System bool
	IfNotExists       bool // IF EXISTS with Alter
	Name              ObjectName
	Class             StringLit
	Language          string // upper case, empty when not given
	Using             []FunctionResource
	Options           []Option
}

// FunctionResource is JAR|FILE|ARCHIVE|ARTIFACT 'uri'.
type FunctionResource struct {
	Span
	Kind string
	URI  StringLit
}

// CreateModel is CREATE [TEMPORARY] MODEL.
type CreateModel struct {
	StmtBase
	Temporary     bool
	IfNotExists   bool
	Name          ObjectName
	Input, Output []*ColumnDef
	Comment       *StringLit
	Options       []Option
	As            *Query
}

// CreateMaterializedTable is CREATE [OR ALTER] MATERIALIZED TABLE.
type CreateMaterializedTable struct {
	StmtBase
	OrAlter       bool
	IfNotExists   bool
	Name          ObjectName
	Columns       []*ColumnDef
	Watermark     *WatermarkDef
	PrimaryKey    *PrimaryKey
	Comment       *StringLit
	Distribution  *Distribution
	PartitionedBy []Ident
	Options       []Option
	Freshness     *Interval
	RefreshMode   string // "", CONTINUOUS or FULL
	As            *Query
}

// ObjectKind is a kind of catalog object in Drop, Alter and Show.
type ObjectKind string

// Kinds of catalog objects.
const (
	CatalogObject           ObjectKind = "CATALOG"
	DatabaseObject          ObjectKind = "DATABASE"
	TableObject             ObjectKind = "TABLE"
	ViewObject              ObjectKind = "VIEW"
	FunctionObject          ObjectKind = "FUNCTION"
	ModelObject             ObjectKind = "MODEL"
	MaterializedTableObject ObjectKind = "MATERIALIZED TABLE"
)

// Drop is DROP kind [IF EXISTS] name.
type Drop struct {
	StmtBase
	Kind              ObjectKind
	Temporary, System bool
	IfExists          bool
	Name              ObjectName
	Behavior          string // "", RESTRICT or CASCADE, for databases
}

// Alter is ALTER kind [IF EXISTS] name action. (ALTER FUNCTION is CreateFunction.)
type Alter struct {
	StmtBase
	Kind     ObjectKind
	IfExists bool
	Name     ObjectName
	Action   AlterAction
}

// AlterAction is what Alter does.
type AlterAction interface {
	Node
	alterAction()
}

// RenameTo is RENAME TO name.
type RenameTo struct {
	Span
	Name ObjectName
}

// RenameColumn is RENAME column TO name.
type RenameColumn struct {
	Span
	Column, To ObjectName
}

// SetOptions is SET ('k' = 'v', ...).
type SetOptions struct {
	Span
	Options []Option
}

// ResetOptions is RESET ('k', ...).
type ResetOptions struct {
	Span
	Keys []StringLit
}

// SetComment is COMMENT 'text' (catalogs).
type SetComment struct {
	Span
	Comment StringLit
}

// AddElements is ADD or MODIFY (Modify) of columns, watermark, key and distribution.
type AddElements struct {
	Span
	Modify       bool
	Columns      []*ColumnDef
	Watermark    *WatermarkDef
	PrimaryKey   *PrimaryKey
	Distribution *Distribution
}

// DropElements is DROP of columns, PRIMARY KEY, CONSTRAINT name, WATERMARK or
// DISTRIBUTION; What says which: COLUMN, PRIMARY KEY, CONSTRAINT, WATERMARK, DISTRIBUTION.
type DropElements struct {
	Span
	What    string
	Columns []ObjectName
	Name    *Ident // CONSTRAINT's
}

// AddPartitions is ADD [IF NOT EXISTS] PARTITION (..) [WITH (..)] ...
type AddPartitions struct {
	Span
	IfNotExists bool
	Partitions  []PartitionSpec
	Options     [][]Option // one for each partition, nil without WITH
}

// DropPartitions is DROP [IF EXISTS] PARTITION (..), ...
type DropPartitions struct {
	Span
	IfExists   bool
	Partitions []PartitionSpec
}

// AlterQuery is AS query: of a view or a materialized table.
type AlterQuery struct {
	Span
	Query     *Query
	QueryText string `dump:"-"`
}

// AlterRefresh is SUSPEND, RESUME or REFRESH of a materialized table.
type AlterRefresh struct {
	Span
	What      string
	Options   []Option       // RESUME WITH (..)
	Partition *PartitionSpec // REFRESH PARTITION (..)
}

// SetFreshness is SET FRESHNESS = interval or SET REFRESH_MODE = mode.
type SetFreshness struct {
	Span
	Freshness   *Interval
	RefreshMode string
}

// PartitionSpec is PARTITION (column = value, ...).
type PartitionSpec struct {
	Span
	Values []PartitionValue
}

// PartitionValue is column [= literal].
type PartitionValue struct {
	Span
	Column Ident
	Value  *Literal // nil when only the column is named
}

func (*RenameTo) alterAction()       {}
func (*RenameColumn) alterAction()   {}
func (*SetOptions) alterAction()     {}
func (*ResetOptions) alterAction()   {}
func (*SetComment) alterAction()     {}
func (*AddElements) alterAction()    {}
func (*DropElements) alterAction()   {}
func (*AddPartitions) alterAction()  {}
func (*DropPartitions) alterAction() {}
func (*AlterQuery) alterAction()     {}
func (*AlterRefresh) alterAction()   {}
func (*SetFreshness) alterAction()   {}
