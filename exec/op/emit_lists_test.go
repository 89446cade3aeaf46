package op

import (
	"context"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/expr"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// countOutput counts batches and their rows.
type countOutput struct {
	textOutput
	batches, rows int
}

func (o *countOutput) Emit(b stream.Batch) error {
	o.batches, o.rows = o.batches+1, o.rows+b.Len()
	b.Release()
	return nil
}

// TestLongListsAreHandedOn: results that repeat a list at every row do not wait for the end of their batch.
func TestLongListsAreHandedOn(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	in, list := types.Schema{{Name: "v", Type: types.BigIntType}}, types.ArrayOf(types.BigIntType)
	cfg := WindowAggregateConfig{Window: Window{Kind: Tumble, Size: 1_000_000, Step: 1_000_000, Precision: 3}, TimeColumn: -1, Schema: types.Schema{{Name: "all", Type: list}},
		Aggregates: []Aggregate{{Spec: expr.AggSpec{Name: "ARRAY_AGG", Args: []types.Type{types.BigIntType}, Result: list}, Args: []int{0}, Filter: -1}}}
	op := NewEmittingWindowAggregate(cfg, Emission{Late: -1})
	ctx := context.Background()
	env := &exec.Env{Allocator: mem, Bytes: exec.NewAccount("", nil), Metrics: &exec.Metrics{}, Clock: &handClock{}, BatchRows: 1 << 20, Timer: func(time.Time) {}}
	if err := op.Open(ctx, env, nil); err != nil {
		t.Fatal(err)
	}
	const rows = 2500 // lists of 25 MB
	b := array.NewRecordBuilder(mem, in.Arrow())
	defer b.Release()
	for i := range int64(rows) {
		b.Field(0).(*array.Int64Builder).Append(i)
	}
	out := &countOutput{}
	if err := op.ProcessBatch(ctx, 0, stream.Batch{Record: b.NewRecordBatch()}, out); err != nil {
		t.Fatal(err)
	}
	if out.rows != 2*rows-1 || out.batches < 3 {
		t.Errorf("%d rows in %d batches", out.rows, out.batches)
	}
	if err := op.Close(); err != nil {
		t.Fatal(err)
	}
}
