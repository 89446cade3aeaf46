package sqltests

import (
	"os"
	"sort"
	"strings"
)

// rewriteQuery gives the lines of an expected block that a result passes, in the layout that the block has: one value a line where it was so.
func rewriteQuery(rows [][]Cell, letters, sortmode string, m Mode, before []string) []string {
	if m == Auto {
		m = Natural
	}
	rendered := renderRows(rows, letters, m)
	if sortmode == "rowsort" {
		sortRows(rendered)
	}
	values := flatten(rendered)
	if len(before) == 1 && hashLine.MatchString(before[0]) {
		if sortmode == "valuesort" {
			sort.Strings(values)
		}
		return []string{hashSummary(values)}
	}
	if sortmode == "valuesort" {
		sort.Strings(values)
		return unfold(values)
	}
	return unfold(lines(rendered, "\t"))
}

// applyRewrites puts new expected blocks into a file, from its end to its start.
func applyRewrites(path string, rs []rewrite) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	all := strings.Split(text, "\n")
	sort.SliceStable(rs, func(i, j int) bool { return rs[i].rec.Line > rs[j].rec.Line })
	for _, r := range rs {
		if r.rec.File != path {
			continue
		}
		from, to := r.rec.wantFrom, r.rec.wantTo
		block := r.lines
		if from < 0 { // no ---- yet: put one behind the SQL
			from = r.rec.bodyLine - 1 + strings.Count(r.rec.SQL, "\n") + 1
			to = from
			block = append([]string{"----"}, block...)
		}
		all = append(all[:from:from], append(block, all[to:]...)...)
	}
	return os.WriteFile(path, []byte(strings.Join(all, "\n")), 0o644)
}
