// Package builtin lists the connectors and formats that the library links: none of them talks to a network.
package builtin

import (
	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/blackhole"
	"github.com/weir-sql/weir/connectors/datagen"
	"github.com/weir-sql/weir/connectors/filesystem"
	"github.com/weir-sql/weir/connectors/format/avro"
	"github.com/weir-sql/weir/connectors/format/canal"
	"github.com/weir-sql/weir/connectors/format/csv"
	"github.com/weir-sql/weir/connectors/format/debezium"
	"github.com/weir-sql/weir/connectors/format/json"
	"github.com/weir-sql/weir/connectors/format/maxwell"
	"github.com/weir-sql/weir/connectors/format/parquet"
	"github.com/weir-sql/weir/connectors/format/raw"
	"github.com/weir-sql/weir/connectors/memory"
	"github.com/weir-sql/weir/connectors/print"
	"github.com/weir-sql/weir/connectors/test"
)

// Connectors returns new connectors: those that keep tables (memory, test) share none with another call.
func Connectors() []connectors.Connector {
	return []connectors.Connector{
		blackhole.Connector{}, datagen.Connector{}, filesystem.Connector{}, memory.New(), print.Connector{}, test.NewRegistry().Connector(),
	}
}

// Formats returns the formats.
func Formats() []connectors.Format {
	return []connectors.Format{avro.Format{}, canal.Format{}, csv.Format{}, debezium.Format{}, json.Format{}, maxwell.Format{}, parquet.Format{}, raw.Format{}}
}
