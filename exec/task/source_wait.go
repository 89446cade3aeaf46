package task

import (
	"context"
	"slices"
	"time"

	"github.com/weir-sql/weir/exec/stream"
)

// control handles what was asked of the task; done says that the job is over.
func (s *source) control(ctx context.Context) (done bool, err error) {
	for {
		m, ok := s.box.take()
		if !ok {
			return false, nil
		}
		switch {
		case m.barrier != nil && m.barrier.barrier.Snapshot:
			s.askCut(m.barrier)
		case m.barrier != nil:
			s.markers = append(s.markers, m.barrier)
		case m.look != nil:
			s.chain.answer(m.look, s)
		case m.drain: // what was taken goes through; what was only read ahead is as if it had not been
			s.ended = s.ended || !s.stopping
		case m.refused:
			if !s.ended && s.unwanted() {
				s.enough()
			}
		default:
			if done, err := s.chain.control(ctx, m); done || err != nil {
				return done, err
			}
		}
	}
}

// cut puts a barrier behind the rows taken so far.
func (s *source) cut(r *barrierRequest) {
	it := &item{wm: stream.MinTime, barrier: r, cut: s.position(), counts: s.countRows()}
	s.takeBad(it)
	it.ready.Store(true)
	s.items = append(s.items, it)
	s.stopping = s.stopping || r.barrier.Stop
}

// mark sends the markers on their way: there is nothing to read now.
func (s *source) mark() {
	// Whoever waits for the marker may move the clock then: it must know what the task waits for.
	s.arm()
	s.timers.wake()
	for _, r := range s.markers {
		it := &item{wm: stream.MinTime, barrier: r}
		it.ready.Store(true)
		s.items = append(s.items, it)
	}
	s.markers = nil
}

// position is where the rows taken so far end.
func (s *source) position() *SourceSnapshot {
	out := &SourceSnapshot{Combined: s.w, Emitted: s.emitted, Rows: s.rows, Ended: s.ended, Short: s.short,
		Vacant: s.sentIdle && !s.comb.AllIdle()}
	low, some := s.alignmentPosition(out)
	for _, sp := range s.splits {
		ss := SplitSnapshot{Split: sp.spec, Position: sp.pos, Skip: sp.skip, Rows: sp.rows, Watermark: sp.wm, Started: sp.started, First: sp.first,
			Judged: sp.judged, State: s.comb.State(sp.input)}
		if len(sp.queue) > 0 {
			ss.Position, ss.Skip, ss.Judged = sp.queue[0].start, sp.skip+sp.queue[0].next, sp.queue[0].now
		}
		if s.spec.Generator != nil {
			ss.Generator, ss.Elapsed = s.generatorSnapshot(sp)
		}
		if sp.rows > 0 {
			ss.LastRow = sp.lastRow
		}
		ss.Silent, ss.Alignment = s.silence(sp), s.alignmentOf(sp, low, some)
		if sp.finished {
			ss.State = Finished
		}
		ss.Position = slices.Clone(ss.Position)
		out.Splits = append(out.Splits, ss)
		if sp == s.last {
			out.Last = len(out.Splits)
		}
	}
	return out
}

// arm asks the clock for the next instant at which the source has something to do by itself: an idle timeout, a periodic watermark.
func (s *source) arm() <-chan time.Time {
	var at time.Time
	sooner := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if s.spec.IdleTimeout > 0 && !s.ordered {
		for _, sp := range s.splits {
			if s.mayIdle(sp) {
				sooner(sp.lastLife.Add(s.spec.IdleTimeout + s.chain.blocked + s.slack))
			}
		}
	}
	if at := s.vacantAt(); !at.IsZero() && !s.sentIdle && !slices.ContainsFunc(s.splits, func(sp *split) bool { return !sp.finished }) {
		sooner(at.Add(s.chain.blocked))
	}
	tick := s.spec.Interval > 0 && s.w > s.emitted
	for _, sp := range s.clockSplits {
		tick = tick || !sp.finished && s.comb.State(sp.input) == Active && !sp.paused
	}
	if tick {
		sooner(s.nextTick)
	}
	if s.pausing() {
		if due, ok := s.job.aligner.next(s.member, s.paused); ok {
			sooner(due)
		}
	}
	if s.ended || s.stopping {
		at = time.Time{}
	}
	if at.IsZero() || !at.Equal(s.alarmAt) || len(s.alarm) > 0 {
		s.disarm()
	}
	if !at.IsZero() && s.alarm == nil {
		clock := s.job.o.Clock
		s.alarmAt = at
		s.alarm, s.disarmer = clock.After(at.Sub(clock.Now()))
	}
	return s.alarm
}

func (s *source) disarm() {
	if s.disarmer != nil {
		s.disarmer()
	}
	s.alarm, s.disarmer, s.alarmAt = nil, nil, time.Time{}
}

// waitFor waits for whatever may let the task go on.
func (s *source) waitFor(ctx context.Context, status nextStatus) error {
	wait := []<-chan struct{}{s.wake}
	changed := -1
	var clock <-chan time.Time
	if !s.ended && !s.stopping && status == nextWaiting {
		if c := s.src.Changed(); c != nil && !s.ordered {
			changed = len(wait)
			wait = append(wait, c)
		}
		for _, sp := range s.splits {
			if sp.wait && sp.reader != nil && !sp.paused {
				if c := sp.reader.Ready(); c != nil {
					wait = append(wait, c)
				}
			}
		}
		clock = s.arm()
	}
	i, err := s.await(ctx, wait, clock)
	if clock != nil && !s.job.o.Clock.Now().Before(s.alarmAt) {
		s.disarm()
	}
	if changed >= 0 && i == changed {
		s.relist = true
	}
	return err
}
