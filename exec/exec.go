// Package exec is the contract of the execution engine: what an operator is, what it may do and what it is given. The operators themselves live in
// exec/op, the run loop in exec/task.
package exec

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec/stream"
)

// ErrEnough says that the receiver wants no more rows. It travels up to the source, which then ends. It is no failure.
var ErrEnough = errors.New("enough rows")

// Operator is a passive, single-threaded state machine: the task calls its methods one at a time, from one goroutine. It sees neither barriers nor
// idleness nor queues; it starts no goroutine and takes no lock.
//
// Order of calls: Open; then ProcessBatch, ProcessWatermark, ProcessTimer, Snapshot in any order; for each input that ends its last watermark and
// EndInput(i); after the last input ProcessWatermark(stream.MaxTime), then Finish; Close last, always, also after an error of Open. A stop or a
// cancel skips from anywhere to Close. After an error of any method only Close is called.
//
// Errors: an error fails the query, except ErrEnough, which means: no more rows wanted on any input; the operator must hand ErrEnough from
// out.Emit on unchanged.
type Operator interface {
	// Open prepares the operator; from is nil when there is nothing to restore.
	Open(ctx context.Context, env *Env, from StateReader) error
	// ProcessBatch takes rows of input in. It owns b: it releases it or hands it on.
	ProcessBatch(ctx context.Context, in int, b stream.Batch, out Output) error
	// ProcessWatermark is told that the combined watermark of all inputs has grown to wm. It forwards by out.Watermark, now or later, never backwards.
	ProcessWatermark(ctx context.Context, wm stream.Time, out Output) error
	// ProcessTimer is called when the clock has reached at, asked for by env.Timer(at).
	ProcessTimer(ctx context.Context, at time.Time, out Output) error
	// EndInput is told that input in has ended.
	EndInput(ctx context.Context, in int, out Output) error
	// Snapshot writes the state. It must not emit and must not change the state.
	Snapshot(ctx context.Context, to StateWriter) error
	// Finish is called once, behind the watermark stream.MaxTime, when all inputs have ended: the last chance to emit.
	Finish(ctx context.Context, out Output) error
	// Close gives everything back. It may be called without Open, and after any error.
	Close() error
}

// Output takes what an operator produces. A call runs the next operator of the task, or waits in the next task's inbox (backpressure).
type Output interface {
	// Emit hands b on, with its reference, also when it returns an error.
	Emit(b stream.Batch) error
	// Watermark hands wm on; a value that is not greater than the last one is dropped.
	Watermark(wm stream.Time) error
	// Side returns a named second output ("late"), or nil when nobody listens. Its Watermark does nothing.
	Side(name string) Output
}

// Base gives the neutral answers: it forwards watermarks, keeps no state and needs no close. Embed it.
type Base struct{}

// Open does nothing.
func (Base) Open(context.Context, *Env, StateReader) error { return nil }

// ProcessWatermark forwards wm.
func (Base) ProcessWatermark(_ context.Context, wm stream.Time, out Output) error {
	return out.Watermark(wm)
}

// ProcessTimer does nothing.
func (Base) ProcessTimer(context.Context, time.Time, Output) error { return nil }

// EndInput does nothing.
func (Base) EndInput(context.Context, int, Output) error { return nil }

// Snapshot writes nothing.
func (Base) Snapshot(context.Context, StateWriter) error { return nil }

// Finish emits nothing.
func (Base) Finish(context.Context, Output) error { return nil }

// Close does nothing.
func (Base) Close() error { return nil }

// StateWriter takes the state of one operator as named tables of Arrow batches, in insertion order.
type StateWriter interface {
	// Table appends a batch to the table called name; the writer retains what it keeps. keyColumns is the number of leading columns that are the key, the
	// same columns in the same order by which the exchange before the operator spreads rows; 0 means that the table belongs to the operator as a whole.
	//
	// When a snapshot is restored at another parallelism, each copy is given the rows of its keys of a keyed table, those of the old copies one after
	// the other, and every row of a table without key, of all old copies: Open makes one state of them, whatever the copies had seen.
	Table(name string, keyColumns int, rec arrow.RecordBatch) error
}

// StateReader gives back what a StateWriter took.
type StateReader interface {
	// Table returns the batches of a table in the order of writing; nil when there is none. The caller borrows them: no Release, copy what is kept.
	Table(name string) []arrow.RecordBatch
}

// Clock is processing time. Tests use a virtual one.
type Clock interface {
	Now() time.Time
}

// Env is what an operator (or a connector) is given: the only allocator, the only clock, byte accounting, metrics, log.
type Env struct {
	// ID is the stable id of the operator in its plan; state and metrics hang on it. Partition and Partitions say which copy this is.
	ID         string
	Name       string // as in EXPLAIN
	Partition  int
	Partitions int
	// Allocator is the only source of Arrow memory.
	Allocator memory.Allocator
	Clock     Clock
	Log       *slog.Logger
	// Zone is the session time zone, table.local-time-zone.
	Zone *time.Location
	// BatchRows is how many rows a batch of results has at most (weir.batch-size).
	BatchRows int
	// Bytes accounts everything the operator holds between calls, Go memory too.
	Bytes *Account
	// Metrics are the operator's counters.
	Metrics *Metrics
	// Timer asks for ProcessTimer at a time of the clock; due times are part of the snapshot and are asked for again on restore, at another parallelism
	// in every copy: a copy may be called when nothing of its is due.
	Timer func(at time.Time)
	// Parameters of the session that operators read (table.exec.*), already validated.
	Config map[string]string
}

// Account counts bytes held, within the memory limit of its query.
type Account struct {
	used  atomic.Int64
	peak  atomic.Int64
	limit *Budget
	owner string
}

// NewAccount returns an account of owner within budget (nil: unlimited).
func NewAccount(owner string, budget *Budget) *Account {
	a := &Account{limit: budget, owner: owner}
	if budget != nil {
		budget.join(a)
	}
	return a
}

// Grow adds n bytes (negative to give back). It returns an error that names who holds how much when the budget of the query is exceeded.
func (a *Account) Grow(n int64) error {
	if a == nil {
		return nil
	}
	u := a.used.Add(n)
	if n > 0 {
		for p := a.peak.Load(); u > p && !a.peak.CompareAndSwap(p, u); p = a.peak.Load() {
		}
	}
	if a.limit != nil {
		return a.limit.grow(n)
	}
	return nil
}

// Used returns the bytes held now.
func (a *Account) Used() int64 { return a.used.Load() }

// Peak returns the most bytes ever held.
func (a *Account) Peak() int64 { return a.peak.Load() }

// Owner names who holds them.
func (a *Account) Owner() string { return a.owner }
