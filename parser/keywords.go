package parser

import (
	"slices"
	"strings"
	"sync"
)

// keywordList has the words of the grammar, sorted.
var keywordList = sync.OnceValue(func() []string {
	m := map[string]bool{}
	for _, set := range []map[string]bool{reserved, timeUnits, niladic, wordSet(moreKeywords)} {
		for w := range set {
			if !strings.HasPrefix(w, "SQL_") {
				m[w] = true
			}
		}
	}
	for w := range statements {
		m[w] = true
	}
	for w := range typeNames {
		m[w] = true
	}
	out := make([]string, 0, len(m))
	for w := range m {
		out = append(out, w)
	}
	slices.Sort(out)
	return out
})

// Keywords gives the words of the grammar in upper case, sorted: for completion.
func Keywords() []string { return slices.Clone(keywordList()) }

// IsReserved reports a word, in any case, that is no name unless it stands in backticks.
func IsReserved(word string) bool { return reserved[strings.ToUpper(word)] }

// moreKeywords are words that the grammar has beside reserved words, units,
// types and the words that statements begin with.
const moreKeywords = `AFTER ANY ARRAY ASC BOTH BUCKETS BY CASCADE CATALOG CATALOGS CHANGELOG_MODE COLUMNS COMMENT CONSTRAINT CUBE CURRENT DATABASE
	DATABASES DEFINE DESCRIPTOR DISTRIBUTED ENFORCED ESTIMATED_COST EXCLUDING EXTENDED EXTRACT FILTER FIRST FOLLOWING FUNCTION FUNCTIONS
	GROUPING HASH IF IGNORE INCLUDING JOB JOBS KEY LANGUAGE LAST LATE LEADING MAP MATCH MEASURES METADATA MODULES MULTISET NEXT NULLS ONE
	ORDINALITY OVERLAY OVERWRITE OVERWRITING PARTITION PARTITIONED PARTITIONS PAST PATTERN PER PLACING PLAN PLAN_ADVICE POSITION PRECEDING
	PRIMARY RANGE RENAME RESPECT ROLLUP ROW ROWS SAVEPOINT SETS SKIP STATEMENT SUBSTRING SYMMETRIC SYSTEM_TIME TABLES TEMPORARY TRAILING TRIM
	TRY_CAST UNBOUNDED VIEW VIEWS VIRTUAL WATERMARK WATERMARKS WITHIN ZONE`
