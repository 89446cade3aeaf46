// Package all lists the connectors and formats that the command links beside those of builtin.
package all

import (
	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/format/avroconfluent"
	"github.com/weir-sql/weir/connectors/kafka"
)

// Connectors returns the connectors beyond builtin.Connectors.
func Connectors() []connectors.Connector {
	return []connectors.Connector{kafka.Connector{}, kafka.Upsert{}}
}

// Formats returns the formats beyond builtin.Formats: those that talk to a network.
func Formats() []connectors.Format { return []connectors.Format{avroconfluent.Format{}} }
