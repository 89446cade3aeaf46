package expr

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-sql/weir/types"
)

func init() {
	defineAgg([]string{"VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP"}, newVar)
}

// newVar: the result has the argument's own type, as AVG's (Flink): of integers it is cut to one at the end.
func newVar(s *AggSpec) (Accumulator, error) {
	v := varCall{spec: s, sample: s.Name != "VAR_POP" && s.Name != "STDDEV_POP", root: s.Name == "STDDEV_POP" || s.Name == "STDDEV_SAMP"}
	switch t := s.Args[0]; {
	case t.IsInteger(), t.Kind == types.Decimal:
		return &exactVar{varCall: v}, nil
	case t.IsApprox():
		return &floatVar{varCall: v}, nil
	}
	return nil, s.fail("%s of %s is not supported", s.Name, s.Args[0])
}

type varCall struct {
	spec   *AggSpec
	sample bool // divide by n - 1
	root   bool // standard deviation
}

// divisor is what the sum of squared differences is divided by; false: the result is NULL.
func (v *varCall) divisor(cnt int64) (int64, bool) {
	if v.sample {
		cnt--
	}
	return cnt, cnt > 0
}

// exactVar holds the exact sums of the values and of their squares.
type exactVar struct {
	varCall
	s []exactVarState
}

type exactVarState struct {
	sum, squares big.Int
	cnt          int64
}

func (a *exactVar) Resize(n int) { a.s = aggGrow(a.s, n) }
func (a *exactVar) Reset()       { clear(a.s); a.s = a.s[:0] }
func (a *exactVar) Bytes() int64 { return aggSize(a.s) + 64*int64(len(a.s)) }

func (a *exactVar) Update(in AggInput) error {
	arg := in.Args[0]
	var x, sq big.Int
	var get func(r int)
	if d, ok := arg.(*array.Decimal128); ok {
		get = func(r int) { x.Set(d.Value(r).BigInt()) }
	} else {
		v := aggIntGetter(arg)
		get = func(r int) { x.SetInt64(v(r)) }
	}
	for i, g := range in.Groups {
		r := in.row(i)
		if arg.IsNull(r) {
			continue
		}
		get(r)
		sq.Mul(&x, &x)
		s := &a.s[g]
		if in.sign(r) > 0 {
			s.sum.Add(&s.sum, &x)
			s.squares.Add(&s.squares, &sq)
			s.cnt++
		} else {
			s.sum.Sub(&s.sum, &x)
			s.squares.Sub(&s.squares, &sq)
			s.cnt--
		}
	}
	return nil
}

func (a *exactVar) AppendResult(b array.Builder, groups []int32) error {
	var err error
	fail := func() {
		if err == nil {
			err = a.spec.fail("numeric overflow: the result does not fit %s", a.spec.Result.WithNull(true))
		}
		b.AppendNull()
	}
	aggPick(groups, len(a.s), func(g int) {
		s := &a.s[g]
		div, ok := a.divisor(s.cnt)
		if !ok || s.cnt <= 0 {
			b.AppendNull()
			return
		}
		n := big.NewInt(s.cnt)
		if d, ok := b.(*array.Decimal128Builder); ok {
			// (squares - sum^2/n) / div, at twice the argument's scale, rounded once to the scale of the result.
			num := new(big.Int).Mul(&s.squares, n)
			num.Sub(num, new(big.Int).Mul(&s.sum, &s.sum))
			den := n.Mul(n, big.NewInt(div))
			if shift := a.spec.Result.Scale - 2*a.spec.Args[0].Scale; shift >= 0 {
				num.Mul(num, aggPow10(shift))
			} else {
				den.Mul(den, aggPow10(-shift))
			}
			v := aggQuoHalfUp(num, den)
			if a.root {
				f, _ := new(big.Rat).SetFrac(num, den).Float64()
				r, e := types.DecFromFloat64(math.Sqrt(f*math.Pow10(-a.spec.Result.Scale)), types.MaxDecimalPrecision, a.spec.Result.Scale)
				if e != nil {
					fail()
					return
				}
				d.Append(r.Num)
				return
			}
			if v.CmpAbs(maxDecimal) >= 0 {
				fail()
				return
			}
			d.Append(decimal128.FromBigInt(v))
			return
		}
		// (n squares - sum^2) / (n div), cut once at the end: what Flink 2.3 gives.
		v := new(big.Int).Mul(&s.squares, n)
		v.Sub(v, new(big.Int).Mul(&s.sum, &s.sum))
		v.Quo(v, n.Mul(n, big.NewInt(div)))
		if a.root {
			v.Sqrt(v)
		}
		lo, hi := aggIntRange(a.spec.Result.Kind)
		if !v.IsInt64() || v.Int64() < lo || v.Int64() > hi {
			fail()
			return
		}
		aggAppendInt(b, v.Int64())
	})
	return err
}

func (a *exactVar) StateTypes() []arrow.DataType {
	return []arrow.DataType{arrow.BinaryTypes.Binary, arrow.BinaryTypes.Binary, arrow.PrimitiveTypes.Int64}
}

func (a *exactVar) AppendState(bs []array.Builder, groups []int32) {
	aggPick(groups, len(a.s), func(g int) {
		for i, v := range []*big.Int{&a.s[g].sum, &a.s[g].squares} {
			raw, _ := v.GobEncode()
			bs[i].(*array.BinaryBuilder).Append(raw)
		}
		bs[2].(*array.Int64Builder).Append(a.s[g].cnt)
	})
}

func (a *exactVar) MergeState(groups, rows []int32, cols []arrow.Array) {
	var v big.Int
	for i, g := range groups {
		r := aggRow(rows, i)
		s := &a.s[g]
		_ = v.GobDecode(cols[0].(*array.Binary).Value(r))
		s.sum.Add(&s.sum, &v)
		_ = v.GobDecode(cols[1].(*array.Binary).Value(r))
		s.squares.Add(&s.squares, &v)
		s.cnt += aggValues[int64](cols[2])[r]
	}
}

func (a *exactVar) MergeFrom(from Accumulator, src, dst []int32) {
	f := from.(*exactVar)
	for i, g := range dst {
		s, o := &a.s[g], &f.s[src[i]]
		s.sum.Add(&s.sum, &o.sum)
		s.squares.Add(&s.squares, &o.squares)
		s.cnt += o.cnt
	}
}

// floatVar holds the sums of the values and of their squares in twice the precision of a double, so that the difference of the two big sums keeps its
// digits, and rows can be taken back.
type floatVar struct {
	varCall
	s []floatVarState
}

type floatVarState struct {
	sum, squares twoFloat
	cnt          int64
	odd          int64 // NaN and infinities
}

// twoFloat is hi + lo.
type twoFloat struct{ hi, lo float64 }

func (t *twoFloat) add(hi, lo float64) {
	s := t.hi + hi
	b := s - t.hi
	e := (t.hi - (s - b)) + (hi - b) + t.lo + lo
	t.hi = s + e
	t.lo = e - (t.hi - s)
}

func (t *twoFloat) big() *big.Float {
	f := new(big.Float).SetPrec(256).SetFloat64(t.hi)
	return f.Add(f, new(big.Float).SetFloat64(t.lo))
}

func (a *floatVar) Resize(n int) { a.s = aggGrow(a.s, n) }
func (a *floatVar) Reset()       { a.s = a.s[:0] }
func (a *floatVar) Bytes() int64 { return aggSize(a.s) }

func (a *floatVar) Update(in AggInput) error {
	arg := in.Args[0]
	at := aggFloatAt(arg)
	for i, g := range in.Groups {
		r := in.row(i)
		if arg.IsNull(r) {
			continue
		}
		s, x, n := &a.s[g], at(r), in.sign(r)
		s.cnt += n
		sq := x * x
		if math.IsInf(sq, 0) || sq != sq {
			s.odd += n
			continue
		}
		f := float64(n)
		s.sum.add(f*x, 0)
		s.squares.add(f*sq, f*math.FMA(x, x, -sq))
	}
	return nil
}

func (a *floatVar) AppendResult(b array.Builder, groups []int32) error {
	aggPick(groups, len(a.s), func(g int) {
		s := &a.s[g]
		div, ok := a.divisor(s.cnt)
		switch {
		case !ok || s.cnt <= 0:
			b.AppendNull()
			return
		case s.odd > 0 || math.IsInf(s.squares.hi, 0) || s.squares.hi != s.squares.hi:
			aggAppendFloat(b, math.NaN())
			return
		}
		sum := s.sum.big()
		v := new(big.Float).SetPrec(256).Mul(sum, sum)
		v.Quo(v, new(big.Float).SetInt64(s.cnt))
		v.Sub(s.squares.big(), v).Quo(v, new(big.Float).SetInt64(div))
		f, _ := v.Float64()
		if f = max(0, f); a.root {
			f = math.Sqrt(f)
		}
		aggAppendFloat(b, f)
	})
	return nil
}

func (a *floatVar) StateTypes() []arrow.DataType {
	f, i := arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Int64
	return []arrow.DataType{f, f, f, f, i, i}
}

func (a *floatVar) AppendState(bs []array.Builder, groups []int32) {
	aggPick(groups, len(a.s), func(g int) {
		s := &a.s[g]
		for i, v := range []float64{s.sum.hi, s.sum.lo, s.squares.hi, s.squares.lo} {
			bs[i].(*array.Float64Builder).Append(v)
		}
		bs[4].(*array.Int64Builder).Append(s.cnt)
		bs[5].(*array.Int64Builder).Append(s.odd)
	})
}

func (a *floatVar) MergeState(groups, rows []int32, cols []arrow.Array) {
	f := func(c, r int) float64 { return aggValues[float64](cols[c])[r] }
	for i, g := range groups {
		r := aggRow(rows, i)
		a.s[g].merge(floatVarState{twoFloat{f(0, r), f(1, r)}, twoFloat{f(2, r), f(3, r)}, aggValues[int64](cols[4])[r], aggValues[int64](cols[5])[r]})
	}
}

func (s *floatVarState) merge(o floatVarState) {
	if s.cnt == 0 && s.odd == 0 && s.sum == (twoFloat{}) && s.squares == (twoFloat{}) {
		*s = o
		return
	}
	s.sum.add(o.sum.hi, o.sum.lo)
	s.squares.add(o.squares.hi, o.squares.lo)
	s.cnt += o.cnt
	s.odd += o.odd
}

func (a *floatVar) MergeFrom(from Accumulator, src, dst []int32) {
	f := from.(*floatVar)
	for i, g := range dst {
		a.s[g].merge(f.s[src[i]])
	}
}
