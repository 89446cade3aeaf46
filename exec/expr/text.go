package expr

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/weir-sql/weir/types"
)

// Hashes, encodings, URLs and PRINTF.

func init() {
	for name, sum := range map[string]func(b []byte) []byte{
		"MD5":    func(b []byte) []byte { s := md5.Sum(b); return s[:] },
		"SHA1":   func(b []byte) []byte { s := sha1.Sum(b); return s[:] },
		"SHA224": func(b []byte) []byte { s := sha256.Sum224(b); return s[:] },
		"SHA256": func(b []byte) []byte { s := sha256.Sum256(b); return s[:] },
		"SHA384": func(b []byte) []byte { s := sha512.Sum384(b); return s[:] },
		"SHA512": func(b []byte) []byte { s := sha512.Sum512(b); return s[:] },
	} {
		define(name, strict1(func(_ *env, b []byte) (string, error) { return hex.EncodeToString(sum(b)), nil }))
	}
	define("SHA2", strict2(func(_ *env, b []byte, bits int64) (string, error) {
		switch bits {
		case 224:
			s := sha256.Sum224(b)
			return hex.EncodeToString(s[:]), nil
		case 256:
			s := sha256.Sum256(b)
			return hex.EncodeToString(s[:]), nil
		case 384:
			s := sha512.Sum384(b)
			return hex.EncodeToString(s[:]), nil
		case 512:
			s := sha512.Sum512(b)
			return hex.EncodeToString(s[:]), nil
		}
		return "", fmt.Errorf("SHA2 has 224, 256, 384 or 512 bits, not %d", bits)
	}))
	define("ENCODE", strict2(func(_ *env, s, charset string) ([]byte, error) { return encode(s, charset) }))
	define("DECODE", strict2(func(_ *env, b []byte, charset string) (string, error) { return decode(b, charset) }))
	define("URL_ENCODE", strict1(func(_ *env, s string) (string, error) { return urlEncode(s), nil }))
	define("URL_DECODE", strict1(func(_ *env, s string) (string, error) {
		out, err := url.QueryUnescape(s)
		if err != nil {
			return "", errNull
		}
		return out, nil
	}))
	define("PARSE_URL", arity(map[int]builder{
		2: strict2(func(_ *env, s, part string) (string, error) { return parseURL(s, part) }),
		3: strict3(func(_ *env, s, part, key string) (string, error) {
			if part != "QUERY" {
				return "", errNull
			}
			q, err := parseURL(s, part)
			if err != nil {
				return "", err
			}
			for _, pair := range strings.Split(q, "&") {
				if k, v, ok := strings.Cut(pair, "="); ok && k == key {
					return v, nil
				}
			}
			return "", errNull
		}),
	}))
	define("JSON_QUOTE", strict1(func(_ *env, s string) (string, error) { return jsonQuote(s), nil }))
	define("JSON_UNQUOTE", strict1(func(_ *env, s string) (string, error) { return jsonUnquote(s), nil }))
	define("PRINTF", func(c *call) (Evaluator, error) {
		return withNulls(func(e *env, a []any) (string, error) {
			if a[0] == nil {
				return "", errNull
			}
			ts := make([]types.Type, len(c.args))
			for i, x := range c.args {
				ts[i] = x.Type()
			}
			return printf(a[0].(string), a[1:], ts[1:])
		})(c)
	})
}

// charset normalises the name of a character set.
func charset(name string) (string, error) {
	n := strings.ToUpper(strings.ReplaceAll(name, "_", "-"))
	switch n {
	case "UTF8", "UTF-8":
		return "UTF-8", nil
	case "ASCII", "US-ASCII":
		return "US-ASCII", nil
	case "ISO-8859-1", "ISO8859-1", "LATIN1":
		return "ISO-8859-1", nil
	case "UTF-16", "UTF-16BE", "UTF-16LE":
		return n, nil
	}
	return "", fmt.Errorf("unknown character set '%s': known are UTF-8, US-ASCII, ISO-8859-1, UTF-16, UTF-16BE and UTF-16LE", name)
}

func encode(s, name string) ([]byte, error) {
	cs, err := charset(name)
	if err != nil {
		return nil, err
	}
	var out []byte
	switch cs {
	case "UTF-8":
		return []byte(s), nil
	case "US-ASCII", "ISO-8859-1":
		most := rune(0x7f)
		if cs == "ISO-8859-1" {
			most = 0xff
		}
		for _, r := range s {
			if r > most {
				r = '?'
			}
			out = append(out, byte(r))
		}
		return out, nil
	case "UTF-16":
		if s != "" {
			out = append(out, 0xfe, 0xff)
		}
	}
	for _, u := range utf16.Encode([]rune(s)) {
		if cs == "UTF-16LE" {
			out = append(out, byte(u), byte(u>>8))
		} else {
			out = append(out, byte(u>>8), byte(u))
		}
	}
	return out, nil
}

func decode(b []byte, name string) (string, error) {
	cs, err := charset(name)
	if err != nil {
		return "", err
	}
	switch cs {
	case "UTF-8":
		return strings.ToValidUTF8(string(b), "\uFFFD"), nil
	case "US-ASCII", "ISO-8859-1":
		rs := make([]rune, len(b))
		for i, c := range b {
			if rs[i] = rune(c); cs == "US-ASCII" && c > 0x7f {
				rs[i] = utf8.RuneError
			}
		}
		return string(rs), nil
	}
	little := cs == "UTF-16LE"
	if cs == "UTF-16" && len(b) >= 2 {
		switch {
		case b[0] == 0xff && b[1] == 0xfe:
			little, b = true, b[2:]
		case b[0] == 0xfe && b[1] == 0xff:
			b = b[2:]
		}
	}
	us := make([]uint16, 0, len(b)/2+1)
	for i := 0; i+1 < len(b); i += 2 {
		if little {
			us = append(us, uint16(b[i])|uint16(b[i+1])<<8)
		} else {
			us = append(us, uint16(b[i])<<8|uint16(b[i+1]))
		}
	}
	s := string(utf16.Decode(us))
	if len(b)%2 == 1 {
		s += "\uFFFD"
	}
	return s, nil
}

// urlEncode is application/x-www-form-urlencoded as Java's URLEncoder has it: letters, digits, - _ . * stay and a blank becomes +.
func urlEncode(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.*", c) >= 0:
			b.WriteByte(c)
		case c == ' ':
			b.WriteByte('+')
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// printf formats by a pattern of Java's Formatter: %[index$][flags][width][.precision]conversion with d x X o e E f s S c b B h n %. NULL prints as
// null. As in Flink a pattern that does not fit the arguments gives NULL.
func printf(pattern string, args []any, ts []types.Type) (string, error) {
	var b strings.Builder
	next := 0
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			b.WriteByte(pattern[i])
			continue
		}
		i++
		from := i
		for i < len(pattern) && pattern[i] >= '0' && pattern[i] <= '9' {
			i++
		}
		index := -1
		if i < len(pattern) && pattern[i] == '$' && i > from {
			index, _ = strconv.Atoi(pattern[from:i])
			index--
			i++
		} else {
			i = from
		}
		from = i
		for i < len(pattern) && strings.IndexByte("-#+ 0,(", pattern[i]) >= 0 {
			i++
		}
		flags := pattern[from:i]
		from = i
		for i < len(pattern) && pattern[i] >= '0' && pattern[i] <= '9' {
			i++
		}
		width, _ := strconv.Atoi(pattern[from:i])
		precision := -1
		if i < len(pattern) && pattern[i] == '.' {
			i++
			from = i
			for i < len(pattern) && pattern[i] >= '0' && pattern[i] <= '9' {
				i++
			}
			if i == from {
				return "", errNull
			}
			precision, _ = strconv.Atoi(pattern[from:i])
		}
		if i == len(pattern) || width > maxText || precision > maxText {
			return "", errNull
		}
		conv := pattern[i]
		switch conv {
		case '%':
			b.WriteString(padField("%", flags, width))
			continue
		case 'n':
			b.WriteByte('\n')
			continue
		}
		if index < 0 {
			index = next
			next++
		}
		if index >= len(args) {
			return "", errNull
		}
		text, ok := printfArg(conv, flags, width, precision, args[index], ts[index])
		if !ok {
			return "", errNull
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

func padField(s, flags string, width int) string {
	n := width - utf8.RuneCountInString(s)
	if n <= 0 {
		return s
	}
	if strings.Contains(flags, "-") {
		return s + strings.Repeat(" ", n)
	}
	return strings.Repeat(" ", n) + s
}

func printfArg(conv byte, flags string, width, precision int, v any, t types.Type) (string, bool) {
	upper := conv >= 'A' && conv <= 'Z'
	done := func(s string) (string, bool) {
		if upper {
			s = toUpper(s)
		}
		return padField(s, flags, width), true
	}
	if v == nil {
		s := "null"
		if conv == 'b' || conv == 'B' {
			s = "false"
		}
		if precision >= 0 && precision < len(s) {
			s = s[:precision]
		}
		return done(s)
	}
	switch conv {
	case 's', 'S':
		s := javaText(v, t)
		if precision >= 0 {
			s = s[:runeOffset(s, int64(precision))]
		}
		return done(s)
	case 'b', 'B':
		s := "true"
		if x, ok := v.(bool); ok {
			s = strconv.FormatBool(x)
		}
		return done(s)
	case 'c', 'C':
		if !t.IsInteger() {
			return "", false
		}
		return done(string(rune(toInt64(v))))
	case 'd', 'x', 'X', 'o':
		if !t.IsInteger() || precision >= 0 {
			return "", false
		}
		n := toInt64(v)
		base := map[byte]int{'d': 10, 'x': 16, 'X': 16, 'o': 8}[conv]
		if base != 10 {
			u := uint64(n)
			switch v.(type) { // as many digits as the type has
			case int8:
				u = uint64(uint8(n))
			case int16:
				u = uint64(uint16(n))
			case int32:
				u = uint64(uint32(n))
			}
			s := strconv.FormatUint(u, base)
			if strings.Contains(flags, "#") {
				s = map[int]string{16: "0x", 8: "0"}[base] + s
			}
			if strings.Contains(flags, "0") {
				s = strings.Repeat("0", max(0, width-len(s))) + s
			}
			return done(s)
		}
		digits := strings.TrimPrefix(strconv.FormatInt(n, 10), "-")
		return done(signed(digits, n < 0, flags, width))
	case 'e', 'E', 'f':
		var f float64
		switch x := v.(type) {
		case float64:
			f = x
		case float32:
			f = float64(x)
		default:
			return "", false
		}
		if precision < 0 {
			precision = 6
		}
		format := byte('f')
		if conv != 'f' {
			format = 'e'
		}
		digits := strings.TrimPrefix(strconv.FormatFloat(f, format, precision, 64), "-")
		return done(signed(digits, f < 0, flags, width))
	}
	return "", false
}

// signed adds grouping, zeros and the sign.
func signed(digits string, neg bool, flags string, width int) string {
	if strings.Contains(flags, ",") {
		whole, frac, dot := strings.Cut(digits, ".")
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "," + whole[i:]
		}
		digits = whole
		if dot {
			digits += "." + frac
		}
	}
	pre, post := "", ""
	switch {
	case neg && strings.Contains(flags, "("):
		pre, post = "(", ")"
	case neg:
		pre = "-"
	case strings.Contains(flags, "+"):
		pre = "+"
	case strings.Contains(flags, " "):
		pre = " "
	}
	if strings.Contains(flags, "0") {
		digits = strings.Repeat("0", max(0, width-len(pre)-len(post)-len(digits))) + digits
	}
	return pre + digits + post
}

// javaText is the toString() of the value that Flink hands to a formatter.
func javaText(v any, t types.Type) string {
	switch x := v.(type) {
	case bool:
		return strconv.FormatBool(x)
	case types.TimestampVal: // LocalDateTime: T between date and time, no seconds when they are zero, as many digits as are needed in threes
		us, ns := int64(x), int64(0)
		if t.Nanos() {
			us, ns = types.FloorDiv(us, 1000), types.FloorMod(us, 1000)
		}
		s := string(isoPattern.format(nil, us, 0))
		nanos := types.FloorMod(us, types.MicrosPerSecond)*1000 + ns
		if types.FloorMod(us, types.MicrosPerMinute) == 0 && nanos == 0 {
			s = s[:len(s)-3]
		}
		switch {
		case nanos == 0:
		case nanos%1_000_000 == 0:
			s += fmt.Sprintf(".%03d", nanos/1_000_000)
		case nanos%1000 == 0:
			s += fmt.Sprintf(".%06d", nanos/1000)
		default:
			s += fmt.Sprintf(".%09d", nanos)
		}
		if t.Kind == types.TimestampLTZ {
			s += "Z"
		}
		return s
	}
	return types.Format(v, t, nil)
}

var isoPattern = func() *timePattern { p, _ := compileTimePattern("yyyy-MM-dd'T'HH:mm:ss", formatPattern); return p }()

// jsonQuote makes a JSON string of s; everything that is not ASCII is escaped.
func jsonQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, u := range utf16.Encode([]rune(s)) {
		switch u {
		case '"', '\\', '/':
			b.WriteByte('\\')
			b.WriteByte(byte(u))
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			if u < ' ' || u > '~' {
				fmt.Fprintf(&b, `\u%04x`, u)
			} else {
				b.WriteByte(byte(u))
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

// jsonUnquote reads a JSON string; a text that is none comes back as it is.
func jsonUnquote(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	var out []uint16
	var b strings.Builder
	flush := func() {
		b.WriteString(string(utf16.Decode(out)))
		out = out[:0]
	}
	for i := 1; i < len(s)-1; i++ {
		if s[i] != '\\' {
			flush()
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s)-1 {
			return s
		}
		at := strings.IndexByte(`"\/bfnrt`, s[i])
		switch {
		case at >= 0:
			flush()
			b.WriteByte("\"\\/\b\f\n\r\t"[at])
		case s[i] == 'u' && i+4 < len(s)-1:
			v, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil {
				return s
			}
			out = append(out, uint16(v))
			i += 4
		default:
			return s
		}
	}
	flush()
	return b.String()
}
