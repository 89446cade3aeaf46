package task

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weir-sql/weir/exec/exchange"
	"github.com/weir-sql/weir/exec/stream"
)

// inFlight passes on what lay before a task: in the new graph that is where the exchange leads now, or, where there is none any more, what stood behind
// it.
func (r *rescaler) inFlight(s TaskShape) error {
	olds := r.parts(s.ID)
	if len(s.Inputs) != 1 {
		return nil
	}
	rows, err := r.waiting(olds)
	if err != nil {
		return err
	}
	defer func() {
		for _, b := range rows {
			b.Release()
		}
	}()
	var to []*TaskSnapshot // copies of the task, if there are any
	for i, inst := range r.j.tasks {
		if chainOf(inst).task.ID == s.ID {
			to = append(to, r.out[i])
		}
	}
	x := s.Inputs[0]
	if len(to) > 0 {
		split := exchange.NewPartitioner(x.Keys, len(to))
		for len(rows) > 0 {
			b := rows[0]
			rows = rows[1:]
			parts, err := split.Partition(b)
			if err != nil {
				return err
			}
			for p, part := range parts {
				if part.Len() > 0 {
					to[p].Pending = append(to[p].Pending, Pending{s.To, []stream.Event{{Kind: stream.EventBatch, Batch: part}}})
				}
			}
		}
		return nil
	}
	targets := r.resolve(s.To)
	var at *TaskSnapshot
	known := x.From == ""
	for i, inst := range r.j.tasks {
		c := chainOf(inst)
		for _, id := range targets {
			if c.receiver(id) != nil {
				at = r.out[i]
			}
		}
		known = known || slices.ContainsFunc(c.nodes, func(n *node) bool { return n.spec.ID == x.From })
	}
	if at == nil || len(rows) > 0 && !known {
		// Nobody knows what to make of rows of an operator that the plan does not have.
		return fmt.Errorf("rows lay between %s and what reads it, which the plan at this parallelism does not have: restore at a parallelism of at least 2", x.From)
	}
	p := Pending{Targets: targets}
	for _, b := range rows {
		p.Events = append(p.Events, stream.Event{Kind: stream.EventBatch, Batch: b})
	}
	rows = nil
	told, ended := stream.MaxTime, true
	for _, o := range olds {
		told, ended = min(told, o.Forwarded), ended && o.Ended
	}
	said := r.said(x)
	if said.forwarded > told && said.forwarded != stream.MaxTime {
		p.Events = append(p.Events, stream.Event{Kind: stream.EventWatermark, Watermark: said.forwarded})
	}
	if said.ended && !ended {
		p.Events = append(p.Events, stream.Event{Kind: stream.EventEnd})
	}
	if len(p.Events) > 0 {
		at.Pending = append(at.Pending, p)
	}
	return nil
}

// said is what the producers of an old exchange had sent.
func (r *rescaler) said(x ExchangeShape) output {
	if ns, ok := r.node(x.From); ok {
		return output{forwarded: ns.Forwarded, ended: ns.Finished}
	}
	o := output{forwarded: stream.MaxTime, ended: true}
	for _, part := range r.parts(x.Task) {
		o.forwarded, o.ended = min(o.forwarded, part.Forwarded), o.ended && part.Ended && part.Source == nil // a source says so again
	}
	return o
}

// resolve replaces exchanges that are no more by what stood behind them.
func (r *rescaler) resolve(ids []string) []string {
	var out []string
	for _, id := range ids {
		behind := -1
		for i, s := range r.old.Shape {
			if len(s.Inputs) == 1 && s.Inputs[0].ID == id {
				behind = i
			}
		}
		if behind < 0 || slices.ContainsFunc(r.j.tasks, func(inst instance) bool { return chainOf(inst).receiver(id) != nil }) {
			out = append(out, id)
			continue
		}
		out = append(out, r.resolve(r.old.Shape[behind].To)...)
	}
	return out
}

// lowestMerged is the watermark that all copies have merged up to: those that are ahead have no more rows before their own.
func lowestMerged(olds []*TaskSnapshot) stream.Time {
	if len(olds) == 0 {
		return stream.MinTime
	}
	low := stream.MaxTime
	for _, o := range olds {
		low = min(low, o.Inputs.Merged)
	}
	return low
}

// waitingRow is a row that lay before a task, with its place in the merge over all copies of the task.
type waitingRow struct {
	key        Bound
	lane, copy int
	batch      stream.Batch
	row        int
}

// waiting returns the rows that lay before the old copies of a task, in order.
func (r *rescaler) waiting(olds []*TaskSnapshot) (out []stream.Batch, err error) {
	var rows []waitingRow
	merged := lowestMerged(olds)
	for p, o := range olds {
		for i, q := range o.Inputs.Queued {
			l := lane{bound: o.Inputs.Bound[i]}
			for _, e := range q {
				switch e.Kind {
				case stream.EventWatermark:
					l.bound = l.bound.max(Bound{e.Watermark, e.Seq})
				case stream.EventBatch:
					l.batch = e.Batch
					for k := range e.Batch.Len() {
						l.bound = l.key(k)
						row := e.Batch.Row(k)
						w := waitingRow{l.bound, i, p, e.Batch, row}
						if k > 0 && e.Batch.Kind(row) == stream.UpdateAfter && e.Batch.Kind(e.Batch.Row(k-1)) == stream.UpdateBefore { // an update stays together
							w.key = rows[len(rows)-1].key
						}
						rows = append(rows, w)
					}
				}
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b waitingRow) int {
		return cmp.Or(cmp.Compare(a.key.Before, b.key.Before), cmp.Compare(a.key.Seq, b.key.Seq), cmp.Compare(a.lane, b.lane), cmp.Compare(a.copy, b.copy))
	})
	for len(rows) > 0 {
		n := min(len(rows), r.j.o.BatchRows)
		if last := rows[n-1]; n < len(rows) && last.batch.Kind(last.row) == stream.UpdateBefore {
			n++
		}
		b, err := r.gather(rows[:n], &merged)
		if err != nil {
			for _, b := range out {
				b.Release()
			}
			return nil, err
		}
		out = append(out, b)
		rows = rows[n:]
	}
	return out, nil
}

// gather makes one batch of rows. merged is the watermark before the last one.
func (r *rescaler) gather(rows []waitingRow, merged *stream.Time) (out stream.Batch, err error) {
	all := func(has func(b stream.Batch) bool) bool {
		return !slices.ContainsFunc(rows, func(w waitingRow) bool { return !has(w.batch) })
	}
	before := all(func(b stream.Batch) bool { return b.Before != nil })
	seq := r.parallel && all(func(b stream.Batch) bool { return b.Seq != nil })
	kinds := !all(func(b stream.Batch) bool { return b.Kinds == nil })
	var runs []exchange.Run
	for _, w := range rows {
		if n := len(runs); n > 0 && runs[n-1].Record == w.batch.Record && runs[n-1].To == w.row {
			runs[n-1].To++
		} else {
			runs = append(runs, exchange.Run{Record: w.batch.Record, From: w.row, To: w.row + 1})
		}
		if kinds {
			out.Kinds = append(out.Kinds, w.batch.Kind(w.row))
		}
		if before {
			*merged = max(*merged, w.batch.Before[w.row])
			out.Before = append(out.Before, *merged)
		}
		if seq {
			out.Seq = append(out.Seq, w.batch.Seq[w.row])
		}
	}
	out.Record, err = exchange.Gather(r.j.o.Allocator, runs)
	return out, err
}
