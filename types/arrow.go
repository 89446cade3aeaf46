package types

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// entriesName is the name of the elements of the list that holds a MAP or MULTISET; FromArrow tells them from an ARRAY of ROWs by it.
const entriesName = "entries"

// Arrow returns the Arrow type that holds values of t: see the kinds. It does not depend on nullability: what lies within ARRAY, MAP and ROW is always
// nullable for Arrow. Lengths of text, precisions of TIME and of timestamps beyond their unit are not in it.
func (t Type) Arrow() arrow.DataType {
	switch t.Kind {
	case Null:
		return arrow.Null
	case Boolean:
		return arrow.FixedWidthTypes.Boolean
	case TinyInt:
		return arrow.PrimitiveTypes.Int8
	case SmallInt:
		return arrow.PrimitiveTypes.Int16
	case Int:
		return arrow.PrimitiveTypes.Int32
	case BigInt:
		return arrow.PrimitiveTypes.Int64
	case Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}
	case Float:
		return arrow.PrimitiveTypes.Float32
	case Double:
		return arrow.PrimitiveTypes.Float64
	case Char, VarChar:
		return arrow.BinaryTypes.String
	case Binary, VarBinary:
		return arrow.BinaryTypes.Binary
	case Date:
		return arrow.FixedWidthTypes.Date32
	case Time:
		return arrow.FixedWidthTypes.Time32ms
	case Timestamp:
		if t.Precision > 6 {
			return timestampNs
		}
		return timestampUs
	case TimestampLTZ:
		if t.Precision > 6 {
			return arrow.FixedWidthTypes.Timestamp_ns
		}
		return arrow.FixedWidthTypes.Timestamp_us
	case IntervalYearMonth:
		return arrow.FixedWidthTypes.MonthInterval
	case IntervalDayTime:
		return arrow.FixedWidthTypes.Duration_us
	case Array:
		return arrow.ListOf(t.Elem.Arrow())
	case Map, Multiset:
		key, val := entryTypes(t)
		entry := arrow.StructOf(
			arrow.Field{Name: "key", Type: key.Arrow(), Nullable: true},
			arrow.Field{Name: "value", Type: val.Arrow(), Nullable: true})
		return arrow.ListOfField(arrow.Field{Name: entriesName, Type: entry, Nullable: true})
	case Row:
		fs := make([]arrow.Field, len(t.Fields))
		for i, f := range t.Fields {
			fs[i] = arrow.Field{Name: f.Name, Type: f.Type.Arrow(), Nullable: true}
		}
		return arrow.StructOf(fs...)
	}
	panic("types: no Arrow type for " + t.String()) // a bug of ours: no expression has an invalid type
}

var (
	timestampUs = &arrow.TimestampType{Unit: arrow.Microsecond}
	timestampNs = &arrow.TimestampType{Unit: arrow.Nanosecond}
)

// Arrow returns the Arrow schema of s; a field is nullable as its column is.
func (s Schema) Arrow() *arrow.Schema {
	fs := make([]arrow.Field, len(s))
	for i, c := range s {
		fs[i] = arrow.Field{Name: c.Name, Type: c.Type.Arrow(), Nullable: c.Type.Nullable}
	}
	return arrow.NewSchema(fs, nil)
}

// NewBuilder returns a builder for columns of type t. The caller releases it.
func NewBuilder(mem memory.Allocator, t Type) array.Builder { return array.NewBuilder(mem, t.Arrow()) }

// NullArray returns a column of n NULLs. (array.MakeArrayOfNull takes new memory for zeros; an allocator with a pool gives what others left in it.)
func NullArray(mem memory.Allocator, dt arrow.DataType, n int) arrow.Array {
	b := array.NewBuilder(mem, dt)
	defer b.Release()
	b.Reserve(n)
	b.AppendNulls(n)
	return b.NewArray()
}

// Get returns element i of arr, which holds values of type t, in canonical form (see Dec and the other value types); nil is NULL. BYTES and text are
// copied: the value does not depend on arr. It panics when arr is not of t's Arrow type.
func Get(arr arrow.Array, i int, t Type) any {
	if t.Kind == Null || arr.IsNull(i) {
		return nil
	}
	switch t.Kind {
	case Boolean:
		return arr.(*array.Boolean).Value(i)
	case TinyInt:
		return arr.(*array.Int8).Value(i)
	case SmallInt:
		return arr.(*array.Int16).Value(i)
	case Int:
		return arr.(*array.Int32).Value(i)
	case BigInt:
		return arr.(*array.Int64).Value(i)
	case Decimal:
		return Dec{Num: arr.(*array.Decimal128).Value(i), Scale: int32(t.Scale)}
	case Float:
		return arr.(*array.Float32).Value(i)
	case Double:
		return arr.(*array.Float64).Value(i)
	case Char, VarChar:
		return string([]byte(arr.(*array.String).Value(i)))
	case Binary, VarBinary:
		return append([]byte{}, arr.(*array.Binary).Value(i)...)
	case Date:
		return DateVal(arr.(*array.Date32).Value(i))
	case Time:
		return TimeVal(arr.(*array.Time32).Value(i))
	case Timestamp, TimestampLTZ:
		return TimestampVal(arr.(*array.Timestamp).Value(i))
	case IntervalYearMonth:
		return MonthsVal(arr.(*array.MonthInterval).Value(i))
	case IntervalDayTime:
		return DurationVal(arr.(*array.Duration).Value(i))
	case Array:
		l := arr.(*array.List)
		from, to := l.ValueOffsets(i)
		vs := make([]any, 0, to-from)
		for j := int(from); j < int(to); j++ {
			vs = append(vs, Get(l.ListValues(), j, *t.Elem))
		}
		return vs
	case Map, Multiset:
		l := arr.(*array.List)
		entries := l.ListValues().(*array.Struct)
		key, val := entryTypes(t)
		from, to := l.ValueOffsets(i)
		m := make(MapVal, 0, to-from)
		for j := int(from); j < int(to); j++ {
			m = append(m, MapEntry{Get(entries.Field(0), j, key), Get(entries.Field(1), j, val)})
		}
		return m
	case Row:
		s := arr.(*array.Struct)
		r := make(RowVal, len(t.Fields))
		for j, f := range t.Fields {
			r[j] = Get(s.Field(j), i, f.Type)
		}
		return r
	}
	panic("types: Get of " + t.String())
}

// Append appends a canonical value of type t to b, a builder of t's Arrow type. It fails when v has not the Go type of t; b is then unchanged at its top
// level only if t is no nested type.
func Append(b array.Builder, v any, t Type) error {
	if v == nil {
		b.AppendNull()
		return nil
	}
	var ok bool
	switch b := b.(type) {
	case *array.BooleanBuilder:
		ok = appendTo(b.Append, v)
	case *array.Int8Builder:
		ok = appendTo(b.Append, v)
	case *array.Int16Builder:
		ok = appendTo(b.Append, v)
	case *array.Int32Builder:
		ok = appendTo(b.Append, v)
	case *array.Int64Builder:
		ok = appendTo(b.Append, v)
	case *array.Decimal128Builder:
		d, is := v.(Dec)
		if ok = is && int(d.Scale) == t.Scale; ok {
			b.Append(d.Num)
		}
	case *array.Float32Builder:
		ok = appendTo(b.Append, v)
	case *array.Float64Builder:
		ok = appendTo(b.Append, v)
	case *array.StringBuilder:
		ok = appendTo(b.Append, v)
	case *array.BinaryBuilder:
		ok = appendTo(b.Append, v)
	case *array.Date32Builder:
		ok = appendTo(func(v DateVal) { b.Append(arrow.Date32(v)) }, v)
	case *array.Time32Builder:
		ok = appendTo(func(v TimeVal) { b.Append(arrow.Time32(v)) }, v)
	case *array.TimestampBuilder:
		ok = appendTo(func(v TimestampVal) { b.Append(arrow.Timestamp(v)) }, v)
	case *array.MonthIntervalBuilder:
		ok = appendTo(func(v MonthsVal) { b.Append(arrow.MonthInterval(v)) }, v)
	case *array.DurationBuilder:
		ok = appendTo(func(v DurationVal) { b.Append(arrow.Duration(v)) }, v)
	case *array.ListBuilder:
		switch v := v.(type) {
		case []any:
			if ok = t.Kind == Array; !ok {
				break
			}
			b.Append(true)
			for _, e := range v {
				if err := Append(b.ValueBuilder(), e, *t.Elem); err != nil {
					return err
				}
			}
			return nil
		case MapVal:
			if ok = t.Kind == Map || t.Kind == Multiset; !ok {
				break
			}
			key, val := entryTypes(t)
			entry := b.ValueBuilder().(*array.StructBuilder)
			b.Append(true)
			for _, e := range v {
				entry.Append(true)
				if err := Append(entry.FieldBuilder(0), e.Key, key); err != nil {
					return err
				}
				if err := Append(entry.FieldBuilder(1), e.Val, val); err != nil {
					return err
				}
			}
			return nil
		default:
			ok = false
		}
	case *array.StructBuilder:
		r, is := v.(RowVal)
		if ok = is && len(r) == len(t.Fields); !ok {
			break
		}
		b.Append(true)
		for i, f := range t.Fields {
			if err := Append(b.FieldBuilder(i), r[i], f.Type); err != nil {
				return err
			}
		}
		return nil
	default:
		ok = false
	}
	if !ok {
		return fmt.Errorf("internal error: a value of Go type %T for a column of type %s", v, t)
	}
	return nil
}

// appendTo calls app with v if it has the right type.
func appendTo[T any](app func(T), v any) bool {
	x, ok := v.(T)
	if ok {
		app(x)
	}
	return ok
}

// AppendFrom appends element i of arr to b, both of one Arrow type that Type.Arrow gives, without boxing. It panics for other types.
func AppendFrom(b array.Builder, arr arrow.Array, i int) {
	if arr.IsNull(i) {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.NullBuilder:
		b.AppendNull()
	case *array.BooleanBuilder:
		b.Append(arr.(*array.Boolean).Value(i))
	case *array.Int8Builder:
		b.Append(arr.(*array.Int8).Value(i))
	case *array.Int16Builder:
		b.Append(arr.(*array.Int16).Value(i))
	case *array.Int32Builder:
		b.Append(arr.(*array.Int32).Value(i))
	case *array.Int64Builder:
		b.Append(arr.(*array.Int64).Value(i))
	case *array.Decimal128Builder:
		b.Append(arr.(*array.Decimal128).Value(i))
	case *array.Float32Builder:
		b.Append(arr.(*array.Float32).Value(i))
	case *array.Float64Builder:
		b.Append(arr.(*array.Float64).Value(i))
	case *array.StringBuilder:
		b.Append(arr.(*array.String).Value(i))
	case *array.BinaryBuilder:
		b.Append(arr.(*array.Binary).Value(i))
	case *array.Date32Builder:
		b.Append(arr.(*array.Date32).Value(i))
	case *array.Time32Builder:
		b.Append(arr.(*array.Time32).Value(i))
	case *array.TimestampBuilder:
		b.Append(arr.(*array.Timestamp).Value(i))
	case *array.MonthIntervalBuilder:
		b.Append(arr.(*array.MonthInterval).Value(i))
	case *array.DurationBuilder:
		b.Append(arr.(*array.Duration).Value(i))
	case *array.ListBuilder:
		l := arr.(*array.List)
		from, to := l.ValueOffsets(i)
		b.Append(true)
		for j := int(from); j < int(to); j++ {
			AppendFrom(b.ValueBuilder(), l.ListValues(), j)
		}
	case *array.StructBuilder:
		s := arr.(*array.Struct)
		b.Append(true)
		for j := range b.NumField() {
			AppendFrom(b.FieldBuilder(j), s.Field(j), i)
		}
	default:
		panic(fmt.Sprintf("types: AppendFrom to a builder of %s", b.Type()))
	}
}

// FromArrow returns the SQL type for columns of an Arrow type, as found in a Parquet file or given by a program; nullable. The Arrow type of the result
// (Type.Arrow) may be another than dt (unsigned integers, other units, large or view layouts, dictionaries): such columns have to be converted.
func FromArrow(dt arrow.DataType) (Type, error) {
	switch dt := dt.(type) {
	case *arrow.NullType:
		return NullType, nil
	case *arrow.BooleanType:
		return BooleanType, nil
	case *arrow.Int8Type:
		return TinyIntType, nil
	case *arrow.Int16Type, *arrow.Uint8Type:
		return SmallIntType, nil
	case *arrow.Int32Type, *arrow.Uint16Type:
		return IntType, nil
	case *arrow.Int64Type, *arrow.Uint32Type:
		return BigIntType, nil
	case *arrow.Uint64Type:
		return DecimalOf(20, 0), nil
	case *arrow.Float16Type, *arrow.Float32Type:
		return FloatType, nil
	case *arrow.Float64Type:
		return DoubleType, nil
	case arrow.DecimalType:
		p, s := int(dt.GetPrecision()), int(dt.GetScale())
		if p < 1 || p > MaxDecimalPrecision || s < 0 || s > p {
			return Type{}, fmt.Errorf("%s has no SQL type: DECIMAL has 1 to %d digits and a scale from 0 to that", dt, MaxDecimalPrecision)
		}
		return DecimalOf(p, s), nil
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return StringType, nil
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType:
		return BytesType, nil
	case *arrow.FixedSizeBinaryType:
		if dt.ByteWidth < 1 {
			return BytesType, nil
		}
		return BinaryOf(dt.ByteWidth), nil
	case *arrow.Date32Type, *arrow.Date64Type:
		return DateType, nil
	case *arrow.Time32Type:
		return TimeOf(unitPrecision(dt.Unit)), nil
	case *arrow.Time64Type:
		return TimeOf(unitPrecision(dt.Unit)), nil
	case *arrow.TimestampType:
		if dt.TimeZone != "" {
			return TimestampLTZOf(unitPrecision(dt.Unit)), nil
		}
		return TimestampOf(unitPrecision(dt.Unit)), nil
	case *arrow.MonthIntervalType:
		return YearMonthType, nil
	case *arrow.DurationType:
		return DayTimeType, nil
	case *arrow.DictionaryType:
		return FromArrow(dt.ValueType)
	case *arrow.MapType:
		key, err := FromArrow(dt.KeyType())
		if err != nil {
			return Type{}, err
		}
		val, err := FromArrow(dt.ItemType())
		if err != nil {
			return Type{}, err
		}
		return MapOf(key, val), nil
	case *arrow.StructType:
		fs := make([]Field, dt.NumFields())
		for i, f := range dt.Fields() {
			t, err := FromArrow(f.Type)
			if err != nil {
				return Type{}, fmt.Errorf("field %s: %w", f.Name, err)
			}
			fs[i] = Field{f.Name, t}
		}
		return RowOf(fs...), nil
	case arrow.ListLikeType:
		f := dt.ElemField()
		elem, err := FromArrow(f.Type)
		if err != nil {
			return Type{}, err
		}
		if f.Name == entriesName && elem.Kind == Row && len(elem.Fields) == 2 && elem.Fields[0].Name == "key" && elem.Fields[1].Name == "value" {
			return MapOf(elem.Fields[0].Type, elem.Fields[1].Type), nil
		}
		return ArrayOf(elem), nil
	}
	return Type{}, fmt.Errorf("Arrow type %s has no SQL type", dt)
}

func unitPrecision(u arrow.TimeUnit) int {
	switch u {
	case arrow.Second:
		return 0
	case arrow.Millisecond:
		return 3
	case arrow.Microsecond:
		return 6
	}
	return 9
}
