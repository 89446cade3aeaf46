// Package avroconfluent has the format 'avro-confluent': Avro records in the wire format of Confluent's serializers, whose schemas are in a schema registry.
//
// A record begins with a zero byte and the id of its writer's schema, which is got from the registry once. Fields are matched to columns by name and with
// case; fields that are no column are skipped, columns that are no field are NULL. A sink registers the schema of the table's columns (or the option
// 'schema') under 'subject'; connector 'kafka' sets that to topic-value or topic-key where it is missing.
package avroconfluent

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/format/avro"
	"github.com/weir-sql/weir/connectors/internal/colbuf"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

const name = "avro-confluent"

// Format is the avro-confluent format.
type Format struct{}

// Name is avro-confluent.
func (Format) Name() string { return name }

// Options are those of Flink that mean something here.
func (Format) Options() []connectors.Option {
	return []connectors.Option{
		{Name: "url", Type: "string", Required: true, Doc: "The address of the schema registry; several, separated by commas, are tried in turn."},
		{Name: "subject", Type: "string", Doc: "The subject under which a sink registers its schema; default with connector 'kafka': topic-value or topic-key."},
		{Name: "schema", Type: "string", Doc: "The schema that a sink writes; default: made of the columns."},
		{Name: "basic-auth.credentials-source", Type: "USER_INFO", Doc: "Log in with basic-auth.user-info."},
		{Name: "basic-auth.user-info", Type: "string", Doc: "user:password."},
		{Name: "bearer-auth.credentials-source", Type: "STATIC_TOKEN", Doc: "Log in with bearer-auth.token."},
		{Name: "bearer-auth.token", Type: "string", Doc: "The token."},
		{Name: "timestamp_mapping.legacy", Type: "boolean", Default: "true", Doc: "As for avro, for the schema that is made of the columns."},
	}
}

// Check validates options and columns.
func (f Format) Check(c connectors.FormatConfig) error {
	if err := connectors.CheckOptions("format '"+name+"'", c.Options, f.Options()); err != nil {
		return err
	}
	if _, err := newRegistry(c.Options); err != nil {
		return err
	}
	_, err := f.schema(c)
	return err
}

// schema is what a sink writes.
func (f Format) schema(c connectors.FormatConfig) (avro.Schema, error) {
	if text := c.Options["schema"]; text != "" {
		s, err := avro.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("option 'avro-confluent.schema': %w", err)
		}
		return s, nil
	}
	s, err := avro.Derive(c.Columns, connectors.GetBool(c.Options, "timestamp_mapping.legacy", true))
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", c.Table, err)
	}
	return s, nil
}

// Infer is not supported.
func (Format) Infer([]byte, string, bool, int, map[string]string) (connectors.Inferred, error) {
	return connectors.Inferred{}, errors.New("the format 'avro-confluent' is one of messages and cannot infer columns")
}

// Decoder returns a decoder.
func (f Format) Decoder(c connectors.FormatConfig) (connectors.Decoder, error) {
	if err := f.Check(c); err != nil {
		return nil, err
	}
	r, err := newRegistry(c.Options)
	if err != nil {
		return nil, err
	}
	d := &decoder{schemas: &schemas{registry: r, byID: map[int32]*entry{}}, keepBad: c.KeepBad, readers: map[int32]*avro.Reader{}}
	for _, w := range c.Wanted {
		d.columns = append(d.columns, c.Columns[w])
	}
	d.init()
	return d, nil
}

// schemas are the writers' schemas by id, shared by all decoders of a scan.
type schemas struct {
	registry *registry
	mu       sync.Mutex
	byID     map[int32]*entry
}

type entry struct {
	mu     sync.Mutex
	schema avro.Schema
}

func (s *schemas) get(ctx context.Context, id int32) (avro.Schema, error) {
	s.mu.Lock()
	e := s.byID[id]
	if e == nil {
		e = &entry{}
		s.byID[id] = e
	}
	s.mu.Unlock()
	e.mu.Lock() // one asks, the others wait
	defer e.mu.Unlock()
	if e.schema != nil {
		return e.schema, nil
	}
	text, err := s.registry.schema(ctx, id)
	if err != nil {
		return nil, err
	}
	e.schema, err = avro.Parse(text)
	return e.schema, err
}

type decoder struct {
	schemas *schemas
	columns types.Schema
	schema  *arrow.Schema
	keepBad bool

	cols    []*colbuf.Col
	readers map[int32]*avro.Reader
}

func (d *decoder) init() {
	d.schema = d.columns.Arrow()
	for _, c := range d.columns {
		d.cols = append(d.cols, colbuf.New(c.Type))
	}
}

// Clone returns a decoder for another goroutine.
func (d *decoder) Clone() connectors.Decoder {
	c := &decoder{schemas: d.schemas, columns: d.columns, keepBad: d.keepBad, readers: map[int32]*avro.Reader{}}
	c.init()
	return c
}

var errFile = errors.New("the format 'avro-confluent' is one of messages; files are of the format 'avro'")

// Header refuses: it is no format of files.
func (d *decoder) Header([]byte, bool) (int, int64, any, bool, error) {
	return 0, 0, nil, true, errFile
}

// Boundary is not used.
func (d *decoder) Boundary([]byte, bool) (int, int64) { return 0, 0 }

// Decode refuses: it is no format of files.
func (d *decoder) Decode(context.Context, []byte, connectors.RecordPosition, memory.Allocator) (connectors.Decoded, error) {
	return connectors.Decoded{}, errFile
}

// DecodeMessages decodes a record per message. A null message gives no row. It may ask the registry.
func (d *decoder) DecodeMessages(ctx context.Context, m connectors.Messages, mem memory.Allocator) (connectors.Decoded, []int32, error) {
	return avro.DecodeMessages(m, mem, d.cols, d.schema, d.keepBad, name, func(v []byte) (*avro.Reader, []byte, error) {
		if len(v) < 5 || v[0] != 0 {
			return nil, nil, errors.New("it does not begin with a zero byte and the id of a schema, as Confluent's serializers write")
		}
		id := int32(binary.BigEndian.Uint32(v[1:]))
		r := d.readers[id]
		if r == nil {
			s, err := d.schemas.get(ctx, id)
			if err != nil {
				var unknown *unknownSchema
				if errors.As(err, &unknown) {
					return nil, nil, err
				}
				return nil, nil, &avro.NotBad{Err: err}
			}
			if r, err = avro.NewReader(s, d.columns); err != nil {
				return nil, nil, fmt.Errorf("schema %d: %w", id, err)
			}
			d.readers[id] = r
		}
		return r, v[5:], nil
	})
}

// Encoder returns an encoder.
func (f Format) Encoder(c connectors.FormatConfig) (connectors.Encoder, error) {
	if err := f.Check(c); err != nil {
		return nil, err
	}
	if c.Options["subject"] == "" {
		return nil, fmt.Errorf("table %s: a sink of the format 'avro-confluent' needs the option 'avro-confluent.subject'", c.Table)
	}
	s, err := f.schema(c)
	if err != nil {
		return nil, err
	}
	w, err := avro.NewWriter(s, c.Columns)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", c.Table, err)
	}
	r, err := newRegistry(c.Options)
	if err != nil {
		return nil, err
	}
	return &encoder{registry: r, subject: c.Options["subject"], schema: avro.Text(s), w: w, id: -1}, nil
}

type encoder struct {
	registry *registry
	subject  string
	schema   string
	w        *avro.Writer
	id       int32
}

// Header implements connectors.Encoder.
func (e *encoder) Header() []byte { return nil }

// Encode refuses: it is no format of files.
func (e *encoder) Encode(dst []byte, _ arrow.RecordBatch, _ []int32) ([]byte, error) {
	return dst, errFile
}

// EncodeMessage appends a record. The first one registers the schema.
func (e *encoder) EncodeMessage(dst []byte, rec arrow.RecordBatch, r int32, _ stream.RowKind) ([]byte, bool, error) {
	if e.id < 0 {
		id, err := e.registry.register(context.Background(), e.subject, e.schema)
		if err != nil {
			return dst, false, err
		}
		e.id = id
	}
	dst = binary.BigEndian.AppendUint32(append(dst, 0), uint32(e.id))
	dst, err := e.w.Append(dst, rec, int(r))
	return dst, true, err
}
