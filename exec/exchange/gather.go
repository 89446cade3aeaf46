// Package exchange has what happens to rows between two tasks: gathering runs of rows of several batches into one, and spreading the rows of a batch
// over partitions by the hash of a key.
package exchange

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Run is rows [From, To) of Record.
type Run struct {
	Record   arrow.RecordBatch
	From, To int
}

// Take copies the rows listed in sel (ascending or not) into a new record batch.
func Take(mem memory.Allocator, rec arrow.RecordBatch, sel []int32) (arrow.RecordBatch, error) {
	var runs []Run
	for i := 0; i < len(sel); {
		k := i + 1
		for k < len(sel) && sel[k] == sel[k-1]+1 {
			k++
		}
		runs = append(runs, Run{rec, int(sel[i]), int(sel[k-1]) + 1})
		i = k
	}
	if len(runs) == 0 {
		return rec.NewSlice(0, 0), nil
	}
	return Gather(mem, runs)
}

// Gather copies runs, of which there is at least one and which have the same schema, into one new record batch. It borrows them.
func Gather(mem memory.Allocator, runs []Run) (arrow.RecordBatch, error) {
	rows := 0
	for _, r := range runs {
		rows += r.To - r.From
	}
	if rows > math.MaxInt32 {
		return nil, fmt.Errorf("a batch of %d rows is too large", rows)
	}
	schema := runs[0].Record.Schema()
	cols := make([]arrow.Array, 0, schema.NumFields())
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	src := make([]arrow.Array, len(runs))
	for c := range schema.NumFields() {
		for i, r := range runs {
			src[i] = r.Record.Column(c)
		}
		a, err := gatherColumn(mem, src, runs, rows)
		if err != nil {
			return nil, err
		}
		cols = append(cols, a)
	}
	return array.NewRecordBatch(schema, cols, int64(rows)), nil
}

func gatherColumn(mem memory.Allocator, src []arrow.Array, runs []Run, rows int) (arrow.Array, error) {
	dt := src[0].DataType()
	switch t := dt.(type) {
	case *arrow.NullType:
		return array.NewNull(rows), nil
	case *arrow.BooleanType:
		values := newBuffer(mem, int(bitutil.BytesForBits(int64(rows))))
		clear(values.Bytes())
		at := 0
		for i, r := range runs {
			d, n := src[i].Data(), r.To-r.From
			if b := d.Buffers()[1]; b != nil {
				bitutil.CopyBitmap(b.Bytes(), d.Offset()+r.From, n, values.Bytes(), at)
			}
			at += n
		}
		return finish(dt, rows, gatherValidity(mem, src, runs, rows), values), nil
	case arrow.FixedWidthDataType:
		if _, ok := dt.(*arrow.DictionaryType); ok {
			break
		}
		if t.BitWidth()%8 != 0 {
			break
		}
		w := t.BitWidth() / 8
		values := newBuffer(mem, rows*w)
		out := values.Bytes()
		at := 0
		for i, r := range runs {
			d := src[i].Data()
			n := (r.To - r.From) * w
			if b := d.Buffers()[1]; b != nil {
				from := (d.Offset() + r.From) * w
				copy(out[at:at+n], b.Bytes()[from:from+n])
			} else {
				clear(out[at : at+n])
			}
			at += n
		}
		return finish(dt, rows, gatherValidity(mem, src, runs, rows), values), nil
	case *arrow.StringType, *arrow.BinaryType:
		return gatherText(mem, dt, src, runs, rows)
	}
	parts := make([]arrow.Array, len(runs))
	for i, r := range runs {
		parts[i] = array.NewSlice(src[i], int64(r.From), int64(r.To))
		defer parts[i].Release()
	}
	return array.Concatenate(parts, mem)
}

// gatherText is for offsets of 32 bits.
func gatherText(mem memory.Allocator, dt arrow.DataType, src []arrow.Array, runs []Run, rows int) (arrow.Array, error) {
	offsets := func(i int) []int32 {
		d := src[i].Data()
		b := d.Buffers()[1]
		if b == nil || b.Len() == 0 {
			return nil
		}
		return arrow.Int32Traits.CastFromBytes(b.Bytes())[d.Offset():]
	}
	total := 0
	for i, r := range runs {
		if o := offsets(i); o != nil {
			total += int(o[r.To] - o[r.From])
		}
	}
	if total > math.MaxInt32 {
		return nil, fmt.Errorf("a batch with %d bytes in one column is too large", total)
	}
	offBuf, data := newBuffer(mem, 4*(rows+1)), newBuffer(mem, total)
	off, out := arrow.Int32Traits.CastFromBytes(offBuf.Bytes()), data.Bytes()
	off[0] = 0
	at, end := 1, int32(0)
	for i, r := range runs {
		o := offsets(i)
		if o == nil {
			for range r.To - r.From {
				off[at] = end
				at++
			}
			continue
		}
		shift := end - o[r.From]
		for _, v := range o[r.From+1 : r.To+1] {
			off[at] = v + shift
			at++
		}
		if n := o[r.To] - o[r.From]; n > 0 {
			copy(out[end:end+n], src[i].Data().Buffers()[2].Bytes()[o[r.From]:o[r.To]])
			end += n
		}
	}
	return finish(dt, rows, gatherValidity(mem, src, runs, rows), offBuf, data), nil
}

// gatherValidity returns nil when there is no NULL.
func gatherValidity(mem memory.Allocator, src []arrow.Array, runs []Run, rows int) *memory.Buffer {
	any := false
	for _, s := range src {
		if s.NullN() > 0 {
			any = true
			break
		}
	}
	if !any {
		return nil
	}
	buf := newBuffer(mem, int(bitutil.BytesForBits(int64(rows))))
	bits := buf.Bytes()
	clear(bits)
	at := 0
	for i, r := range runs {
		d, n := src[i].Data(), r.To-r.From
		if b := d.Buffers()[0]; b != nil && b.Len() > 0 {
			bitutil.CopyBitmap(b.Bytes(), d.Offset()+r.From, n, bits, at)
		} else {
			bitutil.SetBitsTo(bits, int64(at), int64(n), true)
		}
		at += n
	}
	return buf
}

func newBuffer(mem memory.Allocator, n int) *memory.Buffer {
	b := memory.NewResizableBuffer(mem)
	b.Resize(n)
	return b
}

// finish makes an array of buffers, validity first, and takes over their references.
func finish(dt arrow.DataType, rows int, buffers ...*memory.Buffer) arrow.Array {
	nulls := 0
	if v := buffers[0]; v != nil {
		nulls = rows - bitutil.CountSetBits(v.Bytes(), 0, rows)
	}
	d := array.NewData(dt, rows, buffers, nil, nulls, 0)
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
	a := array.MakeFromData(d)
	d.Release()
	return a
}

// Bytes estimates the memory that the rows of rec hold: of slices only their part.
func Bytes(rec arrow.RecordBatch) int64 {
	if rec == nil {
		return 0
	}
	var n int64
	for _, c := range rec.Columns() {
		n += dataBytes(c.Data())
	}
	return n
}

func dataBytes(d arrow.ArrayData) int64 {
	rows := int64(d.Len())
	n := rows / 8
	switch t := d.DataType().(type) {
	case *arrow.NullType:
		return 0
	case *arrow.StringType, *arrow.BinaryType:
		n += 4 * rows
		if b := d.Buffers()[1]; b != nil && b.Len() > 0 && rows > 0 {
			o := arrow.Int32Traits.CastFromBytes(b.Bytes())[d.Offset():]
			n += int64(o[rows] - o[0])
		}
		return n
	case *arrow.ListType:
		n += 4 * rows
		for _, c := range d.Children() {
			if c.Len() > 0 && rows > 0 {
				o := arrow.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset():]
				n += dataBytes(c) * int64(o[rows]-o[0]) / int64(c.Len())
			}
		}
		return n
	case *arrow.StructType:
		for _, c := range d.Children() {
			if c.Len() > 0 {
				n += dataBytes(c) * rows / int64(c.Len())
			}
		}
		return n
	case arrow.FixedWidthDataType:
		return n + rows*int64(t.BitWidth())/8
	}
	for _, b := range d.Buffers() {
		if b != nil {
			n += int64(b.Len())
		}
	}
	return n
}
