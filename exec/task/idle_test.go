package task

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/watermark"
	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

// slowSink has the clock move while it writes a row of some id, as a full sink does.
type slowSink struct {
	fakeSink
	write func(id int64)
}

func (s *slowSink) Write(ctx context.Context, b stream.Batch) error {
	for i := range b.Len() {
		var id int64
		_, _ = fmt.Sscan(b.Record.Column(0).ValueStr(b.Row(i)), &id)
		s.write(id)
	}
	return s.fakeSink.Write(ctx, b)
}

// TestBackpressureIsNotSilence: for as long as a full sink holds the task up, the clocks of idleness and of generators stand still: rows may be waiting.
func TestBackpressureIsNotSilence(t *testing.T) {
	ctx := context.Background()
	clock := NewVirtualClock(time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC))
	src := &fakeSource{blockRows: 5, splits: []*fakeSplit{{id: "a", live: true, ready: make(chan struct{}, 1)}, {id: "b", live: true, ready: make(chan struct{}, 1)}}}
	var log, wms []string
	sink := &slowSink{fakeSink: fakeSink{log: &log}, write: func(id int64) {
		if id == 2 { // half a minute, in which split b has got a row
			clock.mu.Lock()
			clock.now = clock.now.Add(30 * time.Second)
			clock.mu.Unlock()
			src.add(1, fakeRow{id: 3, ts: 5})
		}
	}}
	to := Target{Sink: &Sink{ID: "sink", Name: "slow", New: func() (connectors.Sink, error) { return sink, nil }}}
	op := &fakeOp{wm: func(wm stream.Time, out exec.Output) error { wms = append(wms, timeText(wm)); return out.Watermark(wm) }}
	task := scanOf(src, 0, opTarget(op, to))
	task.Source.IdleTimeout = 5 * time.Second
	var elapsed []time.Duration
	task.Source.Generator = func() (watermark.Generator, error) { return &clockLog{calls: &elapsed}, nil }
	task.Source.Every = time.Second
	g := &Graph{Tasks: []*Task{task}}
	j, err := Start(ctx, g, Options{Allocator: checked(t), Clock: clock, BatchRows: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Cancel()
	step := func(d time.Duration, rows ...fakeRow) {
		t.Helper()
		if len(rows) > 0 {
			src.add(0, rows...)
		}
		if err := j.Marker(ctx); err != nil {
			t.Fatal(err)
		}
		if err := clock.Advance(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	step(3*time.Second, fakeRow{id: 1, ts: 10})
	step(0, fakeRow{id: 2, ts: 20})
	if len(wms) > 0 && wms[0] != "5" {
		t.Errorf("watermarks %q: the silent split was passed over although its row was waiting", wms)
	}
	step(time.Second)
	if !slices.Equal(wms, []string{"5"}) {
		t.Errorf("watermarks %q", wms)
	}
	if last := elapsed[len(elapsed)-1]; last != 4*time.Second {
		t.Errorf("the generator's clock is at %s, want 4 s: %s", last, elapsed)
	}
	step(5 * time.Second)
	if !slices.Equal(wms, []string{"5"}) {
		t.Errorf("watermarks %q: all are idle, and it stays", wms)
	}
	step(0, fakeRow{id: 4, ts: 30})
	if !slices.Equal(wms, []string{"5", "30"}) {
		t.Errorf("watermarks %q", wms)
	}
	if want := []string{"1 10 <-", "2 20 <-", "3 5 <-", "4 30 <5"}; !slices.Equal(log, want) {
		t.Errorf("got %q, want %q", log, want)
	}
}

// clockLog is an ascending generator that goes by the clock and notes what it shows.
type clockLog struct {
	elapsed func() time.Duration
	calls   *[]time.Duration
	row     bool
}

func (c *clockLog) UseClock(elapsed func() time.Duration) { c.elapsed = elapsed }
func (c *clockLog) OnEvent(event stream.Time, emit func(stream.Time)) {
	emit(event)
	c.row = true
}
func (c *clockLog) OnPeriodicEmit(func(stream.Time)) {
	if !c.row {
		*c.calls = append(*c.calls, c.elapsed())
	}
	c.row = false
}

// TestWriterIsHeldUp: the time for which an exchange is full counts as held up.
func TestWriterIsHeldUp(t *testing.T) {
	clock := NewVirtualClock(time.UnixMilli(0).UTC())
	c := &chain{job: &Job{o: Options{Clock: clock}}}
	box := newInbox(make(chan struct{}, 1), exec.NewAccount("x", nil), 1)
	w := newWriter(c, &Exchange{})
	w.connect([]*channel{box.add(0)})
	rows := func(n int) stream.Batch {
		return decodeFake(checked(t), make([]fakeRow, n), "a", 0, false).Batch
	}
	if err := w.batch(context.Background(), 0, rows(100)); err != nil || c.blocked != 0 {
		t.Fatal(err, c.blocked)
	}
	begun := make(chan bool, 2)
	c.blocks = func(on bool) { begun <- on }
	done := make(chan error)
	go func() { done <- w.batch(context.Background(), 0, rows(1)) }()
	<-begun
	clock.mu.Lock()
	clock.now = clock.now.Add(time.Minute)
	clock.mu.Unlock()
	box.lift(true)
	if err := <-done; err != nil || c.blocked != time.Minute {
		t.Errorf("held up for %s, want 1 min (%v)", c.blocked, err)
	}
	box.close()
}
