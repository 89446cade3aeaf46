package parser

import "github.com/weir-sql/weir/parser/ast"

// Part is one statement of a script as text: from Start up to the byte offset
// End, without the semicolon and without comments and blanks around it.
type Part struct {
	Start ast.Pos
	End   int
	// Next is the byte offset behind the semicolon (or the text's end).
	Next int
}

// Open says what is unfinished at the end of a text.
type Open string

// What may be unfinished. The values are fit for a prompt or a message.
const (
	OpenNothing      Open = ""
	OpenStatement    Open = "in statement" // only the semicolon is missing, for all that Split knows
	OpenString       Open = "in string"
	OpenName         Open = "in quoted name"
	OpenComment      Open = "in comment"
	OpenParenthesis  Open = "in parenthesis"
	OpenStatementSet Open = "in statement set"
)

// Rest is what follows the last semicolon.
type Rest struct {
	Open Open
	// Part is the unfinished statement; empty (End = Start.Offset) where there is none.
	Part Part
	// Pos is where the open string, comment, parenthesis or statement (set) begins.
	Pos ast.Pos
}

// Split cuts a script into statements. A statement ends at a semicolon outside
// of strings, quoted names and comments; the semicolons inside EXECUTE STATEMENT
// SET BEGIN .. END do not count. Empty statements vanish. Broken statements are
// cut in the same way, so that a runner can go on behind one.
//
// The last statement of a file may lack its semicolon: then rest.Part has it.
// A shell asks for another line as long as rest.Open is not OpenNothing.
func Split(text string) (parts []Part, rest Rest) {
	l := lex(text, ast.Pos{Line: 1, Column: 1}, len(text))
	first := 0 // index of the statement's first token
	set := false
	var brackets []ast.Pos
	for i, t := range l.toks {
		if t.kind == tokEOF {
			break
		}
		switch {
		case t.kind == tokOp && t.text == ";":
			if set {
				break
			}
			// BEGIN STATEMENT SET; .. END; is the older spelling of the same.
			if i == first+3 && l.words(first, "BEGIN", "STATEMENT", "SET") {
				set = true
				break
			}
			if i > first {
				parts = append(parts, l.part(first, i-1, t.end))
			}
			first = i + 1
			brackets = nil
		case t.kind == tokOp && (t.text == "(" || t.text == "["):
			brackets = append(brackets, t.pos)
		case t.kind == tokOp && (t.text == ")" || t.text == "]"):
			if len(brackets) > 0 {
				brackets = brackets[:len(brackets)-1]
			}
		case t.up == "BEGIN" && i >= first+2 && l.words(i-2, "STATEMENT", "SET"):
			set = true
		case t.up == "END" && set:
			// END ends the set where a statement might begin; elsewhere it is CASE's.
			if p := l.toks[i-1]; p.kind == tokOp && p.text == ";" || p.up == "BEGIN" {
				set = false
			}
		}
	}
	last := len(l.toks) - 1 // EOF
	if l.openComment.IsValid() {
		rest.Open, rest.Pos = OpenComment, l.openComment
	}
	if first == last {
		at := l.toks[last].pos
		rest.Part = Part{at, at.Offset, len(text)}
		return parts, rest
	}
	rest.Part = l.part(first, last-1, len(text))
	switch end := l.toks[last-1]; {
	case end.kind == tokBad && end.text == "'":
		rest.Open, rest.Pos = OpenString, end.pos
	case end.kind == tokBad && end.text == "`":
		rest.Open, rest.Pos = OpenName, end.pos
	case end.kind == tokBad && end.text == "/*":
		rest.Open, rest.Pos = OpenComment, end.pos
		if last-1 == first { // nothing but the comment
			rest.Part.End = rest.Part.Start.Offset
		}
	case set:
		rest.Open, rest.Pos = OpenStatementSet, l.toks[first].pos
	case len(brackets) > 0:
		rest.Open, rest.Pos = OpenParenthesis, brackets[len(brackets)-1]
	default:
		rest.Open, rest.Pos = OpenStatement, l.toks[first].pos
	}
	return parts, rest
}

// part is the text from one token to another, with the whole of a /*weir .. */
// that it begins or ends in.
func (l *lexer) part(first, last, next int) Part {
	p := Part{l.toks[first].pos, l.toks[last].end, next}
	if w := weirAround(l.weirs, p.Start.Offset); w != nil {
		p.Start = w.start
	}
	if w := weirAround(l.weirs, p.End-1); w != nil && l.toks[last].weir {
		p.End = w.end
	}
	return p
}

// words reports whether the bare words stand at token i.
func (l *lexer) words(i int, words ...string) bool {
	for k, w := range words {
		if i+k >= len(l.toks) || l.toks[i+k].up != w {
			return false
		}
	}
	return true
}
