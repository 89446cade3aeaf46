package optest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

// fake emits what it is told to, whatever it gets.
type fake struct {
	exec.Base
	emit func(out exec.Output) error
}

func (f *fake) ProcessBatch(_ context.Context, _ int, b stream.Batch, out exec.Output) error {
	b.Release()
	return f.emit(out)
}

func (f *fake) Finish(_ context.Context, out exec.Output) error { return nil }

type nothing struct{}

func (nothing) Emit(b stream.Batch) error    { b.Release(); return nil }
func (nothing) Watermark(stream.Time) error  { return nil }
func (nothing) Side(name string) exec.Output { return nothing{} }

func ints(n int) arrow.RecordBatch {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range n {
		b.Append(int64(i))
	}
	return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil), []arrow.Array{b.NewArray()}, int64(n))
}

// TestCheck: each breach of the contract is named, on the way in and on the way out.
func TestCheck(t *testing.T) {
	ctx := context.Background()
	bad := map[string]stream.Batch{
		"a -U that is not followed": {Record: ints(2), Kinds: []stream.RowKind{stream.Insert, stream.UpdateBefore}},
		"Kinds with 1 entries":      {Record: ints(2), Kinds: []stream.RowKind{stream.Insert}},
		"Seq with 3 entries":        {Record: ints(2), Seq: []int64{1, 2, 3}},
		"not ascending":             {Record: ints(2), Selection: []int32{1, 0}},
		"leaves the batch":          {Record: ints(2), Selection: []int32{2}},
		"without rows":              {Record: ints(2), Selection: []int32{}},
		"after one with 7":          {Record: ints(2), Before: []stream.Time{7, 6}},
		"without a record":          {},
	}
	for want, b := range bad {
		op := Check(&fake{emit: func(exec.Output) error { return nil }}, "op", nil)
		if err := op.ProcessBatch(ctx, 0, b, nothing{}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "input 0 of op got") {
			t.Errorf("in: %v, want %q", err, want)
		}
	}
	good := func() stream.Batch { return stream.Batch{Record: ints(2), Before: []stream.Time{3, 4}} }
	for want, emit := range map[string]func(out exec.Output) error{
		"want 1":        func(out exec.Output) error { return out.Emit(stream.Batch{Record: two()}) },
		"of type int64": func(out exec.Output) error { return out.Emit(stream.Batch{Record: ints(1)}) },
		"a row with Before 3 behind the watermark 9": func(out exec.Output) error {
			return errors.Join(out.Watermark(9), out.Emit(good()))
		},
		"the watermark 3 after a row with Before 4": func(out exec.Output) error { return errors.Join(out.Emit(good()), out.Watermark(3)) },
	} {
		var schema *arrow.Schema
		switch want {
		case "want 1":
			schema = ints(0).Schema()
		case "of type int64":
			schema = arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.BinaryTypes.String}}, nil)
		}
		op := Check(&fake{emit: emit}, "op", schema)
		if err := op.ProcessBatch(ctx, 0, good(), nothing{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("out: %v, want %q", err, want)
		}
		if err := op.ProcessWatermark(ctx, 10, nothing{}); err == nil || !strings.Contains(err.Error(), "after an error") {
			t.Errorf("a call after an error: %v", err)
		}
	}
	op := Check(&fake{emit: func(exec.Output) error { return nil }}, "op", nil)
	for i, c := range []struct {
		err  error
		want string
	}{
		{op.ProcessWatermark(ctx, 10, nothing{}), ""},
		{op.EndInput(ctx, 0, nothing{}), ""},
		{op.ProcessWatermark(ctx, stream.MaxTime, nothing{}), ""},
		{op.Finish(ctx, nothing{}), ""},
		{op.Snapshot(ctx, nil), "after Finish"},
		{op.Close(), ""},
		{op.ProcessWatermark(ctx, stream.MaxTime, nothing{}), "after Close"},
	} {
		if (c.err == nil) != (c.want == "") || c.err != nil && !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("call %d: %v, want %q", i, c.err, c.want)
		}
	}
	op = Check(&fake{}, "op", nil)
	if err := op.Finish(ctx, nothing{}); err == nil || !strings.Contains(err.Error(), "before the last watermark") {
		t.Errorf("Finish too early: %v", err)
	}
	op = Check(&fake{}, "op", nil)
	if err := errors.Join(op.ProcessWatermark(ctx, 5, nothing{}), op.ProcessWatermark(ctx, 4, nothing{})); err == nil || !strings.Contains(err.Error(), "goes back from 5 to 4") {
		t.Errorf("a watermark that goes back: %v", err)
	}
}

func two() arrow.RecordBatch {
	a := ints(1)
	return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.PrimitiveTypes.Int64}}, nil),
		[]arrow.Array{a.Column(0), a.Column(0)}, 1)
}

// TestPoison: who reads memory after Release reads nonsense.
func TestPoison(t *testing.T) {
	b := array.NewInt64Builder(Poison{memory.NewGoAllocator()})
	b.Append(42)
	a := b.NewInt64Array()
	b.Release()
	v := a.Int64Values()
	a.Release()
	if v[0] == 42 {
		t.Error("the memory of a released array was not overwritten")
	}
}
