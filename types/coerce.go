package types

// Implicit reports whether INSERT may assign a value of type from to a column of type to without a CAST: the rules of a real Flink 2.3. (Nullability is
// checked for every row, not here.) The value is converted by Cast.
func Implicit(from, to Type) bool {
	switch from.Kind {
	case Null:
		return to.Kind != Invalid
	case TinyInt, SmallInt, Int, BigInt:
		return to.IsNumeric() && (to.Kind >= from.Kind || to.Kind == Decimal)
	case Decimal:
		return to.Kind == Decimal || to.IsApprox()
	case Float:
		return to.Kind == Decimal || to.IsApprox()
	case Double:
		return to.Kind == Decimal || to.Kind == Double
	case Char:
		return to.IsText()
	case VarChar:
		return to.Kind == VarChar
	case Binary:
		return to.IsBytes()
	case VarBinary:
		return to.Kind == VarBinary
	case Timestamp:
		return to.IsDatetime()
	case TimestampLTZ:
		return to.IsTimestamp()
	case Array, Multiset:
		return to.Kind == from.Kind && Implicit(*from.Elem, *to.Elem)
	case Map:
		return to.Kind == Map && Implicit(*from.Key, *to.Key) && Implicit(*from.Elem, *to.Elem)
	case Row:
		if to.Kind != Row || len(from.Fields) != len(to.Fields) {
			return false
		}
		for i := range from.Fields {
			if !Implicit(from.Fields[i].Type, to.Fields[i].Type) {
				return false
			}
		}
		return true
	}
	return from.Kind == to.Kind && from.Kind != Invalid
}

// Common returns the least restrictive type of two branches: CASE, UNION, INTERSECT, EXCEPT and VALUES. false when there is none: text with numbers,
// DATE with TIMESTAMP, and whatever else Flink refuses (it takes DATE with INT, which means nothing: we do not). The result is nullable when one of the
// two is.
func Common(a, b Type) (Type, bool) { return common(a, b, false) }

// CommonArgs is Common for the arguments of a function of one type: COALESCE, IFNULL, GREATEST, LEAST, ARRAY[...], MAP[...]. Flink uses other code for
// these; it differs for FLOAT with DOUBLE (DOUBLE), DECIMAL before FLOAT (FLOAT) and TIMESTAMP with TIMESTAMP_LTZ (TIMESTAMP_LTZ).
func CommonArgs(a, b Type) (Type, bool) { return common(a, b, true) }

// CommonAll is Common of a list, from left to right; false for none and for an empty list.
func CommonAll(ts []Type) (Type, bool) { return fold(ts, Common) }

// CommonArgsAll is CommonArgs of a list, from left to right; false for none and for an empty list.
func CommonArgsAll(ts []Type) (Type, bool) { return fold(ts, CommonArgs) }

func fold(ts []Type, f func(a, b Type) (Type, bool)) (Type, bool) {
	if len(ts) == 0 {
		return Type{}, false
	}
	t := simpleOf(ts[0])
	for _, u := range ts[1:] {
		var ok bool
		if t, ok = f(t, u); !ok {
			return Type{}, false
		}
	}
	return t, true
}

func common(a, b Type, args bool) (Type, bool) {
	t, ok := commonBase(simpleOf(a), simpleOf(b), args)
	return t.WithNull(a.Nullable || b.Nullable || a.Kind == Null || b.Kind == Null), ok
}

func commonBase(a, b Type, args bool) (Type, bool) {
	switch {
	case a.Kind == Invalid || b.Kind == Invalid:
		return Type{}, false
	case a.Kind == Null:
		return b, true
	case b.Kind == Null:
		return a, true
	case a.IsNumeric() && b.IsNumeric():
		return commonNumeric(a, b, args), true
	case a.IsText() && b.IsText():
		return commonLength(a, b, Char, VarCharOf), true
	case a.IsBytes() && b.IsBytes():
		return commonLength(a, b, Binary, VarBinaryOf), true
	case a.IsTimestamp() && b.IsTimestamp():
		t := a
		if a.Kind != b.Kind && args {
			t.Kind = TimestampLTZ
		} else if a.Kind != b.Kind && a.Precision != b.Precision {
			t = b // measured: of two kinds the left one, but the right one when precisions differ
		}
		t.Precision = max(a.Precision, b.Precision)
		return t, true
	case a.Kind != b.Kind:
		return Type{}, false
	}
	switch a.Kind {
	case Time:
		a.Precision = max(a.Precision, b.Precision)
	case IntervalYearMonth, IntervalDayTime:
		if a.Interval != b.Interval {
			a.Interval = IntervalUnits{}
		}
	case Array, Multiset:
		elem, ok := common(*a.Elem, *b.Elem, args)
		a.Elem = &elem
		return a, ok
	case Map:
		key, ok := common(*a.Key, *b.Key, args)
		val, ok2 := common(*a.Elem, *b.Elem, args)
		a.Key, a.Elem = &key, &val
		return a, ok && ok2
	case Row:
		if len(a.Fields) != len(b.Fields) {
			return Type{}, false
		}
		fs := make([]Field, len(a.Fields)) // names are those of the left side
		for i := range fs {
			t, ok := common(a.Fields[i].Type, b.Fields[i].Type, args)
			if !ok {
				return Type{}, false
			}
			fs[i] = Field{a.Fields[i].Name, t}
		}
		a.Fields = fs
	}
	return a, true
}

func commonNumeric(a, b Type, args bool) Type {
	switch {
	case a.IsApprox() && b.IsApprox():
		if args && b.Kind == Double {
			return b
		}
		return a // measured: CASE and UNION of FLOAT and DOUBLE have the type of the left side
	case a.IsApprox() && b.Kind == Decimal:
		return DoubleType
	case a.Kind == Decimal && b.IsApprox():
		if args {
			return b
		}
		return DoubleType
	case a.IsApprox():
		return a
	case b.IsApprox():
		return b
	case a.Kind == Decimal || b.Kind == Decimal:
		x, y := a.AsDecimal(), b.AsDecimal()
		whole := min(MaxDecimalPrecision, max(x.Precision-x.Scale, y.Precision-y.Scale))
		scale := min(max(x.Scale, y.Scale), MaxDecimalPrecision-whole)
		return DecimalOf(whole+scale, scale)
	case a.Kind >= b.Kind:
		return a
	}
	return b
}

// commonLength keeps two equal fixed lengths and makes everything else a varying length.
func commonLength(a, b Type, fixed Kind, varying func(n int) Type) Type {
	if a.Kind == fixed && b.Kind == fixed && a.Length == b.Length {
		return a
	}
	return varying(max(a.Length, b.Length))
}

// Comparable reports whether =, <>, <, <= and so on take the two types: see CompareType.
func Comparable(a, b Type) bool {
	_, ok := CompareType(a, b)
	return ok
}

// CompareType returns the type that both sides of a comparison are converted to (with Cast), and false when they cannot be compared. Text is converted to
// BOOLEAN, DATE, TIME or a timestamp on the other side. Text against a number is refused, as Flink refuses it for =. So are DATE against a timestamp, and
// whatever is of two kinds.
//
// FLOAT and DOUBLE against other numbers compare as DOUBLE, FLOAT with FLOAT as FLOAT. Where one side is DECIMAL and the other exact, the result may have
// less than the digits of both: compare with Dec.Cmp, which is exact whatever the scales, instead of converting.
func CompareType(a, b Type) (Type, bool) {
	nullable := a.Nullable || b.Nullable
	fromText := func(t Type) bool { return t.Kind == Boolean || t.IsDatetime() }
	switch {
	case a.IsText() && fromText(b):
		return simpleOf(b).WithNull(nullable), true
	case b.IsText() && fromText(a):
		return simpleOf(a).WithNull(nullable), true
	case a.IsNumeric() && b.IsNumeric() && a.Kind != b.Kind && (a.IsApprox() || b.IsApprox()):
		return DoubleType.WithNull(nullable), true
	}
	return CommonArgs(a, b)
}
