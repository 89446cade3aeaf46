// Package physical has the plan that runs: nodes named like the operators that run them, each with the properties of its output.
//
// Every constructor checks its arguments and computes the properties that come from the inputs; NewPlan computes what comes from behind (what is
// needed of watermarks and of order) and gives every node its stable id. Check holds a whole plan against the rules.
package physical

import (
	"fmt"
	"slices"

	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// Node is an operator of a plan: *Scan, *Values, *Calc, *WindowTableFunction, *LocalWindowAggregate, *GlobalWindowAggregate, *WindowAggregate,
// *GroupAggregate, *ChangelogNormalize, *Expand, *Union, *Sort, *Limit, *TopN, *Exchange, *Sink or *Collect.
//
// A node may have several readers (a shared Scan): a plan is a graph without cycles, and nodes are told apart by their pointer.
type Node interface {
	// Op is the operator's name, the same in EXPLAIN, in exec/op and in messages.
	Op() string
	// ID is stable: it comes from the plan's structure, or from a NAME hint. State, metrics and late_rows.<id> hang on it.
	ID() string
	Inputs() []Node
	// Schema is the output's columns.
	Schema() types.Schema
	Props() *Props
	// Details are the node's arguments for EXPLAIN, in order.
	Details() []Detail

	base() *node
}

// Detail is one argument of a node as EXPLAIN prints it: key=[value].
type Detail struct{ Key, Value string }

// Props are the properties of a node's output, and what is asked of it from behind.
type Props struct {
	Changelog Changelog
	// Key is the columns that identify a row (an upsert key); nil when there is none. An empty, non-nil Key means at most one row.
	Key []int
	// Partitioning is where rows are.
	Partitioning Partitioning
	// EventTime is the column that the watermark speaks about, -1 when there is none.
	EventTime int
	Bounded   bool
	// State is what the node itself keeps.
	State StateBound

	// OrderNeeded: something behind depends on the order of rows. WatermarkNeed: what is needed behind of Batch.Before. Both set by NewPlan.
	OrderNeeded   bool
	WatermarkNeed WatermarkNeed
}

// Changelog tells which row kinds flow.
type Changelog uint8

// The changelog modes.
const (
	Append  Changelog = iota // +I
	Upsert                   // +I, +U, -D by Key
	Retract                  // +I, -U, +U, -D
)

func (c Changelog) String() string { return [...]string{"append", "upsert", "retract"}[c] }

// Partitioning is how rows are spread over the parallel copies of a node.
type Partitioning struct {
	Count int // copies; 1 is everything in one place
	// Columns on which equal rows meet; nil when Count > 1 means anyhow.
	Columns []int
}

// WatermarkNeed is what operators need to know of the watermark before each row.
type WatermarkNeed uint8

// The needs, in rising order.
const (
	NeedNone  WatermarkNeed = iota
	NeedLate                // Before is nil for a batch in which no row lies at or behind the batch's last watermark
	NeedExact               // Before is always there
	NeedSteps               // and each watermark is told on its own, also behind rows that a filter drops
)

func (n WatermarkNeed) String() string { return [...]string{"none", "late", "exact", "steps"}[n] }

// StateBound is how far the state of an operator grows.
type StateBound uint8

// The bounds.
const (
	NoState StateBound = iota
	ConstantState
	PerWindow
	PerKey // one entry per key for ever
	InputSized
)

func (s StateBound) String() string {
	return [...]string{"none", "constant", "per window", "per key", "all rows"}[s]
}

// node is the common part, embedded in every node.
type node struct {
	id     string
	inputs []Node
	schema types.Schema
	props  Props
}

func (n *node) ID() string           { return n.id }
func (n *node) Inputs() []Node       { return n.inputs }
func (n *node) Schema() types.Schema { return n.schema }
func (n *node) Props() *Props        { return &n.props }
func (n *node) base() *node          { return n }

// SetName gives the node the id of a NAME hint.
func SetName(n Node, name string) { n.base().id = name }

// Plan is a statement ready to run.
type Plan struct {
	// Roots are one *Collect, or one or more *Sink (a statement set) that may share nodes.
	Roots []Node
	// Warnings are for the user: unbounded state and the like.
	Warnings []string
}

// NewPlan finishes a plan: it gives ids to nodes and computes what is needed from behind.
func NewPlan(roots ...Node) *Plan {
	p := &Plan{Roots: roots}
	taken := map[string]bool{}
	for _, n := range p.Nodes() {
		if id := n.ID(); id != "" {
			taken[id] = true
		}
	}
	count := map[string]int{}
	for _, n := range p.Nodes() {
		if n.ID() != "" {
			continue
		}
		for {
			count[n.Op()]++
			// An exchange holds no state; its numbers do not disturb those of others, so that a plan at another parallelism has the same ids.
			id := fmt.Sprintf("%s-%d", n.Op(), count[n.Op()])
			if !taken[id] {
				n.base().id = id
				break
			}
		}
	}
	nodes := p.Nodes()
	for _, n := range nodes {
		n.Props().OrderNeeded, n.Props().WatermarkNeed = false, NeedNone
	}
	for _, n := range nodes { // readers come before what they read
		order, wm := demands(n)
		for _, in := range n.Inputs() {
			ip := in.Props()
			ip.OrderNeeded = ip.OrderNeeded || order
			ip.WatermarkNeed = max(ip.WatermarkNeed, wm)
		}
	}
	for _, n := range nodes {
		if x, ok := n.(*Exchange); ok {
			x.Ordered = x.props.OrderNeeded
		}
	}
	return p
}

// demands tells what n needs of its inputs.
func demands(n Node) (order bool, wm WatermarkNeed) {
	p := n.Props()
	switch n := n.(type) {
	case *Calc:
		wm = p.WatermarkNeed
		if n.UsesWatermark() {
			wm = max(wm, NeedExact)
		}
		return p.OrderNeeded, wm
	case *WindowTableFunction, *Expand, *Exchange:
		return p.OrderNeeded, p.WatermarkNeed
	case *ChangelogNormalize:
		return true, p.WatermarkNeed // the last row of a key counts
	case *Union:
		return p.OrderNeeded, p.WatermarkNeed
	case *WindowAggregate:
		if n.Shown {
			return true, NeedSteps
		}
		if n.Emit != nil && !n.Window.Proctime {
			// It acts between two rows: its changes are those of the rows one by one.
			return true, NeedExact
		}
		return p.OrderNeeded || n.Emit != nil || anyOrderDependent(n.Aggregates), NeedLate
	case *LateRows:
		return true, NeedNone
	case *LocalWindowAggregate:
		return p.OrderNeeded, NeedLate
	case *GlobalWindowAggregate:
		return p.OrderNeeded, NeedNone
	case *GroupAggregate:
		return p.OrderNeeded || anyOrderDependent(n.Aggregates), NeedNone
	case *Limit:
		return true, p.WatermarkNeed
	case *Sort, *TopN:
		return true, NeedNone // ties keep the order of arrival
	case *Sink:
		// A keyed sink keeps the last row of each key; a file has its rows in order.
		return true, NeedNone
	case *Collect:
		return true, NeedNone
	}
	return false, NeedNone
}

func anyOrderDependent(as []Aggregate) bool {
	return slices.ContainsFunc(as, func(a Aggregate) bool { return a.OrderDependent })
}

// Nodes lists all nodes once, readers before what they read, otherwise depth first in the order of the text.
func (p *Plan) Nodes() []Node {
	var post []Node
	seen := map[Node]bool{}
	var visit func(Node)
	visit = func(n Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		ins := n.Inputs()
		for i := len(ins) - 1; i >= 0; i-- {
			visit(ins[i])
		}
		post = append(post, n)
	}
	for i := len(p.Roots) - 1; i >= 0; i-- {
		visit(p.Roots[i])
	}
	slices.Reverse(post)
	return post
}

// Bounded reports whether all roots end.
func (p *Plan) Bounded() bool {
	for _, r := range p.Roots {
		if !r.Props().Bounded {
			return false
		}
	}
	return true
}

// eventTime finds the rowtime attribute of a schema, -1 when there is none.
func eventTime(s types.Schema) int {
	return slices.IndexFunc(s, func(c types.Column) bool { return c.Type.Attr == types.Rowtime })
}

// projectColumns maps input columns through exprs: to[i] is the output position of input column i, or -1.
func projectColumns(exprs []logical.Expr, inputs int) []int {
	to := make([]int, inputs)
	for i := range to {
		to[i] = -1
	}
	for o, e := range exprs {
		if c, ok := e.(*logical.Column); ok && to[c.Index] < 0 {
			to[c.Index] = o
		}
	}
	return to
}

// mapColumns maps cols by to; nil when one of them has no image.
func mapColumns(cols, to []int) []int {
	if cols == nil {
		return nil
	}
	out := make([]int, len(cols))
	for i, c := range cols {
		if to[c] < 0 {
			return nil
		}
		out[i] = to[c]
	}
	return out
}
