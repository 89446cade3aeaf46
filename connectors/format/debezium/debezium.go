// Package debezium has the format 'debezium-json': changes of a database as Debezium writes them, an object with before, after and op.
//
// c and r (a row of a snapshot) give +I, u gives -U and +U, d gives -D. An update or deletion without before is a bad record: the connector has to give
// it (PostgreSQL: REPLICA IDENTITY FULL). A null message (the tombstone behind a deletion) gives no row. A sink writes +I and +U as c, -U and -D as d.
package debezium

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/internal/cdc"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

const name = "debezium-json"

// Format is the debezium-json format.
type Format struct{}

// Name is debezium-json.
func (Format) Name() string { return name }

// Options are those of Flink.
func (Format) Options() []connectors.Option {
	return cdc.Options(connectors.Option{Name: "schema-include", Type: "boolean", Default: "false",
		Doc: "Records are objects with schema and payload: Kafka Connect's value.converter.schemas.enable. For sources only."})
}

// Check validates options and columns.
func (f Format) Check(c connectors.FormatConfig) error { return cdc.Check(name, f.Options(), c) }

// Changelog is all, both ways.
func (Format) Changelog() (gives, takes string) { return "all", "all" }

// Infer is not supported.
func (Format) Infer([]byte, string, bool, int, map[string]string) (connectors.Inferred, error) {
	return connectors.Inferred{}, errors.New("the format 'debezium-json' cannot infer columns: declare them")
}

// Metadata are Flink's keys.
func (Format) Metadata() types.Schema {
	return types.Schema{
		{Name: "schema", Type: types.StringType},
		{Name: "ingestion-timestamp", Type: types.TimestampLTZOf(3)},
		{Name: "source.timestamp", Type: types.TimestampLTZOf(3)},
		{Name: "source.database", Type: types.StringType},
		{Name: "source.schema", Type: types.StringType},
		{Name: "source.table", Type: types.StringType},
		{Name: "source.properties", Type: types.MapOf(types.StringType, types.StringType)},
	}
}

// The members of a record that are read.
const (
	before = iota
	after
	op
	ts
	source
	schema
)

// Decoder returns a decoder.
func (f Format) Decoder(c connectors.FormatConfig) (connectors.Decoder, error) {
	if err := f.Check(c); err != nil {
		return nil, err
	}
	image := cdc.Nullable(cdc.Wanted(c))
	members := types.Schema{{Name: "before", Type: image}, {Name: "after", Type: image}, {Name: "op", Type: types.StringType}, {Name: "ts_ms", Type: types.BigIntType}}
	var metadata types.Schema
	withSource, withSchema := false, false
	for _, k := range c.Metadata {
		i := f.Metadata().Index(k)
		if i < 0 {
			return nil, fmt.Errorf("the format 'debezium-json' has no metadata '%s'", k)
		}
		metadata = append(metadata, f.Metadata()[i])
		withSource, withSchema = withSource || i >= 2, withSchema || i == 0
	}
	if withSource {
		members = append(members, types.Column{Name: "source", Type: types.MapOf(types.StringType.NotNull(), types.StringType)})
	}
	wrapped := connectors.GetBool(c.Options, "schema-include", false)
	top := members
	if wrapped {
		fields := make([]types.Field, len(members))
		for i, m := range members {
			fields[i] = types.Field{Name: m.Name, Type: m.Type}
		}
		top = types.Schema{{Name: "payload", Type: types.RowOf(fields...)}}
		if withSchema {
			top = append(top, types.Column{Name: "schema", Type: types.StringType})
		}
	}
	member := func(rec arrow.RecordBatch, i int) arrow.Array {
		if wrapped {
			return rec.Column(0).(*array.Struct).Field(i)
		}
		return rec.Column(i)
	}
	e := cdc.Envelope{Name: name, Columns: top}
	e.Row = func(rec arrow.RecordBatch, _ cdc.Prepared, r int, out *cdc.Rows) error {
		if wrapped && rec.Column(0).IsNull(r) {
			return errors.New("the member payload is missing: without schema and payload set 'debezium-json.schema-include' = 'false'")
		}
		what := member(rec, op).(*array.String)
		if what.IsNull(r) {
			if wrapped {
				return errors.New("the member op is missing")
			}
			return errors.New("the member op is missing: where records have schema and payload set 'debezium-json.schema-include' = 'true'")
		}
		out.Metadata(func(key int, b array.Builder) {
			switch k := c.Metadata[key]; k {
			case "schema":
				if wrapped {
					types.AppendFrom(b, rec.Column(1), r)
				} else {
					b.AppendNull()
				}
			case "ingestion-timestamp":
				cdc.Millis(b, member(rec, ts), r, 1)
			case "source.timestamp":
				cdc.EntryMillis(b, member(rec, source), r, "ts_ms")
			case "source.properties":
				types.AppendFrom(b, member(rec, source), r)
			default:
				cdc.EntryText(b, member(rec, source), r, map[string]string{"source.database": "db", "source.schema": "schema", "source.table": "table"}[k])
			}
		})
		image := func(which int) (cdc.Image, error) {
			a := member(rec, which)
			if a.IsNull(r) {
				if which == after {
					return nil, fmt.Errorf("the member after of a change %q is null", what.Value(r))
				}
				return nil, fmt.Errorf("the member before of a change %q is null: the database has to give it (PostgreSQL: ALTER TABLE ... REPLICA IDENTITY FULL)", what.Value(r))
			}
			img := cdc.OfStruct(a, r)
			if which == after {
				return img, out.Check(img)
			}
			return img, nil
		}
		switch what.Value(r) {
		case "c", "r":
			img, err := image(after)
			if err != nil {
				return err
			}
			out.Add(stream.Insert, img)
		case "u":
			old, err := image(before)
			if err != nil {
				return err
			}
			now, err := image(after)
			if err != nil {
				return err
			}
			out.Add(stream.UpdateBefore, old)
			out.Add(stream.UpdateAfter, now)
		case "d":
			img, err := image(before)
			if err != nil {
				return err
			}
			out.Add(stream.Delete, img)
		default:
			return fmt.Errorf("the change op = %q is unknown: c, r, u and d are known", what.Value(r))
		}
		return nil
	}
	return cdc.Decoder(e, c, metadata)
}

// Encoder returns an encoder.
func (f Format) Encoder(c connectors.FormatConfig) (connectors.Encoder, error) {
	if err := f.Check(c); err != nil {
		return nil, err
	}
	if connectors.GetBool(c.Options, "schema-include", false) {
		return nil, errors.New("option 'debezium-json.schema-include' is for sources only: a sink writes no schema")
	}
	return cdc.Encoder(name, c, func(k stream.RowKind) (string, string) {
		if k.Retracts() {
			return `{"before":`, `,"after":null,"op":"d"}`
		}
		return `{"before":null,"after":`, `,"op":"c"}`
	})
}
