package parser

import "github.com/weir-sql/weir/parser/ast"

// matchRecognize parses MATCH_RECOGNIZE ( .. ) [AS alias] behind its input. Its
// clauses are parsed by hand, their expressions as any other.
func (p *parser) matchRecognize(input ast.TableRef, src int) *ast.MatchRecognize {
	p.i++
	m := &ast.MatchRecognize{Input: input}
	p.expectOp("(")
	if p.accept("PARTITION") {
		p.expect("BY")
		m.PartitionBy = p.expressions()
	}
	if p.accept("ORDER") {
		p.expect("BY")
		m.OrderBy = p.orderItems()
	}
	if p.accept("MEASURES") {
		for {
			m.Measures = append(m.Measures, p.measure())
			if !p.acceptOp(",") {
				break
			}
		}
	}
	if p.accept("ONE") {
		p.expect("ROW", "PER", "MATCH")
	} else if p.accept("ALL") {
		p.expect("ROWS", "PER", "MATCH")
		m.AllRows = true
	}
	if p.accept("AFTER") {
		m.After = p.afterMatch()
	}
	p.expect("PATTERN")
	p.expectOp("(")
	m.StrictStart = p.acceptOp("^")
	m.Pattern = p.pattern()
	m.StrictEnd = p.acceptOp("$")
	p.expectOp(")")
	if p.accept("WITHIN") {
		if !p.kw("INTERVAL") {
			p.unexpected("")
		}
		m.Within = p.interval()
	}
	if p.accept("SUBSET") {
		for {
			at := p.i
			s := ast.Subset{Name: p.identFor("the name of a subset")}
			p.expectOp("=")
			s.Variables = p.identList("a pattern variable")
			s.Span = p.spanFrom(at)
			m.Subsets = append(m.Subsets, s)
			if !p.acceptOp(",") {
				break
			}
		}
	}
	p.expect("DEFINE")
	for {
		at := p.i
		d := ast.Define{Variable: p.identFor("a pattern variable")}
		p.expect("AS")
		if p.is("RUNNING") && p.peek(1).kind == tokIdent && p.opAt(2, "(") {
			p.i++ // what every function in DEFINE is
		}
		d.Cond = p.expression()
		d.Span = p.spanFrom(at)
		m.Defines = append(m.Defines, d)
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")")
	m.Alias = p.tableAlias()
	m.Span = p.spanFrom(src)
	return m
}

func (p *parser) expressions() []ast.Expr {
	var out []ast.Expr
	for {
		out = append(out, p.expression())
		if !p.acceptOp(",") {
			return out
		}
	}
}

// orderItems parses an ORDER BY list outside of a query's rewriting.
func (p *parser) orderItems() []ast.OrderItem {
	var out []ast.OrderItem
	for {
		at := p.i
		o := ast.OrderItem{X: p.expression()}
		o.Desc, o.Nulls = p.direction()
		o.Span = p.spanFrom(at)
		out = append(out, o)
		if !p.acceptOp(",") {
			return out
		}
	}
}

func (p *parser) measure() ast.Measure {
	at := p.i
	var m ast.Measure
	// FINAL and RUNNING may also be names of columns.
	if (p.is("FINAL") || p.is("RUNNING")) && (p.peek(1).kind == tokIdent || p.peek(1).kind == tokQuoted) && !p.is(p.tok().up, "AS") {
		m.Semantics = p.tok().up
		p.i++
	}
	m.X = p.expression()
	p.expect("AS")
	m.Alias = p.identFor("the name of a measure")
	m.Span = p.spanFrom(at)
	return m
}

func (p *parser) afterMatch() *ast.AfterMatch {
	at := p.i - 1
	a := &ast.AfterMatch{}
	p.expect("MATCH", "SKIP")
	switch {
	case p.accept("PAST"):
		p.expect("LAST", "ROW")
		a.Kind = "PAST LAST ROW"
	case p.accept("TO"):
		switch {
		case p.is("NEXT", "ROW"):
			p.i += 2
			a.Kind = "TO NEXT ROW"
		case p.accept("FIRST"):
			a.Kind = "TO FIRST"
		default: // TO v is TO LAST v
			p.accept("LAST")
			a.Kind = "TO LAST"
		}
		if a.Kind != "TO NEXT ROW" {
			p.want("NEXT ROW")
			id := p.identFor("a pattern variable")
			a.Variable = &id
		}
	default:
		p.unexpected("")
	}
	a.Span = p.spanFrom(at)
	return a
}

// pattern parses alternatives.
func (p *parser) pattern() ast.Pattern {
	defer p.enter()()
	at := p.i
	items := []ast.Pattern{p.patternConcat()}
	for p.acceptOp("|") {
		items = append(items, p.patternConcat())
	}
	if len(items) == 1 {
		return items[0]
	}
	return &ast.PatternAlt{Span: p.spanFrom(at), Items: items}
}

func (p *parser) patternConcat() ast.Pattern {
	at := p.i
	var items []ast.Pattern
	for p.isName(0) || p.op("(") || p.op("{") {
		items = append(items, p.patternFactor())
	}
	switch len(items) {
	case 0:
		if p.i > 0 && p.op(")") && p.prev().text == "(" {
			return &ast.PatternConcat{Span: p.spanFrom(at)}
		}
		p.unexpected("a pattern variable")
	case 1:
		return items[0]
	}
	return &ast.PatternConcat{Span: p.spanFrom(at), Items: items}
}

func (p *parser) patternFactor() ast.Pattern {
	at := p.i
	var x ast.Pattern
	switch {
	case p.acceptOp("("):
		x = p.pattern()
		p.expectOp(")")
	case p.op("{"):
		p.i++
		p.expectOp("-")
		in := p.pattern()
		p.expectOp("-")
		p.expectOp("}")
		x = &ast.PatternExclude{Span: p.spanFrom(at), X: in}
	case p.is("PERMUTE") && p.opAt(1, "("):
		p.i += 2
		pm := &ast.PatternPermute{}
		for {
			pm.Items = append(pm.Items, p.pattern())
			if !p.acceptOp(",") {
				break
			}
		}
		p.expectOp(")")
		pm.Span = p.spanFrom(at)
		x = pm
	default:
		id := p.identFor("a pattern variable")
		x = &ast.PatternVar{Span: id.Span, Name: id}
	}
	q := &ast.PatternQuant{X: x, Max: -1}
	switch {
	case p.acceptOp("*"):
	case p.acceptOp("+"):
		q.Min = 1
	case p.acceptOp("?"):
		q.Max = 1
	case p.op("{") && !p.opAt(1, "-"):
		p.i++
		p.patternRange(q)
	default:
		return x
	}
	q.Reluctant = p.acceptOp("?")
	q.Span = p.spanFrom(at)
	return q
}

// patternRange parses n}, n,}, ,m} or n,m}.
func (p *parser) patternRange(q *ast.PatternQuant) {
	t := p.tok()
	if p.acceptOp(",") {
		q.Max = p.smallInt("a repetition count")
		p.expectOp("}")
		return
	}
	q.Min = p.smallInt("a repetition count")
	if p.acceptOp(",") {
		if !p.op("}") {
			q.Max = p.smallInt("a repetition count")
		}
	} else {
		q.Max = q.Min
	}
	p.expectOp("}")
	if q.Max == 0 || q.Max > 0 && q.Max < q.Min {
		p.failAt(t, CodeValue, "", "a pattern cannot repeat %d to %d times", q.Min, q.Max)
	}
}
