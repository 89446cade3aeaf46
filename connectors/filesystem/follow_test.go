package filesystem_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/types"
)

// follower reads a table in follow mode, all splits in turn.
type follower struct {
	t       *testing.T
	env     *conntest.Env
	tb      connectors.Table
	src     connectors.Source
	size    int
	readers map[string]connectors.Reader
	at      map[string]connectors.Position
	idle    map[string]bool
	rows    []string
}

func follow(t *testing.T, env *conntest.Env, tb connectors.Table, size int) *follower {
	t.Helper()
	src, err := tb.(connectors.SourceTable).Source(conntest.All(tb))
	if err != nil {
		t.Fatal(err)
	}
	return &follower{t: t, env: env, tb: tb, src: src, size: size, readers: map[string]connectors.Reader{}, at: map[string]connectors.Position{}, idle: map[string]bool{}}
}

// look reads what there is and returns the new rows.
func (f *follower) look() []string {
	f.t.Helper()
	ctx := context.Background()
	splits, err := f.src.Splits(ctx, f.env.Env)
	if err != nil {
		f.t.Fatal(err)
	}
	from := len(f.rows)
	for _, s := range splits {
		r := f.readers[s.ID]
		if r == nil {
			if r, err = f.src.Open(ctx, f.env.Env, s, f.at[s.ID], f.size); err != nil {
				f.t.Fatal(err)
			}
			f.readers[s.ID] = r
		}
		for {
			b, err := r.Next(ctx)
			if errors.Is(err, connectors.ErrNotReady) || errors.Is(err, connectors.EOF) {
				break
			}
			if err != nil {
				f.t.Fatal(err)
			}
			f.at[s.ID], f.idle[s.ID] = b.Position, b.Idle
			if b.Decode == nil {
				continue
			}
			d, err := b.Decode(ctx, f.env.Allocator)
			if err != nil {
				f.t.Fatal(err)
			}
			f.rows = append(f.rows, conntest.Rows(d.Batch, f.tb.Schema())...)
			d.Batch.Release()
		}
	}
	return f.rows[from:]
}

func (f *follower) close() {
	for id, r := range f.readers {
		if err := r.Close(); err != nil {
			f.t.Fatal(err)
		}
		delete(f.readers, id)
	}
	if err := f.src.Close(); err != nil {
		f.t.Fatal(err)
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFM10 is case FM-10: a file that grows in pieces that cut records and runes.
func TestFM10(t *testing.T) {
	s := types.Schema{{Name: "id", Type: types.IntType}, {Name: "name", Type: types.StringType}}
	pieces := []string{"{\"id\":1}\n{\"i", "d\":2}\n{\"name\":\"\xc3", "\xa9\"}\n{\"id\":4}"}
	long := "{\"id\":0,\"name\":\"" + strings.Repeat("x", 5000) + "\"}\n"
	for _, front := range []string{"", long} {
		path := filepath.Join(t.TempDir(), "a.json")
		appendTo(t, path, front)
		env := conntest.NewEnv(t)
		tb := table(t, declare(s, "path", path, "format", "json", "source.monitor-interval", "1 s"))
		if tb.Bounded() {
			t.Fatal("a followed table is not bounded")
		}
		f := follow(t, env, tb, 4096)
		if got := f.look(); len(got) != strings.Count(front, "\n") {
			t.Fatal(got)
		}
		for i, want := range [][]string{{"1|NULL"}, {"2|NULL"}, {"NULL|é"}} {
			appendTo(t, path, pieces[i])
			conntest.Equal(t, f.look(), want)
			// A reader that is opened at the position of the last record goes on at the start of the incomplete line.
			f.close()
			f = follow(t, env, tb, 4096)
			f.at[path] = nil
			conntest.Equal(t, f.look(), append(append([]string{}, frontRows(front)...), [][]string{{"1|NULL"}, {"1|NULL", "2|NULL"}, {"1|NULL", "2|NULL", "NULL|é"}}[i]...))
		}
		at := f.at[path]
		f.close()
		appendTo(t, path, "\n")
		f = follow(t, env, tb, 4096)
		f.at[path] = at
		conntest.Equal(t, f.look(), []string{"4|NULL"})
		f.close()

		// Bounded: the last line counts without its end.
		if err := os.Truncate(path, int64(len(front)+len(strings.Join(pieces, "")))); err != nil {
			t.Fatal(err)
		}
		r, err := conntest.ReadAll(t, env, table(t, declare(s, "path", path, "format", "json")), conntest.All(tb), 4096)
		if err != nil {
			t.Fatal(err)
		}
		conntest.Equal(t, r.Rows, append(frontRows(front), "1|NULL", "2|NULL", "NULL|é", "4|NULL"))
	}
}

func frontRows(front string) []string {
	if front == "" {
		return nil
	}
	return []string{"0|" + strings.Repeat("x", 5000)}
}

// TestReplaced: a file that is cut off or replaced is read anew, and nothing stale is glued to it.
func TestReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	s := types.Schema{{Name: "a", Type: types.IntType}, {Name: "b", Type: types.StringType}}
	env := conntest.NewEnv(t)
	tb := table(t, declare(s, "path", path, "format", "csv", "source.monitor-interval", "1 s", "csv.header", "true"))
	f := follow(t, env, tb, 4096)
	defer func() { f.close() }()
	conntest.Equal(t, f.look(), nil) // not there yet
	appendTo(t, path, "a,b\n1,x\n2,\"y")
	conntest.Equal(t, f.look(), []string{"1|x"})
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	appendTo(t, path, "b,a\nz,3")
	conntest.Equal(t, f.look(), nil)
	appendTo(t, path, "\n")
	conntest.Equal(t, f.look(), []string{"3|z"})
	if n := env.Counter("files_replaced"); n != 1 {
		t.Fatalf("files_replaced = %d", n)
	}
	// Rotated: what stood in the old file without a line end is complete.
	appendTo(t, path, "w,4")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	appendTo(t, path, "a,b\n5,v\n")
	conntest.Equal(t, f.look(), []string{"4|w", "5|v"})

	// A position of a file that is not there any more.
	at := f.at[path]
	f.close()
	if err := os.WriteFile(path, []byte("a,b\n6,u\n7,t\n8,s\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	f = follow(t, env, tb, 4096)
	f.at[path] = at
	conntest.Equal(t, f.look(), []string{"6|u", "7|t", "8|s"})
	bounded := table(t, declare(s, "path", path, "format", "csv", "csv.header", "true"))
	src, err := bounded.(connectors.SourceTable).Source(conntest.All(bounded))
	if err != nil {
		t.Fatal(err)
	}
	_, err = src.Open(context.Background(), env.Env, connectors.Split{ID: path, Bounded: true}, at, 4096)
	if err == nil || !strings.Contains(err.Error(), "has changed since the checkpoint") {
		t.Fatal(err)
	}
}

// TestNewFiles: files that come later are found by the clock; all files but the one that was modified last are idle at their end.
func TestNewFiles(t *testing.T) {
	dir := t.TempDir()
	s := types.Schema{{Name: "a", Type: types.IntType}}
	old := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	appendTo(t, dir+"/1.csv", "1\n")
	if err := os.Chtimes(dir+"/1.csv", old, old); err != nil {
		t.Fatal(err)
	}
	appendTo(t, dir+"/2.csv", "2\n")
	if err := os.Chtimes(dir+"/2.csv", old.Add(time.Hour), old.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	env := conntest.NewEnv(t)
	tb := table(t, declare(s, "path", dir, "format", "csv", "source.monitor-interval", "5 s"))
	f := follow(t, env, tb, 4096)
	defer func() { f.close() }()
	conntest.Equal(t, f.look(), []string{"1", "2"})
	if !f.idle[dir+"/1.csv"] || f.idle[dir+"/2.csv"] {
		t.Fatal(f.idle)
	}
	for env.Clock.Waiting() == 0 { // until the monitor has begun to wait
		runtime.Gosched()
	}
	appendTo(t, dir+"/3.csv", "3\n")
	env.Clock.Advance(5 * time.Second)
	<-f.src.Changed()
	conntest.Equal(t, f.look(), []string{"3"})
	if !f.idle[dir+"/2.csv"] || f.idle[dir+"/3.csv"] {
		t.Fatal(f.idle)
	}
	// A file that grows wakes up.
	for env.Clock.Waiting() == 0 {
		runtime.Gosched()
	}
	appendTo(t, dir+"/1.csv", "4\n")
	env.Clock.Advance(5 * time.Second)
	<-f.readers[dir+"/1.csv"].Ready()
	conntest.Equal(t, f.look(), []string{"4"})
}
