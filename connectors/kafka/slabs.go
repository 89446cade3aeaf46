package kafka

import (
	"context"
	"errors"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-sql/weir/connectors"
)

// slabs reuses the arrays that the client makes records in, one for each batch of the broker: they would be nearly half of all garbage. An array goes back
// when all its records are recycled; one of which a record is not, since it was dropped or its block was, is left to the collector. The bytes of keys and
// values are not reused.
type slabs struct{ pool sync.Pool }

// GetRecords implements kgo.PoolRecords. A few records do not take a large array: the queues count what records take, not arrays.
func (p *slabs) GetRecords(n int) []kgo.Record {
	if s, _ := p.pool.Get().(*[]kgo.Record); s != nil && cap(*s) >= n && cap(*s)/2 <= n {
		return *s
	}
	return make([]kgo.Record, n)
}

// PutRecords implements kgo.PoolRecords.
func (p *slabs) PutRecords(s []kgo.Record) { p.pool.Put(&s) }

type decodeFunc = func(context.Context, memory.Allocator) (connectors.Decoded, error)

// recycling has a block's Decode, which is called once, give the records back. Nothing may refer to them afterwards; only Position does, so that it is asked
// before.
func recycling(recs []*kgo.Record, decode decodeFunc) decodeFunc {
	return func(ctx context.Context, mem memory.Allocator) (connectors.Decoded, error) {
		if recs == nil {
			return connectors.Decoded{}, errors.New("a block of a Kafka partition was decoded twice; this is a bug")
		}
		out, err := decode(ctx, mem)
		if at := out.Position; at != nil && out.Batch.Record != nil {
			offsets := make([]int64, out.Batch.Record.NumRows())
			for i := range offsets {
				offsets[i] = at(i)
			}
			out.Position = func(row int) int64 { return offsets[row] }
		}
		for _, r := range recs {
			r.Recycle()
		}
		recs = nil
		return out, err
	}
}
