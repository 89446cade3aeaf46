package task

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/weir-sql/weir/connectors"
)

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now returns the current time.
func (SystemClock) Now() time.Time { return time.Now() }

// After signals in d.
func (SystemClock) After(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(max(d, 0))
	return t.C, func() { t.Stop() }
}

// VirtualClock is a clock that moves only when told: by Advance, or, with Jump set, by itself to the next timer whenever every task of the attached
// jobs waits. Times due at one instant fire together; then all that they cause is worked off before the clock moves on.
type VirtualClock struct {
	mu     sync.Mutex
	now    time.Time
	timers timerHeap
	seq    int64
	jobs   map[*Job]struct{}
	moving sync.Mutex // one Advance at a time
}

var _ connectors.Clock = (*VirtualClock)(nil)

// NewVirtualClock returns a clock that stands at start.
func NewVirtualClock(start time.Time) *VirtualClock {
	return &VirtualClock{now: start, jobs: map[*Job]struct{}{}}
}

// Now returns where the clock stands.
func (c *VirtualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After signals when the clock has been moved by d.
func (c *VirtualClock) After(d time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &virtualTimer{at: c.now.Add(max(d, 0)), seq: c.seq, c: make(chan time.Time, 1), index: -1}
	c.seq++
	if d <= 0 {
		t.c <- c.now
		return t.c, func() {}
	}
	heap.Push(&c.timers, t)
	return t.c, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.index >= 0 {
			heap.Remove(&c.timers, t.index)
		}
	}
}

// Advance moves the clock by d, as if it came to each due time in turn: it fires what is due at one instant, waits until the attached jobs have worked
// off all that this causes, and goes on.
func (c *VirtualClock) Advance(ctx context.Context, d time.Duration) error {
	c.moving.Lock()
	defer c.moving.Unlock()
	c.mu.Lock()
	target := c.now.Add(d)
	c.mu.Unlock()
	for {
		if err := c.settle(ctx); err != nil {
			return err
		}
		if !c.step(target) {
			return nil
		}
	}
}

// step moves to the next due time up to target and fires it; if there is none it moves to target and returns false.
func (c *VirtualClock) step(target time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) == 0 || c.timers[0].at.After(target) {
		c.now = target
		return false
	}
	c.fireNext()
	return true
}

// fireNext moves to the next due time and fires all that is due then.
func (c *VirtualClock) fireNext() {
	c.now = c.timers[0].at
	for len(c.timers) > 0 && !c.timers[0].at.After(c.now) {
		heap.Pop(&c.timers).(*virtualTimer).c <- c.now
	}
}

// jump moves to the next due time, whatever it is; false when there is none.
func (c *VirtualClock) jump() bool {
	c.moving.Lock()
	defer c.moving.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) == 0 {
		return false
	}
	c.fireNext()
	return true
}

// settle waits until all attached jobs have nothing to do at this time.
func (c *VirtualClock) settle(ctx context.Context) error {
	c.mu.Lock()
	jobs := make([]*Job, 0, len(c.jobs))
	for j := range c.jobs {
		jobs = append(jobs, j)
	}
	c.mu.Unlock()
	for _, j := range jobs {
		if err := j.Marker(ctx); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}

func (c *VirtualClock) attach(j *Job) {
	c.mu.Lock()
	c.jobs[j] = struct{}{}
	c.mu.Unlock()
}

func (c *VirtualClock) detach(j *Job) {
	c.mu.Lock()
	delete(c.jobs, j)
	c.mu.Unlock()
}

type virtualTimer struct {
	at    time.Time
	seq   int64
	c     chan time.Time
	index int
}

type timerHeap []*virtualTimer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	return h[i].at.Before(h[j].at) || h[i].at.Equal(h[j].at) && h[i].seq < h[j].seq
}
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *timerHeap) Push(x any) {
	t := x.(*virtualTimer)
	t.index = len(*h)
	*h = append(*h, t)
}
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	t.index = -1
	*h = old[:len(old)-1]
	return t
}
