package task

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

func namedScan(name string, f *fakeSource, delay int64, to ...Target) *Task {
	t := scanOf(f, delay, to...)
	t.ID, t.Source.ID = name, name
	t.Source.NullRows = NullKeep
	return t
}

// naiveMerge merges what naiveOrder gave for several inputs: lowest watermark before the row first, ties by input.
func naiveMerge(inputs [][]string) []string {
	before := func(s string) stream.Time {
		w := s[strings.LastIndexByte(s, '<')+1:]
		if w == "-" {
			return stream.MinTime
		}
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			panic(err)
		}
		return stream.Time(n)
	}
	var out []string
	w := stream.MinTime
	for {
		next := -1
		for i, in := range inputs {
			if len(in) > 0 && (next < 0 || before(in[0]) < before(inputs[next][0])) {
				next = i
			}
		}
		if next < 0 {
			return out
		}
		row := inputs[next][0]
		inputs[next] = inputs[next][1:]
		w = max(w, before(row))
		out = append(out, row[:strings.LastIndexByte(row, '<')]+"<"+timeText(w))
	}
}

// TestUnion merges bounded inputs in their defined order, whatever threads, batches, blocks, and restores at random rows.
func TestUnion(t *testing.T) {
	for seed := range int64(60) {
		rnd := rand.New(rand.NewSource(seed))
		n, delay, rows := 2+rnd.Intn(2), rnd.Int63n(4), 60
		if seed%10 == 0 {
			rows = 1000 // more than inboxes hold at batch size 1
		}
		var inputs [][]*fakeSplit
		var naive [][]string
		for i := range n {
			splits := randomSplits(rnd, 1+rnd.Intn(3), rows, true)
			for _, s := range splits {
				for k := range s.rows {
					s.rows[k].id += int64(1000 * (i + 1))
				}
			}
			inputs = append(inputs, splits)
			naive = append(naive, naiveOrder(splits, delay, NullKeep, false))
		}
		want := naiveMerge(naive)
		mem := checked(t)
		for _, restore := range []bool{false, true} {
			for _, threads := range []int{1, 2, 8} {
				var log []string
				var snap *Snapshot
				for {
					g := &Graph{}
					u := &Task{ID: "union", Partitions: 1, Ordered: true, To: []Target{sinkTarget(&fakeSink{log: &log})}}
					for i, splits := range inputs {
						x := &Exchange{ID: fmt.Sprint("x", i), Schema: fakeSchema, Bounded: true}
						u.Inputs = append(u.Inputs, x)
						g.Tasks = append(g.Tasks, namedScan(fmt.Sprint("scan", i), &fakeSource{splits: splits, blockRows: 1 + rnd.Intn(20)}, delay, Target{Exchange: x}))
					}
					g.Tasks = append(g.Tasks, u)
					o := Options{Threads: threads, BatchRows: []int{1, 7, 8192}[rnd.Intn(3)], Allocator: mem, Restore: snap}
					if restore {
						o.CheckpointAfterRows, o.StopAfterRows = 1+rnd.Int63n(int64(rows)), true
					}
					j, err := Start(context.Background(), g, o)
					if err != nil {
						t.Fatal(err)
					}
					if err := j.Wait(); err != nil {
						t.Fatal(err)
					}
					next, err := j.RowCheckpoint(context.Background())
					if err != nil {
						t.Fatal(err)
					}
					snap.Release()
					if snap = next; snap == nil {
						break
					}
				}
				if !slices.Equal(log, want) {
					t.Fatalf("seed %d threads %d restore %t:\ngot  %s\nwant %s", seed, threads, restore, strings.Join(log, ", "), strings.Join(want, ", "))
				}
			}
		}
	}
}

// TestPartitions spreads rows over three copies of an operator that drops some, and puts them back in order.
func TestPartitions(t *testing.T) {
	for seed := range int64(60) {
		rnd := rand.New(rand.NewSource(seed))
		delay := rnd.Int63n(4)
		splits := randomSplits(rnd, 1+rnd.Intn(3), 80, true)
		var want []string
		for _, row := range naiveOrder(splits, delay, NullKeep, false) {
			id, _, _ := strings.Cut(row, " ")
			if n, _ := strconv.Atoi(id); n%5 != 0 {
				want = append(want, row)
			}
		}
		mem := checked(t)
		drop := func() exec.Operator {
			return &fakeOp{batch: func(_ int, b stream.Batch, out exec.Output) error {
				sel := []int32{}
				for i := range b.Len() {
					if r := b.Row(i); b.Record.Column(0).(*array.Int64).Value(r)%5 != 0 {
						sel = append(sel, int32(r))
					}
				}
				b.Selection = sel
				return out.Emit(b)
			}}
		}
		for _, restore := range []bool{false, true} {
			for _, threads := range []int{1, 2} {
				var log []string
				var snap *Snapshot
				for {
					spread := &Exchange{ID: "spread", Schema: fakeSchema, Bounded: true, Keys: []int{0}}
					gather := &Exchange{ID: "gather", Schema: fakeSchema, Bounded: true}
					scan := namedScan("scan", &fakeSource{splits: splits, blockRows: 1 + rnd.Intn(20)}, delay, Target{Exchange: spread})
					scan.Source.NeedSeq = true
					g := &Graph{Tasks: []*Task{scan,
						{ID: "work", Partitions: 3, Inputs: []*Exchange{spread}, To: []Target{{Op: &Op{ID: "op", Name: "Drop", Inputs: 1, New: drop, To: []Target{{Exchange: gather}}}}}},
						{ID: "gather", Partitions: 1, Inputs: []*Exchange{gather}, Ordered: true, To: []Target{sinkTarget(&fakeSink{log: &log})}}}}
					o := Options{Threads: threads, BatchRows: []int{1, 7, 8192}[rnd.Intn(3)], Allocator: mem, Restore: snap}
					if restore {
						o.CheckpointAfterRows, o.StopAfterRows = 1+rnd.Int63n(40), true
					}
					j, err := Start(context.Background(), g, o)
					if err != nil {
						t.Fatal(err)
					}
					if err := j.Wait(); err != nil {
						t.Fatal(err)
					}
					next, err := j.RowCheckpoint(context.Background())
					if err != nil {
						t.Fatal(err)
					}
					snap.Release()
					if snap = next; snap == nil {
						break
					}
				}
				if !slices.Equal(log, want) {
					t.Fatalf("seed %d threads %d restore %t:\ngot  %s\nwant %s", seed, threads, restore, strings.Join(log, ", "), strings.Join(want, ", "))
				}
			}
		}
	}
}

// TestShuffle spreads rows by one column and then by another, which makes partitions wait for each other's progress: no wait is a circle, and the order
// comes out as it went in.
func TestShuffle(t *testing.T) {
	for seed := range int64(12) {
		rnd := rand.New(rand.NewSource(seed))
		splits := randomSplits(rnd, 2, 1500, false)
		want := naiveOrder(splits, 2, NullKeep, false)
		mem := checked(t)
		pass := func(id string, to Target) []Target {
			return []Target{{Op: &Op{ID: id, Name: "Pass", Inputs: 1, New: func() exec.Operator { return &fakeOp{} }, To: []Target{to}}}}
		}
		for _, restore := range []bool{false, true} {
			var log []string
			var snap *Snapshot
			for {
				var x []*Exchange
				for i, keys := range [][]int{{0}, {1}, nil} {
					x = append(x, &Exchange{ID: fmt.Sprint("x", i), Schema: fakeSchema, Bounded: true, Keys: keys})
				}
				scan := namedScan("scan", &fakeSource{splits: splits, blockRows: 1 + rnd.Intn(20)}, 2, Target{Exchange: x[0]})
				scan.Source.NeedSeq = true
				g := &Graph{Tasks: []*Task{scan,
					{ID: "first", Partitions: 3, Inputs: x[:1], To: pass("a", Target{Exchange: x[1]})},
					{ID: "second", Partitions: 4, Inputs: x[1:2], Ordered: true, To: pass("b", Target{Exchange: x[2]})},
					{ID: "gather", Partitions: 1, Inputs: x[2:], Ordered: true, To: []Target{sinkTarget(&fakeSink{log: &log})}}}}
				o := Options{Threads: 1 + rnd.Intn(3), BatchRows: []int{1, 7, 8192}[rnd.Intn(3)], Allocator: mem, Restore: snap}
				if restore {
					o.CheckpointAfterRows, o.StopAfterRows = 1+rnd.Int63n(1000), true
				}
				j, err := Start(context.Background(), g, o)
				if err != nil {
					t.Fatal(err)
				}
				if err := j.Wait(); err != nil {
					t.Fatal(err)
				}
				next, err := j.RowCheckpoint(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				snap.Release()
				if snap = next; snap == nil {
					break
				}
			}
			if !slices.Equal(log, want) {
				t.Fatalf("seed %d restore %t: %d rows, want %d", seed, restore, len(log), len(want))
			}
		}
	}
}

// TestPick chooses between lanes: "5/2" is a row at watermark 5, sequence 2, at hand; "5/2?" is a lower bound without a row; "x" has ended.
func TestPick(t *testing.T) {
	tests := []struct {
		lanes   string
		first   int
		certain bool
		second  int
	}{
		{"5/0", 0, true, -1},
		{"5/0 3/0", 1, true, 0},
		{"5/0 5/0", 0, true, 1},
		{"5/1 5/0", 1, true, 0},
		{"5/0 5/0?", 0, true, 1},  // the other comes behind on ties
		{"5/0? 5/0", 0, false, 1}, // the other could be first
		{"5/1? 5/0", 1, true, 0},  // no longer: its sequence is past
		{"6/0? 5/0", 1, true, 0},  // its watermark is past
		{"4/0? 5/0", 0, false, 1}, // it is behind
		{"x 5/0", 1, true, -1},    // finished is absent
		{"x x", -1, false, -1},    // the end
		{"7/0 x 6/0 6/1", 2, true, 3},
	}
	for _, tt := range tests {
		var lanes []lane
		for _, s := range strings.Fields(tt.lanes) {
			l := lane{ended: s == "x", has: !strings.HasSuffix(s, "?")}
			if !l.ended {
				if _, err := fmt.Sscanf(s, "%d/%d", &l.bound.Before, &l.bound.Seq); err != nil {
					t.Fatal(err)
				}
			}
			lanes = append(lanes, l)
		}
		first, certain, second := pick(lanes)
		if first != tt.first || certain != tt.certain || second != tt.second {
			t.Errorf("%s: got %d %t %d, want %d %t %d", tt.lanes, first, certain, second, tt.first, tt.certain, tt.second)
		}
	}
}

// TestArrival takes rows of unbounded inputs as they come, under their combined watermark; idle inputs have no say.
func TestArrival(t *testing.T) {
	ctx := context.Background()
	live := func() *fakeSource {
		return &fakeSource{blockRows: 5, splits: []*fakeSplit{{id: "a", live: true, ready: make(chan struct{}, 1)}}}
	}
	a, b := live(), live()
	xa, xb := &Exchange{ID: "xa", Schema: fakeSchema}, &Exchange{ID: "xb", Schema: fakeSchema}
	var log, wms []string
	op := &fakeOp{wm: func(wm stream.Time, out exec.Output) error { wms = append(wms, timeText(wm)); return out.Watermark(wm) }}
	g := &Graph{Tasks: []*Task{namedScan("a", a, 0, Target{Exchange: xa}), namedScan("b", b, 0, Target{Exchange: xb}),
		{ID: "u", Partitions: 1, Inputs: []*Exchange{xa, xb}, To: []Target{opTarget(op, sinkTarget(&fakeSink{log: &log}))}}}}
	j, err := Start(ctx, g, Options{Allocator: checked(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Cancel()
	step := func(f *fakeSource, rows ...fakeRow) {
		t.Helper()
		f.add(0, rows...)
		if err := j.Marker(ctx); err != nil {
			t.Fatal(err)
		}
	}
	step(a, fakeRow{id: 1, ts: 10})
	step(b, fakeRow{id: 2, ts: 5})
	step(a, fakeRow{id: 3, ts: 20})
	step(b, fakeRow{id: 4, ts: 30})
	step(b, fakeRow{id: 5, ts: 1})
	if want := []string{"1 10 <-", "2 5 <-", "3 20 <5", "4 30 <5", "5 1 <20"}; !slices.Equal(log, want) {
		t.Errorf("got %q, want %q", log, want)
	}
	if want := []string{"5", "20"}; !slices.Equal(wms, want) {
		t.Errorf("watermarks %q, want %q", wms, want)
	}
	// One ends: it is absent.
	b.mu.Lock()
	b.splits[0].live = false
	b.mu.Unlock()
	step(b)
	step(a, fakeRow{id: 6, ts: 40})
	if !slices.Equal(wms, []string{"5", "20", "40"}) {
		t.Errorf("watermarks %q", wms)
	}
}

// TestBackfill reads the bounded input to its end before the other, also when the other was first; a checkpoint in between keeps what waits.
func TestBackfill(t *testing.T) {
	ctx := context.Background()
	mem := checked(t)
	liveSource := &fakeSource{blockRows: 5, splits: []*fakeSplit{{id: "a", live: true, ready: make(chan struct{}, 1), rows: rowsOf(100, 3)}}}
	old := &fakeSource{blockRows: 5, splits: []*fakeSplit{{id: "b", live: true, ready: make(chan struct{}, 1), rows: rowsOf(1, 3)}}} // "live" until all is there
	var log []string
	start := func(snap *Snapshot) *Job {
		xa, xb := &Exchange{ID: "xa", Schema: fakeSchema}, &Exchange{ID: "xb", Schema: fakeSchema, Bounded: true}
		g := &Graph{Tasks: []*Task{namedScan("a", liveSource, 0, Target{Exchange: xa}), namedScan("b", old, 0, Target{Exchange: xb}),
			{ID: "u", Partitions: 1, Inputs: []*Exchange{xa, xb}, BoundedFirst: true, To: []Target{sinkTarget(&fakeSink{log: &log})}}}}
		j, err := Start(ctx, g, Options{Allocator: mem, Restore: snap})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Marker(ctx); err != nil {
			t.Fatal(err)
		}
		return j
	}
	j := start(nil)
	if len(log) != 3 || log[0] != "1 1 <-" {
		t.Errorf("got %q", log)
	}
	snap, err := j.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Release()
	j.Cancel()
	j = start(snap)
	old.mu.Lock()
	old.splits[0].rows = append(old.splits[0].rows, rowsOf(4, 2)...)
	old.splits[0].live = false
	old.mu.Unlock()
	old.add(0)
	if err := j.Marker(ctx); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, row := range log {
		id, _, _ := strings.Cut(row, " ")
		ids = append(ids, id)
	}
	if want := []string{"1", "2", "3", "4", "5", "100", "101", "102"}; !slices.Equal(ids, want) {
		t.Errorf("got %q, want %q", ids, want)
	}
	j.Cancel()
}
