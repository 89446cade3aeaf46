// Package parquet has the format 'parquet', on Apache Arrow's reader and writer.
//
// Columns are matched by name, with case. A column is converted where that is exact: integers to wider ones (to narrower ones when the values fit), integers
// and decimals to wider DECIMAL, FLOAT to DOUBLE, times and timestamps of any unit (INT96 too) to the declared precision, cut behind it. A value that does
// not fit its column is an error that names it. Timestamps are read as UTC; what an Arrow schema in the file's metadata says beside the columns is ignored.
package parquet

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/types"
)

// Format is the parquet format.
type Format struct{}

// Name is parquet.
func (Format) Name() string { return "parquet" }

// Options are those of Flink that have a meaning here.
func (Format) Options() []connectors.Option {
	return []connectors.Option{
		{Name: "compression", Type: "UNCOMPRESSED|SNAPPY|GZIP|ZSTD|BROTLI|LZ4_RAW", Default: "SNAPPY", Doc: "How a sink compresses column chunks."},
		{Name: "utc-timezone", Type: "boolean", Default: "true", Doc: "Has no effect here: timestamps are UTC, never those of the machine's zone."},
		{Name: "timestamp.time.unit", Type: "millis|micros|nanos", Default: "micros", Doc: "The unit in which a sink writes timestamps; one that cannot hold a value is an error."},
		{Name: "write.int64.timestamp", Type: "boolean", Default: "true", Doc: "A sink writes timestamps as INT64 with their unit; false, for INT96, is not supported."},
	}
}

func codec(options map[string]string) compress.Compression {
	switch strings.ToUpper(connectors.GetString(options, "compression", "SNAPPY")) {
	case "UNCOMPRESSED":
		return compress.Codecs.Uncompressed
	case "GZIP":
		return compress.Codecs.Gzip
	case "ZSTD":
		return compress.Codecs.Zstd
	case "BROTLI":
		return compress.Codecs.Brotli
	case "LZ4_RAW":
		return compress.Codecs.Lz4Raw
	}
	return compress.Codecs.Snappy
}

// Check validates options and columns.
func (f Format) Check(c connectors.FormatConfig) error {
	if err := connectors.CheckOptions("format 'parquet'", c.Options, f.Options()); err != nil {
		return err
	}
	if !connectors.GetBool(c.Options, "write.int64.timestamp", true) {
		return fmt.Errorf("option 'parquet.write.int64.timestamp' = 'false' is not supported: INT96 timestamps are read, but not written")
	}
	for _, col := range c.Columns {
		if err := checkType(col.Type); err != nil {
			return fmt.Errorf("table %s, column %s: %w", c.Table, col.Name, err)
		}
	}
	return nil
}

func checkType(t types.Type) error {
	switch t.Kind {
	case types.IntervalDayTime, types.IntervalYearMonth, types.Null:
		return fmt.Errorf("the format 'parquet' has no form for %s", t.WithNull(true))
	case types.Array:
		return checkType(*t.Elem)
	case types.Map:
		if err := checkType(*t.Key); err != nil {
			return err
		}
		return checkType(*t.Elem)
	case types.Multiset:
		return checkType(*t.Elem)
	case types.Row:
		for _, f := range t.Fields {
			if err := checkType(f.Type); err != nil {
				return err
			}
		}
	}
	return nil
}
