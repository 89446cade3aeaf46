package docgen

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// goExample shows the body of an example of example_test.go, which `go test` runs; arg is the name of its function. What the example prints stands
// behind it.
func goExample(root, name string) (string, error) {
	path := filepath.Join(root, "example_test.go")
	src, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, src, parser.ParseComments)
	if err != nil {
		return "", err
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Name.Name != name {
			continue
		}
		body := src[fset.Position(fn.Body.Lbrace).Offset+1 : fset.Position(fn.Body.Rbrace).Offset]
		text, output, _ := strings.Cut(string(body), "// Output:")
		var sb strings.Builder
		sb.WriteString("```go\n" + dedent(text) + "\n```\n")
		if output != "" {
			sb.WriteString("\nIt prints:\n\n```text\n")
			for _, line := range strings.Split(strings.TrimSpace(output), "\n") {
				sb.WriteString(strings.TrimPrefix(strings.TrimSpace(line), "// ") + "\n")
			}
			sb.WriteString("```\n")
		}
		return exampleTypes(f, fset, name) + sb.String(), nil
	}
	return "", fmt.Errorf("%s has no function %s", path, name)
}

// exampleTypes shows the type declarations whose comment names the example ("... of ExampleDB_RegisterTable.").
func exampleTypes(f *ast.File, fset *token.FileSet, example string) string {
	var sb strings.Builder
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE || g.Doc == nil || !names(g.Doc.Text(), example) {
			continue
		}
		g.Doc = nil
		var b bytes.Buffer
		if format.Node(&b, fset, g) == nil {
			sb.WriteString("```go\n" + b.String() + "\n```\n\n")
		}
	}
	return sb.String()
}

// names tells whether a comment has an example's name as a whole word: Example is not ExampleError.
func names(comment, example string) bool {
	return slices.Contains(strings.FieldsFunc(comment, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }), example)
}

// dedent takes one tab off each line.
func dedent(s string) string {
	lines := strings.Split(strings.Trim(s, "\n\t "), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "\t")
	}
	return strings.Join(lines, "\n")
}
