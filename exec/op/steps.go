package op

import (
	"github.com/weir-sql/weir/exec/stream"
)

// cutAtSteps walks a batch whose every row has its Before and cuts it at each row before which the watermark has moved. rows gets the pieces, each with a
// reference of its own, and wm the watermark before each of them. The caller keeps b.
func cutAtSteps(b stream.Batch, rows func(stream.Batch) error, wm func(stream.Time) error) error {
	n, from := b.Len(), 0
	for from < n {
		w := b.Before[b.Row(from)]
		to := from + 1
		for to < n && b.Before[b.Row(to)] == w {
			to++
		}
		if err := wm(w); err != nil {
			return err
		}
		var p stream.Batch
		if b.Selection != nil {
			p = b
			p.Selection = b.Selection[from:to:to]
			p.Retain()
		} else {
			p = b.Slice(from, to)
		}
		if err := rows(p); err != nil {
			return err
		}
		from = to
	}
	return nil
}
