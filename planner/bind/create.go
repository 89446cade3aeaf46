package bind

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// Duration reads a duration in Flink's form: `10 s`, `200ms`, `1 min`, `1 d`; a bare number is milliseconds.
func Duration(text string) (time.Duration, error) {
	s := strings.TrimSpace(text)
	i := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if i < 0 {
		i = len(s)
	}
	n, err := strconv.ParseInt(s[:i], 10, 64)
	unit := strings.ToLower(strings.TrimSpace(s[i:]))
	units := map[string]time.Duration{"": time.Millisecond, "ms": time.Millisecond, "milli": time.Millisecond, "millis": time.Millisecond,
		"millisecond": time.Millisecond, "milliseconds": time.Millisecond, "s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second,
		"seconds": time.Second, "m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute, "h": time.Hour, "hour": time.Hour,
		"hours": time.Hour, "d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour, "us": time.Microsecond, "µs": time.Microsecond,
		"micro": time.Microsecond, "micros": time.Microsecond, "microsecond": time.Microsecond, "microseconds": time.Microsecond, "ns": 1, "nano": 1,
		"nanos": 1, "nanosecond": 1, "nanoseconds": 1}
	u, ok := units[unit]
	if err != nil || !ok || n > int64(1<<63-1)/int64(u) {
		return 0, fmt.Errorf("'%s' is no duration such as 10 s, 200 ms or 1 min", text)
	}
	return time.Duration(n) * u, nil
}

// CreateTable binds a declaration. For CREATE TABLE .. AS it also makes the plan that fills the table, without its sink's connector: call Fill once the
// table may be connected.
func (b *Binder) CreateTable(s *ast.CreateTable) (*catalog.Table, *relation, error) {
	switch {
	case s.Replace || s.OrReplace:
		return nil, nil, unsupported(s, featReplaceTable)
	case s.Distribution != nil:
		return nil, nil, unsupported(s.Distribution, featDistribution)
	case s.As != nil && s.Temporary:
		return nil, nil, logical.Errorf(s, logical.CodeTable, "", "CREATE TABLE .. AS makes no TEMPORARY table")
	case s.As != nil && len(s.PartitionedBy) > 0:
		return nil, nil, logical.Errorf(&s.PartitionedBy[0], logical.CodeTable, "", "CREATE TABLE .. AS takes no PARTITIONED BY")
	}
	p, err := catalog.Qualify(s.Name.Strings(), b.catalog, b.database)
	if err != nil {
		return nil, nil, catalogError(&s.Name, err)
	}
	d := &declaration{b: b, t: &catalog.Table{ID: catalog.NewID(), Path: p, Temporary: s.Temporary}}
	if s.Comment != nil {
		d.t.Comment = s.Comment.Value
	}
	d.options(s.Options)
	var src *relation
	if s.As != nil {
		if src, err = b.query(s.As); err != nil {
			return nil, nil, err
		}
		names := uniqueNames(src.schema().Names())
		for i := range src.cols {
			src.cols[i].name = names[i]
		}
		src.node = rename(src.node, names)
	}
	if s.Like != nil {
		if err := d.like(s); err != nil {
			return nil, nil, err
		}
	}
	if err := d.columns(s.Columns, src); err != nil {
		return nil, nil, err
	}
	if s.PrimaryKey != nil {
		if err := d.primaryKey(s.PrimaryKey); err != nil {
			return nil, nil, err
		}
	}
	if s.Watermark != nil {
		if err := d.watermark(s.Watermark); err != nil {
			return nil, nil, err
		}
	}
	for i := range s.PartitionedBy {
		d.t.PartitionBy = append(d.t.PartitionBy, s.PartitionedBy[i].Name)
		d.nodes[s.PartitionedBy[i].Name] = &s.PartitionedBy[i]
	}
	if _, _, err := splitOptions(optionNode(s), d.t.Options); err != nil {
		return nil, nil, err
	}
	if !slices.ContainsFunc(d.t.Columns, func(c catalog.Column) bool { return c.Kind == catalog.Physical }) {
		if d.t.Option("connector") == "" {
			return nil, nil, logical.Errorf(&s.Name, logical.CodeTable, "give it columns", "table %s has no columns", shortName(d.t))
		}
		d.t.Inferred = true
		if err := b.Infer(&s.Name, d.t); err != nil {
			return nil, nil, err
		}
	}
	if err := d.finish(&s.Name); err != nil {
		return nil, nil, err
	}
	return d.t, src, nil
}

// optionNode is the place of the first option that may be wrong.
func optionNode(s *ast.CreateTable) ast.Node {
	for i := range s.Options {
		k := s.Options[i].Key.Value
		if strings.HasPrefix(k, "scan.watermark.") || strings.HasPrefix(k, "weir.") {
			if _, _, err := splitOptions(&s.Options[i], []catalog.Option{{Key: k, Value: s.Options[i].Value.Value}}); err != nil {
				return &s.Options[i]
			}
		}
	}
	return &s.Name
}

// Fill makes the sink of CREATE TABLE .. AS.
func (b *Binder) Fill(s *ast.CreateTable, t *catalog.Table, src *relation) (logical.Node, error) {
	from := identity(src.node.Schema())
	fill := map[int]logical.Expr{}
	for i, c := range src.cols {
		k := t.Index(c.name)
		x, err := b.assign(s.As, i, t, k, from[i])
		if err != nil {
			return nil, err
		}
		fill[k] = x
	}
	return b.sink(&s.Name, t, t.Options, src.node, fill)
}

// declaration collects a table's declaration and checks it.
type declaration struct {
	b     *Binder
	t     *catalog.Table
	nodes map[string]ast.Node // places of columns
	wm    ast.Node
	pk    ast.Node
}

func (d *declaration) options(list []ast.Option) {
	if d.nodes == nil {
		d.nodes = map[string]ast.Node{}
	}
	for _, o := range list {
		d.t.Options = setOption(d.t.Options, o.Key.Value, o.Value.Value)
	}
}

func (d *declaration) at(name string, fallback ast.Node) ast.Node {
	if n := d.nodes[name]; n != nil {
		return n
	}
	return fallback
}

// column makes one column of a declaration; the types of computed ones follow in finish.
func (d *declaration) column(c *ast.ColumnDef) (catalog.Column, error) {
	if len(c.Name.Parts) > 1 {
		return catalog.Column{}, unsupported(&c.Name, featNestedColumn)
	}
	col := catalog.Column{Name: c.Name.Last()}
	if c.Comment != nil {
		col.Comment = c.Comment.Value
	}
	d.nodes[col.Name] = c
	var err error
	switch c.Kind {
	case ast.PhysicalColumn:
		col.Type, err = typeOf(c.Type)
	case ast.MetadataColumn:
		col.Kind, col.Virtual, col.Key = catalog.Metadata, c.Virtual, col.Name
		if c.MetadataKey != nil {
			col.Key = c.MetadataKey.Value
		}
		col.Type, err = typeOf(c.Type)
	case ast.ComputedColumn:
		col.Kind, col.Expr, col.Text = catalog.Computed, c.Expr, d.b.source(c.Expr)
	default:
		err = logical.Errorf(c, logical.CodeTable, "give it a type", "column '%s' has no type", col.Name)
	}
	if err == nil && col.Type.Kind == types.Null {
		err = logical.Errorf(c, logical.CodeType, "", "column '%s' needs a type", col.Name)
	}
	return col, err
}

// columns adds the declared columns; with a source (CREATE TABLE .. AS) merged with its columns.
func (d *declaration) columns(defs []*ast.ColumnDef, src *relation) error {
	if src != nil {
		return d.columnsAs(defs, src)
	}
	for _, c := range defs {
		col, err := d.column(c)
		if err != nil {
			return err
		}
		if i := d.t.Index(col.Name); i >= 0 {
			if d.t.Columns[i].Key == replaceable {
				d.t.Columns[i] = col
				continue
			}
			return logical.Errorf(c, logical.CodeDuplicateName, "", "column '%s' is declared twice", col.Name)
		}
		d.t.Columns = append(d.t.Columns, col)
	}
	for i := range d.t.Columns {
		if d.t.Columns[i].Kind != catalog.Metadata {
			d.t.Columns[i].Key = ""
		}
	}
	return nil
}

func (d *declaration) columnsAs(defs []*ast.ColumnDef, src *relation) error {
	named := len(defs) > 0
	for _, c := range defs {
		named = named && c.Kind == ast.NamedColumn
	}
	fromQuery := map[string]types.Type{}
	for _, c := range src.cols {
		t := c.typ.WithAttr(types.NoTimeAttr)
		if t.Kind == types.Char { // literals
			t = types.StringType.WithNull(t.Nullable)
		}
		fromQuery[c.name] = t
	}
	if named {
		if len(defs) != len(src.cols) {
			return logical.Errorf(defs[0], logical.CodeColumnCount, "name each of them once", "the query has %s, and %d named here", types.Count(len(src.cols), "column"), len(defs))
		}
		for _, c := range defs {
			t, ok := fromQuery[c.Name.Last()]
			if !ok {
				return logical.Errorf(c, logical.CodeUnknownColumn, columnHint(c.Name.Last(), src.schema().Names()), "the query has no column '%s'", c.Name.Last())
			}
			if d.t.Index(c.Name.Last()) >= 0 {
				return logical.Errorf(c, logical.CodeDuplicateName, "", "column '%s' is named twice", c.Name.Last())
			}
			d.t.Columns = append(d.t.Columns, catalog.Column{Name: c.Name.Last(), Type: t})
		}
		return nil
	}
	declared := map[string]catalog.Column{}
	for _, c := range defs {
		col, err := d.column(c)
		if err != nil {
			return err
		}
		if _, twice := declared[col.Name]; twice {
			return logical.Errorf(c, logical.CodeDuplicateName, "", "column '%s' is declared twice", col.Name)
		}
		declared[col.Name] = col
		if _, ok := fromQuery[col.Name]; !ok {
			d.t.Columns = append(d.t.Columns, col)
		} else if col.Kind == catalog.Computed || col.Virtual {
			return logical.Errorf(c, logical.CodeTable, "give one of them another name", "column '%s' is a column of the query too, and cannot be written", col.Name)
		}
	}
	for _, c := range src.cols {
		if col, ok := declared[c.name]; ok {
			d.t.Columns = append(d.t.Columns, col)
			continue
		}
		d.t.Columns = append(d.t.Columns, catalog.Column{Name: c.name, Type: fromQuery[c.name]})
	}
	return nil
}

// replaceable marks, as Key, a column taken over by LIKE .. OVERWRITING that the declaration may replace.
const replaceable = "\x00replaceable"

// like takes over what LIKE says from another table.
func (d *declaration) like(s *ast.CreateTable) error {
	o, err := d.b.lookup(&s.Like.Source)
	if err != nil {
		return err
	}
	src, ok := o.(*catalog.Table)
	if !ok {
		return logical.Errorf(&s.Like.Source, logical.CodeTable, "", "'%s' is a view: LIKE needs a table", s.Like.Source.String())
	}
	mode := map[string]string{"OPTIONS": "OVERWRITING"}
	for _, f := range []string{"CONSTRAINTS", "DISTRIBUTION", "PARTITIONS", "GENERATED", "WATERMARKS", "METADATA"} {
		mode[f] = "INCLUDING"
	}
	for _, o := range s.Like.Options {
		if o.Feature == "ALL" {
			for f := range mode {
				mode[f] = o.Mode
			}
		}
	}
	for _, o := range s.Like.Options {
		if o.Feature != "ALL" {
			mode[o.Feature] = o.Mode
		}
	}
	clash := func(what, feature string) error {
		hint := "give it another name"
		if feature != "" {
			hint = "write EXCLUDING " + feature
			if feature != "CONSTRAINTS" && feature != "PARTITIONS" {
				hint = "write OVERWRITING " + feature + " or EXCLUDING " + feature
			}
		}
		return logical.Errorf(s.Like, logical.CodeTable, hint, "LIKE: %s is in both tables", what)
	}
	for _, c := range src.Columns {
		c.Type.Attr = types.NoTimeAttr
		feature := map[catalog.ColumnKind]string{catalog.Computed: "GENERATED", catalog.Metadata: "METADATA"}[c.Kind]
		if mode[feature] == "EXCLUDING" && feature != "" {
			continue
		}
		own := slices.ContainsFunc(s.Columns, func(x *ast.ColumnDef) bool { return x.Name.Last() == c.Name })
		if own {
			if feature == "" || mode[feature] != "OVERWRITING" {
				return clash("column '"+c.Name+"'", feature)
			}
			c.Key = replaceable
		}
		d.t.Columns = append(d.t.Columns, c)
	}
	d.t.Inferred = src.Inferred
	if w := src.Watermark; w != nil && mode["WATERMARKS"] != "EXCLUDING" {
		if s.Watermark != nil && mode["WATERMARKS"] != "OVERWRITING" {
			return clash("a WATERMARK", "WATERMARKS")
		}
		if s.Watermark == nil {
			d.t.Watermark, d.wm = w, s.Like
		}
	}
	if len(src.PrimaryKey) > 0 && mode["CONSTRAINTS"] != "EXCLUDING" {
		if s.PrimaryKey != nil {
			return clash("a PRIMARY KEY", "CONSTRAINTS")
		}
		d.t.PrimaryKey, d.t.KeyName, d.pk = src.PrimaryKey, src.KeyName, s.Like
	}
	if len(src.PartitionBy) > 0 && mode["PARTITIONS"] != "EXCLUDING" {
		if len(s.PartitionedBy) > 0 {
			return clash("PARTITIONED BY", "PARTITIONS")
		}
		d.t.PartitionBy = src.PartitionBy
	}
	if mode["OPTIONS"] != "EXCLUDING" {
		merged := src.Options
		for _, o := range d.t.Options {
			if src.Option(o.Key) != "" && mode["OPTIONS"] == "INCLUDING" {
				return clash("the option '"+o.Key+"'", "OPTIONS")
			}
			merged = setOption(merged, o.Key, o.Value)
		}
		d.t.Options = merged
	}
	return nil
}

func (d *declaration) primaryKey(pk *ast.PrimaryKey) error {
	d.pk = pk
	if pk.Name != nil {
		d.t.KeyName = pk.Name.Name
	}
	d.t.PrimaryKey = nil
	for i := range pk.Columns {
		if slices.Contains(d.t.PrimaryKey, pk.Columns[i].Name) {
			return logical.Errorf(&pk.Columns[i], logical.CodeDuplicateName, "", "column '%s' is in the PRIMARY KEY twice", pk.Columns[i].Name)
		}
		d.t.PrimaryKey = append(d.t.PrimaryKey, pk.Columns[i].Name)
	}
	return nil
}

func (d *declaration) watermark(w *ast.WatermarkDef) error {
	d.wm = w
	if len(w.Column.Parts) > 1 {
		return unsupportedNested(w)
	}
	d.t.Watermark = &catalog.Watermark{Column: w.Column.Last(), Expr: w.Expr, Text: d.b.source(w.Expr), Pos: w.Expr.Pos()}
	if c, ok := w.Expr.(*ast.Call); ok && len(c.Args) == 0 && strings.EqualFold(c.Name.String(), "SOURCE_WATERMARK") {
		d.t.Watermark.Source = true
	}
	return nil
}

func unsupportedNested(w *ast.WatermarkDef) error {
	f := featNestedColumn
	f.Hint = "declare a computed column: ts AS " + w.Column.String() + ", and the WATERMARK for it"
	return unsupported(&w.Column, f)
}

// finish types the computed columns and checks that everything refers to something. n is the place for what has none of its own.
func (d *declaration) finish(n ast.Node) error {
	t := d.t
	sc := tableScope(t, false)
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Kind != catalog.Computed {
			continue
		}
		x, err := d.b.expr(c.Expr, sc)
		if err != nil {
			return d.computedError(c, err)
		}
		c.Type = x.ResultType()
		if c.Type.Kind == types.Null {
			return logical.Errorf(d.at(c.Name, n), logical.CodeType, "write CAST(NULL AS type)", "column '%s' has no type", c.Name)
		}
		if _, proctime := x.(*logical.Call); !proctime {
			c.Type.Attr = types.NoTimeAttr
		}
	}
	for _, k := range t.PrimaryKey {
		i := t.Index(k)
		if i < 0 {
			return logical.Errorf(orNode(d.pk, n), logical.CodeUnknownColumn, columnHint(k, t.Schema().Names()), "PRIMARY KEY: column '%s' does not exist", k)
		}
		if t.Columns[i].Kind != catalog.Physical {
			return logical.Errorf(orNode(d.pk, n), logical.CodeTable, "", "PRIMARY KEY: column '%s' is computed or metadata, and only physical columns can be a key", k)
		}
		t.Columns[i].Type.Nullable = false
	}
	for _, k := range t.PartitionBy {
		i := t.Index(k)
		if i < 0 {
			return logical.Errorf(d.at(k, n), logical.CodeUnknownColumn, columnHint(k, t.PhysicalSchema().Names()), "PARTITIONED BY: column '%s' does not exist", k)
		}
		if t.Columns[i].Kind != catalog.Physical {
			return logical.Errorf(d.at(k, n), logical.CodeTable, "", "PARTITIONED BY: column '%s' is computed or metadata", k)
		}
	}
	return d.finishWatermark(n)
}

func orNode(n, fallback ast.Node) ast.Node {
	if n != nil {
		return n
	}
	return fallback
}

// computedError explains a reference to another computed column.
func (d *declaration) computedError(c *catalog.Column, err error) error {
	e, ok := err.(*logical.Error)
	if !ok || e.Code != logical.CodeUnknownColumn {
		return err
	}
	for _, o := range d.t.Columns {
		if o.Kind == catalog.Computed && strings.Contains(e.Msg, "'"+o.Name+"'") {
			e.Msg = fmt.Sprintf("column '%s' is computed, and a computed column ('%s') may not refer to another one", o.Name, c.Name)
			e.Hint = "write its expression"
			break
		}
	}
	return e
}

func (d *declaration) finishWatermark(n ast.Node) error {
	w := d.t.Watermark
	if w == nil {
		return nil
	}
	n = orNode(d.wm, n)
	i := d.t.Index(w.Column)
	if i < 0 {
		return logical.Errorf(n, logical.CodeUnknownColumn, columnHint(w.Column, d.t.Schema().Names()), "WATERMARK: column '%s' does not exist", w.Column)
	}
	c := &d.t.Columns[i]
	if c.Type.Attr == types.Proctime { // Flink refuses it, too
		return logical.Errorf(n, logical.CodeTimeAttr, "leave the WATERMARK away: windows over "+logical.QuoteName(w.Column)+" go by the clock",
			"WATERMARK: column '%s' is processing time, which has no watermark", w.Column)
	}
	c.Type.Attr = types.NoTimeAttr
	if !c.Type.IsTimestamp() || c.Type.Precision > 6 {
		hint := "declare it TIMESTAMP(3) or TIMESTAMP_LTZ(3)"
		switch {
		case c.Type.IsInteger():
			hint = "declare a computed column: t AS TO_TIMESTAMP_LTZ(" + logical.QuoteName(w.Column) + ", 3), and the WATERMARK for it"
		case c.Type.IsText():
			hint = "declare a computed column: t AS TO_TIMESTAMP(" + logical.QuoteName(w.Column) + "), and the WATERMARK for it"
		}
		return logical.Errorf(n, logical.CodeTimeAttr, hint, "WATERMARK needs a column of type TIMESTAMP or TIMESTAMP_LTZ of precision 0 to 6, and '%s' is %s", w.Column,
			c.Type.WithNull(true))
	}
	if c.Type.Precision > 3 {
		d.b.extend(n, ast.ExtSyntax, "")
	}
	generator, err := d.b.generator(d.t, w)
	if err != nil {
		return err
	}
	if generator.Generator != "" { // from Go
		d.b.extend(n, ast.ExtSyntax, "")
	}
	if !w.Source && generator.Generator == "" {
		x, err := d.b.expr(w.Expr, tableScope(d.t, true))
		if err != nil {
			return err
		}
		if t := x.ResultType(); t.Kind != c.Type.Kind {
			return logical.ErrorAt(w.Pos, logical.CodeTimeAttr, "", "the watermark of '%s' (%s) must be of its kind, not %s", w.Column, c.Type.WithNull(true), t.WithNull(true))
		}
	}
	c.Type.Attr = types.Rowtime
	return nil
}
