package op_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestEveryOperatorHasScripts finds the operators of this package by their constructors and asks for one that makes each among those that the scripts
// drive. (exec/build makes no other operators: its imports say so.)
func TestEveryOperatorHasScripts(t *testing.T) {
	scripted := map[string]bool{}
	used := map[string]bool{}
	for _, file := range []string{"windows", "emit", "groups", "rows", "normalize"} {
		text, err := os.ReadFile("testdata/" + file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if s, ok := strings.CutPrefix(line, "== "); ok {
				_, name, _ := strings.Cut(s, ": ")
				used[name] = true
			}
		}
	}
	for name, o := range operators(t) {
		if !used[name] {
			t.Errorf("no script drives %q", name)
		}
		for _, op := range o.New() {
			scripted[reflect.TypeOf(op).Elem().Name()] = true
		}
	}
	fset := token.NewFileSet()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != "ProcessBatch" {
				continue
			}
			star, ok := fn.Recv.List[0].Type.(*ast.StarExpr)
			if !ok {
				continue
			}
			name := star.X.(*ast.Ident).Name
			found++
			if !scripted[name] {
				t.Errorf("operator %s has no script in testdata", name)
			}
		}
	}
	if found < 10 {
		t.Errorf("found only %d operators: is the test still looking at the right thing?", found)
	}
}
