//go:build unix

package main

import "fmt"

// query is one measurement: the same question to both engines, with an answer of counts and sums.
type query struct {
	name string
	weir string // over bids
	duck string // over ${bids}
}

// queries are those of docs/performance.md. Both engines reduce the result to one row, so that nothing but the query is measured.
var queries = []query{
	{
		name: "q1 projection",
		weir: `SELECT COUNT(*), SUM(auction), SUM(bidder), SUM(p), MAX(ts) FROM (SELECT auction, bidder, CAST(0.908e0 * price AS BIGINT) AS p, ts FROM bids)`,
		duck: `SELECT COUNT(*), SUM(auction), SUM(bidder), SUM(p), MAX(ts) FROM (SELECT auction, bidder, CAST(trunc(0.908e0 * price) AS BIGINT) AS p, "dateTime" AS ts FROM ${bids})`,
	},
	{
		name: "q2 filter",
		weir: `SELECT COUNT(*), SUM(auction), SUM(price) FROM bids WHERE MOD(auction, 123) = 0`,
		duck: `SELECT COUNT(*), SUM(auction), SUM(price) FROM ${bids} WHERE auction % 123 = 0`,
	},
	{
		name: "tumble 10 s",
		weir: `SELECT COUNT(*), SUM(n), SUM(mx), SUM(av) FROM (SELECT auction, COUNT(*) AS n, MAX(price) AS mx, AVG(price) AS av
			FROM TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end, auction)`,
		duck: `SELECT COUNT(*), SUM(n), SUM(mx), SUM(av) FROM (SELECT auction, COUNT(*) AS n, MAX(price) AS mx, CAST(SUM(price) // COUNT(*) AS BIGINT) AS av
			FROM ${bids} GROUP BY epoch_ms("dateTime") // 10000, auction)`,
	},
	{
		name: "hop 10 s / 2 s",
		weir: `SELECT COUNT(*), SUM(n), SUM(mx) FROM (SELECT auction, COUNT(*) AS n, MAX(price) AS mx
			FROM HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND) GROUP BY window_start, window_end, auction)`,
		duck: `SELECT COUNT(*), SUM(n), SUM(mx) FROM (SELECT auction, w + d AS w, SUM(n) AS n, MAX(mx) AS mx FROM (
			SELECT epoch_ms("dateTime") // 2000 AS w, auction, COUNT(*) AS n, MAX(price) AS mx FROM ${bids} GROUP BY 1, 2), (SELECT unnest(range(5)) AS d) GROUP BY ALL)`,
	},
	{
		name: "distinct per day",
		weir: `SELECT COUNT(*), SUM(d), SUM(n) FROM (SELECT COUNT(DISTINCT bidder) AS d, COUNT(*) AS n
			FROM TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' DAY) GROUP BY window_start, window_end)`,
		duck: `SELECT COUNT(*), SUM(d), SUM(n) FROM (SELECT COUNT(DISTINCT bidder) AS d, COUNT(*) AS n FROM ${bids} GROUP BY CAST("dateTime" AS DATE))`,
	},
}

// columns of the bid stream.
const weirColumns = "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` TIMESTAMP(3), extra STRING, ts AS `dateTime`"

const duckColumns = `{auction: 'BIGINT', bidder: 'BIGINT', price: 'BIGINT', channel: 'VARCHAR', url: 'VARCHAR', "dateTime": 'TIMESTAMP', extra: 'VARCHAR'}`

// weirScript is the script of a query over a file.
func weirScript(q string, format, path, watermark string, threads int) string {
	options := ""
	if format == "csv" {
		options = ", 'csv.header' = 'true'"
	}
	return fmt.Sprintf("SET 'weir.threads' = '%d'; SET 'weir.result-mode' = 'table'; CREATE TABLE bids (%s, WATERMARK FOR ts AS %s) WITH ('connector' = 'filesystem', 'path' = '%s', 'format' = '%s'%s); %s",
		threads, weirColumns, watermark, path, format, options, q)
}

// duckSource is the table function that reads a file.
func duckSource(format, path string) string {
	switch format {
	case "json":
		return fmt.Sprintf("read_json('%s', format = 'newline_delimited', columns = %s)", path, duckColumns)
	case "csv":
		return fmt.Sprintf("read_csv('%s', auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', columns = %s)", path, duckColumns)
	}
	return fmt.Sprintf("read_parquet('%s')", path)
}
