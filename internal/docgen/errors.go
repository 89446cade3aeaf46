package docgen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// errorDocs says what each code means. Codes beginning with WEIR-15 are refusals of what is not there yet: their text is made from the code.
var errorDocs = map[string]string{
	"WEIR-1001": "Syntax: something else was expected at this place.",
	"WEIR-1002": "A character or a literal that cannot be read: a quote or a comment without its end, a number that is no number.",
	"WEIR-1003": "A reserved word where a name belongs. Put it in backticks.",
	"WEIR-1004": "SQL that the parser knows and Weir does not take, such as an enforced PRIMARY KEY.",
	"WEIR-1005": "The statement is too long or too deeply nested.",
	"WEIR-1006": "Well formed, but impossible: an option given twice, two watermarks.",
	"WEIR-1099": "A mistake in Weir's parser. Please report it with the statement.",

	"WEIR-1101": "No such table or view.",
	"WEIR-1102": "No such column.",
	"WEIR-1103": "A name that two tables have: put the table's name in front.",
	"WEIR-1104": "No such function.",
	"WEIR-1105": "Something of that name is there already.",
	"WEIR-1106": "No such catalog or database.",
	"WEIR-1107": "The database is not empty: DROP DATABASE ... CASCADE.",
	"WEIR-1108": "What is in use cannot be dropped: the current catalog or database, a built-in one.",
	"WEIR-1109": "One name for two things: two columns of a table, two expressions of WITH.",

	"WEIR-1201": "Wrong number or types of arguments.",
	"WEIR-1202": "There is no cast between these types.",
	"WEIR-1203": "INSERT: the types of the query do not fit those of the table.",
	"WEIR-1204": "A constant that cannot be computed, or a literal that cannot be read: division by zero, a date that does not exist.",
	"WEIR-1205": "A condition (WHERE, HAVING, ON, CASE WHEN) that is not BOOLEAN.",
	"WEIR-1206": "Types that do not meet in the branches of CASE, UNION or VALUES.",
	"WEIR-1207": "No such type, or impossible parameters of one.",

	"WEIR-1301": "An aggregate where none may stand, such as in WHERE.",
	"WEIR-1302": "A column that is neither grouped nor aggregated.",
	"WEIR-1303": "A window (TUMBLE, HOP, CUMULATE) with wrong arguments, or windows used in a way that has no meaning.",
	"WEIR-1304": "A time attribute is needed and the column is none, or the table has no watermark.",
	"WEIR-1305": "A position in GROUP BY or ORDER BY that does not exist.",
	"WEIR-1306": "Different numbers of columns: UNION, VALUES, INSERT, a list of column names.",
	"WEIR-1307": "A hint that is unknown, or has wrong arguments.",
	"WEIR-1308": "An option of a table that is unknown, missing or has a wrong value.",
	"WEIR-1310": "A statement that cannot be used in this way.",

	"WEIR-1401": "A query that updates its rows, into a table that can only add rows.",
	"WEIR-1402": "ORDER BY or LIMIT over an input without an end, in an order that is not that of time.",
	"WEIR-1403": "Not possible in batch mode (`execution.runtime-mode`), as an unbounded table.",
	"WEIR-1404": "A table that cannot be read, or cannot be written.",
	"WEIR-1405": "A function that gives another value each time, over rows that are taken back whole.",

	"WEIR-1601": "A table declaration that makes no sense, or does not fit the table's files any more.",
	"WEIR-1602": "ALTER of something that is not there.",
	"WEIR-1999": "A mistake in Weir. Please report it with the statement.",

	"WEIR-3001": "SET: no such key (those that begin with `weir.`; others are accepted).",
	"WEIR-3002": "SET, or an option of `Open`: the value does not fit the key.",
	"WEIR-3003": "Library: Query wants a statement with a result, Start an INSERT or a statement set.",
	"WEIR-3004": "Library: one statement was expected.",
	"WEIR-3005": "The result would have no end: the query reads an unbounded table.",
	"WEIR-3006": "Library: the session is closed.",
	"WEIR-3007": "No such job.",
	"WEIR-3010": "Library: a Register call cannot take the name or the Go value.",
	"WEIR-4001": "The query failed while it ran: a bad record, an overflow, a NULL event time, a file that cannot be read, the memory limit. The message says which and where.",
}

var codePattern = regexp.MustCompile(`^WEIR-[0-9]{4}$`)

// codesInSource lists the codes that stand in the code, with the names of what is refused (Feature literals) for those of WEIR-15xx.
func codesInSource(root string) (map[string][]string, error) {
	codes := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (path != root && strings.HasPrefix(d.Name(), ".") || d.Name() == "docgen" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit: // Feature{"WEIR-1501", "JOIN", ""}
				if len(n.Elts) == 3 {
					code, ok1 := n.Elts[0].(*ast.BasicLit)
					name, ok2 := n.Elts[1].(*ast.BasicLit)
					if ok1 && ok2 && code.Kind == token.STRING && name.Kind == token.STRING && codePattern.MatchString(unquote(code)) {
						codes[unquote(code)] = append(codes[unquote(code)], unquote(name))
					}
				}
			case *ast.BasicLit:
				if n.Kind == token.STRING && codePattern.MatchString(unquote(n)) {
					if _, ok := codes[unquote(n)]; !ok {
						codes[unquote(n)] = nil
					}
				}
			}
			return true
		})
		return nil
	})
	return codes, err
}

func errorCodes(root, _ string) (string, error) {
	used, err := codesInSource(root)
	if err != nil {
		return "", err
	}
	names := make([]string, 0, len(used))
	for c := range used {
		names = append(names, c)
	}
	sort.Strings(names)
	for c := range errorDocs {
		if _, ok := used[c]; !ok {
			return "", fmt.Errorf("%s is described in errorDocs and stands nowhere in the code", c)
		}
	}
	var rows [][]string
	for _, c := range names {
		doc := errorDocs[c]
		if doc == "" && strings.HasPrefix(c, "WEIR-15") {
			doc = "Not supported yet"
			if list := distinct(used[c]); len(list) > 0 {
				doc += ": " + strings.Join(list, "; ")
			}
			doc += "."
		}
		if doc == "" {
			return "", fmt.Errorf("%s stands in the code and has no description in errorDocs", c)
		}
		rows = append(rows, []string{code(c), doc})
	}
	return table([]string{"code", "meaning"}, rows), nil
}

func distinct(list []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
