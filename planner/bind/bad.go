package bind

import (
	"slices"
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// badRecords makes the sink of 'bad-records.table' for a scan of table of; n is the place of the scan.
func (b *Binder) badRecords(n ast.Node, of *catalog.Table, target string) (*logical.Bad, error) {
	name := &ast.ObjectName{}
	if n != nil {
		name.Span = ast.Span{Start: n.Pos(), Stop: n.End()}
	}
	for _, p := range strings.Split(target, ".") {
		name.Parts = append(name.Parts, ast.Ident{Span: name.Span, Name: p})
	}
	o, err := b.lookup(name)
	if err != nil {
		return nil, within(n, "'bad-records.table' of "+shortName(of), err)
	}
	t, ok := o.(*catalog.Table)
	if !ok {
		return nil, logical.Errorf(n, logical.CodeNoSource, "name a table", "'bad-records.table' of %s: '%s' is a view", shortName(of), target)
	}
	if t.Path == of.Path {
		return nil, logical.Errorf(n, logical.CodeOption, "name another table", "'bad-records.table' of %s is the table itself", shortName(of))
	}
	bad := &logical.Bad{Rows: &logical.BadRecords{Columns: slices.Clone(logical.BadColumns)}}
	fill := map[int]logical.Expr{}
	for _, c := range t.SinkColumns() {
		col := t.Columns[c]
		k := logical.BadColumns.Index(col.Name)
		if k < 0 {
			return nil, logical.Errorf(n, logical.CodeUnknownColumn, columnHint(col.Name, logical.BadColumns.Names()),
				"table %s keeps bad records of %s and declares '%s', which a bad record does not have", shortName(t), shortName(of), col.Name)
		}
		if k == 0 && col.Type.IsText() {
			bad.Rows.Columns[0].Type = types.StringType.NotNull()
		}
		if fill[c], err = b.keep(n, t, c, logical.NewColumn(bad.Rows.Columns, k), "bad records of "+shortName(of)); err != nil {
			return nil, err
		}
	}
	bad.Sink, err = b.sink(n, t, t.Options, bad.Rows, fill)
	return bad, err
}
