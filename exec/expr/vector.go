package expr

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/types"
)

// operand is an evaluated argument: a column, or a constant (never NULL) for which no column is made.
type operand struct {
	arr arrow.Array // nil for a constant
	v   any
	t   types.Type
}

// constant returns the value of a literal.
func constant(e Evaluator) (v any, ok bool) {
	l, ok := e.(*literal)
	if !ok {
		return nil, false
	}
	return l.v, true
}

// evalOperand evaluates e; a literal stays a constant.
func evalOperand(ctx *Context, e Evaluator, in Input) (operand, error) {
	if v, ok := constant(e); ok && v != nil {
		return operand{v: v, t: e.Type()}, nil
	}
	arr, err := e.Eval(ctx, in)
	return operand{arr: arr, t: e.Type()}, err
}

func (o operand) release() {
	if o.arr != nil {
		o.arr.Release()
	}
}

// valid reports whether row i is not NULL.
func (o operand) valid(i int) bool { return o.arr == nil || o.arr.IsValid(i) }

// value returns row i in canonical form.
func (o operand) value(i int) any {
	if o.arr == nil {
		return o.v
	}
	return types.Get(o.arr, i, o.t)
}

func (o operand) hasNulls() bool { return o.arr != nil && o.arr.NullN() > 0 }

// text is row i as it is shown in an error.
func (o operand) text(i int) string { return types.Display(o.value(i), o.t, nil) }

// fixed are the Go types of fixed-width buffers.
type fixed interface {
	int8 | int16 | int32 | int64 | float32 | float64 | decimal128.Num
}

// rawValues is the value buffer of a fixed-width array, from its offset on.
func rawValues[T fixed](a arrow.Array) []T {
	d := a.Data()
	if a.Len() == 0 {
		return nil
	}
	buf := d.Buffers()[1]
	if buf == nil { // all NULL
		return make([]T, a.Len())
	}
	p := (*T)(unsafe.Pointer(unsafe.SliceData(buf.Bytes())))
	return unsafe.Slice(p, d.Offset()+d.Len())[d.Offset():]
}

// rawConst is a constant in the form of its buffer: the Go type of the value buffer of the column that it would be.
func rawConst[T fixed](v any) T {
	var r any
	switch x := v.(type) {
	case types.DateVal:
		r = int32(x)
	case types.TimeVal:
		r = int32(x)
	case types.MonthsVal:
		r = int32(x)
	case types.TimestampVal:
		r = int64(x)
	case types.DurationVal:
		r = int64(x)
	case types.Dec:
		r = x.Num
	default:
		r = v
	}
	return r.(T)
}

// newBuffer allocates n values.
func newBuffer[T fixed](ctx *Context, n int) (*memory.Buffer, []T) {
	var z T
	buf := memory.NewResizableBuffer(ctx.Mem)
	buf.Resize(n * int(unsafe.Sizeof(z)))
	if n == 0 {
		return buf, nil
	}
	return buf, unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(buf.Bytes()))), n)
}

// newBitmap allocates n zero bits, in whole words: see words.
func newBitmap(ctx *Context, n int) *memory.Buffer {
	buf := memory.NewResizableBuffer(ctx.Mem)
	buf.Resize((n + 63) / 64 * 8)
	clear(buf.Bytes())
	return buf
}

// words is a bitmap of newBitmap as words: bit i of the map is bit i%64 of word i/64 (Arrow and our machines are little-endian).
func words(buf *memory.Buffer) []uint64 {
	b := buf.Bytes()
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

// bitWords copies n bits of a buffer from an offset on into words, which the caller gives; a nil buffer is all ones.
func bitWords(dst []uint64, buf *memory.Buffer, offset, n int) []uint64 {
	k := (n + 63) / 64
	if cap(dst) < k {
		dst = make([]uint64, k)
	}
	dst = dst[:k]
	if k == 0 {
		return dst
	}
	if buf == nil {
		for i := range dst {
			dst[i] = ^uint64(0)
		}
	} else {
		bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), k*8)
		clear(bytes[k*8-8:])
		bitutil.CopyBitmap(buf.Bytes(), offset, n, bytes, 0)
	}
	if r := n % 64; r != 0 {
		dst[k-1] &= 1<<r - 1
	}
	return dst
}

// finish makes an array of buffers (validity first, nil when there are no NULLs), whose references it takes over.
func finish(dt arrow.DataType, n int, buffers ...*memory.Buffer) arrow.Array {
	nulls := 0
	if v := buffers[0]; v != nil {
		nulls = n - bitutil.CountSetBits(v.Bytes(), 0, n)
	}
	d := array.NewData(dt, n, buffers, nil, nulls, 0)
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
	a := array.MakeFromData(d)
	d.Release()
	return a
}

// validity is the bitwise and of the validity of arrays with n rows each: nil when all rows are valid. The caller owns the buffer.
func validity(ctx *Context, n int, ops ...operand) *memory.Buffer {
	var out *memory.Buffer
	for _, o := range ops {
		if !o.hasNulls() {
			continue
		}
		d := o.arr.Data()
		src := d.Buffers()[0]
		if src == nil { // an array of type null
			if out == nil {
				out = newBitmap(ctx, n)
			} else {
				clear(out.Bytes())
			}
			continue
		}
		if out == nil {
			out = newBitmap(ctx, n)
			bitutil.CopyBitmap(src.Bytes(), d.Offset(), n, out.Bytes(), 0)
			continue
		}
		bitutil.BitmapAnd(out.Bytes(), src.Bytes(), 0, int64(d.Offset()), out.Bytes(), 0, int64(n))
	}
	return out
}

// eachSelected calls f for every selected row until it fails.
func eachSelected(in Input, f func(i int) error) error {
	if in.Selection == nil {
		for i := range in.Rows {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	for _, i := range in.Selection {
		if err := f(int(i)); err != nil {
			return err
		}
	}
	return nil
}

// blockRows is how many rows the kernels take at once when an operand is a constant: the constant is spread over a block that stays in the first-level
// cache, so that one loop does for columns and constants.
const blockRows = 1024

// blockOf returns a block of blockRows copies of v. The block is valid until the next call with the same slot (0 or 1).
func blockOf[T fixed](ctx *Context, slot int, v T) []T {
	size := int(unsafe.Sizeof(v)) * blockRows
	if ctx.blocks == nil {
		ctx.blocks = make([]byte, 2*16*blockRows+16)
	}
	base := unsafe.Pointer(unsafe.SliceData(ctx.blocks))
	off := int(-uintptr(base)&15) + slot*16*blockRows
	b := ctx.blocks[off : off+size]
	s := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), blockRows)
	for i := range s {
		s[i] = v
	}
	return s
}

// inBlocks calls f with the same ranges of rows of two operands; a constant is a block of copies. n is the number of rows.
func inBlocks[T fixed](ctx *Context, n int, l, r operand, f func(lo int, a, b []T)) {
	if l.arr != nil && r.arr != nil {
		f(0, rawValues[T](l.arr), rawValues[T](r.arr))
		return
	}
	var a, b []T
	if l.arr == nil {
		a = blockOf(ctx, 0, rawConst[T](l.v))
	} else {
		a = rawValues[T](l.arr)
	}
	if r.arr == nil {
		b = blockOf(ctx, 1, rawConst[T](r.v))
	} else {
		b = rawValues[T](r.arr)
	}
	for lo := 0; lo < n; lo += blockRows {
		hi := min(lo+blockRows, n)
		x, y := a, b
		if l.arr != nil {
			x = a[lo:hi]
		}
		if r.arr != nil {
			y = b[lo:hi]
		}
		f(lo, x[:hi-lo], y[:hi-lo])
	}
}

// bit is 1 for true. The compiler makes it a SETcc.
func bit(b bool) uint64 {
	var r uint64
	if b {
		r = 1
	}
	return r
}

// copyBits copies the first n bits of src to dst from bit at on.
func copyBits(dst, src *memory.Buffer, at, n int) {
	bitutil.CopyBitmap(src.Bytes(), 0, n, dst.Bytes(), at)
}

// withValidity returns the array of d with another validity bitmap, which it takes over.
func withValidity(d arrow.ArrayData, valid *memory.Buffer) arrow.Array {
	buffers := append([]*memory.Buffer{valid}, d.Buffers()[1:]...)
	nulls := d.Len() - bitutil.CountSetBits(valid.Bytes(), d.Offset(), d.Len())
	out := array.NewData(d.DataType(), d.Len(), buffers, d.Children(), nulls, d.Offset())
	defer out.Release()
	valid.Release()
	return array.MakeFromData(out)
}
