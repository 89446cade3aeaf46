package expr

import "math"

// Elementary functions rounded correctly in all but very rare cases, by computing with pairs of doubles (about 105 bits). Go's own are up to a unit in
// the last place off and differ between processors; results here are the same everywhere and, as far as Java's rounding is known, those of Flink.

// dd is the sum hi + lo, |lo| at most half a unit in the last place of hi.
type dd struct{ hi, lo float64 }

func twoSum(a, b float64) dd {
	s := a + b
	t := s - a
	return dd{s, (a - (s - t)) + (b - t)}
}

func quickTwoSum(a, b float64) dd {
	s := a + b
	return dd{s, b - (s - a)}
}

func (a dd) add(b dd) dd {
	s, t := twoSum(a.hi, b.hi), twoSum(a.lo, b.lo)
	s = quickTwoSum(s.hi, s.lo+t.hi)
	return quickTwoSum(s.hi, s.lo+t.lo)
}

func (a dd) neg() dd { return dd{-a.hi, -a.lo} }

func (a dd) mul(b dd) dd {
	p := a.hi * b.hi
	e := math.FMA(a.hi, b.hi, -p)
	e += a.hi*b.lo + a.lo*b.hi
	return quickTwoSum(p, e)
}

func (a dd) div(b dd) dd {
	q1 := a.hi / b.hi
	r := a.add(b.mul(dd{q1, 0}).neg())
	q2 := r.hi / b.hi
	r = r.add(b.mul(dd{q2, 0}).neg())
	return quickTwoSum(q1, q2).add(dd{r.hi / b.hi, 0})
}

// scale multiplies by 2^k.
func (a dd) scale(k int) dd { return dd{math.Ldexp(a.hi, k), math.Ldexp(a.lo, k)} }

var (
	ddLn2    = dd{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}
	ddLn10   = dd{0x1.26bb1bbb55516p+1, -0x1.f48ad494ea3e9p-53}
	ddHalfPi = dd{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54}
	halfPi3  = -0x1.f1976b7ed8fbcp-110 // the third part of pi/2
	// invFact has 1/n!.
	invFact = func() (f [30]dd) {
		f[0] = dd{1, 0}
		for n := 1; n < len(f); n++ {
			f[n] = f[n-1].div(dd{float64(n), 0})
		}
		return f
	}()
)

// ddExp is e^a for |a| < 700.
func ddExp(a dd) dd {
	k := math.Round(a.hi / ddLn2.hi)
	r := a.add(ddLn2.mul(dd{-k, 0})).scale(-8)
	// Taylor for |r| < 0.0014, without the 1, which squaring would drown: (1+s)^2 - 1 = 2s + s^2.
	s := dd{}
	for n := 10; n >= 1; n-- {
		s = s.add(invFact[n]).mul(r)
	}
	for range 8 {
		s = s.scale(1).add(s.mul(s))
	}
	return s.add(dd{1, 0}).scale(int(k))
}

// ddLog is the natural logarithm of a finite x > 0.
func ddLog(x float64) dd {
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, k = m*2, k-1
	}
	y := math.Log(m)
	r := ddExp(dd{-y, 0}).mul(dd{m, 0}).add(dd{-1, 0}) // m = e^y (1 + r)
	l := dd{y, 0}.add(r).add(r.mul(r).mul(dd{-0.5, 0}))
	return ddLn2.mul(dd{float64(k), 0}).add(l)
}

func logOf(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) || x == 1 {
		return math.Log(x)
	}
	return ddLog(x).hi
}

func log10Of(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) || x == 1 {
		return math.Log10(x)
	}
	return ddLog(x).div(ddLn10).hi
}

func expOf(x float64) float64 {
	if !(math.Abs(x) < 700) {
		return math.Exp(x)
	}
	return ddExp(dd{x, 0}).hi
}

func powOf(x, y float64) float64 {
	if y == 0 || x == 0 || math.IsNaN(x) || math.IsNaN(y) || math.IsInf(x, 0) || math.IsInf(y, 0) {
		return javaPow(x, y)
	}
	if y == 2 { // exact but for one rounding, as in Java: ties are seen
		return x * x
	}
	sign := 1.0
	if x < 0 {
		if y != math.Trunc(y) {
			return math.NaN()
		}
		if math.Abs(y) < 1<<53 && math.Mod(y, 2) != 0 {
			sign = -1
		}
		x = -x
	}
	if x == 1 {
		return sign
	}
	e := ddLog(x).mul(dd{y, 0})
	if !(math.Abs(e.hi) < 700) {
		return sign * math.Pow(x, y)
	}
	return sign * ddExp(e).hi
}

// javaPow has the special cases: Java gives NaN for 1^NaN and (+-1)^Infinity, where C and Go give 1.
func javaPow(x, y float64) float64 {
	if math.IsNaN(y) || math.IsInf(y, 0) && math.Abs(x) == 1 {
		return math.NaN()
	}
	return math.Pow(x, y)
}

// ddSinCos is sin and cos of |x| < 1e5.
func ddSinCos(x float64) (sin, cos dd) {
	k := math.Round(x / ddHalfPi.hi)
	r := dd{x, 0}.add(ddHalfPi.mul(dd{-k, 0})).add(dd{-k * halfPi3, 0})
	r2 := r.mul(r)
	s, c := dd{}, dd{}
	for n := 28; n >= 0; n -= 2 {
		c = invFact[n].add(c.mul(r2).neg())
		s = invFact[n+1].add(s.mul(r2).neg())
	}
	s = s.mul(r)
	switch int64(k) & 3 {
	case 1:
		return c, s.neg()
	case 2:
		return s.neg(), c.neg()
	case 3:
		return c.neg(), s
	}
	return s, c
}

const farAngle = 1e5

func sinOf(x float64) float64 {
	if !(math.Abs(x) < farAngle) || x == 0 {
		return math.Sin(x)
	}
	s, _ := ddSinCos(x)
	return s.hi
}

func cosOf(x float64) float64 {
	if !(math.Abs(x) < farAngle) {
		return math.Cos(x)
	}
	_, c := ddSinCos(x)
	return c.hi
}

func tanOf(x float64) float64 {
	if !(math.Abs(x) < farAngle) || x == 0 {
		return math.Tan(x)
	}
	s, c := ddSinCos(x)
	return s.div(c).hi
}

// The hyperbolic functions follow fdlibm step by step, as Java's StrictMath does.

func sinhOf(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a >= 22 && a < 709:
		return math.Copysign(0.5, x) * expOf(a)
	case !(a < 22) || a < 1.0/(1<<28):
		return math.Sinh(x)
	}
	h := math.Copysign(0.5, x)
	t := math.Expm1(a)
	if a < 1 {
		return h * (2*t - t*t/(t+1))
	}
	return h * (t + t/(t+1))
}

func coshOf(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a >= 22 && a < 709:
		return 0.5 * expOf(a)
	case !(a < 22):
		return math.Cosh(x)
	}
	if a < 0.5*math.Ln2 {
		t := math.Expm1(a)
		w := 1 + t
		if a < 1.0/(1<<55) {
			return w
		}
		return 1 + t*t/(w+w)
	}
	t := strictExp(a)
	return 0.5*t + 0.5/t
}

func tanhOf(x float64) float64 {
	a := math.Abs(x)
	if !(a < 22) || a < 1.0/(1<<55) {
		return math.Tanh(x)
	}
	var z float64
	if a >= 1 {
		z = 1 - 2/(math.Expm1(2*a)+2)
	} else {
		t := math.Expm1(-2 * a)
		z = -t / (t + 2)
	}
	return math.Copysign(z, x)
}

// strictExp is fdlibm's exp for 0.35 < x < 22.
func strictExp(x float64) float64 {
	const (
		ln2Hi = 6.93147180369123816490e-01
		ln2Lo = 1.90821492927058770002e-10
		p1    = 1.66666666666666019037e-01
		p2    = -2.77777777770155933842e-03
		p3    = 6.61375632143793436117e-05
		p4    = -1.65339022054652515390e-06
		p5    = 4.13813679705723846039e-08
	)
	k := 1
	if x >= 1.5*math.Ln2 {
		k = int(x/math.Ln2 + 0.5)
	}
	hi := x - float64(k)*ln2Hi
	lo := float64(k) * ln2Lo
	r := hi - lo
	t := r * r
	c := r - t*(p1+t*(p2+t*(p3+t*(p4+t*p5))))
	y := 1 - ((lo - (r*c)/(2-c)) - hi)
	return math.Ldexp(y, k)
}
