package avro

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/ocf"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/types"
)

func cols(nameType ...any) types.Schema {
	var s types.Schema
	for i := 0; i < len(nameType); i += 2 {
		s = append(s, types.Column{Name: nameType[i].(string), Type: nameType[i+1].(types.Type)})
	}
	return s
}

// decode reads messages with a writer's schema; the rows, then a line for each bad record.
func decode(t *testing.T, writer string, columns types.Schema, messages ...[]byte) ([]string, error) {
	t.Helper()
	env := conntest.NewEnv(t)
	s, err := Parse(writer)
	if err != nil {
		t.Fatal(err)
	}
	d := &decoder{own: s, columns: columns, schema: columns.Arrow(), keepBad: true}
	if err := d.init(); err != nil {
		return nil, err
	}
	m := connectors.Messages{Split: "s", Values: messages, Offset: func(i int) int64 { return int64(i) }}
	out, _, err := d.DecodeMessages(context.Background(), m, env.Allocator)
	if err != nil {
		return nil, err
	}
	defer out.Batch.Release()
	rows := conntest.Rows(out.Batch, columns)
	for _, b := range out.Bad {
		rows = append(rows, fmt.Sprintf("bad %d: %s", b.Position, b.Err))
	}
	return rows, nil
}

// TestOracle: what another implementation writes with the derived schema is read, and the other way round.
func TestOracle(t *testing.T) {
	columns := cols("b", types.BooleanType, "ti", types.TinyIntType, "i", types.IntType.NotNull(), "l", types.BigIntType, "f", types.FloatType, "d", types.DoubleType,
		"s", types.StringType, "by", types.BytesType, "dec", types.DecimalOf(20, 3), "dt", types.DateType, "tm", types.TimeOf(3), "ts", types.TimestampOf(6),
		"ltz", types.TimestampLTZOf(3), "a", types.ArrayOf(types.IntType), "m", types.MapOf(types.StringType, types.BigIntType),
		"r", types.RowOf(types.Field{Name: "x", Type: types.IntType}, types.Field{Name: "y", Type: types.StringType.NotNull()}))
	c := conntest.FormatConfig(columns, "timestamp_mapping.legacy=false")
	s, err := Derive(columns, false)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(1969, 12, 31, 23, 59, 59, 999_000_000, time.UTC)
	for _, codec := range []ocf.CodecName{ocf.Null, ocf.Deflate, ocf.Snappy, ocf.ZStandard} {
		var file bytes.Buffer
		e, err := ocf.NewEncoder(Text(s), &file, ocf.WithCodec(codec), ocf.WithBlockLength(2))
		if err != nil {
			t.Fatal(err)
		}
		full := map[string]any{"b": true, "ti": -3, "i": 1, "l": int64(-1 << 62), "f": float32(1.5), "d": -0.25, "s": "é", "by": []byte{0, 255},
			"dec": map[string]any{"bytes.decimal": big.NewRat(-12345678901234567, 1000)}, "dt": map[string]any{"int.date": time.Date(1960, 1, 2, 0, 0, 0, 0, time.UTC)},
			"tm": map[string]any{"int.time-millis": 3*time.Hour + 4*time.Millisecond}, "ts": map[string]any{"long.local-timestamp-micros": at}, "ltz": map[string]any{"long.timestamp-millis": at},
			"a": []any{1, nil}, "m": map[string]any{"map": map[string]any{"k": int64(7)}}, "r": map[string]any{"org.apache.flink.avro.generated.record_r": map[string]any{"x": 4, "y": "z"}}}
		empty := map[string]any{"i": 2}
		for _, c := range columns {
			if _, ok := empty[c.Name]; !ok {
				empty[c.Name] = nil
			}
		}
		for _, row := range []map[string]any{full, empty, full} {
			if err := e.Encode(row); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		env := conntest.NewEnv(t)
		d, err := Format{}.Decoder(c)
		if err != nil {
			t.Fatal(err)
		}
		rows := readFile(t, env, d, file.Bytes(), columns)
		one := "TRUE|-3|1|-4611686018427387904|1.5|-0.25|é|x'00ff'|-12345678901234.567|1960-01-02|03:00:00.004|1969-12-31 23:59:59.999000|1969-12-31 23:59:59.999|[1, NULL]|{k=7}|(4, z)"
		conntest.Equal(t, rows, []string{one, "NULL|NULL|2" + strings.Repeat("|NULL", 13), one})
	}
	// The other way round.
	env := conntest.NewEnv(t)
	us := types.TimestampVal(at.UnixMicro())
	b := conntest.Batch(t, env, columns, nil,
		[]any{true, int8(-3), int32(1), int64(-1 << 62), float32(1.5), -0.25, "é", []byte{0, 255}, must(types.ParseDecimal([]byte("-1.280"), 20, 3)), types.DateVal(-1), types.TimeVal(4), us, us,
			[]any{int32(1), nil}, types.MapVal{{Key: "k", Val: int64(7)}}, types.RowVal{int32(4), "z"}},
		append([]any{nil, nil, int32(2)}, make([]any, 13)...))
	defer b.Release()
	for _, codec := range []string{"null", "deflate", "snappy", "zstandard"} {
		c.Options["codec"] = codec
		e, err := Format{}.Encoder(c)
		if err != nil {
			t.Fatal(err)
		}
		file, err := e.Encode(e.Header(), b.Record, nil)
		if err != nil {
			t.Fatal(err)
		}
		in, err := ocf.NewDecoder(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		var got []map[string]any
		for in.HasNext() {
			var row map[string]any
			if err := in.Decode(&row); err != nil {
				t.Fatal(err)
			}
			got = append(got, row)
		}
		if err := in.Error(); err != nil || len(got) != 2 {
			t.Fatalf("%v, %d rows", err, len(got))
		}
		want := "map[a:map[array:[1 <nil>]] b:true by:[0 255] d:-0.25 dec:-32/25 dt:1969-12-31 00:00:00 +0000 UTC f:1.5 i:1 l:-4611686018427387904 " +
			"ltz:1969-12-31 23:59:59.999 +0000 UTC m:map[map:map[k:7]] r:map[org.apache.flink.avro.generated.record_r:map[x:4 y:z]] s:é ti:-3 tm:4ms " +
			"ts:map[long.local-timestamp-micros:1969-12-31 23:59:59.999 +0000 UTC]]"
		if x := fmt.Sprint(got[0]); x != want {
			t.Errorf("got  %s\nwant %s", x, want)
		}
		if x := got[1]; x["s"] != nil || x["i"] != 2 || x["r"] != nil {
			t.Errorf("%v", x)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// readFile reads a file in pieces of any size.
func readFile(t *testing.T, env *conntest.Env, d connectors.Decoder, file []byte, columns types.Schema) []string {
	t.Helper()
	n, _, binding, ok, err := d.Header(file, false)
	if err != nil || !ok {
		t.Fatalf("%v %v", ok, err)
	}
	for k := range n { // a part of the header is no header
		if _, _, _, ok, err := d.Header(file[:k], false); ok || err != nil {
			t.Fatalf("%d bytes: %v %v", k, ok, err)
		}
	}
	var rows []string
	rest := file[n:]
	for size := 1; len(rest) > 0; size++ {
		cut, _ := d.Boundary(rest[:min(size, len(rest))], size >= len(rest))
		if cut == 0 {
			continue
		}
		out, err := d.Decode(context.Background(), rest[:cut], connectors.RecordPosition{Split: "f", Line: 1, Binding: binding}, env.Allocator)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, conntest.Rows(out.Batch, columns)...)
		out.Batch.Release()
		rest, size = rest[cut:], 0
	}
	return rows
}

func encode(t *testing.T, schema string, v any) []byte {
	t.Helper()
	s, err := avro.ParseWithCache(schema, "", &avro.SchemaCache{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := avro.Marshal(s, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEvolution: the writer's schema is another one.
func TestEvolution(t *testing.T) {
	const node = `{"type":"record","name":"node","fields":[{"name":"next","type":["null","node"]},{"name":"v","type":"int"}]}`
	for _, c := range []struct {
		name, field string
		value       any
		typ         types.Type
		want        string
	}{
		{"int to BIGINT", `"int"`, 5, types.BigIntType, "5"},
		{"long to INT", `"long"`, int64(5), types.IntType, "5"},
		{"long out of range", `"long"`, int64(1 << 40), types.IntType, "bad 0: field x: 1099511627776 is out of range of INT"},
		{"int to DOUBLE", `"int"`, 5, types.DoubleType, "5.0"},
		{"float to DOUBLE", `"float"`, float32(1.5), types.DoubleType, "1.5"},
		{"double to FLOAT", `"double"`, 1.5, types.FloatType, "error"},
		{"bytes to STRING", `"bytes"`, []byte("a"), types.StringType, "a"},
		{"bytes that are no text", `"bytes"`, []byte{0xff}, types.StringType, "bad 0: field x: the text is not UTF-8"},
		{"enum to STRING", `{"type":"enum","name":"e","symbols":["A","B"]}`, "B", types.StringType, "B"},
		{"fixed to BYTES", `{"type":"fixed","name":"f","size":2}`, [2]byte{1, 2}, types.BytesType, "x'0102'"},
		{"millis to TIMESTAMP(6)", `{"type":"long","logicalType":"timestamp-millis"}`, time.UnixMilli(-1).UTC(), types.TimestampOf(6), "1969-12-31 23:59:59.999000"},
		{"micros to TIMESTAMP(3)", `{"type":"long","logicalType":"timestamp-micros"}`, time.UnixMicro(-1).UTC(), types.TimestampOf(3), "1969-12-31 23:59:59.999"},
		{"micros to TIMESTAMP(9)", `{"type":"long","logicalType":"timestamp-micros"}`, time.UnixMicro(1).UTC(), types.TimestampOf(9), "1970-01-01 00:00:00.000001000"},
		{"plain long to TIMESTAMP(3)", `"long"`, int64(1), types.TimestampOf(3), "1970-01-01 00:00:00.001"},
		{"an unknown unit", `{"type":"long","logicalType":"timestamp-nanos"}`, int64(1), types.TimestampOf(3), "error"},
		{"an unknown unit as a number", `{"type":"long","logicalType":"timestamp-nanos"}`, int64(1), types.BigIntType, "1"},
		{"decimal to a larger scale", `{"type":"bytes","logicalType":"decimal","precision":5,"scale":1}`, big.NewRat(15, 10), types.DecimalOf(6, 3), "1.500"},
		{"decimal to a smaller scale", `{"type":"bytes","logicalType":"decimal","precision":5,"scale":1}`, big.NewRat(15, 10), types.DecimalOf(6, 0), "bad 0: field x: a number with 1 digits behind the point does not fit a DECIMAL(6, 0)"},
		{"decimal out of range", `{"type":"bytes","logicalType":"decimal","precision":5,"scale":0}`, big.NewRat(12345, 1), types.DecimalOf(3, 0), "bad 0: field x: 12345 is out of range of DECIMAL(3, 0)"},
		{"a union", `["string","null","int"]`, "a", types.StringType, "a"},
		{"the odd branch of a union", `["string","null","int"]`, 7, types.StringType, "bad 0: field x: the writer's schema has int, which is no STRING"},
		{"null where none may be", `["null","int"]`, nil, types.IntType.NotNull(), "bad 0: field x: NULL in a column that is NOT NULL"},
		{"string to INT", `"string"`, "1", types.IntType, "error"},
		{"a longer text", `"string"`, "abc", types.VarCharOf(2), "bad"},
		{"a record that contains itself, skipped", node, map[string]any{"next": map[string]any{"node": map[string]any{"next": nil, "v": 2}}, "v": 1}, types.Type{}, "NULL"},
		{"a record that contains itself", node, map[string]any{"next": nil, "v": 1}, types.RowOf(types.Field{Name: "v", Type: types.IntType}), "(1)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			schema := `{"type":"record","name":"r","fields":[{"name":"first","type":"int"},{"name":"x","type":` + c.field + `},{"name":"last","type":"string"}]}`
			columns := cols("x", c.typ)
			if c.typ.Kind == (types.Type{}).Kind {
				columns = cols("new", types.IntType)
			}
			got, err := decode(t, schema, columns, encode(t, schema, map[string]any{"first": 1, "x": c.value, "last": "z"}))
			if err != nil {
				if c.want != "error" {
					t.Fatal(err)
				}
				return
			}
			if g := strings.Join(got, "; "); !strings.HasPrefix(g, c.want) || c.want != "bad" && g != c.want {
				t.Errorf("got %s, want %s", g, c.want)
			}
		})
	}
	if _, err := decode(t, `{"type":"record","name":"r","fields":[]}`, cols("x", types.IntType.NotNull())); err == nil || !strings.Contains(err.Error(), "no such field") {
		t.Error(err)
	}
}

func TestBadMessages(t *testing.T) {
	schema := `{"type":"record","name":"r","fields":[{"name":"s","type":"string"},{"name":"a","type":{"type":"array","items":"null"}}]}`
	good := encode(t, schema, map[string]any{"s": "abc", "a": []any{}})
	got, err := decode(t, schema, cols("s", types.StringType), good, nil, good[:2], append(append([]byte{}, good...), 1), []byte{7, 'a'}, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		[]byte{0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0}, good)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 7 || got[0] != "abc" || got[1] != "abc" || !strings.HasPrefix(got[2], "bad 2: field s: the record is cut off") || !strings.HasPrefix(got[3], "bad 3: 1 bytes are left") {
		t.Errorf("%q", got)
	}
}

// TestSameBytes: a file is the same on every run.
func TestSameBytes(t *testing.T) {
	header := func(codec string) []byte {
		e, err := Format{}.Encoder(conntest.FormatConfig(cols("x", types.IntType), "codec="+codec))
		if err != nil {
			t.Fatal(err)
		}
		return e.Header()
	}
	if !bytes.Equal(header("null"), header("null")) {
		t.Error("two headers of one schema differ")
	}
	if mark := func(codec string) string { h := header(codec); return string(h[len(h)-16:]) }; mark("null") == mark("snappy") {
		t.Error("files of two codecs have one mark")
	}
}

func TestInfer(t *testing.T) {
	for fields, want := range map[string]string{
		`{"name":"x","type":{"type":"fixed","name":"f","size":8,"logicalType":"decimal","precision":10,"scale":2}},{"name":"y","type":["null","f"]}`: "x DECIMAL(10, 2) NOT NULL, y DECIMAL(10, 2); map[]",
		`{"name":"x","type":{"type":"long","logicalType":"timestamp-micros"}}`:                                                                       "x TIMESTAMP(6) NOT NULL; map[timestamp_mapping.legacy:false]",
		`{"name":"x","type":{"type":"array","items":{"type":"long","logicalType":"local-timestamp-micros"}}}`:                                        "x ARRAY<TIMESTAMP(6) NOT NULL> NOT NULL; map[timestamp_mapping.legacy:false]",
		`{"name":"x","type":{"type":"long","logicalType":"timestamp-millis"}}`:                                                                       "x TIMESTAMP(3) NOT NULL; map[]",
		`{"name":"x","type":{"type":"long","logicalType":"time-micros"}}`:                                                                            "x BIGINT NOT NULL; map[]",
		`{"name":"x","type":{"type":"enum","name":"e","symbols":["A"]}}`:                                                                             "x STRING NOT NULL; map[]",
		`{"name":"x","type":["int","string"]}`:                                                                                                       "f.avro: field x: a union of several types is no column type: declare the columns that are wanted",
	} {
		s, err := Parse(`{"type":"record","name":"r","fields":[` + fields + `]}`)
		if err != nil {
			t.Fatal(err)
		}
		inf, err := Format{}.Infer(newEncoder(s, nil, "null").Header(), "f.avro", true, 1000, nil)
		var columns []string
		for _, c := range inf.Columns {
			columns = append(columns, c.Name+" "+c.Type.String())
		}
		got := fmt.Sprintf("%s; %v", strings.Join(columns, ", "), inf.Options)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s:\n got  %s\n want %s", fields, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		c    connectors.FormatConfig
		want string
	}{
		{conntest.FormatConfig(cols("x", types.TimestampLTZOf(3))), "'timestamp_mapping.legacy' = 'false'"},
		{conntest.FormatConfig(cols("x", types.TimestampOf(6))), "up to three digits"},
		{conntest.FormatConfig(cols("a b", types.IntType)), "is none of Avro's"},
		{conntest.FormatConfig(cols("m", types.MapOf(types.IntType, types.IntType))), "must be STRING"},
		{conntest.FormatConfig(cols("x", types.IntType), "codecs=x"), "did you mean 'codec'?"},
	} {
		if err := (Format{}).Check(c.c); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
}

// FuzzDecode: no bytes whatever bring it down.
func FuzzDecode(f *testing.F) {
	columns := cols("a", types.ArrayOf(types.StringType), "m", types.MapOf(types.StringType, types.DecimalOf(10, 2)), "r", types.RowOf(types.Field{Name: "x", Type: types.TimestampOf(3)}), "l", types.BigIntType)
	s, err := Derive(columns, true)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{2, 2, 2, 2, 'a', 0, 0, 0, 2, 4})
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := decode(t, Text(s), columns, b); err != nil {
			t.Fatal(err)
		}
		d := &decoder{own: s, columns: columns, schema: columns.Arrow(), keepBad: true}
		if err := d.init(); err != nil {
			t.Fatal(err)
		}
		file := append(append([]byte{}, magic...), b...)
		if n, _, binding, ok, err := d.Header(file, true); ok && err == nil {
			env := conntest.NewEnv(t)
			if out, err := d.Decode(context.Background(), file[n:], connectors.RecordPosition{Binding: binding}, env.Allocator); err == nil {
				out.Batch.Release()
			}
		}
	})
}
