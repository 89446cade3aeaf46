//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const kafkaPartitions = 4

// memoryBroker starts `weir broker` as a process of its own.
func memoryBroker(topics ...string) (address string, stop func(), err error) {
	args := []string{"broker", "--listen", "127.0.0.1:0"}
	for _, t := range topics {
		args = append(args, "--topic", fmt.Sprintf("%s:%d", t, kafkaPartitions))
	}
	cmd := exec.Command(path("weir"), args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("the broker does not start: %w", err)
	}
	fields := strings.Fields(line)
	return fields[len(fields)-1], stop, nil
}

// reading is a JSON record of about 200 bytes; 100 of a second, in order within their partition.
func reading(i int) []byte {
	at := time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC).Add(time.Duration(i) * 10 * time.Millisecond)
	b := fmt.Appendf(nil, `{"id":%d,"sensor":"sensor-%04d","ts":"%s","value":%d.%02d,"unit":"celsius","note":"`, i, i*7919%5000, at.Format("2006-01-02 15:04:05.000"), i%90, i%100)
	for len(b) < 198 {
		b = append(b, "calibrated in the field "[len(b)%24])
	}
	return append(b, `"}`...)
}

// produce fills a topic, each partition in turn.
func produce(address, topic string, records int) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.MaxBufferedRecords(100_000), kgo.ProducerLinger(20*time.Millisecond), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer cl.Close()
	ctx := context.Background()
	failed := make(chan error, 1)
	for i := range records {
		cl.Produce(ctx, &kgo.Record{Partition: int32(i % kafkaPartitions), Value: reading(i)}, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// bareConsumer is what the engine is measured against: it takes the records of a topic from franz-go and looks at nothing but their size.
func bareConsumer(address, topic string, records int) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer cl.Close()
	n, bytes := 0, 0
	for n < records {
		f := cl.PollFetches(context.Background())
		if err := f.Err(); err != nil {
			return err
		}
		f.EachRecord(func(r *kgo.Record) { n, bytes = n+1, bytes+len(r.Value) })
	}
	fmt.Println(n, bytes)
	return nil
}

func kafkaTable(address, topic, more string) string {
	return fmt.Sprintf("CREATE TABLE readings (id BIGINT, sensor STRING, ts TIMESTAMP(3), `value` DOUBLE, unit STRING, note STRING, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) "+
		"WITH ('connector' = 'kafka', 'topic' = '%s', 'properties.bootstrap.servers' = '%s', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset', "+
		"'scan.bounded.mode' = 'latest-offset'%s); ", topic, address, more)
}

// kafka measures a tumbling count over a topic against a consumer that does nothing with what it reads.
func kafka(out *strings.Builder) error {
	address, stop, err := memoryBroker("bench")
	if err != nil {
		return err
	}
	defer stop()
	log.Printf("+ %d records into %d partitions", *records, kafkaPartitions)
	if err := produce(address, "bench", *records); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	const count = "SELECT COUNT(*), SUM(n) FROM (SELECT COUNT(*) AS n FROM TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end)"
	cases := []struct {
		name, script string
	}{
		{"bare franz-go consumer", ""},
		{"tumble 10 s, count, as records arrive", "SET 'weir.input-order' = 'arrival'; "},
		{"tumble 10 s, count, in the order of event time", ""},
	}
	fs := make([][]figures, len(cases))
	for range *runs {
		for i, c := range cases {
			var f figures
			var err error
			if i == 0 {
				f, err = measure(exec.Command(self, "-bare", address+" bench "+strconv.Itoa(*records)))
			} else {
				f, err = runWeir(c.script + "SET 'weir.result-mode' = 'table'; SET 'weir.threads' = '1'; " + kafkaTable(address, "bench", "") + count)
				if err == nil && !strings.HasSuffix(f.answer, ","+strconv.Itoa(*records)) {
					err = fmt.Errorf("%s: the windows hold %s, there are %d records", c.name, f.answer, *records)
				}
			}
			if err != nil {
				return err
			}
			fs[i] = append(fs[i], f)
			log.Printf("%s: %.0f ns of CPU per record", c.name, f.cpu*1e9/float64(*records))
		}
	}
	fmt.Fprintf(out, "| Kafka: %d JSON records of 200 bytes, %d partitions, broker in a process of its own | CPU ns/record | ratio | Mrows/s | peak MiB |\n|---|---|---|---|---|\n", *records, kafkaPartitions)
	base := median(fs[0], cpu)
	for i, c := range cases {
		m := median(fs[i], cpu)
		fmt.Fprintf(out, "| %s | %.0f | %.2f | %.2f | %.0f |\n", c.name, m*1e9/float64(*records), m/base, float64(*records)/1e6/median(fs[i], wall), median(fs[i], peak))
	}
	fmt.Fprintln(out)
	return nil
}

// measure runs a command whose output is not looked at.
func measure(cmd *exec.Cmd) (figures, error) {
	cmd.Stderr = os.Stderr
	began := time.Now()
	got, err := cmd.Output()
	if err != nil {
		return figures{}, fmt.Errorf("%s: %w", cmd.Path, err)
	}
	s := cmd.ProcessState
	return figures{cpu: (s.UserTime() + s.SystemTime()).Seconds(), wall: time.Since(began).Seconds(), peakMiB: maxRSS(s), answer: strings.TrimSpace(string(got))}, nil
}

// kafkaMemory has a query over a topic whose rows nobody takes: standard output is a pipe that is not read for a minute. Then it is read to its end.
func kafkaMemory(out *strings.Builder) error {
	address, stop, err := memoryBroker("waiting")
	if err != nil {
		return err
	}
	defer stop()
	n := int(*waiting << 20 / 200)
	log.Printf("+ %d MiB into %d partitions", *waiting, kafkaPartitions)
	if err := produce(address, "waiting", n); err != nil {
		return err
	}
	cmd := exec.Command(path("weir"), "--quiet", "--format", "csv", "--no-header", "-c", "SET 'weir.input-order' = 'arrival'; "+kafkaTable(address, "waiting", "")+"SELECT * FROM readings")
	cmd.Stderr = os.Stderr
	rows, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var most float64
	for range int(*blocked / time.Second) {
		time.Sleep(time.Second)
		most = max(most, rss(cmd.Process.Pid))
	}
	got, err := countLines(rows)
	if err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("weir: %w", err)
	}
	if got != n {
		return fmt.Errorf("%d rows came out, %d went in", got, n)
	}
	fmt.Fprintf(out, "Kafka with %d MiB waiting in %d partitions, the sink blocked for %v: %.0f MiB resident meanwhile, peak %.0f MiB until all %d rows had been read.\n\n", *waiting, kafkaPartitions, *blocked,
		most, maxRSS(cmd.ProcessState), n)
	return nil
}

// rss is the resident memory of a process in MiB, where /proc tells it.
func rss(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			kb, _ := strconv.ParseFloat(f[1], 64)
			return kb / 1024
		}
	}
	return 0
}

func countLines(r io.Reader) (int, error) {
	buf := make([]byte, 1<<20)
	n := 0
	for {
		k, err := r.Read(buf)
		n += bytes.Count(buf[:k], []byte{'\n'})
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// watermarks measures what exact watermarks cost against periodic ones.
func watermarks(out *strings.Builder) error {
	tumble := queries[2].weir
	cases := []struct{ name, data, watermark string }{
		{"in order, ts - 4 s", "ordered", "ts - INTERVAL '4' SECOND"},
		{"in order, WATERMARK FOR ts AS ts", "ordered", "ts"},
		{"1 % late rows, ts - 4 s", "late", "ts - INTERVAL '4' SECOND"},
		{"usual disorder, WATERMARK FOR ts AS ts", "usual", "ts"},
	}
	fmt.Fprintf(out, "| tumble 10 s over JSON, 1 thread | on-event, CPU ns/row | on-periodic | ratio |\n|---|---|---|---|\n")
	for _, c := range cases {
		var fs [2][]figures
		for range *runs {
			for k, strategy := range []string{"on-event", "on-periodic"} {
				script := weirScript(tumble, "json", path(data(c.data), "bids.json"), c.watermark, 1)
				script = strings.Replace(script, "'connector' =", "'scan.watermark.emit.strategy' = '"+strategy+"', 'connector' =", 1)
				f, err := runWeir(script)
				if err != nil {
					return err
				}
				fs[k] = append(fs[k], f)
			}
		}
		a, b := median(fs[0], cpu), median(fs[1], cpu)
		fmt.Fprintf(out, "| %s | %.0f | %.0f | **%.2f** |\n", c.name, a*1e9/float64(*bids), b*1e9/float64(*bids), a/b)
		log.Printf("%s: on-event %.3f of on-periodic", c.name, a/b)
	}
	fmt.Fprintln(out)
	return nil
}
