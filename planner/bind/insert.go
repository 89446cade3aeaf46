package bind

import (
	"fmt"
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// Insert binds INSERT INTO.
func (b *Binder) Insert(ins *ast.Insert) (logical.Node, error) {
	if ins.OnConflict != "" {
		return nil, unsupported(ins, featOnConflict)
	}
	o, err := b.lookup(&ins.Target)
	if err != nil {
		return nil, err
	}
	t, ok := o.(*catalog.Table)
	if !ok {
		return nil, logical.Errorf(&ins.Target, logical.CodeNoSource, "insert into a table", "'%s' is a view", ins.Target.String())
	}
	options, err := b.tableHints(t, ins.Hints)
	if err != nil {
		return nil, err
	}
	in, err := b.query(ins.Query)
	if err != nil {
		return nil, err
	}
	static, fixed, err := b.staticPartition(t, ins.Partition)
	if err != nil {
		return nil, err
	}
	// to[i] is the column of the table that column i of the query fills.
	var to []int
	if ins.Columns != nil {
		if to, err = columnList(t, ins, fixed); err != nil {
			return nil, err
		}
	} else {
		for _, c := range t.SinkColumns() {
			if fixed[c] == nil {
				to = append(to, c)
			}
		}
	}
	if len(to) != len(in.cols) {
		what := fmt.Sprintf("table %s has %s to fill", shortName(t), types.Count(len(to), "column"))
		if ins.Columns != nil {
			what = "the list has " + types.Count(len(to), "column")
		}
		return nil, logical.Errorf(ins.Query, logical.CodeColumnCount, "the columns are: "+strings.Join(columnNames(t, to), ", "),
			"%s, and the query has %d", what, len(in.cols))
	}
	fill := map[int]logical.Expr{}
	from := identity(in.node.Schema())
	for i, c := range to {
		x, err := b.assign(ins.Query, i, t, c, from[i])
		if err != nil {
			return nil, err
		}
		fill[c] = x
	}
	for c, x := range fixed {
		fill[c] = x
	}
	s, err := b.sink(&ins.Target, t, options, in.node, fill)
	if err != nil {
		return nil, err
	}
	s.Overwrite, s.StaticPartition = ins.Overwrite, static
	return s, nil
}

func columnNames(t *catalog.Table, cols []int) []string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = t.Columns[c].Name
	}
	return out
}

// queryColumn is the node that makes column i of a query, for errors.
func queryColumn(q *ast.Query, i int) ast.Node {
	switch body := q.Body.(type) {
	case *ast.Select:
		for k := range min(i+1, len(body.Items)) {
			if _, star := body.Items[k].X.(*ast.Star); star {
				return &body.Items[k]
			}
		}
		if i < len(body.Items) {
			return &body.Items[i]
		}
	case *ast.Values:
		return body.Rows[0].Exprs[i]
	}
	return q
}

// columnList finds the columns of INSERT INTO t (a, b).
func columnList(t *catalog.Table, ins *ast.Insert, fixed map[int]logical.Expr) ([]int, error) {
	var to []int
	seen := map[int]bool{}
	for i := range ins.Columns {
		n := &ins.Columns[i]
		if len(n.Parts) > 1 {
			return nil, unsupported(n, featNestedColumn)
		}
		c := t.Index(n.Last())
		if c < 0 {
			return nil, logical.Errorf(n, logical.CodeUnknownColumn, columnHint(n.Last(), t.Schema().Names()), "column '%s' does not exist in table %s", n.Last(), shortName(t))
		}
		if k := t.Columns[c].Kind; k == catalog.Computed || k == catalog.Metadata && t.Columns[c].Virtual {
			return nil, logical.Errorf(n, logical.CodeTable, "leave it out", "column '%s' cannot be written: it is computed or VIRTUAL", n.Last())
		}
		if seen[c] {
			return nil, logical.Errorf(n, logical.CodeDuplicateName, "", "column '%s' is listed twice", n.Last())
		}
		if fixed[c] != nil {
			return nil, logical.Errorf(n, logical.CodeDuplicateName, "", "column '%s' has a value in PARTITION already", n.Last())
		}
		seen[c] = true
		to = append(to, c)
	}
	for _, c := range t.SinkColumns() {
		if !seen[c] && fixed[c] == nil && !t.Columns[c].Type.Nullable {
			return nil, logical.Errorf(&ins.Target, logical.CodeSinkTypes, "list it too", "column '%s' of table %s is NOT NULL and has no value here", t.Columns[c].Name, shortName(t))
		}
	}
	return to, nil
}

// staticPartition reads PARTITION (k = v): as text for the connector, and as values of the columns.
func (b *Binder) staticPartition(t *catalog.Table, p *ast.PartitionSpec) (map[string]string, map[int]logical.Expr, error) {
	if p == nil {
		return nil, nil, nil
	}
	static, fixed := map[string]string{}, map[int]logical.Expr{}
	for i := range p.Values {
		v := &p.Values[i]
		c := t.Index(v.Column.Name)
		if c < 0 || index(t.PartitionBy, v.Column.Name) < 0 {
			return nil, nil, logical.Errorf(&v.Column, logical.CodeUnknownColumn, columnHint(v.Column.Name, t.PartitionBy), "'%s' is no partition column of table %s",
				v.Column.Name, shortName(t))
		}
		if v.Value == nil {
			continue // dynamic
		}
		x, err := b.literal(v.Value)
		if err != nil {
			return nil, nil, err
		}
		lit := x.(*logical.Literal)
		typ := t.Columns[c].Type
		if !types.CanCast(lit.Type, typ) {
			return nil, nil, logical.Errorf(v.Value, logical.CodeSinkTypes, "", "partition column '%s' is %s, not %s", v.Column.Name, typ.WithNull(true), lit.Type.WithNull(true))
		}
		val, err := types.Cast(lit.Value, lit.Type, typ, b.env.Zone())
		if err != nil {
			return nil, nil, logical.Errorf(v.Value, logical.CodeConstant, "", "%v", err)
		}
		fixed[c] = &logical.Literal{Value: val, Type: typ.WithNull(val == nil), Pos: v.Value.Pos()}
		static[v.Column.Name] = v.Value.Value
	}
	return static, fixed, nil
}

// assign converts x, which is column i of a query, to column c of a table, implicitly.
func (b *Binder) assign(q *ast.Query, i int, t *catalog.Table, c int, x logical.Expr) (logical.Expr, error) {
	n := queryColumn(q, i)
	col := t.Columns[c]
	from, to := x.ResultType(), col.Type.WithAttr(types.NoTimeAttr)
	if !fits(from, to) {
		if v, ok := q.Body.(*ast.Values); ok { // the first row that does not fit
			for _, r := range v.Rows {
				if x, err := b.expr(r.Exprs[i], &scope{rel: &relation{}, clause: "VALUES"}); err == nil && !fits(x.ResultType(), to) {
					n = r.Exprs[i]
					break
				}
			}
		}
		return nil, logical.Errorf(n, logical.CodeSinkTypes, b.fitHint(n, i, x, to), "incompatible types for sink column '%s' at position %d: the query gives %s, the table has %s",
			col.Name, i+1, from.WithNull(true), to.WithNull(true))
	}
	return b.convert(n, x, to), nil
}

// keep converts what the engine writes into a table of its own accord to column c; what are the rows.
func (b *Binder) keep(n ast.Node, t *catalog.Table, c int, x logical.Expr, what string) (logical.Expr, error) {
	col := t.Columns[c]
	from, to := x.ResultType(), col.Type.WithAttr(types.NoTimeAttr)
	if !fits(from, to) {
		return nil, logical.Errorf(n, logical.CodeSinkTypes, "declare it "+from.WithNull(true).String(), "table %s keeps %s and declares '%s' %s, which is %s",
			shortName(t), what, col.Name, to.WithNull(true), from.WithNull(true))
	}
	return b.convert(n, x, to), nil
}

func fits(from, to types.Type) bool { return from.Kind == types.Null || types.Implicit(from, to) }

// fitHint proposes a cast of what the user wrote.
func (b *Binder) fitHint(n ast.Node, position int, x logical.Expr, to types.Type) string {
	from, target := x.ResultType().WithNull(true), to.WithNull(true)
	if !types.CanCast(from, to) {
		if h := castHint(from, to); h != "" {
			return h
		}
		return fmt.Sprintf("no CAST makes %s of %s: write another expression, or declare the column %s", target, from, from)
	}
	written := ""
	switch n := n.(type) {
	case *ast.SelectItem:
		if _, star := n.X.(*ast.Star); !star {
			written = b.text(n.X)
		} else if c, ok := x.(*logical.Column); ok {
			written = c.String()
		}
	case ast.Expr:
		written = b.text(n)
	}
	if written == "" || len(written) > 60 {
		return fmt.Sprintf("CAST column %d of the query AS %s", position+1, target)
	}
	return fmt.Sprintf("write CAST(%s AS %s)", written, target)
}

// convert converts an expression to the type of a column that it fits.
func (b *Binder) convert(n ast.Node, x logical.Expr, to types.Type) logical.Expr {
	from := x.ResultType()
	// Lengths are not enforced unless asked for (Flink's table.exec.sink.type-length-enforcer).
	sameFamily := from.IsText() && to.IsText() || from.IsBytes() && to.IsBytes()
	if sameFamily && !strings.EqualFold(b.env.config("table.exec.sink.type-length-enforcer", "IGNORE"), "TRIM_PAD") {
		return x
	}
	return b.coerce(n, x, to)
}

// sink makes the node that writes into a table: fill has the expression of each column that is given.
func (b *Binder) sink(n ast.Node, t *catalog.Table, options []catalog.Option, in logical.Node, fill map[int]logical.Expr) (*logical.Sink, error) {
	h, err := b.connect(n, t, options)
	if err != nil {
		return nil, err
	}
	if h.AcceptsKinds() == "" {
		return nil, logical.Errorf(n, logical.CodeNoSource, "", "table %s cannot be written: the connector '%s' only reads", shortName(t), t.Connector())
	}
	if err := checkColumns(n, t, h); err != nil {
		return nil, err
	}
	if err := b.checkMetadata(t, h, n); err != nil {
		return nil, err
	}
	s := &logical.Sink{Table: t, Handle: h, Pos: n.Pos()}
	var exprs []logical.Expr
	var names []string
	add := func(c int, to types.Type) {
		x := fill[c]
		if x == nil {
			x = &logical.Literal{Type: to.WithNull(true).WithAttr(types.NoTimeAttr)}
		}
		if !t.Columns[c].Type.Nullable && x.ResultType().Nullable {
			s.NotNull = append(s.NotNull, len(exprs))
		}
		exprs, names = append(exprs, x), append(names, t.Columns[c].Name)
	}
	at := map[string]int{}
	for _, c := range t.SinkColumns() {
		if t.Columns[c].Kind == catalog.Physical {
			at[t.Columns[c].Name] = len(exprs)
			add(c, t.Columns[c].Type)
		}
	}
	keys := h.MetadataKeys()
	for _, c := range t.SinkColumns() {
		col := t.Columns[c]
		if col.Kind != catalog.Metadata {
			continue
		}
		if !h.MetadataWritable(col.Key) {
			return nil, logical.Errorf(n, logical.CodeTable, "declare it VIRTUAL", "column '%s' of table %s: the metadata '%s' of connector '%s' cannot be written", col.Name,
				shortName(t), col.Key, t.Connector())
		}
		if x := fill[c]; x != nil {
			fill[c] = b.coerce(n, x, keys[keys.Index(col.Key)].Type)
		}
		s.Metadata = append(s.Metadata, col.Key)
		add(c, keys[keys.Index(col.Key)].Type)
	}
	for _, k := range t.PrimaryKey {
		s.Key = append(s.Key, at[k])
	}
	s.In = &logical.Project{In: in, Exprs: exprs, Names: names}
	return s, nil
}
