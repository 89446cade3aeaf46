package parser

import (
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/parser/internal/mysql"
)

// openJoin is a join whose ON has not come yet.
type openJoin struct {
	src  int
	full bool
}

// from rewrites table references up to the next clause.
//
// Each join gets a condition that carries what MySQL cannot say: ON `#n`(c), or
// USING (`#n`) for USING, NATURAL and CROSS. Only a comma has none.
func (p *parser) from() {
	p.joins(false)
}

// joins rewrites what from does; inside parentheses it notes what Flink has not.
func (p *parser) joins(parens bool) {
	var open []openJoin
	p.tableFactor()
	for n := 1; ; n++ {
		if n > maxJoins {
			p.failAt(p.tok(), CodeLimit, "", "FROM has at most %d tables", maxJoins)
		}
		switch {
		case len(open) > 0 && p.kw("ON"):
			j := open[len(open)-1]
			open = open[:len(open)-1]
			on := &mysql.On{Full: j.full}
			p.emit("ON", p.i)
			p.i++
			p.emitSlot(on, p.i-1)
			p.emit("(", p.i-1)
			p.expr()
			p.emit(")", p.i-1)
			on.Stop = p.prev().end
			continue
		case len(open) > 0 && p.kw("USING"):
			// USING belongs to the join just read; one that waits for its ON longer
			// than that cannot have it.
			p.unexpected("ON")
		case len(open) == 0 && p.acceptOp(","):
			if t := p.prev(); parens {
				p.note(t.pos, t.end, t.weir, ast.ExtSyntax, " CROSS JOIN")
			}
			p.emit(",", p.i-1)
			p.tableFactor()
			continue
		}
		j, ok := p.joinWords()
		if !ok {
			break
		}
		if len(open) > 0 { // a JOIN b JOIN c ON .. ON ..
			t := &p.toks[j.src]
			p.note(t.pos, p.prev().end, t.weir, ast.ExtSyntax, "")
		}
		p.emit(j.emit, j.src)
		p.tableFactor()
		u := &mysql.Using{Full: j.full, Natural: j.natural}
		var cond mysql.Slot = u
		switch {
		case j.cross:
			cond = ast.CrossJoin
		case j.natural:
		case p.accept("USING"):
			u.Columns = p.identList("a column name")
		default:
			open = append(open, openJoin{j.src, j.full})
			continue
		}
		u.Stop = p.prev().end
		p.emit("USING (", j.src)
		p.emitSlot(cond, j.src)
		p.emit(")", j.src)
	}
	if len(open) > 0 {
		p.expectedAt = -1 // the words of other clauses do not help here
		p.want("ON")
		p.want("USING")
		p.unexpected("")
	}
}

type joinWords struct {
	src                  int
	emit                 string // what MySQL reads
	natural, cross, full bool
}

// joinWords takes the words of a join, up to JOIN.
func (p *parser) joinWords() (j joinWords, ok bool) {
	j.src = p.i
	t := p.tok()
	j.natural = p.accept("NATURAL")
	j.emit = "JOIN"
	switch {
	case p.accept("JOIN"):
		return j, true
	case p.accept("INNER"):
	case p.kw("LEFT"), p.kw("RIGHT"), p.kw("FULL"):
		j.emit = p.tok().up + " JOIN"
		if j.full = p.is("FULL"); j.full {
			j.emit = "LEFT JOIN"
		}
		p.i++
		if p.is("SEMI") || p.is("ANTI") {
			p.notSupported(p.tok(), t.up+" "+p.tok().up+" JOIN", "use IN or EXISTS, with NOT for an anti join")
		}
		p.accept("OUTER")
	case !j.natural && p.accept("CROSS"):
		if p.is("APPLY") {
			p.notSupported(p.tok(), "CROSS APPLY", "use CROSS JOIN LATERAL TABLE(f(..))")
		}
		j.cross = true
	case p.is("OUTER", "APPLY"):
		p.notSupported(t, "OUTER APPLY", "use LEFT JOIN LATERAL TABLE(f(..)) ON TRUE")
	case p.is("ASOF", "JOIN"):
		p.notSupported(t, "ASOF JOIN", "use JOIN t FOR SYSTEM_TIME AS OF ..")
	case j.natural:
		p.unexpected("")
	default:
		return j, false
	}
	p.expect("JOIN")
	return j, true
}

// tableFactor rewrites one table reference with its alias.
func (p *parser) tableFactor() {
	defer p.enter()()
	src := p.i
	lateral := p.accept("LATERAL")
	switch {
	case p.op("("):
		if p.isQuery(p.i + 1) {
			p.derivedTable(src, lateral)
			return
		}
		if lateral {
			p.i++
			p.unexpected("a query")
		}
		p.emit("(", p.i)
		p.i++
		p.joins(true)
		p.expectOp(")")
		p.emit(")", p.i-1)
	case p.is("UNNEST"):
		p.unnest(src, lateral)
	case p.is("TABLE"):
		p.tableFunction(src, lateral)
	case lateral:
		p.want("TABLE")
		p.want("'('")
		if p.isName(0) && !p.isCall() {
			p.unexpected("")
		}
		at := p.i
		p.tableFunction(src, lateral)
		t := &p.toks[at]
		p.note(t.pos, t.end, t.weir, ast.ExtSyntax, "TABLE("+t.text+"..)")
	case p.isString():
		f := &ast.FileTable{Path: p.stringLit("a file")}
		p.noteFile(p.prev())
		f.Hints = p.hints()
		f.Span = p.spanFrom(src)
		p.tableOrMatch(f, src, &f.Alias, &f.Span)
	case p.isName(0) && p.isCall():
		p.tableFunction(src, false)
	default:
		t := &ast.Table{Name: p.objectName("a table")}
		t.Hints = p.hints()
		if p.accept("FOR") {
			p.expect("SYSTEM_TIME", "AS", "OF")
			t.AsOf = p.expression()
		}
		t.Span = p.spanFrom(src)
		p.tableOrMatch(t, src, &t.Alias, &t.Span)
	}
}

func (p *parser) noteFile(t *token) {
	p.note(t.pos, t.end, t.weir, ast.ExtFileTable, "")
}

// isCall reports whether name( or a.b.name( begins here.
func (p *parser) isCall() bool {
	j := 0
	for p.opAt(j+1, ".") && (p.peek(j+2).kind == tokIdent || p.peek(j+2).kind == tokQuoted) {
		j += 2
	}
	return p.opAt(j+1, "(")
}

// tableOrMatch emits a table that is a single slot: with MATCH_RECOGNIZE around
// it, or with its alias.
func (p *parser) tableOrMatch(t ast.TableRef, src int, alias **ast.TableAlias, span *ast.Span) {
	if p.kw("MATCH_RECOGNIZE") {
		p.emitSlot(ast.TableRef(p.matchRecognize(t, src)), src)
		return
	}
	p.refuseTableSuffix()
	*alias = p.tableAlias()
	*span = p.spanFrom(src)
	p.emitSlot(t, src)
}

// refuseTableSuffix names what other dialects write behind a table.
func (p *parser) refuseTableSuffix() {
	t := p.tok()
	switch {
	case p.is("TABLESAMPLE"):
		p.notSupported(t, "TABLESAMPLE", "")
	case (p.is("PIVOT") || p.is("UNPIVOT")) && p.opAt(1, "("):
		p.notSupported(t, t.up, "")
	case p.is("FINAL") && p.peek(1).kind != tokOp:
		p.notSupported(t, "FINAL", "")
	}
}

// tableAlias takes [AS] name [(column, ...)]; nil: there is none.
func (p *parser) tableAlias() *ast.TableAlias {
	src := p.i
	if !p.accept("AS") {
		if !p.isName(0) {
			return nil
		}
		p.aliasAt = p.i
	}
	a := &ast.TableAlias{Name: p.identFor("a table alias")}
	if p.op("(") {
		a.Columns = p.identList("a column name")
	}
	a.Span = p.spanFrom(src)
	return a
}

func (p *parser) derivedTable(src int, lateral bool) {
	if m := p.match[p.i]; m >= 0 && p.toks[m+1].up == "MATCH_RECOGNIZE" {
		p.i++
		q := p.fullQuery()
		p.expectOp(")")
		d := &ast.DerivedTable{Span: p.spanFrom(src), Lateral: lateral, Query: q}
		p.emitSlot(ast.TableRef(p.matchRecognize(d, src)), src)
		return
	}
	p.parenQuery()
	d := &mysql.Derived{Lateral: lateral, Alias: p.tableAlias(), Span: p.spanFrom(src)}
	p.emit("AS", src)
	p.emitSlot(d, src)
}

func (p *parser) unnest(src int, lateral bool) {
	p.i++
	u := &ast.Unnest{Lateral: lateral}
	p.expectOp("(")
	for {
		u.Args = append(u.Args, p.expression())
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")")
	if p.accept("WITH") {
		p.expect("ORDINALITY")
		u.WithOrdinality = true
	}
	u.Alias = p.tableAlias()
	u.Span = p.spanFrom(src)
	p.emitSlot(u, src)
}

// tableFunction rewrites f(..) or TABLE(f(..)) in FROM.
func (p *parser) tableFunction(src int, lateral bool) {
	f := &ast.TableFunction{Lateral: lateral}
	if p.is("TABLE") {
		p.i++
		p.expectOp("(")
		f.Wrapped = true
		if p.isQuery(p.i) {
			p.failAt(p.tok(), CodeSyntax, "write (SELECT ..) without TABLE", "TABLE( ) takes a function, not a query")
		}
		if !p.isName(0) || !p.isCall() {
			if p.isName(0) {
				p.dotted("a table function")
				p.want("'('")
				p.unexpected("")
			}
			p.unexpected("a table function")
		}
	}
	x, _, err := mysql.Expr(p.apart(func() { p.call(true) }), p.slots, p)
	p.libraryError(err)
	call, ok := x.(*ast.Call)
	if !ok {
		p.failAt(&p.toks[src], CodeSyntax, "", "%s is no table function", show(&p.toks[src]))
	}
	f.Call = call
	if f.Wrapped {
		p.expectOp(")")
	}
	f.Span = p.spanFrom(src)
	p.tableOrMatch(f, src, &f.Alias, &f.Span)
}
