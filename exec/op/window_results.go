package op

import (
	"cmp"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// resultBatch holds results of the aggregate calls; rows that no place points at any more are dead.
type resultBatch struct {
	cols       []arrow.Array
	rows, live int
	size       int64
	mark       int // scratch of picked
}

// place is where the last result of a group is; the zero place is none.
type place struct {
	c   *resultBatch
	row int32
}

// emitted is a change that waits to be handed on: from the result at old to the one in row now (-1: none) of the batch at hand.
type emitted struct {
	s      *slice
	group  int32
	old    place
	now    int32
	before stream.Time
	seq    int64
}

// results keeps the last result of each group and window, and makes a changelog of new ones.
type results struct {
	w       *windowState
	values  []array.Builder // results that wait, by call
	sizes   []func() int    // of what waits in values, see sizes
	n       int32           // rows in values
	cur     *resultBatch    // what values will be
	changes []emitted
	batches []*resultBatch
}

func (o *results) open(w *windowState) {
	o.w, o.cur = w, &resultBatch{}
	for _, a := range w.aggs {
		b := types.NewBuilder(w.env.Allocator, a.Spec.Result)
		o.values, o.sizes = append(o.values, b), sizes(o.sizes, b)
	}
}

func (o *results) close() {
	for _, b := range o.values {
		b.Release()
	}
	for _, c := range o.batches {
		releaseAll(c.cols)
	}
	o.values, o.batches = nil, nil
}

func (o *results) bytes() int64 {
	n := int64(cap(o.changes)) * 64
	for _, c := range o.batches {
		n += c.size
	}
	return n
}

// compute appends the results of groups of a window and returns the row of the first.
func (o *results) compute(s *slice, groups []int32) (int32, error) {
	at := o.n
	if len(groups) == 0 {
		return at, nil
	}
	for i, a := range s.aggs.accs {
		if err := a.AppendResult(o.values[i], groups); err != nil {
			return at, err
		}
	}
	o.n += int32(len(groups))
	return at, nil
}

func (o *results) queue(c emitted) {
	if c.now >= 0 || c.old.c != nil {
		o.changes = append(o.changes, c)
	}
}

// hold gives up the old result of a change and keeps the new one.
func (o *results) hold(c emitted) place {
	o.leave(c.old)
	if c.now < 0 {
		return place{}
	}
	o.cur.live++
	return place{o.cur, c.now}
}

func (o *results) leave(p place) {
	if p.c != nil {
		p.c.live--
	}
}

// full says that what waits should be handed on before more comes: a LISTAGG repeats its whole list in every change.
func (o *results) full() bool {
	if len(o.changes) >= mostAtOnce {
		return true
	}
	for _, size := range o.sizes {
		if size() > mostText {
			return true
		}
	}
	return false
}

// flush emits the changes that wait, without those that change nothing.
func (o *results) flush(out exec.Output) error {
	if o.n == 0 && len(o.changes) == 0 {
		return nil
	}
	vals := make([]arrow.Array, len(o.values))
	for i, v := range o.values {
		vals[i] = v.NewArray()
	}
	c := o.cur
	c.cols, c.rows = vals, int(o.n)
	for _, v := range vals {
		c.size += int64(v.Data().SizeInBytes())
	}
	o.batches = append(o.batches, c)
	changes := o.changes
	o.cur, o.n, o.changes = &resultBatch{}, 0, o.changes[:0]
	if len(changes) == 0 {
		return nil
	}

	mem := o.w.env.Allocator
	var olds []place
	oldAt := make([]int32, len(changes))
	for i := range changes {
		oldAt[i] = -1
		if changes[i].old.c != nil {
			oldAt[i] = int32(len(olds))
			olds = append(olds, changes[i].old)
		}
	}
	before := pick(olds).columns(mem, o.w.aggs)
	defer releaseAll(before)
	same := make([]func(i, j int) bool, len(vals))
	for i := range vals {
		if len(olds) > 0 {
			same[i] = sameBetween(before[i], vals[i], o.w.aggs[i].Spec.Result)
		}
	}

	var kinds []stream.RowKind
	var from []int32   // the change of each row
	var values []int32 // its results: among before, then vals
	plain := true
	for i := range changes {
		ch, old := &changes[i], oldAt[i]
		put := func(k stream.RowKind, v int32) {
			kinds, from, values = append(kinds, k), append(from, int32(i)), append(values, v)
		}
		now := ch.now + int32(len(olds))
		switch {
		case old < 0:
			put(stream.Insert, now)
			continue
		case ch.now < 0:
			put(stream.Delete, old)
		case slices.ContainsFunc(same, func(f func(i, j int) bool) bool { return !f(int(old), int(ch.now)) }):
			put(stream.UpdateBefore, old)
			put(stream.UpdateAfter, now)
		default:
			continue
		}
		plain = false
	}
	if len(kinds) == 0 {
		return nil
	}
	b := stream.Batch{Kinds: kinds}
	if plain {
		b.Kinds = nil
	}
	cols := o.keys(changes, from)
	for i, v := range vals {
		if len(olds) == 0 {
			cols = append(cols, take(mem, v, values))
			continue
		}
		both, err := array.Concatenate([]arrow.Array{before[i], v}, mem)
		if err != nil {
			releaseAll(cols)
			return err
		}
		cols = append(cols, take(mem, both, values))
		both.Release()
	}
	for _, p := range o.w.props {
		cols = append(cols, o.property(p, len(cols), changes, from))
	}
	b.Record = newRecord(o.w.schema, cols, len(from))
	if !o.w.proctime {
		b.Before = make([]stream.Time, len(from))
		for i, k := range from {
			b.Before[i] = changes[k].before
		}
		if o.w.env.Partitions > 1 {
			b.Seq = make([]int64, len(from))
			for i, k := range from {
				b.Seq[i] = changes[k].seq // all changes of a row have its number: they stay together
			}
		}
	}
	return emitRows(o.w.env, b, out)
}

// keys are the key columns of changes.
func (o *results) keys(changes []emitted, from []int32) []arrow.Array {
	mem := o.w.env.Allocator
	// Rows of one window are taken at once.
	at := map[*slice]int{}
	var windows []*slice
	var groups [][]int32
	spots := make([][2]int32, len(from))
	for i, k := range from {
		c := &changes[k]
		w, ok := at[c.s]
		if !ok {
			w = len(windows)
			at[c.s] = w
			windows, groups = append(windows, c.s), append(groups, nil)
		}
		spots[i] = [2]int32{int32(w), int32(len(groups[w]))}
		groups[w] = append(groups[w], c.group)
	}
	if len(windows) == 1 {
		return windows[0].keys.Keys(mem, groups[0])
	}
	parts := make([][]arrow.Array, len(o.w.keyTypes))
	first := make([]int32, len(windows))
	n := int32(0)
	for w, s := range windows {
		first[w] = n
		n += int32(len(groups[w]))
		for c, a := range s.keys.Keys(mem, groups[w]) {
			parts[c] = append(parts[c], a)
		}
	}
	rows := make([]int32, len(from))
	for i, s := range spots {
		rows[i] = first[s[0]] + s[1]
	}
	cols := make([]arrow.Array, len(parts))
	for c, p := range parts {
		cols[c] = joined(mem, p, rows)
	}
	return cols
}

// joined takes rows of arrays of one type that stand one behind the other; it gives the arrays back.
func joined(mem memory.Allocator, parts []arrow.Array, rows []int32) arrow.Array {
	defer releaseAll(parts)
	if len(parts) == 1 {
		return take(mem, parts[0], rows)
	}
	all, err := array.Concatenate(parts, mem)
	if err != nil {
		panic(err) // of different types: they are of one column
	}
	defer all.Release()
	return take(mem, all, rows)
}

// property is a window column of changes.
func (o *results) property(p WindowProperty, column int, changes []emitted, from []int32) arrow.Array {
	b := array.NewBuilder(o.w.env.Allocator, o.w.schema.Field(column).Type).(*array.TimestampBuilder)
	defer b.Release()
	b.Reserve(len(from))
	for _, k := range from {
		end := changes[k].s.end
		b.UnsafeAppend(o.w.property(p, o.w.w.start(end), end))
	}
	return b.NewArray()
}

// tidy gives back batches that nobody needs, and makes one of many.
func (o *results) tidy(windows []*slice) {
	live, rows := 0, 0
	o.batches = slices.DeleteFunc(o.batches, func(c *resultBatch) bool {
		if c.live == 0 {
			releaseAll(c.cols)
			return true
		}
		live, rows = live+c.live, rows+c.rows
		return false
	})
	if len(o.batches) <= 16+live/256 && rows <= 2*live+1024 {
		return
	}
	var places []*place
	var all []place
	for _, s := range windows {
		for g := range s.firing.shown {
			if p := &s.firing.shown[g]; p.c != nil {
				places, all = append(places, p), append(all, *p)
			}
		}
	}
	old := o.batches
	o.batches = nil
	o.adopt(pick(all).columns(o.w.env.Allocator, o.w.aggs), places)
	for _, c := range old {
		releaseAll(c.cols)
	}
}

// adopt makes a batch of columns; places get its rows, in order.
func (o *results) adopt(cols []arrow.Array, places []*place) {
	c := &resultBatch{cols: cols, rows: len(places), live: len(places)}
	for _, a := range cols {
		c.size += int64(a.Data().SizeInBytes())
	}
	for i, p := range places {
		*p = place{c, int32(i)}
	}
	o.batches = append(o.batches, c)
}

// picked says how to take results from several batches.
type picked struct {
	batches []*resultBatch
	rows    [][]int32
	order   []int32 // of each place: its row in the rows of all batches, -1 for none
}

// pick sorts places by their batches.
func pick(places []place) *picked {
	p := &picked{order: make([]int32, len(places))}
	of := make([]int32, len(places))
	for i, pl := range places {
		if pl.c == nil {
			of[i] = -1
			continue
		}
		if pl.c.mark == 0 {
			p.batches, p.rows = append(p.batches, pl.c), append(p.rows, nil)
			pl.c.mark = len(p.batches)
		}
		k := pl.c.mark - 1
		of[i], p.order[i] = int32(k), int32(len(p.rows[k]))
		p.rows[k] = append(p.rows[k], pl.row)
	}
	first := make([]int32, len(p.batches)+1)
	for k, c := range p.batches {
		c.mark = 0
		first[k+1] = first[k] + int32(len(p.rows[k]))
	}
	for i, k := range of {
		if k < 0 {
			p.order[i] = -1
		} else {
			p.order[i] += first[k]
		}
	}
	return p
}

// columns are the results at the places, NULL for none; the caller gives them back.
func (p *picked) columns(mem memory.Allocator, aggs []Aggregate) []arrow.Array {
	cols := make([]arrow.Array, len(aggs))
	for i, a := range aggs {
		if len(p.batches) == 0 {
			cols[i] = types.NullArray(mem, a.Spec.Result.Arrow(), len(p.order))
			continue
		}
		parts := make([]arrow.Array, len(p.batches))
		for k, c := range p.batches {
			parts[k] = take(mem, c.cols[i], p.rows[k])
		}
		cols[i] = joined(mem, parts, p.order)
	}
	return cols
}

// timers are what groups wait for, by the clock.
type timers struct{ due []dueAt }

// dueAt is who waits for a time, in microseconds.
type dueAt struct {
	at     int64
	groups []timer
}

type timer struct {
	s     *slice
	group int32
}

// first is the earliest time; 0: nobody waits.
func (t *timers) first() int64 {
	if len(t.due) == 0 {
		return 0
	}
	return t.due[0].at
}

func (t *timers) add(at int64, s *slice, group int32) {
	i := len(t.due)
	if i > 0 && t.due[i-1].at >= at {
		i = sort.Search(i, func(i int) bool { return t.due[i].at >= at })
	}
	if i == len(t.due) || t.due[i].at != at {
		t.due = slices.Insert(t.due, i, dueAt{at: at})
	}
	t.due[i].groups = append(t.due[i].groups, timer{s, group})
}

// take removes the earliest time and returns who waits for it: by window, then by first appearance. Some may not wait any more.
func (t *timers) take() []timer {
	groups := t.due[0].groups
	t.due = slices.Delete(t.due, 0, 1)
	groups = slices.DeleteFunc(groups, func(x timer) bool { return int(x.group) >= len(x.s.born) }) // the window is gone
	slices.SortStableFunc(groups, func(a, b timer) int {
		if a.s != b.s {
			return cmp.Compare(a.s.end, b.s.end)
		}
		return a.s.byAppearance(a.group, b.group)
	})
	return groups
}

func (t *timers) bytes() int64 {
	n := int64(cap(t.due)) * 32
	for _, d := range t.due {
		n += int64(cap(d.groups)) * 16
	}
	return n
}
