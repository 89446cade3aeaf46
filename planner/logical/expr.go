// Package logical has bound expressions and the logical plan: what a query means, with every name resolved and every type known, before it is decided
// how it runs.
package logical

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/types"
)

// Expr is a bound expression: *Column, *Literal, *Call, *Cast, *Case, *RowCons, *ArrayCons, *MapCons or *FieldAccess. Expressions are immutable once
// bound; Transform makes changed copies.
type Expr interface {
	// ResultType is the type of the value.
	ResultType() types.Type
	// String prints the expression in SQL, columns by name, for EXPLAIN and messages.
	String() string
	expr()
}

// Column is a column of the input, by position.
type Column struct {
	Index int
	Name  string
	Type  types.Type
	Pos   ast.Pos
}

// Literal is a constant. Value is in the canonical Go form of package types; nil is NULL. Intervals are MonthsVal and DurationVal.
type Literal struct {
	Value any
	Type  types.Type
	Pos   ast.Pos
}

// Call is a call of a scalar function or operator of the catalog. Args have exactly the types that the function's signature asked for.
//
// Names are canonical (catalog.Function.Name). Operators are calls too: "=", "AND", "NOT", "IS NULL", "LIKE", "IN" (the value, then the list), "[]"
// (array or map, then index or key).
type Call struct {
	Name  string
	Units []string // time units and other words in the arguments' place, upper case
	Args  []Expr
	Type  types.Type
	Pos   ast.Pos
	Text  string            // as written, for run-time errors
	User  *catalog.Function // the function when it is one of the session, not a built-in one
}

// Volatile reports whether the call may give another value each time.
func (e *Call) Volatile() bool {
	f := e.User
	if f == nil {
		f = catalog.LookupFunction(e.Name, catalog.Scalar)
	}
	return f == nil || f.Volatile
}

// Volatile returns the first call in expressions that may give another value each time it is computed, or in another place; nil when there is none.
func Volatile(es ...Expr) *Call {
	var found *Call
	for _, e := range es {
		Walk(e, func(x Expr) bool {
			if c, ok := x.(*Call); ok && found == nil && c.Volatile() {
				found = c
			}
			return found == nil
		})
	}
	return found
}

// ReadsWatermark reports whether one of the expressions calls CURRENT_WATERMARK.
func ReadsWatermark(es ...Expr) bool {
	found := false
	for _, e := range es {
		Walk(e, func(x Expr) bool {
			c, ok := x.(*Call)
			found = found || ok && c.Name == "CURRENT_WATERMARK"
			return !found
		})
	}
	return found
}

// Cast is CAST (Try: TRY_CAST, which gives NULL where CAST fails). Implicit casts are Casts with Implicit set.
type Cast struct {
	Arg      Expr
	Type     types.Type
	Try      bool
	Implicit bool
	Pos      ast.Pos
	Text     string
}

// Case is CASE WHEN .. THEN .. ELSE .. END; the simple form is turned into comparisons. Else is never nil (a NULL literal when not written). All
// results have the type Type.
type Case struct {
	Whens []When
	Else  Expr
	Type  types.Type
	Pos   ast.Pos
}

// When is one branch of a Case.
type When struct{ Cond, Result Expr }

// RowCons makes a ROW.
type RowCons struct {
	Args []Expr
	Type types.Type
	Pos  ast.Pos
}

// ArrayCons makes an ARRAY; all Args have the element's type.
type ArrayCons struct {
	Args []Expr
	Type types.Type
	Pos  ast.Pos
}

// MapCons makes a MAP of Keys[i] to Values[i]; a key that comes twice keeps the last value.
type MapCons struct {
	Keys, Values []Expr
	Type         types.Type
	Pos          ast.Pos
}

// FieldAccess is field Index of a ROW; NULL when the row is NULL.
type FieldAccess struct {
	Arg   Expr
	Index int
	Name  string
	Type  types.Type
	Pos   ast.Pos
}

func (e *Column) expr()      {}
func (e *Literal) expr()     {}
func (e *Call) expr()        {}
func (e *Cast) expr()        {}
func (e *Case) expr()        {}
func (e *RowCons) expr()     {}
func (e *ArrayCons) expr()   {}
func (e *MapCons) expr()     {}
func (e *FieldAccess) expr() {}

// ResultType implements Expr.
func (e *Column) ResultType() types.Type { return e.Type }

// ResultType implements Expr.
func (e *Literal) ResultType() types.Type { return e.Type }

// ResultType implements Expr.
func (e *Call) ResultType() types.Type { return e.Type }

// ResultType implements Expr.
func (e *Cast) ResultType() types.Type { return e.Type }

// ResultType implements Expr.
func (e *Case) ResultType() types.Type { return e.Type }

// ResultType implements Expr.
func (e *RowCons) ResultType() types.Type { return e.Type }

// ResultType implements Expr.
func (e *ArrayCons) ResultType() types.Type { return e.Type }

// ResultType implements Expr.
func (e *MapCons) ResultType() types.Type { return e.Type }

// ResultType implements Expr.
func (e *FieldAccess) ResultType() types.Type { return e.Type }

// PosOf gives the place of an expression in the text; not valid for one that was made.
func PosOf(e Expr) ast.Pos {
	switch e := e.(type) {
	case *Column:
		return e.Pos
	case *Literal:
		return e.Pos
	case *Call:
		return e.Pos
	case *Cast:
		return e.Pos
	case *Case:
		return e.Pos
	case *RowCons:
		return e.Pos
	case *ArrayCons:
		return e.Pos
	case *MapCons:
		return e.Pos
	case *FieldAccess:
		return e.Pos
	}
	return ast.Pos{}
}

// Children gives the direct arguments of e.
func Children(e Expr) []Expr {
	switch e := e.(type) {
	case *Call:
		return e.Args
	case *Cast:
		return []Expr{e.Arg}
	case *Case:
		var out []Expr
		for _, w := range e.Whens {
			out = append(out, w.Cond, w.Result)
		}
		return append(out, e.Else)
	case *RowCons:
		return e.Args
	case *ArrayCons:
		return e.Args
	case *MapCons:
		out := make([]Expr, 0, 2*len(e.Keys))
		for i := range e.Keys {
			out = append(out, e.Keys[i], e.Values[i])
		}
		return out
	case *FieldAccess:
		return []Expr{e.Arg}
	}
	return nil
}

// Walk visits e and all below it, parents first; when f gives false, the children are not visited.
func Walk(e Expr, f func(Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	for _, c := range Children(e) {
		Walk(c, f)
	}
}

// MapChildren makes a copy of e with f applied to its direct arguments; e itself when none of them changes.
func MapChildren(e Expr, f func(Expr) (Expr, error)) (Expr, error) {
	kids := Children(e)
	if len(kids) == 0 {
		return e, nil
	}
	out := make([]Expr, len(kids))
	changed := false
	for i, k := range kids {
		var err error
		if out[i], err = f(k); err != nil {
			return nil, err
		}
		changed = changed || out[i] != k
	}
	if !changed {
		return e, nil
	}
	switch x := e.(type) {
	case *Call:
		c := *x
		c.Args = out
		return &c, nil
	case *Cast:
		c := *x
		c.Arg = out[0]
		return &c, nil
	case *Case:
		c := *x
		c.Whens = make([]When, len(x.Whens))
		for i := range c.Whens {
			c.Whens[i] = When{out[2*i], out[2*i+1]}
		}
		c.Else = out[len(out)-1]
		return &c, nil
	case *RowCons:
		c := *x
		c.Args = out
		return &c, nil
	case *ArrayCons:
		c := *x
		c.Args = out
		return &c, nil
	case *MapCons:
		c := *x
		c.Keys, c.Values = make([]Expr, len(x.Keys)), make([]Expr, len(x.Values))
		for i := range c.Keys {
			c.Keys[i], c.Values[i] = out[2*i], out[2*i+1]
		}
		return &c, nil
	case *FieldAccess:
		c := *x
		c.Arg = out[0]
		return &c, nil
	}
	return e, nil
}

// Transform rebuilds e from the leaves up: f is called for every expression after its arguments were transformed and gives what to put in its place.
// Parts that do not change are shared with e.
func Transform(e Expr, f func(Expr) Expr) Expr {
	out, _ := MapChildren(e, func(k Expr) (Expr, error) { return Transform(k, f), nil })
	return f(out)
}

// WithType makes a copy of e with another result type.
func WithType(e Expr, t types.Type) Expr {
	switch x := e.(type) {
	case *Column:
		c := *x
		c.Type = t
		return &c
	case *Literal:
		c := *x
		c.Type = t
		return &c
	case *Call:
		c := *x
		c.Type = t
		return &c
	case *Cast:
		c := *x
		c.Type = t
		return &c
	case *Case:
		c := *x
		c.Type = t
		return &c
	case *RowCons:
		c := *x
		c.Type = t
		return &c
	case *ArrayCons:
		c := *x
		c.Type = t
		return &c
	case *MapCons:
		c := *x
		c.Type = t
		return &c
	case *FieldAccess:
		c := *x
		c.Type = t
		return &c
	}
	return e
}

// Columns reports the positions of the input's columns that e reads.
func Columns(es ...Expr) map[int]bool {
	seen := map[int]bool{}
	for _, e := range es {
		Walk(e, func(x Expr) bool {
			if c, ok := x.(*Column); ok {
				seen[c.Index] = true
			}
			return true
		})
	}
	return seen
}

// Remap moves every column reference i to to[i]; a negative entry is a mistake of the caller.
func Remap(e Expr, to []int) Expr {
	return Transform(e, func(x Expr) Expr {
		if c, ok := x.(*Column); ok && to[c.Index] != c.Index {
			d := *c
			d.Index = to[c.Index]
			return &d
		}
		return x
	})
}

// Substitute puts exprs[i] in the place of every column reference i: e above a projection becomes e below it.
func Substitute(e Expr, exprs []Expr) Expr {
	return Transform(e, func(x Expr) Expr {
		if c, ok := x.(*Column); ok {
			return exprs[c.Index]
		}
		return x
	})
}

// Equal reports whether two expressions are the same (places and texts aside).
func Equal(a, b Expr) bool {
	switch x := a.(type) {
	case *Column:
		y, ok := b.(*Column)
		return ok && x.Index == y.Index
	case *Literal:
		y, ok := b.(*Literal)
		return ok && x.Type.Equal(y.Type) && types.Compare(x.Value, y.Value) == 0
	case *Call:
		y, ok := b.(*Call)
		if !ok || x.Name != y.Name || !x.Type.Equal(y.Type) || len(x.Units) != len(y.Units) {
			return false
		}
		for i := range x.Units {
			if x.Units[i] != y.Units[i] {
				return false
			}
		}
	case *Cast:
		y, ok := b.(*Cast)
		if !ok || x.Try != y.Try || !x.Type.Equal(y.Type) {
			return false
		}
	case *Case:
		if y, ok := b.(*Case); !ok || !x.Type.Equal(y.Type) {
			return false
		}
	case *RowCons:
		if _, ok := b.(*RowCons); !ok {
			return false
		}
	case *ArrayCons:
		if y, ok := b.(*ArrayCons); !ok || !x.Type.Equal(y.Type) {
			return false
		}
	case *MapCons:
		if y, ok := b.(*MapCons); !ok || !x.Type.Equal(y.Type) {
			return false
		}
	case *FieldAccess:
		y, ok := b.(*FieldAccess)
		if !ok || x.Index != y.Index {
			return false
		}
	default:
		return false
	}
	ka, kb := Children(a), Children(b)
	if len(ka) != len(kb) {
		return false
	}
	for i := range ka {
		if !Equal(ka[i], kb[i]) {
			return false
		}
	}
	return true
}

// NewColumn refers to column i of schema.
func NewColumn(schema types.Schema, i int) *Column {
	return &Column{Index: i, Name: schema[i].Name, Type: schema[i].Type}
}

// BoolLiteral is TRUE or FALSE.
func BoolLiteral(v bool) *Literal {
	return &Literal{Value: v, Type: types.BooleanType.NotNull()}
}

// Conjuncts splits a condition at its ANDs.
func Conjuncts(e Expr) []Expr {
	if e == nil {
		return nil
	}
	if c, ok := e.(*Call); ok && c.Name == "AND" {
		var out []Expr
		for _, a := range c.Args {
			out = append(out, Conjuncts(a)...)
		}
		return out
	}
	return []Expr{e}
}

// And joins conditions; nil for none.
func And(conds ...Expr) Expr {
	var out Expr
	for _, c := range conds {
		switch {
		case c == nil:
		case out == nil:
			out = c
		default:
			t := types.BooleanType.WithNull(out.ResultType().Nullable || c.ResultType().Nullable)
			out = &Call{Name: "AND", Args: []Expr{out, c}, Type: t, Pos: PosOf(c)}
		}
	}
	return out
}

// String implements Expr.
func (e *Column) String() string { return QuoteName(e.Name) }

// String implements Expr.
func (e *Literal) String() string { return FormatLiteral(e.Value, e.Type) }

var infix = map[string]bool{"=": true, "<>": true, "<": true, "<=": true, ">": true, ">=": true, "+": true, "-": true, "*": true, "/": true, "%": true,
	"||": true, "AND": true, "OR": true, "LIKE": true, "NOT LIKE": true, "SIMILAR TO": true, "NOT SIMILAR TO": true, "IS DISTINCT FROM": true,
	"IS NOT DISTINCT FROM": true}

// String implements Expr.
func (e *Call) String() string {
	switch {
	case infix[e.Name] && len(e.Args) >= 2 && (strings.HasSuffix(e.Name, "LIKE") || strings.HasSuffix(e.Name, "TO")) && len(e.Args) == 3:
		return fmt.Sprintf("(%s %s %s ESCAPE %s)", e.Args[0], e.Name, e.Args[1], e.Args[2])
	case infix[e.Name] && len(e.Args) >= 2:
		return "(" + join(e.Args, " "+e.Name+" ") + ")"
	case strings.HasPrefix(e.Name, "IS ") && len(e.Args) == 1:
		return fmt.Sprintf("(%s %s)", e.Args[0], e.Name)
	case e.Name == "NOT" && len(e.Args) == 1:
		return fmt.Sprintf("(NOT %s)", e.Args[0])
	case (e.Name == "IN" || e.Name == "NOT IN") && len(e.Args) >= 2:
		return fmt.Sprintf("(%s %s (%s))", e.Args[0], e.Name, join(e.Args[1:], ", "))
	case (e.Name == "BETWEEN" || e.Name == "NOT BETWEEN") && len(e.Args) == 3:
		return fmt.Sprintf("(%s %s %s AND %s)", e.Args[0], e.Name, e.Args[1], e.Args[2])
	case e.Name == "-" && len(e.Args) == 1:
		return fmt.Sprintf("(- %s)", e.Args[0])
	case e.Name == "[]" && len(e.Args) == 2:
		return fmt.Sprintf("%s[%s]", e.Args[0], e.Args[1])
	}
	args := append([]string(nil), e.Units...)
	for _, a := range e.Args {
		args = append(args, a.String())
	}
	return e.Name + "(" + strings.Join(args, ", ") + ")"
}

// String implements Expr.
func (e *Cast) String() string {
	name := "CAST"
	if e.Try {
		name = "TRY_CAST"
	}
	t := e.Type
	if e.Implicit || e.Arg.ResultType().Nullable == t.Nullable {
		t = t.WithNull(true) // the cast does not change it
	}
	return fmt.Sprintf("%s(%s AS %s)", name, e.Arg, t)
}

// String implements Expr.
func (e *Case) String() string {
	var b strings.Builder
	b.WriteString("CASE")
	for _, w := range e.Whens {
		fmt.Fprintf(&b, " WHEN %s THEN %s", w.Cond, w.Result)
	}
	fmt.Fprintf(&b, " ELSE %s END", e.Else)
	return b.String()
}

// String implements Expr.
func (e *RowCons) String() string { return "ROW(" + join(e.Args, ", ") + ")" }

// String implements Expr.
func (e *ArrayCons) String() string { return "ARRAY[" + join(e.Args, ", ") + "]" }

// String implements Expr.
func (e *MapCons) String() string { return "MAP[" + join(Children(e), ", ") + "]" }

// String implements Expr.
func (e *FieldAccess) String() string { return e.Arg.String() + "." + QuoteName(e.Name) }

func join(es []Expr, sep string) string {
	s := make([]string, len(es))
	for i, e := range es {
		s[i] = e.String()
	}
	return strings.Join(s, sep)
}

// QuoteName puts backticks around a name that is not a plain word.
func QuoteName(n string) string {
	plain := n != ""
	for i, r := range n {
		if r != '_' && r != '$' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			plain = false
		}
	}
	if plain {
		return n
	}
	return "`" + strings.ReplaceAll(n, "`", "``") + "`"
}

// FormatLiteral prints a constant as a SQL literal.
func FormatLiteral(v any, t types.Type) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	stamp := func(us int64) string {
		return time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05.999999")
	}
	switch v := v.(type) {
	case nil:
		return "NULL"
	case bool:
		return strings.ToUpper(strconv.FormatBool(v))
	case string:
		return quote(v)
	case []byte:
		return fmt.Sprintf("X'%x'", v)
	case types.Dec:
		return v.Num.ToString(v.Scale)
	case float32:
		return strconv.FormatFloat(float64(v), 'E', -1, 32)
	case float64:
		return strconv.FormatFloat(v, 'E', -1, 64)
	case types.DateVal:
		y, m, d := types.CivilFromDays(int64(v))
		return fmt.Sprintf("DATE '%04d-%02d-%02d'", y, m, d)
	case types.TimeVal:
		return "TIME " + quote(time.UnixMilli(int64(v)).UTC().Format("15:04:05.999"))
	case types.TimestampVal:
		name := "TIMESTAMP "
		if t.Kind == types.TimestampLTZ {
			name = "TIMESTAMP_LTZ "
		}
		if t.Nanos() {
			return name + quote(time.Unix(0, int64(v)).UTC().Format("2006-01-02 15:04:05.999999999"))
		}
		return name + quote(stamp(int64(v)))
	case types.MonthsVal:
		return fmt.Sprintf("INTERVAL '%d' MONTH", int32(v))
	case types.DurationVal:
		return FormatDuration(int64(v))
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = FormatLiteral(x, *t.Elem)
		}
		return "ARRAY[" + strings.Join(parts, ", ") + "]"
	case types.RowVal:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = FormatLiteral(x, t.Fields[i].Type)
		}
		return "ROW(" + strings.Join(parts, ", ") + ")"
	case types.MapVal:
		parts := make([]string, 0, 2*len(v))
		for _, x := range v {
			key, val := t.Elem, &types.IntType
			if t.Kind == types.Map {
				key, val = t.Key, t.Elem
			}
			parts = append(parts, FormatLiteral(x.Key, *key), FormatLiteral(x.Val, *val))
		}
		return "MAP[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// FormatDuration prints microseconds as an interval literal, in the largest unit that loses nothing.
func FormatDuration(us int64) string {
	for _, u := range []struct {
		us   int64
		name string
	}{{types.MicrosPerDay, "DAY"}, {types.MicrosPerHour, "HOUR"}, {types.MicrosPerMinute, "MINUTE"}, {types.MicrosPerSecond, "SECOND"}} {
		if us != 0 && us%u.us == 0 {
			return fmt.Sprintf("INTERVAL '%d' %s", us/u.us, u.name)
		}
	}
	s := strconv.FormatFloat(float64(us)/1e6, 'f', -1, 64)
	return "INTERVAL '" + s + "' SECOND"
}
