package types

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"time"
	"unsafe"
)

// Text to values: what CAST(s AS ...) does, by the rules of Flink. The parsers take bytes, keep none of them, and allocate nothing unless they fail.

// ValueError is the error of a text or a value that a type cannot take.
type ValueError struct {
	Type   string // what was wanted: "BIGINT"
	Value  string // the text as Show gives it, cut when it is long
	Reason string // why not; empty when the text says it all
}

// Error is such as `not a BIGINT: '1x'` or `not a TINYINT: '300' (out of range)`.
func (e *ValueError) Error() string {
	s := fmt.Sprintf("not %s: '%s'", Article(e.Type), e.Value)
	if e.Reason != "" {
		s += " (" + e.Reason + ")"
	}
	return s
}

func valueError(typ string, b []byte, reason string) error {
	return &ValueError{Type: typ, Value: Show(b, 100), Reason: reason}
}

const (
	whyRange = "out of range"
	whyEmpty = "empty text"
)

// ParseValue parses the text of a value of type t into its canonical form, as CAST from STRING does; zone is the session zone, for TIMESTAMP_LTZ.
// ARRAY, MAP, MULTISET, ROW and intervals have no text to parse: an error.
func ParseValue(b []byte, t Type, zone *time.Location) (any, error) {
	switch t.Kind {
	case Boolean:
		return orNil(ParseBoolean(b))
	case TinyInt:
		v, err := ParseInt(b, t.Kind)
		return orNil(int8(v), err)
	case SmallInt:
		v, err := ParseInt(b, t.Kind)
		return orNil(int16(v), err)
	case Int:
		v, err := ParseInt(b, t.Kind)
		return orNil(int32(v), err)
	case BigInt:
		return orNil(ParseInt(b, t.Kind))
	case Decimal:
		return orNil(ParseDecimal(b, t.Precision, t.Scale))
	case Float:
		return orNil(ParseFloat(b))
	case Double:
		return orNil(ParseDouble(b))
	case Char, VarChar:
		return FitText(string(b), t), nil
	case Binary, VarBinary:
		return FitBytes(append([]byte(nil), b...), t), nil
	case Date:
		v, err := ParseDate(b)
		return orNil(DateVal(v), err)
	case Time:
		v, err := ParseTime(b, t.Precision)
		return orNil(TimeVal(v), err)
	case Timestamp:
		v, err := ParseTimestamp(b, t.Precision)
		return orNil(TimestampVal(v), err)
	case TimestampLTZ:
		v, err := ParseTimestampLTZ(b, t.Precision, zone)
		return orNil(TimestampVal(v), err)
	}
	return nil, fmt.Errorf("text cannot be read as %s", t)
}

func orNil[T any](v T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// FitText makes s fit CHAR(n) (cut, or padded with blanks) or VARCHAR(n) (cut).
func FitText(s string, t Type) string {
	if t.Length == MaxLength || len(s) <= t.Length && t.Kind == VarChar {
		return s
	}
	n := 0
	for i := range s {
		if n == t.Length {
			return s[:i]
		}
		n++
	}
	if t.Kind == Char && n < t.Length {
		b := make([]byte, 0, len(s)+t.Length-n)
		b = append(b, s...)
		for ; n < t.Length; n++ {
			b = append(b, ' ')
		}
		return string(b)
	}
	return s
}

// FitBytes makes b fit BINARY(n) (cut, or padded with zeros) or VARBINARY(n) (cut).
func FitBytes(b []byte, t Type) []byte {
	if len(b) > t.Length {
		return b[:t.Length:t.Length]
	}
	if t.Kind == Binary && len(b) < t.Length {
		p := make([]byte, t.Length)
		copy(p, b)
		return p
	}
	return b
}

// trimBlanks removes blanks (only these) at both ends.
func trimBlanks(b []byte) []byte {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// trimSpace removes white space and control characters at both ends, as Java's String.trim does.
func trimSpace(b []byte) []byte {
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// ParseBoolean takes true, t, yes, y, 1, false, f, no, n, 0 in any case; blanks around them are an error.
func ParseBoolean(b []byte) (bool, error) {
	var low [5]byte
	if len(b) >= 1 && len(b) <= 5 {
		for i, c := range b {
			if c >= 'A' && c <= 'Z' {
				c |= 0x20
			}
			low[i] = c
		}
		switch string(low[:len(b)]) {
		case "true", "t", "yes", "y", "1":
			return true, nil
		case "false", "f", "no", "n", "0":
			return false, nil
		}
	}
	return false, valueError("BOOLEAN", b, "")
}

// ParseInt takes an integer of kind TinyInt, SmallInt, Int or BigInt: blanks around it, a sign and a fraction (which is cut off) are allowed.
func ParseInt(b []byte, k Kind) (int64, error) {
	all := b
	if len(b) > 0 && (b[0] == ' ' || b[len(b)-1] == ' ') {
		b = trimBlanks(b)
	}
	if len(b) == 0 {
		return 0, valueError(Type{Kind: k, Nullable: true}.String(), all, whyEmpty)
	}
	neg := b[0] == '-'
	if neg || b[0] == '+' {
		b = b[1:]
	}
	var v uint64
	digits, i := 0, 0
	for ; i < len(b); i++ {
		c := b[i] - '0'
		if c > 9 {
			break
		}
		if v > (1<<63)/10 {
			v = math.MaxUint64 // stays too big
			continue
		}
		v = v*10 + uint64(c)
		digits++
	}
	bad := false
	if i < len(b) {
		bad = b[i] != '.'
		for i++; i < len(b); i++ {
			if b[i]-'0' > 9 {
				bad = true
			}
			digits++
		}
	}
	if bad || digits == 0 {
		return 0, valueError(Type{Kind: k, Nullable: true}.String(), all, "")
	}
	limit := uint64(1)<<(intBits(k)-1) - 1
	if neg {
		limit++
	}
	if v > limit {
		return 0, valueError(Type{Kind: k, Nullable: true}.String(), all, whyRange)
	}
	if neg {
		return -int64(v), nil
	}
	return int64(v), nil
}

func intBits(k Kind) uint {
	switch k {
	case TinyInt:
		return 8
	case SmallInt:
		return 16
	case Int:
		return 32
	}
	return 64
}

// ParseDecimal takes a number with optional sign, fraction and exponent, white space around it, as DECIMAL(p, s): rounded HALF_UP to s digits.
func ParseDecimal(b []byte, p, s int) (Dec, error) {
	all := b
	b = trimSpace(b)
	typ := func(reason string) error { return valueError(DecimalOf(p, s).String(), all, reason) }
	if len(b) == 0 {
		return Dec{}, typ(whyEmpty)
	}
	neg := b[0] == '-'
	if neg || b[0] == '+' {
		b = b[1:]
	}
	// Shape: digits [. digits] [e [sign] digits].
	point, end := -1, len(b)
	digits := 0
	exp := 0
scan:
	for i, c := range b {
		switch {
		case c-'0' <= 9:
			digits++
		case c == '.' && point < 0:
			point = i
		case c == 'e' || c == 'E':
			var ok bool
			if exp, ok = parseExponent(b[i+1:]); !ok {
				return Dec{}, typ("")
			}
			end = i
			break scan
		default:
			return Dec{}, typ("")
		}
	}
	if digits == 0 {
		return Dec{}, typ("")
	}
	b = b[:end]
	whole := digits // digits in front of the point
	if point >= 0 {
		whole = point
	}
	// Of the digits, keep those that lie in front of the s-th behind the point; the next one decides how to round (half up needs no more).
	keep := whole + exp + s
	var hi, lo uint64
	significant, seen := 0, 0
	roundUp := false
	for _, c := range b {
		if c == '.' {
			continue
		}
		if seen >= keep {
			roundUp = seen == keep && c >= '5'
			break
		}
		seen++
		if significant > 0 || c != '0' {
			if significant++; significant > MaxDecimalPrecision {
				return Dec{}, typ(whyRange)
			}
			hi, lo = mulAdd128(hi, lo, 10, uint64(c-'0'))
		}
	}
	if significant > 0 && keep > seen {
		zeros := keep - seen
		if significant+zeros > MaxDecimalPrecision {
			return Dec{}, typ(whyRange)
		}
		for range zeros {
			hi, lo = mulAdd128(hi, lo, 10, 0)
		}
	}
	if roundUp {
		if lo++; lo == 0 {
			hi++
		}
	}
	n, ok := num128(hi, lo, neg)
	if !ok || !fitsPrecision(n, p) {
		return Dec{}, typ(whyRange)
	}
	return Dec{n, int32(s)}, nil
}

func mulAdd128(hi, lo, m, a uint64) (uint64, uint64) {
	h, l := bits.Mul64(lo, m)
	l, carry := bits.Add64(l, a, 0)
	return hi*m + h + carry, l
}

// parseExponent parses [sign] digits, held within ±1e9 so that sums with it stay sane.
func parseExponent(b []byte) (int, bool) {
	neg := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		neg = b[0] == '-'
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	e := 0
	for _, c := range b {
		if c-'0' > 9 {
			return 0, false
		}
		if e = e*10 + int(c-'0'); e > 1e9 {
			e = 1e9
		}
	}
	if neg {
		e = -e
	}
	return e, true
}

// ParseDouble takes what Java's Double.parseDouble takes: white space around, exponents, NaN and Infinity, a suffix d or f. Beyond the range of DOUBLE
// it gives an infinity.
func ParseDouble(b []byte) (float64, error) { return parseJavaFloat(b, 64, "DOUBLE") }

// ParseFloat is ParseDouble for FLOAT.
func ParseFloat(b []byte) (float32, error) {
	f, err := parseJavaFloat(b, 32, "FLOAT")
	return float32(f), err
}

func parseJavaFloat(b []byte, bitSize int, typ string) (float64, error) {
	if bitSize == 64 {
		if f, ok := shortDouble(b); ok {
			return f, nil
		}
	}
	all := b
	b = trimSpace(b)
	if len(b) == 0 {
		return 0, valueError(typ, all, whyEmpty)
	}
	u := b // without a sign
	if u[0] == '-' || u[0] == '+' {
		u = u[1:]
	}
	if len(u) > 0 && u[0]-'0' > 9 && u[0] != '.' {
		// strconv takes nan and inf in any case, Java only these.
		switch string(u) {
		case "NaN":
			return math.NaN(), nil
		case "Infinity":
			if b[0] == '-' {
				return math.Inf(-1), nil
			}
			return math.Inf(1), nil
		}
		return 0, valueError(typ, all, "")
	}
	switch b[len(b)-1] {
	case 'd', 'D', 'f', 'F':
		// In a hexadecimal number behind its exponent only; there a p must come first, or the letter is a digit of the mantissa and strconv complains.
		b = b[:len(b)-1]
	}
	if len(b) == 0 || bytes.IndexByte(b, '_') >= 0 { // strconv takes Go's 1_000
		return 0, valueError(typ, all, "")
	}
	f, err := strconv.ParseFloat(unsafe.String(&b[0], len(b)), bitSize)
	if err != nil && !math.IsInf(f, 0) { // out of range is an infinity
		return 0, valueError(typ, all, "")
	}
	return f, nil
}

// shortDouble takes [-]digits[.digits] of at most 15 digits: both the digits as a whole number and the power of ten are exact doubles, so that their
// quotient is rounded once, as it has to be.
func shortDouble(b []byte) (float64, bool) {
	if len(b) == 0 || len(b) > 17 {
		return 0, false
	}
	neg := b[0] == '-'
	if neg {
		b = b[1:]
	}
	var v uint64
	digits, frac := 0, -1
	for _, c := range b {
		switch {
		case c-'0' <= 9:
			v = v*10 + uint64(c-'0')
			digits++
			if frac >= 0 {
				frac++
			}
		case c == '.' && frac < 0:
			frac = 0
		default:
			return 0, false
		}
	}
	if digits == 0 || digits > 15 {
		return 0, false
	}
	f := float64(v)
	if frac > 0 {
		f /= float64pow10[frac]
	}
	if neg {
		f = -f
	}
	return f, true
}
