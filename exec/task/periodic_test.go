package task

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

// alarmClock hands out the alarms that are asked for, and moves only when one is rung.
type alarmClock struct {
	mu     sync.Mutex
	now    time.Time
	alarms chan chan time.Time
}

func (c *alarmClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *alarmClock) After(time.Duration) (<-chan time.Time, func()) {
	alarm := make(chan time.Time, 1)
	c.alarms <- alarm
	return alarm, func() {}
}

func (c *alarmClock) ring(alarm chan time.Time, d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
	alarm <- c.now
}

// TestPeriodicWithoutRows: a periodic watermark goes on when its time has come, though no row comes any more and nobody asks.
func TestPeriodicWithoutRows(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	clock := &alarmClock{now: time.UnixMilli(0).UTC(), alarms: make(chan chan time.Time, 10)}
	src := &fakeSource{blockRows: 5, splits: []*fakeSplit{{id: "a", live: true, ready: make(chan struct{}, 1), rows: rowsOf(7, 1)}}}
	told := make(chan stream.Time, 10)
	op := &fakeOp{wm: func(wm stream.Time, out exec.Output) error { told <- wm; return out.Watermark(wm) }}
	task := scanOf(src, 0, opTarget(op, sinkTarget(&fakeSink{})))
	task.Source.Interval = time.Second
	j, err := Start(ctx, &Graph{Tasks: []*Task{task}}, Options{Allocator: checked(t), Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Cancel()
	select {
	case alarm := <-clock.alarms:
		clock.ring(alarm, time.Second)
	case <-ctx.Done():
		t.Fatal("no alarm")
	}
	select {
	case wm := <-told:
		if wm != 7 {
			t.Errorf("watermark %d, want 7", wm)
		}
	case <-ctx.Done():
		t.Error("no watermark")
	}
}
