package weir

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/weir-sql/weir/exec/build"
	"github.com/weir-sql/weir/parser"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner"
	"github.com/weir-sql/weir/planner/bind"
	"github.com/weir-sql/weir/planner/physical"
)

// ExecOptions change how one statement is run.
type ExecOptions struct {
	// RequireBounded makes a SELECT or INSERT over unbounded input an error instead of a run without an end.
	RequireBounded bool
	// OnBatch takes the rows of a SELECT instead of a Query: it is called on the job's goroutine, one call at a time, and borrows the batch. The result
	// then has a Job.
	OnBatch func(columns Schema, b Batch) error
	// Restore continues the query of a snapshot.
	Restore *Snapshot
	// StopAfterRows stops the job with a snapshot as soon as a source has read so many rows: see Job.StoppedAt. For tests of restores.
	StopAfterRows int64
	// Background makes an INSERT run on beside the caller also when its input is bounded.
	Background bool
}

// Result is what a statement gave.
type Result struct {
	// Query has the rows of SELECT, SHOW, DESCRIBE, EXPLAIN.
	Query *Query
	// Job is the job of an INSERT (or of a SELECT with OnBatch); it has ended unless it is unbounded or was asked to run in the background.
	Job *Job
	// RowCount is the number of rows that an INSERT that has ended wrote.
	RowCount int64
	// Warnings are notes of the planner (unbounded state and the like); Notes are the same with their places.
	Warnings []string
	Notes    []Note
}

// Exec runs a script. A bounded INSERT ends before the next statement begins; an unbounded one runs on (DB.Jobs, DB.Close). Results of queries are
// read to their end and dropped.
func (db *DB) Exec(ctx context.Context, script string) error {
	for _, st := range Split(script).Statements {
		res, err := db.ExecuteWith(ctx, st.Text, ExecOptions{})
		if err != nil {
			return st.Place(err)
		}
		if res.Query == nil {
			continue
		}
		for _, err := range res.Query.Rows() {
			if err != nil {
				return st.Place(err)
			}
		}
	}
	return nil
}

// Query runs one statement that has a result. Close the query, or read it to its end.
func (db *DB) Query(ctx context.Context, sql string) (*Query, error) {
	res, err := db.executeText(ctx, sql, ExecOptions{})
	if err != nil {
		return nil, err
	}
	if res.Query == nil {
		return nil, newError("WEIR-3003", "the statement has no result", "use Exec, or Start for an INSERT")
	}
	return res.Query, nil
}

// Start starts an INSERT or a statement set and returns its job.
func (db *DB) Start(ctx context.Context, sql string) (*Job, error) {
	res, err := db.executeText(ctx, sql, ExecOptions{Background: true})
	if err != nil {
		return nil, err
	}
	if res.Job == nil {
		if res.Query != nil {
			res.Query.Close()
		}
		return nil, newError("WEIR-3003", "only INSERT and EXECUTE STATEMENT SET start a job", "use Query for a SELECT")
	}
	return res.Job, nil
}

// executeText runs the only statement of a text.
func (db *DB) executeText(ctx context.Context, sql string, o ExecOptions) (*Result, error) {
	sts := Split(sql).Statements
	if len(sts) != 1 {
		return nil, newError("WEIR-3004", fmt.Sprintf("want one statement, got %d", len(sts)), "use Exec for a script")
	}
	res, err := db.ExecuteWith(ctx, sts[0].Text, o)
	if err != nil {
		return nil, sts[0].Place(err)
	}
	return res, nil
}

// ExecuteWith runs one statement. Positions in an error (*Error) are those of sql.
func (db *DB) ExecuteWith(ctx context.Context, sql string, o ExecOptions) (res *Result, err error) {
	defer internal(&err)
	if err := db.alive(); err != nil {
		return nil, err
	}
	stmt, err := parser.ParseStatement(sql)
	if err != nil {
		return nil, asError(err)
	}
	if res, done, err := db.sessionStatement(ctx, stmt); done || err != nil {
		return res, asError(err)
	}
	env := db.env()
	plan, err := planner.Plan(ctx, stmt, env)
	if err != nil {
		return nil, asError(err)
	}
	db.forget(plan.Dropped)
	res = &Result{}
	for _, w := range plan.Warnings {
		res.Warnings = append(res.Warnings, warningText(w))
		res.Notes = append(res.Notes, warningNote(w))
	}
	switch {
	case plan.Advise != nil:
		res.Query, err = db.advise(ctx, sql, plan)
	case plan.Rows != nil:
		res.Query = rowsResult(plan.Rows)
	case plan.Plan != nil:
		err = db.runPlan(ctx, sql, plan, o, res)
	}
	if err != nil {
		return nil, asError(err)
	}
	return res, nil
}

func (db *DB) alive() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return newError("WEIR-3006", "the session is closed", "")
	}
	return nil
}

// forget tells connectors that hold rows of tables that are gone.
func (db *DB) forget(dropped []int64) {
	for _, c := range db.connectors {
		if f, ok := c.(interface{ Forget(ids []int64) }); ok && len(dropped) > 0 {
			f.Forget(dropped)
		}
	}
}

// sessionStatement carries out what concerns the session and not the catalog.
func (db *DB) sessionStatement(ctx context.Context, stmt ast.Statement) (*Result, bool, error) {
	switch s := stmt.(type) {
	case *ast.Set:
		if s.Key == nil {
			return &Result{Query: db.showSettings()}, true, nil
		}
		err := db.set(s.Key.Value, s.Value.Value)
		res := &Result{}
		if hint := keyNote(s.Key.Value); err == nil && hint != "" {
			n := Note{Msg: "the key '" + s.Key.Value + "' has no effect", Hint: hint, Line: s.Key.Start.Line, Column: s.Key.Start.Column, Offset: s.Key.Start.Offset, End: s.Key.Stop}
			res.Notes, res.Warnings = append(res.Notes, n), append(res.Warnings, n.Msg+"; "+n.Hint)
		}
		return res, true, placed(err, s.Key)
	case *ast.Reset:
		key := ""
		if s.Key != nil {
			key = s.Key.Value
		}
		db.reset(key)
		return &Result{}, true, nil
	case *ast.Show:
		switch s.Kind {
		case ast.ShowJobs:
			return &Result{Query: db.showJobs()}, true, nil
		case ast.ShowWatermarks:
			return &Result{Query: db.showWatermarks(ctx)}, true, nil
		case ast.ShowLateRows:
			return &Result{Query: db.showLateRows()}, true, nil
		}
	case *ast.StopJob:
		return &Result{}, true, db.stopJob(ctx, s)
	}
	return nil, false, nil
}

// placed gives an error without a place that of a node.
func placed(err error, n ast.Node) error {
	var e *Error
	if !errors.As(err, &e) || e.Line > 0 {
		return err
	}
	at := *e
	at.Line, at.Column, at.Offset, at.End = n.Pos().Line, n.Pos().Column, n.Pos().Offset, n.End()
	return &at
}

func (db *DB) showSettings() *Query {
	config := db.Config()
	rows := [][]string{}
	for k, v := range config {
		rows = append(rows, []string{k, bind.ShownValue(k, v)})
	}
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return textResult([]string{"key", "value"}, rows)
}

func (db *DB) showJobs() *Query {
	rows := [][]string{}
	for _, j := range db.Jobs() {
		rows = append(rows, []string{j.ID(), j.Name(), strings.ToUpper(string(j.State())), j.started.UTC().Format("2006-01-02 15:04:05.000")})
	}
	return textResult([]string{"job id", "job name", "status", "start time"}, rows)
}

func (db *DB) stopJob(ctx context.Context, s *ast.StopJob) error {
	db.mu.Lock()
	j := db.jobs[s.Job.Value]
	db.mu.Unlock()
	if j == nil {
		return placed(newError("WEIR-3007", fmt.Sprintf("no job is called '%s'", s.Job.Value), "SHOW JOBS lists them"), &s.Job)
	}
	switch {
	case s.Drain:
		return j.Drain(ctx)
	case s.Savepoint:
		snap, err := j.Stop(ctx)
		if err == nil {
			snap.Release()
		}
		return err
	}
	return j.Cancel()
}

// rowsResult makes a result of rows that are there already.
func rowsResult(r *planner.Rows) *Query {
	q := &Query{columns: r.Columns, zone: time.UTC, bounded: true, quit: make(chan struct{})}
	b, err := build.Rows(r.Columns, r.Values)
	if err != nil || b.Len() == 0 {
		q.err = err
		return q
	}
	q.static = []Batch{b}
	return q
}

// runPlan runs a query or an INSERT.
func (db *DB) runPlan(ctx context.Context, sql string, p *planner.Result, o ExecOptions, res *Result) error {
	bounded := true
	for _, root := range p.Plan.Roots {
		bounded = bounded && root.Props().Bounded
	}
	if o.RequireBounded && !bounded {
		return newError("WEIR-3005", "the query reads an unbounded table: it would never end", "start it as a stream, or read bounded tables")
	}
	j := &Job{db: db, sql: sql, bounded: bounded, name: jobName(p)}
	var q *Query
	if p.Query {
		root := p.Plan.Roots[0]
		j.columns = root.Schema()
		q = &Query{columns: root.Schema(), zone: db.Zone(), updating: root.Props().Changelog != physical.Append, bounded: bounded, job: j,
			rows: make(chan Batch), quit: make(chan struct{}), warnings: res.Warnings}
		if o.OnBatch == nil && db.settles(q) {
			q.settling, q.updating = true, false
		}
	}
	if err := j.start(ctx, p.Plan, o, q); err != nil {
		return err
	}
	switch {
	case p.Query && o.OnBatch != nil:
		res.Job = j
	case p.Query:
		res.Query = q
	default:
		res.Job = j
		if bounded && !o.Background || !bounded && strings.EqualFold(db.Config()["table.dml-sync"], "true") && !o.Background {
			if err := j.Wait(ctx); err != nil {
				_ = j.Cancel()
				return err
			}
			res.RowCount = j.Stats().RowsOut
		}
	}
	return nil
}

func jobName(p *planner.Result) string {
	if p.Query {
		return "collect"
	}
	names := []string{}
	for _, r := range p.Plan.Roots {
		if s, ok := r.(*physical.Sink); ok {
			names = append(names, strings.ReplaceAll(s.Table.Path.String(), "`", ""))
		}
	}
	return "insert-into_" + strings.Join(names, ",")
}

// Explain returns the plan of a query or INSERT as text or JSON; statements of the catalog and SET are carried out and give "".
func (db *DB) Explain(ctx context.Context, sql string, asJSON bool) (plan string, err error) {
	defer internal(&err)
	stmt, err := parser.ParseStatement(sql)
	if err != nil {
		return "", asError(err)
	}
	if _, done, err := db.sessionStatement(ctx, stmt); done || err != nil {
		return "", asError(err)
	}
	p, err := planner.Plan(ctx, stmt, db.env())
	if err != nil {
		return "", asError(err)
	}
	if p.Plan == nil {
		return "", nil
	}
	return planner.Explain(p, asJSON)
}

// internal turns a panic, which is a bug of ours, into an error: one statement fails, not the process.
func internal(err *error) {
	if p := recover(); p != nil {
		*err = &Error{Code: "WEIR-1999", Msg: fmt.Sprintf("internal error: %v", p), Hint: "this is a bug in Weir: please report it with the statement", cause: fmt.Errorf("%v\n%s", p, debug.Stack())}
	}
}
