package expr

import (
	"encoding/binary"
	"math/big"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-sql/weir/types"
)

func init() {
	defineAgg([]string{"SUM", "AVG"}, newSum)
}

func newSum(s *AggSpec) (Accumulator, error) {
	avg := s.Name == "AVG"
	switch t := s.Args[0]; {
	case t.IsInteger():
		return &intSum{spec: s, avg: avg}, nil
	case t.Kind == types.Decimal:
		return &decSum{spec: s, avg: avg, scale: t.Scale}, nil
	case t.IsApprox() && s.Retract:
		return &exactSum{spec: s, avg: avg}, nil
	case t.IsApprox():
		return &floatSum{spec: s, avg: avg}, nil
	}
	return nil, s.fail("%s of %s is not supported", s.Name, s.Args[0])
}

// wide is an integer of 192 bits in two's complement: sums of any number of rows fit.
type wide struct {
	lo, mid uint64
	hi      int64
}

func (w *wide) add(lo, mid uint64, hi int64) {
	var c uint64
	w.lo, c = bits.Add64(w.lo, lo, 0)
	w.mid, c = bits.Add64(w.mid, mid, c)
	w.hi += hi + int64(c)
}

func (w *wide) sub(lo, mid uint64, hi int64) {
	var c uint64
	w.lo, c = bits.Sub64(w.lo, lo, 0)
	w.mid, c = bits.Sub64(w.mid, mid, c)
	w.hi -= hi + int64(c)
}

func (w *wide) big() *big.Int {
	v := big.NewInt(w.hi)
	v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(w.mid))
	return v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(w.lo))
}

// --- integers

// intSum is SUM and AVG of integers. The sum has 128 bits: only the result can be too big, whatever the order of the rows.
type intSum struct {
	spec *AggSpec
	avg  bool
	s    []intSumState
}

type intSumState struct {
	lo  uint64
	hi  int64
	cnt int64 // rows that are not NULL
}

func (a *intSum) Resize(n int) { a.s = aggGrow(a.s, n) }
func (a *intSum) Reset()       { a.s = a.s[:0] }
func (a *intSum) Bytes() int64 { return aggSize(a.s) }

func (a *intSum) Update(in AggInput) error {
	switch c := in.Args[0].(type) {
	case *array.Int64:
		aggAddInts(a.s, &in, c.Int64Values())
	case *array.Int32:
		aggAddInts(a.s, &in, c.Int32Values())
	case *array.Int16:
		aggAddInts(a.s, &in, c.Int16Values())
	case *array.Int8:
		aggAddInts(a.s, &in, c.Int8Values())
	}
	return nil
}

func aggAddInts[T int8 | int16 | int32 | int64](s []intSumState, in *AggInput, v []T) {
	arg := in.Args[0]
	if in.Kinds == nil && arg.NullN() == 0 && len(in.Groups) > 0 {
		if in.OneGroup { // in registers
			t := s[in.Groups[0]]
			if in.Rows == nil {
				for _, x := range v[:len(in.Groups)] {
					t.add(int64(x))
				}
			} else {
				for _, r := range in.Rows {
					t.add(int64(v[r]))
				}
			}
			s[in.Groups[0]] = t
			return
		}
		if in.Rows == nil {
			v = v[:len(in.Groups)]
			for i, g := range in.Groups {
				s[g].add(int64(v[i]))
			}
			return
		}
		rows := in.Rows[:len(in.Groups)]
		for i, g := range in.Groups {
			s[g].add(int64(v[rows[i]]))
		}
		return
	}
	for i, g := range in.Groups {
		r := in.row(i)
		switch {
		case arg.IsNull(r):
		case in.sign(r) > 0:
			s[g].add(int64(v[r]))
		default:
			s[g].merge(intSumState{lo: uint64(-int64(v[r])), hi: aggNegHigh(int64(v[r])), cnt: -1})
		}
	}
}

// aggNegHigh is the high word of -v, also for the smallest v.
func aggNegHigh(v int64) int64 {
	if v > 0 {
		return -1
	}
	return 0
}

func (s *intSumState) add(v int64) {
	var c uint64
	s.lo, c = bits.Add64(s.lo, uint64(v), 0)
	s.hi += v>>63 + int64(c)
	s.cnt++
}

func (s *intSumState) merge(o intSumState) {
	var c uint64
	s.lo, c = bits.Add64(s.lo, o.lo, 0)
	s.hi += o.hi + int64(c)
	s.cnt += o.cnt
}

func (a *intSum) AppendResult(b array.Builder, groups []int32) error {
	lo, hi := aggIntRange(a.spec.Result.Kind)
	var err error
	aggPick(groups, len(a.s), func(g int) {
		s := &a.s[g]
		if s.cnt <= 0 {
			b.AppendNull()
			return
		}
		v, ok := int64(s.lo), s.hi == int64(s.lo)>>63
		if a.avg {
			if ok {
				v /= s.cnt // truncates toward zero
			} else {
				q := decimal128.New(s.hi, s.lo).BigInt()
				q.Quo(q, big.NewInt(s.cnt))
				v, ok = q.Int64(), q.IsInt64()
			}
		}
		if (!ok || v < lo || v > hi) && err == nil {
			err = a.spec.fail("numeric overflow: the sum %s does not fit %s", decimal128.New(s.hi, s.lo).BigInt(), a.spec.Result.WithNull(true))
		}
		aggAppendInt(b, v)
	})
	return err
}

func aggIntRange(k types.Kind) (lo, hi int64) {
	switch k {
	case types.TinyInt:
		return -1 << 7, 1<<7 - 1
	case types.SmallInt:
		return -1 << 15, 1<<15 - 1
	case types.Int:
		return -1 << 31, 1<<31 - 1
	}
	return -1 << 63, 1<<63 - 1
}

func aggAppendInt(b array.Builder, v int64) {
	switch b := b.(type) {
	case *array.Int64Builder:
		b.Append(v)
	case *array.Int32Builder:
		b.Append(int32(v))
	case *array.Int16Builder:
		b.Append(int16(v))
	case *array.Int8Builder:
		b.Append(int8(v))
	}
}

var int128State arrow.DataType = &arrow.Decimal128Type{Precision: 38}

func (a *intSum) StateTypes() []arrow.DataType {
	return []arrow.DataType{int128State, arrow.PrimitiveTypes.Int64}
}

func (a *intSum) AppendState(bs []array.Builder, groups []int32) {
	sum, cnt := bs[0].(*array.Decimal128Builder), bs[1].(*array.Int64Builder)
	n := len(a.s)
	if groups != nil {
		n = len(groups)
	}
	sum.Reserve(n)
	cnt.Reserve(n)
	for i := range n {
		s := &a.s[aggRow(groups, i)]
		sum.UnsafeAppend(decimal128.New(s.hi, s.lo))
		cnt.UnsafeAppend(s.cnt)
	}
}

func (a *intSum) MergeState(groups, rows []int32, cols []arrow.Array) {
	sum, cnt := cols[0].(*array.Decimal128).Values(), aggValues[int64](cols[1])
	for i, g := range groups {
		r := aggRow(rows, i)
		a.s[g].merge(intSumState{lo: sum[r].LowBits(), hi: sum[r].HighBits(), cnt: cnt[r]})
	}
}

func (a *intSum) MergeFrom(from Accumulator, src, dst []int32) {
	f := from.(*intSum)
	for i, g := range dst {
		a.s[g].merge(f.s[src[i]])
	}
}

// --- DECIMAL

// decSum is SUM and AVG of DECIMAL, exact in 192 bits.
type decSum struct {
	spec  *AggSpec
	avg   bool
	scale int
	s     []decSumState
}

type decSumState struct {
	wide
	cnt int64
}

func (a *decSum) Resize(n int) { a.s = aggGrow(a.s, n) }
func (a *decSum) Reset()       { a.s = a.s[:0] }
func (a *decSum) Bytes() int64 { return aggSize(a.s) }

func (a *decSum) Update(in AggInput) error {
	arg := in.Args[0].(*array.Decimal128)
	v := arg.Values()
	nulls := arg.NullN() > 0
	for i, g := range in.Groups {
		r := in.row(i)
		if nulls && arg.IsNull(r) {
			continue
		}
		s, h := &a.s[g], v[r].HighBits()
		if in.sign(r) > 0 {
			s.add(v[r].LowBits(), uint64(h), h>>63)
			s.cnt++
		} else {
			s.sub(v[r].LowBits(), uint64(h), h>>63)
			s.cnt--
		}
	}
	return nil
}

var maxDecimal = new(big.Int).Exp(big.NewInt(10), big.NewInt(types.MaxDecimalPrecision), nil)

// aggQuoHalfUp is a / b rounded half away from zero; b > 0.
func aggQuoHalfUp(a, b *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(a, b, new(big.Int))
	if r.Abs(r).Lsh(r, 1).Cmp(b) >= 0 {
		q.Add(q, big.NewInt(int64(a.Sign())))
	}
	return q
}

func aggPow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func (a *decSum) AppendResult(b array.Builder, groups []int32) error {
	d := b.(*array.Decimal128Builder)
	var err error
	aggPick(groups, len(a.s), func(g int) {
		s := &a.s[g]
		if s.cnt <= 0 {
			d.AppendNull()
			return
		}
		v := s.big()
		if a.avg {
			v = aggQuoHalfUp(v.Mul(v, aggPow10(a.spec.Result.Scale-a.scale)), big.NewInt(s.cnt))
		}
		if v.CmpAbs(maxDecimal) >= 0 {
			if err == nil {
				err = a.spec.fail("numeric overflow: the result does not fit %s", a.spec.Result.WithNull(true))
			}
			d.AppendNull()
			return
		}
		d.Append(decimal128.FromBigInt(v))
	})
	return err
}

var wideState arrow.DataType = &arrow.FixedSizeBinaryType{ByteWidth: 24}

func appendWide(b array.Builder, w *wide) {
	var buf [24]byte
	binary.LittleEndian.PutUint64(buf[:], w.lo)
	binary.LittleEndian.PutUint64(buf[8:], w.mid)
	binary.LittleEndian.PutUint64(buf[16:], uint64(w.hi))
	b.(*array.FixedSizeBinaryBuilder).Append(buf[:])
}

func readWide(a arrow.Array, r int) (lo, mid uint64, hi int64) {
	v := a.(*array.FixedSizeBinary).Value(r)
	return binary.LittleEndian.Uint64(v), binary.LittleEndian.Uint64(v[8:]), int64(binary.LittleEndian.Uint64(v[16:]))
}

func (a *decSum) StateTypes() []arrow.DataType {
	return []arrow.DataType{wideState, arrow.PrimitiveTypes.Int64}
}

func (a *decSum) AppendState(bs []array.Builder, groups []int32) {
	aggPick(groups, len(a.s), func(g int) {
		appendWide(bs[0], &a.s[g].wide)
		bs[1].(*array.Int64Builder).Append(a.s[g].cnt)
	})
}

func (a *decSum) MergeState(groups, rows []int32, cols []arrow.Array) {
	cnt := aggValues[int64](cols[1])
	for i, g := range groups {
		r := aggRow(rows, i)
		a.s[g].add(readWide(cols[0], r))
		a.s[g].cnt += cnt[r]
	}
}

func (a *decSum) MergeFrom(from Accumulator, src, dst []int32) {
	f := from.(*decSum)
	for i, g := range dst {
		o := &f.s[src[i]]
		a.s[g].add(o.lo, o.mid, o.hi)
		a.s[g].cnt += o.cnt
	}
}
