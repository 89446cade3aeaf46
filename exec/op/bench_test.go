package op

import (
	"context"
	"math/rand"
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

func benchEnv() *exec.Env {
	return &exec.Env{Allocator: memory.DefaultAllocator, Zone: time.UTC, BatchRows: 8192, Bytes: exec.NewAccount("bench", nil), Metrics: &exec.Metrics{}}
}

type sinkOutput struct{ rows int }

func (s *sinkOutput) Emit(b stream.Batch) error    { s.rows += b.Len(); b.Release(); return nil }
func (s *sinkOutput) Watermark(stream.Time) error  { return nil }
func (s *sinkOutput) Side(name string) exec.Output { return nil }

// chain hands what one operator emits to the next.
type chain struct {
	op  exec.Operator
	out exec.Output
}

func (c *chain) Emit(b stream.Batch) error {
	return c.op.ProcessBatch(context.Background(), 0, b, c.out)
}
func (c *chain) Watermark(t stream.Time) error {
	return c.op.ProcessWatermark(context.Background(), t, c.out)
}
func (c *chain) Side(string) exec.Output { return nil }

const benchRows = 8192

// benchBatches makes bids as the nexmark generator does: half of them for one hot auction of the last hundred.
func benchBatches(n int, text bool) []stream.Batch {
	rnd := rand.New(rand.NewSource(1))
	schema := arrow.NewSchema([]arrow.Field{{Name: "auction", Type: arrow.PrimitiveTypes.Int64}, {Name: "price", Type: arrow.PrimitiveTypes.Int64},
		{Name: "ts", Type: types.TimestampOf(3).Arrow()}, {Name: "bidder", Type: arrow.PrimitiveTypes.Int64}, {Name: "channel", Type: arrow.BinaryTypes.String}}, nil)
	channels := make([]string, 10000)
	for i := range channels {
		channels[i] = "channel-" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676))
	}
	var out []stream.Batch
	t := int64(1_700_000_000_000_000)
	auction := int64(1000)
	for range n {
		a, p, ts, bd, ch := array.NewInt64Builder(memory.DefaultAllocator), array.NewInt64Builder(memory.DefaultAllocator),
			array.NewTimestampBuilder(memory.DefaultAllocator, types.TimestampOf(3).Arrow().(*arrow.TimestampType)), array.NewInt64Builder(memory.DefaultAllocator),
			array.NewStringBuilder(memory.DefaultAllocator)
		for range benchRows {
			t += 109 // about 92,000 bids a second of event time: ten per cent are up to 0.4 s late
			if rnd.Intn(15) == 0 {
				auction++
			}
			k := auction - int64(rnd.Intn(100))
			if rnd.Intn(2) == 0 {
				k = auction / 100 * 100
			}
			a.Append(k)
			p.Append(rnd.Int63n(10000))
			ts.Append(arrow.Timestamp((t - int64(rnd.Intn(400_000))) / 1000 * 1000))
			bidder := auction/3 - int64(rnd.Intn(1000))
			if rnd.Intn(4) > 0 {
				bidder = auction / 300 * 100
			}
			bd.Append(bidder)
			if text {
				c := rnd.Intn(len(channels))
				if rnd.Intn(2) == 0 {
					c %= 4
				}
				ch.Append(channels[c])
			} else {
				ch.Append("")
			}
		}
		out = append(out, stream.Batch{Record: array.NewRecordBatch(schema, []arrow.Array{a.NewArray(), p.NewArray(), ts.NewArray(), bd.NewArray(), ch.NewArray()}, benchRows)})
	}
	return out
}

func benchAggs() []Aggregate {
	i := types.BigIntType
	return []Aggregate{
		{Spec: expr.AggSpec{Name: "COUNT", Result: i.NotNull()}, Filter: -1},
		{Spec: expr.AggSpec{Name: "MAX", Args: []types.Type{i}, Result: i}, Args: []int{1}, Filter: -1},
		{Spec: expr.AggSpec{Name: "AVG", Args: []types.Type{i}, Result: i}, Args: []int{1}, Filter: -1},
	}
}

func benchConfig(w Window, key int, kt types.Type, aggs []Aggregate) WindowAggregateConfig {
	cfg := WindowAggregateConfig{Window: w, TimeColumn: 2, Keys: []int{key}, KeyTypes: []types.Type{kt}, Aggregates: aggs,
		Properties: []WindowProperty{WindowStart, WindowEnd}}
	cfg.Schema = types.Schema{{Name: "k", Type: kt}}
	for _, a := range aggs {
		cfg.Schema = append(cfg.Schema, types.Column{Name: "a", Type: a.Spec.Result})
	}
	cfg.Schema = append(cfg.Schema, types.Column{Name: "ws", Type: types.TimestampOf(3)}, types.Column{Name: "we", Type: types.TimestampOf(3)})
	return cfg
}

// run drives batches through ops, with a watermark four seconds behind after each.
func benchRun(b *testing.B, text bool, ops ...exec.Operator) {
	batches := benchBatches(512, text)
	ctx := context.Background()
	sink := &sinkOutput{}
	var out exec.Output = sink
	for i := len(ops) - 1; i >= 0; i-- {
		if err := ops[i].Open(ctx, benchEnv(), nil); err != nil {
			b.Fatal(err)
		}
		out = &chain{ops[i], out}
	}
	mx := stream.MinTime
	b.ResetTimer()
	rows, cpu := 0, cpuTime()
	for i := 0; rows < b.N; i++ {
		bt := batches[i%len(batches)]
		if i%len(batches) == 0 && i > 0 {
			b.StopTimer()
			for _, o := range ops {
				o.Close()
				_ = o.Open(ctx, benchEnv(), nil)
			}
			mx = stream.MinTime
			b.StartTimer()
		}
		bt.Retain()
		if err := out.Emit(bt); err != nil {
			b.Fatal(err)
		}
		ts := times(bt.Record.Column(2))
		mx = max(mx, stream.Time(ts[len(ts)-1]-4_000_000))
		if err := out.Watermark(mx); err != nil {
			b.Fatal(err)
		}
		rows += bt.Len()
	}
	b.ReportMetric(float64(cpuTime()-cpu)/float64(rows), "cpu-ns/row")
}

var tumble10s = Window{Kind: Tumble, Size: 10_000_000, Precision: 3}

func BenchmarkTumbleTwoPhases(b *testing.B) {
	cfg := benchConfig(tumble10s, 0, types.BigIntType, benchAggs())
	benchRun(b, false, NewLocalWindowAggregate(cfg), NewGlobalWindowAggregate(cfg))
}

func BenchmarkTumbleOnePhase(b *testing.B) {
	benchRun(b, false, NewWindowAggregate(benchConfig(tumble10s, 0, types.BigIntType, benchAggs())))
}

func BenchmarkTumbleStringKey(b *testing.B) {
	cfg := benchConfig(tumble10s, 4, types.StringType, benchAggs())
	benchRun(b, true, NewLocalWindowAggregate(cfg), NewGlobalWindowAggregate(cfg))
}

func BenchmarkHop(b *testing.B) {
	cfg := benchConfig(Window{Kind: Hop, Size: 10_000_000, Step: 2_000_000, Precision: 3}, 0, types.BigIntType, benchAggs())
	benchRun(b, false, NewLocalWindowAggregate(cfg), NewGlobalWindowAggregate(cfg))
}

func BenchmarkCountDistinctPerDay(b *testing.B) {
	i := types.BigIntType
	cfg := benchConfig(Window{Kind: Tumble, Size: 86400_000_000, Precision: 3}, 0, i, []Aggregate{
		{Spec: expr.AggSpec{Name: "COUNT", Args: []types.Type{i}, Result: i.NotNull()}, Args: []int{3}, Filter: -1, Distinct: true}})
	cfg.Keys, cfg.KeyTypes, cfg.Schema = nil, nil, cfg.Schema[1:]
	benchRun(b, false, NewWindowAggregate(cfg))
}

var benchSchema = types.Schema{{Name: "auction", Type: types.BigIntType}, {Name: "price", Type: types.BigIntType}, {Name: "ts", Type: types.TimestampOf(3)},
	{Name: "bidder", Type: types.BigIntType}, {Name: "channel", Type: types.StringType}}

func BenchmarkCalcFilter(b *testing.B) {
	i := types.BigIntType
	filter, err := expr.Call("<", nil, []expr.Evaluator{expr.Column(1, i), expr.Literal(int64(100), i)}, types.BooleanType, expr.Where{Text: "price < 100"})
	if err != nil {
		b.Fatal(err)
	}
	benchRun(b, true, NewCalc(filter, []expr.Evaluator{expr.Column(0, i), expr.Column(1, i), expr.Column(4, types.StringType)},
		types.Schema{benchSchema[0], benchSchema[1], benchSchema[4]}))
}

func BenchmarkGroupAggregate(b *testing.B) {
	for _, c := range []struct {
		name  string
		keys  []int
		final bool
	}{{"changelog", []int{0}, false}, {"final", []int{0}, true}, {"final global", nil, true}} {
		b.Run(c.name, func(b *testing.B) {
			cfg := GroupAggregateConfig{Keys: c.keys, Aggregates: benchAggs(), UpdateBefore: true, Final: c.final}
			for _, k := range c.keys {
				cfg.KeyTypes = append(cfg.KeyTypes, benchSchema[k].Type)
				cfg.Schema = append(cfg.Schema, benchSchema[k])
			}
			for _, a := range cfg.Aggregates {
				cfg.Schema = append(cfg.Schema, types.Column{Name: "a", Type: a.Spec.Result})
			}
			benchRun(b, false, NewGroupAggregate(cfg))
		})
	}
}

func BenchmarkWindowTableFunction(b *testing.B) {
	ts := types.TimestampOf(3)
	benchRun(b, true, NewWindowTableFunction(tumble10s, 2, append(append(types.Schema{}, benchSchema...), types.Column{Name: "ws", Type: ts},
		types.Column{Name: "we", Type: ts}, types.Column{Name: "wt", Type: ts})))
}

func BenchmarkExpand(b *testing.B) {
	benchRun(b, false, NewExpand([]ExpandSet{{Columns: []int{0, 1}, ID: 0}, {Columns: []int{-1, 1}, ID: 1}},
		types.Schema{benchSchema[0], benchSchema[1], {Name: "id", Type: types.BigIntType}}))
}

func BenchmarkTopN(b *testing.B) {
	benchRun(b, true, NewTopN([]SortKey{{Column: 1, Type: types.BigIntType, Desc: true, NullsLast: true}}, 100, 0, benchSchema))
}

func BenchmarkSort(b *testing.B) {
	o := NewSort([]SortKey{{Column: 1, Type: types.BigIntType}, {Column: 0, Type: types.BigIntType}}, benchSchema, false)
	const rows = 64 * benchRows
	batches := benchBatches(64, true)
	b.ResetTimer()
	for n := 0; n < b.N; n += rows {
		if err := o.Open(context.Background(), benchEnv(), nil); err != nil {
			b.Fatal(err)
		}
		for _, bt := range batches {
			bt.Retain()
			if err := o.ProcessBatch(context.Background(), 0, bt, nil); err != nil {
				b.Fatal(err)
			}
		}
		if err := o.Finish(context.Background(), &sinkOutput{}); err != nil {
			b.Fatal(err)
		}
		o.Close()
	}
}
