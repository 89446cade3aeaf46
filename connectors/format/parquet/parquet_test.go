package parquet

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/types"
)

// readAll reads all rows of columns, in blocks of at most blockRows.
func readAll(t *testing.T, data []byte, s types.Schema, blockRows int) ([]string, error) {
	t.Helper()
	env := conntest.NewEnv(t)
	c := connectors.FormatConfig{Table: "t", Columns: s}
	for i := range s {
		c.Wanted = append(c.Wanted, i)
	}
	ctx := context.Background()
	r, err := Format{}.OpenFile(ctx, bytes.NewReader(data), "f", c, env.Allocator)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out []string
	for row := int64(0); ; {
		b, next, err := r.Next(ctx, row, blockRows)
		if err == connectors.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		d, err := b.Decode(ctx, env.Allocator)
		if err != nil {
			return out, err
		}
		out = append(out, conntest.Rows(d.Batch, s)...)
		d.Batch.Release()
		row = next
	}
}

// TestRoundTrip writes every type and reads it back.
func TestRoundTrip(t *testing.T) {
	s := types.Schema{
		{Name: "b", Type: types.BooleanType}, {Name: "ti", Type: types.TinyIntType}, {Name: "si", Type: types.SmallIntType}, {Name: "i", Type: types.IntType},
		{Name: "l", Type: types.BigIntType}, {Name: "d", Type: types.DecimalOf(38, 2)}, {Name: "d2", Type: types.DecimalOf(5, 2)}, {Name: "f", Type: types.FloatType},
		{Name: "db", Type: types.DoubleType}, {Name: "c", Type: types.CharOf(3)}, {Name: "v", Type: types.VarCharOf(5)}, {Name: "s", Type: types.StringType},
		{Name: "bn", Type: types.BinaryOf(2)}, {Name: "by", Type: types.BytesType}, {Name: "dt", Type: types.DateType}, {Name: "tm", Type: types.TimeOf(3)},
		{Name: "ts", Type: types.TimestampOf(3)}, {Name: "ts6", Type: types.TimestampOf(6)}, {Name: "ts9", Type: types.TimestampOf(9)}, {Name: "ltz", Type: types.TimestampLTZOf(3)},
		{Name: "a", Type: types.ArrayOf(types.IntType)}, {Name: "m", Type: types.MapOf(types.StringType, types.ArrayOf(types.IntType))}, {Name: "ms", Type: types.MultisetOf(types.StringType)},
		{Name: "r", Type: types.RowOf(types.Field{Name: "x", Type: types.IntType}, types.Field{Name: "y", Type: types.MapOf(types.StringType, types.IntType)})},
	}
	at := time.Date(2024, 5, 1, 10, 0, 0, 123456789, time.UTC)
	values := [][]any{
		{true, int8(-128), int16(300), int32(7), int64(-1 << 63), types.DecOf(-5, 2), types.DecOf(99999, 2), float32(1.5), 2.5, "ab ", "äöü", "text", []byte{1, 2}, []byte("x"),
			types.DateVal(19844), types.TimeVal(36000123), types.TimestampVal(at.UnixMilli() * 1000), types.TimestampVal(at.UnixMicro()), types.TimestampVal(at.UnixNano()),
			types.TimestampVal(at.UnixMilli() * 1000), []any{int32(1), nil, int32(3)}, types.MapVal{{Key: "k", Val: []any{int32(9)}}, {Key: "l", Val: nil}},
			types.MapVal{{Key: "e", Val: int32(2)}}, types.RowVal{int32(1), types.MapVal{{Key: "z", Val: int32(26)}}}},
		make([]any, len(s)),
		{false, int8(0), int16(0), int32(0), int64(0), types.DecOf(0, 2), types.DecOf(0, 2), float32(0), 0.0, "   ", "", "", []byte{0, 0}, []byte{},
			types.DateVal(-719162), types.TimeVal(0), types.TimestampVal(-1000), types.TimestampVal(-1), types.TimestampVal(-1), types.TimestampVal(0),
			[]any{}, types.MapVal{}, types.MapVal{}, types.RowVal{nil, nil}},
	}
	env := conntest.NewEnv(t)
	b := array.NewRecordBuilder(env.Allocator, s.Arrow())
	defer b.Release()
	for _, row := range values {
		for i, v := range row {
			if err := types.Append(b.Field(i), v, s[i].Type); err != nil {
				t.Fatalf("column %s: %v", s[i].Name, err)
			}
		}
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	sliced := rec.NewSlice(1, 3) // offsets must not matter
	defer sliced.Release()
	for _, codec := range []string{"UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "BROTLI", "LZ4_RAW"} {
		var out bytes.Buffer
		w, err := Format{}.NewFile(&out, connectors.FormatConfig{Table: "t", Columns: s, Options: map[string]string{"compression": codec}}, env.Allocator)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []arrow.RecordBatch{rec, sliced} {
			if err := w.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, v := range [][]any{values[0], values[1], values[2], values[1], values[2]} {
			var cells []string
			for i := range v {
				cells = append(cells, types.Display(v[i], s[i].Type, time.UTC))
			}
			want = append(want, strings.Join(cells, "|"))
		}
		for _, blockRows := range []int{1, 2, 1000} {
			got, err := readAll(t, out.Bytes(), s, blockRows)
			if err != nil {
				t.Fatal(err)
			}
			conntest.Equal(t, got, want)
		}
		inf, err := Format{}.InferFile(context.Background(), bytes.NewReader(out.Bytes()), "f", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := inf.Columns[len(s)-1].Type.String(); got != "ROW<`x` INT, `y` MAP<STRING, INT>>" || inf.Columns[16].Type.String() != "TIMESTAMP(6)" {
			t.Fatalf("inferred %s, %s", got, inf.Columns[16].Type)
		}
		// Cut off at any place: an error that names the file, never a panic.
		for n := 0; n < out.Len(); n += 101 {
			if _, err := readAll(t, out.Bytes()[:n], s, 10); err == nil || !strings.HasPrefix(err.Error(), "f: this is no ") {
				t.Fatalf("%d of %d bytes: %v", n, out.Len(), err)
			}
		}
	}
}

// TestFM08 is case FM-08: one instant in four units reads the same; far years are exact or an error, never wrapped.
func TestFM08(t *testing.T) {
	at := time.Date(2024, 5, 1, 10, 0, 0, 123_000_000, time.UTC)
	for _, tt := range []struct {
		unit  arrow.TimeUnit
		value int64
		int96 bool
		wrong bool // an embedded Arrow schema that says nanoseconds
	}{
		{arrow.Millisecond, at.UnixMilli(), false, false},
		{arrow.Microsecond, at.UnixMicro(), false, false},
		{arrow.Nanosecond, at.UnixNano(), false, false},
		{arrow.Nanosecond, at.UnixNano(), true, false},
		{arrow.Millisecond, at.UnixMilli(), false, true},
	} {
		var out bytes.Buffer
		as := arrow.NewSchema([]arrow.Field{{Name: "a", Type: &arrow.TimestampType{Unit: tt.unit}, Nullable: true}}, nil)
		b := array.NewRecordBuilder(memory.DefaultAllocator, as)
		b.Field(0).(*array.TimestampBuilder).Append(arrow.Timestamp(tt.value))
		rec := b.NewRecordBatch()
		opts := []pqarrow.WriterOption{}
		if tt.int96 {
			opts = append(opts, pqarrow.WithDeprecatedInt96Timestamps(true))
		}
		w, err := pqarrow.NewFileWriter(as, &out, pq.NewWriterProperties(), pqarrow.NewArrowWriterProperties(opts...))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
		if tt.wrong {
			if err := w.AppendKeyValueMetadata("ARROW:schema", nanosSchema(t)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for p, want := range map[int]string{3: "2024-05-01 10:00:00.123", 6: "2024-05-01 10:00:00.123000", 9: "2024-05-01 10:00:00.123000000"} {
			for _, typ := range []types.Type{types.TimestampOf(p), types.TimestampLTZOf(p)} {
				got, err := readAll(t, out.Bytes(), types.Schema{{Name: "a", Type: typ}}, 10)
				if err != nil || len(got) != 1 || got[0] != want {
					t.Errorf("%+v as %s: %q, %v, want %s", tt, typ, got, err, want)
				}
			}
		}
	}
}

// nanosSchema is the text of the metadata ARROW:schema for a column in nanoseconds.
func nanosSchema(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	as := arrow.NewSchema([]arrow.Field{{Name: "a", Type: &arrow.TimestampType{Unit: arrow.Nanosecond}, Nullable: true}}, nil)
	w, err := pqarrow.NewFileWriter(as, &out, pq.NewWriterProperties(), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := file.NewParquetReader(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	v := r.MetaData().KeyValueMetadata().FindValue("ARROW:schema")
	if v == nil {
		t.Fatal("no Arrow schema")
	}
	if _, err := base64.StdEncoding.DecodeString(*v); err != nil {
		t.Fatal(err)
	}
	return *v
}

// TestInt96 reads the values of int96_from_spark.parquet of case FM-08.
func TestInt96(t *testing.T) {
	day := func(days int64, nanos uint64) (v pq.Int96) {
		v.SetNanoSeconds(int64(nanos))
		v2 := uint32(days + julianEpoch)
		v[8], v[9], v[10], v[11] = byte(v2), byte(v2>>8), byte(v2>>16), byte(v2>>24)
		return v
	}
	us := func(us int64) pq.Int96 {
		d := types.FloorDiv(us, types.MicrosPerDay)
		return day(d, uint64(us-d*types.MicrosPerDay)*1000)
	}
	want := []int64{1704141296123456, 1704070800000000, 253402225200000000, 1735599600000000}
	var out bytes.Buffer
	node := schema.NewInt96Node("a", pq.Repetitions.Optional, -1)
	root, err := schema.NewGroupNode("schema", pq.Repetitions.Required, schema.FieldList{node}, -1)
	if err != nil {
		t.Fatal(err)
	}
	write := func(values []pq.Int96, levels []int16) []byte {
		out.Reset()
		w := file.NewParquetWriter(&out, root)
		for range 2 { // two row groups
			group, err := w.AppendRowGroupChecked()
			if err != nil {
				t.Fatal(err)
			}
			cw, err := group.NextColumn()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := cw.(*file.Int96ColumnChunkWriter).WriteBatch(values, levels, nil); err != nil {
				t.Fatal(err)
			}
			if err := cw.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return bytes.Clone(out.Bytes())
	}
	data := write([]pq.Int96{us(want[0]), us(want[1]), us(want[2]), us(want[3])}, []int16{1, 1, 1, 1, 0})
	s := types.Schema{{Name: "a", Type: types.TimestampOf(6)}}
	for _, rows := range []int{1, 3, 100} {
		got, err := readAll(t, data, s, rows)
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		for range 2 {
			for _, v := range want {
				text = append(text, string(types.AppendTimestamp(nil, v, 6)))
			}
			text = append(text, "NULL")
		}
		conntest.Equal(t, got, text)
	}
	// The year 290000 is exact in microseconds, and an error in nanoseconds.
	far := write([]pq.Int96{us(9089380393200000000)}, []int16{1})
	got, err := readAll(t, far, s, 10)
	if err != nil || got[0] != string(types.AppendTimestamp(nil, 9089380393200000000, 6)) {
		t.Fatalf("%q, %v", got, err)
	}
	_, err = readAll(t, far, types.Schema{{Name: "a", Type: types.TimestampOf(9)}}, 10)
	if err == nil || !strings.HasPrefix(err.Error(), "f: row 1, column a: the timestamp 9089380393200000000 us is out of range") {
		t.Fatal(err)
	}
}

func TestMisfits(t *testing.T) {
	as := arrow.NewSchema([]arrow.Field{{Name: "l", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, as)
	b.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 1 << 40}, nil)
	b.Field(1).(*array.StringBuilder).AppendValues([]string{"abc", ""}, []bool{true, false})
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(as, &out, pq.NewWriterProperties(), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		typ  types.Type
		want string
	}{
		{"l", types.IntType, "f: row 2, column l: 1099511627776 does not fit INT"},
		{"l", types.StringType, "f: column l is int64 in the file, which does not fit STRING; declare the column as it is in the file"},
		{"l", types.TimestampOf(3), "f: column l is int64 in the file, which does not fit TIMESTAMP(3); declare it as BIGINT and compute TO_TIMESTAMP_LTZ(column, 3) from it"},
		{"L", types.BigIntType, "f: the file has no column 'L' (names are compared with case); did you mean 'l'?"},
		{"s", types.VarCharOf(2), "f: row 1, column s: the text has 3 characters, which does not fit VARCHAR(2)"},
		{"s", types.StringType.NotNull(), "f: row 2, column s: NULL in a column that is NOT NULL"},
	} {
		_, err := readAll(t, out.Bytes(), types.Schema{{Name: tt.name, Type: tt.typ}}, 10)
		if fmt.Sprint(err) != tt.want {
			t.Errorf("%s %s:\n got %v\nwant %s", tt.name, tt.typ, err, tt.want)
		}
	}
	got, err := readAll(t, out.Bytes(), types.Schema{{Name: "l", Type: types.DecimalOf(20, 2)}}, 10)
	if err != nil {
		t.Fatal(err)
	}
	conntest.Equal(t, got, []string{"1.00", "1099511627776.00"})
}
