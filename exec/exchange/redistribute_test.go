package exchange

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec/state"
	"github.com/weir-sql/weir/exec/stream"
)

// TestRedistributeFollowsTheExchange: the state of a key, of any type and as a state table gives it back, goes where the exchange sends rows of the key.
func TestRedistributeFollowsTheExchange(t *testing.T) {
	rnd := rand.New(rand.NewSource(3))
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	for c, col := range allTypes {
		for range 20 {
			func() {
				rec := randomRecord(rnd, mem, 30)
				defer rec.Release()
				keys := []arrow.Array{rec.Column(c), rec.Column(rnd.Intn(len(allTypes)))}
				table := state.NewTable([]arrow.DataType{keys[0].DataType(), keys[1].DataType()}, nil)
				ids := make([]int32, 30)
				if err := table.Groups(keys, nil, 30, ids); err != nil {
					t.Fatalf("%s: %v", col.Name, err)
				}
				cols := table.Keys(mem, nil)
				n := table.Len()
				group := array.NewInt32Builder(mem)
				for i := range n {
					group.Append(int32(i))
				}
				cols = append(cols, group.NewArray())
				group.Release()
				fs := []arrow.Field{{Name: "a", Type: cols[0].DataType(), Nullable: true}, {Name: "b", Type: cols[1].DataType(), Nullable: true}, {Name: "g", Type: arrow.PrimitiveTypes.Int32}}
				saved := array.NewRecordBatch(arrow.NewSchema(fs, nil), cols, int64(n))
				for _, x := range cols {
					x.Release()
				}
				defer saved.Release()
				part := &state.Tables{}
				if err := part.Add("groups", 2, saved); err != nil {
					t.Fatal(err)
				}
				defer part.Release()
				out, err := Redistribute(mem, []*state.Tables{part}, 3)
				if err != nil {
					t.Fatalf("%s: %v", col.Name, err)
				}
				at := map[int32]int{}
				for p, o := range out {
					defer o.Release()
					last := int32(-1)
					for _, r := range o.Table("groups") {
						for _, g := range r.Column(2).(*array.Int32).Int32Values() {
							if at[g] = p; g < last {
								t.Fatalf("%s: group %d comes behind %d", col.Name, g, last)
							}
							last = g
						}
					}
				}
				if len(at) != n {
					t.Fatalf("%s: %d of %d groups are left", col.Name, len(at), n)
				}
				in := array.NewRecordBatch(arrow.NewSchema(fs[:2], nil), keys, 30)
				parts, err := NewPartitioner([]int{0, 1}, 3).Partition(stream.Batch{Record: in})
				if err != nil {
					t.Fatal(err)
				}
				for p, b := range parts {
					for i := range b.Len() {
						if g := ids[b.Row(i)]; at[g] != p {
							t.Fatalf("%s: row %d goes to partition %d, its state to %d", col.Name, b.Row(i), p, at[g])
						}
					}
					b.Release()
				}
			}()
		}
	}
}

// TestRedistributeOrder: rows of several copies come partition by partition, each in its order; a table of the whole operator goes to all.
func TestRedistributeOrder(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	word := func(vs ...int64) arrow.RecordBatch {
		b := array.NewInt64Builder(mem)
		defer b.Release()
		b.AppendValues(vs, nil)
		a := b.NewArray()
		defer a.Release()
		return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "k", Type: a.DataType()}}, nil), []arrow.Array{a}, int64(len(vs)))
	}
	var parts []*state.Tables
	for _, p := range [][2]arrow.RecordBatch{{word(1), word(5, 3)}, {word(2), word(4)}, {word(3), word(9, 1)}} {
		tables := &state.Tables{}
		defer tables.Release()
		for i, rec := range p {
			if err := tables.Add([]string{"whole", "keyed"}[i], i, rec); err != nil {
				t.Fatal(err)
			}
			rec.Release()
		}
		parts = append(parts, tables)
	}
	text := func(o *state.Tables, name string) (s string) {
		for _, r := range o.Table(name) {
			s += fmt.Sprint(r.Column(0).(*array.Int64).Int64Values())
		}
		return s
	}
	for _, n := range []int{1, 2} {
		out, err := Redistribute(mem, parts, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range out {
			defer o.Release()
			if got := text(o, "whole"); got != "[1][2][3]" {
				t.Errorf("%d copies: %s", n, got)
			}
		}
		if n == 1 {
			if got := text(out[0], "keyed"); got != "[5 3][4][9 1]" {
				t.Errorf("one copy: %s", got)
			}
		}
	}
}
