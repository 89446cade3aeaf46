package expr

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

func init() {
	defineAgg([]string{"COUNT"}, func(s *AggSpec) (Accumulator, error) { return &countAcc{}, nil })
}

// countAcc is COUNT(*) and COUNT(a, b, ...), which counts the rows in which no argument is NULL.
type countAcc struct{ n []int64 }

func (a *countAcc) Resize(n int) { a.n = aggGrow(a.n, n) }
func (a *countAcc) Reset()       { a.n = a.n[:0] }
func (a *countAcc) Bytes() int64 { return aggSize(a.n) }

func (a *countAcc) Update(in AggInput) error {
	nulls := false
	for _, c := range in.Args {
		if c.DataType().ID() == arrow.NULL {
			return nil // COUNT(NULL); such an array says of no row that it is NULL
		}
		nulls = nulls || c.NullN() > 0
	}
	n := a.n
	if !nulls && in.Kinds == nil && in.OneGroup && len(in.Groups) > 0 {
		n[in.Groups[0]] += int64(len(in.Groups))
		return nil
	}
	if !nulls && in.Kinds == nil {
		for _, g := range in.Groups {
			n[g]++
		}
		return nil
	}
rows:
	for i, g := range in.Groups {
		r := in.row(i)
		for _, c := range in.Args {
			if c.IsNull(r) {
				continue rows
			}
		}
		n[g] += in.sign(r)
	}
	return nil
}

// AppendResult never gives a negative count: one that stray retractions have made prints as 0.
func (a *countAcc) AppendResult(b array.Builder, groups []int32) error {
	c := b.(*array.Int64Builder)
	aggPick(groups, len(a.n), func(g int) { c.Append(max(0, a.n[g])) })
	return nil
}

func (a *countAcc) StateTypes() []arrow.DataType { return []arrow.DataType{arrow.PrimitiveTypes.Int64} }

func (a *countAcc) AppendState(bs []array.Builder, groups []int32) {
	b := bs[0].(*array.Int64Builder)
	if groups == nil {
		b.AppendValues(a.n, nil)
		return
	}
	for _, g := range groups {
		b.Append(a.n[g])
	}
}

func (a *countAcc) MergeState(groups, rows []int32, cols []arrow.Array) {
	v := aggValues[int64](cols[0])
	for i, g := range groups {
		a.n[g] += v[aggRow(rows, i)]
	}
}

func (a *countAcc) MergeFrom(from Accumulator, src, dst []int32) {
	f := from.(*countAcc)
	for i, g := range dst {
		a.n[g] += f.n[src[i]]
	}
}
