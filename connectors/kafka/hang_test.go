package kafka

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
)

// gate holds up the bytes that go into a broker while it is shut.
type gate struct {
	mu   sync.Mutex
	open chan struct{}
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if open {
		close(g.open)
	} else {
		g.open = make(chan struct{})
	}
}

type gatedListener struct {
	net.Listener
	g *gate
}

func (l gatedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &gatedConn{Conn: c, g: l.g, closed: make(chan struct{})}, nil
}

type gatedConn struct {
	net.Conn
	g      *gate
	once   sync.Once
	closed chan struct{}
}

func (c *gatedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.g.mu.Lock()
	open := c.g.open
	c.g.mu.Unlock()
	select {
	case <-open:
	case <-c.closed:
	}
	return n, err
}

func (c *gatedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// TestHang: a broker that takes connections and does not answer for longer than requests may last. Readers and writers go on when it does, with nothing lost
// and nothing doubled; that it hangs is said.
func TestHang(t *testing.T) {
	check := func(t *testing.T, b *broker, hang func(bool)) {
		topic := b.topic(t, 1)
		b.put(t, topic, 0, click("a", 0))
		env := conntest.NewEnv(t)
		table := b.table(t, topic, clicks, "scan.bounded.mode", "properties.request.timeout.ms=500", "properties.fetch.max.wait.ms=100", "properties.metadata.max.age.ms=1000")
		s := mustOpen(t, env, table, nil)
		defer s.close()
		s.rowsAre("a|0")
		sink, err := table.(connectors.SinkTable).Sink(connectors.Write{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := sink.Open(ctx, env.Env, nil); err != nil {
			t.Fatal(err)
		}
		hang(true)
		if err := sink.Write(ctx, conntest.Batch(t, env, clicks, nil, []any{"b", int64(1)}, []any{"c", int64(2)})); err != nil {
			t.Fatal(err)
		}
		arrived := make(chan error, 1)
		go func() { _, err := sink.Prepare(ctx, 1); arrived <- err }()
		s.until("it is counted", func() bool { return env.Counter("broker_errors") > 0 })
		select {
		case err := <-arrived:
			t.Errorf("rows have arrived while the broker hangs: %v", err)
		default:
		}
		hang(false)
		if err := <-arrived; err != nil {
			t.Error(err)
		}
		b.put(t, topic, 0, click("d", 3))
		s.rowsAre("a|0", "b|1", "c|2", "d|3")
		if err := sink.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Run("kfake", func(t *testing.T) {
		g := newGate()
		b := fake(t, kfake.Ports(0), kfake.ListenFn(func(network, addr string) (net.Listener, error) {
			l, err := net.Listen(network, addr)
			return gatedListener{l, g}, err
		}))
		check(t, b, func(on bool) { g.set(!on) })
	})
	t.Run("kafka", func(t *testing.T) {
		b := apache(t)
		text, err := os.ReadFile(filepath.Join(b.given["dir"], "pid"))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
		check(t, b, func(on bool) {
			sig := syscall.SIGCONT
			if on {
				sig = syscall.SIGSTOP
			}
			if err := syscall.Kill(pid, sig); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// TestExpired: the rules for a position that a topic does not have any more, by 'properties.auto.offset.reset', also for the offsets of a group.
func TestExpired(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		b.put(t, topic, 0, click("a", 0), click("b", 1), click("c", 2), click("d", 3))
		ctx := context.Background()
		group := "g-" + topic
		at := kadm.Offsets{}
		at.AddOffset(topic, 0, 1, -1)
		b.retry(t, func() error { return b.adm.CommitAllOffsets(ctx, group, at) })
		gone := kadm.Offsets{}
		gone.AddOffset(topic, 0, 3, -1)
		if _, err := b.adm.DeleteRecords(ctx, gone); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			options, rows, err string
			lost               int64
		}{
			{"scan.startup.mode=group-offsets properties.group.id=" + group, "", "the records from 1 on were deleted before they were read", 0},
			{"scan.startup.mode=group-offsets properties.auto.offset.reset=none properties.group.id=" + group, "", "the records from 1 on were deleted before they were read", 0},
			{"scan.startup.mode=group-offsets properties.auto.offset.reset=earliest properties.group.id=" + group, "d|3", "", 2},
			{"scan.startup.mode=group-offsets properties.auto.offset.reset=latest properties.group.id=" + group, "", "", 3},
			{"scan.startup.mode=specific-offsets scan.startup.specific-offsets=partition:0,offset:0", "", "were deleted before they were read", 0},
			{"scan.startup.mode=specific-offsets scan.startup.specific-offsets=partition:0,offset:99 scan.bounded.mode=unbounded", "", "has no offset 99: it ends before", 0},
			{"scan.startup.mode=earliest-offset", "d|3", "", 0},
		} {
			env := conntest.NewEnv(t)
			rows, err := mustOpen(t, env, b.table(t, topic, clicks, strings.Fields(c.options)...), nil).end()
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || c.err == "" && err != nil {
				t.Errorf("%s: %v", c.options, err)
			}
			if got := strings.Join(rows, " "); got != c.rows {
				t.Errorf("%s: rows %s, want %s", c.options, got, c.rows)
			}
			if n := env.Counter("lost_offsets"); n != c.lost {
				t.Errorf("%s: %d lost offsets were counted, want %d", c.options, n, c.lost)
			}
		}
	})
}
