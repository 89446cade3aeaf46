package weir_test

import (
	"context"
	"testing"

	"github.com/weir-sql/weir"
)

// TestLongListsAreHandedOnInPieces: each change of an ARRAY_AGG or COLLECT repeats the whole list, so that the changes of one batch of rows are handed on before
// they are many MB.
func TestLongListsAreHandedOnInPieces(t *testing.T) {
	db := open(t, weir.Options{})
	ctx := context.Background()
	type row struct {
		I int64  `weir:"i"`
		S string `weir:"s"`
	}
	rows := make([]row, 1600)
	for i := range rows {
		rows[i] = row{int64(i + 1), "x"}
	}
	if err := db.RegisterTable("t", rows); err != nil {
		t.Fatal(err)
	}
	count := func(sql string) (batches int, rows int64) {
		t.Helper()
		q, err := db.Query(ctx, sql)
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		for b, err := range q.Rows() {
			if err != nil {
				t.Fatal(err)
			}
			batches++
			rows += b.Record.NumRows()
		}
		return batches, rows
	}
	if n, _ := count("SELECT * FROM t"); n != 1 {
		t.Fatalf("the table has come in %d batches: pieces of one were to be seen", n)
	}
	for _, agg := range []string{"ARRAY_AGG(i)", "ARRAY_AGG(ROW(i, s))", "COLLECT(i)"} {
		if batches, rows := count("SELECT " + agg + " FROM t"); rows != 2*1600-1 || batches < 2 {
			t.Errorf("%s: %d rows in %d batches", agg, rows, batches)
		}
	}
}
