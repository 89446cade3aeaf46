package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/weir-sql/weir"
)

// Print prints a result and returns its number of rows.
func (r *Runner) Print(q *weir.Query) (rows int64, err error) {
	defer q.Close()
	o := r.Writer
	o.Zone = r.DB.Zone()
	w, err := newWriter(r.Out, o)
	if err != nil {
		return 0, err
	}
	if t, ok := w.(*tableWriter); ok && !q.Bounded() {
		t.stream()
	}
	stop := r.watch(q.Job(), w)
	defer stop()
	// locked prints something while the progress line is out of the way.
	locked := func(f func() error) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.erase()
		return f()
	}
	if err := locked(func() error { return w.begin(q.Columns(), q.Updating()) }); err != nil {
		return 0, err
	}
	limit := r.Writer.MaxRows
	if l := r.Limit; l > 0 && q.Bounded() && (limit == 0 || l < limit) {
		limit = l
	}
	more := false
	for b, err := range q.Rows() {
		if err != nil {
			if rows > 0 {
				_ = locked(func() error { return w.end(rows) })
			}
			return rows, err
		}
		n := int64(b.Len())
		if limit > 0 && rows+n > limit {
			n = limit - rows
			more = true
			b = firstRows(b, int(n))
		}
		if rows == 0 && q.Job() == nil && isText(b, w) {
			return n, r.printText(b, w.(*tableWriter))
		}
		if err := locked(func() error { return w.batch(b) }); err != nil {
			return rows, err
		}
		rows += n
		// An endless result may never say whether there are more.
		if more = more || limit > 0 && rows == limit && !q.Bounded(); more {
			break
		}
	}
	stop()
	if err := w.end(rows); err != nil {
		return rows, err
	}
	if more {
		how := "--max-rows"
		if limit == r.Limit {
			how = "\\limit 0 shows all"
		}
		r.note(fmt.Sprintf("only the first %d rows are shown (%s)", rows, how))
	}
	return rows, nil
}

// isText reports a result that is a text of several lines and not a table: EXPLAIN, SHOW CREATE TABLE.
func isText(b weir.Batch, w rowWriter) bool {
	t, ok := w.(*tableWriter)
	if !ok || t.always || len(t.columns) != 1 {
		return false
	}
	for i := range b.Len() {
		if col := b.Record.Column(0); col.IsNull(b.Row(i)) || !strings.Contains(string(t.raw(b, b.Row(i), 0)), "\n") {
			return false
		}
	}
	return true
}

func (r *Runner) printText(b weir.Batch, t *tableWriter) error {
	for i := range b.Len() {
		for _, line := range strings.Split(strings.TrimRight(string(t.raw(b, b.Row(i), 0)), "\n"), "\n") {
			if _, err := fmt.Fprintln(r.Out, printable(line)); err != nil {
				return err
			}
		}
	}
	return nil
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

const (
	// watchInterval is how often a table that waits for rows to learn its widths is looked after, and how often the progress line changes.
	watchInterval = 250 * time.Millisecond
	// progressAfter is when a statement that runs on gets a progress line.
	progressAfter = time.Second
)

// watch looks after a running statement until the function that it returns is called: a table that has rows but has not printed them prints them, and
// on a terminal a line says how far the statement is.
func (r *Runner) watch(job *weir.Job, w rowWriter) (stop func()) {
	table, _ := w.(*tableWriter)
	if job == nil || table == nil && !r.Progress {
		return func() {}
	}
	began, quit, done := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(watchInterval)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			r.mu.Lock()
			if table != nil && table.waiting() {
				r.erase()
				_ = table.flush() // the next batch meets the same error
			}
			if r.Progress && !r.Quiet && time.Since(began) > progressAfter {
				line := cut(progressText(job.Stats(), time.Since(began)), max(r.Writer.Width-1, 40))
				fmt.Fprint(r.Err, "\r\033[K"+line)
				r.shown = true
			}
			r.mu.Unlock()
		}
	}()
	stopped := false
	return func() {
		if stopped {
			return
		}
		stopped = true
		close(quit)
		<-done
		r.erase()
	}
}

// watchStalls tells why a statement gives no rows while it takes some, until the function that it returns is called.
func (r *Runner) watchStalls(job *weir.Job, tell func(note string)) (stop func()) {
	if r.Quiet {
		return func() {}
	}
	return job.WatchStalls(tell)
}

// interrupted takes away the ^C that the terminal has shown.
func (r *Runner) interrupted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Progress {
		fmt.Fprint(r.Err, "\r\033[K")
	}
}

// erase takes the progress line away.
func (r *Runner) erase() {
	if r.shown {
		fmt.Fprint(r.Err, "\r\033[K")
		r.shown = false
	}
}

// progressText says how far a statement is.
func progressText(s weir.Stats, wall time.Duration) string {
	text := fmt.Sprintf("%.0f s: %s rows read, %s out", wall.Seconds(), thousands(s.RowsIn), thousands(s.RowsOut))
	if w := watermarkOf(s); w != "" {
		text += ", watermark " + w
	}
	if s.LateRows > 0 {
		text += fmt.Sprintf(", %s late", thousands(s.LateRows))
	}
	if s.BadRows > 0 {
		text += fmt.Sprintf(", %s bad", thousands(s.BadRows))
	}
	return text
}

// watermarkOf returns the lowest watermark that the tables of a statement have reached, as text.
func watermarkOf(s weir.Stats) string {
	lowest := ""
	for _, t := range s.Tables {
		if t.Watermark != "" && (lowest == "" || t.Watermark < lowest) {
			lowest = t.Watermark
		}
	}
	return lowest
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	var parts []string
	for len(s) > 3 {
		parts = append([]string{s[len(s)-3:]}, parts...)
		s = s[:len(s)-3]
	}
	return strings.Join(append([]string{s}, parts...), ",")
}

// PrintWatermarks prints SHOW WATERMARKS to Err. It may be called from any goroutine.
func (r *Runner) PrintWatermarks(ctx context.Context) {
	var sb strings.Builder
	text := "nothing runs\n"
	if q, err := r.DB.Query(ctx, "SHOW WATERMARKS"); err == nil {
		w := &tableWriter{out: &sb, o: WriterOptions{MaxColumnWidth: 1000, Zone: time.UTC}}
		err := w.begin(q.Columns(), false)
		rows := int64(0)
		for b, rowsErr := range q.Rows() {
			if err = errors.Join(err, rowsErr); err != nil {
				break
			}
			rows += int64(b.Len())
			err = w.batch(b)
		}
		if err == nil && rows > 0 && w.end(rows) == nil {
			text = sb.String()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.erase()
	io.WriteString(r.Err, text)
}

// Status says what runs and how far it is. It may be called from any goroutine.
func (r *Runner) Status() string {
	var sb strings.Builder
	jobs := r.DB.Jobs()
	for _, j := range jobs {
		s := j.Stats()
		w := watermarkOf(s)
		if w == "" {
			w = "none"
		}
		fmt.Fprintf(&sb, "job %s %s: watermark %s, %s rows read, %s out, %s late\n", j.ID(), j.Name(), w, thousands(s.RowsIn), thousands(s.RowsOut), thousands(s.LateRows))
	}
	if len(jobs) == 0 {
		return "nothing runs\n"
	}
	return sb.String()
}
