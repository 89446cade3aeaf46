package exchange

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/exec/stream"
)

// Partitioner spreads rows over partitions by the hash of key columns, so that equal keys meet in one partition: NULL equals NULL, -0.0 equals 0.0, NaN
// equals NaN.
type Partitioner struct {
	keys   []int
	n      int
	hashes []uint64
}

// NewPartitioner spreads over n partitions by the columns keys; without keys everything goes to partition 0.
func NewPartitioner(keys []int, n int) *Partitioner { return &Partitioner{keys: keys, n: n} }

// Partition returns one batch for each partition; those without rows are zero. The batches share b's record and side vectors and list their rows in
// Selection; each has a reference of its own, and that of b is given back. Where the two rows of an update go to different partitions they become
// -D and +I.
func (p *Partitioner) Partition(b stream.Batch) ([]stream.Batch, error) {
	out := make([]stream.Batch, p.n)
	if len(p.keys) == 0 || p.n == 1 {
		out[0] = b
		return out, nil
	}
	rows := int(b.Record.NumRows())
	if cap(p.hashes) < rows {
		p.hashes = make([]uint64, rows)
	}
	h := p.hashes[:rows]
	for i := range h {
		h[i] = hashSeed
	}
	for _, k := range p.keys {
		if err := hashColumn(b.Record.Column(k), h); err != nil {
			b.Release()
			return nil, err
		}
	}

	sels := make([][]int32, p.n)
	n := b.Len()
	var kinds []stream.RowKind
	at := -1 // partition of the row before
	for i := range n {
		r := b.Row(i)
		to := int(mix(h[r]) % uint64(p.n))
		sels[to] = append(sels[to], int32(r))
		if b.Kinds != nil && b.Kinds[r] == stream.UpdateAfter && i > 0 && at != to {
			if before := b.Row(i - 1); b.Kinds[before] == stream.UpdateBefore {
				if kinds == nil {
					kinds = append([]stream.RowKind(nil), b.Kinds...)
				}
				kinds[before], kinds[r] = stream.Delete, stream.Insert
			}
		}
		at = to
	}
	if kinds != nil {
		b.Kinds = kinds
	}
	for to, sel := range sels {
		if len(sel) == 0 {
			continue
		}
		b.Retain()
		out[to] = stream.Batch{Record: b.Record, Kinds: b.Kinds, Before: b.Before, Seq: b.Seq, Selection: sel}
	}
	b.Release()
	return out, nil
}

// Seal has every array of a record count its NULLs: an array that is cut out of another one does so when it is first asked, which several readers may do at
// once.
func Seal(rec arrow.RecordBatch) {
	for _, c := range rec.Columns() {
		sealArray(c)
	}
}

func sealArray(a arrow.Array) {
	a.NullN()
	switch a := a.(type) {
	case *array.Struct:
		for f := range a.NumField() {
			sealArray(a.Field(f))
		}
	case *array.Map: // its entries are those of the list
		sealArray(a.ListValues())
	case *array.List:
		sealArray(a.ListValues())
	}
}

// HashVersion names the hash function; it goes into the manifest of a snapshot, since state is spread by it.
const HashVersion = 1

const (
	hashSeed = 0x9e3779b97f4a7c15
	hashMul  = 0xff51afd7ed558ccd
	hashNull = 0x5bf03635ed1f2d7b
)

func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= hashMul
	return h ^ h>>29
}

func add(h, v uint64) uint64 { return mix(h*31 + v*hashMul) }

// hashColumn adds the hash of each row of a to h.
func hashColumn(a arrow.Array, h []uint64) error {
	if a.NullN() == a.Len() {
		for i := range h {
			h[i] = add(h[i], hashNull)
		}
		return nil
	}
	each := func(f func(i int) uint64) error {
		if a.NullN() == 0 {
			for i := range h {
				h[i] = add(h[i], f(i))
			}
			return nil
		}
		for i := range h {
			if a.IsNull(i) {
				h[i] = add(h[i], hashNull)
			} else {
				h[i] = add(h[i], f(i))
			}
		}
		return nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return each(func(i int) uint64 {
			if a.Value(i) {
				return 1
			}
			return 0
		})
	case *array.Int8:
		return each(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Int16:
		return each(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Int32:
		return each(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Int64:
		return each(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Float32:
		return each(func(i int) uint64 { return hashFloat(float64(a.Value(i))) })
	case *array.Float64:
		return each(func(i int) uint64 { return hashFloat(a.Value(i)) })
	case *array.Decimal128:
		return each(func(i int) uint64 { v := a.Value(i); return add(v.LowBits(), uint64(v.HighBits())) })
	case *array.Date32:
		return each(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Time32:
		return each(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Timestamp:
		return each(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.MonthInterval:
		return each(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Duration:
		return each(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.String:
		return each(func(i int) uint64 { return hashText(a.Value(i)) })
	case *array.Binary:
		return each(func(i int) uint64 { return hashText(a.ValueString(i)) })
	case *array.Struct:
		sub := make([]uint64, a.Len())
		for f := range a.NumField() {
			if err := hashColumn(a.Field(f), sub); err != nil {
				return err
			}
		}
		return each(func(i int) uint64 { return sub[i] })
	case *array.List:
		values := a.ListValues()
		sub := make([]uint64, values.Len())
		if err := hashColumn(values, sub); err != nil {
			return err
		}
		return each(func(i int) uint64 {
			lo, hi := a.ValueOffsets(i)
			v := uint64(hi - lo)
			for _, s := range sub[lo:hi] {
				v = add(v, s)
			}
			return v
		})
	case *array.Null:
		return each(func(int) uint64 { return hashNull })
	}
	return fmt.Errorf("rows cannot be spread by a column of type %s", a.DataType())
}

func hashFloat(f float64) uint64 {
	switch {
	case f == 0:
		return 0
	case f != f:
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(f)
}

// hashText is FNV-1a over words of eight bytes.
func hashText(s string) uint64 {
	h := uint64(14695981039346656037) ^ uint64(len(s))
	for len(s) >= 8 {
		v := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		h = (h ^ v) * 0x100000001b3
		h ^= h >> 32
		s = s[8:]
	}
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return h
}
