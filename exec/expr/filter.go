package expr

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/types"
)

// filterer is implemented by evaluators that find the rows where they are TRUE without building an array.
type filterer interface {
	filter(ctx *Context, in Input, dst []int32) ([]int32, error)
}

// Filter appends to dst the selected rows of in for which e, a BOOLEAN, is TRUE, in order. AND, OR, comparisons and the like do it without building
// arrays.
func Filter(ctx *Context, e Evaluator, in Input, dst []int32) ([]int32, error) {
	if f, ok := e.(filterer); ok {
		return f.filter(ctx, in, dst)
	}
	if v, ok := constant(e); ok {
		if v == true {
			return appendSelection(dst, in), nil
		}
		return dst, nil
	}
	a, err := e.Eval(ctx, in)
	if err != nil {
		return dst, err
	}
	defer a.Release()
	return selectTrue(ctx, a, in, dst), nil
}

// appendSelection appends all selected rows.
func appendSelection(dst []int32, in Input) []int32 {
	if in.Selection != nil {
		return append(dst, in.Selection...)
	}
	for i := range in.Rows {
		dst = append(dst, int32(i))
	}
	return dst
}

// selectTrue appends the selected rows where a BOOLEAN column is TRUE.
func selectTrue(ctx *Context, a arrow.Array, in Input, dst []int32) []int32 {
	b, ok := a.(*array.Boolean)
	if !ok { // the type NULL
		return dst
	}
	if in.Selection != nil {
		for _, i := range in.Selection {
			if b.Value(int(i)) && b.IsValid(int(i)) {
				dst = append(dst, i)
			}
		}
		return dst
	}
	t, _ := truth(b, in.Rows)
	return appendBits(dst, t)
}

// appendBits appends the numbers of the bits that are set.
func appendBits(dst []int32, set []uint64) []int32 {
	for k, w := range set {
		for ; w != 0; w &= w - 1 {
			dst = append(dst, int32(k*64+bits.TrailingZeros64(w)))
		}
	}
	return dst
}

// truth returns where a BOOLEAN column is TRUE and where it is FALSE.
func truth(a arrow.Array, n int) (t, f []uint64) {
	b, ok := a.(*array.Boolean)
	if !ok { // the type NULL
		return make([]uint64, (n+63)/64), make([]uint64, (n+63)/64)
	}
	d := b.Data()
	t = bitWords(nil, d.Buffers()[1], d.Offset(), n)
	valid := d.Buffers()[0]
	if b.NullN() == 0 {
		valid = nil
	}
	f = bitWords(nil, valid, d.Offset(), n)
	for i, v := range f {
		t[i], f[i] = t[i]&v, v&^t[i]
	}
	return t, f
}

// boolArray makes a BOOLEAN column that is TRUE where t is set, FALSE where f is set, and NULL elsewhere.
func boolArray(ctx *Context, t, f []uint64, n int) arrow.Array {
	val, valid := newBitmap(ctx, n), newBitmap(ctx, n)
	v, ok := words(val), words(valid)
	for i := range v {
		v[i], ok[i] = t[i], t[i]|f[i]
	}
	if n > 0 {
		all := true
		for i, w := range ok {
			full := ^uint64(0)
			if i == len(ok)-1 && n%64 != 0 {
				full = 1<<(n%64) - 1
			}
			all = all && w == full
		}
		if all {
			valid.Release()
			valid = nil
		}
	}
	return finish(arrow.FixedWidthTypes.Boolean, n, valid, val)
}

// without appends to dst the rows of from that are not in drop; both ascend, and drop is a subset. A nil from is all n rows.
func without(dst, from, drop []int32, n int) []int32 {
	k := 0
	if from == nil {
		for i := range int32(n) {
			if k < len(drop) && drop[k] == i {
				k++
				continue
			}
			dst = append(dst, i)
		}
		return dst
	}
	for _, i := range from {
		if k < len(drop) && drop[k] == i {
			k++
			continue
		}
		dst = append(dst, i)
	}
	return dst
}

// mergeSelections appends two disjoint ascending lists to dst, in order.
func mergeSelections(dst, a, b []int32) []int32 {
	for len(a) > 0 && len(b) > 0 {
		if a[0] < b[0] {
			dst, a = append(dst, a[0]), a[1:]
		} else {
			dst, b = append(dst, b[0]), b[1:]
		}
	}
	return append(append(dst, a...), b...)
}

// given is an evaluator whose column is already there; it does not own it.
type given struct {
	arr arrow.Array
	t   types.Type
}

func (g *given) Type() types.Type { return g.t }
func (g *given) Eval(*Context, Input) (arrow.Array, error) {
	g.arr.Retain()
	return g.arr, nil
}
