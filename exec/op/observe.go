package op

import (
	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

var (
	_ exec.Observer = (*GroupAggregate)(nil)
	_ exec.Observer = (*WindowAggregate)(nil)
	_ exec.Observer = (*GlobalWindowAggregate)(nil)
	_ exec.Observer = (*EmittingWindowAggregate)(nil)
	_ exec.Observer = (*ChangelogNormalize)(nil)
)

func (w *windowState) observe() (exec.Observation, bool) {
	o := exec.Observation{Windows: !w.proctime, NextWindow: stream.MaxTime}
	for _, s := range w.slices {
		o.StateRows += int64(s.keys.Len())
	}
	if end, ok := w.nextEnd(); ok {
		o.NextWindow = w.w.firesAt(end)
	}
	return o, true
}

// Observe implements exec.Observer.
func (o *WindowAggregate) Observe() (exec.Observation, bool) { return o.w.observe() }

// Observe implements exec.Observer.
func (o *GlobalWindowAggregate) Observe() (exec.Observation, bool) { return o.w.observe() }

// Observe implements exec.Observer.
func (o *EmittingWindowAggregate) Observe() (exec.Observation, bool) {
	ob, ok := o.w.observe()
	ob.NextWindow = stream.MaxTime // windows that are closed are still there
	if n := o.closed(); n < len(o.w.slices) {
		ob.NextWindow = o.closes(o.w.slices[n].end)
	}
	return ob, ok
}

// Observe implements exec.Observer.
func (o *GroupAggregate) Observe() (exec.Observation, bool) {
	return exec.Observation{StateRows: int64(o.table.Live())}, true
}

// Observe implements exec.Observer.
func (o *ChangelogNormalize) Observe() (exec.Observation, bool) {
	return exec.Observation{StateRows: int64(o.rows.Live())}, true
}
