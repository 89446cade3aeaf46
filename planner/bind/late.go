package bind

import (
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

const lateHint = "GROUP BY window_start, window_end over TUMBLE, HOP or CUMULATE"

// lateTable is the table of a LATE_ROWS hint with what its columns are filled from.
type lateTable struct {
	hint  *ast.Hint
	table *catalog.Table
	// from has for each column to fill the column of the aggregate's input, or -1 for one that the engine adds.
	to, from []int
}

// lateColumns finds the table of a LATE_ROWS hint and the input's columns that it declares. column gives the place of an expression below the aggregate.
func (g *groupBinder) lateColumns(column func(logical.Expr) int) (*lateTable, error) {
	h := g.sb.late
	if h == nil {
		return nil, nil
	}
	arg := &h.Args[0]
	name := &ast.ObjectName{Span: arg.Span}
	for _, p := range strings.Split(arg.Key, ".") {
		name.Parts = append(name.Parts, ast.Ident{Span: arg.Span, Name: p})
	}
	o, err := g.sb.b.lookup(name)
	if err != nil {
		return nil, err
	}
	t, ok := o.(*catalog.Table)
	if !ok {
		return nil, logical.Errorf(arg, logical.CodeNoSource, "name a table", "'%s' is a view: late rows go into a table", arg.Key)
	}
	l := &lateTable{hint: h, table: t}
	added := logical.LateColumns(3)
	origin := logical.OriginOf(g.sb.rel.node)
	for _, c := range t.SinkColumns() {
		col := t.Columns[c].Name
		if added.Index(col) >= 0 {
			l.to, l.from = append(l.to, c), append(l.from, -1)
			continue
		}
		at := -1
		for i, have := range g.sb.rel.cols {
			if have.name != col {
				continue
			}
			if at >= 0 {
				return nil, logical.Errorf(arg, logical.CodeAmbiguous, "", "table %s keeps late rows and declares '%s', which is two columns of the input", shortName(t), col)
			}
			at = i
		}
		if at >= 0 && origin != nil && (origin.Start[at] || origin.End[at] || origin.Time[at]) {
			return nil, logical.Errorf(arg, logical.CodeUnknownColumn, "declare late_window_end TIMESTAMP(3): the end of the row's last window",
				"table %s keeps late rows and declares '%s', which belongs to a window and not to a row", shortName(t), col)
		}
		if at < 0 {
			names := added.Names()
			for i, have := range g.sb.rel.cols {
				if origin == nil || !origin.Start[i] && !origin.End[i] && !origin.Time[i] {
					names = append(names, have.name)
				}
			}
			return nil, logical.Errorf(arg, logical.CodeUnknownColumn, columnHint(col, names), "table %s keeps late rows and declares '%s', which a late row does not have",
				shortName(t), col)
		}
		have := g.sb.rel.cols[at]
		l.to, l.from = append(l.to, c), append(l.from, column(&logical.Column{Index: at, Name: have.name, Type: have.typ}))
	}
	return l, nil
}

// lateRows makes the sink of a LATE_ROWS hint.
func (g *groupBinder) lateRows(a *logical.Aggregate, l *lateTable) (*logical.Late, error) {
	switch {
	case a.Window == nil:
		return nil, logical.Errorf(l.hint, logical.CodeHint, lateHint, "the hint LATE_ROWS needs an aggregate over windows: %s knows no late rows", a.Clause)
	case a.Window.Proctime:
		return nil, logical.Errorf(l.hint, logical.CodeHint, "", "the hint LATE_ROWS is of no use here: no row is late for windows of processing time")
	}
	late, in := &logical.Late{Rows: &logical.LateRows{}, Pos: g.sb.b.pos(&l.hint.Args[0])}, a.In.Schema()
	at := map[int]int{}
	for _, k := range l.from {
		if _, known := at[k]; k < 0 || known {
			continue
		}
		at[k] = len(late.Columns)
		late.Columns = append(late.Columns, k)
		late.Rows.Columns = append(late.Rows.Columns, types.Column{Name: in[k].Name, Type: in[k].Type.WithAttr(types.NoTimeAttr)})
	}
	added := logical.LateColumns(a.Window.Precision)
	first := len(late.Columns)
	late.Rows.Columns = append(late.Rows.Columns, added...)
	fill := map[int]logical.Expr{}
	for i, c := range l.to {
		k := l.from[i]
		if k >= 0 {
			k = at[k]
		} else {
			name := l.table.Columns[c].Name
			k = first + added.Index(name)
			late.Kind = late.Kind || name == logical.LateKind
		}
		x, err := g.sb.b.keep(&l.hint.Args[0], l.table, c, logical.NewColumn(late.Rows.Columns, k), "late rows")
		if err != nil {
			return nil, err
		}
		fill[c] = x
	}
	var err error
	late.Sink, err = g.sb.b.sink(&l.hint.Args[0], l.table, l.table.Options, late.Rows, fill)
	return late, err
}
