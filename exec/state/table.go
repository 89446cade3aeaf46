package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec"
)

// Table maps keys to group ids: dense numbers from 0 in the order of insertion. It is an open-addressing hash table with linear probing, at most half
// full. Single integers, pairs of integers and single strings have paths of their own; everything else goes through an encoding to bytes.
//
// A key that Delete removed gets a new id when it comes again; ids of deleted keys are holes until the owner rebuilds the table.
type Table struct {
	types []arrow.DataType
	kinds []kind
	mode  mode
	acct  *exec.Account

	n         int
	dead      []bool // nil until the first Delete
	deadN     int
	nullGroup int32   // of the NULL key in modes word and text; -1
	oldNulls  []int32 // ids that a deleted NULL key had before

	wordSlots []wordSlot // mode word
	pairSlots []pairSlot // mode pair
	slots     []uint64   // other modes: high half of the hash | id + 1
	words     []uint64   // keys: one or two words each
	nulls     []uint8    // mode pair: which of the two are NULL
	arena     []byte     // modes text and bytes: keys one behind the other
	ends      []uint32   // where each key ends in arena, modulo 2^32 (see keyBytes)
	bases     []int64    // arena offset of every 256th key

	charged int64
	changed []uint64 // bit per page, nil when they are not tracked

	// scratch, kept from call to call
	w0, w1 []uint64
	hs     []uint64
	enc    []byte
	encEnd []int32
}

type mode uint8

const (
	modeNone  mode = iota // no key columns: one group
	modeWord              // one column of at most 8 bytes
	modePair              // two such columns
	modeText              // one text or bytes column
	modeBytes             // anything, encoded
)

type wordSlot struct {
	key uint64
	id  int32 // id + 1; 0 is empty
}

// pairSlot holds the key too, so that a lookup touches one cache line.
type pairSlot struct {
	a, b uint64
	id   int32 // id + 1; 0 is empty
	nul  uint8
}

const minSlots = 64

// maxGroups keeps ids in an int32 with room for the + 1.
const maxGroups = math.MaxInt32 - 1

// NewTable returns an empty table for keys of the given column types. acct (nil: none) is charged for all memory held.
func NewTable(keys []arrow.DataType, acct *exec.Account) *Table {
	t := &Table{types: keys, acct: acct, nullGroup: -1}
	for _, k := range keys {
		t.kinds = append(t.kinds, kindOf(k))
	}
	switch {
	case len(keys) == 0:
		t.mode = modeNone
	case len(keys) == 1 && t.kinds[0] == kindWord:
		t.mode = modeWord
	case len(keys) == 2 && t.kinds[0] == kindWord && t.kinds[1] == kindWord:
		t.mode = modePair
	case len(keys) == 1 && t.kinds[0] == kindBytes:
		t.mode = modeText
	default:
		t.mode = modeBytes
	}
	return t
}

// Len is the number of ids given out, holes included.
func (t *Table) Len() int { return t.n }

// Live is the number of keys.
func (t *Table) Live() int { return t.n - t.deadN }

// IsLive reports whether id has not been deleted.
func (t *Table) IsLive(id int32) bool { return t.dead == nil || !t.dead[id] }

// Delete removes the key of id.
func (t *Table) Delete(id int32) {
	if t.dead == nil {
		t.dead = make([]bool, t.n)
	}
	if !t.dead[id] {
		t.dead[id] = true
		t.deadN++
		if t.changed != nil {
			t.change(id)
		}
	}
}

// Groups finds or inserts the key of n rows and writes their ids to out. rows chooses the rows of cols; nil means the first n.
func (t *Table) Groups(cols []arrow.Array, rows []int32, n int, out []int32) error {
	if t.n+n > maxGroups {
		return fmt.Errorf("more than %d groups in one operator", maxGroups)
	}
	before := t.n
	switch t.mode {
	case modeNone:
		if n > 0 && t.Live() == 0 {
			t.n++
		}
		for i := range out[:n] {
			out[i] = int32(t.n - 1)
		}
	case modeWord:
		t.groupsWord(cols[0], rows, n, out, true)
	case modePair:
		t.groupsPair(cols, rows, n, out, true)
	case modeText:
		t.groupsText(cols[0], rows, n, out, true)
	case modeBytes:
		t.groupsBytes(cols, rows, n, out, true)
	}
	for t.dead != nil && len(t.dead) < t.n {
		t.dead = append(t.dead, false)
	}
	t.note(out[:n])
	if t.n != before {
		return t.charge()
	}
	return nil
}

// Find is Groups without inserting: -1 for keys that are not there.
func (t *Table) Find(cols []arrow.Array, rows []int32, n int, out []int32) {
	switch t.mode {
	case modeNone:
		id := int32(-1)
		if t.Live() > 0 {
			id = int32(t.n - 1)
		}
		for i := range out[:n] {
			out[i] = id
		}
	case modeWord:
		t.groupsWord(cols[0], rows, n, out, false)
	case modePair:
		t.groupsPair(cols, rows, n, out, false)
	case modeText:
		t.groupsText(cols[0], rows, n, out, false)
	case modeBytes:
		t.groupsBytes(cols, rows, n, out, false)
	}
	t.note(out[:n])
}

// alive reports whether a slot's id may be used.
func (t *Table) alive(id int32) bool { return t.dead == nil || int(id) >= len(t.dead) || !t.dead[id] }

func (t *Table) nullID(insert bool, add func()) int32 {
	if t.nullGroup >= 0 && t.alive(t.nullGroup) {
		return t.nullGroup
	}
	if !insert {
		return -1
	}
	if t.nullGroup >= 0 {
		t.oldNulls = append(t.oldNulls, t.nullGroup)
	}
	t.nullGroup = int32(t.n)
	add()
	t.n++
	return t.nullGroup
}

func (t *Table) groupsWord(col arrow.Array, rows []int32, n int, out []int32, insert bool) {
	keys := wordsOf(col, rows, n, &t.w0)
	hasNull := col.NullN() > 0
	if t.wordSlots == nil {
		t.wordSlots = make([]wordSlot, minSlots)
	}
	slots := t.wordSlots
	mask := uint64(len(slots) - 1)
	out = out[:n]
	for i, k := range keys {
		if hasNull {
			r := i
			if rows != nil {
				r = int(rows[i])
			}
			if col.IsNull(r) {
				out[i] = t.nullID(insert, func() { t.words = append(t.words, 0) })
				continue
			}
		}
		p := hashWord(k) & mask
		for {
			s := &slots[p]
			if s.id == 0 {
				if !insert {
					out[i] = -1
					break
				}
				s.key, s.id = k, int32(t.n)+1
				out[i] = int32(t.n)
				t.words = append(t.words, k)
				t.n++
				if t.n*2 > len(slots) {
					t.growWord()
					slots, mask = t.wordSlots, uint64(len(t.wordSlots)-1)
				}
				break
			}
			if s.key == k {
				id := s.id - 1
				if t.dead != nil && !t.alive(id) {
					if id = -1; insert {
						id = int32(t.n)
						s.id = id + 1
						t.words = append(t.words, k)
						t.n++
					}
				}
				out[i] = id
				break
			}
			p = (p + 1) & mask
		}
	}
}

func (t *Table) growWord() {
	t.wordSlots = make([]wordSlot, max(minSlots, len(t.wordSlots)*2))
	mask := uint64(len(t.wordSlots) - 1)
	for id, k := range t.words {
		if t.isNullGroup(id) || !t.alive(int32(id)) {
			continue
		}
		p := hashWord(k) & mask
		for t.wordSlots[p].id != 0 {
			p = (p + 1) & mask
		}
		t.wordSlots[p] = wordSlot{k, int32(id) + 1}
	}
}

func (t *Table) groupsPair(cols []arrow.Array, rows []int32, n int, out []int32, insert bool) {
	as, bs := wordsOf(cols[0], rows, n, &t.w0), wordsOf(cols[1], rows, n, &t.w1)
	hasNull := cols[0].NullN() > 0 || cols[1].NullN() > 0
	if t.pairSlots == nil {
		t.pairSlots = make([]pairSlot, minSlots)
	}
	slots, mask := t.pairSlots, uint64(len(t.pairSlots)-1)
	out, bs = out[:n], bs[:n]
	for i, a := range as[:n] {
		b := bs[i]
		var nul uint8
		if hasNull {
			r := i
			if rows != nil {
				r = int(rows[i])
			}
			if cols[0].IsNull(r) {
				nul = 1
			}
			if cols[1].IsNull(r) {
				nul |= 2
			}
		}
		p := (hashPair(a, b) + uint64(nul)*seed3) & mask
		for {
			s := &slots[p]
			if s.id == 0 {
				if !insert {
					out[i] = -1
					break
				}
				*s = pairSlot{a, b, int32(t.n) + 1, nul}
				out[i] = t.addPair(a, b, nul)
				if t.n*2 > len(slots) {
					t.growPair()
					slots, mask = t.pairSlots, uint64(len(t.pairSlots)-1)
				}
				break
			}
			if s.a == a && s.b == b && s.nul == nul {
				id := s.id - 1
				if t.dead != nil && !t.alive(id) {
					if id = -1; insert {
						s.id = int32(t.n) + 1
						id = t.addPair(a, b, nul)
					}
				}
				out[i] = id
				break
			}
			p = (p + 1) & mask
		}
	}
}

func (t *Table) growPair() {
	t.pairSlots = make([]pairSlot, max(minSlots, len(t.pairSlots)*2))
	mask := uint64(len(t.pairSlots) - 1)
	for id := range t.nulls {
		if !t.alive(int32(id)) {
			continue
		}
		a, b, nul := t.words[2*id], t.words[2*id+1], t.nulls[id]
		p := (hashPair(a, b) + uint64(nul)*seed3) & mask
		for t.pairSlots[p].id != 0 {
			p = (p + 1) & mask
		}
		t.pairSlots[p] = pairSlot{a, b, int32(id) + 1, nul}
	}
}

func (t *Table) addPair(a, b uint64, nul uint8) int32 {
	t.words = append(t.words, a, b)
	t.nulls = append(t.nulls, nul)
	t.n++
	return int32(t.n - 1)
}

func (t *Table) groupsText(col arrow.Array, rows []int32, n int, out []int32, insert bool) {
	var offs []int32
	var data []byte
	switch c := col.(type) {
	case *array.String:
		offs, data = c.ValueOffsets(), nil
		if b := c.Data().Buffers()[2]; b != nil {
			data = b.Bytes()
		}
	case *array.Binary:
		offs = c.ValueOffsets()
		if b := c.Data().Buffers()[2]; b != nil {
			data = b.Bytes()
		}
	}
	hasNull := col.NullN() > 0
	out = out[:n]
	for i := range out {
		r := i
		if rows != nil {
			r = int(rows[i])
		}
		if hasNull && col.IsNull(r) {
			out[i] = t.nullID(insert, func() { t.addBytes(nil) })
			continue
		}
		k := data[offs[r]:offs[r+1]]
		out[i] = t.lookup(k, HashBytes(k), insert)
	}
}

// lookup finds or inserts the key k, or returns -1.
func (t *Table) lookup(k []byte, h uint64, insert bool) int32 {
	if t.slots == nil {
		t.slots = make([]uint64, minSlots)
	}
	mask := uint64(len(t.slots) - 1)
	p := h & mask
	for {
		s := t.slots[p]
		if s == 0 {
			if !insert {
				return -1
			}
			t.slots[p] = h&^0xFFFFFFFF | uint64(t.n+1)
			t.addBytes(k)
			t.n++
			if t.n*2 > len(t.slots) {
				t.grow()
			}
			return int32(t.n - 1)
		}
		if s>>32 == h>>32 {
			id := int32(uint32(s)) - 1
			if id != t.nullGroup && bytes.Equal(t.keyBytes(int(id)), k) {
				if t.dead != nil && !t.alive(id) {
					if !insert {
						return -1
					}
					t.slots[p] = h&^0xFFFFFFFF | uint64(t.n+1)
					t.addBytes(k)
					t.n++
					id = int32(t.n - 1)
				}
				return id
			}
		}
		p = (p + 1) & mask
	}
}

// addBytes appends a key to the arena. Ends are 32 bits; every 256th key has a full offset, and 256 keys never span 4 GiB since one is at most 2 GiB
// only in theory: a batch of rows that large does not fit Arrow's 32-bit offsets.
func (t *Table) addBytes(k []byte) {
	if len(t.ends)&0xFF == 0 {
		t.bases = append(t.bases, int64(len(t.arena)))
	}
	t.arena = append(t.arena, k...)
	t.ends = append(t.ends, uint32(int64(len(t.arena))-t.bases[len(t.bases)-1]))
}

func (t *Table) keyBytes(id int) []byte {
	base := t.bases[id>>8]
	from := base
	if id&0xFF != 0 {
		from = base + int64(t.ends[id-1])
	}
	return t.arena[from : base+int64(t.ends[id])]
}

func (t *Table) groupsBytes(cols []arrow.Array, rows []int32, n int, out []int32, insert bool) {
	t.encode(cols, rows, n)
	from := int32(0)
	for i := range out[:n] {
		k := t.enc[from:t.encEnd[i]]
		out[i] = t.lookup(k, HashBytes(k), insert)
		from = t.encEnd[i]
	}
}

// encode writes the keys of n rows to t.enc, each behind the other: for every column a byte that says whether there is a value, then the value.
func (t *Table) encode(cols []arrow.Array, rows []int32, n int) {
	t.enc, t.encEnd = t.enc[:0], t.encEnd[:0]
	type reader struct {
		kind  kind
		words []uint64
		offs  []int32
		data  []byte
		arr   arrow.Array
		nulls bool
	}
	rd := make([]reader, len(cols))
	for c, a := range cols {
		rd[c] = reader{kind: t.kinds[c], arr: a, nulls: a.NullN() > 0 || a.DataType().ID() == arrow.NULL}
		switch t.kinds[c] {
		case kindWord:
			rd[c].words = make([]uint64, n)
			loadWords(a, rows, n, rd[c].words)
		case kindBytes:
			if b := a.Data().Buffers()[2]; b != nil {
				rd[c].data = b.Bytes()
			}
			switch s := a.(type) {
			case *array.String:
				rd[c].offs = s.ValueOffsets()
			case *array.Binary:
				rd[c].offs = s.ValueOffsets()
			}
		}
	}
	enc := t.enc
	for i := 0; i < n; i++ {
		r := i
		if rows != nil {
			r = int(rows[i])
		}
		for c := range rd {
			d := &rd[c]
			if d.nulls && d.arr.IsNull(r) || d.kind == kindNull {
				enc = append(enc, 0)
				continue
			}
			enc = append(enc, 1)
			switch d.kind {
			case kindWord:
				enc = binary.LittleEndian.AppendUint64(enc, d.words[i])
			case kindBytes:
				from, to := d.offs[r], d.offs[r+1]
				enc = binary.LittleEndian.AppendUint32(enc, uint32(to-from))
				enc = append(enc, d.data[from:to]...)
			default:
				enc = appendValue(enc, d.arr, r)
			}
		}
		t.encEnd = append(t.encEnd, int32(len(enc)))
	}
	t.enc = enc
}

// grow doubles the slots of the modes that keep hashes in them.
func (t *Table) grow() {
	t.slots = make([]uint64, max(minSlots, len(t.slots)*2))
	mask := uint64(len(t.slots) - 1)
	for id := 0; id < t.n; id++ {
		if int32(id) == t.nullGroup || !t.alive(int32(id)) {
			continue
		}
		h := HashBytes(t.keyBytes(id))
		p := h & mask
		for t.slots[p] != 0 {
			p = (p + 1) & mask
		}
		t.slots[p] = h&^0xFFFFFFFF | uint64(id+1)
	}
}

// Keys returns the key columns of the given ids (nil: all, holes included), in that order. The caller releases them.
func (t *Table) Keys(mem memory.Allocator, ids []int32) []arrow.Array {
	n := t.n
	if ids != nil {
		n = len(ids)
	}
	at := func(i int) int {
		if ids != nil {
			return int(ids[i])
		}
		return i
	}
	switch t.mode {
	case modeNone:
		return nil
	case modeWord:
		return []arrow.Array{wordArray(mem, t.types[0], n, func(i int) uint64 { return t.words[at(i)] }, func(i int) bool { return t.isNullGroup(at(i)) })}
	case modePair:
		return []arrow.Array{
			wordArray(mem, t.types[0], n, func(i int) uint64 { return t.words[2*at(i)] }, func(i int) bool { return t.nulls[at(i)]&1 != 0 }),
			wordArray(mem, t.types[1], n, func(i int) uint64 { return t.words[2*at(i)+1] }, func(i int) bool { return t.nulls[at(i)]&2 != 0 }),
		}
	}
	if t.mode == modeText {
		return []arrow.Array{t.textKeys(mem, n, at)}
	}
	bs := make([]array.Builder, len(t.types))
	for c, dt := range t.types {
		bs[c] = array.NewBuilder(mem, dt)
		bs[c].Reserve(n)
	}
	for i := 0; i < n; i++ {
		id := at(i)
		k := t.keyBytes(id)
		for c := range bs {
			valid := k[0] != 0
			k = k[1:]
			switch {
			case !valid:
				bs[c].AppendNull()
			case t.kinds[c] == kindWord:
				appendWord(bs[c], binary.LittleEndian.Uint64(k))
				k = k[8:]
			case t.kinds[c] == kindWide:
				bs[c].(*array.Decimal128Builder).Append(decimal128.New(int64(binary.LittleEndian.Uint64(k[8:])), binary.LittleEndian.Uint64(k)))
				k = k[16:]
			default:
				k = readValue(k, bs[c])
			}
		}
	}
	out := make([]arrow.Array, len(bs))
	for c := range bs {
		out[c] = bs[c].NewArray()
		bs[c].Release()
	}
	return out
}

// textKeys makes the key column of mode text.
func (t *Table) textKeys(mem memory.Allocator, n int, at func(i int) int) arrow.Array {
	offs := memory.NewResizableBuffer(mem)
	offs.Resize((n + 1) * 4)
	to := unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(offs.Bytes()))), n+1)
	total := 0
	var valid *memory.Buffer
	nulls := 0
	to[0] = 0
	for i := range n {
		id := at(i)
		total += len(t.keyBytes(id))
		to[i+1] = int32(total)
		if t.isNullGroup(id) {
			valid = clearValid(mem, valid, n, i)
			nulls++
		}
	}
	data := memory.NewResizableBuffer(mem)
	data.Resize(total)
	dst := data.Bytes()
	for i := range n {
		copy(dst[to[i]:], t.keyBytes(at(i)))
	}
	return ownArray(t.types[0], n, nulls, valid, offs, data)
}

// isNullGroup reports whether id is, or was before it was deleted, that of the NULL key.
func (t *Table) isNullGroup(id int) bool {
	return t.nullGroup >= 0 && (int32(id) == t.nullGroup || len(t.oldNulls) > 0 && slices.Contains(t.oldNulls, int32(id)))
}

// Reset forgets all keys and keeps the memory for the next ones, except what is far more than the last use needed.
func (t *Table) Reset() {
	t.changeAll()
	if n := len(t.wordSlots); n > 1024 && t.n*16 < n {
		t.wordSlots = make([]wordSlot, n/4)
	} else {
		clear(t.wordSlots)
	}
	if n := len(t.pairSlots); n > 1024 && t.n*16 < n {
		t.pairSlots = make([]pairSlot, n/4)
	} else {
		clear(t.pairSlots)
	}
	if n := len(t.slots); n > 1024 && t.n*16 < n {
		t.slots = make([]uint64, n/4)
	} else {
		clear(t.slots)
	}
	t.words, t.nulls, t.arena, t.ends, t.bases = t.words[:0], t.nulls[:0], t.arena[:0], t.ends[:0], t.bases[:0]
	t.n, t.nullGroup, t.oldNulls, t.dead, t.deadN = 0, -1, nil, nil, 0
}

// Bytes is the memory held.
func (t *Table) Bytes() int64 {
	return int64(cap(t.wordSlots))*16 + int64(cap(t.pairSlots))*24 + int64(cap(t.slots)+cap(t.words)+cap(t.w0)+cap(t.w1)+cap(t.hs)+cap(t.bases)+cap(t.changed))*8 +
		int64(cap(t.ends)+cap(t.encEnd))*4 + int64(cap(t.nulls)+cap(t.arena)+cap(t.enc)+cap(t.dead))
}

func (t *Table) charge() error {
	b := t.Bytes()
	d := b - t.charged
	t.charged = b
	if d == 0 {
		return nil
	}
	return t.acct.Grow(d)
}

// Close gives the accounted bytes back. The table must not be used again.
func (t *Table) Close() {
	_ = t.acct.Grow(-t.charged)
	*t = Table{acct: t.acct}
}

// wordsOf returns the keys of n rows: the column's own values where they can serve (what lies under a NULL has to be 0), or copies in buf.
func wordsOf(col arrow.Array, rows []int32, n int, buf *[]uint64) []uint64 {
	if rows == nil && isWord64(col.DataType()) && col.NullN() == 0 {
		return fixed[uint64](col)[:n]
	}
	*buf = resize(*buf, n)
	loadWords(col, rows, n, *buf)
	return *buf
}

func isWord64(dt arrow.DataType) bool {
	switch dt.ID() {
	case arrow.INT64, arrow.UINT64, arrow.TIMESTAMP, arrow.DURATION, arrow.TIME64:
		return true
	}
	return false
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, max(n, 2*cap(s)))
	}
	return s[:n]
}
