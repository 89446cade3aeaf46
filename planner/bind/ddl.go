package bind

import (
	"slices"
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// CreateView binds a view's query.
func (b *Binder) CreateView(s *ast.CreateView) (*catalog.View, error) {
	p, err := catalog.Qualify(s.Name.Strings(), b.catalog, b.database)
	if err != nil {
		return nil, catalogError(&s.Name, err)
	}
	v := &catalog.View{Path: p, Temporary: s.Temporary}
	if s.Comment != nil {
		v.Comment = s.Comment.Value
	}
	return v, b.viewQuery(v, s.Query, s.QueryText, s.Columns, &s.Name)
}

func (b *Binder) viewQuery(v *catalog.View, q *ast.Query, text string, columns []ast.Ident, n ast.Node) error {
	b.views = append(b.views, v.Path) // a view may not refer to itself
	defer func() { b.views = b.views[:len(b.views)-1] }()
	r, err := b.query(q)
	if err != nil {
		return err
	}
	v.Schema, v.Query, v.Text = r.schema(), q, text
	v.Catalog, v.Database = b.catalog, b.database
	if len(columns) > 0 {
		if len(columns) != len(v.Schema) {
			return logical.Errorf(n, logical.CodeColumnCount, "", "the query has %s for %s", types.Count(len(v.Schema), "column"), types.Count(len(columns), "name"))
		}
		for i, c := range columns {
			if j := slices.IndexFunc(columns[:i], func(o ast.Ident) bool { return o.Name == c.Name }); j >= 0 {
				return logical.Errorf(&columns[i], logical.CodeDuplicateName, "", "column name '%s' is there twice", c.Name)
			}
			v.Schema[i].Name = c.Name
		}
		return nil
	}
	for i, c := range v.Schema {
		if v.Schema[:i].Index(c.Name) >= 0 {
			return logical.Errorf(n, logical.CodeDuplicateName, "give one of them an alias", "the query has two columns '%s'", c.Name)
		}
	}
	return nil
}

// Lookup finds a table or view by name.
func (b *Binder) Lookup(n *ast.ObjectName) (catalog.Object, error) { return b.lookup(n) }

// AlterView binds ALTER VIEW .. AS and RENAME TO.
func (b *Binder) AlterView(s *ast.Alter, v *catalog.View) (*catalog.View, error) {
	c := *v
	switch a := s.Action.(type) {
	case *ast.RenameTo:
		p, err := renamed(&a.Name, v.Path)
		if err != nil {
			return nil, err
		}
		c.Path = p
		return &c, nil
	case *ast.AlterQuery:
		return &c, b.viewQuery(&c, a.Query, a.QueryText, nil, s.Action)
	}
	return nil, unsupported(s.Action, featAlter)
}

// renamed is the path behind RENAME TO: the same catalog and database.
func renamed(n *ast.ObjectName, old catalog.Path) (catalog.Path, error) {
	p, err := catalog.Qualify(n.Strings(), old.Catalog, old.Database)
	if err != nil {
		return p, catalogError(n, err)
	}
	if p.Catalog != old.Catalog || p.Database != old.Database {
		return p, logical.Errorf(n, logical.CodeTable, "", "RENAME TO cannot move to another database")
	}
	return p, nil
}

// AlterTable makes the changed copy of a table.
func (b *Binder) AlterTable(s *ast.Alter, t *catalog.Table) (*catalog.Table, error) {
	c := *t
	c.Columns, c.Options = slices.Clone(t.Columns), slices.Clone(t.Options)
	d := &declaration{b: b, t: &c}
	d.options(nil)
	switch a := s.Action.(type) {
	case *ast.RenameTo:
		p, err := renamed(&a.Name, t.Path)
		c.Path = p
		return &c, err
	case *ast.SetOptions:
		for _, o := range a.Options {
			if o.Key.Value == "connector" {
				return nil, logical.Errorf(&o, logical.CodeOption, "create another table", "the connector of a table cannot be changed")
			}
			if _, _, err := splitOptions(&o, []catalog.Option{{Key: o.Key.Value, Value: o.Value.Value}}); err != nil {
				return nil, err
			}
			c.Options = setOption(c.Options, o.Key.Value, o.Value.Value)
		}
		return &c, nil
	case *ast.ResetOptions:
		for i := range a.Keys {
			k := a.Keys[i].Value
			if k == "connector" {
				return nil, logical.Errorf(&a.Keys[i], logical.CodeOption, "", "the connector of a table cannot be taken away")
			}
			c.Options = slices.DeleteFunc(c.Options, func(o catalog.Option) bool { return o.Key == k })
		}
		return &c, nil
	case *ast.AddPartitions, *ast.DropPartitions:
		return nil, unsupported(s.Action, featPartitions)
	}
	if t.Connector() == "memory" {
		switch a := s.Action.(type) {
		case *ast.AddElements:
			if len(a.Columns) > 0 {
				return nil, unsupported(a, Feature{featAlter.Code, "changing the columns of a table in memory", "create another table and INSERT INTO it"})
			}
		case *ast.RenameColumn:
			return nil, unsupported(a, Feature{featAlter.Code, "changing the columns of a table in memory", "create another table and INSERT INTO it"})
		case *ast.DropElements:
			if a.What == "COLUMN" {
				return nil, unsupported(a, Feature{featAlter.Code, "changing the columns of a table in memory", "create another table and INSERT INTO it"})
			}
		}
	}
	var err error
	switch a := s.Action.(type) {
	case *ast.RenameColumn:
		err = d.renameColumn(a)
	case *ast.AddElements:
		err = d.addElements(a)
	case *ast.DropElements:
		err = d.dropElements(a)
	default:
		return nil, unsupported(s.Action, featAlter)
	}
	if err != nil {
		return nil, err
	}
	return &c, d.finish(s.Action)
}

// usedBy names what refers to a column: a computed column, the watermark, a key.
func (d *declaration) usedBy(name string) string {
	uses := func(e ast.Expr) bool {
		found := false
		ast.Walk(e, func(n ast.Node) bool {
			if x, ok := n.(*ast.Name); ok && x.Parts[0].Name == name {
				found = true
			}
			return !found
		})
		return found
	}
	for _, c := range d.t.Columns {
		if c.Kind == catalog.Computed && uses(c.Expr) {
			return "the computed column '" + c.Name + "'"
		}
	}
	if w := d.t.Watermark; w != nil && (w.Column == name || !w.Source && uses(w.Expr)) {
		return "the WATERMARK"
	}
	if slices.Contains(d.t.PrimaryKey, name) {
		return "the PRIMARY KEY"
	}
	if slices.Contains(d.t.PartitionBy, name) {
		return "PARTITIONED BY"
	}
	return ""
}

func (d *declaration) find(n *ast.ObjectName) (int, error) {
	if len(n.Parts) > 1 {
		return 0, unsupported(n, featNestedColumn)
	}
	i := d.t.Index(n.Last())
	if i < 0 {
		return 0, logical.Errorf(n, logical.CodeUnknownColumn, columnHint(n.Last(), d.t.Schema().Names()), "column '%s' does not exist in table %s", n.Last(), shortName(d.t))
	}
	return i, nil
}

func (d *declaration) renameColumn(a *ast.RenameColumn) error {
	i, err := d.find(&a.Column)
	if err != nil {
		return err
	}
	to := a.To.Last()
	if len(a.To.Parts) > 1 {
		return unsupported(&a.To, featNestedColumn)
	}
	if d.t.Index(to) >= 0 {
		return logical.Errorf(&a.To, logical.CodeDuplicateName, "", "column '%s' exists already", to)
	}
	old := d.t.Columns[i].Name
	replace := func(list []string) []string {
		out := slices.Clone(list)
		for k := range out {
			if out[k] == old {
				out[k] = to
			}
		}
		return out
	}
	d.t.PrimaryKey, d.t.PartitionBy = replace(d.t.PrimaryKey), replace(d.t.PartitionBy)
	if u := d.usedBy(old); u != "" && u != "the PRIMARY KEY" && u != "PARTITIONED BY" {
		return logical.Errorf(&a.Column, logical.CodeTable, "drop that first", "column '%s' is used by %s", old, u)
	}
	d.t.Columns[i].Name = to
	return nil
}

func (d *declaration) addElements(a *ast.AddElements) error {
	if a.Distribution != nil {
		return unsupported(a.Distribution, featDistribution)
	}
	for _, def := range a.Columns {
		col, err := d.column(def)
		if err != nil {
			return err
		}
		i := d.t.Index(col.Name)
		switch {
		case a.Modify && i < 0:
			return logical.Errorf(def, logical.CodeUnknownColumn, columnHint(col.Name, d.t.Schema().Names()), "column '%s' does not exist in table %s", col.Name, shortName(d.t))
		case !a.Modify && i >= 0:
			return logical.Errorf(def, logical.CodeDuplicateName, "", "column '%s' exists already", col.Name)
		}
		at := len(d.t.Columns)
		if a.Modify {
			at = i
			d.t.Columns = slices.Delete(d.t.Columns, i, i+1)
		}
		switch def.Position {
		case "FIRST":
			at = 0
		case "AFTER":
			if at, err = d.find(def.After); err != nil {
				return err
			}
			at++
		}
		d.t.Columns = slices.Insert(d.t.Columns, at, col)
	}
	if a.Watermark != nil {
		if !a.Modify && d.t.Watermark != nil {
			return logical.Errorf(a.Watermark, logical.CodeTable, "write MODIFY", "table %s has a WATERMARK already", shortName(d.t))
		}
		if a.Modify && d.t.Watermark == nil {
			return logical.Errorf(a.Watermark, logical.CodeNoSuch, "write ADD", "table %s has no WATERMARK", shortName(d.t))
		}
		d.clearAttr()
		if err := d.watermark(a.Watermark); err != nil {
			return err
		}
	}
	if a.PrimaryKey != nil {
		if !a.Modify && len(d.t.PrimaryKey) > 0 {
			return logical.Errorf(a.PrimaryKey, logical.CodeTable, "write MODIFY", "table %s has a PRIMARY KEY already", shortName(d.t))
		}
		if a.Modify && len(d.t.PrimaryKey) == 0 {
			return logical.Errorf(a.PrimaryKey, logical.CodeNoSuch, "write ADD", "table %s has no PRIMARY KEY", shortName(d.t))
		}
		return d.primaryKey(a.PrimaryKey)
	}
	return nil
}

// clearAttr takes the rowtime attribute from the columns.
func (d *declaration) clearAttr() {
	for i := range d.t.Columns {
		if d.t.Columns[i].Type.Attr == types.Rowtime {
			d.t.Columns[i].Type.Attr = types.NoTimeAttr
		}
	}
}

func (d *declaration) dropElements(a *ast.DropElements) error {
	t := d.t
	switch a.What {
	case "COLUMN":
		for i := range a.Columns {
			k, err := d.find(&a.Columns[i])
			if err != nil {
				return err
			}
			name := t.Columns[k].Name
			saved := t.Columns[k]
			t.Columns = slices.Delete(t.Columns, k, k+1)
			if u := d.usedBy(name); u != "" {
				return logical.Errorf(&a.Columns[i], logical.CodeTable, "drop that first", "column '%s' is used by %s", saved.Name, u)
			}
		}
		if len(t.PhysicalSchema()) == 0 {
			return logical.Errorf(a, logical.CodeTable, "", "a table needs a column")
		}
	case "WATERMARK":
		if t.Watermark == nil {
			return logical.Errorf(a, logical.CodeNoSuch, "", "table %s has no WATERMARK", shortName(t))
		}
		t.Watermark = nil
		d.clearAttr()
	case "PRIMARY KEY":
		if len(t.PrimaryKey) == 0 {
			return logical.Errorf(a, logical.CodeNoSuch, "", "table %s has no PRIMARY KEY", shortName(t))
		}
		t.PrimaryKey, t.KeyName = nil, ""
	case "CONSTRAINT":
		if len(t.PrimaryKey) == 0 || a.Name == nil || t.KeyName != a.Name.Name && keyName(t) != a.Name.Name {
			return logical.Errorf(a, logical.CodeNoSuch, "", "table %s has no such constraint", shortName(t))
		}
		t.PrimaryKey, t.KeyName = nil, ""
	default:
		return unsupported(a, Feature{featAlter.Code, "ALTER TABLE DROP " + a.What, ""})
	}
	return nil
}

// keyName is the name of a primary key that was given none.
func keyName(t *catalog.Table) string {
	if t.KeyName != "" {
		return t.KeyName
	}
	return "PK_" + strings.Join(t.PrimaryKey, "_")
}
