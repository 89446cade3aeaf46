package docgen

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path/filepath"
	"sort"
	"strings"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/all"
	"github.com/weir-sql/weir/connectors/builtin"
)

// connector has the doc comment of a connector's package and its options.
func connector(root, name string) (string, error) {
	for _, c := range append(builtin.Connectors(), all.Connectors()...) {
		if c.Name() == name {
			text, err := packageDoc(root, "connectors", name)
			return text + options(c.Options(), ""), err
		}
	}
	return "", fmt.Errorf("no connector is called %q", name)
}

// connectorOptions has the options of a connector that shares its package with another.
func connectorOptions(_, name string) (string, error) {
	for _, c := range append(builtin.Connectors(), all.Connectors()...) {
		if c.Name() == name {
			return options(c.Options(), ""), nil
		}
	}
	return "", fmt.Errorf("no connector is called %q", name)
}

// formatPart has the doc comment of a format's package and its options.
func formatPart(root, name string) (string, error) {
	for _, f := range append(builtin.Formats(), all.Formats()...) {
		if f.Name() == name {
			text, err := packageDoc(root, "connectors/format", name)
			return text + options(f.Options(), name+"."), err
		}
	}
	return "", fmt.Errorf("no format is called %q", name)
}

// packageDoc turns the doc comment of the package of a connector or format into Markdown, without its first words "Package x has ". Some packages have
// several: upsert-kafka is in kafka, debezium-json in debezium.
func packageDoc(root, dir, name string) (string, error) {
	var paths []string
	for _, d := range []string{name, strings.TrimPrefix(name, "upsert-"), strings.TrimSuffix(name, "-json"), strings.ReplaceAll(name, "-", "")} {
		found, err := filepath.Glob(filepath.Join(root, dir, d, "*.go"))
		if err != nil {
			return "", err
		}
		if len(paths) == 0 {
			paths = found
		}
	}
	for _, p := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			return "", err
		}
		if f.Doc == nil || strings.HasSuffix(p, "_test.go") {
			continue
		}
		var pr comment.Printer
		pr.HeadingLevel = 4
		text := string(pr.Markdown(new(comment.Parser).Parse(f.Doc.Text())))
		_, text, _ = strings.Cut(text, " has ")
		return strings.ToUpper(text[:1]) + text[1:] + "\n", nil
	}
	return "", fmt.Errorf("no package comment for %s in %s", name, dir)
}

func options(list []connectors.Option, prefix string) string {
	if len(list) == 0 {
		return "It has no options.\n"
	}
	var rows [][]string
	for _, o := range list {
		def := code(o.Default)
		if o.Required {
			def = "required"
		}
		rows = append(rows, []string{code(prefix + o.Name), strings.ReplaceAll(o.Type, "|", " or "), def, o.Doc})
	}
	return table([]string{"option", "type", "default", "meaning"}, rows)
}

// tableOptionDocs says what the options of the engine itself mean: those that every table takes.
var tableOptionDocs = map[string][3]string{
	"scan.watermark.alignment.group":           {"string", "", "Splits of the job's tables that name the same group wait for the slowest of them ([alignment](watermarks.md#alignment))."},
	"scan.watermark.alignment.max-drift":       {"duration", "", "How far the watermark of a split may be ahead of the lowest in the group before the split is paused. Goes with the group."},
	"scan.watermark.alignment.update-interval": {"duration", "1 s", "How often it is looked at which splits are paused."},
	"scan.watermark.emit.strategy": {"on-event or on-periodic", "on-event",
		"When the watermark moves: behind every row, or every `pipeline.auto-watermark-interval` as in Flink."},
	"scan.watermark.idle-timeout": {"duration", "`table.exec.source.idle-timeout`", "A split that has had no row for so long holds the watermark back no more."},
	"scan.watermark.max-future":   {"duration", "", "Rows further ahead of processing time than this do not advance the watermark; they are counted."},
	"scan.watermark.future-rows":  {"keep, drop or fail", "keep", "What happens to such rows."},
	"scan.watermark.null-rows": {"fail, keep or drop", "fail",
		"What happens to a row whose event time is NULL. Kept rows are left out by windows; kept and dropped ones are counted."},
}

func tableOptions(root, _ string) (string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "planner/bind/scan.go"), nil, 0)
	if err != nil {
		return "", err
	}
	var names []string
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && v.Names[0].Name == "watermarkOptions" {
			for _, e := range v.Values[0].(*ast.CompositeLit).Elts {
				names = append(names, unquote(e))
			}
		}
		return true
	})
	sort.Strings(names)
	var rows [][]string
	for _, n := range names {
		d, ok := tableOptionDocs[n]
		if !ok {
			return "", fmt.Errorf("the option %s has no description in tableOptionDocs", n)
		}
		rows = append(rows, []string{code(n), d[0], d[1], d[2]})
	}
	if len(rows) != len(tableOptionDocs) {
		return "", fmt.Errorf("tableOptionDocs describes %d options, planner/bind/scan.go has %d", len(tableOptionDocs), len(rows))
	}
	return table([]string{"option", "type", "default", "meaning"}, rows), nil
}
