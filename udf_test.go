package weir_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/exec/optest"
	"github.com/weir-sql/weir/exec/stream"
)

var errOdd = errors.New("an odd number")

type celsius float64

// register gives functions their names.
func register(t *testing.T, db *weir.DB, functions map[string]any) {
	t.Helper()
	for name, f := range functions {
		if err := db.RegisterScalar(name, f); err != nil {
			t.Fatal(err)
		}
	}
}

func length(s *string) *int32 {
	if s == nil || *s == "" {
		return nil
	}
	n := int32(len(*s))
	return &n
}

func TestScalarTypes(t *testing.T) {
	db := open(t, weir.Options{Config: map[string]string{"table.local-time-zone": "Asia/Tokyo"}})
	var kept []string
	register(t, db, map[string]any{
		"f_not":      func(b bool) bool { return !b },
		"f_int8":     func(i int8) int8 { return i + 1 },
		"f_int16":    func(i int16) int16 { return i + 1 },
		"f_int32":    func(i int32) int32 { return i + 1 },
		"f_int64":    func(i int64) (int64, error) { return i + 1, nil },
		"f_int":      func(i int) int { return i + 1 },
		"f_float":    func(f float32) float32 { return f / 2 },
		"f_double":   math.Sqrt,
		"f_upper":    func(s string) string { kept = append(kept, s); return strings.ToUpper(s) },
		"f_bytes":    func(b []byte) []byte { slices.Reverse(b); return b },
		"f_nothing":  func() []byte { return nil },
		"f_time":     func(ts time.Time) time.Time { return ts.Add(1500 * time.Microsecond) },
		"f_hour":     func(ts time.Time) int32 { return int32(ts.Hour()) },
		"f_later":    func(a, b time.Time) bool { return a.After(b) },
		"f_double_d": func(d time.Duration) time.Duration { return 2 * d },
		"f_between":  func(a, b *time.Time) *time.Duration { d := b.Sub(*a); return &d },
		"f_len":      length,
		"f_hot":      func(c celsius) (bool, error) { return c > 30, nil },
		"f_answer":   func() int64 { return 42 },
		"f_all": func(b *bool, i *int8, f *float32, s *string, x *[]byte, d *time.Duration) bool {
			return b == nil && i == nil && f == nil && s == nil && x == nil && d == nil
		},
	})
	for _, c := range []struct{ sql, typ, want string }{
		{"f_not(TRUE)", "BOOLEAN NOT NULL", "false"},
		{"f_int8(CAST(126 AS TINYINT))", "TINYINT NOT NULL", "127"},
		{"f_int16(CAST(1 AS TINYINT))", "SMALLINT NOT NULL", "2"},
		{"f_int32(1)", "INT NOT NULL", "2"},
		{"F_Int64(1)", "BIGINT NOT NULL", "2"},
		{"f_int(9223372036854775806)", "BIGINT NOT NULL", "9223372036854775807"},
		{"f_float(CAST(3 AS FLOAT))", "FLOAT NOT NULL", "1.5"},
		{"f_double(16)", "DOUBLE NOT NULL", "4"},
		{"f_double(2.25)", "DOUBLE NOT NULL", "1.5"},
		{"f_double(CAST(NULL AS INT))", "DOUBLE", "<nil>"},
		{"f_upper('grüße')", "STRING NOT NULL", "GRÜßE"},
		{"f_upper(CAST('ab' AS CHAR(4)))", "STRING NOT NULL", "AB  "},
		{"f_bytes(X'010203')", "BYTES", "[3 2 1]"},
		{"f_bytes(X'')", "BYTES", "[]"},
		{"f_nothing()", "BYTES", "<nil>"},
		{"f_time(TIMESTAMP '2024-05-01 10:00:00.000')", "TIMESTAMP(6) NOT NULL", "2024-05-01 10:00:00.001500"},
		{"f_time(TIMESTAMP '2024-05-01 10:00:00.123456789')", "TIMESTAMP(6) NOT NULL", "2024-05-01 10:00:00.124956"},
		{"f_time(TO_TIMESTAMP_LTZ(0, 3))", "TIMESTAMP_LTZ(6)", "1970-01-01 09:00:00.001500"},
		{"f_hour(TIMESTAMP '2024-05-01 10:00:00')", "INT NOT NULL", "10"},
		{"f_hour(TO_TIMESTAMP_LTZ(0, 3))", "INT", "9"},
		{"f_later(TO_TIMESTAMP_LTZ(1, 3), TIMESTAMP '1970-01-01 09:00:00')", "BOOLEAN", "true"}, // both are instants
		{"f_later(TO_TIMESTAMP_LTZ(0, 3), TIMESTAMP '1970-01-01 09:00:00')", "BOOLEAN", "false"},
		{"f_double_d(INTERVAL '1' HOUR)", "INTERVAL SECOND(3) NOT NULL", "+0 02:00:00.000"},
		{"f_between(TIMESTAMP '2024-05-01 10:00:00', TIMESTAMP '2024-05-02 10:00:01')", "INTERVAL SECOND(3)", "+1 00:00:01.000"},
		{"f_len('abc')", "INT", "3"},
		{"f_len('')", "INT", "<nil>"},
		{"f_len(NULL)", "INT", "<nil>"},
		{"f_hot(31)", "BOOLEAN NOT NULL", "true"},
		{"f_answer()", "BIGINT NOT NULL", "42"},
		{"f_all(NULL, NULL, NULL, NULL, NULL, CAST(NULL AS INTERVAL DAY TO SECOND))", "BOOLEAN NOT NULL", "true"},
		{"f_all(NULL, NULL, NULL, 'x', NULL, NULL)", "BOOLEAN NOT NULL", "false"},
	} {
		sql := "SELECT " + c.sql + ", TYPEOF(" + c.sql + ")"
		if strings.Contains(c.want, ":") {
			sql = "SELECT CAST(" + c.sql + " AS STRING), TYPEOF(" + c.sql + ")"
		}
		q, err := db.Query(t.Context(), sql)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		for row, err := range q.All() {
			if err != nil {
				t.Errorf("%s: %v", c.sql, err)
			} else if got := fmt.Sprint(row.Values[0]); got != c.want || row.Values[1] != c.typ {
				t.Errorf("%s: %s (%v), want %s (%s)", c.sql, got, row.Values[1], c.want, c.typ)
			}
		}
	}
	if fmt.Sprint(kept) != "[grüße ab  ]" {
		t.Errorf("called with %q", kept)
	}
}

// TestScalarMemory: a function may keep its arguments and change them.
func TestScalarMemory(t *testing.T) {
	db := open(t, weir.Options{Allocator: optest.Poison{Mem: memory.NewGoAllocator()}})
	var kept []*string
	register(t, db, map[string]any{
		"keep": func(s *string) string { kept = append(kept, s); return *s },
		"turn": func(b []byte) []byte { slices.Reverse(b); return b },
	})
	type row struct {
		S string
		B []byte
	}
	if err := db.RegisterTable("r", []row{{"a", []byte{1, 2}}, {"bb", []byte{3, 4}}}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(showRows(t, db, "SELECT keep(s), turn(b), b, turn(X'0506') FROM r")); got != "[a [2 1] [1 2] [6 5] bb [4 3] [3 4] [6 5]]" {
		t.Error(got)
	}
	if *kept[0] != "a" || *kept[1] != "bb" {
		t.Errorf("kept %q and %q", *kept[0], *kept[1])
	}
}

func TestScalarPlaces(t *testing.T) {
	for _, batch := range []string{"1", "3", "1024"} {
		for _, threads := range []int{1, 4} {
			db := open(t, weir.Options{Threads: threads, Config: map[string]string{"weir.batch-size": batch}})
			var calls atomic.Int64
			register(t, db, map[string]any{
				"half": func(i int64) (int64, error) {
					calls.Add(1)
					if i%2 != 0 {
						return 0, errOdd
					}
					return i / 2, nil
				},
				"word":   func(i *int64) string { return []string{"zero", "one", "two"}[*i%3] },
				"is_one": func(s string) bool { return s == "one" },
			})
			type row struct{ N int64 }
			var rows []row
			for i := range 60 {
				rows = append(rows, row{int64(i)})
			}
			if err := db.RegisterTable("r", rows, "n BIGINT, w AS Word(n)"); err != nil {
				t.Fatal(err)
			}
			if err := db.Exec(t.Context(), "CREATE VIEW v AS SELECT n, w, CASE WHEN MOD(n, 2) = 0 THEN half(n) END AS h FROM r"); err != nil {
				t.Fatal(err)
			}
			for sql, want := range map[string]string{
				"SELECT n FROM r WHERE is_one(w) AND n < 8":                                        "[1 4 7]",
				"SELECT h FROM v WHERE n < 4":                                                      "[0 NULL 1 NULL]",
				"SELECT SUM(h) FROM v WHERE is_one(w) AND MOD(n, 2) = 0":                           "[155]",
				"SELECT word(n) || '=' || CAST(COUNT(*) AS STRING) FROM r GROUP BY word(n)":        "[one=20 two=20 zero=20]",
				"SELECT COUNT(*) FROM r WHERE MOD(n, 2) = 0 AND half(n) >= 10":                     "[20]",
				"SELECT SUM(x) FROM (SELECT half(n) AS x, n FROM r WHERE MOD(n, 2) = 0) WHERE x>1": "[434]",
			} {
				q, err := db.Query(t.Context(), sql)
				if err != nil {
					t.Fatal(err)
				}
				table, err := q.Final()
				if err != nil {
					t.Fatal(err)
				}
				got := table.CSV()
				if strings.Contains(sql, "GROUP BY") {
					slices.Sort(got)
				}
				if fmt.Sprint(got) != want {
					t.Errorf("batches of %s, %d threads: %s: %s, want %s", batch, threads, sql, got, want)
				}
			}
			// Only for the rows that ask.
			calls.Store(0)
			showRows(t, db, "SELECT CASE WHEN n = 6 THEN half(n) END FROM r")
			if calls.Load() != 1 {
				t.Errorf("%d calls", calls.Load())
			}
			// Never while planning.
			calls.Store(0)
			showRows(t, db, "EXPLAIN SELECT half(4), n FROM r WHERE half(2) = 1")
			if calls.Load() != 0 {
				t.Errorf("%d calls by EXPLAIN", calls.Load())
			}
		}
	}
}

func TestScalarWatermarks(t *testing.T) {
	for _, batch := range []string{"1", "2", "1024"} {
		db := open(t, weir.Options{Threads: 2, Config: map[string]string{"weir.batch-size": batch}})
		register(t, db, map[string]any{
			"mark": func(ts time.Time, kind string) *time.Time { // NULL: no advance
				if kind != "mark" {
					return nil
				}
				ts = ts.Add(-2 * time.Second)
				return &ts
			},
			"later":   func(ts time.Time, seconds int64) time.Time { return ts.Add(time.Duration(seconds) * time.Second) },
			"pause":   func(kind string) time.Duration { return time.Duration(len(kind)) * time.Second },
			"seconds": func(kind string) int64 { return int64(len(kind)) },
		})
		if err := db.RegisterWatermarkGenerator("by_pause", func([]any) (weir.WatermarkGenerator, error) { return &byPause{}, nil }); err != nil {
			t.Fatal(err)
		}
		type row struct {
			TS   time.Time `weir:"ts"`
			Kind string
		}
		rows := []row{{tenOClock, "a"}, {tenOClock.Add(8 * time.Second), "mark"}, {tenOClock.Add(20 * time.Second), "bb"}, {tenOClock.Add(21 * time.Second), "mark"}, {tenOClock, "c"}}
		for i, c := range []struct{ ddl, want string }{
			{"ts TIMESTAMP_LTZ(3), kind STRING, WATERMARK FOR ts AS mark(ts, kind)", "[<nil> <nil> 10:00:06.000 10:00:06.000 10:00:19.000]"},
			{"ts TIMESTAMP(3), kind STRING, WATERMARK FOR ts AS mark(ts, kind)", "[<nil> <nil> 10:00:06.000 10:00:06.000 10:00:19.000]"},
			{"ts TIMESTAMP_LTZ(3), kind STRING, WATERMARK FOR ts AS ts - pause(kind)", "[<nil> 09:59:59.000 10:00:04.000 10:00:18.000 10:00:18.000]"},
			{"ts TIMESTAMP_LTZ(3), kind STRING, later AS later(ts, -3), WATERMARK FOR later AS later(later, -1)", "[<nil> 09:59:56.000 10:00:04.000 10:00:16.000 10:00:17.000]"},
			{"ts TIMESTAMP_LTZ(3), kind STRING, WATERMARK FOR ts AS by_pause(ts, pause(kind))", "[<nil> 09:59:59.000 10:00:04.000 10:00:18.000 10:00:18.000]"},
		} {
			name := fmt.Sprint("t", i)
			if err := db.RegisterTable(name, rows, c.ddl); err != nil {
				t.Errorf("%s: %v", c.ddl, err)
				continue
			}
			rowtime := "ts"
			if strings.Contains(c.ddl, "later") {
				rowtime = "later"
			}
			got := showRows(t, db, "SELECT DATE_FORMAT(CAST(CURRENT_WATERMARK("+rowtime+") AS TIMESTAMP(3)), 'HH:mm:ss.SSS') FROM "+name)
			if fmt.Sprint(got) != c.want {
				t.Errorf("batches of %s: %s: %s, want %s", batch, c.ddl, got, c.want)
			}
		}
		// The late row of the last mark.
		if got := fmt.Sprint(showRows(t, db, "SELECT COUNT(*) FROM TUMBLE(TABLE t0, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end")); got != "[2 2]" {
			t.Error(got)
		}
		failed(t, db, "SELECT COUNT(*) FROM TUMBLE(TABLE t0, DESCRIPTOR(ts), pause('x')) GROUP BY window_start, window_end", "must be a constant")
	}
}

// byPause makes watermarks of the event time less its argument.
type byPause struct{ busyness }

func (*byPause) OnRow(event stream.Time, args []any, emit func(stream.Time)) {
	emit(event.Add(-args[0].(time.Duration).Microseconds()))
}
func (*byPause) OnPeriodicEmit(func(stream.Time)) {}

func TestScalarErrors(t *testing.T) {
	var log strings.Builder
	db := open(t, weir.Options{Log: slog.New(slog.NewTextHandler(io.Writer(&log), nil))})
	register(t, db, map[string]any{
		"half": func(i int64) (int64, error) {
			if i%2 != 0 {
				return 0, errOdd
			}
			return i / 2, nil
		},
		"head":    func(s string) string { return s[:1] },
		"broken":  func() string { return "\xff" },
		"ancient": func() time.Time { return time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC) },
		"pass":    func(d time.Duration) time.Duration { return d },
		"wait":    func(ts time.Time) (time.Time, error) { return ts, errOdd },
		"nap":     func(ts time.Time, seconds int32) time.Time { return ts },
	})
	for sql, want := range map[string]string{
		"SELECT 1 +\n half(v) FROM (VALUES (2), (3)) AS t (v)": "2:2: function HALF: an odd number in `half(v)`",
		"SELECT head(v) FROM (VALUES ('a'), ('')) AS t (v)":    "1:8: function HEAD panicked: runtime error: slice bounds out of range [:1] with length 0 in `head(v)`",
		"SELECT broken()":                       "1:8: function BROKEN: the result \"\\xff\" is not valid UTF-8",
		"SELECT ancient()":                      "1:8: function ANCIENT: the result -0005-01-01 00:00:00 +0000 UTC is not in the years 1 to 9999",
		"SELECT pass(INTERVAL '200000' DAY(6))": "function PASS: argument 1: ",
		"SELECT half()":                         "1:8: HALF takes 1 argument, not 0 [WEIR-1201]; usage: HALF(BIGINT) RETURNS BIGINT",
		"SELECT half('2')":                      "1:8: HALF takes BIGINT, not CHAR(1): write CAST(... AS BIGINT) [WEIR-1201]; usage: HALF(BIGINT) RETURNS BIGINT",
		"SELECT half(1.5)":                      "HALF takes BIGINT, not DECIMAL(2, 1): write CAST(... AS BIGINT)",
		"SELECT nap(DATE '2024-05-01', 1)":      "argument 1 of NAP must be TIMESTAMP(6), not DATE",
		"SELECT nap(LOCALTIMESTAMP, 1, 2)":      "usage: NAP(TIMESTAMP(6), INT) RETURNS TIMESTAMP(6)",
		"SELECT hafl(2)":                        "function HAFL does not exist [WEIR-1104]; did you mean HALF?",
		"SELECT half(DISTINCT 2)":               "HALF is no aggregate",
	} {
		failed(t, db, sql, want)
	}
	if err := db.RegisterTable("r", []struct{ TS time.Time }{{tenOClock}}, "ts TIMESTAMP_LTZ(3), odd AS half(1), WATERMARK FOR ts AS wait(ts)"); err != nil {
		t.Fatal(err)
	}
	failed(t, db, "SELECT ts FROM r", "function WAIT: an odd number in `WAIT(ts)`")
	failed(t, db, "SELECT odd FROM r", "in `HALF(")
	if !strings.Contains(log.String(), "udf_test.go") {
		t.Errorf("the stack of the panic is not in the log: %s", log.String())
	}
	q, err := db.Query(t.Context(), "SELECT half(3)")
	if err == nil {
		for _, err = range q.All() {
			if err != nil {
				break
			}
		}
	}
	if !errors.Is(err, errOdd) {
		t.Errorf("%v does not wrap the error of the function", err)
	}
	for name, c := range map[string]struct {
		fn   any
		want string
	}{
		"upper":                {strings.ToUpper, "built-in"},
		"Count":                {strings.ToUpper, "built-in"},
		"tumble":               {strings.ToUpper, "built-in"},
		"json_value":           {strings.ToUpper, "built-in"},
		"current_watermark":    {strings.ToUpper, "built-in"},
		"percentile_watermark": {strings.ToUpper, "RegisterScalar percentile_watermark: the name is"},
		"select":               {strings.ToUpper, "reserved word"},
		"HALF":                 {strings.ToUpper, "the name is taken"},
		"":                     {strings.ToUpper, "a name is letters"},
		"a b":                  {strings.ToUpper, "a name is letters"},
		"f1":                   {nil, "<nil> is no function"},
		"f2":                   {7, "int is no function"},
		"f3":                   {(func() int)(nil), "is no function"},
		"f4":                   {func(...int64) int64 { return 0 }, "variable number"},
		"f5":                   {func() {}, "must return a value"},
		"f6":                   {func() (int64, string) { return 0, "" }, "must return a value"},
		"f7":                   {func() error { return nil }, "result: the Go type error is not one of"},
		"f8":                   {func(uint8) int64 { return 0 }, "parameter 1: the Go type uint8 is not one of"},
		"f9":                   {func(a, b []string) int64 { return 0 }, "parameter 1: the Go type []string"},
		"f10":                  {func(**int64) int64 { return 0 }, "parameter 1: the Go type **int64"},
	} {
		if err := db.RegisterScalar(name, c.fn); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if err := db.RegisterWatermarkGenerator("half", weir.BoundedOutOfOrderness(0).Factory()); err == nil {
		t.Error("a generator took the name of a function")
	}
	if got := fmt.Sprint(showRows(t, db, "SHOW USER FUNCTIONS LIKE 'H%'")); got != "[HALF HEAD]" {
		t.Error(got)
	}
	if got := showRows(t, db, "SHOW FUNCTIONS"); !slices.Contains(got, "HALF") || !slices.Contains(got, "UPPER") {
		t.Error(got)
	}
	if got := fmt.Sprint(showRows(t, db, "DESCRIBE FUNCTION half")); !strings.Contains(got, "name") {
		t.Error(got)
	}
	if got := db.Complete(t.Context(), "SELECT hal", 10).Items; !slices.Contains(got, "half(") {
		t.Error(got)
	}
	other := open(t, weir.Options{})
	failed(t, other, "SELECT half(2)", "function HALF does not exist")
}
