package parser

import (
	"strings"

	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/parser/internal/mysql"
)

// timeUnits are the units of EXTRACT, TIMESTAMPDIFF, FLOOR and the like.
var timeUnits = wordSet(`YEAR QUARTER MONTH WEEK DAY HOUR MINUTE SECOND MILLISECOND MICROSECOND NANOSECOND EPOCH DOW ISODOW DOY ISOYEAR
	DECADE CENTURY MILLENNIUM
	SQL_TSI_YEAR SQL_TSI_QUARTER SQL_TSI_MONTH SQL_TSI_WEEK SQL_TSI_DAY SQL_TSI_HOUR SQL_TSI_MINUTE SQL_TSI_SECOND SQL_TSI_FRAC_SECOND`)

// callParts says what the arguments of a rewritten call are, in this order.
type callParts struct {
	args, filter, within int
	defaults             []*ast.JSONBehavior // of JSON's DEFAULT x, behind within
	order                []ast.OrderItem     // of within: all but X
}

// call rewrites name(args) and what follows it, up to OVER. Everything that is
// an expression becomes an argument of one generic call.
func (p *parser) call(tableFunction bool) {
	defer p.enter()()
	src := p.i
	at := len(p.out)
	t := p.tok()
	c := &ast.Call{}
	if t.kind == tokIdent && reservedFunctions[t.up] {
		p.i++
		c.Name = ast.ObjectName{Span: p.spanFrom(src), Parts: []ast.Ident{identOf(t)}}
	} else {
		n := len(p.ext)
		c.Name = p.objectName("a function")
		p.ext = p.ext[:n] // names of functions may be reserved words
	}
	up := "" // the name of a built-in function
	if len(c.Name.Parts) == 1 {
		up = t.up // empty when quoted
	}
	p.expectOp("(")
	switch up {
	case "CAST", "TRY_CAST":
		p.cast(src, up)
		return
	case "EXTRACT":
		p.extract(src)
		return
	case "TRIM":
		p.trim(src)
		return
	case "DESCRIPTOR":
		p.descriptor(src)
		return
	case "SYMMETRIC", "ASYMMETRIC":
		p.failAt(t, CodeReserved, "write `"+t.text+"` to use it as a name", "%s can only stand behind BETWEEN", up)
	case "SAFE_CAST":
		p.notSupported(t, up, "use TRY_CAST")
	case "ROLLUP", "CUBE":
		p.failAt(t, CodeSyntax, "", "%s can only stand in GROUP BY, not inside an expression", up)
	}
	parts := &callParts{}
	p.emitSlot(mysql.Fn(func(args []mysql.Arg) ast.Expr { return parts.fill(c, args) }), src)
	p.emit("(", src)
	first := true
	comma := func() {
		if !first {
			p.emit(",", p.i-1)
		}
		first = false
	}
	p.arguments(c, parts, up, tableFunction, comma)
	if parts.args > 0 && p.is("ORDER", "BY") { // ARRAY_AGG(x ORDER BY y): the same as WITHIN GROUP
		p.withinGroup(parts, comma)
		for strings.HasPrefix(up, "JSON_") && p.jsonClause(c, parts, comma) {
		}
	}
	switch {
	case p.is("USING") && (up == "CONVERT" || up == "TRANSLATE"):
		p.notSupported(p.tok(), up+"(.. USING ..)", "strings are UTF-8; ENCODE and DECODE turn them into bytes and back")
	case p.is("FORMAT", "JSON"):
		p.notSupported(p.tok(), "FORMAT JSON", "")
	}
	p.expectOp(")")
	c.Span = p.spanFrom(src)

	if p.is("WITHIN", "DISTINCT") && p.opAt(2, "(") {
		p.notSupported(p.tok(), "WITHIN DISTINCT", "")
	}
	if p.is("WITHIN", "GROUP") {
		if parts.within > 0 {
			p.failAt(p.tok(), CodeSyntax, "", "ORDER BY is given twice")
		}
		p.i += 2
		p.expectOp("(")
		p.withinGroup(parts, comma)
		p.expectOp(")")
	}
	if p.is("FILTER") && p.opAt(1, "(") {
		p.i += 2
		p.expect("WHERE")
		comma()
		p.expr()
		parts.filter = 1
		p.expectOp(")")
	}
	p.nullTreatment(c)
	p.emit(")", p.i-1)
	c.Span = p.spanFrom(src)
	if p.is("OVER") {
		p.over(c, at)
	}
}

// withinGroup rewrites the ORDER BY of an aggregate.
func (p *parser) withinGroup(parts *callParts, comma func()) {
	p.expect("ORDER", "BY")
	for {
		comma()
		from := p.i
		p.expr()
		o := ast.OrderItem{}
		o.Desc, o.Nulls = p.direction()
		o.Span = p.spanFrom(from)
		parts.order = append(parts.order, o)
		parts.within++
		if !p.acceptOp(",") {
			return
		}
	}
}

func (p *parser) nullTreatment(c *ast.Call) {
	if w := p.tok().up; (w == "IGNORE" || w == "RESPECT") && p.peek(1).up == "NULLS" {
		c.NullTreatment = w
		p.i += 2
	}
}

// fill puts the lowered arguments where they belong. They come in the order of
// the text: arguments with JSON defaults among them, WITHIN GROUP, FILTER.
func (q *callParts) fill(c *ast.Call, args []mysql.Arg) ast.Expr {
	for _, a := range args[:q.args] {
		c.Args = append(c.Args, a.X)
	}
	args = args[q.args:]
	for i, d := range q.defaults {
		d.Default = args[i].X
	}
	args = args[len(q.defaults):]
	for i := range q.within {
		o := q.order[i]
		o.X = args[i].X
		c.WithinGroup = append(c.WithinGroup, o)
	}
	if q.filter > 0 {
		c.Filter = args[q.within].X
	}
	return c
}

func (p *parser) over(c *ast.Call, at int) {
	src := p.i
	p.i++
	if p.isName(0) {
		id := p.ident()
		c.Over = &ast.Over{Span: p.spanFrom(src), Name: &id}
		c.Stop = p.prev().end
		return
	}
	if !p.op("(") {
		p.want("'('")
		p.unexpected("")
	}
	w := &mysql.Window{Over: &ast.Over{Spec: &ast.WindowSpec{}}}
	p.insert(at, src, "MIN", "(", p.slot(w), "(")
	p.emit(")", src)
	p.emit(")", src)
	p.emit("OVER", src)
	p.windowSpec(w.Over.Spec)
	w.Over.Span = p.spanFrom(src)
	w.Stop = p.prev().end
}

// separators are the words that stand for commas in some calls, and the
// argument (from 0) that each comes before.
var separators = map[string]map[string]int{
	"SUBSTRING": {"FROM": 1, "FOR": 2},
	"OVERLAY":   {"PLACING": 1, "FROM": 2, "FOR": 3},
	"POSITION":  {"IN": 1, "FROM": 2},
	"CEIL":      {"TO": 1}, "CEILING": {"TO": 1}, "FLOOR": {"TO": 1},
}

// arguments rewrites what is between the parentheses of a call.
func (p *parser) arguments(c *ast.Call, parts *callParts, up string, tableFunction bool, comma func()) {
	if p.acceptOp("*") {
		c.Star = true
		return
	}
	if p.accept("DISTINCT") {
		c.Distinct = true
	} else if p.is("ALL") {
		p.i++
	}
	json := strings.HasPrefix(up, "JSON_")
	if json && p.jsonClause(c, parts, comma) {
		for p.jsonClause(c, parts, comma) {
		}
		return
	}
	if p.op(")") {
		return
	}
	words := separators[up]
	for {
		comma()
		parts.args++
		switch {
		case up == "JSON_OBJECT" || up == "JSON_OBJECTAGG":
			p.jsonPair(parts, comma)
		case parts.args == 2 && p.prev().up == "TO" && words["TO"] == 1: // FLOOR(x TO unit)
			p.timeUnit()
			p.leaf(&ast.TimeUnit{Span: p.spanFrom(p.i - 1), Unit: p.prev().up}, p.i-1)
		case (up == "TIMESTAMPDIFF" || up == "TIMESTAMPADD") && parts.args == 1 && p.tok().kind == tokIdent && p.opAt(1, ","):
			p.timeUnit()
			p.leaf(&ast.TimeUnit{Span: p.spanFrom(p.i - 1), Unit: p.prev().up}, p.i-1)
		case up == "POSITION" && parts.args == 1:
			p.exprUntil("IN")
		default:
			p.argument(tableFunction)
		}
		p.nullTreatment(c)
		if json && p.jsonClause(c, parts, comma) {
			for p.jsonClause(c, parts, comma) {
			}
			return
		}
		if p.op(",") && up == "POSITION" {
			p.failAt(p.tok(), CodeSyntax, "write POSITION(part IN text), or LOCATE(part, text)", "the arguments of POSITION are not separated by a comma")
		}
		if p.acceptOp(",") {
			continue
		}
		if n, ok := words[p.tok().up]; ok && n >= parts.args {
			// A word may be left out (TRIM's and OVERLAY's FOR), but SUBSTRING(x FOR 3) has no start.
			if n > parts.args {
				p.unexpected("")
			}
			p.i++
			continue
		}
		for w, n := range words {
			if n == parts.args {
				p.want(w)
			}
		}
		return
	}
}

// argument rewrites one ordinary argument.
func (p *parser) argument(tableFunction bool) {
	src := p.i
	t := p.tok()
	switch {
	case (t.kind == tokIdent || t.kind == tokQuoted) && p.opAt(1, "=>"):
		id := identOf(t)
		p.i += 2
		var stop int
		p.emitSlot(mysql.Fn(func(args []mysql.Arg) ast.Expr {
			return &ast.NamedArg{Span: ast.Span{Start: id.Start, Stop: stop}, Name: id, Value: args[0].X}
		}), src)
		p.emit("(", src)
		p.argument(tableFunction)
		p.emit(")", p.i-1)
		stop = p.prev().end
	case p.is("MODEL") && p.isName(1):
		p.i++
		m := &ast.ModelArg{Name: p.objectName("a model name")}
		m.Span = p.spanFrom(src)
		p.leaf(m, src)
	case t.up == "TABLE":
		p.i++
		p.tableArg(src, &ast.TableArg{})
	case tableFunction && p.op("(") && p.isQuery(p.i+1) && p.endsTable(p.match[p.i]):
		p.tableArg(src, &ast.TableArg{})
	case t.up == "SELECT" || t.up == "VALUES" || t.up == "WITH":
		p.failAt(t, CodeSyntax, "put the query in parentheses", "a query cannot be an argument without parentheses")
	default:
		p.valueExpr()
	}
}

// endsTable reports whether the parenthesis at token m ends a query that is a
// table, not the start of an expression like (SELECT ..) + 1.
func (p *parser) endsTable(m int) bool {
	if m < 0 {
		return true
	}
	n := &p.toks[m+1]
	return n.kind == tokEOF || n.kind == tokHint || n.up == "PARTITION" || n.up == "ORDER" ||
		n.kind == tokOp && (n.text == "," || n.text == ")" || n.text == ";")
}

// tableArg rewrites an argument that is a table: a name behind TABLE, or a query.
func (p *parser) tableArg(src int, a *ast.TableArg) {
	query := false
	var name ast.ObjectName
	switch {
	case p.op("(") && p.i == src:
		query = true
	case p.op("("):
		p.failAt(p.tok(), CodeSyntax, "write (SELECT ..) without TABLE", "TABLE takes the name of a table here, not a query")
	case p.isString():
		f := p.stringLit("a file")
		p.noteFile(p.prev())
		a.File = &f
	default:
		name = p.objectName("a table name")
		a.Table = &name
	}
	partitions := 0
	var order []ast.OrderItem
	p.emitSlot(mysql.Fn(func(args []mysql.Arg) ast.Expr {
		if query {
			a.Query, args = args[0].X.(*ast.Subquery).Query, args[1:]
		}
		for _, x := range args[:partitions] {
			a.PartitionBy = append(a.PartitionBy, x.X)
		}
		for i, o := range order {
			o.X = args[partitions+i].X
			a.OrderBy = append(a.OrderBy, o)
		}
		return a
	}), src)
	p.emit("(", src)
	comma := query
	if query {
		p.parenQuery()
	}
	a.Hints = p.hints()
	next := func() {
		if comma {
			p.emit(",", p.i-1)
		}
		comma = true
		p.expr()
	}
	if p.accept("PARTITION") {
		p.expect("BY")
		// PARTITION BY a, b: a comma may also end the argument, so several columns
		// stand in parentheses.
		if p.op("(") && !p.isQuery(p.i) && p.closesList(p.i) {
			p.i++
			for {
				next()
				partitions++
				if !p.acceptOp(",") {
					break
				}
			}
			p.expectOp(")")
		} else {
			next()
			partitions++
			for p.op(",") && p.continuesList(p.i+1) {
				p.i++
				next()
				partitions++
			}
		}
	}
	if p.accept("ORDER") {
		p.expect("BY")
		parens := p.op("(") && !p.isQuery(p.i) && p.closesList(p.i)
		if parens {
			p.i++
		}
		for {
			from := p.i
			next()
			o := ast.OrderItem{}
			o.Desc, o.Nulls = p.direction()
			o.Span = p.spanFrom(from)
			order = append(order, o)
			if !parens && !(p.op(",") && p.continuesList(p.i+1)) || !p.acceptOp(",") {
				break
			}
		}
		if parens {
			p.expectOp(")")
		}
	}
	p.emit(")", p.i-1)
	a.Span = p.spanFrom(src)
}

// closesList reports whether the parenthesis at token i holds a whole list, and
// is not the start of an expression like (a + b) * 2.
func (p *parser) closesList(i int) bool {
	m := p.match[i]
	if m < 0 {
		return true
	}
	n := &p.toks[m+1]
	return n.up == "ORDER" || n.kind == tokEOF || n.kind == tokOp && (n.text == "," || n.text == ")" || n.text == ";")
}

// continuesList reports whether the PARTITION BY or ORDER BY list of a table
// argument goes on at token i, rather than the next argument beginning: that is
// so for a plain name that is no named argument.
func (p *parser) continuesList(i int) bool {
	t := p.toks[min(i, len(p.toks)-1)]
	n := p.toks[min(i+1, len(p.toks)-1)]
	if t.kind != tokQuoted && (t.kind != tokIdent || reserved[t.up]) || n.kind != tokOp {
		return t.kind == tokIdent && (n.up == "ORDER" || n.up == "ASC" || n.up == "DESC")
	}
	return n.text == "," || n.text == ")" || n.text == "."
}

// ---- functions with a syntax of their own; the "(" has been taken

func (p *parser) cast(src int, word string) {
	c := &ast.Cast{Try: word == "TRY_CAST"}
	p.emitSlot(mysql.Fn(func(args []mysql.Arg) ast.Expr {
		c.X = args[0].X
		return c
	}), src)
	p.emit("(", src)
	p.expr()
	p.expect("AS")
	c.Type = p.typeName()
	if t := c.Type; t.NotNull { // Flink's CAST gives the nullability of its argument
		p.note(t.Start, t.Stop, p.prev().weir, ast.ExtSyntax, "")
	}
	p.expectOp(")")
	p.emit(")", p.i-1)
	c.Span = p.spanFrom(src)
}

// timeUnit takes a unit.
func (p *parser) timeUnit() string {
	t := p.tok()
	if !timeUnits[t.up] {
		for _, u := range []string{"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND",
			"NANOSECOND", "EPOCH", "DOW", "ISODOW", "DOY", "ISOYEAR", "DECADE", "CENTURY", "MILLENNIUM"} {
			p.want(u)
		}
		p.unexpected("a time unit")
	}
	p.i++
	return t.up
}

func (p *parser) extract(src int) {
	x := &ast.Extract{}
	x.Unit = p.timeUnit()
	p.expect("FROM")
	p.emitSlot(mysql.Fn(func(args []mysql.Arg) ast.Expr {
		x.X = args[0].X
		return x
	}), src)
	p.emit("(", src)
	p.expr()
	p.expectOp(")")
	p.emit(")", p.i-1)
	x.Span = p.spanFrom(src)
}

// trim rewrites TRIM([BOTH|LEADING|TRAILING] [chars] [FROM] x).
func (p *parser) trim(src int) {
	x := &ast.Trim{Mode: "BOTH"}
	p.emitSlot(mysql.Fn(func(args []mysql.Arg) ast.Expr {
		x.X = args[len(args)-1].X
		if len(args) == 2 {
			x.Chars = args[0].X
		}
		return x
	}), src)
	p.emit("(", src)
	if m := p.acceptAny("BOTH", "LEADING", "TRAILING"); m != "" {
		x.Mode = m
		p.accept("FROM") // TRIM(BOTH FROM x)
	}
	p.expr()
	if p.accept("FROM") {
		p.emit(",", p.i-1)
		p.expr()
	}
	if p.op(",") {
		p.failAt(p.tok(), CodeSyntax, "write TRIM(chars FROM text), or BTRIM(text, chars)", "TRIM takes one argument")
	}
	p.expectOp(")")
	p.emit(")", p.i-1)
	x.Span = p.spanFrom(src)
}

func (p *parser) descriptor(src int) {
	d := &ast.Descriptor{}
	for {
		d.Columns = append(d.Columns, p.identFor("a column name"))
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")")
	d.Span = p.spanFrom(src)
	p.leaf(d, src)
}

// ---- JSON functions

// jsonPair rewrites [KEY] k VALUE v, or k : v.
func (p *parser) jsonPair(parts *callParts, comma func()) {
	if p.is("KEY") && (p.peek(1).kind != tokOp && p.peek(1).up != "VALUE" || p.opAt(1, "(")) {
		p.i++
	}
	p.exprUntil("VALUE")
	if !p.accept("VALUE") && !p.acceptOp(":") {
		p.unexpected("")
	}
	comma()
	parts.args++
	p.expr()
}

// jsonClause takes one of RETURNING type, x ON EMPTY|ERROR|NULL and WRAPPER.
func (p *parser) jsonClause(c *ast.Call, parts *callParts, comma func()) bool {
	src := p.i
	clauses := func() *ast.JSONClauses {
		if c.JSON == nil {
			c.JSON = &ast.JSONClauses{}
		}
		return c.JSON
	}
	on := func(b *ast.JSONBehavior, words ...string) {
		p.expect("ON")
		w := p.acceptAny(words...)
		b.Span = p.spanFrom(src)
		var to **ast.JSONBehavior
		switch w {
		case "EMPTY":
			to = &clauses().OnEmpty
		case "ERROR":
			to = &clauses().OnError
		case "NULL":
			clauses().OnNull = b.Kind
			return
		default:
			p.unexpected("")
		}
		if *to != nil {
			p.failAt(&p.toks[src], CodeValue, "", "ON %s is given twice", w)
		}
		*to = b
	}
	switch {
	case p.is("RETURNING"):
		p.i++
		clauses().Returning = p.typeName()
	case p.is("NULL", "ON"):
		p.i++
		on(&ast.JSONBehavior{Kind: "NULL"}, "EMPTY", "ERROR", "NULL")
	case p.is("ABSENT", "ON"):
		p.i++
		on(&ast.JSONBehavior{Kind: "ABSENT"}, "NULL")
	case p.is("ERROR", "ON"):
		p.i++
		on(&ast.JSONBehavior{Kind: "ERROR"}, "EMPTY", "ERROR")
	case p.is("TRUE", "ON"), p.is("FALSE", "ON"), p.is("UNKNOWN", "ON"):
		k := p.tok().up
		p.i++
		on(&ast.JSONBehavior{Kind: k}, "ERROR")
	case p.is("EMPTY", "ARRAY"), p.is("EMPTY", "OBJECT"):
		k := "EMPTY " + p.peek(1).up
		p.i += 2
		on(&ast.JSONBehavior{Kind: k}, "EMPTY", "ERROR")
	case p.is("DEFAULT"):
		p.i++
		b := &ast.JSONBehavior{Kind: "DEFAULT"}
		comma()
		p.expr()
		parts.defaults = append(parts.defaults, b)
		on(b, "EMPTY", "ERROR")
	case p.is("WITHOUT"), p.is("WITH"):
		w := p.tok().up
		p.i++
		switch {
		case w == "WITHOUT":
			p.accept("ARRAY")
			clauses().Wrapper = "WITHOUT ARRAY"
		default:
			k := p.acceptAny("CONDITIONAL", "UNCONDITIONAL")
			if k == "" {
				k = "UNCONDITIONAL"
			}
			p.accept("ARRAY")
			clauses().Wrapper = "WITH " + k + " ARRAY"
		}
		p.expect("WRAPPER")
	default:
		return false
	}
	return true
}
