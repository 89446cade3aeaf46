package filesystem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// maxOpenFiles is how many partitions a sink writes at the same time; the one that was not written for longest is closed then.
const maxOpenFiles = 64

// Sink prepares writing: into the folder 'path', or to standard output.
func (t *table) Sink(w connectors.Write) (connectors.Sink, error) {
	if t.follow > 0 {
		return nil, fmt.Errorf("table %s has 'source.monitor-interval': it is a source; remove the option to write to it", t.decl.Name)
	}
	cfg := t.formatConfig(nil, false)
	if t.path == "-" {
		if w.Overwrite {
			return nil, fmt.Errorf("standard output cannot be overwritten")
		}
		enc, err := t.format.(connectors.RecordFormat).Encoder(cfg)
		if err != nil {
			return nil, err
		}
		return &stdout{enc: enc}, nil
	}
	if strings.ContainsAny(t.path, "*?[") {
		if _, err := os.Stat(t.path); err != nil {
			return nil, fmt.Errorf("table %s: '%s' is a pattern; a sink needs a folder as 'path'", t.decl.Name, t.path)
		}
	}
	s := &sink{t: t, cfg: cfg, overwrite: w.Overwrite,
		compression: connectors.GetEnum(t.opts, "sink.compression", "none", "none", "gzip", "zstd"),
		rollBytes:   connectors.GetSize(t.opts, "sink.rolling-policy.file-size", 128<<20),
		rollAge:     connectors.GetDuration(t.opts, "sink.rolling-policy.rollover-interval", 30*time.Minute),
		nullName:    connectors.GetString(t.opts, "partition.default-name", "__DEFAULT_PARTITION__"),
	}
	if t.opts["sink.partition-commit.policy.kind"] != "" {
		s.success = connectors.GetString(t.opts, "sink.partition-commit.success-file.name", "_SUCCESS")
	}
	var fields []arrow.Field
	for _, c := range cfg.Columns {
		fields = append(fields, arrow.Field{Name: c.Name, Type: c.Type.Arrow(), Nullable: c.Type.Nullable})
	}
	s.schema = arrow.NewSchema(fields, nil)
	return s, nil
}

// sink writes the files of one partition of the sink under hidden names: in a folder of its own, .weir-N below 'path'. N is the number of the run, one
// more than all before; it is part of the files' names, so that files sort in the order in which they were written.
type sink struct {
	t           *table
	cfg         connectors.FormatConfig
	schema      *arrow.Schema
	compression string
	rollBytes   int64
	rollAge     time.Duration
	nullName    string
	success     string
	overwrite   bool

	env     *connectors.Env
	run     int
	staging string
	files   int // begun so far
	writes  int
	open    map[string]*part
	done    []finished // of this epoch
	before  []string   // files that an overwrite replaces
}

// part is a file that is being written.
type part struct {
	dir   string // relative to path, "" without partitions
	name  string
	tmp   string
	w     partWriter
	since time.Time
	used  int // when it was written last
}

// finished is a file that is complete, relative to path.
type finished struct {
	Tmp   string `json:"tmp"`
	Final string `json:"final"`
}

// receipt is what Prepare gives.
type receipt struct {
	Version int        `json:"version"`
	Files   []finished `json:"files"`
	Replace []string   `json:"replace,omitempty"` // files that go with the commit
}

// Open commits what a checkpoint left, and makes the hidden folder.
func (s *sink) Open(ctx context.Context, env *connectors.Env, restored [][]byte) error {
	s.env, s.open = env, map[string]*part{}
	for _, r := range restored {
		if err := s.Commit(ctx, r); err != nil {
			return err
		}
	}
	if info, err := os.Stat(s.t.path); err == nil && !info.IsDir() {
		return fmt.Errorf("'%s' is a file; a sink writes files into a folder: give another 'path'", s.t.path)
	}
	if s.overwrite {
		old, err := s.t.list()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			if _, statErr := os.Stat(s.t.path); !errors.Is(statErr, fs.ErrNotExist) {
				return err
			}
		}
		for _, f := range old {
			rel, err := filepath.Rel(s.t.path, f.path)
			if err != nil {
				return err
			}
			s.before = append(s.before, rel)
		}
	}
	return nil
}

// stage makes the hidden folder, when there is something to write.
func (s *sink) stage() error {
	if s.staging != "" {
		return nil
	}
	if err := os.MkdirAll(s.t.path, 0o777); err != nil {
		return err
	}
	run := 0
	err := filepath.WalkDir(s.t.path, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // another sink may be at work here
		}
		var n int
		if _, err := fmt.Sscanf(e.Name(), "part-%d-", &n); err == nil {
			run = max(run, n)
		} else if _, err := fmt.Sscanf(e.Name(), ".weir-%d", &n); err == nil {
			run = max(run, n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for {
		run++
		dir := filepath.Join(s.t.path, fmt.Sprintf(".weir-%06d", run))
		err := os.Mkdir(dir, 0o777)
		if err == nil {
			s.run, s.staging = run, dir
			return nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// Write writes the rows into the files of their partitions.
func (s *sink) Write(ctx context.Context, b stream.Batch) error {
	defer b.Release()
	if b.Len() == 0 {
		return nil
	}
	rec := s.formatColumns(b.Record)
	defer rec.Release()
	if len(s.t.partCol) == 0 {
		return s.writeRows("", rec, b.Selection, b.Kinds)
	}
	var dirs []string
	rows := map[string][]int32{}
	var key []byte
	for i := range b.Len() {
		r := b.Row(i)
		key = s.partitionDir(key[:0], b.Record, r)
		list, there := rows[string(key)]
		if !there {
			dirs = append(dirs, string(key))
		}
		rows[string(key)] = append(list, int32(r))
	}
	for _, dir := range dirs {
		if err := s.writeRows(dir, rec, rows[dir], b.Kinds); err != nil {
			return err
		}
	}
	return nil
}

// formatColumns leaves the partition columns out.
func (s *sink) formatColumns(rec arrow.RecordBatch) arrow.RecordBatch {
	cols := make([]arrow.Array, len(s.t.formatCol))
	for i, c := range s.t.formatCol {
		cols[i] = rec.Column(c)
	}
	return array.NewRecordBatch(s.schema, cols, rec.NumRows())
}

// partitionDir appends the folder of a row: a=1/b=x.
func (s *sink) partitionDir(dst []byte, rec arrow.RecordBatch, row int) []byte {
	for i, c := range s.t.partCol {
		if i > 0 {
			dst = append(dst, filepath.Separator)
		}
		value := s.nullName
		if col := rec.Column(c); !col.IsNull(row) {
			if v := string(types.AppendFormat(nil, col, row, s.t.schema[c].Type, s.env.Zone)); v != "" {
				value = v
			}
		}
		dst = append(dst, escapePath(s.t.decl.PartitionBy[i])...)
		dst = append(dst, '=')
		dst = append(dst, escapePath(value)...)
	}
	return dst
}

func (s *sink) writeRows(dir string, rec arrow.RecordBatch, rows []int32, kinds []stream.RowKind) error {
	p := s.open[dir]
	if p == nil {
		if len(s.open) >= maxOpenFiles {
			if err := s.finishOldest(); err != nil {
				return err
			}
		}
		var err error
		if p, err = s.newPart(dir); err != nil {
			return err
		}
		s.open[dir] = p
	}
	s.writes++
	p.used = s.writes
	if err := p.w.write(rec, rows, kinds); err != nil {
		return fmt.Errorf("table %s: %w", s.t.decl.Name, err)
	}
	if p.w.size() >= s.rollBytes || s.env.Clock.Now().Sub(p.since) >= s.rollAge {
		return s.finish(p)
	}
	return nil
}

func (s *sink) newPart(dir string) (*part, error) {
	if err := s.stage(); err != nil {
		return nil, err
	}
	s.files++
	ext := "." + s.t.formatName
	switch s.compression {
	case "gzip":
		ext += ".gz"
	case "zstd":
		ext += ".zst"
	}
	p := &part{dir: dir, name: fmt.Sprintf("part-%06d-%02d-%06d%s", s.run, s.env.Partition, s.files, ext), since: s.env.Clock.Now()}
	p.tmp = filepath.Join(s.staging, p.name)
	f, err := os.OpenFile(p.tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	if p.w, err = s.newWriter(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

func (s *sink) finishOldest() error {
	var oldest *part
	for _, p := range s.open {
		if oldest == nil || p.used < oldest.used {
			oldest = p
		}
	}
	return s.finish(oldest)
}

// finish completes a file; it is on disk then.
func (s *sink) finish(p *part) error {
	delete(s.open, p.dir)
	if err := p.w.close(); err != nil {
		return fmt.Errorf("%s: %w", p.tmp, err)
	}
	tmp, err := filepath.Rel(s.t.path, p.tmp)
	if err != nil {
		return err
	}
	s.done = append(s.done, finished{Tmp: tmp, Final: filepath.Join(p.dir, p.name)})
	return nil
}

// Prepare completes all files of the epoch; nil when there is none.
func (s *sink) Prepare(ctx context.Context, epoch int64) ([]byte, error) {
	var dirs []string
	for dir := range s.open {
		dirs = append(dirs, dir)
	}
	sort.Strings(dirs)
	for _, dir := range dirs {
		if err := s.finish(s.open[dir]); err != nil {
			return nil, err
		}
	}
	r := receipt{Version: 1, Files: s.done, Replace: s.replaced()}
	s.done = nil
	if len(r.Files) == 0 && len(r.Replace) == 0 {
		return nil, nil
	}
	return json.Marshal(r)
}

// replaced lists the files that an overwrite takes away with this epoch: without partitions all that there were, with partitions those of the partitions
// that were written.
func (s *sink) replaced() []string {
	if !s.overwrite {
		return nil
	}
	if len(s.t.partCol) == 0 {
		out := s.before
		s.before = nil
		return out
	}
	written := map[string]bool{}
	for _, f := range s.done {
		written[filepath.Dir(f.Final)] = true
	}
	var out, rest []string
	for _, old := range s.before {
		if written[filepath.Dir(old)] {
			out = append(out, old)
		} else {
			rest = append(rest, old)
		}
	}
	s.before = rest
	return out
}

// Commit gives the files their names. A file that has its name already was committed before.
func (s *sink) Commit(ctx context.Context, data []byte) error {
	var r receipt
	if err := json.Unmarshal(data, &r); err != nil || r.Version != 1 {
		return fmt.Errorf("the receipt in the checkpoint is not one of connector 'filesystem'")
	}
	for _, old := range r.Replace {
		if err := os.Remove(filepath.Join(s.t.path, old)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	dirs := map[string]bool{}
	for _, f := range r.Files {
		from, to := filepath.Join(s.t.path, f.Tmp), filepath.Join(s.t.path, f.Final)
		dir := filepath.Dir(to)
		dirs[dir] = true
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			if _, err := os.Stat(to); err == nil {
				continue
			}
			return fmt.Errorf("the file %s of an earlier run, which is to be committed as %s, is gone", from, to)
		}
		if err := os.Rename(from, to); err != nil {
			return err
		}
		if staging := filepath.Dir(from); staging != s.staging {
			_ = os.Remove(staging) // of an earlier run, when it is empty now
		}
	}
	for dir := range dirs {
		if s.success != "" && dir != s.t.path {
			if err := os.WriteFile(filepath.Join(dir, s.success), nil, 0o666); err != nil {
				return err
			}
		}
		if d, err := os.Open(dir); err == nil { // the names are durable too, where the system can say so
			_ = d.Sync()
			_ = d.Close()
		}
	}
	return nil
}

// Close drops what was not prepared. What was prepared stays, hidden, for a restart.
func (s *sink) Close() error {
	var err error
	for _, p := range s.open {
		err = errors.Join(err, p.w.abort())
		err = errors.Join(err, os.Remove(p.tmp))
	}
	s.open = nil
	for _, f := range s.done {
		err = errors.Join(err, os.Remove(filepath.Join(s.t.path, f.Tmp)))
	}
	s.done = nil
	if s.staging != "" {
		_ = os.Remove(s.staging) // when it is empty
		s.staging = ""
	}
	return err
}

// stdout writes to standard output, at once.
type stdout struct {
	enc     connectors.Encoder
	env     *connectors.Env
	buf     []byte
	started bool
}

func (s *stdout) Open(ctx context.Context, env *connectors.Env, _ [][]byte) error {
	s.env = env
	return nil
}

func (s *stdout) Write(ctx context.Context, b stream.Batch) error {
	defer b.Release()
	s.buf = s.buf[:0]
	if !s.started {
		s.started = true
		s.buf = append(s.buf, s.enc.Header()...)
	}
	var err error
	if s.buf, err = encode(s.enc, s.buf, b.Record, b.Selection, b.Kinds); err != nil {
		return err
	}
	_, err = s.env.Stdout.Write(s.buf)
	return err
}

func (s *stdout) Prepare(context.Context, int64) ([]byte, error) { return nil, nil }
func (s *stdout) Commit(context.Context, []byte) error           { return nil }
func (s *stdout) Close() error                                   { return nil }

// Immediate is true.
func (s *stdout) Immediate() bool { return true }
