// Package print has the connector 'print': a sink that writes rows to standard output or standard error as Flink's does:
//
//	id:1> +I[1, ann, 2024-05-01T10:00, null]
//
// The identifier stands there with 'print-identifier', the number of the partition when there are several.
//
// Sink. Delivery: at least once; lines are written at once. Ordering: as written, per partition. Replay: none. Receipts: none. It takes every kind of change.
package print

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Connector is the print connector.
type Connector struct{}

// Name is print.
func (Connector) Name() string { return "print" }

// Options are those of Flink.
func (Connector) Options() []connectors.Option {
	return []connectors.Option{
		{Name: "print-identifier", Type: "string", Doc: "What stands in front of each line."},
		{Name: "sink.parallelism", Type: "integer", Doc: "Has no effect here: as many copies write as the query has there."},
		{Name: "standard-error", Type: "boolean", Default: "false", Doc: "Write to standard error."},
	}
}

// Table checks a declaration.
func (c Connector) Table(ctx context.Context, decl connectors.Declaration) (connectors.Table, error) {
	if err := connectors.CheckOptions("connector 'print'", decl.Options, c.Options()); err != nil {
		return nil, err
	}
	if len(decl.Columns) == 0 {
		return nil, fmt.Errorf("table %s: connector 'print' needs columns", decl.Name)
	}
	return &table{schema: decl.Columns, id: decl.Options["print-identifier"], stderr: connectors.GetBool(decl.Options, "standard-error", false)}, nil
}

type table struct {
	schema types.Schema
	id     string
	stderr bool
}

func (t *table) Schema() types.Schema         { return t.schema }
func (t *table) MetadataKeys() types.Schema   { return nil }
func (t *table) MetadataWritable(string) bool { return false }
func (t *table) Bounded() bool                { return true }
func (t *table) ChangelogKinds() string       { return "" }
func (t *table) AcceptsKinds() string         { return "all" }
func (t *table) RowEstimate() int64           { return -1 }
func (t *table) SuppliesWatermarks() bool     { return false }

// Sink prepares writing.
func (t *table) Sink(w connectors.Write) (connectors.Sink, error) {
	if w.Overwrite || len(w.StaticPartition) > 0 {
		return nil, fmt.Errorf("connector 'print' has no partitions and nothing to overwrite")
	}
	return &sink{t: t}, nil
}

type sink struct {
	t      *table
	out    io.Writer
	prefix string
	buf    []byte
}

func (s *sink) Open(_ context.Context, env *connectors.Env, _ [][]byte) error {
	s.out = env.Stdout
	if s.t.stderr {
		s.out = env.Stderr
	}
	s.prefix = s.t.id
	if env.Partitions > 1 {
		if s.prefix != "" {
			s.prefix += ":"
		}
		s.prefix += strconv.Itoa(env.Partition + 1)
	}
	if s.prefix != "" {
		s.prefix += "> "
	}
	return nil
}

// Write writes the lines of a batch in one call.
func (s *sink) Write(_ context.Context, b stream.Batch) error {
	defer b.Release()
	s.buf = s.buf[:0]
	for i := range b.Len() {
		r := b.Row(i)
		s.buf = append(s.buf, s.prefix...)
		s.buf = append(s.buf, b.Kind(r).String()...)
		s.buf = append(s.buf, '[')
		for c, col := range s.t.schema {
			if c > 0 {
				s.buf = append(s.buf, ", "...)
			}
			s.buf = appendValue(s.buf, b.Record.Column(c), r, col.Type)
		}
		s.buf = append(s.buf, "]\n"...)
	}
	_, err := s.out.Write(s.buf)
	return err
}

func (s *sink) Prepare(context.Context, int64) ([]byte, error) { return nil, nil }
func (s *sink) Commit(context.Context, []byte) error           { return nil }
func (s *sink) Close() error                                   { return nil }

// Immediate is true.
func (s *sink) Immediate() bool { return true }

// appendValue writes a value as Java's toString of the class that Flink converts it to.
func appendValue(dst []byte, arr arrow.Array, i int, t types.Type) []byte {
	if arr.IsNull(i) {
		return append(dst, "null"...)
	}
	switch t.Kind {
	case types.Boolean:
		return strconv.AppendBool(dst, arr.(*array.Boolean).Value(i))
	case types.Decimal:
		return appendDecimal(dst, types.Dec{Num: arr.(*array.Decimal128).Value(i), Scale: int32(t.Scale)})
	case types.Binary, types.VarBinary:
		dst = append(dst, '[')
		for j, b := range arr.(*array.Binary).Value(i) {
			if j > 0 {
				dst = append(dst, ", "...)
			}
			dst = strconv.AppendInt(dst, int64(int8(b)), 10)
		}
		return append(dst, ']')
	case types.Time:
		ms := int64(arr.(*array.Time32).Value(i))
		return appendClock(dst, ms/1000, ms%1000*1e6, false)
	case types.Timestamp, types.TimestampLTZ:
		v := int64(arr.(*array.Timestamp).Value(i))
		unit := types.MicrosPerSecond
		if t.Precision > 6 {
			unit *= 1000
		}
		sec := types.FloorDiv(v, unit)
		nanos := (v - sec*unit) * (1_000_000_000 / unit)
		day := types.FloorDiv(sec, 86400)
		dst = types.AppendDate(dst, int32(day))
		dst = append(dst, 'T')
		instant := t.Kind == types.TimestampLTZ
		if dst = appendClock(dst, sec-day*86400, nanos, instant); instant {
			dst = append(dst, 'Z')
		}
		return dst
	case types.IntervalYearMonth:
		return appendPeriod(dst, int64(arr.(*array.MonthInterval).Value(i)))
	case types.IntervalDayTime:
		return appendDuration(dst, int64(arr.(*array.Duration).Value(i)))
	case types.Array:
		l := arr.(*array.List)
		from, to := l.ValueOffsets(i)
		dst = append(dst, '[')
		for j := int(from); j < int(to); j++ {
			if j > int(from) {
				dst = append(dst, ", "...)
			}
			dst = appendValue(dst, l.ListValues(), j, *t.Elem)
		}
		return append(dst, ']')
	case types.Map, types.Multiset:
		l := arr.(*array.List)
		from, to := l.ValueOffsets(i)
		kv := l.ListValues().(*array.Struct)
		key, val := t.Key, t.Elem
		if t.Kind == types.Multiset {
			key, val = t.Elem, &types.IntType
		}
		dst = append(dst, '{')
		for j := int(from); j < int(to); j++ {
			if j > int(from) {
				dst = append(dst, ", "...)
			}
			dst = append(appendValue(dst, kv.Field(0), j, *key), '=')
			dst = appendValue(dst, kv.Field(1), j, *val)
		}
		return append(dst, '}')
	case types.Row:
		s := arr.(*array.Struct)
		dst = append(dst, "+I["...)
		for j, f := range t.Fields {
			if j > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendValue(dst, s.Field(j), i, f.Type)
		}
		return append(dst, ']')
	}
	return types.AppendFormat(dst, arr, i, t, nil)
}

// appendClock is LocalTime.toString: seconds only when something behind the minutes is not zero, fractions in groups of three digits.
func appendClock(dst []byte, sec, nanos int64, seconds bool) []byte {
	two := func(v int64) { dst = append(dst, byte('0'+v/10), byte('0'+v%10)) }
	two(sec / 3600)
	dst = append(dst, ':')
	two(sec / 60 % 60)
	if !seconds && sec%60 == 0 && nanos == 0 {
		return dst
	}
	dst = append(dst, ':')
	two(sec % 60)
	if nanos == 0 {
		return dst
	}
	digits, width := nanos, 9
	for width > 3 && digits%1000 == 0 {
		digits /= 1000
		width -= 3
	}
	return fmt.Appendf(dst, ".%0*d", width, digits)
}

// appendDecimal is BigDecimal.toString: with an exponent where the first digit lies more than six places behind the point.
func appendDecimal(dst []byte, d types.Dec) []byte {
	digits := types.Dec{Num: d.Num.Abs()}.String()
	exp := len(digits) - 1 - int(d.Scale)
	if exp >= -6 {
		return d.AppendTo(dst)
	}
	if d.Sign() < 0 {
		dst = append(dst, '-')
	}
	dst = append(dst, digits[0])
	if len(digits) > 1 {
		dst = append(append(dst, '.'), digits[1:]...)
	}
	return strconv.AppendInt(append(dst, 'E'), int64(exp), 10)
}

// appendPeriod is Period.toString of normalized months.
func appendPeriod(dst []byte, months int64) []byte {
	dst = append(dst, 'P')
	y, m := months/12, months%12
	switch {
	case months == 0:
		return append(dst, "0D"...)
	case y != 0:
		dst = append(strconv.AppendInt(dst, y, 10), 'Y')
	}
	if m != 0 {
		dst = append(strconv.AppendInt(dst, m, 10), 'M')
	}
	return dst
}

// appendDuration is Duration.toString.
func appendDuration(dst []byte, us int64) []byte {
	dst = append(dst, "PT"...)
	if us == 0 {
		return append(dst, "0S"...)
	}
	sec := us / types.MicrosPerSecond
	if h := sec / 3600; h != 0 {
		dst = append(strconv.AppendInt(dst, h, 10), 'H')
	}
	if m := sec / 60 % 60; m != 0 {
		dst = append(strconv.AppendInt(dst, m, 10), 'M')
	}
	s, frac := sec%60, us%types.MicrosPerSecond
	if s == 0 && frac == 0 {
		return dst
	}
	if us < 0 {
		dst = append(dst, '-')
		s, frac = -s, -frac
	}
	dst = strconv.AppendInt(dst, s, 10)
	if frac != 0 {
		digits, width := frac, 6
		for digits%10 == 0 {
			digits /= 10
			width--
		}
		dst = fmt.Appendf(dst, ".%0*d", width, digits)
	}
	return append(dst, 'S')
}
