package weir

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/build"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/exec/task"
	"github.com/weir-sql/weir/planner/physical"
	"github.com/weir-sql/weir/types"
)

// JobState says what a job does.
type JobState string

// The states of a job.
const (
	JobRunning  JobState = "running"
	JobFinished JobState = "finished" // all input was worked off, or the job was stopped
	JobFailed   JobState = "failed"
	JobCanceled JobState = "canceled"
)

// Job is a running statement: an INSERT, a statement set, or the SELECT behind a Query. Its methods may be called from any goroutine.
type Job struct {
	db          *DB
	id          string
	name        string
	sql         string
	columns     types.Schema // of a SELECT
	bounded     bool
	started     time.Time
	budget      *exec.Budget
	memoryLimit int64
	// What looking in knows of the plan: for each result the ids of the scans that it waits for; what tables declare, by the scan's id; the operators.
	roots     []map[string]bool
	tables    map[string]tableFacts
	operators []string
	feeds     map[string]map[string]bool // by operator, the scans before it
	named     map[string]string          // by local phase that judges late rows, the aggregate's name in a NAME hint
	sources   map[string]string          // the names of tables, by id of the source
	job       *task.Job
}

// start builds the plan and starts it.
func (j *Job) start(ctx context.Context, plan *physical.Plan, o ExecOptions, q *Query) error {
	config := j.db.Config()
	limit, err := memoryLimit(config)
	if err != nil {
		return err
	}
	j.budget, j.memoryLimit = exec.NewBudget(limit), limit
	j.learn(plan)
	g, err := j.db.graph(plan, config, &deliver{q: q, take: o.OnBatch})
	if err != nil {
		return err
	}
	j.sources = map[string]string{}
	for _, t := range g.Tasks {
		if t.Source != nil {
			j.sources[t.Source.ID] = t.Source.Table
		}
	}
	to := j.db.taskOptions(j.sql, config, j.budget)
	// A statement that is waited for moves a virtual clock to its next timer whenever it has nothing else to do.
	to.Jump = o.RequireBounded
	to.CheckpointAfterRows, to.StopAfterRows = o.StopAfterRows, o.StopAfterRows > 0
	if o.Restore != nil {
		to.Restore = o.Restore.snap
	}
	// The job outlives the call that starts it, except when somebody waits for it right there: Close, Cancel and Wait end it.
	j.started = j.db.opts.Clock.Now()
	j.db.mu.Lock()
	j.db.lastID++
	j.id = strconv.FormatInt(j.db.lastID, 10)
	closed := j.db.closed
	j.db.mu.Unlock()
	if closed {
		return newError("WEIR-3006", "the session is closed", "")
	}
	if j.job, err = task.Start(context.WithoutCancel(ctx), g, to); err != nil {
		return err
	}
	j.db.mu.Lock()
	j.db.jobs[j.id] = j
	j.db.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		if q != nil {
			go j.job.Cancel()
		}
	})
	go func() {
		<-j.job.Done()
		stop()
		j.db.mu.Lock()
		delete(j.db.jobs, j.id)
		j.db.ended[j.State()]++
		j.db.mu.Unlock()
	}()
	return nil
}

// graph makes the tasks of a plan whose result goes to result.
func (db *DB) graph(plan *physical.Plan, config map[string]string, result connectors.Sink) (*task.Graph, error) {
	_, database := db.catalogs.Current()
	config["database"] = database // for CURRENT_DATABASE()
	return build.Graph(plan, build.Options{
		Config: config, Zone: db.Zone(), Clock: db.opts.Clock, Allocator: db.allocator, Database: database, Generators: db.watermarkGenerators(),
		Collect: func(*physical.Collect) (connectors.Sink, error) { return result, nil },
	})
}

func (db *DB) taskOptions(sql string, config map[string]string, budget *exec.Budget) task.Options {
	return task.Options{
		Query: firstLine(HideSecrets(sql)), Allocator: db.allocator, Clock: db.opts.Clock, Log: db.opts.Log, Zone: db.Zone(),
		BatchRows: atoi(config["weir.batch-size"]), Threads: threads(config), Budget: budget, Config: config,
		Stdin: db.opts.Stdin, Stdout: db.opts.Stdout, Stderr: db.opts.Stderr,
	}
}

// ErrEnded says that a job ended before what was asked of it could be done.
var ErrEnded = task.ErrEnded

// ID identifies the job in its session.
func (j *Job) ID() string { return j.id }

// Name is what the job does, as Flink names it: insert-into_catalog.database.table, or collect.
func (j *Job) Name() string { return j.name }

// Columns returns the columns of a SELECT's result.
func (j *Job) Columns() Schema { return j.columns }

// Bounded reports whether the job ends by itself.
func (j *Job) Bounded() bool { return j.bounded }

// Done is closed when the job has ended.
func (j *Job) Done() <-chan struct{} { return j.job.Done() }

// Finished reports whether the job has ended, in whatever way.
func (j *Job) Finished() bool {
	select {
	case <-j.job.Done():
		return true
	default:
		return false
	}
}

// Wait waits until the job has ended and returns why: nil when all input was worked off or the job was stopped.
func (j *Job) Wait(ctx context.Context) error {
	select {
	case <-j.job.Done():
		return j.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Err returns why the job ended; nil while it runs and when it ended in order.
func (j *Job) Err() error {
	if !j.Finished() {
		return nil
	}
	return asError(j.job.Wait())
}

// State says what the job does.
func (j *Job) State() JobState {
	if !j.Finished() {
		return JobRunning
	}
	switch err := j.job.Wait(); {
	case err == nil:
		return JobFinished
	case errors.Is(err, context.Canceled):
		return JobCanceled
	}
	return JobFailed
}

// Cancel ends the job at once, without closing windows, and waits until nothing of it is left. It returns nil: a job that ended before stays as it is.
func (j *Job) Cancel() error {
	j.job.Cancel()
	return nil
}

// Sync waits until every source has nothing to read right now and all that was read has reached the result. A row that was just sent into a Go channel
// may still be on its way to the source.
func (j *Job) Sync(ctx context.Context) error {
	err := j.job.Marker(ctx)
	if err != nil && j.Finished() {
		return nil
	}
	return err
}

// Snapshot is the state of a job at one point of its input: what ExecOptions.Restore takes. It holds memory until Release.
type Snapshot struct{ snap *task.Snapshot }

// Release gives the memory back. A job that was restored from the snapshot does not need it any more.
func (s *Snapshot) Release() { s.snap.Release() }

// Checkpoint takes a snapshot of the running job.
func (j *Job) Checkpoint(ctx context.Context) (*Snapshot, error) {
	s, err := j.job.Checkpoint(ctx)
	if err != nil {
		return nil, asError(err)
	}
	return &Snapshot{s}, nil
}

// Stop takes a snapshot and ends the job behind it, without closing windows.
func (j *Job) Stop(ctx context.Context) (*Snapshot, error) {
	s, err := j.job.Stop(ctx)
	if err != nil {
		return nil, asError(err)
	}
	return &Snapshot{s}, nil
}

// Drain ends the job as if its input ended here: nothing more is read, the watermark goes to its end, windows close, sinks commit. It waits for that. What
// comes out is not what later rows would have made of it: go on from a snapshot of Stop, not behind Drain.
func (j *Job) Drain(ctx context.Context) error {
	return asError(j.job.Drain(ctx))
}

// StoppedAt waits for the snapshot of ExecOptions.StopAfterRows. It returns nil when the job ended with fewer rows.
func (j *Job) StoppedAt(ctx context.Context) (*Snapshot, error) {
	s, err := j.job.RowCheckpoint(ctx)
	if err != nil || s == nil {
		return nil, asError(err)
	}
	<-j.job.Done()
	return &Snapshot{s}, nil
}

// Jobs lists the jobs of the session that run, oldest first.
func (db *DB) Jobs() []*Job {
	db.mu.Lock()
	defer db.mu.Unlock()
	out := make([]*Job, 0, len(db.jobs))
	for _, j := range db.jobs {
		if !j.Finished() { // whoever has waited for it need not see it here
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b *Job) int { return atoi(a.id) - atoi(b.id) })
	return out
}

// Stats are the figures of a statement: what became of its rows.
type Stats struct {
	RowsIn           int64        `json:"rows_in"`  // read from all tables
	RowsOut          int64        `json:"rows_out"` // written to all sinks, or given as result
	LateRows         int64        `json:"late_rows"`
	PartlyLateRows   int64        `json:"partly_late_rows"`
	BadRows          int64        `json:"bad_rows"`
	NullTimeRows     int64        `json:"null_time_rows"`
	FutureRows       int64        `json:"future_rows"`
	StrayRetractions int64        `json:"stray_retractions"`
	PeakBytes        int64        `json:"peak_bytes"`      // most memory that one operator held
	PeakStateRows    int64        `json:"peak_state_rows"` // most groups and rows that one operator held in keyed state
	Tables           []TableStats `json:"tables"`
}

// TableStats are the counters of one source, operator or sink.
type TableStats struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Table is the table that a source reads, "" for what is none.
	Table string `json:"table,omitempty"`
	// Watermark is the last one that a table reached before its end (TIMESTAMP(3)), "" before the first.
	Watermark string           `json:"watermark,omitempty"`
	PeakBytes int64            `json:"peak_bytes"` // most memory that it held: state, or blocks read
	Counters  map[string]int64 `json:"counters"`
	sink      bool
}

// Stats returns the figures of the job so far.
func (j *Job) Stats() Stats {
	var s Stats
	peaks := map[string]int64{}
	for _, a := range j.budget.Holders() { // those of the partitions of an operator have one name
		s.PeakBytes = max(s.PeakBytes, a.Peak())
		peaks[a.Owner()] += a.Peak()
	}
	for _, o := range j.job.Counters() {
		s.LateRows += o.Counters[exec.LateRows]
		s.PartlyLateRows += o.Counters[exec.PartlyLateRows]
		s.BadRows += o.Counters[exec.BadRows]
		s.NullTimeRows += o.Counters[exec.NullTimeRows]
		s.FutureRows += o.Counters[exec.FutureRows]
		s.StrayRetractions += o.Counters[exec.StrayRetracts]
		s.PeakStateRows = max(s.PeakStateRows, o.Counters[exec.PeakStateRows])
		switch {
		case o.Sink:
			s.RowsOut += o.Counters[exec.RowsIn]
		case o.Source:
			s.RowsIn += o.Counters[exec.RowsIn]
		}
		t := TableStats{ID: o.ID, Name: o.Name, Counters: o.Counters, sink: o.Sink}
		held := o.Name + " " + o.ID // the name of its account
		if o.Source {
			t.Table = tableName(j.sources[o.ID])
			held = "table " + j.sources[o.ID]
			if us, ok := o.Counters[exec.WatermarkUs]; ok {
				t.Watermark = timestampText(us, time.UTC)
			}
		}
		t.PeakBytes = peaks[held]
		s.Tables = append(s.Tables, t)
	}
	j.underName(s.Tables)
	return s
}

// underName moves what the local phase of an aggregate with a NAME hint has counted of late rows to that name, as late_operator of LATE_ROWS has it.
func (j *Job) underName(tables []TableStats) {
	for _, local := range tables {
		for _, t := range tables {
			if t.ID != j.named[local.ID] {
				continue
			}
			for _, c := range []string{exec.LateRows, exec.PartlyLateRows, exec.NullTimeRows} {
				if n, ok := local.Counters[c]; ok {
					t.Counters[c] += n
					delete(local.Counters, c)
				}
			}
		}
	}
}

// Metric returns one figure as text: late_rows (or late_rows.<operator>), partly_late_rows, bad_rows, null_time_rows, future_rows, stray_retractions,
// rows_in, rows_out, watermark (TIMESTAMP(3), NULL before the first), state_rows, state.
func (j *Job) Metric(ctx context.Context, key string) (string, error) {
	name, operator, _ := strings.Cut(key, ".")
	switch name {
	case "state":
		return string(j.State()), nil
	case "watermark":
		return j.watermarkText(ctx)
	case exec.StateRows:
		st, err := j.job.Stats(ctx)
		if err != nil {
			return "", err
		}
		var n int64
		for _, o := range st.Operators {
			if operator == "" || o.ID == operator {
				n += o.StateRows
			}
		}
		return strconv.FormatInt(n, 10), nil
	}
	known := []string{exec.LateRows, exec.PartlyLateRows, exec.BadRows, exec.NullTimeRows, exec.FutureRows, exec.StrayRetracts, exec.RowsIn, exec.RowsOut}
	if !slices.Contains(known, name) {
		return "", fmt.Errorf("unknown metric %q%s", key, hintOf(name, append(known, "watermark", "state_rows", "state")))
	}
	s := j.Stats()
	var n int64
	switch {
	case operator != "":
		found := false
		for _, t := range s.Tables {
			if t.ID == operator {
				n, found = t.Counters[name], true
			}
		}
		if !found {
			return "", fmt.Errorf("no operator is called %q", operator)
		}
	case name == exec.RowsIn:
		n = s.RowsIn
	case name == exec.RowsOut:
		n = s.RowsOut
	default:
		for _, t := range s.Tables {
			n += t.Counters[name]
		}
	}
	return strconv.FormatInt(n, 10), nil
}

func (j *Job) watermarkText(ctx context.Context) (string, error) {
	wm, ok, err := j.Watermark(ctx)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return "NULL", nil
	}
	return types.Format(types.TimestampVal(wm.UnixMicro()), types.TimestampOf(3), time.UTC), nil
}

// Watermark returns the minimum over the job's sources: no more rows with an event time at or before it will come. ok is false before the first.
func (j *Job) Watermark(ctx context.Context) (wm time.Time, ok bool, err error) {
	st, err := j.job.Stats(ctx)
	if err != nil {
		return time.Time{}, false, err
	}
	lowest := stream.MaxTime
	for _, s := range st.Sources {
		lowest = min(lowest, s.Watermark)
	}
	if lowest == stream.MinTime || lowest == stream.MaxTime {
		return time.Time{}, false, nil
	}
	return time.UnixMicro(int64(lowest)).UTC(), true, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if len(line) > 120 {
		line = line[:120] + "..."
	}
	return line
}
