package avro

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/hamba/avro/v2"

	"github.com/weir-sql/weir/types"
)

// Schema is an Avro schema.
type Schema = avro.Schema

// Parse reads the JSON of a schema.
func Parse(text string) (Schema, error) {
	s, err := avro.ParseWithCache(text, "", &avro.SchemaCache{})
	if err != nil {
		return nil, fmt.Errorf("the Avro schema cannot be read: %w", err)
	}
	return s, nil
}

var nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Derive makes the schema of columns as Flink does: a record of the namespace org.apache.flink.avro.generated, unions with null for what may be NULL. With
// legacy a TIMESTAMP is a timestamp-millis, and TIMESTAMP_LTZ has no form; otherwise they are local-timestamp-millis (micros) and timestamp-millis (micros).
func Derive(columns types.Schema, legacy bool) (Schema, error) {
	d := deriver{legacy: legacy}
	var fields []types.Field
	for _, c := range columns {
		fields = append(fields, types.Field{Name: c.Name, Type: c.Type})
	}
	rec, err := d.record(fields, "record")
	if err != nil {
		return nil, err
	}
	rec["namespace"] = "org.apache.flink.avro.generated"
	text, err := json.Marshal(rec)
	if err != nil {
		return nil, err
	}
	return Parse(string(text))
}

type deriver struct{ legacy bool }

type object = map[string]any

func (d *deriver) record(fields []types.Field, name string) (object, error) {
	list := make([]any, 0, len(fields))
	for _, f := range fields {
		if !nameForm.MatchString(f.Name) {
			return nil, fmt.Errorf("column %s: the name is none of Avro's: letters, digits and _", f.Name)
		}
		t, err := d.schema(f.Type, name+"_"+f.Name)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
		field := object{"name": f.Name, "type": t}
		if f.Type.Nullable {
			field["default"] = nil
		}
		list = append(list, field)
	}
	return object{"type": "record", "name": name, "fields": list}, nil
}

func (d *deriver) schema(t types.Type, name string) (any, error) {
	s, err := d.notNull(t, name)
	if err != nil {
		return nil, err
	}
	if t.Nullable && t.Kind != types.Null {
		return []any{"null", s}, nil
	}
	return s, nil
}

func logical(base, name string) object { return object{"type": base, "logicalType": name} }

func (d *deriver) notNull(t types.Type, name string) (any, error) {
	switch t.Kind {
	case types.Null:
		return "null", nil
	case types.Boolean:
		return "boolean", nil
	case types.TinyInt, types.SmallInt, types.Int:
		return "int", nil
	case types.BigInt:
		return "long", nil
	case types.Float:
		return "float", nil
	case types.Double:
		return "double", nil
	case types.Char, types.VarChar:
		return "string", nil
	case types.Binary, types.VarBinary:
		return "bytes", nil
	case types.Decimal:
		o := logical("bytes", "decimal")
		o["precision"], o["scale"] = t.Precision, t.Scale
		return o, nil
	case types.Date:
		return logical("int", "date"), nil
	case types.Time:
		if t.Precision > 3 {
			return nil, fmt.Errorf("the format 'avro' has no form for %s: TIME has up to three digits there", t.WithNull(true))
		}
		return logical("int", "time-millis"), nil
	case types.Timestamp:
		switch {
		case t.Precision <= 3 && d.legacy:
			return logical("long", "timestamp-millis"), nil
		case d.legacy:
			return nil, fmt.Errorf("the format 'avro' has no form for %s: TIMESTAMP has up to three digits there; 'timestamp_mapping.legacy' = 'false' allows six", t.WithNull(true))
		case t.Precision <= 3:
			return logical("long", "local-timestamp-millis"), nil
		case t.Precision <= 6:
			return logical("long", "local-timestamp-micros"), nil
		}
	case types.TimestampLTZ:
		switch {
		case d.legacy:
			return nil, fmt.Errorf("the format 'avro' has no form for %s unless 'timestamp_mapping.legacy' = 'false'", t.WithNull(true))
		case t.Precision <= 3:
			return logical("long", "timestamp-millis"), nil
		case t.Precision <= 6:
			return logical("long", "timestamp-micros"), nil
		}
	case types.Array:
		items, err := d.schema(*t.Elem, name)
		return object{"type": "array", "items": items}, err
	case types.Map, types.Multiset:
		key, val := t.Key, t.Elem
		if t.Kind == types.Multiset {
			i := types.IntType.NotNull()
			key, val = t.Elem, &i
		}
		if !key.IsText() {
			return nil, fmt.Errorf("the format 'avro' has no form for %s: keys of maps must be STRING", t.WithNull(true))
		}
		values, err := d.schema(*val, name)
		return object{"type": "map", "values": values}, err
	case types.Row:
		return d.record(t.Fields, name)
	}
	return nil, fmt.Errorf("the format 'avro' has no form for %s", t.WithNull(true))
}
