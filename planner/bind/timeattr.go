package bind

import (
	"fmt"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// timeHint says what to do about a column of a plan that should be a time attribute and is none: what made it an ordinary one, and in which view, or how a
// table declares one. name is what the statement calls it.
func (b *Binder) timeHint(n logical.Node, col int, name string) string {
	where := ""
	for {
		if v := b.viewOf[n]; v != nil {
			where = " in view '" + v.Path.Name + "'"
		}
		t := n.Schema()[col].Type
		switch m := n.(type) {
		case *logical.Project:
			if c, ok := m.Exprs[col].(*logical.Column); ok {
				n, col = m.In, c.Index
				continue
			}
			return expressionHint(m.Exprs[col], name, where)
		case *logical.Filter, *logical.Sort, *logical.Limit, *logical.WindowTableFunction:
			in := n.Inputs()[0]
			if col >= len(in.Schema()) {
				return "window_time is the time attribute of a window"
			}
			n = in
			continue
		case *logical.Union:
			for _, in := range m.Ins {
				if in.Schema()[col].Type.Attr == types.NoTimeAttr {
					n = in
					break
				}
			}
			if n != logical.Node(m) {
				continue
			}
		case *logical.Aggregate:
			return fmt.Sprintf("%s%s made it an ordinary column: window_time of a window aggregate is a time attribute", m.Clause, where)
		case *logical.Scan:
			if t.IsTimestamp() {
				return declareHint(m.Table, n.Schema()[col].Name)
			}
		}
		if t.IsTimestamp() {
			return "only the column of a table's WATERMARK is one, and window_time"
		}
		return "declare a column of type TIMESTAMP(3) with a WATERMARK in CREATE TABLE"
	}
}

// declareHint is for a timestamp column of a table that is not the one of its WATERMARK.
func declareHint(t *catalog.Table, col string) string {
	if w := t.Watermark; w != nil {
		return fmt.Sprintf("the time attribute of table %s is %s", shortName(t), logical.QuoteName(w.Column))
	}
	return fmt.Sprintf("declare WATERMARK FOR %[1]s AS %[1]s - INTERVAL '5' SECOND in CREATE TABLE", logical.QuoteName(col))
}

// expressionHint is for a column that a query computes.
func expressionHint(e logical.Expr, name, where string) string {
	lost := ""
	logical.Walk(e, func(e logical.Expr) bool {
		if c, ok := e.(*logical.Column); ok && lost == "" && c.Type.Attr != types.NoTimeAttr {
			lost = c.String()
		}
		return true
	})
	switch {
	case lost != "":
		return fmt.Sprintf("%s%s made it an ordinary column: keep %s itself beside it, and take that", e, where, lost)
	case e.ResultType().IsTimestamp():
		return fmt.Sprintf("%s%s computes it, and only CREATE TABLE makes a time attribute: declare %s AS such an expression there, with WATERMARK FOR %[3]s", e, where, logical.QuoteName(name))
	}
	return "declare a column of type TIMESTAMP(3) with a WATERMARK in CREATE TABLE"
}
