package op

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// flush emits the changes of a batch. Updates that leave the result as it is are left out.
func (o *GroupAggregate) flush(b *stream.Batch, out exec.Output) error {
	vals := make([]arrow.Array, len(o.values))
	for i, v := range o.values {
		vals[i] = v.NewArray()
	}
	defer releaseAll(vals)
	o.n = 0
	if len(o.changes) == 0 {
		return nil
	}
	same := make([]func(i, j int) bool, len(vals))
	for i, v := range vals {
		same[i] = sameIn(v, o.cfg.Aggregates[i].Spec.Result)
	}
	var kinds []stream.RowKind
	var groups, places, rows []int32
	put := func(k stream.RowKind, c *change, place int32) {
		kinds, groups, places, rows = append(kinds, k), append(groups, c.group), append(places, place), append(rows, c.row)
	}
	plain := true
	for i := range o.changes {
		c := &o.changes[i]
		switch {
		case c.old < 0:
			put(stream.Insert, c, c.now)
			continue
		case c.now < 0:
			put(stream.Delete, c, c.old)
		default:
			changed := o.ttl.on() // then what stays as it is is said too, as in Flink: it keeps the state of operators behind alive
			for _, f := range same {
				changed = changed || !f(int(c.old), int(c.now))
			}
			if !changed {
				continue
			}
			if o.cfg.UpdateBefore {
				put(stream.UpdateBefore, c, c.old)
			}
			put(stream.UpdateAfter, c, c.now)
		}
		plain = false
	}
	o.changes = o.changes[:0]
	if len(kinds) == 0 {
		return nil
	}
	if plain {
		kinds = nil
	}
	mem := o.env.Allocator
	cols := o.table.Keys(mem, groups)
	for _, v := range vals {
		cols = append(cols, take(mem, v, places))
	}
	return emitRows(o.env, stream.Batch{Record: newRecord(o.schema, cols, len(groups)), Kinds: kinds,
		Before: takeSide(b.Before, rows), Seq: takeSeq(b.Seq, rows)}, out)
}

// sameIn compares two values of a column: NULL is NULL, a NaN has not changed, -0.0 is another value than 0.0.
func sameIn(a arrow.Array, t types.Type) func(i, j int) bool { return sameBetween(a, a, t) }

// sameBetween compares element i of a with element j of b, as sameIn does; both are of type t.
func sameBetween(a, b arrow.Array, t types.Type) func(i, j int) bool {
	var same func(i, j int) bool
	switch a := a.(type) {
	case *array.Int64:
		b := b.(*array.Int64)
		same = func(i, j int) bool { return a.Value(i) == b.Value(j) }
	case *array.Int32:
		b := b.(*array.Int32)
		same = func(i, j int) bool { return a.Value(i) == b.Value(j) }
	case *array.Float64:
		b := b.(*array.Float64)
		same = func(i, j int) bool { return sameFloat(a.Value(i), b.Value(j)) }
	case *array.Float32:
		b := b.(*array.Float32)
		same = func(i, j int) bool { return sameFloat(float64(a.Value(i)), float64(b.Value(j))) }
	case *array.String:
		b := b.(*array.String)
		same = func(i, j int) bool { return a.Value(i) == b.Value(j) }
	default:
		same = func(i, j int) bool { return types.Compare(types.Get(a, i, t), types.Get(b, j, t)) == 0 }
	}
	return func(i, j int) bool {
		if n := a.IsNull(i); n || b.IsNull(j) {
			return n == b.IsNull(j)
		}
		return same(i, j)
	}
}

func sameFloat(a, b float64) bool {
	return a != a && b != b || math.Float64bits(a) == math.Float64bits(b)
}

// Finish implements exec.Operator: in Final mode this is where the result comes out.
func (o *GroupAggregate) Finish(_ context.Context, out exec.Output) error {
	groups := o.live()
	if !o.cfg.Final && (!o.cfg.EmitEmpty || len(groups) > 0) {
		return nil
	}
	if len(groups) == 0 && len(o.cfg.Keys) == 0 && o.cfg.EmitEmpty {
		// The one row of a global aggregate over nothing.
		o.table.Close()
		o.aggs.close()
		if err := o.fresh(); err != nil {
			return err
		}
		o.aggs.resize(1)
		groups = []int32{0}
	}
	mem := o.env.Allocator
	limit := o.env.BatchRows
	if limit <= 0 {
		limit = 8192
	}
	if each := o.aggs.bytes() / int64(max(1, len(groups))); each > 0 { // long lists: fewer of them in a batch
		limit = max(1, min(limit, int(mostText/each)))
	}
	for len(groups) > 0 {
		part := groups[:min(limit, len(groups))]
		groups = groups[len(part):]
		cols := o.table.Keys(mem, part)
		res, err := o.aggs.results(mem, part)
		if err != nil {
			releaseAll(cols)
			return err
		}
		b := stream.Batch{Record: newRecord(o.schema, append(cols, res...), len(part)), Before: behindAll(len(part))}
		if len(o.born) > 0 && o.env.Partitions > 1 { // of several copies, whose results are put in order behind
			b.Seq = make([]int64, len(part))
			for i, g := range part {
				b.Seq[i] = o.born[g]
			}
		}
		if err := out.Emit(b); err != nil {
			return err
		}
	}
	return nil
}

// live lists the groups that have rows, in the order in which they came.
func (o *GroupAggregate) live() []int32 {
	var groups []int32
	for g := range o.table.Len() {
		if o.table.IsLive(int32(g)) {
			groups = append(groups, int32(g))
		}
	}
	return groups
}

// compact builds the state anew when most of it is holes that deleted groups have left.
func (o *GroupAggregate) compact() error {
	if holes := o.table.Len() - o.table.Live(); holes < 1024 || holes < o.table.Live() {
		return nil
	}
	groups := o.live()
	table, aggs, count, born, used := o.table, o.aggs, o.count, o.born, o.ttl.used
	if err := o.fresh(); err != nil {
		return err
	}
	defer func() { table.Close(); aggs.close() }()
	keys := table.Keys(o.env.Allocator, groups)
	defer releaseAll(keys)
	ids := make([]int32, len(groups))
	if err := o.table.Groups(keys, nil, len(groups), ids); err != nil {
		return err
	}
	o.last = o.last[:0]
	o.grow()
	for i, g := range groups {
		o.count[ids[i]] = count[g]
		if o.ttl.on() {
			o.ttl.used[ids[i]] = used[g]
		}
		if len(born) > 0 {
			o.born = append(o.born, born[g]) // ids are 0, 1, 2, ...
		}
	}
	return o.aggs.mergeFrom(aggs, groups, ids)
}

// Snapshot implements exec.Operator. Tables: groups (keys, row_count, born, state and, with a TTL, used_us), distinct<i> (keys, arguments, count).
func (o *GroupAggregate) Snapshot(_ context.Context, to exec.StateWriter) error {
	groups, _ := o.ttl.split(o.live(), o.ttl.now())
	if len(groups) == 0 {
		return nil
	}
	mem, k := o.env.Allocator, len(o.cfg.Keys)
	kept := make([]bool, o.table.Len())
	for _, g := range groups {
		kept[g] = true
	}
	fs := append(append(keyFields(o.keyArrow()), wordFields("row_count", "born")...), stateFields(o.aggs.stateTypes())...)
	cols := append(o.table.Keys(mem, groups), words(mem, len(groups), func(i int) int64 { return o.count[groups[i]] }), words(mem, len(groups), func(i int) int64 {
		if len(o.born) == 0 {
			return int64(i) * stream.SeqStep // below stream.SeqBase
		}
		return o.born[groups[i]]
	}))
	cols = append(cols, o.aggs.state(mem, groups)...)
	fs, cols = o.ttl.column(fs, cols, groups)
	rec := newRecord(arrow.NewSchema(fs, nil), cols, len(groups))
	err := to.Table("groups", k, rec)
	rec.Release()
	for i, d := range o.aggs.distinct {
		if d == nil || err != nil {
			continue
		}
		tuples, counts := d.tuples(mem)
		var of, rows []int32
		for j, g := range values[int64](tuples[0]) {
			if kept[g] {
				of, rows = append(of, int32(g)), append(rows, int32(j))
			}
		}
		fs := keyFields(o.keyArrow())
		cols := o.table.Keys(mem, of)
		for j, c := range tuples[1:] {
			fs = append(fs, arrow.Field{Name: fmt.Sprintf("arg%d", j), Type: c.DataType(), Nullable: true})
			cols = append(cols, take(mem, c, rows))
		}
		releaseAll(tuples)
		cols = append(cols, words(mem, len(rows), func(j int) int64 { return counts[rows[j]] }))
		rec := newRecord(arrow.NewSchema(append(fs, wordFields("count")...), nil), cols, len(rows))
		err = to.Table(fmt.Sprintf("distinct%d", i), k, rec)
		rec.Release()
	}
	return err
}

// restoreOrder gives groups their ids in the order in which they first came, where results come out in that order: other copies may have held them before.
func (o *GroupAggregate) restoreOrder(recs []arrow.RecordBatch, k int) error {
	if !o.cfg.Final || k == 0 {
		return nil
	}
	type place struct {
		born int64
		rec  arrow.RecordBatch
		row  int32
	}
	var all []place
	for _, rec := range recs {
		for i, n := range values[int64](rec.Column(k + 1)) {
			all = append(all, place{n, rec, int32(i)})
		}
	}
	born := func(a, b place) int { return cmp.Compare(a.born, b.born) }
	if slices.IsSortedFunc(all, born) {
		return nil
	}
	slices.SortStableFunc(all, born)
	var id [1]int32
	for _, p := range all {
		if err := o.table.Groups(p.rec.Columns()[:k], []int32{p.row}, 1, id[:]); err != nil {
			return err
		}
	}
	return nil
}

func (o *GroupAggregate) restore(from exec.StateReader) error {
	k := len(o.cfg.Keys)
	find := func(rec arrow.RecordBatch) ([]int32, error) {
		ids := make([]int32, rec.NumRows())
		if err := o.table.Groups(rec.Columns()[:k], nil, len(ids), ids); err != nil {
			return nil, err
		}
		o.grow()
		return ids, nil
	}
	if err := o.restoreOrder(from.Table("groups"), k); err != nil {
		return err
	}
	for _, rec := range from.Table("groups") {
		ids, err := find(rec)
		if err != nil {
			return err
		}
		for i, n := range values[int64](rec.Column(k)) {
			o.count[ids[i]] = n
		}
		for i, n := range values[int64](rec.Column(k + 1)) {
			if o.cfg.Final && o.env.Partitions > 1 {
				o.born = append(o.born, make([]int64, max(0, int(ids[i])+1-len(o.born)))...)
				o.born[ids[i]] = n
			}
		}
		o.ttl.restore(rec, ids)
		o.aggs.mergeState(ids, nil, rec.Columns()[k+2:k+2+len(o.aggs.stateTypes())])
	}
	for i, d := range o.aggs.distinct {
		if d == nil {
			continue
		}
		for _, rec := range from.Table(fmt.Sprintf("distinct%d", i)) {
			ids, err := find(rec)
			if err != nil {
				return err
			}
			groups := make([]int64, len(ids))
			for j, id := range ids {
				groups[j] = int64(id)
			}
			last := int(rec.NumCols()) - 1
			if err := d.merge(groups, rec.Columns()[k:last], values[int64](rec.Column(last)), o.aggs.accs[i]); err != nil {
				return err
			}
		}
	}
	return o.charge()
}
