package task

import "time"

// idleCheck marks splits idle that had no row for the timeout: whose reader had nothing when it was asked so long after the last row. The time for which
// rows could not be handed on does not count: there may be some.
func (s *source) idleCheck() {
	if s.spec.IdleTimeout <= 0 {
		return
	}
	var silent []*split
	var inputs []int
	for _, sp := range s.splits {
		if s.mayIdle(sp) && len(sp.queue) == 0 && sp.lastAsked.Sub(sp.lastLife) >= s.spec.IdleTimeout {
			silent, inputs = append(silent, sp), append(inputs, sp.input)
		}
	}
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
