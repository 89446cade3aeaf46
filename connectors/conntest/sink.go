package conntest

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Batch makes a batch of canonical values in the environment's memory.
func Batch(t testing.TB, env *Env, s types.Schema, kinds []stream.RowKind, rows ...[]any) stream.Batch {
	t.Helper()
	cols := make([]arrow.Array, len(s))
	for i, c := range s {
		b := types.NewBuilder(env.Allocator, c.Type)
		for _, r := range rows {
			if err := types.Append(b, r[i], c.Type); err != nil {
				t.Fatalf("column %s: %v", c.Name, err)
			}
		}
		cols[i] = b.NewArray()
		b.Release()
	}
	rec := array.NewRecordBatch(s.Arrow(), cols, int64(len(rows)))
	for _, c := range cols {
		c.Release()
	}
	return stream.Batch{Record: rec, Kinds: kinds}
}

// Sink is the suite for sinks whose rows are visible from Commit on. table must make the same table anew with each call and read what was committed; rows
// are of its schema and not there yet. Prepare without rows gives no receipt or one that commits nothing; what was not prepared is dropped by Close; a
// prepared epoch is committed by Commit, by Commit again, or by the Open of a later run, and is there once; Selection is obeyed.
func Sink(t *testing.T, table func() connectors.Table, rows ...[]any) {
	t.Helper()
	env := NewEnv(t)
	ctx := context.Background()
	schema := table().Schema()
	text := func(r []any) string {
		line := ""
		for i, v := range r {
			if i > 0 {
				line += "|"
			}
			line += types.Display(v, schema[i].Type, nil)
		}
		return line
	}
	var want []string
	check := func(when string) {
		t.Helper()
		tb := table()
		got, err := ReadAll(t, env, tb, All(tb), 1<<20)
		if err != nil && len(want) > 0 {
			t.Fatalf("%s: %v", when, err)
		}
		if fmt.Sprint(got.Rows) != fmt.Sprint(want) {
			t.Fatalf("%s:\n got %q\nwant %q", when, got.Rows, want)
		}
	}
	open := func(restored ...[]byte) connectors.Sink {
		t.Helper()
		s, err := table().(connectors.SinkTable).Sink(connectors.Write{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Open(ctx, env.Env, restored); err != nil {
			t.Fatal(err)
		}
		return s
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(s connectors.Sink) {
		t.Helper()
		// Each row between two others that the selection leaves out.
		all := append([][]any{rows[0]}, rows...)
		all = append(all, rows[0])
		b := Batch(t, env, schema, nil, all...)
		for i := range rows {
			b.Selection = append(b.Selection, int32(i+1))
		}
		must(s.Write(ctx, b))
	}
	once := func() {
		for _, r := range rows {
			want = append(want, text(r))
		}
	}

	s := open()
	put(s)
	check("written, not prepared")
	receipt, err := s.Prepare(ctx, 1)
	must(err)
	check("prepared")
	must(s.Commit(ctx, receipt))
	once()
	check("committed")
	must(s.Commit(ctx, receipt))
	check("committed again")
	nothing, err := s.Prepare(ctx, 2)
	must(err)
	if nothing != nil {
		must(s.Commit(ctx, nothing))
	}
	check("an empty epoch")
	put(s)
	must(s.Close())
	check("closed without Prepare")

	s = open()
	put(s)
	first, err := s.Prepare(ctx, 3)
	must(err)
	put(s)
	second, err := s.Prepare(ctx, 4)
	must(err)
	put(s)
	must(s.Close())
	check("prepared, closed")
	s = open(first, second)
	once()
	once()
	check("restored")
	must(s.Close())
	s = open(first, second)
	check("restored again")
	must(s.Commit(ctx, first))
	check("restored and committed again")
	must(s.Close())
}
