package task

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

// naiveOrder computes what a source of bounded splits gives, row by row, straight from the rule.
func naiveOrder(splits []*fakeSplit, delay int64, policy NullPolicy, bySplit bool) []string {
	type state struct {
		rows    []fakeRow
		wm      stream.Time
		first   stream.Time
		started bool
	}
	mark := func(r fakeRow) stream.Time {
		if r.null {
			return stream.MinTime
		}
		return stream.Time(r.ts - delay)
	}
	var all []*state
	for _, s := range splits {
		st := &state{wm: stream.MinTime, first: stream.MinTime}
		for _, r := range s.rows {
			if r.bad || r.null && policy == NullDrop {
				continue
			}
			st.rows = append(st.rows, r)
		}
		if len(st.rows) > 0 && len(splits) > 1 {
			st.first = mark(st.rows[0]).Add(-1)
		}
		all = append(all, st)
	}
	contribution := func(s *state) stream.Time {
		if s.started {
			return s.wm
		}
		return s.first
	}
	var out []string
	w := stream.MinTime
	for n := 0; ; n++ {
		var next *state
		low := stream.MaxTime
		for _, s := range all {
			if len(s.rows) == 0 {
				continue
			}
			c := contribution(s)
			low = min(low, c)
			if next == nil || !bySplit && c < contribution(next) {
				next = s
			}
		}
		if next == nil {
			return out
		}
		if n > 0 {
			w = max(w, low)
		}
		r := next.rows[0]
		next.rows = next.rows[1:]
		next.started = true
		next.wm = max(next.wm, mark(r))
		ts := fmt.Sprint(r.ts)
		if r.null {
			ts = "(null)"
		}
		out = append(out, fmt.Sprintf("%d %s <%s", r.id, ts, timeText(w)))
	}
}

// randomSplits makes splits with uneven, overlapping times, ties, late rows, NULLs and bad records.
func randomSplits(rnd *rand.Rand, n, rows int, nulls bool) []*fakeSplit {
	var out []*fakeSplit
	id := int64(0)
	for i := range n {
		s := &fakeSplit{id: fmt.Sprintf("s%d", i)}
		at := rnd.Int63n(50)
		for range rnd.Intn(rows + 1) {
			at += rnd.Int63n(5)
			r := fakeRow{id: id, ts: at - rnd.Int63n(4)}
			if rnd.Intn(20) == 0 {
				r.ts -= 40
			}
			if nulls && rnd.Intn(10) == 0 {
				r.null, r.ts = true, 0
			}
			r.bad = rnd.Intn(12) == 0
			id++
			s.rows = append(s.rows, r)
		}
		out = append(out, s)
	}
	return out
}

// TestSourceOrder holds the source against the row by row rule, over threads, batch sizes and block sizes.
func TestSourceOrder(t *testing.T) {
	for seed := range int64(40) {
		rnd := rand.New(rand.NewSource(seed))
		n := 1 + rnd.Intn(6)
		policy := []NullPolicy{NullKeep, NullDrop}[rnd.Intn(2)]
		bySplit := rnd.Intn(4) == 0
		delay := rnd.Int63n(6)
		splits := randomSplits(rnd, n, 60, true)
		want := naiveOrder(splits, delay, policy, bySplit)
		bad, nulls := int64(0), int64(0)
		for _, s := range splits {
			for _, r := range s.rows {
				if r.bad {
					bad++
				} else if r.null && policy == NullDrop {
					nulls++
				}
			}
		}
		for _, threads := range []int{1, 2, 8} {
			for _, batch := range []int{1, 7, 8192} {
				f := &fakeSource{splits: splits, blockRows: 1 + rnd.Intn(20)}
				var log []string
				task := scanOf(f, delay, sinkTarget(&fakeSink{log: &log}))
				task.Source.NullRows = policy
				if bySplit {
					task.Source.Order = OrderSplit
				}
				j, err := Start(context.Background(), &Graph{Tasks: []*Task{task}}, Options{Threads: threads, BatchRows: batch, Allocator: checked(t)})
				if err != nil {
					t.Fatal(err)
				}
				if err := j.Wait(); err != nil {
					t.Fatalf("seed %d threads %d batch %d: %v", seed, threads, batch, err)
				}
				if !slices.Equal(log, want) {
					t.Fatalf("seed %d threads %d batch %d block %d:\ngot  %s\nwant %s", seed, threads, batch, f.blockRows, strings.Join(log, ", "),
						strings.Join(want, ", "))
				}
				for _, o := range j.Counters() {
					if o.ID == "scan" && (o.Counters["bad_rows"] != bad || o.Counters["null_time_rows"] != nulls || o.Counters["rows_in"] != int64(len(want))) {
						t.Errorf("seed %d: counters %v, want %d bad, %d without time, %d rows", seed, o.Counters, bad, nulls, len(want))
					}
				}
			}
		}
	}
}

// TestSourceRestore stops at random rows and goes on from the snapshot, several times over: rows, watermarks and counters are as if it had never
// stopped.
func TestSourceRestore(t *testing.T) {
	for seed := range int64(40) {
		rnd := rand.New(rand.NewSource(seed))
		delay := rnd.Int63n(6)
		splits := randomSplits(rnd, 1+rnd.Intn(5), 50, true)
		want := naiveOrder(splits, delay, NullDrop, false)
		bad, nulls := int64(0), int64(0)
		for _, s := range splits {
			for _, r := range s.rows {
				if r.bad {
					bad++
				} else if r.null {
					nulls++
				}
			}
		}
		mem := checked(t)
		var log []string
		var snap *Snapshot
		for runs := 0; ; runs++ {
			f := &fakeSource{splits: splits, blockRows: 1 + rnd.Intn(20)}
			task := scanOf(f, delay, sinkTarget(&fakeSink{log: &log}))
			task.Source.NullRows = NullDrop
			j, err := Start(context.Background(), &Graph{Tasks: []*Task{task}}, Options{Threads: 1 + rnd.Intn(3), BatchRows: []int{1, 3, 8192}[rnd.Intn(3)],
				Allocator: mem, Restore: snap, CheckpointAfterRows: 1 + rnd.Int63n(30), StopAfterRows: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := j.Wait(); err != nil {
				t.Fatalf("seed %d run %d: %v", seed, runs, err)
			}
			next, err := j.RowCheckpoint(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			snap.Release()
			snap = next
			if snap == nil {
				for _, o := range j.Counters() {
					if o.ID == "scan" && (o.Counters["bad_rows"] != bad || o.Counters["null_time_rows"] != nulls || o.Counters["rows_in"] != int64(len(want))) {
						t.Errorf("seed %d: counters %v, want %d bad, %d without time, %d rows", seed, o.Counters, bad, nulls, len(want))
					}
				}
				break
			}
		}
		if !slices.Equal(log, want) {
			t.Fatalf("seed %d:\ngot  %s\nwant %s", seed, strings.Join(log, ", "), strings.Join(want, ", "))
		}
	}
}

// TestSourceWatermarks takes the marks that the source vouches for, behind the rows of their block.
func TestSourceWatermarks(t *testing.T) {
	src := &fakeSource{blockRows: 10, splits: []*fakeSplit{
		{id: "a", rows: []fakeRow{{id: 1, ts: 10}, {id: 2, ts: 11}, {id: 3, ts: 4}}, marks: map[int]stream.Time{1: 9, 2: 12}},
		{id: "b", rows: []fakeRow{{id: 4, ts: 20}, {id: 5, ts: 3}}, marks: map[int]stream.Time{0: 5}},
	}}
	for _, threads := range []int{1, 2} {
		var log []string
		task := scanOf(src, 0, sinkTarget(&fakeSink{log: &log}))
		task.Source.NewPreparer = func() Preparer { return noMarks{} }
		if err := finish(t, &Graph{Tasks: []*Task{task}}, Options{Threads: threads}); err != nil {
			t.Fatal(err)
		}
		// The lowest split goes first; b has said nothing yet when a is at 9.
		if want := []string{"1 10 <-", "2 11 <-", "4 20 <-", "5 3 <5", "3 4 <9"}; !slices.Equal(log, want) {
			t.Errorf("got %q, want %q", log, want)
		}
	}
}

// noMarks knows event times but no watermark expression.
type noMarks struct{ fakeTimes }

func (n noMarks) Times(ctx context.Context, rec arrow.RecordBatch, event, mark []stream.Time) error {
	err := n.fakeTimes.Times(ctx, rec, event, mark)
	for i := range mark {
		mark[i] = stream.MinTime
	}
	return err
}

// TestLateNeed leaves Before out of batches in which no row can be late, and only of those.
func TestLateNeed(t *testing.T) {
	src := &fakeSource{blockRows: 2, splits: []*fakeSplit{{id: "a", rows: []fakeRow{{id: 1, ts: 10}, {id: 2, ts: 11}, {id: 3, ts: 14}, {id: 4, ts: 4}, {id: 5, ts: 20},
		{id: 6, ts: 17}, {id: 7, ts: 19}, {id: 8, ts: 18}}}}}
	var log []string
	task := scanOf(src, 2, sinkTarget(&fakeSink{log: &log}))
	task.Source.Need = NeedLate
	if err := finish(t, &Graph{Tasks: []*Task{task}}, Options{BatchRows: 2}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"1 10", "2 11", "3 14 <9", "4 4 <12", "5 20 <12", "6 17 <18", "7 19 <18", "8 18 <18"}; !slices.Equal(log, want) {
		t.Errorf("got %q, want %q", log, want)
	}
}

// TestBadRecords are offered once and in order, with a restore in between too.
func TestBadRecords(t *testing.T) {
	rows := []fakeRow{{bad: true}, {id: 1, ts: 1}, {bad: true}, {bad: true}, {id: 2, ts: 2}, {id: 3, ts: 3}, {bad: true}}
	for stop := int64(1); stop <= 4; stop++ {
		var got []int64
		var snap *Snapshot
		mem := checked(t)
		for {
			src := &fakeSource{blockRows: 4, splits: []*fakeSplit{{id: "a", rows: rows}}}
			task := scanOf(src, 0, sinkTarget(&fakeSink{}))
			task.Source.OnBad = func(b connectors.BadRecord) error { got = append(got, b.Position); return nil }
			j, err := Start(context.Background(), &Graph{Tasks: []*Task{task}}, Options{Allocator: mem, Restore: snap, CheckpointAfterRows: stop, StopAfterRows: true})
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
		if want := []int64{1, 3, 4, 7}; !slices.Equal(got, want) {
			t.Errorf("stop every %d rows: got %v, want %v", stop, got, want)
		}
	}
}

// TestStepsRestored: the watermarks that an ordered source tells behind each row (NeedSteps) are the same over stops at any row, also one behind the last row
// of a split, which does not know yet that it was the last.
func TestStepsRestored(t *testing.T) {
	for seed := range int64(40) {
		rnd := rand.New(rand.NewSource(seed))
		splits := randomSplits(rnd, 2+rnd.Intn(4), 12, true)
		rows := 0
		for _, s := range splits {
			rows += len(s.rows)
		}
		mem := checked(t)
		run := func(stops ...int64) []stream.Time {
			var told []stream.Time
			var snap *Snapshot
			for {
				o := Options{Threads: 1 + rnd.Intn(3), Allocator: mem, Restore: snap}
				if len(stops) > 0 {
					o.CheckpointAfterRows, o.StopAfterRows = stops[0], true
					stops = stops[1:]
				}
				drop := &Op{ID: "drop", Name: "Drop", Inputs: 1, New: func() exec.Operator {
					return &fakeOp{batch: func(_ int, b stream.Batch, _ exec.Output) error { b.Release(); return nil },
						wm: func(wm stream.Time, out exec.Output) error {
							if n := len(told); n == 0 || told[n-1] < wm { // the last one may be told again behind a restore
								told = append(told, wm)
							}
							return out.Watermark(wm)
						}}
				}, To: []Target{sinkTarget(&fakeSink{})}}
				task := scanOf(&fakeSource{splits: splits, blockRows: 1 + rnd.Intn(5)}, 2, Target{Op: drop})
				task.Source.Need, task.Source.NullRows = NeedSteps, NullDrop
				j, err := Start(context.Background(), &Graph{Tasks: []*Task{task}}, o)
				if err != nil {
					t.Fatal(err)
				}
				if err := j.Wait(); err != nil {
					t.Fatal(err)
				}
				snap.Release()
				if snap, err = j.RowCheckpoint(context.Background()); err != nil {
					t.Fatal(err)
				}
				if snap == nil {
					return told
				}
			}
		}
		want := run()
		for stop := range int64(rows) {
			if got := run(stop + 1); !slices.Equal(got, want) {
				t.Fatalf("seed %d, stop behind row %d:\ngot  %d\nwant %d", seed, stop+1, got, want)
			}
		}
	}
}
