package parser

import (
	"fmt"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weir-sql/weir/parser/ast"
)

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	tokEOF    tokenKind = iota
	tokIdent            // a bare word
	tokQuoted           // `name`
	tokNumber           // the text as written
	tokString           // 'text', E'text', U&'text': escapes resolved
	tokBinary           // X'..': the digits
	tokOp               // an operator or a bracket
	tokHint             // the inside of /*+ .. */ or /*weir+ .. */
	tokBad              // something unreadable; err says why
)

// token is one lexical element.
type token struct {
	kind tokenKind
	text string // value: see tokenKind
	up   string // upper case of a bare word
	pos  ast.Pos
	end  int    // byte offset just behind
	weir bool   // inside /*weir .. */: Flink does not see it
	err  *Error // for tokBad
}

// lexer makes tokens of a text. It never stops at an error: it gives a tokBad
// and goes on, so that a script can be split behind a broken statement.
type lexer struct {
	s       string // the text up to the end of what is to be read
	i       int
	line    int
	column  int // of colOff
	colOff  int
	weirEnd int // inside /*weir .. */: the offset of its */; else -1
	toks    []token
	weirs   []weirComment
	// openComment is where a comment begins that the text does not close.
	openComment ast.Pos
}

// weirComment is a /*weir .. */ whose inside is code.
type weirComment struct {
	start ast.Pos
	end   int // behind the */
}

// weirAround gives the comment that an offset lies in, or nil.
func weirAround(ws []weirComment, off int) *weirComment {
	i := sort.Search(len(ws), func(i int) bool { return ws[i].end > off })
	if i < len(ws) && ws[i].start.Offset <= off {
		return &ws[i]
	}
	return nil
}

// operators of more than one character; some only to be refused with a good message.
var longOps = []string{"<=>", "->>", "<>", "!=", "<=", ">=", "=>", "||", "::", "->", ":=", "&&", "==", "<<"}

const singleOps = "()[]{},.;=<>+-*/%?:|^$"

// lex reads text from a place up to the byte offset end. The last token is tokEOF.
func lex(text string, from ast.Pos, end int) *lexer {
	l := &lexer{s: text[:end], i: from.Offset, line: from.Line, column: from.Column, colOff: from.Offset, weirEnd: -1}
	l.toks = make([]token, 0, (end-from.Offset)/4+2)
	for l.next() {
	}
	return l
}

// pos gives the place of an offset; offsets must come in order.
func (l *lexer) pos(off int) ast.Pos {
	for l.colOff < off {
		if c := l.s[l.colOff]; c == '\n' {
			l.line++
			l.column = 1
			l.colOff++
		} else if c < utf8.RuneSelf {
			l.column++
			l.colOff++
		} else {
			r, n := utf8.DecodeRuneInString(l.s[l.colOff:])
			l.colOff += n
			if r != '\ufeff' {
				l.column++
			}
		}
	}
	return ast.Pos{Offset: off, Line: l.line, Column: l.column}
}

func (l *lexer) add(k tokenKind, text string, pos ast.Pos) *token {
	l.toks = append(l.toks, token{kind: k, text: text, pos: pos, end: l.i, weir: l.weirEnd >= 0})
	return &l.toks[len(l.toks)-1]
}

func (l *lexer) bad(pos ast.Pos, hint, format string, args ...any) {
	t := l.add(tokBad, l.s[pos.Offset:l.i], pos)
	t.err = &Error{Pos: pos, End: l.i, Msg: fmt.Sprintf(format, args...), Hint: hint, Code: CodeLexical}
}

// limit is the end of what may be read now.
func (l *lexer) limit() int {
	if l.weirEnd >= 0 {
		return l.weirEnd
	}
	return len(l.s)
}

func (l *lexer) has(prefix string) bool { return strings.HasPrefix(l.s[l.i:l.limit()], prefix) }

// next reads one token or comment; false at the end.
func (l *lexer) next() bool {
	l.space()
	if l.weirEnd >= 0 && l.i >= l.weirEnd {
		l.i = l.weirEnd + 2
		l.weirEnd = -1
		return true
	}
	start := l.i
	if start >= len(l.s) {
		l.add(tokEOF, "", l.pos(start))
		return false
	}
	pos := l.pos(start)
	c := l.s[l.i]
	switch {
	case l.has("--"), l.has("//"):
		for l.i < l.limit() && l.s[l.i] != '\n' {
			l.i++
		}
	case l.has("/*"):
		l.comment(pos)
	case c == '\'':
		l.str(pos, plainString)
	case c == '`':
		l.quotedName(pos)
	case c == '"':
		if j := strings.IndexByte(l.s[l.i+1:l.limit()], '"'); j >= 0 {
			l.i += j + 2
		} else {
			l.i++
		}
		l.bad(pos, "write 'text' for a string and `name` for a name", "double quotes are not used in SQL text")
	case isDigit(c) || c == '.' && l.i+1 < l.limit() && isDigit(l.s[l.i+1]) && !l.afterOperand():
		l.number(pos)
	default:
		l.wordOrOp(pos)
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// afterOperand reports whether a dot here continues what stands directly before it.
func (l *lexer) afterOperand() bool {
	if len(l.toks) == 0 {
		return false
	}
	t := l.toks[len(l.toks)-1]
	return t.end == l.i && (t.kind == tokIdent || t.kind == tokQuoted || t.kind == tokOp && (t.text == ")" || t.text == "]"))
}

func (l *lexer) space() {
	for l.i < l.limit() {
		c := l.s[l.i]
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			l.i++
			continue
		}
		if c < utf8.RuneSelf && c != '\f' && c != '\v' {
			return
		}
		r, n := utf8.DecodeRuneInString(l.s[l.i:])
		if !unicode.IsSpace(r) && r != '\ufeff' {
			return
		}
		l.i += n
	}
}

// comment reads /* .. */, which may be a hint or the start of Weir's code.
func (l *lexer) comment(pos ast.Pos) {
	if l.weirEnd >= 0 {
		l.i += 2
		l.bad(pos, "Flink would see the first */ as the end", "a comment cannot stand inside /*weir .. */")
		return
	}
	j := strings.Index(l.s[l.i+2:], "*/")
	if j < 0 {
		l.openComment = pos
		l.i = len(l.s)
		t := l.add(tokBad, "/*", pos)
		t.err = &Error{Pos: pos, End: pos.Offset + 2, Msg: "comment is not closed", Hint: "it needs a */", Code: CodeLexical}
		return
	}
	body, closer := l.s[l.i+2:l.i+2+j], l.i+2+j
	switch {
	case strings.HasPrefix(body, "+"):
		l.i = closer + 2
		l.add(tokHint, body[1:], pos)
	case strings.HasPrefix(body, "weir+"):
		l.i = closer + 2
		l.add(tokHint, body[5:], pos).weir = true
	case strings.HasPrefix(body, "weir") && len(body) > 4 && strings.IndexByte(" \t\r\n\f", body[4]) >= 0:
		l.i += 6
		l.weirEnd = closer
		l.weirs = append(l.weirs, weirComment{pos, closer + 2})
	default:
		l.i = closer + 2
	}
}

type stringForm uint8

const (
	plainString stringForm = iota
	escapeString
	unicodeString
	binaryString
)

// str reads a string whose opening quote is at l.i.
func (l *lexer) str(pos ast.Pos, form stringForm) {
	open := l.i
	i := l.i + 1
	doubled := false
	for {
		if i >= l.limit() {
			l.i = l.limit()
			what, hint := "string is not closed", "it needs a closing quote: '"
			if l.weirEnd >= 0 {
				hint = "a string inside /*weir .. */ cannot contain */, where Flink sees the comment's end"
			}
			t := l.add(tokBad, "'", pos)
			t.err = &Error{Pos: pos, End: min(open+1, l.i), Msg: what, Hint: hint, Code: CodeLexical}
			return
		}
		switch c := l.s[i]; {
		case c == '\\' && form == escapeString:
			i += 2
			continue
		case c == '\'':
			if i+1 < l.limit() && l.s[i+1] == '\'' {
				doubled = true
				i += 2
				continue
			}
		default:
			i++
			continue
		}
		break
	}
	body := l.s[open+1 : i]
	l.i = i + 1
	if doubled {
		body = strings.ReplaceAll(body, "''", "'")
	}
	if !utf8.ValidString(body) {
		l.bad(pos, "", "string is not valid UTF-8")
		return
	}
	switch form {
	case plainString:
		l.add(tokString, body, pos)
	case escapeString:
		v, err := unescape(body)
		if err != "" {
			l.bad(pos, "", "%s", err)
			return
		}
		l.add(tokString, v, pos)
	case unicodeString:
		l.unicodeString(body, pos)
	case binaryString:
		for k := 0; k < len(body); k++ {
			if !isHex(body[k]) {
				l.bad(pos, "", "binary literal has a character that is no hex digit: %q", body[k])
				return
			}
		}
		if len(body)%2 == 1 {
			l.bad(pos, "each byte takes two hex digits", "binary literal has an odd number of hex digits")
			return
		}
		l.add(tokBinary, body, pos)
	}
}

// charsets are the highest characters of the character sets that a string may name.
var charsets = map[string]rune{"UTF8": unicode.MaxRune, "UTF-8": unicode.MaxRune, "UTF16": unicode.MaxRune, "UTF-16": unicode.MaxRune,
	"UTF-16LE": unicode.MaxRune, "UTF-16BE": unicode.MaxRune, "UTF-32": unicode.MaxRune, "LATIN1": 0xff, "ISO-8859-1": 0xff, "US-ASCII": 0x7f}

// charsetString reads _UTF8'text', as the text of views in Flink has; false: none begins here.
func (l *lexer) charsetString(pos ast.Pos) bool {
	j := l.i + 1
	for j < l.limit() && (isDigit(l.s[j]) || l.s[j]|0x20 >= 'a' && l.s[j]|0x20 <= 'z' || strings.IndexByte("-_.:", l.s[j]) >= 0) {
		j++
	}
	if j == l.i+1 || j >= l.limit() || l.s[j] != '\'' {
		return false
	}
	name := l.s[l.i+1 : j]
	l.i = j
	l.str(pos, plainString)
	t := &l.toks[len(l.toks)-1]
	if t.kind != tokString {
		return true
	}
	highest, ok := charsets[strings.ToUpper(name)]
	if !ok {
		l.toks = l.toks[:len(l.toks)-1]
		l.bad(pos, "strings are UTF-8: leave it out", "unknown character set %s", name)
		return true
	}
	for _, r := range t.text {
		if r > highest {
			l.toks = l.toks[:len(l.toks)-1]
			l.bad(pos, "leave the character set out", "%q is not in the character set %s", r, name)
			break
		}
	}
	return true
}

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// unicodeString resolves U&'\263A' [UESCAPE 'c'].
func (l *lexer) unicodeString(body string, pos ast.Pos) {
	esc := '\\'
	end := l.i
	l.space()
	if len(l.s[l.i:l.limit()]) >= 7 && strings.EqualFold(l.s[l.i:l.i+7], "UESCAPE") {
		l.i += 7
		l.space()
		if l.has("'") {
			if j := strings.IndexByte(l.s[l.i+1:l.limit()], '\''); j >= 0 {
				c := []rune(l.s[l.i+1 : l.i+1+j])
				l.i += j + 2
				if len(c) != 1 || c[0] < 128 && isHex(byte(c[0])) || c[0] == '+' || c[0] == '"' || unicode.IsSpace(c[0]) {
					l.bad(pos, "", "UESCAPE takes one character that is no hex digit")
					return
				}
				esc, end = c[0], l.i
			}
		}
	}
	l.i = end
	var b strings.Builder
	for rs := []rune(body); len(rs) > 0; {
		switch {
		case rs[0] != esc:
			b.WriteRune(rs[0])
			rs = rs[1:]
		case len(rs) > 1 && rs[1] == esc:
			b.WriteRune(esc)
			rs = rs[2:]
		default:
			v, n := rune(0), 1
			for ; n <= 4 && n < len(rs) && rs[n] < 128 && isHex(byte(rs[n])); n++ {
				v = v<<4 | hexValue(byte(rs[n]))
			}
			if n != 5 {
				l.bad(pos, fmt.Sprintf("write %c and four hex digits, or %c twice for the character itself", esc, esc), "malformed Unicode escape")
				return
			}
			// A surrogate pair is one character.
			if v >= 0xd800 && v < 0xdc00 && len(rs) >= 10 && rs[5] == esc {
				lo := rune(0)
				for k := 6; k < 10 && rs[k] < 128 && isHex(byte(rs[k])); k++ {
					lo = lo<<4 | hexValue(byte(rs[k]))
				}
				if lo >= 0xdc00 && lo < 0xe000 {
					v = (v-0xd800)<<10 + lo - 0xdc00 + 0x10000
					n = 10
				}
			}
			b.WriteRune(v)
			rs = rs[n:]
		}
	}
	l.add(tokString, b.String(), pos)
}

func hexValue(c byte) rune {
	switch {
	case isDigit(c):
		return rune(c - '0')
	case c >= 'a':
		return rune(c-'a') + 10
	}
	return rune(c-'A') + 10
}

// unescape resolves the C-style escapes of E'..', as Flink does: \\ \' \b \f \n
// \r \t, \xHH, \uHHHH, \UHHHHHHHH, octal \ooo; before any other character the
// backslash stands for itself.
func unescape(s string) (string, string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		digits, base := 0, rune(16)
		switch c := s[i]; c {
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		default:
			if c >= '0' && c <= '7' {
				digits, base = 3, 8
				i--
				break
			}
			if c != '\\' && c != '\'' {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
		}
		if digits == 0 {
			continue
		}
		v, n := rune(0), 0
		for n < digits && i+1 < len(s) && isHex(s[i+1]) && hexValue(s[i+1]) < base {
			v = v*base + hexValue(s[i+1])
			i++
			n++
		}
		if n == 0 || (digits == 4 || digits == 8) && n < digits {
			return "", "malformed escape in E'..' string"
		}
		if v > unicode.MaxRune || v < 0 {
			return "", "escape in E'..' string is no Unicode character"
		}
		b.WriteRune(v)
	}
	return b.String(), ""
}

func (l *lexer) quotedName(pos ast.Pos) {
	var b strings.Builder
	i := l.i + 1
	for {
		j := strings.IndexByte(l.s[i:l.limit()], '`')
		if j < 0 {
			open := l.i
			l.i = l.limit()
			t := l.add(tokBad, "`", pos)
			t.err = &Error{Pos: pos, End: open + 1, Msg: "quoted name is not closed", Hint: "it needs a closing `", Code: CodeLexical}
			return
		}
		b.WriteString(l.s[i : i+j])
		i += j + 1
		if i < l.limit() && l.s[i] == '`' {
			b.WriteByte('`')
			i++
			continue
		}
		break
	}
	l.i = i
	switch name := b.String(); {
	case name == "":
		l.bad(pos, "", "a name cannot be empty")
	case !utf8.ValidString(name):
		l.bad(pos, "", "name is not valid UTF-8")
	default:
		l.add(tokQuoted, name, pos)
	}
}

func (l *lexer) number(pos ast.Pos) {
	digits := func() (n int) {
		for l.i < l.limit() && isDigit(l.s[l.i]) {
			l.i++
			n++
		}
		return n
	}
	digits()
	if l.i < l.limit() && l.s[l.i] == '.' {
		l.i++
		digits()
	}
	ok := true
	if l.i < l.limit() && (l.s[l.i] == 'e' || l.s[l.i] == 'E') {
		l.i++
		if l.i < l.limit() && (l.s[l.i] == '+' || l.s[l.i] == '-') {
			l.i++
		}
		ok = digits() > 0
	}
	if r, _ := utf8.DecodeRuneInString(l.s[l.i:l.limit()]); l.i < l.limit() && isWordStart(r) {
		ok = false
		l.word()
	}
	if !ok {
		hint, text := "", l.s[pos.Offset:l.i]
		if len(text) > 1 && (text[1] == 'x' || text[1] == 'X') {
			hint = "there are no hexadecimal numbers (Flink reads 0 AS x..); X'1F' is the bytes"
		} else if strings.IndexByte(text, '_') > 0 {
			hint = "write it without _ (Flink reads what is behind it as an alias)"
		}
		l.bad(pos, hint, "malformed number %q", text)
		return
	}
	l.add(tokNumber, l.s[pos.Offset:l.i], pos)
}

func isWordStart(r rune) bool { return r == '_' || r != utf8.RuneError && unicode.IsLetter(r) }

func isWordPart(r rune) bool {
	return r == '_' || r == '$' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.In(r, unicode.Mn, unicode.Mc))
}

// word moves behind the word at l.i.
func (l *lexer) word() {
	for l.i < l.limit() {
		r, n := utf8.DecodeRuneInString(l.s[l.i:l.limit()])
		if !isWordPart(r) {
			return
		}
		l.i += n
	}
}

func (l *lexer) wordOrOp(pos ast.Pos) {
	r, n := utf8.DecodeRuneInString(l.s[l.i:l.limit()])
	if isWordStart(r) {
		// E'..', N'..', X'..', U&'..'
		if r < utf8.RuneSelf {
			switch rest := l.s[l.i+1 : l.limit()]; {
			case (r == 'e' || r == 'E') && strings.HasPrefix(rest, "'"):
				l.i++
				l.str(pos, escapeString)
				return
			case (r == 'n' || r == 'N') && strings.HasPrefix(rest, "'"):
				l.i++
				l.str(pos, plainString)
				return
			case (r == 'x' || r == 'X') && strings.HasPrefix(rest, "'"):
				l.i++
				l.str(pos, binaryString)
				return
			case (r == 'u' || r == 'U') && strings.HasPrefix(rest, "&'"):
				l.i += 2
				l.str(pos, unicodeString)
				return
			}
		}
		if r == '_' && l.charsetString(pos) {
			return
		}
		l.word()
		t := l.add(tokIdent, l.s[pos.Offset:l.i], pos)
		t.up = strings.ToUpper(t.text)
		return
	}
	if r == ';' && l.weirEnd >= 0 {
		l.i++
		l.bad(pos, "Flink would not see it: put it behind the */", "a semicolon cannot stand inside /*weir .. */")
		return
	}
	for _, op := range longOps {
		if l.has(op) {
			l.i += len(op)
			l.add(tokOp, op, pos)
			return
		}
	}
	l.i += n
	switch {
	case r == utf8.RuneError && n <= 1:
		l.bad(pos, "", "the text is not valid UTF-8")
	case r >= utf8.RuneSelf || strings.IndexByte(singleOps, byte(r)) < 0:
		l.bad(pos, "", "unexpected character %q", r)
	default:
		l.add(tokOp, l.s[pos.Offset:l.i], pos)
	}
}
