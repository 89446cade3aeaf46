package op

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

// spot is what rows of a batch have in common: their slice and the first window that takes them. Where each row is in several windows of its own
// (perWindow), it is one window.
type spot struct{ end, first int64 }

// splitter sorts the rows of a batch into spots and finds the late ones. It keeps its memory from batch to batch but nothing else.
type splitter struct {
	w         *windows
	perWindow bool

	spots []spot
	lists [][]int32 // the rows of each spot, ascending; nil: all rows of the batch, from 0
	bufs  [][]int32 // memory of lists
	whole bool      // lists has one list, which is the batch's own
	index map[spot]int
	ends  []int64 // perWindow: the slice of each row
	late  []int32 // rows that every window has closed before
	whens []stream.Time

	nullRows, partly int64
	sets             []int64 // the number of the grouping set of each row, of which only set 0 is counted; nil without grouping sets
}

// counts reports whether row r stands for an input row.
func (s *splitter) counts(r int) bool { return s.sets == nil || s.sets[r] == 0 }

// setsOf remembers the grouping sets of a batch; column 0 says that there are none.
func (s *splitter) setsOf(b *stream.Batch, column int) {
	if s.sets = nil; column > 0 {
		s.sets = values[int64](b.Record.Column(column))
	}
}

// clear forgets the rows of the last batch.
func (s *splitter) clear() {
	if !s.whole {
		for k, l := range s.lists {
			s.bufs[k] = l[:0]
		}
	}
	s.whole = false
	s.spots, s.lists, s.late, s.whens = s.spots[:0], s.lists[:0], s.late[:0], s.whens[:0]
	s.nullRows, s.partly = 0, 0
	clear(s.index)
}

// split sorts the selected rows of b with the given times. before (nil: floor for all) has the watermark before each row.
func (s *splitter) split(b *stream.Batch, ts arrow.Array, floor stream.Time) error {
	s.clear()
	v := times(ts)
	nulls := ts.NullN() > 0
	n := b.Len()
	if n == 0 {
		return nil
	}
	if !nulls && !s.perWindow && s.oneSlice(b, v, floor) {
		return nil
	}
	if s.perWindow {
		s.ends = grown(s.ends, int(b.Record.NumRows()))
	}
	var lo, hi int64 // times of the current slice; wall clock
	cur, last, lastSpot := int64(0), -1, spot{}
	var fires stream.Time
	for i := range n {
		r := b.Row(i)
		if nulls && ts.IsNull(r) {
			if s.counts(r) {
				s.nullRows++
			}
			continue
		}
		t := v[r]
		if !s.w.inRange(t) {
			return fmt.Errorf("the event time of a row is too far away: %d microseconds from 1970", t)
		}
		wall := s.w.wall(t)
		if wall < lo || wall >= hi {
			cur = s.w.sliceEnd(wall)
			lo, hi, fires = cur-s.w.step, cur, s.w.firesAt(cur)
		}
		sp := spot{cur, cur}
		wm := floor
		if b.Before != nil {
			wm = max(wm, b.Before[r])
		}
		if fires <= wm {
			var ok bool
			if sp.first, ok = s.judge(r, cur, wm, wm); !ok {
				continue
			}
		}
		if s.perWindow {
			s.ends[r] = cur
			if s.w.Kind == Cumulate {
				k := s.find(spot{sp.first, sp.first})
				s.lists[k] = append(s.lists[k], int32(r))
				continue
			}
			for e := sp.first; e <= s.w.lastEnd(cur); e += s.w.step {
				k := s.find(spot{e, e})
				s.lists[k] = append(s.lists[k], int32(r))
			}
			continue
		}
		if last < 0 || sp != lastSpot {
			last, lastSpot = s.find(sp), sp
		}
		s.lists[last] = append(s.lists[last], int32(r))
	}
	return nil
}

// judge finds the first window that takes row r, when the watermark wm before it is past the first window of its slice. Windows are gone that the watermark
// gone closes: wm, or one behind it by the allowed lateness. false: the row is late.
func (s *splitter) judge(r int, slice int64, wm, gone stream.Time) (first int64, ok bool) {
	first, ok = s.w.firstOpen(slice, gone)
	switch {
	case !s.counts(r):
	case ok:
		s.partly++
	default:
		s.late, s.whens = append(s.late, int32(r)), append(s.whens, wm)
	}
	return first, ok
}

// oneSlice handles the common batch: all its rows are in one slice and none of them is late.
func (s *splitter) oneSlice(b *stream.Batch, v []int64, floor stream.Time) bool {
	n := b.Len()
	mn, mx := v[b.Row(0)], v[b.Row(0)]
	if b.Selection == nil {
		for _, t := range v[:n] {
			mn, mx = min(mn, t), max(mx, t)
		}
	} else {
		for _, r := range b.Selection {
			mn, mx = min(mn, v[r]), max(mx, v[r])
		}
	}
	if !s.w.inRange(mn) || !s.w.inRange(mx) {
		return false
	}
	if s.w.conv != nil && mx-mn >= s.w.step/2 {
		return false // wall clocks of rows in between may jump
	}
	end := s.w.sliceEnd(s.w.wall(mn))
	if s.w.wall(mx) >= end || s.w.wall(mx) < end-s.w.step {
		return false
	}
	if s.w.conv != nil && s.w.wall(mx)-s.w.wall(mn) != mx-mn {
		return false // the clock was put back in between
	}
	wm := floor
	for _, t := range b.Before {
		wm = max(wm, t)
	}
	if s.w.firesAt(end) <= wm {
		return false
	}
	s.spots = append(s.spots, spot{end, end})
	s.lists, s.whole = append(s.lists, b.Selection), true
	return true
}

// find returns the number of a spot of this batch.
func (s *splitter) find(sp spot) int {
	// Most batches have a handful: look at the newest ones first.
	for k := len(s.spots) - 1; k >= 0 && k >= len(s.spots)-4; k-- {
		if s.spots[k] == sp {
			return k
		}
	}
	if len(s.spots) > 4 {
		if k, ok := s.index[sp]; ok {
			return k
		}
	}
	if s.index == nil {
		s.index = map[spot]int{}
	}
	k := len(s.spots)
	s.index[sp] = k
	s.spots = append(s.spots, sp)
	if k == len(s.bufs) {
		s.bufs = append(s.bufs, nil)
	}
	s.lists = append(s.lists, s.bufs[k])
	return k
}

// count adds what was dropped to the operator's counters and offers the late rows to the side output "late".
func (s *splitter) count(env *exec.Env, b *stream.Batch, ts arrow.Array, out exec.Output) error {
	if s.nullRows > 0 {
		env.Metrics.Counter(exec.NullTimeRows).Add(s.nullRows)
	}
	if s.partly > 0 {
		env.Metrics.Counter(exec.PartlyLateRows).Add(s.partly)
	}
	if len(s.late) == 0 {
		return nil
	}
	env.Metrics.Counter(exec.LateRows).Add(int64(len(s.late)))
	side := out.Side("late")
	if side == nil {
		return nil
	}
	// LATE_ROWS wants the input's columns and, for each row, the watermark that it was behind and the end of its last window.
	cols := make([]arrow.Array, 0, b.Record.NumCols()+2)
	for i := range int(b.Record.NumCols()) {
		cols = append(cols, take(env.Allocator, b.Record.Column(i), s.late))
	}
	v, n := times(ts), len(s.late)
	cols = append(cols, words(env.Allocator, n, func(i int) int64 { return int64(s.whens[i]) }),
		words(env.Allocator, n, func(i int) int64 { return s.w.lastEnd(s.w.sliceEnd(s.w.wall(v[s.late[i]]))) }))
	fields := append([]arrow.Field(nil), b.Record.Schema().Fields()...)
	fields = append(fields, arrow.Field{Name: "late_watermark", Type: wordType}, arrow.Field{Name: "late_window_end", Type: wordType})
	return side.Emit(stream.Batch{Record: newRecord(arrow.NewSchema(fields, nil), cols, n), Kinds: takeSide(b.Kinds, s.late)})
}
