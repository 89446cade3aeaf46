package expr

import "math"

// The inverse functions take Go's result and correct it by a step of Newton's method with pairs of doubles.

func atanOf(x float64) float64 { return atan2Of(x, 1) }

func atan2Of(y, x float64) float64 {
	a := math.Atan2(y, x)
	ax, ay := math.Abs(x), math.Abs(y)
	if !(ax > 1e-140 && ax < 1e140 && ay > 1e-140 && ay < 1e140) || ay/ax < 1e-20 || a == 0 {
		return a
	}
	s, c := ddSinCos(a)
	dx, dy := dd{x, 0}, dd{y, 0}
	return corrected(a, dy.mul(c).add(dx.mul(s).neg()).div(dx.mul(c).add(dy.mul(s))))
}

func asinOf(x float64) float64 {
	a := math.Asin(x)
	if !(math.Abs(x) < 1) || math.Abs(x) < 1e-20 {
		return a
	}
	for range 2 {
		s, c := ddSinCos(a)
		a = corrected(a, dd{x, 0}.add(s.neg()).div(c))
	}
	return a
}

func acosOf(x float64) float64 {
	a := math.Acos(x)
	if !(math.Abs(x) < 1) {
		return a
	}
	for range 2 {
		s, c := ddSinCos(a)
		a = corrected(a, c.add(dd{-x, 0}).div(s))
	}
	return a
}

func corrected(a float64, by dd) float64 { return dd{a, 0}.add(by).hi }
