package planner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-sql/weir/parser"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
)

const fuzzTables = `CREATE TABLE t (a INT NOT NULL, b STRING, c BIGINT, d DOUBLE, e DECIMAL(10, 2), ts TIMESTAMP(3), dt DATE, r ROW<x INT, y STRING>, arr ARRAY<INT>, m MAP<STRING, INT>);
CREATE TABLE s (a INT, b STRING, c BIGINT, d DOUBLE, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ('connector' = 'test');
CREATE TABLE z (a INT, k STRING, ts TIMESTAMP_LTZ(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka');
CREATE TABLE sink (a INT, c BIGINT) WITH ('connector' = 'print');
CREATE VIEW v AS SELECT a, c, ts FROM s WHERE a > 1`

// planOne plans a text; anything but an *Error or a syntax error is a failure, and so is a plan that breaks a rule of the properties.
func planOne(t *testing.T, s *session, text string) {
	stmts, err := parser.Parse(text)
	if err != nil {
		return
	}
	for _, st := range stmts {
		var schemas []string
		for _, mode := range []string{"on", "off"} {
			s.env.Config["weir.optimizer"] = mode
			r, err := Plan(context.Background(), st, s.env)
			if err != nil {
				var own *Error
				if !errors.As(err, &own) {
					t.Fatalf("%s\nerror of type %T: %v", text, err, err)
				}
				if own.Code == logical.CodeInternal {
					t.Fatalf("%s\n%v", text, err)
				}
				schemas = append(schemas, "error "+own.Code)
				continue
			}
			if _, ddl := st.(*ast.CreateTable); ddl || r.Plan == nil {
				return // it has been carried out
			}
			if err := r.Plan.Check(); err != nil {
				t.Fatalf("%s\n%v", text, err)
			}
			for _, asJSON := range []bool{false, true} {
				if _, err := Explain(r, asJSON); err != nil {
					t.Fatalf("%s\n%v", text, err)
				}
			}
			p := r.Plan.Roots[0]
			schemas = append(schemas, fmt.Sprint(p.Schema(), p.Props().Changelog))
		}
		if schemas[0] != schemas[1] {
			t.Fatalf("%s\nwith the optimizer    %s\nwithout the optimizer %s", text, schemas[0], schemas[1])
		}
	}
}

// FuzzPlan plans any text that parses.
func FuzzPlan(f *testing.F) {
	for _, pattern := range []string{"testdata/*.txt", "../sqltests/plans/*.explain", "../parser/testdata/*.txt", "../sqltests/cases/*.slt"} {
		files, _ := filepath.Glob(pattern)
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			for _, block := range strings.Split(string(data), "\n\n") {
				sql, _, _ := strings.Cut(block, "\n----")
				f.Add(sql)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := newSession()
		if _, err := s.run(fuzzTables); err != nil {
			t.Fatal(err)
		}
		planOne(t, s, text)
	})
}

// TestRandomQueries plans queries made at random from a grammar.
func TestRandomQueries(t *testing.T) {
	s := newSession()
	if _, err := s.run(fuzzTables); err != nil {
		t.Fatal(err)
	}
	planned := 0
	for seed := range uint64(4000) {
		g := &generator{r: rand.New(rand.NewPCG(seed, 1))}
		text := g.query(3)
		planOne(t, s, text)
		if _, err := s.run(text); err == nil {
			planned++
		}
	}
	if planned < 400 {
		t.Errorf("only %d of the queries could be planned: the generator has lost touch", planned)
	}
}

type generator struct {
	r *rand.Rand
}

func (g *generator) pick(options ...string) string { return options[g.r.IntN(len(options))] }

func (g *generator) chance(n int) bool { return g.r.IntN(n) == 0 }

func (g *generator) query(depth int) string {
	var b strings.Builder
	if g.chance(8) {
		b.WriteString("WITH w AS (" + g.selectBlock(depth-1) + ") ")
	}
	b.WriteString(g.selectBlock(depth))
	for g.chance(6) {
		b.WriteString(" " + g.pick("UNION ALL", "UNION") + " " + g.selectBlock(depth-1))
	}
	if g.chance(4) {
		b.WriteString(" ORDER BY " + g.pick("1", "a", "n", "c DESC", "2 NULLS LAST"))
	}
	if g.chance(5) {
		b.WriteString(" LIMIT " + g.pick("0", "1", "10") + g.pick("", " OFFSET 3"))
	}
	return b.String()
}

func (g *generator) selectBlock(depth int) string {
	from := g.from(depth)
	var b strings.Builder
	b.WriteString("SELECT " + g.pick("", "", "", "DISTINCT "))
	window := strings.Contains(from, "DESCRIPTOR")
	keys := []string{}
	grouped := g.chance(2)
	if grouped {
		if window && !g.chance(4) {
			keys = append(keys, "window_start", "window_end")
			if g.chance(3) {
				keys = append(keys, "window_time")
			}
		}
		for g.chance(2) {
			keys = append(keys, g.pick("a", "b", "c", "a + 1", "ts"))
		}
	}
	items := []string{}
	for range 1 + g.r.IntN(3) {
		switch {
		case grouped && g.chance(2):
			items = append(items, g.aggregate()+g.pick("", " AS n"))
		case grouped && len(keys) > 0:
			items = append(items, keys[g.r.IntN(len(keys))])
		case grouped:
			items = append(items, "COUNT(*) AS n")
		default:
			items = append(items, g.pick("*", "a", "c", "b AS n", g.expr(2)+" AS n", "ts"))
		}
	}
	b.WriteString(strings.Join(items, ", ") + " FROM " + from)
	if g.chance(3) {
		b.WriteString(" WHERE " + g.cond(2, window))
	}
	if len(keys) > 0 {
		switch {
		case len(keys) > 2 && g.chance(3):
			b.WriteString(" GROUP BY " + strings.Join(keys[:2], ", ") + ", " + g.pick("ROLLUP", "CUBE") + " (" + strings.Join(keys[2:], ", ") + ")")
		case g.chance(8):
			b.WriteString(" GROUP BY GROUPING SETS ((" + strings.Join(keys, ", ") + "), (" + keys[0] + "))")
		default:
			b.WriteString(" GROUP BY " + strings.Join(keys, ", "))
		}
		if g.chance(4) {
			b.WriteString(" HAVING " + g.aggregate() + " > 1")
		}
	}
	return b.String()
}

func (g *generator) from(depth int) string {
	if depth <= 0 {
		return g.pick("t", "s", "z", "v")
	}
	switch g.r.IntN(7) {
	case 0, 1:
		return "(" + g.query(depth-1) + ")"
	case 2:
		return "(VALUES (1, 'x', CAST(2 AS BIGINT)), (3, NULL, 4)) AS q(a, b, c)"
	case 3, 4:
		data := g.pick("TABLE s", "TABLE s", "TABLE z", "TABLE v", "TABLE t", "("+g.query(depth-1)+")")
		f := g.pick("TUMBLE(%s, DESCRIPTOR(%s), INTERVAL '10' SECOND)", "HOP(%s, DESCRIPTOR(%s), INTERVAL '2' SECOND, INTERVAL '10' SECOND)",
			"CUMULATE(%s, DESCRIPTOR(%s), INTERVAL '5' SECOND, INTERVAL '10' SECOND)", "TUMBLE(%s, DESCRIPTOR(%s), INTERVAL '1' DAY, INTERVAL '1' HOUR)")
		return fmt.Sprintf(f, data, g.pick("ts", "ts", "ts", "window_time", "p"))
	}
	return g.pick("t", "s", "z", "v", "w")
}

func (g *generator) aggregate() string {
	return g.pick("COUNT(*)", "SUM(c)", "MAX(a)", "MIN(b)", "AVG(d)", "COUNT(DISTINCT a)", "COUNT(DISTINCT a, c)", "SUM(a) FILTER (WHERE a > 1)", "LISTAGG(b)",
		"FIRST_VALUE(c)", "STDDEV_POP(c)", "MAX(window_start)", "SUM(c) + COUNT(*)", "GROUPING(a)")
}

func (g *generator) expr(depth int) string {
	if depth == 0 {
		return g.pick("a", "b", "c", "1", "'x'", "2.5", "NULL", "r.x", "arr[1]", "m['k']", "DATE '2024-05-01'", "ts", "TRUE", "n")
	}
	x, y := g.expr(depth-1), g.expr(depth-1)
	switch g.r.IntN(12) {
	case 0, 1, 2:
		return "(" + x + " " + g.pick("+", "-", "*", "/", "||", "=", "<", "AND") + " " + y + ")"
	case 3:
		return "CASE WHEN " + g.cond(depth-1, false) + " THEN " + x + " ELSE " + y + " END"
	case 4:
		return "CAST(" + x + " AS " + g.pick("INT", "STRING", "DOUBLE", "TIMESTAMP(3)", "DECIMAL(5, 2)") + ")"
	case 5:
		return "COALESCE(" + x + ", " + y + ")"
	case 6:
		return "UPPER(" + x + ")"
	case 7:
		return "(" + x + ") IS " + g.pick("", "NOT ") + "NULL"
	case 8:
		return "ROW(" + x + ", " + y + ")"
	case 9:
		return "EXTRACT(HOUR FROM " + x + ")"
	}
	return x
}

func (g *generator) cond(depth int, window bool) string {
	if window && g.chance(3) {
		return g.pick("window_start > TIMESTAMP '2024-05-01 00:00:00'", "window_end IS NOT NULL", "CURRENT_WATERMARK(window_time) IS NULL")
	}
	switch g.r.IntN(8) {
	case 0:
		return "1 = 2"
	case 1:
		return "a IN (1, 2) AND b LIKE 'x%'"
	case 2:
		return "a BETWEEN 1 AND 3"
	case 3:
		return "RAND() > 1"
	case 4:
		return "CURRENT_WATERMARK(ts) IS NULL OR ts > CURRENT_WATERMARK(ts)"
	case 5:
		return g.expr(depth) + " = " + g.expr(depth)
	}
	return "a > 1"
}
