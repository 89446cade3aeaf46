package bind

import (
	"fmt"
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// parameters of the window functions, in the order that Flink declares them.
var windowParams = map[string][]string{
	"TUMBLE":   {"DATA", "TIMECOL", "SIZE", "OFFSET"},
	"HOP":      {"DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"},
	"CUMULATE": {"DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"},
}

// windowFunction binds TUMBLE, HOP or CUMULATE in FROM.
func (b *Binder) windowFunction(c *ast.Call) (*relation, error) {
	name := strings.ToUpper(c.Name.Last())
	params, ok := windowParams[name]
	if !ok || len(c.Name.Parts) > 1 {
		return nil, b.unknownTableFunction(c, name)
	}
	args, err := windowArgs(c, name, params)
	if err != nil {
		return nil, err
	}
	data, ok := args["DATA"].(*ast.TableArg)
	if !ok {
		return nil, logical.Errorf(args["DATA"], logical.CodeWindow, "write TABLE t", "the first argument of %s is a table", name)
	}
	rel, err := b.tableArg(data)
	if err != nil {
		return nil, err
	}
	w := logical.Window{Pos: b.pos(c)}
	if err := b.timeColumn(rel, args["TIMECOL"], name, &w); err != nil {
		return nil, err
	}
	length := func(param string) (int64, error) {
		return b.windowLength(args[param], name, param)
	}
	if w.Size, err = length("SIZE"); err != nil {
		return nil, err
	}
	w.Slide = w.Size
	step := map[string]string{"HOP": "SLIDE", "CUMULATE": "STEP"}[name]
	if step != "" {
		if w.Slide, err = length(step); err != nil {
			return nil, err
		}
	}
	if args["OFFSET"] != nil {
		if w.Offset, err = length("OFFSET"); err != nil {
			return nil, err
		}
	}
	w.Kind = map[string]logical.WindowKind{"TUMBLE": logical.Tumble, "HOP": logical.Hop, "CUMULATE": logical.Cumulate}[name]
	if err := checkWindow(w, name, step, args); err != nil {
		return nil, err
	}
	for _, col := range []string{"window_start", "window_end", "window_time"} {
		for _, have := range rel.cols {
			if have.name == col {
				return nil, logical.Errorf(data, logical.CodeWindow, "give it another name in a subquery: SELECT "+col+" AS "+col[7:]+"1, ...",
					"the table has a column '%s' already, and %s adds one", col, name)
			}
		}
	}
	out := &relation{node: &logical.WindowTableFunction{In: rel.node, Window: w}}
	for i, col := range out.node.Schema() {
		c := column{name: col.Name, typ: col.Type}
		if i < len(rel.cols) {
			c.name = rel.cols[i].name
			c.path = rel.cols[i].path
		}
		out.cols = append(out.cols, c)
	}
	// The whole result goes by the name of the table, too.
	if len(rel.cols) > 0 {
		for i := len(rel.cols); i < len(out.cols); i++ {
			out.cols[i].path = rel.cols[0].path
		}
	}
	return out, nil
}

func (b *Binder) unknownTableFunction(c *ast.Call, name string) error {
	if name == "SESSION" {
		return unsupported(c, featSession)
	}
	if near := catalog.Nearest(name, []string{"TUMBLE", "HOP", "CUMULATE"}); near != "" && len(c.Name.Parts) == 1 {
		return logical.Errorf(c, logical.CodeUnknownFunction, "did you mean "+near+"?", "table function %s does not exist", name)
	}
	hint := ""
	if strings.HasPrefix(name, "READ_") {
		hint = "a file is a table: FROM 'x.csv'"
	}
	return unsupported(c, Feature{featTableFunction.Code, "the table function " + name, hint})
}

// windowArgs names the arguments by their parameters.
func windowArgs(c *ast.Call, name string, params []string) (map[string]ast.Expr, error) {
	usage := "usage: " + name + "(TABLE t, DESCRIPTOR(ts)"
	for _, p := range params[2:] {
		if p == "OFFSET" {
			usage += " [, offset]"
		} else {
			usage += ", " + strings.ToLower(p)
		}
	}
	usage += ")"
	args := map[string]ast.Expr{}
	named := false
	for i, a := range c.Args {
		if na, ok := a.(*ast.NamedArg); ok {
			named = true
			p := strings.ToUpper(na.Name.Name)
			if index(params, p) < 0 {
				return nil, logical.Errorf(&na.Name, logical.CodeWindow, columnHint(p, params), "%s has no parameter %s", name, p)
			}
			if args[p] != nil {
				return nil, logical.Errorf(&na.Name, logical.CodeWindow, "", "parameter %s is given twice", p)
			}
			if index(params, p) != i {
				// Flink takes them in this order only.
				return nil, logical.Errorf(&na.Name, logical.CodeWindow, "the order is "+strings.Join(params, ", "), "the named arguments of %s must stand in the declared order", name)
			}
			args[p] = na.Value
			continue
		}
		if named {
			return nil, logical.Errorf(a, logical.CodeWindow, "", "an argument without a name may not stand behind one with a name")
		}
		if i >= len(params) {
			return nil, logical.Errorf(a, logical.CodeWindow, usage, "%s takes %d to %d arguments, not %d", name, len(params)-1, len(params), len(c.Args))
		}
		args[params[i]] = a
	}
	for _, p := range params[:len(params)-1] {
		if args[p] == nil {
			return nil, logical.Errorf(c, logical.CodeWindow, usage, "%s needs the argument %s", name, p)
		}
	}
	return args, nil
}

func (b *Binder) tableArg(t *ast.TableArg) (*relation, error) {
	if len(t.PartitionBy) > 0 {
		return nil, unsupported(t.PartitionBy[0], featPartitionByTVF)
	}
	if len(t.OrderBy) > 0 {
		return nil, unsupported(&t.OrderBy[0], featPartitionByTVF)
	}
	switch {
	case t.Table != nil:
		return b.table(t.Table, t.Hints)
	case t.File != nil:
		return b.file(t.File, t.Hints)
	}
	r, err := b.query(t.Query)
	if err != nil {
		return nil, err
	}
	cols := make([]column, len(r.cols))
	for i := range cols {
		cols[i] = column{name: r.cols[i].name, typ: r.cols[i].typ}
	}
	return &relation{node: r.node, cols: cols}, nil
}

// timeColumn finds the column of DESCRIPTOR; it must be a time attribute.
func (b *Binder) timeColumn(rel *relation, e ast.Expr, name string, w *logical.Window) error {
	d, ok := e.(*ast.Descriptor)
	if !ok || len(d.Columns) != 1 {
		return logical.Errorf(e, logical.CodeWindow, "", "the second argument of %s is the time column: DESCRIPTOR(ts)", name)
	}
	id := d.Columns[0]
	s := &scope{rel: rel}
	i, _, err := s.resolve(&ast.Name{Span: id.Span, Parts: d.Columns})
	if err != nil {
		return err
	}
	t := rel.cols[i].typ
	switch t.Attr {
	case types.NoTimeAttr:
		var have []string
		for _, c := range rel.cols {
			if c.typ.Attr != types.NoTimeAttr {
				have = append(have, c.name)
			}
		}
		hint := "the time attribute here is " + strings.Join(have, ", ")
		if have == nil {
			hint = b.timeHint(rel.node, i, id.Name)
		}
		return logical.Errorf(&id, logical.CodeTimeAttr, hint, "the window function %s needs a time attribute, and '%s' is %s", name, id.Name, t.WithNull(true))
	case types.Proctime:
		w.Proctime = true
	}
	w.TimeColumn, w.LTZ = i, t.Kind == types.TimestampLTZ
	w.Precision = max(3, t.Precision)
	w.Unit = types.MicrosPerMilli
	if w.Precision > 3 {
		w.Unit = 1
	}
	return nil
}

// windowLength reads a constant interval of days to seconds, in microseconds.
func (b *Binder) windowLength(e ast.Expr, name, param string) (int64, error) {
	x, err := b.expr(e, &scope{rel: &relation{}, clause: "the arguments of " + name})
	if err != nil {
		return 0, err
	}
	if _, ok := x.(*logical.Literal); !ok && b.env.Fold != nil && constant(x) {
		v, err := b.env.Fold(x)
		if err != nil {
			return 0, logical.Errorf(e, logical.CodeConstant, "", "%v", err)
		}
		x = &logical.Literal{Value: v, Type: x.ResultType()}
	}
	lit, _ := x.(*logical.Literal)
	if lit == nil {
		return 0, logical.Errorf(e, logical.CodeWindow, "write INTERVAL '10' MINUTE", "%s of %s must be a constant", param, name)
	}
	d, ok := lit.Value.(types.DurationVal)
	if !ok {
		hint := "write INTERVAL '10' MINUTE"
		if _, months := lit.Value.(types.MonthsVal); months {
			hint = "months have different lengths: use days"
		}
		return 0, logical.Errorf(e, logical.CodeWindow, hint, "%s of %s must be an interval of days to seconds, not %s", param, name, lit.Type.WithNull(true))
	}
	return int64(d), nil
}

// checkWindow refuses sizes that make no grid.
func checkWindow(w logical.Window, name, step string, args map[string]ast.Expr) error {
	show := func(us int64) string { return logical.FormatDuration(us) }
	fail := func(param, hint, format string, a ...any) error {
		return logical.Errorf(args[param], logical.CodeWindow, hint, format, a...)
	}
	if w.Size <= 0 {
		return fail("SIZE", "", "the size of %s must be greater than 0, not %s", name, show(w.Size))
	}
	if step != "" {
		word := strings.ToLower(step)
		if w.Slide <= 0 {
			return fail(step, "", "the %s of %s must be greater than 0, not %s", word, name, show(w.Slide))
		}
		if w.Size%w.Slide != 0 {
			hint := fmt.Sprintf("the arguments are %s, then size", word)
			if w.Slide > w.Size && w.Slide%w.Size == 0 {
				hint += ": are they swapped?"
			}
			return fail("SIZE", hint, "the size of %s must be a multiple of its %s, and %s is none of %s", name, word, show(w.Size), show(w.Slide))
		}
	}
	if w.Size/w.Slide > 1_000_000 {
		return fail("SIZE", "", "%s of %s by %s puts each row into %d windows", name, show(w.Size), show(w.Slide), w.Size/w.Slide)
	}
	if w.Unit == types.MicrosPerMilli {
		for _, l := range []struct {
			param string
			us    int64
		}{{"SIZE", w.Size}, {step, w.Slide}, {"OFFSET", w.Offset}} {
			if l.us%types.MicrosPerMilli != 0 {
				return fail(l.param, "the time column has milliseconds", "%s of %s must be whole milliseconds, not %s", l.param, name, show(l.us))
			}
		}
	}
	if w.Offset >= w.Size || w.Offset <= -w.Size {
		return fail("OFFSET", "", "the offset of %s must be shorter than its size: %s is not, of %s", name, show(w.Offset), show(w.Size))
	}
	return nil
}
