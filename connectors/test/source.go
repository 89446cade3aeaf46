package test

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Source prepares a scan.
func (t *Table) Source(scan connectors.Scan) (connectors.Source, error) {
	if len(scan.Metadata) > 0 {
		return nil, fmt.Errorf("connector 'test' has no metadata")
	}
	s := &source{t: t, scan: scan, changed: make(chan struct{}, 1), readers: map[int]*reader{}, opened: map[int]bool{}}
	for _, c := range scan.Columns {
		s.out = append(s.out, t.schema[c])
	}
	s.schema = s.out.Arrow()
	t.mu.Lock()
	t.sources[s] = struct{}{}
	t.mu.Unlock()
	return s, nil
}

// source replays the log. Its readers take turns as the log says, so that rows of several splits come in its order. t.mu guards all of it.
type source struct {
	t       *Table
	scan    connectors.Scan
	out     types.Schema
	schema  *arrow.Schema
	changed chan struct{}

	readers  map[int]*reader // open ones, by split
	opened   map[int]bool    // splits that were ever opened
	restored bool
	cursor   int // everything before it was read, or is nobody's
}

// wake tells the scan that the log has grown; t.mu is held.
func (s *source) wake(newSplit bool) {
	for _, r := range s.readers {
		select {
		case r.ready <- struct{}{}:
		default:
		}
	}
	if newSplit {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
}

// Splits lists the splits there are.
func (s *source) Splits(ctx context.Context, env *connectors.Env) ([]connectors.Split, error) {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	out := make([]connectors.Split, s.t.splits)
	for i := range out {
		out[i] = connectors.Split{ID: strconv.Itoa(i), Bytes: -1}
	}
	return out, nil
}

// Changed signals new splits; nil when there can be none any more.
func (s *source) Changed() <-chan struct{} {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	if s.t.fixed > 0 || s.t.ended {
		return nil
	}
	return s.changed
}

// Open starts a reader.
func (s *source) Open(ctx context.Context, env *connectors.Env, split connectors.Split, from connectors.Position, blockBytes int) (connectors.Reader, error) {
	n, err := strconv.Atoi(split.ID)
	if err != nil {
		return nil, fmt.Errorf("connector 'test' has no split '%s'", split.ID)
	}
	r := &reader{s: s, split: n, ready: make(chan struct{}, 1)}
	if from != nil {
		v, k := binary.Uvarint(from[1:])
		if from[0] != 1 || k <= 0 {
			return nil, fmt.Errorf("the position in the checkpoint is not one of connector 'test'")
		}
		r.next = int(v)
	}
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	s.restored = s.restored || from != nil
	s.readers[n] = r
	s.opened[n] = true
	s.cursor = 0
	s.wake(false)
	return r, nil
}

// Close ends the scan.
func (s *source) Close() error {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	delete(s.t.sources, s)
	return nil
}

// pass moves the cursor over what was read, and over entries of splits that nobody reads any more; t.mu is held.
func (s *source) pass() {
	moved := false
	for s.cursor < len(s.t.log) {
		e := s.t.log[s.cursor]
		r := s.readers[e.split]
		if r != nil && r.next <= s.cursor && !r.paused || r == nil && !s.opened[e.split] && !s.restored {
			break
		}
		s.cursor++
		moved = true
	}
	if moved {
		s.wake(false)
	}
}

type reader struct {
	s     *source
	split int
	next  int // entries before it were read or are of other splits
	ready chan struct{}
	ended bool
	// paused: the turn passes it by; when it is resumed it is its turn for what it has missed.
	paused bool
}

const blockRows = 4096

// Pause has the turn pass the reader by.
func (r *reader) Pause() { r.hold(true) }

// Resume gives it its turn for what it has missed.
func (r *reader) Resume() { r.hold(false) }

func (r *reader) hold(on bool) {
	t := r.s.t
	t.mu.Lock()
	defer t.mu.Unlock()
	r.paused = on
	r.s.cursor = 0
	r.s.pass()
	r.s.wake(false)
}

// Next returns the next rows of the split up to where another split's entry comes, or its next mark.
func (r *reader) Next(ctx context.Context) (connectors.Block, error) {
	t := r.s.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.ended {
		return connectors.Block{}, connectors.EOF
	}
	r.s.pass()
	at := r.s.cursor
	if at >= len(t.log) || t.log[at].split != r.split {
		return connectors.Block{}, connectors.ErrNotReady
	}
	block := connectors.Block{Watermark: stream.MinTime}
	switch e := t.log[at]; e.what {
	case aWatermark:
		block.Watermark = e.mark
		r.next = at + 1
	case idleness:
		block.Idle = true
		r.next = at + 1
	case theEnd:
		r.next = at + 1
		r.ended = true
		r.s.pass()
		return connectors.Block{}, connectors.EOF
	default:
		to := at
		for to < len(t.log) && to-at < blockRows && t.log[to].split == r.split && t.log[to].what == aRow {
			to++
		}
		if t.log[to-1].kind == stream.UpdateBefore {
			to-- // its other half is not there yet
		}
		if to == at {
			return connectors.Block{}, connectors.ErrNotReady
		}
		rows := t.log[at:to:to]
		r.next = to
		block.Bytes = int64(64 * len(rows))
		block.Decode = func(ctx context.Context, mem memory.Allocator) (connectors.Decoded, error) {
			return r.s.decode(rows, mem)
		}
	}
	r.s.pass()
	block.Position = binary.AppendUvarint([]byte{1}, uint64(r.next))
	return block, nil
}

func (s *source) decode(rows []entry, mem memory.Allocator) (connectors.Decoded, error) {
	cols := make([]arrow.Array, len(s.scan.Columns))
	defer func() {
		for _, c := range cols {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, c := range s.scan.Columns {
		b := types.NewBuilder(mem, s.out[i].Type)
		for _, e := range rows {
			if err := types.Append(b, e.row[c], s.out[i].Type); err != nil {
				b.Release()
				return connectors.Decoded{}, err
			}
		}
		cols[i] = b.NewArray()
		b.Release()
	}
	var kinds []stream.RowKind
	if s.t.mode != "I" {
		kinds = make([]stream.RowKind, len(rows))
		for i, e := range rows {
			kinds[i] = e.kind
		}
	}
	return connectors.Decoded{Batch: stream.Batch{Record: array.NewRecordBatch(s.schema, cols, int64(len(rows))), Kinds: kinds}}, nil
}

// Ready signals when the log has grown, or the turn may be this reader's.
func (r *reader) Ready() <-chan struct{} { return r.ready }

// Close ends the reader.
func (r *reader) Close() error {
	r.s.t.mu.Lock()
	defer r.s.t.mu.Unlock()
	if r.s.readers[r.split] == r {
		delete(r.s.readers, r.split)
		r.s.pass()
	}
	return nil
}
