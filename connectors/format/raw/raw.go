// Package raw has the format 'raw': a table of one column. Of text each line is a row (LF or CR LF is cut off, a blank line is the empty string); other
// types, of a fixed width, stand one behind the other without anything between them.
package raw

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/internal/colbuf"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Format is the raw format.
type Format struct{}

// Name is raw.
func (Format) Name() string { return "raw" }

// Options are those of Flink.
func (Format) Options() []connectors.Option {
	return []connectors.Option{
		{Name: "charset", Type: "string", Default: "UTF-8", Doc: "The encoding of text: UTF-8 or ISO-8859-1."},
		{Name: "endianness", Type: "big-endian|little-endian", Default: "big-endian", Doc: "The order of bytes of numbers."},
	}
}

// Check validates options and columns.
func (f Format) Check(c connectors.FormatConfig) error {
	if err := connectors.CheckOptions("format 'raw'", c.Options, f.Options()); err != nil {
		return err
	}
	switch charset(c) {
	case "UTF-8", "UTF8", "ISO-8859-1", "US-ASCII":
	default:
		return fmt.Errorf("option 'raw.charset': '%s' is not supported; UTF-8, ISO-8859-1 and US-ASCII are", c.Options["charset"])
	}
	if len(c.Columns) != 1 {
		return fmt.Errorf("table %s: the format 'raw' needs exactly one column, not %d", c.Table, len(c.Columns))
	}
	if t := c.Columns[0].Type; !t.IsText() && !t.IsBytes() && width(t) == 0 {
		return fmt.Errorf("table %s: the format 'raw' has no form for %s", c.Table, t)
	}
	return nil
}

func charset(c connectors.FormatConfig) string {
	return strings.ToUpper(connectors.GetString(c.Options, "charset", "UTF-8"))
}

// width is the number of bytes of a value of fixed width, 0 for others.
func width(t types.Type) int {
	switch t.Kind {
	case types.Boolean, types.TinyInt:
		return 1
	case types.SmallInt:
		return 2
	case types.Int, types.Float:
		return 4
	case types.BigInt, types.Double:
		return 8
	}
	return 0
}

// Infer gives one STRING column called line.
func (f Format) Infer([]byte, string, bool, int, map[string]string) (connectors.Inferred, error) {
	return connectors.Inferred{Columns: types.Schema{{Name: "line", Type: types.StringType}}}, nil
}

type codec struct {
	typ    types.Type
	schema *arrow.Schema
	wanted bool
	latin  bool
	order  interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}
	keepBad bool
	most    int64
	name    string
}

func newCodec(f Format, c connectors.FormatConfig) (*codec, error) {
	if err := f.Check(c); err != nil {
		return nil, err
	}
	d := &codec{typ: c.Columns[0].Type, name: c.Columns[0].Name, wanted: len(c.Wanted) > 0, latin: charset(c) == "ISO-8859-1", keepBad: c.KeepBad, most: c.MaxBytes, order: binary.BigEndian}
	if strings.EqualFold(c.Options["endianness"], "little-endian") {
		d.order = binary.LittleEndian
	}
	s := types.Schema{}
	if d.wanted {
		s = c.Columns
	}
	d.schema = s.Arrow()
	return d, nil
}

// Decoder returns a decoder.
func (f Format) Decoder(c connectors.FormatConfig) (connectors.Decoder, error) { return newCodec(f, c) }

// Encoder returns an encoder.
func (f Format) Encoder(c connectors.FormatConfig) (connectors.Encoder, error) {
	d, err := newCodec(f, c)
	if err != nil {
		return nil, err
	}
	return &encoder{d}, nil
}

// Clone returns d: it has no state.
func (d *codec) Clone() connectors.Decoder { return d }

// Header is empty.
func (d *codec) Header([]byte, bool) (int, int64, any, bool, error) { return 0, 0, nil, true, nil }

// Boundary finds the last line end, or the last whole value.
func (d *codec) Boundary(data []byte, eof bool) (int, int64) {
	if w := width(d.typ); w > 0 {
		n := len(data) / w * w
		if eof {
			n = len(data)
		}
		return n, int64((n + w - 1) / w)
	}
	n := bytes.LastIndexByte(data, '\n') + 1
	lines := int64(bytes.Count(data[:n], []byte{'\n'}))
	if eof && n < len(data) {
		return len(data), lines + 1
	}
	return n, lines
}

// Decode decodes whole records.
func (d *codec) Decode(ctx context.Context, data []byte, at connectors.RecordPosition, mem memory.Allocator) (connectors.Decoded, error) {
	col := colbuf.New(d.typ)
	col.Start(mem, 1+bytes.Count(data, []byte{'\n'}))
	var bad []connectors.BadRecord
	var texts colbuf.Texts
	rows := 0
	for line := at.Line; len(data) > 0; line++ {
		var raw []byte
		if w := width(d.typ); w > 0 {
			raw = data[:min(w, len(data))]
			data = data[len(raw):]
		} else if e := bytes.IndexByte(data, '\n'); e >= 0 {
			raw, data = data[:e], data[e+1:]
		} else {
			raw, data = data, nil
		}
		if d.typ.IsText() {
			raw = bytes.TrimSuffix(raw, []byte{'\r'})
		}
		if d.most > 0 && int64(len(raw)) > d.most {
			col.Discard()
			return connectors.Decoded{}, connectors.RecordTooLong(at.Split, line, d.most)
		}
		if err := d.put(col, raw, &texts); err != nil {
			col.Truncate(rows)
			b := connectors.BadRecord{Raw: bytes.Clone(raw), Err: err.Error(), Split: at.Split, Position: line, Row: rows}
			if !d.keepBad {
				col.Discard()
				return connectors.Decoded{}, &b
			}
			bad = append(bad, b)
			continue
		}
		rows++
	}
	if !d.wanted {
		col.Discard()
		return connectors.Decoded{Batch: stream.Batch{Record: colbuf.Record(d.schema, nil, rows)}, Bad: bad}, nil
	}
	return connectors.Decoded{Batch: stream.Batch{Record: colbuf.Record(d.schema, []arrow.ArrayData{col.Finish()}, rows)}, Bad: bad}, nil
}

func (d *codec) put(col *colbuf.Col, b []byte, texts *colbuf.Texts) error {
	w := width(d.typ)
	if w > 0 && len(b) != w {
		return fmt.Errorf("column %s: %d bytes are left, but %s has %d", d.name, len(b), d.typ.WithNull(true), w)
	}
	switch d.typ.Kind {
	case types.Boolean:
		col.PutBool(b[0] != 0)
	case types.TinyInt:
		col.PutI8(int8(b[0]))
	case types.SmallInt:
		col.PutI16(int16(d.order.Uint16(b)))
	case types.Int:
		col.PutI32(int32(d.order.Uint32(b)))
	case types.BigInt:
		col.PutI64(int64(d.order.Uint64(b)))
	case types.Float:
		col.PutF32(math.Float32frombits(d.order.Uint32(b)))
	case types.Double:
		col.PutF64(math.Float64frombits(d.order.Uint64(b)))
	case types.Binary, types.VarBinary:
		return colbuf.PutRaw(col, b)
	default:
		if d.latin {
			u := make([]byte, 0, len(b)+8)
			for _, c := range b {
				u = utf8.AppendRune(u, rune(c))
			}
			b = u
		} else if !utf8.Valid(b) {
			return fmt.Errorf("column %s: the text is not UTF-8", d.name)
		}
		return texts.Put(col, b)
	}
	return nil
}

type encoder struct{ *codec }

// Header is nil.
func (e *encoder) Header() []byte { return nil }

// Encode appends the rows.
func (e *encoder) Encode(dst []byte, rec arrow.RecordBatch, rows []int32) ([]byte, error) {
	n := int(rec.NumRows())
	if rows != nil {
		n = len(rows)
	}
	arr := rec.Column(0)
	for k := range n {
		r := k
		if rows != nil {
			r = int(rows[k])
		}
		if arr.IsNull(r) {
			return dst, fmt.Errorf("column %s: NULL has no form in the format 'raw'", e.name)
		}
		switch e.typ.Kind {
		case types.Boolean:
			b := byte(0)
			if arr.(*array.Boolean).Value(r) {
				b = 1
			}
			dst = append(dst, b)
		case types.TinyInt:
			dst = append(dst, byte(arr.(*array.Int8).Value(r)))
		case types.SmallInt:
			dst = e.order.AppendUint16(dst, uint16(arr.(*array.Int16).Value(r)))
		case types.Int:
			dst = e.order.AppendUint32(dst, uint32(arr.(*array.Int32).Value(r)))
		case types.BigInt:
			dst = e.order.AppendUint64(dst, uint64(arr.(*array.Int64).Value(r)))
		case types.Float:
			dst = e.order.AppendUint32(dst, math.Float32bits(arr.(*array.Float32).Value(r)))
		case types.Double:
			dst = e.order.AppendUint64(dst, math.Float64bits(arr.(*array.Float64).Value(r)))
		case types.Binary, types.VarBinary:
			b := arr.(*array.Binary).Value(r)
			if bytes.IndexByte(b, '\n') >= 0 {
				return dst, fmt.Errorf("column %s: bytes with a line end cannot be written in the format 'raw': they would be read as two rows", e.name)
			}
			dst = append(append(dst, b...), '\n')
		default:
			s := arr.(*array.String).Value(r)
			if strings.ContainsAny(s, "\n") || strings.HasSuffix(s, "\r") {
				return dst, fmt.Errorf("column %s: text with a line end cannot be written in the format 'raw': it would be read as two rows", e.name)
			}
			if e.latin {
				var err error
				if dst, err = e.latin1(dst, s); err != nil {
					return dst, err
				}
				dst = append(dst, '\n')
				continue
			}
			dst = append(append(dst, s...), '\n')
		}
	}
	return dst, nil
}

// latin1 appends s in ISO-8859-1.
func (e *encoder) latin1(dst []byte, s string) ([]byte, error) {
	for _, c := range s {
		if c > 0xff {
			return dst, fmt.Errorf("column %s: '%c' is not in ISO-8859-1", e.name, c)
		}
		dst = append(dst, byte(c))
	}
	return dst, nil
}
