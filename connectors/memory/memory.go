// Package memory has the connector 'memory': tables whose rows live in the process. It is what a table without WITH gets.
//
// Source. Delivery: exactly once. Ordering: insertion order; a row that was updated keeps its place. A scan is bounded and sees the rows that were committed
// when it started. Replay: within the process, as long as the scan's job lives. Position: the number of the next row of the scan.
//
// Sink. Delivery: exactly once within the process; rows are visible from Commit on: when the job has ended, and behind each of its checkpoints.
// Ordering: as written. It takes every kind of change: with a PRIMARY KEY the last row of a key counts; without one an update or a delete takes out an equal
// row. A change of a row that is not there is counted as unmatched_retractions and takes out nothing.
package memory

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Connector makes tables in memory; each Connector has tables of its own.
type Connector struct {
	mu     sync.Mutex
	tables map[int64]*store
}

// New returns a connector without tables.
func New() *Connector { return &Connector{tables: map[int64]*store{}} }

// Name is memory.
func (c *Connector) Name() string { return "memory" }

// Forget gives up the rows of dropped tables.
func (c *Connector) Forget(ids []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		delete(c.tables, id)
	}
}

// Options is empty.
func (c *Connector) Options() []connectors.Option { return nil }

// Table returns the table of the declaration's ID; with another ID, or with none, an empty one.
func (c *Connector) Table(ctx context.Context, decl connectors.Declaration) (connectors.Table, error) {
	if err := connectors.CheckOptions("connector 'memory'", decl.Options); err != nil {
		return nil, err
	}
	if len(decl.Columns) == 0 {
		return nil, fmt.Errorf("table %s: a table in memory needs columns", decl.Name)
	}
	if len(decl.Metadata) > 0 {
		return nil, fmt.Errorf("table %s: connector 'memory' has no metadata columns", decl.Name)
	}
	t := &table{c: c, id: decl.ID, schema: decl.Columns, key: decl.PrimaryKey}
	if decl.ID == 0 {
		t.store = newStore(decl.Columns, decl.PrimaryKey)
		return t, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.store = c.tables[decl.ID]; t.store == nil || !sameColumns(t.store.schema, decl.Columns) {
		t.store = newStore(decl.Columns, decl.PrimaryKey)
		c.tables[decl.ID] = t.store
	}
	return t, nil
}

func sameColumns(a, b types.Schema) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || !a[i].Type.Equal(b[i].Type) {
			return false
		}
	}
	return true
}

type table struct {
	c      *Connector
	id     int64
	schema types.Schema
	key    []int
	store  *store
}

func (t *table) Schema() types.Schema         { return t.schema }
func (t *table) MetadataKeys() types.Schema   { return nil }
func (t *table) MetadataWritable(string) bool { return false }
func (t *table) Bounded() bool                { return true }
func (t *table) ChangelogKinds() string       { return "I" }
func (t *table) AcceptsKinds() string         { return "all" }
func (t *table) SuppliesWatermarks() bool     { return false }

// RowEstimate is exact.
func (t *table) RowEstimate() int64 {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	return int64(t.store.live)
}

// Drop forgets the rows.
func (t *table) Drop() {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	delete(t.c.tables, t.id)
}

// ref names a row of a store: a row of a chunk, or none.
type ref struct{ chunk, row int32 }

var gone = ref{-1, -1}

// store holds the rows of a table. Chunks are never changed, so scans share them.
type store struct {
	schema types.Schema
	key    []int // columns by which rows are found: the primary key, or all
	upsert bool

	mu       sync.Mutex
	chunks   []arrow.RecordBatch // in Go memory
	order    []ref               // in order of insertion; gone where a row was deleted
	live     int
	index    map[string][]int // positions in order of the rows with a key; nil until it is needed
	indexed  int              // how much of order is in index
	prepared map[string]*epoch
	next     int64 // number of the next sink
}

func newStore(schema types.Schema, key []int) *store {
	s := &store{schema: schema, key: key, upsert: len(key) > 0, prepared: map[string]*epoch{}}
	if !s.upsert {
		for i := range schema {
			s.key = append(s.key, i)
		}
	}
	return s
}

// epoch is what a sink has written and not committed.
type epoch struct {
	batches []stream.Batch // records in Go memory
}

// rowKey encodes the key columns of a row; equal rows have equal keys.
func (s *store) rowKey(dst []byte, rec arrow.RecordBatch, row int) []byte {
	for _, c := range s.key {
		col := rec.Column(c)
		if col.IsNull(row) {
			dst = append(dst, 0)
			continue
		}
		dst = append(dst, 1)
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		dst = types.AppendDisplay(dst, col, row, s.schema[c].Type, time.UTC)
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst
}

// apply makes an epoch's changes. It returns the number of changes of rows that are not there.
func (s *store) apply(e *epoch) (unmatched int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hole := -1 // where a -U took a row out
	var key []byte
	for _, b := range e.batches {
		chunk := int32(len(s.chunks))
		s.chunks = append(s.chunks, b.Record)
		if b.Kinds == nil && !s.upsert {
			for r := range int(b.Record.NumRows()) {
				s.order = append(s.order, ref{chunk, int32(r)})
			}
			s.live += int(b.Record.NumRows())
			continue
		}
		s.buildIndex()
		for r := range int(b.Record.NumRows()) {
			key = s.rowKey(key[:0], b.Record, r)
			at := s.index[string(key)]
			here := ref{chunk, int32(r)}
			switch kind := b.Kind(r); {
			case kind.Retracts() && kind == stream.UpdateBefore && s.upsert:
				// The +U that follows replaces the row.
			case kind.Retracts():
				if len(at) == 0 {
					unmatched++
					continue
				}
				i := at[len(at)-1]
				s.order[i] = gone
				s.live--
				if len(at) == 1 {
					delete(s.index, string(key))
				} else {
					s.index[string(key)] = at[:len(at)-1]
				}
				if kind == stream.UpdateBefore {
					hole = i
				}
			case s.upsert && len(at) > 0:
				s.order[at[0]] = here
			case kind == stream.UpdateAfter && hole >= 0:
				s.order[hole] = here
				s.index[string(key)] = append(at, hole)
				s.live++
				hole = -1
			default:
				s.index[string(key)] = append(at, len(s.order))
				s.order = append(s.order, here)
				s.live++
			}
		}
		s.indexed = len(s.order)
	}
	return unmatched
}

// buildIndex brings the index up to date with order.
func (s *store) buildIndex() {
	if s.index == nil {
		s.index = map[string][]int{}
	}
	var key []byte
	for ; s.indexed < len(s.order); s.indexed++ {
		if r := s.order[s.indexed]; r != gone {
			key = s.rowKey(key[:0], s.chunks[r.chunk], int(r.row))
			s.index[string(key)] = append(s.index[string(key)], s.indexed)
		}
	}
}

// Source prepares a scan.
func (t *table) Source(scan connectors.Scan) (connectors.Source, error) {
	if len(scan.Metadata) > 0 {
		return nil, fmt.Errorf("connector 'memory' has no metadata")
	}
	s := &source{t: t, scan: scan}
	var out types.Schema
	for _, c := range scan.Columns {
		out = append(out, t.schema[c])
	}
	s.out, s.schema = out, out.Arrow()
	return s, nil
}

// source is a scan; the first call of Splits fixes the rows that it sees.
type source struct {
	t      *table
	scan   connectors.Scan
	out    types.Schema
	schema *arrow.Schema

	once   sync.Once
	chunks []arrow.RecordBatch
	rows   []ref
}

func (s *source) snapshot() {
	s.once.Do(func() {
		st := s.t.store
		st.mu.Lock()
		defer st.mu.Unlock()
		s.chunks = st.chunks[:len(st.chunks):len(st.chunks)]
		s.rows = make([]ref, 0, st.live)
		for _, r := range st.order {
			if r != gone {
				s.rows = append(s.rows, r)
			}
		}
	})
}

func (s *source) Splits(ctx context.Context, env *connectors.Env) ([]connectors.Split, error) {
	s.snapshot()
	return []connectors.Split{{ID: "memory", Bounded: true, Bytes: int64(len(s.rows)) * 32}}, nil
}

func (s *source) Changed() <-chan struct{} { return nil }
func (s *source) Close() error             { return nil }

func (s *source) Open(ctx context.Context, env *connectors.Env, split connectors.Split, from connectors.Position, blockBytes int) (connectors.Reader, error) {
	s.snapshot()
	r := &reader{s: s, most: max(env.BatchRows, 1)}
	if from != nil {
		v, n := binary.Uvarint(from[1:])
		if from[0] != 1 || n <= 0 || int(v) > len(s.rows) {
			return nil, fmt.Errorf("the position in the checkpoint is not one of this scan in memory")
		}
		r.next = int(v)
	}
	return r, nil
}

type reader struct {
	s    *source
	next int
	most int
}

func (r *reader) Ready() <-chan struct{} { return nil }
func (r *reader) Close() error           { return nil }

// Next returns the next rows: a slice of a chunk where they lie in a row, otherwise a copy.
func (r *reader) Next(ctx context.Context) (connectors.Block, error) {
	s := r.s
	from := r.next
	if from >= len(s.rows) {
		return connectors.Block{}, connectors.EOF
	}
	to := min(from+r.most, len(s.rows))
	first := s.rows[from]
	run := from + 1
	for run < to && s.rows[run] == (ref{first.chunk, first.row + int32(run-from)}) {
		run++
	}
	sliced := run-from >= 32 || run == to
	if sliced {
		to = run
	} else { // up to where a long run begins
		for run = from + 1; run < to; run++ {
			f := s.rows[run]
			n := run + 1
			for n < len(s.rows) && n-run < 32 && s.rows[n] == (ref{f.chunk, f.row + int32(n-run)}) {
				n++
			}
			if n-run >= 32 {
				to = run
			}
		}
	}
	r.next = to
	return connectors.Block{
		Position:  binary.AppendUvarint([]byte{1}, uint64(to)),
		Bytes:     int64(to-from) * 32,
		Watermark: stream.MinTime,
		Decode: func(ctx context.Context, mem memory.Allocator) (connectors.Decoded, error) {
			var rec arrow.RecordBatch
			if sliced {
				rec = s.slice(first, to-from)
			} else {
				rec = s.gather(mem, s.rows[from:to])
			}
			return connectors.Decoded{Batch: stream.Batch{Record: rec}}, nil
		},
	}, nil
}

func (s *source) slice(first ref, n int) arrow.RecordBatch {
	chunk := s.chunks[first.chunk]
	cols := make([]arrow.Array, len(s.scan.Columns))
	for i, c := range s.scan.Columns {
		cols[i] = array.NewSlice(chunk.Column(c), int64(first.row), int64(first.row)+int64(n))
	}
	rec := array.NewRecordBatch(s.schema, cols, int64(n))
	for _, c := range cols {
		c.Release()
	}
	return rec
}

func (s *source) gather(mem memory.Allocator, rows []ref) arrow.RecordBatch {
	cols := make([]arrow.Array, len(s.scan.Columns))
	for i, c := range s.scan.Columns {
		b := types.NewBuilder(mem, s.out[i].Type)
		b.Reserve(len(rows))
		for _, r := range rows {
			types.AppendFrom(b, s.chunks[r.chunk].Column(c), int(r.row))
		}
		cols[i] = b.NewArray()
		b.Release()
	}
	rec := array.NewRecordBatch(s.schema, cols, int64(len(rows)))
	for _, c := range cols {
		c.Release()
	}
	return rec
}
