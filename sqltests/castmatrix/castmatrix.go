// Package castmatrix holds what CAST and TRY_CAST must answer for each pair of types: the answers of a real Flink
// (matrix.txt, written by gen) and the lines where this project differs on purpose (differences.txt).
package castmatrix

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed matrix.txt
var matrix string

//go:embed differences.txt
var differences string

// Case is one cell of the matrix.
type Case struct {
	Expr     string // source expression, of type From
	From, To string // types as SQL writes them
	Cast     Answer // of CAST(Expr AS To)
	TryCast  Answer // of TRY_CAST(Expr AS To)
	Reason   string // why Cast or TryCast is not Flink's; empty where it is
}

// Answer is the outcome of one expression.
type Answer struct {
	Fails string // "plan", "run" or "" if there is a value
	Null  bool
	Text  string // the printed value: what CAST to STRING gives, but BYTES as x'0aff'
}

func (a Answer) String() string {
	switch {
	case a.Fails != "":
		return "error: " + a.Fails
	case a.Null:
		return "NULL"
	}
	return strconv.Quote(a.Text)
}

// Load gives all cases with the answers that are expected here. The session zone is UTC.
func Load() ([]Case, error) {
	cases, err := parse("matrix.txt", matrix)
	if err != nil {
		return nil, err
	}
	at := map[[3]string]int{}
	for i, c := range cases {
		at[[3]string{c.Expr, c.From, c.To}] = i
	}
	ours, err := parse("differences.txt", differences)
	if err != nil {
		return nil, err
	}
	for _, c := range ours {
		i, ok := at[[3]string{c.Expr, c.From, c.To}]
		switch {
		case !ok:
			return nil, fmt.Errorf("differences.txt: %s as %s is not in matrix.txt", c.Expr, c.To)
		case c.Reason == "":
			return nil, fmt.Errorf("differences.txt: %s as %s has no reason", c.Expr, c.To)
		case cases[i].Cast == c.Cast && cases[i].TryCast == c.TryCast:
			return nil, fmt.Errorf("differences.txt: %s as %s is no difference", c.Expr, c.To)
		}
		cases[i] = c
	}
	return cases, nil
}

func parse(name, text string) ([]Case, error) {
	var cases []Case
	reason := ""
	line := 0
	for row := range strings.Lines(text) {
		line++
		row = strings.TrimSuffix(row, "\n")
		if comment, ok := strings.CutPrefix(row, "#"); ok {
			reason = strings.TrimSpace(comment)
			continue
		}
		f := strings.Split(row, "\t")
		if len(f) != 5 {
			return nil, fmt.Errorf("%s:%d: %d columns, 5 expected", name, line, len(f))
		}
		c := Case{Expr: f[0], From: f[1], To: f[2]}
		if name == "differences.txt" {
			c.Reason = reason
		}
		var err error
		if c.Cast, err = answer(f[3]); err == nil {
			c.TryCast, err = answer(f[4])
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func answer(s string) (Answer, error) {
	if s == "NULL" {
		return Answer{Null: true}, nil
	}
	if kind, ok := strings.CutPrefix(s, "error: "); ok && (kind == "plan" || kind == "run") {
		return Answer{Fails: kind}, nil
	}
	text, err := strconv.Unquote(s)
	if err != nil {
		return Answer{}, fmt.Errorf("%s is no answer", s)
	}
	return Answer{Text: text}, nil
}
