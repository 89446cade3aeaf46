package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-sql/weir/connectors"
)

// defaultTransactionTimeout is what a broker allows at most unless it is told otherwise (transaction.max.timeout.ms).
const defaultTransactionTimeout = 15 * time.Minute

// transaction is an epoch of an exactly-once sink: a client of its own, so that the next epoch can be written while this one waits for its commit.
type transaction struct {
	id     string
	client *kgo.Client
	topics map[string]bool // that it has written to; mu of the sink guards it
}

// checkExactly validates the options of an exactly-once sink.
func (t *table) checkExactly() error {
	if t.guarantee != "exactly-once" {
		return nil
	}
	switch acks := t.props["acks"]; {
	case t.opts["sink.transactional-id-prefix"] == "":
		return errors.New("option 'sink.delivery-guarantee' = 'exactly-once' needs 'sink.transactional-id-prefix': a name that no other writer uses at the same time")
	case acks != "" && acks != "all" && acks != "-1", strings.EqualFold(t.props["enable.idempotence"], "false"):
		return errors.New("option 'sink.delivery-guarantee' = 'exactly-once' needs 'properties.acks' = 'all' and 'properties.enable.idempotence' = 'true', which are the defaults: remove them")
	}
	return nil
}

// CheckWrite refuses what cannot be exactly once.
func (t *table) CheckWrite(w connectors.Write) error {
	if t.guarantee == "exactly-once" && w.Unbounded {
		return fmt.Errorf("table %s: 'sink.delivery-guarantee' = 'exactly-once' commits once, at the end, and this INSERT has none: rows would never be seen. "+
			"Give its input an end ('scan.bounded.mode' = 'latest-offset' with 'scan.startup.mode' = 'group-offsets' reads on from run to run), or use 'at-least-once'", t.decl.Name)
	}
	return nil
}

// begin begins a transaction under the next name. A transaction of that name that an earlier run left open is aborted by that.
func (s *sink) begin(ctx context.Context) error {
	id := fmt.Sprintf("%s-%s-%d-%d", s.t.opts["sink.transactional-id-prefix"], s.env.ID, s.env.Partition, s.begun)
	s.begun++
	opts, err := s.t.producerOptions(s.key != nil, s.env)
	if err != nil {
		return err
	}
	timeout := s.t.props.millis("transaction.timeout.ms", defaultTransactionTimeout)
	client, err := s.t.props.client(s.env, "weir", append(opts, kgo.TransactionalID(id), kgo.TransactionTimeout(timeout))...)
	if err != nil {
		return fmt.Errorf("table %s: %w", s.t.decl.Name, err)
	}
	s.client, s.txn = client, &transaction{id: id, client: client, topics: map[string]bool{}}
	if s.begun == 1 {
		if err := s.t.props.ping(ctx, client); err != nil {
			return fmt.Errorf("table %s: %w", s.t.decl.Name, err)
		}
	}
	limited, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	if _, _, err := client.ProducerID(limited); err != nil {
		return s.transactionError("cannot begin", err)
	}
	if err := client.BeginTransaction(); err != nil {
		return s.transactionError("cannot begin", err)
	}
	return nil
}

func (s *sink) transactionError(what string, err error) error {
	prefix := s.t.opts["sink.transactional-id-prefix"]
	switch {
	case errors.Is(err, kerr.InvalidProducerEpoch), errors.Is(err, kerr.ProducerFenced), errors.Is(err, kerr.InvalidTxnState), errors.Is(err, kerr.InvalidProducerIDMapping):
		err = fmt.Errorf("another writer has begun with the same 'sink.transactional-id-prefix' = '%s', or it took longer than 'properties.transaction.timeout.ms' "+
			"(%v) and the broker has aborted it (%w)", prefix, s.t.props.millis("transaction.timeout.ms", defaultTransactionTimeout), err)
	case errors.Is(err, kerr.InvalidTransactionTimeout):
		err = fmt.Errorf("the broker does not allow 'properties.transaction.timeout.ms' = %d: its limit is transaction.max.timeout.ms (%w)",
			s.t.props.millis("transaction.timeout.ms", defaultTransactionTimeout).Milliseconds(), err)
	case errors.Is(err, kerr.TransactionalIDAuthorizationFailed):
		err = fmt.Errorf("this login may not use the 'sink.transactional-id-prefix' = '%s' (%w)", prefix, err)
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no broker has answered for %v ('properties.delivery.timeout.ms') (%w)", s.patience, err)
	default:
		err = explain(s.t.props, err)
	}
	return fmt.Errorf("table %s: a transaction %s: %w", s.t.decl.Name, what, err)
}

const receiptVersion = 1

// prepareTransaction ends what is written to the transaction; its receipt is its name.
func (s *sink) prepareTransaction(ctx context.Context) ([]byte, error) {
	if s.txn == nil {
		return nil, nil // nothing was written since
	}
	if err := s.flush(ctx); err != nil {
		return nil, err
	}
	if err := s.failed(); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	if err := settle(limited, s.txn.client, s.txn.topics); err != nil {
		return nil, s.transactionError("cannot go on", err)
	}
	s.prepared = append(s.prepared, s.txn)
	receipt := append([]byte{receiptVersion}, s.txn.id...)
	s.client, s.txn = nil, nil
	return receipt, nil
}

// settle waits until a client knows the topics that it has written to. A client sends the first records of a topic a moment before it lists its partitions;
// a transaction that is ended in between has written nothing in its eyes: it would be aborted, and said to be committed (franz-go 1.22).
func settle(ctx context.Context, client *kgo.Client, topics map[string]bool) error {
	for topic := range topics {
		for {
			if leader, _, err := client.PartitionLeader(topic, 0); leader >= 0 || err != nil {
				break
			}
			t := time.NewTimer(time.Millisecond)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return ctx.Err()
			}
		}
	}
	return nil
}

// commitTransaction makes an epoch's rows visible. One that was committed before is fine.
func (s *sink) commitTransaction(ctx context.Context, receipt []byte) error {
	if len(receipt) < 2 || receipt[0] != receiptVersion {
		return fmt.Errorf("table %s: the receipt is not one of connector 'kafka'", s.t.decl.Name)
	}
	id := string(receipt[1:])
	for i, x := range s.prepared {
		if x.id != id {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, s.patience)
		err := x.client.EndTransaction(limited, kgo.TryCommit)
		cancel()
		if err != nil {
			return s.transactionError("could not be committed (whether its rows are seen is for the broker to say)", err)
		}
		x.client.Close()
		s.prepared = append(s.prepared[:i:i], s.prepared[i+1:]...)
		s.committed[id] = true
		return nil
	}
	if !s.committed[id] {
		return fmt.Errorf("table %s: the transaction '%s' is not one of this writer: it cannot be committed any more", s.t.decl.Name, id)
	}
	return nil
}

// abort ends what was not committed: nobody who reads committed records sees any of it.
func (s *sink) abort() {
	all := s.prepared
	if s.txn != nil {
		all = append(all, s.txn)
	}
	for _, x := range all {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err := x.client.AbortBufferedRecords(ctx)
		if err == nil {
			err = x.client.EndTransaction(ctx, kgo.TryAbort)
		}
		cancel()
		if err != nil {
			s.env.Log.Warn("a transaction could not be aborted; the broker does at its timeout, and readers of committed records wait until then", "table", s.t.decl.Name,
				"transaction", x.id, "error", err)
		}
		x.client.Close()
	}
	s.prepared, s.txn, s.client = nil, nil, nil
}
