package csv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
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
	cfg, err := newConfig(c.Options)
	if err != nil {
		return nil, err
	}
	d := &decoder{cfg: cfg, columns: c.Columns, wanted: c.Wanted, keepBad: c.KeepBad, most: c.MaxBytes}
	s := make(types.Schema, len(c.Wanted))
	position := make([]int, len(c.Columns))
	for i := range position {
		position[i] = -1
	}
	for i, w := range c.Wanted {
		s[i] = c.Columns[w]
		position[w] = i
	}
	d.schema = s.Arrow()
	d.byPosition = layout{position}
	d.init()
	return d, nil
}

// layout says which wanted column each column of the file is, -1 for none.
type layout struct{ to []int }

type decoder struct {
	cfg        config
	columns    types.Schema
	wanted     []int
	schema     *arrow.Schema
	byPosition layout
	keepBad    bool
	most       int64 // bytes of a record, 0: any

	cols  []*colbuf.Col
	fast  []colbuf.Fast
	texts colbuf.Texts
	scan  scanner
	// stamps says that a timestamp in its usual form cannot hold the delimiter.
	stamps bool
	// badElement says why cell has read an element of an ARRAY or ROW as NULL (ignore-parse-errors), if it has.
	badElement error
}

func (d *decoder) init() {
	d.cols = make([]*colbuf.Col, len(d.wanted))
	for i, w := range d.wanted {
		d.cols[i] = colbuf.New(d.columns[w].Type)
		fast := colbuf.FastOf(d.columns[w].Type)
		if d.cfg.hasNull && strings.ContainsAny(d.cfg.null, "0123456789") {
			fast = colbuf.FastNone // the literal may look like a number or a time
		}
		d.fast = append(d.fast, fast)
	}
	d.stamps = !strings.ContainsRune("0123456789-:. T", rune(d.cfg.delim))
	d.scan.cfg = &d.cfg
}

// Clone returns a decoder for another goroutine.
func (d *decoder) Clone() connectors.Decoder {
	e := &decoder{cfg: d.cfg, columns: d.columns, wanted: d.wanted, schema: d.schema, byPosition: d.byPosition, keepBad: d.keepBad, most: d.most}
	e.init()
	return e
}

var bom = []byte("\xef\xbb\xbf")

// Header skips a byte order mark and reads the header line where there is one. The binding is a layout.
func (d *decoder) Header(data []byte, eof bool) (n int, lines int64, binding any, ok bool, err error) {
	if len(data) < len(bom) && !eof && bytes.HasPrefix(bom, data) {
		return 0, 0, nil, false, nil
	}
	if bytes.HasPrefix(data, bom) {
		n = len(bom)
	}
	if !d.cfg.header {
		return n, 0, nil, true, nil
	}
	names, n, lines, ok, err := headerNames(&d.scan, data, n, eof)
	if !ok || err != nil {
		return 0, 0, nil, ok, err
	}
	b := layout{make([]int, len(names))}
	at := map[string]int{}
	for i, name := range names {
		b.to[i] = -1
		if first, twice := at[name]; twice && d.declares(name) {
			return 0, 0, nil, true, fmt.Errorf("the header has the column '%s' twice, as number %d and %d: rename one", name, first+1, i+1)
		}
		at[name] = i
	}
	for i, c := range d.columns {
		j, there := at[c.Name]
		if !there {
			hint := "the header has " + quoteAll(names)
			if near := connectors.Nearest(c.Name, names); near != "" {
				hint = "did you mean '" + near + "'?"
			}
			return 0, 0, nil, true, fmt.Errorf("the header has no column '%s' (names are compared with case): %s", c.Name, hint)
		}
		b.to[j] = d.byPosition.to[i]
	}
	return n, lines, b, true, nil
}

func quoteAll(names []string) string {
	const most = 30
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	return "'" + types.Printable(strings.Join(names, "', '")) + "'" + more
}

func (d *decoder) declares(name string) bool { return d.columns.Index(name) >= 0 }

// headerNames reads the first record from p on.
func headerNames(s *scanner, data []byte, p int, eof bool) (names []string, n int, lines int64, ok bool, err error) {
	for {
		next, complete := s.comment(data, p)
		if next == p {
			break
		}
		if !complete && !eof {
			return nil, 0, 0, false, nil
		}
		p = next
		lines++
	}
	next, complete := s.record(data, p, true)
	if !complete && !eof {
		return nil, 0, 0, false, nil
	}
	lines += max(s.lines, 1)
	if p == len(data) {
		return nil, 0, 0, true, errors.New("the file is empty: its header line is missing ('csv.header' = 'true')")
	}
	if s.bad != "" {
		return nil, 0, 0, true, fmt.Errorf("the header line cannot be read: %s", s.bad)
	}
	for _, c := range s.cells {
		b := s.bytes(data, c)
		if !utf8.Valid(b) {
			return nil, 0, 0, true, errors.New("the header line is not UTF-8")
		}
		names = append(names, string(b))
	}
	return names, next, lines, true, nil
}

// Boundary finds the last end of a record outside of quotes.
func (d *decoder) Boundary(data []byte, eof bool) (int, int64) { return d.scan.boundary(data, eof) }

// Decode decodes whole records.
func (d *decoder) Decode(ctx context.Context, data []byte, at connectors.RecordPosition, mem memory.Allocator) (connectors.Decoded, error) {
	l := d.byPosition
	if b, ok := at.Binding.(layout); ok {
		l = b
	}
	lines := at.LineEnds(data)
	for _, c := range d.cols {
		c.Start(mem, lines+1)
	}
	r := run{d: d, l: l, at: at, data: data, line: at.Line, utf8: utf8.Valid(data)}
	for _, to := range l.to {
		var st step
		if to >= 0 {
			st = step{d.cols[to], d.fast[to]}
		}
		r.steps = append(r.steps, st)
	}
	err := r.all(lines)
	if err != nil {
		for _, c := range d.cols {
			c.Discard()
		}
		return connectors.Decoded{}, err
	}
	cols := make([]arrow.ArrayData, len(d.cols))
	for i, c := range d.cols {
		cols[i] = c.Finish()
	}
	return connectors.Decoded{Batch: stream.Batch{Record: colbuf.Record(d.schema, cols, r.rows)}, Bad: r.bad, Position: r.position}, nil
}

// step is a column of the file: how it is read, nothing when it is not wanted.
type step struct {
	c    *colbuf.Col
	fast colbuf.Fast
}

// run is one call of Decode.
type run struct {
	d     *decoder
	l     layout
	steps []step // of l
	at    connectors.RecordPosition
	data  []byte
	line  int64
	rows  int
	utf8  bool
	bad   []connectors.BadRecord
	// lines are those of the rows from row plain on; a row before is the line of its number.
	plain int
	lines []int64
}

// position is the line that a row begins on.
func (r *run) position(row int) int64 {
	if row < r.plain {
		return r.at.Line + int64(row)
	}
	return r.lines[row-r.plain]
}

// note keeps the line of the rows since the last one.
func (r *run) note(line int64) {
	for r.plain+len(r.lines) < r.rows {
		r.lines = append(r.lines, line)
	}
}

// all reads the block. The fast way takes rows one behind the other and looks for delimiters only; it may run over a line end when a row has too few
// cells. So it is believed only when it took as many rows as there are line ends; otherwise the block is read again line by line.
func (r *run) all(lines int) error {
	d := r.d
	quotes := d.cfg.quote != 0 && bytes.IndexByte(r.data, d.cfg.quote) >= 0
	escapes := d.cfg.escape != 0 && bytes.IndexByte(r.data, d.cfg.escape) >= 0
	body := r.data[:bytes.LastIndexByte(r.data, '\n')+1]
	if !quotes && !escapes && !d.cfg.comments && r.utf8 {
		p := 0
		for p < len(body) {
			next, ok := r.fast(body, p, false)
			if !ok {
				break
			}
			p = next
		}
		// As many line ends as rows and as many delimiters as rows have: no cell has run over either.
		if p == len(body) && r.rows == lines && bytes.Count(body, r.delims()) == lines*(len(r.l.to)-1) {
			r.line += int64(lines)
			r.plain = r.rows
			return r.slowFrom(len(body))
		}
		for _, c := range d.cols {
			c.Truncate(0)
		}
		r.rows = 0
	}
	if escapes {
		return r.slowFrom(0)
	}
	p := 0
	for p < len(r.data) {
		e := bytes.IndexByte(r.data[p:], '\n')
		if e < 0 {
			break
		}
		e += p + 1
		if r.utf8 && !(d.cfg.comments && r.data[p] == '#') && (!quotes || bytes.IndexByte(r.data[p:e], d.cfg.quote) < 0) {
			if next, ok := r.fast(r.data[:e], p, true); ok && next == e {
				p = e
				r.note(r.line)
				r.line++
				continue
			}
			for _, c := range d.cols {
				c.Truncate(r.rows)
			}
		}
		next, err := r.slow(p)
		if err != nil {
			return err
		}
		p = next
	}
	return r.slowFrom(p)
}

func (r *run) slowFrom(p int) error {
	for p < len(r.data) {
		next, err := r.slow(p)
		if err != nil {
			return err
		}
		p = next
	}
	return nil
}

func (r *run) delims() []byte { return []byte{r.d.cfg.delim} }

// fast reads the row at p of data, which ends with a line end, and returns where the next one begins. With check it makes sure that the last cell is the
// last; otherwise the caller does. On false columns may have been put already.
func (r *run) fast(data []byte, p int, check bool) (int, bool) {
	d := r.d
	begin := p
	last := len(r.steps) - 1
	delim := d.cfg.delim
	for i := range r.steps {
		st := &r.steps[i]
		if i == last {
			delim = '\n'
		}
		if st.c == nil {
			e := indexByte(data[p:], delim)
			if e < 0 || i == last && check && bytes.IndexByte(data[p:p+e], d.cfg.delim) >= 0 {
				return 0, false
			}
			p += e + 1
			continue
		}
		c, fast := st.c, st.fast
		var e int
		switch {
		case fast == colbuf.FastInt:
			if v, n := colbuf.Int(data[p:]); n > 0 && p+n < len(data) && data[p+n] == delim {
				c.PutI64(v)
				p += n + 1
				continue
			}
			e = bytes.IndexByte(data[p:], delim)
		case fast == colbuf.FastStamp && d.stamps && p+23 < len(data) && data[p+23] == delim && d.texts.FastTime(c, data[p:p+23]):
			p += 24
			continue
		default:
			e = indexByte(data[p:], delim)
		}
		if e < 0 {
			return 0, false
		}
		b := data[p : p+e]
		p += e + 1
		if i == last {
			if n := len(b); n > 0 && b[n-1] == '\r' {
				b = b[:n-1]
			}
			if check && bytes.IndexByte(b, d.cfg.delim) >= 0 || last == 0 && len(b) == 0 {
				return 0, false // too many cells; a blank line
			}
		}
		if fast == colbuf.FastText && len(b) > 0 && !d.cfg.hasNull {
			c.PutBytes(b)
			continue
		}
		if fast == colbuf.FastStamp && d.texts.FastTime(c, b) {
			continue
		}
		if d.cell(c, b, false) != nil || d.badElement != nil {
			d.badElement = nil
			return 0, false
		}
	}
	if d.most > 0 && int64(p-begin) > d.most {
		return 0, false
	}
	r.rows++
	return p, true
}

// indexByte is bytes.IndexByte for cells that are often shorter than a word.
func indexByte(b []byte, c byte) int {
	if len(b) >= 8 {
		x := binary.LittleEndian.Uint64(b) ^ 0x0101010101010101*uint64(c)
		// The lowest bit set is that of the first byte that is zero now.
		if x = (x - 0x0101010101010101) & ^x & 0x8080808080808080; x != 0 {
			return bits.TrailingZeros64(x) >> 3
		}
	}
	return bytes.IndexByte(b, c)
}

var errNull = errors.New("NULL in a column that is NOT NULL")

// cell reads one cell into its column.
func (d *decoder) cell(c *colbuf.Col, b []byte, quoted bool) error {
	if !quoted && (d.cfg.hasNull && string(b) == d.cfg.null || !d.cfg.hasNull && len(b) == 0) {
		if !c.Type.Nullable {
			return errNull
		}
		c.PutNull()
		return nil
	}
	switch c.Type.Kind {
	case types.VarChar:
		if c.Type.Length == types.MaxLength {
			c.PutBytes(b)
			return nil
		}
	case types.Timestamp, types.TimestampLTZ:
		return d.texts.Put(c, colbuf.Trim(b))
	case types.Decimal:
		if len(b) > 0 && (b[0] <= ' ' || b[len(b)-1] <= ' ') {
			return &colbuf.TextError{Type: c.Type, Text: string(b), Cause: "there are blanks around it"}
		}
	case types.Array:
		kid := c.Kids[0]
		for len(b) > 0 {
			e, rest := cutElement(b, d.cfg.array)
			if err := d.element(kid, e); err != nil {
				return err
			}
			if rest == nil {
				break
			}
			if b = rest; len(b) == 0 { // a delimiter at the end: an empty element behind it
				if err := d.element(kid, b); err != nil {
					return err
				}
			}
		}
		c.PutList()
		return nil
	case types.Row:
		more := true
		for i, kid := range c.Kids {
			if !more {
				if !d.cfg.ignore {
					return &colbuf.TextError{Type: c.Type, Text: string(b), Cause: fmt.Sprintf("it has %s of %d", types.Count(i, "field"), len(c.Kids))}
				}
				kid.PutNull()
				continue
			}
			var e []byte
			e, b = cutElement(b, d.cfg.array)
			if err := d.element(kid, e); err != nil {
				return err
			}
			more = b != nil
		}
		if more {
			return &colbuf.TextError{Type: c.Type, Text: string(b), Cause: "it has more than " + types.Count(len(c.Kids), "field")}
		}
		c.PutRow()
		return nil
	}
	return d.texts.Put(c, b)
}

// cutElement returns the first element of b and what is behind the delimiter, nil when there is none.
func cutElement(b []byte, delim string) (first, rest []byte) {
	if i := bytes.Index(b, []byte(delim)); i >= 0 {
		return b[:i], b[i+len(delim) : len(b) : len(b)]
	}
	return b, nil
}

// element is cell for the elements of ARRAY and ROW; with ignore-parse-errors a bad one is NULL.
func (d *decoder) element(c *colbuf.Col, b []byte) error {
	n := c.Len()
	err := d.cell(c, b, false)
	if err != nil && d.cfg.ignore && !d.keepBad {
		c.Truncate(n)
		c.PutNull()
		d.badElement = err
		return nil
	}
	return err
}

// slow reads the record at p with all that can be in it.
func (r *run) slow(p int) (int, error) {
	d := r.d
	if next, _ := d.scan.comment(r.data, p); next > p {
		r.line++
		return next, nil
	}
	next, complete := d.scan.record(r.data, p, true)
	line := r.line
	r.line += d.scan.lines
	if !complete {
		r.line++
	}
	raw := r.data[p:next]
	if n := len(raw); n > 0 && raw[n-1] == '\n' {
		raw = raw[:n-1]
		if n > 1 && raw[n-2] == '\r' {
			raw = raw[:n-2]
		}
	}
	switch {
	case d.most > 0 && int64(len(raw)) > d.most:
		return 0, connectors.RecordTooLong(r.at.Split, line, d.most)
	case d.scan.bad != "":
		return next, r.fail(raw, line, d.scan.bad)
	case len(raw) == 0 && (len(r.l.to) > 1 || d.cfg.hasNull):
		return next, r.fail(raw, line, "a blank line")
	case !r.utf8 && !utf8.Valid(raw):
		return next, r.fail(raw, line, "the text is not UTF-8")
	}
	cells := d.scan.cells
	tolerant := d.cfg.ignore && !d.keepBad
	if len(cells) > len(r.l.to) || len(cells) < len(r.l.to) && !tolerant {
		return next, r.fail(raw, line, types.Count(len(cells), "cell")+", but "+types.Count(len(r.l.to), "column"))
	}
	why := "" // of the first field that is read as NULL
	if len(cells) < len(r.l.to) {
		why = types.Count(len(cells), "cell") + ", but " + types.Count(len(r.l.to), "column")
	}
	for i, to := range r.l.to {
		if to < 0 {
			continue
		}
		c := d.cols[to]
		var err error
		if i < len(cells) {
			err = d.cell(c, d.scan.bytes(r.data, cells[i]), cells[i].quoted)
		} else if c.PutNull(); !c.Type.Nullable {
			err = errNull
		}
		bad := err
		if bad == nil {
			bad = d.badElement
		}
		d.badElement = nil
		if bad != nil && why == "" {
			why = fmt.Sprintf("column %s: %v", d.columns[d.wanted[to]].Name, bad)
		}
		if err == nil {
			continue
		}
		if tolerant && c.Type.Nullable {
			c.Truncate(r.rows)
			c.PutNull()
			continue
		}
		for _, c := range d.cols {
			c.Truncate(r.rows)
		}
		name := d.columns[d.wanted[to]].Name
		why = fmt.Sprintf("column %s: %v", name, err)
		if line == 1 && i < len(cells) && strings.EqualFold(string(d.scan.bytes(r.data, cells[i])), name) {
			why += " (this looks like a header line: 'csv.header' = 'true')"
		}
		return next, r.fail(raw, line, why)
	}
	if why != "" {
		r.bad = append(r.bad, connectors.BadRecord{Raw: bytes.Clone(raw), Err: why, Split: r.at.Split, Position: line, Row: r.rows, Kept: true})
	}
	r.rows++
	r.note(line)
	return next, nil
}

// fail handles a bad record by the policy.
func (r *run) fail(raw []byte, line int64, why string) error {
	b := connectors.BadRecord{Raw: bytes.Clone(raw), Err: why, Split: r.at.Split, Position: line, Row: r.rows}
	if r.d.keepBad || r.d.cfg.ignore {
		r.bad = append(r.bad, b)
		return nil
	}
	b.Err += "; to go on behind bad records set 'csv.ignore-parse-errors' = 'true' or 'bad-records.table'"
	return &b
}
