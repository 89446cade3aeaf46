// Package sqltests runs sqllogictest files (as SQLite, DuckDB and RisingWave write them) with Weir's words for time: streams, input row by row,
// watermarks, a virtual clock, checkpoints and restarts. The suite of the project itself is the *.slt files beside it.
package sqltests

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Record is one block of a test file.
type Record struct {
	File  string
	Line  int    // of the first word, from 1
	Word  string // statement, query, stream, input, ...
	Args  []string
	SQL   string   // of statement, query, stream
	Rows  []string // of input and file
	Wants []Want   // expected blocks, alternatives behind `---- or`; empty when there is no ----
	Conds []Cond   // skipif and onlyif before it

	bodyLine int // line of the first line of SQL
	wantFrom int // index of the first line (0-based) of the expected block in the file, -1 when there is none
	wantTo   int
	loop     bool // comes from inside a loop or include: cannot be rewritten
}

// Want is one expected block.
type Want struct {
	Lines []string
}

// Cond is skipif or onlyif with an engine name.
type Cond struct {
	Only   bool
	Engine string
}

// ParseError is a test file that cannot be read.
type ParseError struct {
	File string
	Line int
	Msg  string
}

func (e *ParseError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg) }

type parser struct {
	file  string
	lines []string
	pos   int
	vars  map[string]string
	depth int
	out   []Record
}

// words lists the record words and whether they take an SQL body.
var words = map[string]bool{
	"statement": true, "query": true, "stream": true,
	"input": false, "watermark": false, "idle": false, "end": false, "advance": false, "changelog": false, "table": false, "metric": false,
	"failure": false, "checkpoint": false, "restart": false, "stop": false, "drain": false, "file": false, "halt": false, "hash-threshold": false, "mode": false,
	"control": false, "require": false, "load": false,
}

// ParseFile reads a test file and what it includes.
func ParseFile(path string) ([]Record, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseText(path, string(data), 0)
}

func parseText(path, text string, depth int) ([]Record, error) {
	if depth > 20 {
		return nil, &ParseError{path, 1, "includes are nested more than 20 deep: a file that includes itself?"}
	}
	text = strings.TrimPrefix(text, "\ufeff")
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	p := &parser{file: path, lines: lines, depth: depth, vars: map[string]string{}}
	err := p.block(len(lines), false)
	return p.out, err
}

func (p *parser) fail(line int, format string, args ...any) error {
	return &ParseError{p.file, line + 1, fmt.Sprintf(format, args...)}
}

// expand puts loop variables in: ${x} and $x.
func (p *parser) expand(s string) string {
	for name, v := range p.vars {
		s = strings.ReplaceAll(s, "${"+name+"}", v)
		s = strings.ReplaceAll(s, "$"+name, v)
	}
	return s
}

// block reads records up to line end; in a loop it is called once for each value.
func (p *parser) block(end int, inLoop bool) error {
	var conds []Cond
	for p.pos < end {
		at := p.pos
		line := strings.TrimSpace(p.expand(p.lines[at]))
		p.pos++
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		switch f[0] {
		case "skipif", "onlyif":
			if len(f) < 2 {
				return p.fail(at, "%s needs an engine name", f[0])
			}
			conds = append(conds, Cond{Only: f[0] == "onlyif", Engine: f[1]})
			continue
		case "loop", "foreach", "concurrentloop", "concurrentforeach":
			if err := p.loop(at, f, end); err != nil {
				return err
			}
			continue
		case "endloop":
			return p.fail(at, "endloop without loop")
		case "include":
			if err := p.include(at, f); err != nil {
				return err
			}
			continue
		}
		body, known := words[f[0]]
		if strings.HasPrefix(f[0], "--") {
			return p.fail(at, "comments begin with # in a test file; the file of a script is run by weir run")
		}
		if !known {
			return p.fail(at, "unknown word %q%s", f[0], didYouMean(f[0], wordList()))
		}
		r := Record{File: p.file, Line: at + 1, Word: f[0], Args: f[1:], Conds: conds, wantFrom: -1, bodyLine: at + 2, loop: inLoop || p.depth > 0}
		conds = nil
		if err := p.record(&r, body, end); err != nil {
			return err
		}
		p.out = append(p.out, r)
	}
	return nil
}

// record reads the body and the expected block behind the first line of r.
func (p *parser) record(r *Record, sql bool, end int) error {
	var body []string
	for p.pos < end {
		l := p.lines[p.pos]
		if strings.TrimSpace(l) == "" || strings.TrimSpace(l) == "----" {
			break
		}
		body = append(body, p.expand(l))
		p.pos++
	}
	switch {
	case sql:
		r.SQL = strings.Join(body, "\n")
		if len(body) == 0 {
			return p.fail(r.Line-1, "%s needs SQL on the lines below it", r.Word)
		}
	case r.Word == "input" || r.Word == "file":
		r.Rows = body
	case len(body) > 0:
		return p.fail(r.Line, "unexpected text behind %q: %s", r.Word, body[0])
	}
	if r.Word == "file" {
		// Blank lines belong to a file's text: it ends at the next line that is a known word behind a blank line.
		return p.fileBody(r, end)
	}
	if p.pos < end && strings.TrimSpace(p.lines[p.pos]) == "----" {
		p.pos++
		r.wantFrom = p.pos
		want := Want{Lines: []string{}}
		for p.pos < end && p.lines[p.pos] != "" {
			l := p.expand(p.lines[p.pos])
			p.pos++
			if strings.TrimSpace(l) == "---- or" {
				r.Wants = append(r.Wants, want)
				want = Want{Lines: []string{}}
				continue
			}
			want.Lines = append(want.Lines, l)
		}
		r.wantTo = p.pos
		r.Wants = append(r.Wants, want)
	}
	return nil
}

// fileBody takes `file NAME` text: lines up to a blank line; a line that is a single `.` stands for a blank one.
func (p *parser) fileBody(r *Record, _ int) error {
	if len(r.Args) == 0 {
		return p.fail(r.Line-1, "file needs a name")
	}
	for i, l := range r.Rows {
		if l == "." {
			r.Rows[i] = ""
		}
	}
	return nil
}

func (p *parser) loop(at int, f []string, end int) error {
	var values []string
	switch {
	case strings.HasSuffix(f[0], "loop") && len(f) == 4:
		from, err1 := strconv.Atoi(f[2])
		to, err2 := strconv.Atoi(f[3])
		if err1 != nil || err2 != nil {
			return p.fail(at, "loop wants: loop NAME FROM TO, with whole numbers")
		}
		for i := from; i < to; i++ {
			values = append(values, strconv.Itoa(i))
		}
	case strings.HasSuffix(f[0], "foreach") && len(f) >= 3:
		values = f[2:]
	default:
		return p.fail(at, "%s wants a name and its values", f[0])
	}
	start, nest, stop := p.pos, 1, -1
	for i := start; i < end; i++ {
		w := strings.Fields(p.lines[i])
		if len(w) == 0 {
			continue
		}
		switch w[0] {
		case "loop", "foreach", "concurrentloop", "concurrentforeach":
			nest++
		case "endloop":
			if nest--; nest == 0 {
				stop = i
			}
		}
		if stop >= 0 {
			break
		}
	}
	if stop < 0 {
		return p.fail(at, "loop without endloop")
	}
	name := strings.TrimPrefix(f[1], "$")
	for _, v := range values {
		p.vars[name] = v
		p.pos = start
		if err := p.block(stop, true); err != nil {
			return err
		}
	}
	delete(p.vars, name)
	p.pos = stop + 1
	return nil
}

func (p *parser) include(at int, f []string) error {
	if len(f) != 2 {
		return p.fail(at, "include wants one path or glob")
	}
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(p.file), f[1]))
	if err != nil || len(paths) == 0 {
		return p.fail(at, "include %s: no such file", f[1])
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return p.fail(at, "include: %v", err)
		}
		recs, err := parseText(path, string(data), p.depth+1)
		if err != nil {
			return err
		}
		p.out = append(p.out, recs...)
	}
	return nil
}

func wordList() []string {
	l := []string{"skipif", "onlyif", "loop", "foreach", "endloop", "include"}
	for w := range words {
		l = append(l, w)
	}
	return l
}

// arg returns the value of a NAME=VALUE argument.
func (r *Record) arg(name string) (string, bool) {
	for _, a := range r.Args {
		if v, ok := strings.CutPrefix(a, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// plain returns the arguments that are not NAME=VALUE.
func (r *Record) plain(known ...string) []string {
	var out []string
	for _, a := range r.Args {
		named := false
		for _, k := range known {
			named = named || strings.HasPrefix(a, k+"=")
		}
		if !named {
			out = append(out, a)
		}
	}
	return out
}
