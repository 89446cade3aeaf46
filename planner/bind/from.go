package bind

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// tableRef binds what stands in FROM.
func (b *Binder) tableRef(t ast.TableRef) (*relation, error) {
	switch t := t.(type) {
	case *ast.Table:
		if t.AsOf != nil {
			return nil, unsupported(t.AsOf, featAsOf)
		}
		r, err := b.table(&t.Name, t.Hints)
		if err != nil {
			return nil, err
		}
		return aliased(r, t.Alias)
	case *ast.FileTable:
		r, err := b.file(&t.Path, t.Hints)
		if err != nil {
			return nil, err
		}
		return aliased(r, t.Alias)
	case *ast.DerivedTable:
		if t.Lateral {
			return nil, unsupported(t, featLateral)
		}
		r, err := b.query(t.Query)
		if err != nil {
			return nil, err
		}
		cols := make([]column, len(r.cols)) // names that are there twice are ambiguous
		for i := range cols {
			cols[i] = column{name: r.cols[i].name, typ: r.cols[i].typ}
		}
		return aliased(&relation{node: r.node, cols: cols}, t.Alias)
	case *ast.TableFunction:
		if t.Lateral {
			return nil, unsupported(t, featLateral)
		}
		r, err := b.windowFunction(t.Call)
		if err != nil {
			return nil, err
		}
		return aliased(r, t.Alias)
	case *ast.Unnest:
		return nil, unsupported(t, featUnnest)
	case *ast.Join:
		return nil, b.join(t)
	case *ast.MatchRecognize:
		return nil, unsupported(t, featMatch)
	}
	return nil, logical.Errorf(t, logical.CodeInternal, "", "internal error: table reference %T", t)
}

// between finds the first of some words between two nodes; the place of the right one when it is not known.
func (b *Binder) between(left, right ast.Node, words ...string) ast.Node {
	if b.base == nil || !right.Pos().IsValid() {
		return right
	}
	from, to := left.End()-b.base.Start.Offset, right.Pos().Offset-b.base.Start.Offset
	if from < 0 || to > len(b.base.Source) || from > to {
		return right
	}
	text := strings.ToUpper(b.base.Source[from:to])
	at := -1
	for _, w := range words {
		if i := strings.Index(text, w); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if at < 0 || len(text) != to-from {
		return right
	}
	pos := b.base.Start
	for _, r := range b.base.Source[:from+at] {
		pos.Column++
		if r == '\n' {
			pos.Line, pos.Column = pos.Line+1, 1
		}
	}
	pos.Offset += from + at
	return &ast.Ident{Span: ast.Span{Start: pos, Stop: pos.Offset + len(words[0])}}
}

// join refuses a join by its name.
func (b *Binder) join(j *ast.Join) error {
	f := featJoin
	f.Name = string(j.Kind)
	if j.Natural {
		f.Name = "NATURAL " + f.Name
	}
	switch r := j.Right.(type) {
	case *ast.Table:
		if r.AsOf != nil {
			return unsupported(r.AsOf, featAsOf)
		}
	case *ast.Unnest:
		return unsupported(r, featUnnest)
	case *ast.TableFunction:
		if r.Lateral {
			return unsupported(r, featLateral)
		}
	case *ast.DerivedTable:
		if r.Lateral {
			return unsupported(r, featLateral)
		}
	}
	if j.Kind == ast.CommaJoin {
		f.Name = "a join (a comma in FROM)"
		return unsupported(b.between(j.Left, j.Right, ","), f)
	}
	return unsupported(b.between(j.Left, j.Right, "NATURAL", "LEFT", "RIGHT", "FULL", "CROSS", "INNER", "JOIN"), f)
}

// aliased gives a relation's columns another table name, and other names where the alias lists them.
func aliased(r *relation, a *ast.TableAlias) (*relation, error) {
	if a == nil {
		return r, nil
	}
	if len(a.Columns) > 0 && len(a.Columns) != len(r.cols) {
		return nil, logical.Errorf(a, logical.CodeColumnCount, "", "'%s' has %s for %s", a.Name.Name, types.Count(len(r.cols), "column"), types.Count(len(a.Columns), "name"))
	}
	out := &relation{node: r.node, cols: append([]column(nil), r.cols...)}
	seen := map[string]bool{}
	for i := range out.cols {
		out.cols[i].path = []string{a.Name.Name}
		if len(a.Columns) > 0 {
			n := a.Columns[i]
			if seen[n.Name] {
				return nil, logical.Errorf(&n, logical.CodeDuplicateName, "", "column name '%s' is there twice", n.Name)
			}
			seen[n.Name] = true
			out.cols[i].name = n.Name
		}
	}
	if len(a.Columns) > 0 {
		out.node = rename(out.node, out.schema().Names())
	}
	return out, nil
}

// table binds a name in FROM: a query of WITH, a view or a table.
func (b *Binder) table(n *ast.ObjectName, hints []ast.Hint) (*relation, error) {
	if len(n.Parts) == 1 {
		for c := b.ctes; c != nil; c = c.outer {
			if c.name == n.Parts[0].Name {
				return c.rel, b.noHints(hints, "a query of WITH")
			}
		}
	}
	o, err := b.lookup(n)
	if err != nil {
		return nil, err
	}
	switch o := o.(type) {
	case *catalog.View:
		if err := b.noHints(hints, "a view"); err != nil {
			return nil, err
		}
		return b.view(n, o)
	case *catalog.Table:
		options, err := b.tableHints(o, hints)
		if err != nil {
			return nil, err
		}
		at := ast.Node(n)
		if len(hints) > 0 {
			at = &hints[0] // an option that does not fit stands there
		}
		if _, err := b.connect(at, o, options); err != nil {
			return nil, err
		}
		node, err := b.scan(n, o, options)
		if err != nil {
			return nil, err
		}
		return newRelation(node, o.Path.Catalog, o.Path.Database, o.Path.Name), nil
	}
	return nil, logical.Errorf(n, logical.CodeInternal, "", "internal error: object %T", o)
}

// lookup finds a table or view by name.
func (b *Binder) lookup(n *ast.ObjectName) (catalog.Object, error) {
	p, err := catalog.Qualify(n.Strings(), b.catalog, b.database)
	if err == nil {
		var o catalog.Object
		if o, err = b.env.Catalogs.Get(p); err == nil {
			return o, nil
		}
	}
	return nil, catalogError(n, err)
}

// catalogError puts the place to an error of the catalog.
func catalogError(n ast.Node, err error) error {
	var e *catalog.Error
	if errors.As(err, &e) {
		return logical.Errorf(n, e.Code, e.Hint, "%s", e.Msg)
	}
	return logical.Errorf(n, logical.CodeStatement, "", "%v", err)
}

// maxExpanded bounds how many views one statement puts in: views over views multiply.
const maxExpanded = 2000

// view expands a view where it is used. An error inside of it is one at its name.
func (b *Binder) view(n *ast.ObjectName, v *catalog.View) (*relation, error) {
	for _, p := range b.views {
		if p == v.Path {
			return nil, logical.Errorf(n, logical.CodeStatement, "", "view '%s' refers to itself", v.Path.Name)
		}
	}
	if len(b.views) > 100 {
		return nil, logical.Errorf(n, logical.CodeStatement, "", "views are nested too deeply")
	}
	if b.expanded++; b.expanded > maxExpanded {
		return nil, logical.Errorf(n, logical.CodeStatement, "let INSERT INTO a table keep a part of the result", "the query is too large: it uses views more than %d times, "+
			"with those inside of views", maxExpanded)
	}
	base, ctes, cat, db := b.base, b.ctes, b.catalog, b.database
	b.base, b.ctes, b.catalog, b.database = nil, nil, v.Catalog, v.Database
	outermost := b.viewAt == nil
	if outermost {
		b.viewAt = n
	}
	b.views = append(b.views, v.Path)
	r, err := b.query(v.Query)
	b.base, b.ctes, b.catalog, b.database = base, ctes, cat, db
	b.views = b.views[:len(b.views)-1]
	if outermost {
		b.viewAt = nil
	}
	if err != nil {
		return nil, within(n, "view '"+v.Path.Name+"'", err)
	}
	names := v.Schema.Names()
	if len(names) != len(r.cols) {
		return nil, logical.Errorf(n, logical.CodeStatement, "create the view again", "view '%s' has now %s instead of %d: a table behind it has changed",
			v.Path.Name, types.Count(len(r.cols), "column"), len(names))
	}
	out := rename(r.node, names)
	b.viewOf[out] = v
	return newRelation(out, v.Path.Catalog, v.Path.Database, v.Path.Name), nil
}

// within moves an error of another text to the node that led there.
func within(n ast.Node, where string, err error) error {
	var e *logical.Error
	if !errors.As(err, &e) {
		return logical.Errorf(n, logical.CodeStatement, "", "in %s: %v", where, err)
	}
	return logical.Errorf(n, e.Code, e.Hint, "in %s: %s", where, e.Msg)
}

func (b *Binder) noHints(hints []ast.Hint, what string) error {
	if len(hints) == 0 {
		return nil
	}
	return logical.Errorf(&hints[0], logical.CodeHint, "put it at the table itself", "the hint %s may not stand at %s", hints[0].Name, what)
}

// tableHints merges OPTIONS hints over the options of a table.
func (b *Binder) tableHints(t *catalog.Table, hints []ast.Hint) ([]catalog.Option, error) {
	options := t.Options
	for i := range hints {
		h := &hints[i]
		if h.Name != "OPTIONS" {
			return nil, logical.Errorf(h, logical.CodeHint, "OPTIONS('key' = 'value') may stand here", "the hint %s may not stand at a table", h.Name)
		}
		if t.Connector() == "memory" && t.Option("connector") == "" {
			return nil, logical.Errorf(h, logical.CodeHint, "", "'%s' is a table in memory and has no options", t.Path.Name)
		}
		for _, a := range h.Args {
			if a.Value == nil {
				return nil, logical.Errorf(&a, logical.CodeHint, "", "usage: OPTIONS('key' = 'value', ...)")
			}
			if a.Key == "connector" && a.Value.Value != t.Connector() {
				return nil, logical.Errorf(&a, logical.CodeHint, "declare a table WITH ('connector' = '"+a.Value.Value+"')",
					"a hint cannot give table %s another connector", shortName(t))
			}
			options = setOption(options, a.Key, a.Value.Value)
		}
	}
	return options, nil
}

func setOption(options []catalog.Option, key, value string) []catalog.Option {
	out := append([]catalog.Option(nil), options...)
	for i := range out {
		if out[i].Key == key {
			out[i].Value = value
			return out
		}
	}
	return append(out, catalog.Option{Key: key, Value: value})
}

// file binds a file as a table: FROM 'x.csv'.
func (b *Binder) file(path *ast.StringLit, hints []ast.Hint) (*relation, error) {
	t, err := b.FileTable(path, hints)
	if err != nil {
		return nil, err
	}
	n, err := b.scan(path, t, t.Options)
	if err != nil {
		return nil, err
	}
	return newRelation(n, t.Path.Name), nil
}

// FileTable makes the table that a file is, with inferred columns.
func (b *Binder) FileTable(path *ast.StringLit, hints []ast.Hint) (*catalog.Table, error) {
	t := &catalog.Table{Path: catalog.Path{Catalog: b.catalog, Database: b.database, Name: fileName(path.Value)}, File: path.Value, Inferred: true}
	t.Options = []catalog.Option{{Key: "connector", Value: "filesystem"}, {Key: "path", Value: path.Value}}
	format, err := fileFormat(path)
	if err != nil {
		return nil, err
	}
	t.Options = append(t.Options, catalog.Option{Key: "format", Value: format})
	if strings.HasSuffix(uncompressed(path.Value), ".tsv") {
		t.Options = append(t.Options, catalog.Option{Key: "csv.field-delimiter", Value: "\t"})
	}
	if t.Options, err = b.tableHints(t, hints); err != nil {
		return nil, err
	}
	if err := b.Infer(path, t); err != nil {
		return nil, err
	}
	return t, nil
}

// Infer asks the connector for the physical columns of a table that was declared without.
func (b *Binder) Infer(n ast.Node, t *catalog.Table) error {
	h, err := b.connect(n, t, t.Options)
	if err != nil {
		return err
	}
	// What reading needs beside the columns ('csv.header' = 'true', when the first line was taken for one) stays with the table.
	if i, ok := h.(interface{ InferredOptions() map[string]string }); ok {
		found := i.InferredOptions()
		for _, key := range slices.Sorted(maps.Keys(found)) {
			t.Options = append(t.Options, catalog.Option{Key: key, Value: found[key]})
		}
	}
	var cols []catalog.Column
	for _, c := range h.Schema() {
		cols = append(cols, catalog.Column{Name: c.Name, Type: c.Type})
	}
	for _, c := range t.Columns {
		if c.Kind == catalog.Physical {
			continue
		}
		for _, p := range cols {
			if p.Name == c.Name {
				return logical.Errorf(n, logical.CodeDuplicateName, "", "column '%s' is there twice: it was found in the data too", c.Name)
			}
		}
		cols = append(cols, c)
	}
	t.Columns = cols
	return nil
}

// fileFormat tells a file's format by its suffix, behind that of a compression.
func fileFormat(path *ast.StringLit) (string, error) {
	p := uncompressed(path.Value)
	for suffix, format := range map[string]string{".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet", ".avro": "avro"} {
		if strings.HasSuffix(p, suffix) {
			return format, nil
		}
	}
	hint := "its name must end in .csv, .tsv, .json, .jsonl, .ndjson, .parquet or .avro, with .gz or .zst behind; CREATE TABLE ... WITH ('connector' = 'filesystem', 'format' = ...) takes any name"
	return "", logical.Errorf(path, logical.CodeTable, hint, "the format of '%s' is not known", path.Value)
}

// uncompressed is a file's name in lower case, without the suffix of a compression.
func uncompressed(path string) string {
	path = strings.ToLower(path)
	for _, z := range []string{".gz", ".zst", ".gzip", ".zstd"} {
		path = strings.TrimSuffix(path, z)
	}
	return path
}

// fileName is the name that a file as a table has: that of the file, without suffixes.
func fileName(path string) string {
	p := path[strings.LastIndexAny(path, `/\`)+1:]
	if i := strings.IndexByte(p, '.'); i > 0 {
		p = p[:i]
	}
	return p
}

// CatalogError puts the place to an error of the catalog; nil stays nil.
func CatalogError(n ast.Node, err error) error {
	if err == nil {
		return nil
	}
	return catalogError(n, err)
}
