package catalog

import (
	"github.com/weir-sql/weir/types"
)

func init() {
	const g = "Arithmetic"
	double := is(types.DoubleType)
	for name, doc := range map[string]string{
		"SQRT": "Square root; NaN of a negative number.", "LN": "Natural logarithm.", "LOG10": "Logarithm to base 10.", "LOG2": "Logarithm to base 2.",
		"EXP": "e to the power of x.", "SIN": "Sine.", "COS": "Cosine.", "TAN": "Tangent.", "COT": "Cotangent.", "ASIN": "Arc sine; NaN outside of -1 to 1.",
		"ACOS": "Arc cosine; NaN outside of -1 to 1.", "ATAN": "Arc tangent.", "SINH": "Hyperbolic sine.", "COSH": "Hyperbolic cosine.",
		"TANH": "Hyperbolic tangent.", "DEGREES": "Radians as degrees.", "RADIANS": "Degrees as radians.",
	} {
		register(scalar(g, name, name+"(x)", doc, sig(1, double, number)))
	}
	register(
		scalar(g, "POWER", "POWER(x, y)", "x to the power of y, as DOUBLE.", sig(2, double, number, number)),
		scalar(g, "ATAN2", "ATAN2(y, x)", "The angle of the point (x, y).", sig(2, double, number, number)),
		scalar(g, "LOG", "LOG([base, ]x)", "Logarithm to a base; natural without one.", sig(1, double, number, number)),
		scalar(g, "PI", "PI()", "The number pi.", sig(0, notNull(types.DoubleType))),
		scalar(g, "E", "E()", "The number e.", sig(0, notNull(types.DoubleType))),
		scalar(g, "ABS", "ABS(x)", "The absolute value of a number or an interval.", sig(1, first, numberOrInterval)),
		scalar(g, "SIGN", "SIGN(x)", "-1, 0 or 1, in the type of x.", sig(1, first, number)),
		scalar(g, "CEIL", "CEIL(x) | CEIL(t TO unit)", "The least whole number that is not less than x; of a time, rounded up to a unit (of units from WEEK on the first day stays, whatever the time of day).", resolveFloor, "CEILING"),
		scalar(g, "FLOOR", "FLOOR(x) | FLOOR(t TO unit)", "The greatest whole number that is not greater than x; of a time, rounded down to a unit (weeks begin on Sunday).",
			resolveFloor),
		scalar(g, "ROUND", "ROUND(x[, n])", "x rounded half up to n digits behind the point; n may be negative.", resolveRound),
		scalar(g, "TRUNCATE", "TRUNCATE(x[, n])", "x cut to n digits behind the point; n may be negative.", resolveRound),
		volatileScalar(g, "RAND", "RAND([seed])", "A random number from 0 up to 1; with a seed the same ones in every run.", sig(-1, is(types.DoubleType), integer)),
		volatileScalar(g, "RAND_INTEGER", "RAND_INTEGER([seed, ]bound)", "A random integer from 0 up to bound; with a seed the same ones in every run.",
			sig(1, is(types.IntType), integer, integer)),
		volatileScalar(g, "UUID", "UUID()", "A random UUID (version 4).", sig(0, notNull(types.CharOf(36)))),
		scalar(g, "BIN", "BIN(n)", "An integer in binary.", sig(1, is(types.StringType), integer)),
		scalar(g, "HEX", "HEX(n) | HEX(s)", "An integer, or the bytes of a string, in upper-case hexadecimal.", func(c Call) (Signature, error) {
			if len(c.Args) == 1 && c.Args[0].IsInteger() {
				return sig(1, is(types.StringType), integer)(c)
			}
			return sig(1, is(types.StringType), text)(c)
		}),
		scalar(g, "UNHEX", "UNHEX(s)", "The bytes of a hexadecimal text; NULL when it is none. Of an odd number of digits the first is replaced by a zero byte.",
			sig(1, nullable(types.BytesType), text)),
	)
}

// units of FLOOR and CEIL by type.
const (
	dateUnits  = "DAY WEEK MONTH QUARTER YEAR DECADE CENTURY MILLENNIUM"
	clockUnits = "HOUR MINUTE SECOND MILLISECOND"
)

func resolveFloor(c Call) (Signature, error) {
	if len(c.Units) == 0 {
		if len(c.Args) == 1 && c.Args[0].IsDatetime() {
			return Signature{}, argumentError(c, 0, wrongUnitless(c))
		}
		return sig(1, func(c Call, args []types.Type) types.Type {
			if t := args[0]; t.Kind == types.Decimal {
				return types.DecimalOf(t.Precision, 0).WithNull(t.Nullable)
			}
			return first(c, args)
		}, number)(c)
	}
	s, err := sig(1, first, datetime)(c)
	if err != nil {
		return s, err
	}
	t := s.Args[0]
	allowed := dateUnits + " " + clockUnits
	switch {
	case t.Kind == types.Time:
		allowed = clockUnits
	case t.IsTimestamp() && t.Precision > 3:
		allowed += " MICROSECOND"
		if t.Nanos() {
			allowed += " NANOSECOND"
		}
	}
	_, err = unitIn(c, t, allowed)
	return s, err
}

func resolveRound(c Call) (Signature, error) {
	return sig(1, func(c Call, args []types.Type) types.Type {
		t := args[0].WithNull(anyNullable(args))
		if t.Kind != types.Decimal {
			return t
		}
		if len(args) == 1 {
			return types.RoundType(t, 0)
		}
		if n, ok := literalInt(c, 1); ok {
			return types.RoundType(t, int(max(-100, min(n, 100))))
		}
		return t
	}, number, integer)(c)
}
