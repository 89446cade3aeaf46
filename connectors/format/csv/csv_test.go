package csv

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/types"
)

func schemaOf(ts ...types.Type) types.Schema {
	var s types.Schema
	for i, t := range ts {
		s = append(s, types.Column{Name: fmt.Sprintf("c%d", i), Type: t})
	}
	return s
}

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

// TestCells: the values of single cells. Expected ERR is a bad record. The rows marked F are what Flink 2.3 gave.
func TestCells(t *testing.T) {
	null := map[string]string{"null-literal": "N"}
	for _, tt := range []struct {
		typ     types.Type
		options map[string]string
		cell    string
		want    string
	}{
		{types.IntType, null, "1", "1"},                                                       // F
		{types.IntType, null, " 1 ", "1"},                                                     // F
		{types.IntType, null, "+5", "5"},                                                      // F
		{types.IntType, null, "1.9", "ERR"},                                                   // F
		{types.IntType, null, "", "ERR"},                                                      // F
		{types.IntType, null, "1e2", "ERR"},                                                   // F
		{types.IntType, null, "2147483648", "ERR"},                                            //
		{types.BigIntType, null, "-9223372036854775808", "-9223372036854775808"},              //
		{types.BigIntType, null, "9223372036854775808", "ERR"},                                //
		{types.BigIntType, nil, "-7", "-7"},                                                   //
		{types.BigIntType, nil, "-", "ERR"},                                                   //
		{types.BigIntType, nil, "0000000000000000000000012", "12"},                            //
		{types.TinyIntType, nil, "-129", "ERR"},                                               //
		{types.SmallIntType, nil, "-32768", "-32768"},                                         //
		{types.DoubleType, null, "1.5", "1.5"},                                                // F
		{types.DoubleType, null, " 1.5 ", "1.5"},                                              // F
		{types.DoubleType, null, "NaN", "NaN"},                                                // F
		{types.DoubleType, null, "1d", "1.0"},                                                 // F
		{types.DoubleType, null, "1e400", "Infinity"},                                         // F
		{types.DoubleType, null, "", "ERR"},                                                   // F
		{types.DoubleType, nil, "-0.1", "-0.1"},                                               //
		{types.DoubleType, nil, "0.30000000000000004", "0.30000000000000004"},                 //
		{types.FloatType, nil, "0.1", "0.1"},                                                  //
		{types.BooleanType, null, "true", "TRUE"},                                             // F
		{types.BooleanType, null, "TRUE", "TRUE"},                                             // F
		{types.BooleanType, null, " true ", "TRUE"},                                           // F
		{types.BooleanType, null, "FALSE", "FALSE"},                                           // F
		{types.BooleanType, null, "t", "ERR"},                                                 // Flink: FALSE
		{types.BooleanType, null, "yes", "ERR"},                                               // Flink: FALSE
		{types.BooleanType, null, "1", "ERR"},                                                 // Flink: FALSE
		{types.StringType, null, " a ", " a "},                                                // F
		{types.StringType, null, `"q""q"`, `q"q`},                                             // F
		{types.StringType, null, `a"b`, `a"b`},                                                // F
		{types.StringType, null, "", ""},                                                      // F
		{types.StringType, null, ` "x"`, ` "x"`},                                              // F
		{types.StringType, null, `"x" `, "x"},                                                 // F
		{types.StringType, null, `a\nb`, `a\nb`},                                              // F
		{types.StringType, null, `""`, ""},                                                    // F
		{types.StringType, null, "N", "NULL"},                                                 // F
		{types.StringType, null, `"N"`, "N"},                                                  // Flink: NULL
		{types.StringType, nil, "", "NULL"},                                                   // Flink: ''
		{types.StringType, nil, `""`, ""},                                                     //
		{types.StringType, nil, `"a` + "\r\n" + `b"`, "a\r\nb"},                               //
		{types.StringType, nil, `"x"y`, "ERR"},                                                //
		{types.StringType, nil, "\xff", "ERR"},                                                //
		{types.VarCharOf(2), nil, "äö", "äö"},                                                 //
		{types.VarCharOf(2), nil, "abc", "ERR"},                                               //
		{types.CharOf(3), nil, "ä", "ä  "},                                                    //
		{types.DecimalOf(5, 2), null, "1.005", "1.01"},                                        // F
		{types.DecimalOf(5, 2), null, " 1.5 ", "ERR"},                                         // F
		{types.DecimalOf(5, 2), null, "1000", "ERR"},                                          // Flink: NULL
		{types.DecimalOf(5, 2), null, "1e1", "10.00"},                                         // F
		{types.TimestampOf(3), null, "2024-05-01 10:00:00", "2024-05-01 10:00:00.000"},        // F
		{types.TimestampOf(3), null, "2024-05-01 10:00:00.123456", "2024-05-01 10:00:00.123"}, // F
		{types.TimestampOf(6), null, "2024-05-01 10:00:00.123456", "2024-05-01 10:00:00.123456"},
		{types.TimestampOf(9), null, "2024-05-01 10:00:00.123456789", "2024-05-01 10:00:00.123456789"},
		{types.TimestampOf(3), null, "2024-05-01T10:00:00", "2024-05-01 10:00:00.000"},     // Flink: bad
		{types.TimestampOf(3), null, " 2024-05-01 10:00:00", "2024-05-01 10:00:00.000"},    // F
		{types.TimestampOf(3), null, "2024-05-01", "ERR"},                                  // F
		{types.TimestampOf(3), null, "2024-02-30 10:00:00", "ERR"},                         // Flink: Feb 29
		{types.TimestampOf(3), null, "2024-05-01 10:00:00Z", "ERR"},                        //
		{types.TimestampLTZOf(3), null, "2024-05-01 10:00:00Z", "2024-05-01 10:00:00.000"}, // F
		{types.TimestampLTZOf(3), null, "2024-05-01 10:00:00", "ERR"},                      // F
		{types.TimestampLTZOf(3), null, "2024-05-01T12:00:00+02:00", "2024-05-01 10:00:00.000"},
		{types.DateType, null, "2024-05-01", "2024-05-01"},          // F
		{types.DateType, null, "2024-5-1", "2024-05-01"},            // F
		{types.DateType, null, " 2024-05-01", "ERR"},                // F
		{types.DateType, null, "20240501", "ERR"},                   // F
		{types.DateType, null, "2024-02-30", "ERR"},                 // Flink: Mar 1
		{types.TimeOf(0), null, "10:00", "10:00:00"},                // F
		{types.TimeOf(0), null, "10:00:00", "10:00:00"},             // F
		{types.TimeOf(0), null, "10:00:00.5", "10:00:00"},           // F
		{types.BytesType, null, "aGk=", "x'6869'"},                  // F
		{types.BytesType, null, "hi!", "ERR"},                       // F
		{types.ArrayOf(types.IntType), null, "1;2;3", "[1, 2, 3]"},  // F
		{types.ArrayOf(types.IntType), null, "1", "[1]"},            // F
		{types.ArrayOf(types.IntType), null, "", "[]"},              // F
		{types.ArrayOf(types.IntType), nil, "1;;3", "[1, NULL, 3]"}, // F
		{types.ArrayOf(types.IntType), nil, "1;", "[1, NULL]"},      //
		{types.ArrayOf(types.IntType), nil, "", "NULL"},             // Flink: []
		{types.RowOf(types.Field{Name: "x", Type: types.IntType}, types.Field{Name: "y", Type: types.StringType}), null, "1;q", "(1, q)"}, // F
		{types.RowOf(types.Field{Name: "x", Type: types.IntType}, types.Field{Name: "y", Type: types.StringType}), null, "1", "ERR"},
	} {
		// As the first and as the last of two columns: both ways of the scanner.
		for _, last := range []bool{false, true} {
			s := schemaOf(tt.typ, types.IntType)
			line := tt.cell + ",7\n"
			want := tt.want + "|7"
			if last {
				s = schemaOf(types.IntType, tt.typ)
				line = "7," + tt.cell + "\n"
				want = "7|" + tt.want
			}
			r, err := read(t, s, tt.options, line)
			if tt.want == "ERR" {
				if err == nil {
					t.Errorf("%s %q: got %q, want an error", tt.typ, line, r.Rows)
				}
				continue
			}
			if err != nil || len(r.Rows) != 1 || r.Rows[0] != want {
				t.Errorf("%s %q: got %q, %v, want %q", tt.typ, line, r.Rows, err, want)
			}
		}
	}
}

// TestFM06 is case FM-06: byte order mark before a quoted header, CR LF, line ends inside of quotes, no line end at the end.
func TestFM06(t *testing.T) {
	data := "\xef\xbb\xbf\"id\",\"name\"\r\n1,\"a,b\"\r\n2,\"x\r\ny\"\r\n3,z"
	s := types.Schema{{Name: "id", Type: types.IntType}, {Name: "name", Type: types.StringType}}
	r, err := read(t, s, map[string]string{"header": "true"}, data)
	if err != nil {
		t.Fatal(err)
	}
	conntest.Equal(t, r.Rows, []string{"1|a,b", "2|x\r\ny", "3|z"})

	// The third record begins at line 5.
	_, err = read(t, s, map[string]string{"header": "true"}, strings.Replace(data, "3,z", "q,z", 1))
	if err == nil || !strings.HasPrefix(err.Error(), "f:5: column id: 'q' is not an INT") {
		t.Fatalf("got %v", err)
	}
}

// TestHeaderNotDeclared: who forgot 'csv.header' is told.
func TestHeaderNotDeclared(t *testing.T) {
	s := types.Schema{{Name: "id", Type: types.IntType}, {Name: "name", Type: types.StringType}}
	const hint = "'csv.header' = 'true'"
	for data, want := range map[string]bool{"ID,name\n1,a\n": true, "1,a\nid,name\n": false, "x,name\n1,a\n": false} {
		if _, err := read(t, s, nil, data); err == nil || strings.Contains(err.Error(), hint) != want {
			t.Errorf("%q: %v", data, err)
		}
	}
}

func TestRecords(t *testing.T) {
	two := schemaOf(types.IntType, types.StringType)
	for _, tt := range []struct {
		name    string
		s       types.Schema
		options map[string]string
		data    string
		rows    []string
		err     string
	}{
		{"too few", two, nil, "1,a\n2\n3,c\n", nil, "f:2: 1 cell, but 2 columns"},
		{"too many", two, nil, "1,a\n2,b,c\n", nil, "f:2: 3 cells, but 2 columns"},
		{"too few, then too many", two, nil, "1\n2,b,c\n", nil, "f:1: 1 cell, but 2 columns"},
		{"blank line", two, nil, "1,a\n\n2,b\n", nil, "f:2: a blank line"},
		{"one column", schemaOf(types.StringType), nil, "a\n\nb\n", []string{"a", "NULL", "b"}, ""},
		{"not null", schemaOf(types.IntType.NotNull(), types.StringType), nil, ",a\n", nil, "f:1: column c0: NULL in a column that is NOT NULL"},
		{"tab", two, map[string]string{"field-delimiter": `\t`}, "1\ta,b\n", []string{"1|a,b"}, ""},
		{"comments", two, map[string]string{"allow-comments": "true"}, "# \"x\n1,a\n#\n2,#b\n", []string{"1|a", "2|#b"}, ""},
		{"no comments", two, nil, "# x\n", nil, "f:1: 1 cell, but 2 columns"},
		{"escape", two, map[string]string{"escape-character": `\`}, "1,a\\,b\n2,\"a\\\"b\"\n3,a\\nb\n", []string{"1|a,b", `2|a"b`, "3|a\nb"}, ""},
		{"no quotes", two, map[string]string{"disable-quote-character": "true"}, "1,\"a\n2,b\"\n", []string{`1|"a`, `2|b"`}, ""},
		{"other quotes", two, map[string]string{"quote-character": "'"}, "1,'a,\"b'\n", []string{`1|a,"b`}, ""},
		{"open quote", two, nil, "1,a\n2,\"b\n3,c\n", nil, "f:2: a quote is not closed"},
		{"crlf", two, nil, "1,a\r\n2,\r\n", []string{"1|a", "2|NULL"}, ""},
		{"quote then crlf", two, nil, "1,\"a\"\r\n2,b\r\n", []string{"1|a", "2|b"}, ""},
		{"last without end", two, nil, "1,a\n2,b", []string{"1|a", "2|b"}, ""},
		{"empty file", two, nil, "", nil, ""},
		{"ignore", schemaOf(types.IntType, types.StringType, types.BooleanType), map[string]string{"ignore-parse-errors": "true"},
			"1,a,true\nx,b,yes\n3\n4,d,true,e\n\n6,\"f\"g,true\n7,h,false\n",
			[]string{"1|a|TRUE", "NULL|b|NULL", "3|NULL|NULL", "7|h|FALSE"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := read(t, tt.s, tt.options, tt.data)
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
					"2 x,b,yes row 1 kept true: column c0: 'x' is not an INT",
					"3 3 row 2 kept true: 1 cell, but 3 columns",
					"4 4,d,true,e row 3 kept false: 4 cells, but 3 columns",
					"5  row 3 kept false: a blank line",
					`6 6,"f"g,true row 3 kept false: text behind a closing quote`,
				})
			}
		})
	}
}

func TestHeader(t *testing.T) {
	s := types.Schema{{Name: "b", Type: types.IntType}, {Name: "a", Type: types.StringType}}
	for _, tt := range []struct {
		data string
		rows []string
		err  string
	}{
		{"a,b\nx,1\n", []string{"1|x"}, ""},
		{"a,z,b\nx,?,1\ny,\"q\",\n", []string{"1|x", "NULL|y"}, ""},
		{"a,c\nx,1\n", nil, "the header has no column 'b' (names are compared with case): did you mean 'a'?"},
		{"A,b\nx,1\n", nil, "the header has no column 'a' (names are compared with case): did you mean 'A'?"},
		{"a,b,a\nx,1,y\n", nil, "the header has the column 'a' twice, as number 1 and 3: rename one"},
		{"", nil, "the file is empty: its header line is missing ('csv.header' = 'true')"},
		{"a,b", []string{}, ""},
	} {
		r, err := read(t, s, map[string]string{"header": "true"}, tt.data)
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%q: got %v, want %s", tt.data, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%q: %v", tt.data, err)
		}
		conntest.Equal(t, r.Rows, tt.rows)
	}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		options map[string]string
		typ     types.Type
		want    string
	}{
		{map[string]string{"headr": "true"}, types.IntType, "unknown option 'headr' of format 'csv'; did you mean 'header'?"},
		{map[string]string{"header": "yes"}, types.IntType, "option 'header': 'yes' is not a boolean: write 'true' or 'false'"},
		{map[string]string{"field-delimiter": "ab"}, types.IntType, "option 'csv.field-delimiter': 'ab' is not one ASCII character"},
		{nil, types.MapOf(types.StringType, types.IntType), "table t, column c0: the format 'csv' has no form for MAP<STRING, INT>; the format 'json' has"},
	} {
		err := Format{}.Check(connectors.FormatConfig{Table: "t", Columns: schemaOf(tt.typ), Options: tt.options})
		if err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}
