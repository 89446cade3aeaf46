package task

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/exchange"
	"github.com/weir-sql/weir/exec/state"
	"github.com/weir-sql/weir/exec/stream"
)

// A snapshot is restored at another parallelism by turning it into one of the new graph, before anything runs. Both graphs have the same sources, unions,
// operators and sinks, by their ids; they differ in the tasks that these are in, and in the exchanges between them.
//
//   - Keyed state goes where the exchange sends its key now (exchange.Redistribute); state of a whole operator goes to every copy.
//   - Sources have one copy at any parallelism: positions, watermarks and idleness of their splits stay as they are. So do unions with all that waits
//     before them.
//   - Every copy of a task has been told the same up to the barrier; a copy that merges in order may have got further than another. What a task knows is what
//     all its old copies knew: the lowest of their watermarks (a copy that was ahead has no rows to come before its own), ended when all have ended. A
//     task that is new knows what its producers have sent on.
//   - Timers of all old copies are asked for in every new one: a timer that finds nothing due does nothing.
//   - Counters are summed, and counted on in the first copy.
//   - Rows that lay between two tasks, waiting for the rows of other copies, come before all rows that are made from now on (barriers let every producer
//     say how far it has come): they are put in the order of the merge over all old copies, ties by producer, then by copy, and given to what stands
//     behind the exchange now, before the task does anything else.

// TaskShape is what a snapshot says of a task of its graph, to be restored at another parallelism.
type TaskShape struct {
	ID         string
	Partitions int
	Inputs     []ExchangeShape
	// To are the ids of what its rows go to first: operators, sinks, exchanges.
	To []string
}

// ExchangeShape is an exchange that a task reads. From is the operator that writes to it, "" the source or the inputs of the task Task.
type ExchangeShape struct {
	ID, Task, From string
	Keys           []int
}

func targetID(t Target) string {
	switch {
	case t.Op != nil:
		return t.Op.ID
	case t.Sink != nil:
		return t.Sink.ID
	}
	return t.Exchange.ID
}

func (g *Graph) shape() []TaskShape {
	from := map[*Exchange]ExchangeShape{}
	var out []TaskShape
	for _, t := range g.Tasks {
		var walk func(op string, to []Target)
		walk = func(op string, to []Target) {
			for _, x := range to {
				switch {
				case x.Exchange != nil:
					from[x.Exchange] = ExchangeShape{ID: x.Exchange.ID, Keys: x.Exchange.Keys, Task: t.ID, From: op}
				case x.Op != nil:
					walk(x.Op.ID, x.Op.To)
					for _, side := range x.Op.Side {
						walk(x.Op.ID, side)
					}
				}
			}
		}
		walk("", t.To)
		for _, op := range t.Head {
			for _, side := range op.Side {
				walk("", side)
			}
		}
		if t.Source != nil {
			walk("", t.Source.Bad)
		}
		s := TaskShape{ID: t.ID, Partitions: max(t.Partitions, 1)}
		for _, x := range t.Inputs {
			s.Inputs = append(s.Inputs, from[x])
		}
		for _, x := range t.To {
			s.To = append(s.To, targetID(x))
		}
		out = append(out, s)
	}
	return out
}

// fits reports whether the snapshot is of the same tasks, at the same parallelism.
func (j *Job) fits(s *Snapshot) bool {
	if len(s.Tasks) != len(j.tasks) {
		return false
	}
	for _, inst := range j.tasks {
		c := chainOf(inst)
		part := s.Tasks[taskKey(c.task.ID, c.partition)]
		if part == nil {
			return false
		}
		if it, ok := inst.(*inputTask); ok && (part.Inputs == nil || len(part.Inputs.Marks) != len(it.box.channels)) {
			return false
		}
	}
	return true
}

// rescaler makes the parts of a snapshot that fit the job's tasks.
type rescaler struct {
	j        *Job
	old      *Snapshot
	shapes   map[string]TaskShape
	nodes    map[string][]NodeSnapshot // of each operator, by partition
	tables   map[string][]*Tables
	counters map[string]map[string]int64
	receipts map[string][][]byte
	spread   map[string][]*Tables // state of each operator, redistributed
	out      []*TaskSnapshot      // by place in j.tasks
	made     map[string]*TaskSnapshot
	parallel bool
}

// rescale returns the parts of a snapshot for the job's tasks, in their order. The caller releases them.
func (j *Job) rescale(old *Snapshot) (parts []*TaskSnapshot, err error) {
	r := &rescaler{j: j, old: old, shapes: map[string]TaskShape{}, nodes: map[string][]NodeSnapshot{}, tables: map[string][]*Tables{},
		counters: map[string]map[string]int64{}, receipts: map[string][][]byte{}, spread: map[string][]*Tables{}, made: map[string]*TaskSnapshot{}}
	defer func() {
		for _, ts := range r.spread { // those that nobody took
			for _, t := range ts {
				t.Release()
			}
		}
		if err != nil {
			for _, p := range r.out {
				p.release()
			}
		}
	}()
	if err := r.collect(); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	for _, inst := range j.tasks {
		r.parallel = r.parallel || chainOf(inst).task.Partitions > 1
	}
	for _, inst := range j.tasks { // producers first
		if err := r.task(inst); err != nil {
			return nil, err
		}
	}
	for _, id := range sortedKeys(r.counters) { // of operators that another plan does without
		r.out[0].Counters[id] = r.counters[id]
	}
	for _, s := range slices.Backward(old.Shape) { // consumers first
		if err := r.inFlight(s); err != nil {
			return nil, err
		}
	}
	return r.out, nil
}

// collect puts together what belongs together in the old snapshot.
func (r *rescaler) collect() error {
	for _, s := range r.old.Shape {
		r.shapes[s.ID] = s
		for _, part := range r.parts(s.ID) {
			for id, n := range part.Nodes {
				r.nodes[id] = append(r.nodes[id], n)
			}
			for id, t := range part.Operators {
				r.tables[id] = append(r.tables[id], t)
			}
			for id, counters := range part.Counters {
				if r.counters[id] == nil {
					r.counters[id] = map[string]int64{}
				}
				for name, n := range counters {
					r.counters[id][name] += n
				}
			}
			for id, receipts := range part.Receipts {
				r.receipts[id] = append(r.receipts[id], receipts...)
			}
		}
	}
	if len(r.old.Shape) == 0 {
		return errors.New("the snapshot does not fit the plan, and does not say of what plan it is")
	}
	return nil
}

// parts are the old copies of a task, none when it is new.
func (r *rescaler) parts(task string) []*TaskSnapshot {
	var out []*TaskSnapshot
	for p := range r.shapes[task].Partitions {
		if part := r.old.Tasks[taskKey(task, p)]; part != nil {
			out = append(out, part)
		}
	}
	return out
}

// check refuses a snapshot of another plan.
func (r *rescaler) check() error {
	ids := map[string]bool{}
	for _, inst := range r.j.tasks {
		c := chainOf(inst)
		for _, n := range c.nodes {
			ids[n.spec.ID] = true
		}
		for _, s := range c.sinks {
			ids[s.spec.ID] = true
		}
		if c.task.Source == nil {
			continue
		}
		ids[c.task.ID] = true
		if old := r.parts(c.task.ID); len(old) == 0 || old[0].Source == nil {
			return fmt.Errorf("the snapshot has nothing of %s, which the plan reads: the plan has changed", c.task.ID)
		}
	}
	for _, s := range r.old.Shape {
		if r.parts(s.ID)[0].Source != nil && !ids[s.ID] {
			return fmt.Errorf("the snapshot is of a query that reads %s, which the plan does not: the plan has changed", s.ID)
		}
	}
	for _, id := range sortedKeys(r.tables) {
		for _, t := range r.tables[id] {
			if len(t.Names()) > 0 && !ids[id] {
				return fmt.Errorf("the snapshot has state of %s, which the plan does not have: the plan has changed", id)
			}
		}
	}
	for _, id := range sortedKeys(r.receipts) {
		if !ids[id] {
			return fmt.Errorf("the snapshot has rows that %s has not committed, which the plan does not have: the plan has changed", id)
		}
	}
	return nil
}

// node merges what the old copies of an operator knew; ok is false when it had none.
func (r *rescaler) node(id string) (out NodeSnapshot, ok bool) {
	olds := r.nodes[id]
	if len(olds) == 0 {
		return NodeSnapshot{Forwarded: stream.MinTime}, false
	}
	out = NodeSnapshot{Forwarded: stream.MaxTime, Finished: true, Enough: true, Ended: slices.Clone(olds[0].Ended)}
	for _, n := range olds {
		out.Forwarded = min(out.Forwarded, n.Forwarded)
		out.Finished, out.Enough = out.Finished && n.Finished, out.Enough && n.Enough
		for i := range out.Ended {
			out.Ended[i] = out.Ended[i] && n.Ended[i]
		}
		out.Timers = append(out.Timers, n.Timers...)
	}
	slices.SortStableFunc(out.Timers, func(a, b time.Time) int { return a.Compare(b) })
	out.Timers = slices.CompactFunc(out.Timers, time.Time.Equal)
	return out, true
}

// task makes the snapshot of one copy of a task.
func (r *rescaler) task(inst instance) error {
	c := chainOf(inst)
	n := max(c.task.Partitions, 1)
	ts := newTaskSnapshot()
	r.out = append(r.out, ts)
	r.made[taskKey(c.task.ID, c.partition)] = ts
	count := func(id string) {
		if m, ok := r.counters[id]; ok && c.partition == 0 {
			ts.Counters[id] = m
			delete(r.counters, id)
		}
	}
	for _, nd := range c.nodes {
		id := nd.spec.ID
		if ns, ok := r.node(id); ok {
			ts.Nodes[id] = ns
		}
		if r.spread[id] == nil && len(r.tables[id]) > 0 {
			var err error
			if r.spread[id], err = exchange.Redistribute(r.j.o.Allocator, r.tables[id], n); err != nil {
				return fmt.Errorf("the state of %s: %w", id, err)
			}
		}
		if t := r.spread[id]; t != nil {
			ts.Operators[id], t[c.partition] = t[c.partition], &state.Tables{}
		}
		count(id)
	}
	for _, s := range c.sinks {
		count(s.spec.ID)
		if c.partition == 0 {
			ts.Receipts[s.spec.ID] = r.receipts[s.spec.ID]
		}
	}
	for _, op := range c.task.Head {
		count(op.ID)
	}
	if c.task.Source != nil {
		count(c.task.Source.ID)
		old := r.parts(c.task.ID)[0]
		ts.Source, ts.Forwarded, ts.Ended, ts.Phases = old.Source, old.Forwarded, old.Ended, old.Phases
		return nil
	}
	return r.inputs(inst.(*inputTask), ts)
}

// inputs says how the inputs of a task stand.
func (r *rescaler) inputs(it *inputTask, ts *TaskSnapshot) error {
	olds := r.parts(it.task.ID)
	if len(it.task.Inputs) > 1 {
		if len(olds) != 1 || it.task.Partitions > 1 || len(olds[0].Inputs.Marks) != len(it.box.channels) {
			return fmt.Errorf("the parallelism of %s, which has several inputs, cannot be changed", it.task.ID)
		}
		in := *olds[0].Inputs
		for _, q := range in.Queued {
			for _, e := range q {
				e.Batch.Retain()
			}
		}
		ts.Inputs, ts.Forwarded, ts.Ended, ts.Phases = &in, olds[0].Forwarded, olds[0].Ended, olds[0].Phases
		return nil
	}
	in := &InputsSnapshot{Combined: stream.MinTime, Merged: lowestMerged(olds)}
	ts.Inputs, ts.Forwarded, ts.Ended = in, stream.MaxTime, true
	outs := make([]output, len(it.box.channels))
	for i, ch := range it.box.channels {
		outs[i] = r.output(ch.from)
	}
	for _, o := range olds {
		ts.Forwarded, ts.Ended = min(ts.Forwarded, o.Forwarded), ts.Ended && o.Ended
		in.Combined, in.Seq = max(in.Combined, o.Inputs.Combined), max(in.Seq, o.Inputs.Seq)
	}
	if len(olds) == 0 { // new: all that its producers have said has reached what stands behind
		for _, o := range outs {
			ts.Forwarded, ts.Ended = min(ts.Forwarded, o.forwarded), ts.Ended && o.ended
		}
		if in.Combined = ts.Forwarded; ts.Ended {
			in.Combined = stream.MaxTime
		}
		in.Seq = r.passed(it.task)
	}
	for i, ch := range it.box.channels {
		heard := maps.Clone(it.heard[i])
		maps.Copy(heard, r.made[taskKey(ch.from.c.task.ID, ch.from.c.partition)].Phases)
		in.Heard = append(in.Heard, heard)
	}
	ts.Phases = it.restoredPhases(olds, in.Heard)
	for i, o := range outs {
		var queued []stream.Event
		st := Active
		switch {
		case ts.Ended:
			st = Finished
		case o.ended: // it will not say so again
			queued = []stream.Event{{Kind: stream.EventEnd}}
		case silent(in.Heard[i], ts.Phases):
			st = IdleInput
		}
		in.Queued, in.Marks, in.States = append(in.Queued, queued), append(in.Marks, o.forwarded), append(in.States, st)
		in.Bound = append(in.Bound, Bound{Before: o.forwarded})
	}
	return nil
}

// passed is how many rows the producers of a task's first input have made so far: a task that is new numbers its rows behind them, since there may be state
// of them.
func (r *rescaler) passed(t *Task) (n int64) {
	var x ExchangeShape
	for _, s := range r.j.g.shape() {
		if s.ID == t.ID {
			x = s.Inputs[0]
		}
	}
	from := x.From
	for _, p := range r.j.g.Tasks {
		if p.ID == x.Task && from == "" && len(p.Head) > 0 {
			from = p.Head[len(p.Head)-1].ID
		}
	}
	for _, part := range r.old.Tasks {
		n += part.Counters[from][exec.RowsOut]
	}
	return n
}

// output is what is known of what a writer has sent.
type output struct {
	forwarded stream.Time
	ended     bool // and will not be said again
}

// output looks for the operator that feeds a writer: the nearest one that was there before.
func (r *rescaler) output(w *writer) output {
	c := w.c
	ts := r.made[taskKey(c.task.ID, c.partition)]
	var to receiver = w
	for {
		var feeds *node
		for _, n := range c.nodes {
			if slices.Contains(n.main.to, to) || slices.ContainsFunc(n.sides, func(s *side) bool { return slices.Contains(s.f.to, to) }) {
				feeds = n
			}
		}
		if feeds == nil {
			return output{ts.Forwarded, ts.Ended && ts.Source == nil}
		}
		if ns, ok := ts.Nodes[feeds.spec.ID]; ok {
			return output{ns.Forwarded, ns.Finished}
		}
		to = feeds
	}
}
