package op

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/expr"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Calc filters rows and computes columns. It keeps no state (unless an expression does, see expr.OrderDependent), so that several workers can run it.
// Kinds, Before and Seq go with the rows; a column that is passed on is not copied.
//
// A filter that passes only one row of an update pair makes a -D of the -U, or a +I of the +U.
type Calc struct {
	exec.Base
	filter      expr.Evaluator
	projections []expr.Evaluator
	schema      *arrow.Schema
	env         *exec.Env
	ctx         *expr.Context
}

// NewCalc returns the operator. filter is BOOLEAN, nil for none; schema is that of the projections.
func NewCalc(filter expr.Evaluator, projections []expr.Evaluator, schema types.Schema) *Calc {
	return &Calc{filter: filter, projections: projections, schema: schema.Arrow()}
}

// Open implements exec.Operator.
func (o *Calc) Open(_ context.Context, env *exec.Env, _ exec.StateReader) error {
	o.env = env
	o.ctx = expr.NewContext(env.Allocator, env.Zone)
	o.ctx.Database = env.Config["database"]
	return nil
}

// sparse is the share of rows, one in so many, from which on a selection is worth a copy of the selected rows.
const sparse = 4

// ProcessBatch implements exec.Operator.
func (o *Calc) ProcessBatch(_ context.Context, _ int, b stream.Batch, out exec.Output) error {
	if o.env.Clock != nil {
		o.ctx.Now = o.env.Clock.Now()
	}
	rows := int(b.Record.NumRows())
	in := expr.Input{Record: b.Record, Rows: rows, Selection: b.Selection, Watermark: b.Before}
	if o.filter != nil {
		passed, err := o.filter.Eval(o.ctx, in)
		if err != nil {
			b.Release()
			return err
		}
		o.narrow(&b, passed.(*array.Boolean))
		passed.Release()
		in.Selection = b.Selection
	}
	if b.Len() == 0 {
		b.Release()
		return nil
	}
	cols := make([]arrow.Array, 0, len(o.projections))
	for _, p := range o.projections {
		c, err := p.Eval(o.ctx, in)
		if err != nil {
			releaseAll(cols)
			b.Release()
			return err
		}
		cols = append(cols, c)
	}
	b.Release()
	b.Record = newRecord(o.schema, cols, rows)
	if b.Selection != nil && len(b.Selection)*sparse <= rows {
		b = dense(o.env.Allocator, b)
	}
	return out.Emit(b)
}

// narrow reduces the selection of b to the rows for which passed is TRUE.
func (o *Calc) narrow(b *stream.Batch, passed *array.Boolean) {
	n := b.Len()
	sel := make([]int32, 0, n)
	nulls := passed.NullN() > 0
	if b.Selection == nil {
		for r := range n {
			if passed.Value(r) && !(nulls && passed.IsNull(r)) {
				sel = append(sel, int32(r))
			}
		}
	} else {
		for _, r := range b.Selection {
			if passed.Value(int(r)) && !(nulls && passed.IsNull(int(r))) {
				sel = append(sel, r)
			}
		}
	}
	if len(sel) == n {
		return
	}
	if b.Kinds != nil {
		o.splitPairs(b, sel)
	}
	b.Selection = sel
}

// splitPairs rewrites the kinds of rows whose other half did not pass.
func (o *Calc) splitPairs(b *stream.Batch, sel []int32) {
	ok := make([]bool, len(b.Kinds))
	for _, r := range sel {
		ok[r] = true
	}
	var kinds []stream.RowKind // Kinds is sealed: a copy, once there is something to change
	set := func(r int, k stream.RowKind) {
		if kinds == nil {
			kinds = append([]stream.RowKind(nil), b.Kinds...)
		}
		kinds[r] = k
	}
	for i, n := 0, b.Len(); i < n; i++ {
		r := b.Row(i)
		if b.Kinds[r] != stream.UpdateBefore || i+1 == n {
			continue
		}
		next := b.Row(i + 1)
		if b.Kinds[next] != stream.UpdateAfter {
			continue
		}
		switch {
		case ok[r] && !ok[next]:
			set(r, stream.Delete)
		case !ok[r] && ok[next]:
			set(next, stream.Insert)
		}
		i++
	}
	if kinds != nil {
		b.Kinds = kinds
	}
}
