package planner

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/parser"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/internal/fake"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

var rewrite = flag.Bool("rewrite", false, "write what the planner says into the golden files")

// fold is the little that the planner's tests need of an evaluator: casts, comparisons and sums of constants.
func fold(e logical.Expr) (any, error) {
	switch e := e.(type) {
	case *logical.Literal:
		return e.Value, nil
	case *logical.Cast:
		v, err := fold(e.Arg)
		if err != nil {
			return nil, err
		}
		return types.Cast(v, e.Arg.ResultType(), e.Type, nil)
	case *logical.Call:
		var args []any
		for _, a := range e.Args {
			v, err := fold(a)
			if err != nil {
				return nil, err
			}
			args = append(args, v)
		}
		for _, v := range args {
			if v == nil && e.Name != "IS NULL" {
				return nil, nil
			}
		}
		switch e.Name {
		case "=":
			return types.Compare(args[0], args[1]) == 0, nil
		case "<":
			return types.Compare(args[0], args[1]) < 0, nil
		case ">":
			return types.Compare(args[0], args[1]) > 0, nil
		case "+":
			if a, ok := args[0].(int32); ok {
				return a + args[1].(int32), nil
			}
			if a, ok := args[0].(types.DurationVal); ok {
				return a + args[1].(types.DurationVal), nil
			}
		case "/":
			if args[1].(int32) == 0 {
				return nil, types.ErrDivisionByZero
			}
		}
	}
	return nil, fmt.Errorf("the test does not compute %s", e)
}

// session runs statements one after the other over fake connectors.
type session struct {
	env Env
}

func newSession() *session {
	return &session{env: Env{Catalogs: catalog.New(), Config: map[string]string{}, Connect: fake.Connect, Fold: fold}}
}

// run plans all statements of a text and gives the last result.
func (s *session) run(text string) (*Result, error) {
	stmts, err := parser.Parse(text)
	if err != nil {
		return nil, err
	}
	r := &Result{}
	for _, st := range stmts {
		if set, ok := st.(*ast.Set); ok {
			s.env.Config[set.Key.Value] = set.Value.Value
			continue
		}
		if r, err = Plan(context.Background(), st, s.env); err != nil {
			return nil, err
		}
		if r.Plan != nil {
			if err := r.Plan.Check(); err != nil {
				return nil, err
			}
			if _, err := Explain(r, true); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// answer is what a statement says, as text.
func answer(r *Result) string {
	var b strings.Builder
	if r.Rows != nil {
		for _, row := range r.Rows.Values {
			cells := make([]string, len(row))
			for i, c := range row {
				cells[i] = "NULL"
				if c != nil {
					cells[i] = fmt.Sprint(c)
				}
			}
			b.WriteString(strings.TrimRight(strings.Join(cells, " | "), "\n") + "\n")
		}
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning %d:%d: %s\n", w.Pos.Line, w.Pos.Column, w.Text)
	}
	for _, e := range r.Extensions {
		fmt.Fprintf(&b, "extension %d:%d: %s: %s -> %s\n", e.Start.Line, e.Start.Column, e.Kind, e.Text, e.Portable)
	}
	return b.String()
}

// TestPlans runs sqltests/plans/*.explain. A file has blocks: SQL, a line ----, what the last statement answers, a line ====. All blocks of a file
// share a session; a block that begins with `reset` on a line of its own starts a new one. Errors are answers too.
func TestPlans(t *testing.T) {
	golden(t, filepath.Join("..", "sqltests", "plans", "*.explain"))
}

// TestStatements runs testdata/*.txt, in the same form: errors with their places, and statements about the catalog.
func TestStatements(t *testing.T) {
	golden(t, filepath.Join("testdata", "*.txt"))
}

func golden(t *testing.T, pattern string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			s := newSession()
			blocks := strings.Split(string(data), "\n====\n")
			for i, block := range blocks {
				if strings.TrimSpace(block) == "" {
					continue
				}
				sql, want, ok := strings.Cut(block, "\n----\n")
				if !ok {
					sql, ok = strings.CutSuffix(strings.TrimRight(block, "\n"), "\n----")
					if !ok && i < len(blocks)-1 {
						t.Fatalf("block %d has no line ----:\n%s", i+1, block)
					}
				}
				sql = strings.Trim(sql, "\n")
				text := sql
				if rest, ok := strings.CutPrefix(text, "reset\n"); ok {
					s, text = newSession(), rest
				}
				got := run(s, text)
				if got != strings.Trim(want, "\n") && !*rewrite {
					t.Errorf("%s\n--- got\n%s\n--- want\n%s", sql, got, want)
				}
				out.WriteString(sql + "\n----\n")
				if got != "" {
					out.WriteString(got + "\n")
				}
				out.WriteString("\n====\n\n")
			}
			if *rewrite {
				if err := os.WriteFile(f, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func run(s *session, sql string) string {
	r, err := s.run(sql)
	if err != nil {
		code := ""
		var own *Error
		var syntax *parser.Error
		switch {
		case errors.As(err, &own):
			code = own.Code
		case errors.As(err, &syntax):
			code = syntax.Code
		}
		return "error " + code + " " + err.Error()
	}
	return strings.TrimRight(answer(r), "\n")
}
