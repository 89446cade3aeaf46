package connectors

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/types"
)

// Format turns bytes into rows and rows into bytes; its name is the value of the option 'format'. Its options are prefixed with the name ("json.…").
// A Format also implements RecordFormat (json, csv, raw: a stream of records that can be cut into blocks) or FileFormat (parquet: needs the file).
type Format interface {
	Name() string
	Options() []Option
}

// FormatConfig is what a table tells its format.
type FormatConfig struct {
	Table   string            // for messages
	Columns types.Schema      // all physical columns of the format, in declaration order
	Wanted  []int             // positions in Columns to decode, ascending; the batches have these columns in this order
	Options map[string]string // without the format's prefix
	Zone    *time.Location
	// Metadata are the wanted keys of a MetadataFormat.
	Metadata []string
	// KeepBad is Scan.KeepBad.
	KeepBad bool
	// MaxBytes is the length that a record may have at most, 0 for any: a longer one is the error RecordTooLong, whatever the policy for bad records.
	MaxBytes int64
}

// Inferred is what Infer found.
type Inferred struct {
	Columns types.Schema
	// Options are those of the format that must be set to read these columns, without its prefix: "header" = "true".
	Options map[string]string
}

// RecordFormat is a format whose records can be found in a stream of bytes.
type RecordFormat interface {
	Format
	// Check validates options and columns.
	Check(c FormatConfig) error
	Decoder(c FormatConfig) (Decoder, error)
	Encoder(c FormatConfig) (Encoder, error)
	// Infer reads columns and types off the first records. sample is the beginning of a file, name is for messages; without eof a last record that is
	// cut off is left aside.
	Infer(sample []byte, name string, eof bool, maxRows int, options map[string]string) (Inferred, error)
}

// Decoder decodes records. It is stateless but for caches: one per goroutine, or safe for concurrent use as SafeForConcurrentUse says.
type Decoder interface {
	// Header consumes what stands before the first record of a file (BOM, header line) and returns its length and number of lines. ok is false when
	// more bytes are needed and eof is not set. It may bind the columns of this file by name: the binding goes with the returned value to Decode.
	Header(data []byte, eof bool) (n int, lines int64, binding any, ok bool, err error)
	// Boundary returns the length of the longest prefix of data that holds whole records and how many lines it has; with eof the last record needs
	// no line end. data begins at a record.
	Boundary(data []byte, eof bool) (n int, lines int64)
	// Decode decodes whole records. at says where data begins.
	Decode(ctx context.Context, data []byte, at RecordPosition, mem memory.Allocator) (Decoded, error)
	// Clone returns a decoder for another goroutine.
	Clone() Decoder
}

// RecordPosition says where a block begins.
type RecordPosition struct {
	Split   string
	Line    int64 // physical line of the first record, from 1; an offset where records are messages
	Lines   int64 // what Boundary said of the data, 0 when nobody asked it
	Binding any   // what Header returned for this file
}

// LineEnds returns how many LF data has.
func (p RecordPosition) LineEnds(data []byte) int {
	if p.Lines > 0 && data[len(data)-1] == '\n' {
		return int(p.Lines)
	}
	return bytes.Count(data, []byte{'\n'})
}

// Encoder writes records.
type Encoder interface {
	// Header returns what stands at the start of each file (a CSV header line), nil for nothing.
	Header() []byte
	// Encode appends the records of rows (nil: all) of rec to dst. Columns are FormatConfig.Columns.
	Encode(dst []byte, rec arrow.RecordBatch, rows []int32) ([]byte, error)
}

// FileFormat is a format that reads a file at random and is compressed in itself (parquet).
type FileFormat interface {
	Format
	Check(c FormatConfig) error
	// OpenFile reads the footer. Blocks are row groups, or parts of them.
	OpenFile(ctx context.Context, f ReadAtSeeker, name string, c FormatConfig, mem memory.Allocator) (FileReader, error)
	// NewFile starts a file.
	NewFile(w io.Writer, c FormatConfig, mem memory.Allocator) (FileWriter, error)
	InferFile(ctx context.Context, f ReadAtSeeker, name string, options map[string]string) (Inferred, error)
}

// ReadAtSeeker is what random access needs.
type ReadAtSeeker interface {
	io.ReaderAt
	io.Seeker
}

// FileReader reads a FileFormat's file block by block.
type FileReader interface {
	// Rows is the number of rows of the file.
	Rows() int64
	// Next returns the block that begins at row; io.EOF behind the last. Block.Position is left to the connector: the next block begins at nextRow.
	Next(ctx context.Context, row int64, maxRows int) (b Block, nextRow int64, err error)
	Close() error
}

// FileWriter writes one file.
type FileWriter interface {
	Write(rec arrow.RecordBatch) error
	// Size is about how many bytes were written so far.
	Size() int64
	// Close writes the footer; it does not close the underlying writer.
	Close() error
}

// RecordTooLong is the error of a record of more than most bytes. A connector whose blocks it does not fit returns it too.
func RecordTooLong(split string, line, most int64) error {
	return fmt.Errorf("%s:%d: the record that begins here is longer than %d bytes; a quote may not be closed; if it is right set 'source.max-record-size' = '%d mb'",
		split, line, most, 2*((most>>20)+1))
}

func badRecordText(b *BadRecord) string {
	return fmt.Sprintf("%s:%d: %s", b.Split, b.Position, b.Err)
}
