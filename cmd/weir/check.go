package main

import (
	"encoding/json"
	"errors"
	"fmt"
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
}

func (a *app) checkCmd() *cobra.Command {
	var portable, asJSON bool
	cmd := &cobra.Command{
		Use:   "check script.sql ...",
		Short: "Parse, bind and plan only: errors, unbounded state, what Flink would refuse",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			db, err := a.open() // one session for all scripts, as `weir run` has it
			if err != nil {
				return err
			}
			defer db.Close()
			found := []finding{}
			for _, name := range args {
				text, err := a.read(name)
				if err != nil {
					fmt.Fprintf(a.err, "weir: %v\n", err)
					return exitError(shell.ExitFailed)
				}
				fs, err := a.checkText(db, text, name, portable)
				if err != nil {
					return err
				}
				found = append(found, fs...)
			}
			return a.reportFindings(found, asJSON)
		},
	}
	cmd.Flags().BoolVar(&portable, "portable", false, "also name every construct that Flink would not take")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print findings as JSON")
	cmd.Flags().StringArrayVar(&a.settings, "set", nil, "a setting of the session, `KEY=VALUE`; may be repeated")
	return cmd
}

func (a *app) checkText(db *weir.DB, text, name string, portable bool) ([]finding, error) {
	var found []finding
	behind := 0 // the statement before
	for _, st := range weir.Split(text).Statements {
		notes, err := db.Check(a.ctx, st.Text)
		if behind > 0 && !strings.Contains(text[behind:st.Offset], "\n") { // what Check cannot see
			word := strings.Fields(st.Text)[0]
			notes = append([]weir.Note{{Portability: true, Msg: "Flink's client takes one statement a line: " + word, Hint: "begin the statement on a line of its own",
				Line: 1, Column: 1, End: len(word)}}, notes...)
		}
		behind = st.Next
		for _, n := range notes {
			if n.Portability && !portable {
				continue
			}
			severity := "warning"
			if n.Portability {
				severity = "portability"
			}
			placed := st.Place(&weir.Error{Msg: n.Msg, Hint: n.Hint, Line: n.Line, Column: n.Column, Offset: n.Offset, End: n.End}).(*weir.Error)
			found = append(found, finding{File: name, Line: placed.Line, Column: placed.Column, Severity: severity, Message: n.Msg, Hint: n.Hint, rendered: placed.Render(text, name)})
		}
		if err != nil {
			var e *weir.Error
			if !errors.As(st.Place(err), &e) {
				return nil, err
			}
			found = append(found, finding{File: name, Line: e.Line, Column: e.Column, Severity: "error", Code: e.Code, Message: e.Msg, Hint: e.Hint, rendered: e.Render(text, name)})
		}
	}
	return found, nil
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
		Args:  cobra.MinimumNArgs(1),
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
