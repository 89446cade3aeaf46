// Package mysql gives rewritten queries to TiDB's parser and turns its tree into
// ours. It is the only package that imports github.com/pingcap/tidb/pkg/parser.
//
// The text that reaches TiDB has no name, literal or function of the user: each
// is a numbered slot, written as the quoted name `#n`, whose meaning is in the
// slice of slots. TiDB does the structure: precedence, join trees, subqueries,
// CTEs, set operations. So MySQL's keywords, quoting, functions and number
// ranges cannot matter, and no text of the user can look like a placeholder.
package mysql

import (
	"errors"
	"fmt"
	"io"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
)

// TiDB asks for a value driver. The one that comes with it panics on long
// numbers; this one only has to hold LIMIT's slot numbers.
func init() {
	ast.NewValueExpr = func(v any, _, _ string) ast.ValueExpr {
		if x, ok := v.(*value); ok {
			return x
		}
		return &value{v: v}
	}
	ast.NewParamMarkerExpr = func(offset int) ast.ParamMarkerExpr { return &param{} }
	ast.NewDecimal = func(s string) (any, error) { return s, nil }
	ast.NewHexLiteral = func(string) (any, error) { return nil, errors.New("unexpected hex literal") }
	ast.NewBitLiteral = func(string) (any, error) { return nil, errors.New("unexpected bit literal") }
}

// value is a literal in TiDB's tree.
type value struct {
	ast.TexprNode
	v any
}

func (n *value) SetValue(v any)           { n.v = v }
func (n *value) GetValue() any            { return n.v }
func (n *value) GetString() string        { s, _ := n.v.(string); return s }
func (n *value) GetDatumString() string   { return n.GetString() }
func (n *value) GetProjectionOffset() int { return -1 }
func (n *value) SetProjectionOffset(int)  {}

func (n *value) Restore(ctx *format.RestoreCtx) error {
	ctx.WritePlain(fmt.Sprint(n.v))
	return nil
}

func (n *value) Format(w io.Writer) { _, _ = fmt.Fprint(w, n.v) }

func (n *value) Accept(v ast.Visitor) (ast.Node, bool) {
	m, _ := v.Enter(n)
	return v.Leave(m)
}

// param is a ? marker. The rewriter never writes one.
type param struct{ value }

func (n *param) SetOrder(int) {}

func (n *param) Accept(v ast.Visitor) (ast.Node, bool) {
	m, _ := v.Enter(n)
	return v.Leave(m)
}
