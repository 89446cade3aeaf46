package op

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Values emits constant rows when its task, which has no input, comes to its end. A snapshot before that holds nothing.
type Values struct {
	exec.Base
	rows   [][]any
	schema types.Schema
	env    *exec.Env
}

// NewValues returns the operator; rows are in types' canonical form.
func NewValues(rows [][]any, schema types.Schema) *Values {
	return &Values{rows: rows, schema: schema}
}

// Open implements exec.Operator.
func (o *Values) Open(_ context.Context, env *exec.Env, _ exec.StateReader) error {
	o.env = env
	return nil
}

// ProcessBatch implements exec.Operator. There is no input.
func (o *Values) ProcessBatch(_ context.Context, _ int, b stream.Batch, _ exec.Output) error {
	b.Release()
	return nil
}

// Finish implements exec.Operator.
func (o *Values) Finish(_ context.Context, out exec.Output) error {
	if len(o.rows) == 0 {
		return nil
	}
	rec, err := o.record()
	if err != nil {
		return err
	}
	return emitRows(o.env, stream.Batch{Record: rec}, out)
}

func (o *Values) record() (arrow.RecordBatch, error) {
	b := array.NewRecordBuilder(o.env.Allocator, o.schema.Arrow())
	defer b.Release()
	for _, row := range o.rows {
		for c, v := range row {
			if err := types.Append(b.Field(c), v, o.schema[c].Type); err != nil {
				return nil, err
			}
		}
	}
	return b.NewRecordBatch(), nil
}
