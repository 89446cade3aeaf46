package types

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

func dec(t testing.TB, s string) Dec {
	t.Helper()
	scale := 0
	if i := strings.IndexByte(s, '.'); i >= 0 {
		scale = len(s) - 1 - i
	}
	d, err := ParseDecimal([]byte(s), MaxDecimalPrecision, scale)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func rat(d Dec) *big.Rat { return new(big.Rat).SetFrac(d.Num.BigInt(), bigPow10(int(d.Scale))) }

// ratHalfUp is the slow oracle: r as DECIMAL(p, s), "" when it does not fit.
func ratHalfUp(r *big.Rat, p, s int) string {
	scaled := new(big.Rat).Mul(r, new(big.Rat).SetInt(bigPow10(s)))
	n := new(big.Int).Abs(scaled.Num())
	n.Lsh(n, 1).Add(n, scaled.Denom())
	n.Quo(n, new(big.Int).Lsh(scaled.Denom(), 1)) // floor(|x| + 1/2)
	if n.CmpAbs(bigPow10(p)) >= 0 {
		return ""
	}
	if scaled.Sign() < 0 {
		n.Neg(n)
	}
	return Dec{decimal128.FromBigInt(n), int32(s)}.String()
}

func randomDec(r *rand.Rand) Dec {
	digits := 1 + r.IntN(MaxDecimalPrecision)
	if r.IntN(2) == 0 {
		digits = 1 + r.IntN(12)
	}
	b := make([]byte, digits)
	for i := range b {
		b[i] = "0123456789059"[r.IntN(13)]
	}
	n, _ := new(big.Int).SetString(string(b), 10)
	if r.IntN(2) == 0 {
		n.Neg(n)
	}
	return Dec{decimal128.FromBigInt(n), int32(r.IntN(digits + 1))}
}

// TestDecimalAgainstRat runs every operation on random values, with the result types of the rules and with arbitrary ones, against math/big.
func TestDecimalAgainstRat(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func(d Dec, err error) string {
		if err != nil {
			if !errors.Is(err, ErrOverflow) {
				t.Fatal(err)
			}
			return ""
		}
		return d.String()
	}
	overflows := 0
	for range 60_000 {
		a, b := randomDec(r), randomDec(r)
		ra, rb := rat(a), rat(b)
		p := 1 + r.IntN(MaxDecimalPrecision)
		s := r.IntN(p + 1)
		if r.IntN(2) == 0 {
			p = MaxDecimalPrecision
			s = r.IntN(12)
		}
		check := func(op string, got string, want *big.Rat) {
			t.Helper()
			w := ratHalfUp(want, p, s)
			if w == "" {
				overflows++
			}
			if got != w {
				t.Fatalf("%s %s %s as DECIMAL(%d, %d) = %q, want %q", a, op, b, p, s, got, w)
			}
		}
		check("+", text(a.Add(b, p, s)), new(big.Rat).Add(ra, rb))
		check("-", text(a.Sub(b, p, s)), new(big.Rat).Sub(ra, rb))
		check("*", text(a.Mul(b, p, s)), new(big.Rat).Mul(ra, rb))
		check("rescale", text(a.Rescale(p, s)), ra)
		if b.Sign() != 0 {
			check("/", text(a.Div(b, p, s)), new(big.Rat).Quo(ra, rb))
			q := new(big.Rat).Quo(ra, rb)
			trunc := new(big.Rat).SetInt(new(big.Int).Quo(q.Num(), q.Denom()))
			check("%", text(a.Mod(b, p, s)), new(big.Rat).Sub(ra, trunc.Mul(trunc, rb)))
		}
		if got, want := a.Cmp(b), ra.Cmp(rb); got != want {
			t.Fatalf("%s cmp %s = %d", a, b, got)
		}
		floor := new(big.Int).Div(ra.Num(), ra.Denom()) // Euclidean: floor for a positive denominator
		if got := a.Floor(); got.Num.BigInt().Cmp(floor) != 0 || got.Scale != 0 {
			t.Fatalf("floor %s = %s", a, got)
		}
		ceil := new(big.Int).Neg(new(big.Int).Div(new(big.Int).Neg(ra.Num()), ra.Denom()))
		if got := a.Ceil(); got.Num.BigInt().Cmp(ceil) != 0 {
			t.Fatalf("ceil %s = %s", a, got)
		}
		cut := new(big.Int).Quo(ra.Num(), ra.Denom())
		if got, ok := a.Int64(); ok != cut.IsInt64() || ok && got != cut.Int64() {
			t.Fatalf("int64 of %s = %d, %v", a, got, ok)
		}
		want, _ := new(big.Float).SetPrec(53).SetRat(ra).Float64()
		if got := a.Float64(); got != want {
			t.Fatalf("float64 of %s = %v, want %v", a, got, want)
		}
		n := r.IntN(45) - 42
		if n < int(a.Scale) {
			unit := new(big.Rat).SetInt(bigPow10(max(n, -n)))
			if n >= 0 {
				unit.Inv(unit)
			}
			p, s = MaxDecimalPrecision+1, 0
			w := ratHalfUp(new(big.Rat).Quo(ra, unit), p, s) // a in units of 10^-n
			wi, _ := new(big.Rat).SetString(w)
			if got := a.Round(n); rat(got).Cmp(wi.Mul(wi, unit)) != 0 || int(got.Scale) != max(n, 0) {
				t.Fatalf("round(%s, %d) = %s, want %s", a, n, got, wi)
			}
			q := new(big.Rat).Quo(ra, unit)
			tr := new(big.Rat).SetInt(new(big.Int).Quo(q.Num(), q.Denom()))
			if got := a.Truncate(n); rat(got).Cmp(tr.Mul(tr, unit)) != 0 {
				t.Fatalf("truncate(%s, %d) = %s, want %s", a, n, got, tr)
			}
		}
		if again := dec(t, a.String()); again.Num != a.Num || again.Scale != a.Scale {
			t.Fatalf("%s reads back as %s", a, again)
		}
	}
	if overflows < 1000 {
		t.Errorf("only %d overflows: the test has become weak", overflows)
	}
}

func TestDecimalEdges(t *testing.T) {
	nines := strings.Repeat("9", 38)
	big1 := dec(t, nines)
	if _, err := big1.Add(dec(t, "1"), 38, 0); !errors.Is(err, ErrOverflow) {
		t.Error("10^38 fits")
	}
	if _, err := big1.Add(big1, 38, 0); !errors.Is(err, ErrOverflow) {
		t.Error("2 * (10^38 - 1) wraps")
	}
	if got, err := big1.Add(big1.Neg(), 38, 0); err != nil || got.Sign() != 0 {
		t.Error(got, err)
	}
	if _, err := big1.Mul(big1, 38, 0); !errors.Is(err, ErrOverflow) {
		t.Error("product")
	}
	// Case NM-03: the scale gives way before the digits in front of the point.
	a, b := dec(t, "12.5000000000000000000"), dec(t, "8.0400000000000000000")
	typ, _ := MulType(DecimalOf(38, 19), DecimalOf(38, 19))
	if got, err := a.Mul(b, typ.Precision, typ.Scale); err != nil || got.String() != "100.500000" {
		t.Error(got, err)
	}
	for in, want := range map[string]string{"999.994": "999.99", "-0.005": "-0.01", "2.675": "2.68", "1.005": "1.01"} {
		if got, err := dec(t, in).Rescale(5, 2); err != nil || got.String() != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	if _, err := dec(t, "999.995").Rescale(5, 2); !errors.Is(err, ErrOverflow) {
		t.Error("1000.00 fits DECIMAL(5, 2)")
	}
	for _, f := range []func(Dec, int, int) (Dec, error){big1.Div, big1.Mod} {
		if _, err := f(Dec{Scale: 3}, 38, 6); !errors.Is(err, ErrDivisionByZero) {
			t.Error("division by zero")
		}
	}
	if got, err := DecOf(math.MinInt64, 0).Mod(DecOf(-1, 0), 38, 0); err != nil || got.Sign() != 0 {
		t.Error(got, err)
	}
	if got, err := dec(t, "7").Mod(dec(t, "-1"), 38, 0); err != nil || got.Sign() != 0 {
		t.Error(got, err)
	}
	if got := dec(t, "0.00").String(); got != "0.00" {
		t.Error(got)
	}
	if got, err := DecFromFloat64(0.1, 30, 28); err != nil || got.String() != "0.1000000000000000000000000000" {
		t.Error(got, err)
	}
	if got, err := DecFromFloat64(1.005, 5, 2); err != nil || got.String() != "1.01" {
		t.Error(got, err)
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), 1e38} {
		if _, err := DecFromFloat64(f, 38, 0); err == nil {
			t.Error(f)
		}
	}
}

func TestNumericTypes(t *testing.T) {
	x, y, z := DecimalOf(38, 10).NotNull(), DecimalOf(20, 18).NotNull(), DecimalOf(10, 5).NotNull()
	m := DecimalOf(12, 3)
	f, d := FloatType, DoubleType
	tests := []struct {
		name string
		rule func(a, b Type) (Type, bool)
		a, b Type
		want string
	}{
		// Answers of a real Flink 2.3.
		{"mul", MulType, x, x, "DECIMAL(38, 6) NOT NULL"},
		{"add", AddType, x, y, "DECIMAL(38, 9) NOT NULL"},
		{"div", DivType, x, y, "DECIMAL(38, 6) NOT NULL"},
		{"div", DivType, y, x, "DECIMAL(38, 26) NOT NULL"},
		{"mul", MulType, y, z, "DECIMAL(31, 23) NOT NULL"},
		{"div", DivType, z, z, "DECIMAL(26, 16) NOT NULL"},
		{"div", DivType, m, IntType.NotNull(), "DECIMAL(23, 14)"},
		{"mod", ModType, m, IntType, "DECIMAL(12, 3)"},
		{"add", AddType, m, IntType, "DECIMAL(14, 3)"},
		{"div", DivType, IntType, DecimalOf(2, 1), "DECIMAL(17, 6)"},
		{"add", AddType, f, d, "FLOAT"},
		{"sub", SubType, d, f, "DOUBLE"},
		{"mul", MulType, f, BigIntType, "FLOAT"},
		{"mul", MulType, IntType, d, "DOUBLE"},
		{"add", AddType, f, m, "DOUBLE"},
		{"div", DivType, m, f, "DOUBLE"},
		{"div", DivType, TinyIntType, IntType, "INT"},
		{"mod", ModType, BigIntType.NotNull(), SmallIntType.NotNull(), "BIGINT NOT NULL"},
	}
	for _, tt := range tests {
		got, ok := tt.rule(tt.a, tt.b)
		if !ok || got.String() != tt.want {
			t.Errorf("%s(%s, %s) = %s, want %s", tt.name, tt.a, tt.b, got, tt.want)
		}
	}
	if _, ok := AddType(IntType, StringType); ok {
		t.Error("INT + STRING has a type")
	}
	aggs := []struct {
		rule func(Type) (Type, bool)
		arg  Type
		want string
	}{
		{SumType, IntType.NotNull(), "INT"},
		{SumType, m, "DECIMAL(38, 3)"},
		{SumType, f, "FLOAT"},
		{AvgType, TinyIntType, "TINYINT"},
		{AvgType, m, "DECIMAL(38, 6)"},
		{AvgType, DecimalOf(20, 8), "DECIMAL(38, 8)"},
		{AvgType, d, "DOUBLE"},
		{VarType, IntType, "INT"},
	}
	for _, tt := range aggs {
		if got, ok := tt.rule(tt.arg); !ok || got.String() != tt.want {
			t.Errorf("aggregate of %s = %s, want %s", tt.arg, got, tt.want)
		}
	}
	for n, want := range map[int]string{5: "DECIMAL(12, 3)", 2: "DECIMAL(12, 2)", 0: "DECIMAL(10, 0)", -1: "DECIMAL(10, 0)"} {
		if got := RoundType(m, n); got.String() != want {
			t.Errorf("RoundType(%d) = %s, want %s", n, got, want)
		}
	}
}

func BenchmarkDecimal(b *testing.B) {
	x, y := dec(b, "123456"), dec(b, "0.908")
	z := dec(b, "12345678901234567890.123456")
	b.Run("mul", func(b *testing.B) {
		for b.Loop() {
			_, _ = x.Mul(y, 23, 3)
		}
	})
	b.Run("add", func(b *testing.B) {
		for b.Loop() {
			_, _ = z.Add(y, 38, 6)
		}
	})
	b.Run("div", func(b *testing.B) {
		for b.Loop() {
			_, _ = z.Div(x, 38, 12)
		}
	})
	b.Run("mulWide", func(b *testing.B) {
		for b.Loop() {
			_, _ = z.Mul(y, 38, 9)
		}
	})
	b.Run("parse", func(b *testing.B) {
		s := []byte("123456.789")
		for b.Loop() {
			_, _ = ParseDecimal(s, 12, 3)
		}
	})
}
