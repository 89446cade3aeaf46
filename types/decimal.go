package types

import (
	"errors"
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// MaxDecimalPrecision is the largest number of digits of a DECIMAL.
const MaxDecimalPrecision = 38

// Errors of exact arithmetic. Callers wrap them with the expression and its place.
var (
	ErrOverflow       = errors.New("numeric overflow")
	ErrDivisionByZero = errors.New("division by zero")
)

// Dec is a DECIMAL value: Num * 10^-Scale. It has no precision of its own: operations take the precision and scale of their result and fail with
// ErrOverflow when the exact result, rounded HALF_UP to that scale, has more digits.
type Dec struct {
	Num   decimal128.Num
	Scale int32
}

// pow10 has 10^0 to 10^38.
var pow10 = func() (p [MaxDecimalPrecision + 1]decimal128.Num) {
	v := big.NewInt(1)
	for i := range p {
		p[i] = decimal128.FromBigInt(v)
		v = new(big.Int).Mul(v, big.NewInt(10))
	}
	return p
}()

var pow10u64 = [20]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// isSmall reports whether n fits an int64.
func isSmall(n decimal128.Num) bool { return n.HighBits() == int64(n.LowBits())>>63 }

// abs128 returns the magnitude of n as two words, and whether n is negative.
func abs128(n decimal128.Num) (hi, lo uint64, neg bool) {
	hi, lo = uint64(n.HighBits()), n.LowBits()
	if int64(hi) < 0 {
		lo = -lo
		hi = ^hi
		if lo == 0 {
			hi++
		}
		return hi, lo, true
	}
	return hi, lo, false
}

// num128 is the inverse of abs128; false when the magnitude does not fit.
func num128(hi, lo uint64, neg bool) (decimal128.Num, bool) {
	if hi>>63 != 0 {
		return decimal128.Num{}, false
	}
	n := decimal128.New(int64(hi), lo)
	if neg {
		n = n.Negate()
	}
	return n, true
}

// less128 compares magnitudes.
func less128(ahi, alo, bhi, blo uint64) bool { return ahi < bhi || ahi == bhi && alo < blo }

// fitsPrecision reports |n| < 10^p.
func fitsPrecision(n decimal128.Num, p int) bool {
	hi, lo, _ := abs128(n)
	if p < len(pow10u64) {
		return hi == 0 && lo < pow10u64[p]
	}
	if p > MaxDecimalPrecision {
		p = MaxDecimalPrecision
	}
	return less128(hi, lo, uint64(pow10[p].HighBits()), pow10[p].LowBits())
}

// Fits reports whether d has at most p digits.
func (d Dec) Fits(p int) bool { return fitsPrecision(d.Num, p) }

// Sign is -1, 0 or 1.
func (d Dec) Sign() int { return d.Num.Sign() }

// Neg returns -d.
func (d Dec) Neg() Dec { return Dec{d.Num.Negate(), d.Scale} }

// Abs returns |d|.
func (d Dec) Abs() Dec { return Dec{d.Num.Abs(), d.Scale} }

// Cmp compares by value, whatever the scales: 1.0 equals 1.00.
func (d Dec) Cmp(e Dec) int {
	if d.Scale == e.Scale {
		return d.Num.Cmp(e.Num)
	}
	if s, t := d.Num.Sign(), e.Num.Sign(); s != t {
		return cmpOrdered(s, t)
	}
	if d.Scale < e.Scale {
		if up, ok := scaleUp(d.Num, int(e.Scale-d.Scale)); ok {
			return up.Cmp(e.Num)
		}
		return d.Num.Sign() // too big for 128 bits: further from zero than e
	}
	if up, ok := scaleUp(e.Num, int(d.Scale-e.Scale)); ok {
		return d.Num.Cmp(up)
	}
	return -e.Num.Sign()
}

// scaleUp returns n * 10^k; false when the result has more than 38 digits. k >= 0.
func scaleUp(n decimal128.Num, k int) (decimal128.Num, bool) {
	if k == 0 {
		return n, true
	}
	if n.Sign() == 0 {
		return n, true
	}
	if k > MaxDecimalPrecision || !fitsPrecision(n, MaxDecimalPrecision-k) {
		return decimal128.Num{}, false
	}
	return n.Mul(pow10[k]), true
}

// scaleDown returns n / 10^k rounded HALF_UP (away from zero at a half). k >= 0.
func scaleDown(n decimal128.Num, k int) decimal128.Num {
	if k == 0 {
		return n
	}
	hi, lo, neg := abs128(n)
	hi, lo = scaleDown128(hi, lo, k)
	r, _ := num128(hi, lo, neg)
	return r
}

// scaleDown128 divides a magnitude by 10^k, half up.
func scaleDown128(hi, lo uint64, k int) (uint64, uint64) {
	if k < len(pow10u64) {
		return divRound64(hi, lo, pow10u64[k])
	}
	if k > MaxDecimalPrecision {
		return 0, 0 // |n| < 2^127 < 10^39 / 2
	}
	// Two steps would round twice: cut the first, then let the remainder decide only through the second digit, which is exact since a half of
	// 10^k has a zero remainder in the first step and anything above it is still at least a half.
	hi, lo, _ = divmod64(hi, lo, pow10u64[k-19])
	return divRound64(hi, lo, pow10u64[19])
}

func divmod64(hi, lo, d uint64) (qhi, qlo, r uint64) {
	qhi, r = hi/d, hi%d
	qlo, r = bits.Div64(r, lo, d)
	return qhi, qlo, r
}

func divRound64(hi, lo, d uint64) (uint64, uint64) {
	qhi, qlo, r := divmod64(hi, lo, d)
	if r >= d-r {
		qlo++
		if qlo == 0 {
			qhi++
		}
	}
	return qhi, qlo
}

// Rescale returns d as DECIMAL(p, s): rounded HALF_UP, ErrOverflow when it does not fit.
func (d Dec) Rescale(p, s int) (Dec, error) {
	n := d.Num
	switch k := s - int(d.Scale); {
	case k > 0:
		var ok bool
		if n, ok = scaleUp(n, k); !ok {
			return Dec{}, ErrOverflow
		}
	case k < 0:
		n = scaleDown(n, -k)
	}
	if !fitsPrecision(n, p) {
		return Dec{}, ErrOverflow
	}
	return Dec{n, int32(s)}, nil
}

// Add returns d + e as DECIMAL(p, s).
func (d Dec) Add(e Dec, p, s int) (Dec, error) {
	a, b := d.Num, e.Num
	ok := true
	common := max(int(d.Scale), int(e.Scale))
	if k := common - int(d.Scale); k > 0 {
		a, ok = scaleUp(a, k)
	}
	if k := common - int(e.Scale); k > 0 && ok {
		b, ok = scaleUp(b, k)
	}
	if ok {
		// Both have at most 38 digits, or came in so; the sum of two such may pass 2^127.
		sum := a.Add(b)
		if a.Sign()*b.Sign() <= 0 || sum.Sign() == a.Sign() {
			return Dec{sum, int32(common)}.Rescale(p, s)
		}
	}
	return fromBig(new(big.Int).Add(bigAt(d, common), bigAt(e, common)), common, p, s)
}

// Sub returns d - e as DECIMAL(p, s).
func (d Dec) Sub(e Dec, p, s int) (Dec, error) { return d.Add(e.Neg(), p, s) }

// Mul returns d * e as DECIMAL(p, s).
func (d Dec) Mul(e Dec, p, s int) (Dec, error) {
	scale := int(d.Scale + e.Scale)
	if isSmall(d.Num) && isSmall(e.Num) {
		_, a, an := abs128(d.Num)
		_, b, bn := abs128(e.Num)
		hi, lo := bits.Mul64(a, b)
		return mulResult(hi, lo, an != bn, scale, p, s)
	}
	ahi, alo, an := abs128(d.Num)
	bhi, blo, bn := abs128(e.Num)
	if ahi == 0 || bhi == 0 { // at least one of the factors is of one word: the product has three
		hi, lo := bits.Mul64(alo, blo)
		top, mid := bits.Mul64(ahi|bhi, pick(ahi != 0, blo, alo))
		mid, carry := bits.Add64(mid, hi, 0)
		if top+carry == 0 {
			return mulResult(mid, lo, an != bn, scale, p, s)
		}
	}
	return fromBig(new(big.Int).Mul(d.Num.BigInt(), e.Num.BigInt()), scale, p, s)
}

func pick(c bool, a, b uint64) uint64 {
	if c {
		return a
	}
	return b
}

// mulResult makes a product of magnitude hi, lo at scale a DECIMAL(p, s).
func mulResult(hi, lo uint64, neg bool, scale, p, s int) (Dec, error) {
	if scale > s {
		hi, lo = scaleDown128(hi, lo, scale-s)
		scale = s
	}
	n, ok := num128(hi, lo, neg)
	if !ok {
		return Dec{}, ErrOverflow
	}
	return Dec{n, int32(scale)}.Rescale(p, s)
}

// Div returns d / e as DECIMAL(p, s), rounded HALF_UP; ErrDivisionByZero.
func (d Dec) Div(e Dec, p, s int) (Dec, error) {
	if e.Num.Sign() == 0 {
		return Dec{}, ErrDivisionByZero
	}
	k := s + int(e.Scale) - int(d.Scale)
	ehi, elo, en := abs128(e.Num)
	if k >= 0 && ehi == 0 {
		if n, ok := scaleUp(d.Num, k); ok {
			hi, lo, dn := abs128(n)
			hi, lo = divRound64(hi, lo, elo)
			q, ok := num128(hi, lo, dn != en)
			if !ok || !fitsPrecision(q, p) {
				return Dec{}, ErrOverflow
			}
			return Dec{q, int32(s)}, nil
		}
	}
	num, den := d.Num.BigInt(), e.Num.BigInt()
	if k >= 0 {
		num.Mul(num, bigPow10(k))
	} else {
		den.Mul(den, bigPow10(-k))
	}
	return fromBig(quoHalfUp(num, den), s, p, s)
}

// Mod returns the remainder of d / e as DECIMAL(p, s); it has the sign of d; ErrDivisionByZero.
func (d Dec) Mod(e Dec, p, s int) (Dec, error) {
	if e.Num.Sign() == 0 {
		return Dec{}, ErrDivisionByZero
	}
	common := max(int(d.Scale), int(e.Scale))
	a, ok := scaleUp(d.Num, common-int(d.Scale))
	if ok {
		var b decimal128.Num
		if b, ok = scaleUp(e.Num, common-int(e.Scale)); ok {
			if isSmall(a) && isSmall(b) && int64(b.LowBits()) != -1 {
				return Dec{decimal128.FromI64(int64(a.LowBits()) % int64(b.LowBits())), int32(common)}.Rescale(p, s)
			}
		}
	}
	return fromBig(new(big.Int).Rem(bigAt(d, common), bigAt(e, common)), common, p, s)
}

// Round rounds HALF_UP to n digits behind the point; a negative n rounds tens, hundreds... The scale becomes min(n, scale), at least 0. The result
// may have one digit more than d: see Fits.
func (d Dec) Round(n int) Dec {
	if n >= int(d.Scale) {
		return d
	}
	return d.cut(n, scaleDown)
}

// Truncate is Round toward zero.
func (d Dec) Truncate(n int) Dec {
	if n >= int(d.Scale) {
		return d
	}
	return d.cut(n, truncDown)
}

func (d Dec) cut(n int, down func(decimal128.Num, int) decimal128.Num) Dec {
	r := down(d.Num, int(d.Scale)-n)
	if n >= 0 {
		return Dec{r, int32(n)}
	}
	if -n > MaxDecimalPrecision {
		return Dec{}
	}
	return Dec{r.Mul(pow10[-n]), 0}
}

// truncDown returns n / 10^k rounded toward zero.
func truncDown(n decimal128.Num, k int) decimal128.Num {
	hi, lo, neg := abs128(n)
	if k > MaxDecimalPrecision {
		return decimal128.Num{}
	}
	for ; k > 0; k -= 19 {
		hi, lo, _ = divmod64(hi, lo, pow10u64[min(k, 19)])
	}
	r, _ := num128(hi, lo, neg)
	return r
}

// Floor returns the greatest whole number <= d, with scale 0.
func (d Dec) Floor() Dec {
	t := d.Truncate(0)
	if d.Num.Sign() < 0 && t.Cmp(d) != 0 {
		t.Num = t.Num.Sub(decimal128.FromI64(1))
	}
	return t
}

// Ceil returns the least whole number >= d, with scale 0.
func (d Dec) Ceil() Dec {
	t := d.Truncate(0)
	if d.Num.Sign() > 0 && t.Cmp(d) != 0 {
		t.Num = t.Num.Add(decimal128.FromI64(1))
	}
	return t
}

// Int64 returns d truncated toward zero; false when that is no int64.
func (d Dec) Int64() (int64, bool) {
	n := d.Num
	if d.Scale > 0 {
		n = truncDown(n, int(d.Scale))
	}
	return int64(n.LowBits()), isSmall(n)
}

// DecFromInt64 returns v as DECIMAL(p, s).
func DecFromInt64(v int64, p, s int) (Dec, error) {
	return Dec{Num: decimal128.FromI64(v)}.Rescale(p, s)
}

// Float64 returns the double nearest to d.
func (d Dec) Float64() float64 {
	if isSmall(d.Num) && d.Scale <= 22 {
		if v := int64(d.Num.LowBits()); v > -(1<<53) && v < 1<<53 {
			return float64(v) / float64pow10[d.Scale] // both exact: one rounding
		}
	}
	var buf [48]byte
	f, _ := strconv.ParseFloat(string(d.AppendTo(buf[:0])), 64)
	return f
}

var float64pow10 = [23]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// Float32 returns the float nearest to d.
func (d Dec) Float32() float32 {
	var buf [48]byte
	f, _ := strconv.ParseFloat(string(d.AppendTo(buf[:0])), 32)
	return float32(f)
}

// DecFromFloat64 returns v as DECIMAL(p, s). As in Java's BigDecimal.valueOf, v stands for the shortest decimal text that reads back as v (0.1 is 0.1).
// NaN and infinities are an error.
func DecFromFloat64(v float64, p, s int) (Dec, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Dec{}, ErrOverflow
	}
	var buf [32]byte
	return ParseDecimal(strconv.AppendFloat(buf[:0], v, 'e', -1, 64), p, s)
}

// String prints d with its scale, as Flink does: 9.870.
func (d Dec) String() string {
	var buf [48]byte
	return string(d.AppendTo(buf[:0]))
}

// AppendTo appends the text of d.
func (d Dec) AppendTo(dst []byte) []byte { return AppendDecimal(dst, d.Num, int(d.Scale)) }

// AppendDecimal appends n * 10^-scale with exactly scale digits behind the point.
func AppendDecimal(dst []byte, n decimal128.Num, scale int) []byte {
	hi, lo, neg := abs128(n)
	if neg {
		dst = append(dst, '-')
	}
	var buf [48]byte
	digits := buf[:0]
	if hi == 0 {
		digits = strconv.AppendUint(digits, lo, 10)
	} else {
		qhi, qlo, r := divmod64(hi, lo, pow10u64[19])
		if qhi == 0 {
			digits = strconv.AppendUint(digits, qlo, 10)
		} else { // 2^127 has 39 digits
			q, r2 := bits.Div64(qhi, qlo, pow10u64[19])
			digits = strconv.AppendUint(digits, q, 10)
			digits = appendPadded(digits, r2, 19)
		}
		digits = appendPadded(digits, r, 19)
	}
	if scale <= 0 {
		return append(dst, digits...)
	}
	if len(digits) <= scale {
		dst = append(dst, '0', '.')
		for range scale - len(digits) {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	dst = append(dst, digits[:len(digits)-scale]...)
	dst = append(dst, '.')
	return append(dst, digits[len(digits)-scale:]...)
}

// appendPadded appends v with at least width digits.
func appendPadded(dst []byte, v uint64, width int) []byte {
	var buf [20]byte
	i := len(buf)
	for v > 0 || width > 0 {
		i--
		buf[i] = byte('0' + v%10)
		v /= 10
		width--
	}
	return append(dst, buf[i:]...)
}

// The exact slow road: math/big.

func bigPow10(k int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(k)), nil) }

// bigAt is the unscaled number of d at a scale that is not smaller than its own.
func bigAt(d Dec, scale int) *big.Int {
	return new(big.Int).Mul(d.Num.BigInt(), bigPow10(scale-int(d.Scale)))
}

// quoHalfUp is num / den rounded half away from zero.
func quoHalfUp(num, den *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(num, den, new(big.Int))
	if r.Abs(r).Lsh(r, 1).CmpAbs(den) >= 0 {
		if (num.Sign() < 0) != (den.Sign() < 0) {
			q.Sub(q, big.NewInt(1))
		} else {
			q.Add(q, big.NewInt(1))
		}
	}
	return q
}

// fromBig returns v * 10^-scale as DECIMAL(p, s).
func fromBig(v *big.Int, scale, p, s int) (Dec, error) {
	switch {
	case scale > s:
		v = quoHalfUp(v, bigPow10(scale-s))
	case scale < s:
		v = new(big.Int).Mul(v, bigPow10(s-scale))
	}
	if v.CmpAbs(bigPow10(p)) >= 0 {
		return Dec{}, ErrOverflow
	}
	return Dec{decimal128.FromBigInt(v), int32(s)}, nil
}
