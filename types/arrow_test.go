package types

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// samples has, for each kind, values in canonical form; Compare must order them as they stand.
var samples = []struct {
	t    Type
	vals []any
}{
	{NullType, []any{nil}},
	{BooleanType, []any{nil, false, true}},
	{TinyIntType, []any{nil, int8(-128), int8(5)}},
	{SmallIntType, []any{int16(-300), int16(5)}},
	{IntType, []any{int32(-300), int32(5)}},
	{BigIntType, []any{int64(-1 << 63), int64(5)}},
	{DecimalOf(5, 2), []any{nil, DecOf(-12345, 2), DecOf(1, 2)}},
	{FloatType, []any{float32(-1.5), float32(2)}},
	{DoubleType, []any{nil, -1.5, 2.0}},
	{CharOf(3), []any{"", "a  ", "é  "}},
	{StringType, []any{nil, "", "a", "ab", "b"}},
	{BinaryOf(2), []any{[]byte{0, 1}, []byte{255, 0}}},
	{BytesType, []any{nil, []byte{}, []byte{1}}},
	{DateType, []any{DateVal(-1), DateVal(19000)}},
	{TimeOf(3), []any{TimeVal(0), TimeVal(86399999)}},
	{TimestampOf(3), []any{TimestampVal(-1000), TimestampVal(0)}},
	{TimestampOf(9), []any{TimestampVal(-1), TimestampVal(1)}},
	{TimestampLTZOf(6), []any{TimestampVal(-1), TimestampVal(1)}},
	{TimestampLTZOf(8), []any{TimestampVal(-10), TimestampVal(10)}},
	{YearMonthType, []any{MonthsVal(-5), MonthsVal(5)}},
	{DayTimeType, []any{DurationVal(-5), DurationVal(5)}},
	{ArrayOf(IntType), []any{nil, []any{}, []any{nil}, []any{int32(1)}, []any{int32(1), int32(2)}, []any{int32(2)}}},
	{MapOf(StringType, ArrayOf(IntType)), []any{nil, MapVal{}, MapVal{{nil, nil}}, MapVal{{"a", []any{int32(1)}}}, MapVal{{"a", []any{int32(1)}}, {"b", nil}}}},
	{MultisetOf(StringType), []any{MapVal{{"a", int32(1)}}, MapVal{{"a", int32(2)}}}},
	{RowOf(Field{"a", IntType}, Field{"b", RowOf(Field{"c", StringType})}), []any{nil, RowVal{nil, nil}, RowVal{int32(1), RowVal{nil}}, RowVal{int32(1), RowVal{"x"}}}},
}

func TestArrowRoundTrip(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	for _, s := range samples {
		b, copied := NewBuilder(mem, s.t), NewBuilder(mem, s.t)
		for _, v := range s.vals {
			if err := Append(b, v, s.t); err != nil {
				t.Fatalf("%s: %v", s.t, err)
			}
		}
		arr := b.NewArray()
		if !arrow.TypeEqual(arr.DataType(), s.t.Arrow()) {
			t.Errorf("%s: array of %s, want %s", s.t, arr.DataType(), s.t.Arrow())
		}
		part := array.NewSlice(arr, int64(len(s.vals)-1), int64(len(s.vals)))
		for i, v := range s.vals {
			got := Get(arr, i, s.t)
			if Compare(got, v) != 0 || (got == nil) != (v == nil) {
				t.Errorf("%s: element %d is %v, want %v", s.t, i, got, v)
			}
			for j, w := range s.vals {
				if got, want := Compare(v, w), cmpOrdered(i, j); got != want {
					t.Errorf("%s: Compare(%v, %v) = %d", s.t, v, w, got)
				}
			}
			AppendFrom(copied, arr, i)
		}
		if got, want := Get(part, 0, s.t), s.vals[len(s.vals)-1]; Compare(got, want) != 0 {
			t.Errorf("%s: slice has %v, want %v", s.t, got, want)
		}
		again := copied.NewArray()
		if !array.Equal(arr, again) {
			t.Errorf("%s: AppendFrom gives %s, want %s", s.t, again, arr)
		}
		back, err := FromArrow(s.t.Arrow())
		if err != nil || !arrow.TypeEqual(back.Arrow(), s.t.Arrow()) || !arrow.TypeEqual(s.t.Arrow(), back.Arrow()) {
			t.Errorf("FromArrow(%s) = %s, %v", s.t.Arrow(), back, err)
		}
		if s.t.Kind != Null {
			bad := any("x")
			if s.t.IsText() {
				bad = 1
			}
			if err := Append(b, bad, s.t); err == nil {
				t.Errorf("%s takes %v", s.t, bad)
			}
		}
		for _, r := range []interface{ Release() }{part, arr, again, b, copied} {
			r.Release()
		}
	}
	b := NewBuilder(mem, DecimalOf(5, 2))
	defer b.Release()
	if err := Append(b, DecOf(1, 3), DecimalOf(5, 2)); err == nil {
		t.Error("a value of scale 3 in a column of scale 2")
	}
}

func TestFromArrow(t *testing.T) {
	for _, tt := range []struct {
		dt   arrow.DataType
		want string
	}{
		{arrow.PrimitiveTypes.Uint8, "SMALLINT"}, {arrow.PrimitiveTypes.Uint16, "INT"}, {arrow.PrimitiveTypes.Uint32, "BIGINT"},
		{arrow.PrimitiveTypes.Uint64, "DECIMAL(20, 0)"}, {arrow.FixedWidthTypes.Float16, "FLOAT"}, {&arrow.Decimal256Type{Precision: 38, Scale: 4}, "DECIMAL(38, 4)"},
		{&arrow.Decimal128Type{Precision: 7, Scale: 2}, "DECIMAL(7, 2)"}, {arrow.BinaryTypes.LargeString, "STRING"}, {arrow.BinaryTypes.StringView, "STRING"},
		{arrow.BinaryTypes.LargeBinary, "BYTES"}, {&arrow.FixedSizeBinaryType{ByteWidth: 16}, "BINARY(16)"}, {arrow.FixedWidthTypes.Date64, "DATE"},
		{arrow.FixedWidthTypes.Time32s, "TIME(0)"}, {arrow.FixedWidthTypes.Time64us, "TIME(6)"}, {arrow.FixedWidthTypes.Time64ns, "TIME(9)"},
		{&arrow.TimestampType{Unit: arrow.Second}, "TIMESTAMP(0)"}, {&arrow.TimestampType{Unit: arrow.Millisecond}, "TIMESTAMP(3)"},
		{&arrow.TimestampType{Unit: arrow.Microsecond}, "TIMESTAMP(6)"}, {&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "Europe/Berlin"}, "TIMESTAMP_LTZ(9)"},
		{arrow.FixedWidthTypes.Duration_ns, "INTERVAL SECOND(3)"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, "STRING"},
		{arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), "MAP<STRING, INT>"},
		{arrow.LargeListOf(arrow.PrimitiveTypes.Int32), "ARRAY<INT>"}, {arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int32), "ARRAY<INT>"},
		{arrow.StructOf(arrow.Field{Name: "key", Type: arrow.PrimitiveTypes.Int8}), "ROW<`key` TINYINT>"},
		{arrow.ListOf(arrow.StructOf(arrow.Field{Name: "key", Type: arrow.PrimitiveTypes.Int8}, arrow.Field{Name: "value", Type: arrow.PrimitiveTypes.Int8})),
			"ARRAY<ROW<`key` TINYINT, `value` TINYINT>>"},
		{MapOf(IntType, StringType).Arrow(), "MAP<INT, STRING>"},
	} {
		if got, err := FromArrow(tt.dt); err != nil || got.String() != tt.want {
			t.Errorf("FromArrow(%s) = %s, %v; want %s", tt.dt, got, err, tt.want)
		}
	}
	for _, dt := range []arrow.DataType{&arrow.Decimal256Type{Precision: 50, Scale: 4}, &arrow.Decimal128Type{Precision: 5, Scale: -2},
		arrow.FixedWidthTypes.MonthDayNanoInterval, arrow.ListOf(arrow.FixedWidthTypes.DayTimeInterval)} {
		if got, err := FromArrow(dt); err == nil {
			t.Errorf("FromArrow(%s) = %s", dt, got)
		}
	}
}

func TestSchemaArrow(t *testing.T) {
	s := Schema{{"a", IntType.NotNull()}, {"b", ArrayOf(IntType.NotNull())}}
	got := s.Arrow()
	if f := got.Field(0); f.Name != "a" || f.Nullable || f.Type.ID() != arrow.INT32 {
		t.Error(f)
	}
	if f := got.Field(1); !f.Nullable || !arrow.TypeEqual(f.Type, ArrayOf(IntType).Arrow()) {
		t.Error("the Arrow type of an array depends on the nullability of its elements")
	}
	if s.Index("b") != 1 || s.Index("B") != -1 || s.Names()[0] != "a" {
		t.Error("names")
	}
}
