package task

import (
	"context"
	"errors"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/internal/invariants"
)

// inputTask runs one partition of a task that reads other tasks: in their defined order (merge.go), or as rows arrive.
type inputTask struct {
	*chain
	box   *inbox
	mail  *mailbox
	comb  Combiner
	multi bool // the first operator has several inputs
	// Ordered merge.
	lanes        []lane
	pending      []pendingRun
	pendingRows  int
	pendingInput int
	merged       stream.Time // watermark of the last row merged
	told         Bound
	// Both.
	replay   [][]stream.Event // from a snapshot, before what the channels have
	marks    map[int64]int    // markers seen, by id
	turn     int
	seq      int64
	enough   bool
	finished bool
	ended    []bool   // channels
	heard    []phases // of the sources whose rows each channel brings, as it has told of them
	reached  phases   // the highest that any channel has told of
}

func newInputTask(j *Job, t *Task, partition int) *inputTask {
	wake := make(chan struct{}, 1)
	it := &inputTask{chain: newChain(j, t, partition), mail: &mailbox{wake: wake}, marks: map[int64]int{}, merged: stream.MinTime,
		told: Bound{Before: stream.MinTime}, reached: phases{}}
	it.box = newInbox(wake, exec.NewAccount("inbox of "+t.ID, j.o.Budget), j.o.BatchRows)
	it.multi = len(t.To) == 1 && t.To[0].Op != nil && t.To[0].Op.Inputs > 1
	return it
}

// channel adds a producer of an input, which brings rows of sources.
func (t *inputTask) channel(input int, sources ...string) *channel {
	heard := phases{}
	for _, s := range sources {
		heard[s] = 0
	}
	t.comb.Add()
	t.lanes = append(t.lanes, lane{bound: Bound{Before: stream.MinTime}, own: len(t.task.Inputs) > 1})
	t.replay = append(t.replay, nil)
	t.ended, t.heard = append(t.ended, false), append(t.heard, heard)
	return t.box.add(input)
}

// operatorInput is the operator's input that channel i feeds.
func (t *inputTask) operatorInput(i int) int {
	if t.multi {
		return t.box.channels[i].input
	}
	return 0
}

func (t *inputTask) begin(ctx context.Context, snap *TaskSnapshot) error {
	if err := t.chain.open(ctx, snap); err != nil {
		return err
	}
	if snap == nil {
		return nil
	}
	in := snap.Inputs
	t.comb.restore(in.Marks, in.States, in.Combined)
	t.seq, t.merged, t.finished = in.Seq, in.Merged, snap.Ended
	if t.task.NeedSeq && len(t.task.Inputs) == 1 { // its rows that lay before another parallelism's task have not been numbered yet
		for _, p := range t.chain.pending {
			for i := range p.Events {
				if e := &p.Events[i]; e.Kind == stream.EventBatch {
					t.number(&e.Batch)
				}
			}
		}
	}
	for i, q := range in.Queued {
		for _, e := range q {
			e.Batch.Retain()
			t.replay[i] = append(t.replay[i], e)
		}
		t.lanes[i].bound = in.Bound[i]
		t.ended[i] = in.States[i] == Finished
		t.lanes[i].ended = t.ended[i]
		for source, phase := range in.Heard[i] {
			t.heard[i][source] = phase
			t.reach(source, phase)
		}
	}
	for source, phase := range t.phases {
		t.reach(source, phase)
	}
	return nil
}

func (t *inputTask) panicked(operator string, p any) error {
	t.job.o.Log.Error("panic", "query", t.job.o.Query, "operator", operator, "panic", p, "stack", string(debug.Stack()))
	return internalError(t.job.o.Query, operator, t.partition, p)
}

func (t *inputTask) run(ctx context.Context) error {
	if err := t.replayPending(ctx); err != nil {
		return err
	}
	if !t.task.Ordered && !t.finished { // at another parallelism the channels may come from elsewhere
		if err := t.hadEnough(ctx, t.settle(ctx, t.sources()...)); err != nil {
			return err
		}
	}
	if t.finished { // before a restore
		t.job.taskFinished()
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		for {
			m, ok := t.mail.take()
			if !ok {
				break
			}
			if m.refused {
				if t.unwanted() && !t.enough {
					if err := t.hadEnough(ctx, exec.ErrEnough); err != nil {
						return err
					}
				}
				continue
			}
			if done, err := t.control(ctx, m); done || err != nil {
				return err
			}
		}
		if err := t.timers.fire(ctx); err != nil {
			return err
		}
		progress, err := t.step(ctx)
		if err != nil {
			return err
		}
		if progress {
			t.box.lift(false)
			continue
		}
		invariants.Delay()
		stop, again, err := t.barriers(ctx)
		if err != nil {
			return err
		}
		if stop {
			return t.linger(ctx, t.mail)
		}
		if again {
			continue
		}
		if _, err := t.await(ctx, []<-chan struct{}{t.mail.wake}, nil); err != nil {
			return err
		}
	}
}

// step does the next piece of work; false when there is none until more comes.
func (t *inputTask) step(ctx context.Context) (progress bool, err error) {
	if t.task.Ordered {
		progress, err = t.mergeStep(ctx)
	} else {
		progress, err = t.arrivalStep(ctx)
	}
	return progress, t.hadEnough(ctx, err)
}

// hadEnough turns exec.ErrEnough into refusing further rows.
func (t *inputTask) hadEnough(ctx context.Context, err error) error {
	if err == nil || !errors.Is(err, exec.ErrEnough) {
		return err
	}
	if t.enough {
		return nil
	}
	t.enough = true
	for _, r := range t.pending {
		r.batch.Release()
	}
	t.pending, t.pendingRows = nil, 0
	for i := range t.lanes {
		if l := &t.lanes[i]; l.has {
			l.batch.Release()
			l.batch, l.has = stream.Batch{}, false
		}
		keep := t.replay[i][:0] // the end may lie among them
		for _, e := range t.replay[i] {
			if e.Kind != stream.EventBatch {
				keep = append(keep, e)
			}
			e.Batch.Release()
		}
		t.replay[i] = keep
		t.box.channels[i].refuse()
	}
	// What lay behind the rows given up now can be handled now, an end for example; nobody else wakes the task up for it.
	select {
	case t.mail.wake <- struct{}{}:
	default:
	}
	t.job.refused(t.task)
	return nil
}

// replayed returns the next event of channel i that came out of a snapshot.
func (t *inputTask) replayed(i int) (stream.Event, bool) {
	if len(t.replay[i]) == 0 {
		return stream.Event{}, false
	}
	e := t.replay[i][0]
	t.replay[i] = t.replay[i][1:]
	return e, true
}

// held reports that channel i has to wait for the bounded inputs of a backfill.
func (t *inputTask) held(i int) bool {
	if !t.task.BoundedFirst || t.task.Inputs[t.box.channels[i].input].Bounded {
		return false
	}
	for k, c := range t.box.channels {
		if t.task.Inputs[c.input].Bounded && !t.ended[k] {
			return true
		}
	}
	return false
}

// arrivalStep handles the next event of each channel, in turn; false when there is none that can be handled now.
func (t *inputTask) arrivalStep(ctx context.Context) (bool, error) {
	progress := false
	for range t.box.channels {
		t.turn = (t.turn + 1) % len(t.box.channels)
		i := t.turn
		c := t.box.channels[i]
		e, ok := stream.Event{}, false
		if !t.held(i) {
			if e, ok = t.replayed(i); !ok {
				e, ok = c.peek()
				if ok && e.Kind == stream.EventBarrier && e.Barrier.Snapshot {
					continue
				}
				if ok {
					e, _ = c.take()
				}
			}
		}
		if !ok {
			continue
		}
		progress = true
		if err := t.arrived(ctx, i, e); err != nil {
			return true, err
		}
	}
	return progress, nil
}

// arrived handles one event of channel i.
func (t *inputTask) arrived(ctx context.Context, i int, e stream.Event) error {
	switch e.Kind {
	case stream.EventBatch:
		if t.enough {
			e.Batch.Release()
			return nil
		}
		w, others, mark := t.comb.Combined(), t.comb.Others(i), t.comb.Mark(i)
		if b := e.Batch; t.comb.State(i) == IdleInput { // given by a timer: the watermark stays
			others = w
		} else if b.Before != nil && b.Len() > 0 && len(t.box.channels) > 1 {
			// The channel has come as far as its last row says, also before it says so by a watermark: rows of others are not stamped behind this one.
			t.comb.Advance(i, b.Before[b.Row(b.Len()-1)])
		}
		return t.give(ctx, t.operatorInput(i), t.stampArrival(e.Batch, w, others, mark))
	case stream.EventWatermark:
		t.comb.Note(i, e.Watermark)
		if err := t.forward(ctx, t.comb.Combined()); err != nil {
			return err
		}
		if e.Seq > 0 && len(t.box.channels) == 1 {
			return t.progress(ctx, e.Seq)
		}
	case stream.EventIdle:
		return t.phased(ctx, i, e.Source, e.Phase)
	case stream.EventBarrier: // a marker
		return t.mark(ctx, e.Barrier.ID)
	case stream.EventEnd:
		t.comb.Finish(i)
		if err := t.forward(ctx, t.comb.Combined()); err != nil && !errors.Is(err, exec.ErrEnough) {
			return err
		}
		if err := t.endChannel(ctx, i); err != nil || t.finished {
			return err
		}
		return t.settle(ctx, sortedKeys(t.heard[i])...) // others may have waited for the channel to fall silent
	}
	return nil
}

// stampArrival makes Before what the combination of all channels says: w before the batch, and at most others while the channel speaks.
func (t *inputTask) stampArrival(b stream.Batch, w, others, mark stream.Time) stream.Batch {
	switch {
	case len(t.box.channels) == 1:
	case b.Before != nil:
		out := make([]stream.Time, len(b.Before))
		for i, x := range b.Before {
			out[i] = max(w, min(x, others))
		}
		b.Before = out
	case w > mark: // the channel is behind the others: its rows may be late here, though they were not there
		out := make([]stream.Time, b.Record.NumRows())
		for i := range out {
			out[i] = w
		}
		b.Before = out
	}
	t.number(&b)
	return b
}

// give hands rows to the chain.
func (t *inputTask) give(ctx context.Context, in int, b stream.Batch) error {
	if s := t.task.Schema; s != nil && b.Record.Schema() != s {
		rec := array.NewRecordBatch(s, b.Record.Columns(), b.Record.NumRows())
		b.Record.Release()
		b.Record = rec
	}
	return t.to.batch(ctx, in, b)
}

// forward tells the chain the combined watermark; MaxTime comes with the end.
func (t *inputTask) forward(ctx context.Context, wm stream.Time) error {
	return t.to.watermark(ctx, wm)
}

// endChannel ends the operator's input behind the last of its channels, and the task behind the last of all.
func (t *inputTask) endChannel(ctx context.Context, i int) error {
	if t.ended[i] {
		return nil
	}
	t.ended[i] = true
	in := t.operatorInput(i)
	all := true
	for k, e := range t.ended {
		if !e && t.operatorInput(k) == in {
			return nil
		}
		all = all && e
	}
	if err := t.to.end(ctx, in); err != nil {
		return err
	}
	if all && !t.finished {
		t.finished = true
		t.job.taskFinished()
	}
	return nil
}

// mark counts a marker that came to the front of a channel; behind the last channel's it goes on.
func (t *inputTask) mark(ctx context.Context, id int64) error {
	t.marks[id]++
	if t.marks[id] < len(t.box.channels) {
		return nil
	}
	return t.marked(ctx, id)
}

// marked passes a marker on.
func (t *inputTask) marked(ctx context.Context, id int64) error {
	if err := t.hadEnough(ctx, t.flush(ctx)); err != nil {
		return err
	}
	delete(t.marks, id)
	t.timers.wake() // whoever waits for the marker may move the clock then
	b := stream.Barrier{ID: id}
	if err := t.chain.barrier(ctx, b, nil); err != nil {
		return err
	}
	t.job.barrierDone(b, t.task, t.partition, nil)
	return nil
}

// met returns the markers that have come on every channel, and whether a barrier with a snapshot has come on every one and on some. They may lie behind
// rows of channels that wait for another.
func (t *inputTask) met() (markers []int64, every, some bool) {
	every = true
	seen := maps.Clone(t.marks)
	for _, c := range t.box.channels {
		ids, cut := c.barriers()
		every, some = every && cut, some || cut
		for _, id := range ids {
			if seen[id]++; seen[id] == len(t.box.channels) {
				markers = append(markers, id)
			}
		}
	}
	return markers, every, some
}

// barriers handles the barriers that have come on all channels, when nothing else can be done: it passes markers on, and makes a cut. Rows that lie before
// one on a channel that waits for another go into the snapshot. again says that there is more to do now.
func (t *inputTask) barriers(ctx context.Context) (stop, again bool, err error) {
	markers, every, some := t.met()
	if len(markers) > 0 || every {
		// With the barriers came what lies before them: rows that could be worked off are. A copy that keeps some back would have its rows behind those of
		// the others.
		if again, err := t.step(ctx); again || err != nil {
			return false, again, err
		}
	}
	for _, id := range markers {
		left := t.marks[id]
		for _, c := range t.box.channels {
			left += c.dropMarker(id)
		}
		if left == 0 { // the step has passed it on
			continue
		}
		if err := t.marked(ctx, id); err != nil {
			return false, false, err
		}
	}
	if !every {
		// Partitions of one exchange wait for each other's progress, and all for a barrier that some have seen.
		t.box.lift(some || t.task.Ordered && len(t.task.Inputs) == 1)
		return false, false, nil
	}
	t.box.lift(false)
	if err := t.hadEnough(ctx, t.flush(ctx)); err != nil {
		return false, false, err
	}
	part := newTaskSnapshot()
	in := &InputsSnapshot{Combined: t.comb.Combined(), Seq: t.seq, Merged: t.merged}
	part.Inputs, part.Ended = in, t.finished
	var b stream.Barrier
	for i, c := range t.box.channels {
		var queued []stream.Event
		if l := &t.lanes[i]; l.has {
			queued = append(queued, stream.Event{Kind: stream.EventBatch, Batch: rest(l.batch, l.next)})
		}
		for _, e := range t.replay[i] {
			e.Batch.Retain()
			queued = append(queued, e)
		}
		before, barrier := c.cut()
		b, queued = barrier, append(queued, before...)
		in.Queued = append(in.Queued, queued)
		in.Marks = append(in.Marks, t.comb.Mark(i))
		in.States = append(in.States, t.comb.State(i))
		in.Heard = append(in.Heard, maps.Clone(t.heard[i]))
		in.Bound = append(in.Bound, t.lanes[i].bound)
		t.lanes[i].barred = false
	}
	if err := t.chain.barrier(ctx, b, part); err != nil {
		part.release()
		return false, false, err
	}
	t.job.barrierDone(b, t.task, t.partition, part)
	return b.Stop, true, nil
}

// rest returns the selected rows of b from the i-th on, with a reference of their own.
func rest(b stream.Batch, i int) stream.Batch {
	if b.Selection == nil {
		return b.Slice(i, b.Len())
	}
	b.Selection = slices.Clone(b.Selection[i:])
	b.Retain()
	return b
}

func (t *inputTask) close() error {
	t.box.close()
	for _, r := range t.pending {
		r.batch.Release()
	}
	for i := range t.lanes {
		if t.lanes[i].has {
			t.lanes[i].batch.Release()
		}
		for _, e := range t.replay[i] {
			e.Batch.Release()
		}
	}
	t.pending, t.lanes, t.replay = nil, nil, nil
	return t.chain.close()
}
