package expr

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/weir-sql/weir/types"
)

// Positions and lengths count code points, from 1.

func init() {
	define("||", newConcat)
	define("CONCAT", newConcat)
	define("CONCAT_WS", withNulls(func(_ *env, args []any) (string, error) {
		if args[0] == nil {
			return "", errNull
		}
		var b strings.Builder
		n := 0
		for _, a := range args[1:] {
			if a == nil {
				continue
			}
			if n > 0 {
				b.WriteString(args[0].(string))
			}
			b.WriteString(a.(string))
			n++
		}
		return b.String(), nil
	}))
	define("CHAR_LENGTH", strict1(func(_ *env, s string) (int64, error) { return int64(utf8.RuneCountInString(s)), nil }))
	define("UPPER", changeCase('a', 'z', toUpper))
	define("LOWER", changeCase('A', 'Z', toLower))
	define("INITCAP", strict1(func(_ *env, s string) (string, error) { return initCap(s), nil }))
	define("POSITION", strict2(func(_ *env, sub, s string) (int64, error) { return locate(sub, s, 1), nil }))
	define("LOCATE", arity(map[int]builder{
		2: strict2(func(_ *env, sub, s string) (int64, error) { return locate(sub, s, 1), nil }),
		3: strict3(func(_ *env, sub, s string, from int64) (int64, error) { return locate(sub, s, from), nil }),
	}))
	define("INSTR", arity(map[int]builder{
		2: strict2(func(_ *env, s, sub string) (int64, error) { return instr(s, sub, 1, 1) }),
		3: strict3(func(_ *env, s, sub string, from int64) (int64, error) { return instr(s, sub, from, 1) }),
		4: strict4(func(_ *env, s, sub string, from, n int64) (int64, error) { return instr(s, sub, from, n) }),
	}))
	define("TRIM", func(c *call) (Evaluator, error) {
		mode := "BOTH"
		if len(c.units) > 0 {
			mode = c.units[0]
		}
		cut := map[string]func(s, set string) string{"BOTH": strings.Trim, "LEADING": strings.TrimLeft, "TRAILING": strings.TrimRight}[mode]
		return arity(map[int]builder{
			1: strict1(func(_ *env, s string) (string, error) { return cut(s, " "), nil }),
			2: strict2(func(_ *env, s, set string) (string, error) { return cut(s, set), nil }),
		})(c)
	})
	for name, cut := range map[string]func(s, set string) string{"LTRIM": strings.TrimLeft, "RTRIM": strings.TrimRight, "BTRIM": strings.Trim} {
		define(name, arity(map[int]builder{
			1: strict1(func(_ *env, s string) (string, error) { return cut(s, " "), nil }),
			2: strict2(func(_ *env, s, set string) (string, error) { return cut(s, set), nil }),
		}))
	}
	define("REPEAT", strict2(func(_ *env, s string, n int64) (string, error) {
		if n <= 0 {
			return "", nil
		}
		return checkedRepeat(s, n)
	}))
	define("OVERLAY", arity(map[int]builder{
		3: strict3(func(_ *env, s, r string, from int64) (string, error) {
			return overlay(s, r, from, int64(utf8.RuneCountInString(r))), nil
		}),
		4: strict4(func(_ *env, s, r string, from, n int64) (string, error) { return overlay(s, r, from, n), nil }),
	}))
	substring := arity(map[int]builder{
		2: strict2(func(_ *env, s string, from int64) (string, error) { return substr(s, from, 1<<31), nil }),
		3: strict3(func(_ *env, s string, from, n int64) (string, error) {
			if n < 0 {
				return "", errNull
			}
			return substr(s, from, n), nil
		}),
	})
	define("SUBSTRING", substring)
	define("LEFT", strict2(func(_ *env, s string, n int64) (string, error) {
		if n <= 0 {
			return "", nil
		}
		return substr(s, 1, n), nil
	}))
	define("RIGHT", strict2(func(_ *env, s string, n int64) (string, error) {
		if n <= 0 {
			return "", nil
		}
		return s[backRunes(s, n):], nil
	}))
	define("REPLACE", strict3(func(_ *env, s, from, to string) (string, error) { return strings.ReplaceAll(s, from, to), nil }))
	define("TRANSLATE", withNulls(func(_ *env, a []any) (string, error) {
		if a[0] == nil {
			return "", errNull
		}
		s := a[0].(string)
		from, _ := a[1].(string)
		to, _ := a[2].(string)
		return translate(s, from, to), nil
	}))
	define("LPAD", strict3(func(_ *env, s string, n int64, pad string) (string, error) { return padText(s, n, pad, true) }))
	define("RPAD", strict3(func(_ *env, s string, n int64, pad string) (string, error) { return padText(s, n, pad, false) }))
	define("REVERSE", strict1(func(_ *env, s string) (string, error) {
		rs := []rune(s)
		for i, j := 0, len(rs)-1; i < j; i, j = i+1, j-1 {
			rs[i], rs[j] = rs[j], rs[i]
		}
		return string(rs), nil
	}))
	define("ASCII", strict1(func(_ *env, s string) (int64, error) {
		if s == "" {
			return 0, nil
		}
		return int64(int8(s[0])), nil // the first byte, with a sign
	}))
	define("CHR", strict1(func(_ *env, n int64) (string, error) {
		if n < 0 {
			return "", nil
		}
		return string(rune(n & 0xff)), nil
	}))
	define("STARTSWITH", strict2(func(_ *env, s, p []byte) (bool, error) { return strings.HasPrefix(string(s), string(p)), nil }))
	define("ENDSWITH", strict2(func(_ *env, s, p []byte) (bool, error) { return strings.HasSuffix(string(s), string(p)), nil }))
	define("SPLIT_INDEX", func(c *call) (Evaluator, error) {
		if c.args[1].Type().IsInteger() { // the code of a character
			return strict3(func(_ *env, s string, sep, i int64) (string, error) {
				if sep < 0 || sep > unicode.MaxRune {
					return "", errNull
				}
				return splitIndex(s, string(rune(sep)), i)
			})(c)
		}
		return strict3(func(_ *env, s, sep string, i int64) (string, error) { return splitIndex(s, sep, i) })(c)
	})
	define("ELT", func(c *call) (Evaluator, error) {
		return withNulls(func(_ *env, a []any) (any, error) {
			if a[0] == nil {
				return nil, errNull
			}
			i := toInt64(a[0])
			if i < 1 || i >= int64(len(a)) || a[i] == nil {
				return nil, errNull
			}
			return a[i], nil
		})(c)
	})
	define("TO_BASE64", strict1(func(_ *env, b []byte) (string, error) { return base64.StdEncoding.EncodeToString(b), nil }))
	define("FROM_BASE64", strict1(func(_ *env, b []byte) (string, error) {
		out, err := base64.StdEncoding.DecodeString(string(b))
		if err != nil { // Java does not ask for the padding
			out, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(string(b), "="))
		}
		if err != nil || strings.ContainsAny(string(b), "\r\n") {
			return "", fmt.Errorf("'%s' is no base64 text", types.Show(b, 80))
		}
		return string(out), nil
	}))
	class := func(f func(s string) bool) builder {
		return func(c *call) (Evaluator, error) {
			return withNulls(func(_ *env, a []any) (bool, error) {
				if a[0] == nil {
					return false, nil
				}
				s, ok := a[0].(string)
				if !ok {
					s = types.Format(a[0], c.args[0].Type(), nil)
				}
				return f(s), nil
			})(c)
		}
	}
	all := func(is func(rune) bool) func(string) bool {
		return func(s string) bool { return s != "" && strings.IndexFunc(s, func(r rune) bool { return !is(r) }) < 0 }
	}
	define("IS_ALPHA", class(all(unicode.IsLetter)))
	define("IS_DIGIT", class(all(unicode.IsDigit)))
	define("IS_DECIMAL", class(func(s string) bool { _, err := types.ParseDouble([]byte(s)); return err == nil }))
	define("TYPEOF", func(c *call) (Evaluator, error) {
		name := c.args[0].Type().String()
		if len(c.args) == 2 {
			if v, ok := constant(c.args[1]); ok && v == true {
				name = fullTypeName(name)
			}
		}
		return Literal(name, c.result), nil
	})
}

// toInt64 is an integer in canonical form as int64.
func toInt64(v any) int64 {
	switch x := v.(type) {
	case int8:
		return int64(x)
	case int16:
		return int64(x)
	case int32:
		return int64(x)
	case int64:
		return x
	}
	return 0
}

// maxText is how many bytes one value may have. (Tests lower it.)
var maxText = 1 << 30

func checkedRepeat(s string, n int64) (string, error) {
	if s == "" {
		return "", nil
	}
	if n > int64(maxText/len(s)) {
		return "", fmt.Errorf("the result would be longer than %d bytes: %d times %d bytes", maxText, n, len(s))
	}
	return strings.Repeat(s, int(n)), nil
}

func newConcat(c *call) (Evaluator, error) {
	if !c.result.IsText() { // bytes
		return strict2(func(_ *env, a, b []byte) ([]byte, error) { return append(append([]byte{}, a...), b...), nil })(c)
	}
	if len(c.args) == 2 {
		return rows(func(_ *env, o []operand) (func(int) ([]byte, error), error) {
			a, b := stringReader(o[0]), stringReader(o[1])
			var buf []byte
			return func(i int) ([]byte, error) {
				buf = append(append(buf[:0], a(i)...), b(i)...)
				return buf, nil
			}, nil
		})(c)
	}
	return rows(func(_ *env, o []operand) (func(int) ([]byte, error), error) {
		readers := make([]func(int) string, len(o))
		for k := range o {
			readers[k] = stringReader(o[k])
		}
		var buf []byte
		return func(i int) ([]byte, error) {
			buf = buf[:0]
			for _, r := range readers {
				buf = append(buf, r(i)...)
			}
			return buf, nil
		}, nil
	})(c)
}

// changeCase makes UPPER and LOWER: the letters from first to last change their case; a text with other than ASCII letters goes through full.
func changeCase(first, last byte, full func(string) string) builder {
	return rows(func(_ *env, o []operand) (func(int) ([]byte, error), error) {
		s := stringReader(o[0])
		var buf []byte
		return func(i int) ([]byte, error) {
			x := s(i)
			if !isASCII(x) {
				return append(buf[:0], full(x)...), nil
			}
			buf = append(buf[:0], x...)
			for k, c := range buf {
				if c >= first && c <= last {
					buf[k] = c ^ 0x20
				}
			}
			return buf, nil
		}, nil
	})
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func toUpper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return cases.Upper(language.Und).String(s) // full mapping, as in Java: ß becomes SS
}

func toLower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und).String(s)
}

// initCap makes the first letter of each word upper case and the others lower case; words are runs of ASCII letters and digits.
func initCap(s string) string {
	b := []byte(s)
	word := false
	for i, c := range b {
		upper, lower, digit := c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9'
		switch {
		case lower && !word:
			b[i] = c - 32
		case upper && word:
			b[i] = c + 32
		}
		word = upper || lower || digit
	}
	return string(b)
}

// runeOffset is the byte offset of the n-th code point (from 0) of s, or len(s) when there are fewer.
func runeOffset(s string, n int64) int {
	if isASCII(s) {
		return int(min(n, int64(len(s))))
	}
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// backRunes is the byte offset of the n-th code point from the end, or 0 when there are fewer.
func backRunes(s string, n int64) int {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, w := utf8.DecodeLastRuneInString(s[:i])
		i -= w
	}
	return i
}

// substr takes up to n code points from position from on: 1 is the first, 0 stands for 1, -1 is the last.
func substr(s string, from, n int64) string {
	switch {
	case from > 0:
		from--
	case from < 0:
		if from += int64(utf8.RuneCountInString(s)); from < 0 {
			return ""
		}
	}
	s = s[runeOffset(s, from):]
	return s[:runeOffset(s, n)]
}

// locate is the position of sub in s at or behind position from; 0 when it is not there.
func locate(sub, s string, from int64) int64 {
	if sub == "" {
		return 1
	}
	if from < 1 {
		from = 1
	}
	at := runeOffset(s, from-1)
	i := strings.Index(s[at:], sub)
	if i < 0 {
		return 0
	}
	return int64(utf8.RuneCountInString(s[:at+i])) + 1
}

// instr is the position of the n-th occurrence of sub in s (occurrences may overlap), searched from position from on; from the end backwards when from
// is negative; 0 when there is none.
func instr(s, sub string, from, n int64) (int64, error) {
	if n < 1 {
		return 0, fmt.Errorf("INSTR needs an occurrence greater than 0, not %d", n)
	}
	if from == 0 {
		return 0, nil
	}
	if sub == "" {
		return 1, nil
	}
	rs, sr := []rune(s), []rune(sub)
	at := func(i int64) bool {
		if i+int64(len(sr)) > int64(len(rs)) {
			return false
		}
		for k, r := range sr {
			if rs[i+int64(k)] != r {
				return false
			}
		}
		return true
	}
	if from > 0 {
		for i := from - 1; i < int64(len(rs)); i++ {
			if at(i) {
				if n--; n == 0 {
					return i + 1, nil
				}
			}
		}
		return 0, nil
	}
	for i := int64(len(rs)) + from; i >= 0; i-- {
		if at(i) {
			if n--; n == 0 {
				return i + 1, nil
			}
		}
	}
	return 0, nil
}

// overlay puts r in the place of n code points of s. As in Flink nothing of s stays behind r when n is not positive, and s comes back as it is when from
// lies outside of it.
func overlay(s, r string, from, n int64) string {
	count := int64(utf8.RuneCountInString(s))
	if from <= 0 || from > count {
		return s
	}
	head := s[:runeOffset(s, from-1)]
	if n > 0 && from+n <= count {
		return head + r + s[runeOffset(s, from-1+n):]
	}
	return head + r
}

// translate replaces each code point of from by the one at the same place of to, or drops it when to is shorter; the first of equal ones counts.
func translate(s, from, to string) string {
	if from == "" {
		return s
	}
	repl := map[rune]rune{}
	tr := []rune(to)
	for i, r := range []rune(from) {
		if _, ok := repl[r]; ok {
			continue
		}
		if i < len(tr) {
			repl[r] = tr[i]
		} else {
			repl[r] = -1
		}
	}
	return strings.Map(func(r rune) rune {
		if t, ok := repl[r]; ok {
			return t
		}
		return r
	}, s)
}

// padText is LPAD and RPAD: s cut or filled to n code points; NULL for a negative n and for an empty pad.
func padText(s string, n int64, pad string, left bool) (string, error) {
	if n < 0 || pad == "" {
		return "", errNull
	}
	have := int64(utf8.RuneCountInString(s))
	if have >= n {
		return s[:runeOffset(s, n)], nil
	}
	need := n - have
	width := int64(utf8.RuneCountInString(pad))
	fill, err := checkedRepeat(pad, need/width+1)
	if err != nil {
		return "", err
	}
	fill = fill[:runeOffset(fill, need)]
	if left {
		return fill + s, nil
	}
	return s + fill, nil
}

// splitIndex is part i (from 0) of s between separators; NULL when there is none. An empty text has no parts.
func splitIndex(s, sep string, i int64) (string, error) {
	if i < 0 || s == "" {
		return "", errNull
	}
	if sep == "" {
		if i == 0 {
			return s, nil
		}
		return "", errNull
	}
	for ; i > 0; i-- {
		_, rest, ok := strings.Cut(s, sep)
		if !ok {
			return "", errNull
		}
		s = rest
	}
	part, _, _ := strings.Cut(s, sep)
	return part, nil
}

// fullTypeName spells the names out that stand for longer ones: STRING is VARCHAR(2147483647).
func fullTypeName(name string) string {
	parts := strings.Split(name, "`") // names of fields, in backticks, stay
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.NewReplacer("STRING", "VARCHAR(2147483647)", "BYTES", "VARBINARY(2147483647)").Replace(parts[i])
	}
	return strings.Join(parts, "`")
}
