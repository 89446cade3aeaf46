package task

import (
	"context"
	"time"

	"github.com/weir-sql/weir/connectors"
)

// report says how far the job has come, for sources that tell the outside (connectors.ReportingSource): behind the commits of the sinks.
type report struct {
	positions map[string]map[string][]connectors.Position // by table and id of the split
	held      int64
}

// commitWait is an epoch that the sinks are committing.
type commitWait struct {
	left   int
	stop   bool
	report *report
}

// add takes the positions of one source. One that was cut short (LIMIT) does not know what of its rows was wanted: then nothing is said of its table.
func (r *report) add(table string, at *SourceSnapshot) {
	have, known := r.positions[table]
	switch {
	case at.Short || known && have == nil:
		r.positions[table] = nil
		return
	case !known:
		have = map[string][]connectors.Position{}
		r.positions[table] = have
	}
	for _, sp := range at.Splits {
		have[sp.Split.ID] = append(have[sp.Split.ID], sp.Position)
	}
}

// bookkeeping are state tables that do not hold rows: they are there always.
var bookkeeping = map[string]bool{"window": true, "limit": true}

// reportOf is what a snapshot says, nil when nobody asks.
func (j *Job) reportOf(s *Snapshot) *report {
	if !j.reporting {
		return nil
	}
	r := &report{positions: map[string]map[string][]connectors.Position{}}
	for _, t := range j.g.Tasks {
		for p := range max(t.Partitions, 1) {
			part := s.Tasks[taskKey(t.ID, p)]
			if part == nil {
				continue
			}
			if t.Source != nil && part.Source != nil {
				r.add(t.Source.Table, part.Source)
			}
			for _, tables := range part.Operators {
				for _, name := range tables.Names() {
					if n, _ := tables.Rows(name); !bookkeeping[name] {
						r.held += n
					}
				}
			}
			if part.Inputs != nil {
				for _, q := range part.Inputs.Queued {
					for _, e := range q {
						r.held += int64(e.Batch.Len())
					}
				}
			}
		}
	}
	return r
}

// lastReport is what there is to say when all tasks are through; nil when nobody asks. mu is held.
func (j *Job) lastReport() *report {
	if !j.reporting {
		return nil
	}
	r := &report{positions: map[string]map[string][]connectors.Position{}}
	for _, t := range j.g.Tasks {
		if at := j.reached[t.ID]; t.Source != nil && at != nil {
			r.add(t.Source.Table, at)
		}
	}
	return r
}

// ended notes where a source has ended.
func (j *Job) ended(s *source) {
	at := s.position()
	j.mu.Lock()
	j.reached[s.task.ID] = at
	j.mu.Unlock()
}

// askReports asks a source whether it wants reports.
func (s *source) askReports() {
	r, ok := s.src.(connectors.ReportingSource)
	if !ok {
		return
	}
	wanted, every := r.Reports()
	if !wanted {
		return
	}
	s.reports = true
	s.onReport = func(ctx context.Context, m *report) {
		if at := m.positions[s.spec.Table]; at != nil {
			r.Report(ctx, at, m.held)
		}
	}
	j := s.job
	j.mu.Lock()
	j.reporting = true
	j.mu.Unlock()
	if every > 0 {
		j.helpers.Add(1)
		go func() { defer j.helpers.Done(); j.reportEvery(every) }()
	}
}

// reportEvery takes checkpoints for their reports, until the job ends.
func (j *Job) reportEvery(every time.Duration) {
	for {
		c, cancel := j.o.Clock.After(every)
		select {
		case <-c:
		case <-j.ctx.Done():
			cancel()
			return
		}
		s, err := j.Checkpoint(j.ctx)
		if err != nil {
			return // the job has ended
		}
		s.Release()
	}
}

// inBlock reports that a block is consumed in part: a report would have to give its beginning. A cut waits until it is through, which takes nothing but
// the rows that are there.
func (s *source) inBlock() bool {
	return s.reports && !s.ordered && !s.ended && len(s.arrived) > 0 && s.arrived[0].next > 0
}

// takeCuts makes the cuts that waited for the end of a block.
func (s *source) takeCuts() {
	if s.inBlock() {
		return
	}
	for _, r := range s.cuts {
		s.cut(r)
	}
	s.cuts = nil
}

// askCut puts a barrier behind the rows taken so far, or a few more.
func (s *source) askCut(r *barrierRequest) {
	s.cuts = append(s.cuts, r)
	s.takeCuts()
}
