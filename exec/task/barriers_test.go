package task

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/weir-sql/weir/exec/stream"
)

// TestBarriersBehindLateComers: rows that came together with the barriers behind them, after the task had found nothing to do, are worked off before a cut is
// made or a marker is passed on. They would be restored at another parallelism behind what other copies have made of later rows.
func TestBarriersBehindLateComers(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		for _, marker := range []bool{false, true} {
			t.Run(fmt.Sprintf("ordered=%t marker=%t", ordered, marker), func(t *testing.T) {
				ctx := context.Background()
				mem := checked(t)
				o := Options{Allocator: mem}
				o.fill()
				sink := &fakeSink{log: new([]string)}
				task := &Task{ID: "reader", Partitions: 1, Ordered: ordered, Inputs: []*Exchange{{ID: "x"}}, To: []Target{sinkTarget(sink)}}
				b := stream.Barrier{ID: 1, Snapshot: !marker}
				c := &cut{left: 1, snap: &Snapshot{Tasks: map[string]*TaskSnapshot{}}, done: make(chan struct{})}
				defer c.snap.Release()
				j := &Job{o: o, g: &Graph{Tasks: []*Task{task}}, metrics: map[string]*partMetrics{}, cuts: map[int64]*cut{b.ID: c}, looks: map[int64]bool{},
					commits: map[int64]*commitWait{}}
				it := newInputTask(j, task, 0)
				j.tasks = []instance{it}
				first, second := it.channel(0), it.channel(0)
				if err := it.begin(ctx, nil); err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := it.close(); err != nil {
						t.Error(err)
					}
				}()
				if progress, err := it.step(ctx); progress || err != nil {
					t.Fatal(progress, err)
				}
				var events []stream.Event
				for i, ch := range []*channel{first, second} {
					rows := decodeFake(mem, []fakeRow{{id: int64(i), ts: 5}}, "s", 0, false).Batch
					rows.Before, rows.Seq = []stream.Time{stream.MinTime}, []int64{int64(i + 1)}
					events = []stream.Event{{Kind: stream.EventBatch, Batch: rows}, {Kind: stream.EventWatermark, Watermark: stream.MinTime, Seq: 3},
						{Kind: stream.EventBarrier, Barrier: b}}
					for _, e := range events {
						if err := ch.put(ctx, e); err != nil {
							t.Fatal(err)
						}
					}
				}
				for range 10 {
					_, again, err := it.barriers(ctx)
					if err != nil {
						t.Fatal(err)
					}
					if !again {
						break
					}
				}
				select {
				case <-c.done:
				default:
					t.Fatal("the barrier went nowhere")
				}
				got := slices.Sorted(slices.Values(*sink.log))
				if want := []string{"0 5 <-", "1 5 <-"}; !slices.Equal(got, want) {
					t.Errorf("%q before the barrier, want %q", got, want)
				}
				for key, part := range c.snap.Tasks {
					for i, q := range part.Inputs.Queued {
						for _, e := range q {
							t.Errorf("the snapshot of %s has %d of channel %d", key, e.Kind, i)
						}
					}
				}
			})
		}
	}
}
