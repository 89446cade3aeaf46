package op

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/expr"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// WindowAggregateConfig describes a window aggregate.
type WindowAggregateConfig struct {
	Window Window
	// TimeColumn is the column of the event time; -1 for windows of processing time, whose rows are in the window of the clock's time when they come.
	TimeColumn int
	// Keys are the columns to group by, of the types KeyTypes.
	Keys     []int
	KeyTypes []types.Type
	// Aggregates are the calls; empty for DISTINCT.
	Aggregates []Aggregate
	// Properties are the window columns to add, in this order.
	Properties []WindowProperty
	// Schema is that of the output: keys, aggregates, properties.
	Schema types.Schema
	// SetColumn is the column with the number of the grouping set, where an Expand lies before: an input row is then counted as late once, for set 0. 0
	// says that there are no grouping sets (such a column is never the first).
	SetColumn int
	// Retract says that the input has -U or -D rows.
	Retract bool
	// Exact has results carry Before: the last watermark that leaves their window open, whatever this copy has seen of it. By that results of several
	// copies and inputs are put in order.
	Exact bool
	// Shown has results carry as Before the watermark that was in force when their window closed, for CURRENT_WATERMARK. It needs to be told each watermark
	// on its own: by Before on every batch, and behind rows that a filter has dropped.
	Shown bool
}

// WindowAggregate aggregates the rows of each window of TUMBLE, HOP or CUMULATE in one phase.
//
// A result is one +I for each key and window that had rows, when the watermark reaches the end of the window less one unit, ordered by window end, then
// by the first appearance of the group: earliest slice, then arrival in it. HOP and CUMULATE keep one state for each slice and merge them when a window
// closes; where a result depends on the order of rows (sums of FLOAT and DOUBLE, FIRST_VALUE, LISTAGG and the like) they keep one for each window (of
// CUMULATE only for those that differ), and rows come to it in the order of arrival.
//
// Late rows: each row is judged by the watermark before it. It is dropped, counted (late_rows) and offered to the side output "late" only when the last
// of its windows has closed; else it counts in those that have not (partly_late_rows). Rows without event time are skipped and counted.
type WindowAggregate struct {
	cfg   WindowAggregateConfig
	w     *windowState
	split splitter
	timer int64 // wall clock end of the window that a timer has been asked for; processing time only
}

// NewWindowAggregate returns the operator.
func NewWindowAggregate(cfg WindowAggregateConfig) *WindowAggregate {
	return &WindowAggregate{cfg: cfg}
}

func (o *WindowAggregate) proctime() bool { return o.cfg.TimeColumn < 0 }

func newWindowState(cfg *WindowAggregateConfig, env *exec.Env) *windowState {
	win, proctime := cfg.Window, cfg.TimeColumn < 0
	win.LTZ = win.LTZ || proctime
	w := &windowState{w: newWindows(win, env.Zone), env: env, aggs: cfg.Aggregates, retract: cfg.Retract, props: cfg.Properties, schema: cfg.Schema.Arrow(),
		wm: stream.MinTime, proctime: proctime, exact: cfg.Exact && !proctime, shown: cfg.Shown && !proctime,
		perWindow: win.Kind != Tumble && orderDependent(cfg.Aggregates)}
	for _, t := range cfg.KeyTypes {
		w.keyTypes = append(w.keyTypes, t.Arrow())
	}
	return w
}

// Open implements exec.Operator.
func (o *WindowAggregate) Open(_ context.Context, env *exec.Env, from exec.StateReader) error {
	if err := o.cfg.check(); err != nil {
		return err
	}
	o.w = newWindowState(&o.cfg, env)
	o.split = splitter{w: o.w.w, perWindow: o.w.perWindow}
	if _, err := newAggSet(o.cfg.Aggregates, o.cfg.Retract, nil); err != nil {
		return err
	}
	if from == nil {
		return nil
	}
	if err := o.w.restore(from); err != nil {
		return err
	}
	if o.proctime() {
		o.setTimer()
	}
	return nil
}

// ProcessBatch implements exec.Operator.
func (o *WindowAggregate) ProcessBatch(ctx context.Context, _ int, b stream.Batch, out exec.Output) error {
	defer b.Release()
	switch {
	case o.proctime():
		return o.addNow(&b)
	case o.cfg.Shown && b.Before != nil:
		return cutAtSteps(b,
			func(piece stream.Batch) error {
				defer piece.Release()
				return o.add(&piece, out)
			},
			func(wm stream.Time) error {
				if wm <= o.w.wm {
					return nil
				}
				return o.ProcessWatermark(ctx, wm, out)
			})
	}
	return o.add(&b, out)
}

// add takes rows by their event time.
func (o *WindowAggregate) add(b *stream.Batch, out exec.Output) error {
	ts := b.Record.Column(o.cfg.TimeColumn)
	o.split.setsOf(b, o.cfg.SetColumn)
	if err := o.split.split(b, ts, o.w.wm); err != nil {
		return err
	}
	if err := o.split.count(o.w.env, b, ts, out); err != nil {
		return err
	}
	return o.update(b)
}

// update adds the rows of the splitter's spots.
func (o *WindowAggregate) update(b *stream.Batch) error {
	var few [8]arrow.Array
	cols := few[:0]
	for _, k := range o.cfg.Keys {
		cols = append(cols, b.Record.Column(k))
	}
	o.w.numbers = b.Seq
	var from []int64
	if o.w.perWindow {
		from = o.split.ends
	}
	spots, lists := o.split.spots, o.split.lists
	if o.w.chained() {
		if err := o.w.chain(&o.split); err != nil {
			return err
		}
		spots, lists = o.w.spots, o.w.lists
	}
	for i, sp := range spots {
		s, err := o.w.at(sp.end, sp.first)
		if err != nil {
			return err
		}
		rows := lists[i]
		n := len(rows)
		if rows == nil {
			n = int(b.Record.NumRows())
		}
		ids, err := o.w.groups(s, cols, rows, n, o.w.rows, from)
		if err != nil {
			return err
		}
		if err := s.aggs.update(ids, rows, b.Record, b.Kinds); err != nil {
			return err
		}
		if err := o.w.charge(s); err != nil {
			return err
		}
	}
	o.w.rows += b.Record.NumRows()
	return nil
}

// addNow takes rows by the clock.
func (o *WindowAggregate) addNow(b *stream.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	// A window that has closed is never opened again, should the clock go back.
	now := max(stream.Time(o.w.env.Clock.Now().UnixMicro()), o.w.wm.Add(1))
	ends := o.w.w.sliceEnd(o.w.w.wall(int64(now)))
	s := &o.split
	s.spots, s.lists, s.whole = s.spots[:0], s.lists[:0], true
	if o.w.perWindow {
		s.ends = grown(s.ends, int(b.Record.NumRows()))
		for i := range s.ends {
			s.ends[i] = ends
		}
		for e := ends; e == ends || e <= o.w.w.lastEnd(ends) && !o.w.chained(); e += o.w.w.step {
			s.spots, s.lists = append(s.spots, spot{e, e}), append(s.lists, b.Selection)
		}
	} else {
		s.spots, s.lists = append(s.spots, spot{ends, ends}), append(s.lists, b.Selection)
	}
	if err := o.update(b); err != nil {
		return err
	}
	o.setTimer()
	return nil
}

// setTimer asks for the end of the next window of processing time.
func (o *WindowAggregate) setTimer() {
	if end, ok := o.w.nextEnd(); ok && end != o.timer {
		o.timer = end
		o.w.env.Timer(time.UnixMicro(int64(o.w.w.instant(end))).UTC())
	}
}

// ProcessTimer implements exec.Operator: processing-time windows close when the clock has reached their end.
func (o *WindowAggregate) ProcessTimer(_ context.Context, at time.Time, out exec.Output) error {
	if !o.proctime() {
		return nil
	}
	for {
		end, ok := o.w.nextEnd()
		if !ok || o.w.w.instant(end) > stream.Time(at.UnixMicro()) {
			break
		}
		if err := o.w.advance(o.w.w.firesAt(end), out); err != nil {
			return err
		}
	}
	o.setTimer()
	return nil
}

// ProcessWatermark implements exec.Operator.
func (o *WindowAggregate) ProcessWatermark(_ context.Context, wm stream.Time, out exec.Output) error {
	if !o.proctime() {
		if err := o.w.advance(wm, out); err != nil {
			return err
		}
	}
	return out.Watermark(wm)
}

// Finish implements exec.Operator: windows of processing time close at the end of the input.
func (o *WindowAggregate) Finish(_ context.Context, out exec.Output) error {
	if o.proctime() {
		return o.w.advance(stream.MaxTime, out)
	}
	return nil
}

// EndInput implements exec.Operator.
func (o *WindowAggregate) EndInput(context.Context, int, exec.Output) error { return nil }

// Snapshot implements exec.Operator.
func (o *WindowAggregate) Snapshot(_ context.Context, to exec.StateWriter) error {
	return o.w.snapshot(to)
}

// Close implements exec.Operator.
func (o *WindowAggregate) Close() error {
	if o.w != nil {
		o.w.close()
	}
	return nil
}

func orderDependent(aggs []Aggregate) bool {
	for _, a := range aggs {
		if a.Spec.Name == "COUNT" {
			continue
		}
		if expr.AggOrderDependent(a.Spec) {
			return true
		}
	}
	return false
}

// CanSplitPhases reports whether a window aggregate with these calls may run in two phases (LocalWindowAggregate, GlobalWindowAggregate): no result
// depends on the order of rows, and no call is DISTINCT.
func CanSplitPhases(aggs []Aggregate) bool {
	for _, a := range aggs {
		if a.Distinct {
			return false
		}
	}
	return !orderDependent(aggs)
}

// check finds mistakes of the plan early.
func (c *WindowAggregateConfig) check() error {
	if want := len(c.Keys) + len(c.Aggregates) + len(c.Properties); len(c.Schema) != want {
		return fmt.Errorf("window aggregate: the schema has %d columns, want %d", len(c.Schema), want)
	}
	return nil
}
