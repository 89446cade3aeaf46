package avro

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

var jsonColumns = cols("b", types.BooleanType, "ti", types.TinyIntType, "i", types.IntType.NotNull(), "l", types.BigIntType, "f", types.FloatType, "d", types.DoubleType,
	"s", types.StringType, "y", types.BytesType, "dc", types.DecimalOf(10, 2), "dt", types.DateType, "tm", types.TimeOf(3), "ts", types.TimestampOf(3),
	"a", types.ArrayOf(types.IntType), "m", types.MapOf(types.StringType, types.BigIntType),
	"r", types.RowOf(types.Field{Name: "x", Type: types.IntType}, types.Field{Name: "y", Type: types.RowOf(types.Field{Name: "z", Type: types.StringType})}),
	"ms", types.MultisetOf(types.StringType))

// fromText reads messages in JSON; the rows, then a line for each bad record. again are the messages that the rows make.
func fromText(t *testing.T, columns types.Schema, messages ...string) (rows, again []string) {
	t.Helper()
	env := conntest.NewEnv(t)
	c := conntest.FormatConfig(columns, "encoding=json")
	c.KeepBad = true
	d, err := Format{}.Decoder(c)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Format{}.Encoder(c)
	if err != nil {
		t.Fatal(err)
	}
	m := connectors.Messages{Split: "s", Offset: func(i int) int64 { return int64(i) }}
	for _, s := range messages {
		m.Values = append(m.Values, []byte(s))
	}
	out, _, err := d.(connectors.MessageDecoder).DecodeMessages(context.Background(), m, env.Allocator)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Batch.Release()
	rows = conntest.Rows(out.Batch, columns)
	for _, b := range out.Bad {
		rows = append(rows, "bad: "+b.Err)
	}
	for i := range out.Batch.Len() {
		text, ok, err := e.(connectors.MessageEncoder).EncodeMessage(nil, out.Batch.Record, int32(i), stream.Insert)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		again = append(again, string(text))
	}
	return rows, again
}

// TestJSON: the messages are what Flink 2.3 wrote to a topic of these columns.
func TestJSON(t *testing.T) {
	messages := []string{
		`{"b":{"boolean":true},"ti":{"int":1},"i":2,"l":{"long":3},"f":{"float":1.5},"d":{"double":2.5},"s":{"string":"a\"b\\é"},"y":{"bytes":"\u0000ÿA"},"dc":{"bytes":"\u0004Ò"},` +
			`"dt":{"int":19844},"tm":{"int":36001123},"ts":{"long":1714557600123},"a":{"array":[{"int":1},null]},"m":{"map":{"a":{"long":1},"b":null}},` +
			`"r":{"org.apache.flink.avro.generated.record_r":{"x":{"int":1},"y":{"org.apache.flink.avro.generated.record_r_y":{"z":{"string":"q"}}}}},"ms":null}`,
		"\n" + `{"b":null,"ti":null,"i":2,"l":null,"f":{"float":1.1},"d":{"double":"-Infinity"},"s":null,"y":null,"dc":{"bytes":"û"},"dt":null,"tm":null,"ts":null,"a":null,"m":null,"r":null,"ms":null}`,
	}
	rows, again := fromText(t, jsonColumns, messages...)
	want := []string{
		`TRUE|1|2|3|1.5|2.5|a"b\é|x'00ff41'|12.34|2024-05-01|10:00:01.123|2024-05-01 10:00:00.123|[1, NULL]|{a=1, b=NULL}|(1, (q))|NULL`,
		"NULL|NULL|2|NULL|1.1|-Infinity|NULL|NULL|-0.05|NULL|NULL|NULL|NULL|NULL|NULL|NULL",
	}
	if len(rows) != 2 || rows[0] != want[0] || rows[1] != want[1] {
		t.Errorf("%q", rows)
	}
	for i, m := range messages {
		if i < len(again) && again[i] != strings.TrimSpace(m) { // Flink has a line end before each message of a task but the first
			t.Errorf("written again:\n%s\nwant\n%s", again[i], m)
		}
	}
}

func TestJSONRecords(t *testing.T) {
	columns := cols("i", types.IntType.NotNull(), "s", types.StringType, "d", types.DoubleType, "y", types.BytesType.NotNull())
	for _, c := range []struct{ text, want string }{
		// As in Flink, but for "y".
		{`{"i":2,"s":{"string":"x"},"d":{"double":1.5},"y":""}`, "2|x|1.5|x''"},
		{`{"y":"a","d":null,"zz":{"a":[1]},"i":2,"s":null}`, "2|NULL|NULL|x'61'"},
		{`{"i":2,"s":null,"d":{"double":1},"y":""}`, "2|NULL|1.0|x''"},
		{`{"i":2.0,"s":null,"d":null,"y":""}`, "2|NULL|NULL|x''"},
		{`{"i":1e2,"s":null,"d":null,"y":""}`, "100|NULL|NULL|x''"},
		{`{"i":2,"s":null,"d":null}`, "bad: field y: it is missing"},
		{`{"i":2,"d":null,"y":""}`, "bad: field s: it is missing"},
		{`{"i":2,"s":"x","d":null,"y":""}`, "bad: field s: null or an object of the name of a type: null, string should be there, not 'x'"},
		{`{"i":2,"s":{"int":5},"d":null,"y":""}`, "bad: field s: 'int' is none of the types null, string"},
		{`{"i":2,"s":{"null":null},"d":null,"y":""}`, "bad: field s: 'null' is none of the types null, string"},
		{`{"i":2,"s":{"string":5},"d":null,"y":""}`, "bad: field s: a value of string should be there, not 5"},
		{`{"i":"2","s":null,"d":null,"y":""}`, "bad: field i: a value of int should be there, not '2'"},
		{`{"i":null,"s":null,"d":null,"y":""}`, "bad: field i: a value of int should be there, not null"},
		{`{"i":3000000000,"s":null,"d":null,"y":""}`, "bad: field i: 3000000000 is out of range"},
		{`{"i":1e9999999,"s":null,"d":null,"y":""}`, "bad: field i: 1e9999999 is out of range"},
		{`{"i":[2],"s":null,"d":null,"y":""}`, "bad: field i: a value of int should be there, not ["},
		{``, "bad: the record is cut off"},
		{`{"i":2`, "bad: the record is cut off"},
		{`[]`, "bad: an object should be there, not ["},
		// Flink reads these as something in silence, or cannot read what it writes.
		{`{"i":2.5,"s":null,"d":null,"y":""}`, "bad: field i: 2.5 is not a whole number"},
		{`{"i":2,"i":3,"s":null,"d":null,"y":""}`, "bad: field i: it is there twice"},
		{`{"i":2,"s":{"string":"x","y":1},"d":null,"y":""}`, "bad: field s: the end of the object should be there, not 'y'"},
		{`{"i":2,"s":null,"d":null,"y":""} x`, "bad: something is left behind the record"},
		{`{"i":2,"s":null,"d":null,"y":""}{}`, "bad: something is left behind the record"},
		{`{"i":2,"s":null,"d":{"double":1e999},"y":""}`, "bad: field d: 1e999 is out of range"},
		{`{"i":2,"s":null,"d":{"double":"NaN"},"y":""}`, "2|NULL|NaN|x''"},
		{`{"i":2,"s":null,"d":{"double":"nan"},"y":""}`, "bad: field d: a value of double should be there, not 'nan'"},
		{`{"i":2,"s":null,"d":null,"y":"€"}`, "bad: field y: '€' is no byte: characters go to U+00FF"},
		{"{\"i\":2,\"s\":{\"string\":\"\xff\"},\"d\":null,\"y\":\"\"}", "bad: the text is not UTF-8"},
	} {
		rows, _ := fromText(t, columns, c.text)
		if len(rows) != 1 || rows[0] != c.want {
			t.Errorf("%s:\n%q, want %q", c.text, rows, c.want)
		}
	}
}

// TestJSONIsForMessages: a file is Avro's container.
func TestJSONIsForMessages(t *testing.T) {
	c := conntest.FormatConfig(cols("i", types.IntType), "encoding=json")
	d, err := Format{}.Decoder(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, _, err := d.(*decoder).Header(magic, false); err != errFiles {
		t.Errorf("read: %v", err)
	}
	e, err := Format{}.Encoder(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Encode(nil, nil, nil); err != errFiles {
		t.Errorf("written: %v", err)
	}
}

// FuzzJSON: what is taken for a record is one, and comes back as itself.
func FuzzJSON(f *testing.F) {
	s, err := Derive(jsonColumns, true)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"b":null,"ti":{"int":1},"i":2,"l":{"long":3},"f":{"float":"NaN"},"d":{"double":2.5},"s":{"string":"\u0001"},"y":{"bytes":"\u00ff"},"dc":null,"dt":null,"tm":null,` +
		`"ts":null,"a":{"array":[{"int":1},null]},"m":{"map":{"a":{"long":1},"b":null}},"r":{"org.apache.flink.avro.generated.record_r":{"x":null,"y":null}},"ms":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		first, err := fromJSON(nil, s, b)
		if err != nil {
			return
		}
		text, p, err := toJSON(nil, s, first, 0)
		if err != nil || p != len(first) {
			t.Fatal(p, len(first), err)
		}
		if second, err := fromJSON(nil, s, text); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s\n%x\n%x\n%v", text, first, second, err)
		}
	})
}
