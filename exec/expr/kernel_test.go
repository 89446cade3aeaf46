package expr

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/types"
)

// columnOf makes a column of canonical values.
func columnOf(t *testing.T, mem memory.Allocator, typ types.Type, vals []any) arrow.Array {
	t.Helper()
	b := types.NewBuilder(mem, typ)
	defer b.Release()
	for _, v := range vals {
		if err := types.Append(b, v, typ); err != nil {
			t.Fatal(err)
		}
	}
	return b.NewArray()
}

// batchOf makes a record of n rows; with pad rows of other values in front, so that the arrays have an offset.
func batchOf(t *testing.T, mem memory.Allocator, ts []types.Type, cols [][]any, n, pad int) arrow.RecordBatch {
	t.Helper()
	arrs := make([]arrow.Array, len(ts))
	fields := make([]arrow.Field, len(ts))
	for i, typ := range ts {
		vals := make([]any, 0, n+pad)
		for k := range pad {
			var v any
			if n > 0 {
				v = cols[i][k%n]
			}
			vals = append(vals, v)
		}
		whole := columnOf(t, mem, typ, append(vals, cols[i]...))
		arrs[i] = array.NewSlice(whole, int64(pad), int64(pad+n))
		whole.Release()
		fields[i] = arrow.Field{Name: fmt.Sprint("c", i), Type: typ.Arrow(), Nullable: true}
	}
	rec := array.NewRecordBatch(arrow.NewSchema(fields, nil), arrs, int64(n))
	for _, a := range arrs {
		a.Release()
	}
	return rec
}

// randomValue is a random value of a type; small numbers are frequent, so that values meet, and limits too.
func randomValue(r *rand.Rand, t types.Type) any {
	if t.Nullable && r.IntN(6) == 0 {
		return nil
	}
	pick := func(lo, hi int64) int64 {
		switch r.IntN(8) {
		case 0:
			return lo
		case 1:
			return hi
		case 2, 3:
			return int64(r.Uint64()) % (hi/2 + 1)
		}
		return r.Int64N(11) - 5
	}
	switch t.Kind {
	case types.Boolean:
		return r.IntN(2) == 0
	case types.TinyInt:
		return int8(pick(math.MinInt8, math.MaxInt8))
	case types.SmallInt:
		return int16(pick(math.MinInt16, math.MaxInt16))
	case types.Int:
		return int32(pick(math.MinInt32, math.MaxInt32))
	case types.BigInt:
		return pick(math.MinInt64, math.MaxInt64)
	case types.Float:
		return float32([]float64{0, 1, -1.5, math.NaN(), math.Inf(1), r.NormFloat64()}[r.IntN(6)])
	case types.Double:
		return []float64{0, 1, -1.5, math.NaN(), math.Inf(-1), r.NormFloat64() * 1e3}[r.IntN(6)]
	case types.Decimal:
		limit := int64(math.Pow10(min(t.Precision, 18)))
		return types.DecOf(pick(-limit+1, limit-1)%limit, t.Scale)
	case types.Char, types.VarChar:
		s := []string{"", "a", "ab", "abc", "b", "Ünï😀", "12", "-3.5", "x y", "2024-01-31"}[r.IntN(10)]
		return types.FitText(s, t)
	case types.Binary, types.VarBinary:
		return types.FitBytes([]byte{byte(r.IntN(3)), byte(r.IntN(256))}[:r.IntN(3)], t)
	case types.Date:
		return types.DateVal(r.IntN(60000) - 30000)
	case types.Time:
		return types.TimeVal(r.IntN(86400) * 1000)
	case types.Timestamp, types.TimestampLTZ:
		v := r.Int64N(4e15) - 2e15
		if t.Nanos() {
			return types.TimestampVal(v*1000 - types.FloorMod(v*1000, resolution(t)))
		}
		return types.TimestampVal(v - types.FloorMod(v, resolution(t)))
	case types.IntervalYearMonth:
		return types.MonthsVal(r.IntN(41) - 20)
	case types.IntervalDayTime:
		return types.DurationVal((r.Int64N(41) - 20) * 3_600_500_000)
	case types.Array:
		a := make([]any, r.IntN(4))
		for i := range a {
			a[i] = randomValue(r, *t.Elem)
		}
		return a
	case types.Map:
		m := types.MapVal{}
		for range r.IntN(4) {
			m = put(m, randomValue(r, *t.Key), randomValue(r, *t.Elem))
		}
		return m
	case types.Multiset:
		m := types.MapVal{}
		for range r.IntN(4) {
			m = put(m, randomValue(r, *t.Elem), int32(1+r.IntN(3)))
		}
		return m
	case types.Row:
		row := make(types.RowVal, len(t.Fields))
		for i, f := range t.Fields {
			row[i] = randomValue(r, f.Type)
		}
		return row
	}
	return nil
}

func randomColumn(r *rand.Rand, t types.Type, n int) []any {
	vals := make([]any, n)
	for i := range vals {
		vals[i] = randomValue(r, t)
	}
	return vals
}

// randomSelection is nil, empty, or some of n rows.
func randomSelection(r *rand.Rand, n int) []int32 {
	switch r.IntN(4) {
	case 0:
		return nil
	case 1:
		return []int32{}
	}
	sel := []int32{}
	for i := range n {
		if r.IntN(3) > 0 {
			sel = append(sel, int32(i))
		}
	}
	return sel
}

var sizes = []int{0, 1, 63, 64, 65, 200, 1500}

// naive computes one row of an operator the simple way; the error is one of types.ErrDivisionByZero and types.ErrOverflow.
func naive(op string, a, b any, result types.Type) (any, error) {
	switch op {
	case "AND", "OR":
		x, y := a, b
		decided := op == "OR"
		switch {
		case x == decided || y == decided:
			return decided, nil
		case x == nil || y == nil:
			return nil, nil
		}
		return !decided, nil
	case "IS DISTINCT FROM":
		return types.Compare(a, b) != 0, nil
	case "IS NOT DISTINCT FROM":
		return types.Compare(a, b) == 0, nil
	}
	if a == nil || b == nil {
		return nil, nil
	}
	nan := func(v any) bool {
		switch x := v.(type) {
		case float32:
			return x != x
		case float64:
			return x != x
		}
		return false
	}
	cmp := types.Compare(a, b)
	if nan(a) || nan(b) {
		switch op {
		case "=", "<", "<=", ">", ">=":
			return false, nil
		case "<>":
			return true, nil
		}
	}
	switch op {
	case "=":
		return cmp == 0, nil
	case "<>":
		return cmp != 0, nil
	case "<":
		return cmp < 0, nil
	case "<=":
		return cmp <= 0, nil
	case ">":
		return cmp > 0, nil
	case ">=":
		return cmp >= 0, nil
	}
	switch x := a.(type) {
	case float64:
		y := b.(float64)
		return map[string]float64{"+": x + y, "-": x - y, "*": x * y, "/": x / y}[op], nil
	case float32:
		y := b.(float32)
		return map[string]float32{"+": x + y, "-": x - y, "*": x * y, "/": x / y}[op], nil
	case types.Dec:
		return naiveDecimal(op, x, b.(types.Dec), result)
	}
	x, y := big.NewInt(toInt64(a)), big.NewInt(toInt64(b))
	z := new(big.Int)
	switch op {
	case "+":
		z.Add(x, y)
	case "-":
		z.Sub(x, y)
	case "*":
		z.Mul(x, y)
	default:
		if y.Sign() == 0 {
			return nil, types.ErrDivisionByZero
		}
		if op == "/" {
			z.Quo(x, y)
		} else {
			z.Rem(x, y)
		}
	}
	if !z.IsInt64() || !types.IntFits(z.Int64(), result.Kind) {
		return nil, types.ErrOverflow
	}
	v, err := types.Cast(z.Int64(), types.BigIntType, result, nil)
	return v, err
}

func naiveDecimal(op string, a, b types.Dec, result types.Type) (any, error) {
	rat := func(d types.Dec) *big.Rat {
		r, _ := new(big.Rat).SetString(d.String())
		return r
	}
	x, y, z := rat(a), rat(b), new(big.Rat)
	switch op {
	case "+":
		z.Add(x, y)
	case "-":
		z.Sub(x, y)
	case "*":
		z.Mul(x, y)
	default:
		if y.Sign() == 0 {
			return nil, types.ErrDivisionByZero
		}
		z.Quo(x, y)
		if op == "%" {
			q := new(big.Int).Quo(z.Num(), z.Denom())
			z.Sub(x, new(big.Rat).Mul(new(big.Rat).SetInt(q), y))
		}
	}
	d, err := types.ParseDecimal([]byte(z.FloatString(80)), types.MaxDecimalPrecision, result.Scale)
	if err != nil || !d.Fits(result.Precision) {
		return nil, types.ErrOverflow
	}
	return d, nil
}

func same(a, b any) bool {
	return types.Compare(a, b) == 0 && fmt.Sprint(a) == fmt.Sprint(b)
}

// TestKernels holds arithmetic, comparisons and logic against naive, for columns and constants, offsets, NULLs and selections.
func TestKernels(t *testing.T) {
	dec := types.DecimalOf(12, 3)
	arithmetic, comparisons := []string{"+", "-", "*", "/", "%"}, []string{"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"}
	cases := []struct {
		t   types.Type
		ops []string
	}{
		{types.TinyIntType, append(arithmetic, comparisons...)}, {types.SmallIntType, append(arithmetic, comparisons...)},
		{types.IntType, append(arithmetic, comparisons...)}, {types.BigIntType, append(arithmetic, comparisons...)},
		{types.FloatType, append(arithmetic[:4:4], comparisons[:6]...)}, {types.DoubleType, append(arithmetic[:4:4], comparisons[:6]...)},
		{dec, append(arithmetic, comparisons...)},
		{types.StringType, comparisons}, {types.BytesType, comparisons}, {types.DateType, comparisons}, {types.TimeOf(0), comparisons},
		{types.TimestampOf(3), comparisons}, {types.TimestampLTZOf(9), comparisons}, {types.DayTimeType, comparisons}, {types.YearMonthType, comparisons},
		{types.BooleanType, append(comparisons, "AND", "OR")},
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range cases {
		for _, op := range c.ops {
			t.Run(c.t.String()+" "+op, func(t *testing.T) {
				for _, n := range sizes {
					for round := range 3 {
						checkKernel(t, r, c.t, op, n, round)
					}
				}
			})
		}
	}
}

func checkKernel(t *testing.T, r *rand.Rand, typ types.Type, op string, n, round int) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	result := types.BooleanType
	switch op {
	case "+", "-", "*", "/", "%":
		rule := map[string]func(a, b types.Type) (types.Type, bool){"+": types.AddType, "-": types.SubType, "*": types.MulType, "/": types.DivType, "%": types.ModType}[op]
		result, _ = rule(typ, typ)
	}
	cols := [][]any{randomColumn(r, typ, n), randomColumn(r, typ, n)}
	args := []Evaluator{Column(0, typ), Column(1, typ)}
	if round > 0 { // a constant on one side
		k := round - 1
		v := randomValue(r, typ.NotNull())
		for i := range cols[k] {
			cols[k][i] = v
		}
		args[k] = Literal(v, typ.NotNull())
	}
	rec := batchOf(t, mem, []types.Type{typ, typ}, cols, n, r.IntN(3)*7)
	defer rec.Release()
	e, err := Call(op, nil, args, result, Where{Text: "a " + op + " b"})
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Record: rec, Rows: n, Selection: randomSelection(r, n)}
	var want error
	expected := map[int]any{}
	_ = eachSelected(in, func(i int) error {
		v, err := naive(op, cols[0][i], cols[1][i], result)
		if err != nil && want == nil {
			want = err
		}
		expected[i] = v
		return nil
	})
	ctx := NewContext(mem, nil)
	got, err := e.Eval(ctx, in)
	if want != nil {
		if err == nil {
			got.Release()
			t.Fatalf("n=%d: no error, want %v", n, want)
		}
		if errors.Is(want, types.ErrDivisionByZero) != errors.Is(err, types.ErrDivisionByZero) {
			t.Fatalf("n=%d: got %v, want %v", n, err, want)
		}
		return
	}
	if err != nil {
		t.Fatalf("n=%d: %v", n, err)
	}
	defer got.Release()
	if got.Len() != n {
		t.Fatalf("%d rows for %d", got.Len(), n)
	}
	var truthy []int32
	_ = eachSelected(in, func(i int) error {
		if v := types.Get(got, i, result); !same(v, expected[i]) {
			t.Fatalf("n=%d row %d: %v %s %v = %v, want %v", n, i, cols[0][i], op, cols[1][i], v, expected[i])
		}
		if expected[i] == true {
			truthy = append(truthy, int32(i))
		}
		return nil
	})
	if result.Kind != types.Boolean {
		return
	}
	sel, err := Filter(ctx, e, in, []int32{-7})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(sel) != fmt.Sprint(append([]int32{-7}, truthy...)) {
		t.Fatalf("n=%d: Filter gives %v, want %v", n, sel, truthy)
	}
}
