// Package builtin lists the connectors and formats that the library has without options: nothing in it talks to a network.
package builtin

import (
	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/filesystem"
	"github.com/weir-sql/weir/connectors/format/csv"
	"github.com/weir-sql/weir/connectors/format/json"
	"github.com/weir-sql/weir/connectors/memory"
)

// Connectors returns the connectors, new for each session.
func Connectors() []connectors.Connector {
	return []connectors.Connector{filesystem.Connector{}, memory.New()}
}

// Formats returns the formats.
func Formats() []connectors.Format { return []connectors.Format{csv.Format{}, json.Format{}} }
