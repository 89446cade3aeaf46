package filesystem_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	kgzip "github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/builtin"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/connectors/filesystem"
	"github.com/weir-sql/weir/connectors/internal/biddata"
	"github.com/weir-sql/weir/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func formats(name string) (connectors.Format, error) {
	for _, f := range builtin.Formats() {
		if f.Name() == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("unknown format '%s'", name)
}

func declare(s types.Schema, options ...string) connectors.Declaration {
	d := connectors.Declaration{Name: "t", Columns: s, Options: map[string]string{"connector": "filesystem"}, Formats: formats}
	for i := 0; i < len(options); i += 2 {
		d.Options[options[i]] = options[i+1]
	}
	return d
}

func table(t testing.TB, d connectors.Declaration) connectors.Table {
	t.Helper()
	tb, err := filesystem.Connector{}.Table(context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

func gz(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zst(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(b)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestSource is the suite over a folder of files of each kind.
func TestSource(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 3 {
		text := biddata.Lines(120, uint64(i), false)
		for _, l := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
			want = append(want, strings.ReplaceAll(l, ",", "|"))
		}
		js := biddata.Lines(120, uint64(i), true)
		write(t, fmt.Sprintf("%s/csv/%d.csv", dir, i), text)
		write(t, fmt.Sprintf("%s/json/%d.json", dir, i), js)
		write(t, fmt.Sprintf("%s/gz/%d.json.gz", dir, i), gz(t, js))
		write(t, fmt.Sprintf("%s/zst/%d.csv.zst", dir, i), zst(t, text))
		header := "extra,auction,bidder,price,channel,url,dateTime,more\r\n"
		for _, l := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
			c := strings.SplitN(l, ",", 7)
			header += fmt.Sprintf("\"%s\",%s,\r\n", c[6], strings.Join(c[:6], ","))
		}
		write(t, fmt.Sprintf("%s/header/%d.csv", dir, i), []byte(header))
	}
	for _, tt := range []struct{ name, path, format, option string }{
		{"csv", "csv", "csv", ""}, {"json", "json", "json", ""}, {"gzip", "gz/*.gz", "json", ""}, {"zstd", "zst", "csv", ""}, {"header", "header", "csv", "csv.header"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := declare(biddata.Schema(), "path", filepath.Join(dir, tt.path), "format", tt.format)
			if tt.option != "" {
				d.Options[tt.option] = "true"
			}
			conntest.Source(t, table(t, d), want, 4<<10, 10<<10, 1<<20)
		})
	}
}

// TestListing: what is a file of the table, in which order, with which partition values and metadata.
func TestListing(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"dt=2024-01-01/h=1/a.json", "dt=2024-01-01/h=10/a.json", "dt=2024-01-02/h=__DEFAULT_PARTITION__/a.json", "dt=a%2Fb/h=2/b.json",
		"dt=2024-01-01/h=1/.hidden.json", "dt=2024-01-01/h=1/_SUCCESS", ".weir-000001/part-000001.json", "_tmp/x.json"} {
		write(t, filepath.Join(dir, f), []byte(fmt.Sprintf(`{"f":"%s"}`, f)+"\n"))
	}
	s := types.Schema{{Name: "f", Type: types.StringType}, {Name: "h", Type: types.IntType}, {Name: "dt", Type: types.StringType}}
	d := declare(s, "path", dir, "format", "json")
	d.PartitionBy = []string{"dt", "h"}
	d.Metadata = []connectors.MetadataColumn{{Name: "name", Key: "file.name", Type: types.StringType}}
	tb := table(t, d)
	env := conntest.NewEnv(t)
	r, err := conntest.ReadAll(t, env, tb, connectors.Scan{Columns: []int{0, 1, 2}, Metadata: []string{"file.name"}}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	conntest.Equal(t, r.Rows, []string{
		"dt=2024-01-01/h=1/a.json|1|2024-01-01|a.json",
		"dt=2024-01-01/h=10/a.json|10|2024-01-01|a.json",
		"dt=2024-01-02/h=__DEFAULT_PARTITION__/a.json|NULL|2024-01-02|a.json",
		"dt=a%2Fb/h=2/b.json|2|a/b|b.json",
	})
	// Only partition columns and metadata, in another order than the format's.
	r, err = conntest.ReadAll(t, env, tb, connectors.Scan{Columns: []int{2}, Metadata: []string{"file.path", "file.size"}}, 1<<20)
	if err != nil || len(r.Rows) != 4 || r.Rows[0] != "2024-01-01|"+filepath.Join(dir, "dt=2024-01-01/h=1/a.json")+"|33" {
		t.Fatal(r.Rows, err)
	}
	d.Options["source.path.regex-pattern"] = ".*h=1.*"
	if r, err = conntest.ReadAll(t, env, table(t, d), conntest.All(tb), 1<<20); err != nil || len(r.Rows) != 2 {
		t.Fatal(r.Rows, err)
	}
}

// TestErrors: each with its place and its cure.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	s := types.Schema{{Name: "id", Type: types.IntType}, {Name: "s", Type: types.StringType}}
	big := []byte(`{"id":1,"s":"` + strings.Repeat("x", 70_000) + `"}` + "\n")
	write(t, dir+"/bad.json", []byte("{\"id\":1}\n{\"id\":\"x\"}\n"))
	write(t, dir+"/cut.json.gz", gz(t, biddata.Lines(1000, 1, true))[:10_000])
	write(t, dir+"/no.json.gz", []byte("no gzip\n"))
	write(t, dir+"/some.xz", []byte("?"))
	write(t, dir+"/big.json", append([]byte("{\"id\":0}\n"), big...))
	write(t, dir+"/quote.csv", []byte("1,a\n2,\"b\n"+strings.Repeat("3,c\n", 50_000)))
	write(t, dir+"/no.parquet", []byte("PAR1"))
	write(t, dir+"/hdr.csv", []byte("ID,s\n1,a\n"))
	write(t, dir+"/empty.csv", nil)
	write(t, dir+"/blanks.json", []byte("\n\n"))
	write(t, dir+"/dt=x/a.json", []byte("{}\n"))
	for _, tt := range []struct {
		options []string
		want    string
	}{
		{[]string{"path", "DIR/none.json"}, "no such file or folder: 'DIR/none.json' (working folder "},
		{[]string{"path", "DIR/*.none", "format", "json"}, "no file matches the pattern 'DIR/*.none' (working folder "},
		{[]string{"path", "DIR/bad.json"}, "DIR/bad.json:2: id: 'x' is not an INT; to go on behind bad records set 'json.ignore-parse-errors' = 'true' or 'bad-records.table'"},
		{[]string{"path", "DIR/cut.json.gz"}, "DIR/cut.json.gz:"},
		{[]string{"path", "DIR/no.json.gz"}, "DIR/no.json.gz: this is no gzip file: "},
		{[]string{"path", "DIR/some.xz", "format", "json"}, "DIR/some.xz: this compression is not supported; gzip (.gz), zstd (.zst) and bzip2 (.bz2) are"},
		{[]string{"path", "DIR/big.json", "source.max-record-size", "64 kb"}, "DIR/big.json:2: the record that begins here is longer than 65536 bytes; "},
		{[]string{"path", "DIR/quote.csv", "source.max-record-size", "64 kb"}, "DIR/quote.csv:2: the record that begins here is longer than 65536 bytes; a quote may not be closed"},
		{[]string{"path", "DIR/quote.csv"}, "DIR/quote.csv:2: a quote is not closed"},
		{[]string{"path", "DIR/no.parquet"}, "DIR/no.parquet: this is no complete parquet file (it may be cut off, or still be written): "},
		{[]string{"path", "DIR/hdr.csv", "csv.header", "true"}, "DIR/hdr.csv:1: the header has no column 'id' (names are compared with case): did you mean 'ID'?"},
		{[]string{"path", "DIR/x.json", "json.ignore-parse-error", "true"}, "unknown option 'json.ignore-parse-error' of connector 'filesystem' with format 'json'; did you mean 'json.ignore-parse-errors'?"},
		{[]string{"path", "DIR/x.json", "auto-compaction", "true"}, "the option 'auto-compaction' is not supported: write larger files"},
		{[]string{"path", "DIR/x.json", "sink.partition-commit.trigger", "partition-time"}, "option 'sink.partition-commit.trigger': 'partition-time' is not one of process-time"},
		{[]string{"path", "DIR/x.json", "csv.header", "true"}, "unknown option 'csv.header' of connector 'filesystem' with format 'json'"},
		{[]string{"path", "s3://b/x.json"}, "option 'path': the file system 's3' is not supported; only local files are"},
		{[]string{"path", "DIR/x"}, "connector 'filesystem' needs the option 'format' (json, csv, parquet, raw): 'DIR/x' does not tell it by its suffix"},
		{[]string{"path", "DIR/x", "format", "jsn"}, "unknown format 'jsn'"},
		{[]string{"format", "json"}, "connector 'filesystem' needs the option 'path': a file, a folder or a pattern"},
		{[]string{"path", "DIR/bad.json", "source.monitor-interval", "0 s"}, "option 'source.monitor-interval' must be longer than 0"},
		{[]string{"path", "DIR/bad.json", "source.monitor-interval", "soon"}, "option 'source.monitor-interval': 'soon' is not a duration: "},
	} {
		var options []string
		for _, o := range tt.options {
			options = append(options, strings.ReplaceAll(o, "DIR", dir))
		}
		want := strings.ReplaceAll(tt.want, "DIR", dir)
		tb, err := filesystem.Connector{}.Table(context.Background(), declare(s, options...))
		if err == nil {
			_, err = conntest.ReadAll(t, conntest.NewEnv(t), tb, conntest.All(tb), 1<<20)
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v:\n got %v\nwant %s", tt.options, err, want)
		}
	}
	for name, want := range map[string]string{
		"empty.csv":   "'" + dir + "/empty.csv' has no file with data that columns could be inferred from: declare them",
		"blanks.json": dir + "/blanks.json: there is no record to infer columns from: declare the columns",
		"no.parquet":  dir + "/no.parquet: this is no complete parquet file",
		"none.csv":    "no such file or folder",
	} {
		_, err := filesystem.Connector{}.Table(context.Background(), declare(nil, "path", filepath.Join(dir, name)))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("infer %s:\n got %v\nwant %s", name, err, want)
		}
	}
	d := declare(types.Schema{{Name: "hr", Type: types.StringType}, {Name: "id", Type: types.IntType}}, "path", dir+"/dt=x", "format", "json")
	d.PartitionBy = []string{"hr"}
	tb := table(t, d)
	if _, err := conntest.ReadAll(t, conntest.NewEnv(t), tb, conntest.All(tb), 1<<20); err == nil || !strings.Contains(err.Error(), "a.json: the path has no folder hr=...") {
		t.Error(err)
	}
}

// TestCutOff: the whole lines of a compressed file that is cut off come before the error, which names the line that is not whole.
func TestCutOff(t *testing.T) {
	dir := t.TempDir()
	var text []byte
	for i := range 20_000 {
		text = fmt.Appendf(text, "%d,%x\n", i, i*7919)
	}
	all := gz(t, text)
	s := types.Schema{{Name: "i", Type: types.IntType}, {Name: "s", Type: types.StringType}}
	for _, keep := range []int{20, 400, len(all) / 2, len(all) - 4} {
		r, err := kgzip.NewReader(bytes.NewReader(all[:keep])) // the connector's, which gives a few bytes less than the standard one
		if err != nil {
			t.Fatal(err)
		}
		part, _ := io.ReadAll(r)
		lines := bytes.Count(part, []byte("\n"))
		write(t, dir+"/c.csv.gz", all[:keep])
		for _, block := range []int{1 << 12, 1 << 20} {
			tb := table(t, declare(s, "path", dir+"/c.csv.gz"))
			got, err := conntest.ReadAll(t, conntest.NewEnv(t), tb, conntest.All(tb), block)
			want := fmt.Sprintf("%s/c.csv.gz:%d: the gzip data ends early, in this line: the file is cut off; write or fetch it again", dir, lines+1)
			if err == nil || err.Error() != want {
				t.Errorf("%d bytes:\n got %v\nwant %s", keep, err, want)
			}
			if len(got.Rows) != lines {
				t.Errorf("%d bytes: %d rows, want %d", keep, len(got.Rows), lines)
			}
		}
	}
}

// TestInferred: a type that does not fit later rows is a bad record with the cure.
func TestInferred(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a.csv", []byte("x;y\n"+strings.Repeat("1;2024-05-01 10:00:00\n", 5)+"1.5;2024-05-01 10:00:00\n"))
	d := declare(nil, "path", dir+"/a.csv")
	d.Config = map[string]string{"weir.infer.rows": "5"}
	tb := table(t, d)
	if got := fmt.Sprint(tb.Schema(), tb.(connectors.InferredTable).InferredOptions()); got != "[{x BIGINT} {y TIMESTAMP(3)}] map[csv.field-delimiter:; csv.header:true]" {
		t.Fatal(got)
	}
	_, err := conntest.ReadAll(t, conntest.NewEnv(t), tb, conntest.All(tb), 1<<20)
	if err == nil || !strings.Contains(err.Error(), "a.csv:7: column x: '1.5' is not a BIGINT; the types were inferred from the first records") {
		t.Fatal(err)
	}
}

// TestStdin reads standard input, in pieces that cut a rune.
func TestStdin(t *testing.T) {
	env := conntest.NewEnv(t)
	env.Stdin = &pieces{strings.Split("{\"s\":\"\xc3|\xa9\"}\n{\"s\":|\"b\"}\n{\"s\":\"c\"}", "|")}
	tb := table(t, declare(types.Schema{{Name: "s", Type: types.StringType}}, "path", "-", "format", "json"))
	r, err := conntest.ReadAll(t, env, tb, conntest.All(tb), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	conntest.Equal(t, r.Rows, []string{"é", "b", "c"})
}

type pieces struct{ p []string }

func (r *pieces) Read(b []byte) (int, error) {
	if len(r.p) == 0 {
		return 0, connectors.EOF
	}
	n := copy(b, r.p[0])
	r.p = r.p[1:]
	return n, nil
}
