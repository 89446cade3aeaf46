package expr

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-sql/weir/types"
)

func init() {
	define("COALESCE", func(c *call) (Evaluator, error) { return &coalesceEval{c}, nil })
	define("IFNULL", func(c *call) (Evaluator, error) { return &coalesceEval{c}, nil })
	define("IF", func(c *call) (Evaluator, error) {
		return Case(c.args[:1], c.args[1:2], c.args[2], c.result), nil
	})
	define("NULLIF", func(c *call) (Evaluator, error) {
		// The result has the type of the first argument, whatever both are compared as.
		a, b := c.args[0], c.args[1]
		if v, ok := constant(b); ok && v == nil {
			return a, nil
		}
		if v, ok := constant(a); ok && v == nil {
			return Literal(nil, c.result), nil
		}
		return &nullIfEval{c}, nil
	})
}

// branch is the rows of a CASE that take their value from op.
type branch struct {
	rows []int32
	op   operand
}

// merge puts the values of branches together; rows of no branch are NULL.
func merge(ctx *Context, t types.Type, n int, branches []branch) (arrow.Array, error) {
	switch t.Kind {
	case types.TinyInt:
		return mergeFixed[int8](ctx, t, n, branches), nil
	case types.SmallInt:
		return mergeFixed[int16](ctx, t, n, branches), nil
	case types.Int, types.Date, types.Time, types.IntervalYearMonth:
		return mergeFixed[int32](ctx, t, n, branches), nil
	case types.BigInt, types.Timestamp, types.TimestampLTZ, types.IntervalDayTime:
		return mergeFixed[int64](ctx, t, n, branches), nil
	case types.Float:
		return mergeFixed[float32](ctx, t, n, branches), nil
	case types.Double:
		return mergeFixed[float64](ctx, t, n, branches), nil
	case types.Decimal:
		return mergeFixed[decimal128.Num](ctx, t, n, branches), nil
	}
	which := make([]int8, n) // the branch of a row, from 1; 0 is none. A CASE with more branches is rare: it takes the slow road below.
	if len(branches) > 127 {
		return mergeMany(ctx, t, n, branches)
	}
	for b := range branches {
		for _, i := range branches[b].rows {
			which[i] = int8(b + 1)
		}
	}
	if t.IsText() {
		out := newVarSink[string](ctx, t, n)
		readers := make([]func(int) string, len(branches))
		for b := range branches {
			readers[b] = stringReader(branches[b].op)
		}
		for i, w := range which {
			if w == 0 || !branches[w-1].op.valid(i) {
				out.null()
			} else if err := out.append(readers[w-1](i)); err != nil {
				out.release()
				return nil, err
			}
		}
		return out.finish(), nil
	}
	b := types.NewBuilder(ctx.Mem, t)
	defer b.Release()
	b.Reserve(n)
	for i, w := range which {
		if err := mergeRow(b, t, i, int(w)-1, branches); err != nil {
			return nil, err
		}
	}
	return b.NewArray(), nil
}

func mergeRow(b array.Builder, t types.Type, i, w int, branches []branch) error {
	switch {
	case w < 0 || !branches[w].op.valid(i):
		b.AppendNull()
	case branches[w].op.arr == nil:
		return types.Append(b, branches[w].op.v, t)
	default:
		types.AppendFrom(b, branches[w].op.arr, i)
	}
	return nil
}

func mergeMany(ctx *Context, t types.Type, n int, branches []branch) (arrow.Array, error) {
	which := make([]int, n)
	for b := range branches {
		for _, i := range branches[b].rows {
			which[i] = b + 1
		}
	}
	b := types.NewBuilder(ctx.Mem, t)
	defer b.Release()
	for i, w := range which {
		if err := mergeRow(b, t, i, w-1, branches); err != nil {
			return nil, err
		}
	}
	return b.NewArray(), nil
}

func mergeFixed[T fixed](ctx *Context, t types.Type, n int, branches []branch) arrow.Array {
	buf, vals := newBuffer[T](ctx, n)
	clear(vals)
	valid := newBitmap(ctx, n)
	bits := valid.Bytes()
	for _, b := range branches {
		switch {
		case b.op.arr == nil:
			v := rawConst[T](b.op.v)
			for _, i := range b.rows {
				vals[i] = v
				bits[i/8] |= 1 << (i % 8)
			}
		case b.op.arr.DataType().ID() == arrow.NULL:
		default:
			from := rawValues[T](b.op.arr)
			nulls := b.op.hasNulls()
			for _, i := range b.rows {
				vals[i] = from[i]
				if !nulls || b.op.arr.IsValid(int(i)) {
					bits[i/8] |= 1 << (i % 8)
				}
			}
		}
	}
	return finish(t.Arrow(), n, valid, buf)
}

// caseEval is CASE with conditions.
type caseEval struct {
	conds, results []Evaluator
	els            Evaluator
	t              types.Type
}

func (e *caseEval) Type() types.Type { return e.t }
func (e *caseEval) children() []Evaluator {
	return append(append(append([]Evaluator{}, e.conds...), e.results...), e.els)
}

func (e *caseEval) Eval(ctx *Context, in Input) (arrow.Array, error) {
	var branches []branch
	rest := in
	defer func() {
		for _, b := range branches {
			ctx.putSelection(b.rows)
			b.op.release()
		}
	}()
	add := func(rows []int32, x Evaluator) error {
		branches = append(branches, branch{rows: rows})
		if v, ok := constant(x); ok && v == nil {
			branches = branches[:len(branches)-1]
			ctx.putSelection(rows)
			return nil
		}
		op, err := evalOperand(ctx, x, in.with(rows))
		branches[len(branches)-1].op = op
		return err
	}
	for k, cond := range e.conds {
		rows, err := Filter(ctx, cond, rest, ctx.selection(in.Rows))
		if err != nil {
			ctx.putSelection(rows)
			return nil, err
		}
		if len(rows) == 0 {
			ctx.putSelection(rows)
			continue
		}
		if len(rows) == in.Len() && len(branches) == 0 { // the only branch that is taken
			ctx.putSelection(rows)
			return e.results[k].Eval(ctx, in)
		}
		left := without(make([]int32, 0, rest.Len()-len(rows)), rest.Selection, rows, in.Rows)
		if err := add(rows, e.results[k]); err != nil {
			return nil, err
		}
		if rest = in.with(left); len(left) == 0 {
			break
		}
	}
	if rest.Len() == in.Len() {
		return e.els.Eval(ctx, in)
	}
	if rest.Len() > 0 {
		if err := add(append(ctx.selection(in.Rows), rest.Selection...), e.els); err != nil {
			return nil, err
		}
	}
	return merge(ctx, e.t, in.Rows, branches)
}

// coalesceEval is the first argument that is not NULL; later ones are evaluated only for the rows where the earlier ones are NULL.
type coalesceEval struct{ *call }

func (e *coalesceEval) Type() types.Type      { return e.result }
func (e *coalesceEval) children() []Evaluator { return e.args }

func (e *coalesceEval) Eval(ctx *Context, in Input) (arrow.Array, error) {
	var branches []branch
	defer func() {
		for _, b := range branches {
			b.op.release()
		}
	}()
	rest := in
	for _, x := range e.args {
		if v, ok := constant(x); ok && v == nil {
			continue
		}
		op, err := evalOperand(ctx, x, rest)
		if err != nil {
			return nil, err
		}
		if len(branches) == 0 && op.arr != nil && !op.hasNulls() {
			return op.arr, nil
		}
		var taken, left []int32
		for k := range rest.Len() {
			i := int32(k)
			if rest.Selection != nil {
				i = rest.Selection[k]
			}
			if op.valid(int(i)) {
				taken = append(taken, i)
			} else {
				left = append(left, i)
			}
		}
		branches = append(branches, branch{taken, op})
		if rest = in.with(left); len(left) == 0 {
			break
		}
	}
	return merge(ctx, e.result, in.Rows, branches)
}

// nullIfEval is NULLIF(a, b): NULL where a = b, else a.
type nullIfEval struct{ *call }

func (e *nullIfEval) Type() types.Type      { return e.result }
func (e *nullIfEval) children() []Evaluator { return e.args }

func (e *nullIfEval) Eval(ctx *Context, in Input) (arrow.Array, error) {
	a, err := e.args[0].Eval(ctx, in)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	ga := &given{a, e.args[0].Type()}
	l, r, err := comparable2(ga, e.args[1], e.where)
	if err != nil {
		return nil, err
	}
	return Case([]Evaluator{newCompare(opEQ, l, r, types.BooleanType)}, []Evaluator{Literal(nil, e.result)}, ga, e.result).Eval(ctx, in)
}

// comparable2 casts two operands to the type that they are compared as.
func comparable2(l, r Evaluator, where Where) (Evaluator, Evaluator, error) {
	a, b := l.Type(), r.Type()
	t := a
	switch {
	case a.SameKind(b), a.IsText() && b.IsText(), a.Kind == types.Decimal && b.Kind == types.Decimal:
		return l, r, nil
	case a.IsNumeric() && b.IsNumeric():
		switch {
		case a.IsApprox() || b.IsApprox():
			t = types.DoubleType
		case a.Kind == types.Decimal || b.Kind == types.Decimal:
			// DECIMALs of any scales compare.
			var err error
			if l, err = newCast(l, a.AsDecimal(), false, where); err != nil {
				return nil, nil, err
			}
			r, err = newCast(r, b.AsDecimal(), false, where)
			return l, r, err
		case b.Kind > a.Kind:
			t = b
		}
	case a.IsTimestamp() && b.IsTimestamp():
		t.Precision = max(a.Precision, b.Precision)
		if a.Kind != b.Kind {
			t.Kind = types.Timestamp
		}
	case b.IsDatetime() && a.IsText():
		t = b
	}
	var err error
	if l, err = newCast(l, t, false, where); err != nil {
		return nil, nil, err
	}
	r, err = newCast(r, t, false, where)
	return l, r, err
}
