package expr

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-sql/weir/types"
)

func init() {
	defineAgg([]string{"MIN", "MAX"}, newMinMax)
}

// newMinMax picks the form in which values are held: int64, float64, DECIMAL's 128 bits, string, or (nested values) canonical Go values.
func newMinMax(s *AggSpec) (Accumulator, error) {
	switch t := s.Args[0]; {
	case t.Kind == types.Boolean, t.IsInteger(), t.IsDatetime(), t.IsInterval():
		return minMaxOf(s, aggOps[int64]{get: aggIntGetter, app: aggAppendWord, cmp: cmp.Compare[int64]}), nil
	case t.IsApprox():
		return minMaxOf(s, aggOps[float64]{get: aggFloatAt, app: aggAppendFloat, cmp: aggCompareFloat}), nil
	case t.Kind == types.Decimal:
		return minMaxOf(s, aggOps[decimal128.Num]{
			get: func(a arrow.Array) func(int) decimal128.Num { return a.(*array.Decimal128).Value },
			app: func(b array.Builder, v decimal128.Num) { b.(*array.Decimal128Builder).Append(v) },
			cmp: func(x, y decimal128.Num) int { return x.Cmp(y) },
		}), nil
	case t.IsText(), t.IsBytes():
		return minMaxOf(s, aggOps[string]{get: aggStringGetter, app: aggAppendString, cmp: strings.Compare, keep: strings.Clone,
			size: func(v string) int64 { return int64(len(v)) }}), nil
	default:
		return minMaxOf(s, aggOps[any]{
			get: func(a arrow.Array) func(int) any { return func(r int) any { return types.Get(a, r, t) } },
			app: func(b array.Builder, v any) { _ = types.Append(b, v, t) },
			cmp: types.Compare, size: func(any) int64 { return 64 },
		}), nil
	}
}

// aggOps says how values of a column are read, compared, kept and written.
type aggOps[T any] struct {
	get  func(arrow.Array) func(r int) T // the value may point into the array
	app  func(array.Builder, T)
	cmp  func(a, b T) int
	keep func(T) T     // a copy that outlives the array; nil: the value itself
	size func(T) int64 // bytes of a kept value beyond its own; nil: none
}

func minMaxOf[T any](s *AggSpec, ops aggOps[T]) Accumulator {
	sign := 1
	if s.Name == "MIN" {
		sign = -1
	}
	if s.Retract {
		return &minMaxRetract[T]{spec: s, ops: ops, max: sign > 0}
	}
	return &minMax[T]{spec: s, ops: ops, sign: sign}
}

// aggCompareFloat orders NaN above every number.
func aggCompareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	case a != a && b != b:
		return 0
	case a != a:
		return 1
	}
	return -1
}

// aggIntGetter reads everything of at most 64 bits that is no float.
func aggIntGetter(a arrow.Array) func(r int) int64 {
	switch a.DataType().ID() {
	case arrow.INT64, arrow.TIMESTAMP, arrow.DURATION:
		v := aggValues[int64](a)
		return func(r int) int64 { return v[r] }
	case arrow.INT32, arrow.DATE32, arrow.TIME32, arrow.INTERVAL_MONTHS:
		v := aggValues[int32](a)
		return func(r int) int64 { return int64(v[r]) }
	case arrow.INT16:
		v := aggValues[int16](a)
		return func(r int) int64 { return int64(v[r]) }
	case arrow.INT8:
		v := aggValues[int8](a)
		return func(r int) int64 { return int64(v[r]) }
	}
	v := a.(*array.Boolean)
	return func(r int) int64 {
		if v.Value(r) {
			return 1
		}
		return 0
	}
}

func aggAppendWord(b array.Builder, v int64) {
	switch b := b.(type) {
	case *array.Int64Builder:
		b.Append(v)
	case *array.Int32Builder:
		b.Append(int32(v))
	case *array.Int16Builder:
		b.Append(int16(v))
	case *array.Int8Builder:
		b.Append(int8(v))
	case *array.BooleanBuilder:
		b.Append(v != 0)
	case *array.Date32Builder:
		b.Append(arrow.Date32(v))
	case *array.Time32Builder:
		b.Append(arrow.Time32(v))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v))
	case *array.DurationBuilder:
		b.Append(arrow.Duration(v))
	case *array.MonthIntervalBuilder:
		b.Append(arrow.MonthInterval(v))
	default:
		panic(fmt.Sprintf("no word for %T", b))
	}
}

func aggStringGetter(a arrow.Array) func(r int) string {
	if s, ok := a.(*array.String); ok {
		return s.Value
	}
	return a.(*array.Binary).ValueString
}

func aggAppendString(b array.Builder, v string) {
	switch b := b.(type) {
	case *array.StringBuilder:
		b.Append(v)
	case *array.BinaryBuilder:
		b.AppendString(v)
	}
}

// minMax is MIN or MAX where rows are only added. Of equal values the first is kept.
type minMax[T any] struct {
	spec  *AggSpec
	ops   aggOps[T]
	sign  int // 1: MAX, -1: MIN
	v     []T
	set   []bool
	extra int64
}

func (a *minMax[T]) Resize(n int) { a.v, a.set = aggGrow(a.v, n), aggGrow(a.set, n) }
func (a *minMax[T]) Reset()       { a.v, a.set, a.extra = a.v[:0], a.set[:0], 0 }
func (a *minMax[T]) Bytes() int64 { return aggSize(a.v) + aggSize(a.set) + a.extra }

func (a *minMax[T]) Update(in AggInput) error {
	arg := in.Args[0]
	nulls := arg.NullN() > 0
	if v, ok := any(a.v).([]int64); ok && !nulls {
		switch arg.DataType().ID() {
		case arrow.INT64, arrow.TIMESTAMP, arrow.DURATION:
			minMaxInts(v, a.set, &in, aggValues[int64](arg), a.sign)
			return nil
		case arrow.INT32, arrow.DATE32, arrow.TIME32:
			minMaxInts(v, a.set, &in, aggValues[int32](arg), a.sign)
			return nil
		}
	}
	get := a.ops.get(arg)
	for i, g := range in.Groups {
		r := in.row(i)
		if !nulls || !arg.IsNull(r) {
			a.take(int(g), get(r))
		}
	}
	return nil
}

func minMaxInts[T int32 | int64](v []int64, set []bool, in *AggInput, src []T, sign int) {
	set = set[:len(v)]
	if in.OneGroup && len(in.Groups) > 0 { // in registers
		g := in.Groups[0]
		best := v[g]
		if !set[g] {
			best, set[g] = int64(src[in.row(0)]), true
		}
		for i := range in.Groups {
			if x := int64(src[in.row(i)]); sign > 0 {
				best = max(best, x)
			} else {
				best = min(best, x)
			}
		}
		v[g] = best
		return
	}
	if sign > 0 {
		for i, g := range in.Groups {
			x := int64(src[in.row(i)])
			if x > v[g] || !set[g] {
				v[g], set[g] = x, true
			}
		}
		return
	}
	for i, g := range in.Groups {
		x := int64(src[in.row(i)])
		if x < v[g] || !set[g] {
			v[g], set[g] = x, true
		}
	}
}

func (a *minMax[T]) take(g int, x T) {
	if a.set[g] {
		if a.ops.cmp(x, a.v[g])*a.sign <= 0 {
			return
		}
		if a.ops.size != nil {
			a.extra -= a.ops.size(a.v[g])
		}
	}
	if a.ops.keep != nil {
		x = a.ops.keep(x)
	}
	if a.ops.size != nil {
		a.extra += a.ops.size(x)
	}
	a.v[g], a.set[g] = x, true
}

func (a *minMax[T]) AppendResult(b array.Builder, groups []int32) error {
	aggPick(groups, len(a.v), func(g int) {
		if a.set[g] {
			a.ops.app(b, a.v[g])
		} else {
			b.AppendNull()
		}
	})
	return nil
}

func (a *minMax[T]) StateTypes() []arrow.DataType { return []arrow.DataType{a.spec.Args[0].Arrow()} }

func (a *minMax[T]) AppendState(bs []array.Builder, groups []int32) {
	if v, ok := any(a.v).([]int64); ok && groups == nil {
		switch b := bs[0].(type) {
		case *array.Int64Builder:
			b.AppendValues(v, a.set)
			return
		}
	}
	_ = a.AppendResult(bs[0], groups)
}

func (a *minMax[T]) MergeState(groups, rows []int32, cols []arrow.Array) {
	_ = a.Update(AggInput{Groups: groups, Rows: rows, Args: cols})
}

func (a *minMax[T]) MergeFrom(from Accumulator, src, dst []int32) {
	f := from.(*minMax[T])
	for i, g := range dst {
		if s := src[i]; f.set[s] {
			a.take(int(g), f.v[s])
		}
	}
}

// minMaxRetract is MIN or MAX where rows are also taken back: it keeps every value with its count.
type minMaxRetract[T any] struct {
	spec  *AggSpec
	ops   aggOps[T]
	max   bool
	s     []orderedSet[T]
	bytes int64
}

func (a *minMaxRetract[T]) Resize(n int) { a.s = aggGrow(a.s, n) }
func (a *minMaxRetract[T]) Reset()       { clear(a.s); a.s, a.bytes = a.s[:0], 0 }
func (a *minMaxRetract[T]) Bytes() int64 { return aggSize(a.s) + a.bytes }

func (a *minMaxRetract[T]) Update(in AggInput) error {
	arg := in.Args[0]
	get := a.ops.get(arg)
	for i, g := range in.Groups {
		if r := in.row(i); !arg.IsNull(r) {
			a.bytes += a.s[g].add(&a.ops, get(r), in.sign(r))
		}
	}
	return nil
}

func (a *minMaxRetract[T]) AppendResult(b array.Builder, groups []int32) error {
	aggPick(groups, len(a.s), func(g int) {
		if v, ok := a.s[g].end(a.max); ok {
			a.ops.app(b, v)
		} else {
			b.AppendNull()
		}
	})
	return nil
}

func (a *minMaxRetract[T]) StateTypes() []arrow.DataType {
	return []arrow.DataType{countedType(a.spec.Args[0])}
}

// countedType is list<struct<value, count>>: values with their counts.
func countedType(t types.Type) arrow.DataType {
	return arrow.ListOf(arrow.StructOf(
		arrow.Field{Name: "value", Type: t.Arrow(), Nullable: true},
		arrow.Field{Name: "count", Type: arrow.PrimitiveTypes.Int64},
	))
}

func (a *minMaxRetract[T]) AppendState(bs []array.Builder, groups []int32) {
	aggPick(groups, len(a.s), func(g int) { a.s[g].write(&a.ops, bs[0]) })
}

func (a *minMaxRetract[T]) MergeState(groups, rows []int32, cols []arrow.Array) {
	for i, g := range groups {
		a.bytes += a.s[g].read(&a.ops, cols[0], aggRow(rows, i))
	}
}

func (a *minMaxRetract[T]) MergeFrom(from Accumulator, src, dst []int32) {
	f := from.(*minMaxRetract[T])
	for i, g := range dst {
		f.s[src[i]].each(func(v T, n int64) { a.bytes += a.s[g].add(&a.ops, v, n) })
	}
}

// orderedSet is a multiset in order: blocks of at most maxBlock entries, each sorted, one behind the other. Counts below zero stand for values that
// were taken back before they came.
type orderedSet[T any] struct {
	blocks [][]setEntry[T]
}

type setEntry[T any] struct {
	v T
	n int64
}

const (
	maxBlock   = 256
	entryBytes = 32 // about, with what the slices have in reserve
)

// add adds n of v and returns by how much the memory held has grown.
func (s *orderedSet[T]) add(ops *aggOps[T], v T, n int64) int64 {
	// The block whose last entry is not below v, or the last block.
	lo, hi := 0, len(s.blocks)-1
	for lo < hi {
		m := (lo + hi) / 2
		if b := s.blocks[m]; ops.cmp(b[len(b)-1].v, v) < 0 {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if len(s.blocks) == 0 {
		s.blocks = append(s.blocks, nil)
	}
	b := s.blocks[lo]
	i, j := 0, len(b)
	for i < j {
		m := (i + j) / 2
		if ops.cmp(b[m].v, v) < 0 {
			i = m + 1
		} else {
			j = m
		}
	}
	if i < len(b) && ops.cmp(b[i].v, v) == 0 {
		if b[i].n += n; b[i].n != 0 {
			return 0
		}
		freed := ops.bytes(b[i].v)
		b = append(b[:i], b[i+1:]...)
		if s.blocks[lo] = b; len(b) == 0 {
			s.blocks = append(s.blocks[:lo], s.blocks[lo+1:]...)
		}
		return -freed
	}
	if ops.keep != nil {
		v = ops.keep(v)
	}
	b = append(b, setEntry[T]{})
	copy(b[i+1:], b[i:])
	b[i] = setEntry[T]{v, n}
	s.blocks[lo] = b
	if len(b) > maxBlock {
		right := append([]setEntry[T](nil), b[maxBlock/2:]...)
		clear(b[maxBlock/2:])
		s.blocks = append(s.blocks, nil)
		copy(s.blocks[lo+2:], s.blocks[lo+1:])
		s.blocks[lo], s.blocks[lo+1] = b[:maxBlock/2], right
	}
	return ops.bytes(v)
}

func (o *aggOps[T]) bytes(v T) int64 {
	if o.size == nil {
		return entryBytes
	}
	return entryBytes + o.size(v)
}

// end returns the greatest (or smallest) value with a count above zero.
func (s *orderedSet[T]) end(greatest bool) (v T, ok bool) {
	for i := range s.blocks {
		b := s.blocks[i]
		if greatest {
			b = s.blocks[len(s.blocks)-1-i]
		}
		for j := range b {
			e := &b[j]
			if greatest {
				e = &b[len(b)-1-j]
			}
			if e.n > 0 {
				return e.v, true
			}
		}
	}
	return v, false
}

func (s *orderedSet[T]) each(f func(v T, n int64)) {
	for _, b := range s.blocks {
		for _, e := range b {
			f(e.v, e.n)
		}
	}
}

func (s *orderedSet[T]) write(ops *aggOps[T], b array.Builder) {
	l := b.(*array.ListBuilder)
	l.Append(true)
	e := l.ValueBuilder().(*array.StructBuilder)
	s.each(func(v T, n int64) {
		e.Append(true)
		ops.app(e.FieldBuilder(0), v)
		e.FieldBuilder(1).(*array.Int64Builder).Append(n)
	})
}

func (s *orderedSet[T]) read(ops *aggOps[T], col arrow.Array, r int) (grown int64) {
	l := col.(*array.List)
	e := l.ListValues().(*array.Struct)
	get, n := ops.get(e.Field(0)), e.Field(1).(*array.Int64)
	from, to := l.ValueOffsets(r)
	for k := from; k < to; k++ {
		grown += s.add(ops, get(int(k)), n.Value(int(k)))
	}
	return grown
}
