// Package docgen writes the parts of the documentation that come from code. A page marks them so:
//
//	<!-- generated: functions -->
//	...
//	<!-- end -->
//
// The first word behind the colon is a generator, the rest its argument. The test of this package fails when a part is stale and writes it anew with
// -update.
package docgen

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// Pages lists the pages with generated parts, from the root of the project.
func Pages(root string) ([]string, error) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	pages = append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"))
	sort.Strings(pages)
	return pages, nil
}

var marker = regexp.MustCompile(`(?s)(<!-- generated: ([a-z-]+)( [^\n]*?)? -->\n)(.*?)(<!-- end -->)`)

// generators make a part from the root of the project and the argument.
var generators = map[string]func(root, arg string) (string, error){
	"functions":     functions,
	"types":         sqlTypes,
	"casts":         casts,
	"settings":      settings,
	"inert":         inertSettings,
	"connector":     connector,
	"options":       connectorOptions,
	"format":        formatPart,
	"table-options": tableOptions,
	"errors":        errorCodes,
	"imports":       imports,
	"plan":          plan,
	"go":            goExample,
	"file":          file,
	"metrics":       metricNames,
	"refused":       refused,
	"differences":   castDifferences,
	"asked":         functionDifferences,
}

// Replace writes the generated parts of a page anew.
func Replace(root, page string) (string, error) {
	var first error
	out := marker.ReplaceAllStringFunc(page, func(part string) string {
		m := marker.FindStringSubmatch(part)
		g := generators[m[2]]
		if g == nil {
			first = firstOf(first, fmt.Errorf("no generator is called %q", m[2]))
			return part
		}
		text, err := g(root, strings.TrimSpace(m[3]))
		if err != nil {
			first = firstOf(first, fmt.Errorf("%s%s: %w", m[2], m[3], err))
			return part
		}
		return m[1] + strings.TrimRight(text, "\n") + "\n" + m[5]
	})
	return out, first
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// table makes a Markdown table.
func table(head []string, rows [][]string) string {
	var sb strings.Builder
	line := func(cells []string) {
		sb.WriteString("|")
		for _, c := range cells {
			sb.WriteString(" " + strings.ReplaceAll(strings.ReplaceAll(c, "|", `\|`), "\n", " ") + " |")
		}
		sb.WriteString("\n")
	}
	line(head)
	sb.WriteString("|" + strings.Repeat(" --- |", len(head)) + "\n")
	for _, r := range rows {
		line(r)
	}
	return sb.String()
}

// code puts text in backticks; the empty text stays empty.
func code(s string) string {
	if s == "" {
		return ""
	}
	if strings.Contains(s, "`") {
		return "`` " + s + " ``"
	}
	return "`" + s + "`"
}

// file puts a file of the project into a fenced block; arg is its path and the language: "examples/rides.sql sql".
func file(root, arg string) (string, error) {
	path, language, _ := strings.Cut(arg, " ")
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return "", err
	}
	return "```" + language + "\n" + strings.TrimRight(string(text), "\n") + "\n```\n", nil
}
