package kafka

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func click(k string, v int) string { return fmt.Sprintf(`{"k":"%s","v":%d}`, k, v) }

// TestSource is the suite of all sources.
func TestSource(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 3)
		var want []string
		for p := range int32(3) {
			var values []string
			for i := range 200 {
				values = append(values, click(fmt.Sprint("k", p), i))
				want = append(want, fmt.Sprintf("k%d|%d", p, i))
			}
			b.put(t, topic, p, values...)
		}
		for _, options := range [][]string{nil, {"key.format=raw", "key.fields=k"}} {
			conntest.Source(t, b.table(t, topic, clicks, options...), want, 1, 1000, 1<<20)
		}
	})
}

// TestStartAndEnd tells where reading begins and ends.
func TestStartAndEnd(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 2)
		for i := range 10 {
			b.records(t, &kgo.Record{Topic: topic, Partition: int32(i % 2), Value: []byte(click("a", i)), Timestamp: time.UnixMilli(int64(1000 * i))})
		}
		commits := kadm.Offsets{}
		commits.AddOffset(topic, 0, 2, -1) // v 4
		group := "g-" + topic
		if err := b.adm.CommitAllOffsets(context.Background(), group, commits); err != nil {
			t.Fatal(err)
		}
		env := conntest.NewEnv(t)
		for _, c := range []struct {
			options string
			want    string // values of partition 0, then of 1; or an error
		}{
			{"", "0 2 4 6 8 1 3 5 7 9"},
			{"scan.startup.mode=latest-offset", ""},
			{"scan.startup.mode=timestamp scan.startup.timestamp-millis=5000", "6 8 5 7 9"},
			{"scan.startup.mode=timestamp scan.startup.timestamp-millis=99000", ""},
			{"scan.startup.mode=specific-offsets scan.startup.specific-offsets=partition:0,offset:4;partition:1,offset:3", "8 7 9"},
			{"scan.startup.mode=specific-offsets scan.startup.specific-offsets=partition:0,offset:4", "8 1 3 5 7 9"},
			{"scan.startup.mode=specific-offsets scan.startup.specific-offsets=partition:7,offset:4", "name partition 7"},
			{"scan.startup.mode=group-offsets properties.auto.offset.reset=earliest properties.group.id=" + group, "4 6 8 1 3 5 7 9"},
			{"scan.startup.mode properties.auto.offset.reset=latest properties.group.id=" + group, "4 6 8"},
			{"scan.startup.mode properties.group.id=" + group, "has committed no offset for partition 1"},
			{"scan.startup.mode", "there is no place to begin"},
			{"scan.bounded.mode=timestamp scan.bounded.timestamp-millis=5000", "0 2 4 1 3"},
			{"scan.bounded.mode=specific-offsets scan.bounded.specific-offsets=partition:0,offset:1;partition:1,offset:0", "0"},
			{"scan.bounded.mode=specific-offsets scan.bounded.specific-offsets=partition:0,offset:1", "0"},
			{"scan.startup.mode=latest-offset scan.bounded.mode=specific-offsets scan.bounded.specific-offsets=partition:0,offset:1", ""},
			{"scan.bounded.mode=group-offsets properties.group.id=" + group, "has committed no offset for partition 1"},
		} {
			table := b.table(t, topic, clicks, strings.Fields(c.options)...)
			s, err := open(t, env, table, connectors.Scan{Columns: []int{1}}, nil)
			var rows []string
			if err == nil {
				rows, err = s.end()
			}
			// Which of the two came first is for the fetches to say: even values are in partition 0, odd ones in 1.
			slices.SortStableFunc(rows, func(a, b string) int { return int(a[len(a)-1]&1) - int(b[len(b)-1]&1) })
			got := strings.Join(rows, " ")
			if err != nil {
				if c.want == "" || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v", c.options, err)
				}
				continue
			}
			if got != c.want {
				t.Errorf("%s: got %s, want %s", c.options, got, c.want)
			}
		}
	})
}

// TestLatest: KF-06. What "latest" meant at the first start stays, also for partitions that gave nothing; later ones are read from their beginning.
func TestLatest(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 3)
		b.put(t, topic, 0, click("old", 0))
		env := conntest.NewEnv(t)
		table := b.table(t, topic, clicks, "scan.startup.mode=latest-offset", "scan.bounded.mode")
		s := mustOpen(t, env, table, nil)
		b.put(t, topic, 0, click("A", 1))
		b.put(t, topic, 1, click("B", 1))
		s.until("A1 and B1", func() bool { return len(s.rows) == 2 })
		s.close()
		b.put(t, topic, 0, click("A", 2))
		b.put(t, topic, 1, click("B", 2))
		b.put(t, topic, 2, click("C", 1))
		first := s.rows
		s = mustOpen(t, env, table, s)
		s.until("three more", func() bool { return len(s.rows) == 3 })
		if _, err := b.adm.CreatePartitions(context.Background(), 1, topic); err != nil {
			t.Fatal(err)
		}
		b.retry(t, func() error {
			return b.client.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Partition: 3, Value: []byte(click("D", 1))}).FirstErr()
		})
		// Discovery is a matter of the clock.
		s.until("D1", func() bool { env.Clock.Advance(time.Minute); return len(s.rows) == 4 })
		s.close()
		// A partition that was born while the query was down is read from its beginning.
		if _, err := b.adm.CreatePartitions(context.Background(), 1, topic); err != nil {
			t.Fatal(err)
		}
		b.retry(t, func() error {
			return b.client.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Partition: 4, Value: []byte(click("E", 1))}).FirstErr()
		})
		then := s.rows
		s = mustOpen(t, env, table, s)
		s.until("E1", func() bool { return len(s.rows) == 1 })
		s.close()
		got := append(append(first, then...), s.rows...)
		sort.Strings(got)
		conntest.Equal(t, got, []string{"A|1", "A|2", "B|1", "B|2", "C|1", "D|1", "E|1"})
	})
}

// retry is for what takes a broker a moment to know.
func (b *broker) retry(t testing.TB, f func() error) {
	t.Helper()
	var err error
	for range 100 {
		if err = f(); err == nil {
			return
		}
		b.client.ForceMetadataRefresh()
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal(err)
}

func TestKeysAndMetadata(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		at := time.UnixMilli(1714557600123)
		h := []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "b"}, {Key: "a", Value: []byte("2")}}
		b.records(t,
			&kgo.Record{Topic: topic, Key: []byte(`{"id":7,"k":"x"}`), Value: []byte(`{"v":1}`), Headers: h, Timestamp: at},
			&kgo.Record{Topic: topic, Key: nil, Value: []byte(`{"v":2,"k":"w"}`), Timestamp: at},
			&kgo.Record{Topic: topic, Key: []byte(`{"id":8}`), Value: nil, Timestamp: at},
			&kgo.Record{Topic: topic, Key: []byte(`{"id":9}`), Value: []byte(`[{"v":3},{"v":4}]`), Timestamp: at},
		)
		env := conntest.NewEnv(t)
		schema := types.Schema{{Name: "key_id", Type: types.IntType}, {Name: "v", Type: types.BigIntType}, {Name: "key_k", Type: types.StringType}}
		table := b.table(t, topic, schema, "key.format=json", "key.fields=key_k;key_id", "key.fields-prefix=key_", "value.fields-include=EXCEPT_KEY")
		conntest.Equal(t, read(t, env, table), []string{"7|1|x", "NULL|2|NULL", "9|3|NULL", "9|4|NULL"})
		if n := env.Counter("null_messages"); n != 1 {
			t.Errorf("%d null messages were counted", n)
		}
		s, err := open(t, env, table, connectors.Scan{Columns: []int{1}, Metadata: []string{"topic", "partition", "offset", "timestamp", "timestamp-type", "headers"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := s.end()
		if err != nil {
			t.Fatal(err)
		}
		const when = "2024-05-01 10:00:00.123"
		conntest.Equal(t, rows, []string{
			"1|" + topic + "|0|0|" + when + "|CreateTime|{b=NULL, a=x'32'}", "2|" + topic + "|0|1|" + when + "|CreateTime|{}",
			"3|" + topic + "|0|3|" + when + "|CreateTime|{}", "4|" + topic + "|0|3|" + when + "|CreateTime|{}"})
		// With ALL the value has the key columns, too, and they count.
		table = b.table(t, topic, clicks, "key.format=json", "key.fields=k")
		conntest.Equal(t, read(t, env, table), []string{"NULL|1", "w|2", "NULL|3", "NULL|4"})
	})
}

// TestTombstones: KF-04, reading. A null value is no row of an append-only table, and never a row of NULLs.
func TestTombstones(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		b.records(t, &kgo.Record{Topic: topic, Value: []byte(`{"v":1}`)}, &kgo.Record{Topic: topic, Key: []byte("k")}, &kgo.Record{Topic: topic, Value: []byte(`{"v":2}`)})
		env := conntest.NewEnv(t)
		conntest.Equal(t, read(t, env, b.table(t, topic, clicks)), []string{"NULL|1", "NULL|2"})
		// The raw format has a form for it.
		conntest.Equal(t, read(t, env, b.table(t, topic, types.Schema{{Name: "x", Type: types.StringType}}, "format=raw")), []string{`{"v":1}`, "NULL", `{"v":2}`})
	})
}

func TestBadRecords(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		b.records(t, &kgo.Record{Topic: topic, Key: []byte("1"), Value: []byte(click("a", 1))}, &kgo.Record{Topic: topic, Key: []byte("2"), Value: []byte(`{"k":"b","v":`)},
			&kgo.Record{Topic: topic, Key: []byte("x"), Value: []byte(click("c", 3))}, &kgo.Record{Topic: topic, Key: []byte("4"), Value: []byte("{\n\"k\": \"d\",\n\"v\": 4}\n")})
		env := conntest.NewEnv(t)
		table := b.table(t, topic, clicks)
		_, err := mustOpen(t, env, table, nil).end()
		want := "table clicks: the record at offset 1 of partition 0 of topic '" + topic + "' is bad: a value was expected"
		if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "'json.ignore-parse-errors'") {
			t.Fatalf("%v", err)
		}
		s := mustOpen(t, env, b.table(t, topic, clicks, "json.ignore-parse-errors=true"), nil)
		rows, err := s.end()
		if err != nil {
			t.Fatal(err)
		}
		conntest.Equal(t, rows, []string{"a|1", "c|3", "d|4"})
		if len(s.bad) != 1 || s.bad[0].Position != 1 || s.bad[0].Row != 1 || s.bad[0].Split != topic+"-0" || string(s.bad[0].Raw) != `{"k":"b","v":` {
			t.Errorf("bad records: %+v", s.bad)
		}
		// Bad keys and bad values.
		keyed := types.Schema{{Name: "id", Type: types.IntType}, {Name: "v", Type: types.BigIntType}}
		options := []string{"key.format=csv", "key.fields=id", "value.fields-include=EXCEPT_KEY", "format", "value.format=json"}
		_, err = mustOpen(t, env, b.table(t, topic, keyed, options...), nil).end()
		if err == nil || !strings.Contains(err.Error(), "offset 2") {
			t.Errorf("%v", err)
		}
		table = b.table(t, topic, keyed, options...)
		s, err = open(t, env, table, connectors.Scan{Columns: []int{0, 1}, KeepBad: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		rows, err = s.end()
		if err != nil {
			t.Fatal(err)
		}
		conntest.Equal(t, rows, []string{"1|1", "4|4"})
		if len(s.bad) != 2 || s.bad[0].Position != 1 || s.bad[0].Row != 1 || s.bad[1].Position != 2 || s.bad[1].Row != 1 {
			t.Errorf("bad records: %+v", s.bad)
		}
	})
}

// TestBadKeys: a record whose key is bad is no row, whichever columns are wanted, and the message has the option for keys.
func TestBadKeys(t *testing.T) {
	b := fake(t)
	topic := b.topic(t, 1)
	b.records(t, &kgo.Record{Topic: topic, Key: []byte(`{"id":1}`), Value: []byte(`{"v":1}`)}, &kgo.Record{Topic: topic, Key: []byte("x"), Value: []byte(`{"v":2}`)},
		&kgo.Record{Topic: topic, Value: []byte(`{"v":3}`)})
	env := conntest.NewEnv(t)
	for _, nullable := range []bool{true, false} {
		keyed := types.Schema{{Name: "id", Type: types.IntType.WithNull(nullable)}, {Name: "v", Type: types.BigIntType}}
		for _, c := range []struct {
			scan connectors.Scan
			want string
		}{
			{connectors.Scan{Columns: []int{0, 1}}, "1|1 NULL|3"}, {connectors.Scan{Columns: []int{0}}, "1 NULL"}, {connectors.Scan{Columns: []int{1}}, "1 3"},
			{connectors.Scan{Metadata: []string{"offset"}}, "0 2"},
		} {
			options := []string{"key.format=json", "key.fields=id", "value.fields-include=EXCEPT_KEY"}
			s, err := open(t, env, b.table(t, topic, keyed, options...), c.scan, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = s.end(); err == nil || !strings.Contains(err.Error(), "the key: a JSON object was expected") || !strings.Contains(err.Error(), "'key.json.ignore-parse-errors'") {
				t.Errorf("%+v: %v", c.scan, err)
			}
			if s, err = open(t, env, b.table(t, topic, keyed, append(options, "key.json.ignore-parse-errors=true")...), c.scan, nil); err != nil {
				t.Fatal(err)
			}
			want, bad := strings.Fields(c.want), 1
			if !nullable { // then a record without a key is bad, too
				want, bad = want[:1], 2
			}
			rows, err := s.end()
			if err != nil {
				t.Fatal(err)
			}
			conntest.Equal(t, rows, want)
			if len(s.bad) != bad {
				t.Errorf("%+v: bad records: %+v", c.scan, s.bad)
			}
		}
	}
}

func TestBigRecord(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1, "max.message.bytes=20000000")
		b.put(t, topic, 0, click("a", 1), click(strings.Repeat("x", 5<<20), 2), click("b", 3))
		env := conntest.NewEnv(t)
		table := b.table(t, topic, clicks)
		s, err := open(t, env, table, connectors.Scan{Columns: []int{1}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := s.end()
		if err != nil {
			t.Fatal(err)
		}
		conntest.Equal(t, rows, []string{"1", "2", "3"})
		// And written.
		to := b.topic(t, 1, "max.message.bytes=20000000")
		out := b.table(t, to, clicks, "properties.max.request.size=10000000")
		big := strings.Repeat("y", 5<<20)
		if err := write(t, env, out, clicks, nil, []any{"a", int64(1)}, []any{big, int64(2)}, []any{"c", int64(3)}); err != nil {
			t.Fatal(err)
		}
		conntest.Equal(t, read(t, env, out), []string{"a|1", big + "|2", "c|3"})
	})
}

func TestManyTopics(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		x, y := b.topic(t, 1), b.topic(t, 2)
		b.put(t, x, 0, click("x", 1))
		b.put(t, y, 1, click("y", 2))
		env := conntest.NewEnv(t)
		for _, table := range []connectors.Table{b.table(t, y+"; "+x, clicks), b.table(t, x, clicks, "topic", "topic-pattern="+strings.ReplaceAll(x, "-", ".")+"|"+y)} {
			rows := read(t, env, table) // of several partitions in the order in which they came
			slices.Sort(rows)
			conntest.Equal(t, rows, []string{"x|1", "y|2"})
		}
		_, err := open(t, env, b.table(t, x+"x", clicks), connectors.Scan{}, nil)
		if err == nil || !strings.Contains(err.Error(), "topic '"+x+"x' does not exist") {
			t.Error(err)
		}
		// A topic that appears later and matches.
		prefix := "late-" + x
		s := mustOpen(t, env, b.table(t, x, clicks, "topic", "topic-pattern="+prefix+".*", "scan.bounded.mode", "scan.startup.mode=latest-offset"), nil)
		defer s.close()
		b.create(t, prefix+"1", 1)
		b.put(t, prefix+"1", 0, click("new", 5))
		s.until("the new topic's row", func() bool { env.Clock.Advance(time.Minute); return len(s.rows) == 1 })
	})
}

// TestPatternWithoutTopics: a pattern that matches nothing is told of, and reads nothing.
func TestPatternWithoutTopics(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		b.put(t, topic, 0, click("x", 1))
		part := strings.TrimPrefix(topic, "t")
		for _, c := range []struct{ options, want string }{
			{"topic-pattern=nothing-" + topic, "level=WARN msg=\"no topic matches 'topic-pattern': the table has no rows\" table=clicks pattern=nothing-" + topic},
			{"topic-pattern=" + part, "it matches a part of '" + topic + "', and must match the whole name: write .*(" + part + ").*"},
			{"topic-pattern=nothing-" + topic + " scan.bounded.mode", "no topic matches 'topic-pattern' yet"},
			{"topic-pattern=nothing-" + topic + " scan.bounded.mode scan.topic-partition-discovery.interval=0", "looks for none later"},
			{"topic-pattern=.*" + part, ""},
		} {
			env := conntest.NewEnv(t)
			var log bytes.Buffer
			env.Log = slog.New(slog.NewTextHandler(&log, nil))
			s := mustOpen(t, env, b.table(t, topic, clicks, append([]string{"topic"}, strings.Fields(c.options)...)...), nil)
			s.close()
			if got := log.String(); c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("%s: %q, want %q", c.options, got, c.want)
			}
		}
	})
}
