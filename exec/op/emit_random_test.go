package op

import (
	"cmp"
	"context"
	"fmt"
	"math/rand"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/expr"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// emitEvent is a row with the watermark before it, or (advance > 0) a move of the clock.
type emitEvent struct {
	randomRow
	kind    stream.RowKind
	advance int64
}

// naiveEmit gives the changes that events make one by one: every result is computed anew from the rows of its window.
type naiveEmit struct {
	w       Window
	e       Emission
	wm      stream.Time
	now     int64
	windows map[int64][]*naiveGroup
	out     []string
	late    int
}

type naiveGroup struct {
	key, end, slice int64
	born            int
	rows            []int64 // values
	shown           string  // "" is none
	changed         bool
	first, due      int64
}

func (n *naiveEmit) closes(end int64) stream.Time { return stream.Time(end - 1000) }
func (n *naiveEmit) over(end int64) stream.Time   { return n.closes(end).Add(n.e.Lateness) }

func (n *naiveEmit) ends(t int64) (all []int64) {
	first := t - types.FloorMod(t-n.w.Offset, n.w.Size)
	switch n.w.Kind {
	case Tumble:
		all = append(all, first+n.w.Size)
	case Hop:
		for s := t - types.FloorMod(t-n.w.Offset, n.w.Step); s > t-n.w.Size; s -= n.w.Step {
			all = append(all, s+n.w.Size)
		}
		slices.Sort(all)
	case Cumulate:
		for e := first + n.w.Step; e <= first+n.w.Size; e += n.w.Step {
			if e > t {
				all = append(all, e)
			}
		}
	}
	return all
}

func (n *naiveEmit) show(g *naiveGroup) {
	g.changed = false
	now := ""
	if len(g.rows) > 0 {
		sum, most := int64(0), g.rows[0]
		for _, v := range g.rows {
			sum, most = sum+v, max(most, v)
		}
		now = fmt.Sprint(g.key, len(g.rows), most, sum, g.end)
	}
	switch {
	case now == g.shown:
	case g.shown == "":
		n.out = append(n.out, "+I "+now)
	case now == "":
		n.out = append(n.out, "-D "+g.shown)
	default:
		n.out = append(n.out, "-U "+g.shown, "+U "+now)
	}
	g.shown = now
}

func inOrder(gs []*naiveGroup) []*naiveGroup {
	gs = slices.Clone(gs)
	slices.SortFunc(gs, func(a, b *naiveGroup) int {
		return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.slice, b.slice), cmp.Compare(a.born, b.born))
	})
	return gs
}

func (n *naiveEmit) watermark(wm stream.Time) {
	for wm > n.wm {
		// What happens next, closing or the end of the lateness?
		next, end, over, found := stream.MaxTime, int64(0), false, false
		for e := range n.windows {
			if t := n.over(e); n.closes(e) <= n.wm && t <= wm && (!found || t < next) {
				next, end, over, found = t, e, true, true
			}
		}
		for e := range n.windows {
			if t := n.closes(e); t > n.wm && t <= wm && (!found || t < next) {
				next, end, over, found = t, e, false, true
			}
		}
		if !found {
			break
		}
		for _, g := range inOrder(n.windows[end]) {
			if g.due = 0; g.changed {
				n.show(g)
			}
		}
		if over {
			delete(n.windows, end)
			continue
		}
		n.wm = max(n.wm, next)
		if n.e.Lateness == 0 {
			delete(n.windows, end)
		}
	}
	n.wm = max(n.wm, wm)
}

func (n *naiveEmit) row(i int, ev emitEvent) {
	n.watermark(ev.before)
	in := false
	for _, end := range n.ends(ev.time) {
		if n.over(end) <= n.wm {
			continue
		}
		in = true
		step := n.w.Step
		if n.w.Kind == Tumble {
			step = n.w.Size
		}
		slice := ev.time - types.FloorMod(ev.time-n.w.Offset, step)
		var g *naiveGroup
		for _, h := range n.windows[end] {
			if h.key == ev.key {
				g = h
			}
		}
		if g == nil {
			g = &naiveGroup{key: ev.key, end: end, slice: slice, born: i, first: n.now}
			n.windows[end] = append(n.windows[end], g)
		}
		if slice < g.slice {
			g.slice, g.born = slice, i
		}
		if ev.kind == stream.Delete {
			k := slices.Index(g.rows, ev.val)
			g.rows = slices.Delete(g.rows, k, k+1)
		} else {
			g.rows = append(g.rows, ev.val)
		}
		g.changed = true
		delay := n.e.Early
		due := int64(0)
		if n.closes(end) <= n.wm {
			if delay = n.e.Late; delay > 0 {
				due = n.now + delay
			}
		} else if delay > 0 {
			for due = g.first + delay; due <= n.now; due += delay {
			}
		}
		switch {
		case delay == 0:
			n.show(g)
		case g.due == 0:
			g.due = due
		}
	}
	if !in {
		n.late++
	}
}

func (n *naiveEmit) advance(d int64) {
	until := n.now + d
	for {
		var due []*naiveGroup
		at := until
		for _, gs := range n.windows {
			for _, g := range gs {
				switch {
				case g.due == 0 || g.due > at:
				case g.due < at:
					due, at = []*naiveGroup{g}, g.due
				default:
					due = append(due, g)
				}
			}
		}
		if due == nil {
			break
		}
		n.now = at
		for _, g := range inOrder(due) {
			if g.due = 0; g.changed {
				n.show(g)
			}
		}
	}
	n.now = until
}

// kindOutput prints the kinds too, and checks that Before and the watermark never go back and agree.
type kindOutput struct {
	t     *testing.T
	lines []string
	wm    stream.Time
	low   stream.Time
}

func (o *kindOutput) Emit(b stream.Batch) error {
	defer b.Release()
	for i := range b.Len() {
		line := b.Kind(i).String()
		for _, a := range b.Record.Columns() {
			line += fmt.Sprint(" ", values[int64](a)[i])
		}
		o.lines = append(o.lines, line)
		if b.Before[i] < o.low || b.Before[i] < o.wm {
			o.t.Errorf("Before %d behind %d or the watermark %d", b.Before[i], o.low, o.wm)
		}
		o.low = b.Before[i]
		if end := values[int64](b.Record.Column(4))[i]; stream.Time(end-1000) <= o.wm {
			o.t.Errorf("a result of a window that ends at %d is late: the watermark is %d", end, o.wm)
		}
	}
	return nil
}

func (o *kindOutput) Watermark(wm stream.Time) error {
	if wm < o.low {
		o.t.Errorf("watermark %d behind Before %d", wm, o.low)
	}
	o.wm = max(o.wm, wm)
	return nil
}
func (o *kindOutput) Side(string) exec.Output { return nil }

type memoryState map[string][]arrow.RecordBatch

func (m memoryState) Table(name string, _ int, rec arrow.RecordBatch) error {
	rec.Retain()
	m[name] = append(m[name], rec)
	return nil
}

type memoryReader struct{ m memoryState }

func (r memoryReader) Table(name string) []arrow.RecordBatch { return r.m[name] }

type handClock struct{ now time.Time }

func (c *handClock) Now() time.Time { return c.now }

// TestRandomEmission: windows of all kinds with early and late firing, over random rows (some of them taken back), in random batches, with the clock moving
// and snapshots at random places, against a recomputation of every result for every row.
func TestRandomEmission(t *testing.T) {
	const s = 1_000_000
	windows := []Window{{Kind: Tumble, Size: 10 * s}, {Kind: Tumble, Size: 7 * s, Offset: -3 * s}, {Kind: Hop, Size: 10 * s, Step: 5 * s}, {Kind: Hop, Size: 12 * s, Step: 4 * s,
		Offset: s}, {Kind: Cumulate, Size: 20 * s, Step: 5 * s}, {Kind: Cumulate, Size: 12 * s, Step: 4 * s, Offset: -5 * s}}
	emissions := []Emission{{Early: -1, Late: 0, Lateness: 8 * s}, {Early: 0, Late: -1}, {Early: 3 * s, Late: -1}, {Early: 0, Late: 0, Lateness: 20 * s},
		{Early: 0, Late: 4 * s, Lateness: 11 * s}, {Early: 3 * s, Late: 4 * s, Lateness: 11 * s}, {Early: 5 * s, Late: 0, Lateness: 3 * s}, {Early: -1, Late: 2 * s, Lateness: 30 * s}}
	changes, late := 0, 0
	for _, w := range windows {
		for k, e := range emissions {
			for seed := range int64(4) {
				r := rand.New(rand.NewSource(seed*100 + int64(k)))
				events := randomEvents(r, seed)
				n := &naiveEmit{w: w, e: e, wm: stream.MinTime, now: 1000 * s, windows: map[int64][]*naiveGroup{}}
				rows := 0
				for _, ev := range events {
					if ev.advance > 0 {
						n.advance(ev.advance)
					} else {
						n.row(rows, ev)
						rows++
					}
				}
				n.watermark(stream.MaxTime)
				got, gotLate := runEmission(t, r, w, e, events, seed%2 == 1)
				if !slices.Equal(got, n.out) {
					for i := range max(len(got), len(n.out)) {
						if i >= len(got) || i >= len(n.out) || got[i] != n.out[i] {
							t.Fatalf("%+v %+v seed %d: line %d of %d: got %q, want %q", w, e, seed, i, len(n.out), got[min(i, len(got)):min(i+4, len(got))],
								n.out[min(i, len(n.out)):min(i+4, len(n.out))])
						}
					}
				}
				if gotLate != n.late {
					t.Fatalf("%+v %+v seed %d: %d late, want %d", w, e, seed, gotLate, n.late)
				}
				for _, l := range got {
					if l[:2] != "+I" {
						changes++
					}
				}
				late += gotLate
			}
		}
	}
	if changes < 5_000 || late < 500 {
		t.Errorf("only %d changes and %d late rows: is the test still looking at the right thing?", changes, late)
	}
}

func randomEvents(r *rand.Rand, seed int64) []emitEvent {
	var events []emitEvent
	var live []emitEvent
	wm := stream.MinTime
	for i := range 200 {
		if r.Intn(6) == 0 {
			events = append(events, emitEvent{advance: (1 + r.Int63n(3000)) * 1000})
		}
		at := (int64(i)*200 - r.Int63n(15000)*r.Int63n(2)) * 1000 * (1 + seed%3)
		ev := emitEvent{randomRow: randomRow{at, r.Int63n(3), r.Int63n(4), wm}}
		if n := len(live); seed%2 == 1 && n > 0 && r.Intn(3) == 0 {
			k := n - 1 - r.Intn(min(n, 8))
			ev.time, ev.key, ev.val, ev.kind = live[k].time, live[k].key, live[k].val, stream.Delete
			live = slices.Delete(live, k, k+1)
		} else {
			live = append(live, ev)
		}
		events = append(events, ev)
		if r.Intn(1+int(seed%4)) == 0 {
			wm = max(wm, stream.Time(at-r.Int63n(3000)*1000*(seed%3)))
		}
	}
	return events
}

func runEmission(t *testing.T, r *rand.Rand, w Window, e Emission, events []emitEvent, retract bool) ([]string, int) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	ctx := context.Background()
	in := types.Schema{{Name: "k", Type: types.BigIntType}, {Name: "v", Type: types.BigIntType}, {Name: "ts", Type: types.TimestampOf(3)}}
	aggs := []Aggregate{{Spec: expr.AggSpec{Name: "COUNT", Result: types.BigIntType}, Filter: -1}}
	for _, n := range []string{"MAX", "SUM"} {
		aggs = append(aggs, Aggregate{Spec: expr.AggSpec{Name: n, Args: []types.Type{types.BigIntType}, Result: types.BigIntType}, Args: []int{1}, Filter: -1})
	}
	cfg := WindowAggregateConfig{Window: w, TimeColumn: 2, Keys: []int{0}, KeyTypes: []types.Type{types.BigIntType}, Aggregates: aggs, Retract: retract,
		Properties: []WindowProperty{WindowEnd}, Schema: types.Schema{in[0], in[1], in[1], in[1], in[2]}}
	clock := &handClock{time.UnixMicro(1000 * 1_000_000).UTC()}
	out := &kindOutput{t: t, wm: stream.MinTime, low: stream.MinTime}
	metrics, account := &exec.Metrics{}, exec.NewAccount("", nil)
	var due []time.Time
	env := &exec.Env{Allocator: mem, Zone: time.UTC, BatchRows: 1 + r.Intn(50), Bytes: account, Metrics: metrics, Clock: clock, Timer: func(at time.Time) { due = append(due, at) }}
	op := NewEmittingWindowAggregate(cfg, e)
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	must(op.Open(ctx, env, nil))
	for from := 0; from < len(events); {
		if r.Intn(8) == 0 { // a restart
			state := memoryState{}
			must(op.Snapshot(ctx, state))
			must(op.Close())
			if account.Used() != 0 {
				t.Fatalf("%d bytes accounted after Close", account.Used())
			}
			op = NewEmittingWindowAggregate(cfg, e)
			must(op.Open(ctx, env, memoryReader{state}))
			for _, recs := range state {
				for _, rec := range recs {
					rec.Release()
				}
			}
		}
		if d := events[from].advance; d > 0 {
			until := clock.now.Add(time.Duration(d) * time.Microsecond)
			for {
				sort.Slice(due, func(i, j int) bool { return due[i].Before(due[j]) })
				if len(due) == 0 || due[0].After(until) {
					break
				}
				at := due[0]
				due = due[1:]
				clock.now = at
				must(op.ProcessTimer(ctx, at, out))
			}
			clock.now = until
			from++
			continue
		}
		to := from + 1
		for n := r.Intn(40); to < len(events) && n > 0 && events[to].advance == 0; n-- {
			to++
		}
		b := array.NewRecordBuilder(mem, in.Arrow())
		var batch stream.Batch
		for _, ev := range events[from:to] {
			b.Field(0).(*array.Int64Builder).Append(ev.key)
			b.Field(1).(*array.Int64Builder).Append(ev.val)
			b.Field(2).(*array.TimestampBuilder).Append(arrow.Timestamp(ev.time))
			batch.Before, batch.Kinds = append(batch.Before, ev.before), append(batch.Kinds, ev.kind)
		}
		batch.Record = b.NewRecordBatch()
		b.Release()
		must(op.ProcessBatch(ctx, 0, batch, out))
		from = to
		if r.Intn(2) == 0 { // the watermark before the last row has been told for certain
			if wm := events[to-1].before; wm != stream.MinTime {
				must(op.ProcessWatermark(ctx, wm, out))
			}
		}
	}
	must(op.EndInput(ctx, 0, out))
	must(op.ProcessWatermark(ctx, stream.MaxTime, out))
	must(op.Finish(ctx, out))
	must(op.Close())
	if account.Used() != 0 {
		t.Fatalf("%d bytes accounted after Close", account.Used())
	}
	return out.lines, int(metrics.Counter(exec.LateRows).Load())
}
