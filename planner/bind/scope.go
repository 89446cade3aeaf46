package bind

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// Binder binds one statement. It is used once.
type Binder struct {
	ctx context.Context
	env *Env
	// base gives the source text of nodes; nil inside a view.
	base *ast.StmtBase
	// catalog and database complete names; those of a view inside of it.
	catalog, database string
	ctes              *cteScope
	views             []catalog.Path // being expanded
	viewAt            ast.Node       // where the statement names the view that is being expanded, the outermost of them
	expanded          int            // how many were
	viewOf            map[logical.Node]*catalog.View
	handles           map[string]catalog.ConnectorTable
	Warnings          []Warning
	Extensions        []ast.Extension
}

// New starts a Binder for a statement.
func New(ctx context.Context, env *Env, stmt *ast.StmtBase) *Binder {
	b := &Binder{ctx: ctx, env: env, base: stmt, handles: map[string]catalog.ConnectorTable{}, viewOf: map[logical.Node]*catalog.View{}}
	b.catalog, b.database = env.Catalogs.Current()
	return b
}

// cteScope is a named query of WITH, bound when it is first used.
type cteScope struct {
	outer *cteScope
	name  string
	rel   *relation
}

// relation is a bound table expression: a plan and the names of its columns.
type relation struct {
	node logical.Node
	cols []column // one for each column of node
}

// column is a column that names can find.
type column struct {
	path []string // of the table it belongs to: [alias], [table] or [catalog, database, table]; nil when it has no name
	name string
	typ  types.Type
}

func (r *relation) schema() types.Schema {
	s := make(types.Schema, len(r.cols))
	for i, c := range r.cols {
		s[i] = types.Column{Name: c.name, Type: c.typ}
	}
	return s
}

// newRelation names all columns of a plan as those of the table path.
func newRelation(n logical.Node, path ...string) *relation {
	r := &relation{node: n}
	for _, c := range n.Schema() {
		r.cols = append(r.cols, column{path: path, name: c.Name, typ: c.Type})
	}
	return r
}

// scope is where an expression looks for names, and what may stand in it.
type scope struct {
	rel *relation
	// aggs collects aggregates; nil where none may stand, which clause then names.
	aggs   *aggregates
	clause string
	// inAgg is set inside the arguments of an aggregate.
	inAgg bool
	// grouping has the keys that GROUPING() asks about.
	grouping *grouping
	// declaration is set for expressions of a table's declaration.
	declaration bool
}

// resolve finds the column that a dotted name begins with: its position and how many parts of the name it took.
func (s *scope) resolve(n *ast.Name) (index, used int, err error) {
	parts := n.Parts
	if s.rel == nil || len(s.rel.cols) == 0 {
		return 0, 0, logical.Errorf(n, logical.CodeUnknownColumn, "", "column '%s' does not exist: there is no table here to take it from", parts[0].Name)
	}
	// table.column first, the longest table name first; then a column with fields behind it.
	for q := min(len(parts)-1, 3); q >= 0; q-- {
		var found []int
		for i, c := range s.rel.cols {
			if c.name == parts[q].Name && hasSuffix(c.path, parts[:q]) {
				found = append(found, i)
			}
		}
		switch {
		case len(found) == 1:
			return found[0], q + 1, nil
		case len(found) > 1:
			return 0, 0, s.ambiguous(n, q, found)
		}
	}
	return 0, 0, s.unknown(n)
}

func hasSuffix(path []string, parts []ast.Ident) bool {
	if len(parts) > len(path) {
		return false
	}
	off := len(path) - len(parts)
	for i, p := range parts {
		if path[off+i] != p.Name {
			return false
		}
	}
	return true
}

func (s *scope) ambiguous(n *ast.Name, q int, found []int) error {
	name := n.Parts[q].Name
	var from []string
	for _, i := range found {
		if p := s.rel.cols[i].path; len(p) > 0 {
			from = append(from, p[len(p)-1]+"."+name)
		}
	}
	hint := "give one of them an alias"
	if len(from) == len(found) && from[0] != from[1] {
		hint = "write " + strings.Join(from, " or ")
	}
	return logical.Errorf(n, logical.CodeAmbiguous, hint, "column '%s' is ambiguous", name)
}

func (s *scope) unknown(n *ast.Name) error {
	parts := n.Parts
	// A table's name in front?
	if len(parts) > 1 {
		var inTable []string
		for _, c := range s.rel.cols {
			if hasSuffix(c.path, parts[:len(parts)-1]) {
				inTable = append(inTable, c.name)
			}
		}
		if inTable != nil {
			last := parts[len(parts)-1]
			return logical.Errorf(&last, logical.CodeUnknownColumn, columnHint(last.Name, inTable), "column '%s' does not exist in '%s'", last.Name,
				parts[len(parts)-2].Name)
		}
	}
	first := parts[0]
	var names []string
	for _, c := range s.rel.cols {
		names = append(names, c.name)
	}
	if len(parts) > 1 {
		var tables []string
		for _, c := range s.rel.cols {
			if n := len(c.path); n > 0 && !slices.Contains(tables, c.path[n-1]) {
				tables = append(tables, c.path[n-1])
			}
		}
		hint := columnHint(first.Name, append(tables, names...))
		return logical.Errorf(&first, logical.CodeUnknownColumn, hint, "there is no table or column '%s' here", first.Name)
	}
	return logical.Errorf(&first, logical.CodeUnknownColumn, columnHint(first.Name, names), "column '%s' does not exist", first.Name)
}

// columnHint proposes the nearest name, or lists what there is.
func columnHint(word string, names []string) string {
	for _, n := range names {
		if n != word && strings.EqualFold(n, word) {
			return fmt.Sprintf("did you mean '%s'? Names are case-sensitive", n)
		}
	}
	if n := catalog.Nearest(word, names); n != "" {
		return fmt.Sprintf("did you mean '%s'?", n)
	}
	if len(names) == 0 {
		return ""
	}
	list := names
	if len(list) > 12 {
		list = append(append([]string(nil), list[:12]...), "...")
	}
	return "there are: " + strings.Join(list, ", ")
}

// text is the source text of a node, for run-time errors; empty when it is not known.
func (b *Binder) text(n ast.Node) string {
	if b.base == nil {
		return ""
	}
	return strings.Join(strings.Fields(b.base.SourceOf(n)), " ")
}

// pos is the place of a node in the statement: of a node in a view, the place where the statement names the view.
func (b *Binder) pos(n ast.Node) ast.Pos {
	if b.viewAt != nil {
		return b.viewAt.Pos()
	}
	return n.Pos()
}

// source is the text of a node exactly as written.
func (b *Binder) source(n ast.Node) string {
	if b.base == nil {
		return ""
	}
	return b.base.SourceOf(n)
}

// bareNull notes a NULL without type where Flink refuses one.
func (b *Binder) bareNull(e logical.Expr, t types.Type) {
	lit, ok := e.(*logical.Literal)
	if !ok || lit.Value != nil || lit.Type.Kind != types.Null || !lit.Pos.IsValid() || len(b.views) > 0 {
		return
	}
	n := ast.Span{Start: lit.Pos, Stop: lit.Pos.Offset + len("NULL")}
	b.Extensions = append(b.Extensions, ast.Extension{Span: n, Kind: ast.ExtSyntax, Text: "NULL", Portable: "CAST(NULL AS " + t.WithNull(true).String() + ")"})
}

// extend notes a construct that Flink would not accept.
func (b *Binder) extend(n ast.Node, kind ast.ExtensionKind, portable string) {
	if len(b.views) > 0 {
		return // it was noted when the view was made
	}
	e := ast.Extension{Kind: kind, Text: b.text(n), Portable: portable}
	if s, ok := n.(interface{ Pos() ast.Pos }); ok {
		e.Span = ast.Span{Start: s.Pos(), Stop: n.End()}
	}
	b.Extensions = append(b.Extensions, e)
}
