package shell

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/weir-sql/weir"
)

// Runner runs statements and prints what they give: results to Out, everything else to Err. Its methods are for one goroutine, but for Status.
type Runner struct {
	DB     *weir.DB
	Writer WriterOptions
	Out    io.Writer
	Err    io.Writer
	// Quiet leaves out warnings and summaries.
	Quiet bool
	// ContinueOnError goes on behind a failed statement; the exit status is 1 all the same.
	ContinueOnError bool
	// Interactive: ok is printed for statements without a result, and unbounded INSERTs belong to the session and not to the script.
	Interactive bool
	// Timing prints how long each statement took.
	Timing bool
	// Progress: Err is a terminal, on which a line may say what a running statement has read so far.
	Progress bool

	// Limit is how many rows of a bounded result are printed unless Writer.MaxRows says less; 0 for all. Unlike MaxRows it is meant for a person.
	Limit int64

	stopNote time.Duration // how long a job may take to stop before that is told; 0 for a second

	mu    sync.Mutex // of what is printed while a statement runs
	shown bool       // there is a progress line
	told  bool       // the note on changes has been printed
	jobs  []*background
	// stats has an entry for each statement; those of jobs are filled when they end.
	stats []*StatementStats
}

// background is an unbounded INSERT that runs on.
type background struct {
	job   *weir.Job
	entry *StatementStats
	told  chan struct{} // closed when the job has ended and its failure has been told
}

// source is the text that a statement comes from, and its file.
type source struct{ text, name string }

// StatementStats is the entry of one statement in the file of --stats.
type StatementStats struct {
	File      string  `json:"file,omitempty"`
	Line      int     `json:"line"`
	Statement string  `json:"statement"`
	Error     string  `json:"error,omitempty"`
	WallMs    float64 `json:"wall_ms"`
	// Watermark is the lowest of those that the tables reached, empty when none has one.
	Watermark string `json:"watermark,omitempty"`
	weir.Stats
}

// Exit statuses of the command line.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitInterrupted = 130
)

var (
	// errClosed says that nobody reads the output any more.
	errClosed = errors.New("the output was closed")
	// errStopped says that a statement was interrupted and stopped in order.
	errStopped = errors.New("stopped")
)

func isClosed(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, errClosed)
}

// RunScript runs all statements of a script in order and waits for what it started. name is its file name, for messages. It returns the exit status.
// When ctx ends what runs is stopped in order.
func (r *Runner) RunScript(ctx context.Context, text, name string) int {
	text = strings.TrimPrefix(text, "\ufeff")
	script := weir.Split(text)
	status := ExitOK
	for i, st := range script.Statements {
		err := r.run(ctx, context.Background(), st, source{text, name})
		switch {
		case err == nil:
			continue
		case isClosed(err):
			return r.closed(len(script.Statements) - i - 1)
		case errors.Is(err, errStopped):
			r.stopJobs()
			return ExitInterrupted
		}
		r.PrintError(place(st, err), text, name)
		status = ExitFailed
		if !r.ContinueOnError {
			r.stopJobs()
			return status
		}
	}
	if script.Open == "in comment" && !script.Unfinished {
		r.PrintError(&weir.Error{Code: "WEIR-1001", Msg: "the comment that begins here has no end", Hint: "close it with */", Line: script.OpenLine, Column: script.OpenColumn,
			Offset: len(text), End: len(text)}, text, name)
		status = ExitFailed
	}
	return max(status, r.WaitJobs(ctx))
}

// closed ends a script whose reader has gone: in silence when nothing is left to do.
func (r *Runner) closed(left int) int {
	n := len(r.jobs)
	r.stopJobs()
	if left == 0 && n == 0 {
		return ExitOK
	}
	r.note(fmt.Sprintf("the output was closed: %d %s not run, %d %s stopped", left, plural(int64(left), "statement"), n, plural(int64(n), "job")))
	return ExitFailed
}

// PrintError prints an error with its place in the text.
func (r *Runner) PrintError(err error, text, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.erase()
	var e *weir.Error
	if errors.As(err, &e) {
		fmt.Fprint(r.Err, "error: "+e.Render(text, name))
		return
	}
	fmt.Fprintf(r.Err, "error: %v\n", err)
}

// place gives an error of a statement its place in the script: that of the statement when it has none of its own.
func place(st weir.Statement, err error) error {
	var e *weir.Error
	if !errors.As(err, &e) || e.Line > 0 {
		return st.Place(err)
	}
	at := *e
	at.Line, at.Column, at.Offset = st.Line, st.Column, st.Offset
	word := strings.IndexFunc(st.Text, unicode.IsSpace)
	if word < 0 {
		word = len(st.Text)
	}
	at.End = st.Offset + word
	return &at
}

// RunStatement runs one statement and waits for it, unless it is an INSERT without an end. When ctx ends the statement is stopped in order. Positions in
// its error are those of the statement's own text.
func (r *Runner) RunStatement(ctx context.Context, st weir.Statement) error {
	return r.run(ctx, context.Background(), st, source{})
}

// run runs one statement. The end of soft stops it in order, that of hard at once; either gives errStopped.
func (r *Runner) run(soft, hard context.Context, st weir.Statement, from source) (err error) {
	if soft.Err() != nil {
		return errStopped
	}
	began := time.Now()
	entry := &StatementStats{File: from.name, Statement: firstLine(weir.HideSecrets(st.Text)), Line: st.Line}
	r.stats = append(r.stats, entry)
	defer func() {
		wall := time.Since(began)
		entry.WallMs = float64(wall.Microseconds()) / 1000
		if err != nil {
			entry.Error = err.Error()
		}
		if r.Timing && err == nil {
			fmt.Fprintf(r.Err, "Time: %s\n", wall.Round(10*time.Microsecond))
		}
	}()

	// Planning is given up at once; what runs then is stopped in order.
	ctx, cancel := context.WithCancel(hard)
	defer cancel()
	detach := context.AfterFunc(soft, cancel)
	res, err := r.DB.ExecuteWith(ctx, st.Text, weir.ExecOptions{Background: true})
	if !detach() && err != nil {
		return errStopped
	}
	if err != nil {
		return err
	}
	defer func() {
		if err == nil && soft.Err() != nil { // what was begun has been stopped in order, and said so
			err = errStopped
		}
	}()
	for _, n := range res.Notes {
		r.warn(st, n)
	}
	switch {
	case res.Query != nil && res.Query.Job() == nil:
		n, err := r.Print(res.Query)
		if err == nil && n == 0 && r.Interactive {
			r.note("0 rows")
		}
		return err
	case res.Query != nil:
		return r.runQuery(soft, hard, res.Query, entry, began)
	case res.Job != nil:
		return r.runInsert(soft, hard, res.Job, entry, began, func(err error) { r.PrintError(place(st, err), from.text, from.name) })
	case r.Interactive:
		r.note("ok")
	}
	return nil
}

// runQuery prints a running SELECT.
func (r *Runner) runQuery(soft, hard context.Context, q *weir.Query, entry *StatementStats, began time.Time) error {
	job := q.Job()
	if q.Updating() && !q.Bounded() && strings.EqualFold(r.DB.Config()["weir.result-mode"], "table") {
		r.note("the result has no end: its changelog is printed, not the table ('weir.result-mode' = 'table')")
	}
	defer r.stopWith(soft, hard, job)()
	unwatch := r.watchStalls(job, r.note)
	n, err := r.Print(q)
	unwatch()
	entry.Stats, entry.Watermark = job.Stats(), watermarkOf(job.Stats())
	head := fmt.Sprintf("%d %s", n, plural(n, "row"))
	if soft.Err() != nil {
		head, err = "stopped: "+head, errors.Join(err, errStopped)
		if !isClosed(err) {
			err = errStopped
		}
	}
	if err == nil || errors.Is(err, errStopped) {
		r.note(summary(head, entry.Stats, time.Since(began)))
	}
	if err == nil && n > 0 && !r.told && (r.Writer.Format == "" || r.Writer.Format == "table") && q.Updating() && q.Bounded() &&
		!strings.EqualFold(r.DB.Config()["weir.result-mode"], "table") {
		r.told = true
		r.note("these are changes (+I, -U, +U, -D); SET 'weir.result-mode' = 'table' shows the final table")
	}
	return err
}

// runInsert waits for an INSERT that has an end, and remembers one that has none. failed prints an error of the latter, whatever runs then.
func (r *Runner) runInsert(soft, hard context.Context, job *weir.Job, entry *StatementStats, began time.Time, failed func(error)) error {
	if soft.Err() == nil && !job.Bounded() && !strings.EqualFold(r.DB.Config()["table.dml-sync"], "true") {
		b := &background{job: job, entry: entry, told: make(chan struct{})}
		r.jobs = append(r.jobs, b)
		if r.Interactive {
			r.note(fmt.Sprintf("job %s runs in the background: %s (\\jobs lists, \\stop %s stops it)", job.ID(), job.Name(), job.ID()))
			close(b.told)
			return nil
		}
		unwatch := r.watchStalls(job, func(note string) { r.note(job.Name() + ": " + note) })
		go func() {
			defer close(b.told)
			<-job.Done()
			unwatch()
			if job.State() == weir.JobFailed {
				failed(job.Err())
			}
		}()
		return nil
	}
	defer r.stopWith(soft, hard, job)()
	unwatch := r.watchStalls(job, r.note)
	stop := r.watch(job, nil)
	err := job.Wait(context.Background())
	stop()
	unwatch()
	s := job.Stats()
	entry.Stats, entry.Watermark = s, watermarkOf(s)
	head := written(job.State(), s.RowsOut)
	if soft.Err() != nil {
		head, err = "stopped: "+head, errStopped
	}
	if err == nil || errors.Is(err, errStopped) {
		r.note(summary(head, s, time.Since(began)))
	}
	return err
}

// stopTimeout is how long a job may take to stop in order before it is ended at once.
const stopTimeout = 10 * time.Second

// stopWith stops a job in order when soft ends, and at once when hard does, until the function that it returns is called.
func (r *Runner) stopWith(soft, hard context.Context, job *weir.Job) func() {
	a := context.AfterFunc(soft, func() { r.stopJob(job) })
	b := context.AfterFunc(hard, func() { job.Cancel() })
	return func() { a(); b() }
}

// stopJob stops a job in order: what it has read is worked off and committed, windows stay open. It says so when that takes a while.
func (r *Runner) stopJob(job *weir.Job) {
	told := make(chan struct{})
	slow := time.AfterFunc(cmp.Or(r.stopNote, time.Second), func() {
		defer close(told)
		r.note(fmt.Sprintf("%s is still stopping: what it has read is worked off and committed first; after %s it is ended", job.Name(), stopTimeout))
	})
	defer func() {
		if !slow.Stop() {
			<-told // before the job's summary
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if snap, err := job.Stop(ctx); err == nil {
		snap.Release()
	}
	job.Cancel()
}

// WaitJobs waits for the INSERTs that run on and prints their summaries.
func (r *Runner) WaitJobs(ctx context.Context) int {
	status := ExitOK
	for len(r.jobs) > 0 {
		b := r.jobs[0]
		stop := r.watch(b.job, nil)
		err := b.job.Wait(ctx)
		stop()
		if ctx.Err() != nil {
			r.stopJobs()
			return ExitInterrupted
		}
		r.jobs = r.jobs[1:]
		r.endJob(b)
		if err != nil {
			status = ExitFailed
		}
	}
	return status
}

// stopJobs stops the INSERTs that run on, all at a time, and prints their summaries.
func (r *Runner) stopJobs() {
	var wg sync.WaitGroup
	for _, b := range r.jobs {
		wg.Go(func() { r.stopJob(b.job) })
	}
	wg.Wait()
	for _, b := range r.jobs {
		r.endJob(b)
	}
	r.jobs = nil
}

// endJob prints the summary of a job that has ended.
func (r *Runner) endJob(b *background) {
	<-b.told
	j, entry := b.job, b.entry
	s := j.Stats()
	entry.Stats, entry.Watermark = s, watermarkOf(s)
	if err := j.Err(); err != nil {
		entry.Error = err.Error()
	}
	r.note(summary(j.Name()+": "+written(j.State(), s.RowsOut), s, 0))
}

// written tells how many rows an INSERT has written. One that has failed, or was ended at once, has given them to its sink only: what a sink has not
// committed may be missing.
func written(state weir.JobState, n int64) string {
	rows := fmt.Sprintf("%d %s", n, plural(n, "row"))
	if state == weir.JobFailed || state == weir.JobCanceled {
		return fmt.Sprintf("%s: %s given to the sink, of which those since its last commit may be missing", state, rows)
	}
	return rows + " written"
}

// Close stops what still runs.
func (r *Runner) Close() { r.stopJobs() }

// WriteStats writes the figures of every statement as JSON.
func (r *Runner) WriteStats(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	list := r.stats
	if list == nil {
		list = []*StatementStats{}
	}
	return enc.Encode(struct {
		Statements []*StatementStats `json:"statements"`
	}{list})
}

func (r *Runner) note(s string) {
	if !r.Quiet && s != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.erase()
		fmt.Fprintln(r.Err, s)
	}
}

// warn prints a note of the planner.
func (r *Runner) warn(st weir.Statement, n weir.Note) {
	s := "warning: " + n.Msg
	var e *weir.Error
	if errors.As(st.Place(n.Error()), &e) && e.Line > 0 {
		s = fmt.Sprintf("warning: line %d, column %d: %s", e.Line, e.Column, n.Msg)
	}
	if n.Hint != "" {
		s += "; " + n.Hint
	}
	r.note(s)
}

// summary says in words what happened to rows on their way, beside the result.
func summary(head string, s weir.Stats, wall time.Duration) string {
	parts := []string{head}
	if wall > 0 {
		parts[0] += fmt.Sprintf(" in %.3f s", wall.Seconds())
	}
	var nulls, lost int64
	for _, t := range s.Tables {
		nulls, lost = nulls+t.Counters["null_messages"], lost+t.Counters["lost_offsets"]
	}
	for _, f := range []struct {
		n            int64
		what, behind string
	}{{s.LateRows, "late row", ""}, {s.PartlyLateRows, "partly late row", ""}, {s.BadRows, "bad record", ""}, {s.NullTimeRows, "row", " without event time"},
		{s.FutureRows, "future row", ""}, {s.StrayRetractions, "stray retraction", ""}, {nulls, "message", " without a value"}, {lost, "lost offset", ""}} {
		if f.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s%s", f.n, plural(f.n, f.what), f.behind))
		}
	}
	return strings.Join(parts, "; ")
}

func plural(n int64, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

func firstLine(s string) string {
	line, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if more || len(line) > 200 {
		return cut(strings.TrimRight(line, "\r"), 200) + " …"
	}
	return line
}
