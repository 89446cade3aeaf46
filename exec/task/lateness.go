package task

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

// SplitLateness is how late the rows of a split are. The lateness of a row is how far its time lies behind the highest time of the split's rows before it, and
// 0 for a row that is not behind.
type SplitLateness struct {
	Split string
	// Rows counts the rows with a time, Timeless those without one, Bad the records that were skipped.
	Rows, Timeless, Bad int64
	// Late has the lateness of each row behind, in microseconds, ascending.
	Late []int64
	// Equal counts the rows whose time is the highest so far again: a watermark without delay has reached them too.
	Equal int64
}

// Lateness reads a source and tells how late its rows are. Splits that end are read one after the other, others as their rows come. It stops behind limit rows
// (0: never) and at the end of ctx. What it holds counts in the memory budget until release is called.
func Lateness(ctx context.Context, spec *Source, o Options, limit int64) (out []*SplitLateness, release func(), err error) {
	o.fill()
	j := &Job{o: o, g: &Graph{}, metrics: map[string]*partMetrics{}, last: map[string]SourceStats{}, bad: map[string][]connectors.BadRecord{}}
	j.ctx, j.cancel = context.WithCancelCause(ctx)
	l := &latenessRun{s: newSource(j, &Task{ID: spec.ID, Partitions: 1, Source: spec}), left: limit, held: exec.NewAccount("ADVISE WATERMARK", o.Budget)}
	if limit <= 0 {
		l.left = math.MaxInt64
	}
	err = l.run(j.ctx)
	if err == nil && j.err != nil {
		err = j.err
	}
	l.close()
	j.cancel(nil)
	j.helpers.Wait()
	release = func() { _ = l.held.Grow(-l.held.Used()) }
	if err != nil {
		release()
		return nil, func() {}, err
	}
	for _, sp := range l.splits {
		slices.Sort(sp.Late)
		out = append(out, sp.SplitLateness)
	}
	return out, release, nil
}

type latenessRun struct {
	s      *source
	w      *worker
	splits []*latenessSplit
	left   int64
	held   *exec.Account
}

type latenessSplit struct {
	*SplitLateness
	spec   connectors.Split
	reader connectors.Reader
	high   stream.Time
	ended  bool
}

func (l *latenessRun) close() {
	for _, sp := range l.splits {
		if sp.reader != nil {
			_ = sp.reader.Close()
		}
	}
	if l.s.src != nil {
		_ = l.s.src.Close()
	}
}

func (l *latenessRun) run(ctx context.Context) (err error) {
	s := l.s
	defer func() {
		if p := recover(); p != nil {
			err = s.panicked(s.spec.Name, p)
		}
	}()
	l.w = &worker{}
	if s.spec.NewPreparer != nil {
		l.w.prepare = s.spec.NewPreparer()
	}
	if s.src, err = s.spec.Open(); err != nil {
		return err
	}
	bounded, err := l.list(ctx)
	if err != nil {
		return err
	}
	if !bounded {
		return l.live(ctx)
	}
	for _, sp := range l.splits {
		for !sp.ended && l.left > 0 {
			read, err := l.read(ctx, sp)
			if err != nil {
				return err
			}
			if !read && !sp.ended { // a bounded split of a peer
				if err := l.wait(ctx, sp); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// list adds splits that are not known yet.
func (l *latenessRun) list(ctx context.Context) (bounded bool, err error) {
	found, err := l.s.src.Splits(ctx, l.s.env)
	if err != nil {
		return false, err
	}
	bounded = l.s.src.Changed() == nil
	for _, f := range found {
		bounded = bounded && f.Bounded
		if !slices.ContainsFunc(l.splits, func(sp *latenessSplit) bool { return sp.spec.ID == f.ID }) {
			l.splits = append(l.splits, &latenessSplit{SplitLateness: &SplitLateness{Split: f.ID}, spec: f, high: stream.MinTime})
		}
	}
	return bounded, nil
}

// live reads splits in turn, as their rows come.
func (l *latenessRun) live(ctx context.Context) error {
	for l.left > 0 {
		any, ended := false, true
		for _, sp := range l.splits {
			if sp.ended || l.left <= 0 {
				continue
			}
			read, err := l.read(ctx, sp)
			if err != nil {
				return err
			}
			any, ended = any || read, ended && sp.ended
		}
		if any {
			continue
		}
		if ended && l.s.src.Changed() == nil {
			return nil
		}
		if err := l.wait(ctx, l.splits...); err != nil {
			return err
		}
	}
	return nil
}

// wait waits until one of the splits may have rows, or there are new ones.
func (l *latenessRun) wait(ctx context.Context, splits ...*latenessSplit) error {
	wait := []<-chan struct{}{l.s.wake}
	for _, sp := range splits {
		if sp.reader != nil && !sp.ended {
			if c := sp.reader.Ready(); c != nil {
				wait = append(wait, c)
			}
		}
	}
	changed := -1
	if c := l.s.src.Changed(); c != nil {
		changed = len(wait)
		wait = append(wait, c)
	}
	i, err := l.s.await(ctx, wait, nil)
	if err == nil && i == changed {
		_, err = l.list(ctx)
	}
	return err
}

// read takes the next block of a split, if there is one.
func (l *latenessRun) read(ctx context.Context, sp *latenessSplit) (read bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s := l.s
	if sp.reader == nil {
		if sp.reader, err = s.src.Open(ctx, s.env, sp.spec, sp.spec.Start, s.blockBytes); err != nil {
			return false, err
		}
	}
	raw, err := sp.reader.Next(ctx)
	switch {
	case errors.Is(err, connectors.ErrNotReady):
		return false, nil
	case errors.Is(err, connectors.EOF):
		sp.ended = true
		err = sp.reader.Close()
		sp.reader = nil
		return false, err
	case err != nil:
		return false, err
	}
	b := &block{split: &split{spec: sp.spec}, raw: raw, now: s.job.o.Clock.Now()}
	s.decode(ctx, l.w, b)
	defer b.release()
	if b.err != nil {
		return false, b.err
	}
	bad := 0
	late := len(sp.Late)
	for i := range b.n {
		if l.left == 0 {
			break
		}
		for bad < len(b.bad) && b.bad[bad].Row <= i {
			bad++
			sp.Bad++
		}
		l.left--
		t := b.event[i]
		switch {
		case t == stream.MinTime && b.timeless(i):
			sp.Timeless++
			continue
		case t == stream.MinTime: // a deletion that has its key only
			continue
		case t > sp.high:
			sp.high = t
		case t == sp.high:
			sp.Equal++
		default:
			sp.Late = append(sp.Late, int64(sp.high)-int64(t))
		}
		sp.Rows++
	}
	if l.left > 0 {
		sp.Bad += int64(len(b.bad) - bad)
	}
	if err := l.held.Grow(int64(len(sp.Late)-late) * 8); err != nil {
		return false, fmt.Errorf("%w; LIMIT n reads the first rows only", err)
	}
	return true, nil
}
