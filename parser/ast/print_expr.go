package ast

import "strings"

// Levels of precedence, loosest first.
const (
	levelOr = iota + 1
	levelAnd
	levelNot
	levelCompare // = < IS; left to right
	levelPredicate
	levelAdd
	levelMul
	levelSign
	levelPrimary
)

func level(x Expr) int {
	switch x := x.(type) {
	case *Binary:
		switch x.Op {
		case "OR":
			return levelOr
		case "AND":
			return levelAnd
		case "+", "-":
			return levelAdd
		case "*", "/", "%", "||":
			return levelMul
		}
		return levelCompare
	case *Unary:
		if x.Op == "NOT" {
			return levelNot
		}
		return levelSign
	case *Quantified, *Is, *IsDistinctFrom, *IsJSON:
		return levelCompare
	case *Between, *InList, *InSubquery, *Like:
		return levelPredicate
	}
	return levelPrimary
}

func (p *printer) exprs(xs []Expr) {
	list(p, xs, func(x Expr) { p.expr(x, 0) })
}

func (p *printer) subquery(q *Query) {
	p.w("(")
	p.query(q)
	p.w(")")
}

// expr writes an expression, in parentheses if it is looser than min.
func (p *printer) expr(x Expr, min int) {
	if level(x) < min {
		p.w("(")
		p.bare(x)
		p.w(")")
		return
	}
	p.bare(x)
}

func (p *printer) not(not bool) { p.flag(not, "NOT ") }

func (p *printer) bare(x Expr) {
	switch x := x.(type) {
	case *Name:
		p.path(x.Parts)
	case *Star:
		p.path(x.Qualifier)
		p.flag(len(x.Qualifier) > 0, ".")
		p.w("*")
	case *Literal:
		p.literal(x)
	case *Interval:
		p.w("INTERVAL ")
		p.flag(x.Negative, "-")
		if x.X != nil {
			p.intervalValue(x.X)
		} else {
			p.str(x.Value)
		}
		p.w(" ")
		p.qualifier(x.Qualifier)
	case *Default:
		p.w("DEFAULT")
	case *Unary:
		p.unary(x)
	case *Binary:
		p.binary(x)
	case *Quantified:
		p.expr(x.X, levelCompare)
		p.w(" ", x.Op, " ", x.Quantifier, " (")
		if x.Query != nil {
			p.query(x.Query)
		} else {
			p.exprs(x.List)
		}
		p.w(")")
	case *Call:
		p.call(x)
	case *NamedArg:
		p.w(QuoteIdent(x.Name.Name), " => ")
		p.expr(x.Value, 0)
	case *TableArg:
		p.tableArg(x)
	case *ModelArg:
		p.w("MODEL ")
		p.name(x.Name)
	case *Descriptor:
		p.w("DESCRIPTOR")
		p.idents(x.Columns)
	case *TimeUnit:
		p.w(x.Unit)
	case *Extract:
		p.w("EXTRACT(", x.Unit, " FROM ")
		p.expr(x.X, 0)
		p.w(")")
	case *Trim:
		p.w("TRIM(", x.Mode, " ")
		if x.Chars != nil {
			p.expr(x.Chars, 0)
			p.w(" ")
		}
		p.w("FROM ")
		p.expr(x.X, 0)
		p.w(")")
	case *Cast:
		p.flag(x.Try, "TRY_")
		p.w("CAST(")
		p.expr(x.X, 0)
		p.w(" AS ")
		p.typeName(x.Type)
		p.w(")")
	case *Case:
		p.w("CASE ")
		if x.Operand != nil {
			p.expr(x.Operand, 0)
			p.w(" ")
		}
		for _, w := range x.Whens {
			p.w("WHEN ")
			p.expr(w.Cond, 0)
			p.w(" THEN ")
			p.expr(w.Result, 0)
			p.w(" ")
		}
		if x.Else != nil {
			p.w("ELSE ")
			p.expr(x.Else, 0)
			p.w(" ")
		}
		p.w("END")
	case *Between:
		p.expr(x.X, levelAdd)
		p.w(" ")
		p.not(x.Not)
		p.w("BETWEEN ")
		p.flag(x.Symmetric, "SYMMETRIC ")
		p.expr(x.Low, levelAdd)
		p.w(" AND ")
		p.expr(x.High, levelAdd)
	case *InList:
		p.expr(x.X, levelAdd)
		p.w(" ")
		p.not(x.Not)
		p.w("IN (")
		p.exprs(x.List)
		p.w(")")
	case *InSubquery:
		p.expr(x.X, levelAdd)
		p.w(" ")
		p.not(x.Not)
		p.w("IN ")
		p.subquery(x.Query)
	case *Exists:
		p.w("EXISTS ")
		p.subquery(x.Query)
	case *Subquery:
		p.subquery(x.Query)
	case *Like:
		p.expr(x.X, levelAdd)
		p.w(" ")
		p.not(x.Not)
		if x.Similar {
			p.w("SIMILAR TO ")
		} else {
			p.w("LIKE ")
		}
		p.expr(x.Pattern, levelAdd)
		if x.Escape != nil {
			p.w(" ESCAPE ")
			p.str(x.Escape.Value)
		}
	case *Is:
		p.expr(x.X, levelCompare)
		p.w(" IS ")
		p.not(x.Not)
		p.w(string(x.Kind))
	case *IsDistinctFrom:
		p.expr(x.L, levelCompare)
		p.w(" IS ")
		p.not(x.Not)
		p.w("DISTINCT FROM ")
		p.expr(x.R, levelPredicate)
	case *IsJSON:
		p.expr(x.X, levelCompare)
		p.w(" IS ")
		p.not(x.Not)
		p.w("JSON")
		p.flag(x.Kind != "", " "+x.Kind)
	case *IntervalDiff:
		p.w("(")
		p.expr(&Binary{Op: "-", L: x.L, R: x.R}, 0)
		p.w(") ")
		p.qualifier(x.Qualifier)
	case *Subscript:
		p.base(x.X, false)
		p.w("[")
		p.expr(x.Index, 0)
		p.w("]")
	case *FieldAccess:
		p.base(x.X, true)
		p.w(".")
		p.ident(x.Field)
	case *ArrayCons:
		p.constructor("ARRAY", x.Elems)
	case *MapCons:
		p.constructor("MAP", x.Elems)
	case *MultisetCons:
		p.constructor("MULTISET", x.Elems)
	case *RowCons:
		p.flag(x.Explicit, "ROW")
		p.w("(")
		p.exprs(x.Elems)
		p.w(")")
	case *Grouping:
		if x.Kind != GroupingSet {
			p.w(string(x.Kind), " ")
		}
		p.w("(")
		p.exprs(x.Items)
		p.w(")")
	}
}

// intervalValue writes an expression as an interval's value: a name, or anything
// in parentheses.
func (p *printer) intervalValue(x Expr) {
	if _, ok := x.(*Name); ok {
		p.bare(x)
		return
	}
	p.w("(")
	p.bare(x)
	p.w(")")
}

func (p *printer) constructor(word string, elems []Expr) {
	p.w(word, "[")
	p.exprs(elems)
	p.w("]")
}

// base writes what a subscript or a field is taken of. field: a name needs
// parentheses, or the field would become a part of it.
func (p *printer) base(x Expr, field bool) {
	switch n := x.(type) {
	case *Name:
		if !field {
			p.bare(x)
			return
		}
	case *Call:
		if n.Over == nil && !n.NoParens {
			p.bare(x)
			return
		}
	case *Subscript, *IntervalDiff, *FieldAccess, *ArrayCons, *MapCons, *MultisetCons, *Cast:
		p.bare(x)
		return
	}
	p.w("(")
	p.bare(x)
	p.w(")")
}

func (p *printer) literal(l *Literal) {
	switch l.Kind {
	case StringKind:
		p.str(l.Value)
	case BinaryLit:
		p.w("X'", l.Value, "'")
	case DateLit, TimeLit, TimestampLit:
		p.w(strings.ToUpper(string(l.Kind)), " ")
		p.str(l.Value)
	case TimestampLTZLit:
		p.w("TIMESTAMP WITH LOCAL TIME ZONE ")
		p.str(l.Value)
	default:
		p.w(l.Value)
	}
}

func (p *printer) unary(x *Unary) {
	if x.Op == "NOT" {
		p.w("NOT ")
		p.expr(x.X, levelNot)
		return
	}
	p.w(x.Op)
	// Two signs in a row would begin a comment.
	if u, ok := x.X.(*Unary); ok && u.Op != "NOT" {
		p.w(" ")
	}
	p.expr(x.X, levelSign)
}

func (p *printer) binary(x *Binary) {
	l := level(x)
	left, right := l, l+1
	p.expr(x.L, left)
	p.w(" ", x.Op, " ")
	if _, row := x.R.(*RowCons); x.Op == "OVERLAPS" && !row {
		p.w("(")
		p.expr(x.R, 0)
		p.w(")")
		return
	}
	p.expr(x.R, right)
}

func (p *printer) call(c *Call) {
	for i, id := range c.Name.Parts {
		p.flag(i > 0, ".")
		if !id.Quoted && plainWord(id.Name) {
			p.w(id.Name) // reserved words name functions too
		} else {
			p.w("`" + strings.ReplaceAll(id.Name, "`", "``") + "`")
		}
	}
	if c.NoParens {
		return
	}
	p.w("(")
	p.flag(c.Distinct, "DISTINCT ")
	p.flag(c.Star, "*")
	p.args(c)
	if c.JSON != nil {
		p.json(c.JSON)
	}
	p.w(")")
	if c.WithinGroup != nil {
		p.w(" WITHIN GROUP (ORDER BY ")
		list(p, c.WithinGroup, p.orderItem)
		p.w(")")
	}
	if c.Filter != nil {
		p.w(" FILTER (WHERE ")
		p.expr(c.Filter, 0)
		p.w(")")
	}
	if c.NullTreatment != "" {
		p.w(" ", c.NullTreatment, " NULLS")
	}
	if c.Over != nil {
		p.w(" OVER ")
		if c.Over.Name != nil {
			p.ident(*c.Over.Name)
		} else {
			p.windowSpec(c.Over.Spec)
		}
	}
}

// args writes the arguments of a call in the function's own syntax.
func (p *printer) args(c *Call) {
	up := ""
	if len(c.Name.Parts) == 1 && !c.Name.Parts[0].Quoted {
		up = strings.ToUpper(c.Name.Parts[0].Name)
	}
	var words []string
	switch up {
	case "POSITION":
		words = []string{" IN ", " FROM "}
	case "OVERLAY":
		words = []string{" PLACING ", " FROM ", " FOR "}
	case "CEIL", "CEILING", "FLOOR":
		if len(c.Args) == 2 {
			if _, ok := c.Args[1].(*TimeUnit); ok {
				words = []string{" TO "}
			}
		}
	case "JSON_OBJECT", "JSON_OBJECTAGG":
		for i, a := range c.Args {
			switch {
			case i%2 == 1:
				p.w(" VALUE ")
			case i > 0:
				p.w(", KEY ")
			default:
				p.w("KEY ")
			}
			if i%2 == 0 {
				p.expr(a, levelPrimary)
			} else {
				p.expr(a, 0)
			}
		}
		return
	}
	for i, a := range c.Args {
		switch {
		case i == 0:
		case i <= len(words):
			p.w(words[i-1])
		default:
			p.w(", ")
		}
		if words != nil {
			p.expr(a, levelAdd)
		} else {
			p.expr(a, 0)
		}
	}
}

func (p *printer) json(j *JSONClauses) {
	if j.Returning != nil {
		p.w(" RETURNING ")
		p.typeName(j.Returning)
	}
	if j.Wrapper != "" {
		p.w(" ", j.Wrapper, " WRAPPER")
	}
	behavior := func(b *JSONBehavior, on string) {
		if b == nil {
			return
		}
		p.w(" ", b.Kind, " ")
		if b.Default != nil {
			p.expr(b.Default, 0)
			p.w(" ")
		}
		p.w("ON ", on)
	}
	behavior(j.OnEmpty, "EMPTY")
	behavior(j.OnError, "ERROR")
	if j.OnNull != "" {
		p.w(" ", j.OnNull, " ON NULL")
	}
}

func (p *printer) tableArg(a *TableArg) {
	switch {
	case a.Table != nil:
		p.w("TABLE ")
		p.name(*a.Table)
	case a.File != nil:
		p.w("TABLE ")
		p.str(a.File.Value)
	case a.Query != nil:
		p.subquery(a.Query)
	}
	p.hints(a.Hints, " ", "")
	if a.PartitionBy != nil {
		p.w(" PARTITION BY (")
		p.exprs(a.PartitionBy)
		p.w(")")
	}
	if a.OrderBy != nil {
		p.w(" ORDER BY (")
		list(p, a.OrderBy, p.orderItem)
		p.w(")")
	}
}
