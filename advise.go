package weir

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/task"
	"github.com/weir-sql/weir/planner"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

// advise answers ADVISE WATERMARK: it reads the event times of a table and tells how late its rows are.
func (db *DB) advise(ctx context.Context, sql string, p *planner.Result) (*Query, error) {
	config := db.Config()
	limit, err := memoryLimit(config)
	if err != nil {
		return nil, err
	}
	g, err := db.graph(p.Plan, config, &deliver{})
	if err != nil {
		return nil, err
	}
	var spec *task.Source
	for _, t := range g.Tasks {
		if t.Source != nil {
			spec = t.Source
		}
	}
	if spec == nil || !spec.Times {
		return nil, newError("WEIR-1999", "internal error: ADVISE WATERMARK without a table", "")
	}
	to := db.taskOptions(sql, config, exec.NewBudget(limit))
	to.Threads = 1
	splits, release, err := task.Lateness(ctx, spec, to, p.Advise.Limit)
	if err != nil {
		return nil, err
	}
	defer release()
	return rowsResult(adviceRows(splits, p.Advise.Column, p.Advise.Type)), nil
}

// adviceColumns are the columns of ADVISE WATERMARK; seconds have the digits of the event time, at least 3.
func adviceColumns(t types.Type) types.Schema {
	scale := 3
	if t.Precision > 3 {
		scale = 6
	}
	return types.Schema{
		{Name: "figure", Type: types.StringType}, {Name: "split", Type: types.StringType}, {Name: "seconds", Type: types.DecimalOf(18, scale)},
		{Name: "rows", Type: types.BigIntType}, {Name: "percent", Type: types.DecimalOf(6, 3)}, {Name: "declaration", Type: types.StringType},
	}
}

// delays are those that are tried, in microseconds: the advice is one of them.
var delays = func() []int64 {
	var out []int64
	for _, d := range []time.Duration{0, 10 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond,
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 2 * 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour} {
		out = append(out, d.Microseconds())
	}
	return out
}()

// lateShare is the most rows that the advised delay leaves behind the watermark: one in so many.
const lateShare = 1000

// adviceRows makes the answer. It is a function of the rows that were read, split by split.
func adviceRows(splits []*task.SplitLateness, column string, t types.Type) *planner.Rows {
	out := &planner.Rows{Columns: adviceColumns(t)}
	scale := out.Columns[2].Type.Scale
	seconds := func(us int64) any { return decimal(us, 6, scale) }
	add := func(figure string, split, us, rows, percent, declaration any) {
		out.Values = append(out.Values, []any{figure, split, us, rows, percent, declaration})
	}
	all := &task.SplitLateness{}
	for _, s := range splits {
		all.Rows, all.Timeless, all.Bad, all.Equal = all.Rows+s.Rows, all.Timeless+s.Timeless, all.Bad+s.Bad, all.Equal+s.Equal
		all.Late = append(all.Late, s.Late...)
	}
	slices.Sort(all.Late)
	figures := func(name any, s *task.SplitLateness) {
		add("rows", name, nil, s.Rows, nil, nil)
		if s.Timeless > 0 {
			add("rows without time", name, nil, s.Timeless, nil, nil)
		}
		if s.Bad > 0 {
			add("bad records", name, nil, s.Bad, nil, nil)
		}
		if s.Rows == 0 {
			return
		}
		for _, q := range []struct {
			name     string
			perMille int64
		}{{"p50", 500}, {"p90", 900}, {"p99", 990}, {"p99.9", 999}, {"max", 1000}} {
			add(q.name, name, seconds(quantile(s, q.perMille)), nil, nil, nil)
		}
	}
	figures(nil, all)
	if all.Rows > 0 {
		best, last := adviceDelay(all), int64(-1)
		tried := delays
		if best > delays[len(delays)-1] {
			tried = append(append([]int64(nil), delays...), best)
		}
		var advice []any
		for _, d := range tried {
			n := behind(all, d)
			percent := decimal((n*100_000+all.Rows/2)/all.Rows, 3, 3)
			if d == best {
				advice = []any{seconds(d), n, percent, declaration(column, d)}
			}
			if n != last {
				add("late with this delay", nil, seconds(d), n, percent, declaration(column, d))
				last = n
			}
			if n == 0 && d >= best {
				break
			}
		}
		add("advice", nil, advice[0], advice[1], advice[2], advice[3])
	}
	if len(splits) > 1 {
		for _, s := range splits {
			figures(s.Split, s)
		}
	}
	return out
}

// quantile is the least lateness that so many of 1000 rows do not exceed, in microseconds.
func quantile(s *task.SplitLateness, perMille int64) int64 {
	rank := (s.Rows*perMille + 999) / 1000 // of the row, from 1
	onTime := s.Rows - int64(len(s.Late))
	if rank <= onTime {
		return 0
	}
	return s.Late[rank-onTime-1]
}

// behind counts the rows that lie at or behind the watermark that a delay gives: the highest time so far less the delay.
func behind(s *task.SplitLateness, delay int64) int64 {
	n := int64(len(s.Late) - sort.Search(len(s.Late), func(i int) bool { return s.Late[i] >= delay }))
	if delay == 0 {
		n += s.Equal
	}
	return n
}

// adviceDelay is the least of the delays that leaves at most one row in 1000 behind; where even the largest does not, the next whole day that does.
func adviceDelay(s *task.SplitLateness) int64 {
	for _, d := range delays {
		if behind(s, d)*lateShare <= s.Rows {
			return d
		}
	}
	const day = types.MicrosPerDay
	return (quantile(s, 999)/day + 1) * day
}

// declaration is what to write in CREATE TABLE.
func declaration(column string, delay int64) string {
	name := logical.QuoteName(column)
	if delay == 0 {
		return fmt.Sprintf("WATERMARK FOR %s AS %s", name, name)
	}
	by := logical.FormatDuration(delay)
	if days := strconv.FormatInt(delay/types.MicrosPerDay, 10); len(days) > 2 { // two digits are what DAY takes by itself
		by = fmt.Sprintf("INTERVAL '%s' DAY(%d)", days, len(days))
	}
	return fmt.Sprintf("WATERMARK FOR %s AS %s - %s", name, name, by)
}

// decimal is units of 10^-from as a decimal of scale to, which takes it exactly or is rounded half up.
func decimal(units int64, from, to int) any {
	for ; from > to; from-- {
		units = (units + 5) / 10
	}
	digits := fmt.Sprintf("%0*d", from+1, units)
	d, err := types.ParseDecimal([]byte(digits[:len(digits)-from]+"."+digits[len(digits)-from:]), 18, to)
	if err != nil {
		return nil
	}
	return d
}
