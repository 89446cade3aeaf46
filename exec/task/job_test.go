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

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

func rowsOf(from, n int64) []fakeRow {
	var out []fakeRow
	for i := range n {
		out = append(out, fakeRow{id: from + i, ts: from + i})
	}
	return out
}

func opTarget(f *fakeOp, to ...Target) Target {
	return Target{Op: &Op{ID: "op", Name: "Fake", Inputs: 1, New: func() exec.Operator { return f }, To: to}}
}

// TestOrderOfCalls holds the calls of an operator against the contract.
func TestOrderOfCalls(t *testing.T) {
	var calls []string
	say := func(format string, a ...any) { calls = append(calls, fmt.Sprintf(format, a...)) }
	f := &fakeOp{
		batch: func(_ int, b stream.Batch, out exec.Output) error { say("batch %d", b.Len()); return out.Emit(b) },
		wm: func(wm stream.Time, out exec.Output) error {
			say("watermark %s", timeText(wm))
			return out.Watermark(wm)
		},
		end: func(in int, _ exec.Output) error { say("end %d", in); return nil },
		fin: func(exec.Output) error { say("finish"); return nil },
	}
	var log []string
	src := &fakeSource{blockRows: 2, splits: []*fakeSplit{{id: "a", rows: rowsOf(1, 4)}}}
	if err := finish(t, &Graph{Tasks: []*Task{scanOf(src, 0, opTarget(f, sinkTarget(&fakeSink{log: &log})))}}, Options{BatchRows: 2}); err != nil {
		t.Fatal(err)
	}
	want := []string{"batch 2", "watermark 2", "batch 2", "watermark 4", "end 0", "watermark end", "finish"}
	if !slices.Equal(calls, want) {
		t.Errorf("got %q, want %q", calls, want)
	}
}

// TestErrors checks that each failure ends the job with its own message and leaves nothing behind.
func TestErrors(t *testing.T) {
	tests := []struct {
		name   string
		change func(src *fakeSource, op *fakeOp, sink *fakeSink, s *Source)
		want   string
	}{
		{"reader", func(src *fakeSource, _ *fakeOp, _ *fakeSink, _ *Source) { src.splits[0].failAt = 7 }, "the disk is gone"},
		{"decoder panics", func(src *fakeSource, _ *fakeOp, _ *fakeSink, _ *Source) { src.splits[0].panicAt = 7 },
			"internal error in query q, operator Scan, partition 0: decoder bug"},
		{"operator fails", func(_ *fakeSource, op *fakeOp, _ *fakeSink, _ *Source) {
			op.batch = func(_ int, b stream.Batch, _ exec.Output) error { b.Release(); return errors.New("division by zero") }
		}, "division by zero"},
		{"operator panics", func(_ *fakeSource, op *fakeOp, _ *fakeSink, _ *Source) {
			op.batch = func(_ int, b stream.Batch, _ exec.Output) error { b.Release(); panic("index out of range") }
		}, "internal error in query q, operator Fake, partition 0: index out of range"},
		{"open fails", func(_ *fakeSource, op *fakeOp, _ *fakeSink, _ *Source) {
			op.open = func(*exec.Env, exec.StateReader) error { return errors.New("no room") }
		}, "no room"},
		{"finish fails", func(_ *fakeSource, op *fakeOp, _ *fakeSink, _ *Source) {
			op.fin = func(exec.Output) error { return errors.New("not at the end") }
		}, "not at the end"},
		{"sink fails", func(_ *fakeSource, _ *fakeOp, sink *fakeSink, _ *Source) { sink.failAt = 5 }, "the sink is full"},
		{"event time is NULL", func(src *fakeSource, _ *fakeOp, _ *fakeSink, _ *Source) {
			src.splits[0].rows[12] = fakeRow{null: true}
		}, "table t: event time column ts is NULL in row 13 of a: set 'scan.watermark.null-rows' to 'drop' or 'keep' to go on without it"},
		{"source does not open", func(_ *fakeSource, _ *fakeOp, _ *fakeSink, s *Source) {
			s.Open = func() (connectors.Source, error) { return nil, errors.New("no such file") }
		}, "no such file"},
	}
	for _, tt := range tests {
		for _, threads := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%d", tt.name, threads), func(t *testing.T) {
				src := &fakeSource{blockRows: 3, splits: []*fakeSplit{{id: "a", rows: rowsOf(1, 30)}}}
				op, sink := &fakeOp{}, &fakeSink{}
				task := scanOf(src, 0, opTarget(op, sinkTarget(sink)))
				tt.change(src, op, sink, task.Source)
				err := finish(t, &Graph{Tasks: []*Task{task}}, Options{Query: "q", Threads: threads, BatchRows: 2})
				if err == nil || err.Error() != tt.want {
					t.Errorf("got %v, want %s", err, tt.want)
				}
				if len(sink.committed) > 0 {
					t.Errorf("committed %q", sink.committed)
				}
			})
		}
	}
}

// TestMemoryLimit names who holds the memory.
func TestMemoryLimit(t *testing.T) {
	src := &fakeSource{blockRows: 1000, splits: []*fakeSplit{{id: "a", rows: rowsOf(1, 5000)}}}
	err := finish(t, &Graph{Tasks: []*Task{scanOf(src, 0, sinkTarget(&fakeSink{}))}}, Options{Budget: exec.NewBudget(1000)})
	var me *exec.MemoryError
	if !errors.As(err, &me) || !strings.Contains(err.Error(), "table t 16000 bytes") {
		t.Errorf("got %v", err)
	}
}

// TestEnough ends sources when nobody wants more rows, also behind an exchange and from an endless source.
func TestEnough(t *testing.T) {
	limit := func(n int) *fakeOp {
		return &fakeOp{batch: func(_ int, b stream.Batch, out exec.Output) error {
			take := min(n, b.Len())
			n -= take
			if take > 0 {
				if err := out.Emit(b.Slice(0, take)); err != nil {
					b.Release()
					return err
				}
			}
			b.Release()
			if n == 0 {
				return exec.ErrEnough
			}
			return nil
		}}
	}
	for _, live := range []bool{false, true} {
		for _, threads := range []int{1, 3} {
			var log []string
			src := &fakeSource{blockRows: 5, splits: []*fakeSplit{{id: "a", rows: rowsOf(1, 2000), live: live, ready: make(chan struct{}, 1)}}}
			g := &Graph{Tasks: []*Task{scanOf(src, 0, opTarget(limit(7), sinkTarget(&fakeSink{log: &log})))}}
			if err := finish(t, g, Options{BatchRows: 4, Threads: threads}); err != nil {
				t.Fatal(err)
			}
			if len(log) != 7 {
				t.Errorf("live %t threads %d: %d rows", live, threads, len(log))
			}
			// Behind an exchange; the source has nothing more when the limit is reached.
			log = nil
			src = &fakeSource{blockRows: 5, splits: []*fakeSplit{{id: "a", rows: rowsOf(1, 20), live: live, ready: make(chan struct{}, 1)}}}
			x := &Exchange{ID: "x", Schema: fakeSchema, Bounded: !live}
			scan := scanOf(src, 0, Target{Exchange: x})
			g = &Graph{Tasks: []*Task{scan, {ID: "t2", Partitions: 1, Inputs: []*Exchange{x}, To: []Target{opTarget(limit(17), sinkTarget(&fakeSink{log: &log}))}}}}
			if err := finish(t, g, Options{BatchRows: 4, Threads: threads}); err != nil {
				t.Fatal(err)
			}
			if len(log) != 17 {
				t.Errorf("exchange, live %t threads %d: %d rows", live, threads, len(log))
			}
		}
	}
}

// TestCancel cancels at random moments: nothing is left, whatever was under way.
func TestCancel(t *testing.T) {
	for seed := range int64(60) {
		rnd := rand.New(rand.NewSource(seed))
		var splits []*fakeSplit
		for i := range 3 {
			splits = append(splits, &fakeSplit{id: fmt.Sprint(i), rows: rowsOf(int64(i), 3000)})
		}
		src := &fakeSource{blockRows: 20, splits: splits}
		n, at := 0, rnd.Intn(6000)
		trip := make(chan struct{})
		op := &fakeOp{batch: func(_ int, b stream.Batch, out exec.Output) error {
			if n += b.Len(); n-b.Len() <= at && n > at {
				close(trip)
			}
			return out.Emit(b)
		}}
		x := &Exchange{ID: "x", Schema: fakeSchema, Bounded: true}
		g := &Graph{Tasks: []*Task{scanOf(src, 3, Target{Exchange: x}),
			{ID: "t2", Partitions: 1, Inputs: []*Exchange{x}, To: []Target{opTarget(op, sinkTarget(&fakeSink{}))}}}}
		j, err := Start(context.Background(), g, Options{Threads: 1 + rnd.Intn(3), BatchRows: 16, Allocator: checked(t)})
		if err != nil {
			t.Fatal(err)
		}
		<-trip
		j.Cancel()
		if err := j.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// counter counts rows, and gives the count with each watermark; its state is the count.
func counter() *fakeOp {
	n := int64(0)
	f := &fakeOp{}
	f.open = func(_ *exec.Env, from exec.StateReader) error {
		if from != nil {
			for _, r := range from.Table("n") {
				n = r.Column(0).(*array.Int64).Value(0)
			}
		}
		return nil
	}
	f.batch = func(_ int, b stream.Batch, out exec.Output) error {
		n += int64(b.Len())
		return out.Emit(b)
	}
	f.snap = func(to exec.StateWriter) error {
		b := array.NewInt64Builder(f.env.Allocator)
		defer b.Release()
		b.Append(n)
		a := b.NewArray()
		defer a.Release()
		rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil), []arrow.Array{a}, 1)
		defer rec.Release()
		return to.Table("n", 1, rec)
	}
	f.fin = func(out exec.Output) error {
		b := array.NewRecordBuilder(f.env.Allocator, fakeSchema)
		defer b.Release()
		b.Field(0).(*array.Int64Builder).Append(n)
		b.Field(1).AppendNull()
		return out.Emit(stream.Batch{Record: b.NewRecordBatch()})
	}
	return f
}

// TestLive feeds a running job, looks at it between, checkpoints it, and goes on from the checkpoint.
func TestLive(t *testing.T) {
	mem := checked(t)
	ctx := context.Background()
	src := &fakeSource{blockRows: 5, splits: []*fakeSplit{{id: "a", live: true, ready: make(chan struct{}, 1)}, {id: "b", live: true, ready: make(chan struct{}, 1)}}}
	var log []string
	start := func(restore *Snapshot) (*Job, *fakeSink) {
		sink := &fakeSink{log: &log}
		j, err := Start(ctx, &Graph{Tasks: []*Task{scanOf(src, 1, opTarget(counter(), sinkTarget(sink)))}}, Options{Allocator: mem, Restore: restore, Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		return j, sink
	}
	expect := func(want ...string) {
		t.Helper()
		if !slices.Equal(log, want) {
			t.Fatalf("got %q, want %q", log, want)
		}
		log = nil
	}
	j, sink := start(nil)
	marker := func() {
		t.Helper()
		if err := j.Marker(ctx); err != nil {
			t.Fatal(err)
		}
	}
	src.add(0, fakeRow{id: 1, ts: 10}, fakeRow{id: 2, ts: 20})
	marker()
	expect("1 10 <-", "2 20 <-")
	src.add(1, fakeRow{id: 3, ts: 15})
	marker()
	expect("3 15 <-")
	src.add(0, fakeRow{id: 4, ts: 30})
	marker()
	expect("4 30 <14")
	st, err := j.Stats(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(st.Sources) != 1 || st.Sources[0].Watermark != 14 || st.Sources[0].Splits[0].Watermark != 29 || st.Sources[0].Splits[1].Rows != 1 {
		t.Errorf("sources %+v", st.Sources)
	}
	for _, o := range st.Operators {
		if o.ID == "op" && (o.StateRows != 1 || o.Counters["rows_in"] != 4) {
			t.Errorf("operator %+v", o)
		}
	}
	if len(sink.committed) != 0 {
		t.Errorf("looking committed %q", sink.committed)
	}
	snap, err := j.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	marker() // behind it the sink has committed
	src.add(0, fakeRow{id: 5, ts: 40})
	marker()
	expect("5 40 <14")
	j.Cancel()
	if err := j.Wait(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := j.Checkpoint(ctx); !errors.Is(err, ErrEnded) {
		t.Errorf("checkpoint of a job that has ended: %v", err)
	}
	// The row behind the checkpoint is read again, under the watermark that was restored.
	j, _ = start(snap)
	marker()
	expect("5 40 <14")
	src.add(1, fakeRow{id: 6, ts: 50})
	src.add(0, fakeRow{id: 7, ts: 60})
	marker()
	slices.Sort(log) // the order of arrival is input
	if len(log) != 2 || !strings.HasPrefix(log[0], "6 50 <14") {
		t.Errorf("got %q", log)
	}
	log = nil
	src.mu.Lock()
	for _, s := range src.splits {
		s.live = false
	}
	src.mu.Unlock()
	src.add(0)
	src.add(1)
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	expect("7 (null)")
	snap.Release()
}

// TestStop ends a job behind a snapshot without ending its input.
func TestStop(t *testing.T) {
	ended := false
	op := &fakeOp{end: func(int, exec.Output) error { ended = true; return nil }}
	src := &fakeSource{blockRows: 5, splits: []*fakeSplit{{id: "a", live: true, ready: make(chan struct{}, 1), rows: rowsOf(1, 3)}}}
	sink := &fakeSink{}
	j, err := Start(context.Background(), &Graph{Tasks: []*Task{scanOf(src, 0, opTarget(op, sinkTarget(sink)))}}, Options{Allocator: checked(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Marker(context.Background()); err != nil {
		t.Fatal(err)
	}
	snap, err := j.Stop(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Release()
	if err := j.Wait(); err != nil || ended {
		t.Errorf("ended %t, %v", ended, err)
	}
	if got := snap.Tasks["scan/0"].Source.Splits[0]; got.Rows != 3 || got.Watermark != 3 {
		t.Errorf("%+v", got)
	}
	if len(sink.committed) != 1 {
		t.Errorf("committed %q", sink.committed)
	}
}

// TestTimers fires timers one due time at a time and keeps them over a restore.
func TestTimers(t *testing.T) {
	ctx := context.Background()
	mem := checked(t)
	start := time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)
	clock := NewVirtualClock(start)
	var fired []string
	timerOp := func() *fakeOp {
		f := &fakeOp{}
		f.batch = func(_ int, b stream.Batch, out exec.Output) error {
			for i := range b.Len() {
				f.env.Timer(f.env.Clock.Now().Add(time.Duration(b.Record.Column(0).(*array.Int64).Value(b.Row(i))) * time.Second))
			}
			b.Release()
			return nil
		}
		f.timer = func(at time.Time, out exec.Output) error {
			fired = append(fired, fmt.Sprintf("%v at %v", at.Sub(start), f.env.Clock.Now().Sub(start)))
			if at.Sub(start) == 3*time.Second {
				f.env.Timer(at.Add(time.Second))
			}
			return nil
		}
		return f
	}
	src := &fakeSource{blockRows: 5, splits: []*fakeSplit{{id: "a", live: true, ready: make(chan struct{}, 1)}}}
	run := func(snap *Snapshot) *Job {
		j, err := Start(ctx, &Graph{Tasks: []*Task{scanOf(src, 0, opTarget(timerOp(), sinkTarget(&fakeSink{})))}}, Options{Allocator: mem, Clock: clock, Restore: snap})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	j := run(nil)
	src.add(0, fakeRow{id: 3, ts: 1}, fakeRow{id: 1, ts: 1}, fakeRow{id: 20, ts: 1})
	if err := clock.Advance(ctx, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if want := []string{"1s at 1s", "3s at 3s", "4s at 4s"}; !slices.Equal(fired, want) {
		t.Errorf("got %q, want %q", fired, want)
	}
	snap, err := j.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Release()
	j.Cancel()
	fired = nil
	j = run(snap)
	if err := clock.Advance(ctx, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if want := []string{"20s at 20s"}; !slices.Equal(fired, want) {
		t.Errorf("got %q, want %q", fired, want)
	}
	j.Cancel()
}

// TestIdle marks a silent split idle after its timeout, by the virtual clock; the rows that wake it up are judged by the watermark it finds.
func TestIdle(t *testing.T) {
	ctx := context.Background()
	clock := NewVirtualClock(time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC))
	src := &fakeSource{blockRows: 5, splits: []*fakeSplit{{id: "a", live: true, ready: make(chan struct{}, 1)}, {id: "b", live: true, ready: make(chan struct{}, 1)}}}
	var log, wms []string
	op := &fakeOp{wm: func(wm stream.Time, out exec.Output) error { wms = append(wms, timeText(wm)); return out.Watermark(wm) }}
	task := scanOf(src, 0, opTarget(op, sinkTarget(&fakeSink{log: &log})))
	task.Source.IdleTimeout = 5 * time.Second
	j, err := Start(ctx, &Graph{Tasks: []*Task{task}}, Options{Allocator: checked(t), Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Cancel()
	step := func(f func()) {
		t.Helper()
		f()
		if err := j.Marker(ctx); err != nil {
			t.Fatal(err)
		}
	}
	step(func() { src.add(0, fakeRow{id: 1, ts: 10}) })
	if err := clock.Advance(ctx, 4*time.Second); err != nil {
		t.Fatal(err)
	}
	step(func() { src.add(0, fakeRow{id: 2, ts: 20}) })
	if len(wms) != 0 {
		t.Errorf("watermarks %q before the silent split is idle", wms)
	}
	if err := clock.Advance(ctx, 2*time.Second); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(wms, []string{"20"}) {
		t.Errorf("watermarks %q", wms)
	}
	step(func() { src.add(1, fakeRow{id: 3, ts: 5}) })  // wakes up behind
	step(func() { src.add(0, fakeRow{id: 4, ts: 40}) }) // held
	step(func() { src.add(1, fakeRow{id: 5, ts: 25}) }) // caught up
	if !slices.Equal(wms, []string{"20", "25"}) {
		t.Errorf("watermarks %q", wms)
	}
	if want := []string{"1 10 <-", "2 20 <-", "3 5 <20", "4 40 <20", "5 25 <20"}; !slices.Equal(log, want) {
		t.Errorf("got %q, want %q", log, want)
	}
}

// TestPeriodic sends watermarks by the clock, and judges rows by the last one sent.
func TestPeriodic(t *testing.T) {
	ctx := context.Background()
	clock := NewVirtualClock(time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC))
	src := &fakeSource{blockRows: 5, splits: []*fakeSplit{{id: "a", live: true, ready: make(chan struct{}, 1)}}}
	var log, wms []string
	op := &fakeOp{wm: func(wm stream.Time, out exec.Output) error { wms = append(wms, timeText(wm)); return out.Watermark(wm) }}
	task := scanOf(src, 0, opTarget(op, sinkTarget(&fakeSink{log: &log})))
	task.Source.Interval = 200 * time.Millisecond
	j, err := Start(ctx, &Graph{Tasks: []*Task{task}}, Options{Allocator: checked(t), Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Cancel()
	src.add(0, fakeRow{id: 1, ts: 10}, fakeRow{id: 2, ts: 20})
	if err := clock.Advance(ctx, 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if len(wms) != 0 {
		t.Errorf("watermarks %q before the interval is over", wms)
	}
	if err := clock.Advance(ctx, 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	src.add(0, fakeRow{id: 3, ts: 5}, fakeRow{id: 4, ts: 30})
	if err := clock.Advance(ctx, time.Second); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(wms, []string{"20", "30"}) {
		t.Errorf("watermarks %q", wms)
	}
	if want := []string{"1 10 <-", "2 20 <-", "3 5 <20", "4 30 <20"}; !slices.Equal(log, want) {
		t.Errorf("got %q, want %q", log, want)
	}
}

// TestManySplits keeps few of many splits open at once.
func TestManySplits(t *testing.T) {
	src := &fakeSource{blockRows: 4}
	for i := range int64(500) {
		src.splits = append(src.splits, &fakeSplit{id: fmt.Sprint(i), rows: rowsOf((499-i)*100, 9)})
	}
	for _, threads := range []int{1, 4} {
		var log []string
		src.maxOpen = 0
		if err := finish(t, &Graph{Tasks: []*Task{scanOf(src, 5, sinkTarget(&fakeSink{log: &log}))}}, Options{Threads: threads}); err != nil {
			t.Fatal(err)
		}
		if len(log) != 4500 || !strings.HasPrefix(log[0], "0 0 ") || !strings.HasPrefix(log[4499], "49908 ") {
			t.Errorf("%d rows, %s ... %s", len(log), log[0], log[len(log)-1])
		}
		if src.maxOpen > 4 {
			t.Errorf("threads %d: %d splits open at once", threads, src.maxOpen)
		}
	}
	for i := range int64(20) {
		src.splits[i].rows = rowsOf(i, 100)
	}
	task := scanOf(src, 5, sinkTarget(&fakeSink{}))
	task.Source.MaxOpenSplits = 8
	err := finish(t, &Graph{Tasks: []*Task{task}}, Options{})
	if err == nil || !strings.Contains(err.Error(), "weir.scan.max-open-splits") {
		t.Errorf("got %v", err)
	}
}

// TestMarkersAtTheEnd sends markers without pause: the job ends all the same.
func TestMarkersAtTheEnd(t *testing.T) {
	for range 50 {
		src := &fakeSource{blockRows: 5, splits: []*fakeSplit{{id: "a", rows: rowsOf(1, 20)}}}
		j, err := Start(context.Background(), &Graph{Tasks: []*Task{scanOf(src, 0, sinkTarget(&fakeSink{}))}}, Options{Allocator: checked(t)})
		if err != nil {
			t.Fatal(err)
		}
		for {
			if err := j.Marker(context.Background()); err != nil {
				t.Fatal(err)
			}
			select {
			case <-j.Done():
			default:
				continue
			}
			break
		}
		if err := j.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestJump moves the virtual clock to its next timer whenever the job waits, until it is through.
func TestJump(t *testing.T) {
	start := time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)
	clock := NewVirtualClock(start)
	src := &pacedSource{fakeSource: &fakeSource{blockRows: 1, splits: []*fakeSplit{{id: "a", rows: rowsOf(1, 5)}}}, clock: clock}
	var log []string
	task := scanOf(src.fakeSource, 0, sinkTarget(&fakeSink{log: &log}))
	task.Source.Open = func() (connectors.Source, error) { return src, nil }
	if err := finish(t, &Graph{Tasks: []*Task{task}}, Options{Clock: clock, Jump: true}); err != nil {
		t.Fatal(err)
	}
	if len(log) != 5 {
		t.Errorf("rows %q", log)
	}
	if d := clock.Now().Sub(start); d != 6*time.Hour { // the end of the split takes its hour too
		t.Errorf("the clock moved by %v, want 6h", d)
	}
}

// pacedSource gives a row an hour.
type pacedSource struct {
	*fakeSource
	clock *VirtualClock
}

func (p *pacedSource) Open(ctx context.Context, env *connectors.Env, sp connectors.Split, from connectors.Position, n int) (connectors.Reader, error) {
	r, err := p.fakeSource.Open(ctx, env, sp, from, n)
	return &pacedReader{Reader: r, clock: p.clock, due: p.clock.Now().Add(time.Hour), ready: make(chan struct{}, 1)}, err
}

type pacedReader struct {
	connectors.Reader
	clock  *VirtualClock
	due    time.Time
	ready  chan struct{}
	cancel func()
}

func (r *pacedReader) Ready() <-chan struct{} { return r.ready }

func (r *pacedReader) Next(ctx context.Context) (connectors.Block, error) {
	if now := r.clock.Now(); now.Before(r.due) {
		if r.cancel == nil {
			_, r.cancel = r.clock.After(r.due.Sub(now))
		}
		return connectors.Block{}, connectors.ErrNotReady
	}
	r.due, r.cancel = r.due.Add(time.Hour), nil
	return r.Reader.Next(ctx)
}
