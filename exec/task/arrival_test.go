package task

import (
	"context"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/exec/stream"
)

// takenRows keeps the watermark before each row.
type takenRows struct{ before []stream.Time }

func (r *takenRows) batch(_ context.Context, _ int, b stream.Batch) error {
	for i := range b.Len() {
		r.before = append(r.before, b.Before[b.Row(i)])
	}
	b.Release()
	return nil
}

func (r *takenRows) watermark(context.Context, stream.Time) error { return nil }
func (r *takenRows) end(context.Context, int) error               { return nil }

// TestArrivalNeverStepsBack: copies of an operator send results before the watermark that released them. In whatever order they arrive, the watermark before
// the rows of all never steps back.
func TestArrivalNeverStepsBack(t *testing.T) {
	mem := checked(t)
	j := &Job{o: Options{Allocator: mem, BatchRows: 8}}
	it := newInputTask(j, &Task{ID: "gather", Partitions: 1}, 0)
	var got takenRows
	it.to = newFanout([]receiver{&got})
	it.channel(0)
	it.channel(0)
	ctx := context.Background()
	rows := func(before ...stream.Time) stream.Event {
		id, ts := array.NewInt64Builder(mem), array.NewInt64Builder(mem)
		defer id.Release()
		defer ts.Release()
		for range before {
			id.Append(0)
			ts.Append(0)
		}
		a, b := id.NewArray(), ts.NewArray()
		defer a.Release()
		defer b.Release()
		return stream.Event{Kind: stream.EventBatch, Batch: stream.Batch{Record: array.NewRecordBatch(fakeSchema, []arrow.Array{a, b}, int64(len(before))), Before: before}}
	}
	mark := func(wm stream.Time) stream.Event { return stream.Event{Kind: stream.EventWatermark, Watermark: wm} }
	for _, e := range []struct {
		channel int
		event   stream.Event
	}{
		{0, mark(48)}, {1, mark(48)},
		{1, mark(65)},
		{0, rows(50, 60)}, // the watermark 65 of this channel is still on its way
		{1, rows(65)},
		{0, mark(65)},
		{1, rows(66)},
		{0, rows(65, 66)},
	} {
		if err := it.arrived(ctx, e.channel, e.event); err != nil {
			t.Fatal(err)
		}
	}
	if want := []stream.Time{50, 60, 60, 65, 65, 66}; !slices.Equal(got.before, want) {
		t.Errorf("got %v, want %v", got.before, want)
	}
}

// TestCopiesWakeTogether: copies of an operator that were idle are woken up by the same. The one that is first must not take the watermark past what another
// has still to say; and one that only a timer has made speak leaves all idle.
func TestCopiesWakeTogether(t *testing.T) {
	mem := checked(t)
	it := newInputTask(&Job{o: Options{Allocator: mem, BatchRows: 8}}, &Task{ID: "gather", Partitions: 1}, 0)
	var got takenRows
	it.to = newFanout([]receiver{&got})
	it.channel(0, "s")
	it.channel(0, "s")
	it.channel(1, "other")
	ctx := context.Background()
	take := func(channel int, e stream.Event) {
		t.Helper()
		if err := it.arrived(ctx, channel, e); err != nil {
			t.Fatal(err)
		}
	}
	rows := func(before stream.Time) stream.Event {
		id, ts := array.NewInt64Builder(mem), array.NewInt64Builder(mem)
		defer id.Release()
		defer ts.Release()
		id.Append(0)
		ts.Append(0)
		a, b := id.NewArray(), ts.NewArray()
		defer a.Release()
		defer b.Release()
		return stream.Event{Kind: stream.EventBatch, Batch: stream.Batch{Record: array.NewRecordBatch(fakeSchema, []arrow.Array{a, b}, 1), Before: []stream.Time{before}}}
	}
	mark := func(wm stream.Time) stream.Event { return stream.Event{Kind: stream.EventWatermark, Watermark: wm} }
	for c := range 3 {
		take(c, mark(10))
	}
	take(2, mark(100))
	take(0, phaseEvent("s", 1))
	if at := it.comb.Combined(); at != 10 {
		t.Fatalf("one of two copies is idle: the watermark is %d", at)
	}
	take(2, phaseEvent("other", 1))
	take(1, phaseEvent("s", 1))
	if !it.comb.AllIdle() {
		t.Fatal("not idle")
	}
	take(0, rows(10)) // by a timer
	if !it.comb.AllIdle() {
		t.Fatal("not idle behind a timer")
	}
	take(0, phaseEvent("s", 2))
	take(0, rows(50))
	take(0, mark(60))
	take(1, phaseEvent("s", 2))
	take(1, rows(40))
	take(1, mark(60))
	if want := []stream.Time{10, 10, 40}; !slices.Equal(got.before, want) {
		t.Errorf("got %v, want %v", got.before, want)
	}
	if at := it.comb.Combined(); at != 60 {
		t.Errorf("the watermark is %d", at)
	}
}
