package op

import (
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

// Snapshots of window state have the tables
//
// groups: key columns, then slice_end, first_end, next_end, born_in, born and the state columns, one row for each group. EmittingWindowAggregate adds
// first_at, due_at, changed, shown and the result shown last.
// distinct<i>: key columns, then slice_end, first_end, the arguments of call i and count, one row for each tuple.
// window: watermark and the number of the next row, one row.

var wordType = arrow.PrimitiveTypes.Int64

func keyFields(keys []arrow.DataType) []arrow.Field {
	fs := make([]arrow.Field, len(keys))
	for i, k := range keys {
		fs[i] = arrow.Field{Name: fmt.Sprintf("key%d", i), Type: k, Nullable: true}
	}
	return fs
}

func stateFields(ts []arrow.DataType) []arrow.Field {
	fs := make([]arrow.Field, len(ts))
	for i, t := range ts {
		fs[i] = arrow.Field{Name: fmt.Sprintf("state%d", i), Type: t, Nullable: true}
	}
	return fs
}

func wordFields(names ...string) []arrow.Field {
	fs := make([]arrow.Field, len(names))
	for i, n := range names {
		fs[i] = arrow.Field{Name: n, Type: wordType}
	}
	return fs
}

// words is an INT64 column of n values.
func words(mem memory.Allocator, n int, at func(i int) int64) arrow.Array {
	b := array.NewInt64Builder(mem)
	defer b.Release()
	b.Reserve(n)
	for i := range n {
		b.UnsafeAppend(at(i))
	}
	return b.NewArray()
}

// snapshotNumbers returns what the numbers of first rows become in a snapshot, and the number of the next row. Several copies have the sequence numbers of
// the rows. One copy counts for itself, and closes the ranks up below stream.SeqBase, so that the groups stay before those to come also when several copies go on
// with sequence numbers.
func (w *windowState) snapshotNumbers() (func(born int64) int64, int64) {
	if w.env.Partitions > 1 {
		return func(born int64) int64 { return born }, w.rows
	}
	var all []int64
	for _, s := range w.slices {
		all = append(all, s.born...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return func(born int64) int64 {
		i, _ := slices.BinarySearch(all, born)
		return int64(i) * stream.SeqStep
	}, int64(len(all)) * stream.SeqStep
}

func (w *windowState) snapshot(to exec.StateWriter) error {
	mem := w.env.Allocator
	number, rows := w.snapshotNumbers()
	meta := newRecord(arrow.NewSchema(wordFields("watermark", "next_row"), nil),
		[]arrow.Array{words(mem, 1, func(int) int64 { return int64(w.wm) }), words(mem, 1, func(int) int64 { return rows })}, 1)
	err := to.Table("window", 0, meta)
	meta.Release()
	for _, s := range w.slices {
		if err != nil {
			return err
		}
		n := s.keys.Len()
		cols := s.keys.Keys(mem, nil)
		cols = append(cols, words(mem, n, func(int) int64 { return s.end }), words(mem, n, func(int) int64 { return s.first }), words(mem, n, func(int) int64 { return s.next }),
			words(mem, n, func(g int) int64 { return s.bornIn(g) }), words(mem, n, func(g int) int64 { return number(s.born[g]) }))
		cols = append(cols, s.aggs.state(mem, nil)...)
		fs := append(append(keyFields(w.keyTypes), wordFields("slice_end", "first_end", "next_end", "born_in", "born")...), stateFields(s.aggs.stateTypes())...)
		if s.firing != nil {
			cols, fs = append(cols, w.firingColumns(s)...), append(fs, w.firingFields()...)
		}
		rec := newRecord(arrow.NewSchema(fs, nil), cols, n)
		err = to.Table("groups", len(w.keyTypes), rec)
		rec.Release()
		for i, d := range s.aggs.distinct {
			if d != nil && err == nil {
				err = w.snapshotDistinct(s, i, to)
			}
		}
	}
	return err
}

func (w *windowState) snapshotDistinct(s *slice, i int, to exec.StateWriter) error {
	tuples, counts := s.aggs.distinct[i].tuples(w.env.Allocator)
	defer releaseAll(tuples)
	n := len(counts)
	groups := make([]int32, n)
	for j, g := range values[int64](tuples[0]) {
		groups[j] = int32(g)
	}
	cols := s.keys.Keys(w.env.Allocator, groups)
	cols = append(cols, words(w.env.Allocator, n, func(int) int64 { return s.end }), words(w.env.Allocator, n, func(int) int64 { return s.first }))
	for _, c := range tuples[1:] {
		c.Retain()
		cols = append(cols, c)
	}
	cols = append(cols, words(w.env.Allocator, n, func(j int) int64 { return counts[j] }))
	fs := append(keyFields(w.keyTypes), wordFields("slice_end", "first_end")...)
	for j, t := range s.aggs.distinct[i].types[1:] {
		fs = append(fs, arrow.Field{Name: fmt.Sprintf("arg%d", j), Type: t, Nullable: true})
	}
	rec := newRecord(arrow.NewSchema(append(fs, wordFields("count")...), nil), cols, n)
	defer rec.Release()
	return to.Table(fmt.Sprintf("distinct%d", i), len(w.keyTypes), rec)
}

func (w *windowState) restore(from exec.StateReader) error {
	w.restoring = true
	defer func() { w.restoring = false }()
	for i, rec := range from.Table("window") {
		// After a change of parallelism several parts come together: the watermark that all have reached, since rows may still come for what the others
		// have not closed (of the keys of a copy that was ahead there are none before its watermark), and a row number behind all of theirs.
		if wm := stream.Time(values[int64](rec.Column(0))[0]); i == 0 || wm < w.wm {
			w.wm = wm
		}
		w.rows = max(w.rows, values[int64](rec.Column(1))[0])
	}
	k := len(w.keyTypes)
	for _, rec := range from.Table("groups") {
		if has := rec.Schema().HasField("first_at"); has != w.emits {
			return errors.New("the state was written with another setting of EMIT or table.exec.emit.*: it says which windows are kept")
		}
		word := func(c int) []int64 { return values[int64](rec.Column(k + c)) }
		err := w.runs(rec, k, func(s *slice, rows []int32) error {
			ids, err := w.groups(s, rec.Columns()[:k], rows, len(rows), 0, nil)
			if err != nil {
				return err
			}
			s.next = word(2)[rows[0]]
			for i, id := range ids {
				r := rows[i]
				s.born[id] = word(4)[r]
				w.rows = max(w.rows, s.born[id]+1) // several copies number their rows by Seq, one copy goes on from there
				if from := word(3)[r]; from != s.end || s.from != nil || w.perWindow {
					w.gatherFrom(s)
					for len(s.from) <= int(id) {
						s.from = append(s.from, s.end)
					}
					s.from[id] = from
				}
			}
			s.aggs.mergeState(ids, rows, rec.Columns()[k+5:])
			return w.charge(s)
		})
		if err != nil {
			return err
		}
	}
	for i, a := range w.aggs {
		if !a.Distinct {
			continue
		}
		for _, rec := range from.Table(fmt.Sprintf("distinct%d", i)) {
			args := rec.Columns()[k+2 : k+2+len(a.Args)]
			counts := values[int64](rec.Column(k + 2 + len(a.Args)))
			err := w.runs(rec, k, func(s *slice, rows []int32) error {
				ids, err := w.groups(s, rec.Columns()[:k], rows, len(rows), 0, nil)
				if err != nil {
					return err
				}
				groups := make([]int64, rec.NumRows())
				for j := range groups {
					groups[j] = -1
				}
				for j, id := range ids {
					groups[rows[j]] = int64(id)
				}
				if err := s.aggs.distinct[i].merge(groups, args, counts, s.aggs.accs[i]); err != nil {
					return err
				}
				return w.charge(s)
			})
			if err != nil {
				return err
			}
		}
	}
	if w.chained() {
		return w.rechain()
	}
	return nil
}

// rechain mends the chains of CUMULATE after a change of parallelism: of copies that became one, some may not have had a slice that others had. A group that
// is missing in a slice has there what it has in the slice before.
func (w *windowState) rechain() error {
	for i := 1; i < len(w.slices); i++ {
		src, dst := w.slices[i-1], w.slices[i]
		if w.w.start(src.end) != w.w.start(dst.end) {
			continue
		}
		n := src.keys.Len()
		cols := src.keys.Keys(w.env.Allocator, nil)
		ids := make([]int32, n)
		dst.keys.Find(cols, nil, n, ids)
		releaseAll(cols)
		var missing []int32
		for g, id := range ids {
			if id < 0 {
				missing = append(missing, int32(g))
			}
		}
		if len(missing) == 0 {
			continue
		}
		cols = src.keys.Keys(w.env.Allocator, missing)
		ids = ids[:len(missing)]
		err := dst.keys.Groups(cols, nil, len(missing), ids)
		releaseAll(cols)
		if err != nil {
			return err
		}
		dst.aggs.resize(dst.keys.Len())
		for _, g := range missing { // new ids are consecutive
			dst.born, dst.from = append(dst.born, src.born[g]), append(dst.from, src.bornIn(int(g)))
		}
		if err := dst.aggs.mergeFrom(src.aggs, missing, ids); err != nil {
			return err
		}
		if err := w.charge(dst); err != nil {
			return err
		}
	}
	return nil
}

// runs calls f for each run of rows of one slice; the two columns behind the k key columns say which.
func (w *windowState) runs(rec arrow.RecordBatch, k int, f func(s *slice, rows []int32) error) error {
	ends, firsts := values[int64](rec.Column(k)), values[int64](rec.Column(k+1))
	n := int(rec.NumRows())
	for from := 0; from < n; {
		to := from + 1
		for to < n && ends[to] == ends[from] && firsts[to] == firsts[from] {
			to++
		}
		s, err := w.at(ends[from], firsts[from])
		if err != nil {
			return err
		}
		rows := make([]int32, to-from)
		for i := range rows {
			rows[i] = int32(from + i)
		}
		if err := f(s, rows); err != nil {
			return err
		}
		from = to
	}
	return nil
}
