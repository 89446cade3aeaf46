package avro

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/hamba/avro/v2"

	"github.com/weir-sql/weir/types"
)

// Writer writes rows as records of a schema.
type Writer struct {
	fields []fieldWriter
}

type fieldWriter struct {
	col   int
	name  string
	write valueWriter
}

// valueWriter appends element i of an array.
type valueWriter func(dst []byte, a arrow.Array, i int) ([]byte, error)

// NewWriter matches columns to the fields of a schema: all fields must be columns, and the other way round.
func NewWriter(s Schema, columns types.Schema) (*Writer, error) {
	rec, ok := deref(s).(*avro.RecordSchema)
	if !ok {
		return nil, fmt.Errorf("the schema is %s, not a record", types.Article(string(s.Type())))
	}
	w := &Writer{}
	for _, f := range rec.Fields() {
		i := columns.Index(f.Name())
		if i < 0 {
			return nil, fmt.Errorf("the schema has the field %s, which is no column", f.Name())
		}
		write, err := writer(f.Type(), columns[i].Type)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name(), err)
		}
		w.fields = append(w.fields, fieldWriter{i, f.Name(), write})
	}
	if len(w.fields) != len(columns) {
		return nil, fmt.Errorf("the schema has %s for %s", types.Count(len(w.fields), "field"), types.Count(len(columns), "column"))
	}
	return w, nil
}

// Append appends the record of a row.
func (w *Writer) Append(dst []byte, rec arrow.RecordBatch, row int) ([]byte, error) {
	var err error
	for i := range w.fields {
		f := &w.fields[i]
		if dst, err = f.write(dst, rec.Column(f.col), row); err != nil {
			return dst, fmt.Errorf("column %s: %w", f.name, err)
		}
	}
	return dst, nil
}

func appendLong(dst []byte, v int64) []byte {
	return binary.AppendUvarint(dst, uint64(v<<1)^uint64(v>>63))
}

func noForm(s Schema, t types.Type) error {
	what := string(s.Type())
	if l, _ := logicalOf(s); l != "" {
		what += " (" + string(l) + ")"
	}
	return fmt.Errorf("the schema has %s, which is no form of %s", what, t.WithNull(true))
}

var errNull = errors.New("NULL, which the schema does not allow")

func writer(s Schema, t types.Type) (valueWriter, error) {
	s = deref(s)
	if u, ok := s.(*avro.UnionSchema); ok {
		return unionWriter(u, t)
	}
	w, err := notNull(s, t)
	if err != nil {
		return nil, err
	}
	return func(dst []byte, a arrow.Array, i int) ([]byte, error) {
		if a.IsNull(i) && s.Type() != avro.Null {
			return dst, errNull
		}
		return w(dst, a, i)
	}, nil
}

func unionWriter(u *avro.UnionSchema, t types.Type) (valueWriter, error) {
	null, value := int64(-1), int64(-1)
	var w valueWriter
	var first error
	for k, b := range u.Types() {
		if b.Type() == avro.Null {
			null = int64(k)
			continue
		}
		x, err := notNull(deref(b), t)
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		if value < 0 {
			value, w = int64(k), x
		}
	}
	if value < 0 {
		return nil, first
	}
	return func(dst []byte, a arrow.Array, i int) ([]byte, error) {
		if a.IsNull(i) {
			if null < 0 {
				return dst, errNull
			}
			return appendLong(dst, null), nil
		}
		return w(appendLong(dst, value), a, i)
	}, nil
}

func notNull(s Schema, t types.Type) (valueWriter, error) {
	l, err := logicalOf(s)
	if err != nil {
		return nil, err
	}
	switch k := s.Type(); {
	case k == avro.Null && t.Kind == types.Null:
		return func(dst []byte, _ arrow.Array, _ int) ([]byte, error) { return dst, nil }, nil
	case k == avro.Boolean && t.Kind == types.Boolean:
		return func(dst []byte, a arrow.Array, i int) ([]byte, error) {
			if a.(*array.Boolean).Value(i) {
				return append(dst, 1), nil
			}
			return append(dst, 0), nil
		}, nil
	case k == avro.Int || k == avro.Long:
		get := integerOf(k, l, t)
		if get == nil {
			return nil, noForm(s, t)
		}
		return func(dst []byte, a arrow.Array, i int) ([]byte, error) { return appendLong(dst, get(a, i)), nil }, nil
	case k == avro.Float && t.Kind == types.Float:
		return func(dst []byte, a arrow.Array, i int) ([]byte, error) {
			return binary.LittleEndian.AppendUint32(dst, math.Float32bits(a.(*array.Float32).Value(i))), nil
		}, nil
	case k == avro.Double && (t.Kind == types.Double || t.Kind == types.Float):
		return func(dst []byte, a arrow.Array, i int) ([]byte, error) {
			v := 0.0
			switch a := a.(type) {
			case *array.Float64:
				v = a.Value(i)
			case *array.Float32:
				v = float64(a.Value(i))
			}
			return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v)), nil
		}, nil
	case k == avro.String && t.IsText():
		return func(dst []byte, a arrow.Array, i int) ([]byte, error) {
			v := a.(*array.String).Value(i)
			return append(appendLong(dst, int64(len(v))), v...), nil
		}, nil
	case k == avro.Bytes && l == avro.Decimal && t.Kind == types.Decimal:
		d := decimalOf(s)
		if d.Scale() != t.Scale || d.Precision() < t.Precision {
			return nil, noForm(s, t)
		}
		return func(dst []byte, a arrow.Array, i int) ([]byte, error) {
			v := twos(a.(*array.Decimal128).Value(i).BigInt())
			return append(appendLong(dst, int64(len(v))), v...), nil
		}, nil
	case k == avro.Bytes && l == "" && t.IsBytes():
		return func(dst []byte, a arrow.Array, i int) ([]byte, error) {
			v := a.(*array.Binary).Value(i)
			return append(appendLong(dst, int64(len(v))), v...), nil
		}, nil
	case k == avro.Enum && t.IsText():
		at := map[string]int{}
		for i, x := range s.(*avro.EnumSchema).Symbols() {
			at[x] = i
		}
		return func(dst []byte, a arrow.Array, i int) ([]byte, error) {
			n, ok := at[a.(*array.String).Value(i)]
			if !ok {
				return dst, fmt.Errorf("'%s' is no symbol of the enum", types.Show([]byte(a.(*array.String).Value(i)), 80))
			}
			return appendLong(dst, int64(n)), nil
		}, nil
	case k == avro.Fixed && l == "" && t.Kind == types.Binary && t.Length == s.(*avro.FixedSchema).Size():
		return func(dst []byte, a arrow.Array, i int) ([]byte, error) {
			return append(dst, a.(*array.Binary).Value(i)...), nil
		}, nil
	case k == avro.Array && t.Kind == types.Array:
		item, err := writer(s.(*avro.ArraySchema).Items(), *t.Elem)
		if err != nil {
			return nil, err
		}
		return func(dst []byte, a arrow.Array, i int) ([]byte, error) {
			list := a.(*array.List)
			from, to := list.ValueOffsets(i)
			if to > from {
				dst = appendLong(dst, to-from)
			}
			var err error
			for j := from; j < to; j++ {
				if dst, err = item(dst, list.ListValues(), int(j)); err != nil {
					return dst, err
				}
			}
			return append(dst, 0), nil
		}, nil
	case k == avro.Map && (t.Kind == types.Map || t.Kind == types.Multiset):
		return mapWriter(s.(*avro.MapSchema), t)
	case k == avro.Record && t.Kind == types.Row:
		return rowWriter(s.(*avro.RecordSchema), t)
	}
	return nil, noForm(s, t)
}

func mapWriter(s *avro.MapSchema, t types.Type) (valueWriter, error) {
	key, val := t.Key, t.Elem
	if t.Kind == types.Multiset {
		i := types.IntType.NotNull()
		key, val = t.Elem, &i
	}
	if !key.IsText() {
		return nil, noForm(s, t)
	}
	item, err := writer(s.Values(), *val)
	if err != nil {
		return nil, err
	}
	return func(dst []byte, a arrow.Array, i int) ([]byte, error) {
		list := a.(*array.List)
		from, to := list.ValueOffsets(i)
		kv := list.ListValues().(*array.Struct)
		keys := kv.Field(0).(*array.String)
		if to > from {
			dst = appendLong(dst, to-from)
		}
		var err error
		for j := int(from); j < int(to); j++ {
			if keys.IsNull(j) {
				return dst, errors.New("a key of the map is NULL")
			}
			k := keys.Value(j)
			dst = append(appendLong(dst, int64(len(k))), k...)
			if dst, err = item(dst, kv.Field(1), j); err != nil {
				return dst, err
			}
		}
		return append(dst, 0), nil
	}, nil
}

func rowWriter(s *avro.RecordSchema, t types.Type) (valueWriter, error) {
	type field struct {
		at    int
		write valueWriter
	}
	var fields []field
	for _, f := range s.Fields() {
		at := -1
		for i, x := range t.Fields {
			if x.Name == f.Name() {
				at = i
			}
		}
		if at < 0 {
			return nil, fmt.Errorf("the schema has the field %s, which the ROW does not have", f.Name())
		}
		w, err := writer(f.Type(), t.Fields[at].Type)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name(), err)
		}
		fields = append(fields, field{at, w})
	}
	return func(dst []byte, a arrow.Array, i int) ([]byte, error) {
		row := a.(*array.Struct)
		var err error
		for _, f := range fields {
			if dst, err = f.write(dst, row.Field(f.at), i); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}, nil
}

// integerOf makes what reads a value as an int or long; nil when there is none.
func integerOf(k avro.Type, l avro.LogicalType, t types.Type) func(a arrow.Array, i int) int64 {
	switch t.Kind {
	case types.TinyInt:
		if l == "" {
			return func(a arrow.Array, i int) int64 { return int64(a.(*array.Int8).Value(i)) }
		}
	case types.SmallInt:
		if l == "" {
			return func(a arrow.Array, i int) int64 { return int64(a.(*array.Int16).Value(i)) }
		}
	case types.Int:
		if l == "" {
			return func(a arrow.Array, i int) int64 { return int64(a.(*array.Int32).Value(i)) }
		}
	case types.BigInt:
		if l == "" && k == avro.Long {
			return func(a arrow.Array, i int) int64 { return a.(*array.Int64).Value(i) }
		}
	case types.Date:
		if l == avro.Date {
			return func(a arrow.Array, i int) int64 { return int64(a.(*array.Date32).Value(i)) }
		}
	case types.Time:
		switch l {
		case avro.TimeMillis:
			return func(a arrow.Array, i int) int64 { return int64(a.(*array.Time32).Value(i)) }
		case avro.TimeMicros:
			return func(a arrow.Array, i int) int64 { return 1000 * int64(a.(*array.Time32).Value(i)) }
		}
	case types.Timestamp, types.TimestampLTZ:
		unit := int64(0) // microseconds
		switch l {
		case avro.TimestampMillis, avro.LocalTimestampMillis:
			if t.Precision <= 3 {
				unit = 1000
			}
		case avro.TimestampMicros, avro.LocalTimestampMicros:
			if t.Precision <= 6 {
				unit = 1
			}
		}
		if unit > 0 {
			return func(a arrow.Array, i int) int64 {
				v := int64(a.(*array.Timestamp).Value(i))
				r := v % unit
				if r < 0 {
					r += unit
				}
				return (v - r) / unit
			}
		}
	}
	return nil
}

// twos is a number in two's complement, big-endian, in as few bytes as can be.
func twos(v *big.Int) []byte {
	if v.Sign() >= 0 {
		b := v.Bytes()
		if len(b) == 0 || b[0] >= 0x80 {
			b = append([]byte{0}, b...)
		}
		return b
	}
	n := new(big.Int).Not(v).BitLen()/8 + 1
	b := new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), uint(8*n))).Bytes()
	for len(b) < n {
		b = append([]byte{0xff}, b...)
	}
	return b
}
