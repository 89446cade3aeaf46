package logical

import (
	"strings"
	"time"

	"github.com/weir-sql/weir/parser/ast"
)

// Emit says when windows give results besides the moment at which they close: what an EMIT hint or table.exec.emit.* asks for.
type Emit struct {
	// Early: while the window is open, each such span of processing time from the first row of the key on; 0 at every row, negative never.
	Early time.Duration
	// Late: so long in processing time behind a row that came within Lateness; 0 at the row, negative when Lateness is 0.
	Late time.Duration
	// Lateness: for how long (event time) behind its close a window still takes rows.
	Lateness time.Duration
	// Pos and Clause say who asked for it.
	Pos    ast.Pos
	Clause string
}

// None reports that windows give their results once, when they close.
func (e *Emit) None() bool { return e == nil || e.Early < 0 && e.Lateness == 0 }

func (e *Emit) String() string {
	var parts []string
	add := func(what string, d time.Duration) {
		parts = append(parts, what+" "+d.String())
	}
	if e.Early >= 0 {
		add("early", e.Early)
	}
	if e.Lateness > 0 {
		add("late", e.Late)
		add("allowed lateness", e.Lateness)
	}
	return strings.Join(parts, ", ")
}
