package op

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// WindowTableFunction is TUMBLE, HOP or CUMULATE without an aggregation behind it: each row, of any kind, once for each of its windows, with
// window_start, window_end and window_time behind its columns. HOP gives the latest window first, CUMULATE the shortest. No row is late here; rows without
// event time are dropped and counted (null_time_rows).
type WindowTableFunction struct {
	exec.Base
	window Window
	time   int
	schema *arrow.Schema
	env    *exec.Env
	w      *windows

	rows []int32
	ends []int64
}

// NewWindowTableFunction returns the operator. timeColumn is -1 for windows of processing time; schema is that of the output.
func NewWindowTableFunction(window Window, timeColumn int, schema types.Schema) *WindowTableFunction {
	return &WindowTableFunction{window: window, time: timeColumn, schema: schema.Arrow()}
}

// Open implements exec.Operator.
func (o *WindowTableFunction) Open(_ context.Context, env *exec.Env, _ exec.StateReader) error {
	o.env = env
	win := o.window
	if o.time < 0 {
		win.LTZ = true
	}
	o.w = newWindows(win, env.Zone)
	return nil
}

// ProcessBatch implements exec.Operator.
func (o *WindowTableFunction) ProcessBatch(_ context.Context, _ int, b stream.Batch, out exec.Output) error {
	n := b.Len()
	var at func(r int) (slice int64, ok bool)
	if o.time < 0 {
		s := o.w.sliceEnd(o.w.wall(o.env.Clock.Now().UnixMicro()))
		at = func(int) (int64, bool) { return s, true }
	} else {
		col := b.Record.Column(o.time)
		v := times(col)
		at = func(r int) (int64, bool) {
			if col.IsNull(r) || !o.w.inRange(v[r]) {
				return 0, false
			}
			return o.w.sliceEnd(o.w.wall(v[r])), true
		}
	}
	o.rows, o.ends = o.rows[:0], o.ends[:0]
	nulls := int64(0)
	kinds := b.Kinds
	set := func(r int, k stream.RowKind) { // Kinds is sealed
		if &kinds[0] == &b.Kinds[0] {
			kinds = append([]stream.RowKind(nil), kinds...)
		}
		kinds[r] = k
	}
	for i := 0; i < n; i++ {
		r := b.Row(i)
		s, ok := at(r)
		if !ok {
			nulls++
		}
		if b.Kind(r) != stream.UpdateBefore || i+1 == n {
			if ok {
				o.add(s, int32(r))
			}
			continue
		}
		// An update whose time stays in its slice is an update in each window; else it leaves some windows and enters others.
		i++
		next := b.Row(i)
		t, nok := at(next)
		if !nok {
			nulls++
		}
		if ok && nok && s == t {
			o.add(s, int32(r), int32(next))
			continue
		}
		set(r, stream.Delete)
		set(next, stream.Insert)
		if ok {
			o.add(s, int32(r))
		}
		if nok {
			o.add(t, int32(next))
		}
	}
	if nulls > 0 {
		o.env.Metrics.Counter(exec.NullTimeRows).Add(nulls)
	}
	b.Kinds = kinds
	if len(o.rows) == 0 {
		b.Release()
		return nil
	}
	return o.emit(b, out)
}

// add puts rows into each window with the slice.
func (o *WindowTableFunction) add(sliceEnd int64, rows ...int32) {
	last := o.w.lastEnd(sliceEnd)
	put := func(e int64) {
		for _, r := range rows {
			o.rows, o.ends = append(o.rows, r), append(o.ends, e)
		}
	}
	if o.w.Kind == Hop {
		for e := last; e >= sliceEnd; e -= o.w.step {
			put(e)
		}
		return
	}
	for e := sliceEnd; e <= last; e += o.w.step {
		put(e)
	}
}

func (o *WindowTableFunction) emit(b stream.Batch, out exec.Output) error {
	mem := o.env.Allocator
	n := len(o.rows)
	cols := make([]arrow.Array, 0, o.schema.NumFields())
	whole := b.Selection == nil && n == int(b.Record.NumRows()) && o.w.Kind == Tumble // each row once, in order: nothing to copy
	for i := range int(b.Record.NumCols()) {
		c := b.Record.Column(i)
		if whole {
			c.Retain()
		} else {
			c = take(mem, c, o.rows)
		}
		cols = append(cols, c)
	}
	for p := WindowStart; p <= WindowTime; p++ {
		tb := array.NewBuilder(mem, o.schema.Field(len(cols)).Type).(*array.TimestampBuilder)
		tb.Reserve(n)
		var end, v int64
		for i, e := range o.ends {
			if i == 0 || e != end {
				switch end, v = e, e; p {
				case WindowStart:
					v = o.w.start(e)
				case WindowTime:
					v = int64(o.w.firesAt(e))
				}
			}
			tb.UnsafeAppend(arrow.Timestamp(v))
		}
		cols = append(cols, tb.NewArray())
		tb.Release()
	}
	res := stream.Batch{Record: newRecord(o.schema, cols, n), Kinds: b.Kinds, Before: b.Before, Seq: b.Seq}
	if !whole {
		res.Kinds, res.Before, res.Seq = takeSide(b.Kinds, o.rows), takeSide(b.Before, o.rows), takeSeq(b.Seq, o.rows)
	}
	b.Release()
	return emitRows(o.env, res, out)
}
