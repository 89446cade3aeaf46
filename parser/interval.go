package parser

import (
	"strings"

	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/parser/internal/mysql"
)

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
	p.primary(false)
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

// intervalDiff puts the qualifier of (a - b) DAY around the operand that began at the piece at.
func (p *parser) intervalDiff(at int) {
	unit, src := p.tok(), p.i
	open := src - 1
	for depth := 0; ; open-- {
		if p.toks[open].kind == tokOp && p.toks[open].text == ")" {
			depth++
		} else if p.toks[open].kind == tokOp && p.toks[open].text == "(" {
			if depth--; depth == 0 {
				break
			}
		}
	}
	q := p.intervalQualifier()
	span := p.spanFrom(open)
	p.insert(at, src, p.slot(mysql.Fn(func(args []mysql.Arg) ast.Expr {
		d, ok := args[0].X.(*ast.Binary)
		if !ok || d.Op != "-" {
			panic(&mysql.Error{Src: src, Msg: "a time unit stands only behind a difference of two times: (a - b) " + unit.up, Hint: "write AS before a name for the column"})
		}
		return &ast.IntervalDiff{Span: span, L: d.L, R: d.R, Qualifier: q}
	})), "(")
	p.emit(")", p.i-1)
}
