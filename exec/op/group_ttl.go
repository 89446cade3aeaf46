package op

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/exec"
)

// Expiry of groups (table.exec.state.ttl), as Flink has it: a group that had no row for GroupAggregateConfig.TTL of processing time is as if it had never
// been. Nothing is emitted for that; when its key comes again it begins anew, with +I, and what takes back a row of before is a stray retraction. Unlike
// in Flink a group goes as a whole: the values that its DISTINCT calls have seen stay as long as it does.
//
// Rows decide by the time of their batch. That groups nobody asks for are dropped too is the work of a timer, and changes no result.

// expires reports whether groups expire.
func (o *GroupAggregate) expires() bool { return o.cfg.TTL > 0 && !o.cfg.Final }

func (o *GroupAggregate) clock() int64 { return o.env.Clock.Now().UnixMicro() }

func (o *GroupAggregate) expired(g int32, now int64) bool {
	return o.expires() && o.used[g]+o.cfg.TTL.Microseconds() <= now
}

// expire forgets those of the groups of the batch at hand that have expired, before its rows are taken.
func (o *GroupAggregate) expire(now int64) {
	for _, g := range o.ids {
		if o.count[g] > 0 && o.expired(g, now) {
			o.count[g] = 0
			o.remove(g, g)
		}
	}
}

// use notes that the groups of the batch at hand were used.
func (o *GroupAggregate) use(now int64) {
	for _, g := range o.ids {
		o.used[g] = now
	}
	if o.purge.IsZero() && o.table.Live() > 0 {
		o.purgeAt(now + o.cfg.TTL.Microseconds())
	}
}

// purgeAt asks to be called at a time of the clock.
func (o *GroupAggregate) purgeAt(us int64) {
	o.purge = time.UnixMicro(us).UTC()
	o.env.Timer(o.purge)
}

// ProcessTimer implements exec.Operator: it drops all groups that have expired.
func (o *GroupAggregate) ProcessTimer(_ context.Context, at time.Time, _ exec.Output) error {
	if !o.expires() || !at.Equal(o.purge) {
		return nil // asked for before a restore
	}
	o.purge = time.Time{}
	now := o.clock()
	oldest := now
	for _, g := range o.live() {
		if o.expired(g, now) {
			o.count[g] = 0
			o.table.Delete(g)
			continue
		}
		oldest = min(oldest, o.used[g])
	}
	if err := o.compact(); err != nil {
		return err
	}
	if ttl := o.cfg.TTL.Microseconds(); o.table.Live() > 0 { // not for each group at its very time: what has expired does not count in any case
		o.purgeAt(max(oldest+ttl, now+ttl/8+1))
	}
	return o.charge()
}

// kept lists the groups of a snapshot.
func (o *GroupAggregate) kept() []int32 {
	groups := o.live()
	if !o.expires() {
		return groups
	}
	now := o.clock()
	kept := groups[:0]
	for _, g := range groups {
		if !o.expired(g, now) {
			kept = append(kept, g)
		}
	}
	return kept
}

const usedColumn = "used_us"

// restoreUsed reads when the groups of a snapshot's batch were last used; where that was not kept, now.
func (o *GroupAggregate) restoreUsed(rec arrow.RecordBatch, ids []int32) {
	if !o.expires() {
		return
	}
	now := o.clock()
	var used []int64
	if at := rec.Schema().FieldIndices(usedColumn); len(at) == 1 {
		used = values[int64](rec.Column(at[0]))
	}
	for i, g := range ids {
		o.used[g] = now
		if used != nil {
			o.used[g] = used[i]
		}
	}
}

// usedArray is the column of the snapshot that restoreUsed reads.
func (o *GroupAggregate) usedArray(groups []int32) arrow.Array {
	b := array.NewInt64Builder(o.env.Allocator)
	defer b.Release()
	for _, g := range groups {
		b.Append(o.used[g])
	}
	return b.NewArray()
}
