package filesystem

import (
	"errors"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// partWriter writes the rows of one file.
type partWriter interface {
	write(rec arrow.RecordBatch, rows []int32, kinds []stream.RowKind) error
	size() int64  // about, in bytes of the file
	close() error // complete and on disk
	abort() error
}

func (s *sink) newWriter(f *os.File) (partWriter, error) {
	switch format := s.t.format.(type) {
	case connectors.FileFormat:
		w, err := format.NewFile(f, s.cfg, s.env.Allocator)
		if err != nil {
			return nil, err
		}
		return &fileWriter{f: f, w: w, s: s}, nil
	case connectors.RecordFormat:
		enc, err := format.Encoder(s.cfg)
		if err != nil {
			return nil, err
		}
		w := &textWriter{f: f, enc: enc}
		w.buf = append(w.buf, enc.Header()...)
		w.count.w = f
		w.out = &w.count
		switch s.compression {
		case "gzip":
			z := gzip.NewWriter(&w.count)
			w.out, w.flush = z, z.Close
		case "zstd":
			z, err := zstd.NewWriter(&w.count, zstd.WithEncoderConcurrency(1))
			if err != nil {
				return nil, err
			}
			w.out, w.flush = z, z.Close
		}
		return w, nil
	}
	return nil, errors.New("the format cannot write files")
}

// textWriter writes a RecordFormat.
type textWriter struct {
	f     *os.File
	enc   connectors.Encoder
	buf   []byte
	count counter
	out   io.Writer
	flush func() error // ends the compression
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

func (w *textWriter) write(rec arrow.RecordBatch, rows []int32, kinds []stream.RowKind) error {
	n := len(w.buf)
	var err error
	if w.buf, err = encode(w.enc, w.buf, rec, rows, kinds); err != nil {
		w.buf = w.buf[:n] // no half of a batch
		return err
	}
	if len(w.buf) >= 64<<10 {
		return w.drain()
	}
	return nil
}

// encode appends rows; their kinds matter to a format of changes.
func encode(enc connectors.Encoder, dst []byte, rec arrow.RecordBatch, rows []int32, kinds []stream.RowKind) ([]byte, error) {
	m, ok := enc.(connectors.MessageEncoder)
	if kinds == nil || !ok {
		return enc.Encode(dst, rec, rows)
	}
	n := int(rec.NumRows())
	if rows != nil {
		n = len(rows)
	}
	var err error
	for k := range n {
		r := int32(k)
		if rows != nil {
			r = rows[k]
		}
		if dst, _, err = m.EncodeMessage(dst, rec, r, kinds[r]); err != nil {
			return dst, err
		}
		dst = append(dst, '\n')
	}
	return dst, nil
}

func (w *textWriter) drain() error {
	_, err := w.out.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

func (w *textWriter) size() int64 { return w.count.n + int64(len(w.buf)) }

func (w *textWriter) close() error {
	err := w.drain()
	if w.flush != nil {
		err = errors.Join(err, w.flush())
	}
	return errors.Join(err, w.f.Sync(), w.f.Close())
}

func (w *textWriter) abort() error {
	if w.flush != nil {
		_ = w.flush()
	}
	return w.f.Close()
}

// fileWriter writes a FileFormat.
type fileWriter struct {
	f *os.File
	w connectors.FileWriter
	s *sink
}

func (w *fileWriter) write(rec arrow.RecordBatch, rows []int32, _ []stream.RowKind) error {
	if rows == nil {
		return w.w.Write(rec)
	}
	cols := make([]arrow.Array, rec.NumCols())
	for i := range cols {
		b := types.NewBuilder(w.s.env.Allocator, w.s.cfg.Columns[i].Type)
		b.Reserve(len(rows))
		for _, r := range rows {
			types.AppendFrom(b, rec.Column(i), int(r))
		}
		cols[i] = b.NewArray()
		b.Release()
	}
	some := array.NewRecordBatch(w.s.schema, cols, int64(len(rows)))
	for _, c := range cols {
		c.Release()
	}
	defer some.Release()
	return w.w.Write(some)
}

func (w *fileWriter) size() int64 { return w.w.Size() }

func (w *fileWriter) close() error { return errors.Join(w.w.Close(), w.f.Sync(), w.f.Close()) }

func (w *fileWriter) abort() error {
	_ = w.w.Close()
	return w.f.Close()
}
