// Package test has the connector 'test': tables that a Go program feeds, row by row and mark by mark.
//
//	tables := test.NewRegistry()                     // pass tables.Connector() to the library
//	t := tables.Table(path)                          // after CREATE TABLE ... WITH ('connector' = 'test')
//	t.Append(0, "ann,2024-05-01 10:00:01")           // a row, as CSV
//	t.Watermark(0, "2024-05-01 10:00:00"); t.Idle(0); t.End(-1)
//
// What a table was fed is one log: every scan replays it from its first row, and then waits for more. Splits are counted from 0; with the option 'splits'
// there are so many from the start, otherwise split 0 and those that were mentioned.
//
// Source. Delivery: exactly once. Ordering: that of the log, over all splits. Replay: any position, within the process. Position: the number of the next
// entry of the log for the split. There is no sink.
package test

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Registry has the test tables of one session.
type Registry struct {
	mu     sync.Mutex
	tables map[string]*Table
}

// NewRegistry returns a registry without tables.
func NewRegistry() *Registry { return &Registry{tables: map[string]*Table{}} }

// Connector returns the connector that makes tables of this registry.
func (r *Registry) Connector() connectors.Connector { return connector{r} }

// Table returns the table whose declaration had the name, or nil.
func (r *Registry) Table(name string) *Table {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tables[name]
}

// Tables returns all tables, by name.
func (r *Registry) Tables() []*Table {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for n := range r.tables {
		names = append(names, n)
	}
	sort.Strings(names)
	out := make([]*Table, len(names))
	for i, n := range names {
		out[i] = r.tables[n]
	}
	return out
}

type connector struct{ r *Registry }

func (connector) Name() string { return "test" }

func (connector) Options() []connectors.Option {
	return []connectors.Option{
		{Name: "splits", Type: "integer", Doc: "How many splits there are from the start; default: split 0 and those that are fed."},
		{Name: "changelog-mode", Type: "I|I,UA,D|all", Default: "I", Doc: "The kinds of rows; unless I, each row that is fed begins with its kind (+I, -U, +U, -D)."},
	}
}

// Table returns the table of the registry with the declaration's name. It is the one from before unless ID or columns have changed.
func (c connector) Table(ctx context.Context, decl connectors.Declaration) (connectors.Table, error) {
	if err := connectors.CheckOptions("connector 'test'", decl.Options, c.Options()); err != nil {
		return nil, err
	}
	if len(decl.Columns) == 0 {
		return nil, fmt.Errorf("table %s: connector 'test' needs columns", decl.Name)
	}
	if len(decl.Metadata) > 0 {
		return nil, fmt.Errorf("table %s: connector 'test' has no metadata columns", decl.Name)
	}
	splits := int(connectors.GetInt(decl.Options, "splits", 0))
	if _, given := decl.Options["splits"]; given && (splits < 1 || splits > 10_000) {
		return nil, fmt.Errorf("option 'splits' must be between 1 and 10000")
	}
	mode := connectors.GetEnum(decl.Options, "changelog-mode", "I", "I", "I,UA,D", "all")
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	if t := c.r.tables[decl.Name]; t != nil && t.id == decl.ID && t.fixed == splits && t.mode == mode && slices.EqualFunc(t.schema, decl.Columns, sameColumn) {
		return t, nil
	}
	t := &Table{name: decl.Name, id: decl.ID, schema: decl.Columns, mode: mode, fixed: splits, zone: decl.Zone, splits: max(1, splits), sources: map[*source]struct{}{}}
	c.r.tables[decl.Name] = t
	return t, nil
}

func sameColumn(a, b types.Column) bool { return a.Name == b.Name && a.Type.Equal(b.Type) }

// Table is a table that is fed by its methods. They may be called from any goroutine.
type Table struct {
	name   string
	id     int64
	schema types.Schema
	mode   string
	fixed  int // 'splits', 0 when not given
	zone   *time.Location

	mu      sync.Mutex
	log     []entry
	splits  int
	ended   bool // End(-1): there will be no new splits
	endedAt map[int]bool
	sources map[*source]struct{} // running scans, to be woken
}

// entry is one thing that a table was fed.
type entry struct {
	split int
	what  what
	kind  stream.RowKind
	row   []any
	mark  stream.Time
}

type what uint8

const (
	aRow what = iota
	aWatermark
	idleness
	theEnd
)

// Name returns the name of the declaration.
func (t *Table) Name() string { return t.name }

// Append adds a row: its cells as CSV, in order of the physical columns, read as by CAST from STRING; unquoted NULL is NULL, a quoted cell is text. With
// a changelog-mode other than I the kind comes first. Cells of ARRAY, MAP and ROW are JSON, in quotes.
func (t *Table) Append(split int, row string) error {
	cells, err := splitCells(row)
	if err != nil {
		return err
	}
	e := entry{split: split}
	if t.mode != "I" {
		if len(cells) == 0 {
			return fmt.Errorf("the row must begin with its kind: +I, -U, +U or -D")
		}
		if e.kind, err = t.rowKind(cells[0].text); err != nil {
			return err
		}
		cells = cells[1:]
	}
	if len(cells) != len(t.schema) {
		return fmt.Errorf("%s, but %s (%s)", types.Count(len(cells), "cell"), types.Count(len(t.schema), "column"), strings.Join(t.schema.Names(), ", "))
	}
	e.row = make([]any, len(cells))
	for i, c := range cells {
		typ := t.schema[i].Type
		if c.null() {
			if !typ.Nullable {
				return fmt.Errorf("column %s is NOT NULL", t.schema[i].Name)
			}
			continue
		}
		if e.row[i], err = parseCell(c.text, typ, t.zone); err != nil {
			return fmt.Errorf("column %s: %w", t.schema[i].Name, err)
		}
	}
	return t.add(e)
}

// AppendRow adds a row of canonical values.
func (t *Table) AppendRow(split int, kind stream.RowKind, values ...any) error {
	if len(values) != len(t.schema) {
		return fmt.Errorf("%s, but %s", types.Count(len(values), "value"), types.Count(len(t.schema), "column"))
	}
	return t.add(entry{split: split, kind: kind, row: values})
}

func (t *Table) rowKind(s string) (stream.RowKind, error) {
	for _, k := range []stream.RowKind{stream.Insert, stream.UpdateBefore, stream.UpdateAfter, stream.Delete} {
		if k.String() == s {
			if k == stream.UpdateBefore && t.mode == "I,UA,D" {
				return 0, fmt.Errorf("-U is not of 'changelog-mode' = 'I,UA,D'")
			}
			return k, nil
		}
	}
	return 0, fmt.Errorf("the row must begin with its kind: +I, -U, +U or -D, not '%s'", s)
}

// Watermark adds a watermark of the source: the text of a TIMESTAMP.
func (t *Table) Watermark(split int, at string) error {
	us, err := types.ParseTimestamp([]byte(at), 6)
	if err != nil {
		return err
	}
	return t.add(entry{split: split, what: aWatermark, mark: stream.Time(us)})
}

// Idle declares a split idle until it is fed again.
func (t *Table) Idle(split int) error { return t.add(entry{split: split, what: idleness}) }

// End ends a split; -1 ends all, and no new ones may come.
func (t *Table) End(split int) {
	if split >= 0 {
		_ = t.add(entry{split: split, what: theEnd})
		return
	}
	t.mu.Lock()
	n := t.splits
	t.ended = true
	t.mu.Unlock()
	for i := range n {
		_ = t.add(entry{split: i, what: theEnd})
	}
}

// add puts an entry into the log and wakes the scans. Rows behind the end of a split are not read by anyone.
func (t *Table) add(e entry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.split < 0 || t.fixed > 0 && e.split >= t.fixed {
		return fmt.Errorf("there is no split %d: 'splits' = '%d' are counted from 0", e.split, t.fixed)
	}
	if e.split > 10_000 {
		return fmt.Errorf("split %d: more than 10000 splits", e.split)
	}
	if t.endedAt == nil {
		t.endedAt = map[int]bool{}
	}
	if t.endedAt[e.split] || t.ended && e.split >= t.splits {
		return nil
	}
	t.endedAt[e.split] = e.what == theEnd
	grown := e.split >= t.splits
	if grown {
		t.splits = e.split + 1
	}
	t.log = append(t.log, e)
	for s := range t.sources {
		s.wake(grown)
	}
	return nil
}

// Schema returns the columns.
func (t *Table) Schema() types.Schema { return t.schema }

// MetadataKeys is empty.
func (t *Table) MetadataKeys() types.Schema { return nil }

// MetadataWritable is false.
func (t *Table) MetadataWritable(string) bool { return false }

// Bounded is false: for the planner test tables do not end.
func (t *Table) Bounded() bool { return false }

// ChangelogKinds is the option changelog-mode.
func (t *Table) ChangelogKinds() string { return t.mode }

// AcceptsKinds is empty: there is no sink.
func (t *Table) AcceptsKinds() string { return "" }

// RowEstimate is unknown.
func (t *Table) RowEstimate() int64 { return -1 }

// SuppliesWatermarks is true: see Watermark.
func (t *Table) SuppliesWatermarks() bool { return true }
