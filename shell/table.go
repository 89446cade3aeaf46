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
	// widthSample is how many rows of a result set the widths of its columns. Rows behind them are cut to these widths, or to minStreamWidth.
	widthSample    = 500
	minStreamWidth = 20
	// leastWidth is how narrow a column may become when a table is made to fit a terminal.
	leastWidth = 8
)

// tableWriter prints a boxed table as rows come. NULL is <NULL>, an empty string is empty, the text NULL is NULL.
type tableWriter struct {
	out     io.Writer
	o       WriterOptions
	always  bool // changelog: a column op also for results that only grow
	columns weir.Schema
	op      bool
	pending [][]string // rows that wait until the widths are fixed
	widths  []int
	right   []bool
	table   *tablewriter.Table
	buf     buffer
	cell    []byte
	live    bool // print at once
}

func (w *tableWriter) begin(columns weir.Schema, updating bool) error {
	w.columns, w.op, w.buf.out = columns, updating || w.always, w.out
	return nil
}

// stream makes rows appear at once: for results without an end.
func (w *tableWriter) stream() { w.live = true }

// waiting reports whether there are rows that were not printed yet.
func (w *tableWriter) waiting() bool { return w.table == nil && len(w.pending) > 0 }

// flush prints rows that wait; what comes later is cut to the widths that they have.
func (w *tableWriter) flush() error { return w.start(true) }

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
		if w.table != nil {
			w.appendRow(b, r)
			if err := w.buf.room(); err != nil {
				return err
			}
			continue
		}
		w.pending = append(w.pending, w.row(b, r))
		if len(w.pending) == widthSample {
			if err := w.start(true); err != nil {
				return err
			}
		}
	}
	if w.live && w.waiting() {
		return w.start(true)
	}
	return w.buf.flush()
}

// row returns the cells of a row.
func (w *tableWriter) row(b weir.Batch, r int) []string {
	row := make([]string, 0, len(w.columns)+1)
	if w.op {
		row = append(row, b.Kind(r).String())
	}
	for j := range w.columns {
		row = append(row, string(w.text(b, r, j)))
	}
	return row
}

// text returns the text of a cell; it is valid until the next call.
func (w *tableWriter) text(b weir.Batch, r, j int) []byte {
	col := b.Record.Column(j)
	if col.IsNull(r) {
		return append(w.cell[:0], "<NULL>"...)
	}
	if w.raw(b, r, j); !isPrintableASCII(w.cell) {
		w.cell = append(w.cell[:0], printable(string(w.cell))...)
	}
	return w.cell
}

// raw returns the text of a cell that is not NULL as it is; it is valid until the next call.
func (w *tableWriter) raw(b weir.Batch, r, j int) []byte {
	w.cell = weir.AppendText(w.cell[:0], b.Record.Column(j), r, w.columns[j].Type, w.o.Zone)
	return w.cell
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
	for j := range w.widths {
		if more && (j > 0 || !w.op) {
			w.widths[j] = max(w.widths[j], min(minStreamWidth, limit))
		}
		w.widths[j] = max(w.widths[j], 1)
	}
	fit(w.widths, w.o.Width)
	per := tw.NewMapper[int, int]()
	align := make([]tw.Align, len(head))
	w.right = make([]bool, len(head))
	for j := range align {
		per.Set(j, w.widths[j]+2)
		align[j] = tw.AlignLeft
		if c := j - (len(head) - len(w.columns)); c >= 0 && w.columns[c].Type.IsNumeric() {
			align[j], w.right[j] = tw.AlignRight, true
		}
	}
	cells := tw.CellConfig{Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off}, Alignment: tw.CellAlignment{Global: tw.AlignLeft, PerColumn: align}}
	w.table = tablewriter.NewTable(&w.buf,
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
		w.cutRow(row)
		if err := w.table.Append(row); err != nil {
			return err
		}
	}
	w.pending = nil
	return w.buf.flush()
}

// fit makes the widest columns narrower until the table fits into a terminal of that width, or every column is as narrow as it may be.
func fit(widths []int, terminal int) {
	if terminal <= 0 {
		return
	}
	total := 1
	for _, w := range widths {
		total += w + 3
	}
	for total > terminal {
		widest := 0
		for j := range widths {
			if widths[j] > widths[widest] {
				widest = j
			}
		}
		if widths[widest] <= leastWidth {
			return
		}
		widths[widest]--
		total--
	}
}

func (w *tableWriter) cutRow(row []string) {
	for j := range row {
		row[j] = cut(row[j], w.widths[j])
	}
}

// appendRow prints a row behind those that fixed the widths, as the table writer does: that one is too slow for millions of rows.
func (w *tableWriter) appendRow(b weir.Batch, r int) {
	first := 0
	if w.op {
		first = 1
		w.pad([]byte(b.Kind(r).String()), 0)
	}
	for j := range w.columns {
		w.pad(w.text(b, r, j), first+j)
	}
	w.buf.b = append(w.buf.b, "|\n"...)
}

// pad appends a cell, cut or filled to its column's width.
func (w *tableWriter) pad(cell []byte, column int) {
	width, want := len(cell), w.widths[column]
	if !isPrintableASCII(cell) {
		width = displayWidth(string(cell))
	}
	if width > want {
		cell = []byte(cut(string(cell), want))
		width = displayWidth(string(cell))
	}
	w.buf.b = append(w.buf.b, "| "...)
	if w.right[column] {
		w.buf.b = appendBlanks(w.buf.b, want-width)
	}
	w.buf.b = append(w.buf.b, cell...)
	if !w.right[column] {
		w.buf.b = appendBlanks(w.buf.b, want-width)
	}
	w.buf.b = append(w.buf.b, ' ')
}

func appendBlanks(dst []byte, n int) []byte {
	for ; n > 0; n-- {
		dst = append(dst, ' ')
	}
	return dst
}

func (w *tableWriter) end(int64) error {
	if w.table == nil {
		if err := w.start(false); err != nil {
			return err
		}
	}
	if err := w.table.Close(); err != nil {
		return err
	}
	return w.buf.flush()
}
