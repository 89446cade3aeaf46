package json

import (
	"bytes"
	"unicode/utf8"

	"github.com/weir-sql/weir/connectors/internal/colbuf"
	"github.com/weir-sql/weir/types"
)

// entry is a member of an object that becomes a MAP.
type entry struct {
	key []byte
	at  int // of its value
}

// field reads the value at p into c. With ignore-parse-errors a value that does not fit is NULL.
func (d *decoder) field(c *colbuf.Col, sub *object, b []byte, p int) (int, error) {
	n := c.Len()
	next, err := d.value(c, sub, b, p)
	if err == nil {
		return next, nil
	}
	if _, ok := err.(*fieldError); !ok || !d.tolerant || !c.Type.Nullable {
		return next, err
	}
	c.Truncate(n)
	next, skipErr := d.skip(b, p)
	if skipErr != nil {
		return next, skipErr
	}
	c.PutNull()
	if d.badWhy == "" {
		d.badWhy = err.Error()
	}
	return next, nil
}

func misfit(t types.Type, b []byte, from, to int, why string) error {
	return &fieldError{err: &colbuf.TextError{Type: t, Text: string(b[from:to]), Cause: why}}
}

// value reads the value at p into c and returns the place behind it. On an error c may have been put to in part.
func (d *decoder) value(c *colbuf.Col, sub *object, b []byte, p int) (int, error) {
	if p >= len(b) {
		return p, &syntaxError{"a value was expected", p}
	}
	switch b[p] {
	case '"':
		return d.text(c, b, p)
	case 'n':
		q, err := literal(b, p, "null")
		if err != nil {
			return q, err
		}
		if !c.Type.Nullable {
			return q, &fieldError{err: errNull}
		}
		c.PutNull()
		return q, nil
	case 't', 'f':
		word := "true"
		if b[p] == 'f' {
			word = "false"
		}
		q, err := literal(b, p, word)
		if err != nil {
			return q, err
		}
		switch {
		case c.Type.Kind == types.Boolean:
			c.PutBool(b[p] == 't')
		case c.Type.IsText():
			err = d.put(c, b[p:q])
		default:
			err = misfit(c.Type, b, p, q, "")
		}
		return q, err
	case '{':
		switch c.Type.Kind {
		case types.Row:
			q, err := d.object(sub, b, p, c.Len())
			if err == nil {
				c.PutRow()
			}
			return q, err
		case types.Map, types.Multiset:
			return d.entriesOf(c, sub, b, p)
		}
	case '[':
		if c.Type.Kind == types.Array {
			kid := c.Kids[0]
			q, err := d.elements(b, p, func(q int) (int, error) { return d.field(kid, sub, b, q) })
			if err == nil {
				c.PutList()
			}
			return q, err
		}
	default:
		return d.number(c, b, p)
	}
	// A container for another type: its text for STRING, otherwise wrong.
	q, err := d.skip(b, p)
	if err != nil {
		return q, err
	}
	if !c.Type.IsText() {
		what := "an object"
		if b[p] == '[' {
			what = "an array"
		}
		return q, misfit(c.Type, b, p, q, "it is "+what)
	}
	d.scratch = compact(d.scratch[:0], b[p:q])
	return q, d.put(c, d.scratch)
}

// put is texts.Put with its error as one of a field.
func (d *decoder) put(c *colbuf.Col, b []byte) error {
	if err := d.texts.Put(c, b); err != nil {
		return &fieldError{err: err}
	}
	return nil
}

// text reads the string at p (a quote) into c.
func (d *decoder) text(c *colbuf.Col, b []byte, p int) (int, error) {
	e := bytes.IndexByte(b[p+1:], '"')
	if e < 0 {
		return p, &syntaxError{"a quote is not closed", p}
	}
	s := b[p+1 : p+1+e]
	next := p + e + 2
	if d.escapes && bytes.IndexByte(s, '\\') >= 0 {
		var err error
		if s, next, err = d.unescape(b, p+1); err != nil {
			return next, err
		}
	}
	switch c.Type.Kind {
	case types.VarChar:
		if c.Type.Length == types.MaxLength {
			c.PutBytes(s)
			return next, nil
		}
	case types.Array, types.Map, types.Multiset, types.Row:
		return next, misfit(c.Type, s, 0, len(s), "it is text")
	case types.Float, types.Double, types.Decimal:
		s = colbuf.Trim(s)
	}
	return next, d.put(c, s)
}

// number reads the number at p into c.
func (d *decoder) number(c *colbuf.Col, b []byte, p int) (int, error) {
	start := p
	// Integers of up to 18 digits, the common case.
	q := p
	neg := false
	if b[q] == '-' {
		neg = true
		q++
	}
	digits := q
	var v int64
	for q < len(b) {
		x := b[q] - '0'
		if x > 9 {
			break
		}
		v = v*10 + int64(x)
		q++
	}
	n := q - digits
	if n == 0 {
		return p, &syntaxError{"a value was expected", p}
	}
	if n > 1 && b[digits] == '0' {
		return p, &syntaxError{"a number must not begin with 0", p}
	}
	whole := q >= len(b) || b[q] != '.' && b[q]|0x20 != 'e'
	if !whole {
		var err error
		if q, err = numberEnd(b, q); err != nil {
			return q, err
		}
	}
	if q < len(b) && b[q] != ',' && b[q] != '}' && b[q] != ']' && b[q] > ' ' {
		return q, &syntaxError{"a number ends strangely", p}
	}
	if neg {
		v = -v
	}
	s := b[start:q]
	switch t := c.Type; t.Kind {
	case types.BigInt:
		if whole && n <= 18 {
			c.PutI64(v)
			return q, nil
		}
		return q, d.wrongNumber(colbuf.PutNumber(c, s))
	case types.Int, types.SmallInt, types.TinyInt:
		if whole && n <= 18 {
			if !colbuf.PutInt(c, v) {
				return q, misfit(t, s, 0, len(s), "out of range")
			}
			return q, nil
		}
		return q, d.wrongNumber(colbuf.PutNumber(c, s))
	case types.Boolean:
		return q, misfit(t, s, 0, len(s), "only true and false are")
	case types.Float, types.Double, types.Decimal:
		return q, d.put(c, s)
	case types.Char, types.VarChar, types.IntervalDayTime, types.IntervalYearMonth:
		return q, d.put(c, s)
	case types.Timestamp, types.TimestampLTZ:
		return q, d.put(c, s) // refused, with the cure
	}
	return q, misfit(c.Type, s, 0, len(s), "it is a number")
}

func (d *decoder) wrongNumber(err error) error {
	if err != nil {
		return &fieldError{err: err}
	}
	return nil
}

// numberEnd checks fraction and exponent, which begin at p.
func numberEnd(b []byte, p int) (int, error) {
	bad := func() (int, error) { return p, &syntaxError{"a number is not complete", p} }
	if p < len(b) && b[p] == '.' {
		p++
		n := p
		for p < len(b) && b[p]-'0' <= 9 {
			p++
		}
		if p == n {
			return bad()
		}
	}
	if p < len(b) && b[p]|0x20 == 'e' {
		p++
		if p < len(b) && (b[p] == '+' || b[p] == '-') {
			p++
		}
		n := p
		for p < len(b) && b[p]-'0' <= 9 {
			p++
		}
		if p == n {
			return bad()
		}
	}
	return p, nil
}

func literal(b []byte, p int, word string) (int, error) {
	if len(b)-p < len(word) || string(b[p:p+len(word)]) != word {
		return p, &syntaxError{"a value was expected", p}
	}
	p += len(word)
	if p < len(b) && b[p] != ',' && b[p] != '}' && b[p] != ']' && b[p] > ' ' {
		return p, &syntaxError{"a value was expected", p - len(word)}
	}
	return p, nil
}

// elements calls one for each element of the array at p (a bracket).
func (d *decoder) elements(b []byte, p int, one func(p int) (int, error)) (int, error) {
	p = ws(b, p+1)
	if p < len(b) && b[p] == ']' {
		return p + 1, nil
	}
	for {
		if p >= len(b) {
			return p, &syntaxError{"a value was expected", p}
		}
		var err error
		if p, err = one(p); err != nil {
			return p, err
		}
		p = ws(b, p)
		switch {
		case p < len(b) && b[p] == ',':
			p = ws(b, p+1)
		case p < len(b) && b[p] == ']':
			return p + 1, nil
		default:
			return p, &syntaxError{"a comma or a bracket was expected", p}
		}
	}
}

// entriesOf reads the object at p into the MAP or MULTISET c. Of equal keys the last one's value counts, at the place of the first.
func (d *decoder) entriesOf(c *colbuf.Col, sub *object, b []byte, p int) (int, error) {
	base := len(d.entries)
	defer func() { d.entries = d.entries[:base] }()
	var at map[string]int
	end, err := d.members(b, p, func(key []byte, p int) (int, error) {
		if at == nil && len(d.entries)-base >= 16 {
			at = make(map[string]int)
			for i, e := range d.entries[base:] {
				at[string(e.key)] = i
			}
		}
		found := -1
		if at != nil {
			if i, ok := at[string(key)]; ok {
				found = i
			}
		} else {
			for i, e := range d.entries[base:] {
				if string(e.key) == string(key) {
					found = i
				}
			}
		}
		if found >= 0 {
			d.entries[base+found].at = p
		} else {
			if at != nil {
				at[string(key)] = len(d.entries) - base
			}
			d.entries = append(d.entries, entry{key, p})
		}
		return d.skip(b, p)
	})
	if err != nil {
		return end, err
	}
	n := len(d.entries)
	for i := base; i < n; i++ {
		e := d.entries[i]
		if err := d.put(c.Kids[0], e.key); err != nil {
			return end, err
		}
		if _, err := d.field(c.Kids[1], sub, b, e.at); err != nil {
			return end, err
		}
	}
	c.PutList()
	return end, nil
}

// members calls one with each name (which one may keep) and the place of its value for the object at p (a brace).
func (d *decoder) members(b []byte, p int, one func(key []byte, p int) (int, error)) (int, error) {
	p = ws(b, p+1)
	if p < len(b) && b[p] == '}' {
		return p + 1, nil
	}
	for {
		if p >= len(b) || b[p] != '"' {
			return p, &syntaxError{"a name in quotes was expected", p}
		}
		e := bytes.IndexByte(b[p+1:], '"')
		if e < 0 {
			return p, &syntaxError{"a quote is not closed", p}
		}
		key := b[p+1 : p+1+e]
		q := p + e + 2
		if bytes.IndexByte(key, '\\') >= 0 {
			var err error
			if key, q, err = d.unescape(b, p+1); err != nil {
				return q, err
			}
			key = bytes.Clone(key)
		}
		p = ws(b, q)
		if p >= len(b) || b[p] != ':' {
			return p, &syntaxError{"a colon was expected", p}
		}
		var err error
		if p, err = one(key, ws(b, p+1)); err != nil {
			return p, err
		}
		p = ws(b, p)
		switch {
		case p < len(b) && b[p] == ',':
			p = ws(b, p+1)
		case p < len(b) && b[p] == '}':
			return p + 1, nil
		default:
			return p, &syntaxError{"a comma or a brace was expected", p}
		}
	}
}

// maxDepth is how deep a value that is skipped may be nested.
const maxDepth = 1000

// skip checks the value at p and returns the place behind it.
func (d *decoder) skip(b []byte, p int) (int, error) { return d.skipDepth(b, p, 0) }

func (d *decoder) skipDepth(b []byte, p, depth int) (int, error) {
	if p >= len(b) {
		return p, &syntaxError{"a value was expected", p}
	}
	if depth > maxDepth {
		return p, &syntaxError{"the document is nested more than 1000 levels deep", p}
	}
	switch b[p] {
	case '"':
		return d.skipText(b, p+1)
	case '{':
		p = ws(b, p+1)
		if p < len(b) && b[p] == '}' {
			return p + 1, nil
		}
		for {
			if p >= len(b) || b[p] != '"' {
				return p, &syntaxError{"a name in quotes was expected", p}
			}
			var err error
			if p, err = d.skipText(b, p+1); err != nil {
				return p, err
			}
			p = ws(b, p)
			if p >= len(b) || b[p] != ':' {
				return p, &syntaxError{"a colon was expected", p}
			}
			if p, err = d.skipDepth(b, ws(b, p+1), depth+1); err != nil {
				return p, err
			}
			p = ws(b, p)
			if p < len(b) && b[p] == ',' {
				p = ws(b, p+1)
				continue
			}
			if p < len(b) && b[p] == '}' {
				return p + 1, nil
			}
			return p, &syntaxError{"a comma or a brace was expected", p}
		}
	case '[':
		return d.elements(b, p, func(q int) (int, error) { return d.skipDepth(b, q, depth+1) })
	case 't':
		return literal(b, p, "true")
	case 'f':
		return literal(b, p, "false")
	case 'n':
		return literal(b, p, "null")
	}
	start := p
	if b[p] == '-' {
		p++
	}
	n := p
	for p < len(b) && b[p]-'0' <= 9 {
		p++
	}
	if p == n {
		return start, &syntaxError{"a value was expected", start}
	}
	if p-n > 1 && b[n] == '0' {
		return start, &syntaxError{"a number must not begin with 0", start}
	}
	p, err := numberEnd(b, p)
	if err != nil {
		return p, err
	}
	if p < len(b) && b[p] != ',' && b[p] != '}' && b[p] != ']' && b[p] > ' ' {
		return p, &syntaxError{"a number ends strangely", start}
	}
	return p, nil
}

// skipText checks a string from behind its opening quote and returns the place behind the closing one.
func (d *decoder) skipText(b []byte, p int) (int, error) {
	e := bytes.IndexByte(b[p:], '"')
	if e < 0 {
		return p - 1, &syntaxError{"a quote is not closed", p - 1}
	}
	if !d.escapes || bytes.IndexByte(b[p:p+e], '\\') < 0 {
		return p + e + 1, nil
	}
	_, next, err := d.unescape(b, p)
	return next, err
}

// unescape reads a string with escapes from behind its opening quote. The text is valid until the next call. A half of a surrogate pair alone becomes
// U+FFFD.
func (d *decoder) unescape(b []byte, p int) ([]byte, int, error) {
	out := d.scratch[:0]
	start := p - 1
	for p < len(b) {
		c := b[p]
		if c == '"' {
			d.scratch = out
			return out, p + 1, nil
		}
		if c != '\\' {
			out = append(out, c)
			p++
			continue
		}
		if p+1 >= len(b) {
			break
		}
		switch b[p+1] {
		case '"', '\\', '/':
			out = append(out, b[p+1])
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, ok := hex4(b, p+2)
			if !ok {
				return nil, p, &syntaxError{"four hexadecimal digits were expected", p}
			}
			p += 4
			if r >= 0xd800 && r < 0xdc00 {
				if p+3 < len(b) && b[p+2] == '\\' && b[p+3] == 'u' {
					if low, ok := hex4(b, p+4); ok && low >= 0xdc00 && low < 0xe000 {
						r = (r-0xd800)<<10 + (low - 0xdc00) + 0x10000
						p += 6
					}
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			return nil, p, &syntaxError{"an unknown escape", p}
		}
		p += 2
	}
	d.scratch = out
	return nil, p, &syntaxError{"a quote is not closed", start}
}

func hex4(b []byte, p int) (rune, bool) {
	if p+4 > len(b) {
		return 0, false
	}
	var r rune
	for _, c := range b[p : p+4] {
		switch {
		case c-'0' <= 9:
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// compact appends a value without white space outside of strings.
func compact(dst, b []byte) []byte {
	in := false
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case in && c == '\\' && i+1 < len(b):
			dst = append(dst, c, b[i+1])
			i++
			continue
		case c == '"':
			in = !in
		case !in && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			continue
		}
		dst = append(dst, c)
	}
	return dst
}
