package task

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

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
	return s.calling(sp, func() error {
		if k, ok := g.(watermark.Snapshotter); ok {
			if b.generator, err = k.Snapshot(); err != nil {
				return err
			}
		}
		b.generatorAt = s.elapsed(sp)
		b.mark(g, !s.byClock(sp))
		return nil
	})
}

// byClock reports that the clock calls OnPeriodicEmit, not each row.
func (s *source) byClock(sp *split) bool { return s.spec.Interval > 0 && !sp.spec.Bounded }

// calling calls a generator of the user: what it fails with names the table and the split.
func (s *source) calling(sp *split, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.job.o.Log.Error("panic", "query", s.job.o.Query, "table", s.spec.Table, "split", sp.spec.ID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("table %s, split %s: %s panicked: %v", s.spec.Table, sp.spec.ID, s.spec.GeneratorName, p)
		} else if err != nil {
			err = fmt.Errorf("table %s, split %s: %s: %w", s.spec.Table, sp.spec.ID, s.spec.GeneratorName, err)
		}
	}()
	return f()
}

// mark runs a generator over the rows of a block.
func (b *block) mark(g watermark.Generator, emits bool) {
	high, future := stream.MinTime, b.future
	emit := func(w stream.Time) {
		if w != stream.MaxTime {
			high = max(high, w)
		}
	}
	rows, _ := g.(watermark.RowGenerator)
	if b.args == nil {
		rows = nil
	}
	for i, t := range b.event[:b.n] {
		for len(future) > 0 && future[0] < i {
			future = future[1:]
		}
		ahead := len(future) > 0 && future[0] == i && !b.futureGone
		if !ahead && t != stream.MinTime {
			if rows != nil {
				rows.OnRow(t, b.args[i], emit)
			} else {
				g.OnEvent(t, emit)
			}
			if emits {
				g.OnPeriodicEmit(emit)
			}
		}
		b.prefix[1+i] = high
	}
}

func (s *source) generatorOf(sp *split) (watermark.Generator, error) {
	if sp.generator != nil {
		return sp.generator, nil
	}
	err := s.calling(sp, func() error {
		g, err := s.newGenerator(func() time.Duration { return s.elapsed(sp) })
		if err != nil {
			return err
		}
		if k, ok := g.(watermark.Snapshotter); ok && sp.generatorState != nil {
			if err := k.Restore(sp.generatorState); err != nil {
				return err
			}
		}
		sp.generator, sp.generatorState = g, nil
		return nil
	})
	return sp.generator, err
}

func (s *source) newGenerator(elapsed func() time.Duration) (watermark.Generator, error) {
	g, err := s.spec.Generator()
	if c, ok := g.(watermark.Clocked); ok && err == nil {
		c.UseClock(elapsed)
	}
	return g, err
}

// elapsed is the time of a generator: how long its split was read, without the time for which rows could not be handed on.
func (s *source) elapsed(sp *split) time.Duration {
	switch {
	case sp.spec.Bounded:
		return 0
	case sp.paused:
		return sp.pausedReading.Sub(sp.since)
	}
	return s.readingTime().Sub(sp.since)
}

// readingTime is processing time less the time for which a full sink or exchange held the task up.
func (s *source) readingTime() time.Time { return s.job.o.Clock.Now().Add(-s.chain.blocked) }

// clocked are the unbounded splits whose generators the clock calls. Their generators begin with them, not with their first row.
func (s *source) clocked() ([]*split, error) {
	if s.spec.Generator == nil || s.spec.Every <= 0 || s.ordered {
		return nil, nil
	}
	for ; s.begun < len(s.splits); s.begun++ {
		sp := s.splits[s.begun]
		if sp.spec.Bounded || sp.finished {
			continue
		}
		g, err := s.generatorOf(sp)
		if err != nil {
			return nil, err
		}
		if _, ok := g.(watermark.Clocked); ok || s.byClock(sp) {
			s.clockSplits = append(s.clockSplits, sp)
		}
	}
	return s.clockSplits, nil
}

// callGenerators is a tick: what a generator emits counts behind the rows that it has seen.
func (s *source) callGenerators() error {
	splits, err := s.clocked()
	if err != nil || len(splits) == 0 {
		return err
	}
	for _, sp := range splits {
		if sp.finished || s.comb.State(sp.input) != Active || sp.paused {
			continue
		}
		mark := stream.MinTime
		err := s.calling(sp, func() error {
			sp.generator.OnPeriodicEmit(func(w stream.Time) {
				if w != stream.MaxTime {
					mark = max(mark, w)
				}
			})
			return nil
		})
		switch {
		case err != nil:
			return err
		case len(sp.queue) > 0 && sp.queue[0].seen:
			b := sp.queue[0]
			b.raw.Watermark = max(b.raw.Watermark, mark)
		case mark > sp.wm:
			sp.wm = mark
			s.comb.Advance(sp.input, mark)
			s.hold(sp)
		}
	}
	s.w = max(s.w, s.unended(s.comb.Combined()))
	return nil
}

// generatorSnapshot is the state of the split's generator before its front block, and what its clock shows.
func (s *source) generatorSnapshot(sp *split) (state []byte, elapsed time.Duration) {
	if len(sp.queue) > 0 && sp.queue[0].seen {
		return sp.queue[0].generator, sp.queue[0].generatorAt
	}
	state, elapsed = sp.generatorState, s.elapsed(sp)
	if k, ok := sp.generator.(watermark.Snapshotter); ok {
		err := s.calling(sp, func() (err error) {
			state, err = k.Snapshot()
			return err
		})
		if err != nil && s.failed == nil {
			s.failed = err
		}
	}
	return state, elapsed
}

// prepareArgs computes the arguments of the generator that depend on the row. It runs on a worker.
func (b *block) prepareArgs(ctx context.Context, w *worker) (err error) {
	if p, ok := w.prepare.(ArgPreparer); ok {
		b.args, err = p.Args(ctx, b.rec)
	}
	return err
}
