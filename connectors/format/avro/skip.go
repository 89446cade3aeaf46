package avro

import (
	"errors"
	"fmt"

	"github.com/hamba/avro/v2"
)

// skip makes what passes a value that nobody wants. Records may contain themselves.
func (cp *compiler) skip(w Schema) (skipper, error) {
	cp.depth++
	defer func() { cp.depth-- }()
	if cp.depth > maxDepth {
		return nil, errors.New("the schema is nested too deep")
	}
	switch s := deref(w).(type) {
	case *avro.NullSchema:
		return func(_ []byte, p int) (int, error) { return p, nil }, nil
	case *avro.UnionSchema:
		var branches []skipper
		for _, b := range s.Types() {
			f, err := cp.skip(b)
			if err != nil {
				return nil, err
			}
			branches = append(branches, f)
		}
		return func(b []byte, p int) (int, error) {
			i, p, err := long(b, p)
			if err != nil {
				return p, err
			}
			if i < 0 || i >= int64(len(branches)) {
				return p, fmt.Errorf("there is no branch %d of the union", i)
			}
			return branches[i](b, p)
		}, nil
	case *avro.ArraySchema:
		item, err := cp.skip(s.Items())
		if err != nil {
			return nil, err
		}
		return func(b []byte, p int) (int, error) {
			return blocks(b, p, func(p int) (int, error) { return item(b, p) })
		}, nil
	case *avro.MapSchema:
		item, err := cp.skip(s.Values())
		if err != nil {
			return nil, err
		}
		return func(b []byte, p int) (int, error) {
			return blocks(b, p, func(p int) (int, error) {
				_, p, err := chunk(b, p)
				if err != nil {
					return p, err
				}
				return item(b, p)
			})
		}, nil
	case *avro.RecordSchema:
		if f, ok := cp.skips[s.FullName()]; ok {
			return func(b []byte, p int) (int, error) { return (*f)(b, p) }, nil
		}
		var f skipper
		cp.skips[s.FullName()] = &f
		var fields []skipper
		for _, field := range s.Fields() {
			x, err := cp.skip(field.Type())
			if err != nil {
				return nil, err
			}
			fields = append(fields, x)
		}
		f = func(b []byte, p int) (int, error) {
			var err error
			for _, x := range fields {
				if p, err = x(b, p); err != nil {
					return p, err
				}
			}
			return p, nil
		}
		return f, nil
	case *avro.FixedSchema:
		return skipBytes(s.Size()), nil
	case *avro.EnumSchema:
		return skipLong, nil
	case *avro.PrimitiveSchema:
		switch s.Type() {
		case avro.Boolean:
			return skipBytes(1), nil
		case avro.Int, avro.Long:
			return skipLong, nil
		case avro.Float:
			return skipBytes(4), nil
		case avro.Double:
			return skipBytes(8), nil
		case avro.String, avro.Bytes:
			return func(b []byte, p int) (int, error) {
				_, p, err := chunk(b, p)
				return p, err
			}, nil
		}
	}
	return nil, fmt.Errorf("the writer's schema has %s, which is not supported", w.Type())
}

func skipBytes(n int) skipper {
	return func(b []byte, p int) (int, error) {
		if n > len(b)-p {
			return p, errShort
		}
		return p + n, nil
	}
}

func skipLong(b []byte, p int) (int, error) {
	_, p, err := long(b, p)
	return p, err
}
