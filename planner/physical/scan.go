package physical

import (
	"fmt"
	"strings"
	"time"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// Scan reads a table. The connector gives the raw columns (Columns, then Metadata); Projections over them are the output: physical columns as they are,
// metadata columns cast to their declared type, computed columns evaluated.
type Scan struct {
	node
	Table  *catalog.Table
	Handle catalog.ConnectorTable
	// Columns are the wanted physical columns, ascending positions in Handle.Schema().
	Columns []int
	// Metadata are the wanted metadata keys, in the order of the raw columns.
	Metadata []string
	// Raw is the schema of the connector's batches: Columns, then Metadata with the connector's types.
	Raw types.Schema
	// Projections give the output columns over Raw. Trivial when Identity reports so.
	Projections []logical.Expr
	// Watermark is nil for a table without one.
	Watermark *Watermark
	// KeepBad: bad records go into a table (BadRecords), or are only counted (ADVISE WATERMARK).
	KeepBad bool
	// Limit is how many rows are wanted at most, 0 for all: a hint to the connector.
	Limit int64
	// Pos is where the table stands in the text.
	Pos ast.Pos
}

// Watermark says how a scan makes watermarks.
type Watermark struct {
	// Column is the rowtime column's position in the output.
	Column int
	// Expr gives the watermark from the output columns; TIMESTAMP or TIMESTAMP_LTZ, NULL does not advance. nil with Source.
	Expr logical.Expr
	// Source: the connector supplies watermarks (SOURCE_WATERMARK()).
	Source bool
	// Generator names what makes the watermarks of each split from its event times, with its arguments (values of package types, and a logical.RowArg for
	// each that is not constant); Expr is nil then. Strategy: it is that of the source.
	Generator string
	Args      []any
	Strategy  bool
	// Inputs are the arguments that are not constant, from the output columns.
	Inputs []logical.Expr
	// Every is how often the clock calls a generator that goes by it, 0 for never ('pipeline.auto-watermark-interval').
	Every time.Duration
	// Nulls says what becomes of a row whose event time is NULL ('scan.watermark.null-rows').
	Nulls NullRows
	// IdleTimeout is after how much silence a split counts as idle, 0 for never ('scan.watermark.idle-timeout', 'table.exec.source.idle-timeout').
	// Bounded splits are never idle.
	IdleTimeout time.Duration
	// MaxFuture is how far event times may be ahead of processing time, 0 for as far as they like ('scan.watermark.max-future'); Future says what becomes of
	// rows beyond it ('scan.watermark.future-rows').
	MaxFuture time.Duration
	Future    FutureRows
	// Periodic is the interval of 'on-periodic', 0 for 'on-event'.
	Periodic time.Duration
	// Alignment is the zero value for a scan that is in no group.
	Alignment Alignment
}

// Alignment says how a scan's splits wait for those of its group: one whose watermark is further ahead than MaxDrift of the lowest watermark in the group
// is not read until an update finds it within MaxDrift again ('scan.watermark.alignment.*'). All scans of a job that name the same group are in it; drift
// and interval are each scan's own.
type Alignment struct {
	Group          string
	MaxDrift       time.Duration
	UpdateInterval time.Duration
}

// On reports whether there is anything to align.
func (a Alignment) On() bool {
	return strings.TrimSpace(a.Group) != "" && a.MaxDrift > 0 && a.UpdateInterval > 0
}

// NullRows is what becomes of rows without event time.
type NullRows uint8

// The policies.
const (
	FailNullRows NullRows = iota
	KeepNullRows          // kept, does not advance the watermark; skipped by windows and counted there
	DropNullRows          // dropped and counted
)

// FutureRows is what becomes of rows too far ahead of processing time. They are counted and never advance the watermark.
type FutureRows uint8

// The policies.
const (
	KeepFutureRows FutureRows = iota
	DropFutureRows
	FailFutureRows
)

func (f FutureRows) String() string { return [...]string{"keep", "drop", "fail"}[f] }

func (n NullRows) String() string { return [...]string{"fail", "keep", "drop"}[n] }

// ScanColumn is an output column of a scan.
type ScanColumn struct {
	Name string
	Expr logical.Expr // over the raw columns
	Type types.Type   // with time attribute
}

// NewScan makes a scan of the given physical columns (ascending) and metadata keys.
func NewScan(t *catalog.Table, h catalog.ConnectorTable, columns []int, metadata []string, out []ScanColumn, wm *Watermark, pos ast.Pos) *Scan {
	s := &Scan{Table: t, Handle: h, Columns: columns, Metadata: metadata, Watermark: wm, Pos: pos}
	phys, meta := h.Schema(), h.MetadataKeys()
	for _, c := range columns {
		s.Raw = append(s.Raw, phys[c])
	}
	for _, k := range metadata {
		s.Raw = append(s.Raw, meta[meta.Index(k)])
	}
	for _, c := range out {
		s.Projections = append(s.Projections, c.Expr)
		s.schema = append(s.schema, types.Column{Name: c.Name, Type: c.Type})
	}
	s.props = Props{Partitioning: Partitioning{Count: 1}, EventTime: -1, Bounded: h.Bounded()}
	if wm != nil {
		s.props.EventTime = wm.Column
	}
	switch h.ChangelogKinds() {
	case "I":
	case "I,UA,D":
		s.props.Changelog = Upsert
	default:
		s.props.Changelog = Retract
	}
	if len(t.PrimaryKey) > 0 {
		key := []int{}
		for _, k := range t.PrimaryKey {
			i := s.schema.Index(k)
			if i < 0 {
				key = nil
				break
			}
			key = append(key, i)
		}
		s.props.Key = key
	}
	return s
}

// Identity reports whether the output is the raw columns as they are.
func (s *Scan) Identity() bool { return isIdentity(s.Projections, len(s.Raw)) }

func isIdentity(es []logical.Expr, n int) bool {
	if len(es) != n {
		return false
	}
	for i, e := range es {
		if c, ok := e.(*logical.Column); !ok || c.Index != i {
			return false
		}
	}
	return true
}

// Op implements Node.
func (*Scan) Op() string { return "Scan" }

// Details implements Node.
func (s *Scan) Details() []Detail {
	name := logical.TableName(s.Table)
	d := []Detail{{"table", name}, {"fields", strings.Join(s.schema.Names(), ", ")}}
	if len(s.Metadata) > 0 {
		d = append(d, Detail{"metadata", strings.Join(s.Metadata, ", ")})
	}
	var computed []string
	for i, e := range s.Projections {
		if _, ok := e.(*logical.Column); !ok {
			computed = append(computed, fmt.Sprintf("%s AS %s", e, logical.QuoteName(s.schema[i].Name)))
		}
	}
	if computed != nil {
		d = append(d, Detail{"computed", strings.Join(computed, ", ")})
	}
	if w := s.Watermark; w != nil {
		x := "SOURCE_WATERMARK()"
		if w.Generator != "" {
			x = w.Generator
			if len(w.Inputs) > 0 {
				x += "(" + exprList(w.Inputs) + ")"
			}
		} else if w.Strategy {
			x = "the source's strategy"
		} else if !w.Source {
			x = w.Expr.String()
		}
		d = append(d, Detail{"watermark", x})
		if w.Nulls != FailNullRows {
			d = append(d, Detail{"nullRows", w.Nulls.String()})
		}
		if w.IdleTimeout > 0 {
			d = append(d, Detail{"idleTimeout", w.IdleTimeout.String()})
		}
		if w.MaxFuture > 0 {
			d = append(d, Detail{"maxFuture", w.MaxFuture.String() + ", " + w.Future.String()})
		}
		if w.Periodic > 0 {
			d = append(d, Detail{"emit", "every " + w.Periodic.String()})
		}
		if a := w.Alignment; a.On() {
			d = append(d, Detail{"alignment", fmt.Sprintf("%s, max drift %s, every %s", a.Group, a.MaxDrift, a.UpdateInterval)})
		}
	}
	if s.Limit > 0 {
		d = append(d, Detail{"limit", fmt.Sprint(s.Limit)})
	}
	return d
}

// Values is a constant table. Every value has the column's type exactly.
type Values struct {
	node
	Rows [][]logical.Expr // constant expressions; literals unless they are volatile or folding is off
}

// NewValues makes a constant table; it may have no rows.
func NewValues(schema types.Schema, rows [][]logical.Expr) *Values {
	v := &Values{Rows: rows}
	v.schema = schema
	v.props = Props{Partitioning: Partitioning{Count: 1}, EventTime: -1, Bounded: true}
	if len(rows) <= 1 {
		v.props.Key = []int{}
	}
	return v
}

// Op implements Node.
func (*Values) Op() string { return "Values" }

// Details implements Node.
func (v *Values) Details() []Detail {
	rows := make([]string, 0, len(v.Rows))
	for i, r := range v.Rows {
		if i == 10 {
			rows = append(rows, fmt.Sprintf("... %d rows", len(v.Rows)))
			break
		}
		rows = append(rows, "("+exprList(r)+")")
	}
	return []Detail{{"rows", strings.Join(rows, ", ")}, {"fields", strings.Join(v.schema.Names(), ", ")}}
}

func exprList(es []logical.Expr) string {
	s := make([]string, len(es))
	for i, e := range es {
		s[i] = e.String()
	}
	return strings.Join(s, ", ")
}
