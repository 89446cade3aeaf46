package parser

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weir-sql/weir/parser/ast"
)

// Codes of the parser's errors.
const (
	CodeSyntax       = "WEIR-1001" // something else was expected here
	CodeLexical      = "WEIR-1002" // a character or literal that cannot be read
	CodeReserved     = "WEIR-1003" // a reserved word as a name
	CodeNotSupported = "WEIR-1004" // known SQL that Weir does not have
	CodeLimit        = "WEIR-1005" // too long or too deeply nested
	CodeValue        = "WEIR-1006" // well formed but impossible: an option given twice, ...
	CodeInternal     = "WEIR-1099" // a bug of ours
)

// Error is what every failing call of this package gives (never wrapped).
type Error struct {
	Pos ast.Pos // where the offending token begins
	End int     // the byte offset just behind it
	// Msg says what is wrong, in one line, without place and hint.
	Msg string
	// Expected lists what could have stood there, if known.
	Expected []string
	// Hint says what to do about it; may be empty.
	Hint string
	Code string
}

// Error gives line:column: message; hint.
func (e *Error) Error() string {
	s := fmt.Sprintf("%d:%d: %s", e.Pos.Line, e.Pos.Column, e.Msg)
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Render gives the message with the line of the text and a caret under the
// place. name is the file's name, or empty. The text must be the one that was
// parsed. The result ends with a newline.
//
//	q.sql:2:8: expected an expression but found 'FROM' [WEIR-1001]
//	  2 | SELECT FROM t
//	    |        ^^^^
//	  hint: ...
func (e *Error) Render(text, name string) string {
	var b strings.Builder
	if name != "" {
		b.WriteString(name + ":")
	}
	fmt.Fprintf(&b, "%d:%d: %s", e.Pos.Line, e.Pos.Column, e.Msg)
	if e.Code != "" { // notes have none
		b.WriteString(" [" + e.Code + "]")
	}
	b.WriteString("\n")
	b.WriteString(Excerpt(text, e.Pos, e.End))
	if e.Hint != "" {
		b.WriteString("  hint: " + e.Hint + "\n")
	}
	return b.String()
}

// excerptWidth is how many columns of a long line Excerpt shows.
const excerptWidth = 120

// Excerpt shows the line of the text that pos is in, and carets under the part
// from pos to the byte offset end, or under the word at pos when the end is not known (not behind pos). It is empty when pos is not in the text.
func Excerpt(text string, pos ast.Pos, end int) string {
	if !pos.IsValid() || pos.Offset < 0 || pos.Offset > len(text) {
		return ""
	}
	from := strings.LastIndexByte(text[:pos.Offset], '\n') + 1
	to := len(text)
	if i := strings.IndexByte(text[pos.Offset:], '\n'); i >= 0 {
		to = pos.Offset + i
	}
	line, before := text[from:to], text[from:pos.Offset]
	marked := ""
	if end > to {
		end = to
	}
	if end <= pos.Offset {
		end = min(to, tokenEnd(text, pos.Offset))
	}
	if end > pos.Offset {
		marked = text[pos.Offset:end]
	}
	line = strings.TrimRight(line, "\r")
	marked = strings.TrimRight(marked, "\r")

	// Of a long line, show the part around the place.
	dots, tail := "", ""
	if w := displayWidth(before); w > excerptWidth-40 {
		cut := 0
		for w > excerptWidth-60 {
			r, n := utf8.DecodeRuneInString(before[cut:])
			w -= runeWidth(r)
			cut += n
		}
		before, line, dots = before[cut:], line[cut:], "..."
	}
	if displayWidth(line) > excerptWidth {
		cut, w := 0, 0
		for cut < len(line) && w < excerptWidth {
			r, n := utf8.DecodeRuneInString(line[cut:])
			w += runeWidth(r)
			cut += n
		}
		line, tail = line[:cut], "..."
		if room := cut - len(before); len(marked) > room {
			marked = line[len(before):cut]
		}
	}
	num := fmt.Sprint(pos.Line)
	carets := max(1, displayWidth(marked))
	return fmt.Sprintf("  %s | %s%s%s\n  %s | %s%s%s\n",
		num, dots, printable(line), tail,
		strings.Repeat(" ", len(num)), strings.Repeat(" ", len(dots)), padding(before), strings.Repeat("^", carets))
}

// tokenEnd is the end of the word or number that stands at an offset; the offset itself where there is something else.
func tokenEnd(text string, offset int) int {
	for i, r := range text[offset:] {
		if !isWordPart(r) {
			return offset + i
		}
	}
	return len(text)
}

// padding gives blanks as wide as s; tabs stay tabs, so that they line up.
func padding(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\t' {
			b.WriteByte('\t')
			continue
		}
		b.WriteString(strings.Repeat(" ", runeWidth(r)))
	}
	return b.String()
}

// printable replaces characters that would upset a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029') {
			return '\ufffd'
		}
		return r
	}, s)
}

func displayWidth(s string) int {
	w := 0
	for _, r := range s {
		w += runeWidth(r)
	}
	return w
}

// runeWidth is the number of terminal columns of a rune.
func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me), r == '\u200b', r == '\u200d', r == '\ufeff':
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf && r != 0x303f, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1f64f,
		r >= 0x1f680 && r <= 0x1f6ff, r >= 0x1f900 && r <= 0x1f9ff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// nearest gives the candidate most like word, or "" when none is near.
func nearest(word string, candidates []string) string {
	word = strings.ToUpper(word)
	best, bestDist := "", 2 // what is found must be nearer
	switch {
	case len(word) > 8:
		bestDist = 4
	case len(word) > 4:
		bestDist = 3
	}
	for _, c := range candidates {
		up := strings.ToUpper(c)
		if len(word) <= 2 && (len(up) != len(word) || len(word) < 2 || up[0] != word[1] || up[1] != word[0]) {
			continue // of two letters only swapped ones are a misspelling
		}
		if d := distance(word, up, bestDist); d > 0 && d < bestDist {
			best, bestDist = c, d
		}
	}
	return best
}

// distance is the edit distance in which swapped neighbours count one. It may
// stop early with limit+1.
func distance(a, b string, limit int) int {
	ra, rb := []rune(a), []rune(b)
	if len(ra)-len(rb) > limit || len(rb)-len(ra) > limit || len(ra) > 64 || len(rb) > 64 {
		return limit + 1
	}
	prev2, prev, cur := make([]int, len(rb)+1), make([]int, len(rb)+1), make([]int, len(rb)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(ra); i++ {
		cur[0] = i
		for j := 1; j <= len(rb); j++ {
			cost := 1
			if ra[i-1] == rb[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && ra[i-1] == rb[j-2] && ra[i-2] == rb[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(rb)]
}
