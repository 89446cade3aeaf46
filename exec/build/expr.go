package build

import (
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/expr"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// evaluator turns a bound expression into one that computes columns.
func evaluator(e logical.Expr) (expr.Evaluator, error) {
	switch e := e.(type) {
	case *logical.Column:
		return expr.Column(e.Index, e.Type), nil
	case *logical.Literal:
		return expr.Literal(e.Value, e.Type), nil
	case *logical.Call:
		args, err := evaluators(e.Args)
		if err != nil {
			return nil, err
		}
		if e.User != nil {
			return expr.User(e.User.Impl, args, e.Type, where(e.Text, e)), nil
		}
		return expr.Call(e.Name, e.Units, args, e.Type, where(e.Text, e))
	case *logical.Cast:
		arg, err := evaluator(e.Arg)
		if err != nil {
			return nil, err
		}
		return expr.Cast(arg, e.Type, e.Try, where(e.Text, e))
	case *logical.Case:
		var conds, results []expr.Evaluator
		for _, w := range e.Whens {
			c, err := evaluator(w.Cond)
			if err != nil {
				return nil, err
			}
			r, err := evaluator(w.Result)
			if err != nil {
				return nil, err
			}
			conds, results = append(conds, c), append(results, r)
		}
		els, err := evaluator(e.Else)
		if err != nil {
			return nil, err
		}
		return expr.Case(conds, results, els, e.Type), nil
	case *logical.RowCons:
		args, err := evaluators(e.Args)
		if err != nil {
			return nil, err
		}
		return expr.Row(args, e.Type), nil
	case *logical.ArrayCons:
		args, err := evaluators(e.Args)
		if err != nil {
			return nil, err
		}
		return expr.Array(args, e.Type), nil
	case *logical.MapCons:
		args, err := evaluators(logical.Children(e)) // keys and values in turn
		if err != nil {
			return nil, err
		}
		return expr.Map(args, e.Type), nil
	case *logical.FieldAccess:
		arg, err := evaluator(e.Arg)
		if err != nil {
			return nil, err
		}
		return expr.FieldAccess(arg, e.Index), nil
	}
	return nil, fmt.Errorf("internal error: expression %T cannot be run", e)
}

func evaluators(es []logical.Expr) ([]expr.Evaluator, error) {
	out := make([]expr.Evaluator, len(es))
	for i, e := range es {
		var err error
		if out[i], err = evaluator(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// where is what an error shows of an expression: as it was written, or as the plan prints it.
func where(written string, e logical.Expr) expr.Where {
	if written != "" {
		return placed(written, logical.PosOf(e))
	}
	return expr.Where{Text: e.String()} // not of the statement's text
}

// placed is an expression of the statement's text.
func placed(text string, pos ast.Pos) expr.Where {
	if text == "" {
		return expr.Where{}
	}
	return expr.Where{Text: text, Line: pos.Line, Column: pos.Column, Offset: pos.Offset}
}

// Fold returns what computes a constant expression (no columns, nothing volatile) for the planner. An error is one that the expression has at run time:
// the planner then leaves it there.
func Fold(zone *time.Location, clock connectors.Clock) func(logical.Expr) (any, error) {
	return func(e logical.Expr) (any, error) {
		ev, err := evaluator(e)
		if err != nil {
			return nil, err
		}
		mem := memory.NewGoAllocator()
		ctx := expr.NewContext(mem, zone)
		if clock != nil {
			ctx.Now = clock.Now()
		}
		return evalOne(ctx, ev)
	}
}

// evalOne computes an expression without columns.
func evalOne(ctx *expr.Context, ev expr.Evaluator) (any, error) {
	one := array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 1)
	defer one.Release()
	a, err := ev.Eval(ctx, expr.Input{Record: one, Rows: 1})
	if err != nil {
		return nil, err
	}
	defer a.Release()
	return own(types.Get(a, 0, ev.Type())), nil
}

// own copies what a value shares with the array that it came from.
func own(v any) any {
	switch v := v.(type) {
	case string:
		return string(append([]byte(nil), v...))
	case []byte:
		return append([]byte{}, v...)
	case []any:
		for i := range v {
			v[i] = own(v[i])
		}
	case types.RowVal:
		for i := range v {
			v[i] = own(v[i])
		}
	case types.MapVal:
		for i := range v {
			v[i] = types.MapEntry{Key: own(v[i].Key), Val: own(v[i].Val)}
		}
	}
	return v
}

// Rows makes a batch of canonical values, for results that are there already. Its memory is ordinary Go memory: Release need not be called.
func Rows(columns types.Schema, values [][]any) (stream.Batch, error) {
	b := array.NewRecordBuilder(memory.NewGoAllocator(), columns.Arrow())
	defer b.Release()
	for _, row := range values {
		if len(row) != len(columns) {
			return stream.Batch{}, fmt.Errorf("internal error: a row of %d values for %d columns", len(row), len(columns))
		}
		for i, v := range row {
			if err := types.Append(b.Field(i), v, columns[i].Type); err != nil {
				return stream.Batch{}, err
			}
		}
	}
	if len(columns) == 0 {
		return stream.Batch{Record: array.NewRecordBatch(columns.Arrow(), nil, int64(len(values)))}, nil
	}
	return stream.Batch{Record: b.NewRecordBatch()}, nil
}
