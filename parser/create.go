package parser

import "github.com/weir-sql/weir/parser/ast"

func (p *parser) create() ast.Statement {
	if p.is("REPLACE") {
		p.i++
		p.expect("TABLE")
		return p.createTable(&ast.CreateTable{Replace: true})
	}
	p.expect("CREATE")
	if at := p.i; p.accept("OR") {
		if p.accept("ALTER") {
			p.expect("MATERIALIZED", "TABLE")
			return p.createMaterializedTable(&ast.CreateMaterializedTable{OrAlter: true})
		}
		p.expect("REPLACE")
		temporary := p.accept("TEMPORARY")
		system := temporary && p.accept("SYSTEM")
		switch {
		case p.accept("FUNCTION"):
			return p.createFunction(&ast.CreateFunction{OrReplace: true, Temporary: temporary, System: system})
		case system:
			p.unexpected("")
		case p.accept("VIEW"):
			or, replace := &p.toks[at], &p.toks[at+1] // Flink takes the words, and fails when there is such a view
			p.note(or.pos, replace.end, or.weir, ast.ExtSyntax, "")
			return p.createView(&ast.CreateView{OrReplace: true, Temporary: temporary})
		}
		p.expect("TABLE")
		return p.createTable(&ast.CreateTable{OrReplace: true, Temporary: temporary})
	}
	temporary := p.accept("TEMPORARY")
	system := temporary && p.accept("SYSTEM")
	switch {
	case p.accept("FUNCTION"):
		return p.createFunction(&ast.CreateFunction{Temporary: temporary, System: system})
	case system:
		p.unexpected("")
	case p.accept("TABLE"):
		return p.createTable(&ast.CreateTable{Temporary: temporary})
	case p.accept("VIEW"):
		return p.createView(&ast.CreateView{Temporary: temporary})
	case p.accept("MODEL"):
		return p.createModel(temporary)
	case !temporary && p.accept("CATALOG"):
		s := &ast.CreateCatalog{IfNotExists: p.ifNotExists(), Name: p.identFor("a catalog name")}
		s.Comment = p.optionalComment()
		s.Options = p.optionalWith()
		return s
	case !temporary && (p.accept("DATABASE") || p.accept("SCHEMA") && p.noSchema()):
		s := &ast.CreateDatabase{IfNotExists: p.ifNotExists(), Name: p.databaseName()}
		s.Comment = p.optionalComment()
		s.Options = p.optionalWith()
		return s
	case !temporary && p.accept("MATERIALIZED"):
		p.expect("TABLE")
		return p.createMaterializedTable(&ast.CreateMaterializedTable{})
	}
	switch t := p.tok(); t.up {
	case "INDEX", "UNIQUE", "SEQUENCE", "TRIGGER", "PROCEDURE", "ROLE", "USER", "TYPE", "CONNECTION", "STREAM", "SOURCE", "SINK", "TEMP":
		hint := ""
		switch t.up {
		case "STREAM", "SOURCE", "SINK":
			hint = "use CREATE TABLE"
		case "TEMP":
			hint = "write TEMPORARY"
		}
		p.notSupported(t, "CREATE "+t.up, hint)
	}
	p.unexpected("")
	return nil
}

func (p *parser) noSchema() bool {
	p.notSupported(p.prev(), "SCHEMA", "the word is DATABASE")
	return false
}

// databaseName takes [catalog.]database.
func (p *parser) databaseName() ast.ObjectName {
	t := p.tok()
	n := p.objectName("a database name")
	if len(n.Parts) > 2 {
		p.failAt(t, CodeValue, "", "a database name has at most two parts: catalog.database")
	}
	return n
}

func (p *parser) createTable(s *ast.CreateTable) ast.Statement {
	if !s.Replace && !s.OrReplace {
		s.IfNotExists = p.ifNotExists()
	}
	name := p.tok()
	s.Name = p.objectName("a table name")
	if p.op("(") {
		el := &elements{p: p, namesOnly: true}
		p.i++
		if !p.op(")") { // else all columns are inferred
			el.parse()
		}
		p.expectOp(")")
		s.Columns, s.Watermark, s.PrimaryKey = el.columns, el.watermark, el.key
	}
	s.Comment = p.optionalComment()
	s.Distribution = p.distribution()
	s.PartitionedBy = p.partitionedBy()
	s.Options = p.optionalWith()
	switch {
	case p.kw("LIKE"):
		s.Like = p.tableLike()
	case p.accept("AS"):
		s.As = p.fullQuery()
	}
	if s.Replace && s.As == nil {
		p.unexpected("AS and a query")
	}
	if s.As == nil && p.tok().kind != tokEOF && !p.op(";") {
		p.want("the end of the statement")
		p.unexpected("")
	}
	inferred := s.As == nil && s.Like == nil
	for _, c := range s.Columns {
		inferred = inferred && c.Kind != ast.PhysicalColumn
	}
	switch {
	case inferred:
		p.note(s.Name.Start, s.Name.Stop, name.weir, ast.ExtInferred, "")
	case s.Options == nil && s.Like == nil:
		p.note(s.Name.Start, s.Name.Stop, name.weir, ast.ExtMemoryTable, "")
	}
	if s.As == nil {
		for _, c := range s.Columns {
			if c.Kind == ast.NamedColumn {
				panic(bail{&Error{Pos: c.Start, End: c.Stop, Msg: "column " + c.Name.String() + " has no type",
					Hint: "columns without types are only for CREATE TABLE .. AS query", Code: CodeSyntax}})
			}
		}
	}
	return s
}

func (p *parser) partitionedBy() []ast.Ident {
	if p.accept("PARTITIONED") {
		p.expect("BY")
		return p.identList("a column name")
	}
	if p.is("PARTITION", "BY") {
		p.failAt(p.tok(), CodeSyntax, "write PARTITIONED BY", "unexpected 'PARTITION'")
	}
	return nil
}

// distribution takes DISTRIBUTED [BY [HASH|RANGE] (columns)] [INTO n BUCKETS].
func (p *parser) distribution() *ast.Distribution {
	if !p.accept("DISTRIBUTED") {
		return nil
	}
	src := p.i - 1
	d := &ast.Distribution{}
	if p.accept("BY") {
		d.Kind = p.acceptAny("HASH", "RANGE")
		d.Columns = p.identList("a column name")
	} else if !p.kw("INTO") {
		p.unexpected("")
	}
	if p.accept("INTO") {
		d.Buckets = p.wholeNumber("a number of buckets")
		p.expect("BUCKETS")
	}
	d.Span = p.spanFrom(src)
	return d
}

// likeFeatures are what CREATE TABLE .. LIKE may include or leave out.
var likeFeatures = []string{"ALL", "CONSTRAINTS", "DISTRIBUTION", "PARTITIONS", "GENERATED", "OPTIONS", "WATERMARKS", "METADATA"}

func (p *parser) tableLike() *ast.TableLike {
	src := p.i
	p.expect("LIKE")
	l := &ast.TableLike{Source: p.objectName("a table name")}
	if p.acceptOp("(") {
		for {
			at := p.i
			var o ast.LikeOption
			if o.Mode = p.acceptAny("INCLUDING", "EXCLUDING", "OVERWRITING"); o.Mode == "" {
				p.unexpected("")
			}
			t := p.tok()
			if o.Feature = p.acceptAny(likeFeatures...); o.Feature == "" {
				p.unexpected("")
			}
			if o.Mode == "OVERWRITING" {
				switch o.Feature {
				case "ALL", "CONSTRAINTS", "DISTRIBUTION", "PARTITIONS":
					p.failAt(t, CodeValue, "", "OVERWRITING %s is not possible", o.Feature)
				}
			}
			o.Span = p.spanFrom(at)
			l.Options = append(l.Options, o)
			if p.acceptOp(")") {
				break
			}
		}
	}
	l.Span = p.spanFrom(src)
	return l
}

// elements are what stands in the parentheses of CREATE TABLE and ALTER TABLE.
type elements struct {
	p         *parser
	namesOnly bool // a column may be a name alone (CREATE TABLE .. AS)
	positions bool // FIRST and AFTER are allowed (ALTER TABLE)
	columns   []*ast.ColumnDef
	watermark *ast.WatermarkDef
	key       *ast.PrimaryKey
}

func (e *elements) parse() {
	for {
		e.element()
		if !e.p.acceptOp(",") {
			return
		}
	}
}

func (e *elements) element() {
	p := e.p
	src := p.i
	switch {
	case p.is("WATERMARK") && p.peek(1).up == "FOR":
		w := p.watermark()
		if e.watermark != nil {
			panic(bail{&Error{Pos: w.Start, End: w.Stop, Msg: "a table has only one WATERMARK", Code: CodeValue}})
		}
		e.watermark = w
	case p.is("CONSTRAINT") && p.isName(1) && p.peek(2).up == "PRIMARY", p.is("PRIMARY", "KEY"):
		k := &ast.PrimaryKey{}
		if p.accept("CONSTRAINT") {
			id := p.ident()
			k.Name = &id
		}
		p.expect("PRIMARY", "KEY")
		k.Columns = p.identList("a column name")
		p.notEnforced()
		k.Span = p.spanFrom(src)
		e.addKey(k)
	case p.is("UNIQUE") && p.opAt(1, "("), p.is("CONSTRAINT") && p.isName(1) && p.peek(2).up == "UNIQUE" && p.opAt(3, "("):
		p.notSupported(p.tok(), "UNIQUE", "use PRIMARY KEY .. NOT ENFORCED")
	case p.is("FOREIGN", "KEY"):
		p.notSupported(p.tok(), "FOREIGN KEY", "")
	case p.is("PERIOD", "FOR"):
		p.notSupported(p.tok(), "PERIOD FOR SYSTEM_TIME", "")
	case e.positions && p.is("DISTRIBUTION") || e.positions && p.is("DISTRIBUTED"):
		p.failAt(p.tok(), CodeSyntax, "", "DISTRIBUTION stands alone, outside of the parentheses")
	default:
		e.column()
	}
}

func (e *elements) addKey(k *ast.PrimaryKey) {
	if e.key != nil {
		panic(bail{&Error{Pos: k.Start, End: k.Stop, Msg: "a table has only one PRIMARY KEY", Code: CodeValue}})
	}
	e.key = k
}

func (p *parser) notEnforced() {
	if p.kw("NOT") && p.peek(1).up == "ENFORCED" {
		p.i += 2
		return
	}
	if p.is("ENFORCED") {
		p.failAt(p.tok(), CodeNotSupported, "write NOT ENFORCED", "an enforced PRIMARY KEY is not supported")
	}
	if p.is("NOT") {
		p.i++
		p.want("ENFORCED")
		p.unexpected("")
	}
	p.unexpected("NOT ENFORCED")
}

func (p *parser) watermark() *ast.WatermarkDef {
	src := p.i
	p.expect("WATERMARK", "FOR")
	w := &ast.WatermarkDef{Column: ast.ObjectName{}}
	at := p.i
	w.Column.Parts = p.dotted("the event time column")
	w.Column.Span = p.spanFrom(at)
	p.expect("AS")
	w.Expr = p.expression()
	w.Span = p.spanFrom(src)
	return w
}

func (e *elements) column() {
	p := e.p
	src := p.i
	c := &ast.ColumnDef{Kind: ast.PhysicalColumn}
	if e.positions {
		c.Name = ast.ObjectName{Parts: p.dotted("a column name")}
	} else {
		c.Name = ast.ObjectName{Parts: []ast.Ident{p.identFor("a column name")}}
	}
	c.Name.Span = p.spanFrom(src)
	var key *ast.PrimaryKey
	switch {
	case p.accept("AS"):
		c.Kind = ast.ComputedColumn
		c.Expr = p.expression()
	case e.namesOnly && (p.op(",") || p.op(")")):
		c.Kind = ast.NamedColumn
	default:
		if p.op(",") || p.op(")") {
			p.unexpected("a data type")
		}
		c.Type = p.typeName()
		if p.accept("METADATA") {
			c.Kind = ast.MetadataColumn
			if p.accept("FROM") {
				k := p.stringLit("the metadata key as a string")
				c.MetadataKey = &k
			}
			c.Virtual = p.accept("VIRTUAL")
		} else {
			key = e.columnConstraints(c)
		}
	}
	c.Comment = p.optionalComment()
	if key == nil && c.Kind == ast.PhysicalColumn && p.is("PRIMARY") {
		key = e.columnConstraints(c)
	}
	if e.positions {
		if p.accept("FIRST") {
			c.Position = "FIRST"
		} else if p.accept("AFTER") {
			c.Position = "AFTER"
			at := p.i
			after := ast.ObjectName{Parts: p.dotted("a column name")}
			after.Span = p.spanFrom(at)
			c.After = &after
		}
	}
	c.Span = p.spanFrom(src)
	e.columns = append(e.columns, c)
	if key != nil {
		e.addKey(key)
	}
	switch t := p.tok(); t.up {
	case "DEFAULT", "UNIQUE", "CHECK", "REFERENCES", "GENERATED", "AUTO_INCREMENT":
		hint := ""
		if t.up == "GENERATED" {
			hint = "a computed column is: name AS expression"
		}
		p.notSupported(t, t.up+" of a column", hint)
	}
}

// columnConstraints takes [CONSTRAINT name] PRIMARY KEY NOT ENFORCED.
func (e *elements) columnConstraints(c *ast.ColumnDef) *ast.PrimaryKey {
	p := e.p
	src := p.i
	k := &ast.PrimaryKey{Columns: c.Name.Parts}
	if p.is("CONSTRAINT") {
		p.i++
		id := p.identFor("the name of a constraint")
		k.Name = &id
	} else if !p.kw("PRIMARY") {
		return nil
	}
	p.expect("PRIMARY", "KEY")
	p.notEnforced()
	k.Span = p.spanFrom(src)
	return k
}

func (p *parser) createView(s *ast.CreateView) ast.Statement {
	if !s.OrReplace {
		s.IfNotExists = p.ifNotExists()
	}
	s.Name = p.objectName("a view name")
	if p.op("(") {
		s.Columns = p.identList("a column name")
	}
	s.Comment = p.optionalComment()
	p.expect("AS")
	s.Query = p.fullQuery()
	s.QueryText = p.text[s.Query.Start.Offset:s.Query.Stop]
	return s
}

func (p *parser) createFunction(s *ast.CreateFunction) ast.Statement {
	switch {
	case s.Alter:
		s.IfNotExists = p.ifExists()
	case !s.OrReplace:
		s.IfNotExists = p.ifNotExists()
	}
	s.Name = p.objectName("a function name")
	p.expect("AS")
	s.Class = p.stringLit("the name of a class as a string")
	if p.accept("LANGUAGE") {
		if s.Language = p.acceptAny("JAVA", "SCALA", "PYTHON", "SQL", "GO"); s.Language == "" {
			p.unexpected("")
		}
	}
	if p.accept("USING") {
		for {
			at := p.i
			var r ast.FunctionResource
			if r.Kind = p.acceptAny("JAR", "FILE", "ARCHIVE", "ARTIFACT"); r.Kind == "" {
				p.unexpected("")
			}
			r.URI = p.stringLit("a path as a string")
			r.Span = p.spanFrom(at)
			s.Using = append(s.Using, r)
			if !p.acceptOp(",") {
				break
			}
		}
	}
	s.Options = p.optionalWith()
	return s
}

func (p *parser) createModel(temporary bool) ast.Statement {
	s := &ast.CreateModel{Temporary: temporary, IfNotExists: p.ifNotExists(), Name: p.objectName("a model name")}
	columns := func() []*ast.ColumnDef {
		el := &elements{p: p}
		p.expectOp("(")
		el.parse()
		p.expectOp(")")
		return el.columns
	}
	if p.accept("INPUT") {
		s.Input = columns()
	}
	if p.accept("OUTPUT") {
		s.Output = columns()
	}
	s.Comment = p.optionalComment()
	s.Options = p.optionalWith()
	if p.accept("AS") {
		s.As = p.fullQuery()
	}
	return s
}

func (p *parser) createMaterializedTable(s *ast.CreateMaterializedTable) ast.Statement {
	if !s.OrAlter {
		s.IfNotExists = p.ifNotExists()
	}
	s.Name = p.objectName("a table name")
	if p.acceptOp("(") {
		el := &elements{p: p, namesOnly: true}
		el.parse()
		p.expectOp(")")
		s.Columns, s.Watermark, s.PrimaryKey = el.columns, el.watermark, el.key
	}
	s.Comment = p.optionalComment()
	s.Distribution = p.distribution()
	s.PartitionedBy = p.partitionedBy()
	s.Options = p.optionalWith()
	if p.accept("FRESHNESS") {
		p.expectOp("=")
		if !p.kw("INTERVAL") {
			p.unexpected("")
		}
		s.Freshness = p.interval()
	}
	if p.accept("REFRESH_MODE") {
		p.expectOp("=")
		if s.RefreshMode = p.acceptAny("CONTINUOUS", "FULL"); s.RefreshMode == "" {
			p.unexpected("")
		}
	}
	p.expect("AS")
	s.As = p.fullQuery()
	return s
}
