//go:build unix

// Command idle measures what silent splits cost: the CPU time of a process in which one window query waits for splits that say nothing.
//
//	go run ./bench/idle                                # 1,000 splits of the connector 'test'
//	go run ./bench/idle -source kafka -aligned         # 1,000 partitions of a broker in a process of its own, in an alignment group
//
// Each split gets one row at the beginning and falls silent; -timeout later it is idle. What is measured begins behind those rows.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors/all"
	"github.com/weir-sql/weir/connectors/test"
)

func main() {
	log.SetFlags(0)
	source := flag.String("source", "test", "connector: test or kafka")
	splits := flag.Int("splits", 1000, "number of splits")
	length := flag.Duration("for", 30*time.Second, "how long to measure")
	timeout := flag.Duration("timeout", 5*time.Second, "scan.watermark.idle-timeout")
	aligned := flag.Bool("aligned", false, "put the table into an alignment group")
	profile := flag.String("profile", "", "write a CPU profile of what is measured to this file")
	broker := flag.Bool("broker", false, "be the broker")
	flag.Parse()
	if *broker {
		log.Fatal(serve(*splits))
	}
	if err := run(*source, *splits, *length, *timeout, *aligned, *profile); err != nil {
		log.Fatal(err)
	}
}

func run(source string, splits int, length, timeout time.Duration, aligned bool, profile string) error {
	ctx := context.Background()
	tables := test.NewRegistry()
	db, err := weir.Open(weir.Options{Connectors: append(all.Connectors(), tables.Connector())})
	if err != nil {
		return err
	}
	defer db.Close()
	options := fmt.Sprintf("'scan.watermark.idle-timeout' = '%d ms'", timeout.Milliseconds())
	if aligned {
		options += ", 'scan.watermark.alignment.group' = 'g', 'scan.watermark.alignment.max-drift' = '1 min'"
	}
	switch source {
	case "test":
		options += fmt.Sprintf(", 'connector' = 'test', 'splits' = '%d'", splits)
	case "kafka":
		address, stop, err := startBroker(splits)
		if err != nil {
			return err
		}
		defer stop()
		options += fmt.Sprintf(", 'connector' = 'kafka', 'topic' = 'idle', 'properties.bootstrap.servers' = '%s', 'format' = 'csv', 'scan.startup.mode' = 'earliest-offset'", address)
	default:
		return fmt.Errorf("-source %s: there are test and kafka", source)
	}
	if err := db.Exec(ctx, "CREATE TABLE t (k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ("+options+")"); err != nil {
		return err
	}
	q, err := db.Query(ctx, "SELECT window_start, k, COUNT(*) FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end, k")
	if err != nil {
		return err
	}
	if source == "test" {
		t := tables.Tables()[0]
		for i := range splits {
			if err := t.Append(i, "a,2024-05-01 10:00:00"); err != nil {
				return err
			}
		}
	}
	for q.Job().Stats().RowsIn < int64(splits) {
		time.Sleep(10 * time.Millisecond)
	}
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
	}
	before := cpu()
	time.Sleep(length)
	used := cpu() - before
	pprof.StopCPUProfile()
	idle := 0
	for _, s := range q.Job().Watermarks(ctx) {
		if s.State == weir.SplitIdle {
			idle++
		}
	}
	fmt.Printf("%s, aligned %t: %d splits, %d of them idle: %d ms of CPU in %s\n", source, aligned, splits, idle, used.Milliseconds(), length)
	return q.Close()
}

// cpu is what the process has used.
func cpu() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// startBroker starts this program again, as a broker.
func startBroker(partitions int) (address string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(self, "-broker", "-splits", fmt.Sprint(partitions))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, err
	}
	return strings.TrimSpace(line), stop, nil
}

// serve is a broker with a topic that has one record in each partition; it prints its address and runs until it is killed.
func serve(partitions int) error {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(int32(partitions), "idle"))
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	ctx := context.Background()
	for p := range partitions {
		client.Produce(ctx, &kgo.Record{Topic: "idle", Partition: int32(p), Value: []byte("a,2024-05-01 10:00:00")}, nil)
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	client.Close()
	fmt.Println(strings.Join(c.ListenAddrs(), ","))
	select {}
}
