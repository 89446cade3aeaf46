// Package all lists the connectors and formats that the command links beside those of builtin.
package all

import "github.com/weir-sql/weir/connectors"

// Connectors returns the connectors beyond builtin.Connectors: none yet.
func Connectors() []connectors.Connector { return nil }

// Formats returns the formats beyond builtin.Formats: none yet.
func Formats() []connectors.Format { return nil }
