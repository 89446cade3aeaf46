package expr

import (
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/types"
)

// Functions that are no hot kernels are written for one row; this file runs them over columns. A function sees typed values (string, int64, float64, ...
// or `any` in canonical form), is called only for selected rows and, unless it asks for NULLs, only where no argument is NULL. A nil function result is
// said by errNull, and an error gets the text of the call around it.

// errNull is what a row function returns for NULL.
var errNull = errors.New("null")

// env is what a row function may use of the evaluation.
type env struct {
	*Context
	c  *call
	in Input
}

// rowEval runs a row function.
type rowEval[R any] struct {
	*call
	// prepare makes the function of a row number; args are evaluated.
	prepare func(e *env, args []operand) (func(i int) (R, error), error)
	nulls   bool // call it for NULL arguments too
}

func (r *rowEval[R]) Type() types.Type      { return r.result }
func (r *rowEval[R]) children() []Evaluator { return r.args }

func (r *rowEval[R]) Eval(ctx *Context, in Input) (arrow.Array, error) {
	ops := make([]operand, len(r.args))
	defer func() {
		for _, o := range ops {
			o.release()
		}
	}()
	for i, a := range r.args {
		var err error
		if ops[i], err = evalOperand(ctx, a, in); err != nil {
			return nil, err
		}
	}
	f, err := r.prepare(&env{Context: ctx, c: r.call, in: in}, ops)
	if err != nil {
		return nil, r.fail("%v", err)
	}
	out := newSink[R](ctx, r.result, in.Rows)
	var nullable []operand
	if !r.nulls {
		for _, o := range ops {
			if o.hasNulls() {
				nullable = append(nullable, o)
			}
		}
	}
	next := 0
rows:
	for i := range in.Rows {
		if in.Selection != nil {
			if next >= len(in.Selection) || int(in.Selection[next]) != i {
				out.null()
				continue
			}
			next++
		}
		for _, o := range nullable {
			if o.arr.IsNull(i) {
				out.null()
				continue rows
			}
		}
		v, err := f(i)
		if err == nil {
			err = out.append(v)
		}
		switch {
		case err == nil:
		case err == errNull:
			out.null()
		default:
			out.release()
			return nil, r.fail("%w", err)
		}
	}
	return out.finish(), nil
}

// rows makes a builder of a row function that is NULL for a NULL argument.
func rows[R any](prepare func(e *env, args []operand) (func(i int) (R, error), error)) builder {
	return func(c *call) (Evaluator, error) {
		for _, a := range c.args {
			if v, ok := constant(a); ok && v == nil {
				return Literal(nil, c.result), nil
			}
		}
		return &rowEval[R]{call: c, prepare: prepare}, nil
	}
}

// strict0 to strict4 make builders of functions of that many arguments.
func strict0[R any](f func(*env) (R, error)) builder {
	return rows(func(e *env, _ []operand) (func(int) (R, error), error) {
		return func(int) (R, error) { return f(e) }, nil
	})
}

func strict1[A, R any](f func(*env, A) (R, error)) builder {
	return rows(func(e *env, o []operand) (func(int) (R, error), error) {
		a := reader[A](o[0])
		return func(i int) (R, error) { return f(e, a(i)) }, nil
	})
}

func strict2[A, B, R any](f func(*env, A, B) (R, error)) builder {
	return rows(func(e *env, o []operand) (func(int) (R, error), error) {
		a, b := reader[A](o[0]), reader[B](o[1])
		return func(i int) (R, error) { return f(e, a(i), b(i)) }, nil
	})
}

func strict3[A, B, C, R any](f func(*env, A, B, C) (R, error)) builder {
	return rows(func(e *env, o []operand) (func(int) (R, error), error) {
		a, b, c := reader[A](o[0]), reader[B](o[1]), reader[C](o[2])
		return func(i int) (R, error) { return f(e, a(i), b(i), c(i)) }, nil
	})
}

func strict4[A, B, C, D, R any](f func(*env, A, B, C, D) (R, error)) builder {
	return rows(func(e *env, o []operand) (func(int) (R, error), error) {
		a, b, c, d := reader[A](o[0]), reader[B](o[1]), reader[C](o[2]), reader[D](o[3])
		return func(i int) (R, error) { return f(e, a(i), b(i), c(i), d(i)) }, nil
	})
}

// withNulls makes a builder of a function that sees NULLs, as nil, and any number of arguments.
func withNulls[R any](f func(e *env, args []any) (R, error)) builder {
	return func(c *call) (Evaluator, error) {
		return &rowEval[R]{call: c, nulls: true, prepare: func(e *env, o []operand) (func(int) (R, error), error) {
			args := make([]any, len(o))
			return func(i int) (R, error) {
				for j := range o {
					args[j] = o[j].value(i)
				}
				return f(e, args)
			}, nil
		}}, nil
	}
}

// arity chooses a builder by the number of arguments.
func arity(byCount map[int]builder) builder {
	return func(c *call) (Evaluator, error) {
		b := byCount[len(c.args)]
		if b == nil {
			return nil, fmt.Errorf("internal error: %s with %d arguments", c.name, len(c.args))
		}
		return b(c)
	}
}

// reader reads the rows of o as T: string (text), []byte (bytes or text), bool, int64 (integers, and the count of temporal types), float64 (numbers),
// types.Dec, or any (canonical form).
func reader[T any](o operand) func(int) T {
	var f any
	var z *T
	switch any(z).(type) {
	case *string:
		f = stringReader(o)
	case *[]byte:
		f = bytesReader(o)
	case *bool:
		f = boolReader(o)
	case *int64:
		f = intReader(o)
	case *float64:
		f = floatReader(o)
	case *types.Dec:
		f = decReader(o)
	case *any:
		f = o.value
	default:
		panic(fmt.Sprintf("expr: no reader for %T", z))
	}
	return f.(func(int) T)
}

func always[T any](v T) func(int) T { return func(int) T { return v } }

func stringReader(o operand) func(int) string {
	if o.arr == nil {
		return always(o.v.(string))
	}
	if a, ok := o.arr.(*array.String); ok {
		return a.Value
	}
	return func(int) string { return "" } // the type NULL
}

func bytesReader(o operand) func(int) []byte {
	if o.arr == nil {
		if s, ok := o.v.(string); ok {
			return always([]byte(s))
		}
		return always(o.v.([]byte))
	}
	switch a := o.arr.(type) {
	case *array.String:
		return func(i int) []byte { return []byte(a.Value(i)) }
	case *array.Binary:
		return a.Value
	}
	return func(int) []byte { return nil }
}

func boolReader(o operand) func(int) bool {
	if o.arr == nil {
		return always(o.v.(bool))
	}
	if a, ok := o.arr.(*array.Boolean); ok {
		return a.Value
	}
	return func(int) bool { return false }
}

func widen[T int8 | int16 | int32 | int64](vals []T) func(int) int64 {
	return func(i int) int64 { return int64(vals[i]) }
}

func intReader(o operand) func(int) int64 {
	if o.arr == nil {
		switch x := o.v.(type) {
		case int8:
			return always(int64(x))
		case int16:
			return always(int64(x))
		case int32:
			return always(int64(x))
		case int64:
			return always(x)
		}
		if o.t.Kind == types.Date || o.t.Kind == types.Time || o.t.Kind == types.IntervalYearMonth {
			return always(int64(rawConst[int32](o.v)))
		}
		return always(rawConst[int64](o.v))
	}
	switch o.t.Kind {
	case types.TinyInt:
		return widen(rawValues[int8](o.arr))
	case types.SmallInt:
		return widen(rawValues[int16](o.arr))
	case types.Int, types.Date, types.Time, types.IntervalYearMonth:
		return widen(rawValues[int32](o.arr))
	case types.BigInt, types.Timestamp, types.TimestampLTZ, types.IntervalDayTime:
		return widen(rawValues[int64](o.arr))
	}
	return func(int) int64 { return 0 }
}

func floatReader(o operand) func(int) float64 {
	switch o.t.Kind {
	case types.Double:
		if o.arr == nil {
			return always(o.v.(float64))
		}
		vals := rawValues[float64](o.arr)
		return func(i int) float64 { return vals[i] }
	case types.Float:
		if o.arr == nil {
			return always(float64(o.v.(float32)))
		}
		vals := rawValues[float32](o.arr)
		return func(i int) float64 { return float64(vals[i]) }
	case types.Decimal:
		d := decReader(o)
		return func(i int) float64 { return d(i).Float64() }
	}
	n := intReader(o)
	return func(i int) float64 { return float64(n(i)) }
}

func decReader(o operand) func(int) types.Dec {
	if o.arr == nil {
		return always(o.v.(types.Dec))
	}
	a, ok := o.arr.(*array.Decimal128)
	if !ok {
		return func(int) types.Dec { return types.Dec{} }
	}
	scale := int32(o.t.Scale)
	return func(i int) types.Dec { return types.Dec{Num: a.Value(i), Scale: scale} }
}

// sink takes the rows of a result in order.
type sink[R any] interface {
	append(v R) error
	null()
	finish() arrow.Array
	release()
}

func newSink[R any](ctx *Context, t types.Type, n int) sink[R] {
	var s any
	var z *R
	switch any(z).(type) {
	case *string:
		s = newVarSink[string](ctx, t, n)
	case *[]byte:
		s = newVarSink[[]byte](ctx, t, n)
	case *bool:
		s = &boolSink{base: base{ctx: ctx, dt: t.Arrow(), n: n}, buf: newBitmap(ctx, n)}
	case *int64:
		switch t.Kind {
		case types.TinyInt:
			s = newFixedSink(ctx, t, n, func(v int64) (int8, error) { return fit[int8](v, t) })
		case types.SmallInt:
			s = newFixedSink(ctx, t, n, func(v int64) (int16, error) { return fit[int16](v, t) })
		case types.Int, types.Date, types.Time, types.IntervalYearMonth:
			s = newFixedSink(ctx, t, n, func(v int64) (int32, error) { return fit[int32](v, t) })
		default:
			s = newFixedSink(ctx, t, n, func(v int64) (int64, error) { return v, nil })
		}
	case *float64:
		if t.Kind == types.Float {
			s = newFixedSink(ctx, t, n, func(v float64) (float32, error) { return float32(v), nil })
		} else {
			s = newFixedSink(ctx, t, n, func(v float64) (float64, error) { return v, nil })
		}
	case *types.Dec:
		s = newFixedSink(ctx, t, n, func(v types.Dec) (decimal128.Num, error) {
			d, err := v.Rescale(t.Precision, t.Scale)
			if err != nil {
				return d.Num, fmt.Errorf("overflow: %s does not fit %s", v, t.WithNull(true))
			}
			return d.Num, nil
		})
	default: // any
		s = &anySink[R]{b: types.NewBuilder(ctx.Mem, t), t: t}
	}
	return s.(sink[R])
}

// fit narrows v to the integer type T of t.
func fit[T int8 | int16 | int32](v int64, t types.Type) (T, error) {
	if int64(T(v)) != v {
		return 0, fmt.Errorf("overflow: %d does not fit %s", v, t.WithNull(true))
	}
	return T(v), nil
}

// base is the part of a sink that knows which rows are NULL.
type base struct {
	ctx   *Context
	dt    arrow.DataType
	n, at int
	valid *memory.Buffer // nil while there is no NULL
}

func (b *base) null() {
	if b.valid == nil {
		b.valid = newBitmap(b.ctx, b.n)
		memory.Set(b.valid.Bytes(), 0xff)
	}
	b.valid.Bytes()[b.at/8] &^= 1 << (b.at % 8)
	b.at++
}

func (b *base) release() {
	if b.valid != nil {
		b.valid.Release()
	}
}

type fixedSink[V any, T fixed] struct {
	base
	buf  *memory.Buffer
	vals []T
	conv func(V) (T, error)
}

func newFixedSink[V any, T fixed](ctx *Context, t types.Type, n int, conv func(V) (T, error)) *fixedSink[V, T] {
	s := &fixedSink[V, T]{base: base{ctx: ctx, dt: t.Arrow(), n: n}, conv: conv}
	s.buf, s.vals = newBuffer[T](ctx, n)
	return s
}

func (s *fixedSink[V, T]) append(v V) error {
	x, err := s.conv(v)
	if err != nil {
		return err
	}
	s.vals[s.at] = x
	s.at++
	return nil
}

func (s *fixedSink[V, T]) null() {
	var zero T
	s.vals[s.at] = zero
	s.base.null()
}
func (s *fixedSink[V, T]) finish() arrow.Array { return finish(s.dt, s.n, s.valid, s.buf) }
func (s *fixedSink[V, T]) release()            { s.base.release(); s.buf.Release() }

type boolSink struct {
	base
	buf *memory.Buffer
}

func (s *boolSink) append(v bool) error {
	if v {
		s.buf.Bytes()[s.at/8] |= 1 << (s.at % 8)
	}
	s.at++
	return nil
}
func (s *boolSink) finish() arrow.Array { return finish(s.dt, s.n, s.valid, s.buf) }
func (s *boolSink) release()            { s.base.release(); s.buf.Release() }

// varSink builds text and bytes.
type varSink[V string | []byte] struct {
	base
	offsetBuf *memory.Buffer
	offsets   []int32
	dataBuf   *memory.Buffer
	data      []byte // the whole of dataBuf
	used      int
}

func newVarSink[V string | []byte](ctx *Context, t types.Type, n int) *varSink[V] {
	s := &varSink[V]{base: base{ctx: ctx, dt: t.Arrow(), n: n}}
	s.offsetBuf, s.offsets = newBuffer[int32](ctx, n+1)
	s.offsets[0] = 0
	s.dataBuf = memory.NewResizableBuffer(ctx.Mem)
	s.grow(n * 8)
	return s
}

func (s *varSink[V]) grow(size int) {
	s.dataBuf.Resize(size)
	s.data = s.dataBuf.Bytes()
}

var errTooLong = errors.New("the results of one batch are longer than 2 GiB: set a smaller 'weir.batch-size'")

func (s *varSink[V]) append(v V) error {
	end := s.used + len(v)
	if end > len(s.data) {
		if end > math.MaxInt32 {
			return errTooLong
		}
		s.grow(max(end, min(2*len(s.data), math.MaxInt32)))
	}
	copy(s.data[s.used:], v)
	s.used = end
	s.at++
	s.offsets[s.at] = int32(end)
	return nil
}

func (s *varSink[V]) null() {
	s.base.null()
	s.offsets[s.at] = int32(s.used)
}

func (s *varSink[V]) finish() arrow.Array {
	s.dataBuf.Resize(s.used)
	return finish(s.dt, s.n, s.valid, s.offsetBuf, s.dataBuf)
}

func (s *varSink[V]) release() {
	s.base.release()
	s.offsetBuf.Release()
	s.dataBuf.Release()
}

// anySink builds any type of values in canonical form.
type anySink[R any] struct {
	b array.Builder
	t types.Type
}

func (s *anySink[R]) append(v R) error { return types.Append(s.b, any(v), s.t) }
func (s *anySink[R]) null()            { s.b.AppendNull() }
func (s *anySink[R]) finish() arrow.Array {
	a := s.b.NewArray()
	s.b.Release()
	return a
}
func (s *anySink[R]) release() { s.b.Release() }
