package types

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestParseValue has the answers of a real Flink 2.3 to TRY_CAST of text (want "" is NULL), but for the rows marked ours.
func TestParseValue(t *testing.T) {
	type row struct{ text, want string }
	ours := func(text, want string) row { return row{text, want} }
	tests := []struct {
		t    Type
		rows []row
	}{
		{BooleanType, []row{{"true", "TRUE"}, {"TRUE", "TRUE"}, {"t", "TRUE"}, {"Yes", "TRUE"}, {"y", "TRUE"}, {"1", "TRUE"}, {"false", "FALSE"}, {"f", "FALSE"},
			{"no", "FALSE"}, {"N", "FALSE"}, {"0", "FALSE"}, {"", ""}, {"x", ""}, {" true ", ""}, {"2", ""}, {"truee", ""}, {"falsey", ""}, {"\x54\x40", ""}}},
		{TinyIntType, []row{{"127", "127"}, {"-128", "-128"}, {"128", ""}, {"-129", ""}, {"99999999999999999999999", ""}}},
		{SmallIntType, []row{{"32767", "32767"}, {"32768", ""}}},
		{IntType, []row{{"1.9", "1"}, {"-1.9", "-1"}, {" 7 ", "7"}, {"+5", "5"}, {"-", ""}, {"", ""}, {"  ", ""}, {"+.5", "0"}, {"5.", "5"}, {"1.5e3", ""}, {"1x", ""},
			{"1 2", ""}, {"1.x", ""}, {"1.2.3", ""}, {"\t1", ""}, {"2147483647", "2147483647"}, {"2147483648", ""}, {"-2147483648", "-2147483648"}, {"--1", ""},
			{"0x10", ""}, {"1_000", ""}, {"０", ""}, {"000000000000000000000000012", "12"}, ours(".", ""), ours("-.", "")}},
		{BigIntType, []row{{"9223372036854775807", "9223372036854775807"}, {"9223372036854775808", ""}, {"-9223372036854775808", "-9223372036854775808"},
			{"-9223372036854775809", ""}, {"18446744073709551616", ""}, {"18446744073709551617", ""}, {"92233720368547758070", ""}}},
		{DoubleType, []row{{"1", "1.0"}, {" 2.5 ", "2.5"}, {"1e3", "1000.0"}, {".5", "0.5"}, {"5.", "5.0"}, {"NaN", "NaN"}, {"+NaN", "NaN"}, {"Infinity", "Infinity"},
			{"-Infinity", "-Infinity"}, {"+Infinity", "Infinity"}, {"infinity", ""}, {"inf", ""}, {"nan", ""}, {"1d", "1.0"}, {"1F", "1.0"}, {"0x1p3", "8.0"}, {"0x10", ""},
			{"1e400", "Infinity"}, {"1e", ""}, {"1,5", ""}, {"--1", ""}, {"1 2", ""}, {"x", ""}, {"", ""}, {"\t1\n", "1.0"}, {"1_0", ""}, {"0x1_0p1", ""}, {"d", ""},
			{"-", ""}, {"-f", ""}, {"1e-400", "0.0"}, {"-0", "-0.0"}, {"1dd", ""}, {".", ""}, {"+", ""}, {"Infinityd", ""}}},
		{FloatType, []row{{"0.1", "0.1"}, {"1e39", "Infinity"}, {"3.4e38", "3.4E38"}, {"16777217", "1.6777216E7"}}},
		{DecimalOf(5, 2), []row{{"1", "1.00"}, {" 2.5 ", "2.50"}, {"1e3", ""}, {"1e2", "100.00"}, {"1.005", "1.01"}, {"1.015", "1.02"}, {"999.994", "999.99"},
			{"-0.005", "-0.01"}, {"-0.004", "0.00"}, {"", ""}, {"NaN", ""}, {"Infinity", ""}, {".5", "0.50"}, {"5.", "5.00"}, {"+.5", "0.50"}, {"1E+2", "100.00"},
			{"1e-2", "0.01"}, {"\t1\n", "1.00"}, {"1d", ""}, {"0x1", ""}, {".", ""}, {"-", ""}, {"1e", ""}, {"1e+", ""}, {"1.5e0.5", ""}, {"0e999999999999", "0.00"},
			{"1e-999999999999", "0.00"}, {"1e999999999999", ""}, {"1.2.3", ""}, {"0.0049999999999999999999999999999999999999999999999999999", "0.00"},
			{"0.0050000000000000000000000000000000000000000000000000000", "0.01"}, {"00000000000000000000000000000000000000000000000001", "1.00"},
			ours("e5", ""), ours("x", ""), ours("999.995", ""), ours("０", "")}},
		{DecimalOf(38, 2), []row{{"99999999999999999999999999999999999999", ""}, {"999999999999999999999999999999999999.99", "999999999999999999999999999999999999.99"}}},
		{DecimalOf(38, 38), []row{{"0.99999999999999999999999999999999999999", "0.99999999999999999999999999999999999999"}, {"1", ""},
			{"0.999999999999999999999999999999999999999", ""}, {"1e-38", "0.00000000000000000000000000000000000001"}}},
		{DateType, []row{{"2024-05-01", "2024-05-01"}, {"123", "0123-01-01"}, {"2024-05", "2024-05-01"}, {"2024-1-1", "2024-01-01"}, {" 2024-05-01 ", "2024-05-01"},
			{"2024-05-01 10:00:00", "2024-05-01"}, {"2024-05-01T10:00:00", ""}, {"2024-02-30", ""}, {"2021/09/27", ""}, {"0000-01-01", "0000-01-01"},
			{"9999-12-31", "9999-12-31"}, {"12345-01-01", ""}, {"+12345-01-01", ""}, {"2024-13-01", ""}, {"2024-04-31", ""}, {"2024-", ""}, {"2024-1-", ""}, {"", ""},
			{"1", "0001-01-01"}, {"\t1\n", "0001-01-01"}, {"2024-05-01-", ""}, {"2024-0a-01", ""}, {"2023-02-29", ""}, {"2024-02-29", "2024-02-29"},
			{"1900-02-29", ""}, {"-2024-01-01", ""}, {"99999999999999999999", ""}}},
		{TimeOf(0), []row{{"10:11:12", "10:11:12"}, {"10:11", "10:11:00"}, {"10", "10:00:00"}, {"1:2:3", "01:02:03"}, {"10:11:12.345", "10:11:12"}, {"24:00:00", ""},
			{"10:60:00", ""}, {"", ""}, {"2024-05-01", ""}, {"2024-05-01 10:00:00", ""}, {" 10:00 ", "10:00:00"}, {"-10:00", ""}, {"10:1:", ""}, {"\t1", "01:00:00"},
			{"10:11:12:13", ""}, {"10.5", ""}, {"23:59:59.9994", "23:59:59"}, ours("10:00:00+02:00", ""), ours("23:59:59.9996", "")}},
		{TimeOf(3), []row{{"10:11:12.12", "10:11:12.12"}, {"10:11:12.1239", "10:11:12.124"}, {"10:11:12.", "10:11:12.0"}, {"10:11:12.003", "10:11:12.003"}}},
		{TimeOf(1), []row{{"10:11:12.12", "10:11:12.1"}, {"10:11:12.003", "10:11:12.0"}}},
		{TimestampOf(3), []row{{"2024-05-01 10:00:00", "2024-05-01 10:00:00.000"}, {"2024-05-01 10:00:00.1", "2024-05-01 10:00:00.100"},
			{"2024-05-01 10:00:00.123456", "2024-05-01 10:00:00.123"}, {"2024-05-01 10:00:00.1239", "2024-05-01 10:00:00.123"}, {"2024-05-01", "2024-05-01 00:00:00.000"},
			{"2024-5-1 1:2:3", "2024-05-01 01:02:03.000"}, {"2024-05-01T10:00:00", ""}, {"2024-05-01 10:00", ""}, {"2024-05-01 10", ""},
			{"2024-05-01 24:00:00", "2024-05-02 00:00:00.000"}, {"2024-05-01 24:00:00.000", "2024-05-02 00:00:00.000"}, {"2024-05-01 24:00:01", ""},
			{"2024-05-01 24:00:00.1", ""}, {"2024-05-01 10:00:60", ""}, {"2024/05/01 10:00:00", ""}, {"2024-05-01 10:00:00Z", ""}, {"2024-05-01 10:00:00+02:00", ""},
			{" 2024-05-01 10:00:00 ", ""}, {"", ""}, {"2024-02-30 00:00:00", "2024-02-29 00:00:00.000"}, {"2023-02-31", "2023-02-28 00:00:00.000"},
			{"2024-04-31 00:00:00", "2024-04-30 00:00:00.000"}, {"2024-04-32 00:00:00", ""}, {"2024-05-01 10:00:00.", "2024-05-01 10:00:00.000"},
			{"2024-05-01 10:00:00.1234567891", ""}, {"0000-01-01 00:00:00", ""}, {"0001-01-01 00:00:00", "0001-01-01 00:00:00.000"},
			{"9999-12-31 23:59:59.999999999", "9999-12-31 23:59:59.999"}, {"12345-01-01", ""}, {"1969-12-31 23:59:59.9999", "1969-12-31 23:59:59.999"},
			{"10000", ""}, {"2024-13-01", ""}, {"2024-00-01", ""}, {"2024-01-00", ""}, {"202-01-01", ""}, {"2024-001-01", ""}, {"2024-05-01 1:2", ""},
			{"2024-05-01 :00:00", ""}, {"2024-05-01 10:00:0x", ""}, {"2024-05-01 1/:00:00", ""}, {"2024-05-01 10:00:0:", ""}, {"2024-05-01 99:00:00", ""},
			{strings.Repeat("\x00", 10) + " 00:00:00", ""}, {"2024-05-01 10:00:00.12x", ""}, ours("+12345-01-01", "")}},
		{TimestampOf(9), []row{{"2024-05-01 10:00:00.123456789", "2024-05-01 10:00:00.123456789"}, {"1969-12-31 23:59:59.999999999", "1969-12-31 23:59:59.999999999"},
			{"1677-09-22 00:00:00", "1677-09-22 00:00:00.000000000"}, {"2262-04-11 23:47:16.854775", "2262-04-11 23:47:16.854775000"},
			ours("1677-01-01 00:00:00", ""), ours("2263-01-01 00:00:00", "")}},
		{TimestampOf(7), []row{{"2024-05-01 10:00:00.123456789", "2024-05-01 10:00:00.1234567"}, {"1969-12-31 23:59:59.999999999", "1969-12-31 23:59:59.9999999"}}},
		{TimestampOf(0), []row{{"2024-05-01 10:00:00.999", "2024-05-01 10:00:00"}}},
		{CharOf(4), []row{{"ab", "ab  "}, {"abcdef", "abcd"}, {"日本語", "日本語 "}, {"日本語テキスト", "日本語テ"}, {"", "    "}}},
		{VarCharOf(4), []row{{"ab", "ab"}, {"abcdef", "abcd"}, {"日本語テキスト", "日本語テ"}}},
		{BinaryOf(3), []row{{"a", "a\x00\x00"}, {"abcd", "abc"}}},
		{VarBinaryOf(3), []row{{"a", "a"}, {"abcd", "abc"}}},
	}
	for _, tt := range tests {
		for _, r := range tt.rows {
			v, err := ParseValue([]byte(r.text), tt.t, time.UTC)
			if (err != nil) != (r.want == "") {
				t.Errorf("%q as %s: %v, %v", r.text, tt.t, v, err)
				continue
			}
			if err != nil {
				var ve *ValueError
				if !errors.As(err, &ve) || !strings.Contains(err.Error(), ve.Type) || !strings.HasPrefix(err.Error(), "not "+Article(ve.Type)+": ") {
					t.Errorf("%q as %s: odd error %v", r.text, tt.t, err)
				}
				continue
			}
			if got := Format(v, tt.t, nil); got != r.want {
				t.Errorf("%q as %s = %s, want %s", r.text, tt.t, got, r.want)
			}
		}
	}
	for _, typ := range []Type{YearMonthType, ArrayOf(IntType), MapOf(IntType, IntType), RowOf(), NullType, {}} {
		if v, err := ParseValue([]byte("1"), typ, nil); err == nil {
			t.Errorf("%s has text: %v", typ, v)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct {
		text string
		t    Type
		want string
	}{
		{"1x", BigIntType.NotNull(), "not a BIGINT: '1x'"},
		{"300", TinyIntType, "not a TINYINT: '300' (out of range)"},
		{"", IntType, "not an INT: '' (empty text)"},
		{"1000", DecimalOf(5, 2), "not a DECIMAL(5, 2): '1000' (out of range)"},
		{"2024-02-30", DateType, "not a DATE: '2024-02-30' (no such day)"},
		{"2024-05-01T10:00:00", TimestampOf(3), "not a TIMESTAMP(3): '2024-05-01T10:00:00' (expected yyyy-mm-dd hh:mm:ss[.fraction])"},
		{strings.Repeat("é", 80), BooleanType, "not a BOOLEAN: '" + strings.Repeat("é", 50) + "...'"},
	} {
		_, err := ParseValue([]byte(tt.text), tt.t, nil)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%q as %s: %v, want %s", tt.text, tt.t, err, tt.want)
		}
	}
}

func TestTimestampLTZ(t *testing.T) {
	berlin, err := LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"2024-05-01 10:00:00": "2024-05-01 08:00:00.000000000", "2024-03-31 02:30:00": "2024-03-31 01:30:00.000000000",
		"2024-10-27 02:30:00.123456789": "2024-10-27 00:30:00.123456789",
	} {
		for _, p := range []int{3, 6, 9} {
			v, err := ParseTimestampLTZ([]byte(text), p, berlin)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(AppendTimestamp(nil, v, p)); got != want[:20+p] {
				t.Errorf("%s at precision %d = %s", text, p, got)
			}
		}
	}
}

func TestTimestampParser(t *testing.T) {
	strict := TimestampParser{Precision: 3, Strict: true}
	iso := TimestampParser{Precision: 3, Strict: true, Sep: 'T', Zulu: true}
	for _, tt := range []struct {
		p    *TimestampParser
		text string
		want string
	}{
		{&strict, "2024-05-01 10:00:00.5", "2024-05-01 10:00:00.500"},
		{&strict, "2024-05-01 10:00:01", "2024-05-01 10:00:01.000"},
		{&strict, "2024-05-02 10:00:01", "2024-05-02 10:00:01.000"},
		{&strict, "2024-5-1 10:00:01", ""},
		{&strict, "2024-05-01", ""},
		{&strict, "2024-02-30 00:00:00", ""},
		{&strict, "2024-05-01 24:00:00", ""},
		{&strict, "2024-05-01T10:00:01", ""},
		{&iso, "2024-05-01T10:00:01.25Z", "2024-05-01 10:00:01.250"},
		{&iso, "2024-05-01T10:00:01.25", ""},
		{&iso, "2024-05-01 10:00:01.25Z", ""},
		{&iso, "Z", ""},
		{&iso, "", ""},
	} {
		v, err := tt.p.Parse([]byte(tt.text))
		if (err != nil) != (tt.want == "") || err == nil && string(AppendTimestamp(nil, v, 3)) != tt.want {
			t.Errorf("%q: %d, %v, want %s", tt.text, v, err, tt.want)
		}
	}
}

func TestRescaleTimestamp(t *testing.T) {
	for _, tt := range []struct {
		v        int64
		from, to int
		want     int64
	}{
		{1_999_999, 6, 3, 1_999_000}, {-1, 6, 3, -1000}, {-1, 6, 0, -1_000_000}, {-1, 9, 6, -1}, {1_999, 9, 6, 1}, {1_999_999_999, 9, 3, 1_999_000},
		{5, 6, 9, 5000}, {5, 3, 6, 5}, {1_234, 9, 7, 1_200}, {-1, 9, 8, -10},
	} {
		if got, err := RescaleTimestamp(tt.v, tt.from, tt.to); err != nil || got != tt.want {
			t.Errorf("RescaleTimestamp(%d, %d, %d) = %d, %v", tt.v, tt.from, tt.to, got, err)
		}
	}
	if _, err := RescaleTimestamp(us(t, "2263-01-01 00:00:00"), 3, 9); err == nil {
		t.Error("the year 2263 has nanoseconds")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "1", "-1.5e3", "NaN", "0x1p3", "2024-05-01 10:00:00.123", "10:11:12", "true", "1e999999999", "+.5", "é", "2024-2-30 1:1:1."} {
		f.Add([]byte(s))
	}
	kinds := []Type{BooleanType, TinyIntType, IntType, BigIntType, FloatType, DoubleType, DecimalOf(38, 10), DecimalOf(5, 2), DateType, TimeOf(0), TimeOf(3), TimestampOf(0),
		TimestampOf(3), TimestampOf(9), TimestampLTZOf(6), CharOf(3), VarCharOf(3), BinaryOf(3)}
	zone := time.FixedZone("x", 3600)
	f.Fuzz(func(t *testing.T, b []byte) {
		before := string(b)
		for _, typ := range kinds {
			v, err := ParseValue(b, typ, zone)
			if string(b) != before {
				t.Fatal("the input was changed")
			}
			if err != nil || typ.IsText() || typ.IsBytes() {
				continue
			}
			// What a value prints reads back as the same value.
			text := Format(v, typ, zone)
			again, err := ParseValue([]byte(text), typ, zone)
			if err != nil || Compare(v, again) != 0 {
				t.Errorf("%q as %s is %v, prints as %s and reads back as %v, %v", b, typ, v, text, again, err)
			}
		}
	})
}

// FuzzParseNumber holds integers and decimals against math/big.
func FuzzParseNumber(f *testing.F) {
	for _, s := range []string{"1", "-1.5", "1e3", "99999999999999999999999999999999999999", "0.005", "-0.0049", "1e-40", "12345678901234567890.5"} {
		f.Add(s, uint8(38), uint8(2))
	}
	f.Fuzz(func(t *testing.T, s string, p, sc uint8) {
		precision := 1 + int(p)%MaxDecimalPrecision
		scale := int(sc) % (precision + 1)
		d, err := ParseDecimal([]byte(s), precision, scale)
		trimmed := string(trimSpace([]byte(s)))
		var want string
		if i := strings.IndexAny(trimmed, "eE"); i < 0 || len(trimmed)-i < 6 { // no huge powers for math/big
			if r, ok := new(big.Rat).SetString(trimmed); ok && strings.Trim(trimmed, "0123456789.eE+-") == "" {
				want = ratHalfUp(r, precision, scale)
			}
			if (err != nil) != (want == "") || err == nil && d.String() != want {
				t.Errorf("%q as DECIMAL(%d, %d) = %s, %v; want %s", s, precision, scale, d, err, want)
			}
		}
		v, err := ParseInt([]byte(s), BigInt)
		blank := strings.Trim(s, " ")
		whole, frac, _ := strings.Cut(blank, ".")
		if frac == "" || strings.Trim(frac, "0123456789") == "" {
			w, werr := strconv.ParseInt(whole, 10, 64)
			if bare := strings.TrimLeft(whole, "+-"); bare == "" && len(whole) <= 1 && frac != "" {
				w, werr = 0, nil // .5
			}
			if (err == nil) != (werr == nil) || err == nil && v != w {
				t.Errorf("%q as BIGINT = %d, %v; want %d, %v", s, v, err, w, werr)
			}
		} else if err == nil {
			t.Errorf("%q as BIGINT = %d", s, v)
		}
	})
}

// FuzzParseTimestamp holds the fast road against the slow one and package time.
func FuzzParseTimestamp(f *testing.F) {
	for _, s := range []string{"2024-05-01 10:00:00", "2024-05-01 10:00:00.123", "1969-12-31 23:59:59.999999", "2024-02-30 00:00:00", "2024-05-01 24:00:00", "0000-01-01 00:00:00"} {
		f.Add([]byte(s), []byte("2024-05-01 00:00:00"))
	}
	f.Fuzz(func(t *testing.T, b, b2 []byte) {
		p := TimestampParser{Precision: 6}
		for _, b := range [][]byte{b, b2, b} { // the day kept from one call must not show in the next
			got, err := p.Parse(b)
			slow := TimestampParser{}
			want, _, why := slow.slow(b)
			if (err != nil) != (why != "") || err == nil && got != want {
				t.Errorf("%q = %d, %v; the slow road gives %d, %s", b, got, err, want, why)
			}
			if tm, terr := time.Parse("2006-01-02 15:04:05.999999", string(b)); terr == nil && tm.Year() > 0 && len(b) <= 29 && b[10] == ' ' && len(b) > 18 && b[13] == ':' &&
				b[11] != ' ' && (len(b) == 19 || b[19] == '.') {
				if err != nil || got != tm.UnixMicro() {
					t.Errorf("%q = %d, %v; package time gives %d", b, got, err, tm.UnixMicro())
				}
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	p := TimestampParser{Precision: 3}
	ts := []byte("2024-05-01 10:00:00.123")
	b.Run("timestampCached", func(b *testing.B) {
		for b.Loop() {
			_, _ = p.Parse(ts)
		}
	})
	b.Run("timestamp", func(b *testing.B) {
		for b.Loop() {
			_, _ = ParseTimestamp(ts, 3)
		}
	})
	b.Run("bigint", func(b *testing.B) {
		s := []byte("1234567")
		for b.Loop() {
			_, _ = ParseInt(s, BigInt)
		}
	})
	b.Run("double", func(b *testing.B) {
		s := []byte("123456.789")
		for b.Loop() {
			_, _ = ParseDouble(s)
		}
	})
}

func TestParsersDoNotAllocate(t *testing.T) {
	ts, num, day, clock := []byte("2024-05-01 10:00:00.123"), []byte("123.45"), []byte("2024-05-01"), []byte("10:11:12")
	p := TimestampParser{Precision: 3}
	n := testing.AllocsPerRun(100, func() {
		_, e1 := p.Parse(ts)
		_, e2 := ParseTimestamp(ts, 9)
		_, e3 := ParseInt(num, Int)
		_, e4 := ParseDecimal(num, 10, 2)
		_, e5 := ParseDouble(num)
		_, e6 := ParseDate(day)
		_, e7 := ParseTime(clock, 0)
		_, e8 := ParseBoolean([]byte("yes"))
		if err := errors.Join(e1, e2, e3, e4, e5, e6, e7, e8); err != nil {
			t.Error(err)
		}
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
	if v, err := ParseDouble([]byte("1e400")); err != nil || !math.IsInf(v, 1) {
		t.Error(v, err)
	}
}

// TestShortDouble holds the short road for doubles against strconv.
func TestShortDouble(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200_000 {
		s := strconv.FormatUint(r.Uint64N(pow10u64[1+r.IntN(15)]), 10)
		if i := r.IntN(len(s) + 1); r.IntN(4) > 0 {
			s = s[:i] + "." + s[i:]
		}
		if r.IntN(2) == 0 {
			s = "-" + s
		}
		got, ok := shortDouble([]byte(s))
		want, err := strconv.ParseFloat(s, 64)
		if !ok || err != nil || got != want {
			t.Fatalf("%s = %v, %v; want %v, %v", s, got, ok, want, err)
		}
	}
}
