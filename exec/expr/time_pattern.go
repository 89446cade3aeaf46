package expr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weir-sql/weir/types"
)

// timePattern is a compiled Java date and time pattern: that of DateTimeFormatter (DATE_FORMAT, TO_TIMESTAMP), or that of SimpleDateFormat
// (FROM_UNIXTIME, UNIX_TIMESTAMP, TO_DATE), which differs in S (milliseconds as a number) and u, in parsing leniently, and in stopping at the end of
// the pattern. Letters that need a time zone are refused.
type timePattern struct {
	parts  []patternPart
	simple bool
}

// patternPart is a run of one letter, or literal text (letter 0).
type patternPart struct {
	letter byte
	count  int
	text   string
}

// patternUse says which of Java's two languages a pattern is of, and whether it is for writing or for reading.
type patternUse uint8

const (
	formatPattern patternUse = iota // DateTimeFormatter
	parsePattern
	simpleFormat // SimpleDateFormat
	simpleParse
)

// letters has the letters of each use that we know. Y, w, W, F, e and c count weeks from Sunday, the first week being that of January 1.
var letters = [...]string{
	formatPattern: "GyuYMLdDEeaHkKhmsSnANQqw",
	parsePattern:  "GyuMLdDEaHkKhmsS",
	simpleFormat:  "GyYMLdDEuaHkKhmsSwWF",
	simpleParse:   "GyMLdDEaHkKhmsS",
}

func compileTimePattern(s string, use patternUse) (*timePattern, error) {
	simple := use >= simpleFormat
	p := &timePattern{simple: simple}
	literal := func(t string) {
		if n := len(p.parts); n > 0 && p.parts[n-1].letter == 0 {
			p.parts[n-1].text += t
			return
		}
		p.parts = append(p.parts, patternPart{text: t})
	}
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '\'':
			j := i + 1
			var b strings.Builder
			closed := false
			for j < len(s) {
				if s[j] == '\'' {
					if j+1 < len(s) && s[j+1] == '\'' {
						b.WriteByte('\'')
						j += 2
						continue
					}
					closed = true
					j++
					break
				}
				b.WriteByte(s[j])
				j++
			}
			if !closed {
				return nil, fmt.Errorf("the pattern '%s' has a quote that is not closed", s)
			}
			if j == i+2 { // '' outside of quotes is a quote
				literal("'")
			} else {
				literal(b.String())
			}
			i = j
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			j := i
			for j < len(s) && s[j] == c {
				j++
			}
			n := j - i
			if strings.IndexByte(letters[use], c) < 0 {
				return nil, fmt.Errorf("the letter '%c' of the pattern '%s' is not supported; known are y M d D E H h K k m s S a and a few more; "+
					"put text into quotes", c, s)
			}
			if most := maxCount(c, simple); n > most {
				return nil, fmt.Errorf("the pattern '%s' has too many letters '%c': at most %d", s, c, most)
			}
			p.parts = append(p.parts, patternPart{letter: c, count: n})
			i = j
		case !simple && (c == '[' || c == ']' || c == '{' || c == '}' || c == '#'):
			return nil, fmt.Errorf("'%c' in the pattern '%s' is not supported: quote it if it is text", c, s)
		default:
			_, n := utf8.DecodeRuneInString(s[i:])
			literal(s[i : i+n])
			i += n
		}
	}
	return p, nil
}

func maxCount(c byte, simple bool) int {
	if simple {
		return 19
	}
	switch c {
	case 'd', 'H', 'k', 'K', 'h', 'm', 's', 'w':
		return 2
	case 'D':
		return 3
	case 'a':
		return 1
	case 'S':
		return 9
	case 'M', 'L', 'E', 'G', 'Q', 'q':
		return 5
	}
	return 19
}

var monthNames = [...]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
var dayNames = [...]string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
var quarterNames = [...]string{"1st quarter", "2nd quarter", "3rd quarter", "4th quarter"}

// format appends a wall clock in microseconds, and the nanoseconds beyond them.
func (p *timePattern) format(dst []byte, us, ns int64) []byte {
	days := types.FloorDiv(us, types.MicrosPerDay)
	rest := us - days*types.MicrosPerDay
	year, month, day := types.CivilFromDays(days)
	nano := rest%types.MicrosPerSecond*1000 + ns
	sec := int(rest / types.MicrosPerSecond)
	hour := sec / 3600
	yearOfEra := year
	if yearOfEra <= 0 {
		yearOfEra = 1 - yearOfEra
	}
	for _, part := range p.parts {
		n := part.count
		switch part.letter {
		case 0:
			dst = append(dst, part.text...)
		case 'G':
			era := [2]string{"BC", "AD"}
			if n == 4 {
				era = [2]string{"Before Christ", "Anno Domini"}
			} else if n == 5 {
				era = [2]string{"B", "A"}
			}
			dst = append(dst, era[bit(year > 0)]...)
		case 'u':
			if p.simple {
				dst = appendInt(dst, types.ISODayOfWeek(days), n)
				break
			}
			fallthrough
		case 'y', 'Y':
			y := yearOfEra
			switch part.letter {
			case 'u':
				y = year
			case 'Y':
				y, _ = weekOfYear(days)
			}
			switch {
			case n == 2:
				dst = appendInt(dst, (y%100+100)%100, 2)
			case !p.simple && n >= 4 && y > 9999: // the sign shows that there are more digits than asked for
				dst = append(dst, '+')
				dst = appendInt(dst, y, n)
			default:
				dst = appendInt(dst, y, n)
			}
		case 'M', 'L':
			switch {
			case n <= 2:
				dst = appendInt(dst, month, n)
			case n == 3:
				dst = append(dst, monthNames[month-1][:3]...)
			case n == 5 && !p.simple:
				dst = append(dst, monthNames[month-1][0])
			default:
				dst = append(dst, monthNames[month-1]...)
			}
		case 'd':
			dst = appendInt(dst, day, n)
		case 'D':
			dst = appendInt(dst, types.DayOfYear(days), n)
		case 'w':
			_, w := weekOfYear(days)
			dst = appendInt(dst, w, n)
		case 'W':
			first := types.ISODayOfWeek(days-int64(day-1)) % 7
			dst = appendInt(dst, (day-1+first)/7+1, n)
		case 'F':
			dst = appendInt(dst, (day-1)/7+1, n)
		case 'E', 'e':
			if part.letter == 'e' && n <= 2 {
				dst = appendInt(dst, types.ISODayOfWeek(days)%7+1, n)
				break
			}
			name := dayNames[types.ISODayOfWeek(days)-1]
			switch {
			case n <= 3:
				name = name[:3]
			case n == 5 && !p.simple:
				name = name[:1]
			}
			dst = append(dst, name...)
		case 'a':
			dst = append(dst, [2]string{"AM", "PM"}[hour/12]...)
		case 'H':
			dst = appendInt(dst, hour, n)
		case 'k':
			dst = appendInt(dst, (hour+23)%24+1, n)
		case 'K':
			dst = appendInt(dst, hour%12, n)
		case 'h':
			dst = appendInt(dst, (hour+11)%12+1, n)
		case 'm':
			dst = appendInt(dst, sec/60%60, n)
		case 's':
			dst = appendInt(dst, sec%60, n)
		case 'S':
			if p.simple {
				dst = appendInt(dst, int(nano/1_000_000), n)
				break
			}
			div := int64(100_000_000)
			for range n {
				dst = append(dst, byte('0'+nano/div%10))
				div /= 10
			}
		case 'n':
			dst = appendInt(dst, int(nano), n)
		case 'A':
			dst = appendInt(dst, int(rest/1000), n)
		case 'N':
			dst = appendInt(dst, int(rest*1000+ns), n)
		case 'Q', 'q':
			q := (month-1)/3 + 1
			switch n {
			case 3:
				dst = append(dst, 'Q', byte('0'+q))
			case 4:
				dst = append(dst, quarterNames[q-1]...)
			case 5:
				dst = append(dst, byte('0'+q))
			default:
				dst = appendInt(dst, q, n)
			}
		}
	}
	return dst
}

// weekOfYear counts weeks from Sunday; week 1 is that of January 1, and the week's year is that of its Saturday.
func weekOfYear(days int64) (year, week int) {
	saturday := days + 6 - int64(types.ISODayOfWeek(days)%7)
	y, _, _ := types.CivilFromDays(saturday)
	return y, (types.DayOfYear(saturday)-1)/7 + 1
}

// appendInt appends v with at least n digits.
func appendInt(dst []byte, v, n int) []byte {
	if v < 0 {
		dst = append(dst, '-')
		v = -v
	}
	var buf [20]byte
	b := strconv.AppendInt(buf[:0], int64(v), 10)
	for k := len(b); k < n; k++ {
		dst = append(dst, '0')
	}
	return append(dst, b...)
}

// parseMicros reads a wall clock. Fields that the pattern does not have are those of 1970-01-01 00:00:00. By DateTimeFormatter the whole text must
// match, fields must be in range, and a day that the month does not have becomes its last (Feb 30); by SimpleDateFormat text behind the match is
// ignored and fields roll over (Feb 30 is Mar 1).
func (p *timePattern) parseMicros(s string) (us int64, ok bool) {
	year, month, day, doy := 1970, 1, 1, 0
	hour, minute, second := 0, 0, 0
	nano, pm, hour12, weekday := int64(0), -1, -1, -1
	negative := false
	i := 0
	for k, part := range p.parts {
		if part.letter == 0 {
			if !strings.HasPrefix(s[i:], part.text) {
				return 0, false
			}
			i += len(part.text)
			continue
		}
		switch part.letter {
		case 'G':
			switch {
			case hasFold(s[i:], "AD", p.simple):
			case hasFold(s[i:], "BC", p.simple):
				negative = true
			default:
				return 0, false
			}
			i += 2
			continue
		case 'a':
			switch {
			case hasFold(s[i:], "AM", p.simple):
				pm = 0
			case hasFold(s[i:], "PM", p.simple):
				pm = 1
			default:
				return 0, false
			}
			i += 2
			continue
		case 'E':
			n, w := matchName(s[i:], dayNames[:], part.count, p.simple)
			if n == 0 {
				return 0, false
			}
			weekday = w
			i += n
			continue
		case 'M', 'L':
			if part.count >= 3 {
				n, m := matchName(s[i:], monthNames[:], part.count, p.simple)
				if n == 0 {
					return 0, false
				}
				month = m + 1
				i += n
				continue
			}
		}
		// A number. Next to another number it has exactly as many digits as letters.
		adjacent := k+1 < len(p.parts) && p.parts[k+1].numeric()
		most := 19
		least := 1
		if adjacent {
			most = part.count
		}
		if !p.simple {
			switch part.letter {
			case 'y', 'u':
				if part.count == 2 {
					least, most = 2, 2
					break
				}
				least = part.count
				switch {
				case adjacent:
					most = max(part.count, 4)
				case part.count >= 4 && strings.HasPrefix(s[i:], "+"): // only with a sign there may be more digits than letters
					i++
					least = part.count + 1
				case part.count >= 4:
					most = part.count
				}
			case 'S':
				least, most = part.count, part.count
			default:
				least = part.count
				if part.count == 1 && !adjacent {
					most = 2
					if part.letter == 'D' {
						most = 3
					}
				} else if part.count > 1 {
					most = part.count
				}
			}
		} else {
			for i < len(s) && (s[i] == ' ' || s[i] == '\t') { // SimpleDateFormat skips blanks before a number
				i++
			}
		}
		neg := false
		if i < len(s) && s[i] == '-' && (p.simple && !adjacent || part.letter == 'u' || part.letter == 'y') {
			neg = true
			i++
		}
		from := i
		v := int64(0)
		for i < len(s) && i-from < most && s[i]-'0' <= 9 {
			if v > 1<<58 {
				return 0, false
			}
			v = v*10 + int64(s[i]-'0')
			i++
		}
		digits := i - from
		if digits < least {
			return 0, false
		}
		if neg {
			v = -v
		}
		n := int(v)
		switch part.letter {
		case 'y', 'u':
			if part.count == 2 && digits == 2 {
				n += 2000
				if p.simple && n > 2000+twoDigitYearLimit {
					n -= 100
				}
			}
			year = n
		case 'M', 'L':
			month = n
		case 'd':
			day = n
		case 'D':
			doy = n
		case 'H':
			hour = n
		case 'k':
			hour = n % 24
		case 'K':
			hour12 = n
		case 'h':
			hour12 = n % 12
		case 'm':
			minute = n
		case 's':
			second = n
		case 'S':
			if p.simple {
				nano = v * 1_000_000
			} else {
				nano = v
				for range 9 - digits {
					nano *= 10
				}
			}
		}
	}
	if !p.simple && i != len(s) {
		return 0, false
	}
	if hour12 >= 0 {
		switch {
		case pm < 0 && !p.simple: // nothing says which half of the day: not taken, as in Flink
		default:
			hour = hour12 + 12*max(pm, 0)
		}
	} else if pm >= 0 && p.simple && hour < 12 {
		hour = hour%12 + 12*pm*int(bit(hour == 0))
	}
	if negative {
		year = 1 - year
	}
	const farYear = 200_000 // years that microseconds can count
	if year > farYear || year < -farYear {
		return 0, false
	}
	if !p.simple {
		if month < 1 || month > 12 || day < 1 || day > 31 || hour > 24 || minute > 59 || second > 59 {
			return 0, false
		}
		if hour == 24 && (minute != 0 || second != 0 || nano != 0) {
			return 0, false
		}
		day = min(day, types.DaysInMonth(year, month))
	}
	y := int64(year) + types.FloorDiv(int64(month-1), 12)
	m := int(types.FloorMod(int64(month-1), 12)) + 1
	days := types.DaysFromCivil(int(y), m, 1) + int64(day-1)
	if doy > 0 {
		days = types.DaysFromCivil(year, 1, 1) + int64(doy-1)
	}
	if weekday >= 0 && !p.simple && weekday != types.ISODayOfWeek(days)-1 {
		return 0, false
	}
	secs := int64(hour)*3600 + int64(minute)*60 + int64(second)
	if secs > 1<<40 || secs < -1<<40 || days > 1<<27 || days < -1<<27 {
		return 0, false
	}
	return days*types.MicrosPerDay + secs*types.MicrosPerSecond + types.FloorDiv(nano, 1000), true
}

// twoDigitYearLimit: SimpleDateFormat takes two digits for a year within 80 years before and 20 years after today; fixed here, so that a result does
// not depend on the day of the run.
const twoDigitYearLimit = 45

func (p patternPart) numeric() bool {
	switch p.letter {
	case 0, 'G', 'a', 'E':
		return false
	case 'M', 'L', 'Q', 'q':
		return p.count <= 2
	}
	return true
}

func hasFold(s, prefix string, fold bool) bool {
	if len(s) < len(prefix) {
		return false
	}
	return s[:len(prefix)] == prefix || fold && strings.EqualFold(s[:len(prefix)], prefix)
}

// matchName finds the name (or its first three letters) at the start of s: its length, and which.
func matchName(s string, names []string, count int, simple bool) (n, which int) {
	for w, name := range names {
		if (count >= 4 || simple) && hasFold(s, name, simple) {
			return len(name), w
		}
	}
	for w, name := range names {
		if (count < 4 || simple) && hasFold(s, name[:3], simple) {
			if len(s) > 3 && !simple && unicode.IsLetter(rune(s[3])) {
				return 0, 0
			}
			return 3, w
		}
	}
	return 0, 0
}
