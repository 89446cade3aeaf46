// Package types has the SQL types of Weir, their values, casts and schemas.
//
// It is the leaf of the import graph: every package may import it and it imports none of ours. Type names, precisions and rules are those of
// Flink SQL (https://nightlies.apache.org/flink/flink-docs-stable/docs/dev/table/types/).
package types

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is the root of a SQL type.
type Kind uint8

// The kinds. Arrow shapes (see Type.Arrow) are given behind each.
const (
	Invalid           Kind = iota
	Null                   // the type of a bare NULL; arrow null
	Boolean                // arrow bool
	TinyInt                // arrow int8
	SmallInt               // arrow int16
	Int                    // arrow int32
	BigInt                 // arrow int64
	Decimal                // Precision 1..38, Scale 0..Precision; arrow decimal128
	Float                  // arrow float32
	Double                 // arrow float64
	Char                   // Length in code points; arrow utf8
	VarChar                // Length in code points, MaxLength is STRING; arrow utf8
	Binary                 // Length in bytes; arrow binary
	VarBinary              // Length in bytes, MaxLength is BYTES; arrow binary
	Date                   // days since 1970-01-01; arrow date32
	Time                   // Precision 0..9 as declared; milliseconds of the day; arrow time32(ms)
	Timestamp              // Precision 0..9; wall clock read as UTC; arrow timestamp(us) for p <= 6, timestamp(ns) above, no zone
	TimestampLTZ           // Precision 0..9; an instant; arrow timestamp(us|ns, "UTC")
	IntervalYearMonth      // months; arrow month_interval
	IntervalDayTime        // microseconds; arrow duration(us)
	Array                  // Elem; arrow list
	Map                    // Key, Elem; arrow list<struct<key, value>> since Flink allows NULL keys
	Multiset               // Elem -> count; the same shape as MAP<Elem, INT>
	Row                    // Fields; arrow struct
)

// MaxLength is the length of STRING and BYTES.
const MaxLength = 1<<31 - 1

// Type is a SQL type. The zero Type is Invalid. Types are immutable values: share Elem, Key and Fields, never change them.
type Type struct {
	Kind      Kind
	Nullable  bool
	Precision int   // DECIMAL, TIME, TIMESTAMP, TIMESTAMP_LTZ
	Scale     int   // DECIMAL
	Length    int   // CHAR, VARCHAR, BINARY, VARBINARY
	Elem      *Type // ARRAY, MULTISET elements; MAP values
	Key       *Type // MAP keys
	Fields    []Field
	Interval  IntervalUnits // the units an interval was declared with (printing only)
	Attr      TimeAttr      // whether the column is a time attribute (columns of plans only; no part of equality)
}

// Field is a named field of a ROW.
type Field struct {
	Name string
	Type Type
}

// TimeAttr marks a column as a time attribute.
type TimeAttr uint8

// The time attributes of Flink: *ROWTIME* and *PROCTIME*.
const (
	NoTimeAttr TimeAttr = iota
	Rowtime
	Proctime
)

// IntervalUnits is the unit range of an interval type; the zero value is YEAR TO MONTH or DAY TO SECOND(6) by kind.
type IntervalUnits struct {
	From, To string // e.g. "DAY", "SECOND"; To is empty for a single unit
}

// Constructors, nullable unless NotNull is called.
func simple(k Kind) Type { return Type{Kind: k, Nullable: true} }

var (
	NullType     = simple(Null)
	BooleanType  = simple(Boolean)
	TinyIntType  = simple(TinyInt)
	SmallIntType = simple(SmallInt)
	IntType      = simple(Int)
	BigIntType   = simple(BigInt)
	FloatType    = simple(Float)
	DoubleType   = simple(Double)
	StringType   = VarCharOf(MaxLength)
	BytesType    = VarBinaryOf(MaxLength)
	DateType     = simple(Date)
	// YearMonthType and DayTimeType are the two interval types.
	YearMonthType = simple(IntervalYearMonth)
	DayTimeType   = simple(IntervalDayTime)
)

// CharOf returns CHAR(n).
func CharOf(n int) Type { return Type{Kind: Char, Nullable: true, Length: n} }

// VarCharOf returns VARCHAR(n).
func VarCharOf(n int) Type { return Type{Kind: VarChar, Nullable: true, Length: n} }

// BinaryOf returns BINARY(n).
func BinaryOf(n int) Type { return Type{Kind: Binary, Nullable: true, Length: n} }

// VarBinaryOf returns VARBINARY(n).
func VarBinaryOf(n int) Type { return Type{Kind: VarBinary, Nullable: true, Length: n} }

// DecimalOf returns DECIMAL(p, s).
func DecimalOf(p, s int) Type { return Type{Kind: Decimal, Nullable: true, Precision: p, Scale: s} }

// TimeOf returns TIME(p).
func TimeOf(p int) Type { return Type{Kind: Time, Nullable: true, Precision: p} }

// TimestampOf returns TIMESTAMP(p).
func TimestampOf(p int) Type { return Type{Kind: Timestamp, Nullable: true, Precision: p} }

// TimestampLTZOf returns TIMESTAMP_LTZ(p).
func TimestampLTZOf(p int) Type { return Type{Kind: TimestampLTZ, Nullable: true, Precision: p} }

// ArrayOf returns ARRAY<elem>.
func ArrayOf(elem Type) Type { return Type{Kind: Array, Nullable: true, Elem: &elem} }

// MapOf returns MAP<key, value>.
func MapOf(key, value Type) Type { return Type{Kind: Map, Nullable: true, Key: &key, Elem: &value} }

// MultisetOf returns MULTISET<elem>.
func MultisetOf(elem Type) Type { return Type{Kind: Multiset, Nullable: true, Elem: &elem} }

// RowOf returns ROW<fields>.
func RowOf(fields ...Field) Type { return Type{Kind: Row, Nullable: true, Fields: fields} }

// NotNull returns t without NULL.
func (t Type) NotNull() Type { t.Nullable = false; return t }

// WithNull returns t with nullability n.
func (t Type) WithNull(n bool) Type { t.Nullable = n; return t }

// WithAttr returns t as a time attribute.
func (t Type) WithAttr(a TimeAttr) Type { t.Attr = a; return t }

// IsInteger reports TINYINT to BIGINT.
func (t Type) IsInteger() bool { return t.Kind >= TinyInt && t.Kind <= BigInt }

// IsNumeric reports integers, DECIMAL, FLOAT and DOUBLE.
func (t Type) IsNumeric() bool { return t.Kind >= TinyInt && t.Kind <= Double }

// IsApprox reports FLOAT and DOUBLE.
func (t Type) IsApprox() bool { return t.Kind == Float || t.Kind == Double }

// IsText reports CHAR and VARCHAR.
func (t Type) IsText() bool { return t.Kind == Char || t.Kind == VarChar }

// IsBytes reports BINARY and VARBINARY.
func (t Type) IsBytes() bool { return t.Kind == Binary || t.Kind == VarBinary }

// IsTimestamp reports TIMESTAMP and TIMESTAMP_LTZ.
func (t Type) IsTimestamp() bool { return t.Kind == Timestamp || t.Kind == TimestampLTZ }

// IsDatetime reports DATE, TIME, TIMESTAMP and TIMESTAMP_LTZ.
func (t Type) IsDatetime() bool { return t.Kind >= Date && t.Kind <= TimestampLTZ }

// IsInterval reports both interval kinds.
func (t Type) IsInterval() bool { return t.Kind == IntervalYearMonth || t.Kind == IntervalDayTime }

// IsNested reports ARRAY, MAP, MULTISET and ROW.
func (t Type) IsNested() bool { return t.Kind >= Array }

// Equal reports whether two types are the same, nullability included, time attribute and interval units not.
func (t Type) Equal(u Type) bool { return t.Nullable == u.Nullable && t.SameKind(u) }

// SameKind is Equal without the nullability of the outermost type.
func (t Type) SameKind(u Type) bool {
	if t.Kind != u.Kind || t.Precision != u.Precision || t.Scale != u.Scale || t.Length != u.Length || len(t.Fields) != len(u.Fields) {
		return false
	}
	for i := range t.Fields {
		if t.Fields[i].Name != u.Fields[i].Name || !t.Fields[i].Type.Equal(u.Fields[i].Type) {
			return false
		}
	}
	return equalPtr(t.Elem, u.Elem) && equalPtr(t.Key, u.Key)
}

func equalPtr(a, b *Type) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// String prints the type as Flink's TYPEOF does: `DECIMAL(10, 2) NOT NULL`, `ROW<a INT, b STRING>` with backticked names, `STRING`.
func (t Type) String() string {
	s := t.base()
	if !t.Nullable && t.Kind != Null {
		s += " NOT NULL"
	}
	return s
}

func (t Type) base() string {
	p := func(name string, n int) string { return name + "(" + strconv.Itoa(n) + ")" }
	switch t.Kind {
	case Null:
		return "NULL"
	case Boolean:
		return "BOOLEAN"
	case TinyInt:
		return "TINYINT"
	case SmallInt:
		return "SMALLINT"
	case Int:
		return "INT"
	case BigInt:
		return "BIGINT"
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d, %d)", t.Precision, t.Scale)
	case Float:
		return "FLOAT"
	case Double:
		return "DOUBLE"
	case Char:
		return p("CHAR", t.Length)
	case VarChar:
		if t.Length == MaxLength {
			return "STRING"
		}
		return p("VARCHAR", t.Length)
	case Binary:
		return p("BINARY", t.Length)
	case VarBinary:
		if t.Length == MaxLength {
			return "BYTES"
		}
		return p("VARBINARY", t.Length)
	case Date:
		return "DATE"
	case Time:
		return p("TIME", t.Precision)
	case Timestamp:
		return p("TIMESTAMP", t.Precision)
	case TimestampLTZ:
		return p("TIMESTAMP_LTZ", t.Precision)
	case IntervalYearMonth:
		if t.Interval.From != "" {
			return "INTERVAL " + t.Interval.String()
		}
		return "INTERVAL MONTH"
	case IntervalDayTime:
		if t.Interval.From != "" {
			return "INTERVAL " + t.Interval.String()
		}
		return "INTERVAL SECOND(3)"
	case Array:
		return "ARRAY<" + t.Elem.String() + ">"
	case Map:
		return "MAP<" + t.Key.String() + ", " + t.Elem.String() + ">"
	case Multiset:
		return "MULTISET<" + t.Elem.String() + ">"
	case Row:
		fs := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			fs[i] = "`" + strings.ReplaceAll(f.Name, "`", "``") + "` " + f.Type.String()
		}
		return "ROW<" + strings.Join(fs, ", ") + ">"
	}
	return "INVALID"
}

func (u IntervalUnits) String() string {
	if u.To == "" {
		return u.From
	}
	return u.From + " TO " + u.To
}
