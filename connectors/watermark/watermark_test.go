package watermark

import (
	"math"
	"testing"
	"time"

	"github.com/weir-sql/weir/exec/stream"
)

func last(g Generator, events ...stream.Time) stream.Time {
	wm := stream.MinTime
	emit := func(t stream.Time) { wm = max(wm, t) }
	for _, e := range events {
		g.OnEvent(e, emit)
		g.OnPeriodicEmit(emit)
	}
	return wm
}

func TestBounded(t *testing.T) {
	g, err := BoundedOutOfOrderness(5 * time.Second).Factory()(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := last(g, 20_000_000, 10_000_000); got != 14_999_000 {
		t.Errorf("5 s: %d", got)
	}
	if g, _ = MonotonousTimestamps().Factory()(nil); last(g, 20_000_000) != 19_999_000 {
		t.Error("monotonous: not 1 ms behind")
	}
	if _, err := MonotonousTimestamps().Factory()([]any{int64(1)}); err == nil {
		t.Error("an argument too many was taken")
	}
}

// TestBuckets: each length is in a bucket whose upper end is not below it and less than 1/16 above.
func TestBuckets(t *testing.T) {
	prev := -1
	for _, ms := range []int64{0, 1, 15, 16, 17, 31, 32, 33, 34, 63, 64, 100, 1000, 12345, 1 << 40, 1<<40 + 1, math.MaxInt64} {
		b := bucketOf(ms)
		if b < prev || b >= buckets {
			t.Errorf("%d: bucket %d behind %d", ms, b, prev)
		}
		prev = b
		if u := upper(b); u < ms || u-ms > ms/16 || bucketOf(u) != b {
			t.Errorf("%d: upper end %d of bucket %d (which is in %d)", ms, u, b, bucketOf(u))
		}
	}
}

func TestPercentile(t *testing.T) {
	ms := func(n int) stream.Time { return stream.Time(n) * 1000 }
	var rows []stream.Time
	for i := range 1000 { // one row in ten is 10 ms late, one in a hundred 900 ms
		at := 10_000 + 100*i
		switch {
		case i%100 == 99:
			at -= 100 + 900
		case i%10 == 9:
			at -= 100 + 10
		}
		rows = append(rows, ms(at))
	}
	high := ms(10_000 + 100*998)
	for _, c := range []struct {
		args []any
		want int // delay
	}{
		{[]any{0.5}, 0}, {[]any{0.95}, 10}, {[]any{int64(1)}, 927}, {[]any{0.5, 2 * time.Second, 3 * time.Second}, 2000}, {[]any{1.0, time.Duration(0), 50 * time.Millisecond}, 50},
	} {
		g, err := Percentile(c.args)
		if err != nil {
			t.Fatal(err)
		}
		half, _ := Percentile(c.args)
		last(half, rows[:500]...)
		state, err := half.(Snapshotter).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		restored, _ := Percentile(c.args)
		if err := restored.(Snapshotter).Restore(state); err != nil {
			t.Fatal(err)
		}
		if a, b := last(g, rows...), last(restored, rows[500:]...); a != b {
			t.Errorf("%v: %d, after a restore %d", c.args, a, b)
		}
		// The watermark never steps back: look at the last one alone.
		end := stream.MinTime
		g.OnPeriodicEmit(func(w stream.Time) { end = w })
		if d := int(high-end) / 1000; d != c.want {
			t.Errorf("%v: a delay of %d ms, want %d", c.args, d, c.want)
		}
	}
	for _, args := range [][]any{nil, {"x"}, {0.0}, {1.5}, {math.NaN()}, {0.5, time.Second}, {0.5, time.Second, time.Millisecond}, {0.5, int64(1), int64(2)}} {
		if _, err := Percentile(args); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
	g, _ := Percentile([]any{0.5})
	for _, state := range []string{"", "\x02", "\x01", "\x01\x00\x00\x00\x00\xff\xff\x7f\x01"} {
		if g.(Snapshotter).Restore([]byte(state)) == nil {
			t.Errorf("state %q was taken", state)
		}
	}
}
