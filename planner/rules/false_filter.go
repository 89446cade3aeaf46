package rules

import "github.com/weir-sql/weir/planner/logical"

// RemoveFalse turns a filter that never passes into an empty table, and drops one that always does.
//
//	before: SELECT COUNT(*) FROM bids WHERE 1 = 2
//	after:  SELECT COUNT(*) FROM (no rows)
//
// It is part of the meaning: an aggregate without GROUP BY over input that is known to be empty gives its one row (COUNT 0) at once, while over a stream
// without rows it gives nothing.
//
// Wrong for: SELECT * FROM bids WHERE price < NULL OR TRUE, which is why constants are folded first, and only a condition that is FALSE or NULL as a whole
// counts.
func RemoveFalse(n logical.Node) (logical.Node, error) {
	return logical.Rewrite(n, func(n logical.Node) (logical.Node, error) {
		switch n := n.(type) {
		case *logical.Filter:
			lit, ok := n.Cond.(*logical.Literal)
			if !ok {
				return n, nil
			}
			if lit.Value == true {
				return n.In, nil
			}
			return &logical.Values{Columns: n.Schema()}, nil
		case *logical.Project, *logical.WindowTableFunction, *logical.Expand:
			if v, ok := n.Inputs()[0].(*logical.Values); ok && len(v.Rows) == 0 {
				return &logical.Values{Columns: n.Schema()}, nil
			}
		case *logical.Aggregate:
			if v, ok := n.In.(*logical.Values); ok && len(v.Rows) == 0 && (n.Window != nil || len(n.GroupBy) > 0) {
				return &logical.Values{Columns: n.Schema()}, nil
			}
		case *logical.Union:
			var rest []logical.Node
			for _, in := range n.Ins {
				if v, ok := in.(*logical.Values); ok && len(v.Rows) == 0 {
					continue
				}
				rest = append(rest, in)
			}
			switch len(rest) {
			case len(n.Ins):
			case 0:
				return &logical.Values{Columns: n.Schema()}, nil
			case 1:
				return project(rest[0], n.Columns.Names()), nil
			default:
				return &logical.Union{Ins: rest, Columns: n.Columns}, nil
			}
		}
		return n, nil
	})
}

// project gives the columns of n other names.
func project(n logical.Node, names []string) logical.Node {
	s := n.Schema()
	es := make([]logical.Expr, len(s))
	same := true
	for i := range s {
		es[i] = logical.NewColumn(s, i)
		same = same && s[i].Name == names[i]
	}
	if same {
		return n
	}
	return &logical.Project{In: n, Exprs: es, Names: names}
}
