// Package csv has the format 'csv': comma-separated values as RFC 4180 writes them, with the options of Flink's csv format and 'csv.header'.
//
// A record is a line; line breaks inside quotes belong to the value and stay as they are. Records end with LF or CR LF. A byte order mark in front is
// skipped. A cell is NULL when it is the null literal unquoted; without csv.null-literal that is the empty cell, for every type; a quoted empty cell is
// the empty string. Records that do not have as many cells as there are columns, blank lines (but for tables of one column, where it is a NULL), text that
// is not UTF-8, and cells that their type cannot take are bad records.
package csv

import (
	"fmt"
	"strings"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/types"
)

// Format is the csv format.
type Format struct{}

// Name is csv.
func (Format) Name() string { return "csv" }

// Options are those of Flink, and header.
func (Format) Options() []connectors.Option {
	return []connectors.Option{
		{Name: "header", Type: "boolean", Default: "false", Doc: "The first line of each file names its columns; they are matched by name. A sink writes the line."},
		{Name: "field-delimiter", Type: "string", Default: ",", Doc: `What stands between cells, one ASCII character; \t is a tab.`},
		{Name: "disable-quote-character", Type: "boolean", Default: "false", Doc: "Quotes have no meaning."},
		{Name: "quote-character", Type: "string", Default: `"`, Doc: "What stands around cells that contain delimiters, quotes or line breaks."},
		{Name: "allow-comments", Type: "boolean", Default: "false", Doc: "Lines that begin with # are skipped."},
		{Name: "ignore-parse-errors", Type: "boolean", Default: "false", Doc: "Cells that cannot be read are NULL, records that cannot be read are skipped; both are counted."},
		{Name: "array-element-delimiter", Type: "string", Default: ";", Doc: "What stands between the elements of an ARRAY and the fields of a ROW."},
		{Name: "escape-character", Type: "string", Doc: "The character that takes the meaning from the one behind it."},
		{Name: "null-literal", Type: "string", Doc: "The text that stands for NULL where it is not quoted; default: the empty cell."},
		{Name: "write-bigdecimal-in-scientific-notation", Type: "boolean", Default: "true", Doc: "How a sink writes DECIMAL: as 1E+3 where that is shorter, or always plain."},
	}
}

type config struct {
	delim      byte
	quote      byte // 0: none
	escape     byte // 0: none
	comments   bool
	ignore     bool
	header     bool
	scientific bool
	hasNull    bool
	null       string
	array      string
}

func oneChar(options map[string]string, name, def string) (byte, error) {
	v := connectors.GetString(options, name, def)
	switch v {
	case `\t`:
		v = "\t"
	case `\\`:
		v = `\`
	}
	if len(v) != 1 || v[0] >= 0x80 || v[0] == '\n' || v[0] == '\r' {
		return 0, fmt.Errorf("option 'csv.%s': '%s' is not one ASCII character", name, v)
	}
	return v[0], nil
}

func newConfig(options map[string]string) (config, error) {
	c := config{
		comments:   connectors.GetBool(options, "allow-comments", false),
		ignore:     connectors.GetBool(options, "ignore-parse-errors", false),
		header:     connectors.GetBool(options, "header", false),
		scientific: connectors.GetBool(options, "write-bigdecimal-in-scientific-notation", true),
		array:      connectors.GetString(options, "array-element-delimiter", ";"),
	}
	var err error
	if c.delim, err = oneChar(options, "field-delimiter", ","); err != nil {
		return c, err
	}
	if !connectors.GetBool(options, "disable-quote-character", false) {
		if c.quote, err = oneChar(options, "quote-character", `"`); err != nil {
			return c, err
		}
	} else if _, ok := options["quote-character"]; ok {
		return c, fmt.Errorf("options 'csv.quote-character' and 'csv.disable-quote-character' exclude each other: remove one")
	}
	if _, ok := options["escape-character"]; ok {
		if c.escape, err = oneChar(options, "escape-character", ""); err != nil {
			return c, err
		}
	}
	if c.quote == c.delim || c.escape != 0 && (c.escape == c.delim || c.escape == c.quote) {
		return c, fmt.Errorf("options 'csv.field-delimiter', 'csv.quote-character' and 'csv.escape-character' must be different characters")
	}
	if c.array == "" {
		return c, fmt.Errorf("option 'csv.array-element-delimiter' is empty")
	}
	c.null, c.hasNull = options["null-literal"]
	c.hasNull = c.hasNull && c.null != "" // the empty cell is what it is without the option
	if strings.ContainsAny(c.null, "\r\n"+string(rune(c.delim))) || c.quote != 0 && strings.IndexByte(c.null, c.quote) >= 0 {
		return c, fmt.Errorf("option 'csv.null-literal': '%s' has a delimiter, a quote or a line break in it", c.null)
	}
	return c, nil
}

// Check validates options and columns.
func (f Format) Check(c connectors.FormatConfig) error {
	if err := connectors.CheckOptions("format 'csv'", c.Options, f.Options()); err != nil {
		return err
	}
	if _, err := newConfig(c.Options); err != nil {
		return err
	}
	if len(c.Columns) == 0 {
		return fmt.Errorf("table %s: the format 'csv' needs a column", c.Table)
	}
	for _, col := range c.Columns {
		if err := checkType(col.Type, 0); err != nil {
			return fmt.Errorf("table %s, column %s: %w", c.Table, col.Name, err)
		}
	}
	return nil
}

func checkType(t types.Type, depth int) error {
	bad := func(why string) error {
		return fmt.Errorf("the format 'csv' has no form for %s%s; the format 'json' has", t.WithNull(true), why)
	}
	switch t.Kind {
	case types.Map, types.Multiset:
		return bad("")
	case types.Array:
		if depth > 0 {
			return bad(" inside of another ARRAY or ROW")
		}
		return checkType(*t.Elem, depth+1)
	case types.Row:
		if depth > 0 {
			return bad(" inside of another ARRAY or ROW")
		}
		for _, f := range t.Fields {
			if err := checkType(f.Type, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
