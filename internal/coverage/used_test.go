package coverage

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/connectors/all"
	"github.com/weir-sql/weir/connectors/builtin"
	"github.com/weir-sql/weir/parser"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/sqltests"
)

// uses collects the items that a syntax tree has.
type uses map[item]bool

func (u uses) add(group, name string) { u[item{group, name}] = true }

// statement adds all that a statement has.
func (u uses) statement(s ast.Statement) { u.value(reflect.ValueOf(s)) }

func (u uses) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			u.value(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			u.value(v.Index(i))
		}
	case reflect.String:
		if v.Type().Name() != "string" && v.String() != "" {
			u.add(groupKinds, v.Type().Name()+"."+v.String())
		}
	case reflect.Struct:
		t := v.Type()
		if strings.HasSuffix(t.PkgPath(), "parser/ast") {
			u.add(groupNodes, t.Name())
			if v.CanAddr() {
				u.node(v.Addr().Interface())
			} else {
				p := reflect.New(t)
				p.Elem().Set(v)
				u.node(p.Interface())
			}
		}
		for i := range v.NumField() {
			if f := t.Field(i); f.IsExported() && f.Name != "Extensions" {
				u.value(v.Field(i))
			}
		}
	}
}

// node adds what is no node: functions, types, options, hints.
func (u uses) node(n any) {
	function := func(names ...string) {
		for _, n := range names {
			u.add(groupFunctions, n)
		}
	}
	not := func(b bool) string {
		if b {
			return "NOT "
		}
		return ""
	}
	switch n := n.(type) {
	case *ast.Call:
		name := strings.ToUpper(n.Name.Last())
		function(name)
		if f := catalog.LookupFunction(name, catalog.Scalar); f != nil {
			function(f.Name)
		}
		if f := catalog.LookupFunction(name, catalog.Aggregate); f != nil {
			function(f.Name)
		}
	case *ast.Binary:
		function(n.Op)
	case *ast.Unary:
		if n.Op == "-" {
			function("NEGATE")
		}
		function(n.Op)
	case *ast.Is:
		function("IS " + not(n.Not) + string(n.Kind))
	case *ast.IsDistinctFrom:
		function("IS " + not(n.Not) + "DISTINCT FROM")
	case *ast.Between:
		function("BETWEEN")
		if n.Symmetric {
			function("BETWEEN SYMMETRIC")
		}
	case *ast.InList:
		function("IN")
	case *ast.Like:
		if n.Similar {
			function("SIMILAR TO")
		} else {
			function("LIKE")
		}
	case *ast.Case:
		function("CASE")
	case *ast.Cast:
		if n.Try {
			function("TRY_CAST")
		} else {
			function("CAST")
		}
	case *ast.Extract:
		function("EXTRACT")
	case *ast.Trim:
		function("TRIM")
	case *ast.Subscript:
		function("[]", "ITEM")
	case *ast.FieldAccess:
		function(".")
	case *ast.ArrayCons:
		function("ARRAY")
	case *ast.MapCons:
		function("MAP")
	case *ast.RowCons:
		function("ROW")
	case *ast.TypeName:
		u.add(groupTypes, n.Name)
		if n.Interval != nil {
			u.add(groupTypes, "INTERVAL")
		}
	case *ast.Hint:
		u.add(groupHints, n.Name)
	case *ast.CreateTable:
		u.options(n.Options)
	case *ast.Table:
		for _, h := range n.Hints {
			for _, a := range h.Args {
				if a.Value != nil {
					u.add(groupOptions, a.Key)
				}
			}
		}
	case *ast.Set:
		if n.Key != nil {
			u.add(groupSettings, n.Key.Value)
		}
	}
}

// options adds the options of a table, those of its connector under the connector's name.
func (u uses) options(options []ast.Option) {
	connector := ""
	for _, o := range options {
		if o.Key.Value == "connector" {
			connector = o.Value.Value
			u.add(groupConnectors, connector)
		}
	}
	for _, o := range options {
		key := o.Key.Value
		if key == "format" || strings.HasSuffix(key, ".format") {
			u.add(groupFormats, o.Value.Value)
		}
		u.add(groupOptions, key)
		u.add(groupOptions, connector+": "+key)
		if m := regexp.MustCompile(`^fields\..*\.([a-z-]+)$`).FindStringSubmatch(key); m != nil {
			u.add(groupOptions, connector+": fields.#."+m[1])
		}
	}
}

// usedBySuite reads the test files of sqltests and says for each item which files use it in a statement that must work.
func usedBySuite(t *testing.T) map[item][]string {
	t.Helper()
	files, err := sqltests.Find([]string{filepath.Join(root, "sqltests")})
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	out := map[item][]string{}
	for _, path := range files {
		records, err := sqltests.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		u := uses{}
		for _, r := range records {
			if r.SQL == "" || len(r.Args) > 0 && r.Args[0] == "error" || len(r.Conds) > 0 {
				continue
			}
			for _, st := range weir.Split(r.SQL).Statements {
				if s, err := parser.ParseStatement(st.Text); err == nil {
					u.statement(s)
				}
			}
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		for it := range u {
			out[it] = append(out[it], filepath.ToSlash(rel))
		}
	}
	return out
}

// goTests has the text of the Go tests of a folder and those below it.
type goTests map[string]string

func readGoTests(t *testing.T, dirs ...string) goTests {
	t.Helper()
	out := goTests{}
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && d.Name() != ".." && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(path, "_test.go") || strings.Contains(filepath.ToSlash(path), "internal/coverage") {
				return nil
			}
			text, err := os.ReadFile(path)
			rel, _ := filepath.Rel(root, path)
			out[filepath.ToSlash(rel)] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// find lists the tests whose text matches.
func (g goTests) find(re *regexp.Regexp) []string {
	var out []string
	for path, text := range g {
		if re.MatchString(text) {
			out = append(out, path)
		}
	}
	sort.Strings(out)
	return out
}

// usedByGoTests says which Go tests name an option, a setting, a connector or a format: those are tested beside the code, since a test file of SQL
// would need other programs or the inside of a connector.
func usedByGoTests(t *testing.T, items []item) map[item][]string {
	t.Helper()
	connectorTests, all := readGoTests(t, "connectors"), readGoTests(t, ".")
	formats := formatNames()
	out := map[item][]string{}
	for _, it := range items {
		name := regexp.QuoteMeta(it.name)
		switch it.group {
		case groupOptions:
			if connector, option, ok := strings.Cut(it.name, ": "); ok {
				option = strings.ReplaceAll(regexp.QuoteMeta(option), "#", `[\w.]+`)
				out[it] = under("connectors/"+strings.TrimPrefix(connector, "upsert-"), connectorTests.find(regexp.MustCompile(`['" ]`+option+`['"=]`)))
				continue
			}
			if format, option, ok := strings.Cut(it.name, "."); ok && formats[format] {
				re := regexp.MustCompile(`['" ](` + format + `\.)?` + regexp.QuoteMeta(option) + `['"=]`)
				out[it] = under("connectors/format/"+formatFolder(format), connectorTests.find(re))
				if len(out[it]) == 0 {
					out[it] = all.find(regexp.MustCompile(`['"]` + name + `['"=]`))
				}
				continue
			}
			out[it] = all.find(regexp.MustCompile(`['"]` + name + `['"]`))
		case groupSettings:
			out[it] = all.find(regexp.MustCompile(`['"]` + name + `['"=]`))
		case groupConnectors:
			out[it] = under("connectors/"+strings.TrimPrefix(it.name, "upsert-"), connectorTests.find(regexp.MustCompile(`(?m)^func Test`)))
		case groupFormats:
			out[it] = under("connectors/format/"+formatFolder(it.name), connectorTests.find(regexp.MustCompile(`(?m)^func Test`)))
		}
	}
	return out
}

// formatFolder is the folder of a format's package.
func formatFolder(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(name, "-json"), "-", "")
}

func under(dir string, files []string) []string {
	var out []string
	for _, f := range files {
		if strings.HasPrefix(f, dir+"/") {
			out = append(out, f)
		}
	}
	return out
}

func formatNames() map[string]bool {
	out := map[string]bool{}
	for _, f := range append(builtin.Formats(), all.Formats()...) {
		out[f.Name()] = true
	}
	return out
}
