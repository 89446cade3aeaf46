package expr

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-sql/weir/types"
)

// newCast is Cast. Casts that change nothing but the SQL type hand their column on.
func newCast(arg Evaluator, to types.Type, try bool, where Where) (Evaluator, error) {
	from := arg.Type()
	if !types.CanCast(from, to) {
		return nil, where.fail(fmt.Errorf("cannot cast %s to %s", from, to))
	}
	if v, ok := constant(arg); ok && !needsZone(from, to) {
		if c, err := types.Cast(v, from, to, nil); err == nil {
			return Literal(c, to), nil
		} else if try {
			return Literal(nil, to), nil
		} // a bad constant fails only where it is evaluated
	}
	if from.SameKind(to) {
		if from.Equal(to) {
			return arg, nil
		}
		return &castEval{arg: arg, to: to, same: true}, nil
	}
	e := &castEval{arg: arg, to: to, try: try, where: where}
	e.same = from.IsText() && to.Kind == types.VarChar && from.Length <= to.Length ||
		from.IsBytes() && to.Kind == types.VarBinary && from.Length <= to.Length ||
		from.Kind == to.Kind && from.IsTimestamp() && from.Precision <= to.Precision && from.Nanos() == to.Nanos() ||
		from.Kind == to.Kind && from.Kind == types.Time && from.Precision <= to.Precision ||
		from.Kind == to.Kind && from.IsInterval()
	return e, nil
}

// needsZone reports whether a cast depends on the session time zone.
func needsZone(from, to types.Type) bool {
	f, t := hasLTZ(from), hasLTZ(to)
	return f && !t || t && !f || f && t && !from.IsTimestamp()
}

func hasLTZ(t types.Type) bool {
	switch {
	case t.Kind == types.TimestampLTZ:
		return true
	case t.Kind == types.Row:
		for _, f := range t.Fields {
			if hasLTZ(f.Type) {
				return true
			}
		}
	case t.Elem != nil:
		return hasLTZ(*t.Elem) || t.Key != nil && hasLTZ(*t.Key)
	}
	return false
}

// castEval is CAST or TRY_CAST.
type castEval struct {
	arg   Evaluator
	to    types.Type
	try   bool
	same  bool // the column does not change
	where Where
}

func (e *castEval) Type() types.Type      { return e.to }
func (e *castEval) children() []Evaluator { return []Evaluator{e.arg} }

func (e *castEval) Eval(ctx *Context, in Input) (arrow.Array, error) {
	a, err := e.arg.Eval(ctx, in)
	if err != nil || e.same {
		return a, err
	}
	defer a.Release()
	if out := e.kernel(ctx, a); out != nil {
		return out, nil
	}
	return e.byRow(ctx, a, in)
}

// kernel casts between numbers; nil when there is no kernel, or some value does not fit (then byRow finds out which).
func (e *castEval) kernel(ctx *Context, a arrow.Array) arrow.Array {
	from := e.arg.Type()
	switch from.Kind {
	case types.TinyInt:
		return castFrom[int8](ctx, a, e.to)
	case types.SmallInt:
		return castFrom[int16](ctx, a, e.to)
	case types.Int:
		return castFrom[int32](ctx, a, e.to)
	case types.BigInt:
		return castFrom[int64](ctx, a, e.to)
	case types.Float:
		switch e.to.Kind {
		case types.Double:
			return castFrom[float32](ctx, a, e.to)
		case types.BigInt:
			return castToBigInt[float32](ctx, a)
		}
	case types.Double:
		switch e.to.Kind {
		case types.Float:
			return castFrom[float64](ctx, a, e.to)
		case types.BigInt:
			return castToBigInt[float64](ctx, a)
		}
	case types.Timestamp, types.TimestampLTZ:
		return e.timestamps(ctx, a, from)
	case types.Date:
		if e.to.Kind == types.Timestamp && !e.to.Nanos() {
			buf, dst := newBuffer[int64](ctx, a.Len())
			for i, d := range rawValues[int32](a) {
				dst[i] = int64(d) * types.MicrosPerDay
			}
			return finish(e.to.Arrow(), a.Len(), validity(ctx, a.Len(), operand{arr: a}), buf)
		}
	}
	return nil
}

func castFrom[F int8 | int16 | int32 | int64 | float32 | float64](ctx *Context, a arrow.Array, to types.Type) arrow.Array {
	switch to.Kind {
	case types.TinyInt:
		return castTo[F, int8](ctx, a, to, true)
	case types.SmallInt:
		return castTo[F, int16](ctx, a, to, true)
	case types.Int:
		return castTo[F, int32](ctx, a, to, true)
	case types.BigInt:
		return castTo[F, int64](ctx, a, to, false)
	case types.Decimal:
		return castToDecimal[F](ctx, a, to)
	case types.Float:
		return castTo[F, float32](ctx, a, to, false)
	case types.Double:
		return castTo[F, float64](ctx, a, to, false)
	}
	return nil
}

func castTo[F, T int8 | int16 | int32 | int64 | float32 | float64](ctx *Context, a arrow.Array, to types.Type, check bool) arrow.Array {
	src := rawValues[F](a)
	buf, dst := newBuffer[T](ctx, len(src))
	for i, v := range src {
		dst[i] = T(v)
	}
	if check {
		ok := true
		for i, v := range src {
			ok = ok && F(dst[i]) == v
		}
		if !ok {
			buf.Release()
			return nil
		}
	}
	return finish(to.Arrow(), len(src), validity(ctx, len(src), operand{arr: a}), buf)
}

// castToBigInt truncates toward zero where every value fits.
func castToBigInt[F float32 | float64](ctx *Context, a arrow.Array) arrow.Array {
	src := rawValues[F](a)
	buf, dst := newBuffer[int64](ctx, len(src))
	fit := uint64(1)
	for i, v := range src {
		fit &= bit(v >= -(1<<63)) & bit(v < 1<<63) // not of a NaN
		dst[i] = int64(v)
	}
	if fit == 0 {
		buf.Release()
		return nil
	}
	return finish(types.BigIntType.Arrow(), len(src), validity(ctx, len(src), operand{arr: a}), buf)
}

// castToDecimal casts integers where every value fits.
func castToDecimal[F int8 | int16 | int32 | int64 | float32 | float64](ctx *Context, a arrow.Array, to types.Type) arrow.Array {
	var digits int
	var z F
	switch any(z).(type) {
	case int8:
		digits = 3
	case int16:
		digits = 5
	case int32:
		digits = 10
	case int64:
		digits = 19
	default:
		return nil
	}
	if to.Scale > 18 || to.Precision-to.Scale < digits {
		return nil
	}
	unit := int64(1)
	for range to.Scale {
		unit *= 10
	}
	src := rawValues[F](a)
	buf, dst := newBuffer[decimal128.Num](ctx, len(src))
	for i, v := range src {
		dst[i] = mulInt64(int64(v), unit)
	}
	return finish(to.Arrow(), len(src), validity(ctx, len(src), operand{arr: a}), buf)
}

// timestamps casts between timestamps without a change of unit, and to DATE.
func (e *castEval) timestamps(ctx *Context, a arrow.Array, from types.Type) arrow.Array {
	n := a.Len()
	src := rawValues[int64](a)
	if from.Nanos() {
		return nil
	}
	wall := func(v int64) int64 { return v }
	switch {
	case from.Kind == types.TimestampLTZ && e.to.Kind != types.TimestampLTZ:
		wall = ctx.zoneConv().ToWall
	case from.Kind == types.Timestamp && e.to.Kind == types.TimestampLTZ:
		conv := ctx.zoneConv()
		wall = func(v int64) int64 { return conv.FromWall(v, types.CastRule) }
	}
	switch {
	case e.to.Kind == types.Date:
		buf, dst := newBuffer[int32](ctx, n)
		for i, v := range src {
			dst[i] = int32(types.FloorDiv(wall(v), types.MicrosPerDay))
		}
		return finish(e.to.Arrow(), n, validity(ctx, n, operand{arr: a}), buf)
	case e.to.IsTimestamp() && !e.to.Nanos():
		unit := int64(1)
		for p := e.to.Precision; p < 6; p++ {
			unit *= 10
		}
		buf, dst := newBuffer[int64](ctx, n)
		for i, v := range src {
			v = wall(v)
			if e.to.Precision < from.Precision {
				v -= types.FloorMod(v, unit)
			}
			dst[i] = v
		}
		return finish(e.to.Arrow(), n, validity(ctx, n, operand{arr: a}), buf)
	}
	return nil
}

func (e *castEval) byRow(ctx *Context, a arrow.Array, in Input) (arrow.Array, error) {
	from, zone := e.arg.Type(), ctx.zone()
	c := &call{name: "CAST", args: []Evaluator{&given{a, from}}, result: e.to, where: e.where}
	text, _ := a.(*array.String)
	switch {
	case e.to.IsText() && from.Kind != types.Null:
		var buf []byte
		return castRows(ctx, in, c, e.try, func(o operand) func(int) (string, error) {
			return func(i int) (string, error) {
				if text != nil {
					return types.FitText(text.Value(i), e.to), nil
				}
				buf = types.AppendFormat(buf[:0], a, i, from, zone)
				return types.FitText(string(buf), e.to), nil
			}
		})
	case text != nil && e.to.IsInteger():
		return castRows(ctx, in, c, e.try, func(o operand) func(int) (int64, error) {
			return func(i int) (int64, error) { return types.ParseInt([]byte(text.Value(i)), e.to.Kind) }
		})
	case text != nil && e.to.Kind == types.Double:
		return castRows(ctx, in, c, e.try, func(o operand) func(int) (float64, error) {
			return func(i int) (float64, error) { return types.ParseDouble([]byte(text.Value(i))) }
		})
	case text != nil && e.to.Kind == types.Decimal:
		return castRows(ctx, in, c, e.try, func(o operand) func(int) (types.Dec, error) {
			return func(i int) (types.Dec, error) {
				return types.ParseDecimal([]byte(text.Value(i)), e.to.Precision, e.to.Scale)
			}
		})
	case text != nil && e.to.Kind == types.Timestamp:
		return castRows(ctx, in, c, e.try, func(o operand) func(int) (int64, error) {
			return func(i int) (int64, error) {
				return types.ParseTimestamp([]byte(text.Value(i)), e.to.Precision)
			}
		})
	case from.Kind == types.Decimal && e.to.Kind == types.Decimal:
		return castRows(ctx, in, c, e.try, func(o operand) func(int) (types.Dec, error) {
			read := decReader(o)
			return func(i int) (types.Dec, error) {
				d, err := read(i).Rescale(e.to.Precision, e.to.Scale)
				if err != nil {
					return d, types.ErrDoesNotFit(read(i).String(), e.to)
				}
				return d, nil
			}
		})
	case from.Kind == types.Decimal && e.to.Kind == types.Double:
		return castRows(ctx, in, c, e.try, func(o operand) func(int) (float64, error) {
			read := decReader(o)
			return func(i int) (float64, error) { return read(i).Float64(), nil }
		})
	case from.Kind == types.Decimal && e.to.IsInteger():
		return castRows(ctx, in, c, e.try, func(o operand) func(int) (int64, error) {
			read := decReader(o)
			return func(i int) (int64, error) {
				n, ok := read(i).Int64()
				if !ok || !types.IntFits(n, e.to.Kind) {
					return 0, types.ErrDoesNotFit(read(i).String(), e.to)
				}
				return n, nil
			}
		})
	case from.IsApprox() && e.to.IsInteger():
		return castRows(ctx, in, c, e.try, func(o operand) func(int) (int64, error) {
			read := floatReader(o)
			return func(i int) (int64, error) {
				n, ok := types.DoubleToInt(read(i), e.to.Kind)
				if !ok {
					return 0, types.ErrDoesNotFit(string(types.AppendDouble(nil, read(i))), e.to)
				}
				return n, nil
			}
		})
	case from.IsInteger() && e.to.Kind == types.Decimal:
		return castRows(ctx, in, c, e.try, func(o operand) func(int) (types.Dec, error) {
			read := intReader(o)
			return func(i int) (types.Dec, error) {
				d, err := types.DecFromInt64(read(i), e.to.Precision, e.to.Scale)
				if err != nil {
					return d, types.ErrDoesNotFit(fmt.Sprint(read(i)), e.to)
				}
				return d, nil
			}
		})
	}
	return castRows(ctx, in, c, e.try, func(o operand) func(int) (any, error) {
		return func(i int) (any, error) { return types.Cast(o.value(i), from, e.to, zone) }
	})
}

// castRows runs a row function over the one argument of c; with try an error is NULL.
func castRows[R any](ctx *Context, in Input, c *call, try bool, read func(operand) func(int) (R, error)) (arrow.Array, error) {
	return (&rowEval[R]{call: c, prepare: func(_ *env, o []operand) (func(int) (R, error), error) {
		f := read(o[0])
		if !try {
			return f, nil
		}
		return func(i int) (R, error) {
			v, err := f(i)
			if err != nil {
				err = errNull
			}
			return v, err
		}, nil
	}}).Eval(ctx, in)
}
