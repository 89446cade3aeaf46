package op

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// LateRowsConfig describes what a LATE_ROWS hint makes of the side output "late" of a window aggregate.
type LateRowsConfig struct {
	Window Window
	// TimeColumn is the column of the event time, Columns those to keep, of the aggregate's input.
	TimeColumn int
	Columns    []int
	// Operator is the name for late_operator.
	Operator string
	// Schema is that of the output: Columns, then late_operator STRING, late_watermark and late_window_end TIMESTAMP, late_by BIGINT, late_kind STRING.
	Schema types.Schema
}

// LateRows turns late rows into what a table can keep: for each row its columns, which operator dropped it, the watermark before it, the end of its last
// window (both on the wall clock of the session zone, as window_end is) and by how many milliseconds it was behind that watermark, and its
// kind: what comes out are added rows, also for late rows that take others back.
type LateRows struct {
	exec.Base
	cfg    LateRowsConfig
	schema *arrow.Schema
	env    *exec.Env
	w      *windows
}

// NewLateRows returns the operator.
func NewLateRows(cfg LateRowsConfig) *LateRows {
	return &LateRows{cfg: cfg, schema: cfg.Schema.Arrow()}
}

// Open implements exec.Operator.
func (o *LateRows) Open(_ context.Context, env *exec.Env, _ exec.StateReader) error {
	o.env, o.w = env, newWindows(o.cfg.Window, env.Zone)
	return nil
}

// ProcessBatch implements exec.Operator.
func (o *LateRows) ProcessBatch(_ context.Context, _ int, b stream.Batch, out exec.Output) error {
	defer b.Release()
	n, in := b.Len(), int(b.Record.NumCols())
	event := times(b.Record.Column(o.cfg.TimeColumn))
	marks, ends := values[int64](b.Record.Column(in-2)), values[int64](b.Record.Column(in-1))
	cols := make([]arrow.Array, 0, len(o.cfg.Schema))
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(b.Row(i))
	}
	for _, c := range o.cfg.Columns {
		cols = append(cols, take(o.env.Allocator, b.Record.Column(c), all))
	}
	name := array.NewStringBuilder(o.env.Allocator)
	defer name.Release()
	wm, end := o.timestamps(len(cols)+1), o.timestamps(len(cols)+2)
	defer wm.Release()
	defer end.Release()
	by := array.NewInt64Builder(o.env.Allocator)
	defer by.Release()
	kind := array.NewStringBuilder(o.env.Allocator)
	defer kind.Release()
	for _, r := range all {
		name.Append(o.cfg.Operator)
		wm.Append(arrow.Timestamp(o.w.wall(marks[r])))
		end.Append(arrow.Timestamp(ends[r]))
		by.Append((marks[r] - event[r]) / types.MicrosPerMilli)
		kind.Append(b.Kind(int(r)).String())
	}
	cols = append(cols, name.NewArray(), wm.NewArray(), end.NewArray(), by.NewArray(), kind.NewArray())
	return out.Emit(stream.Batch{Record: newRecord(o.schema, cols, n)})
}

func (o *LateRows) timestamps(column int) *array.TimestampBuilder {
	return array.NewTimestampBuilder(o.env.Allocator, o.schema.Field(column).Type.(*arrow.TimestampType))
}
