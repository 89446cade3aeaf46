package sqltests

import (
	"cmp"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/weir-sql/weir"
)

// Mode says how cells of `query` results are rendered.
type Mode int

// Auto takes an answer that is right in either rendering; a file that says `mode natural` or `mode classic` means just that one.
const (
	Auto    Mode = iota
	Natural      // as CAST to STRING gives them, NULL, (empty) or an empty string
	Classic      // as the C runner of SQLite: I truncated, R with three digits, unprintable bytes as @
)

// Cell is one value of a result.
type Cell struct {
	Text string
	Null bool
}

// render renders a cell by its type letter.
func render(c Cell, letter byte, m Mode) string {
	switch {
	case c.Null:
		return "NULL"
	case m == Classic && letter == 'I':
		if i := strings.IndexAny(c.Text, "."); i >= 0 && isNumber(c.Text) {
			if f, err := strconv.ParseFloat(c.Text, 64); err == nil {
				return strconv.FormatInt(int64(f), 10)
			}
		}
		return strings.NewReplacer("TRUE", "1", "FALSE", "0").Replace(c.Text)
	case m == Classic && letter == 'R':
		if f, err := strconv.ParseFloat(c.Text, 64); err == nil {
			return strconv.FormatFloat(f, 'f', 3, 64)
		}
		return c.Text
	case c.Text == "":
		return "(empty)"
	case m == Classic && letter == 'T':
		b := []byte(c.Text)
		for i := range b {
			if b[i] < ' ' || b[i] > '~' {
				b[i] = '@'
			}
		}
		return string(b)
	}
	return c.Text
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

var hashLine = regexp.MustCompile(`^(\d+) values hashing to ([0-9a-f]{32})$`)

// compareQuery holds a result against the expected lines; it returns what differs, or "".
func compareQuery(rows [][]Cell, letters, sortmode string, m Mode, want []string) string {
	modes := []Mode{m}
	if m == Auto {
		modes = []Mode{Natural, Classic}
	}
	var first string
	for _, mode := range modes {
		diff := compareRendered(renderRows(rows, letters, mode), len(letters), sortmode, want)
		if diff == "" {
			return ""
		}
		if first == "" {
			first = diff
		}
	}
	return first
}

func renderRows(rows [][]Cell, letters string, m Mode) [][]string {
	out := make([][]string, len(rows))
	for i, r := range rows {
		out[i] = make([]string, len(r))
		for j, c := range r {
			letter := byte('T')
			if j < len(letters) {
				letter = letters[j]
			}
			out[i][j] = render(c, letter, m)
		}
	}
	return out
}

func sortRows(rows [][]string) {
	sort.SliceStable(rows, func(i, j int) bool {
		a, b := rows[i], rows[j]
		for k := 0; k < len(a) && k < len(b); k++ {
			if a[k] != b[k] {
				return a[k] < b[k]
			}
		}
		return len(a) < len(b)
	})
}

func flatten(rows [][]string) []string {
	var out []string
	for _, r := range rows {
		out = append(out, r...)
	}
	return out
}

// hashValues is the MD5 over each rendered value and a line end, in row-major order.
func hashValues(values []string) string {
	h := md5.New()
	for _, v := range values {
		h.Write([]byte(v))
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}

func compareRendered(rows [][]string, columns int, sortmode string, want []string) string {
	if sortmode == "rowsort" {
		sortRows(rows)
	}
	values := flatten(rows)
	if sortmode == "valuesort" {
		sort.Strings(values)
	}
	if len(want) == 1 {
		if g := hashLine.FindStringSubmatch(want[0]); g != nil {
			n, _ := strconv.Atoi(g[1])
			if n != len(values) || g[2] != hashValues(values) {
				return fmt.Sprintf("want %s\ngot  %d values hashing to %s:\n%s", want[0], len(values), hashValues(values), strings.Join(lines(rows, "\t"), "\n"))
			}
			return ""
		}
	}
	// One value a line, or one row a line: told apart by the number of lines.
	if columns > 1 && len(want) == len(unfold(values)) && len(unfold(lines(rows, "\t"))) != len(want) || columns == 1 || sortmode == "valuesort" {
		exp, got := append([]string(nil), want...), unfold(values)
		switch {
		case sortmode == "valuesort", sortmode == "rowsort" && columns == 1:
			sort.Strings(exp)
			sort.Strings(got)
		case sortmode == "rowsort":
			if columns > 0 && len(exp)%columns == 0 {
				var g [][]string
				for i := 0; i < len(exp); i += columns {
					g = append(g, exp[i:i+columns])
				}
				sortRows(g)
				exp = flatten(g)
			}
		}
		return diffLines(exp, got, columns == 1)
	}
	tab := false
	for _, w := range want {
		tab = tab || strings.Contains(w, "\t")
	}
	sep := " "
	if tab {
		sep = "\t"
	}
	exp, got := append([]string(nil), want...), lines(rows, sep)
	got = unfold(got)
	if sortmode == "rowsort" {
		sort.Strings(exp)
		sort.Strings(got)
	}
	return diffLines(exp, got, !tab)
}

// unfold gives values of several lines a line each, as they stand in a block; an empty one, which would end it, is (empty).
func unfold(values []string) []string {
	var out []string
	for _, v := range values {
		if !strings.Contains(v, "\n") {
			out = append(out, v)
			continue
		}
		for _, l := range strings.Split(v, "\n") {
			out = append(out, cmp.Or(l, "(empty)"))
		}
	}
	return out
}

func lines(rows [][]string, sep string) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = strings.Join(r, sep)
	}
	return out
}

// diffLines compares whole blocks: a missing and a surplus line are failures. (empty) may also be written as an empty string where a line cannot
// be mistaken for the end of the block.
func diffLines(want, got []string, trim bool) string {
	same := len(want) == len(got)
	for i := 0; same && i < len(want); i++ {
		w, g := want[i], got[i]
		if trim {
			w = strings.TrimRight(w, " ")
			g = strings.TrimRight(g, " ")
		}
		same = w == g
	}
	if same {
		return ""
	}
	return "want:\n  " + strings.Join(want, "\n  ") + "\ngot:\n  " + strings.Join(got, "\n  ")
}

// compareBlocks holds lines of a time word against the allowed answers.
func compareBlocks(got []string, wants []Want, rowsort bool) string {
	if len(wants) == 0 {
		wants = []Want{{}}
	}
	first := ""
	for _, w := range wants {
		exp, g := append([]string(nil), w.Lines...), append([]string(nil), got...)
		if rowsort {
			sort.Strings(exp)
			sort.Strings(g)
		}
		d := diffLines(exp, g, false)
		if d == "" {
			return ""
		}
		if first == "" {
			first = d
		}
	}
	return first
}

// didYouMean proposes the nearest of names, or nothing.
func didYouMean(word string, names []string) string {
	at := weir.Nearest(word, names)
	if at == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", at)
}

func hashSummary(values []string) string {
	return fmt.Sprintf("%d values hashing to %s", len(values), hashValues(values))
}
