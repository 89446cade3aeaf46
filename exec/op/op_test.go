package op_test

import (
	"testing"
	"time"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/expr"
	"github.com/weir-sql/weir/exec/op"
	"github.com/weir-sql/weir/exec/optest"
	"github.com/weir-sql/weir/types"
)

const second = 1_000_000

var (
	bigint = types.BigIntType
	double = types.DoubleType
	str    = types.StringType
	ts3    = types.TimestampOf(3)
	ltz3   = types.TimestampLTZOf(3)
)

func cols(nameType ...any) types.Schema {
	var s types.Schema
	for i := 0; i < len(nameType); i += 2 {
		s = append(s, types.Column{Name: nameType[i].(string), Type: nameType[i+1].(types.Type)})
	}
	return s
}

// call is an aggregate over columns of in.
func call(in types.Schema, name string, args ...int) op.Aggregate {
	a := op.Aggregate{Filter: -1, Args: args}
	a.Spec = expr.AggSpec{Name: name, Where: expr.Where{Text: name}, Separator: ","}
	for _, c := range args {
		a.Spec.Args = append(a.Spec.Args, in[c].Type)
	}
	switch name {
	case "COUNT":
		a.Spec.Result = bigint.NotNull()
	case "SUM":
		a.Spec.Result, _ = types.SumType(a.Spec.Args[0])
	case "AVG", "VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP":
		a.Spec.Result, _ = types.AvgType(a.Spec.Args[0])
	case "LISTAGG":
		a.Spec.Result = str
	case "COLLECT":
		a.Spec.Result = types.MultisetOf(a.Spec.Args[0])
	case "ARRAY_AGG":
		a.Spec.Result = types.ArrayOf(a.Spec.Args[0])
	default:
		a.Spec.Result = a.Spec.Args[0]
	}
	return a
}

func distinct(a op.Aggregate) op.Aggregate { a.Distinct = true; return a }

func filter(a op.Aggregate, column int) op.Aggregate { a.Filter = column; return a }

// windowed describes a window aggregate over in, whose column 0 is the time.
func windowed(w op.Window, in types.Schema, keys []int, calls ...op.Aggregate) (op.WindowAggregateConfig, types.Schema) {
	cfg := op.WindowAggregateConfig{Window: w, Keys: keys, Aggregates: calls, Properties: []op.WindowProperty{op.WindowStart, op.WindowEnd}}
	for _, k := range keys {
		cfg.KeyTypes = append(cfg.KeyTypes, in[k].Type)
		cfg.Schema = append(cfg.Schema, in[k])
	}
	for _, c := range calls {
		cfg.Schema = append(cfg.Schema, types.Column{Name: c.Spec.Name, Type: c.Spec.Result})
	}
	cfg.Schema = append(cfg.Schema, cols("window_start", ts3, "window_end", ts3)...)
	return cfg, cfg.Schema
}

func oneWindow(w op.Window, in types.Schema, keys []int, calls ...op.Aggregate) optest.Operator {
	cfg, out := windowed(w, in, keys, calls...)
	return optest.Operator{New: func() []exec.Operator { return []exec.Operator{op.NewWindowAggregate(cfg)} }, Inputs: []types.Schema{in}, Output: out, Keys: keys}
}

func twoPhases(w op.Window, in types.Schema, keys []int, calls ...op.Aggregate) optest.Operator {
	cfg, out := windowed(w, in, keys, calls...)
	return optest.Operator{New: func() []exec.Operator {
		return []exec.Operator{op.NewLocalWindowAggregate(cfg), op.NewGlobalWindowAggregate(cfg)}
	}, Inputs: []types.Schema{in}, Output: out, Keys: keys}
}

func retracting(o func(op.WindowAggregateConfig) []exec.Operator, w op.Window, in types.Schema, keys []int, calls ...op.Aggregate) optest.Operator {
	cfg, out := windowed(w, in, keys, calls...)
	cfg.Retract = true
	return optest.Operator{New: func() []exec.Operator { return o(cfg) }, Inputs: []types.Schema{in}, Output: out, Keys: keys}
}

func one(cfg op.WindowAggregateConfig) []exec.Operator {
	return []exec.Operator{op.NewWindowAggregate(cfg)}
}

func two(cfg op.WindowAggregateConfig) []exec.Operator {
	return []exec.Operator{op.NewLocalWindowAggregate(cfg), op.NewGlobalWindowAggregate(cfg)}
}

func grouped(final bool, in types.Schema, keys []int, calls ...op.Aggregate) optest.Operator {
	cfg := op.GroupAggregateConfig{Keys: keys, Aggregates: calls, Retract: true, UpdateBefore: true, Final: final, EmitEmpty: final}
	for _, k := range keys {
		cfg.KeyTypes = append(cfg.KeyTypes, in[k].Type)
		cfg.Schema = append(cfg.Schema, in[k])
	}
	for _, c := range calls {
		cfg.Schema = append(cfg.Schema, types.Column{Name: c.Spec.Name, Type: c.Spec.Result})
	}
	return optest.Operator{New: func() []exec.Operator { return []exec.Operator{op.NewGroupAggregate(cfg)} }, Inputs: []types.Schema{in}, Output: cfg.Schema,
		Time: -1, Keys: keys}
}

func single(make func() exec.Operator, in, out types.Schema, time int) optest.Operator {
	return optest.Operator{New: func() []exec.Operator { return []exec.Operator{make()} }, Inputs: []types.Schema{in}, Output: out, Time: time}
}

func operators(t *testing.T) map[string]optest.Operator {
	events := cols("ts", ts3, "k", str, "v", bigint)
	floats := cols("ts", ts3, "k", str, "v", double)
	local := cols("ts", ltz3, "k", str, "v", bigint)
	tumble := op.Window{Kind: op.Tumble, Size: 10 * second, Precision: 3}
	hop := op.Window{Kind: op.Hop, Size: 10 * second, Step: 5 * second, Precision: 3}
	cumulate := op.Window{Kind: op.Cumulate, Size: 30 * second, Step: 10 * second, Precision: 3}
	all := []op.Aggregate{call(events, "COUNT"), call(events, "SUM", 2), call(events, "MIN", 2), call(events, "MAX", 2), call(events, "AVG", 2)}
	key := []int{1}

	ops := map[string]optest.Operator{
		"tumble":             oneWindow(tumble, events, key, all...),
		"tumble two":         twoPhases(tumble, events, key, all...),
		"tumble global":      oneWindow(tumble, events, nil, all...),
		"tumble global two":  twoPhases(tumble, events, nil, all...),
		"tumble offset":      oneWindow(op.Window{Kind: op.Tumble, Size: 10 * second, Offset: -3 * second, Precision: 3}, events, key, all...),
		"hop":                oneWindow(hop, events, key, all...),
		"hop two":            twoPhases(hop, events, key, all...),
		"cumulate":           oneWindow(cumulate, events, key, all...),
		"cumulate two":       twoPhases(cumulate, events, key, all...),
		"hop distinct":       oneWindow(hop, events, key, distinct(call(events, "COUNT", 2)), distinct(call(events, "SUM", 2)), call(events, "COUNT")),
		"cumulate distinct":  oneWindow(cumulate, events, key, distinct(call(events, "COUNT", 2)), call(events, "COUNT")),
		"hop ordered":        oneWindow(hop, floats, key, call(floats, "SUM", 2), call(floats, "FIRST_VALUE", 2), call(floats, "LAST_VALUE", 2)),
		"cumulate ordered":   oneWindow(cumulate, floats, key, call(floats, "SUM", 2), call(floats, "FIRST_VALUE", 2), call(floats, "LAST_VALUE", 2)),
		"tumble retract":     retracting(one, tumble, events, key, all...),
		"tumble retract two": retracting(two, tumble, events, key, all...),
		"hop retract":        retracting(one, hop, events, key, append(all, distinct(call(events, "COUNT", 2)))...),
		"proctime":           oneWindow(tumble, events, key, call(events, "COUNT")),
		"new york":           oneWindow(op.Window{Kind: op.Tumble, Size: 3600 * second, LTZ: true, Precision: 3}, local, nil, call(local, "COUNT")),
		"new york two":       twoPhases(op.Window{Kind: op.Tumble, Size: 3600 * second, LTZ: true, Precision: 3}, local, nil, call(local, "COUNT")),
		"micros":             oneWindow(op.Window{Kind: op.Tumble, Size: second, Precision: 6}, cols("ts", types.TimestampOf(6)), nil, call(nil, "COUNT")),
	}
	for name, o := range ops {
		switch name {
		case "proctime":
			cfg, out := windowed(tumble, events, key, call(events, "COUNT"))
			cfg.TimeColumn = -1
			o.New = func() []exec.Operator { return one(cfg) }
			o.Output, o.Time = out, -1
		case "new york", "new york two":
			zone, err := time.LoadLocation("America/New_York")
			if err != nil {
				t.Fatal(err)
			}
			o.Zone = zone
		}
		ops[name] = o
	}
	exact, out := windowed(tumble, events, key, call(events, "COUNT"))
	exact.Exact = true
	ops["exact"] = optest.Operator{New: func() []exec.Operator { return one(exact) }, Inputs: []types.Schema{events}, Output: out, Exact: true}
	shown := exact
	shown.Exact, shown.Shown = false, true
	ops["shown"] = optest.Operator{New: func() []exec.Operator { return one(shown) }, Inputs: []types.Schema{events}, Output: out, Exact: true}
	ops["exact two"] = optest.Operator{New: func() []exec.Operator { return two(exact) }, Inputs: []types.Schema{events}, Output: out, Exact: true}
	cascade, _ := windowed(tumble, events, key, call(events, "SUM", 2))
	cascade.Properties = []op.WindowProperty{op.WindowTime}
	middle := cols("k", str, "s", bigint, "wt", ts3)
	cascade.Schema = middle
	outer := op.WindowAggregateConfig{Window: op.Window{Kind: op.Tumble, Size: 20 * second, Precision: 3}, TimeColumn: 2, Keys: []int{0}, KeyTypes: []types.Type{str},
		Aggregates: []op.Aggregate{call(middle, "SUM", 1), call(middle, "COUNT")}, Properties: []op.WindowProperty{op.WindowEnd},
		Schema: cols("k", str, "s", bigint, "n", bigint, "we", ts3)}
	ops["cascade"] = optest.Operator{New: func() []exec.Operator {
		return []exec.Operator{op.NewLocalWindowAggregate(cascade), op.NewGlobalWindowAggregate(cascade), op.NewLocalWindowAggregate(outer), op.NewGlobalWindowAggregate(outer)}
	}, Inputs: []types.Schema{events}, Output: outer.Schema, Keys: key}

	// Grouping sets: a late row is one late row.
	sets := append(append(types.Schema{}, events...), types.Column{Name: "$e", Type: bigint.NotNull()})
	rollup, rolled := windowed(tumble, sets, []int{1, 3}, call(sets, "COUNT"))
	rollup.SetColumn = 3
	expand := func() exec.Operator {
		return op.NewExpand([]op.ExpandSet{{Columns: []int{0, 1, 2}, ID: 0}, {Columns: []int{0, -1, 2}, ID: 1}}, sets)
	}
	ops["rollup"] = optest.Operator{New: func() []exec.Operator { return append([]exec.Operator{expand()}, one(rollup)...) }, Inputs: []types.Schema{events}, Output: rolled}
	ops["rollup two"] = optest.Operator{New: func() []exec.Operator { return append([]exec.Operator{expand()}, two(rollup)...) }, Inputs: []types.Schema{events}, Output: rolled}

	// Early and late firing.
	const never = -1
	emits := func(w op.Window, e op.Emission, keys []int, calls ...op.Aggregate) optest.Operator {
		cfg, out := windowed(w, events, keys, calls...)
		return optest.Operator{New: func() []exec.Operator { return []exec.Operator{op.NewEmittingWindowAggregate(cfg, e)} }, Inputs: []types.Schema{events},
			Output: out, Keys: keys, Before: true}
	}
	sums := []op.Aggregate{call(events, "COUNT"), call(events, "SUM", 2)}
	atOnce := op.Emission{Early: never, Late: 0, Lateness: 20 * second}
	delayed := op.Emission{Early: 10 * second, Late: 5 * second, Lateness: 20 * second}
	ops["emit late"] = emits(tumble, atOnce, key, sums...)
	ops["emit early"] = emits(tumble, op.Emission{Early: 10 * second, Late: never}, key, sums...)
	ops["emit each"] = emits(tumble, op.Emission{Early: 0, Late: 5 * second, Lateness: 20 * second}, key, sums...)
	ops["emit delayed"] = emits(tumble, delayed, key, sums...)
	ops["emit final"] = emits(tumble, op.Emission{Early: 10 * second, Late: 0, Lateness: 20 * second, Final: true}, key, sums...)
	ops["emit hop"] = emits(hop, delayed, key, sums...)
	ops["emit hop each"] = emits(hop, op.Emission{Early: 0, Late: 0, Lateness: 5 * second}, key, sums...)
	ops["emit cumulate"] = emits(cumulate, op.Emission{Early: 10 * second, Late: 0, Lateness: 10 * second}, key, call(events, "COUNT"), distinct(call(events, "COUNT", 2)))
	ops["emit lists"] = emits(hop, atOnce, key, call(events, "FIRST_VALUE", 2), call(events, "LAST_VALUE", 2), call(events, "COLLECT", 2), call(events, "ARRAY_AGG", 2))
	ops["emit distinct"] = emits(tumble, delayed, key)
	ops["emit global"] = emits(tumble, delayed, nil, sums...)
	for name, e := range map[string]op.Emission{"emit late before": atOnce, "emit delayed before": delayed} {
		o := emits(tumble, e, key, call(events, "COUNT"))
		o.Exact, o.Keys = true, nil
		ops[name] = o
	}
	for name, e := range map[string]op.Emission{"emit retract": delayed, "emit retract each": {Early: 0, Late: 0, Lateness: 20 * second}} {
		cfg, out := windowed(tumble, events, key, append(sums, distinct(call(events, "COUNT", 2)))...)
		cfg.Retract = true
		ops[name] = optest.Operator{New: func() []exec.Operator { return []exec.Operator{op.NewEmittingWindowAggregate(cfg, e)} },
			Inputs: []types.Schema{events}, Output: out, Keys: key, Before: true}
	}
	for name, e := range map[string]op.Emission{"emit proctime": {Early: 3 * second, Late: never}, "emit proctime each": {Early: 0, Late: never}} {
		cfg, out := windowed(hop, events, key, call(events, "COUNT"))
		cfg.TimeColumn = -1
		ops[name] = optest.Operator{New: func() []exec.Operator { return []exec.Operator{op.NewEmittingWindowAggregate(cfg, e)} },
			Inputs: []types.Schema{events}, Output: out, Time: -1, Keys: key}
	}
	zoned, hours := windowed(op.Window{Kind: op.Tumble, Size: 1800 * second, LTZ: true, Precision: 3}, local, nil, call(local, "COUNT"))
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	ops["emit new york"] = optest.Operator{New: func() []exec.Operator {
		return []exec.Operator{op.NewEmittingWindowAggregate(zoned, op.Emission{Early: never, Late: 0, Lateness: 600 * second})}
	}, Inputs: []types.Schema{local}, Output: hours, Zone: zone, Before: true}
	lateSets, rolledLate := windowed(tumble, sets, []int{1, 3}, call(sets, "COUNT"))
	lateSets.SetColumn = 3
	ops["emit rollup"] = optest.Operator{New: func() []exec.Operator {
		return []exec.Operator{expand(), op.NewEmittingWindowAggregate(lateSets, atOnce)}
	}, Inputs: []types.Schema{events}, Output: rolledLate, Before: true}
	inner := cascade
	ops["emit cascade"] = optest.Operator{New: func() []exec.Operator {
		behind := outer
		behind.Retract = true
		return []exec.Operator{op.NewEmittingWindowAggregate(inner, delayed), op.NewWindowAggregate(behind)}
	}, Inputs: []types.Schema{events}, Output: outer.Schema, Keys: key, Before: true}
	ops["emit cascade twice"] = optest.Operator{New: func() []exec.Operator {
		behind := outer
		behind.Retract = true
		return []exec.Operator{op.NewEmittingWindowAggregate(inner, atOnce), op.NewEmittingWindowAggregate(behind, op.Emission{Early: 0, Late: never})}
	}, Inputs: []types.Schema{events}, Output: outer.Schema, Keys: key, Before: true}

	// Without windows.
	kv := cols("k", str, "v", bigint)
	kd := cols("k", str, "v", double)
	kb := cols("k", str, "v", bigint, "b", types.BooleanType)
	ops["group"] = grouped(false, kv, []int{0}, call(kv, "COUNT"), call(kv, "COUNT", 1), call(kv, "SUM", 1))
	ttl := op.GroupAggregateConfig{Keys: []int{0}, KeyTypes: []types.Type{str}, Aggregates: []op.Aggregate{call(kv, "COUNT"), distinct(call(kv, "SUM", 1))}, Retract: true,
		UpdateBefore: true, TTL: 10 * time.Second, Schema: cols("k", str, "n", bigint.NotNull(), "s", bigint)}
	ops["group ttl"] = optest.Operator{New: func() []exec.Operator { return []exec.Operator{op.NewGroupAggregate(ttl)} }, Inputs: []types.Schema{kv}, Output: ttl.Schema,
		Time: -1, Keys: []int{0}}
	ops["group min max"] = grouped(false, kv, []int{0}, call(kv, "MIN", 1), call(kv, "MAX", 1))
	ops["group double"] = grouped(false, kd, []int{0}, call(kd, "SUM", 1), call(kd, "COUNT", 1), call(kd, "AVG", 1))
	ops["group lists"] = grouped(false, kv, []int{0}, call(kv, "FIRST_VALUE", 1), call(kv, "LAST_VALUE", 1), call(kv, "COLLECT", 1), call(kv, "ARRAY_AGG", 1))
	ops["group listagg"] = grouped(false, kv, []int{1}, call(kv, "LISTAGG", 0), distinct(call(kv, "LISTAGG", 0)))
	ops["group var"] = grouped(true, kv, nil, call(kv, "VAR_POP", 1), call(kv, "VAR_SAMP", 1), call(kv, "STDDEV_POP", 1), call(kv, "STDDEV_SAMP", 1))
	ops["group var double"] = grouped(true, kd, nil, call(kd, "VAR_POP", 1), call(kd, "VAR_SAMP", 1), call(kd, "STDDEV_POP", 1))
	ops["group distinct"] = grouped(false, kb, []int{0}, distinct(call(kb, "COUNT", 1)), distinct(call(kb, "SUM", 1)), filter(call(kb, "COUNT"), 2))
	ops["select distinct"] = grouped(false, kv, []int{0, 1})
	ops["group final"] = grouped(true, kv, []int{0}, call(kv, "COUNT"), call(kv, "SUM", 1))
	ops["global"] = grouped(false, kv, nil, call(kv, "COUNT"), call(kv, "SUM", 1))
	ops["global final"] = grouped(true, kv, nil, call(kv, "COUNT"), call(kv, "SUM", 1), call(kv, "MIN", 0))
	ops["single value"] = grouped(false, kv, nil, call(kv, "SINGLE_VALUE", 1))

	up := cols("v", bigint, "k", str)
	more, err := expr.Call(">", nil, []expr.Evaluator{expr.Column(1, bigint), expr.Literal(int64(2), bigint)}, types.BooleanType, expr.Where{Text: "v > 2"})
	if err != nil {
		t.Fatal(err)
	}
	ops["calc"] = single(func() exec.Operator {
		return op.NewCalc(more, []expr.Evaluator{expr.Column(1, bigint), expr.Column(0, str)}, up)
	}, kv, up, -1)
	ops["expand"] = single(func() exec.Operator {
		return op.NewExpand([]op.ExpandSet{{Columns: []int{0, 1}, ID: 0}, {Columns: []int{0, -1}, ID: 1}, {Columns: []int{-1, -1}, ID: 3}}, cols("k", str, "v", bigint, "id", bigint))
	}, kv, cols("k", str, "v", bigint, "id", bigint), -1)
	order := []op.SortKey{{Column: 1, Type: bigint}, {Column: 0, Type: str, Desc: true, NullsLast: true}}
	upserts, words := cols("v", types.DecimalOf(6, 2), "k", str, "n", bigint), cols("k", bigint, "v", bigint)
	ops["normalize"] = optest.Operator{New: func() []exec.Operator { return []exec.Operator{op.NewChangelogNormalize([]int{1}, upserts, 0)} },
		Inputs: []types.Schema{upserts}, Output: upserts, Time: -1, Keys: []int{1}}
	ops["normalize words"] = optest.Operator{New: func() []exec.Operator { return []exec.Operator{op.NewChangelogNormalize([]int{0}, words, 0)} },
		Inputs: []types.Schema{words}, Output: words, Time: -1, Keys: []int{0}}
	ops["normalize ttl"] = optest.Operator{New: func() []exec.Operator {
		return []exec.Operator{op.NewChangelogNormalize([]int{0}, words, 10*time.Second)}
	},
		Inputs: []types.Schema{words}, Output: words, Time: -1, Keys: []int{0}}
	ops["sort"] = single(func() exec.Operator { return op.NewSort(order, kv, true) }, kv, kv, -1)
	ops["top 3"] = single(func() exec.Operator { return op.NewTopN(order, 3, 0, kv) }, kv, kv, -1)
	ops["top 2 offset 1"] = single(func() exec.Operator { return op.NewTopN(order, 2, 1, kv) }, kv, kv, -1)
	ops["limit 2 offset 1"] = single(func() exec.Operator { return op.NewLimit(2, 1) }, kv, kv, -1)
	ops["offset 2"] = single(func() exec.Operator { return op.NewLimit(-1, 2) }, kv, kv, -1)
	lateIn, lateOut := cols("ts", ts3, "k", str, "late_watermark", bigint, "late_window_end", bigint), cols("k", str, "late_operator", str, "late_watermark", ts3,
		"late_window_end", ts3, "late_by", bigint, "late_kind", str)
	ops["late rows"] = single(func() exec.Operator {
		return op.NewLateRows(op.LateRowsConfig{Window: op.Window{Kind: op.Tumble, Size: 10 * second, Step: 10 * second, Precision: 3}, Columns: []int{1},
			Operator: "tens", Schema: lateOut})
	}, lateIn, lateOut, -1)
	ops["values"] = single(func() exec.Operator { return op.NewValues([][]any{{"a", int64(1)}, {nil, int64(2)}}, kv) }, kv, kv, -1)
	for name, w := range map[string]op.Window{"tumble rows": tumble, "hop rows": hop, "cumulate rows": cumulate} {
		out := append(append(types.Schema{}, events...), cols("window_start", ts3, "window_end", ts3, "window_time", ts3)...)
		ops[name] = single(func() exec.Operator { return op.NewWindowTableFunction(w, 0, out) }, events, out, 0)
	}
	return ops
}

func TestOperators(t *testing.T) {
	for _, file := range []string{"windows", "emit", "groups", "rows", "normalize"} {
		t.Run(file, func(t *testing.T) { optest.Run(t, "testdata/"+file+".txt", operators(t)) })
	}
}
