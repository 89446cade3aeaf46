package op

import (
	"context"
	"time"

	"github.com/weir-sql/weir/exec"
)

// Groups expire by GroupAggregateConfig.TTL. Unlike in Flink a group goes as a whole: the values that its DISTINCT calls have seen stay as long as it does.
// What takes back a row of an expired group is a stray retraction.

// forgetExpired forgets those of the groups of the batch at hand that have expired, before its rows are taken.
func (o *GroupAggregate) forgetExpired(now int64) {
	if !o.ttl.on() {
		return
	}
	for _, g := range o.ids {
		if o.count[g] > 0 && o.ttl.expired(g, now) {
			o.count[g] = 0
			o.remove(g, g)
		}
	}
}

// ProcessTimer implements exec.Operator: it drops all groups that have expired.
func (o *GroupAggregate) ProcessTimer(_ context.Context, at time.Time, _ exec.Output) error {
	if !o.ttl.due(at) {
		return nil
	}
	now := o.ttl.now()
	_, gone := o.ttl.split(o.live(), now)
	for _, g := range gone {
		o.count[g] = 0
		o.table.Delete(g)
	}
	if err := o.compact(); err != nil {
		return err
	}
	o.ttl.again(o.live(), now)
	return o.charge()
}
