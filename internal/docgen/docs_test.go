package docgen

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors/all"
	"github.com/weir-sql/weir/connectors/builtin"
	"github.com/weir-sql/weir/shell"
	"github.com/weir-sql/weir/sqltests"
)

var update = flag.Bool("update", false, "write the generated parts and the results of the docs anew")

const root = "../.."

// TestGenerated holds the generated parts of the docs against the code.
func TestGenerated(t *testing.T) {
	pages, err := Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		old := read(t, p)
		fresh, err := Replace(root, old)
		if err != nil {
			t.Errorf("%s: %v", p, err)
			continue
		}
		save(t, p, old, fresh)
	}
}

// TestErrorCodes: each code of the code is described, each description has its code.
func TestErrorCodes(t *testing.T) {
	if _, err := errorCodes(root, ""); err != nil {
		t.Error(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// save writes a page with -update, and fails when it is stale without.
func save(t *testing.T, path, old, fresh string) {
	t.Helper()
	switch {
	case old == fresh:
	case *update:
		if err := os.WriteFile(path, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is stale: go test ./internal/docgen -update\n%s", path, firstDifference(old, fresh))
	}
}

func firstDifference(old, fresh string) string {
	a, b := strings.Split(old, "\n"), strings.Split(fresh, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return "  page: " + a[i] + "\n  now:  " + b[i]
		}
	}
	return "  the lengths differ"
}

// block is a fenced block of a page: ```sql, with the ```text block behind it, which is what the statements print.
var block = regexp.MustCompile("(?ms)^(<!-- (?:not run|fails)[^\n]*-->\n)?```(sql|slt)\n(.*?)^```\n(\n```text\n(.*?)^```\n)?")

// TestPages runs the pages: all ```sql blocks of a page in one session, in the folder of the project, and each ```slt block as a test file. A ```text
// block behind a ```sql block is what its statements print. A block under <!-- fails --> must fail, one under <!-- not run: why --> is left out.
func TestPages(t *testing.T) {
	pages, err := Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range pages {
		if pages[i], err = filepath.Abs(p); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(root)
	for _, p := range pages {
		t.Run(filepath.Base(p), func(t *testing.T) { runPage(t, p) })
	}
}

func runPage(t *testing.T, path string) {
	db, err := weir.Open(weir.Options{Connectors: all.Connectors(), Formats: all.Formats()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	out := t.TempDir()
	old := read(t, path)
	fresh := block.ReplaceAllStringFunc(old, func(text string) string {
		m := block.FindStringSubmatch(text)
		if strings.HasPrefix(m[1], "<!-- not run") {
			return text
		}
		if m[2] == "slt" {
			runTest(t, m[3])
			return text
		}
		got := runSQL(t, db, strings.ReplaceAll(m[3], "/tmp/weir", filepath.ToSlash(out)), m[1] != "")
		if m[4] == "" {
			return text
		}
		return m[1] + "```sql\n" + m[3] + "```\n\n```text\n" + strings.ReplaceAll(got, filepath.ToSlash(out), "/tmp/weir") + "```\n"
	})
	save(t, path, old, fresh)
}

// runSQL runs statements as the command line does and returns what they print.
func runSQL(t *testing.T, db *weir.DB, text string, mustFail bool) string {
	t.Helper()
	var out strings.Builder
	r := &shell.Runner{DB: db, Out: &out, Err: &out, Quiet: true, Writer: shell.WriterOptions{Zone: db.Zone()}}
	if failed := r.RunScript(context.Background(), text, "") != shell.ExitOK; failed != mustFail {
		t.Errorf("%s\nfailed: %v, want %v (a block that must fail stands under <!-- fails -->): %s", text, failed, mustFail, out.String())
	}
	return out.String()
}

func runTest(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "example.slt")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, v := range sqltests.Matrix() {
		r := sqltests.RunFile(t.Context(), path, v.With(sqltests.Config{Connectors: all.Connectors(), Formats: all.Formats()}))
		for _, f := range r.Failures {
			t.Errorf("%s, line %d (%s): %s", text, f.Line, v.Name, f.Text)
		}
	}
}

// TestExamples runs the scripts and tests of examples/ as they stand.
func TestExamples(t *testing.T) {
	t.Chdir(root)
	scripts, err := filepath.Glob("examples/*.sql")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, p := range scripts {
		t.Run(filepath.Base(p), func(t *testing.T) {
			db, err := weir.Open(weir.Options{Connectors: all.Connectors(), Formats: all.Formats()})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			text := strings.ReplaceAll(read(t, p), "/tmp/weir", filepath.ToSlash(t.TempDir()))
			if out := runSQL(t, db, text, false); out == "" {
				t.Error("the script prints nothing")
			}
		})
	}
	tests, err := sqltests.Find([]string{"examples"})
	if err != nil || len(tests) == 0 {
		t.Fatalf("no test files in examples: %v", err)
	}
	for _, p := range tests {
		for _, v := range sqltests.Matrix() {
			r := sqltests.RunFile(t.Context(), p, v.With(sqltests.Config{Connectors: all.Connectors(), Formats: all.Formats()}))
			for _, f := range r.Failures {
				t.Errorf("%s (%s)", f, v.Name)
			}
		}
	}
}

// TestAllDescribed: the pages have every connector and format that the command links.
func TestAllDescribed(t *testing.T) {
	connectors, formats := read(t, filepath.Join(root, "docs/connectors.md")), read(t, filepath.Join(root, "docs/formats.md"))
	for _, c := range append(builtin.Connectors(), all.Connectors()...) {
		if !strings.Contains(connectors, "<!-- generated: connector "+c.Name()+" -->") && !strings.Contains(connectors, "<!-- generated: options "+c.Name()+" -->") {
			t.Errorf("docs/connectors.md has no part for %s", c.Name())
		}
	}
	for _, f := range append(builtin.Formats(), all.Formats()...) {
		if !strings.Contains(formats, "<!-- generated: format "+f.Name()+" -->") {
			t.Errorf("docs/formats.md has no part for %s", f.Name())
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// TestLinks: what the pages link to in the project is there.
func TestLinks(t *testing.T) {
	pages, err := Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		for _, m := range link.FindAllStringSubmatch(read(t, p), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(p), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s links to %s, which is not there", p, m[1])
			}
		}
	}
}
