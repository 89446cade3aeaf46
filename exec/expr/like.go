package expr

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

func init() {
	define("LIKE", newLike)
	define("SIMILAR TO", func(c *call) (Evaluator, error) {
		return newMatch(c, func(pattern, escape string) (func(string) bool, error) {
			re, err := similar(pattern, escape)
			if err != nil {
				return nil, err
			}
			return re.MatchString, nil
		})
	})
}

func newLike(c *call) (Evaluator, error) { return newMatch(c, like) }

// newMatch is a test of text against a pattern, with an optional escape; a constant pattern is compiled once.
func newMatch(c *call, compile func(pattern, escape string) (func(string) bool, error)) (Evaluator, error) {
	escape := ""
	constEscape := len(c.args) < 3
	if len(c.args) == 3 {
		if v, ok := constant(c.args[2]); ok && v != nil {
			escape, constEscape = v.(string), true
		}
	}
	var match func(string) bool
	if v, ok := constant(c.args[1]); ok && v != nil && constEscape {
		m, err := compile(v.(string), escape)
		if err != nil {
			return nil, c.fail("%v", err)
		}
		match = m
	}
	e, err := rows(func(e *env, o []operand) (func(int) (bool, error), error) {
		s := reader[string](o[0])
		if match != nil {
			return func(i int) (bool, error) { return match(s(i)), nil }, nil
		}
		pattern := reader[string](o[1])
		esc := always(escape)
		if len(o) == 3 {
			esc = reader[string](o[2])
		}
		var lastP, lastE string
		var m func(string) bool
		return func(i int) (bool, error) {
			if p, q := pattern(i), esc(i); m == nil || p != lastP || q != lastE {
				var err error
				if m, err = compile(p, q); err != nil {
					return false, err
				}
				lastP, lastE = p, q
			}
			return m(s(i)), nil
		}, nil
	})(c)
	if err != nil || match == nil {
		return e, err
	}
	if _, ok := e.(*literal); ok { // of NULL
		return e, nil
	}
	return &matchEval{Evaluator: e, arg: c.args[0], match: match}, nil
}

// matchEval is a test of text against a constant pattern; it filters without an array.
type matchEval struct {
	Evaluator
	arg   Evaluator
	match func(string) bool
}

func (e *matchEval) children() []Evaluator { return []Evaluator{e.arg} }

func (e *matchEval) filter(ctx *Context, in Input, dst []int32) ([]int32, error) {
	o, err := evalOperand(ctx, e.arg, in)
	if err != nil {
		return dst, err
	}
	defer o.release()
	if o.arr == nil || o.arr.DataType().ID() == arrow.NULL {
		a, err := e.Eval(ctx, in)
		if err != nil {
			return dst, err
		}
		defer a.Release()
		return selectTrue(ctx, a, in, dst), nil
	}
	s := stringReader(o)
	_ = eachSelected(in, func(i int) error {
		if o.arr.IsValid(i) && e.match(s(i)) {
			dst = append(dst, int32(i))
		}
		return nil
	})
	return dst, nil
}

// escapeRune is the one character of an ESCAPE clause; -1 for none.
func escapeRune(escape string) (rune, error) {
	if escape == "" {
		return -1, nil
	}
	r, n := utf8.DecodeRuneInString(escape)
	if n != len(escape) {
		return 0, fmt.Errorf("ESCAPE needs one character, not '%s'", escape)
	}
	return r, nil
}

// like compiles a LIKE pattern: % is any text, _ any character. There is no escape character unless one is given; it may stand only before %, _ and
// itself.
func like(pattern, escape string) (func(string) bool, error) {
	esc, err := escapeRune(escape)
	if err != nil {
		return nil, err
	}
	// A pattern is runs of text and _ (as anyRune) between %.
	const anyRune = -1
	var runs [][]rune
	var run []rune
	plain := true // no _
	rs := []rune(pattern)
	for i := 0; i < len(rs); i++ {
		switch r := rs[i]; {
		case r == esc:
			if i++; i == len(rs) || rs[i] != '%' && rs[i] != '_' && rs[i] != esc {
				return nil, fmt.Errorf("the LIKE pattern '%s' is wrong: the escape character '%c' must be followed by %%, _ or itself", pattern, esc)
			}
			run = append(run, rs[i])
		case r == '%':
			runs, run = append(runs, run), nil
		case r == '_':
			run, plain = append(run, anyRune), false
		default:
			run = append(run, r)
		}
	}
	runs = append(runs, run)
	if plain {
		texts := make([]string, len(runs))
		for i, r := range runs {
			texts[i] = string(r)
		}
		return likeText(texts), nil
	}
	return func(s string) bool { return likeRunes(runs, s, anyRune) }, nil
}

// likeText matches runs of plain text with any text between them.
func likeText(runs []string) func(string) bool {
	first, last := runs[0], runs[len(runs)-1]
	switch {
	case len(runs) == 1:
		return func(s string) bool { return s == first }
	case len(runs) == 2 && first == "":
		return func(s string) bool { return strings.HasSuffix(s, last) }
	case len(runs) == 2 && last == "":
		return func(s string) bool { return strings.HasPrefix(s, first) }
	case len(runs) == 3 && first == "" && last == "":
		return func(s string) bool { return strings.Contains(s, runs[1]) }
	}
	return func(s string) bool {
		if len(s) < len(first)+len(last) || s[:len(first)] != first || s[len(s)-len(last):] != last {
			return false
		}
		s = s[len(first) : len(s)-len(last)]
		for _, r := range runs[1 : len(runs)-1] {
			i := strings.Index(s, r)
			if i < 0 {
				return false
			}
			s = s[i+len(r):]
		}
		return true
	}
}

// likeRunes is likeText with _.
func likeRunes(runs [][]rune, text string, anyRune rune) bool {
	s := []rune(text)
	at := func(run []rune, i int) bool {
		if i < 0 || i+len(run) > len(s) {
			return false
		}
		for k, r := range run {
			if r != anyRune && r != s[i+k] {
				return false
			}
		}
		return true
	}
	if len(runs) == 1 {
		return len(s) == len(runs[0]) && at(runs[0], 0)
	}
	last := runs[len(runs)-1]
	if !at(runs[0], 0) || len(s) < len(runs[0])+len(last) || !at(last, len(s)-len(last)) {
		return false
	}
	i, end := len(runs[0]), len(s)-len(last)
	for _, run := range runs[1 : len(runs)-1] {
		for !at(run, i) {
			if i++; i+len(run) > end {
				return false
			}
		}
		if i += len(run); i > end {
			return false
		}
	}
	return true
}

// similarClasses are the names of classes within [ ] of SIMILAR TO.
var similarClasses = map[string]string{
	"[:ALPHA:]": `\pL`, "[:alpha:]": `\pL`,
	"[:UPPER:]": `\p{Lu}`, "[:upper:]": `\p{Lu}`,
	"[:LOWER:]": `\p{Ll}`, "[:lower:]": `\p{Ll}`,
	"[:DIGIT:]": `\d`, "[:digit:]": `\d`,
	"[:SPACE:]": ` `, "[:space:]": ` `,
	"[:WHITESPACE:]": `\s`, "[:whitespace:]": `\s`,
	"[:ALNUM:]": `\pL\p{Nd}`, "[:alnum:]": `\pL\p{Nd}`,
}

// similar compiles a SIMILAR TO pattern: % and _ as in LIKE, everything else as in a regular expression, as in Flink (where . ^ $ and \\ mean what they
// mean in one, other than in SQL:2003).
func similar(pattern, escape string) (*regexp.Regexp, error) {
	esc, err := escapeRune(escape)
	if err != nil {
		return nil, err
	}
	bad := func(why string) error { return fmt.Errorf("the SIMILAR TO pattern '%s' is wrong: %s", pattern, why) }
	var b strings.Builder
	rs := []rune(pattern)
	for i := 0; i < len(rs); i++ {
		switch r := rs[i]; {
		case r == esc:
			if i++; i == len(rs) {
				return nil, bad("it ends in the escape character")
			}
			b.WriteString(regexp.QuoteMeta(string(rs[i])))
		case r == '%':
			b.WriteString(`(?s:.*)`)
		case r == '_':
			b.WriteByte('.')
		case r == '[':
			b.WriteByte('[')
			i++
			if i < len(rs) && rs[i] == '^' {
				b.WriteByte('^')
				i++
			}
			closed := false
			for ; i < len(rs); i++ {
				if class, n := classAt(rs[i:]); n > 0 {
					b.WriteString(class)
					i += n - 1
					continue
				}
				switch c := rs[i]; {
				case c == ']':
					closed = true
				case c == esc:
					if i++; i < len(rs) {
						b.WriteString(regexp.QuoteMeta(string(rs[i])))
					}
					continue
				case c == '-':
					b.WriteByte('-')
					continue
				default:
					b.WriteString(regexp.QuoteMeta(string(c)))
					continue
				}
				break
			}
			if !closed {
				return nil, bad("[ without ]")
			}
			b.WriteByte(']')
		default:
			b.WriteRune(r)
		}
	}
	re, err := compileJava(b.String())
	if err != nil {
		return nil, bad(err.Error())
	}
	return regexp.Compile(`\A(?:` + re.String() + `)\z`)
}

func classAt(rs []rune) (class string, n int) {
	if len(rs) < 2 || rs[0] != '[' || rs[1] != ':' {
		return "", 0
	}
	s := string(rs)
	for name, class := range similarClasses {
		if strings.HasPrefix(s, name) {
			return class, utf8.RuneCountInString(name)
		}
	}
	return "", 0
}
