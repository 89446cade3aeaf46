// Package ast has the syntax tree of Weir's SQL: node types, a walker and a
// printer. It imports nothing else of the project.
//
// # Shape
//
// A script is a list of [Statement]. A [Query] is a body ([Select], [SetOp],
// [Values] or a nested query) with WITH, ORDER BY, LIMIT and OFFSET. FROM holds
// a [TableRef] (joins are binary trees), and expressions are [Expr].
//
// The tree is purely syntactic: names are not resolved, types are [TypeName],
// literals keep their text, and operators are not checked. Parentheses leave
// no node; the tree's shape has the precedence.
//
// Optional parts are nil pointers, nil interfaces or empty slices. Nodes are
// pointers, except small parts that live inside another node ([Ident],
// [SelectItem], [OrderItem], ...). A tree belongs to whoever parsed it; the
// parser keeps no reference.
package ast

import "strings"

// Pos is a place in the source text. Line and Column start at 1; Column counts
// runes, Offset bytes. The zero Pos means that the place is not known (a node
// that was made, not parsed).
type Pos struct {
	Offset, Line, Column int
}

// IsValid reports whether p is a real place.
func (p Pos) IsValid() bool { return p.Line > 0 }

// Span is the part of the text that a node was made of: from Start up to the
// byte offset Stop (exclusive). It is embedded in every node.
type Span struct {
	Start Pos
	Stop  int
}

// Pos gives the place of the node's first character.
func (s Span) Pos() Pos { return s.Start }

// End gives the byte offset just behind the node.
func (s Span) End() int { return s.Stop }

// Node is anything in the tree.
type Node interface {
	Pos() Pos
	End() int
}

// Statement is one statement of a script.
type Statement interface {
	Node
	// Base gives the parts that all statements have.
	Base() *StmtBase
}

// StmtBase is embedded in every statement.
type StmtBase struct {
	Span
	// Source is the statement's text as written, without the semicolon and
	// without comments around it. Statements inside another one (EXPLAIN's,
	// STATEMENT SET's) have theirs too.
	Source string `dump:"-"`
	// Extensions lists, in text order, what Flink would not accept in this
	// statement. Inner statements leave theirs to the outermost one.
	Extensions []Extension `dump:"-"`
}

// Base implements Statement.
func (b *StmtBase) Base() *StmtBase { return b }

// SourceOf gives the text of a node that lies inside the statement, as written.
// It is empty for a node that was not parsed with it.
func (b *StmtBase) SourceOf(n Node) string {
	from, to := n.Pos().Offset-b.Start.Offset, n.End()-b.Start.Offset
	if !n.Pos().IsValid() || from < 0 || to > len(b.Source) || from > to {
		return ""
	}
	return b.Source[from:to]
}

// ExtensionKind says in which way a construct goes beyond Flink SQL.
type ExtensionKind string

// The kinds of Extension.
const (
	ExtNotEqual      ExtensionKind = "not-equal"       // != instead of <>
	ExtHint          ExtensionKind = "hint"            // /*+ LATE_ROWS(..) */ without the weir mark
	ExtReservedWord  ExtensionKind = "reserved-word"   // a word that Flink reserves, used bare as a name
	ExtFileTable     ExtensionKind = "file-table"      // FROM 'x.csv'
	ExtStatement     ExtensionKind = "statement"       // a statement that Flink does not have
	ExtSeveralOnLine ExtensionKind = "several-on-line" // two statements on one line
	ExtTableOption   ExtensionKind = "table-option"    // an option of Weir's in WITH or OPTIONS, bare
	ExtGroupBy       ExtensionKind = "group-by"        // GROUP BY an alias or a position
	ExtMemoryTable   ExtensionKind = "memory-table"    // a table without WITH, which is in memory
	ExtInferred      ExtensionKind = "inferred"        // a table without columns, which are inferred
	ExtEmit          ExtensionKind = "emit"            // windows that table.exec.emit.* applies to
	ExtSyntax        ExtensionKind = "syntax"          // anything else
)

// Extension is one construct that Flink would not accept.
type Extension struct {
	Span
	Kind ExtensionKind
	// Text is the construct as written.
	Text string
	// Portable is what to write instead, so that Flink accepts the script and
	// Weir means the same; empty when there is no such text.
	Portable string
}

// Ident is one name. Quoted tells `name` from name; Name is without quotes, and
// its case is kept: tables and columns match case-sensitively.
type Ident struct {
	Span
	Name   string
	Quoted bool `dump:"-"`
}

// ObjectName is a name of one to three parts: [[catalog.]database.]object.
type ObjectName struct {
	Span
	Parts []Ident
}

// Last gives the object's own name, without catalog and database.
func (n ObjectName) Last() string {
	if len(n.Parts) == 0 {
		return ""
	}
	return n.Parts[len(n.Parts)-1].Name
}

// Strings gives the parts' names.
func (n ObjectName) Strings() []string {
	out := make([]string, len(n.Parts))
	for i, p := range n.Parts {
		out[i] = p.Name
	}
	return out
}

// String joins the parts with dots, without quotes: for messages.
func (n ObjectName) String() string { return strings.Join(n.Strings(), ".") }

// StringLit is a string literal in a place where only such a one may stand
// (comments, paths, option keys). Value is without quotes.
type StringLit struct {
	Span
	Value string
}

// Option is 'key' = 'value', in WITH, SET and the like.
type Option struct {
	Span
	Key, Value StringLit
}

// Hint is one NAME(...) of a hint comment.
type Hint struct {
	Span
	Name string // upper case
	Args []HintArg
	// Weir tells /*weir+ .. */ (a comment for Flink) from /*+ .. */.
	Weir bool
}

// HintArg is 'key' = 'value' (Value set), 'text' or a bare name.
type HintArg struct {
	Span
	Key string
	// Quoted is whether Key was written as a string.
	Quoted bool
	Value  *StringLit
}

// TypeName is a data type as written. Name is in upper case and normalised:
// INTEGER is INT, DEC and NUMERIC are DECIMAL, DOUBLE PRECISION is DOUBLE,
// TIMESTAMP WITH LOCAL TIME ZONE is TIMESTAMP_LTZ; others as the user wrote
// them (STRING and VARCHAR, BYTES and VARBINARY stay apart).
type TypeName struct {
	Span
	Name string
	// Params are the numbers in parentheses: length, precision, scale.
	Params []int
	// Elem is the element of ARRAY and MULTISET, and the value of MAP.
	Elem *TypeName
	// Key is the key of MAP.
	Key *TypeName
	// Fields are those of ROW and STRUCTURED.
	Fields []TypeField
	// Interval is set for INTERVAL types.
	Interval *IntervalQualifier
	// Strings are the arguments of RAW('class', 'serializer'), and the class of STRUCTURED<'class', ..>.
	Strings []StringLit
	// NotNull is whether NOT NULL follows; without it a type is nullable.
	NotNull bool
}

// TypeField is a field of a ROW type.
type TypeField struct {
	Span
	Name    Ident
	Type    *TypeName
	Comment *StringLit
}

// IntervalQualifier is the unit (range) of an interval: YEAR, DAY(3) TO
// SECOND(2), ... Units are upper case and singular. Precisions are -1 when not given.
type IntervalQualifier struct {
	Span
	From          string
	FromPrecision int
	// FromFraction is the second number of SECOND(p, s), -1 when not given.
	FromFraction int
	// To is empty for a single unit.
	To          string
	ToPrecision int
}
