package task

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

// source runs a source task: it reads blocks, has them decoded, puts rows in order and fixes the watermark before each of them, has the stateless head
// of the chain run over the batches, and gives these to the rest of the chain, in order. All but decoding and the head happens on one goroutine; with
// one thread these do too.
type source struct {
	*chain
	spec     *Source
	src      connectors.Source
	env      *connectors.Env
	metrics  *exec.Metrics
	rowsRead *atomic.Int64 // rows read
	hasRead  atomic.Bool   // in this run: a look that is not answered is held up by what is behind
	account  *exec.Account
	pool     workers
	wake     chan struct{}
	box      *mailbox
	open     int // readers that are open
	blocks   int // read, not used up

	blockBytes, maxBlocks, maxItems int

	// Order of rows.
	splits       []*split
	ordered      bool // bounded splits in a defined order
	heap         splitHeap
	upcoming     []*split // not started at the beginning, in the order in which they will be
	nextUpcoming int
	last         *split // of the last row, while it is not known whether it goes on
	comb         Combiner
	arrived      []*block
	turn         int
	w            stream.Time // combined watermark behind the rows taken
	emitted      stream.Time // what rows are judged by under on-periodic
	nextTick     time.Time
	alarm        <-chan time.Time
	alarmAt      time.Time
	disarmer     func()
	rows         int64 // taken so far
	startRows    int64
	relist       bool      // Changed has signalled
	vacantSince  time.Time // by readingTime: no split could speak since

	items     []*item
	sent      stream.Time // last watermark put into an item
	sentIdle  bool
	ended     bool // nothing more to read
	stopping  bool // a barrier with Stop is under way
	finished  bool // the chain has been ended
	stopped   bool
	headSides [][]*side
	badTo     fanout     // the table of bad records
	bad       badRecords // met since the last item
	// Generators that go by the clock, and how many splits were looked at for them; the error of one in a place where none can be returned.
	clockSplits []*split
	begun       int
	failed      error
	markers     []*barrierRequest // wait until there is nothing to read
	cuts        []*barrierRequest // wait for the end of a block
	reports     bool              // src wants them
	short       bool              // nobody wanted the rest
	slack       time.Duration     // by which a split may be found idle later than it could be
	asked       time.Time         // when readers were last asked in turn, by readingTime
	// Alignment.
	member  *member     // nil without
	visited int         // splits that were asked so far
	joined  bool        // all were, and the group knows
	free    bool        // never paused: a backfill waits for the rows
	allowed stream.Time // highest watermark that is read on from, as of the update with number updates
	updates int64
	paused  int // splits
	aside   int // their blocks
}

func newSource(j *Job, t *Task) *source {
	s := &source{chain: newChain(j, t, 0), spec: t.Source, wake: make(chan struct{}, 1), w: stream.MinTime, emitted: stream.MinTime, sent: stream.MinTime}
	s.box = &mailbox{wake: s.wake}
	s.metrics = j.metricsOf(s.spec.ID, s.spec.Name, 0)
	s.rowsRead = s.metrics.Counter(exec.RowsIn)
	s.account = exec.NewAccount("table "+s.spec.Table, j.o.Budget)
	s.env = j.connectorEnv(s.metrics, s.account)
	s.env.ID = s.spec.ID
	s.maxItems = 1
	s.maxBlocks = 1
	if j.o.Threads > 1 {
		s.maxItems, s.maxBlocks = j.o.Threads+1, j.o.Threads+2
	}
	s.blockBytes = s.spec.BlockBytes
	if s.blockBytes <= 0 {
		s.blockBytes = defaultBlockBytes
	}
	s.blockBytes = min(s.blockBytes, maxBlockBytes)
	if _, machine := j.o.Clock.(SystemClock); machine { // a thousand splits that fall silent within an instant are one thing to do, not a thousand
		s.slack = min(s.spec.IdleTimeout/100, maxIdleSlack)
	}
	s.allowed = stream.MaxTime
	if s.spec.Align.on() && s.spec.Times {
		s.member = j.aligner.join(s.spec.Align, s.signal)
		s.chain.blocks = func(on bool) { j.aligner.setBlocked(s.member, on) }
		s.free = j.free[t]
	}
	s.badTo = newFanout(s.receivers(s.spec.Bad, map[any]receiver{}))
	for _, op := range t.Head {
		var sides []*side
		for _, name := range sortedKeys(op.Side) {
			sides = append(sides, &side{name: name, f: newFanout(s.receivers(op.Side[name], map[any]receiver{}))})
		}
		s.headSides = append(s.headSides, sides)
	}
	return s
}

const (
	maxBlockBytes = 512 << 10
	maxIdleSlack  = 100 * time.Millisecond
)

func (s *source) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *source) panicked(operator string, p any) error {
	s.job.o.Log.Error("panic", "query", s.job.o.Query, "operator", operator, "panic", p, "stack", string(debug.Stack()))
	return internalError(s.job.o.Query, operator, s.partition, p)
}

// submit has f done by a worker.
func (s *source) submit(_ context.Context, f func(*worker)) { s.pool.do(f) }

// begin opens everything.
func (s *source) begin(ctx context.Context, snap *TaskSnapshot) error {
	if err := s.chain.open(ctx, snap); err != nil {
		return err
	}
	for _, sides := range s.headSides {
		for _, sd := range sides {
			sd.ctx = ctx
		}
	}
	for range max(s.job.o.Threads, 1) {
		w := &worker{}
		s.pool.all = append(s.pool.all, w)
		if s.spec.NewPreparer != nil {
			w.prepare = s.spec.NewPreparer()
		}
		for i, op := range s.task.Head {
			h := &headOp{s: s, w: w, at: i, spec: op, ctx: ctx}
			h.in, h.got = h.metrics.Counter(exec.RowsIn), h.metrics.Counter(exec.RowsOut)
			h.op = op.New()
			w.head = append(w.head, h)
			env := s.job.env(op, 0, 1, &h.metrics)
			env.Timer = func(time.Time) { panic("a stateless operator asked for a timer") }
			s.current = op.Name
			if err := h.op.Open(ctx, env, nil); err != nil {
				return err
			}
			s.job.metricsOf(op.ID, op.Name, 0)
		}
	}
	s.pool.start()
	s.current = s.spec.Name
	var err error
	if s.src, err = s.spec.Open(); err != nil {
		return err
	}
	if err := s.findSplits(ctx, snap); err != nil {
		return err
	}
	s.nextTick = s.job.o.Clock.Now().Add(s.period())
	return nil
}

// run reads until the end, a stop, or an error.
func (s *source) run(ctx context.Context) error {
	if err := s.replayPending(ctx); err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		done, err := s.control(ctx)
		if err != nil || done {
			return err
		}
		if err := s.timers.fire(ctx); err != nil {
			return err
		}
		s.takeCuts()
		if s.failed != nil {
			return s.failed
		}
		for len(s.items) > 0 && s.items[0].ready.Load() {
			it := s.items[0]
			s.items = s.items[1:]
			if err := s.deliver(ctx, it); err != nil {
				it.release()
				if !errors.Is(err, exec.ErrEnough) {
					return err
				}
				s.enough()
			}
			if s.stopped {
				return s.linger(ctx, s.box)
			}
		}
		status := nextEnd
		if !s.ended && !s.stopping {
			if len(s.items) >= s.maxItems {
				status = nextDecode
			} else {
				status, err = s.step(ctx)
				if err != nil {
					return err
				}
				if status == nextItem {
					continue
				}
			}
		}
		if len(s.items) == 0 {
			if status == nextEnd && !s.stopping {
				s.ended = true
			}
			if s.ended && !s.finished && !s.stopping {
				s.finished = true
				s.job.ended(s)
				if err := s.endChain(ctx); err != nil {
					return err
				}
				s.job.taskFinished()
				continue
			}
			if status != nextDecode && len(s.markers) > 0 {
				s.mark()
				continue
			}
		} else if s.items[0].ready.Load() { // the clock has made it
			continue
		}
		if err := s.waitFor(ctx, status); err != nil {
			return err
		}
	}
}

// step makes one item, if it can.
func (s *source) step(ctx context.Context) (nextStatus, error) {
	limit := s.job.o.BatchRows
	if s.spec.Need == NeedSteps {
		limit = 1
	}
	if n := s.job.o.CheckpointAfterRows; n > 0 && !s.job.rowBarrierBegun() {
		if left := n - (s.rows - s.startRows); left <= 0 {
			s.job.beginRowBarrier()
			return nextItem, nil
		} else if int64(limit) > left {
			limit = int(left)
		}
	}
	s.align()
	if err := s.tick(); err != nil {
		return 0, err
	}
	if err := s.ahead(ctx); err != nil {
		return 0, err
	}
	var it *item
	var status nextStatus
	var err error
	if s.ordered {
		it, status, err = s.nextOrdered(ctx, limit)
	} else {
		if err := s.changed(ctx); err != nil {
			return 0, err
		}
		it, status, err = s.nextArrival(ctx, limit)
	}
	if err == nil && len(s.bad.list) > 0 {
		if status != nextItem {
			it, status = &item{wm: stream.MinTime, idle: s.sentIdle}, nextItem
		}
		s.takeBad(it)
	}
	if err != nil || status != nextItem {
		return status, err
	}
	s.sent, s.sentIdle = max(s.sent, it.wm), it.idle
	s.push(ctx, it)
	return nextItem, nil
}

// push puts an item behind those under way.
func (s *source) push(ctx context.Context, it *item) {
	s.items = append(s.items, it)
	if it.rows == 0 {
		it.ready.Store(true)
		return
	}
	s.submit(ctx, func(w *worker) { s.runHead(ctx, w, it) })
}

// period is how often the clock has something to do: 0 for never.
func (s *source) period() time.Duration {
	if s.spec.Interval > 0 || s.spec.Generator == nil {
		return s.spec.Interval
	}
	return s.spec.Every
}

// tick has generators that go by the clock called, and lets the periodic watermark catch up, when their time has come.
func (s *source) tick() error {
	every := s.period()
	if every <= 0 {
		return nil
	}
	if _, err := s.clocked(); err != nil {
		return err
	}
	if now := s.job.o.Clock.Now(); !now.Before(s.nextTick) {
		for !now.Before(s.nextTick) {
			s.nextTick = s.nextTick.Add(every * max(1, now.Sub(s.nextTick)/every))
		}
		if err := s.callGenerators(); err != nil {
			return err
		}
		if s.spec.Interval > 0 && s.w > s.emitted {
			s.emitted = s.w
			it := &item{wm: s.emitted, idle: s.sentIdle}
			it.ready.Store(true)
			s.items = append(s.items, it)
			s.sent = s.emitted
		}
	}
	return nil
}

// deliver gives an item to the chain.
func (s *source) deliver(ctx context.Context, it *item) error {
	if it.err != nil {
		return it.err
	}
	for _, c := range it.count {
		op := s.task.Head[c.op]
		s.job.metricsOf(op.ID, op.Name, 0).Counter(c.name).Add(c.value)
	}
	if err := s.sendBad(ctx, it.bad); err != nil {
		return err
	}
	spoke := it.rows > 0 || it.wm > s.to.last
	if it.barrier == nil && s.quiet() && (spoke || !it.idle) {
		if err := s.nextPhase(ctx); err != nil {
			return err
		}
	}
	out := it.out
	it.out = nil
	for i, o := range out {
		var err error
		if o.side >= 0 {
			err = s.headSides[o.op][o.side].Emit(o.batch)
		} else {
			err = s.to.batch(ctx, 0, o.batch)
		}
		if err != nil {
			for _, rest := range out[i+1:] {
				rest.batch.Release()
			}
			return err
		}
	}
	if it.wm != stream.MinTime {
		if it.wm != stream.MaxTime {
			s.metrics.Counter(exec.WatermarkUs).Store(int64(it.wm))
		}
		if err := s.to.watermark(ctx, it.wm); err != nil {
			return err
		}
	}
	if s.spec.NeedSeq && it.rows > 0 {
		if err := s.chain.progress(ctx, stream.SeqOf(it.seq+int64(it.rows))); err != nil {
			return err
		}
	}
	if it.barrier == nil && it.idle && !s.quiet() {
		if err := s.nextPhase(ctx); err != nil {
			return err
		}
	}
	if it.barrier != nil {
		return s.deliverBarrier(ctx, it)
	}
	return nil
}

func (s *source) deliverBarrier(ctx context.Context, it *item) error {
	b := it.barrier.barrier
	var part *TaskSnapshot
	if b.Snapshot {
		part = newTaskSnapshot()
		part.Source = it.cut
		part.Counters[s.spec.ID] = it.counts
		part.Ended = s.finished
		for _, op := range s.task.Head {
			part.count(op.ID, s.job.metricsOf(op.ID, op.Name, 0))
		}
	}
	if err := s.chain.barrier(ctx, b, part); err != nil {
		if part != nil {
			part.release()
		}
		return err
	}
	s.job.barrierDone(b, s.task, s.partition, part)
	s.stopped = b.Stop
	return nil
}

// enough ends reading: nobody wants more rows.
func (s *source) enough() {
	s.ended, s.short = true, true
	var keep []*item
	for _, it := range s.items {
		for !it.ready.Load() {
			<-s.wake
		}
		if it.barrier != nil {
			keep = append(keep, it)
			continue
		}
		s.bad.add(it.bad)
		it.release()
	}
	s.items = keep
	s.closeSplits()
	s.signal()
}

func (s *source) endChain(ctx context.Context) error {
	s.closeSplits()
	if err := s.sendBad(ctx, s.bad); err != nil {
		return err
	}
	s.bad = badRecords{}
	if err := s.badTo.end(ctx, 0); err != nil {
		return err
	}
	if err := s.to.end(ctx, 0); err != nil {
		return err
	}
	for _, sides := range s.headSides {
		for _, sd := range sides {
			if err := sd.f.end(ctx, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// closeSplits closes all readers and gives up what was read ahead.
func (s *source) closeSplits() {
	s.leave()
	for _, sp := range s.splits {
		s.drop(sp)
		if err := s.closeSplit(sp); err != nil {
			s.job.o.Log.Warn("closing a split", "table", s.spec.Table, "split", sp.spec.ID, "error", err)
		}
	}
	s.arrived = nil
}

// close gives everything back, whatever happened before.
func (s *source) close() error {
	s.disarm()
	s.job.closed(s.spec, s.position())
	s.pool.stop()
	for _, it := range s.items {
		it.release()
	}
	s.items = nil
	var first error
	for _, sp := range s.splits {
		for _, b := range sp.queue {
			b.release()
		}
		sp.queue = nil
		if err := s.closeSplit(sp); err != nil && first == nil {
			first = err
		}
	}
	for _, w := range s.pool.all {
		for _, h := range w.head {
			if err := h.op.Close(); err != nil && first == nil {
				first = err
			}
		}
	}
	if err := s.chain.close(); err != nil && first == nil {
		first = err
	}
	if s.src != nil {
		if err := s.src.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
