package filesystem

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/internal/colbuf"
	"github.com/weir-sql/weir/types"
)

// Source prepares a scan.
func (t *table) Source(scan connectors.Scan) (connectors.Source, error) {
	s := &source{t: t, scan: scan, cfg: t.formatConfig(scan.Columns, scan.KeepBad)}
	if f, ok := t.format.(connectors.RecordFormat); ok {
		d, err := f.Decoder(s.cfg)
		if err != nil {
			return nil, err
		}
		s.proto = d
		s.decoders.New = func() any { return d.Clone() }
	}
	var out types.Schema
	fromFormat := 0
	for _, c := range scan.Columns {
		out = append(out, t.schema[c])
		if i := indexOf(t.partCol, c); i >= 0 {
			s.columns = append(s.columns, column{partition: t.decl.PartitionBy[i]})
		} else {
			s.columns = append(s.columns, column{format: fromFormat})
			fromFormat++
		}
	}
	for _, key := range scan.Metadata {
		mt := MetadataType(key)
		if mt == nil {
			return nil, fmt.Errorf("unknown metadata '%s' of connector 'filesystem'", key)
		}
		out = append(out, types.Column{Name: key, Type: *mt})
		s.columns = append(s.columns, column{metadata: key})
	}
	s.plain = fromFormat == len(s.columns)
	s.out = out
	s.schema = out.Arrow()
	if t.follow > 0 {
		s.changed = make(chan struct{}, 1)
	}
	return s, nil
}

func indexOf(list []int, v int) int {
	for i, x := range list {
		if x == v {
			return i
		}
	}
	return -1
}

// column says where a column of the batches comes from.
type column struct {
	format    int // number of the format's column, when the others are empty
	partition string
	metadata  string
}

type source struct {
	t       *table
	scan    connectors.Scan
	cfg     connectors.FormatConfig
	columns []column
	plain   bool // all columns are of the format, in order
	out     types.Schema
	schema  *arrow.Schema
	proto   connectors.Decoder

	decoders sync.Pool // of clones of proto
	buffers  sync.Pool // of *[]byte

	changed chan struct{}
	once    sync.Once // starts the monitor

	mu       sync.Mutex
	known    map[string]file
	newest   string // path of the file that was modified last
	watchers map[*textReader]struct{}
	stdin    bool // standard input was opened
}

// Splits lists the files.
func (s *source) Splits(ctx context.Context, env *connectors.Env) ([]connectors.Split, error) {
	files, err := s.t.list()
	if err != nil {
		return nil, err
	}
	splits := make([]connectors.Split, len(files))
	known := make(map[string]file, len(files))
	for i, f := range files {
		splits[i] = connectors.Split{ID: f.path, Bounded: !s.grows(f.path), Bytes: f.size}
		known[f.path] = f
	}
	s.mu.Lock()
	s.known = known
	s.newest = newest(files)
	s.mu.Unlock()
	if s.t.follow > 0 && s.t.path != "-" {
		s.once.Do(func() { env.Go(func(ctx context.Context) { s.monitor(ctx, env) }) })
	}
	return splits, nil
}

func newest(files []file) string {
	best := -1
	for i, f := range files {
		if best < 0 || !f.mtime.Before(files[best].mtime) {
			best = i
		}
	}
	if best < 0 {
		return ""
	}
	return files[best].path
}

// grows reports whether a file is followed: plain text files in follow mode. A compressed or parquet file is taken to be complete.
func (s *source) grows(path string) bool {
	_, text := s.t.format.(connectors.RecordFormat)
	return s.t.follow > 0 && text && path != "-" && compressionOf(path) == ""
}

// monitor looks at the files every source.monitor-interval, tells about new ones and wakes the readers of growing ones.
func (s *source) monitor(ctx context.Context, env *connectors.Env) {
	for {
		tick, cancel := env.Clock.After(s.t.follow)
		select {
		case <-ctx.Done():
			cancel()
			return
		case <-tick:
		}
		files, err := s.t.list()
		if err != nil {
			env.Log.Warn("cannot list files; trying again", "path", s.t.path, "error", err)
			continue
		}
		s.mu.Lock()
		fresh := false
		for _, f := range files {
			if _, ok := s.known[f.path]; !ok {
				fresh = true
			}
		}
		s.newest = newest(files)
		for r := range s.watchers {
			select {
			case r.ready <- struct{}{}:
			default:
			}
		}
		s.mu.Unlock()
		if fresh {
			select {
			case s.changed <- struct{}{}:
			default:
			}
		}
	}
}

// Changed signals new files in follow mode.
func (s *source) Changed() <-chan struct{} {
	if s.changed == nil {
		return nil
	}
	return s.changed
}

// Open starts to read a file.
func (s *source) Open(ctx context.Context, env *connectors.Env, split connectors.Split, from connectors.Position, blockBytes int) (connectors.Reader, error) {
	s.mu.Lock()
	f, ok := s.known[split.ID]
	s.mu.Unlock()
	if !ok {
		f = file{path: split.ID, parts: partitionValues(split.ID)}
	}
	parts, err := s.partitionColumns(f)
	if err != nil {
		return nil, err
	}
	if ff, ok := s.t.format.(connectors.FileFormat); ok {
		return s.openFile(ctx, env, ff, f, parts, from)
	}
	return s.openText(ctx, env, f, parts, from, blockBytes)
}

// Close does nothing: the monitor ends with the job, readers are closed before.
func (s *source) Close() error { return nil }

// partitionColumns parses the values that the path of a file gives: one column of one row each.
func (s *source) partitionColumns(f file) (map[string][]byte, error) {
	var m map[string][]byte
	null := connectors.GetString(s.t.opts, "partition.default-name", "__DEFAULT_PARTITION__")
	for i, c := range s.columns {
		if c.partition == "" {
			continue
		}
		v, ok := f.parts[c.partition]
		if !ok {
			return nil, fmt.Errorf("%s: the path has no folder %s=..., but the table is PARTITIONED BY (%s)", f.path, c.partition, c.partition)
		}
		if m == nil {
			m = map[string][]byte{}
		}
		if v == null {
			m[c.partition] = nil
			continue
		}
		// Parse once, for the error; the value is parsed again for each batch.
		col := colbuf.New(s.out[i].Type)
		col.Start(memory.DefaultAllocator, 1)
		var x colbuf.Texts
		err := x.Put(col, []byte(v))
		col.Discard()
		if err != nil {
			return nil, fmt.Errorf("%s: partition column %s: %w", f.path, c.partition, err)
		}
		m[c.partition] = []byte(v)
	}
	return m, nil
}

// complete adds the columns that do not come from the format. It takes rec's reference.
func (s *source) complete(mem memory.Allocator, rec arrow.RecordBatch, f file, parts map[string][]byte) (arrow.RecordBatch, error) {
	if s.plain {
		return rec, nil
	}
	defer rec.Release()
	n := int(rec.NumRows())
	arrays := make([]arrow.Array, len(s.columns))
	var own []arrow.Array
	defer func() {
		for _, a := range own {
			a.Release()
		}
	}()
	for i, c := range s.columns {
		if c.partition == "" && c.metadata == "" {
			arrays[i] = rec.Column(c.format)
			continue
		}
		var x colbuf.Texts
		var err error
		d := colbuf.Constant(mem, s.out[i].Type, n, func(col *colbuf.Col) {
			switch {
			case c.metadata == "file.path":
				col.PutBytes([]byte(f.path))
			case c.metadata == "file.name":
				col.PutBytes([]byte(filepath.Base(f.path)))
			case c.metadata == "file.size":
				col.PutI64(f.size)
			case c.metadata != "":
				col.PutI64(f.mtime.UnixMilli() * types.MicrosPerMilli)
			case parts[c.partition] == nil:
				col.PutNull()
			default:
				err = errors.Join(err, x.Put(col, parts[c.partition]))
			}
		})
		a := array.MakeFromData(d)
		d.Release()
		own = append(own, a)
		if err != nil {
			return nil, err
		}
		arrays[i] = a
	}
	return array.NewRecordBatch(s.schema, arrays, int64(n)), nil
}
