package types

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// ParseDate takes yyyy-mm-dd, months and days of one digit, the short forms yyyy-mm and yyyy (the first day), white space around it, and a time behind
// a blank, which is ignored. Years are 0 to 9999; days are checked (Feb 30 is an error).
func ParseDate(b []byte) (int32, error) {
	if len(b) == 10 {
		if d, ok := fastDate(b); ok {
			return d, nil
		}
	}
	all := b
	b = trimSpace(b)
	for i, c := range b {
		if c == ' ' {
			b = trimSpace(b[:i])
			break
		}
	}
	if len(b) == 0 {
		return 0, valueError("DATE", all, whyEmpty)
	}
	part := [3]int{0, 1, 1}
	n := 0
	for {
		v, rest, ok := dateNumber(b)
		if !ok {
			return 0, valueError("DATE", all, "")
		}
		part[n] = v
		n++
		if len(rest) == 0 {
			break
		}
		if rest[0] != '-' || n == 3 {
			return 0, valueError("DATE", all, "")
		}
		b = rest[1:]
	}
	y, m, d := part[0], part[1], part[2]
	if y > 9999 || m < 1 || m > 12 || d < 1 || d > DaysInMonth(y, m) {
		return 0, valueError("DATE", all, "no such day")
	}
	return int32(DaysFromCivil(y, m, d)), nil
}

// dateNumber takes the digits in front of b.
func dateNumber(b []byte) (v int, rest []byte, ok bool) {
	i := 0
	for i < len(b) && b[i]-'0' <= 9 {
		if v = v*10 + int(b[i]-'0'); v > 99999 {
			v = 99999
		}
		i++
	}
	return v, b[i:], i > 0
}

// fastDate takes yyyy-mm-dd of a day that exists.
func fastDate(b []byte) (int32, bool) {
	if b[4] != '-' || b[7] != '-' {
		return 0, false
	}
	y1, y2, m, d := two(b[0:]), two(b[2:]), two(b[5:]), two(b[8:])
	if y1|y2|m|d >= 0x80 {
		return 0, false
	}
	y := y1*100 + y2
	if m < 1 || m > 12 || d < 1 || d > 28 && d > DaysInMonth(y, m) {
		return 0, false
	}
	return int32(DaysFromCivil(y, m, d)), true
}

// two is the number of two digits, or a number >= 0x80 that stays so under |.
func two(b []byte) int {
	hi, lo := b[0]-'0', b[1]-'0'
	if hi > 9 || lo > 9 {
		return 0x80
	}
	return int(hi)*10 + int(lo)
}

// ParseTime takes hh[:mm[:ss[.f]]], parts of one digit, white space around it; the fraction is rounded to milliseconds and cut to the
// precision. A date, a zone and 24:00:00 are errors.
func ParseTime(b []byte, precision int) (int32, error) {
	all := b
	b = trimSpace(b)
	if len(b) == 0 {
		return 0, valueError("TIME", all, whyEmpty)
	}
	var part [3]int
	n := 0
	ms := 0
	for {
		v, rest, ok := dateNumber(b)
		if !ok {
			return 0, valueError("TIME", all, "")
		}
		part[n] = v
		n++
		if len(rest) == 0 {
			break
		}
		if rest[0] == '.' && n == 3 {
			for i, c := range rest[1:] {
				switch {
				case c-'0' > 9:
					return 0, valueError("TIME", all, "")
				case i < 3:
					ms += int(c-'0') * [3]int{100, 10, 1}[i]
				case i == 3 && c >= '5':
					ms++ // Flink rounds to milliseconds before it cuts to the precision
				}
			}
			break
		}
		if rest[0] != ':' || n == 3 {
			return 0, valueError("TIME", all, "")
		}
		b = rest[1:]
	}
	if part[0] > 23 || part[1] > 59 || part[2] > 59 {
		return 0, valueError("TIME", all, "no such time")
	}
	total := int32(((part[0]*60+part[1])*60+part[2])*1000 + ms)
	if total >= int32(MillisPerDay) {
		return 0, valueError("TIME", all, "rounds to 24:00:00")
	}
	return cutMillis(total, precision), nil
}

// cutMillis cuts the milliseconds of a time of day to a precision.
func cutMillis(ms int32, precision int) int32 {
	switch {
	case precision <= 0:
		return ms - ms%1000
	case precision == 1:
		return ms - ms%100
	case precision == 2:
		return ms - ms%10
	}
	return ms
}

// ParseTimestamp takes yyyy-mm-dd[ hh:mm:ss[.f]] with up to nine digits of the fraction, which are cut to precision; other parts than the year may have
// one digit; 24:00:00 is the next midnight; a day up to 31 that the month does not have is its last (Feb 30 is Feb 29 or 28, as in Flink). White space,
// a T, a zone are errors. The result is in microseconds, for precision > 6 in nanoseconds (then years before 1677 and behind 2262 are an error).
func ParseTimestamp(b []byte, precision int) (int64, error) {
	p := TimestampParser{Precision: precision}
	return p.Parse(b)
}

// ParseTimestampLTZ is ParseTimestamp of a wall clock in zone (nil is UTC); the result is an instant.
func ParseTimestampLTZ(b []byte, precision int, zone *time.Location) (int64, error) {
	v, err := ParseTimestamp(b, precision)
	if err != nil || zone == nil || zone == time.UTC {
		return v, err
	}
	v, ok := TimestampToLTZ(v, precision, zone)
	if !ok {
		return 0, valueError(TimestampLTZOf(precision).String(), b, whyRange)
	}
	return v, nil
}

// TimestampParser parses many timestamps: it keeps the last day it saw, so that a run of timestamps of near days costs one comparison each. The zero
// value of the options means the text of CAST from STRING: see ParseTimestamp. It is not safe for use by several goroutines at once.
type TimestampParser struct {
	Precision int  // 0 to 9
	Sep       byte // between date and time: ' ' (also when 0) or 'T'
	Strict    bool // for formats: two digits in each part (four in the year), a time of day at least, no 24:00:00, no day that does not exist
	Zulu      bool // a Z must follow: UTC

	day   [10]byte // text of the day in dayUs
	dayUs int64
}

// Parse returns microseconds, or nanoseconds for Precision > 6.
func (p *TimestampParser) Parse(b []byte) (int64, error) {
	text := b
	if p.Zulu {
		if len(b) == 0 || b[len(b)-1] != 'Z' {
			return 0, p.error(text, "Z is missing at the end")
		}
		b = b[:len(b)-1]
	}
	us, nanos, ok := p.fast(b)
	if !ok {
		if p.Strict {
			return 0, p.error(text, "")
		}
		var why string
		if us, nanos, why = p.slow(b); why != "" {
			return 0, p.error(text, why)
		}
	}
	if p.Precision <= 6 {
		if p.Precision < 6 {
			us -= FloorMod(us, cutUnit[p.Precision])
		}
		return us, nil
	}
	v, ok := nanosOf(us, nanos)
	if !ok {
		return 0, p.error(text, "out of the range of nanoseconds, 1677 to 2262")
	}
	return v - FloorMod(v, cutUnit[p.Precision-3]), nil
}

// cutUnit[p] is the unit of precision p in microseconds; shifted by three it is that of nanoseconds.
var cutUnit = [7]int64{1_000_000, 100_000, 10_000, 1000, 100, 10, 1}

func nanosOf(us int64, nanos int) (int64, bool) {
	if us > math.MaxInt64/1000 || us < math.MinInt64/1000 {
		return 0, false
	}
	v := us*1000 + int64(nanos)
	return v, us <= 0 || v > 0
}

func (p *TimestampParser) error(b []byte, why string) error {
	return valueError(TimestampOf(p.Precision).String(), b, why)
}

// fast takes yyyy-mm-dd hh:mm:ss[.f] with all digits there and a day that exists.
func (p *TimestampParser) fast(b []byte) (us int64, nanos int, ok bool) {
	if len(b) < 19 || len(b) > 29 {
		return 0, 0, false
	}
	sep := p.Sep
	if sep == 0 {
		sep = ' '
	}
	if b[10] != sep {
		return 0, 0, false
	}
	if p.day[0] == 0 || string(b[:10]) != string(p.day[:]) {
		d, ok := fastDate(b)
		if !ok || string(b[:4]) == "0000" {
			return 0, 0, false
		}
		p.dayUs = int64(d) * MicrosPerDay
		copy(p.day[:], b)
	}
	// The eight bytes hh:mm:ss at once: colons in place, digits without their high nibble; then no digit above 9.
	x := binary.LittleEndian.Uint64(b[11:])
	if x&0x0000FF0000FF0000 != 0x00003A00003A0000 {
		return 0, 0, false
	}
	x ^= 0x30303A30303A3030
	if (x|(x+0x0606060606060606))&0xF0F0F0F0F0F0F0F0 != 0 {
		return 0, 0, false
	}
	hh := int64(x&0xFF)*10 + int64(x>>8&0xFF)
	mm := int64(x>>24&0xFF)*10 + int64(x>>32&0xFF)
	ss := int64(x>>48&0xFF)*10 + int64(x>>56)
	if hh > 23 || mm > 59 || ss > 59 {
		return 0, 0, false
	}
	us = p.dayUs + ((hh*60+mm)*60+ss)*MicrosPerSecond
	if len(b) == 19 {
		return us, 0, true
	}
	n, ok := fraction(b[19:])
	return us + int64(n/1000), n % 1000, ok
}

// fraction takes a point and up to nine digits, as nanoseconds.
func fraction(b []byte) (int, bool) {
	if b[0] != '.' || len(b) > 10 {
		return 0, false
	}
	n := 0
	for _, c := range b[1:] {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	for i := len(b); i < 10; i++ {
		n *= 10
	}
	return n, true
}

// slow takes all that CAST takes. why is empty when it is right, otherwise the reason.
func (p *TimestampParser) slow(b []byte) (us int64, nanos int, why string) {
	const shape = "expected yyyy-mm-dd hh:mm:ss[.fraction]"
	if len(b) == 0 {
		return 0, 0, whyEmpty
	}
	y, b, ok := digitsOf(b, 4, 4)
	if !ok || len(b) == 0 || b[0] != '-' {
		return 0, 0, shape
	}
	m, b, ok := digitsOf(b[1:], 1, 2)
	if !ok || len(b) == 0 || b[0] != '-' {
		return 0, 0, shape
	}
	d, b, ok := digitsOf(b[1:], 1, 2)
	if !ok {
		return 0, 0, shape
	}
	if y == 0 || m < 1 || m > 12 || d < 1 || d > 31 {
		return 0, 0, "no such day"
	}
	us = DaysFromCivil(y, m, min(d, DaysInMonth(y, m))) * MicrosPerDay
	if len(b) == 0 {
		return us, 0, ""
	}
	sep := p.Sep
	if sep == 0 {
		sep = ' '
	}
	if b[0] != sep {
		return 0, 0, shape
	}
	var part [3]int
	for i := range part {
		if i > 0 && (len(b) == 0 || b[0] != ':') || len(b) == 0 {
			return 0, 0, shape
		}
		if part[i], b, ok = digitsOf(b[1:], 1, 2); !ok {
			return 0, 0, shape
		}
	}
	n := 0
	if len(b) > 0 {
		if n, ok = fraction(b); !ok {
			return 0, 0, shape
		}
	}
	hh, mm, ss := part[0], part[1], part[2]
	midnight := hh == 24 && mm == 0 && ss == 0 && n == 0
	if (hh > 23 && !midnight) || mm > 59 || ss > 59 {
		return 0, 0, "no such time"
	}
	us += int64((hh*60+mm)*60+ss) * MicrosPerSecond
	return us + int64(n/1000), n % 1000, ""
}

// digitsOf takes from least to most digits in front of b; a further digit is an error.
func digitsOf(b []byte, least, most int) (v int, rest []byte, ok bool) {
	i := 0
	for i < len(b) && b[i]-'0' <= 9 {
		if i == most {
			return 0, nil, false
		}
		v = v*10 + int(b[i]-'0')
		i++
	}
	return v, b[i:], i >= least
}

// TimestampToLTZ reads a TIMESTAMP(precision) as a wall clock of zone and returns the instant in the same unit; false when it leaves the range.
func TimestampToLTZ(v int64, precision int, zone *time.Location) (int64, bool) {
	if zone == nil || zone == time.UTC {
		return v, true
	}
	if precision <= 6 {
		return FromWall(v, zone, CastRule), true
	}
	us := FloorDiv(v, 1000)
	return addChecked(v, (FromWall(us, zone, CastRule)-us)*1000)
}

// LTZToTimestamp is the wall clock that zone shows at an instant, in the same unit; false when it leaves the range.
func LTZToTimestamp(v int64, precision int, zone *time.Location) (int64, bool) {
	if zone == nil || zone == time.UTC {
		return v, true
	}
	if precision <= 6 {
		return ToWall(v, zone), true
	}
	us := FloorDiv(v, 1000)
	return addChecked(v, (ToWall(us, zone)-us)*1000)
}

func addChecked(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

// RescaleTimestamp converts a timestamp from one precision to another: units change at 6, a lower precision cuts toward the past. It is an error when
// the result has no nanoseconds (years before 1677 or behind 2262).
func RescaleTimestamp(v int64, from, to int) (int64, error) {
	switch {
	case from > 6 && to <= 6:
		v = FloorDiv(v, 1000)
		if to < 6 {
			v -= FloorMod(v, cutUnit[to])
		}
	case from <= 6 && to > 6:
		n, ok := nanosOf(v, 0)
		if !ok {
			return 0, fmt.Errorf("%s does not fit TIMESTAMP(%d): out of the range of nanoseconds, 1677 to 2262", AppendTimestamp(nil, v, 6), to)
		}
		v = n
	case to < from && to > 6:
		v -= FloorMod(v, cutUnit[to-3])
	case to < from:
		v -= FloorMod(v, cutUnit[to])
	}
	return v, nil
}
