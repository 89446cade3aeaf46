package weir

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/exec/task"
)

// MetricDesc describes a metric of the running queries.
type MetricDesc struct {
	Name    string
	Counter bool // only grows while its query runs; otherwise a gauge
	Labels  []string
	Doc     string
}

// Metric is one figure: Labels has the values of the description's labels, in their order.
type Metric struct {
	Name   string
	Labels []string
	Value  float64
}

// Label sets. query is the id of SHOW JOBS; table, split, operator and holder are as SHOW WATERMARKS and EXPLAIN name them.
var (
	queryLabels    = []string{"query"}
	tableLabels    = []string{"query", "table", "operator"}
	splitLabels    = []string{"query", "table", "operator", "split"}
	operatorLabels = []string{"query", "operator"}
	holderLabels   = []string{"query", "holder"}
)

// metricDescs lists all metrics; docs/watermarks.md has the same table.
var metricDescs = []MetricDesc{
	{"weir_queries", false, nil, "queries that run"},
	{"weir_queries_ended_total", true, []string{"state"}, "queries that have ended: finished, failed, canceled"},
	{"weir_query_info", false, []string{"query", "name"}, "1; tells the name of a query"},
	{"weir_query_start_time_seconds", false, queryLabels, "when it was started, seconds since 1970"},
	{"weir_query_rows_in_total", true, queryLabels, "rows read from all tables"},
	{"weir_query_rows_out_total", true, queryLabels, "rows given as result, or written to all sinks"},
	{"weir_query_watermark_seconds", false, queryLabels, "lowest watermark of its active splits, or of its tables when all are silent, seconds since 1970; absent before the first"},
	{"weir_query_watermark_lag_seconds", false, queryLabels, "how far that is behind processing time"},
	{"weir_query_memory_bytes", false, queryLabels, "memory that it holds: state, inboxes, blocks read"},
	{"weir_query_memory_limit_bytes", false, queryLabels, "weir.memory.limit"},
	{"weir_memory_bytes", false, holderLabels, "memory that an operator or table holds"},
	{"weir_table_rows_total", true, tableLabels, "rows read"},
	{"weir_table_bad_rows_total", true, tableLabels, "records that could not be read and were skipped or kept aside"},
	{"weir_table_null_time_rows_total", true, tableLabels, "rows without event time"},
	{"weir_table_future_rows_total", true, tableLabels, "rows further ahead than 'scan.watermark.max-future'"},
	{"weir_table_blocked", false, tableLabels, "1 when the table waits for the query's sink"},
	{"weir_connector_events_total", true, []string{"query", "operator", "event"}, "what a table's connector counts beside rows: of Kafka broker_errors, null_messages, lost_offsets, commits, ...; absent before the first"},
	{"weir_split_rows_total", true, splitLabels, "rows read from the split"},
	{"weir_split_watermark_seconds", false, splitLabels, "its watermark, seconds since 1970 (Flink: currentWatermark); absent before the first"},
	{"weir_split_watermark_lag_seconds", false, splitLabels, "how far that is behind processing time"},
	{"weir_split_last_row_seconds", false, splitLabels, "processing time of its last row, seconds since 1970; absent before the first"},
	{"weir_split_idle", false, splitLabels, "1 when it is idle: silent for the idle timeout, without a say"},
	{"weir_split_paused", false, splitLabels, "1 when alignment has paused it"},
	{"weir_split_holds_watermark", false, splitLabels, "1 when windows wait for it"},
	{"weir_split_alignment_drift_seconds", false, splitLabels, "how far it is ahead of its group's slowest (Flink: alignmentDriftFromGroupMin); of aligned tables"},
	{"weir_split_alignment_pauses_total", true, splitLabels, "how often alignment has paused it (Flink: numberOfAlignmentPauseEvents)"},
	{"weir_split_alignment_paused_seconds_total", true, splitLabels, "for how long in all (Flink: accumulatedPauseDuration)"},
	{"weir_operator_rows_in_total", true, operatorLabels, "rows that an operator or sink has taken"},
	{"weir_operator_rows_out_total", true, operatorLabels, "rows that an operator has given"},
	{"weir_operator_late_rows_total", true, operatorLabels, "rows that were late for all their windows (Flink: numLateRecordsDropped)"},
	{"weir_operator_partly_late_rows_total", true, operatorLabels, "rows that have missed some of their windows"},
	{"weir_operator_null_time_rows_total", true, operatorLabels, "rows without event time that a window has left out"},
	{"weir_operator_stray_retractions_total", true, operatorLabels, "changes of rows that were never there"},
	{"weir_operator_state_rows", false, operatorLabels, "groups and rows in keyed state, of operators that count them"},
}

// MetricDescs lists the metrics that DB.Metrics gives.
func MetricDescs() []MetricDesc { return slices.Clone(metricDescs) }

// Metrics returns the figures of the queries that run. It stops none of them.
func (db *DB) Metrics(ctx context.Context) []Metric {
	jobs, sights := db.sights(ctx)
	out := []Metric{{"weir_queries", nil, float64(len(jobs))}}
	db.mu.Lock()
	for _, s := range []JobState{JobFinished, JobFailed, JobCanceled} {
		out = append(out, Metric{"weir_queries_ended_total", []string{string(s)}, float64(db.ended[s])})
	}
	db.mu.Unlock()
	for i, j := range jobs {
		out = j.metrics(out, sights[i])
	}
	return out
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

func (j *Job) metrics(out []Metric, at task.Sight) []Metric {
	add := func(name string, value float64, labels ...string) {
		out = append(out, Metric{name, append([]string{j.id}, labels...), value})
	}
	count := func(counters map[string]int64, name, metric string, labels ...string) {
		if n, ok := counters[name]; ok {
			add(metric, float64(n), labels...)
		}
	}
	add("weir_query_info", 1, j.name)
	add("weir_query_start_time_seconds", unixSeconds(j.started))
	st := j.Stats()
	add("weir_query_rows_in_total", float64(st.RowsIn))
	add("weir_query_rows_out_total", float64(st.RowsOut))
	splits := j.splits(at)
	lowest := -1
	for i, s := range splits {
		if s.Holds != nil && *s.Holds && (lowest < 0 || s.mark < splits[lowest].mark) {
			lowest = i
		}
	}
	if lowest >= 0 && splits[lowest].Watermark != nil {
		add("weir_query_watermark_seconds", unixSeconds(*splits[lowest].Watermark))
		add("weir_query_watermark_lag_seconds", float64(*splits[lowest].LagMs)/1000)
	}
	if lowest < 0 { // nobody has a say: the watermark stays where it is
		stays := slices.DeleteFunc(slices.Clone(at.Sources), func(s task.SourceStats) bool {
			return !s.Timed || s.Watermark == stream.MinTime || s.Watermark == stream.MaxTime
		})
		if len(stays) > 0 {
			s := slices.MinFunc(stays, func(a, b task.SourceStats) int { return cmp.Compare(a.Watermark, b.Watermark) })
			t := time.UnixMicro(int64(s.Watermark)).UTC()
			add("weir_query_watermark_seconds", unixSeconds(t))
			add("weir_query_watermark_lag_seconds", wallClock(j.db.opts.Clock.Now(), s.Zone).Sub(t).Seconds())
		}
	}
	add("weir_query_memory_bytes", float64(j.budget.Used()))
	add("weir_query_memory_limit_bytes", float64(j.memoryLimit))
	held := map[string]int64{}
	var holders []string
	for _, a := range j.budget.Holders() { // those of several partitions have one name
		if _, ok := held[a.Owner()]; !ok {
			holders = append(holders, a.Owner())
		}
		held[a.Owner()] += a.Used()
	}
	slices.Sort(holders)
	for _, h := range holders {
		add("weir_memory_bytes", float64(held[h]), tableName(h))
	}
	for _, t := range st.Tables {
		c := t.Counters
		if t.Table != "" || t.sink {
			for _, event := range slices.Sorted(maps.Keys(c)) {
				if !slices.Contains(exec.Counters, event) {
					add("weir_connector_events_total", float64(c[event]), t.ID, event)
				}
			}
		}
		if table := t.Table; table != "" {
			count(c, exec.RowsIn, "weir_table_rows_total", table, t.ID)
			add("weir_table_bad_rows_total", float64(c[exec.BadRows]), table, t.ID)
			add("weir_table_null_time_rows_total", float64(c[exec.NullTimeRows]), table, t.ID)
			add("weir_table_future_rows_total", float64(c[exec.FutureRows]), table, t.ID)
			add("weir_table_blocked", flag(at.Blocked[t.ID]), table, t.ID)
			continue
		}
		count(c, exec.RowsIn, "weir_operator_rows_in_total", t.ID)
		count(c, exec.RowsOut, "weir_operator_rows_out_total", t.ID)
		if strings.HasSuffix(t.Name, "WindowAggregate") { // from the beginning, with 0: what a counter begins with is no increase
			for _, name := range []string{exec.LateRows, exec.PartlyLateRows, exec.NullTimeRows} {
				c[name] = max(c[name], 0)
			}
		}
		count(c, exec.LateRows, "weir_operator_late_rows_total", t.ID)
		count(c, exec.PartlyLateRows, "weir_operator_partly_late_rows_total", t.ID)
		count(c, exec.NullTimeRows, "weir_operator_null_time_rows_total", t.ID)
		count(c, exec.StrayRetracts, "weir_operator_stray_retractions_total", t.ID)
		if o, ok := at.Operators[t.ID]; ok {
			add("weir_operator_state_rows", float64(o.StateRows), t.ID)
		}
	}
	for _, s := range splits {
		if s.Split == "" {
			continue
		}
		l := []string{s.Table, s.Operator, s.Split}
		add("weir_split_rows_total", float64(s.Rows), l...)
		add("weir_split_idle", flag(s.State == SplitIdle), l...)
		if s.LastRow != nil {
			add("weir_split_last_row_seconds", unixSeconds(*s.LastRow), l...)
		}
		if !s.timed {
			continue
		}
		if s.Watermark != nil {
			add("weir_split_watermark_seconds", unixSeconds(*s.Watermark), l...)
			add("weir_split_watermark_lag_seconds", float64(*s.LagMs)/1000, l...)
		}
		add("weir_split_holds_watermark", flag(*s.Holds), l...)
		add("weir_split_paused", flag(s.State == SplitPaused), l...)
		if s.DriftMs != nil {
			add("weir_split_alignment_drift_seconds", float64(*s.DriftMs)/1000, l...)
			add("weir_split_alignment_pauses_total", float64(s.Pauses), l...)
			add("weir_split_alignment_paused_seconds_total", float64(s.PausedMs)/1000, l...)
		}
	}
	return out
}
