package shell

import (
	"io"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/weir-sql/weir"
)

const (
	// defaultColumnWidth cuts the cells of a table (Flink: table.display.max-column-width, 30).
	defaultColumnWidth = 60
	// widthSample is how many rows of a bounded result set the widths of its columns. Rows behind them are cut to these widths, or to minStreamWidth.
	widthSample    = 500
	minStreamWidth = 20
)

// tableWriter prints a boxed table as rows come. NULL is <NULL>, an empty string is empty, the text NULL is NULL.
type tableWriter struct {
	out     io.Writer
	o       WriterOptions
	always  bool // changelog: a column op also for results that only grow
	columns weir.Schema
	op      bool
	pending [][]string
	widths  []int
	table   *tablewriter.Table
	cell    []byte
	live    bool // print at once
}

func (w *tableWriter) begin(columns weir.Schema, updating bool) error {
	w.columns, w.op = columns, updating || w.always
	return nil
}

// stream makes rows appear at once: for results without an end.
func (w *tableWriter) stream() { w.live = true }

func (w *tableWriter) header() []string {
	var h []string
	if w.op {
		h = append(h, "op")
	}
	for _, c := range w.columns {
		h = append(h, printable(c.Name))
	}
	return h
}

func (w *tableWriter) batch(b weir.Batch) error {
	for i := 0; i < b.Len(); i++ {
		r := b.Row(i)
		var row []string
		if w.op {
			row = append(row, b.Kind(r).String())
		}
		for j, c := range w.columns {
			text := "<NULL>"
			if col := b.Record.Column(j); !col.IsNull(r) {
				w.cell = weir.AppendText(w.cell[:0], col, r, c.Type, w.o.Zone)
				text = printable(string(w.cell))
			}
			row = append(row, text)
		}
		if w.table == nil {
			w.pending = append(w.pending, row)
			if len(w.pending) < widthSample {
				continue
			}
			if err := w.start(true); err != nil {
				return err
			}
			continue
		}
		if err := w.print(row); err != nil {
			return err
		}
	}
	if w.live && w.table == nil && len(w.pending) > 0 {
		return w.start(true)
	}
	return nil
}

// start fixes the widths by the rows seen so far and prints them.
func (w *tableWriter) start(more bool) error {
	limit := w.o.MaxColumnWidth
	if limit <= 0 {
		limit = defaultColumnWidth
	}
	head := w.header()
	w.widths = make([]int, len(head))
	for _, row := range append([][]string{head}, w.pending...) {
		for j, c := range row {
			w.widths[j] = min(max(w.widths[j], displayWidth(c)), limit)
		}
	}
	per := tw.NewMapper[int, int]()
	for j := range w.widths {
		if more && (j > 0 || !w.op) {
			w.widths[j] = max(w.widths[j], min(minStreamWidth, limit))
		}
		w.widths[j] = max(w.widths[j], 1)
		per.Set(j, w.widths[j]+2)
	}
	align := make([]tw.Align, len(head))
	for j := range align {
		align[j] = tw.AlignLeft
		if c := j - (len(head) - len(w.columns)); c >= 0 && w.columns[c].Type.IsNumeric() {
			align[j] = tw.AlignRight
		}
	}
	cells := tw.CellConfig{Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off}, Alignment: tw.CellAlignment{Global: tw.AlignLeft, PerColumn: align}}
	w.table = tablewriter.NewTable(w.out,
		tablewriter.WithConfig(tablewriter.Config{Stream: tw.StreamConfig{Enable: true}, Header: cells, Row: cells, Widths: tw.CellWidth{PerColumn: per}, Behavior: tw.Behavior{TrimSpace: tw.Off, TrimLine: tw.Off, TrimTab: tw.Off}}),
		tablewriter.WithRendition(tw.Rendition{Symbols: tw.NewSymbols(tw.StyleASCII), Streaming: true}))
	if err := w.table.Start(); err != nil {
		return err
	}
	if !w.o.NoHeader {
		w.cutRow(head)
		w.table.Header(head)
	}
	for _, row := range w.pending {
		if err := w.print(row); err != nil {
			return err
		}
	}
	w.pending = nil
	return nil
}

func (w *tableWriter) cutRow(row []string) {
	for j := range row {
		row[j] = cut(row[j], w.widths[j])
	}
}

func (w *tableWriter) print(row []string) error {
	w.cutRow(row)
	return w.table.Append(row)
}

func (w *tableWriter) end(int64) error {
	if w.table == nil {
		if err := w.start(false); err != nil {
			return err
		}
	}
	return w.table.Close()
}
