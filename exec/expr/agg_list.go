package expr

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/types"
)

func init() {
	defineAgg([]string{"FIRST_VALUE", "LAST_VALUE"}, func(s *AggSpec) (Accumulator, error) {
		if s.Retract {
			return &listAcc{spec: s, t: s.Args[0]}, nil
		}
		return &edgeValue{spec: s, last: s.Name == "LAST_VALUE"}, nil
	})
	defineAgg([]string{"LISTAGG"}, func(s *AggSpec) (Accumulator, error) {
		if s.Retract {
			return &listAcc{spec: s, t: s.Args[0]}, nil
		}
		return &textAcc{spec: s}, nil
	})
	defineAgg([]string{"ARRAY_AGG"}, func(s *AggSpec) (Accumulator, error) {
		return &listAcc{spec: s, t: s.Args[0], nulls: !s.IgnoreNulls}, nil
	})
	defineAgg([]string{"SINGLE_VALUE"}, func(s *AggSpec) (Accumulator, error) {
		return &listAcc{spec: s, t: s.Args[0], nulls: true}, nil
	})
	defineAgg([]string{"COLLECT"}, func(s *AggSpec) (Accumulator, error) {
		t := s.Args[0]
		return &collectAcc{spec: s, ops: aggOps[any]{
			get:  func(a arrow.Array) func(int) any { return func(r int) any { return types.Get(a, r, t) } },
			app:  func(b array.Builder, v any) { _ = types.Append(b, v, t) },
			cmp:  types.Compare,
			size: aggAnyBytes,
		}}, nil
	})
}

// aggAnyBytes is about what a canonical value holds beyond the interface.
func aggAnyBytes(v any) int64 {
	switch v := v.(type) {
	case string:
		return int64(len(v)) + 16
	case []byte:
		return int64(len(v)) + 24
	case []any:
		return aggAnySlice(v)
	case types.RowVal:
		return aggAnySlice(v)
	case types.MapVal:
		n := int64(24)
		for _, e := range v {
			n += 32 + aggAnyBytes(e.Key) + aggAnyBytes(e.Val)
		}
		return n
	}
	return 16
}

func aggAnySlice(v []any) int64 {
	n := int64(24)
	for _, e := range v {
		n += 16 + aggAnyBytes(e)
	}
	return n
}

// edgeValue is FIRST_VALUE or LAST_VALUE where rows are only added: the first or last value that is not NULL.
type edgeValue struct {
	spec  *AggSpec
	last  bool
	v     []any
	bytes int64
}

func (a *edgeValue) Resize(n int) { a.v = aggGrow(a.v, n) }
func (a *edgeValue) Reset()       { clear(a.v); a.v, a.bytes = a.v[:0], 0 }
func (a *edgeValue) Bytes() int64 { return aggSize(a.v) + a.bytes }

func (a *edgeValue) take(g int32, v any) {
	if a.v[g] != nil {
		a.bytes -= aggAnyBytes(a.v[g])
	}
	a.v[g] = v
	a.bytes += aggAnyBytes(v)
}

func (a *edgeValue) Update(in AggInput) error {
	for i, g := range in.Groups {
		r := in.row(i)
		if (a.last || a.v[g] == nil) && !in.Args[0].IsNull(r) {
			a.take(g, types.Get(in.Args[0], r, a.spec.Args[0]))
		}
	}
	return nil
}

func (a *edgeValue) AppendResult(b array.Builder, groups []int32) error {
	var err error
	aggPick(groups, len(a.v), func(g int) {
		if e := types.Append(b, a.v[g], a.spec.Args[0]); e != nil {
			err = e
		}
	})
	return err
}

func (a *edgeValue) StateTypes() []arrow.DataType { return []arrow.DataType{a.spec.Args[0].Arrow()} }

func (a *edgeValue) AppendState(bs []array.Builder, groups []int32) {
	_ = a.AppendResult(bs[0], groups)
}

func (a *edgeValue) MergeState(groups, rows []int32, cols []arrow.Array) {
	_ = a.Update(AggInput{Groups: groups, Rows: rows, Args: cols})
}

func (a *edgeValue) MergeFrom(from Accumulator, src, dst []int32) {
	f := from.(*edgeValue)
	for i, g := range dst {
		if v := f.v[src[i]]; v != nil && (a.last || a.v[g] == nil) {
			a.take(g, v)
		}
	}
}

// textAcc is LISTAGG where rows are only added. NULL values are skipped; of nothing the result is NULL.
type textAcc struct {
	spec  *AggSpec
	v     [][]byte // nil: nothing yet
	bytes int64
}

func (a *textAcc) Resize(n int) { a.v = aggGrow(a.v, n) }
func (a *textAcc) Reset()       { clear(a.v); a.v, a.bytes = a.v[:0], 0 }
func (a *textAcc) Bytes() int64 { return aggSize(a.v) + a.bytes }

func (a *textAcc) add(g int32, v string) {
	old := a.v[g]
	if old == nil {
		a.v[g] = append(make([]byte, 0, max(16, len(v))), v...)
	} else {
		a.v[g] = append(append(old, a.spec.Separator...), v...)
	}
	a.bytes += int64(cap(a.v[g]) - cap(old))
}

func (a *textAcc) Update(in AggInput) error {
	get := aggStringGetter(in.Args[0])
	for i, g := range in.Groups {
		if r := in.row(i); !in.Args[0].IsNull(r) {
			a.add(g, get(r))
		}
	}
	return nil
}

func (a *textAcc) AppendResult(b array.Builder, groups []int32) error {
	s := b.(*array.StringBuilder)
	aggPick(groups, len(a.v), func(g int) {
		if a.v[g] == nil {
			s.AppendNull()
		} else {
			s.BinaryBuilder.Append(a.v[g])
		}
	})
	return nil
}

func (a *textAcc) StateTypes() []arrow.DataType { return []arrow.DataType{arrow.BinaryTypes.String} }

func (a *textAcc) AppendState(bs []array.Builder, groups []int32) { _ = a.AppendResult(bs[0], groups) }

func (a *textAcc) MergeState(groups, rows []int32, cols []arrow.Array) {
	_ = a.Update(AggInput{Groups: groups, Rows: rows, Args: cols})
}

func (a *textAcc) MergeFrom(from Accumulator, src, dst []int32) {
	f := from.(*textAcc)
	for i, g := range dst {
		if v := f.v[src[i]]; v != nil {
			a.add(g, string(v))
		}
	}
}

// listAcc keeps the values of a group in the order of arrival: ARRAY_AGG and SINGLE_VALUE, and where rows are also taken back FIRST_VALUE, LAST_VALUE
// and LISTAGG. Taking a value back removes its first occurrence, as Flink does; one that is not there is ignored.
type listAcc struct {
	spec  *AggSpec
	t     types.Type // of the values
	nulls bool       // NULL is kept as a value
	v     [][]any
	bytes int64
}

func (a *listAcc) Resize(n int) { a.v = aggGrow(a.v, n) }
func (a *listAcc) Reset()       { clear(a.v); a.v, a.bytes = a.v[:0], 0 }
func (a *listAcc) Bytes() int64 { return aggSize(a.v) + a.bytes }

func (a *listAcc) add(g int32, v any) {
	old := cap(a.v[g])
	a.v[g] = append(a.v[g], v)
	a.bytes += 16*int64(cap(a.v[g])-old) + aggAnyBytes(v)
}

func (a *listAcc) remove(g int32, v any) {
	l := a.v[g]
	for i := range l {
		if types.Compare(l[i], v) != 0 {
			continue
		}
		a.bytes -= aggAnyBytes(v)
		if i == 0 { // the common case: the oldest goes
			l[0] = nil
			a.v[g] = l[1:]
			a.bytes -= 16
			return
		}
		copy(l[i:], l[i+1:])
		l[len(l)-1] = nil
		a.v[g] = l[:len(l)-1]
		return
	}
}

func (a *listAcc) Update(in AggInput) error {
	for i, g := range in.Groups {
		r := in.row(i)
		if !a.nulls && in.Args[0].IsNull(r) {
			continue
		}
		v := types.Get(in.Args[0], r, a.t)
		if in.sign(r) > 0 {
			a.add(g, v)
		} else {
			a.remove(g, v)
		}
	}
	return nil
}

func (a *listAcc) AppendResult(b array.Builder, groups []int32) error {
	var err error
	put := func(v any, t types.Type) {
		if e := types.Append(b, v, t); e != nil && err == nil {
			err = e
		}
	}
	aggPick(groups, len(a.v), func(g int) {
		l := a.v[g]
		switch {
		case len(l) == 0:
			b.AppendNull()
		case a.spec.Name == "FIRST_VALUE":
			put(l[0], a.t)
		case a.spec.Name == "LAST_VALUE":
			put(l[len(l)-1], a.t)
		case a.spec.Name == "SINGLE_VALUE":
			if len(l) > 1 && err == nil {
				err = a.spec.fail("a scalar subquery returned more than one row")
			}
			put(l[0], a.t)
		case a.spec.Name == "LISTAGG":
			text := []byte(l[0].(string))
			for _, v := range l[1:] {
				text = append(append(text, a.spec.Separator...), v.(string)...)
			}
			b.(*array.StringBuilder).BinaryBuilder.Append(text)
		default: // ARRAY_AGG
			put(l, a.spec.Result)
		}
	})
	return err
}

func (a *listAcc) StateTypes() []arrow.DataType {
	return []arrow.DataType{arrow.ListOf(a.t.Arrow())}
}

func (a *listAcc) AppendState(bs []array.Builder, groups []int32) {
	b := bs[0].(*array.ListBuilder)
	aggPick(groups, len(a.v), func(g int) {
		b.Append(true)
		for _, v := range a.v[g] {
			_ = types.Append(b.ValueBuilder(), v, a.t)
		}
	})
}

func (a *listAcc) MergeState(groups, rows []int32, cols []arrow.Array) {
	l := cols[0].(*array.List)
	for i, g := range groups {
		from, to := l.ValueOffsets(aggRow(rows, i))
		for k := from; k < to; k++ {
			a.add(g, types.Get(l.ListValues(), int(k), a.t))
		}
	}
}

func (a *listAcc) MergeFrom(from Accumulator, src, dst []int32) {
	f := from.(*listAcc)
	for i, g := range dst {
		for _, v := range f.v[src[i]] {
			a.add(g, v)
		}
	}
}

// collectAcc is COLLECT: the multiset of the values that are not NULL, in the order of the values (Flink gives them in no defined order), so that the
// result does not depend on the order of rows. Of nothing it is the empty multiset.
type collectAcc struct {
	spec  *AggSpec
	ops   aggOps[any]
	s     []orderedSet[any]
	bytes int64
}

func (a *collectAcc) Resize(n int) { a.s = aggGrow(a.s, n) }
func (a *collectAcc) Reset()       { clear(a.s); a.s, a.bytes = a.s[:0], 0 }
func (a *collectAcc) Bytes() int64 { return aggSize(a.s) + a.bytes }

func (a *collectAcc) Update(in AggInput) error {
	if in.Args[0].DataType().ID() == arrow.NULL {
		return nil
	}
	get := a.ops.get(in.Args[0])
	for i, g := range in.Groups {
		if r := in.row(i); !in.Args[0].IsNull(r) {
			a.bytes += a.s[g].add(&a.ops, get(r), in.sign(r))
		}
	}
	return nil
}

func (a *collectAcc) AppendResult(b array.Builder, groups []int32) error {
	var err error
	aggPick(groups, len(a.s), func(g int) {
		m := types.MapVal{}
		a.s[g].each(func(v any, n int64) {
			if n > 0 {
				m = append(m, types.MapEntry{Key: v, Val: int32(n)})
			}
		})
		if e := types.Append(b, m, a.spec.Result); e != nil && err == nil {
			err = e
		}
	})
	return err
}

func (a *collectAcc) StateTypes() []arrow.DataType {
	return []arrow.DataType{countedType(a.spec.Args[0])}
}

func (a *collectAcc) AppendState(bs []array.Builder, groups []int32) {
	aggPick(groups, len(a.s), func(g int) { a.s[g].write(&a.ops, bs[0]) })
}

func (a *collectAcc) MergeState(groups, rows []int32, cols []arrow.Array) {
	for i, g := range groups {
		a.bytes += a.s[g].read(&a.ops, cols[0], aggRow(rows, i))
	}
}

func (a *collectAcc) MergeFrom(from Accumulator, src, dst []int32) {
	f := from.(*collectAcc)
	for i, g := range dst {
		f.s[src[i]].each(func(v any, n int64) { a.bytes += a.s[g].add(&a.ops, v, n) })
	}
}
