package catalog

import (
	"fmt"
	"slices"

	"github.com/weir-sql/weir/types"
)

func init() {
	const cmp, logic, arith = "Comparison", "Logic", "Arithmetic"
	for op, doc := range map[string]string{
		"=": "TRUE when both are equal.", "<>": "TRUE when both are different.",
		"<": "TRUE when the left side is less.", "<=": "TRUE when the left side is less or equal.",
		">": "TRUE when the left side is greater.", ">=": "TRUE when the left side is greater or equal.",
	} {
		register(scalar(cmp, op, "a "+op+" b", doc+" NULL when one of them is NULL.", func(c Call) (Signature, error) {
			args, err := comparison(c, op != "=" && op != "<>")
			return Signature{args, types.BooleanType.WithNull(anyNullable(args))}, err
		}))
	}
	for _, not := range []string{"", "NOT "} {
		register(scalar(cmp, "IS "+not+"DISTINCT FROM", "a IS "+not+"DISTINCT FROM b", "Comparison in which NULL equals NULL; never NULL.",
			func(c Call) (Signature, error) {
				args, err := comparison(c, false)
				return Signature{args, types.BooleanType.NotNull()}, err
			}))
		register(scalar(cmp, "IS "+not+"NULL", "a IS "+not+"NULL", "Whether a is "+lower(not)+"NULL.", sig(1, notNull(types.BooleanType), anything)))
		for _, w := range []string{"TRUE", "FALSE", "UNKNOWN"} {
			register(scalar(logic, "IS "+not+w, "c IS "+not+w, "Whether the condition is "+lower(not)+w+"; never NULL.",
				sig(1, notNull(types.BooleanType), boolean)))
		}
	}
	register(
		scalar(cmp, "BETWEEN", "x BETWEEN low AND high", "x >= low AND x <= high.", resolveBetween),
		scalar(cmp, "BETWEEN SYMMETRIC", "x BETWEEN SYMMETRIC a AND b", "BETWEEN with the bounds in either order.", resolveBetween),
		scalar(cmp, "IN", "x IN (a, b, ...)", "TRUE when x equals an element; otherwise NULL when x or an element is NULL. Strings and numbers are compared as strings.",
			resolveIn),
		scalar(cmp, "LIKE", "s LIKE pattern [ESCAPE 'c']", "Whether s matches a pattern in which % is any text and _ any character. There is no escape character unless one is given.",
			sig(2, is(types.BooleanType), text, text, text)),
		scalar(cmp, "SIMILAR TO", "s SIMILAR TO pattern [ESCAPE 'c']", "LIKE with | * + ? {n,m} ( ) and [ ] as in regular expressions.",
			sig(2, is(types.BooleanType), text, text, text)),
		scalar(logic, "AND", "a AND b", "Three-valued AND. b is evaluated only where a is not FALSE.", variadic(2, is(types.BooleanType), boolean)),
		scalar(logic, "OR", "a OR b", "Three-valued OR. b is evaluated only where a is not TRUE.", variadic(2, is(types.BooleanType), boolean)),
		scalar(logic, "NOT", "NOT a", "The opposite; NULL for NULL.", sig(1, is(types.BooleanType), boolean)),

		scalar(arith, "+", "a + b", "Sum; also a time plus an interval. An overflow is an error.", func(c Call) (Signature, error) { return resolvePlus(c, "+", types.AddType) }),
		scalar(arith, "-", "a - b", "Difference; also a time less an interval. An overflow is an error.", func(c Call) (Signature, error) { return resolvePlus(c, "-", types.SubType) }),
		scalar(arith, "*", "a * b", "Product; also an interval times an integer. An overflow is an error.", resolveTimes),
		scalar(arith, "/", "a / b", "Quotient; of integers it is an integer, cut. Division by zero is an error but for FLOAT and DOUBLE.", resolveDivide),
		scalar(arith, "%", "a % b", "Remainder, with the sign of a, of integers and DECIMALs.", resolveMod),
		scalar(arith, "MOD", "MOD(a, b)", "Remainder, with the sign of a, of integers and DECIMALs.", resolveMod),
		scalar(arith, "NEGATE", "-a", "The opposite number or interval.", sig(1, first, numberOrInterval)),
	)
}

func lower(not string) string {
	if not == "" {
		return ""
	}
	return "not "
}

// comparison resolves two operands that are compared.
func comparison(c Call, ordered bool) ([]types.Type, error) {
	if err := checkCount(c, 2, 2, false); err != nil {
		return nil, err
	}
	a, b := c.Args[0], c.Args[1]
	l, r, err := comparePair(a, b)
	if err != nil {
		return nil, err
	}
	if ordered {
		if err := orderable(c.Name, l); err != nil {
			return nil, err
		}
	}
	return []types.Type{l, r}, nil
}

func orderable(what string, t types.Type) error {
	if t.IsNested() {
		return fmt.Errorf("%s cannot be used with %s: it has no order", what, t.WithNull(true))
	}
	return nil
}

// comparePair returns what two operands are cast to: one type, or two DECIMALs, which compare whatever their scales.
func comparePair(a, b types.Type) (l, r types.Type, err error) {
	a.Attr, b.Attr = types.NoTimeAttr, types.NoTimeAttr
	t, ok := types.CompareType(a, b)
	if !ok {
		return a, b, fmt.Errorf("cannot compare %s with %s: %s", a.WithNull(true), b.WithNull(true), compareHint(a, b))
	}
	if t.Kind == types.Decimal {
		l, r = a.AsDecimal(), b.AsDecimal()
	} else if a.IsText() && b.IsText() {
		l, r = a, b
	} else {
		l, r = t, t
	}
	if a.Kind == types.Null {
		l = r
	}
	if b.Kind == types.Null {
		r = l
	}
	return l.WithNull(a.Nullable || a.Kind == types.Null), r.WithNull(b.Nullable || b.Kind == types.Null), nil
}

func compareHint(a, b types.Type) string {
	if a.IsText() && b.IsNumeric() {
		a, b = b, a
	}
	switch {
	case a.IsNumeric() && b.IsText():
		return fmt.Sprintf("write CAST(... AS %s) around the string, or CAST(... AS STRING) around the number", a.WithNull(true))
	case a.IsTimestamp() && b.Kind == types.Date:
		return "write CAST(... AS DATE) around the timestamp, or CAST(... AS TIMESTAMP(3)) around the date"
	case a.Kind == types.Date && b.IsTimestamp():
		return compareHint(b, a)
	}
	return "CAST one of them to the type of the other"
}

// resolveBetween resolves x BETWEEN a AND b. All three meet in one type, except DECIMALs, which compare whatever their scales.
func resolveBetween(c Call) (Signature, error) {
	if err := checkCount(c, 3, 3, false); err != nil {
		return Signature{}, err
	}
	args, err := compareAll(c.Args)
	if err != nil {
		return Signature{}, err
	}
	if err := orderable(c.Name, args[0]); err != nil {
		return Signature{}, err
	}
	return Signature{args, types.BooleanType.WithNull(anyNullable(args))}, nil
}

// compareAll finds the type in which all operands are compared.
func compareAll(ts []types.Type) ([]types.Type, error) {
	x := ts[0]
	for _, t := range ts[1:] {
		if _, _, err := comparePair(x, t); err != nil {
			return nil, err
		}
		u, _ := types.CompareType(x, t)
		if x.IsText() && t.IsText() {
			u = x
		}
		x = u
	}
	args := make([]types.Type, len(ts))
	for i, t := range ts {
		t.Attr = types.NoTimeAttr
		switch {
		case x.IsText() && t.IsText():
			args[i] = t
		case x.Kind == types.Decimal && t.Kind != types.Null:
			args[i] = t.AsDecimal()
		default:
			args[i] = x
		}
		args[i] = args[i].WithNull(t.Nullable || t.Kind == types.Null)
	}
	return args, nil
}

// resolveIn resolves x IN (list). Of numbers and strings all are compared as strings, as in Flink. DECIMALs keep their scales: a common type can have fewer
// digits, and then 0.4 would be in a list of whole numbers.
func resolveIn(c Call) (Signature, error) {
	if err := checkCount(c, 2, 2, true); err != nil {
		return Signature{}, err
	}
	texts := slices.ContainsFunc(c.Args, types.Type.IsText)
	numbers := slices.ContainsFunc(c.Args, types.Type.IsNumeric)
	if texts && numbers {
		args := make([]types.Type, len(c.Args))
		for i, t := range c.Args {
			if !t.IsText() && !t.IsNumeric() && t.Kind != types.Null {
				return Signature{}, fmt.Errorf("cannot compare %s with %s: CAST one of them", c.Args[0].WithNull(true), t.WithNull(true))
			}
			if args[i] = t; !t.IsText() {
				args[i] = types.StringType.WithNull(t.Nullable || t.Kind == types.Null)
			}
		}
		return Signature{args, types.BooleanType.WithNull(anyNullable(args))}, nil
	}
	args, err := compareAll(c.Args)
	if err != nil {
		return Signature{}, err
	}
	return Signature{args, types.BooleanType.WithNull(anyNullable(args))}, nil
}

// badOperands is the error of an operator that does not take its operands.
func badOperands(op string, a, b types.Type) error {
	hint := ""
	switch {
	case a.IsText() && b.IsNumeric(), b.IsText() && a.IsNumeric(), a.IsText() && b.IsText():
		hint = ": write CAST(... AS INT), or DOUBLE, around the string"
		if op == "+" {
			hint += "; strings are joined by ||"
		}
	case a.IsTimestamp() && b.IsTimestamp() && op == "-", a.Kind == types.Date && b.Kind == types.Date && op == "-":
		hint = ": write TIMESTAMPDIFF(SECOND, b, a)"
	case a.IsDatetime() && b.IsNumeric(), a.IsNumeric() && b.IsDatetime():
		hint = ": write INTERVAL '1' DAY for a day"
	}
	return fmt.Errorf("cannot compute %s %s %s%s", a.WithNull(true), op, b.WithNull(true), hint)
}

// twoArgs checks the number of arguments; a bare NULL takes the type of the other side.
func twoArgs(c Call) (a, b types.Type, err error) {
	if err = checkCount(c, 2, 2, false); err != nil {
		return a, b, err
	}
	a, b = c.Args[0].WithAttr(types.NoTimeAttr), c.Args[1].WithAttr(types.NoTimeAttr)
	switch {
	case a.Kind == types.Null && b.Kind == types.Null:
		a, b = types.IntType, types.IntType
	case a.Kind == types.Null:
		a = b.WithNull(true)
	case b.Kind == types.Null:
		b = a.WithNull(true)
	}
	return a, b, nil
}

// numeric resolves an operator over numbers: the operands are cast to the type of the result, but DECIMALs keep theirs.
func numeric(op string, a, b types.Type, rule func(a, b types.Type) (types.Type, bool)) (Signature, error) {
	r, ok := rule(a, b)
	if !ok {
		return Signature{}, badOperands(op, a, b)
	}
	l, m := r, r
	if r.Kind == types.Decimal {
		l, m = a.AsDecimal(), b.AsDecimal()
	}
	return Signature{[]types.Type{l.WithNull(a.Nullable), m.WithNull(b.Nullable)}, r}, nil
}

func resolvePlus(c Call, op string, rule func(a, b types.Type) (types.Type, bool)) (Signature, error) {
	a, b, err := twoArgs(c)
	if err != nil {
		return Signature{}, err
	}
	keep := func(r types.Type) (Signature, error) {
		return Signature{[]types.Type{a, b}, r.WithNull(a.Nullable || b.Nullable)}, nil
	}
	switch {
	case len(c.Units) == 1 && op == "-": // (a - b) unit
		return resolveMinusDate(c, a, b)
	case a.IsInterval() && a.Kind == b.Kind:
		a.Interval, b.Interval = types.IntervalUnits{}, types.IntervalUnits{}
		return keep(a)
	case a.IsDatetime() && b.IsInterval():
		return keep(a)
	case a.IsInterval() && b.IsDatetime() && op == "+":
		return keep(b)
	}
	return numeric(op, a, b, rule)
}

func resolveMinusDate(c Call, a, b types.Type) (Signature, error) {
	ok := a.IsTimestamp() && b.IsTimestamp() || a.Kind == b.Kind && a.IsDatetime() || a.Kind == types.Date && b.IsTimestamp() || b.Kind == types.Date && a.IsTimestamp()
	if !ok {
		return Signature{}, badOperands("-", a, b)
	}
	r := types.DayTimeType
	switch c.Units[0] {
	case "YEAR", "MONTH", "QUARTER":
		r = types.YearMonthType
		if a.Kind == types.Time {
			return Signature{}, fmt.Errorf("the difference of two TIMEs has no %s", c.Units[0])
		}
	}
	return Signature{[]types.Type{a, b}, r.WithNull(a.Nullable || b.Nullable)}, nil
}

func resolveTimes(c Call) (Signature, error) {
	a, b, err := twoArgs(c)
	if err != nil {
		return Signature{}, err
	}
	if a.IsInterval() && b.IsInteger() || a.IsInteger() && b.IsInterval() {
		r := a
		if b.IsInterval() {
			r = b
		}
		r.Interval = types.IntervalUnits{}
		return Signature{[]types.Type{a, b}, r.WithNull(a.Nullable || b.Nullable)}, nil
	}
	return numeric("*", a, b, types.MulType)
}

func resolveDivide(c Call) (Signature, error) {
	a, b, err := twoArgs(c)
	if err != nil {
		return Signature{}, err
	}
	return numeric("/", a, b, types.DivType)
}

// resolveMod resolves % and MOD. Of two whole numbers the result has the type of the second one.
func resolveMod(c Call) (Signature, error) {
	a, b, err := twoArgs(c)
	if err != nil {
		return Signature{}, err
	}
	if a.IsApprox() || b.IsApprox() {
		return Signature{}, fmt.Errorf("%s takes integers and DECIMALs, not %s and %s: write CAST(... AS DECIMAL(38, 18))", c.Name, a.WithNull(true), b.WithNull(true))
	}
	s, err := numeric(c.Name, a, b, types.ModType)
	if err == nil && s.Result.IsInteger() {
		s.Result = b.WithNull(s.Result.Nullable)
		if a.Kind == types.Decimal || b.Kind == types.Decimal {
			s.Args = []types.Type{a, b}
		}
	}
	return s, err
}
