package types

import "testing"

// All answers are those of a real Flink 2.3: EXPLAIN INSERT, and DESCRIBE of a view over CASE, UNION ALL and COALESCE.

var coerceTypes = []Type{
	BooleanType, TinyIntType, SmallIntType, IntType, BigIntType, DecimalOf(10, 2), DecimalOf(38, 18), FloatType, DoubleType, CharOf(3), CharOf(5), VarCharOf(7),
	StringType, BinaryOf(2), VarBinaryOf(4), BytesType, DateType, TimeOf(0), TimestampOf(3), TimestampOf(6), TimestampLTZOf(3),
	ArrayOf(IntType), ArrayOf(BigIntType), MapOf(StringType, IntType), MultisetOf(IntType), RowOf(Field{"a", IntType}), RowOf(Field{"b", BigIntType}),
}

func TestImplicit(t *testing.T) {
	want := map[string][]string{
		"TINYINT":          {"SMALLINT", "INT", "BIGINT", "DECIMAL(10, 2)", "DECIMAL(38, 18)", "FLOAT", "DOUBLE"},
		"SMALLINT":         {"INT", "BIGINT", "DECIMAL(10, 2)", "DECIMAL(38, 18)", "FLOAT", "DOUBLE"},
		"INT":              {"BIGINT", "DECIMAL(10, 2)", "DECIMAL(38, 18)", "FLOAT", "DOUBLE"},
		"BIGINT":           {"DECIMAL(10, 2)", "DECIMAL(38, 18)", "FLOAT", "DOUBLE"},
		"DECIMAL(10, 2)":   {"DECIMAL(38, 18)", "FLOAT", "DOUBLE"},
		"DECIMAL(38, 18)":  {"DECIMAL(10, 2)", "FLOAT", "DOUBLE"},
		"FLOAT":            {"DECIMAL(10, 2)", "DECIMAL(38, 18)", "DOUBLE"},
		"DOUBLE":           {"DECIMAL(10, 2)", "DECIMAL(38, 18)"},
		"CHAR(3)":          {"CHAR(5)", "VARCHAR(7)", "STRING"},
		"CHAR(5)":          {"CHAR(3)", "VARCHAR(7)", "STRING"},
		"VARCHAR(7)":       {"STRING"},
		"STRING":           {"VARCHAR(7)"},
		"BINARY(2)":        {"VARBINARY(4)", "BYTES"},
		"VARBINARY(4)":     {"BYTES"},
		"BYTES":            {"VARBINARY(4)"},
		"TIMESTAMP(3)":     {"DATE", "TIME(0)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(3)"},
		"TIMESTAMP(6)":     {"DATE", "TIME(0)", "TIMESTAMP(3)", "TIMESTAMP_LTZ(3)"},
		"TIMESTAMP_LTZ(3)": {"TIMESTAMP(3)", "TIMESTAMP(6)"},
		"ARRAY<INT>":       {"ARRAY<BIGINT>"},
		"ROW<`a` INT>":     {"ROW<`b` BIGINT>"},
	}
	for i, from := range coerceTypes {
		yes := map[string]bool{from.String(): true}
		for _, s := range want[from.String()] {
			yes[s] = true
		}
		for j, to := range coerceTypes {
			if got := Implicit(from, to); got != yes[to.String()] {
				t.Errorf("Implicit(%s, %s) = %v", from, to, got)
			}
			if i != j && Implicit(from, to) && !CanCast(from, to) {
				t.Errorf("Implicit(%s, %s) without CanCast", from, to)
			}
		}
		if !Implicit(NullType, from) {
			t.Errorf("NULL is not for %s", from)
		}
	}
}

func TestCommon(t *testing.T) {
	tests := []struct {
		a, b       Type
		want, args string // "" is none; args only where it differs
	}{
		{TinyIntType, SmallIntType, "SMALLINT", ""},
		{BigIntType, TinyIntType, "BIGINT", ""},
		{TinyIntType, DecimalOf(10, 2), "DECIMAL(10, 2)", ""},
		{IntType, DecimalOf(10, 2), "DECIMAL(12, 2)", ""},
		{DecimalOf(10, 2), BigIntType, "DECIMAL(21, 2)", ""},
		{BigIntType, DecimalOf(38, 18), "DECIMAL(38, 18)", ""},
		{DecimalOf(10, 2), DecimalOf(38, 18), "DECIMAL(38, 18)", ""},
		{DecimalOf(38, 0), DecimalOf(20, 18), "DECIMAL(38, 0)", ""},
		{BigIntType, FloatType, "FLOAT", ""},
		{DoubleType, IntType, "DOUBLE", ""},
		{FloatType, DoubleType, "FLOAT", "DOUBLE"},
		{DoubleType, FloatType, "DOUBLE", ""},
		{DecimalOf(10, 2), FloatType, "DOUBLE", "FLOAT"},
		{FloatType, DecimalOf(10, 2), "DOUBLE", ""},
		{DecimalOf(10, 2), DoubleType, "DOUBLE", ""},
		{CharOf(5), CharOf(5), "CHAR(5)", ""},
		{CharOf(3), CharOf(5), "VARCHAR(5)", ""},
		{CharOf(3), VarCharOf(7), "VARCHAR(7)", ""},
		{StringType, CharOf(3), "STRING", ""},
		{BinaryOf(2), BinaryOf(3), "VARBINARY(3)", ""},
		{BinaryOf(2), BytesType, "BYTES", ""},
		{TimeOf(0), TimeOf(3), "TIME(3)", ""},
		{TimestampOf(3), TimestampOf(6), "TIMESTAMP(6)", ""},
		{TimestampOf(3), TimestampLTZOf(3), "TIMESTAMP(3)", "TIMESTAMP_LTZ(3)"},
		{TimestampLTZOf(3), TimestampOf(3), "TIMESTAMP_LTZ(3)", ""},
		{TimestampOf(6), TimestampLTZOf(3), "TIMESTAMP_LTZ(6)", ""},
		{TimestampLTZOf(3), TimestampOf(6), "TIMESTAMP(6)", "TIMESTAMP_LTZ(6)"},
		{TimestampOf(3), TimestampLTZOf(6), "TIMESTAMP_LTZ(6)", ""},
		{TimestampLTZOf(6), TimestampOf(3), "TIMESTAMP(6)", "TIMESTAMP_LTZ(6)"},
		{ArrayOf(IntType), ArrayOf(BigIntType), "ARRAY<BIGINT>", ""},
		{MapOf(StringType, IntType), MapOf(CharOf(2), BigIntType), "MAP<STRING, BIGINT>", ""},
		{MultisetOf(IntType), MultisetOf(BigIntType), "MULTISET<BIGINT>", ""},
		{RowOf(Field{"x", IntType}, Field{"y", StringType}), RowOf(Field{"x", BigIntType}, Field{"z", CharOf(3)}), "ROW<`x` BIGINT, `y` STRING>", ""},
		{NullType, IntType.NotNull(), "INT", ""},
		{IntType.NotNull(), IntType.NotNull(), "INT NOT NULL", ""},
		{StringType, IntType, "", ""},
		{BooleanType, IntType, "", ""},
		{DateType, TimestampOf(3), "", ""},
		{DateType, TimeOf(0), "", ""},
		{StringType, BytesType, "", ""},
		{ArrayOf(IntType), ArrayOf(StringType), "", ""},
		{ArrayOf(IntType), MultisetOf(IntType), "", ""},
		{YearMonthType, DayTimeType, "", ""},
		{RowOf(Field{"x", IntType}), RowOf(Field{"x", IntType}, Field{"y", IntType}), "", ""},
		{Type{}, IntType, "", ""},
	}
	str := func(u Type, ok bool) string {
		if !ok {
			return ""
		}
		return u.String()
	}
	for _, tt := range tests {
		if got := str(Common(tt.a, tt.b)); got != tt.want {
			t.Errorf("Common(%s, %s) = %q, want %q", tt.a, tt.b, got, tt.want)
		}
		want := tt.args
		if want == "" {
			want = tt.want
		}
		if got := str(CommonArgs(tt.a, tt.b)); got != want {
			t.Errorf("CommonArgs(%s, %s) = %q, want %q", tt.a, tt.b, got, want)
		}
	}
	if got := str(CommonAll([]Type{TinyIntType, IntType, DecimalOf(3, 1)})); got != "DECIMAL(11, 1)" {
		t.Errorf("CommonAll = %s", got)
	}
	if _, ok := CommonAll(nil); ok {
		t.Error("CommonAll of nothing")
	}
	if got, _ := CommonAll([]Type{TimestampOf(3).WithAttr(Rowtime)}); got.Attr != NoTimeAttr {
		t.Error("CommonAll keeps the time attribute")
	}
}

func TestCompareType(t *testing.T) {
	tests := []struct {
		a, b Type
		want string
	}{
		{IntType, BigIntType, "BIGINT"},
		{IntType, DecimalOf(10, 2), "DECIMAL(12, 2)"},
		{FloatType, FloatType, "FLOAT"},
		{FloatType, BigIntType, "DOUBLE"},
		{FloatType, DoubleType, "DOUBLE"},
		{DecimalOf(3, 1), FloatType, "DOUBLE"},
		{CharOf(3), StringType, "STRING"},
		{StringType, DateType, "DATE"},
		{TimestampOf(3), CharOf(19), "TIMESTAMP(3)"},
		{StringType, BooleanType, "BOOLEAN"},
		{TimestampOf(6), TimestampLTZOf(3), "TIMESTAMP_LTZ(6)"},
		{StringType, IntType, ""},
		{StringType, BytesType, ""},
		{StringType, DayTimeType, ""},
		{DateType, TimestampOf(3), ""},
		{DateType, TimeOf(0), ""},
		{BooleanType, IntType, ""},
		{ArrayOf(IntType), ArrayOf(BigIntType), "ARRAY<BIGINT>"},
	}
	for _, tt := range tests {
		for range 2 {
			got, ok := CompareType(tt.a, tt.b)
			if ok != (tt.want != "") || ok && got.String() != tt.want || Comparable(tt.a, tt.b) != ok {
				t.Errorf("CompareType(%s, %s) = %s, %v", tt.a, tt.b, got, ok)
			}
			tt.a, tt.b = tt.b, tt.a
		}
	}
}
