package task

import (
	"context"
	"testing"
)

// TestMarkerBehindEnds: when the end of a split lets others go on that were asked before it, a marker does not overtake what they have.
func TestMarkerBehindEnds(t *testing.T) {
	ctx := context.Background()
	src := &fakeSource{blockRows: 5}
	for _, id := range []string{"a", "b", "c"} {
		src.splits = append(src.splits, &fakeSplit{id: id, live: true, ready: make(chan struct{}, 1)})
	}
	for i, s := range src.splits[:2] {
		s.then = func() { // the source's mutex is held
			next := src.splits[i+1]
			next.rows, next.live = rowsOf(int64(i), 1), false
			next.ready <- struct{}{}
		}
	}
	var log []string
	j, err := Start(ctx, &Graph{Tasks: []*Task{scanOf(src, 0, sinkTarget(&fakeSink{log: &log}))}}, Options{Allocator: checked(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Cancel()
	if err := j.Marker(ctx); err != nil {
		t.Fatal(err)
	}
	src.mu.Lock()
	src.splits[0].live = false
	src.mu.Unlock()
	src.add(0)
	if err := j.Marker(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case <-j.Done():
	default:
		t.Errorf("the job goes on behind the marker; rows %q", log)
	}
	if len(log) != 2 {
		t.Errorf("rows %q, want 2", log)
	}
}
