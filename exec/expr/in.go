package expr

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/types"
)

func init() {
	define("IN", newIn)
}

// newIn is x IN (a, b, ...); all have one type, but for the digits of DECIMALs. A list of constants becomes a set; others are compared one
// after the other, as far as is needed.
func newIn(c *call) (Evaluator, error) {
	list := c.args[1:]
	e := &inEval{call: c}
	for _, a := range list {
		v, ok := constant(a)
		if !ok {
			return &inListEval{c}, nil
		}
		if v == nil {
			e.hasNull = true
			continue
		}
		e.values = append(e.values, v)
	}
	e.add()
	return e, nil
}

// inEval is IN over constants.
type inEval struct {
	*call
	values  []any
	hasNull bool

	ints    map[int64]struct{} // integers, temporal types and intervals
	doubles map[float64]struct{}
	texts   map[string]struct{} // text and bytes
	others  []any
}

func (e *inEval) Type() types.Type      { return e.result }
func (e *inEval) children() []Evaluator { return e.args }

// add sorts the constants into the set of their type.
func (e *inEval) add() {
	e.ints, e.doubles, e.texts = map[int64]struct{}{}, map[float64]struct{}{}, map[string]struct{}{}
	for _, v := range e.values {
		switch x := v.(type) {
		case int8, int16, int32, int64:
			e.ints[toInt64(x)] = struct{}{}
		case types.DateVal, types.TimeVal, types.MonthsVal:
			e.ints[int64(rawConst[int32](x))] = struct{}{}
		case types.TimestampVal, types.DurationVal:
			e.ints[rawConst[int64](x)] = struct{}{}
		case float32:
			e.doubles[float64(x)] = struct{}{}
		case float64:
			e.doubles[x] = struct{}{}
		case string:
			e.texts[x] = struct{}{}
		case []byte:
			e.texts[string(x)] = struct{}{}
		default:
			e.others = append(e.others, v)
		}
	}
}

// tester returns the test whether a row (not NULL) is in the set.
func (e *inEval) tester(o operand) func(i int) bool {
	t := o.t
	switch {
	case t.IsApprox():
		v := reader[float64](o)
		return func(i int) bool {
			x := v(i)
			if math.IsNaN(x) {
				return false
			}
			_, ok := e.doubles[x]
			return ok
		}
	case t.IsText():
		v := stringReader(o)
		return func(i int) bool { _, ok := e.texts[v(i)]; return ok }
	case t.IsBytes():
		v := bytesReader(o)
		return func(i int) bool { _, ok := e.texts[string(v(i))]; return ok }
	case t.IsInteger() || t.IsDatetime() || t.IsInterval():
		v := reader[int64](o)
		if len(e.ints) == 1 {
			for k := range e.ints {
				return func(i int) bool { return v(i) == k }
			}
		}
		return func(i int) bool { _, ok := e.ints[v(i)]; return ok }
	}
	return func(i int) bool {
		x := o.value(i)
		for _, y := range e.others {
			if types.Compare(x, y) == 0 {
				return true
			}
		}
		return false
	}
}

func (e *inEval) Eval(ctx *Context, in Input) (arrow.Array, error) {
	o, err := evalOperand(ctx, e.args[0], in)
	if err != nil {
		return nil, err
	}
	defer o.release()
	out := newSink[bool](ctx, e.result, in.Rows)
	test := e.tester(o)
	next := 0
	for i := range in.Rows {
		if in.Selection != nil {
			if next >= len(in.Selection) || int(in.Selection[next]) != i {
				out.null()
				continue
			}
			next++
		}
		switch {
		case !o.valid(i):
			out.null()
		case test(i):
			_ = out.append(true)
		case e.hasNull:
			out.null()
		default:
			_ = out.append(false)
		}
	}
	return out.finish(), nil
}

func (e *inEval) filter(ctx *Context, in Input, dst []int32) ([]int32, error) {
	o, err := evalOperand(ctx, e.args[0], in)
	if err != nil {
		return dst, err
	}
	defer o.release()
	test := e.tester(o)
	_ = eachSelected(in, func(i int) error {
		if o.valid(i) && test(i) {
			dst = append(dst, int32(i))
		}
		return nil
	})
	return dst, nil
}

// inListEval is IN over expressions: x = a OR x = b OR ..., with x evaluated once.
type inListEval struct{ *call }

func (e *inListEval) Type() types.Type      { return e.result }
func (e *inListEval) children() []Evaluator { return e.args }

func (e *inListEval) Eval(ctx *Context, in Input) (arrow.Array, error) {
	a, err := e.args[0].Eval(ctx, in)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	x := &given{a, e.args[0].Type()}
	var or Evaluator
	for _, y := range e.args[1:] {
		eq := newCompare(opEQ, x, y, e.result)
		if or == nil {
			or = eq
		} else {
			or = &logicEval{l: or, r: eq, or: true, t: e.result}
		}
	}
	return or.Eval(ctx, in)
}
