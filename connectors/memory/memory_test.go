package memory_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/connectors/memory"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var schema = types.Schema{
	{Name: "k", Type: types.IntType}, {Name: "s", Type: types.StringType}, {Name: "a", Type: types.ArrayOf(types.IntType)},
}

func table(t *testing.T, c *memory.Connector, id int64, key ...int) connectors.Table {
	t.Helper()
	tb, err := c.Table(context.Background(), connectors.Declaration{Name: "t", ID: id, Columns: schema, PrimaryKey: key})
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

func TestSink(t *testing.T) {
	c := memory.New()
	conntest.Sink(t, func() connectors.Table { return table(t, c, 1) }, []any{int32(1), "x", []any{int32(1), nil}}, []any{nil, nil, nil})
}

// fill writes rows given as "+I 1 x".
func fill(t *testing.T, env *conntest.Env, tb connectors.Table, rows ...string) {
	t.Helper()
	ctx := context.Background()
	s, err := tb.(connectors.SinkTable).Sink(connectors.Write{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Open(ctx, env.Env, nil); err != nil {
		t.Fatal(err)
	}
	var kinds []stream.RowKind
	var values [][]any
	for _, r := range rows {
		f := strings.Fields(r)
		for _, k := range []stream.RowKind{stream.Insert, stream.UpdateBefore, stream.UpdateAfter, stream.Delete} {
			if k.String() == f[0] {
				kinds = append(kinds, k)
			}
		}
		var k int32
		_, _ = fmt.Sscan(f[1], &k)
		values = append(values, []any{k, f[2], nil})
	}
	if err := s.Write(ctx, conntest.Batch(t, env, schema, kinds, values...)); err != nil {
		t.Fatal(err)
	}
	r, err := s.Prepare(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(ctx, r); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, env *conntest.Env, tb connectors.Table) string {
	t.Helper()
	r, err := conntest.ReadAll(t, env, tb, connectors.Scan{Columns: []int{0, 1}}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(r.Rows)) != tb.RowEstimate() {
		t.Fatalf("%d rows, estimate %d", len(r.Rows), tb.RowEstimate())
	}
	return strings.Join(r.Rows, " ")
}

// TestChanges: changes without a key take out equal rows, with a key they replace; rows keep their places.
func TestChanges(t *testing.T) {
	for _, tt := range []struct {
		name      string
		key       []int
		rows      []string
		want      string
		unmatched int64
	}{
		{"updates", nil, []string{"+I 1 a", "+I 2 b", "+I 3 c", "-U 2 b", "+U 2 B", "-D 1 a"}, "2|B 3|c", 0},
		{"equal rows", nil, []string{"+I 1 a", "+I 1 a", "+I 1 a", "-D 1 a"}, "1|a 1|a", 0},
		{"unmatched", nil, []string{"+I 1 a", "-D 1 b", "-U 9 z", "+U 9 y"}, "1|a 9|y", 2},
		{"key", []int{0}, []string{"+I 1 a", "+I 2 b", "+U 1 A", "+I 2 B", "-U 2 x", "+U 2 C"}, "1|A 2|C", 0},
		{"key, delete", []int{0}, []string{"+I 1 a", "+I 2 b", "-D 1 whatever", "-D 7 x", "+I 1 c"}, "2|b 1|c", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := conntest.NewEnv(t)
			tb := table(t, memory.New(), 1, tt.key...)
			fill(t, env, tb, tt.rows...)
			if got := read(t, env, tb); got != tt.want {
				t.Fatalf("got %s, want %s", got, tt.want)
			}
			if n := env.Counter("unmatched_retractions"); n != tt.unmatched {
				t.Fatalf("%d unmatched retractions, want %d", n, tt.unmatched)
			}
			// One after the other gives the same as all at once.
			tb = table(t, memory.New(), 1, tt.key...)
			var pair []string
			for _, r := range tt.rows {
				pair = append(pair, r)
				if strings.HasPrefix(r, "-U") {
					continue
				}
				fill(t, env, tb, pair...)
				pair = nil
			}
			if got := read(t, env, tb); got != tt.want {
				t.Fatalf("one by one: got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestScan: a scan sees the rows at its start; positions; tables by ID.
func TestScan(t *testing.T) {
	c := memory.New()
	env := conntest.NewEnv(t)
	env.BatchRows = 40
	tb := table(t, c, 7)
	var rows, want []string
	for i := range 300 {
		rows = append(rows, fmt.Sprintf("+I %d r", i))
	}
	fill(t, env, tb, rows...)
	fill(t, env, tb, "-U 5 r", "+U 5 R", "-D 6 r", "-D 200 r")
	for i := range 300 {
		switch i {
		case 5:
			want = append(want, "5|R|NULL")
		case 6, 200:
		default:
			want = append(want, fmt.Sprintf("%d|r|NULL", i))
		}
	}
	conntest.Source(t, tb, want, 1<<20)
	src, err := table(t, c, 7).(connectors.SourceTable).Source(conntest.All(tb))
	if err != nil {
		t.Fatal(err)
	}
	splits, err := src.Splits(context.Background(), env.Env)
	if err != nil || !splits[0].Bounded {
		t.Fatal(err)
	}
	fill(t, env, tb, "+I 999 late")
	r, err := src.Open(context.Background(), env.Env, splits[0], nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for {
		b, err := r.Next(context.Background())
		if err != nil {
			break
		}
		d, err := b.Decode(context.Background(), env.Allocator)
		if err != nil {
			t.Fatal(err)
		}
		if d.Batch.Len() > 40 {
			t.Fatalf("a batch of %d rows", d.Batch.Len())
		}
		n += d.Batch.Len()
		d.Batch.Release()
	}
	if n != len(want) {
		t.Fatalf("%d rows, want %d", n, len(want))
	}
	if got := read(t, env, table(t, c, 8)); got != "" {
		t.Fatalf("another table has rows: %s", got)
	}
	tb.(connectors.Dropper).Drop()
	if got := read(t, env, table(t, c, 7)); got != "" {
		t.Fatalf("a table that was dropped has rows: %s", got)
	}
}
