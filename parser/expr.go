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
	p        *parser
	stop     string    // a word that ends the expression though it is an operator
	like     *ast.Like // a LIKE whose right side is being read
	nots     int       // parentheses opened for a NOT behind a tighter operator
	betweens int       // BETWEENs whose AND has not come
	isDone   bool      // an IS test or a quantified comparison has just ended
	ops      int
}

func (p *parser) exprUntil(stop string) {
	defer p.enter()()
	e := &exprState{p: p, stop: stop}
	tight := false // the operator before binds tighter than NOT
	for {
		e.prefixes(tight)
		p.primary()
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
	if e.betweens > 0 {
		p.want("AND")
		p.unexpected("")
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
			if e.like != nil || e.betweens > 0 && tight {
				p.failAt(p.tok(), CodeSyntax, "put the NOT and what belongs to it in parentheses", "NOT cannot stand here")
			}
			if tight { // a = NOT b: MySQL wants parentheses
				p.emit("(", p.i)
				e.nots++
				tight = false
			}
			p.emit("NOT", p.i)
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
	"^": "write POWER(x, y)", "?": "parameters are not supported", "$": "", "{": "",
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
			e.refuseBehindTest(t)
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
		if e.betweens > 0 {
			e.endLike()
			e.betweens--
			p.emit("AND", src)
			p.i++
			return true, true
		}
		e.close()
		p.emit("AND", src)
		p.i++
		return false, true
	case "OR":
		if e.betweens > 0 {
			p.want("AND")
			p.unexpected("")
		}
		e.close()
		p.emit("OR", src)
		p.i++
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
		e.refuseBehindTest(t)
		switch p.peek(1).up {
		case "IN", "LIKE", "SIMILAR", "BETWEEN":
			e.endLike()
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

// refuseBehindTest refuses operators that would bind to the end of an IS test or
// a quantified comparison, which are written as comparisons.
func (e *exprState) refuseBehindTest(t *token) {
	if e.isDone {
		e.p.failAt(t, CodeSyntax, "put the part before it in parentheses", "%s cannot stand directly behind an IS test or a comparison with ANY or ALL", t.text)
	}
}

// predicate rewrites IN, LIKE, SIMILAR TO and BETWEEN.
func (e *exprState) predicate() (tight, more bool) {
	p := e.p
	t := p.tok()
	src := p.i
	e.refuseBehindTest(t)
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
		e.endLike()
		p.emit("IN", src)
		p.i++
		if !p.op("(") {
			p.want("'('")
			p.unexpected("")
		}
		at := p.i
		if p.isQuery(at + 1) {
			p.parenQuery()
		} else {
			p.i++
			p.emit("(", at)
			p.exprList()
			p.expectOp(")")
			p.emit(")", p.i-1)
		}
		for e.postfix() {
		}
		return e.operator()
	case "LIKE", "SIMILAR":
		e.endLike()
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
		e.endLike()
		p.emit("BETWEEN", src)
		p.i++
		if p.accept("SYMMETRIC") {
			p.emitSlot(&mysql.Symmetric{}, src)
			p.emit("|", src) // the loosest operator allowed here
		} else {
			p.accept("ASYMMETRIC")
		}
		e.betweens++
	}
	return true, true
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

// leaf emits an operand that is a single slot.
func (p *parser) leaf(x ast.Expr, src int) { p.emitSlot(x, src) }

// primary rewrites one operand with its subscripts and fields.
func (p *parser) primary() {
	at := len(p.out)
	isName := p.operand()
	for n := 0; ; n++ {
		if n > maxDepth {
			p.failAt(p.tok(), CodeLimit, "", "more than %d subscripts and fields in a row", maxDepth)
		}
		src := p.i
		var stop int
		switch {
		case p.op("["):
			p.i++
			p.insert(at, src, p.slot(mysql.Fn(func(args []mysql.Arg) ast.Expr {
				return &ast.Subscript{Span: ast.Span{Start: args[0].Span.Start, Stop: stop}, X: args[0].X, Index: args[1].X}
			})), "(")
			p.emit(",", src)
			p.expr()
			p.expectOp("]")
			p.emit(")", p.i-1)
		case p.op(".") && !(isName && n == 0):
			p.i++
			id := p.anyIdent()
			p.insert(at, src, p.slot(mysql.Fn(func(args []mysql.Arg) ast.Expr {
				return &ast.FieldAccess{Span: ast.Span{Start: args[0].Span.Start, Stop: id.Stop}, X: args[0].X, Field: id}
			})), "(")
			p.emit(")", p.i-1)
		default:
			return
		}
		stop = p.prev().end
	}
}

var niladic = wordSet(`CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP LOCALTIME LOCALTIMESTAMP`)

// operand rewrites an operand without subscripts; true: it is a plain name.
func (p *parser) operand() bool {
	t := p.tok()
	src := p.i
	lit := func(kind ast.LiteralKind, value string, n int) {
		p.i += n
		span := p.spanFrom(src)
		p.leaf(&ast.Literal{Span: span, Kind: kind, Value: value, Text: p.text[span.Start.Offset:span.Stop]}, src)
	}
	switch t.kind {
	case tokNumber:
		lit(ast.NumberLit, t.text, 1)
		return false
	case tokBinary:
		lit(ast.BinaryLit, t.text, 1)
		return false
	case tokString:
		// Strings one below the other are one string, as in standard SQL.
		v, n := t.text, 1
		for ; p.peek(n).kind == tokString && strings.Contains(p.text[p.peek(n-1).end:p.peek(n).pos.Offset], "\n"); n++ {
			v += p.peek(n).text
		}
		lit(ast.StringKind, v, n)
		return false
	case tokQuoted:
		return p.nameOrCall()
	case tokOp:
		switch t.text {
		case "(":
			p.parenthesized()
			return false
		case "{":
			if p.jdbcEscape() {
				return false
			}
		}
	case tokIdent:
		switch t.up {
		case "TRUE", "FALSE":
			lit(ast.BoolLit, t.up, 1)
			return false
		case "NULL":
			lit(ast.NullLit, t.up, 1)
			return false
		case "UNKNOWN":
			lit(ast.UnknownLit, t.up, 1)
			return false
		case "CASE":
			p.caseExpr()
			return false
		case "EXISTS":
			p.exists()
			return false
		case "INTERVAL":
			p.intervalOperand()
			return false
		case "DATE", "TIME", "TIMESTAMP":
			if p.peek(1).kind == tokString {
				kind := map[string]ast.LiteralKind{"DATE": ast.DateLit, "TIME": ast.TimeLit, "TIMESTAMP": ast.TimestampLit}[t.up]
				lit(kind, p.peek(1).text, 2)
				return false
			}
		case "ARRAY", "MAP", "MULTISET":
			if p.opAt(1, "[") {
				p.constructor()
				return false
			}
			if p.opAt(1, "(") && p.isQuery(p.i+2) {
				p.notSupported(t, t.up+" of a query", "")
			}
		case "ROW":
			if p.opAt(1, "(") {
				p.rowConstructor()
				return false
			}
		}
		if niladic[t.up] && !p.opAt(1, "(") {
			p.i++
			id := identOf(t)
			span := p.spanFrom(src)
			p.leaf(&ast.Call{Span: span, Name: ast.ObjectName{Span: span, Parts: []ast.Ident{id}}, NoParens: true}, src)
			return false
		}
		if !reserved[t.up] || p.opAt(1, "(") && reservedFunctions[t.up] {
			return p.nameOrCall()
		}
		if t.up == "CAST" {
			p.i++
			p.expectOp("(")
		}
		if !clauseWords[t.up] {
			p.failAt(t, CodeReserved, "write `"+t.text+"` to use it as a name", "expected an expression but found the reserved word %s", t.text)
		}
	}
	if hint, ok := unknownOps[t.text]; ok && t.kind == tokOp && t.text == "?" {
		p.failAt(t, CodeNotSupported, "", "%s", hint)
	}
	p.unexpected("an expression")
	return false
}

// jdbcEscape rewrites {fn f(x)}, {d '..'}, {t '..'} and {ts '..'}.
func (p *parser) jdbcEscape() bool {
	src := p.i
	kinds := map[string]ast.LiteralKind{"D": ast.DateLit, "T": ast.TimeLit, "TS": ast.TimestampLit}
	switch word := p.peek(1).up; {
	case word == "FN":
		p.i += 2
		if !p.isName(0) && !reservedFunctions[p.tok().up] || !p.isCall() {
			p.unexpected("a function call")
		}
		p.operand()
	case kinds[word] != "" && p.peek(2).kind == tokString:
		v := p.peek(2).text
		p.i += 3
		span := p.spanFrom(src)
		p.leaf(&ast.Literal{Span: span, Kind: kinds[word], Value: v, Text: p.text[span.Start.Offset:span.Stop]}, src)
	default:
		return false
	}
	p.expectOp("}")
	return true
}

// reservedFunctions are reserved words that are also names of functions.
var reservedFunctions = wordSet(`LEFT RIGHT CAST`)

// clauseWords are reserved words that nobody means as a name where an expression
// is missing.
var clauseWords = wordSet(`AND AS BETWEEN ELSE END ESCAPE EXCEPT FETCH FOR FROM FULL GROUP HAVING IN INNER INTERSECT INTO IS JOIN LIKE LIMIT
	MINUS NATURAL OFFSET ON OR ORDER OUTER QUALIFY SELECT THEN TO UNION USING VALUES WHEN WHERE WINDOW WITH`)

// parenthesized rewrites ( query ), ( expr ) and ( expr, ... ).
func (p *parser) parenthesized() {
	if p.isQuery(p.i + 1) {
		p.parenQuery()
		return
	}
	p.emit("(", p.i)
	p.i++
	for {
		p.expr()
		if !p.acceptOp(",") {
			break
		}
		p.emit(",", p.i-1)
	}
	p.expectOp(")")
	p.emit(")", p.i-1)
}

func (p *parser) exists() {
	src := p.i
	p.i++
	x := &ast.Exists{}
	p.emitSlot(mysql.Fn(func(args []mysql.Arg) ast.Expr {
		x.Query = args[0].X.(*ast.Subquery).Query
		return x
	}), src)
	p.emit("(", src)
	if !p.op("(") || !p.isQuery(p.i+1) {
		p.expectOp("(")
		p.unexpected("a query")
	}
	p.parenQuery()
	p.emit(")", p.i-1)
	x.Span = p.spanFrom(src)
}

// caseExpr rewrites CASE as a call of all its parts.
func (p *parser) caseExpr() {
	src := p.i
	p.i++
	c := &ast.Case{}
	operand, hasElse := false, false
	var whens []int // how many conditions each WHEN has
	p.emitSlot(mysql.Fn(func(args []mysql.Arg) ast.Expr {
		if operand {
			c.Operand, args = args[0].X, args[1:]
		}
		for _, n := range whens {
			for _, cond := range args[:n] { // WHEN a, b THEN r is WHEN a THEN r WHEN b THEN r
				c.Whens = append(c.Whens, ast.When{Cond: cond.X, Result: args[n].X})
			}
			args = args[n+1:]
		}
		if hasElse {
			c.Else = args[0].X
		}
		return c
	}), src)
	p.emit("(", src)
	if !p.kw("WHEN") {
		operand = true
		p.expr()
		p.emit(",", p.i-1)
	}
	for {
		if !p.accept("WHEN") {
			p.unexpected("")
		}
		if len(whens) > maxOperators {
			p.failAt(p.tok(), CodeLimit, "", "CASE has at most %d branches", maxOperators)
		}
		if len(whens) > 0 {
			p.emit(",", p.i-1)
		}
		n := 1
		for p.expr(); operand && p.acceptOp(","); n++ {
			p.emit(",", p.i-1)
			p.expr()
		}
		whens = append(whens, n)
		p.expect("THEN")
		p.emit(",", p.i-1)
		p.expr()
		if !p.kw("WHEN") {
			break
		}
	}
	if p.accept("ELSE") {
		hasElse = true
		p.emit(",", p.i-1)
		p.expr()
	}
	p.expect("END")
	p.emit(")", p.i-1)
	c.Span = p.spanFrom(src)
}

// constructor rewrites ARRAY[..], MAP[..] and MULTISET[..].
func (p *parser) constructor() {
	src := p.i
	word := p.tok().up
	p.i += 2
	var x ast.Expr
	var elems *[]ast.Expr
	var span *ast.Span
	switch word {
	case "ARRAY":
		n := &ast.ArrayCons{}
		x, elems, span = n, &n.Elems, &n.Span
	case "MAP":
		n := &ast.MapCons{}
		x, elems, span = n, &n.Elems, &n.Span
	default:
		n := &ast.MultisetCons{}
		x, elems, span = n, &n.Elems, &n.Span
	}
	p.emitSlot(p.elements(elems, x), src)
	p.emit("(", src)
	n := 0
	if !p.op("]") {
		for n = 1; ; n++ {
			p.expr()
			if !p.acceptOp(",") {
				break
			}
			p.emit(",", p.i-1)
		}
	}
	if word == "MAP" && n%2 == 1 {
		p.want("','")
		p.failAt(p.tok(), CodeValue, "MAP[key, value, key, value, ...]", "MAP has a key without a value")
	}
	p.expectOp("]")
	p.emit(")", p.i-1)
	*span = p.spanFrom(src)
}

func (p *parser) rowConstructor() {
	src := p.i
	p.i += 2
	r := &ast.RowCons{Explicit: true}
	p.emitSlot(p.elements(&r.Elems, r), src)
	p.emit("(", src)
	if !p.op(")") {
		p.exprList()
	}
	p.expectOp(")")
	p.emit(")", p.i-1)
	r.Span = p.spanFrom(src)
}

// nameOrCall rewrites a name (true) or a call.
func (p *parser) nameOrCall() bool {
	if p.isCall() {
		p.call(false)
		return false
	}
	src := p.i
	n := &ast.Name{Parts: p.dotted("an expression")}
	if p.op(".") {
		p.i++
		if p.op("*") {
			p.failAt(p.tok(), CodeSyntax, "", "%s.* can only stand alone in a SELECT list", n.Parts[len(n.Parts)-1].Name)
		}
		p.unexpected("a name")
	}
	n.Span = p.spanFrom(src)
	p.leaf(n, src)
	return true
}

// ---- intervals

var intervalUnits = wordSet(`YEAR QUARTER MONTH WEEK DAY HOUR MINUTE SECOND`)

// interval parses INTERVAL [sign] 'text' qualifier.
func (p *parser) interval() *ast.Interval {
	src := p.i
	p.i++
	x := &ast.Interval{}
	p.intervalSign(x)
	p.intervalLiteral(x)
	x.Qualifier = p.intervalQualifier()
	x.Span = p.spanFrom(src)
	return x
}

func (p *parser) intervalSign(x *ast.Interval) {
	if p.acceptOp("-") {
		x.Negative = true
	} else {
		p.acceptOp("+")
	}
}

func (p *parser) intervalLiteral(x *ast.Interval) {
	t := p.tok()
	if t.kind == tokNumber {
		if _, ok := parseInt(t.text); !ok {
			p.failAt(t, CodeSyntax, "write INTERVAL '"+t.text+"' "+p.peek(1).text, "an interval that is no whole number is written as a string")
		}
		p.i++
		x.Value = t.text
		return
	}
	x.Value = p.stringLit("the interval's value as a string").Value
}

// intervalOperand rewrites an interval in an expression, where its value may also
// be a name, a call or something in parentheses.
func (p *parser) intervalOperand() {
	src := p.i
	p.i++
	x := &ast.Interval{}
	p.intervalSign(x)
	if p.tok().kind == tokString || p.tok().kind == tokNumber || !p.isName(0) && !p.op("(") {
		p.intervalLiteral(x)
		x.Qualifier = p.intervalQualifier()
		x.Span = p.spanFrom(src)
		p.leaf(x, src)
		return
	}
	p.emitSlot(mysql.Fn(func(args []mysql.Arg) ast.Expr {
		x.X = args[0].X
		return x
	}), src)
	p.emit("(", src)
	p.primary()
	p.emit(")", p.i-1)
	x.Qualifier = p.intervalQualifier()
	if x.Qualifier.To != "" {
		p.failAt(p.prev(), CodeValue, "", "an interval %s TO %s takes its value as a string", x.Qualifier.From, x.Qualifier.To)
	}
	x.Span = p.spanFrom(src)
}

func (p *parser) intervalQualifier() ast.IntervalQualifier {
	src := p.i
	q := ast.IntervalQualifier{FromPrecision: -1, FromFraction: -1, ToPrecision: -1}
	unit := func() string {
		t := p.tok()
		w := t.up
		if !intervalUnits[w] {
			if w = strings.TrimSuffix(w, "S"); !intervalUnits[w] {
				for _, u := range []string{"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"} {
					p.want(u)
				}
				p.unexpected("a time unit")
			}
		}
		p.i++
		return w
	}
	q.From = unit()
	if p.op("(") {
		p.i++
		q.FromPrecision = p.smallInt("a precision")
		if q.From == "SECOND" && p.acceptOp(",") {
			q.FromFraction = p.smallInt("a precision")
		}
		p.expectOp(")")
	}
	if p.is("TO") {
		p.i++
		at := p.tok()
		q.To = unit()
		if !intervalRange(q.From, q.To) {
			p.failAt(at, CodeValue, "", "there is no interval %s TO %s", q.From, q.To)
		}
		if q.To == "SECOND" && p.op("(") {
			p.i++
			q.ToPrecision = p.smallInt("a precision")
			p.expectOp(")")
		}
	}
	q.Span = p.spanFrom(src)
	return q
}

func intervalRange(from, to string) bool {
	switch from {
	case "YEAR":
		return to == "MONTH"
	case "DAY":
		return to == "HOUR" || to == "MINUTE" || to == "SECOND"
	case "HOUR":
		return to == "MINUTE" || to == "SECOND"
	case "MINUTE":
		return to == "SECOND"
	}
	return false
}
