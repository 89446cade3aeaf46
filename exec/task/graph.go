package task

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/watermark"
	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

// Graph is what a Job runs: tasks in topological order (the producer of an exchange stands before its consumer).
type Graph struct {
	Tasks []*Task
}

// Task describes one task of a graph. It has either a Source or Inputs.
type Task struct {
	// ID is stable: state hangs on it.
	ID string
	// Partitions is how many copies run; 1 for a source task.
	Partitions int
	Source     *Source
	// Inputs are the exchanges that the task reads.
	Inputs []*Exchange
	// Ordered says that the rows of all inputs are merged in a defined order: by Before, then Seq, then input. All of them must be bounded and carry
	// exact Before vectors (and Seq, where an exchange by hash lies before). Otherwise rows are taken as they arrive.
	Ordered bool
	// Schema, when set, is what the merged rows have: a union's inputs may differ in names and nullability.
	Schema *arrow.Schema
	// NeedSeq asks for new sequence numbers for the merged rows (a union, whose inputs each have their own; rows of rows that copies have made).
	NeedSeq bool
	// Steps has an ordered merge tell each watermark that its inputs tell on its own (NeedSteps), in the order of the merge: it takes no more of them
	// than one at a time.
	Steps bool
	// BoundedFirst reads the bounded inputs to their end before the others (a backfill): their watermark holds the result.
	BoundedFirst bool
	// Head is the stateless beginning of the chain of a source task, run by its workers batch by batch.
	Head []*Op
	// To takes what the source (behind the head) or the inputs produce. When the first operator has several inputs it is the only entry, and the
	// operator's input is the number of the exchange in Inputs; otherwise all inputs flow together.
	To []Target
}

// Op describes an operator.
type Op struct {
	// ID is stable over runs and unique in the graph: state and metrics hang on it.
	ID   string
	Name string // as in EXPLAIN
	// New makes a copy; it is called once for each partition, and for a head once for each worker.
	New func() exec.Operator
	// Inputs is the number of its inputs, at least 1. More than one only at the beginning of a task.
	Inputs int
	// Schema is what it emits; may be nil.
	Schema *arrow.Schema
	// To takes its output, Side what it emits on named second outputs.
	To   []Target
	Side map[string][]Target
}

// Target is a consumer: exactly one of its fields is set.
type Target struct {
	Op       *Op
	Sink     *Sink
	Exchange *Exchange
}

// Sink describes a sink.
type Sink struct {
	ID   string
	Name string
	New  func() (connectors.Sink, error)
	// Aside says that it takes rows beside the result (late rows, bad records): they are not counted among the rows that a statement wrote.
	Aside bool
}

// Exchange joins two tasks: every partition of the producer writes to every partition of the consumer that it has rows for.
type Exchange struct {
	ID string
	// Keys are the columns whose hash decides the consumer's partition; nil sends everything to partition 0.
	Keys []int
	// Schema of the rows.
	Schema *arrow.Schema
	// Bounded says that the producer ends.
	Bounded bool
}

// WatermarkNeed says which Before vectors a plan needs.
type WatermarkNeed uint8

// The needs.
const (
	// NeedNone: nobody looks at Before.
	NeedNone WatermarkNeed = iota
	// NeedLate: late rows are judged; Before is nil for a batch in which no row lies at or behind the batch's last watermark.
	NeedLate
	// NeedExact: Before is there for every batch.
	NeedExact
	// NeedSteps: besides, the watermark behind each row is told on its own, for operators behind filters too: batches are of one row.
	NeedSteps
)

// NullPolicy says what happens to rows without event time ('scan.watermark.null-rows').
type NullPolicy uint8

// The policies.
const (
	NullFail NullPolicy = iota
	NullKeep
	NullDrop
)

// FuturePolicy says what happens to rows further ahead of processing time than MaxFuture ('scan.watermark.future-rows').
type FuturePolicy uint8

// The policies.
const (
	FutureKeep FuturePolicy = iota
	FutureDrop
	FutureFail
)

// InputOrder is the order in which a source takes rows from its splits ('weir.input-order').
type InputOrder uint8

// The orders.
const (
	// OrderTime takes the next row from the unfinished split whose watermark before its next row is lowest.
	OrderTime InputOrder = iota
	// OrderSplit reads one split after the other.
	OrderSplit
	// OrderArrival takes blocks as they come, in turn; always so for unbounded sources.
	OrderArrival
)

// Source describes a scan.
type Source struct {
	// ID is stable: positions and counters hang on it. Name is as in EXPLAIN, Table for messages and metrics.
	ID, Name, Table string
	// Open prepares the scan.
	Open func() (connectors.Source, error)
	// NewPreparer makes what turns the connector's columns into the scan's, one for each worker; nil when there is nothing to do. Times says that the table
	// has a watermark expression.
	NewPreparer func() Preparer
	Times       bool
	// TimeColumn names the event time column, for messages.
	TimeColumn string
	NullRows   NullPolicy
	// Generator makes what gives the watermarks of a split, one for each, where the table names a generator instead of an expression.
	Generator func() (watermark.Generator, error)
	// IgnoreMarks says that the table does not declare SOURCE_WATERMARK(): what its connector knows of watermarks (Block.Watermark) counts for nothing.
	IgnoreMarks bool
	// GeneratorName is what messages call it; Every is how often the clock calls a generator that goes by it, 0 for never.
	GeneratorName string
	Every         time.Duration
	// MaxFuture, when positive, is how far event times may be ahead of processing time ('scan.watermark.max-future'): a row beyond it does not advance the
	// watermark and is counted. FutureZone is the zone whose wall clock event times are on, nil when they are instants.
	MaxFuture  time.Duration
	FutureRows FuturePolicy
	FutureZone *time.Location
	// Need says which Before vectors the plan needs. NeedSeq asks for row numbers.
	Need    WatermarkNeed
	NeedSeq bool
	Order   InputOrder
	// MaxOpenSplits bounds the splits that are open at once in an ordered merge ('weir.scan.max-open-splits').
	MaxOpenSplits int
	// IdleTimeout marks a split idle that had no row for so long; 0 means never.
	IdleTimeout time.Duration
	// Align puts the source into an alignment group; the zero value does not.
	Align Alignment
	// Interval is 0 for watermarks on event (after every row), else watermarks are sent so often ('on-periodic', pipeline.auto-watermark-interval).
	Interval time.Duration
	// OnBad is offered every bad record that was skipped, in order, on the task's goroutine; may be nil.
	OnBad func(connectors.BadRecord) error
	// Bad take the bad records that were skipped, as rows that BadBatch makes of them; times are when they were met.
	Bad      []Target
	BadBatch func(bad []connectors.BadRecord, times []time.Time) arrow.RecordBatch
	// BlockBytes is the budget for the blocks of all open splits together; 0 for the default.
	BlockBytes int
}

// Preparer turns decoded batches into those of the scan. One goroutine uses it.
type Preparer interface {
	// Project returns the scan's columns for all rows of rec; it takes over the reference, also when it fails.
	Project(ctx context.Context, rec arrow.RecordBatch) (arrow.RecordBatch, error)
	// Times fills event[i] with the event time of row i of a projected batch, and mark[i] with the value of the watermark expression, MinTime for NULL. Both
	// have one entry for each row of rec, which it borrows.
	Times(ctx context.Context, rec arrow.RecordBatch, event, mark []stream.Time) error
}

// ArgPreparer is a Preparer that knows the arguments of the table's watermark generator.
type ArgPreparer interface {
	// Args returns the arguments of each row of a projected batch; nil when none depends on the row. Workers call it.
	Args(ctx context.Context, rec arrow.RecordBatch) ([][]any, error)
}

// Options configure a Job.
type Options struct {
	// Query names the query in errors.
	Query     string
	Allocator memory.Allocator
	// Clock is processing time; nil means the machine's.
	Clock connectors.Clock
	// Jump moves a VirtualClock to its next timer whenever the whole job waits.
	Jump bool
	Log  *slog.Logger
	Zone *time.Location
	// BatchRows is weir.batch-size, Threads weir.threads.
	BatchRows int
	Threads   int
	// Budget is weir.memory.limit; nil is unlimited.
	Budget *exec.Budget
	Config map[string]string
	// Restore continues from a snapshot of the same graph. The caller releases it when the job has ended.
	Restore *Snapshot
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	// CheckpointAfterRows, when positive, takes one checkpoint as soon as a source has read so many rows since the start; with StopAfterRows the job
	// stops there. Job.RowCheckpoint returns it. For tests.
	CheckpointAfterRows int64
	StopAfterRows       bool
}

func (o *Options) fill() {
	if o.Allocator == nil {
		o.Allocator = memory.DefaultAllocator
	}
	if o.Clock == nil {
		o.Clock = SystemClock{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.BatchRows <= 0 {
		o.BatchRows = DefaultBatchRows
	}
	if o.Threads <= 0 {
		o.Threads = 1
	}
	if o.Stdin == nil {
		o.Stdin = eofReader{}
	}
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
}

type eofReader struct{}

func (eofReader) Read([]byte) (int, error) { return 0, io.EOF }

// DefaultBatchRows is weir.batch-size unless set; DefaultMaxOpenSplits is weir.scan.max-open-splits.
const (
	DefaultBatchRows     = 8192
	DefaultMaxOpenSplits = 256
	defaultBlockBytes    = 2 << 20
)
