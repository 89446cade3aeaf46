package task

import (
	"container/heap"
	"context"
	"errors"
	"time"

	"github.com/weir-sql/weir/exec"
)

// timers is the one heap of processing-time timers of a chain.
type timers struct {
	c      *chain
	heap   dueHeap
	seq    int64
	signal <-chan time.Time // wakes the task at armed
	armed  time.Time
	cancel func()
}

type due struct {
	at   time.Time
	seq  int64
	node *node
}

// of returns what Env.Timer is for node n.
func (t *timers) of(n *node) func(time.Time) {
	return func(at time.Time) {
		heap.Push(&t.heap, due{at: at, seq: t.seq, node: n})
		t.seq++
	}
}

// wake returns a channel that signals when the next timer is due; nil when there is none.
func (t *timers) wake() <-chan time.Time {
	if len(t.heap) == 0 {
		t.stop()
		return nil
	}
	if at := t.heap[0].at; t.signal == nil || !at.Equal(t.armed) {
		t.stop()
		clock := t.c.job.o.Clock
		t.armed = at
		t.signal, t.cancel = clock.After(at.Sub(clock.Now()))
	}
	return t.signal
}

func (t *timers) stop() {
	if t.cancel != nil {
		t.cancel()
	}
	t.signal, t.cancel = nil, nil
}

// fire calls every operator whose time has come, in order of time.
func (t *timers) fire(ctx context.Context) error {
	if len(t.heap) == 0 {
		return nil
	}
	now := t.c.job.o.Clock.Now()
	for len(t.heap) > 0 && !t.heap[0].at.After(now) {
		if t.signal != nil && t.heap[0].at.Equal(t.armed) {
			t.stop()
		}
		d := heap.Pop(&t.heap).(due)
		if err := d.node.processTimer(ctx, d.at); err != nil && !errors.Is(err, exec.ErrEnough) {
			return err
		}
	}
	return nil
}

// of one operator, for the snapshot: due times in the order in which they were asked for.
func (t *timers) pending(n *node) []time.Time {
	var out []time.Time
	h := append(dueHeap(nil), t.heap...)
	for len(h) > 0 {
		if d := heap.Pop(&h).(due); d.node == n {
			out = append(out, d.at)
		}
	}
	return out
}

type dueHeap []due

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	return h[i].at.Before(h[j].at) || h[i].at.Equal(h[j].at) && h[i].seq < h[j].seq
}
func (h dueHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)   { *h = append(*h, x.(due)) }
func (h *dueHeap) Pop() any {
	old := *h
	d := old[len(old)-1]
	*h = old[:len(old)-1]
	return d
}
