package parquet

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// open reads the footer of a file.
func open(f connectors.ReadAtSeeker, name string) (r *file.Reader, m *pqarrow.SchemaManifest, err error) {
	defer func() {
		if p := recover(); p != nil { // the library panics on some damaged files
			err = fmt.Errorf("%s: this is no parquet file, or it is damaged (%v)", name, p)
		}
	}()
	// Pages are in Go memory: some of the library's decoders (deltas, INT96) never release what they hold.
	props := pq.NewReaderProperties(memory.DefaultAllocator)
	props.BufferedStreamEnabled, props.BufferSize = true, 64<<10 // page by page, not a whole column of a row group at once
	r, err = file.NewParquetReader(f, file.WithReadProps(props))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: this is no complete parquet file (it may be cut off, or still be written): %w", name, err)
	}
	m, err = pqarrow.NewSchemaManifest(r.MetaData().Schema, nil, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: the schema cannot be read: %w", name, err)
	}
	return r, m, nil
}

// InferFile reads the columns off the footer.
func (f Format) InferFile(ctx context.Context, in connectors.ReadAtSeeker, name string, options map[string]string) (connectors.Inferred, error) {
	r, m, err := open(in, name)
	if err != nil {
		return connectors.Inferred{}, err
	}
	var inf connectors.Inferred
	for i := range m.Fields {
		field := &m.Fields[i]
		t, err := types.FromArrow(field.Field.Type)
		if err != nil {
			return inf, fmt.Errorf("%s: column %s: %w", name, field.Field.Name, err)
		}
		if isInt96(r, field) {
			t = types.TimestampOf(6) // further years than nanoseconds reach
		}
		if inf.Columns.Index(field.Field.Name) >= 0 {
			return inf, fmt.Errorf("%s: the column '%s' is there twice", name, field.Field.Name)
		}
		inf.Columns = append(inf.Columns, types.Column{Name: field.Field.Name, Type: t})
	}
	return inf, nil
}

func isInt96(r *file.Reader, f *pqarrow.SchemaField) bool {
	return len(f.Children) == 0 && f.ColIndex >= 0 && r.MetaData().Schema.Column(f.ColIndex).PhysicalType() == pq.Types.Int96
}

// leaves appends the numbers of the leaf columns of a field.
func leaves(dst []int, f *pqarrow.SchemaField) []int {
	if len(f.Children) == 0 {
		return append(dst, f.ColIndex)
	}
	for i := range f.Children {
		dst = leaves(dst, &f.Children[i])
	}
	return dst
}

// reader reads row group after row group.
type reader struct {
	name   string
	r      *file.Reader
	pr     *pqarrow.FileReader
	schema *arrow.Schema
	cols   []column
	leaf   []int // of the columns that pqarrow reads

	starts []int64 // first row of each row group, and the end
	group  int     // open row group, -1 for none
	next   int64   // row that comes next in it
	rr     pqarrow.RecordReader
	rec    arrow.RecordBatch // read, not used up
	used   int64
	int96  map[int]*file.Int96ColumnChunkReader
}

// column says where a wanted column comes from.
type column struct {
	typ   types.Type
	name  string
	at    int // position in the record that pqarrow gives
	int96 int // number of the leaf column, or -1
}

// OpenFile reads the footer and finds the wanted columns.
func (f Format) OpenFile(ctx context.Context, in connectors.ReadAtSeeker, name string, c connectors.FormatConfig, mem memory.Allocator) (connectors.FileReader, error) {
	r, m, err := open(in, name)
	if err != nil {
		return nil, err
	}
	p := &reader{name: name, r: r, group: -1, int96: map[int]*file.Int96ColumnChunkReader{}}
	byName := map[string]int{}
	var names []string
	for i := range m.Fields {
		byName[m.Fields[i].Field.Name] = i
		names = append(names, m.Fields[i].Field.Name)
	}
	var s types.Schema
	fields := map[int]int{} // field of the file -> wanted column
	for i, w := range c.Wanted {
		col := c.Columns[w]
		s = append(s, col)
		at, ok := byName[col.Name]
		if !ok {
			hint := ""
			if near := connectors.Nearest(col.Name, names); near != "" {
				hint = "; did you mean '" + near + "'?"
			}
			return nil, fmt.Errorf("%s: the file has no column '%s' (names are compared with case)%s", name, col.Name, hint)
		}
		field := &m.Fields[at]
		pc := column{typ: col.Type, name: col.Name, int96: -1}
		if isInt96(r, field) {
			if !col.Type.IsTimestamp() {
				return nil, fmt.Errorf("%s: column %s is a timestamp (INT96) in the file, which does not fit %s", name, col.Name, col.Type)
			}
			pc.int96 = field.ColIndex
		} else {
			if why := misfit(field.Field.Type, col.Type); why != "" {
				return nil, fmt.Errorf("%s: column %s is %s in the file, which does not fit %s%s", name, col.Name, field.Field.Type, col.Type, why)
			}
			fields[at] = i
			p.leaf = leaves(p.leaf, field)
		}
		p.cols = append(p.cols, pc)
	}
	n := 0
	for i := range m.Fields { // pqarrow gives its columns in file order
		if w, ok := fields[i]; ok {
			p.cols[w].at = n
			n++
		}
	}
	p.schema = s.Arrow()
	var row int64
	for i := range r.NumRowGroups() {
		p.starts = append(p.starts, row)
		row += r.MetaData().RowGroup(i).NumRows()
	}
	p.starts = append(p.starts, row)
	if deltas(r, p.leaf) {
		mem = memory.DefaultAllocator
	}
	for _, c := range p.leaf {
		if r.MetaData().Schema.Column(c).MaxRepetitionLevel() > 0 {
			mem = zeroed{mem}
			break
		}
	}
	p.pr, err = pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{}, mem)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.pr.Manifest = m
	return p, nil
}

// deltas reports whether one of the columns is stored with a delta encoding: the library's decoders for these keep some memory for ever, so it must be
// Go's, not the query's.
func deltas(r *file.Reader, leaf []int) bool {
	for g := range r.NumRowGroups() {
		for _, c := range leaf {
			chunk, err := r.MetaData().RowGroup(g).ColumnChunk(c)
			if err != nil {
				continue // reading says so
			}
			for _, e := range chunk.Encodings() {
				switch e {
				case pq.Encodings.DeltaBinaryPacked, pq.Encodings.DeltaByteArray, pq.Encodings.DeltaLengthByteArray:
					return true
				}
			}
		}
	}
	return false
}

// zeroed gives memory that is zero: the library counts on that where it makes the offsets of lists.
type zeroed struct{ memory.Allocator }

func (z zeroed) Allocate(n int) []byte {
	b := z.Allocator.Allocate(n)
	clear(b)
	return b
}

func (z zeroed) Reallocate(n int, b []byte) []byte {
	had := len(b)
	b = z.Allocator.Reallocate(n, b)
	if had < len(b) {
		clear(b[had:])
	}
	return b
}

// Rows is the number of rows of the file.
func (p *reader) Rows() int64 { return p.starts[len(p.starts)-1] }

// Next reads up to maxRows rows from row on, of one row group.
func (p *reader) Next(ctx context.Context, row int64, maxRows int) (b connectors.Block, nextRow int64, err error) {
	if row >= p.Rows() {
		return b, row, connectors.EOF
	}
	defer func() {
		if e := recover(); e != nil {
			err = fmt.Errorf("%s: the file is damaged near row %d (%v)", p.name, row, e)
		}
	}()
	if err := p.seek(ctx, row, maxRows); err != nil {
		return b, row, p.damaged(row, err)
	}
	n := min(int64(maxRows), p.starts[p.group+1]-row)
	if len(p.leaf) > 0 {
		if p.rec == nil {
			if !p.rr.Next() {
				err := p.rr.Err()
				if err == nil {
					err = fmt.Errorf("there are fewer rows than the footer says")
				}
				return b, row, p.damaged(row, err)
			}
			p.rec, p.used = p.rr.RecordBatch(), 0
			p.rec.Retain()
		}
		n = min(n, p.rec.NumRows()-p.used)
	}
	held := make([]arrow.Array, len(p.cols))
	drop := func() {
		for _, a := range held {
			if a != nil {
				a.Release()
			}
		}
	}
	var nanos []int96Values
	for i, c := range p.cols {
		if c.int96 >= 0 {
			v, err := p.readInt96(c.int96, int(n))
			if err != nil {
				drop()
				return b, row, p.damaged(row, err)
			}
			nanos = append(nanos, v)
			continue
		}
		held[i] = array.NewSlice(p.rec.Column(c.at), p.used, p.used+n)
	}
	if p.rec != nil {
		if p.used += n; p.used == p.rec.NumRows() {
			p.rec.Release()
			p.rec = nil
		}
	}
	p.next = row + n
	return connectors.Block{
		Bytes:     n * int64(16*len(p.cols)+1),
		Watermark: stream.MinTime,
		Discard:   drop,
		Decode: func(ctx context.Context, mem memory.Allocator) (connectors.Decoded, error) {
			defer drop()
			return p.decode(mem, held, nanos, row, int(n))
		},
	}, p.next, nil
}

func (p *reader) damaged(row int64, err error) error {
	return fmt.Errorf("%s: the file is damaged near row %d: %w", p.name, row, err)
}

// seek makes row the next one.
func (p *reader) seek(ctx context.Context, row int64, maxRows int) error {
	if p.group >= 0 && p.next == row && row < p.starts[p.group+1] {
		return nil
	}
	p.closeGroup()
	g := 0
	for row >= p.starts[g+1] {
		g++
	}
	skip := row - p.starts[g]
	if len(p.leaf) > 0 {
		p.pr.Props.BatchSize = int64(maxRows)
		rr, err := p.pr.GetRecordReader(ctx, p.leaf, []int{g})
		if err != nil {
			return err
		}
		p.rr = rr
		if skip > 0 {
			if err := rr.SeekToRow(skip); err != nil {
				return err
			}
		}
	}
	for _, c := range p.cols {
		if c.int96 < 0 {
			continue
		}
		cr, err := p.r.RowGroup(g).Column(c.int96)
		if err != nil {
			return err
		}
		p.int96[c.int96] = cr.(*file.Int96ColumnChunkReader)
		if skip > 0 {
			if _, err := p.readInt96(c.int96, int(skip)); err != nil {
				return err
			}
		}
	}
	p.group, p.next = g, row
	return nil
}

func (p *reader) closeGroup() {
	if p.rec != nil {
		p.rec.Release()
		p.rec = nil
	}
	if p.rr != nil {
		p.rr.Release()
		p.rr = nil
	}
	clear(p.int96)
	p.group = -1
}

// Close gives everything back.
func (p *reader) Close() error {
	p.closeGroup()
	return nil
}

// int96Values are n rows of an INT96 column: days and nanoseconds of the day, in order, of the rows that are not NULL.
type int96Values struct {
	valid  []bool
	values []pq.Int96
}

func (p *reader) readInt96(col, n int) (int96Values, error) {
	cr := p.int96[col]
	out := int96Values{valid: make([]bool, 0, n), values: make([]pq.Int96, 0, n)}
	buf, levels := make([]pq.Int96, n), make([]int16, n)
	full := cr.Descriptor().MaxDefinitionLevel()
	for len(out.valid) < n {
		rows, values, err := cr.ReadBatch(int64(n-len(out.valid)), buf, levels, nil)
		if err != nil {
			return out, err
		}
		if rows == 0 {
			return out, fmt.Errorf("there are fewer rows than the footer says")
		}
		for _, l := range levels[:rows] {
			out.valid = append(out.valid, l == full || full == 0)
		}
		out.values = append(out.values, buf[:values]...)
	}
	return out, nil
}

// decode converts the columns of a block.
func (p *reader) decode(mem memory.Allocator, held []arrow.Array, nanos []int96Values, row int64, n int) (out connectors.Decoded, err error) {
	cols := make([]arrow.Array, len(p.cols))
	defer func() {
		for _, c := range cols {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, c := range p.cols {
		var at int
		if c.int96 >= 0 {
			cols[i], at, err = fromInt96(mem, nanos[0], c.typ)
			nanos = nanos[1:]
		} else {
			cols[i], at, err = convert(mem, held[i], c.typ)
		}
		if err == nil && !c.typ.Nullable && cols[i].NullN() > 0 {
			err = fmt.Errorf("NULL in a column that is NOT NULL")
			for at = 0; !cols[i].IsNull(at); at++ {
			}
		}
		if err != nil {
			return out, fmt.Errorf("%s: row %d, column %s: %w", p.name, row+int64(at)+1, c.name, err)
		}
	}
	return connectors.Decoded{Batch: stream.Batch{Record: array.NewRecordBatch(p.schema, cols, int64(n))}}, nil
}
