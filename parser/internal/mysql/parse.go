package mysql

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/pingcap/tidb/pkg/parser"
	tidb "github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"

	"github.com/weir-sql/weir/parser/ast"
)

// A TiDB parser serves one goroutine at a time.
var pool = sync.Pool{New: func() any { return parser.New() }}

const sqlMode = mysql.ModeNoBackslashEscapes | mysql.ModeANSIQuotes | mysql.ModeIgnoreSpace

// maxPooled is the longest text after which a parser goes back to the pool: it
// keeps its last tree and its grown stack.
const maxPooled = 64 << 10

// Error is a syntax error at source token Src; Src is -1 for the end of the
// pieces. Internal is set for bugs (of ours or of the library).
type Error struct {
	Src      int
	Internal string
	// Msg and Hint are set by a slot's own function that finds its arguments impossible.
	Msg, Hint string
}

func (e *Error) Error() string {
	if e.Internal != "" {
		return "internal error: " + e.Internal
	}
	return "syntax error"
}

// Source is what lowering has to know of the source tokens.
type Source interface {
	// Start gives the place of token src.
	Start(src int) ast.Pos
	// Parens gives the span from the opening parenthesis that is token src to the
	// one that closes it; false when token src is something else.
	Parens(src int) (ast.Span, bool)
}

// Query parses the pieces of a whole query.
func Query(ps []Piece, slots []Slot, src Source) (q *ast.Query, err error) {
	defer guard(&err)
	l, stmt, free, err := parse(ps, slots, src)
	if err != nil {
		return nil, err
	}
	defer free()
	q = l.query(stmt)
	l.check()
	return q, nil
}

// Expr parses the pieces of one expression.
func Expr(ps []Piece, slots []Slot, src Source) (x ast.Expr, span ast.Span, err error) {
	defer guard(&err)
	l, stmt, free, err := parse(append([]Piece{{"SELECT", ps[0].Src}}, ps...), slots, src)
	if err != nil {
		return nil, ast.Span{}, err
	}
	defer free()
	s, ok := stmt.(*tidb.SelectStmt)
	if !ok || s.From != nil || len(s.Fields.Fields) != 1 {
		return nil, ast.Span{}, &Error{Src: ps[0].Src}
	}
	a := l.expr(s.Fields.Fields[0].Expr)
	l.check()
	return a.X, a.Span, nil
}

// guard turns a panic into an internal error.
func guard(err *error) {
	if p := recover(); p != nil {
		if e, ok := p.(*Error); ok {
			*err = e
			return
		}
		*err = &Error{Internal: fmt.Sprint(p)}
	}
}

// parse gives the text to TiDB and maps its error back to a source token. free is called when the tree is not needed any more: the parser keeps hold of
// nodes of it, and writes to them when it parses the next text.
func parse(ps []Piece, slots []Slot, src Source) (l *lowerer, stmt tidb.StmtNode, free func(), err error) {
	var sb strings.Builder
	offs := make([]int, len(ps))
	for i, p := range ps {
		if i > 0 {
			sb.WriteByte(' ')
		}
		offs[i] = sb.Len()
		sb.WriteString(p.Text)
	}
	text := sb.String()
	p := pool.Get().(*parser.Parser)
	p.SetSQLMode(sqlMode)
	stmts, _, err := p.ParseSQL(text)
	if err == nil && len(stmts) != 1 {
		err = fmt.Errorf("%d statements", len(stmts))
	}
	free = func() {
		if len(text) <= maxPooled {
			pool.Put(p)
		}
	}
	if err == nil {
		stmt = stmts[0] // the slice belongs to p
		return &lowerer{pieces: ps, offs: offs, slots: slots, used: make([]bool, len(slots)), src: src}, stmt, free, nil
	}
	free()
	off, ok := errorOffset(text, err.Error())
	if !ok {
		return nil, nil, nil, &Error{Internal: err.Error()}
	}
	for i := range offs {
		if off < offs[i]+len(ps[i].Text) {
			return nil, nil, nil, &Error{Src: ps[i].Src}
		}
	}
	return nil, nil, nil, &Error{Src: -1}
}

var totalLen = regexp.MustCompile(`\(total length (\d+)\)`)

// errorOffset finds the offset of the offending token: TiDB's message quotes the
// rest of the text from there, cut at 2048 bytes with the total length added.
func errorOffset(text, msg string) (int, bool) {
	i := strings.Index(msg, ` near "`)
	if !strings.HasPrefix(msg, "line ") || i < 0 {
		return 0, false
	}
	if m := totalLen.FindAllStringSubmatch(msg, -1); m != nil {
		if n, err := strconv.Atoi(m[len(m)-1][1]); err == nil && n <= len(text) && n > 2048 {
			return len(text) - n, true
		}
	}
	rest := msg[i+7:]
	j := strings.LastIndex(rest, `"`)
	if j < 0 || !strings.HasSuffix(text, rest[:j]) {
		return 0, false
	}
	return len(text) - j, true
}
