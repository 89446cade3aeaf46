package csv

import "bytes"

// cell is one cell of a record: a piece of the data, or of the scratch buffer where quotes or escapes were taken out.
type cell struct {
	from, to int
	scratch  bool
	quoted   bool
}

// scanner splits one record at a time, exactly.
type scanner struct {
	cfg   *config
	cells []cell
	buf   []byte
	lines int64  // line ends in the record
	bad   string // why the record cannot be split, empty when it can
}

// record splits the record at p and returns where the next one begins. complete is false when the data ends before the record has its line end; then
// what was found is the record if nothing follows. With keep false only the end is looked for.
func (s *scanner) record(data []byte, p int, keep bool) (next int, complete bool) {
	s.cells, s.buf, s.lines, s.bad = s.cells[:0], s.buf[:0], 0, ""
	c := s.cfg
	for {
		if c.quote != 0 && p < len(data) && data[p] == c.quote {
			q, ok := s.quoted(data, p+1, keep)
			if !ok {
				return len(data), false
			}
			p = q
			for p < len(data) && data[p] == ' ' { // Jackson skips blanks behind a quote
				p++
			}
			if p < len(data) && data[p] != c.delim && data[p] != '\n' && !(data[p] == '\r' && p+1 < len(data) && data[p+1] == '\n') &&
				!(data[p] == '\r' && p+1 == len(data)) {
				s.bad = "text behind a closing quote"
				e := bytes.IndexByte(data[p:], '\n')
				if e < 0 {
					return len(data), false
				}
				s.lines++
				return p + e + 1, true
			}
			if p < len(data) && data[p] == '\r' {
				p++
			}
		} else {
			p = s.plain(data, p, keep)
		}
		if p >= len(data) {
			return len(data), false
		}
		if data[p] == '\n' {
			s.lines++
			return p + 1, true
		}
		p++ // the delimiter
	}
}

// plain takes an unquoted cell and returns the place of the delimiter or LF behind it.
func (s *scanner) plain(data []byte, p int, keep bool) int {
	c := s.cfg
	if c.escape == 0 {
		e := bytes.IndexByte(data[p:], '\n')
		if e < 0 {
			e = len(data) - p
		}
		if d := bytes.IndexByte(data[p:p+e], c.delim); d >= 0 {
			e = d
		}
		if keep {
			to := p + e
			if to > p && data[to-1] == '\r' && (to >= len(data) || data[to] == '\n') {
				to--
			}
			s.cells = append(s.cells, cell{from: p, to: to})
		}
		return p + e
	}
	start := p
	scratch := -1
	for p < len(data) && data[p] != c.delim && data[p] != '\n' {
		if c.escape != 0 && data[p] == c.escape && p+1 < len(data) && data[p+1] != '\n' {
			if scratch < 0 {
				scratch = len(s.buf)
				s.buf = append(s.buf, data[start:p]...)
			}
			s.buf = append(s.buf, unescape(data[p+1]))
			p += 2
			continue
		}
		if scratch >= 0 {
			s.buf = append(s.buf, data[p])
		}
		p++
	}
	end := p
	if end > start && data[end-1] == '\r' && (p >= len(data) || data[p] == '\n') {
		end--
		if scratch >= 0 && len(s.buf) > scratch {
			s.buf = s.buf[:len(s.buf)-1]
		}
	}
	if !keep {
		return p
	}
	if scratch >= 0 {
		s.cells = append(s.cells, cell{from: scratch, to: len(s.buf), scratch: true})
	} else {
		s.cells = append(s.cells, cell{from: start, to: end})
	}
	return p
}

// quoted takes a quoted cell from behind its opening quote and returns the place behind the closing one; false when there is none.
func (s *scanner) quoted(data []byte, p int, keep bool) (int, bool) {
	c := s.cfg
	start, scratch := p, -1
	for {
		if c.escape == 0 { // up to the next quote
			e := bytes.IndexByte(data[p:], c.quote)
			if e < 0 {
				s.lines += int64(bytes.Count(data[p:], newline))
				p = len(data)
			} else {
				s.lines += int64(bytes.Count(data[p:p+e], newline))
				if scratch >= 0 {
					s.buf = append(s.buf, data[p:p+e]...)
				}
				p += e
			}
		}
		if p >= len(data) {
			s.bad = "a quote is not closed"
			return p, false
		}
		b := data[p]
		switch {
		case c.escape != 0 && b == c.escape && p+1 < len(data):
			if scratch < 0 {
				scratch = len(s.buf)
				s.buf = append(s.buf, data[start:p]...)
			}
			s.buf = append(s.buf, unescape(data[p+1]))
			if data[p+1] == '\n' {
				s.lines++
			}
			p += 2
			continue
		case b == c.quote && p+1 < len(data) && data[p+1] == c.quote:
			if scratch < 0 {
				scratch = len(s.buf)
				s.buf = append(s.buf, data[start:p]...)
			}
			s.buf = append(s.buf, b)
			p += 2
			continue
		case b == c.quote:
			if keep {
				if scratch >= 0 {
					s.cells = append(s.cells, cell{from: scratch, to: len(s.buf), scratch: true, quoted: true})
				} else {
					s.cells = append(s.cells, cell{from: start, to: p, quoted: true})
				}
			}
			return p + 1, true
		case b == '\n':
			s.lines++
		}
		if scratch >= 0 {
			s.buf = append(s.buf, b)
		}
		p++
	}
}

// unescape is Jackson's reading of the character behind an escape.
func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case '0':
		return 0
	}
	return c
}

// bytes returns the text of a cell.
func (s *scanner) bytes(data []byte, c cell) []byte {
	if c.scratch {
		return s.buf[c.from:c.to]
	}
	return data[c.from:c.to]
}

// comment returns the end of the comment line at p, or p when there is none.
func (s *scanner) comment(data []byte, p int) (next int, complete bool) {
	if !s.cfg.comments || p >= len(data) || data[p] != '#' {
		return p, true
	}
	e := bytes.IndexByte(data[p:], '\n')
	if e < 0 {
		return len(data), false
	}
	return p + e + 1, true
}

// boundary returns how much of data is whole records, and its lines.
func (s *scanner) boundary(data []byte, eof bool) (n int, lines int64) {
	c := s.cfg
	if c.quote == 0 && c.escape == 0 || c.escape == 0 && bytes.IndexByte(data, c.quote) < 0 {
		n = bytes.LastIndexByte(data, '\n') + 1
		lines = int64(bytes.Count(data[:n], newline))
		if eof && n < len(data) {
			n = len(data)
			lines++
		}
		return n, lines
	}
	p := 0
	for p < len(data) {
		// Whole lines in front of the next line with a quote are records (a quote inside of an unquoted cell is found too; it costs a look).
		if c.escape == 0 {
			q := bytes.IndexByte(data[p:], c.quote)
			if q < 0 {
				e := bytes.LastIndexByte(data[p:], '\n') + 1
				lines += int64(bytes.Count(data[p:p+e], newline))
				p += e
				if eof && p < len(data) {
					return len(data), lines + 1
				}
				return p, lines
			}
			if e := bytes.LastIndexByte(data[p:p+q], '\n') + 1; e > 0 {
				lines += int64(bytes.Count(data[p:p+e], newline))
				p += e
			}
		}
		if next, complete := s.comment(data, p); next > p {
			if !complete {
				if eof {
					return len(data), lines + 1
				}
				return p, lines
			}
			p = next
			lines++
			continue
		}
		next, complete := s.record(data, p, false)
		if !complete {
			if eof {
				return len(data), lines + s.lines + 1
			}
			return p, lines
		}
		p = next
		lines += s.lines
	}
	return p, lines
}

var newline = []byte{'\n'}
