// Package catalog has what names mean: catalogs, databases, tables, views and the signatures of functions.
package catalog

import (
	"fmt"
	"sort"
	"strings"

	"github.com/weir-sql/weir/types"
)

// FunctionKind tells how a function is used.
type FunctionKind uint8

// The kinds of functions.
const (
	Scalar FunctionKind = iota
	Aggregate
)

// Function is the signature of a function or operator: what it is called, which arguments it takes and what it returns. What a built-in one computes is in
// exec/expr, under the same name; a test holds both lists against each other. What one of the session computes is its Impl.
type Function struct {
	Name    string // canonical: upper case; operators by their sign ("+", "IS NOT NULL", "LIKE")
	Aliases []string
	Kind    FunctionKind
	Group   string // heading in the docs: Comparison, Logic, Arithmetic, String, Temporal, Conditional, ...
	Syntax  string // "SUBSTRING(s FROM i [FOR n])"
	Doc     string // one sentence
	// Volatile functions give different answers for the same arguments (RAND, UUID, NOW): they are never folded.
	Volatile bool
	// Impl computes a function of the session (NewScalar), which is never folded either; nil for a built-in one.
	Impl Implementation
	// Resolve checks the arguments of a call.
	Resolve func(c Call) (Signature, error)
}

// Call is what the planner knows of a call before it runs.
type Call struct {
	Name     string
	Args     []types.Type
	Literals []any    // the value of each argument that is a literal (types' canonical Go form), else nil; a NULL literal has type NULL
	Distinct bool     // aggregates
	Units    []string // time units and other words in the arguments' place, upper case: FLOOR(x TO DAY), EXTRACT(DOW FROM x), TIMESTAMPADD(DAY, ..)
}

// Signature is the answer: the planner casts each argument to Args (implicitly) and gives the call the type Result.
type Signature struct {
	Args   []types.Type
	Result types.Type
}

var functions = map[string]*Function{}

// register adds functions at init; a name that is taken twice is a mistake of ours.
func register(fs ...*Function) {
	for _, f := range fs {
		for _, n := range append([]string{f.Name}, f.Aliases...) {
			key := functionKey(n, f.Kind)
			if functions[key] != nil {
				panic(fmt.Sprintf("function %s registered twice", n))
			}
			functions[key] = f
		}
	}
}

func functionKey(name string, k FunctionKind) string {
	return fmt.Sprintf("%d %s", k, strings.ToUpper(name))
}

// LookupFunction finds a built-in function by any of its names, in any case.
func LookupFunction(name string, k FunctionKind) *Function { return functions[functionKey(name, k)] }

// Functions lists all built-in functions, by group and name.
func Functions() []*Function {
	seen := map[*Function]bool{}
	var all []*Function
	for _, f := range functions {
		if !seen[f] {
			seen[f] = true
			all = append(all, f)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		if a.Group != b.Group {
			return a.Group < b.Group
		}
		if a.Name != b.Name {
			return a.Name < b.Name
		}
		return a.Kind < b.Kind
	})
	return all
}
