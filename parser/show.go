package parser

import (
	"strings"

	"github.com/weir-sql/weir/parser/ast"
)

// showKinds are what SHOW shows, with what may follow: n a name that must follow,
// o one that may, i FROM|IN database, l LIKE, p PARTITION.
var showKinds = []struct {
	kind  ast.ShowKind
	parts string
}{
	{ast.ShowCurrentCatalog, ""}, {ast.ShowCurrentDatabase, ""},
	{ast.ShowCreateMaterialized, "n"}, {ast.ShowCreateTable, "n"}, {ast.ShowCreateView, "n"}, {ast.ShowCreateCatalog, "n"}, {ast.ShowCreateModel, "n"},
	{ast.ShowCatalogs, "l"}, {ast.ShowDatabases, "il"}, {ast.ShowTables, "il"}, {ast.ShowViews, "il"}, {ast.ShowMaterializedTables, "il"},
	{ast.ShowUserFunctions, "il"}, {ast.ShowFunctions, "il"}, {ast.ShowModels, "il"}, {ast.ShowProcedures, "il"},
	{ast.ShowFullModules, ""}, {ast.ShowModules, ""}, {ast.ShowJars, ""}, {ast.ShowJobs, ""},
	{ast.ShowColumns, "cl"}, {ast.ShowPartitions, "np"},
	{ast.ShowWatermarks, "w"}, {ast.ShowLateRows, "w"},
}

func (p *parser) show() ast.Statement {
	p.expect("SHOW")
	for _, k := range showKinds {
		words := strings.Fields(string(k.kind))
		if !p.is(words...) {
			continue
		}
		p.i += len(words)
		s := &ast.Show{Kind: k.kind}
		p.showRest(s, k.parts)
		return s
	}
	p.refuseConnection("SHOW")
	// SHOW CREATE, SHOW CURRENT, ...: the second word is wrong.
	first := p.tok().up
	for _, k := range showKinds {
		words := strings.Fields(string(k.kind))
		if len(words) > 1 && words[0] == first {
			p.wantAt(p.i+1, words[1])
		}
	}
	if p.expectedAt == p.i+1 {
		p.i++
		p.unexpected("")
	}
	for _, k := range showKinds {
		p.want(string(k.kind))
	}
	p.unexpected("")
	return nil
}

func (p *parser) showRest(s *ast.Show, parts string) {
	name := func(what string) {
		if p.isString() {
			f := p.stringLit(what)
			p.noteFile(p.prev())
			s.File = &f
			return
		}
		n := p.objectName(what)
		s.Name = &n
	}
	for _, part := range parts {
		switch part {
		case 'n':
			what := "a name"
			if s.Kind != ast.ShowCreateTable && p.isString() {
				p.unexpected(what)
			}
			name(what)
		case 'c': // SHOW COLUMNS FROM t
			if s.Preposition = p.acceptAny("FROM", "IN"); s.Preposition == "" {
				p.unexpected("")
			}
			name("a table name")
		case 'w': // Weir's: SHOW WATERMARKS [FROM t]
			if s.Preposition = p.acceptAny("FROM", "IN"); s.Preposition != "" {
				name("a table name")
			}
			p.noteStatement()
		case 'i':
			if s.Preposition = p.acceptAny("FROM", "IN"); s.Preposition != "" {
				n := p.databaseName()
				s.In = &n
			}
		case 'p':
			s.Partition = p.optionalPartition()
		case 'l':
			if p.accept("NOT") {
				s.Not = true
				if !p.kw("LIKE") && !p.kw("ILIKE") {
					p.unexpected("")
				}
			}
			if s.LikeOp = p.acceptAny("LIKE", "ILIKE"); s.LikeOp != "" {
				l := p.stringLit("a pattern as a string")
				s.Like = &l
			}
		}
	}
}

func (p *parser) describe() ast.Statement {
	p.i++
	s := &ast.Describe{Kind: ast.DescribeTable}
	named := func(n int) bool { return p.isName(n) || p.peek(n).up == "EXTENDED" }
	for _, k := range []ast.DescribeKind{ast.DescribeCatalog, ast.DescribeDatabase, ast.DescribeFunction, ast.DescribeModel} {
		if p.is(string(k)) && named(1) {
			p.i++
			s.Kind = k
			break
		}
	}
	if p.is("JOB") && p.peek(1).kind == tokString {
		p.i++
		s.Kind = ast.DescribeJob
		id := p.stringLit("the job's id as a string")
		s.Job = &id
		return s
	}
	if p.is("EXTENDED") && (p.isName(1) || p.peek(1).kind == tokString) {
		p.i++
		s.Extended = true
	}
	if p.is("TABLE") {
		p.failAt(p.tok(), CodeSyntax, "leave it out", "DESCRIBE takes the name of a table without the word TABLE")
	}
	if p.isString() && s.Kind == ast.DescribeTable {
		f := p.stringLit("a file")
		p.noteFile(p.prev())
		s.File = &f
		return s
	}
	s.Name = p.objectName("a name")
	return s
}

func (p *parser) explain() ast.Statement {
	p.expect("EXPLAIN")
	s := &ast.Explain{Kind: ast.ExplainPlan}
	switch {
	case p.is("PLAN"):
		p.i++
		p.expect("FOR")
	case p.kw("ANALYZE"), p.kw("WATERMARK"):
		s.Kind = ast.ExplainKind(p.tok().up)
		p.i++
		defer p.noteStatement()
	default:
		for {
			d := p.acceptAny("ESTIMATED_COST", "CHANGELOG_MODE", "PLAN_ADVICE", "JSON_EXECUTION_PLAN")
			if d == "" {
				if len(s.Details) > 0 {
					p.unexpected("")
				}
				break
			}
			s.Details = append(s.Details, d)
			if !p.acceptOp(",") {
				break
			}
		}
	}
	switch {
	case p.kw("STATEMENT"):
		s.Statement = p.innerStatementSet()
	case p.kw("SELECT"), p.kw("WITH"), p.kw("VALUES"), p.kw("INSERT"), p.kw("CREATE"), p.is("EXECUTE"), p.is("TABLE"), p.op("("):
		t := p.tok()
		s.Statement = p.statement()
		switch in := s.Statement.(type) {
		case *ast.QueryStatement, *ast.Insert, *ast.StatementSet:
		case *ast.CreateTable:
			if in.As == nil {
				p.failAt(t, CodeSyntax, "", "EXPLAIN takes CREATE TABLE only with AS and a query")
			}
		default:
			p.failAt(t, CodeSyntax, "", "EXPLAIN takes a query, INSERT or a statement set")
		}
	default:
		p.unexpected("")
	}
	return s
}

func (p *parser) advise() ast.Statement {
	p.expect("ADVISE", "WATERMARK", "FOR")
	s := &ast.AdviseWatermark{}
	if p.isString() {
		f := p.stringLit("a file")
		s.File = &f
	} else {
		s.Table = p.objectName("a table name")
	}
	s.Hints = p.hints()
	if p.acceptOp("(") {
		c := p.identFor("the event time column")
		s.Column = &c
		p.expectOp(")")
	}
	if p.accept("LIMIT") {
		s.Limit = p.wholeNumber("a number of rows")
	}
	p.noteStatement()
	return s
}

func (p *parser) stopJob() ast.Statement {
	p.expect("STOP", "JOB")
	s := &ast.StopJob{Job: p.stringLit("the job's id as a string")}
	for p.accept("WITH") {
		switch {
		case !s.Savepoint && p.accept("SAVEPOINT"):
			s.Savepoint = true
		case s.Savepoint && !s.Drain && p.accept("DRAIN"):
			s.Drain = true
		default:
			p.unexpected("")
		}
	}
	return s
}

// set parses SET, SET 'k' = 'v', and SET k = v.
func (p *parser) set() ast.Statement {
	p.expect("SET")
	s := &ast.Set{}
	if p.tok().kind == tokEOF || p.op(";") {
		return s
	}
	k := p.configText("a key as a string", "=")
	p.expectOp("=")
	v := p.configText("a value as a string", "")
	s.Key, s.Value = &k, &v
	return s
}

func (p *parser) reset() ast.Statement {
	p.expect("RESET")
	s := &ast.Reset{}
	if p.tok().kind == tokEOF || p.op(";") {
		return s
	}
	k := p.configText("a key as a string", "")
	s.Key = &k
	return s
}

// configText takes a key or value of SET: a string, or text without quotes and
// blanks up to the statement's end or the operator stop.
func (p *parser) configText(what, stop string) ast.StringLit {
	t := p.tok()
	if t.kind == tokString {
		p.i++
		return stringOf(t)
	}
	src := p.i
	for p.tok().kind != tokEOF && !p.op(";") && !p.op(stop) {
		u := p.tok()
		plain := u.kind == tokIdent || u.kind == tokNumber || u.kind == tokBad && isDigit(u.text[0]) || // 10s
			u.kind == tokOp && strings.Contains(".-:/+", u.text)
		if !plain || p.i > src && u.pos.Offset != p.prev().end {
			break
		}
		p.i++
	}
	if p.i == src {
		p.unexpected(what)
	}
	s := p.spanFrom(src)
	return ast.StringLit{Span: s, Value: p.text[s.Start.Offset:s.Stop]}
}

func (p *parser) use() ast.Statement {
	p.expect("USE")
	switch {
	case p.is("CATALOG") && p.isName(1):
		p.i++
		id := p.identFor("a catalog name")
		return &ast.Use{Kind: ast.UseCatalog, Name: ast.ObjectName{Span: id.Span, Parts: []ast.Ident{id}}}
	case p.is("MODULES") && p.isName(1):
		p.i++
		s := &ast.Use{Kind: ast.UseModules}
		for {
			s.Modules = append(s.Modules, p.identFor("a module name"))
			if !p.acceptOp(",") {
				return s
			}
		}
	}
	return &ast.Use{Kind: ast.UseDatabase, Name: p.databaseName()}
}

func (p *parser) jar() ast.Statement {
	s := &ast.Jar{Remove: p.is("REMOVE")}
	p.i++
	p.expect("JAR")
	s.Path = p.stringLit("a path as a string")
	return s
}

func (p *parser) module() ast.Statement {
	s := &ast.Module{Unload: p.is("UNLOAD")}
	p.i++
	p.expect("MODULE")
	s.Name = p.identFor("a module name")
	if !s.Unload {
		s.Options = p.optionalWith()
	}
	return s
}

func (p *parser) client() ast.Statement {
	s := &ast.Client{Command: p.tok().up}
	p.i++
	return s
}
