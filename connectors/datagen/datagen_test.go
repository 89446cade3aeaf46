package datagen_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/connectors/datagen"
	"github.com/weir-sql/weir/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func table(s types.Schema, options ...string) (connectors.Table, error) {
	d := connectors.Declaration{Name: "t", Columns: s, Options: map[string]string{"connector": "datagen"}}
	for i := 0; i < len(options); i += 2 {
		d.Options[options[i]] = options[i+1]
	}
	return datagen.Connector{}.Table(context.Background(), d)
}

var all = types.Schema{
	{Name: "b", Type: types.BooleanType}, {Name: "ti", Type: types.TinyIntType}, {Name: "i", Type: types.IntType}, {Name: "l", Type: types.BigIntType},
	{Name: "f", Type: types.FloatType}, {Name: "d", Type: types.DoubleType}, {Name: "n", Type: types.DecimalOf(5, 2)}, {Name: "s", Type: types.StringType},
	{Name: "c", Type: types.CharOf(3)}, {Name: "by", Type: types.BinaryOf(2)}, {Name: "dt", Type: types.DateType}, {Name: "tm", Type: types.TimeOf(0)},
	{Name: "ts", Type: types.TimestampOf(3)}, {Name: "ltz", Type: types.TimestampLTZOf(9)}, {Name: "a", Type: types.ArrayOf(types.IntType)},
	{Name: "m", Type: types.MapOf(types.StringType, types.IntType)}, {Name: "ms", Type: types.MultisetOf(types.IntType)},
	{Name: "r", Type: types.RowOf(types.Field{Name: "x", Type: types.IntType})}, {Name: "iv", Type: types.DayTimeType}, {Name: "sq", Type: types.StringType},
}

// TestSource is the suite: the same rows from any position and in any blocks, with a seed.
func TestSource(t *testing.T) {
	options := []string{"rows-per-second", "1000000", "number-of-rows", "100", "seed", "7", "fields.s.length", "5", "fields.i.min", "0", "fields.i.max", "9",
		"fields.a.element.max", "3", "fields.a.element.min", "1", "fields.sq.kind", "sequence", "fields.sq.start", "9", "fields.sq.end", "1000", "fields.l.null-rate", "0.5"}
	tb, err := table(all, options...)
	if err != nil {
		t.Fatal(err)
	}
	if !tb.Bounded() || tb.RowEstimate() != 100 {
		t.Fatal("100 rows")
	}
	env := conntest.NewEnv(t)
	first, err := conntest.ReadAll(t, env, tb, conntest.All(tb), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	conntest.Source(t, tb, first.Rows, 1<<20)
	nulls := 0
	for n, r := range first.Rows {
		c := strings.Split(r, "|")
		if c[2] < "0" || c[2] > "9" || len(c[7]) != 5 || len(c[8]) != 3 || c[10] != "2024-05-01" || c[11] != "10:00:00" || c[12] != "2024-05-01 10:00:00.000" || c[19] != fmt.Sprint(9+n) {
			t.Fatal(r)
		}
		if c[3] == "NULL" {
			nulls++
		}
	}
	if nulls < 30 || nulls > 70 {
		t.Fatalf("%d of 100 are NULL at a rate of 0.5", nulls)
	}
	options[5] = "8"
	other, err := table(all, options...)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := conntest.ReadAll(t, env, other, conntest.All(tb), 1<<20); err != nil || r.Rows[0] == first.Rows[0] {
		t.Fatal("another seed gives the same rows", err)
	}
}

// open begins to read a table.
func open(t *testing.T, env *conntest.Env, tb connectors.Table) connectors.Reader {
	t.Helper()
	ctx := context.Background()
	src, err := tb.(connectors.SourceTable).Source(conntest.All(tb))
	if err != nil {
		t.Fatal(err)
	}
	splits, err := src.Splits(ctx, env.Env)
	if err != nil {
		t.Fatal(err)
	}
	r, err := src.Open(ctx, env.Env, splits[0], nil, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRate: rows come with the clock.
func TestRate(t *testing.T) {
	tb, err := table(types.Schema{{Name: "i", Type: types.IntType}}, "rows-per-second", "2", "fields.i.kind", "sequence", "fields.i.start", "1", "fields.i.end", "4")
	if err != nil {
		t.Fatal(err)
	}
	env := conntest.NewEnv(t)
	ctx := context.Background()
	r := open(t, env, tb)
	defer r.Close()
	for i := 1; i <= 4; i++ {
		b, err := r.Next(ctx)
		if err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		d, err := b.Decode(ctx, env.Allocator)
		if err != nil {
			t.Fatal(err)
		}
		if got := conntest.Rows(d.Batch, tb.Schema()); len(got) != 1 || got[0] != fmt.Sprint(i) {
			t.Fatalf("row %d: %q", i, got)
		}
		d.Batch.Release()
		if i == 4 {
			break
		}
		if _, err = r.Next(ctx); !errors.Is(err, connectors.ErrNotReady) {
			t.Fatalf("behind row %d: %v", i, err)
		}
		ready := r.Ready()
		env.Clock.Advance(500 * time.Millisecond)
		<-ready
	}
	if _, err := r.Next(ctx); !errors.Is(err, connectors.EOF) {
		t.Fatal(err)
	}
}

// TestAskedOften: who asks for rows before they are due, again and again, leaves nobody behind that waits.
func TestAskedOften(t *testing.T) {
	tb, err := table(types.Schema{{Name: "i", Type: types.IntType}}, "rows-per-second", "1")
	if err != nil {
		t.Fatal(err)
	}
	env := conntest.NewEnv(t)
	ctx := context.Background()
	const times = 100
	ended := make(chan struct{}, times)
	start := env.Env.Go
	env.Env.Go = func(f func(context.Context)) {
		start(func(ctx context.Context) { f(ctx); ended <- struct{}{} })
	}
	r := open(t, env, tb)
	defer r.Close()
	first, err := r.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	d, err := first.Decode(ctx, env.Allocator)
	if err != nil {
		t.Fatal(err)
	}
	d.Batch.Release()
	for range times {
		if _, err := r.Next(ctx); !errors.Is(err, connectors.ErrNotReady) {
			t.Fatal(err)
		}
		r.Ready()
	}
	for i := range times - 1 {
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatalf("%d of %d still wait", times-i, times)
		}
	}
}

func TestOptions(t *testing.T) {
	s := types.Schema{{Name: "i", Type: types.IntType}, {Name: "s", Type: types.VarCharOf(3)}, {Name: "b", Type: types.BinaryOf(2).NotNull()}}
	for _, tt := range []struct {
		options []string
		want    string
	}{
		{[]string{"fields.i.kind", "sequence"}, "table t, column i: a sequence needs the options 'fields.i.start' and 'fields.i.end'"},
		{[]string{"fields.i.kind", "foo"}, "option 'fields.i.kind': 'foo' is not one of random, sequence"},
		{[]string{"fields.x.min", "1"}, "option 'fields.x.min' fits no column of table t; did you mean 'fields.i.min'?"},
		{[]string{"fields.s.min", "1"}, "table t, column s: the option 'min' is for numbers, not for VARCHAR(3)"},
		{[]string{"fields.i.length", "1"}, "table t, column i: the option 'length' is for text, bytes, ARRAY, MAP and MULTISET, not for INT"},
		{[]string{"fields.s.length", "4"}, "table t, column s: the length 4 does not fit VARCHAR(3)"},
		{[]string{"fields.i.max", "3000000000"}, "table t, column i: option 'fields.i.max': '3000000000' does not fit INT"},
		{[]string{"fields.i.min", "2", "fields.i.max", "1"}, "table t, column i: 'fields.i.min' is greater than 'fields.i.max'"},
		{[]string{"fields.i.kind", "sequence", "fields.i.start", "5", "fields.i.end", "3"}, "table t, column i: the sequence ends at 3 before it starts at 5"},
		{[]string{"fields.i.null-rate", "2"}, "table t, column i: the option 'null-rate' must be between 0 and 1"},
		{[]string{"fields.b.null-rate", "0.5"}, "table t, column b: the column is NOT NULL, so 'null-rate' must be 0"},
		{[]string{"rows-per-second", "0"}, "option 'rows-per-second' must be at least 1"},
		{[]string{"rows-per-secon", "5"}, "unknown option 'rows-per-secon' of connector 'datagen'; did you mean 'rows-per-second'?"},
	} {
		if _, err := table(s, tt.options...); err == nil || err.Error() != tt.want {
			t.Errorf("%v:\n got %v\nwant %s", tt.options, err, tt.want)
		}
	}
}
