package avro

import (
	"errors"
	"fmt"

	"github.com/hamba/avro/v2"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/types"
)

// Infer reads the columns off the schema in the header of a container file; sample must hold the header. Times of both kinds, timestamp and
// local-timestamp, are TIMESTAMP; of microseconds they need the mapping that is not the default.
func (Format) Infer(sample []byte, name string, eof bool, _ int, options map[string]string) (connectors.Inferred, error) {
	c, _, ok, err := head(sample, eof)
	if err == nil && !ok {
		err = fmt.Errorf("its header is longer than %d bytes: declare the columns", len(sample))
	}
	if err != nil {
		return connectors.Inferred{}, fmt.Errorf("%s: %w", name, err)
	}
	rec, ok := deref(c.schema).(*avro.RecordSchema)
	if !ok {
		return connectors.Inferred{}, fmt.Errorf("%s: the schema is %s, not a record", name, types.Article(string(c.schema.Type())))
	}
	var columns types.Schema
	for _, f := range rec.Fields() {
		t, err := typeOf(f.Type(), 0)
		if err == nil { // what the decoder would not read is none of a column
			_, err = (&compiler{r: &Reader{}, skips: map[string]*skipper{}}).reader(f.Type(), t)
		}
		if err != nil {
			return connectors.Inferred{}, fmt.Errorf("%s: field %s: %w: declare the columns that are wanted", name, f.Name(), err)
		}
		columns = append(columns, types.Column{Name: f.Name(), Type: t})
	}
	inf := connectors.Inferred{Columns: columns, Options: map[string]string{}}
	if _, given := options[legacyMapping]; !given {
		_, legacy := Derive(columns, true)
		if _, err := Derive(columns, false); legacy != nil && err == nil {
			inf.Options[legacyMapping] = "false"
		}
	}
	return inf, nil
}

// typeOf is the type of the values of a schema.
func typeOf(s Schema, depth int) (types.Type, error) {
	if depth > maxDepth {
		return types.Type{}, errors.New("the schema is nested too deep")
	}
	s = deref(s)
	l, err := logicalOf(s)
	if err != nil {
		l = "" // as what it is based on
	}
	switch l {
	case avro.Decimal:
		if d := decimalOf(s); d.Precision() >= 1 && d.Precision() <= types.MaxDecimalPrecision {
			return types.DecimalOf(d.Precision(), d.Scale()).NotNull(), nil
		}
		return types.Type{}, errors.New("the decimal has more digits than DECIMAL")
	case avro.Date:
		return types.DateType.NotNull(), nil
	case avro.TimeMillis:
		return types.TimeOf(3).NotNull(), nil
	case avro.TimestampMillis, avro.LocalTimestampMillis:
		return types.TimestampOf(3).NotNull(), nil
	case avro.TimestampMicros, avro.LocalTimestampMicros:
		return types.TimestampOf(6).NotNull(), nil
	}
	switch s := s.(type) {
	case *avro.UnionSchema:
		var of *types.Type
		nullable := false
		for _, b := range s.Types() {
			if b.Type() == avro.Null {
				nullable = true
				continue
			}
			t, err := typeOf(b, depth+1)
			if err != nil {
				return t, err
			}
			if of != nil {
				return t, errors.New("a union of several types is no column type")
			}
			of = &t
		}
		if of == nil {
			return types.Type{}, errors.New("it is always null")
		}
		return of.WithNull(of.Nullable || nullable), nil
	case *avro.ArraySchema:
		t, err := typeOf(s.Items(), depth+1)
		return types.ArrayOf(t).NotNull(), err
	case *avro.MapSchema:
		t, err := typeOf(s.Values(), depth+1)
		return types.MapOf(types.StringType.NotNull(), t).NotNull(), err
	case *avro.RecordSchema:
		var fields []types.Field
		for _, f := range s.Fields() {
			t, err := typeOf(f.Type(), depth+1)
			if err != nil {
				return t, fmt.Errorf("%s: %w", f.Name(), err)
			}
			fields = append(fields, types.Field{Name: f.Name(), Type: t})
		}
		return types.RowOf(fields...).NotNull(), nil
	case *avro.EnumSchema:
		return types.StringType.NotNull(), nil
	case *avro.FixedSchema:
		return types.BytesType.NotNull(), nil
	case *avro.PrimitiveSchema:
		switch s.Type() {
		case avro.Boolean:
			return types.BooleanType.NotNull(), nil
		case avro.Int:
			return types.IntType.NotNull(), nil
		case avro.Long:
			return types.BigIntType.NotNull(), nil
		case avro.Float:
			return types.FloatType.NotNull(), nil
		case avro.Double:
			return types.DoubleType.NotNull(), nil
		case avro.String:
			return types.StringType.NotNull(), nil
		case avro.Bytes:
			return types.BytesType.NotNull(), nil
		}
	}
	return types.Type{}, fmt.Errorf("%s is no column type", s.Type())
}
