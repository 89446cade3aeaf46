package expr

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/weir-sql/weir/types"
)

// Functions of ARRAY and MAP work on values in canonical form. Elements are equal as for GROUP BY: NULL equals NULL, NaN equals NaN.

func init() {
	define("ARRAY", withNulls(func(_ *env, a []any) (any, error) { return slices.Clone(a), nil }))
	define("MAP", withNulls(func(_ *env, a []any) (any, error) {
		m := make(types.MapVal, 0, len(a)/2)
		for i := 0; i+1 < len(a); i += 2 {
			m = put(m, a[i], a[i+1])
		}
		return m, nil
	}))
	define("CARDINALITY", rows(func(_ *env, o []operand) (func(int) (int64, error), error) {
		return func(i int) (int64, error) {
			switch x := o[0].value(i).(type) {
			case []any:
				return int64(len(x)), nil
			case types.MapVal:
				if o[0].t.Kind != types.Multiset {
					return int64(len(x)), nil
				}
				n := int64(0)
				for _, e := range x {
					n += int64(e.Val.(int32))
				}
				return n, nil
			}
			return 0, errNull
		}, nil
	}))
	define("ELEMENT", strict1(func(_ *env, v any) (any, error) {
		a := v.([]any)
		switch {
		case len(a) == 0 || len(a) == 1 && a[0] == nil:
			return nil, errNull
		case len(a) > 1:
			return nil, fmt.Errorf("ELEMENT needs an array with one element, not %d", len(a))
		}
		return a[0], nil
	}))
	item := func(c *call) (Evaluator, error) {
		if c.args[0].Type().Kind == types.Array {
			return newArrayItem(c)
		}
		return strict2(func(_ *env, m any, key any) (any, error) {
			for _, e := range m.(types.MapVal) {
				if e.Key != nil && types.Compare(e.Key, key) == 0 {
					return orNull(e.Val)
				}
			}
			return nil, errNull
		})(c)
	}
	define("[]", item)

	define("ARRAY_APPEND", arrayFunc(func(a []any, rest []any) (any, error) { return append(slices.Clone(a), rest[0]), nil }))
	define("ARRAY_PREPEND", arrayFunc(func(a []any, rest []any) (any, error) { return append([]any{rest[0]}, a...), nil }))
	define("ARRAY_REMOVE", arrayFunc(func(a []any, rest []any) (any, error) {
		out := []any{}
		for _, e := range a {
			if types.Compare(e, rest[0]) != 0 {
				out = append(out, e)
			}
		}
		return out, nil
	}))
	define("ARRAY_CONTAINS", withNulls(func(_ *env, a []any) (bool, error) {
		if a[0] == nil {
			return false, errNull
		}
		return slices.ContainsFunc(a[0].([]any), func(e any) bool { return types.Compare(e, a[1]) == 0 }), nil
	}))
	define("ARRAY_POSITION", strict2(func(_ *env, v any, x any) (int64, error) {
		return int64(slices.IndexFunc(v.([]any), func(e any) bool { return e != nil && types.Compare(e, x) == 0 })) + 1, nil
	}))
	define("ARRAY_DISTINCT", strict1(func(_ *env, v any) (any, error) { return distinct(v.([]any)), nil }))
	define("ARRAY_REVERSE", strict1(func(_ *env, v any) (any, error) {
		a := slices.Clone(v.([]any))
		slices.Reverse(a)
		return a, nil
	}))
	slice := func(a []any, from, to int64) any {
		n := int64(len(a))
		at := func(i int64) int64 {
			switch {
			case i < 0:
				return n + i + 1
			case i == 0:
				return 1
			}
			return i
		}
		from, to = at(from), at(to)
		from, to = max(from, 1), min(to, n)
		if from > to {
			return []any{}
		}
		return slices.Clone(a[from-1 : to])
	}
	define("ARRAY_SLICE", arity(map[int]builder{
		2: strict2(func(_ *env, v any, from int64) (any, error) { return slice(v.([]any), from, -1), nil }),
		3: strict3(func(_ *env, v any, from, to int64) (any, error) { return slice(v.([]any), from, to), nil }),
	}))
	sorted := func(v any, asc, nullsFirst bool) (any, error) {
		a := slices.Clone(v.([]any))
		sort.SliceStable(a, func(i, j int) bool {
			x, y := a[i], a[j]
			if x == nil || y == nil {
				return (x == nil) != (y == nil) && (x == nil) == nullsFirst
			}
			if asc {
				return types.Compare(x, y) < 0
			}
			return types.Compare(x, y) > 0
		})
		return a, nil
	}
	define("ARRAY_SORT", arity(map[int]builder{
		1: strict1(func(_ *env, v any) (any, error) { return sorted(v, true, true) }),
		2: strict2(func(_ *env, v any, asc bool) (any, error) { return sorted(v, asc, asc) }),
		3: strict3(func(_ *env, v any, asc, nulls bool) (any, error) { return sorted(v, asc, nulls) }),
	}))
	define("ARRAY_UNION", strict2(func(_ *env, x, y any) (any, error) { return distinct(slices.Concat(x.([]any), y.([]any))), nil }))
	define("ARRAY_CONCAT", rows(func(_ *env, o []operand) (func(int) (any, error), error) {
		return func(i int) (any, error) {
			out := []any{}
			for _, a := range o {
				out = append(out, a.value(i).([]any)...)
			}
			return out, nil
		}, nil
	}))
	keep := func(in bool) builder {
		return strict2(func(_ *env, x, y any) (any, error) {
			out := []any{}
			for _, e := range distinct(x.([]any)) {
				if slices.ContainsFunc(y.([]any), func(f any) bool { return types.Compare(e, f) == 0 }) == in {
					out = append(out, e)
				}
			}
			return out, nil
		})
	}
	define("ARRAY_EXCEPT", keep(false))
	define("ARRAY_INTERSECT", keep(true))
	extreme := func(sign int) builder {
		return strict1(func(_ *env, v any) (any, error) {
			var best any
			for _, e := range v.([]any) {
				if e != nil && (best == nil || sign*types.Compare(e, best) > 0) {
					best = e
				}
			}
			return orNull(best)
		})
	}
	define("ARRAY_MAX", extreme(1))
	define("ARRAY_MIN", extreme(-1))
	join := func(v any, sep string, null string, withNull bool) string {
		var b strings.Builder
		n := 0
		for _, e := range v.([]any) {
			s, ok := e.(string)
			if !ok {
				if !withNull {
					continue
				}
				s = null
			}
			if n > 0 {
				b.WriteString(sep)
			}
			b.WriteString(s)
			n++
		}
		return b.String()
	}
	define("ARRAY_JOIN", arity(map[int]builder{
		2: strict2(func(_ *env, v any, sep string) (string, error) { return join(v, sep, "", false), nil }),
		3: withNulls(func(_ *env, a []any) (string, error) {
			if a[0] == nil || a[1] == nil {
				return "", errNull
			}
			null, ok := a[2].(string)
			return join(a[0], a[1].(string), null, ok), nil
		}),
	}))

	define("MAP_KEYS", strict1(func(_ *env, v any) (any, error) {
		out := []any{}
		for _, e := range v.(types.MapVal) {
			out = append(out, e.Key)
		}
		return out, nil
	}))
	define("MAP_VALUES", strict1(func(_ *env, v any) (any, error) {
		out := []any{}
		for _, e := range v.(types.MapVal) {
			out = append(out, e.Val)
		}
		return out, nil
	}))
	define("MAP_ENTRIES", strict1(func(_ *env, v any) (any, error) {
		out := []any{}
		for _, e := range v.(types.MapVal) {
			out = append(out, types.RowVal{e.Key, e.Val})
		}
		return out, nil
	}))
	define("MAP_UNION", rows(func(_ *env, o []operand) (func(int) (any, error), error) {
		return func(i int) (any, error) {
			var out types.MapVal
			for k := len(o) - 1; k >= 0; k-- { // later maps win, and come first
				for _, e := range o[k].value(i).(types.MapVal) {
					if !slices.ContainsFunc(out, func(x types.MapEntry) bool { return types.Compare(x.Key, e.Key) == 0 }) {
						out = append(out, e)
					}
				}
			}
			if out == nil {
				out = types.MapVal{}
			}
			return out, nil
		}, nil
	}))
	define("MAP_FROM_ARRAYS", strict2(func(_ *env, x, y any) (any, error) {
		ks, vs := x.([]any), y.([]any)
		if len(ks) != len(vs) {
			return nil, fmt.Errorf("MAP_FROM_ARRAYS needs as many values as keys: %d keys and %d values", len(ks), len(vs))
		}
		m := make(types.MapVal, 0, len(ks))
		for i := range ks {
			m = put(m, ks[i], vs[i])
		}
		return m, nil
	}))
	define("SPLIT", strict2(func(_ *env, s, sep string) (any, error) {
		out := []any{}
		if s == "" {
			return out, nil
		}
		for _, p := range strings.Split(s, sep) {
			out = append(out, p)
		}
		return out, nil
	}))
	strToMap := func(e *env, s, pair, kv string) (any, error) {
		m := types.MapVal{}
		if s == "" {
			return m, nil
		}
		pairs, err := e.splitRegexp(s, pair, -1)
		if err != nil {
			return nil, err
		}
		for len(pairs) > 0 && pairs[len(pairs)-1] == "" { // as Java's split
			pairs = pairs[:len(pairs)-1]
		}
		for _, p := range pairs {
			if p == "" {
				m = put(m, "", nil)
				continue
			}
			parts, err := e.splitRegexp(p, kv, 2)
			if err != nil {
				return nil, err
			}
			var v any
			if len(parts) == 2 {
				v = parts[1]
			}
			m = put(m, parts[0], v)
		}
		return m, nil
	}
	define("STR_TO_MAP", arity(map[int]builder{
		1: strict1(func(e *env, s string) (any, error) { return strToMap(e, s, ",", "=") }),
		3: strict3(strToMap),
	}))

	greatest := func(sign int) builder {
		return func(c *call) (Evaluator, error) {
			return rows(func(_ *env, o []operand) (func(int) (any, error), error) {
				return func(i int) (any, error) {
					best := o[0].value(i)
					for _, x := range o[1:] {
						if v := x.value(i); sign*types.Compare(v, best) > 0 {
							best = v
						}
					}
					return best, nil
				}, nil
			})(c)
		}
	}
	define("GREATEST", greatest(1))
	define("LEAST", greatest(-1))
}

func orNull(v any) (any, error) {
	if v == nil {
		return nil, errNull
	}
	return v, nil
}

// put sets m[k] = v; an equal key keeps its place.
func put(m types.MapVal, k, v any) types.MapVal {
	for i := range m {
		if types.Compare(m[i].Key, k) == 0 {
			m[i].Val = v
			return m
		}
	}
	return append(m, types.MapEntry{Key: k, Val: v})
}

// distinct drops elements that came before.
func distinct(a []any) []any {
	out := make([]any, 0, len(a))
next:
	for _, e := range a {
		for _, f := range out {
			if types.Compare(e, f) == 0 {
				continue next
			}
		}
		out = append(out, e)
	}
	return out
}

// arrayFunc is a function of an array, NULL for a NULL array, and other arguments that may be NULL.
func arrayFunc(f func(a []any, rest []any) (any, error)) builder {
	return withNulls(func(_ *env, args []any) (any, error) {
		if args[0] == nil {
			return nil, errNull
		}
		return f(args[0].([]any), args[1:])
	})
}

// newArrayItem is array[i]: NULL outside of the array.
func newArrayItem(c *call) (Evaluator, error) {
	if v, ok := constant(c.args[1]); ok && v != nil && toInt64(v) < 1 {
		return nil, c.fail("array elements are numbered from 1: there is no element %d", toInt64(v))
	}
	return strict2(func(_ *env, v any, i int64) (any, error) {
		a := v.([]any)
		if i < 1 || i > int64(len(a)) {
			return nil, errNull
		}
		return orNull(a[i-1])
	})(c)
}

// splitRegexp splits s at a regular expression as Java's String.split does: with limit -1 empty texts at the end are kept.
func (e *env) splitRegexp(s, pattern string, limit int) ([]string, error) {
	re, err := e.regexp(pattern, compileJava)
	if err != nil {
		return nil, err
	}
	return re.split(s, limit), nil
}
