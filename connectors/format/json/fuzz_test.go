package json

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/types"
)

var fuzzSchema = types.Schema{{Name: "s", Type: types.StringType}}

// FuzzLine compares one line with encoding/json: what is valid, and what the member s is.
func FuzzLine(f *testing.F) {
	for _, s := range []string{`{"s":"a"}`, `{"s":1.50e+2,"x":[{"s":"b"}]}`, `{"s":{"a": [1, true, null]},"s":"last"}`, `{"\u0073":"\ud83d\ude00\ud800"}`, `{"s":"\"\\"}`,
		`{}`, `{ "s" : null , "t" : -0.0 }`, `{"s":01}`, `{"s":"a}`, `{"s":"a"} x`, `{"a":1,"s":[]}`, `{"s":"\u00e9\/\b"}`, `{"s":tru}`, "{\"s\":\"\xff\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.IndexByte(line, '\n') >= 0 || bytes.Count(line, []byte("["))+bytes.Count(line, []byte("{")) > 500 || bytes.HasPrefix(line, bom) {
			return
		}
		r, err := conntest.DecodeText(t, Format{}, connectors.FormatConfig{Columns: fuzzSchema, KeepBad: true}, line, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		trimmed := bytes.Trim(line, " \t\r")
		if len(trimmed) == 0 || string(trimmed) == "null" || trimmed[0] == '[' {
			return // no record, or several
		}
		valid := utf8.Valid(line) && json.Valid(line) && trimmed[0] == '{'
		if !valid {
			// We take control characters in strings, as Flink does.
			control := bytes.ContainsFunc(line, func(r rune) bool { return r < 0x20 })
			if len(r.Rows) != 0 && !control {
				t.Fatalf("%q is no JSON object, but gave %q", line, r.Rows)
			}
			return
		}
		var m map[string]json.RawMessage
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		want := "NULL"
		if raw, ok := m["s"]; ok && string(raw) != "null" {
			var b bytes.Buffer
			if err := json.Compact(&b, raw); err != nil {
				t.Fatal(err)
			}
			want = b.String()
			if raw[0] == '"' {
				if err := json.Unmarshal(raw, &want); err != nil {
					t.Fatal(err)
				}
			}
		}
		if len(r.Rows) != 1 || r.Rows[0] != want {
			t.Fatalf("%q: got %q, want %q; bad %+v", line, r.Rows, want, r.Bad)
		}
	})
}

// FuzzBlocks: whatever the bytes, the rows do not depend on where blocks end, on ignore-parse-errors only bad fields do, and nothing panics.
func FuzzBlocks(f *testing.F) {
	f.Add([]byte("{\"i\":1,\"a\":[\"x\"],\"m\":{\"k\":1},\"r\":{\"t\":\"2024-05-01 10:00:00\"}}\n{\"i\":\"2\"}\n"), uint8(5))
	f.Add([]byte("\xef\xbb\xbf{\"i\":1,\"i\":2.5}\r\n\n[{\"i\":1},{\"i\":\"x\"}]\n{\"i\":\"a\n{\"s\":\"b\"}"), uint8(1))
	s := types.Schema{
		{Name: "i", Type: types.BigIntType}, {Name: "d", Type: types.DoubleType}, {Name: "s", Type: types.StringType}, {Name: "n", Type: types.DecimalOf(5, 2)},
		{Name: "t", Type: types.TimestampOf(3)}, {Name: "b", Type: types.BooleanType}, {Name: "a", Type: types.ArrayOf(types.StringType)},
		{Name: "m", Type: types.MapOf(types.StringType, types.IntType)},
		{Name: "r", Type: types.RowOf(types.Field{Name: "t", Type: types.TimestampLTZOf(3)}, types.Field{Name: "a", Type: types.ArrayOf(types.IntType)})},
	}
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > 500 {
			return
		}
		for _, c := range []connectors.FormatConfig{{Columns: s, KeepBad: true}, {Columns: s, Options: map[string]string{"ignore-parse-errors": "true"}}} {
			whole, err := conntest.DecodeText(t, Format{}, c, data, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			parts, err := conntest.DecodeText(t, Format{}, c, data, int(size)+1)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := fmt.Sprintf("%+v", whole), fmt.Sprintf("%+v", parts); a != b {
				t.Fatalf("blocks of %d:\n%s\nwhole:\n%s", int(size)+1, b, a)
			}
		}
	})
}

// FuzzRoundTrip: what the encoder writes the decoder reads back, and encoding/json takes it.
func FuzzRoundTrip(f *testing.F) {
	f.Add("a\"b\\c\n\x00\u2028😀", 1.5, int64(-7))
	f.Fuzz(func(t *testing.T, text string, d float64, i int64) {
		if !utf8.ValidString(text) {
			return
		}
		s := types.Schema{{Name: "s\"", Type: types.StringType}, {Name: "d", Type: types.DoubleType}, {Name: "i", Type: types.BigIntType},
			{Name: "m", Type: types.MapOf(types.StringType, types.StringType)}, {Name: "n", Type: types.DecimalOf(38, 20)}}
		row := []any{text, d, i, types.MapVal{{Key: text, Val: text}}, types.DecOf(i, 20)}
		b := array.NewRecordBuilder(memory.DefaultAllocator, s.Arrow())
		for k, v := range row {
			if err := types.Append(b.Field(k), v, s[k].Type); err != nil {
				t.Fatal(err)
			}
		}
		c := connectors.FormatConfig{Columns: s}
		enc, err := Format{}.Encoder(c)
		if err != nil {
			t.Fatal(err)
		}
		out, err := enc.Encode(nil, b.NewRecordBatch(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(out) {
			t.Fatalf("not JSON: %s", out)
		}
		r, err := conntest.DecodeText(t, Format{}, c, out, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for k, v := range row {
			want = append(want, types.Display(v, s[k].Type, nil))
		}
		if len(r.Rows) != 1 || r.Rows[0] != strings.Join(want, "|") {
			t.Fatalf("got %q, want %q (%s)", r.Rows, want, out)
		}
	})
}
