package task

import (
	"fmt"

	"github.com/weir-sql/weir/connectors/watermark"
	"github.com/weir-sql/weir/exec/stream"
)

// generate has the split's generator make the marks of a block whose turn has come. Rows that a restore skips go through it too: a snapshot has the
// generator's state before the block.
func (s *source) generate(sp *split, b *block) error {
	if s.spec.Generator == nil || b.prefix == nil {
		return nil
	}
	g, err := s.generatorOf(sp)
	if err != nil {
		return err
	}
	if k, ok := g.(watermark.Snapshotter); ok {
		if b.generator, err = k.Snapshot(); err != nil {
			return err
		}
	}
	b.mark(g)
	return nil
}

// mark runs a generator over the rows of a block.
func (b *block) mark(g watermark.Generator) {
	high, future := stream.MinTime, b.future
	emit := func(w stream.Time) {
		if w != stream.MaxTime {
			high = max(high, w)
		}
	}
	for i, t := range b.event[:b.n] {
		for len(future) > 0 && future[0] < i {
			future = future[1:]
		}
		ahead := len(future) > 0 && future[0] == i && !b.futureGone
		if !ahead && !b.timeless(i) {
			g.OnEvent(t, emit)
			g.OnPeriodicEmit(emit)
		}
		b.prefix[1+i] = high
	}
}

func (s *source) generatorOf(sp *split) (watermark.Generator, error) {
	if sp.generator != nil {
		return sp.generator, nil
	}
	g, err := s.spec.Generator()
	if err != nil {
		return nil, fmt.Errorf("table %s: the watermark: %w", s.spec.Table, err)
	}
	if k, ok := g.(watermark.Snapshotter); ok && sp.generatorState != nil {
		if err := k.Restore(sp.generatorState); err != nil {
			return nil, fmt.Errorf("table %s: the watermark: %w", s.spec.Table, err)
		}
	}
	sp.generator, sp.generatorState = g, nil
	return g, nil
}

// generatorSnapshot is the state of the split's generator before its front block.
func (sp *split) generatorSnapshot() []byte {
	if len(sp.queue) > 0 && sp.queue[0].seen {
		return sp.queue[0].generator
	}
	if k, ok := sp.generator.(watermark.Snapshotter); ok {
		if state, err := k.Snapshot(); err == nil {
			return state
		}
	}
	return sp.generatorState
}
