package state

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// kind says how values of a key column are held.
type kind uint8

const (
	kindWord   kind = iota // at most 8 bytes, held as one word
	kindWide               // DECIMAL: two words
	kindBytes              // text and bytes
	kindNested             // lists and structs
	kindNull               // always NULL
)

func kindOf(dt arrow.DataType) kind {
	switch dt.ID() {
	case arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64, arrow.FLOAT32, arrow.FLOAT64,
		arrow.DATE32, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION, arrow.INTERVAL_MONTHS:
		return kindWord
	case arrow.DECIMAL128:
		return kindWide
	case arrow.STRING, arrow.BINARY:
		return kindBytes
	case arrow.NULL:
		return kindNull
	}
	return kindNested
}

func fixed[T any](a arrow.Array) []T {
	d := a.Data()
	b := d.Buffers()[1]
	if b == nil || d.Len() == 0 {
		return nil
	}
	all := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b.Bytes()))), d.Offset()+d.Len())
	return all[d.Offset():]
}

// nan is the one NaN of keys, and floats compare equal when their words do.
func floatWord(f float64) uint64 {
	if f == 0 {
		return 0 // -0.0 too
	}
	if f != f {
		return 0x7FF8000000000001
	}
	return math.Float64bits(f)
}

// loadWords fills out with the words of a column for the chosen rows (nil: the first n). Words of NULL are 0.
func loadWords(a arrow.Array, rows []int32, n int, out []uint64) {
	switch a.DataType().ID() {
	case arrow.INT64, arrow.UINT64, arrow.TIMESTAMP, arrow.DURATION, arrow.TIME64:
		gather(fixed[uint64](a), rows, n, out, func(v uint64) uint64 { return v })
	case arrow.INT32, arrow.DATE32, arrow.TIME32, arrow.INTERVAL_MONTHS:
		gather(fixed[int32](a), rows, n, out, func(v int32) uint64 { return uint64(int64(v)) })
	case arrow.UINT32:
		gather(fixed[uint32](a), rows, n, out, func(v uint32) uint64 { return uint64(v) })
	case arrow.INT16:
		gather(fixed[int16](a), rows, n, out, func(v int16) uint64 { return uint64(int64(v)) })
	case arrow.UINT16:
		gather(fixed[uint16](a), rows, n, out, func(v uint16) uint64 { return uint64(v) })
	case arrow.INT8:
		gather(fixed[int8](a), rows, n, out, func(v int8) uint64 { return uint64(int64(v)) })
	case arrow.UINT8:
		gather(fixed[uint8](a), rows, n, out, func(v uint8) uint64 { return uint64(v) })
	case arrow.FLOAT64:
		gather(fixed[float64](a), rows, n, out, floatWord)
	case arrow.FLOAT32:
		gather(fixed[float32](a), rows, n, out, func(v float32) uint64 { return floatWord(float64(v)) })
	case arrow.BOOL:
		b := a.(*array.Boolean)
		for i := range out[:n] {
			r := i
			if rows != nil {
				r = int(rows[i])
			}
			out[i] = 0
			if b.Value(r) {
				out[i] = 1
			}
		}
	}
	if a.NullN() > 0 {
		for i := range out[:n] {
			r := i
			if rows != nil {
				r = int(rows[i])
			}
			if a.IsNull(r) {
				out[i] = 0
			}
		}
	}
}

func gather[T any](v []T, rows []int32, n int, out []uint64, word func(T) uint64) {
	out = out[:n]
	if rows == nil {
		v = v[:n]
		for i := range out {
			out[i] = word(v[i])
		}
		return
	}
	rows = rows[:n]
	for i, r := range rows {
		out[i] = word(v[r])
	}
}

// appendValue encodes value r of a, which is not NULL, so that equal values and no others have equal bytes.
func appendValue(dst []byte, a arrow.Array, r int) []byte {
	switch kindOf(a.DataType()) {
	case kindWord:
		var w [1]uint64
		row := [1]int32{int32(r)}
		loadWords(a, row[:], 1, w[:])
		return binary.LittleEndian.AppendUint64(dst, w[0])
	case kindWide:
		v := a.(*array.Decimal128).Value(r)
		dst = binary.LittleEndian.AppendUint64(dst, v.LowBits())
		return binary.LittleEndian.AppendUint64(dst, uint64(v.HighBits()))
	case kindBytes:
		var s string
		switch a := a.(type) {
		case *array.String:
			s = a.Value(r)
		case *array.Binary:
			s = a.ValueString(r)
		}
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s)))
		return append(dst, s...)
	}
	switch a := a.(type) {
	case *array.List:
		from, to := a.ValueOffsets(r)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(to-from))
		for i := from; i < to; i++ {
			dst = appendNullable(dst, a.ListValues(), int(i))
		}
	case *array.Struct:
		for i := 0; i < a.NumField(); i++ {
			dst = appendNullable(dst, a.Field(i), r)
		}
	}
	return dst
}

func appendNullable(dst []byte, a arrow.Array, r int) []byte {
	if a.IsNull(r) || a.DataType().ID() == arrow.NULL {
		return append(dst, 0)
	}
	return appendValue(append(dst, 1), a, r)
}

// readValue decodes one value that appendValue wrote, appends it to b and returns the rest.
func readValue(src []byte, b array.Builder) []byte {
	switch b := b.(type) {
	case *array.StringBuilder:
		n := binary.LittleEndian.Uint32(src)
		b.BinaryBuilder.Append(src[4 : 4+n])
		return src[4+n:]
	case *array.BinaryBuilder:
		n := binary.LittleEndian.Uint32(src)
		b.Append(src[4 : 4+n])
		return src[4+n:]
	case *array.Decimal128Builder:
		b.Append(decimal128.New(int64(binary.LittleEndian.Uint64(src[8:])), binary.LittleEndian.Uint64(src)))
		return src[16:]
	case *array.ListBuilder:
		n := binary.LittleEndian.Uint32(src)
		src = src[4:]
		b.Append(true)
		for range n {
			src = readNullable(src, b.ValueBuilder())
		}
		return src
	case *array.StructBuilder:
		b.Append(true)
		for i := 0; i < b.NumField(); i++ {
			src = readNullable(src, b.FieldBuilder(i))
		}
		return src
	}
	appendWord(b, binary.LittleEndian.Uint64(src))
	return src[8:]
}

func readNullable(src []byte, b array.Builder) []byte {
	if src[0] == 0 {
		b.AppendNull()
		return src[1:]
	}
	return readValue(src[1:], b)
}

func appendWord(b array.Builder, w uint64) {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(w != 0)
	case *array.Int8Builder:
		b.Append(int8(w))
	case *array.Int16Builder:
		b.Append(int16(w))
	case *array.Int32Builder:
		b.Append(int32(w))
	case *array.Int64Builder:
		b.Append(int64(w))
	case *array.Uint8Builder:
		b.Append(uint8(w))
	case *array.Uint16Builder:
		b.Append(uint16(w))
	case *array.Uint32Builder:
		b.Append(uint32(w))
	case *array.Uint64Builder:
		b.Append(w)
	case *array.Float32Builder:
		b.Append(float32(math.Float64frombits(w)))
	case *array.Float64Builder:
		b.Append(math.Float64frombits(w))
	case *array.Date32Builder:
		b.Append(arrow.Date32(w))
	case *array.Time32Builder:
		b.Append(arrow.Time32(w))
	case *array.Time64Builder:
		b.Append(arrow.Time64(w))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(w))
	case *array.DurationBuilder:
		b.Append(arrow.Duration(w))
	case *array.MonthIntervalBuilder:
		b.Append(arrow.MonthInterval(w))
	default:
		panic(fmt.Sprintf("key of type %s has no word", b.Type()))
	}
}

// wordArray makes a column out of words; null(i) says which are NULL.
func wordArray(mem memory.Allocator, dt arrow.DataType, n int, word func(i int) uint64, null func(i int) bool) arrow.Array {
	width := 0
	switch dt.ID() {
	case arrow.INT64, arrow.UINT64, arrow.TIMESTAMP, arrow.DURATION, arrow.TIME64:
		width = 8
	}
	if width == 0 { // the rarer types go through a builder
		b := array.NewBuilder(mem, dt)
		defer b.Release()
		b.Reserve(n)
		for i := 0; i < n; i++ {
			if null(i) {
				b.AppendNull()
			} else {
				appendWord(b, word(i))
			}
		}
		return b.NewArray()
	}
	buf := memory.NewResizableBuffer(mem)
	buf.Resize(n * width)
	out := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(buf.Bytes()))), n)
	var valid *memory.Buffer
	nulls := 0
	for i := range out {
		out[i] = word(i)
		if null(i) {
			valid = clearValid(mem, valid, n, i)
			nulls++
		}
	}
	return ownArray(dt, n, nulls, valid, buf)
}

// clearValid marks row i of n as NULL in a validity bitmap that it makes when there is none yet.
func clearValid(mem memory.Allocator, valid *memory.Buffer, n, i int) *memory.Buffer {
	if valid == nil {
		valid = memory.NewResizableBuffer(mem)
		valid.Resize(int(bitutil.BytesForBits(int64(n))))
		for j := range valid.Bytes() {
			valid.Bytes()[j] = 0xFF
		}
	}
	bitutil.ClearBit(valid.Bytes(), i)
	return valid
}

// ownArray makes an array that owns the buffers.
func ownArray(dt arrow.DataType, n, nulls int, bufs ...*memory.Buffer) arrow.Array {
	data := array.NewData(dt, n, bufs, nil, nulls, 0)
	defer data.Release()
	for _, b := range bufs {
		if b != nil {
			b.Release()
		}
	}
	return array.MakeFromData(data)
}
