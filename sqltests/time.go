package sqltests

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors/test"
)

// stream is a running query of a test.
type stream struct {
	name   string
	sql    string
	zone   *time.Location // the session's when the stream was started
	job    *weir.Job
	log    []string // changelog lines
	looked int      // lines that changelog has shown
	table  *weir.FinalTable
	// saved is the last checkpoint with what had been emitted up to it.
	saved       *weir.Snapshot
	savedLog    int
	stopped     bool
	expected    bool
	parallelism string // of its last restart; "" is the session's
	restores    int    // by Config.CheckpointEach
}

// timeWord runs Weir's own words.
func (r *run) timeWord(ctx context.Context, rec *Record) error {
	args := rec.plain("split", "parallelism")
	need := func(n int, usage string) error {
		if len(args) < n {
			return fmt.Errorf("%s wants: %s %s", rec.Word, rec.Word, usage)
		}
		return nil
	}
	switch rec.Word {
	case "stream":
		if err := need(1, "NAME"); err != nil {
			return err
		}
		return r.startStream(ctx, args[0], r.sql(rec.SQL))
	case "input":
		if err := need(1, "TABLE [split=N]"); err != nil {
			return err
		}
		return r.input(ctx, rec, args[0])
	case "watermark":
		if err := need(2, "TABLE [split=N] TIME"); err != nil {
			return err
		}
		return r.mark(ctx, rec, args[0], func(t *test.Table, split int) error { return t.Watermark(split, strings.Join(args[1:], " ")) })
	case "idle":
		if err := need(1, "TABLE [split=N]"); err != nil {
			return err
		}
		return r.mark(ctx, rec, args[0], func(t *test.Table, split int) error { return t.Idle(split) })
	case "end":
		return r.end(ctx, rec, args)
	case "advance":
		if err := need(1, "DURATION"); err != nil {
			return err
		}
		return r.advance(ctx, strings.Join(args, " "))
	case "changelog", "table":
		if err := need(1, "NAME [rowsort]"); err != nil {
			return err
		}
		return r.look(ctx, rec, args)
	case "metric":
		if err := need(2, "NAME KEY"); err != nil {
			return err
		}
		return r.metric(ctx, rec, args)
	case "failure":
		if err := need(1, "NAME [regex]"); err != nil {
			return err
		}
		return r.failure(ctx, args[0], strings.Join(args[1:], " "))
	case "checkpoint", "restart", "stop", "drain":
		if err := need(1, "NAME"); err != nil {
			return err
		}
		s, err := r.stream(args[0])
		if err != nil {
			return err
		}
		switch rec.Word {
		case "checkpoint":
			return r.checkpoint(ctx, s)
		case "stop":
			return r.stop(ctx, s)
		case "drain":
			return s.job.Drain(ctx)
		}
		if n, ok := rec.arg("parallelism"); ok {
			s.parallelism = n
		}
		return r.restart(ctx, s)
	}
	return fmt.Errorf("unknown word %q", rec.Word)
}

func (r *run) stream(name string) (*stream, error) {
	if s := r.streams[name]; s != nil {
		return s, nil
	}
	var names []string
	for n := range r.streams {
		names = append(names, n)
	}
	return nil, fmt.Errorf("no stream is called %q%s", name, didYouMean(name, names))
}

func (r *run) testTable(name string) (*test.Table, error) {
	path, err := r.db.TablePath(name)
	if err != nil {
		return nil, err
	}
	if t := r.tables.Table(path); t != nil {
		return t, nil
	}
	// The connector learns of a table when a statement uses it: rows may be handed over before.
	if _, err := r.db.Check(r.ctx, "SELECT * FROM "+name); err != nil {
		return nil, err
	}
	if t := r.tables.Table(path); t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("%s is no table WITH ('connector' = 'test')", name)
}

func (r *run) startStream(ctx context.Context, name, sql string) error {
	if old := r.streams[name]; old != nil && !old.stopped {
		return fmt.Errorf("a stream called %q runs already", name)
	}
	s := &stream{name: name, sql: sql, zone: r.db.Zone()}
	if err := r.launch(ctx, s, nil); err != nil {
		return err
	}
	r.streams[name] = s
	r.order = append(r.order, s)
	return r.settle(ctx)
}

// launch starts the query of s; with a snapshot it goes on from there.
func (r *run) launch(ctx context.Context, s *stream, from *weir.Snapshot) error {
	if s.parallelism != "" {
		back := "RESET 'parallelism.default'"
		if own, ok := r.db.Config()["parallelism.default"]; ok {
			back = fmt.Sprintf("SET 'parallelism.default' = '%s'", own)
		}
		if _, err := r.db.ExecuteWith(ctx, fmt.Sprintf("SET 'parallelism.default' = '%s'", s.parallelism), weir.ExecOptions{}); err != nil {
			return err
		}
		defer func() { _, _ = r.db.ExecuteWith(ctx, back, weir.ExecOptions{}) }()
	}
	res, err := r.db.ExecuteWith(r.ctx, s.sql, weir.ExecOptions{Restore: from, OnBatch: s.take, Background: true})
	if err != nil {
		return err
	}
	if res.Job == nil {
		return errors.New("a stream must be a SELECT or an INSERT")
	}
	s.job, s.stopped = res.Job, false
	if s.table == nil {
		s.table = weir.NewFinalTable(res.Job.Columns())
	}
	return ctx.Err()
}

// take is called by the job's sink, on the job's goroutine; the runner looks only when the job has settled.
func (s *stream) take(columns weir.Schema, b weir.Batch) error {
	s.log = append(s.log, weir.ChangelogCSV(b, columns, s.zone)...)
	return nil
}

// settle waits until all that was handed over has been worked off by every running stream.
func (r *run) settle(ctx context.Context) error {
	for _, s := range r.order {
		if s.stopped || s.job == nil {
			continue
		}
		if err := s.job.Sync(ctx); err != nil && ctx.Err() != nil {
			return fmt.Errorf("stream %s does not settle: %w", s.name, err)
		}
	}
	return nil
}

// after is called behind every word of time.
func (r *run) after(ctx context.Context) error {
	if err := r.settle(ctx); err != nil || !r.cfg.CheckpointEach {
		return err
	}
	for _, s := range r.order {
		if s.stopped || s.job.State() != weir.JobRunning {
			continue
		}
		err := r.checkpoint(ctx, s)
		if errors.Is(err, weir.ErrEnded) {
			continue
		}
		if err != nil {
			return fmt.Errorf("checkpoint of stream %s: %w", s.name, err)
		}
		if n := len(r.cfg.Parallelisms); n > 0 {
			s.parallelism = strconv.Itoa(r.cfg.Parallelisms[s.restores%n])
			s.restores++
		}
		if err := r.restart(ctx, s); err != nil {
			return fmt.Errorf("restore of stream %s: %w", s.name, err)
		}
	}
	return r.settle(ctx)
}

func (r *run) input(ctx context.Context, rec *Record, name string) error {
	t, err := r.testTable(name)
	if err != nil {
		return err
	}
	split, err := splitArg(rec)
	if err != nil {
		return err
	}
	for i, row := range rec.Rows {
		if err := t.Append(split, row); err != nil {
			return fmt.Errorf("row %d: %w", i+1, err)
		}
		if err := r.after(ctx); err != nil {
			return fmt.Errorf("row %d: %w", i+1, err)
		}
	}
	return nil
}

func splitArg(rec *Record) (int, error) {
	v, ok := rec.arg("split")
	if !ok {
		return 0, nil
	}
	var n int
	if _, err := fmt.Sscanf(v, "%d", &n); err != nil || n < 0 {
		return 0, fmt.Errorf("split=%s is no number of a split", v)
	}
	return n, nil
}

func (r *run) mark(ctx context.Context, rec *Record, name string, f func(*test.Table, int) error) error {
	t, err := r.testTable(name)
	if err != nil {
		return err
	}
	split, err := splitArg(rec)
	if err != nil {
		return err
	}
	if err := f(t, split); err != nil {
		return err
	}
	return r.after(ctx)
}

func (r *run) end(ctx context.Context, rec *Record, args []string) error {
	names := args
	if len(names) == 0 {
		for _, t := range r.tables.Tables() {
			t.End(-1)
		}
		return r.after(ctx)
	}
	split := -1
	if _, ok := rec.arg("split"); ok {
		var err error
		if split, err = splitArg(rec); err != nil {
			return err
		}
	}
	t, err := r.testTable(names[0])
	if err != nil {
		return err
	}
	t.End(split)
	return r.after(ctx)
}

// advance moves the clock as if it came to each due time in turn.
func (r *run) advance(ctx context.Context, text string) error {
	d, err := weir.ParseDuration(text)
	if err != nil {
		return err
	}
	if err := r.clock.Advance(ctx, d); err != nil {
		return err
	}
	return r.after(ctx)
}

func (r *run) look(ctx context.Context, rec *Record, args []string) error {
	s, err := r.stream(args[0])
	if err != nil {
		return err
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	rowsort := len(args) > 1 && args[1] == "rowsort" || r.cfg.SortOutput && !strings.Contains(strings.ToUpper(s.sql), "ORDER BY")
	var got []string
	if rec.Word == "changelog" {
		got = s.log[s.looked:]
		s.looked = len(s.log)
	} else {
		t := weir.NewFinalTable(s.job.Columns())
		for _, line := range s.log {
			if err := t.ApplyCSV(line); err != nil {
				return fmt.Errorf("stream %s: an impossible change: %w", s.name, err)
			}
		}
		got = t.CSV()
	}
	diff := compareBlocks(got, rec.Wants, rowsort)
	if diff == "" {
		return nil
	}
	if r.cfg.Rewrite && !rec.loop && rec.wantFrom >= 0 {
		r.rewrites = append(r.rewrites, rewrite{*rec, append([]string(nil), got...)})
		return nil
	}
	if state := s.job.State(); state == weir.JobFailed {
		return fmt.Errorf("%s\n(the stream has failed: %v)", diff, s.job.Err())
	}
	return errors.New(diff)
}

func (r *run) metric(ctx context.Context, rec *Record, args []string) error {
	s, err := r.stream(args[0])
	if err != nil {
		return err
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	got, err := s.job.Metric(ctx, args[1])
	if err != nil {
		return err
	}
	diff := compareBlocks([]string{got}, rec.Wants, false)
	if diff == "" {
		return nil
	}
	if r.cfg.Rewrite && !rec.loop && rec.wantFrom >= 0 {
		r.rewrites = append(r.rewrites, rewrite{*rec, []string{got}})
		return nil
	}
	return errors.New(diff)
}

func (r *run) failure(ctx context.Context, name, want string) error {
	s, err := r.stream(name)
	if err != nil {
		return err
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	if s.job.State() != weir.JobFailed {
		return fmt.Errorf("stream %s must have failed, but it is %s", name, s.job.State())
	}
	s.expected = true
	return matchError(s.job.Err(), want)
}

func (r *run) checkpoint(ctx context.Context, s *stream) error {
	snap, err := s.job.Checkpoint(ctx)
	if err != nil {
		return err
	}
	s.drop()
	s.saved, s.savedLog = snap, len(s.log)
	return nil
}

func (s *stream) drop() {
	if s.saved != nil {
		s.saved.Release()
		s.saved = nil
	}
}

// restart drops the running query and starts it from its last checkpoint, or anew: what was emitted since is taken back.
func (r *run) restart(ctx context.Context, s *stream) error {
	if !s.stopped {
		if err := s.job.Cancel(); err != nil && s.job.State() == weir.JobFailed && !s.expected {
			return err
		}
	}
	if s.saved == nil {
		s.savedLog = 0
	}
	s.log = s.log[:s.savedLog]
	s.looked = min(s.looked, len(s.log))
	if err := r.launch(ctx, s, s.saved); err != nil {
		return err
	}
	return r.settle(ctx)
}

func (r *run) stop(ctx context.Context, s *stream) error {
	snap, err := s.job.Stop(ctx)
	if err != nil {
		return err
	}
	s.drop()
	s.saved, s.savedLog, s.stopped = snap, len(s.log), true
	return nil
}

// leave ends a stream with its file; a failure that nobody looked at fails the file.
func (s *stream) leave(context.Context) error {
	defer s.drop()
	if s.job == nil {
		return nil
	}
	state := s.job.State()
	err := s.job.Err()
	_ = s.job.Cancel()
	if state == weir.JobFailed && !s.expected {
		return fmt.Errorf("stream %s has failed: %w", s.name, err)
	}
	return nil
}
