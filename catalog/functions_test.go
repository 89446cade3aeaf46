package catalog

import (
	"strconv"
	"strings"
	"testing"

	"github.com/weir-sql/weir/types"
)

// columns has the types of the arguments in flinkSignatures.
var columns = map[string]types.Type{
	"ti": types.TinyIntType, "si": types.SmallIntType, "i": types.IntType, "l": types.BigIntType, "f": types.FloatType, "d": types.DoubleType,
	"de": types.DecimalOf(10, 2), "s": types.StringType, "c": types.CharOf(3), "vc": types.VarCharOf(10), "b": types.BooleanType, "dt": types.DateType,
	"tm": types.TimeOf(0), "ts0": types.TimestampOf(0), "ts": types.TimestampOf(3), "ts6": types.TimestampOf(6), "ts9": types.TimestampOf(9),
	"lz": types.TimestampLTZOf(3), "lz6": types.TimestampLTZOf(6), "bi": types.BytesType, "b4": types.BinaryOf(4), "ai": types.ArrayOf(types.IntType),
	"as_": types.ArrayOf(types.StringType), "msi": types.MapOf(types.StringType, types.IntType), "mu": types.MultisetOf(types.StringType),
}

// argument gives the type of an argument and its value when it is a literal.
func argument(t *testing.T, s string) (types.Type, any) {
	t.Helper()
	if typ, ok := columns[s]; ok {
		return typ, nil
	}
	if typ, ok := columns[strings.TrimPrefix(s, "n")]; ok {
		return typ.NotNull(), nil
	}
	switch s {
	case "NULL":
		return types.NullType, nil
	case "TRUE", "FALSE":
		return types.BooleanType.NotNull(), s == "TRUE"
	case "ym":
		return types.YearMonthType.NotNull(), nil
	case "dy":
		return types.DayTimeType.NotNull(), nil
	}
	if strings.HasPrefix(s, "'") {
		v := strings.Trim(s, "'")
		return types.CharOf(len(v)).NotNull(), v
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("argument %s", s)
	}
	return types.IntType.NotNull(), int32(n)
}

// differs lists the calls that we answer otherwise than Flink, and why.
var differs = map[string]string{
	"= i s":                "Flink refuses it when the query runs",
	"+ 1 NULL":             "we take a bare NULL",
	"/ dy 2":               "Flink refuses it when the query runs",
	"< ai ai":              "arrays have no order: Flink fails when the query runs",
	"GREATEST dt ts":       "Flink fails when the query runs",
	"YEAR tm":              "Flink fails when the query runs",
	"EXTRACT DAY tm":       "Flink fails when the query runs",
	"FLOOR MICROSECOND ts": "nothing to cut",
}

func TestFlinkSignatures(t *testing.T) {
	for _, tt := range flinkSignatures {
		c := Call{Name: tt.name}
		if tt.units != "" {
			c.Units = []string{tt.units}
		}
		for _, a := range tt.args {
			typ, v := argument(t, a)
			c.Args = append(c.Args, typ)
			c.Literals = append(c.Literals, v)
		}
		key := strings.Join(strings.Fields(tt.name+" "+tt.units+" "+strings.Join(tt.args, " ")), " ")
		f := LookupFunction(tt.name, Scalar)
		got := "error"
		var err error
		if f != nil {
			var s Signature
			if s, err = f.Resolve(c); err == nil {
				got = s.Result.String()
				if len(s.Args) != len(c.Args) {
					t.Errorf("%s: %d argument types for %d arguments", key, len(s.Args), len(c.Args))
				}
			}
		}
		want := tt.want
		// Flink prints intervals by their unit.
		if strings.HasPrefix(want, "INTERVAL SECOND(3)") {
			want = strings.Replace(want, "INTERVAL SECOND(3)", types.DayTimeType.String(), 1)
		}
		if strings.HasPrefix(want, "INTERVAL MONTH") {
			want = strings.Replace(want, "INTERVAL MONTH", types.YearMonthType.String(), 1)
		}
		why, listed := differs[key]
		switch {
		case got != want && !listed:
			t.Errorf("%s: got %s (%v), Flink has %s", key, got, err, want)
		case got == want && listed:
			t.Errorf("%s is listed as different (%s), but is not", key, why)
		}
	}
}

func TestFunctionsAreDocumented(t *testing.T) {
	for _, f := range Functions() {
		if f.Group == "" || f.Syntax == "" || f.Doc == "" || f.Resolve == nil {
			t.Errorf("%s lacks a group, a syntax, a sentence or its signature", f.Name)
		}
		if !strings.HasSuffix(f.Doc, ".") {
			t.Errorf("%s: %q is no sentence", f.Name, f.Doc)
		}
	}
}

// No call may make a signature panic, whatever its arguments.
func TestResolveNeverPanics(t *testing.T) {
	all := []types.Type{types.NullType, types.YearMonthType, types.DayTimeType, types.RowOf(types.Field{Name: "a", Type: types.IntType})}
	for _, c := range columns {
		all = append(all, c)
	}
	for _, f := range Functions() {
		for _, u := range [][]string{nil, {"DAY"}, {"YEAR"}, {"NONSENSE"}} {
			for n := 0; n <= 4; n++ {
				for i, a := range all {
					c := Call{Name: f.Name, Units: u, Literals: make([]any, n)}
					for k := range n {
						c.Args = append(c.Args, all[(i+k*k)%len(all)])
					}
					if n > 0 {
						c.Args[0] = a
					}
					s, err := f.Resolve(c)
					if err == nil && f.Kind == Scalar && len(s.Args) != n {
						t.Fatalf("%s%v: %d argument types", f.Name, c.Args, len(s.Args))
					}
				}
			}
		}
	}
}
