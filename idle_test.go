package weir_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/test"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// growing is a source whose splits come while it is read: a split has the seconds of its rows.
type growing struct {
	mu      sync.Mutex
	splits  [][]int
	ended   []bool
	changed chan struct{}
	readers []*growingReader
}

func (g *growing) Changed() <-chan struct{} { return g.changed }
func (g *growing) Close() error             { return nil }

func (g *growing) Splits(context.Context, *connectors.Env) ([]connectors.Split, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []connectors.Split
	for i := range g.splits {
		out = append(out, connectors.Split{ID: fmt.Sprint(i), Bytes: -1})
	}
	return out, nil
}

func (g *growing) Open(_ context.Context, _ *connectors.Env, s connectors.Split, from connectors.Position, _ int) (connectors.Reader, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := &growingReader{g: g, ready: make(chan struct{}, 1)}
	_, err := fmt.Sscan(s.ID, &r.split)
	if from != nil {
		r.at = int(binary.BigEndian.Uint32(from))
	}
	g.readers = append(g.readers, r)
	return r, err
}

// change adds splits, gives a split rows, or ends it.
func (g *growing) change(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := len(g.splits)
	f()
	if len(g.splits) > n {
		g.changed <- struct{}{}
	}
	for _, r := range g.readers {
		select {
		case r.ready <- struct{}{}:
		default:
		}
	}
}

type growingReader struct {
	g         *growing
	split, at int
	ready     chan struct{}
}

func (r *growingReader) Ready() <-chan struct{} { return r.ready }
func (r *growingReader) Close() error           { return nil }

func (r *growingReader) Next(context.Context) (connectors.Block, error) {
	r.g.mu.Lock()
	defer r.g.mu.Unlock()
	rows := r.g.splits[r.split]
	switch {
	case r.at < len(rows):
	case r.split < len(r.g.ended) && r.g.ended[r.split]:
		return connectors.Block{}, connectors.EOF
	default:
		return connectors.Block{}, connectors.ErrNotReady
	}
	second := rows[r.at]
	r.at++
	return connectors.Block{Position: binary.BigEndian.AppendUint32(nil, uint32(r.at)), Watermark: stream.MinTime, Decode: func(_ context.Context, mem memory.Allocator) (connectors.Decoded, error) {
		schema := types.Schema{{Name: "ts", Type: types.TimestampOf(3)}}
		b := array.NewRecordBuilder(mem, schema.Arrow())
		defer b.Release()
		err := types.Append(b.Field(0), types.TimestampVal(tenOClock.Add(time.Duration(second)*time.Second).UnixMicro()), schema[0].Type)
		return connectors.Decoded{Batch: stream.Batch{Record: b.NewRecordBatch()}}, err
	}}, nil
}

// TestSourceWithoutSplits: it holds the watermark like a silent split, is passed over behind the idle timeout, and has a say again as soon as it has a
// split; when all its splits have ended the same begins anew. With a restore between any two steps it is the same.
func TestSourceWithoutSplits(t *testing.T) {
	for _, restore := range []bool{false, true} {
		t.Run(fmt.Sprint("restore ", restore), func(t *testing.T) {
			clock := weir.NewVirtualClock(tenOClock)
			registry := test.NewRegistry()
			db := open(t, weir.Options{Clock: clock, Connectors: []connectors.Connector{registry.Connector()}, Config: map[string]string{"table.exec.source.idle-timeout": "30 s"}})
			g := &growing{changed: make(chan struct{}, 1)}
			if err := db.RegisterTable("g", g, "ts TIMESTAMP(3), WATERMARK FOR ts AS ts"); err != nil {
				t.Fatal(err)
			}
			if err := db.Exec(t.Context(), `CREATE TABLE s (ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'test', 'scan.watermark.idle-timeout' = '1 h');
				CREATE VIEW both AS SELECT ts FROM g UNION ALL SELECT ts FROM s;
				CREATE TABLE w (start_at TIMESTAMP(3), n BIGINT)`); err != nil {
				t.Fatal(err)
			}
			const insert = "INSERT INTO w SELECT window_start, COUNT(*) FROM TUMBLE(TABLE both, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end"
			r, err := db.ExecuteWith(t.Context(), insert, weir.ExecOptions{})
			if err != nil {
				t.Fatal(err)
			}
			job := r.Job
			path, _ := db.TablePath("s")
			// then checks the watermark in front of the windows: how many of them have closed.
			then := func(what string, closed int) {
				t.Helper()
				if err := job.Sync(t.Context()); err != nil {
					t.Fatal(err)
				}
				snap, err := job.Checkpoint(t.Context()) // the table has what was committed
				if err != nil {
					t.Fatal(err)
				}
				snap.Release()
				if err := job.Sync(t.Context()); err != nil { // the sinks commit behind the checkpoint
					t.Fatal(err)
				}
				if got := len(showRows(t, db, "SELECT n FROM w")); got != closed {
					t.Errorf("%s: %d windows have closed, not %d", what, got, closed)
				}
				if !restore {
					return
				}
				if snap, err = job.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(snap.Release)
				if r, err = db.ExecuteWith(t.Context(), insert, weir.ExecOptions{Restore: snap}); err != nil {
					t.Fatal(err)
				}
				job = r.Job
			}
			feed := func(second int) {
				t.Helper()
				if err := registry.Table(path).Append(0, fmt.Sprintf("2024-05-01 10:%02d:%02d", second/60, second%60)); err != nil {
					t.Fatal(err)
				}
			}
			advance := func(d time.Duration) {
				t.Helper()
				if err := clock.Advance(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			feed(5)
			feed(12)
			then("no split", 0)
			if !restore { // a restore begins anew with the waiting for a first split
				advance(29 * time.Second)
				then("29 s without a split", 0)
				advance(time.Second)
			} else {
				advance(30 * time.Second)
			}
			then("30 s without a split", 1)
			feed(25)
			then("passed over", 2)
			g.change(func() { g.splits = append(g.splits, nil) })
			then("a split has come", 2)
			feed(45)
			then("it is silent and holds", 2)
			g.change(func() { g.splits[0] = []int{33} })
			then("it speaks", 3) // [20, 30)
			advance(30 * time.Second)
			then("it is idle", 4) // [30, 40)
			feed(55)
			then("still", 5) // [40, 50)
			g.change(func() { g.splits[0] = append(g.splits[0], 50) })
			then("awake behind", 5)
			feed(66)
			then("awake behind: nothing goes on", 5)
			g.change(func() { g.splits[0] = append(g.splits[0], 61) })
			then("it has caught up", 6) // [50, 60)
			feed(77)
			then("it is behind again", 6)
			g.change(func() { g.ended = []bool{true} })
			then("ended, and another may come", 6)
			advance(30 * time.Second)
			then("30 s without a split that could speak", 7) // [60, 70)
			if err := job.Cancel(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
