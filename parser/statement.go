package parser

import (
	"slices"
	"strings"

	"github.com/weir-sql/weir/parser/ast"
)

// statements are the words that a statement may begin with.
var statements map[string]func(*parser) ast.Statement

// init, since the functions refer to the map.
func init() {
	statements = map[string]func(*parser) ast.Statement{
		"SELECT": (*parser).queryStatement, "WITH": (*parser).queryStatement, "VALUES": (*parser).queryStatement,
		"TABLE":  (*parser).queryStatement,
		"INSERT": (*parser).insertInto, "EXECUTE": (*parser).execute, "BEGIN": (*parser).oldStatementSet,
		"UPDATE": (*parser).update, "DELETE": (*parser).delete, "TRUNCATE": (*parser).truncate, "CALL": (*parser).callProcedure,
		"CREATE": (*parser).create, "REPLACE": (*parser).create, "ALTER": (*parser).alter, "DROP": (*parser).drop,
		"SET": (*parser).set, "RESET": (*parser).reset, "USE": (*parser).use,
		"SHOW": (*parser).show, "DESCRIBE": (*parser).describe, "DESC": (*parser).describe, "EXPLAIN": (*parser).explain,
		"ADVISE": (*parser).advise, "STOP": (*parser).stopJob,
		"COMPILE": (*parser).compile, "ANALYZE": (*parser).analyze,
		"ADD": (*parser).jar, "REMOVE": (*parser).jar, "LOAD": (*parser).module, "UNLOAD": (*parser).module,
		"QUIT": (*parser).client, "EXIT": (*parser).client, "CLEAR": (*parser).client, "HELP": (*parser).client,
	}
}

// foreignStatements are statements of other systems, with a word on each.
var foreignStatements = map[string]string{
	"MERGE": "use INSERT INTO with an updating query", "COPY": "use INSERT INTO and SELECT FROM 'file'", "COMMIT": "there are no transactions",
	"ROLLBACK": "there are no transactions", "START": "there are no transactions", "GRANT": "", "REVOKE": "", "PIVOT": "", "ATTACH": "",
	"UPSERT": "use INSERT INTO a table with a PRIMARY KEY", "IMPORT": "", "PRAGMA": "use SET", "DECLARE": "", "VACUUM": "",
}

func statementWords() []string {
	out := make([]string, 0, len(statements))
	for w := range statements {
		out = append(out, w)
	}
	slices.Sort(out)
	return out
}

// statement parses one statement, up to its semicolon.
func (p *parser) statement() ast.Statement {
	defer p.enter()()
	src := p.i
	t := p.tok()
	var s ast.Statement
	switch parse, ok := statements[t.up]; {
	case ok && t.kind == tokIdent:
		s = parse(p)
	case p.op("("):
		s = p.queryStatement()
	default:
		if hint, ok := foreignStatements[t.up]; ok && t.kind == tokIdent {
			p.notSupported(t, t.up, hint)
		}
		if t.kind == tokIdent {
			hint := ""
			if n := nearest(t.text, statementWords()); n != "" {
				hint = "did you mean " + n + "?"
			}
			panic(bail{&Error{Pos: t.pos, End: t.end, Msg: "no statement begins with " + show(t), Expected: statementWords(), Hint: hint, Code: CodeSyntax}})
		}
		p.unexpected("a statement")
	}
	b := s.Base()
	b.Span = p.sourceSpan(src)
	b.Source = p.text[b.Start.Offset:b.Stop]
	return s
}

func (p *parser) queryStatement() ast.Statement {
	return &ast.QueryStatement{Query: p.fullQuery()}
}

// noteStatement records a statement that Flink does not have, from its first
// word to the last one taken.
func (p *parser) noteStatement() {
	s := p.spanFrom(p.start)
	portable := ""
	if text := p.text[s.Start.Offset:s.Stop]; !strings.Contains(text, "*/") {
		portable = "/*weir " + text + " */"
	}
	p.note(s.Start, s.Stop, p.toks[p.start].weir, ast.ExtStatement, portable)
}

// ---- parts that several statements have

// options takes WITH's ( 'key' = 'value', ... ). Of a key given twice the last
// value counts, in the first one's place (measured on Flink).
func (p *parser) options() []ast.Option {
	p.expectOp("(")
	out := []ast.Option{}
	seen := map[string]int{}
	if p.acceptOp(")") {
		return out
	}
	for {
		o := p.option()
		if i, ok := seen[o.Key.Value]; ok {
			out[i] = o
		} else {
			seen[o.Key.Value] = len(out)
			out = append(out, o)
		}
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")")
	return out
}

func (p *parser) option() ast.Option {
	src := p.i
	o := ast.Option{Key: p.stringLit("an option's key as a string")}
	p.expectOp("=")
	if t := p.tok(); t.kind == tokNumber || t.kind == tokIdent && !p.isString() {
		p.failAt(t, CodeSyntax, "write '"+t.text+"'", "an option's value is a string")
	}
	o.Value = p.stringLit("an option's value as a string")
	o.Span = p.spanFrom(src)
	p.noteOption(o, p.toks[src].weir)
	return o
}

func (p *parser) optionalWith() []ast.Option {
	if p.accept("WITH") {
		return p.options()
	}
	return nil
}

func (p *parser) optionalComment() *ast.StringLit {
	if p.accept("COMMENT") {
		c := p.stringLit("the comment as a string")
		return &c
	}
	return nil
}

func (p *parser) ifNotExists() bool {
	if p.accept("IF") {
		p.expect("NOT", "EXISTS")
		return true
	}
	return false
}

func (p *parser) ifExists() bool {
	if p.is("IF") && p.peek(1).up == "EXISTS" {
		p.i += 2
		return true
	}
	p.want("IF EXISTS")
	return false
}

// partitionSpec takes PARTITION (column [= value], ...), from the word on.
func (p *parser) partitionSpec() *ast.PartitionSpec {
	src := p.i
	p.expect("PARTITION")
	s := &ast.PartitionSpec{}
	p.expectOp("(")
	for {
		at := p.i
		v := ast.PartitionValue{Column: p.identFor("a column name")}
		if p.acceptOp("=") {
			t := p.tok()
			x := p.expression()
			if u, ok := x.(*ast.Unary); ok && u.Op == "-" {
				if n, ok := u.X.(*ast.Literal); ok && n.Kind == ast.NumberLit {
					x = &ast.Literal{Span: u.Span, Kind: ast.NumberLit, Value: "-" + n.Value, Text: "-" + n.Text}
				}
			}
			l, ok := x.(*ast.Literal)
			if !ok {
				p.failAt(t, CodeSyntax, "", "a partition's value must be a literal")
			}
			v.Value = l
		}
		v.Span = p.spanFrom(at)
		s.Values = append(s.Values, v)
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")")
	s.Span = p.spanFrom(src)
	return s
}

func (p *parser) optionalPartition() *ast.PartitionSpec {
	if p.kw("PARTITION") {
		return p.partitionSpec()
	}
	return nil
}
