package weir

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/builtin"
	"github.com/weir-sql/weir/connectors/watermark"
	"github.com/weir-sql/weir/exec/build"
	"github.com/weir-sql/weir/exec/task"
	"github.com/weir-sql/weir/planner"
	"github.com/weir-sql/weir/types"
)

// Options configure a DB. The zero value is a session in UTC with the built-in connectors.
type Options struct {
	// Connectors and Formats are put beside the built-in ones; one of the same name takes the place of the built-in one.
	Connectors []connectors.Connector
	Formats    []connectors.Format
	// Clock is processing time; nil means the machine's. Tests use a *VirtualClock.
	Clock connectors.Clock
	// MemoryLimit is weir.memory.limit in bytes, Threads is weir.threads; 0 means their defaults.
	MemoryLimit int64
	Threads     int
	// Config are settings as SET would make them.
	Config map[string]string
	Log    *slog.Logger
	// Allocator is where Arrow memory comes from; nil means an allocator with a pool.
	Allocator memory.Allocator
	// Stdin, Stdout and Stderr are what connectors such as print use; nil means the process's.
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// VirtualClock is processing time that moves only when told.
type VirtualClock = task.VirtualClock

// NewVirtualClock returns a clock that stands at start.
func NewVirtualClock(start time.Time) *VirtualClock { return task.NewVirtualClock(start) }

// DB is a session: a catalog, settings and running jobs. It is safe for use by several goroutines.
type DB struct {
	opts       Options
	connectors map[string]connectors.Connector
	formats    map[string]connectors.Format
	catalogs   *catalog.Catalogs
	allocator  memory.Allocator

	mu     sync.Mutex
	config map[string]string
	zone   *time.Location
	jobs   map[string]*Job
	ended  map[JobState]int64 // how many jobs have ended so
	// generators of watermarks, by their names in upper case
	generators map[string]watermark.Factory
	functions  map[string]*catalog.Function // of RegisterScalar, by their names in upper case
	lastID     int64
	closed     bool
}

// Open validates the options and opens a session. It starts nothing.
func Open(o Options) (*DB, error) {
	db := &DB{opts: o, connectors: map[string]connectors.Connector{}, formats: map[string]connectors.Format{}, catalogs: catalog.New(),
		config: map[string]string{}, jobs: map[string]*Job{}, ended: map[JobState]int64{},
		generators: map[string]watermark.Factory{"PERCENTILE_WATERMARK": watermark.Percentile}, functions: map[string]*catalog.Function{}, zone: time.UTC, allocator: o.Allocator}
	db.connectors[goConnector] = &goTables{sources: map[string]*registered{}}
	for _, c := range append(builtin.Connectors(), o.Connectors...) {
		db.connectors[c.Name()] = c
	}
	for _, f := range append(builtin.Formats(), o.Formats...) {
		db.formats[f.Name()] = f
	}
	if db.opts.Clock == nil {
		db.opts.Clock = task.SystemClock{}
	}
	if db.opts.Log == nil {
		db.opts.Log = slog.New(slog.DiscardHandler)
	}
	if db.opts.Stdin == nil {
		db.opts.Stdin = os.Stdin
	}
	if db.opts.Stdout == nil {
		db.opts.Stdout = os.Stdout
	}
	if db.opts.Stderr == nil {
		db.opts.Stderr = os.Stderr
	}
	if db.allocator == nil {
		db.allocator = build.NewPool()
	}
	if o.MemoryLimit < 0 || o.Threads < 0 {
		return nil, newError("WEIR-3002", "MemoryLimit and Threads must not be negative", "")
	}
	if o.MemoryLimit > 0 {
		db.config["weir.memory.limit"] = fmt.Sprint(o.MemoryLimit)
	}
	if o.Threads > 0 {
		db.config["weir.threads"] = fmt.Sprint(o.Threads)
	}
	for k, v := range o.Config {
		if err := db.set(k, v); err != nil {
			return nil, err
		}
	}
	return db, nil
}

// Close cancels every job of the session and waits until nothing of it is left. It may be called twice.
func (db *DB) Close() error {
	db.mu.Lock()
	db.closed = true
	jobs := db.jobs
	db.jobs = map[string]*Job{}
	db.mu.Unlock()
	var first error
	for _, j := range jobs {
		if err := j.Cancel(); err != nil && first == nil {
			first = err
		}
	}
	for _, c := range db.connectors {
		if c, ok := c.(io.Closer); ok {
			if err := c.Close(); err != nil && first == nil {
				first = err
			}
		}
	}
	return asError(first)
}

// Zone is the session time zone, table.local-time-zone.
func (db *DB) Zone() *time.Location {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.zone
}

// Config returns the settings that were made.
func (db *DB) Config() map[string]string {
	db.mu.Lock()
	defer db.mu.Unlock()
	return maps.Clone(db.config)
}

// set makes a setting.
func (db *DB) set(key, value string) error {
	if err := checkSetting(key, value); err != nil {
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if key == "table.local-time-zone" {
		if value == "default" {
			value = "UTC"
		}
		zone, err := types.LoadZone(value)
		if err != nil {
			return newError("WEIR-3002", fmt.Sprintf("configuration key 'table.local-time-zone': %v", err), "write a zone such as 'Europe/Berlin', 'UTC' or '+08:00'")
		}
		db.zone = zone
	}
	db.config[key] = value
	return nil
}

func (db *DB) reset(key string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if key == "" {
		clear(db.config)
		db.zone = time.UTC
		return
	}
	delete(db.config, key)
	if key == "table.local-time-zone" {
		db.zone = time.UTC
	}
}

// Has reports whether a connector, format or function of that name is there.
func (db *DB) Has(name string) bool {
	_, c := db.connectors[name]
	_, f := db.formats[name]
	return c || f || db.userFunctions()[strings.ToUpper(name)] != nil || catalog.LookupFunction(name, catalog.Scalar) != nil || catalog.LookupFunction(name, catalog.Aggregate) != nil
}

// TablePath returns the full name of a table, catalog.database.table, as connectors know it.
func (db *DB) TablePath(name string) (string, error) {
	p, err := db.catalogs.Qualify(strings.Split(name, "."))
	if err != nil {
		return "", asError(err)
	}
	return p.String(), nil
}

// env is what the planner needs.
func (db *DB) env() planner.Env {
	config := db.Config()
	return planner.Env{
		Catalogs:   db.catalogs,
		Config:     config,
		Connect:    db.connect,
		Generators: db.generatorNames,
		Generator:  db.checkGenerator,
		Functions:  db.userFunctions(),
		Fold:       build.Fold(db.Zone(), db.opts.Clock),
	}
}

// connect makes the connector's side of a table.
func (db *DB) connect(ctx context.Context, t *catalog.Table, options map[string]string) (catalog.ConnectorTable, error) {
	name := t.Connector()
	c := db.connectors[name]
	if c == nil {
		return nil, fmt.Errorf("unknown connector '%s'%s", name, hintOf(name, keysOf(db.connectors)))
	}
	decl := connectors.Declaration{ID: t.ID, Name: t.Path.String(), PartitionBy: t.PartitionBy, Options: options, Formats: db.format, Zone: db.Zone(), Config: db.Config()}
	if !t.Inferred {
		decl.Columns = t.PhysicalSchema()
	}
	for _, col := range t.Columns {
		if col.Kind == catalog.Metadata {
			decl.Metadata = append(decl.Metadata, connectors.MetadataColumn{Name: col.Name, Key: col.Key, Type: col.Type, Virtual: col.Virtual})
		}
	}
	for _, k := range t.PrimaryKey {
		if i := decl.Columns.Index(k); i >= 0 {
			decl.PrimaryKey = append(decl.PrimaryKey, i)
		}
	}
	return c.Table(ctx, decl)
}

func (db *DB) format(name string) (connectors.Format, error) {
	if f := db.formats[name]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("unknown format '%s'%s", name, hintOf(name, keysOf(db.formats)))
}

func hintOf(name string, names []string) string {
	if h := nearest(name, names); h != "" {
		return "; " + h
	}
	return "; there are " + strings.Join(names, ", ")
}

// plannerError gives an error of the planner or the catalog its place and code; nil for any other error.
func plannerError(err error) *Error {
	switch e := err.(type) {
	case *planner.Error:
		return &Error{Code: e.Code, Msg: e.Msg, Hint: e.Hint, Line: e.Pos.Line, Column: e.Pos.Column, Offset: e.Pos.Offset, End: e.End, cause: err}
	case *catalog.Error:
		return &Error{Code: e.Code, Msg: e.Msg, Hint: e.Hint, cause: err}
	}
	return nil
}

// threads is weir.threads.
func threads(config map[string]string) int {
	if n := atoi(config["weir.threads"]); n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}
