package bind

import (
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// Column numbers from here on stand for results of aggregates and of GROUPING until the aggregate node is made.
const (
	aggregateBase = 1 << 24
	groupingBase  = 1 << 25
)

// aggregates collects the aggregate calls of a SELECT. Arguments are over the input of the aggregation.
type aggregates struct {
	calls []aggregateCall
}

type aggregateCall struct {
	call   logical.AggregateCall
	args   []logical.Expr
	filter logical.Expr
	node   *ast.Call
}

// grouping is what GROUPING() asks about: the keys, and the calls made, each a list of keys.
type grouping struct {
	keys  []logical.Expr
	calls [][]int
}

// isAggregate reports a call of an aggregate function (without OVER).
func isAggregate(c *ast.Call) bool {
	return len(c.Name.Parts) == 1 && c.Over == nil && catalog.LookupFunction(c.Name.Last(), catalog.Aggregate) != nil
}

// call binds a function call.
func (b *Binder) call(e *ast.Call, s *scope) (logical.Expr, error) {
	if e.Over != nil {
		return nil, unsupported(e.Over, featOver)
	}
	if e.WithinGroup != nil {
		return nil, unsupported(&e.WithinGroup[0], featWithinGroup)
	}
	name := strings.ToUpper(e.Name.Last())
	if len(e.Name.Parts) > 1 {
		return nil, logical.Errorf(&e.Name, logical.CodeUnknownFunction, "", "function %s does not exist", e.Name.String())
	}
	if isAggregate(e) {
		return b.aggregate(e, s)
	}
	switch {
	case e.Star:
		return nil, logical.Errorf(e, logical.CodeArguments, "", "%s(*): only COUNT takes a star", name)
	case e.Distinct:
		return nil, logical.Errorf(e, logical.CodeAggregate, "", "%s is no aggregate: DISTINCT means nothing here", name)
	case e.Filter != nil:
		return nil, logical.Errorf(e.Filter, logical.CodeAggregate, "", "%s is no aggregate: FILTER means nothing here", name)
	case e.NullTreatment != "":
		return nil, logical.Errorf(e, logical.CodeAggregate, "", "%s is no aggregate: %s NULLS means nothing here", name, e.NullTreatment)
	case e.JSON != nil:
		return nil, unsupported(e, Feature{featJSONFunction.Code, name, ""})
	}
	switch name {
	case "CURRENT_WATERMARK":
		return b.currentWatermark(e, s)
	case "SOURCE_WATERMARK":
		return nil, logical.Errorf(e, logical.CodeArguments, "", "SOURCE_WATERMARK() may stand in a WATERMARK declaration only, alone")
	case "GROUPING", "GROUPING_ID":
		return b.groupingCall(e, s)
	case "GROUP_ID":
		return b.groupID(e, s)
	}
	if b.env.Scalar(name) == nil {
		return nil, b.unknownFunction(e, name)
	}
	var units []string
	var args []logical.Expr
	for _, a := range e.Args {
		if u, ok := a.(*ast.TimeUnit); ok {
			units = append(units, u.Unit)
			continue
		}
		x, err := b.expr(a, s)
		if err != nil {
			return nil, err
		}
		args = append(args, x)
	}
	x, err := b.apply(e, name, units, args)
	if err == nil && name == "PROCTIME" {
		x = logical.WithType(x, x.ResultType().WithAttr(types.Proctime))
	}
	return x, err
}

func (b *Binder) currentWatermark(e *ast.Call, s *scope) (logical.Expr, error) {
	if len(e.Args) != 1 {
		return nil, logical.Errorf(e, logical.CodeArguments, "usage: CURRENT_WATERMARK(rowtime)", "CURRENT_WATERMARK takes one argument, not %d", len(e.Args))
	}
	if s.declaration {
		return nil, logical.Errorf(e, logical.CodeArguments, "", "CURRENT_WATERMARK may not stand in the declaration of a table")
	}
	x, err := b.expr(e.Args[0], s)
	if err != nil {
		return nil, err
	}
	t := x.ResultType()
	if t.Attr != types.Rowtime {
		hint := "it must be the column of the table's WATERMARK, or window_time"
		if c, ok := x.(*logical.Column); ok && t.IsTimestamp() && t.Attr == types.NoTimeAttr && s.rel.node != nil && c.Index < len(s.rel.cols) {
			hint = b.timeHint(s.rel.node, c.Index, c.Name)
		}
		return nil, logical.Errorf(e.Args[0], logical.CodeTimeAttr, hint,
			"CURRENT_WATERMARK needs an event time attribute, and %s is %s", x, t.WithNull(true))
	}
	t.Precision = max(t.Precision, 3)
	return &logical.Call{Name: "CURRENT_WATERMARK", Args: []logical.Expr{x}, Type: t.WithNull(true).WithAttr(types.NoTimeAttr), Pos: e.Pos(), Text: b.text(e)}, nil
}

// aggregate binds a call of an aggregate function and gives the place where its result will be.
func (b *Binder) aggregate(e *ast.Call, s *scope) (logical.Expr, error) {
	f := catalog.LookupFunction(e.Name.Last(), catalog.Aggregate)
	switch {
	case s.inAgg:
		return nil, logical.Errorf(e, logical.CodeAggregate, "aggregate in a subquery first: SELECT MAX(c) FROM (SELECT COUNT(*) AS c ...)",
			"an aggregate may not stand inside of another one")
	case s.aggs == nil:
		hint := ""
		if s.clause == "WHERE" {
			hint = "write it in HAVING"
		}
		return nil, logical.Errorf(e, logical.CodeAggregate, hint, "an aggregate (%s) may not stand in %s", f.Name, s.clause)
	case e.JSON != nil:
		return nil, unsupported(e, Feature{featJSONFunction.Code, f.Name, ""})
	case e.Star && f.Name != "COUNT":
		return nil, logical.Errorf(e, logical.CodeArguments, "", "%s(*): only COUNT takes a star", f.Name)
	case e.NullTreatment != "" && f.Name != "ARRAY_AGG":
		return nil, unsupported(e, Feature{featOver.Code, f.Name + " with " + e.NullTreatment + " NULLS", ""})
	}
	inner := *s
	inner.inAgg = true
	c := aggregateCall{node: e}
	args, nodes, err := b.exprs(e.Args, &inner)
	if err != nil {
		return nil, err
	}
	sig, err := resolve(f, e, e.Name.Last(), nil, args, e.Distinct)
	if err != nil {
		return nil, err
	}
	var argTypes []types.Type
	for i, a := range args {
		a = b.coerce(nodes[i], a, sig.Args[i])
		c.args = append(c.args, a)
		argTypes = append(argTypes, sig.Args[i])
		if e.Distinct {
			if err := groupable(nodes[i], "DISTINCT", sig.Args[i]); err != nil {
				return nil, err
			}
		}
		lit, _ := a.(*logical.Literal)
		c.call.Literals = append(c.call.Literals, lit)
	}
	if e.Filter != nil {
		x, err := b.expr(e.Filter, &inner)
		if err != nil {
			return nil, err
		}
		if c.filter, err = b.boolean(e.Filter, x, "FILTER"); err != nil {
			return nil, err
		}
	}
	c.call.Func, c.call.Distinct, c.call.Type = f.Name, e.Distinct, sig.Result.WithAttr(types.NoTimeAttr)
	c.call.OrderDependent = orderDependent(f.Name, argTypes)
	c.call.IgnoreNulls, c.call.RespectNulls = e.NullTreatment == "IGNORE", e.NullTreatment == "RESPECT"
	c.call.Text, c.call.Pos = b.text(e), e.Pos()
	for i, o := range s.aggs.calls {
		if o.same(c) {
			return s.aggs.place(i), nil
		}
	}
	s.aggs.calls = append(s.aggs.calls, c)
	return s.aggs.place(len(s.aggs.calls) - 1), nil
}

func (a *aggregates) place(i int) logical.Expr {
	c := a.calls[i].call
	return &logical.Column{Index: aggregateBase + i, Name: c.Func, Type: c.Type, Pos: c.Pos}
}

func (c aggregateCall) same(o aggregateCall) bool {
	if c.call.Func != o.call.Func || c.call.Distinct != o.call.Distinct || len(c.args) != len(o.args) || (c.filter == nil) != (o.filter == nil) ||
		c.call.IgnoreNulls != o.call.IgnoreNulls || c.call.RespectNulls != o.call.RespectNulls {
		return false
	}
	all := append(append([]logical.Expr(nil), c.args...), c.filter)
	for i := range c.args {
		if !logical.Equal(c.args[i], o.args[i]) {
			return false
		}
	}
	if c.filter != nil && !logical.Equal(c.filter, o.filter) {
		return false
	}
	return logical.Volatile(all...) == nil
}

// orderDependent reports aggregates whose result depends on the order of rows.
func orderDependent(name string, args []types.Type) bool {
	switch name {
	case "FIRST_VALUE", "LAST_VALUE", "LISTAGG", "COLLECT", "ARRAY_AGG", "JSON_ARRAYAGG", "JSON_OBJECTAGG":
		return true
	case "SUM", "AVG", "VAR_POP", "VAR_SAMP", "VARIANCE", "STDDEV_POP", "STDDEV_SAMP":
		return len(args) > 0 && args[0].IsApprox()
	}
	return false
}

// constant reports an expression that may be computed when the statement is planned: functions of the session are called for rows only.
func constant(e logical.Expr) bool {
	ok := logical.Volatile(e) == nil && len(logical.Columns(e)) == 0
	logical.Walk(e, func(x logical.Expr) bool {
		c, is := x.(*logical.Call)
		ok = ok && (!is || c.User == nil)
		return ok
	})
	return ok
}

// groupID binds GROUP_ID(): how many equal grouping sets stand before that of the row.
func (b *Binder) groupID(e *ast.Call, s *scope) (logical.Expr, error) {
	if s.grouping == nil {
		return nil, logical.Errorf(e, logical.CodeAggregate, "", "GROUP_ID may stand in a query with GROUP BY only")
	}
	if len(e.Args) > 0 {
		return nil, logical.Errorf(e, logical.CodeArguments, "usage: GROUP_ID()", "GROUP_ID takes no arguments")
	}
	s.grouping.calls = append(s.grouping.calls, nil)
	return &logical.Column{Index: groupingBase + len(s.grouping.calls) - 1, Name: "GROUP_ID", Type: types.BigIntType.NotNull(), Pos: e.Pos()}, nil
}

// groupingCall binds GROUPING(a, b): a number with a bit for each argument, the last one the lowest, set when the argument is not in the grouping set.
func (b *Binder) groupingCall(e *ast.Call, s *scope) (logical.Expr, error) {
	if s.grouping == nil {
		return nil, logical.Errorf(e, logical.CodeAggregate, "", "GROUPING may stand in a query with GROUP BY only")
	}
	if len(e.Args) == 0 || len(e.Args) > 62 {
		return nil, logical.Errorf(e, logical.CodeArguments, "usage: GROUPING(column, ...)", "GROUPING needs 1 to 62 arguments, not %d", len(e.Args))
	}
	inner := *s
	inner.inAgg = true
	var keys []int
	for _, a := range e.Args {
		x, err := b.expr(a, &inner)
		if err != nil {
			return nil, err
		}
		k := -1
		for i, g := range s.grouping.keys {
			if logical.Equal(g, x) {
				k = i
			}
		}
		if k < 0 {
			return nil, logical.Errorf(a, logical.CodeNotGrouped, "", "%s is not in GROUP BY", x)
		}
		keys = append(keys, k)
	}
	s.grouping.calls = append(s.grouping.calls, keys)
	return &logical.Column{Index: groupingBase + len(s.grouping.calls) - 1, Name: "GROUPING", Type: types.BigIntType.NotNull(), Pos: e.Pos()}, nil
}
