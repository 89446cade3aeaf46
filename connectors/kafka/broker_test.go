package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/connectors/format/csv"
	"github.com/weir-sql/weir/connectors/format/json"
	"github.com/weir-sql/weir/connectors/format/raw"
	"github.com/weir-sql/weir/types"
)

// broker is what a test talks to.
type broker struct {
	seeds string
	// of WEIR_KAFKA; empty for kfake
	given   map[string]string
	cluster *kfake.Cluster
	client  *kgo.Client
	adm     *kadm.Client
}

// eachBroker runs a test against kfake, and against the broker that WEIR_KAFKA names.
func eachBroker(t *testing.T, f func(t *testing.T, b *broker), opts ...kfake.Opt) {
	t.Run("kfake", func(t *testing.T) { f(t, fake(t, opts...)) })
	t.Run("kafka", func(t *testing.T) { f(t, apache(t)) })
}

func fake(t testing.TB, opts ...kfake.Opt) *broker {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	b := &broker{seeds: strings.Join(c.ListenAddrs(), ","), cluster: c}
	b.connect(t)
	return b
}

func apache(t testing.TB) *broker {
	t.Helper()
	v := os.Getenv("WEIR_KAFKA")
	if v == "" {
		t.Skip("no Apache Kafka: WEIR_KAFKA is not set; `.ci/kafka run go test ./connectors/kafka` starts one")
	}
	b := &broker{given: map[string]string{}}
	for _, f := range strings.Fields(v) {
		k, x, _ := strings.Cut(f, "=")
		b.given[k] = x
	}
	b.seeds = b.given["bootstrap"]
	b.connect(t)
	return b
}

func (b *broker) connect(t testing.TB) {
	t.Helper()
	var err error
	b.client, err = kgo.NewClient(kgo.SeedBrokers(strings.Split(b.seeds, ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.ProducerBatchMaxBytes(20<<20), kgo.DisableClientMetrics(), kgo.MetadataMinAge(10*time.Millisecond), kgo.UnknownTopicRetries(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.client.Close)
	b.adm = kadm.NewClient(b.client)
}

var topicNumber atomic.Int64

// topic makes a topic with a name of its own.
func (b *broker) topic(t testing.TB, partitions int, config ...string) string {
	t.Helper()
	name := fmt.Sprintf("t%d-%d", time.Now().UnixNano(), topicNumber.Add(1))
	b.create(t, name, partitions, config...)
	return name
}

func (b *broker) create(t testing.TB, name string, partitions int, config ...string) {
	t.Helper()
	c := map[string]*string{}
	for _, kv := range config {
		k, v, _ := strings.Cut(kv, "=")
		c[k] = kadm.StringPtr(v)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if _, err := b.adm.CreateTopic(ctx, int32(partitions), 1, c, name); err != nil {
		t.Fatal(err)
	}
	if b.cluster == nil {
		t.Cleanup(func() { _, _ = b.adm.DeleteTopics(context.Background(), name) })
	}
}

// put writes values to a partition, one by one so that each is a batch.
func (b *broker) put(t testing.TB, topic string, partition int32, values ...string) {
	t.Helper()
	var recs []*kgo.Record
	for _, v := range values {
		recs = append(recs, &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)})
	}
	b.records(t, recs...)
}

func (b *broker) records(t testing.TB, recs ...*kgo.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := b.client.ProduceSync(ctx, recs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// all reads a topic by a plain client: each record's text as key=value, <nil> for null.
func (b *broker) all(t testing.TB, topic string, n int) []*kgo.Record {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(b.seeds, ",")...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	defer cl.PurgeTopicsFromClient(topic) // otherwise it may begin to fetch while it closes, as in the connector's Close
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var out []*kgo.Record
	for len(out) < n {
		f := cl.PollFetches(ctx)
		if err := f.Err(); err != nil {
			t.Fatalf("%v after %d records", err, len(out))
		}
		out = append(out, f.Records()...)
	}
	return out
}

func formats(name string) (connectors.Format, error) {
	for _, f := range []connectors.Format{json.Format{}, csv.Format{}, raw.Format{}} {
		if f.Name() == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("unknown format '%s'", name)
}

var clicks = types.Schema{{Name: "k", Type: types.StringType}, {Name: "v", Type: types.BigIntType}}

// declare makes a declaration over a topic; options are "name=value".
func (b *broker) declare(topic string, schema types.Schema, options ...string) connectors.Declaration {
	o := map[string]string{"connector": "kafka", "topic": topic, "properties.bootstrap.servers": b.seeds, "format": "json", "scan.startup.mode": "earliest-offset",
		"scan.bounded.mode": "latest-offset"}
	for _, kv := range options {
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			delete(o, k)
			continue
		}
		o[k] = v
	}
	return connectors.Declaration{Name: "clicks", ID: 1, Columns: schema, Options: o, Formats: formats, Zone: time.UTC}
}

func (b *broker) table(t testing.TB, topic string, schema types.Schema, options ...string) connectors.Table {
	t.Helper()
	tb, err := Connector{}.Table(context.Background(), b.declare(topic, schema, options...))
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

// scanner reads a table as the engine does: it asks readers, waits for them, lists again when the source says so.
type scanner struct {
	t       testing.TB
	env     *conntest.Env
	src     connectors.Source
	schema  types.Schema
	splits  []connectors.Split
	readers map[string]connectors.Reader
	pos     map[string]connectors.Position
	rows    []string
	bad     []connectors.BadRecord
	ended   map[string]bool
	held    map[string]bool // paused, as by alignment: not asked
}

// open starts a scan; at has the positions that it is restored from.
func open(t testing.TB, env *conntest.Env, table connectors.Table, scan connectors.Scan, at *scanner) (*scanner, error) {
	t.Helper()
	src, err := table.(connectors.SourceTable).Source(scan)
	if err != nil {
		return nil, err
	}
	s := &scanner{t: t, env: env, src: src, schema: conntest.ScanSchema(table, scan), readers: map[string]connectors.Reader{}, pos: map[string]connectors.Position{}, ended: map[string]bool{}}
	if at != nil {
		src.(connectors.RestoredSource).Restored(at.splits)
		s.splits = append(s.splits, at.splits...)
		maps.Copy(s.pos, at.pos)
	}
	if err := s.list(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func mustOpen(t testing.TB, env *conntest.Env, table connectors.Table, at *scanner) *scanner {
	t.Helper()
	s, err := open(t, env, table, conntest.All(table), at)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *scanner) list() error {
	found, err := s.src.Splits(context.Background(), s.env.Env)
	if err != nil {
		return err
	}
	for _, sp := range found {
		known := false
		for _, o := range s.splits {
			known = known || o.ID == sp.ID
		}
		if !known {
			s.splits = append(s.splits, sp)
			s.pos[sp.ID] = sp.Start
		}
	}
	return nil
}

// step reads what there is now; it reports whether all splits have ended.
func (s *scanner) step() (bool, error) {
	ctx := context.Background()
	select {
	case <-s.src.Changed():
		if err := s.list(); err != nil {
			return false, err
		}
	default:
	}
	ended := true
	for _, sp := range s.splits {
		if s.ended[sp.ID] {
			continue
		}
		if s.held[sp.ID] {
			ended = false
			continue
		}
		r := s.readers[sp.ID]
		if r == nil {
			var err error
			if r, err = s.src.Open(ctx, s.env.Env, sp, s.pos[sp.ID], 1<<20); err != nil {
				return false, err
			}
			s.readers[sp.ID] = r
		}
		for {
			b, err := r.Next(ctx)
			if errors.Is(err, connectors.EOF) {
				s.ended[sp.ID] = true
				break
			}
			if errors.Is(err, connectors.ErrNotReady) {
				ended = false
				break
			}
			if err != nil {
				return false, err
			}
			if b.Decode != nil {
				d, err := b.Decode(ctx, s.env.Allocator)
				if err != nil {
					return false, err
				}
				s.rows = append(s.rows, conntest.Rows(d.Batch, s.schema)...)
				s.bad = append(s.bad, d.Bad...)
				d.Batch.Release()
			}
			s.pos[sp.ID] = b.Position
		}
	}
	return ended, nil
}

// until reads until the condition holds.
func (s *scanner) until(what string, cond func() bool) {
	s.t.Helper()
	if err := s.tryUntil(what, cond); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scanner) tryUntil(what string, cond func() bool) error {
	s.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		ended, err := s.step()
		if err != nil {
			return err
		}
		if cond() {
			return nil
		}
		if ended && s.src.Changed() == nil {
			return fmt.Errorf("the scan ended before: %s; rows %q", what, s.rows)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("it takes too long: %s; rows %q", what, s.rows)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// rowsAre reads until there are as many rows as wanted, and compares them.
func (s *scanner) rowsAre(want ...string) {
	s.t.Helper()
	s.until(fmt.Sprintf("%d rows", len(want)), func() bool { return len(s.rows) >= len(want) })
	conntest.Equal(s.t, s.rows, want)
}

// end reads a bounded scan to its end.
func (s *scanner) end() ([]string, error) {
	s.t.Helper()
	defer s.close()
	deadline := time.Now().Add(30 * time.Second)
	for {
		ended, err := s.step()
		if err != nil || ended {
			return s.rows, err
		}
		if time.Now().After(deadline) {
			return s.rows, fmt.Errorf("the scan does not end; %d rows", len(s.rows))
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (s *scanner) close() {
	for _, r := range s.readers {
		_ = r.Close()
	}
	_ = s.src.Close()
}

// read reads a bounded table.
func read(t testing.TB, env *conntest.Env, table connectors.Table) []string {
	t.Helper()
	rows, err := mustOpen(t, env, table, nil).end()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
