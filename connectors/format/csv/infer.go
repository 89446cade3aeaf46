package csv

import (
	"bytes"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/internal/infer"
	"github.com/weir-sql/weir/types"
)

// Infer reads names and types off the first records. Without the option field-delimiter it takes the first of , ; tab | that gives more than one column.
// Without the option header the first line is taken for a header when all its cells are text, and either some column below is not text or all cells look
// like names; a name that it has twice is an error. Columns without a header are called f0, f1 and so on; columns without a name in the header are left out.
func (f Format) Infer(sample []byte, name string, eof bool, maxRows int, options map[string]string) (connectors.Inferred, error) {
	inf := connectors.Inferred{Options: map[string]string{}}
	opts := maps.Clone(options)
	if opts == nil {
		opts = map[string]string{}
	}
	sample = bytes.TrimPrefix(sample, bom)
	if _, given := opts["field-delimiter"]; !given {
		if delim := guessDelimiter(sample, eof, opts); delim != "," {
			opts["field-delimiter"], inf.Options["field-delimiter"] = delim, delim
		}
	}
	cfg, err := newConfig(opts)
	if err != nil {
		return inf, err
	}
	records := sampleRecords(sample, eof, maxRows+1, &cfg)
	if len(records) == 0 {
		return inf, fmt.Errorf("%s: there is no record to infer columns from: declare the columns", name)
	}
	header, given := cfg.header, false
	if _, given = opts["header"]; !given {
		if header = looksLikeHeader(records, &cfg); header {
			inf.Options["header"] = "true"
		}
	}
	first := records[0]
	body := records
	if header {
		body = records[1:]
	}
	seen := map[string]int{}
	guesses := guessColumns(body, len(first), &cfg)
	for i, c := range first {
		n := "f" + strconv.Itoa(i)
		if header {
			if n = c.text; n == "" {
				continue
			}
			if first, twice := seen[n]; twice {
				err := fmt.Errorf("%s:1: the header has the column '%s' twice, as number %d and %d: rename one", name, n, first+1, i+1)
				if !given {
					err = fmt.Errorf("%w; if the first line is no header, CREATE TABLE .. WITH (.., 'csv.header' = 'false')", err)
				}
				return inf, err
			}
			seen[n] = i
		}
		if !utf8.ValidString(n) {
			return inf, fmt.Errorf("%s:1: the header line is not UTF-8", name)
		}
		inf.Columns = append(inf.Columns, types.Column{Name: n, Type: guesses[i].Type()})
	}
	return inf, nil
}

type sampleCell struct {
	text   string
	quoted bool
}

// sampleRecords splits up to most records that can be split.
func sampleRecords(data []byte, eof bool, most int, cfg *config) (out [][]sampleCell) {
	s := scanner{cfg: cfg}
	for p := 0; p < len(data) && len(out) < most; {
		if next, _ := s.comment(data, p); next > p {
			p = next
			continue
		}
		next, complete := s.record(data, p, true)
		if !complete && !eof {
			break
		}
		blank := len(bytes.TrimRight(data[p:next], "\r\n")) == 0
		p = next
		if s.bad != "" || blank {
			continue
		}
		var r []sampleCell
		for _, c := range s.cells {
			r = append(r, sampleCell{string(s.bytes(data, c)), c.quoted})
		}
		out = append(out, r)
	}
	return out
}

// guessDelimiter returns the first delimiter that splits the first records into the same number of columns, more than one; a comma when none does.
func guessDelimiter(data []byte, eof bool, opts map[string]string) string {
	for _, d := range []string{",", ";", "\t", "|"} {
		o := maps.Clone(opts)
		o["field-delimiter"] = d
		cfg, err := newConfig(o)
		if err != nil {
			continue
		}
		records := sampleRecords(data, eof, 20, &cfg)
		same := len(records) > 0 && len(records[0]) > 1
		for _, r := range records {
			same = same && len(r) == len(records[0])
		}
		if same {
			return d
		}
	}
	return ","
}

func guessColumns(records [][]sampleCell, n int, cfg *config) []infer.Guess {
	g := make([]infer.Guess, n)
	for _, r := range records {
		if len(r) != n {
			continue // a bad record
		}
		for i, c := range r {
			switch {
			case c.quoted:
				// A quoted number may well be a number: many programs quote all cells.
				g[i].Cell([]byte(c.text))
			case cfg.hasNull && c.text == cfg.null, !cfg.hasNull && c.text == "":
			default:
				g[i].Cell([]byte(c.text))
			}
		}
	}
	return g
}

// nameLike reports a text such as people write as the name of a column: a letter or _, then at most 60 letters, digits and signs. A regular expression for
// it would take most of the time in which the program starts.
func nameLike(s string) bool {
	n := 0
	for _, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (n == 0 || !unicode.IsNumber(r) && !strings.ContainsRune(" .:/()%#-", r)) {
			return false
		}
		n++
	}
	return n > 0 && n <= 61
}

func looksLikeHeader(records [][]sampleCell, cfg *config) bool {
	first := records[0]
	names := true
	for i, c := range first {
		if c.text == "" && i == len(first)-1 && i > 0 {
			continue // a delimiter at the end of each line
		}
		var g infer.Guess
		g.Cell([]byte(c.text))
		if c.text == "" || !g.IsText() {
			return false
		}
		names = names && nameLike(c.text)
	}
	for _, g := range guessColumns(records[1:], len(first), cfg) {
		if g.Known() && !g.IsText() {
			return true
		}
	}
	return names
}
