// Package datagen has the connector 'datagen': rows of random or counted values, with the options of Flink's.
//
// Source. Delivery: exactly once: a row is a function of the seed and its number (but for times, which are taken from the processing-time clock when a
// row is due). Ordering: by number. Replay: any position. Position: the number of the next row and the seed.
package datagen

import (
	"context"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/types"
)

// Connector is the datagen connector.
type Connector struct{}

// Name is datagen.
func (Connector) Name() string { return "datagen" }

// Options are those of Flink, and seed.
func (Connector) Options() []connectors.Option {
	return []connectors.Option{
		{Name: "rows-per-second", Type: "integer", Default: "10000", Doc: "How fast rows come."},
		{Name: "number-of-rows", Type: "integer", Doc: "How many rows there are; default: no end, unless a column is a sequence."},
		{Name: "scan.parallelism", Type: "integer", Doc: "Has no effect here: the source has one split."},
		{Name: "seed", Type: "integer", Doc: "Makes the same rows in each run; default: other rows in each run."},
		{Name: "fields.#.kind", Type: "random|sequence", Default: "random", Doc: "Random values, or a sequence from start to end."},
		{Name: "fields.#.min", Type: "double", Doc: "The least random number; default: that of the type."},
		{Name: "fields.#.max", Type: "double", Doc: "The greatest random number; default: that of the type."},
		{Name: "fields.#.max-past", Type: "duration", Default: "0", Doc: "How far random timestamps lie in the past at most."},
		{Name: "fields.#.length", Type: "integer", Default: "100", Doc: "The length of text and bytes, and of ARRAY, MAP and MULTISET (there 3)."},
		{Name: "fields.#.var-len", Type: "boolean", Default: "false", Doc: "Lengths are random, up to length."},
		{Name: "fields.#.null-rate", Type: "double", Default: "0", Doc: "The share of NULLs."},
		{Name: "fields.#.start", Type: "integer", Doc: "The first value of a sequence."},
		{Name: "fields.#.end", Type: "integer", Doc: "The last value of a sequence; the table ends with the first sequence that ends."},
	}
}

// field says how a column, or a part of one, is made.
type field struct {
	typ      types.Type
	sequence bool
	start    int64
	lo, hi   float64 // of numbers
	ilo, ihi int64   // of integers
	past     time.Duration
	length   int
	varLen   bool
	nullRate float64
	kids     []*field
}

type table struct {
	schema types.Schema
	fields []*field
	rate   int64
	rows   int64 // -1: no end
	seed   uint64
	seeded bool
}

// Table checks a declaration.
func (c Connector) Table(ctx context.Context, decl connectors.Declaration) (connectors.Table, error) {
	if err := connectors.CheckOptions("connector 'datagen'", decl.Options, c.Options()); err != nil {
		return nil, err
	}
	if len(decl.Columns) == 0 {
		return nil, fmt.Errorf("table %s: connector 'datagen' needs columns", decl.Name)
	}
	if len(decl.Metadata) > 0 {
		return nil, fmt.Errorf("table %s: connector 'datagen' has no metadata columns", decl.Name)
	}
	t := &table{schema: decl.Columns, rate: connectors.GetInt(decl.Options, "rows-per-second", 10_000), rows: connectors.GetInt(decl.Options, "number-of-rows", -1)}
	if t.rate < 1 {
		return nil, fmt.Errorf("option 'rows-per-second' must be at least 1")
	}
	if _, given := decl.Options["number-of-rows"]; given && t.rows < 0 {
		return nil, fmt.Errorf("option 'number-of-rows' must not be negative")
	}
	if _, t.seeded = decl.Options["seed"]; t.seeded {
		t.seed = uint64(connectors.GetInt(decl.Options, "seed", 0))
	}
	used := map[string]bool{}
	for _, col := range decl.Columns {
		f, rows, err := newField(col.Name, col.Type, decl.Options, used)
		if err != nil {
			return nil, fmt.Errorf("table %s, column %s: %w", decl.Name, col.Name, err)
		}
		t.fields = append(t.fields, f)
		if rows >= 0 && (t.rows < 0 || rows < t.rows) {
			t.rows = rows
		}
	}
	var unused []string
	for name := range decl.Options {
		if strings.HasPrefix(name, "fields.") && !used[name] {
			unused = append(unused, name)
		}
	}
	if len(unused) > 0 {
		sort.Strings(unused)
		hint := ""
		if near := connectors.Nearest(unused[0], possible(decl.Columns, unused[0])); near != "" {
			hint = "; did you mean '" + near + "'?"
		}
		return nil, fmt.Errorf("option '%s' fits no column of table %s%s", unused[0], decl.Name, hint)
	}
	return t, nil
}

func possible(s types.Schema, option string) []string {
	var out []string
	suffix := option[strings.LastIndexByte(option, '.'):]
	for _, c := range s {
		out = append(out, "fields."+c.Name+suffix)
	}
	return out
}

// newField reads the options of a column; rows is how many a sequence has, or -1. used collects the options that have a meaning.
func newField(name string, t types.Type, options map[string]string, used map[string]bool) (f *field, rows int64, err error) {
	f = &field{typ: t, length: 100}
	get := func(option string) (string, bool) {
		key := "fields." + name + "." + option
		v, ok := options[key]
		if ok {
			used[key] = true
		}
		return v, ok
	}
	if v, ok := get("kind"); ok && strings.EqualFold(v, "sequence") {
		if !t.IsNumeric() && !t.IsText() {
			return nil, -1, fmt.Errorf("a sequence of %s is not supported: only of numbers and text", t)
		}
		from, ok1 := get("start")
		to, ok2 := get("end")
		if !ok1 || !ok2 {
			return nil, -1, fmt.Errorf("a sequence needs the options 'fields.%s.start' and 'fields.%s.end'", name, name)
		}
		f.sequence = true
		f.start, _ = strconv.ParseInt(from, 10, 64)
		end, _ := strconv.ParseInt(to, 10, 64)
		lo, hi := intRange(t)
		switch {
		case end < f.start:
			return nil, -1, fmt.Errorf("the sequence ends at %d before it starts at %d", end, f.start)
		case t.IsInteger() && (f.start < lo || end > hi):
			return nil, -1, fmt.Errorf("the sequence from %d to %d does not fit %s", f.start, end, t)
		case t.Kind == types.Decimal && (!fits(f.start, t) || !fits(end, t)):
			return nil, -1, fmt.Errorf("the sequence from %d to %d does not fit %s", f.start, end, t)
		case uint64(end)-uint64(f.start) >= math.MaxInt64:
			return nil, -1, fmt.Errorf("the sequence from %d to %d is too long", f.start, end)
		}
		return f, end - f.start + 1, nil
	}
	if err := f.bounds(name, get); err != nil {
		return nil, -1, err
	}
	if v, ok := get("max-past"); ok {
		if !t.IsTimestamp() {
			return nil, -1, fmt.Errorf("the option 'max-past' is for timestamps, not for %s", t)
		}
		f.past, _ = connectors.ParseDuration(v)
	}
	if t.Kind == types.Array || t.Kind == types.Map || t.Kind == types.Multiset {
		f.length = 3
	}
	if t.IsText() || t.IsBytes() {
		f.length = min(f.length, t.Length)
	}
	if v, ok := get("length"); ok {
		n, _ := strconv.ParseInt(v, 10, 64)
		switch {
		case !t.IsText() && !t.IsBytes() && !t.IsNested() || t.Kind == types.Row:
			return nil, -1, fmt.Errorf("the option 'length' is for text, bytes, ARRAY, MAP and MULTISET, not for %s", t)
		case n < 1 || n > 1<<20:
			return nil, -1, fmt.Errorf("the option 'length' must be between 1 and 1048576")
		case (t.IsText() || t.IsBytes()) && n > int64(t.Length):
			return nil, -1, fmt.Errorf("the length %d does not fit %s", n, t)
		}
		f.length = int(n)
	}
	if t.Kind == types.Char || t.Kind == types.Binary {
		f.length = t.Length
	}
	if v, ok := get("var-len"); ok {
		f.varLen = strings.EqualFold(v, "true") && t.Kind != types.Char && t.Kind != types.Binary
	}
	if v, ok := get("null-rate"); ok {
		f.nullRate, _ = strconv.ParseFloat(v, 64)
		if f.nullRate < 0 || f.nullRate > 1 {
			return nil, -1, fmt.Errorf("the option 'null-rate' must be between 0 and 1")
		}
		if f.nullRate > 0 && !t.Nullable {
			return nil, -1, fmt.Errorf("the column is NOT NULL, so 'null-rate' must be 0")
		}
	}
	kid := func(sub string, kt types.Type) {
		if err != nil {
			return
		}
		var k *field
		if k, _, err = newField(name+"."+sub, kt, options, used); err == nil {
			if k.sequence {
				err = fmt.Errorf("the parts of %s cannot be sequences", t)
			}
			f.kids = append(f.kids, k)
		}
	}
	switch t.Kind {
	case types.Array:
		kid("element", *t.Elem)
	case types.Multiset:
		kid("element", *t.Elem)
		f.kids = append(f.kids, &field{typ: types.IntType, ilo: 1, ihi: 10})
	case types.Map:
		kid("key", *t.Key)
		kid("value", *t.Elem)
	case types.Row:
		for _, rf := range t.Fields {
			kid(rf.Name, rf.Type)
		}
	}
	return f, -1, err
}

func fits(v int64, t types.Type) bool {
	_, err := types.DecFromInt64(v, t.Precision, t.Scale)
	return err == nil
}

func intRange(t types.Type) (lo, hi int64) {
	switch t.Kind {
	case types.TinyInt:
		return math.MinInt8, math.MaxInt8
	case types.SmallInt:
		return math.MinInt16, math.MaxInt16
	case types.Int:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

// bounds sets min and max of numbers.
func (f *field) bounds(name string, get func(string) (string, bool)) error {
	t := f.typ
	f.ilo, f.ihi = intRange(t)
	switch t.Kind {
	case types.Float:
		f.lo, f.hi = -math.MaxFloat32, math.MaxFloat32
	case types.Double:
		f.lo, f.hi = -math.MaxFloat64, math.MaxFloat64
	case types.Decimal:
		f.hi = math.Pow10(t.Precision - t.Scale)
		f.lo = -f.hi
	}
	for _, option := range []string{"min", "max"} {
		v, ok := get(option)
		if !ok {
			continue
		}
		switch {
		case t.IsInteger():
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil || n < f.ilo && option == "min" || n > f.ihi && option == "max" {
				return fmt.Errorf("option 'fields.%s.%s': '%s' does not fit %s", name, option, v, t.WithNull(true))
			}
			if option == "min" {
				f.ilo = n
			} else {
				f.ihi = n
			}
		case t.IsNumeric():
			n, _ := strconv.ParseFloat(v, 64)
			if n < f.lo || n > f.hi {
				return fmt.Errorf("option 'fields.%s.%s': '%s' does not fit %s", name, option, v, t.WithNull(true))
			}
			if option == "min" {
				f.lo = n
			} else {
				f.hi = n
			}
		default:
			return fmt.Errorf("the option '%s' is for numbers, not for %s", option, t)
		}
	}
	if f.lo > f.hi || f.ilo > f.ihi {
		return fmt.Errorf("'fields.%s.min' is greater than 'fields.%s.max'", name, name)
	}
	return nil
}

func (t *table) Schema() types.Schema         { return t.schema }
func (t *table) MetadataKeys() types.Schema   { return nil }
func (t *table) MetadataWritable(string) bool { return false }
func (t *table) Bounded() bool                { return t.rows >= 0 }
func (t *table) ChangelogKinds() string       { return "I" }
func (t *table) AcceptsKinds() string         { return "" }
func (t *table) RowEstimate() int64           { return t.rows }
func (t *table) SuppliesWatermarks() bool     { return false }
