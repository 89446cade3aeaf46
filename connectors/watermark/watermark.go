// Package watermark has what makes watermarks: generators, which a table's WATERMARK clause may name instead of an expression, and strategies, which go
// with a source that is registered in Go. A generator sees the event times of one split, row by row, and says what the watermark is.
package watermark

import (
	"errors"
	"fmt"
	"time"

	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Time is event time: microseconds since 1970, UTC (of a TIMESTAMP: of its wall clock).
type Time = stream.Time

// MinTime is before all times: no watermark yet.
const MinTime = stream.MinTime

// Generator makes the watermarks of one split. One goroutine calls it. A watermark w promises that no more rows with an event time at or before w will
// come; one that is behind an earlier one has no effect. A panic ends the query with an error that names table and split.
type Generator interface {
	// OnEvent is told the event time of each row, in the order of the split. Rows without one, and those that 'scan.watermark.max-future' holds back, are
	// left out.
	OnEvent(event stream.Time, emit func(stream.Time))
	// OnPeriodicEmit is called
	//   - on event (the default of 'scan.watermark.emit.strategy'): behind the OnEvent of every row, as if the interval were as short as it can be;
	//   - on periodic: by the clock of the job instead, every pipeline.auto-watermark-interval (200 ms);
	//   - of a Clocked generator: by the clock in any case.
	//
	// The clock does not call for a split that is idle or paused by alignment; calls that a full sink has held up are made up for by one. What is emitted by
	// the clock counts behind the rows that the generator has seen. A bounded split is never called by the clock, but behind every row: no clock has a part
	// in what a bounded input gives.
	OnPeriodicEmit(emit func(stream.Time))
}

// RowGenerator is a Generator that wants the values of the arguments behind the event time for each row: OnRow is called instead of OnEvent where one of
// them is not constant.
type RowGenerator interface {
	Generator
	// OnRow gets the arguments as the Factory did, with the row's value in the place of each Column: nil for NULL, stream.Time for TIMESTAMP and
	// TIMESTAMP_LTZ, else as the Factory's constants. args is lent.
	OnRow(event stream.Time, args []any, emit func(stream.Time))
}

// Clocked is a Generator that goes by processing time too: OnPeriodicEmit is called by the clock, under every emit strategy.
type Clocked interface {
	Generator
	// UseClock is called once, before all else. elapsed is processing time: how long the split was read, without the time for which it was held up by a full
	// sink or by alignment. It goes on where it was after a restore, and stands at 0 over a bounded split.
	UseClock(elapsed func() time.Duration)
}

// Snapshotter is a Generator that keeps its state over restores. One that is not begins anew then, while the watermark of the split stays.
type Snapshotter interface {
	Generator
	Snapshot() ([]byte, error)
	Restore([]byte) error
}

// Column stands, in the arguments of a Factory, for one that is not constant: a RowGenerator gets its values.
type Column struct {
	Text string // as written
	Type types.Type
}

// Factory makes a generator for a split. args are what stands behind the event time in WATERMARK FOR ts AS name(ts, args...): int64 for whole numbers,
// float64 for others, string, bool, time.Duration for an interval of days to seconds, nil for NULL, values of package types for the rest, and a Column for
// what is not constant. An error refuses the table's declaration.
type Factory func(args []any) (Generator, error)

// New makes a generator. That there is none, that it cannot take its arguments row by row, and a panic of the factory are errors.
func (f Factory) New(args []any) (g Generator, err error) {
	defer func() {
		if p := recover(); p != nil {
			g, err = nil, fmt.Errorf("its factory panicked: %v", p)
		}
	}()
	if g, err = f(args); err != nil {
		return nil, err
	}
	if g == nil {
		return nil, errors.New("its factory gave none")
	}
	if _, ok := g.(RowGenerator); !ok {
		for _, a := range args {
			if c, ok := a.(Column); ok {
				return nil, fmt.Errorf("it takes constants behind the event time only, and %s depends on the row", c.Text)
			}
		}
	}
	return g, nil
}

// BoundedOutOfOrderness is for rows that come at most d behind those with later event times: the watermark is the highest event time so far less d less
// 1 ms, as Flink's of that name. A negative d is refused.
func BoundedOutOfOrderness(d time.Duration) Strategy {
	return ForGenerator(func(args []any) (Generator, error) {
		switch {
		case len(args) > 0:
			return nil, fmt.Errorf("it takes no arguments behind the event time, not %d", len(args))
		case d < 0:
			return nil, fmt.Errorf("out-of-orderness is 0 or more, not %s", d)
		}
		return &bounded{back: d + time.Millisecond, high: stream.MinTime}, nil
	})
}

// MonotonousTimestamps is for event times that never step back within a split: the watermark is the highest one less 1 ms, as Flink's of that name.
func MonotonousTimestamps() Strategy { return BoundedOutOfOrderness(0) }

// bounded needs no snapshot: what it would emit again lies behind the watermark of the split.
type bounded struct {
	back time.Duration
	high stream.Time
}

func (g *bounded) OnEvent(event stream.Time, _ func(stream.Time)) { g.high = max(g.high, event) }

func (g *bounded) OnPeriodicEmit(emit func(stream.Time)) {
	if g.high != stream.MinTime {
		emit(g.high.Add(-g.back.Microseconds()))
	}
}
