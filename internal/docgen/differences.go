package docgen

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// castDifferences lists the reasons of sqltests/castmatrix/differences.txt, each with its first case.
func castDifferences(root, _ string) (string, error) {
	f, err := os.Open(filepath.Join(root, "sqltests/castmatrix/differences.txt"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	var rows [][]string
	reason := ""
	for sc := bufio.NewScanner(f); sc.Scan(); {
		line := sc.Text()
		if text, ok := strings.CutPrefix(line, "# "); ok {
			if _, why, ok := strings.Cut(text, ": "); ok && !strings.Contains(strings.SplitN(text, ": ", 2)[0], " ") {
				reason = why
			}
			continue
		}
		p := strings.Split(line, "\t")
		if reason == "" || len(p) != 5 {
			continue
		}
		rows = append(rows, []string{reason, code(fmt.Sprintf("CAST(%s AS %s)", p[0], p[2])), p[3], p[4]})
		reason = ""
	}
	if len(rows) == 0 {
		return "", fmt.Errorf("no reasons in differences.txt")
	}
	return table([]string{"difference", "for example", "CAST here", "TRY_CAST here"}, rows), nil
}
