package kafka

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-sql/weir/connectors/conntest"
)

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
