package cdc

import (
	"context"
	stdjson "encoding/json"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/format/json"
	"github.com/weir-sql/weir/types"
)

// Partial are the images before a change that name the changed columns only, as canal and maxwell write them: a member that is missing is as in the image
// behind the change, one that is null was NULL.
type Partial struct {
	rec  arrow.RecordBatch
	rows map[int][]int // rows of rec for each envelope
	has  []map[string]stdjson.RawMessage
}

// NewPartial reads the JSON texts in column of the envelopes for which wanted holds: an object, or an array of objects.
func NewPartial(ctx context.Context, rec arrow.RecordBatch, column int, wanted func(r int) bool, columns types.Schema, mem memory.Allocator) (*Partial, error) {
	p := &Partial{rows: map[int][]int{}}
	texts := rec.Column(column).(*array.String)
	var values [][]byte
	var of []int
	for r := range int(rec.NumRows()) {
		if !wanted(r) || texts.IsNull(r) {
			continue
		}
		text := []byte(texts.Value(r))
		var many []map[string]stdjson.RawMessage
		if stdjson.Unmarshal(text, &many) != nil {
			var one map[string]stdjson.RawMessage
			if stdjson.Unmarshal(text, &one) != nil {
				continue // Row finds nothing and says so
			}
			many = []map[string]stdjson.RawMessage{one}
		}
		values, of = append(values, text), append(of, r)
		p.has = append(p.has, many...)
	}
	nullable := make(types.Schema, len(columns))
	for i, c := range columns {
		nullable[i] = types.Column{Name: c.Name, Type: c.Type.WithNull(true)}
	}
	// What does not fit is read as NULL by the tolerant decoder and found out by its list.
	d, err := json.Format{}.Decoder(connectors.FormatConfig{Columns: nullable, Wanted: all(len(nullable)), Options: map[string]string{"ignore-parse-errors": "true"}})
	if err != nil {
		return nil, err
	}
	out, from, err := d.(connectors.MessageDecoder).DecodeMessages(ctx, connectors.Messages{Values: values, Offset: func(i int) int64 { return int64(i) }}, mem)
	if err != nil {
		return nil, err
	}
	p.rec = out.Batch.Record
	bad := map[int]bool{}
	for _, b := range out.Bad {
		bad[int(b.Position)] = true
	}
	for row := range int(p.rec.NumRows()) {
		i := row
		if from != nil {
			i = int(from[row])
		}
		if !bad[i] {
			p.rows[of[i]] = append(p.rows[of[i]], row)
		}
	}
	if int(p.rec.NumRows()) != len(p.has) {
		p.has = nil // a document that gave no row: none is believed
		p.rows = map[int][]int{}
	}
	return p, nil
}

// Release gives the memory back.
func (p *Partial) Release() { p.rec.Release() }

// Image returns the image before change k of envelope r, given the one behind it.
func (p *Partial) Image(r, k int, columns types.Schema, after Image) (Image, error) {
	rows := p.rows[r]
	if k >= len(rows) {
		return nil, fmt.Errorf("the member old of an update is missing or cannot be read")
	}
	row := rows[k]
	has := p.has[row]
	return func(c int) (arrow.Array, int) {
		if _, ok := has[columns[c].Name]; ok {
			return p.rec.Column(c), row
		}
		return after(c)
	}, nil
}

// Millis appends a time in milliseconds (or what unit milliseconds are) to a TIMESTAMP_LTZ(3); NULL when a has none.
func Millis(b array.Builder, a arrow.Array, r int, unit int64) {
	if a.IsNull(r) {
		b.AppendNull()
		return
	}
	b.(*array.TimestampBuilder).Append(arrow.Timestamp(a.(*array.Int64).Value(r) * unit * types.MicrosPerMilli))
}

// Entry returns the text of a member of a MAP<STRING, STRING>.
func Entry(a arrow.Array, r int, key string) (string, bool) {
	l := a.(*array.List)
	if l.IsNull(r) {
		return "", false
	}
	kv := l.ListValues().(*array.Struct)
	keys, vals := kv.Field(0).(*array.String), kv.Field(1).(*array.String)
	from, to := l.ValueOffsets(r)
	for j := int(from); j < int(to); j++ {
		if keys.Value(j) == key && !vals.IsNull(j) {
			return vals.Value(j), true
		}
	}
	return "", false
}

// EntryMillis appends a member of a MAP<STRING, STRING> that is a time in milliseconds.
func EntryMillis(b array.Builder, a arrow.Array, r int, key string) {
	v, ok := Entry(a, r, key)
	ms, err := strconv.ParseInt(v, 10, 64)
	if !ok || err != nil {
		b.AppendNull()
		return
	}
	b.(*array.TimestampBuilder).Append(arrow.Timestamp(ms * types.MicrosPerMilli))
}

// EntryText appends a member of a MAP<STRING, STRING>.
func EntryText(b array.Builder, a arrow.Array, r int, key string) {
	if v, ok := Entry(a, r, key); ok {
		b.(*array.StringBuilder).Append(v)
	} else {
		b.AppendNull()
	}
}
