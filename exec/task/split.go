package task

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/watermark"
	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/exchange"
	"github.com/weir-sql/weir/exec/stream"
)

// split is the source's view of one of its splits.
type split struct {
	spec connectors.Split
	idx  int
	// reader is nil while the split is closed. pos is where it continues behind the queued blocks.
	reader connectors.Reader
	pos    connectors.Position
	eof    bool // the reader is at its end
	wait   bool // the reader had nothing at the last try
	queue  []*block
	skip   int // rows of the next block read that were consumed before a restore
	// What the order needs to know.
	started  bool
	finished bool
	wm       stream.Time // highest watermark of the rows consumed
	first    stream.Time // what counts instead until the first row is consumed
	rows     int64       // consumed
	heapAt   int
	input    int       // number in the combiner
	lastRow  time.Time // processing time of the last row
	// Idleness, by source.readingTime: the last sign of life, and when the reader last said that it has nothing.
	lastLife, lastAsked time.Time
	// generator makes the split's watermarks where the table names one; generatorState is what it begins with after a restore. Its clock began at since.
	generator      watermark.Generator
	generatorState []byte
	since          time.Time
	judged         time.Time // processing time by which the rows to skip were found to be too far ahead or not
	// Alignment: a paused split is not read, and its blocks are not among those that have arrived.
	limit         stream.Time // paused behind it
	waitUntil     time.Time   // until when the group waits for its first watermark
	paused        bool
	pausedAt      time.Time
	pausedReading time.Time // the same, by source.readingTime
	pauses        int64
	pausedFor     time.Duration // without the pause under way
}

// contribution is the watermark before the split's next row, as the order of rows sees it.
func (s *split) contribution() stream.Time {
	if s.started {
		return s.wm
	}
	return s.first
}

// block is a piece of a split, read and then decoded.
type block struct {
	split *split
	raw   connectors.Block
	start connectors.Position // of the reader before the block
	ready atomic.Bool         // decoded: the fields below are set
	err   error
	rec   arrow.RecordBatch
	kinds []stream.RowKind
	n     int // rows
	bad   []connectors.BadRecord
	// event has the event time of each row; prefix[i] the highest watermark of the rows before row i of the block. nil without a watermark.
	event      []stream.Time
	prefix     []stream.Time
	lowEvent   stream.Time // lowest event time
	nullAt     int         // first row without event time when that is an error, else -1
	dropped    []int       // for each row that was dropped for having no event time, the number of rows before it
	now        time.Time   // processing time by which rows are judged to be too far ahead
	futureAt   int         // first row that is too far ahead when that is an error, else -1
	place      string      // of the first of these, with ": " behind; empty where records have no positions
	future     []int       // for each row that is too far ahead, kept or dropped, the number of rows before it
	futureGone bool        // those were dropped
	// State of the split's generator before the block, what its clock showed, and its arguments for each row; nil when none depends on the row.
	generator   []byte
	generatorAt time.Duration
	args        [][]any
	next        int // next row to consume
	badNext     int
	dropNext    int
	futNext     int
	bytes       int64 // accounted
	seen        bool
	// Memory of event and prefix, given back when the queue and the runs are done with the block.
	times    *[]stream.Time
	users    atomic.Int32 // but for the queue
	released bool
}

var timesPool = sync.Pool{New: func() any { return new([]stream.Time) }}

// newTimes makes room for the times of the block's rows.
func (b *block) newTimes() {
	b.times = timesPool.Get().(*[]stream.Time)
	if n := 2*b.n + 1; cap(*b.times) < n {
		*b.times = make([]stream.Time, n)
	}
	times := (*b.times)[:2*b.n+1]
	b.event, b.prefix = times[:b.n:b.n], times[b.n:]
}

// release is the queue's; runs have references of their own.
func (b *block) release() {
	if b.rec != nil {
		b.rec.Release()
		b.rec = nil
	}
	if !b.released {
		b.released = true
		b.done()
	}
}

// done ends a use of the block's times.
func (b *block) done() {
	if b.users.Add(-1) < 0 && b.times != nil {
		b.event, b.prefix = nil, nil
		timesPool.Put(b.times)
		b.times = nil
	}
}

// decode turns the raw block into rows with their times. It runs on a worker.
func (s *source) decode(ctx context.Context, w *worker, b *block) {
	defer func() {
		if p := recover(); p != nil {
			b.release()
			b.err = s.panicked(s.spec.Name, p)
		}
		b.ready.Store(true)
		s.signal()
	}()
	b.nullAt, b.futureAt = -1, -1
	if b.raw.Decode == nil {
		return
	}
	dec, err := b.raw.Decode(ctx, s.job.o.Allocator)
	if err != nil {
		dec.Batch.Release()
		b.err = err
		return
	}
	b.rec, b.kinds, b.bad = dec.Batch.Record, dec.Batch.Kinds, dec.Bad
	// place names a row as the user finds it.
	place := func(row int) string {
		if dec.Position == nil {
			return ""
		}
		return fmt.Sprintf("%s:%d: ", b.split.spec.ID, dec.Position(dec.Batch.Row(row)))
	}
	if sel := dec.Batch.Selection; sel != nil {
		if err := b.compact(s, sel); err != nil {
			b.err = err
			return
		}
	}
	if b.rec == nil {
		return
	}
	b.n = int(b.rec.NumRows())
	if w.prepare == nil || b.n == 0 {
		return
	}
	if b.rec, b.err = w.prepare.Project(ctx, b.rec); b.err != nil {
		b.rec = nil
		return
	}
	if !s.spec.Times {
		return
	}
	b.newTimes()
	if err := w.prepare.Times(ctx, b.rec, b.event, b.prefix[1:]); err != nil {
		b.err = err
		return
	}
	if s.spec.Generator != nil {
		if b.err = b.prepareArgs(ctx, w); b.err != nil {
			return
		}
	}
	nulls := 0
	for i := range b.event {
		if b.timeless(i) {
			nulls++
		}
	}
	if nulls > 0 {
		switch s.spec.NullRows {
		case NullFail:
			for i := range b.event {
				if b.timeless(i) {
					b.nullAt, b.place = i, place(i)
					break
				}
			}
		case NullDrop:
			if b.err = b.remove(s, &b.dropped, func(t stream.Time) bool { return t == stream.MinTime }); b.err != nil {
				return
			}
		}
	}
	if s.spec.MaxFuture > 0 {
		if b.err = b.guard(s); b.err != nil {
			return
		}
		if b.futureAt >= 0 && b.nullAt < 0 {
			b.place = place(b.futureAt + sort.SearchInts(b.dropped, b.futureAt+1)) // of the rows before some were taken out
		}
	}
	b.lowEvent = stream.MaxTime
	for _, t := range b.event {
		if t != stream.MinTime {
			b.lowEvent = min(b.lowEvent, t)
		}
	}
	b.prefix[0] = stream.MinTime
	high := stream.MinTime
	for i, t := range b.prefix {
		high = max(high, t)
		b.prefix[i] = high
	}
}

// timeless reports a row that has no event time and should have one. A deletion of an upsert source has its key only.
func (b *block) timeless(i int) bool {
	return b.event[i] == stream.MinTime && (b.kinds == nil || b.kinds[i] != stream.Delete)
}

// remove takes the rows out whose event time is of no use; their marks go too. For each of them list gets the number of rows before it.
func (b *block) remove(s *source, list *[]int, useless func(stream.Time) bool) error {
	keep, gone := make([]int32, 0, b.n), []int(nil)
	for i, t := range b.event {
		if useless(t) {
			gone = append(gone, i)
			*list = append(*list, len(keep))
		} else {
			keep = append(keep, int32(i))
		}
	}
	if gone == nil {
		return nil
	}
	for k, i := range keep {
		b.event[k] = b.event[i]
		b.prefix[1+k] = b.prefix[1+i]
		if b.args != nil {
			b.args[k] = b.args[i]
		}
	}
	b.event, b.prefix = b.event[:len(keep)], b.prefix[:1+len(keep)]
	before := func(row int) int { return sort.SearchInts(gone, row) }
	for i := range b.bad { // Row counts good rows; those that are gone are none any more
		b.bad[i].Row -= before(b.bad[i].Row)
	}
	if b.nullAt >= 0 {
		b.nullAt -= before(b.nullAt)
	}
	if list != &b.dropped {
		for i, row := range b.dropped {
			b.dropped[i] -= before(row)
		}
	}
	return b.compact(s, keep)
}

// guard finds the rows whose event time is too far ahead of processing time. Whatever becomes of them, they do not advance the watermark.
func (b *block) guard(s *source) error {
	now := b.now
	if z := s.spec.FutureZone; z != nil { // event times are those of the wall clock
		_, offset := now.In(z).Zone()
		now = now.Add(time.Duration(offset) * time.Second)
	}
	limit := stream.Time(now.Add(s.spec.MaxFuture).UnixMicro())
	if s.spec.FutureRows == FutureDrop {
		b.futureGone = true
		return b.remove(s, &b.future, func(t stream.Time) bool { return t > limit })
	}
	for i, t := range b.event {
		if t <= limit {
			continue
		}
		if s.spec.FutureRows == FutureFail {
			b.futureAt = i
			return nil
		}
		b.future = append(b.future, i)
		b.prefix[1+i] = stream.MinTime
	}
	return nil
}

// compact keeps the rows of sel only.
func (b *block) compact(s *source, sel []int32) error {
	rec, err := exchange.Take(s.job.o.Allocator, b.rec, sel)
	if err != nil {
		return err
	}
	b.rec.Release()
	b.rec, b.n = rec, len(sel)
	if b.kinds != nil {
		kinds := make([]stream.RowKind, len(sel))
		for k, i := range sel {
			kinds[k] = b.kinds[i]
		}
		b.kinds = kinds
	}
	return nil
}

// openSplit opens the reader of a split.
func (s *source) openSplit(ctx context.Context, sp *split) error {
	if sp.reader != nil || sp.eof {
		return nil
	}
	if limit := s.spec.MaxOpenSplits; limit > 0 && s.open >= limit && s.ordered {
		return fmt.Errorf("table %s: more than %d splits overlap in event time and would have to be open at once: raise weir.scan.max-open-splits, or set "+
			"weir.input-order to 'split' (next: %s)", s.spec.Table, limit, sp.spec.ID)
	}
	bytes := max(s.blockBytes/max(s.open+1, 1), minBlockBytes)
	s.current = s.spec.Name
	r, err := s.src.Open(ctx, s.env, sp.spec, sp.pos, bytes)
	if err != nil {
		return err
	}
	sp.reader = r
	s.open++
	s.awaitFirst(sp)
	return nil
}

// closeSplit closes the reader of a split.
func (s *source) closeSplit(sp *split) error {
	if sp.reader == nil {
		return nil
	}
	r := sp.reader
	sp.reader = nil
	s.open--
	return r.Close()
}

// readStatus says how reading went.
type readStatus uint8

const (
	readBlock    readStatus = iota
	readNotReady            // nothing now
	readEnd
)

// read reads the split's next block and has it decoded.
func (s *source) read(ctx context.Context, sp *split) (readStatus, error) {
	if sp.eof {
		return readEnd, nil
	}
	if err := s.openSplit(ctx, sp); err != nil {
		return 0, err
	}
	if sp.wait { // what Ready has signalled meanwhile, Next sees
		select {
		case <-sp.reader.Ready():
		default:
		}
	}
	s.current = s.spec.Name
	raw, err := sp.reader.Next(ctx)
	switch {
	case err == nil:
	case errors.Is(err, connectors.ErrNotReady):
		sp.wait = true
		sp.lastAsked = s.asked
		return readNotReady, nil
	case errors.Is(err, connectors.EOF):
		sp.eof = true
		return readEnd, s.closeSplit(sp)
	default:
		return 0, err
	}
	sp.wait = false
	if s.spec.IgnoreMarks {
		raw.Watermark = stream.MinTime
	}
	b := &block{split: sp, raw: raw, start: sp.pos, bytes: max(raw.Bytes, 0), now: s.judgeBy(sp)}
	if err := s.account.Grow(b.bytes); err != nil {
		if raw.Discard != nil {
			raw.Discard()
		}
		return 0, err
	}
	sp.pos = raw.Position
	sp.queue = append(sp.queue, b)
	s.blocks++
	s.submit(ctx, func(w *worker) { s.decode(ctx, w, b) })
	return readBlock, nil
}

// judgeBy is the processing time for the rows of the next block. Rows that are read again after a restore are judged as they were before, so that their
// number is the same.
func (s *source) judgeBy(sp *split) time.Time {
	switch {
	case s.spec.MaxFuture <= 0:
		return time.Time{}
	case sp.skip > 0 && !sp.judged.IsZero():
		return sp.judged
	}
	return s.job.o.Clock.Now()
}

// frontStatus says what is known of a split's next row.
type frontStatus uint8

const (
	frontRow     frontStatus = iota // it is there
	frontDecode                     // it is being decoded
	frontWaiting                    // the reader has nothing now
	frontEnd                        // there is none any more
)

// front makes the split's next row known, if that needs no waiting: it passes blocks that are used up, and reads.
func (s *source) front(ctx context.Context, sp *split) (*block, frontStatus, error) {
	for {
		if len(sp.queue) == 0 {
			switch st, err := s.read(ctx, sp); {
			case err != nil:
				return nil, 0, err
			case st == readNotReady:
				return nil, frontWaiting, nil
			case st == readEnd && sp.skip > 0:
				return nil, 0, s.shorter(sp)
			case st == readEnd:
				return nil, frontEnd, nil
			}
		}
		b := sp.queue[0]
		if !b.ready.Load() {
			return nil, frontDecode, nil
		}
		if err := s.check(b); err != nil {
			return nil, 0, err
		}
		if b.next < b.n {
			return b, frontRow, nil
		}
		if err := s.pop(sp); err != nil {
			return nil, 0, err
		}
	}
}

// check looks at a block when its turn has come.
func (s *source) check(b *block) error {
	if b.err != nil {
		return b.err
	}
	if !b.seen {
		b.seen = true
		if err := s.generate(b.split, b); err != nil {
			return err
		}
		// Rows that were consumed before a restore are skipped; what lies before the first row to consume was counted then. Blocks may be cut otherwise now.
		b.next += b.split.skip
		b.split.skip = max(b.next-b.n, 0)
		b.next -= b.split.skip
		whole := b.split.skip > 0
		for b.badNext < len(b.bad) && (whole || b.bad[b.badNext].Row < b.next) {
			b.badNext++
		}
		for b.dropNext < len(b.dropped) && (whole || b.dropped[b.dropNext] < b.next) {
			b.dropNext++
		}
		for b.futNext < len(b.future) && (whole || b.future[b.futNext] < b.next) {
			b.futNext++
		}
		n := exchange.Bytes(b.rec)
		grow := n - b.bytes
		b.bytes = n
		if err := s.account.Grow(grow); err != nil {
			return err
		}
	}
	row := func(at int) string {
		if b.place != "" {
			return ""
		}
		return fmt.Sprintf(" in row %d of %s", b.split.rows+int64(at-b.next)+1, b.split.spec.ID)
	}
	if b.nullAt >= b.next {
		return fmt.Errorf("table %s: %sevent time column %s is NULL%s: set 'scan.watermark.null-rows' to 'drop' or 'keep' to go on without it",
			s.spec.Table, b.place, s.spec.TimeColumn, row(b.nullAt))
	}
	if b.futureAt >= b.next {
		return fmt.Errorf("table %s: %sevent time column %s is more than %s ahead of processing time%s: set 'scan.watermark.future-rows' to 'drop' or 'keep' to go on",
			s.spec.Table, b.place, s.spec.TimeColumn, s.spec.MaxFuture, row(b.futureAt))
	}
	return nil
}

func (s *source) shorter(sp *split) error {
	return fmt.Errorf("table %s: split %s is shorter than it was when the snapshot was taken", s.spec.Table, sp.spec.ID)
}

// pass counts the bad records and dropped rows that lie before row to.
func (s *source) pass(b *block, to int) error {
	for ; b.badNext < len(b.bad) && b.bad[b.badNext].Row < to; b.badNext++ {
		s.metrics.Counter(exec.BadRows).Add(1)
		s.job.showBad(s.spec, b.bad[b.badNext])
		s.keepBad(b.bad[b.badNext])
		if s.spec.OnBad != nil {
			if err := s.spec.OnBad(b.bad[b.badNext]); err != nil {
				return err
			}
		}
	}
	for ; b.dropNext < len(b.dropped) && b.dropped[b.dropNext] < to; b.dropNext++ {
		s.metrics.Counter(exec.NullTimeRows).Add(1)
	}
	for ; b.futNext < len(b.future) && b.future[b.futNext] < to; b.futNext++ {
		s.metrics.Counter(exec.FutureRows).Add(1)
	}
	return nil
}

// pop leaves a block that is used up.
func (s *source) pop(sp *split) error {
	b := sp.queue[0]
	sp.queue = sp.queue[1:]
	s.blocks--
	err := s.pass(b, b.n+1)
	if wm := b.raw.Watermark; wm != stream.MinTime && wm > sp.wm {
		sp.wm = wm
	}
	b.release()
	if e := s.account.Grow(-b.bytes); err == nil {
		err = e
	}
	return err
}

// drop gives up all blocks of a split: those that are being decoded are waited for.
func (s *source) drop(sp *split) {
	for _, b := range sp.queue {
		for !b.ready.Load() {
			<-s.wake
		}
		b.release()
		_ = s.account.Grow(-b.bytes)
	}
	sp.queue = nil
}

// learn opens a split, decodes its first row, closes it again, and sets what the split counts with until it is started: the watermark of its first row
// less a microsecond, which makes it chosen before any split that has reached that watermark.
func (s *source) learn(ctx context.Context, w *worker, sp *split) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = s.panicked(s.spec.Name, p)
		}
	}()
	sp.first = stream.MinTime
	r, err := s.src.Open(ctx, s.env, sp.spec, sp.pos, learnBlockBytes)
	if err != nil {
		return err
	}
	defer func() {
		if e := r.Close(); err == nil {
			err = e
		}
	}()
	for {
		raw, err := r.Next(ctx)
		switch {
		case errors.Is(err, connectors.EOF):
			return nil
		case errors.Is(err, connectors.ErrNotReady): // a bounded split of a peer: its first row comes, or its end
			select {
			case <-r.Ready():
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		case err != nil:
			return err
		}
		b := &block{split: sp, raw: raw, now: s.judgeBy(sp)}
		s.decode(ctx, w, b)
		if b.err != nil {
			b.release()
			return b.err
		}
		n := b.n
		if s.spec.Generator != nil && n > 0 && b.prefix != nil {
			err := s.calling(sp, func() error {
				g, err := s.newGenerator(func() time.Duration { return 0 })
				if err == nil {
					b.mark(g, true)
				}
				return err
			})
			if err != nil {
				b.release()
				return err
			}
		}
		if n > 0 && b.prefix != nil {
			sp.first = b.prefix[1].Add(-1)
		}
		b.release()
		if n > 0 {
			return nil
		}
	}
}

const (
	minBlockBytes   = 32 << 10
	learnBlockBytes = 4 << 10
)
