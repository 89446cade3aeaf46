package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors/all"
)

// topics starts a broker with topics of two partitions.
func topics(t *testing.T, names ...string) (seeds string, put func(topic string, partition int32, key, value string)) {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, names...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return c.ListenAddrs()[0], func(topic string, partition int32, key, value string) {
		t.Helper()
		r := &kgo.Record{Topic: topic, Partition: partition, Key: []byte(key), Value: []byte(value)}
		if value == "" {
			r.Value = nil
		}
		if err := cl.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func table(name, columns, seeds string, options ...string) string {
	s := fmt.Sprintf("CREATE TABLE %s (%s) WITH ('properties.bootstrap.servers' = '%s'", name, columns, seeds)
	for _, o := range options {
		k, v, _ := strings.Cut(o, "=")
		s += fmt.Sprintf(", '%s' = '%s'", k, v)
	}
	return s + ");\n"
}

// TestKafka runs scripts over topics.
func TestKafka(t *testing.T) {
	seeds, put := topics(t, "clicks", "users", "changes", "out", "avro", "text")
	for i := range 40 { // out of order by up to a second, in both partitions; half a minute
		put("clicks", int32(i%2), "", fmt.Sprintf(`{"u":"u%d","ts":"2024-05-01 10:00:%02d.%03d"}`, i%3, i, 500*(i%2)))
	}
	put("users", 0, `{"id":1}`, `{"id":1,"name":"ann","n":1}`)
	put("users", 0, `{"id":2}`, `{"id":2,"name":"bob","n":2}`)
	put("users", 0, `{"id":1}`, `{"id":1,"name":"ann","n":5}`)
	put("users", 0, `{"id":2}`, "")
	put("users", 1, `{"id":3}`, `{"id":3,"name":"ann","n":7}`)
	put("changes", 0, "", `{"before":null,"after":{"id":1,"n":1},"op":"c","source":{"table":"x"}}`)
	put("changes", 0, "", `{"before":{"id":1,"n":1},"after":{"id":1,"n":4},"op":"u","source":{"table":"x"}}`)
	end := []string{"scan.startup.mode=earliest-offset", "scan.bounded.mode=latest-offset"}
	with := func(more ...string) []string { return append(more, end...) }
	clicks := table("clicks", "u STRING, ts TIMESTAMP(3), p INT METADATA FROM 'partition' VIRTUAL, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND", seeds,
		with("connector=kafka", "topic=clicks", "format=json")...)
	users := table("users", "id INT, name STRING, n INT, PRIMARY KEY (id) NOT ENFORCED", seeds, "connector=upsert-kafka", "topic=users", "key.format=json", "value.format=json",
		"scan.bounded.mode=latest-offset")
	changes := table("changes", "id INT, n INT, src STRING METADATA FROM 'value.source.table' VIRTUAL", seeds, with("connector=kafka", "topic=changes", "format=debezium-json")...)
	out := table("o", "name STRING, s INT, PRIMARY KEY (name) NOT ENFORCED", seeds, "connector=upsert-kafka", "topic=out", "key.format=csv", "value.format=json", "scan.bounded.mode=latest-offset")
	av := table("av", "u STRING, ts TIMESTAMP(3)", seeds, with("connector=kafka", "topic=avro", "format=avro", "key.format=raw", "key.fields=u")...)
	text := table("av", "u STRING, ts TIMESTAMP(3)", seeds, with("connector=kafka", "topic=text", "format=avro", "avro.encoding=json")...)
	for _, c := range []struct{ name, script, out string }{
		{"windows in the order of event time", clicks + `SELECT window_start, COUNT(*) AS n, COUNT(DISTINCT p) AS p FROM TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND)
			GROUP BY window_start, window_end`, "window_start,n,p\n2024-05-01 10:00:00.000,10,2\n2024-05-01 10:00:10.000,10,2\n2024-05-01 10:00:20.000,10,2\n2024-05-01 10:00:30.000,10,2\n"},
		{"upserts", "SET 'weir.result-mode' = 'table'; " + users + "SELECT name, SUM(n) AS s FROM users GROUP BY name", "name,s\nann,12\n"},
		{"changes", "SET 'weir.result-mode' = 'table'; " + changes + "SELECT src, id, SUM(n) AS s FROM changes GROUP BY src, id", "src,id,s\nx,1,4\n"},
		{"updates into a topic and back", users + out + "INSERT INTO o SELECT name, SUM(n) FROM users GROUP BY name; SELECT name, MAX(s) AS s FROM o GROUP BY name",
			"name,s\nann,12\n"},
		{"avro there and back", clicks + av + "INSERT INTO av SELECT u, ts FROM clicks WHERE u = 'u1'; SELECT COUNT(DISTINCT ts) AS n, MIN(ts) AS lo, MAX(ts) AS hi FROM av",
			"n,lo,hi\n13,2024-05-01 10:00:01.500,2024-05-01 10:00:37.500\n"},
		{"avro in JSON there and back", clicks + text + "INSERT INTO av SELECT u, ts FROM clicks WHERE u = 'u1'; SELECT COUNT(DISTINCT ts) AS n, MIN(ts) AS lo FROM av",
			"n,lo\n13,2024-05-01 10:00:01.500\n"},
		{"avro in JSON is text", strings.NewReplacer("u STRING, ts TIMESTAMP(3)", "v STRING", "'format' = 'avro', 'avro.encoding' = 'json'", "'format' = 'raw'").Replace(text) +
			"SELECT MIN(v) AS v FROM av", "v\n\"{\"\"u\"\":{\"\"string\"\":\"\"u1\"\"},\"\"ts\"\":{\"\"long\"\":1714557601500}}\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, threads := range []string{"1", "4"} {
				status, out, errOut := call("", "-c", c.script, "--format=csv", "--quiet", "--set", "weir.threads="+threads, "--set", "execution.runtime-mode=streaming", "--set",
					"weir.result-mode=table")
				if status != 0 || out != c.out {
					t.Errorf("%s threads: status %d\n%s%s\nwant\n%s", threads, status, out, errOut, c.out)
				}
			}
		})
	}
	for _, c := range []struct{ script, err string }{
		{strings.ReplaceAll(clicks, "topic' = 'clicks", "topic' = 'click") + "SELECT * FROM clicks", "topic 'click' does not exist; did you mean 'clicks'?"},
		{table("x", "u INT", seeds, with("connector=kafka", "topic=clicks", "format=json")...) + "SELECT * FROM x", "the record at offset 0 of partition 0 of topic 'clicks' is bad: u: 'u0' is not an INT"},
		{table("x", "u INT", seeds, "connector=kafka", "topic=clicks", "format=json") + "SELECT * FROM x", "there is no place to begin: set 'scan.startup.mode'"},
		{clicks + "INSERT INTO clicks (u) SELECT CAST(COUNT(*) AS STRING) FROM clicks GROUP BY u", "only takes rows that are added"},
	} {
		status, _, errOut := call("", "-c", c.script, "--format=csv", "--quiet", "--set", "weir.result-mode=changelog")
		if status != 1 || !strings.Contains(errOut, c.err) {
			t.Errorf("status %d, %s\nwant %s", status, errOut, c.err)
		}
	}
}

// TestBroker runs the broker as a user does, and a query that waits for rows beside it.
// TestKafkaTimeless: a record without event time, or from the future, is named by its offset, whatever lies before it.
func TestKafkaTimeless(t *testing.T) {
	seeds, put := topics(t, "times")
	put("times", 0, `{"id":1}`, `{"id":1,"ts":"2024-05-01 10:00:00"}`)
	put("times", 0, `{"id":2}`, "")
	put("times", 0, `{"id":3}`, `not json`)
	put("times", 0, `{"id":4}`, `{"id":4}`)
	put("times", 0, `{"id":5}`, `{"id":5,"ts":"9999-05-01 10:00:00"}`)
	with := func(options ...string) []string {
		return append(options, "topic=times", "scan.bounded.mode=latest-offset", "scan.watermark.max-future=1 d", "scan.watermark.future-rows=fail")
	}
	plain := with("connector=kafka", "scan.startup.mode=earliest-offset", "format=json", "json.ignore-parse-errors=true")
	upsert := with("connector=upsert-kafka", "key.format=json", "value.format=json", "value.json.ignore-parse-errors=true")
	for _, c := range []struct {
		columns string
		options []string
	}{
		{"id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts", plain},
		{"id INT, ts TIMESTAMP(3), p INT METADATA FROM 'partition', WATERMARK FOR ts AS ts", plain},
		{"id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (id) NOT ENFORCED", upsert},
	} {
		for options, want := range map[string]string{
			"scan.watermark.null-rows=fail": "times-0:3: event time column ts is NULL: set",
			"scan.watermark.null-rows=drop": "times-0:4: event time column ts is more than 24h0m0s ahead of processing time: set",
		} {
			status, _, errOut := call("", "-c", table("times", c.columns, seeds, append(slices.Clone(c.options), options)...)+"SELECT id FROM times", "--format=csv", "--quiet")
			if status != 1 || !strings.Contains(errOut, want) {
				t.Errorf("%s, %s: status %d, %s\nwant %s", c.columns, options, status, errOut, want)
			}
		}
	}
}

func TestBroker(t *testing.T) {
	for _, c := range []struct{ args, err string }{
		{"--listen here", "it must be host:port"},
		{"--listen :9092", "name an address that clients can reach"},
		{"--listen 127.0.0.1:x", "is no port"},
		{"--topic a:0", "must be between 1 and 10000"},
		{"--topic a/b", "letters, digits"},
		{"--topic a --topic a:2", "the topic is given twice"},
	} {
		if status, _, errOut := call("", append([]string{"broker"}, strings.Fields(c.args)...)...); status != 2 || !strings.Contains(errOut, c.err) {
			t.Errorf("%s: status %d, %s", c.args, status, errOut)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var out, errOut lockedBuffer
	a := &app{in: strings.NewReader(""), out: &out, err: &errOut, ctx: ctx}
	done := make(chan error, 1)
	go func() { done <- a.broker("127.0.0.1:0", []string{"clicks:3", "orders"}) }()
	address := regexp.MustCompile(`at (127\.0\.0\.1:\d+)\n`)
	var seeds string
	wait(t, func() bool {
		if m := address.FindStringSubmatch(out.String()); m != nil {
			seeds = m[1]
		}
		return seeds != ""
	})
	columns := "u STRING, p INT METADATA FROM 'partition' VIRTUAL"
	clicks := table("clicks", columns, seeds, "connector=kafka", "topic=clicks", "format=json", "scan.startup.mode=earliest-offset")
	status, _, text := call("", "-c", clicks+"INSERT INTO clicks VALUES ('a'), ('b')", "--quiet")
	if status != 0 {
		t.Fatal(text)
	}
	// An endless query ends with LIMIT.
	status, rows, text := call("", "-c", clicks+"SELECT u FROM clicks LIMIT 2", "--quiet", "--format=csv", "--no-header")
	if status != 0 || rows != "a\nb\n" {
		t.Errorf("status %d, %q %s", status, rows, text)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !strings.Contains(errOut.String(), "topics: clicks (3), orders (1)") {
		t.Errorf("%s", errOut.String())
	}
}

// lockedBuffer is written and read at the same time.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func wait(t *testing.T, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it takes too long")
		}
	}
}

// TestSecrets: logins are shown by nothing.
func TestSecrets(t *testing.T) {
	create := table("x", "u INT", "127.0.0.1:1", "connector=kafka", "topic=t", "format=json", "scan.startup.mode=earliest-offset", "properties.security.protocol=SASL_PLAINTEXT",
		"properties.sasl.mechanism=PLAIN", `properties.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="s3cret";`)
	stats := filepath.Join(t.TempDir(), "stats.json")
	for _, q := range []string{"SHOW CREATE TABLE x", "DESCRIBE x", "EXPLAIN SELECT * FROM x", "SELECT * FROM x", "SELECT * FROM x /*+ OPTIONS('topik' = 'y') */",
		"SELECT * FROM x /*+ OPTIONS('properties.sasl.jaas.config' = 's3cret') */", "INSERT INTO x SELECT * FROM x /*+ OPTIONS('properties.ssl.key.password' = 's3cret') */"} {
		for _, create := range []string{create, strings.Replace(create, "'PLAIN'", "'PLAINN'", 1)} {
			_, out, errOut := call("", "-c", create+q, "--format=csv", "--stats", stats)
			text, err := os.ReadFile(stats)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out+errOut+string(text), "s3cret") || out+errOut == "" {
				t.Errorf("%s:\n%s%s%s", q, out, errOut, text)
			}
		}
	}
	// The line that an error shows.
	_, _, errOut := call("", "-c", strings.TrimSpace(strings.Replace(create, "'PLAIN'", "'PLAINN'", 1))+" SELECT * FROM x")
	if strings.Contains(errOut, "s3cret") || !strings.Contains(errOut, "*******'); SELECT * FROM x\n") || !strings.Contains(errOut, "must be one of PLAIN") {
		t.Errorf("%s", errOut)
	}
}

// TestKafkaRestore: KF-06 with the snapshots of jobs. Reading begins at "latest"; of three partitions one is silent until the job is down.
func TestKafkaRestore(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "t"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx := context.Background()
	put := func(partition int32, v string) {
		t.Helper()
		if err := cl.ProduceSync(ctx, &kgo.Record{Topic: "t", Partition: partition, Value: []byte(v)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	put(0, "old")
	db, err := weir.Open(weir.Options{Connectors: all.Connectors(), Formats: all.Formats()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Exec(ctx, table("t", "v STRING", c.ListenAddrs()[0], "connector=kafka", "topic=t", "format=raw", "scan.startup.mode=latest-offset")); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var rows []string
	seen := func(n int) bool {
		mu.Lock()
		defer mu.Unlock()
		return len(rows) >= n
	}
	start := func(from *weir.Snapshot) *weir.Job {
		t.Helper()
		res, err := db.ExecuteWith(ctx, "SELECT v FROM t", weir.ExecOptions{Restore: from, OnBatch: func(_ weir.Schema, b weir.Batch) error {
			mu.Lock()
			defer mu.Unlock()
			for i := range b.Len() {
				rows = append(rows, strings.Clone(b.Record.Column(0).ValueStr(b.Row(i)))) // the batch goes back
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		return res.Job
	}
	job := start(nil)
	if err := job.Sync(ctx); err != nil { // where "latest" is has been found out
		t.Fatal(err)
	}
	put(0, "A1")
	put(1, "B1")
	wait(t, func() bool { return seen(2) })
	snap, err := job.Stop(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Release()
	put(0, "A2")
	put(1, "B2")
	put(2, "C1")
	job = start(snap)
	wait(t, func() bool { return seen(5) })
	if err := job.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	if err := job.Cancel(); err != nil {
		t.Log(err)
	}
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(rows)
	if got := strings.Join(rows, " "); got != "A1 A2 B1 B2 C1" {
		t.Errorf("rows: %s", got)
	}
}

// TestPatternWithoutTopics: no rows for want of topics is told on standard error, and leaves the exit status alone.
func TestPatternWithoutTopics(t *testing.T) {
	seeds, _ := topics(t, "clicks", "orders")
	script := write(t, "s.sql", table("c", "u STRING", seeds, "connector=kafka", "topic-pattern=click", "format=json", "scan.startup.mode=earliest-offset", "scan.bounded.mode=latest-offset")+
		"SELECT COUNT(*) AS n FROM c;")
	status, out, errOut := call("", "run", "--format", "csv", script)
	want := "weir: warning: no topic matches 'topic-pattern': the table has no rows (table: `default_catalog`.`default_database`.`c`, pattern: click, " +
		"hint: it matches a part of 'clicks', and must match the whole name: write .*(click).*)\n"
	if status != 0 || !strings.Contains(errOut, want) {
		t.Errorf("status %d, out %q\n%s", status, out, errOut)
	}
	if status, _, errOut = call("", "run", "--quiet", script); status != 0 || errOut != "" {
		t.Errorf("status %d\n%s", status, errOut)
	}
}
