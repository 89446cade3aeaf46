package weir

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// FinalTable is the table that a changelog amounts to: inserts add rows, -U and -D take away one row that is equal in every column, and a +U takes the
// place of the -U before it. A change of a row that is not there is an error.
type FinalTable struct {
	columns types.Schema
	zone    *time.Location
	rows    []finalRow
	index   map[string][]int // positions by line, ascending
	live    int
	hole    int   // position of the last -U that waits for its +U, or -1
	typed   bool  // rows keep their values too
	bytes   int64 // about what the rows hold, when typed
}

type finalRow struct {
	line   string
	cells  []cell
	values []any // when typed
	gone   bool
}

type cell struct {
	text string
	null bool
}

// NewFinalTable returns an empty table.
func NewFinalTable(columns types.Schema) *FinalTable {
	return &FinalTable{columns: columns, zone: time.UTC, index: map[string][]int{}, hole: -1}
}

// Columns returns the columns.
func (t *FinalTable) Columns() types.Schema { return t.columns }

// Len returns the number of rows.
func (t *FinalTable) Len() int { t.compact(); return len(t.rows) }

// Cell returns the text of a cell as CAST to STRING gives it (BYTES as x'0a'), or that it is NULL.
func (t *FinalTable) Cell(row, column int) (text string, null bool) {
	t.compact()
	c := t.rows[row].cells[column]
	return c.text, c.null
}

// CSV returns a line for each row: NULL is NULL, cells are quoted where they must be.
func (t *FinalTable) CSV() []string {
	t.compact()
	out := make([]string, len(t.rows))
	for i := range t.rows {
		out[i] = t.rows[i].line
	}
	return out
}

// Apply applies the rows of a batch; it does not take the batch over.
func (t *FinalTable) Apply(b Batch) error {
	n := b.Len()
	for i := 0; i < n; i++ {
		r := b.Row(i)
		cells := make([]cell, len(t.columns))
		for j := range cells {
			col := b.Record.Column(j)
			if col.IsNull(r) {
				cells[j].null = true
				continue
			}
			cells[j].text = types.Display(types.Get(col, r, t.columns[j].Type), t.columns[j].Type, t.zone)
		}
		var values []any
		if t.typed {
			values = make([]any, len(t.columns))
			for j := range values {
				values[j] = types.Get(b.Record.Column(j), r, t.columns[j].Type)
			}
		}
		if err := t.change(b.Kind(r), cells, values); err != nil {
			return err
		}
	}
	return nil
}

// ApplyCSV applies one line of a changelog as ChangelogCSV prints it.
func (t *FinalTable) ApplyCSV(line string) error {
	kind, rest, _ := strings.Cut(line, ",")
	cells, err := parseCSVLine(rest)
	if err != nil {
		return err
	}
	k, ok := parseKind(kind)
	if !ok {
		return fmt.Errorf("%q is no row kind", kind)
	}
	return t.change(k, cells, nil)
}

func parseKind(s string) (RowKind, bool) {
	for k := stream.Insert; k <= stream.Delete; k++ {
		if k.String() == s {
			return k, true
		}
	}
	return 0, false
}

func (t *FinalTable) change(k RowKind, cells []cell, values []any) error {
	line := csvLine(cells)
	if k.Retracts() {
		at := t.index[line]
		if len(at) == 0 {
			return fmt.Errorf("%s of a row that is not there: %s", k, line)
		}
		pos := at[len(at)-1]
		t.index[line] = at[:len(at)-1]
		if len(at) == 1 {
			delete(t.index, line)
		}
		t.rows[pos] = finalRow{gone: true}
		t.bytes -= rowBytes(line, values)
		t.live--
		t.hole = -1
		if k == stream.UpdateBefore {
			t.hole = pos
		}
		return nil
	}
	pos := len(t.rows)
	if k == stream.UpdateAfter && t.hole >= 0 {
		pos = t.hole
		t.rows[pos] = finalRow{line: line, cells: cells, values: values}
	} else {
		t.rows = append(t.rows, finalRow{line: line, cells: cells, values: values})
	}
	t.hole = -1
	t.bytes += rowBytes(line, values)
	t.index[line] = append(t.index[line], pos)
	t.live++
	if len(t.rows) > 1024 && t.live < len(t.rows)/2 {
		t.compact()
	}
	return nil
}

// rowBytes is about what a row holds: its line, twice more as cells and values, and what refers to them.
func rowBytes(line string, values []any) int64 { return int64(3*len(line) + 40*len(values) + 100) }

// compact closes the gaps that deletions left.
func (t *FinalTable) compact() {
	if t.live == len(t.rows) {
		return
	}
	kept := t.rows[:0]
	clear(t.index)
	for _, r := range t.rows {
		if !r.gone {
			t.index[r.line] = append(t.index[r.line], len(kept))
			kept = append(kept, r)
		}
	}
	clear(t.rows[len(kept):])
	t.rows, t.hole = kept, -1
}

// ChangelogCSV prints the rows of a batch as lines `+I,a,1`: the row kind, then the cells, NULL as NULL.
func ChangelogCSV(b Batch, columns types.Schema, zone *time.Location) []string {
	n := b.Len()
	out := make([]string, n)
	cells := make([]cell, len(columns))
	for i := 0; i < n; i++ {
		r := b.Row(i)
		for j := range cells {
			col := b.Record.Column(j)
			if cells[j] = (cell{null: true}); !col.IsNull(r) {
				cells[j] = cell{text: types.Display(types.Get(col, r, columns[j].Type), columns[j].Type, zone)}
			}
		}
		out[i] = b.Kind(r).String() + "," + csvLine(cells)
	}
	return out
}

// csvLine prints cells so that parseCSVLine gives them back: unquoted NULL is null.
func csvLine(cells []cell) string {
	var sb strings.Builder
	for i, c := range cells {
		if i > 0 {
			sb.WriteByte(',')
		}
		switch {
		case c.null:
			sb.WriteString("NULL")
		case c.text == "" || c.text == "NULL" || strings.ContainsAny(c.text, ",\"\r\n") || c.text[0] == ' ' || c.text[len(c.text)-1] == ' ':
			sb.WriteByte('"')
			sb.WriteString(strings.ReplaceAll(c.text, `"`, `""`))
			sb.WriteByte('"')
		default:
			sb.WriteString(c.text)
		}
	}
	return sb.String()
}

// parseCSVLine reads one line; encoding/csv cannot tell a quoted cell from a bare one, so bare NULLs are found by the raw text.
func parseCSVLine(line string) ([]cell, error) {
	r := csv.NewReader(strings.NewReader(line))
	r.LazyQuotes = false
	fields, err := r.Read()
	if errors.Is(err, io.EOF) {
		fields, err = []string{""}, nil
	}
	if err != nil {
		return nil, err
	}
	cells := make([]cell, len(fields))
	for i, f := range fields {
		_, col := r.FieldPos(i)
		quoted := col-1 < len(line) && col > 0 && line[col-1] == '"'
		cells[i] = cell{text: f, null: f == "NULL" && !quoted}
	}
	return cells, nil
}
