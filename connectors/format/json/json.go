// Package json has the format 'json': one JSON document per line, with the options of Flink's json format.
//
// A document is an object, whose members are matched to columns by name and with case; of members that occur twice the last counts; members that are no
// column are skipped, columns that are no member are NULL. An array of objects gives one row for each. A blank line and the document null give none. A
// byte order mark at the start of a file is skipped. Anything else, text that is not UTF-8, and anything behind the document is a bad record.
package json

import (
	"fmt"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/types"
)

// Format is the json format.
type Format struct{}

// Name is json.
func (Format) Name() string { return "json" }

// Options are those of Flink.
func (Format) Options() []connectors.Option {
	return []connectors.Option{
		{Name: "fail-on-missing-field", Type: "boolean", Default: "false", Doc: "A record without a member for each column is bad; otherwise the column is NULL."},
		{Name: "ignore-parse-errors", Type: "boolean", Default: "false", Doc: "Fields that cannot be read are NULL, records that cannot be read are skipped; both are counted."},
		{Name: "timestamp-format.standard", Type: "SQL|ISO-8601", Default: "SQL", Doc: "How timestamps are written: with a blank or a T between date and time. Both are read."},
		{Name: "map-null-key.mode", Type: "FAIL|DROP|LITERAL", Default: "FAIL", Doc: "What a sink does with a MAP that has a NULL key."},
		{Name: "map-null-key.literal", Type: "string", Default: "null", Doc: "The key that is written for a NULL key with map-null-key.mode LITERAL."},
		{Name: "encode.decimal-as-plain-number", Type: "boolean", Default: "false", Doc: "A sink writes DECIMAL without exponent."},
		{Name: "encode.ignore-null-fields", Type: "boolean", Default: "false", Doc: "A sink leaves out members that are NULL."},
		{Name: "decode.json-parser.enabled", Type: "boolean", Default: "true", Doc: "Has no effect here: which of its two parsers Flink uses."},
	}
}

// Check validates options and columns.
func (f Format) Check(c connectors.FormatConfig) error {
	if err := connectors.CheckOptions("format 'json'", c.Options, f.Options()); err != nil {
		return err
	}
	if connectors.GetBool(c.Options, "fail-on-missing-field", false) && connectors.GetBool(c.Options, "ignore-parse-errors", false) {
		return fmt.Errorf("options 'json.fail-on-missing-field' and 'json.ignore-parse-errors' cannot both be true")
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
	case types.Map, types.Multiset:
		key := t.Key
		if t.Kind == types.Multiset {
			key = t.Elem
		}
		if !key.IsText() {
			return fmt.Errorf("the format 'json' has no form for %s: the names of members are text, so keys must be STRING", t.WithNull(true))
		}
		if t.Kind == types.Map {
			return checkType(*t.Elem)
		}
	case types.Array:
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
