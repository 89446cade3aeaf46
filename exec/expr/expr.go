// Package expr has the evaluators of scalar expressions and their kernels, and the accumulators of aggregates.
//
// Evaluation is vectorised: an Evaluator computes a whole column. Kernels work on raw slices of Arrow buffers; rows that are not selected are computed
// or not, as is faster, but never fail. What decides which operand is evaluated at all (AND, OR, CASE, COALESCE, IF) narrows the selection, so that
// `x <> 0 AND 1 / x > 2` never divides by zero.
package expr

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Evaluator computes one column. Evaluators hold no state of a run and are safe for use by several goroutines, each with its own Context; see
// OrderDependent for the exception.
type Evaluator interface {
	// Type is the SQL type of the column; its Arrow type is Type().Arrow().
	Type() types.Type
	// Eval computes the value of every selected row of in. The result has in.Rows entries; those of rows that are not selected are valid memory but
	// undefined (often NULL). The caller owns the result and releases it. An error is one of a selected row.
	Eval(ctx *Context, in Input) (arrow.Array, error)
}

// Input is the rows that an evaluator works on.
type Input struct {
	Record arrow.RecordBatch
	Rows   int // of Record
	// Selection lists the rows to compute, ascending; nil means all.
	Selection []int32
	// Watermark has the watermark before each row, for CURRENT_WATERMARK; nil unless the plan asks for it (see NeedsWatermark).
	Watermark []stream.Time
}

// Len is the number of selected rows.
func (in Input) Len() int {
	if in.Selection != nil {
		return len(in.Selection)
	}
	return in.Rows
}

// with returns in narrowed to sel, which is never nil.
func (in Input) with(sel []int32) Input {
	if sel == nil {
		sel = []int32{}
	}
	in.Selection = sel
	return in
}

// Context is what evaluation needs from outside. One goroutine uses it at a time and keeps it from batch to batch (it holds scratch memory and caches).
type Context struct {
	// Mem is where results are allocated.
	Mem memory.Allocator
	// Now is the processing time of the batch.
	Now time.Time
	// Zone is the session time zone; nil means UTC.
	Zone *time.Location
	// Database is the name that CURRENT_DATABASE() returns.
	Database string

	scratch
}

// NewContext returns a Context for zone (nil: UTC).
func NewContext(mem memory.Allocator, zone *time.Location) *Context {
	return &Context{Mem: mem, Zone: zone}
}

// Column reads column i of the input, of type t.
func Column(i int, t types.Type) Evaluator { return &column{i: i, t: t} }

// Literal is the constant v (types' canonical form; nil is NULL) of type t.
func Literal(v any, t types.Type) Evaluator { return &literal{v: v, t: t} }

// Call applies the function or operator called name (canonical: upper case, operators by their sign) to args, which already have the types that the
// function's signature in the catalog asks for. units are the time units and other words of the call.
func Call(name string, units []string, args []Evaluator, result types.Type, where Where) (Evaluator, error) {
	build := builders[name]
	if build == nil {
		return nil, fmt.Errorf("function %s is not supported", name)
	}
	return build(&call{name: name, units: units, args: slices.Clone(args), result: result, where: where})
}

// call is a call on its way to become an Evaluator, and what the Evaluator keeps of it.
type call struct {
	name   string
	units  []string
	args   []Evaluator
	result types.Type
	where  Where
}

// fail is an error of the call as the user sees it: `division by zero in a / b`.
func (c *call) fail(format string, a ...any) error {
	return c.where.fail(fmt.Errorf(format, a...))
}

// builder turns a call into an Evaluator.
type builder func(c *call) (Evaluator, error)

var builders = map[string]builder{}

// define adds a function at init.
func define(name string, b builder) {
	if builders[name] != nil {
		panic("function " + name + " defined twice")
	}
	builders[name] = b
}

// Names lists the implemented scalar functions and operators, sorted.
func Names() []string {
	names := make([]string, 0, len(builders))
	for n := range builders {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// children is implemented by evaluators that have operands.
type children interface{ children() []Evaluator }

// walk calls f for e and all evaluators below it until f returns true.
func walk(e Evaluator, f func(Evaluator) bool) bool {
	if f(e) {
		return true
	}
	if p, ok := e.(children); ok {
		for _, c := range p.children() {
			if walk(c, f) {
				return true
			}
		}
	}
	return false
}

// NeedsWatermark reports whether e reads Input.Watermark.
func NeedsWatermark(e Evaluator) bool {
	return walk(e, func(e Evaluator) bool { _, ok := e.(*currentWatermark); return ok })
}

// OrderDependent reports whether e keeps state from row to row (RAND with a seed), so that batches must come to it in order, one at a time.
func OrderDependent(e Evaluator) bool {
	return walk(e, func(e Evaluator) bool {
		s, ok := e.(interface{ orderDependent() bool })
		return ok && s.orderDependent()
	})
}
