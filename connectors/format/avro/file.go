package avro

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/internal/colbuf"
	"github.com/weir-sql/weir/exec/stream"
)

// container is what stands at the start of a file.
type container struct {
	schema Schema
	codec  string
	sync   [16]byte
}

var magic = []byte("Obj\x01")

// maxBlock is how large a block may be when it is decompressed.
const maxBlock = 256 << 20

// Header reads the start of a container file.
func (d *decoder) Header(data []byte, eof bool) (n int, lines int64, binding any, ok bool, err error) {
	if d.json {
		return 0, 0, nil, false, errFiles
	}
	if len(data) == 0 && eof {
		return 0, 0, &container{}, true, nil // an empty file has no rows
	}
	c, n, ok, err := head(data, eof)
	if err != nil || !ok {
		return 0, 0, nil, ok, err
	}
	if _, err := NewReader(c.schema, d.columns); err != nil {
		return 0, 0, nil, true, err
	}
	return n, 0, c, true, nil
}

// head reads what stands at the start of a file, and how long it is. ok is false when more bytes are needed.
func head(data []byte, eof bool) (c *container, n int, ok bool, err error) {
	if len(data) >= len(magic) && !bytes.HasPrefix(data, magic) {
		return nil, 0, true, errors.New("the file is no container file of Avro")
	}
	meta := map[string][]byte{}
	p := len(magic)
	if len(data) >= p {
		p, err = blocks(data, p, func(p int) (int, error) {
			k, p, err := chunk(data, p)
			if err != nil {
				return p, err
			}
			v, p, err := chunk(data, p)
			meta[string(k)] = v
			return p, err
		})
	}
	if err != nil || len(data) < p+16 {
		if eof {
			return nil, 0, true, errors.New("the header of the file is cut off")
		}
		return nil, 0, false, nil
	}
	c = &container{codec: string(meta["avro.codec"])}
	copy(c.sync[:], data[p:])
	if c.schema, err = Parse(string(meta["avro.schema"])); err != nil {
		return nil, 0, true, err
	}
	switch c.codec {
	case "", "null", "deflate", "snappy", "zstandard":
	default:
		return nil, 0, true, fmt.Errorf("the file is compressed with '%s', which is not supported", c.codec)
	}
	return c, p + 16, true, nil
}

// frame finds the block at p: its records, its bytes and what is behind it. ok is false when it is not all there.
func frame(data []byte, p int) (records int64, block []byte, next int, ok bool) {
	records, p, err := long(data, p)
	if err != nil {
		return 0, nil, 0, false
	}
	block, p, err = chunk(data, p)
	if err != nil || len(data)-p < 16 {
		return 0, nil, 0, false
	}
	return records, block, p + 16, true
}

// Boundary returns the length of whole blocks.
func (d *decoder) Boundary(data []byte, eof bool) (n int, lines int64) {
	for n < len(data) {
		records, _, next, ok := frame(data, n)
		if !ok {
			if eof {
				return len(data), lines + 1 // Decode says what is wrong
			}
			break
		}
		n = next
		lines += max(records, 0)
	}
	return n, lines
}

// Decode decodes whole blocks.
func (d *decoder) Decode(ctx context.Context, data []byte, at connectors.RecordPosition, mem memory.Allocator) (connectors.Decoded, error) {
	c, ok := at.Binding.(*container)
	if !ok || c.schema == nil {
		return connectors.Decoded{}, errors.New("internal error: blocks of a file without its header")
	}
	if d.of != c {
		r, err := NewReader(c.schema, d.columns)
		if err != nil {
			return connectors.Decoded{}, err
		}
		d.of, d.file = c, r
	}
	for _, col := range d.cols {
		col.Start(mem, 1024)
	}
	fail := func(err error) (connectors.Decoded, error) {
		for _, col := range d.cols {
			col.Discard()
		}
		return connectors.Decoded{}, err
	}
	rows, line := 0, at.Line
	var bad []connectors.BadRecord
	for p := 0; p < len(data); {
		records, block, next, ok := frame(data, p)
		why := "the file is cut off within a block"
		if ok && !bytes.Equal(data[next-16:next], c.sync[:]) {
			ok, why = false, "a block does not end with the mark of the file: it is damaged"
		}
		var raw []byte
		if ok {
			var err error
			if raw, err = decompress(c.codec, block); err != nil {
				ok, why = false, "a block cannot be decompressed: "+err.Error()
			}
		}
		if !ok { // not a record's fault, and there is no way to go on
			return fail(fmt.Errorf("%s: record %d: %s", at.Split, line, why))
		}
		p = next
		q := 0
		for range records {
			end, err := d.file.Record(raw, q, d.cols)
			if err == nil {
				q = end
				rows++
				line++
				continue
			}
			for _, col := range d.cols {
				col.Truncate(rows)
			}
			// Where the next record begins is known only if the schema can be passed over.
			cp := &compiler{skips: map[string]*skipper{}}
			skip, e := cp.skip(c.schema)
			if e == nil {
				end, e = skip(raw, q)
			}
			if e != nil {
				return fail(fmt.Errorf("%s: record %d: %w", at.Split, line, err))
			}
			b := connectors.BadRecord{Raw: bytes.Clone(raw[q:end]), Err: err.Error(), Split: at.Split, Position: line, Row: rows}
			if !d.keepBad {
				b.Err += "; to go on behind bad records set 'bad-records.table'"
				return fail(&b)
			}
			bad = append(bad, b)
			q = end
			line++
		}
		if q != len(raw) {
			return fail(fmt.Errorf("%s: record %d: %d bytes are left in the block behind its records: it is damaged", at.Split, line, len(raw)-q))
		}
	}
	cols := make([]arrow.ArrayData, len(d.cols))
	for i, col := range d.cols {
		cols[i] = col.Finish()
	}
	return connectors.Decoded{Batch: stream.Batch{Record: colbuf.Record(d.schema, cols, rows)}, Bad: bad}, nil
}

func decompress(codec string, b []byte) ([]byte, error) {
	switch codec {
	case "deflate":
		r := flate.NewReader(bytes.NewReader(b))
		out, err := io.ReadAll(io.LimitReader(r, maxBlock+1))
		if len(out) > maxBlock {
			return nil, errors.New("it is larger than 256 MB")
		}
		return out, err
	case "snappy":
		if len(b) < 4 {
			return nil, errShort
		}
		if n, err := snappy.DecodedLen(b[:len(b)-4]); err != nil || n > maxBlock {
			return nil, errors.New("its length is wrong")
		}
		out, err := snappy.Decode(nil, b[:len(b)-4])
		if err == nil && crc32.ChecksumIEEE(out) != binary.BigEndian.Uint32(b[len(b)-4:]) {
			err = errors.New("its checksum is wrong")
		}
		return out, err
	case "zstandard":
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		return z.DecodeAll(b, nil)
	}
	return b, nil
}

// encoder writes messages, or the blocks of a file.
type encoder struct {
	w      *Writer
	json   Schema // of messages in JSON, else nil
	codec  string
	schema string
	sync   [16]byte
	buf    []byte
}

func newEncoder(s Schema, w *Writer, codec string) *encoder {
	e := &encoder{w: w, codec: codec, schema: Text(s)}
	// The mark is the same on every run, so that files are too.
	sum := sha256.Sum256([]byte(e.codec + "\n" + e.schema))
	copy(e.sync[:], sum[:])
	return e
}

// Text is the JSON of a schema with all that is in it. (String is the canonical form, which has no logical types.)
func Text(s Schema) string {
	if m, ok := s.(json.Marshaler); ok {
		if b, err := m.MarshalJSON(); err == nil {
			return string(b)
		}
	}
	return s.String()
}

// Header is the start of a file.
func (e *encoder) Header() []byte {
	out := slices.Clone(magic)
	out = appendLong(out, 2)
	for _, kv := range [][2]string{{"avro.codec", e.codec}, {"avro.schema", e.schema}} {
		for _, s := range kv {
			out = append(appendLong(out, int64(len(s))), s...)
		}
	}
	out = append(out, 0)
	return append(out, e.sync[:]...)
}

// Encode appends a block with the records of rows.
func (e *encoder) Encode(dst []byte, rec arrow.RecordBatch, rows []int32) ([]byte, error) {
	if e.json != nil {
		return dst, errFiles
	}
	n := int(rec.NumRows())
	if rows != nil {
		n = len(rows)
	}
	if n == 0 {
		return dst, nil
	}
	e.buf = e.buf[:0]
	var err error
	for k := range n {
		r := k
		if rows != nil {
			r = int(rows[k])
		}
		if e.buf, err = e.w.Append(e.buf, rec, r); err != nil {
			return dst, err
		}
	}
	block := e.buf
	switch e.codec {
	case "deflate":
		var out bytes.Buffer
		z, err := flate.NewWriter(&out, flate.DefaultCompression)
		if err == nil {
			if _, err = z.Write(block); err == nil {
				err = z.Close()
			}
		}
		if err != nil {
			return dst, err
		}
		block = out.Bytes()
	case "snappy":
		block = binary.BigEndian.AppendUint32(snappy.Encode(nil, block), crc32.ChecksumIEEE(block))
	case "zstandard":
		z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return dst, err
		}
		block = z.EncodeAll(block, nil)
		_ = z.Close()
	}
	dst = appendLong(dst, int64(n))
	dst = appendLong(dst, int64(len(block)))
	dst = append(dst, block...)
	return append(dst, e.sync[:]...), nil
}
