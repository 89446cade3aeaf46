package parser

import (
	"fmt"
	"strings"

	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/parser/internal/mysql"
)

// expr rewrites one expression: it copies operators, replaces operands by slots
// and wraps what MySQL cannot write. It stops at the first token that cannot go
// on with the expression; precedence is TiDB's matter.
func (p *parser) expr() { p.exprUntil("") }

// exprState is what an expression leaves open while its operators are copied.
type exprState struct {
	p       *parser
	stop    string    // a word that ends the expression though it is an operator
	like    *ast.Like // a LIKE whose right side is being read
	nots    int       // parentheses opened for a NOT behind a tighter operator
	isDone  bool      // an IS test or a quantified comparison has just ended
	hasPred bool      // the operand at cmp has IN or BETWEEN
	ops     int
	// chain and cmp say where in p.out the present chain of comparisons and IS
	// tests begins, and its last operand.
	chain, cmp int
}

// begin notes that a chain of comparisons begins with what is emitted next.
func (e *exprState) begin() {
	e.chain, e.cmp, e.hasPred = len(e.p.out), len(e.p.out), false
}

// wrap puts everything emitted since at in parentheses.
func (e *exprState) wrap(at int) {
	e.endLike()
	e.p.insert(at, e.p.i-1, "(")
	e.p.emit(")", e.p.i-1)
	e.hasPred = false
}

func (p *parser) exprUntil(stop string) {
	defer p.enter()()
	e := &exprState{p: p, stop: stop}
	e.begin()
	tight := false // the operator before binds tighter than NOT
	for {
		e.prefixes(tight)
		p.primary(true)
		e.isDone = false
		for e.postfix() {
		}
		var more bool
		if tight, more = e.operator(); !more {
			break
		}
		if e.ops++; e.ops > maxOperators {
			p.failAt(p.tok(), CodeLimit, "", "an expression has at most %d operators", maxOperators)
		}
	}
	e.close()
}

// endLike closes the parentheses around the right side of LIKE.
func (e *exprState) endLike() {
	if e.like != nil {
		e.like.Stop = e.p.prev().end
		e.p.emit(")", e.p.i-1)
		e.p.emit(")", e.p.i-1)
		e.like = nil
	}
}

// close closes everything that ends before AND and OR.
func (e *exprState) close() {
	e.endLike()
	for ; e.nots > 0; e.nots-- {
		e.p.emit(")", e.p.i-1)
	}
}

// prefixes copies NOT, + and - before an operand.
func (e *exprState) prefixes(tight bool) {
	p := e.p
	for n := 0; ; n++ {
		if n > maxDepth {
			p.failAt(p.tok(), CodeLimit, "", "more than %d signs or NOTs in a row", maxDepth)
		}
		switch {
		case p.op("-"), p.op("+"):
			p.emit(p.tok().text, p.i)
			tight = true
		case p.is("NOT"):
			if e.like != nil {
				p.failAt(p.tok(), CodeSyntax, "put the NOT and what belongs to it in parentheses", "NOT cannot stand here")
			}
			if tight { // a = NOT b: MySQL wants parentheses
				p.emit("(", p.i)
				e.nots++
				tight = false
			}
			p.emit("NOT", p.i)
			e.begin()
		default:
			return
		}
		p.i++
	}
}

// postfix rewrites IS tests, which may follow one another.
func (e *exprState) postfix() bool {
	p := e.p
	if !p.is("IS") {
		return false
	}
	e.endLike()
	if e.ops++; e.ops > maxOperators {
		p.failAt(p.tok(), CodeLimit, "", "an expression has at most %d operators", maxOperators)
	}
	src := p.i
	p.i++
	not := p.accept("NOT")
	for _, k := range []ast.IsKind{ast.IsNull, ast.IsTrue, ast.IsFalse, ast.IsUnknown} {
		if p.accept(string(k)) {
			stop := p.prev().end
			e.marker(src, func(x mysql.Arg) ast.Expr {
				return &ast.Is{Span: ast.Span{Start: x.Span.Start, Stop: stop}, X: x.X, Kind: k, Not: not}
			})
			return true
		}
	}
	if p.accept("JSON") {
		kind := p.acceptAny("VALUE", "OBJECT", "ARRAY", "SCALAR")
		stop := p.prev().end
		e.marker(src, func(x mysql.Arg) ast.Expr {
			return &ast.IsJSON{Span: ast.Span{Start: x.Span.Start, Stop: stop}, X: x.X, Kind: kind, Not: not}
		})
		return true
	}
	for _, test := range []string{"A SET", "EMPTY"} {
		if p.is(strings.Fields(test)...) {
			p.notSupported(p.tok(), "IS "+test, "use CARDINALITY")
		}
	}
	p.want("DISTINCT FROM")
	if !p.is("DISTINCT") {
		p.unexpected("")
	}
	p.i = src // operator takes IS DISTINCT FROM
	return false
}

// marker emits a postfix operator: = `#n`.
func (e *exprState) marker(src int, make func(mysql.Arg) ast.Expr) {
	e.p.emit("=", src)
	e.p.emitSlot(&mysql.Postfix{Make: make}, src)
	e.isDone = true
}

// infix emits an operator at the level of comparison: <=> `#n` <=>.
func (e *exprState) infix(src int, make func(l, r mysql.Arg) ast.Expr) {
	e.p.emit("<=>", src)
	e.p.emitSlot(&mysql.Infix{Make: make}, src)
	e.p.emit("<=>", src)
}

// unknownOps are operators of other dialects, with what to write instead.
var unknownOps = map[string]string{
	"::": "write CAST(x AS type)", "==": "did you mean =?", "&&": "write AND", "<=>": "write IS NOT DISTINCT FROM",
	"->": "write JSON_QUERY(x, path)", "->>": "write JSON_VALUE(x, path)", "<<": "", ":=": "", "|": "write || to join strings, OR for logic",
	"^": "write POWER(x, y)", "?": "", "$": "", "{": "",
}

// operator copies one binary operator. more: an operand must follow. tight: the
// operator binds tighter than NOT.
func (e *exprState) operator() (tight, more bool) {
	p := e.p
	t := p.tok()
	src := p.i
	if t.kind == tokOp {
		switch t.text {
		case "+", "-", "*", "/", "%", "||":
			e.wrapTest()
			op := t.text
			if op == "||" {
				op = "DIV" // not in our dialect, and of the right precedence
			}
			p.emit(op, src)
			p.i++
			return true, true
		case "=", "<>", "<", "<=", ">", ">=", "!=":
			e.endLike()
			op := t.text
			if op == "!=" {
				op = "<>"
				p.note(t.pos, t.end, t.weir, ast.ExtNotEqual, "<>")
			}
			p.i++
			if q := p.tok().up; q == "ALL" || (q == "ANY" || q == "SOME") && p.opAt(1, "(") {
				e.quantified(src, op, q)
				e.isDone = true
				for e.postfix() {
				}
				return e.operator()
			}
			p.emit(op, src)
			e.cmp, e.hasPred = len(p.out), false
			return true, true
		case ",", ")", "]", ";", "(", "[", ".":
			return false, false
		}
		if hint, ok := unknownOps[t.text]; ok {
			code := CodeNotSupported
			if t.text == "==" {
				code = CodeSyntax
			}
			p.failAt(t, code, hint, "there is no operator %s", t.text)
		}
		return false, false
	}
	if t.kind != tokIdent || t.up == e.stop {
		return false, false
	}
	switch t.up {
	case "AND":
		e.close()
		p.emit("AND", src)
		p.i++
		e.begin()
		return false, true
	case "OR":
		e.close()
		p.emit("OR", src)
		p.i++
		e.begin()
		return false, true
	case "IS": // DISTINCT FROM: postfix took the others
		e.endLike()
		p.i++
		not := p.accept("NOT")
		p.expect("DISTINCT", "FROM")
		e.infix(src, func(l, r mysql.Arg) ast.Expr {
			return &ast.IsDistinctFrom{Span: ast.Span{Start: l.Span.Start, Stop: r.Span.Stop}, L: l.X, R: r.X, Not: not}
		})
		return true, true
	case "NOT":
		switch p.peek(1).up {
		case "IN", "LIKE", "SIMILAR", "BETWEEN":
			e.wrapPredicate()
			p.emit("NOT", src)
			p.i++
			return e.predicate()
		case "ILIKE", "RLIKE", "REGEXP":
			p.i++
			return e.predicate()
		}
		p.i++
		for _, w := range []string{"IN", "LIKE", "SIMILAR TO", "BETWEEN"} {
			p.want(w)
		}
		p.unexpected("")
	case "IN", "LIKE", "SIMILAR", "BETWEEN", "ILIKE", "RLIKE", "REGEXP":
		e.wrapPredicate()
		return e.predicate()
	case "OVERLAPS":
		if p.opAt(1, "(") || p.peek(1).up == "ROW" {
			e.endLike()
			p.i++
			e.infix(src, func(l, r mysql.Arg) ast.Expr {
				return &ast.Binary{Span: ast.Span{Start: l.Span.Start, Stop: r.Span.Stop}, Op: "OVERLAPS", L: l.X, R: r.X}
			})
			return true, true
		}
	case "CONTAINS", "EQUALS", "PRECEDES", "SUCCEEDS", "IMMEDIATELY":
		if p.opAt(1, "(") || p.peek(1).up == "PERIOD" || t.up == "IMMEDIATELY" && p.isName(1) {
			p.notSupported(t, "the comparison of periods "+t.up, "use (a, b) OVERLAPS (c, d), or comparisons")
		}
	case "MEMBER", "SUBMULTISET":
		if p.peek(1).up == "OF" || p.opAt(1, "(") {
			p.notSupported(t, t.up, "")
		}
	case "MULTISET":
		if w := p.peek(1).up; setOperators[w] {
			p.notSupported(t, "MULTISET "+w, "")
		}
	case "COLLATE":
		if p.isName(1) {
			p.notSupported(t, "COLLATE", "strings compare by their bytes")
		}
	case "AT":
		if p.is("AT", "TIME", "ZONE") {
			p.notSupported(t, "AT TIME ZONE", "use CONVERT_TZ")
		}
	case "DIV", "XOR":
		if p.isName(1) || p.peek(1).kind == tokNumber {
			p.notSupported(t, "the operator "+t.up, "")
		}
	case "ESCAPE":
		if e.like != nil {
			p.i++
			at := p.tok()
			esc := p.stringLit("the escape character")
			if len([]rune(esc.Value)) != 1 {
				p.failAt(at, CodeValue, "", "ESCAPE takes one character, not %s", show(at))
			}
			e.like.Escape = &esc
			e.endLike()
			for e.postfix() {
			}
			return e.operator()
		}
	}
	return false, false
}

// wrapTest puts an IS test or a quantified comparison in parentheses, since what
// follows would bind to its end: both are written as comparisons. It takes the
// whole chain before it, as Flink's does: a = b IS NULL || c is ((a = b) IS NULL) || c.
func (e *exprState) wrapTest() {
	if e.isDone {
		e.wrap(e.chain)
		e.cmp, e.isDone = e.chain, false
	}
}

// wrapPredicate does that before a predicate, and puts an IN or BETWEEN before it in parentheses.
func (e *exprState) wrapPredicate() {
	e.wrapTest()
	e.endLike()
	if e.hasPred {
		e.wrap(e.cmp)
	}
}

// predicate rewrites IN, LIKE, SIMILAR TO and BETWEEN.
func (e *exprState) predicate() (tight, more bool) {
	p := e.p
	t := p.tok()
	src := p.i
	switch t.up {
	case "ILIKE", "RLIKE", "REGEXP":
		if n := p.peek(1); n.kind != tokString && n.kind != tokQuoted && (n.kind != tokIdent || reserved[n.up]) {
			return false, false // an alias
		}
		hint := "use REGEXP(text, pattern)"
		if t.up == "ILIKE" {
			hint = "use LOWER(text) LIKE pattern"
		}
		p.notSupported(t, t.up, hint)
	case "IN":
		e.hasPred = true
		p.emit("IN", src)
		p.i++
		if !p.op("(") {
			p.want("'('")
			p.unexpected("")
		}
		p.inOperand()
		for e.postfix() {
		}
		return e.operator()
	case "LIKE", "SIMILAR":
		like := &ast.Like{Similar: t.up == "SIMILAR"}
		p.i++
		if like.Similar {
			p.expect("TO")
		}
		p.emit("LIKE", src)
		p.emit("(", src)
		p.emitSlot(&mysql.Pattern{Like: like}, src)
		p.emit("(", src)
		e.like = like
	case "BETWEEN":
		e.hasPred = true
		p.emit("BETWEEN", src)
		p.i++
		if p.accept("SYMMETRIC") {
			p.emitSlot(&mysql.Symmetric{}, src)
			p.emit("|", src) // the loosest operator allowed here
		} else {
			p.accept("ASYMMETRIC")
		}
		// The lower bound is all up to the AND; the upper one ends before a comparison.
		p.emit("(", src)
		p.exprUntil("AND")
		p.emit(")", p.i-1)
		p.expect("AND")
		p.emit("AND", p.i-1)
	}
	return true, true
}

// inOperand rewrites the right side of IN: ( `#n`(a, b, ...) ) or ( `#n`((query)) ).
func (p *parser) inOperand() {
	at := p.i
	p.emit("(", at)
	list := &ast.RowCons{}
	query := p.isQuery(at + 1)
	p.emitSlot(mysql.Fn(func(args []mysql.Arg) ast.Expr {
		if query {
			return args[0].X // an *ast.Subquery
		}
		for _, a := range args {
			list.Elems = append(list.Elems, a.X)
		}
		return list
	}), at)
	p.emit("(", at)
	if query {
		p.parenQuery()
	} else {
		p.i++
		p.exprList()
		p.expectOp(")")
	}
	p.emit(")", p.i-1)
	p.emit(")", p.i-1)
	list.Span = p.spanFrom(at)
}

// quantified rewrites = ANY (..) from the quantifier on.
func (e *exprState) quantified(src int, op, quantifier string) {
	p := e.p
	p.i++
	if quantifier == "SOME" {
		quantifier = "ANY"
	}
	var stop int
	e.infix(src, func(l, r mysql.Arg) ast.Expr {
		q := &ast.Quantified{Span: ast.Span{Start: l.Span.Start, Stop: stop}, X: l.X, Op: op, Quantifier: quantifier}
		switch x := r.X.(type) {
		case *ast.Subquery:
			q.Query = x.Query
		case *ast.RowCons:
			q.List = x.Elems
		default:
			panic(fmt.Sprintf("%T behind %s", r.X, quantifier))
		}
		return q
	})
	if p.op("(") && p.isQuery(p.i+1) {
		p.parenQuery()
	} else {
		at := p.i
		p.expectOp("(")
		list := &ast.RowCons{Span: p.spanFrom(at)}
		p.emitSlot(p.elements(&list.Elems, list), at)
		p.emit("(", at)
		p.exprList()
		p.expectOp(")")
		p.emit(")", p.i-1)
	}
	stop = p.prev().end
}
