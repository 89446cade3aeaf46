package ast

import (
	"strconv"
	"strings"
)

// Print gives a node as SQL text that parses to the same tree. Keywords are in
// upper case; names are quoted where they have to be, in Flink too. CREATE TABLE
// has a line for each column and option; all else is one line.
func Print(n Node) string {
	var p printer
	p.node(n)
	return p.b.String()
}

// QuoteIdent gives a name as it must be written: with backticks if needed.
func QuoteIdent(name string) string {
	if plainWord(name) && !Reserved(name) && !contextual[strings.ToUpper(name)] {
		return name
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

// QuoteString gives a string literal.
func QuoteString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// contextual are words that Flink does not reserve, but that mean something else
// in some places where a name may stand.
var contextual = wordSet(`ABSENT CATALOG CENTURY DATABASE DAYS DECADE DOW DOY EPOCH ERROR FINAL FIRST HOURS IF IGNORE ISODOW ISOYEAR JOB KEY LAST
	MAP MICROSECOND MILLENNIUM MILLISECOND MINUTES MODEL MONTHS NANOSECOND PLAN QUARTER RESPECT RETURNING SCHEMA SECONDS SQL_TSI_DAY
	SQL_TSI_FRAC_SECOND SQL_TSI_HOUR SQL_TSI_MINUTE SQL_TSI_MONTH SQL_TSI_QUARTER SQL_TSI_SECOND SQL_TSI_WEEK SQL_TSI_YEAR SUBMULTISET
	WEEK YEARS ASOF COLUMN APPLY`)

func plainWord(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// printer writes nodes as text.
type printer struct{ b strings.Builder }

func (p *printer) w(ss ...string) {
	for _, s := range ss {
		p.b.WriteString(s)
	}
}

// flag writes the text when ok.
func (p *printer) flag(ok bool, s string) {
	if ok {
		p.w(s)
	}
}

func (p *printer) ident(i Ident) { p.w(QuoteIdent(i.Name)) }

func (p *printer) str(s string) { p.w(QuoteString(s)) }

func (p *printer) name(n ObjectName) { p.path(n.Parts) }

func (p *printer) path(parts []Ident) {
	for i, x := range parts {
		p.flag(i > 0, ".")
		p.ident(x)
	}
}

// list writes items with a comma between them.
func list[T any](p *printer, items []T, f func(T)) {
	for i, x := range items {
		p.flag(i > 0, ", ")
		f(x)
	}
}

func (p *printer) idents(ids []Ident) {
	p.w("(")
	list(p, ids, p.ident)
	p.w(")")
}

// node writes any node.
func (p *printer) node(n Node) {
	switch n := n.(type) {
	case nil:
	case Statement:
		p.statement(n)
	case *Query:
		p.query(n)
	case QueryBody:
		p.body(n)
	case TableRef:
		p.tableRef(n)
	case Expr:
		p.expr(n, 0)
	case Pattern:
		p.pattern(n)
	case AlterAction:
		p.alterAction(n)
	case *TypeName:
		p.typeName(n)
	case *ColumnDef:
		p.column(n)
	case *WatermarkDef:
		p.watermark(n)
	case *PrimaryKey:
		p.primaryKey(n)
	case *Ident:
		p.ident(*n)
	case *ObjectName:
		p.name(*n)
	case *OrderItem:
		p.orderItem(*n)
	case *SelectItem:
		p.selectItem(*n)
	case *WindowSpec:
		p.windowSpec(n)
	case *TableAlias:
		p.alias(n)
	case *Hint:
		p.hint(*n)
	case *Option:
		p.option(*n)
	case *StringLit:
		p.str(n.Value)
	default:
		p.w("/* ", strings.TrimPrefix(strings.SplitN(Dump(n), " ", 2)[0], "("), " */")
	}
}

// ---- queries

func (p *printer) query(q *Query) {
	if q.With != nil {
		p.w("WITH ")
		p.flag(q.With.Recursive, "RECURSIVE ")
		list(p, q.With.CTEs, func(c *CTE) {
			p.ident(c.Name)
			if c.Columns != nil {
				p.w(" ")
				p.idents(c.Columns)
			}
			p.w(" AS (")
			p.query(c.Query)
			p.w(")")
		})
		p.w(" ")
	}
	p.body(q.Body)
	if q.OrderBy != nil {
		p.w(" ORDER BY ")
		list(p, q.OrderBy, p.orderItem)
	}
	if q.Limit != nil {
		p.w(" LIMIT ", q.Limit.Value)
	}
	if q.Offset != nil {
		p.w(" OFFSET ", q.Offset.Value)
	}
}

func (p *printer) body(b QueryBody) {
	switch b := b.(type) {
	case *Query:
		p.w("(")
		p.query(b)
		p.w(")")
	case *Select:
		p.selectBlock(b)
	case *SetOp:
		p.operand(b.Left, setLevel(b))
		p.w(" ", b.Op)
		p.flag(b.All, " ALL")
		p.w(" ")
		p.operand(b.Right, setLevel(b)+1)
	case *Values:
		p.w("VALUES ")
		list(p, b.Rows, func(r ValuesRow) {
			p.w("(")
			p.exprs(r.Exprs)
			p.w(")")
		})
	}
}

// setLevel is the precedence of a set operation.
func setLevel(s *SetOp) int {
	if s.Op == "INTERSECT" {
		return 2
	}
	return 1
}

func (p *printer) operand(b QueryBody, level int) {
	if s, ok := b.(*SetOp); ok && setLevel(s) < level {
		p.w("(")
		p.body(b)
		p.w(")")
		return
	}
	p.body(b)
}

func (p *printer) selectBlock(s *Select) {
	p.w("SELECT ")
	p.hints(s.Hints, "", " ")
	p.flag(s.Distinct, "DISTINCT ")
	list(p, s.Items, p.selectItem)
	if s.From != nil {
		p.w(" FROM ")
		p.tableRef(s.From)
	}
	if s.Where != nil {
		p.w(" WHERE ")
		p.expr(s.Where, 0)
	}
	if s.GroupBy != nil {
		p.w(" GROUP BY ")
		p.flag(s.GroupByDistinct, "DISTINCT ")
		p.exprs(s.GroupBy)
	}
	if s.Having != nil {
		p.w(" HAVING ")
		p.expr(s.Having, 0)
	}
	if s.Windows != nil {
		p.w(" WINDOW ")
		list(p, s.Windows, func(n NamedWindow) {
			p.ident(n.Name)
			p.w(" AS ")
			p.windowSpec(n.Spec)
		})
	}
	if s.Qualify != nil {
		p.w(" QUALIFY ")
		p.expr(s.Qualify, 0)
	}
}

func (p *printer) selectItem(i SelectItem) {
	p.expr(i.X, 0)
	if i.Alias != nil {
		p.w(" AS ")
		p.ident(*i.Alias)
	}
}

func (p *printer) orderItem(o OrderItem) {
	p.expr(o.X, 0)
	p.flag(o.Desc, " DESC")
	if o.Nulls != "" {
		p.w(" NULLS ", o.Nulls)
	}
}

func (p *printer) windowSpec(s *WindowSpec) {
	sep := ""
	part := func(ss ...string) {
		p.w(sep)
		p.w(ss...)
		sep = " "
	}
	p.w("(")
	if s.Base != nil {
		part(QuoteIdent(s.Base.Name))
	}
	if s.PartitionBy != nil {
		part("PARTITION BY ")
		p.exprs(s.PartitionBy)
	}
	if s.OrderBy != nil {
		part("ORDER BY ")
		list(p, s.OrderBy, p.orderItem)
	}
	if f := s.Frame; f != nil {
		part(f.Unit, " ")
		if f.End != nil {
			p.w("BETWEEN ")
			p.bound(f.Start)
			p.w(" AND ")
			p.bound(*f.End)
		} else {
			p.bound(f.Start)
		}
	}
	p.w(")")
}

func (p *printer) bound(b FrameBound) {
	if b.Offset != nil {
		p.expr(b.Offset, levelPrimary)
		p.w(" ")
	}
	p.w(string(b.Kind))
}

// ---- tables

func (p *printer) tableRef(t TableRef) {
	switch t := t.(type) {
	case *Table:
		p.name(t.Name)
		p.hints(t.Hints, " ", "")
		if t.AsOf != nil {
			p.w(" FOR SYSTEM_TIME AS OF ")
			p.expr(t.AsOf, 0)
		}
		p.alias(t.Alias)
	case *FileTable:
		p.str(t.Path.Value)
		p.hints(t.Hints, " ", "")
		p.alias(t.Alias)
	case *DerivedTable:
		p.flag(t.Lateral, "LATERAL ")
		p.w("(")
		p.query(t.Query)
		p.w(")")
		p.alias(t.Alias)
	case *TableFunction:
		p.flag(t.Lateral, "LATERAL ")
		wrap := t.Wrapped || t.Lateral
		p.flag(wrap, "TABLE(")
		p.expr(t.Call, 0)
		p.flag(wrap, ")")
		p.alias(t.Alias)
	case *Unnest:
		p.flag(t.Lateral, "LATERAL ")
		p.w("UNNEST(")
		p.exprs(t.Args)
		p.w(")")
		p.flag(t.WithOrdinality, " WITH ORDINALITY")
		p.alias(t.Alias)
	case *Join:
		p.join(t)
	case *MatchRecognize:
		p.matchRecognize(t)
	}
}

func (p *printer) join(j *Join) {
	comma := j.Kind == CommaJoin
	side := func(t TableRef, parens bool) {
		p.flag(parens, "(")
		p.tableRef(t)
		p.flag(parens, ")")
	}
	l, leftJoin := j.Left.(*Join)
	r, rightJoin := j.Right.(*Join)
	side(j.Left, leftJoin && !comma && l.Kind == CommaJoin)
	if comma {
		p.w(", ")
	} else {
		p.w(" ")
		p.flag(j.Natural, "NATURAL ")
		p.w(string(j.Kind), " ")
	}
	side(j.Right, rightJoin && (!comma || r.Kind == CommaJoin))
	if j.On != nil {
		p.w(" ON ")
		p.expr(j.On, 0)
	}
	if j.Using != nil {
		p.w(" USING ")
		p.idents(j.Using)
	}
}

func (p *printer) alias(a *TableAlias) {
	if a == nil {
		return
	}
	p.w(" AS ")
	p.ident(a.Name)
	if a.Columns != nil {
		p.w(" ")
		p.idents(a.Columns)
	}
}

func (p *printer) hints(hs []Hint, before, after string) {
	for i := 0; i < len(hs); {
		// Those of one kind share a comment.
		j := i
		for j < len(hs) && hs[j].Weir == hs[i].Weir {
			j++
		}
		p.w(before)
		if hs[i].Weir {
			p.w("/*weir+ ")
		} else {
			p.w("/*+ ")
		}
		list(p, hs[i:j], p.hint)
		p.w(" */", after)
		i = j
	}
}

func (p *printer) hint(h Hint) {
	p.w(h.Name)
	if h.Args == nil {
		return
	}
	p.w("(")
	list(p, h.Args, func(a HintArg) {
		if a.Quoted {
			p.hintString(a.Key)
		} else {
			p.w(a.Key)
		}
		if a.Value != nil {
			p.w(" = ")
			p.hintString(a.Value.Value)
		}
	})
	p.w(")")
}

// hintString writes a string inside a comment: it must not have */ in it.
func (p *printer) hintString(s string) {
	if !strings.Contains(s, "*/") {
		p.str(s)
		return
	}
	s = strings.ReplaceAll(s, `\`, `\\`)
	s = strings.ReplaceAll(s, "'", "''")
	p.w("E'", strings.ReplaceAll(s, "*/", `*\x2f`), "'")
}

func (p *printer) matchRecognize(m *MatchRecognize) {
	p.tableRef(m.Input)
	p.w(" MATCH_RECOGNIZE (")
	if m.PartitionBy != nil {
		p.w("PARTITION BY ")
		p.exprs(m.PartitionBy)
		p.w(" ")
	}
	if m.OrderBy != nil {
		p.w("ORDER BY ")
		list(p, m.OrderBy, p.orderItem)
		p.w(" ")
	}
	if m.Measures != nil {
		p.w("MEASURES ")
		list(p, m.Measures, func(x Measure) {
			p.flag(x.Semantics != "", x.Semantics+" ")
			p.expr(x.X, 0)
			p.w(" AS ")
			p.ident(x.Alias)
		})
		p.w(" ")
	}
	if m.AllRows {
		p.w("ALL ROWS PER MATCH ")
	} else {
		p.w("ONE ROW PER MATCH ")
	}
	if m.After != nil {
		p.w("AFTER MATCH SKIP ", m.After.Kind, " ")
		if m.After.Variable != nil {
			p.ident(*m.After.Variable)
			p.w(" ")
		}
	}
	p.w("PATTERN (")
	p.flag(m.StrictStart, "^ ")
	p.pattern(m.Pattern)
	p.flag(m.StrictEnd, " $")
	p.w(")")
	if m.Within != nil {
		p.w(" WITHIN ")
		p.expr(m.Within, 0)
	}
	if m.Subsets != nil {
		p.w(" SUBSET ")
		list(p, m.Subsets, func(s Subset) {
			p.ident(s.Name)
			p.w(" = ")
			p.idents(s.Variables)
		})
	}
	p.w(" DEFINE ")
	list(p, m.Defines, func(d Define) {
		p.ident(d.Variable)
		p.w(" AS ")
		p.expr(d.Cond, 0)
	})
	p.w(")")
	p.alias(m.Alias)
}

func (p *printer) pattern(x Pattern) {
	part := func(x Pattern, parens bool) {
		p.flag(parens, "(")
		p.pattern(x)
		p.flag(parens, ")")
	}
	switch x := x.(type) {
	case *PatternVar:
		p.ident(x.Name)
	case *PatternConcat:
		if len(x.Items) == 0 {
			p.w("()")
			return
		}
		for i, it := range x.Items {
			p.flag(i > 0, " ")
			c, concat := it.(*PatternConcat)
			_, alt := it.(*PatternAlt)
			part(it, alt || concat && len(c.Items) > 0)
		}
	case *PatternAlt:
		for i, it := range x.Items {
			p.flag(i > 0, " | ")
			_, alt := it.(*PatternAlt)
			part(it, alt)
		}
	case *PatternQuant:
		_, isVar := x.X.(*PatternVar)
		part(x.X, !isVar)
		n, m := strconv.Itoa(x.Min), strconv.Itoa(x.Max)
		switch {
		case x.Min == 0 && x.Max < 0:
			p.w("*")
		case x.Min == 1 && x.Max < 0:
			p.w("+")
		case x.Min == 0 && x.Max == 1:
			p.w("?")
		case x.Max < 0:
			p.w("{", n, ",}")
		case x.Min == x.Max:
			p.w("{", n, "}")
		default:
			p.w("{", n, ",", m, "}")
		}
		p.flag(x.Reluctant, "?")
	case *PatternPermute:
		p.w("PERMUTE(")
		list(p, x.Items, p.pattern)
		p.w(")")
	case *PatternExclude:
		p.w("{- ")
		p.pattern(x.X)
		p.w(" -}")
	}
}

// ---- types

func (p *printer) typeName(t *TypeName) {
	if (t.Name == "ARRAY" || t.Name == "MULTISET") && t.Elem != nil {
		p.w(t.Name, "<")
		p.typeName(t.Elem)
		p.w(">")
	} else {
		p.w(t.Name)
	}
	switch {
	case t.Name == "MAP" && t.Key != nil:
		p.w("<")
		p.typeName(t.Key)
		p.w(", ")
		p.typeName(t.Elem)
		p.w(">")
	case t.Name == "ROW", t.Name == "STRUCTURED":
		p.w("<")
		for i, s := range t.Strings { // the class of STRUCTURED
			p.str(s.Value)
			p.flag(i < len(t.Strings)-1 || len(t.Fields) > 0, ", ")
		}
		list(p, t.Fields, func(f TypeField) {
			p.ident(f.Name)
			p.w(" ")
			p.typeName(f.Type)
			if f.Comment != nil {
				p.w(" ")
				p.str(f.Comment.Value)
			}
		})
		p.w(">")
	case t.Interval != nil:
		p.w(" ")
		p.qualifier(*t.Interval)
	}
	if len(t.Params) > 0 {
		p.w("(")
		list(p, t.Params, func(n int) { p.w(strconv.Itoa(n)) })
		p.w(")")
	}
	if len(t.Strings) > 0 && t.Name != "STRUCTURED" {
		p.w("(")
		list(p, t.Strings, func(s StringLit) { p.str(s.Value) })
		p.w(")")
	}
	p.flag(t.NotNull, " NOT NULL")
}

func (p *printer) qualifier(q IntervalQualifier) {
	p.w(q.From)
	if q.FromPrecision >= 0 {
		p.w("(", strconv.Itoa(q.FromPrecision))
		if q.FromFraction >= 0 {
			p.w(", ", strconv.Itoa(q.FromFraction))
		}
		p.w(")")
	}
	if q.To != "" {
		p.w(" TO ", q.To)
		if q.ToPrecision >= 0 {
			p.w("(", strconv.Itoa(q.ToPrecision), ")")
		}
	}
}
