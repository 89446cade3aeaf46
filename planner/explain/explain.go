// Package explain prints plans: as a tree for people, as JSON for tools.
package explain

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/planner/physical"
)

// Options say what to print besides the operators.
type Options struct {
	// ChangelogMode adds the row kinds as Flink prints them: changelogMode=[I,UB,UA,D].
	ChangelogMode bool
	// Advice lists the plan's warnings.
	Advice bool
}

// Text prints the logical plans of a statement and its physical plan.
func Text(roots []logical.Node, p *physical.Plan, o Options) string {
	var b strings.Builder
	b.WriteString("== Logical Plan ==\n")
	for _, r := range roots {
		logicalTree(&b, r, "", "")
	}
	b.WriteString("\n== Physical Plan ==\n")
	b.WriteString(Physical(p, o))
	if o.Advice {
		b.WriteString("\n== Advice ==\n")
		if len(p.Warnings) == 0 {
			b.WriteString("none\n")
		}
		for _, w := range p.Warnings {
			b.WriteString("- " + w + "\n")
		}
	}
	return b.String()
}

func logicalTree(b *strings.Builder, n logical.Node, first, rest string) {
	fmt.Fprintf(b, "%s%s(%s)\n", first, n.Op(), n.Details())
	ins := n.Inputs()
	for i, in := range ins {
		f, r := branch(rest, i == len(ins)-1)
		logicalTree(b, in, f, r)
	}
}

func branch(rest string, last bool) (first, next string) {
	if last {
		return rest + "+- ", rest + "   "
	}
	return rest + ":- ", rest + ":  "
}

// Physical prints a physical plan: each operator with its arguments, then in braces its id and properties. An operator with several readers is printed
// where it comes first; the others refer to its id.
func Physical(p *physical.Plan, o Options) string {
	var b strings.Builder
	seen := map[physical.Node]bool{}
	var tree func(n physical.Node, first, rest string)
	tree = func(n physical.Node, first, rest string) {
		if seen[n] {
			fmt.Fprintf(&b, "%sReused(%s)\n", first, n.ID())
			return
		}
		seen[n] = true
		args := make([]string, 0, 8)
		for _, d := range n.Details() {
			args = append(args, d.Key+"=["+d.Value+"]")
		}
		if o.ChangelogMode {
			args = append(args, "changelogMode=["+kinds(n.Props().Changelog)+"]")
		}
		fmt.Fprintf(&b, "%s%s(%s) {%s}\n", first, n.Op(), strings.Join(args, ", "), strings.Join(properties(n), "; "))
		ins := n.Inputs()
		for i, in := range ins {
			f, r := branch(rest, i == len(ins)-1)
			tree(in, f, r)
		}
	}
	for _, r := range p.Roots {
		tree(r, "", "")
	}
	return b.String()
}

func kinds(c physical.Changelog) string {
	return map[physical.Changelog]string{physical.Append: "I", physical.Upsert: "I,UA,D", physical.Retract: "I,UB,UA,D"}[c]
}

// properties lists what is worth knowing of a node's output.
func properties(n physical.Node) []string {
	p := n.Props()
	names := func(cols []int) string {
		out := make([]string, len(cols))
		for i, c := range cols {
			out[i] = n.Schema()[c].Name
		}
		return strings.Join(out, ", ")
	}
	out := []string{n.ID(), p.Changelog.String()}
	if p.Key != nil {
		out = append(out, "key ("+names(p.Key)+")")
	}
	if p.EventTime >= 0 {
		out = append(out, "time "+n.Schema()[p.EventTime].Name)
	}
	if p.Bounded {
		out = append(out, "bounded")
	} else {
		out = append(out, "unbounded")
	}
	if p.WatermarkNeed != physical.NeedNone {
		out = append(out, "watermark "+p.WatermarkNeed.String())
	}
	if p.OrderNeeded {
		out = append(out, "ordered")
	}
	if p.State != physical.NoState {
		s := "state " + p.State.String()
		if p.State == physical.PerKey && !p.Bounded {
			s += ", unbounded"
		}
		out = append(out, s)
	}
	if p.Partitioning.Count > 1 {
		s := fmt.Sprintf("%d copies", p.Partitioning.Count)
		if p.Partitioning.Columns != nil {
			s += " by (" + names(p.Partitioning.Columns) + ")"
		}
		out = append(out, s)
	}
	return out
}

type jsonPlan struct {
	Roots    []string   `json:"roots"`
	Nodes    []jsonNode `json:"nodes"`
	Warnings []string   `json:"warnings,omitempty"`
}

type jsonNode struct {
	ID         string         `json:"id"`
	Operator   string         `json:"operator"`
	Inputs     []string       `json:"inputs,omitempty"`
	Arguments  []jsonArgument `json:"arguments,omitempty"`
	Columns    []jsonColumn   `json:"columns"`
	Changelog  string         `json:"changelog"`
	Key        []string       `json:"key,omitempty"`
	EventTime  string         `json:"eventTime,omitempty"`
	Bounded    bool           `json:"bounded"`
	Watermark  string         `json:"watermarkNeed"`
	Ordered    bool           `json:"orderNeeded"`
	State      string         `json:"state"`
	Copies     int            `json:"copies"`
	PartitionC []string       `json:"partitionedBy,omitempty"`
}

type jsonArgument struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type jsonColumn struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// JSON prints a physical plan for tools: its nodes, readers before what they read, told apart by their ids.
func JSON(p *physical.Plan) ([]byte, error) {
	out := jsonPlan{Warnings: p.Warnings}
	for _, r := range p.Roots {
		out.Roots = append(out.Roots, r.ID())
	}
	for _, n := range p.Nodes() {
		props := n.Props()
		names := func(cols []int) []string {
			var out []string
			for _, c := range cols {
				out = append(out, n.Schema()[c].Name)
			}
			return out
		}
		j := jsonNode{ID: n.ID(), Operator: n.Op(), Changelog: props.Changelog.String(), Key: names(props.Key), Bounded: props.Bounded,
			Watermark: props.WatermarkNeed.String(), Ordered: props.OrderNeeded, State: props.State.String(), Copies: props.Partitioning.Count,
			PartitionC: names(props.Partitioning.Columns), Columns: []jsonColumn{}}
		if props.EventTime >= 0 {
			j.EventTime = n.Schema()[props.EventTime].Name
		}
		for _, in := range n.Inputs() {
			j.Inputs = append(j.Inputs, in.ID())
		}
		for _, d := range n.Details() {
			j.Arguments = append(j.Arguments, jsonArgument{d.Key, d.Value})
		}
		for _, c := range n.Schema() {
			j.Columns = append(j.Columns, jsonColumn{c.Name, c.Type.String()})
		}
		out.Nodes = append(out.Nodes, j)
	}
	return json.MarshalIndent(out, "", "  ")
}
