package filesystem

import (
	"compress/bzip2"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
)

const (
	minBlock = 4 << 10
	maxBlock = 64 << 20
	// positionVersion begins each position of a text file.
	positionVersion = 1
	// printBytes is how much of the beginning of a file its fingerprint covers.
	printBytes = 256
)

// textPosition is the offset and line of the next record, and a fingerprint of the first bytes of the file.
type textPosition struct {
	offset, line int64
	prefix       int // bytes in the fingerprint
	sum          uint64
}

func (p textPosition) encode() connectors.Position {
	b := []byte{positionVersion}
	b = binary.AppendUvarint(b, uint64(p.offset))
	b = binary.AppendUvarint(b, uint64(p.line))
	b = binary.AppendUvarint(b, uint64(p.prefix))
	return binary.LittleEndian.AppendUint64(b, p.sum)
}

func decodePosition(b connectors.Position) (p textPosition, err error) {
	bad := errors.New("the position in the checkpoint is not one of connector 'filesystem'")
	if len(b) == 0 || b[0] != positionVersion {
		return p, bad
	}
	b = b[1:]
	var v [3]uint64
	for i := range v {
		n := 0
		if v[i], n = binary.Uvarint(b); n <= 0 {
			return p, bad
		}
		b = b[n:]
	}
	if len(b) != 8 {
		return p, bad
	}
	return textPosition{int64(v[0]), int64(v[1]), int(v[2]), binary.LittleEndian.Uint64(b)}, nil
}

// textReader reads the records of one file, block by block.
type textReader struct {
	s     *source
	env   *connectors.Env
	f     file
	parts map[string][]byte
	dec   connectors.Decoder // for headers and boundaries only
	block int

	raw    *os.File // nil for standard input
	in     io.Reader
	closer func()
	pipe   *pipe // standard input

	carry   []byte // behind the last record that was handed out
	at      textPosition
	binding any
	started bool  // the header was read
	ended   bool  // the data has ended
	broken  error // why no more can be read; what was read before comes first
	done    bool
	print   []byte // the first bytes of the file

	grows bool
	idle  bool // Idle was said and nothing came since
	ready chan struct{}
}

func (s *source) openText(ctx context.Context, env *connectors.Env, f file, parts map[string][]byte, from connectors.Position, blockBytes int) (connectors.Reader, error) {
	r := &textReader{s: s, env: env, f: f, parts: parts, dec: s.proto.Clone(), block: min(max(blockBytes, minBlock), maxBlock), grows: s.grows(f.path)}
	r.at.line = 1
	if f.path == "-" {
		if from != nil {
			return nil, errors.New("standard input cannot be read again from a checkpoint")
		}
		if env.Stdin == nil {
			return nil, errors.New("there is no standard input")
		}
		s.mu.Lock()
		twice := s.stdin
		s.stdin = true
		s.mu.Unlock()
		if twice {
			return nil, errors.New("standard input can be read once only; save it in a file to read it twice")
		}
		r.pipe = newPipe(env.Stdin, r.block)
		return r, nil
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	if from != nil {
		if err := r.seek(from); err != nil {
			_ = r.Close()
			return nil, err
		}
	}
	if r.grows {
		r.ready = make(chan struct{}, 1)
		s.mu.Lock()
		if s.watchers == nil {
			s.watchers = map[*textReader]struct{}{}
		}
		s.watchers[r] = struct{}{}
		s.mu.Unlock()
	}
	return r, nil
}

// open opens the file at its start.
func (r *textReader) open() error {
	raw, err := os.Open(r.f.path)
	if err != nil {
		return err
	}
	r.raw, r.in, r.closer = raw, raw, func() {}
	switch compressionOf(r.f.path) {
	case "gzip":
		z, err := openGzip(raw)
		if err != nil {
			_ = raw.Close()
			return fmt.Errorf("%s: this is no gzip file: %w", r.f.path, err)
		}
		r.in, r.closer = z, func() { _ = z.Close(); gzipReaders.Put(z) }
	case "zstd":
		z, err := openZstd(raw)
		if err != nil {
			_ = raw.Close()
			return fmt.Errorf("%s: this is no zstd file: %w", r.f.path, err)
		}
		r.in, r.closer = z, func() {
			if z.Reset(nil) == nil {
				zstdReaders.Put(z)
			}
		}
	case "bzip2":
		r.in = bzip2.NewReader(raw)
	case "unknown":
		_ = raw.Close()
		return fmt.Errorf("%s: this compression is not supported; gzip (.gz), zstd (.zst) and bzip2 (.bz2) are", r.f.path)
	}
	return nil
}

// seek goes on at a position.
func (r *textReader) seek(from connectors.Position) error {
	p, err := decodePosition(from)
	if err != nil {
		return err
	}
	// The header binds the columns, so it is read again; with it comes the beginning of the file for the fingerprint.
	for !r.started || len(r.print) < p.prefix {
		r.fill(r.block)
		if err := r.header(); err != nil {
			return err
		}
		if r.ended || r.broken != nil {
			break
		}
	}
	if len(r.print) < p.prefix || fingerprint(r.print[:p.prefix]) != p.sum {
		return r.replaced("it does not begin any more as it did")
	}
	have := r.at.offset + int64(len(r.carry)) // what was read so far
	if p.offset <= have && p.offset >= r.at.offset {
		r.carry = r.carry[p.offset-r.at.offset:]
	} else {
		r.carry = nil
		if r.in == io.Reader(r.raw) {
			size, err := r.raw.Seek(0, io.SeekEnd)
			if err == nil {
				_, err = r.raw.Seek(min(size, p.offset), io.SeekStart)
			}
			if err != nil {
				return err
			}
			if size < p.offset {
				return r.replaced("it is shorter than it was")
			}
		} else if _, err := io.CopyN(io.Discard, r.in, p.offset-have); err != nil {
			return r.replaced("it is shorter than it was")
		}
		r.ended = false
	}
	r.at.offset, r.at.line = p.offset, p.line
	return nil
}

// replaced handles a file that is not the one that the position was taken of: followed files begin anew.
func (r *textReader) replaced(how string) error {
	if !r.grows {
		return fmt.Errorf("%s has changed since the checkpoint: %s; start without it", r.f.path, how)
	}
	r.env.Count("files_replaced", 1)
	return r.restart()
}

// restart reads the file from its start.
func (r *textReader) restart() error {
	r.closeFile()
	r.carry, r.print, r.at, r.binding = nil, nil, textPosition{line: 1}, nil
	r.started, r.ended, r.broken = false, false, nil
	return r.open()
}

func fingerprint(b []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(b)
	return h.Sum64()
}

// fill appends up to n bytes to carry; at the end of the data it sets ended, and broken where no more can be read.
func (r *textReader) fill(n int) {
	if r.ended || r.broken != nil {
		return
	}
	have := len(r.carry)
	if cap(r.carry)-have < n {
		grown := r.buffer(have + n)
		copy(grown, r.carry)
		r.recycle(r.carry)
		r.carry = grown[:have]
	}
	buf := r.carry[have : have+n]
	m, err := io.ReadFull(r.in, buf)
	r.carry = r.carry[:have+m]
	switch {
	case err == nil:
	case err == io.EOF:
		r.ended = true
	case errors.Is(err, io.ErrUnexpectedEOF):
		// ReadFull's own, or the decompressor's for a file that is cut off: ask once more.
		var one [1]byte
		k, err := r.in.Read(one[:])
		r.carry = append(r.carry, one[:k]...)
		switch {
		case err != nil && err != io.EOF:
			r.broken = err
		case compressionOf(r.f.path) != "" && k == 0 && err == nil:
			r.broken = io.ErrUnexpectedEOF
		}
		r.ended = err == io.EOF
	default:
		r.broken = err
	}
	if len(r.print) < printBytes && r.at.offset == 0 && !r.started {
		r.print = append(r.print[:0], r.carry[:min(len(r.carry), printBytes)]...)
	}
}

func (r *textReader) readError(err error) error {
	c := compressionOf(r.f.path)
	switch {
	case c != "" && errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s:%d: the %s data ends early, in this line: the file is cut off; write or fetch it again", r.f.path, r.at.line, c)
	case c != "":
		return fmt.Errorf("%s:%d: the %s data is damaged in this line or behind it: %w", r.f.path, r.at.line, c, err)
	}
	return fmt.Errorf("%s: %w", r.f.path, err)
}

// header reads what stands before the first record, once enough of it is there.
func (r *textReader) header() error {
	if r.started || len(r.carry) == 0 && !r.ended {
		return nil
	}
	n, lines, binding, ok, err := r.dec.Header(r.carry, r.ended && !r.grows)
	if err != nil {
		return fmt.Errorf("%s:1: %w", r.f.path, err)
	}
	if !ok {
		if int64(len(r.carry)) > r.s.t.maxRec {
			return r.tooLong()
		}
		return nil
	}
	r.started, r.binding = true, binding
	r.carry = r.carry[n:]
	r.at.offset += int64(n)
	r.at.line += lines
	return nil
}

func (r *textReader) tooLong() error {
	return connectors.RecordTooLong(r.f.path, r.at.line, r.s.t.maxRec)
}

// Next returns the next block of whole records.
func (r *textReader) Next(ctx context.Context) (connectors.Block, error) {
	if r.done {
		return connectors.Block{}, connectors.EOF
	}
	if r.pipe != nil {
		return r.nextPipe(ctx)
	}
	want := r.block
	for {
		if err := ctx.Err(); err != nil {
			return connectors.Block{}, err
		}
		if n := want - len(r.carry); n > 0 {
			r.fill(n)
		}
		if err := r.header(); err != nil {
			return connectors.Block{}, err
		}
		if r.started {
			if n, lines := r.dec.Boundary(r.carry, r.ended && !r.grows); n > 0 {
				return r.cut(n, lines), nil
			}
		}
		if r.broken != nil {
			return connectors.Block{}, r.readError(r.broken)
		}
		if r.ended {
			if r.grows {
				return r.atEnd()
			}
			r.done = true
			return connectors.Block{}, connectors.EOF
		}
		if int64(len(r.carry)) > r.s.t.maxRec {
			return connectors.Block{}, r.tooLong()
		}
		want = max(want, len(r.carry)) * 2
	}
}

// atEnd is where a followed file has no whole record now.
func (r *textReader) atEnd() (connectors.Block, error) {
	r.ended = false // it may have grown when we look again
	here, err := r.raw.Stat()
	if err != nil {
		return connectors.Block{}, err
	}
	there, err := os.Stat(r.f.path)
	switch {
	case err != nil: // removed: what we have stays open, and may even grow
	case !os.SameFile(here, there):
		// Rotated: the old file is complete, so its last line counts even without an end.
		if n, lines := r.dec.Boundary(r.carry, true); n > 0 && r.started {
			b := r.cut(n, lines)
			r.carry = nil
			return b, nil
		}
		r.env.Count("files_replaced", 1)
		if err := r.restart(); err != nil {
			return connectors.Block{}, err
		}
		return r.Next(context.Background())
	case there.Size() < r.at.offset+int64(len(r.carry)):
		// Cut off: what is left of a line belongs to nothing.
		r.env.Count("files_replaced", 1)
		if err := r.restart(); err != nil {
			return connectors.Block{}, err
		}
		return r.Next(context.Background())
	}
	r.s.mu.Lock()
	old := r.s.newest != r.f.path
	r.s.mu.Unlock()
	if old && !r.idle {
		r.idle = true
		return connectors.Block{Position: r.position(), Idle: true, Watermark: stream.MinTime}, nil
	}
	return connectors.Block{}, connectors.ErrNotReady
}

// cut hands out the first n bytes of carry as a block.
func (r *textReader) cut(n int, lines int64) connectors.Block {
	r.idle = false
	data := r.carry[:n:n]
	rest := r.carry[n:]
	// The block keeps the buffer; what is behind it moves to a new one.
	whole := r.carry[:0]
	r.carry = nil
	if len(rest) > 0 {
		r.carry = append(r.buffer(max(r.block, 2*len(rest)))[:0], rest...)
	}
	at := connectors.RecordPosition{Split: r.f.path, Line: r.at.line, Lines: lines, Binding: r.binding}
	r.at.offset += int64(n)
	r.at.line += lines
	s, f, parts := r.s, r.f, r.parts
	free := func() { r.recycle(whole) }
	return connectors.Block{
		Position:  r.position(),
		Bytes:     int64(n),
		Watermark: stream.MinTime,
		Discard:   free,
		Decode: func(ctx context.Context, mem memory.Allocator) (connectors.Decoded, error) {
			d := s.decoders.Get().(connectors.Decoder)
			out, err := d.Decode(ctx, data, at, mem)
			s.decoders.Put(d)
			free()
			if err != nil {
				return out, s.t.badRecord(err)
			}
			out.Batch.Record, err = s.complete(mem, out.Batch.Record, f, parts)
			return out, err
		},
	}
}

// badRecord adds to a bad record of a table whose types were inferred what can be done.
func (t *table) badRecord(err error) error {
	var b *connectors.BadRecord
	if t.decl.Columns != nil || !errors.As(err, &b) {
		return err
	}
	c := *b
	why, _, _ := strings.Cut(c.Err, "; to go on behind")
	c.Err = why + "; the types were inferred from the first records: declare the columns, look at more records (SET 'weir.infer.rows'), or set '" +
		t.formatName + ".ignore-parse-errors' = 'true'"
	return &c
}

func (r *textReader) position() connectors.Position {
	r.at.prefix = len(r.print)
	if r.at.offset < int64(r.at.prefix) {
		r.at.prefix = int(r.at.offset)
	}
	r.at.sum = fingerprint(r.print[:r.at.prefix])
	return r.at.encode()
}

// buffer returns a buffer of at least n bytes.
func (r *textReader) buffer(n int) []byte {
	if b, ok := r.s.buffers.Get().(*[]byte); ok && cap(*b) >= n {
		return (*b)[:n]
	}
	return make([]byte, n, n+4096)
}

func (r *textReader) recycle(b []byte) {
	if cap(b) >= minBlock {
		b = b[:0]
		r.s.buffers.Put(&b)
	}
}

// Ready signals when a followed file may have grown.
func (r *textReader) Ready() <-chan struct{} {
	if r.pipe != nil {
		return r.pipe.ready
	}
	if r.ready == nil {
		return nil
	}
	return r.ready
}

func (r *textReader) closeFile() {
	if r.raw != nil {
		r.closer()
		_ = r.raw.Close()
		r.raw = nil
	}
}

// Close closes the file.
func (r *textReader) Close() error {
	r.s.mu.Lock()
	delete(r.s.watchers, r)
	r.s.mu.Unlock()
	r.done = true
	if r.pipe != nil {
		r.pipe.stop()
	}
	r.closeFile()
	r.carry = nil
	return nil
}

// nextPipe is Next for standard input, which may keep us waiting.
func (r *textReader) nextPipe(ctx context.Context) (connectors.Block, error) {
	for {
		chunk, ended, err := r.pipe.take()
		if err != nil {
			return connectors.Block{}, fmt.Errorf("standard input: %w", err)
		}
		r.carry = append(r.carry, chunk...)
		r.ended = r.ended || ended
		if err := r.header(); err != nil {
			return connectors.Block{}, err
		}
		if r.started {
			if n, lines := r.dec.Boundary(r.carry, r.ended); n > 0 {
				return r.cut(n, lines), nil
			}
		}
		switch {
		case r.ended:
			r.done = true
			return connectors.Block{}, connectors.EOF
		case int64(len(r.carry)) > r.s.t.maxRec:
			return connectors.Block{}, r.tooLong()
		case len(chunk) == 0:
			return connectors.Block{}, connectors.ErrNotReady
		}
	}
}
