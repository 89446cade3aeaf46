package physical

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// Calc filters rows by Condition (nil: all; only TRUE passes) and computes Projections of those that pass; both are over the input's columns.
type Calc struct {
	node
	Condition   logical.Expr
	Projections []logical.Expr
}

// NewCalc makes a Calc; names are those of the output columns. Projections nil means the input's columns as they are.
func NewCalc(in Node, cond logical.Expr, projections []logical.Expr, names []string) *Calc {
	c := &Calc{Condition: cond, Projections: projections}
	c.inputs = []Node{in}
	if projections == nil {
		for i := range in.Schema() {
			c.Projections = append(c.Projections, logical.NewColumn(in.Schema(), i))
		}
		names = in.Schema().Names()
	}
	for i, e := range c.Projections {
		c.schema = append(c.schema, types.Column{Name: names[i], Type: e.ResultType()})
	}
	ip := in.Props()
	to := projectColumns(c.Projections, len(in.Schema()))
	c.props = *ip
	c.props.Key = mapColumns(ip.Key, to)
	c.props.Partitioning.Columns = mapColumns(ip.Partitioning.Columns, to)
	c.props.EventTime = eventTime(c.schema)
	c.props.State = NoState
	return c
}

// Identity reports whether Projections are the input's columns as they are.
func (c *Calc) Identity() bool { return isIdentity(c.Projections, len(c.inputs[0].Schema())) }

// UsesWatermark reports whether an expression calls CURRENT_WATERMARK: Batch.Before is then needed for every row.
func (c *Calc) UsesWatermark() bool {
	return logical.ReadsWatermark(append([]logical.Expr{c.Condition}, c.Projections...)...)
}

// Op implements Node.
func (*Calc) Op() string { return "Calc" }

// Details implements Node.
func (c *Calc) Details() []Detail {
	var d []Detail
	if !c.Identity() || !slices.Equal(c.schema.Names(), c.inputs[0].Schema().Names()) {
		d = append(d, Detail{"select", logical.Projections(c.Projections, c.schema.Names())})
	}
	if c.Condition != nil {
		d = append(d, Detail{"where", c.Condition.String()})
	}
	return d
}

// Expand makes one row of each input row per element of Projects, in their order: grouping sets. Columns that are not in a set are NULL in its row;
// the columns behind the input's hold constants that tell the sets apart ($e) and answer GROUPING().
type Expand struct {
	node
	Projects [][]logical.Expr // over the input's columns; the same types in every element
}

// NewExpand makes an Expand with the given output schema.
func NewExpand(in Node, projects [][]logical.Expr, schema types.Schema) *Expand {
	e := &Expand{Projects: projects}
	e.inputs = []Node{in}
	e.schema = schema
	e.props = *in.Props()
	e.props.Key = nil
	e.props.Partitioning.Columns = nil
	e.props.EventTime = eventTime(schema)
	e.props.State = NoState
	return e
}

// Op implements Node.
func (*Expand) Op() string { return "Expand" }

// Details implements Node.
func (e *Expand) Details() []Detail {
	out := make([]string, len(e.Projects))
	for i, p := range e.Projects {
		out[i] = "(" + exprList(p) + ")"
	}
	return []Detail{{"projects", strings.Join(out, ", ")}, {"fields", strings.Join(e.schema.Names(), ", ")}}
}

// Union is UNION ALL: rows of all inputs, which have the same column types. Its watermark is the minimum of theirs.
type Union struct{ node }

// NewUnion makes a UNION ALL of two or more inputs. Names are those of the first; a column is nullable where one of them is.
func NewUnion(ins ...Node) *Union {
	u := &Union{}
	u.inputs = ins
	first := ins[0].Schema()
	for i, c := range first {
		for _, in := range ins[1:] {
			t := in.Schema()[i].Type
			c.Type.Nullable = c.Type.Nullable || t.Nullable
			if t.Attr != c.Type.Attr {
				c.Type.Attr = types.NoTimeAttr
			}
		}
		u.schema = append(u.schema, c)
	}
	u.props = Props{Bounded: true, EventTime: eventTime(u.schema), Partitioning: Partitioning{Count: ins[0].Props().Partitioning.Count}}
	for _, in := range ins {
		p := in.Props()
		u.props.Bounded = u.props.Bounded && p.Bounded
		if p.Changelog != Append {
			u.props.Changelog = Retract // keys of different inputs do not exclude each other
		}
	}
	return u
}

// Op implements Node.
func (*Union) Op() string { return "Union" }

// Details implements Node.
func (u *Union) Details() []Detail {
	return []Detail{{"all", "true"}, {"fields", strings.Join(u.schema.Names(), ", ")}}
}

// columnNames prints columns by name.
func columnNames(s types.Schema, cols []int) string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = logical.QuoteName(s[c].Name)
	}
	return strings.Join(out, ", ")
}

func count(n int64) string { return fmt.Sprint(n) }
