package sqltests_test

import (
	"fmt"
	"maps"
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

// Random queries against an oracle: a row at a time, maps and slices, no batches, no slices of windows, no changelog. It knows nothing of the engine.

// cell is a value of the oracle: nil, int64, string, or bool.
type cell = any

// event is a row of the table that the queries read.
type event struct {
	k, a, b cell // BIGINT
	s       cell // STRING
	ts      int64
}

// term is a random expression: its SQL, and what it is worth for a row.
type term struct {
	sql  string
	eval func(e *event) cell
}

// maker makes random expressions, none of which can overflow or divide by zero.
type maker struct{ *rand.Rand }

func (m maker) pick(n int) int { return m.IntN(n) }

func (m maker) integer(depth int) term {
	if depth == 0 || m.pick(4) == 0 {
		switch m.pick(5) {
		case 0:
			n := int64(m.pick(7) - 3)
			return term{fmt.Sprintf("CAST(%d AS BIGINT)", n), func(*event) cell { return n }}
		case 1:
			return term{"k", func(e *event) cell { return e.k }}
		case 2:
			return term{"a", func(e *event) cell { return e.a }}
		default:
			return term{"b", func(e *event) cell { return e.b }}
		}
	}
	x, y := m.integer(depth-1), m.integer(depth-1)
	both := func(op string, f func(x, y int64) cell) term {
		return term{fmt.Sprintf("(%s %s %s)", x.sql, op, y.sql), func(e *event) cell {
			a, b := x.eval(e), y.eval(e)
			if a == nil || b == nil {
				return nil
			}
			return f(a.(int64), b.(int64))
		}}
	}
	switch m.pick(9) {
	case 0:
		return both("+", func(x, y int64) cell { return x + y })
	case 1:
		return both("-", func(x, y int64) cell { return x - y })
	case 2:
		c := m.condition(depth - 1)
		return term{fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", c.sql, x.sql, y.sql), func(e *event) cell {
			if c.eval(e) == true {
				return x.eval(e)
			}
			return y.eval(e)
		}}
	case 3:
		return term{fmt.Sprintf("COALESCE(%s, %s)", x.sql, y.sql), func(e *event) cell {
			if v := x.eval(e); v != nil {
				return v
			}
			return y.eval(e)
		}}
	case 4:
		return term{fmt.Sprintf("NULLIF(%s, %s)", x.sql, y.sql), func(e *event) cell {
			a, b := x.eval(e), y.eval(e)
			if a != nil && b != nil && a == b {
				return nil
			}
			return a
		}}
	case 5:
		n := int64(2 + m.pick(4))
		return term{fmt.Sprintf("MOD(%s, CAST(%d AS BIGINT))", x.sql, n), func(e *event) cell {
			if v := x.eval(e); v != nil {
				return v.(int64) % n
			}
			return nil
		}}
	case 6:
		return term{fmt.Sprintf("ABS(%s)", x.sql), func(e *event) cell {
			if v := x.eval(e); v != nil {
				return max(v.(int64), -v.(int64))
			}
			return nil
		}}
	case 7:
		t := m.text(depth - 1)
		return term{fmt.Sprintf("CAST(CHAR_LENGTH(%s) AS BIGINT)", t.sql), func(e *event) cell {
			if v := t.eval(e); v != nil {
				return int64(len(v.(string)))
			}
			return nil
		}}
	}
	return term{fmt.Sprintf("(- %s)", x.sql), func(e *event) cell {
		if v := x.eval(e); v != nil {
			return -v.(int64)
		}
		return nil
	}}
}

func (m maker) text(depth int) term {
	if depth == 0 || m.pick(2) == 0 {
		if m.pick(3) == 0 {
			v := string(rune('a' + m.pick(3)))
			return term{"'" + v + "'", func(*event) cell { return v }}
		}
		return term{"s", func(e *event) cell { return e.s }}
	}
	x := m.text(depth - 1)
	if m.pick(2) == 0 {
		return term{fmt.Sprintf("UPPER(%s)", x.sql), func(e *event) cell {
			if v := x.eval(e); v != nil {
				return strings.ToUpper(v.(string))
			}
			return nil
		}}
	}
	y := m.text(depth - 1)
	return term{fmt.Sprintf("(%s || %s)", x.sql, y.sql), func(e *event) cell {
		a, b := x.eval(e), y.eval(e)
		if a == nil || b == nil {
			return nil
		}
		return a.(string) + b.(string)
	}}
}

func not(v cell) cell {
	if v == nil {
		return nil
	}
	return !v.(bool)
}

func and(x, y cell) cell {
	switch {
	case x == false || y == false:
		return false
	case x == nil || y == nil:
		return nil
	}
	return true
}

// condition makes an expression with three values.
func (m maker) condition(depth int) term {
	if depth > 0 && m.pick(2) == 0 {
		x := m.condition(depth - 1)
		switch m.pick(4) {
		case 0:
			return term{fmt.Sprintf("(NOT %s)", x.sql), func(e *event) cell { return not(x.eval(e)) }}
		case 1:
			return term{fmt.Sprintf("(%s IS NOT TRUE)", x.sql), func(e *event) cell { return x.eval(e) != true }}
		}
		y := m.condition(depth - 1)
		if m.pick(2) == 0 {
			return term{fmt.Sprintf("(%s AND %s)", x.sql, y.sql), func(e *event) cell { return and(x.eval(e), y.eval(e)) }}
		}
		return term{fmt.Sprintf("(%s OR %s)", x.sql, y.sql), func(e *event) cell { return not(and(not(x.eval(e)), not(y.eval(e)))) }}
	}
	x, y := m.integer(max(depth-1, 0)), m.integer(max(depth-1, 0))
	compare := func(op string, f func(x, y int64) bool) term {
		return term{fmt.Sprintf("(%s %s %s)", x.sql, op, y.sql), func(e *event) cell {
			a, b := x.eval(e), y.eval(e)
			if a == nil || b == nil {
				return nil
			}
			return f(a.(int64), b.(int64))
		}}
	}
	switch m.pick(9) {
	case 0:
		return compare("<", func(x, y int64) bool { return x < y })
	case 1:
		return compare("<=", func(x, y int64) bool { return x <= y })
	case 2:
		return compare("=", func(x, y int64) bool { return x == y })
	case 3:
		return compare("<>", func(x, y int64) bool { return x != y })
	case 4:
		return term{fmt.Sprintf("(%s IS NULL)", x.sql), func(e *event) cell { return x.eval(e) == nil }}
	case 5:
		return term{fmt.Sprintf("(%s IS NOT DISTINCT FROM %s)", x.sql, y.sql), func(e *event) cell { return x.eval(e) == y.eval(e) }}
	case 6:
		set := []int64{int64(m.pick(5) - 2), int64(m.pick(5)), 7}
		return term{fmt.Sprintf("(%s IN (%d, %d, %d))", x.sql, set[0], set[1], set[2]), func(e *event) cell {
			if v := x.eval(e); v != nil {
				return slices.Contains(set, v.(int64))
			}
			return nil
		}}
	case 7:
		low, high := int64(m.pick(4)-3), int64(m.pick(4))
		return term{fmt.Sprintf("(%s BETWEEN %d AND %d)", x.sql, low, high), func(e *event) cell {
			if v := x.eval(e); v != nil {
				return v.(int64) >= low && v.(int64) <= high
			}
			return nil
		}}
	}
	t, u := m.text(max(depth-1, 0)), m.text(0)
	return term{fmt.Sprintf("(%s >= %s)", t.sql, u.sql), func(e *event) cell {
		a, b := t.eval(e), u.eval(e)
		if a == nil || b == nil {
			return nil
		}
		return a.(string) >= b.(string)
	}}
}

// aggregate is a random aggregate: its SQL, and what it is worth for the rows of a group.
type aggregate struct {
	sql  string
	eval func(rows []*event) cell
}

func (m maker) aggregate() aggregate {
	x := m.integer(2)
	filter := term{"", func(*event) cell { return true }}
	if m.pick(3) == 0 {
		c := m.condition(2)
		filter = term{fmt.Sprintf(" FILTER (WHERE %s)", c.sql), c.eval}
	}
	over := func(f string, eval func(vs []int64) cell) aggregate {
		return aggregate{fmt.Sprintf(f, x.sql) + filter.sql, func(rows []*event) cell {
			var vs []int64
			for _, e := range rows {
				if v := x.eval(e); v != nil && filter.eval(e) == true {
					vs = append(vs, v.(int64))
				}
			}
			return eval(vs)
		}}
	}
	sum := func(vs []int64) (n int64) {
		for _, v := range vs {
			n += v
		}
		return n
	}
	some := func(f func(vs []int64) cell) func(vs []int64) cell {
		return func(vs []int64) cell {
			if len(vs) == 0 {
				return nil
			}
			return f(vs)
		}
	}
	switch m.pick(9) {
	case 0:
		return aggregate{"COUNT(*)" + filter.sql, func(rows []*event) cell {
			n := int64(0)
			for _, e := range rows {
				if filter.eval(e) == true {
					n++
				}
			}
			return n
		}}
	case 1:
		return over("COUNT(%s)", func(vs []int64) cell { return int64(len(vs)) })
	case 2:
		return over("SUM(%s)", some(func(vs []int64) cell { return sum(vs) }))
	case 3:
		return over("MIN(%s)", some(func(vs []int64) cell { return slices.Min(vs) }))
	case 4:
		return over("MAX(%s)", some(func(vs []int64) cell { return slices.Max(vs) }))
	case 5:
		return over("AVG(%s)", some(func(vs []int64) cell { return sum(vs) / int64(len(vs)) })) // toward zero, as Flink's of BIGINT
	case 6:
		return over("FIRST_VALUE(%s)", some(func(vs []int64) cell { return vs[0] }))
	case 7:
		return over("LAST_VALUE(%s)", some(func(vs []int64) cell { return vs[len(vs)-1] }))
	}
	return over("COUNT(DISTINCT %s)", func(vs []int64) cell {
		seen := map[int64]bool{}
		for _, v := range vs {
			seen[v] = true
		}
		return int64(len(seen))
	})
}

// question is a random query and its answer.
type question struct {
	sql    string
	answer []string
	late   int64
	// nothing says that the answer is the one row of a global aggregate over no rows: only batch mode gives it.
	nothing bool
}

func show(cells []cell) string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = fmt.Sprint(c)
	}
	return strings.Join(out, " | ")
}

const windowDelay = 4000 // ms by which the watermark stays behind the rows

func (m maker) question(rows []*event) question {
	where := term{"", func(*event) cell { return true }}
	if m.pick(2) == 0 {
		c := m.condition(3)
		where = term{" WHERE " + c.sql, c.eval}
	}
	if m.pick(4) == 0 {
		return m.projection(rows, where)
	}
	return m.grouping(rows, where)
}

func (m maker) projection(rows []*event, where term) question {
	var exprs []term
	for range 1 + m.pick(4) {
		exprs = append(exprs, []func(int) term{m.integer, m.text, m.condition}[m.pick(3)](3))
	}
	var q question
	var list []string
	for i, x := range exprs {
		list = append(list, fmt.Sprintf("%s AS c%d", x.sql, i))
	}
	q.sql = "SELECT " + strings.Join(list, ", ") + " FROM t" + where.sql
	for _, e := range rows {
		if where.eval(e) != true {
			continue
		}
		var cells []cell
		for _, x := range exprs {
			cells = append(cells, x.eval(e))
		}
		q.answer = append(q.answer, show(cells))
	}
	return q
}

// grouping makes a GROUP BY, in windows or not. Every row counts with the watermark before it; the filter lies before the window, so that rows that it
// drops move the watermark but are not late.
func (m maker) grouping(rows []*event, where term) question {
	source := "t"
	if where.sql != "" {
		source = "f"
	}
	var windows func(ts int64) [][2]int64
	tvf := ""
	step := int64(1+m.pick(4)) * 1000
	size := step * int64(2+m.pick(4))
	offset := int64(m.pick(3)) * 700
	end := func(ts, size int64) int64 { return (ts-offset)/size*size + size + offset } // times are far from 0
	seconds := func(ms int64) string { return fmt.Sprintf("INTERVAL '%d.%03d' SECOND(3)", ms/1000, ms%1000) }
	switch m.pick(4) {
	case 0:
		tvf = fmt.Sprintf("TUMBLE(TABLE %s, DESCRIPTOR(ts), %s, %s)", source, seconds(size), seconds(offset))
		windows = func(ts int64) [][2]int64 { return [][2]int64{{end(ts, size) - size, end(ts, size)}} }
	case 1:
		tvf = fmt.Sprintf("HOP(TABLE %s, DESCRIPTOR(ts), %s, %s, %s)", source, seconds(step), seconds(size), seconds(offset))
		windows = func(ts int64) (out [][2]int64) {
			for e := end(ts, step); e-size <= ts; e += step {
				out = append(out, [2]int64{e - size, e})
			}
			return out
		}
	case 2:
		tvf = fmt.Sprintf("CUMULATE(TABLE %s, DESCRIPTOR(ts), %s, %s, %s)", source, seconds(step), seconds(size), seconds(offset))
		windows = func(ts int64) (out [][2]int64) {
			for e := end(ts, step); e <= end(ts, size); e += step {
				out = append(out, [2]int64{end(ts, size) - size, e})
			}
			return out
		}
	}
	var keys []term
	for range m.pick(3) {
		keys = append(keys, []func(int) term{m.integer, m.text, m.condition}[m.pick(3)](1))
	}
	var aggs []aggregate
	for range 1 + m.pick(4) {
		aggs = append(aggs, m.aggregate())
	}
	type group struct {
		key  []cell
		rows []*event
	}
	groups := map[string]*group{}
	var q question
	wm := int64(-1 << 62)
	for _, e := range rows {
		before := wm
		wm = max(wm, e.ts-windowDelay)
		if where.eval(e) != true {
			continue
		}
		var key []cell
		for _, k := range keys {
			key = append(key, k.eval(e))
		}
		if windows == nil {
			id := show(key)
			if groups[id] == nil {
				groups[id] = &group{key: key}
			}
			groups[id].rows = append(groups[id].rows, e)
			continue
		}
		some := false
		for _, w := range windows(e.ts) {
			if w[1]-1 <= before {
				continue
			}
			some = true
			full := append([]cell{w[0], w[1]}, key...)
			id := show(full)
			if groups[id] == nil {
				groups[id] = &group{key: full}
			}
			groups[id].rows = append(groups[id].rows, e)
		}
		if !some {
			q.late++
		}
	}
	if windows == nil && len(keys) == 0 && len(groups) == 0 {
		groups[""] = &group{}
		q.nothing = true
	}
	for _, id := range slices.Sorted(maps.Keys(groups)) {
		g := groups[id]
		cells := slices.Clone(g.key)
		for _, a := range aggs {
			cells = append(cells, a.eval(g.rows))
		}
		q.answer = append(q.answer, show(cells))
	}
	var list, by []string
	if windows != nil {
		list = append(list, "window_start", "window_end")
		by = append(by, "window_start", "window_end")
	} else {
		tvf = source
	}
	for _, k := range keys {
		list = append(list, k.sql)
		by = append(by, k.sql)
	}
	for i, a := range aggs {
		list = append(list, fmt.Sprintf("%s AS g%d", a.sql, i))
	}
	q.sql = "SELECT " + strings.Join(list, ", ") + " FROM " + tvf
	if where.sql != "" {
		q.sql = "WITH f AS (SELECT * FROM t" + where.sql + ") " + q.sql
	}
	if len(by) > 0 {
		q.sql += " GROUP BY " + strings.Join(by, ", ")
	}
	return q
}

// writeRandom makes rows out of order, some of them late, with NULLs, as JSON.
func writeRandom(t *testing.T, m maker, path string, n int) []*event {
	t.Helper()
	var rows []*event
	var text strings.Builder
	at := time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC).UnixMilli()
	number := func(n int) cell {
		if m.pick(6) == 0 {
			return nil
		}
		return int64(m.pick(n) - n/2)
	}
	put := func(v cell) string {
		if v == nil {
			return "null"
		}
		return fmt.Sprint(v)
	}
	for range n {
		at += int64(m.pick(1500))
		e := &event{k: number(5), a: number(9), b: number(1000), ts: at - int64(m.pick(6000))}
		if m.pick(20) == 0 {
			e.ts -= int64(m.pick(30000))
		}
		s := "null"
		if m.pick(5) > 0 {
			e.s = strings.Repeat(string(rune('a'+m.pick(3))), 1+m.pick(3))
			s = strconv.Quote(e.s.(string))
		}
		fmt.Fprintf(&text, "{\"k\":%s,\"a\":%s,\"b\":%s,\"s\":%s,\"ts\":\"%s\"}\n", put(e.k), put(e.a), put(e.b), s, time.UnixMilli(e.ts).UTC().Format("2006-01-02 15:04:05.000"))
		rows = append(rows, e)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestRandomQueries asks random queries of random rows, each under a random batch size, number of threads and parallelism, and compares the answer and
// the number of late rows with those of the oracle. WEIR_RANDOM_QUERIES sets how many.
func TestRandomQueries(t *testing.T) {
	n := 300
	if s := os.Getenv("WEIR_RANDOM_QUERIES"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	seed := uint64(1)
	if s := os.Getenv("WEIR_RANDOM_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	path := filepath.Join(t.TempDir(), "t.json")
	var rows []*event
	for i := range n {
		m := maker{rand.New(rand.NewPCG(seed, uint64(i)))}
		if i%50 == 0 {
			rows = writeRandom(t, m, path, []int{0, 1, 40, 400}[m.pick(4)])
		}
		q := m.question(rows)
		config := map[string]string{"weir.result-mode": "table", "execution.runtime-mode": []string{"streaming", "batch"}[m.pick(2)], "weir.threads": strconv.Itoa(1 + m.pick(3)), "parallelism.default": strconv.Itoa(1 + m.pick(3)),
			"weir.batch-size": strconv.Itoa([]int{1, 3, 8192}[m.pick(3)])}
		got, late := ask(t, config, path, q.sql)
		want := slices.Sorted(slices.Values(q.answer))
		if slices.Sort(got); q.nothing && config["execution.runtime-mode"] == "streaming" && len(got) == 0 {
			continue
		}
		if !slices.Equal(got, want) || late != q.late {
			t.Fatalf("query %d (%v, %d rows)\n%s\ngot  (%d late)\n%s\nwant (%d late)\n%s", i, config, len(rows), q.sql, late, strings.Join(got, "\n"), q.late, strings.Join(want, "\n"))
		}
	}
}

// ask runs a query over the file and gives its rows as the oracle writes them.
func ask(t *testing.T, config map[string]string, path, sql string) (out []string, late int64) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	db, err := weir.Open(weir.Options{Connectors: all.Connectors(), Formats: all.Formats(), Config: config, Allocator: optest.Poison{Mem: mem}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Exec(t.Context(), fmt.Sprintf(`CREATE TABLE t (k BIGINT, a BIGINT, b BIGINT, s STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '%d' SECOND)
		WITH ('connector' = 'filesystem', 'path' = '%s', 'format' = 'json')`, windowDelay/1000, path)); err != nil {
		t.Fatal(err)
	}
	q, err := db.Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	defer q.Close()
	for r, err := range q.All() {
		if err != nil {
			t.Fatalf("%v\n%s", err, sql)
		}
		if r.Kind != weir.Insert {
			t.Fatalf("a row of kind %v\n%s", r.Kind, sql)
		}
		cells := make([]cell, len(r.Values))
		for i, v := range r.Values {
			if at, ok := r.Time(i); ok {
				v = at.UnixMilli()
			}
			cells[i] = v
		}
		out = append(out, show(cells))
	}
	return out, q.Stats().LateRows
}
