package task

import (
	"container/heap"
	"context"
	"sort"

	"github.com/weir-sql/weir/exec/stream"
)

// nextStatus says what came of trying to make the next item.
type nextStatus uint8

const (
	nextItem    nextStatus = iota
	nextDecode             // wait for a worker
	nextWaiting            // nothing to read now
	nextEnd
)

// splitHeap is the unfinished splits of an ordered source; the next row is the root's.
type splitHeap struct {
	splits []*split
	bySpec bool // one split after the other, whatever their watermarks
}

func (h *splitHeap) Len() int { return len(h.splits) }
func (h *splitHeap) Less(i, j int) bool {
	a, b := h.splits[i], h.splits[j]
	if !h.bySpec {
		if x, y := a.contribution(), b.contribution(); x != y {
			return x < y
		}
	}
	return a.idx < b.idx
}
func (h *splitHeap) Swap(i, j int) {
	h.splits[i], h.splits[j] = h.splits[j], h.splits[i]
	h.splits[i].heapAt, h.splits[j].heapAt = i, j
}
func (h *splitHeap) Push(x any) {
	s := x.(*split)
	s.heapAt = len(h.splits)
	h.splits = append(h.splits, s)
}
func (h *splitHeap) Pop() any {
	s := h.splits[len(h.splits)-1]
	h.splits = h.splits[:len(h.splits)-1]
	s.heapAt = -1
	return s
}

// runnerUp is the split that would be next if the root were not there; nil when there is no other.
func (h *splitHeap) runnerUp() *split {
	switch {
	case len(h.splits) < 2:
		return nil
	case len(h.splits) == 2 || h.Less(1, 2):
		return h.splits[1]
	}
	return h.splits[2]
}

// lowestOther is the lowest contribution of the unfinished splits other than the root, MaxTime when there is none.
func (h *splitHeap) lowestOther() stream.Time {
	if !h.bySpec {
		if r := h.runnerUp(); r != nil {
			return r.contribution()
		}
		return stream.MaxTime
	}
	low := stream.MaxTime
	for _, s := range h.splits[min(1, len(h.splits)):] {
		low = min(low, s.contribution())
	}
	return low
}

// nextOrdered makes the next item of bounded splits in their defined order: the next row comes from the unfinished split whose watermark before its next
// row is lowest, ties by split order. The combined watermark starts at MinTime; behind each row it is raised to the lowest watermark of the unfinished
// splits. All is a function of the splits' rows; where the blocks and batches end has no influence.
func (s *source) nextOrdered(ctx context.Context, limit int) (*item, nextStatus, error) {
	it := &item{wm: stream.MinTime, seq: s.rows}
	status := nextEnd
	for it.rows < limit {
		// Whether the split of the last row goes on is needed to know what the others' rows are judged by.
		if s.last != nil {
			_, st, err := s.front(ctx, s.last)
			if err != nil {
				it.release()
				return nil, 0, err
			}
			if st == frontDecode || st == frontWaiting {
				status = waitStatus(st)
				break
			}
			if st == frontEnd {
				s.finish(s.last)
				heap.Remove(&s.heap, s.last.heapAt)
			} else {
				heap.Fix(&s.heap, s.last.heapAt)
			}
			s.last = nil
			if len(s.heap.splits) > 0 && s.rows > 0 {
				s.w = max(s.w, min(s.heap.splits[0].contribution(), s.heap.lowestOther()))
			}
		}
		if len(s.heap.splits) == 0 {
			break
		}
		sp := s.heap.splits[0]
		b, st, err := s.front(ctx, sp)
		if err != nil {
			it.release()
			return nil, 0, err
		}
		if st == frontDecode || st == frontWaiting {
			status = waitStatus(st)
			break
		}
		if st == frontEnd {
			s.last = sp
			continue
		}
		others := s.heap.lowestOther()
		to := b.cut(s.runEnd(b, sp), b.next+limit-it.rows)
		if err := s.take(it, sp, b, to, others); err != nil {
			it.release()
			return nil, 0, err
		}
		s.last = sp
		s.publish(sp)
		if b.next == b.n && it.rows >= limit/4 {
			break // not worth a copy to fill it up
		}
	}
	if it.rows == 0 {
		return nil, status, nil
	}
	it.wm = s.outgoing()
	return it, nextItem, nil
}

func waitStatus(st frontStatus) nextStatus {
	if st == frontDecode {
		return nextDecode
	}
	return nextWaiting
}

// runEnd returns where in b the run of rows that are next ends: where its watermark passes that of the runner-up.
func (s *source) runEnd(b *block, sp *split) int {
	r := s.heap.runnerUp()
	if r == nil || s.heap.bySpec || b.prefix == nil { // without an expression, watermarks change only between blocks
		return b.n
	}
	bound := r.contribution()
	if sp.idx > r.idx {
		bound = bound.Add(-1) // must stay strictly below
		if r.contribution() == stream.MinTime {
			return b.next + 1
		}
	}
	// The row at next is taken; the row at i is if the watermark before it is within bound.
	if sp.wm > bound {
		return b.next + 1
	}
	rest := b.prefix[b.next+1 : b.n]
	return b.next + 1 + sort.Search(len(rest), func(i int) bool { return rest[i] > bound })
}

// cut returns to or limit, whichever comes first, moved behind the +U that follows a -U.
func (b *block) cut(to, limit int) int {
	to = min(to, limit)
	if b.kinds != nil && to < b.n && to > 0 && b.kinds[to-1] == stream.UpdateBefore {
		to++
	}
	return to
}

// take adds rows [next, to) of the split's front block to it, and moves the split and the combined watermark behind them. others is the lowest
// watermark of the other splits.
func (s *source) take(it *item, sp *split, b *block, to int, others stream.Time) error {
	sp.started = true
	r := run{b: b, from: b.next, to: to, w: s.w, carry: sp.wm, others: others}
	if s.spec.Interval > 0 {
		r.w, r.others = s.emitted, stream.MinTime
	}
	// The whole block is kept, and cut when the batch is made: where rows of splits alternate a run is one row.
	b.rec.Retain()
	r.rec, r.kinds = b.rec, b.kinds
	b.users.Add(1)
	it.runs = append(it.runs, r)
	n := to - b.next
	it.rows += n
	sp.rows += int64(n)
	s.rows += int64(n)
	s.rowsRead.Add(int64(n))
	if !s.hasRead.Load() {
		s.hasRead.Store(true)
	}
	b.next = to
	if b.prefix != nil {
		sp.wm = max(sp.wm, b.prefix[to])
	}
	s.w = max(s.w, min(sp.wm, others))
	return s.pass(b, to)
}

// nextArrival makes the next item of splits in the order in which their blocks came.
func (s *source) nextArrival(ctx context.Context, limit int) (*item, nextStatus, error) {
	it := &item{wm: stream.MinTime, seq: s.rows}
	status, err := s.poll(ctx)
	if err != nil {
		return nil, 0, err
	}
	s.idleCheck()
	popped := false
	for it.rows < limit && len(s.arrived) > 0 {
		b := s.arrived[0]
		if !b.ready.Load() {
			status = nextDecode
			break
		}
		sp := b.split
		if err := s.check(b); err != nil {
			it.release()
			return nil, 0, err
		}
		if b.next < b.n {
			to := b.cut(s.alignedEnd(b, sp), b.next+limit-it.rows)
			if err := s.take(it, sp, b, to, s.comb.Others(sp.input)); err != nil {
				it.release()
				return nil, 0, err
			}
			s.comb.Advance(sp.input, sp.wm)
			sp.lastRow = s.job.o.Clock.Now()
			sp.lastLife = sp.lastRow.Add(-s.chain.blocked)
			if b.next < b.n {
				s.hold(sp)
				continue
			}
		}
		marked, idles := b.raw.Watermark != stream.MinTime, b.raw.Idle
		s.arrived, popped = s.arrived[1:], true
		if err := s.pop(sp); err != nil {
			it.release()
			return nil, 0, err
		}
		if marked {
			s.comb.Advance(sp.input, sp.wm)
		}
		if idles && !sp.spec.Bounded {
			s.comb.Idle(sp.input)
		}
		s.hold(sp)
		s.w = max(s.w, s.unended(s.comb.Combined()))
		if it.rows >= limit/4 && it.rows > 0 || len(s.cuts) > 0 {
			break
		}
	}
	all, err := s.finishSplits()
	if err != nil {
		it.release()
		return nil, 0, err
	}
	if all {
		status = nextEnd
	}
	s.w = max(s.w, s.unended(s.comb.Combined()))
	it.wm = s.outgoing()
	it.idle = s.comb.AllIdle() && !s.comb.AllFinished() || s.vacant()
	if it.rows == 0 && it.wm <= s.sent && it.idle == s.sentIdle {
		if popped && status != nextEnd { // blocks without rows made room: there may be more to read, of which nobody will tell
			s.signal()
			status = nextDecode
		}
		return nil, status, nil
	}
	return it, nextItem, nil
}

// outgoing is the watermark that may be sent on now: the combined one, or the last periodic one.
func (s *source) outgoing() stream.Time {
	if s.spec.Interval > 0 {
		return s.emitted
	}
	return s.w
}

// unended keeps the watermark behind the last row where it is: MaxTime comes with the end of the source.
func (s *source) unended(wm stream.Time) stream.Time {
	if wm == stream.MaxTime {
		return s.w
	}
	return wm
}

// poll asks every reader that may have something and has few blocks under way, in turn.
func (s *source) poll(ctx context.Context) (nextStatus, error) {
	status := nextWaiting
	if s.spec.IdleTimeout > 0 {
		s.asked = s.readingTime()
	}
	for range s.splits {
		if s.blocks-s.aside >= s.maxBlocks && len(s.arrived) > 0 {
			return nextDecode, nil
		}
		s.turn++
		sp := s.splits[s.turn%len(s.splits)]
		s.visited++
		if sp.paused {
			if err := s.openPaused(ctx, sp); err != nil {
				return 0, err
			}
			continue
		}
		if sp.finished || sp.eof || len(sp.queue) >= 2 {
			continue
		}
		if sp.reader == nil && sp.spec.Bounded && s.spec.MaxOpenSplits > 0 && s.open >= s.spec.MaxOpenSplits {
			if made, err := s.makeRoom(sp); err != nil {
				return 0, err
			} else if !made {
				continue // its turn comes when another has ended
			}
		}
		st, err := s.read(ctx, sp)
		if err != nil {
			return 0, err
		}
		switch st {
		case readBlock:
			s.arrived = append(s.arrived, sp.queue[len(sp.queue)-1])
			status = nextDecode
		case readEnd: // those that were asked before may go on now
			s.signal()
			status = nextDecode
		}
	}
	return status, nil
}

// finishSplits marks splits that are read to their end; it reports that all are and that no new ones can come. That a paused one is at its end counts when
// it goes on: it may have been read ahead or not.
func (s *source) finishSplits() (bool, error) {
	for _, sp := range s.splits {
		if sp.eof && !sp.finished && !sp.paused && len(sp.queue) == 0 {
			if sp.skip > 0 {
				return false, s.shorter(sp)
			}
			s.finish(sp)
			s.comb.Finish(sp.input)
		}
	}
	for _, sp := range s.splits {
		if !sp.finished {
			return false, nil
		}
	}
	return s.src.Changed() == nil, nil
}

// finish marks a split as read to its end.
func (s *source) finish(sp *split) {
	sp.finished = true
	s.publish(sp)
}

// ahead reads and decodes what will be needed soon, while there is room.
func (s *source) ahead(ctx context.Context) error {
	if s.pool.jobs == nil || !s.ordered {
		return nil
	}
	limit := max(s.maxBlocks, 2*s.open)
	share := max(1, limit/max(s.open, 1))
	opened := false
	for _, sp := range s.heap.splits {
		if sp.reader == nil || sp.eof {
			continue
		}
		for len(sp.queue) < share && s.blocks < limit {
			st, err := s.read(ctx, sp)
			if err != nil {
				return err
			}
			if st != readBlock {
				break
			}
		}
		opened = opened || !sp.eof
	}
	if opened || s.blocks >= s.maxBlocks {
		return nil
	}
	// All that are open have been read to their end: the next one may as well begin.
	for s.nextUpcoming < len(s.upcoming) {
		sp := s.upcoming[s.nextUpcoming]
		if !sp.started && !sp.finished && sp.reader == nil && !sp.eof {
			_, err := s.read(ctx, sp)
			return err
		}
		s.nextUpcoming++
	}
	return nil
}

// countRows is what a barrier holds of the source's own counters.
func (s *source) countRows() map[string]int64 {
	out := map[string]int64{}
	s.metrics.Each(func(name string, v int64) { out[name] = v })
	return out
}
