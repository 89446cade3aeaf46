package ast

import "strings"

func (p *printer) statement(s Statement) {
	switch s := s.(type) {
	case *QueryStatement:
		p.query(s.Query)
	case *Insert:
		p.insert(s)
	case *StatementSet:
		p.w("EXECUTE ")
		p.statementSet(s)
	case *Update:
		p.w("UPDATE ")
		p.name(s.Table)
		p.hints(s.Hints, " ", "")
		p.alias(s.Alias)
		p.w(" SET ")
		list(p, s.Set, func(a Assignment) {
			p.ident(a.Column)
			p.w(" = ")
			p.expr(a.Value, 0)
		})
		p.where(s.Where)
	case *Delete:
		p.w("DELETE FROM ")
		p.name(s.Table)
		p.hints(s.Hints, " ", "")
		p.alias(s.Alias)
		p.where(s.Where)
	case *Truncate:
		p.w("TRUNCATE TABLE ")
		p.name(s.Table)
	case *CallProcedure:
		p.w("CALL ")
		p.expr(s.Call, 0)
	case *Set:
		p.w("SET")
		if s.Key != nil {
			p.w(" ")
			p.str(s.Key.Value)
			p.w(" = ")
			p.str(s.Value.Value)
		}
	case *Reset:
		p.w("RESET")
		p.optional(" ", s.Key)
	case *Use:
		p.w("USE ")
		switch s.Kind {
		case UseCatalog:
			p.w("CATALOG ")
			p.name(s.Name)
		case UseModules:
			p.w("MODULES ")
			list(p, s.Modules, p.ident)
		default:
			p.name(s.Name)
		}
	case *Show:
		p.show(s)
	case *Describe:
		p.describe(s)
	case *Explain:
		p.explain(s)
	case *AdviseWatermark:
		p.w("ADVISE WATERMARK FOR ")
		p.tableOrFile(&s.Table, s.File)
		p.hints(s.Hints, " ", "")
		if s.Column != nil {
			p.w(" (")
			p.ident(*s.Column)
			p.w(")")
		}
		if s.Limit != nil {
			p.w(" LIMIT ")
			p.literal(s.Limit)
		}
	case *StopJob:
		p.w("STOP JOB ")
		p.str(s.Job.Value)
		p.flag(s.Savepoint, " WITH SAVEPOINT")
		p.flag(s.Drain, " WITH DRAIN")
	case *Plan:
		p.plan(s)
	case *AnalyzeTable:
		p.w("ANALYZE TABLE ")
		p.name(s.Table)
		p.partition(s.Partition)
		p.w(" COMPUTE STATISTICS")
		p.flag(s.AllColumns, " FOR ALL COLUMNS")
		if s.Columns != nil {
			p.w(" FOR COLUMNS ")
			list(p, s.Columns, p.ident)
		}
	case *Jar:
		if s.Remove {
			p.w("REMOVE JAR ")
		} else {
			p.w("ADD JAR ")
		}
		p.str(s.Path.Value)
	case *Module:
		p.flag(s.Unload, "UN")
		p.w("LOAD MODULE ")
		p.ident(s.Name)
		p.with(s.Options)
	case *Client:
		p.w(s.Command)
	case *CreateTable:
		p.createTable(s)
	case *CreateView:
		p.w("CREATE ")
		p.flag(s.OrReplace, "OR REPLACE ")
		p.flag(s.Temporary, "TEMPORARY ")
		p.w("VIEW ")
		p.flag(s.IfNotExists, "IF NOT EXISTS ")
		p.name(s.Name)
		if s.Columns != nil {
			p.w(" ")
			p.idents(s.Columns)
		}
		p.optional(" COMMENT ", s.Comment)
		p.w(" AS ")
		p.query(s.Query)
	case *CreateCatalog:
		p.w("CREATE CATALOG ")
		p.flag(s.IfNotExists, "IF NOT EXISTS ")
		p.ident(s.Name)
		p.optional(" COMMENT ", s.Comment)
		p.with(s.Options)
	case *CreateDatabase:
		p.w("CREATE DATABASE ")
		p.flag(s.IfNotExists, "IF NOT EXISTS ")
		p.name(s.Name)
		p.optional(" COMMENT ", s.Comment)
		p.with(s.Options)
	case *CreateFunction:
		p.createFunction(s)
	case *CreateModel:
		p.w("CREATE ")
		p.flag(s.Temporary, "TEMPORARY ")
		p.w("MODEL ")
		p.flag(s.IfNotExists, "IF NOT EXISTS ")
		p.name(s.Name)
		columns := func(word string, cs []*ColumnDef) {
			if cs != nil {
				p.w(" ", word, " (")
				list(p, cs, p.column)
				p.w(")")
			}
		}
		columns("INPUT", s.Input)
		columns("OUTPUT", s.Output)
		p.optional(" COMMENT ", s.Comment)
		p.with(s.Options)
		p.as(s.As)
	case *CreateMaterializedTable:
		p.createMaterializedTable(s)
	case *Drop:
		p.w("DROP ")
		p.flag(s.Temporary, "TEMPORARY ")
		p.flag(s.System, "SYSTEM ")
		p.w(string(s.Kind), " ")
		p.flag(s.IfExists, "IF EXISTS ")
		p.name(s.Name)
		p.flag(s.Behavior != "", " "+s.Behavior)
	case *Alter:
		p.w("ALTER ", string(s.Kind), " ")
		p.flag(s.IfExists, "IF EXISTS ")
		p.name(s.Name)
		p.w(" ")
		p.alterAction(s.Action)
	}
}

func (p *printer) where(x Expr) {
	if x != nil {
		p.w(" WHERE ")
		p.expr(x, 0)
	}
}

func (p *printer) optional(before string, s *StringLit) {
	if s != nil {
		p.w(before)
		p.str(s.Value)
	}
}

func (p *printer) as(q *Query) {
	if q != nil {
		p.w(" AS ")
		p.query(q)
	}
}

func (p *printer) tableOrFile(n *ObjectName, f *StringLit) {
	if f != nil {
		p.str(f.Value)
	} else if n != nil {
		p.name(*n)
	}
}

func (p *printer) insert(s *Insert) {
	p.w("INSERT ")
	if s.Overwrite {
		p.w("OVERWRITE ")
	} else {
		p.w("INTO ")
	}
	p.name(s.Target)
	p.hints(s.Hints, " ", "")
	p.partition(s.Partition)
	if s.Columns != nil {
		p.w(" (")
		list(p, s.Columns, p.name)
		p.w(")")
	}
	p.w(" ")
	p.query(s.Query)
	p.flag(s.OnConflict != "", " ON CONFLICT DO "+s.OnConflict)
}

func (p *printer) statementSet(s *StatementSet) {
	p.w("STATEMENT SET BEGIN ")
	for _, i := range s.Inserts {
		p.insert(i)
		p.w("; ")
	}
	p.w("END")
}

func (p *printer) partition(s *PartitionSpec) {
	if s == nil {
		return
	}
	p.w(" PARTITION (")
	list(p, s.Values, func(v PartitionValue) {
		p.ident(v.Column)
		if v.Value != nil {
			p.w(" = ")
			p.literal(v.Value)
		}
	})
	p.w(")")
}

func (p *printer) show(s *Show) {
	p.w("SHOW ", string(s.Kind))
	if s.Preposition != "" {
		p.w(" ", s.Preposition)
	}
	if s.Name != nil || s.File != nil {
		p.w(" ")
		p.tableOrFile(s.Name, s.File)
	}
	if s.In != nil {
		p.w(" ")
		p.name(*s.In)
	}
	p.partition(s.Partition)
	p.flag(s.Not, " NOT")
	if s.Like != nil {
		p.w(" ", s.LikeOp, " ")
		p.str(s.Like.Value)
	}
}

func (p *printer) describe(s *Describe) {
	p.w("DESCRIBE ")
	p.flag(s.Kind != DescribeTable, string(s.Kind)+" ")
	p.flag(s.Extended, "EXTENDED ")
	if s.Job != nil {
		p.str(s.Job.Value)
		return
	}
	p.tableOrFile(&s.Name, s.File)
}

func (p *printer) explain(s *Explain) {
	p.w("EXPLAIN ")
	p.flag(s.Kind != ExplainPlan, string(s.Kind)+" ")
	if s.Details != nil {
		p.w(strings.Join(s.Details, ", "), " ")
	}
	p.statement(s.Statement)
}

func (p *printer) plan(s *Plan) {
	switch {
	case !s.Compile:
		p.w("EXECUTE PLAN ")
		p.str(s.File.Value)
		return
	case s.Execute:
		p.w("COMPILE AND EXECUTE PLAN ")
	default:
		p.w("COMPILE PLAN ")
	}
	p.str(s.File.Value)
	p.flag(s.IfNotExists, " IF NOT EXISTS")
	p.w(" FOR ")
	if set, ok := s.Statement.(*StatementSet); ok {
		p.statementSet(set)
	} else {
		p.statement(s.Statement)
	}
}

func (p *printer) createFunction(s *CreateFunction) {
	if s.Alter {
		p.w("ALTER ")
	} else {
		p.w("CREATE ")
		p.flag(s.OrReplace, "OR REPLACE ")
	}
	p.flag(s.Temporary, "TEMPORARY ")
	p.flag(s.System, "SYSTEM ")
	p.w("FUNCTION ")
	if s.IfNotExists && s.Alter {
		p.w("IF EXISTS ")
	} else if s.IfNotExists {
		p.w("IF NOT EXISTS ")
	}
	p.name(s.Name)
	p.w(" AS ")
	p.str(s.Class.Value)
	p.flag(s.Language != "", " LANGUAGE "+s.Language)
	if s.Using != nil {
		p.w(" USING ")
		list(p, s.Using, func(r FunctionResource) {
			p.w(r.Kind, " ")
			p.str(r.URI.Value)
		})
	}
	p.with(s.Options)
}

// ---- tables

func (p *printer) option(o Option) {
	p.str(o.Key.Value)
	p.w(" = ")
	p.str(o.Value.Value)
}

func (p *printer) options(opts []Option) {
	p.w("(")
	list(p, opts, p.option)
	p.w(")")
}

func (p *printer) with(opts []Option) {
	if opts != nil {
		p.w(" WITH ")
		p.options(opts)
	}
}

// elements writes the parts of a table in parentheses, with sep before each.
func (p *printer) elements(cs []*ColumnDef, w *WatermarkDef, k *PrimaryKey, sep string) {
	n := 0
	next := func() {
		p.flag(n > 0, ",")
		p.flag(n > 0 || sep != " ", sep)
		n++
	}
	for _, c := range cs {
		next()
		p.column(c)
	}
	if w != nil {
		next()
		p.watermark(w)
	}
	if k != nil {
		next()
		p.primaryKey(k)
	}
}

func (p *printer) createTable(s *CreateTable) {
	switch {
	case s.Replace:
		p.w("REPLACE ")
	case s.OrReplace:
		p.w("CREATE OR REPLACE ")
	default:
		p.w("CREATE ")
	}
	p.flag(s.Temporary, "TEMPORARY ")
	p.w("TABLE ")
	p.flag(s.IfNotExists, "IF NOT EXISTS ")
	p.name(s.Name)
	if s.Columns != nil || s.Watermark != nil || s.PrimaryKey != nil {
		p.w(" (")
		p.elements(s.Columns, s.Watermark, s.PrimaryKey, "\n  ")
		p.w("\n)")
	}
	p.optional("\nCOMMENT ", s.Comment)
	if s.Distribution != nil {
		p.w("\nDISTRIBUTED")
		p.distribution(s.Distribution)
	}
	if s.PartitionedBy != nil {
		p.w("\nPARTITIONED BY ")
		p.idents(s.PartitionedBy)
	}
	if len(s.Options) > 0 {
		if s.Comment != nil || s.Distribution != nil || s.PartitionedBy != nil {
			p.w("\nWITH (")
		} else {
			p.w(" WITH (")
		}
		for i, o := range s.Options {
			p.flag(i > 0, ",")
			p.w("\n  ")
			p.option(o)
		}
		p.w("\n)")
	} else if s.Options != nil {
		p.w(" WITH ()")
	}
	if s.Like != nil {
		p.w("\nLIKE ")
		p.name(s.Like.Source)
		if s.Like.Options != nil {
			p.w(" (")
			for i, o := range s.Like.Options {
				p.flag(i > 0, " ")
				p.w(o.Mode, " ", o.Feature)
			}
			p.w(")")
		}
	}
	if s.As != nil {
		p.w("\nAS ")
		p.query(s.As)
	}
}

func (p *printer) createMaterializedTable(s *CreateMaterializedTable) {
	p.w("CREATE ")
	p.flag(s.OrAlter, "OR ALTER ")
	p.w("MATERIALIZED TABLE ")
	p.flag(s.IfNotExists, "IF NOT EXISTS ")
	p.name(s.Name)
	if s.Columns != nil || s.Watermark != nil || s.PrimaryKey != nil {
		p.w(" (")
		p.elements(s.Columns, s.Watermark, s.PrimaryKey, " ")
		p.w(")")
	}
	p.optional(" COMMENT ", s.Comment)
	if s.Distribution != nil {
		p.w(" DISTRIBUTED")
		p.distribution(s.Distribution)
	}
	if s.PartitionedBy != nil {
		p.w(" PARTITIONED BY ")
		p.idents(s.PartitionedBy)
	}
	p.with(s.Options)
	if s.Freshness != nil {
		p.w(" FRESHNESS = ")
		p.expr(s.Freshness, 0)
	}
	p.flag(s.RefreshMode != "", " REFRESH_MODE = "+s.RefreshMode)
	p.as(s.As)
}

func (p *printer) column(c *ColumnDef) {
	p.name(c.Name)
	switch c.Kind {
	case ComputedColumn:
		p.w(" AS ")
		p.expr(c.Expr, 0)
	case NamedColumn:
	default:
		p.w(" ")
		p.typeName(c.Type)
		p.flag(c.Kind == MetadataColumn, " METADATA")
		p.optional(" FROM ", c.MetadataKey)
		p.flag(c.Virtual, " VIRTUAL")
	}
	p.optional(" COMMENT ", c.Comment)
	p.flag(c.Position != "", " "+c.Position)
	if c.After != nil {
		p.w(" ")
		p.name(*c.After)
	}
}

func (p *printer) watermark(w *WatermarkDef) {
	p.w("WATERMARK FOR ")
	p.name(w.Column)
	p.w(" AS ")
	p.expr(w.Expr, 0)
}

func (p *printer) primaryKey(k *PrimaryKey) {
	if k.Name != nil {
		p.w("CONSTRAINT ")
		p.ident(*k.Name)
		p.w(" ")
	}
	p.w("PRIMARY KEY ")
	p.idents(k.Columns)
	p.w(" NOT ENFORCED")
}

// distribution writes what is behind DISTRIBUTED or DISTRIBUTION.
func (p *printer) distribution(d *Distribution) {
	if d.Columns != nil {
		p.w(" BY ")
		p.flag(d.Kind != "", d.Kind)
		p.idents(d.Columns)
	}
	if d.Buckets != nil {
		p.w(" INTO ", d.Buckets.Value, " BUCKETS")
	}
}

func (p *printer) alterAction(a AlterAction) {
	switch a := a.(type) {
	case *RenameTo:
		p.w("RENAME TO ")
		p.name(a.Name)
	case *RenameColumn:
		p.w("RENAME ")
		p.name(a.Column)
		p.w(" TO ")
		p.name(a.To)
	case *SetOptions:
		p.w("SET ")
		p.options(a.Options)
	case *ResetOptions:
		p.w("RESET (")
		list(p, a.Keys, func(k StringLit) { p.str(k.Value) })
		p.w(")")
	case *SetComment:
		p.w("COMMENT ")
		p.str(a.Comment.Value)
	case *AddElements:
		if a.Modify {
			p.w("MODIFY")
		} else {
			p.w("ADD")
		}
		if a.Distribution != nil {
			p.w(" DISTRIBUTION")
			p.distribution(a.Distribution)
			return
		}
		p.w(" (")
		p.elements(a.Columns, a.Watermark, a.PrimaryKey, " ")
		p.w(")")
	case *DropElements:
		switch a.What {
		case "COLUMN":
			p.w("DROP (")
			list(p, a.Columns, p.name)
			p.w(")")
		case "CONSTRAINT":
			p.w("DROP CONSTRAINT ")
			p.ident(*a.Name)
		default:
			p.w("DROP ", a.What)
		}
	case *AddPartitions:
		p.w("ADD")
		p.flag(a.IfNotExists, " IF NOT EXISTS")
		for i := range a.Partitions {
			p.partition(&a.Partitions[i])
			p.with(a.Options[i])
		}
	case *DropPartitions:
		p.w("DROP")
		p.flag(a.IfExists, " IF EXISTS")
		for i := range a.Partitions {
			p.flag(i > 0, ",")
			p.partition(&a.Partitions[i])
		}
	case *AlterQuery:
		p.w("AS ")
		p.query(a.Query)
	case *AlterRefresh:
		p.w(a.What)
		p.with(a.Options)
		p.partition(a.Partition)
	case *SetFreshness:
		if a.Freshness != nil {
			p.w("SET FRESHNESS = ")
			p.expr(a.Freshness, 0)
		} else {
			p.w("SET REFRESH_MODE = ", a.RefreshMode)
		}
	}
}
