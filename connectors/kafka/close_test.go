package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-sql/weir/connectors/conntest"
)

// TestCloseFetchesNothing: a scan ends while its client asks for the metadata of a partition that was opened just before. The answer comes when the client is
// closing: then it must not begin to fetch.
func TestCloseFetchesNothing(t *testing.T) {
	b := fake(t, kfake.NumBrokers(2))
	topic := b.topic(t, 2)
	for p := range int32(2) { // the two have connections of their own
		if err := b.cluster.MoveTopicPartition(topic, p, p); err != nil {
			t.Fatal(err)
		}
		b.put(t, topic, p, click("a", int(p)))
	}
	table := b.table(t, topic, clicks, "scan.bounded.mode")
	env := conntest.NewEnv(t)
	s, err := open(t, env, table, conntest.All(table), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.ended[fmt.Sprintf("%s-1", topic)] = true // not now
	s.until("partition 0", func() bool { return len(s.rows) == 1 })

	asked, closing, fetched := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var once [3]sync.Once
	var late atomic.Bool
	b.cluster.ControlKey(kmsg.Metadata.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		b.cluster.KeepControl()
		once[0].Do(func() { close(asked) })
		b.cluster.SleepControl(func() { <-closing })
		return nil, nil, false
	})
	b.cluster.ControlKey(kmsg.Fetch.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.cluster.KeepControl()
		switch r := req.(*kmsg.FetchRequest); {
		case r.SessionEpoch == -1: // the client closes
			once[1].Do(func() { close(closing) })
			b.cluster.SleepControl(func() { <-fetched }) // it waits a second
		case len(r.Topics) > 0 && r.Topics[0].Partitions[0].Partition == 1: // one of partition 0 waits for records
			select {
			case <-closing:
				late.Store(true)
				once[2].Do(func() { close(fetched) })
			default:
			}
		}
		return nil, nil, false
	})
	for _, sp := range s.splits {
		if s.readers[sp.ID] != nil {
			continue
		}
		if s.readers[sp.ID], err = s.src.Open(context.Background(), env.Env, sp, nil, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	<-asked
	if err := s.src.Close(); err != nil { // the readers are open
		t.Error(err)
	}
	once[1].Do(func() { close(closing); t.Log("the client has not said that it closes: this run shows nothing") })
	once[2].Do(func() { close(fetched) })
	s.close()
	if late.Load() {
		t.Error("the client has begun to fetch while it closes")
	}
}

// TestClosedClientIsNoTrouble: requests that have to be made again since another has ended their connection are no trouble, and requests that are under way when a client is closed fail in one way or another. That is no failure of a broker.
func TestClosedClientIsNoTrouble(t *testing.T) {
	env := conntest.NewEnv(t)
	log := &brokerLog{env: env.Env}
	cl, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"), kgo.WithHooks(log))
	if err != nil {
		t.Fatal(err)
	}
	died := kgo.BrokerE2E{ReadErr: errors.New("the broker connection has died")}
	log.OnBrokerE2E(kgo.BrokerMetadata{Host: "b", Port: 1}, 1, died)
	log.OnBrokerE2E(kgo.BrokerMetadata{Host: "b", Port: 1}, 1, kgo.BrokerE2E{ReadErr: errors.New("the broker connection has died and the request will be retried on a new connection")})
	if n := env.Counter("broker_errors"); n != 1 {
		t.Errorf("%d, want 1", n)
	}
	before := env.Counter("broker_errors")
	cl.Close()
	log.OnBrokerE2E(kgo.BrokerMetadata{Host: "b", Port: 1}, 1, died)
	if n := env.Counter("broker_errors"); before == 0 || n != before {
		t.Errorf("%d before, %d behind", before, n)
	}
}
