package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors/all"
)

// kafkaBroker is what a test of groups and transactions talks to.
type kafkaBroker struct {
	t     *testing.T
	seeds string
	cl    *kgo.Client
	adm   *kadm.Client
	name  string // what the names of topics and groups begin with
}

// eachKafka runs a test against kfake, and against the broker that WEIR_KAFKA names (.ci/kafka run).
func eachKafka(t *testing.T, f func(t *testing.T, b *kafkaBroker)) {
	run := func(t *testing.T, seeds string) {
		cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(seeds, ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0), kgo.DisableClientMetrics(),
			kgo.MetadataMinAge(10*time.Millisecond), kgo.UnknownTopicRetries(-1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cl.Close)
		f(t, &kafkaBroker{t: t, seeds: seeds, cl: cl, adm: kadm.NewClient(cl), name: fmt.Sprintf("w%d", time.Now().UnixNano())})
	}
	t.Run("kfake", func(t *testing.T) {
		c, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		run(t, c.ListenAddrs()[0])
	})
	t.Run("kafka", func(t *testing.T) {
		v := os.Getenv("WEIR_KAFKA")
		if v == "" {
			t.Skip("no Apache Kafka: WEIR_KAFKA is not set; `.ci/kafka run go test ./cmd/weir -run Kafka` starts one")
		}
		_, seeds, _ := strings.Cut(strings.Fields(v)[0], "=")
		run(t, seeds)
	})
}

// topic makes a topic and returns its name.
func (b *kafkaBroker) topic(name string, partitions int32) string {
	b.t.Helper()
	name = b.name + "-" + name
	if _, err := b.adm.CreateTopic(context.Background(), partitions, 1, nil, name); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _, _ = b.adm.DeleteTopics(context.Background(), name) })
	return name
}

func (b *kafkaBroker) put(topic string, partition int32, values ...string) {
	b.t.Helper()
	for _, v := range values {
		if err := b.cl.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)}).FirstErr(); err != nil {
			b.t.Fatal(err)
		}
	}
}

// committed is what the group has committed, by partition.
func (b *kafkaBroker) committed(group, topic string) string {
	b.t.Helper()
	got, err := b.adm.FetchOffsets(context.Background(), group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		b.t.Fatal(err)
	}
	var out []string
	for _, o := range got[topic] {
		if o.At >= 0 {
			out = append(out, fmt.Sprintf("%d:%d", o.Partition, o.At))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// session opens a session, whose warnings go to log.
func session(t *testing.T, log *lockedBuffer) *weir.DB {
	t.Helper()
	db, err := weir.Open(weir.Options{Connectors: all.Connectors(), Formats: all.Formats(), Log: newWarnings(log, false)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// collected runs a SELECT in the background and gathers its rows as text.
type collected struct {
	job  *weir.Job
	rows lockedBuffer
}

func collect(t *testing.T, db *weir.DB, sql string) *collected {
	t.Helper()
	c := &collected{}
	res, err := db.ExecuteWith(context.Background(), sql, weir.ExecOptions{Background: true, OnBatch: func(cols weir.Schema, b weir.Batch) error {
		for i := range b.Len() {
			for k := range cols {
				fmt.Fprintf(&c.rows, "%s ", b.Record.Column(k).ValueStr(b.Row(i)))
			}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	c.job = res.Job
	return c
}

func (c *collected) sorted() string {
	f := strings.Fields(c.rows.String())
	slices.Sort(f)
	return strings.Join(f, " ")
}

// TestKafkaGroupOffsets: what was worked off when a job ends in order is committed for its group, and the next run goes on there. A job that is cancelled,
// a LIMIT, and rows that wait in open windows commit nothing.
func TestKafkaGroupOffsets(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *kafkaBroker) {
		topic := b.topic("in", 2)
		group := b.name + "-g"
		var log lockedBuffer
		db := session(t, &log)
		ctx := context.Background()
		options := []string{"connector=kafka", "topic=" + topic, "format=raw", "properties.group.id=" + group, "properties.auto.offset.reset=earliest"}
		for name, more := range map[string][]string{"t": nil, "ended": {"scan.bounded.mode=latest-offset"}, "peek": {"properties.commit.offsets.on.checkpoint=false"}} {
			if err := db.Exec(ctx, table(name, "v STRING", b.seeds, append(more, options...)...)); err != nil {
				t.Fatal(err)
			}
		}
		b.put(topic, 0, "a0", "a1")
		b.put(topic, 1, "b0")
		// A bounded run commits at its end.
		if got := collect(t, db, "SELECT v FROM ended"); got.job.Wait(ctx) != nil || got.sorted() != "a0 a1 b0" {
			t.Fatalf("%v: %s", got.job.Err(), got.sorted())
		}
		if got := b.committed(group, topic); got != "0:2 1:1" {
			t.Errorf("committed %s", got)
		}
		b.put(topic, 0, "a2")
		// Who only looks commits nothing: LIMIT, cancel, and a table that says so.
		if got := collect(t, db, "SELECT v FROM t LIMIT 1"); got.job.Wait(ctx) != nil || got.sorted() != "a2" {
			t.Errorf("LIMIT: %s", got.sorted())
		}
		for _, q := range []string{"SELECT v FROM t", "SELECT v FROM peek"} {
			got := collect(t, db, q)
			wait(t, func() bool { return got.sorted() == "a2" })
			if strings.Contains(q, "peek") {
				if snap, err := got.job.Stop(ctx); err != nil {
					t.Fatal(err)
				} else {
					snap.Release()
				}
			} else if err := got.job.Cancel(); err != nil {
				t.Fatal(err)
			}
			if got := b.committed(group, topic); got != "0:2 1:1" {
				t.Errorf("%s: committed %s", q, got)
			}
		}
		// A stop in order commits.
		got := collect(t, db, "SELECT UPPER(v) FROM t WHERE v <> 'b1'")
		b.put(topic, 1, "b1", "b2")
		wait(t, func() bool { return got.sorted() == "A2 B2" })
		snap, err := got.job.Stop(ctx)
		if err != nil {
			t.Fatal(err)
		}
		snap.Release()
		if got := b.committed(group, topic); got != "0:3 1:3" {
			t.Errorf("committed %s", got)
		}
		b.put(topic, 0, "a3")
		if got := collect(t, db, "SELECT v FROM ended"); got.job.Wait(ctx) != nil || got.sorted() != "a3" {
			t.Errorf("%v: %s", got.job.Err(), got.sorted())
		}
		if s := log.String(); s != "" {
			t.Errorf("warnings: %s", s)
		}
		// Rows of open windows are not worked off.
		events := b.topic("events", 1)
		windows := "SELECT CAST(window_start AS STRING), COUNT(*) FROM TUMBLE(TABLE %s, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end"
		for name, more := range map[string][]string{"e": nil, "e_ended": {"scan.bounded.mode=latest-offset"}} {
			if err := db.Exec(ctx, table(name, "ts TIMESTAMP(3), WATERMARK FOR ts AS ts", b.seeds, append(append([]string{}, more...), "connector=kafka", "topic="+events, "format=json",
				"properties.group.id="+group, "properties.auto.offset.reset=earliest")...)); err != nil {
				t.Fatal(err)
			}
		}
		b.put(events, 0, `{"ts":"2024-05-01 10:00:01"}`, `{"ts":"2024-05-01 10:00:02"}`, `{"ts":"2024-05-01 10:00:12"}`)
		got = collect(t, db, fmt.Sprintf(windows, "e"))
		wait(t, func() bool { return got.rows.String() == "2024-05-01 10:00:00.000 2 " })
		if snap, err = got.job.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		snap.Release()
		if got := b.committed(group, events); got != "" {
			t.Errorf("committed %s", got)
		}
		if s := log.String(); !strings.Contains(s, "offsets are not committed while the query holds rows in its state") {
			t.Errorf("warnings: %s", s)
		}
		got = collect(t, db, fmt.Sprintf(windows, "e_ended"))
		if err := got.job.Wait(ctx); err != nil || got.rows.String() != "2024-05-01 10:00:00.000 2 2024-05-01 10:00:10.000 1 " {
			t.Errorf("%v: %s", err, got.rows.String())
		}
		if got := b.committed(group, events); got != "0:3" {
			t.Errorf("committed %s", got)
		}
	})
}

// TestKafkaStopAnywhere: a job that is stopped in the middle of what it has read is continued by the next run with no row left out, and none twice.
func TestKafkaStopAnywhere(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *kafkaBroker) {
		const rows = 20_000
		topic := b.topic("in", 2)
		ctx := context.Background()
		var recs []*kgo.Record
		for i := range rows {
			recs = append(recs, &kgo.Record{Topic: topic, Partition: int32(i % 2), Value: fmt.Appendf(nil, "%05d", i)})
		}
		if err := b.cl.ProduceSync(ctx, recs...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		var log lockedBuffer
		db := session(t, &log)
		if err := db.Exec(ctx, "SET 'weir.batch-size' = '64';"+table("t", "v STRING", b.seeds, "connector=kafka", "topic="+topic, "format=raw", "properties.group.id="+b.name,
			"properties.auto.offset.reset=earliest")); err != nil {
			t.Fatal(err)
		}
		var all []string
		for run := 0; len(all) < rows; run++ {
			// The rows are held up in the middle, until the job is being stopped.
			reached, goOn := make(chan struct{}), make(chan struct{})
			want := min(1+1500*run, rows-len(all))
			var got []string
			res, err := db.ExecuteWith(ctx, "SELECT v FROM t", weir.ExecOptions{Background: true, OnBatch: func(_ weir.Schema, batch weir.Batch) error {
				before := len(got)
				for i := range batch.Len() {
					got = append(got, strings.Clone(batch.Record.Column(0).ValueStr(batch.Row(i))))
				}
				if before < want && len(got) >= want {
					close(reached)
					<-goOn
				}
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			<-reached
			stopped := make(chan error, 1)
			go func() {
				snap, err := res.Job.Stop(ctx)
				if err == nil {
					snap.Release()
				}
				stopped <- err
			}()
			runtime.Gosched()
			close(goOn)
			if err := <-stopped; err != nil {
				t.Fatal(err)
			}
			all = append(all, got...)
		}
		slices.Sort(all)
		if n := len(slices.Compact(all)); n != rows || len(all) != rows {
			t.Errorf("%d rows, %d of them different; want %d", len(all), n, rows)
		}
		if s := log.String(); s != "" {
			t.Errorf("warnings: %s", s)
		}
	})
}

// TestKafkaAutoCommit: with 'properties.enable.auto.commit' offsets are committed while the job runs, behind the sink; what is committed is never ahead of
// what came out.
func TestKafkaAutoCommit(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *kafkaBroker) {
		in, out := b.topic("in", 1), b.topic("out", 1)
		group := b.name + "-g"
		var log lockedBuffer
		db := session(t, &log)
		ctx := context.Background()
		script := table("t", "v STRING", b.seeds, "connector=kafka", "topic="+in, "format=raw", "properties.group.id="+group, "properties.auto.offset.reset=earliest",
			"properties.enable.auto.commit=true", "properties.auto.commit.interval.ms=100") +
			table("o", "v STRING", b.seeds, "connector=kafka", "topic="+out, "format=raw")
		if err := db.Exec(ctx, script); err != nil {
			t.Fatal(err)
		}
		job, err := db.Start(ctx, "INSERT INTO o SELECT v FROM t")
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			b.put(in, 0, fmt.Sprint("x", i))
			want := fmt.Sprintf("0:%d", i+1)
			wait(t, func() bool { return b.committed(group, in) == want })
			ends, err := b.adm.ListEndOffsets(ctx, out)
			if err != nil {
				t.Fatal(err)
			}
			if end, _ := ends.Lookup(out, 0); end.Offset < int64(i+1) {
				t.Errorf("%d offsets are committed, %d rows were written", i+1, end.Offset)
			}
		}
		// Killed, it goes on behind what was committed.
		if err := job.Cancel(); err != nil {
			t.Fatal(err)
		}
		b.put(in, 0, "x5")
		got := collect(t, db, "SELECT v FROM t")
		wait(t, func() bool { return got.sorted() == "x5" })
		if err := got.job.Cancel(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestKafkaSameGroup: partitions are not shared with other consumers of the group, whose coming and going (rebalances) do not disturb; but offsets cannot be
// committed beside them, which is said.
func TestKafkaSameGroup(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *kafkaBroker) {
		topic := b.topic("in", 2)
		group := b.name + "-g"
		var log lockedBuffer
		db := session(t, &log)
		ctx := context.Background()
		if err := db.Exec(ctx, table("t", "v STRING", b.seeds, "connector=kafka", "topic="+topic, "format=raw", "properties.group.id="+group, "scan.startup.mode=earliest-offset")); err != nil {
			t.Fatal(err)
		}
		got := collect(t, db, "SELECT v FROM t")
		b.put(topic, 0, "a0")
		wait(t, func() bool { return got.sorted() == "a0" })
		join := func() *kgo.Client {
			cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(b.seeds, ",")...), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(), kgo.DisableClientMetrics(),
				kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
			if err != nil {
				t.Fatal(err)
			}
			polling, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			for n := 0; n == 0; { // what has no records is a fetch that is made again
				f := cl.PollFetches(polling)
				if n = f.NumRecords(); polling.Err() != nil {
					t.Fatal(f.Err())
				}
			}
			return cl
		}
		first := join()
		b.put(topic, 0, "a1")
		b.put(topic, 1, "b0")
		wait(t, func() bool { return got.sorted() == "a0 a1 b0" })
		second := join() // a rebalance
		b.put(topic, 0, "a2")
		b.put(topic, 1, "b1")
		wait(t, func() bool { return got.sorted() == "a0 a1 a2 b0 b1" })
		second.Close()
		b.put(topic, 1, "b2")
		wait(t, func() bool { return got.sorted() == "a0 a1 a2 b0 b1 b2" })
		snap, err := got.job.Stop(ctx)
		if err != nil {
			t.Fatal(err)
		}
		snap.Release()
		if s := log.String(); !strings.Contains(s, "the group has consumers of its own") {
			t.Errorf("warnings: %s", s)
		}
		if got := b.committed(group, topic); got != "" {
			t.Errorf("committed %s", got)
		}
		first.Close()
	})
}

// visible reads what readers of committed records see in a topic up to its last stable offset, or all that is there.
func (b *kafkaBroker) visible(topic string, committed bool) string {
	b.t.Helper()
	opts := []kgo.Opt{kgo.SeedBrokers(strings.Split(b.seeds, ",")...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableClientMetrics(),
		kgo.KeepControlRecords(), kgo.FetchMaxWait(100 * time.Millisecond)}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	list := b.adm.ListEndOffsets
	if committed {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
		list = b.adm.ListCommittedOffsets
	}
	ends, err := list(ctx, topic)
	if err != nil {
		b.t.Fatal(err)
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		b.t.Fatal(err)
	}
	defer cl.Close()
	defer cl.PurgeTopicsFromClient(topic) // otherwise it may begin to fetch while it closes, as in the connector's Close
	left := map[int32]bool{}
	for _, o := range ends[topic] {
		if o.Offset > 0 {
			left[o.Partition] = true
		}
	}
	var out []string
	for len(left) > 0 {
		f := cl.PollFetches(ctx)
		if err := f.Err(); err != nil {
			b.t.Fatal(err)
		}
		f.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				out = append(out, string(r.Value))
			}
			if o, _ := ends.Lookup(topic, r.Partition); r.Offset+1 >= o.Offset {
				delete(left, r.Partition)
			}
		})
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// sees waits until readers of committed records see what is wanted: a broker marks a transaction as committed a moment after it has said that it is.
func (b *kafkaBroker) sees(topic, want string) {
	b.t.Helper()
	var got string
	for range 200 {
		if got = b.visible(topic, true); got == want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.t.Errorf("seen: %s, want %s", got, want)
}

// TestKafkaExactlyOnce: the rows of a bounded INSERT are seen all together, at its end; of one that fails, is cancelled or was killed none is, and nobody who
// reads committed records waits for its transaction.
func TestKafkaExactlyOnce(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *kafkaBroker) {
		in, out := b.topic("in", 2), b.topic("out", 2)
		var log lockedBuffer
		db := session(t, &log)
		ctx := context.Background()
		b.put(in, 0, `{"v":1}`, `{"v":2}`)
		b.put(in, 1, `{"v":3}`)
		exactly := []string{"connector=kafka", "topic=" + out, "format=raw", "sink.delivery-guarantee=exactly-once", "sink.transactional-id-prefix=" + b.name}
		source := []string{"connector=kafka", "topic=" + in, "format=json", "scan.startup.mode=earliest-offset"}
		script := table("t", "v INT", b.seeds, append([]string{"scan.bounded.mode=latest-offset"}, source...)...) + table("live", "v INT", b.seeds, source...) +
			table("o", "v STRING", b.seeds, exactly...)
		if err := db.Exec(ctx, script); err != nil {
			t.Fatal(err)
		}
		if err := db.Exec(ctx, "INSERT INTO o SELECT CAST(v AS STRING) FROM t"); err != nil {
			t.Fatal(err)
		}
		b.sees(out, "1 2 3")
		// Two writers of one statement have transactions of their own.
		if err := db.Exec(ctx, "EXECUTE STATEMENT SET BEGIN INSERT INTO o SELECT 'a' FROM t WHERE v = 1; INSERT INTO o SELECT 'b' FROM t WHERE v = 2; END"); err != nil {
			t.Fatal(err)
		}
		b.sees(out, "1 2 3 a b")
		// It fails behind rows that were written.
		b.put(in, 0, `{"v":0}`)
		if err := db.Exec(ctx, "SET 'weir.batch-size' = '1'; INSERT INTO o SELECT CAST(6 / v AS STRING) FROM t"); err == nil || !strings.Contains(err.Error(), "zero") {
			t.Errorf("%v", err)
		}
		// Whoever was killed in the middle leaves a transaction open, which holds readers up; the next run ends it.
		left, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(b.seeds, ",")...), kgo.TransactionalID(transactionOf(t, b)), kgo.DefaultProduceTopic(out),
			kgo.TransactionTimeout(10*time.Minute), kgo.DisableClientMetrics())
		if err != nil {
			t.Fatal(err)
		}
		defer left.Close()
		if err := left.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := left.ProduceSync(ctx, &kgo.Record{Value: []byte("half")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := db.Exec(ctx, "INSERT INTO o SELECT CAST(v * 10 AS STRING) FROM t WHERE v > 1"); err != nil {
			t.Fatal(err)
		}
		b.sees(out, "1 2 20 3 30 a b")
		if got := b.visible(out, false); !strings.Contains(got, "half") {
			t.Errorf("all: %s", got)
		}
		// An endless one is refused, before it writes anything.
		_, err = db.Start(ctx, "INSERT INTO o SELECT CAST(v AS STRING) FROM live")
		if err == nil || !strings.Contains(err.Error(), "commits once, at the end, and this INSERT has none") || !strings.Contains(err.Error(), "'scan.bounded.mode'") {
			t.Errorf("%v", err)
		}
		if s := log.String(); s != "" {
			t.Errorf("warnings: %s", s)
		}
	})
}

// transactionOf is the name of the transaction that an INSERT into the table of TestKafkaExactlyOnce used last.
func transactionOf(t *testing.T, b *kafkaBroker) string {
	t.Helper()
	list, err := b.adm.ListTransactions(context.Background(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, id := range list.TransactionalIDs() {
		if strings.HasPrefix(id, b.name) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	if len(ids) == 0 {
		t.Fatal("no transactions are known")
	}
	return ids[0]
}

// TestKafkaNulls: KF-04. A null value is no row of an append-only table: it is counted, passes no filter, and does not hold up what comes behind it.
func TestKafkaNulls(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *kafkaBroker) {
		topic := b.topic("in", 1)
		ctx := context.Background()
		b.put(topic, 0, `{"v":1}`)
		if err := b.cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Key: []byte("k")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		b.put(topic, 0, `{"v":2}`, `{"v":null}`)
		var log lockedBuffer
		db := session(t, &log)
		if err := db.Exec(ctx, table("t", "v INT, off BIGINT METADATA FROM 'offset' VIRTUAL", b.seeds, "connector=kafka", "topic="+topic, "format=json", "scan.startup.mode=earliest-offset",
			"scan.bounded.mode=latest-offset")); err != nil {
			t.Fatal(err)
		}
		for q, want := range map[string]string{
			"SELECT v, off FROM t":               "(null) 0 1 2 2 3",
			"SELECT off FROM t WHERE v IS NULL":  "3",
			"SELECT off FROM t WHERE v > 0":      "0 2",
			"SELECT off FROM t WHERE v + 1 <> 7": "0 2",
		} {
			got := collect(t, db, q)
			if err := got.job.Wait(ctx); err != nil || got.sorted() != want {
				t.Errorf("%s: %v: %s, want %s", q, err, got.sorted(), want)
			}
			n := int64(0)
			for _, s := range got.job.Stats().Tables {
				n += s.Counters["null_messages"]
			}
			if n != 1 {
				t.Errorf("%s: %d null messages were counted", q, n)
			}
		}
	})
}
