package build

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/task"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/planner/physical"
	"github.com/weir-sql/weir/types"
)

// unevenTable has splits with uneven, overlapping times, ties and late rows.
func unevenTable(rnd *rand.Rand, splits, rows int) *testTable {
	t := &testTable{block: 5}
	for range splits {
		at := rnd.Int63n(20000)
		var s []testRow
		for range 1 + rnd.Intn(rows) {
			at += rnd.Int63n(1500)
			r := testRow{k: string(rune('a' + rnd.Intn(5))), v: rnd.Int63n(100), ts: at}
			switch rnd.Intn(12) {
			case 0:
				r.ts -= 15000
			case 1, 2:
				r.ts -= 1000
			}
			s = append(s, r)
		}
		t.splits = append(t.splits, s)
	}
	return t
}

// TestSameBytes runs windows over eight overlapping splits, and over a UNION ALL of two such tables, with late rows: one output at any number of threads,
// batch size and block size, and with restores at random rows.
func TestSameBytes(t *testing.T) {
	rnd := rand.New(rand.NewSource(7))
	a, b := unevenTable(rnd, 8, 60), unevenTable(rnd, 8, 60)
	plans := map[string]func() physical.Node{
		"windows":              func() physical.Node { return tumble(scanOf(a, 0), 10) },
		"windows, delay":       func() physical.Node { return tumble(scanOf(a, 3e6), 10) },
		"windows over a union": func() physical.Node { return tumble(physical.NewUnion(scanOf(a, 0), scanOf(b, 0)), 10) },
		"windows over a union, delay": func() physical.Node {
			return tumble(physical.NewUnion(scanOf(a, 3e6), scanOf(b, 3e6)), 10)
		},
		"union of windows": func() physical.Node {
			return physical.NewUnion(tumble(scanOf(a, 3e6), 10), tumble(scanOf(b, 0), 5))
		},
		"rows":          func() physical.Node { return scanOf(a, 0) },
		"union of rows": func() physical.Node { return physical.NewUnion(scanOf(a, 1e6), scanOf(b, 0)) },
	}
	for name, plan := range plans {
		t.Run(name, func(t *testing.T) {
			a.block, b.block = 5, 5
			want, counters := run(t, plan, task.Options{Threads: 1, BatchRows: 8192}, 0)
			if len(want) == 0 {
				t.Fatal("no rows")
			}
			h := fnv.New64a()
			h.Write([]byte(strings.Join(want, "\n")))
			t.Logf("%d rows, hash %x, late rows %d", len(want), h.Sum64(), late(counters))
			if strings.HasPrefix(name, "windows") && late(counters) == 0 {
				t.Error("no late rows: the test does not show what it should")
			}
			for _, threads := range []int{1, 2, 8} {
				for _, batch := range []int{1, 7, 8192} {
					for _, every := range []int64{0, 1 + rnd.Int63n(60)} {
						a.block, b.block = 1+rnd.Intn(30), 1+rnd.Intn(30)
						got, c := run(t, plan, task.Options{Threads: threads, BatchRows: batch}, every)
						if !slices.Equal(got, want) {
							t.Fatalf("threads %d batch %d restore every %d rows:\n%s", threads, batch, every, firstDifference(got, want))
						}
						if late(c) != late(counters) {
							t.Errorf("threads %d batch %d restore every %d rows: %d late rows, want %d", threads, batch, every, late(c), late(counters))
						}
					}
				}
			}
		})
	}
}

func late(ops []task.OperatorStats) (n int64) {
	for _, o := range ops {
		n += o.Counters["late_rows"]
	}
	return n
}

func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			return fmt.Sprintf("row %d of %d and %d: got %s, want %s", i, len(got), len(want), g, w)
		}
	}
	return "none"
}

// TestParallel runs windows in three copies: the rows are those of one, in the same order.
func TestParallel(t *testing.T) {
	rnd := rand.New(rand.NewSource(11))
	a := unevenTable(rnd, 4, 80)
	parallel := func() physical.Node {
		g := tumble(scanOf(a, 3e6), 10).(*physical.GlobalWindowAggregate)
		spread := physical.NewExchange(g.Local(), physical.HashExchange, []int{0}, 3)
		return physical.NewExchange(physical.NewGlobalWindowAggregate(spread, g.Local()), physical.Gather, nil, 1)
	}
	one, counters := run(t, func() physical.Node { return tumble(scanOf(a, 3e6), 10) }, task.Options{}, 0)
	want, c := run(t, parallel, task.Options{}, 0)
	if late(c) != late(counters) || late(c) == 0 {
		t.Errorf("%d late rows, want %d", late(c), late(counters))
	}
	if !slices.Equal(one, want) {
		t.Fatalf("other rows than in one copy: %s", firstDifference(want, one))
	}
	for _, threads := range []int{1, 4} {
		for _, batch := range []int{1, 7, 8192} {
			for _, every := range []int64{0, 1 + rnd.Int63n(60)} {
				a.block = 1 + rnd.Intn(30)
				got, _ := run(t, parallel, task.Options{Threads: threads, BatchRows: batch}, every)
				if !slices.Equal(got, want) {
					t.Fatalf("threads %d batch %d restore every %d rows:\n%s", threads, batch, every, firstDifference(got, want))
				}
			}
		}
	}
}

// TestParallelGroups runs GROUP BY without windows in three copies, as a changelog and with its last rows only: all is as in one copy.
func TestParallelGroups(t *testing.T) {
	rnd := rand.New(rand.NewSource(13))
	a := unevenTable(rnd, 3, 150)
	calls := []physical.Aggregate{{Func: "COUNT", Filter: -1, Type: types.BigIntType.NotNull(), Name: "n", Text: "COUNT(*)"},
		{Func: "SUM", Args: []int{1}, Literals: []*logical.Literal{nil}, Filter: -1, Type: types.BigIntType, Name: "s", Text: "SUM(v)"}}
	for _, final := range []bool{false, true} {
		one := func() physical.Node {
			return physical.NewGroupAggregate(scanOf(a, 0), []int{0}, calls, final, false, ast.Pos{})
		}
		three := func() physical.Node {
			spread := physical.NewExchange(scanOf(a, 0), physical.HashExchange, []int{0}, 3)
			return physical.NewExchange(physical.NewGroupAggregate(spread, []int{0}, calls, final, false, ast.Pos{}), physical.Gather, nil, 1)
		}
		want, _ := run(t, one, task.Options{}, 0)
		for _, threads := range []int{1, 4} {
			for _, batch := range []int{1, 7, 8192} {
				for _, every := range []int64{0, 1 + rnd.Int63n(60)} {
					a.block = 1 + rnd.Intn(30)
					got, _ := run(t, three, task.Options{Threads: threads, BatchRows: batch}, every)
					if !slices.Equal(got, want) {
						t.Fatalf("final %t threads %d batch %d restore every %d rows:\n%s", final, threads, batch, every, firstDifference(got, want))
					}
				}
			}
		}
	}
}

// TestShared feeds two sinks from one scan.
func TestShared(t *testing.T) {
	rnd := rand.New(rand.NewSource(3))
	a := unevenTable(rnd, 3, 40)
	single, _ := run(t, func() physical.Node { return tumble(scanOf(a, 0), 10) }, task.Options{}, 0)
	scan := scanOf(a, 0)
	var rows []string
	p := physical.NewPlan(physical.NewCollect(tumble(scan, 10)), physical.NewCollect(tumble(scan, 20)))
	sources := 0
	g, err := Graph(p, Options{Collect: func(c *physical.Collect) (connectors.Sink, error) {
		return &collector{schema: c.Schema(), rows: &rows}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range g.Tasks {
		if k.Source != nil {
			sources++
		}
	}
	if sources != 1 {
		t.Errorf("%d sources for a shared scan", sources)
	}
	j, err := task.Start(context.Background(), g, task.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, r := range single {
		if !slices.Contains(rows, r) {
			t.Errorf("row %s is missing", r)
		}
	}
	if len(rows) <= len(single) {
		t.Errorf("%d rows", len(rows))
	}
}
