package ast

// Expr is an expression.
type Expr interface {
	Node
	expr()
}

// Name is a possibly dotted name. Which parts are catalog, table, column or
// nested field is for the binder to say.
type Name struct {
	Span
	Parts []Ident
}

// Star is *, or t.* with a qualifier. It stands in a select list only; COUNT(*)
// is Call.Star.
type Star struct {
	Span
	Qualifier []Ident
}

// LiteralKind is the kind of a Literal.
type LiteralKind string

// Kinds of literals.
const (
	NumberLit    LiteralKind = "number"    // 1, 1.50, 2e3: Value is the text as written
	StringKind   LiteralKind = "string"    // Value is the content, escapes resolved
	BinaryLit    LiteralKind = "binary"    // X'0aff': Value is the hex digits as written
	BoolLit      LiteralKind = "bool"      // Value is TRUE or FALSE
	NullLit      LiteralKind = "null"      // Value is NULL
	UnknownLit   LiteralKind = "unknown"   // the boolean NULL; Value is UNKNOWN
	DateLit      LiteralKind = "date"      // DATE '..': Value is the content
	TimeLit      LiteralKind = "time"      // TIME '..'
	TimestampLit LiteralKind = "timestamp" // TIMESTAMP '..'
	// TimestampLTZLit is TIMESTAMP WITH LOCAL TIME ZONE '..'; the content is in UTC.
	TimestampLTZLit LiteralKind = "timestamp_ltz"
	ParameterLit    LiteralKind = "parameter" // ?: a value to be given later; Value is ?
)

// Literal is a constant.
type Literal struct {
	Span
	Kind  LiteralKind
	Value string
	// Text is the literal as written, with quotes and prefix; empty when made, not parsed.
	Text string `dump:"-"`
}

// Interval is INTERVAL [-] 'value' qualifier. INTERVAL 2 HOUR is the same as
// INTERVAL '2' HOUR.
type Interval struct {
	Span
	Negative bool // a sign before the quote; one inside stays in Value
	Value    string
	// X is set, and Value empty, for INTERVAL x HOUR with an expression.
	X         Expr
	Qualifier IntervalQualifier
}

// Default is the word DEFAULT as an argument or a value.
type Default struct{ Span }

// Unary is Op X; Op is "-", "+" or "NOT".
type Unary struct {
	Span
	Op string
	X  Expr
}

// Binary is L Op R. Op is one of + - * / % || = <> < <= > >= AND OR OVERLAPS
// (!= is turned into <>).
type Binary struct {
	Span
	Op   string
	L, R Expr
}

// Quantified is X Op ANY|ALL (query or list); SOME is turned into ANY.
type Quantified struct {
	Span
	X          Expr
	Op         string // = <> < <= > >=
	Quantifier string // ANY or ALL
	Query      *Query // nil with List
	List       []Expr
}

// Call is a function call of any kind: scalar, aggregate, OVER, table function.
//
// Functions with a syntax of their own are calls with plain arguments where
// that loses nothing: SUBSTRING(x FROM 2 FOR 3) is SUBSTRING(x, 2, 3),
// POSITION(a IN b) is POSITION(a, b), OVERLAY(a PLACING b FROM 1) is OVERLAY(a,
// b, 1), FLOOR(x TO DAY) and TIMESTAMPDIFF(DAY, a, b) have a *TimeUnit as an
// argument, JSON_OBJECT(KEY k VALUE v) has keys and values in turn.
type Call struct {
	Span
	Name     ObjectName
	Args     []Expr // also *NamedArg, *TableArg, *ModelArg, *Descriptor, *TimeUnit, *Default
	Distinct bool
	Star     bool // f(*)
	// NoParens is for CURRENT_TIMESTAMP and the like, written without ( ).
	NoParens bool
	// JSON has the clauses of the JSON_* functions, nil when there are none.
	JSON *JSONClauses
	// WithinGroup is f(..) WITHIN GROUP (ORDER BY ..).
	WithinGroup []OrderItem
	// Filter is f(..) FILTER (WHERE ..).
	Filter Expr
	// NullTreatment is "", "IGNORE" or "RESPECT" (NULLS).
	NullTreatment string
	Over          *Over
}

// Over is OVER name or OVER (spec): exactly one is set.
type Over struct {
	Span
	Name *Ident
	Spec *WindowSpec
}

// WindowSpec is the inside of OVER ( ) and of WINDOW w AS ( ).
type WindowSpec struct {
	Span
	Base        *Ident // an existing window that this one refines
	PartitionBy []Expr
	OrderBy     []OrderItem
	Frame       *Frame
}

// Frame is ROWS or RANGE with its bounds. Without BETWEEN, End is nil and means
// CURRENT ROW.
type Frame struct {
	Span
	Unit  string // ROWS or RANGE
	Start FrameBound
	End   *FrameBound
}

// BoundKind is the kind of a FrameBound.
type BoundKind string

// Kinds of frame bounds.
const (
	UnboundedPreceding BoundKind = "UNBOUNDED PRECEDING"
	Preceding          BoundKind = "PRECEDING" // with Offset
	CurrentRow         BoundKind = "CURRENT ROW"
	Following          BoundKind = "FOLLOWING" // with Offset
	UnboundedFollowing BoundKind = "UNBOUNDED FOLLOWING"
)

// FrameBound is one end of a Frame.
type FrameBound struct {
	Span
	Kind   BoundKind
	Offset Expr // a number or an interval, mostly *Literal or *Interval
}

// OrderItem is one item of ORDER BY. Nulls is "", "FIRST" or "LAST".
type OrderItem struct {
	Span
	X     Expr
	Desc  bool
	Nulls string
}

// JSONClauses are the clauses of JSON_VALUE, JSON_QUERY, JSON_EXISTS,
// JSON_OBJECT, JSON_ARRAY and their aggregates.
type JSONClauses struct {
	Returning *TypeName
	// Wrapper is "", "WITHOUT ARRAY", "WITH CONDITIONAL ARRAY" or "WITH UNCONDITIONAL ARRAY".
	Wrapper string
	OnEmpty *JSONBehavior
	OnError *JSONBehavior
	// OnNull is "", "NULL" or "ABSENT" (ON NULL).
	OnNull string
}

// JSONBehavior is what to give ON EMPTY or ON ERROR. Kind is NULL, ERROR,
// DEFAULT (with Default), EMPTY ARRAY, EMPTY OBJECT, TRUE, FALSE or UNKNOWN.
type JSONBehavior struct {
	Span
	Kind    string
	Default Expr
}

// NamedArg is name => value, an argument of a Call.
type NamedArg struct {
	Span
	Name  Ident
	Value Expr
}

// TableArg is TABLE t or a query as an argument of a table function, with
// PARTITION BY and ORDER BY where given. Exactly one of Table, File and Query is set.
type TableArg struct {
	Span
	Table       *ObjectName
	File        *StringLit // a file as a table: TABLE 'x.csv'
	Query       *Query
	Hints       []Hint
	PartitionBy []Expr
	OrderBy     []OrderItem
}

// ModelArg is MODEL m, an argument of a table function.
type ModelArg struct {
	Span
	Name ObjectName
}

// Descriptor is DESCRIPTOR(column, ...), an argument of a table function.
type Descriptor struct {
	Span
	Columns []Ident
}

// TimeUnit is a unit as an argument: TIMESTAMPDIFF(DAY, ..), FLOOR(x TO DAY).
type TimeUnit struct {
	Span
	Unit string // upper case
}

// Extract is EXTRACT(unit FROM x).
type Extract struct {
	Span
	Unit string // upper case
	X    Expr
}

// Trim is TRIM([mode] [chars FROM] x). Mode is BOTH (also when not given),
// LEADING or TRAILING; Chars is nil for blanks.
type Trim struct {
	Span
	Mode  string
	Chars Expr
	X     Expr
}

// Cast is CAST(x AS type) or TRY_CAST(x AS type).
type Cast struct {
	Span
	Try  bool
	X    Expr
	Type *TypeName
}

// Case is CASE [operand] WHEN .. THEN .. [ELSE ..] END.
type Case struct {
	Span
	Operand Expr
	Whens   []When
	Else    Expr
}

// When is one WHEN .. THEN .. of a Case.
type When struct {
	Cond, Result Expr
}

// Between is X [NOT] BETWEEN [SYMMETRIC] Low AND High.
type Between struct {
	Span
	X, Low, High Expr
	Not          bool
	Symmetric    bool
}

// InList is X [NOT] IN (a, b, ...).
type InList struct {
	Span
	X    Expr
	List []Expr
	Not  bool
}

// InSubquery is X [NOT] IN (query); X may be a RowCons.
type InSubquery struct {
	Span
	X     Expr
	Query *Query
	Not   bool
}

// Exists is EXISTS (query); NOT EXISTS is a Unary around it.
type Exists struct {
	Span
	Query *Query
}

// Subquery is a query as a value.
type Subquery struct {
	Span
	Query *Query
}

// Like is X [NOT] LIKE|SIMILAR TO Pattern [ESCAPE 'c'].
type Like struct {
	Span
	X, Pattern Expr
	Escape     *StringLit // one character
	Not        bool
	Similar    bool
}

// IsKind is what Is tests for.
type IsKind string

// Kinds of Is.
const (
	IsNull    IsKind = "NULL"
	IsTrue    IsKind = "TRUE"
	IsFalse   IsKind = "FALSE"
	IsUnknown IsKind = "UNKNOWN"
)

// Is is X IS [NOT] NULL|TRUE|FALSE|UNKNOWN.
type Is struct {
	Span
	X    Expr
	Kind IsKind
	Not  bool
}

// IsDistinctFrom is L IS [NOT] DISTINCT FROM R.
type IsDistinctFrom struct {
	Span
	L, R Expr
	Not  bool
}

// IsJSON is X IS [NOT] JSON [VALUE|OBJECT|ARRAY|SCALAR].
type IsJSON struct {
	Span
	X    Expr
	Kind string // "", VALUE, OBJECT, ARRAY or SCALAR
	Not  bool
}

// IntervalDiff is (L - R) qualifier: the time between two points as an interval.
type IntervalDiff struct {
	Span
	L, R      Expr
	Qualifier IntervalQualifier
}

// Subscript is X[Index]: an array element (from 1) or a map value.
type Subscript struct {
	Span
	X, Index Expr
}

// FieldAccess is X.Field where X is not a plain name (those are Name).
type FieldAccess struct {
	Span
	X     Expr
	Field Ident
}

// ArrayCons is ARRAY[a, b, ...].
type ArrayCons struct {
	Span
	Elems []Expr
}

// MapCons is MAP[k, v, k, v, ...]; Elems are keys and values in turn, an even number.
type MapCons struct {
	Span
	Elems []Expr
}

// MultisetCons is MULTISET[a, b, ...].
type MultisetCons struct {
	Span
	Elems []Expr
}

// RowCons is ROW(a, ...) (Explicit) or (a, b, ...) with two or more elements.
type RowCons struct {
	Span
	Elems    []Expr
	Explicit bool
}

// GroupingKind is the kind of a Grouping.
type GroupingKind string

// Kinds of Grouping.
const (
	GroupingSet  GroupingKind = "SET"           // (a, b) or ()
	GroupingSets GroupingKind = "GROUPING SETS" // of Groupings and expressions
	Rollup       GroupingKind = "ROLLUP"
	Cube         GroupingKind = "CUBE"
)

// Grouping is an element of GROUP BY that is more than an expression. A single
// column in parentheses is just that column.
type Grouping struct {
	Span
	Kind  GroupingKind
	Items []Expr
}

func (*Name) expr()           {}
func (*Star) expr()           {}
func (*Literal) expr()        {}
func (*Interval) expr()       {}
func (*Default) expr()        {}
func (*Unary) expr()          {}
func (*Binary) expr()         {}
func (*Quantified) expr()     {}
func (*Call) expr()           {}
func (*NamedArg) expr()       {}
func (*TableArg) expr()       {}
func (*ModelArg) expr()       {}
func (*Descriptor) expr()     {}
func (*TimeUnit) expr()       {}
func (*Extract) expr()        {}
func (*Trim) expr()           {}
func (*Cast) expr()           {}
func (*Case) expr()           {}
func (*Between) expr()        {}
func (*InList) expr()         {}
func (*InSubquery) expr()     {}
func (*Exists) expr()         {}
func (*Subquery) expr()       {}
func (*Like) expr()           {}
func (*Is) expr()             {}
func (*IsDistinctFrom) expr() {}
func (*IsJSON) expr()         {}
func (*Subscript) expr()      {}
func (*IntervalDiff) expr()   {}
func (*FieldAccess) expr()    {}
func (*ArrayCons) expr()      {}
func (*MapCons) expr()        {}
func (*MultisetCons) expr()   {}
func (*RowCons) expr()        {}
func (*Grouping) expr()       {}
