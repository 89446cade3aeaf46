// Command alignment reads a week of history out of a Kafka topic of 16 partitions, which hold very unequal numbers of rows, twice: as it comes, and with
// watermark alignment. Both give the same windows; what differs is how many of them are open at a time.
//
//	go run ./examples/watermarks/alignment                            # a broker in memory, no Java
//	go run ./examples/watermarks/alignment -brokers localhost:9092    # any Kafka; the topic is made anew
//
// A fetch brings about as many bytes of each partition. So partitions with few rows are read to the end of the week while the fullest one is still in its
// first days; the watermark is the lowest of all, and every window of the others has to wait for it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors/all"
)

const (
	topic      = "weir-alignment"
	partitions = 16
	sensors    = 10               // in each partition
	densest    = 10 * time.Second // between two rows of partition 0; each further partition has 1/1.2 of the rows of the one before it
	factor     = 1.2
	disorder   = 5 * time.Second
)

var start = time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)

func main() {
	log.SetFlags(0)
	brokers := flag.String("brokers", "", "addresses of a Kafka; without them a broker in memory is started")
	seed := flag.Uint64("seed", 1, "seed of the rows")
	days := flag.Int("days", 7, "length of the history")
	drift := flag.Duration("drift", 30*time.Minute, "scan.watermark.alignment.max-drift")
	interval := flag.Duration("interval", 10*time.Millisecond, "scan.watermark.alignment.update-interval")
	flag.Parse()
	if _, _, err := run(context.Background(), *brokers, *seed, *days, *drift, *interval); err != nil {
		log.Fatal(err)
	}
}

// run reads the history both ways; it is an error when the results differ.
func run(ctx context.Context, brokers string, seed uint64, days int, drift, interval time.Duration) (free, aligned result, err error) {
	if brokers == "" {
		c, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			return free, aligned, err
		}
		defer c.Close()
		brokers = strings.Join(c.ListenAddrs(), ",")
	}
	rows, err := fill(ctx, brokers, seed, days)
	if err != nil {
		return free, aligned, err
	}
	fmt.Printf("seed %d: %d rows in %d partitions over %d days, from %d in the fullest to %d in the emptiest; TUMBLE of 10 min by sensor, %d sensors\n",
		seed, sum(rows), partitions, days, slices.Max(rows), slices.Min(rows), partitions*sensors)
	free, err = read(ctx, brokers, "")
	if err != nil {
		return free, aligned, err
	}
	fmt.Printf("%-52s %s\n", "as it comes:", free)
	aligned, err = read(ctx, brokers, fmt.Sprintf(", 'scan.watermark.alignment.group' = 'history', 'scan.watermark.alignment.max-drift' = '%d ms', "+
		"'scan.watermark.alignment.update-interval' = '%d ms'", drift.Milliseconds(), interval.Milliseconds()))
	if err != nil {
		return free, aligned, err
	}
	fmt.Printf("%-52s %s\n", fmt.Sprintf("aligned, max drift %s, update interval %s:", drift, interval), aligned)
	if !slices.Equal(free.windows, aligned.windows) {
		return free, aligned, errors.New("the results differ")
	}
	fmt.Printf("results are equal; %.0f times fewer rows in window state\n", float64(free.peak)/float64(aligned.peak))
	return free, aligned, nil
}

// result is what a run gave.
type result struct {
	windows []string // sorted: between partitions there is no order
	peak    int64
	late    int64
	took    time.Duration
}

func (r result) String() string {
	return fmt.Sprintf("%6d rows in window state at its peak, %d windows, %d late rows, %.1f s", r.peak, len(r.windows), r.late, r.took.Seconds())
}

// read counts the rows of each sensor in each ten minutes, with more options for the table.
func read(ctx context.Context, brokers, options string) (result, error) {
	db, err := weir.Open(weir.Options{Connectors: all.Connectors(), Config: map[string]string{"weir.input-order": "arrival"}})
	if err != nil {
		return result{}, err
	}
	defer db.Close()
	err = db.Exec(ctx, fmt.Sprintf(`
		CREATE TABLE readings (sensor STRING, ts BIGINT, reading DOUBLE, at AS TO_TIMESTAMP_LTZ(ts, 3),
		  WATERMARK FOR at AS at - INTERVAL '%d' SECOND)
		WITH ('connector' = 'kafka', 'topic' = '%s', 'properties.bootstrap.servers' = '%s', 'format' = 'json',
		  'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset'%s)`, int(disorder.Seconds()), topic, brokers, options))
	if err != nil {
		return result{}, err
	}
	begin := time.Now()
	q, err := db.Query(ctx, `
		SELECT window_start, sensor, COUNT(*), MAX(reading) FROM TUMBLE(TABLE readings, DESCRIPTOR(at), INTERVAL '10' MINUTE)
		GROUP BY window_start, window_end, sensor`)
	if err != nil {
		return result{}, err
	}
	defer q.Close()
	var r result
	for row, err := range q.All() {
		if err != nil {
			return result{}, err
		}
		r.windows = append(r.windows, fmt.Sprintln(row.Values...))
	}
	r.took = time.Since(begin)
	s := q.Job().Stats()
	r.peak, r.late = s.PeakStateRows, s.LateRows
	slices.Sort(r.windows)
	return r, nil
}

// fill makes the topic anew and returns how many rows each partition has.
func fill(ctx context.Context, brokers string, seed uint64, days int) ([]int, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(brokers, ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	adm := kadm.NewClient(client)
	if _, err := adm.DeleteTopic(ctx, topic); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil, err
	}
	if _, err := adm.CreateTopic(ctx, partitions, 1, nil, topic); err != nil {
		return nil, err
	}
	rows := make([]int, partitions)
	end := start.AddDate(0, 0, days)
	every := float64(densest)
	for p := range partitions {
		rnd := rand.New(rand.NewPCG(seed, uint64(p)))
		for at := start; at.Before(end); at = at.Add(time.Duration(every * (0.5 + rnd.Float64()))) {
			ts := at.Add(-time.Duration(rnd.Int64N(int64(disorder)))) // rows overtake each other
			value := fmt.Sprintf(`{"sensor":"%d-%d","ts":%d,"reading":%.2f}`, p, rnd.IntN(sensors), ts.UnixMilli(), 20+rnd.NormFloat64())
			client.Produce(ctx, &kgo.Record{Topic: topic, Partition: int32(p), Value: []byte(value)}, nil)
			rows[p]++
		}
		every *= factor
	}
	return rows, client.Flush(ctx)
}

func sum(n []int) (total int) {
	for _, v := range n {
		total += v
	}
	return total
}
