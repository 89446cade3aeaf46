package op

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

// Limit passes rows offset+1 to offset+limit in the order of arrival and then says ErrEnough. Its input must not retract.
type Limit struct {
	exec.Base
	limit, offset int64
	env           *exec.Env
	seen          int64
}

// NewLimit returns the operator; a negative limit means no limit.
func NewLimit(limit, offset int64) *Limit { return &Limit{limit: limit, offset: offset} }

// Open implements exec.Operator.
func (o *Limit) Open(_ context.Context, env *exec.Env, from exec.StateReader) error {
	o.env = env
	o.seen = 0
	if from != nil {
		for _, rec := range from.Table("limit") {
			o.seen += values[int64](rec.Column(0))[0]
		}
	}
	return nil
}

// ProcessBatch implements exec.Operator.
func (o *Limit) ProcessBatch(_ context.Context, _ int, b stream.Batch, out exec.Output) error {
	if err := appendOnly(&b, "LIMIT without ORDER BY"); err != nil {
		b.Release()
		return err
	}
	n := int64(b.Len())
	from := min(max(o.offset-o.seen, 0), n)
	to := n
	if o.limit >= 0 {
		to = min(max(o.offset+o.limit-o.seen, from), n)
	}
	o.seen += n
	done := o.limit >= 0 && o.seen >= o.offset+o.limit
	var err error
	switch {
	case to <= from:
		b.Release()
	case from == 0 && to == n:
		err = out.Emit(b)
	case b.Selection != nil:
		b.Selection = b.Selection[from:to:to]
		err = out.Emit(b)
	default:
		err = out.Emit(b.Slice(int(from), int(to)))
		b.Release()
	}
	if err == nil && done {
		err = exec.ErrEnough
	}
	return err
}

// appendOnly refuses rows that take others back.
func appendOnly(b *stream.Batch, what string) error {
	if b.Kinds == nil {
		return nil
	}
	for i := range b.Len() {
		if k := b.Kinds[b.Row(i)]; k != stream.Insert {
			return fmt.Errorf("%s does not take updates (got a %s row)", what, k)
		}
	}
	return nil
}

// Snapshot implements exec.Operator.
func (o *Limit) Snapshot(_ context.Context, to exec.StateWriter) error {
	rec := newRecord(arrow.NewSchema(wordFields("rows_seen"), nil), []arrow.Array{words(o.env.Allocator, 1, func(int) int64 { return o.seen })}, 1)
	defer rec.Release()
	return to.Table("limit", 0, rec)
}
