package op

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/state"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// ChangelogNormalize turns upserts into a full changelog: it keeps the last row of each key. The first row of a key is +I, a later one -U and +U unless it
// is the same, a deletion is -D of the row as it was. A deletion needs only the key; one of a key that is not there is dropped, as Flink does. +I and +U of
// the input mean the same; -U, whose +U says it all, is skipped. With a TTL (see expiry) a row that its key had no word of for so long is forgotten.
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
	ttl        expiry
	charged    int64

	sel, keyIDs, rowIDs []int32
	gone                []replaced
	left                []int32 // keys that were deleted in this batch
}

// replaced is a row that was the one of its key before a row of this batch.
type replaced struct{ id, key int32 }

// NewChangelogNormalize returns the operator for an input of columns schema with the given key. Rows expire after ttl of processing time; 0 is never.
func NewChangelogNormalize(key []int, schema types.Schema, ttl time.Duration) *ChangelogNormalize {
	return &ChangelogNormalize{key: key, schema: schema, ttl: expiry{ttl: ttl.Microseconds()}}
}

// Open implements exec.Operator.
func (o *ChangelogNormalize) Open(_ context.Context, env *exec.Env, from exec.StateReader) error {
	o.env, o.out, o.ttl.env = env, o.schema.Arrow(), env
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
		cols := rec.Columns()[:len(o.order)]
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
		o.ttl.restore(rec, ids)
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
	o.ttl.grow(len(o.now))
}

func (o *ChangelogNormalize) charge() error {
	held := 4*int64(cap(o.now)) + 8*int64(cap(o.ttl.used))
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
	next, now := 0, o.ttl.now()
	for i, r := range all {
		k := o.keyIDs[i]
		old := o.now[k]
		if old >= 0 && o.ttl.expired(k, now) {
			o.gone = append(o.gone, replaced{old, k})
			o.now[k], old = -1, -1
		}
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
		case old == id && !o.ttl.on():
			continue
		case old < 0:
			emit(stream.Insert, id, r)
		default:
			emit(stream.UpdateBefore, old, r)
			emit(stream.UpdateAfter, id, r)
			o.gone = append(o.gone, replaced{old, k})
		}
		o.now[k] = id
		o.ttl.use(o.keyIDs[i:i+1], now)
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
	old, used := o.live(), o.ttl.used
	live := o.rowsOf(old)
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
	o.keys, o.rows, o.now, o.ttl.used = keys, rows, make([]int32, n), nil
	o.ttl.grow(n)
	for i, k := range ids {
		o.now[k] = rowIDs[i]
		if o.ttl.on() {
			o.ttl.used[k] = used[old[i]]
		}
	}
	return nil
}

// live lists the keys that have a row.
func (o *ChangelogNormalize) live() (keys []int32) {
	for k, id := range o.now {
		if id >= 0 {
			keys = append(keys, int32(k))
		}
	}
	return keys
}

func (o *ChangelogNormalize) rowsOf(keys []int32) []int32 {
	rows := make([]int32, len(keys))
	for i, k := range keys {
		rows[i] = o.now[k]
	}
	return rows
}

// ProcessTimer implements exec.Operator: it drops all rows that have expired.
func (o *ChangelogNormalize) ProcessTimer(_ context.Context, at time.Time, _ exec.Output) error {
	if !o.ttl.due(at) {
		return nil
	}
	now := o.ttl.now()
	_, gone := o.ttl.split(o.live(), now)
	for _, k := range gone {
		o.rows.Delete(o.now[k])
		o.keys.Delete(k)
		o.now[k] = -1
	}
	if err := o.compact(); err != nil {
		return err
	}
	o.ttl.again(o.live(), now)
	return o.charge()
}

// Snapshot implements exec.Operator: the rows, key first, and used_us where they expire.
func (o *ChangelogNormalize) Snapshot(_ context.Context, to exec.StateWriter) error {
	keys, _ := o.ttl.split(o.live(), o.ttl.now())
	if len(keys) == 0 {
		return nil
	}
	live := o.rowsOf(keys)
	fields := make([]arrow.Field, len(o.order))
	for i, c := range o.order {
		fields[i] = o.out.Field(c)
	}
	fields, cols := o.ttl.column(fields, o.rows.Keys(o.env.Allocator, live), keys)
	rec := newRecord(arrow.NewSchema(fields, nil), cols, len(live))
	defer rec.Release()
	return to.Table("rows", len(o.key), rec)
}

// Close implements exec.Operator.
func (o *ChangelogNormalize) Close() error {
	if o.keys != nil {
		o.keys.Close()
		o.rows.Close()
		o.keys, o.rows, o.now, o.ttl.used = nil, nil, nil, nil
		err := o.env.Bytes.Grow(-o.charged)
		o.charged = 0
		return err
	}
	return nil
}
