// Package textout writes scalars as Flink's text formats do.
package textout

import (
	"encoding/base64"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/types"
)

// Style says how.
type Style struct {
	ISO   bool // a T between date and time
	Plain bool // DECIMAL without exponent
}

// AppendScalar appends the text of element i of arr, which is not NULL and of a scalar type: numbers as Java prints them; DECIMAL without trailing
// zeros, with an exponent where Java's BigDecimal has one; bytes in base64; times with as many digits as needed, TIMESTAMP_LTZ in UTC with Z; intervals as
// months or milliseconds. Text is appended as it is.
func (s Style) AppendScalar(dst []byte, arr arrow.Array, i int, t types.Type) ([]byte, error) {
	switch t.Kind {
	case types.Boolean:
		return strconv.AppendBool(dst, arr.(*array.Boolean).Value(i)), nil
	case types.TinyInt:
		return strconv.AppendInt(dst, int64(arr.(*array.Int8).Value(i)), 10), nil
	case types.SmallInt:
		return strconv.AppendInt(dst, int64(arr.(*array.Int16).Value(i)), 10), nil
	case types.Int:
		return strconv.AppendInt(dst, int64(arr.(*array.Int32).Value(i)), 10), nil
	case types.BigInt:
		return strconv.AppendInt(dst, arr.(*array.Int64).Value(i), 10), nil
	case types.Float:
		return types.AppendFloat(dst, arr.(*array.Float32).Value(i)), nil
	case types.Double:
		return types.AppendDouble(dst, arr.(*array.Float64).Value(i)), nil
	case types.Decimal:
		return s.decimal(dst, types.Dec{Num: arr.(*array.Decimal128).Value(i), Scale: int32(t.Scale)}), nil
	case types.Char, types.VarChar:
		return append(dst, arr.(*array.String).Value(i)...), nil
	case types.Binary, types.VarBinary:
		return base64.StdEncoding.AppendEncode(dst, arr.(*array.Binary).Value(i)), nil
	case types.Date:
		return types.AppendDate(dst, int32(arr.(*array.Date32).Value(i))), nil
	case types.Time:
		return trimFraction(types.AppendTime(dst, int32(arr.(*array.Time32).Value(i)), 3), len(dst)), nil
	case types.Timestamp, types.TimestampLTZ:
		from := len(dst)
		dst = trimFraction(types.AppendTimestamp(dst, int64(arr.(*array.Timestamp).Value(i)), t.Precision), from)
		if s.ISO {
			for j := from; j < len(dst); j++ {
				if dst[j] == ' ' {
					dst[j] = 'T'
				}
			}
		}
		if t.Kind == types.TimestampLTZ {
			dst = append(dst, 'Z')
		}
		return dst, nil
	case types.IntervalYearMonth:
		return strconv.AppendInt(dst, int64(arr.(*array.MonthInterval).Value(i)), 10), nil
	case types.IntervalDayTime:
		v := int64(arr.(*array.Duration).Value(i))
		if v%types.MicrosPerMilli != 0 {
			return dst, fmt.Errorf("an INTERVAL is written in whole milliseconds, but it has %d microseconds", v)
		}
		return strconv.AppendInt(dst, v/types.MicrosPerMilli, 10), nil
	}
	return dst, fmt.Errorf("%s is not a scalar", t)
}

// trimFraction cuts trailing zeros of the fraction of the text from from on.
func trimFraction(b []byte, from int) []byte {
	point := -1
	for j := from; j < len(b); j++ {
		if b[j] == '.' {
			point = j
		}
	}
	if point < 0 {
		return b
	}
	n := len(b)
	for n > point+1 && b[n-1] == '0' {
		n--
	}
	if n == point+1 {
		n--
	}
	return b[:n]
}

// decimal is BigDecimal.stripTrailingZeros, then toString or toPlainString.
func (s Style) decimal(dst []byte, d types.Dec) []byte {
	var buf [64]byte
	b := d.AppendTo(buf[:0])
	if s.Plain {
		return append(dst, trimFraction(b, 0)...)
	}
	if b[0] == '-' {
		dst = append(dst, '-')
		b = b[1:]
	}
	// Digits without the point and without zeros in front and behind; value = digits * 10^-scale.
	digits := make([]byte, 0, len(b))
	scale, point := 0, false
	for _, c := range b {
		if c == '.' {
			point = true
			continue
		}
		if point {
			scale++
		}
		if c != '0' || len(digits) > 0 {
			digits = append(digits, c)
		}
	}
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
		scale--
	}
	if len(digits) == 0 {
		return append(dst, '0')
	}
	exp := len(digits) - 1 - scale
	switch {
	case scale >= 0 && exp >= -6:
		if scale >= len(digits) {
			dst = append(dst, "0."...)
			for range scale - len(digits) {
				dst = append(dst, '0')
			}
			return append(dst, digits...)
		}
		dst = append(dst, digits[:len(digits)-scale]...)
		if scale > 0 {
			dst = append(append(dst, '.'), digits[len(digits)-scale:]...)
		}
		return dst
	default:
		dst = append(dst, digits[0])
		if len(digits) > 1 {
			dst = append(append(dst, '.'), digits[1:]...)
		}
		dst = append(dst, 'E')
		if exp > 0 {
			dst = append(dst, '+')
		}
		return strconv.AppendInt(dst, int64(exp), 10)
	}
}
