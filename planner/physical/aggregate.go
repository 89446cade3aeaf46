package physical

import (
	"strings"

	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// Aggregate is a call of an aggregate function.
type Aggregate struct {
	Func string // canonical name in the catalog: COUNT, SUM, ...
	// Args are columns of the input, of exactly the types that the function's signature asked for; none for COUNT(*).
	Args []int
	// Literals has the constant that an argument is, nil for one that is not (LISTAGG's separator); same length as Args.
	Literals []*logical.Literal
	Distinct bool
	// Filter is a BOOLEAN column of the input: rows where it is not TRUE are left out; -1 for none.
	Filter int
	Type   types.Type
	Name   string // of the output column
	// OrderDependent: the result depends on the order of rows, so that it is computed in one phase, in row order.
	OrderDependent bool
	// IgnoreNulls and RespectNulls are the written null treatment.
	IgnoreNulls, RespectNulls bool
	Text                      string // as written, for run-time errors
	Pos                       ast.Pos
}

func (a Aggregate) text(in types.Schema) string {
	args := "*"
	if len(a.Args) > 0 {
		parts := make([]string, len(a.Args))
		for i, c := range a.Args {
			parts[i] = logical.QuoteName(in[c].Name)
			if a.Literals != nil && a.Literals[i] != nil {
				parts[i] = a.Literals[i].String()
			}
		}
		args = strings.Join(parts, ", ")
	}
	if a.Distinct {
		args = "DISTINCT " + args
	}
	s := a.Func + "(" + args + ")"
	if a.Filter >= 0 {
		s += " FILTER " + logical.QuoteName(in[a.Filter].Name)
	}
	return s + " AS " + logical.QuoteName(a.Name)
}

func aggregateList(in types.Schema, groupBy []int, as []Aggregate, ws []WindowColumn) string {
	var out []string
	for _, k := range groupBy {
		out = append(out, logical.QuoteName(in[k].Name))
	}
	for _, a := range as {
		out = append(out, a.text(in))
	}
	for _, w := range ws {
		out = append(out, w.String())
	}
	return strings.Join(out, ", ")
}

// GroupAggregate is GROUP BY without a window: one row per key, updated with every row of the input (+I, then -U/+U when the result changes, -D when
// the last row of a key was retracted). The output is the GroupBy columns, then the Aggregates. SELECT DISTINCT is one without Aggregates.
type GroupAggregate struct {
	node
	GroupBy    []int
	Aggregates []Aggregate
	// Final: emit each key once, at the end of the bounded input, in the order of first appearance.
	Final bool
	// EmitEmpty: without keys and without a single row of input, still emit the one row that an empty input has (COUNT 0). Only where the input is
	// known to be empty or the aggregate is Final.
	EmitEmpty bool
	// Retracts: the input has rows that take back.
	Retracts bool
	// Pos is the place of GROUP BY (or of the first aggregate) in the text.
	Pos ast.Pos
}

// NewGroupAggregate makes the aggregate.
func NewGroupAggregate(in Node, groupBy []int, as []Aggregate, final, emitEmpty bool, pos ast.Pos) *GroupAggregate {
	a := &GroupAggregate{GroupBy: groupBy, Aggregates: as, Final: final, EmitEmpty: emitEmpty, Retracts: in.Props().Changelog != Append, Pos: pos}
	a.inputs = []Node{in}
	is := in.Schema()
	key := []int{}
	for i, k := range groupBy {
		a.schema = append(a.schema, types.Column{Name: is[k].Name, Type: is[k].Type.WithAttr(types.NoTimeAttr)})
		key = append(key, i)
	}
	for _, g := range as {
		a.schema = append(a.schema, types.Column{Name: g.Name, Type: g.Type})
	}
	ip := in.Props()
	a.props = Props{Changelog: Retract, Key: key, Partitioning: Partitioning{Count: ip.Partitioning.Count, Columns: key}, EventTime: -1, Bounded: ip.Bounded,
		State: PerKey}
	if len(groupBy) == 0 {
		a.props.State = ConstantState
		a.props.Partitioning.Columns = nil
	}
	if final || len(as) == 0 && !a.Retracts {
		a.props.Changelog = Append // DISTINCT of rows that are only added adds only
	}
	return a
}

// Op implements Node.
func (*GroupAggregate) Op() string { return "GroupAggregate" }

// Details implements Node.
func (a *GroupAggregate) Details() []Detail {
	is := a.inputs[0].Schema()
	var d []Detail
	if len(a.GroupBy) > 0 {
		d = append(d, Detail{"groupBy", columnNames(is, a.GroupBy)})
	}
	d = append(d, Detail{"select", aggregateList(is, a.GroupBy, a.Aggregates, nil)})
	if a.Final {
		d = append(d, Detail{"emit", "final"})
	}
	if a.Retracts {
		d = append(d, Detail{"retracts", "true"})
	}
	return d
}
