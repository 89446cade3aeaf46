package catalog

import (
	"fmt"

	"github.com/weir-sql/weir/types"
)

// The aggregate functions. Result types are Flink's; integer SUM keeps the argument's type, and a sum that does not fit is an error.
func init() {
	agg := func(name, syntax, doc string, resolve func(Call) (Signature, error), aliases ...string) *Function {
		return &Function{Name: name, Aliases: aliases, Kind: Aggregate, Group: "Aggregate", Syntax: syntax, Doc: doc, Resolve: resolve}
	}
	register(
		agg("COUNT", "COUNT(*) | COUNT([DISTINCT] x [, ...])",
			"The number of rows; with arguments, of rows in which none of them is NULL.", resolveCount),
		agg("SUM", "SUM([DISTINCT] x)", "The sum of the values that are not NULL, in the type of x (DECIMAL(38, s) for DECIMAL); NULL when there are none.",
			numericAgg(types.SumType)),
		agg("AVG", "AVG([DISTINCT] x)", "The average, in the type of x: of integers it is an integer, truncated.", numericAgg(types.AvgType)),
		agg("MIN", "MIN(x)", "The smallest value that is not NULL.", resolveMinMax),
		agg("MAX", "MAX(x)", "The greatest value that is not NULL; NaN is greater than every number.", resolveMinMax),
		agg("STDDEV_POP", "STDDEV_POP([DISTINCT] x)", "The standard deviation of a population, in the type of x, as AVG.", numericAgg(types.VarType)),
		agg("STDDEV_SAMP", "STDDEV_SAMP([DISTINCT] x)", "The standard deviation of a sample, in the type of x, as AVG; NULL for fewer than two values.",
			numericAgg(types.VarType), "STDDEV"),
		agg("VAR_POP", "VAR_POP([DISTINCT] x)", "The variance of a population, in the type of x, as AVG.", numericAgg(types.VarType)),
		agg("VAR_SAMP", "VAR_SAMP([DISTINCT] x)", "The variance of a sample, in the type of x, as AVG; NULL for fewer than two values.",
			numericAgg(types.VarType), "VARIANCE"),
		agg("LISTAGG", "LISTAGG([DISTINCT] s [, separator])",
			"The strings that are not NULL in the order of arrival, joined by a literal separator (',' when there is none).", resolveListAgg),
		agg("FIRST_VALUE", "FIRST_VALUE(x)", "The first value that is not NULL, in the order of arrival.", resolveOne(anyValue)),
		agg("LAST_VALUE", "LAST_VALUE(x)", "The last value that is not NULL, in the order of arrival.", resolveOne(anyValue)),
		agg("COLLECT", "COLLECT([DISTINCT] x)", "The multiset of the values that are not NULL.",
			resolveOne(func(t types.Type) types.Type { return types.MultisetOf(t).NotNull() })),
		agg("ARRAY_AGG", "ARRAY_AGG([DISTINCT] x [IGNORE NULLS])", "The values in the order of arrival, NULL included unless IGNORE NULLS says otherwise.",
			resolveOne(func(t types.Type) types.Type { return types.ArrayOf(t) })),
		agg("SINGLE_VALUE", "SINGLE_VALUE(x)", "The only value; more than one row is an error.", resolveOne(anyValue)),
	)
}

func resolveCount(c Call) (Signature, error) {
	return Signature{Args: c.Args, Result: types.BigIntType.NotNull()}, nil
}

// oneArg returns the type of the only argument.
func oneArg(c Call) (types.Type, error) {
	if len(c.Args) != 1 {
		return types.Type{}, fmt.Errorf("%s takes one argument, not %d", c.Name, len(c.Args))
	}
	t := c.Args[0]
	t.Attr = types.NoTimeAttr
	return t, nil
}

func numericAgg(rule func(types.Type) (types.Type, bool)) func(Call) (Signature, error) {
	return func(c Call) (Signature, error) {
		t, err := oneArg(c)
		if err != nil {
			return Signature{}, err
		}
		if t.Kind == types.Null {
			t = types.IntType
		}
		r, ok := rule(t)
		if !ok {
			return Signature{}, fmt.Errorf("%s takes a number, not %s", c.Name, t.WithNull(true))
		}
		return Signature{Args: []types.Type{t}, Result: r}, nil
	}
}

func anyValue(t types.Type) types.Type { return t.WithNull(true) }

func resolveMinMax(c Call) (Signature, error) {
	t, err := oneArg(c)
	if err != nil {
		return Signature{}, err
	}
	if t.IsNested() {
		return Signature{}, fmt.Errorf("%s does not take %s: values of that type have no order", c.Name, t.WithNull(true))
	}
	return resolveOne(anyValue)(c)
}

// resolveOne is for functions that take one value of any type.
func resolveOne(result func(types.Type) types.Type) func(Call) (Signature, error) {
	return func(c Call) (Signature, error) {
		t, err := oneArg(c)
		if err != nil {
			return Signature{}, err
		}
		if t.Kind == types.Null {
			t = types.IntType
		}
		return Signature{Args: []types.Type{t}, Result: result(t)}, nil
	}
}

func resolveListAgg(c Call) (Signature, error) {
	if len(c.Args) < 1 || len(c.Args) > 2 {
		return Signature{}, fmt.Errorf("LISTAGG takes a string and a separator, not %d arguments", len(c.Args))
	}
	if t := c.Args[0]; !t.IsText() && t.Kind != types.Null {
		return Signature{}, fmt.Errorf("LISTAGG takes a string, not %s: write LISTAGG(CAST(... AS STRING))", t.WithNull(true))
	}
	args := []types.Type{types.StringType.WithNull(c.Args[0].Nullable)}
	if len(c.Args) == 2 {
		if _, ok := c.Literals[1].(string); !ok {
			return Signature{}, fmt.Errorf("the separator of LISTAGG must be a string literal")
		}
		args = append(args, c.Args[1])
	}
	return Signature{Args: args, Result: types.StringType}, nil
}
