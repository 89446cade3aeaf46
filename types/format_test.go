package types

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

func TestJavaFloatText(t *testing.T) {
	for want, v := range map[string]float64{
		"1.0": 1, "0.0": 0, "0.1": 0.1, "1.0E7": 1e7, "9999999.0": 9999999, "0.001": 0.001, "1.0E-4": 1e-4, "9.999E-4": 9.999e-4, "1.23456789E8": 123456789,
		"0.30000000000000004": 0.30000000000000004, "1.0E21": 1e21, "1.0E100": 1e100, "123456.789": 123456.789, "-0.001": -0.001, "Infinity": math.Inf(1),
		"-Infinity": math.Inf(-1), "NaN": math.NaN(), "1.7976931348623157E308": math.MaxFloat64, "4.9E-324": math.SmallestNonzeroFloat64,
		"0.002": 2e-3, "-2.5": -2.5, "2.2250738585072014E-308": 2.2250738585072014e-308, "1.0E23": 1e23, "8.41E21": 8.41e21, "2.0E23": 2e23,
		"9.007199254740992E15": 9007199254740993,
	} {
		if got := string(AppendDouble(nil, v)); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	if got := string(AppendDouble(nil, math.Copysign(0, -1))); got != "-0.0" {
		t.Error(got)
	}
	for want, v := range map[string]float32{"1.5": 1.5, "0.1": 0.1, "1.0E10": 1e10, "3.4E38": 3.4e38, "1.4E-45": math.SmallestNonzeroFloat32,
		"3.4028235E38": math.MaxFloat32, "7.25": 7.25, "1.6777216E7": 1 << 24} {
		if got := string(AppendFloat(nil, v)); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

func FuzzDoubleText(f *testing.F) {
	for _, v := range []float64{0, 1, 0.1, 1e7, 1e-3, 4.9e-324, math.MaxFloat64, 2e23} {
		f.Add(math.Float64bits(v))
	}
	f.Fuzz(func(t *testing.T, bits uint64) {
		v := math.Float64frombits(bits)
		s := AppendDouble(nil, v)
		back, err := ParseDouble(s)
		if err != nil || back != v && !math.IsNaN(v) {
			t.Errorf("%v prints as %s, which reads as %v, %v", v, s, back, err)
		}
		v32 := math.Float32frombits(uint32(bits))
		s = AppendFloat(nil, v32)
		back32, err := ParseFloat(s)
		if err != nil || back32 != v32 && v32 == v32 {
			t.Errorf("%v prints as %s, which reads as %v, %v", v32, s, back32, err)
		}
	})
}

func TestFormat(t *testing.T) {
	ts := us(t, "2024-05-01 10:00:00.123456")
	tokyo, err := LoadZone("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		v    any
		t    Type
		want string
	}{
		{nil, IntType, "NULL"},
		{true, BooleanType, "TRUE"},
		{false, BooleanType, "FALSE"},
		{int8(-7), TinyIntType, "-7"},
		{int16(300), SmallIntType, "300"},
		{int32(math.MinInt32), IntType, "-2147483648"},
		{int64(math.MinInt64), BigIntType, "-9223372036854775808"},
		{DecOf(9870, 3), DecimalOf(5, 3), "9.870"},
		{DecOf(-5, 3), DecimalOf(5, 3), "-0.005"},
		{"héé  ", CharOf(5), "héé  "},
		{[]byte("AB"), BytesType, "AB"},
		{DateVal(-1), DateType, "1969-12-31"},
		{DateVal(DaysFromCivil(0, 1, 1)), DateType, "0000-01-01"},
		{TimeVal(36_672_120), TimeOf(0), "10:11:12"},
		{TimeVal(36_672_120), TimeOf(3), "10:11:12.12"},
		{TimeVal(36_672_000), TimeOf(3), "10:11:12.0"},
		{TimeVal(36_672_003), TimeOf(3), "10:11:12.003"},
		{TimeVal(36_672_003), TimeOf(1), "10:11:12.0"},
		{TimeVal(36_672_123), TimeOf(6), "10:11:12.123"},
		{TimestampVal(ts), TimestampOf(0), "2024-05-01 10:00:00"},
		{TimestampVal(ts), TimestampOf(3), "2024-05-01 10:00:00.123"},
		{TimestampVal(ts), TimestampOf(6), "2024-05-01 10:00:00.123456"},
		{TimestampVal(ts*1000 + 789), TimestampOf(9), "2024-05-01 10:00:00.123456789"},
		{TimestampVal(-1), TimestampOf(6), "1969-12-31 23:59:59.999999"},
		{TimestampVal(-1), TimestampOf(9), "1969-12-31 23:59:59.999999999"},
		{TimestampVal(ts), TimestampLTZOf(3), "2024-05-01 19:00:00.123"},
		{TimestampVal(ts*1000 + 789), TimestampLTZOf(9), "2024-05-01 19:00:00.123456789"},
		{MonthsVal(29), YearMonthType, "+2-05"},
		{MonthsVal(-5), YearMonthType, "-0-05"},
		{MonthsVal(math.MinInt32), YearMonthType, "-178956970-08"},
		{DurationVal(123_456_789_000), DayTimeType, "+1 10:17:36.789"},
		{DurationVal(-1_500_000), DayTimeType, "-0 00:00:01.500"},
		{DurationVal(1_000_001), DayTimeType, "+0 00:00:01.000001"},
		{DurationVal(math.MinInt64), DayTimeType, "-106751991 04:00:54.775808"},
		{[]any{int32(1), nil}, ArrayOf(IntType), "[1, NULL]"},
		{[]any{}, ArrayOf(IntType), "[]"},
		{MapVal{{"a", int32(1)}, {"b", nil}, {nil, int32(2)}}, MapOf(StringType, IntType), "{a=1, b=NULL, NULL=2}"},
		{MapVal{{"a", int32(2)}}, MultisetOf(StringType), "{a=2}"},
		{RowVal{int32(1), "x", nil, []any{[]byte{0xff}}}, RowOf(Field{"a", IntType}, Field{"b", StringType}, Field{"c", IntType},
			Field{"d", ArrayOf(BytesType)}), "(1, x, NULL, [\uFFFD])"},
	}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	for _, tt := range tests {
		if got := Format(tt.v, tt.t, tokyo); got != tt.want {
			t.Errorf("Format(%v, %s) = %q, want %q", tt.v, tt.t, got, tt.want)
		}
		b := NewBuilder(mem, tt.t)
		if err := Append(b, tt.v, tt.t); err != nil {
			t.Error(err)
		}
		arr := b.NewArray()
		b.Release()
		if got := string(AppendFormat([]byte("<"), arr, 0, tt.t, tokyo)); got != "<"+tt.want {
			t.Errorf("AppendFormat(%v, %s) = %q, want %q", tt.v, tt.t, got, tt.want)
		}
		if got, want := string(AppendDisplay(nil, arr, 0, tt.t, tokyo)), Display(tt.v, tt.t, tokyo); got != want {
			t.Errorf("AppendDisplay %s, Display %s", got, want)
		}
		arr.Release()
	}
	if got := Display([]byte{0x0a, 0xff}, BytesType, nil); got != "x'0aff'" {
		t.Error(got)
	}
	if got := Display([]any{[]byte{1}}, ArrayOf(BytesType), nil); got != "[x'01']" {
		t.Error(got)
	}
}

// FuzzTimestampText prints random timestamps and reads them back, and compares with package time.
func FuzzTimestampText(f *testing.F) {
	f.Add(int64(0))
	f.Add(int64(-1))
	f.Add(int64(1714557600123456))
	f.Fuzz(func(t *testing.T, v int64) {
		lo, hi := int64(-62135596800)*MicrosPerSecond, int64(253402300800)*MicrosPerSecond // years 1 to 9999
		v = lo + FloorMod(v, hi-lo)
		s := AppendTimestamp(nil, v, 6)
		if want := time.UnixMicro(v).UTC().Format("2006-01-02 15:04:05.000000"); string(s) != want {
			t.Fatalf("%d prints as %s, want %s", v, s, want)
		}
		for p := range 7 {
			got, err := ParseTimestamp(s, p)
			if want := v - FloorMod(v, cutUnit[p]); err != nil || got != want {
				t.Fatalf("%s reads as %d, %v; want %d at precision %d", s, got, err, want, p)
			}
		}
		d, err := ParseDate(s[:10])
		if err != nil || int64(d) != FloorDiv(v, MicrosPerDay) {
			t.Fatalf("%s reads as day %d, %v", s[:10], d, err)
		}
		ms, err := ParseTime(s[11:23], 3)
		if err != nil || int64(ms) != FloorMod(v, MicrosPerDay)/1000 {
			t.Fatalf("%s reads as %d ms, %v", s[11:23], ms, err)
		}
	})
}

func BenchmarkFormat(b *testing.B) {
	buf := make([]byte, 0, 64)
	b.Run("timestamp", func(b *testing.B) {
		for b.Loop() {
			buf = AppendTimestamp(buf[:0], 1714557600123456, 3)
		}
	})
	b.Run("double", func(b *testing.B) {
		for b.Loop() {
			buf = AppendDouble(buf[:0], 123456.789)
		}
	})
	b.Run("decimal", func(b *testing.B) {
		d := DecOf(123456789, 3)
		for b.Loop() {
			buf = d.AppendTo(buf[:0])
		}
	})
	b.Run("strconvDouble", func(b *testing.B) {
		for b.Loop() {
			buf = strconv.AppendFloat(buf[:0], 123456.789, 'f', -1, 64)
		}
	})
}
