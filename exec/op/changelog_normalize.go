package op

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/state"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// ChangelogNormalize turns upserts into a full changelog: it keeps the last row of each key. The first row of a key is +I, a later one -U and +U unless it
// is the same, a deletion is -D of the row as it was. A deletion needs only the key; one of a key that is not there is dropped, as Flink does. +I and +U of
// the input mean the same; -U, whose +U says it all, is skipped.
type ChangelogNormalize struct {
	exec.Base
	key    []int // columns of the input
	schema types.Schema

	env   *exec.Env
	out   *arrow.Schema
	order []int // columns of the state: those of the key, then the others
	place []int // where a column of the output is in the state
	// keys has the keys, rows the rows: whole rows as keys of a table, so that equal rows have one id. now has the row of each key, -1 for none.
	keys, rows *state.Table
	now        []int32
	charged    int64

	sel, keyIDs, rowIDs []int32
	gone                []replaced
	left                []int32 // keys that were deleted in this batch
}

// replaced is a row that was the one of its key before a row of this batch.
type replaced struct{ id, key int32 }

// NewChangelogNormalize returns the operator for an input of columns schema with the given key.
func NewChangelogNormalize(key []int, schema types.Schema) *ChangelogNormalize {
	return &ChangelogNormalize{key: key, schema: schema}
}

// Open implements exec.Operator.
func (o *ChangelogNormalize) Open(_ context.Context, env *exec.Env, from exec.StateReader) error {
	o.env, o.out = env, o.schema.Arrow()
	o.order = append([]int{}, o.key...)
	isKey := map[int]bool{}
	for _, k := range o.key {
		isKey[k] = true
	}
	for c := range o.schema {
		if !isKey[c] {
			o.order = append(o.order, c)
		}
	}
	o.place = make([]int, len(o.schema))
	for i, c := range o.order {
		o.place[c] = i
	}
	o.keys, o.rows = o.tables()
	if from == nil {
		return nil
	}
	for _, rec := range from.Table("rows") {
		cols := rec.Columns()
		n := int(rec.NumRows())
		ids := make([]int32, n)
		if err := o.keys.Groups(cols[:len(o.key)], nil, n, ids); err != nil {
			return err
		}
		rows := make([]int32, n)
		if err := o.rows.Groups(cols, nil, n, rows); err != nil {
			return err
		}
		o.grow()
		for i, k := range ids {
			o.now[k] = rows[i]
		}
	}
	return o.charge()
}

func (o *ChangelogNormalize) tables() (keys, rows *state.Table) {
	var dts []arrow.DataType
	for _, c := range o.order {
		dts = append(dts, o.out.Field(c).Type)
	}
	return state.NewTable(dts[:len(o.key)], o.env.Bytes), state.NewTable(dts, o.env.Bytes)
}

func (o *ChangelogNormalize) grow() {
	for len(o.now) < o.keys.Len() {
		o.now = append(o.now, -1)
	}
}

func (o *ChangelogNormalize) charge() error {
	held := 4 * int64(cap(o.now))
	grow := held - o.charged
	o.charged = held
	return o.env.Bytes.Grow(grow)
}

// ProcessBatch implements exec.Operator.
func (o *ChangelogNormalize) ProcessBatch(_ context.Context, _ int, b stream.Batch, out exec.Output) error {
	defer b.Release()
	cols := make([]arrow.Array, len(o.order))
	for i, c := range o.order {
		cols[i] = b.Record.Column(c)
	}
	all, set := o.sel[:0], []int32(nil) // rows that say something, and those of them that are no deletions
	for i := range b.Len() {
		r := int32(b.Row(i))
		switch b.Kind(int(r)) {
		case stream.UpdateBefore:
			continue
		case stream.Delete:
		default:
			set = append(set, r)
		}
		all = append(all, r)
	}
	o.sel = all
	o.keyIDs, o.rowIDs = grown(o.keyIDs, len(all)), grown(o.rowIDs, len(set))
	if err := o.keys.Groups(cols[:len(o.key)], all, len(all), o.keyIDs); err != nil {
		return err
	}
	if err := o.rows.Groups(cols, set, len(set), o.rowIDs); err != nil {
		return err
	}
	o.grow()
	var ids, from []int32 // rows of the output, and the rows of the input that made them
	var kinds []stream.RowKind
	emit := func(kind stream.RowKind, id, r int32) {
		ids, from, kinds = append(ids, id), append(from, r), append(kinds, kind)
	}
	next := 0
	for i, r := range all {
		k := o.keyIDs[i]
		old := o.now[k]
		if b.Kind(int(r)) == stream.Delete {
			if old >= 0 {
				emit(stream.Delete, old, r)
				o.gone = append(o.gone, replaced{old, k})
				o.now[k] = -1
			}
			o.left = append(o.left, k)
			continue
		}
		id := o.rowIDs[next]
		next++
		switch {
		case old == id:
			continue
		case old < 0:
			emit(stream.Insert, id, r)
		default:
			emit(stream.UpdateBefore, old, r)
			emit(stream.UpdateAfter, id, r)
			o.gone = append(o.gone, replaced{old, k})
		}
		o.now[k] = id
	}
	result := stream.Batch{Kinds: kinds, Before: takeSide(b.Before, from), Seq: takeSide(b.Seq, from)}
	if len(ids) > 0 {
		have := o.rows.Keys(o.env.Allocator, ids)
		place := make([]arrow.Array, len(have))
		for c, at := range o.place {
			place[c] = have[at]
		}
		result.Record = newRecord(o.out, place, len(ids))
	}
	o.forget()
	if err := o.compact(); err != nil {
		result.Release()
		return err
	}
	if err := o.charge(); err != nil {
		result.Release()
		return err
	}
	if result.Record == nil {
		return nil
	}
	return emitRows(o.env, result, out)
}

// forget deletes the rows and keys that this batch has left behind. A row may have come back, and so may a key.
func (o *ChangelogNormalize) forget() {
	for _, g := range o.gone {
		if o.now[g.key] != g.id {
			o.rows.Delete(g.id)
		}
	}
	for _, k := range o.left {
		if o.now[k] < 0 {
			o.keys.Delete(k)
		}
	}
	o.gone, o.left = o.gone[:0], o.left[:0]
}

const compactAbove = 1024

// compact makes the tables anew when most of what they hold is deleted. Keys stay in the order in which they came.
func (o *ChangelogNormalize) compact() error {
	if o.rows.Len() < compactAbove+2*o.rows.Live() && o.keys.Len() < compactAbove+2*o.keys.Live() {
		return nil
	}
	var live []int32
	for _, id := range o.now {
		if id >= 0 {
			live = append(live, id)
		}
	}
	cols := o.rows.Keys(o.env.Allocator, live)
	defer releaseAll(cols)
	keys, rows := o.tables()
	n := len(live)
	ids, rowIDs := make([]int32, n), make([]int32, n)
	if err := keys.Groups(cols[:len(o.key)], nil, n, ids); err != nil {
		return err
	}
	if err := rows.Groups(cols, nil, n, rowIDs); err != nil {
		return err
	}
	o.keys.Close()
	o.rows.Close()
	o.keys, o.rows, o.now = keys, rows, make([]int32, n)
	for i, k := range ids {
		o.now[k] = rowIDs[i]
	}
	return nil
}

// Snapshot implements exec.Operator: the rows, key first.
func (o *ChangelogNormalize) Snapshot(_ context.Context, to exec.StateWriter) error {
	var live []int32
	for _, id := range o.now {
		if id >= 0 {
			live = append(live, id)
		}
	}
	if len(live) == 0 {
		return nil
	}
	fields := make([]arrow.Field, len(o.order))
	for i, c := range o.order {
		fields[i] = o.out.Field(c)
	}
	rec := newRecord(arrow.NewSchema(fields, nil), o.rows.Keys(o.env.Allocator, live), len(live))
	defer rec.Release()
	return to.Table("rows", len(o.key), rec)
}

// Close implements exec.Operator.
func (o *ChangelogNormalize) Close() error {
	if o.keys != nil {
		o.keys.Close()
		o.rows.Close()
		o.keys, o.rows, o.now = nil, nil, nil
		err := o.env.Bytes.Grow(-o.charged)
		o.charged = 0
		return err
	}
	return nil
}
