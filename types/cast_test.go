package types

import (
	"math"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

func TestCast(t *testing.T) {
	berlin, err := LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(s string) TimestampVal { return TimestampVal(us(t, s)) }
	day := func(s string) DateVal {
		d, err := ParseDate([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return DateVal(d)
	}
	tests := []struct {
		v        any
		from, to Type
		want     string // as Format prints it, in Berlin
		err      string
	}{
		{int32(300), IntType, TinyIntType.NotNull(), "", "value 300 does not fit TINYINT"},
		{int64(1) << 40, BigIntType, IntType, "", "value 1099511627776 does not fit INT"},
		{1e10, DoubleType, IntType, "", "value 1.0E10 does not fit INT"},
		{math.NaN(), DoubleType, BigIntType, "", "value NaN does not fit BIGINT"},
		{9223372036854775807.0, DoubleType, BigIntType, "", "value 9.223372036854776E18 does not fit BIGINT"},
		{-9223372036854775808.0, DoubleType, BigIntType, "-9223372036854775808", ""},
		{2147483647.9, DoubleType, IntType, "2147483647", ""},
		{-2147483648.9, DoubleType, IntType, "-2147483648", ""},
		{DecOf(100000, 2), DecimalOf(6, 2), DecimalOf(5, 2), "", "value 1000.00 does not fit DECIMAL(5, 2)"},
		{DecOf(99999, 2), DecimalOf(6, 2), DecimalOf(3, 0), "", "value 999.99 does not fit DECIMAL(3, 0)"},
		{DecOf(25, 1), DecimalOf(2, 1), DecimalOf(2, 0), "3", ""},
		{float32(0.1), FloatType, DecimalOf(20, 18), "0.100000001490116120", ""},
		{0.1, DoubleType, DecimalOf(30, 28), "0.1000000000000000000000000000", ""},
		{float32(0.1), FloatType, DoubleType, "0.10000000149011612", ""},
		{DecOf(167772175, 1), DecimalOf(10, 1), FloatType, "1.6777218E7", ""},
		{int64(9007199791611905), BigIntType, FloatType, "9.0072E15", ""},
		{"x", StringType, IntType, "", "not an INT: 'x'"},
		{int32(1), IntType, DateType, "", "cannot cast INT to DATE"},
		// Zones: measured on Flink.
		{at("2024-03-31 02:30:00"), TimestampOf(3), TimestampLTZOf(3), "2024-03-31 03:30:00.000", ""},
		{at("2024-10-27 00:30:00"), TimestampLTZOf(3), TimestampOf(3), "2024-10-27 02:30:00.000", ""},
		{at("2024-10-27 01:30:00"), TimestampLTZOf(3), TimestampOf(3), "2024-10-27 02:30:00.000", ""},
		{at("2024-05-01 22:30:00"), TimestampLTZOf(3), DateType, "2024-05-02", ""},
		{at("2024-05-01 22:30:00"), TimestampLTZOf(3), TimeOf(0), "00:30:00", ""},
		{at("2024-05-01 22:30:00"), TimestampLTZOf(3), StringType, "2024-05-02 00:30:00.000", ""},
		{"2024-05-02 00:30:00", StringType, TimestampLTZOf(0), "2024-05-02 00:30:00", ""},
		{day("2024-05-01"), DateType, TimestampLTZOf(3), "2024-05-01 00:00:00.000", ""},
		{TimeVal(36_672_120), TimeOf(3), TimestampOf(3), "1970-01-01 10:11:12.120", ""},
		{TimeVal(36_672_120), TimeOf(3), TimestampLTZOf(3), "1970-01-01 10:11:12.120", ""},
		{TimeVal(36_672_120), TimeOf(3), TimeOf(1), "10:11:12.1", ""},
		{at("1969-12-31 23:59:59.5"), TimestampOf(6), DateType, "1969-12-31", ""},
		{at("1969-12-31 23:59:59.5"), TimestampOf(6), TimeOf(3), "23:59:59.5", ""},
		{at("1969-12-31 23:59:59.5"), TimestampOf(6), TimestampOf(0), "1969-12-31 23:59:59", ""},
		{at("2024-05-01 10:00:00.123456"), TimestampOf(6), TimestampLTZOf(9), "2024-05-01 10:00:00.123456000", ""},
		{at("2400-01-01 00:00:00"), TimestampOf(6), TimestampOf(9), "",
			"2400-01-01 00:00:00.000000 does not fit TIMESTAMP(9): out of the range of nanoseconds, 1677 to 2262"},
		{day("2400-01-01"), DateType, TimestampOf(9), "",
			"2400-01-01 00:00:00.000000 does not fit TIMESTAMP(9): out of the range of nanoseconds, 1677 to 2262"},
		{TimestampVal(math.MaxInt64), TimestampLTZOf(9), TimestampOf(9), "", "value 2262-04-12 01:47:16.854775807 does not fit TIMESTAMP(9)"},
		// Nested.
		{[]any{"1", nil, " 2 "}, ArrayOf(StringType), ArrayOf(IntType), "[1, NULL, 2]", ""},
		{[]any{"x"}, ArrayOf(StringType), ArrayOf(IntType), "", "not an INT: 'x'"},
		{[]any{"x"}, ArrayOf(StringType), IntType, "", "cannot cast ARRAY<STRING> to INT"},
		{MapVal{{"1", int32(2)}, {"01", int32(3)}}, MapOf(StringType, IntType), MapOf(IntType, StringType), "{1=3}", ""},
		{MapVal{{"1", int32(2)}, {"01", int32(3)}}, MultisetOf(StringType), MultisetOf(IntType), "{1=5}", ""},
		{RowVal{int32(1), "y"}, RowOf(Field{"a", IntType}, Field{"b", StringType}), RowOf(Field{"c", StringType}, Field{"d", CharOf(2)}), "(1, y )", ""},
		{RowVal{int32(1), "y"}, RowOf(Field{"a", IntType}, Field{"b", StringType}), RowOf(Field{"c", StringType}, Field{"d", IntType}), "", "field d: not an INT: 'y'"},
		{RowVal{int32(1)}, RowOf(Field{"a", IntType}), RowOf(), "", "cannot cast ROW<`a` INT> to ROW<>"},
		{nil, StringType, IntType, "NULL", ""},
		{nil, NullType, ArrayOf(IntType), "NULL", ""},
	}
	for _, tt := range tests {
		got, err := Cast(tt.v, tt.from, tt.to, berlin)
		if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("Cast(%v, %s, %s): %v, want %s", tt.v, tt.from, tt.to, err, tt.err)
			continue
		}
		if err == nil && Format(got, tt.to, berlin) != tt.want {
			t.Errorf("Cast(%v, %s, %s) = %s, want %s", tt.v, tt.from, tt.to, Format(got, tt.to, berlin), tt.want)
		}
	}
	// A LTZ of the overlap is the earlier instant, measured on Flink.
	if got, err := Cast(at("2024-10-27 02:30:00"), TimestampOf(6), TimestampLTZOf(6), berlin); err != nil || got != at("2024-10-27 00:30:00") {
		t.Error(got, err)
	}
}

// TestCastGoTypes checks that a cast gives the canonical Go type: the value goes into a builder of the type.
func TestCastGoTypes(t *testing.T) {
	for _, s := range samples {
		for _, to := range samples {
			if !CanCast(s.t, to.t) {
				continue
			}
			for _, v := range s.vals {
				got, err := Cast(v, s.t, to.t, time.UTC)
				if err != nil {
					continue // the matrix has what fails
				}
				b := NewBuilder(memory.DefaultAllocator, to.t)
				if err := Append(b, got, to.t); err != nil {
					t.Errorf("%v from %s to %s: %v", v, s.t, to.t, err)
				}
				b.Release()
			}
		}
	}
}
