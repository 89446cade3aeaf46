package coverage

import (
	goast "go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/connectors/all"
	"github.com/weir-sql/weir/connectors/builtin"
)

const root = "../.."

// The groups of the list, in order.
const (
	groupNodes      = "AST nodes"
	groupKinds      = "AST kinds"
	groupTypes      = "Types"
	groupFunctions  = "Functions"
	groupHints      = "Hints"
	groupOptions    = "Options"
	groupSettings   = "Settings"
	groupConnectors = "Connectors"
	groupFormats    = "Formats"
)

var groups = []string{groupNodes, groupKinds, groupTypes, groupFunctions, groupHints, groupOptions, groupSettings, groupConnectors, groupFormats}

// item is a name in a group.
type item struct{ group, name string }

// inventory lists all that there is, read off the code.
func inventory(t *testing.T) []item {
	var out []item
	add := func(group string, names ...string) {
		for _, n := range names {
			out = append(out, item{group, n})
		}
	}
	nodes, kinds := syntax(t)
	add(groupNodes, nodes...)
	add(groupKinds, kinds...)
	add(groupTypes, typeNames...)
	add(groupTypes, stringsIn(t, "planner/bind/unsupported.go", "unsupportedTypes", true)...)
	functions := map[string]bool{}
	for _, f := range catalog.Functions() {
		for _, n := range append([]string{f.Name}, f.Aliases...) {
			if !functions[n] {
				functions[n] = true
				add(groupFunctions, n)
			}
		}
	}
	for _, n := range stringsIn(t, "planner/bind/unsupported.go", "unsupportedFunctions", false) {
		if !functions[n] && n == strings.ToUpper(n) && !strings.HasPrefix(n, "WEIR-") && n != "" {
			functions[n] = true
			add(groupFunctions, n)
		}
	}
	add(groupHints, "OPTIONS", "NAME", "LATE_ROWS", "EMIT", "STATE_TTL", "BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP", "LOOKUP")
	have := map[string]bool{}
	for _, c := range append(builtin.Connectors(), all.Connectors()...) {
		have[c.Name()] = true
		add(groupConnectors, c.Name())
		for _, o := range c.Options() {
			add(groupOptions, c.Name()+": "+o.Name)
		}
	}
	for _, f := range append(builtin.Formats(), all.Formats()...) {
		have[f.Name()] = true
		add(groupFormats, f.Name())
		for _, o := range f.Options() {
			add(groupOptions, f.Name()+"."+o.Name)
		}
	}
	for _, n := range flinkConnectors {
		if !have[n] {
			add(groupConnectors, n)
		}
	}
	for _, n := range flinkFormats {
		if !have[n] {
			add(groupFormats, n)
		}
	}
	add(groupOptions, stringsIn(t, "planner/bind/scan.go", "watermarkOptions", false)...)
	for _, s := range weir.Settings() {
		add(groupSettings, s.Key)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := slices.Index(groups, out[i].group), slices.Index(groups, out[j].group)
		return a < b || a == b && out[i].name < out[j].name
	})
	seen := map[item]bool{}
	for _, it := range out {
		if seen[it] {
			t.Errorf("%s %q is listed twice", it.group, it.name)
		}
		seen[it] = true
	}
	return out
}

var typeNames = []string{"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE", "CHAR", "VARCHAR", "STRING", "BINARY", "VARBINARY", "BYTES",
	"DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "INTERVAL", "ARRAY", "MAP", "MULTISET", "ROW"}

// Connectors and formats of Flink's that scripts name often and that are not there.
var (
	flinkConnectors = []string{"kafka", "upsert-kafka", "jdbc", "elasticsearch-7", "hbase-2.2", "mysql-cdc", "kinesis", "firehose", "dynamodb", "mongodb", "opensearch", "faker"}
	flinkFormats    = []string{"avro", "avro-confluent", "orc", "protobuf", "debezium-json", "debezium-avro-confluent", "canal-json", "maxwell-json", "ogg-json"}
)

// syntax lists the node types of parser/ast (structs with a place) and the values of its kinds, as Type.VALUE.
func syntax(t *testing.T) (nodes, kinds []string) {
	kindTypes := map[string]bool{}
	var decls []*goast.GenDecl
	for _, f := range goFiles(t, "parser/ast") {
		for _, d := range f.Decls {
			g, ok := d.(*goast.GenDecl)
			if !ok {
				continue
			}
			decls = append(decls, g)
			for _, s := range g.Specs {
				ts, ok := s.(*goast.TypeSpec)
				if !ok || !ts.Name.IsExported() {
					continue
				}
				if id, ok := ts.Type.(*goast.Ident); ok && id.Name == "string" && ts.Name.Name != "ExtensionKind" {
					kindTypes[ts.Name.Name] = true
				}
				if st, ok := ts.Type.(*goast.StructType); ok && embeds(st) && ts.Name.Name != "StmtBase" && ts.Name.Name != "Extension" {
					nodes = append(nodes, ts.Name.Name)
				}
			}
		}
	}
	for _, g := range decls {
		if g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*goast.ValueSpec)
			id, ok := v.Type.(*goast.Ident)
			if !ok || !kindTypes[id.Name] {
				continue
			}
			for _, x := range v.Values {
				kinds = append(kinds, id.Name+"."+unquote(t, x))
			}
		}
	}
	if len(nodes) < 80 || len(kinds) < 50 {
		t.Fatalf("only %d nodes and %d kinds were found in parser/ast", len(nodes), len(kinds))
	}
	return nodes, kinds
}

// embeds reports whether a struct has a place in the text.
func embeds(st *goast.StructType) bool {
	for _, f := range st.Fields.List {
		if id, ok := f.Type.(*goast.Ident); ok && len(f.Names) == 0 && (id.Name == "Span" || id.Name == "StmtBase") {
			return true
		}
	}
	return false
}

func goFiles(t *testing.T, dir string) []*goast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no Go files in %s: %v", dir, err)
	}
	var out []*goast.File
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// stringsIn lists the string literals in the value of a package variable; keys: only those that are keys of a map.
func stringsIn(t *testing.T, file, name string, keys bool) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	goast.Inspect(f, func(n goast.Node) bool {
		v, ok := n.(*goast.ValueSpec)
		if !ok || len(v.Names) != 1 || v.Names[0].Name != name {
			return true
		}
		goast.Inspect(v, func(n goast.Node) bool {
			if kv, ok := n.(*goast.KeyValueExpr); ok && keys {
				if l, ok := kv.Key.(*goast.BasicLit); ok {
					out = append(out, unquote(t, l))
				}
				return false
			}
			if l, ok := n.(*goast.BasicLit); ok && l.Kind == token.STRING && !keys {
				out = append(out, unquote(t, l))
			}
			return true
		})
		return false
	})
	if len(out) == 0 {
		t.Fatalf("%s: no strings in %s", file, name)
	}
	return out
}

func unquote(t *testing.T, x goast.Expr) string {
	l, ok := x.(*goast.BasicLit)
	if !ok {
		t.Fatalf("%v is no literal", x)
	}
	s, err := strconv.Unquote(l.Value)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
