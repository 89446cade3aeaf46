// Package lint has rules of the code base as tests.
package lint

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/weir-sql/weir"

// allowed lists, for each package or folder (ending in /), what it may import of ours; a trailing / allows the whole folder. The longest match counts.
// It is the import table of docs/ARCHITECTURE.md.
var allowed = map[string][]string{
	"types":            {},
	"parser/ast":       {},
	"parser":           {"parser/ast", "parser/internal/"},
	"parser/internal/": {"parser/ast", "parser/internal/"},
	"catalog":          {"types", "parser/ast"},
	"planner":          {"planner/", "parser/ast", "catalog", "types"},
	"planner/":         {"planner/", "parser/ast", "catalog", "types"},
	"exec/stream":      {"types"},
	"exec":             {"exec/stream", "types"},
	"exec/expr":        {"exec", "exec/stream", "types"},
	"exec/state":       {"exec", "exec/stream", "types"},
	"exec/exchange":    {"exec", "exec/stream", "types", "exec/state"},
	"exec/op":          {"exec", "exec/stream", "types", "exec/expr", "exec/state"},
	"exec/optest":      {"exec", "exec/stream", "types", "exec/op", "exec/expr", "exec/state", "exec/exchange", "exec/build"},
	"exec/task":        {"exec", "exec/stream", "exec/state", "exec/exchange", "connectors", "connectors/watermark", "types", "internal/"},
	"exec/build":       {"planner/physical", "planner/logical", "parser/ast", "catalog", "exec", "exec/", "connectors", "connectors/watermark", "types", "internal/"},
	"connectors":       {"types", "exec/stream"},
	"connectors/":      {"types", "exec/stream", "connectors", "connectors/"},
	"":                 {"types", "parser", "parser/ast", "catalog", "planner", "planner/", "exec", "exec/", "connectors", "connectors/builtin", "connectors/memory", "connectors/watermark"},
	"metrics":          {""},
	"shell":            {""},
	"sqltests":         {"", "connectors", "connectors/test"},
	"cmd/":             {"", "metrics", "shell", "sqltests", "connectors", "connectors/", "internal/"},
	"internal/":        {"", "types", "parser", "parser/ast", "catalog", "planner/", "exec", "exec/", "connectors", "connectors/", "internal/"},
	"examples/":        {"", "connectors", "connectors/", "types"},
	"bench/":           {"", "connectors/", "types"},
	"sqltests/":        {"", "sqltests/"},
	"docs/":            {"", "catalog", "connectors", "connectors/", "types", "internal/"},
}

type pkg struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func listPackages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", module+"/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func rel(path string) (string, bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

// rule finds the entry of the table for a package: itself, or the longest folder it is in.
func rule(p string) (string, []string, bool) {
	if l, ok := allowed[p]; ok {
		return p, l, true
	}
	best, found := "", false
	for k := range allowed {
		if strings.HasSuffix(k, "/") && strings.HasPrefix(p+"/", k) && len(k) > len(best) {
			best, found = k, true
		}
	}
	return best, allowed[best], found
}

func permits(list []string, imp string) bool {
	for _, a := range list {
		if a == imp || a != "" && strings.HasSuffix(a, "/") && strings.HasPrefix(imp+"/", a) {
			return true
		}
	}
	return false
}

// TestImports holds every import against the table. Tests may import more, but not the wrong way through internal/.
func TestImports(t *testing.T) {
	pkgs := listPackages(t)
	if len(pkgs) < 10 {
		t.Fatalf("only %d packages found", len(pkgs))
	}
	for _, p := range pkgs {
		name, _ := rel(p.ImportPath)
		_, list, ok := rule(name)
		if !ok {
			t.Errorf("package %q has no entry in the import table", name)
			continue
		}
		for _, imp := range p.Imports {
			r, ours := rel(imp)
			if ours && r != name && !permits(list, r) {
				t.Errorf("%q imports %q: the import table allows %q", name, r, list)
			}
			if strings.HasPrefix(imp, "github.com/pingcap/tidb") && name != "parser/internal/mysql" {
				t.Errorf("%q imports %s: only parser/internal/mysql may", name, imp)
			}
		}
	}
}

// TestRule checks the checker.
func TestRule(t *testing.T) {
	for _, c := range []struct {
		pkg, imp string
		want     bool
	}{
		{"exec/op", "exec/state", true},
		{"exec/op", "planner/physical", false},
		{"exec/op", "exec/task", false},
		{"planner/bind", "exec", false},
		{"connectors/filesystem", "connectors", true},
		{"connectors/filesystem", "exec", false},
		{"shell", "", true},
		{"shell", "types", false},
		{"types", "exec", false},
	} {
		_, list, ok := rule(c.pkg)
		if got := ok && permits(list, c.imp); got != c.want {
			t.Errorf("may %s import %q: %v, want %v", c.pkg, c.imp, got, c.want)
		}
	}
}
