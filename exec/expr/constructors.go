package expr

import (
	"fmt"

	"github.com/weir-sql/weir/types"
)

// Case is CASE WHEN conds[i] THEN results[i] ... ELSE els END; els nil is ELSE NULL. All results have type t. A branch is evaluated only for its rows.
func Case(conds, results []Evaluator, els Evaluator, t types.Type) Evaluator {
	if els == nil {
		els = Literal(nil, t)
	}
	return &caseEval{conds: conds, results: results, els: els, t: t}
}

// Cast is CAST(arg AS to), or TRY_CAST, which gives NULL where CAST fails. Casts between TIMESTAMP and
// TIMESTAMP_LTZ, and those to text, use the zone of the Context.
func Cast(arg Evaluator, to types.Type, try bool, where Where) (Evaluator, error) {
	return newCast(arg, to, try, where)
}

// Row is ROW(args...): one field for each argument.
func Row(args []Evaluator, t types.Type) Evaluator { return &rowCons{args: args, t: t} }

// Array is ARRAY[args...]; all args have the element type.
func Array(args []Evaluator, t types.Type) Evaluator {
	return mustCall("ARRAY", args, t)
}

// Map is MAP[k, v, ...]: keys and values in turn, each of the key or value type.
func Map(args []Evaluator, t types.Type) Evaluator {
	return mustCall("MAP", args, t)
}

func mustCall(name string, args []Evaluator, t types.Type) Evaluator {
	e, err := Call(name, nil, args, t, Where{Text: name})
	if err != nil {
		panic(fmt.Sprintf("expr: %s: %v", name, err)) // these builders do not fail
	}
	return e
}

// FieldAccess is arg.field, by the number of the field of a ROW.
func FieldAccess(arg Evaluator, i int) Evaluator {
	t := arg.Type()
	ft := t.Fields[i].Type
	return &fieldAccess{arg: arg, i: i, t: ft.WithNull(ft.Nullable || t.Nullable)}
}
