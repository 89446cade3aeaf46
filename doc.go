// Package weir is a streaming SQL engine to embed: it reads files and streams, keeps event time honest with watermarks, runs vectorized Apache Arrow
// pipelines and speaks Flink SQL.
//
//	db, err := weir.Open(weir.Options{})
//	defer db.Close()
//	err = db.Exec(ctx, `CREATE TABLE rides (bike BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
//	                    WITH ('connector' = 'filesystem', 'path' = 'rides.json', 'format' = 'json')`)
//	q, err := db.Query(ctx, `SELECT window_start, COUNT(*) FROM TUMBLE(TABLE rides, DESCRIPTOR(ts), INTERVAL '10' MINUTE)
//	                         GROUP BY window_start, window_end`)
//	for row, err := range q.All() { ... }
//
// A DB is a session: its catalog, its current database and its settings (SET). It may be used from several goroutines; statements that change the
// catalog or the settings take effect one after the other. Nothing of a DB outlives Close: no goroutine, no memory.
package weir
