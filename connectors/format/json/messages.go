package json

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/internal/colbuf"
	"github.com/weir-sql/weir/exec/stream"
)

// DecodeMessages decodes a document per message, which may have line ends in it. A null message gives no row, as an empty one and the document null do.
func (d *decoder) DecodeMessages(ctx context.Context, m connectors.Messages, mem memory.Allocator) (connectors.Decoded, []int32, error) {
	for _, c := range d.top.cols {
		c.Start(mem, len(m.Values))
	}
	r := run{d: d, at: connectors.RecordPosition{Split: m.Split}}
	var of connectors.Origins
	for i, v := range m.Values {
		rows := r.rows
		if v != nil {
			if err := r.message(v, i, m.Offset); err != nil {
				for _, c := range d.top.cols {
					c.Discard()
				}
				return connectors.Decoded{}, nil, err
			}
		}
		of.Put(i, r.rows-rows)
	}
	cols := make([]arrow.ArrayData, len(d.top.cols))
	for i, c := range d.top.cols {
		cols[i] = c.Finish()
	}
	return connectors.Decoded{Batch: stream.Batch{Record: colbuf.Record(d.schema, cols, r.rows)}, Bad: r.bad}, of.List(), nil
}

// message reads one message: as an object without blanks around it, else as a line of a file.
func (r *run) message(v []byte, i int, offset func(int) int64) error {
	d := r.d
	d.escapes = bytes.IndexByte(v, '\\') >= 0
	r.utf8 = utf8.Valid(v)
	if r.utf8 && len(v) > 0 && v[0] == '{' && (d.most <= 0 || int64(len(v)) <= d.most) {
		if p, err := d.object(&d.top, v, 0, r.rows); err == nil && p == len(v) {
			r.kept(v, offset(i))
			return nil
		}
		d.badWhy = ""
		for _, c := range d.top.cols {
			c.Truncate(r.rows)
		}
	}
	bad := len(r.bad)
	err := r.line(v, offset(i))
	if b, ok := err.(*connectors.BadRecord); ok {
		b.Err = strings.Replace(b.Err, lineEnds, ", but the message ends", 1)
	}
	for ; bad < len(r.bad); bad++ {
		r.bad[bad].Err = strings.Replace(r.bad[bad].Err, lineEnds, ", but the message ends", 1)
	}
	return err
}

const lineEnds = ", but the line ends (a document must be on one line)"

// EncodeMessage appends one object.
func (e *encoder) EncodeMessage(dst []byte, rec arrow.RecordBatch, r int32, _ stream.RowKind) ([]byte, bool, error) {
	e.one[0] = r
	dst, err := e.Encode(dst, rec, e.one[:])
	return bytes.TrimSuffix(dst, newline), true, err
}
