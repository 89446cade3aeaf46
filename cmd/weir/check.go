package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/shell"
)

// finding is one line of check's report.
type finding struct {
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Severity string `json:"severity"` // error, warning, portability
	Code     string `json:"code,omitempty"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	rendered string
	order    int // of the statement
}

// checked is a statement that was checked, and where it stands.
type checked struct {
	weir.Statement
	text, name string // of the script
}

// checking is one run of check: all scripts are one session.
type checking struct {
	*weir.Checker
	portable   bool
	statements []checked
	found      []finding
}

func (a *app) checkCmd() *cobra.Command {
	var portable, asJSON bool
	cmd := &cobra.Command{
		Use:   "check script.sql ...",
		Short: "Parse, bind and plan only: errors, unbounded state, what Flink would refuse",
		Args:  needArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			db, err := a.open() // one session for all scripts, as `weir run` has it
			if err != nil {
				return err
			}
			defer db.Close()
			c := &checking{Checker: db.NewChecker(), portable: portable, found: []finding{}}
			for _, name := range args {
				text, err := a.read(name)
				if err != nil {
					fmt.Fprintf(a.err, "weir: %v\n", err)
					return exitError(shell.ExitFailed)
				}
				c.script(a.ctx, text, name)
			}
			if err := c.finish(a.ctx); err != nil {
				return err
			}
			return a.reportFindings(c.found, asJSON)
		},
	}
	cmd.Flags().BoolVar(&portable, "portable", false, "also name every construct that Flink would not take")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print findings as JSON")
	cmd.Flags().StringArrayVar(&a.settings, "set", nil, "a setting of the session, `KEY=VALUE`; may be repeated")
	return cmd
}

func (c *checking) script(ctx context.Context, text, name string) {
	behind := 0 // the statement before
	for _, st := range weir.Split(text).Statements {
		c.statements = append(c.statements, checked{st, text, name})
		notes, err := c.Check(ctx, st.Text)
		if behind > 0 && !strings.Contains(text[behind:st.Offset], "\n") { // what Check cannot see
			word := strings.Fields(st.Text)[0]
			notes = append([]weir.Note{{Portability: true, Msg: "Flink's client takes one statement a line: " + word, Hint: "begin the statement on a line of its own",
				Line: 1, Column: 1, End: len(word)}}, notes...)
		}
		behind = st.Next
		for _, n := range notes {
			c.note(len(c.statements)-1, n)
		}
		if err != nil {
			c.fail(len(c.statements)-1, err)
		}
	}
}

// finish adds what is to be said of tables, each behind what was said of its statement.
func (c *checking) finish(ctx context.Context) error {
	tables, err := c.Finish(ctx)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if t.Err != nil {
			c.fail(t.Statement, t.Err)
		} else {
			c.note(t.Statement, t.Note)
		}
	}
	slices.SortStableFunc(c.found, func(a, b finding) int { return cmp.Compare(a.order, b.order) })
	return nil
}

func (c *checking) note(statement int, n weir.Note) {
	if n.Portability && !c.portable {
		return
	}
	severity := "warning"
	if n.Portability {
		severity = "portability"
	}
	c.add(statement, severity, n.Error())
}

func (c *checking) fail(statement int, err error) {
	var e *weir.Error
	if !errors.As(err, &e) {
		e = &weir.Error{Msg: err.Error()}
	}
	c.add(statement, "error", e)
}

func (c *checking) add(statement int, severity string, e *weir.Error) {
	st := c.statements[statement]
	errors.As(st.Place(e), &e)
	c.found = append(c.found, finding{File: st.name, Line: e.Line, Column: e.Column, Severity: severity, Code: e.Code, Message: e.Msg, Hint: e.Hint,
		rendered: e.Render(st.text, st.name), order: statement})
}

func (a *app) reportFindings(found []finding, asJSON bool) error {
	failed := false
	for _, f := range found {
		failed = failed || f.Severity == "error"
		if !asJSON {
			fmt.Fprintf(a.out, "%s: %s", f.Severity, f.rendered)
		}
	}
	if asJSON {
		enc := json.NewEncoder(a.out)
		enc.SetIndent("", "  ")
		if err := enc.Encode(found); err != nil {
			return err
		}
	}
	if failed {
		return exitError(shell.ExitFailed)
	}
	return nil
}

func (a *app) explainCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain script.sql ...",
		Short: "Print the plans of a script's queries; statements of the catalog are carried out",
		Args:  needArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			db, err := a.open()
			if err != nil {
				return err
			}
			defer db.Close()
			for _, name := range args {
				text, err := a.read(name)
				if err != nil {
					fmt.Fprintf(a.err, "weir: %v\n", err)
					return exitError(shell.ExitFailed)
				}
				if err := a.explainText(db, text, name, asJSON); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print plans as JSON")
	cmd.Flags().StringArrayVar(&a.settings, "set", nil, "a setting of the session, `KEY=VALUE`; may be repeated")
	return cmd
}

func (a *app) explainText(db *weir.DB, text, name string, asJSON bool) error {
	r, err := a.runner(db)
	if err != nil {
		return err
	}
	for _, st := range weir.Split(text).Statements {
		plan, err := db.Explain(a.ctx, st.Text, asJSON)
		if err != nil {
			r.PrintError(st.Place(err), text, name)
			return exitError(shell.ExitFailed)
		}
		if plan != "" {
			fmt.Fprintln(a.out, plan)
		}
	}
	return nil
}
