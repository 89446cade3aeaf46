package json

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/types"
)

var sizes = []int{1, 7, 64, 1 << 20}

// read decodes at all block sizes and wants the same from each.
func read(t *testing.T, s types.Schema, options map[string]string, data string) (conntest.Read, error) {
	t.Helper()
	c := connectors.FormatConfig{Table: "t", Columns: s, Options: options}
	first, err := conntest.DecodeText(t, Format{}, c, []byte(data), sizes[len(sizes)-1])
	for _, size := range sizes {
		r, err2 := conntest.DecodeText(t, Format{}, c, []byte(data), size)
		if fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("block size %d: error %v, else %v", size, err2, err)
		}
		if err == nil && fmt.Sprintf("%+v", r) != fmt.Sprintf("%+v", first) {
			t.Fatalf("block size %d differs:\n%+v\n%+v", size, r, first)
		}
	}
	return first, err
}

func row(fields ...types.Field) types.Type { return types.RowOf(fields...) }

// TestValues: the values of single members. Expected ERR is a bad record. The rows marked F are what Flink 2.3 gave.
func TestValues(t *testing.T) {
	xy := row(types.Field{Name: "x", Type: types.IntType}, types.Field{Name: "y", Type: types.StringType})
	for _, tt := range []struct {
		typ   types.Type
		value string
		want  string
	}{
		{types.IntType, `1.9`, "1"},            // F
		{types.IntType, `"1.9"`, "ERR"},        // F
		{types.IntType, `" 12 "`, "12"},        // F
		{types.IntType, `3000000000`, "ERR"},   // F
		{types.IntType, `"3000000000"`, "ERR"}, // F
		{types.IntType, `1e2`, "100"},          // F
		{types.IntType, `true`, "ERR"},         // F
		{types.IntType, `""`, "ERR"},           // F
		{types.IntType, `-1.9`, "-1"},          // F
		{types.IntType, `{"a":1}`, "ERR"},      // F
		{types.IntType, `[1]`, "ERR"},          // F
		{types.IntType, `"+5"`, "5"},           // F
		{types.IntType, `"1e2"`, "ERR"},        // F
		{types.IntType, `01`, "ERR"},           // F
		{types.IntType, `+1`, "ERR"},
		{types.IntType, `-`, "ERR"},
		{types.IntType, `1.`, "ERR"},
		{types.IntType, `1e`, "ERR"},
		{types.IntType, `1x`, "ERR"},
		{types.IntType, `null`, "NULL"},
		{types.IntType.NotNull(), `null`, "ERR"},
		{types.BigIntType, `1.9`, "1"},                   // F
		{types.BigIntType, `9223372036854775808`, "ERR"}, // F
		{types.BigIntType, `9223372036854775807`, "9223372036854775807"},
		{types.BigIntType, `-9223372036854775808`, "-9223372036854775808"},
		{types.BigIntType, `9223372036854775807.9`, "9223372036854775807"},
		{types.BigIntType, `1e18`, "1000000000000000000"}, // F
		{types.BigIntType, `1e999999999`, "ERR"},
		{types.BigIntType, `1e-999999999`, "0"},
		{types.TinyIntType, `1.9`, "ERR"},                                   // F
		{types.TinyIntType, `128`, "ERR"},                                   // F
		{types.TinyIntType, `"127"`, "127"},                                 // F
		{types.TinyIntType, `1e1`, "ERR"},                                   // F
		{types.DoubleType, `"1.5"`, "1.5"},                                  // F
		{types.DoubleType, `1e400`, "Infinity"},                             // F
		{types.DoubleType, `"NaN"`, "NaN"},                                  // F
		{types.DoubleType, `" 2.5 "`, "2.5"},                                // F
		{types.DoubleType, `true`, "ERR"},                                   // F
		{types.DoubleType, `"1d"`, "1.0"},                                   // F
		{types.DoubleType, `"0x1p3"`, "8.0"},                                // F
		{types.DoubleType, `""`, "ERR"},                                     // F
		{types.DoubleType, `12345678901234567890`, "1.2345678901234567E19"}, // F
		{types.DoubleType, `NaN`, "ERR"},                                    // F
		{types.DoubleType, `-0.0`, "-0.0"},
		{types.FloatType, `"1.1"`, "1.1"},            // F
		{types.FloatType, `1e39`, "Infinity"},        // F
		{types.FloatType, `16777217`, "1.6777216E7"}, // F
		{types.BooleanType, `"true"`, "TRUE"},        // F
		{types.BooleanType, `" TRUE "`, "TRUE"},      // F
		{types.BooleanType, `1`, "ERR"},              // Flink: FALSE
		{types.BooleanType, `"yes"`, "ERR"},          // Flink: FALSE
		{types.BooleanType, `false`, "FALSE"},
		{types.StringType, `1.50`, "1.50"},                                   // F
		{types.StringType, `1e2`, "1e2"},                                     // F
		{types.StringType, `true`, "true"},                                   // F
		{types.StringType, `{"a": 1, "b":[1, 2]}`, `{"a":1,"b":[1,2]}`},      // F
		{types.StringType, `[1, "x y"]`, `[1,"x y"]`},                        // F
		{types.StringType, `"a` + "\t" + `b"`, "a\tb"},                       // F
		{types.StringType, `100000000000000000000`, "100000000000000000000"}, // F
		{types.StringType, `"\ud83d\ude00"`, "😀"},                            // F
		{types.StringType, `"\ud83d"`, "\ufffd"},                             // Flink: ?
		{types.StringType, `"\ud83d\n\udE00x\/\"\\\b\f\r\u00E9"`, "\ufffd\n\ufffdx/\"\\\b\f\ré"},
		{types.StringType, `"\x"`, "ERR"},
		{types.StringType, `"\u12"`, "ERR"},
		{types.StringType, `"abc`, "ERR"},
		{types.StringType, `'abc'`, "ERR"},
		{types.StringType, "\"\xc3\"", "ERR"},
		{types.VarCharOf(2), `"abc"`, "ERR"},
		{types.CharOf(3), `"ä"`, "ä  "},
		{types.DecimalOf(5, 2), `1.005`, "1.01"},                                          // F
		{types.DecimalOf(5, 2), `"1.005"`, "1.01"},                                        // F
		{types.DecimalOf(5, 2), `1000`, "ERR"},                                            // Flink: NULL
		{types.DecimalOf(5, 2), `999.999`, "ERR"},                                         // Flink: NULL
		{types.DecimalOf(5, 2), `" 1.5 "`, "1.50"},                                        // F
		{types.DecimalOf(5, 2), `1e1`, "10.00"},                                           // F
		{types.DecimalOf(5, 2), `-1.005`, "-1.01"},                                        // F
		{types.DecimalOf(5, 2), `1.00499999999999999999`, "1.00"},                         // F
		{types.DecimalOf(5, 2), `true`, "ERR"},                                            // F
		{types.TimestampOf(3), `"2024-05-01 10:00:00"`, "2024-05-01 10:00:00.000"},        // F
		{types.TimestampOf(3), `"2024-05-01 10:00:00.123456"`, "2024-05-01 10:00:00.123"}, // F
		{types.TimestampOf(3), `"2024-05-01T10:00:00"`, "2024-05-01 10:00:00.000"},        // Flink: bad
		{types.TimestampOf(3), `"2024-05-01"`, "ERR"},                                     // F
		{types.TimestampOf(3), `1714557600`, "ERR"},                                       // F
		{types.TimestampOf(3), `" 2024-05-01 10:00:00"`, "ERR"},                           // F
		{types.TimestampOf(3), `"2024-05-01 10:00:00Z"`, "ERR"},                           // F
		{types.TimestampOf(3), `"2024-02-30 10:00:00"`, "ERR"},                            // Flink: Feb 29
		{types.TimestampOf(3), `"2024-5-1 10:00:00"`, "ERR"},                              // F
		{types.TimestampOf(3), `"2024-05-01 24:00:00"`, "2024-05-02 00:00:00.000"},        // F
		{types.TimestampOf(3), `"2024-05-01 10:00:00."`, "2024-05-01 10:00:00.000"},       // F
		{types.TimestampLTZOf(3), `"2024-05-01 10:00:00Z"`, "2024-05-01 10:00:00.000"},    // F
		{types.TimestampLTZOf(3), `"2024-05-01 10:00:00.5Z"`, "2024-05-01 10:00:00.500"},  // F
		{types.TimestampLTZOf(3), `"2024-05-01 10:00:00"`, "ERR"},                         // F
		{types.TimestampLTZOf(3), `"2024-05-01T12:00:00+02:00"`, "2024-05-01 10:00:00.000"},
		{types.DateType, `"2024-02-30"`, "ERR"},                        // F
		{types.DateType, `"2024-05-01"`, "2024-05-01"},                 // F
		{types.DateType, `19000`, "ERR"},                               // F
		{types.DateType, `" 2024-05-01"`, "ERR"},                       // F
		{types.DateType, `"2024-05-01 10:00:00"`, "ERR"},               // F
		{types.TimeOf(0), `"10:00:00"`, "10:00:00"},                    // F
		{types.TimeOf(0), `"10:00:00.123"`, "10:00:00"},                // F
		{types.TimeOf(0), `36000`, "ERR"},                              // F
		{types.BytesType, `"aGk="`, "x'6869'"},                         // F
		{types.BytesType, `"hi!"`, "ERR"},                              // F
		{types.BytesType, `1`, "ERR"},                                  // F
		{types.ArrayOf(types.IntType), `[1,2.9,null]`, "[1, 2, NULL]"}, // F
		{types.ArrayOf(types.IntType), `1`, "ERR"},                     // F
		{types.ArrayOf(types.IntType), `"[1]"`, "ERR"},                 // F
		{types.ArrayOf(types.IntType), `[]`, "[]"},                     // F
		{types.ArrayOf(types.IntType), `[1,]`, "ERR"},
		{types.ArrayOf(types.IntType), `[1 2]`, "ERR"},
		{types.ArrayOf(types.ArrayOf(types.StringType)), `[["a"],null,[]]`, "[[a], NULL, []]"},
		{types.MapOf(types.StringType, types.IntType), `{"a":1,"a":2,"b":null}`, "{a=2, b=NULL}"}, // F
		{types.MapOf(types.StringType, types.IntType), `[]`, "ERR"},                               // F
		{types.MapOf(types.StringType, types.IntType), `{}`, "{}"},
		{types.MapOf(types.StringType, types.MapOf(types.StringType, types.IntType)), `{"a":{"x":1},"b":{"\u0061":2,"a":3}}`, "{a={x=1}, b={a=3}}"},
		{types.MultisetOf(types.StringType), `{"a":2}`, "{a=2}"},
		{xy, `{"x":1,"y":"q","z":3}`, "(1, q)"}, // F
		{xy, `{}`, "(NULL, NULL)"},              // F
		{xy, `{"x":1,"x":2,"y":"a"}`, "(2, a)"}, //
		{xy, `{"y":"a","x":"b"}`, "ERR"},        //
		{xy, `1`, "ERR"},                        // F
		{types.ArrayOf(xy), `[{"x":1},{"y":"b"}]`, "[(1, NULL), (NULL, b)]"},
		{types.DayTimeType, `1500`, "+0 00:00:01.500"},
		{types.YearMonthType, `"14"`, "+1-02"},
	} {
		for _, order := range []string{`{"v":%s,"w":7}`, `{"w":7,"v":%s}`, `{ "x":[{"":null}],"w" :7,	"v":  %s }`} {
			s := types.Schema{{Name: "v", Type: tt.typ}, {Name: "w", Type: types.IntType}}
			line := fmt.Sprintf(order, tt.value)
			r, err := read(t, s, nil, line+"\n"+line)
			if tt.want == "ERR" {
				if err == nil {
					t.Errorf("%s %s: got %q, want an error", tt.typ, line, r.Rows)
				} else if !strings.HasPrefix(err.Error(), "f:1: ") {
					t.Errorf("%s %s: no place in %v", tt.typ, line, err)
				}
				continue
			}
			if err != nil || len(r.Rows) != 2 || r.Rows[0] != tt.want+"|7" || r.Rows[1] != r.Rows[0] {
				t.Errorf("%s %s: got %q, %v, want %q", tt.typ, line, r.Rows, err, tt.want)
			}
		}
	}
}

// TestFM04 is case FM-04: duplicate members, names that differ in case, missing and null parents.
func TestFM04(t *testing.T) {
	s := types.Schema{{Name: "v", Type: types.IntType}, {Name: "u", Type: row(types.Field{Name: "id", Type: types.IntType})}}
	r, err := read(t, s, nil, `{"v":1,"v":2}
{"V":9,"v":3}
{"v":3,"V":9}
{"u":{"id":5}}
{"u":null}
{}
{"u":{}}
`)
	if err != nil {
		t.Fatal(err)
	}
	conntest.Equal(t, r.Rows, []string{"2|NULL", "3|NULL", "3|NULL", "NULL|(5)", "NULL|NULL", "NULL|NULL", "NULL|(NULL)"})
}

func TestDocuments(t *testing.T) {
	s := types.Schema{{Name: "i", Type: types.IntType}, {Name: "s", Type: types.StringType}}
	for _, tt := range []struct {
		name    string
		options map[string]string
		data    string
		rows    []string
		err     string
	}{
		{"blank and null lines", nil, "\n{\"i\":1}\n  \nnull\n{\"i\":2}\r\n\r\n", []string{"1|NULL", "2|NULL"}, ""},
		{"byte order mark", nil, "\xef\xbb\xbf{\"i\":1}\n", []string{"1|NULL"}, ""},
		{"array", nil, `[{"i":1}, {"i":2}]` + "\n[]\n", []string{"1|NULL", "2|NULL"}, ""},
		{"array of numbers", nil, "[1]\n", nil, "f:1: an array at the top must have objects as elements at column 2: 1]"},
		{"array over lines", nil, "[\n{\"i\":1},\n{\"i\":2}\n]\n", nil, "f:1: a document must be on one line: write one object per line"},
		{"object over lines", nil, "{\n\"i\":1}\n", nil, "f:1: a name in quotes was expected, but the line ends"},
		{"line end in a string", nil, "{\"i\":1,\"s\":\"a\nb\"}\n", nil, "f:1: a quote is not closed"},
		{"two strings over lines", nil, "{\"i\":1,\"s\":\"a\n{\"i\":2,\"s\":\"b\"}\n", nil, "f:1: a quote is not closed"},
		{"text behind", nil, "{\"i\":1} x\n", nil, "f:1: there is text behind the document at column 9: x"},
		{"two documents", nil, "{\"i\":1}{\"i\":2}\n", nil, "f:1: there is text behind"},
		{"number", nil, "1\n", nil, "f:1: a JSON object was expected"},
		{"comma", nil, "{\"i\":1,}\n", nil, "f:1: a name in quotes was expected at column 8: }"},
		{"escaped name", nil, "{\"\\u0069\":1}\n", []string{"1|NULL"}, ""},
		{"skipped values are checked", nil, "{\"i\":1,\"z\":{\"a\":[1,tru]}}\n", nil, "f:1: a value was expected"},
		{"missing", map[string]string{"fail-on-missing-field": "true"}, "{\"i\":1}\n", nil, "f:1: s: the member is missing"},
		{"ignore", map[string]string{"ignore-parse-errors": "true"}, "{\"i\":1,\"i\":\"bad\",\"s\":\"a\"}\nnope\n{\"i\":\n{\"i\":2}\n[{\"i\":3},4]\n", []string{"NULL|a", "2|NULL"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := read(t, s, tt.options, tt.data)
			if tt.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.err) {
					t.Fatalf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			conntest.Equal(t, r.Rows, tt.rows)
			if tt.name == "ignore" {
				var bad []string
				for _, b := range r.Bad {
					bad = append(bad, fmt.Sprintf("%d %s row %d kept %v: %s", b.Position, b.Raw, b.Row, b.Kept, b.Err))
				}
				conntest.Equal(t, bad, []string{
					`1 {"i":1,"i":"bad","s":"a"} row 0 kept true: i: 'bad' is not an INT`,
					"2 nope row 1 kept false: a value was expected at column 1: nope",
					`3 {"i": row 1 kept false: a value was expected, but the line ends (a document must be on one line)`,
					`5 [{"i":3},4] row 2 kept false: an array at the top must have objects as elements at column 10: 4]`,
				})
			}
		})
	}
}

// TestIgnoreNested: with ignore-parse-errors only the innermost value is NULL, as in Flink 2.3.
func TestIgnoreNested(t *testing.T) {
	s := types.Schema{
		{Name: "a", Type: types.ArrayOf(types.IntType)},
		{Name: "m", Type: types.MapOf(types.StringType, types.IntType)},
		{Name: "r", Type: row(types.Field{Name: "x", Type: types.IntType})},
	}
	r, err := read(t, s, map[string]string{"ignore-parse-errors": "true"}, `{"a":[1,"x"],"m":{"x":"y"},"r":{"x":"bad"}}`+"\n"+`{"a":[1],"m":{"x":1},"r":{"x":1}}`+"\n")
	if err != nil {
		t.Fatal(err)
	}
	conntest.Equal(t, r.Rows, []string{"[1, NULL]|{x=NULL}|(NULL)", "[1]|{x=1}|(1)"})
	if len(r.Bad) != 1 || !r.Bad[0].Kept || r.Bad[0].Err != "a: 'x' is not an INT" {
		t.Fatalf("%+v", r.Bad)
	}
}
