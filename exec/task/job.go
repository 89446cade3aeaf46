package task

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

// ErrEnded says that the job ended before what was asked for could be done.
var ErrEnded = errors.New("the query has ended")

// Job is a running graph.
type Job struct {
	o       Options
	g       *Graph
	ctx     context.Context
	cancel  context.CancelCauseFunc
	tasks   []instance
	wg      sync.WaitGroup // tasks
	begun   sync.WaitGroup // tasks that have not taken their part of the snapshot yet
	helpers sync.WaitGroup // connectors' goroutines and our own: they end when ctx is done
	done    chan struct{}
	err     error

	mu         sync.Mutex
	metrics    map[string]*partMetrics
	order      []string
	cuts       map[int64]*cut
	looks      map[int64]bool // snapshots only to look at: sinks end no epoch
	epoch      int64          // last one given out
	finished   int            // tasks that are through
	preparedN  int
	committedN int
	closing    bool  // the last epoch is being ended
	lastEpoch  int64 // number of that epoch
	stopped    bool  // by a barrier
	cutting    sync.Mutex
	rowCut     atomic.Bool
	rowDone    chan struct{}
	rowSnap    *Snapshot
	reporting  bool                                // a source wants reports
	commits    map[int64]*commitWait               // epochs that the sinks are committing
	reached    map[string]*SourceSnapshot          // where sources have ended, by id of the task
	last       map[string]SourceStats              // of sources that have been closed
	bad        map[string][]connectors.BadRecord   // the first ones, by source
	asked      map[int]*look                       // looks that a task has not answered yet, by its number
	sights     map[int]map[string]exec.Observation // what operators told at the last look, by number of the task
	aligner    *aligner
	free       map[*Task]bool // source tasks that alignment must not pause
}

// instance is one partition of a task.
type instance interface {
	begin(ctx context.Context, snap *TaskSnapshot) error
	run(ctx context.Context) error
	close() error
	panicked(operator string, p any) error
}

type partMetrics struct {
	id, name string
	byPart   map[int]*exec.Metrics
}

// cut is a barrier on its way.
type cut struct {
	left int
	snap *Snapshot // nil for a marker
	done chan struct{}
}

// Start begins to run a graph. ctx ends the job when it is done.
func Start(ctx context.Context, g *Graph, o Options) (*Job, error) {
	o.fill()
	if len(g.Tasks) == 0 {
		return nil, errors.New("internal error: a graph without tasks")
	}
	j := &Job{o: o, g: g, done: make(chan struct{}), metrics: map[string]*partMetrics{}, cuts: map[int64]*cut{}, looks: map[int64]bool{}, commits: map[int64]*commitWait{}, reached: map[string]*SourceSnapshot{},
		rowDone: make(chan struct{}), last: map[string]SourceStats{}, bad: map[string][]connectors.BadRecord{},
		asked: map[int]*look{}, sights: map[int]map[string]exec.Observation{}, aligner: newAligner(o.Clock), free: freeSources(g)}
	j.ctx, j.cancel = context.WithCancelCause(ctx)
	if o.Restore != nil {
		j.epoch = o.Restore.Epoch
	}
	readers := map[*Task][]*inputTask{}
	for _, t := range g.Tasks {
		if t.Source != nil {
			j.tasks = append(j.tasks, newSource(j, t))
			continue
		}
		for p := range max(t.Partitions, 1) {
			it := newInputTask(j, t, p)
			j.tasks = append(j.tasks, it)
			readers[t] = append(readers[t], it)
		}
	}
	// Channels are numbered by input, then by the producer's place: ties of ordered merges are decided by that.
	connected, feeds := map[*writer]bool{}, g.feeds()
	for _, t := range g.Tasks {
		for k, x := range t.Inputs {
			for _, inst := range j.tasks {
				for _, w := range chainOf(inst).writers {
					if w.spec != x || connected[w] {
						continue
					}
					connected[w] = true
					var to []*channel
					for _, r := range readers[t] {
						to = append(to, r.channel(k, feeds[chainOf(inst).task.ID]...))
					}
					w.connect(to)
				}
			}
		}
	}
	for _, inst := range j.tasks {
		for _, w := range chainOf(inst).writers {
			if !connected[w] {
				j.cancel(nil)
				return nil, fmt.Errorf("internal error: nobody reads exchange %s", w.spec.ID)
			}
		}
	}
	parts, release, err := j.restoredParts(o.Restore)
	if err != nil {
		j.cancel(nil)
		return nil, err
	}
	defer release()
	if v, ok := o.Clock.(*VirtualClock); ok {
		v.attach(j)
	}
	for i, inst := range j.tasks {
		j.wg.Add(1)
		j.begun.Add(1)
		go j.runTask(inst, parts[i])
	}
	if v, ok := o.Clock.(*VirtualClock); ok && o.Jump {
		j.helpers.Add(1)
		go func() {
			defer j.helpers.Done()
			j.jumpWhenIdle(v)
		}()
	}
	go j.watch()
	if o.Restore != nil {
		j.begun.Wait() // the caller may release the snapshot as soon as Start has returned
	}
	return j, nil
}

// restoredParts returns what each task begins with, in the order of tasks, and what gives it back when all have begun.
func (j *Job) restoredParts(from *Snapshot) (parts []*TaskSnapshot, release func(), err error) {
	switch {
	case from == nil:
		return make([]*TaskSnapshot, len(j.tasks)), func() {}, nil
	case !j.fits(from):
		if parts, err = j.rescale(from); err != nil {
			return nil, nil, err
		}
		return parts, func() {
			for _, p := range parts {
				p.release()
			}
		}, nil
	}
	for _, inst := range j.tasks {
		c := chainOf(inst)
		parts = append(parts, from.Tasks[taskKey(c.task.ID, c.partition)])
	}
	return parts, func() {}, nil
}

func chainOf(i instance) *chain {
	switch t := i.(type) {
	case *source:
		return t.chain
	case *inputTask:
		return t.chain
	}
	return nil
}

func boxOf(i instance) *mailbox {
	switch t := i.(type) {
	case *source:
		return t.box
	case *inputTask:
		return t.mail
	}
	return nil
}

// runTask runs an instance and closes it, whatever happens.
func (j *Job) runTask(inst instance, part *TaskSnapshot) {
	defer j.wg.Done()
	if err := j.guard(inst, func() error {
		err := func() error {
			defer j.begun.Done() // also when it panics
			return inst.begin(j.ctx, part)
		}()
		if err != nil {
			return err
		}
		return inst.run(j.ctx)
	}); err != nil {
		j.fail(err)
	}
	if err := j.guard(inst, inst.close); err != nil {
		j.fail(err)
	}
}

func (j *Job) guard(inst instance, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = inst.panicked(chainOf(inst).current, p)
		}
	}()
	return f()
}

// fail ends the job with the first error.
func (j *Job) fail(err error) {
	j.mu.Lock()
	if j.err == nil {
		j.err = err
	}
	j.mu.Unlock()
	j.cancel(err)
}

// watch waits for all goroutines and then ends the job.
func (j *Job) watch() {
	j.wg.Wait()
	j.mu.Lock()
	if cause := context.Cause(j.ctx); j.err == nil && cause != nil {
		j.err = cause
	}
	if errors.Is(j.err, context.Canceled) {
		if cause := context.Cause(j.ctx); cause != nil {
			j.err = cause
		}
	}
	for _, c := range j.cuts {
		if c.snap != nil {
			c.snap.Release()
		}
	}
	j.mu.Unlock()
	j.cancel(nil)
	if v, ok := j.o.Clock.(*VirtualClock); ok {
		v.detach(j)
	}
	j.helpers.Wait()
	close(j.done)
}

// Wait waits for the end of the job and returns why it ended: nil when all input was worked off, or after Stop.
func (j *Job) Wait() error {
	<-j.done
	return j.err
}

// Done is closed when the job has ended and nothing of it is left.
func (j *Job) Done() <-chan struct{} { return j.done }

// Cancel ends the job at once, without closing windows, and waits until nothing of it is left. Wait then returns context.Canceled, unless it was
// through before.
func (j *Job) Cancel() {
	j.cancel(context.Canceled)
	<-j.done
}

// Checkpoint takes a snapshot of the running job. The caller releases it. ErrEnded: the job ended first.
func (j *Job) Checkpoint(ctx context.Context) (*Snapshot, error) {
	return j.barrier(ctx, stream.Barrier{Snapshot: true}, false)
}

// Stop takes a snapshot and ends the job behind it, without closing windows.
func (j *Job) Stop(ctx context.Context) (*Snapshot, error) {
	s, err := j.barrier(ctx, stream.Barrier{Snapshot: true, Stop: true}, false)
	if err != nil {
		return nil, err
	}
	select {
	case <-j.done:
	case <-ctx.Done():
		s.Release()
		return nil, ctx.Err()
	}
	if err := j.Wait(); err != nil {
		s.Release()
		return nil, err
	}
	return s, nil
}

// Drain has the sources read no more and waits for the end of the job, which is that of bounded input: watermarks reach their end, windows close, sinks
// commit.
func (j *Job) Drain(ctx context.Context) error {
	for _, inst := range j.tasks {
		if s, ok := inst.(*source); ok {
			s.box.put(message{drain: true})
		}
	}
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Look takes a snapshot that is only looked at: sinks end no epoch. The caller releases it.
func (j *Job) Look(ctx context.Context) (*Snapshot, error) {
	return j.barrier(ctx, stream.Barrier{Snapshot: true}, true)
}

// Marker waits until every source has nothing more to read now and all that was read before has been worked off, up to the sinks. It returns nil when the
// job has ended.
func (j *Job) Marker(ctx context.Context) error {
	_, err := j.barrier(ctx, stream.Barrier{}, false)
	j.mu.Lock()
	closing := j.closing
	j.mu.Unlock()
	switch {
	case errors.Is(err, ErrEnded): // it is ending: whoever asks for its state then gets the last one
	case err != nil || !closing:
		return err
	}
	// Every task is through: what is left is the end of the sinks' last epoch, which waits for nothing.
	select {
	case <-j.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (j *Job) barrier(ctx context.Context, b stream.Barrier, look bool) (*Snapshot, error) {
	if b.Snapshot {
		j.cutting.Lock()
		defer j.cutting.Unlock()
	}
	c, err := j.beginBarrier(b, look)
	if err != nil {
		return nil, err
	}
	return j.awaitCut(ctx, c)
}

func (j *Job) beginBarrier(b stream.Barrier, look bool) (*cut, error) {
	j.mu.Lock()
	if j.closing && b.Snapshot || j.stopped || j.ctx.Err() != nil {
		j.mu.Unlock()
		return nil, ErrEnded
	}
	j.epoch++
	b.ID = j.epoch
	c := &cut{left: len(j.tasks), done: make(chan struct{})}
	if b.Snapshot {
		c.snap = &Snapshot{Epoch: b.ID, Tasks: map[string]*TaskSnapshot{}, Shape: j.g.shape()}
	}
	j.cuts[b.ID] = c
	if look {
		j.looks[b.ID] = true
	}
	j.mu.Unlock()
	for _, inst := range j.tasks {
		if s, ok := inst.(*source); ok {
			s.box.put(message{barrier: &barrierRequest{barrier: b}})
		}
	}
	return c, nil
}

func (j *Job) awaitCut(ctx context.Context, c *cut) (*Snapshot, error) {
	select {
	case <-c.done:
		return c.snap, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-j.done:
		select {
		case <-c.done:
			return c.snap, nil
		default:
		}
		if j.err != nil && !errors.Is(j.err, context.Canceled) {
			return nil, j.err
		}
		return nil, ErrEnded
	}
}

// barrierDone takes an instance's part of a barrier.
func (j *Job) barrierDone(b stream.Barrier, t *Task, partition int, part *TaskSnapshot) {
	j.mu.Lock()
	c := j.cuts[b.ID]
	if c == nil {
		j.mu.Unlock()
		part.release()
		return
	}
	if part != nil {
		c.snap.Tasks[taskKey(t.ID, partition)] = part
	}
	c.left--
	last := c.left == 0
	look := j.looks[b.ID]
	if last {
		delete(j.cuts, b.ID)
		delete(j.looks, b.ID)
		j.stopped = j.stopped || b.Stop
		if b.Snapshot && !look {
			j.commits[b.ID] = &commitWait{left: len(j.tasks), stop: b.Stop, report: j.reportOf(c.snap)}
		}
	}
	j.mu.Unlock()
	if !last {
		return
	}
	if b.Snapshot && !look {
		j.tell(message{commit: b.ID})
	}
	close(c.done)
}

// looking reports that the barrier's snapshot is only looked at.
func (j *Job) looking(id int64) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.looks[id]
}

func (j *Job) tell(m message) {
	for _, inst := range j.tasks {
		boxOf(inst).put(m)
	}
}

// taskFinished counts instances that are through; behind the last one the sinks end their last epoch, and commit it.
func (j *Job) taskFinished() {
	j.mu.Lock()
	j.finished++
	last := j.finished == len(j.tasks) && !j.stopped
	if last {
		j.closing = true
		j.epoch++
		j.lastEpoch = j.epoch // a marker may still take a later number
	}
	epoch := j.epoch
	j.mu.Unlock()
	if last {
		j.tell(message{prepare: epoch})
	}
}

func (j *Job) prepared(epoch int64) {
	j.mu.Lock()
	j.preparedN++
	last := j.preparedN == len(j.tasks)
	j.mu.Unlock()
	if last {
		j.tell(message{commit: epoch})
	}
}

// committed counts the tasks whose sinks have committed an epoch; behind the last one sources may report, and the job may end.
func (j *Job) committed(epoch int64) {
	j.mu.Lock()
	if w := j.commits[epoch]; w != nil {
		if w.left--; w.left == 0 {
			delete(j.commits, epoch)
			if w.report != nil {
				j.tell(message{report: w.report})
			}
			if w.stop {
				j.tell(message{done: true})
			}
		}
	}
	if !j.closing || epoch != j.lastEpoch || j.preparedN < len(j.tasks) {
		j.mu.Unlock()
		return
	}
	j.committedN++
	last := j.committedN == len(j.tasks)
	end := j.lastReport()
	j.mu.Unlock()
	if last {
		if end != nil {
			j.tell(message{report: end})
		}
		j.tell(message{done: true})
	}
}

// refused tells the producers of a task that a consumer wants no more.
func (j *Job) refused(t *Task) {
	for _, inst := range j.tasks {
		for _, w := range chainOf(inst).writers {
			if slices.Contains(t.Inputs, w.spec) {
				boxOf(inst).put(message{refused: true})
				break
			}
		}
	}
}

// rowBarrierBegun, beginRowBarrier: the one checkpoint of Options.CheckpointAfterRows.
func (j *Job) rowBarrierBegun() bool { return j.rowCut.Load() }

func (j *Job) beginRowBarrier() {
	if j.rowCut.Swap(true) {
		return
	}
	c, err := j.beginBarrier(stream.Barrier{Snapshot: true, Stop: j.o.StopAfterRows}, false)
	if err != nil {
		return
	}
	j.mu.Lock()
	j.rowSnap = c.snap
	j.mu.Unlock()
	j.helpers.Add(1)
	go func() {
		defer j.helpers.Done()
		select {
		case <-c.done:
			close(j.rowDone)
		case <-j.ctx.Done():
			select {
			case <-c.done:
				close(j.rowDone)
			default:
			}
		}
	}()
}

// RowCheckpoint waits for the checkpoint of Options.CheckpointAfterRows. It returns nil when the job ended with fewer rows. The caller releases it.
func (j *Job) RowCheckpoint(ctx context.Context) (*Snapshot, error) {
	select {
	case <-j.rowDone:
		return j.rowSnap, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-j.done:
		select {
		case <-j.rowDone:
			return j.rowSnap, nil
		default:
			return nil, j.err
		}
	}
}

// metricsOf returns the counters of one partition of an operator, sink or source.
func (j *Job) metricsOf(id, name string, partition int) *exec.Metrics {
	j.mu.Lock()
	defer j.mu.Unlock()
	p := j.metrics[id]
	if p == nil {
		p = &partMetrics{id: id, name: name, byPart: map[int]*exec.Metrics{}}
		j.metrics[id] = p
		j.order = append(j.order, id)
	}
	if p.name == id { // restored before it was named
		p.name = name
	}
	m := p.byPart[partition]
	if m == nil {
		m = &exec.Metrics{}
		p.byPart[partition] = m
	}
	return m
}

// restoreCounters sets counters to what a snapshot holds.
func (j *Job) restoreCounters(id string, partition int, counters map[string]int64) {
	m := j.metricsOf(id, id, partition)
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		m.Counter(name).Store(counters[name])
	}
}

func (j *Job) env(op *Op, partition, partitions int, m *exec.Metrics) *exec.Env {
	return &exec.Env{
		ID: op.ID, Name: op.Name, Partition: partition, Partitions: max(partitions, 1), Allocator: j.o.Allocator, Clock: j.o.Clock, Log: j.o.Log, Zone: j.o.Zone,
		BatchRows: j.o.BatchRows, Bytes: exec.NewAccount(op.Name+" "+op.ID, j.o.Budget), Metrics: m, Config: j.o.Config,
	}
}

func (j *Job) connectorEnv(m *exec.Metrics, account *exec.Account) *connectors.Env {
	return &connectors.Env{
		Allocator: j.o.Allocator, Clock: j.o.Clock, Log: j.o.Log, Zone: j.o.Zone, BatchRows: j.o.BatchRows, Partitions: 1,
		Go: func(f func(ctx context.Context)) {
			j.helpers.Add(1)
			go func() {
				defer j.helpers.Done()
				defer func() {
					if p := recover(); p != nil {
						j.fail(internalError(j.o.Query, "connector", 0, p))
					}
				}()
				f(j.ctx)
			}()
		},
		Grow:  account.Grow,
		Count: func(name string, n int64) { m.Counter(name).Add(n) },
		Stdin: j.o.Stdin, Stdout: j.o.Stdout, Stderr: j.o.Stderr,
	}
}

// jumpWhenIdle moves a virtual clock to its next timer whenever the job has nothing to do, until the job ends.
func (j *Job) jumpWhenIdle(v *VirtualClock) {
	for {
		if err := j.Marker(j.ctx); err != nil || j.ctx.Err() != nil {
			return
		}
		if !v.jump() { // nothing is due: only the outside can move the job on
			c, cancel := SystemClock{}.After(jumpPause)
			select {
			case <-j.ctx.Done():
				cancel()
				return
			case <-c:
			}
		}
	}
}

const jumpPause = time.Millisecond

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
