// Package coverage keeps the list of all that Weir's SQL has: every node and kind of the syntax tree, type, function, option, setting, hint, connector
// and format, each with the test that covers it or with the exact refusal. The list is coverage.txt; a test holds it against the code, so that
// nothing new comes without a test or a refusal, and no refusal changes unseen.
package coverage

import (
	"bufio"
	_ "embed"
	"fmt"
	"strings"
)

//go:embed coverage.txt
var golden string

// Item is one line of coverage.txt.
type Item struct {
	// Group is the heading the item stands under: "AST nodes", "Functions", ...
	Group string
	Name  string
	// Test is a file, from the root of the project, in which the item is used and works; empty for a refused one.
	Test string
	// Statement is a statement that uses the item and is refused with Refusal: place, message, code and hint.
	Statement, Refusal string
}

// Items reads coverage.txt.
func Items() ([]Item, error) { return parse(golden) }

func parse(text string) ([]Item, error) {
	var out []Item
	group := ""
	sc := bufio.NewScanner(strings.NewReader(text))
	sc.Buffer(nil, 1<<20)
	for n := 1; sc.Scan(); n++ {
		line := sc.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if name, ok := strings.CutPrefix(line, "== "); ok {
			group = name
			continue
		}
		f := strings.Split(line, "\t")
		switch {
		case len(f) == 3 && f[1] == "test":
			out = append(out, Item{Group: group, Name: f[0], Test: f[2]})
		case len(f) == 4 && f[1] == "refused":
			out = append(out, Item{Group: group, Name: f[0], Statement: f[2], Refusal: f[3]})
		default:
			return nil, fmt.Errorf("coverage.txt:%d: %q is neither NAME, test, FILE nor NAME, refused, STATEMENT, MESSAGE", n, line)
		}
	}
	return out, sc.Err()
}

// format writes items in the form that parse reads; groups in the order given.
func format(items []Item, groups []string) string {
	var sb strings.Builder
	sb.WriteString("# What Weir's SQL has: each item with a test that covers it, or with a statement and the exact refusal. Kept by coverage_test.go;\n" +
		"# go test ./internal/coverage -update writes it anew: review the change.\n")
	for _, g := range groups {
		fmt.Fprintf(&sb, "\n== %s\n", g)
		for _, it := range items {
			switch {
			case it.Group != g:
			case it.Test != "":
				fmt.Fprintf(&sb, "%s\ttest\t%s\n", it.Name, it.Test)
			default:
				fmt.Fprintf(&sb, "%s\trefused\t%s\t%s\n", it.Name, it.Statement, it.Refusal)
			}
		}
	}
	return sb.String()
}
