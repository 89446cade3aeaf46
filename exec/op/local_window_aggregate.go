package op

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/state"
	"github.com/weir-sql/weir/exec/stream"
)

// LocalWindowAggregate is the first phase of a window aggregate: it turns each batch into one partial row for each group and slice, and keeps nothing
// from batch to batch, so that several workers can run it. Late rows are judged here, by Before. A partial row has the key columns, slice_end and
// first_end (wall clock microseconds: the slice, and the first window that takes the rows), and the state columns of the calls; partial rows come in the
// order of their groups' first rows, and have Seq and Before of the first row. Only for calls that CanSplitPhases allows.
type LocalWindowAggregate struct {
	exec.Base
	cfg    WindowAggregateConfig // Properties, Schema and Exact are not used
	env    *exec.Env
	w      *windows
	split  splitter
	keys   *state.Table // keys of a batch that has one spot
	mixed  *state.Table // spot, keys of other batches
	aggs   *aggSet
	schema *arrow.Schema

	ids, rows, picked []int32
	words             []int64

	charged int64
}

// NewLocalWindowAggregate returns the operator. Its rowtime column must be there: windows of processing time have one phase.
func NewLocalWindowAggregate(cfg WindowAggregateConfig) *LocalWindowAggregate {
	return &LocalWindowAggregate{cfg: cfg}
}

// Open implements exec.Operator.
func (o *LocalWindowAggregate) Open(_ context.Context, env *exec.Env, _ exec.StateReader) error {
	o.env, o.w = env, newWindows(o.cfg.Window, env.Zone)
	o.split = splitter{w: o.w}
	var err error
	if o.aggs, err = newAggSet(o.cfg.Aggregates, o.cfg.Retract, env.Bytes); err != nil {
		return err
	}
	var kt []arrow.DataType
	for _, t := range o.cfg.KeyTypes {
		kt = append(kt, t.Arrow())
	}
	o.keys = state.NewTable(kt, env.Bytes)
	o.mixed = state.NewTable(append([]arrow.DataType{wordType}, kt...), env.Bytes)
	o.schema = partialSchema(kt, o.aggs)
	return nil
}

func partialSchema(keys []arrow.DataType, aggs *aggSet) *arrow.Schema {
	return arrow.NewSchema(append(append(keyFields(keys), wordFields("slice_end", "first_end")...), stateFields(aggs.stateTypes())...), nil)
}

// ProcessBatch implements exec.Operator.
func (o *LocalWindowAggregate) ProcessBatch(_ context.Context, _ int, b stream.Batch, out exec.Output) error {
	defer b.Release()
	ts := b.Record.Column(o.cfg.TimeColumn)
	o.split.setsOf(&b, o.cfg.SetColumn)
	if err := o.split.split(&b, ts, stream.MinTime); err != nil {
		return err
	}
	if err := o.split.count(o.env, &b, ts, out); err != nil {
		return err
	}
	if len(o.split.spots) == 0 {
		return nil
	}
	var few [8]arrow.Array
	cols := few[:0]
	table := o.keys
	rows := o.split.lists[0]
	n := len(rows)
	if rows == nil {
		n = int(b.Record.NumRows())
	}
	if len(o.split.spots) > 1 {
		table = o.mixed
		rows = o.spread(int(b.Record.NumRows()))
		n = len(rows)
		cols = append(cols, wordColumn(o.words))
	}
	for _, k := range o.cfg.Keys {
		cols = append(cols, b.Record.Column(k))
	}
	table.Reset()
	o.aggs.reset()
	o.ids = grown(o.ids, n)
	if err := table.Groups(cols, rows, n, o.ids); err != nil {
		return err
	}
	groups := table.Len()
	o.aggs.resize(groups)
	o.aggs.oneGroup = groups == 1
	if err := o.aggs.update(o.ids, rows, b.Record, b.Kinds); err != nil {
		return err
	}
	if err := o.charge(); err != nil {
		return err
	}
	return out.Emit(o.partials(&b, table, rows, groups))
}

// spread writes the spot of each row to words and returns the rows that have one, ascending.
func (o *LocalWindowAggregate) spread(n int) []int32 {
	o.words = grown(o.words, n)
	for i := range o.words {
		o.words[i] = -1
	}
	total := 0
	for k, l := range o.split.lists {
		total += len(l)
		for _, r := range l {
			o.words[r] = int64(k)
		}
	}
	if total == n {
		return iota32(&o.rows, n)
	}
	rows := o.picked[:0]
	for r, k := range o.words {
		if k >= 0 {
			rows = append(rows, int32(r))
		}
	}
	o.picked = rows
	return rows
}

// partials makes the batch of partial rows.
func (o *LocalWindowAggregate) partials(b *stream.Batch, table *state.Table, rows []int32, n int) stream.Batch {
	mem := o.env.Allocator
	cols := table.Keys(mem, nil)
	end, first := array.NewInt64Builder(mem), array.NewInt64Builder(mem)
	defer end.Release()
	defer first.Release()
	end.Reserve(n)
	first.Reserve(n)
	if table == o.mixed {
		for _, k := range values[int64](cols[0])[:n] {
			end.UnsafeAppend(o.split.spots[k].end)
			first.UnsafeAppend(o.split.spots[k].first)
		}
		cols[0].Release()
		cols = cols[1:]
	} else {
		for range n {
			end.UnsafeAppend(o.split.spots[0].end)
			first.UnsafeAppend(o.split.spots[0].first)
		}
	}
	cols = append(cols, end.NewArray(), first.NewArray())
	cols = append(cols, o.aggs.state(mem, nil)...)
	p := stream.Batch{Record: newRecord(o.schema, cols, n)}
	if b.Seq != nil {
		first := make([]int32, 0, n) // row of each group
		for i, id := range o.ids {
			if int(id) == len(first) {
				r := int32(i)
				if rows != nil {
					r = rows[i]
				}
				first = append(first, r)
			}
		}
		p.Seq, p.Before = takeSide(b.Seq, first), takeSide(b.Before, first)
	}
	return p
}

func (o *LocalWindowAggregate) charge() error {
	n := o.aggs.bytes() + int64(cap(o.ids)+cap(o.rows)+cap(o.picked))*4 + int64(cap(o.words))*8
	d := n - o.charged
	o.charged = n
	if d == 0 {
		return nil
	}
	return o.env.Bytes.Grow(d)
}

// Close implements exec.Operator.
func (o *LocalWindowAggregate) Close() error {
	if o.aggs != nil {
		o.aggs.close()
		o.keys.Close()
		o.mixed.Close()
		_ = o.env.Bytes.Grow(-o.charged)
		o.charged = 0
	}
	return nil
}
