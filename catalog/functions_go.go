package catalog

import (
	"fmt"
	"strings"
	"time"

	"github.com/weir-sql/weir/types"
)

// Implementation makes what computes a call of a Function of the session. args are the types of the arguments, zone is the session time zone. The function
// that it makes takes and gives values in the canonical form of package types, nil for NULL, and keeps nothing of its arguments; one goroutine at a time
// uses it.
type Implementation func(args []types.Type, zone *time.Location) func(args []any) (any, error)

// NewScalar is a scalar function of the session, with a name in upper case. A parameter that is not nullable makes the result NULL when its argument is
// NULL. A parameter of type TIMESTAMP takes TIMESTAMP_LTZ too: then all of them are that, and so is a TIMESTAMP result.
func NewScalar(name string, params []types.Type, result types.Type, impl Implementation) *Function {
	var names []string
	for _, p := range params {
		names = append(names, p.WithNull(true).String())
	}
	return &Function{Name: name, Kind: Scalar, Group: "User", Impl: impl,
		Syntax: fmt.Sprintf("%s(%s) RETURNS %s", name, strings.Join(names, ", "), result.WithNull(true)), Doc: "A function in Go.",
		Resolve: func(c Call) (Signature, error) { return userSignature(c, params, result) }}
}

func userSignature(c Call, params []types.Type, result types.Type) (Signature, error) {
	if len(c.Units) > 0 {
		return Signature{}, fmt.Errorf("%s takes no time unit (%s)", c.Name, c.Units[0])
	}
	if err := checkCount(c, len(params), len(params), false); err != nil {
		return Signature{}, err
	}
	instants := false
	for i, p := range params {
		instants = instants || p.Kind == types.Timestamp && c.Args[i].Kind == types.TimestampLTZ
	}
	args := make([]types.Type, len(params))
	null := result.Nullable
	for i, p := range params {
		t := c.Args[i].WithAttr(types.NoTimeAttr)
		a, err := userArgument(t, p, instants)
		if err != nil {
			return Signature{}, argumentError(c, i, err)
		}
		args[i] = a.WithNull(t.Nullable || t.Kind == types.Null)
		null = null || !p.Nullable && args[i].Nullable
	}
	if result.Kind == types.Timestamp && instants {
		result = types.TimestampLTZOf(result.Precision)
	}
	return Signature{Args: args, Result: result.WithNull(null)}, nil
}

// userArgument is the type that an argument of type t is cast to for the parameter p: a type that the Go type can take is left as it is.
func userArgument(t, p types.Type, instants bool) (types.Type, error) {
	switch {
	case p.Kind == types.Timestamp && instants && t.Kind == types.Timestamp:
		return types.TimestampLTZOf(t.Precision), nil
	case p.Kind == types.Timestamp && t.IsTimestamp(), p.IsText() && t.IsText(), p.IsBytes() && t.IsBytes(), t.Kind == p.Kind:
		return t, nil
	case types.Implicit(t, p):
		return p, nil
	}
	name := p.WithNull(true).String()
	return t, wrong(t, name, name)
}
