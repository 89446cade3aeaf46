package colbuf

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/weir-sql/weir/types"
)

// Texts reads the text of scalars into columns, by the rules that the text formats share. It keeps the last day it saw, so it belongs to one goroutine.
type Texts struct {
	ts types.TimestampParser
	b  []byte
	// The day that FastTime saw last: its text and its first microsecond.
	day8  uint64
	day   [2]byte
	dayUs int64
}

// Fast says which of the values that decoders read in their own loops a column has.
type Fast uint8

// The fast kinds: BIGINT; STRING; TIMESTAMP of up to six digits.
const (
	FastNone Fast = iota
	FastInt
	FastText
	FastStamp
)

// FastOf returns the fast kind of a type.
func FastOf(t types.Type) Fast {
	switch {
	case t.Kind == types.BigInt:
		return FastInt
	case t.Kind == types.VarChar && t.Length == types.MaxLength:
		return FastText
	case t.Kind == types.Timestamp && t.Precision <= 6:
		return FastStamp
	}
	return FastNone
}

// Int reads the decimal number of up to 18 digits, with an optional minus sign, at the start of b, and returns how many bytes it took; 0 when there is none
// or it is longer. What follows is not looked at.
func Int(b []byte) (v int64, n int) {
	if len(b) >= 8 {
		// Eight digits at once: bytes that are digits are 0 to 9 now, the first other one ends the number.
		x := binary.LittleEndian.Uint64(b) ^ 0x3030303030303030
		if end := (x + 0x7676767676767676 | x) & 0x8080808080808080; end != 0 && end&0x80 == 0 {
			n = bits.TrailingZeros64(end) >> 3
			x <<= 64 - 8*n // the digits go to the top, with leading zeros
			x = x*10 + x>>8
			return int64((x&0xFF000000FF*(1_000_000<<32+100) + x>>16&0xFF000000FF*(10_000<<32+1)) >> 32), n
		}
	}
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		n++
	}
	from := n
	for n < len(b) && b[n]-'0' <= 9 {
		v = v*10 + int64(b[n]-'0')
		n++
	}
	if n == from || n-from > 18 {
		return 0, 0
	}
	if neg {
		v = -v
	}
	return v, n
}

// FastTime puts a timestamp of 19 bytes, or with a fraction of three or six digits that is not longer than the column's precision; false, and nothing is
// put, for all else.
func (x *Texts) FastTime(c *Col, b []byte) bool {
	if len(b) < 19 {
		return false
	}
	// Eight bytes at once: yyyy-mm-, then hh:mm:ss.
	if binary.LittleEndian.Uint64(b) != x.day8 || b[8] != x.day[0] || b[9] != x.day[1] {
		d, err := types.ParseDate(b[:10])
		if err != nil || b[4] != '-' || b[7] != '-' || b[9]-'0' > 9 || b[0] == '0' {
			return false
		}
		x.day8, x.day = binary.LittleEndian.Uint64(b), [2]byte{b[8], b[9]}
		x.dayUs = int64(d) * types.MicrosPerDay
	}
	if b[10] != ' ' && b[10] != 'T' {
		return false
	}
	t := binary.LittleEndian.Uint64(b[11:])
	if t&0x0000FF0000FF0000 != 0x00003A00003A0000 {
		return false
	}
	t ^= 0x30303A30303A3030
	if (t|(t+0x0606060606060606))&0xF0F0F0F0F0F0F0F0 != 0 {
		return false
	}
	hh := int64(t&0xFF)*10 + int64(t>>8&0xFF)
	mm := int64(t>>24&0xFF)*10 + int64(t>>32&0xFF)
	ss := int64(t>>48&0xFF)*10 + int64(t>>56)
	if hh > 23 || mm > 59 || ss > 59 {
		return false
	}
	us := x.dayUs + ((hh*60+mm)*60+ss)*types.MicrosPerSecond
	switch {
	case len(b) == 19:
	case len(b) == 23 && c.Type.Precision >= 3:
		d0, d1, d2 := b[20]-'0', b[21]-'0', b[22]-'0'
		if b[19] != '.' || d0 > 9 || d1 > 9 || d2 > 9 {
			return false
		}
		us += int64(d0)*100_000 + int64(d1)*10_000 + int64(d2)*1000
	case len(b) == 26 && c.Type.Precision == 6:
		if b[19] != '.' {
			return false
		}
		n := int64(0)
		for _, d := range b[20:] {
			if d -= '0'; d > 9 {
				return false
			}
			n = n*10 + int64(d)
		}
		us += n
	default:
		return false
	}
	c.PutI64(us)
	return true
}

// TextError says that a text is no value of a column's type.
type TextError struct {
	Type  types.Type
	Text  string
	Cause string // more, or the cure
}

// Error is such as `'x' is not a BIGINT`.
func (e *TextError) Error() string {
	s := fmt.Sprintf("'%s' is not %s", types.Show([]byte(e.Text), 80), types.Article(e.Type.WithNull(true).String()))
	if e.Cause != "" {
		s += ": " + e.Cause
	}
	return s
}

func textError(t types.Type, b []byte, cause string) error {
	return &TextError{Type: t, Text: string(b), Cause: cause}
}

// ParseInt parses an optional sign and digits only.
func ParseInt(b []byte) (v int64, ok bool) {
	i := 0
	neg := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		neg = b[0] == '-'
		i = 1
	}
	if i == len(b) {
		return 0, false
	}
	var u uint64
	if len(b)-i <= 18 {
		for ; i < len(b); i++ {
			c := b[i] - '0'
			if c > 9 {
				return 0, false
			}
			u = u*10 + uint64(c)
		}
		if neg {
			return -int64(u), true
		}
		return int64(u), true
	}
	v, err := strconv.ParseInt(unsafe.String(&b[0], len(b)), 10, 64)
	return v, err == nil
}

// PutInt puts v into a column of an integer kind; false when it is out of range.
func PutInt(c *Col, v int64) bool {
	switch c.Type.Kind {
	case types.BigInt:
		c.PutI64(v)
	case types.Int:
		if int64(int32(v)) != v {
			return false
		}
		c.PutI32(int32(v))
	case types.SmallInt:
		if int64(int16(v)) != v {
			return false
		}
		c.PutI16(int16(v))
	case types.TinyInt:
		if int64(int8(v)) != v {
			return false
		}
		c.PutI8(int8(v))
	}
	return true
}

var pow10 = [23]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// FastFloat parses [-]digits[.digits] of at most 15 digits, exactly; false for all else.
func FastFloat(b []byte) (float64, bool) {
	i, neg := 0, false
	if len(b) > 0 && b[0] == '-' {
		neg, i = true, 1
	}
	if len(b)-i > 16 || i == len(b) {
		return 0, false
	}
	var m uint64
	point := -1
	for j := i; j < len(b); j++ {
		c := b[j] - '0'
		if c > 9 {
			if b[j] != '.' || point >= 0 || j == i || j == len(b)-1 {
				return 0, false
			}
			point = j
			continue
		}
		m = m*10 + uint64(c)
	}
	if m >= 1<<53 {
		return 0, false
	}
	f := float64(m)
	if point >= 0 {
		f /= pow10[len(b)-1-point]
	}
	if neg {
		f = -f
	}
	return f, true
}

// Trim cuts white space as Java's String.trim does: all up to U+0020 at both ends.
func Trim(b []byte) []byte {
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// Put parses b, which is UTF-8, into c: what a text format accepts for the kind. ISO says that a T stands between date and time; in either case both are
// read. Containers are not for Put.
func (x *Texts) Put(c *Col, b []byte) error {
	t := c.Type
	switch t.Kind {
	case types.Boolean:
		v := Trim(b)
		switch {
		case equalFold(v, "true"):
			c.PutBool(true)
		case equalFold(v, "false"):
			c.PutBool(false)
		default:
			return textError(t, b, "only true and false are (in any case)")
		}
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		v, ok := ParseInt(Trim(b))
		if !ok {
			return textError(t, b, "")
		}
		if !PutInt(c, v) {
			return textError(t, b, "out of range")
		}
	case types.Float:
		v, err := types.ParseFloat(b)
		if err != nil {
			return textError(t, b, "")
		}
		c.PutF32(v)
	case types.Double:
		v, ok := FastFloat(b)
		if !ok {
			var err error
			if v, err = types.ParseDouble(b); err != nil {
				return textError(t, b, "")
			}
		}
		c.PutF64(v)
	case types.Decimal:
		d, err := types.ParseDecimal(b, t.Precision, t.Scale)
		if err != nil {
			if v, ok := err.(*types.ValueError); ok {
				return textError(t, b, v.Reason)
			}
			return textError(t, b, "")
		}
		c.PutDec(d.Num)
	case types.Char, types.VarChar:
		return x.putText(c, b)
	case types.Binary, types.VarBinary:
		return x.putBase64(c, b)
	case types.Date:
		if len(b) == 0 || b[0] <= ' ' || b[len(b)-1] <= ' ' || len(b) < 8 || len(b) > 10 {
			return textError(t, b, "write it as 2024-05-01")
		}
		v, err := types.ParseDate(b)
		if err != nil {
			return textError(t, b, "write it as 2024-05-01")
		}
		c.PutI32(v)
	case types.Time:
		if len(b) == 0 || b[0] <= ' ' || b[len(b)-1] <= ' ' {
			return textError(t, b, "write it as 10:00:00")
		}
		v, err := types.ParseTime(b, t.Precision)
		if err != nil {
			return textError(t, b, "write it as 10:00:00")
		}
		c.PutI32(v)
	case types.Timestamp:
		v, err := x.timestamp(t, b)
		if err != nil {
			return err
		}
		c.PutI64(v)
	case types.TimestampLTZ:
		v, err := x.instant(t, b)
		if err != nil {
			return err
		}
		c.PutI64(v)
	case types.IntervalDayTime, types.IntervalYearMonth:
		return putInterval(c, Trim(b))
	default:
		return fmt.Errorf("%s cannot be read from text", t)
	}
	return nil
}

// putInterval reads a number of months, or of milliseconds.
func putInterval(c *Col, b []byte) error {
	v, ok := ParseInt(b)
	switch {
	case !ok:
	case c.Type.Kind == types.IntervalDayTime && v <= 1<<53 && v >= -(1<<53):
		c.PutI64(v * types.MicrosPerMilli)
		return nil
	case c.Type.Kind == types.IntervalYearMonth && int64(int32(v)) == v:
		c.PutI32(int32(v))
		return nil
	}
	return textError(c.Type, b, "write the number of months, or of milliseconds")
}

func equalFold(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i := range b {
		if b[i]|0x20 != s[i] {
			return false
		}
	}
	return true
}

// putText checks the length of VARCHAR(n) and pads CHAR(n).
func (x *Texts) putText(c *Col, b []byte) error {
	t := c.Type
	if t.Length == types.MaxLength || t.Kind == types.VarChar && len(b) <= t.Length {
		c.PutBytes(b)
		return nil
	}
	n := utf8.RuneCount(b)
	if n > t.Length {
		return textError(t, b, fmt.Sprintf("it has %d characters", n))
	}
	if t.Kind == types.Char && n < t.Length {
		x.b = append(x.b[:0], b...)
		for ; n < t.Length; n++ {
			x.b = append(x.b, ' ')
		}
		b = x.b
	}
	c.PutBytes(b)
	return nil
}

func (x *Texts) putBase64(c *Col, b []byte) error {
	out, err := base64.StdEncoding.AppendDecode(x.b[:0], b)
	if err != nil {
		return textError(c.Type, b, "bytes are written in base64")
	}
	x.b = out
	return PutRaw(c, out)
}

// PutRaw puts bytes into a BINARY or VARBINARY column, checking the length.
func PutRaw(c *Col, b []byte) error {
	t := c.Type
	if len(b) > t.Length {
		return &TextError{Type: t, Text: fmt.Sprintf("%x", b), Cause: fmt.Sprintf("it has %d bytes", len(b))}
	}
	if t.Kind == types.Binary && len(b) < t.Length {
		b = types.FitBytes(b, t)
	}
	c.PutBytes(b)
	return nil
}

const tsShape = "write it as 2024-05-01 10:00:00.123"

// timestamp reads a wall clock: seconds may be missing.
func (x *Texts) timestamp(t types.Type, b []byte) (int64, error) {
	x.ts.Precision, x.ts.Strict = t.Precision, true
	if len(b) > 10 && (b[10] == ' ' || b[10] == 'T') {
		x.ts.Sep = b[10]
		v, err := x.ts.Parse(b)
		if err == nil {
			return v, nil
		}
		if v, ok := x.oddTimestamp(b); ok {
			return v, nil
		}
		if ve, ok := err.(*types.ValueError); ok && ve.Reason != "" {
			return 0, textError(t, b, ve.Reason)
		}
		if _, _, ok := zoneSuffix(b); ok {
			return 0, textError(t, b, "it has a time zone: declare the column as TIMESTAMP_LTZ")
		}
	}
	if _, ok := ParseInt(b); ok {
		return 0, textError(t, b, "declare the column as BIGINT and compute TO_TIMESTAMP_LTZ(column, 3) from it (0: seconds, 3: milliseconds, 6: microseconds)")
	}
	return 0, textError(t, b, tsShape)
}

// oddTimestamp reads 10:00 without seconds, 24:00:00 (the next midnight) and a trailing point.
func (x *Texts) oddTimestamp(b []byte) (int64, bool) {
	switch {
	case len(b) == 16:
		x.b = append(append(x.b[:0], b...), ":00"...)
		v, err := x.ts.Parse(x.b)
		return v, err == nil
	case len(b) >= 19 && string(b[11:19]) == "24:00:00" && len(bytes.Trim(b[19:], ".0")) == 0:
		x.b = append(append(append(x.b[:0], b[:11]...), "00:00:00"...), b[19:]...)
		v, err := x.ts.Parse(x.b)
		day := types.MicrosPerDay
		if x.ts.Precision > 6 {
			day = types.NanosPerDay
		}
		return v + day, err == nil && v <= math.MaxInt64-day
	}
	return 0, false
}

// instant reads a wall clock with Z or an offset behind it.
func (x *Texts) instant(t types.Type, b []byte) (int64, error) {
	wall, offset, ok := zoneSuffix(b)
	if !ok {
		if _, isInt := ParseInt(b); isInt {
			return 0, textError(t, b, "declare the column as BIGINT and compute TO_TIMESTAMP_LTZ(column, 3) from it (0: seconds, 3: milliseconds, 6: microseconds)")
		}
		return 0, textError(t, b, "a time zone is missing at its end (Z or +02:00); declare the column as TIMESTAMP if it has none")
	}
	v, err := x.timestamp(types.TimestampOf(t.Precision), wall)
	if err != nil {
		return 0, textError(t, b, "write it as 2024-05-01 10:00:00.123Z")
	}
	if offset == 0 {
		return v, nil
	}
	d := int64(offset / time.Microsecond)
	if t.Precision > 6 {
		d = int64(offset)
	}
	if d > 0 && v < math.MinInt64+d || d < 0 && v > math.MaxInt64+d {
		return 0, textError(t, b, "out of range")
	}
	return v - d, nil
}

// zoneSuffix cuts Z, +hh, +hhmm or +hh:mm off a timestamp.
func zoneSuffix(b []byte) (wall []byte, offset time.Duration, ok bool) {
	n := len(b)
	if n > 11 && b[n-1] == 'Z' {
		return b[:n-1], 0, true
	}
	i := n - 1
	for i > 11 && b[i] != '+' && b[i] != '-' && n-i < 7 {
		i--
	}
	if i <= 11 || b[i] != '+' && b[i] != '-' {
		return nil, 0, false
	}
	z := b[i+1:]
	var h, m int
	two := func(b []byte) int {
		if b[0]-'0' > 9 || b[1]-'0' > 9 {
			return 99
		}
		return int(b[0]-'0')*10 + int(b[1]-'0')
	}
	switch {
	case len(z) == 2:
		h = two(z)
	case len(z) == 4:
		h, m = two(z), two(z[2:])
	case len(z) == 5 && z[2] == ':':
		h, m = two(z), two(z[3:])
	default:
		return nil, 0, false
	}
	if h > 18 || m > 59 {
		return nil, 0, false
	}
	offset = time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	if b[i] == '-' {
		offset = -offset
	}
	return b[:i], offset, true
}

// PutNumber puts a JSON number that is no plain integer (or one that is too long) into an INT or BIGINT column: cut toward zero, as Jackson does.
// TINYINT and SMALLINT take whole numbers without point or exponent only.
func PutNumber(c *Col, b []byte) error {
	if c.Type.Kind == types.TinyInt || c.Type.Kind == types.SmallInt {
		v, ok := ParseInt(b)
		if !ok {
			return textError(c.Type, b, "")
		}
		if !PutInt(c, v) {
			return textError(c.Type, b, "out of range")
		}
		return nil
	}
	if v, ok := ParseInt(b); ok {
		if !PutInt(c, v) {
			return textError(c.Type, b, "out of range")
		}
		return nil
	}
	v, ok := truncated(b)
	if !ok || !PutInt(c, v) {
		return textError(c.Type, b, "out of range")
	}
	return nil
}

// truncated returns the integer part of the number in b; false when it is no int64.
func truncated(b []byte) (int64, bool) {
	if len(b) > 400 {
		return 0, false
	}
	var r big.Rat
	if i := bytes.IndexAny(b, "eE"); i >= 0 {
		if e, err := strconv.Atoi(string(bytes.TrimPrefix(b[i+1:], []byte("+")))); err != nil || e < -400 || e > 60 {
			return 0, err == nil && e < 0 // tiny: 0
		}
	}
	if _, ok := r.SetString(string(b)); !ok {
		return 0, false
	}
	q := new(big.Int).Quo(r.Num(), r.Denom())
	return q.Int64(), q.IsInt64()
}
