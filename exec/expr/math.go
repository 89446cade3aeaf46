package expr

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/google/uuid"

	"github.com/weir-sql/weir/types"
)

func init() {
	// Functions of DOUBLE. They give NaN where the result is not defined.
	for name, f := range map[string]func(float64) float64{
		"SQRT": math.Sqrt, "LN": logOf, "LOG10": log10Of, "LOG2": func(x float64) float64 { return logOf(x) / math.Ln2 },
		"EXP": expOf,
		"SIN": sinOf, "COS": cosOf, "TAN": tanOf, "ASIN": asinOf, "ACOS": acosOf, "ATAN": atanOf,
		"SINH": sinhOf, "COSH": coshOf, "TANH": tanhOf, "COT": func(x float64) float64 { return 1 / tanOf(x) },
		"DEGREES": func(x float64) float64 { return x * (180 / math.Pi) }, "RADIANS": func(x float64) float64 { return x * (math.Pi / 180) },
	} {
		define(name, strict1(func(_ *env, x float64) (float64, error) { return f(x), nil }))
	}
	define("POWER", strict2(func(_ *env, x, y float64) (float64, error) { return powOf(x, y), nil }))
	define("ATAN2", strict2(func(_ *env, y, x float64) (float64, error) { return atan2Of(y, x), nil }))
	define("LOG", arity(map[int]builder{
		1: strict1(func(_ *env, x float64) (float64, error) { return logOf(x), nil }),
		2: strict2(func(_ *env, base, x float64) (float64, error) { return logOf(x) / logOf(base), nil }),
	}))
	define("PI", func(c *call) (Evaluator, error) { return Literal(math.Pi, c.result), nil })
	define("E", func(c *call) (Evaluator, error) { return Literal(math.E, c.result), nil })

	define("ABS", byClass(
		strict1(func(_ *env, v int64) (int64, error) {
			if v < 0 {
				if v == math.MinInt64 {
					return 0, fmt.Errorf("integer overflow: the absolute value of %d does not fit BIGINT", v)
				}
				v = -v
			}
			return v, nil
		}),
		strict1(func(_ *env, v float64) (float64, error) { return math.Abs(v), nil }),
		strict1(func(_ *env, v types.Dec) (types.Dec, error) { return v.Abs(), nil }),
	))
	define("SIGN", byClass(
		strict1(func(_ *env, v int64) (int64, error) { return int64(bit(v > 0)) - int64(bit(v < 0)), nil }),
		strict1(func(_ *env, v float64) (float64, error) {
			switch {
			case v > 0:
				return 1, nil
			case v < 0:
				return -1, nil
			}
			return v, nil // 0, -0 and NaN
		}),
		strict1(func(_ *env, v types.Dec) (types.Dec, error) { return types.DecOf(int64(v.Sign()), 0), nil }),
	))
	define("CEIL", func(c *call) (Evaluator, error) { return newFloor(c, true) })
	define("FLOOR", func(c *call) (Evaluator, error) { return newFloor(c, false) })
	define("ROUND", func(c *call) (Evaluator, error) { return newRound(c, types.Dec.Round) })
	define("TRUNCATE", func(c *call) (Evaluator, error) { return newRound(c, types.Dec.Truncate) })

	define("RAND", func(c *call) (Evaluator, error) { return &randEval{call: c}, nil })
	define("RAND_INTEGER", func(c *call) (Evaluator, error) { return &randEval{call: c}, nil })
	define("UUID", strict0(func(*env) (string, error) { return uuid.NewString(), nil }))
	define("BIN", strict1(func(_ *env, v int64) (string, error) { return strconv.FormatUint(uint64(v), 2), nil }))
	define("HEX", func(c *call) (Evaluator, error) {
		if c.args[0].Type().IsInteger() {
			return strict1(func(_ *env, v int64) (string, error) { return strings.ToUpper(strconv.FormatUint(uint64(v), 16)), nil })(c)
		}
		return strict1(func(_ *env, s []byte) (string, error) { return fmt.Sprintf("%X", s), nil })(c)
	})
	define("UNHEX", strict1(func(_ *env, s string) ([]byte, error) {
		out := make([]byte, 0, (len(s)+1)/2)
		if len(s)%2 == 1 { // the first digit is dropped, and a zero byte takes its place
			out, s = append(out, 0), s[1:]
		}
		for i := 0; i < len(s); i += 2 {
			v, err := strconv.ParseUint(s[i:i+2], 16, 8)
			if err != nil || s[i] == '+' || s[i] == '-' {
				return nil, errNull
			}
			out = append(out, byte(v))
		}
		return out, nil
	}))
}

// byClass chooses a builder by the type of the first argument: integer (and interval), approximate or DECIMAL.
func byClass(ints, floats, decs builder) builder {
	return func(c *call) (Evaluator, error) {
		switch t := c.args[0].Type(); {
		case t.IsApprox():
			return floats(c)
		case t.Kind == types.Decimal:
			return decs(c)
		}
		return ints(c)
	}
}

// newFloor is FLOOR and CEIL, of numbers and (with a unit) of times.
func newFloor(c *call, ceil bool) (Evaluator, error) {
	if len(c.units) > 0 {
		return floorTime(c, ceil)
	}
	f, d := math.Floor, types.Dec.Floor
	if ceil {
		f, d = math.Ceil, types.Dec.Ceil
	}
	return byClass(
		func(c *call) (Evaluator, error) { return c.args[0], nil },
		strict1(func(_ *env, v float64) (float64, error) { return f(v), nil }),
		strict1(func(_ *env, v types.Dec) (types.Dec, error) { return d(v), nil }),
	)(c)
}

// newRound is ROUND(x[, n]) and TRUNCATE(x[, n]): half up, or toward zero, in decimal digits (for FLOAT and DOUBLE those of the shortest text).
func newRound(c *call, cut func(types.Dec, int) types.Dec) (Evaluator, error) {
	if len(c.args) == 1 {
		c.args = append(c.args[:1:1], Literal(int32(0), types.IntType.NotNull()))
	}
	digits := func(n int64) int { return int(max(-400, min(n, 400))) }
	return byClass(
		strict2(func(_ *env, v, n int64) (int64, error) {
			if n >= 0 {
				return v, nil
			}
			r, ok := cut(types.DecOf(v, 0), digits(n)).Int64()
			if !ok {
				return 0, fmt.Errorf("integer overflow: %d rounded does not fit BIGINT", v)
			}
			return r, nil
		}),
		strict2(func(e *env, v float64, n int64) (float64, error) {
			size := 64
			if e.c.result.Kind == types.Float {
				size = 32
			}
			return roundFloat(v, digits(n), size, cut), nil
		}),
		strict2(func(e *env, v types.Dec, n int64) (types.Dec, error) { return cut(v, digits(n)), nil }),
	)(c)
}

// roundFloat rounds the shortest decimal text of v.
func roundFloat(v float64, n, size int, cut func(types.Dec, int) types.Dec) float64 {
	if v == 0 {
		return 0 // -0.0 too: Flink rounds a decimal, which has no such zero
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	// v = digits * 10^exp, with at most 17 digits.
	text := strconv.FormatFloat(v, 'e', -1, size)
	mant, e, _ := strings.Cut(text, "e")
	exp, _ := strconv.Atoi(e)
	whole, frac, _ := strings.Cut(mant, ".")
	num, _ := strconv.ParseInt(whole+frac, 10, 64)
	exp -= len(frac)
	if n >= -exp { // nothing behind the place
		return v
	}
	// Round num at the place -n-exp digits from its end.
	d := cut(types.Dec{Num: decimal128.FromI64(num)}, n+exp)
	m, _ := d.Int64()
	r, _ := strconv.ParseFloat(strconv.FormatInt(m, 10)+"e"+strconv.Itoa(exp), size)
	return r
}

// randEval is RAND([seed]) and RAND_INTEGER([seed, ]bound). With a seed it gives the same numbers in every run: those of java.util.Random.
type randEval struct {
	*call
	mu    sync.Mutex
	rand  javaRandom
	began bool
}

func (e *randEval) Type() types.Type      { return e.result }
func (e *randEval) children() []Evaluator { return e.args }

// seeded tells whether the first argument is a seed.
func (e *randEval) seeded() bool {
	if e.name == "RAND" {
		return len(e.args) == 1
	}
	return len(e.args) == 2
}

func (e *randEval) orderDependent() bool { return e.seeded() }

func (e *randEval) Eval(ctx *Context, in Input) (arrow.Array, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.name == "RAND" {
		return (&rowEval[float64]{call: e.call, prepare: func(_ *env, o []operand) (func(int) (float64, error), error) {
			return func(i int) (float64, error) {
				e.begin(o, i)
				return e.rand.float64(), nil
			}, nil
		}}).Eval(ctx, in)
	}
	return (&rowEval[int64]{call: e.call, prepare: func(_ *env, o []operand) (func(int) (int64, error), error) {
		bound := reader[int64](o[len(o)-1])
		return func(i int) (int64, error) {
			e.begin(o, i)
			n := bound(i)
			if n <= 0 {
				return 0, errors.New("RAND_INTEGER needs a bound greater than 0, not " + strconv.FormatInt(n, 10))
			}
			return int64(e.rand.intn(int32(n))), nil
		}, nil
	}}).Eval(ctx, in)
}

// begin seeds the generator at the first row.
func (e *randEval) begin(o []operand, i int) {
	if e.began {
		return
	}
	e.began = true
	if e.seeded() {
		e.rand.seed(reader[int64](o[0])(i))
		return
	}
	u := uuid.New()
	s := int64(0)
	for _, b := range u[:8] {
		s = s<<8 | int64(b)
	}
	e.rand.seed(s)
}

// javaRandom is the generator of java.util.Random, whose algorithm is part of its contract.
type javaRandom struct{ state int64 }

const javaMask = 1<<48 - 1

func (r *javaRandom) seed(s int64) { r.state = (s ^ 0x5DEECE66D) & javaMask }

func (r *javaRandom) next(bits uint) int32 {
	r.state = (r.state*0x5DEECE66D + 0xB) & javaMask
	return int32(r.state >> (48 - bits))
}

func (r *javaRandom) float64() float64 {
	hi := int64(r.next(26)) << 27
	return float64(hi+int64(r.next(27))) * (1.0 / (1 << 53))
}

func (r *javaRandom) intn(bound int32) int32 {
	v := r.next(31)
	m := bound - 1
	if bound&m == 0 {
		return int32(int64(bound) * int64(v) >> 31)
	}
	for u := v; ; u = r.next(31) {
		if v = u % bound; u-v+m >= 0 {
			return v
		}
	}
}
