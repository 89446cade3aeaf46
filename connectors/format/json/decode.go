package json

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/internal/colbuf"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Decoder returns a decoder of the wanted columns.
func (f Format) Decoder(c connectors.FormatConfig) (connectors.Decoder, error) {
	if err := f.Check(c); err != nil {
		return nil, err
	}
	ignore := connectors.GetBool(c.Options, "ignore-parse-errors", false)
	d := &decoder{
		most:     c.MaxBytes,
		missing:  connectors.GetBool(c.Options, "fail-on-missing-field", false),
		skipBad:  ignore || c.KeepBad,
		tolerant: ignore && !c.KeepBad,
	}
	for _, w := range c.Wanted {
		d.columns = append(d.columns, c.Columns[w])
	}
	d.schema = d.columns.Arrow()
	d.init()
	return d, nil
}

type decoder struct {
	columns  types.Schema // the wanted ones
	schema   *arrow.Schema
	most     int64 // bytes of a record, 0: any
	missing  bool  // fail on missing members
	skipBad  bool  // list bad records
	tolerant bool  // bad fields are NULL

	top   object
	texts colbuf.Texts

	escapes bool   // the block has a backslash
	badWhy  string // tolerant: why a field of this record was read as NULL
	scratch []byte
	entries []entry // of the maps that are being read
}

// object is how the members of an object go to columns.
type object struct {
	names []string
	fast  []colbuf.Fast
	// order is how the members came in the object before: the guess for the next one.
	order   []step
	learned int // how many times order was changed
	cols    []*colbuf.Col
	subs    []*object      // of columns that are ROW, or contain one
	index   map[string]int // when there are many names
	seen    []int64        // the number of the object that set the column last
	gen     int64
}

// step is a member in the order of members.
type step struct {
	key string // name":
	col int    // -1 for one that is no column
}

// maxLearned bounds what is spent on learning the order of objects that have none.
const maxLearned = 1000

func (d *decoder) init() {
	cols := make([]*colbuf.Col, len(d.columns))
	for i, c := range d.columns {
		cols[i] = colbuf.New(c.Type)
	}
	d.top = *newObject(d.columns.Names(), cols)
}

func newObject(names []string, cols []*colbuf.Col) *object {
	o := &object{names: names, cols: cols, seen: make([]int64, len(cols)), subs: make([]*object, len(cols))}
	for i := range names {
		o.fast = append(o.fast, colbuf.FastOf(cols[i].Type))
	}
	if len(names) > 8 {
		o.index = make(map[string]int, len(names))
		for i, n := range names {
			if _, there := o.index[n]; !there {
				o.index[n] = i
			}
		}
	}
	for i, c := range cols {
		o.subs[i] = subObject(c)
	}
	return o
}

// subObject is the object of a ROW column, or of the elements of a container.
func subObject(c *colbuf.Col) *object {
	switch c.Type.Kind {
	case types.Row:
		names := make([]string, len(c.Type.Fields))
		for i, f := range c.Type.Fields {
			names[i] = f.Name
		}
		return newObject(names, c.Kids)
	case types.Array:
		return subObject(c.Kids[0])
	case types.Map:
		return subObject(c.Kids[1])
	}
	return nil
}

// Clone returns a decoder for another goroutine.
func (d *decoder) Clone() connectors.Decoder {
	e := &decoder{columns: d.columns, schema: d.schema, most: d.most, missing: d.missing, skipBad: d.skipBad, tolerant: d.tolerant}
	e.init()
	return e
}

var bom = []byte("\xef\xbb\xbf")

// Header skips a byte order mark.
func (d *decoder) Header(data []byte, eof bool) (n int, lines int64, binding any, ok bool, err error) {
	if len(data) < len(bom) && !eof && bytes.HasPrefix(bom, data) {
		return 0, 0, nil, false, nil
	}
	if bytes.HasPrefix(data, bom) {
		n = len(bom)
	}
	return n, 0, nil, true, nil
}

var newline = []byte{'\n'}

// Boundary finds the last line end.
func (d *decoder) Boundary(data []byte, eof bool) (n int, lines int64) {
	n = bytes.LastIndexByte(data, '\n') + 1
	lines = int64(bytes.Count(data[:n], newline))
	if eof && n < len(data) {
		return len(data), lines + 1
	}
	return n, lines
}

// Decode decodes whole lines.
func (d *decoder) Decode(ctx context.Context, data []byte, at connectors.RecordPosition, mem memory.Allocator) (connectors.Decoded, error) {
	lines := at.LineEnds(data)
	for _, c := range d.top.cols {
		c.Start(mem, lines+1)
	}
	d.escapes = bytes.IndexByte(data, '\\') >= 0
	r := run{d: d, at: at, data: data, utf8: utf8.Valid(data)}
	if err := r.all(lines); err != nil {
		for _, c := range d.top.cols {
			c.Discard()
		}
		return connectors.Decoded{}, err
	}
	cols := make([]arrow.ArrayData, len(d.top.cols))
	for i, c := range d.top.cols {
		cols[i] = c.Finish()
	}
	return connectors.Decoded{Batch: stream.Batch{Record: colbuf.Record(d.schema, cols, r.rows)}, Bad: r.bad, Position: r.position}, nil
}

// run is one call of Decode.
type run struct {
	d    *decoder
	at   connectors.RecordPosition
	data []byte
	rows int
	utf8 bool
	bad  []connectors.BadRecord
	// lines are those of the rows, when the block is read line by line.
	lines []int64
}

// position is the line of a row.
func (r *run) position(row int) int64 {
	if row < len(r.lines) {
		return r.lines[row]
	}
	return r.at.Line + int64(row)
}

// all reads the block. The fast way takes one object behind the other without looking for line ends first; a quote that is not closed could make it run
// over one. So it is believed only when there were as many objects as line ends; otherwise the block is read again line by line.
func (r *run) all(lines int) error {
	d := r.d
	body := r.data[:bytes.LastIndexByte(r.data, '\n')+1]
	if r.utf8 {
		p := 0
		for p < len(body) {
			if body[p] != '{' {
				break
			}
			next, err := d.object(&d.top, body, p, r.rows)
			if err != nil {
				break
			}
			end := next
			if next < len(body) && body[next] == '\r' {
				next++
			}
			if next >= len(body) || body[next] != '\n' || d.most > 0 && int64(next-p) > d.most {
				break
			}
			r.kept(body[p:end], r.at.Line+int64(r.rows))
			p = next + 1
		}
		if p == len(body) && r.rows == lines {
			if len(body) == len(r.data) {
				return nil
			}
			return r.line(r.data[len(body):], r.at.Line+int64(lines))
		}
		d.badWhy = ""
		for _, c := range d.top.cols {
			c.Truncate(0)
		}
		r.rows, r.bad = 0, nil
	}
	line := r.at.Line
	r.lines = make([]int64, 0, lines+1)
	for p := 0; p < len(r.data); line++ {
		e := bytes.IndexByte(r.data[p:], '\n')
		if e < 0 {
			e = len(r.data) - p
		}
		if err := r.line(r.data[p:p+e], line); err != nil {
			return err
		}
		for len(r.lines) < r.rows {
			r.lines = append(r.lines, line)
		}
		p += e + 1
	}
	return nil
}

// line reads a line without its LF.
func (r *run) line(b []byte, line int64) error {
	d := r.d
	if d.most > 0 && int64(len(b)) > d.most {
		return connectors.RecordTooLong(r.at.Split, line, d.most)
	}
	if len(b) > 0 && b[len(b)-1] == '\r' {
		b = b[:len(b)-1]
	}
	if !r.utf8 && !utf8.Valid(b) {
		return r.fail(b, line, "the text is not UTF-8")
	}
	p := ws(b, 0)
	if p == len(b) {
		return nil
	}
	var err error
	rows, bad := r.rows, len(r.bad)
	d.badWhy = ""
	switch {
	case b[p] == '{':
		if p, err = d.object(&d.top, b, p, r.rows); err == nil {
			r.kept(b, line)
		}
	case b[p] == '[':
		p, err = d.elements(b, p, func(q int) (int, error) {
			if b[q] != '{' {
				return q, &syntaxError{"an array at the top must have objects as elements", q}
			}
			q, err := d.object(&d.top, b, q, r.rows)
			if err == nil {
				r.kept(b, line)
			}
			return q, err
		})
	case b[p] == 'n':
		if p, err = literal(b, p, "null"); err == nil {
			break
		}
	default:
		err = &syntaxError{"a JSON object was expected", p}
	}
	if err == nil {
		if p = ws(b, p); p < len(b) {
			err = &syntaxError{"there is text behind the document", p}
		}
	}
	if err == nil {
		return nil
	}
	r.rows, r.bad = rows, r.bad[:bad]
	d.badWhy = ""
	for _, c := range d.top.cols {
		c.Truncate(rows)
	}
	return r.fail(b, line, reason(b, err))
}

// kept counts a row; when fields of it were read as NULL, it lists its record.
func (r *run) kept(raw []byte, line int64) {
	if d := r.d; d.badWhy != "" {
		r.bad = append(r.bad, connectors.BadRecord{Raw: bytes.Clone(raw), Err: d.badWhy, Split: r.at.Split, Position: line, Row: r.rows, Kept: true})
		d.badWhy = ""
	}
	r.rows++
}

// reason says where in the line a syntax error is.
func reason(b []byte, err error) string {
	var s *syntaxError
	if !errors.As(err, &s) {
		return err.Error()
	}
	if s.at >= len(b) {
		if len(b) == 1 && b[0] == '[' {
			return "a document must be on one line: write one object per line (jq -c '.[]' file does)"
		}
		return fmt.Sprintf("%s, but the line ends (a document must be on one line)", s.what)
	}
	end := min(len(b), s.at+20)
	for end < len(b) && !utf8.RuneStart(b[end]) {
		end++
	}
	return fmt.Sprintf("%s at column %d: %s", s.what, s.at+1, types.Printable(string(b[s.at:end])))
}

// fail handles a bad record by the policy.
func (r *run) fail(raw []byte, line int64, why string) error {
	b := connectors.BadRecord{Raw: bytes.Clone(raw), Err: why, Split: r.at.Split, Position: line, Row: r.rows}
	if r.d.skipBad {
		r.bad = append(r.bad, b)
		return nil
	}
	b.Err += "; to go on behind bad records set 'json.ignore-parse-errors' = 'true' or 'bad-records.table'"
	return &b
}

// syntaxError says that a record is no JSON.
type syntaxError struct {
	what string
	at   int
}

func (e *syntaxError) Error() string { return e.what }

// fieldError says that a value does not fit its column; the record is JSON.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string { return e.path + ": " + e.err.Error() }

// inField puts a name in front of the path of a fieldError.
func inField(err error, name string) {
	var f *fieldError
	if !errors.As(err, &f) {
		return
	}
	if f.path != "" {
		name += "." + f.path
	}
	f.path = name
}

// object reads the object at p (a brace) into o, whose columns have row values each, and returns the place behind it.
func (d *decoder) object(o *object, b []byte, p, row int) (int, error) {
	o.gen++
	gen := o.gen
	left := len(o.cols)
	p = ws(b, p+1)
	if p < len(b) && b[p] == '}' {
		return p + 1, d.fill(o, gen, left)
	}
	for m := 0; ; m++ {
		if p >= len(b) || b[p] != '"' {
			return p, &syntaxError{"a name in quotes was expected", p}
		}
		p++
		col, known := -1, false
		if m < len(o.order) {
			if k := o.order[m].key; len(b)-p > len(k) && string(b[p:p+len(k)]) == k {
				p += len(k)
				col, known = o.order[m].col, true
			}
		}
		var err error
		if !known {
			if p, col, err = d.name(o, b, p, m); err != nil {
				return p, err
			}
		}
		if col < 0 {
			if p, err = d.skip(b, ws(b, p)); err != nil {
				return p, err
			}
		} else {
			c := o.cols[col]
			if o.seen[col] == gen {
				c.Truncate(row) // the last one counts
			} else {
				o.seen[col] = gen
				left--
			}
			ok := false
			switch kind := o.fast[col]; kind {
			case colbuf.FastInt:
				q := p
				var v int64
				for q < len(b) {
					x := b[q] - '0'
					if x > 9 {
						break
					}
					v = v*10 + int64(x)
					q++
				}
				if n := q - p; n > 0 && n <= 18 && q < len(b) && (b[q] == ',' || b[q] == '}') && (n == 1 || b[p] != '0') {
					c.PutI64(v)
					p = q
					ok = true
				}
			case colbuf.FastText, colbuf.FastStamp:
				if p >= len(b) || b[p] != '"' {
					break
				}
				e := bytes.IndexByte(b[p+1:], '"')
				if e < 0 {
					break
				}
				s := b[p+1 : p+1+e]
				if d.escapes && bytes.IndexByte(s, '\\') >= 0 {
					break
				}
				if kind == colbuf.FastText {
					c.PutBytes(s)
					ok = true
				} else {
					ok = d.texts.FastTime(c, s)
				}
				if ok {
					p += e + 2
				}
			}
			if !ok {
				why := d.badWhy
				if p, err = d.field(c, o.subs[col], b, ws(b, p)); err != nil {
					inField(err, o.names[col])
					return p, err
				}
				if d.badWhy != why {
					d.badWhy = o.names[col] + ": " + strings.TrimPrefix(d.badWhy, ": ")
				}
			}
		}
		if p < len(b) && b[p] <= ' ' {
			p = ws(b, p)
		}
		if p >= len(b) {
			return p, &syntaxError{"a comma or a brace was expected", p}
		}
		switch b[p] {
		case ',':
			if p++; p < len(b) && b[p] <= ' ' {
				p = ws(b, p)
			}
			continue
		case '}':
			if left == 0 {
				return p + 1, nil
			}
			return p + 1, d.fill(o, gen, left)
		}
		return p, &syntaxError{"a comma or a brace was expected", p}
	}
}

// name reads the name of member m from behind its quote, and the colon. It returns the place behind the colon and the column, -1 for none.
func (d *decoder) name(o *object, b []byte, p, m int) (next, col int, err error) {
	e := bytes.IndexByte(b[p:], '"')
	if e < 0 {
		return p - 1, -1, &syntaxError{"a quote is not closed", p - 1}
	}
	key := b[p : p+e]
	plain := !d.escapes || bytes.IndexByte(key, '\\') < 0
	if plain {
		p += e + 1
	} else if key, p, err = d.unescape(b, p); err != nil {
		return p, -1, err
	}
	col = o.find(key)
	if plain && o.learned < maxLearned && m <= len(o.order) && m < 4*len(o.cols)+64 {
		o.learned++
		st := step{string(key) + `":`, col}
		if m < len(o.order) {
			o.order[m] = st
		} else {
			o.order = append(o.order, st)
		}
	}
	p = ws(b, p)
	if p >= len(b) || b[p] != ':' {
		return p, col, &syntaxError{"a colon was expected", p}
	}
	return p + 1, col, nil
}

// find returns the column called key, or -1.
func (o *object) find(key []byte) int {
	if o.index != nil {
		if i, ok := o.index[string(key)]; ok {
			return i
		}
		return -1
	}
	for i, n := range o.names {
		if n == string(key) {
			return i
		}
	}
	return -1
}

var errNull = errors.New("NULL in a column that is NOT NULL")

// fill puts NULL into the columns that the object did not have.
func (d *decoder) fill(o *object, gen int64, left int) error {
	if left == 0 {
		return nil
	}
	for i, c := range o.cols {
		if o.seen[i] == gen {
			continue
		}
		if d.missing {
			return &fieldError{o.names[i], errors.New("the member is missing ('json.fail-on-missing-field' = 'true')")}
		}
		if !c.Type.Nullable {
			return &fieldError{o.names[i], errors.New("the member is missing, and the column is NOT NULL")}
		}
		c.PutNull()
	}
	return nil
}

// ws skips white space; line ends too, which there are within messages only.
func ws(b []byte, p int) int {
	for p < len(b) && (b[p] == ' ' || b[p] == '\t' || b[p] == '\r' || b[p] == '\n') {
		p++
	}
	return p
}
