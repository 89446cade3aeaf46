package kafka

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
)

// TestTransactions: KF-02. Aborted rows are left out, and positions go past the marks of the transactions, so that nothing lags.
func TestTransactions(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		ctx := context.Background()
		cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(b.seeds, ",")...), kgo.TransactionalID("tx-"+topic), kgo.DefaultProduceTopic(topic), kgo.DisableClientMetrics())
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		for i, commit := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit, kgo.TryAbort} {
			if err := cl.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			if err := cl.ProduceSync(ctx, kgo.StringRecord(click(string(rune('a'+i)), i))).FirstErr(); err != nil {
				t.Fatal(err)
			}
			if err := settle(ctx, cl, map[string]bool{topic: true}); err != nil {
				t.Fatal(err)
			}
			if err := cl.EndTransaction(ctx, commit); err != nil {
				t.Fatal(err)
			}
			if i == 2 {
				b.put(t, topic, 0, click("plain", 9))
			}
		}
		env := conntest.NewEnv(t)
		// A bounded scan ends, though aborted rows and marks are what stands at the end.
		conntest.Equal(t, read(t, env, b.table(t, topic, clicks)), []string{"a|0", "c|2", "plain|9"})
		conntest.Equal(t, read(t, env, b.table(t, topic, clicks, "properties.isolation.level=read_uncommitted")), []string{"a|0", "b|1", "c|2", "plain|9", "d|3"})
		ends, err := b.adm.ListEndOffsets(ctx, topic)
		if err != nil {
			t.Fatal(err)
		}
		end, _ := ends.Lookup(topic, 0)
		s := mustOpen(t, env, b.table(t, topic, clicks, "scan.bounded.mode"), nil)
		defer s.close()
		s.until("no lag", func() bool {
			at, err := decodePosition(s.pos[topic+"-0"])
			return err == nil && at.next >= end.Offset // the last mark may have been written behind the look at the end
		})
		// An open transaction holds what is behind it.
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := cl.ProduceSync(ctx, kgo.StringRecord(click("open", 5))).FirstErr(); err != nil {
			t.Fatal(err)
		}
		b.put(t, topic, 0, click("behind", 6))
		conntest.Equal(t, read(t, env, b.table(t, topic, clicks)), []string{"a|0", "c|2", "plain|9"})
		if err := cl.EndTransaction(ctx, kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
		s.rowsAre("a|0", "c|2", "plain|9", "open|5", "behind|6")
	})
}

// TestDeletedRecords: what was deleted before it was read is an error, or is counted.
func TestDeletedRecords(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		b.put(t, topic, 0, click("a", 0), click("b", 1))
		env := conntest.NewEnv(t)
		s := mustOpen(t, env, b.table(t, topic, clicks, "scan.bounded.mode"), nil)
		s.rowsAre("a|0", "b|1")
		s.close()
		b.put(t, topic, 0, click("c", 2), click("d", 3), click("e", 4))
		o := kadm.Offsets{}
		o.AddOffset(topic, 0, 4, -1)
		if _, err := b.adm.DeleteRecords(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		again := mustOpen(t, env, b.table(t, topic, clicks, "scan.bounded.mode"), s)
		defer again.close()
		err := again.tryUntil("an error", func() bool { return false })
		if err == nil || !strings.Contains(err.Error(), "the records from 2 on were deleted before they were read") {
			t.Errorf("%v", err)
		}
		on := mustOpen(t, env, b.table(t, topic, clicks, "scan.bounded.mode", "properties.auto.offset.reset=earliest"), s)
		defer on.close()
		on.rowsAre("e|4")
		if n := env.Counter("lost_offsets"); n != 2 {
			t.Errorf("%d lost offsets were counted", n)
		}
		// At the first start the beginning is what there is.
		conntest.Equal(t, read(t, env, b.table(t, topic, clicks)), []string{"e|4"})
	})
}

func TestTopicMadeAgain(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		b.put(t, topic, 0, click("a", 0))
		env := conntest.NewEnv(t)
		table := b.table(t, topic, clicks, "scan.bounded.mode")
		s := mustOpen(t, env, table, nil)
		s.rowsAre("a|0")
		ctx := context.Background()
		if _, err := b.adm.DeleteTopic(ctx, topic); err != nil {
			t.Fatal(err)
		}
		b.retry(t, func() error { _, err := b.adm.CreateTopic(ctx, 1, 1, nil, topic); return err })
		b.client.PurgeTopicsFromClient(topic)
		b.retry(t, func() error {
			return b.client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(click("new", 1))}).FirstErr()
		})
		err := s.tryUntil("an error", func() bool { return len(s.rows) > 1 })
		if err == nil || !strings.Contains(err.Error(), "was deleted") {
			t.Errorf("%v, rows %q", err, s.rows)
		}
		s.close()
		// And while the query is down.
		_, err = func() (bool, error) {
			again, err := open(t, env, table, conntest.All(table), s)
			if err != nil {
				return false, err
			}
			defer again.close()
			return again.step()
		}()
		if err == nil || !strings.Contains(err.Error(), "was deleted and made again") {
			t.Errorf("%v", err)
		}
	})
}

func TestTopicDeleted(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		b.put(t, topic, 0, click("a", 0))
		env := conntest.NewEnv(t)
		s := mustOpen(t, env, b.table(t, topic, clicks, "scan.bounded.mode"), nil)
		defer s.close()
		s.rowsAre("a|0")
		if _, err := b.adm.DeleteTopic(context.Background(), topic); err != nil {
			t.Fatal(err)
		}
		if err := s.tryUntil("an error", func() bool { return false }); err == nil || !strings.Contains(err.Error(), "was deleted while it was read") {
			t.Errorf("%v", err)
		}
	})
}

// TestRestart: the broker goes away and comes back; nothing is lost and nothing is doubled.
func TestRestart(t *testing.T) {
	check := func(t *testing.T, b *broker, topic string, restart func()) {
		b.put(t, topic, 0, click("a", 0))
		env := conntest.NewEnv(t)
		s := mustOpen(t, env, b.table(t, topic, clicks, "scan.bounded.mode"), nil)
		defer s.close()
		s.rowsAre("a|0")
		restart()
		b.retry(t, func() error {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, err := b.adm.ListTopics(ctx)
			return err
		})
		b.put(t, topic, 0, click("b", 1))
		s.rowsAre("a|0", "b|1")
	}
	t.Run("kfake", func(t *testing.T) {
		dir := t.TempDir()
		c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DataDir(dir), kfake.SeedTopics(1, "x"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { c.Close() }()
		b := &broker{seeds: c.ListenAddrs()[0], cluster: c}
		b.connect(t)
		_, port, _ := net.SplitHostPort(b.seeds)
		n, _ := strconv.Atoi(port)
		check(t, b, "x", func() {
			c.Close()
			b.retry(t, func() error {
				var err error
				again, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DataDir(dir), kfake.Ports(n))
				if err == nil {
					c = again
				}
				return err
			})
		})
	})
	t.Run("kafka", func(t *testing.T) {
		b := apache(t)
		topic := b.topic(t, 1)
		script := filepath.Join("..", "..", ".ci", "kafka")
		check(t, b, topic, func() {
			for _, args := range [][]string{{"stop", b.given["dir"], "-9"}, {"start", b.given["dir"]}} {
				cmd := exec.Command(script, args...)
				_, port, _ := net.SplitHostPort(b.seeds)
				cmd.Env = append(os.Environ(), "WEIR_KAFKA_PORT="+port)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
		})
	})
}

// TestUnreachable: nobody waits for ever for a broker that is not there.
func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	_ = l.Close()
	b := &broker{seeds: nobody}
	env := conntest.NewEnv(t)
	table := b.table(t, "x", clicks)
	_, err = open(t, env, table, connectors.Scan{}, nil)
	if err == nil || !strings.Contains(err.Error(), "no broker of 'properties.bootstrap.servers' = '"+nobody+"' can be used") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
	sink, err := table.(connectors.SinkTable).Sink(connectors.Write{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Open(context.Background(), env.Env, nil); err == nil || !strings.Contains(err.Error(), nobody) {
		t.Errorf("%v", err)
	}
	_ = sink.Close()
	// One that takes connections and never answers.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	b.seeds = silent.Addr().String()
	_, err = open(t, env, b.table(t, "x", clicks, "properties.request.timeout.ms=300"), connectors.Scan{}, nil)
	if err == nil || !strings.Contains(err.Error(), "did not answer in time") {
		t.Errorf("%v", err)
	}
}

const jaas = `org.apache.kafka.common.security.%s required username="%s" password="%s";`

func TestLogin(t *testing.T) {
	const secret = "weir-secret"
	run := func(t *testing.T, seeds, ca string, more ...string) {
		b := &broker{seeds: seeds}
		env := conntest.NewEnv(t)
		for _, c := range []struct{ mechanism, module, user, password, want string }{
			{"PLAIN", "plain.PlainLoginModule", "weir", secret, ""},
			{"SCRAM-SHA-256", "scram.ScramLoginModule", "weir", secret, ""},
			{"SCRAM-SHA-512", "scram.ScramLoginModule", "weir", secret, ""},
			{"PLAIN", "plain.PlainLoginModule", "weir", "not-" + secret, "the login was refused"},
			{"SCRAM-SHA-512", "scram.ScramLoginModule", "nobody", "not-" + secret, "the login was refused"},
		} {
			options := append([]string{"properties.security.protocol=SASL_PLAINTEXT", "properties.sasl.mechanism=" + c.mechanism,
				"properties.sasl.jaas.config=" + fmt.Sprintf(jaas, c.module, c.user, c.password)}, more...)
			if ca != "" {
				options[0] = "properties.security.protocol=SASL_SSL"
			}
			_, err := open(t, env, b.table(t, "no-such-topic", clicks, options...), connectors.Scan{}, nil)
			want := c.want
			if want == "" {
				want = "topic 'no-such-topic' does not exist"
			}
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
				t.Errorf("%s %s: %v", c.mechanism, c.user, err)
			}
		}
		if ca == "" {
			_, err := open(t, env, b.table(t, "x", clicks), connectors.Scan{}, nil)
			if err == nil || !strings.Contains(err.Error(), "properties.security.protocol") {
				t.Errorf("no login: %v", err)
			}
		}
	}
	users := []kfake.Opt{kfake.EnableSASL(), kfake.Superuser("PLAIN", "weir", secret), kfake.Superuser("SCRAM-SHA-256", "weir", secret),
		kfake.Superuser("SCRAM-SHA-512", "weir", secret), kfake.NumBrokers(1)}
	t.Run("kfake", func(t *testing.T) {
		c, err := kfake.NewCluster(users...)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		run(t, c.ListenAddrs()[0], "")
	})
	t.Run("kfake TLS", func(t *testing.T) {
		cert, ca := certificate(t)
		c, err := kfake.NewCluster(append(users, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{cert}}))...)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		file := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(file, ca, 0o600); err != nil {
			t.Fatal(err)
		}
		run(t, c.ListenAddrs()[0], file, "properties.ssl.truststore.location="+file, "properties.ssl.truststore.type=PEM")
		run(t, c.ListenAddrs()[0], file, "properties.ssl.truststore.certificates="+string(ca), "properties.ssl.endpoint.identification.algorithm=")
		b := &broker{seeds: c.ListenAddrs()[0]}
		_, err = open(t, conntest.NewEnv(t), b.table(t, "x", clicks, "properties.security.protocol=SSL"), connectors.Scan{}, nil)
		if err == nil || !strings.Contains(err.Error(), "its certificate is not trusted") {
			t.Errorf("%v", err)
		}
	})
	t.Run("kafka", func(t *testing.T) {
		b := apache(t)
		run(t, b.given["sasl"], "")
		run(t, b.given["sasl_tls"], b.given["ca"], "properties.ssl.truststore.location="+b.given["ca"])
		b.seeds = b.given["tls"]
		_, err := open(t, conntest.NewEnv(t), b.table(t, "no-such-topic", clicks, "properties.security.protocol=SSL", "properties.ssl.truststore.location="+b.given["ca"]), connectors.Scan{}, nil)
		if err == nil || !strings.Contains(err.Error(), "topic 'no-such-topic' does not exist") {
			t.Errorf("%v", err)
		}
		b.seeds = b.given["sasl"]
		topic := apache(t).topic(t, 1)
		_, err = open(t, conntest.NewEnv(t), b.table(t, topic, clicks, "properties.security.protocol=SASL_PLAINTEXT", "properties.sasl.mechanism=PLAIN",
			"properties.sasl.jaas.config="+fmt.Sprintf(jaas, "plain.PlainLoginModule", "guest", "guest-secret")), connectors.Scan{}, nil)
		if err == nil || !strings.Contains(err.Error(), "may not be used by this login") {
			t.Errorf("%v", err)
		}
	})
}

// certificate makes one for 127.0.0.1 that is its own authority.
func certificate(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "weir"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, &c, &c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestBlocked: a reader that nobody asks holds a few megabytes, whatever waits in the topic; and an unasked partition does not hold up another.
func TestBlocked(t *testing.T) {
	b := fake(t)
	topic := b.topic(t, 4)
	pad := strings.Repeat("x", 10_000)
	for p := range int32(4) {
		var values []string
		for i := range 3000 { // 30 MB each
			values = append(values, click(pad, i))
		}
		for len(values) > 0 {
			n := min(90, len(values))
			b.put(t, topic, p, values[:n]...)
			values = values[n:]
		}
	}
	env := conntest.NewEnv(t)
	var held, most int64
	grow := make(chan struct{}, 1)
	grow <- struct{}{}
	env.Grow = func(n int64) error {
		<-grow
		held += n
		most = max(most, held)
		grow <- struct{}{}
		return nil
	}
	table := b.table(t, topic, clicks, "scan.bounded.mode=latest-offset")
	src, err := table.(connectors.SourceTable).Source(connectors.Scan{Columns: []int{1}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	ctx := context.Background()
	splits, err := src.Splits(ctx, env.Env)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var readers []connectors.Reader
	for _, sp := range splits {
		r, err := src.Open(ctx, env.Env, sp, nil, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, r)
	}
	s := src.(*source)
	wait := func(what string, cond func() bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); !cond(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	wait("the queues do not fill", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.queued >= maxQueued })
	time.Sleep(300 * time.Millisecond) // nobody asks: what was too much would come now
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.Logf("queued at most %d MB; the heap grew by %d MB (the broker of the test included)", most>>20, (int64(after.HeapAlloc)-int64(before.HeapAlloc))>>20)
	if most > 24<<20 {
		t.Errorf("%d bytes are queued", most)
	}
	// One partition after the other, as a scan in order of splits does.
	for i, r := range readers {
		rows := 0
		for {
			blk, err := next(ctx, r)
			if err == connectors.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			d, err := blk.Decode(ctx, env.Allocator)
			if err != nil {
				t.Fatal(err)
			}
			rows += d.Batch.Len()
			d.Batch.Release()
		}
		if rows != 3000 {
			t.Errorf("partition %d: %d rows", i, rows)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	<-grow
	if held != 0 {
		t.Errorf("%d bytes are still accounted", held)
	}
	t.Logf("queued at most %d MB in all", most>>20)
	if most > 40<<20 {
		t.Errorf("%d bytes were queued", most)
	}
	grow <- struct{}{}
}

func next(ctx context.Context, r connectors.Reader) (connectors.Block, error) {
	for {
		b, err := r.Next(ctx)
		if err != connectors.ErrNotReady {
			return b, err
		}
		<-r.Ready()
	}
}

// TestPause: a partition that alignment pauses gives nothing more, and goes on when it is resumed; others do not mind.
func TestPause(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 2)
		b.put(t, topic, 0, click("a", 0))
		b.put(t, topic, 1, click("b", 0))
		env := conntest.NewEnv(t)
		s := mustOpen(t, env, b.table(t, topic, clicks, "scan.bounded.mode"), nil)
		defer s.close()
		s.until("two rows", func() bool { return len(s.rows) == 2 })
		first := s.readers[topic+"-0"].(connectors.Pausable)
		first.Pause()
		first.Pause()
		// What a fetch under way brings may still come; behind it comes nothing.
		b.put(t, topic, 0, click("a", 1))
		b.put(t, topic, 1, click("b", 1))
		s.until("b1", func() bool { return strings.Contains(strings.Join(s.rows, " "), "b|1") })
		n := len(s.rows)
		b.put(t, topic, 0, click("a", 2))
		b.put(t, topic, 1, click("b", 2))
		s.until("b2", func() bool { return strings.Contains(strings.Join(s.rows, " "), "b|2") })
		if len(s.rows) != n+1 {
			t.Errorf("rows of a paused partition: %q", s.rows)
		}
		first.Resume()
		s.until("all", func() bool { return len(s.rows) == 6 })
	})
}
