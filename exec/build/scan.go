package build

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/expr"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/exec/task"
	"github.com/weir-sql/weir/planner/physical"
	"github.com/weir-sql/weir/types"
)

// source describes the source task of a scan.
func (b *builder) source(s *physical.Scan, id string) (*task.Source, error) {
	table, ok := s.Handle.(connectors.SourceTable)
	if !ok {
		return nil, fmt.Errorf("table %s cannot be read: its connector is a sink only", s.Table.Path)
	}
	scan := connectors.Scan{Columns: s.Columns, Metadata: s.Metadata, Limit: s.Limit, KeepBad: s.KeepBad}
	spec := &task.Source{ID: id, Name: s.Op(), Table: s.Table.Path.String(), MaxOpenSplits: task.DefaultMaxOpenSplits,
		Open: func() (connectors.Source, error) { return table.Source(scan) }}
	if s.Table.File != "" {
		spec.Table = "'" + s.Table.File + "'"
	}
	if err := b.sourceConfig(spec); err != nil {
		return nil, err
	}
	var projections []expr.Evaluator
	if !s.Identity() {
		var err error
		if projections, err = evaluators(s.Projections); err != nil {
			return nil, err
		}
	}
	var mark expr.Evaluator
	var args []expr.Evaluator
	var argValues []any
	column := -1
	spec.IgnoreMarks = s.Watermark == nil || !s.Watermark.Source
	if w := s.Watermark; w != nil {
		spec.TimeColumn, spec.IdleTimeout, spec.Interval = s.Schema()[w.Column].Name, w.IdleTimeout, w.Periodic
		if a := w.Alignment; a.On() {
			spec.Align = task.Alignment{Group: a.Group, MaxDrift: a.MaxDrift, UpdateInterval: a.UpdateInterval}
		}
		spec.NullRows = map[physical.NullRows]task.NullPolicy{physical.FailNullRows: task.NullFail, physical.KeepNullRows: task.NullKeep,
			physical.DropNullRows: task.NullDrop}[w.Nulls]
		spec.MaxFuture = w.MaxFuture
		spec.FutureRows = map[physical.FutureRows]task.FuturePolicy{physical.KeepFutureRows: task.FutureKeep, physical.DropFutureRows: task.FutureDrop,
			physical.FailFutureRows: task.FutureFail}[w.Future]
		if s.Schema()[w.Column].Type.Kind == types.Timestamp {
			spec.FutureZone = b.o.Zone
		}
		column = w.Column
		if w.Generator != "" || w.Strategy {
			if err := b.generator(spec, s); err != nil {
				return nil, err
			}
			var err error
			if args, err = evaluators(w.Inputs); err != nil {
				return nil, err
			}
			argValues = rowArgs(w.Args)
		} else if !w.Source {
			var err error
			if mark, err = evaluator(w.Expr); err != nil {
				return nil, err
			}
		}
		spec.Times = true
	}
	if projections == nil && !spec.Times {
		return spec, nil
	}
	schema, clock, zone, db := s.Schema().Arrow(), b.o.Clock, b.o.Zone, b.o.Database
	spec.NewPreparer = func() task.Preparer {
		return &preparer{projections: projections, schema: schema, mark: mark, args: args, argValues: argValues, column: column, clock: clock, zone: zone, database: db,
			mem: b.o.Allocator}
	}
	return spec, nil
}

// sourceConfig takes the session's settings for sources.
func (b *builder) sourceConfig(s *task.Source) error {
	switch v := b.o.Config["weir.input-order"]; v {
	case "", "time":
		s.Order = task.OrderTime
	case "split":
		s.Order = task.OrderSplit
	case "arrival":
		s.Order = task.OrderArrival
	default:
		return fmt.Errorf("weir.input-order is '%s': it must be 'time', 'split' or 'arrival'", v)
	}
	if v := b.o.Config["weir.scan.max-open-splits"]; v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return fmt.Errorf("weir.scan.max-open-splits is '%s': it must be a number of at least 1", v)
		}
		s.MaxOpenSplits = n
	}
	return nil
}

// preparer computes a scan's columns, event times and watermarks. One goroutine uses it.
type preparer struct {
	projections []expr.Evaluator // nil: as they are
	schema      *arrow.Schema
	mark        expr.Evaluator   // nil when the source or a generator supplies watermarks
	args        []expr.Evaluator // of a generator: those that depend on the row
	argValues   []any            // all of them, see rowArgs
	column      int              // of the event time
	clock       connectors.Clock
	zone        *time.Location
	database    string
	mem         memory.Allocator
	ctx         *expr.Context
}

func (p *preparer) context() *expr.Context {
	if p.ctx == nil {
		p.ctx = expr.NewContext(p.mem, p.zone)
		p.ctx.Database = p.database
	}
	p.ctx.Now = p.clock.Now()
	return p.ctx
}

// Project implements task.Preparer.
func (p *preparer) Project(_ context.Context, rec arrow.RecordBatch) (arrow.RecordBatch, error) {
	if p.projections == nil {
		return rec, nil
	}
	defer rec.Release()
	ctx, n := p.context(), rec.NumRows()
	cols := make([]arrow.Array, 0, len(p.projections))
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for _, e := range p.projections {
		c, err := e.Eval(ctx, expr.Input{Record: rec, Rows: int(n)})
		if err != nil {
			return nil, err
		}
		cols = append(cols, c)
	}
	return array.NewRecordBatch(p.schema, cols, n), nil
}

// Times implements task.Preparer.
func (p *preparer) Times(_ context.Context, rec arrow.RecordBatch, event, mark []stream.Time) error {
	if err := readTimes(rec.Column(p.column), event); err != nil {
		return err
	}
	if p.mark == nil { // the source supplies watermarks
		for i := range mark {
			mark[i] = stream.MinTime
		}
		return nil
	}
	a, err := p.mark.Eval(p.context(), expr.Input{Record: rec, Rows: int(rec.NumRows())})
	if err != nil {
		return err
	}
	defer a.Release()
	return readTimes(a, mark)
}

// readTimes reads a column of TIMESTAMP or TIMESTAMP_LTZ in microseconds; NULL is MinTime.
func readTimes(a arrow.Array, out []stream.Time) error {
	if a.NullN() == a.Len() {
		for i := range out {
			out[i] = stream.MinTime
		}
		return nil
	}
	ts, ok := a.(*array.Timestamp)
	if !ok {
		return fmt.Errorf("internal error: event time or watermark is a column of type %s", a.DataType())
	}
	values := ts.TimestampValues()
	if ts.DataType().(*arrow.TimestampType).Unit == arrow.Nanosecond {
		for i, v := range values {
			us := int64(v) / 1000
			if int64(v)%1000 < 0 {
				us--
			}
			out[i] = stream.Time(us)
		}
	} else {
		for i, v := range values {
			out[i] = stream.Time(v)
		}
	}
	if ts.NullN() > 0 {
		for i := range out {
			if ts.IsNull(i) {
				out[i] = stream.MinTime
			}
		}
	}
	return nil
}

// valuesSource gives the rows of a constant table, as one block.
type valuesSource struct {
	rows   [][]expr.Evaluator
	schema types.Schema
	o      *Options
}

// values describes the source task of a constant table.
func (b *builder) values(v *physical.Values, id string) (*task.Source, error) {
	src := &valuesSource{schema: v.Schema(), o: &b.o}
	for _, row := range v.Rows {
		es, err := evaluators(row)
		if err != nil {
			return nil, err
		}
		src.rows = append(src.rows, es)
	}
	return &task.Source{ID: id, Name: v.Op(), Table: "VALUES", Open: func() (connectors.Source, error) { return src, nil }}, nil
}

func (s *valuesSource) Splits(context.Context, *connectors.Env) ([]connectors.Split, error) {
	return []connectors.Split{{ID: "values", Bounded: true, Bytes: -1}}, nil
}
func (s *valuesSource) Changed() <-chan struct{} { return nil }
func (s *valuesSource) Close() error             { return nil }

func (s *valuesSource) Open(_ context.Context, _ *connectors.Env, _ connectors.Split, from connectors.Position, _ int) (connectors.Reader, error) {
	return &valuesReader{s: s, done: from != nil}, nil
}

type valuesReader struct {
	s    *valuesSource
	done bool
}

func (r *valuesReader) Ready() <-chan struct{} { return nil }
func (r *valuesReader) Close() error           { return nil }

func (r *valuesReader) Next(context.Context) (connectors.Block, error) {
	if r.done || len(r.s.rows) == 0 {
		return connectors.Block{}, connectors.EOF
	}
	r.done = true
	return connectors.Block{Position: connectors.Position{1}, Watermark: stream.MinTime, Decode: r.decode}, nil
}

func (r *valuesReader) decode(_ context.Context, mem memory.Allocator) (connectors.Decoded, error) {
	s := r.s
	ctx := expr.NewContext(mem, s.o.Zone)
	ctx.Now, ctx.Database = s.o.Clock.Now(), s.o.Database
	if len(s.schema) == 0 {
		return connectors.Decoded{Batch: stream.Batch{Record: array.NewRecordBatch(s.schema.Arrow(), nil, int64(len(s.rows)))}}, nil
	}
	b := array.NewRecordBuilder(mem, s.schema.Arrow())
	defer b.Release()
	for _, row := range s.rows {
		for i, e := range row {
			v, err := evalOne(ctx, e)
			if err != nil {
				return connectors.Decoded{}, err
			}
			if err := types.Append(b.Field(i), v, s.schema[i].Type); err != nil {
				return connectors.Decoded{}, err
			}
		}
	}
	return connectors.Decoded{Batch: stream.Batch{Record: b.NewRecordBatch()}}, nil
}
