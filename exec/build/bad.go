package build

import (
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/expr"
	"github.com/weir-sql/weir/exec/op"
	"github.com/weir-sql/weir/exec/task"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/planner/physical"
)

// turns is how often a root is built: once, but for a sink of bad records once for each time that its scan is read.
func (b *builder) turns(n physical.Node) int {
	for len(n.Inputs()) > 0 {
		if bad, ok := n.(*physical.BadRecords); ok {
			return len(b.sources[bad.Inputs()[0]])
		}
		n = n.Inputs()[0]
	}
	return 1
}

// badRecords hangs what becomes of bad records on the side of their scan.
func (b *builder) badRecords(n *physical.BadRecords, id string) (*stage, error) {
	t := b.sources[n.Inputs()[0]][b.turn]
	schema, text, table := n.Schema().Arrow(), n.Schema()[0].Type.IsText(), strings.ReplaceAll(t.Source.Table, "`", "")
	t.Source.BadBatch = func(bad []connectors.BadRecord, times []time.Time) arrow.RecordBatch {
		r := array.NewRecordBuilder(b.o.Allocator, schema)
		defer r.Release()
		for i, x := range bad {
			if text {
				r.Field(0).(*array.StringBuilder).Append(strings.ToValidUTF8(string(x.Raw), "\uFFFD"))
			} else {
				r.Field(0).(*array.BinaryBuilder).Append(x.Raw)
			}
			r.Field(1).(*array.StringBuilder).Append(x.Err)
			r.Field(2).(*array.StringBuilder).Append(table)
			r.Field(3).(*array.StringBuilder).Append(x.Split)
			r.Field(4).(*array.Int64Builder).Append(x.Position)
			r.Field(5).(*array.TimestampBuilder).Append(arrow.Timestamp(times[i].UnixMicro()))
		}
		return r.NewRecordBatch()
	}
	// An operator that passes rows on, so that the chain begins with one.
	columns := make([]logical.Expr, len(n.Schema()))
	for i := range columns {
		columns[i] = logical.NewColumn(n.Schema(), i)
	}
	projections, err := evaluators(columns)
	if err != nil {
		return nil, err
	}
	var none expr.Evaluator
	o := &task.Op{ID: id, Name: n.Op(), Inputs: 1, Schema: schema}
	o.New = checked(func() exec.Operator { return op.NewCalc(none, projections, n.Schema()) }, n.Op(), o.Schema)
	t.Source.Bad = append(t.Source.Bad, task.Target{Op: o})
	return &stage{task: t, op: o}, nil
}
