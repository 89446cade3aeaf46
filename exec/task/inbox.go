package task

import (
	"context"
	"slices"
	"sync"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/exchange"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/internal/invariants"
)

// inbox is the queue in front of one partition of a task: one channel for each partition of each producer, bounded in rows and bytes.
type inbox struct {
	mu       sync.Mutex
	channels []*channel
	wake     chan struct{}
	account  *exec.Account
	maxRows  int64
	maxBytes int64
	lifted   bool // bounds do not count for now, see lift
}

// channel is one producer's way into an inbox.
type channel struct {
	box    *inbox
	from   *writer
	input  int // number of the exchange in the task's Inputs
	queue  []stream.Event
	rows   int64
	bytes  int64
	space  chan struct{} // signals that the channel is below its bounds
	enough bool          // the consumer wants no more rows
	closed bool          // the consumer is gone
}

func newInbox(wake chan struct{}, account *exec.Account, batchRows int) *inbox {
	return &inbox{wake: wake, account: account, maxRows: int64(max(4*batchRows, 64)), maxBytes: 8 << 20}
}

func (b *inbox) add(input int) *channel {
	c := &channel{box: b, input: input, space: make(chan struct{}, 1)}
	b.channels = append(b.channels, c)
	return c
}

// lift lets producers write beyond the bounds, or not any more. The consumer does so while it waits for something that a producer can only say behind
// rows of other channels: a barrier, or how far it has come. So no wait can be a circle; the memory limit still counts.
func (b *inbox) lift(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lifted == on {
		return
	}
	b.lifted = on
	if on {
		for _, c := range b.channels {
			c.signalSpace()
		}
	}
}

func eventBytes(e stream.Event) int64 {
	if e.Kind != stream.EventBatch || e.Batch.Record == nil {
		return 0
	}
	n := exchange.Bytes(e.Batch.Record) + int64(8*(len(e.Batch.Before)+len(e.Batch.Seq))+len(e.Batch.Kinds)+4*len(e.Batch.Selection))
	if all := e.Batch.Record.NumRows(); e.Batch.Selection != nil && all > 0 {
		n = n * int64(len(e.Batch.Selection)) / all
	}
	return n
}

// put adds an event, whose batch it owns also when it fails. A batch waits while the channel is full; nothing else does.
func (c *channel) put(ctx context.Context, e stream.Event) error {
	n, rows := eventBytes(e), int64(0)
	if e.Kind == stream.EventBatch {
		rows = int64(e.Batch.Len())
	}
	invariants.Delay()
	b := c.box
	for {
		b.mu.Lock()
		switch {
		case c.closed, c.enough && e.Kind == stream.EventBatch:
			closed := c.closed
			b.mu.Unlock()
			e.Batch.Release()
			if closed && ctx.Err() != nil {
				return ctx.Err()
			}
			return exec.ErrEnough
		case e.Kind != stream.EventBatch || b.lifted || c.rows < b.maxRows && c.bytes < b.maxBytes:
			c.queue = append(c.queue, e)
			c.rows += rows
			c.bytes += n
			b.mu.Unlock()
			err := b.account.Grow(n)
			select {
			case b.wake <- struct{}{}:
			default:
			}
			return err
		}
		b.mu.Unlock()
		select {
		case <-c.space:
		case <-ctx.Done():
			e.Batch.Release()
			return ctx.Err()
		}
	}
}

// peek returns the first event and leaves it there.
func (c *channel) peek() (stream.Event, bool) {
	c.box.mu.Lock()
	defer c.box.mu.Unlock()
	if len(c.queue) == 0 {
		return stream.Event{}, false
	}
	return c.queue[0], true
}

// barriers returns the ids of the markers that wait here before the first barrier with a snapshot, and whether there is such a barrier.
func (c *channel) barriers() (markers []int64, cut bool) {
	c.box.mu.Lock()
	defer c.box.mu.Unlock()
	for _, e := range c.queue {
		if e.Kind != stream.EventBarrier {
			continue
		}
		if e.Barrier.Snapshot {
			return markers, true
		}
		markers = append(markers, e.Barrier.ID)
	}
	return markers, false
}

// dropMarker removes a marker from wherever it waits and returns how often it was there.
func (c *channel) dropMarker(id int64) int {
	c.box.mu.Lock()
	defer c.box.mu.Unlock()
	n := len(c.queue)
	c.queue = slices.DeleteFunc(c.queue, func(e stream.Event) bool {
		return e.Kind == stream.EventBarrier && !e.Barrier.Snapshot && e.Barrier.ID == id
	})
	return n - len(c.queue)
}

// cut removes the first barrier with a snapshot, which has to be there, and returns the events before it, which stay in the queue; their batches are
// retained.
func (c *channel) cut() (before []stream.Event, b stream.Barrier) {
	c.box.mu.Lock()
	defer c.box.mu.Unlock()
	at := slices.IndexFunc(c.queue, func(e stream.Event) bool { return e.Kind == stream.EventBarrier && e.Barrier.Snapshot })
	b = c.queue[at].Barrier
	before = slices.Clone(c.queue[:at])
	for _, e := range before {
		e.Batch.Retain()
	}
	c.queue = slices.Concat(c.queue[:at], c.queue[at+1:])
	return before, b
}

// take removes the first event.
func (c *channel) take() (stream.Event, bool) {
	b := c.box
	b.mu.Lock()
	if len(c.queue) == 0 {
		b.mu.Unlock()
		return stream.Event{}, false
	}
	e := c.queue[0]
	c.queue[0] = stream.Event{}
	c.queue = c.queue[1:]
	n := eventBytes(e)
	if e.Kind == stream.EventBatch {
		c.rows -= int64(e.Batch.Len())
		c.bytes -= n
	}
	c.signalSpace()
	b.mu.Unlock()
	_ = b.account.Grow(-n)
	return e, true
}

func (c *channel) signalSpace() {
	if c.box.lifted || c.rows < c.box.maxRows && c.bytes < c.box.maxBytes || c.enough || c.closed {
		select {
		case c.space <- struct{}{}:
		default:
		}
	}
}

// refuse tells the producer that no more rows are wanted and drops those that wait.
func (c *channel) refuse() {
	b := c.box
	b.mu.Lock()
	c.enough = true
	keep := c.queue[:0:0]
	var freed int64
	for _, e := range c.queue {
		if e.Kind != stream.EventBatch {
			keep = append(keep, e)
			continue
		}
		freed += eventBytes(e)
		e.Batch.Release()
	}
	c.queue, c.rows, c.bytes = keep, 0, 0
	c.signalSpace()
	b.mu.Unlock()
	_ = b.account.Grow(-freed)
}

// close drops everything; producers are told that nothing is wanted.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.channels {
		for _, e := range c.queue {
			_ = b.account.Grow(-eventBytes(e))
			e.Batch.Release()
		}
		c.queue, c.rows, c.bytes, c.closed = nil, 0, 0, true
		c.signalSpace()
	}
}

// writer is a producer's end of an exchange: it spreads batches over the partitions of the consumer and tells all of them the rest.
type writer struct {
	c      *chain
	spec   *Exchange
	to     []*channel // by partition of the consumer; set by the job
	enough []bool
	last   stream.Time
	split  *exchange.Partitioner
}

func newWriter(c *chain, spec *Exchange) *writer {
	return &writer{c: c, spec: spec, last: stream.MinTime}
}

// connect adds the consumer's partitions.
func (w *writer) connect(to []*channel) {
	w.to, w.enough = to, make([]bool, len(to))
	for _, c := range to {
		c.from = w
	}
	w.split = exchange.NewPartitioner(w.spec.Keys, len(to))
}

func (w *writer) batch(ctx context.Context, _ int, b stream.Batch) error {
	exchange.Seal(b.Record) // other tasks may read it, too
	if len(w.to) == 1 {
		return w.put(ctx, 0, stream.Event{Kind: stream.EventBatch, Batch: b})
	}
	parts, err := w.split.Partition(b)
	if err != nil {
		return err
	}
	for p, part := range parts {
		if part.Len() == 0 {
			continue
		}
		if e := w.put(ctx, p, stream.Event{Kind: stream.EventBatch, Batch: part}); e != nil && e != exec.ErrEnough {
			for _, rest := range parts[p+1:] {
				if rest.Len() > 0 {
					rest.Release()
				}
			}
			return e
		}
	}
	return w.all()
}

func (w *writer) put(ctx context.Context, p int, e stream.Event) error {
	done := w.c.waiting()
	err := w.to[p].put(ctx, e)
	done()
	if err == exec.ErrEnough {
		w.enough[p] = true
	}
	return err
}

// unwanted reports that no consumer wants more, as far as they have said.
func (w *writer) unwanted() bool {
	for p, c := range w.to {
		c.box.mu.Lock()
		w.enough[p] = w.enough[p] || c.enough
		c.box.mu.Unlock()
	}
	return w.all() != nil
}

// all returns ErrEnough when no partition wants more.
func (w *writer) all() error {
	for _, e := range w.enough {
		if !e {
			return nil
		}
	}
	return exec.ErrEnough
}

func (w *writer) tell(ctx context.Context, e stream.Event) error {
	for p := range w.to {
		if err := w.put(ctx, p, e); err != nil && err != exec.ErrEnough {
			return err
		}
	}
	return nil
}

func (w *writer) watermark(ctx context.Context, wm stream.Time) error {
	w.last = wm
	return w.tell(ctx, stream.Event{Kind: stream.EventWatermark, Watermark: wm})
}

// progress says that all rows with a sequence number below seq have been worked off.
func (w *writer) progress(ctx context.Context, seq int64) error {
	return w.tell(ctx, stream.Event{Kind: stream.EventWatermark, Watermark: w.last, Seq: seq})
}

func (w *writer) end(ctx context.Context, _ int) error {
	return w.tell(ctx, stream.Event{Kind: stream.EventEnd})
}

func (w *writer) phase(ctx context.Context, source string, phase int64) error {
	return w.tell(ctx, stream.Event{Kind: stream.EventIdle, Source: source, Phase: phase})
}

func (w *writer) barrier(ctx context.Context, b stream.Barrier) error {
	return w.tell(ctx, stream.Event{Kind: stream.EventBarrier, Barrier: b})
}
