package task

import (
	"context"
	"slices"
	"testing"

	"github.com/weir-sql/weir/exec/stream"
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
