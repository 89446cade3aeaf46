package sqltests_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors/all"
	"github.com/weir-sql/weir/exec/optest"
)

// Random queries of several levels, each against itself: at parallelism 1 without stops, and at others, with other threads and batch sizes, stopped and
// restored at other parallelisms.

// nest makes random queries over the tables a, b and the view u of rescale_test.go. Every relation of it has the columns k STRING, v BIGINT and, when timed,
// ts, an event time.
type nest struct {
	*rand.Rand
	late int // late rows tables used
}

// relation is a random query, and what may be done with it.
type relation struct {
	sql   string // what may stand behind FROM
	timed bool
}

func (n *nest) one(of ...string) string { return of[n.IntN(len(of))] }

func (n *nest) chance(percent int) bool { return n.IntN(100) < percent }

func (n *nest) base() relation {
	switch n.IntN(5) {
	case 0:
		return relation{"(SELECT k, v, ts FROM " + n.one("a", "b", "u") + fmt.Sprintf(" WHERE MOD(v, %d) %s 0)", 2+n.IntN(4), n.one("=", "<>")), true}
	case 1:
		return relation{"(SELECT CAST(MOD(v, 5) AS STRING) AS k, v * 3 AS v, ts FROM " + n.one("a", "b", "u") + ")", true}
	}
	return relation{"(SELECT k, v, ts FROM " + n.one("a", "b", "u") + ")", true}
}

// aggregate is one that gives a BIGINT, text one that gives a STRING.
func (n *nest) aggregate() string {
	agg := n.one("COUNT(*)", "COUNT(DISTINCT k)", "COUNT(DISTINCT v)", "SUM(v)", "MIN(v)", "MAX(v)", "FIRST_VALUE(v)", "LAST_VALUE(v)", "AVG(v)", "COUNT(*)", "SUM(v)")
	if n.chance(20) {
		agg += fmt.Sprintf(" FILTER (WHERE MOD(v, %d) = 0)", 2+n.IntN(2))
	}
	return agg
}

func (n *nest) text() string {
	return n.one("LISTAGG(CAST(v AS STRING))", "MIN(k)", "MAX(k)", "FIRST_VALUE(k)", "LAST_VALUE(k)", "LISTAGG(DISTINCT k)")
}

func (n *nest) hint() string {
	var hints []string
	if n.chance(35) {
		hints = append(hints, n.one("EMIT('late' = '0 s', 'allowed-lateness' = '10 s')", "EMIT('allowed-lateness' = '30 s')", "EMIT('late' = '1 d', 'allowed-lateness' = '20 s')",
			"EMIT('early' = '0 s', 'allowed-lateness' = '5 s')", "EMIT('early' = '0 s')"))
	}
	if n.chance(25) && n.late < 3 {
		hints = append(hints, fmt.Sprintf("LATE_ROWS('late%d')", n.late))
		n.late++
	}
	if len(hints) == 0 {
		return ""
	}
	return "/*weir+ " + strings.Join(hints, ", ") + " */ "
}

func (n *nest) window(in relation) relation {
	table := in.sql
	step := 1 + n.IntN(10)
	size := step * (1 + n.IntN(4))
	tvf := ""
	switch n.IntN(3) {
	case 0:
		tvf = fmt.Sprintf("TUMBLE(%s, DESCRIPTOR(ts), INTERVAL '%d' SECOND)", table, size)
	case 1:
		tvf = fmt.Sprintf("HOP(%s, DESCRIPTOR(ts), INTERVAL '%d' SECOND, INTERVAL '%d' SECOND)", table, step, size)
	case 2:
		tvf = fmt.Sprintf("CUMULATE(%s, DESCRIPTOR(ts), INTERVAL '%d' SECOND, INTERVAL '%d' SECOND)", table, step, size)
	}
	by := "window_start, window_end, window_time"
	k := n.text()
	switch n.IntN(6) {
	case 0, 1, 2:
		k, by = "k", by+", k"
	case 3:
		k, by = "CAST(v AS STRING)", by+", v"
	case 4:
		k, by = "k", fmt.Sprintf("GROUPING SETS ((%s, k, v), (%s, k), (%s))", by, by, by)
	}
	return relation{fmt.Sprintf("(SELECT %s%s AS k, %s AS v, window_time AS ts FROM %s GROUP BY %s)", n.hint(), k, n.aggregate(), tvf, by), true}
}

func (n *nest) group(in relation) relation {
	k, by := "k", "k"
	switch n.IntN(6) {
	case 0:
		k, by = "CAST(v AS STRING)", "v"
	case 1:
		k, by = "k", "k, v"
	case 2:
		k, by = "k", "GROUPING SETS ((k, v), (k), ())"
	case 3:
		k, by = n.text(), "MOD(v, 3)"
	}
	having := ""
	if n.chance(20) {
		having = fmt.Sprintf(" HAVING COUNT(*) > %d", n.IntN(4))
	}
	return relation{fmt.Sprintf("(SELECT %s AS k, %s AS v FROM %s GROUP BY %s%s)", k, n.aggregate(), in.sql, by, having), false}
}

func (n *nest) union(x, y relation) relation {
	cols := "k, v"
	timed := x.timed && y.timed
	if timed {
		cols = "k, v, ts"
	}
	return relation{fmt.Sprintf("(SELECT %s FROM %s UNION ALL SELECT %s FROM %s)", cols, x.sql, cols, y.sql), timed}
}

// relation makes one of at most so many levels.
func (n *nest) relation(depth int) relation {
	if depth == 0 {
		return n.base()
	}
	in := n.relation(depth - 1)
	switch i := n.IntN(10); {
	case i < 4 && in.timed:
		return n.window(in)
	case i < 7:
		return n.group(in)
	case i == 7:
		return n.union(in, n.relation(n.IntN(depth)))
	case i == 8:
		cols := "k, v"
		if in.timed {
			cols = "k, v, ts"
		}
		return relation{fmt.Sprintf("(SELECT %s FROM %s WHERE MOD(v, %d) <> 1)", cols, in.sql, 2+n.IntN(3)), in.timed}
	}
	if n.chance(50) {
		return relation{"(SELECT DISTINCT k, v FROM " + in.sql + ")", false}
	}
	return in
}

// query is a statement whose result is looked at.
func (n *nest) query() string {
	in := n.relation(1 + n.IntN(4))
	switch n.IntN(8) {
	case 0:
		return fmt.Sprintf("SELECT k, v FROM %s LIMIT %d", in.sql, 1+n.IntN(40))
	case 1:
		return fmt.Sprintf("SELECT k, v FROM %s ORDER BY v DESC, k LIMIT %d", in.sql, 1+n.IntN(40))
	case 2, 3:
		if in.timed {
			return "SELECT k, v, CURRENT_WATERMARK(ts) AS w FROM " + in.sql
		}
	case 4:
		if in.timed {
			return "SELECT k, v, ts FROM " + in.sql
		}
	}
	return "SELECT k, v FROM " + in.sql
}

// set is a statement set with several INSERTs.
func (n *nest) set() string {
	var sb strings.Builder
	sb.WriteString("EXECUTE STATEMENT SET BEGIN\n")
	for i := range 2 + n.IntN(2) {
		fmt.Fprintf(&sb, "INSERT INTO out%d SELECT k, v FROM %s;\n", i, n.relation(1+n.IntN(3)).sql)
	}
	return sb.String() + "END"
}

// course is how a statement is run: with threads, a batch size, and a parallelism for each part between two stops.
type course struct {
	threads, batch int
	stops          []int64
	parallel       []int
}

// errPlan says that a statement is refused.
type errPlan struct{ error }

// follow runs a statement and gives all that it has made: the changes of a query, the rows of tables, and what was counted.
func follow(t *testing.T, statement, watermark, dir string, c course) (changes, rest string, err error) {
	t.Helper()
	ctx := t.Context()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	config := map[string]string{"weir.threads": strconv.Itoa(c.threads), "weir.scan.block-size": "16 kb"}
	if c.batch > 0 {
		config["weir.batch-size"] = strconv.Itoa(c.batch)
	}
	db, err := weir.Open(weir.Options{Connectors: all.Connectors(), Formats: all.Formats(), Config: config, Allocator: optest.Poison{Mem: mem}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(sql string) {
		t.Helper()
		if err := db.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b"} {
		exec(fmt.Sprintf("CREATE TABLE %s (k STRING, v BIGINT, d DOUBLE, ts TIMESTAMP(3), WATERMARK FOR ts AS %s) WITH ('connector' = 'filesystem', 'path' = '%s', 'format' = 'json')",
			name, watermark, filepath.Join(dir, name)))
	}
	exec("CREATE VIEW u AS SELECT * FROM a UNION ALL SELECT * FROM b")
	tables := []string{"out0", "out1", "out2"}
	for _, name := range tables {
		exec("CREATE TABLE " + name + " (k STRING, v BIGINT)")
	}
	for i := range 3 {
		name := fmt.Sprintf("late%d", i)
		exec("CREATE TABLE " + name + " (k STRING, v BIGINT, late_watermark TIMESTAMP(3), late_window_end TIMESTAMP(3), late_by BIGINT)")
		tables = append(tables, name)
	}
	var out strings.Builder
	o := weir.ExecOptions{Background: true}
	if strings.HasPrefix(statement, "SELECT") {
		o.OnBatch = func(columns weir.Schema, b weir.Batch) error {
			for _, l := range weir.ChangelogCSV(b, columns, time.UTC) {
				out.WriteString(l + "\n")
			}
			return nil
		}
	}
	for i := 0; ; i++ {
		if i < len(c.parallel) {
			exec(fmt.Sprintf("SET 'parallelism.default' = '%d'", c.parallel[i]))
		}
		o.StopAfterRows = 0
		if i < len(c.stops) {
			o.StopAfterRows = c.stops[i]
		}
		res, err := db.ExecuteWith(ctx, statement, o)
		if o.Restore != nil {
			o.Restore.Release()
			o.Restore = nil
		}
		if err != nil {
			return "", "", errPlan{err}
		}
		if i < len(c.stops) {
			if o.Restore, err = res.Job.StoppedAt(ctx); err != nil {
				return "", "", err
			}
		}
		if err := res.Job.Wait(ctx); err != nil {
			return "", "", err
		}
		if o.Restore != nil {
			continue
		}
		s := res.Job.Stats()
		var sb strings.Builder
		fmt.Fprintf(&sb, "rows in %d, out %d, late %d, partly %d, strays %d\n", s.RowsIn, s.RowsOut, s.LateRows, s.PartlyLateRows, s.StrayRetractions)
		for _, name := range tables {
			q, err := db.Query(ctx, "SELECT * FROM "+name)
			if err != nil {
				return "", "", err
			}
			var lines []string
			for r, err := range q.All() {
				if err != nil {
					return "", "", err
				}
				lines = append(lines, fmt.Sprint(name, ": ", r.Values))
			}
			slices.Sort(lines)
			for _, l := range lines {
				sb.WriteString(l + "\n")
			}
		}
		return out.String(), sb.String(), nil
	}
}

// TestNestedQueries: random queries of several levels give at any parallelism, with any number of threads and batch size, and over restores at another
// parallelism what they give at parallelism 1: the same rows and changes in the same order, the same late rows and counters. WEIR_NESTED_QUERIES sets how
// many queries, WEIR_RANDOM_SEED which.
func TestNestedQueries(t *testing.T) {
	count, runs := 60, 4
	if testing.Short() {
		count = 15
	}
	if s := os.Getenv("WEIR_NESTED_QUERIES"); s != "" {
		count, _ = strconv.Atoi(s)
	}
	seed := uint64(1)
	if s := os.Getenv("WEIR_RANDOM_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	dir := t.TempDir()
	for i, name := range []string{"a", "b"} {
		writeEvents(t, filepath.Join(dir, name), 3, 50, seed+uint64(i))
	}
	refused := map[string]int{}
	for i := range count {
		n := &nest{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		statement := n.query()
		if i%4 == 3 {
			statement = n.set()
		}
		watermark := n.one("ts", "ts - INTERVAL '2' SECOND")
		changes, rest, err := follow(t, statement, watermark, dir, course{threads: 1, parallel: []int{1}})
		if err != nil {
			if _, plan := err.(errPlan); !plan {
				t.Fatalf("%d: %v\n%s", i, err, statement)
			}
			refused[err.Error()]++
			continue
		}
		for range runs {
			c := course{threads: 1 + n.IntN(3), batch: []int{1, 5, 7, 0}[n.IntN(4)], parallel: []int{1 + n.IntN(4)}}
			for range n.IntN(4) {
				c.stops = append(c.stops, 1+n.Int64N(90))
				c.parallel = append(c.parallel, 1+n.IntN(4))
			}
			gotChanges, gotRest, err := follow(t, statement, watermark, dir, c)
			if err != nil {
				t.Errorf("seed %d, query %d, watermark %s, %+v: %v\n%s", seed, i, watermark, c, err, statement)
				break
			}
			if gotChanges != changes {
				t.Errorf("seed %d, query %d, watermark %s, %+v: another result\n%s\n%s", seed, i, watermark, c, statement, firstDifference(changes, gotChanges))
				break
			}
			if gotRest != rest && !strings.Contains(statement, "LIMIT") { // how much is read before the end shows is a matter of time
				t.Errorf("seed %d, query %d, watermark %s, %+v: other tables or counters\n%s\n%s", seed, i, watermark, c, statement, firstDifference(rest, gotRest))
				break
			}
		}
	}
	for e, n := range refused {
		t.Logf("refused %d times: %s", n, e)
	}
}
