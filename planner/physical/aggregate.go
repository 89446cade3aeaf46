package physical

import (
	"time"

	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

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
	// TTL, when positive, is after how long without a row a group expires, by the clock (table.exec.state.ttl); see Expire.
	TTL time.Duration
	// Pos is the place of GROUP BY (or of the first aggregate) in the text.
	Pos ast.Pos
}

// Expire makes groups expire, unless they are emitted once, at the end. Every row then gives a change, as in Flink, also of SELECT DISTINCT.
func (a *GroupAggregate) Expire(ttl time.Duration) {
	if !a.Final && ttl > 0 {
		a.TTL, a.props.Changelog = ttl, Retract
	}
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
	d = append(d, Detail{"select", logical.AggregateList(is, a.GroupBy, a.Aggregates, nil)})
	switch {
	case a.EmitEmpty:
		d = append(d, Detail{"emit", "final, also for no rows"})
	case a.Final:
		d = append(d, Detail{"emit", "final"})
	}
	if a.Retracts {
		d = append(d, Detail{"retracts", "true"})
	}
	if a.TTL > 0 {
		d = append(d, Detail{"ttl", a.TTL.String()})
	}
	return d
}
