package weir

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weir-sql/weir/exec/expr"
	"github.com/weir-sql/weir/parser"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/types"
)

// Error is an error for the user: what, where, why and what to do.
type Error struct {
	// Code is stable ("WEIR-1203") and listed in docs/errors.md.
	Code string
	// Msg says what is wrong.
	Msg string
	// Hint says what to do; may be empty.
	Hint string
	// Line and Column, from 1, in runes, say where in the text that was executed; 0 when there is no place. Offset and End are the same in bytes.
	Line, Column int
	Offset, End  int
	cause        error
}

// Error gives `message [code]`, with line:column in front and the hint behind where there are such.
func (e *Error) Error() string {
	var sb strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&sb, "%d:%d: ", e.Line, e.Column)
	}
	sb.WriteString(printable(e.Msg))
	if e.Code != "" {
		fmt.Fprintf(&sb, " [%s]", e.Code)
	}
	if e.Hint != "" {
		sb.WriteString("; " + printable(e.Hint))
	}
	return sb.String()
}

// Unwrap returns what caused the error.
func (e *Error) Unwrap() error { return e.cause }

// Render gives the error with the line of the script and a caret under the place. text is the script, name its file name or "". The error's
// position must be that of the script: see Statement.Place.
func (e *Error) Render(text, name string) string {
	pe := &parser.Error{Pos: ast.Pos{Offset: e.Offset, Line: e.Line, Column: e.Column}, End: e.End, Msg: printable(e.Msg), Hint: printable(e.Hint), Code: e.Code}
	if e.Line > 0 {
		return pe.Render(HideSecrets(text), name)
	}
	s := pe.Msg
	if name != "" {
		s = name + ": " + s
	}
	if e.Code != "" {
		s += " [" + e.Code + "]"
	}
	s += "\n"
	if e.Hint != "" {
		s += "  hint: " + pe.Hint + "\n"
	}
	return s
}

// printable escapes what data has brought into a message, but for line ends.
func printable(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = types.Printable(l)
	}
	return strings.Join(lines, "\n")
}

func newError(code, msg, hint string) *Error { return &Error{Code: code, Msg: msg, Hint: hint} }

// asError turns any error into an *Error; positioned errors of the parser and the planner keep their place.
func asError(err error) error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	var pe *parser.Error
	if errors.As(err, &pe) {
		return &Error{Code: pe.Code, Msg: pe.Msg, Hint: pe.Hint, Line: pe.Pos.Line, Column: pe.Pos.Column, Offset: pe.Pos.Offset, End: pe.End, cause: err}
	}
	if e := plannerError(err); e != nil {
		return e
	}
	e := &Error{Code: "WEIR-4001", Msg: err.Error(), cause: err}
	var failed *expr.Error
	if errors.As(err, &failed) && failed.Where.Line > 0 {
		w := failed.Where
		e.Line, e.Column, e.Offset, e.End = w.Line, w.Column, w.Offset, w.Offset+len(w.Text)
	}
	return e
}

// Statement is one statement of a script.
type Statement struct {
	Text string
	// Offset, Line and Column say where Text begins in the script.
	Offset, Line, Column int
	// Next is the byte offset behind the statement's semicolon.
	Next int
}

// Place moves the position of an error of this statement into the script.
func (s Statement) Place(err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Line == 0 {
		return err
	}
	moved := *e
	if moved.Line == 1 {
		moved.Column += s.Column - 1
	}
	moved.Line += s.Line - 1
	moved.Offset += s.Offset
	moved.End += s.Offset
	return &moved
}

// Script is a text cut into statements.
type Script struct {
	Statements []Statement
	// Open says what is unfinished at the end ("in string", "in comment", ...), "" when nothing is. The unfinished statement is the last of Statements
	// when Unfinished is set.
	Open       string
	Unfinished bool
	// OpenLine and OpenColumn say where that began.
	OpenLine, OpenColumn int
}

// Split cuts a script at its semicolons (those outside of strings, names, comments and statement sets). A broken statement is cut like any other.
func Split(text string) Script {
	parts, rest := parser.Split(text)
	var s Script
	add := func(p parser.Part) {
		s.Statements = append(s.Statements, Statement{Text: text[p.Start.Offset:p.End], Offset: p.Start.Offset, Line: p.Start.Line, Column: p.Start.Column, Next: p.Next})
	}
	for _, p := range parts {
		add(p)
	}
	s.Open, s.OpenLine, s.OpenColumn = string(rest.Open), rest.Pos.Line, rest.Pos.Column
	if rest.Part.End > rest.Part.Start.Offset {
		add(rest.Part)
		s.Unfinished = true
	}
	return s
}
