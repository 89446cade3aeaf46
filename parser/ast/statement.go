package ast

// QueryStatement is a query as a statement.
type QueryStatement struct {
	StmtBase
	Query *Query
}

// Insert is [EXECUTE] INSERT INTO|OVERWRITE target [PARTITION (..)] [(columns)] query.
type Insert struct {
	StmtBase
	Overwrite bool
	Target    ObjectName
	Hints     []Hint
	Partition *PartitionSpec
	Columns   []ObjectName // one part each, but for nested fields; nil: all, by position
	Query     *Query
	// OnConflict is "", NOTHING, ERROR or DEDUPLICATE.
	OnConflict string
}

// StatementSet is EXECUTE STATEMENT SET BEGIN .. END.
type StatementSet struct {
	StmtBase
	Inserts []*Insert
}

// Update is UPDATE table SET column = value, ... [WHERE ..].
type Update struct {
	StmtBase
	Table ObjectName
	Hints []Hint
	Alias *TableAlias
	Set   []Assignment
	Where Expr
}

// Assignment is column = value.
type Assignment struct {
	Span
	Column Ident
	Value  Expr
}

// Delete is DELETE FROM table [WHERE ..].
type Delete struct {
	StmtBase
	Table ObjectName
	Hints []Hint
	Alias *TableAlias
	Where Expr
}

// Truncate is TRUNCATE TABLE table.
type Truncate struct {
	StmtBase
	Table ObjectName
}

// CallProcedure is CALL procedure(args).
type CallProcedure struct {
	StmtBase
	Call *Call
}

// Set is SET 'key' = 'value', or SET alone (both nil): list all.
type Set struct {
	StmtBase
	Key, Value *StringLit
}

// Reset is RESET 'key', or RESET alone (nil): all.
type Reset struct {
	StmtBase
	Key *StringLit
}

// UseKind is the kind of a Use.
type UseKind string

// Kinds of Use.
const (
	UseDatabase UseKind = "DATABASE" // USE [catalog.]database
	UseCatalog  UseKind = "CATALOG"
	UseModules  UseKind = "MODULES"
)

// Use is USE [catalog.]database, USE CATALOG c or USE MODULES a, b.
type Use struct {
	StmtBase
	Kind    UseKind
	Name    ObjectName // of a database or a catalog
	Modules []Ident
}

// ShowKind is what Show shows.
type ShowKind string

// Kinds of Show. Those of the last group are Weir's own.
const (
	ShowCatalogs           ShowKind = "CATALOGS"
	ShowCurrentCatalog     ShowKind = "CURRENT CATALOG"
	ShowDatabases          ShowKind = "DATABASES"
	ShowCurrentDatabase    ShowKind = "CURRENT DATABASE"
	ShowTables             ShowKind = "TABLES"
	ShowViews              ShowKind = "VIEWS"
	ShowMaterializedTables ShowKind = "MATERIALIZED TABLES"
	ShowFunctions          ShowKind = "FUNCTIONS"
	ShowUserFunctions      ShowKind = "USER FUNCTIONS"
	ShowModels             ShowKind = "MODELS"
	ShowProcedures         ShowKind = "PROCEDURES"
	ShowModules            ShowKind = "MODULES"
	ShowFullModules        ShowKind = "FULL MODULES"
	ShowJars               ShowKind = "JARS"
	ShowJobs               ShowKind = "JOBS"
	ShowColumns            ShowKind = "COLUMNS"
	ShowPartitions         ShowKind = "PARTITIONS"
	ShowCreateTable        ShowKind = "CREATE TABLE"
	ShowCreateView         ShowKind = "CREATE VIEW"
	ShowCreateCatalog      ShowKind = "CREATE CATALOG"
	ShowCreateModel        ShowKind = "CREATE MODEL"
	ShowCreateMaterialized ShowKind = "CREATE MATERIALIZED TABLE"

	ShowWatermarks ShowKind = "WATERMARKS"
	ShowLateRows   ShowKind = "LATE ROWS"
)

// Show is SHOW kind ...
type Show struct {
	StmtBase
	Kind ShowKind
	// Name is the object of SHOW CREATE, COLUMNS, PARTITIONS, and optional for
	// WATERMARKS and LATE ROWS; nil otherwise.
	Name *ObjectName
	// File is set instead of Name where a file stands for a table.
	File *StringLit
	// Preposition is FROM or IN, with Name (COLUMNS) or In.
	Preposition string
	// In is the catalog or database of SHOW TABLES FROM db and the like.
	In        *ObjectName
	Partition *PartitionSpec
	Not       bool
	LikeOp    string // "", LIKE or ILIKE
	Like      *StringLit
}

// DescribeKind is what Describe describes.
type DescribeKind string

// Kinds of Describe.
const (
	DescribeTable    DescribeKind = "TABLE" // a table or view, the word is not written
	DescribeCatalog  DescribeKind = "CATALOG"
	DescribeDatabase DescribeKind = "DATABASE"
	DescribeFunction DescribeKind = "FUNCTION"
	DescribeModel    DescribeKind = "MODEL"
	DescribeJob      DescribeKind = "JOB"
)

// Describe is DESCRIBE|DESC [kind] [EXTENDED] name.
type Describe struct {
	StmtBase
	Kind     DescribeKind
	Extended bool
	Name     ObjectName
	File     *StringLit // DESCRIBE 'x.csv'
	Job      *StringLit // DESCRIBE JOB 'id'
}

// ExplainKind is the kind of an Explain.
type ExplainKind string

// Kinds of Explain.
const (
	ExplainPlan      ExplainKind = "PLAN"      // plans only, with Details
	ExplainAnalyze   ExplainKind = "ANALYZE"   // Weir's: run it and show figures
	ExplainWatermark ExplainKind = "WATERMARK" // Weir's: how the watermark comes about
)

// Explain is EXPLAIN [details | PLAN FOR | ANALYZE | WATERMARK] statement.
type Explain struct {
	StmtBase
	Kind ExplainKind
	// Details are ESTIMATED_COST, CHANGELOG_MODE, PLAN_ADVICE, JSON_EXECUTION_PLAN.
	Details   []string
	Statement Statement // QueryStatement, Insert, StatementSet or CreateTable with As
}

// AdviseWatermark is ADVISE WATERMARK FOR table|'file' [hints] [(column)] [LIMIT n] (Weir's).
type AdviseWatermark struct {
	StmtBase
	Table  ObjectName
	File   *StringLit
	Hints  []Hint
	Column *Ident   // the event time; nil: that of the WATERMARK declaration
	Limit  *Literal // rows to read; nil: all
}

// StopJob is STOP JOB 'id' [WITH SAVEPOINT [WITH DRAIN]].
type StopJob struct {
	StmtBase
	Job       StringLit
	Savepoint bool
	Drain     bool
}

// Plan is COMPILE PLAN, EXECUTE PLAN or COMPILE AND EXECUTE PLAN.
type Plan struct {
	StmtBase
	Compile, Execute bool
	File             StringLit
	IfNotExists      bool
	Statement        Statement // nil with EXECUTE PLAN
}

// AnalyzeTable is ANALYZE TABLE t [PARTITION(..)] COMPUTE STATISTICS [FOR ..].
type AnalyzeTable struct {
	StmtBase
	Table      ObjectName
	Partition  *PartitionSpec
	Columns    []Ident
	AllColumns bool
}

// Jar is ADD|REMOVE JAR 'path'.
type Jar struct {
	StmtBase
	Remove bool
	Path   StringLit
}

// Module is LOAD|UNLOAD MODULE name [WITH (..)].
type Module struct {
	StmtBase
	Unload  bool
	Name    Ident
	Options []Option
}

// Client is a command of the shell: QUIT, EXIT, CLEAR or HELP.
type Client struct {
	StmtBase
	Command string
}
