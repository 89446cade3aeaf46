package bind

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// TypeOf turns a type as written into a type.
func TypeOf(n *ast.TypeName) (types.Type, error) { return typeOf(n) }

func typeOf(n *ast.TypeName) (types.Type, error) {
	t, err := baseType(n)
	if err != nil {
		return t, err
	}
	return t.WithNull(!n.NotNull), nil
}

func baseType(n *ast.TypeName) (types.Type, error) {
	bad := func(format string, args ...any) (types.Type, error) {
		return types.Type{}, logical.Errorf(n, logical.CodeType, "", format, args...)
	}
	most := func(k int) error {
		if len(n.Params) > k {
			_, err := bad("%s takes at most %d numbers in parentheses", n.Name, k)
			return err
		}
		return nil
	}
	param := func(i, def int) int {
		if i < len(n.Params) {
			return n.Params[i]
		}
		return def
	}
	simple := map[string]types.Type{"BOOLEAN": types.BooleanType, "TINYINT": types.TinyIntType, "SMALLINT": types.SmallIntType, "INT": types.IntType,
		"BIGINT": types.BigIntType, "FLOAT": types.FloatType, "REAL": types.FloatType, "DOUBLE": types.DoubleType, "STRING": types.StringType,
		"BYTES": types.BytesType, "DATE": types.DateType}
	if t, ok := simple[n.Name]; ok {
		return t, most(0)
	}
	switch n.Name {
	case "DECIMAL":
		p, s := param(0, 10), param(1, 0)
		if p < 1 || p > types.MaxDecimalPrecision || s < 0 || s > p {
			return bad("DECIMAL(%d, %d): the precision is 1 to 38, the scale 0 to the precision", p, s)
		}
		return types.DecimalOf(p, s), most(2)
	case "CHAR", "VARCHAR", "BINARY", "VARBINARY":
		def := 1
		if n.Name == "VARCHAR" || n.Name == "VARBINARY" {
			def = types.MaxLength // STRING and BYTES (measured)
		}
		l := param(0, def)
		if l < 1 || l > types.MaxLength {
			return bad("%s(%d): the length is 1 to %d", n.Name, l, types.MaxLength)
		}
		make := map[string]func(int) types.Type{"CHAR": types.CharOf, "VARCHAR": types.VarCharOf, "BINARY": types.BinaryOf, "VARBINARY": types.VarBinaryOf}
		return make[n.Name](l), most(1)
	case "TIME", "TIMESTAMP", "TIMESTAMP_LTZ":
		def := 6
		if n.Name == "TIME" {
			def = 0
		}
		p := param(0, def)
		if p < 0 || p > 9 {
			return bad("%s(%d): the precision is 0 to 9", n.Name, p)
		}
		make := map[string]func(int) types.Type{"TIME": types.TimeOf, "TIMESTAMP": types.TimestampOf, "TIMESTAMP_LTZ": types.TimestampLTZOf}
		return make[n.Name](p), most(1)
	case "ARRAY", "MULTISET":
		e, err := typeOf(n.Elem)
		if err != nil {
			return e, err
		}
		if n.Name == "ARRAY" {
			return types.ArrayOf(e), nil
		}
		return types.MultisetOf(e), nil
	case "MAP":
		k, err := typeOf(n.Key)
		if err != nil {
			return k, err
		}
		v, err := typeOf(n.Elem)
		return types.MapOf(k, v), err
	case "ROW":
		fs := make([]types.Field, 0, len(n.Fields))
		seen := map[string]bool{}
		for _, f := range n.Fields {
			ft, err := typeOf(f.Type)
			if err != nil {
				return ft, err
			}
			if seen[f.Name.Name] {
				return types.Type{}, logical.Errorf(&f.Name, logical.CodeDuplicateName, "", "field '%s' is there twice", f.Name.Name)
			}
			seen[f.Name.Name] = true
			fs = append(fs, types.Field{Name: f.Name.Name, Type: ft})
		}
		return types.RowOf(fs...), nil
	}
	if n.Interval != nil {
		q := n.Interval
		if q.From == "YEAR" || q.From == "MONTH" {
			return types.YearMonthType, nil
		}
		return types.DayTimeType, nil
	}
	if f, ok := unsupportedTypes[n.Name]; ok {
		return types.Type{}, unsupported(n, f)
	}
	return bad("type %s does not exist", n.Name)
}

// unitMicros has the length of day-time units.
var unitMicros = map[string]int64{"WEEK": 7 * types.MicrosPerDay, "DAY": types.MicrosPerDay, "HOUR": types.MicrosPerHour, "MINUTE": types.MicrosPerMinute,
	"SECOND": types.MicrosPerSecond, "MILLISECOND": types.MicrosPerMilli, "MICROSECOND": 1}

var unitMonths = map[string]int64{"YEAR": 12, "QUARTER": 3, "MONTH": 1}

// dayTimeUnits in falling order: a range takes a run of them.
var dayTimeUnits = []string{"DAY", "HOUR", "MINUTE", "SECOND"}

// interval reads an interval literal.
func interval(e *ast.Interval) (logical.Expr, error) {
	q := e.Qualifier
	bad := func(why string) error {
		return logical.Errorf(e, logical.CodeConstant, "examples: INTERVAL '10' MINUTE, INTERVAL '1 12:30:00' DAY TO SECOND, INTERVAL '1-6' YEAR TO MONTH",
			"interval '%s' cannot be read as %s: %s", e.Value, units(q), why)
	}
	text := strings.TrimSpace(e.Value)
	neg := e.Negative
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		neg, text = !neg, rest
	} else {
		text = strings.TrimPrefix(text, "+")
	}
	sign := int64(1)
	if neg {
		sign = -1
	}
	make := func(v any, t types.Type) logical.Expr {
		return &logical.Literal{Value: v, Type: t.NotNull(), Pos: e.Pos()}
	}
	if m, ok := unitMonths[q.From]; ok {
		var months int64
		if q.To == "" {
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil || n < 0 {
				return nil, bad("a whole number is needed")
			}
			months = n * m
		} else {
			y, mo, ok := strings.Cut(text, "-")
			yn, err1 := strconv.ParseInt(y, 10, 32)
			mn, err2 := strconv.ParseInt(mo, 10, 32)
			if !ok || err1 != nil || err2 != nil || mn > 11 {
				return nil, bad("the form is years-months")
			}
			months = 12*yn + mn
		}
		if months > 1<<31-1 {
			return nil, bad("it is too long")
		}
		return make(types.MonthsVal(int32(sign*months)), types.YearMonthType), nil
	}
	us, why := dayTime(text, q)
	if why != "" {
		return nil, bad(why)
	}
	return make(types.DurationVal(sign*us), types.DayTimeType), nil
}

func units(q ast.IntervalQualifier) string {
	if q.To == "" {
		return q.From
	}
	return q.From + " TO " + q.To
}

// dayTime reads `1 02:03:04.5` and parts of it.
func dayTime(text string, q ast.IntervalQualifier) (us int64, why string) {
	to := q.To
	if to == "" {
		to = q.From
	}
	if q.From == to {
		return single(text, q.From)
	}
	first, last := index(dayTimeUnits, q.From), index(dayTimeUnits, to)
	if first < 0 || last < first {
		return 0, "there is no such range of units"
	}
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ':' || r == ' ' })
	if q.From == "DAY" {
		if !strings.Contains(text, " ") {
			return 0, "days and time are separated by a blank"
		}
	}
	if len(fields) != last-first+1 {
		return 0, fmt.Sprintf("%d parts are needed", last-first+1)
	}
	for i, f := range fields {
		v, w := single(f, dayTimeUnits[first+i])
		if w != "" {
			return 0, w
		}
		if i > 0 {
			limit := map[string]int64{"HOUR": 24, "MINUTE": 60, "SECOND": 60}[dayTimeUnits[first+i]]
			if v >= limit*unitMicros[dayTimeUnits[first+i]] {
				return 0, fmt.Sprintf("%s is out of range", f)
			}
		}
		us += v
	}
	return us, ""
}

func index(list []string, s string) int {
	for i, x := range list {
		if x == s {
			return i
		}
	}
	return -1
}

// single reads one number of a unit; seconds may have a fraction of up to six digits.
func single(text, unit string) (int64, string) {
	per, ok := unitMicros[unit]
	if !ok {
		return 0, "there is no such unit"
	}
	whole, frac, dot := strings.Cut(text, ".")
	if dot && unit != "SECOND" {
		return 0, "only seconds have a fraction"
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n < 0 || strings.HasPrefix(whole, "+") {
		return 0, "a whole number is needed"
	}
	if n > (1<<62)/per {
		return 0, "it is too long"
	}
	us := n * per
	if dot {
		if len(frac) == 0 || len(frac) > 6 {
			return 0, "a fraction has one to six digits"
		}
		f, err := strconv.ParseInt(frac+strings.Repeat("0", 6-len(frac)), 10, 64)
		if err != nil || f < 0 {
			return 0, "a fraction has digits only"
		}
		us += f
	}
	return us, ""
}
