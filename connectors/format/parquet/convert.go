package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/types"
)

// misfit says why a column of the file cannot be read as t: "" when it can; the text may give the cure.
func misfit(dt arrow.DataType, t types.Type) string {
	const no = "; declare the column as it is in the file"
	switch dt := dt.(type) {
	case *arrow.BooleanType:
		if t.Kind == types.Boolean {
			return ""
		}
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type, *arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type, *arrow.Uint64Type:
		if t.IsInteger() || t.Kind == types.Decimal {
			return ""
		}
		if t.IsTimestamp() {
			return "; declare it as BIGINT and compute TO_TIMESTAMP_LTZ(column, 3) from it"
		}
	case *arrow.Float16Type, *arrow.Float32Type:
		if t.IsApprox() {
			return ""
		}
	case *arrow.Float64Type:
		if t.Kind == types.Double {
			return ""
		}
	case *arrow.Decimal128Type, *arrow.Decimal256Type, *arrow.Decimal32Type, *arrow.Decimal64Type:
		scale := int(dt.(arrow.DecimalType).GetScale())
		if t.Kind == types.Decimal && t.Scale >= scale {
			return ""
		}
	case *arrow.StringType, *arrow.LargeStringType:
		if t.IsText() || t.IsBytes() {
			return ""
		}
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.FixedSizeBinaryType:
		if t.IsText() || t.IsBytes() {
			return ""
		}
	case *arrow.Date32Type, *arrow.Date64Type:
		if t.Kind == types.Date {
			return ""
		}
	case *arrow.Time32Type, *arrow.Time64Type:
		if t.Kind == types.Time {
			return ""
		}
	case *arrow.TimestampType:
		if t.IsTimestamp() {
			return ""
		}
	case *arrow.DictionaryType:
		return misfit(dt.ValueType, t)
	case *arrow.MapType:
		switch t.Kind {
		case types.Map:
			return misfit(dt.KeyType(), *t.Key) + misfit(dt.ItemType(), *t.Elem)
		case types.Multiset:
			return misfit(dt.KeyType(), *t.Elem) + misfit(dt.ItemType(), types.IntType)
		}
	case *arrow.ListType:
		if t.Kind == types.Array {
			return misfit(dt.Elem(), *t.Elem)
		}
	case *arrow.StructType:
		if t.Kind == types.Row {
			for _, f := range t.Fields {
				i, ok := dt.FieldIdx(f.Name)
				if !ok {
					return fmt.Sprintf("; the file has no field '%s' in it", f.Name)
				}
				if why := misfit(dt.Field(i).Type, f.Type); why != "" {
					return why
				}
			}
			return ""
		}
	case *arrow.NullType:
		return ""
	}
	return no
}

// convert returns arr as a column of type t; on an error at is the row that does not fit.
func convert(mem memory.Allocator, arr arrow.Array, t types.Type) (out arrow.Array, at int, err error) {
	if plain(arr.DataType(), t) {
		arr.Retain()
		return arr, 0, nil
	}
	if ts, ok := arr.(*array.Timestamp); ok {
		return convertTimestamps(mem, ts, t)
	}
	b := types.NewBuilder(mem, t)
	defer b.Release()
	b.Reserve(arr.Len())
	for i := range arr.Len() {
		if err := appendValue(b, arr, i, t); err != nil {
			return nil, i, err
		}
	}
	return b.NewArray(), 0, nil
}

// plain reports whether arrays of dt are arrays of t as they are. Lengths of text have to be checked.
func plain(dt arrow.DataType, t types.Type) bool {
	switch t.Kind {
	case types.Char, types.VarChar, types.Binary, types.VarBinary:
		return t.Length == types.MaxLength && t.Kind != types.Char && t.Kind != types.Binary && arrow.TypeEqual(dt, t.Arrow())
	case types.Timestamp, types.TimestampLTZ:
		ts, ok := dt.(*arrow.TimestampType)
		return ok && arrow.TypeEqual(ts, t.Arrow()) && (t.Precision == 6 || t.Precision == 9)
	case types.Decimal, types.Boolean, types.TinyInt, types.SmallInt, types.Int, types.BigInt, types.Float, types.Double, types.Date, types.Time:
		return arrow.TypeEqual(dt, t.Arrow())
	}
	return false // names and nullability of parts may differ
}

func convertTimestamps(mem memory.Allocator, arr *array.Timestamp, t types.Type) (arrow.Array, int, error) {
	unit, n := arr.DataType().(*arrow.TimestampType).Unit, arr.Len()
	in := arrow.Int64Traits.CastFromBytes(arrow.TimestampTraits.CastToBytes(arr.TimestampValues()))
	buf := memory.NewResizableBuffer(mem)
	defer buf.Release()
	buf.Resize(n * arrow.Int64SizeBytes)
	out := arrow.Int64Traits.CastFromBytes(buf.Bytes())
	if f, ok := factor(unit, t); ok && arr.NullN() == 0 && within(in, math.MaxInt64/f) {
		for i, v := range in {
			out[i] = v * f
		}
	} else {
		for i, v := range in {
			if arr.IsNull(i) {
				out[i] = 0
				continue
			}
			w, err := timestamp(v, unit, t)
			if err != nil {
				return nil, i, err
			}
			out[i] = w
		}
	}
	var valid *memory.Buffer
	if arr.NullN() > 0 {
		valid = memory.NewResizableBuffer(mem)
		defer valid.Release()
		valid.Resize(int(bitutil.BytesForBits(int64(n))))
		bitutil.CopyBitmap(arr.NullBitmapBytes(), arr.Data().Offset(), n, valid.Bytes(), 0)
	}
	d := array.NewData(t.Arrow(), n, []*memory.Buffer{valid, buf}, nil, arr.NullN(), 0)
	defer d.Release()
	return array.MakeFromData(d), 0, nil
}

// factor is what values of unit are multiplied by to get values of t, when nothing is cut off.
func factor(unit arrow.TimeUnit, t types.Type) (int64, bool) {
	to := int64(1e6)
	if t.Precision > 6 {
		to = 1e9
	}
	return to / perSecond[unit], perSecond[unit] <= pow10[t.Precision]
}

// within reports whether all values lie between -limit and limit.
func within(values []int64, limit int64) bool {
	var low, high int64
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	return low >= -limit && high <= limit
}

var perSecond = map[arrow.TimeUnit]int64{arrow.Second: 1, arrow.Millisecond: 1e3, arrow.Microsecond: 1e6, arrow.Nanosecond: 1e9}

var pow10 = [...]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// timestamp brings v to the unit of t and cuts what is behind its precision.
func timestamp(v int64, unit arrow.TimeUnit, t types.Type) (int64, error) {
	from, to := perSecond[unit], int64(1e6)
	if t.Precision > 6 {
		to = 1e9
	}
	if to > from {
		f := to / from
		if v > math.MaxInt64/f || v < math.MinInt64/f {
			return 0, fmt.Errorf("the timestamp %d %s is out of range of %s", v, unit, t)
		}
		v *= f
	} else {
		v = types.FloorDiv(v, from/to)
	}
	if cut := to / pow10[t.Precision]; cut > 1 {
		v -= types.FloorMod(v, cut)
	}
	return v, nil
}

const julianEpoch = 2440588

// fromInt96 converts days and nanoseconds to timestamps.
func fromInt96(mem memory.Allocator, in int96Values, t types.Type) (arrow.Array, int, error) {
	b := array.NewTimestampBuilder(mem, t.Arrow().(*arrow.TimestampType))
	defer b.Release()
	b.Reserve(len(in.valid))
	k := 0
	for i, ok := range in.valid {
		if !ok {
			b.UnsafeAppendBoolToBitmap(false)
			continue
		}
		v := in.values[k]
		k++
		nanos, day := binary.LittleEndian.Uint64(v[:8]), int64(binary.LittleEndian.Uint32(v[8:]))-julianEpoch
		if nanos >= uint64(types.NanosPerDay) {
			return nil, i, fmt.Errorf("the INT96 timestamp has %d nanoseconds of the day", nanos)
		}
		const mostDays = math.MaxInt64/86_400_000_000 - 1 // of microseconds
		if day > mostDays || day < -mostDays {
			return nil, i, fmt.Errorf("the timestamp lies %d days from 1970, which is out of range", day)
		}
		us := day*types.MicrosPerDay + int64(nanos/1000)
		w, err := timestamp(us, arrow.Microsecond, t)
		if err == nil && t.Precision > 6 {
			rest := int64(nanos % 1000)
			w += rest - rest%pow10[9-t.Precision]
		}
		if err != nil {
			return nil, i, err
		}
		b.UnsafeAppend(arrow.Timestamp(w))
	}
	return b.NewArray(), 0, nil
}

// appendValue appends element i of arr, converted to t.
func appendValue(b array.Builder, arr arrow.Array, i int, t types.Type) error {
	if arr.IsNull(i) {
		b.AppendNull()
		return nil
	}
	if d, ok := arr.(*array.Dictionary); ok {
		return appendValue(b, d.Dictionary(), d.GetValueIndex(i), t)
	}
	switch t.Kind {
	case types.Boolean:
		b.(*array.BooleanBuilder).Append(arr.(*array.Boolean).Value(i))
		return nil
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		v, err := integer(arr, i)
		if err != nil {
			return err
		}
		return appendInt(b, v, t)
	case types.Decimal:
		d, err := decimal(arr, i)
		if err == nil {
			d, err = d.Rescale(t.Precision, t.Scale)
		}
		if err != nil {
			return fmt.Errorf("%s does not fit %s", types.Show([]byte(arr.ValueStr(i)), 80), t)
		}
		b.(*array.Decimal128Builder).Append(d.Num)
		return nil
	case types.Float, types.Double:
		return appendFloat(b, arr, i)
	case types.Char, types.VarChar, types.Binary, types.VarBinary:
		return appendText(b, arr, i, t)
	case types.Date:
		return appendDate(b.(*array.Date32Builder), arr, i)
	case types.Time:
		return appendTime(b.(*array.Time32Builder), arr, i, t)
	case types.Timestamp, types.TimestampLTZ:
		a := arr.(*array.Timestamp)
		v, err := timestamp(int64(a.Value(i)), a.DataType().(*arrow.TimestampType).Unit, t)
		if err != nil {
			return err
		}
		b.(*array.TimestampBuilder).Append(arrow.Timestamp(v))
		return nil
	case types.Array:
		l := arr.(array.ListLike)
		from, to := l.ValueOffsets(i)
		lb := b.(*array.ListBuilder)
		lb.Append(true)
		for j := int(from); j < int(to); j++ {
			if err := appendValue(lb.ValueBuilder(), l.ListValues(), j, *t.Elem); err != nil {
				return err
			}
		}
		return nil
	case types.Map, types.Multiset:
		key, val := t.Key, t.Elem
		if t.Kind == types.Multiset {
			key, val = t.Elem, &types.IntType
		}
		m := arr.(*array.Map)
		from, to := m.ValueOffsets(i)
		lb := b.(*array.ListBuilder)
		lb.Append(true)
		sb := lb.ValueBuilder().(*array.StructBuilder)
		for j := int(from); j < int(to); j++ {
			sb.Append(true)
			if err := appendValue(sb.FieldBuilder(0), m.Keys(), j, *key); err != nil {
				return err
			}
			if err := appendValue(sb.FieldBuilder(1), m.Items(), j, *val); err != nil {
				return err
			}
		}
		return nil
	case types.Row:
		s := arr.(*array.Struct)
		sb := b.(*array.StructBuilder)
		sb.Append(true)
		for k, f := range t.Fields {
			at, _ := s.DataType().(*arrow.StructType).FieldIdx(f.Name)
			if err := appendValue(sb.FieldBuilder(k), s.Field(at), i, f.Type); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%s cannot be read as %s", arr.DataType(), t)
}

var errUint = errors.New("the unsigned number is out of range")

func integer(arr arrow.Array, i int) (int64, error) {
	switch a := arr.(type) {
	case *array.Int8:
		return int64(a.Value(i)), nil
	case *array.Int16:
		return int64(a.Value(i)), nil
	case *array.Int32:
		return int64(a.Value(i)), nil
	case *array.Int64:
		return a.Value(i), nil
	case *array.Uint8:
		return int64(a.Value(i)), nil
	case *array.Uint16:
		return int64(a.Value(i)), nil
	case *array.Uint32:
		return int64(a.Value(i)), nil
	case *array.Uint64:
		if v := a.Value(i); v <= math.MaxInt64 {
			return int64(v), nil
		}
		return 0, errUint
	}
	return 0, fmt.Errorf("%s is no integer", arr.DataType())
}

func appendInt(b array.Builder, v int64, t types.Type) error {
	ok := true
	switch b := b.(type) {
	case *array.Int8Builder:
		if ok = int64(int8(v)) == v; ok {
			b.Append(int8(v))
		}
	case *array.Int16Builder:
		if ok = int64(int16(v)) == v; ok {
			b.Append(int16(v))
		}
	case *array.Int32Builder:
		if ok = int64(int32(v)) == v; ok {
			b.Append(int32(v))
		}
	case *array.Int64Builder:
		b.Append(v)
	}
	if !ok {
		return fmt.Errorf("%d does not fit %s", v, t)
	}
	return nil
}

func decimal(arr arrow.Array, i int) (types.Dec, error) {
	switch a := arr.(type) {
	case *array.Decimal128:
		return types.Dec{Num: a.Value(i), Scale: a.DataType().(*arrow.Decimal128Type).Scale}, nil
	case *array.Decimal32:
		return types.Dec{Num: decimal128.FromI64(int64(a.Value(i))), Scale: a.DataType().(*arrow.Decimal32Type).Scale}, nil
	case *array.Decimal64:
		return types.Dec{Num: decimal128.FromI64(int64(a.Value(i))), Scale: a.DataType().(*arrow.Decimal64Type).Scale}, nil
	case *array.Decimal256:
		v := a.Value(i).BigInt()
		if v.BitLen() > 127 {
			return types.Dec{}, types.ErrOverflow
		}
		return types.Dec{Num: decimal128.FromBigInt(v), Scale: a.DataType().(*arrow.Decimal256Type).Scale}, nil
	case *array.Uint64:
		return types.Dec{Num: decimal128.FromU64(a.Value(i))}, nil
	}
	v, err := integer(arr, i)
	return types.Dec{Num: decimal128.FromI64(v)}, err
}

func appendFloat(b array.Builder, arr arrow.Array, i int) error {
	var v float64
	switch a := arr.(type) {
	case *array.Float16:
		v = float64(a.Value(i).Float32())
	case *array.Float32:
		v = float64(a.Value(i))
	case *array.Float64:
		v = a.Value(i)
	}
	if fb, ok := b.(*array.Float32Builder); ok {
		fb.Append(float32(v))
		return nil
	}
	b.(*array.Float64Builder).Append(v)
	return nil
}

func appendText(b array.Builder, arr arrow.Array, i int, t types.Type) error {
	var v []byte
	switch a := arr.(type) {
	case *array.String:
		v = []byte(a.Value(i))
	case *array.LargeString:
		v = []byte(a.Value(i))
	case *array.Binary:
		v = a.Value(i)
	case *array.LargeBinary:
		v = a.Value(i)
	case *array.FixedSizeBinary:
		v = a.Value(i)
	default:
		return fmt.Errorf("%s cannot be read as %s", arr.DataType(), t)
	}
	if t.IsText() {
		if !utf8.Valid(v) {
			return errors.New("the text is not UTF-8; declare the column as BYTES")
		}
		if n := utf8.RuneCount(v); n > t.Length {
			return fmt.Errorf("the text has %d characters, which does not fit %s", n, t)
		}
		b.(*array.StringBuilder).Append(types.FitText(string(v), t))
		return nil
	}
	if len(v) > t.Length {
		return fmt.Errorf("there are %d bytes, which does not fit %s", len(v), t)
	}
	b.(*array.BinaryBuilder).Append(types.FitBytes(v, t))
	return nil
}

func appendDate(b *array.Date32Builder, arr arrow.Array, i int) error {
	switch a := arr.(type) {
	case *array.Date32:
		b.Append(a.Value(i))
	case *array.Date64:
		b.Append(arrow.Date32(types.FloorDiv(int64(a.Value(i)), types.MillisPerDay)))
	}
	return nil
}

func appendTime(b *array.Time32Builder, arr arrow.Array, i int, t types.Type) error {
	var nanos int64
	switch a := arr.(type) {
	case *array.Time32:
		nanos = int64(a.Value(i)) * (1e9 / perSecond[a.DataType().(*arrow.Time32Type).Unit])
	case *array.Time64:
		nanos = int64(a.Value(i)) * (1e9 / perSecond[a.DataType().(*arrow.Time64Type).Unit])
	}
	if nanos < 0 || nanos >= types.NanosPerDay {
		return fmt.Errorf("%s is no time of day", types.Show([]byte(arr.ValueStr(i)), 80))
	}
	ms := nanos / 1e6
	if t.Precision < 3 {
		ms -= ms % pow10[3-t.Precision]
	}
	b.Append(arrow.Time32(ms))
	return nil
}
