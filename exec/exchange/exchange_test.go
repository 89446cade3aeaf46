package exchange

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// allTypes has one column of every shape that a type of ours has in Arrow.
var allTypes = types.Schema{
	{Name: "bool", Type: types.BooleanType}, {Name: "i8", Type: types.TinyIntType}, {Name: "i16", Type: types.SmallIntType}, {Name: "i32", Type: types.IntType},
	{Name: "i64", Type: types.BigIntType}, {Name: "dec", Type: types.DecimalOf(20, 2)}, {Name: "f32", Type: types.FloatType}, {Name: "f64", Type: types.DoubleType},
	{Name: "s", Type: types.StringType}, {Name: "b", Type: types.BytesType}, {Name: "d", Type: types.DateType}, {Name: "t", Type: types.TimeOf(3)},
	{Name: "ts", Type: types.TimestampOf(3)}, {Name: "ltz", Type: types.TimestampLTZOf(3)}, {Name: "ym", Type: types.YearMonthType}, {Name: "dt", Type: types.DayTimeType},
	{Name: "arr", Type: types.ArrayOf(types.IntType)}, {Name: "row", Type: types.RowOf(types.Field{Name: "x", Type: types.StringType})}, {Name: "nul", Type: types.NullType},
}

func randomValue(rnd *rand.Rand, t types.Type) any {
	if rnd.Intn(4) == 0 {
		return nil
	}
	n := rnd.Int63n(5)
	switch t.Kind {
	case types.Boolean:
		return n > 2
	case types.TinyInt:
		return int8(n)
	case types.SmallInt:
		return int16(n)
	case types.Int:
		return int32(n)
	case types.BigInt:
		return n
	case types.Decimal:
		return types.Dec{Num: decimal128.FromI64(100*n + 25), Scale: 2}
	case types.Float:
		return float32(n)
	case types.Double:
		return float64(n)
	case types.VarChar:
		return fmt.Sprint("text of some length ", n)[:15+n]
	case types.VarBinary:
		return []byte{byte(n)}
	case types.Date:
		return types.DateVal(n)
	case types.Time:
		return types.TimeVal(n)
	case types.Timestamp, types.TimestampLTZ:
		return types.TimestampVal(n)
	case types.IntervalYearMonth:
		return types.MonthsVal(n)
	case types.IntervalDayTime:
		return types.DurationVal(n)
	case types.Array:
		return []any{int32(n), nil}[:n%3]
	case types.Row:
		return types.RowVal{fmt.Sprint(n)}
	}
	return nil
}

func randomRecord(rnd *rand.Rand, mem memory.Allocator, rows int) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, allTypes.Arrow())
	defer b.Release()
	for range rows {
		for i, c := range allTypes {
			if err := types.Append(b.Field(i), randomValue(rnd, c.Type), c.Type); err != nil {
				panic(err)
			}
		}
	}
	return b.NewRecordBatch()
}

func rowText(rec arrow.RecordBatch, r int) string {
	s := ""
	for i, c := range allTypes {
		s += fmt.Sprintf("|%v", types.Get(rec.Column(i), r, c.Type))
	}
	return s
}

// TestGather copies random runs of random records, slices among them, and holds the rows against the originals.
func TestGather(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	rnd := rand.New(rand.NewSource(1))
	for range 200 {
		var runs []Run
		var want []string
		for range 1 + rnd.Intn(5) {
			rec := randomRecord(rnd, mem, 1+rnd.Intn(20))
			if rnd.Intn(2) == 0 {
				from := rnd.Int63n(rec.NumRows())
				s := rec.NewSlice(from, rec.NumRows())
				rec.Release()
				rec = s
			}
			defer rec.Release()
			from := rnd.Intn(int(rec.NumRows()))
			to := from + 1 + rnd.Intn(int(rec.NumRows())-from)
			runs = append(runs, Run{rec, from, to})
			for r := from; r < to; r++ {
				want = append(want, rowText(rec, r))
			}
		}
		got, err := Gather(mem, runs)
		if err != nil {
			t.Fatal(err)
		}
		for r, w := range want {
			if g := rowText(got, r); g != w {
				t.Fatalf("row %d: got %s, want %s", r, g, w)
			}
		}
		if int(got.NumRows()) != len(want) {
			t.Fatalf("%d rows, want %d", got.NumRows(), len(want))
		}
		if Bytes(got) <= 0 {
			t.Error("no bytes")
		}
		got.Release()
	}
}

// TestTake takes rows in any order.
func TestTake(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	rec := randomRecord(rand.New(rand.NewSource(2)), mem, 10)
	defer rec.Release()
	for _, sel := range [][]int32{{}, {3}, {0, 1, 2, 5, 9}, {9, 8, 0, 0}} {
		got, err := Take(mem, rec, sel)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range sel {
			if g, w := rowText(got, i), rowText(rec, int(r)); g != w {
				t.Errorf("%v row %d: got %s, want %s", sel, i, g, w)
			}
		}
		if int(got.NumRows()) != len(sel) {
			t.Errorf("%v: %d rows", sel, got.NumRows())
		}
		got.Release()
	}
}

// TestPartition brings equal keys together, whatever else is in the batch, and keeps every row once, in order.
func TestPartition(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	rnd := rand.New(rand.NewSource(3))
	for c := range allTypes {
		home := map[string]int{}
		used := map[int]bool{}
		p := NewPartitioner([]int{c}, 4)
		for range 10 {
			rec := randomRecord(rnd, mem, 50)
			b := stream.Batch{Record: rec}
			var want []int32
			if rnd.Intn(2) == 0 {
				for r := range int32(50) {
					if rnd.Intn(2) == 0 {
						b.Selection = append(b.Selection, r)
					}
				}
			}
			for i := range b.Len() {
				want = append(want, int32(b.Row(i)))
			}
			parts, err := p.Partition(b)
			if err != nil {
				t.Fatal(err)
			}
			var got []int32
			for n, part := range parts {
				if !slices.IsSorted(part.Selection) {
					t.Errorf("%s: selection %v", allTypes[c].Name, part.Selection)
				}
				got = append(got, part.Selection...)
				for _, r := range part.Selection {
					key := fmt.Sprint(types.Get(part.Record.Column(c), int(r), allTypes[c].Type))
					if h, ok := home[key]; ok && h != n {
						t.Errorf("%s: key %s is in partitions %d and %d", allTypes[c].Name, key, h, n)
					}
					home[key], used[n] = n, true
				}
				part.Release()
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: rows %v, want %v", allTypes[c].Name, got, want)
			}
		}
		if len(used) < 2 && len(home) > 3 {
			t.Errorf("%s: %d keys all in one partition", allTypes[c].Name, len(home))
		}
	}
}

// TestPartitionEqualNumbers sends numbers that are equal to one place: -0.0 and 0.0, all NaNs.
func TestPartitionEqualNumbers(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	b := array.NewRecordBuilder(mem, types.Schema{{Name: "x", Type: types.DoubleType}}.Arrow())
	defer b.Release()
	b.Field(0).(*array.Float64Builder).AppendValues([]float64{0, math.Copysign(0, -1), math.NaN(), math.Float64frombits(0x7ff8000000000123)}, nil)
	parts, err := NewPartitioner([]int{0}, 64).Partition(stream.Batch{Record: b.NewRecordBatch()})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range parts {
		if p.Len() > 0 {
			n++
			p.Release()
		}
	}
	if n != 2 {
		t.Errorf("in %d partitions, want 2", n)
	}
}

// TestPartitionPairs keeps an update pair whose key does not change, and splits one whose key does.
func TestPartitionPairs(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	b := array.NewRecordBuilder(mem, types.Schema{{Name: "x", Type: types.BigIntType}}.Arrow())
	defer b.Release()
	keys := []int64{1, 1}
	kinds := []stream.RowKind{stream.UpdateBefore, stream.UpdateAfter}
	for k := int64(2); k < 30; k++ {
		keys = append(keys, 1, k)
		kinds = append(kinds, stream.UpdateBefore, stream.UpdateAfter)
	}
	b.Field(0).(*array.Int64Builder).AppendValues(keys, nil)
	parts, err := NewPartitioner([]int{0}, 3).Partition(stream.Batch{Record: b.NewRecordBatch(), Kinds: kinds})
	if err != nil {
		t.Fatal(err)
	}
	split := 0
	for _, p := range parts {
		for i := range p.Len() {
			switch r := p.Row(i); p.Kind(r) {
			case stream.UpdateBefore:
				if i+1 == p.Len() || p.Row(i+1) != r+1 || p.Kind(r+1) != stream.UpdateAfter {
					t.Errorf("row %d is a -U without its +U", r)
				}
			case stream.UpdateAfter:
				if i == 0 || p.Row(i-1) != r-1 {
					t.Errorf("row %d is a +U without its -U", r)
				}
			default:
				split++
			}
		}
		p.Release()
	}
	if kinds[2] != stream.UpdateBefore {
		t.Error("the sealed vector was changed")
	}
	if split == 0 {
		t.Error("no pair was split")
	}
}
