package json

import (
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/internal/textout"
	"github.com/weir-sql/weir/types"
)

// Encoder returns an encoder: one object per line, members in column order, NULL written out unless encode.ignore-null-fields. NaN and infinities, which
// JSON numbers cannot be, are strings (Flink fails).
func (f Format) Encoder(c connectors.FormatConfig) (connectors.Encoder, error) {
	if err := f.Check(c); err != nil {
		return nil, err
	}
	e := &encoder{
		style: textout.Style{
			ISO:   connectors.GetEnum(c.Options, "timestamp-format.standard", "SQL", "SQL", "ISO-8601") == "ISO-8601",
			Plain: connectors.GetBool(c.Options, "encode.decimal-as-plain-number", false),
		},
		omitNull: connectors.GetBool(c.Options, "encode.ignore-null-fields", false),
		nullKey:  connectors.GetEnum(c.Options, "map-null-key.mode", "FAIL", "FAIL", "DROP", "LITERAL"),
		nullName: connectors.GetString(c.Options, "map-null-key.literal", "null"),
		columns:  c.Columns,
	}
	for _, col := range c.Columns {
		e.names = append(e.names, append(appendString(nil, col.Name), ':'))
	}
	return e, nil
}

type encoder struct {
	style    textout.Style
	omitNull bool
	nullKey  string
	nullName string
	columns  types.Schema
	names    [][]byte // quoted, with colon
	one      [1]int32
}

// Header is nil.
func (e *encoder) Header() []byte { return nil }

// Encode appends a line for each row.
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
		dst = append(dst, '{')
		first := true
		for i := range e.columns {
			null := cols[i].IsNull(r)
			if null && e.omitNull {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(dst, e.names[i]...)
			var err error
			if dst, err = e.value(dst, cols[i], r, e.columns[i].Type); err != nil {
				return dst, fmt.Errorf("column %s: %w", e.columns[i].Name, err)
			}
		}
		dst = append(dst, '}', '\n')
	}
	return dst, nil
}

func (e *encoder) value(dst []byte, arr arrow.Array, i int, t types.Type) ([]byte, error) {
	if arr.IsNull(i) {
		return append(dst, "null"...), nil
	}
	switch t.Kind {
	case types.Null:
		return append(dst, "null"...), nil
	case types.Float, types.Double:
		var v float64
		if t.Kind == types.Float {
			v = float64(arr.(*array.Float32).Value(i))
		} else {
			v = arr.(*array.Float64).Value(i)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return append(types.AppendDouble(append(dst, '"'), v), '"'), nil
		}
		return e.style.AppendScalar(dst, arr, i, t)
	case types.Char, types.VarChar:
		return appendString(dst, arr.(*array.String).Value(i)), nil
	case types.Binary, types.VarBinary, types.Date, types.Time, types.Timestamp, types.TimestampLTZ:
		dst, err := e.style.AppendScalar(append(dst, '"'), arr, i, t)
		return append(dst, '"'), err
	case types.Array:
		l := arr.(*array.List)
		from, to := l.ValueOffsets(i)
		dst = append(dst, '[')
		for j := int(from); j < int(to); j++ {
			if j > int(from) {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = e.value(dst, l.ListValues(), j, *t.Elem); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case types.Map, types.Multiset:
		return e.entries(dst, arr.(*array.List), i, t)
	case types.Row:
		s := arr.(*array.Struct)
		dst = append(dst, '{')
		first := true
		for k, f := range t.Fields {
			if e.omitNull && s.Field(k).IsNull(i) {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(appendString(dst, f.Name), ':')
			var err error
			if dst, err = e.value(dst, s.Field(k), i, f.Type); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	}
	return e.style.AppendScalar(dst, arr, i, t)
}

func (e *encoder) entries(dst []byte, l *array.List, i int, t types.Type) ([]byte, error) {
	from, to := l.ValueOffsets(i)
	kv := l.ListValues().(*array.Struct)
	keys, vals := kv.Field(0).(*array.String), kv.Field(1)
	val := types.IntType
	if t.Kind == types.Map {
		val = *t.Elem
	}
	dst = append(dst, '{')
	first := true
	for j := int(from); j < int(to); j++ {
		key := ""
		if keys.IsNull(j) {
			switch e.nullKey {
			case "FAIL":
				return dst, errors.New("a MAP with a NULL key cannot be written ('json.map-null-key.mode' = 'FAIL'; DROP and LITERAL can)")
			case "DROP":
				continue
			}
			key = e.nullName
		} else {
			key = keys.Value(j)
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendString(dst, key), ':')
		var err error
		if dst, err = e.value(dst, vals, j, val); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

const hexDigits = "0123456789ABCDEF"

// appendString appends s in quotes; escaped is what JSON demands, nothing more.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
