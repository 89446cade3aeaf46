package state

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/exec"
)

// Tables are the named tables of one copy of an operator in a snapshot, in the order of writing. They are an exec.StateReader, and hold Arrow memory until
// Release. The zero value is empty.
type Tables struct {
	names []string
	recs  map[string][]arrow.RecordBatch
	keys  map[string]int
}

// Add appends a batch to the table called name, whose first keyColumns columns are the key; it retains rec.
func (t *Tables) Add(name string, keyColumns int, rec arrow.RecordBatch) error {
	if keyColumns < 0 || int64(keyColumns) > rec.NumCols() {
		return fmt.Errorf("internal error: state table %s has %d columns, not %d keys", name, rec.NumCols(), keyColumns)
	}
	if t.recs == nil {
		t.recs, t.keys = map[string][]arrow.RecordBatch{}, map[string]int{}
	}
	if _, ok := t.keys[name]; !ok {
		t.names = append(t.names, name)
	}
	t.keys[name] = keyColumns
	rec.Retain()
	t.recs[name] = append(t.recs[name], rec)
	return nil
}

// Writer returns what an operator writes its state to.
func (t *Tables) Writer() exec.StateWriter { return tableWriter{t} }

type tableWriter struct{ t *Tables }

func (w tableWriter) Table(name string, keyColumns int, rec arrow.RecordBatch) error {
	return w.t.Add(name, keyColumns, rec)
}

// Table implements exec.StateReader.
func (t *Tables) Table(name string) []arrow.RecordBatch {
	if t == nil {
		return nil
	}
	return t.recs[name]
}

// Names lists the tables in the order in which they were first written.
func (t *Tables) Names() []string {
	if t == nil {
		return nil
	}
	return t.names
}

// KeyColumns returns the number of leading columns of a table that are its key; 0 when it belongs to the operator as a whole.
func (t *Tables) KeyColumns(name string) int {
	if t == nil {
		return 0
	}
	return t.keys[name]
}

// Rows returns the number of rows of a table, and whether it is keyed.
func (t *Tables) Rows(name string) (rows int64, keyed bool) {
	for _, r := range t.Table(name) {
		rows += r.NumRows()
	}
	return rows, t.KeyColumns(name) > 0
}

// Release gives the memory back.
func (t *Tables) Release() {
	if t == nil {
		return
	}
	for _, rs := range t.recs {
		for _, r := range rs {
			r.Release()
		}
	}
	t.recs = nil
}
