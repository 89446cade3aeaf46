package types

import (
	"fmt"
	"math"
	"time"
)

// CanCast reports whether CAST(x AS to) is allowed for x of type from: the matrix of a real Flink 2.3. A cast that is allowed can still fail for a
// value. Nullability does not matter.
func CanCast(from, to Type) bool {
	switch {
	case from.Kind == Invalid || to.Kind == Invalid || to.Kind == Null:
		return from.Kind == Null && to.Kind == Null
	case from.Kind == Null || to.IsText():
		return true
	case from.IsText():
		return to.Kind == Boolean || to.IsNumeric() || to.IsBytes() || to.IsDatetime()
	case from.IsNumeric() || from.Kind == Boolean:
		return to.IsNumeric() || to.Kind == Boolean
	case from.IsBytes():
		return to.IsBytes()
	case from.Kind == Date:
		return to.Kind == Date || to.IsTimestamp()
	case from.Kind == Time:
		return to.Kind == Time || to.IsTimestamp()
	case from.IsTimestamp():
		return to.IsDatetime()
	case from.IsInterval():
		return to.Kind == from.Kind
	case from.Kind != to.Kind:
		return false
	case from.Kind == Array || from.Kind == Multiset:
		return CanCast(*from.Elem, *to.Elem)
	case from.Kind == Map:
		return CanCast(*from.Key, *to.Key) && CanCast(*from.Elem, *to.Elem)
	case from.Kind == Row:
		if len(from.Fields) != len(to.Fields) {
			return false
		}
		for i := range from.Fields {
			if !CanCast(from.Fields[i].Type, to.Fields[i].Type) {
				return false
			}
		}
		return true
	}
	return false
}

// Cast is CAST(v AS to) of a canonical value of type from; zone is the session zone (nil is UTC). NULL stays NULL. A value that to cannot take is an
// error that says why (also where Flink keeps the low bits or gives NULL: integers, FLOAT and DOUBLE as integers, DECIMAL); TRY_CAST gives NULL then.
// VARCHAR(n), CHAR(n), VARBINARY(n) and BINARY(n) cut without an error. Pairs that CanCast does not allow are an error.
func Cast(v any, from, to Type, zone *time.Location) (any, error) {
	if v == nil {
		return nil, nil
	}
	if !CanCast(from, to) {
		return nil, fmt.Errorf("cannot cast %s to %s", from, to)
	}
	return cast(v, from, to, zone)
}

func cast(v any, from, to Type, zone *time.Location) (any, error) {
	if v == nil {
		return nil, nil
	}
	if to.IsText() {
		return FitText(Format(v, from, zone), to), nil
	}
	switch x := v.(type) {
	case string:
		if to.IsBytes() {
			return FitBytes([]byte(x), to), nil
		}
		return ParseValue([]byte(x), to, zone)
	case []byte:
		return FitBytes(x, to), nil
	case bool:
		if to.Kind == Boolean {
			return x, nil
		}
		if x {
			return castInt(1, to)
		}
		return castInt(0, to)
	case int8:
		return castInt(int64(x), to)
	case int16:
		return castInt(int64(x), to)
	case int32:
		return castInt(int64(x), to)
	case int64:
		return castInt(x, to)
	case Dec:
		return castDec(x, to)
	case float32:
		if to.Kind == Float {
			return x, nil
		}
		return castDouble(float64(x), to)
	case float64:
		return castDouble(x, to)
	case DateVal:
		return castDate(x, to, zone)
	case TimeVal:
		return castTime(x, to, zone)
	case TimestampVal:
		return castTimestamp(x, from, to, zone)
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			var err error
			if out[i], err = cast(e, *from.Elem, *to.Elem, zone); err != nil {
				return nil, err
			}
		}
		return out, nil
	case MapVal:
		return castMap(x, from, to, zone)
	case RowVal:
		out := make(RowVal, len(x))
		for i, e := range x {
			var err error
			if out[i], err = cast(e, from.Fields[i].Type, to.Fields[i].Type, zone); err != nil {
				return nil, fmt.Errorf("field %s: %w", to.Fields[i].Name, err)
			}
		}
		return out, nil
	}
	return v, nil // intervals
}

// ErrDoesNotFit is the error of a value that is out of to's range.
func ErrDoesNotFit(value string, to Type) error {
	return fmt.Errorf("value %s does not fit %s", value, to.WithNull(true))
}

// IntFits reports whether v is within the range of the integer kind k.
func IntFits(v int64, k Kind) bool {
	switch k {
	case TinyInt:
		return v == int64(int8(v))
	case SmallInt:
		return v == int64(int16(v))
	case Int:
		return v == int64(int32(v))
	}
	return true
}

// DoubleToInt truncates toward zero; false when the result is out of the range of the integer kind k, or v is NaN.
func DoubleToInt(v float64, k Kind) (int64, bool) {
	t := math.Trunc(v)
	if !(t >= -(1<<63) && t < 1<<63) {
		return 0, false
	}
	n := int64(t)
	return n, IntFits(n, k)
}

func intValue(v int64, k Kind) any {
	switch k {
	case TinyInt:
		return int8(v)
	case SmallInt:
		return int16(v)
	case Int:
		return int32(v)
	}
	return v
}

func castInt(v int64, to Type) (any, error) {
	switch to.Kind {
	case Boolean:
		return v != 0, nil
	case Float:
		return float32(v), nil
	case Double:
		return float64(v), nil
	case Decimal:
		d, err := DecFromInt64(v, to.Precision, to.Scale)
		if err != nil {
			return nil, ErrDoesNotFit(fmt.Sprint(v), to)
		}
		return d, nil
	}
	if !IntFits(v, to.Kind) {
		return nil, ErrDoesNotFit(fmt.Sprint(v), to)
	}
	return intValue(v, to.Kind), nil
}

func castDec(v Dec, to Type) (any, error) {
	switch to.Kind {
	case Boolean:
		return v.Sign() != 0, nil
	case Float:
		return v.Float32(), nil
	case Double:
		return v.Float64(), nil
	case Decimal:
		d, err := v.Rescale(to.Precision, to.Scale)
		if err != nil {
			return nil, ErrDoesNotFit(v.String(), to)
		}
		return d, nil
	}
	n, ok := v.Int64()
	if !ok || !IntFits(n, to.Kind) {
		return nil, ErrDoesNotFit(v.String(), to)
	}
	return intValue(n, to.Kind), nil
}

func castDouble(v float64, to Type) (any, error) {
	switch to.Kind {
	case Boolean:
		return v != 0, nil
	case Float:
		return float32(v), nil
	case Double:
		return v, nil
	case Decimal:
		d, err := DecFromFloat64(v, to.Precision, to.Scale)
		if err != nil {
			return nil, ErrDoesNotFit(string(AppendDouble(nil, v)), to)
		}
		return d, nil
	}
	n, ok := DoubleToInt(v, to.Kind)
	if !ok {
		return nil, ErrDoesNotFit(string(AppendDouble(nil, v)), to)
	}
	return intValue(n, to.Kind), nil
}

func castDate(v DateVal, to Type, zone *time.Location) (any, error) {
	if to.Kind == Date {
		return v, nil
	}
	us := int64(v) * MicrosPerDay
	if to.Kind == TimestampLTZ && zone != nil {
		us = FromWall(us, zone, CastRule)
	}
	ts, err := RescaleTimestamp(us, 6, to.Precision)
	return orNil(TimestampVal(ts), err)
}

func castTime(v TimeVal, to Type, zone *time.Location) (any, error) {
	if to.Kind == Time {
		return TimeVal(cutMillis(int32(v), to.Precision)), nil
	}
	us := int64(v) * MicrosPerMilli // of 1970-01-01
	if to.Kind == TimestampLTZ && zone != nil {
		us = FromWall(us, zone, CastRule)
	}
	ts, err := RescaleTimestamp(us, 6, to.Precision)
	return orNil(TimestampVal(ts), err)
}

func castTimestamp(x TimestampVal, from, to Type, zone *time.Location) (any, error) {
	v, ok := int64(x), true
	switch {
	case from.Kind == TimestampLTZ && to.Kind != TimestampLTZ:
		v, ok = LTZToTimestamp(v, from.Precision, zone)
	case from.Kind == Timestamp && to.Kind == TimestampLTZ:
		v, ok = TimestampToLTZ(v, from.Precision, zone)
	}
	if !ok {
		return nil, ErrDoesNotFit(Format(x, from, zone), to)
	}
	switch to.Kind {
	case Date:
		return DateVal(TimestampDays(v, from.Precision)), nil
	case Time:
		return TimeVal(cutMillis(TimestampMillisOfDay(v, from.Precision), to.Precision)), nil
	}
	ts, err := RescaleTimestamp(v, from.Precision, to.Precision)
	return orNil(TimestampVal(ts), err)
}

// TimestampDays returns the day (since 1970) that a timestamp of a precision lies in.
func TimestampDays(v int64, precision int) int32 {
	if precision > 6 {
		return int32(FloorDiv(v, NanosPerDay))
	}
	return int32(FloorDiv(v, MicrosPerDay))
}

// TimestampMillisOfDay returns the milliseconds of the day of a timestamp of a precision, cut.
func TimestampMillisOfDay(v int64, precision int) int32 {
	if precision > 6 {
		return int32(FloorMod(v, NanosPerDay) / 1_000_000)
	}
	return int32(FloorMod(v, MicrosPerDay) / 1000)
}

// castMap casts keys and values; of keys that become equal the last entry stays, at the place of the first.
func castMap(m MapVal, from, to Type, zone *time.Location) (any, error) {
	fk, fv := entryTypes(from)
	tk, tv := entryTypes(to)
	out := make(MapVal, 0, len(m))
next:
	for _, e := range m {
		k, err := cast(e.Key, fk, tk, zone)
		if err != nil {
			return nil, err
		}
		v, err := cast(e.Val, fv, tv, zone)
		if err != nil {
			return nil, err
		}
		if !fk.SameKind(tk) { // only then can keys have become equal
			for i := range out {
				if Compare(out[i].Key, k) == 0 {
					if to.Kind == Multiset {
						v = out[i].Val.(int32) + v.(int32)
					}
					out[i].Val = v
					continue next
				}
			}
		}
		out = append(out, MapEntry{k, v})
	}
	return out, nil
}
