// Package conntest has what tests of connectors need: an environment with a virtual clock and a checked allocator, rows as text, and the suites that
// each source and sink must pass.
package conntest

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Start is where virtual clocks begin.
var Start = time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)

// Clock is a virtual clock.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*timer
}

type timer struct {
	at time.Time
	c  chan time.Time
}

// Now returns the virtual time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After signals when Advance has passed d.
func (c *Clock) After(d time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{at: c.now.Add(d), c: make(chan time.Time, 1)}
	c.timers = append(c.timers, t)
	return t.c, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, u := range c.timers {
			if u == t {
				c.timers = append(c.timers[:i], c.timers[i+1:]...)
				return
			}
		}
	}
}

// Waiting returns the number of timers that are set.
func (c *Clock) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

// Advance moves the clock and fires what is due.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	sort.SliceStable(c.timers, func(i, j int) bool { return c.timers[i].at.Before(c.timers[j].at) })
	for len(c.timers) > 0 && !c.timers[0].at.After(c.now) {
		c.timers[0].c <- c.now
		c.timers = c.timers[1:]
	}
}

// Env is an environment for one test.
type Env struct {
	*connectors.Env
	Memory *memory.CheckedAllocator
	Clock  *Clock
	Out    *bytes.Buffer // standard output
	Err    *bytes.Buffer // standard error

	mu     sync.Mutex
	counts map[string]int64
}

// Count returns a counter.
func (e *Env) Counter(name string) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.counts[name]
}

// NewEnv returns an environment. At the end of the test all its goroutines are waited for and its memory must be back.
func NewEnv(t testing.TB) *Env {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	e := &Env{Memory: mem, Clock: &Clock{now: Start}, Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, counts: map[string]int64{}}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	e.Env = &connectors.Env{
		Allocator: mem, Clock: e.Clock, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Zone: time.UTC, BatchRows: 4096, Partitions: 1,
		Go: func(f func(ctx context.Context)) {
			wg.Add(1)
			go func() { defer wg.Done(); f(ctx) }()
		},
		Grow: func(int64) error { return nil },
		Count: func(name string, n int64) {
			e.mu.Lock()
			e.counts[name] += n
			e.mu.Unlock()
		},
		Stdin: strings.NewReader(""), Stdout: e.Out, Stderr: e.Err,
	}
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		if n := mem.CurrentAlloc(); n != 0 {
			t.Errorf("%d bytes of Arrow memory were not given back", n)
		}
	})
	return e
}

// Rows returns the rows of a batch as text, one each: the kind where the batch has kinds, then the cells as results show them.
func Rows(b stream.Batch, schema types.Schema) []string {
	out := make([]string, 0, b.Len())
	for i := range b.Len() {
		out = append(out, row(b.Record, b.Row(i), schema, b.Kinds))
	}
	return out
}

func row(rec arrow.RecordBatch, r int, schema types.Schema, kinds []stream.RowKind) string {
	var line []byte
	if kinds != nil {
		line = append(line, kinds[r].String()...)
		line = append(line, '|')
	}
	for c := range int(rec.NumCols()) {
		if c > 0 {
			line = append(line, '|')
		}
		line = types.AppendDisplay(line, rec.Column(c), r, schema[c].Type, time.UTC)
	}
	return string(line)
}
