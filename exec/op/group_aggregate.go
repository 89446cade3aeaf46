package op

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/state"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// GroupAggregateConfig describes an unbounded GROUP BY.
type GroupAggregateConfig struct {
	// Keys are the columns to group by, of the types KeyTypes; none for a global aggregate.
	Keys     []int
	KeyTypes []types.Type
	// Aggregates are the calls; empty for SELECT DISTINCT.
	Aggregates []Aggregate
	// Schema is that of the output: keys, then aggregates.
	Schema types.Schema
	// Retract says that the input has -U or -D rows.
	Retract bool
	// UpdateBefore asks for the -U before each +U.
	UpdateBefore bool
	// Final says that only the result at the end of the (bounded) input is wanted, as +I rows in the order in which the groups came.
	Final bool
	// EmitEmpty says that a global aggregate without a single row at the end of its input gives the one row of nothing (COUNT 0, SUM NULL), as in batch.
	EmitEmpty bool
	// TTL, when positive and not Final, is for how long a group stays that has no rows, by the clock.
	TTL time.Duration
}

// GroupAggregate is GROUP BY without windows: its result is a changelog. Every input row makes its own update, as if rows came one by one: the first of
// a group +I, a later one -U and +U unless the result stays the same, the one that takes the last row of the group back -D.
//
// A retraction for a group that has no rows is counted (stray_retractions) and otherwise ignored, as Flink does.
type GroupAggregate struct {
	exec.Base
	cfg    GroupAggregateConfig
	env    *exec.Env
	schema *arrow.Schema
	table  *state.Table
	aggs   *aggSet
	count  []int64 // rows of each group
	born   []int64 // Final, one of several copies: sequence number of each group's first row
	ttl    expiry
	stray  *atomic.Int64

	charged int64
	ids     []int32
	rows    []int32
	last    []int32 // of each group: where its result is among those of this batch, or -1
	touched []int32
	moved   map[int32]int32 // groups that were deleted in this batch and came again
	changes []change
	values  []array.Builder
	n       int32 // results in values
}

// change is what a row did to its group: the results before (-1: none, +I) and after (-1: none, -D), as places in values.
type change struct {
	old, now   int32
	group, row int32
}

// NewGroupAggregate returns the operator.
func NewGroupAggregate(cfg GroupAggregateConfig) *GroupAggregate { return &GroupAggregate{cfg: cfg} }

func (o *GroupAggregate) keyArrow() []arrow.DataType {
	var kt []arrow.DataType
	for _, t := range o.cfg.KeyTypes {
		kt = append(kt, t.Arrow())
	}
	return kt
}

// Open implements exec.Operator.
func (o *GroupAggregate) Open(_ context.Context, env *exec.Env, from exec.StateReader) error {
	o.env, o.schema = env, o.cfg.Schema.Arrow()
	if want := len(o.cfg.Keys) + len(o.cfg.Aggregates); len(o.cfg.Schema) != want {
		return fmt.Errorf("group aggregate: the schema has %d columns, want %d", len(o.cfg.Schema), want)
	}
	if !o.cfg.Final {
		o.ttl = expiry{ttl: o.cfg.TTL.Microseconds(), env: env}
	}
	if err := o.fresh(); err != nil {
		return err
	}
	o.stray = env.Metrics.Counter(exec.StrayRetracts)
	for _, a := range o.cfg.Aggregates {
		o.values = append(o.values, types.NewBuilder(env.Allocator, a.Spec.Result))
	}
	if from == nil {
		return nil
	}
	return o.restore(from)
}

// fresh makes empty state.
func (o *GroupAggregate) fresh() error {
	var err error
	// Row counts are kept here, not in the set: they decide what becomes of a group row by row.
	if o.aggs, err = newAggSet(o.cfg.Aggregates, o.cfg.Retract, o.env.Bytes); err != nil {
		return err
	}
	o.aggs.count = nil
	o.aggs.oneGroup = len(o.cfg.Keys) == 0
	o.table = state.NewTable(o.keyArrow(), o.env.Bytes)
	o.count, o.born, o.ttl.used = nil, nil, nil
	return nil
}

// bear notes the first rows of new groups.
func (o *GroupAggregate) bear(b *stream.Batch, g, r int32) {
	if o.cfg.Final && o.env.Partitions > 1 && b.Seq != nil && int(g) == len(o.born) {
		o.born = append(o.born, b.Seq[r])
	}
}

func (o *GroupAggregate) grow() {
	n := o.table.Len()
	o.aggs.resize(n)
	for len(o.count) < n {
		o.count = append(o.count, 0)
	}
	o.ttl.grow(n)
	for len(o.last) < n {
		o.last = append(o.last, -1)
	}
}

func (o *GroupAggregate) keyColumns(b *stream.Batch) []arrow.Array {
	cols := make([]arrow.Array, len(o.cfg.Keys))
	for i, k := range o.cfg.Keys {
		cols[i] = b.Record.Column(k)
	}
	return cols
}

// ProcessBatch implements exec.Operator.
func (o *GroupAggregate) ProcessBatch(_ context.Context, _ int, b stream.Batch, out exec.Output) error {
	defer b.Release()
	n := b.Len()
	rows := b.Selection
	if rows == nil {
		rows = iota32(&o.rows, n)
	}
	o.ids = grown(o.ids, n)
	keys := o.keyColumns(&b)
	if err := o.table.Groups(keys, rows, n, o.ids); err != nil {
		return err
	}
	o.grow()
	if o.cfg.Final && o.env.Partitions > 1 {
		for i, g := range o.ids {
			o.bear(&b, g, rows[i])
		}
	}
	if o.cfg.Final && !o.cfg.Retract {
		for _, g := range o.ids {
			o.count[g]++
		}
		if err := o.aggs.update(o.ids, rows, b.Record, nil); err != nil {
			return err
		}
		return o.charge()
	}
	if !o.cfg.Final {
		for _, v := range o.values {
			v.Reserve(n + n/4)
		}
	}
	now := o.ttl.now()
	o.forgetExpired(now)
	err := o.each(&b, keys, rows, out)
	o.forgetPlaces()
	clear(o.moved)
	// What came before a row that fails is handed on all the same, as it would be row by row.
	if e := o.flush(&b, out); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	o.ttl.use(o.ids, now)
	if err := o.compact(); err != nil {
		return err
	}
	return o.charge()
}

// forgetPlaces forgets where results were put in values.
func (o *GroupAggregate) forgetPlaces() {
	for _, g := range o.touched {
		o.last[g] = -1
	}
	o.touched = o.touched[:0]
}

// mostText is how many bytes of results of no fixed size may wait for the end of their batch: a LISTAGG or ARRAY_AGG repeats its whole list in every change.
const mostText = 8 << 20

// sizes appends what counts the bytes that wait in a builder, but for those of a fixed width per row.
func sizes(of []func() int, b array.Builder) []func() int {
	list := func(elem array.Builder) {
		of = sizes(append(of, func() int { return elem.Len() * 8 }), elem)
	}
	switch b := b.(type) {
	case interface{ DataLen() int }:
		of = append(of, b.DataLen)
	case *array.MapBuilder:
		list(b.KeyBuilder())
		of = sizes(of, b.ItemBuilder())
	case *array.ListBuilder:
		list(b.ValueBuilder())
	case *array.StructBuilder:
		for i := range b.NumField() {
			of = sizes(of, b.FieldBuilder(i))
		}
	}
	return of
}

// each takes the rows one by one and notes the changes.
func (o *GroupAggregate) each(b *stream.Batch, keys []arrow.Array, rows []int32, out exec.Output) error {
	var waiting []func() int
	for _, v := range o.values {
		waiting = sizes(waiting, v)
	}
	for i, g := range o.ids {
		r := rows[i]
		for _, size := range waiting {
			if size() > mostText {
				o.forgetPlaces()
				if err := o.flush(b, out); err != nil {
					return err
				}
			}
		}
		if o.moved != nil {
			if m, ok := o.moved[g]; ok {
				if m < 0 { // deleted by an earlier row of this batch
					var id [1]int32
					if err := o.table.Groups(keys, rows[i:i+1], 1, id[:]); err != nil {
						return err
					}
					o.grow()
					m = id[0]
					o.moved[g] = m
					o.bear(b, m, r)
				}
				o.ids[i] = m
				if err := o.row(b, rows, i, m, r, g); err != nil {
					return err
				}
				continue
			}
		}
		if err := o.row(b, rows, i, g, r, g); err != nil {
			return err
		}
	}
	return nil
}

// row takes row r of the batch, the i-th, for group g; found is the id under which the whole batch looked the group up.
func (o *GroupAggregate) row(b *stream.Batch, rows []int32, i int, g, r, found int32) error {
	retract := b.Kinds != nil && b.Kinds[r].Retracts()
	existed := o.count[g] > 0
	if retract && !existed {
		o.stray.Add(1)
		o.remove(g, found)
		return nil
	}
	quiet := o.cfg.Final
	old := int32(-1)
	if existed && !quiet {
		if old = o.last[g]; old < 0 {
			var err error
			if old, err = o.result(g); err != nil {
				return err
			}
		}
	}
	if err := o.aggs.update(o.ids[i:i+1], rows[i:i+1], b.Record, b.Kinds); err != nil {
		return err
	}
	if retract {
		o.count[g]--
	} else {
		o.count[g]++
	}
	now := int32(-1)
	if o.count[g] > 0 && !quiet {
		var err error
		if now, err = o.result(g); err != nil {
			return err
		}
	}
	if !quiet {
		o.changes = append(o.changes, change{old, now, g, r})
	}
	if o.count[g] == 0 {
		o.remove(g, found)
	}
	return nil
}

// remove forgets group g.
func (o *GroupAggregate) remove(g, found int32) {
	o.table.Delete(g)
	if o.moved == nil {
		o.moved = map[int32]int32{}
	}
	o.moved[found] = -1
}

// result appends the results of group g to values and returns where.
func (o *GroupAggregate) result(g int32) (int32, error) {
	group := [1]int32{g}
	for i, a := range o.aggs.accs {
		if err := a.AppendResult(o.values[i], group[:]); err != nil {
			return 0, err
		}
	}
	if o.last[g] < 0 {
		o.touched = append(o.touched, g)
	}
	o.last[g] = o.n
	o.n++
	return o.last[g], nil
}

// Close implements exec.Operator.
func (o *GroupAggregate) Close() error {
	for _, b := range o.values {
		b.Release()
	}
	o.values = nil
	if o.table != nil {
		o.table.Close()
		o.aggs.close()
		_ = o.env.Bytes.Grow(-o.charged)
		o.charged = 0
	}
	return nil
}

func (o *GroupAggregate) charge() error {
	n := o.aggs.bytes() + int64(cap(o.count)+cap(o.ttl.used))*8 + int64(cap(o.last)+cap(o.ids)+cap(o.rows)+cap(o.touched))*4 + int64(cap(o.changes))*16
	d := n - o.charged
	o.charged = n
	if d == 0 {
		return nil
	}
	return o.env.Bytes.Grow(d)
}
