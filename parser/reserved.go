package parser

import "strings"

// reserved are the words that Weir itself refuses as a name without backticks:
// those that would make a query ambiguous.
var reserved = wordSet(`
	ALL AND ANY AS BETWEEN CASE CAST CREATE CROSS DISTINCT ELSE END ESCAPE EXCEPT EXISTS FALSE FETCH FOR FROM FULL GROUP HAVING IN
	INNER INSERT INTERSECT INTERVAL INTO IS JOIN LATERAL LEFT LIKE LIMIT MATCH_RECOGNIZE MINUS NATURAL NOT NULL OFFSET ON OR ORDER
	OUTER OVER QUALIFY RIGHT SELECT SET SIMILAR SOME TABLE THEN TO TRUE UNION UNKNOWN UNNEST USING VALUES WHEN WHERE WINDOW WITH
`)

func wordSet(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
