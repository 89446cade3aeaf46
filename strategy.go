package weir

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/watermark"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/parser"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/types"
)

// WatermarkStrategy says how the watermarks of a source that is registered in Go are made. It begins with BoundedOutOfOrderness, MonotonousTimestamps or
// WatermarksBy and goes on with its With methods.
type WatermarkStrategy = watermark.Strategy

// BoundedOutOfOrderness is the strategy for rows that come at most d behind those with later event times; see watermark.BoundedOutOfOrderness.
func BoundedOutOfOrderness(d time.Duration) WatermarkStrategy {
	return watermark.BoundedOutOfOrderness(d)
}

// MonotonousTimestamps is the strategy for event times that never step back; see watermark.MonotonousTimestamps.
func MonotonousTimestamps() WatermarkStrategy { return watermark.MonotonousTimestamps() }

// WatermarksBy is the strategy of a generator of one's own; see watermark.ForGenerator.
func WatermarksBy(factory WatermarkFactory, columns ...string) WatermarkStrategy {
	return watermark.ForGenerator(factory, columns...)
}

// TimestampAssigner gives the event time of a row; see watermark.TimestampAssigner.
type TimestampAssigner = watermark.TimestampAssigner

// TimestampOf makes an assigner for rows of one type.
func TimestampOf[T any](f func(row T) time.Time) TimestampAssigner { return watermark.TimestampOf(f) }

// WithWatermarks gives a source its watermark strategy: RegisterTable takes the result. In the table's declaration, WATERMARK FOR ts AS SOURCE_WATERMARK()
// stands for the strategy; without one the strategy names the event time, or the table's only column of type TIMESTAMP or TIMESTAMP_LTZ is it. A source has
// one strategy: a second one, another WATERMARK in the declaration, `watermark=` in a tag, and a source that makes watermarks itself are refused.
func WithWatermarks(source any, strategy WatermarkStrategy) any {
	return &watermarked{source, strategy}
}

// watermarked is what WithWatermarks makes.
type watermarked struct {
	source   any
	strategy watermark.Strategy
}

// registered is what RegisterTable was given: rows of Go, a table of a connector, or a source.
type registered struct {
	rows     *goSource
	table    connectors.Table
	source   connectors.Source
	strategy *watermark.Strategy
}

func newRegistered(v any) (*registered, error) {
	r := &registered{}
	if w, ok := v.(*watermarked); ok {
		if _, twice := w.source.(*watermarked); twice {
			return nil, errors.New("the source has two watermark strategies: WithWatermarks was called twice")
		}
		if err := w.strategy.Err(); err != nil {
			return nil, fmt.Errorf("its watermark strategy: %w", err)
		}
		v, r.strategy = w.source, &w.strategy
	}
	var err error
	switch v := v.(type) {
	case connectors.Table:
		r.table = v
	case connectors.Source:
		r.source = v
	default:
		r.rows, err = newGoSource(v)
	}
	if err == nil && r.strategy != nil {
		err = r.assign()
	}
	return r, err
}

// rowtimeColumn is the column that a timestamp assigner fills.
const rowtimeColumn = "rowtime"

// assign holds the strategy against the source.
func (r *registered) assign() error {
	if _, source := r.table.(connectors.SourceTable); r.table != nil && !source {
		return errors.New("it is no source, and has a watermark strategy")
	}
	switch a := r.strategy.Assigner(); {
	case r.supplies():
		return errors.New("it has two watermark strategies: the source makes watermarks itself (SOURCE_WATERMARK()), and it was given a strategy")
	case r.rows == nil && a != nil:
		return errors.New("its watermark strategy has a timestamp assigner, which needs rows that are Go values: name the column with WithTimestampColumn")
	case a != nil:
		if _, taken := r.rows.byName[rowtimeColumn]; taken {
			return fmt.Errorf("its watermark strategy has a timestamp assigner, whose column is %s, and a field has that name: use WithTimestampColumn", rowtimeColumn)
		}
		r.rows.byName[rowtimeColumn] = len(r.rows.fields)
		r.rows.fields = append(r.rows.fields, goField{column: types.Column{Name: rowtimeColumn, Type: types.TimestampLTZOf(3)}, assign: a})
	}
	if r.rows != nil {
		for _, f := range r.rows.fields {
			if f.rowtime {
				return fmt.Errorf("it has two watermark strategies: field %s has watermark= in its tag, and the source was given a strategy", f.column.Name)
			}
		}
	}
	return nil
}

// supplies reports that the source makes watermarks itself.
func (r *registered) supplies() bool {
	if r.table != nil {
		return r.table.SuppliesWatermarks()
	}
	w, ok := r.source.(connectors.WatermarkSource)
	return ok && w.SuppliesWatermarks()
}

// declaration is the text between the parentheses of CREATE TABLE.
func (r *registered) declaration(given string) (string, error) {
	columns := given
	switch {
	case given != "":
	case r.rows != nil:
		columns = r.rows.ddl()
	case r.table != nil:
		var parts []string
		for _, c := range r.table.Schema() {
			parts = append(parts, quoted(c.Name)+" "+c.Type.String())
		}
		columns = strings.Join(parts, ", ")
	default:
		return "", errors.New("a connectors.Source has no column names: give them as the third argument, \"k STRING, ts TIMESTAMP(3)\"")
	}
	if r.strategy == nil {
		return columns, nil
	}
	stmt, _ := parser.ParseStatement("CREATE TABLE t (" + columns + ")")
	create, ok := stmt.(*ast.CreateTable)
	if !ok {
		return columns, nil // CREATE TABLE says what is wrong
	}
	named := r.strategy.TimestampColumn()
	if r.strategy.Assigner() != nil {
		named = rowtimeColumn
	}
	if w := create.Watermark; w != nil {
		call, ok := w.Expr.(*ast.Call)
		switch {
		case !ok || len(call.Args) > 0 || !strings.EqualFold(call.Name.String(), "SOURCE_WATERMARK"):
			return "", fmt.Errorf("it has two watermark strategies: its declaration has WATERMARK FOR %s AS ..., and its source was given a strategy. Write WATERMARK FOR "+
				"%s AS SOURCE_WATERMARK(), which stands for the strategy, or leave the strategy out", w.Column.String(), w.Column.String())
		case named != "" && named != w.Column.Last():
			return "", fmt.Errorf("it has two event times: its declaration has WATERMARK FOR %s, and its watermark strategy names %s", w.Column.String(), named)
		}
		return r.withRowtime(create, columns), nil
	}
	if named == "" {
		var err error
		if named, err = r.onlyTime(create); err != nil {
			return "", err
		}
	}
	return r.withRowtime(create, columns) + ", WATERMARK FOR " + quoted(named) + " AS SOURCE_WATERMARK()", nil
}

// withRowtime adds the column of the timestamp assigner where the declaration does not have it.
func (r *registered) withRowtime(create *ast.CreateTable, columns string) string {
	if r.strategy.Assigner() == nil {
		return columns
	}
	for _, c := range create.Columns {
		if c.Name.Last() == rowtimeColumn {
			return columns
		}
	}
	return columns + ", " + rowtimeColumn + " TIMESTAMP_LTZ(3)"
}

// onlyTime is the one column that can be the event time.
func (r *registered) onlyTime(create *ast.CreateTable) (string, error) {
	var found []string
	for _, c := range create.Columns {
		if c.Type != nil && strings.HasPrefix(strings.ToUpper(c.Type.Name), "TIMESTAMP") {
			found = append(found, c.Name.Last())
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return "", fmt.Errorf("its watermark strategy does not say which column is the event time, and %d are of type TIMESTAMP or TIMESTAMP_LTZ: use WithTimestampColumn or "+
		"WithTimestampAssigner", len(found))
}

// options are those of the strategy, for WITH.
func (r *registered) options() string {
	var b strings.Builder
	if r.strategy == nil {
		return ""
	}
	add := func(key string, d time.Duration) { fmt.Fprintf(&b, ", '%s' = '%d ms'", key, d.Milliseconds()) }
	if d := r.strategy.Idleness(); d > 0 {
		add("scan.watermark.idle-timeout", d)
	}
	if a := r.strategy.Alignment(); a.Group != "" {
		fmt.Fprintf(&b, ", 'scan.watermark.alignment.group' = '%s'", strings.ReplaceAll(a.Group, "'", "''"))
		add("scan.watermark.alignment.max-drift", a.MaxDrift)
		add("scan.watermark.alignment.update-interval", a.UpdateInterval)
	}
	return b.String()
}

func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// connect makes the table of a declaration.
func (r *registered) connect(d connectors.Declaration) (connectors.Table, error) {
	var t connectors.Table
	switch {
	case r.rows != nil:
		rows, err := r.rows.table(d)
		if err != nil {
			return nil, err
		}
		t = rows
	case r.table != nil:
		t = r.table
	default:
		t = &sourceTable{goSchema: goSchema{columns: d.Columns}, registered: r}
	}
	if r.strategy == nil {
		return t, nil
	}
	return &strategicTable{t, *r.strategy}, nil
}

// strategicTable is a source with a strategy; it implements watermark.Table. It takes no rows.
type strategicTable struct {
	connectors.Table
	strategy watermark.Strategy
}

func (t *strategicTable) WatermarkStrategy() watermark.Strategy { return t.strategy }
func (t *strategicTable) WatermarkColumns() []string            { return t.strategy.Columns() }
func (t *strategicTable) SuppliesWatermarks() bool              { return true }
func (t *strategicTable) AcceptsKinds() string                  { return "" }

func (t *strategicTable) Source(scan connectors.Scan) (connectors.Source, error) {
	return t.Table.(connectors.SourceTable).Source(scan)
}

// goSchema is what a table has that only gives rows.
type goSchema struct{ columns types.Schema }

func (t goSchema) Schema() types.Schema         { return t.columns }
func (t goSchema) MetadataKeys() types.Schema   { return nil }
func (t goSchema) MetadataWritable(string) bool { return false }
func (t goSchema) ChangelogKinds() string       { return "I" }
func (t goSchema) AcceptsKinds() string         { return "" }
func (t goSchema) RowEstimate() int64           { return -1 }

// sourceTable is a table over a connectors.Source, whose batches have all physical columns in order.
type sourceTable struct {
	goSchema
	*registered
}

func (t *sourceTable) SuppliesWatermarks() bool { return t.supplies() }

func (t *sourceTable) Bounded() bool {
	b, ok := t.source.(interface{ Bounded() bool })
	return ok && b.Bounded()
}

func (t *sourceTable) Source(scan connectors.Scan) (connectors.Source, error) {
	return &projected{t.source, t.columns, scan.Columns}, nil
}

// projected gives the wanted columns of a source.
type projected struct {
	connectors.Source
	schema types.Schema
	wanted []int
}

func (p *projected) Open(ctx context.Context, env *connectors.Env, split connectors.Split, from connectors.Position, blockBytes int) (connectors.Reader, error) {
	r, err := p.Source.Open(ctx, env, split, from, blockBytes)
	return &projectedReader{r, p}, err
}

type projectedReader struct {
	connectors.Reader
	p *projected
}

func (r *projectedReader) Next(ctx context.Context) (connectors.Block, error) {
	b, err := r.Reader.Next(ctx)
	if decode := b.Decode; decode != nil {
		b.Decode = func(ctx context.Context, mem memory.Allocator) (connectors.Decoded, error) {
			d, err := decode(ctx, mem)
			if err == nil && d.Batch.Record != nil {
				err = r.p.project(&d.Batch)
			}
			return d, err
		}
	}
	return b, err
}

func (p *projected) project(b *stream.Batch) error {
	have := b.Record.Schema().Fields()
	if len(have) != len(p.schema) {
		return fmt.Errorf("the source gives %d columns, and the table has %d", len(have), len(p.schema))
	}
	cols := make([]arrow.Array, len(p.wanted))
	fields := make([]arrow.Field, len(p.wanted))
	want := p.schema.Arrow()
	for i, c := range p.wanted {
		if !arrow.TypeEqual(have[c].Type, want.Field(c).Type) {
			return fmt.Errorf("column %s: the source gives %s, and %s is %s", p.schema[c].Name, have[c].Type, p.schema[c].Type, want.Field(c).Type)
		}
		cols[i], fields[i] = b.Record.Column(c), want.Field(c)
	}
	rec := array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, b.Record.NumRows())
	b.Record.Release()
	b.Record = rec
	return nil
}

// assigned has a timestamp assigner say a row's event time; nil when there is none.
func assigned(a watermark.TimestampAssigner, row reflect.Value) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, fmt.Errorf("the timestamp assigner panicked: %v", p)
		}
	}()
	at := a(row.Interface())
	if at.IsZero() {
		return nil, nil
	}
	return types.TimestampVal(at.UnixMilli() * 1000), nil
}
