package weir_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/test"
	"github.com/weir-sql/weir/connectors/watermark"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// nudge lets a silent split go on: its watermark is that of the last event but one, and the last one's after 10 s without another.
type nudge struct {
	elapsed func() time.Duration
	last    stream.Time
	at      time.Duration
}

func (n *nudge) UseClock(elapsed func() time.Duration) { n.elapsed = elapsed }
func (n *nudge) OnEvent(event stream.Time, emit func(stream.Time)) {
	if n.last != 0 {
		emit(n.last)
	}
	n.last, n.at = max(n.last, event), n.elapsed()
}
func (n *nudge) OnPeriodicEmit(emit func(stream.Time)) {
	if n.last != 0 && n.elapsed()-n.at >= 10*time.Second {
		emit(n.last)
	}
}
func (n *nudge) Snapshot() ([]byte, error) {
	return binary.AppendVarint(binary.AppendVarint(nil, int64(n.last)), int64(n.at)), nil
}
func (n *nudge) Restore(b []byte) error {
	last, k := binary.Varint(b)
	at, _ := binary.Varint(b[k:])
	n.last, n.at = stream.Time(last), time.Duration(at)
	return nil
}

func newNudge([]any) (watermark.Generator, error) { return &nudge{}, nil }

// TestClockedGenerator: the clock calls it, also behind a restore, and not over bounded tables.
func TestClockedGenerator(t *testing.T) {
	for _, periodic := range []bool{false, true} {
		t.Run(fmt.Sprint("periodic ", periodic), func(t *testing.T) {
			clock := weir.NewVirtualClock(tenOClock)
			registry := test.NewRegistry()
			db := open(t, weir.Options{Clock: clock, Connectors: []connectors.Connector{registry.Connector()}})
			if err := db.RegisterWatermarkGenerator("nudge", newNudge); err != nil {
				t.Fatal(err)
			}
			options := "'connector' = 'test'"
			if periodic {
				options += ", 'scan.watermark.emit.strategy' = 'on-periodic'"
			}
			run := func(sql string) {
				t.Helper()
				if err := db.Exec(t.Context(), sql); err != nil {
					t.Fatal(err)
				}
			}
			run("CREATE TABLE s (ts TIMESTAMP(3), WATERMARK FOR ts AS nudge(ts)) WITH (" + options + ")")
			run("CREATE TABLE w (start_at TIMESTAMP(3), n BIGINT)")
			insert := "INSERT INTO w SELECT window_start, COUNT(*) FROM TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end"
			start := func(from *weir.Snapshot) *weir.Job {
				t.Helper()
				r, err := db.ExecuteWith(t.Context(), insert, weir.ExecOptions{Restore: from})
				if err != nil {
					t.Fatal(err)
				}
				return r.Job
			}
			job := start(nil)
			path, err := db.TablePath("s")
			if err != nil {
				t.Fatal(err)
			}
			feed := func(second string) {
				t.Helper()
				if err := registry.Table(path).Append(0, "2024-05-01 10:00:"+second); err != nil {
					t.Fatal(err)
				}
				if err := job.Sync(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			at := func(want string) {
				t.Helper()
				got, err := job.Metric(t.Context(), "watermark")
				if err != nil || got != want {
					t.Errorf("the watermark is %s, want %s (%v)", got, want, err)
				}
			}
			advance := func(d time.Duration) {
				t.Helper()
				if err := clock.Advance(t.Context(), d); err != nil {
					t.Fatal(err)
				}
				if err := job.Sync(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			feed("05")
			at("NULL")
			advance(5 * time.Second)
			feed("12")
			if !periodic {
				at("2024-05-01 10:00:05.000")
			}
			advance(9800 * time.Millisecond)
			at("2024-05-01 10:00:05.000")
			snap, err := job.Stop(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(snap.Release)
			if err := clock.Advance(t.Context(), time.Hour); err != nil { // the clock of the generator stands still meanwhile
				t.Fatal(err)
			}
			job = start(snap)
			at("2024-05-01 10:00:05.000")
			advance(199 * time.Millisecond)
			at("2024-05-01 10:00:05.000")
			advance(201 * time.Millisecond)
			at("2024-05-01 10:00:12.000")
			feed("15")
			advance(time.Minute)
			at("2024-05-01 10:00:15.000")
			registry.Table(path).End(-1)
			if err := job.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := showRows(t, db, "SELECT EXTRACT(SECOND FROM start_at), n FROM w"); fmt.Sprint(got) != "[0 1 10 2]" {
				t.Errorf("%s", got)
			}

			// Over a bounded table no time passes, whatever the clock does: the watermark is that of the last event but one.
			run("CREATE TABLE log (ts TIMESTAMP(3), WATERMARK FOR ts AS nudge(ts))")
			run("INSERT INTO log VALUES (TIMESTAMP '2024-05-01 10:00:01.000'), (TIMESTAMP '2024-05-01 10:00:20.000'), (TIMESTAMP '2024-05-01 10:00:02.000'), (TIMESTAMP '2024-05-01 10:00:03.000')")
			if got := windows(t, db, "log", "ts"); got != "0 2, 20 1" {
				t.Errorf("bounded: %s", got)
			}
		})
	}
}

// busyness counts the events between two calls of the clock.
type busyness struct {
	high   stream.Time
	events int
}

func (b *busyness) OnEvent(event stream.Time, _ func(stream.Time)) {
	b.high = max(b.high, event)
	b.events++
}
func (b *busyness) OnPeriodicEmit(emit func(stream.Time)) {
	if b.high == 0 {
		return
	}
	delay := 30 * time.Second
	if b.events >= 3 {
		delay = 5 * time.Second
	}
	b.events = 0
	emit(b.high.Add(-delay.Microseconds()))
}

// TestPeriodicGenerator: on-periodic, the clock alone calls OnPeriodicEmit; a source in Go, idle and ended splits.
func TestPeriodicGenerator(t *testing.T) {
	clock := weir.NewVirtualClock(tenOClock)
	db := open(t, weir.Options{Clock: clock, Config: map[string]string{"pipeline.auto-watermark-interval": "1 s"}})
	tab := testTable(t, "x", "2", types.Column{Name: "ts", Type: types.TimestampOf(3)})
	strategy := weir.WatermarksBy(func([]any) (weir.WatermarkGenerator, error) { return &busyness{}, nil }).WithIdleness(20 * time.Second)
	if err := db.RegisterTable("s", weir.WithWatermarks(plain{tab}, strategy)); err != nil {
		t.Fatal(err)
	}
	job, err := db.Start(t.Context(), "INSERT INTO default_catalog.default_database.gone SELECT ts FROM s")
	if err == nil {
		t.Fatal(job)
	}
	if err := db.Exec(t.Context(), "CREATE TABLE out_ (ts TIMESTAMP(3)) WITH ('connector' = 'blackhole')"); err != nil {
		t.Fatal(err)
	}
	job, err = db.Start(t.Context(), "INSERT INTO out_ SELECT ts FROM s /*+ OPTIONS('scan.watermark.emit.strategy' = 'on-periodic') */")
	if err != nil {
		t.Fatal(err)
	}
	feed := func(split int, seconds ...int) {
		t.Helper()
		for _, s := range seconds {
			if err := tab.Append(split, fmt.Sprintf("2024-05-01 10:%02d:%02d", s/60, s%60)); err != nil {
				t.Fatal(err)
			}
		}
		if err := job.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	at := func(want string) {
		t.Helper()
		if got, err := job.Metric(t.Context(), "watermark"); err != nil || got != want {
			t.Errorf("the watermark is %s, want %s (%v)", got, want, err)
		}
	}
	advance := func(d time.Duration) {
		t.Helper()
		if err := clock.Advance(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if err := job.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	feed(0, 60)
	feed(1, 60, 61, 62)
	at("NULL")
	advance(time.Second)
	at("2024-05-01 10:00:30.000") // 60 - 30, 62 - 5
	feed(0, 61, 62, 63)
	at("2024-05-01 10:00:30.000")
	advance(time.Second)
	at("2024-05-01 10:00:57.000") // 63 - 5, 62 - 5
	advance(17 * time.Second)
	feed(0, 90)
	advance(time.Second) // split 1 has been silent for 20 s
	at("2024-05-01 10:01:00.000")
	feed(1, 59) // it wakes up behind
	advance(time.Second)
	at("2024-05-01 10:01:00.000")
	tab.End(1)
	feed(0, 100, 101, 102)
	advance(time.Second)
	at("2024-05-01 10:01:37.000")
	tab.End(0)
	if err := job.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// byRow has its delay from the row.
type byRow struct{ busyness }

func (b *byRow) OnRow(event stream.Time, args []any, emit func(stream.Time)) {
	if args[2] != "fixed" {
		panic(fmt.Errorf("the constant is %v", args[2]))
	}
	switch d := args[0].(type) {
	case nil:
	case int64:
		emit(event.Add(-d*1e6 - args[1].(time.Duration).Microseconds()))
	default:
		panic(fmt.Errorf("the delay is a %T", d))
	}
}
func (*byRow) OnPeriodicEmit(func(stream.Time)) {}

// TestGeneratorArguments: arguments that depend on the row, and what is wrong with arguments.
func TestGeneratorArguments(t *testing.T) {
	registry := test.NewRegistry()
	db := open(t, weir.Options{Connectors: []connectors.Connector{registry.Connector()}})
	for name, f := range map[string]weir.WatermarkFactory{
		"by_row": func(args []any) (weir.WatermarkGenerator, error) {
			if c, ok := args[0].(watermark.Column); len(args) != 3 || !ok || c.Type.Kind != types.BigInt {
				return nil, fmt.Errorf("usage: BY_ROW(ts, delay, INTERVAL .. SECOND, 'fixed')")
			}
			return &byRow{}, nil
		},
		"half_a_minute": weir.BoundedOutOfOrderness(30 * time.Second).Factory(),
		"loud":          func([]any) (weir.WatermarkGenerator, error) { return loud{}, nil },
		"unmade":        func([]any) (weir.WatermarkGenerator, error) { panic("not today") },
		"none":          func([]any) (weir.WatermarkGenerator, error) { return nil, nil },
		"forgetful":     func([]any) (weir.WatermarkGenerator, error) { return new(forgetful), nil },
	} {
		if err := db.RegisterWatermarkGenerator(name, f); err != nil {
			t.Fatal(err)
		}
	}
	rows := `VALUES (TIMESTAMP '2024-05-01 10:00:05.000', 1), (TIMESTAMP '2024-05-01 10:00:20.000', CAST(NULL AS INT)), (TIMESTAMP '2024-05-01 10:00:02.000', 0),
		(TIMESTAMP '2024-05-01 10:00:30.000', 12), (TIMESTAMP '2024-05-01 10:00:31.000', 1)`
	if err := db.Exec(t.Context(), `CREATE TABLE t (ts TIMESTAMP(3), delay INT, twice AS delay + delay, WATERMARK FOR ts AS By_Row(ts, twice - delay, INTERVAL '0.5' SECOND, 'fixed'));
		INSERT INTO t (ts, delay) `+rows); err != nil {
		t.Fatal(err)
	}
	want := "[<nil> 2024-05-01 10:00:03.500 2024-05-01 10:00:03.500 2024-05-01 10:00:03.500 2024-05-01 10:00:17.500]"
	if got := showRows(t, db, "SELECT CAST(CURRENT_WATERMARK(ts) AS STRING) FROM t"); fmt.Sprint(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := strings.Join(showRows(t, db, "EXPLAIN SELECT ts FROM t"), "\n"); !strings.Contains(got, "watermark=[BY_ROW(") {
		t.Error(got)
	}
	// A strategy of Go names its columns.
	type row struct {
		TS    time.Time `weir:"ts"`
		Delay *int64
		Pause time.Duration
		Fixed string
	}
	two, pause := int64(2), time.Second
	list := []row{{tenOClock, &two, pause, "fixed"}, {tenOClock.Add(time.Minute), nil, pause, "fixed"}, {tenOClock.Add(time.Minute), &two, pause, "fixed"}, {tenOClock.Add(time.Hour), &two, 0, "fixed"}}
	perRow := weir.WatermarksBy(func([]any) (weir.WatermarkGenerator, error) { return &byRow{}, nil }, "delay", "pause", "fixed")
	if err := db.RegisterTable("g", weir.WithWatermarks(list, perRow)); err != nil {
		t.Fatal(err)
	}
	want = "[<nil> 2024-05-01 09:59:57.000000 2024-05-01 09:59:57.000000 2024-05-01 10:00:57.000000]"
	if got := showRows(t, db, "SELECT CAST(CURRENT_WATERMARK(ts) AS STRING) FROM g"); fmt.Sprint(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	if err := db.RegisterTable("h", weir.WithWatermarks(list, weir.WatermarksBy(func([]any) (weir.WatermarkGenerator, error) { return &byRow{}, nil }, "dely"))); err != nil {
		t.Fatal(err)
	}
	failed(t, db, "SELECT ts FROM h", "wants column 'dely', which does not exist")

	for clause, want := range map[string]string{
		"by_row(ts)":                   "watermark generator BY_ROW: its factory panicked",
		"by_row(ts, 1, 2, 3)":          "watermark generator BY_ROW: usage: BY_ROW",
		"by_row(ts, 'a', 2, 3)":        "watermark generator BY_ROW: usage: BY_ROW",
		"by_rwo(ts, 1, 2, 3)":          "there is no function and no watermark generator BY_RWO",
		"half_a_minute(ts, 1)":         "watermark generator HALF_A_MINUTE: it takes no arguments behind the event time, not 1",
		"half_a_minute(delay)":         "the first argument of the watermark generator HALF_A_MINUTE is the event time column 'ts'",
		"half_a_minute()":              "the first argument of the watermark generator HALF_A_MINUTE is the event time column 'ts'",
		"loud(ts, delay)":              "watermark generator LOUD: it takes constants behind the event time only, and delay depends on the row",
		"by_row(ts, RAND_INTEGER(10))": "and RAND_INTEGER(10) changes by itself",
		"by_row(ts, 1 / 0)":            "division by zero",
		"by_row(ts, nowhere)":          "column 'nowhere' does not exist",
		"unmade(ts)":                   "watermark generator UNMADE: its factory panicked: not today",
		"none(ts)":                     "watermark generator NONE: its factory gave none",
		"half_a_minute(ts) + ts":       "HALF_A_MINUTE",
	} {
		err := db.Exec(t.Context(), "CREATE TABLE e (ts TIMESTAMP(3), delay INT, WATERMARK FOR ts AS "+clause+") WITH ('connector' = 'test')")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", clause, err, want)
		}
	}
	var e *weir.Error
	err := db.Exec(t.Context(), "CREATE TABLE e (ts TIMESTAMP(3), WATERMARK FOR ts AS half_minute(ts)) WITH ('connector' = 'test')")
	if !errors.As(err, &e) || e.Hint != "did you mean HALF_A_MINUTE?" || e.Column != 54 {
		t.Errorf("%v: %+v", err, e)
	}
	// What fails while it runs.
	if err := db.Exec(t.Context(), "CREATE TABLE l (ts TIMESTAMP(3), WATERMARK FOR ts AS loud(ts)); INSERT INTO l VALUES (TIMESTAMP '2024-05-01 10:00:05.000')"); err != nil {
		t.Fatal(err)
	}
	failed(t, db, "SELECT ts FROM l", "table `default_catalog`.`default_database`.`l`, split memory: the watermark generator LOUD panicked: at 2024-05-01")
	if err := db.Exec(t.Context(), `CREATE TABLE f (ts TIMESTAMP(3), WATERMARK FOR ts AS forgetful(ts)) WITH ('connector' = 'test');
		CREATE TABLE fs (ts TIMESTAMP(3)) WITH ('connector' = 'blackhole')`); err != nil {
		t.Fatal(err)
	}
	job, err := db.Start(t.Context(), "INSERT INTO fs SELECT ts FROM f")
	if err != nil {
		t.Fatal(err)
	}
	path, _ := db.TablePath("f")
	if err := registry.Table(path).Append(0, "2024-05-01 10:00:05"); err != nil {
		t.Fatal(err)
	}
	if err := job.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := job.Checkpoint(t.Context()); err == nil {
		t.Error("there was a checkpoint without the state of the generator")
	}
	if err := job.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "split 0: the watermark generator FORGETFUL: nothing comes to mind") {
		t.Error(err)
	}
}

type loud struct{}

func (loud) OnEvent(event stream.Time, _ func(stream.Time)) {
	panic("at " + time.UnixMicro(int64(event)).UTC().Format(time.DateOnly))
}
func (loud) OnPeriodicEmit(func(stream.Time)) {}

// forgetful remembers what was before its first block only.
type forgetful struct{ asked int }

func (*forgetful) OnEvent(stream.Time, func(stream.Time)) {}
func (*forgetful) OnPeriodicEmit(func(stream.Time))       {}
func (*forgetful) Restore([]byte) error                   { return nil }
func (f *forgetful) Snapshot() ([]byte, error) {
	if f.asked++; f.asked > 1 {
		return nil, errors.New("nothing comes to mind")
	}
	return nil, nil
}
