package expr

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/types"
)

func init() {
	define("AND", func(c *call) (Evaluator, error) { return chain(c, false), nil })
	define("OR", func(c *call) (Evaluator, error) { return chain(c, true), nil })
	define("NOT", func(c *call) (Evaluator, error) { return &notEval{c}, nil })
	for name, is := range map[string]isEval{
		"IS NULL": {null: true}, "IS NOT NULL": {null: true, not: true},
		"IS TRUE": {want: true}, "IS NOT TRUE": {want: true, not: true},
		"IS FALSE": {}, "IS NOT FALSE": {not: true},
		"IS UNKNOWN": {null: true}, "IS NOT UNKNOWN": {null: true, not: true},
	} {
		define(name, func(c *call) (Evaluator, error) {
			e := is
			e.call = c
			return &e, nil
		})
	}
}

// chain makes AND or OR of two or more operands.
func chain(c *call, or bool) Evaluator {
	e := c.args[0]
	for _, r := range c.args[1:] {
		e = &logicEval{l: e, r: r, or: or, t: c.result}
	}
	return e
}

// logicEval is l AND r, or l OR r. The right operand is evaluated only for the rows that the left one does not decide.
type logicEval struct {
	l, r Evaluator
	or   bool
	t    types.Type
}

func (e *logicEval) Type() types.Type      { return e.t }
func (e *logicEval) children() []Evaluator { return []Evaluator{e.l, e.r} }

func (e *logicEval) Eval(ctx *Context, in Input) (arrow.Array, error) {
	a, err := e.l.Eval(ctx, in)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	at, af := truth(a, in.Rows)
	decided := af
	if e.or {
		decided = at
	}
	sel := ctx.selection(in.Rows)
	defer func() { ctx.putSelection(sel) }()
	if in.Selection != nil {
		for _, i := range in.Selection {
			if decided[i/64]>>(i%64)&1 == 0 {
				sel = append(sel, i)
			}
		}
	} else {
		open := make([]uint64, len(decided))
		for i, w := range decided {
			open[i] = ^w
		}
		if r := in.Rows % 64; r != 0 {
			open[len(open)-1] &= 1<<r - 1
		}
		sel = appendBits(sel, open)
	}
	if len(sel) == 0 {
		a.Retain()
		return a, nil
	}
	narrowed := in
	if len(sel) < in.Rows {
		narrowed = in.with(sel)
	}
	b, err := e.r.Eval(ctx, narrowed)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	bt, bf := truth(b, in.Rows)
	for i := range at {
		if e.or {
			at[i], af[i] = at[i]|bt[i], af[i]&bf[i]
		} else {
			at[i], af[i] = at[i]&bt[i], af[i]|bf[i]
		}
	}
	return boolArray(ctx, at, af, in.Rows), nil
}

func (e *logicEval) filter(ctx *Context, in Input, dst []int32) ([]int32, error) {
	first, err := Filter(ctx, e.l, in, ctx.selection(in.Rows))
	defer func() { ctx.putSelection(first) }()
	if err != nil {
		return dst, err
	}
	if !e.or {
		// A row where the left side is NULL cannot become TRUE.
		if len(first) == 0 {
			return dst, nil
		}
		if len(first) < in.Rows {
			in = in.with(first)
		}
		return Filter(ctx, e.r, in, dst)
	}
	if len(first) == in.Len() {
		return append(dst, first...), nil
	}
	rest := without(ctx.selection(in.Rows), in.Selection, first, in.Rows)
	defer func() { ctx.putSelection(rest) }()
	second, err := Filter(ctx, e.r, in.with(rest), ctx.selection(in.Rows))
	defer func() { ctx.putSelection(second) }()
	if err != nil {
		return dst, err
	}
	return mergeSelections(dst, first, second), nil
}

// notEval is NOT x.
type notEval struct{ *call }

func (e *notEval) Type() types.Type      { return e.result }
func (e *notEval) children() []Evaluator { return e.args }

func (e *notEval) Eval(ctx *Context, in Input) (arrow.Array, error) {
	a, err := e.args[0].Eval(ctx, in)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	t, f := truth(a, in.Rows)
	return boolArray(ctx, f, t, in.Rows), nil
}

// isEval is x IS [NOT] NULL, TRUE, FALSE or UNKNOWN; it is never NULL.
type isEval struct {
	*call
	null, want, not bool
}

func (e *isEval) Type() types.Type      { return e.result }
func (e *isEval) children() []Evaluator { return e.args }

// holds returns where the test is met.
func (e *isEval) holds(ctx *Context, in Input) ([]uint64, error) {
	a, err := e.args[0].Eval(ctx, in)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	var w []uint64
	not := e.not
	switch {
	case e.null:
		d := a.Data()
		valid := d.Buffers()[0]
		if a.DataType().ID() == arrow.NULL {
			w = make([]uint64, (in.Rows+63)/64)
		} else {
			w = bitWords(nil, valid, d.Offset(), in.Rows)
		}
		not = !not // w has where it is NOT NULL
	case e.want:
		w, _ = truth(a, in.Rows)
	default:
		_, w = truth(a, in.Rows)
	}
	if not {
		for i := range w {
			w[i] = ^w[i]
		}
		if r := in.Rows % 64; r != 0 {
			w[len(w)-1] &= 1<<r - 1
		}
	}
	return w, nil
}

func (e *isEval) Eval(ctx *Context, in Input) (arrow.Array, error) {
	w, err := e.holds(ctx, in)
	if err != nil {
		return nil, err
	}
	buf := newBitmap(ctx, in.Rows)
	copy(words(buf), w)
	return finish(arrow.FixedWidthTypes.Boolean, in.Rows, nil, buf), nil
}

func (e *isEval) filter(ctx *Context, in Input, dst []int32) ([]int32, error) {
	w, err := e.holds(ctx, in)
	if err != nil {
		return dst, err
	}
	if in.Selection == nil {
		return appendBits(dst, w), nil
	}
	for _, i := range in.Selection {
		if w[i/64]>>(i%64)&1 == 1 {
			dst = append(dst, i)
		}
	}
	return dst, nil
}
