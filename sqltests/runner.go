package sqltests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/test"
)

// Config is how files are run.
type Config struct {
	Rewrite bool           // write what came out into the file
	Filter  *regexp.Regexp // of record labels and stream names: nil runs all
	Engine  string         // for skipif and onlyif; "weir"
	// Settings are session settings put before the file, e.g. parallelism.default.
	Settings map[string]string
	// CheckpointEach takes a checkpoint and restores it after every word of time and every row of input.
	CheckpointEach bool
	// Parallelisms, with CheckpointEach, are those that streams are restored at, in turn; empty: their own.
	Parallelisms []int
	// SortOutput compares blocks without ORDER BY sorted, because parallelism differs from the file's own.
	SortOutput bool
	// Connectors replaces the built-in ones.
	Connectors []connectors.Connector
	// Formats replaces the built-in ones.
	Formats []connectors.Format
	// Timeout bounds one record; 0 is a minute.
	Timeout time.Duration
	Log     io.Writer
}

// FileResult is the outcome of one file.
type FileResult struct {
	File     string        `json:"file"`
	Config   string        `json:"config,omitempty"`
	Passed   int           `json:"passed"`
	Failed   int           `json:"failed"`
	Skipped  int           `json:"skipped"`
	Failures []Failure     `json:"failures,omitempty"`
	Reasons  []string      `json:"skip_reasons,omitempty"`
	Elapsed  time.Duration `json:"elapsed_ns"`
}

// Failure is one record that did not do what the file says.
type Failure struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Word string `json:"word"`
	Text string `json:"text"`
}

func (f Failure) String() string { return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Word, f.Text) }

// errSkip says that a record was skipped and why.
type errSkip string

func (e errSkip) Error() string { return string(e) }

var errHalt = errors.New("halt")

// start is where the clock of every test stands.
var start = time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)

// run is one file in progress.
type run struct {
	cfg       Config
	ctx       context.Context
	db        *weir.DB
	clock     *weir.VirtualClock
	tables    *test.Registry
	streams   map[string]*stream
	order     []*stream
	labels    map[string]string
	dir, here string
	mode      Mode
	sortmode  string
	threshold int
	rewrites  []rewrite
}

type rewrite struct {
	rec   Record
	lines []string
}

// RunFile runs one test file.
func RunFile(ctx context.Context, path string, cfg Config) (res FileResult) {
	began := time.Now()
	res.File = path
	defer func() { res.Elapsed = time.Since(began) }()
	fail := func(line int, word string, err error) {
		res.Failed++
		res.Failures = append(res.Failures, Failure{File: path, Line: line, Word: word, Text: err.Error()})
	}
	recs, err := ParseFile(path)
	if err != nil {
		var pe *ParseError
		if errors.As(err, &pe) {
			res.Failed++
			res.Failures = append(res.Failures, Failure{File: pe.File, Line: pe.Line, Word: "file", Text: pe.Msg})
			return res
		}
		fail(1, "file", err)
		return res
	}
	r, err := newRun(ctx, cfg)
	if err != nil {
		fail(1, "file", err)
		return res
	}
	if r.here, err = filepath.Abs(filepath.Dir(path)); err != nil {
		fail(1, "file", err)
		return res
	}
	for i := range recs {
		rec := &recs[i]
		err := r.one(rec)
		var skip errSkip
		switch {
		case errors.Is(err, errHalt):
			res.Skipped += len(recs) - i - 1
			res.Reasons = append(res.Reasons, fmt.Sprintf("%s:%d: halt", rec.File, rec.Line))
		case errors.As(err, &skip):
			res.Skipped++
			res.Reasons = append(res.Reasons, fmt.Sprintf("%s:%d: %s", rec.File, rec.Line, skip))
		case err != nil:
			res.Failed++
			res.Failures = append(res.Failures, Failure{File: rec.File, Line: rec.Line, Word: rec.Word, Text: err.Error()})
		default:
			res.Passed++
		}
		if errors.Is(err, errHalt) {
			break
		}
	}
	for _, err := range r.close() {
		fail(1, "end of file", err)
	}
	if cfg.Rewrite && len(r.rewrites) > 0 {
		if err := applyRewrites(path, r.rewrites); err != nil {
			fail(1, "rewrite", err)
		}
	}
	return res
}

func newRun(ctx context.Context, cfg Config) (*run, error) {
	if cfg.Engine == "" {
		cfg.Engine = "weir"
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = time.Minute
	}
	dir, err := os.MkdirTemp("", "weir-test-")
	if err != nil {
		return nil, err
	}
	r := &run{cfg: cfg, ctx: ctx, dir: dir, streams: map[string]*stream{}, labels: map[string]string{}, threshold: 8}
	r.clock = weir.NewVirtualClock(start)
	r.tables = test.NewRegistry()
	conns := append([]connectors.Connector{r.tables.Connector()}, cfg.Connectors...)
	r.db, err = weir.Open(weir.Options{Clock: r.clock, Connectors: conns, Formats: cfg.Formats, Config: cfg.Settings})
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return r, nil
}

func (r *run) close() (errs []error) {
	for _, s := range r.order {
		if err := s.leave(r.ctx); err != nil {
			errs = append(errs, err)
		}
	}
	if err := r.db.Close(); err != nil {
		errs = append(errs, err)
	}
	if err := os.RemoveAll(r.dir); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// one runs a record.
func (r *run) one(rec *Record) error {
	for _, c := range rec.Conds {
		if c.Only != (c.Engine == r.cfg.Engine) {
			return errSkip(fmt.Sprintf("for engine %s", c.Engine))
		}
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.cfg.Timeout)
	defer cancel()
	err := r.do(ctx, rec)
	if err != nil && ctx.Err() != nil && r.ctx.Err() == nil {
		return fmt.Errorf("not done within %s: %w", r.cfg.Timeout, err)
	}
	return err
}

func (r *run) do(ctx context.Context, rec *Record) error {
	switch rec.Word {
	case "statement":
		return r.statement(ctx, rec)
	case "query":
		return r.query(ctx, rec)
	case "halt":
		return errHalt
	case "hash-threshold":
		return r.setInt(rec, &r.threshold)
	case "mode":
		return r.setMode(rec)
	case "control":
		if len(rec.Args) == 2 && rec.Args[0] == "sortmode" {
			r.sortmode = rec.Args[1]
			return nil
		}
		return errSkip("control " + strings.Join(rec.Args, " ") + " is not known")
	case "require":
		return r.require(rec)
	case "file":
		return r.file(rec)
	case "load":
		return errSkip("load is DuckDB's")
	}
	return r.timeWord(ctx, rec)
}

func (r *run) setInt(rec *Record, to *int) error {
	if len(rec.Args) != 1 {
		return fmt.Errorf("%s wants one number", rec.Word)
	}
	n, err := strconv.Atoi(rec.Args[0])
	if err != nil || n < 0 {
		return fmt.Errorf("%s wants a whole number, not %q", rec.Word, rec.Args[0])
	}
	*to = n
	return nil
}

func (r *run) setMode(rec *Record) error {
	if len(rec.Args) != 1 {
		return errors.New("mode wants one word: natural, classic or auto")
	}
	switch rec.Args[0] {
	case "natural":
		r.mode = Natural
	case "classic":
		r.mode = Classic
	case "auto":
		r.mode = Auto
	default:
		return fmt.Errorf("unknown mode %q%s", rec.Args[0], didYouMean(rec.Args[0], []string{"natural", "classic", "auto"}))
	}
	return nil
}

// require goes on when the engine has the named connector, format or function, else it skips the rest of the file, as DuckDB's does.
func (r *run) require(rec *Record) error {
	if len(rec.Args) == 0 {
		return errors.New("require wants a name")
	}
	if r.db.Has(rec.Args[0]) {
		return nil
	}
	return errHalt
}

// file writes the lines of the record as a file of the test's folder.
func (r *run) file(rec *Record) error {
	args := rec.plain()
	path := filepath.Join(r.dir, filepath.FromSlash(args[0]))
	if rel, err := filepath.Rel(r.dir, path); err != nil || strings.HasPrefix(rel, "..") {
		return fmt.Errorf("file %s lies outside of the test's folder", args[0])
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	text := strings.Join(rec.Rows, "\n")
	if len(rec.Rows) > 0 {
		text += "\n"
	}
	data := []byte(text)
	if len(args) > 1 && args[1] == "hex" {
		var err error
		if data, err = decodeHex(rec.Rows); err != nil {
			return err
		}
	}
	return os.WriteFile(path, data, 0o644)
}

func decodeHex(rows []string) ([]byte, error) {
	var out []byte
	for _, row := range rows {
		digits := strings.Join(strings.Fields(row), "")
		for i := 0; i < len(digits); i += 2 {
			if i+2 > len(digits) {
				return nil, fmt.Errorf("odd number of hex digits in %q", row)
			}
			b, err := strconv.ParseUint(digits[i:i+2], 16, 8)
			if err != nil {
				return nil, fmt.Errorf("%q is no hex byte", digits[i:i+2])
			}
			out = append(out, byte(b))
		}
	}
	return out, nil
}

// sql puts in ${dir}, the folder of the test's own files, and ${here}, the folder of the test file.
func (r *run) sql(s string) string {
	return strings.NewReplacer("${dir}", filepath.ToSlash(r.dir), "${here}", filepath.ToSlash(r.here)).Replace(s)
}

// execute runs one or more statements to their end and returns the last result's rows.
func (r *run) execute(ctx context.Context, sql string) (*weir.FinalTable, int64, error) {
	var table *weir.FinalTable
	var count int64
	for _, st := range weir.Split(r.sql(sql)).Statements {
		res, err := r.db.ExecuteWith(ctx, st.Text, weir.ExecOptions{RequireBounded: true})
		if err != nil {
			return nil, 0, err
		}
		if res.Query == nil {
			count = res.RowCount
			continue
		}
		if table, err = res.Query.Final(); err != nil {
			return nil, 0, err
		}
	}
	return table, count, nil
}

func (r *run) statement(ctx context.Context, rec *Record) error {
	if len(rec.Args) == 0 {
		return errors.New("statement wants ok, error or count N")
	}
	table, count, err := r.execute(ctx, rec.SQL)
	switch rec.Args[0] {
	case "ok":
		return err
	case "count":
		if err != nil {
			return err
		}
		if table != nil {
			count = int64(table.Len())
		}
		if len(rec.Args) != 2 || rec.Args[1] != strconv.FormatInt(count, 10) {
			return fmt.Errorf("want %s rows, got %d", strings.Join(rec.Args[1:], " "), count)
		}
		return nil
	case "error":
		if err == nil {
			return errors.New("the statement must fail, but it did not")
		}
		want := strings.Join(rec.Args[1:], " ")
		if len(rec.Wants) > 0 {
			want = strings.TrimSpace(strings.Join(rec.Wants[0].Lines, "\n"))
		}
		return matchError(err, want)
	}
	return fmt.Errorf("statement wants ok, error or count N, not %q", rec.Args[0])
}

// matchError holds an error against a regular expression, or a part of the message.
func matchError(err error, want string) error {
	msg := err.Error()
	if want == "" || strings.Contains(msg, want) {
		return nil
	}
	if re, e := regexp.Compile("(?s)" + strings.Trim(want, "/")); e == nil && re.MatchString(msg) {
		return nil
	}
	return fmt.Errorf("want an error with %q, got: %s", want, msg)
}

func (r *run) query(ctx context.Context, rec *Record) error {
	if len(rec.Args) == 0 {
		return errors.New("query wants a letter for each column")
	}
	if rec.Args[0] == "error" {
		_, _, err := r.execute(ctx, rec.SQL)
		if err == nil {
			return errors.New("the query must fail, but it did not")
		}
		return matchError(err, strings.Join(rec.Args[1:], " "))
	}
	letters, sortmode, label := rec.Args[0], r.sortmode, ""
	if len(rec.Args) > 1 {
		switch rec.Args[1] {
		case "nosort", "rowsort", "valuesort":
			sortmode = rec.Args[1]
			if len(rec.Args) > 2 {
				label = rec.Args[2]
			}
		default:
			label = rec.Args[1]
		}
	}
	if r.cfg.Filter != nil && label != "" && !r.cfg.Filter.MatchString(label) {
		return errSkip("not asked for")
	}
	table, _, err := r.execute(ctx, rec.SQL)
	if err != nil {
		return err
	}
	if table == nil {
		return errors.New("the statement has no result")
	}
	if n := len(table.Columns()); n != len(letters) {
		return fmt.Errorf("%d type letters (%s), but the result has %d columns", len(letters), letters, n)
	}
	rows := cells(table)
	if r.cfg.SortOutput && (sortmode == "" || sortmode == "nosort") && !strings.Contains(strings.ToUpper(rec.SQL), "ORDER BY") {
		sortmode = "rowsort"
	}
	want := Want{}
	if len(rec.Wants) > 0 {
		want = rec.Wants[0]
	}
	if label != "" {
		if err := r.sameAsLabel(label, rows, letters); err != nil {
			return err
		}
	}
	diff := compareQuery(rows, letters, sortmode, r.mode, want.Lines)
	for i := 1; diff != "" && i < len(rec.Wants); i++ {
		if compareQuery(rows, letters, sortmode, r.mode, rec.Wants[i].Lines) == "" {
			diff = ""
		}
	}
	if diff == "" {
		return nil
	}
	if r.cfg.Rewrite && !rec.loop {
		r.rewrites = append(r.rewrites, rewrite{*rec, rewriteQuery(rows, letters, sortmode, r.mode, want.Lines)})
		return nil
	}
	return errors.New("the result differs\n" + diff)
}

// sameAsLabel: all queries of one label must give the same rows.
func (r *run) sameAsLabel(label string, rows [][]Cell, letters string) error {
	rendered := renderRows(rows, letters, Natural)
	sortRows(rendered)
	hash := hashValues(flatten(rendered))
	if before, ok := r.labels[label]; ok && before != hash {
		return fmt.Errorf("the result differs from that of an earlier query labelled %s", label)
	}
	r.labels[label] = hash
	return nil
}

func cells(t *weir.FinalTable) [][]Cell {
	rows := make([][]Cell, t.Len())
	for i := range rows {
		rows[i] = make([]Cell, len(t.Columns()))
		for j := range rows[i] {
			text, null := t.Cell(i, j)
			rows[i][j] = Cell{Text: text, Null: null}
		}
	}
	return rows
}
