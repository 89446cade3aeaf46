package expr

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/types"
)

func init() {
	define("ROW", func(c *call) (Evaluator, error) { return Row(c.args, c.result), nil })
}

// rowCons is ROW(a, b, ...).
type rowCons struct {
	args []Evaluator
	t    types.Type
}

func (e *rowCons) Type() types.Type      { return e.t }
func (e *rowCons) children() []Evaluator { return e.args }

func (e *rowCons) Eval(ctx *Context, in Input) (arrow.Array, error) {
	fields := make([]arrow.ArrayData, 0, len(e.args))
	defer func() {
		for _, f := range fields {
			f.Release()
		}
	}()
	for _, a := range e.args {
		col, err := a.Eval(ctx, in)
		if err != nil {
			return nil, err
		}
		col.Data().Retain()
		fields = append(fields, col.Data())
		col.Release()
	}
	d := array.NewData(e.t.Arrow(), in.Rows, []*memory.Buffer{nil}, fields, 0, 0)
	defer d.Release()
	return array.NewStructData(d), nil
}

// fieldAccess is row.field: NULL where the row is.
type fieldAccess struct {
	arg Evaluator
	i   int
	t   types.Type
}

func (e *fieldAccess) Type() types.Type      { return e.t }
func (e *fieldAccess) children() []Evaluator { return []Evaluator{e.arg} }

func (e *fieldAccess) Eval(ctx *Context, in Input) (arrow.Array, error) {
	a, err := e.arg.Eval(ctx, in)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	s := a.(*array.Struct)
	f := s.Field(e.i) // sliced as s is
	if s.NullN() == 0 || f.DataType().ID() == arrow.NULL {
		f.Retain()
		return f, nil
	}
	// The field's own validity, and that of the row.
	d := f.Data()
	if d.Offset() != 0 { // the new bitmap must have the offset of the other buffers
		valid := newBitmap(ctx, d.Offset()+d.Len())
		both := validity(ctx, d.Len(), operand{arr: f}, operand{arr: a})
		copyBits(valid, both, d.Offset(), d.Len())
		both.Release()
		return withValidity(d, valid), nil
	}
	return withValidity(d, validity(ctx, d.Len(), operand{arr: f}, operand{arr: a})), nil
}
