package expr

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/types"
)

// column reads a column of the input.
type column struct {
	i int
	t types.Type
}

func (c *column) Type() types.Type { return c.t }

func (c *column) Eval(_ *Context, in Input) (arrow.Array, error) {
	a := in.Record.Column(c.i)
	a.Retain()
	return a, nil
}

// literal is a constant.
type literal struct {
	v any
	t types.Type
}

func (l *literal) Type() types.Type { return l.t }

func (l *literal) Eval(ctx *Context, in Input) (arrow.Array, error) {
	return repeat(ctx, l.v, l.t, in.Rows)
}

// repeat makes a column of n times v.
func repeat(ctx *Context, v any, t types.Type, n int) (arrow.Array, error) {
	dt := t.Arrow()
	if v == nil {
		return types.NullArray(ctx.Mem, dt, n), nil
	}
	switch x := v.(type) {
	case int8:
		return repeatFixed(ctx, dt, x, n), nil
	case int16:
		return repeatFixed(ctx, dt, x, n), nil
	case int32:
		return repeatFixed(ctx, dt, x, n), nil
	case int64:
		return repeatFixed(ctx, dt, x, n), nil
	case float32:
		return repeatFixed(ctx, dt, x, n), nil
	case float64:
		return repeatFixed(ctx, dt, x, n), nil
	case types.Dec:
		return repeatFixed(ctx, dt, x.Num, n), nil
	case types.DateVal:
		return repeatFixed(ctx, dt, int32(x), n), nil
	case types.TimeVal:
		return repeatFixed(ctx, dt, int32(x), n), nil
	case types.TimestampVal:
		return repeatFixed(ctx, dt, int64(x), n), nil
	case types.MonthsVal:
		return repeatFixed(ctx, dt, int32(x), n), nil
	case types.DurationVal:
		return repeatFixed(ctx, dt, int64(x), n), nil
	case bool:
		buf := newBitmap(ctx, n)
		if x {
			memory.Set(buf.Bytes(), 0xff)
		}
		return finish(dt, n, nil, buf), nil
	}
	b := types.NewBuilder(ctx.Mem, t)
	defer b.Release()
	b.Reserve(n)
	for range n {
		if err := types.Append(b, v, t); err != nil {
			return nil, fmt.Errorf("constant %s: %w", types.Display(v, t, nil), err)
		}
	}
	return b.NewArray(), nil
}

func repeatFixed[T fixed](ctx *Context, dt arrow.DataType, v T, n int) arrow.Array {
	buf, vals := newBuffer[T](ctx, n)
	for i := range vals {
		vals[i] = v
	}
	return finish(dt, n, nil, buf)
}
