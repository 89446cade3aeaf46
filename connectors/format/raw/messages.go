package raw

import (
	"bytes"
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/internal/colbuf"
	"github.com/weir-sql/weir/exec/stream"
)

var errNull = errors.New("a null message, and the column is NOT NULL")

// DecodeMessages takes each message as it is, line ends and all. A null message is a row with NULL.
func (d *codec) DecodeMessages(ctx context.Context, m connectors.Messages, mem memory.Allocator) (connectors.Decoded, []int32, error) {
	col := colbuf.New(d.typ)
	col.Start(mem, len(m.Values))
	var bad []connectors.BadRecord
	var texts colbuf.Texts
	var of connectors.Origins
	rows := 0
	for i, v := range m.Values {
		var err error
		switch {
		case d.most > 0 && int64(len(v)) > d.most:
			col.Discard()
			return connectors.Decoded{}, nil, connectors.RecordTooLong(m.Split, m.Offset(i), d.most)
		case v != nil:
			err = d.put(col, v, &texts)
		case d.typ.Nullable:
			col.PutNull()
		default:
			err = errNull
		}
		if err != nil {
			col.Truncate(rows)
			of.Put(i, 0)
			b := connectors.BadRecord{Raw: bytes.Clone(v), Err: err.Error(), Split: m.Split, Position: m.Offset(i), Row: rows}
			if !d.keepBad {
				col.Discard()
				return connectors.Decoded{}, nil, &b
			}
			bad = append(bad, b)
			continue
		}
		of.Put(i, 1)
		rows++
	}
	out := connectors.Decoded{Bad: bad}
	if d.wanted {
		out.Batch = stream.Batch{Record: colbuf.Record(d.schema, []arrow.ArrayData{col.Finish()}, rows)}
	} else {
		col.Discard()
		out.Batch = stream.Batch{Record: colbuf.Record(d.schema, nil, rows)}
	}
	return out, of.List(), nil
}

// EncodeMessage appends the value; NULL is a null message.
func (e *encoder) EncodeMessage(dst []byte, rec arrow.RecordBatch, r int32, _ stream.RowKind) ([]byte, bool, error) {
	arr := rec.Column(0)
	if arr.IsNull(int(r)) {
		return dst, false, nil
	}
	switch a := arr.(type) {
	case *array.Binary:
		return append(dst, a.Value(int(r))...), true, nil
	case *array.String:
		if !e.latin {
			return append(dst, a.Value(int(r))...), true, nil
		}
		out, err := e.latin1(dst, a.Value(int(r)))
		return out, true, err
	}
	out, err := e.Encode(dst, rec, []int32{r})
	return out, true, err
}
