package coverage

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors/all"
	"github.com/weir-sql/weir/parser"
)

var update = flag.Bool("update", false, "write coverage.txt anew")

// refusal is a statement of refusals.sql with the error that it gives.
type refusal struct {
	statement, message string
	uses               uses
}

// readRefusals runs every statement of refusals.sql behind the marker; each must be refused.
func readRefusals(t *testing.T) []refusal {
	t.Helper()
	data, err := os.ReadFile("refusals.sql")
	if err != nil {
		t.Fatal(err)
	}
	setup, rest, ok := strings.Cut(string(data), "-- refused")
	if !ok {
		t.Fatal("refusals.sql has no line '-- refused'")
	}
	var out []refusal
	for _, st := range weir.Split("\n" + strings.TrimLeft(rest, "\n")).Statements {
		text := strings.Join(strings.Fields(st.Text), " ")
		err := refuse(t, setup, text)
		if err == nil && strings.HasPrefix(text, "CREATE TABLE x ") { // a table may be refused when it is used
			text += "; SELECT * FROM x"
			err = refuse(t, setup, text)
		}
		if err == nil {
			t.Errorf("refusals.sql: %q is not refused: it works now? Write a test in sqltests and take it out here", text)
			continue
		}
		var e *weir.Error
		if !errors.As(err, &e) || !slices.ContainsFunc(refusalCodes, func(c string) bool { return strings.HasPrefix(e.Code, c) }) {
			t.Errorf("refusals.sql: %q fails, which is no refusal: %v", text, err)
			continue
		}
		r := refusal{statement: text, message: strings.ReplaceAll(err.Error(), "\n", " "), uses: uses{}}
		if s, err := parser.ParseStatement(st.Text); err == nil {
			r.uses.statement(s)
		}
		// What the binder refuses without a node of its own, by its name in the message.
		r.uses.add(groupHints, between(r.message, "the hint ", " is"))
		r.uses.add(groupTypes, between(r.message, "the type ", " is"))
		r.uses.add(groupTypes, between(r.message, "no data type ", " ["))
		r.uses.add(groupTypes, between(r.message, ": ", " is not supported"))
		r.uses.add(groupOptions, between(r.message, "option '", "'"))
		r.uses.add(groupFormats, between(r.message, "format '", "'"))
		r.uses.add(groupFormats, between(r.message, "the format ", " is"))
		out = append(out, r)
	}
	return out
}

// refusalCodes are what the codes of refusals begin with: what is not supported, a word or type that the parser does not know, and what has no such
// name: a connector, a format.
var refusalCodes = []string{"WEIR-15", "WEIR-1001", "WEIR-1004", "WEIR-1308"}

// refuse runs statements in a session of their own and returns the first error; positions are those in text.
func refuse(t *testing.T, setup, text string) error {
	t.Helper()
	db, err := weir.Open(weir.Options{Connectors: all.Connectors(), Formats: all.Formats()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()
	if err := db.Exec(ctx, setup); err != nil {
		t.Fatalf("refusals.sql, before the marker: %v", err)
	}
	for _, st := range weir.Split(text).Statements {
		res, err := db.ExecuteWith(ctx, st.Text, weir.ExecOptions{RequireBounded: true})
		if err == nil && res.Query != nil {
			_, err = res.Query.Final()
		}
		if err != nil {
			return st.Place(err)
		}
	}
	return nil
}

func between(s, before, after string) string {
	_, rest, ok := strings.Cut(s, before)
	if !ok {
		return ""
	}
	name, _, ok := strings.Cut(rest, after)
	if !ok {
		return ""
	}
	return name
}

// TestCoverage holds coverage.txt against the code, the tests and the refusals.
func TestCoverage(t *testing.T) {
	have, err := Items()
	if err != nil {
		t.Fatal(err)
	}
	listed := map[item]Item{}
	for _, it := range have {
		listed[item{it.Group, it.Name}] = it
	}
	items := inventory(t)
	suite, byGo, refused := usedBySuite(t), usedByGoTests(t, items), readRefusals(t)
	if t.Failed() {
		return
	}
	var fresh []Item
	for _, it := range items {
		entry := Item{Group: it.group, Name: it.name}
		old, known := listed[it]
		tests := append(slices.Clone(suite[it]), byGo[it]...)
		switch {
		case len(tests) > 0:
			entry.Test = tests[0]
			if slices.Contains(tests, old.Test) {
				entry.Test = old.Test // the list does not change as long as it is true
			}
		default:
			i := slices.IndexFunc(refused, func(r refusal) bool { return r.uses[it] })
			if j := slices.IndexFunc(refused, func(r refusal) bool { return r.uses[it] && r.statement == old.Statement }); j >= 0 {
				i = j
			}
			if i < 0 {
				t.Errorf("%s: %s is neither used in a test of sqltests or of its package, nor refused by a statement of refusals.sql", it.group, it.name)
				continue
			}
			entry.Statement, entry.Refusal = refused[i].statement, refused[i].message
		}
		fresh = append(fresh, entry)
		if *update {
			continue
		}
		if !known {
			t.Errorf("%s: %s is not in coverage.txt", it.group, it.name)
		} else if old != entry {
			t.Errorf("%s: %s has changed\n  listed: %s\n  now:    %s", it.group, it.name, old.describe(), entry.describe())
		}
		delete(listed, it)
	}
	if *update {
		if err := os.WriteFile("coverage.txt", []byte(format(fresh, groups)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for it := range listed {
		t.Errorf("%s: %s is in coverage.txt and exists no more", it.group, it.name)
	}
	if t.Failed() {
		t.Log("go test ./internal/coverage -update writes coverage.txt anew")
	}
}

func (it Item) describe() string {
	if it.Test != "" {
		return "tested by " + it.Test
	}
	return fmt.Sprintf("%q gives %s", it.Statement, it.Refusal)
}

// TestRefusals: every statement of refusals.sql is refused with a place in its text.
func TestRefusals(t *testing.T) {
	for _, r := range readRefusals(t) {
		var line, column int
		if n, _ := fmt.Sscanf(r.message, "%d:%d: ", &line, &column); n != 2 {
			t.Errorf("%q: the refusal has no place: %s", r.statement, r.message)
		}
	}
}
