package csv

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/internal/textout"
	"github.com/weir-sql/weir/types"
)

// Encoder returns an encoder. What it writes, a decoder with the same options reads back: text is quoted where it has delimiters, quotes or line breaks,
// and where it would be taken for NULL (the empty string is "").
func (f Format) Encoder(c connectors.FormatConfig) (connectors.Encoder, error) {
	if err := f.Check(c); err != nil {
		return nil, err
	}
	cfg, err := newConfig(c.Options)
	if err != nil {
		return nil, err
	}
	return &encoder{cfg: cfg, columns: c.Columns, style: textout.Style{Plain: !cfg.scientific}}, nil
}

type encoder struct {
	cfg     config
	columns types.Schema
	style   textout.Style
	buf     []byte
	one     [1]int32
}

// Header is the line of column names with csv.header.
func (e *encoder) Header() []byte {
	if !e.cfg.header {
		return nil
	}
	var dst []byte
	for i, c := range e.columns {
		if i > 0 {
			dst = append(dst, e.cfg.delim)
		}
		dst, _ = e.text(dst, c.Name)
	}
	return append(dst, '\n')
}

// Encode appends a record for each row.
func (e *encoder) Encode(dst []byte, rec arrow.RecordBatch, rows []int32) ([]byte, error) {
	n := int(rec.NumRows())
	if rows != nil {
		n = len(rows)
	}
	cols := rec.Columns()
	for k := range n {
		r := k
		if rows != nil {
			r = int(rows[k])
		}
		for i, c := range e.columns {
			if i > 0 {
				dst = append(dst, e.cfg.delim)
			}
			var err error
			if dst, err = e.cell(dst, cols[i], r, c.Type); err != nil {
				return dst, fmt.Errorf("column %s: %w", c.Name, err)
			}
		}
		dst = append(dst, '\n')
	}
	return dst, nil
}

func (e *encoder) cell(dst []byte, arr arrow.Array, i int, t types.Type) ([]byte, error) {
	if arr.IsNull(i) {
		return append(dst, e.cfg.null...), nil
	}
	if t.IsText() {
		return e.text(dst, arr.(*array.String).Value(i))
	}
	e.buf = e.buf[:0]
	var err error
	switch t.Kind {
	case types.Array:
		l := arr.(*array.List)
		from, to := l.ValueOffsets(i)
		if from == to && !e.cfg.hasNull {
			return dst, fmt.Errorf("an empty ARRAY has no form in csv without 'csv.null-literal': it would be read as NULL")
		}
		for j := int(from); j < int(to); j++ {
			if j > int(from) {
				e.buf = append(e.buf, e.cfg.array...)
			}
			if err = e.element(l.ListValues(), j, *t.Elem); err != nil {
				return dst, err
			}
		}
		if to-from == 1 && (len(e.buf) == 0 || l.ListValues().IsNull(int(from))) {
			return dst, fmt.Errorf("an ARRAY of one NULL or empty text has no form in csv: it would be read as something else")
		}
	case types.Row:
		s := arr.(*array.Struct)
		for k, f := range t.Fields {
			if k > 0 {
				e.buf = append(e.buf, e.cfg.array...)
			}
			if err = e.element(s.Field(k), i, f.Type); err != nil {
				return dst, err
			}
		}
	default:
		e.buf, err = e.style.AppendScalar(e.buf, arr, i, t)
		if err != nil {
			return dst, err
		}
	}
	return e.text(dst, string(e.buf))
}

// element appends an element of an ARRAY or a field of a ROW to buf. There are no quotes inside of a cell, so some texts cannot be written.
func (e *encoder) element(arr arrow.Array, i int, t types.Type) error {
	if arr.IsNull(i) {
		e.buf = append(e.buf, e.cfg.null...)
		return nil
	}
	from := len(e.buf)
	var err error
	if e.buf, err = e.style.AppendScalar(e.buf, arr, i, t); err != nil {
		return err
	}
	if s := string(e.buf[from:]); strings.Contains(s, e.cfg.array) || s == e.cfg.null {
		return fmt.Errorf("'%s' cannot be written as an element of an ARRAY or ROW: it would be read as something else; choose another 'csv.array-element-delimiter' or 'csv.null-literal', or the format 'json'", types.Show([]byte(s), 80))
	}
	return nil
}

// text appends s, in quotes where it needs them.
func (e *encoder) text(dst []byte, s string) ([]byte, error) {
	c := &e.cfg
	quote := s == c.null || s == "" && len(e.columns) == 1 // a blank line is no record
	for i := 0; i < len(s) && !quote; i++ {
		b := s[i]
		quote = b == c.delim || b == '\n' || b == '\r' || c.quote != 0 && b == c.quote || c.escape != 0 && b == c.escape
	}
	if !quote && c.comments && len(s) > 0 && s[0] == '#' {
		quote = true
	}
	if !quote {
		return append(dst, s...), nil
	}
	if c.quote == 0 {
		return dst, fmt.Errorf("'%s' cannot be written without quotes; remove 'csv.disable-quote-character'", types.Show([]byte(s), 80))
	}
	dst = append(dst, c.quote)
	for i := 0; i < len(s); i++ {
		switch {
		case c.escape != 0 && s[i] == c.escape:
			dst = append(dst, c.escape)
		case s[i] == c.quote:
			dst = append(dst, c.quote)
		}
		dst = append(dst, s[i])
	}
	return append(dst, c.quote), nil
}
