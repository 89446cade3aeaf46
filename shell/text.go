package shell

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// widths measures as terminals do in Western locales, whatever the environment says: output does not depend on LANG.
var widths = func() *runewidth.Condition {
	c := runewidth.NewCondition()
	c.EastAsianWidth = false
	return c
}()

func displayWidth(s string) int { return widths.StringWidth(s) }

// isPrintableASCII reports bytes that are their own columns on a screen.
func isPrintableASCII(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// printable makes control characters and broken UTF-8 visible, so that a cell can neither break a table nor move a terminal's cursor.
func printable(s string) string {
	clean := true
	for _, r := range s {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var sb strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&sb, "\\x%02x", s[i])
		case r == '\n':
			sb.WriteString("\\n")
		case r == '\r':
			sb.WriteString("\\r")
		case r == '\t':
			sb.WriteString("\\t")
		case unicode.IsControl(r) && r < 256:
			fmt.Fprintf(&sb, "\\x%02x", r)
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			fmt.Fprintf(&sb, "\\u%04x", r)
		default:
			sb.WriteString(s[i : i+n])
		}
		i += n
	}
	return sb.String()
}

// cut shortens s to width columns; what was cut shows as ….
func cut(s string, width int) string {
	if width <= 0 || displayWidth(s) <= width {
		return s
	}
	return widths.Truncate(s, width, "…")
}
