package csv

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/types"
)

// FuzzRecords compares with encoding/csv what both take. (It turns CR LF in quotes to LF, skips blank lines and stops at the first error.)
func FuzzRecords(f *testing.F) {
	for _, s := range []string{"a,b,c\n", "\"a\"\"b\",\"c\nd\",e\n1,2,3", "1,2\n\n,,\n", "\"x\",,\"\"\n", "a,b,c,d\n"} {
		f.Add([]byte(s))
	}
	s := types.Schema{{Name: "a", Type: types.StringType}, {Name: "b", Type: types.StringType}, {Name: "c", Type: types.StringType}}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.IndexByte(data, '\r') >= 0 || !utf8.Valid(data) || bytes.HasPrefix(data, bom) {
			return
		}
		r := csv.NewReader(bytes.NewReader(data))
		r.FieldsPerRecord = -1
		var want []string
		for {
			rec, err := r.Read()
			if err == io.EOF {
				break
			}
			if err != nil {
				return
			}
			if len(rec) == 3 {
				want = append(want, strings.Join(rec, "|"))
			}
		}
		got, err := conntest.DecodeText(t, Format{}, connectors.FormatConfig{Columns: s, KeepBad: true, Options: map[string]string{"null-literal": "\x01"}}, data, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got.Rows {
			got.Rows[i] = strings.ReplaceAll(got.Rows[i], "NULL", "\x01")
		}
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], "NULL", "\x01")
		}
		conntest.Equal(t, got.Rows, want)
	})
}

// FuzzBlocks: whatever the bytes, rows do not depend on where blocks end, and nothing panics.
func FuzzBlocks(f *testing.F) {
	f.Add([]byte("1,a,2024-05-01 10:00:00\r\n\"2\",\"b\r\nc\",\r\n#x\n,\"\",\n"), uint8(3), uint8(0))
	f.Add([]byte("\xef\xbb\xbfs,i,t\n\"a\\\"b\",1,\nx"), uint8(0), uint8(7))
	f.Fuzz(func(t *testing.T, data []byte, size, flags uint8) {
		s := types.Schema{{Name: "i", Type: types.BigIntType}, {Name: "s", Type: types.StringType}, {Name: "t", Type: types.TimestampOf(3)}}
		options := map[string]string{}
		for i, o := range []string{"allow-comments", "ignore-parse-errors", "header", "disable-quote-character"} {
			if flags>>i&1 != 0 {
				options[o] = "true"
			}
		}
		if flags&16 != 0 {
			options["escape-character"] = `\`
		}
		if flags&32 != 0 {
			s = s[1:2]
		}
		c := connectors.FormatConfig{Columns: s, Options: options, KeepBad: flags&64 != 0}
		whole, err1 := conntest.DecodeText(t, Format{}, c, data, 1<<20)
		parts, err2 := conntest.DecodeText(t, Format{}, c, data, int(size)+1)
		if a, b := fmt.Sprint(err1), fmt.Sprint(err2); a != b {
			t.Fatalf("blocks of %d: %s\nwhole: %s", int(size)+1, b, a)
		}
		if err1 != nil {
			return
		}
		if a, b := fmt.Sprintf("%+v", whole), fmt.Sprintf("%+v", parts); a != b {
			t.Fatalf("blocks of %d:\n%s\nwhole:\n%s", int(size)+1, b, a)
		}
	})
}

// FuzzRoundTrip: what the encoder writes the decoder reads back: NULL, the empty string, quotes, line ends.
func FuzzRoundTrip(f *testing.F) {
	f.Add("a", "", "x\"y,\r\n", uint8(0))
	f.Add("#", "N", "\\", uint8(31))
	f.Fuzz(func(t *testing.T, a, b, c string, flags uint8) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) || !utf8.ValidString(c) || strings.HasPrefix(a, "\ufeff") {
			return
		}
		options := map[string]string{}
		if flags&1 != 0 {
			options["null-literal"] = "N"
		}
		if flags&2 != 0 {
			options["escape-character"] = `\`
		}
		if flags&4 != 0 {
			options["allow-comments"] = "true"
		}
		if flags&8 != 0 {
			options["quote-character"] = "'"
		}
		s := types.Schema{{Name: "a", Type: types.StringType}, {Name: "b", Type: types.StringType}, {Name: "c", Type: types.ArrayOf(types.BigIntType)}}
		rows := [][]any{{a, b, []any{int64(len(a)), nil}}, {nil, c, nil}, {c, nil, []any{int64(-1)}}}
		if flags&16 != 0 {
			s, rows = s[:1], [][]any{{a}, {nil}, {c}}
		}
		bld := array.NewRecordBuilder(memory.DefaultAllocator, s.Arrow())
		var want []string
		for _, r := range rows {
			var cells []string
			for k := range s {
				if err := types.Append(bld.Field(k), r[k], s[k].Type); err != nil {
					t.Fatal(err)
				}
				cells = append(cells, types.Display(r[k], s[k].Type, nil))
			}
			want = append(want, strings.Join(cells, "|"))
		}
		cfg := connectors.FormatConfig{Columns: s, Options: options}
		enc, err := Format{}.Encoder(cfg)
		if err != nil {
			t.Fatal(err)
		}
		out, err := enc.Encode(nil, bld.NewRecordBatch(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1, 1 << 20} {
			r, err := conntest.DecodeText(t, Format{}, cfg, out, size)
			if err != nil {
				t.Fatalf("%v\n%q", err, out)
			}
			conntest.Equal(t, r.Rows, want)
		}
	})
}
