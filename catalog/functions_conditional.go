package catalog

import (
	"fmt"

	"github.com/weir-sql/weir/types"
)

func init() {
	const g = "Conditional"
	flag := notNull(types.BooleanType)
	register(
		scalar(g, "COALESCE", "COALESCE(a, b, ...)", "The first argument that is not NULL; later ones are evaluated only where they are needed.", resolveCoalesce),
		scalar(g, "IFNULL", "IFNULL(a, b)", "a, or b where a is NULL.", func(c Call) (Signature, error) {
			if err := checkCount(c, 2, 2, false); err != nil {
				return Signature{}, err
			}
			return resolveCoalesce(c)
		}),
		scalar(g, "NULLIF", "NULLIF(a, b)", "NULL where a equals b, else a.", func(c Call) (Signature, error) {
			if err := checkCount(c, 2, 2, false); err != nil {
				return Signature{}, err
			}
			if _, _, err := comparePair(c.Args[0], c.Args[1]); err != nil {
				return Signature{}, err
			}
			return Signature{c.Args, c.Args[0].WithNull(true).WithAttr(types.NoTimeAttr)}, nil
		}),
		scalar(g, "IF", "IF(condition, a, b)", "a where the condition is TRUE, else b.", func(c Call) (Signature, error) {
			if err := checkCount(c, 3, 3, false); err != nil {
				return Signature{}, err
			}
			cond, err := boolean(c.Args[0])
			if err != nil {
				return Signature{}, argumentError(c, 0, err)
			}
			t, err := meet(c, c.Args[1:], types.Common)
			if err != nil {
				return Signature{}, err
			}
			args := append([]types.Type{cond}, repeatType(t, c.Args[1:])...)
			return Signature{args, t.WithNull(anyNullable(args))}, nil
		}),
		scalar(g, "GREATEST", "GREATEST(a, b, ...)", "The greatest argument; NULL when one is NULL.", resolveGreatest),
		scalar(g, "LEAST", "LEAST(a, b, ...)", "The least argument; NULL when one is NULL.", resolveGreatest),
		scalar(g, "IS_ALPHA", "IS_ALPHA(s)", "Whether s consists of letters; FALSE for NULL and ''.", sig(1, flag, anything)),
		scalar(g, "IS_DECIMAL", "IS_DECIMAL(s)", "Whether s can be read as a number; FALSE for NULL and ''.", sig(1, flag, anything)),
		scalar(g, "IS_DIGIT", "IS_DIGIT(s)", "Whether s consists of digits; FALSE for NULL and ''.", sig(1, flag, anything)),
		scalar("Conversion", "TYPEOF", "TYPEOF(x[, full])", "The type of an expression.", sig(1, nullable(types.StringType), anything, boolean)),
	)
}

// meet finds the common type of arguments.
func meet(c Call, ts []types.Type, f func(a, b types.Type) (types.Type, bool)) (types.Type, error) {
	t := ts[0].WithAttr(types.NoTimeAttr)
	for _, u := range ts[1:] {
		m, ok := f(t, u)
		if !ok {
			return t, fmt.Errorf("the arguments of %s have no common type: %s and %s: CAST one of them", c.Name, t.WithNull(true), u.WithNull(true))
		}
		t = m
	}
	if t.Kind == types.Null {
		return t, fmt.Errorf("the arguments of %s are all NULL: write CAST(NULL AS type)", c.Name)
	}
	return t, nil
}

func repeatType(t types.Type, args []types.Type) []types.Type {
	out := make([]types.Type, len(args))
	for i, a := range args {
		out[i] = t.WithNull(a.Nullable || a.Kind == types.Null)
	}
	return out
}

func resolveCoalesce(c Call) (Signature, error) {
	if err := checkCount(c, 1, 1, true); err != nil {
		return Signature{}, err
	}
	t, err := meet(c, c.Args, types.CommonArgs)
	if err != nil {
		return Signature{}, err
	}
	null := true
	for _, a := range c.Args {
		null = null && (a.Nullable || a.Kind == types.Null)
	}
	return Signature{repeatType(t, c.Args), t.WithNull(null)}, nil
}

func resolveGreatest(c Call) (Signature, error) {
	if err := checkCount(c, 1, 1, true); err != nil {
		return Signature{}, err
	}
	t, err := meet(c, c.Args, types.CommonArgs)
	if err != nil {
		return Signature{}, err
	}
	if err := orderable(c.Name, t); err != nil {
		return Signature{}, err
	}
	args := repeatType(t, c.Args)
	return Signature{args, t.WithNull(anyNullable(args))}, nil
}
