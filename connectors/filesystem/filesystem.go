// Package filesystem has the connector 'filesystem': files of a local file system as tables.
//
//	CREATE TABLE t (...) WITH ('connector' = 'filesystem', 'path' = '/data/bids', 'format' = 'json')
//
// 'path' is a file, a folder (read with all that is below it), a pattern with * ? [ ], or - for standard input and output. Names that begin with . or _
// are skipped in folders. Files that end in .gz, .zst or .bz2 are decompressed. Folders such as dt=2024-01-01 give the values of columns in PARTITIONED BY.
//
// Source. Delivery: each record once; after a restore from the position of the checkpoint. Ordering: files by path, byte by byte; records in file order.
// Replay: any position, as long as the files are there and were only appended to; standard input cannot be replayed. Position: the offset and line of the next
// record in the (decompressed) file with a fingerprint of its beginning; the number of the next row for parquet.
//
// With 'source.monitor-interval' the table is unbounded: folders are looked at again for new files, and text files are followed as they grow. A last
// line without its line end is held back until that comes. A file that shrinks or is replaced is read from its start. At its end a followed file is idle
// unless it is the one that was modified last, so that old files do not hold the watermark back.
//
// Sink. Delivery: exactly once with checkpoints: files are written under hidden names and renamed when their epoch is committed. Ordering: rows of one
// partition of the sink stay in order. Replay: receipts name the files; committing twice is harmless. Standard output is written at once.
package filesystem

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/types"
)

// Connector is the filesystem connector.
type Connector struct{}

// Name is filesystem.
func (Connector) Name() string { return "filesystem" }

// Options lists the options.
func (Connector) Options() []connectors.Option {
	return []connectors.Option{
		{Name: "path", Type: "string", Required: true, Doc: "A file, a folder, a pattern (* ? [ ]), or - for standard input and output."},
		{Name: "format", Type: "string", Doc: "json, csv, parquet, avro, raw; default: by the suffix of path (.json, .jsonl, .ndjson, .csv, .tsv, .parquet, .avro)."},
		{Name: "partition.default-name", Type: "string", Default: "__DEFAULT_PARTITION__", Doc: "The folder name that stands for NULL in a partition column."},
		{Name: "source.monitor-interval", Type: "duration", Doc: "Follow: how often to look for new files and growing ones. Without it the scan ends."},
		{Name: "source.path.regex-pattern", Type: "string", Doc: "Only files whose whole path matches are read."},
		{Name: "source.max-record-size", Type: "size", Default: "16 mb", Doc: "The longest record that is read; a longer one is an error."},
		{Name: "source.report-statistics", Type: "all|none", Default: "all", Doc: "Has no effect here."},
		{Name: "sink.rolling-policy.file-size", Type: "size", Default: "128 mb", Doc: "A file that has become so large is closed and a new one begun."},
		{Name: "sink.rolling-policy.rollover-interval", Type: "duration", Default: "30 min", Doc: "A file that has been open so long is closed and a new one begun."},
		{Name: "sink.rolling-policy.check-interval", Type: "duration", Default: "1 min", Doc: "Has no effect here: the age of files is looked at with every batch."},
		{Name: "sink.compression", Type: "none|gzip|zstd", Default: "none", Doc: "How text files are compressed; their names get the suffix."},
		{Name: "sink.partition-commit.trigger", Type: "process-time", Default: "process-time", Doc: "Partitions are complete with each commit; partition-time is not supported."},
		{Name: "sink.partition-commit.delay", Type: "0 s|0 ms|0 min|0", Default: "0 s", Doc: "No other delay is supported."},
		{Name: "sink.parallelism", Type: "integer", Doc: "Has no effect here: as many copies write as the query has there."},
		{Name: "scan.parallelism", Type: "integer", Doc: "Has no effect here: see weir.threads."},
		{Name: "sink.partition-commit.policy.kind", Type: "success-file", Doc: "Write an empty file into each partition that a commit has completed files in."},
		{Name: "sink.partition-commit.success-file.name", Type: "string", Default: "_SUCCESS", Doc: "The name of that file."},
	}
}

// unsupported are options of Flink's connector that are refused, with what to do.
var unsupported = map[string]string{
	"auto-compaction":                              "write larger files: raise 'sink.rolling-policy.file-size' or the checkpoint interval",
	"compaction.file-size":                         "write larger files: raise 'sink.rolling-policy.file-size' or the checkpoint interval",
	"compaction.parallelism":                       "files are not compacted",
	"sink.partition-commit.watermark-time-zone":    "partitions are complete with each commit, not by time",
	"sink.partition-commit.policy.class":           "only 'sink.partition-commit.policy.kind' = 'success-file' is",
	"sink.shuffle-by-partition.enable":             "each copy of the sink writes its own files",
	"partition.time-extractor.kind":                "partitions are complete with each commit, not by time",
	"partition.time-extractor.class":               "partitions are complete with each commit, not by time",
	"partition.time-extractor.timestamp-pattern":   "partitions are complete with each commit, not by time",
	"partition.time-extractor.timestamp-formatter": "partitions are complete with each commit, not by time",
}

// table is a checked declaration.
type table struct {
	decl    connectors.Declaration
	opts    map[string]string
	path    string
	pattern *regexp.Regexp
	follow  time.Duration // 0: bounded
	maxRec  int64

	format     connectors.Format
	formatName string
	formatOpts map[string]string
	inferred   map[string]string // options that inference set, prefixed

	schema    types.Schema
	formatCol []int // positions in schema of the format's columns
	partCol   []int // positions in schema of the partition columns, in PARTITIONED BY order
}

var suffixFormats = map[string]string{".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".avro": "avro"}

// FormatOf returns the format that a file name stands for and options that go with it, "" when there is none.
func FormatOf(name string) (format string, options map[string]string) {
	ext := strings.ToLower(filepath.Ext(name))
	if compressionOf(name) != "" {
		ext = strings.ToLower(filepath.Ext(strings.TrimSuffix(name, filepath.Ext(name))))
	}
	if ext == ".tsv" {
		options = map[string]string{"field-delimiter": "\t"}
	}
	return suffixFormats[ext], options
}

// Table checks a declaration.
func (c Connector) Table(ctx context.Context, decl connectors.Declaration) (connectors.Table, error) {
	t := &table{decl: decl, opts: decl.Options, inferred: map[string]string{}}
	if err := t.setPath(); err != nil {
		return nil, err
	}
	if err := t.setFormat(c); err != nil {
		return nil, err
	}
	if _, ok := t.opts["source.monitor-interval"]; ok {
		if t.follow = connectors.GetDuration(t.opts, "source.monitor-interval", 0); t.follow <= 0 {
			return nil, fmt.Errorf("option 'source.monitor-interval' must be longer than 0")
		}
	}
	if p, ok := t.opts["source.path.regex-pattern"]; ok {
		re, err := regexp.Compile("^(?:" + p + ")$")
		if err != nil {
			return nil, fmt.Errorf("option 'source.path.regex-pattern': %w", err)
		}
		t.pattern = re
	}
	t.maxRec = connectors.GetSize(t.opts, "source.max-record-size", 16<<20)
	if t.maxRec < 1 || t.maxRec > math.MaxInt32/2 {
		return nil, fmt.Errorf("option 'source.max-record-size' must be between 1 and 1023 mb")
	}
	if err := t.setColumns(ctx); err != nil {
		return nil, err
	}
	for _, m := range decl.Metadata {
		if MetadataType(m.Key) == nil {
			return nil, fmt.Errorf("table %s: unknown metadata '%s' of connector 'filesystem'; it has %s", decl.Name, m.Key, strings.Join(metadataColumns.Names(), ", "))
		}
	}
	return t, nil
}

func (t *table) setPath() error {
	p := t.opts["path"]
	switch {
	case p == "":
		return connectors.NeedsOption("connector 'filesystem'", "path", ": a file, a folder or a pattern", t.opts, Connector{}.Options())
	case strings.HasPrefix(p, "file:"):
		p = strings.TrimPrefix(p, "file:")
		if strings.HasPrefix(p, "//") {
			p = "/" + strings.TrimLeft(p, "/")
		}
	case strings.Contains(p, "://"):
		scheme, _, _ := strings.Cut(p, "://")
		return fmt.Errorf("option 'path': the file system '%s' is not supported; only local files are", scheme)
	}
	if strings.Contains(p, "**") {
		return fmt.Errorf("option 'path': ** is not supported; name the folder, all files below it are read, and 'source.path.regex-pattern' can choose among them")
	}
	if p != "-" {
		p = filepath.Clean(p)
	}
	t.path = p
	return nil
}

func (t *table) setFormat(c Connector) error {
	name, suffixOptions := t.opts["format"], map[string]string(nil)
	if name == "" {
		if name, suffixOptions = FormatOf(t.path); name == "" {
			return connectors.NeedsOption("connector 'filesystem'", "format", " (json, csv, parquet, raw): '"+t.path+"' does not tell it by its suffix", t.opts, c.Options())
		}
	}
	f, err := t.decl.Formats(name)
	if err != nil {
		return err
	}
	t.format, t.formatName = f, name
	for _, o := range slices.Sorted(maps.Keys(t.opts)) {
		if cure, ok := unsupported[o]; ok {
			return fmt.Errorf("the option '%s' is not supported: %s", o, cure)
		}
	}
	if err := connectors.CheckOptions("connector 'filesystem' with format '"+name+"'", t.opts, c.Options(), connectors.PrefixOptions(name, f.Options())); err != nil {
		return err
	}
	t.formatOpts = connectors.FormatOptions(t.opts, name)
	for k, v := range suffixOptions {
		if _, there := t.formatOpts[k]; !there {
			t.formatOpts[k] = v
			t.inferred[name+"."+k] = v
		}
	}
	return nil
}

// setColumns splits the columns into those of the format and those of the path, and infers them where there are none.
func (t *table) setColumns(ctx context.Context) error {
	t.schema = t.decl.Columns
	if t.schema == nil {
		inf, err := t.infer(ctx)
		if err != nil {
			return err
		}
		t.schema = inf.Columns[:len(inf.Columns):len(inf.Columns)]
		for k, v := range inf.Options {
			t.formatOpts[k] = v
			t.inferred[t.formatName+"."+k] = v
		}
		for _, p := range t.decl.PartitionBy { // what the path has is text
			if t.schema.Index(p) < 0 {
				t.schema = append(t.schema, types.Column{Name: p, Type: types.StringType})
			}
		}
	}
	partition := map[string]bool{}
	for _, p := range t.decl.PartitionBy {
		i := t.schema.Index(p)
		if i < 0 {
			return fmt.Errorf("table %s: PARTITIONED BY names the column %s, which there is not", t.decl.Name, p)
		}
		if t.schema[i].Type.IsNested() {
			return fmt.Errorf("table %s: the partition column %s cannot be of type %s", t.decl.Name, p, t.schema[i].Type)
		}
		partition[p] = true
		t.partCol = append(t.partCol, i)
	}
	for i, c := range t.schema {
		if !partition[c.Name] {
			t.formatCol = append(t.formatCol, i)
		}
	}
	if len(t.partCol) > 0 && t.path == "-" {
		return fmt.Errorf("table %s: standard input and output cannot be PARTITIONED BY", t.decl.Name)
	}
	cfg := t.formatConfig(nil, false)
	switch f := t.format.(type) {
	case connectors.RecordFormat:
		return f.Check(cfg)
	case connectors.FileFormat:
		if t.path == "-" {
			return fmt.Errorf("table %s: the format '%s' cannot be read from or written to a stream: give a file as 'path'", t.decl.Name, t.formatName)
		}
		if connectors.GetEnum(t.opts, "sink.compression", "none", "gzip", "zstd", "none") != "none" {
			return fmt.Errorf("table %s: the format '%s' compresses itself: remove 'sink.compression'", t.decl.Name, t.formatName)
		}
		return f.Check(cfg)
	}
	return fmt.Errorf("the format '%s' cannot be used with connector 'filesystem'", t.formatName)
}

// formatConfig describes the format's columns; wanted are positions in the table's schema.
func (t *table) formatConfig(wanted []int, keepBad bool) connectors.FormatConfig {
	cfg := connectors.FormatConfig{Table: t.decl.Name, Options: t.formatOpts, Zone: t.decl.Zone, KeepBad: keepBad, MaxBytes: t.maxRec}
	want := map[int]bool{}
	for _, w := range wanted {
		want[w] = true
	}
	for i, c := range t.formatCol {
		cfg.Columns = append(cfg.Columns, t.schema[c])
		if want[c] {
			cfg.Wanted = append(cfg.Wanted, i)
		}
	}
	return cfg
}

var metadataColumns = types.Schema{
	{Name: "file.path", Type: types.StringType.NotNull()},
	{Name: "file.name", Type: types.StringType.NotNull()},
	{Name: "file.size", Type: types.BigIntType.NotNull()},
	{Name: "file.modification-time", Type: types.TimestampLTZOf(3).NotNull()},
}

// MetadataType returns the type of a metadata key, nil when there is none.
func MetadataType(key string) *types.Type {
	if i := metadataColumns.Index(key); i >= 0 {
		return &metadataColumns[i].Type
	}
	return nil
}

// Schema returns the physical columns.
func (t *table) Schema() types.Schema { return t.schema }

// InferredOptions returns the options that reading needs beside the declared ones, because the columns were inferred: 'csv.header' = 'true'.
func (t *table) InferredOptions() map[string]string { return t.inferred }

// MetadataKeys are path, name, size and modification time of the file.
func (t *table) MetadataKeys() types.Schema { return metadataColumns }

// MetadataWritable is false for all.
func (t *table) MetadataWritable(string) bool { return false }

// Bounded is true unless 'source.monitor-interval' is set.
func (t *table) Bounded() bool { return t.follow == 0 }

// ChangelogKinds is I, or what a format of changes gives.
func (t *table) ChangelogKinds() string {
	if f, ok := t.format.(connectors.ChangelogFormat); ok {
		gives, _ := f.Changelog()
		return gives
	}
	return "I"
}

// AcceptsKinds is I, or what a format of changes takes.
func (t *table) AcceptsKinds() string {
	if f, ok := t.format.(connectors.ChangelogFormat); ok {
		_, takes := f.Changelog()
		return takes
	}
	return "I"
}

// RowEstimate guesses from the size of the files.
func (t *table) RowEstimate() int64 {
	files, err := t.list()
	if err != nil || t.path == "-" {
		return -1
	}
	var bytes int64
	for _, f := range files {
		bytes += f.size
	}
	return bytes / int64(32+16*len(t.schema))
}

// SuppliesWatermarks is false.
func (t *table) SuppliesWatermarks() bool { return false }

func workingFolder() string {
	wd, err := os.Getwd()
	if err != nil {
		return "?"
	}
	return wd
}
