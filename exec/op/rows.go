// Package op has the operators, one in a file of its name. Constructors take plain Go values (evaluators, column numbers, types), never planner types.
package op

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// values views a fixed-width column without a copy.
func values[T any](a arrow.Array) []T {
	d := a.Data()
	b := d.Buffers()[1]
	if b == nil || d.Len() == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b.Bytes()))), d.Offset()+d.Len())[d.Offset():]
}

// times views an event-time column: microseconds.
func times(a arrow.Array) []int64 { return values[int64](a) }

// take copies rows of a column into a new one; -1 gives NULL.
func take(mem memory.Allocator, a arrow.Array, rows []int32) arrow.Array {
	dt := a.DataType()
	switch dt.ID() {
	case arrow.INT64, arrow.TIMESTAMP, arrow.DURATION, arrow.FLOAT64, arrow.TIME64, arrow.UINT64:
		return takeFixed[int64](mem, a, rows)
	case arrow.INT32, arrow.DATE32, arrow.TIME32, arrow.FLOAT32, arrow.INTERVAL_MONTHS, arrow.UINT32:
		return takeFixed[int32](mem, a, rows)
	case arrow.INT16, arrow.UINT16:
		return takeFixed[int16](mem, a, rows)
	case arrow.INT8, arrow.UINT8:
		return takeFixed[int8](mem, a, rows)
	case arrow.DECIMAL128:
		return takeFixed[[2]int64](mem, a, rows)
	case arrow.FIXED_SIZE_BINARY: // states of aggregates
		return takeWide(mem, a, rows, dt.(*arrow.FixedSizeBinaryType).ByteWidth)
	case arrow.STRING, arrow.BINARY:
		return takeBytes(mem, a, rows)
	case arrow.NULL:
		return array.NewNull(len(rows))
	}
	b := array.NewBuilder(mem, dt)
	defer b.Release()
	b.Reserve(len(rows))
	for _, r := range rows {
		switch {
		case r < 0 || a.IsNull(int(r)):
			b.AppendNull()
		default:
			types.AppendFrom(b, a, int(r))
		}
	}
	return b.NewArray()
}

// takeValidity is the validity of the taken rows; nil when none is NULL.
func takeValidity(mem memory.Allocator, a arrow.Array, rows []int32) (*memory.Buffer, int) {
	hasNulls := a.NullN() > 0
	var valid *memory.Buffer
	nulls := 0
	for i, r := range rows {
		if r >= 0 && !(hasNulls && a.IsNull(int(r))) {
			continue
		}
		if valid == nil {
			valid = memory.NewResizableBuffer(mem)
			valid.Resize(int(bitutil.BytesForBits(int64(len(rows)))))
			bits := valid.Bytes()
			for j := range bits {
				bits[j] = 0xFF
			}
		}
		bitutil.ClearBit(valid.Bytes(), i)
		nulls++
	}
	return valid, nulls
}

func takeFixed[T any](mem memory.Allocator, a arrow.Array, rows []int32) arrow.Array {
	src := values[T](a)
	var t T
	buf := memory.NewResizableBuffer(mem)
	buf.Resize(len(rows) * int(unsafe.Sizeof(t)))
	dst := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(buf.Bytes()))), len(rows))
	for i, r := range rows {
		if r < 0 {
			dst[i] = t
		} else {
			dst[i] = src[r]
		}
	}
	valid, nulls := takeValidity(mem, a, rows)
	return newArray(a.DataType(), len(rows), nulls, valid, buf)
}

// takeWide is for values of width bytes.
func takeWide(mem memory.Allocator, a arrow.Array, rows []int32, width int) arrow.Array {
	d := a.Data()
	src := d.Buffers()[1].Bytes()[d.Offset()*width:]
	buf := memory.NewResizableBuffer(mem)
	buf.Resize(len(rows) * width)
	dst := buf.Bytes()
	for i, r := range rows {
		if r < 0 {
			clear(dst[i*width : (i+1)*width])
		} else {
			copy(dst[i*width:(i+1)*width], src[int(r)*width:(int(r)+1)*width])
		}
	}
	valid, nulls := takeValidity(mem, a, rows)
	return newArray(a.DataType(), len(rows), nulls, valid, buf)
}

// newArray makes an array that owns the buffers.
func newArray(dt arrow.DataType, n, nulls int, bufs ...*memory.Buffer) arrow.Array {
	d := array.NewData(dt, n, bufs, nil, nulls, 0)
	defer d.Release()
	for _, b := range bufs {
		if b != nil {
			b.Release()
		}
	}
	return array.MakeFromData(d)
}

func takeBytes(mem memory.Allocator, a arrow.Array, rows []int32) arrow.Array {
	var offs []int32
	switch s := a.(type) {
	case *array.String:
		offs = s.ValueOffsets()
	case *array.Binary:
		offs = s.ValueOffsets()
	}
	var src []byte
	if b := a.Data().Buffers()[2]; b != nil {
		src = b.Bytes()
	}
	ob := memory.NewResizableBuffer(mem)
	ob.Resize((len(rows) + 1) * 4)
	to := unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(ob.Bytes()))), len(rows)+1)
	total := int32(0)
	to[0] = 0
	for i, r := range rows {
		if r >= 0 {
			total += offs[r+1] - offs[r]
		}
		to[i+1] = total
	}
	db := memory.NewResizableBuffer(mem)
	db.Resize(int(total))
	dst := db.Bytes()
	for i, r := range rows {
		if r >= 0 {
			copy(dst[to[i]:], src[offs[r]:offs[r+1]])
		}
	}
	valid, nulls := takeValidity(mem, a, rows)
	return newArray(a.DataType(), len(rows), nulls, valid, ob, db)
}

func takeSide[T any](v []T, rows []int32) []T {
	if v == nil {
		return nil
	}
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = v[r]
	}
	return out
}

// takeSeq takes sequence numbers; copies of one row get numbers of their own behind it, so that they keep their order in different partitions too.
func takeSeq(v []int64, rows []int32) []int64 {
	out := takeSide(v, rows)
	for i := 1; i < len(out); i++ {
		out[i] = max(out[i], out[i-1]+1)
	}
	return out
}

// takeBatch copies rows of b into a batch without Selection; b keeps its reference.
func takeBatch(mem memory.Allocator, b stream.Batch, rows []int32) stream.Batch {
	cols := make([]arrow.Array, b.Record.NumCols())
	for i := range cols {
		cols[i] = take(mem, b.Record.Column(i), rows)
	}
	rec := newRecord(b.Record.Schema(), cols, len(rows))
	return stream.Batch{Record: rec, Kinds: takeSide(b.Kinds, rows), Before: takeSide(b.Before, rows), Seq: takeSide(b.Seq, rows)}
}

// dense returns b without Selection: itself when it has none, else a copy of the selected rows. It takes over the reference.
func dense(mem memory.Allocator, b stream.Batch) stream.Batch {
	if b.Selection == nil {
		return b
	}
	d := takeBatch(mem, b, b.Selection)
	b.Release()
	return d
}

// newRecord makes a record batch that owns the columns.
func newRecord(schema *arrow.Schema, cols []arrow.Array, rows int) arrow.RecordBatch {
	rec := array.NewRecordBatch(schema, cols, int64(rows))
	for _, c := range cols {
		c.Release()
	}
	return rec
}

// emitRows hands on a batch without Selection in pieces of at most env.BatchRows rows, never cutting between a -U and its +U. It takes over the reference.
func emitRows(env *exec.Env, b stream.Batch, out exec.Output) error {
	n := b.Len()
	if n == 0 {
		b.Release()
		return nil
	}
	limit := env.BatchRows
	if limit <= 0 || n <= limit {
		return out.Emit(b)
	}
	defer b.Release()
	for from := 0; from < n; {
		to := min(from+limit, n)
		if b.Kinds != nil && to < n && b.Kinds[to] == stream.UpdateAfter && b.Kinds[to-1] == stream.UpdateBefore {
			if to-1 > from {
				to--
			} else {
				to++
			}
		}
		if err := out.Emit(b.Slice(from, to)); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// iota32 returns 0..n-1 in a buffer that is kept.
func iota32(buf *[]int32, n int) []int32 {
	for len(*buf) < n {
		*buf = append(*buf, int32(len(*buf)))
	}
	return (*buf)[:n]
}

// wordColumn wraps n words as an INT64 column without a copy; it holds no allocator memory, so Release need not be called.
func wordColumn(w []int64) arrow.Array {
	b := memory.NewBufferBytes(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), len(w)*8))
	return array.NewInt64Data(array.NewData(arrow.PrimitiveTypes.Int64, len(w), []*memory.Buffer{nil, b}, nil, 0, 0))
}

func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, max(n, 2*cap(s)))
	}
	return s[:n]
}

func releaseAll(cols []arrow.Array) {
	for _, c := range cols {
		if c != nil {
			c.Release()
		}
	}
}
