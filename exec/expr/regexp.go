package expr

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// REGEXP functions take the patterns of Java as far as Go's engine (RE2) has them. RE2 runs in time linear in the text; in return it has no look-around,
// no back-references, no atomic groups and no possessive quantifiers. These are refused with an error that names the construct.

func init() {
	define("REGEXP", func(c *call) (Evaluator, error) {
		re, err := constRegexp(c, 1)
		if err != nil {
			return nil, err
		}
		return strict2(func(e *env, s, p string) (bool, error) {
			if p == "" { // as in Flink
				return false, nil
			}
			re, err := e.regexpOf(re, p)
			if err != nil {
				return false, err
			}
			return re.MatchString(s), nil
		})(c)
	})
	define("REGEXP_REPLACE", func(c *call) (Evaluator, error) {
		re, err := constRegexp(c, 1)
		if err != nil {
			return nil, err
		}
		// The replacement is plain text: $1 means nothing in it.
		return strict3(func(e *env, s, p, repl string) (string, error) {
			re, err := e.regexpOf(re, p)
			if err != nil {
				return "", err
			}
			return re.replace(s, repl), nil
		})(c)
	})
	define("REGEXP_EXTRACT", func(c *call) (Evaluator, error) {
		re, err := constRegexp(c, 1)
		if err != nil {
			return nil, err
		}
		extract := func(e *env, s, p string, group int64) (string, error) {
			re, err := e.regexpOf(re, p)
			if err != nil {
				return "", err
			}
			m := re.FindStringSubmatchIndex(s)
			if m == nil || group < 0 || group > int64(re.NumSubexp()) || m[2*group] < 0 {
				return "", errNull
			}
			return s[m[2*group]:m[2*group+1]], nil
		}
		return arity(map[int]builder{
			2: strict2(func(e *env, s, p string) (string, error) { return extract(e, s, p, 0) }),
			3: strict3(extract),
		})(c)
	})
	define("REGEXP_EXTRACT_ALL", func(c *call) (Evaluator, error) {
		re, err := constRegexp(c, 1)
		if err != nil {
			return nil, err
		}
		extract := func(e *env, s, p string, group int64) (any, error) {
			re, err := e.regexpOf(re, p)
			if err != nil {
				return nil, err
			}
			if group < 0 || group > int64(re.NumSubexp()) {
				return nil, errNull
			}
			out := []any{}
			for _, m := range re.matches(s) {
				if m[2*group] < 0 {
					out = append(out, nil)
					continue
				}
				out = append(out, s[m[2*group]:m[2*group+1]])
			}
			return out, nil
		}
		return arity(map[int]builder{
			2: strict2(func(e *env, s, p string) (any, error) { return extract(e, s, p, 1) }),
			3: strict3(extract),
		})(c)
	})
	define("REGEXP_COUNT", pattern2(func(re *javaRegexp, s string) (int64, error) { return int64(len(re.matches(s))), nil }))
	define("REGEXP_INSTR", pattern2(func(re *javaRegexp, s string) (int64, error) {
		m := re.FindStringIndex(s)
		if m == nil {
			return 0, nil
		}
		return int64(utf8.RuneCountInString(s[:m[0]])) + 1, nil
	}))
	define("REGEXP_SUBSTR", pattern2(func(re *javaRegexp, s string) (string, error) {
		m := re.FindStringIndex(s)
		if m == nil {
			return "", errNull
		}
		return s[m[0]:m[1]], nil
	}))
}

// pattern2 is a function of a text and a pattern.
func pattern2[R any](f func(re *javaRegexp, s string) (R, error)) builder {
	return func(c *call) (Evaluator, error) {
		re, err := constRegexp(c, 1)
		if err != nil {
			return nil, err
		}
		return strict2(func(e *env, s, p string) (R, error) {
			re, err := e.regexpOf(re, p)
			if err != nil {
				var z R
				return z, err
			}
			return f(re, s)
		})(c)
	}
}

// constRegexp compiles argument k when it is a constant; nil when it is not.
func constRegexp(c *call, k int) (*javaRegexp, error) {
	v, ok := constant(c.args[k])
	if !ok || v == nil {
		return nil, nil
	}
	re, err := compileJava(v.(string))
	if err != nil {
		return nil, c.fail("%v", err)
	}
	return re, nil
}

func (e *env) regexpOf(re *javaRegexp, pattern string) (*javaRegexp, error) {
	if re != nil {
		return re, nil
	}
	return e.regexp(pattern, compileJava)
}

// unsupportedRegexp are constructs of Java that RE2 lacks, by what they begin with.
var unsupportedRegexp = []struct{ prefix, name string }{
	{"(?=", "a look-ahead (?=...)"}, {"(?!", "a negative look-ahead (?!...)"}, {"(?<=", "a look-behind (?<=...)"}, {"(?<!", "a negative look-behind (?<!...)"},
	{"(?>", "an atomic group (?>...)"}, {`\k<`, `a back-reference \k<...>`}, {`\G`, `\G`}, {`\R`, `\R`}, {`\X`, `\X`}, {"*+", "a possessive quantifier *+"},
	{"++", "a possessive quantifier ++"}, {"?+", "a possessive quantifier ?+"}, {"}+", "a possessive quantifier {}+"}, {"&&", "an intersection of classes &&"},
}

// compileJava compiles a Java pattern.
func compileJava(pattern string) (*javaRegexp, error) {
	translated, err := translateJava(pattern)
	if err != nil {
		return nil, err
	}
	re, err := newJavaRegexp(translated)
	if err != nil {
		why := err.Error()
		if se, ok := err.(*syntax.Error); ok {
			why = se.Code.String()
			if se.Expr != "" {
				why += ": " + se.Expr
			}
		}
		return nil, fmt.Errorf("the regular expression '%s' is wrong: %s", pattern, why)
	}
	return re, nil
}

// translateJava rewrites what the two dialects spell differently, and refuses what RE2 does not have.
func translateJava(p string) (string, error) {
	var b strings.Builder
	class := 0 // depth of [ ]
	dotAll, anyCase := hasFlag(p, 's'), hasFlag(p, 'i')
	for i := 0; i < len(p); {
		rest := p[i:]
		for _, u := range unsupportedRegexp {
			inClass := u.prefix == "&&"
			if (class > 0) == inClass && strings.HasPrefix(rest, u.prefix) {
				return "", fmt.Errorf("the regular expression '%s' has %s, which is not supported", p, u.name)
			}
		}
		switch c := p[i]; {
		case c == '\\' && i+1 < len(p):
			next := p[i+1]
			switch {
			case next == 'Q':
				end := strings.Index(p[i+2:], `\E`)
				text := p[i+2:]
				i = len(p)
				if end >= 0 {
					i -= len(text) - end - 2
					text = text[:end]
				}
				b.WriteString(regexp.QuoteMeta(text))
				continue
			case next >= '1' && next <= '9' && class == 0:
				return "", fmt.Errorf("the regular expression '%s' has a back-reference \\%c, which is not supported", p, next)
			case next == 's': // \v too, other than RE2's
				writeClass(&b, class, `\x20\t-\r`)
			case next == 'S' && class == 0:
				b.WriteString(`[^\t-\r\x20]`)
			case next == 'S':
				b.WriteString(`\x{0}-\x{8}\x{E}-\x{1F}\x{21}-\x{10FFFF}`)
			case next == 'v':
				writeClass(&b, class, `\x{85}\x{2028}\x{2029}\n-\r`)
			case next == 'h':
				writeClass(&b, class, `\t\x{20}\x{A0}\x{1680}\x{180e}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}`)
			case next == 'e':
				b.WriteString(`\x1b`)
			case next == 'Z':
				b.WriteString(`(?:\n?\z)`)
			case next == 'u' && i+6 <= len(p):
				b.WriteString(`\x{` + p[i+2:i+6] + `}`)
				i += 6
				continue
			case (next == 'p' || next == 'P') && strings.HasPrefix(p[i+2:], "{"):
				end := strings.IndexByte(p[i:], '}')
				if end < 0 {
					return "", fmt.Errorf("the regular expression '%s' is wrong: \\p{ without }", p)
				}
				b.WriteString(javaProperty(next, p[i+3:i+end], class > 0))
				i += end + 1
				continue
			default:
				b.WriteString(p[i : i+2])
			}
			i += 2
		case c == '[':
			// A class within a class is a union in Java; RE2 takes only [:name:] there, which Java does not know.
			if class > 0 {
				return "", fmt.Errorf("the regular expression '%s' has a class within a class, which is not supported", p)
			}
			class++
			b.WriteByte('[')
			i++
			if strings.HasPrefix(p[i:], "^") {
				b.WriteByte('^')
				i++
			}
			if strings.HasPrefix(p[i:], "]") { // a first ] is an ordinary character
				b.WriteString(`\]`)
				i++
			}
		case c == ']' && class > 0:
			class--
			b.WriteByte(']')
			i++
		case c == '.' && class == 0 && !dotAll:
			b.WriteString(`[^\n\r\x{85}\x{2028}\x{2029}]`)
			i++
		case c >= utf8.RuneSelf && class == 0 && anyCase: // (?i) is of ASCII in Java
			r, n := utf8.DecodeRuneInString(rest)
			b.WriteString(`(?-i:` + string(r) + `)`)
			i += n
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String(), nil
}

// hasFlag reports whether a flag is set somewhere, as in (?s) or (?is:...).
func hasFlag(p string, flag byte) bool {
	for {
		_, rest, ok := strings.Cut(p, "(?")
		if !ok {
			return false
		}
		for i := 0; i < len(rest) && 'a' <= rest[i] && rest[i] <= 'z'; i++ {
			if rest[i] == flag {
				return true
			}
		}
		p = rest
	}
}

func writeClass(b *strings.Builder, class int, set string) {
	if class > 0 {
		b.WriteString(set)
		return
	}
	b.WriteString("[" + set + "]")
}

// posixClasses are Java's \p{Name} of ASCII, which RE2 spells [:name:].
var posixClasses = map[string]string{
	"Lower": "lower", "Upper": "upper", "ASCII": "ascii", "Alpha": "alpha", "Digit": "digit", "Alnum": "alnum", "Punct": "punct", "Graph": "graph",
	"Print": "print", "Blank": "blank", "Cntrl": "cntrl", "XDigit": "xdigit", "Space": "space",
}

func javaProperty(p byte, name string, inClass bool) string {
	not := ""
	if p == 'P' {
		not = "^"
	}
	if c, ok := posixClasses[name]; ok {
		s := "[:" + not + c + ":]"
		if !inClass {
			s = "[" + s + "]"
		}
		return s
	}
	switch name {
	case "IsAlphabetic":
		name = "L"
	case "IsDigit":
		name = "Nd"
	case "IsLowercase", "javaLowerCase":
		name = "Ll"
	case "IsUppercase", "javaUpperCase":
		name = "Lu"
	case "IsPunctuation":
		name = "P"
	default:
		name = strings.TrimPrefix(name, "Is")
	}
	return `\` + string(p) + "{" + name + "}"
}
