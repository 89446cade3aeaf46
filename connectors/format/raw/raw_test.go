package raw

import (
	"context"
	"strings"
	"testing"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/types"
)

func TestRaw(t *testing.T) {
	for _, tt := range []struct {
		typ     types.Type
		options map[string]string
		data    string
		want    []string
		back    bool // the encoder gives the data again
		err     string
	}{
		{types.StringType, nil, "a b\n\n{\"x\"}\n", []string{"a b", "", `{"x"}`}, true, ""},
		{types.StringType, nil, "a\r\nb", []string{"a", "b"}, false, ""},
		{types.StringType, nil, "a\n\xff\n", nil, false, "f:2: column c: the text is not UTF-8"},
		{types.StringType, map[string]string{"charset": "ISO-8859-1"}, "\xe4\n", []string{"ä"}, true, ""},
		{types.BytesType, nil, "\xff\x00\n", []string{"x'ff00'"}, true, ""},
		{types.IntType, nil, "\x00\x00\x00\x01\xff\xff\xff\xfe", []string{"1", "-2"}, true, ""},
		{types.IntType, map[string]string{"endianness": "little-endian"}, "\x01\x00\x00\x00", []string{"1"}, true, ""},
		{types.SmallIntType, nil, "\x01\x02", []string{"258"}, true, ""},
		{types.TinyIntType, nil, "\xff\n", []string{"-1", "10"}, true, ""},
		{types.BigIntType, nil, "\x7f\xff\xff\xff\xff\xff\xff\xff", []string{"9223372036854775807"}, true, ""},
		{types.BooleanType, nil, "\x01\x00", []string{"TRUE", "FALSE"}, true, ""},
		{types.DoubleType, nil, "\x3f\xf8\x00\x00\x00\x00\x00\x00", []string{"1.5"}, true, ""},
		{types.FloatType, nil, "\x3f\xc0\x00\x00", []string{"1.5"}, true, ""},
		{types.IntType, nil, "\x00\x00\x00\x01\x00", nil, false, "f:2: column c: 1 bytes are left, but INT has 4"},
	} {
		c := connectors.FormatConfig{Table: "t", Columns: types.Schema{{Name: "c", Type: tt.typ}}, Options: tt.options}
		for _, size := range []int{1, 3, 1 << 20} {
			r, err := conntest.DecodeText(t, Format{}, c, []byte(tt.data), size)
			if tt.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.err) {
					t.Errorf("%s %q: got %v, want %s", tt.typ, tt.data, err, tt.err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s %q: %v", tt.typ, tt.data, err)
			}
			conntest.Equal(t, r.Rows, tt.want)
		}
		if !tt.back {
			continue
		}
		env := conntest.NewEnv(t)
		d, err := Format{}.Decoder(connectors.FormatConfig{Table: "t", Columns: c.Columns, Options: tt.options, Wanted: []int{0}})
		if err != nil {
			t.Fatal(err)
		}
		dec, err := d.Decode(context.Background(), []byte(tt.data), connectors.RecordPosition{}, env.Allocator)
		if err != nil {
			t.Fatal(err)
		}
		enc, err := Format{}.Encoder(c)
		if err != nil {
			t.Fatal(err)
		}
		out, err := enc.Encode(nil, dec.Batch.Record, nil)
		if err != nil || string(out) != tt.data {
			t.Errorf("%s %q was written as %q (%v)", tt.typ, tt.data, out, err)
		}
		dec.Batch.Release()
	}
}

func TestCheck(t *testing.T) {
	for want, c := range map[string]connectors.FormatConfig{
		"table t: the format 'raw' needs exactly one column, not 2":                           {Columns: types.Schema{{Name: "a", Type: types.IntType}, {Name: "b", Type: types.IntType}}},
		"table t: the format 'raw' has no form for DATE":                                      {Columns: types.Schema{{Name: "a", Type: types.DateType}}},
		"option 'raw.charset': 'EBCDIC' is not supported; UTF-8, ISO-8859-1 and US-ASCII are": {Columns: types.Schema{{Name: "a", Type: types.StringType}}, Options: map[string]string{"charset": "EBCDIC"}},
		"option 'endianness': 'middle' is not one of big-endian, little-endian":               {Columns: types.Schema{{Name: "a", Type: types.IntType}}, Options: map[string]string{"endianness": "middle"}},
	} {
		c.Table = "t"
		if err := (Format{}).Check(c); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
