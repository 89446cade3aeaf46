package bind

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// expr binds an expression.
func (b *Binder) expr(e ast.Expr, s *scope) (logical.Expr, error) {
	switch e := e.(type) {
	case *ast.Name:
		return b.name(e, s)
	case *ast.Literal:
		return b.literal(e)
	case *ast.Interval:
		return interval(e)
	case *ast.Unary:
		return b.unary(e, s)
	case *ast.Binary:
		return b.binary(e, s)
	case *ast.Call:
		return b.call(e, s)
	case *ast.Extract:
		return b.function(e, s, "EXTRACT", []string{e.Unit}, e.X)
	case *ast.Trim:
		if e.Chars == nil {
			return b.function(e, s, "TRIM", []string{e.Mode}, e.X)
		}
		return b.function(e, s, "TRIM", []string{e.Mode}, e.X, e.Chars)
	case *ast.Cast:
		return b.cast(e, s)
	case *ast.Case:
		return b.caseExpr(e, s)
	case *ast.Between:
		name := "BETWEEN"
		if e.Symmetric {
			name = "BETWEEN SYMMETRIC"
		}
		x, err := b.function(e, s, name, nil, e.X, e.Low, e.High)
		return b.not(e, x, err, e.Not)
	case *ast.InList:
		x, err := b.inList(e, s)
		return b.not(e, x, err, e.Not)
	case *ast.Like:
		return b.like(e, s)
	case *ast.Is:
		name := "IS " + string(e.Kind)
		if e.Not {
			name = "IS NOT " + string(e.Kind)
		}
		return b.function(e, s, name, nil, e.X)
	case *ast.IsDistinctFrom:
		name := "IS DISTINCT FROM"
		if e.Not {
			name = "IS NOT DISTINCT FROM"
		}
		return b.function(e, s, name, nil, e.L, e.R)
	case *ast.IntervalDiff:
		return b.function(e, s, "-", []string{e.Qualifier.From}, e.L, e.R)
	case *ast.Subscript:
		return b.function(e, s, "[]", nil, e.X, e.Index)
	case *ast.FieldAccess:
		x, err := b.expr(e.X, s)
		if err != nil {
			return nil, err
		}
		return field(x, e.Field)
	case *ast.ArrayCons:
		return b.array(e, s)
	case *ast.MapCons:
		return b.mapCons(e, s)
	case *ast.RowCons:
		return b.row(e, s)
	case *ast.Star:
		return nil, logical.Errorf(e, logical.CodeStatement, "name the columns, or write COUNT(*)", "* may stand in a select list only")
	case *ast.Grouping:
		return nil, logical.Errorf(e, logical.CodeStatement, "", "%s may stand in GROUP BY only", e.Kind)
	case *ast.NamedArg:
		return nil, unsupported(e, featNamedArgs)
	case *ast.Descriptor, *ast.TableArg, *ast.ModelArg:
		return nil, logical.Errorf(e, logical.CodeStatement, "window functions stand in FROM: FROM TUMBLE(TABLE t, DESCRIPTOR(ts), ...)",
			"DESCRIPTOR, TABLE and MODEL may stand in the arguments of a table function only")
	case *ast.TimeUnit:
		return nil, logical.Errorf(e, logical.CodeArguments, "", "a time unit may not stand here")
	}
	if f, ok := unsupportedExpr(e); ok {
		return nil, unsupported(e, f)
	}
	return nil, logical.Errorf(e, logical.CodeInternal, "", "internal error: expression %T", e)
}

func (b *Binder) not(n ast.Node, x logical.Expr, err error, not bool) (logical.Expr, error) {
	if err != nil || !not {
		return x, err
	}
	return b.apply(n, "NOT", nil, []logical.Expr{x})
}

// name binds a column, with fields of rows behind it.
func (b *Binder) name(e *ast.Name, s *scope) (logical.Expr, error) {
	i, used, err := s.resolve(e)
	if err != nil {
		if n := e.Parts[0]; len(e.Parts) == 1 && !n.Quoted && strings.EqualFold(n.Name, "PI") {
			return b.apply(e, "PI", nil, nil) // written without parentheses
		}
		return nil, err
	}
	c := s.rel.cols[i]
	var x logical.Expr = &logical.Column{Index: i, Name: c.name, Type: c.typ, Pos: e.Pos()}
	for _, f := range e.Parts[used:] {
		if x, err = field(x, f); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func field(x logical.Expr, f ast.Ident) (logical.Expr, error) {
	t := x.ResultType()
	if t.Kind != types.Row {
		return nil, logical.Errorf(&f, logical.CodeUnknownColumn, "", "%s is %s, no ROW: it has no field '%s'", x, t, f.Name)
	}
	var names []string
	for i, rf := range t.Fields {
		if rf.Name == f.Name {
			ft := rf.Type
			ft.Nullable = ft.Nullable || t.Nullable
			return &logical.FieldAccess{Arg: x, Index: i, Name: f.Name, Type: ft, Pos: f.Pos()}, nil
		}
		names = append(names, rf.Name)
	}
	return nil, logical.Errorf(&f, logical.CodeUnknownColumn, columnHint(f.Name, names), "field '%s' does not exist in %s", f.Name, x)
}

func (b *Binder) literal(e *ast.Literal) (logical.Expr, error) {
	bad := func(err error) error { return badLiteral(e, err) }
	lit := func(v any, t types.Type) (logical.Expr, error) {
		return &logical.Literal{Value: v, Type: t.WithNull(v == nil), Pos: e.Pos()}, nil
	}
	switch e.Kind {
	case ast.NumberLit:
		x, err := number(e, e.Value)
		if err == nil && x.ResultType().Kind == types.Decimal && x.ResultType().Precision > 19 {
			b.extend(e, ast.ExtSyntax, "CAST('"+e.Value+"' AS "+x.ResultType().WithNull(true).String()+")")
		}
		return x, err
	case ast.StringKind:
		return lit(e.Value, types.CharOf(len([]rune(e.Value))))
	case ast.BinaryLit:
		v, err := hex.DecodeString(e.Value)
		if err != nil {
			return nil, bad(errors.New("an even number of hexadecimal digits is needed"))
		}
		return lit(v, types.BinaryOf(len(v)))
	case ast.BoolLit:
		return lit(strings.EqualFold(e.Value, "TRUE"), types.BooleanType)
	case ast.NullLit:
		return lit(nil, types.NullType)
	case ast.UnknownLit:
		return lit(nil, types.BooleanType)
	case ast.ParameterLit:
		return nil, unsupported(e, featParameter)
	case ast.DateLit, ast.TimeLit, ast.TimestampLit, ast.TimestampLTZLit:
		t := types.DateType
		if e.Kind != ast.DateLit {
			p := 0
			if dot := strings.LastIndexByte(e.Value, '.'); dot >= 0 {
				p = len(strings.TrimRight(e.Value[dot+1:], " "))
			}
			if p > 9 {
				return nil, bad(errors.New("at most 9 digits of a second"))
			}
			t = types.TimeOf(p)
			if e.Kind != ast.TimeLit {
				t = types.TimestampOf(p)
			}
		}
		v, err := types.ParseValue([]byte(e.Value), t, nil)
		if err != nil {
			return nil, bad(err)
		}
		if e.Kind == ast.TimestampLTZLit { // the text is UTC, whatever the session's zone is (measured)
			t = types.TimestampLTZOf(t.Precision)
		}
		return lit(v, t)
	}
	return nil, logical.Errorf(e, logical.CodeInternal, "", "internal error: literal of kind %s", e.Kind)
}

func badLiteral(n ast.Node, err error) error {
	return logical.Errorf(n, logical.CodeConstant, "", "this literal cannot be read: %v", err)
}

// number gives integers INT, BIGINT or DECIMAL by their size, numbers with a point DECIMAL, and those with an exponent DOUBLE.
func number(n ast.Node, text string) (logical.Expr, error) {
	if strings.ContainsAny(text, "eE") {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, logical.Errorf(n, logical.CodeConstant, "", "number %s is out of the range of DOUBLE", text)
		}
		return &logical.Literal{Value: v, Type: types.DoubleType.NotNull(), Pos: n.Pos()}, nil
	}
	whole, frac, _ := strings.Cut(text, ".")
	if text = strings.TrimSuffix(text, "."); frac == "" {
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			if v == int64(int32(v)) {
				return &logical.Literal{Value: int32(v), Type: types.IntType.NotNull(), Pos: n.Pos()}, nil
			}
			return &logical.Literal{Value: v, Type: types.BigIntType.NotNull(), Pos: n.Pos()}, nil
		}
	}
	// The digits as they are written count, but for zeros in front: 0.05 is DECIMAL(3, 2), .5 is DECIMAL(1, 1) (measured).
	s := len(frac)
	if w := strings.TrimPrefix(whole, "-"); w != "" {
		whole = strings.TrimLeft(w, "0")
		if whole == "" {
			whole = "0"
		}
	} else {
		whole = ""
	}
	p := max(1, len(whole)+s)
	if p > types.MaxDecimalPrecision {
		return nil, logical.Errorf(n, logical.CodeConstant, "write it with an exponent (1e40) to make it a DOUBLE", "number %s has more than 38 digits", text)
	}
	t := types.DecimalOf(p, s)
	v, err := types.ParseDecimal([]byte(text), p, s)
	if err != nil {
		return nil, badLiteral(n, err)
	}
	return &logical.Literal{Value: v, Type: t.NotNull(), Pos: n.Pos()}, nil
}

func (b *Binder) unary(e *ast.Unary, s *scope) (logical.Expr, error) {
	if lit, ok := e.X.(*ast.Literal); ok && e.Op == "-" && lit.Kind == ast.NumberLit {
		// The sign belongs to the number, so that -2147483648 is an INT.
		x, err := number(e, "-"+lit.Value)
		if f, ok := x.(*logical.Literal); ok && f.Value == 0.0 {
			f.Value = 0.0 // the literal -0e0 is 0.0 (measured)
		}
		return x, err
	}
	switch e.Op {
	case "NOT":
		return b.function(e, s, "NOT", nil, e.X)
	case "-":
		return b.function(e, s, "NEGATE", nil, e.X)
	}
	x, err := b.expr(e.X, s)
	if err != nil {
		return nil, err
	}
	if t := x.ResultType(); !t.IsNumeric() && !t.IsInterval() {
		return nil, logical.Errorf(e, logical.CodeArguments, "", "+ needs a number, not %s", t)
	}
	return x, nil
}

func (b *Binder) binary(e *ast.Binary, s *scope) (logical.Expr, error) {
	if e.Op == "OVERLAPS" {
		return b.overlaps(e, s)
	}
	// Long chains of AND, OR, + and || lean to the left: go down them in a loop.
	var chain []*ast.Binary
	var left ast.Expr = e
	for {
		x, ok := left.(*ast.Binary)
		if !ok || x.Op == "OVERLAPS" {
			break
		}
		chain = append(chain, x)
		left = x.L
	}
	l, err := b.expr(left, s)
	if err != nil {
		return nil, err
	}
	for i := len(chain) - 1; i >= 0; i-- {
		if fields := b.rowFields(chain[i].Op, chain[i].L, chain[i].R); fields != nil {
			if l, err = b.compareFields(chain[i], s, chain[i].Op, fields); err != nil {
				return nil, err
			}
			continue
		}
		r, err := b.expr(chain[i].R, s)
		if err != nil {
			return nil, err
		}
		if l, err = b.apply(chain[i], chain[i].Op, nil, []logical.Expr{l, r}); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (b *Binder) cast(e *ast.Cast, s *scope) (logical.Expr, error) {
	x, err := b.expr(e.X, s)
	if err != nil {
		return nil, err
	}
	to, err := typeOf(e.Type)
	if err != nil {
		return nil, err
	}
	from := x.ResultType()
	if !types.CanCast(from, to) {
		return nil, logical.Errorf(e, logical.CodeCast, castHint(from, to), "%s cannot be cast to %s", from.WithNull(true), to.WithNull(true))
	}
	to.Nullable = from.Nullable || e.Try
	if lit, ok := x.(*logical.Literal); ok && lit.Value == nil {
		return &logical.Literal{Type: to.WithNull(true), Pos: e.Pos()}, nil
	}
	return &logical.Cast{Arg: x, Type: to, Try: e.Try, Pos: e.Pos(), Text: b.text(e)}, nil
}

func castHint(from, to types.Type) string {
	switch {
	case from.IsNumeric() && to.IsTimestamp():
		return "write TO_TIMESTAMP_LTZ(x, 3) for milliseconds, TO_TIMESTAMP_LTZ(x, 0) for seconds"
	case from.IsTimestamp() && to.IsNumeric():
		return "write UNIX_TIMESTAMP(CAST(x AS STRING)), or EXTRACT"
	}
	return ""
}

func (b *Binder) caseExpr(e *ast.Case, s *scope) (logical.Expr, error) {
	c := &logical.Case{Pos: e.Pos()}
	var operand logical.Expr
	if e.Operand != nil {
		var err error
		if operand, err = b.expr(e.Operand, s); err != nil {
			return nil, err
		}
	}
	var results []logical.Expr
	var nodes []ast.Node
	for _, w := range e.Whens {
		cond, err := b.expr(w.Cond, s)
		if err != nil {
			return nil, err
		}
		if operand != nil {
			if cond, err = b.apply(w.Cond, "=", nil, []logical.Expr{operand, cond}); err != nil {
				return nil, err
			}
		} else if cond, err = b.boolean(w.Cond, cond, "WHEN"); err != nil {
			return nil, err
		}
		r, err := b.expr(w.Result, s)
		if err != nil {
			return nil, err
		}
		c.Whens = append(c.Whens, logical.When{Cond: cond})
		results = append(results, r)
		nodes = append(nodes, w.Result)
	}
	if e.Else != nil {
		r, err := b.expr(e.Else, s)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
		nodes = append(nodes, e.Else)
	} else {
		results = append(results, &logical.Literal{Type: types.NullType, Pos: e.Pos()})
		nodes = append(nodes, e)
	}
	t, err := common(nodes, results, types.Common, "the branches of CASE")
	if err != nil {
		return nil, err
	}
	if t.Kind == types.Null {
		return nil, logical.Errorf(e, logical.CodeBranches, "write CAST(NULL AS type)", "all branches of CASE are NULL: it has no type")
	}
	c.Type = t
	for i, r := range results {
		r = b.coerce(nodes[i], r, t)
		if i < len(c.Whens) {
			c.Whens[i].Result = r
		} else {
			c.Else = r
		}
	}
	return c, nil
}

// common finds the type that all expressions meet in.
func common(nodes []ast.Node, es []logical.Expr, meet func(a, b types.Type) (types.Type, bool), what string) (types.Type, error) {
	t := es[0].ResultType()
	t.Attr = types.NoTimeAttr
	for i, e := range es[1:] {
		u, ok := meet(t, e.ResultType())
		if !ok {
			return t, logical.Errorf(nodes[i+1], logical.CodeBranches, "CAST one of them", "%s have no common type: %s and %s", what, t.WithNull(true),
				e.ResultType().WithNull(true))
		}
		t = u
	}
	t.Attr = types.NoTimeAttr
	return t, nil
}

// boolean checks that a condition is BOOLEAN.
func (b *Binder) boolean(n ast.Node, e logical.Expr, where string) (logical.Expr, error) {
	switch t := e.ResultType(); t.Kind {
	case types.Boolean:
		return e, nil
	case types.Null:
		return b.coerce(n, e, types.BooleanType), nil
	default:
		return nil, logical.Errorf(n, logical.CodeNotBool, "", "%s needs a condition (BOOLEAN), not %s", where, t.WithNull(true))
	}
}

// coerce gives e the type t by an implicit cast, where it has another one. Nullability stays that of e.
func (b *Binder) coerce(n ast.Node, e logical.Expr, t types.Type) logical.Expr {
	from := e.ResultType()
	if from.SameKind(t) {
		return e
	}
	t.Attr = types.NoTimeAttr
	if lit, ok := e.(*logical.Literal); ok {
		if lit.Value == nil {
			return &logical.Literal{Type: t.WithNull(true), Pos: lit.Pos}
		}
		if from.Kind == types.Char && t.Kind == types.VarChar && from.Length <= t.Length {
			return &logical.Literal{Value: lit.Value, Type: t.NotNull(), Pos: lit.Pos}
		}
	}
	return &logical.Cast{Arg: e, Type: t.WithNull(from.Nullable), Implicit: true, Pos: n.Pos(), Text: b.text(n)}
}

func (b *Binder) exprs(es []ast.Expr, s *scope) (out []logical.Expr, nodes []ast.Node, err error) {
	for _, e := range es {
		x, err := b.expr(e, s)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, x)
		nodes = append(nodes, e)
	}
	return out, nodes, nil
}

// function binds the arguments and applies a function or operator to them.
func (b *Binder) function(n ast.Node, s *scope, name string, units []string, args ...ast.Expr) (logical.Expr, error) {
	es, _, err := b.exprs(args, s)
	if err != nil {
		return nil, err
	}
	return b.apply(n, name, units, es)
}

// apply applies a function or operator of the catalog: it asks for the signature and puts in the casts.
func (b *Binder) apply(n ast.Node, name string, units []string, args []logical.Expr) (logical.Expr, error) {
	f := b.env.Scalar(name)
	if f == nil {
		return nil, b.unknownFunction(n, name)
	}
	sig, err := resolve(f, n, name, units, args, false)
	if err != nil {
		return nil, err
	}
	cast := make([]logical.Expr, len(args))
	for i, a := range args {
		if !takesNull[f.Name] {
			b.bareNull(a, sig.Args[i])
		}
		cast[i] = b.coerce(n, a, sig.Args[i])
	}
	c := &logical.Call{Name: f.Name, Units: units, Args: cast, Type: sig.Result.WithAttr(types.NoTimeAttr), Pos: n.Pos(), Text: b.text(n)}
	if f.Impl != nil {
		c.User = f
	}
	return c, nil
}

// takesNull are functions and operators with which Flink takes a NULL without type (measured).
var takesNull = map[string]bool{"=": true, "<>": true, "<": true, "<=": true, ">": true, ">=": true, "IN": true, "COALESCE": true, "NULLIF": true, "TYPEOF": true,
	"IS NULL": true, "IS NOT NULL": true, "IS DISTINCT FROM": true, "IS NOT DISTINCT FROM": true}

// resolve asks a function about a call.
func resolve(f *catalog.Function, n ast.Node, name string, units []string, args []logical.Expr, distinct bool) (catalog.Signature, error) {
	c := catalog.Call{Name: strings.ToUpper(name), Units: units, Distinct: distinct}
	for _, a := range args {
		c.Args = append(c.Args, a.ResultType())
		var v any
		if lit, ok := a.(*logical.Literal); ok {
			v = lit.Value
		}
		c.Literals = append(c.Literals, v)
	}
	sig, err := f.Resolve(c)
	if err != nil {
		hint := ""
		if f.Syntax != "" {
			hint = "usage: " + f.Syntax
		}
		return sig, logical.Errorf(n, logical.CodeArguments, hint, "%v", err)
	}
	if len(sig.Args) != len(args) {
		return sig, logical.Errorf(n, logical.CodeInternal, "", "internal error: signature of %s has %d arguments for %d", f.Name, len(sig.Args), len(args))
	}
	return sig, nil
}

func (b *Binder) unknownFunction(n ast.Node, name string) error {
	if f, ok := unsupportedFunctions[strings.ToUpper(name)]; ok {
		return unsupported(n, f)
	}
	if strings.EqualFold(name, "PERCENTILE_WATERMARK") {
		return logical.Errorf(n, logical.CodeStatement, "CURRENT_WATERMARK(ts) gives the watermark", "PERCENTILE_WATERMARK makes watermarks: it stands in WATERMARK FOR ts AS PERCENTILE_WATERMARK(ts, 0.99) only")
	}
	names := b.env.UserFunctions()
	for _, f := range catalog.Functions() {
		names = append(append(names, f.Name), f.Aliases...)
	}
	hint := "SHOW FUNCTIONS lists what there is"
	if write, ok := functionsElsewhere[strings.ToUpper(name)]; ok {
		hint = "write " + write
	} else if near := catalog.Nearest(strings.ToUpper(name), names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return logical.Errorf(n, logical.CodeUnknownFunction, hint, "function %s does not exist", strings.ToUpper(name))
}
