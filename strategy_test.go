package weir_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/blackhole"
	memtable "github.com/weir-sql/weir/connectors/memory"
	"github.com/weir-sql/weir/connectors/test"
	"github.com/weir-sql/weir/connectors/watermark"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

var tenOClock = time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)

func open(t *testing.T, o weir.Options) *weir.DB {
	t.Helper()
	db, err := weir.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

type reading struct {
	Sensor string
	Millis int64
}

func readings(seconds ...float64) []reading {
	var out []reading
	for _, s := range seconds {
		out = append(out, reading{"a", tenOClock.UnixMilli() + int64(s*1000)})
	}
	return out
}

func readingTime(r reading) time.Time { return time.UnixMilli(r.Millis) }

// windows are the counts of windows of 10 s, by their seconds.
func windows(t *testing.T, db *weir.DB, table, column string) string {
	t.Helper()
	return strings.Join(showRows(t, db, "SELECT EXTRACT(SECOND FROM window_start), COUNT(*) FROM TUMBLE(TABLE "+table+", DESCRIPTOR("+column+"), INTERVAL '10' SECOND) "+
		"GROUP BY window_start, window_end"), ", ")
}

// TestStrategyOfRows: the event time is computed from the row, the watermark is max - d - 1 ms.
func TestStrategyOfRows(t *testing.T) {
	db := open(t, weir.Options{})
	assigner := watermark.TimestampOf(readingTime)
	// 15.000 - 5.001 is not enough for [0, 10), 15.001 - 5.001 neither: it closes at 9.999.
	rows := readings(1, 14.999, 2, 15, 3, 25)
	many := make(chan reading, len(rows))
	for _, r := range rows {
		many <- r
	}
	close(many)
	bounded := weir.BoundedOutOfOrderness(5 * time.Second).WithTimestampAssigner(assigner)
	var pointers []*reading
	for i := range rows {
		pointers = append(pointers, &rows[i])
	}
	for name, source := range map[string]any{
		"a_slice":   weir.WithWatermarks(rows, bounded),
		"a_seq":     weir.WithWatermarks(slices.Values(rows), bounded),
		"a_channel": weir.WithWatermarks(many, bounded.WithIdleness(time.Minute)),
		"pointers":  weir.WithWatermarks(pointers, weir.BoundedOutOfOrderness(5*time.Second).WithTimestampAssigner(watermark.TimestampOf(func(r *reading) time.Time { return readingTime(*r) }))),
	} {
		if err := db.RegisterTable(name, source); err != nil {
			t.Fatal(err)
		}
		// 2 comes behind 14.999 and is in time; 3 comes behind 15, whose watermark is 9.999, and is late.
		if got := windows(t, db, name, "rowtime"); got != "0 2, 10 2, 20 1" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := strings.Join(showRows(t, db, "SHOW CREATE TABLE a_channel"), ""); !strings.Contains(got, "WATERMARK FOR `rowtime` AS SOURCE_WATERMARK()") ||
		!strings.Contains(got, "'scan.watermark.idle-timeout' = '60000 ms'") {
		t.Error(got)
	}
	// A column; a declaration; no time at all.
	if err := db.RegisterTable("ddl", weir.WithWatermarks(rows, weir.MonotonousTimestamps()), "millis BIGINT, ts AS TO_TIMESTAMP_LTZ(millis, 3), WATERMARK FOR ts AS SOURCE_WATERMARK()"); err != nil {
		t.Fatal(err)
	}
	if got := windows(t, db, "ddl", "ts"); got != "0 1, 10 2, 20 1" {
		t.Errorf("ddl: %s", got)
	}
	if err := db.RegisterTable("col", weir.WithWatermarks(rows, weir.MonotonousTimestamps().WithTimestampColumn("ts")), "millis BIGINT, ts AS TO_TIMESTAMP_LTZ(millis, 3)"); err != nil {
		t.Fatal(err)
	}
	if got := windows(t, db, "col", "ts"); got != "0 1, 10 2, 20 1" {
		t.Errorf("col: %s", got)
	}
	none := func(any) time.Time { return time.Time{} }
	if err := db.RegisterTable("timeless", weir.WithWatermarks(rows, weir.MonotonousTimestamps().WithTimestampAssigner(none))); err != nil {
		t.Fatal(err)
	}
	failed(t, db, "SELECT sensor FROM timeless", "event time column rowtime is NULL in row 1")
	broken := func(any) time.Time { panic("no clock") }
	if err := db.RegisterTable("broken", weir.WithWatermarks(rows, weir.MonotonousTimestamps().WithTimestampAssigner(broken))); err != nil {
		t.Fatal(err)
	}
	failed(t, db, "SELECT sensor FROM broken", "column rowtime: the timestamp assigner panicked: no clock")
}

func failed(t *testing.T, db *weir.DB, sql, want string) {
	t.Helper()
	q, err := db.Query(t.Context(), sql)
	if err == nil {
		for _, err = range q.All() {
			if err != nil {
				break
			}
		}
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %s", sql, err, want)
	}
}

// plain is a table of the connector 'test' that makes no watermarks.
type plain struct{ *test.Table }

func (plain) SuppliesWatermarks() bool { return false }

func testTable(t *testing.T, name, splits string, columns ...types.Column) *test.Table {
	t.Helper()
	options := map[string]string{"connector": "test", "splits": splits}
	if splits == "" {
		delete(options, "splits")
	}
	tab, err := test.NewRegistry().Connector().Table(t.Context(), connectors.Declaration{Name: name, ID: 1, Columns: columns, Options: options, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	return tab.(*test.Table)
}

// TestTwoStrategies: a stream has one.
func TestTwoStrategies(t *testing.T) {
	db := open(t, weir.Options{})
	type tagged struct {
		At time.Time `weir:"ts,watermark=5s"`
	}
	type untagged struct{ A, B time.Time }
	five := weir.BoundedOutOfOrderness(5 * time.Second)
	assign := watermark.TimestampOf(readingTime)
	supplies := testTable(t, "x", "", types.Column{Name: "ts", Type: types.TimestampOf(3)})
	for _, c := range []struct {
		source any
		ddl    string
		want   string
	}{
		{weir.WithWatermarks([]tagged{}, five), "", "it has two watermark strategies: field ts has watermark= in its tag, and the source was given a strategy"},
		{weir.WithWatermarks(weir.WithWatermarks(readings(1), five), five), "", "WithWatermarks was called twice"},
		{weir.WithWatermarks([]untagged{}, five), "a TIMESTAMP_LTZ(3), WATERMARK FOR a AS a - INTERVAL '1' SECOND", "its declaration has WATERMARK FOR a AS ..., and its source was given a strategy"},
		{weir.WithWatermarks([]untagged{}, five.WithTimestampColumn("b")), "a TIMESTAMP_LTZ(3), b TIMESTAMP_LTZ(3), WATERMARK FOR a AS SOURCE_WATERMARK()", "two event times"},
		{weir.WithWatermarks([]untagged{}, five), "", "does not say which column is the event time, and 2 are"},
		{weir.WithWatermarks(readings(1), five), "", "does not say which column is the event time, and 0 are"},
		{weir.WithWatermarks(readings(1), five.WithTimestampColumn("ts")), "", "'ts' does not exist"},
		{weir.WithWatermarks(readings(1), five.WithTimestampAssigner(assign).WithTimestampColumn("millis")), "", "the event time is given once"},
		{weir.WithWatermarks(readings(1), five.WithIdleness(-1)), "", "an idle timeout is 1 ms or more"},
		{weir.WithWatermarks(readings(1), five.WithAlignment("", 1, 1)), "", "alignment needs a group"},
		{weir.WithWatermarks(readings(1), weir.WatermarkStrategy{}), "", "the strategy has no generator"},
		{weir.WithWatermarks(supplies, five), "", "the source makes watermarks itself (SOURCE_WATERMARK()), and it was given a strategy"},
		{weir.WithWatermarks(plain{supplies}, five.WithTimestampAssigner(assign)), "", "which needs rows that are Go values"},
		{[]untagged{}, "a TIMESTAMP_LTZ(3), WATERMARK FOR a AS a, WATERMARK FOR a AS a", "a table has only one WATERMARK"},
		{&marking{}, "", "a connectors.Source has no column names"},
		{weir.WithWatermarks(&marking{}, five), "ts TIMESTAMP(3)", "the source makes watermarks itself"},
	} {
		var ddl []string
		if c.ddl != "" {
			ddl = []string{c.ddl}
		}
		if err := db.RegisterTable("two", c.source, ddl...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	// What the catalog finds: a declaration that was changed, a source that makes none.
	if err := db.RegisterTable("changed", weir.WithWatermarks([]untagged{}, five.WithTimestampColumn("a"))); err != nil {
		t.Fatal(err)
	}
	if err := db.Exec(t.Context(), "ALTER TABLE changed MODIFY WATERMARK FOR a AS a - INTERVAL '1' SECOND"); err != nil {
		t.Fatal(err)
	}
	failed(t, db, "SELECT * FROM changed", "table changed has two watermark strategies: its declaration has WATERMARK FOR a AS a - INTERVAL '1' SECOND, and its source was registered with a strategy")
	if err := db.RegisterTable("silent", []untagged{}, "a TIMESTAMP_LTZ(3), WATERMARK FOR a AS SOURCE_WATERMARK()"); err != nil {
		t.Fatal(err)
	}
	failed(t, db, "SELECT * FROM silent", "table silent declares SOURCE_WATERMARK(), and the connector 'go' supplies no watermarks")
}

// marking is a source that makes its watermarks: a split with two blocks of two rows, a mark behind each, and one that goes idle.
type marking struct{}

func (*marking) SuppliesWatermarks() bool { return true }
func (*marking) Changed() <-chan struct{} { return nil }
func (*marking) Close() error             { return nil }
func (*marking) Splits(context.Context, *connectors.Env) ([]connectors.Split, error) {
	return []connectors.Split{{ID: "rows", Bytes: -1}, {ID: "silent", Bytes: -1}}, nil
}
func (m *marking) Open(_ context.Context, _ *connectors.Env, s connectors.Split, from connectors.Position, _ int) (connectors.Reader, error) {
	r := &markingReader{silent: s.ID == "silent", never: make(chan struct{})}
	if from != nil {
		r.at = int(from[0])
	}
	return r, nil
}

type markingReader struct {
	silent bool
	at     int
	never  chan struct{}
}

func (r *markingReader) Ready() <-chan struct{} { return r.never }
func (r *markingReader) Close() error           { return nil }

func (r *markingReader) Next(context.Context) (connectors.Block, error) {
	r.at++
	pos := connectors.Position{byte(r.at)}
	mark := func(second int) stream.Time {
		return stream.Time(tenOClock.Add(time.Duration(second) * time.Second).UnixMicro())
	}
	switch {
	case r.silent && r.at == 1:
		return connectors.Block{Position: pos, Watermark: stream.MinTime, Idle: true}, nil
	case r.at > 3, r.silent:
		return connectors.Block{}, connectors.EOF
	case r.at == 3: // a mark alone
		return connectors.Block{Position: pos, Watermark: mark(20)}, nil
	}
	seconds := [][]int{{1, 12}, {3, 4}}[r.at-1] // 12 does not close [0, 10): the source knows better
	return connectors.Block{Position: pos, Watermark: mark([]int{2, 9}[r.at-1]), Decode: func(_ context.Context, mem memory.Allocator) (connectors.Decoded, error) {
		schema := types.Schema{{Name: "k", Type: types.StringType}, {Name: "ts", Type: types.TimestampOf(3)}}
		b := array.NewRecordBuilder(mem, schema.Arrow())
		defer b.Release()
		for _, s := range seconds {
			b.Field(0).(*array.StringBuilder).Append("k")
			if err := types.Append(b.Field(1), types.TimestampVal(mark(s)), schema[1].Type); err != nil {
				return connectors.Decoded{}, err
			}
		}
		return connectors.Decoded{Batch: stream.Batch{Record: b.NewRecordBatch()}}, nil
	}}, nil
}

// TestSourceOfWatermarks: a source that makes event times and watermarks itself.
func TestSourceOfWatermarks(t *testing.T) {
	for _, batch := range []string{"1", "8192"} {
		db := open(t, weir.Options{Config: map[string]string{"weir.batch-size": batch}})
		if err := db.RegisterTable("m", &marking{}, "k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS SOURCE_WATERMARK()"); err != nil {
			t.Fatal(err)
		}
		if got := windows(t, db, "m", "ts"); got != "0 3, 10 1" {
			t.Errorf("batches of %s: %s", batch, got)
		}
		if got := showRows(t, db, "SELECT EXTRACT(SECOND FROM ts), CAST(CURRENT_WATERMARK(ts) AS STRING) FROM m"); fmt.Sprint(got) !=
			"[1 <nil> 12 <nil> 3 2024-05-01 10:00:02.000 4 2024-05-01 10:00:02.000]" {
			t.Errorf("batches of %s: %s", batch, got)
		}
	}
	db := open(t, weir.Options{})
	if err := db.RegisterTable("m", &marking{}, "k STRING, ts TIMESTAMP(3), n INT, WATERMARK FOR ts AS SOURCE_WATERMARK()"); err != nil {
		t.Fatal(err)
	}
	failed(t, db, "SELECT k FROM m", "the source gives 2 columns, and the table has 3")
	if err := db.RegisterTable("n", &marking{}, "k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS SOURCE_WATERMARK()"); err != nil {
		t.Fatal(err)
	}
	failed(t, db, "SELECT k FROM n", "column k: the source gives utf8, and INT is int32")
}

// TestStrategyAlignment: WithAlignment is 'scan.watermark.alignment.*', together with a generator and its tick.
func TestStrategyAlignment(t *testing.T) {
	clock := weir.NewVirtualClock(tenOClock)
	db := open(t, weir.Options{Clock: clock})
	column := types.Column{Name: "ts", Type: types.TimestampOf(3)}
	slow, fast := testTable(t, "slow", "", column), testTable(t, "fast", "", column)
	strategy := weir.MonotonousTimestamps().WithAlignment("g'1", time.Minute, 2*time.Second)
	for name, table := range map[string]*test.Table{"slow": slow, "fast": fast} {
		if err := db.RegisterTable(name, weir.WithWatermarks(plain{table}, strategy)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Exec(t.Context(), "CREATE TABLE gone (ts TIMESTAMP(3)) WITH ('connector' = 'blackhole')"); err != nil {
		t.Fatal(err)
	}
	job, err := db.Start(t.Context(), "INSERT INTO gone SELECT ts FROM slow UNION ALL SELECT ts FROM fast")
	if err != nil {
		t.Fatal(err)
	}
	step := func(table *test.Table, minute int, d time.Duration, rows int64) {
		t.Helper()
		if err := table.Append(0, fmt.Sprintf("2024-05-01 11:%02d:00", minute)); err != nil {
			t.Fatal(err)
		}
		if err := job.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := clock.Advance(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if got := job.Stats().RowsIn; got != rows {
			t.Errorf("minute %d: %d rows were read, not %d", minute, got, rows)
		}
	}
	step(slow, 0, 0, 1)
	step(fast, 30, 2*time.Second, 2)
	step(fast, 31, 2*time.Second, 2) // more than a minute ahead of the slow one
	step(slow, 29, time.Second, 3)
	step(slow, 29, time.Second, 5) // the update lets it go on
}

// TestRegisterConnectorTable: a table of a connector is read and written as it is; with a strategy it is a source only.
func TestRegisterConnectorTable(t *testing.T) {
	db := open(t, weir.Options{})
	columns := types.Schema{{Name: "ts", Type: types.TimestampOf(3)}}
	tab, err := memtable.New().Table(t.Context(), connectors.Declaration{Name: "m", ID: 1, Columns: columns, Options: map[string]string{}, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.RegisterTable("m", tab); err != nil {
		t.Fatal(err)
	}
	if err := db.RegisterTable("s", weir.WithWatermarks(tab, weir.MonotonousTimestamps())); err != nil {
		t.Fatal(err)
	}
	const rows = "VALUES (TIMESTAMP '2024-05-01 10:00:01.000'), (TIMESTAMP '2024-05-01 10:00:10.000'), (TIMESTAMP '2024-05-01 10:00:02.000')"
	if err := db.Exec(t.Context(), "INSERT INTO m "+rows); err != nil {
		t.Fatal(err)
	}
	if got := windows(t, db, "s", "ts"); got != "0 1, 10 1" {
		t.Error(got)
	}
	if err := db.Exec(t.Context(), "INSERT INTO s "+rows); err == nil || !strings.Contains(err.Error(), "only") && !strings.Contains(err.Error(), "written") {
		t.Errorf("a source was written: %v", err)
	}
	blackhole, err := blackhole.Connector{}.Table(t.Context(), connectors.Declaration{Name: "b", ID: 1, Columns: columns, Options: map[string]string{"connector": "blackhole"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.RegisterTable("b", weir.WithWatermarks(blackhole, weir.MonotonousTimestamps())); err == nil || !strings.Contains(err.Error(), "no source") {
		t.Errorf("a sink has a strategy: %v", err)
	}
}

// TestStrategyInPlans: what EXPLAIN says, and the guard, which is for strategies too, but not for sources that make watermarks themselves.
func TestStrategyInPlans(t *testing.T) {
	clock := weir.NewVirtualClock(tenOClock)
	db := open(t, weir.Options{Clock: clock})
	rows := readings(1, 3600, 2, 12)
	if err := db.RegisterTable("s", weir.WithWatermarks(rows, weir.MonotonousTimestamps().WithTimestampAssigner(watermark.TimestampOf(readingTime)))); err != nil {
		t.Fatal(err)
	}
	if err := db.RegisterTable("m", &marking{}, "k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS SOURCE_WATERMARK()"); err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string]string{
		"EXPLAIN SELECT sensor FROM s":           "watermark=[the source's strategy]",
		"EXPLAIN WATERMARK SELECT sensor FROM s": "for rowtime by the strategy that the source was registered with: heuristic",
		"EXPLAIN SELECT k FROM m":                "watermark=[SOURCE_WATERMARK()]",
		"EXPLAIN WATERMARK SELECT k FROM m":      "by the connector (SOURCE_WATERMARK())",
	} {
		if got := strings.Join(showRows(t, db, sql), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: %s", sql, got)
		}
	}
	if got := windows(t, db, "s", "rowtime"); got != "0 1, 0 1" {
		t.Errorf("without the guard: %s", got) // the hour ahead makes 2 and 12 late
	}
	guarded := "(SELECT * FROM s /*+ OPTIONS('scan.watermark.max-future' = '5 min', 'scan.watermark.future-rows' = 'drop') */)"
	got := strings.Join(showRows(t, db, "SELECT EXTRACT(SECOND FROM window_start), COUNT(*) FROM TUMBLE("+guarded+", DESCRIPTOR(rowtime), INTERVAL '10' SECOND) GROUP BY window_start, window_end"), ", ")
	if got != "0 2, 10 1" {
		t.Errorf("with the guard: %s", got)
	}
	failed(t, db, "SELECT k FROM m /*+ OPTIONS('scan.watermark.max-future' = '5 min') */", "its watermarks come from the connector (SOURCE_WATERMARK())")
}
