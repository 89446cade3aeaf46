package expr

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/types"
)

const benchRows = 8192

// benchBatch has BIGINT a and b, DOUBLE d, STRING s (6 to 12 bytes), TIMESTAMP(3) t, BIGINT n (one in ten is NULL), DECIMAL(10, 2) e.
func benchBatch(b *testing.B, mem memory.Allocator) arrow.RecordBatch {
	b.Helper()
	ts := []types.Type{types.BigIntType.NotNull(), types.BigIntType.NotNull(), types.DoubleType.NotNull(), types.StringType.NotNull(), types.TimestampOf(3), types.BigIntType, types.DecimalOf(10, 2)}
	builders := make([]array.Builder, len(ts))
	var fields []arrow.Field
	for i, t := range ts {
		builders[i] = types.NewBuilder(mem, t)
		fields = append(fields, arrow.Field{Name: fmt.Sprint(i), Type: t.Arrow(), Nullable: true})
	}
	for i := range benchRows {
		x := int64(i*2654435761) % 1000
		vals := []any{x, int64(i%7 + 1), float64(x) / 3, fmt.Sprintf("chan-%d", x), types.TimestampVal(1_700_000_000_000_000 + int64(i)*1000), x, types.DecOf(x, 2)}
		if i%10 == 0 {
			vals[5] = nil
		}
		for k, v := range vals {
			if err := types.Append(builders[k], v, ts[k]); err != nil {
				b.Fatal(err)
			}
		}
	}
	arrs := make([]arrow.Array, len(ts))
	for i, bl := range builders {
		arrs[i] = bl.NewArray()
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrs, benchRows)
}

func benchEvaluators(b *testing.B) map[string]Evaluator {
	l, d, s, ts, dec := types.BigIntType, types.DoubleType, types.StringType, types.TimestampOf(3), types.DecimalOf(10, 2)
	col := func(i int, t types.Type) Evaluator { return Column(i, t) }
	lit := func(v any, t types.Type) Evaluator { return Literal(v, t.NotNull()) }
	call := func(name string, r types.Type, args ...Evaluator) Evaluator { return mustCallT(b, name, r, args...) }
	unit := func(name, unit string, r types.Type, args ...Evaluator) Evaluator {
		e, err := Call(name, []string{unit}, args, r, Where{Text: name})
		if err != nil {
			b.Fatal(err)
		}
		return e
	}
	toDouble, err := Cast(col(0, l), d, false, Where{Text: "cast"})
	if err != nil {
		b.Fatal(err)
	}
	toText, err := Cast(col(0, l), s, false, Where{Text: "cast"})
	if err != nil {
		b.Fatal(err)
	}
	boolean := types.BooleanType
	return map[string]Evaluator{
		"add":           call("+", l, col(0, l), col(1, l)),
		"addConstant":   call("+", l, col(0, l), lit(int64(5), l)),
		"addNulls":      call("+", l, col(5, l), col(1, l)),
		"multiply":      call("*", l, col(0, l), col(1, l)),
		"divide":        call("/", l, col(0, l), col(1, l)),
		"mulDouble":     call("*", d, toDouble, lit(0.908, d)),
		"castToDouble":  toDouble,
		"castToString":  toText,
		"decimalAdd":    call("+", types.DecimalOf(11, 2), col(6, dec), col(6, dec)),
		"compare":       call("<", boolean, col(0, l), lit(int64(500), l)),
		"compareString": call("=", boolean, col(3, s), lit("chan-500", s)),
		"isNull":        call("IS NULL", boolean, col(5, l)),
		"and":           call("AND", boolean, call("<", boolean, col(0, l), lit(int64(500), l)), call(">", boolean, col(2, d), lit(50.0, d))),
		"timestampPlus": call("+", ts, col(4, ts), lit(types.DurationVal(4_000_000), types.DayTimeType)),
		"extractHour":   unit("EXTRACT", "HOUR", l, col(4, ts)),
		"floorDay":      unit("FLOOR", "DAY", ts, col(4, ts)),
		"dateFormat":    call("DATE_FORMAT", s, col(4, ts), lit("yyyy-MM-dd HH:mm", s)),
		"case":          Case([]Evaluator{call("<", boolean, col(0, l), lit(int64(500), l))}, []Evaluator{col(0, l)}, col(1, l), l),
		"upper":         call("UPPER", s, col(3, s)),
		"concat":        call("||", s, col(3, s), lit("-x", s)),
		"like":          call("LIKE", boolean, col(3, s), lit("chan-5%", s)),
		"substring":     call("SUBSTRING", s, col(3, s), lit(int32(2), types.IntType), lit(int32(4), types.IntType)),
		"in":            call("IN", boolean, col(0, l), lit(int64(7), l), lit(int64(70), l), lit(int64(700), l)),
	}
}

// BenchmarkEval computes columns of 8,192 rows; ns/row is what counts.
func BenchmarkEval(b *testing.B) {
	mem := memory.NewGoAllocator()
	rec := benchBatch(b, mem)
	for name, e := range benchEvaluators(b) {
		b.Run(name, func(b *testing.B) {
			ctx := NewContext(mem, nil)
			in := Input{Record: rec, Rows: benchRows}
			b.ReportAllocs()
			for b.Loop() {
				a, err := e.Eval(ctx, in)
				if err != nil {
					b.Fatal(err)
				}
				a.Release()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
		})
	}
}

// BenchmarkFilter makes selection vectors.
func BenchmarkFilter(b *testing.B) {
	mem := memory.NewGoAllocator()
	rec := benchBatch(b, mem)
	for name, e := range benchEvaluators(b) {
		if e.Type().Kind != types.Boolean {
			continue
		}
		b.Run(name, func(b *testing.B) {
			ctx := NewContext(mem, nil)
			in := Input{Record: rec, Rows: benchRows}
			var sel []int32
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if sel, err = Filter(ctx, e, in, sel[:0]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
		})
	}
}
