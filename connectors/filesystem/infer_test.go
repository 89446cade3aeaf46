package filesystem_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestInferredOfALongLine infers columns from a first line that is longer than what is looked at otherwise.
func TestInferredOfALongLine(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.json": `{"a":"` + strings.Repeat("x", 3<<20) + `","b":1}` + "\n" + `{"a":"y","c":true}` + "\n",
		"b.json": `{"a":"` + strings.Repeat("x", 3<<20) + `","b":1}`,
	} {
		write(t, dir+"/"+name, []byte(text))
		want := "[{a STRING} {b BIGINT}]"
		if name == "a.json" {
			want = "[{a STRING} {b BIGINT} {c BOOLEAN}]"
		}
		if got := fmt.Sprint(table(t, declare(nil, "path", dir+"/"+name)).Schema()); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
