// Package optest has the tests that all operators share: a checker of the contract of exec.Operator, an allocator that makes use after release visible,
// and a harness that runs event scripts under many batchings, snapshots and partitions.
package optest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

// Check wraps an operator so that a breach of the contract, by its caller or by itself, is an error that names it. output, where not nil, is the schema
// of what it emits; without it all its batches must have the schema of the first.
func Check(op exec.Operator, name string, output *arrow.Schema) exec.Operator {
	return &checker{op: op, name: name, out: flow{what: name + " emitted", schema: output, wm: stream.MinTime}, wm: stream.MinTime}
}

type checker struct {
	op     exec.Operator
	name   string
	in     []*flow
	out    flow
	side   map[string]*flow
	wm     stream.Time
	ended  bool // ProcessWatermark(MaxTime)
	done   bool // Finish
	failed bool
	closed bool
}

// flow checks the batches and watermarks at one place.
type flow struct {
	what   string
	schema *arrow.Schema
	wm     stream.Time
	before stream.Time // Before of the last row
	ended  bool
}

func (f *flow) fail(format string, a ...any) error {
	return fmt.Errorf("operator contract: %s %s", f.what, fmt.Sprintf(format, a...))
}

func (f *flow) batch(b stream.Batch) error {
	if f.ended {
		return f.fail("a batch behind the end")
	}
	if b.Record == nil {
		return f.fail("a batch without a record")
	}
	if f.schema == nil {
		f.schema = b.Record.Schema()
	}
	if err := f.sameSchema(b.Record.Schema()); err != nil {
		return err
	}
	n := int(b.Record.NumRows())
	for c := range int(b.Record.NumCols()) {
		if l := b.Record.Column(c).Len(); l != n {
			return f.fail("a column of %d rows in a batch of %d", l, n)
		}
	}
	for _, v := range []struct {
		name string
		nil_ bool
		n    int
	}{{"Kinds", b.Kinds == nil, len(b.Kinds)}, {"Before", b.Before == nil, len(b.Before)}, {"Seq", b.Seq == nil, len(b.Seq)}} {
		if !v.nil_ && v.n != n {
			return f.fail("%s with %d entries for %d rows", v.name, v.n, n)
		}
	}
	last := int32(-1)
	for _, r := range b.Selection {
		if r <= last || int(r) >= n {
			return f.fail("a selection that is not ascending or leaves the batch: %d behind %d of %d rows", r, last, n)
		}
		last = r
	}
	if b.Len() == 0 {
		return f.fail("a batch without rows")
	}
	return f.rows(b)
}

func (f *flow) sameSchema(s *arrow.Schema) error {
	if s.NumFields() != f.schema.NumFields() {
		return f.fail("%d columns, want %d", s.NumFields(), f.schema.NumFields())
	}
	for i, g := range s.Fields() {
		if want := f.schema.Field(i); !arrow.TypeEqual(g.Type, want.Type) {
			return f.fail("column %d (%s) of type %s, want %s", i, want.Name, g.Type, want.Type)
		}
	}
	return nil
}

// rows checks update pairs and Before.
func (f *flow) rows(b stream.Batch) error {
	for i := range b.Len() {
		r := b.Row(i)
		if k := b.Kind(r); k == stream.UpdateBefore {
			if i+1 == b.Len() || b.Kind(b.Row(i+1)) != stream.UpdateAfter {
				return f.fail("a -U that is not followed by its +U")
			}
		}
		if b.Before == nil {
			continue
		}
		if w := b.Before[r]; w < f.wm {
			return f.fail("a row with Before %d behind the watermark %d", w, f.wm)
		} else if w < f.before {
			return f.fail("a row with Before %d after one with %d", w, f.before)
		} else {
			f.before = w
		}
	}
	return nil
}

func (f *flow) watermark(w stream.Time) error {
	if w < f.before {
		return f.fail("the watermark %d after a row with Before %d", w, f.before)
	}
	f.wm = max(f.wm, w)
	return nil
}

func (c *checker) usable(call string) error {
	switch {
	case c.closed:
		return fmt.Errorf("operator contract: %s of %s after Close", call, c.name)
	case c.failed:
		return fmt.Errorf("operator contract: %s of %s after an error", call, c.name)
	case c.done:
		return fmt.Errorf("operator contract: %s of %s after Finish", call, c.name)
	}
	return nil
}

func (c *checker) note(err error) error {
	if err != nil && !errors.Is(err, exec.ErrEnough) {
		c.failed = true
	}
	return err
}

func (c *checker) input(i int) *flow {
	for len(c.in) <= i {
		c.in = append(c.in, &flow{what: fmt.Sprintf("input %d of %s got", len(c.in), c.name), wm: stream.MinTime, before: stream.MinTime})
	}
	return c.in[i]
}

func (c *checker) Open(ctx context.Context, env *exec.Env, from exec.StateReader) error {
	c.out.before = stream.MinTime
	return c.note(c.op.Open(ctx, env, from))
}

func (c *checker) ProcessBatch(ctx context.Context, in int, b stream.Batch, out exec.Output) error {
	err := c.usable("ProcessBatch")
	if err == nil {
		f := c.input(in)
		f.wm = max(f.wm, c.wm)
		err = f.batch(b)
	}
	if err != nil {
		b.Release()
		return c.note(err)
	}
	return c.note(c.op.ProcessBatch(ctx, in, b, &checkedOutput{c, &c.out, out}))
}

func (c *checker) ProcessWatermark(ctx context.Context, wm stream.Time, out exec.Output) error {
	err := c.usable("ProcessWatermark")
	if err == nil && wm < c.wm {
		err = fmt.Errorf("operator contract: the watermark of %s goes back from %d to %d", c.name, c.wm, wm)
	}
	if err != nil {
		return c.note(err)
	}
	c.wm = wm
	c.ended = wm == stream.MaxTime
	return c.note(c.op.ProcessWatermark(ctx, wm, &checkedOutput{c, &c.out, out}))
}

func (c *checker) ProcessTimer(ctx context.Context, at time.Time, out exec.Output) error {
	if err := c.usable("ProcessTimer"); err != nil {
		return c.note(err)
	}
	return c.note(c.op.ProcessTimer(ctx, at, &checkedOutput{c, &c.out, out}))
}

func (c *checker) EndInput(ctx context.Context, in int, out exec.Output) error {
	if err := c.usable("EndInput"); err != nil {
		return c.note(err)
	}
	f := c.input(in)
	if f.ended {
		return c.note(f.fail("its end twice"))
	}
	f.ended = true
	return c.note(c.op.EndInput(ctx, in, &checkedOutput{c, &c.out, out}))
}

func (c *checker) Snapshot(ctx context.Context, to exec.StateWriter) error {
	if err := c.usable("Snapshot"); err != nil {
		return c.note(err)
	}
	return c.note(c.op.Snapshot(ctx, to))
}

func (c *checker) Finish(ctx context.Context, out exec.Output) error {
	err := c.usable("Finish")
	if err == nil && !c.ended {
		err = fmt.Errorf("operator contract: Finish of %s before the last watermark", c.name)
	}
	if err != nil {
		return c.note(err)
	}
	err = c.note(c.op.Finish(ctx, &checkedOutput{c, &c.out, out}))
	c.done = true
	return err
}

// Observe implements exec.Observer for operators that do.
func (c *checker) Observe() (exec.Observation, bool) {
	if o, ok := c.op.(exec.Observer); ok {
		return o.Observe()
	}
	return exec.Observation{}, false
}

func (c *checker) Close() error {
	c.closed = true
	return c.op.Close()
}

type checkedOutput struct {
	c *checker
	f *flow
	o exec.Output
}

func (o *checkedOutput) Emit(b stream.Batch) error {
	err := o.f.batch(b)
	if err == nil && o.c.done {
		err = o.f.fail("a batch after Finish")
	}
	if err != nil {
		b.Release()
		return err
	}
	return o.o.Emit(b)
}

func (o *checkedOutput) Watermark(w stream.Time) error {
	if err := o.f.watermark(w); err != nil {
		return err
	}
	return o.o.Watermark(w)
}

func (o *checkedOutput) Side(name string) exec.Output {
	s := o.o.Side(name)
	if s == nil {
		return nil
	}
	if o.c.side == nil {
		o.c.side = map[string]*flow{}
	}
	f := o.c.side[name]
	if f == nil {
		f = &flow{what: o.c.name + " emitted to " + name, wm: stream.MinTime, before: stream.MinTime}
		o.c.side[name] = f
	}
	return &checkedOutput{o.c, f, s}
}
