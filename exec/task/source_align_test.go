package task

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

func live(id string, rows ...fakeRow) *fakeSplit {
	return &fakeSplit{id: id, live: true, ready: make(chan struct{}, 1), rows: rows}
}

func row(id, ts int64) fakeRow { return fakeRow{id: id, ts: ts} }

// pausable counts what it is told.
type pausable struct {
	*fakeReader
	calls *[]string
}

func (p pausable) Pause()  { *p.calls = append(*p.calls, "pause "+p.s.id) }
func (p pausable) Resume() { *p.calls = append(*p.calls, "resume "+p.s.id) }

type pausableSource struct {
	*fakeSource
	calls *[]string
}

func (p pausableSource) Open(ctx context.Context, env *connectors.Env, sp connectors.Split, from connectors.Position, n int) (connectors.Reader, error) {
	r, err := p.fakeSource.Open(ctx, env, sp, from, n)
	if err != nil {
		return nil, err
	}
	return pausable{r.(*fakeReader), p.calls}, nil
}

// alignedJob runs a source of live splits in a group, with a drift of 10 us and an update each second. It may be stopped and restored at any step.
type alignedJob struct {
	t     *testing.T
	src   *fakeSource
	clock *VirtualClock
	o     Options
	task  func() *Task
	j     *Job
	snap  *Snapshot
	log   []string
	calls []string
}

func newAlignedJob(t *testing.T, idle time.Duration, threads, batch, block int, splits ...*fakeSplit) *alignedJob {
	a := &alignedJob{t: t, src: &fakeSource{splits: splits, blockRows: block}, clock: NewVirtualClock(time.UnixMilli(0).UTC())}
	a.o = Options{Clock: a.clock, Threads: threads, BatchRows: batch, Allocator: checked(t)}
	a.task = func() *Task {
		task := scanOf(a.src, 0, sinkTarget(&fakeSink{log: &a.log}))
		task.Source.Open = func() (connectors.Source, error) { return pausableSource{a.src, &a.calls}, nil }
		task.Source.Need, task.Source.NullRows = NeedNone, NullKeep
		task.Source.IdleTimeout = idle
		task.Source.Align = Alignment{"g", 10 * time.Microsecond, time.Second}
		return task
	}
	a.start()
	t.Cleanup(func() { a.j.Cancel(); a.snap.Release() })
	return a
}

func (a *alignedJob) start() {
	a.t.Helper()
	a.o.Restore = a.snap
	var err error
	if a.j, err = Start(context.Background(), &Graph{Tasks: []*Task{a.task()}}, a.o); err != nil {
		a.t.Fatal(err)
	}
}

func (a *alignedJob) restart() {
	a.t.Helper()
	snap, err := a.j.Stop(context.Background())
	if err != nil {
		a.t.Fatal(err)
	}
	a.snap.Release()
	a.snap = snap
	a.start()
}

func (a *alignedJob) advance(d time.Duration) {
	a.t.Helper()
	if err := a.clock.Advance(context.Background(), d); err != nil {
		a.t.Fatal(err)
	}
}

// came are the ids of the rows since the last call, sorted.
func (a *alignedJob) came() string {
	a.t.Helper()
	if err := a.j.Marker(context.Background()); err != nil {
		a.t.Fatal(err)
	}
	var ids []string
	for _, l := range a.log {
		id, _, _ := strings.Cut(l, " ")
		ids = append(ids, id)
	}
	a.log = nil
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

// splits tells how the splits stand: paused, how far ahead, how often paused, for how long.
func (a *alignedJob) splits() string {
	a.t.Helper()
	st, err := a.j.Stats(context.Background())
	if err != nil {
		a.t.Fatal(err)
	}
	var out []string
	for _, sp := range st.Sources[0].Splits {
		al := sp.Alignment
		state := []string{"active", "idle", "finished"}[sp.State]
		if al.Paused {
			state = "paused"
		}
		out = append(out, fmt.Sprintf("%s %s +%d %dx %s", sp.Split, state, al.Drift.Microseconds(), al.Pauses, al.PausedFor))
	}
	return strings.Join(out, ", ")
}

// TestAlignment pauses splits by themselves, to the row, whatever the threads, batches and blocks, and with a restore at every step.
func TestAlignment(t *testing.T) {
	for _, threads := range []int{1, 3} {
		for _, batch := range []int{1, 2, 8192} {
			for _, block := range []int{1, 3, 100} {
				for _, restore := range []bool{false, true} {
					t.Run(fmt.Sprintf("threads %d batch %d block %d restore %t", threads, batch, block, restore), func(t *testing.T) {
						a := newAlignedJob(t, 0, threads, batch, block, live("a", row(11, 100)), live("b", row(21, 100), row(22, 105)), live("c"))
						is := func(what, rows, splits string) {
							t.Helper()
							if got := a.came(); got != rows {
								t.Errorf("%s: rows %q, want %q", what, got, rows)
							}
							if got := a.splits(); got != splits {
								t.Errorf("%s: splits %q, want %q", what, got, splits)
							}
							if restore {
								a.restart()
							}
						}
						is("before the first update all are read", "11 21 22", "a active +0 0x 0s, b active +5 0x 0s, c active +0 0x 0s")
						a.advance(time.Second) // 110 is allowed
						is("within the drift", "", "a active +0 0x 0s, b active +5 0x 0s, c active +0 0x 0s")
						a.src.add(1, row(23, 110), row(24, 111), row(25, 112), row(26, 90), row(27, 300))
						is("paused behind the row that goes too far", "23 24", "a active +0 0x 0s, b paused +11 1x 0s, c active +0 0x 0s")
						a.src.add(0, row(12, 101))
						is("others go on", "12", "a active +0 0x 0s, b paused +10 1x 0s, c active +0 0x 0s")
						a.advance(999 * time.Millisecond)
						is("the pause holds until the next update", "", "a active +0 0x 0s, b paused +10 1x 999ms, c active +0 0x 0s")
						a.advance(time.Millisecond) // 111 is allowed
						is("resumed, and at once too far again", "25", "a active +0 0x 0s, b paused +11 2x 1s, c active +0 0x 0s")
						a.src.add(0, row(13, 119))
						is("the others catch up", "13", "a paused +7 1x 0s, b paused +0 2x 1s, c active +0 0x 0s")
						a.advance(time.Second) // 122 is allowed: the lowest is never paused at an update
						is("both go on", "26 27", "a active +0 1x 1s, b paused +181 3x 2s, c active +0 0x 0s")
						a.src.add(2, row(31, 50))
						is("one that begins behind", "31", "a active +69 1x 1s, b paused +250 3x 2s, c active +0 0x 0s")
						a.advance(time.Second) // 60 is allowed
						a.src.add(0, row(14, 120))
						is("holds those that are ahead", "", "a paused +69 2x 1s, b paused +250 3x 3s, c active +0 0x 0s")
						a.src.add(2, row(32, 400))
						a.advance(time.Second) // 129 is allowed
						is("until it has caught up", "14 32", "a active +0 2x 2s, b paused +180 3x 4s, c paused +280 1x 1s")
						a.j.Cancel()
					})
				}
			}
		}
	}
}

// TestFirstInterval: before the first update a split may go as far as the drift allows from its own beginning.
func TestFirstInterval(t *testing.T) {
	for _, block := range []int{1, 2, 100} {
		for _, restore := range []bool{false, true} {
			a := newAlignedJob(t, 0, 1, 8192, block, live("a", fakeRow{id: 11, null: true}, row(12, 100), row(13, 111), row(14, 112)), live("b", row(21, 50)))
			is := func(what, rows, splits string) {
				t.Helper()
				if got := a.came(); got != rows {
					t.Errorf("%s: rows %q, want %q", what, got, rows)
				}
				if got := a.splits(); got != splits {
					t.Errorf("%s: splits %q, want %q", what, got, splits)
				}
				if restore {
					a.restart()
				}
			}
			is("at the beginning", "11 12 13 21", "a paused +61 1x 0s, b active +0 0x 0s")
			a.src.add(1, row(22, 60), row(23, 61), row(24, 62))
			is("b", "22 23", "a paused +50 1x 0s, b paused +0 1x 0s")
			a.src.add(0, row(15, 113))
			is("held", "", "a paused +50 1x 0s, b paused +0 1x 0s")
			a.advance(time.Second)
			is("the first update", "24", "a paused +49 1x 1s, b active +0 1x 1s")
			a.j.Cancel()
		}
	}
}

// TestPausedReaders: readers that read ahead are told.
func TestPausedReaders(t *testing.T) {
	a := newAlignedJob(t, 0, 1, 8192, 100, live("a", row(1, 100)), live("b", row(2, 100)))
	a.came()
	a.advance(time.Second)
	a.src.add(1, row(3, 200))
	a.came()
	a.src.add(0, row(4, 195))
	a.came()
	a.advance(time.Second)
	a.came()
	a.j.Cancel()
	if want := []string{"pause b", "pause a", "resume b", "resume a"}; !slices.Equal(a.calls, want) && !slices.Equal(a.calls, []string{"pause b", "pause a", "resume a", "resume b"}) {
		t.Errorf("calls %q", a.calls)
	}
}

// TestPausedIsNotIdle: the idle clock of a paused split stands still; a split that falls idle lets the others go, at that very update.
func TestPausedIsNotIdle(t *testing.T) {
	for _, restore := range []bool{false, true} {
		a := newAlignedJob(t, 3*time.Second, 1, 8192, 100, live("a", row(1, 100)), live("b", row(2, 100)))
		is := func(what, rows, splits string) {
			t.Helper()
			if got := a.came(); got != rows {
				t.Errorf("%s: rows %q, want %q", what, got, rows)
			}
			if got := a.splits(); got != splits {
				t.Errorf("%s: splits %q, want %q", what, got, splits)
			}
			if restore {
				a.restart()
			}
		}
		is("at the beginning", "1 2", "a active +0 0x 0s, b active +0 0x 0s")
		a.advance(time.Second)
		a.src.add(1, row(3, 200), row(4, 201))
		is("b is ahead", "3", "a active +0 0x 0s, b paused +100 1x 0s")
		a.advance(1999 * time.Millisecond)
		is("a is about to be idle", "", "a active +0 0x 0s, b paused +100 1x 1.999s")
		a.advance(time.Millisecond)
		is("a is idle: b goes on", "4", "a idle +-101 0x 0s, b active +0 1x 2s")
		a.advance(2999 * time.Millisecond)
		is("b has been silent for 2.999 s", "", "a idle +-101 0x 0s, b active +0 1x 2s")
		a.src.add(0, row(5, 150)) // 211 is allowed
		is("a is back, behind", "5", "a active +0 0x 0s, b active +51 1x 2s")
		a.advance(time.Millisecond)
		is("b falls idle at an update: it is too late to pause it", "", "a active +0 0x 0s, b idle +51 1x 2s")
		a.j.Cancel()
	}
}

// TestPausedAtItsEnd: stop, cancel and a checkpoint do not wait for a paused split, and a source whose rows nobody wants any more leaves the group.
func TestPausedAtItsEnd(t *testing.T) {
	a := newAlignedJob(t, 0, 3, 8192, 2, live("a", row(1, 100)), live("b", row(2, 100)))
	a.came()
	a.advance(time.Second)
	a.src.add(1, row(3, 200), row(4, 201), row(5, 202), row(6, 203), row(7, 204))
	if got := a.came(); got != "3" {
		t.Errorf("rows %q", got)
	}
	s, err := a.j.Checkpoint(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	s.Release()
	a.restart()
	a.src.add(0, row(8, 300))
	a.came()
	a.advance(time.Second)
	if got := a.came(); got != "4 5 6 7" {
		t.Errorf("rows %q after the restart", got)
	}
}

// TestPausedBehindItsLastRow: a split that its last row has paused ends when it goes on, whether its end was read ahead or not.
func TestPausedBehindItsLastRow(t *testing.T) {
	for _, threads := range []int{1, 3} {
		for _, batch := range []int{1, 8192} {
			for _, block := range []int{1, 100} {
				a := newAlignedJob(t, 0, threads, batch, block, live("a", row(1, 100)), live("b", row(2, 100)))
				is := func(what, rows, splits string) {
					t.Helper()
					if got := a.came(); got != rows {
						t.Errorf("%s: rows %q, want %q", what, got, rows)
					}
					if got := a.splits(); got != splits {
						t.Errorf("threads %d, batch %d, block %d: %s: splits %q, want %q", threads, batch, block, what, got, splits)
					}
				}
				is("at the beginning", "1 2", "a active +0 0x 0s, b active +0 0x 0s")
				a.advance(time.Second)
				a.src.mu.Lock()
				a.src.splits[1].live = false
				a.src.mu.Unlock()
				a.src.add(1, row(3, 105), row(4, 200))
				is("b has ended, which nobody knows", "3 4", "a active +0 0x 0s, b paused +100 1x 0s")
				a.src.add(0, row(5, 195))
				is("a goes on", "5", "a paused +0 1x 0s, b paused +5 1x 0s")
				a.advance(time.Second)
				is("so does b", "", "a active +0 1x 1s, b finished +0 1x 1s")
				a.j.Cancel()
			}
		}
	}
}

// TestAlignmentEnds reads bounded splits of several sources with random times, idle splits and slow sinks, on the machine's clock: it always comes to its
// end, with all rows, whatever is paused meanwhile.
func TestAlignmentEnds(t *testing.T) {
	for seed := range int64(30) {
		rnd := rand.New(rand.NewSource(seed))
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		var g Graph
		union := Task{ID: "union", Partitions: 1}
		sink := &fakeSink{}
		want := 0
		for k := range 1 + rnd.Intn(3) {
			src := &fakeSource{blockRows: 1 + rnd.Intn(40)}
			for i := range 1 + rnd.Intn(5) {
				sp := &fakeSplit{id: fmt.Sprint(i)}
				ts := rnd.Int63n(1000)
				for n := range rnd.Intn(400) {
					ts += rnd.Int63n(1 << rnd.Intn(8))
					sp.rows = append(sp.rows, row(int64(n), ts-rnd.Int63n(5)))
				}
				want += len(sp.rows)
				src.splits = append(src.splits, sp)
			}
			x := &Exchange{ID: fmt.Sprint("x", k), Schema: fakeSchema, Bounded: true}
			task := scanOf(src, 0, Target{Exchange: x})
			task.ID, task.Source.ID = fmt.Sprint("scan", k), fmt.Sprint("scan", k)
			task.Source.Order = []InputOrder{OrderArrival, OrderArrival, OrderTime}[rnd.Intn(3)]
			task.Source.MaxOpenSplits = 1 + rnd.Intn(4) + 100*rnd.Intn(2)
			if task.Source.Order == OrderTime {
				task.Source.MaxOpenSplits = 100
			}
			task.Source.Need = NeedNone
			task.Source.Align = Alignment{"g", time.Duration(1+rnd.Intn(300)) * time.Microsecond, time.Millisecond}
			g.Tasks = append(g.Tasks, task)
			union.Inputs = append(union.Inputs, x)
		}
		if len(union.Inputs) > 1 && rnd.Intn(2) == 0 { // a backfill: the last one is held until the others have ended
			union.Inputs[len(union.Inputs)-1].Bounded = false
			union.BoundedFirst = true
		}
		union.To = []Target{sinkTarget(sink)}
		g.Tasks = append(g.Tasks, &union)
		j, err := Start(ctx, &g, Options{Threads: 1 + rnd.Intn(3), BatchRows: 1 + rnd.Intn(50), Allocator: checked(t)})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Wait(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if sink.n != want {
			t.Errorf("seed %d: %d rows, want %d", seed, sink.n, want)
		}
		cancel()
	}
}

// TestAlignmentRestored stops at random rows, whatever is paused then, and goes on from the snapshot: every row comes once, in the order of its split.
func TestAlignmentRestored(t *testing.T) {
	for seed := range int64(20) {
		rnd := rand.New(rand.NewSource(seed))
		splits := randomSplits(rnd, 1+rnd.Intn(6), 80, false)
		mem := checked(t)
		var log []string
		var snap *Snapshot
		for {
			task := scanOf(&fakeSource{splits: splits, blockRows: 1 + rnd.Intn(20)}, rnd.Int63n(3), sinkTarget(&fakeSink{log: &log}))
			task.Source.Order, task.Source.Need = OrderArrival, NeedNone
			task.Source.MaxOpenSplits = 1 + rnd.Intn(8)
			task.Source.Align = Alignment{"g", time.Duration(1+rnd.Intn(40)) * time.Microsecond, time.Duration(1+rnd.Intn(1000)) * time.Microsecond}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			j, err := Start(ctx, &Graph{Tasks: []*Task{task}}, Options{Threads: 1 + rnd.Intn(3), BatchRows: []int{1, 3, 8192}[rnd.Intn(3)], Allocator: mem, Restore: snap,
				CheckpointAfterRows: 1 + rnd.Int63n(60), StopAfterRows: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := j.Wait(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			next, err := j.RowCheckpoint(context.Background())
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			snap.Release()
			if snap = next; snap == nil {
				break
			}
		}
		at := map[string]int{}
		for i, l := range log {
			if _, twice := at[l]; twice {
				t.Fatalf("seed %d: row %s came twice", seed, l)
			}
			at[l] = i
		}
		want := 0
		for _, sp := range splits {
			last := -1
			for _, r := range sp.rows {
				if r.bad {
					continue
				}
				want++
				i, ok := at[fmt.Sprintf("%d %d", r.id, r.ts)]
				if !ok || i < last {
					t.Fatalf("seed %d: row %d of %s is missing or out of order", seed, r.id, sp.id)
				}
				last = i
			}
		}
		if want != len(log) {
			t.Errorf("seed %d: %d rows, want %d", seed, len(log), want)
		}
	}
}

// TestBlocksWithoutRows: blocks that hold nothing but bad records do not stop a source that takes rows as they arrive.
func TestBlocksWithoutRows(t *testing.T) {
	for threads := 1; threads <= 4; threads++ {
		var rows []fakeRow
		for i := range int64(200) {
			rows = append(rows, fakeRow{id: i, ts: i, bad: i%10 != 0})
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		sink := &fakeSink{}
		task := scanOf(&fakeSource{splits: []*fakeSplit{{id: "a", rows: rows}}, blockRows: 1}, 0, sinkTarget(sink))
		task.Source.Order = OrderArrival
		j, err := Start(ctx, &Graph{Tasks: []*Task{task}}, Options{Threads: threads, Allocator: checked(t)})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Wait(); err != nil || sink.n != 20 {
			t.Errorf("threads %d: %d rows, %v", threads, sink.n, err)
		}
		cancel()
	}
}

// TestAlignmentCanceled cancels while splits are paused for good: the group waits for a split that says nothing more.
func TestAlignmentCanceled(t *testing.T) {
	src := &fakeSource{blockRows: 3, splits: []*fakeSplit{live("silent", row(1, 1)), live("ahead", rowsOf(1, 5000)...), {id: "files", rows: rowsOf(1, 5000)}}}
	task := scanOf(src, 0, sinkTarget(&fakeSink{}))
	task.Source.Align = Alignment{"g", 20 * time.Microsecond, time.Millisecond}
	j, err := Start(context.Background(), &Graph{Tasks: []*Task{task}}, Options{Threads: 2, BatchRows: 4, Allocator: checked(t)})
	if err != nil {
		t.Fatal(err)
	}
	for {
		st, err := j.Stats(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if a := st.Sources[0].Splits[1].Alignment; a.Paused && a.Pauses > 0 {
			break
		}
	}
	j.Cancel()
	if err := j.Wait(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestBoundedOrderIsNotAligned: where the order of rows is defined, alignment changes nothing.
func TestBoundedOrderIsNotAligned(t *testing.T) {
	splits := randomSplits(rand.New(rand.NewSource(1)), 4, 200, false)
	var logs [2][]string
	for i := range logs {
		task := scanOf(&fakeSource{splits: splits, blockRows: 7}, 2, sinkTarget(&fakeSink{log: &logs[i]}))
		if i == 1 {
			task.Source.Align = Alignment{"g", time.Microsecond, time.Microsecond}
		}
		if err := finish(t, &Graph{Tasks: []*Task{task}}, Options{Threads: 2, BatchRows: 16}); err != nil {
			t.Fatal(err)
		}
	}
	if len(logs[0]) == 0 || !slices.Equal(logs[0], logs[1]) {
		t.Error("rows differ")
	}
}

// TestEnoughLeaves: a source whose rows nobody wants any more does not hold the group.
func TestEnoughLeaves(t *testing.T) {
	clock := NewVirtualClock(time.UnixMilli(0).UTC())
	var log []string
	taken := 0
	limit := &fakeOp{}
	limit.batch = func(_ int, b stream.Batch, _ exec.Output) error {
		b.Release()
		if taken++; taken == 1 {
			return exec.ErrEnough
		}
		return nil
	}
	behind := &fakeSource{blockRows: 1, splits: []*fakeSplit{live("behind", row(1, 1))}}
	ahead := &fakeSource{blockRows: 1, splits: []*fakeSplit{live("ahead", row(1, 100), row(2, 200))}}
	a, b := scanOf(behind, 0, opTarget(limit, sinkTarget(&fakeSink{}))), scanOf(ahead, 0, sinkTarget(&fakeSink{log: &log}))
	b.ID, b.Source.ID, b.To[0].Sink.ID, b.Source.Need = "scan2", "scan2", "sink2", NeedNone
	for _, task := range []*Task{a, b} {
		task.Source.Align = Alignment{"g", 10 * time.Microsecond, time.Second}
	}
	j, err := Start(context.Background(), &Graph{Tasks: []*Task{a, b}}, Options{Clock: clock, Allocator: checked(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Cancel()
	for range 3 {
		if err := clock.Advance(context.Background(), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	ahead.add(0, row(3, 300))
	if err := j.Marker(context.Background()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"1 100", "2 200", "3 300"}; !slices.Equal(log, want) {
		t.Errorf("rows %q, want %q", log, want)
	}
}
