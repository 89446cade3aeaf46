package expr

import "fmt"

// Where is an expression as the user wrote it, for errors at run time.
type Where struct {
	Text string
	// Line, Column (from 1, in runes) and Offset (in bytes) say where it begins in the statement; Line is 0 when it is not written there, as what comes
	// from a view or a computed column.
	Line, Column, Offset int
}

// Error is a failure of an expression.
type Error struct {
	Cause error
	Where Where
}

// Error is such as "division by zero in `a / b`".
func (e *Error) Error() string { return fmt.Sprintf("%v in `%s`", e.Cause, e.Where.Text) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

func (w Where) fail(cause error) error { return &Error{cause, w} }
