package types

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// A single value outside of Arrow is an `any` in its canonical Go form; nil is NULL:
//
//	SQL type                      Go type       unit
//	NULL                          nil
//	BOOLEAN                       bool
//	TINYINT                       int8
//	SMALLINT                      int16
//	INT                           int32
//	BIGINT                        int64
//	DECIMAL(p, s)                 Dec           unscaled number; Dec.Scale = s
//	FLOAT                         float32
//	DOUBLE                        float64
//	CHAR(n), VARCHAR(n), STRING   string        UTF-8; CHAR padded with blanks
//	BINARY(n), VARBINARY(n)       []byte        not to be changed
//	DATE                          DateVal       days since 1970-01-01
//	TIME(p)                       TimeVal       milliseconds of the day
//	TIMESTAMP(p)                  TimestampVal  microseconds (p <= 6) or nanoseconds (p >= 7) of the wall clock, read as UTC, since 1970
//	TIMESTAMP_LTZ(p)              TimestampVal  the same units, since the epoch
//	INTERVAL YEAR TO MONTH        MonthsVal     months
//	INTERVAL DAY TO SECOND        DurationVal   microseconds
//	ARRAY<e>                      []any         canonical elements
//	MAP<k, v>                     MapVal        entries in order
//	MULTISET<e>                   MapVal        Key is the element, Val its count (int32)
//	ROW<...>                      RowVal        one value per field
//
// Values are immutable: they may be shared and must not be changed.

// DateVal is a DATE: days since 1970-01-01.
type DateVal int32

// TimeVal is a TIME: milliseconds of the day.
type TimeVal int32

// TimestampVal is a TIMESTAMP or TIMESTAMP_LTZ: microseconds since 1970 for precisions up to 6, nanoseconds above.
type TimestampVal int64

// MonthsVal is an INTERVAL YEAR TO MONTH in months.
type MonthsVal int32

// DurationVal is an INTERVAL DAY TO SECOND in microseconds.
type DurationVal int64

// MapEntry is one pair of a MAP, or an element and its count of a MULTISET.
type MapEntry struct {
	Key, Val any
}

// MapVal is a MAP or MULTISET: its entries in insertion order, keys distinct.
type MapVal []MapEntry

// RowVal is a ROW: the values of its fields.
type RowVal []any

// Nanos reports whether timestamps of type t count nanoseconds (precision 7 to 9) instead of microseconds.
func (t Type) Nanos() bool { return t.IsTimestamp() && t.Precision > 6 }

// Compare orders two canonical values of one type: -1, 0 or 1. NULL comes first and equals NULL; -0.0 equals 0.0; NaN equals NaN and is greater than
// every other number; text and bytes compare bytewise; ARRAY and ROW element by element; MAP and MULTISET by their entries in the
// order of keys, wherever they stand.
// It is an order for sorting and grouping, not the SQL operators (where NULL and NaN are never equal to anything).
func Compare(a, b any) int {
	if a == nil || b == nil {
		switch {
		case a == nil && b == nil:
			return 0
		case a == nil:
			return -1
		}
		return 1
	}
	switch x := a.(type) {
	case bool:
		y := b.(bool)
		switch {
		case x == y:
			return 0
		case !x:
			return -1
		}
		return 1
	case int8:
		return cmpOrdered(x, b.(int8))
	case int16:
		return cmpOrdered(x, b.(int16))
	case int32:
		return cmpOrdered(x, b.(int32))
	case int64:
		return cmpOrdered(x, b.(int64))
	case Dec:
		return x.Cmp(b.(Dec))
	case float32:
		return cmpFloat(float64(x), float64(b.(float32)))
	case float64:
		return cmpFloat(x, b.(float64))
	case string:
		return strings.Compare(x, b.(string))
	case []byte:
		return bytes.Compare(x, b.([]byte))
	case DateVal:
		return cmpOrdered(x, b.(DateVal))
	case TimeVal:
		return cmpOrdered(x, b.(TimeVal))
	case TimestampVal:
		return cmpOrdered(x, b.(TimestampVal))
	case MonthsVal:
		return cmpOrdered(x, b.(MonthsVal))
	case DurationVal:
		return cmpOrdered(x, b.(DurationVal))
	case []any:
		return compareSlices(x, b.([]any))
	case RowVal:
		return compareSlices(x, b.(RowVal))
	case MapVal:
		y := b.(MapVal)
		if !slices.EqualFunc(x, y, func(e, f MapEntry) bool { return Compare(e.Key, f.Key) == 0 }) {
			x, y = x.byKey(), y.byKey()
		}
		for i := range x {
			if i >= len(y) {
				return 1
			}
			if c := Compare(x[i].Key, y[i].Key); c != 0 {
				return c
			}
			if c := Compare(x[i].Val, y[i].Val); c != 0 {
				return c
			}
		}
		return cmpOrdered(len(x), len(y))
	}
	return 0
}

// byKey returns the entries in the order of their keys.
func (m MapVal) byKey() MapVal {
	m = slices.Clone(m)
	slices.SortFunc(m, func(e, f MapEntry) int { return Compare(e.Key, f.Key) })
	return m
}

func compareSlices(x, y []any) int {
	for i := range x {
		if i >= len(y) {
			return 1
		}
		if c := Compare(x[i], y[i]); c != 0 {
			return c
		}
	}
	return cmpOrdered(len(x), len(y))
}

func cmpOrdered[T int | int8 | int16 | int32 | int64 | DateVal | TimeVal | TimestampVal | MonthsVal | DurationVal](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	an, bn := math.IsNaN(a), math.IsNaN(b)
	switch {
	case an && bn:
		return 0
	case an:
		return 1
	}
	return -1
}

// DecOf returns the DECIMAL n * 10^-scale.
func DecOf(n int64, scale int) Dec { return Dec{Num: decimal128.FromI64(n), Scale: int32(scale)} }
