package parser

import (
	"strconv"

	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/parser/internal/mysql"
)

// ---- emitting

func (p *parser) emit(s string, src int) { p.out = append(p.out, mysql.Piece{Text: s, Src: src}) }

// slot makes a slot and gives how it is written.
func (p *parser) slot(s mysql.Slot) string {
	p.slots = append(p.slots, s)
	return mysql.SlotName(len(p.slots) - 1)
}

func (p *parser) emitSlot(s mysql.Slot, src int) { p.emit(p.slot(s), src) }

// insert puts pieces in front of what was emitted since at.
func (p *parser) insert(at, src int, texts ...string) {
	ps := make([]mysql.Piece, len(texts), len(texts)+len(p.out)-at)
	for i, s := range texts {
		ps[i] = mysql.Piece{Text: s, Src: src}
	}
	p.out = append(p.out[:at], append(ps, p.out[at:]...)...)
}

// apart rewrites something on its own and gives its pieces.
func (p *parser) apart(rewrite func()) []mysql.Piece {
	saved := p.out
	p.out = nil
	rewrite()
	ps := p.out
	p.out = saved
	return ps
}

// fullQuery parses the query that begins here.
func (p *parser) fullQuery() *ast.Query {
	from := p.i
	q, err := mysql.Query(p.apart(p.query), p.slots, p)
	p.libraryError(err)
	q.Span = p.sourceSpan(from)
	return q
}

// expression parses the expression that begins here.
func (p *parser) expression() ast.Expr {
	x, _, err := mysql.Expr(p.apart(p.expr), p.slots, p)
	p.libraryError(err)
	return x
}

// libraryError reports what TiDB found and we did not.
func (p *parser) libraryError(err error) {
	if err == nil {
		return
	}
	e := err.(*mysql.Error)
	if e.Internal != "" {
		t := &p.toks[p.start]
		p.failAt(t, CodeInternal, "this is a bug in Weir; please report it with the statement", "internal error: %s", e.Internal)
	}
	t := p.tok()
	if e.Src >= 0 {
		t = &p.toks[e.Src]
	}
	if e.Msg != "" {
		p.failAt(t, CodeSyntax, e.Hint, "%s", e.Msg)
	}
	p.failAt(t, CodeSyntax, "parentheses may be missing", "unexpected %s", show(t))
}

// ---- queries

var setOperators = wordSet("UNION INTERSECT EXCEPT MINUS")

// query rewrites a query.
func (p *parser) query() {
	defer p.enter()()
	if p.kw("WITH") {
		p.with()
		if p.secondWith() {
			// TiDB would drop one of the two: the inner query is parsed by itself.
			src := p.i
			p.i++
			q := p.fullQuery()
			p.expectOp(")")
			p.emit("SELECT", src)
			p.emitSlot(q, src)
			return
		}
	}
	p.queryTerm()
	for n := 0; setOperators[p.tok().up]; n++ {
		if n > maxOperators {
			p.failAt(p.tok(), CodeLimit, "", "a query has at most %d set operations", maxOperators)
		}
		p.setOperator()
		p.queryTerm()
	}
	p.want("UNION")
	p.want("INTERSECT")
	p.want("EXCEPT")
	if p.queryTail() && setOperators[p.tok().up] {
		p.failAt(p.tok(), CodeSyntax, "put the query with ORDER BY or LIMIT in parentheses", "ORDER BY and LIMIT cannot stand before %s", p.tok().up)
	}
}

// secondWith reports whether all of the query that follows a WITH is in
// parentheses and begins with a WITH of its own.
func (p *parser) secondWith() bool {
	j := p.i
	for p.toks[j].kind == tokOp && p.toks[j].text == "(" {
		j++
	}
	m := p.match[p.i]
	if j == p.i || m < 0 || p.toks[j].up != "WITH" {
		return false
	}
	n := &p.toks[m+1]
	return !setOperators[n.up] && n.up != "ORDER" && n.up != "LIMIT" && n.up != "OFFSET" && n.up != "FETCH"
}

func (p *parser) setOperator() {
	t := p.tok()
	word := t.up
	if word == "MINUS" {
		p.note(t.pos, t.end, t.weir, ast.ExtSyntax, "EXCEPT")
		word = "EXCEPT"
	}
	p.emit(word, p.i)
	p.i++
	if p.accept("ALL") {
		p.emit("ALL", p.i-1)
	} else {
		p.accept("DISTINCT")
	}
}

func (p *parser) with() {
	src := p.i
	p.emit("WITH", src)
	p.i++
	recursive := false
	if p.is("RECURSIVE") && p.isName(1) {
		p.emit("RECURSIVE", p.i)
		t := p.tok()
		p.note(t.pos, t.end, t.weir, ast.ExtSyntax, "")
		p.i++
		recursive = true
	}
	for {
		from := p.i
		cte := &ast.CTE{Name: p.identFor("the name of a query")}
		p.emitSlot(&mysql.CTE{With: p.toks[src].pos, Recursive: recursive, CTE: cte}, from)
		if p.op("(") {
			cte.Columns = p.identList("a column name")
		}
		p.want("'('")
		p.expect("AS")
		p.emit("AS", p.i-1)
		if !p.op("(") || !p.isQuery(p.i+1) {
			if p.acceptOp("(") {
				p.unexpected("a query")
			}
			p.unexpected("")
		}
		p.parenQuery()
		cte.Span = p.spanFrom(from)
		if !p.acceptOp(",") {
			return
		}
		p.emit(",", p.i-1)
	}
}

// parenQuery rewrites ( query ).
func (p *parser) parenQuery() {
	p.expectOp("(")
	p.emit("(", p.i-1)
	p.query()
	p.expectOp(")")
	p.emit(")", p.i-1)
}

// queryTerm rewrites an operand of a set operation.
func (p *parser) queryTerm() {
	switch {
	case p.kw("SELECT"):
		p.selectBlock()
	case p.kw("VALUES"):
		p.values()
	case p.is("TABLE") && p.isName(1):
		p.explicitTable()
	case p.op("("):
		if !p.isQuery(p.i + 1) {
			p.i++
			p.want("SELECT")
			p.unexpected("a query")
		}
		p.parenQuery()
	default:
		p.want("WITH")
		p.unexpected("a query")
	}
}

// explicitTable rewrites TABLE t, which is SELECT * FROM t.
func (p *parser) explicitTable() {
	src := p.i
	p.i++
	sel := &ast.Select{}
	p.emit("SELECT", src)
	p.emitSlot(sel, src)
	p.emit(",", src)
	p.emitSlot(&ast.Star{Span: p.spanFrom(src)}, src)
	p.emit("FROM", src)
	at := p.i
	t := &ast.Table{Name: p.objectName("a table name")}
	t.Hints = p.hints()
	t.Span = p.spanFrom(at)
	p.emitSlot(t, at)
	sel.Span = p.spanFrom(src)
}

// values rewrites VALUES (a, b), ... as SELECT marker, row(a, b), ...
func (p *parser) values() {
	src := p.i
	p.i++
	p.emit("SELECT", src)
	v := &ast.Values{Span: p.spanFrom(src)}
	p.emitSlot(v, src)
	for {
		at := p.i
		p.emit(",", at)
		row := &ast.RowCons{}
		p.emitSlot(p.elements(&row.Elems, row), at)
		p.emit("(", at)
		switch {
		case p.op("(") && !p.isQuery(p.i+1) && p.closesValue(p.i):
			p.i++
			p.exprList()
			p.expectOp(")")
		case p.is("ROW") && p.opAt(1, "(") && p.closesValue(p.i+1):
			p.i += 2
			p.exprList()
			p.expectOp(")")
		default:
			p.valueExpr()
			if t := &p.toks[at]; t.text == "(" && t.kind == tokOp && p.match[at] < p.i-1 { // (1 + 2) * 3
				p.note(t.pos, p.prev().end, t.weir, ast.ExtSyntax, "("+p.text[t.pos.Offset:p.prev().end]+")")
			}
		}
		p.emit(")", at)
		row.Span = p.spanFrom(at)
		if !p.acceptOp(",") {
			return
		}
	}
}

// closesValue reports whether the parenthesis at token i holds a whole row of
// VALUES, and is not the start of an expression like (1 + 2) * 3.
func (p *parser) closesValue(i int) bool {
	m := p.match[i]
	if m < 0 {
		return true
	}
	n := &p.toks[m+1]
	return n.kind != tokOp || n.text == "," || n.text == ")" || n.text == ";"
}

// elements is a slot for a call whose arguments become the elements.
func (p *parser) elements(to *[]ast.Expr, x ast.Expr) mysql.Fn {
	return func(args []mysql.Arg) ast.Expr {
		for _, a := range args {
			*to = append(*to, a.X)
		}
		return x
	}
}

// exprList rewrites expr, ...
func (p *parser) exprList() {
	for {
		p.valueExpr()
		if !p.acceptOp(",") {
			return
		}
		p.emit(",", p.i-1)
	}
}

// valueExpr rewrites an expression or the word DEFAULT.
func (p *parser) valueExpr() {
	if p.is("DEFAULT") && (p.opAt(1, ",") || p.opAt(1, ")")) {
		p.i++
		p.emitSlot(&ast.Default{Span: p.spanFrom(p.i - 1)}, p.i-1)
		return
	}
	p.expr()
}

func (p *parser) selectBlock() {
	src := p.i
	p.i++
	sel := &ast.Select{}
	p.emit("SELECT", src)
	p.emitSlot(sel, src)
	sel.Hints = p.hints()
	if p.is("STREAM") && p.opAt(1, "*") && p.peek(2).up == "FROM" {
		p.notSupported(p.tok(), "SELECT STREAM", "leave STREAM out: whether a query streams is a matter of its tables")
	}
	if p.accept("DISTINCT") {
		sel.Distinct = true
	} else {
		p.accept("ALL")
	}
	for {
		p.emit(",", p.i)
		p.selectItem()
		if !p.acceptOp(",") {
			break
		}
	}
	if p.accept("FROM") {
		p.emit("FROM", p.i-1)
		p.from()
		if p.accept("WHERE") {
			p.emit("WHERE", p.i-1)
			p.expr()
		}
		if p.accept("GROUP") {
			p.expect("BY")
			p.groupBy(sel)
		}
		if p.accept("HAVING") {
			p.emit("HAVING", p.i-1)
			p.expr()
		}
		if p.accept("WINDOW") {
			p.namedWindows()
		}
		if p.accept("QUALIFY") {
			sel.Qualify = p.expression()
		}
	}
	sel.Span = p.spanFrom(src)
}

func (p *parser) selectItem() {
	src := p.i
	if p.op("*") {
		p.i++
		p.emitSlot(&ast.Star{Span: p.spanFrom(src)}, src)
		return
	}
	if p.isName(0) { // t.*
		j := 0
		for p.opAt(j+1, ".") && (p.peek(j+2).kind == tokIdent || p.peek(j+2).kind == tokQuoted) {
			j += 2
		}
		if p.opAt(j+1, ".") && p.opAt(j+2, "*") {
			star := &ast.Star{Qualifier: p.dotted("a table name")}
			p.i += 2
			star.Span = p.spanFrom(src)
			p.emitSlot(star, src)
			return
		}
	}
	p.expr()
	if p.accept("AS") {
		at := p.i
		id := p.identFor("a column alias")
		p.emit("AS", at-1)
		p.emitSlot(&id, at)
	} else if p.isName(0) {
		at := p.i
		p.aliasAt = at
		id := p.ident()
		p.emit("AS", at)
		p.emitSlot(&id, at)
	}
}

func (p *parser) groupBy(sel *ast.Select) {
	p.emit("GROUP BY", p.i-2)
	if p.is("DISTINCT") {
		p.i++
		sel.GroupByDistinct = true
	} else if all := p.tok(); p.accept("ALL") && p.queryEnds() {
		p.failAt(all, CodeNotSupported, "name the columns: GROUP BY a, b", "GROUP BY ALL without columns is not supported")
	}
	for {
		p.groupItem()
		if !p.acceptOp(",") {
			return
		}
		p.emit(",", p.i-1)
	}
}

// queryEnds reports whether here is the end of a SELECT, or a clause that stands behind GROUP BY.
func (p *parser) queryEnds() bool {
	t := p.tok()
	if t.kind == tokEOF || p.op(";") || p.op(")") {
		return true
	}
	switch t.up {
	case "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "OFFSET", "FETCH":
		return true
	}
	return setOperators[t.up]
}

// groupItem rewrites an element of GROUP BY or GROUPING SETS.
func (p *parser) groupItem() {
	defer p.enter()()
	src := p.i
	if p.op("(") && p.opAt(1, ")") {
		p.i += 2
		p.emitSlot(&ast.Grouping{Span: p.spanFrom(src), Kind: ast.GroupingSet}, src)
		return
	}
	g := &ast.Grouping{}
	switch {
	case p.is("GROUPING", "SETS"):
		g.Kind = ast.GroupingSets
		p.i += 2
		p.expectOp("(")
	case p.is("ROLLUP") && p.opAt(1, "("):
		g.Kind = ast.Rollup
		p.i += 2
	case p.is("CUBE") && p.opAt(1, "("):
		g.Kind = ast.Cube
		p.i += 2
	default:
		p.expr()
		return
	}
	p.emitSlot(mysql.Fn(func(args []mysql.Arg) ast.Expr {
		for _, a := range args {
			x := a.X
			if r, ok := x.(*ast.RowCons); ok && !r.Explicit {
				x = &ast.Grouping{Span: r.Span, Kind: ast.GroupingSet, Items: r.Elems}
			}
			g.Items = append(g.Items, x)
		}
		return g
	}), src)
	p.emit("(", p.i-1)
	for {
		p.groupItem()
		if !p.acceptOp(",") {
			break
		}
		p.emit(",", p.i-1)
	}
	p.expectOp(")")
	p.emit(")", p.i-1)
	g.Span = p.spanFrom(src)
}

func (p *parser) namedWindows() {
	p.emit("WINDOW", p.i-1)
	for {
		src := p.i
		w := &ast.NamedWindow{Name: p.identFor("a window name"), Spec: &ast.WindowSpec{}}
		p.emitSlot(w, src)
		p.expect("AS")
		p.emit("AS", p.i-1)
		p.windowSpec(w.Spec)
		w.Span = p.spanFrom(src)
		if !p.acceptOp(",") {
			return
		}
		p.emit(",", p.i-1)
	}
}

// windowSpec rewrites ( [name] [PARTITION BY ..] [ORDER BY ..] [frame] ).
func (p *parser) windowSpec(w *ast.WindowSpec) {
	src := p.i
	p.expectOp("(")
	p.emit("(", src)
	if p.isName(0) && !p.is("PARTITION") && !p.is("ROWS") && !p.is("RANGE") {
		id := p.ident()
		w.Base = &id
	}
	if p.accept("PARTITION") {
		p.expect("BY")
		p.emit("PARTITION BY", p.i-2)
		for {
			p.expr()
			if !p.acceptOp(",") {
				break
			}
			p.emit(",", p.i-1)
		}
	}
	if p.accept("ORDER") {
		p.expect("BY")
		p.emit("ORDER BY", p.i-2)
		p.sortList()
	}
	if unit := p.acceptAny("ROWS", "RANGE"); unit != "" {
		from := p.i - 1
		w.Frame = &ast.Frame{Unit: unit}
		if p.accept("BETWEEN") {
			w.Frame.Start = p.frameBound(unit)
			p.expect("AND")
			end := p.frameBound(unit)
			w.Frame.End = &end
		} else {
			w.Frame.Start = p.frameBound(unit)
		}
		w.Frame.Span = p.spanFrom(from)
	}
	if p.is("ALLOW", "PARTIAL") { // the default
		p.i += 2
	} else if p.is("DISALLOW", "PARTIAL") {
		p.notSupported(p.tok(), "DISALLOW PARTIAL", "")
	}
	p.expectOp(")")
	p.emit(")", p.i-1)
	w.Span = p.spanFrom(src)
}

func (p *parser) frameBound(unit string) ast.FrameBound {
	src := p.i
	b := ast.FrameBound{}
	switch {
	case p.accept("CURRENT"):
		p.expect("ROW")
		b.Kind = ast.CurrentRow
	case p.accept("UNBOUNDED"):
		b.Kind = ast.UnboundedPreceding
		if !p.accept("PRECEDING") {
			p.expect("FOLLOWING")
			b.Kind = ast.UnboundedFollowing
		}
	default:
		at := p.tok()
		b.Offset = p.expression()
		if l, ok := b.Offset.(*ast.Literal); ok && unit == "ROWS" {
			if _, whole := parseInt(l.Value); !whole && l.Kind != ast.ParameterLit {
				p.failAt(at, CodeValue, "", "expected a whole number but found %s", l.Text)
			}
		}
		b.Kind = ast.Preceding
		if !p.accept("PRECEDING") {
			p.expect("FOLLOWING")
			b.Kind = ast.Following
		}
	}
	b.Span = p.spanFrom(src)
	return b
}

// sortList rewrites expr [ASC|DESC] [NULLS FIRST|LAST], ...
func (p *parser) sortList() {
	for {
		p.expr()
		o := &mysql.Order{}
		o.Desc, o.Nulls = p.direction()
		o.Stop = p.prev().end
		p.emit("OR", p.i-1)
		p.emitSlot(o, p.i-1)
		if !p.acceptOp(",") {
			return
		}
		p.emit(",", p.i-1)
	}
}

func (p *parser) direction() (desc bool, nulls string) {
	if p.accept("DESC") {
		desc = true
	} else {
		p.accept("ASC")
	}
	if p.accept("NULLS") {
		if nulls = p.acceptAny("FIRST", "LAST"); nulls == "" {
			p.unexpected("")
		}
	}
	return desc, nulls
}

// queryTail rewrites ORDER BY, LIMIT, OFFSET and FETCH; false: there was none.
func (p *parser) queryTail() bool {
	any := false
	if p.accept("ORDER") {
		p.expect("BY")
		any = true
		p.emit("ORDER BY", p.i-2)
		p.sortList()
	}
	src := p.i
	l := &mysql.Limit{}
	if p.accept("LIMIT") {
		any = true
		if !p.accept("ALL") {
			l.Limit = p.wholeNumber("a whole number")
			if p.op(",") {
				p.failAt(p.tok(), CodeSyntax, "write LIMIT count OFFSET start", "LIMIT takes one number")
			}
		}
	}
	if p.accept("OFFSET") {
		any = true
		l.Offset = p.wholeNumber("a whole number")
		p.acceptAny("ROW", "ROWS")
	}
	if l.Limit == nil && p.accept("FETCH") {
		any = true
		if p.acceptAny("FIRST", "NEXT") == "" {
			p.unexpected("")
		}
		l.Limit = p.wholeNumber("a whole number")
		if p.acceptAny("ROW", "ROWS") == "" {
			p.unexpected("")
		}
		p.expect("ONLY")
	}
	if p.is("LIMIT") && l.Offset != nil {
		p.failAt(p.tok(), CodeSyntax, "write LIMIT before OFFSET", "LIMIT cannot stand behind OFFSET")
	}
	if l.Limit != nil || l.Offset != nil {
		l.Stop = p.prev().end
		p.slots = append(p.slots, l)
		p.emit("LIMIT", src)
		p.emit(strconv.Itoa(len(p.slots)-1), src)
	}
	return any
}

// isQuery reports whether a query, not an expression or a join, begins at token i.
func (p *parser) isQuery(i int) bool {
	j := i
	for j < len(p.toks) && p.toks[j].kind == tokOp && p.toks[j].text == "(" {
		if j++; j-i > 2*maxDepth {
			return false
		}
	}
	switch t := p.toks[min(j, len(p.toks)-1)]; t.up {
	case "SELECT", "WITH", "VALUES":
	case "TABLE":
		if n := p.toks[min(j+1, len(p.toks)-1)]; n.kind != tokQuoted && (n.kind != tokIdent || reserved[n.up]) {
			return false
		}
	default:
		return false
	}
	// What follows each closing parenthesis must be able to follow a query.
	for j--; j >= i; j-- {
		m := p.match[j]
		if m < 0 {
			return true
		}
		switch n := p.toks[m+1]; {
		case n.kind == tokEOF, n.kind == tokOp && (n.text == ")" || n.text == ";"):
		case setOperators[n.up], n.up == "ORDER", n.up == "LIMIT", n.up == "OFFSET", n.up == "FETCH":
		default:
			return false
		}
	}
	return true
}
