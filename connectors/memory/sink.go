package memory

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Sink prepares writing.
func (t *table) Sink(w connectors.Write) (connectors.Sink, error) {
	if len(w.StaticPartition) > 0 {
		return nil, fmt.Errorf("a table in memory has no partitions")
	}
	if w.Overwrite {
		return nil, fmt.Errorf("INSERT OVERWRITE is not supported for a table in memory: drop it and create it anew")
	}
	return &sink{t: t}, nil
}

// sink collects an epoch in Go memory: rows of the table outlive the query and its allocator.
type sink struct {
	t       *table
	env     *connectors.Env
	number  int64
	current epoch
}

// Open commits what a checkpoint had prepared.
func (s *sink) Open(ctx context.Context, env *connectors.Env, restored [][]byte) error {
	s.env = env
	st := s.t.store
	st.mu.Lock()
	st.next++
	s.number = st.next
	st.mu.Unlock()
	for _, r := range restored {
		if err := s.Commit(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// Write copies the rows.
func (s *sink) Write(ctx context.Context, b stream.Batch) error {
	defer b.Release()
	rec, kinds := copyRows(b, s.t.schema)
	if rec != nil {
		s.current.batches = append(s.current.batches, stream.Batch{Record: rec, Kinds: kinds})
	}
	return nil
}

// copyRows copies the selected rows of a batch to Go memory.
func copyRows(b stream.Batch, schema types.Schema) (arrow.RecordBatch, []stream.RowKind) {
	n := b.Len()
	if n == 0 {
		return nil, nil
	}
	var kinds []stream.RowKind
	if b.Kinds != nil {
		kinds = make([]stream.RowKind, n)
		for i := range n {
			kinds[i] = b.Kinds[b.Row(i)]
		}
	}
	mem := memory.DefaultAllocator
	cols := make([]arrow.Array, b.Record.NumCols())
	for c := range cols {
		bld := types.NewBuilder(mem, schema[c].Type)
		bld.Reserve(n)
		for i := range n {
			types.AppendFrom(bld, b.Record.Column(c), b.Row(i))
		}
		cols[c] = bld.NewArray()
	}
	return array.NewRecordBatch(schema.Arrow(), cols, int64(n)), kinds
}

// Prepare puts the epoch aside under its receipt; nil when there is nothing in it.
func (s *sink) Prepare(ctx context.Context, number int64) ([]byte, error) {
	if len(s.current.batches) == 0 {
		return nil, nil
	}
	receipt := fmt.Appendf(nil, "1:%d:%d:%d", s.number, s.env.Partition, number)
	e := s.current
	s.current = epoch{}
	st := s.t.store
	st.mu.Lock()
	defer st.mu.Unlock()
	st.prepared[string(receipt)] = &e
	return receipt, nil
}

// Commit applies a prepared epoch; one that was applied before, or belongs to another process, is nothing.
func (s *sink) Commit(ctx context.Context, receipt []byte) error {
	st := s.t.store
	st.mu.Lock()
	e := st.prepared[string(receipt)]
	delete(st.prepared, string(receipt))
	st.mu.Unlock()
	if e != nil {
		if n := st.apply(e); n > 0 {
			s.env.Count("unmatched_retractions", n)
		}
	}
	return nil
}

// Close drops what was not prepared.
func (s *sink) Close() error {
	s.current = epoch{}
	return nil
}
