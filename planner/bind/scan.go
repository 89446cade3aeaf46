package bind

import (
	"errors"
	"sort"
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// General options of a table, which are the engine's and not the connector's.
var watermarkOptions = []string{"scan.watermark.alignment.group", "scan.watermark.alignment.max-drift", "scan.watermark.alignment.update-interval",
	"scan.watermark.emit.strategy", "scan.watermark.future-rows", "scan.watermark.idle-timeout", "scan.watermark.max-future",
	"scan.watermark.null-rows"}

// guardOptions look at the event time of rows.
var guardOptions = []string{"scan.watermark.max-future", "scan.watermark.future-rows", "scan.watermark.null-rows"}

const badTableOption = "bad-records.table"

// splitOptions separates the general options from the connector's. n is the place for errors.
func splitOptions(n ast.Node, options []catalog.Option) (general, own map[string]string, err error) {
	general, own = map[string]string{}, map[string]string{}
	for _, o := range options {
		if o.Key == badTableOption {
			if o.Value == "" {
				return nil, nil, logical.Errorf(n, logical.CodeOption, "", "option '%s' is empty: it names a table", o.Key)
			}
			general[o.Key] = o.Value
			continue
		}
		if !strings.HasPrefix(o.Key, "scan.watermark.") && !strings.HasPrefix(o.Key, "weir.") {
			own[o.Key] = o.Value
			continue
		}
		if index(watermarkOptions, o.Key) < 0 {
			return nil, nil, logical.Errorf(n, logical.CodeOption, columnHint(o.Key, watermarkOptions), "unknown option '%s'", o.Key)
		}
		if err := checkWatermarkOption(n, o.Key, o.Value); err != nil {
			return nil, nil, err
		}
		general[o.Key] = o.Value
	}
	return general, own, nil
}

func checkWatermarkOption(n ast.Node, key, value string) error {
	if key == "scan.watermark.alignment.group" {
		return nil // any name
	}
	allowed := map[string][]string{"scan.watermark.emit.strategy": {"on-event", "on-periodic"}, "scan.watermark.null-rows": {"fail", "keep", "drop"},
		"scan.watermark.future-rows": {"keep", "drop", "fail"}}[key]
	if allowed != nil {
		for _, a := range allowed {
			if strings.EqualFold(a, value) {
				return nil
			}
		}
		return logical.Errorf(n, logical.CodeOption, "", "option '%s' is one of %s, not '%s'", key, strings.Join(allowed, ", "), value)
	}
	d, err := Duration(value)
	if err != nil {
		return logical.Errorf(n, logical.CodeOption, "", "option '%s': %v", key, err)
	}
	if d <= 0 && key == "scan.watermark.max-future" {
		return logical.Errorf(n, logical.CodeOption, "", "option '%s' must be greater than 0", key)
	}
	return nil
}

// connect makes the connector's side of a table, once per statement and set of options.
func (b *Binder) connect(n ast.Node, t *catalog.Table, options []catalog.Option) (catalog.ConnectorTable, error) {
	_, own, err := splitOptions(n, options)
	if err != nil {
		return nil, err
	}
	own["connector"] = t.Connector()
	var key strings.Builder
	key.WriteString(t.Path.String() + "\x00" + t.File)
	names := make([]string, 0, len(own))
	for k := range own {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, k := range names {
		key.WriteString("\x00" + k + "\x01" + own[k])
	}
	if h, ok := b.handles[key.String()]; ok {
		return h, nil
	}
	if b.env.Connect == nil {
		return nil, logical.Errorf(n, logical.CodeNoSource, "", "there are no connectors here")
	}
	h, err := b.env.Connect(b.ctx, t, own)
	if err != nil {
		var e *logical.Error
		if errors.As(err, &e) {
			return nil, logical.Errorf(n, e.Code, e.Hint, "%s", e.Msg)
		}
		var h interface{ Hint() string }
		hint := ""
		if errors.As(err, &h) {
			hint = h.Hint()
		}
		return nil, logical.Errorf(n, logical.CodeOption, hint, "table %s: %v", shortName(t), err)
	}
	b.handles[key.String()] = h
	return h, nil
}

func shortName(t *catalog.Table) string {
	if t.File != "" {
		return "'" + t.File + "'"
	}
	return logical.QuoteName(t.Path.Name)
}

// scan binds the reading of a table.
func (b *Binder) scan(n ast.Node, t *catalog.Table, options []catalog.Option) (logical.Node, error) {
	general, _, err := splitOptions(n, options)
	if err != nil {
		return nil, err
	}
	h, err := b.connect(n, t, options)
	if err != nil {
		return nil, err
	}
	switch h.ChangelogKinds() {
	case "":
		return nil, logical.Errorf(n, logical.CodeNoSource, "", "table %s cannot be read: the connector '%s' only writes", shortName(t), t.Connector())
	case "I,UA,D":
		if len(t.PrimaryKey) == 0 {
			return nil, logical.Errorf(n, logical.CodeTable, "declare PRIMARY KEY (...) NOT ENFORCED", "table %s gives upserts and has no PRIMARY KEY: nothing says which row a change is of", shortName(t))
		}
	}
	if err := checkColumns(n, t, h); err != nil {
		return nil, err
	}
	s := &logical.Scan{Table: t, Handle: h, Computed: make([]logical.Expr, len(t.Columns))}
	if n != nil {
		s.Pos = b.pos(n)
	}
	for i := range t.Columns {
		s.Wanted = append(s.Wanted, i)
	}
	where := "the declaration of " + shortName(t)
	if err := b.checkMetadata(t, h, n); err != nil {
		return nil, err
	}
	sc := tableScope(t, false)
	for i, c := range t.Columns {
		if c.Kind != catalog.Computed {
			continue
		}
		x, err := b.declared(c.Expr, sc)
		if err != nil {
			return nil, within(n, where, err)
		}
		s.Computed[i] = x
	}
	if target := general[badTableOption]; target != "" {
		if s.Bad, err = b.badRecords(n, t, target); err != nil {
			return nil, err
		}
	}
	if w := t.Watermark; w != nil {
		wm, err := b.generator(t, w)
		if err != nil {
			return nil, within(n, where, err)
		}
		wm.Column, wm.Options = t.Index(w.Column), general
		s.Watermark = &wm
		own, hasOwn := h.(strategic)
		switch {
		case hasOwn && !w.Source:
			return nil, logical.Errorf(n, logical.CodeTimeAttr, "declare WATERMARK FOR "+w.Column+" AS SOURCE_WATERMARK(), which stands for the source's strategy, or register the "+
				"source without one", "table %s has two watermark strategies: its declaration has WATERMARK FOR %s AS %s, and its source was registered with a strategy",
				shortName(t), logical.QuoteName(w.Column), w.Text)
		case hasOwn:
			if err := b.strategy(n, t, own, s.Watermark); err != nil {
				return nil, err
			}
		case w.Source:
			if !h.SuppliesWatermarks() {
				return nil, logical.Errorf(n, logical.CodeTimeAttr, "declare WATERMARK FOR "+w.Column+" AS "+w.Column+" - INTERVAL '5' SECOND",
					"table %s declares SOURCE_WATERMARK(), and the connector '%s' supplies no watermarks", shortName(t), t.Connector())
			}
		case wm.Generator == "":
			x, err := b.declared(w.Expr, tableScope(t, true))
			if err != nil {
				return nil, within(n, where, err)
			}
			s.Watermark.Expr = x
		}
	} else {
		for _, key := range guardOptions { // Flink's other options may stand there, and have no effect
			if _, ok := general[key]; ok {
				return nil, logical.Errorf(n, logical.CodeOption, "declare WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, or remove the option",
					"table %s has the option '%s' and declares no WATERMARK: nothing says which column is its event time", shortName(t), key)
			}
		}
	}
	return s, nil
}

// ReadAll binds the reading of a table or view that no text names, with catalog and database of current. A table that can only be written gives nil.
func (b *Binder) ReadAll(o catalog.Object, current catalog.Path) (logical.Node, error) {
	b.catalog, b.database = current.Catalog, current.Database
	nowhere := &ast.ObjectName{}
	switch o := o.(type) {
	case *catalog.View:
		r, err := b.view(nowhere, o)
		if err != nil {
			return nil, err
		}
		return r.node, nil
	case *catalog.Table:
		h, err := b.connect(nowhere, o, o.Options)
		if err != nil || h.ChangelogKinds() == "" {
			return nil, err
		}
		return b.scan(nowhere, o, o.Options)
	}
	return nil, logical.Errorf(nil, logical.CodeInternal, "", "internal error: object %T", o)
}

// checkColumns holds the columns that were inferred when a table was created against those that are there now.
func checkColumns(n ast.Node, t *catalog.Table, h catalog.ConnectorTable) error {
	have, want := h.Schema(), t.PhysicalSchema()
	same := len(have) == len(want)
	for i := range want {
		same = same && have[i].Name == want[i].Name && have[i].Type.SameKind(want[i].Type)
	}
	if !same {
		return logical.Errorf(n, logical.CodeTable, "create the table again", "the columns of table %s have changed since it was created: they are now (%s), not (%s)",
			shortName(t), schemaText(have), schemaText(want))
	}
	return nil
}

func schemaText(s types.Schema) string {
	out := make([]string, len(s))
	for i, c := range s {
		out[i] = logical.QuoteName(c.Name) + " " + c.Type.WithNull(true).String()
	}
	return strings.Join(out, ", ")
}

// declared binds an expression of a table's declaration.
func (b *Binder) declared(e ast.Expr, s *scope) (logical.Expr, error) {
	base := b.base
	b.base = nil
	defer func() { b.base = base }()
	return b.expr(e, s)
}

// tableScope is what expressions of a declaration may name: all columns, without the computed ones unless asked for.
func tableScope(t *catalog.Table, computed bool) *scope {
	r := &relation{}
	for _, c := range t.Columns {
		name := c.Name
		if c.Kind == catalog.Computed && !computed {
			name = "\x00" // cannot be named
		}
		r.cols = append(r.cols, column{path: []string{t.Path.Name}, name: name, typ: c.Type.WithAttr(types.NoTimeAttr)})
	}
	return &scope{rel: r, clause: "the declaration of a table", declaration: true}
}

func (b *Binder) checkMetadata(t *catalog.Table, h catalog.ConnectorTable, n ast.Node) error {
	keys := h.MetadataKeys()
	for _, c := range t.Columns {
		if c.Kind != catalog.Metadata {
			continue
		}
		i := keys.Index(c.Key)
		if i < 0 {
			hint := "there are: " + strings.Join(keys.Names(), ", ")
			if len(keys) == 0 {
				hint = "it has none"
			}
			return logical.Errorf(n, logical.CodeTable, hint, "table %s: the connector '%s' has no metadata '%s' (column '%s')", shortName(t), t.Connector(), c.Key, c.Name)
		}
		if !types.CanCast(keys[i].Type, c.Type) {
			return logical.Errorf(n, logical.CodeCast, "", "table %s: metadata '%s' is %s and cannot be cast to %s (column '%s')", shortName(t), c.Key,
				keys[i].Type.WithNull(true), c.Type.WithNull(true), c.Name)
		}
	}
	return nil
}
