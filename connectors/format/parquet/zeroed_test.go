package parquet

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/types"
)

// dirty gives memory that has been used before.
type dirty struct{ memory.Allocator }

func (d dirty) Allocate(n int) []byte {
	b := d.Allocator.Allocate(n)
	for i := range b {
		b[i] = 0x7f
	}
	return b
}

func (d dirty) Reallocate(n int, b []byte) []byte {
	had := len(b)
	b = d.Allocator.Reallocate(n, b)
	for i := had; i < len(b); i++ {
		b[i] = 0x7f
	}
	return b
}

// TestListsInUsedMemory reads lists with an allocator whose memory is not zero.
func TestListsInUsedMemory(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true}}, nil)
	rb := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	lb := rb.Field(0).(*array.ListBuilder)
	vb := lb.ValueBuilder().(*array.Int64Builder)
	lb.Append(true)
	vb.AppendValues([]int64{1, 2}, nil)
	lb.AppendNull()
	lb.Append(true)
	lb.Append(true)
	vb.Append(3)
	vb.AppendNull()
	rec := rb.NewRecordBatch()
	defer rec.Release()
	rb.Release()
	var file bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &file, pq.NewWriterProperties(), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	env := conntest.NewEnv(t)
	s := types.Schema{{Name: "l", Type: types.ArrayOf(types.BigIntType)}}
	ctx := context.Background()
	mem := dirty{env.Allocator}
	r, err := Format{}.OpenFile(ctx, bytes.NewReader(file.Bytes()), "f", connectors.FormatConfig{Table: "t", Columns: s, Wanted: []int{0}}, mem)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, _, err := r.Next(ctx, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	d, err := b.Decode(ctx, mem)
	if err != nil {
		t.Fatal(err)
	}
	got := conntest.Rows(d.Batch, s)
	d.Batch.Release()
	if want := []string{"[1, 2]", "NULL", "[]", "[3, NULL]"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
