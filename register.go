package weir

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/watermark"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// goConnector is the connector of tables that RegisterTable made.
const goConnector = "go"

// RegisterTable makes a temporary table of Go values. source is a channel of structs (unbounded until it is closed: a row is read once, by the one
// query that reads the table), an iter.Seq of structs or a slice of structs (bounded, read from its start by every query), a connectors.Table (a
// connectors.SourceTable, SinkTable or both), or a connectors.Source, with the columns of its batches as ddl; it is unbounded unless it has a method
// Bounded() bool that says otherwise, makes watermarks itself if it is a connectors.WatermarkSource, and its Splits, Open and Close are called by each query
// that reads the table. WithWatermarks gives any of them a watermark strategy.
//
// Columns are the exported fields, in order, named by the tag `weir:"name"` or else by the field in lower case; a field with the tag `weir:"-"` is left
// out. A pointer field is nullable. time.Time is TIMESTAMP_LTZ(6), time.Duration INTERVAL DAY TO SECOND, []byte BYTES, a slice ARRAY, a map MAP, a
// struct ROW. Further words of the tag: `watermark=5s` makes the field the event time with a watermark so far behind it, `key` part of the primary key.
//
// ddl, when given, takes the place of the derived column list, as in CREATE TABLE: "k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts". Its physical
// columns are filled by name.
//
// Delivery: at most once from a channel (what was taken from it is gone with the query), exactly once from a sequence. Ordering: as given. Replay: from
// its start, sequences only. A position is the number of rows read.
func (db *DB) RegisterTable(name string, source any, ddl ...string) error {
	src, err := newRegistered(source)
	var columns string
	if err == nil {
		columns, err = src.declaration(strings.Join(ddl, ", "))
	}
	if err != nil {
		return newError("WEIR-3010", fmt.Sprintf("RegisterTable %s: %v", name, err), "")
	}
	c := db.connectors[goConnector].(*goTables)
	id := c.add(src)
	return db.Exec(context.Background(), fmt.Sprintf("CREATE TEMPORARY TABLE %s (%s) WITH ('connector' = '%s', 'id' = '%d'%s)", name, columns, goConnector, id, src.options()))
}

// goTables finds the Go values behind tables.
type goTables struct {
	mu      sync.Mutex
	sources map[string]*registered
}

func (c *goTables) add(s *registered) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := len(c.sources) + 1
	c.sources[strconv.Itoa(id)] = s
	return id
}

func (c *goTables) Name() string { return goConnector }

func (c *goTables) Options() []connectors.Option {
	return []connectors.Option{{Name: "id", Type: "string", Required: true, Doc: "number of the Go value, given by RegisterTable"}}
}

func (c *goTables) Table(_ context.Context, d connectors.Declaration) (connectors.Table, error) {
	if err := connectors.CheckOptions("connector 'go'", d.Options, c.Options()); err != nil {
		return nil, err
	}
	c.mu.Lock()
	s := c.sources[d.Options["id"]]
	c.mu.Unlock()
	if s == nil {
		return nil, errors.New("connector 'go' makes tables only through RegisterTable")
	}
	return s.connect(d)
}

func (s *goSource) table(d connectors.Declaration) (*goTable, error) {
	t := &goTable{goSchema: goSchema{columns: d.Columns}, source: s}
	for _, col := range d.Columns {
		i, ok := s.byName[col.Name]
		if !ok {
			return nil, fmt.Errorf("column %s: the Go type %s has no such field", col.Name, s.elem)
		}
		if have := s.fields[i].column.Type; have.Kind != col.Type.Kind && !types.Implicit(have, col.Type) {
			return nil, fmt.Errorf("column %s: the Go field is %s, which does not fit %s", col.Name, types.Article(have.String()), col.Type)
		}
		t.fields = append(t.fields, i)
	}
	return t, nil
}

// goField is one column of a Go struct.
type goField struct {
	index     []int
	column    types.Column
	watermark time.Duration
	rowtime   bool
	key       bool
	assign    watermark.TimestampAssigner // gives it from the row; nil for a field
}

// goSource is a Go value that gives rows.
type goSource struct {
	elem    reflect.Type
	fields  []goField
	byName  map[string]int
	channel reflect.Value // of the channel, when it is one
	all     func() iter.Seq[reflect.Value]
}

func newGoSource(v any) (*goSource, error) {
	rv := reflect.ValueOf(v)
	s := &goSource{byName: map[string]int{}}
	switch {
	case !rv.IsValid():
		return nil, errors.New("the source is nil")
	case rv.Kind() == reflect.Chan && rv.Type().ChanDir()&reflect.RecvDir != 0:
		s.elem, s.channel = rv.Type().Elem(), rv
	case rv.Kind() == reflect.Slice:
		s.elem = rv.Type().Elem()
		s.all = func() iter.Seq[reflect.Value] {
			return func(yield func(reflect.Value) bool) {
				for i := 0; i < rv.Len(); i++ {
					if !yield(rv.Index(i)) {
						return
					}
				}
			}
		}
	case rv.Kind() == reflect.Func && rv.Type().CanSeq() && rv.Type().NumIn() == 1 && rv.Type().In(0).NumIn() == 1:
		s.elem = rv.Type().In(0).In(0)
		s.all = rv.Seq
	default:
		return nil, fmt.Errorf("a %s is neither a channel, an iter.Seq nor a slice of structs", rv.Type())
	}
	t := s.elem
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return nil, fmt.Errorf("rows must be structs, not %s", s.elem)
	}
	var err error
	if s.fields, err = goFields(t); err != nil {
		return nil, err
	}
	for i, f := range s.fields {
		if _, twice := s.byName[f.column.Name]; twice {
			return nil, fmt.Errorf("two fields are called %s", f.column.Name)
		}
		s.byName[f.column.Name] = i
	}
	return s, nil
}

func goFields(t reflect.Type) ([]goField, error) {
	var out []goField
	rowtimes := 0
	for _, f := range reflect.VisibleFields(t) {
		if !f.IsExported() || f.Anonymous && f.Type.Kind() == reflect.Struct || len(f.Index) > 1 && viaPointer(t, f.Index) {
			continue
		}
		words := strings.Split(f.Tag.Get("weir"), ",")
		if words[0] == "-" {
			continue
		}
		gf := goField{index: f.Index, column: types.Column{Name: words[0]}}
		if words[0] == "" {
			gf.column.Name = strings.ToLower(f.Name)
		}
		var err error
		if gf.column.Type, err = goType(f.Type); err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		for _, w := range words[1:] {
			delay, isMark := strings.CutPrefix(strings.TrimSpace(w), "watermark=")
			switch {
			case isMark:
				if gf.watermark, err = time.ParseDuration(delay); err != nil || gf.watermark < 0 {
					return nil, fmt.Errorf("field %s: watermark wants a duration such as 5s, not %q", f.Name, delay)
				}
				gf.rowtime = true
				rowtimes++
			case strings.TrimSpace(w) == "key":
				gf.key = true
			default:
				return nil, fmt.Errorf("field %s: unknown word %q in the tag (watermark=5s, key)", f.Name, w)
			}
		}
		out = append(out, gf)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no exported field", t)
	}
	if rowtimes > 1 {
		return nil, errors.New("two fields have a watermark: a table has one event time")
	}
	return out, nil
}

// viaPointer reports an embedded field that is reached through a pointer, which may be nil.
func viaPointer(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		if t = t.Field(i).Type; t.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}

// goType maps a Go type to a SQL type.
func goType(t reflect.Type) (types.Type, error) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return types.TimestampLTZOf(6).NotNull(), nil
	case reflect.TypeFor[time.Duration]():
		return types.DayTimeType.NotNull(), nil
	case reflect.TypeFor[decimal128.Num]():
		return types.Type{}, errors.New("a decimal needs its precision and scale: use types.Dec with a DDL argument, or a string")
	}
	switch t.Kind() {
	case reflect.Pointer:
		e, err := goType(t.Elem())
		return e.WithNull(true), err
	case reflect.Bool:
		return types.BooleanType.NotNull(), nil
	case reflect.Int8:
		return types.TinyIntType.NotNull(), nil
	case reflect.Int16, reflect.Uint8:
		return types.SmallIntType.NotNull(), nil
	case reflect.Int32, reflect.Uint16:
		return types.IntType.NotNull(), nil
	case reflect.Int, reflect.Int64, reflect.Uint32:
		return types.BigIntType.NotNull(), nil
	case reflect.Float32:
		return types.FloatType.NotNull(), nil
	case reflect.Float64:
		return types.DoubleType.NotNull(), nil
	case reflect.String:
		return types.StringType.NotNull(), nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return types.BytesType, nil
		}
		e, err := goType(t.Elem())
		return types.ArrayOf(e), err
	case reflect.Map:
		k, err := goType(t.Key())
		if err != nil {
			return types.Type{}, err
		}
		e, err := goType(t.Elem())
		return types.MapOf(k, e), err
	case reflect.Struct:
		fs, err := goFields(t)
		if err != nil {
			return types.Type{}, err
		}
		row := make([]types.Field, len(fs))
		for i, f := range fs {
			row[i] = types.Field{Name: f.column.Name, Type: f.column.Type}
		}
		return types.RowOf(row...).NotNull(), nil
	}
	return types.Type{}, fmt.Errorf("the Go type %s has no SQL type", t)
}

// goValue gives a Go value the canonical form of package types.
func goValue(v reflect.Value) (any, error) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, nil
		}
		return goValue(v.Elem())
	}
	switch x := v.Interface().(type) {
	case time.Time:
		return types.TimestampVal(x.UnixMicro()), nil
	case time.Duration:
		return types.DurationVal(x.Microseconds()), nil
	}
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int8:
		return int8(v.Int()), nil
	case reflect.Int16:
		return int16(v.Int()), nil
	case reflect.Uint8:
		return int16(v.Uint()), nil
	case reflect.Int32:
		return int32(v.Int()), nil
	case reflect.Uint16:
		return int32(v.Uint()), nil
	case reflect.Int, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint32:
		return int64(v.Uint()), nil
	case reflect.Float32:
		return float32(v.Float()), nil
	case reflect.Float64:
		return v.Float(), nil
	case reflect.String:
		return v.String(), nil
	case reflect.Slice:
		if v.IsNil() {
			return nil, nil
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return append([]byte{}, v.Bytes()...), nil
		}
		out := make([]any, v.Len())
		for i := range out {
			var err error
			if out[i], err = goValue(v.Index(i)); err != nil {
				return nil, err
			}
		}
		return out, nil
	case reflect.Map:
		return goMap(v)
	case reflect.Struct:
		fs, err := goFields(v.Type())
		if err != nil {
			return nil, err
		}
		row := make(types.RowVal, len(fs))
		for i, f := range fs {
			if row[i], err = goValue(v.FieldByIndex(f.index)); err != nil {
				return nil, err
			}
		}
		return row, nil
	}
	return nil, fmt.Errorf("the Go type %s has no SQL value", v.Type())
}

// goMap orders the entries by the text of their keys: a map has no order, a row must have one.
func goMap(v reflect.Value) (any, error) {
	if v.IsNil() {
		return nil, nil
	}
	keys := v.MapKeys()
	sortValues(keys)
	var out types.MapVal
	for _, k := range keys {
		kv, err := goValue(k)
		if err != nil {
			return nil, err
		}
		ev, err := goValue(v.MapIndex(k))
		if err != nil {
			return nil, err
		}
		out = append(out, types.MapEntry{Key: kv, Val: ev})
	}
	return out, nil
}

// ddl derives the column list.
func (s *goSource) ddl() string {
	var parts, key []string
	for _, f := range s.fields {
		parts = append(parts, quoted(f.column.Name)+" "+f.column.Type.String())
		if f.key {
			key = append(key, quoted(f.column.Name))
		}
	}
	for _, f := range s.fields {
		if f.rowtime {
			parts = append(parts, fmt.Sprintf("WATERMARK FOR %s AS %s - INTERVAL '%s' SECOND(9, 6)", quoted(f.column.Name), quoted(f.column.Name), strconv.FormatFloat(f.watermark.Seconds(), 'f', 6, 64)))
		}
	}
	if len(key) > 0 {
		parts = append(parts, "PRIMARY KEY ("+strings.Join(key, ", ")+") NOT ENFORCED")
	}
	return strings.Join(parts, ", ")
}

// goTable is a table over a goSource.
type goTable struct {
	goSchema
	source *goSource
	fields []int // of the source, for each column
}

func (t *goTable) Bounded() bool            { return t.source.all != nil }
func (t *goTable) SuppliesWatermarks() bool { return false }

func (t *goTable) Source(scan connectors.Scan) (connectors.Source, error) {
	return &goScan{table: t, columns: scan.Columns}, nil
}

type goScan struct {
	table   *goTable
	columns []int
}

func (s *goScan) Splits(context.Context, *connectors.Env) ([]connectors.Split, error) {
	return []connectors.Split{{ID: "go", Bounded: s.table.Bounded(), Bytes: -1}}, nil
}
func (s *goScan) Changed() <-chan struct{} { return nil }
func (s *goScan) Close() error             { return nil }

func (s *goScan) Open(_ context.Context, env *connectors.Env, _ connectors.Split, from connectors.Position, _ int) (connectors.Reader, error) {
	r := &goReader{scan: s, env: env}
	if len(from) == 9 {
		r.rows = int64(binary.BigEndian.Uint64(from[1:]))
	}
	if src := s.table.source; src.all != nil {
		r.pull, r.stop = iter.Pull(src.all())
		for i := int64(0); i < r.rows; i++ {
			if _, ok := r.pull(); !ok {
				break
			}
		}
		return r, nil
	}
	r.ready = make(chan struct{}, 1)
	r.queue = make(chan reflect.Value, max(1, env.BatchRows))
	env.Go(r.receive)
	return r, nil
}

// goReader reads a goSource.
type goReader struct {
	scan  *goScan
	env   *connectors.Env
	rows  int64
	pull  func() (reflect.Value, bool)
	stop  func()
	ready chan struct{}
	queue chan reflect.Value
	done  bool
}

// receive moves rows from the user's channel to the reader's, which can be asked without waiting. What it signals has happened before: also the end.
func (r *goReader) receive(ctx context.Context) {
	cases := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: r.scan.table.source.channel}, {Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())}}
	for more := true; more; {
		i, v, ok := reflect.Select(cases)
		switch {
		case i == 1:
			return
		case ok:
			select {
			case r.queue <- v:
			case <-ctx.Done():
				return
			}
		default:
			close(r.queue)
			more = false
		}
		select {
		case r.ready <- struct{}{}:
		default:
		}
	}
}

func (r *goReader) Ready() <-chan struct{} { return r.ready }

func (r *goReader) Close() error {
	if r.stop != nil {
		r.stop()
	}
	return nil
}

func (r *goReader) Next(context.Context) (connectors.Block, error) {
	var rows []reflect.Value
	for len(rows) < max(1, r.env.BatchRows) && !r.done {
		v, ok, wait := r.take()
		if wait {
			break
		}
		if !ok {
			r.done = true
			break
		}
		rows = append(rows, v)
	}
	if len(rows) == 0 {
		if r.done {
			// The queue is closed only when the channel was: the signal stays, so that whoever waits comes here.
			return connectors.Block{}, io.EOF
		}
		return connectors.Block{}, connectors.ErrNotReady
	}
	r.rows += int64(len(rows))
	pos := binary.BigEndian.AppendUint64([]byte{1}, uint64(r.rows))
	return connectors.Block{Position: pos, Watermark: stream.MinTime, Decode: func(_ context.Context, mem memory.Allocator) (connectors.Decoded, error) {
		return r.scan.decode(rows, mem)
	}}, nil
}

func (r *goReader) take() (v reflect.Value, ok, wait bool) {
	if r.pull != nil {
		v, ok = r.pull()
		return v, ok, false
	}
	select {
	case v, ok = <-r.queue:
		return v, ok, false
	default:
		return v, false, true
	}
}

func (s *goScan) decode(rows []reflect.Value, mem memory.Allocator) (connectors.Decoded, error) {
	schema := make(types.Schema, len(s.columns))
	for i, c := range s.columns {
		schema[i] = s.table.columns[c]
	}
	b := array.NewRecordBuilder(mem, schema.Arrow())
	defer b.Release()
	for _, v := range rows {
		row := v
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return connectors.Decoded{}, errors.New("a row is a nil pointer")
			}
			v = v.Elem()
		}
		for i, c := range s.columns {
			f := s.table.source.fields[s.table.fields[c]]
			var x any
			var err error
			if f.assign != nil {
				x, err = assigned(f.assign, row)
			} else {
				x, err = goValue(v.FieldByIndex(f.index))
			}
			if err == nil && x != nil && !f.column.Type.SameKind(schema[i].Type) {
				x, err = types.Cast(x, f.column.Type, schema[i].Type, s.zone())
			}
			if err == nil {
				err = types.Append(b.Field(i), x, schema[i].Type)
			}
			if err != nil {
				return connectors.Decoded{}, fmt.Errorf("column %s: %w", schema[i].Name, err)
			}
		}
	}
	rec := b.NewRecordBatch()
	if len(s.columns) == 0 {
		rec.Release()
		rec = array.NewRecordBatch(schema.Arrow(), nil, int64(len(rows)))
	}
	return connectors.Decoded{Batch: stream.Batch{Record: rec}}, nil
}

func (s *goScan) zone() *time.Location { return time.UTC }
