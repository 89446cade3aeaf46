package expr

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

func mustCallT(t testing.TB, name string, result types.Type, args ...Evaluator) Evaluator {
	t.Helper()
	e, err := Call(name, nil, args, result, Where{Text: name})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func intLit(n int32) Evaluator { return Literal(n, types.IntType.NotNull()) }

// What decides first keeps the rest from being evaluated, so that no row divides by zero.
func TestLazy(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	x := []any{int32(0), int32(1), nil, int32(-2), int32(0)}
	rec := batchOf(t, mem, []types.Type{types.IntType}, [][]any{x}, len(x), 3)
	defer rec.Release()
	col := Column(0, types.IntType)
	inverse := mustCallT(t, "/", types.IntType, intLit(4), col)
	big := mustCallT(t, ">", types.BooleanType, inverse, intLit(2))
	nonzero := mustCallT(t, "<>", types.BooleanType, col, intLit(0))
	zero := mustCallT(t, "=", types.BooleanType, col, intLit(0))
	tests := []struct {
		name string
		e    Evaluator
		want string
	}{
		{"AND", mustCallT(t, "AND", types.BooleanType, nonzero, big), "[false true <nil> false false]"},
		{"OR", mustCallT(t, "OR", types.BooleanType, zero, big), "[true true <nil> false true]"},
		{"CASE", Case([]Evaluator{zero}, []Evaluator{intLit(7)}, inverse, types.IntType), "[7 4 <nil> -2 7]"},
		{"CASE without ELSE", Case([]Evaluator{nonzero}, []Evaluator{inverse}, nil, types.IntType), "[<nil> 4 <nil> -2 <nil>]"},
		{"IF", mustCallT(t, "IF", types.IntType, zero, intLit(7), inverse), "[7 4 <nil> -2 7]"},
		{"COALESCE", mustCallT(t, "COALESCE", types.IntType, Case([]Evaluator{zero}, []Evaluator{intLit(9)}, nil, types.IntType), inverse), "[9 4 <nil> -2 9]"},
		{"NULLIF", mustCallT(t, "NULLIF", types.IntType, col, intLit(0)), "[<nil> 1 <nil> -2 <nil>]"},
	}
	for _, tt := range tests {
		ctx := NewContext(mem, nil)
		a, err := tt.e.Eval(ctx, Input{Record: rec, Rows: len(x)})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		typ := tt.e.Type()
		var got []any
		for i := range x {
			got = append(got, types.Get(a, i, typ))
		}
		a.Release()
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%s: got %v, want %s", tt.name, got, tt.want)
		}
	}
	// And without the guard it fails.
	if _, err := big.Eval(NewContext(mem, nil), Input{Record: rec, Rows: len(x)}); err == nil || !strings.Contains(err.Error(), "division by zero") {
		t.Errorf("4 / 0 > 2: %v", err)
	}
}

// CASE and COALESCE of every type, against choosing row by row.
func TestChoose(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	ts := []types.Type{types.BooleanType, types.TinyIntType, types.SmallIntType, types.IntType, types.BigIntType, types.FloatType, types.DoubleType,
		types.DecimalOf(10, 2), types.StringType, types.BytesType, types.DateType, types.TimeOf(0), types.TimestampOf(9), types.TimestampLTZOf(3),
		types.YearMonthType, types.DayTimeType, types.ArrayOf(types.IntType), types.MapOf(types.StringType, types.IntType),
		types.RowOf(types.Field{Name: "a", Type: types.IntType}, types.Field{Name: "b", Type: types.StringType})}
	for _, typ := range ts {
		for _, n := range []int{0, 1, 64, 130} {
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			conds := []types.Type{types.BooleanType, types.BooleanType, typ, typ}
			cols := [][]any{randomColumn(r, types.BooleanType, n), randomColumn(r, types.BooleanType, n), randomColumn(r, typ, n), randomColumn(r, typ, n)}
			rec := batchOf(t, mem, conds, cols, n, 5)
			lit := randomValue(r, typ.NotNull())
			c := func(i int) Evaluator { return Column(i, conds[i]) }
			cases := Case([]Evaluator{c(0), c(1)}, []Evaluator{c(2), Literal(lit, typ.NotNull())}, c(3), typ)
			coalesce := mustCallT(t, "COALESCE", typ, c(2), c(3), Literal(lit, typ.NotNull()))
			in := Input{Record: rec, Rows: n, Selection: randomSelection(r, n)}
			for name, e := range map[string]Evaluator{"CASE": cases, "COALESCE": coalesce} {
				a, err := e.Eval(NewContext(mem, nil), in)
				if err != nil {
					t.Fatal(err)
				}
				_ = eachSelected(in, func(i int) error {
					var want any
					switch {
					case name == "COALESCE" && cols[2][i] != nil:
						want = cols[2][i]
					case name == "COALESCE" && cols[3][i] != nil:
						want = cols[3][i]
					case name == "COALESCE":
						want = lit
					case cols[0][i] == true:
						want = cols[2][i]
					case cols[1][i] == true:
						want = lit
					default:
						want = cols[3][i]
					}
					if got := types.Get(a, i, typ); !same(got, want) {
						t.Fatalf("%s of %s row %d: got %v, want %v", name, typ, i, got, want)
					}
					return nil
				})
				a.Release()
			}
			rec.Release()
			mem.AssertSize(t, 0)
		}
	}
}

// CAST and TRY_CAST between all types, against types.Cast.
func TestCasts(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	zone, _ := types.LoadZone("America/New_York")
	ts := []types.Type{types.BooleanType, types.TinyIntType, types.SmallIntType, types.IntType, types.BigIntType, types.FloatType, types.DoubleType,
		types.DecimalOf(10, 2), types.DecimalOf(5, 0), types.DecimalOf(30, 10), types.StringType, types.CharOf(3), types.VarCharOf(5), types.BytesType, types.BinaryOf(2),
		types.DateType, types.TimeOf(0), types.TimeOf(3), types.TimestampOf(0), types.TimestampOf(3), types.TimestampOf(6), types.TimestampOf(9), types.TimestampLTZOf(3),
		types.TimestampLTZOf(6), types.TimestampLTZOf(9), types.YearMonthType, types.DayTimeType, types.ArrayOf(types.IntType), types.ArrayOf(types.StringType)}
	for _, from := range ts {
		for _, to := range ts {
			if !types.CanCast(from, to) {
				if _, err := Cast(Column(0, from), to, false, Where{Text: "c"}); err == nil {
					t.Errorf("%s to %s is taken, although it cannot be cast", from, to)
				}
				continue
			}
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			n := 40
			vals := randomColumn(r, from, n)
			rec := batchOf(t, mem, []types.Type{from}, [][]any{vals}, n, r.IntN(2)*3)
			in := Input{Record: rec, Rows: n, Selection: randomSelection(r, n)}
			for _, try := range []bool{false, true} {
				e, err := Cast(Column(0, from), to, try, Where{Text: "CAST(x)"})
				if err != nil {
					t.Fatal(err)
				}
				var want error
				expected := map[int]any{}
				_ = eachSelected(in, func(i int) error {
					v, err := types.Cast(vals[i], from, to, zone)
					if err != nil && want == nil {
						want = err
					}
					expected[i] = v
					return nil
				})
				a, err := e.Eval(NewContext(mem, zone), in)
				if want != nil && !try {
					if err == nil || !strings.Contains(err.Error(), want.Error()) {
						t.Errorf("%s to %s: got %v, want %v", from, to, err, want)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%s to %s: %v", from, to, err)
				}
				_ = eachSelected(in, func(i int) error {
					if got := types.Get(a, i, to); !same(got, expected[i]) {
						t.Errorf("%s to %s of %v: got %v, want %v", from, to, vals[i], got, expected[i])
					}
					return nil
				})
				a.Release()
			}
			rec.Release()
			mem.AssertSize(t, 0)
		}
	}
}

// TestErrors holds the texts of errors: the values, and the expression as it was written.
func TestErrors(t *testing.T) {
	num := func(v any, typ types.Type) Evaluator { return Literal(v, typ.NotNull()) }
	text := func(s string) Evaluator { return Literal(s, types.StringType.NotNull()) }
	tests := []struct {
		name   string
		units  []string
		result types.Type
		args   []Evaluator
		want   string
	}{
		{"/", nil, types.IntType, []Evaluator{intLit(1), intLit(0)}, "division by zero in `the text`"},
		{"+", nil, types.IntType, []Evaluator{intLit(2147483647), intLit(1)}, "integer overflow: 2147483647 + 1 does not fit INT in `the text`"},
		{"*", nil, types.BigIntType, []Evaluator{num(int64(1)<<62, types.BigIntType), num(int64(2), types.BigIntType)},
			"integer overflow: 4611686018427387904 * 2 does not fit BIGINT in `the text`"},
		{"NEGATE", nil, types.TinyIntType, []Evaluator{num(int8(-128), types.TinyIntType)}, "integer overflow: 0 - -128 does not fit TINYINT in `the text`"},
		{"*", nil, types.DecimalOf(38, 0), []Evaluator{num(types.DecOf(1e18, 0), types.DecimalOf(38, 0)), num(types.Dec{Num: types.DecOf(1e18, 0).Num.Mul(types.DecOf(1e18, 0).Num)}, types.DecimalOf(38, 0))},
			"DECIMAL overflow: 1000000000000000000 * 1000000000000000000000000000000000000 does not fit DECIMAL(38, 0) in `the text`"},
		{"+", nil, types.TimestampOf(6), []Evaluator{num(types.TimestampVal(1<<63-1), types.TimestampOf(6)), num(types.DurationVal(1), types.DayTimeType)}, "time overflow"},
		{"ABS", nil, types.IntType, []Evaluator{intLit(-2147483648)}, "overflow: 2147483648 does not fit INT in `the text`"},
		{"REGEXP", nil, types.BooleanType, []Evaluator{text("a"), text("a(?=b)")}, "a look-ahead (?=...), which is not supported in `the text`"},
		{"REGEXP", nil, types.BooleanType, []Evaluator{text("a"), text(`(a)\1`)}, `a back-reference \1, which is not supported`},
		{"REGEXP", nil, types.BooleanType, []Evaluator{text("a"), text(`a++`)}, "a possessive quantifier ++"},
		{"REGEXP", nil, types.BooleanType, []Evaluator{text("a"), text(`(`)}, "the regular expression '(' is wrong"},
		{"DATE_FORMAT", nil, types.StringType, []Evaluator{num(types.TimestampVal(0), types.TimestampOf(3)), text("yyyy VV")}, "the letter 'V' of the pattern 'yyyy VV' is not supported"},
		{"DATE_FORMAT", nil, types.StringType, []Evaluator{num(types.TimestampVal(0), types.TimestampOf(3)), text("yyyy 'x")}, "has a quote that is not closed"},
		{"LIKE", nil, types.BooleanType, []Evaluator{text("a"), text("a!b"), text("!")}, "the escape character '!' must be followed by"},
		{"ENCODE", nil, types.BytesType, []Evaluator{text("a"), text("EBCDIC")}, "unknown character set 'EBCDIC'"},
		{"CONVERT_TZ", nil, types.StringType, []Evaluator{text("2024-01-01 00:00:00"), text("Mars"), text("UTC")}, "unknown time zone 'Mars'"},
		{"FROM_BASE64", nil, types.StringType, []Evaluator{text("!!")}, "'!!' is no base64 text"},
		{"TIMESTAMPDIFF", []string{"SECOND"}, types.IntType, []Evaluator{num(types.TimestampVal(0), types.TimestampOf(6)), num(types.TimestampVal(1e16), types.TimestampOf(6))},
			"integer overflow: 10000000000 SECONDS do not fit INT"},
	}
	for _, tt := range tests {
		e, err := Call(tt.name, tt.units, tt.args, tt.result, Where{Text: "the text"})
		if err == nil {
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			_, err = e.Eval(NewContext(mem, nil), Input{Rows: 1})
			mem.AssertSize(t, 0)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}

// LIKE against a matcher that tries everything.
func TestLike(t *testing.T) {
	var slow func(p, s []rune) bool
	slow = func(p, s []rune) bool {
		if len(p) == 0 {
			return len(s) == 0
		}
		switch p[0] {
		case '%':
			return slow(p[1:], s) || len(s) > 0 && slow(p, s[1:])
		case '_':
			return len(s) > 0 && slow(p[1:], s[1:])
		}
		return len(s) > 0 && p[0] == s[0] && slow(p[1:], s[1:])
	}
	r := rand.New(rand.NewPCG(11, 12))
	random := func(letters string, n int) string {
		rs := []rune(letters)
		var b strings.Builder
		for range r.IntN(n) {
			b.WriteRune(rs[r.IntN(len(rs))])
		}
		return b.String()
	}
	for range 20000 {
		p, s := random("aé%_b%", 7), random("aébc", 9)
		m, err := like(p, "")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := m(s), slow([]rune(p), []rune(s)); got != want {
			t.Fatalf("%q LIKE %q = %v", s, p, got)
		}
	}
}

func TestTimePatterns(t *testing.T) {
	at, _ := types.ParseTimestamp([]byte("2024-03-05 07:08:09.123456"), 6)
	for _, tt := range []struct {
		use           patternUse
		pattern, want string
	}{ // as Flink gives them
		{formatPattern, "y yy yyy yyyy M MM MMM MMMM d dd", "2024 24 2024 2024 3 03 Mar March 5 05"},
		{formatPattern, "H HH h hh k kk K KK m mm s ss S SSS SSSSSS a", "7 07 7 07 7 07 7 07 8 08 9 09 1 123 123456 AM"},
		{formatPattern, "E EEEE EEEEE D DDD u Q QQ QQQ QQQQ G n A N", "Tue Tuesday T 65 065 2024 1 01 Q1 1st quarter AD 123456000 25689123 25689123456000"},
		{formatPattern, "YYYY w ww e", "2024 10 10 3"},
		{formatPattern, "yyyyy uuuuu MMMMM LLL EE", "02024 02024 M Mar Tue"},
		{formatPattern, "yyyy'T'HH''mm", "2024T07'08"},
		{simpleFormat, "u w W F D k K Y S SSS", "2 10 2 1 65 7 7 2024 123 123"},
	} {
		p, err := compileTimePattern(tt.pattern, tt.use)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(p.format(nil, at, 0)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.pattern, got, tt.want)
		}
	}
	for _, tt := range []struct {
		use                 patternUse
		pattern, text, want string
	}{
		{parsePattern, "yyyy-MM-dd H", "2024-03-05 7", "2024-03-05 07:00:00"}, {parsePattern, "yyyy-MM-dd", "12024-03-05", ""},
		{parsePattern, "yyyy-MM-dd", "24-03-05", ""}, {parsePattern, "y-MM-dd", "24-03-05", "0024-03-05 00:00:00"},
		{parsePattern, "yy-MM-dd", "95-03-05", "2095-03-05 00:00:00"}, {parsePattern, "yyyy-MM-dd HH:mm:ss", "2024-03-05 24:00:00", "2024-03-06 00:00:00"},
		{parsePattern, "yyyy-MM-dd hh:mm", "2024-03-05 11:00", "2024-03-05 00:00:00"}, {parsePattern, "yyyy-MM-dd hh:mm a", "2024-03-05 11:00 PM", "2024-03-05 23:00:00"},
		{parsePattern, "yyyy-MM-dd", "2024-02-31", "2024-02-29 00:00:00"}, {parsePattern, "yyyy-DDD", "2024-065", "2024-03-05 00:00:00"},
		{parsePattern, "E yyyy-MM-dd", "Tue 2024-03-05", "2024-03-05 00:00:00"}, {parsePattern, "E yyyy-MM-dd", "Mon 2024-03-05", ""},
		{parsePattern, "dd/MMM/yyyy:HH:mm:ss", "01/Feb/2024:10:11:12", "2024-02-01 10:11:12"}, {parsePattern, "yyyyMMddHHmmss", "20240101101112", "2024-01-01 10:11:12"},
		{parsePattern, "yyyy-MM-dd", "2024-01-01 xx", ""}, {parsePattern, "HH:mm", "10:11", "1970-01-01 10:11:00"},
		{simpleParse, "yyyy-MM-dd", "2024-13-45", "2025-02-14 00:00:00"}, {simpleParse, "yyyy-MM-dd HH", "2024-01-01 10 xx", "2024-01-01 10:00:00"},
		{simpleParse, "yy-MM-dd", "95-01-01", "1995-01-01 00:00:00"}, {simpleParse, "yyyy/MM/dd", "2024/02/30", "2024-03-01 00:00:00"},
		{simpleParse, "d MMMM yyyy", "5 march 2024", "2024-03-05 00:00:00"}, {simpleParse, "yyyy/MM/dd", "xx", ""},
	} {
		p, err := compileTimePattern(tt.pattern, tt.use)
		if err != nil {
			t.Fatal(err)
		}
		us, ok := p.parseMicros(tt.text)
		got := ""
		if ok {
			got = string(types.AppendTimestamp(nil, us, 0))
		}
		if got != tt.want {
			t.Errorf("%q by %s: got %q, want %q", tt.text, tt.pattern, got, tt.want)
		}
	}
}

// The generator of RAND is java.util.Random, whose numbers are known.
func TestRand(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	for _, tt := range []struct {
		name string
		typ  types.Type
		args []Evaluator
		want string
	}{
		{"RAND", types.DoubleType, []Evaluator{intLit(1)}, "[0.7308781907032909 0.41008081149220166]"},
		{"RAND_INTEGER", types.IntType, []Evaluator{intLit(1), intLit(10)}, "[5 8]"},
	} {
		e := mustCallT(t, tt.name, tt.typ, tt.args...)
		if !OrderDependent(mustCallT(t, "+", tt.typ, e, e)) {
			t.Errorf("%s with a seed depends on order", tt.name)
		}
		a, err := e.Eval(NewContext(mem, nil), Input{Rows: 2})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint([]any{types.Get(a, 0, tt.typ), types.Get(a, 1, tt.typ)}); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		a.Release()
	}
}

func TestCurrentWatermarkAndTime(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	typ := types.TimestampOf(3)
	e := mustCallT(t, "CURRENT_WATERMARK", typ, Literal(nil, typ))
	if !NeedsWatermark(e) {
		t.Error("CURRENT_WATERMARK needs the watermarks")
	}
	a, err := e.Eval(NewContext(mem, nil), Input{Rows: 3, Watermark: []stream.Time{stream.MinTime, 1_234_567, -1}})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(types.Get(a, 0, typ), types.Get(a, 1, typ), types.Get(a, 2, typ)); got != "<nil> 1234000 -1000" {
		t.Errorf("got %s", got)
	}
	a.Release()
	zone, _ := types.LoadZone("Asia/Tokyo")
	ctx := NewContext(mem, zone)
	ctx.Now = time.Date(2024, 5, 1, 20, 30, 40, 123456789, time.UTC)
	for name, want := range map[string]struct {
		t    types.Type
		text string
	}{
		"CURRENT_TIMESTAMP": {types.TimestampLTZOf(3), "2024-05-02 05:30:40.123"}, "LOCALTIMESTAMP": {types.TimestampOf(3), "2024-05-02 05:30:40.123"},
		"CURRENT_DATE": {types.DateType, "2024-05-02"}, "LOCALTIME": {types.TimeOf(0), "05:30:40"},
	} {
		a, err := mustCallT(t, name, want.t).Eval(ctx, Input{Rows: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := types.Format(types.Get(a, 0, want.t), want.t, zone); got != want.text {
			t.Errorf("%s = %s, want %s", name, got, want.text)
		}
		a.Release()
	}
}
