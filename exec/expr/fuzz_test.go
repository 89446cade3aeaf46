package expr

import (
	"testing"
	"unicode/utf8"

	"github.com/weir-sql/weir/types"
)

// FuzzText runs what reads patterns and texts of users over any text: nothing may panic, and text stays valid UTF-8.
func FuzzText(f *testing.F) {
	for _, s := range [][2]string{{"yyyy-MM-dd'T'HH:mm:ss.SSS a E", "2024-02-31T10:11:12.5 AM Mon"}, {`a[b-c]{2}\d\Q.\E\p{Alpha}(?<n>x)`, "abcb1.x"},
		{"a%_b!%", "axxb%"}, {"%5.2f|%-5s|%,d|%1$x|%c|%b%%", "http://u:p@h:1/p?q=1#r"}, {`"a\u00e9\n"`, "k=v,k2=v2"}, {"[^a-c[:ALPHA:]]%", "é😀"}} {
		f.Add(s[0], s[1], int64(3))
	}
	f.Fuzz(func(t *testing.T, p, s string, n int64) {
		if !utf8.ValidString(p) || !utf8.ValidString(s) || len(p) > 200 || len(s) > 200 {
			return
		}
		valid := func(what, out string) {
			if !utf8.ValidString(out) {
				t.Errorf("%s of %q, %q, %d is no UTF-8: %q", what, p, s, n, out)
			}
		}
		for use := formatPattern; use <= simpleParse; use++ {
			if tp, err := compileTimePattern(p, use); err == nil {
				tp.parseMicros(s)
				valid("format", string(tp.format(nil, n%(1<<58), 7)))
			}
		}
		if re, err := compileJava(p); err == nil {
			re.replace(s, p)
		}
		if m, err := like(p, "!"); err == nil {
			m(s)
		}
		if re, err := similar(p, "!"); err == nil {
			re.MatchString(s)
		}
		out, _ := printf(p, []any{int32(n), s, float64(n), nil, true}, []types.Type{types.IntType, types.StringType, types.DoubleType, types.StringType, types.BooleanType})
		valid("printf", out)
		for _, part := range []string{"HOST", "PATH", "QUERY", "FILE", "AUTHORITY", "USERINFO"} {
			_, _ = parseURL(s, part)
		}
		valid("unquote", jsonUnquote(p))
		if jsonUnquote(jsonQuote(s)) != s {
			t.Errorf("JSON_UNQUOTE(JSON_QUOTE(%q)) = %q", s, jsonUnquote(jsonQuote(s)))
		}
		small := n % 100
		valid("substr", substr(s, small, (n>>8)&63)) // n is never negative
		valid("overlay", overlay(s, p, small, (n>>8)%100))
		valid("translate", translate(s, p, s))
		padded, _ := padText(s, small, p, n%2 == 0)
		valid("pad", padded)
		_, _ = instr(s, p, small, 1+(n>>8)&3)
		locate(p, s, small)
		_, _ = splitIndex(s, p, small)
		valid("upper", toUpper(s))
		valid("initcap", initCap(s))
	})
}
