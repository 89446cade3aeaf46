package task

import (
	"context"
	"sort"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
)

// idleAt is when a split will be idle unless a row comes; zero for never.
func (s *source) idleAt(sp *split) time.Time {
	if s.spec.IdleTimeout <= 0 || s.ordered || !s.mayIdle(sp) {
		return time.Time{}
	}
	return sp.lastLife.Add(s.spec.IdleTimeout + s.chain.blocked)
}

// publish tells the group where a split is.
func (s *source) publish(sp *split) {
	if s.member == nil {
		return
	}
	if sp.rows > 0 {
		sp.waitUntil = time.Time{}
	}
	s.job.aligner.publish(s.member, sp.idx, mark{watermark: sp.wm, out: sp.finished || s.comb.State(sp.input) != Active, idleAt: s.idleAt(sp), waitUntil: sp.waitUntil})
}

// pausing reports whether alignment may pause splits: not where their order is defined, nor where a backfill waits for the rows.
func (s *source) pausing() bool { return s.member != nil && !s.ordered && !s.free }

// align makes what updates of the alignment there were take effect: a pause holds until the next one.
func (s *source) align() {
	if s.member == nil {
		return
	}
	if !s.joined && (!s.pausing() || s.visited >= len(s.splits)) {
		s.joined = true
		s.job.aligner.begin(s.member)
	}
	if !s.pausing() {
		return
	}
	allowed, updates := s.job.aligner.look(s.member, s.paused)
	if updates == s.updates {
		return
	}
	s.allowed, s.updates = allowed, updates
	for _, sp := range s.splits {
		sp.limit = allowed
		switch {
		case sp.finished:
		case sp.paused && sp.wm <= allowed:
			s.resume(sp)
		case !sp.paused && sp.wm > allowed && !s.silent(sp):
			s.pause(sp)
		}
	}
}

// awaitFirst has the group wait for the first watermark of a split that has just been opened.
func (s *source) awaitFirst(sp *split) {
	if !s.pausing() || sp.rows > 0 || sp.wm != stream.MinTime || !sp.waitUntil.IsZero() {
		return
	}
	grace := alignmentGrace
	switch {
	case sp.spec.Bounded:
		grace = forEver
	case s.spec.IdleTimeout > 0:
		grace = s.spec.IdleTimeout
	}
	sp.waitUntil = s.job.o.Clock.Now().Add(grace)
	s.publish(sp)
}

// begins notes the first watermark of a split. Before the first update nothing is known of the group; a split may go as far then as the drift allows from
// its own beginning, or all of a short history would be read before the others have been looked at.
func (s *source) begins(sp *split, first stream.Time) {
	if s.updates == 0 && sp.limit == stream.MaxTime && first != stream.MinTime {
		sp.limit = allowedAt(first, s.spec.Align.MaxDrift)
	}
}

// silent reports a split that is idle, or will be as soon as its reader says again that it has nothing: it is paused when it has rows again, and is ahead.
func (s *source) silent(sp *split) bool {
	at := s.idleAt(sp)
	return s.comb.State(sp.input) != Active || !at.IsZero() && !s.job.o.Clock.Now().Before(at)
}

// hold tells the group where a split is now, and pauses it when it has passed what is allowed.
func (s *source) hold(sp *split) {
	s.publish(sp)
	if !s.pausing() {
		return
	}
	s.begins(sp, sp.wm)
	if !sp.paused && !sp.finished && sp.wm > sp.limit && s.comb.State(sp.input) == Active {
		s.pause(sp)
	}
}

// alignedEnd returns where in b the rows end that may be taken: with the one that takes the split past what is allowed.
func (s *source) alignedEnd(b *block, sp *split) int {
	if !s.pausing() || b.prefix == nil {
		return b.n
	}
	behind := b.prefix[b.next+1 : b.n+1] // watermark behind each row
	reaches := func(wm stream.Time) int { return sort.Search(len(behind), func(i int) bool { return behind[i] > wm }) }
	if first := reaches(stream.MinTime); sp.wm == stream.MinTime && first < len(behind) {
		s.begins(sp, behind[first])
	}
	return b.next + min(1+reaches(sp.limit), len(behind))
}

// pause sets a split aside: what was read of it waits, and no more is read.
func (s *source) pause(sp *split) {
	s.beginPause(sp)
	sp.pauses++
	if p, ok := sp.reader.(connectors.Pausable); ok {
		p.Pause()
	}
	if len(sp.queue) > 0 {
		s.aside += len(sp.queue)
		keep := s.arrived[:0]
		for _, b := range s.arrived {
			if b.split != sp {
				keep = append(keep, b)
			}
		}
		clear(s.arrived[len(keep):])
		s.arrived = keep
	}
	s.publish(sp)
}

// openPaused opens the reader of a split that was paused before a restore, so that it hears of the pause: a source that reads its splits together may wait
// for one that it does not know to be paused. Bounded ones count against the limit of open splits, and stay closed.
func (s *source) openPaused(ctx context.Context, sp *split) error {
	if sp.reader != nil || sp.spec.Bounded || sp.finished || sp.eof {
		return nil
	}
	if err := s.openSplit(ctx, sp); err != nil {
		return err
	}
	if p, ok := sp.reader.(connectors.Pausable); ok {
		p.Pause()
	}
	return nil
}

// resume goes on with a split. What was read of it comes before what others have read.
func (s *source) resume(sp *split) {
	s.endPause(sp)
	if p, ok := sp.reader.(connectors.Pausable); ok {
		p.Resume()
	}
	s.aside -= len(sp.queue)
	s.arrived = append(append([]*block(nil), sp.queue...), s.arrived...)
	s.publish(sp)
}

func (s *source) beginPause(sp *split) {
	sp.paused, sp.pausedAt, sp.pausedReading = true, s.job.o.Clock.Now(), s.readingTime()
	s.paused++
}

func (s *source) endPause(sp *split) {
	sp.paused = false
	sp.pausedFor += s.job.o.Clock.Now().Sub(sp.pausedAt)
	d := s.readingTime().Sub(sp.pausedReading)
	sp.lastLife, sp.since = sp.lastLife.Add(d), sp.since.Add(d) // the clocks of idleness and of the generator stood still
	s.paused--
}

// makeRoom closes the reader of a paused split for one that others wait for: after a restore it may not be open while they are.
func (s *source) makeRoom(sp *split) (bool, error) {
	if sp.wm == stream.MinTime || s.paused == 0 {
		return false, nil
	}
	for _, o := range s.splits {
		if o.paused && o.spec.Bounded && o.reader != nil {
			return true, s.closeSplit(o)
		}
	}
	return false, nil
}

// alignmentOf is what a snapshot has of a split's alignment.
func (s *source) alignmentOf(sp *split, low stream.Time, some bool) *AlignmentStats {
	if s.member == nil {
		return nil
	}
	a := &AlignmentStats{Group: s.spec.Align.Group, Limit: sp.limit, WaitUntil: sp.waitUntil, Paused: sp.paused, Pauses: sp.pauses, PausedFor: sp.pausedFor}
	if sp.paused {
		a.PausedFor += s.job.o.Clock.Now().Sub(sp.pausedAt)
	}
	if some && sp.wm != stream.MinTime && !sp.finished {
		a.Drift = time.Duration(sp.wm-low) * time.Microsecond
	}
	return a
}

// alignmentPosition puts into a snapshot what the source knows of its group, and returns the group's lowest watermark now.
func (s *source) alignmentPosition(out *SourceSnapshot) (low stream.Time, some bool) {
	if s.member == nil {
		return 0, false
	}
	out.Allowed, out.AlignAt, out.Updates = s.job.aligner.stateOf(s.member)
	return s.job.aligner.groupMin(s.member)
}

// silence is how long a split has been silent, as idleness counts it.
func (s *source) silence(sp *split) time.Duration {
	now := s.readingTime()
	if sp.paused {
		now = sp.pausedReading
	}
	return max(0, now.Sub(sp.lastLife))
}

// restoreAlignment puts back what a snapshot has.
func (s *source) restoreAlignment(from *SourceSnapshot) {
	if s.member == nil {
		return
	}
	if !from.AlignAt.IsZero() {
		s.allowed, s.updates = from.Allowed, from.Updates
		s.job.aligner.restore(s.member, from.Allowed, from.AlignAt, from.Updates)
	}
	for i, ss := range from.Splits {
		sp := s.splits[i]
		if a := ss.Alignment; a != nil {
			sp.limit, sp.pauses, sp.pausedFor = a.Limit, a.Pauses, a.PausedFor
			if !sp.spec.Bounded { // else as soon as it is open
				sp.waitUntil = a.WaitUntil
			}
			if a.Paused && s.pausing() && !sp.finished {
				s.beginPause(sp)
			}
		}
		s.publish(sp)
	}
	if from.Ended {
		s.leave()
	}
}

// leave tells the group that nothing more is read.
func (s *source) leave() {
	if s.member != nil {
		s.job.aligner.leave(s.member)
	}
}
