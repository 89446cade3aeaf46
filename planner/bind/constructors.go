package bind

import (
	"strconv"

	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

func (b *Binder) array(e *ast.ArrayCons, s *scope) (logical.Expr, error) {
	es, nodes, err := b.exprs(e.Elems, s)
	if err != nil {
		return nil, err
	}
	if len(es) == 0 {
		return nil, logical.Errorf(e, logical.CodeArguments, "write CAST(NULL AS ARRAY<type>) for none", "ARRAY[] needs at least one element")
	}
	t, err := common(nodes, es, types.CommonArgs, "the elements of ARRAY")
	if err != nil {
		return nil, err
	}
	if t.Kind == types.Null {
		return nil, logical.Errorf(e, logical.CodeBranches, "write CAST(NULL AS type)", "all elements of ARRAY are NULL: it has no type")
	}
	for i := range es {
		es[i] = b.coerce(nodes[i], es[i], t)
	}
	return &logical.ArrayCons{Args: es, Type: types.ArrayOf(t).NotNull(), Pos: e.Pos()}, nil
}

func (b *Binder) mapCons(e *ast.MapCons, s *scope) (logical.Expr, error) {
	es, nodes, err := b.exprs(e.Elems, s)
	if err != nil {
		return nil, err
	}
	if len(es) == 0 {
		return nil, logical.Errorf(e, logical.CodeArguments, "write CAST(NULL AS MAP<key, value>) for none", "MAP[] needs at least one key and value")
	}
	m := &logical.MapCons{Pos: e.Pos()}
	var kn, vn []ast.Node
	for i := 0; i+1 < len(es); i += 2 {
		m.Keys, kn = append(m.Keys, es[i]), append(kn, nodes[i])
		m.Values, vn = append(m.Values, es[i+1]), append(vn, nodes[i+1])
	}
	kt, err := common(kn, m.Keys, types.CommonArgs, "the keys of MAP")
	if err != nil {
		return nil, err
	}
	vt, err := common(vn, m.Values, types.CommonArgs, "the values of MAP")
	if err != nil {
		return nil, err
	}
	if kt.Kind == types.Null || vt.Kind == types.Null {
		return nil, logical.Errorf(e, logical.CodeBranches, "write CAST(NULL AS type)", "all keys or all values of MAP are NULL: it has no type")
	}
	for i := range m.Keys {
		m.Keys[i], m.Values[i] = b.coerce(kn[i], m.Keys[i], kt), b.coerce(vn[i], m.Values[i], vt)
	}
	m.Type = types.MapOf(kt, vt).NotNull()
	return m, nil
}

func (b *Binder) row(e *ast.RowCons, s *scope) (logical.Expr, error) {
	es, _, err := b.exprs(e.Elems, s)
	if err != nil {
		return nil, err
	}
	var fs []types.Field
	for i, x := range es {
		t := x.ResultType()
		if t.Kind == types.Null {
			return nil, logical.Errorf(e.Elems[i], logical.CodeArguments, "write CAST(NULL AS type)", "NULL has no type here")
		}
		fs = append(fs, types.Field{Name: "EXPR$" + strconv.Itoa(i), Type: t.WithAttr(types.NoTimeAttr)})
	}
	return &logical.RowCons{Args: es, Type: types.RowOf(fs...).NotNull(), Pos: e.Pos()}, nil
}
