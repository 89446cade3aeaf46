// Package maxwell has the format 'maxwell-json': changes of a MySQL database as Maxwell writes them, an object with data, old and type.
//
// insert gives +I, update gives -U and +U (the row before has the values of old, and of data for what old does not have), delete gives -D. A null message
// gives no row. A sink writes +I and +U as insert, -U and -D as delete.
package maxwell

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/internal/cdc"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

const name = "maxwell-json"

// Format is the maxwell-json format.
type Format struct{}

// Name is maxwell-json.
func (Format) Name() string { return name }

// Options are those of Flink.
func (Format) Options() []connectors.Option { return cdc.Options() }

// Check validates options and columns.
func (f Format) Check(c connectors.FormatConfig) error { return cdc.Check(name, f.Options(), c) }

// Changelog is all, both ways.
func (Format) Changelog() (gives, takes string) { return "all", "all" }

// Infer is not supported.
func (Format) Infer([]byte, string, bool, int, map[string]string) (connectors.Inferred, error) {
	return connectors.Inferred{}, errors.New("the format 'maxwell-json' cannot infer columns: declare them")
}

// Metadata are Flink's keys.
func (Format) Metadata() types.Schema {
	return types.Schema{
		{Name: "database", Type: types.StringType},
		{Name: "table", Type: types.StringType},
		{Name: "primary-key-columns", Type: types.ArrayOf(types.StringType)},
		{Name: "ingestion-timestamp", Type: types.TimestampLTZOf(3)},
	}
}

// Decoder returns a decoder.
func (f Format) Decoder(c connectors.FormatConfig) (connectors.Decoder, error) {
	if err := f.Check(c); err != nil {
		return nil, err
	}
	wanted := cdc.Wanted(c)
	columns := types.Schema{{Name: "data", Type: cdc.Nullable(wanted)}, {Name: "old", Type: types.StringType}, {Name: "type", Type: types.StringType}}
	var metadata types.Schema
	for _, k := range c.Metadata {
		i := f.Metadata().Index(k)
		if i < 0 {
			return nil, fmt.Errorf("the format 'maxwell-json' has no metadata '%s'", k)
		}
		m := f.Metadata()[i]
		metadata = append(metadata, m)
		switch k {
		case "primary-key-columns":
			m.Name = "primary_key_columns"
		case "ingestion-timestamp":
			m = types.Column{Name: "ts", Type: types.BigIntType}
		}
		columns = append(columns, m)
	}
	what := func(rec arrow.RecordBatch, r int) string {
		if a := rec.Column(2).(*array.String); !a.IsNull(r) {
			return a.Value(r)
		}
		return ""
	}
	e := cdc.Envelope{Name: name, Columns: columns}
	e.Prepare = func(ctx context.Context, rec arrow.RecordBatch, mem memory.Allocator) (cdc.Prepared, error) {
		return cdc.NewPartial(ctx, rec, 1, func(r int) bool { return what(rec, r) == "update" }, wanted, mem)
	}
	e.Row = func(rec arrow.RecordBatch, p cdc.Prepared, r int, out *cdc.Rows) error {
		kind := what(rec, r)
		switch kind {
		case "insert", "update", "delete":
		default:
			return fmt.Errorf("the change type = %q is unknown: insert, update and delete are known", kind)
		}
		data := rec.Column(0)
		if data.IsNull(r) {
			return fmt.Errorf("the member data of a change %q is null", kind)
		}
		out.Metadata(func(key int, b array.Builder) {
			if c.Metadata[key] == "ingestion-timestamp" {
				cdc.Millis(b, rec.Column(3+key), r, 1000)
				return
			}
			types.AppendFrom(b, rec.Column(3+key), r)
		})
		img := cdc.OfStruct(data, r)
		switch kind {
		case "insert":
			if err := out.Check(img); err != nil {
				return err
			}
			out.Add(stream.Insert, img)
		case "delete":
			out.Add(stream.Delete, img)
		case "update":
			old, err := p.(*cdc.Partial).Image(r, 0, wanted, img)
			if err != nil {
				return err
			}
			if err := out.Check(img); err != nil {
				return err
			}
			out.Add(stream.UpdateBefore, old)
			out.Add(stream.UpdateAfter, img)
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
	return cdc.Encoder(name, c, func(k stream.RowKind) (string, string) {
		if k.Retracts() {
			return `{"data":`, `,"type":"delete"}`
		}
		return `{"data":`, `,"type":"insert"}`
	})
}
