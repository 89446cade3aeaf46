package task

import (
	"github.com/weir-sql/weir/exec/exchange"
	"github.com/weir-sql/weir/exec/stream"
)

// assemble makes the batch of an item: a slice of a block where one run is all, else a copy of the runs; and the side vectors that the plan needs. It
// takes over the item's runs.
func (s *source) assemble(it *item) (stream.Batch, error) {
	runs := it.runs
	it.runs = nil
	defer func() {
		for i := range runs {
			runs[i].release()
		}
	}()
	var b stream.Batch
	if len(runs) == 1 {
		r := runs[0]
		b.Record = r.rec.NewSlice(int64(r.from), int64(r.to))
		if r.kinds != nil {
			b.Kinds = r.kinds[r.from:r.to:r.to]
		}
	} else {
		parts := make([]exchange.Run, len(runs))
		kinds := false
		for i, r := range runs {
			parts[i] = exchange.Run{Record: r.rec, From: r.from, To: r.to}
			kinds = kinds || r.kinds != nil
		}
		rec, err := exchange.Gather(s.job.o.Allocator, parts)
		if err != nil {
			return b, err
		}
		b.Record = rec
		if kinds {
			b.Kinds = make([]stream.RowKind, 0, it.rows)
			for _, r := range runs {
				if r.kinds != nil {
					b.Kinds = append(b.Kinds, r.kinds[r.from:r.to]...)
				} else {
					b.Kinds = append(b.Kinds, make([]stream.RowKind, r.to-r.from)...)
				}
			}
		}
	}
	if s.spec.NeedSeq {
		b.Seq = make([]int64, it.rows)
		for i := range b.Seq {
			b.Seq[i] = stream.SeqOf(it.seq + int64(i))
		}
	}
	if s.spec.Need >= NeedExact || s.spec.Need == NeedLate && anyLate(runs) {
		b.Before = beforeOf(runs, it.rows)
	}
	return b, nil
}

// anyLate reports whether a row lies at or behind the last watermark of the batch, the one before its last row.
func anyLate(runs []run) bool {
	last := &runs[len(runs)-1]
	wm := last.before(last.to - 1)
	for i := range runs {
		r := &runs[i]
		if r.b.event == nil || r.b.lowEvent > wm {
			continue
		}
		for _, t := range r.b.event[r.from:r.to] {
			if t <= wm && t != stream.MinTime {
				return true
			}
		}
	}
	return false
}

// beforeOf returns the watermark before each row.
func beforeOf(runs []run, rows int) []stream.Time {
	out := make([]stream.Time, 0, rows)
	for i := range runs {
		r := &runs[i]
		out = append(out, r.w)
		if r.b.prefix == nil {
			for range r.to - r.from - 1 {
				out = append(out, r.w)
			}
			continue
		}
		for _, t := range r.b.prefix[r.from+1 : r.to] {
			out = append(out, max(r.w, min(max(r.carry, t), r.others)))
		}
	}
	return out
}
