package weir

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/exec/task"
	"github.com/weir-sql/weir/types"
)

// lookTimeout is how long SHOW WATERMARKS waits for a job: one whose sink takes no rows now does not answer.
const lookTimeout = 3 * time.Second

// showWatermarks answers SHOW WATERMARKS: a line for each split of each table that a running job reads.
func (db *DB) showWatermarks(ctx context.Context) *Query {
	rows := [][]string{}
	for _, j := range db.Jobs() {
		if j.State() != JobRunning {
			continue
		}
		look, cancel := context.WithTimeout(ctx, lookTimeout)
		st, err := j.job.Stats(look)
		cancel()
		if err != nil {
			rows = append(rows, []string{j.ID(), nullText, nullText, nullText, nullText, "does not answer: its sink takes no rows now", nullText, nullText})
			continue
		}
		rows = append(rows, splitRows(j.ID(), st.Sources, db.opts.Clock.Now())...)
	}
	return textResult([]string{"job id", "table", "split", "watermark", "lag", "state", "last row", "holds the minimum"}, rows)
}

// splitRows are the lines of one job. The minimum is held by the active splits with the lowest watermark of the job: those that it waits for.
func splitRows(job string, sources []task.SourceStats, now time.Time) [][]string {
	lowest, some := stream.MaxTime, false
	for _, s := range sources {
		for _, sp := range s.Splits {
			if s.Timed && sp.State == task.Active {
				lowest, some = min(lowest, sp.Watermark), true
			}
		}
	}
	var rows [][]string
	for _, s := range sources {
		for _, sp := range s.Splits {
			r := []string{job, strings.ReplaceAll(s.Table, "`", ""), sp.Split, nullText, nullText, "", nullText, nullText}
			if s.Timed && sp.Watermark != stream.MinTime && sp.Watermark != stream.MaxTime {
				r[3] = timestampText(int64(sp.Watermark), time.UTC)
				at := now
				if s.Zone != nil { // event times are those of the wall clock
					_, offset := now.In(s.Zone).Zone()
					at = now.Add(time.Duration(offset) * time.Second)
				}
				r[4] = at.Sub(time.UnixMicro(int64(sp.Watermark))).Truncate(time.Millisecond).String()
			}
			r[5] = map[task.InputState]string{task.Active: "active", task.IdleInput: "idle", task.Finished: "finished"}[sp.State]
			if !sp.LastRow.IsZero() {
				r[6] = timestampText(sp.LastRow.UnixMicro(), time.UTC)
			}
			if s.Timed {
				r[7] = strings.ToUpper(strconv.FormatBool(some && sp.State == task.Active && sp.Watermark == lowest))
			}
			rows = append(rows, r)
		}
	}
	return rows
}

func timestampText(us int64, zone *time.Location) string {
	return types.Format(types.TimestampVal(us), types.TimestampOf(3), zone)
}

// showLateRows answers SHOW LATE ROWS: a line for each operator of each job that met late rows.
func (db *DB) showLateRows() *Query {
	rows := [][]string{}
	for _, j := range db.Jobs() {
		for _, t := range j.Stats().Tables {
			late, partly := t.Counters[exec.LateRows], t.Counters[exec.PartlyLateRows]
			if late+partly > 0 {
				rows = append(rows, []string{j.ID(), t.ID, strconv.FormatInt(late, 10), strconv.FormatInt(partly, 10)})
			}
		}
	}
	return textResult([]string{"job id", "operator", "late rows", "partly late rows"}, rows)
}
