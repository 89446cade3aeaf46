// Package parser turns SQL text into syntax trees (package ast).
//
// Statements and DDL are parsed by hand. Queries and expressions are rewritten
// into a small subset of MySQL in which every name, literal and call is a
// numbered slot; TiDB's parser does the structure of that, and the slots are put
// back (package internal/mysql). Every error has the line and column of the
// user's own text.
//
// Functions of this package are safe for concurrent use.
package parser

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/parser/internal/mysql"
)

// Limits of what is parsed. What is beyond them is refused with CodeLimit.
const (
	MaxText      = 1 << 20 // bytes of what is parsed at once
	maxDepth     = 300     // nesting of queries, expressions and types
	maxOperators = 10_000  // operators of one expression, set operations of one query
	maxJoins     = 1_000   // tables of one FROM
)

// Parse parses a script: statements separated by semicolons, the last of which
// may lack its own. The error, if any, is an *Error about the first broken
// statement; the statements before it are given too.
func Parse(text string) ([]ast.Statement, error) {
	if err := checkSize(text); err != nil {
		return nil, err
	}
	p := newParser(text, ast.Pos{Line: 1, Column: 1}, len(text))
	var out []ast.Statement
	for {
		s, err := p.parseNext()
		if s == nil || err != nil {
			return out, err
		}
		out = append(out, s)
	}
}

// ParseStatement parses a text that is one statement, with or without its
// semicolon. The error, if any, is an *Error.
func ParseStatement(text string) (ast.Statement, error) {
	stmts, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if len(stmts) == 1 {
		return stmts[0], nil
	}
	e := &Error{Pos: ast.Pos{Line: 1, Column: 1}, Msg: "expected a statement but found nothing", Code: CodeSyntax}
	if len(stmts) > 1 {
		e.Pos, e.End = stmts[1].Pos(), stmts[1].End()
		e.Msg = "expected one statement but found several"
	}
	return nil, e
}

// ParsePart parses one part of a script as Split gives it. Positions are those
// in the whole text, which may be longer than MaxText as long as the part is not.
// The error, if any, is an *Error.
func ParsePart(text string, part Part) (ast.Statement, error) {
	if err := checkSize(text[part.Start.Offset:part.End]); err != nil {
		e := err.(*Error)
		e.Pos, e.End = part.Start, part.Start.Offset
		return nil, e
	}
	p := newParser(text, part.Start, part.End)
	s, err := p.parseNext()
	if err == nil && s == nil {
		return nil, &Error{Pos: part.Start, End: part.End, Msg: "expected a statement but found nothing", Code: CodeSyntax}
	}
	return s, err
}

// ParseExpr parses one expression. The error, if any, is an *Error.
func ParseExpr(text string) (x ast.Expr, err error) {
	if err := checkSize(text); err != nil {
		return nil, err
	}
	p := newParser(text, ast.Pos{Line: 1, Column: 1}, len(text))
	defer p.recover(&err)
	p.start = 0
	x = p.expression()
	if p.tok().kind != tokEOF {
		p.unexpected("the end of the expression")
	}
	return x, nil
}

func checkSize(text string) error {
	if len(text) <= MaxText {
		return nil
	}
	return &Error{Pos: ast.Pos{Line: 1, Column: 1}, Msg: fmt.Sprintf("the text has %d bytes; at most %d are parsed", len(text), MaxText), Code: CodeLimit}
}

// parser is the state of parsing one text. Its methods fail by panic(bail).
type parser struct {
	text  string
	toks  []token
	weirs []weirComment
	match []int // for an opening parenthesis, the index of the closing one, or -1
	i     int
	start int // the first token of the outermost statement
	depth int

	// out and slots are the rewritten query: see package internal/mysql.
	out   []mysql.Piece
	slots []mysql.Slot

	ext []ast.Extension

	// expected is what was looked for at token expectedAt, without success.
	expectedAt int
	expected   []string
	// aliasAt is the token last taken as an alias without AS, or -1: when the
	// next token is wrong, it may be a misspelled keyword.
	aliasAt int
}

type bail struct{ err *Error }

func newParser(text string, from ast.Pos, end int) *parser {
	l := lex(text, from, end)
	toks := l.toks
	p := &parser{text: text, toks: toks, weirs: l.weirs, expectedAt: -1, aliasAt: -1}
	p.match = make([]int, len(toks))
	var open []int
	for i, t := range toks {
		p.match[i] = -1
		if t.kind != tokOp {
			continue
		}
		switch t.text {
		case "(":
			open = append(open, i)
		case ")":
			if len(open) > 0 {
				p.match[open[len(open)-1]] = i
				open = open[:len(open)-1]
			}
		case ";":
			open = open[:0]
		}
	}
	return p
}

// recover turns a bail, and any other panic, into an error.
func (p *parser) recover(err *error) {
	switch r := recover().(type) {
	case nil:
	case bail:
		*err = r.err
	default:
		t := p.tok()
		*err = &Error{Pos: t.pos, End: t.end, Msg: fmt.Sprintf("internal error: %v", r), Code: CodeInternal,
			Hint: "this is a bug in Weir; please report it with the statement"}
	}
}

// parseNext parses the next statement; nil at the end of the text.
func (p *parser) parseNext() (s ast.Statement, err error) {
	defer p.recover(&err)
	for p.acceptOp(";") {
	}
	if p.tok().kind == tokEOF {
		return nil, nil
	}
	p.start = p.i
	p.out, p.slots, p.ext, p.depth, p.aliasAt = nil, nil, nil, 0, -1
	s = p.statement()
	p.endOfStatement()
	s.Base().Extensions = p.extensions()
	return s, nil
}

func (p *parser) endOfStatement() {
	if p.tok().kind != tokEOF && !p.op(";") {
		p.want("the end of the statement")
		p.unexpected("")
	}
}

// ---- tokens

func (p *parser) tok() *token       { return &p.toks[min(p.i, len(p.toks)-1)] }
func (p *parser) peek(n int) *token { return &p.toks[min(p.i+n, len(p.toks)-1)] }
func (p *parser) prev() *token      { return &p.toks[max(p.i-1, 0)] }

// is reports whether these bare words stand here.
func (p *parser) is(words ...string) bool {
	for n, w := range words {
		if t := p.peek(n); t.kind != tokIdent || t.up != w {
			return false
		}
	}
	return true
}

// kw is is, and remembers that the words would have been right here.
func (p *parser) kw(words ...string) bool {
	if p.is(words...) {
		return true
	}
	p.want(strings.Join(words, " "))
	return false
}

// accept takes the words when they stand here.
func (p *parser) accept(words ...string) bool {
	if p.kw(words...) {
		p.i += len(words)
		return true
	}
	return false
}

// acceptAny takes one of the words and gives it, or "".
func (p *parser) acceptAny(words ...string) string {
	for _, w := range words {
		if p.accept(w) {
			return w
		}
	}
	return ""
}

// expect takes the words or fails at the first one that is not there.
func (p *parser) expect(words ...string) {
	for _, w := range words {
		if !p.accept(w) {
			p.unexpected("")
		}
	}
}

func (p *parser) op(s string) bool { return p.opAt(0, s) }

func (p *parser) opAt(n int, s string) bool {
	t := p.peek(n)
	return t.kind == tokOp && t.text == s
}

func (p *parser) acceptOp(s string) bool {
	if p.op(s) {
		p.i++
		return true
	}
	p.want("'" + s + "'")
	return false
}

func (p *parser) expectOp(s string) {
	if !p.acceptOp(s) {
		p.unexpected("")
	}
}

// spanFrom is the span from token i to the last one taken.
func (p *parser) spanFrom(i int) ast.Span {
	return ast.Span{Start: p.toks[i].pos, Stop: p.prev().end}
}

// sourceSpan is spanFrom for text that is to be parsed again: a /*weir .. */ that
// it begins or ends in belongs to it, unless it is all in one.
func (p *parser) sourceSpan(i int) ast.Span {
	s := p.spanFrom(i)
	a, b := weirAround(p.weirs, s.Start.Offset), weirAround(p.weirs, s.Stop-1)
	if a != nil && a != b {
		s.Start = a.start
	}
	if b != nil && a != b && p.prev().kind != tokHint {
		s.Stop = b.end
	}
	return s
}

// Parens implements mysql.Source.
func (p *parser) Parens(i int) (ast.Span, bool) {
	if m := p.match[i]; m >= 0 {
		return ast.Span{Start: p.toks[i].pos, Stop: p.toks[m].end}, true
	}
	return ast.Span{}, false
}

// Start implements mysql.Source.
func (p *parser) Start(i int) ast.Pos { return p.toks[i].pos }

func (p *parser) enter() func() {
	p.depth++
	if p.depth > maxDepth {
		p.failAt(p.tok(), CodeLimit, "", "nesting is deeper than %d levels", maxDepth)
	}
	return p.leave
}

func (p *parser) leave() { p.depth-- }

// ---- errors

// want remembers that something would have been right at this token.
func (p *parser) want(what string) { p.wantAt(p.i, what) }

func (p *parser) wantAt(i int, what string) {
	if p.expectedAt != i {
		p.expectedAt, p.expected = i, p.expected[:0]
	}
	if !slices.Contains(p.expected, what) {
		p.expected = append(p.expected, what)
	}
}

func show(t *token) string {
	switch t.kind {
	case tokEOF:
		return "the end"
	case tokString:
		s := t.text
		if r := []rune(s); len(r) > 30 {
			s = string(r[:27]) + "..."
		}
		return "the string '" + s + "'"
	case tokHint:
		return "a hint"
	case tokQuoted:
		return "`" + t.text + "`"
	case tokBinary:
		return "X'" + t.text + "'"
	}
	return "'" + t.text + "'"
}

// failAt fails at a token.
func (p *parser) failAt(t *token, code, hint, format string, args ...any) {
	if t.err != nil && code != CodeLimit {
		panic(bail{t.err})
	}
	panic(bail{&Error{Pos: t.pos, End: t.end, Msg: fmt.Sprintf(format, args...), Hint: hint, Code: code}})
}

// notSupported fails for known SQL that Weir does not have.
func (p *parser) notSupported(t *token, what, hint string) {
	p.failAt(t, CodeNotSupported, hint, "%s is not supported", what)
}

// unexpected fails at the current token. what says what should stand here; when
// empty, what was looked for before is listed.
func (p *parser) unexpected(what string) {
	t := p.tok()
	var exp []string
	if p.expectedAt == p.i {
		exp = slices.Clone(p.expected)
	}
	if what != "" && !slices.Contains(exp, what) {
		exp = append([]string{what}, exp...)
	}
	// A word taken as an alias may be the keyword that is missed here:
	// SELECT a FORM t.
	if p.aliasAt >= 0 && p.aliasAt == p.i-1 && t.err == nil {
		a := &p.toks[p.aliasAt]
		if n := nearest(a.text, firstWords(exp)); n != "" {
			panic(bail{&Error{Pos: a.pos, End: a.end, Msg: "unexpected " + show(a), Expected: exp, Hint: "did you mean " + n + "?", Code: CodeSyntax}})
		}
	}
	e := &Error{Pos: t.pos, End: t.end, Expected: exp, Code: CodeSyntax}
	if t.err != nil {
		panic(bail{t.err})
	}
	if t.kind == tokEOF {
		// The caret belongs behind the last word, not behind blanks and comments.
		if p.i > 0 {
			e.Pos = endPos(p.text, p.prev())
			e.End = e.Pos.Offset
		}
	}
	short := exp
	switch {
	case what != "":
		short = []string{what}
	case len(short) > 6:
		short = append(slices.Clone(short[:5]), "...")
	}
	if len(short) > 0 {
		e.Msg = "expected " + orList(short) + " but found " + show(t)
	} else {
		e.Msg = "unexpected " + show(t)
	}
	if t.kind == tokIdent {
		if n := nearest(t.text, firstWords(exp)); n != "" {
			e.Hint = "did you mean " + n + "?"
		}
	}
	panic(bail{e})
}

// endPos is the place directly behind a token.
func endPos(text string, t *token) ast.Pos {
	pos := t.pos
	for _, r := range text[t.pos.Offset:t.end] {
		if r == '\n' {
			pos.Line++
			pos.Column = 1
		} else {
			pos.Column++
		}
	}
	pos.Offset = t.end
	return pos
}

// firstWords gives the keywords that could be meant by a misspelled word.
func firstWords(exp []string) []string {
	var out []string
	for _, e := range exp {
		if w, _, _ := strings.Cut(e, " "); w != "" && w == strings.ToUpper(w) && w[0] >= 'A' && w[0] <= 'Z' {
			out = append(out, w)
		}
	}
	return out
}

func orList(s []string) string {
	switch n := len(s) - 1; {
	case n == 0:
		return s[0]
	case s[n] == "...":
		return strings.Join(s, ", ")
	default:
		return strings.Join(s[:n], ", ") + " or " + s[n]
	}
}

// ---- names and literals

// isName reports whether a name may stand at offset n: a quoted one, or a word
// that is not reserved.
func (p *parser) isName(n int) bool {
	t := p.peek(n)
	return t.kind == tokQuoted || t.kind == tokIdent && !reserved[t.up]
}

func (p *parser) ident() ast.Ident { return p.identFor("a name") }

func (p *parser) identFor(what string) ast.Ident {
	t := p.tok()
	if !p.isName(0) {
		if t.kind == tokIdent {
			hint := fmt.Sprintf("write `%s` to use it as a name", t.text)
			p.failAt(t, CodeReserved, hint, "expected %s but found the reserved word %s", what, t.text)
		}
		p.unexpected(what)
	}
	p.i++
	p.noteReserved(t)
	return identOf(t)
}

// anyIdent takes a name that may be any word: behind a dot.
func (p *parser) anyIdent() ast.Ident {
	t := p.tok()
	if t.kind != tokIdent && t.kind != tokQuoted {
		p.unexpected("a name")
	}
	p.i++
	p.noteReserved(t)
	return identOf(t)
}

func identOf(t *token) ast.Ident {
	return ast.Ident{Span: ast.Span{Start: t.pos, Stop: t.end}, Name: t.text, Quoted: t.kind == tokQuoted}
}

// dotted takes name[.name]...
func (p *parser) dotted(what string) []ast.Ident {
	parts := []ast.Ident{p.identFor(what)}
	for p.op(".") && (p.peek(1).kind == tokIdent || p.peek(1).kind == tokQuoted) {
		p.i++
		parts = append(parts, p.anyIdent())
	}
	return parts
}

// objectName takes a name of up to three parts.
func (p *parser) objectName(what string) ast.ObjectName {
	i := p.i
	parts := p.dotted(what)
	if len(parts) > 3 {
		p.failAt(&p.toks[i], CodeValue, "", "%s has at most three parts: catalog.database.name", what)
	}
	if p.op(".") {
		p.i++
		p.unexpected("a name")
	}
	return ast.ObjectName{Span: p.spanFrom(i), Parts: parts}
}

// identList takes ( name, ... ).
func (p *parser) identList(what string) []ast.Ident {
	p.expectOp("(")
	var out []ast.Ident
	for {
		out = append(out, p.identFor(what))
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")")
	return out
}

func (p *parser) stringLit(what string) ast.StringLit {
	t := p.tok()
	if t.kind != tokString {
		p.unexpected(what)
	}
	p.i++
	return stringOf(t)
}

func stringOf(t *token) ast.StringLit {
	return ast.StringLit{Span: ast.Span{Start: t.pos, Stop: t.end}, Value: t.text}
}

func (p *parser) isString() bool { return p.tok().kind == tokString }

// wholeNumber takes a number without sign, fraction and exponent, or ?.
func (p *parser) wholeNumber(what string) *ast.Literal {
	t := p.tok()
	if p.op("?") {
		p.i++
		return &ast.Literal{Span: ast.Span{Start: t.pos, Stop: t.end}, Kind: ast.ParameterLit, Value: t.text, Text: t.text}
	}
	if t.kind != tokNumber {
		p.unexpected(what)
	}
	if _, ok := parseInt(t.text); !ok {
		p.failAt(t, CodeValue, "", "expected %s but found %s", what, t.text)
	}
	p.i++
	return &ast.Literal{Span: ast.Span{Start: t.pos, Stop: t.end}, Kind: ast.NumberLit, Value: t.text, Text: t.text}
}

func parseInt(s string) (int, bool) {
	n := 0
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) || n > (1<<62)/10 {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, s != ""
}

// smallInt takes a whole number that fits an int32 (lengths, precisions).
func (p *parser) smallInt(what string) int {
	t := p.tok()
	if p.op("?") {
		p.unexpected(what)
	}
	l := p.wholeNumber(what)
	n, _ := parseInt(l.Value)
	if n > 1<<31-1 {
		p.failAt(t, CodeValue, "", "%s is too large for %s", t.text, what)
	}
	return n
}
