package task

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/state"
	"github.com/weir-sql/weir/exec/stream"
)

// Snapshot is the state of a job at a barrier: a cut through all its tasks that fits together. It holds Arrow memory until Release.
type Snapshot struct {
	// Epoch is the number of the barrier.
	Epoch int64
	// Tasks has one entry for each partition of each task, by "task/partition".
	Tasks map[string]*TaskSnapshot
	// Shape has the tasks of the graph, producers first.
	Shape []TaskShape
}

// TaskSnapshot is the state of one partition of a task.
type TaskSnapshot struct {
	// Operators has the state tables of each operator, by its id.
	Operators map[string]*Tables
	// Nodes has what the task knows of each operator, by its id.
	Nodes map[string]NodeSnapshot
	// Counters by id of operator, sink or source.
	Counters map[string]map[string]int64
	// Receipts of sinks that were not committed, by id of the sink.
	Receipts map[string][][]byte
	// Source is set for a source task, Inputs for the others.
	Source *SourceSnapshot
	Inputs *InputsSnapshot
	// Forwarded is the last watermark that the source or the inputs gave to the operators.
	Forwarded stream.Time
	// Phases are those of sources, as the tasks behind have been told.
	Phases map[string]int64
	// Ended says that all input had ended.
	Ended bool
	// Pending is what is handed out first; only in a snapshot that was made for another parallelism.
	Pending []Pending
}

// NodeSnapshot is what the task knows of an operator.
type NodeSnapshot struct {
	Forwarded stream.Time // last watermark that it sent on
	Ended     []bool
	Finished  bool
	Enough    bool
	Timers    []time.Time
}

// SourceSnapshot has the positions of a source.
type SourceSnapshot struct {
	Splits   []SplitSnapshot
	Combined stream.Time
	Emitted  stream.Time // differs from Combined under on-periodic
	Rows     int64       // read so far: the next sequence number
	Ended    bool
	Short    bool // nobody wanted the rest
	Vacant   bool // it was idle because there was no split that could speak
	// Last is the place in Splits, from 1, of the split of the last row while it is not known whether it goes on, else 0. Its end may
	// raise the watermark before the next row.
	Last int
	// Allowed is the highest watermark that alignment reads on from, as of the last of its Updates, AlignAt when it is found anew.
	Allowed stream.Time
	AlignAt time.Time
	Updates int64
}

// SplitSnapshot says how far a split was read: from Position, the first Skip rows of the block that begins there were consumed.
type SplitSnapshot struct {
	Split     connectors.Split
	Position  connectors.Position
	Skip      int
	Rows      int64
	Watermark stream.Time
	State     InputState
	Started   bool
	First     stream.Time     // what it counts with before it is started
	LastRow   time.Time       // processing time of its last row; zero before the first
	Generator []byte          // state of its watermark generator at Position
	Elapsed   time.Duration   // of the generator's clock
	Silent    time.Duration   // how long it has been silent, as idleness counts it
	Alignment *AlignmentStats // nil without
	Judged    time.Time       // processing time by which the first Skip rows were found to be too far ahead or not (MaxFuture)
}

// InputsSnapshot is the state of a task's inputs, one entry for each channel.
type InputsSnapshot struct {
	Marks    []stream.Time
	States   []InputState
	Combined stream.Time
	// Queued are rows that lay before the barrier on a waiting input of an ordered merge: they are replayed first.
	Queued [][]stream.Event
	// Bound is the lower bound that each channel has given for its next row.
	Bound []Bound
	// Heard has the phases of sources as each channel has told of them.
	Heard []map[string]int64
	// Seq is the next sequence number, Merged the watermark that the last row was merged at.
	Seq    int64
	Merged stream.Time
}

// Tables are the state tables of one copy of an operator.
type Tables = state.Tables

func newTaskSnapshot() *TaskSnapshot {
	return &TaskSnapshot{Operators: map[string]*Tables{}, Nodes: map[string]NodeSnapshot{}, Counters: map[string]map[string]int64{},
		Receipts: map[string][][]byte{}}
}

func (s *TaskSnapshot) setReceipts(id string, rs []receipt) {
	for _, r := range rs {
		s.Receipts[id] = append(s.Receipts[id], r.data)
	}
}

// Release gives the memory back.
func (s *Snapshot) Release() {
	if s == nil {
		return
	}
	for _, t := range s.Tasks {
		t.release()
	}
	s.Tasks = nil
}

func (s *TaskSnapshot) release() {
	if s == nil {
		return
	}
	for _, t := range s.Operators {
		t.Release()
	}
	for _, p := range s.Pending {
		for _, e := range p.Events {
			e.Batch.Release()
		}
	}
	s.Pending = nil
	if s.Inputs != nil {
		for _, q := range s.Inputs.Queued {
			for _, e := range q {
				e.Batch.Release()
			}
		}
		s.Inputs.Queued = nil
	}
}

// StateRows returns the number of rows in keyed tables, by operator.
func (s *Snapshot) StateRows() map[string]int64 {
	out := map[string]int64{}
	for _, t := range s.Tasks {
		for id, tables := range t.Operators {
			for _, name := range tables.Names() {
				if n, keyed := tables.Rows(name); keyed {
					out[id] += n
				}
			}
		}
	}
	return out
}

// String lists the parts of the snapshot, for tests.
func (s *Snapshot) String() string {
	var b []byte
	for _, k := range slices.Sorted(maps.Keys(s.Tasks)) {
		t := s.Tasks[k]
		b = fmt.Appendf(b, "%s forwarded %d\n", k, t.Forwarded)
		for _, id := range slices.Sorted(maps.Keys(t.Operators)) {
			for _, name := range t.Operators[id].Names() {
				n, _ := t.Operators[id].Rows(name)
				b = fmt.Appendf(b, "  %s.%s %d rows\n", id, name, n)
			}
		}
	}
	return string(b)
}

func taskKey(task string, partition int) string { return task + "/" + strconv.Itoa(partition) }

// snapshot takes the state of the chain's operators. Sources and inputs add theirs.
func (c *chain) snapshot(ctx context.Context, into *TaskSnapshot) error {
	into.Forwarded, into.Phases = c.to.last, maps.Clone(c.phases)
	for _, n := range c.nodes {
		c.current = n.spec.Name
		ns := NodeSnapshot{Forwarded: n.main.last, Ended: slices.Clone(n.ended), Finished: n.finished, Enough: n.enough, Timers: c.timers.pending(n)}
		into.Nodes[n.spec.ID] = ns
		t := &Tables{}
		into.Operators[n.spec.ID] = t
		if !n.finished { // behind Finish there is nothing to go on from
			if err := n.op.Snapshot(ctx, t.Writer()); err != nil {
				return err
			}
		}
		into.count(n.spec.ID, n.env.Metrics)
	}
	for _, s := range c.sinks {
		into.count(s.spec.ID, s.metrics)
	}
	maps.Copy(into.Counters, c.kept)
	return nil
}

func (s *TaskSnapshot) count(id string, m interface{ Each(func(string, int64)) }) {
	counters := map[string]int64{}
	m.Each(func(name string, v int64) { counters[name] = v })
	s.Counters[id] = counters
}

func (s *TaskSnapshot) restoreNode(n *node) {
	ns, ok := s.Nodes[n.spec.ID]
	if !ok {
		return
	}
	n.main.last = ns.Forwarded
	copy(n.ended, ns.Ended)
	n.finished, n.enough = ns.Finished, ns.Enough
	for _, at := range ns.Timers {
		n.env.Timer(at)
	}
}
