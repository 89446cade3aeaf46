package ast

// Query is a whole query: [WITH ..] body [ORDER BY ..] [LIMIT ..] [OFFSET ..].
// LIMIT ALL is no limit; FETCH FIRST n ROWS ONLY is a limit.
type Query struct {
	Span
	With    *With
	Body    QueryBody
	OrderBy []OrderItem
	Limit   *Literal // a whole number
	Offset  *Literal // a whole number
}

// QueryBody is *Select, *SetOp, *Values, or *Query: a query in parentheses that
// has a WITH, ORDER BY, LIMIT or OFFSET of its own.
type QueryBody interface {
	Node
	queryBody()
}

// With is WITH [RECURSIVE] name [(columns)] AS (query), ...
type With struct {
	Span
	Recursive bool // not supported by Flink
	CTEs      []*CTE
}

// CTE is one named query of a With.
type CTE struct {
	Span
	Name    Ident
	Columns []Ident
	Query   *Query
}

// Select is one SELECT block. From is nil without FROM; a comma list is a tree
// of Joins of kind CommaJoin.
type Select struct {
	Span
	Hints    []Hint
	Distinct bool
	Items    []SelectItem
	From     TableRef
	Where    Expr
	// GroupBy holds expressions and *Grouping. GROUP BY () is one empty Grouping.
	GroupBy         []Expr
	GroupByDistinct bool
	Having          Expr
	Windows         []NamedWindow
	Qualify         Expr
}

// SelectItem is an expression (or *Star) with its alias.
type SelectItem struct {
	Span
	X     Expr
	Alias *Ident
}

// NamedWindow is WINDOW name AS (spec).
type NamedWindow struct {
	Span
	Name Ident
	Spec *WindowSpec
}

// SetOp is Left UNION|INTERSECT|EXCEPT [ALL] Right; MINUS is turned into EXCEPT.
type SetOp struct {
	Span
	Op          string // UNION, INTERSECT or EXCEPT
	All         bool
	Left, Right QueryBody
}

// Values is VALUES (a, b), (c, d), ...
type Values struct {
	Span
	Rows []ValuesRow
}

// ValuesRow is one row of Values.
type ValuesRow struct {
	Span
	Exprs []Expr
}

func (*Query) queryBody()  {}
func (*Select) queryBody() {}
func (*SetOp) queryBody()  {}
func (*Values) queryBody() {}

// TableRef is anything that may stand in FROM.
type TableRef interface {
	Node
	tableRef()
}

// TableAlias is [AS] name [(column, ...)].
type TableAlias struct {
	Span
	Name    Ident
	Columns []Ident
}

// Table is a named table, view or CTE, with hints and a time (FOR SYSTEM_TIME
// AS OF AsOf), which makes a temporal or lookup join of the join around it.
type Table struct {
	Span
	Name  ObjectName
	Hints []Hint
	AsOf  Expr
	Alias *TableAlias
}

// FileTable is a file (or glob) as a table: FROM 'x.csv'.
type FileTable struct {
	Span
	Path  StringLit
	Hints []Hint
	Alias *TableAlias
}

// DerivedTable is a query in FROM, (VALUES ..) too; Alias may be nil.
type DerivedTable struct {
	Span
	Lateral bool
	Query   *Query
	Alias   *TableAlias
}

// TableFunction is a call in FROM: f(..), TABLE(f(..)) (Wrapped) or LATERAL
// TABLE(f(..)); the window functions TUMBLE, HOP, CUMULATE and SESSION among them.
type TableFunction struct {
	Span
	Lateral bool
	Wrapped bool `dump:"-"`
	Call    *Call
	Alias   *TableAlias
}

// Unnest is [LATERAL] UNNEST(x, ...) [WITH ORDINALITY].
type Unnest struct {
	Span
	Lateral        bool
	Args           []Expr
	WithOrdinality bool
	Alias          *TableAlias
}

// JoinKind is the kind of a Join.
type JoinKind string

// Kinds of joins.
const (
	InnerJoin JoinKind = "JOIN"
	LeftJoin  JoinKind = "LEFT JOIN"
	RightJoin JoinKind = "RIGHT JOIN"
	FullJoin  JoinKind = "FULL JOIN"
	CrossJoin JoinKind = "CROSS JOIN"
	CommaJoin JoinKind = "," // a, b: like a cross join
)

// Join is a join of two table references. At most one of Natural, On and Using
// is set. An InnerJoin may have none of them (it then is a cross join).
type Join struct {
	Span
	Kind        JoinKind
	Natural     bool
	Left, Right TableRef
	On          Expr
	Using       []Ident
}

// MatchRecognize is input MATCH_RECOGNIZE ( .. ) [AS alias].
type MatchRecognize struct {
	Span
	Input       TableRef
	PartitionBy []Expr
	OrderBy     []OrderItem
	Measures    []Measure
	// AllRows is ALL ROWS PER MATCH; else ONE ROW PER MATCH (also when not given).
	AllRows bool
	After   *AfterMatch // nil when not given
	Pattern Pattern
	// StrictStart and StrictEnd are ^ and $ around the pattern.
	StrictStart, StrictEnd bool
	Within                 Expr // an *Interval, nil when not given
	Subsets                []Subset
	Defines                []Define
	Alias                  *TableAlias
}

// Measure is expr AS name; Semantics is "", FINAL or RUNNING (before the expression).
type Measure struct {
	Span
	X         Expr
	Semantics string
	Alias     Ident
}

// AfterMatch is AFTER MATCH SKIP ..; Kind is "PAST LAST ROW", "TO NEXT ROW",
// "TO FIRST" or "TO LAST" (with Variable).
type AfterMatch struct {
	Span
	Kind     string
	Variable *Ident
}

// Subset is name = (a, b, ...).
type Subset struct {
	Span
	Name      Ident
	Variables []Ident
}

// Define is variable AS condition.
type Define struct {
	Span
	Variable Ident
	Cond     Expr
}

// Pattern is a row pattern: *PatternVar, *PatternConcat, *PatternAlt,
// *PatternQuant, *PatternPermute or *PatternExclude.
type Pattern interface {
	Node
	pattern()
}

// PatternVar is one variable.
type PatternVar struct {
	Span
	Name Ident
}

// PatternConcat is A B C; no items mean the empty pattern ().
type PatternConcat struct {
	Span
	Items []Pattern
}

// PatternAlt is A | B | C.
type PatternAlt struct {
	Span
	Items []Pattern
}

// PatternQuant is X*, X+, X?, X{n}, X{n,}, X{,m} or X{n,m}; Max is -1 for no
// limit. Reluctant is the ? behind.
type PatternQuant struct {
	Span
	X         Pattern
	Min, Max  int
	Reluctant bool
}

// PatternPermute is PERMUTE(A, B).
type PatternPermute struct {
	Span
	Items []Pattern
}

// PatternExclude is {- X -}.
type PatternExclude struct {
	Span
	X Pattern
}

func (*Table) tableRef()          {}
func (*FileTable) tableRef()      {}
func (*DerivedTable) tableRef()   {}
func (*TableFunction) tableRef()  {}
func (*Unnest) tableRef()         {}
func (*Join) tableRef()           {}
func (*MatchRecognize) tableRef() {}

func (*PatternVar) pattern()     {}
func (*PatternConcat) pattern()  {}
func (*PatternAlt) pattern()     {}
func (*PatternQuant) pattern()   {}
func (*PatternPermute) pattern() {}
func (*PatternExclude) pattern() {}
