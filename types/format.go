package types

import (
	"encoding/hex"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Text of values: what CAST(x AS STRING) of Flink gives. The Append functions below append to dst and return it, as those of strconv do.

// Format returns the text that CAST(v AS STRING) gives for a canonical value of type t; zone is the session zone, for TIMESTAMP_LTZ (nil is UTC).
// BYTES are read as UTF-8. NULL prints as NULL.
func Format(v any, t Type, zone *time.Location) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(formatter{zone: zone}.value(nil, v, t))
}

// Display is Format for the cells of results: BYTES print as x'0a', also inside of ARRAY, MAP and ROW.
func Display(v any, t Type, zone *time.Location) string {
	return string(formatter{zone: zone, hexBytes: true}.value(nil, v, t))
}

// AppendFormat appends Format of element i of arr, without an allocation for scalars.
func AppendFormat(dst []byte, arr arrow.Array, i int, t Type, zone *time.Location) []byte {
	return formatter{zone: zone}.element(dst, arr, i, t)
}

// AppendDisplay appends Display of element i of arr.
func AppendDisplay(dst []byte, arr arrow.Array, i int, t Type, zone *time.Location) []byte {
	return formatter{zone: zone, hexBytes: true}.element(dst, arr, i, t)
}

type formatter struct {
	zone     *time.Location
	hexBytes bool
}

func (f formatter) value(dst []byte, v any, t Type) []byte {
	switch x := v.(type) {
	case nil:
		return append(dst, "NULL"...)
	case bool:
		return AppendBoolean(dst, x)
	case int8:
		return strconv.AppendInt(dst, int64(x), 10)
	case int16:
		return strconv.AppendInt(dst, int64(x), 10)
	case int32:
		return strconv.AppendInt(dst, int64(x), 10)
	case int64:
		return strconv.AppendInt(dst, x, 10)
	case Dec:
		return x.AppendTo(dst)
	case float32:
		return AppendFloat(dst, x)
	case float64:
		return AppendDouble(dst, x)
	case string:
		return append(dst, x...)
	case []byte:
		return f.bytes(dst, x)
	case DateVal:
		return AppendDate(dst, int32(x))
	case TimeVal:
		return AppendTime(dst, int32(x), t.Precision)
	case TimestampVal:
		return f.timestamp(dst, int64(x), t)
	case MonthsVal:
		return AppendYearMonth(dst, int32(x))
	case DurationVal:
		return AppendDayTime(dst, int64(x))
	case []any:
		dst = append(dst, '[')
		for i, e := range x {
			dst = f.value(comma(dst, i), e, elemType(t))
		}
		return append(dst, ']')
	case MapVal:
		key, val := entryTypes(t)
		dst = append(dst, '{')
		for i, e := range x {
			dst = f.value(comma(dst, i), e.Key, key)
			dst = append(dst, '=')
			dst = f.value(dst, e.Val, val)
		}
		return append(dst, '}')
	case RowVal:
		dst = append(dst, '(')
		for i, e := range x {
			dst = f.value(comma(dst, i), e, fieldType(t, i))
		}
		return append(dst, ')')
	}
	return append(dst, "?"...)
}

func comma(dst []byte, i int) []byte {
	if i > 0 {
		dst = append(dst, ", "...)
	}
	return dst
}

func elemType(t Type) Type {
	if t.Elem == nil {
		return Type{}
	}
	return *t.Elem
}

// entryTypes are the types of the keys and values of a MAP, or of the elements and counts of a MULTISET.
func entryTypes(t Type) (key, val Type) {
	if t.Kind == Multiset {
		return elemType(t), IntType.NotNull()
	}
	if t.Key == nil {
		return Type{}, Type{}
	}
	return *t.Key, elemType(t)
}

func fieldType(t Type, i int) Type {
	if i >= len(t.Fields) {
		return Type{}
	}
	return t.Fields[i].Type
}

func (f formatter) timestamp(dst []byte, v int64, t Type) []byte {
	if t.Kind == TimestampLTZ && f.zone != nil && f.zone != time.UTC {
		if t.Precision > 6 {
			us := FloorDiv(v, 1000)
			off := ToWall(us, f.zone) - us
			return appendTimestampNanos(dst, us+off, int(v-us*1000), t.Precision)
		}
		v = ToWall(v, f.zone)
	}
	return AppendTimestamp(dst, v, t.Precision)
}

func (f formatter) bytes(dst, b []byte) []byte {
	if f.hexBytes {
		dst = append(dst, "x'"...)
		dst = hex.AppendEncode(dst, b)
		return append(dst, '\'')
	}
	return appendUTF8(dst, b)
}

// appendUTF8 appends b with each invalid sequence replaced by U+FFFD, as decoding in Java does.
func appendUTF8(dst, b []byte) []byte {
	if utf8.Valid(b) {
		return append(dst, b...)
	}
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[n:]
	}
	return dst
}

// AppendBoolean appends TRUE or FALSE.
func AppendBoolean(dst []byte, v bool) []byte {
	if v {
		return append(dst, "TRUE"...)
	}
	return append(dst, "FALSE"...)
}

// AppendDouble appends the text of Java's Double.toString (since Java 19: the shortest that reads back, of the nearest ones): 4.0, 1.0E10, NaN.
func AppendDouble(dst []byte, v float64) []byte { return appendJavaFloat(dst, v, 64) }

// AppendFloat appends the text of Java's Float.toString.
func AppendFloat(dst []byte, v float32) []byte { return appendJavaFloat(dst, float64(v), 32) }

func appendJavaFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	case v == 0:
		if math.Signbit(v) {
			dst = append(dst, '-')
		}
		return append(dst, "0.0"...)
	}
	if a := math.Abs(v); a >= 1e-3 && a < 1e7 {
		n := len(dst)
		dst = strconv.AppendFloat(dst, v, 'f', -1, bits)
		for _, c := range dst[n:] {
			if c == '.' {
				return dst
			}
		}
		return append(dst, ".0"...)
	}
	// d.dddE±x: at least two digits, and of all texts of two digits the nearest (Double.MIN_VALUE is 4.9E-324, not 5.0E-324).
	var buf [32]byte
	s := strconv.AppendFloat(buf[:0], v, 'e', -1, bits)
	e := 0
	for s[e] != 'e' {
		e++
	}
	if e <= 2 { // one digit, perhaps with a sign
		s = strconv.AppendFloat(buf[:0], v, 'e', 1, bits)
		for e = 0; s[e] != 'e'; e++ {
		}
	}
	dst = append(dst, s[:e]...)
	dst = append(dst, 'E')
	exp := s[e+1:]
	if exp[0] == '-' {
		dst = append(dst, '-')
	}
	exp = exp[1:]
	if exp[0] == '0' {
		exp = exp[1:] // strconv writes two digits at least
	}
	return append(dst, exp...)
}

// AppendDate appends a DATE (days since 1970) as yyyy-mm-dd.
func AppendDate(dst []byte, days int32) []byte {
	y, m, d := CivilFromDays(int64(days))
	dst = appendYear(dst, y)
	dst = append(dst, '-', byte('0'+m/10), byte('0'+m%10), '-', byte('0'+d/10), byte('0'+d%10))
	return dst
}

func appendYear(dst []byte, y int) []byte {
	if y >= 0 && y <= 9999 {
		return append(dst, byte('0'+y/1000), byte('0'+y/100%10), byte('0'+y/10%10), byte('0'+y%10))
	}
	if y < 0 {
		dst = append(dst, '-')
		y = -y
	}
	return appendPadded(dst, uint64(y), 4)
}

// AppendTime appends a TIME (milliseconds of the day) as hh:mm:ss, for a precision above 0 with min(precision, 3) digits of the fraction less the zeros at
// their end, but for one: 12:34:56.0 (measured on Flink).
func AppendTime(dst []byte, ms int32, precision int) []byte {
	dst = appendClock(dst, int(ms)/1000)
	if precision <= 0 {
		return dst
	}
	digits := min(precision, 3)
	cut := cutMillis(ms, digits) % 1000
	for digits > 1 && cutMillis(cut, digits-1) == cut {
		digits--
	}
	return appendFraction(dst, int(cut)*1_000_000, digits)
}

func appendClock(dst []byte, sec int) []byte {
	h, m, s := sec/3600, sec/60%60, sec%60
	return append(dst, byte('0'+h/10), byte('0'+h%10), ':', byte('0'+m/10), byte('0'+m%10), ':', byte('0'+s/10), byte('0'+s%10))
}

// appendFraction appends a point and the first p of nine digits.
func appendFraction(dst []byte, nanos, p int) []byte {
	if p <= 0 {
		return dst
	}
	dst = append(dst, '.')
	for div := 100_000_000; p > 0; p-- {
		dst = append(dst, byte('0'+nanos/div%10))
		div /= 10
	}
	return dst
}

// AppendTimestamp appends a TIMESTAMP (microseconds, nanoseconds for precision > 6) as yyyy-mm-dd hh:mm:ss with exactly precision digits of the fraction.
func AppendTimestamp(dst []byte, v int64, precision int) []byte {
	if precision > 6 {
		us := FloorDiv(v, 1000)
		return appendTimestampNanos(dst, us, int(v-us*1000), precision)
	}
	return appendTimestampNanos(dst, v, 0, precision)
}

func appendTimestampNanos(dst []byte, us int64, nanos, precision int) []byte {
	days := FloorDiv(us, MicrosPerDay)
	rest := us - days*MicrosPerDay
	y, m, d := CivilFromDays(days)
	dst = appendYear(dst, y)
	dst = append(dst, '-', byte('0'+m/10), byte('0'+m%10), '-', byte('0'+d/10), byte('0'+d%10), ' ')
	dst = appendClock(dst, int(rest/MicrosPerSecond))
	return appendFraction(dst, int(rest%MicrosPerSecond)*1000+nanos, precision)
}

// AppendYearMonth appends an INTERVAL YEAR TO MONTH: +2-05.
func AppendYearMonth(dst []byte, months int32) []byte {
	m := int64(months)
	if m < 0 {
		dst = append(dst, '-')
		m = -m
	} else {
		dst = append(dst, '+')
	}
	dst = strconv.AppendInt(dst, m/12, 10)
	dst = append(dst, '-')
	return appendPadded(dst, uint64(m%12), 2)
}

// AppendDayTime appends an INTERVAL DAY TO SECOND: +1 10:17:36.789, with six digits where milliseconds do not tell it all.
func AppendDayTime(dst []byte, us int64) []byte {
	u := uint64(us)
	if us < 0 {
		dst = append(dst, '-')
		u = -u
	} else {
		dst = append(dst, '+')
	}
	dst = strconv.AppendUint(dst, u/uint64(MicrosPerDay), 10)
	dst = append(dst, ' ')
	rest := int(u % uint64(MicrosPerDay))
	dst = appendClock(dst, rest/int(MicrosPerSecond))
	digits := 3
	if rest%1000 != 0 {
		digits = 6
	}
	return appendFraction(dst, rest%int(MicrosPerSecond)*1000, digits)
}

// element appends element i of arr.
func (f formatter) element(dst []byte, arr arrow.Array, i int, t Type) []byte {
	if t.Kind == Null || arr.IsNull(i) {
		return append(dst, "NULL"...)
	}
	switch t.Kind {
	case Boolean:
		return AppendBoolean(dst, arr.(*array.Boolean).Value(i))
	case TinyInt:
		return strconv.AppendInt(dst, int64(arr.(*array.Int8).Value(i)), 10)
	case SmallInt:
		return strconv.AppendInt(dst, int64(arr.(*array.Int16).Value(i)), 10)
	case Int:
		return strconv.AppendInt(dst, int64(arr.(*array.Int32).Value(i)), 10)
	case BigInt:
		return strconv.AppendInt(dst, arr.(*array.Int64).Value(i), 10)
	case Decimal:
		return AppendDecimal(dst, arr.(*array.Decimal128).Value(i), t.Scale)
	case Float:
		return AppendFloat(dst, arr.(*array.Float32).Value(i))
	case Double:
		return AppendDouble(dst, arr.(*array.Float64).Value(i))
	case Char, VarChar:
		return append(dst, arr.(*array.String).Value(i)...)
	case Binary, VarBinary:
		return f.bytes(dst, arr.(*array.Binary).Value(i))
	case Date:
		return AppendDate(dst, int32(arr.(*array.Date32).Value(i)))
	case Time:
		return AppendTime(dst, int32(arr.(*array.Time32).Value(i)), t.Precision)
	case Timestamp, TimestampLTZ:
		return f.timestamp(dst, int64(arr.(*array.Timestamp).Value(i)), t)
	case Array:
		l := arr.(*array.List)
		from, to := l.ValueOffsets(i)
		dst = append(dst, '[')
		for j := from; j < to; j++ {
			dst = f.element(comma(dst, int(j-from)), l.ListValues(), int(j), *t.Elem)
		}
		return append(dst, ']')
	}
	return f.value(dst, Get(arr, i, t), t)
}
