// Package watermark has generators of watermarks: what a table's WATERMARK clause may name instead of an expression. A generator sees the event times of
// one split, row by row, and says what the watermark is.
package watermark

import (
	"fmt"
	"time"

	"github.com/weir-sql/weir/exec/stream"
)

// Generator makes the watermarks of one split. One goroutine calls it. A watermark w promises that no more rows with an event time at or before w will
// come; one that is behind an earlier one has no effect.
type Generator interface {
	// OnEvent is told the event time of each row, in the order of the split.
	OnEvent(event stream.Time, emit func(stream.Time))
	// OnPeriodicEmit is called behind the OnEvent of every row: in Weir the interval is as short as it can be, and no clock has a part in the result.
	OnPeriodicEmit(emit func(stream.Time))
}

// Snapshotter is a Generator that keeps its state over restores. One that is not begins anew then, while the watermark of the split stays.
type Snapshotter interface {
	Generator
	Snapshot() ([]byte, error)
	Restore([]byte) error
}

// Factory makes a generator for a split. args are the constants behind the event time in WATERMARK FOR ts AS name(ts, args...): int64 for whole numbers,
// float64 for others, string, bool, time.Duration for an interval of days to seconds. An error refuses the table's declaration.
type Factory func(args []any) (Generator, error)

// BoundedOutOfOrderness makes generators whose watermark is the highest event time so far less d less 1 ms, as Flink's of that name.
func BoundedOutOfOrderness(d time.Duration) Factory {
	return func(args []any) (Generator, error) {
		if len(args) > 0 {
			return nil, fmt.Errorf("it takes no arguments behind the event time, not %d", len(args))
		}
		return &bounded{back: d + time.Millisecond, high: stream.MinTime}, nil
	}
}

// MonotonousTimestamps makes generators for event times that never step back: the watermark is the highest one less 1 ms, as Flink's of that name.
func MonotonousTimestamps() Factory { return BoundedOutOfOrderness(0) }

// bounded needs no snapshot: what it would emit again lies behind the watermark of the split.
type bounded struct {
	back time.Duration
	high stream.Time
}

func (g *bounded) OnEvent(event stream.Time, _ func(stream.Time)) { g.high = max(g.high, event) }

func (g *bounded) OnPeriodicEmit(emit func(stream.Time)) { emit(g.high.Add(-g.back.Microseconds())) }
