package expr

import (
	"slices"
	"time"

	"github.com/weir-sql/weir/types"
)

// User calls a function of the session for each selected row. impl makes what computes it for one batch, of the types of the arguments and the session
// time zone; arguments and result are in canonical form, nil for NULL. It may be called by several goroutines at once, what it makes by one.
func User(impl func([]types.Type, *time.Location) func([]any) (any, error), args []Evaluator, result types.Type, where Where) Evaluator {
	ts := make([]types.Type, len(args))
	for i, a := range args {
		ts[i] = a.Type()
	}
	c := &call{args: slices.Clone(args), result: result, where: where}
	return &rowEval[any]{call: c, nulls: true, prepare: func(e *env, o []operand) (func(int) (any, error), error) {
		f := impl(ts, e.zone())
		row := make([]any, len(o))
		return func(i int) (any, error) {
			for j := range o {
				row[j] = o[j].value(i)
			}
			v, err := f(row)
			if err == nil && v == nil {
				err = errNull
			}
			return v, err
		}, nil
	}}
}
