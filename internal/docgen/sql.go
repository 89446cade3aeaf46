package docgen

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/internal/coverage"
	"github.com/weir-sql/weir/types"
)

// functions lists the built-in functions and operators, a table for each group; arg is a group, or nothing for all.
func functions(_, arg string) (string, error) {
	byGroup := map[string][][]string{}
	var groups []string
	for _, f := range catalog.Functions() {
		if arg != "" && f.Group != arg {
			continue
		}
		if byGroup[f.Group] == nil {
			groups = append(groups, f.Group)
		}
		syntax := f.Syntax
		if syntax == "" {
			syntax = f.Name
		}
		doc := f.Doc
		if len(f.Aliases) > 0 {
			names := make([]string, len(f.Aliases))
			for i, a := range f.Aliases {
				names[i] = code(a)
			}
			doc += " Also: " + strings.Join(names, ", ") + "."
		}
		byGroup[f.Group] = append(byGroup[f.Group], []string{code(syntax), doc})
	}
	if len(groups) == 0 {
		return "", fmt.Errorf("no functions in group %q", arg)
	}
	sort.Strings(groups)
	var sb strings.Builder
	for _, g := range groups {
		if arg == "" {
			fmt.Fprintf(&sb, "### %s\n\n", g)
		}
		sb.WriteString(table([]string{"syntax", "what it gives"}, byGroup[g]) + "\n")
	}
	return sb.String(), nil
}

// sampleTypes has a type of each kind with what it holds.
var sampleTypes = []struct {
	t     types.Type
	name  string
	holds string
}{
	{types.BooleanType, "BOOLEAN", "`TRUE`, `FALSE`"},
	{types.TinyIntType, "TINYINT", "-128 to 127"},
	{types.SmallIntType, "SMALLINT", "-32768 to 32767"},
	{types.IntType, "INT, INTEGER", "-2^31 to 2^31 - 1"},
	{types.BigIntType, "BIGINT", "-2^63 to 2^63 - 1"},
	{types.DecimalOf(10, 2), "DECIMAL(p, s), DEC, NUMERIC", "p digits (1 to 38), s of them behind the point; without p and s: (10, 0)"},
	{types.FloatType, "FLOAT", "a 32-bit float, NaN and infinities included"},
	{types.DoubleType, "DOUBLE, DOUBLE PRECISION", "a 64-bit float, NaN and infinities included"},
	{types.CharOf(3), "CHAR(n)", "n characters, filled up with blanks by CAST"},
	{types.VarCharOf(3), "VARCHAR(n)", "up to n characters"},
	{types.StringType, "STRING", "`VARCHAR(2147483647)`"},
	{types.BinaryOf(3), "BINARY(n)", "n bytes"},
	{types.VarBinaryOf(3), "VARBINARY(n)", "up to n bytes"},
	{types.BytesType, "BYTES", "`VARBINARY(2147483647)`"},
	{types.DateType, "DATE", "a day, 0001-01-01 to 9999-12-31"},
	{types.TimeOf(3), "TIME(p)", "a time of day; p is 0 to 9, what is kept are milliseconds"},
	{types.TimestampOf(3), "TIMESTAMP(p)", "a wall clock reading without a zone; p digits behind the second, 0 to 9, 6 when not given"},
	{types.TimestampLTZOf(3), "TIMESTAMP_LTZ(p), TIMESTAMP(p) WITH LOCAL TIME ZONE", "an instant, shown in the session's time zone"},
	{types.YearMonthType, "INTERVAL YEAR TO MONTH", "months"},
	{types.DayTimeType, "INTERVAL DAY TO SECOND", "microseconds"},
	{types.ArrayOf(types.IntType), "ARRAY<t>, t ARRAY", "elements of one type"},
	{types.MapOf(types.StringType, types.IntType), "MAP<k, v>", "keys and values"},
	{types.MultisetOf(types.StringType), "MULTISET<t>, t MULTISET", "values with the number of their copies"},
	{types.RowOf(types.Field{Name: "a", Type: types.IntType}), "ROW<name t, ...>", "fields"},
}

// sqlTypes lists the types with their Arrow form. Timestamps of more than 6 digits have another one, which the list says too.
func sqlTypes(_, _ string) (string, error) {
	var rows [][]string
	for _, s := range sampleTypes {
		arrow := code(s.t.Arrow().String())
		if s.t.IsTimestamp() {
			nanos := types.TimestampOf(9)
			if s.t.Kind == types.TimestampLTZ {
				nanos = types.TimestampLTZOf(9)
			}
			arrow += ", " + code(nanos.Arrow().String()) + " for p > 6"
		}
		names := strings.Split(s.name, ", ")
		if strings.ContainsAny(s.name, "(<") {
			names = []string{s.name}
		}
		for i := range names {
			names[i] = code(names[i])
		}
		rows = append(rows, []string{strings.Join(names, ", "), s.holds, arrow})
	}
	return table([]string{"type", "values", "Arrow"}, rows), nil
}

// casts shows for each pair of types whether a value is converted: I without a CAST where INSERT assigns it, C by CAST and TRY_CAST.
func casts(_, _ string) (string, error) {
	kinds := []types.Type{types.BooleanType, types.IntType, types.DecimalOf(10, 2), types.DoubleType, types.StringType, types.BytesType, types.DateType, types.TimeOf(0),
		types.TimestampOf(3), types.TimestampLTZOf(3), types.YearMonthType, types.DayTimeType, types.ArrayOf(types.IntType), types.MapOf(types.StringType, types.IntType),
		types.MultisetOf(types.StringType), types.RowOf(types.Field{Name: "a", Type: types.IntType})}
	name := func(t types.Type) string {
		n, _, _ := strings.Cut(t.String(), "<")
		n, _, _ = strings.Cut(n, "(")
		return strings.TrimPrefix(n, "INTERVAL ")
	}
	head := []string{"from \\ to"}
	for _, t := range kinds {
		head = append(head, name(t))
	}
	var rows [][]string
	for _, from := range kinds {
		row := []string{name(from)}
		for _, to := range kinds {
			switch {
			case types.Implicit(from, to):
				row = append(row, "I")
			case types.CanCast(from, to):
				row = append(row, "C")
			default:
				row = append(row, "")
			}
		}
		rows = append(rows, row)
	}
	return table(head, rows), nil
}

// inertSettings lists the keys of Flink that have no effect.
func inertSettings(_, _ string) (string, error) {
	var rows [][]string
	for _, s := range weir.InertSettings() {
		accepted := "any value"
		switch {
		case len(s.Values) == 0:
		case s.Values[0] == "":
			accepted = "the empty value only"
		default:
			accepted = code(s.Values[0]) + " only"
		}
		rows = append(rows, []string{code(s.Key), accepted, s.Why})
	}
	return table([]string{"key", "accepted", "why it has no effect"}, rows), nil
}

func settings(_, _ string) (string, error) {
	var rows [][]string
	for _, s := range weir.Settings() {
		rows = append(rows, []string{code(s.Key), strings.ReplaceAll(s.Type, "|", " or "), code(s.Default), s.Doc})
	}
	return table([]string{"key", "type", "default", "meaning"}, rows), nil
}

// refused lists what Weir refuses, from the list that internal/coverage keeps. arg is a group.
func refused(_, arg string) (string, error) {
	items, err := coverage.Items()
	if err != nil {
		return "", err
	}
	type row struct{ names []string }
	var order []string
	byMessage := map[string]*row{}
	for _, it := range items {
		if it.Group != arg || it.Test != "" {
			continue
		}
		message := withoutPlace(it.Refusal)
		if byMessage[message] == nil {
			byMessage[message] = &row{}
			order = append(order, message)
		}
		byMessage[message].names = append(byMessage[message].names, code(it.Name))
	}
	if len(order) == 0 {
		return "Nothing.\n", nil
	}
	var rows [][]string
	for _, m := range order {
		rows = append(rows, []string{strings.Join(byMessage[m].names, ", "), m})
	}
	return table([]string{"what", "refusal"}, rows), nil
}

// plan prints the plan of the query of the architecture page.
func plan(root, _ string) (string, error) {
	db, err := weir.Open(weir.Options{})
	if err != nil {
		return "", err
	}
	defer db.Close()
	ctx := context.Background()
	err = db.Exec(ctx, "CREATE TABLE rides (station STRING, price DECIMAL(6, 2), minutes INT, ended_at TIMESTAMP(3), WATERMARK FOR ended_at AS ended_at - INTERVAL '5' SECOND) "+
		"WITH ('connector' = 'filesystem', 'path' = '"+filepath.ToSlash(filepath.Join(root, "examples/data/rides.json"))+"', 'format' = 'json')")
	if err != nil {
		return "", err
	}
	const query = `SELECT window_start, station, SUM(price) AS revenue
FROM TUMBLE(TABLE rides, DESCRIPTOR(ended_at), INTERVAL '10' MINUTE)
WHERE minutes > 5
GROUP BY window_start, window_end, station`
	text, err := db.Explain(ctx, query, false)
	return "```text\nEXPLAIN\n" + query + ";\n\n" + strings.TrimSpace(text) + "\n```\n", err
}

// withoutPlace cuts line:column off a message.
func withoutPlace(s string) string {
	parts := strings.SplitN(s, ": ", 2)
	if len(parts) == 2 && strings.Trim(parts[0], "0123456789:") == "" {
		return parts[1]
	}
	return s
}

// imports makes the table of imports from the one that internal/lint tests.
func imports(root, _ string) (string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "internal/lint/imports_test.go"), nil, 0)
	if err != nil {
		return "", err
	}
	var rows [][]string
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || v.Names[0].Name != "allowed" {
			return true
		}
		for _, e := range v.Values[0].(*ast.CompositeLit).Elts {
			kv := e.(*ast.KeyValueExpr)
			var list []string
			for _, x := range kv.Value.(*ast.CompositeLit).Elts {
				list = append(list, code(orRoot(unquote(x))))
			}
			rows = append(rows, []string{code(orRoot(unquote(kv.Key))), strings.Join(list, ", ")})
		}
		return false
	})
	if len(rows) == 0 {
		return "", fmt.Errorf("no table of imports in internal/lint/imports_test.go")
	}
	return table([]string{"package", "may import, of ours"}, rows), nil
}

func orRoot(s string) string {
	if s == "" {
		return "weir"
	}
	return s
}

func unquote(x ast.Expr) string {
	s, err := strconv.Unquote(x.(*ast.BasicLit).Value)
	if err != nil {
		panic(err) // a literal of a file that parses
	}
	return s
}
