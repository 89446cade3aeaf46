package conntest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/types"
)

// ScanSchema returns the columns of the batches of a scan.
func ScanSchema(table connectors.Table, scan connectors.Scan) types.Schema {
	var s types.Schema
	for _, c := range scan.Columns {
		s = append(s, table.Schema()[c])
	}
	for _, key := range scan.Metadata {
		s = append(s, table.MetadataKeys()[table.MetadataKeys().Index(key)])
	}
	return s
}

// All wants every physical column.
func All(table connectors.Table) connectors.Scan {
	var scan connectors.Scan
	for i := range table.Schema() {
		scan.Columns = append(scan.Columns, i)
	}
	return scan
}

// Read is what a scan gave.
type Read struct {
	Rows []string
	Bad  []connectors.BadRecord
}

// ReadAll reads all splits one after the other, in their order.
func ReadAll(t testing.TB, env *Env, table connectors.Table, scan connectors.Scan, blockBytes int) (Read, error) {
	t.Helper()
	var out Read
	src, err := table.(connectors.SourceTable).Source(scan)
	if err != nil {
		return out, err
	}
	defer src.Close()
	ctx := context.Background()
	splits, err := src.Splits(ctx, env.Env)
	if err != nil {
		return out, err
	}
	for _, s := range splits {
		if err := readSplit(ctx, env, src, s, ScanSchema(table, scan), blockBytes, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

func readSplit(ctx context.Context, env *Env, src connectors.Source, s connectors.Split, schema types.Schema, blockBytes int, out *Read) error {
	r, err := src.Open(ctx, env.Env, s, nil, blockBytes)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		b, err := r.Next(ctx)
		switch {
		case errors.Is(err, connectors.EOF):
			return nil
		case errors.Is(err, connectors.ErrNotReady):
			if s.Bounded {
				<-r.Ready()
				continue
			}
			return nil
		case err != nil:
			return err
		}
		if err := take(ctx, env, b, schema, out); err != nil {
			return err
		}
	}
}

// next is Next of a reader of a bounded split: what is not there yet is waited for.
func next(ctx context.Context, r connectors.Reader) (connectors.Block, error) {
	for {
		b, err := r.Next(ctx)
		if !errors.Is(err, connectors.ErrNotReady) {
			return b, err
		}
		<-r.Ready()
	}
}

func take(ctx context.Context, env *Env, b connectors.Block, schema types.Schema, out *Read) error {
	if b.Decode == nil {
		return nil
	}
	d, err := b.Decode(ctx, env.Allocator)
	if err != nil {
		return err
	}
	out.Rows = append(out.Rows, Rows(d.Batch, schema)...)
	out.Bad = append(out.Bad, d.Bad...)
	d.Batch.Release()
	return nil
}

// Source is the suite for sources: all columns of a table whose reading ends, in blocks of several sizes. At any position that comes with a block the
// split opens again and gives the same rest; a reader closes at any time, with blocks that are decoded, discarded, or decoded out of order; a projection
// gives the same columns. wantRows are the rows of all splits, as Rows prints them; blockSizes are what Open is given.
func Source(t *testing.T, table connectors.Table, wantRows []string, blockSizes ...int) {
	t.Helper()
	scan := All(table)
	for _, size := range blockSizes {
		t.Run(fmt.Sprintf("blocks of %d", size), func(t *testing.T) {
			env := NewEnv(t)
			all, err := ReadAll(t, env, table, scan, size)
			if err != nil {
				t.Fatal(err)
			}
			Equal(t, all.Rows, wantRows)
			positions(t, env, table, scan, size, wantRows)
			closeAnywhere(t, env, table, scan, size)
			for i, c := range scan.Columns {
				some, err := ReadAll(t, env, table, connectors.Scan{Columns: []int{c}}, size)
				if err != nil {
					t.Fatal(err)
				}
				if len(some.Rows) != len(wantRows) {
					t.Fatalf("column %d alone has %d rows, want %d", i, len(some.Rows), len(wantRows))
				}
			}
			none, err := ReadAll(t, env, table, connectors.Scan{}, size)
			if err != nil || len(none.Rows) != len(wantRows) {
				t.Fatalf("no column at all: %d rows, want %d (%v)", len(none.Rows), len(wantRows), err)
			}
		})
	}
}

// positions reads N blocks, opens again at the position, and wants the rest.
func positions(t *testing.T, env *Env, table connectors.Table, scan connectors.Scan, size int, want []string) {
	t.Helper()
	ctx := context.Background()
	src, err := table.(connectors.SourceTable).Source(scan)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	splits, err := src.Splits(ctx, env.Env)
	if err != nil {
		t.Fatal(err)
	}
	schema := ScanSchema(table, scan)
	done := 0
	for _, s := range splits {
		r, err := src.Open(ctx, env.Env, s, nil, size)
		if err != nil {
			t.Fatal(err)
		}
		var whole Read
		var cuts []int
		var at []connectors.Position
		for {
			b, err := next(ctx, r)
			if err != nil {
				if !errors.Is(err, connectors.EOF) {
					t.Fatal(err)
				}
				break
			}
			if err := take(ctx, env, b, schema, &whole); err != nil {
				t.Fatal(err)
			}
			cuts, at = append(cuts, len(whole.Rows)), append(at, b.Position)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		for i := range at {
			if len(at) > 40 && i%(len(at)/40) != 0 {
				continue
			}
			r, err := src.Open(ctx, env.Env, s, at[i], size)
			if err != nil {
				t.Fatal(err)
			}
			var rest Read
			for {
				b, err := next(ctx, r)
				if err != nil {
					if !errors.Is(err, connectors.EOF) {
						t.Fatal(err)
					}
					break
				}
				if err := take(ctx, env, b, schema, &rest); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			Equal(t, rest.Rows, whole.Rows[cuts[i]:])
		}
		done += len(whole.Rows)
	}
	if done != len(want) {
		t.Fatalf("%d rows, want %d", done, len(want))
	}
}

// closeAnywhere closes readers after 0, 1, 2 ... blocks, the last of which is not decoded, or decoded behind Close.
func closeAnywhere(t *testing.T, env *Env, table connectors.Table, scan connectors.Scan, size int) {
	t.Helper()
	ctx := context.Background()
	src, err := table.(connectors.SourceTable).Source(scan)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	splits, err := src.Splits(ctx, env.Env)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range splits {
		for blocks := range 4 {
			r, err := src.Open(ctx, env.Env, s, nil, size)
			if err != nil {
				t.Fatal(err)
			}
			var held []connectors.Block
			for range blocks {
				b, err := next(ctx, r)
				if err != nil {
					break
				}
				held = append(held, b)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if err := r.Close(); err != nil {
				t.Fatalf("a second Close: %v", err)
			}
			for i := len(held) - 1; i >= 0; i-- { // out of order
				if i%2 == 0 && held[i].Discard != nil {
					held[i].Discard()
					continue
				}
				var sink Read
				if err := take(ctx, env, held[i], ScanSchema(table, scan), &sink); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// Equal compares rows and shows the first that differs.
func Equal(t testing.TB, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("row %d:\n got %s\nwant %s", i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d\n got %.2000q\nwant %.2000q", len(got), len(want), got, want)
	}
}
