package expr

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-sql/weir/types"
)

// cmpOp is one of the four comparisons that have kernels; > and >= swap their operands. (NaN forbids to make them of NOT <= and NOT <.)
type cmpOp uint8

const (
	opEQ cmpOp = iota
	opNE
	opLT
	opLE
)

func init() {
	for name, c := range map[string]struct {
		op   cmpOp
		swap bool
	}{"=": {opEQ, false}, "<>": {opNE, false}, "<": {opLT, false}, "<=": {opLE, false}, ">": {opLT, true}, ">=": {opLE, true}} {
		define(name, func(call *call) (Evaluator, error) {
			l, r := call.args[0], call.args[1]
			if c.swap {
				l, r = r, l
			}
			return newCompare(c.op, l, r, call.result), nil
		})
	}
	define("IS DISTINCT FROM", func(c *call) (Evaluator, error) {
		return &distinctEval{cmp: compareEval{op: opNE, l: c.args[0], r: c.args[1], t: c.result}}, nil
	})
	define("IS NOT DISTINCT FROM", func(c *call) (Evaluator, error) {
		return &distinctEval{cmp: compareEval{op: opEQ, l: c.args[0], r: c.args[1], t: c.result}}, nil
	})
	define("BETWEEN", func(c *call) (Evaluator, error) { return &betweenEval{call: c}, nil })
	define("BETWEEN SYMMETRIC", func(c *call) (Evaluator, error) { return &betweenEval{call: c, symmetric: true}, nil })
}

func newCompare(op cmpOp, l, r Evaluator, t types.Type) Evaluator {
	for _, e := range []Evaluator{l, r} {
		if v, ok := constant(e); ok && v == nil {
			return Literal(nil, t)
		}
	}
	return &compareEval{op: op, l: l, r: r, t: t}
}

// compareEval compares two operands of the same type (DECIMALs of any scales).
type compareEval struct {
	op   cmpOp
	l, r Evaluator
	t    types.Type
}

func (e *compareEval) Type() types.Type      { return e.t }
func (e *compareEval) children() []Evaluator { return []Evaluator{e.l, e.r} }

func (e *compareEval) operands(ctx *Context, in Input) (l, r operand, err error) {
	if l, err = evalOperand(ctx, e.l, in); err != nil {
		return l, r, err
	}
	if r, err = evalOperand(ctx, e.r, in); err != nil {
		l.release()
		return operand{}, operand{}, err
	}
	return l, r, nil
}

func (e *compareEval) Eval(ctx *Context, in Input) (arrow.Array, error) {
	l, r, err := e.operands(ctx, in)
	if err != nil {
		return nil, err
	}
	defer l.release()
	defer r.release()
	buf := newBitmap(ctx, in.Rows)
	compareBits(ctx, e.op, l, r, in, words(buf))
	return finish(arrow.FixedWidthTypes.Boolean, in.Rows, validity(ctx, in.Rows, l, r), buf), nil
}

// compareBits sets the bits of the rows where the comparison is true; those of rows with a NULL have no meaning.
func compareBits(ctx *Context, op cmpOp, l, r operand, in Input, out []uint64) {
	switch fixedWidth(l, r) {
	case 8:
		bitsOf[int8](ctx, op, l, r, in.Rows, out)
	case 16:
		bitsOf[int16](ctx, op, l, r, in.Rows, out)
	case 32:
		bitsOf[int32](ctx, op, l, r, in.Rows, out)
	case 64:
		bitsOf[int64](ctx, op, l, r, in.Rows, out)
	case -32:
		bitsOf[float32](ctx, op, l, r, in.Rows, out)
	case -64:
		bitsOf[float64](ctx, op, l, r, in.Rows, out)
	default:
		test := tester(op, l, r)
		if in.Selection == nil {
			for i := range in.Rows {
				if l.valid(i) && r.valid(i) {
					out[i/64] |= bit(test(i)) << (i & 63)
				}
			}
			return
		}
		for _, i := range in.Selection {
			if l.valid(int(i)) && r.valid(int(i)) {
				out[i/64] |= bit(test(int(i))) << (i & 63)
			}
		}
	}
}

// fixedWidth tells the kernel for operands of one type: the bits of an integer, negative for a float, 0 for the others.
func fixedWidth(l, r operand) int {
	if l.t.Kind == types.Null || r.t.Kind == types.Null {
		return 0
	}
	switch l.t.Kind {
	case types.TinyInt:
		return 8
	case types.SmallInt:
		return 16
	case types.Int, types.Date, types.Time, types.IntervalYearMonth:
		return 32
	case types.BigInt, types.Timestamp, types.TimestampLTZ, types.IntervalDayTime:
		return 64
	case types.Float:
		return -32
	case types.Double:
		return -64
	}
	return 0
}

type ordered interface {
	int8 | int16 | int32 | int64 | float32 | float64
}

func bitsOf[T ordered](ctx *Context, op cmpOp, l, r operand, n int, out []uint64) {
	inBlocks(ctx, n, l, r, func(lo int, a, b []T) { cmpBits(op, a, b, out[lo/64:]) })
}

// cmpBits writes one bit for each pair, from bit 0 of out on.
func cmpBits[T ordered](op cmpOp, a, b []T, out []uint64) {
	for k := 0; len(a) > 0; k++ {
		x := a[:min(64, len(a))]
		y := b[:len(x)]
		var w uint64
		switch op {
		case opEQ:
			for j := range x {
				w |= bit(x[j] == y[j]) << (j & 63)
			}
		case opNE:
			for j := range x {
				w |= bit(x[j] != y[j]) << (j & 63)
			}
		case opLT:
			for j := range x {
				w |= bit(x[j] < y[j]) << (j & 63)
			}
		case opLE:
			for j := range x {
				w |= bit(x[j] <= y[j]) << (j & 63)
			}
		}
		out[k] = w
		a, b = a[len(x):], b[len(x):]
	}
}

// cmpSelect appends base + j for the pairs that compare true; dst has room.
func cmpSelect[T ordered](op cmpOp, a, b []T, base int32, dst []int32) []int32 {
	n := len(dst)
	out := dst[n : n+len(a)]
	b = b[:len(a)]
	k := 0
	switch op {
	case opEQ:
		for j := range a {
			out[k] = base + int32(j)
			k += int(bit(a[j] == b[j]))
		}
	case opNE:
		for j := range a {
			out[k] = base + int32(j)
			k += int(bit(a[j] != b[j]))
		}
	case opLT:
		for j := range a {
			out[k] = base + int32(j)
			k += int(bit(a[j] < b[j]))
		}
	case opLE:
		for j := range a {
			out[k] = base + int32(j)
			k += int(bit(a[j] <= b[j]))
		}
	}
	return dst[:n+k]
}

// cmpSelected is cmpSelect for the rows of sel; a mask of 0 stands for a constant in slot 0, -1 for a column.
func cmpSelected[T ordered](op cmpOp, a, b []T, ma, mb int32, sel, dst []int32) []int32 {
	n := len(dst)
	out := dst[n : n+len(sel)]
	k := 0
	switch op {
	case opEQ:
		for _, i := range sel {
			out[k] = i
			k += int(bit(a[i&ma] == b[i&mb]))
		}
	case opNE:
		for _, i := range sel {
			out[k] = i
			k += int(bit(a[i&ma] != b[i&mb]))
		}
	case opLT:
		for _, i := range sel {
			out[k] = i
			k += int(bit(a[i&ma] < b[i&mb]))
		}
	case opLE:
		for _, i := range sel {
			out[k] = i
			k += int(bit(a[i&ma] <= b[i&mb]))
		}
	}
	return dst[:n+k]
}

func selectOf[T ordered](ctx *Context, op cmpOp, l, r operand, in Input, dst []int32) []int32 {
	if in.Selection == nil {
		inBlocks(ctx, in.Rows, l, r, func(lo int, a, b []T) { dst = cmpSelect(op, a, b, int32(lo), dst) })
		return dst
	}
	column := func(o operand) ([]T, int32) {
		if o.arr == nil {
			return []T{rawConst[T](o.v)}, 0
		}
		return rawValues[T](o.arr), -1
	}
	a, ma := column(l)
	b, mb := column(r)
	return cmpSelected(op, a, b, ma, mb, in.Selection, dst)
}

func (e *compareEval) filter(ctx *Context, in Input, dst []int32) ([]int32, error) {
	l, r, err := e.operands(ctx, in)
	if err != nil {
		return dst, err
	}
	defer l.release()
	defer r.release()
	from := len(dst)
	if need := from + in.Len(); cap(dst) < need {
		dst = append(make([]int32, 0, need), dst...)
	}
	switch fixedWidth(l, r) {
	case 8:
		dst = selectOf[int8](ctx, e.op, l, r, in, dst)
	case 16:
		dst = selectOf[int16](ctx, e.op, l, r, in, dst)
	case 32:
		dst = selectOf[int32](ctx, e.op, l, r, in, dst)
	case 64:
		dst = selectOf[int64](ctx, e.op, l, r, in, dst)
	case -32:
		dst = selectOf[float32](ctx, e.op, l, r, in, dst)
	case -64:
		dst = selectOf[float64](ctx, e.op, l, r, in, dst)
	default:
		test := tester(e.op, l, r)
		if in.Selection == nil {
			for i := range in.Rows {
				if l.valid(i) && r.valid(i) && test(i) {
					dst = append(dst, int32(i))
				}
			}
			return dst, nil
		}
		for _, i := range in.Selection {
			if l.valid(int(i)) && r.valid(int(i)) && test(int(i)) {
				dst = append(dst, i)
			}
		}
		return dst, nil
	}
	for _, o := range []operand{l, r} {
		if o.hasNulls() {
			kept := dst[:from]
			for _, i := range dst[from:] {
				if o.arr.IsValid(int(i)) {
					kept = append(kept, i)
				}
			}
			dst = kept
		}
	}
	return dst, nil
}

// tester compares single rows, neither of them NULL, of operands that have no kernel.
func tester(op cmpOp, l, r operand) func(i int) bool {
	if l.t.IsText() && r.t.IsText() {
		a, b := stringReader(l), stringReader(r)
		if s, ok := r.v.(string); ok && r.arr == nil {
			switch op { // a comparison with a constant is the commonest of all
			case opEQ:
				return func(i int) bool { return a(i) == s }
			case opNE:
				return func(i int) bool { return a(i) != s }
			}
		}
		switch op {
		case opEQ:
			return func(i int) bool { return a(i) == b(i) }
		case opNE:
			return func(i int) bool { return a(i) != b(i) }
		}
	}
	cmp := comparer(l, r)
	switch op {
	case opEQ:
		return func(i int) bool { return cmp(i) == 0 }
	case opNE:
		return func(i int) bool { return cmp(i) != 0 }
	case opLT:
		return func(i int) bool { return cmp(i) < 0 }
	}
	return func(i int) bool { return cmp(i) <= 0 }
}

// comparer orders row i of two operands of one type, neither of them NULL. NULLs inside of ARRAY, MAP and ROW equal each other.
func comparer(l, r operand) func(i int) int {
	switch {
	case l.t.IsText():
		a, b := stringReader(l), stringReader(r)
		return func(i int) int { return strings.Compare(a(i), b(i)) }
	case l.t.Kind == types.Boolean:
		a, b := boolReader(l), boolReader(r)
		return func(i int) int { return int(bit(a(i))) - int(bit(b(i))) }
	case l.t.Kind == types.Decimal && r.t.Kind == types.Decimal:
		if l.t.Scale == r.t.Scale {
			a, b := numReader(l), numReader(r)
			return func(i int) int { return a(i).Cmp(b(i)) }
		}
		a, b := decReader(l), decReader(r)
		return func(i int) int { return a(i).Cmp(b(i)) }
	case l.t.IsInteger() && r.t.IsInteger():
		a, b := intReader(l), intReader(r)
		return func(i int) int { return types.Compare(a(i), b(i)) }
	}
	return func(i int) int { return types.Compare(l.value(i), r.value(i)) }
}

func numReader(o operand) func(int) decimal128.Num {
	if o.arr == nil {
		return always(o.v.(types.Dec).Num)
	}
	if a, ok := o.arr.(*array.Decimal128); ok {
		return a.Value
	}
	return func(int) decimal128.Num { return decimal128.Num{} }
}

// distinctEval is IS [NOT] DISTINCT FROM: a comparison in which NULL equals NULL; op NE is IS DISTINCT FROM.
type distinctEval struct{ cmp compareEval }

func (e *distinctEval) Type() types.Type      { return e.cmp.t }
func (e *distinctEval) children() []Evaluator { return e.cmp.children() }

func (e *distinctEval) Eval(ctx *Context, in Input) (arrow.Array, error) {
	l, r, err := e.cmp.operands(ctx, in)
	if err != nil {
		return nil, err
	}
	defer l.release()
	defer r.release()
	buf := newBitmap(ctx, in.Rows)
	out := words(buf)
	if l.t.Kind != types.Null && r.t.Kind != types.Null {
		compareBits(ctx, e.cmp.op, l, r, in, out)
	}
	lv, rv := validWords(l, in.Rows), validWords(r, in.Rows)
	for i := range out {
		both := lv[i] & rv[i]
		if e.cmp.op == opNE {
			out[i] = out[i]&both | (lv[i] ^ rv[i])
		} else {
			out[i] = out[i]&both | ^(lv[i] | rv[i])
		}
	}
	return finish(arrow.FixedWidthTypes.Boolean, in.Rows, nil, buf), nil
}

// validWords returns where an operand is not NULL.
func validWords(o operand, n int) []uint64 {
	switch {
	case o.arr == nil:
		return bitWords(nil, nil, 0, n)
	case o.arr.DataType().ID() == arrow.NULL:
		return make([]uint64, (n+63)/64)
	}
	return bitWords(nil, o.arr.Data().Buffers()[0], o.arr.Data().Offset(), n)
}

// betweenEval is x BETWEEN low AND high: x >= low AND x <= high, with x evaluated once. SYMMETRIC takes the bounds in either order.
type betweenEval struct {
	*call
	symmetric bool
}

func (e *betweenEval) Type() types.Type      { return e.result }
func (e *betweenEval) children() []Evaluator { return e.args }

// expand returns the comparisons over x, which is evaluated, and what to call when they are done.
func (e *betweenEval) expand(ctx *Context, in Input) (Evaluator, func(), error) {
	done := func() {}
	x := e.args[0]
	switch x.(type) {
	case *column, *literal:
	default:
		a, err := x.Eval(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		x, done = &given{a, x.Type()}, a.Release
	}
	t := e.result
	between := func(low, high Evaluator) Evaluator {
		return &logicEval{l: newCompare(opLE, low, x, t), r: newCompare(opLE, x, high, t), t: t}
	}
	if !e.symmetric {
		return between(e.args[1], e.args[2]), done, nil
	}
	return &logicEval{l: between(e.args[1], e.args[2]), r: between(e.args[2], e.args[1]), or: true, t: t}, done, nil
}

func (e *betweenEval) Eval(ctx *Context, in Input) (arrow.Array, error) {
	x, done, err := e.expand(ctx, in)
	if err != nil {
		return nil, err
	}
	defer done()
	return x.Eval(ctx, in)
}

func (e *betweenEval) filter(ctx *Context, in Input, dst []int32) ([]int32, error) {
	x, done, err := e.expand(ctx, in)
	if err != nil {
		return dst, err
	}
	defer done()
	return Filter(ctx, x, in, dst)
}
