package op

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Emission says when a window gives its result besides the moment at which the watermark closes it. All lengths are microseconds.
type Emission struct {
	// Early: the result so far of a window that is open, at each such span of processing time from the first row of the key and window on, if it has
	// changed; 0 at every row, negative never.
	Early int64
	// Late: the result again when a row comes within the allowed lateness, so much processing time behind the first row that has not been shown; 0 at the
	// row, negative at the end of the lateness only.
	Late int64
	// Lateness: for how long behind its close a window still takes rows.
	Lateness int64
	// Final: each result once, when its lateness has passed, as +I.
	Final bool
}

// EmittingWindowAggregate is a WindowAggregate whose windows may give results more than once: early, on time and late (Emission). Its output is a
// changelog: +I for the first result of a key and window, -U and +U when the result is another one, -D when its last row was taken back; a firing that
// changes nothing emits nothing. The last result of each key and window is kept until the lateness has passed, and so much less is the watermark that
// goes on: no result is late for a window behind.
//
// It keeps one state for each window, also for HOP and CUMULATE, and acts between any two rows: on-time results of a window that a row closes come before
// what the next row does. It needs Before on every batch (windows of processing time do not). A window that closes, the end of a window's lateness: both
// in the order of the watermark at which they happen, so that it makes no difference in which steps the watermark comes.
type EmittingWindowAggregate struct {
	cfg  WindowAggregateConfig
	emit Emission
	w    *windowState

	split  splitter
	slices []int64     // the slice of each row of the batch; HOP and CUMULATE
	next   stream.Time // the watermark at which something happens next, as far as the state knows
	ahead  stream.Time // the same for the rows in split, which are not in the state yet
	floor  stream.Time // the watermark before the first of those rows
	last   stream.Time // watermark before the next result, as the operator hands it on
	ids    [][]int32   // of each spot that fires at its rows
	at     []int       // how far in them
	rows   []int32     // of split, ascending

	results
	timers timers
	asked  int64 // the earliest timer that has been asked for; 0: none
	held   int64 // bytes accounted beside those of w
}

// NewEmittingWindowAggregate returns the operator. cfg.Exact is not used: results always carry Before.
func NewEmittingWindowAggregate(cfg WindowAggregateConfig, emit Emission) *EmittingWindowAggregate {
	return &EmittingWindowAggregate{cfg: cfg, emit: emit}
}

// firing is what a window knows of each of its groups besides their state.
type firing struct {
	first   []int64 // processing time of the first row, microseconds
	due     []int64 // when its timer is due; 0: there is none
	count   []int64 // rows; nil when nothing is taken back
	shown   []place // the last result
	changed []bool  // since then
}

func (f *firing) bytes() int64 {
	return int64(cap(f.first)+cap(f.due)+cap(f.count))*8 + int64(cap(f.shown))*16 + int64(cap(f.changed))
}

func (o *EmittingWindowAggregate) proctime() bool { return o.cfg.TimeColumn < 0 }

// Open implements exec.Operator.
func (o *EmittingWindowAggregate) Open(_ context.Context, env *exec.Env, from exec.StateReader) error {
	if err := o.cfg.check(); err != nil {
		return err
	}
	o.w = newWindowState(&o.cfg, env)
	o.w.emits = true
	o.w.perWindow = o.cfg.Window.Kind != Tumble
	o.split = splitter{w: o.w.w}
	o.last = stream.MinTime
	o.results.open(o.w)
	if _, err := newAggSet(o.cfg.Aggregates, o.cfg.Retract, nil); err != nil {
		return err
	}
	if from == nil {
		return o.settle()
	}
	if err := o.restore(from); err != nil {
		return err
	}
	if !o.proctime() {
		o.last = o.forwarded(o.w.wm)
	}
	return o.settle()
}

// forwarded is the watermark that goes on at wm.
func (o *EmittingWindowAggregate) forwarded(wm stream.Time) stream.Time {
	return wm.Add(-o.emit.Lateness)
}

// closes and ends are the watermarks at which a window closes and at which its lateness has passed.
func (o *EmittingWindowAggregate) closes(end int64) stream.Time { return o.w.w.firesAt(end) }
func (o *EmittingWindowAggregate) ends(end int64) stream.Time {
	return o.w.w.firesAt(end).Add(o.emit.Lateness)
}

// closed is how many of the windows, which are in order of their ends, are closed.
func (o *EmittingWindowAggregate) closed() int {
	return sort.Search(len(o.w.slices), func(i int) bool { return o.closes(o.w.slices[i].end) > o.w.wm })
}

// settle finds out what happens next, accounts memory and asks for a timer.
func (o *EmittingWindowAggregate) settle() error {
	o.next = stream.MaxTime
	n := o.closed()
	if n < len(o.w.slices) {
		o.next = o.closes(o.w.slices[n].end)
	}
	if n > 0 {
		o.next = min(o.next, o.ends(o.w.slices[0].end))
	}
	at := o.timers.first()
	if o.proctime() && len(o.w.slices) > 0 {
		if end := int64(o.w.w.instant(o.w.slices[0].end)); at == 0 || end < at {
			at = end
		}
	}
	if at != 0 && (o.asked == 0 || at < o.asked) {
		o.asked = at
		o.w.env.Timer(time.UnixMicro(at).UTC())
	}
	held := o.results.bytes() + o.timers.bytes() + int64(cap(o.slices))*8 + int64(cap(o.rows))*4
	for _, s := range o.w.slices {
		held += s.firing.bytes()
	}
	d := held - o.held
	if d == 0 {
		return nil
	}
	o.held = held
	return o.w.env.Bytes.Grow(d)
}

// ProcessBatch implements exec.Operator.
func (o *EmittingWindowAggregate) ProcessBatch(_ context.Context, _ int, b stream.Batch, out exec.Output) error {
	defer b.Release()
	if b.Len() == 0 {
		return nil
	}
	var err error
	if o.proctime() {
		err = o.takeNow(&b, out)
	} else {
		err = o.take(&b, out)
	}
	// What came before a row that fails is handed on all the same, as it would be row by row.
	if e := o.flush(out); err == nil {
		err = e
	}
	o.w.rows += b.Record.NumRows()
	if err != nil {
		return err
	}
	return o.settle()
}

// take takes rows by their event time. Rows are gathered in split for as long as nothing happens between them.
func (o *EmittingWindowAggregate) take(b *stream.Batch, out exec.Output) error {
	ts := b.Record.Column(o.cfg.TimeColumn)
	v, nulls := times(ts), ts.NullN() > 0
	win := o.w.w
	o.gather(b)
	for i := range b.Len() {
		r := b.Row(i)
		wm := o.w.wm
		if b.Before != nil {
			wm = max(wm, b.Before[r])
		}
		if wm > o.w.wm {
			if wm >= o.next || wm >= o.ahead {
				if err := o.put(b, out); err != nil {
					return err
				}
				if err := o.advance(wm, out); err != nil {
					return err
				}
				o.gather(b)
			}
			o.w.wm = wm
		}
		o.last = max(o.last, o.forwarded(wm))
		if nulls && ts.IsNull(r) {
			if o.split.counts(r) {
				o.split.nullRows++
			}
			continue
		}
		if !win.inRange(v[r]) {
			return fmt.Errorf("the event time of a row is too far away: %d microseconds from 1970", v[r])
		}
		cur := win.sliceEnd(win.wall(v[r]))
		first := cur
		if o.ends(cur) <= wm {
			var ok bool
			if first, ok = o.split.judge(r, cur, wm, o.forwarded(wm)); !ok {
				continue
			}
		}
		o.spread(int32(r), cur, first)
	}
	return o.put(b, out)
}

// gather begins an empty split.
func (o *EmittingWindowAggregate) gather(b *stream.Batch) {
	o.split.clear()
	o.split.setsOf(b, o.cfg.SetColumn)
	o.ahead, o.floor = stream.MaxTime, o.w.wm
	o.rows = o.rows[:0]
	if o.w.perWindow {
		o.slices = grown(o.slices, int(b.Record.NumRows()))
	}
}

// spread puts row r of slice cur into its windows from the one that ends at first on.
func (o *EmittingWindowAggregate) spread(r int32, cur, first int64) {
	if o.w.perWindow {
		o.slices[r] = cur
	}
	o.rows = append(o.rows, r)
	for e := first; e <= o.w.w.lastEnd(cur); e += o.w.w.step {
		n := len(o.split.spots)
		k := o.split.find(spot{e, e})
		if k == n {
			t := o.closes(e)
			if t <= o.w.wm {
				t = o.ends(e)
			}
			o.ahead = min(o.ahead, t)
		}
		o.split.lists[k] = append(o.split.lists[k], r)
	}
}

// takeNow takes rows by the clock.
func (o *EmittingWindowAggregate) takeNow(b *stream.Batch, out exec.Output) error {
	// A window that has closed is never opened again, should the clock go back.
	now := max(stream.Time(o.w.env.Clock.Now().UnixMicro()), o.w.wm.Add(1))
	cur := o.w.w.sliceEnd(o.w.w.wall(int64(now)))
	o.gather(b)
	for i := range b.Len() {
		o.spread(int32(b.Row(i)), cur, cur)
	}
	return o.put(b, out)
}

// put adds the rows of split to the state; those of windows that fire at every row do so.
func (o *EmittingWindowAggregate) put(b *stream.Batch, out exec.Output) error {
	if !o.proctime() {
		if err := o.split.count(o.w.env, b, b.Record.Column(o.cfg.TimeColumn), out); err != nil {
			return err
		}
	}
	if len(o.split.spots) == 0 {
		return nil
	}
	var few [8]arrow.Array
	cols := few[:0]
	for _, k := range o.cfg.Keys {
		cols = append(cols, b.Record.Column(k))
	}
	o.w.numbers = b.Seq
	var from []int64
	if o.w.perWindow {
		from = o.slices
	}
	now := o.w.env.Clock.Now().UnixMicro()
	order := make([]int, len(o.split.spots))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(o.split.spots[i].end, o.split.spots[j].end) })
	o.ids = grown(o.ids, len(order))
	o.at = grown(o.at, len(order))
	var atOnce []int // spots that fire at their rows, by window end
	for _, k := range order {
		end, rows := o.split.spots[k].end, o.split.lists[k]
		s, err := o.w.at(end, end)
		if err != nil {
			return err
		}
		ids, err := o.w.groups(s, cols, rows, len(rows), o.w.rows, from)
		if err != nil {
			return err
		}
		f := o.firing(s, now)
		late := o.late(end)
		if o.emit.atOnce(late) {
			o.ids[k], o.at[k] = append(o.ids[k][:0], ids...), 0
			atOnce = append(atOnce, k)
			continue
		}
		if err := s.aggs.update(ids, rows, b.Record, b.Kinds); err != nil {
			return err
		}
		for i, g := range ids {
			f.add(g, b.Kind(int(rows[i])))
			f.changed[g] = true
			o.arm(s, g, late, now)
		}
		if err := o.w.charge(s); err != nil {
			return err
		}
	}
	if atOnce == nil {
		return nil
	}
	for _, r := range o.rows {
		for _, k := range atOnce {
			if i := o.at[k]; i < len(o.ids[k]) && o.split.lists[k][i] == r {
				o.at[k]++
				if err := o.row(b, o.split.spots[k].end, o.ids[k][i], r, out); err != nil {
					return err
				}
			}
		}
	}
	for _, k := range atOnce {
		s, err := o.w.at(o.split.spots[k].end, o.split.spots[k].end)
		if err != nil {
			return err
		}
		if err := o.w.charge(s); err != nil {
			return err
		}
	}
	return nil
}

// atOnce says that a window, closed or not, gives its result at every row.
func (e *Emission) atOnce(late bool) bool {
	return !e.Final && (late && e.Late == 0 || !late && e.Early == 0)
}

// late reports whether a window is closed.
func (o *EmittingWindowAggregate) late(end int64) bool {
	return !o.proctime() && o.closes(end) <= o.w.wm
}

// firing returns what s knows of its groups, also the new ones.
func (o *EmittingWindowAggregate) firing(s *slice, now int64) *firing {
	f := s.firing
	if f == nil {
		f = &firing{}
		s.firing = f
	}
	n := s.keys.Len()
	for len(f.first) < n {
		f.first = append(f.first, now)
	}
	if d := n - len(f.due); d > 0 {
		f.due = append(f.due, make([]int64, d)...)
		f.shown = append(f.shown, make([]place, d)...)
		f.changed = append(f.changed, make([]bool, d)...)
		if o.cfg.Retract {
			f.count = append(f.count, make([]int64, d)...)
		}
	}
	return f
}

func (f *firing) add(g int32, k stream.RowKind) {
	if f.count == nil {
		return
	}
	if k.Retracts() {
		f.count[g]--
	} else {
		f.count[g]++
	}
}

// row takes one row of a group whose window fires at every row.
func (o *EmittingWindowAggregate) row(b *stream.Batch, end int64, g, r int32, out exec.Output) error {
	s, err := o.w.at(end, end)
	if err != nil {
		return err
	}
	group, row := [1]int32{g}, [1]int32{r}
	if err := s.aggs.update(group[:], row[:], b.Record, b.Kinds); err != nil {
		return err
	}
	s.firing.add(g, b.Kind(int(r)))
	s.firing.changed[g] = true
	seq := int64(-1)
	if b.Seq != nil {
		seq = b.Seq[r]
	}
	wm := o.floor
	if b.Before != nil {
		wm = max(wm, b.Before[r])
	}
	if err := o.show(s, group[:], o.forwarded(wm), seq); err != nil {
		return err
	}
	if o.full() {
		return o.flush(out)
	}
	return nil
}

// arm sets the timer of a group with a new row.
func (o *EmittingWindowAggregate) arm(s *slice, g int32, late bool, now int64) {
	f := s.firing
	if f.due[g] != 0 || o.emit.Final {
		return
	}
	switch {
	case late && o.emit.Late > 0:
		f.due[g] = now + o.emit.Late
	case !late && o.emit.Early > 0:
		f.due[g] = f.first[g] + ((now-f.first[g])/o.emit.Early+1)*o.emit.Early
	default:
		return
	}
	o.timers.add(f.due[g], s, g)
}

// fire shows what has changed in a window, by first appearance: earliest slice, then arrival in it.
func (o *EmittingWindowAggregate) fire(s *slice, before stream.Time, out exec.Output) error {
	f := s.firing
	var groups []int32
	for g := range f.changed {
		f.due[g] = 0
		if f.changed[g] {
			groups = append(groups, int32(g))
		}
	}
	slices.SortFunc(groups, s.byAppearance)
	for len(groups) > 0 {
		n := min(len(groups), mostAtOnce)
		if err := o.show(s, groups[:n], before, -1); err != nil {
			return err
		}
		groups = groups[n:]
		if o.full() {
			if err := o.flush(out); err != nil {
				return err
			}
		}
	}
	return nil
}

// mostAtOnce bounds the results that are made before they are handed on.
const mostAtOnce = 8192

// show queues the results of groups as changes. seq is the number of the row that caused it, negative for the clock and the watermark.
func (o *EmittingWindowAggregate) show(s *slice, groups []int32, before stream.Time, seq int64) error {
	f := s.firing
	var live []int32
	for _, g := range groups {
		f.changed[g] = false
		if f.count == nil || f.count[g] > 0 {
			live = append(live, g)
		}
	}
	at, err := o.compute(s, live)
	if err != nil {
		return fmt.Errorf("%w (window that ends at %s)", err, types.AppendTimestamp(nil, s.end, 3))
	}
	for _, g := range groups {
		c := emitted{s: s, group: g, old: f.shown[g], now: -1, before: before, seq: seq}
		if f.count == nil || f.count[g] > 0 {
			c.now = at
			at++
		}
		if seq < 0 {
			c.seq = o.w.sequence(s, o.w.w.start(s.end), int(g))
		}
		if !o.emit.Final {
			f.shown[g] = o.hold(c)
		}
		o.queue(c)
	}
	return nil
}

// advance closes the windows that wm closes and forgets those whose lateness has passed, in the order of the watermarks at which that happens.
func (o *EmittingWindowAggregate) advance(wm stream.Time, out exec.Output) error {
	n := o.closed()
	for len(o.w.slices) > 0 {
		first := o.w.slices[0]
		over := n > 0 && o.ends(first.end) <= wm
		if n < len(o.w.slices) {
			s := o.w.slices[n]
			at := o.closes(s.end)
			if at <= wm && !(over && o.ends(first.end) <= at) {
				n++
				if o.emit.Final {
					continue
				}
				if err := o.fire(s, o.before(at), out); err != nil {
					return err
				}
				if err := o.flush(out); err != nil {
					return err
				}
				continue
			}
		}
		if !over {
			break
		}
		// A late row that no late firing has shown is shown now: nothing is lost with the state.
		if err := o.fire(first, o.before(o.ends(first.end).Add(-1)), out); err != nil {
			return err
		}
		if err := o.flush(out); err != nil {
			return err
		}
		o.forget()
		n--
	}
	o.w.wm = max(o.w.wm, wm)
	if !o.proctime() {
		o.last = max(o.last, o.forwarded(wm))
	}
	return o.settle()
}

// before is the watermark before a result that the watermark at releases.
func (o *EmittingWindowAggregate) before(at stream.Time) stream.Time {
	if o.cfg.Shown { // it is the only copy, and told of every watermark
		return o.last
	}
	// What this copy has seen of the watermark depends on its share of the rows; results of copies and of inputs are put in order by what does not. The end
	// of a lateness is before a window that closes at the same watermark.
	return max(o.last, o.forwarded(at.Add(-1)))
}

// forget drops the first window.
func (o *EmittingWindowAggregate) forget() {
	s := o.w.slices[0]
	for _, p := range s.firing.shown {
		o.leave(p)
	}
	s.firing = nil
	o.w.slices = slices.Delete(o.w.slices, 0, 1)
	o.w.lastS = nil
	o.w.recycle(s)
}

// flush hands on what is queued.
func (o *EmittingWindowAggregate) flush(out exec.Output) error {
	if err := o.results.flush(out); err != nil {
		return err
	}
	o.tidy(o.w.slices)
	return nil
}

// ProcessTimer implements exec.Operator: early and late firings, and windows of processing time, which close when the clock has reached their end.
func (o *EmittingWindowAggregate) ProcessTimer(_ context.Context, at time.Time, out exec.Output) error {
	now := at.UnixMicro()
	if now >= o.asked {
		o.asked = 0
	}
	for {
		due := o.timers.first()
		if o.proctime() && len(o.w.slices) > 0 {
			first := o.w.slices[0].end
			if end := int64(o.w.w.instant(first)); end <= now && (due == 0 || end <= due) {
				if err := o.advance(o.closes(first), out); err != nil {
					return err
				}
				continue
			}
		}
		if due == 0 || due > now {
			break
		}
		for _, t := range o.timers.take() {
			f := t.s.firing
			if f == nil || int(t.group) >= len(f.due) || f.due[t.group] != due {
				continue // the window has fired since, or is gone
			}
			f.due[t.group] = 0
			if !f.changed[t.group] {
				continue
			}
			group := [1]int32{t.group}
			if err := o.show(t.s, group[:], o.last, -1); err != nil {
				return err
			}
			if o.full() {
				if err := o.flush(out); err != nil {
					return err
				}
			}
		}
		if err := o.flush(out); err != nil {
			return err
		}
	}
	return o.settle()
}

// ProcessWatermark implements exec.Operator.
func (o *EmittingWindowAggregate) ProcessWatermark(_ context.Context, wm stream.Time, out exec.Output) error {
	if o.proctime() {
		return out.Watermark(wm)
	}
	if err := o.advance(wm, out); err != nil {
		return err
	}
	return out.Watermark(o.forwarded(wm))
}

// Finish implements exec.Operator: windows of processing time close at the end of the input.
func (o *EmittingWindowAggregate) Finish(_ context.Context, out exec.Output) error {
	if o.proctime() {
		return o.advance(stream.MaxTime, out)
	}
	return nil
}

// EndInput implements exec.Operator.
func (o *EmittingWindowAggregate) EndInput(context.Context, int, exec.Output) error { return nil }

// Close implements exec.Operator.
func (o *EmittingWindowAggregate) Close() error {
	if o.w != nil {
		o.w.close()
		o.results.close()
		_ = o.w.env.Bytes.Grow(-o.held)
		o.held = 0
	}
	return nil
}
