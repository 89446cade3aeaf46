package weir_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/weir-sql/weir"
	"github.com/weir-sql/weir/connectors/watermark"
	"github.com/weir-sql/weir/exec/stream"
)

// marked is a punctuated generator: only event times of whole minutes advance it.
type marked struct{ step time.Duration }

func (m marked) OnEvent(event stream.Time, emit func(stream.Time)) {
	if int64(event)%m.step.Microseconds() == 0 {
		emit(event)
	}
}
func (marked) OnPeriodicEmit(func(stream.Time)) {}

func TestWatermarkGenerators(t *testing.T) {
	db, err := weir.Open(weir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	register := func(name string, f weir.WatermarkFactory) {
		t.Helper()
		if err := db.RegisterWatermarkGenerator(name, f); err != nil {
			t.Fatal(err)
		}
	}
	register("Marked", func(args []any) (weir.WatermarkGenerator, error) {
		if len(args) == 1 {
			if d, ok := args[0].(time.Duration); ok && d > 0 {
				return marked{d}, nil
			}
		}
		return nil, fmt.Errorf("MARKED needs an interval")
	})
	register("bounded", watermark.BoundedOutOfOrderness(5*time.Second).Factory())
	register("ascending", watermark.MonotonousTimestamps().Factory())
	for _, taken := range []string{"UPPER", "SUM", "marked", "percentile_watermark", "select", "two words", ""} {
		if db.RegisterWatermarkGenerator(taken, watermark.MonotonousTimestamps().Factory()) == nil {
			t.Errorf("the name %q was taken", taken)
		}
	}
	type row struct {
		TS time.Time `weir:"ts"`
	}
	at := func(s float64) row { return row{time.UnixMicro(int64(s * 1e6)).UTC()} }
	rows := []row{at(1), at(14.9), at(2), at(60), at(3), at(61)}
	if err := db.RegisterTable("rows_of_go", rows, "ts TIMESTAMP_LTZ(3), WATERMARK FOR ts AS marked(ts, INTERVAL '1' MINUTE)"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		generator string
		want      string // count of each window of 10 s
	}{
		{"marked(ts, INTERVAL '1' MINUTE)", "[2 1 2]"}, // 3 comes behind 60
		{"bounded(ts)", "[2 1 2]"},                     // 14.9 - 5.001 does not close [0, 10)
		{"ascending(ts)", "[1 1 2]"},                   // 14.9 - 0.001 does
	} {
		name := "t_" + c.generator[:5]
		if err := db.RegisterTable(name, rows, "ts TIMESTAMP_LTZ(3), WATERMARK FOR ts AS "+c.generator); err != nil {
			t.Fatal(err)
		}
		q, err := db.Query(t.Context(), "SELECT COUNT(*) FROM TUMBLE(TABLE "+name+", DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end")
		if err != nil {
			t.Fatal(err)
		}
		var got []any
		for r, err := range q.All() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.Values[0])
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", c.generator, got, c.want)
		}
	}
	if err := db.Exec(t.Context(), "CREATE TABLE e (ts TIMESTAMP(3), WATERMARK FOR ts AS marked(ts, 7)) WITH ('connector' = 'test')"); err == nil {
		t.Error("wrong constants were taken")
	}
}
