package weir_test

import (
	"testing"

	"github.com/weir-sql/weir"
)

func TestQueryStatsAndWatermark(t *testing.T) {
	db, err := weir.Open(weir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Exec(t.Context(), `CREATE TABLE rides (station STRING, ended_at TIMESTAMP(3), WATERMARK FOR ended_at AS ended_at - INTERVAL '5' SECOND)
		WITH ('connector' = 'filesystem', 'path' = 'examples/data/rides.json', 'format' = 'json')`); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sql     string
		in, out int64
	}{
		{"SELECT station FROM rides LIMIT 7", 0, 7},
		{"SELECT COUNT(*) FROM TUMBLE(TABLE rides, DESCRIPTOR(ended_at), INTERVAL '1' DAY) GROUP BY window_start, window_end", 3000, 1},
		{"SHOW TABLES", 0, 0},
	} {
		q, err := db.Query(t.Context(), c.sql)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range q.All() {
			if err != nil {
				t.Fatal(err)
			}
		}
		s := q.Stats()
		if s.RowsOut != c.out || c.in > 0 && s.RowsIn != c.in {
			t.Errorf("%s: %d rows in, %d out", c.sql, s.RowsIn, s.RowsOut)
		}
		if _, ok, err := q.Watermark(t.Context()); err != nil || ok && q.Job() == nil {
			t.Errorf("%s: watermark %v, %v", c.sql, ok, err)
		}
	}
}
