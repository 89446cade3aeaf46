package op

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/state"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// SortKey is one key of an order.
type SortKey struct {
	Column int
	Type   types.Type
	Desc   bool
	// NullsLast puts NULL behind all values. Flink's default is that NULL is the lowest value: first when ascending, last when descending; the planner
	// says which.
	NullsLast bool
}

// compareIn compares two rows of a column of a record by a key.
func (k SortKey) compareIn(a arrow.Array) func(i, j int32) int {
	c := compareValues(a, k.Type)
	nulls := 1
	if k.NullsLast {
		nulls = -1
	}
	hasNulls := a.NullN() > 0
	return func(i, j int32) int {
		if hasNulls {
			switch n, m := a.IsNull(int(i)), a.IsNull(int(j)); {
			case n && m:
				return 0
			case n:
				return -nulls
			case m:
				return nulls
			}
		}
		if k.Desc {
			return c(j, i)
		}
		return c(i, j)
	}
}

// compareValues compares values that are not NULL as types.Compare does.
func compareValues(a arrow.Array, t types.Type) func(i, j int32) int {
	switch a := a.(type) {
	case *array.Int64, *array.Timestamp, *array.Duration:
		v := values[int64](a)
		return func(i, j int32) int { return cmp.Compare(v[i], v[j]) }
	case *array.Int32, *array.Date32, *array.Time32:
		v := values[int32](a)
		return func(i, j int32) int { return cmp.Compare(v[i], v[j]) }
	case *array.String:
		return func(i, j int32) int { return strings.Compare(a.Value(int(i)), a.Value(int(j))) }
	}
	return func(i, j int32) int { return types.Compare(types.Get(a, int(i), t), types.Get(a, int(j), t)) }
}

// comparer compares rows of rec by keys; ties by row number.
func comparer(rec arrow.RecordBatch, keys []SortKey) func(a, b int32) int {
	fs := make([]func(i, j int32) int, len(keys))
	for i, k := range keys {
		fs[i] = k.compareIn(rec.Column(k.Column))
	}
	return func(a, b int32) int {
		for _, f := range fs {
			if c := f(a, b); c != 0 {
				return c
			}
		}
		return cmp.Compare(a, b)
	}
}

// order sorts rows of rec by keys; ties stay as they are.
func order(rec arrow.RecordBatch, keys []SortKey, rows []int32) {
	compare := comparer(rec, keys)
	prefix := keys[0].prefixes(rec.Column(keys[0].Column))
	if prefix == nil || len(rows) < 64 {
		slices.SortFunc(rows, compare)
		return
	}
	// Nearly all comparisons are decided by one word beside the row number.
	type entry struct {
		prefix uint64
		row    int32
	}
	es := make([]entry, len(rows))
	for i, r := range rows {
		es[i] = entry{prefix(r), r}
	}
	slices.SortFunc(es, func(a, b entry) int {
		if a.prefix != b.prefix {
			if a.prefix < b.prefix {
				return -1
			}
			return 1
		}
		return compare(a.row, b.row)
	})
	for i, e := range es {
		rows[i] = e.row
	}
}

// prefixes maps the values of a column to words that are never out of order: a smaller word is an earlier row, equal words say nothing. nil: there is no
// such word for the type.
func (k SortKey) prefixes(a arrow.Array) func(r int32) uint64 {
	var word func(r int32) uint64
	switch a := a.(type) {
	case *array.Int64, *array.Timestamp, *array.Duration:
		v := values[int64](a)
		word = func(r int32) uint64 { return uint64(v[r]) ^ 1<<63 }
	case *array.Int32, *array.Date32, *array.Time32:
		v := values[int32](a)
		word = func(r int32) uint64 { return uint64(int64(v[r])) ^ 1<<63 }
	case *array.String:
		word = func(r int32) uint64 {
			var b [8]byte
			copy(b[:], a.Value(int(r)))
			return binary.BigEndian.Uint64(b[:])
		}
	default:
		return nil
	}
	null := uint64(0)
	if k.NullsLast {
		null = math.MaxUint64
	}
	return func(r int32) uint64 {
		switch {
		case a.IsNull(int(r)):
			return null
		case k.Desc:
			return ^word(r)
		}
		return word(r)
	}
}

// first returns those of rows that are the first n by keys, in no order. It may reorder rows.
func first(rec arrow.RecordBatch, keys []SortKey, rows []int32, n int) []int32 {
	compare := comparer(rec, keys)
	if n == 0 || n >= len(rows) {
		return rows[:min(n, len(rows))]
	}
	// A heap of the first n so far, the last of them on top.
	heap := rows[:n]
	down := func(i int) {
		for {
			c := 2*i + 1
			if c >= n {
				return
			}
			if c+1 < n && compare(heap[c+1], heap[c]) > 0 {
				c++
			}
			if compare(heap[c], heap[i]) <= 0 {
				return
			}
			heap[i], heap[c] = heap[c], heap[i]
			i = c
		}
	}
	for i := n/2 - 1; i >= 0; i-- {
		down(i)
	}
	for _, r := range rows[n:] {
		if compare(r, heap[0]) < 0 {
			heap[0] = r
			down(0)
		}
	}
	return heap
}

// rowStore holds copies of rows in the order of arrival.
type rowStore struct {
	env   *exec.Env
	parts []arrow.RecordBatch
	rows  int
	bytes int64
}

// add copies the selected rows of b, or those in rows.
func (s *rowStore) add(b *stream.Batch, rows []int32) error {
	if len(rows) == 0 {
		return nil
	}
	c := takeBatch(s.env.Allocator, *b, rows)
	return s.own(c.Record)
}

// own takes over a record.
func (s *rowStore) own(rec arrow.RecordBatch) error {
	n := recordBytes(rec)
	s.parts = append(s.parts, rec)
	s.rows += int(rec.NumRows())
	s.bytes += n
	return s.env.Bytes.Grow(n)
}

func recordBytes(rec arrow.RecordBatch) int64 {
	n := int64(0)
	for _, c := range rec.Columns() {
		n += dataBytes(c.Data())
	}
	return n
}

func dataBytes(d arrow.ArrayData) int64 {
	n := int64(0)
	for _, b := range d.Buffers() {
		if b != nil {
			n += int64(b.Cap())
		}
	}
	for _, c := range d.Children() {
		n += dataBytes(c)
	}
	return n
}

// one makes one record of all parts.
func (s *rowStore) one() (arrow.RecordBatch, error) {
	if len(s.parts) == 0 {
		return nil, nil
	}
	if len(s.parts) > 1 {
		schema := s.parts[0].Schema()
		cols := make([]arrow.Array, schema.NumFields())
		for c := range cols {
			arrs := make([]arrow.Array, len(s.parts))
			for i, p := range s.parts {
				arrs[i] = p.Column(c)
			}
			var err error
			if cols[c], err = array.Concatenate(arrs, s.env.Allocator); err != nil {
				releaseAll(cols[:c])
				return nil, fmt.Errorf("too many bytes in column %s to sort in memory: %w", schema.Field(c).Name, err)
			}
		}
		rows := s.rows
		s.clear()
		if err := s.own(newRecord(schema, cols, rows)); err != nil {
			return nil, err
		}
	}
	return s.parts[0], nil
}

func (s *rowStore) clear() {
	for _, p := range s.parts {
		p.Release()
	}
	if s.env != nil {
		_ = s.env.Bytes.Grow(-s.bytes)
	}
	s.parts, s.rows, s.bytes = nil, 0, 0
}

func (s *rowStore) snapshot(to exec.StateWriter) error {
	for _, p := range s.parts {
		if err := to.Table("rows", 0, p); err != nil {
			return err
		}
	}
	return nil
}

func (s *rowStore) restore(from exec.StateReader) error {
	if from == nil {
		return nil
	}
	for _, rec := range from.Table("rows") {
		if err := s.add(&stream.Batch{Record: rec}, upTo(int(rec.NumRows()))); err != nil {
			return err
		}
	}
	return nil
}

func upTo(n int) []int32 {
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

func selected(b *stream.Batch) []int32 {
	if b.Selection != nil {
		return b.Selection
	}
	return upTo(b.Len())
}

// Sort holds all rows of its bounded input and emits them in order at its end, NULL where the keys say, ties in the order of arrival. Rows that its input
// takes back vanish from it.
type Sort struct {
	exec.Base
	keys    []SortKey
	schema  *arrow.Schema
	retract bool
	store   rowStore
	back    []int32 // numbers of the rows that take others back
}

// NewSort returns the operator; schema is that of its rows. retract says that the input has -U or -D rows.
func NewSort(keys []SortKey, schema types.Schema, retract bool) *Sort {
	return &Sort{keys: keys, schema: schema.Arrow(), retract: retract}
}

// Open implements exec.Operator.
func (o *Sort) Open(_ context.Context, env *exec.Env, from exec.StateReader) error {
	o.store = rowStore{env: env}
	if err := o.store.restore(from); err != nil {
		return err
	}
	if from != nil {
		for _, rec := range from.Table("retractions") {
			o.back = append(o.back, values[int32](rec.Column(0))...)
		}
	}
	return nil
}

// ProcessBatch implements exec.Operator.
func (o *Sort) ProcessBatch(_ context.Context, _ int, b stream.Batch, _ exec.Output) error {
	defer b.Release()
	if !o.retract {
		if err := appendOnly(&b, "ORDER BY"); err != nil {
			return err
		}
	}
	rows := selected(&b)
	if b.Kinds != nil {
		for i, r := range rows {
			if b.Kinds[r].Retracts() {
				o.back = append(o.back, int32(o.store.rows+i))
			}
		}
	}
	return o.store.add(&b, rows)
}

// Finish implements exec.Operator.
func (o *Sort) Finish(_ context.Context, out exec.Output) error {
	rec, err := o.store.one()
	if err != nil || rec == nil {
		return err
	}
	rows, err := o.survivors(rec)
	if err != nil {
		return err
	}
	order(rec, o.keys, rows)
	return emitTaken(o.store.env, o.schema, rec, rows, out)
}

// survivors lists the rows that no later one takes back: each retraction removes the oldest row that equals it.
func (o *Sort) survivors(rec arrow.RecordBatch) ([]int32, error) {
	n := int(rec.NumRows())
	if len(o.back) == 0 {
		return upTo(n), nil
	}
	var kt []arrow.DataType
	for _, f := range rec.Schema().Fields() {
		kt = append(kt, f.Type)
	}
	table := state.NewTable(kt, o.store.env.Bytes)
	defer table.Close()
	ids := make([]int32, n)
	if err := table.Groups(rec.Columns(), nil, n, ids); err != nil {
		return nil, err
	}
	live := make([][]int32, table.Len())
	gone := make([]bool, n)
	back := o.back
	for r, id := range ids {
		if len(back) > 0 && back[0] == int32(r) {
			back = back[1:]
			gone[r] = true
			if l := live[id]; len(l) > 0 {
				gone[l[0]] = true
				live[id] = l[1:]
			} else {
				o.store.env.Metrics.Counter(exec.StrayRetracts).Add(1)
			}
			continue
		}
		live[id] = append(live[id], int32(r))
	}
	var rows []int32
	for r := range gone {
		if !gone[r] {
			rows = append(rows, int32(r))
		}
	}
	return rows, nil
}

// emitTaken emits rows of rec behind the end of input, a batch at a time.
func emitTaken(env *exec.Env, schema *arrow.Schema, rec arrow.RecordBatch, rows []int32, out exec.Output) error {
	limit := env.BatchRows
	if limit <= 0 {
		limit = 8192
	}
	for len(rows) > 0 {
		part := rows[:min(limit, len(rows))]
		rows = rows[len(part):]
		cols := make([]arrow.Array, rec.NumCols())
		for c := range cols {
			cols[c] = take(env.Allocator, rec.Column(c), part)
		}
		if err := out.Emit(stream.Batch{Record: newRecord(schema, cols, len(part)), Before: behindAll(len(part))}); err != nil {
			return err
		}
	}
	return nil
}

// behindAll is the Before of rows that the end of input has released: it has their place at a merge be the same whatever watermark was told last.
func behindAll(rows int) []stream.Time {
	out := make([]stream.Time, rows)
	for i := range out {
		out[i] = stream.MaxTime
	}
	return out
}

// Snapshot implements exec.Operator. Tables: rows in the order of arrival, retractions (numbers of the rows that take others back).
func (o *Sort) Snapshot(_ context.Context, to exec.StateWriter) error {
	if err := o.store.snapshot(to); err != nil || len(o.back) == 0 {
		return err
	}
	b := array.NewInt32Builder(o.store.env.Allocator)
	defer b.Release()
	b.AppendValues(o.back, nil)
	rec := newRecord(arrow.NewSchema([]arrow.Field{{Name: "row", Type: arrow.PrimitiveTypes.Int32}}, nil), []arrow.Array{b.NewArray()}, len(o.back))
	defer rec.Release()
	return to.Table("retractions", 0, rec)
}

// Close implements exec.Operator.
func (o *Sort) Close() error {
	o.store.clear()
	return nil
}
