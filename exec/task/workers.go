package task

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/internal/invariants"
)

// worker decodes blocks and runs the stateless head of a source task's chain. With one thread there is one worker, and the task calls it itself.
type worker struct {
	prepare Preparer
	head    []*headOp
	item    *item // the head's outputs go here
}

// workers are the goroutines of a source task.
type workers struct {
	all  []*worker
	jobs chan func(*worker)
	wg   sync.WaitGroup
}

// start begins n workers; with one there is no goroutine.
func (p *workers) start() {
	if len(p.all) == 1 {
		return
	}
	p.jobs = make(chan func(*worker), 1024)
	for _, w := range p.all {
		p.wg.Add(1)
		go func() {
			defer p.wg.Done()
			for f := range p.jobs {
				f(w)
			}
		}()
	}
}

// do runs f on a worker: at once when there is only one.
func (p *workers) do(f func(*worker)) {
	if p.jobs == nil {
		f(p.all[0])
		return
	}
	p.jobs <- f
}

// stop waits for all that was begun.
func (p *workers) stop() {
	if p.jobs != nil {
		close(p.jobs)
		p.wg.Wait()
		p.jobs = nil
	}
}

// run is rows [from, to) of a block, and what is needed to know the watermark before each of them.
type run struct {
	b        *block
	rec      arrow.RecordBatch // the block's rows, and their kinds
	kinds    []stream.RowKind
	from, to int         // in the block, for its times
	w        stream.Time // watermark before the first row
	carry    stream.Time // watermark of the split before the block
	others   stream.Time // lowest of the other splits, during the run
}

// release gives the run's rows and times back.
func (r *run) release() {
	r.rec.Release()
	r.b.done()
}

// before returns the watermark before row i of the block.
func (r *run) before(i int) stream.Time {
	if i == r.from || r.b.prefix == nil {
		return r.w
	}
	return max(r.w, min(max(r.carry, r.b.prefix[i]), r.others))
}

// item is a step of a source task on its way from the order of rows to the chain: a batch to be, then a watermark, then a mark.
type item struct {
	runs  []run
	rows  int
	seq   int64 // of the first row
	ready atomic.Bool
	err   error
	out   []headOutput // what the head made of it
	count []headCount  // what the head's operators counted
	// What goes behind the rows.
	wm      stream.Time
	idle    bool
	bad     badRecords // met before the item
	barrier *barrierRequest
	cut     *SourceSnapshot
	counts  map[string]int64
}

// headOutput is a batch that the head has made: for what follows it, or for a side output of one of its operators.
type headOutput struct {
	batch stream.Batch
	op    int
	side  int // -1: the main output
}

type headCount struct {
	op    int
	name  string
	value int64
}

func (it *item) release() {
	for i := range it.runs {
		it.runs[i].release()
	}
	it.runs = nil
	for _, o := range it.out {
		o.batch.Release()
	}
	it.out = nil
}

// headOp is a worker's copy of an operator of the head. It is the exec.Output of its operator.
type headOp struct {
	s       *source
	w       *worker
	at      int
	spec    *Op
	op      exec.Operator
	metrics exec.Metrics // since the last item
	in, got *atomic.Int64
	ctx     context.Context
}

func (h *headOp) Emit(b stream.Batch) error {
	if b.Len() == 0 {
		b.Release()
		return nil
	}
	h.got.Add(int64(b.Len()))
	return h.w.feed(h.ctx, h.at+1, b)
}

// Watermark is not for workers: watermarks pass the head by.
func (h *headOp) Watermark(stream.Time) error { return nil }

func (h *headOp) Side(name string) exec.Output {
	for i, s := range h.s.headSides[h.at] {
		if s.name == name {
			return headSide{h, i}
		}
	}
	return nil
}

type headSide struct {
	h *headOp
	i int
}

func (s headSide) Emit(b stream.Batch) error {
	s.h.w.item.out = append(s.h.w.item.out, headOutput{batch: b, op: s.h.at, side: s.i})
	return nil
}
func (s headSide) Watermark(stream.Time) error { return nil }
func (s headSide) Side(string) exec.Output     { return nil }

// feed gives b to operator at of the head, or to the item when there is none any more.
func (w *worker) feed(ctx context.Context, at int, b stream.Batch) error {
	if at == len(w.head) {
		w.item.out = append(w.item.out, headOutput{batch: b, side: -1})
		return nil
	}
	h := w.head[at]
	h.in.Add(int64(b.Len()))
	return h.op.ProcessBatch(ctx, 0, b, h)
}

// runHead turns an item's runs into a batch with its watermarks and gives it to the head.
func (s *source) runHead(ctx context.Context, w *worker, it *item) {
	defer func() {
		if p := recover(); p != nil {
			name := s.spec.Name
			if len(w.head) > 0 {
				name = w.head[0].spec.Name
			}
			it.err = s.panicked(name, p)
		}
		w.item = nil
		it.ready.Store(true)
		s.signal()
	}()
	w.item = it
	invariants.Delay()
	b, err := s.assemble(it)
	if err == nil {
		err = w.feed(ctx, 0, b)
	}
	for i, h := range w.head {
		h.metrics.Each(func(name string, v int64) {
			if v != 0 {
				h.metrics.Counter(name).Add(-v)
				it.count = append(it.count, headCount{i, name, v})
			}
		})
	}
	it.err = err
	if errors.Is(err, exec.ErrEnough) {
		it.err = errHeadEnough
	}
}

var errHeadEnough = errors.New("internal error: a stateless operator wants no more rows")
