package op

import (
	"github.com/weir-sql/weir/exec/stream"
)

// cutAtCrossings walks a batch whose every row has its Before and cuts it at each row before which the watermark has moved to another cell, the spans
// between the watermarks that may change anything. rows gets the pieces, each with a reference of its own, and wm the watermark in between. The caller
// keeps b.
func cutAtCrossings(b stream.Batch, cell func(stream.Time) int64, rows func(stream.Batch) error, wm func(stream.Time) error) error {
	n, from := b.Len(), 0
	piece := func(to int) error {
		if from == to {
			return nil
		}
		var p stream.Batch
		if b.Selection != nil {
			p = b
			p.Selection = b.Selection[from:to:to]
			p.Retain()
		} else {
			p = b.Slice(from, to)
		}
		from = to
		return rows(p)
	}
	for i := range n {
		w := b.Before[b.Row(i)]
		if i > 0 {
			if before := b.Before[b.Row(i-1)]; w == before || cell(w) == cell(before) {
				continue
			}
		}
		if err := piece(i); err != nil {
			return err
		}
		if err := wm(w); err != nil {
			return err
		}
	}
	return piece(n)
}
