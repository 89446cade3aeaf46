package print_test

import (
	"context"
	"strings"
	"testing"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/blackhole"
	"github.com/weir-sql/weir/connectors/conntest"
	"github.com/weir-sql/weir/connectors/print"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// TestPrint: the lines of Flink 2.3.
func TestPrint(t *testing.T) {
	s := types.Schema{
		{Name: "b", Type: types.BooleanType}, {Name: "n", Type: types.DecimalOf(5, 2)}, {Name: "n8", Type: types.DecimalOf(20, 10)}, {Name: "d", Type: types.DoubleType},
		{Name: "s", Type: types.StringType}, {Name: "by", Type: types.BytesType}, {Name: "dt", Type: types.DateType}, {Name: "tm", Type: types.TimeOf(3)},
		{Name: "ts", Type: types.TimestampOf(3)}, {Name: "ltz", Type: types.TimestampLTZOf(3)}, {Name: "a", Type: types.ArrayOf(types.IntType)},
		{Name: "m", Type: types.MapOf(types.StringType, types.IntType)}, {Name: "r", Type: types.RowOf(types.Field{Name: "x", Type: types.BytesType}, types.Field{Name: "y", Type: types.TimestampOf(9)})},
		{Name: "iv", Type: types.DayTimeType}, {Name: "ym", Type: types.YearMonthType},
	}
	ts := int64(1709209976_780_000) // 2024-02-29 12:32:56.78
	rows := [][]any{
		{true, types.DecOf(-50, 2), types.DecOf(100, 10), 1e10, "b, é", []byte{0, 255, 16}, types.DateVal(19782), types.TimeVal(45296700), types.TimestampVal(ts),
			types.TimestampVal(0), []any{int32(1), nil}, types.MapVal{{Key: "k", Val: nil}}, types.RowVal{[]byte{0xff}, types.TimestampVal(ts * 1000)}, types.DurationVal(-3_723_500_000), types.MonthsVal(14)},
		make([]any, len(s)),
		{false, types.DecOf(0, 2), types.DecOf(0, 10), 0.0, "", []byte{}, types.DateVal(0), types.TimeVal(45240000), types.TimestampVal(ts - 56_780_000),
			types.TimestampVal(ts), []any{}, types.MapVal{}, types.RowVal{nil, nil}, types.DurationVal(0), types.MonthsVal(0)},
	}
	want := `+I[true, -0.50, 1.00E-8, 1.0E10, b, é, [0, -1, 16], 2024-02-29, 12:34:56.700, 2024-02-29T12:32:56.780, 1970-01-01T00:00:00Z, [1, null], {k=null}, +I[[-1], 2024-02-29T12:32:56.780], PT-1H-2M-3.5S, P1Y2M]
-U[null, null, null, null, null, null, null, null, null, null, null, null, null, null, null]
+U[false, 0.00, 0E-10, 0.0, , [], 1970-01-01, 12:34, 2024-02-29T12:32, 2024-02-29T12:32:56.780Z, [], {}, +I[null, null], PT0S, P0D]
`
	for _, tt := range []struct {
		options    map[string]string
		partitions int
		prefix     string
	}{
		{nil, 1, ""}, {map[string]string{"print-identifier": "ID"}, 1, "ID> "}, {map[string]string{"print-identifier": "ID", "standard-error": "true"}, 3, "ID:2> "}, {nil, 3, "2> "},
	} {
		tb, err := print.Connector{}.Table(context.Background(), connectors.Declaration{Name: "t", Columns: s, Options: tt.options})
		if err != nil {
			t.Fatal(err)
		}
		env := conntest.NewEnv(t)
		env.Partition, env.Partitions = 1, tt.partitions
		sink, err := tb.(connectors.SinkTable).Sink(connectors.Write{})
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Open(context.Background(), env.Env, nil); err != nil {
			t.Fatal(err)
		}
		if err := sink.Write(context.Background(), conntest.Batch(t, env, s, []stream.RowKind{stream.Insert, stream.UpdateBefore, stream.UpdateAfter}, rows...)); err != nil {
			t.Fatal(err)
		}
		got := env.Out.String()
		if tt.options["standard-error"] == "true" {
			got = env.Err.String()
		}
		w := ""
		for l := range strings.Lines(want) {
			w += tt.prefix + l
		}
		if got != w {
			t.Fatalf("got\n%s\nwant\n%s", got, w)
		}
	}
}

// TestBlackhole gives the memory back.
func TestBlackhole(t *testing.T) {
	s := types.Schema{{Name: "a", Type: types.IntType}}
	tb, err := blackhole.Connector{}.Table(context.Background(), connectors.Declaration{Name: "t", Columns: s})
	if err != nil {
		t.Fatal(err)
	}
	sink, err := tb.(connectors.SinkTable).Sink(connectors.Write{})
	if err != nil {
		t.Fatal(err)
	}
	env := conntest.NewEnv(t)
	if err := sink.Write(context.Background(), conntest.Batch(t, env, s, nil, []any{int32(1)})); err != nil {
		t.Fatal(err)
	}
}
