package op

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestTakeWide copies states of aggregates, from a slice too.
func TestTakeWide(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	b := array.NewFixedSizeBinaryBuilder(mem, &arrow.FixedSizeBinaryType{ByteWidth: 3})
	defer b.Release()
	for _, s := range []string{"abc", "def", "", "ghi"} {
		if s == "" {
			b.AppendNull()
		} else {
			b.Append([]byte(s))
		}
	}
	a := b.NewArray()
	defer a.Release()
	cut := array.NewSlice(a, 1, 4)
	defer cut.Release()
	got := take(mem, cut, []int32{2, 0, -1, 1}).(*array.FixedSizeBinary)
	defer got.Release()
	if string(got.Value(0)) != "ghi" || string(got.Value(1)) != "def" || !got.IsNull(2) || !got.IsNull(3) || got.NullN() != 2 {
		t.Errorf("got %v", got)
	}
}
