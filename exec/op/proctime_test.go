package op

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/expr"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// TestProctimeInGap: a window of processing time whose end is left out by the clock (02:30 in New York on 2024-03-10) closes at the first instant behind.
func TestProctimeInGap(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	in := types.Schema{{Name: "v", Type: types.BigIntType}}
	cfg := WindowAggregateConfig{Window: Window{Kind: Hop, Size: 3600_000_000, Step: 1800_000_000, Precision: 3}, TimeColumn: -1, Properties: []WindowProperty{WindowEnd},
		Aggregates: []Aggregate{{Spec: expr.AggSpec{Name: "COUNT", Result: types.BigIntType}, Filter: -1}}, Schema: types.Schema{in[0], {Name: "e", Type: types.TimestampOf(3)}}}
	for name, op := range map[string]exec.Operator{"once": NewWindowAggregate(cfg), "early": NewEmittingWindowAggregate(cfg, Emission{Early: 3600_000_000_000, Late: -1})} {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		clock := &handClock{time.Date(2024, 3, 10, 1, 59, 0, 0, zone)}
		out := &textOutput{}
		var due []time.Time
		env := &exec.Env{Allocator: mem, Zone: zone, Bytes: exec.NewAccount("", nil), Metrics: &exec.Metrics{}, Clock: clock, Timer: func(at time.Time) { due = append(due, at) }}
		ctx := context.Background()
		b := array.NewRecordBuilder(mem, in.Arrow())
		b.Field(0).(*array.Int64Builder).Append(1)
		if err := op.Open(ctx, env, nil); err != nil {
			t.Fatal(err)
		}
		if err := op.ProcessBatch(ctx, 0, stream.Batch{Record: b.NewRecordBatch()}, out); err != nil {
			t.Fatal(err)
		}
		b.Release()
		for len(due) > 0 && due[0].Before(clock.now.Add(time.Hour)) {
			at := due[0]
			due = due[1:]
			if err := op.ProcessTimer(ctx, at, out); err != nil {
				t.Fatal(err)
			}
		}
		wall := func(h, m int) string { return fmt.Sprint(1, time.Date(2024, 3, 10, h, m, 0, 0, time.UTC).UnixMicro()) }
		if want := []string{wall(2, 0), wall(2, 30)}; !slices.Equal(out.lines, want) {
			t.Errorf("%s: got %v, want %v", name, out.lines, want)
		}
		if err := op.Close(); err != nil {
			t.Fatal(err)
		}
		mem.AssertSize(t, 0)
	}
}
