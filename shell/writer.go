// Package shell is what a person at a terminal meets: it prints results, runs scripts and is the REPL. It uses the library as any Go program could.
package shell

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/weir-sql/weir"
)

// Formats lists the result formats of --format and \format.
var Formats = []string{"table", "csv", "tsv", "json", "jsonl", "markdown", "vertical", "changelog"}

// WriterOptions say how results are printed.
type WriterOptions struct {
	Format   string
	NoHeader bool
	// MaxRows is how many rows are printed at most, 0 for all.
	MaxRows int64
	// Width is the terminal's width in columns, 0 when there is no terminal.
	Width int
	Zone  *time.Location
	// MaxColumnWidth cuts cells in tables; 0 takes a default.
	MaxColumnWidth int
}

// rowWriter prints one result. Rows are printed as they come.
type rowWriter interface {
	// begin is told the columns; updating results have a first column op.
	begin(columns weir.Schema, updating bool) error
	batch(b weir.Batch) error
	// end is called when the result has ended, with the number of rows.
	end(rows int64) error
}

func newWriter(out io.Writer, o WriterOptions) (rowWriter, error) {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	switch o.Format {
	case "", "table":
		return &tableWriter{out: out, o: o}, nil
	case "changelog":
		return &tableWriter{out: out, o: o, always: true}, nil
	case "csv":
		return &separatedWriter{out: out, o: o, sep: ','}, nil
	case "tsv":
		return &separatedWriter{out: out, o: o, sep: '\t'}, nil
	case "json":
		return &jsonWriter{out: out, o: o, array: true}, nil
	case "jsonl":
		return &jsonWriter{out: out, o: o}, nil
	case "markdown":
		return &markdownWriter{out: out, o: o}, nil
	case "vertical":
		return &verticalWriter{out: out, o: o}, nil
	}
	return nil, fmt.Errorf("unknown format %q: it is one of %s", o.Format, strings.Join(Formats, ", "))
}

// buffer collects bytes and writes them in large pieces. An error of the output stays.
type buffer struct {
	out io.Writer
	b   []byte
	err error
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.b = append(b.b, p...)
	return len(p), b.room()
}

func (b *buffer) flush() error {
	if len(b.b) > 0 && b.err == nil {
		_, b.err = b.out.Write(b.b)
	}
	b.b = b.b[:0]
	return b.err
}

func (b *buffer) room() error {
	if len(b.b) < 64<<10 {
		return nil
	}
	return b.flush()
}

// separatedWriter prints csv and tsv: a header line, NULL empty, an empty string "", cells quoted where they must be.
type separatedWriter struct {
	out     io.Writer
	o       WriterOptions
	sep     byte
	columns weir.Schema
	op      bool
	buf     buffer
	cell    []byte
}

func (w *separatedWriter) begin(columns weir.Schema, updating bool) error {
	w.columns, w.op, w.buf.out = columns, updating, w.out
	if w.o.NoHeader {
		return nil
	}
	if w.op {
		w.buf.b = append(append(w.buf.b, "op"...), w.sep)
	}
	for i, c := range columns {
		if i > 0 {
			w.buf.b = append(w.buf.b, w.sep)
		}
		w.buf.b = w.quote(w.buf.b, []byte(c.Name))
	}
	w.buf.b = append(w.buf.b, '\n')
	return w.buf.flush()
}

func (w *separatedWriter) quote(dst, cell []byte) []byte {
	plain := len(cell) > 0
	for _, c := range cell {
		if c == w.sep || c == '"' || c == '\n' || c == '\r' {
			plain = false
			break
		}
	}
	if plain && (cell[0] == ' ' || cell[len(cell)-1] == ' ') {
		plain = false
	}
	if plain {
		return append(dst, cell...)
	}
	dst = append(dst, '"')
	for _, c := range cell {
		if c == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

func (w *separatedWriter) batch(b weir.Batch) error {
	for i := 0; i < b.Len(); i++ {
		r := b.Row(i)
		if w.op {
			w.buf.b = append(append(w.buf.b, b.Kind(r).String()...), w.sep)
		}
		for j, c := range w.columns {
			if j > 0 {
				w.buf.b = append(w.buf.b, w.sep)
			}
			col := b.Record.Column(j)
			if col.IsNull(r) {
				// A line that is empty would be no record: the NULL of a single column is written as an empty cell all the same, as DuckDB does.
				continue
			}
			w.cell = weir.AppendText(w.cell[:0], col, r, c.Type, w.o.Zone)
			w.buf.b = w.quote(w.buf.b, w.cell)
		}
		w.buf.b = append(w.buf.b, '\n')
		if err := w.buf.room(); err != nil {
			return err
		}
	}
	return w.buf.flush()
}

func (w *separatedWriter) end(int64) error { return w.buf.flush() }

// jsonWriter prints one object a line, or all of them in an array.
type jsonWriter struct {
	out     io.Writer
	o       WriterOptions
	array   bool
	columns weir.Schema
	op      bool
	enc     weir.JSONEncoder
	buf     buffer
	first   bool
}

func (w *jsonWriter) begin(columns weir.Schema, updating bool) (err error) {
	w.columns, w.op, w.first, w.buf.out = columns, updating, true, w.out
	w.enc, err = weir.NewJSONEncoder(columns, updating, w.o.Zone)
	return err
}

func (w *jsonWriter) batch(b weir.Batch) error {
	for i := 0; i < b.Len(); i++ {
		switch {
		case w.array && w.first:
			w.buf.b = append(w.buf.b, "[\n  "...)
		case w.array:
			w.buf.b = append(w.buf.b, ",\n  "...)
		}
		w.first = false
		var err error
		if w.buf.b, err = w.enc.AppendRow(w.buf.b, b, b.Row(i)); err != nil {
			return err
		}
		if !w.array {
			w.buf.b = append(w.buf.b, '\n')
		}
		if err := w.buf.room(); err != nil {
			return err
		}
	}
	return w.buf.flush()
}

func (w *jsonWriter) end(int64) error {
	if w.array {
		if w.first {
			w.buf.b = append(w.buf.b, '[')
		} else {
			w.buf.b = append(w.buf.b, '\n')
		}
		w.buf.b = append(w.buf.b, "]\n"...)
	}
	return w.buf.flush()
}

// markdownWriter prints a table for documents.
type markdownWriter struct {
	out     io.Writer
	o       WriterOptions
	columns weir.Schema
	op      bool
	buf     buffer
	cell    []byte
}

func (w *markdownWriter) begin(columns weir.Schema, updating bool) error {
	w.columns, w.op, w.buf.out = columns, updating, w.out
	if w.o.NoHeader {
		return nil
	}
	head, rule := "|", "|"
	if w.op {
		head, rule = "| op |", "|---|"
	}
	for _, c := range columns {
		head += " " + escapeMarkdown(c.Name) + " |"
		rule += "---|"
	}
	w.buf.b = append(w.buf.b, head+"\n"+rule+"\n"...)
	return w.buf.flush()
}

var (
	markdownBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")
	markdownMarks  = strings.NewReplacer("\\", "\\\\", "|", "\\|", "*", "\\*", "`", "\\`", "<", "&lt;")
)

// escapeMarkdown makes text stand for itself in a cell. NULL is *NULL*, which no text is then.
func escapeMarkdown(s string) string {
	lines := strings.Split(markdownBreaks.Replace(s), "\n")
	for i, l := range lines {
		lines[i] = printable(markdownMarks.Replace(l))
	}
	return strings.Join(lines, "<br>")
}

func (w *markdownWriter) batch(b weir.Batch) error {
	for i := 0; i < b.Len(); i++ {
		r := b.Row(i)
		w.buf.b = append(w.buf.b, '|')
		if w.op {
			w.buf.b = append(w.buf.b, " "+b.Kind(r).String()+" |"...)
		}
		for j, c := range w.columns {
			text := "*NULL*"
			if col := b.Record.Column(j); !col.IsNull(r) {
				w.cell = weir.AppendText(w.cell[:0], col, r, c.Type, w.o.Zone)
				text = escapeMarkdown(string(w.cell))
			}
			w.buf.b = append(w.buf.b, " "+text+" |"...)
		}
		w.buf.b = append(w.buf.b, '\n')
		if err := w.buf.room(); err != nil {
			return err
		}
	}
	return w.buf.flush()
}

func (w *markdownWriter) end(int64) error { return w.buf.flush() }

// verticalWriter prints a line for each cell, as psql's \x.
type verticalWriter struct {
	out     io.Writer
	o       WriterOptions
	columns weir.Schema
	op      bool
	width   int
	rows    int64
	buf     buffer
	cell    []byte
}

func (w *verticalWriter) begin(columns weir.Schema, updating bool) error {
	w.columns, w.op, w.buf.out = columns, updating, w.out
	for _, c := range columns {
		w.width = max(w.width, displayWidth(printable(c.Name)))
	}
	if w.op {
		w.width = max(w.width, 2)
	}
	return nil
}

func (w *verticalWriter) batch(b weir.Batch) error {
	for i := 0; i < b.Len(); i++ {
		r := b.Row(i)
		w.rows++
		w.buf.b = fmt.Appendf(w.buf.b, "-[ %d ]-\n", w.rows)
		if w.op {
			w.buf.b = fmt.Appendf(w.buf.b, "%-*s | %s\n", w.width, "op", b.Kind(r))
		}
		for j, c := range w.columns {
			text := " <NULL>"
			if col := b.Record.Column(j); !col.IsNull(r) {
				w.cell = weir.AppendText(w.cell[:0], col, r, c.Type, w.o.Zone)
				if text = printable(string(w.cell)); text != "" {
					text = " " + text
				}
			}
			name := printable(c.Name)
			w.buf.b = append(w.buf.b, name+strings.Repeat(" ", w.width-displayWidth(name))+" |"+text+"\n"...)
		}
		if err := w.buf.room(); err != nil {
			return err
		}
	}
	return w.buf.flush()
}

func (w *verticalWriter) end(int64) error { return w.buf.flush() }
