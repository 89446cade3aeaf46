package csv

import (
	"bytes"
	"context"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/internal/colbuf"
	"github.com/weir-sql/weir/exec/stream"
)

// DecodeMessages decodes a record per message; a line end behind it is cut off. Columns go by position. A null message gives no row.
func (d *decoder) DecodeMessages(ctx context.Context, m connectors.Messages, mem memory.Allocator) (connectors.Decoded, []int32, error) {
	for _, c := range d.cols {
		c.Start(mem, len(m.Values))
	}
	r := run{d: d, l: d.byPosition, at: connectors.RecordPosition{Split: m.Split}}
	for _, to := range r.l.to {
		var st step
		if to >= 0 {
			st = step{d.cols[to], d.fast[to]}
		}
		r.steps = append(r.steps, st)
	}
	var of connectors.Origins
	var line []byte
	for i, v := range m.Values {
		rows := r.rows
		if v != nil {
			var err error
			if line, err = r.message(v, line, i, m.Offset); err != nil {
				for _, c := range d.cols {
					c.Discard()
				}
				return connectors.Decoded{}, nil, err
			}
		}
		of.Put(i, r.rows-rows)
	}
	cols := make([]arrow.ArrayData, len(d.cols))
	for i, c := range d.cols {
		cols[i] = c.Finish()
	}
	return connectors.Decoded{Batch: stream.Batch{Record: colbuf.Record(d.schema, cols, r.rows)}, Bad: r.bad}, of.List(), nil
}

// message reads one message; line is a buffer that is kept.
func (r *run) message(v, line []byte, i int, offset func(int) int64) ([]byte, error) {
	d := r.d
	r.utf8 = utf8.Valid(v)
	special := func(c byte) bool { return c != 0 && bytes.IndexByte(v, c) >= 0 }
	if r.utf8 && !d.cfg.comments && !special(d.cfg.quote) && !special(d.cfg.escape) && !special('\n') {
		line = append(append(line[:0], v...), '\n')
		if _, ok := r.fast(line, 0, true); ok {
			return line, nil
		}
		for _, c := range d.cols {
			c.Truncate(r.rows)
		}
	}
	r.data, r.line = v, offset(i)
	rows, bad := r.rows, len(r.bad)
	next, err := r.slow(0)
	if err != nil || next >= len(v) || len(r.bad) > bad && !r.bad[len(r.bad)-1].Kept {
		if len(v) == 0 && err == nil && len(r.bad) == bad && r.rows == rows {
			err = r.fail(v, offset(i), "a blank message")
		}
		return line, err
	}
	if r.rows == rows { // a comment before the record
		return line, r.fail(v, offset(i), "text behind a comment")
	}
	for _, c := range d.cols {
		c.Truncate(rows)
	}
	r.rows, r.bad = rows, r.bad[:bad]
	return line, r.fail(v, offset(i), "a line end within the record; quote the cell")
}

// EncodeMessage appends one record.
func (e *encoder) EncodeMessage(dst []byte, rec arrow.RecordBatch, r int32, _ stream.RowKind) ([]byte, bool, error) {
	e.one[0] = r
	dst, err := e.Encode(dst, rec, e.one[:])
	return bytes.TrimSuffix(dst, newline), true, err
}
