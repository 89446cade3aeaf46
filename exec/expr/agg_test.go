package expr

import (
	"fmt"
	"math"
	"math/big"
	"math/rand"
	"sort"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// aggCases are the calls that are tested: each aggregate with each kind of argument that it holds in a way of its own.
func aggCases() []AggSpec {
	dec := types.DecimalOf(10, 2)
	numeric := []types.Type{types.TinyIntType, types.SmallIntType, types.IntType, types.BigIntType, dec, types.FloatType, types.DoubleType}
	ordered := append(append([]types.Type{}, numeric...), types.BooleanType, types.StringType, types.BytesType, types.DateType, types.TimeOf(3), types.TimestampOf(3),
		types.TimestampLTZOf(9), types.YearMonthType, types.DayTimeType)
	any := append(append([]types.Type{}, ordered...), types.NullType, types.ArrayOf(types.IntType), types.RowOf(types.Field{Name: "a", Type: types.StringType}))
	all := []AggSpec{{Name: "COUNT", Result: types.BigIntType}}
	add := func(name string, ts []types.Type, result func(types.Type) types.Type) {
		for _, t := range ts {
			all = append(all, AggSpec{Name: name, Args: []types.Type{t}, Result: result(t), Separator: "|", Where: Where{Text: name + "(x)"}})
		}
	}
	rule := func(f func(types.Type) (types.Type, bool)) func(types.Type) types.Type {
		return func(t types.Type) types.Type { r, _ := f(t); return r }
	}
	same := func(t types.Type) types.Type { return t }
	add("COUNT", any, func(types.Type) types.Type { return types.BigIntType })
	add("SUM", numeric, rule(types.SumType))
	add("AVG", numeric, rule(types.AvgType))
	for _, n := range []string{"VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP"} {
		add(n, numeric, rule(types.VarType))
	}
	add("MIN", ordered, same)
	add("MAX", ordered, same)
	add("FIRST_VALUE", any, same)
	add("LAST_VALUE", any, same)
	add("LISTAGG", []types.Type{types.StringType}, same)
	add("COLLECT", any, types.MultisetOf)
	add("ARRAY_AGG", any, types.ArrayOf)
	return all
}

// TestAggregateNames: every implemented aggregate is among the cases, but for SINGLE_VALUE, whose only point is an error (see exec/op).
func TestAggregateNames(t *testing.T) {
	tested := map[string]bool{"SINGLE_VALUE": true}
	for _, c := range aggCases() {
		tested[c.Name] = true
	}
	for _, n := range AggregateNames() {
		if !tested[n] {
			t.Errorf("%s has no case", n)
		}
	}
}

func aggRandom(r *rand.Rand, t types.Type) any {
	if r.Intn(6) == 0 || t.Kind == types.Null {
		return nil
	}
	n := r.Intn(9) - 3
	switch t.Kind {
	case types.Boolean:
		return n > 0
	case types.TinyInt:
		return int8(n)
	case types.SmallInt:
		return int16(n)
	case types.Int:
		return int32(n * 1000)
	case types.BigInt:
		return int64(n) << 20
	case types.Decimal:
		return types.DecOf(int64(n*12345), t.Scale)
	case types.Float:
		return []float32{float32(n) / 4, 1.5, float32(math.NaN()), float32(math.Inf(1)), 2, 3, 4, 5, 6, 7, 8, 9}[r.Intn(12)]
	case types.Double:
		return []float64{float64(n) / 4, 1e16, -1e16, math.NaN(), math.Inf(1), math.Inf(-1), 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}[r.Intn(16)]
	case types.VarChar:
		return []string{"", "a", "b", "ab", "x,y"}[r.Intn(5)]
	case types.VarBinary:
		return []byte{byte(n)}
	case types.Date:
		return types.DateVal(n)
	case types.Time:
		return types.TimeVal(n + 5)
	case types.Timestamp, types.TimestampLTZ:
		return types.TimestampVal(n)
	case types.IntervalYearMonth:
		return types.MonthsVal(n)
	case types.IntervalDayTime:
		return types.DurationVal(n)
	case types.Array:
		return []any{int32(n), nil}[:r.Intn(3)]
	case types.Row:
		return types.RowVal{[]any{nil, "a", "b"}[r.Intn(3)]}
	}
	panic(t.String())
}

// aggNaive computes a call from the values that are left, in order of arrival.
func aggNaive(s AggSpec, vals []any) any {
	var set []any // not NULL
	for _, v := range vals {
		if v != nil {
			set = append(set, v)
		}
	}
	switch s.Name {
	case "COUNT":
		if len(s.Args) == 0 {
			return int64(len(vals))
		}
		return int64(len(set))
	case "ARRAY_AGG":
		if len(vals) == 0 {
			return nil
		}
		return vals
	case "COLLECT":
		sort.SliceStable(set, func(i, j int) bool { return types.Compare(set[i], set[j]) < 0 })
		m := types.MapVal{}
		for _, v := range set {
			if n := len(m); n > 0 && types.Compare(m[n-1].Key, v) == 0 {
				m[n-1].Val = m[n-1].Val.(int32) + 1
			} else {
				m = append(m, types.MapEntry{Key: v, Val: int32(1)})
			}
		}
		return m
	}
	if len(set) == 0 {
		return nil
	}
	switch s.Name {
	case "FIRST_VALUE":
		return set[0]
	case "LAST_VALUE":
		return set[len(set)-1]
	case "LISTAGG":
		var parts []string
		for _, v := range set {
			parts = append(parts, v.(string))
		}
		return strings.Join(parts, s.Separator)
	case "MIN", "MAX":
		best := set[0]
		for _, v := range set {
			if c := types.Compare(v, best); s.Name == "MIN" && c < 0 || s.Name == "MAX" && c > 0 {
				best = v
			}
		}
		return best
	}
	return aggNaiveNumber(s, set)
}

func aggNaiveNumber(s AggSpec, set []any) any {
	t := s.Args[0]
	n := int64(len(set))
	sum, sq := new(big.Rat), new(big.Rat)
	special := 0.0
	odd := false
	naive := 0.0
	for _, v := range set {
		x := new(big.Rat)
		switch v := v.(type) {
		case float64:
			naive += v
			if x.SetFloat64(v) == nil {
				special, odd = special+v, true
				continue
			}
		case float32:
			naive += float64(v)
			if x.SetFloat64(float64(v)) == nil {
				special, odd = special+float64(v), true
				continue
			}
		case types.Dec:
			x.SetFrac(v.Num.BigInt(), aggPow10(int(v.Scale)))
		default:
			x.SetInt64(aggInt64(v))
		}
		sum.Add(sum, x)
		sq.Add(sq, new(big.Rat).Mul(x, x))
	}
	variance := s.Name != "SUM" && s.Name != "AVG"
	div := n
	if s.Name == "VAR_SAMP" || s.Name == "STDDEV_SAMP" {
		if div--; div == 0 {
			return nil
		}
	}
	root := strings.HasPrefix(s.Name, "STDDEV")
	res := new(big.Rat).Set(sum)
	switch {
	case variance && t.IsInteger():
		i := new(big.Int).Mul(sum.Num(), sum.Num())
		i.Sub(new(big.Int).Mul(sq.Num(), big.NewInt(n)), i)
		i.Quo(i, new(big.Int).Mul(big.NewInt(n), big.NewInt(div)))
		if root {
			i.Sqrt(i)
		}
		return aggFromInt(i.Int64(), t)
	case variance:
		res.Mul(sum, sum).Quo(res, big.NewRat(n, 1)).Sub(sq, res).Quo(res, big.NewRat(div, 1))
	case s.Name == "AVG":
		res.Quo(sum, big.NewRat(n, 1))
	}
	switch {
	case t.IsInteger():
		return aggFromInt(new(big.Int).Quo(res.Num(), res.Denom()).Int64(), t)
	case t.Kind == types.Decimal:
		if root {
			f, _ := res.Float64()
			d, _ := types.DecFromFloat64(math.Sqrt(f), 38, s.Result.Scale)
			return d
		}
		num := new(big.Int).Mul(res.Num(), aggPow10(s.Result.Scale))
		d, _ := types.DecFromInt64(aggQuoHalfUp(num, res.Denom()).Int64(), 38, 0)
		d.Scale = int32(s.Result.Scale)
		return d
	}
	f, _ := res.Float64()
	switch {
	case odd && variance:
		f = math.NaN()
	case odd && s.Name == "AVG":
		f = special / float64(n)
	case odd:
		f = special
	case !variance && !s.Retract: // in row order, rounded at each step
		if f = naive; s.Name == "AVG" {
			f /= float64(n)
		}
	case s.Name == "AVG": // the exact sum, rounded, then divided
		f, _ = sum.Float64()
		f /= float64(n)
	case root:
		f = math.Sqrt(f)
	}
	if t.Kind == types.Float {
		return float32(f)
	}
	return f
}

func aggInt64(v any) int64 {
	switch v := v.(type) {
	case int8:
		return int64(v)
	case int16:
		return int64(v)
	case int32:
		return int64(v)
	}
	return v.(int64)
}

func aggFromInt(v int64, t types.Type) any {
	switch t.Kind {
	case types.TinyInt:
		return int8(v)
	case types.SmallInt:
		return int16(v)
	case types.Int:
		return int32(v)
	}
	return v
}

// aggRows is a run of rows with their groups.
type aggRows struct {
	groups []int32
	vals   []any
	kinds  []stream.RowKind
}

func (a *aggRows) input(t *testing.T, s AggSpec, mem memory.Allocator, list bool) (AggInput, func()) {
	t.Helper()
	in := AggInput{Groups: a.groups}
	if s.Retract {
		in.Kinds = a.kinds
	}
	if len(s.Args) == 0 {
		return in, func() {}
	}
	b := types.NewBuilder(mem, s.Args[0])
	defer b.Release()
	var kinds []stream.RowKind
	for i, v := range a.vals {
		if list { // every other row belongs to nobody
			_ = types.Append(b, nil, s.Args[0])
			kinds = append(kinds, stream.Delete, a.kinds[i])
			in.Rows = append(in.Rows, int32(2*i+1))
		}
		if err := types.Append(b, v, s.Args[0]); err != nil {
			t.Fatal(err)
		}
	}
	if list && s.Retract {
		in.Kinds = kinds
	}
	arr := b.NewArray()
	in.Args = []arrow.Array{arr}
	return in, arr.Release
}

// TestAggregates: updates and retractions against a computation from the rows that are left; states written, read and merged on the way.
func TestAggregates(t *testing.T) {
	for _, spec := range aggCases() {
		for _, retract := range []bool{false, true} {
			spec := spec
			spec.Retract = retract
			t.Run(fmt.Sprintf("%s(%v) retract %t", spec.Name, spec.Args, retract), func(t *testing.T) {
				mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
				defer mem.AssertSize(t, 0)
				r := rand.New(rand.NewSource(3))
				for round := range 12 {
					testAggregate(t, mem, spec, r, round)
				}
			})
		}
	}
}

func testAggregate(t *testing.T, mem memory.Allocator, spec AggSpec, r *rand.Rand, round int) {
	const groups = 4
	left := make([][]any, groups)
	acc, err := NewAccumulator(spec)
	if err != nil {
		t.Fatal(err)
	}
	acc.Resize(groups)
	for step := range 1 + r.Intn(4) {
		var rows aggRows
		for range r.Intn(12) {
			g := int32(r.Intn(groups))
			if spec.Retract && len(left[g]) > 0 && r.Intn(3) == 0 {
				i := r.Intn(len(left[g]))
				v := left[g][i]
				for j, w := range left[g] { // the first equal one goes
					if types.Compare(v, w) == 0 {
						i = j
						break
					}
				}
				left[g] = append(append([]any{}, left[g][:i]...), left[g][i+1:]...)
				rows.groups, rows.vals, rows.kinds = append(rows.groups, g), append(rows.vals, v), append(rows.kinds, stream.Delete)
				continue
			}
			var v any
			if len(spec.Args) > 0 {
				v = aggRandom(r, spec.Args[0])
			}
			left[g] = append(left[g], v)
			rows.groups, rows.vals, rows.kinds = append(rows.groups, g), append(rows.vals, v), append(rows.kinds, stream.Insert)
		}
		in, done := rows.input(t, spec, mem, step%2 == 1 && len(spec.Args) > 0)
		if err := acc.Update(in); err != nil {
			t.Fatal(err)
		}
		done()
		// Go on with an accumulator that has read the state of this one, or was merged from it.
		next, _ := NewAccumulator(spec)
		next.Resize(groups)
		switch round % 3 {
		case 1:
			state := AggState(mem, acc, nil, groups)
			next.MergeState([]int32{0, 1, 2, 3}, nil, state)
			for _, c := range state {
				c.Release()
			}
			acc = next
		case 2:
			next.MergeFrom(acc, []int32{3, 2, 1, 0}, []int32{3, 2, 1, 0})
			acc = next
		}
	}
	if acc.Bytes() < 0 {
		t.Errorf("%d bytes", acc.Bytes())
	}
	res, err := AggResult(mem, acc, spec.Result, nil, groups)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Release()
	for g := range groups {
		got, want := types.Get(res, g, spec.Result), aggNaive(spec, left[g])
		if !aggSame(got, want, spec) {
			t.Fatalf("round %d group %d of %v: %v, want %v", round, g, left[g], got, want)
		}
	}
	acc.Reset()
	acc.Resize(groups)
	empty, err := AggResult(mem, acc, spec.Result, []int32{1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Release()
	if got, want := types.Get(empty, 0, spec.Result), aggNaive(spec, nil); types.Compare(got, want) != 0 {
		t.Fatalf("after Reset: %v, want %v", got, want)
	}
}

// aggSame allows the last bits of a floating-point variance to differ: its reference is rounded once, from exact sums.
func aggSame(got, want any, s AggSpec) bool {
	if types.Compare(got, want) == 0 {
		return true
	}
	if !s.Args[0].IsApprox() || got == nil || want == nil || s.Name == "SUM" || s.Name == "MIN" {
		return false
	}
	f := func(v any) float64 {
		if x, ok := v.(float32); ok {
			return float64(x)
		}
		return v.(float64)
	}
	a, b := f(got), f(want)
	return math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b))
}

// TestMergeOrder: two parts merged give what the rows give in one go, whatever the order where the order does not matter.
func TestMergeOrder(t *testing.T) {
	mem := memory.NewGoAllocator()
	r := rand.New(rand.NewSource(5))
	for _, spec := range aggCases() {
		if AggOrderDependent(spec) || len(spec.Args) == 0 {
			continue
		}
		var parts [2]aggRows
		var all aggRows
		for range 40 {
			v := aggRandom(r, spec.Args[0])
			p := &parts[r.Intn(2)]
			for _, a := range []*aggRows{p, &all} {
				a.groups, a.vals, a.kinds = append(a.groups, 0), append(a.vals, v), append(a.kinds, stream.Insert)
			}
		}
		var results []any
		for _, order := range [][]*aggRows{{&all}, {&parts[0], &parts[1]}, {&parts[1], &parts[0]}} {
			sum, _ := NewAccumulator(spec)
			sum.Resize(1)
			for _, a := range order {
				one, _ := NewAccumulator(spec)
				one.Resize(1)
				in, done := a.input(t, spec, mem, false)
				if err := one.Update(in); err != nil {
					t.Fatal(err)
				}
				done()
				sum.MergeState([]int32{0}, nil, AggState(mem, one, nil, 1))
			}
			res, err := AggResult(mem, sum, spec.Result, nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			results = append(results, types.Get(res, 0, spec.Result))
		}
		for _, v := range results[1:] {
			if types.Compare(v, results[0]) != 0 {
				t.Errorf("%s(%s): %v, in one go %v", spec.Name, spec.Args[0], v, results[0])
			}
		}
	}
}

// TestOverflow: NM-01. Only the result may be too big.
func TestOverflow(t *testing.T) {
	mem := memory.NewGoAllocator()
	sum := func(name string, arg types.Type, vals ...any) string {
		s := AggSpec{Name: name, Args: []types.Type{arg}, Where: Where{Text: name + "(x)"}}
		s.Result, _ = types.SumType(arg)
		if name == "AVG" {
			s.Result, _ = types.AvgType(arg)
		}
		acc, err := NewAccumulator(s)
		if err != nil {
			t.Fatal(err)
		}
		acc.Resize(1)
		a := aggRows{groups: make([]int32, len(vals)), vals: vals}
		in, _ := a.input(t, s, mem, false)
		if err := acc.Update(in); err != nil {
			t.Fatal(err)
		}
		res, err := AggResult(mem, acc, s.Result, nil, 1)
		if err != nil {
			return err.Error()
		}
		return types.Format(types.Get(res, 0, s.Result), s.Result, nil)
	}
	big38, _ := types.DecFromInt64(9, 38, 0)
	for range 37 {
		big38.Num = big38.Num.Mul(types.DecOf(10, 0).Num)
	}
	m := int64(math.MaxInt64)
	two := int32(2_000_000_000)
	for _, c := range []struct{ got, want string }{
		{sum("SUM", types.IntType, two, two, two, two, two), "numeric overflow: the sum 10000000000 does not fit INT in `SUM(x)`"},
		{sum("AVG", types.IntType, two, two, two, two, two), "2000000000"},
		{sum("SUM", types.BigIntType, int64(9e18), int64(9e18)), "numeric overflow: the sum 18000000000000000000 does not fit BIGINT in `SUM(x)`"},
		{sum("AVG", types.BigIntType, m, m, m, m), "9223372036854775807"},
		{sum("AVG", types.BigIntType, -m-1, -m-1, -m-1), "-9223372036854775808"},
		{sum("SUM", types.BigIntType, m, int64(1), int64(-2)), "9223372036854775806"},
		{sum("SUM", types.BigIntType, -m-1, m, int64(1)), "0"},
		{sum("SUM", types.DecimalOf(38, 0), big38, big38), "numeric overflow: the result does not fit DECIMAL(38, 0) in `SUM(x)`"},
		{sum("SUM", types.DecimalOf(38, 0), big38, big38, big38.Neg(), types.DecOf(1, 0)), "90000000000000000000000000000000000001"},
		{sum("AVG", types.IntType, int32(-1), int32(-2)), "-1"},
		{sum("AVG", types.DecimalOf(5, 2), types.DecOf(1, 2), types.DecOf(2, 2), types.DecOf(2, 2)), "0.016667"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

// TestOrderedSet: blocks split and vanish.
func TestOrderedSet(t *testing.T) {
	ops := aggOps[int64]{app: aggAppendWord, get: aggIntGetter, cmp: func(a, b int64) int { return int(a - b) }}
	var s orderedSet[int64]
	count := map[int64]int64{}
	r := rand.New(rand.NewSource(1))
	bytes := int64(0)
	for i := range 20000 {
		v := r.Int63n(3000)
		n := int64(1)
		if i > 10000 && count[v] > 0 {
			n = -1
		} else if i > 10000 {
			continue
		}
		bytes += s.add(&ops, v, n)
		if count[v] += n; count[v] == 0 {
			delete(count, v)
		}
	}
	last, distinct := int64(-1), 0
	s.each(func(v, n int64) {
		if v <= last || count[v] != n {
			t.Fatalf("value %d after %d with count %d, want %d", v, last, n, count[v])
		}
		last = v
		distinct++
	})
	if distinct != len(count) || bytes != int64(distinct)*entryBytes {
		t.Fatalf("%d values in %d bytes, want %d", distinct, bytes, len(count))
	}
	if top, _ := s.end(true); top != last {
		t.Errorf("greatest %d, want %d", top, last)
	}
	// Stray retractions: a value below zero is not there.
	s.add(&ops, 5000, -1)
	if top, _ := s.end(true); top != last {
		t.Errorf("greatest %d with a stray retraction, want %d", top, last)
	}
	b := array.NewBuilder(memory.DefaultAllocator, countedType(types.BigIntType))
	s.write(&ops, b)
	var again orderedSet[int64]
	again.read(&ops, b.NewArray(), 0)
	if a, _ := again.end(false); func() int64 { v, _ := s.end(false); return v }() != a {
		t.Errorf("smallest %d after a round trip", a)
	}
}
