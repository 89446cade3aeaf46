package weir

import (
	"slices"
	"testing"

	"github.com/weir-sql/weir/exec/task"
	"github.com/weir-sql/weir/types"
)

// TestAdviceAgainstDefinition computes the figures from the definitions, row by row.
func TestAdviceAgainstDefinition(t *testing.T) {
	seed := uint64(7)
	next := func(n int64) int64 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return int64(seed>>33) % n
	}
	for round := range 50 {
		n := 1 + next(400)
		times := make([]int64, n)
		for i := range times {
			times[i] = int64(i)*1000 - next(1+int64(round)*50)*next(100)*next(100)
		}
		s := &task.SplitLateness{Split: "0", Rows: n}
		high := int64(-1 << 62)
		var lateness, mark []int64 // mark: the highest time before the row
		for _, ts := range times {
			mark = append(mark, high)
			lateness = append(lateness, max(0, high-ts))
			switch {
			case ts < high:
				s.Late = append(s.Late, high-ts)
			case ts == high:
				s.Equal++
			}
			high = max(high, ts)
		}
		slices.Sort(s.Late)
		slices.Sort(lateness)
		for _, q := range []int64{500, 900, 990, 999, 1000} {
			// The least value that q of 1000 rows do not exceed.
			want := int64(-1)
			for _, l := range lateness {
				under := 0
				for _, m := range lateness {
					if m <= l {
						under++
					}
				}
				if int64(under)*1000 >= q*n {
					want = l
					break
				}
			}
			if got := quantile(s, q); got != want {
				t.Fatalf("round %d: quantile %d of %d rows is %d, want %d", round, q, n, got, want)
			}
		}
		late := func(delay int64) int64 { // rows at or behind the watermark before them
			var k int64
			for i, ts := range times {
				if mark[i] > -1<<62 && ts <= mark[i]-delay {
					k++
				}
			}
			return k
		}
		for _, d := range append([]int64{1, 999, 12345}, delays...) {
			if got, want := behind(s, d), late(d); got != want {
				t.Fatalf("round %d: %d rows behind with delay %d, want %d", round, got, d, want)
			}
		}
		best := adviceDelay(s)
		if late(best)*1000 > n {
			t.Fatalf("round %d: the advised delay %d leaves %d of %d rows behind", round, best, late(best), n)
		}
		if i := slices.Index(delays, best); i > 0 && late(delays[i-1])*1000 <= n {
			t.Fatalf("round %d: %d would do, not %d", round, delays[i-1], best)
		}
	}
}

func TestAdviceBeyondTheLadder(t *testing.T) {
	day := types.MicrosPerDay
	s := &task.SplitLateness{Rows: 3, Late: []int64{50 * day, 200*day + 1}}
	if got, want := adviceDelay(s), 201*day; got != want {
		t.Errorf("%d days, want %d", got/day, want/day)
	}
	for _, c := range []struct {
		column string
		delay  int64
		want   string
	}{{"ts", 201 * day, "WATERMARK FOR ts AS ts - INTERVAL '201' DAY(3)"}, {"my ts", 0, "WATERMARK FOR `my ts` AS `my ts`"},
		{"ts", 10_000, "WATERMARK FOR ts AS ts - INTERVAL '0.01' SECOND"}, {"ts", 120_000_000, "WATERMARK FOR ts AS ts - INTERVAL '2' MINUTE"}} {
		if got := declaration(c.column, c.delay); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	rows := adviceRows([]*task.SplitLateness{s}, "ts", types.TimestampOf(3)).Values
	if last := rows[len(rows)-1]; last[0] != "advice" || last[3] != int64(0) || last[5] != "WATERMARK FOR ts AS ts - INTERVAL '201' DAY(3)" {
		t.Errorf("%v", last)
	}
}
