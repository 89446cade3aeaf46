package op

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/expr"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// randomRow is a row and the watermark before it.
type randomRow struct {
	time, key, val int64
	before         stream.Time
}

// naiveWindows gives the results that rows give one by one, with nothing but the definition of windows: the rows of every window, closed when the
// watermark passes.
func naiveWindows(w Window, rows []randomRow) (out []string, late, partly int) {
	ends := func(t int64) (all []int64) { // of the windows of a time, ascending
		start := func(size int64) int64 { return t - types.FloorMod(t-w.Offset, size) }
		switch w.Kind {
		case Tumble:
			all = append(all, start(w.Size)+w.Size)
		case Hop:
			for s := start(w.Step); s > t-w.Size; s -= w.Step {
				all = append(all, s+w.Size)
			}
			slices.Reverse(all)
		case Cumulate:
			s := start(w.Size)
			for e := s + w.Step; e <= s+w.Size; e += w.Step {
				if e > t {
					all = append(all, e)
				}
			}
		}
		return all
	}
	slice := func(t int64) int64 { // orders the groups of a window
		step := w.Step
		if w.Kind == Tumble {
			step = w.Size
		}
		return t - types.FloorMod(t-w.Offset, step)
	}
	type group struct {
		key, n, sum, max int64
		slice            int64
		born             int
	}
	open := map[int64][]*group{}
	fire := func(wm stream.Time) {
		var due []int64
		for e := range open {
			if stream.Time(e-1000) <= wm {
				due = append(due, e)
			}
		}
		slices.Sort(due)
		for _, e := range due {
			gs := open[e]
			sort.SliceStable(gs, func(i, j int) bool {
				return gs[i].slice < gs[j].slice || gs[i].slice == gs[j].slice && gs[i].born < gs[j].born
			})
			for _, g := range gs {
				out = append(out, fmt.Sprint(g.key, g.n, g.max, g.sum, e))
			}
			delete(open, e)
		}
	}
	for i, r := range rows {
		fire(r.before)
		in, missed := 0, 0
		for _, e := range ends(r.time) {
			if stream.Time(e-1000) <= r.before {
				missed++
				continue
			}
			in++
			var g *group
			for _, h := range open[e] {
				if h.key == r.key {
					g = h
				}
			}
			s := slice(r.time)
			if g == nil {
				g = &group{key: r.key, slice: s, born: i, max: r.val}
				open[e] = append(open[e], g)
			}
			if s < g.slice {
				g.slice, g.born = s, i
			}
			g.n++
			g.sum += r.val
			g.max = max(g.max, r.val)
		}
		switch {
		case in == 0:
			late++
		case missed > 0:
			partly++
		}
	}
	fire(stream.MaxTime)
	return out, late, partly
}

type textOutput struct{ lines []string }

func (o *textOutput) Emit(b stream.Batch) error {
	defer b.Release()
	cols := b.Record.Columns()
	for i := range b.Len() {
		v := make([]any, len(cols))
		for c, a := range cols {
			v[c] = values[int64](a)[i]
		}
		o.lines = append(o.lines, fmt.Sprint(v...))
	}
	return nil
}
func (o *textOutput) Watermark(stream.Time) error { return nil }
func (o *textOutput) Side(string) exec.Output     { return nil }

// TestRandomWindows: windows of all kinds over random rows, many of them late, in random batches, in one phase, two phases and step by step, against the
// definition.
func TestRandomWindows(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	schema := types.Schema{{Name: "k", Type: types.BigIntType}, {Name: "v", Type: types.BigIntType}, {Name: "ts", Type: types.TimestampOf(3)}}
	aggs := []Aggregate{{Spec: expr.AggSpec{Name: "COUNT", Result: types.BigIntType}, Filter: -1}}
	for _, n := range []string{"MAX", "SUM"} {
		aggs = append(aggs, Aggregate{Spec: expr.AggSpec{Name: n, Args: []types.Type{types.BigIntType}, Result: types.BigIntType}, Args: []int{1}, Filter: -1})
	}
	last := Aggregate{Spec: expr.AggSpec{Name: "LAST_VALUE", Args: []types.Type{types.BigIntType}, Result: types.BigIntType}, Args: []int{1}, Filter: -1}
	const s = 1_000_000
	ctx := context.Background()
	for _, w := range []Window{
		{Kind: Tumble, Size: 10 * s}, {Kind: Tumble, Size: 7 * s, Offset: -3 * s}, {Kind: Hop, Size: 10 * s, Step: 2 * s}, {Kind: Hop, Size: 6 * s, Step: 6 * s},
		{Kind: Hop, Size: 12 * s, Step: 4 * s, Offset: s}, {Kind: Cumulate, Size: 20 * s, Step: 5 * s}, {Kind: Cumulate, Size: 12 * s, Step: 2 * s, Offset: -5 * s},
	} {
		for seed := range int64(25) {
			r := rand.New(rand.NewSource(seed))
			wm := stream.MinTime
			var rows []randomRow
			for i := range 300 {
				at := (int64(i)*200 - r.Int63n(6000)*r.Int63n(2)) * 1000 * (1 + seed%5)
				rows = append(rows, randomRow{at, r.Int63n(5), r.Int63n(100), wm})
				if r.Intn(1+int(seed%7)) == 0 {
					wm = max(wm, stream.Time(at-r.Int63n(2000)*1000*(seed%3)))
				}
			}
			want, late, partly := naiveWindows(w, rows)
			for mode := range 4 {
				cfg := WindowAggregateConfig{Window: w, TimeColumn: 2, Keys: []int{0}, KeyTypes: []types.Type{types.BigIntType}, Aggregates: aggs,
					Properties: []WindowProperty{WindowEnd}, Shown: mode == 2}
				if mode == 3 { // a state for each window
					cfg.Aggregates = append(slices.Clone(aggs), last)
				}
				cfg.Schema = append(cfg.Schema, schema[0])
				for range cfg.Aggregates {
					cfg.Schema = append(cfg.Schema, schema[1])
				}
				cfg.Schema = append(cfg.Schema, schema[2])
				ops := []exec.Operator{NewWindowAggregate(cfg)}
				if mode == 1 {
					ops = []exec.Operator{NewLocalWindowAggregate(cfg), NewGlobalWindowAggregate(cfg)}
				}
				text := &textOutput{}
				metrics := &exec.Metrics{}
				var out exec.Output = text
				for i := len(ops) - 1; i >= 0; i-- {
					env := &exec.Env{Allocator: mem, Zone: time.UTC, BatchRows: 1 + r.Intn(50), Bytes: exec.NewAccount("", nil), Metrics: metrics}
					if err := ops[i].Open(ctx, env, nil); err != nil {
						t.Fatal(err)
					}
					out = &chain{ops[i], out}
				}
				for from := 0; from < len(rows); {
					to := min(len(rows), from+1+r.Intn(80))
					if err := out.Emit(randomBatch(mem, schema, rows[from:to], r.Intn(2) == 0)); err != nil {
						t.Fatal(err)
					}
					if to < len(rows) {
						wm = rows[to].before
					} else {
						wm = stream.MaxTime
					}
					if wm != stream.MinTime {
						if err := out.Watermark(wm); err != nil {
							t.Fatal(err)
						}
					}
					from = to
				}
				for _, o := range ops {
					if err := o.Close(); err != nil {
						t.Fatal(err)
					}
				}
				got := text.lines
				if mode == 3 { // without LAST_VALUE, which the definition does not compute
					for i := range got {
						var k, n, m, sum, l, e int64
						_, _ = fmt.Sscan(got[i], &k, &n, &m, &sum, &l, &e)
						got[i] = fmt.Sprint(k, n, m, sum, e)
					}
				}
				if !slices.Equal(got, want) {
					for i := range max(len(got), len(want)) {
						if i >= len(got) || i >= len(want) || got[i] != want[i] {
							t.Fatalf("%+v seed %d mode %d: line %d of %d: got %v, want %v", w, seed, mode, i, len(want), got[i:min(i+4, len(got))], want[i:min(i+4, len(want))])
						}
					}
				}
				if l, p := metrics.Counter(exec.LateRows).Load(), metrics.Counter(exec.PartlyLateRows).Load(); int(l) != late || int(p) != partly {
					t.Fatalf("%+v seed %d mode %d: %d late, %d partly late; want %d, %d", w, seed, mode, l, p, late, partly)
				}
			}
		}
	}
}

// randomBatch makes a batch; every other row is not selected when holes is set.
func randomBatch(mem memory.Allocator, schema types.Schema, rows []randomRow, holes bool) stream.Batch {
	b := array.NewRecordBuilder(mem, schema.Arrow())
	defer b.Release()
	var res stream.Batch
	put := func(r randomRow) {
		b.Field(0).(*array.Int64Builder).Append(r.key)
		b.Field(1).(*array.Int64Builder).Append(r.val)
		b.Field(2).(*array.TimestampBuilder).Append(arrow.Timestamp(r.time))
		res.Before = append(res.Before, r.before)
	}
	for _, r := range rows {
		if holes {
			put(randomRow{time: -5, key: 77, val: 1 << 50, before: r.before})
			res.Selection = append(res.Selection, int32(len(res.Before)))
		}
		put(r)
	}
	res.Record = b.NewRecordBatch()
	return res
}
