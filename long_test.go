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
	err := db.Exec(ctx, `CREATE TABLE g (i BIGINT, s STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '1600', 'fields.i.kind' = 'sequence', 'fields.i.start' = '1',
		'fields.i.end' = '1600', 'fields.s.length' = '1');
		CREATE TABLE t (i BIGINT, s STRING); INSERT INTO t SELECT * FROM g`)
	if err != nil {
		t.Fatal(err)
	}
	for _, agg := range []string{"ARRAY_AGG(i)", "ARRAY_AGG(ROW(i, s))", "COLLECT(i)"} {
		q, err := db.Query(ctx, "SELECT "+agg+" FROM t")
		if err != nil {
			t.Fatal(err)
		}
		batches, rows := 0, int64(0)
		for b, err := range q.Rows() {
			if err != nil {
				t.Fatal(err)
			}
			batches++
			rows += b.Record.NumRows()
		}
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
		if rows != 2*1600-1 || batches < 3 {
			t.Errorf("%s: %d rows in %d batches", agg, rows, batches)
		}
	}
}
