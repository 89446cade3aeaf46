package test_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/connectors/test"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func declare(t *testing.T, r *test.Registry, s types.Schema, options ...string) *test.Table {
	t.Helper()
	d := connectors.Declaration{Name: "t", ID: 1, Columns: s, Options: map[string]string{"connector": "test"}}
	for i := 0; i < len(options); i += 2 {
		d.Options[options[i]] = options[i+1]
	}
	if _, err := r.Connector().Table(context.Background(), d); err != nil {
		t.Fatal(err)
	}
	return r.Table("t")
}

// scan follows all splits of a table and prints what comes.
type scan struct {
	t       *testing.T
	env     *conntest.Env
	tb      *test.Table
	src     connectors.Source
	readers map[string]connectors.Reader
	at      map[string]connectors.Position
	ended   map[string]bool
}

func open(t *testing.T, env *conntest.Env, tb *test.Table) *scan {
	t.Helper()
	src, err := tb.Source(conntest.All(tb))
	if err != nil {
		t.Fatal(err)
	}
	return &scan{t: t, env: env, tb: tb, src: src, readers: map[string]connectors.Reader{}, at: map[string]connectors.Position{}, ended: map[string]bool{}}
}

func (s *scan) look() string {
	s.t.Helper()
	ctx := context.Background()
	var out []string
	for again := true; again; {
		again = false
		splits, err := s.src.Splits(ctx, s.env.Env)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, sp := range splits {
			if s.ended[sp.ID] {
				continue
			}
			r := s.readers[sp.ID]
			if r == nil {
				if r, err = s.src.Open(ctx, s.env.Env, sp, s.at[sp.ID], 1<<20); err != nil {
					s.t.Fatal(err)
				}
				s.readers[sp.ID] = r
				again = true
			}
			b, err := r.Next(ctx)
			switch {
			case errors.Is(err, connectors.ErrNotReady):
				continue
			case errors.Is(err, connectors.EOF):
				out = append(out, sp.ID+" end")
				s.ended[sp.ID] = true
				if err := r.Close(); err != nil {
					s.t.Fatal(err)
				}
				delete(s.readers, sp.ID)
				again = true
				continue
			case err != nil:
				s.t.Fatal(err)
			}
			again = true
			s.at[sp.ID] = b.Position
			if b.Watermark != stream.MinTime {
				out = append(out, fmt.Sprintf("%s wm %d", sp.ID, b.Watermark))
			}
			if b.Idle {
				out = append(out, sp.ID+" idle")
			}
			if b.Decode != nil {
				d, err := b.Decode(ctx, s.env.Allocator)
				if err != nil {
					s.t.Fatal(err)
				}
				for _, r := range conntest.Rows(d.Batch, s.tb.Schema()) {
					out = append(out, sp.ID+" "+r)
				}
				d.Batch.Release()
			}
		}
	}
	return strings.Join(out, ", ")
}

func (s *scan) close() {
	for _, r := range s.readers {
		if err := r.Close(); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := s.src.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// TestLog: every scan replays the log in its order, over all splits, and goes on with what comes.
func TestLog(t *testing.T) {
	env := conntest.NewEnv(t)
	tb := declare(t, test.NewRegistry(), types.Schema{{Name: "u", Type: types.StringType}, {Name: "ts", Type: types.TimestampOf(3)}})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	first := open(t, env, tb)
	must(tb.Append(0, "ann,2024-05-01 10:00:01"))
	must(tb.Append(1, `"NULL",NULL`))
	must(tb.Append(0, `"a,""b",2024-05-01`))
	must(tb.Watermark(0, "1970-01-01 00:00:01"))
	must(tb.Idle(1))
	want := `0 ann|2024-05-01 10:00:01.000, 1 NULL|NULL, 0 a,"b|2024-05-01 00:00:00.000, 0 wm 1000000, 1 idle`
	if got := first.look(); got != want {
		t.Fatalf("got %s\nwant %s", got, want)
	}
	if got := first.look(); got != "" {
		t.Fatal(got)
	}
	second := open(t, env, tb)
	if got := second.look(); got != want {
		t.Fatalf("replay: got %s\nwant %s", got, want)
	}
	second.close()
	must(tb.Append(2, "new,NULL"))
	select {
	case <-first.src.Changed():
	default:
		t.Fatal("a new split was not signalled")
	}
	if got := first.look(); got != "2 new|NULL" {
		t.Fatal(got)
	}
	// A scan that goes on at the positions.
	at := first.at
	first.close()
	must(tb.Append(0, "x,NULL"))
	must(tb.Append(1, "y,NULL"))
	tb.End(1)
	tb.End(-1)
	must(tb.Append(0, "behind the end,NULL")) // no error, and nobody reads it
	third := open(t, env, tb)
	for k, v := range at {
		third.at[k] = v
	}
	got := third.look()
	for _, want := range []string{"0 x|NULL", "1 y|NULL", "0 end", "1 end", "2 end"} {
		if !strings.Contains(got, want) {
			t.Fatalf("%s: %s is missing", got, want)
		}
	}
	if strings.Contains(got, "ann") || strings.Contains(got, "behind") {
		t.Fatal(got)
	}
	if third.src.Changed() != nil {
		t.Fatal("nothing new can come behind End(-1)")
	}
	third.close()
}

// TestPairs: the halves of an update come together.
func TestPairs(t *testing.T) {
	env := conntest.NewEnv(t)
	tb := declare(t, test.NewRegistry(), types.Schema{{Name: "i", Type: types.IntType}}, "changelog-mode", "all", "splits", "1")
	s := open(t, env, tb)
	defer s.close()
	for i, row := range []string{"+I,1", "-U,1", "+U,2", "-D,2"} {
		if err := tb.Append(0, row); err != nil {
			t.Fatal(err)
		}
		want := []string{"0 +I|1", "", "0 -U|1, 0 +U|2", "0 -D|2"}[i]
		if got := s.look(); got != want {
			t.Fatalf("%s: got %s, want %s", row, got, want)
		}
	}
	if s.src.Changed() != nil {
		t.Fatal("'splits' fixes the number of splits")
	}
}

func TestCells(t *testing.T) {
	r := test.NewRegistry()
	tb := declare(t, r, types.Schema{
		{Name: "a", Type: types.ArrayOf(types.IntType)}, {Name: "m", Type: types.MapOf(types.StringType, types.DoubleType)},
		{Name: "r", Type: types.RowOf(types.Field{Name: "x", Type: types.IntType}, types.Field{Name: "y", Type: types.StringType})}, {Name: "n", Type: types.DecimalOf(5, 2)},
	})
	if err := tb.Append(0, `"[1, null]","{""b"": 1.5, ""a"": null}","{""y"": ""q""}",1.005`); err != nil {
		t.Fatal(err)
	}
	s := open(t, conntest.NewEnv(t), tb)
	defer s.close()
	if got := s.look(); got != "0 [1, NULL]|{b=1.5, a=NULL}|(NULL, q)|1.01" {
		t.Fatal(got)
	}
	for _, tt := range [][2]string{
		{"NULL,NULL,NULL", "3 cells, but 4 columns (a, m, r, n)"},
		{`NULL,NULL,NULL,x`, "column n: not a DECIMAL(5, 2): 'x'"},
		{`"[1,",NULL,NULL,1`, "column a: a cell of type ARRAY<INT> is written as JSON: EOF"},
		{`"x`, "a quote is not closed"},
		{`"x"y`, "text behind a closing quote: y"},
	} {
		if err := tb.Append(0, tt[0]); err == nil || !strings.HasPrefix(err.Error(), tt[1]) {
			t.Errorf("%s: got %v, want %s", tt[0], err, tt[1])
		}
	}
	// The same declaration is the same table, another one is a new one.
	if declare(t, r, tb.Schema()) != tb {
		t.Error("the table was made anew")
	}
	if declare(t, r, tb.Schema()[:1]) == tb {
		t.Error("the table is the old one")
	}
}
