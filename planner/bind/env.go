// Package bind gives meaning to the syntax tree: it finds what names stand for, types every expression, puts in implicit casts and makes the logical
// plan. What SQL it does not take yet it refuses by name (unsupported.go).
package bind

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// Env is what planning needs from outside.
type Env struct {
	Catalogs *catalog.Catalogs
	// Config is the session's configuration; keys that are not set have their default.
	Config map[string]string
	// Connect makes the connector's side of a table. options are those of WITH and of an OPTIONS hint, without the general ones (scan.watermark.*,
	// weir.*), with 'connector'. For a table without physical columns (t.Inferred) the connector infers them.
	Connect func(ctx context.Context, t *catalog.Table, options map[string]string) (catalog.ConnectorTable, error)
	// Generators lists the watermark generators by their names in upper case, sorted; Generator says what is wrong with the arguments of one: constants, and
	// a logical.RowArg for each that is not. Both are nil when there are none.
	Generators func() []string
	Generator  func(name string, args []any) error
	// Functions are the scalar functions of the session, by their names in upper case.
	Functions map[string]*catalog.Function
	// Fold computes a constant expression (no columns, nothing volatile); nil leaves them to the run.
	Fold func(e logical.Expr) (any, error)
}

// Rows is the answer of a statement.
type Rows struct {
	Columns types.Schema
	Values  [][]any // types' canonical form
}

// Warning is a note for the user that stops nothing.
type Warning struct {
	Pos  ast.Pos
	Text string
	// Table is the ID of the table that it is about, 0 when it is about none.
	Table int64
}

func (e *Env) config(key, def string) string {
	if v, ok := e.Config[key]; ok && v != "" {
		return v
	}
	return def
}

// Scalar finds a scalar function by any of its names, in any case: a built-in one or one of the session.
func (e *Env) Scalar(name string) *catalog.Function {
	if f := catalog.LookupFunction(name, catalog.Scalar); f != nil {
		return f
	}
	return e.Functions[strings.ToUpper(name)]
}

// UserFunctions are the names of Functions, sorted.
func (e *Env) UserFunctions() []string { return slices.Sorted(maps.Keys(e.Functions)) }

// Taken reports a name that stands for a built-in function, in any case, also for one that is not supported yet.
func Taken(name string) bool {
	name = strings.ToUpper(name)
	_, refused := unsupportedFunctions[name]
	return refused || catalog.LookupFunction(name, catalog.Scalar) != nil || catalog.LookupFunction(name, catalog.Aggregate) != nil || slices.Contains(special, name)
}

// special are names that the binder or the parser knows beside the functions of the catalog.
var special = []string{"CURRENT_WATERMARK", "SOURCE_WATERMARK", "GROUPING", "GROUPING_ID", "GROUP_ID", "CUMULATE", "DESCRIPTOR", "UNNEST"}

// Bool reads a boolean of the configuration.
func (e *Env) Bool(key string) bool { return strings.EqualFold(e.config(key, "false"), "true") }

// Int reads a whole number of the configuration.
func (e *Env) Int(key string, def int) int {
	if n, err := strconv.Atoi(e.config(key, "")); err == nil {
		return n
	}
	return def
}

// Batch reports execution.runtime-mode = batch.
func (e *Env) Batch() bool {
	return strings.EqualFold(e.config("execution.runtime-mode", "streaming"), "batch")
}

// TableResult reports weir.result-mode = table.
func (e *Env) TableResult() bool { return strings.EqualFold(e.config("weir.result-mode", ""), "table") }

// Zone is the session time zone.
func (e *Env) Zone() *time.Location {
	z, err := types.LoadZone(e.config("table.local-time-zone", "UTC"))
	if err != nil {
		return time.UTC
	}
	return z
}
