package types

import "testing"

func TestShow(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"plain é 日", 100, "plain é 日"},
		{"a\x00b\x1b[31m\n\r\t\x7f", 100, `a\x00b\x1b[31m\n\r\t\x7f`},
		{"\xff\xc3", 100, `\xff\xc3`},
		{"a\u202eb\u2028\ufeff\u0085", 100, `a\u202eb\u2028\ufeff\u0085`},
		{"日本", 4, "日..."},
		{"\x80\x80\x80\x80\x80\x80", 5, `\x80...`},
		{"", 3, ""},
	} {
		if got := Show([]byte(tt.text), tt.most); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
	for name, want := range map[string]string{"INT": "an INT", "BIGINT": "a BIGINT", "ARRAY<INT>": "an ARRAY<INT>", "UNION": "a UNION"} {
		if got := Article(name); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
