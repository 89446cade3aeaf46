package task

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
)

// Stats are figures of a job at one moment.
type Stats struct {
	// Operators has the counters of every operator, source and sink, summed over its partitions, in the order of the plan.
	Operators []OperatorStats
	// Sources have the watermarks of the sources and their splits.
	Sources []SourceStats
}

// OperatorStats are the counters of one operator, source or sink.
type OperatorStats struct {
	ID, Name string
	// Source and Sink say what it is, when it is no operator.
	Source, Sink bool
	Counters     map[string]int64
	// StateRows counts rows in keyed state, when the stats were asked for with state.
	StateRows int64
}

// SourceStats tells about one source.
type SourceStats struct {
	ID, Table string
	Watermark stream.Time
	// Timed says that the table has a watermark; Zone is the zone whose wall clock its event times are on, nil when they are instants.
	Timed  bool
	Zone   *time.Location
	Splits []SplitStats
	// BadRecords are the first bad records that were skipped since the start, a few, to show.
	BadRecords []connectors.BadRecord
}

// SplitStats tells about one split.
type SplitStats struct {
	Split     string
	Rows      int64
	Watermark stream.Time
	State     InputState
	// LastRow is the processing time of the last row of an unbounded split; zero before it.
	LastRow time.Time
	// Alignment is nil for a split that is in no group.
	Alignment *AlignmentStats
}

// Counters returns the counters of all operators, summed over partitions, without asking the tasks.
func (j *Job) Counters() []OperatorStats {
	j.mu.Lock()
	ids := slices.Clone(j.order)
	j.mu.Unlock()
	sources, sinks := j.g.ends()
	var out []OperatorStats
	for _, id := range ids {
		j.mu.Lock()
		p := j.metrics[id]
		name, parts := p.name, slices.Collect(maps.Values(p.byPart))
		j.mu.Unlock()
		s := OperatorStats{ID: id, Name: name, Source: sources[id], Sink: sinks[id], Counters: map[string]int64{}}
		for _, m := range parts {
			m.Each(func(name string, v int64) { s.Counters[name] += v })
		}
		out = append(out, s)
	}
	return out
}

// Stats returns counters, watermarks and state of a running job, by a snapshot that is only looked at. A job that has ended has no state, and its sources are
// as they were at the end.
func (j *Job) Stats(ctx context.Context) (Stats, error) {
	snap, err := j.Look(ctx)
	st := Stats{Operators: j.Counters()}
	if errors.Is(err, ErrEnded) || err != nil && j.ctx.Err() != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		for _, t := range j.g.Tasks {
			if t.Source != nil {
				if ss, ok := j.last[t.Source.ID]; ok {
					st.Sources = append(st.Sources, ss)
				}
			}
		}
		return st, nil
	}
	if err != nil {
		return st, err
	}
	defer snap.Release()
	j.mu.Lock()
	bad := maps.Clone(j.bad)
	j.mu.Unlock()
	rows := snap.StateRows()
	for i := range st.Operators {
		st.Operators[i].StateRows = rows[st.Operators[i].ID]
	}
	for _, t := range j.g.Tasks {
		if t.Source == nil {
			continue
		}
		ss := sourceStats(t.Source, snap.Tasks[taskKey(t.ID, 0)].Source)
		ss.BadRecords = bad[t.Source.ID]
		st.Sources = append(st.Sources, ss)
	}
	return st, nil
}

func sourceStats(s *Source, from *SourceSnapshot) SourceStats {
	ss := SourceStats{ID: s.ID, Table: s.Table, Watermark: from.Combined, Timed: s.Times, Zone: s.FutureZone}
	if from.Ended {
		ss.Watermark = stream.MaxTime
	}
	for _, sp := range from.Splits {
		ss.Splits = append(ss.Splits, SplitStats{Split: sp.Split.ID, Rows: sp.Rows, Watermark: sp.Watermark, State: sp.State, LastRow: sp.LastRow, Alignment: sp.Alignment})
	}
	return ss
}

// closed keeps the figures of a source that is closed.
func (j *Job) closed(s *Source, at *SourceSnapshot) {
	j.mu.Lock()
	defer j.mu.Unlock()
	ss := sourceStats(s, at)
	ss.BadRecords = j.bad[s.ID]
	j.last[s.ID] = ss
}

// maxBadRecords is how many bad records of a source are kept to be shown.
const maxBadRecords = 5

// showBad keeps one of the first bad records.
func (j *Job) showBad(s *Source, b connectors.BadRecord) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if have := j.bad[s.ID]; len(have) < maxBadRecords {
		b.Raw = append([]byte(nil), b.Raw[:min(len(b.Raw), 200)]...)
		j.bad[s.ID] = append(have[:len(have):len(have)], b)
	}
}
