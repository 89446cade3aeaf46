package expr_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/exec/expr"
	"github.com/weir-sql/weir/types"
)

// TestEveryFunction calls every function of the catalog with random arguments of every type that it takes: batches with NULLs, offsets and selections must
// give what each row gives alone, errors included, and leave no memory behind.
func TestEveryFunction(t *testing.T) {
	pool := []types.Type{
		types.BooleanType, types.TinyIntType, types.IntType, types.BigIntType, types.FloatType, types.DoubleType, types.DecimalOf(10, 2), types.StringType,
		types.CharOf(3), types.BytesType, types.DateType, types.TimeOf(0), types.TimestampOf(3), types.TimestampOf(9), types.TimestampLTZOf(6),
		types.YearMonthType, types.DayTimeType, types.ArrayOf(types.IntType), types.ArrayOf(types.StringType), types.MapOf(types.StringType, types.IntType),
		types.MultisetOf(types.StringType),
	}
	usual := []types.Type{types.StringType, types.IntType}
	collections := []types.Type{types.ArrayOf(types.IntType), types.IntType, types.ArrayOf(types.StringType), types.StringType}
	units := [][]string{nil, {"DAY"}, {"MONTH"}, {"HOUR"}, {"BOTH"}}
	zone, err := types.LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range catalog.Functions() {
		if f.Kind != catalog.Scalar || f.Name == "RAND" || f.Name == "RAND_INTEGER" || f.Name == "UUID" || f.Name == "CURRENT_WATERMARK" {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			ran := 0
			for n := 0; n <= 4; n++ {
				for try := 0; try < 600 && ran < 12*(n+1); try++ {
					c := catalog.Call{Name: f.Name, Literals: make([]any, n), Units: units[r.IntN(len(units))]}
					from := pool
					switch r.IntN(3) { // what most functions take
					case 0:
						from = usual
					case 1:
						from = collections
					}
					for range n {
						c.Args = append(c.Args, from[r.IntN(len(from))].WithNull(r.IntN(3) > 0))
					}
					if n > 1 && r.IntN(2) == 0 { // arguments of one type are often what is asked for
						for i := range c.Args {
							c.Args[i] = c.Args[0].WithNull(c.Args[i].Nullable)
						}
					}
					s, err := f.Resolve(c)
					if err != nil {
						continue
					}
					ran++
					checkRows(t, r, c, s, zone)
				}
			}
			if ran == 0 {
				t.Errorf("no call of %s was possible", f.Name)
			}
		})
	}
}

func checkRows(t *testing.T, r *rand.Rand, c catalog.Call, s catalog.Signature, zone *time.Location) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	n := []int{1, 2, 17, 70}[r.IntN(4)]
	cols := make([][]any, len(c.Args))
	args := make([]expr.Evaluator, len(c.Args))
	var ts []types.Type
	for i, typ := range c.Args {
		cols[i] = expr.RandomColumn(r, typ, n)
		e := expr.Column(i, typ)
		if r.IntN(3) == 0 { // a constant
			for k := range cols[i] {
				cols[i][k] = cols[i][0]
			}
			e = expr.Literal(cols[i][0], typ)
		}
		ts = append(ts, typ)
		if !typ.SameKind(s.Args[i]) {
			var err error
			if e, err = expr.Cast(e, s.Args[i], true, expr.Where{Text: "cast"}); err != nil {
				t.Fatalf("%s%v: argument %d cannot be cast from %s to %s", c.Name, c.Args, i, typ, s.Args[i])
			}
		}
		args[i] = e
	}
	e, err := expr.Call(c.Name, c.Units, args, s.Result, expr.Where{Text: "the call"})
	if err != nil {
		return // a bad constant
	}
	rec := expr.BatchOf(t, mem, ts, cols, n, r.IntN(2)*9)
	defer rec.Release()
	ctx := expr.NewContext(mem, zone)
	ctx.Now = time.Date(2024, 5, 1, 10, 11, 12, 0, time.UTC)
	// Each row alone.
	want := make([]any, n)
	errs := make([]string, n)
	for i := range n {
		a, err := e.Eval(ctx, expr.Input{Record: rec, Rows: n, Selection: []int32{int32(i)}})
		if err != nil {
			errs[i] = err.Error()
			continue
		}
		if a.Len() != n {
			t.Fatalf("%s: %d rows for %d", c.Name, a.Len(), n)
		}
		want[i] = types.Get(a, i, s.Result)
		a.Release()
	}
	sel := expr.RandomSelection(r, n)
	in := expr.Input{Record: rec, Rows: n, Selection: sel}
	first := ""
	var rows []int
	for i := range n {
		if sel == nil || contains(sel, int32(i)) {
			rows = append(rows, i)
			if first == "" {
				first = errs[i]
			}
		}
	}
	a, err := e.Eval(ctx, in)
	if err != nil || first != "" {
		if err == nil || err.Error() != first {
			t.Fatalf("%s%v: got error %v, want %q", c.Name, c.Args, err, first)
		}
		return
	}
	defer a.Release()
	var truthy []int32
	for _, i := range rows {
		v := types.Get(a, i, s.Result)
		if fmt.Sprint(v) != fmt.Sprint(want[i]) {
			t.Fatalf("%s%v row %d of %d: got %v, alone %v", c.Name, c.Args, i, n, v, want[i])
		}
		if v == true {
			truthy = append(truthy, int32(i))
		}
	}
	if s.Result.Kind == types.Boolean {
		got, err := expr.Filter(ctx, e, in, nil)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(truthy) && len(got)+len(truthy) > 0 {
			t.Fatalf("%s%v: Filter gives %v (%v), want %v", c.Name, c.Args, got, err, truthy)
		}
	}
}

func contains(s []int32, x int32) bool {
	for _, v := range s {
		if v == x {
			return true
		}
	}
	return false
}
