package filesystem_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/types"
)

// TestSink is the suite for each format, with and without partitions and compression.
func TestSink(t *testing.T) {
	s := types.Schema{{Name: "a", Type: types.IntType}, {Name: "s", Type: types.StringType}, {Name: "p", Type: types.StringType}}
	for _, tt := range []struct {
		format, compression string
		partitions          []string
		header              bool
	}{
		{"json", "none", nil, false}, {"csv", "gzip", nil, true}, {"json", "zstd", []string{"p"}, false}, {"csv", "none", []string{"p"}, false},
		{"parquet", "none", nil, false}, {"parquet", "none", []string{"p"}, false},
	} {
		t.Run(tt.format+" "+tt.compression+" "+strings.Join(tt.partitions, ","), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			conntest.Sink(t, func() connectors.Table {
				d := declare(s, "path", dir, "format", tt.format)
				if tt.format != "parquet" {
					d.Options["sink.compression"] = tt.compression
				}
				if tt.header {
					d.Options["csv.header"] = "true"
				}
				d.PartitionBy = tt.partitions
				if _, err := os.Stat(dir); err != nil && d.PartitionBy == nil {
					_ = os.MkdirAll(dir, 0o777)
				}
				return table(t, d)
			}, []any{int32(1), "x,\"y\"\n", "p/1"}, []any{nil, "", "p/1"})
			// Hidden names only for what was prepared and never committed: nothing is left.
			for _, f := range files(t, dir) {
				if strings.HasPrefix(f, ".weir-") {
					t.Errorf("%s is left", f)
				}
			}
		})
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(out)
	return out
}

func commit(t *testing.T, s connectors.Sink, epoch int64) {
	t.Helper()
	r, err := s.Prepare(context.Background(), epoch)
	if err != nil {
		t.Fatal(err)
	}
	if r != nil {
		if err := s.Commit(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPartitions: folder names, what is in the files, the success file, and overwriting.
func TestPartitions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	s := types.Schema{{Name: "dt", Type: types.DateType}, {Name: "v", Type: types.IntType}, {Name: "k", Type: types.StringType}}
	d := declare(s, "path", dir, "format", "csv", "sink.partition-commit.policy.kind", "success-file")
	d.PartitionBy = []string{"dt", "k"}
	tb := table(t, d)
	env := conntest.NewEnv(t)
	run := func(overwrite bool, rows ...[]any) {
		t.Helper()
		sink, err := tb.(connectors.SinkTable).Sink(connectors.Write{Overwrite: overwrite})
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Open(context.Background(), env.Env, nil); err != nil {
			t.Fatal(err)
		}
		if err := sink.Write(context.Background(), conntest.Batch(t, env, s, nil, rows...)); err != nil {
			t.Fatal(err)
		}
		commit(t, sink, 1)
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
	}
	day := types.DateVal(19844)
	run(false, []any{day, int32(1), "a/b =%"}, []any{day, int32(2), nil}, []any{day, int32(3), "a/b =%"}, []any{day, int32(4), ""})
	got := strings.Join(files(t, dir), " ")
	want := "dt=2024-05-01/k=__DEFAULT_PARTITION__/_SUCCESS dt=2024-05-01/k=__DEFAULT_PARTITION__/part-000001-00-000002.csv " +
		"dt=2024-05-01/k=a%2Fb %3D%25/_SUCCESS dt=2024-05-01/k=a%2Fb %3D%25/part-000001-00-000001.csv"
	if got != want {
		t.Fatalf("got %s\nwant %s", got, want)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "dt=2024-05-01/k=a%2Fb %3D%25/part-000001-00-000001.csv")); string(b) != "1\n3\n" {
		t.Fatalf("%q", b)
	}
	read := func(want ...string) {
		t.Helper()
		r, err := conntest.ReadAll(t, env, tb, conntest.All(tb), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		conntest.Equal(t, r.Rows, want)
	}
	read("2024-05-01|2|NULL", "2024-05-01|4|NULL", "2024-05-01|1|a/b =%", "2024-05-01|3|a/b =%")
	run(true, []any{day, int32(9), nil}) // replaces this partition only
	read("2024-05-01|9|NULL", "2024-05-01|1|a/b =%", "2024-05-01|3|a/b =%")
}

// TestRolling: files end by size and by age.
func TestRolling(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	s := types.Schema{{Name: "v", Type: types.StringType}}
	tb := table(t, declare(s, "path", dir, "format", "json", "sink.rolling-policy.file-size", "1 kb", "sink.rolling-policy.rollover-interval", "10 s"))
	env := conntest.NewEnv(t)
	sink, err := tb.(connectors.SinkTable).Sink(connectors.Write{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Open(context.Background(), env.Env, nil); err != nil {
		t.Fatal(err)
	}
	put := func(v string) {
		t.Helper()
		if err := sink.Write(context.Background(), conntest.Batch(t, env, s, nil, []any{v})); err != nil {
			t.Fatal(err)
		}
	}
	put("a")
	put(strings.Repeat("x", 2000))
	put("b")
	env.Clock.Advance(10 * time.Second)
	put("c")
	put("d")
	commit(t, sink, 1)
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	var sizes []int64
	for _, f := range files(t, dir) {
		info, err := os.Stat(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, info.Size())
	}
	if len(sizes) != 3 || sizes[0] < 2000 || sizes[1] != 20 || sizes[2] != 10 {
		t.Fatal(files(t, dir), sizes)
	}
}

// TestStdout writes at once, without checkpoints.
func TestStdout(t *testing.T) {
	s := types.Schema{{Name: "a", Type: types.IntType}, {Name: "b", Type: types.StringType}}
	tb := table(t, declare(s, "path", "-", "format", "csv", "csv.header", "true"))
	env := conntest.NewEnv(t)
	sink, err := tb.(connectors.SinkTable).Sink(connectors.Write{})
	if err != nil {
		t.Fatal(err)
	}
	if i, ok := sink.(connectors.ImmediateSink); !ok || !i.Immediate() {
		t.Fatal("standard output needs no checkpoints")
	}
	if err := sink.Open(context.Background(), env.Env, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if err := sink.Write(context.Background(), conntest.Batch(t, env, s, nil, []any{int32(i), ""})); err != nil {
			t.Fatal(err)
		}
	}
	if got := env.Out.String(); got != "a,b\n0,\"\"\n1,\"\"\n" {
		t.Fatalf("%q", got)
	}
}

func TestSinkErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/f.json", []byte("{}\n"))
	s := types.Schema{{Name: "a", Type: types.IntType}}
	for _, tt := range []struct {
		options []string
		want    string
	}{
		{[]string{"path", dir + "/f.json", "format", "json"}, "is a file; a sink writes files into a folder"},
		{[]string{"path", dir + "/*.json", "format", "json"}, "is a pattern; a sink needs a folder as 'path'"},
		{[]string{"path", dir, "format", "json", "source.monitor-interval", "1 s"}, "has 'source.monitor-interval': it is a source"},
	} {
		tb := table(t, declare(s, tt.options...))
		sink, err := tb.(connectors.SinkTable).Sink(connectors.Write{})
		if err == nil {
			err = sink.Open(context.Background(), conntest.NewEnv(t).Env, nil)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v", tt.options, err)
		}
	}
}
