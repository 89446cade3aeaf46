package op

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// TopN is ORDER BY with LIMIT on bounded input: it holds the limit+offset first rows in order and emits those behind the offset at the end; ties in the
// order of arrival. Its input must not retract (a Sort and a Limit do that).
type TopN struct {
	exec.Base
	keys          []SortKey
	limit, offset int64
	schema        *arrow.Schema
	store         rowStore
}

// NewTopN returns the operator; schema is that of its rows.
func NewTopN(keys []SortKey, limit, offset int64, schema types.Schema) *TopN {
	return &TopN{keys: keys, limit: limit, offset: offset, schema: schema.Arrow()}
}

// Open implements exec.Operator.
func (o *TopN) Open(_ context.Context, env *exec.Env, from exec.StateReader) error {
	o.store = rowStore{env: env}
	return o.store.restore(from)
}

// ProcessBatch implements exec.Operator.
func (o *TopN) ProcessBatch(_ context.Context, _ int, b stream.Batch, _ exec.Output) error {
	defer b.Release()
	if err := appendOnly(&b, "ORDER BY with LIMIT"); err != nil {
		return err
	}
	keep := int(o.limit + o.offset)
	rows := selected(&b)
	if len(rows) > keep { // only the best of the batch can be among the best of all
		rows = first(b.Record, o.keys, append([]int32(nil), rows...), keep)
		slices.Sort(rows) // back into the order of arrival, which decides ties
	}
	if err := o.store.add(&b, rows); err != nil {
		return err
	}
	if o.store.rows < 2*keep+4096 {
		return nil
	}
	return o.cut(keep)
}

// cut drops all rows but the first keep in order.
func (o *TopN) cut(keep int) error {
	rec, err := o.store.one()
	if err != nil || rec == nil || int(rec.NumRows()) <= keep {
		return err
	}
	rows := first(rec, o.keys, upTo(int(rec.NumRows())), keep)
	slices.Sort(rows)
	best := takeBatch(o.store.env.Allocator, stream.Batch{Record: rec}, rows)
	o.store.clear()
	return o.store.own(best.Record)
}

// Finish implements exec.Operator.
func (o *TopN) Finish(_ context.Context, out exec.Output) error {
	rec, err := o.store.one()
	if err != nil || rec == nil {
		return err
	}
	rows := upTo(int(rec.NumRows()))
	order(rec, o.keys, rows)
	from := min(o.offset, int64(len(rows)))
	to := min(o.offset+o.limit, int64(len(rows)))
	return emitTaken(o.store.env, o.schema, rec, rows[from:to], out)
}

// Snapshot implements exec.Operator. Table rows: the candidates in the order of arrival.
func (o *TopN) Snapshot(_ context.Context, to exec.StateWriter) error {
	return o.store.snapshot(to)
}

// Close implements exec.Operator.
func (o *TopN) Close() error {
	o.store.clear()
	return nil
}
