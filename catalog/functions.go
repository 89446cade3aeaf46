package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-sql/weir/types"
)

// The scalar functions and operators are declared in functions_*.go, one file for each group. Result types, nullability too, are those that a real
// Flink 2.3 shows. A bare NULL is taken for any type.

// param checks the type of an argument and returns the type that it is cast to.
type param func(t types.Type) (types.Type, error)

// result gives the result type from the types of the arguments after the cast. Its nullability is that of the arguments unless a function says so.
type result func(c Call, args []types.Type) types.Type

// takeUnits are the functions with words among their arguments.
var takeUnits = []string{"EXTRACT", "FLOOR", "CEIL", "TIMESTAMPADD", "TIMESTAMPDIFF", "TRIM", "-"}

// scalar declares a function.
func scalar(group, name, syntax, doc string, resolve func(Call) (Signature, error), aliases ...string) *Function {
	return &Function{Name: name, Aliases: aliases, Kind: Scalar, Group: group, Syntax: syntax, Doc: doc, Resolve: func(c Call) (Signature, error) {
		if len(c.Units) > 0 && !slices.Contains(takeUnits, name) {
			return Signature{}, fmt.Errorf("%s takes no time unit (%s)", c.Name, c.Units[0])
		}
		return resolve(c)
	}}
}

// volatileScalar declares a function that is never folded.
func volatileScalar(group, name, syntax, doc string, resolve func(Call) (Signature, error), aliases ...string) *Function {
	f := scalar(group, name, syntax, doc, resolve, aliases...)
	f.Volatile = true
	return f
}

// sig makes a Resolve of at least least arguments (0 stands for all, -1 for none) that are params.
func sig(least int, r result, params ...param) func(Call) (Signature, error) {
	return signature(least, false, r, params)
}

// variadic is sig with a last param that may come again and again.
func variadic(least int, r result, params ...param) func(Call) (Signature, error) {
	return signature(least, true, r, params)
}

func signature(least int, more bool, r result, params []param) func(Call) (Signature, error) {
	switch {
	case least < 0:
		least = 0
	case least == 0 && !more:
		least = len(params)
	}
	return func(c Call) (Signature, error) {
		if err := checkCount(c, least, len(params), more); err != nil {
			return Signature{}, err
		}
		args := make([]types.Type, len(c.Args))
		for i, t := range c.Args {
			p := params[min(i, len(params)-1)]
			t.Attr = types.NoTimeAttr
			a, err := p(t)
			if err != nil {
				return Signature{}, argumentError(c, i, err)
			}
			args[i] = a.WithNull(t.Nullable || t.Kind == types.Null)
		}
		return Signature{Args: args, Result: r(c, args)}, nil
	}
}

func checkCount(c Call, least, most int, more bool) error {
	n := len(c.Args)
	if n >= least && (more || n <= most) {
		return nil
	}
	want := fmt.Sprint(most)
	switch {
	case more:
		want = fmt.Sprintf("at least %d", least)
	case least+1 == most:
		want = fmt.Sprintf("%d or %d", least, most)
	case least < most:
		want = fmt.Sprintf("%d to %d", least, most)
	case most == 0:
		want = "no"
	}
	noun := "arguments"
	if want == "1" || want == "at least 1" {
		noun = "argument"
	}
	return fmt.Errorf("%s takes %s %s, not %d", c.Name, want, noun, n)
}

// argumentError says which argument is wrong.
func argumentError(c Call, i int, err error) error {
	if len(c.Args) == 1 {
		return fmt.Errorf("%s takes %w", c.Name, err)
	}
	return fmt.Errorf("argument %d of %s must be %w", i+1, c.Name, err)
}

// castHint is what to write where a text stands in the place of a number or the other way round.
func castHint(t types.Type, to string) string {
	if t.IsText() || t.IsNumeric() {
		return fmt.Sprintf(": write CAST(... AS %s)", to)
	}
	return ""
}

func wrong(t types.Type, want, cast string) error {
	return fmt.Errorf("%s, not %s%s", want, t.WithNull(true), castHint(t, cast))
}

// Parameters.

func text(t types.Type) (types.Type, error) {
	switch {
	case t.Kind == types.Null:
		return types.StringType, nil
	case t.IsText():
		return t, nil
	}
	return t, wrong(t, "a string", "STRING")
}

func bytesOrText(t types.Type) (types.Type, error) {
	if t.IsBytes() {
		return t, nil
	}
	if t, err := text(t); err == nil {
		return t, nil
	}
	return t, wrong(t, "a string or BYTES", "STRING")
}

func binary(t types.Type) (types.Type, error) {
	switch {
	case t.Kind == types.Null:
		return types.BytesType, nil
	case t.IsBytes():
		return t, nil
	}
	return t, wrong(t, "BYTES", "BYTES")
}

func integer(t types.Type) (types.Type, error) {
	switch {
	case t.Kind == types.Null:
		return types.IntType, nil
	case t.IsInteger():
		return t, nil
	}
	return t, wrong(t, "an integer", "INT")
}

func number(t types.Type) (types.Type, error) {
	switch {
	case t.Kind == types.Null:
		return types.IntType, nil
	case t.IsNumeric():
		return t, nil
	}
	return t, wrong(t, "a number", "DOUBLE")
}

func numberOrInterval(t types.Type) (types.Type, error) {
	if t.IsInterval() {
		return t, nil
	}
	return number(t)
}

func boolean(t types.Type) (types.Type, error) {
	switch t.Kind {
	case types.Null:
		return types.BooleanType, nil
	case types.Boolean:
		return t, nil
	}
	return t, fmt.Errorf("a condition (BOOLEAN), not %s", t.WithNull(true))
}

func anything(t types.Type) (types.Type, error) { return t, nil }

func datetime(t types.Type) (types.Type, error) {
	switch {
	case t.Kind == types.Null:
		return types.TimestampOf(3), nil
	case t.IsDatetime():
		return t, nil
	}
	return t, fmt.Errorf("a DATE, TIME or TIMESTAMP, not %s%s", t.WithNull(true), castHint(t, "TIMESTAMP(3)"))
}

func arrayParam(t types.Type) (types.Type, error) {
	if t.Kind == types.Array {
		return t, nil
	}
	return t, fmt.Errorf("an ARRAY, not %s", t.WithNull(true))
}

func mapParam(t types.Type) (types.Type, error) {
	if t.Kind == types.Map {
		return t, nil
	}
	return t, fmt.Errorf("a MAP, not %s", t.WithNull(true))
}

// Results.

func anyNullable(args []types.Type) bool {
	return slices.ContainsFunc(args, func(t types.Type) bool { return t.Nullable })
}

// is is the type t, nullable when an argument is.
func is(t types.Type) result {
	return func(_ Call, args []types.Type) types.Type { return t.WithNull(anyNullable(args)) }
}

// nullable is the type t, always nullable.
func nullable(t types.Type) result {
	return func(Call, []types.Type) types.Type { return t.WithNull(true) }
}

// notNull is the type t, never nullable.
func notNull(t types.Type) result {
	return func(Call, []types.Type) types.Type { return t.NotNull() }
}

// first is the type of the first argument, nullable when an argument is.
func first(_ Call, args []types.Type) types.Type { return args[0].WithNull(anyNullable(args)) }

// varying is the first argument's type with a varying length.
func varying(_ Call, args []types.Type) types.Type {
	return varyingOf(args[0]).WithNull(anyNullable(args))
}

func varyingOf(t types.Type) types.Type {
	switch t.Kind {
	case types.Char:
		return types.VarCharOf(t.Length)
	case types.Binary:
		return types.VarBinaryOf(t.Length)
	}
	return t
}

// literalInt is the value of argument i when it is an integer literal.
func literalInt(c Call, i int) (int64, bool) {
	if i >= len(c.Literals) {
		return 0, false
	}
	switch v := c.Literals[i].(type) {
	case int8:
		return int64(v), true
	case int16:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	}
	return 0, false
}

// unitIn is the only unit of a call, which must be one of allowed.
func unitIn(c Call, t types.Type, allowed string) (string, error) {
	if len(c.Units) != 1 {
		return "", fmt.Errorf("%s needs a time unit", c.Name)
	}
	u := c.Units[0]
	if slices.Contains(strings.Fields(allowed), u) {
		return u, nil
	}
	return "", fmt.Errorf("the unit %s of %s is not possible for %s: possible are %s", u, c.Name, t.WithNull(true), strings.Join(strings.Fields(allowed), ", "))
}
