package op

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/exec"
)

// The columns that EmittingWindowAggregate adds to the groups of a snapshot: first_at, due_at, changed, shown, then the result shown last.

func (w *windowState) firingFields() []arrow.Field {
	fs := wordFields("first_at", "due_at", "changed", "shown")
	for i, a := range w.aggs {
		fs = append(fs, arrow.Field{Name: fmt.Sprintf("shown%d", i), Type: a.Spec.Result.Arrow(), Nullable: true})
	}
	return fs
}

func (w *windowState) firingColumns(s *slice) []arrow.Array {
	f, mem := s.firing, w.env.Allocator
	n := len(f.first)
	word := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	cols := []arrow.Array{words(mem, n, func(g int) int64 { return f.first[g] }), words(mem, n, func(g int) int64 { return f.due[g] }),
		words(mem, n, func(g int) int64 { return word(f.changed[g]) }), words(mem, n, func(g int) int64 { return word(f.shown[g].c != nil) })}
	return append(cols, pick(f.shown).columns(mem, w.aggs)...)
}

// Snapshot implements exec.Operator.
func (o *EmittingWindowAggregate) Snapshot(_ context.Context, to exec.StateWriter) error {
	return o.w.snapshot(to)
}

func (o *EmittingWindowAggregate) restore(from exec.StateReader) error {
	if err := o.w.restore(from); err != nil {
		return err
	}
	k := len(o.w.keyTypes)
	for _, s := range o.w.slices {
		f := o.firing(s, 0)
		copy(f.count, s.aggs.counts(o.w.env.Allocator))
	}
	for _, rec := range from.Table("groups") {
		cols := rec.Columns()
		cols = cols[len(cols)-4-len(o.w.aggs):]
		first, due, changed, shown := values[int64](cols[0]), values[int64](cols[1]), values[int64](cols[2]), values[int64](cols[3])
		err := o.w.runs(rec, k, func(s *slice, rows []int32) error {
			ids, err := o.w.groups(s, rec.Columns()[:k], rows, len(rows), 0, nil)
			if err != nil {
				return err
			}
			f := s.firing
			var places []*place
			var taken []int32
			for i, g := range ids {
				r := rows[i]
				f.first[g], f.due[g], f.changed[g] = first[r], due[r], changed[r] != 0
				if due[r] != 0 {
					o.timers.add(due[r], s, g)
				}
				if shown[r] != 0 {
					places, taken = append(places, &f.shown[g]), append(taken, r)
				}
			}
			if len(places) == 0 {
				return nil
			}
			copies := make([]arrow.Array, len(o.w.aggs))
			for i := range copies {
				copies[i] = take(o.w.env.Allocator, cols[4+i], taken)
			}
			o.adopt(copies, places)
			return nil
		})
		if err != nil {
			return err
		}
	}
	o.tidy(o.w.slices)
	return nil
}
