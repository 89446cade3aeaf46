package parser

import (
	"slices"
	"strings"

	"github.com/weir-sql/weir/parser/ast"
)

// typeNames are the names of types that take no other types, with the most
// numbers that each may have in parentheses.
var typeNames = map[string]int{
	"CHAR": 1, "VARCHAR": 1, "STRING": 0, "BOOLEAN": 0, "BINARY": 1, "VARBINARY": 1, "BYTES": 0, "DECIMAL": 2, "TINYINT": 0,
	"SMALLINT": 0, "INT": 0, "BIGINT": 0, "FLOAT": 0, "DOUBLE": 0, "DATE": 0, "TIME": 1, "TIMESTAMP": 1, "TIMESTAMP_LTZ": 1, "VARIANT": 0, "BITMAP": 0,
}

// typeSynonyms are other names for the same type.
var typeSynonyms = map[string]string{"INTEGER": "INT", "DEC": "DECIMAL", "NUMERIC": "DECIMAL", "CHARACTER": "CHAR"}

// foreignTypes are names of other systems, with ours.
var foreignTypes = map[string]string{
	"TEXT": "STRING", "INT2": "SMALLINT", "INT4": "INT", "INT8": "BIGINT", "INT64": "BIGINT", "INT32": "INT", "LONG": "BIGINT",
	"REAL": "FLOAT", "FLOAT4": "FLOAT", "FLOAT8": "DOUBLE", "FLOAT64": "DOUBLE", "DATETIME": "TIMESTAMP", "TIMESTAMPTZ": "TIMESTAMP_LTZ",
	"BOOL": "BOOLEAN", "BLOB": "BYTES", "BYTEA": "BYTES", "NUMBER": "DECIMAL", "UUID": "STRING", "JSON": "STRING", "STRUCT": "ROW",
	"SHORT": "SMALLINT", "BYTE": "TINYINT", "NVARCHAR": "VARCHAR", "NCHAR": "CHAR", "BIGDECIMAL": "DECIMAL", "LIST": "ARRAY",
}

// typeName parses a data type.
func (p *parser) typeName() *ast.TypeName {
	defer p.enter()()
	src := p.i
	t := p.tok()
	if t.kind != tokIdent {
		p.unexpected("a data type")
	}
	ty := &ast.TypeName{Name: t.up}
	if s, ok := typeSynonyms[t.up]; ok {
		ty.Name = s
	}
	p.i++
	switch ty.Name {
	case "ARRAY", "MULTISET":
		p.expectOp("<")
		ty.Elem = p.typeName()
		p.expectOp(">")
	case "MAP":
		p.expectOp("<")
		ty.Key = p.typeName()
		p.expectOp(",")
		ty.Elem = p.typeName()
		p.expectOp(">")
	case "ROW":
		p.rowType(ty)
	case "STRUCTURED":
		p.expectOp("<")
		ty.Strings = append(ty.Strings, p.stringLit("the name of a class"))
		if p.acceptOp(",") {
			p.typeFields(ty, ">")
		} else {
			p.expectOp(">")
		}
	case "INTERVAL":
		q := p.intervalQualifier()
		ty.Interval = &q
	case "RAW":
		p.expectOp("(")
		ty.Strings = append(ty.Strings, p.stringLit("the name of a class"))
		p.expectOp(",")
		ty.Strings = append(ty.Strings, p.stringLit("a serializer"))
		p.expectOp(")")
	default:
		p.simpleType(ty, t)
	}
	if p.accept("NOT") {
		p.expect("NULL")
		ty.NotNull = true
	} else if p.is("NULL") && p.peek(1).up != "ON" { // not JSON's NULL ON EMPTY
		p.i++
	}
	ty.Span = p.spanFrom(src)
	for n := 0; p.is("ARRAY") || p.is("MULTISET"); n++ { // INT ARRAY, the standard's spelling
		if n > maxDepth {
			p.failAt(p.tok(), CodeLimit, "", "nesting is deeper than %d levels", maxDepth)
		}
		ty.NotNull = true // as Flink reads it: INT ARRAY is ARRAY<INT NOT NULL>
		ty = &ast.TypeName{Name: p.tok().up, Elem: ty}
		p.i++
		if p.accept("NOT") {
			p.expect("NULL")
			ty.NotNull = true
		}
		ty.Span = p.spanFrom(src)
	}
	return ty
}

func (p *parser) rowType(ty *ast.TypeName) {
	closer := ">"
	switch {
	case p.acceptOp("<>"):
		return
	case p.acceptOp("<"):
	case p.acceptOp("("):
		closer = ")"
	default:
		p.unexpected("")
	}
	if !p.acceptOp(closer) {
		p.typeFields(ty, closer)
	}
}

// typeFields takes name type, .. up to the closer.
func (p *parser) typeFields(ty *ast.TypeName, closer string) {
	for {
		at := p.i
		f := ast.TypeField{Name: p.identFor("a field name")}
		if p.op(closer) || p.op(",") {
			p.unexpected("a data type")
		}
		f.Type = p.typeName()
		if p.accept("COMMENT") || p.isString() {
			c := p.stringLit("a comment")
			f.Comment = &c
		}
		f.Span = p.spanFrom(at)
		ty.Fields = append(ty.Fields, f)
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(closer)
}

func (p *parser) simpleType(ty *ast.TypeName, t *token) {
	numbers, ok := typeNames[ty.Name]
	if !ok {
		if n := foreignTypes[t.up]; n != "" {
			p.failAt(t, CodeSyntax, "use "+n, "there is no data type %s", t.text)
		}
		names := []string{"ARRAY", "MAP", "MULTISET", "ROW", "STRUCTURED", "INTERVAL", "RAW", "INTEGER"}
		for n := range typeNames {
			names = append(names, n)
		}
		slices.Sort(names)
		hint := ""
		if n := nearest(t.text, names); n != "" {
			hint = "did you mean " + n + "?"
		}
		p.failAt(t, CodeSyntax, hint, "there is no data type %s", t.text)
	}
	if ty.Name == "DOUBLE" {
		p.accept("PRECISION")
	}
	if (ty.Name == "CHAR" || ty.Name == "BINARY") && p.accept("VARYING") {
		ty.Name = "VAR" + ty.Name
	}
	if p.op("(") && numbers == 0 {
		p.failAt(p.tok(), CodeSyntax, "", "%s has no length or precision", ty.Name)
	}
	if numbers > 0 && p.acceptOp("(") {
		ty.Params = append(ty.Params, p.smallInt("a whole number"))
		if numbers > 1 && p.acceptOp(",") {
			ty.Params = append(ty.Params, p.smallInt("a whole number"))
		}
		p.expectOp(")")
	}
	if strings.HasSuffix(ty.Name, "CHAR") && p.is("CHARACTER", "SET") {
		p.notSupported(p.tok(), "CHARACTER SET", "strings are UTF-8")
	}
	if ty.Name != "TIME" && ty.Name != "TIMESTAMP" {
		return
	}
	switch {
	case p.is("WITHOUT", "TIME", "ZONE"):
		p.i += 3
	case p.is("WITH", "LOCAL") && ty.Name == "TIMESTAMP":
		p.i += 2
		p.expect("TIME", "ZONE")
		ty.Name = "TIMESTAMP_LTZ"
	case p.is("WITH", "TIME", "ZONE"):
		p.notSupported(t, ty.Name+" WITH TIME ZONE", "use TIMESTAMP_LTZ")
	}
}
