// Package connectors is the contract between the engine and the outside: connectors make tables out of options, tables open sources and sinks,
// formats turn bytes into batches and back. It knows types and what flows (exec/stream), nothing else of the engine.
package connectors

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Connector makes tables of one kind; its name is the value of the option 'connector'.
type Connector interface {
	// Name is the value of 'connector'.
	Name() string
	// Options lists all options it takes, those of its formats not included.
	Options() []Option
	// Table checks a declaration and returns its table, with inferred columns where the declaration has none. It opens nothing that needs a Close.
	Table(ctx context.Context, decl Declaration) (Table, error)
}

// Option describes one option, for checks, completion and the docs.
type Option struct {
	Name     string // Flink's name where Flink has one; "fields.#.kind" has # for any column name
	Type     string // string, integer, boolean, duration, size, or the values joined by |
	Default  string // as text; empty when there is none
	Required bool
	Doc      string // one sentence
}

// Declaration is what CREATE TABLE said.
type Declaration struct {
	Name string // catalog.database.table, for messages
	// ID tells tables apart that have or had the same name, and stays the same as long as the table lives; 0 when there is no such number. Table may
	// be called many times for one table (for each statement, with its hints): what belongs to the table hangs on the ID.
	ID          int64
	Columns     types.Schema     // physical columns; nil asks the connector to infer them
	Metadata    []MetadataColumn // metadata columns that were declared
	PrimaryKey  []int            // positions in Columns; nil when there is none
	PartitionBy []string
	// Options are those of WITH merged with OPTIONS hints; 'connector' included. General options (scan.watermark.*, weir.*) are taken out before.
	Options map[string]string
	Formats func(name string) (Format, error) // finds a format, or an error with the nearest name
	Zone    *time.Location                    // session zone, table.local-time-zone
	Config  map[string]string                 // session configuration
}

// MetadataColumn is a declared metadata column.
type MetadataColumn struct {
	Name    string // of the column
	Key     string // of the connector
	Type    types.Type
	Virtual bool
}

// Table is a checked declaration. It satisfies what the planner asks of a table (catalog.ConnectorTable). A Table also implements SourceTable,
// SinkTable or both.
type Table interface {
	// Schema returns the physical columns, declared or inferred.
	Schema() types.Schema
	// MetadataKeys returns the metadata that the table can give; MetadataWritable says which of them a sink takes.
	MetadataKeys() types.Schema
	MetadataWritable(key string) bool
	// Bounded reports whether reading ends.
	Bounded() bool
	// ChangelogKinds returns the row kinds that a scan of the table produces ("I", "I,UA,D" or "all"); empty when the table is no source.
	ChangelogKinds() string
	// AcceptsKinds returns the row kinds that the sink takes, in the same form; empty when the table is no sink.
	AcceptsKinds() string
	// RowEstimate returns about how many rows there are, or -1.
	RowEstimate() int64
	// SuppliesWatermarks reports whether the source emits watermarks itself (SOURCE_WATERMARK()).
	SuppliesWatermarks() bool
}

// SourceTable is a table that can be read.
type SourceTable interface {
	// Source prepares a scan. Batches of its readers have the wanted columns, then the wanted metadata, in that order.
	Source(scan Scan) (Source, error)
}

// SinkTable is a table that can be written.
type SinkTable interface {
	// Sink prepares writing; columns are the physical ones in order, then the writable metadata columns of the declaration.
	Sink(w Write) (Sink, error)
}

// Scan is what the planner pushes down into a source.
type Scan struct {
	Columns  []int    // wanted physical columns, ascending positions in Table.Schema
	Metadata []string // wanted metadata keys
	// Limit is how many rows are wanted at most, 0 for all; a source may ignore it.
	Limit int64
	// KeepBad asks for every bad record in Decoded.Bad (there is a bad-records.table): none fails the scan, and none is read in part, also with
	// ignore-parse-errors.
	KeepBad bool
}

// Write says how a sink is to be written.
type Write struct {
	Overwrite bool
	// StaticPartition has the values of INSERT INTO t PARTITION (...), as text by column name.
	StaticPartition map[string]string
	// Unbounded says that the rows have no end: nothing is ever committed but by checkpoints.
	Unbounded bool
}

// WriteChecker is a SinkTable that can say before anything runs that it cannot be written so.
type WriteChecker interface {
	CheckWrite(w Write) error
}

// Position says where in its split a reader continues; opaque, versioned by its first byte, at most a few hundred bytes.
type Position []byte

// Dropper is a table that keeps something that goes with it: Drop is called when it is dropped from the catalog.
type Dropper interface {
	Drop()
}

// InferredTable is a table that may have inferred columns.
type InferredTable interface {
	// InferredOptions returns the options that must stand beside the inferred columns when the table is declared with them ('csv.header' = 'true').
	InferredOptions() map[string]string
}

// ImmediateSink is a sink whose rows are visible as soon as they are written (print, standard output, a log): Commit means nothing to it, and it
// needs no checkpoints; Prepare waits until all that was written has arrived. Of every other sink rows become visible with Commit.
type ImmediateSink interface {
	Sink
	Immediate() bool
}

// Split is a source's shard: a file, a Kafka partition. Order of splits is part of the result of bounded scans: it must be stable.
type Split struct {
	ID      string // stable across restarts: a path, "topic-0"
	Bounded bool
	Bytes   int64 // about, -1 when unknown
	// Start is where reading begins at the first start, nil for the beginning. It is part of snapshots, also while the split has given nothing, so that
	// what "now" meant at the first start stays what it was.
	Start Position
}

// ErrNotReady says that a reader has nothing now; Ready tells when to ask again.
var ErrNotReady = errors.New("nothing to read now")

// Source is a prepared scan.
type Source interface {
	// Splits lists the splits there are now, in order. Of a source that finds more later it is called again whenever Changed signals.
	Splits(ctx context.Context, env *Env) ([]Split, error)
	// Changed signals that Splits may answer differently; nil when it never does.
	Changed() <-chan struct{}
	// Open starts to read a split at a position, nil for its start. blockBytes is the budget for one block.
	Open(ctx context.Context, env *Env, split Split, from Position, blockBytes int) (Reader, error)
	// Close gives back what Splits and Open share. Readers are closed before.
	Close() error
}

// WatermarkSource is a Source that makes watermarks itself: of its event times, which are a column of its rows, Block.Watermark says how far each split has
// come, and Block.Idle that it is silent. WATERMARK FOR ts AS SOURCE_WATERMARK() takes them. A watermark counts behind the rows of its block, and one block
// may have no rows; of several splits the lowest counts, as for any table. (A Table says it by SuppliesWatermarks; RegisterTable asks a Source.)
type WatermarkSource interface {
	Source
	SuppliesWatermarks() bool
}

// Reader reads one split, from one goroutine at a time.
type Reader interface {
	// Next returns the next block: io.EOF at the end of a bounded split, ErrNotReady when there is nothing now. It may wait for a disk, never for
	// a peer or for time.
	Next(ctx context.Context) (Block, error)
	// Ready signals that Next may have something; nil for a reader that never returns ErrNotReady.
	Ready() <-chan struct{}
	// Close may be called at any time between calls of Next.
	Close() error
}

// EOF is what Reader.Next returns at the end of its split.
var EOF = io.EOF

// Block is a piece of a split that was read but not decoded, or a mark of the source.
type Block struct {
	// Decode turns the block into rows. It is called once, possibly on another goroutine than Next and at the same time as other blocks' Decode, and
	// possibly after Close of the reader;
	// decoding the same block again after a restore gives the same rows. nil for a block without rows.
	Decode func(ctx context.Context, mem memory.Allocator) (Decoded, error)
	// Position is where the reader continues behind this block: rows and position come together.
	Position Position
	// Bytes is what the block holds, for accounting.
	Bytes int64
	// Watermark, when not stream.MinTime, is a watermark that the source itself vouches for, behind the block's rows.
	Watermark stream.Time
	// Idle says that the source declares the split idle, behind the block's rows.
	Idle bool
	// Discard gives the block's memory back when it is not decoded; may be nil.
	Discard func()
}

// Decoded are the rows of a block.
type Decoded struct {
	Batch stream.Batch
	// Bad lists the records that could not be decoded, ascending by Row: skipped, or kept in part (Kept). With the policy "fail" the decoder returns the first one as
	// the error instead (*BadRecord is an error). Which policy holds: Scan.KeepBad lists each bad record; with '<format>.ignore-parse-errors' a record
	// that can be cut into fields keeps the good ones, the bad fields are NULL (as in Flink), and it is listed with Kept; else fail.
	Bad []BadRecord
	// Position tells the record that a row came from, for messages: its line number from 1, or its offset. nil where records have none. It is called before
	// the next Decode of the decoder, if at all.
	Position func(row int) int64
}

// BadRecord is a record that is no row, or one with fields that had to be read as NULL: data, not a crash.
type BadRecord struct {
	Raw      []byte
	Err      string // why, with the cure where there is one
	Split    string // file, or topic-partition
	Position int64  // line number from 1, or offset
	Row      int    // number of rows of the block before it
	Kept     bool   // it is row Row of the block, with NULL for the fields that could not be read ('<format>.ignore-parse-errors')
}

// Error says where and why.
func (b *BadRecord) Error() string { return badRecordText(b) }

// Sink takes the rows of one table. Calls come from one goroutine.
type Sink interface {
	// Open prepares; restored has the receipts of a checkpoint that may not have been committed yet, in order, nil at a first start.
	Open(ctx context.Context, env *Env, restored [][]byte) error
	// Write owns b. It may wait (backpressure).
	Write(ctx context.Context, b stream.Batch) error
	// Prepare ends an epoch: all that was written before becomes durable but not visible, and is named by the receipt.
	Prepare(ctx context.Context, epoch int64) (receipt []byte, err error)
	// Commit makes an epoch visible; idempotent.
	Commit(ctx context.Context, receipt []byte) error
	// Close drops what was not committed.
	Close() error
}

// WatermarkSink is a sink that wants to know the watermark (partition commits).
type WatermarkSink interface {
	Watermark(ctx context.Context, wm stream.Time) error
}

// Clock is processing time, virtual in tests.
type Clock interface {
	Now() time.Time
	// After signals once when the clock has reached Now()+d; cancel gives the timer back.
	After(d time.Duration) (c <-chan time.Time, cancel func())
}

// Env is what a source or sink is given.
type Env struct {
	Allocator  memory.Allocator
	Clock      Clock
	Log        *slog.Logger
	Zone       *time.Location
	BatchRows  int
	ID         string // of the source or sink in its plan: the same on every run of a statement
	Partition  int    // of the sink
	Partitions int
	// Go starts a goroutine that ends when ctx is done; the job waits for it before it ends.
	Go func(f func(ctx context.Context))
	// Grow accounts bytes held (negative to give back); an error says that the memory limit is exceeded.
	Grow func(bytes int64) error
	// Count adds to a counter of the table under a name that users see.
	Count func(name string, n int64)
	// Stdin, Stdout, Stderr are the process's, or what the library's user gave.
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}
