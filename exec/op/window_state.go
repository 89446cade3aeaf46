package op

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/state"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// slice is the state of one slice: its groups and their accumulators. Rows that came late for some of the slice's windows have a slice of their own,
// with a later first window, so that they count in no window that had closed before them, however rows are batched.
//
// Where the result depends on the order of rows across slices (perWindow), each row is in several of them: for HOP a slice stands for one window, for
// CUMULATE for all windows from the one that ends at end to that of the next slice, since they have the same rows so far.
type slice struct {
	end   int64 // wall clock end of the slice
	first int64 // end of the first window that takes it
	last  int64 // end of the last one
	next  int64 // end of the next one to close

	keys *state.Table
	aggs *aggSet
	// born has the number of each group's first row, from (nil: end) the end of the slice that it came in: the order of results.
	born []int64
	from []int64

	firing *firing // EmittingWindowAggregate only

	charged int64
}

func (s *slice) bornIn(g int) int64 {
	if s.from != nil {
		return s.from[g]
	}
	return s.end
}

// windowState holds the open slices of a window aggregate and closes windows.
type windowState struct {
	w         *windows
	env       *exec.Env
	keyTypes  []arrow.DataType
	aggs      []Aggregate
	retract   bool
	perWindow bool
	proctime  bool
	exact     bool // WindowAggregateConfig.Exact, Shown
	shown     bool
	emits     bool // each slice is one window, of any kind: EmittingWindowAggregate
	props     []WindowProperty
	schema    *arrow.Schema

	slices  []*slice // by end, then first
	free    []*slice
	merged  *slice
	wm      stream.Time // all windows that this closes are closed
	rows    int64       // number of the next row
	numbers []int64     // sequence numbers of the batch at hand; nil: rows are numbered here
	lastS   *slice      // the slice asked for last

	restoring bool
	spots     []spot // of chain
	lists     [][]int32

	ids, seq, dst []int32 // scratch
}

func (w *windowState) newSlice() (*slice, error) {
	if n := len(w.free); n > 0 {
		s := w.free[n-1]
		w.free = w.free[:n-1]
		return s, nil
	}
	a, err := newAggSet(w.aggs, w.retract, w.env.Bytes)
	if err != nil {
		return nil, err
	}
	a.oneGroup = len(w.keyTypes) == 0
	return &slice{keys: state.NewTable(w.keyTypes, w.env.Bytes), aggs: a}, nil
}

// maxFree is how many emptied slices are kept for reuse.
const maxFree = 8

func (w *windowState) recycle(s *slice) {
	if len(w.free) >= maxFree {
		w.drop(s)
		return
	}
	s.keys.Reset()
	s.aggs.reset()
	s.born, s.from = s.born[:0], nil
	w.free = append(w.free, s)
}

func (w *windowState) drop(s *slice) {
	s.keys.Close()
	s.aggs.close()
	_ = w.env.Bytes.Grow(-s.charged)
	s.charged = 0
}

func (w *windowState) close() {
	for _, s := range append(w.slices, w.free...) {
		w.drop(s)
	}
	if w.merged != nil {
		w.drop(w.merged)
	}
	w.slices, w.free, w.merged, w.lastS = nil, nil, nil, nil
}

// at returns the slice that ends at end and is first taken by the window that ends at first.
func (w *windowState) at(end, first int64) (*slice, error) {
	if s := w.lastS; s != nil && s.end == end && s.first == first {
		return s, nil
	}
	i := sort.Search(len(w.slices), func(i int) bool {
		s := w.slices[i]
		return s.end > end || s.end == end && s.first >= first
	})
	if i < len(w.slices) && w.slices[i].end == end && w.slices[i].first == first {
		w.lastS = w.slices[i]
		return w.lastS, nil
	}
	s, err := w.newSlice()
	if err != nil {
		return nil, err
	}
	s.end, s.first, s.next, s.last = end, first, first, w.w.lastEnd(end)
	if w.perWindow && w.w.Kind == Hop {
		s.last = end
	}
	if w.chained() && !w.restoring && i > 0 && w.w.start(w.slices[i-1].end) == w.w.start(end) {
		s.from = []int64{}
		if err := w.merge(s, w.slices[i-1]); err != nil {
			return nil, err
		}
	}
	w.slices = append(w.slices, nil)
	copy(w.slices[i+1:], w.slices[i:])
	w.slices[i] = s
	w.lastS = s
	return s, nil
}

// chained says that the slices of a maximal window of CUMULATE are a chain in which each holds the rows of those before it too.
func (w *windowState) chained() bool { return w.perWindow && w.w.Kind == Cumulate && !w.emits }

// chain turns rows by the first window that takes them into rows by slice: each goes to its own slice, which begins as a copy of the one before it, and
// to all later ones of its maximal window.
func (w *windowState) chain(sp *splitter) error {
	order := make([]int, len(sp.spots))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(sp.spots[a].first, sp.spots[b].first) })
	for _, k := range order {
		if _, err := w.at(sp.spots[k].first, sp.spots[k].first); err != nil {
			return err
		}
	}
	var spots []spot
	var lists [][]int32
	at := map[spot]int{}
	for _, k := range order {
		first := sp.spots[k].first
		i := sort.Search(len(w.slices), func(i int) bool { return w.slices[i].end >= first })
		for ; i < len(w.slices) && w.w.start(w.slices[i].end) == w.w.start(first); i++ {
			to := spot{w.slices[i].end, w.slices[i].first}
			j, ok := at[to]
			switch {
			case !ok:
				at[to] = len(spots)
				spots, lists = append(spots, to), append(lists, sp.lists[k])
			default: // a list of its own, in the order of rows
				lists[j] = append(slices.Clone(lists[j]), sp.lists[k]...)
				slices.Sort(lists[j])
			}
		}
	}
	w.spots, w.lists = spots, lists
	return nil
}

// groups finds or inserts the groups of n rows of a slice. base is the number of row 0 of the batch; from (nil: the slice itself) has the end of the
// slice of each row by row number.
func (w *windowState) groups(s *slice, cols []arrow.Array, rows []int32, n int, base int64, from []int64) ([]int32, error) {
	w.ids = grown(w.ids, n)
	ids := w.ids
	had := s.keys.Len()
	if err := s.keys.Groups(cols, rows, n, ids); err != nil {
		return nil, err
	}
	if s.keys.Len() == had && from == nil {
		return ids, nil
	}
	s.aggs.resize(s.keys.Len())
	next := int32(had)
	for i, id := range ids {
		r := int64(i)
		if rows != nil {
			r = int64(rows[i])
		}
		if id == next {
			next++
			s.born = append(s.born, w.number(base, r))
			if from != nil {
				s.from = append(s.from, from[r])
			}
		} else if from != nil && from[r] < s.from[id] {
			s.from[id], s.born[id] = from[r], w.number(base, r)
		}
		if from == nil && int(next) == s.keys.Len() {
			break
		}
	}
	return ids, nil
}

// number is that of row r of the batch at hand.
func (w *windowState) number(base, r int64) int64 {
	if w.numbers != nil {
		return w.numbers[r]
	}
	return base + r
}

// charge accounts what a slice has grown by.
func (w *windowState) charge(s *slice) error {
	b := s.aggs.bytes() + int64(cap(s.born)+cap(s.from))*8
	d := b - s.charged
	s.charged = b
	if d == 0 {
		return nil
	}
	return w.env.Bytes.Grow(d)
}

// nextEnd is the end of the next window to close.
func (w *windowState) nextEnd() (int64, bool) {
	if len(w.slices) == 0 {
		return 0, false
	}
	next := w.slices[0].next
	for _, s := range w.slices[1:] {
		if s.end >= next {
			break // a window never ends before its slices
		}
		next = min(next, s.next)
	}
	return next, true
}

// advance closes all windows that wm closes.
func (w *windowState) advance(wm stream.Time, out exec.Output) error {
	for {
		end, ok := w.nextEnd()
		if !ok || w.w.firesAt(end) > wm {
			break
		}
		if err := w.fire(end, out); err != nil {
			return err
		}
	}
	w.wm = max(w.wm, wm)
	return nil
}

// fire emits the window that ends at end and forgets the slices that no later window takes.
func (w *windowState) fire(end int64, out exec.Output) error {
	start := w.w.start(end)
	low := start
	if w.perWindow && w.w.Kind == Hop {
		low = end - 1 // the window's own slice only
	}
	lo := sort.Search(len(w.slices), func(i int) bool { return w.slices[i].end > low })
	hi := lo
	var parts []*slice
	for hi < len(w.slices) && w.slices[hi].end <= end {
		if s := w.slices[hi]; s.first <= end {
			parts = append(parts, s)
		}
		hi++
	}
	var result *slice
	var err error
	switch {
	case len(parts) == 1 || w.chained():
		result = parts[len(parts)-1]
	case w.w.Kind == Cumulate:
		// What has been closed once stays together for all later steps.
		result = parts[0]
		w.gatherFrom(result)
		for _, p := range parts[1:] {
			if err == nil {
				err = w.merge(result, p)
			}
		}
	default:
		if w.merged == nil {
			if w.merged, err = w.newSlice(); err != nil {
				return err
			}
		}
		result = w.merged
		result.keys.Reset()
		result.aggs.reset()
		result.born, result.from = result.born[:0], []int64{}
		for _, p := range parts {
			if err == nil {
				err = w.merge(result, p)
			}
		}
	}
	if err != nil {
		return err
	}
	if err := w.emit(result, start, end, out); err != nil {
		return err
	}

	// Step on: slices that are merged away or have seen their last window go.
	keep := w.slices[:lo]
	for _, s := range w.slices[lo:hi] {
		gone := s.first <= end && (s.last <= end || w.w.Kind == Cumulate && s != result)
		if gone {
			w.recycle(s)
			continue
		}
		if s.first <= end {
			s.next = end + w.w.step
		}
		keep = append(keep, s)
	}
	rest := w.slices[hi:]
	n := len(keep) + len(rest)
	keep = append(keep, rest...)
	clear(w.slices[n:])
	w.slices = keep
	w.lastS = nil
	return nil
}

// gatherFrom makes a slice keep where each group came from, before groups of other slices come to it.
func (w *windowState) gatherFrom(s *slice) {
	if s.from == nil {
		s.from = make([]int64, len(s.born))
		for i := range s.from {
			s.from[i] = s.end
		}
	}
}

// merge adds the groups of src to dst, which keeps where groups came from.
func (w *windowState) merge(dst, src *slice) error {
	n := src.keys.Len()
	cols := src.keys.Keys(w.env.Allocator, nil)
	defer releaseAll(cols)
	w.dst = grown(w.dst, n)
	had := dst.keys.Len()
	if err := dst.keys.Groups(cols, nil, n, w.dst); err != nil {
		return err
	}
	dst.aggs.resize(dst.keys.Len())
	next := int32(had)
	for g, id := range w.dst {
		from, born := src.bornIn(g), src.born[g]
		if id == next {
			next++
			dst.from, dst.born = append(dst.from, from), append(dst.born, born)
		} else if from < dst.from[id] || from == dst.from[id] && born < dst.born[id] {
			dst.from[id], dst.born[id] = from, born
		}
	}
	if err := dst.aggs.mergeFrom(src.aggs, iota32(&w.seq, n), w.dst); err != nil {
		return err
	}
	return w.charge(dst)
}

// emit writes one row for each group, by first appearance: earliest slice, then arrival in it.
func (w *windowState) emit(s *slice, start, end int64, out exec.Output) error {
	groups := w.order(s)
	n := s.keys.Len()
	if groups != nil {
		n = len(groups)
	}
	if n == 0 {
		return nil
	}
	mem := w.env.Allocator
	cols := s.keys.Keys(mem, groups)
	res, err := s.aggs.results(mem, groups)
	if err != nil {
		releaseAll(cols)
		return fmt.Errorf("%w (window that ends at %s)", err, types.AppendTimestamp(nil, end, 3))
	}
	cols = append(cols, res...)
	for _, p := range w.props {
		v := w.property(p, start, end)
		b := array.NewBuilder(mem, w.schema.Field(len(cols)).Type).(*array.TimestampBuilder)
		b.Reserve(n)
		for range n {
			b.UnsafeAppend(v)
		}
		cols = append(cols, b.NewArray())
		b.Release()
	}
	batch := stream.Batch{Record: newRecord(w.schema, cols, n)}
	copies := w.env.Partitions > 1 && !w.proctime
	if copies {
		batch.Seq = make([]int64, n)
		for i := range batch.Seq {
			g := i
			if groups != nil {
				g = int(groups[i])
			}
			batch.Seq[i] = w.sequence(s, start, g)
		}
	}
	if copies || w.exact || w.shown {
		// What a copy has seen of the watermark depends on its share of the rows, and on where batches end; results of copies and of inputs are put in order
		// by what does not: the last watermark that leaves the window open.
		before := w.w.firesAt(end).Add(-1)
		if w.shown {
			before = w.wm
		}
		batch.Before = make([]stream.Time, n)
		for i := range batch.Before {
			batch.Before[i] = before
		}
	}
	return emitRows(w.env, batch, out)
}

// order lists the groups to emit; nil means all as they are.
func (w *windowState) order(s *slice) []int32 {
	counts := s.aggs.counts(w.env.Allocator)
	sorted, all := true, true
	for g := 1; g < len(s.born) && sorted; g++ { // several copies made one may have brought them in any order
		sorted = s.byAppearance(int32(g-1), int32(g)) <= 0
	}
	for _, c := range counts {
		all = all && c > 0
	}
	if sorted && all {
		return nil
	}
	groups := make([]int32, 0, len(s.born))
	for g := range s.born {
		if counts == nil || counts[g] > 0 {
			groups = append(groups, int32(g))
		}
	}
	if !sorted {
		slices.SortStableFunc(groups, s.byAppearance)
	}
	return groups
}

// byAppearance compares groups by where they appeared first: the earliest slice, then arrival in it.
func (s *slice) byAppearance(a, b int32) int {
	return cmp.Or(cmp.Compare(s.bornIn(int(a)), s.bornIn(int(b))), cmp.Compare(s.born[a], s.born[b]))
}

// sequence numbers the result of a group of the window that begins at start, by first appearance among the groups of all copies.
func (w *windowState) sequence(s *slice, start int64, g int) int64 {
	return (s.bornIn(g)-start)/w.w.step<<46 | s.born[g]
}

// property is a window column of the window [start, end).
func (w *windowState) property(p WindowProperty, start, end int64) arrow.Timestamp {
	switch p {
	case WindowEnd:
		return arrow.Timestamp(end)
	case WindowTime:
		return arrow.Timestamp(w.w.firesAt(end))
	}
	return arrow.Timestamp(start)
}
