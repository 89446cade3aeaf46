package weir

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/types"
)

// watermarkColumns are the columns of SHOW WATERMARKS.
var watermarkColumns = []string{"job id", "table", "split", "watermark", "lag", "state", "last row", "holds the minimum"}

// showWatermarks answers SHOW WATERMARKS: a line for each split of each table that a running job reads.
func (db *DB) showWatermarks(ctx context.Context) *Query {
	return textResult(watermarkColumns, watermarkRows(db.Watermarks(ctx)))
}

func watermarkRows(splits []SplitWatermark) [][]string {
	rows := [][]string{}
	for _, s := range splits {
		r := []string{s.Job, s.Table, s.Split, nullText, nullText, string(s.State), nullText, nullText}
		if s.Split == "" {
			r[2], r[5] = nullText, "no split"
			if s.Blocked { // it has, but was stopped before it could tell
				r[5] = string(SplitActive)
			}
		}
		if s.Watermark != nil {
			r[3] = timestampText(s.Watermark.UnixMicro(), time.UTC)
			r[4] = (time.Duration(*s.LagMs) * time.Millisecond).String()
		}
		if s.Blocked {
			r[5] += ", waits for its sink"
		}
		if s.LastRow != nil {
			r[6] = timestampText(s.LastRow.UnixMicro(), time.UTC)
		}
		if s.Holds != nil {
			r[7] = strings.ToUpper(strconv.FormatBool(*s.Holds))
		}
		rows = append(rows, r)
	}
	return rows
}

// WatermarkTable gives the splits as the table of SHOW WATERMARKS: NULL is empty.
func WatermarkTable(splits []SplitWatermark) (columns []string, rows [][]string) {
	rows = watermarkRows(splits)
	for _, r := range rows {
		for i := range r {
			if r[i] == nullText {
				r[i] = ""
			}
		}
	}
	return watermarkColumns, rows
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
