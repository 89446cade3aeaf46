package connectors

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Messages are records that came one by one, without line ends between them: keys or values of the messages of a log.
type Messages struct {
	Split string // for BadRecord.Split
	// Values has the bytes of each record; nil is a null message, which is no row for most formats.
	Values [][]byte
	// Offset returns the position in the split of message i, for BadRecord.Position.
	Offset func(i int) int64
}

// MessageDecoder is a Decoder that reads messages too. A connector of a log needs it; files do not.
type MessageDecoder interface {
	Decoder
	// DecodeMessages decodes each message as one record. A message may give no row (a null message, a bad record that is skipped), one, or several. of says
	// for each row which message it came from, ascending; nil when row i came from message i, for all.
	DecodeMessages(ctx context.Context, m Messages, mem memory.Allocator) (d Decoded, of []int32, err error)
}

// MessageEncoder is an Encoder that writes messages too.
type MessageEncoder interface {
	Encoder
	// EncodeMessage appends the record of row r of rec, without a line end. ok is false for a row whose record is a null message. kind is Insert except for
	// a format that takes changes.
	EncodeMessage(dst []byte, rec arrow.RecordBatch, r int32, kind stream.RowKind) (out []byte, ok bool, err error)
}

// ChangelogFormat is a format whose records are changes of rows (debezium-json); formats that are none give and take inserts only.
type ChangelogFormat interface {
	RecordFormat
	// Changelog returns the row kinds that its decoders give and its encoders take, as Table.ChangelogKinds and AcceptsKinds have them; takes is empty for
	// a format that cannot be written.
	Changelog() (gives, takes string)
}

// MetadataFormat is a format whose records have more in them than the columns (the database that a change comes from). FormatConfig.Metadata lists the
// wanted keys; their columns come behind the wanted columns.
type MetadataFormat interface {
	RecordFormat
	Metadata() types.Schema
}

// Origins collects the of of DecodeMessages.
type Origins struct {
	list  []int32
	rows  int
	mixed bool
}

// Put says that message i, the next one, gave n rows.
func (o *Origins) Put(i, n int) {
	if !o.mixed {
		if n == 1 && o.rows == i {
			o.rows++
			return
		}
		o.mixed = true
		o.list = make([]int32, 0, o.rows+n+16)
		for k := range o.rows {
			o.list = append(o.list, int32(k))
		}
	}
	for range n {
		o.list = append(o.list, int32(i))
	}
	o.rows += n
}

// More says that message i, the last one of Put, gave n rows more.
func (o *Origins) More(i, n int) {
	if n > 0 && !o.mixed {
		o.mixed = true
		for k := range o.rows {
			o.list = append(o.list, int32(k))
		}
	}
	for range n {
		o.list = append(o.list, int32(i))
	}
	o.rows += n
}

// List returns which message each row came from, nil when row i came from message i.
func (o *Origins) List() []int32 { return o.list }

// Pausable is a Reader that can be told to stop reading ahead: watermark alignment pauses the splits that are ahead of their group. Next may still give
// what was read before. Both may be called from the goroutine of Next only, and twice.
type Pausable interface {
	Reader
	Pause()
	Resume()
}

// ReportingSource is a Source that tells the outside how far a job has come: the offsets of a consumer group.
type ReportingSource interface {
	Source
	// Reports is asked once, behind the first call of Splits: whether Report is to be called when the job takes a checkpoint, is stopped in order or comes to
	// its end, and how often besides while it runs (0 for never).
	Reports() (wanted bool, every time.Duration)
	// Report gives, by id of the split, the positions before which every row has been worked off: the sinks have committed what came of them, and no operator
	// holds any. There are several where one job scans the table more than once. held is not 0 when operators do hold rows (of windows that are open): then they
	// are in their state only. A scan that a LIMIT ended reports nothing.
	Report(ctx context.Context, positions map[string][]Position, held int64)
}

// RestoredSource is a Source that wants to know, before the first call of Splits, which splits the snapshot has that the scan is restored from. Splits
// that are found beside them were born later: they are read from their beginning, wherever reading began at the first start.
type RestoredSource interface {
	Source
	Restored(splits []Split)
}
