package expr

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-sql/weir/types"
)

// Arithmetic. The signature of an operator casts numbers to the type of the result, except DECIMALs, which keep their precision and scale, and temporal
// operands (arith_time.go).

func init() {
	for _, op := range []string{"+", "-", "*", "/", "%"} {
		define(op, newArith(op))
	}
	define("MOD", newArith("%"))
	define("NEGATE", func(c *call) (Evaluator, error) {
		zero := zeroOf(c.result)
		return newArith("-")(&call{name: "-", args: []Evaluator{Literal(zero, c.args[0].Type().NotNull()), c.args[0]}, result: c.result, where: c.where})
	})
}

// zeroOf is 0 in type t. For FLOAT and DOUBLE it is -0.0: -0.0 - x is -x for every x, 0.0 too.
func zeroOf(t types.Type) any {
	switch t.Kind {
	case types.TinyInt:
		return int8(0)
	case types.SmallInt:
		return int16(0)
	case types.Int:
		return int32(0)
	case types.BigInt:
		return int64(0)
	case types.Float:
		return float32(math.Copysign(0, -1))
	case types.Double:
		return math.Copysign(0, -1)
	case types.Decimal:
		return types.Dec{Scale: int32(t.Scale)}
	case types.IntervalYearMonth:
		return types.MonthsVal(0)
	}
	return types.DurationVal(0)
}

func newArith(op string) builder {
	return func(c *call) (Evaluator, error) {
		for _, a := range c.args {
			if v, ok := constant(a); ok && v == nil {
				return Literal(nil, c.result), nil
			}
		}
		l, r := c.args[0].Type(), c.args[1].Type()
		e := &arithEval{call: c}
		switch {
		case l.IsDatetime() || r.IsDatetime() || l.IsInterval() || r.IsInterval():
			return newTemporalArith(op, c)
		case c.result.Kind == types.TinyInt:
			e.kernel = intKernel[int8](op)
		case c.result.Kind == types.SmallInt:
			e.kernel = intKernel[int16](op)
		case c.result.Kind == types.Int:
			e.kernel = intKernel[int32](op)
		case c.result.Kind == types.BigInt:
			e.kernel = intKernel[int64](op)
		case c.result.Kind == types.Float:
			e.kernel = floatKernel[float32](op)
		case c.result.Kind == types.Double:
			e.kernel = floatKernel[float64](op)
		case c.result.Kind == types.Decimal:
			e.kernel = decimalKernel(op)
		default:
			return nil, fmt.Errorf("internal error: no arithmetic of %s %s %s", l, op, r)
		}
		// A remainder can have fewer digits than its operands: MOD(BIGINT, INT) is INT. Compute in the type of the operands, then narrow.
		if c.result.IsInteger() && (l.Kind != c.result.Kind || r.Kind != c.result.Kind) {
			wide := l
			if r.Kind > l.Kind {
				wide = r
			}
			if wide.Kind == types.Decimal { // MOD(DECIMAL(5, 0), INT) is INT: the other side may be longer
				wide = types.DecimalOf(types.MaxDecimalPrecision, 0)
			}
			wide = wide.WithNull(c.result.Nullable)
			args := make([]Evaluator, 2)
			for i := range args {
				var err error
				if args[i], err = newCast(c.args[i], wide, false, c.where); err != nil {
					return nil, err
				}
			}
			inner, err := newArith(op)(&call{name: c.name, args: args, result: wide, where: c.where})
			if err != nil {
				return nil, err
			}
			return newCast(inner, c.result, false, c.where)
		}
		return e, nil
	}
}

// arithEval applies a binary kernel to two operands.
type arithEval struct {
	*call
	kernel func(e *arithEval, ctx *Context, in Input, l, r operand) (arrow.Array, error)
}

func (e *arithEval) Type() types.Type      { return e.result }
func (e *arithEval) children() []Evaluator { return e.args }

func (e *arithEval) Eval(ctx *Context, in Input) (arrow.Array, error) {
	l, err := evalOperand(ctx, e.args[0], in)
	if err != nil {
		return nil, err
	}
	defer l.release()
	r, err := evalOperand(ctx, e.args[1], in)
	if err != nil {
		return nil, err
	}
	defer r.release()
	return e.kernel(e, ctx, in, l, r)
}

// firstFailure calls f for the selected rows without NULLs until it fails, and returns the error with the text of the call; nil if none does.
func (e *arithEval) firstFailure(in Input, l, r operand, f func(i int) error) error {
	return eachSelected(in, func(i int) error {
		if !l.valid(i) || !r.valid(i) {
			return nil
		}
		if err := f(i); err != nil {
			return e.where.fail(err)
		}
		return nil
	})
}

type integer interface{ int8 | int16 | int32 | int64 }

// overflow is the error of one row.
func overflow(op string, l, r operand, i int, t types.Type) error {
	what := "integer"
	switch {
	case t.Kind == types.Decimal:
		what = "DECIMAL"
	case t.IsDatetime() || t.IsInterval():
		what = "time"
	}
	return fmt.Errorf("%s overflow: %s %s %s does not fit %s", what, l.text(i), op, r.text(i), t.WithNull(true))
}

func intKernel[T integer](op string) func(e *arithEval, ctx *Context, in Input, l, r operand) (arrow.Array, error) {
	return func(e *arithEval, ctx *Context, in Input, l, r operand) (arrow.Array, error) {
		n := in.Rows
		buf, dst := newBuffer[T](ctx, n)
		bad := false
		inBlocks(ctx, n, l, r, func(lo int, a, b []T) {
			out := dst[lo : lo+len(a)]
			switch op {
			case "+":
				bad = addInts(out, a, b) || bad
			case "-":
				bad = subInts(out, a, b) || bad
			case "*":
				bad = mulInts(out, a, b) || bad
			case "/":
				bad = divInts(out, a, b) || bad
			case "%":
				bad = modInts(out, a, b) || bad
			}
		})
		if bad { // perhaps only in a row that is NULL or not selected
			get := func(o operand) func(int) T {
				if o.arr == nil {
					return always(rawConst[T](o.v))
				}
				vals := rawValues[T](o.arr)
				return func(i int) T { return vals[i] }
			}
			a, b := get(l), get(r)
			if err := e.firstFailure(in, l, r, func(i int) error {
				x, y := []T{a(i)}, []T{b(i)}
				var z [1]T
				failed := false
				switch op {
				case "+":
					failed = addInts(z[:], x, y)
				case "-":
					failed = subInts(z[:], x, y)
				case "*":
					failed = mulInts(z[:], x, y)
				case "/":
					failed = divInts(z[:], x, y)
				case "%":
					failed = modInts(z[:], x, y)
				}
				switch {
				case failed && y[0] == 0 && (op == "/" || op == "%"):
					return types.ErrDivisionByZero
				case failed:
					return overflow(op, l, r, i, e.result)
				}
				return nil
			}); err != nil {
				buf.Release()
				return nil, err
			}
		}
		return finish(e.result.Arrow(), n, validity(ctx, n, l, r), buf), nil
	}
}

func addInts[T integer](dst, a, b []T) bool {
	a, b = a[:len(dst)], b[:len(dst)]
	var bad T
	for i := range dst {
		s := a[i] + b[i]
		dst[i] = s
		bad |= (a[i] ^ s) & (b[i] ^ s)
	}
	return bad < 0
}

func subInts[T integer](dst, a, b []T) bool {
	a, b = a[:len(dst)], b[:len(dst)]
	var bad T
	for i := range dst {
		s := a[i] - b[i]
		dst[i] = s
		bad |= (a[i] ^ b[i]) & (a[i] ^ s)
	}
	return bad < 0
}

func mulInts[T integer](dst, a, b []T) bool {
	a, b = a[:len(dst)], b[:len(dst)]
	var z T
	if unsafe.Sizeof(z) < 8 {
		bad := int64(0)
		for i := range dst {
			p := int64(a[i]) * int64(b[i])
			dst[i] = T(p)
			bad |= p - int64(T(p))
		}
		return bad != 0
	}
	bad := uint64(0)
	for i := range dst {
		x, y := int64(a[i]), int64(b[i])
		hi, lo := bits.Mul64(uint64(x), uint64(y))
		// The high word of the signed product.
		h := int64(hi) - (x>>63)&y - (y>>63)&x
		dst[i] = T(int64(lo))
		bad |= uint64(h ^ int64(lo)>>63)
	}
	return bad != 0
}

func divInts[T integer](dst, a, b []T) bool {
	a, b = a[:len(dst)], b[:len(dst)]
	bad := false
	for i := range dst {
		y := b[i]
		if y == 0 {
			dst[i], bad = 0, true
			continue
		}
		q := a[i] / y
		dst[i] = q
		bad = bad || y == -1 && a[i] < 0 && q < 0 // the least number has no opposite
	}
	return bad
}

func modInts[T integer](dst, a, b []T) bool {
	a, b = a[:len(dst)], b[:len(dst)]
	bad := false
	for i := range dst {
		if y := b[i]; y != 0 {
			dst[i] = a[i] % y
		} else {
			dst[i], bad = 0, true
		}
	}
	return bad
}

func floatKernel[T float32 | float64](op string) func(e *arithEval, ctx *Context, in Input, l, r operand) (arrow.Array, error) {
	return func(e *arithEval, ctx *Context, in Input, l, r operand) (arrow.Array, error) {
		buf, dst := newBuffer[T](ctx, in.Rows)
		inBlocks(ctx, in.Rows, l, r, func(lo int, a, b []T) {
			out := dst[lo : lo+len(a)]
			b = b[:len(a)]
			switch op {
			case "+":
				for i := range out {
					out[i] = a[i] + b[i]
				}
			case "-":
				for i := range out {
					out[i] = a[i] - b[i]
				}
			case "*":
				for i := range out {
					out[i] = a[i] * b[i]
				}
			case "/":
				for i := range out {
					out[i] = a[i] / b[i]
				}
			case "%":
				for i := range out {
					out[i] = T(math.Mod(float64(a[i]), float64(b[i])))
				}
			}
		})
		return finish(e.result.Arrow(), in.Rows, validity(ctx, in.Rows, l, r), buf), nil
	}
}

func decimalKernel(op string) func(e *arithEval, ctx *Context, in Input, l, r operand) (arrow.Array, error) {
	f := map[string]func(a, b types.Dec, p, s int) (types.Dec, error){
		"+": types.Dec.Add, "-": types.Dec.Sub, "*": types.Dec.Mul, "/": types.Dec.Div, "%": types.Dec.Mod,
	}[op]
	return func(e *arithEval, ctx *Context, in Input, l, r operand) (arrow.Array, error) {
		buf, dst := newBuffer[decimal128.Num](ctx, in.Rows)
		if !fastDecimals(ctx, op, e.result, in.Rows, l, r, dst) {
			clear(dst)
			a, b := decReader(l), decReader(r)
			p, s := e.result.Precision, e.result.Scale
			err := e.firstFailure(in, l, r, func(i int) error {
				d, err := f(a(i), b(i), p, s)
				dst[i] = d.Num
				if errors.Is(err, types.ErrOverflow) {
					return overflow(op, l, r, i, e.result)
				}
				return err
			})
			if err != nil {
				buf.Release()
				return nil, err
			}
		}
		return finish(e.result.Arrow(), in.Rows, validity(ctx, in.Rows, l, r), buf), nil
	}
}

// fastDecimals adds, subtracts and multiplies where the type of the result has room for every result and no scale has to be changed. It reports false,
// with dst half done, when it cannot.
func fastDecimals(ctx *Context, op string, t types.Type, n int, l, r operand, dst []decimal128.Num) bool {
	a, b := l.t, r.t
	ok := true
	switch op {
	case "+", "-":
		if a.Scale != t.Scale || b.Scale != t.Scale || t.Precision <= max(a.Precision, b.Precision) {
			return false
		}
		inBlocks(ctx, n, l, r, func(lo int, x, y []decimal128.Num) {
			out := dst[lo : lo+len(x)]
			y = y[:len(x)]
			if op == "+" {
				for i := range out {
					out[i] = x[i].Add(y[i])
				}
				return
			}
			for i := range out {
				out[i] = x[i].Sub(y[i])
			}
		})
	case "*":
		if a.Scale+b.Scale != t.Scale || t.Precision < a.Precision+b.Precision {
			return false
		}
		inBlocks(ctx, n, l, r, func(lo int, x, y []decimal128.Num) {
			out := dst[lo : lo+len(x)]
			y = y[:len(x)]
			for i := range out {
				u, v := int64(x[i].LowBits()), int64(y[i].LowBits())
				ok = ok && x[i].HighBits() == u>>63 && y[i].HighBits() == v>>63
				out[i] = mulInt64(u, v)
			}
		})
	default:
		return false
	}
	return ok
}

// mulInt64 is the exact product of two int64.
func mulInt64(x, y int64) decimal128.Num {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	return decimal128.New(int64(hi)-(x>>63)&y-(y>>63)&x, lo)
}
