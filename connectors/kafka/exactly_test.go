package kafka

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
)

// TestExactlyOnce: each epoch is seen from its commit on, once; what was not committed is never seen, and holds up nobody who reads behind it.
func TestExactlyOnce(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		env := conntest.NewEnv(t)
		topic := b.topic(t, 1)
		table := b.table(t, topic, clicks, "sink.delivery-guarantee=exactly-once", "sink.transactional-id-prefix="+topic)
		ctx := context.Background()
		open := func(e *conntest.Env) connectors.Sink {
			t.Helper()
			s, err := table.(connectors.SinkTable).Sink(connectors.Write{})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Open(ctx, e.Env, nil); err != nil {
				t.Fatal(err)
			}
			return s
		}
		put := func(s connectors.Sink, k string) {
			t.Helper()
			if err := s.Write(ctx, conntest.Batch(t, env, clicks, nil, []any{k, int64(1)})); err != nil {
				t.Fatal(err)
			}
		}
		prepare := func(s connectors.Sink, epoch int64) []byte {
			t.Helper()
			r, err := s.Prepare(ctx, epoch)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		commit := func(s connectors.Sink, receipt []byte) {
			t.Helper()
			if err := s.Commit(ctx, receipt); err != nil {
				t.Fatal(err)
			}
		}
		// A transaction is marked a moment after its commit or abort was taken.
		sees := func(want ...string) {
			t.Helper()
			b.retry(t, func() error {
				if got := read(t, env, table); strings.Join(got, " ") != strings.Join(want, " ") {
					return &connectors.BadRecord{Err: strings.Join(got, " ") + " is seen"}
				}
				return nil
			})
		}
		s := open(env)
		if s.(connectors.ImmediateSink).Immediate() {
			t.Error("rows of an exactly-once sink are not seen at once")
		}
		if r := prepare(s, 1); r != nil {
			commit(s, r) // nothing was written
		}
		put(s, "a")
		first := prepare(s, 2)
		put(s, "b") // of the next epoch, while the first waits
		sees()
		commit(s, first)
		sees("a|1")
		commit(s, first)
		second := prepare(s, 3)
		commit(s, second)
		sees("a|1", "b|1")
		put(s, "dropped")
		_ = prepare(s, 4)
		put(s, "dropped, too")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		b.put(t, topic, 0, click("plain", 1))
		sees("a|1", "b|1", "plain|1")
		// Another writer of the same name takes over: the old one cannot commit.
		s = open(env)
		put(s, "old")
		old := prepare(s, 1)
		next := open(env)
		put(next, "new")
		if err := s.Commit(ctx, old); err == nil || !strings.Contains(err.Error(), "another writer has begun with the same 'sink.transactional-id-prefix'") {
			t.Errorf("%v", err)
		}
		commit(next, prepare(next, 1))
		for _, s := range []connectors.Sink{s, next} {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		sees("a|1", "b|1", "plain|1", "new|1")
		// Other copies of the sink have names of their own.
		other := conntest.NewEnv(t)
		other.Partition = 1
		s, next = open(env), open(other)
		put(s, "one")
		one := prepare(s, 1) // sent: it lies before the other's
		put(next, "two")
		two := prepare(next, 1)
		commit(s, one)
		commit(next, two)
		for _, s := range []connectors.Sink{s, next} {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		sees("a|1", "b|1", "plain|1", "new|1", "one|1", "two|1")
		// What a snapshot of an earlier run holds cannot be continued.
		s, err := table.(connectors.SinkTable).Sink(connectors.Write{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Open(ctx, env.Env, [][]byte{old}); err == nil || !strings.Contains(err.Error(), "start without it") {
			t.Errorf("%v", err)
		}
		_ = s.Close()
		if _, err := table.(connectors.SinkTable).Sink(connectors.Write{Unbounded: true}); err == nil || !strings.Contains(err.Error(), "has none") {
			t.Errorf("%v", err)
		}
	})
}

// TestTransactionTimeout: a transaction that lasts longer than it may is aborted by the broker, and the writer fails.
func TestTransactionTimeout(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		env := conntest.NewEnv(t)
		topic := b.topic(t, 1)
		sink := func(timeout string) connectors.Sink {
			t.Helper()
			s, err := b.table(t, topic, clicks, "sink.delivery-guarantee=exactly-once", "sink.transactional-id-prefix="+topic, "properties.transaction.timeout.ms="+timeout).(connectors.SinkTable).
				Sink(connectors.Write{})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		ctx := context.Background()
		s := sink("100")
		if err := s.Open(ctx, env.Env, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Write(ctx, conntest.Batch(t, env, clicks, nil, []any{"a", int64(1)})); err != nil {
			t.Fatal(err)
		}
		receipt, err := s.Prepare(ctx, 1)
		if err == nil {
			b.retry(t, func() error { // until it is aborted
				stable, err := b.adm.ListCommittedOffsets(ctx, topic)
				if err != nil {
					return err
				}
				if o, _ := stable.Lookup(topic, 0); o.Offset < 2 { // the row and the mark
					time.Sleep(30 * time.Millisecond)
					return context.DeadlineExceeded
				}
				return nil
			})
			err = s.Commit(ctx, receipt)
		} // otherwise the row has not arrived in time: the machine is busy
		if err == nil || !strings.Contains(err.Error(), "longer than 'properties.transaction.timeout.ms' (100ms)") {
			t.Errorf("%v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got := read(t, env, b.table(t, topic, clicks)); len(got) > 0 {
			t.Errorf("rows %q", got)
		}
		s = sink("999999999")
		if err := s.Open(ctx, env.Env, nil); err == nil || !strings.Contains(err.Error(), "its limit is transaction.max.timeout.ms") {
			t.Errorf("%v", err)
		}
		_ = s.Close()
	})
}

// secondWaits is a partitioner that holds its second record up.
type secondWaits struct {
	n    int
	gate chan struct{}
}

func (p *secondWaits) ForTopic(string) kgo.TopicPartitioner { return p }
func (p *secondWaits) RequiresConsistency(*kgo.Record) bool { return true }
func (p *secondWaits) Partition(*kgo.Record, int) int {
	if p.n++; p.n == 2 {
		<-p.gate
	}
	return 0
}

// TestSettle: a record has arrived, and its client does not know the topic yet: a transaction must not be ended then.
func TestSettle(t *testing.T) {
	b := fake(t)
	topic := b.topic(t, 1)
	gate := make(chan struct{})
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.seeds), kgo.TransactionalID("x"), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(&secondWaits{gate: gate}), kgo.ProducerLinger(0),
		kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx := context.Background()
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	both := make(chan struct{}) // wait for the partitions of the topic
	b.cluster.ControlKey(kmsg.Metadata.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		b.cluster.KeepControl()
		b.cluster.SleepControl(func() { <-both })
		return nil, nil, false
	})
	arrived := make(chan error, 2)
	for i, k := range []string{"a", "b"} {
		cl.Produce(ctx, kgo.StringRecord(click(k, i)), func(_ *kgo.Record, err error) { arrived <- err })
	}
	close(both)
	if err := <-arrived; err != nil {
		t.Fatal(err)
	}
	topics := map[string]bool{topic: true}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := settle(ended, cl, topics); err == nil {
		t.Error("it did not wait")
	}
	close(gate)
	if err := <-arrived; err != nil {
		t.Fatal(err)
	}
	if err := settle(ctx, cl, topics); err != nil {
		t.Fatal(err)
	}
	if err := cl.EndTransaction(ctx, kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	conntest.Equal(t, read(t, conntest.NewEnv(t), b.table(t, topic, clicks)), []string{"a|0", "b|1"})
}
