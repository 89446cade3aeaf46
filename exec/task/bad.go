package task

import (
	"context"
	"errors"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

// badRecords are bad records on their way to the table that keeps them. They travel with the items, so that a barrier cuts them where it cuts the rows.
type badRecords struct {
	list  []connectors.BadRecord
	times []time.Time
}

func (b *badRecords) add(o badRecords) {
	b.list, b.times = append(b.list, o.list...), append(b.times, o.times...)
}

// keepBad keeps a record that was met for the next item.
func (s *source) keepBad(b connectors.BadRecord) {
	if len(s.spec.Bad) > 0 {
		s.bad.add(badRecords{[]connectors.BadRecord{b}, []time.Time{s.job.o.Clock.Now()}})
	}
}

// takeBad gives an item the records that were met before it.
func (s *source) takeBad(it *item) { it.bad, s.bad = s.bad, badRecords{} }

// sendBad gives records to the table that keeps them. That it wants no more is nothing to the source.
func (s *source) sendBad(ctx context.Context, b badRecords) error {
	if len(b.list) == 0 {
		return nil
	}
	err := s.badTo.batch(ctx, 0, stream.Batch{Record: s.spec.BadBatch(b.list, b.times)})
	if errors.Is(err, exec.ErrEnough) {
		return nil
	}
	return err
}
