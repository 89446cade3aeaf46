package bind

import (
	"slices"
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// generator binds WATERMARK FOR ts AS name(ts, argument, ...), where a generator has that name; its Generator is "" when the expression is something
// else. A function of the catalog wins over a generator of its name.
func (b *Binder) generator(t *catalog.Table, w *catalog.Watermark) (logical.Watermark, error) {
	var out logical.Watermark
	c, ok := w.Expr.(*ast.Call)
	if !ok || len(c.Name.Parts) != 1 || b.env.Generators == nil {
		return out, nil
	}
	name := strings.ToUpper(c.Name.Last())
	if b.env.Scalar(name) != nil || catalog.LookupFunction(name, catalog.Aggregate) != nil || w.Source {
		return out, nil
	}
	if known := b.env.Generators(); !slices.Contains(known, name) {
		if near := catalog.Nearest(name, known); near != "" {
			return out, logical.Errorf(&c.Name, logical.CodeUnknownFunction, "did you mean "+near+"?", "there is no function and no watermark generator %s", name)
		}
		return out, nil
	}
	var col ast.Expr
	if len(c.Args) > 0 {
		col = c.Args[0]
	}
	if n, isName := col.(*ast.Name); !isName || len(n.Parts) != 1 || n.Parts[0].Name != w.Column {
		return out, logical.Errorf(c, logical.CodeArguments, "write "+name+"("+w.Column+", ...)", "the first argument of the watermark generator %s is the event time column '%s'",
			name, w.Column)
	}
	for _, a := range c.Args[1:] {
		x, err := b.declared(a, tableScope(t, true))
		if err != nil {
			return out, err
		}
		if err := b.generatorArg(&out, a, x, name); err != nil {
			return out, err
		}
	}
	if err := b.env.Generator(name, out.Args); err != nil {
		return out, logical.Errorf(c, logical.CodeArguments, "", "watermark generator %s: %v", name, err)
	}
	out.Generator = name
	return out, nil
}

// generatorArg adds an argument of a generator: its value, or the place of one that each row gives.
func (b *Binder) generatorArg(out *logical.Watermark, a ast.Node, x logical.Expr, name string) error {
	written := x.String()
	switch k := x.ResultType(); {
	case k.Kind == types.Decimal, k.Kind == types.Float:
		x = b.coerce(a, x, types.DoubleType.WithNull(k.Nullable))
	case k.IsInteger():
		x = b.coerce(a, x, types.BigIntType.WithNull(k.Nullable))
	}
	if lit, ok := x.(*logical.Literal); ok {
		out.Args = append(out.Args, lit.Value)
		return nil
	}
	if logical.Volatile(x) != nil {
		return logical.Errorf(a, logical.CodeConstant, "", "the arguments of the watermark generator %s are constants or depend on the row, and %s changes by itself", name, written)
	}
	if !constant(x) {
		out.Args = append(out.Args, logical.RowArg{Index: len(out.Inputs), Text: written, Type: x.ResultType()})
		out.Inputs = append(out.Inputs, x)
		return nil
	}
	if b.env.Fold == nil {
		return logical.Errorf(a, logical.CodeConstant, "", "the argument %s of the watermark generator %s cannot be computed here", written, name)
	}
	v, err := b.env.Fold(x)
	if err != nil {
		return logical.Errorf(a, logical.CodeConstant, "", "%v", err)
	}
	out.Args = append(out.Args, v)
	return nil
}

// strategic is a source that was registered with a watermark strategy of its own (watermark.Table).
type strategic interface {
	// WatermarkColumns are the columns whose values its generator gets.
	WatermarkColumns() []string
}

// strategy binds SOURCE_WATERMARK() over a source with a strategy.
func (b *Binder) strategy(n ast.Node, t *catalog.Table, s strategic, out *logical.Watermark) error {
	out.Strategy = true
	schema := t.Schema()
	for _, name := range s.WatermarkColumns() {
		i := schema.Index(name)
		if i < 0 {
			return logical.Errorf(n, logical.CodeUnknownColumn, columnHint(name, schema.Names()), "table %s: the generator of its watermark strategy wants column '%s', which does not exist",
				shortName(t), name)
		}
		if err := b.generatorArg(out, n, logical.NewColumn(schema, i), "of the strategy"); err != nil {
			return err
		}
	}
	return nil
}
