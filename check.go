package weir

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner"
)

// Note is something that Check found beside errors.
type Note struct {
	Msg, Hint    string
	Line, Column int
	Offset, End  int
	// Portability: Flink SQL would not take it.
	Portability bool
}

// Error gives the note the form of an error, to be placed in a script and rendered.
func (n Note) Error() *Error {
	return &Error{Msg: n.Msg, Hint: n.Hint, Line: n.Line, Column: n.Column, Offset: n.Offset, End: n.End}
}

// Check parses, binds and plans a statement without running it; statements of the catalog and SET are carried out, so that what follows can use them.
// A Checker also tells what only all statements of a script show.
func (db *DB) Check(ctx context.Context, sql string) (notes []Note, err error) {
	_, p, notes, err := db.check(ctx, sql)
	if err == nil {
		for _, w := range p.Advice {
			notes = append(notes, warningNote(w))
		}
	}
	return notes, err
}

// check is Check without the advice of the plan; without an error there is a result.
func (db *DB) check(ctx context.Context, sql string) (stmt ast.Statement, p *planner.Result, notes []Note, err error) {
	defer internal(&err)
	p = &planner.Result{}
	if stmt, err = parser.ParseStatement(sql); err != nil {
		return nil, p, nil, asError(err)
	}
	for _, x := range stmt.Base().Extensions {
		notes = append(notes, extensionNote(x))
	}
	if res, done, err := db.sessionStatement(ctx, stmt); done || err != nil {
		if res != nil {
			notes = append(notes, res.Notes...)
		}
		return stmt, p, notes, asError(err)
	}
	p, err = planner.Plan(ctx, stmt, db.env())
	for _, x := range p.Extensions {
		notes = append(notes, extensionNote(x))
	}
	if err != nil {
		return stmt, p, notes, asError(err)
	}
	for _, w := range p.Warnings {
		notes = append(notes, warningNote(w))
	}
	return stmt, p, notes, nil
}

// Checker checks the statements of scripts that belong together, one after the other, and at the end the tables that they declare. It is used by one
// goroutine.
type Checker struct {
	db       *DB
	calls    int
	declared map[int64]*declared // by the tables' IDs
	told     map[int64]bool      // tables of others whose advice was given
	failed   map[string]bool     // messages of errors
}

// declared is a table that a checked statement declared.
type declared struct {
	call     int
	stmt     *ast.CreateTable
	current  catalog.Path // catalog and database then
	template bool         // another table was declared LIKE it
	read     bool
	written  bool
	advice   string // what the first plan says that reads it so
}

// TableFinding is what Finish found out about a table. Its place is that of the declaration, in the text of the statement.
type TableFinding struct {
	// Statement is the number of the call of Check that declared the table, from 0.
	Statement int
	// Note is a warning; it is empty where Err says what is wrong with the declaration.
	Note Note
	Err  *Error
}

// NewChecker starts checking.
func (db *DB) NewChecker() *Checker {
	return &Checker{db: db, declared: map[int64]*declared{}, told: map[int64]bool{}, failed: map[string]bool{}}
}

// Check is DB.Check, but what is to be said of a table as such, wherever it is read, is left to Finish.
func (c *Checker) Check(ctx context.Context, sql string) (notes []Note, err error) {
	cat, database := c.db.catalogs.Current()
	stmt, p, notes, err := c.db.check(ctx, sql)
	call := c.calls
	c.calls++
	if err != nil {
		c.failed[errorText(err)] = true
		return notes, err
	}
	if s, ok := stmt.(*ast.CreateTable); ok && p.Created != nil {
		c.declared[p.Created.ID] = &declared{call: call, stmt: s, current: catalog.Path{Catalog: cat, Database: database}}
	}
	if d := c.declared[p.Template]; d != nil {
		d.template = true
	}
	for _, w := range c.note(p) {
		notes = append(notes, warningNote(w))
	}
	return notes, nil
}

// note keeps what a plan tells of declared tables and returns the rest of its advice.
func (c *Checker) note(p *planner.Result) []planner.Warning {
	for _, id := range p.Reads {
		if d := c.declared[id]; d != nil {
			d.read = true
		}
	}
	for _, id := range p.Writes {
		if d := c.declared[id]; d != nil {
			d.written = true
		}
	}
	var rest []planner.Warning
	for _, w := range p.Advice {
		switch d := c.declared[w.Table]; {
		case d != nil:
			d.advice = cmp.Or(d.advice, w.Text)
		case !c.told[w.Table]:
			c.told[w.Table] = w.Table != 0
			rest = append(rest, w)
		}
	}
	return rest
}

// Finish plans the reading of each declared table that is still there and that no statement has read, with the settings as they are now, and gives what is
// to be said of all declared ones: at most one finding each, in the order of the declarations. A view that no statement has read counts as one that does.
func (c *Checker) Finish(ctx context.Context) (found []TableFinding, err error) {
	defer internal(&err)
	objects := c.db.catalogs.All()
	for _, o := range objects {
		if v, ok := o.(*catalog.View); ok {
			if p, err := c.reading(ctx, v, catalog.Path{}); err == nil {
				c.note(p)
			}
		}
	}
	wrong := map[int64]error{}
	for _, o := range objects {
		t, ok := o.(*catalog.Table)
		if !ok {
			continue
		}
		d := c.declared[t.ID]
		if d == nil || d.read {
			continue
		}
		p, err := c.reading(ctx, t, d.current)
		switch {
		case err == nil:
			c.note(p)
		case !d.template && !d.written && !c.failed[errorText(err)]: // else it is of use as it is, or the error was given
			wrong[t.ID] = err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.declared)) {
		d := c.declared[id]
		name := ast.Span{Start: d.stmt.Name.Pos(), Stop: d.stmt.Name.End()}
		switch {
		case wrong[id] != nil:
			e := *asError(wrong[id]).(*Error)
			at := d.option(e.Msg, name)
			e.Line, e.Column, e.Offset, e.End = at.Start.Line, at.Start.Column, at.Start.Offset, at.Stop
			found = append(found, TableFinding{Statement: d.call, Err: &e})
		case d.advice != "":
			found = append(found, TableFinding{Statement: d.call, Note: Note{Msg: d.advice, Line: name.Start.Line, Column: name.Start.Column, Offset: name.Start.Offset, End: name.Stop}})
		}
	}
	return found, nil
}

// reading plans the reading of all of a table or view. In batch mode, where nothing waits for a silent split, it looks for errors of the declaration only.
func (c *Checker) reading(ctx context.Context, o catalog.Object, current catalog.Path) (*planner.Result, error) {
	env := c.db.env()
	batch := env.Batch()
	delete(env.Config, "execution.runtime-mode") // which refuses unbounded tables
	p, err := planner.PlanRead(ctx, o, current, env)
	if err != nil {
		return nil, err
	}
	if batch {
		p.Advice = nil
	}
	return p, nil
}

// option finds the option of the declaration that a message names first, by its key or, for a connector or format that is not there, by its value.
func (d *declared) option(msg string, fallback ast.Span) ast.Span {
	at, first := fallback, len(msg)
	for _, o := range d.stmt.Options {
		i := strings.Index(msg, "'"+o.Key.Value+"'")
		if i < 0 && strings.HasPrefix(msg, "table ") {
			i = strings.Index(msg, ": unknown "+lastPart(o.Key.Value)+" '"+o.Value.Value+"'")
		}
		if i >= 0 && i < first {
			at, first = o.Span, i
		}
	}
	return at
}

// lastPart is format of value.format.
func lastPart(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// errorText is the message alone, which is the same wherever it was found.
func errorText(err error) string { return asError(err).(*Error).Msg }

func warningText(w planner.Warning) string {
	if w.Pos.IsValid() {
		return fmt.Sprintf("%d:%d: %s", w.Pos.Line, w.Pos.Column, w.Text)
	}
	return w.Text
}

func warningNote(w planner.Warning) Note {
	n := Note{Msg: w.Text}
	if w.Pos.IsValid() {
		n.Line, n.Column, n.Offset = w.Pos.Line, w.Pos.Column, w.Pos.Offset
	}
	return n
}

func extensionNote(x ast.Extension) Note {
	return Note{Portability: true, Msg: portabilityText(x), Hint: portableHint(x), Line: x.Start.Line, Column: x.Start.Column, Offset: x.Start.Offset, End: x.Stop}
}

func portabilityText(x ast.Extension) string {
	if x.Kind == ast.ExtNotEqual {
		return "Flink has no !="
	}
	what := map[ast.ExtensionKind]string{
		ast.ExtHint: "Flink refuses hints that it does not know", ast.ExtReservedWord: "Flink reserves this word",
		ast.ExtFileTable: "Flink has no files as tables", ast.ExtStatement: "Flink has no such statement", ast.ExtSeveralOnLine: "Flink's client takes one statement a line",
		ast.ExtTableOption: "Flink refuses options that it does not know", ast.ExtMemoryTable: "Flink has no tables without a connector",
		ast.ExtGroupBy:  "Flink groups by expressions, not by aliases or positions",
		ast.ExtInferred: "Flink does not infer the columns of a table",
		ast.ExtEmit:     "Flink refuses early and late firing of windows of table functions, and ignores their allowed lateness",
	}[x.Kind]
	if what == "" {
		what = "Flink does not take this"
	}
	return what + ": " + firstLine(x.Text)
}

func portableHint(x ast.Extension) string {
	switch {
	case x.Kind == ast.ExtFileTable:
		return "declare a table: SHOW CREATE TABLE " + x.Text + " writes the declaration"
	case x.Kind == ast.ExtInferred:
		return "declare them: SHOW CREATE TABLE " + x.Text + " writes the declaration"
	case x.Kind == ast.ExtMemoryTable:
		return "declare a connector: WITH ('connector' = ..)"
	case x.Kind == ast.ExtSeveralOnLine:
		return "begin the statement on a line of its own"
	case x.Portable == "":
		return ""
	}
	return "write " + x.Portable
}
