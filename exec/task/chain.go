package task

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

// chain is one copy of a task's operators, sinks and exchange writers: all that one goroutine calls.
type chain struct {
	job       *Job
	task      *Task
	partition int
	to        fanout // what the source or the inputs feed
	nodes     []*node
	sinks     []*sinkNode
	writers   []*writer
	timers    timers
	current   string                      // operator that runs now, for the message of a panic
	pending   []Pending                   // of a restored snapshot, handed out before anything else
	kept      map[string]map[string]int64 // counters of operators that only the plan at another parallelism has
	phases    phases                      // of sources, as those behind have been told
	blocked   time.Duration               // for which sinks and full inboxes have held the task up
	blocks    func(on bool)               // is told when a wait for them begins and ends; may be nil
	onReport  func(ctx context.Context, r *report)
}

// receiver takes what an operator, a source or an input produces. Errors are final, but for exec.ErrEnough: no more rows wanted.
type receiver interface {
	// batch owns b, also when it fails.
	batch(ctx context.Context, in int, b stream.Batch) error
	watermark(ctx context.Context, wm stream.Time) error
	// end says that input in has ended.
	end(ctx context.Context, in int) error
}

// fanout is a list of consumers that all get everything.
type fanout struct {
	to     []receiver
	enough []bool // consumers that want no more
	last   stream.Time
}

func newFanout(to []receiver) fanout {
	return fanout{to: to, enough: make([]bool, len(to)), last: stream.MinTime}
}

// done reports that no consumer wants more; a fanout without consumers always wants more.
func (f *fanout) done() bool {
	for _, e := range f.enough {
		if !e {
			return false
		}
	}
	return len(f.to) > 0
}

func (f *fanout) batch(ctx context.Context, in int, b stream.Batch) error {
	if b.Len() == 0 || len(f.to) == 0 {
		b.Release()
		return nil
	}
	if f.done() {
		b.Release()
		return exec.ErrEnough
	}
	live := 0
	for _, e := range f.enough {
		if !e {
			live++
		}
	}
	for i, r := range f.to {
		if f.enough[i] {
			continue
		}
		if live--; live > 0 {
			b.Retain()
		}
		if err := r.batch(ctx, in, b); err != nil {
			if !errors.Is(err, exec.ErrEnough) {
				if live > 0 {
					b.Release()
				}
				return err
			}
			f.enough[i] = true
		}
	}
	if f.done() {
		return exec.ErrEnough
	}
	return nil
}

// watermark passes wm on when it has grown. MaxTime is held back: it belongs behind the producer's last row, and end passes it on.
func (f *fanout) watermark(ctx context.Context, wm stream.Time) error {
	if wm <= f.last || wm == stream.MaxTime {
		return nil
	}
	f.last = wm
	for i, r := range f.to {
		if f.enough[i] {
			continue
		}
		if err := r.watermark(ctx, wm); err != nil {
			if !errors.Is(err, exec.ErrEnough) {
				return err
			}
			f.enough[i] = true
		}
	}
	if f.done() {
		return exec.ErrEnough
	}
	return nil
}

func (f *fanout) end(ctx context.Context, in int) error {
	for _, r := range f.to {
		if err := r.end(ctx, in); err != nil && !errors.Is(err, exec.ErrEnough) {
			return err
		}
	}
	return nil
}

// node is one copy of an operator with what it is given. It is the exec.Output of its operator.
type node struct {
	c        *chain
	spec     *Op
	op       exec.Operator
	env      *exec.Env
	ctx      context.Context
	main     fanout
	sides    []*side
	ended    []bool // inputs that have ended
	finished bool   // Finish was called
	enough   bool   // wants no more rows
	rowsIn   *atomic.Int64
	rowsOut  *atomic.Int64
	peak     *atomic.Int64 // most rows in state; nil before the first
	unseen   int64         // rows since its state was last looked at
}

func (n *node) result(err error) error {
	if err != nil && errors.Is(err, exec.ErrEnough) {
		n.enough = true
		return exec.ErrEnough
	}
	return err
}

func (n *node) batch(ctx context.Context, in int, b stream.Batch) error {
	if n.enough {
		b.Release()
		return exec.ErrEnough
	}
	n.rowsIn.Add(int64(b.Len()))
	prev := n.c.current
	n.c.current = n.spec.Name
	rows := int64(b.Len())
	err := n.op.ProcessBatch(ctx, in, b, n)
	if err == nil {
		n.c.current = prev
		n.measure(rows)
	}
	return n.result(err)
}

// measure looks how many rows are in the operator's state, behind a batch and before the watermark that may take some out. Not behind each: what the peak
// may be wrong by is 1/64 of it.
func (n *node) measure(rows int64) {
	o, ok := n.op.(exec.Observer)
	if !ok {
		return
	}
	if n.unseen += rows; n.peak != nil && n.unseen <= n.peak.Load()/64 {
		return
	}
	n.unseen = 0
	seen, ok := o.Observe()
	if !ok {
		return
	}
	if n.peak == nil {
		n.peak = n.env.Metrics.Counter(exec.PeakStateRows)
	}
	if seen.StateRows > n.peak.Load() {
		n.peak.Store(seen.StateRows)
	}
}

func (n *node) watermark(ctx context.Context, wm stream.Time) error {
	if n.enough {
		return exec.ErrEnough
	}
	prev := n.c.current
	n.c.current = n.spec.Name
	err := n.op.ProcessWatermark(ctx, wm, n)
	if err == nil {
		n.c.current = prev
	}
	return n.result(err)
}

// end ends input in; behind the last one the operator gets the watermark MaxTime and Finish, and its consumers end too.
func (n *node) end(ctx context.Context, in int) error {
	if n.finished || n.ended[in] {
		return nil
	}
	n.ended[in] = true
	live := !n.main.done() // else nothing that the operator says can reach anyone
	call := func(f func() error) error {
		if !live {
			return nil
		}
		n.c.current = n.spec.Name
		if err := f(); err != nil {
			if !errors.Is(err, exec.ErrEnough) {
				return err
			}
			n.enough = true
			live = !n.main.done()
		}
		return nil
	}
	if err := call(func() error { return n.op.EndInput(ctx, in, n) }); err != nil {
		return err
	}
	for _, e := range n.ended {
		if !e {
			return nil
		}
	}
	if err := call(func() error { return n.op.ProcessWatermark(ctx, stream.MaxTime, n) }); err != nil {
		return err
	}
	if err := call(func() error { return n.op.Finish(ctx, n) }); err != nil {
		return err
	}
	n.finished = true
	if err := n.main.end(ctx, 0); err != nil {
		return err
	}
	for _, s := range n.sides {
		if err := s.f.end(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

// processTimer is called when the clock has reached at.
func (n *node) processTimer(ctx context.Context, at time.Time) error {
	if n.enough || n.finished {
		return nil
	}
	prev := n.c.current
	n.c.current = n.spec.Name
	err := n.op.ProcessTimer(ctx, at, n)
	if err == nil {
		n.c.current = prev
	}
	return n.result(err)
}

// Emit implements exec.Output.
func (n *node) Emit(b stream.Batch) error {
	n.rowsOut.Add(int64(b.Len()))
	return n.main.batch(n.ctx, 0, b)
}

// Watermark implements exec.Output.
func (n *node) Watermark(wm stream.Time) error {
	return n.main.watermark(n.ctx, wm)
}

// Side implements exec.Output.
func (n *node) Side(name string) exec.Output {
	for _, s := range n.sides {
		if s.name == name {
			return s
		}
	}
	return nil
}

// side is a named second output. That nobody wants more of it is nothing to the operator.
type side struct {
	name string
	ctx  context.Context
	f    fanout
}

func (s *side) Emit(b stream.Batch) error {
	if err := s.f.batch(s.ctx, 0, b); err != nil && !errors.Is(err, exec.ErrEnough) {
		return err
	}
	return nil
}
func (s *side) Watermark(stream.Time) error { return nil }
func (s *side) Side(string) exec.Output     { return nil }

// sinkNode is one copy of a sink.
type sinkNode struct {
	c        *chain
	spec     *Sink
	sink     connectors.Sink
	env      *connectors.Env
	metrics  *exec.Metrics
	rowsIn   *atomic.Int64
	account  *exec.Account
	receipts []receipt // prepared, not committed yet
	inputs   int       // how many targets feed it
}

func (s *sinkNode) batch(ctx context.Context, _ int, b stream.Batch) error {
	s.rowsIn.Add(int64(b.Len()))
	s.c.current = s.spec.Name
	defer s.c.waiting()()
	return s.sink.Write(ctx, b)
}

// waiting begins what may be a wait for whoever takes rows, and returns what ends it.
func (c *chain) waiting() func() {
	begin := c.job.o.Clock.Now()
	if c.blocks != nil {
		c.blocks(true)
	}
	return func() {
		c.blocked += c.job.o.Clock.Now().Sub(begin)
		if c.blocks != nil {
			c.blocks(false)
		}
	}
}

func (s *sinkNode) watermark(ctx context.Context, wm stream.Time) error {
	if w, ok := s.sink.(connectors.WatermarkSink); ok {
		return w.Watermark(ctx, wm)
	}
	return nil
}

func (s *sinkNode) end(ctx context.Context, _ int) error {
	if w, ok := s.sink.(connectors.WatermarkSink); ok {
		return w.Watermark(ctx, stream.MaxTime)
	}
	return nil
}

// prepare ends an epoch.
func (s *sinkNode) prepare(ctx context.Context, epoch int64) error {
	s.c.current = s.spec.Name
	r, err := s.sink.Prepare(ctx, epoch)
	if err == nil && r != nil {
		s.receipts = append(s.receipts, receipt{epoch, r})
	}
	return err
}

// commit makes the epochs up to one visible.
func (s *sinkNode) commit(ctx context.Context, epoch int64) error {
	s.c.current = s.spec.Name
	for len(s.receipts) > 0 && s.receipts[0].epoch <= epoch {
		if err := s.sink.Commit(ctx, s.receipts[0].data); err != nil {
			return err
		}
		s.receipts = s.receipts[1:]
	}
	return nil
}

// receipt names a prepared epoch of a sink.
type receipt struct {
	epoch int64
	data  []byte
}

// newChain makes the copies of a task's operators for one partition. Nothing is opened yet.
func newChain(j *Job, t *Task, partition int) *chain {
	c := &chain{job: j, task: t, partition: partition, current: t.ID, phases: phases{}}
	c.timers.c = c
	made := map[any]receiver{}
	c.to = newFanout(c.receivers(t.To, made))
	return c
}

func (c *chain) receivers(targets []Target, made map[any]receiver) []receiver {
	out := make([]receiver, 0, len(targets))
	for _, t := range targets {
		switch {
		case t.Op != nil:
			out = append(out, c.node(t.Op, made))
		case t.Sink != nil:
			r, ok := made[t.Sink].(*sinkNode)
			if !ok {
				m := c.job.metricsOf(t.Sink.ID, t.Sink.Name, c.partition)
				r = &sinkNode{c: c, spec: t.Sink, metrics: m, rowsIn: m.Counter(exec.RowsIn),
					account: exec.NewAccount("sink "+t.Sink.Name, c.job.o.Budget)}
				made[t.Sink] = r
				c.sinks = append(c.sinks, r)
			}
			r.inputs++
			out = append(out, r)
		case t.Exchange != nil:
			w := newWriter(c, t.Exchange)
			c.writers = append(c.writers, w)
			out = append(out, w)
		}
	}
	return out
}

func (c *chain) node(spec *Op, made map[any]receiver) *node {
	if n, ok := made[spec].(*node); ok {
		return n
	}
	m := c.job.metricsOf(spec.ID, spec.Name, c.partition)
	n := &node{c: c, spec: spec, ended: make([]bool, max(spec.Inputs, 1)), rowsIn: m.Counter(exec.RowsIn), rowsOut: m.Counter(exec.RowsOut)}
	made[spec] = n
	n.env = c.job.env(spec, c.partition, c.task.Partitions, m)
	n.env.Timer = c.timers.of(n)
	n.main = newFanout(c.receivers(spec.To, made))
	for _, name := range slices.Sorted(maps.Keys(spec.Side)) {
		n.sides = append(n.sides, &side{name: name, f: newFanout(c.receivers(spec.Side[name], made))})
	}
	c.nodes = append(c.nodes, n)
	return n
}

// open opens consumers before producers. snap is nil when there is nothing to restore.
func (c *chain) open(ctx context.Context, snap *TaskSnapshot) error {
	for _, s := range c.sinks {
		c.current = s.spec.Name
		var err error
		if s.sink, err = s.spec.New(); err != nil {
			return err
		}
		s.env = c.job.connectorEnv(s.metrics, s.account)
		s.env.ID, s.env.Partition, s.env.Partitions = s.spec.ID, c.partition, c.task.Partitions
		var receipts [][]byte
		if snap != nil {
			receipts = snap.Receipts[s.spec.ID]
		}
		if err := s.sink.Open(ctx, s.env, receipts); err != nil {
			return err
		}
	}
	for _, n := range c.nodes { // appended behind their consumers
		c.current = n.spec.Name
		n.ctx = ctx
		for _, s := range n.sides {
			s.ctx = ctx
		}
		n.op = n.spec.New()
		var from exec.StateReader
		if snap != nil {
			from = snap.Operators[n.spec.ID]
			snap.restoreNode(n)
		}
		if err := n.op.Open(ctx, n.env, from); err != nil {
			return err
		}
	}
	if snap != nil {
		c.to.last = snap.Forwarded
		maps.Copy(c.phases, snap.Phases)
		for _, p := range snap.Pending {
			for _, e := range p.Events {
				e.Batch.Retain()
			}
			c.pending = append(c.pending, p)
		}
		for id, m := range snap.Counters {
			c.job.restoreCounters(id, c.partition, m)
			if !c.has(id) {
				if c.kept == nil {
					c.kept = map[string]map[string]int64{}
				}
				c.kept[id] = m
			}
		}
	}
	return nil
}

// close closes everything, whatever happened before, and returns the first error.
func (c *chain) close() error {
	var first error
	keep := func(err error) {
		if err != nil && first == nil {
			first = err
		}
	}
	for _, n := range c.nodes {
		if n.op != nil {
			c.current = n.spec.Name
			keep(n.op.Close())
		}
	}
	for _, s := range c.sinks {
		if s.sink != nil {
			c.current = s.spec.Name
			keep(s.sink.Close())
		}
	}
	for _, p := range c.pending {
		for _, e := range p.Events {
			e.Batch.Release()
		}
	}
	c.pending = nil
	c.timers.stop()
	return first
}

// barrier takes the chain's part of the snapshot where it is asked for, and passes b on.
func (c *chain) barrier(ctx context.Context, b stream.Barrier, into *TaskSnapshot) error {
	if b.Snapshot {
		if err := c.snapshot(ctx, into); err != nil {
			return err
		}
		for _, s := range c.sinks {
			if !c.job.looking(b.ID) {
				if err := s.prepare(ctx, b.ID); err != nil {
					return err
				}
			}
			into.setReceipts(s.spec.ID, s.receipts)
		}
	}
	for _, w := range c.writers {
		if err := w.barrier(ctx, b); err != nil && !errors.Is(err, exec.ErrEnough) {
			return err
		}
	}
	return nil
}

// progress tells the tasks behind how far sequence numbers have come.
func (c *chain) progress(ctx context.Context, seq int64) error {
	for _, w := range c.writers {
		if err := w.progress(ctx, seq); err != nil && !errors.Is(err, exec.ErrEnough) {
			return err
		}
	}
	return nil
}

// unwanted reports that all that the chain does is for consumers that want no more.
func (c *chain) unwanted() bool {
	if len(c.writers) == 0 || len(c.sinks) > 0 {
		return false
	}
	for _, w := range c.writers {
		if !w.unwanted() {
			return false
		}
	}
	return true
}

// internalError is a panic of an operator, made an error.
func internalError(query, operator string, partition int, p any) error {
	return fmt.Errorf("internal error in query %s, operator %s, partition %d: %v", query, operator, partition, p)
}
