package logical

import (
	"fmt"

	"github.com/weir-sql/weir/parser/ast"
)

// Codes of the planner's errors; catalog's begin with WEIR-110, refusals of what is not supported yet with WEIR-15 (planner/bind/unsupported.go).
const (
	CodeUnknownColumn   = "WEIR-1102"
	CodeAmbiguous       = "WEIR-1103"
	CodeUnknownFunction = "WEIR-1104"
	CodeDuplicateName   = "WEIR-1109"

	CodeArguments = "WEIR-1201" // wrong number or types of arguments
	CodeCast      = "WEIR-1202" // no such cast
	CodeSinkTypes = "WEIR-1203" // INSERT: types do not fit
	CodeConstant  = "WEIR-1204" // a constant that cannot be computed, a literal that cannot be read
	CodeNotBool   = "WEIR-1205"
	CodeBranches  = "WEIR-1206" // types that do not meet: CASE, UNION, VALUES
	CodeType      = "WEIR-1207" // a type that does not exist

	CodeAggregate   = "WEIR-1301" // an aggregate where none may be
	CodeNotGrouped  = "WEIR-1302"
	CodeWindow      = "WEIR-1303"
	CodeTimeAttr    = "WEIR-1304"
	CodeOrdinal     = "WEIR-1305"
	CodeColumnCount = "WEIR-1306"
	CodeHint        = "WEIR-1307"
	CodeOption      = "WEIR-1308"
	CodeStatement   = "WEIR-1310"

	CodeUpdatingSink = "WEIR-1401" // changes into a sink that only adds
	CodeSort         = "WEIR-1402"
	CodeUnsteady     = "WEIR-1405" // another value when a row is taken back
	CodeBatchMode    = "WEIR-1403"
	CodeNoSource     = "WEIR-1404" // a table that cannot be read, or written

	CodeTable    = "WEIR-1601" // a table declaration that makes no sense
	CodeNoSuch   = "WEIR-1602" // ALTER of something that is not there
	CodeInternal = "WEIR-1999" // a bug of ours
)

// Error is an error of the planner: what, where, why and what to do.
type Error struct {
	// Pos is the place in the user's text; not valid when there is none. End is the byte offset just behind it, 0 when not known.
	Pos ast.Pos
	End int
	// Code is stable and listed in the docs.
	Code string
	// Msg says what is wrong, in one line.
	Msg string
	// Hint says what to do; may be empty.
	Hint string
}

// Error gives line:column: message; hint.
func (e *Error) Error() string {
	s := e.Msg
	if e.Pos.IsValid() {
		s = fmt.Sprintf("%d:%d: %s", e.Pos.Line, e.Pos.Column, s)
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Errorf makes an error at a node of the syntax tree (nil: no place).
func Errorf(n ast.Node, code, hint, format string, args ...any) *Error {
	e := &Error{Code: code, Hint: hint, Msg: fmt.Sprintf(format, args...)}
	if n != nil {
		e.Pos, e.End = n.Pos(), n.End()
	}
	return e
}

// ErrorAt makes an error at a place.
func ErrorAt(pos ast.Pos, code, hint, format string, args ...any) *Error {
	return &Error{Pos: pos, Code: code, Hint: hint, Msg: fmt.Sprintf(format, args...)}
}
