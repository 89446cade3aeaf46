package types

// Result types of arithmetic and of aggregates: Flink's LogicalTypeMerging and LogicalTypeUtils. Every rule is for numeric arguments; the result is
// nullable when an argument is.

// decimalDigits is the number of digits of an integer type as DECIMAL.
func decimalDigits(k Kind) int {
	switch k {
	case TinyInt:
		return 3
	case SmallInt:
		return 5
	case Int:
		return 10
	}
	return 19 // BIGINT
}

// AsDecimal returns the DECIMAL that holds an exact numeric type: DECIMAL(3|5|10|19, 0) for integers, the type itself for DECIMAL.
func (t Type) AsDecimal() Type {
	if t.IsInteger() {
		return DecimalOf(decimalDigits(t.Kind), 0).WithNull(t.Nullable)
	}
	return t
}

// adjustDecimal caps the precision of a result at 38: integer digits are kept, the scale gives way, down to min(scale, 6).
func adjustDecimal(p, s int) Type {
	if p <= MaxDecimalPrecision {
		return DecimalOf(p, s)
	}
	return DecimalOf(MaxDecimalPrecision, max(MaxDecimalPrecision-(p-s), min(s, 6)))
}

// arith gives the common part of the five rules: approximate types, integers; dec is the rule for two DECIMALs.
func arith(a, b Type, dec func(p1, s1, p2, s2 int) Type) (Type, bool) {
	if !a.IsNumeric() || !b.IsNumeric() {
		return Type{}, false
	}
	var t Type
	switch {
	case a.IsApprox() && b.IsApprox():
		t = a // FLOAT op DOUBLE has the type of the left side (measured)
	case a.IsApprox() || b.IsApprox():
		approx, exact := a, b
		if b.IsApprox() {
			approx, exact = b, a
		}
		if exact.Kind == Decimal {
			t = DoubleType
		} else {
			t = approx
		}
	case a.Kind == Decimal || b.Kind == Decimal:
		x, y := a.AsDecimal(), b.AsDecimal()
		t = dec(x.Precision, x.Scale, y.Precision, y.Scale)
	default:
		t = a
		if b.Kind > a.Kind {
			t = b
		}
	}
	t = simpleOf(t)
	return t.WithNull(a.Nullable || b.Nullable), true
}

// simpleOf drops what does not belong to a computed value (the time attribute).
func simpleOf(t Type) Type { t.Attr = NoTimeAttr; return t }

// AddType is the type of a + b.
func AddType(a, b Type) (Type, bool) {
	return arith(a, b, func(p1, s1, p2, s2 int) Type {
		s := max(s1, s2)
		return adjustDecimal(max(p1-s1, p2-s2)+s+1, s)
	})
}

// SubType is the type of a - b.
func SubType(a, b Type) (Type, bool) { return AddType(a, b) }

// MulType is the type of a * b.
func MulType(a, b Type) (Type, bool) {
	return arith(a, b, func(p1, s1, p2, s2 int) Type { return adjustDecimal(p1+p2+1, s1+s2) })
}

// DivType is the type of a / b. Integers divide as integers.
func DivType(a, b Type) (Type, bool) {
	return arith(a, b, func(p1, s1, p2, s2 int) Type {
		s := max(6, s1+p2+1)
		return adjustDecimal(p1-s1+s2+s, s)
	})
}

// ModType is the type of a % b and MOD(a, b). Of whole numbers of which one is a DECIMAL it is that of b, as in Flink: the remainder is less than b.
func ModType(a, b Type) (Type, bool) {
	if whole := func(t Type) bool { return t.IsInteger() || t.Kind == Decimal && t.Scale == 0 }; whole(a) && whole(b) && (a.Kind == Decimal || b.Kind == Decimal) {
		return simpleOf(b).WithNull(a.Nullable || b.Nullable), true
	}
	return arith(a, b, func(p1, s1, p2, s2 int) Type {
		s := max(s1, s2)
		return adjustDecimal(min(p1-s1, p2-s2)+s, s)
	})
}

// RoundType is the type of ROUND(d, n) and TRUNCATE(d, n) of a DECIMAL.
func RoundType(d Type, n int) Type {
	p, s := d.Precision, d.Scale
	switch {
	case n >= s:
		return simpleOf(d)
	case n < 0:
		return DecimalOf(min(MaxDecimalPrecision, 1+p-s), 0).WithNull(d.Nullable)
	}
	return DecimalOf(min(MaxDecimalPrecision, 1+p-s+n), n).WithNull(d.Nullable)
}

// SumType is the type of SUM(arg): the argument's own, DECIMAL(38, s) for DECIMAL. Nullable.
func SumType(arg Type) (Type, bool) {
	if !arg.IsNumeric() {
		return Type{}, false
	}
	if arg.Kind == Decimal {
		return DecimalOf(MaxDecimalPrecision, arg.Scale), true
	}
	return simpleOf(arg).WithNull(true), true
}

// AvgType is the type of AVG(arg): the argument's own, DECIMAL(38, max(6, s)) for DECIMAL. Nullable.
func AvgType(arg Type) (Type, bool) {
	if !arg.IsNumeric() {
		return Type{}, false
	}
	if arg.Kind == Decimal {
		return DecimalOf(MaxDecimalPrecision, max(6, arg.Scale)), true
	}
	return simpleOf(arg).WithNull(true), true
}

// VarType is the type of STDDEV_POP, STDDEV_SAMP, VAR_POP and VAR_SAMP, which follow AVG.
func VarType(arg Type) (Type, bool) { return AvgType(arg) }
