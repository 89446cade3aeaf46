package weir_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors/watermark"
)

func Example() {
	ctx := context.Background()
	db, err := weir.Open(weir.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	err = db.Exec(ctx, `
		CREATE TABLE rides (station STRING, price DECIMAL(6, 2), ended_at TIMESTAMP(3),
		  WATERMARK FOR ended_at AS ended_at - INTERVAL '5' SECOND)
		WITH ('connector' = 'filesystem', 'path' = 'examples/data/rides.json', 'format' = 'json')`)
	if err != nil {
		log.Fatal(err)
	}
	q, err := db.Query(ctx, `
		SELECT window_start, COUNT(*) AS rides, SUM(price) AS revenue
		FROM TUMBLE(TABLE rides, DESCRIPTOR(ended_at), INTERVAL '1' HOUR)
		GROUP BY window_start, window_end`)
	if err != nil {
		log.Fatal(err)
	}
	for row, err := range q.All() {
		if err != nil {
			log.Fatal(err)
		}
		start, _ := row.Time(0)
		fmt.Println(start.Format("15:04"), row.Values[1], row.Values[2])
	}
	// Output:
	// 08:00 1495 6549.85
	// 09:00 1500 6560.10
}

// Click is a row of ExampleDB_RegisterTable and ExampleDB_RegisterTable_channel.
type Click struct {
	User string
	Page string    `weir:"url"`
	At   time.Time `weir:"ts,watermark=5s"`
}

func ExampleDB_RegisterTable() {
	db, err := weir.Open(weir.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	start := time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)
	clicks := []Click{{"ann", "/", start}, {"bob", "/", start.Add(3 * time.Second)}, {"ann", "/help", start.Add(12 * time.Second)}}
	if err := db.RegisterTable("clicks", clicks); err != nil {
		log.Fatal(err)
	}
	q, err := db.Query(context.Background(), `
		SELECT window_start, COUNT(*), COUNT(DISTINCT `+"`user`"+`)
		FROM TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND)
		GROUP BY window_start, window_end`)
	if err != nil {
		log.Fatal(err)
	}
	table, err := q.Final()
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range table.CSV() {
		fmt.Println(line)
	}
	// Output:
	// 2024-05-01 10:00:00.000000,2,2
	// 2024-05-01 10:00:10.000000,1,1
}

func ExampleDB_RegisterTable_channel() {
	ctx := context.Background()
	db, err := weir.Open(weir.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	clicks := make(chan Click)
	if err := db.RegisterTable("clicks", clicks); err != nil {
		log.Fatal(err)
	}
	go func() {
		defer close(clicks) // the end of the table
		start := time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)
		for i := range 4 {
			clicks <- Click{User: "ann", Page: "/", At: start.Add(time.Duration(i*6) * time.Second)}
		}
	}()
	q, err := db.Query(ctx, `
		SELECT window_start, COUNT(*)
		FROM TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND)
		GROUP BY window_start, window_end`)
	if err != nil {
		log.Fatal(err)
	}
	for row, err := range q.All() { // a row appears when its window closes
		if err != nil {
			log.Fatal(err)
		}
		start, _ := row.Time(0)
		fmt.Println(start.Format("15:04:05"), row.Values[1])
	}
	// Output:
	// 10:00:00 2
	// 10:00:10 2
}

func ExampleDB_Start() {
	ctx := context.Background()
	db, err := weir.Open(weir.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	err = db.Exec(ctx, `
		CREATE TABLE rides (station STRING, ended_at TIMESTAMP(3), WATERMARK FOR ended_at AS ended_at - INTERVAL '5' SECOND)
		WITH ('connector' = 'filesystem', 'path' = 'examples/data/rides.json', 'format' = 'json');
		CREATE TABLE per_station (station STRING, rides BIGINT)`)
	if err != nil {
		log.Fatal(err)
	}
	job, err := db.Start(ctx, `
		INSERT INTO per_station
		SELECT station, COUNT(*)
		FROM TUMBLE(TABLE rides, DESCRIPTOR(ended_at), INTERVAL '10' MINUTE)
		GROUP BY window_start, window_end, station`)
	if err != nil {
		log.Fatal(err)
	}
	if err := job.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	stats := job.Stats()
	fmt.Println(job.State(), stats.RowsIn, "in", stats.RowsOut, "out", stats.LateRows, "late")
	// Output: finished 3000 in 96 out 32 late
}

func ExampleWithWatermarks() {
	ctx := context.Background()
	db, err := weir.Open(weir.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	type Reading struct {
		Sensor string
		Millis int64
	}
	readings := make(chan Reading)
	strategy := weir.BoundedOutOfOrderness(5 * time.Second).
		WithTimestampAssigner(weir.TimestampOf(func(r Reading) time.Time { return time.UnixMilli(r.Millis) })).
		WithIdleness(30 * time.Second)
	if err := db.RegisterTable("readings", weir.WithWatermarks(readings, strategy)); err != nil {
		log.Fatal(err)
	}
	go func() {
		defer close(readings)
		for _, second := range []int64{1, 12, 8, 15, 16} {
			readings <- Reading{"a", second * 1000}
		}
	}()
	q, err := db.Query(ctx, `
		SELECT window_start, COUNT(*)
		FROM TUMBLE(TABLE readings, DESCRIPTOR(rowtime), INTERVAL '10' SECOND)
		GROUP BY window_start, window_end`)
	if err != nil {
		log.Fatal(err)
	}
	for row, err := range q.All() {
		if err != nil {
			log.Fatal(err)
		}
		start, _ := row.Time(0)
		fmt.Println(start.Format("15:04:05"), row.Values[1])
	}
	// Output:
	// 00:00:00 2
	// 00:00:10 3
}

func ExampleDB_RegisterWatermarkGenerator() {
	ctx := context.Background()
	db, err := weir.Open(weir.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	if err := db.RegisterWatermarkGenerator("half_a_minute", watermark.BoundedOutOfOrderness(30*time.Second).Factory()); err != nil {
		log.Fatal(err)
	}
	err = db.Exec(ctx, `
		CREATE TABLE rides (ended_at TIMESTAMP(3), WATERMARK FOR ended_at AS half_a_minute(ended_at))
		WITH ('connector' = 'filesystem', 'path' = 'examples/data/rides.json', 'format' = 'json')`)
	if err != nil {
		log.Fatal(err)
	}
	q, err := db.Query(ctx, `SELECT ended_at, CURRENT_WATERMARK(ended_at) FROM rides LIMIT 2`)
	if err != nil {
		log.Fatal(err)
	}
	table, err := q.Final()
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range table.CSV() {
		fmt.Println(line)
	}
	// Output:
	// 2024-05-01 08:00:01.435,NULL
	// 2024-05-01 08:00:04.345,2024-05-01 07:59:31.434
}

func ExampleDB_RegisterScalar() {
	ctx := context.Background()
	db, err := weir.Open(weir.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	// The clock of one station is right: its rides alone advance the watermark. A nil pointer is NULL.
	err = db.RegisterScalar("trusted", func(station string, ts time.Time) *time.Time {
		if station != "Old Town" {
			return nil
		}
		ts = ts.Add(-5 * time.Second)
		return &ts
	})
	if err != nil {
		log.Fatal(err)
	}
	err = db.Exec(ctx, `
		CREATE TABLE rides (station STRING, ended_at TIMESTAMP(3), WATERMARK FOR ended_at AS trusted(station, ended_at))
		WITH ('connector' = 'filesystem', 'path' = 'examples/data/rides.json', 'format' = 'json')`)
	if err != nil {
		log.Fatal(err)
	}
	q, err := db.Query(ctx, `SELECT station, ended_at, CURRENT_WATERMARK(ended_at) FROM rides LIMIT 3`)
	if err != nil {
		log.Fatal(err)
	}
	table, err := q.Final()
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range table.CSV() {
		fmt.Println(line)
	}
	// Output:
	// Museum Park,2024-05-01 08:00:01.435,NULL
	// Old Town,2024-05-01 08:00:04.345,NULL
	// Old Town,2024-05-01 08:00:07.126,2024-05-01 07:59:59.345
}

func ExampleError() {
	db, err := weir.Open(weir.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	script := "CREATE TABLE rides (station STRING);\nSELECT statoin FROM rides;"
	err = db.Exec(context.Background(), script)
	var e *weir.Error
	if errors.As(err, &e) {
		fmt.Println(e.Code, e.Line, e.Column)
		fmt.Print(e.Render(script, "rides.sql"))
	}
	// Output:
	// WEIR-1102 2 8
	// rides.sql:2:8: column 'statoin' does not exist [WEIR-1102]
	//   2 | SELECT statoin FROM rides;
	//     |        ^^^^^^^
	//   hint: did you mean 'station'?
}

func ExampleQuery_Rows() {
	db, err := weir.Open(weir.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	q, err := db.Query(context.Background(), `
		SELECT k, SUM(v) FROM (VALUES ('a', 1), ('b', 2), ('a', 3)) AS t (k, v) GROUP BY k`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("updating:", q.Updating())
	for batch, err := range q.Rows() {
		if err != nil {
			log.Fatal(err)
		}
		for i := range batch.Len() {
			r := batch.Row(i)
			fmt.Println(batch.Kind(r), batch.Record.Column(0).ValueStr(r), batch.Record.Column(1).ValueStr(r))
		}
	}
	// Output:
	// updating: true
	// +I a 1
	// +I b 2
	// -U a 1
	// +U a 4
}

func ExampleNewVirtualClock() {
	ctx := context.Background()
	clock := weir.NewVirtualClock(time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC))
	db, err := weir.Open(weir.Options{Clock: clock})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	q, err := db.Query(ctx, `SELECT DATE_FORMAT(LOCALTIMESTAMP, 'HH:mm:ss')`)
	if err != nil {
		log.Fatal(err)
	}
	for row, err := range q.All() {
		fmt.Println(row.Values[0], err)
	}
	// Output: 10:00:00 <nil>
}
