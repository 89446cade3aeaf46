package optest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// next hands what operator i-1 emits to operator i.
type next struct {
	p *part
	i int
}

func (n *next) Emit(b stream.Batch) error {
	return n.p.ops[n.i].ProcessBatch(context.Background(), 0, b, n.p.outs[n.i])
}
func (n *next) Watermark(t stream.Time) error {
	return n.p.ops[n.i].ProcessWatermark(context.Background(), t, n.p.outs[n.i])
}
func (n *next) Side(name string) exec.Output { return &side{n.p, name} }

// collector prints what comes out.
type collector struct{ p *part }

func (c *collector) Emit(b stream.Batch) error {
	defer b.Release()
	o := &c.p.h.o
	for i := range b.Len() {
		r := b.Row(i)
		var line strings.Builder
		line.WriteString(b.Kind(r).String() + " ")
		writeRow(&line, b.Record, r, o.Output, o.Zone)
		if o.Exact {
			if b.Before == nil {
				return errors.New("a result without Before")
			}
			if w := b.Before[r]; w == stream.MinTime {
				line.WriteString(" before -")
			} else {
				line.WriteString(" before " + string(types.AppendTimestamp(nil, int64(w), 3)))
			}
		}
		*c.p.out = append(*c.p.out, line.String())
	}
	return nil
}

func writeRow(line *strings.Builder, rec arrow.RecordBatch, r int, schema types.Schema, zone *time.Location) {
	for c, col := range schema {
		if c > 0 {
			line.WriteString(",")
		}
		if rec.Column(c).IsNull(r) {
			line.WriteString("NULL")
			continue
		}
		text := string(types.AppendDisplay(nil, rec.Column(c), r, col.Type, zone))
		if text == "" || text == "NULL" || strings.ContainsAny(text, `,"`) {
			text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
		}
		line.WriteString(text)
	}
}

func (c *collector) Watermark(stream.Time) error  { return nil }
func (c *collector) Side(name string) exec.Output { return &side{c.p, name} }

// side prints rows of a side output by the columns of the input.
type side struct {
	p    *part
	name string
}

func (s *side) Emit(b stream.Batch) error {
	defer b.Release()
	for i := range b.Len() {
		var line strings.Builder
		line.WriteString(s.name + " ")
		writeRow(&line, b.Record, b.Row(i), s.p.h.o.Inputs[0], s.p.h.o.Zone)
		*s.p.late = append(*s.p.late, line.String())
	}
	return nil
}
func (s *side) Watermark(stream.Time) error { return nil }
func (s *side) Side(string) exec.Output     { return nil }
