package watermark

import (
	"errors"
	"fmt"
	"time"
)

// Strategy says how the watermarks of a source that is registered in Go are made: the generator, which event time it sees, and what becomes of silent and
// hurrying splits. It is a value: each With method returns a changed copy. The zero Strategy is none.
type Strategy struct {
	factory   Factory
	columns   []string
	assigner  TimestampAssigner
	column    string
	idle      time.Duration
	alignment Alignment
	err       error
}

// TimestampAssigner gives the event time of a row, which is a value as the program gave it (from a channel, a slice, a sequence). The zero Time is none.
// Several goroutines may call it at the same time.
type TimestampAssigner func(row any) time.Time

// TimestampOf makes an assigner for rows of one type.
func TimestampOf[T any](f func(row T) time.Time) TimestampAssigner {
	return func(row any) time.Time {
		v, ok := row.(T)
		if !ok {
			panic(fmt.Errorf("it takes rows of type %T, not %T", v, row))
		}
		return f(v)
	}
}

// Alignment holds splits back that run ahead of the others of their group: 'scan.watermark.alignment.*'.
type Alignment struct {
	Group          string
	MaxDrift       time.Duration
	UpdateInterval time.Duration
}

// ForGenerator is the strategy of a generator of one's own. The factory makes one for each split; its arguments are the columns, each a Column, whose
// values a RowGenerator gets row by row.
func ForGenerator(f Factory, columns ...string) Strategy {
	s := Strategy{factory: f, columns: columns}
	if f == nil {
		s.fail(errors.New("ForGenerator needs a factory"))
	}
	return s
}

// WithTimestampAssigner has the event time computed from the row as the program gave it. The table gets it as a last column, rowtime TIMESTAMP_LTZ(6).
func (s Strategy) WithTimestampAssigner(a TimestampAssigner) Strategy {
	if a == nil || s.column != "" || s.assigner != nil {
		s.fail(errors.New("the event time is given once, by WithTimestampAssigner or WithTimestampColumn"))
	}
	s.assigner = a
	return s
}

// WithTimestampColumn names the column that is the event time. Without it, and without an assigner, the table must have one column of type TIMESTAMP or
// TIMESTAMP_LTZ only.
func (s Strategy) WithTimestampColumn(name string) Strategy {
	if name == "" || s.column != "" || s.assigner != nil {
		s.fail(errors.New("the event time is given once, by WithTimestampAssigner or WithTimestampColumn"))
	}
	s.column = name
	return s
}

// WithIdleness passes a split over that gives no row for d, until it speaks again: 'scan.watermark.idle-timeout'.
func (s Strategy) WithIdleness(d time.Duration) Strategy {
	if d < time.Millisecond {
		s.fail(fmt.Errorf("an idle timeout is 1 ms or more, not %s", d))
	}
	s.idle = d
	return s
}

// WithAlignment pauses a split whose watermark is more than maxDrift ahead of the lowest of the group: 'scan.watermark.alignment.*'. The group is looked at
// every updateInterval.
func (s Strategy) WithAlignment(group string, maxDrift, updateInterval time.Duration) Strategy {
	if group == "" || maxDrift < time.Millisecond || updateInterval < time.Millisecond {
		s.fail(fmt.Errorf("alignment needs a group, and a drift and an interval of 1 ms or more, not '%s', %s, %s", group, maxDrift, updateInterval))
	}
	s.alignment = Alignment{group, maxDrift, updateInterval}
	return s
}

func (s *Strategy) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// Err is the first mistake in the making of the strategy.
func (s Strategy) Err() error {
	if s.err == nil && s.factory == nil {
		return errors.New("the strategy has no generator: begin with BoundedOutOfOrderness, MonotonousTimestamps or ForGenerator")
	}
	return s.err
}

// Factory makes the generators, as RegisterWatermarkGenerator takes it.
func (s Strategy) Factory() Factory { return s.factory }

// Columns are those whose values the generator gets.
func (s Strategy) Columns() []string { return s.columns }

// Assigner gives the event time of a row; nil when it is a column.
func (s Strategy) Assigner() TimestampAssigner { return s.assigner }

// TimestampColumn is the column of the event time; empty when it was not named.
func (s Strategy) TimestampColumn() string { return s.column }

// Idleness is the idle timeout, 0 for none.
func (s Strategy) Idleness() time.Duration { return s.idle }

// Alignment is without a group for none.
func (s Strategy) Alignment() Alignment { return s.alignment }

// Table is a table whose source has a strategy: WATERMARK FOR ts AS SOURCE_WATERMARK() stands for its generator.
type Table interface {
	WatermarkStrategy() Strategy
	// WatermarkColumns are the strategy's Columns, for the planner.
	WatermarkColumns() []string
}
