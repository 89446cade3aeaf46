package bind

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// Advise is what ADVISE WATERMARK reads.
type Advise struct {
	// Node gives the event times. Its scan has the event time itself as watermark; rows without one are kept.
	Node logical.Node
	// Column is the event time column, Type its type; Table is the table's name as the user writes it.
	Column, Table string
	Type          types.Type
	// Limit is how many rows are read at most, 0 for all.
	Limit int64
}

// Advise binds ADVISE WATERMARK FOR t [(ts)] [LIMIT n].
func (b *Binder) Advise(s *ast.AdviseWatermark) (*Advise, error) {
	var t *catalog.Table
	at := ast.Node(&s.Table)
	out := &Advise{}
	if s.File != nil {
		at = s.File
		var err error
		if t, err = b.FileTable(s.File, s.Hints); err != nil {
			return nil, err
		}
	} else {
		o, err := b.lookup(&s.Table)
		if err != nil {
			return nil, err
		}
		found, ok := o.(*catalog.Table)
		if !ok {
			return nil, logical.Errorf(&s.Table, logical.CodeTable, "name the table that it reads", "'%s' is a view: a watermark belongs to a table", s.Table.String())
		}
		t = found
	}
	column, err := adviseColumn(s, at, t)
	if err != nil {
		return nil, err
	}
	if s.Limit != nil {
		n, err := strconv.ParseInt(s.Limit.Value, 10, 64)
		if err != nil || n < 1 {
			return nil, logical.Errorf(s.Limit, logical.CodeConstant, "", "LIMIT is the number of rows to read: at least 1, not %s", s.Limit.Text)
		}
		out.Limit = n
	}
	options := t.Options
	if s.File == nil {
		if options, err = b.tableHints(t, s.Hints); err != nil {
			return nil, err
		}
	}
	// Nothing that the declaration says of time counts: what is asked is how late rows are. Nothing is written: bad records are counted.
	skipBad := slices.ContainsFunc(options, func(o catalog.Option) bool { return o.Key == badTableOption })
	options = slices.DeleteFunc(slices.Clone(options), func(o catalog.Option) bool {
		return strings.HasPrefix(o.Key, "scan.watermark.") || o.Key == badTableOption
	})
	own := *t
	own.Columns = slices.Clone(t.Columns)
	for i := range own.Columns {
		if own.Columns[i].Type.Attr == types.Rowtime {
			own.Columns[i].Type.Attr = types.NoTimeAttr
		}
	}
	c := &own.Columns[column]
	c.Type.Attr = types.Rowtime
	own.Watermark = &catalog.Watermark{Column: c.Name, Expr: &ast.Name{Parts: []ast.Ident{{Name: c.Name}}}}
	node, err := b.scan(at, &own, options)
	if err != nil {
		return nil, err
	}
	scan := node.(*logical.Scan)
	scan.SkipBad = skipBad
	scan.Watermark.Options = map[string]string{"scan.watermark.null-rows": "keep"}
	if !scan.Handle.Bounded() && out.Limit == 0 {
		return nil, logical.Errorf(at, logical.CodeStatement, "write LIMIT 100000 behind it, or let the connector end ('scan.bounded.mode' in an OPTIONS hint, where it has that)",
			"table %s is unbounded: ADVISE WATERMARK would read it for ever", shortName(t))
	}
	out.Column, out.Type, out.Table = c.Name, c.Type, shortName(t)
	out.Node = &logical.Project{In: scan, Exprs: []logical.Expr{logical.NewColumn(scan.Schema(), column)}, Names: []string{c.Name}}
	return out, nil
}

// adviseColumn finds the event time column: the one that is named, that of the declaration, or the only one that can be it.
func adviseColumn(s *ast.AdviseWatermark, at ast.Node, t *catalog.Table) (int, error) {
	fits := func(y types.Type) bool { return y.IsTimestamp() && y.Precision <= 6 && y.Attr != types.Proctime }
	if s.Column != nil {
		i := t.Index(s.Column.Name)
		if i < 0 {
			names := make([]string, len(t.Columns))
			for k, c := range t.Columns {
				names[k] = c.Name
			}
			return 0, logical.Errorf(s.Column, logical.CodeUnknownColumn, columnHint(s.Column.Name, names), "table %s has no column '%s'", shortName(t), s.Column.Name)
		}
		if y := t.Columns[i].Type; !fits(y) {
			hint := "declare a computed column: ts AS TO_TIMESTAMP(" + s.Column.Name + "), or TO_TIMESTAMP_LTZ for numbers, and name that"
			if y.IsTimestamp() {
				hint = "declare ts AS CAST(" + s.Column.Name + " AS TIMESTAMP(6)), and name that"
			}
			return 0, logical.Errorf(s.Column, logical.CodeTimeAttr, hint, "column '%s' is %s: an event time is TIMESTAMP or TIMESTAMP_LTZ of at most 6 digits", s.Column.Name,
				y.WithAttr(types.NoTimeAttr).WithNull(true))
		}
		return i, nil
	}
	if t.Watermark != nil {
		return t.Index(t.Watermark.Column), nil
	}
	var found []string
	for _, c := range t.Columns {
		if fits(c.Type) {
			found = append(found, c.Name)
		}
	}
	name := shortName(t)
	switch len(found) {
	case 0:
		return 0, logical.Errorf(at, logical.CodeTimeAttr, "declare a computed column, ts AS TO_TIMESTAMP(...), and name it: ADVISE WATERMARK FOR "+name+" (ts)",
			"table %s declares no WATERMARK and has no column of type TIMESTAMP or TIMESTAMP_LTZ (of at most 6 digits)", name)
	case 1:
		return t.Index(found[0]), nil
	}
	return 0, logical.Errorf(at, logical.CodeTimeAttr, "ADVISE WATERMARK FOR "+name+" ("+found[0]+")", "table %s declares no WATERMARK: name the event time column, one of %s", name,
		strings.Join(found, ", "))
}
