package docgen

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	itemFile = regexp.MustCompile(`\]\(\.\./([^)]+)\)`)
	itemTest = regexp.MustCompile("`(Test[A-Za-z]+)` of \\[[^]]*\\]\\(\\.\\./([^)]+)\\)")
)

// TestItems: each item of the table in docs/watermarks.md names tests that are there.
func TestItems(t *testing.T) {
	_, rest, ok := strings.Cut(read(t, filepath.Join(root, "docs/watermarks.md")), "## Item by item\n")
	if !ok {
		t.Fatal("docs/watermarks.md has no section 'Item by item'")
	}
	section, _, _ := strings.Cut(rest, "\n## ")
	items := 0
	for _, line := range strings.Split(section, "\n") {
		title := strings.HasPrefix(line, "| **") || strings.HasPrefix(line, "| |") || strings.HasPrefix(line, "| ---")
		if !strings.HasPrefix(line, "| ") || title {
			continue
		}
		items++
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		shown := cells[len(cells)-1]
		functions := map[string]bool{}
		for _, m := range itemTest.FindAllStringSubmatch(shown, -1) {
			functions[m[2]] = true
			if !strings.Contains(read(t, filepath.Join(root, filepath.FromSlash(m[2]))), "func "+m[1]+"(t *testing.T)") {
				t.Errorf("%s has no test %s", m[2], m[1])
			}
		}
		files := itemFile.FindAllStringSubmatch(shown, -1)
		if len(cells) < 3 || len(files) == 0 {
			t.Errorf("an item has an SQL form, a Go form and a test: %s", line)
		}
		for _, f := range files {
			switch text := read(t, filepath.Join(root, filepath.FromSlash(f[1]))); {
			case text == "", !strings.HasSuffix(f[1], "_test.go") && !strings.HasSuffix(f[1], ".slt") && !strings.Contains(f[1], "/testdata/"):
				t.Errorf("%s is no test: %s", f[1], line)
			case strings.HasSuffix(f[1], "_test.go") && !functions[f[1]]:
				t.Errorf("which function of %s? %s", f[1], line)
			}
		}
	}
	if items < 40 {
		t.Errorf("%d items", items)
	}
}

func TestNames(t *testing.T) {
	const comment = "Click is a row of ExampleDB_RegisterTable and ExampleDB_RegisterTable_channel."
	for example, want := range map[string]bool{"ExampleDB_RegisterTable": true, "ExampleDB_RegisterTable_channel": true, "Example": false, "ExampleDB": false} {
		if got := names(comment, example); got != want {
			t.Errorf("names(%s) = %v", example, got)
		}
	}
}
