// Package colbuf fills Arrow columns from decoders: raw buffers of the batch's allocator, no builder and no allocation per value, and rows that can be
// taken back (a bad record, a duplicate key).
package colbuf

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/types"
)

// Col is a column under construction. Exactly one Put is called per row. Which Put fits which kind is the caller's business:
//
//	BOOLEAN PutBool; TINYINT PutI8; SMALLINT PutI16; INT, DATE, TIME, INTERVAL YEAR TO MONTH PutI32; BIGINT, TIMESTAMP, TIMESTAMP_LTZ,
//	INTERVAL DAY TO SECOND PutI64; FLOAT PutF32; DOUBLE PutF64; DECIMAL PutDec; text and bytes PutBytes;
//	ARRAY, MAP, MULTISET fill Kids and then PutList; ROW fills every Kid by one and then PutRow.
type Col struct {
	Type types.Type
	// Kids are the elements of an ARRAY (1), keys and values of a MAP or MULTISET (2), the fields of a ROW.
	Kids []*Col

	dt       arrow.DataType
	mem      memory.Allocator
	width    int // bytes of a fixed value, 4 for offsets, 0 for BOOLEAN and ROW
	n        int // rows
	room     int // rows that fit
	nulls    int
	started  bool
	valid    *memory.Buffer // nil until the first NULL
	fixed    *memory.Buffer // values, offsets, or bits of BOOLEAN
	text     *memory.Buffer
	used     int     // bytes of text
	perRow   float64 // bytes of text per row of the last batch
	i8       []int8
	i16      []int16
	i32      []int32 // also offsets, one more than rows
	i64      []int64
	f32      []float32
	f64      []float64
	dec      []decimal128.Num
	bits     []byte
	validity []byte
	data     []byte
}

// New returns a column for values of type t. It holds no memory before Start.
func New(t types.Type) *Col {
	c := &Col{Type: t, dt: t.Arrow()}
	switch t.Kind {
	case types.TinyInt:
		c.width = 1
	case types.SmallInt:
		c.width = 2
	case types.Int, types.Date, types.Time, types.IntervalYearMonth, types.Float:
		c.width = 4
	case types.BigInt, types.Double, types.Timestamp, types.TimestampLTZ, types.IntervalDayTime:
		c.width = 8
	case types.Decimal:
		c.width = 16
	case types.Array:
		c.width = 4
		c.Kids = []*Col{New(*t.Elem)}
	case types.Map:
		c.width = 4
		c.Kids = []*Col{New(*t.Key), New(*t.Elem)}
	case types.Multiset:
		c.width = 4
		c.Kids = []*Col{New(*t.Elem), New(types.IntType.NotNull())}
	case types.Row:
		for _, f := range t.Fields {
			c.Kids = append(c.Kids, New(f.Type))
		}
	case types.Char, types.VarChar, types.Binary, types.VarBinary:
		c.width = 4
	}
	return c
}

func (c *Col) hasOffsets() bool {
	switch c.Type.Kind {
	case types.Char, types.VarChar, types.Binary, types.VarBinary, types.Array, types.Map, types.Multiset:
		return true
	}
	return false
}

func (c *Col) hasText() bool { return c.Type.IsText() || c.Type.IsBytes() }

// Start begins a batch of about rows rows in memory of mem. Every Start is followed by Finish or Discard.
func (c *Col) Start(mem memory.Allocator, rows int) {
	c.mem, c.n, c.nulls, c.used, c.started = mem, 0, 0, 0, true
	rows = max(rows, 1)
	c.room = 0
	if c.Type.Kind != types.Row {
		c.fixed = memory.NewResizableBuffer(mem)
	}
	c.ensure(rows)
	if c.hasOffsets() {
		c.i32[0] = 0
	}
	if c.hasText() {
		c.text = memory.NewResizableBuffer(mem)
		c.text.Resize(int(c.perRow*1.05*float64(rows)) + 64)
		c.data = c.text.Buf()
	}
	for _, k := range c.Kids {
		k.Start(mem, rows)
	}
}

// ensure makes room for rows rows.
func (c *Col) ensure(rows int) {
	if rows <= c.room {
		return
	}
	c.room = rows
	if c.fixed != nil {
		n := rows * c.width
		if c.hasOffsets() {
			n += 4
		} else if c.Type.Kind == types.Boolean {
			n = (rows + 7) / 8
		}
		c.fixed.Resize(n)
		b := c.fixed.Buf()
		switch c.width {
		case 0:
			c.bits = b
		case 1:
			c.i8 = view[int8](b)
		case 2:
			c.i16 = view[int16](b)
		case 4:
			if c.Type.Kind == types.Float {
				c.f32 = view[float32](b)
			} else {
				c.i32 = view[int32](b)
			}
		case 8:
			if c.Type.Kind == types.Double {
				c.f64 = view[float64](b)
			} else {
				c.i64 = view[int64](b)
			}
		case 16:
			c.dec = view[decimal128.Num](b)
		}
	}
	if c.valid != nil {
		c.growValid()
	}
}

func view[T any](b []byte) []T {
	var z T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(z)))
}

// grow is the slow path of the Puts.
func (c *Col) grow() { c.ensure(max(16, c.room*2)) }

// Len returns the number of rows so far.
func (c *Col) Len() int { return c.n }

// PutNull adds a NULL; children of a ROW get one each.
func (c *Col) PutNull() {
	if c.n >= c.room {
		c.grow()
	}
	if c.valid == nil {
		c.valid = memory.NewResizableBuffer(c.mem)
		c.growValid()
	}
	c.validity[c.n>>3] &^= 1 << (c.n & 7)
	c.nulls++
	switch c.width {
	case 0:
		if c.bits != nil && c.Type.Kind == types.Boolean {
			c.bits[c.n>>3] &^= 1 << (c.n & 7)
		}
		for _, k := range c.Kids {
			k.PutNull()
		}
	case 4:
		if c.hasOffsets() {
			c.i32[c.n+1] = c.i32[c.n]
		} else {
			clear(c.fixed.Buf()[4*c.n : 4*c.n+4])
		}
	default:
		clear(c.fixed.Buf()[c.width*c.n : c.width*(c.n+1)])
	}
	c.n++
}

// growValid makes the bitmap as long as room; new bits are set.
func (c *Col) growValid() {
	old := len(c.validity)
	c.valid.Resize((c.room + 7) / 8)
	c.validity = c.valid.Buf()
	for i := old; i < len(c.validity); i++ {
		c.validity[i] = 0xff
	}
}

// PutBool adds a BOOLEAN.
func (c *Col) PutBool(v bool) {
	if c.n >= c.room {
		c.grow()
	}
	if v {
		c.bits[c.n>>3] |= 1 << (c.n & 7)
	} else {
		c.bits[c.n>>3] &^= 1 << (c.n & 7)
	}
	c.n++
}

// PutI8 adds a value of one byte.
func (c *Col) PutI8(v int8) {
	if c.n >= c.room {
		c.grow()
	}
	c.i8[c.n] = v
	c.n++
}

// PutI16 adds a value of two bytes.
func (c *Col) PutI16(v int16) {
	if c.n >= c.room {
		c.grow()
	}
	c.i16[c.n] = v
	c.n++
}

// PutI32 adds a value of four bytes.
func (c *Col) PutI32(v int32) {
	if c.n >= c.room {
		c.grow()
	}
	c.i32[c.n] = v
	c.n++
}

// PutI64 adds a value of eight bytes.
func (c *Col) PutI64(v int64) {
	if uint(c.n) < uint(len(c.i64)) {
		c.i64[c.n] = v
		c.n++
		return
	}
	c.moreI64(v)
}

func (c *Col) moreI64(v int64) {
	c.grow()
	c.i64[c.n] = v
	c.n++
}

// PutF32 adds a FLOAT.
func (c *Col) PutF32(v float32) {
	if c.n >= c.room {
		c.grow()
	}
	c.f32[c.n] = v
	c.n++
}

// PutF64 adds a DOUBLE.
func (c *Col) PutF64(v float64) {
	if uint(c.n) < uint(len(c.f64)) {
		c.f64[c.n] = v
		c.n++
		return
	}
	c.moreF64(v)
}

func (c *Col) moreF64(v float64) {
	c.grow()
	c.f64[c.n] = v
	c.n++
}

// PutDec adds a DECIMAL of the column's scale.
func (c *Col) PutDec(v decimal128.Num) {
	if c.n >= c.room {
		c.grow()
	}
	c.dec[c.n] = v
	c.n++
}

// PutBytes adds text or bytes; b is copied.
func (c *Col) PutBytes(b []byte) {
	n := c.n + 1
	end := c.used + len(b)
	if n >= len(c.i32) || end > len(c.data) {
		c.makeRoom(len(b))
	}
	copy(c.data[c.used:end], b)
	c.used = end
	c.n = n
	c.i32[n] = int32(end)
}

// makeRoom is the slow path of PutBytes.
func (c *Col) makeRoom(need int) {
	if c.n >= c.room {
		c.grow()
	}
	if c.used+need > len(c.data) {
		c.growText(need)
	}
}

func (c *Col) growText(need int) {
	c.text.Resize(max(2*len(c.data), c.used+need+64))
	c.data = c.text.Buf()
}

// PutList ends an ARRAY, MAP or MULTISET whose elements were put into the Kids since the last one.
func (c *Col) PutList() {
	if c.n >= c.room {
		c.grow()
	}
	c.n++
	c.i32[c.n] = int32(c.Kids[0].n)
}

// PutRow ends a ROW after each Kid got one value.
func (c *Col) PutRow() {
	if c.n >= c.room {
		c.grow()
	}
	c.n++
}

// Truncate takes rows back until n are left; also elements that were put for a list that was not ended.
func (c *Col) Truncate(n int) {
	if n < c.n && c.valid != nil {
		for i := n; i < c.n; i++ {
			if c.validity[i>>3]&(1<<(i&7)) == 0 {
				c.validity[i>>3] |= 1 << (i & 7)
				c.nulls--
			}
		}
	}
	if n < c.n {
		c.n = n
	}
	switch {
	case c.hasText():
		c.used = int(c.i32[c.n])
	case c.hasOffsets():
		for _, k := range c.Kids {
			k.Truncate(int(c.i32[c.n]))
		}
	case c.Type.Kind == types.Row:
		for _, k := range c.Kids {
			k.Truncate(c.n)
		}
	}
}

// Finish ends the batch and returns its rows; the caller releases them.
func (c *Col) Finish() arrow.ArrayData {
	c.started = false
	var buffers [3]*memory.Buffer
	buffers[0] = c.valid
	if c.valid != nil {
		if c.nulls == 0 {
			c.valid.Release()
			buffers[0] = nil
		} else {
			c.valid.ResizeNoShrink((c.n + 7) / 8)
			if r := c.n & 7; r != 0 { // bits behind the end are zero
				c.validity[c.n>>3] &= 1<<r - 1
			}
		}
	}
	nb := 2
	buffers[1] = c.fixed
	var kids []arrow.ArrayData
	switch {
	case c.Type.Kind == types.Null:
		c.fixed.Release()
		buffers[1] = nil
		if buffers[0] != nil {
			buffers[0].Release()
		}
		buffers[0] = nil
		nb = 1
	case c.Type.Kind == types.Row:
		nb = 1
		for _, k := range c.Kids {
			kids = append(kids, k.Finish())
		}
	case c.Type.Kind == types.Boolean:
		c.fixed.ResizeNoShrink((c.n + 7) / 8)
		if r := c.n & 7; r != 0 {
			c.bits[c.n>>3] &= 1<<r - 1
		}
	case c.hasText():
		c.fixed.ResizeNoShrink(4 * (c.n + 1))
		if len(c.data) > c.used+c.used/2+4096 {
			c.text.Resize(c.used)
		} else {
			c.text.ResizeNoShrink(c.used)
		}
		if c.n > 0 {
			c.perRow = float64(c.used) / float64(c.n)
		}
		buffers[2] = c.text
		nb = 3
	case c.Type.Kind == types.Array:
		c.fixed.ResizeNoShrink(4 * (c.n + 1))
		kids = []arrow.ArrayData{c.Kids[0].Finish()}
	case c.hasOffsets():
		c.fixed.ResizeNoShrink(4 * (c.n + 1))
		k, v := c.Kids[0].Finish(), c.Kids[1].Finish()
		entries := array.NewData(c.dt.(*arrow.ListType).Elem(), k.Len(), []*memory.Buffer{nil}, []arrow.ArrayData{k, v}, 0, 0)
		k.Release()
		v.Release()
		kids = []arrow.ArrayData{entries}
	default:
		c.fixed.ResizeNoShrink(c.n * c.width)
	}
	d := array.NewData(c.dt, c.n, buffers[:nb:nb], kids, c.nulls, 0)
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
	for _, k := range kids {
		k.Release()
	}
	c.forget()
	return d
}

// Discard ends the batch without its rows.
func (c *Col) Discard() {
	if !c.started {
		return
	}
	c.started = false
	for _, b := range []*memory.Buffer{c.valid, c.fixed, c.text} {
		if b != nil {
			b.Release()
		}
	}
	for _, k := range c.Kids {
		k.Discard()
	}
	c.forget()
}

func (c *Col) forget() {
	c.valid, c.fixed, c.text, c.mem = nil, nil, nil, nil
	c.i8, c.i16, c.i32, c.i64, c.f32, c.f64, c.dec, c.bits, c.validity, c.data = nil, nil, nil, nil, nil, nil, nil, nil, nil, nil
}

// Constant returns n rows of the value that put puts.
func Constant(mem memory.Allocator, t types.Type, n int, put func(c *Col)) arrow.ArrayData {
	c := New(t)
	c.Start(mem, n)
	for range n {
		put(c)
	}
	return c.Finish()
}

// Record makes a record batch of finished columns; it takes the columns' reference.
func Record(schema *arrow.Schema, cols []arrow.ArrayData, rows int) arrow.RecordBatch {
	arrays := make([]arrow.Array, len(cols))
	for i, d := range cols {
		arrays[i] = array.MakeFromData(d)
		d.Release()
	}
	rec := array.NewRecordBatch(schema, arrays, int64(rows))
	for _, a := range arrays {
		a.Release()
	}
	return rec
}

// Key returns a value that is equal for equal scalars of row i, for a map.
func (c *Col) Key(i int) any {
	if c.valid != nil && c.validity[i>>3]&(1<<(i&7)) == 0 {
		return nil
	}
	switch {
	case c.hasText():
		return string(c.data[c.i32[i]:c.i32[i+1]])
	case c.Type.Kind == types.Boolean:
		return c.bits[i>>3]&(1<<(i&7)) != 0
	case c.width > 0:
		return string(c.fixed.Buf()[i*c.width : (i+1)*c.width])
	}
	return i
}
