package op

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

// GlobalWindowAggregate is the second phase of a window aggregate: it merges the partial rows of LocalWindowAggregate (of any number of them, through
// an exchange by the key columns, which come first) and closes windows. Its results are those of WindowAggregate.
type GlobalWindowAggregate struct {
	exec.Base
	cfg   WindowAggregateConfig
	w     *windowState
	split splitter
}

// NewGlobalWindowAggregate returns the operator. cfg is that of the local phase; TimeColumn, Keys, Args and Filter of it speak of the input of the local
// phase and are not used here.
func NewGlobalWindowAggregate(cfg WindowAggregateConfig) *GlobalWindowAggregate {
	return &GlobalWindowAggregate{cfg: cfg}
}

// Open implements exec.Operator.
func (o *GlobalWindowAggregate) Open(_ context.Context, env *exec.Env, from exec.StateReader) error {
	if err := o.cfg.check(); err != nil {
		return err
	}
	o.w = newWindowState(&o.cfg, env)
	if _, err := newAggSet(o.cfg.Aggregates, o.cfg.Retract, nil); err != nil {
		return err
	}
	if from == nil {
		return nil
	}
	return o.w.restore(from)
}

// ProcessBatch implements exec.Operator.
func (o *GlobalWindowAggregate) ProcessBatch(_ context.Context, _ int, b stream.Batch, _ exec.Output) error {
	b = dense(o.w.env.Allocator, b)
	defer b.Release()
	n := b.Len()
	if n == 0 {
		return nil
	}
	o.w.numbers = b.Seq
	k := len(o.w.keyTypes)
	ends, firsts := values[int64](b.Record.Column(k)), values[int64](b.Record.Column(k+1))
	// Partial rows of one batch nearly always are of one slice.
	one := true
	for i := 1; i < n && one; i++ {
		one = ends[i] == ends[0] && firsts[i] == firsts[0]
	}
	if one {
		if err := o.merge(&b, spot{ends[0], firsts[0]}, nil, n); err != nil {
			return err
		}
	} else {
		o.split.clear()
		last, at := spot{}, -1
		for i := range n {
			if sp := (spot{ends[i], firsts[i]}); at < 0 || sp != last {
				last, at = sp, o.split.find(sp)
			}
			o.split.lists[at] = append(o.split.lists[at], int32(i))
		}
		for k, rows := range o.split.lists {
			if err := o.merge(&b, o.split.spots[k], rows, len(rows)); err != nil {
				return err
			}
		}
	}
	o.w.rows += int64(n)
	return nil
}

func (o *GlobalWindowAggregate) merge(b *stream.Batch, sp spot, rows []int32, n int) error {
	// The local phase judged lateness; the watermark here is never ahead of it. Should it be, a closed window must not come again.
	if o.w.w.firesAt(sp.first) <= o.w.wm {
		first, ok := o.w.w.firstOpen(sp.end, o.w.wm)
		if !ok {
			o.w.env.Metrics.Counter(exec.LateRows).Add(int64(n))
			return nil
		}
		sp.first = max(sp.first, first)
	}
	s, err := o.w.at(sp.end, sp.first)
	if err != nil {
		return err
	}
	k := len(o.w.keyTypes)
	var cols []arrow.Array = b.Record.Columns()
	ids, err := o.w.groups(s, cols[:k], rows, n, o.w.rows, nil)
	if err != nil {
		return err
	}
	s.aggs.mergeState(ids, rows, cols[k+2:])
	return o.w.charge(s)
}

// ProcessWatermark implements exec.Operator.
func (o *GlobalWindowAggregate) ProcessWatermark(_ context.Context, wm stream.Time, out exec.Output) error {
	if err := o.w.advance(wm, out); err != nil {
		return err
	}
	return out.Watermark(wm)
}

// Snapshot implements exec.Operator.
func (o *GlobalWindowAggregate) Snapshot(_ context.Context, to exec.StateWriter) error {
	return o.w.snapshot(to)
}

// Close implements exec.Operator.
func (o *GlobalWindowAggregate) Close() error {
	if o.w != nil {
		o.w.close()
	}
	return nil
}
