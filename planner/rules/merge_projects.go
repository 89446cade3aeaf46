package rules

import "github.com/weir-sql/weir/planner/logical"

// MergeProjects makes one projection of two.
//
//	before: SELECT a + 1 AS b FROM (SELECT x AS a, y FROM t)
//	after:  SELECT x + 1 AS b FROM t
//
// Wrong for: SELECT r, r FROM (SELECT RAND() AS r FROM t): the two would differ. An expression that is used twice above stays where it is computed once,
// unless it is a mere column or constant.
func MergeProjects(n logical.Node) (logical.Node, error) {
	return logical.Rewrite(n, func(n logical.Node) (logical.Node, error) {
		up, ok := n.(*logical.Project)
		if !ok {
			return n, nil
		}
		if isIdentity(up) {
			return up.In, nil
		}
		down, ok := up.In.(*logical.Project)
		if !ok {
			return n, nil
		}
		uses := map[int]int{}
		for _, e := range up.Exprs {
			logical.Walk(e, func(x logical.Expr) bool {
				if c, ok := x.(*logical.Column); ok {
					uses[c.Index]++
				}
				return true
			})
		}
		for c, k := range uses {
			if k > 1 && !cheap(down.Exprs[c]) {
				return n, nil
			}
		}
		out := &logical.Project{In: down.In, Names: up.Names}
		for _, e := range up.Exprs {
			out.Exprs = append(out.Exprs, logical.Substitute(e, down.Exprs))
		}
		if isIdentity(out) {
			return out.In, nil
		}
		return out, nil
	})
}

// isIdentity reports a projection that changes nothing, names included.
func isIdentity(p *logical.Project) bool {
	s := p.In.Schema()
	if len(p.Exprs) != len(s) {
		return false
	}
	for i, e := range p.Exprs {
		c, ok := e.(*logical.Column)
		if !ok || c.Index != i || p.Names[i] != s[i].Name || c.Type.Attr != s[i].Type.Attr {
			return false
		}
	}
	return true
}
