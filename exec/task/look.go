package task

import (
	"context"
	"slices"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

// look asks a task how it stands. It is answered on the task's goroutine, between two steps: unlike a barrier it goes through no queue and copies no state.
type look struct{ done chan struct{} }

// Sight is how a job stands, as its tasks tell it without a barrier.
type Sight struct {
	// Sources are in the order of the plan. Those of a job that has ended are as they were at the end.
	Sources []SourceStats
	// Blocked are the ids of the sources that did not answer in time: they wait for their sink. Their figures are those of their last answer.
	Blocked map[string]bool
	// Operators has what operators told of themselves, summed over partitions.
	Operators map[string]exec.Observation
}

// Sight asks all tasks how they stand, and waits for their answers until ctx is done.
func (j *Job) Sight(ctx context.Context) Sight {
	asked := make([]*look, len(j.tasks))
	for i, inst := range j.tasks {
		asked[i] = j.ask(i, inst)
	}
	silent := map[int]bool{}
	for i, l := range asked {
		select {
		case <-l.done:
			continue
		default:
		}
		select {
		case <-l.done:
		case <-ctx.Done():
			silent[i] = true
		case <-j.done:
		}
	}
	out := Sight{Blocked: map[string]bool{}, Operators: map[string]exec.Observation{}}
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, inst := range j.tasks {
		if s, ok := inst.(*source); ok {
			ss, known := j.last[s.spec.ID]
			if !known {
				ss = SourceStats{ID: s.spec.ID, Table: s.spec.Table, Watermark: stream.MinTime, Timed: s.spec.Times, Zone: s.spec.FutureZone}
			}
			ss.BadRecords = j.bad[s.spec.ID]
			out.Sources = append(out.Sources, ss)
			if silent[i] && (known || s.hasRead.Load()) { // one that has never answered, and read nothing, is still being opened
				out.Blocked[s.spec.ID] = true
			}
		}
		for id, o := range j.sights[i] {
			sum, known := out.Operators[id]
			if !known {
				sum = exec.Observation{Windows: o.Windows, NextWindow: stream.MaxTime}
			}
			sum.StateRows += o.StateRows
			sum.NextWindow = min(sum.NextWindow, o.NextWindow)
			out.Operators[id] = sum
		}
	}
	return out
}

// ask puts a look into the mailbox of task i, unless one that it has not answered yet lies there.
func (j *Job) ask(i int, inst instance) *look {
	j.mu.Lock()
	l := j.asked[i]
	first := l == nil
	if first {
		l = &look{done: make(chan struct{})}
		j.asked[i] = l
	}
	j.mu.Unlock()
	if first {
		boxOf(inst).put(message{look: l})
	}
	return l
}

// answer answers a look.
func (c *chain) answer(l *look, s *source) {
	told := map[string]exec.Observation{}
	for _, n := range c.nodes {
		if x, ok := n.op.(exec.Observer); ok {
			if o, ok := x.Observe(); ok {
				told[n.spec.ID] = o
			}
		}
	}
	var ss SourceStats
	if s != nil {
		ss = sourceStats(s.spec, s.position())
	}
	j := c.job
	i := slices.IndexFunc(j.tasks, func(t instance) bool { return chainOf(t) == c })
	j.mu.Lock()
	defer j.mu.Unlock()
	if s != nil {
		j.last[s.spec.ID] = ss
	}
	j.sights[i] = told
	delete(j.asked, i)
	close(l.done)
}
