package weir

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/exec/task"
	"github.com/weir-sql/weir/planner/physical"
)

// lookTimeout is how long looking in waits for a job: one whose sink takes no rows does not answer.
const lookTimeout = time.Second

// SplitState says what part a split has in the watermark of its table.
type SplitState string

// The states of a split.
const (
	SplitActive   SplitState = "active"   // windows wait for it
	SplitIdle     SplitState = "idle"     // silent for the idle timeout: it has no say
	SplitPaused   SplitState = "paused"   // by alignment: active, and not read until the others have caught up
	SplitFinished SplitState = "finished" // it has ended
)

// SplitWatermark tells how one split of a table that a job reads stands: a line of SHOW WATERMARKS. A table that has no split (yet) has one with an empty
// Split.
type SplitWatermark struct {
	Job       string     `json:"job"`
	Operator  string     `json:"operator"` // id of the scan in EXPLAIN
	Table     string     `json:"table"`    // catalog.database.table, or 'file'
	Split     string     `json:"split"`
	State     SplitState `json:"state"`
	Watermark *time.Time `json:"watermark"` // nil before the first, and where the table has none; on the wall clock of the column
	LagMs     *int64     `json:"lag_ms"`    // how far the watermark is behind processing time, negative: ahead
	LastRow   *time.Time `json:"last_row"`  // processing time of the last row, of unbounded tables
	Rows      int64      `json:"rows"`
	// Holds: the split is active and has the lowest watermark of those that some result of the job waits for. nil where the table has no watermark.
	Holds *bool `json:"holds_minimum"`
	// Blocked: the table waits for the job's sink, and the figures are the last known ones.
	Blocked bool `json:"blocked"`
	// Of alignment ('scan.watermark.alignment.group'): how far the split is ahead of the group's slowest, nil where there is no group; how often it was
	// paused, and for how long in all.
	DriftMs  *int64 `json:"drift_ms,omitempty"`
	Pauses   int64  `json:"pauses"`
	PausedMs int64  `json:"paused_ms"`

	mark  stream.Time
	timed bool
}

// Watermarks tells how the splits of all tables stand that the job reads, in the order of the plan, without stopping it. A job that has ended tells how it
// stood at its end.
func (j *Job) Watermarks(ctx context.Context) []SplitWatermark {
	look, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return j.splits(j.job.Sight(look))
}

// Watermarks tells the same of all jobs of the session that run.
func (db *DB) Watermarks(ctx context.Context) []SplitWatermark {
	var out []SplitWatermark
	jobs, sights := db.sights(ctx)
	for i, j := range jobs {
		out = append(out, j.splits(sights[i])...)
	}
	return out
}

// sights asks all jobs that run, at the same time, how they stand.
func (db *DB) sights(ctx context.Context) ([]*Job, []task.Sight) {
	look, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	jobs := db.Jobs()
	sights := make([]task.Sight, len(jobs))
	var wg sync.WaitGroup
	for i, j := range jobs {
		wg.Go(func() { sights[i] = j.job.Sight(look) })
	}
	wg.Wait()
	return jobs, sights
}

func (j *Job) splits(at task.Sight) []SplitWatermark {
	now := j.db.opts.Clock.Now()
	var out []SplitWatermark
	for _, s := range at.Sources {
		table := tableName(s.Table)
		if len(s.Splits) == 0 {
			out = append(out, SplitWatermark{Job: j.id, Operator: s.ID, Table: table, State: SplitActive, Blocked: at.Blocked[s.ID], mark: stream.MinTime, timed: s.Timed})
		}
		for _, sp := range s.Splits {
			w := SplitWatermark{Job: j.id, Operator: s.ID, Table: table, Split: sp.Split, Rows: sp.Rows, Blocked: at.Blocked[s.ID], mark: sp.Watermark, timed: s.Timed,
				State: map[task.InputState]SplitState{task.Active: SplitActive, task.IdleInput: SplitIdle, task.Finished: SplitFinished}[sp.State]}
			if s.Timed && sp.Watermark != stream.MinTime && sp.Watermark != stream.MaxTime {
				t := time.UnixMicro(int64(sp.Watermark)).UTC()
				lag := wallClock(now, s.Zone).Sub(t).Milliseconds()
				w.Watermark, w.LagMs = &t, &lag
			}
			if !sp.LastRow.IsZero() {
				t := sp.LastRow.UTC()
				w.LastRow = &t
			}
			if a := sp.Alignment; a != nil {
				drift := a.Drift.Milliseconds()
				w.DriftMs, w.Pauses, w.PausedMs = &drift, a.Pauses, a.PausedFor.Milliseconds()
				if a.Paused && w.State == SplitActive {
					w.State = SplitPaused
				}
			}
			out = append(out, w)
		}
	}
	j.holders(out)
	return out
}

// holders marks the splits that hold the minimum: of each result of the job (the roots of its plan), the active ones with the lowest watermark.
func (j *Job) holders(splits []SplitWatermark) {
	for i := range splits {
		if splits[i].timed {
			splits[i].Holds = new(bool)
		}
	}
	for _, root := range j.roots {
		lowest, some := stream.MaxTime, false
		counts := func(s *SplitWatermark) bool {
			return s.timed && s.votes() && root[scanID(s.Operator)]
		}
		for i := range splits {
			if counts(&splits[i]) {
				lowest, some = min(lowest, splits[i].mark), true
			}
		}
		for i := range splits {
			if some && counts(&splits[i]) && splits[i].mark == lowest {
				*splits[i].Holds = true
			}
		}
	}
}

// votes says that the watermark waits for the split.
func (s *SplitWatermark) votes() bool { return s.State == SplitActive || s.State == SplitPaused }

// scanID is the id of the scan in the plan: one that is read several times has numbers behind it.
func scanID(source string) string {
	id, _, _ := strings.Cut(source, "@")
	return id
}

// tableName is the name of a table as it is shown: without the quotes around its parts.
func tableName(path string) string { return strings.ReplaceAll(path, "`", "") }

// wallClock is what event times are compared with: the instant, or, where they are on the wall clock of a zone, its time as if it were UTC.
func wallClock(now time.Time, zone *time.Location) time.Time {
	if zone == nil {
		return now
	}
	_, offset := now.In(zone).Zone()
	return now.Add(time.Duration(offset) * time.Second)
}

// scansOf lists, for each root of a plan, the ids of the scans that it waits for.
func scansOf(p *physical.Plan) []map[string]bool {
	var out []map[string]bool
	for _, root := range p.Roots {
		if s, ok := root.(*physical.Sink); ok && s.Aside {
			continue
		}
		out = append(out, scansUnder(root))
	}
	return out
}

// scansUnder lists the ids of the scans that a node reads.
func scansUnder(n physical.Node) map[string]bool {
	scans, seen := map[string]bool{}, map[physical.Node]bool{}
	var walk func(physical.Node)
	walk = func(n physical.Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		if s, ok := n.(*physical.Scan); ok {
			scans[s.ID()] = true
		}
		for _, in := range n.Inputs() {
			walk(in)
		}
	}
	walk(n)
	return scans
}
