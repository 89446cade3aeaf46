// Package all lists every connector and format that the command ships.
package all

import (
	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/builtin"
)

// Connectors returns the connectors, new for each session.
func Connectors() []connectors.Connector { return builtin.Connectors() }

// Formats returns the formats.
func Formats() []connectors.Format { return builtin.Formats() }
