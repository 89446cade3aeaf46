package state

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec"
)

// TestChangedPages: exactly the pages change whose keys were inserted, asked for, or deleted.
func TestChangedPages(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	table := NewTable([]arrow.DataType{arrow.PrimitiveTypes.Int64}, exec.NewAccount("test", nil))
	defer table.Close()
	keys := func(from, to int64) []arrow.Array {
		b := array.NewInt64Builder(mem)
		defer b.Release()
		for k := from; k < to; k++ {
			b.Append(k)
		}
		return []arrow.Array{b.NewArray()}
	}
	ask := func(from, to int64, insert bool) {
		t.Helper()
		cols := keys(from, to)
		defer cols[0].Release()
		out := make([]int32, to-from)
		if !insert {
			table.Find(cols, nil, len(out), out)
		} else if err := table.Groups(cols, nil, len(out), out); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what, want string) {
		t.Helper()
		if got := fmt.Sprint(table.TakeChanged()); got != want {
			t.Errorf("%s: pages %s, want %s", what, got, want)
		}
	}
	ask(0, 600, true)
	check("before Track", "[]")
	table.Track()
	check("Track", "[0 1 2]")
	check("nothing", "[]")
	ask(10, 20, true)
	check("keys that are there", "[0]")
	ask(500, 513, false)
	check("found", "[1 2]")
	ask(100_000, 100_010, false)
	check("not found", "[]")
	ask(600, 20_000, true)
	if pages := table.TakeChanged(); len(pages) != 20_000/PageSize+1-600/PageSize || pages[0] != 600/PageSize {
		t.Errorf("inserted: pages %v", pages)
	}
	table.Delete(300)
	table.Delete(300)
	check("deleted", "[1]")
	ask(300, 301, true)
	check("again, under a new id", fmt.Sprintf("[%d]", 20_000/PageSize))
	table.Reset()
	if pages := table.TakeChanged(); len(pages) != 20_000/PageSize+1 {
		t.Errorf("reset: %d pages", len(pages))
	}
	ask(0, 1, true)
	check("anew", "[0]")
}
