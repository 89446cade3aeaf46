package exchange

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec/state"
	"github.com/weir-sql/weir/exec/stream"
)

// Redistribute makes the state of n copies of an operator out of that of its copies in a snapshot, parts, in the order of their partitions. Rows of keyed
// tables go where the exchange before the operator sends their key (NewPartitioner over the key columns); tables that belong to the operator as a whole go
// to every copy. In each new table the rows of partition 0 come first, then those of partition 1 and so on, each in the order of insertion: a key was in
// one partition only, so its rows keep their order. parts are borrowed; the caller releases what is returned.
func Redistribute(mem memory.Allocator, parts []*state.Tables, n int) (out []*state.Tables, err error) {
	out = make([]*state.Tables, n)
	for p := range out {
		out[p] = &state.Tables{}
	}
	defer func() {
		if err != nil {
			for _, t := range out {
				t.Release()
			}
		}
	}()
	seen := map[string]bool{}
	for _, first := range parts {
		for _, name := range first.Names() {
			if seen[name] {
				continue
			}
			seen[name] = true
			for _, part := range parts {
				for _, rec := range part.Table(name) {
					if err := spread(mem, out, name, part.KeyColumns(name), rec); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return out, nil
}

// spread adds the rows of one batch to the tables called name.
func spread(mem memory.Allocator, out []*state.Tables, name string, keys int, rec arrow.RecordBatch) error {
	if keys == 0 || len(out) == 1 {
		for _, t := range out {
			if err := t.Add(name, keys, rec); err != nil {
				return err
			}
		}
		return nil
	}
	columns := make([]int, keys)
	for i := range columns {
		columns[i] = i
	}
	rec.Retain()
	parts, err := NewPartitioner(columns, len(out)).Partition(stream.Batch{Record: rec})
	if err != nil {
		return err
	}
	for p, b := range parts {
		if err == nil && b.Len() > 0 {
			var mine arrow.RecordBatch
			if mine, err = Take(mem, rec, b.Selection); err == nil {
				err = out[p].Add(name, keys, mine)
				mine.Release()
			}
		}
		b.Release()
	}
	return err
}
