package task

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

// Pending is what a task hands to Targets, ids of operators, sinks or exchanges, before it does anything else.
type Pending struct {
	Targets []string
	Events  []stream.Event
}

// receiver finds an operator, a sink or an exchange of the chain by its id.
func (c *chain) receiver(id string) receiver {
	for _, n := range c.nodes {
		if n.spec.ID == id {
			return n
		}
	}
	for _, s := range c.sinks {
		if s.spec.ID == id {
			return s
		}
	}
	for _, w := range c.writers {
		if w.spec.ID == id {
			return w
		}
	}
	return nil
}

// has reports whether counters of that id are kept by something of the chain's task.
func (c *chain) has(id string) bool {
	if c.task.Source != nil && c.task.Source.ID == id || c.receiver(id) != nil {
		return true
	}
	return slices.ContainsFunc(c.task.Head, func(op *Op) bool { return op.ID == id })
}

// replayPending hands out what a restored snapshot holds for single consumers. That one of them wants no more is nothing to the others.
func (c *chain) replayPending(ctx context.Context) error {
	for len(c.pending) > 0 {
		p := &c.pending[0]
		for len(p.Events) > 0 {
			e := p.Events[0]
			p.Events = p.Events[1:]
			if err := c.handPending(ctx, p.Targets, e); err != nil {
				return err
			}
		}
		c.pending = c.pending[1:]
	}
	return nil
}

func (c *chain) handPending(ctx context.Context, targets []string, e stream.Event) error {
	if e.Kind == stream.EventBatch {
		defer e.Batch.Release()
	}
	for _, id := range targets {
		to := c.receiver(id)
		if to == nil {
			return fmt.Errorf("internal error: task %s has rows for %s, which it does not have", c.task.ID, id)
		}
		var err error
		switch e.Kind {
		case stream.EventBatch:
			e.Batch.Retain()
			err = to.batch(ctx, 0, e.Batch)
		case stream.EventWatermark:
			err = to.watermark(ctx, e.Watermark)
		case stream.EventEnd:
			err = to.end(ctx, 0)
		}
		if err != nil && !errors.Is(err, exec.ErrEnough) {
			return err
		}
	}
	return nil
}
