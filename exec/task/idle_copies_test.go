package task

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/internal/invariants"
)

// phaseEvent is what tells of a source: an odd phase is an idle one.
func phaseEvent(source string, phase int64) stream.Event {
	return stream.Event{Kind: stream.EventIdle, Source: source, Phase: phase}
}

// TestCopyOneCycleBehind: a copy that has not spoken yet since the source did is not silent, though the others have fallen silent again: what another input
// says must not take the watermark past its rows.
func TestCopyOneCycleBehind(t *testing.T) {
	ctx := context.Background()
	mem := checked(t)
	it := newInputTask(&Job{o: Options{Allocator: mem, BatchRows: 8}}, &Task{ID: "gather", Partitions: 1}, 0)
	var got takenRows
	it.to = newFanout([]receiver{&got})
	a, b, x := 0, 1, 2
	it.channel(0, "s")
	it.channel(0, "s")
	it.channel(1, "x") // never idle
	take := func(channel int, events ...stream.Event) {
		t.Helper()
		for _, e := range events {
			if err := it.arrived(ctx, channel, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	mark := func(wm stream.Time) stream.Event { return stream.Event{Kind: stream.EventWatermark, Watermark: wm} }
	row := func(before stream.Time) stream.Event {
		rows := decodeFake(mem, []fakeRow{{id: 1, ts: 15}}, "s", 0, false).Batch
		rows.Before = []stream.Time{before}
		return stream.Event{Kind: stream.EventBatch, Batch: rows}
	}
	take(a, mark(10), phaseEvent("s", 1))
	take(b, mark(10), phaseEvent("s", 1))
	take(x, mark(100))
	if at := it.comb.Combined(); at != 100 {
		t.Fatalf("both copies are idle: the watermark is %d", at)
	}
	take(a, phaseEvent("s", 2), row(10), mark(20), phaseEvent("s", 3))
	take(x, mark(200))
	if at := it.comb.Combined(); at != 100 {
		t.Errorf("copy b has rows to come: the watermark is %d", at)
	}
	take(b, phaseEvent("s", 2), row(10), mark(20))
	if at := it.comb.Combined(); at != 100 {
		t.Errorf("copy b has not fallen silent: the watermark is %d", at)
	}
	take(b, phaseEvent("s", 3))
	if at := it.comb.Combined(); at != 200 {
		t.Errorf("both are idle again: the watermark is %d", at)
	}
	if want := []stream.Time{100, 100}; !slices.Equal(got.before, want) {
		t.Errorf("rows at %v, want %v", got.before, want)
	}
}

// TestCommonPhase: the phase of a source for a task whose channels are in others.
func TestCommonPhase(t *testing.T) {
	for _, tt := range []struct {
		channels []int64
		reached  int64
		want     int64
	}{
		{[]int64{0, 0}, 0, 0},
		{[]int64{1, 0}, 1, 0},
		{[]int64{1, 1}, 1, 1},
		{[]int64{2, 1}, 2, 2},
		{[]int64{3, 1}, 3, 2}, // both are idle, and not in the same phase
		{[]int64{3, 2, 3}, 3, 2},
		{[]int64{4, 3}, 4, 4},
		{[]int64{3, 3}, 4, 4}, // one that has ended was in 4
		{[]int64{3, gone, 3}, 3, 3},
		{[]int64{3, gone, 2}, 3, 2},
		{[]int64{gone, gone}, 7, gone},
		{nil, 0, gone},
	} {
		if got := commonPhase(tt.channels, tt.reached); got != tt.want {
			t.Errorf("%v, %d reached: %d, want %d", tt.channels, tt.reached, got, tt.want)
		}
	}
}

// TestFeeds: the sources whose rows a task may get, over all that lies between.
func TestFeeds(t *testing.T) {
	a, b, c, late, bad := &Exchange{ID: "a"}, &Exchange{ID: "b"}, &Exchange{ID: "c"}, &Exchange{ID: "late"}, &Exchange{ID: "bad"}
	g := &Graph{Tasks: []*Task{
		{ID: "s", Source: &Source{ID: "s", Bad: []Target{{Exchange: bad}}}, To: []Target{{Exchange: a}}},
		{ID: "z", Source: &Source{ID: "z"}, To: []Target{{Exchange: b}}},
		{ID: "union", Inputs: []*Exchange{b, a}, To: []Target{{Op: &Op{ID: "window", To: []Target{{Exchange: c}}, Side: map[string][]Target{"late": {{Exchange: late}}}}}}},
		{ID: "rows", Inputs: []*Exchange{c}},
		{ID: "late rows", Inputs: []*Exchange{late, bad}},
		{ID: "bad rows", Inputs: []*Exchange{bad}},
	}}
	want := map[string][]string{"s": {"s"}, "z": {"z"}, "union": {"s", "z"}, "rows": {"s", "z"}, "late rows": {"s", "z"}, "bad rows": {"s"}}
	if got := g.feeds(); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v", got)
	}
}

// idleInputs is a task of two copies behind source s and a third channel of x, whose consumer notes what it is told.
func idleInputs(t *testing.T, mem memory.Allocator) (it *inputTask, got *stamped, take func(channel int, events ...stream.Event), told func() string) {
	o := Options{Allocator: mem, BatchRows: 8}
	o.fill()
	to := &Exchange{ID: "to"}
	it = newInputTask(&Job{o: o, metrics: map[string]*partMetrics{}}, &Task{ID: "reader", Partitions: 1, Inputs: []*Exchange{{ID: "c"}, {ID: "x"}}, To: []Target{{Exchange: to}}}, 0)
	box := newInbox(make(chan struct{}, 1), exec.NewAccount("behind", nil), 8)
	behind := box.add(0)
	it.writers[0].connect([]*channel{behind})
	it.channel(0, "s", "y")
	it.channel(0, "s", "y")
	it.channel(1, "x")
	got = &stamped{map[int64]stream.Time{}}
	it.to = newFanout([]receiver{got, it.writers[0]})
	t.Cleanup(func() {
		box.close()
		if err := it.close(); err != nil {
			t.Error(err)
		}
	})
	take = func(channel int, events ...stream.Event) {
		t.Helper()
		for _, e := range events {
			if err := it.arrived(context.Background(), channel, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	told = func() string {
		var out []string
		for {
			e, ok := behind.take()
			switch {
			case !ok:
				return strings.Join(out, " ")
			case e.Kind == stream.EventWatermark:
				out = append(out, timeText(e.Watermark))
			case e.Kind == stream.EventIdle && e.Phase == gone:
				out = append(out, e.Source+" gone")
			case e.Kind == stream.EventIdle:
				out = append(out, fmt.Sprintf("%s %d", e.Source, e.Phase))
			case e.Kind == stream.EventEnd:
				out = append(out, "end")
			}
			e.Batch.Release()
		}
	}
	return it, got, take, told
}

func markEvent(wm stream.Time) stream.Event {
	return stream.Event{Kind: stream.EventWatermark, Watermark: wm}
}

func rowEvent(mem memory.Allocator, id int64, before stream.Time) stream.Event {
	rows := decodeFake(mem, []fakeRow{{id: id, ts: 1}}, "s", 0, false).Batch
	rows.Before = []stream.Time{before}
	return stream.Event{Kind: stream.EventBatch, Batch: rows}
}

// TestIdlenessGoesOn: what a task tells those behind it, and when. A source that has ended counts as idle, so that one that shares its channels with it may be
// silent; rows that a timer has given lift nothing and wake nobody up.
func TestIdlenessGoesOn(t *testing.T) {
	mem := checked(t)
	_, got, take, told := idleInputs(t, mem)
	is := func(want string) {
		t.Helper()
		if s := told(); s != want {
			t.Errorf("told %q, want %q", s, want)
		}
	}
	const a, b, x = 0, 1, 2
	end := stream.Event{Kind: stream.EventEnd}
	take(a, markEvent(9))
	take(b, markEvent(5))
	take(x, markEvent(7))
	is("5")
	take(a, phaseEvent("s", 1), phaseEvent("y", 1))
	is("")
	take(b, phaseEvent("s", 1))
	is("s 1") // y is not
	take(b, phaseEvent("y", 1))
	is("7 y 1")
	take(b, markEvent(6)) // said by a timer, and heard when the source speaks
	take(x, markEvent(8))
	is("8")
	take(x, phaseEvent("x", 1))
	is("x 1")
	take(a, rowEvent(mem, 1, 9), phaseEvent("s", 2), rowEvent(mem, 2, 9), phaseEvent("s", 3))
	is("s 2")
	if got.before[1] != 8 || got.before[2] != 8 {
		t.Errorf("rows at %v: the watermark is 8", got.before)
	}
	take(x, phaseEvent("x", 2), markEvent(20))
	is("x 2")
	take(b, phaseEvent("s", 2), rowEvent(mem, 3, 5), markEvent(15), phaseEvent("s", 3))
	is("9 20 s 3")
	if got.before[3] != 8 {
		t.Errorf("rows at %v", got.before)
	}
	take(b, phaseEvent("s", 4))
	is("s 4")
	take(b, end) // copy a is a phase behind
	is("")
	take(a, phaseEvent("s", 4), markEvent(17), phaseEvent("s", 5))
	is("s 5")
	take(a, end)
	is("s gone y gone")
	take(x, phaseEvent("x", 3))
	is("x 3")
}

// stamped notes what a task makes of the watermark before rows, by their ids.
type stamped struct{ before map[int64]stream.Time }

func (r *stamped) batch(_ context.Context, _ int, b stream.Batch) error {
	for i := range b.Len() {
		row := b.Row(i)
		r.before[b.Record.Column(0).(*array.Int64).Value(row)] = b.Before[row]
	}
	b.Release()
	return nil
}
func (r *stamped) watermark(context.Context, stream.Time) error { return nil }
func (r *stamped) end(context.Context, int) error               { return nil }

// TestIdlenessInAnyOrder has two sources fall silent and speak again, each for itself, over copies of several tasks, a task of both and branches that meet
// again, and has the tasks work in any order: no watermark passes rows that were under way when the task first heard of them, and in the end all know the
// same.
func TestIdlenessInAnyOrder(t *testing.T) {
	seeds := uint64(300)
	if invariants.Enabled { // each event may wait
		seeds = 20
	}
	for seed := range seeds {
		idlenessInAnyOrder(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func idlenessInAnyOrder(t *testing.T, seed uint64) {
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(seed, 1))
	o := Options{Allocator: checked(t), BatchRows: 8}
	o.fill()
	x := func(id string, keys ...int) *Exchange { return &Exchange{ID: id, Keys: keys} }
	to := func(xs ...*Exchange) (out []Target) {
		for _, x := range xs {
			out = append(out, Target{Exchange: x})
		}
		return out
	}
	s1, s2, a1, b1, c1, c2, c3 := x("s1", 0), x("s2"), x("a1", 0), x("b1", 0), x("c1"), x("c2"), x("c3")
	g := &Graph{Tasks: []*Task{
		{ID: "s", Partitions: 1, Source: &Source{ID: "s"}, To: to(s1, s2)},
		{ID: "z", Partitions: 1, Source: &Source{ID: "z"}, To: to(b1)},
		{ID: "a", Partitions: 2, Inputs: []*Exchange{s1}, To: to(a1)},
		{ID: "b", Partitions: 2, Inputs: []*Exchange{a1, b1}, To: to(c1, c2)},
		{ID: "c", Partitions: 2, Inputs: []*Exchange{c1, s2}, To: to(c3)},
		{ID: "d", Partitions: 1, Inputs: []*Exchange{c3, c2}},
	}}
	j := &Job{o: o, g: g, metrics: map[string]*partMetrics{}}
	feeds := g.feeds()
	var chains []*chain
	var tasks []*inputTask
	for _, spec := range g.Tasks {
		if spec.Source != nil {
			chains = append(chains, newChain(j, spec, 0))
			continue
		}
		for p := range spec.Partitions {
			it := newInputTask(j, spec, p)
			it.box.lift(true)
			tasks, chains = append(tasks, it), append(chains, it.chain)
		}
	}
	type of struct {
		it     *inputTask
		source string
	}
	stamps := map[*inputTask]*stamped{}
	heard := map[of][]stream.Time{} // by phase, the watermark when it was first heard of
	for _, it := range tasks {
		for k, x := range it.task.Inputs {
			for _, c := range chains {
				for _, w := range c.writers {
					if w.spec == x {
						c := it.channel(k, feeds[w.c.task.ID]...)
						w.connect(append(w.to, c))
					}
				}
			}
		}
		stamps[it] = &stamped{map[int64]stream.Time{}}
		it.to = newFanout(append([]receiver{stamps[it]}, it.to.to...))
	}
	defer func() {
		for _, it := range tasks {
			if err := it.close(); err != nil {
				t.Error(err)
			}
		}
	}()
	sources := []struct {
		c     *chain
		id    string
		at    stream.Time
		phase int64
		left  int
	}{{c: chains[0], id: "s", left: 40}, {c: chains[1], id: "z", left: 40}}
	phaseOf := map[int64]int64{} // of a row
	sourceOf := map[int64]string{}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	speak := func(k int) {
		s := &sources[k]
		s.left--
		idle := rnd.IntN(3) == 0
		if idlePhase(s.phase) {
			s.phase++
			must(s.c.tell(ctx, s.id, s.phase))
		}
		for range rnd.IntN(3) {
			id := int64(len(phaseOf))
			phaseOf[id], sourceOf[id] = s.phase, s.id
			rows := decodeFake(o.Allocator, []fakeRow{{id: id, ts: int64(s.at) + 1}}, "s", 0, false).Batch
			rows.Before = []stream.Time{s.at}
			must(s.c.to.batch(ctx, 0, rows))
		}
		s.at += stream.Time(rnd.IntN(20))
		must(s.c.to.watermark(ctx, s.at))
		if idle || s.left == 0 {
			s.phase++
			must(s.c.tell(ctx, s.id, s.phase))
		}
	}
	work := func(it *inputTask, i int) {
		e, ok := it.box.channels[i].take()
		if !ok {
			return
		}
		switch e.Kind {
		case stream.EventIdle:
			at := heard[of{it, e.Source}]
			for len(at) <= int(e.Phase) {
				at = append(at, it.comb.Combined())
			}
			heard[of{it, e.Source}] = at
		case stream.EventBatch:
			id := e.Batch.Record.Column(0).(*array.Int64).Value(e.Batch.Row(0))
			limit := e.Batch.Before[e.Batch.Row(0)]
			if at := heard[of{it, sourceOf[id]}]; int(phaseOf[id]) < len(at) {
				limit = max(limit, at[phaseOf[id]])
			}
			defer func() {
				if at := stamps[it].before[id]; at > limit {
					t.Errorf("%s/%d has row %d of phase %d of %s at %d, it should have been at most %d", it.task.ID, it.partition, id, phaseOf[id], sourceOf[id], at, limit)
				}
			}()
		}
		must(it.arrived(ctx, i, e))
	}
	for range 20000 {
		if k := rnd.IntN(60); k < 2 && sources[k].left > 0 {
			speak(k)
			continue
		}
		it := tasks[rnd.IntN(len(tasks))]
		for range rnd.IntN(10) {
			work(it, rnd.IntN(len(it.box.channels)))
		}
	}
	for _, it := range tasks {
		for i := range it.box.channels {
			if _, ok := it.box.channels[i].peek(); ok || sources[0].left+sources[1].left > 0 {
				t.Fatalf("%s has not been worked off", it.task.ID)
			}
		}
		for _, s := range sources {
			if n := it.phases[s.id]; slices.Contains(it.sources(), s.id) && n != s.phase {
				t.Errorf("%s/%d has phase %d of %s, want %d", it.task.ID, it.partition, n, s.id, s.phase)
			}
		}
		if !it.comb.AllIdle() {
			t.Errorf("%s/%d is not idle", it.task.ID, it.partition)
		}
	}
	if seen := len(stamps[tasks[len(tasks)-1]].before); seen != len(phaseOf) || seen == 0 {
		t.Errorf("%d rows, %d arrived", len(phaseOf), seen)
	}
}
