package build

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/connectors/watermark"
	"github.com/weir-sql/weir/exec/expr"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/exec/task"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/planner/physical"
	"github.com/weir-sql/weir/types"
)

// generator has a source make its watermarks by the generator that the table names, or that its source was registered with.
func (b *builder) generator(spec *task.Source, s *physical.Scan) error {
	w := s.Watermark
	factory := b.o.Generators[w.Generator]
	spec.GeneratorName = "the watermark generator " + w.Generator
	if w.Strategy {
		own, ok := s.Handle.(watermark.Table)
		if !ok {
			return fmt.Errorf("table %s: its source has lost its watermark strategy", s.Table.Path)
		}
		factory, spec.GeneratorName = own.WatermarkStrategy().Factory(), "the generator of its watermark strategy"
	}
	if factory == nil {
		return fmt.Errorf("table %s: the watermark generator %s is not registered in this session", s.Table.Path, w.Generator)
	}
	args := GeneratorArgs(w.Args)
	spec.Generator = func() (watermark.Generator, error) { return factory.New(args) }
	spec.Every = w.Every
	return nil
}

// GeneratorArgs are the arguments of a watermark.Factory. values are of package types, or a logical.RowArg for what is not constant.
func GeneratorArgs(values []any) []any {
	out := make([]any, len(values))
	for i, v := range values {
		if r, ok := v.(logical.RowArg); ok {
			out[i] = watermark.Column{Text: r.Text, Type: r.Type}
		} else {
			out[i] = generatorValue(v)
		}
	}
	return out
}

// generatorValue is a value of package types as generators take it.
func generatorValue(v any) any {
	switch v := v.(type) {
	case types.DurationVal:
		return time.Duration(v) * time.Microsecond
	case types.TimestampVal:
		return stream.Time(v)
	}
	return v
}

// Args implements task.ArgPreparer: for each row all arguments, the constants too.
func (p *preparer) Args(_ context.Context, rec arrow.RecordBatch) ([][]any, error) {
	if len(p.args) == 0 {
		return nil, nil
	}
	n, width := int(rec.NumRows()), len(p.argValues)
	out := make([][]any, n)
	values := make([]any, 0, n*width)
	for i := range out {
		values = append(values, p.argValues...)
		out[i] = values[i*width : (i+1)*width : (i+1)*width]
	}
	for k, v := range p.argValues {
		c, ok := v.(rowArg)
		if !ok {
			continue
		}
		e := p.args[c]
		a, err := e.Eval(p.context(), expr.Input{Record: rec, Rows: n})
		if err != nil {
			return nil, err
		}
		for i := range out {
			out[i][k] = generatorValue(types.Get(a, i, e.Type()))
		}
		a.Release()
	}
	return out, nil
}

// rowArg stands for an evaluator among the arguments of a generator.
type rowArg int

// rowArgs are the arguments of a generator with a rowArg for each that depends on the row.
func rowArgs(values []any) []any {
	out := GeneratorArgs(values)
	for i, v := range values {
		if r, ok := v.(logical.RowArg); ok {
			out[i] = rowArg(r.Index)
		}
	}
	return out
}
