package catalog

import (
	"fmt"

	"github.com/weir-sql/weir/types"
)

func init() {
	const g, cons = "Collection", "Constructor"
	register(
		scalar(cons, "ROW", "ROW(a, b, ...)", "A row.", func(c Call) (Signature, error) {
			var fs []types.Field
			for i, t := range c.Args {
				if t.Kind == types.Null {
					return Signature{}, fmt.Errorf("element %d of ROW has no type: write CAST(NULL AS type)", i+1)
				}
				fs = append(fs, types.Field{Name: fmt.Sprintf("EXPR$%d", i), Type: t.WithAttr(types.NoTimeAttr)})
			}
			return Signature{c.Args, types.RowOf(fs...).NotNull()}, nil
		}),
		scalar(cons, "ARRAY", "ARRAY[a, b, ...]", "An array.", func(c Call) (Signature, error) {
			if err := checkCount(c, 1, 1, true); err != nil {
				return Signature{}, err
			}
			t, err := meet(c, c.Args, types.CommonArgs)
			if err != nil {
				return Signature{}, err
			}
			args := repeatType(t, c.Args)
			return Signature{args, types.ArrayOf(t.WithNull(anyNullable(args))).NotNull()}, nil
		}),
		scalar(cons, "MAP", "MAP[k, v, ...]", "A map; a key that comes twice keeps the last value.", func(c Call) (Signature, error) {
			if len(c.Args) == 0 || len(c.Args)%2 != 0 {
				return Signature{}, fmt.Errorf("MAP takes keys and values in turn, not %d arguments", len(c.Args))
			}
			var ks, vs []types.Type
			for i, t := range c.Args {
				if i%2 == 0 {
					ks = append(ks, t)
				} else {
					vs = append(vs, t)
				}
			}
			k, err := meet(c, ks, types.CommonArgs)
			if err != nil {
				return Signature{}, err
			}
			v, err := meet(c, vs, types.CommonArgs)
			if err != nil {
				return Signature{}, err
			}
			args := make([]types.Type, len(c.Args))
			for i, t := range c.Args {
				if args[i] = k; i%2 == 1 {
					args[i] = v
				}
				args[i] = args[i].WithNull(t.Nullable || t.Kind == types.Null)
			}
			return Signature{args, types.MapOf(k.WithNull(anyNullable(ks)), v.WithNull(anyNullable(vs))).NotNull()}, nil
		}),
		scalar(g, "[]", "a[i] | m[key]", "An element of an array, from 1, or the value of a key; NULL when there is none.", resolveItem, "ITEM"),
		scalar(g, "CARDINALITY", "CARDINALITY(a)", "The number of elements of an array, a map or a multiset.", sig(1, is(types.IntType), func(t types.Type) (types.Type, error) {
			if t.Kind == types.Array || t.Kind == types.Map || t.Kind == types.Multiset {
				return t, nil
			}
			return t, fmt.Errorf("an ARRAY, MAP or MULTISET, not %s", t.WithNull(true))
		})),
		scalar(g, "ELEMENT", "ELEMENT(a)", "The only element of an array; more than one is an error.",
			sig(1, func(_ Call, args []types.Type) types.Type {
				return args[0].Elem.WithNull(args[0].Nullable || args[0].Elem.Nullable)
			}, arrayParam)),
		scalar(g, "ARRAY_APPEND", "ARRAY_APPEND(a, x)", "The array with x at its end.", resolveAppend),
		scalar(g, "ARRAY_PREPEND", "ARRAY_PREPEND(a, x)", "The array with x at its start.", resolveAppend),
		scalar(g, "ARRAY_CONTAINS", "ARRAY_CONTAINS(a, x)", "Whether x, also NULL, is an element.", withElement(func(args []types.Type) types.Type {
			return types.BooleanType.WithNull(args[0].Nullable)
		})),
		scalar(g, "ARRAY_POSITION", "ARRAY_POSITION(a, x)", "Where x first stands, from 1; 0 when it does not.", withElement(func(args []types.Type) types.Type {
			return types.IntType.WithNull(anyNullable(args))
		})),
		scalar(g, "ARRAY_REMOVE", "ARRAY_REMOVE(a, x)", "The array without the elements that equal x.", withElement(func(args []types.Type) types.Type { return args[0] })),
		scalar(g, "ARRAY_DISTINCT", "ARRAY_DISTINCT(a)", "The array without elements that came before.", sig(1, first, arrayParam)),
		scalar(g, "ARRAY_REVERSE", "ARRAY_REVERSE(a)", "The array backwards.", sig(1, first, arrayParam)),
		scalar(g, "ARRAY_SLICE", "ARRAY_SLICE(a, from[, to])", "Elements from one place to another, both included; negative ones count from the end, 0 stands for 1.",
			sig(2, first, arrayParam, integer, integer)),
		scalar(g, "ARRAY_SORT", "ARRAY_SORT(a[, ascending[, nulls_first]])", "The array sorted; NULLs come first when ascending, else last, unless told.",
			func(c Call) (Signature, error) {
				s, err := sig(1, first, arrayParam, boolean, boolean)(c)
				if err == nil {
					err = orderable(c.Name, *s.Args[0].Elem)
				}
				return s, err
			}),
		scalar(g, "ARRAY_UNION", "ARRAY_UNION(a, b)", "The distinct elements of both arrays.", sameArrays(false)),
		scalar(g, "ARRAY_CONCAT", "ARRAY_CONCAT(a, b, ...)", "The arrays one behind the other.", sameArrays(true)),
		scalar(g, "ARRAY_EXCEPT", "ARRAY_EXCEPT(a, b)", "The distinct elements of a that are not in b.", sameArrays(false)),
		scalar(g, "ARRAY_INTERSECT", "ARRAY_INTERSECT(a, b)", "The distinct elements that are in both arrays.", sameArrays(false)),
		scalar(g, "ARRAY_MAX", "ARRAY_MAX(a)", "The greatest element that is not NULL.", arrayExtreme),
		scalar(g, "ARRAY_MIN", "ARRAY_MIN(a)", "The least element that is not NULL.", arrayExtreme),
		scalar(g, "ARRAY_JOIN", "ARRAY_JOIN(a, separator[, null])", "The strings of an array joined; NULLs are left out, or shown as the third argument.",
			sig(2, func(_ Call, args []types.Type) types.Type { return types.StringType.WithNull(anyNullable(args)) }, func(t types.Type) (types.Type, error) {
				if t.Kind == types.Array && t.Elem.IsText() {
					return t, nil
				}
				return t, fmt.Errorf("an ARRAY<STRING>, not %s: write CAST(... AS ARRAY<STRING>)", t.WithNull(true))
			}, text, text)),
		scalar(g, "MAP_KEYS", "MAP_KEYS(m)", "The keys of a map as an array.", sig(1, func(_ Call, args []types.Type) types.Type {
			return types.ArrayOf(*args[0].Key).WithNull(args[0].Nullable)
		}, mapParam)),
		scalar(g, "MAP_VALUES", "MAP_VALUES(m)", "The values of a map as an array.", sig(1, func(_ Call, args []types.Type) types.Type {
			return types.ArrayOf(*args[0].Elem).WithNull(args[0].Nullable)
		}, mapParam)),
		scalar(g, "MAP_ENTRIES", "MAP_ENTRIES(m)", "The entries of a map as an array of rows (key, value).", sig(1, func(_ Call, args []types.Type) types.Type {
			row := types.RowOf(types.Field{Name: "key", Type: *args[0].Key}, types.Field{Name: "value", Type: *args[0].Elem})
			return types.ArrayOf(row).WithNull(args[0].Nullable)
		}, mapParam)),
		scalar(g, "MAP_UNION", "MAP_UNION(m, n, ...)", "The entries of all maps; of an equal key the last map's.", func(c Call) (Signature, error) {
			if _, err := variadic(1, first, mapParam)(c); err != nil {
				return Signature{}, err
			}
			t, err := meet(c, c.Args, types.CommonArgs)
			if err != nil {
				return Signature{}, err
			}
			args := repeatType(t, c.Args)
			return Signature{args, t.WithNull(anyNullable(args))}, nil
		}),
		scalar(g, "MAP_FROM_ARRAYS", "MAP_FROM_ARRAYS(keys, values)", "A map of two arrays of the same length.", sig(2, func(_ Call, args []types.Type) types.Type {
			return types.MapOf(*args[0].Elem, *args[1].Elem).WithNull(anyNullable(args))
		}, arrayParam, arrayParam)),
	)
}

func resolveItem(c Call) (Signature, error) {
	if err := checkCount(c, 2, 2, false); err != nil {
		return Signature{}, err
	}
	t, key := c.Args[0], c.Args[1]
	switch t.Kind {
	case types.Array:
		k, err := integer(key)
		if err != nil {
			return Signature{}, fmt.Errorf("the index of an ARRAY must be %w", err)
		}
		if n, ok := literalInt(c, 1); ok && n < 1 {
			return Signature{}, fmt.Errorf("array elements are numbered from 1: there is no element %d", n)
		}
		return Signature{[]types.Type{t, k}, t.Elem.WithNull(true)}, nil
	case types.Map:
		_, k, err := comparePair(*t.Key, key)
		if err != nil || k.Kind != t.Key.Kind && !(k.IsText() && t.Key.IsText()) {
			return Signature{}, fmt.Errorf("the key of this MAP is %s, not %s: write CAST(... AS %s)", t.Key.WithNull(true), key.WithNull(true), t.Key.WithNull(true))
		}
		if !t.Key.IsText() { // text of any length will do
			k = t.Key.WithNull(key.Nullable)
		}
		return Signature{[]types.Type{t, k}, t.Elem.WithNull(true)}, nil
	}
	return Signature{}, fmt.Errorf("only an ARRAY or a MAP has elements, not %s", t.WithNull(true))
}

// element checks that a value can be an element of an array: the same kind, or a type that widens to it.
func element(c Call, elem, x types.Type) (types.Type, error) {
	t, ok := types.CommonArgs(elem, x)
	if x.Kind == types.Null {
		return elem.WithNull(true), nil
	}
	same := ok && (t.WithNull(true).SameKind(elem.WithNull(true)) || elem.IsText() && x.IsText())
	if !same {
		return t, fmt.Errorf("the elements of the array in %s are %s, not %s: write CAST(... AS %s)", c.Name, elem.WithNull(true), x.WithNull(true), elem.WithNull(true))
	}
	if elem.IsText() {
		return t.WithNull(x.Nullable), nil
	}
	return elem.WithNull(x.Nullable), nil
}

func withElement(r func(args []types.Type) types.Type) func(Call) (Signature, error) {
	return func(c Call) (Signature, error) {
		if _, err := sig(2, first, arrayParam, anything)(c); err != nil {
			return Signature{}, err
		}
		x, err := element(c, *c.Args[0].Elem, c.Args[1])
		if err != nil {
			return Signature{}, err
		}
		args := []types.Type{c.Args[0], x}
		return Signature{args, r(args)}, nil
	}
}

func resolveAppend(c Call) (Signature, error) {
	s, err := withElement(func(args []types.Type) types.Type { return args[0] })(c)
	if err != nil {
		return s, err
	}
	elem := *s.Args[0].Elem
	if elem.IsText() {
		elem, _ = types.CommonArgs(elem, s.Args[1])
	}
	elem.Nullable = s.Args[0].Elem.Nullable || s.Args[1].Nullable
	s.Result = types.ArrayOf(elem)
	return s, nil
}

func sameArrays(more bool) func(Call) (Signature, error) {
	return func(c Call) (Signature, error) {
		least, most := 2, 2
		if more {
			least = 1
		}
		if err := checkCount(c, least, most, more); err != nil {
			return Signature{}, err
		}
		for i, t := range c.Args {
			if _, err := arrayParam(t); err != nil && t.Kind != types.Null {
				return Signature{}, argumentError(c, i, err)
			}
		}
		t, err := meet(c, c.Args, types.CommonArgs)
		if err != nil {
			return Signature{}, err
		}
		args := repeatType(t, c.Args)
		return Signature{args, t.WithNull(anyNullable(args))}, nil
	}
}

func arrayExtreme(c Call) (Signature, error) {
	s, err := sig(1, func(_ Call, args []types.Type) types.Type { return args[0].Elem.WithNull(true) }, arrayParam)(c)
	if err == nil {
		err = orderable(c.Name, *s.Args[0].Elem)
	}
	return s, err
}
