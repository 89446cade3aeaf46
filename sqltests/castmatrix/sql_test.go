package castmatrix_test

import (
	"fmt"
	"testing"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/sqltests/castmatrix"
)

// TestMatrixInSQL runs every line of the matrix as SQL, CAST and TRY_CAST, once with the optimizer (constants are folded) and once without (the casts run
// as kernels). A cast that Flink refuses when it plans must be refused when we plan.
func TestMatrixInSQL(t *testing.T) {
	cases, err := castmatrix.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, optimizer := range []string{"on", "off"} {
		t.Run("optimizer="+optimizer, func(t *testing.T) {
			t.Parallel()
			db, err := weir.Open(weir.Options{Config: map[string]string{"weir.optimizer": optimizer, "weir.threads": "1"}})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			differ := 0
			check := func(word string, c castmatrix.Case, want castmatrix.Answer) {
				sql := fmt.Sprintf("SELECT %s(%s AS %s)", word, c.Expr, c.To)
				if got := answer(t, db, sql); got != want && !(got.Fails == "plan" && want.Fails == "run") {
					if differ++; differ <= 40 {
						t.Errorf("%s: %s, want %s", sql, got, want)
					}
				}
			}
			for _, c := range cases {
				check("CAST", c, c.Cast)
				check("TRY_CAST", c, c.TryCast)
			}
			if differ > 40 {
				t.Errorf("... %d differ in all", differ)
			}
			t.Logf("%d cells, %d differ", 2*len(cases), differ)
		})
	}
}

func answer(t *testing.T, db *weir.DB, sql string) castmatrix.Answer {
	q, err := db.Query(t.Context(), sql)
	if err != nil {
		return castmatrix.Answer{Fails: "plan"}
	}
	table, err := q.Final()
	if err != nil {
		return castmatrix.Answer{Fails: "run"}
	}
	if table.Len() != 1 {
		t.Fatalf("%s: %d rows", sql, table.Len())
	}
	text, null := table.Cell(0, 0)
	return castmatrix.Answer{Null: null, Text: text}
}
