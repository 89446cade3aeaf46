package state

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/types"
)

// keyTypes are the shapes of keys that have different paths.
var keyTypes = map[string][]types.Type{
	"none":         {},
	"bigint":       {types.BigIntType},
	"int":          {types.IntType},
	"smallint":     {types.SmallIntType},
	"tinyint":      {types.TinyIntType},
	"boolean":      {types.BooleanType},
	"double":       {types.DoubleType},
	"float":        {types.FloatType},
	"date":         {types.DateType},
	"time":         {types.TimeOf(3)},
	"timestamp":    {types.TimestampOf(3)},
	"months":       {types.YearMonthType},
	"string":       {types.StringType},
	"bytes":        {types.BytesType},
	"pair":         {types.BigIntType, types.IntType},
	"decimal":      {types.DecimalOf(20, 2)},
	"mixed":        {types.StringType, types.BigIntType, types.StringType},
	"array":        {types.ArrayOf(types.StringType)},
	"row":          {types.RowOf(types.Field{Name: "a", Type: types.BigIntType}, types.Field{Name: "b", Type: types.ArrayOf(types.IntType)})},
	"null column":  {types.NullType, types.BigIntType},
	"null array":   {types.ArrayOf(types.NullType)},
	"string array": {types.StringType, types.ArrayOf(types.DoubleType)},
}

// random gives a value of few different ones, NULL among them.
func random(r *rand.Rand, t types.Type) any {
	if r.Intn(8) == 0 {
		return nil
	}
	n := r.Intn(20)
	switch t.Kind {
	case types.Null:
		return nil
	case types.Boolean:
		return n%2 == 0
	case types.TinyInt:
		return int8(n - 5)
	case types.SmallInt:
		return int16(n - 5)
	case types.Int:
		return int32(n - 5)
	case types.BigInt:
		return int64(n-5) << uint(n%3*20)
	case types.Float:
		return []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), 1.5, float32(n)}[n%5]
	case types.Double:
		return []float64{0, math.Copysign(0, -1), math.NaN(), -math.NaN(), float64(n)}[n%5]
	case types.Date:
		return types.DateVal(n)
	case types.Time:
		return types.TimeVal(n)
	case types.Timestamp:
		return types.TimestampVal(n * 1000)
	case types.IntervalYearMonth:
		return types.MonthsVal(n)
	case types.VarChar:
		return []string{"", "a", "ab", "abcdefgh", "abcdefghi", "0123456789abcdef", "0123456789abcdefg", "a longer one than sixteen bytes", fmt.Sprint(n)}[n%9]
	case types.VarBinary:
		return []byte(fmt.Sprint(n))
	case types.Decimal:
		return types.DecOf(int64(n), t.Scale)
	case types.Array:
		vs := []any{}
		for range n % 3 {
			vs = append(vs, random(r, *t.Elem))
		}
		return vs
	case types.Row:
		v := types.RowVal{}
		for _, f := range t.Fields {
			v = append(v, random(r, f.Type))
		}
		return v
	}
	panic(t.String())
}

// naive finds keys by comparing with all others.
type naive struct {
	keys [][]any
	dead []bool
}

func (n *naive) find(k []any) int {
next:
	for i, have := range n.keys {
		if n.dead[i] {
			continue
		}
		for c := range k {
			if types.Compare(have[c], k[c]) != 0 {
				continue next
			}
		}
		return i
	}
	return -1
}

func build(t *testing.T, mem memory.Allocator, ts []types.Type, rows [][]any) []arrow.Array {
	t.Helper()
	cols := make([]arrow.Array, len(ts))
	for c, typ := range ts {
		b := types.NewBuilder(mem, typ)
		for _, row := range rows {
			if err := types.Append(b, row[c], typ); err != nil {
				t.Fatal(err)
			}
		}
		cols[c] = b.NewArray()
		b.Release()
	}
	return cols
}

// TestTable runs batches of rows, with and without a list of rows, sliced, and with deletions, against the naive table.
func TestTable(t *testing.T) {
	for name, ts := range keyTypes {
		t.Run(name, func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			defer mem.AssertSize(t, 0)
			acct := exec.NewAccount("test", nil)
			var at []arrow.DataType
			for _, typ := range ts {
				at = append(at, typ.Arrow())
			}
			table := NewTable(at, acct)
			ref := &naive{}
			r := rand.New(rand.NewSource(7))
			for round := range 60 {
				rows := make([][]any, 1+r.Intn(50))
				for i := range rows {
					for _, typ := range ts {
						rows[i] = append(rows[i], random(r, typ))
					}
				}
				cols := build(t, mem, ts, rows)
				list := []int32(nil)
				n := len(rows)
				switch round % 3 {
				case 1: // a list of rows
					list = []int32{}
					for i := range rows {
						if r.Intn(2) == 0 {
							list = append(list, int32(i))
						}
					}
					n = len(list)
				case 2: // slices with an offset
					rows = rows[1:]
					n = len(rows)
					for c := range cols {
						s := array.NewSlice(cols[c], 1, int64(n+1))
						cols[c].Release()
						cols[c] = s
					}
				}
				out := make([]int32, n)
				row := func(i int) []any {
					if list != nil {
						return rows[list[i]]
					}
					return rows[i]
				}
				table.Find(cols, list, n, out)
				for i, id := range out {
					if want := ref.find(row(i)); int(id) != want {
						t.Fatalf("Find of %v: %d, want %d", row(i), id, want)
					}
				}
				if err := table.Groups(cols, list, n, out); err != nil {
					t.Fatal(err)
				}
				for i, id := range out {
					want := ref.find(row(i))
					if want < 0 {
						want = len(ref.keys)
						ref.keys, ref.dead = append(ref.keys, row(i)), append(ref.dead, false)
					}
					if int(id) != want {
						t.Fatalf("Groups of %v: %d, want %d", row(i), id, want)
					}
				}
				for _, c := range cols {
					c.Release()
				}
				if round > 20 && len(ref.keys) > 0 {
					if id := r.Intn(len(ref.keys)); !ref.dead[id] {
						table.Delete(int32(id))
						ref.dead[id] = true
					}
				}
			}
			check(t, mem, table, ref, ts)
			table.Reset()
			if table.Len() != 0 {
				t.Fatal("keys after Reset")
			}
			table.Close()
			if acct.Used() != 0 {
				t.Errorf("%d bytes accounted after Close", acct.Used())
			}
		})
	}
}

// check compares the keys, and those of a table that is built from them.
func check(t *testing.T, mem memory.Allocator, table *Table, ref *naive, ts []types.Type) {
	t.Helper()
	var live []int32
	for id := range table.Len() {
		if table.IsLive(int32(id)) != !ref.dead[id] {
			t.Fatalf("id %d live: %t", id, table.IsLive(int32(id)))
		}
		if table.IsLive(int32(id)) {
			live = append(live, int32(id))
		}
	}
	if len(live) != table.Live() {
		t.Errorf("Live() = %d, want %d", table.Live(), len(live))
	}
	cols := table.Keys(mem, live)
	for c, typ := range ts {
		for i, id := range live {
			got := types.Get(cols[c], i, typ)
			if types.Compare(got, ref.keys[id][c]) != 0 {
				t.Fatalf("key %d: %v, want %v", id, got, ref.keys[id][c])
			}
		}
	}
	if len(ts) > 0 {
		again := NewTable(table.types, nil)
		out := make([]int32, len(live))
		if err := again.Groups(cols, nil, len(live), out); err != nil {
			t.Fatal(err)
		}
		for i, id := range out {
			if int(id) != i {
				t.Fatalf("key %d of the rebuilt table has id %d", i, id)
			}
		}
	}
	for _, c := range cols {
		c.Release()
	}
}

// TestHash pins the hash function: snapshots say which version partitioned them.
func TestHash(t *testing.T) {
	for _, c := range []struct {
		got, want uint64
	}{
		{hashWord(42), 0x5217ba1bb2591cce},
		{hashPair(1, 2), 0x8b18eb70c6bbb434},
		{HashBytes(nil), 0x393ad4eb8c090cf9},
		{HashBytes([]byte("abc")), 0x769885f5d56116d5},
		{HashBytes([]byte("abcdefghijklmnopqrstuvwxyz")), 0x9668259d5158bb62},
	} {
		if c.got != c.want {
			t.Errorf("version %d: %#x, want %#x", HashVersion, c.got, c.want)
		}
	}
}

func BenchmarkGroups(b *testing.B) {
	for _, name := range []string{"bigint", "pair", "string", "mixed"} {
		b.Run(name, func(b *testing.B) {
			ts := keyTypes[name]
			r := rand.New(rand.NewSource(1))
			var cols []arrow.Array
			var at []arrow.DataType
			const n = 8192
			for _, typ := range ts {
				bl := types.NewBuilder(memory.DefaultAllocator, typ)
				for range n {
					k := r.Intn(6000)
					var v any = int64(k)
					switch typ.Kind {
					case types.Int:
						v = int32(k % 7)
					case types.VarChar:
						v = fmt.Sprintf("channel-%d", k)
					}
					_ = types.Append(bl, v, typ)
				}
				cols = append(cols, bl.NewArray())
				at = append(at, typ.Arrow())
			}
			table := NewTable(at, nil)
			out := make([]int32, n)
			b.ResetTimer()
			for i := 0; i < b.N; i += n {
				if err := table.Groups(cols, nil, n, out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What lies under a NULL is no part of the key.
func TestGarbageUnderNull(t *testing.T) {
	column := func(values []int64, valid byte) arrow.Array {
		d := array.NewData(arrow.PrimitiveTypes.Int64, len(values),
			[]*memory.Buffer{memory.NewBufferBytes([]byte{valid}), memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(values))}, nil, array.UnknownNullCount, 0)
		defer d.Release()
		return array.MakeFromData(d)
	}
	a, b := column([]int64{7, 8, 7, 9}, 0b0101), column([]int64{1, 2, 1, 2}, 0b1101) // (7, 1), (NULL, NULL), (7, 1), (NULL, 2)
	c := column([]int64{5, 5, 5, 6}, 0b0101)                                         // 5, NULL, 5, NULL
	for _, tt := range []struct {
		name string
		cols []arrow.Array
		want []int32
	}{{"one", []arrow.Array{c}, []int32{0, 1, 0, 1}}, {"two", []arrow.Array{a, b}, []int32{0, 1, 0, 2}}, {"first", []arrow.Array{c, column([]int64{1, 1, 1, 1}, 0xF)}, []int32{0, 1, 0, 1}}} {
		var keys []arrow.DataType
		for _, col := range tt.cols {
			keys = append(keys, col.DataType())
		}
		for _, rows := range [][]int32{nil, {0, 1, 2, 3}} {
			table, got := NewTable(keys, nil), make([]int32, 4)
			if err := table.Groups(tt.cols, rows, 4, got); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s, rows %v: got %v, want %v", tt.name, rows, got, tt.want)
			}
		}
	}
}
