// Package canal has the format 'canal-json': changes of a MySQL database as Canal writes them, an object with the arrays data and old, and type.
//
// INSERT gives +I for each element of data, UPDATE gives -U and +U (the row before has the values of old, and of data for what old does not have), DELETE
// gives -D. Changes of the structure of tables (isDdl) give no row. A null message gives none either. A sink writes +I and +U as INSERT, -U and -D as DELETE.
package canal

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/internal/cdc"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

const name = "canal-json"

// Format is the canal-json format.
type Format struct{}

// Name is canal-json.
func (Format) Name() string { return name }

// Options are those of Flink.
func (Format) Options() []connectors.Option {
	return cdc.Options(
		connectors.Option{Name: "database.include", Type: "string", Doc: "A regular expression: changes of other databases are left out. The whole name must match."},
		connectors.Option{Name: "table.include", Type: "string", Doc: "A regular expression: changes of other tables are left out. The whole name must match."})
}

// Check validates options and columns.
func (f Format) Check(c connectors.FormatConfig) error {
	for _, o := range []string{"database.include", "table.include"} {
		if _, err := include(c, o); err != nil {
			return err
		}
	}
	return cdc.Check(name, f.Options(), c)
}

func include(c connectors.FormatConfig, option string) (*regexp.Regexp, error) {
	v, ok := c.Options[option]
	if !ok {
		return nil, nil
	}
	re, err := regexp.Compile("^(?:" + v + ")$")
	if err != nil {
		return nil, fmt.Errorf("option 'canal-json.%s': %w", option, err)
	}
	return re, nil
}

// Changelog is all, both ways.
func (Format) Changelog() (gives, takes string) { return "all", "all" }

// Infer is not supported.
func (Format) Infer([]byte, string, bool, int, map[string]string) (connectors.Inferred, error) {
	return connectors.Inferred{}, errors.New("the format 'canal-json' cannot infer columns: declare them")
}

// Metadata are Flink's keys.
func (Format) Metadata() types.Schema {
	return types.Schema{
		{Name: "database", Type: types.StringType},
		{Name: "table", Type: types.StringType},
		{Name: "sql-type", Type: types.MapOf(types.StringType, types.IntType)},
		{Name: "pk-names", Type: types.ArrayOf(types.StringType)},
		{Name: "ingestion-timestamp", Type: types.TimestampLTZOf(3)},
		{Name: "event-timestamp", Type: types.TimestampLTZOf(3)},
	}
}

// The members of a record that are always read; the metadata comes behind them.
const (
	data = iota
	old
	typ
	database
	table
	isDDL
)

// Decoder returns a decoder.
func (f Format) Decoder(c connectors.FormatConfig) (connectors.Decoder, error) {
	if err := f.Check(c); err != nil {
		return nil, err
	}
	databases, _ := include(c, "database.include")
	tables, _ := include(c, "table.include")
	wanted := cdc.Wanted(c)
	columns := types.Schema{{Name: "data", Type: types.ArrayOf(cdc.Nullable(wanted))}, {Name: "old", Type: types.StringType}, {Name: "type", Type: types.StringType},
		{Name: "database", Type: types.StringType}, {Name: "table", Type: types.StringType}, {Name: "isDdl", Type: types.BooleanType}}
	var metadata types.Schema
	at := make([]int, len(c.Metadata)) // column of each key
	for k, key := range c.Metadata {
		i := f.Metadata().Index(key)
		if i < 0 {
			return nil, fmt.Errorf("the format 'canal-json' has no metadata '%s'", key)
		}
		m := f.Metadata()[i]
		metadata = append(metadata, m)
		switch key {
		case "database":
			at[k] = database
			continue
		case "table":
			at[k] = table
			continue
		case "sql-type":
			m.Name = "sqlType"
		case "pk-names":
			m.Name = "pkNames"
		case "ingestion-timestamp":
			m = types.Column{Name: "ts", Type: types.BigIntType}
		case "event-timestamp":
			m = types.Column{Name: "es", Type: types.BigIntType}
		}
		at[k] = len(columns)
		columns = append(columns, m)
	}
	text := func(rec arrow.RecordBatch, col, r int) string {
		if a := rec.Column(col).(*array.String); !a.IsNull(r) {
			return a.Value(r)
		}
		return ""
	}
	e := cdc.Envelope{Name: name, Columns: columns}
	e.Prepare = func(ctx context.Context, rec arrow.RecordBatch, mem memory.Allocator) (cdc.Prepared, error) {
		return cdc.NewPartial(ctx, rec, old, func(r int) bool { return text(rec, typ, r) == "UPDATE" }, wanted, mem)
	}
	e.Row = func(rec arrow.RecordBatch, p cdc.Prepared, r int, out *cdc.Rows) error {
		if databases != nil && !databases.MatchString(text(rec, database, r)) || tables != nil && !tables.MatchString(text(rec, table, r)) {
			return nil
		}
		kind := text(rec, typ, r)
		list := rec.Column(data).(*array.List)
		ddl := rec.Column(isDDL).(*array.Boolean)
		switch {
		case kind == "CREATE", kind != "TRUNCATE" && !ddl.IsNull(r) && ddl.Value(r):
			return nil
		case kind != "INSERT" && kind != "UPDATE" && kind != "DELETE":
			return fmt.Errorf("the change type = %q is unknown: INSERT, UPDATE and DELETE are known", kind)
		case list.IsNull(r):
			return fmt.Errorf("the member data of a change %q is null", kind)
		}
		out.Metadata(func(key int, b array.Builder) {
			switch c.Metadata[key] {
			case "ingestion-timestamp", "event-timestamp":
				cdc.Millis(b, rec.Column(at[key]), r, 1)
			default:
				types.AppendFrom(b, rec.Column(at[key]), r)
			}
		})
		from, to := list.ValueOffsets(r)
		// All are looked at before the first is added: a record is good or bad as a whole.
		var now, then []cdc.Image
		for j := int(from); j < int(to); j++ {
			if list.ListValues().IsNull(j) {
				return fmt.Errorf("an element of the member data is null")
			}
			img := cdc.OfStruct(list.ListValues(), j)
			now = append(now, img)
			if kind != "DELETE" {
				if err := out.Check(img); err != nil {
					return err
				}
			}
			if kind == "UPDATE" {
				before, err := p.(*cdc.Partial).Image(r, j-int(from), wanted, img)
				if err != nil {
					return err
				}
				then = append(then, before)
			}
		}
		for i, img := range now {
			switch kind {
			case "INSERT":
				out.Add(stream.Insert, img)
			case "DELETE":
				out.Add(stream.Delete, img)
			default:
				out.Add(stream.UpdateBefore, then[i])
				out.Add(stream.UpdateAfter, img)
			}
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
			return `{"data":[`, `],"type":"DELETE"}`
		}
		return `{"data":[`, `],"type":"INSERT"}`
	})
}
