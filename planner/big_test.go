package planner

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestManyViews: each view reads the one before twice.
func TestManyViews(t *testing.T) {
	s := newSession()
	script := "CREATE TABLE t (a INT); CREATE VIEW v0 AS SELECT a FROM t;"
	for i := range 9 {
		script += fmt.Sprintf("CREATE VIEW v%d AS SELECT a FROM v%d UNION ALL SELECT a FROM v%d;", i+1, i, i)
	}
	if _, err := s.run(script); err != nil {
		t.Fatal(err)
	}
	if _, err := s.run("CREATE VIEW x AS SELECT a FROM v9 UNION ALL SELECT a FROM v9"); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Fatalf("2046 views: %v", err)
	}
}

// TestBigQueries plans queries that are long in one way each; planning is about linear in their length.
func TestBigQueries(t *testing.T) {
	columns := make([]string, 1000)
	for i := range columns {
		columns[i] = fmt.Sprintf("c%d INT", i)
	}
	list := func(n int, sep string, f func(i int) string) string {
		out := make([]string, n)
		for i := range out {
			out[i] = f(i)
		}
		return strings.Join(out, sep)
	}
	nested := "SELECT c1, c2 FROM wide"
	for i := range 60 {
		nested = fmt.Sprintf("SELECT c1, c2 + %d AS c2 FROM (%s) WHERE c1 <> %d", i, nested, i)
	}
	ctes := "WITH w0 AS (SELECT c1 FROM wide)" + list(40, "", func(i int) string {
		return fmt.Sprintf(", w%d AS (SELECT c1 FROM w%d UNION ALL SELECT c1 FROM w%d)", i+1, i, i)
	}) + " SELECT * FROM w40"
	for name, sql := range map[string]string{
		"columns": "SELECT * FROM wide WHERE c7 = 1",
		"union":   list(500, " UNION ALL ", func(i int) string { return fmt.Sprintf("SELECT c%d FROM wide", i) }),
		"and":     "SELECT c1 FROM wide WHERE " + list(2000, " AND ", func(i int) string { return fmt.Sprintf("c%d <> %d", i%1000, i) }),
		"in":      "SELECT c1 FROM wide WHERE c2 IN (" + list(5000, ", ", func(i int) string { return fmt.Sprint(i) }) + ")",
		"values":  "SELECT * FROM (VALUES " + list(3000, ", ", func(i int) string { return fmt.Sprintf("(%d, 'x%d')", i, i) }) + ") AS v(a, b) WHERE a > 1",
		"aggs":    "SELECT c1, " + list(500, ", ", func(i int) string { return fmt.Sprintf("SUM(c%d) AS s%d", i, i) }) + " FROM wide GROUP BY c1",
		"nested":  nested,
		"ctes":    ctes,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession()
			if _, err := s.run("CREATE TABLE wide (" + strings.Join(columns, ", ") + ")"); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			r, err := s.run(sql)
			if name == "ctes" {
				if err == nil || !strings.Contains(err.Error(), "too large") {
					t.Fatalf("2^40 reads of a table: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("planning took %v", d)
			}
			t.Logf("%d nodes in %v", len(r.Plan.Nodes()), time.Since(start))
		})
	}
}
