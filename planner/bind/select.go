package bind

import (
	"strconv"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// hints checks the hints of a SELECT and returns the name that a NAME hint gives, and the LATE_ROWS and EMIT hints.
func (b *Binder) hints(sel *ast.Select) (name string, late, emit *ast.Hint, err error) {
	for i := range sel.Hints {
		h := &sel.Hints[i]
		switch h.Name {
		case "OPTIONS": // Flink accepts and ignores it here
		case "NAME":
			if len(h.Args) != 1 || h.Args[0].Value != nil || h.Args[0].Key == "" {
				return "", nil, nil, logical.Errorf(h, logical.CodeHint, "", "usage: NAME('name')")
			}
			name = h.Args[0].Key
		case "LATE_ROWS":
			if len(h.Args) != 1 || h.Args[0].Value != nil || h.Args[0].Key == "" {
				return "", nil, nil, logical.Errorf(h, logical.CodeHint, "", "usage: LATE_ROWS('table')")
			}
			if late != nil {
				return "", nil, nil, logical.Errorf(h, logical.CodeHint, "", "the hint LATE_ROWS is given twice")
			}
			late = h
		case "EMIT":
			if emit != nil {
				return "", nil, nil, logical.Errorf(h, logical.CodeHint, "", "the hint EMIT is given twice")
			}
			emit = h
		case "STATE_TTL":
			return "", nil, nil, unsupported(h, featStateTTL)
		case "LOOKUP", "BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP", "MULTI_JOIN":
			return "", nil, nil, unsupported(h, featJoinHint)
		default:
			hint := ""
			if n := catalog.Nearest(h.Name, []string{"OPTIONS", "NAME", "LATE_ROWS", "EMIT", "STATE_TTL", "LOOKUP", "BROADCAST"}); n != "" {
				hint = "did you mean " + n + "?"
			}
			return "", nil, nil, logical.Errorf(h, logical.CodeHint, hint, "there is no hint %s", h.Name)
		}
	}
	return name, late, emit, nil
}

// selectBlock binds SELECT, with the ORDER BY, LIMIT and OFFSET of the query that it is the body of.
func (b *Binder) selectBlock(sel *ast.Select, q *ast.Query) (*relation, error) {
	name, late, emit, err := b.hints(sel)
	if err != nil {
		return nil, err
	}
	if len(sel.Windows) > 0 {
		return nil, unsupported(&sel.Windows[0], featNamedWindow)
	}
	rel := &relation{node: &logical.Values{Rows: [][]logical.Expr{{}}}}
	if sel.From != nil {
		if rel, err = b.tableRef(sel.From); err != nil {
			return nil, err
		}
	}
	if sel.Where != nil {
		x, err := b.expr(sel.Where, &scope{rel: rel, clause: "WHERE"})
		if err != nil {
			return nil, err
		}
		if x, err = b.boolean(sel.Where, x, "WHERE"); err != nil {
			return nil, err
		}
		rel = &relation{node: &logical.Filter{In: rel.node, Cond: x}, cols: rel.cols}
	}
	sb := &selectBinder{b: b, sel: sel, q: q, rel: rel, name: name, late: late, emit: emit}
	if err := sb.items(); err != nil {
		return nil, err
	}
	if sel.Qualify != nil {
		return nil, unsupported(sel.Qualify, featQualify)
	}
	return sb.finish()
}

// selectBinder binds the part of a SELECT behind FROM and WHERE.
type selectBinder struct {
	b   *Binder
	sel *ast.Select
	q   *ast.Query
	rel *relation
	// name is that of a NAME hint.
	name string
	late *ast.Hint // LATE_ROWS
	emit *ast.Hint // EMIT
	// grouped: there is an aggregate besides DISTINCT.
	grouped bool

	exprs []logical.Expr // of the select list, stars expanded
	nodes []ast.Node
	names []string
	alias []bool // whether the name was written with AS

	having logical.Expr
	sort   []logical.SortKey
	hidden []logical.Expr // what only ORDER BY needs, behind exprs

	scope *scope
}

// items binds the select list, HAVING and ORDER BY.
func (sb *selectBinder) items() error {
	grouped := len(sb.sel.GroupBy) > 0 || sb.sel.Having != nil || sb.hasAggregates()
	sb.grouped = grouped
	sb.scope = &scope{rel: sb.rel, clause: "SELECT"}
	var g *groupBinder
	if grouped {
		g = &groupBinder{sb: sb}
		if err := g.keys(); err != nil {
			return err
		}
		sb.scope.aggs, sb.scope.grouping = &aggregates{}, &grouping{keys: g.exprs}
	}
	for i := range sb.sel.Items {
		if err := sb.item(&sb.sel.Items[i]); err != nil {
			return err
		}
	}
	if sb.sel.Having != nil {
		x, err := sb.b.expr(sb.sel.Having, sb.scope)
		if err != nil {
			return err
		}
		if sb.having, err = sb.b.boolean(sb.sel.Having, x, "HAVING"); err != nil {
			return err
		}
	}
	if err := sb.order(); err != nil {
		return err
	}
	if grouped {
		return g.build()
	}
	if sb.late != nil {
		return logical.Errorf(sb.late, logical.CodeHint, lateHint, "the hint LATE_ROWS needs an aggregate over windows")
	}
	if sb.emit != nil && !sb.sel.Distinct {
		return logical.Errorf(sb.emit, logical.CodeHint, lateHint, "the hint EMIT needs an aggregate over windows: without one, rows are passed on at once")
	}
	if sb.name != "" && !sb.sel.Distinct {
		return logical.Errorf(&sb.sel.Hints[0], logical.CodeHint, "", "the hint NAME needs a GROUP BY or DISTINCT to name")
	}
	return nil
}

func (sb *selectBinder) hasAggregates() bool {
	found := false
	look := func(n ast.Node) {
		ast.Walk(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Query:
				return false
			case *ast.Call:
				found = found || isAggregate(n)
			}
			return !found
		})
	}
	for _, it := range sb.sel.Items {
		look(it.X)
	}
	for _, o := range sb.q.OrderBy {
		look(o.X)
	}
	return found
}

func (sb *selectBinder) item(it *ast.SelectItem) error {
	if star, ok := it.X.(*ast.Star); ok {
		return sb.star(star)
	}
	x, err := sb.b.expr(it.X, sb.scope)
	if err != nil {
		return err
	}
	if x.ResultType().Kind == types.Null {
		sb.b.bareNull(x, types.StringType)
		x = sb.b.coerce(it.X, x, types.StringType)
	}
	name := "EXPR$" + strconv.Itoa(len(sb.exprs))
	switch {
	case it.Alias != nil:
		name = it.Alias.Name
	default:
		switch n := it.X.(type) {
		case *ast.Name:
			name = n.Parts[len(n.Parts)-1].Name
		case *ast.FieldAccess:
			name = n.Field.Name
		case *ast.Call:
			if n.NoParens { // CURRENT_TIMESTAMP
				name = n.Name.Last()
			}
		}
	}
	sb.add(x, it.X, name, it.Alias != nil)
	return nil
}

func (sb *selectBinder) add(x logical.Expr, n ast.Node, name string, alias bool) {
	sb.exprs, sb.nodes, sb.names, sb.alias = append(sb.exprs, x), append(sb.nodes, n), append(sb.names, name), append(sb.alias, alias)
}

func (sb *selectBinder) star(star *ast.Star) error {
	if sb.sel.From == nil {
		return logical.Errorf(star, logical.CodeUnknownColumn, "", "* needs a FROM")
	}
	found := false
	for i, c := range sb.rel.cols {
		if hasSuffix(c.path, star.Qualifier) {
			found = true
			sb.add(&logical.Column{Index: i, Name: c.name, Type: c.typ, Pos: star.Pos()}, star, c.name, false)
		}
	}
	if found {
		return nil
	}
	// r.* of a ROW column.
	x, err := sb.b.name(&ast.Name{Span: star.Span, Parts: star.Qualifier}, sb.scope)
	if err != nil || x.ResultType().Kind != types.Row {
		q := star.Qualifier[len(star.Qualifier)-1]
		var tables []string
		for _, c := range sb.rel.cols {
			if len(c.path) > 0 {
				tables = append(tables, c.path[len(c.path)-1])
			}
		}
		return logical.Errorf(&q, logical.CodeUnknownColumn, columnHint(q.Name, dedup(tables)), "there is no table or ROW column '%s' here", q.Name)
	}
	for _, f := range x.ResultType().Fields {
		fx, err := field(x, ast.Ident{Span: star.Span, Name: f.Name})
		if err != nil {
			return err
		}
		sb.add(fx, star, f.Name, false)
	}
	return nil
}

func dedup(in []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range in {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// order binds ORDER BY: a position, a name of the select list, or an expression over what the select list may use.
func (sb *selectBinder) order() error {
	for i := range sb.q.OrderBy {
		o := &sb.q.OrderBy[i]
		k, err := ordinal(o.X, len(sb.exprs), "ORDER BY")
		if err != nil {
			return err
		}
		if n, ok := o.X.(*ast.Name); ok && k < 0 && len(n.Parts) == 1 {
			for j, name := range sb.names {
				if name != n.Parts[0].Name {
					continue
				}
				if k >= 0 && !logical.Equal(sb.exprs[k], sb.exprs[j]) {
					return logical.Errorf(n, logical.CodeAmbiguous, "", "ORDER BY %s: two columns of the select list have this name", name)
				}
				if k < 0 {
					k = j
				}
			}
		}
		if k < 0 {
			x, err := sb.b.expr(o.X, sb.scope)
			if err != nil {
				return err
			}
			if k = find(sb.exprs, x); k < 0 {
				if sb.sel.Distinct {
					return logical.Errorf(o, logical.CodeSort, "", "with SELECT DISTINCT, ORDER BY takes columns of the select list only")
				}
				sb.hidden = append(sb.hidden, x)
				k = len(sb.exprs) + len(sb.hidden) - 1
			}
		}
		sb.sort = append(sb.sort, sortKey(k, o))
	}
	return nil
}

// finish makes the projection, DISTINCT, ORDER BY and LIMIT.
func (sb *selectBinder) finish() (*relation, error) {
	names := append([]string(nil), sb.names...)
	for i := range sb.hidden {
		names = append(names, "$sort"+strconv.Itoa(i))
	}
	var n logical.Node = &logical.Project{In: sb.rel.node, Exprs: append(append([]logical.Expr(nil), sb.exprs...), sb.hidden...), Names: names}
	if sb.sel.Distinct {
		for _, x := range sb.exprs {
			if err := groupable(sb.sel, "SELECT DISTINCT", x.ResultType()); err != nil {
				return nil, err
			}
		}
		n = distinct(n, sb.b.pos(sb.sel), "DISTINCT", sb.name)
		a, ok := n.(*logical.Aggregate)
		if !ok {
			a = n.(*logical.Project).In.(*logical.Aggregate)
		}
		if !sb.grouped {
			if err := sb.setEmit(a); err != nil {
				return nil, err
			}
		}
	}
	if sb.sort != nil {
		n = &logical.Sort{In: n, Keys: sb.sort, Pos: sb.b.pos(&sb.q.OrderBy[0])}
	}
	n, err := sb.b.limit(n, sb.q)
	if err != nil {
		return nil, err
	}
	return newRelation(firstColumns(n, len(sb.exprs))), nil
}
