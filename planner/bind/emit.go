package bind

import (
	"strings"
	"time"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
)

const emitUsage = "usage: EMIT('early' = '10 s', 'late' = '0 s', 'allowed-lateness' = '1 min'), one or more of them"

// emitHint reads the arguments of an EMIT hint.
func emitHint(h *ast.Hint) (*logical.Emit, error) {
	e := &logical.Emit{Early: -1, Late: -1, Pos: h.Pos(), Clause: "the hint EMIT"}
	known := map[string]*time.Duration{"early": &e.Early, "late": &e.Late, "allowed-lateness": &e.Lateness}
	given := map[string]bool{}
	for i := range h.Args {
		a := &h.Args[i]
		if a.Value == nil {
			return nil, logical.Errorf(a, logical.CodeHint, "", emitUsage)
		}
		to := known[a.Key]
		if to == nil {
			hint := emitUsage
			if n := catalog.Nearest(a.Key, []string{"early", "late", "allowed-lateness"}); n != "" {
				hint = "did you mean '" + n + "'?"
			}
			return nil, logical.Errorf(a, logical.CodeHint, hint, "the hint EMIT has no option '%s'", a.Key)
		}
		if given[a.Key] {
			return nil, logical.Errorf(a, logical.CodeHint, "", "'%s' is given twice", a.Key)
		}
		given[a.Key] = true
		d, err := Duration(a.Value.Value)
		if err != nil {
			return nil, logical.Errorf(a.Value, logical.CodeHint, "", "'%s' of EMIT: %v", a.Key, err)
		}
		if d%time.Microsecond != 0 {
			return nil, logical.Errorf(a.Value, logical.CodeHint, "", "'%s' of EMIT must be whole microseconds, not %s", a.Key, d)
		}
		*to = d
	}
	if len(h.Args) == 0 {
		return nil, logical.Errorf(h, logical.CodeHint, "", emitUsage)
	}
	return e, completeEmit(e, func(hint, msg string) error { return logical.Errorf(h, logical.CodeHint, hint, "%s", msg) })
}

// completeEmit adds what follows from the options that are given.
func completeEmit(e *logical.Emit, fail func(hint, msg string) error) error {
	switch {
	case e.Lateness == 0 && e.Late >= 0:
		return fail("add 'allowed-lateness' = '1 min'", "late firing needs an allowed lateness greater than 0: without one, late rows are dropped")
	case e.Lateness > 0 && e.Late < 0:
		e.Late = 0
	}
	return nil
}

// SessionEmit is what table.exec.emit.* asks for of windows that have no EMIT hint; nil when nothing. pos is the place of the aggregate.
func SessionEmit(env *Env, pos ast.Pos) (*logical.Emit, error) {
	const prefix = "table.exec.emit."
	e := &logical.Emit{Early: -1, Late: -1, Pos: pos}
	var set []string
	duration := func(key string) (time.Duration, error) {
		d, err := Duration(env.Config[prefix+key])
		if err == nil && d%time.Microsecond != 0 {
			return 0, logical.ErrorAt(pos, logical.CodeOption, "", "'%s%s' must be whole microseconds, not %s", prefix, key, d)
		}
		if err != nil {
			return 0, logical.ErrorAt(pos, logical.CodeOption, "", "'%s%s': %v", prefix, key, err)
		}
		return d, nil
	}
	for _, f := range []struct {
		name string
		to   *time.Duration
	}{{"early-fire", &e.Early}, {"late-fire", &e.Late}} {
		key := prefix + f.name + ".enabled"
		if !env.Bool(key) {
			continue
		}
		set = append(set, "'"+key+"'")
		if env.Config[prefix+f.name+".delay"] == "" {
			return nil, logical.ErrorAt(pos, logical.CodeOption, "SET '"+prefix+f.name+".delay' = '10 s'; 0 s is at every row", "'%s' = 'true' needs '%s%s.delay'",
				key, prefix, f.name)
		}
		d, err := duration(f.name + ".delay")
		if err != nil {
			return nil, err
		}
		*f.to = d
	}
	off := strings.EqualFold(env.Config[prefix+"late-fire.enabled"], "false")
	if env.Config[prefix+"allow-lateness"] != "" && !off {
		d, err := duration("allow-lateness")
		if err != nil {
			return nil, err
		}
		e.Lateness = d
		if d > 0 {
			set = append(set, "'"+prefix+"allow-lateness'")
		}
	}
	err := completeEmit(e, func(_, msg string) error {
		return logical.ErrorAt(pos, logical.CodeOption, "SET '"+prefix+"allow-lateness' = '1 min'", "'%slate-fire.enabled' = 'true': %s", prefix, msg)
	})
	if err != nil || e.None() {
		return nil, err
	}
	e.Clause = strings.Join(set, " and ")
	return e, nil
}

// setEmit gives an aggregate what its EMIT hint asks for.
func (sb *selectBinder) setEmit(a *logical.Aggregate) error {
	h := sb.emit
	if h == nil {
		if e, err := SessionEmit(sb.b.env, a.Pos); a.Window != nil && e != nil && err == nil && len(sb.sel.GroupBy) > 0 && len(sb.b.views) == 0 {
			// What it asks for is read when the plan is made physical, for every window, and its errors are reported there.
			sb.b.Extensions = append(sb.b.Extensions, ast.Extension{Kind: ast.ExtEmit, Text: e.Clause, Portable: "the hint /*weir+ EMIT(..) */, which Flink passes over",
				Span: ast.Span{Start: sb.sel.GroupBy[0].Pos(), Stop: sb.sel.GroupBy[0].End()}})
		}
		return nil
	}
	if a.Window == nil {
		return logical.Errorf(h, logical.CodeHint, lateHint, "the hint EMIT needs an aggregate over windows: %s hands on every change at once", a.Clause)
	}
	e, err := emitHint(h)
	if err != nil {
		return err
	}
	if a.Window.Proctime && (e.Late >= 0 || e.Lateness > 0) {
		return logical.Errorf(h, logical.CodeHint, "give 'early' only", "no row is late for windows of processing time")
	}
	e.Pos = sb.b.pos(h)
	a.Emit = e
	return nil
}
