package parser

import (
	"strings"

	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/parser/internal/mysql"
)

// leaf emits an operand that is a single slot.
func (p *parser) leaf(x ast.Expr, src int) { p.emitSlot(x, src) }

// primary rewrites one operand with its subscripts and fields. diff: it may be
// the difference (a - b) DAY.
func (p *parser) primary(diff bool) {
	at, paren := len(p.out), p.op("(")
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
		case diff && paren && n == 0 && p.tok().kind == tokIdent && intervalUnits[p.tok().up]:
			p.intervalDiff(at)
			return
		default:
			return
		}
		stop = p.prev().end
	}
}

// periodOps are the standard's comparisons of periods, but for OVERLAPS.
var periodOps = wordSet(`CONTAINS OVERLAPS EQUALS PRECEDES SUCCEEDS IMMEDIATELY`)

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
		case "?":
			lit(ast.ParameterLit, t.text, 1)
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
			if p.is("TIMESTAMP", "WITH", "LOCAL", "TIME", "ZONE") && p.peek(5).kind == tokString {
				lit(ast.TimestampLTZLit, p.peek(5).text, 6)
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
		case "UNIQUE", "CURSOR":
			if p.opAt(1, "(") && p.isQuery(p.i+2) {
				p.notSupported(t, t.up+" of a query", "")
			}
		case "NEXT", "CURRENT":
			if p.is(t.up, "VALUE", "FOR") {
				p.notSupported(t, t.up+" VALUE FOR a sequence", "")
			}
		case "PERIOD":
			if p.opAt(1, "(") && p.match[p.i+1] >= 0 {
				if w := p.toks[p.match[p.i+1]+1].up; periodOps[w] {
					p.notSupported(t, "PERIOD", "use (a, b) OVERLAPS (c, d), or comparisons")
				}
			}
		case "RUNNING", "FINAL":
			if p.peek(1).kind == tokIdent && p.opAt(2, "(") && !reserved[p.peek(1).up] {
				p.notSupported(t, t.up+" inside an expression", "it may stand before a whole measure")
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
		p.expectOp("}")
		span := p.spanFrom(src)
		p.leaf(&ast.Literal{Span: span, Kind: kinds[word], Value: v, Text: p.text[span.Start.Offset:span.Stop]}, src)
		return true
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
	p.exprList()
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
