package task

import (
	"container/heap"
	"context"
	"sort"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
)

// findSplits lists the splits, restores their positions, and puts them in order.
func (s *source) findSplits(ctx context.Context, snap *TaskSnapshot) error {
	if r, ok := s.src.(connectors.RestoredSource); ok && snap != nil {
		known := make([]connectors.Split, len(snap.Source.Splits))
		for i, ss := range snap.Source.Splits {
			known[i] = ss.Split
		}
		r.Restored(known)
	}
	found, err := s.src.Splits(ctx, s.env)
	if err != nil {
		return err
	}
	s.askReports()
	bounded := s.src.Changed() == nil
	for _, sp := range found {
		bounded = bounded && sp.Bounded
	}
	s.ordered = bounded && s.spec.Order != OrderArrival
	if snap == nil {
		for _, sp := range found {
			s.addSplit(sp)
		}
	} else {
		from := snap.Source
		s.w, s.emitted, s.rows, s.ended = from.Combined, from.Emitted, from.Rows, from.Ended
		for _, ss := range from.Splits {
			sp := s.addSplit(ss.Split)
			sp.pos, sp.skip, sp.rows, sp.wm, sp.started, sp.first, sp.judged = ss.Position, ss.Skip, ss.Rows, ss.Watermark, ss.Started, ss.First, ss.Judged
			sp.generatorState, sp.since = ss.Generator, sp.since.Add(-ss.Elapsed)
			sp.finished = ss.State == Finished
			s.comb.marks[sp.input], s.comb.states[sp.input] = ss.Watermark, ss.State
			sp.lastLife = sp.lastLife.Add(-ss.Silent)
		}
		if from.Last > 0 {
			s.last = s.splits[from.Last-1]
		}
		s.comb.combined = from.Combined
		s.restoreAlignment(from)
		if !s.ordered { // what came since; of a bounded scan the list is fixed at its start
			s.addNew(found)
		}
		for id, m := range snap.Counters {
			if id == s.spec.ID {
				s.job.restoreCounters(id, 0, m)
			}
		}
	}
	s.startRows = s.rows
	s.vacantSince = s.readingTime()
	if snap != nil && snap.Source.Vacant {
		s.vacantSince = s.vacantSince.Add(-s.spec.IdleTimeout)
	}
	s.sentIdle = s.quiet()
	if !s.ordered {
		return nil
	}
	s.heap.bySpec = s.spec.Order == OrderSplit
	var live []*split
	for _, sp := range s.splits {
		if !sp.finished {
			live = append(live, sp)
		}
	}
	if s.spec.Times && len(live) > 1 && snap == nil {
		if err := s.learnAll(ctx, live); err != nil {
			return err
		}
	}
	for _, sp := range live {
		heap.Push(&s.heap, sp)
	}
	for _, sp := range live {
		if !sp.started {
			s.upcoming = append(s.upcoming, sp)
		}
	}
	sort.SliceStable(s.upcoming, func(i, j int) bool { return !s.heap.bySpec && s.upcoming[i].first < s.upcoming[j].first })
	return nil
}

// learnAll learns the first watermark of each split.
func (s *source) learnAll(ctx context.Context, live []*split) error {
	for _, sp := range live {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.learn(ctx, s.pool.all[0], sp); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) addSplit(spec connectors.Split) *split {
	sp := &split{spec: spec, pos: spec.Start, idx: len(s.splits), wm: stream.MinTime, first: stream.MinTime, heapAt: -1,
		since: s.readingTime(), lastLife: s.readingTime(), limit: s.allowed}
	sp.input = s.comb.Add()
	s.splits = append(s.splits, sp)
	return sp
}

// addNew adds splits that are not known yet.
func (s *source) addNew(found []connectors.Split) {
	known := map[string]bool{}
	for _, sp := range s.splits {
		known[sp.spec.ID] = true
	}
	for _, sp := range found {
		if !known[sp.ID] {
			s.addSplit(sp)
		}
	}
}

// changed looks for new splits.
func (s *source) changed(ctx context.Context) error {
	select {
	case <-s.src.Changed():
		s.relist = true
	default:
	}
	if !s.relist {
		return nil
	}
	s.relist = false
	s.current = s.spec.Name
	found, err := s.src.Splits(ctx, s.env)
	if err != nil {
		return err
	}
	s.addNew(found)
	return nil
}
