// Package planner turns statements into plans: names and types are bound (bind), the plan is improved (rules) and made physical (physical). Statements
// about the catalog are carried out.
package planner

import (
	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/bind"
	"github.com/weir-sql/weir/planner/explain"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/planner/physical"
)

// Error is what a failing call of this package gives: it has the place in the text of the statement (or none), a code, a message and a hint.
type Error = logical.Error

// Env is what planning needs from outside.
type Env = bind.Env

// Rows is the answer of a statement that the planner carries out itself (SHOW, DESCRIBE, EXPLAIN).
type Rows = bind.Rows

// Result is what became of a statement.
type Result struct {
	// Plan is what is to run; nil for a statement that is done.
	Plan *physical.Plan
	// Logical are the plans that Plan was made of, after the rules: one for each root.
	Logical []logical.Node
	// Query: the plan's only root is a *physical.Collect. Otherwise its roots are sinks.
	Query bool
	// Advise: the statement is ADVISE WATERMARK, and the plan's only scan gives the event times that it asks for.
	Advise *bind.Advise
	// Rows is the answer of SHOW, DESCRIBE and EXPLAIN.
	Rows *Rows
	// Dropped tables lost their name for good: whoever holds their rows (connector 'memory') may forget them.
	Dropped []int64
	// Warnings are for the user: state without bounds, a table without idle timeout, ...
	Warnings []Warning
	// Advice is what `weir check` adds to the warnings: a watermark that one silent split could hold back.
	Advice []Warning
	// Created is the table that the statement declared; nil when it declared none, or IF NOT EXISTS found one. Template is the ID of the table that LIKE names.
	Created  *catalog.Table
	Template int64
	// Reads and Writes are the IDs of the tables that the plan reads and writes, also of one that is only explained.
	Reads, Writes []int64
	// Extensions are constructs beyond Flink SQL that only the binder can tell (GROUP BY alias). Those that the parser tells are in the statement.
	Extensions []ast.Extension
}

// Warning is a note for the user that stops nothing.
type Warning = bind.Warning

// Explain prints the plans of a result: as text (logical and physical), or the physical one as JSON.
func Explain(r *Result, asJSON bool) (string, error) {
	if r.Plan == nil {
		return "", &Error{Code: logical.CodeStatement, Msg: "this statement has no plan"}
	}
	if asJSON {
		j, err := explain.JSON(r.Plan)
		return string(j) + "\n", err
	}
	return explain.Text(r.Logical, r.Plan, explain.Options{}), nil
}
