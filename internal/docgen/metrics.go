package docgen

import (
	"strings"

	"github.com/weir-sql/weir"
)

// metricNames is the table of metrics.
func metricNames(string, string) (string, error) {
	var rows [][]string
	for _, m := range weir.MetricDescs() {
		kind := "gauge"
		if m.Counter {
			kind = "counter"
		}
		rows = append(rows, []string{code(m.Name), kind, code(strings.Join(m.Labels, ", ")), m.Doc})
	}
	return table([]string{"metric", "kind", "labels", ""}, rows), nil
}
