package mysql

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	tidb "github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"

	"github.com/weir-sql/weir/parser/ast"
)

// lowerer turns TiDB's tree into ours.
type lowerer struct {
	pieces []Piece
	offs   []int // where each piece begins in the text
	slots  []Slot
	used   []bool
	src    Source
}

func (l *lowerer) fail(format string, args ...any) {
	panic(&Error{Internal: fmt.Sprintf(format, args...)})
}

// take gives the slot of a name; each slot may be taken once.
func (l *lowerer) take(name string) Slot {
	i, err := strconv.Atoi(strings.TrimPrefix(name, "#"))
	if err != nil || !strings.HasPrefix(name, "#") || i < 0 || i >= len(l.slots) {
		l.fail("%q is no slot", name)
	}
	if l.used[i] {
		l.fail("slot %d is used twice", i)
	}
	l.used[i] = true
	return l.slots[i]
}

// peek gives the slot of an expression that is nothing but a slot, or nil. The
// slot is not taken.
func (l *lowerer) peek(e tidb.ExprNode) Slot {
	c, ok := e.(*tidb.ColumnNameExpr)
	if !ok || c.Name.Table.O != "" {
		return nil
	}
	i, err := strconv.Atoi(strings.TrimPrefix(c.Name.Name.O, "#"))
	if err != nil || i < 0 || i >= len(l.slots) {
		return nil
	}
	return l.slots[i]
}

func (l *lowerer) takeExpr(e tidb.ExprNode) Slot {
	c, ok := e.(*tidb.ColumnNameExpr)
	if !ok {
		l.fail("%T where a slot should be", e)
	}
	return l.take(c.Name.Name.O)
}

// slot takes a slot that must be of type T.
func slot[T Slot](l *lowerer, name string) T {
	s := l.take(name)
	t, ok := s.(T)
	if !ok {
		l.fail("slot %s is a %T", name, s)
	}
	return t
}

// check makes sure that nothing of the query was lost.
func (l *lowerer) check() {
	for _, p := range l.pieces {
		// A slot is a piece of its own: `#n`, or n behind LIMIT.
		if i, err := strconv.Atoi(strings.Trim(p.Text, "`#")); err == nil && !l.used[i] {
			l.fail("slot %d was lost", i)
		}
	}
}

// query lowers a whole query or a part of a set operation.
func (l *lowerer) query(n tidb.Node) *ast.Query {
	q := &ast.Query{}
	var order *tidb.OrderByClause
	var limit *tidb.Limit
	var with *tidb.WithClause
	switch n := n.(type) {
	case *tidb.SubqueryExpr:
		return l.query(n.Query)
	case *tidb.SelectStmt:
		with, order, limit = n.With, n.OrderBy, n.Limit
		if len(n.Fields.Fields) == 0 {
			l.fail("empty SELECT")
		}
		q.With = l.with(with)
		q.Body = l.selectBlock(n)
	case *tidb.SetOprStmt:
		with, order, limit = n.With, n.OrderBy, n.Limit
		q.With = l.with(with)
		q.Body = l.setOps(n.SelectList.Selects)
	case *tidb.SetOprSelectList:
		with, order, limit = n.With, n.OrderBy, n.Limit
		if len(n.Selects) == 1 {
			// TiDB repeats the WITH of a single query here.
			if s, ok := n.Selects[0].(*tidb.SelectStmt); ok && s.With == with {
				with = nil
			}
		}
		q.With = l.with(with)
		q.Body = l.setOps(n.Selects)
	default:
		l.fail("%T as a query", n)
	}
	if order != nil {
		for _, it := range order.Items {
			q.OrderBy = append(q.OrderBy, l.orderItem(it.Expr))
		}
	}
	q.Span = ast.Span{Start: q.Body.Pos(), Stop: q.Body.End()}
	if q.With != nil {
		q.Start = q.With.Start
	}
	if k := len(q.OrderBy); k > 0 {
		q.Stop = q.OrderBy[k-1].Stop
	}
	if limit != nil {
		v, ok := limit.Count.(*value)
		if !ok {
			l.fail("%T as a limit", limit.Count)
		}
		lim := slot[*Limit](l, fmt.Sprintf("#%v", v.v))
		q.Limit, q.Offset, q.Stop = lim.Limit, lim.Offset, lim.Stop
	}
	return q
}

// body gives the query as part of another one: without a Query around it where
// it has no clauses of its own.
func body(q *ast.Query) ast.QueryBody {
	if q.With == nil && q.OrderBy == nil && q.Limit == nil && q.Offset == nil {
		return q.Body
	}
	return q
}

func (l *lowerer) with(w *tidb.WithClause) *ast.With {
	if w == nil {
		return nil
	}
	out := &ast.With{}
	for i, c := range w.CTEs {
		s := slot[*CTE](l, c.Name.O)
		if i == 0 {
			out.Start, out.Recursive = s.With, s.Recursive
		}
		s.CTE.Query = l.query(c.Query.Query)
		out.Stop = s.CTE.Stop
		out.CTEs = append(out.CTEs, s.CTE)
	}
	return out
}

// setOps builds the tree of a list of set operations. INTERSECT binds tighter
// than the others; TiDB leaves that to us.
func (l *lowerer) setOps(list []tidb.Node) ast.QueryBody {
	type term struct {
		op  string
		all bool
		b   ast.QueryBody
	}
	join := func(op string, all bool, a, b ast.QueryBody) ast.QueryBody {
		return &ast.SetOp{Span: ast.Span{Start: a.Pos(), Stop: b.End()}, Op: op, All: all, Left: a, Right: b}
	}
	var terms []term
	for i, n := range list {
		var t term
		if i > 0 {
			var op *tidb.SetOprType
			switch n := n.(type) {
			case *tidb.SelectStmt:
				op = n.AfterSetOperator
			case *tidb.SetOprSelectList:
				op = n.AfterSetOperator
			}
			if op == nil {
				l.fail("set operation without operator")
			}
			word, all := strings.CutSuffix(op.String(), " ALL")
			t.op, t.all = word, all
		}
		t.b = body(l.query(n))
		if t.op == "INTERSECT" {
			last := &terms[len(terms)-1]
			last.b = join(t.op, t.all, last.b, t.b)
			continue
		}
		terms = append(terms, t)
	}
	out := terms[0].b
	for _, t := range terms[1:] {
		out = join(t.op, t.all, out, t.b)
	}
	return out
}

func (l *lowerer) selectBlock(s *tidb.SelectStmt) ast.QueryBody {
	fields := s.Fields.Fields
	switch n := l.takeExpr(fields[0].Expr).(type) {
	case *ast.Query:
		return n
	case *ast.Values:
		for _, f := range fields[1:] {
			a := l.expr(f.Expr)
			row, ok := a.X.(*ast.RowCons)
			if !ok {
				l.fail("%T as a row of VALUES", a.X)
			}
			n.Rows = append(n.Rows, ast.ValuesRow{Span: row.Span, Exprs: row.Elems})
		}
		n.Stop = n.Rows[len(n.Rows)-1].Stop
		return n
	case *ast.Select:
		for _, f := range fields[1:] {
			a := l.expr(f.Expr)
			it := ast.SelectItem{Span: a.Span, X: a.X}
			if f.AsName.O != "" {
				it.Alias = slot[*ast.Ident](l, f.AsName.O)
				it.Stop = it.Alias.Stop
			}
			n.Items = append(n.Items, it)
		}
		if s.From != nil {
			n.From = l.table(s.From.TableRefs)
		}
		if s.Where != nil {
			n.Where = l.expr(s.Where).X
		}
		if s.GroupBy != nil {
			for _, it := range s.GroupBy.Items {
				n.GroupBy = append(n.GroupBy, l.grouping(l.expr(it.Expr)))
			}
		}
		if s.Having != nil {
			n.Having = l.expr(s.Having.Expr).X
		}
		for i := range s.WindowSpecs {
			w := &s.WindowSpecs[i]
			nw := slot[*ast.NamedWindow](l, w.Name.O)
			l.spec(w, nw.Spec)
			n.Windows = append(n.Windows, *nw)
		}
		return n
	default:
		l.fail("%T at the start of a SELECT", n)
		return nil
	}
}

// grouping turns a row in GROUP BY, (a, b), into a grouping set.
func (l *lowerer) grouping(a Arg) ast.Expr {
	if r, ok := a.X.(*ast.RowCons); ok && !r.Explicit {
		return &ast.Grouping{Span: a.Span, Kind: ast.GroupingSet, Items: r.Elems}
	}
	return a.X
}

func (l *lowerer) orderItem(e tidb.ExprNode) ast.OrderItem {
	b, ok := e.(*tidb.BinaryOperationExpr)
	if !ok || b.Op != opcode.LogicOr {
		l.fail("ORDER BY item without its slot")
	}
	o, ok := l.takeExpr(b.R).(*Order)
	if !ok {
		l.fail("ORDER BY item without its slot")
	}
	a := l.expr(b.L)
	return ast.OrderItem{Span: ast.Span{Start: a.Span.Start, Stop: o.Stop}, X: a.X, Desc: o.Desc, Nulls: o.Nulls}
}

func (l *lowerer) spec(w *tidb.WindowSpec, out *ast.WindowSpec) {
	if w.PartitionBy != nil {
		for _, it := range w.PartitionBy.Items {
			out.PartitionBy = append(out.PartitionBy, l.expr(it.Expr).X)
		}
	}
	if w.OrderBy != nil {
		for _, it := range w.OrderBy.Items {
			out.OrderBy = append(out.OrderBy, l.orderItem(it.Expr))
		}
	}
}

func (l *lowerer) table(t tidb.ResultSetNode) ast.TableRef {
	switch t := t.(type) {
	case *tidb.Join:
		return l.join(t)
	case *tidb.TableSource:
		switch src := t.Source.(type) {
		case *tidb.TableName:
			return slot[ast.TableRef](l, src.Name.O)
		case *tidb.Join:
			return l.join(src)
		default:
			return l.derived(t)
		}
	}
	l.fail("%T as a table", t)
	return nil
}

func (l *lowerer) derived(t *tidb.TableSource) ast.TableRef {
	s := slot[*Derived](l, t.AsName.O)
	return &ast.DerivedTable{Span: s.Span, Lateral: s.Lateral, Query: l.query(t.Source), Alias: s.Alias}
}

func (l *lowerer) join(t *tidb.Join) ast.TableRef {
	left := l.table(t.Left)
	if t.Right == nil {
		return left
	}
	right := l.table(t.Right)
	j := &ast.Join{Span: ast.Span{Start: left.Pos(), Stop: right.End()}, Left: left, Right: right}
	switch t.Tp {
	case tidb.LeftJoin:
		j.Kind = ast.LeftJoin
	case tidb.RightJoin:
		j.Kind = ast.RightJoin
	default:
		j.Kind = ast.InnerJoin
	}
	full := false
	switch {
	case t.On != nil:
		f, ok := t.On.Expr.(*tidb.FuncCallExpr)
		if !ok || len(f.Args) != 1 {
			l.fail("join condition without its slot")
		}
		on := slot[*On](l, f.FnName.O)
		j.On = l.expr(f.Args[0]).X
		full, j.Stop = on.Full, on.Stop
	case len(t.Using) == 1:
		u := l.take(t.Using[0].Name.O)
		switch u := u.(type) {
		case *Using:
			full, j.Natural, j.Using, j.Stop = u.Full, u.Natural, u.Columns, u.Stop
		case ast.JoinKind: // CROSS JOIN and comma
			j.Kind = u
		default:
			l.fail("%T in USING", u)
		}
	}
	if full {
		j.Kind = ast.FullJoin
	}
	if t.On == nil && t.Using == nil {
		j.Kind = ast.CommaJoin // every other join has its condition or its mark
	}
	if j.Stop < right.End() {
		j.Stop = right.End()
	}
	return j
}

// pieceAt gives the piece that begins at a byte offset of the text.
func (l *lowerer) pieceAt(off int) (Piece, bool) {
	i := sort.SearchInts(l.offs, off)
	if i < len(l.offs) && l.offs[i] == off {
		return l.pieces[i], true
	}
	return Piece{}, false
}

// parens sets the span to that of the parentheses which e begins with, if any.
func (l *lowerer) parens(e tidb.ExprNode, span *ast.Span) {
	if p, ok := l.pieceAt(e.OriginTextPosition()); ok && p.Text == "(" {
		if s, ok := l.src.Parens(p.Src); ok {
			*span = s
		}
	}
}

func (l *lowerer) args(es []tidb.ExprNode) []Arg {
	out := make([]Arg, len(es))
	for i, e := range es {
		out[i] = l.expr(e)
	}
	return out
}

// between gives the span from one argument to another.
func between(a, b Arg) ast.Span { return ast.Span{Start: a.Span.Start, Stop: b.Span.Stop} }

var binaryOps = map[opcode.Op]string{opcode.Plus: "+", opcode.Minus: "-", opcode.Mul: "*", opcode.Div: "/", opcode.Mod: "%",
	opcode.IntDiv: "||", opcode.EQ: "=", opcode.NE: "<>", opcode.LT: "<", opcode.LE: "<=", opcode.GT: ">", opcode.GE: ">=",
	opcode.LogicAnd: "AND", opcode.LogicOr: "OR"}

var unaryOps = map[opcode.Op]string{opcode.Not: "NOT", opcode.Not2: "NOT", opcode.Minus: "-", opcode.Plus: "+"}

func self(x ast.Expr) Arg { return Arg{x, ast.Span{Start: x.Pos(), Stop: x.End()}} }

func (l *lowerer) expr(e tidb.ExprNode) Arg {
	switch e := e.(type) {
	case *tidb.ColumnNameExpr:
		x, ok := l.takeExpr(e).(ast.Expr)
		if !ok {
			l.fail("marker as an expression")
		}
		return self(x)
	case *tidb.FuncCallExpr:
		switch s := l.take(e.FnName.O).(type) {
		case Fn:
			return self(s(l.args(e.Args)))
		case *Pattern:
			a := l.expr(e.Args[0])
			s.Like.Pattern = a.X
			return Arg{s.Like, ast.Span{Start: a.Span.Start, Stop: s.Like.Stop}}
		case *Window:
			a := l.expr(e.Args[0])
			c, ok := a.X.(*ast.Call)
			if !ok {
				l.fail("OVER behind a %T", a.X)
			}
			c.Over, c.Stop = s.Over, s.Stop
			return self(c)
		default:
			l.fail("%T as a function", s)
		}
	case *tidb.WindowFuncExpr:
		a := l.expr(e.Args[0])
		l.spec(&e.Spec, a.X.(*ast.Call).Over.Spec)
		return a
	case *tidb.ParenthesesExpr:
		a := l.expr(e.Expr)
		l.parens(e, &a.Span)
		return a
	case *tidb.BinaryOperationExpr:
		return l.binary(e)
	case *tidb.UnaryOperationExpr:
		op, ok := unaryOps[e.Op]
		if !ok {
			l.fail("operator %v", e.Op)
		}
		a := l.expr(e.V)
		u := &ast.Unary{Span: a.Span, Op: op, X: a.X}
		if p, ok := l.pieceAt(e.OriginTextPosition()); ok {
			u.Start = l.src.Start(p.Src)
		}
		return self(u)
	case *tidb.PatternInExpr:
		a := l.expr(e.Expr)
		if e.Sel != nil || len(e.List) != 1 {
			l.fail("IN without its slot")
		}
		right := l.expr(e.List[0])
		span := between(a, right)
		switch x := right.X.(type) {
		case *ast.Subquery:
			return self(&ast.InSubquery{Span: span, X: a.X, Query: x.Query, Not: e.Not})
		case *ast.RowCons:
			return self(&ast.InList{Span: span, X: a.X, List: x.Elems, Not: e.Not})
		default:
			l.fail("IN of a %T", x)
		}
	case *tidb.BetweenExpr:
		a := l.expr(e.Expr)
		b := &ast.Between{X: a.X, Not: e.Not}
		low := e.Left
		if bin, ok := low.(*tidb.BinaryOperationExpr); ok && bin.Op == opcode.Or {
			if _, ok := l.takeExpr(bin.L).(*Symmetric); !ok {
				l.fail("operator |")
			}
			b.Symmetric, low = true, bin.R
		}
		b.Low = l.expr(low).X
		high := l.expr(e.Right)
		b.High, b.Span = high.X, between(a, high)
		return self(b)
	case *tidb.PatternLikeOrIlikeExpr:
		a := l.expr(e.Expr)
		p, ok := l.expr(e.Pattern).X.(*ast.Like)
		if !ok {
			l.fail("LIKE without its slot")
		}
		p.X, p.Not, p.Start = a.X, e.Not, a.Span.Start
		return self(p)
	case *tidb.SubqueryExpr:
		q := l.query(e.Query)
		s := &ast.Subquery{Span: q.Span, Query: q}
		l.parens(e, &s.Span)
		return self(s)
	case *tidb.RowExpr:
		args := l.args(e.Values)
		r := &ast.RowCons{Span: between(args[0], args[len(args)-1])}
		for _, a := range args {
			r.Elems = append(r.Elems, a.X)
		}
		l.parens(e, &r.Span)
		return self(r)
	}
	l.fail("expression %T", e)
	return Arg{}
}

func (l *lowerer) binary(e *tidb.BinaryOperationExpr) Arg {
	if s, ok := l.peek(e.R).(*Postfix); ok {
		l.takeExpr(e.R)
		return self(s.Make(l.expr(e.L)))
	}
	if e.Op == opcode.NullEQ { // (l <=> `#n`) <=> r
		if in, ok := e.L.(*tidb.BinaryOperationExpr); ok && in.Op == opcode.NullEQ {
			if s, ok := l.takeExpr(in.R).(*Infix); ok {
				return self(s.Make(l.expr(in.L), l.expr(e.R)))
			}
		}
		l.fail("operator <=>")
	}
	op, ok := binaryOps[e.Op]
	if !ok {
		l.fail("operator %v", e.Op)
	}
	a, b := l.expr(e.L), l.expr(e.R)
	return self(&ast.Binary{Span: between(a, b), Op: op, L: a.X, R: b.X})
}
