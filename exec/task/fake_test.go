package task

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeSchema: id, ts (microseconds, may be NULL).
var fakeSchema = arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "ts", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)

// fakeRow is a row, a bad record (bad set), or a row without event time (null set).
type fakeRow struct {
	id, ts    int64
	null, bad bool
	kind      stream.RowKind
}

// fakeSource reads slices of rows.
type fakeSource struct {
	mu        sync.Mutex
	splits    []*fakeSplit
	blockRows int
	open      int
	maxOpen   int
	opened    int
	changed   chan struct{}
	kinds     bool
}

type fakeSplit struct {
	id      string
	rows    []fakeRow
	live    bool // unbounded: at the end it is not ready, until closed
	ready   chan struct{}
	marks   map[int]stream.Time // a mark of the source behind row i
	failAt  int                 // fails in Next at this row, when > 0
	panicAt int                 // panics in Decode at this row, when > 0
	then    func()              // is called when the end has been read; may be nil
}

func (f *fakeSource) Splits(context.Context, *connectors.Env) ([]connectors.Split, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []connectors.Split
	for _, s := range f.splits {
		out = append(out, connectors.Split{ID: s.id, Bounded: !s.live, Bytes: -1})
	}
	return out, nil
}

func (f *fakeSource) Changed() <-chan struct{} { return f.changed }

func (f *fakeSource) Open(_ context.Context, _ *connectors.Env, sp connectors.Split, from connectors.Position, _ int) (connectors.Reader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.splits {
		if s.id == sp.ID {
			r := &fakeReader{f: f, s: s}
			if from != nil {
				r.at = int(binary.BigEndian.Uint32(from))
			}
			f.open++
			f.opened++
			f.maxOpen = max(f.maxOpen, f.open)
			return r, nil
		}
	}
	return nil, fmt.Errorf("no split %s", sp.ID)
}

func (f *fakeSource) Close() error {
	if f.open != 0 {
		return fmt.Errorf("%d readers left open", f.open)
	}
	return nil
}

// add appends rows to a live split and says so.
func (f *fakeSource) add(split int, rows ...fakeRow) {
	f.mu.Lock()
	s := f.splits[split]
	s.rows = append(s.rows, rows...)
	f.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

type fakeReader struct {
	f  *fakeSource
	s  *fakeSplit
	at int
}

func (r *fakeReader) Ready() <-chan struct{} { return r.s.ready }
func (r *fakeReader) Close() error {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	r.f.open--
	return nil
}

func (r *fakeReader) Next(context.Context) (connectors.Block, error) {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	if r.s.failAt > 0 && r.at >= r.s.failAt {
		return connectors.Block{}, errors.New("the disk is gone")
	}
	if r.at >= len(r.s.rows) {
		if r.s.live {
			return connectors.Block{}, connectors.ErrNotReady
		}
		if r.s.then != nil {
			r.s.then()
		}
		return connectors.Block{}, connectors.EOF
	}
	to := min(r.at+r.f.blockRows, len(r.s.rows))
	for i := r.at; i < to; i++ {
		if _, ok := r.s.marks[i]; ok {
			to = i + 1
		}
	}
	rows := r.s.rows[r.at:to:to]
	at := r.at
	r.at = to
	wm := stream.MinTime
	if m, ok := r.s.marks[to-1]; ok {
		wm = m
	}
	panics := r.s.panicAt > 0 && to > r.s.panicAt
	return connectors.Block{
		Position:  binary.BigEndian.AppendUint32(nil, uint32(to)),
		Bytes:     int64(16 * len(rows)),
		Watermark: wm,
		Decode: func(_ context.Context, mem memory.Allocator) (connectors.Decoded, error) {
			if panics {
				panic("decoder bug")
			}
			return decodeFake(mem, rows, r.s.id, at, r.f.kinds), nil
		},
	}, nil
}

func decodeFake(mem memory.Allocator, rows []fakeRow, split string, at int, kinds bool) connectors.Decoded {
	b := array.NewRecordBuilder(mem, fakeSchema)
	defer b.Release()
	var d connectors.Decoded
	n := 0
	for i, r := range rows {
		if r.bad {
			d.Bad = append(d.Bad, connectors.BadRecord{Err: "bad", Split: split, Position: int64(at + i + 1), Row: n})
			continue
		}
		b.Field(0).(*array.Int64Builder).Append(r.id)
		if r.null {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.Int64Builder).Append(r.ts)
		}
		if kinds {
			d.Batch.Kinds = append(d.Batch.Kinds, r.kind)
		}
		n++
	}
	d.Batch.Record = b.NewRecordBatch()
	return d
}

// fakeTimes: event time is ts, the watermark is ts less delay.
type fakeTimes struct{ delay int64 }

func (f fakeTimes) Times(_ context.Context, rec arrow.RecordBatch, event, mark []stream.Time) error {
	a := rec.Column(1).(*array.Int64)
	for i := range event {
		event[i], mark[i] = stream.MinTime, stream.MinTime
		if a.IsValid(i) {
			event[i] = stream.Time(a.Value(i))
			mark[i] = event[i].Add(-f.delay)
		}
	}
	return nil
}
func (fakeTimes) Project(_ context.Context, rec arrow.RecordBatch) (arrow.RecordBatch, error) {
	return rec, nil
}

// fakeSink keeps what it gets, as text.
type fakeSink struct {
	mu        sync.Mutex
	log       *[]string // committed or not, for all runs
	staged    []string
	committed []string
	opened    bool
	failAt    int
	n         int
}

func (s *fakeSink) Open(_ context.Context, _ *connectors.Env, restored [][]byte) error {
	s.opened = true
	for _, r := range restored {
		s.committed = append(s.committed, string(r))
	}
	return nil
}

func (s *fakeSink) Write(_ context.Context, b stream.Batch) error {
	defer b.Release()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range b.Len() {
		r := b.Row(i)
		line := rowText(b, r)
		s.staged = append(s.staged, line)
		if s.log != nil {
			*s.log = append(*s.log, line)
		}
		s.n++
		if s.failAt > 0 && s.n >= s.failAt {
			return errors.New("the sink is full")
		}
	}
	return nil
}

func rowText(b stream.Batch, r int) string {
	var sb strings.Builder
	if b.Kinds != nil {
		sb.WriteString(b.Kinds[r].String())
	}
	for c := range int(b.Record.NumCols()) {
		if c > 0 {
			sb.WriteByte(' ')
		}
		sb.WriteString(b.Record.Column(c).ValueStr(r))
	}
	if b.Before != nil {
		sb.WriteString(" <" + timeText(b.Before[r]))
	}
	return sb.String()
}

func (s *fakeSink) Prepare(context.Context, int64) ([]byte, error) {
	r := strings.Join(s.staged, "\n")
	s.staged = nil
	return []byte(r), nil
}

func (s *fakeSink) Commit(_ context.Context, receipt []byte) error {
	if len(receipt) > 0 {
		s.committed = append(s.committed, string(receipt))
	}
	return nil
}
func (s *fakeSink) Close() error { return nil }

// fakeOp lets a test look at what an operator gets.
type fakeOp struct {
	exec.Base
	env   *exec.Env
	open  func(env *exec.Env, from exec.StateReader) error
	batch func(in int, b stream.Batch, out exec.Output) error
	wm    func(wm stream.Time, out exec.Output) error
	timer func(at time.Time, out exec.Output) error
	end   func(in int, out exec.Output) error
	fin   func(out exec.Output) error
	snap  func(to exec.StateWriter) error
}

func (f *fakeOp) Open(_ context.Context, env *exec.Env, from exec.StateReader) error {
	f.env = env
	if f.open != nil {
		return f.open(env, from)
	}
	return nil
}

func (f *fakeOp) ProcessBatch(_ context.Context, in int, b stream.Batch, out exec.Output) error {
	if f.batch != nil {
		return f.batch(in, b, out)
	}
	return out.Emit(b)
}

func (f *fakeOp) ProcessWatermark(_ context.Context, wm stream.Time, out exec.Output) error {
	if f.wm != nil {
		return f.wm(wm, out)
	}
	return out.Watermark(wm)
}

func (f *fakeOp) ProcessTimer(_ context.Context, at time.Time, out exec.Output) error {
	if f.timer != nil {
		return f.timer(at, out)
	}
	return nil
}

func (f *fakeOp) EndInput(_ context.Context, in int, out exec.Output) error {
	if f.end != nil {
		return f.end(in, out)
	}
	return nil
}

func (f *fakeOp) Finish(_ context.Context, out exec.Output) error {
	if f.fin != nil {
		return f.fin(out)
	}
	return nil
}

func (f *fakeOp) Snapshot(_ context.Context, to exec.StateWriter) error {
	if f.snap != nil {
		return f.snap(to)
	}
	return nil
}

// scanOf describes a source task over f that feeds targets.
func scanOf(f *fakeSource, delay int64, to ...Target) *Task {
	return &Task{ID: "scan", Partitions: 1, To: to, Source: &Source{ID: "scan", Name: "Scan", Table: "t", TimeColumn: "ts", Need: NeedExact,
		Open: func() (connectors.Source, error) { return f, nil }, Times: true, NewPreparer: func() Preparer { return fakeTimes{delay} }, MaxOpenSplits: 100}}
}

func sinkTarget(s *fakeSink) Target {
	return Target{Sink: &Sink{ID: "sink", Name: "Sink", New: func() (connectors.Sink, error) { return s, nil }}}
}

// checked returns an allocator that must be empty at the end of the test.
func checked(t *testing.T) *memory.CheckedAllocator {
	a := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { a.AssertSize(t, 0) })
	return a
}

// finish runs a graph to its end.
func finish(t *testing.T, g *Graph, o Options) error {
	t.Helper()
	if o.Allocator == nil {
		o.Allocator = checked(t)
	}
	j, err := Start(context.Background(), g, o)
	if err != nil {
		t.Fatal(err)
	}
	return j.Wait()
}
