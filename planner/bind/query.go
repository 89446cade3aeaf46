package bind

import (
	"strconv"
	"strings"

	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// Query binds a query; the plan's columns have unique names.
func (b *Binder) Query(q *ast.Query) (logical.Node, error) {
	r, err := b.query(q)
	if err != nil {
		return nil, err
	}
	return rename(r.node, uniqueNames(r.schema().Names())), nil
}

// uniqueNames makes names different as Calcite does: a, a becomes a, a0.
func uniqueNames(names []string) []string {
	used := map[string]bool{}
	out := make([]string, len(names))
	for i, n := range names {
		u := n
		for j := 0; used[u]; j++ {
			u = n + strconv.Itoa(j)
		}
		used[u] = true
		out[i] = u
	}
	return out
}

// rename gives the columns of a plan other names.
func rename(n logical.Node, names []string) logical.Node {
	s := n.Schema()
	same := true
	for i := range names {
		same = same && s[i].Name == names[i]
	}
	if same {
		return n
	}
	if p, ok := n.(*logical.Project); ok {
		return &logical.Project{In: p.In, Exprs: p.Exprs, Names: names}
	}
	return &logical.Project{In: n, Exprs: identity(s), Names: names}
}

func identity(s types.Schema) []logical.Expr {
	es := make([]logical.Expr, len(s))
	for i := range s {
		es[i] = logical.NewColumn(s, i)
	}
	return es
}

// query binds a query in FROM or at the top.
func (b *Binder) query(q *ast.Query) (*relation, error) {
	saved := b.ctes
	defer func() { b.ctes = saved }()
	if q.With != nil {
		if q.With.Recursive {
			return nil, unsupported(q.With, featRecursive)
		}
		seen := map[string]bool{}
		for _, c := range q.With.CTEs {
			if seen[c.Name.Name] {
				return nil, logical.Errorf(&c.Name, logical.CodeDuplicateName, "", "WITH names '%s' twice", c.Name.Name)
			}
			seen[c.Name.Name] = true
			r, err := b.query(c.Query)
			if err != nil {
				return nil, err
			}
			if r, err = aliased(r, &ast.TableAlias{Span: c.Name.Span, Name: c.Name, Columns: c.Columns}); err != nil {
				return nil, err
			}
			b.ctes = &cteScope{outer: b.ctes, name: c.Name.Name, rel: r}
		}
	}
	switch body := q.Body.(type) {
	case *ast.Select:
		return b.selectBlock(body, q)
	case *ast.Query:
		r, err := b.query(body)
		if err != nil {
			return nil, err
		}
		return b.orderOutput(r, q)
	case *ast.SetOp:
		r, err := b.setOp(body)
		if err != nil {
			return nil, err
		}
		return b.orderOutput(r, q)
	case *ast.Values:
		r, err := b.values(body)
		if err != nil {
			return nil, err
		}
		return b.orderOutput(r, q)
	}
	return nil, logical.Errorf(q, logical.CodeInternal, "", "internal error: query body %T", q.Body)
}

// orderOutput puts ORDER BY and LIMIT over a query of which only the output is known.
func (b *Binder) orderOutput(r *relation, q *ast.Query) (*relation, error) {
	if len(q.OrderBy) == 0 {
		n, err := b.limit(r.node, q)
		return &relation{node: n, cols: r.cols}, err
	}
	s := &scope{rel: r, clause: "ORDER BY"}
	exprs := identity(r.node.Schema())
	names := r.node.Schema().Names()
	var keys []logical.SortKey
	for i := range q.OrderBy {
		o := &q.OrderBy[i]
		k, err := ordinal(o.X, len(r.cols), "ORDER BY")
		if err != nil {
			return nil, err
		}
		if k < 0 {
			x, err := b.expr(o.X, s)
			if err != nil {
				return nil, err
			}
			if k = find(exprs, x); k < 0 {
				exprs, names = append(exprs, x), append(names, "$sort"+strconv.Itoa(i))
				k = len(exprs) - 1
			}
		}
		keys = append(keys, sortKey(k, o))
	}
	n := r.node
	if len(exprs) > len(r.cols) {
		n = &logical.Project{In: n, Exprs: exprs, Names: names}
	}
	n, err := b.limit(&logical.Sort{In: n, Keys: keys, Pos: b.pos(&q.OrderBy[0])}, q)
	if err != nil {
		return nil, err
	}
	return &relation{node: firstColumns(n, len(r.cols)), cols: withoutAttr(r.cols)}, nil
}

func withoutAttr(cols []column) []column {
	out := append([]column(nil), cols...)
	for i := range out {
		out[i].typ.Attr = types.NoTimeAttr
	}
	return out
}

// firstColumns drops hidden columns.
func firstColumns(n logical.Node, k int) logical.Node {
	s := n.Schema()
	if len(s) == k {
		return n
	}
	return &logical.Project{In: n, Exprs: identity(s)[:k], Names: s.Names()[:k]}
}

func find(es []logical.Expr, x logical.Expr) int {
	if logical.Volatile(x) != nil {
		return -1
	}
	for i, e := range es {
		if logical.Equal(e, x) {
			return i
		}
	}
	return -1
}

func sortKey(col int, o *ast.OrderItem) logical.SortKey {
	k := logical.SortKey{Column: col, Desc: o.Desc, NullsFirst: !o.Desc} // NULL is lowest
	if o.Nulls != "" {
		k.NullsFirst = o.Nulls == "FIRST"
	}
	return k
}

// ordinal reads `ORDER BY 2`: the position from 0, -1 when x is no whole number.
func ordinal(x ast.Expr, columns int, clause string) (int, error) {
	lit, ok := x.(*ast.Literal)
	if !ok || lit.Kind != ast.NumberLit || strings.ContainsAny(lit.Value, ".eE") {
		return -1, nil
	}
	n, err := strconv.Atoi(lit.Value)
	if err != nil || n < 1 || n > columns {
		return 0, logical.Errorf(x, logical.CodeOrdinal, "the query has "+types.Count(columns, "column"), "%s %s: there is no such column", clause, lit.Value)
	}
	return n - 1, nil
}

// limit puts LIMIT and OFFSET over a plan.
func (b *Binder) limit(n logical.Node, q *ast.Query) (logical.Node, error) {
	if q.Limit == nil && q.Offset == nil {
		return n, nil
	}
	l := &logical.Limit{In: n, Count: -1}
	var err error
	if q.Limit != nil {
		l.Pos = b.pos(q.Limit)
		if l.Count, err = rowCount(q.Limit, "LIMIT"); err != nil {
			return nil, err
		}
	}
	if q.Offset != nil {
		if q.Limit == nil {
			l.Pos = b.pos(q.Offset)
		}
		if l.Offset, err = rowCount(q.Offset, "OFFSET"); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func rowCount(lit *ast.Literal, clause string) (int64, error) {
	if lit.Kind == ast.ParameterLit {
		return 0, unsupported(lit, featParameter)
	}
	n, err := strconv.ParseInt(lit.Value, 10, 64)
	if err != nil || n < 0 {
		return 0, logical.Errorf(lit, logical.CodeConstant, "", "%s needs a whole number, not %s", clause, lit.Value)
	}
	return n, nil
}

// setOp binds UNION ALL and UNION.
func (b *Binder) setOp(op *ast.SetOp) (*relation, error) {
	switch op.Op {
	case "INTERSECT":
		return nil, unsupported(b.between(op.Left, op.Right, "INTERSECT"), featSetOp)
	case "EXCEPT":
		return nil, unsupported(b.between(op.Left, op.Right, "EXCEPT", "MINUS"), featExcept)
	}
	// A chain of UNION ALL leans to the left; it becomes one node.
	var bodies []ast.QueryBody
	var left ast.QueryBody = op
	for {
		o, ok := left.(*ast.SetOp)
		if !ok || o.Op != "UNION" || o.All != op.All {
			break
		}
		bodies = append(bodies, o.Right)
		left = o.Left
	}
	bodies = append(bodies, left)
	var rels []*relation
	var nodes []ast.Node
	for i := len(bodies) - 1; i >= 0; i-- {
		r, err := b.query(&ast.Query{Span: ast.Span{Start: bodies[i].Pos(), Stop: bodies[i].End()}, Body: bodies[i]})
		if err != nil {
			return nil, err
		}
		rels = append(rels, r)
		nodes = append(nodes, bodies[i])
	}
	n, err := b.union(nodes, rels)
	if err != nil {
		return nil, err
	}
	if !op.All {
		for _, c := range n.Schema() {
			if err := groupable(op, "UNION", c.Type); err != nil {
				return nil, err
			}
		}
		n = distinct(n, b.pos(op), "UNION", "")
	}
	return newRelation(n), nil
}

// union brings the inputs' columns to common types.
func (b *Binder) union(nodes []ast.Node, rels []*relation) (logical.Node, error) {
	first := rels[0].schema()
	u := &logical.Union{}
	for i, r := range rels[1:] {
		if len(r.cols) != len(first) {
			return nil, logical.Errorf(nodes[i+1], logical.CodeColumnCount, "", "the parts of a UNION have different numbers of columns: %d and %d", len(first), len(r.cols))
		}
	}
	for c := range first {
		t := first[c].Type
		attr := t.Attr
		for i, r := range rels[1:] {
			rt := r.cols[c].typ
			if rt.Attr != attr || rt.Kind != t.Kind {
				attr = types.NoTimeAttr
			}
			m, ok := types.Common(t, rt)
			if !ok {
				return nil, logical.Errorf(nodes[i+1], logical.CodeBranches, "CAST one of them", "column %d of UNION ('%s') has no common type: %s and %s", c+1,
					first[c].Name, t.WithNull(true), rt.WithNull(true))
			}
			t = m
		}
		if t.Kind == types.Null {
			t = types.StringType
		}
		u.Columns = append(u.Columns, types.Column{Name: first[c].Name, Type: t.WithAttr(attr)})
	}
	for i, r := range rels {
		s := r.node.Schema()
		exprs := identity(s)
		changed := false
		for c := range exprs {
			x := b.coerce(nodes[i], exprs[c], u.Columns[c].Type)
			changed = changed || x != exprs[c]
			exprs[c] = x
		}
		n := r.node
		if changed {
			n = &logical.Project{In: n, Exprs: exprs, Names: u.Columns.Names()}
		}
		u.Ins = append(u.Ins, n)
	}
	return u, nil
}

// distinct makes the rows of a plan distinct.
func distinct(n logical.Node, pos ast.Pos, clause, name string) logical.Node {
	s := n.Schema()
	keys := make([]int, len(s))
	for i := range keys {
		keys[i] = i
	}
	a, keyOut, _ := groupBy(n, keys, nil)
	a.Pos, a.Clause, a.Name = pos, clause, name
	out := a.Schema()
	exprs := make([]logical.Expr, len(s))
	inOrder := len(out) == len(s)
	for i, k := range keyOut {
		exprs[i] = logical.NewColumn(out, k)
		inOrder = inOrder && k == i
	}
	if inOrder && a.Window == nil {
		return a
	}
	return &logical.Project{In: a, Exprs: exprs, Names: s.Names()}
}

// values binds VALUES: every row has the same number of columns, every column a common type.
func (b *Binder) values(v *ast.Values) (*relation, error) {
	s := &scope{rel: &relation{}, clause: "VALUES"}
	flat := *v
	flat.Rows = append([]ast.ValuesRow(nil), v.Rows...)
	for i := range flat.Rows { // VALUES (ROW(1, 2)) is VALUES (1, 2)
		if r := &flat.Rows[i]; len(r.Exprs) == 1 {
			if row, ok := r.Exprs[0].(*ast.RowCons); ok {
				r.Exprs = row.Elems
			}
		}
	}
	v = &flat
	width := len(v.Rows[0].Exprs)
	rows := make([][]logical.Expr, len(v.Rows))
	for i := range v.Rows {
		r := &v.Rows[i]
		if len(r.Exprs) != width {
			return nil, logical.Errorf(r, logical.CodeColumnCount, "", "the rows of VALUES have different numbers of columns: %d and %d", width, len(r.Exprs))
		}
		es, _, err := b.exprs(r.Exprs, s)
		if err != nil {
			return nil, err
		}
		rows[i] = es
	}
	n := &logical.Values{Rows: rows}
	for c := range width {
		t := rows[0][c].ResultType()
		for i := range rows[1:] {
			u, ok := types.Common(t, rows[i+1][c].ResultType())
			if !ok {
				return nil, logical.Errorf(v.Rows[i+1].Exprs[c], logical.CodeBranches, "CAST one of them", "column %d of VALUES has no common type: %s and %s", c+1,
					t.WithNull(true), rows[i+1][c].ResultType().WithNull(true))
			}
			t = u
		}
		t.Attr = types.NoTimeAttr
		if t.Kind == types.Null {
			t = types.StringType
		}
		for i := range rows {
			b.bareNull(rows[i][c], t)
			rows[i][c] = b.coerce(v.Rows[i].Exprs[c], rows[i][c], t)
		}
		n.Columns = append(n.Columns, types.Column{Name: "EXPR$" + strconv.Itoa(c), Type: t})
	}
	return newRelation(n), nil
}
