package parser

import "github.com/weir-sql/weir/parser/ast"

func (p *parser) insertInto() ast.Statement {
	p.expect("INSERT")
	s := &ast.Insert{}
	if p.accept("OVERWRITE") {
		s.Overwrite = true
		p.acceptTable()
	} else {
		p.expect("INTO")
		p.acceptTable()
	}
	s.Target = p.objectName("a table name")
	s.Hints = p.hints()
	if p.kw("PARTITION") {
		s.Partition = p.partitionSpec()
	}
	if p.op("(") && !p.isQuery(p.i) {
		p.i++
		for {
			s.Columns = append(s.Columns, p.objectName("a column name"))
			if !p.acceptOp(",") {
				break
			}
		}
		p.expectOp(")")
	}
	s.Query = p.fullQuery()
	if p.accept("ON") {
		p.expect("CONFLICT", "DO")
		if s.OnConflict = p.acceptAny("NOTHING", "ERROR", "DEDUPLICATE"); s.OnConflict == "" {
			p.unexpected("")
		}
	}
	return s
}

// acceptTable takes the word TABLE that Hive writes.
func (p *parser) acceptTable() {
	if p.is("TABLE") {
		p.failAt(p.tok(), CodeSyntax, "leave it out", "INSERT takes the name of a table without the word TABLE")
	}
}

// execute parses what begins with EXECUTE.
func (p *parser) execute() ast.Statement {
	p.expect("EXECUTE")
	switch {
	case p.kw("STATEMENT"):
		return p.statementSet()
	case p.kw("PLAN"):
		return p.executePlan()
	case p.kw("INSERT"):
		return p.insertInto()
	case p.is("SELECT"), p.is("WITH"), p.is("VALUES"):
		return p.queryStatement()
	}
	p.unexpected("")
	return nil
}

func (p *parser) statementSet() ast.Statement {
	p.expect("STATEMENT", "SET", "BEGIN")
	return p.statementSetBody()
}

// oldStatementSet parses BEGIN STATEMENT SET; .. END.
func (p *parser) oldStatementSet() ast.Statement {
	if p.peek(1).up != "STATEMENT" {
		p.notSupported(p.tok(), "BEGIN", "there are no transactions; a set of INSERTs is EXECUTE STATEMENT SET BEGIN .. END")
	}
	p.expect("BEGIN", "STATEMENT", "SET")
	p.expectOp(";")
	return p.statementSetBody()
}

func (p *parser) statementSetBody() ast.Statement {
	set := &ast.StatementSet{}
	for !p.accept("END") {
		if !p.kw("INSERT") && !p.is("EXECUTE", "INSERT") {
			p.unexpected("")
		}
		s, ok := p.statement().(*ast.Insert)
		if !ok {
			p.unexpected("INSERT")
		}
		set.Inserts = append(set.Inserts, s)
		p.expectOp(";")
	}
	if len(set.Inserts) == 0 {
		p.failAt(p.prev(), CodeValue, "", "a statement set needs at least one INSERT")
	}
	return set
}

func (p *parser) update() ast.Statement {
	p.expect("UPDATE")
	s := &ast.Update{Table: p.objectName("a table name")}
	s.Hints = p.hints()
	s.Alias = p.tableAlias()
	p.expect("SET")
	for {
		src := p.i
		a := ast.Assignment{Column: p.identFor("a column name")}
		p.expectOp("=")
		a.Value = p.expression()
		a.Span = p.spanFrom(src)
		s.Set = append(s.Set, a)
		if !p.acceptOp(",") {
			break
		}
	}
	if p.accept("WHERE") {
		s.Where = p.expression()
	}
	return s
}

func (p *parser) delete() ast.Statement {
	p.expect("DELETE", "FROM")
	s := &ast.Delete{Table: p.objectName("a table name")}
	s.Hints = p.hints()
	s.Alias = p.tableAlias()
	if p.accept("WHERE") {
		s.Where = p.expression()
	}
	return s
}

func (p *parser) truncate() ast.Statement {
	p.expect("TRUNCATE", "TABLE")
	return &ast.Truncate{Table: p.objectName("a table name")}
}

func (p *parser) callProcedure() ast.Statement {
	p.expect("CALL")
	t := p.tok()
	if !p.isName(0) || !p.isCall() {
		p.objectName("a procedure")
		p.expectOp("(")
	}
	c, ok := p.expression().(*ast.Call)
	if !ok {
		p.failAt(t, CodeSyntax, "", "CALL takes procedure(args)")
	}
	return &ast.CallProcedure{Call: c}
}

func (p *parser) compile() ast.Statement {
	p.expect("COMPILE")
	s := &ast.Plan{Compile: true}
	if p.accept("AND") {
		p.expect("EXECUTE")
		s.Execute = true
	}
	p.expect("PLAN")
	s.File = p.stringLit("the plan's file as a string")
	s.IfNotExists = p.ifNotExists()
	p.expect("FOR")
	switch {
	case p.kw("INSERT"):
		s.Statement = p.statement()
	case p.kw("STATEMENT"):
		s.Statement = p.innerStatementSet()
	default:
		p.unexpected("")
	}
	return s
}

// innerStatementSet parses STATEMENT SET BEGIN .. END inside another statement.
func (p *parser) innerStatementSet() ast.Statement {
	src := p.i
	s := p.statementSet()
	b := s.Base()
	b.Span = p.sourceSpan(src)
	b.Source = p.text[b.Start.Offset:b.Stop]
	return s
}

func (p *parser) executePlan() ast.Statement {
	p.expect("PLAN")
	return &ast.Plan{Execute: true, File: p.stringLit("the plan's file as a string")}
}

func (p *parser) analyze() ast.Statement {
	p.expect("ANALYZE", "TABLE")
	s := &ast.AnalyzeTable{Table: p.objectName("a table name"), Partition: p.optionalPartition()}
	p.expect("COMPUTE", "STATISTICS")
	if p.accept("FOR") {
		if p.accept("ALL") {
			p.expect("COLUMNS")
			s.AllColumns = true
			return s
		}
		p.expect("COLUMNS")
		for {
			s.Columns = append(s.Columns, p.identFor("a column name"))
			if !p.acceptOp(",") {
				break
			}
		}
	}
	return s
}
