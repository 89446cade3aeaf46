// Package fake has tables without a connector, for the planner's tests.
package fake

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/types"
)

// Table is the connector's side of a table that is nowhere.
type Table struct {
	Columns   types.Schema
	Metadata  types.Schema
	Writable  map[string]bool
	IsBounded bool
	Gives     string
	Takes     string
	Supplies  bool
	Inferred  map[string]string
}

// InferredOptions are what inference found beside the columns, as of connectors.InferredTable.
func (t *Table) InferredOptions() map[string]string { return t.Inferred }

// Schema implements catalog.ConnectorTable.
func (t *Table) Schema() types.Schema { return t.Columns }

// MetadataKeys implements catalog.ConnectorTable.
func (t *Table) MetadataKeys() types.Schema { return t.Metadata }

// MetadataWritable implements catalog.ConnectorTable.
func (t *Table) MetadataWritable(key string) bool { return t.Writable[key] }

// Bounded implements catalog.ConnectorTable.
func (t *Table) Bounded() bool { return t.IsBounded }

// ChangelogKinds implements catalog.ConnectorTable.
func (t *Table) ChangelogKinds() string { return t.Gives }

// AcceptsKinds implements catalog.ConnectorTable.
func (t *Table) AcceptsKinds() string { return t.Takes }

// RowEstimate implements catalog.ConnectorTable.
func (t *Table) RowEstimate() int64 { return -1 }

// SuppliesWatermarks implements catalog.ConnectorTable.
func (t *Table) SuppliesWatermarks() bool { return t.Supplies }

// Connect makes fake tables. The connectors are: memory and filesystem (bounded), test (unbounded, 'changelog-mode'), kafka (unbounded, metadata), print
// (takes all), log (takes inserts), upsert (takes upserts). A filesystem table without columns has name STRING, ts TIMESTAMP(3), n BIGINT.
func Connect(_ context.Context, t *catalog.Table, options map[string]string) (catalog.ConnectorTable, error) {
	f := &Table{Columns: t.PhysicalSchema(), Gives: "I", Takes: "I"}
	known := map[string]bool{"connector": true, "format": true, "path": true, "csv.header": true, "changelog-mode": true, "topic": true}
	for k := range options {
		if !known[k] && !strings.HasPrefix(k, "properties.") {
			return nil, fmt.Errorf("unknown option '%s'", k)
		}
	}
	switch c := options["connector"]; c {
	case "memory":
		f.IsBounded, f.Takes = true, "all"
	case "filesystem":
		f.IsBounded = true
		f.Metadata = types.Schema{{Name: "file.path", Type: types.StringType.NotNull()}}
		if f.Columns == nil {
			f.Columns = types.Schema{{Name: "name", Type: types.StringType}, {Name: "ts", Type: types.TimestampOf(3)}, {Name: "n", Type: types.BigIntType}}
			if options["format"] == "csv" && options["csv.header"] == "" {
				f.Inferred = map[string]string{"csv.header": "true"}
			}
		}
	case "test":
		f.Takes = "all"
		if m := options["changelog-mode"]; m != "" {
			f.Gives = m
		}
	case "kafka":
		f.Supplies = options["topic"] == "supplies"
		f.Metadata = types.Schema{{Name: "timestamp", Type: types.TimestampLTZOf(3).NotNull()}, {Name: "partition", Type: types.IntType.NotNull()}}
		f.Writable = map[string]bool{"timestamp": true}
	case "print":
		f.Gives, f.Takes = "", "all"
	case "log":
		f.Gives = ""
	case "upsert":
		f.Takes, f.Gives = "I,UA,D", "I,UA,D"
	default:
		return nil, fmt.Errorf("unknown connector '%s'", c)
	}
	return f, nil
}
