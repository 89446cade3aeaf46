// Package avro has the format 'avro'. In a message a record stands alone, in Avro's binary encoding: its schema is made of the table's columns, as Flink
// makes it, and must be the writer's; or in Avro's JSON encoding, of the same schema. A file is one of Avro's container files: it has its writer's schema
// in it, whose fields are matched to columns by name and with case; fields that are no column are skipped, columns that are no field are NULL.
//
// Where columns are inferred, they are those of the schema in the file: timestamps and local timestamps are TIMESTAMP, an enum is a STRING, a logical type that
// SQL does not have (a time of microseconds, say) is what it is based on; a field that may have several types is an error.
package avro

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/internal/colbuf"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Format is the avro format.
type Format struct{}

const legacyMapping = "timestamp_mapping.legacy"

// Name is avro.
func (Format) Name() string { return "avro" }

// Options are those of Flink.
func (Format) Options() []connectors.Option {
	return []connectors.Option{
		{Name: "encoding", Type: "binary|json", Default: "binary", Doc: "How the record of a message is encoded."},
		{Name: "codec", Type: "null|deflate|snappy|zstandard", Default: "snappy", Doc: "How the blocks of files are compressed by a sink. Messages are not."},
		{Name: legacyMapping, Type: "boolean", Default: "true", Doc: "TIMESTAMP is a timestamp-millis, and TIMESTAMP_LTZ has no form; otherwise they are local-timestamp and timestamp."},
	}
}

// Check validates options and columns.
func (f Format) Check(c connectors.FormatConfig) error {
	if err := connectors.CheckOptions("format 'avro'", c.Options, f.Options()); err != nil {
		return err
	}
	if _, err := f.derive(c); err != nil {
		return fmt.Errorf("table %s: %w", c.Table, err)
	}
	return nil
}

func inJSON(c connectors.FormatConfig) bool {
	return connectors.GetEnum(c.Options, "encoding", "binary", "binary", "json") == "json"
}

func (Format) derive(c connectors.FormatConfig) (Schema, error) {
	return Derive(c.Columns, connectors.GetBool(c.Options, legacyMapping, true))
}

// Decoder returns a decoder.
func (f Format) Decoder(c connectors.FormatConfig) (connectors.Decoder, error) {
	if err := f.Check(c); err != nil {
		return nil, err
	}
	s, err := f.derive(c)
	if err != nil {
		return nil, err
	}
	d := &decoder{own: s, json: inJSON(c), keepBad: c.KeepBad, most: c.MaxBytes}
	for _, w := range c.Wanted {
		d.columns = append(d.columns, c.Columns[w])
	}
	d.schema = d.columns.Arrow()
	return d, d.init()
}

// decoder reads messages of its own schema, and container files of any.
type decoder struct {
	own     Schema
	json    bool         // messages are
	columns types.Schema // wanted ones
	schema  *arrow.Schema
	keepBad bool
	most    int64

	reader *Reader
	cols   []*colbuf.Col
	of     *container // the file that fileReader is for
	file   *Reader
}

func (d *decoder) init() error {
	var err error
	d.reader, err = NewReader(d.own, d.columns)
	d.cols = nil
	for _, c := range d.columns {
		d.cols = append(d.cols, colbuf.New(c.Type))
	}
	return err
}

// Clone returns a decoder for another goroutine.
func (d *decoder) Clone() connectors.Decoder {
	c := &decoder{own: d.own, json: d.json, columns: d.columns, schema: d.schema, keepBad: d.keepBad, most: d.most}
	_ = c.init() // it was right the first time
	return c
}

// DecodeMessages decodes a record per message. A null message gives no row.
func (d *decoder) DecodeMessages(ctx context.Context, m connectors.Messages, mem memory.Allocator) (connectors.Decoded, []int32, error) {
	return DecodeMessages(m, mem, d.cols, d.schema, d.keepBad, "avro", func(v []byte) (*Reader, []byte, error) {
		if d.json {
			body, err := fromJSON(nil, d.own, v)
			return d.reader, body, err
		}
		return d.reader, v, nil
	})
}

// NotBad marks an error of DecodeMessages' find that is not the record's fault.
type NotBad struct{ Err error }

// Error is that of Err.
func (n *NotBad) Error() string { return n.Err.Error() }

// Unwrap returns Err.
func (n *NotBad) Unwrap() error { return n.Err }

// DecodeMessages decodes messages into cols; find gives the reader of a message and its record.
func DecodeMessages(m connectors.Messages, mem memory.Allocator, cols []*colbuf.Col, schema *arrow.Schema, keepBad bool, format string,
	find func(v []byte) (*Reader, []byte, error)) (connectors.Decoded, []int32, error) {
	for _, c := range cols {
		c.Start(mem, len(m.Values))
	}
	discard := func() {
		for _, c := range cols {
			c.Discard()
		}
	}
	var of connectors.Origins
	var bad []connectors.BadRecord
	rows := 0
	for i, v := range m.Values {
		if v == nil {
			of.Put(i, 0)
			continue
		}
		r, body, err := find(v)
		if err == nil {
			var p int
			if p, err = r.Record(body, 0, cols); err == nil && p < len(body) {
				err = fmt.Errorf("%d bytes are left behind the record: was it written with another schema?", len(body)-p)
			}
		}
		if err == nil {
			of.Put(i, 1)
			rows++
			continue
		}
		var no *NotBad
		if errors.As(err, &no) {
			discard()
			return connectors.Decoded{}, nil, no.Err
		}
		for _, c := range cols {
			c.Truncate(rows)
		}
		of.Put(i, 0)
		b := connectors.BadRecord{Raw: bytes.Clone(v), Err: err.Error(), Split: m.Split, Position: m.Offset(i), Row: rows}
		if !keepBad {
			discard()
			b.Err += "; to go on behind bad records set 'bad-records.table'"
			return connectors.Decoded{}, nil, &b
		}
		bad = append(bad, b)
	}
	data := make([]arrow.ArrayData, len(cols))
	for i, c := range cols {
		data[i] = c.Finish()
	}
	return connectors.Decoded{Batch: stream.Batch{Record: colbuf.Record(schema, data, rows)}, Bad: bad}, of.List(), nil
}

// Encoder returns an encoder.
func (f Format) Encoder(c connectors.FormatConfig) (connectors.Encoder, error) {
	if err := f.Check(c); err != nil {
		return nil, err
	}
	s, err := f.derive(c)
	if err != nil {
		return nil, err
	}
	w, err := NewWriter(s, c.Columns)
	if err != nil {
		return nil, err
	}
	e := newEncoder(s, w, connectors.GetEnum(c.Options, "codec", "snappy", "null", "deflate", "snappy", "zstandard"))
	if inJSON(c) {
		e.json = s
	}
	return e, nil
}

// EncodeMessage appends the record of a row.
func (e *encoder) EncodeMessage(dst []byte, rec arrow.RecordBatch, r int32, _ stream.RowKind) ([]byte, bool, error) {
	if e.json == nil {
		dst, err := e.w.Append(dst, rec, int(r))
		return dst, true, err
	}
	b, err := e.w.Append(nil, rec, int(r))
	if err != nil {
		return dst, false, err
	}
	dst, _, err = toJSON(dst, e.json, b, 0)
	return dst, true, err
}
