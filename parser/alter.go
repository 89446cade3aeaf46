package parser

import "github.com/weir-sql/weir/parser/ast"

func (p *parser) alter() ast.Statement {
	p.expect("ALTER")
	switch {
	case p.accept("TABLE"):
		s := &ast.Alter{Kind: ast.TableObject, IfExists: p.ifExists(), Name: p.objectName("a table name")}
		s.Action = p.alterTable()
		return s
	case p.accept("VIEW"):
		s := &ast.Alter{Kind: ast.ViewObject, IfExists: p.ifExists(), Name: p.objectName("a view name")}
		at := p.i
		switch {
		case p.accept("RENAME"):
			s.Action = p.renameTo(at)
		case p.accept("AS"):
			s.Action = p.alterQuery(at)
		default:
			p.unexpected("")
		}
		return s
	case p.accept("DATABASE"):
		s := &ast.Alter{Kind: ast.DatabaseObject, Name: p.databaseName()}
		at := p.i
		p.expect("SET")
		s.Action = p.setOptions(at)
		return s
	case p.accept("CATALOG"):
		s := &ast.Alter{Kind: ast.CatalogObject}
		id := p.identFor("a catalog name")
		s.Name = ast.ObjectName{Span: id.Span, Parts: []ast.Ident{id}}
		at := p.i
		switch {
		case p.accept("SET"):
			s.Action = p.setOptions(at)
		case p.accept("RESET"):
			s.Action = p.resetOptions(at)
		case p.accept("COMMENT"):
			c := &ast.SetComment{Comment: p.stringLit("the comment as a string")}
			c.Span = p.spanFrom(at)
			s.Action = c
		default:
			p.unexpected("")
		}
		return s
	case p.accept("MODEL"):
		s := &ast.Alter{Kind: ast.ModelObject, IfExists: p.ifExists(), Name: p.objectName("a model name")}
		at := p.i
		switch {
		case p.accept("RENAME"):
			s.Action = p.renameTo(at)
		case p.accept("SET"):
			s.Action = p.setOptions(at)
		case p.accept("RESET"):
			s.Action = p.resetOptions(at)
		default:
			p.unexpected("")
		}
		return s
	case p.accept("MATERIALIZED"):
		p.expect("TABLE")
		s := &ast.Alter{Kind: ast.MaterializedTableObject, Name: p.objectName("a table name")}
		s.Action = p.alterMaterializedTable()
		return s
	}
	temporary := p.accept("TEMPORARY")
	system := temporary && p.accept("SYSTEM")
	p.refuseConnection("ALTER")
	if p.accept("FUNCTION") {
		return p.createFunction(&ast.CreateFunction{Alter: true, Temporary: temporary, System: system})
	}
	p.unexpected("")
	return nil
}

// refuseConnection names the connections of Flink, which it parses but does not have itself.
func (p *parser) refuseConnection(verb string) {
	if p.is("CONNECTION") || p.is("CONNECTIONS") {
		p.notSupported(p.tok(), verb+" "+p.tok().up, "")
	}
}

func (p *parser) renameTo(at int) ast.AlterAction {
	p.expect("TO")
	r := &ast.RenameTo{Name: p.objectName("the new name")}
	r.Span = p.spanFrom(at)
	return r
}

func (p *parser) setOptions(at int) ast.AlterAction {
	a := &ast.SetOptions{Options: p.options()}
	a.Span = p.spanFrom(at)
	return a
}

func (p *parser) resetOptions(at int) ast.AlterAction {
	a := &ast.ResetOptions{}
	p.expectOp("(")
	for {
		a.Keys = append(a.Keys, p.stringLit("an option's key as a string"))
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")")
	a.Span = p.spanFrom(at)
	return a
}

func (p *parser) alterQuery(at int) ast.AlterAction {
	a := &ast.AlterQuery{Query: p.fullQuery()}
	a.QueryText = p.text[a.Query.Start.Offset:a.Query.Stop]
	a.Span = p.spanFrom(at)
	return a
}

func (p *parser) alterTable() ast.AlterAction {
	at := p.i
	switch {
	case p.accept("RENAME"):
		if p.kw("TO") {
			return p.renameTo(at)
		}
		r := &ast.RenameColumn{Column: p.objectName("a column name")}
		p.expect("TO")
		r.To = p.objectName("the new name")
		r.Span = p.spanFrom(at)
		return r
	case p.accept("SET"):
		return p.setOptions(at)
	case p.accept("RESET"):
		return p.resetOptions(at)
	case p.accept("ADD"):
		if p.kw("PARTITION") || p.is("IF") {
			return p.addPartitions(at)
		}
		return p.addElements(at, false)
	case p.accept("MODIFY"):
		return p.addElements(at, true)
	case p.accept("DROP"):
		return p.dropElements(at)
	case p.is("ALTER") || p.is("CHANGE"):
		p.notSupported(p.tok(), "ALTER TABLE .. "+p.tok().up, "use MODIFY")
	}
	p.unexpected("")
	return nil
}

func (p *parser) addElements(at int, modify bool) ast.AlterAction {
	a := &ast.AddElements{Modify: modify}
	el := &elements{p: p, positions: true}
	switch {
	case p.acceptOp("("):
		el.parse()
		p.expectOp(")")
	case p.accept("DISTRIBUTION"):
		d := &ast.Distribution{}
		from := p.i - 1
		if p.accept("BY") {
			d.Kind = p.acceptAny("HASH", "RANGE")
			d.Columns = p.identList("a column name")
		}
		if p.accept("INTO") {
			d.Buckets = p.wholeNumber("a number of buckets")
			p.expect("BUCKETS")
		}
		d.Span = p.spanFrom(from)
		a.Distribution = d
	default:
		if p.is("COLUMN") {
			p.failAt(p.tok(), CodeSyntax, "leave it out", "ALTER TABLE names a column without the word COLUMN")
		}
		el.element()
	}
	a.Columns, a.Watermark, a.PrimaryKey = el.columns, el.watermark, el.key
	a.Span = p.spanFrom(at)
	return a
}

func (p *parser) dropElements(at int) ast.AlterAction {
	d := &ast.DropElements{}
	switch {
	case p.kw("PARTITION"), p.is("IF"):
		dp := &ast.DropPartitions{IfExists: p.ifExists()}
		for {
			dp.Partitions = append(dp.Partitions, *p.partitionSpec())
			if !p.acceptOp(",") {
				break
			}
		}
		dp.Span = p.spanFrom(at)
		return dp
	case p.accept("PRIMARY"):
		p.expect("KEY")
		d.What = "PRIMARY KEY"
	case p.is("CONSTRAINT") && p.isName(1):
		p.i++
		id := p.ident()
		d.What, d.Name = "CONSTRAINT", &id
	case p.accept("WATERMARK"):
		d.What = "WATERMARK"
	case p.accept("DISTRIBUTION"):
		d.What = "DISTRIBUTION"
	case p.acceptOp("("):
		d.What = "COLUMN"
		for {
			d.Columns = append(d.Columns, p.objectName("a column name"))
			if !p.acceptOp(",") {
				break
			}
		}
		p.expectOp(")")
	default:
		d.What = "COLUMN"
		d.Columns = []ast.ObjectName{p.objectName("a column name")}
	}
	d.Span = p.spanFrom(at)
	return d
}

func (p *parser) addPartitions(at int) ast.AlterAction {
	a := &ast.AddPartitions{IfNotExists: p.ifNotExists()}
	for {
		a.Partitions = append(a.Partitions, *p.partitionSpec())
		a.Options = append(a.Options, p.optionalWith())
		if !p.kw("PARTITION") {
			break
		}
	}
	a.Span = p.spanFrom(at)
	return a
}

func (p *parser) alterMaterializedTable() ast.AlterAction {
	at := p.i
	switch {
	case p.is("SUSPEND"), p.is("RESUME"), p.is("REFRESH"):
		a := &ast.AlterRefresh{What: p.tok().up}
		p.i++
		switch a.What {
		case "RESUME":
			a.Options = p.optionalWith()
		case "REFRESH":
			a.Partition = p.optionalPartition()
		}
		a.Span = p.spanFrom(at)
		return a
	case p.accept("AS"):
		return p.alterQuery(at)
	case p.accept("SET"):
		if p.op("(") {
			return p.setOptions(at)
		}
		a := &ast.SetFreshness{}
		switch {
		case p.accept("FRESHNESS"):
			p.expectOp("=")
			if !p.kw("INTERVAL") {
				p.unexpected("")
			}
			a.Freshness = p.interval()
		case p.accept("REFRESH_MODE"):
			p.expectOp("=")
			if a.RefreshMode = p.acceptAny("CONTINUOUS", "FULL"); a.RefreshMode == "" {
				p.unexpected("")
			}
		default:
			p.unexpected("")
		}
		a.Span = p.spanFrom(at)
		return a
	case p.accept("RESET"):
		return p.resetOptions(at)
	case p.accept("ADD"):
		return p.addElements(at, false)
	case p.accept("MODIFY"):
		return p.addElements(at, true)
	case p.kw("DROP"):
		p.i++
		if p.is("PARTITION") || p.is("IF") {
			p.unexpected("a column name")
		}
		return p.dropElements(at)
	case p.accept("RENAME"):
		return p.renameTo(at)
	}
	p.want("SUSPEND")
	p.want("RESUME")
	p.want("REFRESH")
	p.unexpected("")
	return nil
}

func (p *parser) drop() ast.Statement {
	p.expect("DROP")
	s := &ast.Drop{}
	s.Temporary = p.accept("TEMPORARY")
	s.System = s.Temporary && p.accept("SYSTEM")
	switch {
	case p.accept("FUNCTION"):
		s.Kind = ast.FunctionObject
	case s.System:
		p.unexpected("")
	case p.accept("TABLE"):
		s.Kind = ast.TableObject
	case p.accept("VIEW"):
		s.Kind = ast.ViewObject
	case p.accept("MODEL"):
		s.Kind = ast.ModelObject
	case s.Temporary:
		p.unexpected("")
	case p.accept("CATALOG"):
		s.Kind = ast.CatalogObject
	case p.accept("DATABASE"):
		s.Kind = ast.DatabaseObject
	case p.accept("MATERIALIZED"):
		p.expect("TABLE")
		s.Kind = ast.MaterializedTableObject
	default:
		p.refuseConnection("DROP")
		if p.is("SCHEMA") {
			p.i++
			p.noSchema()
		}
		p.unexpected("")
	}
	s.IfExists = p.ifExists()
	switch s.Kind {
	case ast.CatalogObject:
		id := p.identFor("a catalog name")
		s.Name = ast.ObjectName{Span: id.Span, Parts: []ast.Ident{id}}
	case ast.DatabaseObject:
		s.Name = p.databaseName()
		s.Behavior = p.acceptAny("RESTRICT", "CASCADE")
	default:
		s.Name = p.objectName("a name")
	}
	return s
}
