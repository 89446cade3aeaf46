package cdc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/connectors/format/canal"
	"github.com/weir-sql/weir/connectors/format/debezium"
	"github.com/weir-sql/weir/connectors/format/maxwell"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

var columns = types.Schema{{Name: "id", Type: types.IntType}, {Name: "name", Type: types.StringType}, {Name: "w", Type: types.DecimalOf(5, 2)}}

type format interface {
	connectors.ChangelogFormat
	connectors.MetadataFormat
}

// decode reads messages; "<null>" is a null message. It returns rows, and then a line for each bad record.
func decode(t *testing.T, f format, c connectors.FormatConfig, messages ...string) ([]string, []int32, error) {
	t.Helper()
	env := conntest.NewEnv(t)
	d, err := f.Decoder(c)
	if err != nil {
		return nil, nil, err
	}
	m := connectors.Messages{Split: "s", Offset: func(i int) int64 { return int64(10 * i) }}
	for _, x := range messages {
		if x == "<null>" {
			m.Values = append(m.Values, nil)
		} else {
			m.Values = append(m.Values, []byte(x))
		}
	}
	out, of, err := d.(connectors.MessageDecoder).DecodeMessages(context.Background(), m, env.Allocator)
	if err != nil {
		return nil, nil, err
	}
	defer out.Batch.Release()
	var schema types.Schema
	for _, w := range c.Wanted {
		schema = append(schema, c.Columns[w])
	}
	for _, k := range c.Metadata {
		schema = append(schema, f.Metadata()[f.Metadata().Index(k)])
	}
	rows := conntest.Rows(out.Batch, schema)
	for _, b := range out.Bad {
		rows = append(rows, fmt.Sprintf("bad %d before row %d: %s", b.Position, b.Row, b.Err))
	}
	return rows, of, nil
}

func config(options ...string) connectors.FormatConfig {
	c := connectors.FormatConfig{Table: "t", Columns: columns, Wanted: []int{0, 1, 2}, Options: map[string]string{}, Zone: time.UTC}
	for _, o := range options {
		k, v, _ := strings.Cut(o, "=")
		c.Options[k] = v
	}
	return c
}

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		name     string
		f        format
		c        connectors.FormatConfig
		metadata string
		in       []string
		want     []string
		of       string
	}{
		{"debezium", debezium.Format{}, config(), "", []string{
			`{"before":null,"after":{"id":1,"name":"a","w":1.5},"op":"c","ts_ms":5}`, `{"before":{"id":1,"name":"a"},"after":{"id":1,"name":"b","w":2},"op":"u"}`, `<null>`,
			`{"before":{"id":1},"after":null,"op":"d"}`, `{"after":{"id":2},"op":"r"}`},
			[]string{"+I|1|a|1.50", "-U|1|a|NULL", "+U|1|b|2.00", "-D|1|NULL|NULL", "+I|2|NULL|NULL"}, "[0 1 1 3 4]"},
		{"debezium with metadata", debezium.Format{}, config(), "ingestion-timestamp source.timestamp source.database source.schema source.table schema", []string{
			`{"before":null,"after":{"id":1},"op":"c","ts_ms":1714557600123,"source":{"db":"d","ts_ms":1714557600000,"table":"x","lsn":7}}`},
			[]string{"+I|1|NULL|NULL|2024-05-01 10:00:00.123|2024-05-01 10:00:00.000|d|NULL|x|NULL"}, "[]"},
		{"debezium with schema", debezium.Format{}, config("schema-include=true"), "schema source.properties", []string{
			`{"schema":{"a":[1]},"payload":{"before":null,"after":{"id":1,"w":1},"op":"c","source":{"db":"d","n":1}}}`},
			[]string{`+I|1|NULL|1.00|{"a":[1]}|{db=d, n=1}`}, "[]"},
		{"debezium, bad ones skipped", debezium.Format{}, config("ignore-parse-errors=true"), "", []string{
			`{"after":{"id":1},"op":"c"}`, `{"after":{"id":2},"op":"u"}`, `{"op":`, `{"after":null,"op":"c"}`, `{"op":"x"}`, `{"after":{"id":3}}`, `{"after":{"id":4},"op":"c"}`},
			[]string{"+I|1|NULL|NULL", "+I|4|NULL|NULL",
				`bad 10 before row 1: the member before of a change "u" is null: the database has to give it (PostgreSQL: ALTER TABLE ... REPLICA IDENTITY FULL)`,
				`bad 20 before row 1: a value was expected, but the message ends`, `bad 30 before row 1: the member after of a change "c" is null`,
				`bad 40 before row 1: the change op = "x" is unknown: c, r, u and d are known`,
				`bad 50 before row 1: the member op is missing: where records have schema and payload set 'debezium-json.schema-include' = 'true'`}, "[0 6]"},
		{"canal", canal.Format{}, config(), "", []string{
			`{"data":[{"id":"1","name":"a","w":"1.5"},{"id":"2"}],"old":null,"type":"INSERT","database":"d","table":"t"}`,
			`{"data":[{"id":"1","name":"b","w":"2"},{"id":"2","name":"n","w":null}],"old":[{"name":"a"},{"name":null,"w":"9"}],"type":"UPDATE"}`, `<null>`,
			`{"data":null,"type":"CREATE"}`, `{"data":null,"isDdl":true,"type":"ALTER"}`, `{"data":[{"id":"1"}],"old":null,"type":"DELETE"}`},
			[]string{"+I|1|a|1.50", "+I|2|NULL|NULL", "-U|1|a|2.00", "+U|1|b|2.00", "-U|2|NULL|9.00", "+U|2|n|NULL", "-D|1|NULL|NULL"}, "[0 0 1 1 1 1 5]"},
		{"canal, filtered, with metadata", canal.Format{}, config("database.include=d.*", "table.include=t|u"), "table database pk-names sql-type event-timestamp ingestion-timestamp", []string{
			`{"data":[{"id":"1"}],"type":"INSERT","database":"db","table":"t","pkNames":["id"],"sqlType":{"id":4},"es":1714557600000,"ts":1714557600123}`,
			`{"data":[{"id":"2"}],"type":"INSERT","database":"db","table":"tt"}`, `{"data":[{"id":"3"}],"type":"INSERT","database":"x","table":"t"}`},
			[]string{"+I|1|NULL|NULL|t|db|[id]|{id=4}|2024-05-01 10:00:00.000|2024-05-01 10:00:00.123"}, "[0]"},
		{"canal, bad ones skipped", canal.Format{}, config("ignore-parse-errors=true"), "", []string{`{"data":[{"id":"1"}],"type":"UPDATE"}`, `{"type":"INSERT"}`, `{"type":"TRUNCATE","isDdl":true}`},
			[]string{"bad 0 before row 0: the member old of an update is missing or cannot be read", `bad 10 before row 0: the member data of a change "INSERT" is null`,
				`bad 20 before row 0: the change type = "TRUNCATE" is unknown: INSERT, UPDATE and DELETE are known`}, "[]"},
		{"maxwell", maxwell.Format{}, config(), "database table primary-key-columns ingestion-timestamp", []string{
			`{"database":"d","table":"t","type":"insert","ts":1714557600,"primary_key_columns":["id"],"data":{"id":1,"name":"a","w":1.5}}`,
			`{"database":"d","table":"t","type":"update","data":{"id":1,"name":"b","w":null},"old":{"name":"a","w":2}}`, `{"type":"delete","data":{"id":1}}`},
			[]string{"+I|1|a|1.50|d|t|[id]|2024-05-01 10:00:00.000", "-U|1|a|2.00|d|t|NULL|NULL", "+U|1|b|NULL|d|t|NULL|NULL", "-D|1|NULL|NULL|NULL|NULL|NULL|NULL"}, "[0 1 1 2]"},
		{"maxwell, bad ones skipped", maxwell.Format{}, config("ignore-parse-errors=true"), "", []string{`{"type":"bootstrap-start"}`, `{"type":"update","data":{"id":1},"old":"x"}`},
			[]string{`bad 0 before row 0: the change type = "bootstrap-start" is unknown: insert, update and delete are known`,
				"bad 10 before row 0: the member old of an update is missing or cannot be read"}, "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.c.Metadata = strings.Fields(c.metadata)
			got, of, err := decode(t, c.f, c.c, c.in...)
			if err != nil {
				t.Fatal(err)
			}
			conntest.Equal(t, got, c.want)
			if fmt.Sprint(of) != c.of {
				t.Errorf("origins %v, want %s", of, c.of)
			}
		})
	}
}

func TestFail(t *testing.T) {
	for _, c := range []struct {
		f              format
		message, wants string
	}{
		{debezium.Format{}, `{"op":"d"}`, "'debezium-json.ignore-parse-errors' = 'true'"},
		{debezium.Format{}, `{"op":`, "'debezium-json.ignore-parse-errors' = 'true'"},
		{canal.Format{}, `{"type":"X"}`, `the change type = "X" is unknown`},
		{maxwell.Format{}, `{"type":"insert"}`, `the member data of a change "insert" is null`},
	} {
		_, _, err := decode(t, c.f, config(), c.message)
		var b *connectors.BadRecord
		if !errors.As(err, &b) || !strings.Contains(b.Err, c.wants) || string(b.Raw) != c.message {
			t.Errorf("%s: %v", c.f.Name(), err)
		}
	}
	notNull := config()
	notNull.Columns = types.Schema{columns[0], {Name: "name", Type: types.StringType.NotNull()}, columns[2]}
	if _, _, err := decode(t, debezium.Format{}, notNull, `{"after":{"id":1},"op":"c"}`); err == nil || !strings.Contains(err.Error(), "column name is NULL or missing") {
		t.Error(err)
	}
	for _, o := range []string{"schema-includes=true", "ignore-parse-errors=maybe"} {
		if err := (debezium.Format{}).Check(config(o)); err == nil {
			t.Error(o)
		}
	}
	if err := (canal.Format{}).Check(config("table.include=(")); err == nil {
		t.Error("a bad expression")
	}
}

// TestRoundTrip: what is written is read as the same changes, an update as a deletion and an insertion.
func TestRoundTrip(t *testing.T) {
	for _, f := range []format{debezium.Format{}, canal.Format{}, maxwell.Format{}} {
		env := conntest.NewEnv(t)
		b := conntest.Batch(t, env, columns, []stream.RowKind{stream.Insert, stream.UpdateBefore, stream.UpdateAfter, stream.Delete},
			[]any{int32(1), "a", nil}, []any{int32(1), "a", nil}, []any{int32(1), "b", nil}, []any{int32(1), "b", nil})
		e, err := f.Encoder(config())
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for i, k := range b.Kinds {
			text, ok, err := e.(connectors.MessageEncoder).EncodeMessage(nil, b.Record, int32(i), k)
			if err != nil || !ok {
				t.Fatal(err)
			}
			out = append(out, string(text))
		}
		b.Release()
		got, _, err := decode(t, f, config(), out...)
		if err != nil {
			t.Fatal(err)
		}
		conntest.Equal(t, got, []string{"+I|1|a|NULL", "-D|1|a|NULL", "+I|1|b|NULL", "-D|1|b|NULL"})
	}
}

// TestLines: in files a record is a line; bad records are told by their line.
func TestLines(t *testing.T) {
	env := conntest.NewEnv(t)
	d, err := debezium.Format{}.Decoder(config("ignore-parse-errors=true"))
	if err != nil {
		t.Fatal(err)
	}
	text := "{\"after\":{\"id\":1},\"op\":\"c\"}\r\n\n{\"op\":\"c\"}\n{\"after\":{\"id\":2},\"op\":\"c\"}"
	out, err := d.Decode(context.Background(), []byte(text), connectors.RecordPosition{Split: "f", Line: 5}, env.Allocator)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Batch.Release()
	conntest.Equal(t, conntest.Rows(out.Batch, columns), []string{"+I|1|NULL|NULL", "+I|2|NULL|NULL"})
	if len(out.Bad) != 1 || out.Bad[0].Position != 7 || out.Bad[0].Row != 1 {
		t.Errorf("%+v", out.Bad)
	}
}
