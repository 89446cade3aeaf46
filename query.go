package weir

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Names of the engine that the library's user meets.
type (
	// Batch is rows as an Arrow record batch with their kinds.
	Batch = stream.Batch
	// RowKind is +I, -U, +U or -D.
	RowKind = stream.RowKind
	// Schema is the columns of a result.
	Schema = types.Schema
	// Column is a column of a result.
	Column = types.Column
	// Type is a SQL type.
	Type = types.Type
)

// The row kinds.
const (
	Insert       = stream.Insert
	UpdateBefore = stream.UpdateBefore
	UpdateAfter  = stream.UpdateAfter
	Delete       = stream.Delete
)

// Query is a running query. Read its rows with Rows or All, from one goroutine; Close may be called from any, and twice. A reader that is slow slows
// the query down.
type Query struct {
	columns  types.Schema
	zone     *time.Location
	updating bool
	bounded  bool
	job      *Job    // nil for a result that is there already
	static   []Batch // owned
	rows     chan Batch
	quit     chan struct{}
	once     sync.Once
	err      error
	warnings []string
	settling bool // the result is to be settled when its first row is asked for
}

// Columns returns the columns of the result.
func (q *Query) Columns() types.Schema { return q.columns }

// Zone is the session time zone that the query was started in: TIMESTAMP_LTZ is printed in it.
func (q *Query) Zone() *time.Location { return q.zone }

// Updating reports whether the result is a changelog: rows may be updated and deleted.
func (q *Query) Updating() bool { return q.updating }

// Bounded reports whether the result ends by itself.
func (q *Query) Bounded() bool { return q.bounded }

// Warnings are notes of the planner (unbounded state and the like).
func (q *Query) Warnings() []string { return q.warnings }

// Job returns the job that computes the result, nil for results that are there already (SHOW, DESCRIBE, EXPLAIN).
func (q *Query) Job() *Job { return q.job }

// Stats returns the figures of the query so far; they are zero for a result that is there already.
func (q *Query) Stats() Stats {
	if q.job == nil {
		return Stats{}
	}
	return q.job.Stats()
}

// Watermark returns the minimum over the query's sources (see Job.Watermark); ok is false before the first, and for a result that is there already.
func (q *Query) Watermark(ctx context.Context) (wm time.Time, ok bool, err error) {
	if q.job == nil {
		return time.Time{}, false, nil
	}
	return q.job.Watermark(ctx)
}

// Rows yields the result as batches. A batch is lent until the next one: keep it with Retain. The query is closed when the loop is left.
func (q *Query) Rows() iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		defer q.Close()
		if q.settling {
			q.settling = false
			if err := q.settle(); err != nil {
				yield(Batch{}, err)
				return
			}
		}
		for {
			b, err := q.next()
			if err != nil {
				if !errors.Is(err, errDone) {
					yield(Batch{}, err)
				}
				return
			}
			ok := yield(b, nil)
			b.Release()
			if !ok {
				return
			}
		}
	}
}

var errDone = errors.New("no more rows")

func (q *Query) next() (Batch, error) {
	if len(q.static) > 0 {
		b := q.static[0]
		q.static = q.static[1:]
		return b, nil
	}
	if q.job == nil {
		return Batch{}, errDone
	}
	select {
	case b := <-q.rows:
		return b, nil
	case <-q.quit:
		return Batch{}, errDone
	case <-q.job.Done():
	}
	// The sink has handed over everything before the job ends: nothing is left in the unbuffered channel.
	if err := q.job.Err(); err != nil {
		return Batch{}, err
	}
	return Batch{}, errDone
}

// Row is one row of a result as Go values, in the canonical form of package types: nil, bool, int8 to int64, float32, float64, string, []byte, and
// types of package types for the others. Time columns can be read with Time.
type Row struct {
	Kind    RowKind
	Values  []any
	columns types.Schema
}

// Time returns a TIMESTAMP (read as UTC), TIMESTAMP_LTZ or DATE value.
func (r Row) Time(column int) (time.Time, bool) {
	switch v := r.Values[column].(type) {
	case types.TimestampVal:
		if r.columns[column].Type.Nanos() {
			return time.Unix(0, int64(v)).UTC(), true
		}
		return time.UnixMicro(int64(v)).UTC(), true
	case types.DateVal:
		return time.Unix(int64(v)*86400, 0).UTC(), true
	}
	return time.Time{}, false
}

// All yields the result row by row.
func (q *Query) All() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for b, err := range q.Rows() {
			if err != nil {
				yield(Row{}, err)
				return
			}
			for i := 0; i < b.Len(); i++ {
				r := b.Row(i)
				row := Row{Kind: b.Kind(r), Values: make([]any, len(q.columns)), columns: q.columns}
				for j := range row.Values {
					row.Values[j] = types.Get(b.Record.Column(j), r, q.columns[j].Type)
				}
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// Final reads the result to its end and returns the table that it amounts to. The result of an unbounded query has no end: that is an error.
func (q *Query) Final() (*FinalTable, error) {
	if !q.bounded {
		q.Close()
		return nil, newError("WEIR-3005", "the result has no end: the query reads an unbounded table", "")
	}
	t := NewFinalTable(q.columns)
	t.zone = q.zone
	for b, err := range q.Rows() {
		if err != nil {
			return nil, err
		}
		if err := t.Apply(b); err != nil {
			return nil, fmt.Errorf("the result has an impossible change: %w", err)
		}
	}
	return t, nil
}

// Close stops the query and gives everything back. It returns nil, or why the query could not be stopped in order.
func (q *Query) Close() error {
	q.once.Do(func() {
		close(q.quit)
		for _, b := range q.static {
			b.Release()
		}
		q.static = nil
		if q.job != nil {
			q.err = q.job.Cancel()
		}
	})
	return q.err
}

// deliver is the sink of a SELECT: it hands batches to the reader, or to a callback.
type deliver struct {
	q    *Query
	take func(Schema, Batch) error
}

var _ connectors.Sink = (*deliver)(nil)

func (d *deliver) Open(context.Context, *connectors.Env, [][]byte) error { return nil }

func (d *deliver) Write(ctx context.Context, b stream.Batch) error {
	if d.take != nil {
		defer b.Release()
		return d.take(d.q.columns, b)
	}
	select {
	case d.q.rows <- b:
		return nil
	case <-d.q.quit:
		b.Release()
		return exec.ErrEnough
	case <-ctx.Done():
		b.Release()
		return ctx.Err()
	}
}

func (d *deliver) Prepare(context.Context, int64) ([]byte, error) { return nil, nil }
func (d *deliver) Commit(context.Context, []byte) error           { return nil }
func (d *deliver) Close() error                                   { return nil }

// textResult is a result of text columns that is there already.
func textResult(names []string, rows [][]string) *Query {
	cols := make(types.Schema, len(names))
	for i, n := range names {
		cols[i] = types.Column{Name: n, Type: types.StringType}
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, cols.Arrow())
	defer b.Release()
	for _, r := range rows {
		for j := range cols {
			sb := b.Field(j).(*array.StringBuilder)
			if r[j] == nullText {
				sb.AppendNull()
			} else {
				sb.Append(r[j])
			}
		}
	}
	q := &Query{columns: cols, zone: time.UTC, bounded: true, quit: make(chan struct{})}
	rec := b.NewRecordBatch()
	if rec.NumRows() == 0 {
		rec.Release()
		return q
	}
	q.static = []Batch{{Record: rec}}
	return q
}

// nullText marks a NULL cell of textResult.
const nullText = "\x00null"

// AppendText appends the text of a cell as CAST to STRING gives it, BYTES as x'0a'; the cell must not be NULL.
func AppendText(dst []byte, col arrow.Array, row int, t types.Type, zone *time.Location) []byte {
	return types.AppendDisplay(dst, col, row, t, zone)
}
