package planner

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/bind"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/planner/physical"
	"github.com/weir-sql/weir/planner/rules"
)

// Plan plans a statement, or carries it out where that is a matter of the catalog. SET, RESET and what concerns jobs is the caller's. Errors are *Error;
// with one the result has nothing but the Extensions found before.
func Plan(ctx context.Context, stmt ast.Statement, env Env) (*Result, error) {
	p := &planning{ctx: ctx, env: &env, b: bind.New(ctx, &env, stmt.Base())}
	r, err := p.statement(stmt)
	if err != nil {
		return &Result{Extensions: p.b.Extensions}, err
	}
	r.Warnings = append(r.Warnings, p.b.Warnings...)
	r.Extensions = append(r.Extensions, p.b.Extensions...)
	r.Reads, r.Writes = p.reads, p.writes
	return r, nil
}

// PlanRead plans the reading of all of a table or view, as a statement would that names it with catalog and database current. A table that can only be
// written has no plan.
func PlanRead(ctx context.Context, o catalog.Object, current catalog.Path, env Env) (*Result, error) {
	p := &planning{ctx: ctx, env: &env, b: bind.New(ctx, &env, nil)}
	n, err := p.b.ReadAll(o, current)
	if err != nil || n == nil {
		return &Result{}, err
	}
	r, err := p.finish([]logical.Node{n}, true)
	if err != nil {
		return nil, err
	}
	r.Reads, r.Writes = p.reads, p.writes
	return r, nil
}

// planning is one call of Plan.
type planning struct {
	ctx context.Context
	env *Env
	b   *bind.Binder
	// reads and writes are Result's.
	reads, writes []int64
}

func (p *planning) statement(stmt ast.Statement) (*Result, error) {
	switch s := stmt.(type) {
	case *ast.QueryStatement:
		n, err := p.b.Query(s.Query)
		if err != nil {
			return nil, err
		}
		return p.finish([]logical.Node{n}, true)
	case *ast.Insert:
		n, err := p.b.Insert(s)
		if err != nil {
			return nil, err
		}
		return p.finish([]logical.Node{n}, false)
	case *ast.StatementSet:
		if len(s.Inserts) == 0 {
			return nil, logical.Errorf(s, logical.CodeStatement, "", "the statement set is empty")
		}
		var roots []logical.Node
		for _, ins := range s.Inserts {
			n, err := p.b.Insert(ins)
			if err != nil {
				return nil, err
			}
			roots = append(roots, n)
		}
		return p.finish(roots, false)
	case *ast.CreateTable:
		return p.createTable(s)
	}
	return p.other(stmt)
}

// finish applies the rules and makes the physical plan.
func (p *planning) finish(roots []logical.Node, query bool) (*Result, error) {
	total := 0
	sizes := map[logical.Node]int{}
	for _, r := range roots {
		total = min(maxNodes+1, total+size(r, sizes))
	}
	if total > maxNodes {
		return nil, &Error{Code: logical.CodeStatement, Hint: "let INSERT INTO a table keep a part of the result",
			Msg: fmt.Sprintf("the query is too large: with all that it names by WITH and views written out, it has more than %d parts", maxNodes)}
	}
	for _, r := range roots {
		p.tables(r, map[logical.Node]bool{})
	}
	for i := range roots {
		var err error
		if roots[i], err = rules.Apply(roots[i], rules.Options{Fold: p.env.Fold, Optimize: optimize(p.env), UTC: p.env.Zone() == time.UTC}); err != nil {
			return nil, err
		}
	}
	plan, warnings, err := physicalPlan(p.env, roots, query)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		plan.Warnings = append(plan.Warnings, w.Text)
	}
	return &Result{Plan: plan, Logical: roots, Query: query, Warnings: warnings, Advice: advice(plan)}, nil
}

// tables notes what a plan reads and writes.
func (p *planning) tables(n logical.Node, seen map[logical.Node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	switch n := n.(type) {
	case *logical.Scan:
		p.reads = append(p.reads, n.Table.ID)
	case *logical.Sink:
		p.writes = append(p.writes, n.Table.ID)
	}
	for _, in := range n.Inputs() {
		p.tables(in, seen)
	}
}

// maxNodes bounds the size of a plan. Queries of WITH and views are put in wherever they are named, so that a short text can become a large plan.
const maxNodes = 10_000

// size counts the nodes of a plan as a tree.
func size(n logical.Node, known map[logical.Node]int) int {
	if k, ok := known[n]; ok {
		return k
	}
	k := 1
	for _, in := range n.Inputs() {
		k = min(maxNodes+1, k+size(in, known))
	}
	known[n] = k
	return k
}

// advice looks for tables whose watermark one silent split can hold back.
func advice(p *physical.Plan) []Warning {
	var out []Warning
	told := map[*catalog.Table]bool{}
	for _, n := range p.Nodes() {
		s, ok := n.(*physical.Scan)
		if !ok || s.Watermark == nil || s.Watermark.Source || s.Props().Bounded || s.Watermark.IdleTimeout > 0 || told[s.Table] {
			continue
		}
		told[s.Table] = true
		out = append(out, Warning{Pos: s.Pos, Table: s.Table.ID, Text: fmt.Sprintf("table %s has no idle timeout: a split (partition, file) without rows holds back the watermark, and with it "+
			"every window; 'scan.watermark.idle-timeout' = '30 s' in WITH, or SET 'table.exec.source.idle-timeout', lets it be passed over", logical.TableName(s.Table))})
	}
	return out
}

// advise plans the reading of a table's event times.
func (p *planning) advise(s *ast.AdviseWatermark) (*Result, error) {
	a, err := p.b.Advise(s)
	if err != nil {
		return nil, err
	}
	r, err := p.finish([]logical.Node{a.Node}, true)
	if err != nil {
		return nil, err
	}
	r.Advise, r.Warnings, r.Advice = a, nil, nil
	p.reads = nil // with another watermark than the declared one
	return r, nil
}

func (p *planning) createTable(s *ast.CreateTable) (*Result, error) {
	t, src, err := p.b.CreateTable(s)
	if err != nil {
		return nil, err
	}
	if src == nil {
		r := &Result{}
		created, err := p.env.Catalogs.Put(t, s.IfNotExists)
		if created {
			r.Created = t
		}
		if s.Like != nil {
			if o, err := p.b.Lookup(&s.Like.Source); err == nil {
				r.Template = o.(*catalog.Table).ID
			}
		}
		return r, bind.CatalogError(&s.Name, err)
	}
	// CREATE TABLE .. AS: the table stays when the query fails later, as in Flink; not when it cannot be planned.
	created, err := p.env.Catalogs.Put(t, s.IfNotExists)
	if err != nil || !created {
		return &Result{}, bind.CatalogError(&s.Name, err)
	}
	r, err := func() (*Result, error) {
		n, err := p.b.Fill(s, t, src)
		if err != nil {
			return nil, err
		}
		return p.finish([]logical.Node{n}, false)
	}()
	if err != nil {
		_, _ = p.env.Catalogs.Drop(t.Path, false, t.Temporary, true)
		return nil, err
	}
	r.Created = t
	return r, nil
}
