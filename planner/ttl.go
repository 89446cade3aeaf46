package planner

import (
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/bind"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/planner/physical"
)

// readTTL reads for how long state that expires stays without a row.
func (c *converter) readTTL() error {
	v := c.env.Config["table.exec.state.ttl"]
	if v == "" {
		return nil
	}
	d, err := bind.Duration(v)
	if err != nil {
		return logical.ErrorAt(ast.Pos{}, logical.CodeOption, "", "'table.exec.state.ttl': %v", err)
	}
	c.ttl = d
	return nil
}

// checkTTL refuses a plan in which something that expires in Flink would stay for ever: of what is kept for each key over unbounded input groups and
// the rows of upserts expire. Windows are bounded by the watermark; bounded input ends.
func (c *converter) checkTTL(roots []physical.Node) error {
	if c.ttl <= 0 {
		return nil
	}
	seen := map[physical.Node]bool{}
	var visit func(n physical.Node) error
	visit = func(n physical.Node) error {
		if seen[n] {
			return nil
		}
		seen[n] = true
		p := n.Props()
		g, group := n.(*physical.GroupAggregate)
		keeps := p.State == physical.PerKey || p.State == physical.InputSized || p.State == physical.ConstantState && group
		if u, ok := n.(*physical.ChangelogNormalize); ok && u.TTL > 0 || group && (g.TTL > 0 || g.Final) {
			keeps = false
		}
		if keeps && !p.Bounded {
			pos, what := updating(n)
			if pos == (ast.Pos{}) {
				what = n.Op()
			}
			return bind.Unsupported(pos, "'table.exec.state.ttl' over "+what+", whose state does not expire ("+n.Op()+"),")
		}
		for _, in := range n.Inputs() {
			if err := visit(in); err != nil {
				return err
			}
		}
		return nil
	}
	for _, r := range roots {
		if err := visit(r); err != nil {
			return err
		}
	}
	return nil
}
