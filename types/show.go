package types

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Show gives a text of the user for a message: at most so many bytes of it (then ...), with what is not printable escaped as Printable does.
func Show(text []byte, most int) string {
	dots := ""
	if len(text) > most {
		cut := most
		for cut > 0 && cut > most-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text, dots = text[:cut], "..."
	}
	return Printable(string(text)) + dots
}

// Printable escapes what would upset a terminal or a log: control characters (\n, \t, \x00), line and paragraph separators, marks that turn the direction
// of writing (\u202e), and bytes that are not UTF-8 (\xff).
func Printable(s string) string {
	plain := utf8.ValidString(s)
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] >= ' ' && s[i] != 0x7f && s[i] < utf8.RuneSelf
	}
	if plain {
		return s
	}
	var sb strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&sb, `\x%02x`, s[i])
		case r == '\n':
			sb.WriteString(`\n`)
		case r == '\r':
			sb.WriteString(`\r`)
		case r == '\t':
			sb.WriteString(`\t`)
		case r < utf8.RuneSelf && unicode.IsControl(r):
			fmt.Fprintf(&sb, `\x%02x`, r)
		case unicode.IsControl(r), r == '\u2028', r == '\u2029', unicode.Is(unicode.Bidi_Control, r), r == '\ufeff':
			fmt.Fprintf(&sb, `\u%04x`, r)
		default:
			sb.WriteString(s[i : i+n])
		}
		i += n
	}
	return sb.String()
}

// Article gives a name with its article: an INT, a BIGINT.
func Article(name string) string {
	if name != "" && strings.IndexByte("AEIOaeio", name[0]) >= 0 {
		return "an " + name
	}
	return "a " + name
}

// Count gives a number of things: 1 column, 2 columns.
func Count[N int | int64](n N, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.FormatInt(int64(n), 10) + " " + thing
}
