package kafka

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/exec/stream"
)

// TestRecycled: the records of a block go back when it is decoded, the place of a row in the topic is known afterwards, and a second Decode says that it is one.
func TestRecycled(t *testing.T) {
	b := fake(t)
	topic := b.topic(t, 1)
	b.put(t, topic, 0, click("a", 0), click("b", 1), click("c", 2))
	env := conntest.NewEnv(t)
	s, err := open(t, env, b.table(t, topic, clicks), connectors.Scan{Columns: []int{1}, Metadata: []string{"offset"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	r, err := s.src.Open(context.Background(), env.Env, s.splits[0], nil, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	<-r.Ready()
	src := s.src.(*source)
	src.mu.Lock()
	recs := src.readers[src.parts[s.splits[0].ID]].queue[0].records
	src.mu.Unlock()
	block, err := r.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	d, err := block.Decode(context.Background(), env.Allocator)
	if err != nil {
		t.Fatal(err)
	}
	conntest.Equal(t, conntest.Rows(d.Batch, s.schema), []string{"0|0", "1|1", "2|2"}[:d.Batch.Len()])
	d.Batch.Release()
	for i := range d.Batch.Len() {
		if recs[i].Value != nil || recs[i].Context != nil {
			t.Errorf("record %d was not given back", i)
		}
	}
	if _, err := block.Decode(context.Background(), env.Allocator); err == nil || !strings.Contains(err.Error(), "decoded twice") {
		t.Errorf("%v", err)
	}
	_ = r.Close()
}

// TestRecycledPosition: what tells the places of rows is asked before the records go back.
func TestRecycledPosition(t *testing.T) {
	recs := []*kgo.Record{{Offset: 7}, {Offset: 9}}
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	decode := recycling(recs, func(context.Context, memory.Allocator) (connectors.Decoded, error) {
		rec := array.NewRecordBatch(clicks[:0].Arrow(), nil, 2)
		return connectors.Decoded{Batch: stream.Batch{Record: rec}, Position: func(row int) int64 { return recs[row].Offset }}, nil
	})
	d, err := decode(context.Background(), mem)
	if err != nil {
		t.Fatal(err)
	}
	recs[0].Offset, recs[1].Offset = 0, 0 // used again
	if d.Position(0) != 7 || d.Position(1) != 9 {
		t.Errorf("%d, %d", d.Position(0), d.Position(1))
	}
}

// TestSlabs: an array is used again for about as many records, not for a few.
func TestSlabs(t *testing.T) {
	var p slabs
	for range 100 { // a sync.Pool forgets at random under the race detector
		p.PutRecords(make([]kgo.Record, 100))
	}
	if n := cap(p.GetRecords(10)); n != 10 {
		t.Errorf("an array of %d for 10 records", n)
	}
	if n := cap(p.GetRecords(101)); n != 101 {
		t.Errorf("an array of %d for 101 records", n)
	}
	most := 0
	for range 50 {
		most = max(most, cap(p.GetRecords(60)))
	}
	if most != 100 {
		t.Errorf("no array was used again")
	}
}
