package avro

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/hamba/avro/v2"

	"github.com/weir-sql/weir/connectors/internal/colbuf"
	"github.com/weir-sql/weir/types"
)

// Reader reads records of one writer's schema into columns. It belongs to one goroutine.
type Reader struct {
	fields []fieldReader
	// missing are the columns that the writer's schema does not have: they are NULL.
	missing []int
	texts   colbuf.Texts
}

type fieldReader struct {
	col  int // -1: skipped
	name string
	read valueReader
	skip skipper
}

// valueReader reads a value at p into c and returns the place behind it.
type valueReader func(b []byte, p int, c *colbuf.Col) (int, error)

// skipper returns the place behind a value.
type skipper func(b []byte, p int) (int, error)

var errShort = errors.New("the record is cut off")

// NewReader matches the fields of a writer's schema to columns, by name and with case.
func NewReader(w Schema, columns types.Schema) (*Reader, error) {
	rec, ok := deref(w).(*avro.RecordSchema)
	if !ok {
		return nil, fmt.Errorf("the writer's schema is %s, not a record", types.Article(string(w.Type())))
	}
	r := &Reader{}
	found := make([]bool, len(columns))
	cp := &compiler{r: r, skips: map[string]*skipper{}}
	for _, f := range rec.Fields() {
		fr := fieldReader{col: columns.Index(f.Name()), name: f.Name()}
		var err error
		if fr.col >= 0 {
			found[fr.col] = true
			if fr.read, err = cp.reader(f.Type(), columns[fr.col].Type); err != nil {
				return nil, fmt.Errorf("column %s: %w", f.Name(), err)
			}
		} else if fr.skip, err = cp.skip(f.Type()); err != nil {
			return nil, err
		}
		r.fields = append(r.fields, fr)
	}
	for i, c := range columns {
		if !found[i] {
			if !c.Type.Nullable {
				return nil, fmt.Errorf("column %s is NOT NULL, and the writer's schema has no such field", c.Name)
			}
			r.missing = append(r.missing, i)
		}
	}
	return r, nil
}

// Record reads the record at p into the columns, a value each, and returns the place behind it. After an error columns may have been put to.
func (r *Reader) Record(b []byte, p int, cols []*colbuf.Col) (int, error) {
	var err error
	for i := range r.fields {
		f := &r.fields[i]
		if f.col >= 0 {
			p, err = f.read(b, p, cols[f.col])
		} else {
			p, err = f.skip(b, p)
		}
		if err != nil {
			return p, fmt.Errorf("field %s: %w", f.name, err)
		}
	}
	for _, i := range r.missing {
		cols[i].PutNull()
	}
	return p, nil
}

func deref(s Schema) Schema {
	if r, ok := s.(*avro.RefSchema); ok {
		return r.Schema()
	}
	return s
}

type compiler struct {
	r     *Reader
	skips map[string]*skipper // of records, which may contain themselves
	depth int
}

func long(b []byte, p int) (int64, int, error) {
	v, n := binary.Uvarint(b[min(p, len(b)):])
	if n <= 0 {
		return 0, p, errShort
	}
	return int64(v>>1) ^ -int64(v&1), p + n, nil
}

// chunk reads a length and so many bytes.
func chunk(b []byte, p int) ([]byte, int, error) {
	n, p, err := long(b, p)
	if err != nil || n < 0 || n > int64(len(b)-p) {
		return nil, p, errShort
	}
	return b[p : p+int(n)], p + int(n), nil
}

// logicalSchema returns the logical type of a schema, nil for none that the library knows, and its name as written.
func logicalSchema(s Schema) (l avro.LogicalSchema, name any) {
	switch s := s.(type) {
	case *avro.PrimitiveSchema:
		return s.Logical(), s.Prop("logicalType")
	case *avro.FixedSchema:
		return s.Logical(), s.Prop("logicalType")
	}
	return nil, nil
}

func logicalOf(s Schema) (avro.LogicalType, error) {
	l, odd := logicalSchema(s)
	if l != nil {
		return l.Type(), nil
	}
	if name, ok := odd.(string); ok {
		return "", fmt.Errorf("the logical type %s of the writer's schema is not supported", name)
	}
	return "", nil
}

// decimalOf is for schemas whose logicalOf is Decimal.
func decimalOf(s Schema) *avro.DecimalLogicalSchema {
	l, _ := logicalSchema(s)
	return l.(*avro.DecimalLogicalSchema)
}

func misfit(w Schema, t types.Type) error {
	what := string(w.Type())
	if l, _ := logicalOf(w); l != "" {
		what += " (" + string(l) + ")"
	}
	return fmt.Errorf("the writer's schema has %s, which is no %s", what, t.WithNull(true))
}

const maxDepth = 64

// reader makes the reader of values of w into columns of type t.
func (cp *compiler) reader(w Schema, t types.Type) (valueReader, error) {
	cp.depth++
	defer func() { cp.depth-- }()
	if cp.depth > maxDepth {
		return nil, errors.New("the schema is nested too deep")
	}
	w = deref(w)
	switch s := w.(type) {
	case *avro.NullSchema:
		return func(_ []byte, p int, c *colbuf.Col) (int, error) { return p, putNull(c) }, nil
	case *avro.UnionSchema:
		return cp.union(s, t)
	case *avro.ArraySchema:
		if t.Kind != types.Array {
			return nil, misfit(w, t)
		}
		item, err := cp.reader(s.Items(), *t.Elem)
		if err != nil {
			return nil, err
		}
		return func(b []byte, p int, c *colbuf.Col) (int, error) {
			p, err := blocks(b, p, func(p int) (int, error) { return item(b, p, c.Kids[0]) })
			if err == nil {
				c.PutList()
			}
			return p, err
		}, nil
	case *avro.MapSchema:
		return cp.mapReader(s, t)
	case *avro.RecordSchema:
		return cp.row(s, t)
	case *avro.EnumSchema:
		if !t.IsText() {
			return nil, misfit(w, t)
		}
		symbols := s.Symbols()
		return func(b []byte, p int, c *colbuf.Col) (int, error) {
			i, p, err := long(b, p)
			if err != nil {
				return p, err
			}
			if i < 0 || i >= int64(len(symbols)) {
				return p, fmt.Errorf("there is no symbol %d", i)
			}
			return p, cp.r.texts.Put(c, []byte(symbols[i]))
		}, nil
	case *avro.FixedSchema:
		n := s.Size()
		put, err := cp.bytes(w, t)
		if err != nil {
			return nil, err
		}
		return func(b []byte, p int, c *colbuf.Col) (int, error) {
			if n > len(b)-p {
				return p, errShort
			}
			return p + n, put(c, b[p:p+n])
		}, nil
	case *avro.PrimitiveSchema:
		return cp.primitive(s, t)
	}
	return nil, misfit(w, t)
}

func putNull(c *colbuf.Col) error {
	if !c.Type.Nullable {
		return errors.New("NULL in a column that is NOT NULL")
	}
	c.PutNull()
	return nil
}

func (cp *compiler) union(s *avro.UnionSchema, t types.Type) (valueReader, error) {
	var branches []valueReader
	var errs []error
	for _, b := range s.Types() {
		r, err := cp.reader(b, t)
		branches, errs = append(branches, r), append(errs, err)
		if err != nil && len(s.Types()) <= 2 {
			return nil, err
		}
	}
	return func(b []byte, p int, c *colbuf.Col) (int, error) {
		i, p, err := long(b, p)
		if err != nil {
			return p, err
		}
		if i < 0 || i >= int64(len(branches)) {
			return p, fmt.Errorf("there is no branch %d of the union", i)
		}
		if errs[i] != nil {
			return p, errs[i]
		}
		return branches[i](b, p, c)
	}, nil
}

// blocks reads the blocks of an array or map.
func blocks(b []byte, p int, one func(p int) (int, error)) (int, error) {
	for {
		n, q, err := long(b, p)
		if err != nil {
			return q, err
		}
		p = q
		switch {
		case n == 0:
			return p, nil
		case n < 0: // the size of the block in bytes follows
			if n == math.MinInt64 {
				return p, errShort
			}
			n = -n
			if _, p, err = long(b, p); err != nil {
				return p, err
			}
		}
		if n > int64(len(b)) && n > 1<<20 { // each takes a byte, unless it is null
			return p, errShort
		}
		for range n {
			if p, err = one(p); err != nil {
				return p, err
			}
		}
	}
}

func (cp *compiler) mapReader(s *avro.MapSchema, t types.Type) (valueReader, error) {
	if t.Kind != types.Map && t.Kind != types.Multiset {
		return nil, misfit(s, t)
	}
	key, val := t.Key, t.Elem
	if t.Kind == types.Multiset {
		i := types.IntType.NotNull()
		key, val = t.Elem, &i
	}
	if !key.IsText() {
		return nil, misfit(s, t)
	}
	item, err := cp.reader(s.Values(), *val)
	if err != nil {
		return nil, err
	}
	return func(b []byte, p int, c *colbuf.Col) (int, error) {
		p, err := blocks(b, p, func(p int) (int, error) {
			k, p, err := chunk(b, p)
			if err != nil {
				return p, err
			}
			if err := cp.text(c.Kids[0], k); err != nil {
				return p, err
			}
			return item(b, p, c.Kids[1])
		})
		if err == nil {
			c.PutList()
		}
		return p, err
	}, nil
}

func (cp *compiler) row(s *avro.RecordSchema, t types.Type) (valueReader, error) {
	if t.Kind != types.Row {
		return nil, misfit(s, t)
	}
	columns := make(types.Schema, len(t.Fields))
	for i, f := range t.Fields {
		columns[i] = types.Column{Name: f.Name, Type: f.Type}
	}
	var fields []fieldReader
	found := make([]bool, len(columns))
	for _, f := range s.Fields() {
		fr := fieldReader{col: columns.Index(f.Name()), name: f.Name()}
		var err error
		if fr.col >= 0 {
			found[fr.col] = true
			fr.read, err = cp.reader(f.Type(), columns[fr.col].Type)
		} else {
			fr.skip, err = cp.skip(f.Type())
		}
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name(), err)
		}
		fields = append(fields, fr)
	}
	for i, c := range columns {
		if !found[i] && !c.Type.Nullable {
			return nil, fmt.Errorf("field %s is NOT NULL, and the writer's schema has no such field", c.Name)
		}
	}
	return func(b []byte, p int, c *colbuf.Col) (int, error) {
		var err error
		for i := range fields {
			f := &fields[i]
			if f.col >= 0 {
				p, err = f.read(b, p, c.Kids[f.col])
			} else {
				p, err = f.skip(b, p)
			}
			if err != nil {
				return p, fmt.Errorf("field %s: %w", f.name, err)
			}
		}
		for i, ok := range found {
			if !ok {
				c.Kids[i].PutNull()
			}
		}
		c.PutRow()
		return p, nil
	}, nil
}

func (cp *compiler) text(c *colbuf.Col, b []byte) error {
	if !utf8.Valid(b) {
		return errors.New("the text is not UTF-8")
	}
	return cp.r.texts.Put(c, b)
}

// bytes makes what puts the bytes of bytes, fixed or string.
func (cp *compiler) bytes(w Schema, t types.Type) (func(c *colbuf.Col, b []byte) error, error) {
	l, err := logicalOf(w)
	if err != nil {
		return nil, err
	}
	switch {
	case l == avro.Decimal && t.Kind == types.Decimal:
		scale := decimalOf(w).Scale()
		return func(c *colbuf.Col, b []byte) error { return putDecimal(c, b, scale) }, nil
	case l == avro.Decimal, l == avro.Duration:
		return nil, misfit(w, t)
	case t.IsBytes():
		return colbuf.PutRaw, nil
	case t.IsText() && w.Type() != avro.Fixed:
		return cp.text, nil
	}
	return nil, misfit(w, t)
}

// putDecimal puts a number in two's complement, big-endian, of the writer's scale.
func putDecimal(c *colbuf.Col, b []byte, scale int) error {
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	for ; scale < c.Type.Scale; scale++ {
		v.Mul(v, big.NewInt(10))
	}
	if scale > c.Type.Scale {
		ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale-c.Type.Scale)), nil)
		q, r := new(big.Int).QuoRem(v, ten, new(big.Int))
		if r.Sign() != 0 {
			return fmt.Errorf("a number with %d digits behind the point does not fit %s", scale, types.Article(c.Type.WithNull(true).String()))
		}
		v = q
	}
	if new(big.Int).Abs(v).Cmp(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(c.Type.Precision)), nil)) >= 0 {
		return fmt.Errorf("%s is out of range of %s", v, c.Type.WithNull(true))
	}
	c.PutDec(decimal128.FromBigInt(v))
	return nil
}

func (cp *compiler) primitive(s *avro.PrimitiveSchema, t types.Type) (valueReader, error) {
	l, err := logicalOf(s)
	if err != nil {
		if !t.IsDatetime() { // as what it is based on
			l = ""
		} else {
			return nil, err
		}
	}
	switch s.Type() {
	case avro.Boolean:
		if t.Kind != types.Boolean {
			return nil, misfit(s, t)
		}
		return func(b []byte, p int, c *colbuf.Col) (int, error) {
			if p >= len(b) {
				return p, errShort
			}
			c.PutBool(b[p] != 0)
			return p + 1, nil
		}, nil
	case avro.Int, avro.Long:
		put, err := integer(s, l, t)
		if err != nil {
			return nil, err
		}
		return func(b []byte, p int, c *colbuf.Col) (int, error) {
			v, p, err := long(b, p)
			if err != nil {
				return p, err
			}
			return p, put(c, v)
		}, nil
	case avro.Float, avro.Double:
		if t.Kind != types.Float && t.Kind != types.Double {
			return nil, misfit(s, t)
		}
		wide := s.Type() == avro.Double
		if wide && t.Kind == types.Float {
			return nil, misfit(s, t)
		}
		return func(b []byte, p int, c *colbuf.Col) (int, error) {
			var v float64
			switch {
			case wide && len(b)-p >= 8:
				v = math.Float64frombits(binary.LittleEndian.Uint64(b[p:]))
				p += 8
			case !wide && len(b)-p >= 4:
				f := math.Float32frombits(binary.LittleEndian.Uint32(b[p:]))
				p += 4
				if c.Type.Kind == types.Float {
					c.PutF32(f)
					return p, nil
				}
				v = float64(f)
			default:
				return p, errShort
			}
			c.PutF64(v)
			return p, nil
		}, nil
	case avro.String, avro.Bytes:
		put, err := cp.bytes(s, t)
		if err != nil {
			return nil, err
		}
		return func(b []byte, p int, c *colbuf.Col) (int, error) {
			v, p, err := chunk(b, p)
			if err != nil {
				return p, err
			}
			return p, put(c, v)
		}, nil
	}
	return nil, misfit(s, t)
}

// integer makes what puts an int or long.
func integer(s Schema, l avro.LogicalType, t types.Type) (func(c *colbuf.Col, v int64) error, error) {
	outOf := func(v int64) error { return fmt.Errorf("%d is out of range of %s", v, t.WithNull(true)) }
	switch t.Kind {
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		// A time read as a number is the number that stands there.
		return func(c *colbuf.Col, v int64) error {
			if !colbuf.PutInt(c, v) {
				return outOf(v)
			}
			return nil
		}, nil
	case types.Float:
		if l == "" && s.Type() == avro.Int {
			return func(c *colbuf.Col, v int64) error { c.PutF32(float32(v)); return nil }, nil
		}
	case types.Double:
		if l == "" {
			return func(c *colbuf.Col, v int64) error { c.PutF64(float64(v)); return nil }, nil
		}
	case types.Date:
		if l == avro.Date || l == "" && s.Type() == avro.Int {
			return func(c *colbuf.Col, v int64) error {
				if int64(int32(v)) != v {
					return outOf(v)
				}
				c.PutI32(int32(v))
				return nil
			}, nil
		}
	case types.Time:
		div := int64(0)
		switch {
		case l == avro.TimeMillis, l == "" && s.Type() == avro.Int:
			div = 1
		case l == avro.TimeMicros:
			div = 1000
		}
		if div > 0 {
			return func(c *colbuf.Col, v int64) error {
				if v < 0 || v/div >= 24*3600*1000 {
					return outOf(v)
				}
				c.PutI32(int32(v / div))
				return nil
			}, nil
		}
	case types.Timestamp, types.TimestampLTZ:
		mul, div := int64(0), int64(1) // of microseconds
		switch {
		case l == avro.TimestampMillis, l == avro.LocalTimestampMillis, l == "" && s.Type() == avro.Long: // plain long: milliseconds, as in Flink
			mul = types.MicrosPerMilli
		case l == avro.TimestampMicros, l == avro.LocalTimestampMicros:
			mul = 1
		}
		if mul > 0 {
			if t.Precision > 6 {
				mul *= 1000
			}
			// What is finer than the column is cut off, as a CAST does.
			for p := t.Precision; p < 6 && t.Precision <= 6; p++ {
				div *= 10
			}
			return func(c *colbuf.Col, v int64) error {
				u := v * mul
				if u/mul != v {
					return outOf(v)
				}
				if r := u % div; r != 0 {
					if u -= r; r < 0 {
						u -= div
					}
				}
				c.PutI64(u)
				return nil
			}, nil
		}
	}
	return nil, misfit(s, t)
}
