package build

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/exec/task"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/planner/physical"
	"github.com/weir-sql/weir/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testTable is a bounded table (k STRING, v BIGINT, ts TIMESTAMP(3)) of splits of rows.
type testTable struct {
	splits [][]testRow
	block  int
}

type testRow struct {
	k  string
	v  int64
	ts int64 // milliseconds
}

var testSchema = types.Schema{{Name: "k", Type: types.StringType}, {Name: "v", Type: types.BigIntType}, {Name: "ts", Type: types.TimestampOf(3)}}

func (t *testTable) Schema() types.Schema                              { return testSchema }
func (t *testTable) MetadataKeys() types.Schema                        { return nil }
func (t *testTable) MetadataWritable(string) bool                      { return false }
func (t *testTable) Bounded() bool                                     { return true }
func (t *testTable) ChangelogKinds() string                            { return "I" }
func (t *testTable) AcceptsKinds() string                              { return "" }
func (t *testTable) RowEstimate() int64                                { return -1 }
func (t *testTable) SuppliesWatermarks() bool                          { return false }
func (t *testTable) Source(connectors.Scan) (connectors.Source, error) { return t, nil }
func (t *testTable) Changed() <-chan struct{}                          { return nil }
func (t *testTable) Close() error                                      { return nil }
func (t *testTable) Splits(context.Context, *connectors.Env) (out []connectors.Split, err error) {
	for i := range t.splits {
		out = append(out, connectors.Split{ID: fmt.Sprint(i), Bounded: true})
	}
	return out, nil
}

func (t *testTable) Open(_ context.Context, _ *connectors.Env, sp connectors.Split, from connectors.Position, _ int) (connectors.Reader, error) {
	r := &testReader{t: t}
	_, _ = fmt.Sscan(sp.ID, &r.split)
	if from != nil {
		_, _ = fmt.Sscan(string(from), &r.at)
	}
	return r, nil
}

type testReader struct {
	t         *testTable
	split, at int
}

func (r *testReader) Ready() <-chan struct{} { return nil }
func (r *testReader) Close() error           { return nil }
func (r *testReader) Next(context.Context) (connectors.Block, error) {
	rows := r.t.splits[r.split]
	if r.at >= len(rows) {
		return connectors.Block{}, connectors.EOF
	}
	to := min(r.at+r.t.block, len(rows))
	rows = rows[r.at:to]
	r.at = to
	return connectors.Block{Position: []byte(fmt.Sprint(to)), Watermark: stream.MinTime, Decode: func(_ context.Context, mem memory.Allocator) (connectors.Decoded, error) {
		b := array.NewRecordBuilder(mem, testSchema.Arrow())
		defer b.Release()
		for _, x := range rows {
			for i, v := range []any{x.k, x.v, types.TimestampVal(x.ts * 1000)} {
				if err := types.Append(b.Field(i), v, testSchema[i].Type); err != nil {
					return connectors.Decoded{}, err
				}
			}
		}
		return connectors.Decoded{Batch: stream.Batch{Record: b.NewRecordBatch()}}, nil
	}}, nil
}

// collector keeps rows as text.
type collector struct {
	mu     sync.Mutex
	schema types.Schema
	rows   *[]string
}

func (c *collector) Open(context.Context, *connectors.Env, [][]byte) error { return nil }
func (c *collector) Write(_ context.Context, b stream.Batch) error {
	defer b.Release()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range b.Len() {
		r := b.Row(i)
		line := b.Kind(r).String()
		for k := range c.schema {
			line += "," + string(types.AppendFormat(nil, b.Record.Column(k), r, c.schema[k].Type, nil))
		}
		*c.rows = append(*c.rows, line)
	}
	return nil
}
func (c *collector) Prepare(context.Context, int64) ([]byte, error) { return nil, nil }
func (c *collector) Commit(context.Context, []byte) error           { return nil }
func (c *collector) Close() error                                   { return nil }

// scanOf reads t with WATERMARK FOR ts AS ts - INTERVAL delay.
func scanOf(t *testTable, delay int64) *physical.Scan {
	out := make([]physical.ScanColumn, len(testSchema))
	for i, c := range testSchema {
		out[i] = physical.ScanColumn{Name: c.Name, Expr: logical.NewColumn(testSchema, i), Type: c.Type}
	}
	out[2].Type.Attr = types.Rowtime
	ts := &logical.Column{Index: 2, Name: "ts", Type: testSchema[2].Type}
	wm := &physical.Watermark{Column: 2, Expr: &logical.Call{Name: "-", Args: []logical.Expr{ts, &logical.Literal{Value: types.DurationVal(delay), Type: types.DayTimeType.NotNull()}},
		Type: types.TimestampOf(3)}}
	table := &catalog.Table{Path: catalog.Path{Catalog: "c", Database: "d", Name: "t"}}
	return physical.NewScan(table, t, []int{0, 1, 2}, nil, out, wm, ast.Pos{})
}

func tumble(in physical.Node, seconds int64) physical.Node {
	g := physical.WindowGrouping{Window: physical.Window{Kind: physical.Tumble, Size: seconds * 1e6, Slide: seconds * 1e6, TimeColumn: 2, Unit: 1000, Precision: 3},
		GroupBy: []int{0}, Aggregates: []physical.Aggregate{{Func: "COUNT", Filter: -1, Type: types.BigIntType.NotNull(), Name: "n", Text: "COUNT(*)"},
			{Func: "SUM", Args: []int{1}, Literals: []*logical.Literal{nil}, Filter: -1, Type: types.BigIntType, Name: "s", Text: "SUM(v)"}},
		WindowColumns: []physical.WindowColumn{physical.WindowStart, physical.WindowEnd, physical.WindowTime}}
	local := physical.NewLocalWindowAggregate(in, g)
	return physical.NewGlobalWindowAggregate(local, local)
}

// run runs a plan to its end; with everyRow it stops behind so many rows, and goes on from the snapshot.
func run(t *testing.T, make func() physical.Node, o task.Options, everyRow int64) ([]string, []task.OperatorStats) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	o.Allocator = mem
	var rows []string
	for {
		root := physical.NewCollect(make())
		p := physical.NewPlan(root)
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		g, err := Graph(p, Options{Allocator: mem, Collect: func(c *physical.Collect) (connectors.Sink, error) {
			return &collector{schema: c.Schema(), rows: &rows}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if everyRow > 0 {
			o.CheckpointAfterRows, o.StopAfterRows = everyRow, true
		}
		j, err := task.Start(context.Background(), g, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Wait(); err != nil {
			t.Fatal(err)
		}
		snap, err := j.RowCheckpoint(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		o.Restore.Release()
		o.Restore = snap
		if snap == nil {
			return rows, j.Counters()
		}
	}
}

// TestTumble runs a tumbling window from the scan to the collector.
func TestTumble(t *testing.T) {
	table := &testTable{block: 3, splits: [][]testRow{
		{{"a", 1, 1000}, {"b", 2, 4000}, {"a", 3, 12000}, {"b", 4, 3000}, {"c", 5, 21000}},
		{{"a", 10, 2000}, {"a", 20, 9000}, {"c", 30, 15000}},
	}}
	want := []string{
		"+I,a,3,31,1970-01-01 00:00:00.000,1970-01-01 00:00:10.000,1970-01-01 00:00:09.999",
		"+I,b,2,6,1970-01-01 00:00:00.000,1970-01-01 00:00:10.000,1970-01-01 00:00:09.999",
		"+I,a,1,3,1970-01-01 00:00:10.000,1970-01-01 00:00:20.000,1970-01-01 00:00:19.999",
		"+I,c,1,30,1970-01-01 00:00:10.000,1970-01-01 00:00:20.000,1970-01-01 00:00:19.999",
		"+I,c,1,5,1970-01-01 00:00:20.000,1970-01-01 00:00:30.000,1970-01-01 00:00:29.999",
	}
	for _, threads := range []int{1, 2, 8} {
		for _, batch := range []int{1, 7, 8192} {
			for _, every := range []int64{0, 1, 3} {
				got, _ := run(t, func() physical.Node { return tumble(scanOf(table, 5e6), 10) }, task.Options{Threads: threads, BatchRows: batch}, every)
				if !slices.Equal(got, want) {
					t.Fatalf("threads %d batch %d restore every %d rows:\ngot\n%s\nwant\n%s", threads, batch, every, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		}
	}
}
