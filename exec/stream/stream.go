// Package stream has what flows between tasks and operators: batches of rows, watermarks, idleness, barriers and the end. It is all of the
// execution engine that a connector needs to know.
package stream

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

// Time is a point in event time: microseconds since 1970-01-01 00:00:00 UTC.
//
// A watermark w promises: no more rows with time <= w (the meaning of Flink and Beam).
type Time int64

const (
	// MinTime is "no watermark yet" (minus infinity, not 0).
	MinTime Time = math.MinInt64
	// MaxTime is the watermark behind the last row of bounded input (plus infinity); it stays there under any addition.
	MaxTime Time = math.MaxInt64
)

// Add returns t + us, with MinTime and MaxTime fixed points and saturation instead of overflow.
func (t Time) Add(us int64) Time {
	if t == MinTime || t == MaxTime {
		return t
	}
	s := int64(t) + us
	switch {
	case us > 0 && s < int64(t):
		return MaxTime
	case us < 0 && s > int64(t):
		return MinTime + 1
	}
	return Time(s)
}

// RowKind says what a row does to the result: insert, update (before and after) or delete.
type RowKind uint8

// The row kinds, in Flink's order.
const (
	Insert RowKind = iota
	UpdateBefore
	UpdateAfter
	Delete
)

// String returns +I, -U, +U or -D.
func (k RowKind) String() string { return [...]string{"+I", "-U", "+U", "-D"}[k&3] }

// Retracts reports -U and -D.
func (k RowKind) Retracts() bool { return k == UpdateBefore || k == Delete }

// SeqStep is how far apart the sequence numbers of a source's rows are: an operator that makes several rows of one gives them numbers in between.
const SeqStep = 256

// SeqBase is the sequence number of the first row. Those below it are for groups that one copy of an operator held when a snapshot was taken: however many
// there are, they stay before the rows to come.
const SeqBase = 1 << 45

// SeqOf is the sequence number of the n-th row, from 0.
func SeqOf(n int64) int64 { return SeqBase + n*SeqStep }

// Batch is a run of rows: an Arrow record batch and side vectors, each nil when nobody needs it. A vector that is there has one entry for each
// row of Record (not of Selection).
//
// A -U is directly followed by its +U, and a batch never ends inside such a pair.
//
// A Batch that is handed over (Output.Emit, ProcessBatch) takes one reference to Record with it: the receiver calls Release, or hands the batch on.
// Side vectors are sealed: nobody changes them after the batch was handed over. Arrays are lent: who keeps values after Release copies them.
type Batch struct {
	Record arrow.RecordBatch
	// Kinds has the kind of each row; nil means all are inserts.
	Kinds []RowKind
	// Before has the watermark before each row, rows that a filter dropped included; it never steps back. nil means that no row lies at or behind
	// the watermark (where the plan asks for late judgement), or that nobody asked.
	Before []Time
	// Seq has the sequence number of each row, where order must survive an exchange.
	Seq []int64
	// Selection lists the rows that are part of the batch, ascending; nil means all.
	Selection []int32
}

// Len returns the number of selected rows.
func (b Batch) Len() int {
	if b.Selection != nil {
		return len(b.Selection)
	}
	if b.Record == nil {
		return 0
	}
	return int(b.Record.NumRows())
}

// Row returns the row number in Record of the i-th selected row.
func (b Batch) Row(i int) int {
	if b.Selection != nil {
		return int(b.Selection[i])
	}
	return i
}

// Kind returns the kind of row r of Record.
func (b Batch) Kind(r int) RowKind {
	if b.Kinds == nil {
		return Insert
	}
	return b.Kinds[r]
}

// Retain adds a reference, for a batch that goes to two receivers.
func (b Batch) Retain() {
	if b.Record != nil {
		b.Record.Retain()
	}
}

// Release gives the reference back.
func (b Batch) Release() {
	if b.Record != nil {
		b.Record.Release()
	}
}

// Slice returns rows [from, to) of a batch without Selection, with its own reference to Record; b keeps its one.
func (b Batch) Slice(from, to int) Batch {
	s := Batch{Record: b.Record.NewSlice(int64(from), int64(to))}
	if b.Kinds != nil {
		s.Kinds = b.Kinds[from:to:to]
	}
	if b.Before != nil {
		s.Before = b.Before[from:to:to]
	}
	if b.Seq != nil {
		s.Seq = b.Seq[from:to:to]
	}
	return s
}

// EventKind tags an Event.
type EventKind uint8

// What flows on a queue.
const (
	EventBatch EventKind = iota
	EventWatermark
	EventIdle // a source has fallen silent, or speaks again: see Event.Phase
	EventBarrier
	EventEnd
)

// Event is what travels between tasks, by value; Kind says which field counts.
type Event struct {
	Kind      EventKind
	Batch     Batch
	Watermark Time // no more rows with time <= Watermark on this input
	Barrier   Barrier
	// Source and Phase, of an Idle, are the source that has fallen silent or speaks again and how often it has done so: odd while it is idle.
	Source string
	Phase  int64
	// Seq, of a Watermark, is also progress in sequence numbers: rows that come at this very watermark have Seq >= Seq. 0 says nothing.
	Seq int64
}

// Barrier is a cut through the stream: everything before it belongs to the checkpoint ID, nothing behind it.
type Barrier struct {
	ID int64
	// Snapshot asks every task for its state. Without it the barrier is a mere marker: the job knows that all before it has been worked off.
	Snapshot bool
	// Stop ends the query behind the barrier, without closing windows.
	Stop bool
}
