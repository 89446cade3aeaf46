// Adaptive shows a generator of watermarks in Go that waits 30 s for stragglers while little comes in, and 5 s while much does, beside fixed delays of 30 s
// and 5 s: how long after its end each window's result comes, and how many rows come too late for it.
//
//	go run ./examples/watermarks/adaptive
//
// A fleet of sensors sends a reading now and then, up to 29 s late, and in rush hours many, at most 4 s late. The clock is a virtual one, so that six
// minutes take a second, and every run prints the same figures. (The adaptive one is not free: when a rush begins, readings of the quiet time that are still
// under way come too late for it.)
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand"
	"os"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/test"
	"github.com/weir-sql/weir/connectors/watermark"
)

// adaptive is a generator: the watermark is the highest event time so far less 5 s while at least busy rows have come in the last 10 s, else less 30 s.
type adaptive struct {
	busy    int64
	elapsed func() time.Duration // processing time; the job's clock calls OnPeriodicEmit every 200 ms
	high    watermark.Time
	seconds [10]int64 // rows of the last 10 seconds, by second
	second  int64
}

// newAdaptive is the factory of WATERMARK FOR ts AS adaptive(ts, busy).
func newAdaptive(args []any) (watermark.Generator, error) {
	if len(args) == 1 {
		if busy, ok := args[0].(int64); ok && busy > 0 {
			return &adaptive{busy: busy, high: watermark.MinTime}, nil
		}
	}
	return nil, errors.New("usage: ADAPTIVE(ts, rows): how many rows in 10 s are a rush")
}

func (a *adaptive) UseClock(elapsed func() time.Duration) { a.elapsed = elapsed }

// move forgets the seconds that are over.
func (a *adaptive) move() {
	for now := int64(a.elapsed() / time.Second); a.second < now; {
		a.second++
		a.seconds[a.second%10] = 0
	}
}

func (a *adaptive) OnEvent(event watermark.Time, _ func(watermark.Time)) {
	a.move()
	a.high = max(a.high, event)
	a.seconds[a.second%10]++
}

func (a *adaptive) OnPeriodicEmit(emit func(watermark.Time)) {
	a.move()
	var rows int64
	for _, n := range a.seconds {
		rows += n
	}
	delay := 30 * time.Second
	if rows >= a.busy {
		delay = 5 * time.Second
	}
	if a.high != watermark.MinTime {
		emit(a.high.Add(-delay.Microseconds()))
	}
}

// strategies are the tables that are compared: all get the same readings.
var strategies = []struct{ table, watermark string }{
	{"adaptive", "adaptive(ts, 100)"},
	{"fixed_30_s", "ts - INTERVAL '30' SECOND"},
	{"fixed_5_s", "ts - INTERVAL '5' SECOND"},
}

// phases are what the sensors do.
var phases = []struct {
	name     string
	length   time.Duration
	interval time.Duration // between readings
	delay    time.Duration // of a reading, at most
}{
	{"quiet", 2 * time.Minute, 2 * time.Second, 29 * time.Second},
	{"busy", 2 * time.Minute, 50 * time.Millisecond, 4 * time.Second},
	{"quiet again", 2 * time.Minute, 2 * time.Second, 29 * time.Second},
}

// measured is what came of one strategy: latencies by phase, and how many rows were late.
type measured struct {
	mu       sync.Mutex
	latency  [][]time.Duration
	late     int64
	earliest time.Time
}

func (m *measured) add(start time.Time, latency time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.earliest
	for i, p := range phases {
		if at = at.Add(p.length); start.Before(at) {
			m.latency[i] = append(m.latency[i], latency)
			return
		}
	}
}

// run feeds the readings to all strategies and measures.
func run(ctx context.Context) ([]*measured, error) {
	begin := time.Date(2024, 5, 1, 8, 0, 0, 0, time.UTC)
	clock, tables := weir.NewVirtualClock(begin), test.NewRegistry()
	db, err := weir.Open(weir.Options{Clock: clock, Connectors: []connectors.Connector{tables.Connector()}})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if err := db.RegisterWatermarkGenerator("adaptive", newAdaptive); err != nil {
		return nil, err
	}
	var out []*measured
	var jobs []*weir.Job
	var feeds []*test.Table
	for _, s := range strategies {
		m := &measured{latency: make([][]time.Duration, len(phases)), earliest: begin}
		out = append(out, m)
		if err := db.Exec(ctx, fmt.Sprintf("CREATE TABLE %s (ts TIMESTAMP(3), WATERMARK FOR ts AS %s) WITH ('connector' = 'test')", s.table, s.watermark)); err != nil {
			return nil, err
		}
		query := fmt.Sprintf("SELECT CAST(window_start AS STRING), COUNT(*) FROM TUMBLE(TABLE %s, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end", s.table)
		r, err := db.ExecuteWith(ctx, query, weir.ExecOptions{OnBatch: func(_ weir.Schema, b weir.Batch) error {
			for i := range b.Len() {
				start, err := time.Parse("2006-01-02 15:04:05.000", b.Record.Column(0).ValueStr(b.Row(i)))
				if err != nil {
					return err
				}
				m.add(start, clock.Now().Sub(start.Add(10*time.Second)))
			}
			return nil
		}})
		if err != nil {
			return nil, err
		}
		path, err := db.TablePath(s.table)
		if err != nil {
			return nil, err
		}
		jobs, feeds = append(jobs, r.Job), append(feeds, tables.Table(path))
	}
	for _, r := range readings(begin) {
		if err := clock.Advance(ctx, r.arrives.Sub(clock.Now())); err != nil {
			return nil, err
		}
		for i, f := range feeds {
			if err := f.Append(0, r.happens.Format("2006-01-02 15:04:05.000")); err != nil {
				return nil, err
			}
			if err := jobs[i].Sync(ctx); err != nil {
				return nil, err
			}
		}
	}
	for i, j := range jobs {
		out[i].late = j.Stats().LateRows
		if err := j.Cancel(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

type reading struct{ happens, arrives time.Time }

// readings are those of all phases, in the order in which they arrive.
func readings(at time.Time) []reading {
	rnd := rand.New(rand.NewSource(1))
	var out []reading
	for _, p := range phases {
		for end := at.Add(p.length); at.Before(end); at = at.Add(p.interval) {
			out = append(out, reading{at, at.Add(time.Duration(rnd.Int63n(int64(p.delay))).Truncate(time.Millisecond))})
		}
	}
	slices.SortStableFunc(out, func(a, b reading) int { return a.arrives.Compare(b.arrives) })
	return out
}

func percentile(d []time.Duration, p int) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Sorted(slices.Values(d))
	return d[min(len(d)*p/100, len(d)-1)]
}

func show(w io.Writer, all []*measured) error {
	tab := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprint(tab, "seconds from a window's end to its result (median, maximum)\n\n\t")
	for _, p := range phases {
		fmt.Fprintf(tab, "%s\t", p.name)
	}
	fmt.Fprint(tab, "late rows\n")
	for i, m := range all {
		fmt.Fprintf(tab, "%s\t", strategies[i].table)
		for _, d := range m.latency {
			fmt.Fprintf(tab, "%.1f, %.1f\t", percentile(d, 50).Seconds(), percentile(d, 100).Seconds())
		}
		fmt.Fprintf(tab, "%d\n", m.late)
	}
	return tab.Flush()
}

func main() {
	all, err := run(context.Background())
	if err == nil {
		err = show(os.Stdout, all)
	}
	if err != nil {
		log.Fatal(err)
	}
}
