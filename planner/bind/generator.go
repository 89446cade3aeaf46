package bind

import (
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// generator binds WATERMARK FOR ts AS name(ts, constant, ...), where a generator has that name; "" when the expression is something else. A function of
// the catalog wins over a generator of its name.
func (b *Binder) generator(t *catalog.Table, w *catalog.Watermark) (name string, args []any, err error) {
	c, ok := w.Expr.(*ast.Call)
	if !ok || len(c.Name.Parts) != 1 || b.env.Generator == nil {
		return "", nil, nil
	}
	name = strings.ToUpper(c.Name.Last())
	if catalog.LookupFunction(name, catalog.Scalar) != nil {
		return "", nil, nil
	}
	if known, _ := b.env.Generator(name, nil); !known {
		return "", nil, nil
	}
	col, ok := ast.Expr(nil), false
	if len(c.Args) > 0 {
		col = c.Args[0]
	}
	n, isName := col.(*ast.Name)
	if ok = isName && len(n.Parts) == 1 && n.Parts[0].Name == w.Column; !ok {
		return "", nil, logical.Errorf(c, logical.CodeArguments, "write "+name+"("+w.Column+", ...)", "the first argument of the watermark generator %s is the event time column '%s'",
			name, w.Column)
	}
	for _, a := range c.Args[1:] {
		x, err := b.declared(a, &scope{rel: &relation{}, clause: "the arguments of " + name, declaration: true})
		if err != nil {
			return "", nil, err
		}
		switch k := x.ResultType(); {
		case k.Kind == types.Decimal:
			x = b.coerce(a, x, types.DoubleType.WithNull(k.Nullable))
		case k.IsInteger():
			x = b.coerce(a, x, types.BigIntType.WithNull(k.Nullable))
		}
		lit, isLit := x.(*logical.Literal)
		if !isLit {
			if b.env.Fold == nil || volatile(x) {
				return "", nil, logical.Errorf(a, logical.CodeConstant, "", "the arguments of the watermark generator %s behind the event time are constants", name)
			}
			v, err := b.env.Fold(x)
			if err != nil {
				return "", nil, logical.Errorf(a, logical.CodeConstant, "", "%v", err)
			}
			lit = &logical.Literal{Value: v}
		}
		args = append(args, lit.Value)
	}
	if _, err := b.env.Generator(name, args); err != nil {
		return "", nil, logical.Errorf(c, logical.CodeArguments, "", "%v", err)
	}
	return name, args, nil
}
