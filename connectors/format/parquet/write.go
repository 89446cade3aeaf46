package parquet

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/types"
)

// NewFile starts a file.
func (f Format) NewFile(w io.Writer, c connectors.FormatConfig, mem memory.Allocator) (connectors.FileWriter, error) {
	fields := make([]arrow.Field, len(c.Columns))
	unit := map[string]arrow.TimeUnit{"millis": arrow.Millisecond, "micros": arrow.Microsecond, "nanos": arrow.Nanosecond}[connectors.GetEnum(c.Options, "timestamp.time.unit", "", "millis", "micros", "nanos")]
	_, unitGiven := c.Options["timestamp.time.unit"]
	p := &writer{columns: c.Columns}
	for i, col := range c.Columns {
		fields[i] = arrow.Field{Name: col.Name, Type: fileType(col.Type), Nullable: col.Type.Nullable}
	}
	p.schema = arrow.NewSchema(fields, nil)
	arrowOptions := []pqarrow.WriterOption{pqarrow.WithAllocator(mem)}
	if unitGiven {
		arrowOptions = append(arrowOptions, pqarrow.WithCoerceTimestamps(unit))
	}
	props := pq.NewWriterProperties(pq.WithAllocator(mem), pq.WithCompression(codec(c.Options)), pq.WithVersion(pq.V2_LATEST), pq.WithMaxRowGroupLength(1<<20))
	p.out.w = w
	var err error
	if p.w, err = pqarrow.NewFileWriter(p.schema, &p.out, props, pqarrow.NewArrowWriterProperties(arrowOptions...)); err != nil {
		return nil, err
	}
	return p, nil
}

// writer writes a file.
type writer struct {
	columns types.Schema
	schema  *arrow.Schema
	out     counter
	w       *pqarrow.FileWriter
	rows    int64
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// fileType is the type in the file: that of Type.Arrow, but maps are maps.
func fileType(t types.Type) arrow.DataType {
	switch t.Kind {
	case types.Array:
		return arrow.ListOf(fileType(*t.Elem))
	case types.Map:
		return arrow.MapOf(fileType(*t.Key), fileType(*t.Elem))
	case types.Multiset:
		return arrow.MapOf(fileType(*t.Elem), arrow.PrimitiveTypes.Int32)
	case types.Row:
		fs := make([]arrow.Field, len(t.Fields))
		for i, f := range t.Fields {
			fs[i] = arrow.Field{Name: f.Name, Type: fileType(f.Type), Nullable: true}
		}
		return arrow.StructOf(fs...)
	}
	return t.Arrow()
}

var errNullKey = errors.New("a MAP with a NULL key cannot be written to parquet")

// fileData gives data, which is a column of t, the type of the file; buffers are shared. The caller releases it.
func fileData(data arrow.ArrayData, t types.Type) (arrow.ArrayData, error) {
	if !t.IsNested() {
		data.Retain()
		return data, nil
	}
	dt := fileType(t)
	var kids []arrow.ArrayData
	defer func() {
		for _, k := range kids {
			k.Release()
		}
	}()
	add := func(kid arrow.ArrayData, kt types.Type) error {
		k, err := fileData(kid, kt)
		if err == nil {
			kids = append(kids, k)
		}
		return err
	}
	switch t.Kind {
	case types.Array:
		if err := add(data.Children()[0], *t.Elem); err != nil {
			return nil, err
		}
	case types.Row:
		for i, f := range t.Fields {
			if err := add(data.Children()[i], f.Type); err != nil {
				return nil, err
			}
		}
	case types.Map, types.Multiset:
		key, val := t.Key, t.Elem
		if t.Kind == types.Multiset {
			key, val = t.Elem, &types.IntType
		}
		entries := data.Children()[0]
		keys := array.MakeFromData(entries.Children()[0])
		nulls := keys.NullN()
		keys.Release()
		if nulls > 0 {
			return nil, errNullKey
		}
		if err := add(entries.Children()[0], *key); err != nil {
			return nil, err
		}
		if err := add(entries.Children()[1], *val); err != nil {
			return nil, err
		}
		e := array.NewData(dt.(*arrow.MapType).Elem(), entries.Len(), []*memory.Buffer{nil}, kids, 0, entries.Offset())
		for _, k := range kids {
			k.Release()
		}
		kids = []arrow.ArrayData{e}
	}
	return array.NewData(dt, data.Len(), data.Buffers(), kids, data.NullN(), data.Offset()), nil
}

// Write writes rows.
func (p *writer) Write(rec arrow.RecordBatch) error {
	cols := make([]arrow.Array, len(p.columns))
	defer func() {
		for _, c := range cols {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, c := range p.columns {
		d, err := fileData(rec.Column(i).Data(), c.Type)
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		cols[i] = array.MakeFromData(d)
		d.Release()
	}
	out := array.NewRecordBatch(p.schema, cols, rec.NumRows())
	defer out.Release()
	p.rows += rec.NumRows()
	return p.w.WriteBuffered(out)
}

// Size is what was written, and what waits.
func (p *writer) Size() int64 { return p.out.n + p.w.RowGroupTotalCompressedBytes() }

// Close writes the footer.
func (p *writer) Close() error { return p.w.Close() }
