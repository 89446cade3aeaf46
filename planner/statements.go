package planner

import (
	"fmt"
	"sort"
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/bind"
	"github.com/weir-sql/weir/planner/explain"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// other carries out statements about the catalog, and EXPLAIN.
func (p *planning) other(stmt ast.Statement) (*Result, error) {
	cat := p.env.Catalogs
	done := func(n ast.Node, err error) (*Result, error) { return &Result{}, bind.CatalogError(n, err) }
	switch s := stmt.(type) {
	case *ast.Explain:
		return p.explain(s)
	case *ast.AdviseWatermark:
		return p.advise(s)
	case *ast.CreateView:
		v, err := p.b.CreateView(s)
		if err != nil {
			return nil, err
		}
		if s.OrReplace {
			return done(&s.Name, cat.PutView(v))
		}
		_, err = cat.Put(v, s.IfNotExists)
		return done(&s.Name, err)
	case *ast.CreateCatalog:
		options := optionList(s.Options)
		kind := ""
		for _, o := range options {
			if o.Key == "type" {
				kind = o.Value
			}
		}
		if kind != "generic_in_memory" {
			return nil, bind.UnsupportedCatalog(s, kind)
		}
		return done(&s.Name, cat.CreateCatalog(s.Name.Name, commentOf(s.Comment), options, s.IfNotExists))
	case *ast.CreateDatabase:
		return done(&s.Name, cat.CreateDatabase(s.Name.Strings(), commentOf(s.Comment), optionList(s.Options), s.IfNotExists))
	case *ast.Use:
		switch s.Kind {
		case ast.UseCatalog:
			return done(&s.Name, cat.UseCatalog(s.Name.String()))
		case ast.UseDatabase:
			return done(&s.Name, cat.UseDatabase(s.Name.Strings()))
		}
	case *ast.Drop:
		return p.drop(s)
	case *ast.Alter:
		return p.alter(s)
	case *ast.Show:
		return p.show(s)
	case *ast.Describe:
		return p.describe(s)
	}
	return nil, bind.UnsupportedStatement(stmt)
}

func optionList(options []ast.Option) []catalog.Option {
	var out []catalog.Option
	for _, o := range options {
		out = append(out, catalog.Option{Key: o.Key.Value, Value: o.Value.Value})
	}
	return out
}

func commentOf(c *ast.StringLit) string {
	if c == nil {
		return ""
	}
	return c.Value
}

func (p *planning) drop(s *ast.Drop) (*Result, error) {
	cat := p.env.Catalogs
	var gone []catalog.Object
	var err error
	switch s.Kind {
	case ast.TableObject, ast.ViewObject:
		path, qerr := cat.Qualify(s.Name.Strings())
		if qerr != nil {
			return nil, bind.CatalogError(&s.Name, qerr)
		}
		var o catalog.Object
		o, err = cat.Drop(path, s.Kind == ast.ViewObject, s.Temporary, s.IfExists)
		gone = []catalog.Object{o}
	case ast.DatabaseObject:
		gone, err = cat.DropDatabase(s.Name.Strings(), s.IfExists, s.Behavior == "CASCADE")
	case ast.CatalogObject:
		gone, err = cat.DropCatalog(s.Name.String(), s.IfExists)
	default:
		return nil, bind.UnsupportedStatement(s)
	}
	if err != nil {
		return nil, bind.CatalogError(&s.Name, err)
	}
	r := &Result{}
	for _, o := range gone {
		if t, ok := o.(*catalog.Table); ok && t != nil {
			r.Dropped = append(r.Dropped, t.ID)
		}
	}
	return r, nil
}

func (p *planning) alter(s *ast.Alter) (*Result, error) {
	if s.Kind != ast.TableObject && s.Kind != ast.ViewObject {
		return nil, bind.UnsupportedStatement(s)
	}
	o, err := p.b.Lookup(&s.Name)
	if err != nil {
		if s.IfExists {
			return &Result{}, nil
		}
		return nil, err
	}
	var changed catalog.Object
	switch o := o.(type) {
	case *catalog.Table:
		if s.Kind == ast.ViewObject {
			return nil, logical.Errorf(&s.Name, logical.CodeTable, "write ALTER TABLE", "'%s' is a table", s.Name.String())
		}
		changed, err = p.b.AlterTable(s, o)
	case *catalog.View:
		if s.Kind == ast.TableObject {
			return nil, logical.Errorf(&s.Name, logical.CodeTable, "write ALTER VIEW", "'%s' is a view", s.Name.String())
		}
		changed, err = p.b.AlterView(s, o)
	}
	if err != nil {
		return nil, err
	}
	return &Result{}, bind.CatalogError(&s.Name, p.env.Catalogs.Replace(o, changed))
}

// object finds what SHOW CREATE and DESCRIBE are about.
func (p *planning) object(name *ast.ObjectName, file *ast.StringLit) (catalog.Object, error) {
	if file != nil {
		return p.b.FileTable(file, nil)
	}
	return p.b.Lookup(name)
}

func (p *planning) describe(s *ast.Describe) (*Result, error) {
	switch s.Kind {
	case ast.DescribeTable:
		o, err := p.object(&s.Name, s.File)
		if err != nil {
			return nil, err
		}
		return &Result{Rows: bind.Describe(o)}, nil
	case ast.DescribeCatalog:
		comment, options, err := p.env.Catalogs.DescribeCatalog(s.Name.String())
		if err != nil {
			return nil, bind.CatalogError(&s.Name, err)
		}
		r := &Rows{Columns: types.Schema{{Name: "info name", Type: types.StringType}, {Name: "info value", Type: types.StringType}}}
		add := func(k, v string) { r.Values = append(r.Values, []any{k, v}) }
		add("name", s.Name.String())
		kind := "generic_in_memory"
		add("type", kind)
		add("comment", comment)
		if s.Extended {
			for _, o := range options {
				add("option:"+o.Key, bind.ShownValue(o.Key, o.Value))
			}
		}
		return &Result{Rows: r}, nil
	case ast.DescribeFunction:
		name := s.Name.String()
		f := p.env.Scalar(name)
		if f == nil {
			f = catalog.LookupFunction(name, catalog.Aggregate)
		}
		if f == nil {
			return nil, logical.Errorf(&s.Name, logical.CodeUnknownFunction, "SHOW FUNCTIONS lists what there is", "function %s does not exist", strings.ToUpper(name))
		}
		r := &Rows{Columns: types.Schema{{Name: "info name", Type: types.StringType}, {Name: "info value", Type: types.StringType}}}
		r.Values = [][]any{{"name", f.Name}, {"kind", map[catalog.FunctionKind]string{catalog.Scalar: "SCALAR", catalog.Aggregate: "AGGREGATE"}[f.Kind]},
			{"syntax", f.Syntax}, {"description", f.Doc}}
		return &Result{Rows: r}, nil
	}
	return nil, bind.UnsupportedStatement(s)
}

func (p *planning) show(s *ast.Show) (*Result, error) {
	cat := p.env.Catalogs
	list := func(column string, names []string) (*Result, error) {
		if s.Like != nil {
			var kept []string
			for _, n := range names {
				if bind.Matches(n, s.Like.Value, s.LikeOp == "ILIKE") != s.Not {
					kept = append(kept, n)
				}
			}
			names = kept
		}
		return &Result{Rows: bind.List(column, names)}, nil
	}
	switch s.Kind {
	case ast.ShowCatalogs:
		return list("catalog name", cat.ListCatalogs())
	case ast.ShowCurrentCatalog:
		c, _ := cat.Current()
		return list("current catalog name", []string{c})
	case ast.ShowCurrentDatabase:
		_, d := cat.Current()
		return list("current database name", []string{d})
	case ast.ShowDatabases:
		in := ""
		if s.In != nil {
			in = s.In.String()
		}
		names, err := cat.ListDatabases(in)
		if err != nil {
			return nil, bind.CatalogError(s.In, err)
		}
		return list("database name", names)
	case ast.ShowTables, ast.ShowViews:
		var parts []string
		var n ast.Node = s
		if s.In != nil {
			parts, n = s.In.Strings(), s.In
		}
		objects, err := cat.List(parts...)
		if err != nil {
			return nil, bind.CatalogError(n, err)
		}
		var names []string
		for _, o := range objects {
			switch o := o.(type) {
			case *catalog.Table:
				if s.Kind == ast.ShowTables {
					names = append(names, o.Path.Name)
				}
			case *catalog.View: // SHOW TABLES lists views too, as Flink's does
				names = append(names, o.Path.Name)
			}
		}
		return list(map[ast.ShowKind]string{ast.ShowTables: "table name", ast.ShowViews: "view name"}[s.Kind], names)
	case ast.ShowFunctions:
		seen := map[string]bool{}
		var names []string
		for _, f := range catalog.Functions() {
			if !seen[f.Name] {
				seen[f.Name] = true
				names = append(names, f.Name)
			}
		}
		names = append(names, p.env.UserFunctions()...)
		sort.Strings(names)
		return list("function name", names)
	case ast.ShowUserFunctions:
		return list("function name", p.env.UserFunctions())
	case ast.ShowColumns:
		o, err := p.object(s.Name, s.File)
		if err != nil {
			return nil, err
		}
		r := bind.Describe(o)
		r.Columns[0].Name = "field"
		if s.Like != nil {
			kept := [][]any{}
			for _, row := range r.Values {
				if bind.Matches(fmt.Sprint(row[0]), s.Like.Value, s.LikeOp == "ILIKE") != s.Not {
					kept = append(kept, row)
				}
			}
			r.Values = kept
		}
		return &Result{Rows: r}, nil
	case ast.ShowCreateTable, ast.ShowCreateView:
		o, err := p.object(s.Name, s.File)
		if err != nil {
			return nil, err
		}
		_, view := o.(*catalog.View)
		if view != (s.Kind == ast.ShowCreateView) {
			kind := map[bool]string{true: "view", false: "table"}[view]
			return nil, logical.Errorf(s.Name, logical.CodeTable, "write SHOW CREATE "+strings.ToUpper(kind), "'%s' is a %s", s.Name.String(), kind)
		}
		return &Result{Rows: bind.List("result", []string{bind.ShowCreate(o)})}, nil
	case ast.ShowCreateCatalog:
		_, options, err := cat.DescribeCatalog(s.Name.String())
		if err != nil {
			return nil, bind.CatalogError(s.Name, err)
		}
		text := "CREATE CATALOG `" + s.Name.String() + "`"
		var with []string
		for _, o := range options {
			with = append(with, fmt.Sprintf("  '%s' = '%s'", o.Key, bind.ShownValue(o.Key, o.Value)))
		}
		if with == nil {
			with = []string{"  'type' = 'generic_in_memory'"}
		}
		return &Result{Rows: bind.List("result", []string{text + " WITH (\n" + strings.Join(with, ",\n") + "\n)"})}, nil
	}
	return nil, bind.UnsupportedStatement(s)
}

// explain plans the statement inside and prints the plans.
func (p *planning) explain(s *ast.Explain) (*Result, error) {
	if s.Kind != ast.ExplainPlan && s.Kind != ast.ExplainWatermark {
		return nil, bind.UnsupportedStatement(s)
	}
	var r *Result
	var err error
	if c, ok := s.Statement.(*ast.CreateTable); ok {
		if c.As == nil {
			return nil, logical.Errorf(c, logical.CodeStatement, "", "EXPLAIN takes a query, an INSERT, a statement set or CREATE TABLE .. AS")
		}
		r, err = p.explainCreate(c)
	} else {
		r, err = p.statement(s.Statement)
	}
	if err != nil {
		return nil, err
	}
	if r.Plan == nil {
		return nil, logical.Errorf(s.Statement, logical.CodeStatement, "", "EXPLAIN takes a query, an INSERT, a statement set or CREATE TABLE .. AS")
	}
	if s.Kind == ast.ExplainWatermark {
		return &Result{Rows: bind.List("result", []string{explain.Watermark(r.Plan)}), Warnings: r.Warnings, Advice: r.Advice}, nil
	}
	var o explain.Options
	asJSON := false
	for _, d := range s.Details {
		switch d {
		case "CHANGELOG_MODE":
			o.ChangelogMode = true
		case "PLAN_ADVICE":
			o.Advice = true
		case "JSON_EXECUTION_PLAN":
			asJSON = true
		}
	}
	out := explain.Text(r.Logical, r.Plan, o)
	if asJSON {
		j, err := explain.JSON(r.Plan)
		if err != nil {
			return nil, err
		}
		out += "\n== Execution Plan ==\n" + string(j) + "\n"
	}
	return &Result{Rows: bind.List("result", []string{out}), Warnings: r.Warnings, Advice: r.Advice}, nil
}

// explainCreate plans CREATE TABLE .. AS without creating the table.
func (p *planning) explainCreate(s *ast.CreateTable) (*Result, error) {
	t, src, err := p.b.CreateTable(s)
	if err != nil {
		return nil, err
	}
	n, err := p.b.Fill(s, t, src)
	if err != nil {
		return nil, err
	}
	return p.finish([]logical.Node{n}, false)
}
