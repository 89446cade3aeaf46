package expr

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// javaRegexp is a compiled pattern of Java that finds what Java finds.
type javaRegexp struct {
	*regexp.Regexp
	// behind is the pattern behind one character, at the start of a text; nil when the pattern cannot match the empty text.
	behind *regexp.Regexp
}

// newJavaRegexp completes a pattern in the syntax of RE2.
func newJavaRegexp(pattern string) (*javaRegexp, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	j := &javaRegexp{Regexp: re}
	if tree, err := syntax.Parse(pattern, syntax.Perl); err == nil && nullable(tree) {
		j.behind, err = regexp.Compile(`\A(?s:.)(?:` + pattern + `)`)
		return j, err
	}
	return j, nil
}

// nullable reports whether an expression can match the empty text.
func nullable(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpNoMatch, syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return false
	case syntax.OpCapture, syntax.OpPlus:
		return nullable(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || nullable(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !nullable(sub) {
				return false
			}
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if nullable(sub) {
				return true
			}
		}
		return false
	}
	return true // empty, assertions, * and ?
}

// matches are all matches in s with their groups, as FindAllStringSubmatchIndex gives them, and the empty ones right behind another match, which Java
// finds and Go leaves out.
func (j *javaRegexp) matches(s string) [][]int {
	found := j.FindAllStringSubmatchIndex(s, -1)
	if j.behind == nil {
		return found
	}
	var all [][]int
	for i, m := range found {
		all = append(all, m)
		end := m[1]
		if m[0] == end || i+1 < len(found) && found[i+1][0] == end {
			continue
		}
		// One character before the end is all that an assertion looks back at.
		start := lastRune(s, end)
		if e := j.behind.FindStringSubmatchIndex(s[start:]); e != nil && start+e[1] == end {
			for k := range e {
				if e[k] >= 0 {
					e[k] += start
				}
			}
			e[0] = end
			all = append(all, e)
		}
	}
	return all
}

// lastRune is where the character before end begins.
func lastRune(s string, end int) int {
	_, n := utf8.DecodeLastRuneInString(s[:end])
	return end - n
}

// split splits s as Java's String.split does: a match of nothing at the start gives no part, and with a negative limit empty texts at the end are kept.
func (j *javaRegexp) split(s string, limit int) []string {
	var parts []string
	from := 0
	for _, m := range j.matches(s) {
		if m[1] == 0 {
			continue
		}
		if limit > 0 && len(parts) == limit-1 {
			break
		}
		parts = append(parts, s[from:m[0]])
		from = m[1]
	}
	return append(parts, s[from:])
}

// replace replaces all matches by a plain text.
func (j *javaRegexp) replace(s, to string) string {
	ms := j.matches(s)
	if len(ms) == 0 {
		return s
	}
	var b strings.Builder
	from := 0
	for _, m := range ms {
		b.WriteString(s[from:m[0]])
		b.WriteString(to)
		from = m[1]
	}
	b.WriteString(s[from:])
	return b.String()
}
