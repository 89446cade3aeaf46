package task

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/internal/invariants"
)

// message is what the job asks of a task.
type message struct {
	barrier *barrierRequest // sources only
	commit  int64           // commit the sinks' epochs up to this one
	prepare int64           // all tasks have finished: end the last epoch
	refused bool            // a consumer wants no more rows: see whether any does
	drain   bool            // sources only: read no more, and end
	report  *report         // sources only: all up to here is through
	done    bool            // the job is over
	look    *look           // tell how you stand
}

// barrierRequest asks a source to put a barrier into its stream.
type barrierRequest struct {
	barrier stream.Barrier
}

// mailbox holds messages for a task.
type mailbox struct {
	mu    sync.Mutex
	queue []message
	wake  chan struct{}
}

func (b *mailbox) put(m message) {
	b.mu.Lock()
	b.queue = append(b.queue, m)
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *mailbox) take() (message, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		return message{}, false
	}
	m := b.queue[0]
	b.queue = b.queue[1:]
	return m, true
}

// control does what the job asks of a task's sinks.
func (c *chain) control(ctx context.Context, m message) (done bool, err error) {
	switch {
	case m.commit > 0:
		for _, s := range c.sinks {
			if err := s.commit(ctx, m.commit); err != nil {
				return false, err
			}
		}
		c.job.committed(m.commit)
	case m.prepare > 0:
		for _, s := range c.sinks {
			if err := s.prepare(ctx, m.prepare); err != nil {
				return false, err
			}
		}
		c.job.prepared(m.prepare)
	case m.report != nil:
		if c.onReport != nil {
			c.onReport(ctx, m.report)
		}
	case m.look != nil:
		c.answer(m.look, nil)
	case m.done:
		return true, nil
	}
	return false, nil
}

// linger does what the job asks of the sinks until the job is over.
func (c *chain) linger(ctx context.Context, box *mailbox) error {
	for {
		m, ok := box.take()
		if !ok {
			select {
			case <-box.wake:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if done, err := c.control(ctx, m); done || err != nil {
			return err
		}
	}
}

// await waits until one of wait, clock, or the next timer signals, and returns the number of the signal in wait, or -1.
func (c *chain) await(ctx context.Context, wait []<-chan struct{}, clock <-chan time.Time) (int, error) {
	invariants.Delay()
	timer := c.timers.wake()
	if len(wait) == 1 {
		select {
		case <-wait[0]:
			return 0, nil
		case <-clock:
		case <-timer:
			c.timers.stop()
		case <-ctx.Done():
			return -1, ctx.Err()
		}
		return -1, nil
	}
	cases := make([]reflect.SelectCase, 0, len(wait)+3)
	add := func(ch any) {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ch)})
	}
	for _, w := range wait {
		add(w)
	}
	add(clock)
	add(timer)
	add(ctx.Done())
	switch i, _, _ := reflect.Select(cases); i {
	case len(wait):
		return -1, nil
	case len(wait) + 1:
		c.timers.stop()
		return -1, nil
	case len(wait) + 2:
		return -1, ctx.Err()
	default:
		return i, nil
	}
}
