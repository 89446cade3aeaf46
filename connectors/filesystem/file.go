package filesystem

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
)

// fileReader reads a file of a FileFormat. Its position is the number of the next row.
type fileReader struct {
	s     *source
	f     file
	parts map[string][]byte
	raw   *os.File
	in    connectors.FileReader
	row   int64
	rows  int // of a block
}

// filePositionVersion begins each position of a file that is read by rows.
const filePositionVersion = 2

func (s *source) openFile(ctx context.Context, env *connectors.Env, ff connectors.FileFormat, f file, parts map[string][]byte, from connectors.Position) (connectors.Reader, error) {
	r := &fileReader{s: s, f: f, parts: parts, rows: max(env.BatchRows, 1024)}
	if from != nil {
		n := 0
		var v uint64
		if from[0] == filePositionVersion {
			v, n = binary.Uvarint(from[1:])
		}
		if n <= 0 {
			return nil, errors.New("the position in the checkpoint is not one of connector 'filesystem' with this format")
		}
		r.row = int64(v)
	}
	raw, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	r.raw = raw
	if r.in, err = ff.OpenFile(ctx, raw, f.path, s.cfg, env.Allocator); err != nil {
		_ = raw.Close()
		return nil, err
	}
	if r.row > r.in.Rows() {
		_ = r.Close()
		return nil, fmt.Errorf("%s has changed since the checkpoint: it is shorter than it was; start without it", f.path)
	}
	return r, nil
}

// Next returns the next rows.
func (r *fileReader) Next(ctx context.Context) (connectors.Block, error) {
	if r.in == nil {
		return connectors.Block{}, connectors.EOF
	}
	b, next, err := r.in.Next(ctx, r.row, r.rows)
	if err != nil {
		return connectors.Block{}, err
	}
	r.row = next
	b.Position = binary.AppendUvarint([]byte{filePositionVersion}, uint64(next))
	b.Watermark = stream.MinTime
	decode := b.Decode
	b.Decode = func(ctx context.Context, mem memory.Allocator) (connectors.Decoded, error) {
		out, err := decode(ctx, mem)
		if err != nil {
			return out, err
		}
		out.Batch.Record, err = r.s.complete(mem, out.Batch.Record, r.f, r.parts)
		return out, err
	}
	return b, nil
}

// Ready is nil: a file has always something to read, or has ended.
func (r *fileReader) Ready() <-chan struct{} { return nil }

// Close closes the file.
func (r *fileReader) Close() error {
	var err error
	if r.in != nil {
		err = r.in.Close()
		r.in = nil
	}
	if r.raw != nil {
		err = errors.Join(err, r.raw.Close())
		r.raw = nil
	}
	return err
}
