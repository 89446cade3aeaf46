package planner

import (
	"slices"
	"strings"
	"time"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/planner/bind"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/planner/physical"
	"github.com/weir-sql/weir/types"
)

// scan converts a scan: connector's columns, then metadata casts and computed columns over them.
func (c *converter) scan(s *logical.Scan) (physical.Node, error) {
	if c.env.Batch() && !s.Handle.Bounded() {
		return nil, logical.ErrorAt(s.Pos, logical.CodeBatchMode, "SET 'execution.runtime-mode' = 'streaming'", "table %s is unbounded and cannot be read in batch mode",
			logical.TableName(s.Table))
	}
	sh := c.scans[scanKey(s)]
	if sh == nil {
		scan, err := c.rawScan(s, s.Wanted)
		if err != nil {
			return nil, err
		}
		return c.normalized(scan), nil
	}
	if sh.scan == nil {
		scan, err := c.rawScan(s, sh.wanted)
		if err != nil {
			return nil, err
		}
		sh.scan = c.normalized(scan)
	}
	if len(sh.wanted) == len(s.Wanted) {
		return sh.scan, nil
	}
	var exprs []logical.Expr
	var names []string
	for _, w := range s.Wanted {
		i := slices.Index(sh.wanted, w)
		exprs, names = append(exprs, logical.NewColumn(sh.scan.Schema(), i)), append(names, s.Table.Columns[w].Name)
	}
	return physical.NewCalc(sh.scan, nil, exprs, names), nil
}

// normalized puts what is missing into the changelog of a scan that gives upserts.
func (c *converter) normalized(scan *physical.Scan) physical.Node {
	if scan.Props().Changelog != physical.Upsert {
		return scan
	}
	n := physical.NewChangelogNormalize(scan)
	n.TTL = c.ttl
	return n
}

func (c *converter) rawScan(s *logical.Scan, wanted []int) (*physical.Scan, error) {
	t := s.Table
	// Which columns of the table are needed to give the wanted ones.
	need := map[int]bool{}
	for _, w := range wanted {
		if t.Columns[w].Kind == catalog.Computed {
			for i := range logical.Columns(s.Computed[w]) {
				need[i] = true
			}
		} else {
			need[w] = true
		}
	}
	var columns []int
	var metadata []string
	raw := make([]logical.Expr, len(t.Columns)) // the table's physical and metadata columns over the connector's
	keys := s.Handle.MetadataKeys()
	phys := 0
	for i, col := range t.Columns {
		if col.Kind != catalog.Physical {
			continue
		}
		if need[i] {
			raw[i] = &logical.Column{Index: len(columns), Name: col.Name, Type: col.Type.WithAttr(types.NoTimeAttr)}
			columns = append(columns, phys)
		}
		phys++
	}
	for i, col := range t.Columns {
		if col.Kind != catalog.Metadata || !need[i] {
			continue
		}
		kt := keys[keys.Index(col.Key)].Type
		k := slices.Index(metadata, col.Key)
		if k < 0 {
			k = len(metadata)
			metadata = append(metadata, col.Key)
		}
		var x logical.Expr = &logical.Column{Index: len(columns) + k, Name: col.Key, Type: kt}
		if !kt.SameKind(col.Type) {
			x = &logical.Cast{Arg: x, Type: col.Type.WithNull(kt.Nullable).WithAttr(types.NoTimeAttr), Implicit: true, Text: "metadata column " + col.Name}
		}
		raw[i] = x
	}
	var out []physical.ScanColumn
	at := make([]int, len(t.Columns))
	for i, w := range wanted {
		col := t.Columns[w]
		x := raw[w]
		if col.Kind == catalog.Computed {
			x = logical.Substitute(s.Computed[w], raw)
		}
		at[w] = i
		out = append(out, physical.ScanColumn{Name: col.Name, Expr: x, Type: col.Type})
	}
	wm, err := c.watermark(s, at)
	if err != nil {
		return nil, err
	}
	scan := physical.NewScan(t, s.Handle, columns, metadata, out, wm, s.Pos)
	scan.KeepBad = s.Bad != nil || s.SkipBad
	if s.Bad != nil {
		err = c.aside(s.Bad.Rows, physical.NewBadRecords(scan, s.Bad.Rows.Columns), s.Bad.Sink)
	}
	return scan, err
}

func (c *converter) watermark(s *logical.Scan, at []int) (*physical.Watermark, error) {
	if s.Watermark == nil {
		return nil, nil
	}
	w := &physical.Watermark{Column: at[s.Watermark.Column], Source: s.Watermark.Expr == nil && s.Watermark.Generator == "" && !s.Watermark.Strategy,
		Generator: s.Watermark.Generator, Args: s.Watermark.Args, Strategy: s.Watermark.Strategy}
	for _, e := range s.Watermark.Inputs {
		w.Inputs = append(w.Inputs, logical.Remap(e, at))
	}
	if s.Watermark.Expr != nil {
		w.Expr = logical.Remap(s.Watermark.Expr, at)
	}
	o := s.Watermark.Options
	switch strings.ToLower(o["scan.watermark.null-rows"]) {
	case "keep":
		w.Nulls = physical.KeepNullRows
	case "drop":
		w.Nulls = physical.DropNullRows
	}
	switch strings.ToLower(o["scan.watermark.future-rows"]) {
	case "drop":
		w.Future = physical.DropFutureRows
	case "fail":
		w.Future = physical.FailFutureRows
	}
	var err error
	duration := func(text, what string) time.Duration {
		if text == "" || err != nil {
			return 0
		}
		v, e := bind.Duration(text)
		if e != nil {
			err = logical.ErrorAt(s.Pos, logical.CodeOption, "", "%s: %v", what, e)
		}
		return v
	}
	idle, what := o["scan.watermark.idle-timeout"], "option 'scan.watermark.idle-timeout'"
	if idle == "" {
		idle, what = c.env.Config["table.exec.source.idle-timeout"], "'table.exec.source.idle-timeout'"
	}
	w.IdleTimeout = duration(idle, what)
	w.MaxFuture = duration(o["scan.watermark.max-future"], "option 'scan.watermark.max-future'")
	switch {
	case err != nil:
	case w.MaxFuture == 0 && o["scan.watermark.future-rows"] != "":
		return nil, logical.ErrorAt(s.Pos, logical.CodeOption, "set 'scan.watermark.max-future' too", "table %s has 'scan.watermark.future-rows' without "+
			"'scan.watermark.max-future'", logical.TableName(s.Table))
	case w.MaxFuture > 0 && w.Source:
		return nil, logical.ErrorAt(s.Pos, logical.CodeOption, "", "table %s has 'scan.watermark.max-future', and its watermarks come from the connector (SOURCE_WATERMARK())",
			logical.TableName(s.Table))
	case w.Future == physical.DropFutureRows && s.Handle.ChangelogKinds() != "I":
		return nil, bind.Unsupported(s.Pos, "'scan.watermark.future-rows' = 'drop' on a table of changes")
	}
	every := c.env.Config["pipeline.auto-watermark-interval"]
	if every == "" {
		every = "200 ms"
	}
	if strings.EqualFold(o["scan.watermark.emit.strategy"], "on-periodic") {
		w.Periodic = duration(every, "'pipeline.auto-watermark-interval'")
	}
	if w.Generator != "" || w.Strategy {
		w.Every = duration(every, "'pipeline.auto-watermark-interval'")
	}
	a, bad := c.alignment(s, o, duration)
	switch {
	case err != nil:
		return nil, err
	case bad != nil:
		return nil, bad
	}
	w.Alignment = a
	return w, nil
}

// alignment reads 'scan.watermark.alignment.*'. As in Flink, group and drift go together, and a blank group or a duration of 0 means none.
func (c *converter) alignment(s *logical.Scan, o map[string]string, duration func(text, what string) time.Duration) (physical.Alignment, error) {
	group, hasGroup := o["scan.watermark.alignment.group"]
	drift, hasDrift := o["scan.watermark.alignment.max-drift"]
	every, hasEvery := o["scan.watermark.alignment.update-interval"]
	if !hasGroup && !hasDrift && !hasEvery {
		return physical.Alignment{}, nil
	}
	if !hasGroup || !hasDrift {
		return physical.Alignment{}, logical.ErrorAt(s.Pos, logical.CodeOption, "", "table %s: 'scan.watermark.alignment.group' and 'scan.watermark.alignment.max-drift' "+
			"must both be set to align watermarks", logical.TableName(s.Table))
	}
	if !hasEvery {
		every = "1 s"
	}
	return physical.Alignment{Group: strings.TrimSpace(group), MaxDrift: duration(drift, "option 'scan.watermark.alignment.max-drift'"),
		UpdateInterval: duration(every, "option 'scan.watermark.alignment.update-interval'")}, nil
}
