package task

import (
	"context"
	"math"
	"sort"

	"github.com/weir-sql/weir/exec/exchange"
	"github.com/weir-sql/weir/exec/stream"
)

// Bound is a place in the order of rows: by the watermark before a row, then by its sequence number.
type Bound struct {
	Before stream.Time
	Seq    int64
}

func (b Bound) less(c Bound) bool {
	return b.Before < c.Before || b.Before == c.Before && b.Seq < c.Seq
}

func (b Bound) max(c Bound) Bound {
	if b.less(c) {
		return c
	}
	return b
}

// lane is what the ordered merge knows of one channel.
type lane struct {
	// bound is a lower bound of all rows to come, the key of the next row if one is there.
	bound Bound
	batch stream.Batch // the rows at hand, from next on (of the selected ones)
	has   bool
	next  int
	ended bool
	// barred: a barrier has come to the front; what lies behind it waits until it is aligned.
	barred bool
	// own: the sequence numbers of the channel are its own (those of another source than the others'). Rows at one watermark are then in the order of inputs.
	own bool
}

// key returns the place of the i-th selected row of the batch at hand: never before what was promised. Rows without a sequence number (results that a
// watermark released) come behind those that have one at the same watermark.
func (l *lane) key(i int) Bound {
	k := l.bound
	r := l.batch.Row(i)
	if l.batch.Before != nil && l.batch.Before[r] > k.Before {
		k.Before, k.Seq = l.batch.Before[r], 0
	}
	if l.batch.Seq == nil || l.own {
		k.Seq = math.MaxInt64
	} else if l.batch.Before == nil || l.batch.Before[r] >= k.Before {
		k.Seq = max(k.Seq, l.batch.Seq[r])
	}
	return k
}

// pick chooses the lane whose row is next: the lowest key, ties by the number of the lane. certain is false when a lane without a row at hand could
// still have an earlier one. second is the lowest bound of the other lanes and its number, -1 when there is none.
func pick(lanes []lane) (first int, certain bool, second int) {
	first, second = -1, -1
	before := func(i, j int) bool {
		a, b := lanes[i].bound, lanes[j].bound
		return a.less(b) || a == b && i < j
	}
	for i := range lanes {
		if lanes[i].ended {
			continue
		}
		switch {
		case first < 0:
			first = i
		case before(i, first):
			first, second = i, first
		case second < 0 || before(i, second):
			second = i
		}
	}
	return first, first >= 0 && lanes[first].has, second
}

// runEnd returns up to which selected row of the lane's batch its rows come before those of a lane with the given bound and number.
func (l *lane) runEnd(me int, bound Bound, other int) int {
	n := l.batch.Len()
	rest := n - l.next - 1
	past := func(i int) bool {
		k := l.key(l.next + 1 + i)
		return bound.less(k) || k == bound && other < me
	}
	to := l.next + 1
	if rest > 0 && !past(0) {
		to += sort.Search(rest, past)
	}
	if b := l.batch; b.Kinds != nil && to < n && b.Kinds[b.Row(to-1)] == stream.UpdateBefore {
		to++
	}
	return to
}

// mergeStep moves on the ordered merge: it hands one run of rows to the chain. It returns false when it can do nothing until more comes.
func (t *inputTask) mergeStep(ctx context.Context) (bool, error) {
	for i := 0; i < len(t.lanes) && !t.task.Steps; i++ {
		if err := t.fill(ctx, i); err != nil {
			return false, err
		}
	}
	first, certain, second := pick(t.lanes)
	if first < 0 {
		return false, t.flush(ctx)
	}
	if !certain {
		took := false
		if t.task.Steps { // the lane that is behind moves on by one watermark: another one's would hide it
			var err error
			if took, err = t.next(ctx, first); err != nil {
				return false, err
			}
		}
		return took, t.flush(ctx)
	}
	l := &t.lanes[first]
	to := l.batch.Len()
	if second >= 0 {
		to = l.runEnd(first, t.lanes[second].bound, second)
	}
	if room := t.job.o.BatchRows - t.pendingRows; to-l.next > room {
		to = l.next + max(room, 1)
		if b := l.batch; b.Kinds != nil && to < b.Len() && b.Kinds[b.Row(to-1)] == stream.UpdateBefore {
			to++
		}
	}
	input := t.operatorInput(first)
	if t.pendingRows > 0 && t.pendingInput != input {
		if err := t.flush(ctx); err != nil {
			return false, err
		}
	}
	t.pendingInput = input
	part := pendingRun{batch: l.batch, from: l.next, to: to}
	l.batch.Retain()
	t.pending = append(t.pending, part)
	t.pendingRows += to - l.next
	if to < l.batch.Len() {
		l.next = to
		l.bound = l.key(to)
	} else {
		last := l.key(to - 1)
		l.bound = l.bound.max(last)
		l.batch.Release()
		l.batch, l.has = stream.Batch{}, false
	}
	if t.task.Steps || t.pendingRows >= t.job.o.BatchRows {
		return true, t.flush(ctx)
	}
	return true, nil
}

// pendingRun is rows of a batch that wait to be put together with others.
type pendingRun struct {
	batch    stream.Batch
	from, to int // selected rows
}

// fill brings a lane's next row to hand, if it has come.
func (t *inputTask) fill(ctx context.Context, i int) error {
	for l := &t.lanes[i]; !l.has && !l.ended && !l.barred; {
		if took, err := t.next(ctx, i); !took || err != nil {
			return err
		}
	}
	return nil
}

// next takes the next event of a lane; false when there is none, or a barrier.
func (t *inputTask) next(ctx context.Context, i int) (bool, error) {
	l := &t.lanes[i]
	c := t.box.channels[i]
	e, ok := t.replayed(i)
	if !ok {
		if e, ok = c.peek(); !ok {
			return false, nil
		}
		if e.Kind == stream.EventBarrier && e.Barrier.Snapshot {
			l.barred = true
			return false, nil
		}
		e, _ = c.take()
	}
	switch e.Kind {
	case stream.EventBatch:
		if t.enough || e.Batch.Len() == 0 {
			e.Batch.Release()
			break
		}
		l.batch, l.next, l.has = e.Batch, 0, true
		l.bound = l.key(0)
	case stream.EventWatermark:
		b := Bound{Before: e.Watermark, Seq: e.Seq}
		if l.own {
			b.Seq = 0
		}
		l.bound = l.bound.max(b)
	case stream.EventBarrier: // a marker
		return true, t.mark(ctx, e.Barrier.ID)
	case stream.EventEnd:
		l.ended = true
		t.comb.Finish(i)
		if err := t.hadEnough(ctx, t.flush(ctx)); err != nil { // the end counts also when the rows before it were the last ones wanted
			return true, err
		}
		return true, t.endChannel(ctx, i)
	}
	return true, nil
}

// flush hands the pending rows to the chain as one batch, then what is known of the watermark behind them.
func (t *inputTask) flush(ctx context.Context) error {
	if !t.task.Ordered {
		return nil
	}
	if len(t.pending) > 0 {
		b, err := t.gather()
		if err != nil {
			return err
		}
		if err := t.give(ctx, t.pendingInput, b); err != nil {
			return err
		}
	}
	low, ended := Bound{Before: stream.MaxTime}, true
	for i := range t.lanes {
		if l := &t.lanes[i]; !l.ended {
			if ended || l.bound.less(low) {
				low = l.bound
			}
			ended = false
		}
	}
	if ended || t.enough {
		return nil
	}
	if err := t.forward(ctx, low.Before); err != nil {
		return err
	}
	if low == t.told {
		return nil
	}
	t.told = low
	if t.task.NeedSeq {
		return t.progress(ctx, stream.SeqOf(t.seq))
	}
	return t.progress(ctx, low.Seq)
}

// gather makes one batch of the pending runs.
func (t *inputTask) gather() (stream.Batch, error) {
	runs := t.pending
	t.pending, t.pendingRows = nil, 0
	defer func() {
		for _, r := range runs {
			r.batch.Release()
		}
	}()
	if len(runs) == 1 {
		r := runs[0]
		if r.batch.Selection == nil {
			return t.stamp(r.batch.Slice(r.from, r.to)), nil
		}
		b := r.batch
		b.Selection = b.Selection[r.from:r.to:r.to]
		b.Retain()
		return t.stamp(b), nil
	}
	rows, kinds, before, seq := 0, false, true, true
	for _, r := range runs {
		rows += r.to - r.from
		kinds = kinds || r.batch.Kinds != nil
		before = before && r.batch.Before != nil
		seq = seq && r.batch.Seq != nil
	}
	var out stream.Batch
	if kinds {
		out.Kinds = make([]stream.RowKind, 0, rows)
	}
	if before {
		out.Before = make([]stream.Time, 0, rows)
	}
	if seq {
		out.Seq = make([]int64, 0, rows)
	}
	var parts []exchange.Run
	for _, r := range runs {
		for i := r.from; i < r.to; i++ {
			row := r.batch.Row(i)
			if n := len(parts); n > 0 && parts[n-1].Record == r.batch.Record && parts[n-1].To == row {
				parts[n-1].To++
			} else {
				parts = append(parts, exchange.Run{Record: r.batch.Record, From: row, To: row + 1})
			}
			if kinds {
				out.Kinds = append(out.Kinds, r.batch.Kind(row))
			}
			if before {
				out.Before = append(out.Before, r.batch.Before[row])
			}
			if seq {
				out.Seq = append(out.Seq, r.batch.Seq[row])
			}
		}
	}
	rec, err := exchange.Gather(t.job.o.Allocator, parts)
	out.Record = rec
	return t.stamp(out), err
}

// number gives rows sequence numbers where that is asked for. Rows are counted in any case: a restore at another parallelism may ask for it.
func (t *inputTask) number(b *stream.Batch) {
	if t.task.NeedSeq {
		b.Seq = make([]int64, b.Record.NumRows())
		for i := range b.Seq { // ascending, unselected rows included
			b.Seq[i] = stream.SeqOf(t.seq + int64(i))
		}
	} else if len(t.task.Inputs) > 1 { // those of the inputs do not go together
		b.Seq = nil
	}
	t.seq += b.Record.NumRows()
}

// stamp numbers the rows where that is asked for, and raises Before to the combined watermark that rows were merged at: it never steps back over the merge.
func (t *inputTask) stamp(b stream.Batch) stream.Batch {
	t.number(&b)
	n := b.Len()
	if b.Before == nil || n == 0 {
		return b
	}
	last := b.Row(n - 1)
	if b.Before[0] >= t.merged { // it never steps back within the batch
		t.merged = b.Before[last]
		return b
	}
	out := make([]stream.Time, len(b.Before))
	for i, x := range b.Before {
		out[i] = max(x, t.merged)
	}
	b.Before, t.merged = out, out[last]
	return b
}
