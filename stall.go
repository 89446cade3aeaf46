package weir

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/exec/task"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/planner/physical"
	"github.com/weir-sql/weir/types"
)

const (
	// stallAfter is how long a query may take rows in and give none before it is explained why.
	stallAfter = 5 * time.Second
	// stallEvery is how often a running query is looked at.
	stallEvery = time.Second
)

// WatchStalls calls report with a line of text when the job has given no row for 5 s of processing time while rows came in, and again when the cause has
// changed: which split or input holds the watermark back, and which option cures it. report is called by a goroutine that ends with the job or when stop is
// called; stop waits for it. Of a job whose input ends nothing is said: all windows close then.
func (j *Job) WatchStalls(report func(note string)) (stop func()) {
	if j.bounded {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w := j.newStallWatch()
		for {
			tick, disarm := j.db.opts.Clock.After(stallEvery)
			select {
			case <-tick:
			case <-j.Done():
				disarm()
				return
			case <-ctx.Done():
				disarm()
				return
			}
			if note := w.look(ctx); note != "" && ctx.Err() == nil {
				report(note)
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// stallWatch asks a job how it stands and remembers what was said.
type stallWatch struct {
	j     *Job
	facts map[string]tableFacts
	recall
}

func (j *Job) newStallWatch() *stallWatch {
	return &stallWatch{j: j, facts: j.tables, recall: newRecall(j.db.opts.Clock.Now())}
}

func (w *stallWatch) look(ctx context.Context) string {
	look, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	now := w.j.db.opts.Clock.Now() // before it is asked: a row that comes meanwhile must not make its split look silent
	return w.recall.next(w.j.standing(w.j.job.Sight(look), now))
}

// standing is how a job stands, as far as it matters to why it gives no rows.
type standing struct {
	now             time.Time
	insert          bool // writes into tables; otherwise somebody reads its rows
	rowsIn, rowsOut int64
	late            int64
	splits          []SplitWatermark
	tables          map[string]tableFacts // by id of the scan
	counters        map[string]map[string]int64
	windows         []openWindow // in the order of the plan
	starved         string       // the first operator that has taken rows and given none
}

// openWindow is an operator with windows of event time.
type openWindow struct {
	operator string
	closesAt stream.Time     // the watermark that closes its first open window; MaxTime when none is open
	scans    map[string]bool // whose watermarks it waits for
}

// tableFacts are what the plan knows of how a table makes its watermarks.
type tableFacts struct {
	timeColumn  string
	source      bool // SOURCE_WATERMARK()
	generator   string
	expr        string
	delay       time.Duration // of ts - INTERVAL 'x', when plain is set
	plain       bool          // the expression is the time column less a constant: it is NULL for no row
	idleTimeout time.Duration
	maxFuture   time.Duration
	zone        *time.Location // whose wall clock the times are on; nil: instants
	bounded     bool
}

func (j *Job) standing(at task.Sight, now time.Time) standing {
	s := j.Stats()
	st := standing{now: now, insert: len(j.columns) == 0, rowsIn: s.RowsIn, rowsOut: s.RowsOut, late: s.LateRows, splits: j.splits(at), tables: j.tables,
		counters: map[string]map[string]int64{}}
	for _, t := range s.Tables {
		st.counters[t.ID] = t.Counters
	}
	for _, id := range j.operators {
		if o, ok := at.Operators[id]; ok && o.Windows {
			st.windows = append(st.windows, openWindow{id, o.NextWindow, j.feeds[id]})
		}
		if c := st.counters[id]; st.starved == "" && c[exec.RowsIn] > 0 && c[exec.RowsOut] == 0 {
			st.starved = id
		}
	}
	return st
}

// learn takes from the plan what is asked of it while the job runs.
func (j *Job) learn(p *physical.Plan) {
	j.roots = scansOf(p)
	j.tables, j.feeds, j.named = map[string]tableFacts{}, map[string]map[string]bool{}, map[string]string{}
	nodes := p.Nodes()
	for i := len(nodes) - 1; i >= 0; i-- { // from the tables up
		switch n := nodes[i].(type) {
		case *physical.Scan:
			j.tables[n.ID()] = factsOf(n, j.db.Zone())
		case *physical.Sink, *physical.Collect:
		default:
			j.operators = append(j.operators, n.ID())
			j.feeds[n.ID()] = scansUnder(n)
			if g, ok := n.(*physical.GlobalWindowAggregate); ok && !strings.HasPrefix(n.ID(), n.Op()+"-") {
				j.named[g.Local().ID()] = n.ID()
			}
		}
	}
}

func factsOf(s *physical.Scan, zone *time.Location) tableFacts {
	f := tableFacts{bounded: s.Props().Bounded}
	w := s.Watermark
	if w == nil {
		return f
	}
	ts := s.Schema()[w.Column]
	f.timeColumn, f.source, f.generator, f.idleTimeout, f.maxFuture = ts.Name, w.Source, w.Generator, w.IdleTimeout, w.MaxFuture
	if ts.Type.Kind == types.Timestamp {
		f.zone = zone
	}
	if w.Expr != nil {
		f.expr = w.Expr.String()
		if d, ok := logical.Delay(w.Expr, w.Column); ok {
			f.delay, f.plain = time.Duration(d)*time.Microsecond, true
		}
	}
	return f
}

// recall is what a stallWatch remembers from look to look.
type recall struct {
	began   time.Time // of the job, or of the time since its last row
	rowsOut int64
	rowsIn  int64 // when it began
	blocked time.Time
	told    string // key of the cause that was told
	splits  map[[2]string]splitMemory
}

// splitMemory is when the watermark of a split last moved, and what had come by then.
type splitMemory struct {
	mark         stream.Time
	at           time.Time
	rows, future int64
}

func newRecall(now time.Time) recall {
	return recall{began: now, splits: map[[2]string]splitMemory{}}
}

// next takes a look and returns what is to be said, "" for nothing.
func (m *recall) next(st standing) string {
	waits := false
	for _, s := range st.splits {
		key := [2]string{s.Operator, s.Split}
		future := st.counters[s.Operator][exec.FutureRows]
		if was, ok := m.splits[key]; !ok || s.mark != was.mark {
			m.splits[key] = splitMemory{mark: s.mark, at: st.now, rows: s.Rows, future: future}
		}
		waits = waits || s.Blocked
	}
	if !waits {
		m.blocked = time.Time{}
	} else if m.blocked.IsZero() {
		m.blocked = st.now
	}
	if st.rowsOut != m.rowsOut {
		m.began, m.rowsOut, m.rowsIn, m.told = st.now, st.rowsOut, st.rowsIn, ""
		return ""
	}
	// A reader of results that pauses knows that it does (a pager); of a sink nobody else would tell.
	stuck := st.insert && !m.blocked.IsZero() && st.now.Sub(m.blocked) >= stallAfter
	if st.now.Sub(m.began) < stallAfter || st.rowsIn == m.rowsIn && !stuck {
		return ""
	}
	c := diagnose(st, m)
	if c.key == "" || c.key == m.told || c.usual && st.rowsOut > 0 {
		return ""
	}
	m.told = c.key
	return fmt.Sprintf("no result for %.0f s: %s", stallAfter.Seconds(), c.text)
}

// cause is why a job gives no rows.
type cause struct {
	key  string // the same for the same cause: its text may have figures
	text string
	// usual: nothing is wrong, the window is not over. It is told only before the first row of the result.
	usual bool
}

// diagnose says why a job that takes rows gives none. It is a function of its arguments.
func diagnose(st standing, m *recall) cause {
	if !m.blocked.IsZero() && st.now.Sub(m.blocked) >= stallAfter {
		return cause{key: "blocked", text: "the sink takes no rows, so none are read"}
	}
	if len(st.windows) == 0 {
		if st.starved == "" {
			return cause{}
		}
		c := st.counters[st.starved]
		return cause{key: "starved " + st.starved, usual: true,
			text: fmt.Sprintf("%s has taken %s and given none (EXPLAIN shows what it does)", st.starved, types.Count(c[exec.RowsIn], "row"))}
	}
	first := openWindow{closesAt: stream.MaxTime}
	for _, w := range st.windows {
		if w.closesAt < first.closesAt {
			first = w
		}
	}
	if first.operator == "" {
		if st.late > 0 {
			return cause{key: "late", text: fmt.Sprintf("%s came too late for the windows (SHOW LATE ROWS), and none is in an open one: %s",
				types.Count(st.late, "row"), lateCure(st))}
		}
		return cause{key: "no window", usual: true, text: fmt.Sprintf("no row has come as far as the windows of %s", st.windows[0].operator)}
	}
	holder := -1
	for i, s := range st.splits {
		if s.timed && s.votes() && first.scans[scanID(s.Operator)] && (holder < 0 || worse(s, st.splits[holder])) {
			holder = i
		}
	}
	wait := fmt.Sprintf("the first open window of %s closes at watermark %s", first.operator, timestampText(int64(first.closesAt), time.UTC))
	if holder < 0 {
		return cause{key: "idle", text: "every split is idle, and the watermark stays where it is until rows come; " + wait}
	}
	s := st.splits[holder]
	c := splitCause(st, m, s, first.closesAt)
	c.key += " " + s.Operator + " " + s.Split
	c.text += "; " + wait
	return c
}

// worse says that a holds the watermark back rather than b: it is lower, or as low and without any row.
func worse(a, b SplitWatermark) bool {
	return a.mark < b.mark || a.mark == b.mark && a.Rows == 0 && b.Rows > 0
}

func lateCure(st standing) string {
	for _, s := range st.splits {
		if f := st.tables[scanID(s.Operator)]; s.timed && f.maxFuture == 0 && !f.source && s.LagMs != nil && *s.LagMs < 0 {
			return fmt.Sprintf("the watermark of table %s is ahead of processing time, a row from the future may have moved it there; 'scan.watermark.max-future' = '5 min' guards it", s.Table)
		}
	}
	return "a larger delay in the WATERMARK declaration loses fewer rows (ADVISE WATERMARK FOR the table says how large)"
}

// splitCause says why a split that holds the minimum does so.
func splitCause(st standing, m *recall, s SplitWatermark, closesAt stream.Time) cause {
	f := st.tables[scanID(s.Operator)]
	name := fmt.Sprintf("split %s of table %s", s.Split, s.Table)
	moved := m.splits[[2]string{s.Operator, s.Split}]
	silent, since := st.now.Sub(moved.at), "the restore" // which forgets when the last row came
	if s.LastRow != nil {
		silent, since = st.now.Sub(*s.LastRow), timestampText(s.LastRow.UnixMicro(), time.UTC)
	}
	cure := "'scan.watermark.idle-timeout' = '30 s' in the table's WITH, or SET 'table.exec.source.idle-timeout' = '30 s', passes silent splits over"
	if f.idleTimeout > 0 {
		cure = fmt.Sprintf("it is passed over when it has been silent for %s ('scan.watermark.idle-timeout')", f.idleTimeout)
	}
	holds := "holds the watermark back"
	if s.Watermark != nil {
		holds = "holds the watermark at " + timestampText(s.Watermark.UnixMicro(), time.UTC)
	}
	held := "and " + holds
	future := st.counters[s.Operator][exec.FutureRows]
	switch {
	case s.Split == "":
		return cause{key: "no split", text: fmt.Sprintf("table %s has no split (partition, file) yet %s; %s", s.Table, held, strings.Replace(cure, "silent splits", "also a table without splits", 1))}
	case f.bounded || s.State == SplitFinished:
		return cause{key: "backfill", usual: true, text: fmt.Sprintf("table %s is read to its end first %s", s.Table, held)}
	case s.State == SplitPaused:
		return cause{key: "paused", text: fmt.Sprintf("%s is paused by watermark alignment %s: it waits for the slowest of its 'scan.watermark.alignment.group'; an idle timeout takes "+
			"silent splits out of the group, a larger 'scan.watermark.alignment.max-drift' lets it go further", name, held)}
	case s.Rows == 0 && f.source:
		return cause{key: "silent", text: fmt.Sprintf("%s has had no row and no watermark yet %s; %s", name, held, cure)}
	case s.Rows == 0:
		return cause{key: "silent", text: fmt.Sprintf("%s has had no row yet %s; %s", name, held, cure)}
	case silent >= stallAfter:
		return cause{key: "silent", text: fmt.Sprintf("%s has had no row since %s %s; %s", name, since, held, cure)}
	case st.now.Sub(moved.at) < stallAfter && s.Watermark != nil: // it moves
		c := cause{key: "not over", usual: true, text: fmt.Sprintf("no window is over yet: the watermark is %s (%s)", timestampText(s.Watermark.UnixMicro(), time.UTC), name)}
		if f.plain && f.delay > 0 {
			c.text += fmt.Sprintf(", as declared %s behind the newest row: rows up to %s close the window", f.delay, timestampText(int64(closesAt)+f.delay.Microseconds(), time.UTC))
		}
		return c
	// Rows come, and the watermark does not move.
	case f.maxFuture > 0 && future > moved.future || f.maxFuture > 0 && s.Watermark == nil && future > 0:
		return cause{key: "future", text: fmt.Sprintf("rows come, and lie more than %s ahead of processing time, so that they do not move the watermark: %s %s; if their clock is right, a "+
			"larger 'scan.watermark.max-future' lets them", f.maxFuture, name, holds)}
	case s.Watermark == nil && st.counters[s.Operator][exec.NullTimeRows] > 0:
		return cause{key: "null", text: fmt.Sprintf("no row of %s has an event time ('%s' is NULL) %s", name, f.timeColumn, held)}
	case f.source:
		return cause{key: "source", text: fmt.Sprintf("the connector gives rows and no new watermark (SOURCE_WATERMARK()): %s %s", name, holds)}
	case f.generator != "":
		return cause{key: "generator", text: fmt.Sprintf("the generator %s gives no new watermark for the rows that come: %s %s", f.generator, name, holds)}
	case !f.plain:
		return cause{key: "punctuated", text: fmt.Sprintf("the declared watermark %s is NULL, or nothing new, for the rows that come: %s %s; a row for which it is higher has to come", f.expr, name, holds)}
	case s.Watermark == nil:
		return cause{key: "none", text: fmt.Sprintf("the watermark comes behind the next rows: %s %s", name, holds), usual: true}
	}
	c := cause{key: "old", text: fmt.Sprintf("the rows that come are older than the newest that came before, and do not move the watermark: %s %s", name, holds)}
	if f.maxFuture == 0 {
		c.text += "; if one row ran ahead, 'scan.watermark.max-future' = '5 min' keeps the next one from doing so"
	}
	return c
}
