package build

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/planner/physical"
)

// notNull holds the rows of a sink against its NOT NULL columns ('table.exec.sink.not-null-enforcer'): a NULL is an error, or drops the row.
type notNull struct {
	exec.Base
	columns []int
	names   []string
	table   string
	drop    bool
	dropped func(n int64)
}

// nullRows counts rows that a sink did not take because of a NULL.
const nullRows = "null_rows"

func newNotNull(s *physical.Sink) *notNull {
	o := &notNull{columns: s.NotNull, table: s.Table.Path.String(), drop: s.Enforce == physical.DropOnNull}
	for _, c := range s.NotNull {
		o.names = append(o.names, s.Schema()[c].Name)
	}
	return o
}

// Open implements exec.Operator.
func (o *notNull) Open(_ context.Context, env *exec.Env, _ exec.StateReader) error {
	c := env.Metrics.Counter(nullRows)
	o.dropped = func(n int64) { c.Add(n) }
	return nil
}

// ProcessBatch implements exec.Operator.
func (o *notNull) ProcessBatch(_ context.Context, _ int, b stream.Batch, out exec.Output) error {
	var suspects []arrow.Array
	var names []string
	for i, c := range o.columns {
		if a := b.Record.Column(c); a.NullN() > 0 {
			suspects, names = append(suspects, a), append(names, o.names[i])
		}
	}
	if len(suspects) == 0 {
		return out.Emit(b)
	}
	keep := make([]int32, 0, b.Len())
	for i := range b.Len() {
		r, ok := b.Row(i), true
		for k, a := range suspects {
			if !a.IsNull(r) {
				continue
			}
			if !o.drop {
				b.Release()
				return fmt.Errorf("table %s: column %s is NOT NULL, but a row has NULL for it: set 'table.exec.sink.not-null-enforcer' to 'DROP' to leave such rows "+
					"out", o.table, names[k])
			}
			ok = false
		}
		if ok {
			keep = append(keep, int32(r))
		}
	}
	o.dropped(int64(b.Len() - len(keep)))
	if len(keep) == 0 {
		b.Release()
		return nil
	}
	if b.Kinds != nil {
		b.Kinds = mendPairs(b, keep)
	}
	b.Selection = keep
	return out.Emit(b)
}

// mendPairs returns the kinds of b with -D for a -U whose +U is not kept, and +I for a +U whose -U is not.
func mendPairs(b stream.Batch, keep []int32) []stream.RowKind {
	kept := make([]bool, len(b.Kinds))
	for _, r := range keep {
		kept[r] = true
	}
	kinds := append([]stream.RowKind(nil), b.Kinds...)
	for i := 0; i+1 < b.Len(); i++ {
		u, v := b.Row(i), b.Row(i+1)
		if b.Kinds[u] != stream.UpdateBefore || b.Kinds[v] != stream.UpdateAfter {
			continue
		}
		switch {
		case kept[u] && !kept[v]:
			kinds[u] = stream.Delete
		case !kept[u] && kept[v]:
			kinds[v] = stream.Insert
		}
		i++
	}
	return kinds
}
