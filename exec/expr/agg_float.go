package expr

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// aggFloatAt returns the values of a FLOAT or DOUBLE column as float64.
func aggFloatAt(a arrow.Array) func(r int) float64 {
	if f, ok := a.(*array.Float32); ok {
		v := f.Float32Values()
		return func(r int) float64 { return float64(v[r]) }
	}
	v := a.(*array.Float64).Float64Values()
	return func(r int) float64 { return v[r] }
}

func aggAppendFloat(b array.Builder, v float64) {
	if f, ok := b.(*array.Float32Builder); ok {
		f.Append(float32(v))
		return
	}
	b.(*array.Float64Builder).Append(v)
}

// floatSum is SUM and AVG of FLOAT and DOUBLE where rows are only added: plain addition in row order, as Flink does it; FLOAT is summed as DOUBLE.
type floatSum struct {
	spec *AggSpec
	avg  bool
	s    []floatSumState
}

type floatSumState struct {
	sum float64
	cnt int64
}

func (a *floatSum) Resize(n int) { a.s = aggGrow(a.s, n) }
func (a *floatSum) Reset()       { a.s = a.s[:0] }
func (a *floatSum) Bytes() int64 { return aggSize(a.s) }

func (a *floatSum) Update(in AggInput) error {
	arg := in.Args[0]
	nulls := arg.NullN() > 0
	at := aggFloatAt(arg)
	for i, g := range in.Groups {
		r := in.row(i)
		if nulls && arg.IsNull(r) {
			continue
		}
		a.s[g].sum += at(r)
		a.s[g].cnt++
	}
	return nil
}

func (a *floatSum) AppendResult(b array.Builder, groups []int32) error {
	aggPick(groups, len(a.s), func(g int) {
		s := a.s[g]
		switch {
		case s.cnt == 0:
			b.AppendNull()
		case a.avg:
			aggAppendFloat(b, s.sum/float64(s.cnt))
		default:
			aggAppendFloat(b, s.sum)
		}
	})
	return nil
}

func (a *floatSum) StateTypes() []arrow.DataType {
	return []arrow.DataType{arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Int64}
}

func (a *floatSum) AppendState(bs []array.Builder, groups []int32) {
	aggPick(groups, len(a.s), func(g int) {
		bs[0].(*array.Float64Builder).Append(a.s[g].sum)
		bs[1].(*array.Int64Builder).Append(a.s[g].cnt)
	})
}

func (a *floatSum) MergeState(groups, rows []int32, cols []arrow.Array) {
	sum, cnt := aggValues[float64](cols[0]), aggValues[int64](cols[1])
	for i, g := range groups {
		r := aggRow(rows, i)
		a.s[g].merge(floatSumState{sum[r], cnt[r]})
	}
}

func (a *floatSum) MergeFrom(from Accumulator, src, dst []int32) {
	f := from.(*floatSum)
	for i, g := range dst {
		a.s[g].merge(f.s[src[i]])
	}
}

// merge takes the other's sum as it is when there is none yet, so that -0.0 and rounding stay those of the rows.
func (s *floatSumState) merge(o floatSumState) {
	if s.cnt == 0 {
		*s = o
		return
	}
	s.sum += o.sum
	s.cnt += o.cnt
}

// exactSum is SUM and AVG of FLOAT and DOUBLE where rows are also taken back: the sum is exact (an expansion of doubles that do not overlap, by
// Shewchuk), infinities and NaN are counted, so that the result is that of the rows that are left, correctly rounded.
type exactSum struct {
	spec  *AggSpec
	avg   bool
	s     []exactSumState
	parts int64 // doubles held in expansions
}

type exactSumState struct {
	sum                  expansion
	cnt, inf, ninf, nans int64
}

func (a *exactSum) Resize(n int) { a.s = aggGrow(a.s, n) }
func (a *exactSum) Reset()       { clear(a.s); a.s, a.parts = a.s[:0], 0 }
func (a *exactSum) Bytes() int64 { return aggSize(a.s) + 16*a.parts }

func (a *exactSum) add(g int32, v float64, sign int64) {
	s := &a.s[g]
	s.cnt += sign
	switch {
	case v != v:
		s.nans += sign
	case math.IsInf(v, 1):
		s.inf += sign
	case math.IsInf(v, -1):
		s.ninf += sign
	default:
		before := s.sum.len()
		s.sum.add(v * float64(sign))
		a.parts += int64(s.sum.len() - before)
	}
}

func (a *exactSum) Update(in AggInput) error {
	arg := in.Args[0]
	at := aggFloatAt(arg)
	for i, g := range in.Groups {
		r := in.row(i)
		if !arg.IsNull(r) {
			a.add(g, at(r), in.sign(r))
		}
	}
	return nil
}

func (s *exactSumState) value() float64 {
	switch {
	case s.nans > 0 || s.inf > 0 && s.ninf > 0:
		return math.NaN()
	case s.inf > 0:
		return math.Inf(1)
	case s.ninf > 0:
		return math.Inf(-1)
	}
	return s.sum.value()
}

func (a *exactSum) AppendResult(b array.Builder, groups []int32) error {
	aggPick(groups, len(a.s), func(g int) {
		s := &a.s[g]
		switch {
		case s.cnt <= 0:
			b.AppendNull()
		case a.avg:
			aggAppendFloat(b, s.value()/float64(s.cnt))
		default:
			aggAppendFloat(b, s.value())
		}
	})
	return nil
}

func (a *exactSum) StateTypes() []arrow.DataType {
	i := arrow.PrimitiveTypes.Int64
	return []arrow.DataType{arrow.ListOf(arrow.PrimitiveTypes.Float64), i, i, i, i}
}

func (a *exactSum) AppendState(bs []array.Builder, groups []int32) {
	l := bs[0].(*array.ListBuilder)
	aggPick(groups, len(a.s), func(g int) {
		s := &a.s[g]
		l.Append(true)
		s.sum.each(func(v float64) { l.ValueBuilder().(*array.Float64Builder).Append(v) })
		for i, n := range []int64{s.cnt, s.inf, s.ninf, s.nans} {
			bs[i+1].(*array.Int64Builder).Append(n)
		}
	})
}

func (a *exactSum) MergeState(groups, rows []int32, cols []arrow.Array) {
	l := cols[0].(*array.List)
	v := l.ListValues().(*array.Float64)
	for i, g := range groups {
		r := aggRow(rows, i)
		s := &a.s[g]
		before := s.sum.len()
		from, to := l.ValueOffsets(r)
		for k := from; k < to; k++ {
			s.sum.add(v.Value(int(k)))
		}
		a.parts += int64(s.sum.len() - before)
		for k, p := range []*int64{&s.cnt, &s.inf, &s.ninf, &s.nans} {
			*p += aggValues[int64](cols[k+1])[r]
		}
	}
}

func (a *exactSum) MergeFrom(from Accumulator, src, dst []int32) {
	f := from.(*exactSum)
	for i, g := range dst {
		s, o := &a.s[g], &f.s[src[i]]
		before := s.sum.len()
		o.sum.each(s.sum.add)
		a.parts += int64(s.sum.len() - before)
		s.cnt, s.inf, s.ninf, s.nans = s.cnt+o.cnt, s.inf+o.inf, s.ninf+o.ninf, s.nans+o.nans
	}
}

// expansion is an exact sum of finite doubles: parts that do not overlap, smallest first. Parts of big values are held scaled down, so that no
// addition overflows before the end.
type expansion struct {
	parts []float64
	big   []float64 // each times 2^bigScale
}

const (
	bigLimit = 0x1p900
	bigScale = 120
)

func (e *expansion) len() int { return len(e.parts) + len(e.big) }

func (e *expansion) add(v float64) {
	if math.Abs(v) >= bigLimit {
		e.big = addPart(e.big, math.Ldexp(v, -bigScale))
	} else {
		e.parts = addPart(e.parts, v)
	}
}

func addPart(parts []float64, x float64) []float64 {
	n := 0
	for _, y := range parts {
		if math.Abs(x) < math.Abs(y) {
			x, y = y, x
		}
		hi := x + y
		if lo := y - (hi - x); lo != 0 {
			parts[n] = lo
			n++
		}
		x = hi
	}
	if x != 0 {
		return append(parts[:n], x)
	}
	return parts[:n]
}

// each calls f with doubles whose exact sum is e.
func (e *expansion) each(f func(float64)) {
	for _, p := range e.parts {
		f(p)
	}
	for _, p := range e.big {
		// A part of the big ones may be beyond the largest double: hand it on in pieces.
		for v := math.Ldexp(p, bigScale); ; {
			if !math.IsInf(v, 0) {
				f(v)
				break
			}
			piece := math.Copysign(math.MaxFloat64, p)
			f(piece)
			p -= math.Ldexp(piece, -bigScale)
			v = math.Ldexp(p, bigScale)
		}
	}
}

// value is the sum rounded once.
func (e *expansion) value() float64 {
	if len(e.big) == 0 {
		return roundParts(e.parts)
	}
	all := append([]float64(nil), e.big...)
	for _, p := range e.parts {
		all = addPart(all, math.Ldexp(p, -bigScale))
	}
	return math.Ldexp(roundParts(all), bigScale)
}

// roundParts adds the parts from the largest down and corrects a tie that the rest decides.
func roundParts(parts []float64) float64 {
	n := len(parts)
	if n == 0 {
		return 0
	}
	n--
	hi := parts[n]
	for n > 0 {
		x := hi
		n--
		y := parts[n]
		hi = x + y
		lo := y - (hi - x)
		if lo != 0 {
			if n > 0 && (lo < 0 && parts[n-1] < 0 || lo > 0 && parts[n-1] > 0) {
				y := lo * 2
				if x := hi + y; y == x-hi {
					hi = x
				}
			}
			break
		}
	}
	return hi
}
