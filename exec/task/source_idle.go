package task

import (
	"time"

	"github.com/weir-sql/weir/exec/stream"
)

// idleCheck marks splits idle that had no row for the timeout: whose reader had nothing when it was asked so long after the last row. The time for which
// rows could not be handed on does not count: there may be some. Splits that fall silent at one look do so together, but those that have never had a watermark
// before the others: they were opened before rows came, and must not take with them what a split that had rows has said.
func (s *source) idleCheck() {
	if s.spec.IdleTimeout <= 0 {
		return
	}
	var silent []*split
	var unspoken, inputs []int
	for _, sp := range s.splits {
		if s.mayIdle(sp) && len(sp.queue) == 0 && sp.lastAsked.Sub(sp.lastLife) >= s.spec.IdleTimeout {
			silent = append(silent, sp)
			if s.comb.Mark(sp.input) == stream.MinTime {
				unspoken = append(unspoken, sp.input)
			} else {
				inputs = append(inputs, sp.input)
			}
		}
	}
	s.comb.Idle(unspoken...)
	s.comb.Idle(inputs...)
	for _, sp := range silent {
		s.publish(sp)
	}
}

// vacant reports that for the idle timeout there was no split that could speak, while there may be some later: the source has no say until there is one.
func (s *source) vacant() bool {
	for _, sp := range s.splits {
		if !sp.finished {
			s.vacantSince = s.readingTime()
			return false
		}
	}
	at := s.vacantAt()
	return !at.IsZero() && !s.readingTime().Before(at)
}

// vacantAt is when the source will be vacant unless a split comes, by readingTime; zero for never.
func (s *source) vacantAt() time.Time {
	if s.spec.IdleTimeout <= 0 || s.src.Changed() == nil {
		return time.Time{}
	}
	return s.vacantSince.Add(s.spec.IdleTimeout)
}

// mayIdle reports a split whose silence counts.
func (s *source) mayIdle(sp *split) bool {
	return !sp.finished && !sp.eof && !sp.spec.Bounded && s.comb.State(sp.input) == Active && !sp.paused
}
