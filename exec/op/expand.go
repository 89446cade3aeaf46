package op

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// ExpandSet is one copy that Expand makes of each row.
type ExpandSet struct {
	// Columns are the input columns in output order; -1 gives NULL.
	Columns []int
	// ID goes into the last output column: which grouping set this is.
	ID int64
}

// Expand makes one copy of each row for each of the sets, in their order: the front of an aggregate with GROUPING SETS. Keys that are not part of a set
// are NULL in its copy; a BIGINT column with the set's ID comes last. An update pair stays a pair in each set.
type Expand struct {
	exec.Base
	sets   []ExpandSet
	schema *arrow.Schema
	env    *exec.Env
}

// NewExpand returns the operator. All sets have as many columns as schema, less the id; a column is the same input column in every set, or NULL.
func NewExpand(sets []ExpandSet, schema types.Schema) *Expand {
	return &Expand{sets: sets, schema: schema.Arrow()}
}

// Open implements exec.Operator.
func (o *Expand) Open(_ context.Context, env *exec.Env, _ exec.StateReader) error {
	o.env = env
	return nil
}

// ProcessBatch implements exec.Operator.
func (o *Expand) ProcessBatch(_ context.Context, _ int, b stream.Batch, out exec.Output) error {
	defer b.Release()
	n, k := b.Len(), len(o.sets)
	if n == 0 {
		return nil
	}
	rows, sets := make([]int32, 0, n*k), make([]int32, 0, n*k)
	for i := 0; i < n; i++ {
		r := b.Row(i)
		pair := b.Kind(r) == stream.UpdateBefore && i+1 < n
		for s := range k {
			rows, sets = append(rows, int32(r)), append(sets, int32(s))
			if pair {
				rows, sets = append(rows, int32(b.Row(i+1))), append(sets, int32(s))
			}
		}
		if pair {
			i++
		}
	}
	mem := o.env.Allocator
	cols := make([]arrow.Array, 0, o.schema.NumFields())
	masked := make([]int32, len(rows))
	for c := range o.schema.NumFields() - 1 {
		src, some := -1, false
		for _, s := range o.sets {
			if s.Columns[c] >= 0 {
				src = s.Columns[c]
			} else {
				some = true
			}
		}
		switch {
		case src < 0:
			cols = append(cols, types.NullArray(mem, o.schema.Field(c).Type, len(rows)))
		case !some:
			cols = append(cols, take(mem, b.Record.Column(src), rows))
		default:
			for i, r := range rows {
				if masked[i] = r; o.sets[sets[i]].Columns[c] < 0 {
					masked[i] = -1
				}
			}
			cols = append(cols, take(mem, b.Record.Column(src), masked))
		}
	}
	id := array.NewInt64Builder(mem)
	defer id.Release()
	id.Reserve(len(rows))
	for _, s := range sets {
		id.UnsafeAppend(o.sets[s].ID)
	}
	cols = append(cols, id.NewArray())
	return emitRows(o.env, stream.Batch{Record: newRecord(o.schema, cols, len(rows)), Kinds: takeSide(b.Kinds, rows), Before: takeSide(b.Before, rows),
		Seq: takeSeq(b.Seq, rows)}, out)
}
