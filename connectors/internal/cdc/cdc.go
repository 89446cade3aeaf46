// Package cdc has what the JSON formats of change data capture (debezium-json, canal-json, maxwell-json) share: an envelope that is decoded as JSON, and
// turned into rows with kinds, message by message.
package cdc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/format/json"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Options are those of json that its users have too, with Flink's names.
func Options(own ...connectors.Option) []connectors.Option {
	for _, o := range (json.Format{}).Options() {
		switch o.Name {
		case "fail-on-missing-field", "decode.json-parser.enabled":
		default:
			own = append(own, o)
		}
	}
	return own
}

// Check validates options and columns of a format.
func Check(name string, options []connectors.Option, c connectors.FormatConfig) error {
	if err := connectors.CheckOptions("format '"+name+"'", c.Options, options); err != nil {
		return err
	}
	return json.Format{}.Check(connectors.FormatConfig{Table: c.Table, Columns: c.Columns, Options: jsonOptions(c.Options)})
}

func jsonOptions(given map[string]string) map[string]string {
	out := map[string]string{}
	for _, o := range (json.Format{}).Options() {
		if v, ok := given[o.Name]; ok {
			out[o.Name] = v
		}
	}
	return out
}

// Envelope says how a format's records are read.
type Envelope struct {
	Name string
	// Columns are the members of a record that are read, as columns of JSON.
	Columns types.Schema
	// Prepare is called once for a batch of envelopes, before Row; it may be nil. What it returns goes to Row and is released by it.
	Prepare func(ctx context.Context, rec arrow.RecordBatch, mem memory.Allocator) (Prepared, error)
	// Row turns row r of the envelopes into rows of the table.
	Row func(rec arrow.RecordBatch, p Prepared, r int, out *Rows) error
}

// Prepared is what Prepare made of a batch.
type Prepared interface{ Release() }

// Image is one side of a change: where each wanted column's value is.
type Image func(column int) (arrow.Array, int)

// OfStruct is the image in row r of a column of structs, whose fields are the wanted columns.
func OfStruct(a arrow.Array, r int) Image {
	s := a.(*array.Struct)
	return func(c int) (arrow.Array, int) { return s.Field(c), r }
}

// Nullable is a ROW of the columns that may all be NULL: an image before a change may have the key only.
func Nullable(columns types.Schema) types.Type {
	fields := make([]types.Field, len(columns))
	for i, c := range columns {
		fields[i] = types.Field{Name: c.Name, Type: c.Type.WithNull(true)}
	}
	return types.RowOf(fields...)
}

// Wanted are the wanted columns of a configuration.
func Wanted(c connectors.FormatConfig) types.Schema {
	out := make(types.Schema, len(c.Wanted))
	for i, w := range c.Wanted {
		out[i] = c.Columns[w]
	}
	return out
}

// Rows collects the rows of a batch.
type Rows struct {
	columns  types.Schema // wanted ones, then metadata
	wanted   int
	builders []array.Builder
	kinds    []stream.RowKind
	metadata func(key int, b array.Builder) // of the envelope that is being turned
}

// Check reports a NULL in a column that is NOT NULL.
func (o *Rows) Check(img Image) error {
	for c := range o.wanted {
		if !o.columns[c].Type.Nullable {
			if a, r := img(c); a.IsNull(r) {
				return fmt.Errorf("column %s is NULL or missing, and it is NOT NULL", o.columns[c].Name)
			}
		}
	}
	return nil
}

// Add adds a row. It must be known to be good.
func (o *Rows) Add(kind stream.RowKind, img Image) {
	for c, b := range o.builders[:o.wanted] {
		a, r := img(c)
		types.AppendFrom(b, a, r)
	}
	for k, b := range o.builders[o.wanted:] {
		o.metadata(k, b)
	}
	o.kinds = append(o.kinds, kind)
}

// Metadata sets where the metadata of the next rows is: it appends the value of a wanted key.
func (o *Rows) Metadata(f func(key int, b array.Builder)) { o.metadata = f }

// Decoder returns a decoder of records of the envelope. metadata are the columns of the wanted metadata.
func Decoder(e Envelope, c connectors.FormatConfig, metadata types.Schema) (connectors.Decoder, error) {
	inner, err := json.Format{}.Decoder(connectors.FormatConfig{Table: c.Table, Columns: e.Columns, Wanted: all(len(e.Columns)), Options: jsonOptions(c.Options), Zone: c.Zone,
		KeepBad: c.KeepBad, MaxBytes: c.MaxBytes})
	if err != nil {
		return nil, err
	}
	columns := append(Wanted(c), metadata...)
	return &decoder{e: e, json: inner.(connectors.MessageDecoder), columns: columns, wanted: len(c.Wanted), schema: columns.Arrow(),
		skipBad: c.KeepBad || connectors.GetBool(c.Options, "ignore-parse-errors", false)}, nil
}

func all(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

type decoder struct {
	e       Envelope
	json    connectors.MessageDecoder
	columns types.Schema
	wanted  int
	schema  *arrow.Schema
	skipBad bool
}

// Clone implements connectors.Decoder.
func (d *decoder) Clone() connectors.Decoder {
	c := *d
	c.json = d.json.Clone().(connectors.MessageDecoder)
	return &c
}

// Header implements connectors.Decoder.
func (d *decoder) Header(data []byte, eof bool) (int, int64, any, bool, error) {
	return d.json.Header(data, eof)
}

// Boundary implements connectors.Decoder.
func (d *decoder) Boundary(data []byte, eof bool) (int, int64) { return d.json.Boundary(data, eof) }

// Decode decodes a record on each line.
func (d *decoder) Decode(ctx context.Context, data []byte, at connectors.RecordPosition, mem memory.Allocator) (connectors.Decoded, error) {
	var lines [][]byte
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		lines, data = append(lines, line[:len(line):len(line)]), rest
		if line == nil {
			lines[len(lines)-1] = []byte{}
		}
	}
	out, of, err := d.DecodeMessages(ctx, connectors.Messages{Split: at.Split, Values: lines, Offset: func(i int) int64 { return at.Line + int64(i) }}, mem)
	out.Position = func(row int) int64 {
		if of != nil {
			row = int(of[row])
		}
		return at.Line + int64(row)
	}
	return out, err
}

// DecodeMessages decodes a record per message. A null message gives no row.
func (d *decoder) DecodeMessages(ctx context.Context, m connectors.Messages, mem memory.Allocator) (connectors.Decoded, []int32, error) {
	in, of, err := d.json.DecodeMessages(ctx, m, mem)
	if err != nil {
		var b *connectors.BadRecord
		if errors.As(err, &b) {
			b.Err = strings.ReplaceAll(b.Err, "'json.", "'"+d.e.Name+".")
		}
		return connectors.Decoded{}, nil, err
	}
	rec := in.Batch.Record
	defer rec.Release()
	var prepared Prepared
	if d.e.Prepare != nil {
		if prepared, err = d.e.Prepare(ctx, rec, mem); err != nil {
			return connectors.Decoded{}, nil, err
		}
		defer prepared.Release()
	}
	rows := &Rows{columns: d.columns, wanted: d.wanted}
	for _, c := range d.columns {
		rows.builders = append(rows.builders, types.NewBuilder(mem, c.Type))
	}
	defer func() {
		for _, b := range rows.builders {
			b.Release()
		}
	}()
	var origins connectors.Origins
	var bad []connectors.BadRecord
	starts := make([]int, 0, rec.NumRows()+1) // first row of each envelope
	message := func(r int) int {
		if of == nil {
			return r
		}
		return int(of[r])
	}
	at := 0 // the next message
	for r := range int(rec.NumRows()) {
		n := len(rows.kinds)
		starts = append(starts, n)
		i := message(r)
		if err := d.e.Row(rec, prepared, r, rows); err != nil {
			b := connectors.BadRecord{Raw: bytes.Clone(m.Values[i]), Err: err.Error(), Split: m.Split, Position: m.Offset(i), Row: n}
			if !d.skipBad {
				b.Err += "; to go on behind bad records set '" + d.e.Name + ".ignore-parse-errors' = 'true' or 'bad-records.table'"
				return connectors.Decoded{}, nil, &b
			}
			bad = append(bad, b)
		}
		if i >= at { // several documents in one message are one message
			for ; at < i; at++ {
				origins.Put(at, 0)
			}
			at++
			origins.Put(i, len(rows.kinds)-n)
		} else {
			origins.More(i, len(rows.kinds)-n)
		}
	}
	for ; at < len(m.Values); at++ {
		origins.Put(at, 0)
	}
	starts = append(starts, len(rows.kinds))
	for _, b := range in.Bad {
		b.Err = strings.ReplaceAll(b.Err, "'json.", "'"+d.e.Name+".")
		if b.Row = starts[b.Row]; b.Kept && b.Row == len(rows.kinds) {
			b.Kept = false // its record gave no row
		}
		bad = append(bad, b)
	}
	sort.SliceStable(bad, func(i, j int) bool { return bad[i].Position < bad[j].Position })
	cols := make([]arrow.Array, len(rows.builders))
	for i, b := range rows.builders {
		cols[i] = b.NewArray()
	}
	out := array.NewRecordBatch(d.schema, cols, int64(len(rows.kinds)))
	for _, c := range cols {
		c.Release()
	}
	return connectors.Decoded{Batch: stream.Batch{Record: out, Kinds: rows.kinds}, Bad: bad}, origins.List(), nil
}

// Encoder returns an encoder that writes envelopes around the JSON of a row: what before and after give for a kind.
func Encoder(name string, c connectors.FormatConfig, around func(kind stream.RowKind) (before, after string)) (connectors.Encoder, error) {
	e, err := json.Format{}.Encoder(connectors.FormatConfig{Table: c.Table, Columns: c.Columns, Options: jsonOptions(c.Options), Zone: c.Zone})
	if err != nil {
		return nil, err
	}
	return &encoder{json: e.(connectors.MessageEncoder), around: around}, nil
}

type encoder struct {
	json   connectors.MessageEncoder
	around func(stream.RowKind) (string, string)
}

// Header implements connectors.Encoder.
func (e *encoder) Header() []byte { return nil }

// Encode appends the rows as inserted ones, a line for each.
func (e *encoder) Encode(dst []byte, rec arrow.RecordBatch, rows []int32) ([]byte, error) {
	n := int(rec.NumRows())
	if rows != nil {
		n = len(rows)
	}
	for k := range n {
		r := int32(k)
		if rows != nil {
			r = rows[k]
		}
		var err error
		if dst, _, err = e.EncodeMessage(dst, rec, r, stream.Insert); err != nil {
			return dst, err
		}
		dst = append(dst, '\n')
	}
	return dst, nil
}

// EncodeMessage appends the envelope of a row.
func (e *encoder) EncodeMessage(dst []byte, rec arrow.RecordBatch, r int32, kind stream.RowKind) ([]byte, bool, error) {
	before, after := e.around(kind)
	dst = append(dst, before...)
	dst, _, err := e.json.EncodeMessage(dst, rec, r, kind)
	return append(dst, after...), true, err
}
