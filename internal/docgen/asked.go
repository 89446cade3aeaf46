package docgen

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"github.com/weir-sql/weir"
)

var (
	notAsked = regexp.MustCompile(`^# Not asked, (?:in )?(Flink .*|_ does .*): (.+)$`)
	remark   = regexp.MustCompile(`^# (Flink (?:gives|reads|counts|wraps|cuts) .*)$`)
)

// functionDifferences lists what the comments of sqltests/functions say of Flink, with the expression and what Weir gives for it, computed here.
//
//	# Not asked, Flink refuses: EXPRESSION
//	# Flink gives NULL, in silence         (of the statement that follows)
func functionDifferences(root, _ string) (string, error) {
	files, err := filepath.Glob(filepath.Join(root, "sqltests/functions/*.slt"))
	if err != nil {
		return "", err
	}
	sort.Strings(files)
	db, err := weir.Open(weir.Options{})
	if err != nil {
		return "", err
	}
	defer db.Close()
	var rows [][]string
	add := func(flink, sql string) {
		query := sql
		if !strings.HasPrefix(strings.ToUpper(sql), "SELECT") {
			query = "SELECT " + sql
		}
		if ours, ok := answer(db, query); ok && !same(flink, ours) {
			rows = append(rows, []string{code(strings.TrimPrefix(sql, "SELECT ")), flink, ours})
		}
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		said, skip := "", false
		for sc := bufio.NewScanner(f); sc.Scan(); {
			line := sc.Text()
			switch m := notAsked.FindStringSubmatch(line); {
			case m != nil:
				// The text may have colons, the expression has none followed by a blank.
				i := strings.LastIndex(line, ": ")
				text, _ := strings.CutPrefix(line[:i], "# Not asked, ")
				add(text, line[i+2:])
			case remark.MatchString(line):
				said, skip = remark.FindStringSubmatch(line)[1], true
			case skip: // the line with the word of the record
				skip = false
			case said != "":
				add(said, line)
				said = ""
			}
		}
		f.Close()
	}
	return table([]string{"expression", "Flink", "Weir"}, rows), nil
}

// same reports that both do the same: both refuse, or give the same.
func same(flink, ours string) bool {
	if strings.HasPrefix(ours, "an error") {
		return strings.Contains(flink, "refuses") || strings.Contains(flink, "Flink fails")
	}
	ours = strings.Trim(ours, "`")
	return strings.Contains(flink, "gives "+ours) || strings.Contains(flink, "says NOT NULL") && strings.HasSuffix(ours, "NOT NULL")
}

// answer runs a query of one value. It is not ok when the query needs a table.
func answer(db *weir.DB, query string) (text string, ok bool) {
	q, err := db.Query(context.Background(), query)
	if err == nil {
		var t *weir.FinalTable
		if t, err = q.Final(); err == nil && t.Len() > 0 {
			s, null := t.Cell(0, 0)
			if null {
				s = "NULL"
			}
			return code(s), true
		}
	}
	if err == nil || strings.Contains(err.Error(), "[WEIR-1101]") {
		return "", false
	}
	message := withoutPlace(err.Error())
	return "an error: " + strings.TrimSpace(strings.SplitN(message, " [WEIR-", 2)[0]), true
}
