package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/weir-sql/weir"
)

// Runner runs statements and prints what they give: results to Out, everything else to Err.
type Runner struct {
	DB     *weir.DB
	Writer WriterOptions
	Out    io.Writer
	Err    io.Writer
	// Quiet leaves out warnings and summaries.
	Quiet bool
	// ContinueOnError goes on behind a failed statement; the exit status is 1 all the same.
	ContinueOnError bool
	// Interactive: ok is printed for statements without a result, and INSERTs run on in the background.
	Interactive bool
	// Timing prints how long each statement took.
	Timing bool

	jobs  []*weir.Job // unbounded INSERTs that run on
	stats []StatementStats
}

// StatementStats is the entry of one statement in the file of --stats.
type StatementStats struct {
	Statement string     `json:"statement"`
	Line      int        `json:"line"`
	Error     string     `json:"error,omitempty"`
	WallMs    float64    `json:"wall_ms"`
	Stats     weir.Stats `json:"stats"`
}

// Exit statuses of the command line.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitInterrupted = 130
)

// errClosed says that nobody reads the output any more.
var errClosed = errors.New("the output was closed")

func isClosed(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, errClosed)
}

// RunScript runs all statements of a script in order. name is its file name, for messages. It returns the exit status.
func (r *Runner) RunScript(ctx context.Context, text, name string) int {
	text = strings.TrimPrefix(text, "\ufeff")
	script := weir.Split(text)
	status := ExitOK
	for _, st := range script.Statements {
		err := r.RunStatement(ctx, st)
		if err == nil {
			continue
		}
		if isClosed(err) {
			r.cancelJobs()
			return ExitOK
		}
		if ctx.Err() != nil {
			r.cancelJobs()
			return ExitInterrupted
		}
		r.PrintError(st.Place(err), text, name)
		status = ExitFailed
		if !r.ContinueOnError {
			r.cancelJobs()
			return status
		}
	}
	if s := r.WaitJobs(ctx); s != ExitOK {
		status = s
	}
	return status
}

// PrintError prints an error with its place in the text.
func (r *Runner) PrintError(err error, text, name string) {
	var e *weir.Error
	if errors.As(err, &e) {
		fmt.Fprint(r.Err, "error: "+e.Render(text, name))
		return
	}
	fmt.Fprintf(r.Err, "error: %v\n", err)
}

// RunStatement runs one statement; positions in its error are those of the statement's own text.
func (r *Runner) RunStatement(ctx context.Context, st weir.Statement) (err error) {
	began := time.Now()
	entry := StatementStats{Statement: firstLine(st.Text), Line: st.Line}
	defer func() {
		entry.WallMs = float64(time.Since(began).Microseconds()) / 1000
		if err != nil {
			entry.Error = err.Error()
		}
		r.stats = append(r.stats, entry)
		if r.Timing && err == nil {
			fmt.Fprintf(r.Err, "Time: %.3f ms\n", entry.WallMs)
		}
	}()
	res, err := r.DB.ExecuteWith(ctx, st.Text, weir.ExecOptions{Background: r.Interactive})
	if err != nil {
		return err
	}
	for _, w := range res.Warnings {
		r.note("warning: " + w)
	}
	switch {
	case res.Query != nil:
		n, err := r.Print(res.Query)
		if job := res.Query.Job(); job != nil {
			entry.Stats = job.Stats()
			r.note(summary(fmt.Sprintf("%d %s", n, plural(n, "row")), entry.Stats, time.Since(began)))
			if err == nil && ctx.Err() != nil {
				return ctx.Err()
			}
		}
		return err
	case res.Job != nil && !res.Job.Finished():
		r.jobs = append(r.jobs, res.Job)
		if r.Interactive {
			fmt.Fprintf(r.Err, "job %s runs on: %s\n", res.Job.ID(), res.Job.Name())
		}
	case res.Job != nil:
		entry.Stats = res.Job.Stats()
		r.note(summary(fmt.Sprintf("%d %s written", res.RowCount, plural(res.RowCount, "row")), entry.Stats, time.Since(began)))
	case r.Interactive:
		fmt.Fprintln(r.Err, "ok")
	}
	return nil
}

// Print prints a result and returns its number of rows.
func (r *Runner) Print(q *weir.Query) (rows int64, err error) {
	defer q.Close()
	options := r.Writer
	options.Zone = q.Zone()
	w, err := newWriter(r.Out, options)
	if err != nil {
		return 0, err
	}
	if t, ok := w.(*tableWriter); ok && !q.Bounded() {
		t.stream()
	}
	if err := w.begin(q.Columns(), q.Updating()); err != nil {
		return 0, err
	}
	for b, err := range q.Rows() {
		if err != nil {
			if rows > 0 {
				w.end(rows)
			}
			return rows, err
		}
		cut := b
		n := int64(b.Len())
		if limit := r.Writer.MaxRows; limit > 0 && rows+n > limit {
			n = limit - rows
			cut = firstRows(b, int(n))
		}
		if err := w.batch(cut); err != nil {
			return rows, err
		}
		rows += n
		if r.Writer.MaxRows > 0 && rows >= r.Writer.MaxRows {
			r.note(fmt.Sprintf("stopped behind %d rows (--max-rows)", rows))
			break
		}
	}
	return rows, w.end(rows)
}

// firstRows selects the first n rows of b.
func firstRows(b weir.Batch, n int) weir.Batch {
	sel := make([]int32, n)
	for i := range sel {
		sel[i] = int32(b.Row(i))
	}
	b.Selection = sel
	return b
}

// WaitJobs waits for the INSERTs that run on and prints their summaries.
func (r *Runner) WaitJobs(ctx context.Context) int {
	status := ExitOK
	for _, j := range r.jobs {
		err := j.Wait(ctx)
		switch {
		case ctx.Err() != nil:
			status = ExitInterrupted
			j.Cancel()
		case err != nil:
			r.PrintError(err, "", "")
			status = ExitFailed
		}
		s := j.Stats()
		r.note(summary(fmt.Sprintf("%s: %d %s written", j.Name(), s.RowsOut, plural(s.RowsOut, "row")), s, 0))
	}
	r.jobs = nil
	return status
}

func (r *Runner) cancelJobs() {
	for _, j := range r.jobs {
		j.Cancel()
	}
	r.jobs = nil
}

// Close stops what still runs.
func (r *Runner) Close() { r.cancelJobs() }

// WriteStats writes the figures of every statement as JSON.
func (r *Runner) WriteStats(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Statements []StatementStats `json:"statements"`
	}{r.stats})
}

func (r *Runner) note(s string) {
	if !r.Quiet && s != "" {
		fmt.Fprintln(r.Err, s)
	}
}

// summary says in words what happened to rows on their way, beside the result.
func summary(head string, s weir.Stats, wall time.Duration) string {
	parts := []string{head}
	if wall > 0 {
		parts[0] += fmt.Sprintf(" in %.3f s", wall.Seconds())
	}
	for _, f := range []struct {
		n    int64
		what string
	}{{s.LateRows, "late row"}, {s.PartlyLateRows, "partly late row"}, {s.BadRows, "bad record"}, {s.NullTimeRows, "row"}, {s.FutureRows, "future row"}, {s.StrayRetractions, "stray retraction"}} {
		if f.n > 0 {
			text := fmt.Sprintf("%d %s", f.n, plural(f.n, f.what))
			if f.what == "row" {
				text += " without event time"
			}
			parts = append(parts, text)
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
		return cut(line, 200) + " …"
	}
	return line
}
