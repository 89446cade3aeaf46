package kafka

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// write writes rows through a table's sink.
func write(t testing.TB, env *conntest.Env, table connectors.Table, schema types.Schema, kinds []stream.RowKind, rows ...[]any) error {
	t.Helper()
	s, err := table.(connectors.SinkTable).Sink(connectors.Write{})
	if err != nil {
		return err
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.Open(ctx, env.Env, nil); err != nil {
		return err
	}
	if err := s.Write(ctx, conntest.Batch(t, env, schema, kinds, rows...)); err != nil {
		return err
	}
	receipt, err := s.Prepare(ctx, 1)
	if err != nil {
		return err
	}
	return s.Commit(ctx, receipt)
}

func text(r *kgo.Record) string {
	part := func(b []byte) string {
		if b == nil {
			return "<null>"
		}
		return string(b)
	}
	s := part(r.Key) + "=" + part(r.Value)
	for _, h := range r.Headers {
		s += " " + h.Key + ":" + part(h.Value)
	}
	return s
}

func TestSink(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		env := conntest.NewEnv(t)
		for _, c := range []struct {
			options string
			want    string
		}{
			{"", `<null>={"k":"a","v":1}; <null>={"k":null,"v":2}`},
			{"key.format=json key.fields=k", `{"k":"a"}={"k":"a","v":1}; {"k":null}={"k":null,"v":2}`},
			{"key.format=raw key.fields=k value.fields-include=EXCEPT_KEY properties.compression.type=zstd properties.linger.ms=0", `a={"v":1}; <null>={"v":2}`},
			{"format=csv properties.acks=1", `<null>=a,1; <null>=,2`},
			{"sink.delivery-guarantee=none properties.compression.type=gzip properties.compression.gzip.level=9", `<null>={"k":"a","v":1}; <null>={"k":null,"v":2}`},
		} {
			topic := b.topic(t, 1)
			table := b.table(t, topic, clicks, strings.Fields(c.options)...)
			if err := write(t, env, table, clicks, nil, []any{"a", int64(1)}, []any{nil, int64(2)}); err != nil {
				t.Fatalf("%s: %v", c.options, err)
			}
			var got []string
			for _, r := range b.all(t, topic, 2) {
				got = append(got, text(r))
			}
			if g := strings.Join(got, "; "); g != c.want {
				t.Errorf("%s: got %s, want %s", c.options, g, c.want)
			}
		}
		// What a sink writes, the source reads.
		topic := b.topic(t, 2)
		table := b.table(t, topic, clicks, "key.format=json", "key.fields=k")
		var rows [][]any
		var want []string
		for i := range 3000 {
			rows = append(rows, []any{"k", int64(i)})
			want = append(want, fmt.Sprint("k|", i))
		}
		if err := write(t, env, table, clicks, nil, rows...); err != nil {
			t.Fatal(err)
		}
		conntest.Equal(t, read(t, env, table), want) // one key: one partition, in order
	})
}

func TestSinkMetadata(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		x, y := b.topic(t, 1), b.topic(t, 1)
		env := conntest.NewEnv(t)
		decl := b.declare(x+";"+y, clicks[1:])
		headers := types.MapOf(types.StringType.NotNull(), types.BytesType)
		decl.Metadata = []connectors.MetadataColumn{{Name: "h", Key: "headers", Type: headers}, {Name: "o", Key: "offset", Type: types.BigIntType, Virtual: true},
			{Name: "ts", Key: "timestamp", Type: types.TimestampLTZOf(3)}, {Name: "topic", Key: "topic", Type: types.StringType}}
		table, err := Connector{}.Table(context.Background(), decl)
		if err != nil {
			t.Fatal(err)
		}
		schema := append(types.Schema{}, clicks[1], types.Column{Name: "h", Type: headers}, types.Column{Name: "ts", Type: types.TimestampLTZOf(3)}, types.Column{Name: "topic", Type: types.StringType})
		at := types.TimestampVal(1714557600123000)
		row := func(v int, topic any) []any {
			return []any{int64(v), types.MapVal{{Key: "a", Val: []byte("1")}, {Key: "n"}}, at, topic}
		}
		if err := write(t, env, table, schema, nil, row(1, y), row(2, x)); err != nil {
			t.Fatal(err)
		}
		for i, topic := range []string{y, x} {
			r := b.all(t, topic, 1)[0]
			if got, want := text(r), fmt.Sprintf(`<null>={"v":%d} a:1 n:<null>`, i+1); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if r.Timestamp.UnixMicro() != int64(at) {
				t.Errorf("timestamp %v", r.Timestamp)
			}
		}
		for _, topic := range []any{nil, "elsewhere"} {
			if err := write(t, env, table, schema, nil, row(1, topic)); err == nil || !strings.Contains(err.Error(), "topic") {
				t.Errorf("%v: %v", topic, err)
			}
		}
	})
}

// TestUpsertSink: KF-04, writing. A deletion is a null value, not a text.
func TestUpsertSink(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		env := conntest.NewEnv(t)
		decl := b.declare(topic, types.Schema{{Name: "k", Type: types.StringType.NotNull()}, {Name: "v", Type: types.BigIntType}}, "connector=upsert-kafka", "format", "scan.startup.mode",
			"key.format=json", "value.format=json")
		decl.PrimaryKey = []int{0}
		table, err := Upsert{}.Table(context.Background(), decl)
		if err != nil {
			t.Fatal(err)
		}
		kinds := []stream.RowKind{stream.Insert, stream.UpdateBefore, stream.UpdateAfter, stream.Insert, stream.Delete}
		if err := write(t, env, table, table.Schema(), kinds, []any{"a", int64(1)}, []any{"a", int64(1)}, []any{"a", int64(2)}, []any{"b", int64(3)}, []any{"a", int64(2)}); err != nil {
			t.Fatal(err)
		}
		want := []string{`{"k":"a"}={"k":"a","v":1}`, `{"k":"a"}={"k":"a","v":2}`, `{"k":"b"}={"k":"b","v":3}`, `{"k":"a"}=<null>`}
		for i, r := range b.all(t, topic, len(want)) {
			if text(r) != want[i] {
				t.Errorf("record %d: got %s, want %s", i, text(r), want[i])
			}
		}
		conntest.Equal(t, read(t, env, table), []string{"+U|a|1", "+U|a|2", "+U|b|3", "-D|a|NULL"})
		// Without a key a record belongs to no row.
		b.put(t, topic, 0, `{"k":"x","v":1}`)
		if _, err := mustOpen(t, env, table, nil).end(); err == nil || !strings.Contains(err.Error(), "the key is null") {
			t.Errorf("%v", err)
		}
	})
}

// TestUpsertBuffer: with 'sink.buffer-flush.*' only the last change of a key is written, when there are enough, when the time has come, or at the end.
func TestUpsertBuffer(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		env := conntest.NewEnv(t)
		decl := b.declare(topic, types.Schema{{Name: "k", Type: types.StringType.NotNull()}, {Name: "v", Type: types.BigIntType}}, "connector=upsert-kafka", "format", "scan.startup.mode",
			"key.format=raw", "value.format=json", "value.fields-include=EXCEPT_KEY", "sink.buffer-flush.max-rows=3", "sink.buffer-flush.interval=1 s")
		decl.PrimaryKey = []int{0}
		table, err := Upsert{}.Table(context.Background(), decl)
		if err != nil {
			t.Fatal(err)
		}
		s, err := table.(connectors.SinkTable).Sink(connectors.Write{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := s.Open(ctx, env.Env, nil); err != nil {
			t.Fatal(err)
		}
		put := func(kind stream.RowKind, k string, v int) {
			t.Helper()
			if err := s.Write(ctx, conntest.Batch(t, env, table.Schema(), []stream.RowKind{kind}, []any{k, int64(v)})); err != nil {
				t.Fatal(err)
			}
		}
		var want []string
		wrote := func(more ...string) {
			t.Helper()
			want = append(want, more...)
			got := []string{}
			for _, r := range b.all(t, topic, len(want)) {
				got = append(got, text(r))
			}
			conntest.Equal(t, got, want)
		}
		put(stream.Insert, "a", 1)
		put(stream.UpdateAfter, "a", 2)
		put(stream.Insert, "b", 1)
		put(stream.Delete, "b", 1)
		put(stream.Insert, "c", 1) // three keys
		wrote(`a={"v":2}`, `b=<null>`, `c={"v":1}`)
		put(stream.UpdateAfter, "c", 2)
		put(stream.UpdateAfter, "c", 3)
		for env.Clock.Waiting() == 0 { // until the one that flushes waits
			runtime.Gosched()
		}
		env.Clock.Advance(time.Second)
		wrote(`c={"v":3}`)
		put(stream.UpdateAfter, "a", 7)
		if _, err := s.Prepare(ctx, 1); err != nil {
			t.Fatal(err)
		}
		wrote(`a={"v":7}`)
		put(stream.UpdateAfter, "a", 8)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestPartitioner(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		env := conntest.NewEnv(t)
		var rows [][]any
		for i := range 30 {
			rows = append(rows, []any{fmt.Sprint("k", i%7), int64(i)})
		}
		for _, c := range []struct{ options, want string }{
			{"sink.partitioner=fixed", "[0 30 0]"},
			{"sink.partitioner=round-robin", "[10 10 10]"},
		} {
			topic := b.topic(t, 3)
			e := conntest.NewEnv(t)
			e.Partition = 1
			if err := write(t, e, b.table(t, topic, clicks, strings.Fields(c.options)...), clicks, nil, rows...); err != nil {
				t.Fatal(err)
			}
			n := make([]int, 3)
			for _, r := range b.all(t, topic, len(rows)) {
				n[r.Partition]++
			}
			if fmt.Sprint(n) != c.want {
				t.Errorf("%s: %v, want %s", c.options, n, c.want)
			}
		}
		// The default is Kafka's: the same key goes where Kafka's own clients put it (murmur2("k0") is in partition 0 of 3).
		topic := b.topic(t, 3)
		if err := write(t, env, b.table(t, topic, clicks, "key.format=raw", "key.fields=k"), clicks, nil, rows...); err != nil {
			t.Fatal(err)
		}
		of := map[string]int32{}
		p := kgo.StickyKeyPartitioner(nil).ForTopic(topic)
		for _, r := range b.all(t, topic, len(rows)) {
			if at, ok := of[string(r.Key)]; ok && at != r.Partition {
				t.Errorf("key %s is in partitions %d and %d", r.Key, at, r.Partition)
			}
			of[string(r.Key)] = r.Partition
			if want := p.Partition(&kgo.Record{Key: r.Key}, 3); want != int(r.Partition) {
				t.Errorf("key %s is in partition %d, want %d", r.Key, r.Partition, want)
			}
		}
	})
}

func TestSinkErrors(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		env := conntest.NewEnv(t)
		topic := b.topic(t, 1, "max.message.bytes=2000")
		row := []any{strings.Repeat("x", 5000), int64(1)}
		for _, c := range []struct{ topic, options, want string }{
			{topic, "", "it is too large"},
			{topic + "x", "properties.metadata.max.age.ms=1000", "the topic does not exist"},
			{topic, "sink.delivery-guarantee=exactly-once", "needs 'sink.transactional-id-prefix'"},
			{topic, "sink.delivery-guarantee=exactly-once sink.transactional-id-prefix=x properties.acks=1", "needs 'properties.acks' = 'all'"},
			{topic, "properties.enable.auto.commit=true", "needs 'properties.group.id'"},
			{topic, "format=avro", "unknown format 'avro'"},
			{topic, "properties.transactional.id=x", "set 'sink.transactional-id-prefix'"},
			{topic, "properties.linger.m=5", "did you mean 'properties.linger.ms'?"},
			{topic, "properties.acks=some", "must be one of all"},
			{topic, "key.format=json", "needs 'key.fields'"},
			{topic, "key.format=json key.fields=kk", "did you mean 'k'?"},
			{topic, "key.format=json key.fields=k key.fields-prefix=x_ value.fields-include=EXCEPT_KEY", "does not begin with"},
			{topic, "properties.security.protocol=SASL_SSL", "'properties.sasl.mechanism'"},
			{topic, "properties.ssl.truststore.type=JKS properties.security.protocol=SSL", "must be one of PEM"},
			{topic, "properties.sasl.jaas.config=secret", "has no effect without"},
			{topic, "properties.security.protocol=SASL_SSL properties.sasl.mechanism=PLAIN properties.sasl.jaas.config=my-secret", "it must be ...PlainLoginModule"},
			{topic, "properties.bootstrap.servers=here", "is not host:port"},
			{topic, "scan.startup.mode=timestamp", "need each other"},
			{topic, "topic-pattern=x", "exclude each other"},
		} {
			table, err := Connector{}.Table(context.Background(), b.declare(c.topic, clicks, strings.Fields(c.options)...))
			if err == nil {
				err = write(t, env, table, clicks, nil, row)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", c.options, err)
			}
		}
	})
}

// TestSinkStuck: a broker that goes away and stays away is an error after a while, never a wait without end; one that comes back is none.
func TestSinkStuck(t *testing.T) {
	b := fake(t)
	topic := b.topic(t, 1)
	env := conntest.NewEnv(t)
	s, err := b.table(t, topic, clicks, "properties.delivery.timeout.ms=1000").(connectors.SinkTable).Sink(connectors.Write{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := s.Open(ctx, env.Env, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(ctx, conntest.Batch(t, env, clicks, nil, []any{"a", int64(1)})); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prepare(ctx, 1); err != nil {
		t.Fatal(err)
	}
	b.cluster.Close()
	if err := s.Write(ctx, conntest.Batch(t, env, clicks, nil, []any{"a", int64(2)})); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prepare(ctx, 2); err == nil || !strings.Contains(err.Error(), "no broker has taken a record for 1s") {
		t.Errorf("%v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
