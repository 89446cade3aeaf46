package expr

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

func init() {
	define("EXTRACT", func(c *call) (Evaluator, error) { return newExtract(c, c.units[0]) })
	for name, unit := range map[string]string{
		"YEAR": "YEAR", "QUARTER": "QUARTER", "MONTH": "MONTH", "WEEK": "WEEK", "DAYOFYEAR": "DOY", "DAYOFMONTH": "DAY", "DAYOFWEEK": "DOW",
		"HOUR": "HOUR", "MINUTE": "MINUTE", "SECOND": "SECOND",
	} {
		define(name, func(c *call) (Evaluator, error) { return newExtract(c, unit) })
	}

	now := func(f func(us int64, e *Context) any) builder {
		return func(c *call) (Evaluator, error) { return &nowEval{call: c, f: f}, nil }
	}
	wall := func(us int64, e *Context) int64 { return e.zoneConv().ToWall(us) }
	millis := func(us int64) int64 { return us - types.FloorMod(us, types.MicrosPerMilli) }
	instant := now(func(us int64, e *Context) any { return types.TimestampVal(millis(us)) })
	for _, n := range []string{"CURRENT_TIMESTAMP", "NOW", "CURRENT_ROW_TIMESTAMP", "PROCTIME"} {
		define(n, instant)
	}
	define("LOCALTIMESTAMP", now(func(us int64, e *Context) any { return types.TimestampVal(millis(wall(us, e))) }))
	define("CURRENT_DATE", now(func(us int64, e *Context) any {
		return types.DateVal(types.FloorDiv(wall(us, e), types.MicrosPerDay))
	}))
	clock := now(func(us int64, e *Context) any {
		return types.TimeVal(types.FloorMod(wall(us, e), types.MicrosPerDay) / types.MicrosPerSecond * 1000)
	})
	define("LOCALTIME", clock)
	define("CURRENT_TIME", clock)
	define("CURRENT_DATABASE", now(func(_ int64, e *Context) any { return e.Database }))
	define("CURRENT_WATERMARK", func(c *call) (Evaluator, error) { return &currentWatermark{c}, nil })

	define("UNIX_TIMESTAMP", func(c *call) (Evaluator, error) {
		if len(c.args) == 0 {
			return now(func(us int64, _ *Context) any { return types.FloorDiv(us, types.MicrosPerSecond) })(c)
		}
		return newUnixTimestamp(c)
	})
	define("FROM_UNIXTIME", newFromUnixtime)
	define("DATE_FORMAT", newDateFormat)
	define("TO_DATE", newToDate)
	define("TO_TIMESTAMP", newToTimestamp)
	define("TO_TIMESTAMP_LTZ", newToTimestampLTZ)
	define("CONVERT_TZ", strict3(convertTZ))
}

// nowEval is a function of the processing time of the batch.
type nowEval struct {
	*call
	f func(us int64, ctx *Context) any
}

func (e *nowEval) Type() types.Type { return e.result }
func (e *nowEval) Eval(ctx *Context, in Input) (arrow.Array, error) {
	return repeat(ctx, e.f(ctx.Now.UnixMicro(), ctx), e.result, in.Rows)
}

// currentWatermark is CURRENT_WATERMARK(rowtime): the watermark before the row, NULL while there is none.
type currentWatermark struct{ *call }

func (e *currentWatermark) Type() types.Type { return e.result }
func (e *currentWatermark) Eval(ctx *Context, in Input) (arrow.Array, error) {
	if in.Watermark == nil && in.Len() > 0 {
		return nil, e.fail("internal error: no watermarks of the rows")
	}
	unit := resolution(e.result)
	out := newSink[int64](ctx, e.result, in.Rows)
	for i := range in.Rows {
		if i >= len(in.Watermark) || in.Watermark[i] == stream.MinTime {
			out.null()
			continue
		}
		w := int64(in.Watermark[i])
		if err := out.append(w - types.FloorMod(w, unit)); err != nil {
			return nil, err
		}
	}
	return out.finish(), nil
}

// resolution is the smallest step of a timestamp type, in its own unit.
func resolution(t types.Type) int64 {
	digits := 6
	if t.Nanos() {
		digits = 9
	}
	unit := int64(1)
	for p := t.Precision; p < digits; p++ {
		unit *= 10
	}
	return unit
}

// newExtract is EXTRACT(unit FROM x). TIMESTAMP_LTZ is read in the session zone. Right before 1970 too.
func newExtract(c *call, unit string) (Evaluator, error) {
	t := c.args[0].Type()
	if t.IsInterval() {
		f := intervalPart(unit)
		return strict1(func(_ *env, v int64) (int64, error) { return f(v), nil })(c)
	}
	of := datePart(unit)
	ofTime := timePart(unit)
	return rows(func(e *env, o []operand) (func(int) (int64, error), error) {
		if unit == "EPOCH" {
			v := microsReader(o[0], nil)
			return func(i int) (int64, error) { return types.FloorDiv(v(i), types.MicrosPerSecond), nil }, nil
		}
		wall := microsReader(o[0], e.zoneConv())
		if of != nil {
			last, part := int64(-1)<<63, int64(0) // rows of one day come together
			return func(i int) (int64, error) {
				if d := types.FloorDiv(wall(i), types.MicrosPerDay); d != last {
					last, part = d, of(d)
				}
				return part, nil
			}, nil
		}
		if unit == "NANOSECOND" && t.Nanos() {
			v := reader[int64](o[0])
			return func(i int) (int64, error) { return types.FloorMod(v(i), 1_000_000_000), nil }, nil
		}
		return func(i int) (int64, error) { return ofTime(types.FloorMod(wall(i), types.MicrosPerDay)), nil }, nil
	})(c)
}

// datePart is a unit of a date (days since 1970); nil for units of the time of day.
func datePart(unit string) func(days int64) int64 {
	year := func(d int64) int64 { y, _, _ := types.CivilFromDays(d); return int64(y) }
	switch unit {
	case "YEAR":
		return year
	case "QUARTER":
		return func(d int64) int64 { _, m, _ := types.CivilFromDays(d); return int64(m-1)/3 + 1 }
	case "MONTH":
		return func(d int64) int64 { _, m, _ := types.CivilFromDays(d); return int64(m) }
	case "DAY":
		return func(d int64) int64 { _, _, dd := types.CivilFromDays(d); return int64(dd) }
	case "WEEK":
		return func(d int64) int64 { _, w := types.ISOWeek(d); return int64(w) }
	case "ISOYEAR":
		return func(d int64) int64 { y, _ := types.ISOWeek(d); return int64(y) }
	case "DOW":
		return func(d int64) int64 { return int64(types.ISODayOfWeek(d)%7) + 1 }
	case "ISODOW":
		return func(d int64) int64 { return int64(types.ISODayOfWeek(d)) }
	case "DOY":
		return func(d int64) int64 { return int64(types.DayOfYear(d)) }
	case "DECADE":
		return func(d int64) int64 { return types.FloorDiv(year(d), 10) }
	case "CENTURY":
		return func(d int64) int64 { return ordinal(year(d), 100) }
	case "MILLENNIUM":
		return func(d int64) int64 { return ordinal(year(d), 1000) }
	}
	return nil
}

// ordinal numbers spans of years from 1 on: 1 to 100 is century 1.
func ordinal(year, span int64) int64 {
	if year > 0 {
		return (year + span - 1) / span
	}
	return -((-year + span) / span)
}

// timePart is a unit of the time of day (microseconds).
func timePart(unit string) func(us int64) int64 {
	switch unit {
	case "HOUR":
		return func(us int64) int64 { return us / types.MicrosPerHour }
	case "MINUTE":
		return func(us int64) int64 { return us / types.MicrosPerMinute % 60 }
	case "SECOND":
		return func(us int64) int64 { return us / types.MicrosPerSecond % 60 }
	case "MILLISECOND":
		return func(us int64) int64 { return us / 1000 % 1000 }
	case "MICROSECOND":
		return func(us int64) int64 { return us % 1_000_000 }
	}
	return func(us int64) int64 { return us % 1_000_000 * 1000 } // NANOSECOND
}

// intervalPart is a unit of an interval (months or microseconds), with its sign.
func intervalPart(unit string) func(v int64) int64 {
	switch unit {
	case "YEAR":
		return func(m int64) int64 { return m / 12 }
	case "QUARTER":
		return func(m int64) int64 { return m%12/3 + 1 }
	case "MONTH":
		return func(m int64) int64 { return m % 12 }
	case "DAY":
		return func(us int64) int64 { return us / types.MicrosPerDay }
	case "HOUR":
		return func(us int64) int64 { return us / types.MicrosPerHour % 24 }
	}
	return timePart(unit)
}

// floorTime is FLOOR(x TO unit) and CEIL(x TO unit) of DATE, TIME, TIMESTAMP and TIMESTAMP_LTZ (on the wall clock of the session zone).
func floorTime(c *call, ceil bool) (Evaluator, error) {
	unit := c.units[0]
	t := c.args[0].Type()
	round := func(us int64) int64 { return floorMicros(us, unit) }
	if ceil {
		round = func(us int64) int64 {
			if unit == "WEEK" || unitMonths[unit] != 0 {
				us -= types.FloorMod(us, types.MicrosPerDay) // Flink's rule: the first day of the unit stays, whatever the time of day
			}
			f := floorMicros(us, unit)
			if f == us {
				return us
			}
			if months := unitMonths[unit]; months != 0 {
				return addMonthsTo(f, months, false, nil)
			}
			return f + unitMicros[unit]
		}
	}
	// fromWall gives the instant for what the wall clock w of the instant us was rounded to. Up to hours it is that many microseconds away: in the hour that
	// a zone has twice the rounded wall clock alone would not say which of the two is meant.
	fromWall := func(conv *types.ZoneConv, us, w, r int64) int64 {
		if unitMonths[unit] == 0 && unitMicros[unit] <= types.MicrosPerHour {
			return us + r - w
		}
		return conv.FromWall(r, types.CastRule)
	}
	return rows(func(e *env, o []operand) (func(int) (int64, error), error) {
		v := reader[int64](o[0])
		switch {
		case t.Kind == types.Date:
			if us := unitMicros[unit]; us != 0 && us <= types.MicrosPerDay {
				return func(i int) (int64, error) { return v(i), nil }, nil
			}
			return func(i int) (int64, error) {
				return types.FloorDiv(round(v(i)*types.MicrosPerDay), types.MicrosPerDay), nil
			}, nil
		case t.Kind == types.Time:
			return func(i int) (int64, error) {
				ms := round(v(i)*types.MicrosPerMilli) / types.MicrosPerMilli
				if ms >= types.MillisPerDay {
					return 0, fmt.Errorf("time overflow: %s rounded up to %s is no time of day", o[0].text(i), unit)
				}
				return ms, nil
			}, nil
		case t.Nanos():
			conv := e.zoneConv()
			return func(i int) (int64, error) {
				x := v(i)
				us := types.FloorDiv(x, 1000)
				sub := x - us*1000
				if unit == "NANOSECOND" {
					return x, nil
				}
				w := us
				if t.Kind == types.TimestampLTZ {
					w = conv.ToWall(us)
				}
				r := round(w)
				if ceil && r == w && sub > 0 { // only the nanoseconds lie above the mark
					r = round(w + 1)
				}
				if t.Kind == types.TimestampLTZ {
					r = fromWall(conv, us, w, r)
				}
				n, ok := mulChecked(r, 1000)
				if !ok {
					return 0, errors.New("time overflow: the result is out of the range of nanoseconds")
				}
				return n, nil
			}, nil
		case t.Kind == types.TimestampLTZ:
			conv := e.zoneConv()
			return func(i int) (int64, error) {
				w := conv.ToWall(v(i))
				return fromWall(conv, v(i), w, round(w)), nil
			}, nil
		}
		return func(i int) (int64, error) { return round(v(i)), nil }, nil
	})(c)
}

// floorMicros rounds a wall clock down to the start of a unit. Weeks begin on Sunday.
func floorMicros(us int64, unit string) int64 {
	switch unit {
	case "WEEK":
		d := types.FloorDiv(us, types.MicrosPerDay)
		return (d - int64(types.ISODayOfWeek(d)%7)) * types.MicrosPerDay
	case "MONTH", "QUARTER", "YEAR", "DECADE", "CENTURY", "MILLENNIUM":
		y, m, _ := types.CivilFromDays(types.FloorDiv(us, types.MicrosPerDay))
		switch unit {
		case "QUARTER":
			m = (m-1)/3*3 + 1
		case "YEAR":
			m = 1
		case "DECADE":
			y, m = int(types.FloorDiv(int64(y), 10))*10, 1
		case "CENTURY":
			y, m = int(types.FloorDiv(int64(y)-1, 100))*100+1, 1
		case "MILLENNIUM":
			y, m = int(types.FloorDiv(int64(y)-1, 1000))*1000+1, 1
		}
		return types.DaysFromCivil(y, m, 1) * types.MicrosPerDay
	case "NANOSECOND":
		return us
	}
	return us - types.FloorMod(us, unitMicros[unit])
}

// newDateFormat is DATE_FORMAT(timestamp or text, pattern); a text must be yyyy-MM-dd HH:mm:ss, otherwise the result is NULL.
func newDateFormat(c *call) (Evaluator, error) {
	t := c.args[0].Type()
	use := formatPattern
	if t.IsText() {
		use = simpleFormat
	}
	pattern, err := constPattern(c, 1, use)
	if err != nil {
		return nil, err
	}
	return rows(func(e *env, o []operand) (func(int) (string, error), error) {
		var at func(i int) (wall int64, nanos int64, err error)
		if t.IsText() {
			s := reader[string](o[0])
			at = func(i int) (int64, int64, error) {
				us, ok := convertPattern.parseMicros(s(i))
				if !ok {
					return 0, 0, errNull
				}
				return us, 0, nil
			}
		} else {
			wall, v := microsReader(o[0], e.zoneConv()), reader[int64](o[0])
			at = func(i int) (int64, int64, error) {
				if t.Nanos() {
					return wall(i), types.FloorMod(v(i), 1000), nil
				}
				return wall(i), 0, nil
			}
		}
		p := patternReader(pattern, o[1], use)
		var buf []byte
		return func(i int) (string, error) {
			f, err := p(i)
			if err != nil {
				return "", err
			}
			us, ns, err := at(i)
			if err != nil {
				return "", err
			}
			buf = f.format(buf[:0], us, ns)
			return string(buf), nil
		}, nil
	})(c)
}

const defaultPattern = "yyyy-MM-dd HH:mm:ss"

// constPattern compiles the pattern in argument k when it is a constant (also when it is not given); nil when it is computed.
func constPattern(c *call, k int, use patternUse) (*timePattern, error) {
	if len(c.args) <= k {
		return compileTimePattern(defaultPattern, use)
	}
	if v, ok := constant(c.args[k]); ok && v != nil {
		p, err := compileTimePattern(v.(string), use)
		if err != nil {
			return nil, c.fail("%v", err)
		}
		return p, nil
	}
	return nil, nil
}

// patternReader is the pattern of each row.
func patternReader(p *timePattern, o operand, use patternUse) func(int) (*timePattern, error) {
	if p != nil {
		return func(int) (*timePattern, error) { return p, nil }
	}
	text := reader[string](o)
	last := ""
	return func(i int) (*timePattern, error) {
		if s := text(i); p == nil || s != last {
			q, err := compileTimePattern(s, use)
			if err != nil {
				return nil, err
			}
			p, last = q, s
		}
		return p, nil
	}
}

// optional is argument k, or a constant that stands for none.
func optional(o []operand, k int) operand {
	if k < len(o) {
		return o[k]
	}
	return operand{v: "", t: types.StringType}
}

// newFromUnixtime is FROM_UNIXTIME(seconds[, pattern]): text in the session zone.
func newFromUnixtime(c *call) (Evaluator, error) {
	pattern, err := constPattern(c, 1, simpleFormat)
	if err != nil {
		return nil, err
	}
	return rows(func(e *env, o []operand) (func(int) (string, error), error) {
		sec := reader[int64](o[0])
		p := patternReader(pattern, optional(o, 1), simpleFormat)
		conv := e.zoneConv()
		var buf []byte
		return func(i int) (string, error) {
			f, err := p(i)
			if err != nil {
				return "", err
			}
			us, ok := mulChecked(sec(i), types.MicrosPerSecond)
			if !ok {
				return "", fmt.Errorf("time overflow: %d seconds", sec(i))
			}
			buf = f.format(buf[:0], conv.ToWall(us), 0)
			return string(buf), nil
		}, nil
	})(c)
}

// newUnixTimestamp is UNIX_TIMESTAMP(text[, pattern]): seconds, of a wall clock of the session zone; -2^63 for a text that does not match, as in Flink.
func newUnixTimestamp(c *call) (Evaluator, error) {
	pattern, err := constPattern(c, 1, simpleParse)
	if err != nil {
		return nil, err
	}
	return rows(func(e *env, o []operand) (func(int) (int64, error), error) {
		text := reader[string](o[0])
		p := patternReader(pattern, optional(o, 1), simpleParse)
		return func(i int) (int64, error) {
			f, err := p(i)
			if err != nil {
				return 0, err
			}
			us, ok := f.parseMicros(text(i))
			if !ok {
				return -1 << 63, nil
			}
			return types.FloorDiv(fromWallSimple(us, e.zone()), types.MicrosPerSecond), nil
		}, nil
	})(c)
}

// newToDate is TO_DATE(text[, pattern]): NULL for a text that does not match.
func newToDate(c *call) (Evaluator, error) {
	if len(c.args) == 1 {
		return strict1(func(_ *env, s string) (int64, error) {
			d, err := types.ParseDate([]byte(s))
			if err != nil {
				return 0, errNull
			}
			return int64(d), nil
		})(c)
	}
	pattern, err := constPattern(c, 1, simpleParse)
	if err != nil {
		return nil, err
	}
	return rows(func(_ *env, o []operand) (func(int) (int64, error), error) {
		text, p := reader[string](o[0]), patternReader(pattern, o[1], simpleParse)
		return func(i int) (int64, error) {
			f, err := p(i)
			if err != nil {
				return 0, err
			}
			us, ok := f.parseMicros(text(i))
			if !ok {
				return 0, errNull
			}
			return types.FloorDiv(us, types.MicrosPerDay), nil
		}, nil
	})(c)
}

// parseWall reads a text by a DateTimeFormatter pattern, with Flink's fall back to yyyy-[m]m-[d]d[ hh:mm:ss[.f]].
func parseWall(f *timePattern, s string) (us int64, ok bool) {
	if us, ok = f.parseMicros(s); ok {
		return us, true
	}
	v, err := types.ParseTimestamp([]byte(s), 6)
	return v, err == nil
}

// newToTimestamp is TO_TIMESTAMP(text[, pattern]): NULL for a text that does not match.
func newToTimestamp(c *call) (Evaluator, error) {
	cut := func(us int64) int64 { return us - types.FloorMod(us, types.MicrosPerMilli) } // TIMESTAMP(3)
	if len(c.args) == 1 {
		return strict1(func(_ *env, s string) (int64, error) {
			us, err := types.ParseTimestamp([]byte(s), 6)
			if err != nil {
				return 0, errNull
			}
			return cut(us), nil
		})(c)
	}
	pattern, err := constPattern(c, 1, parsePattern)
	if err != nil {
		return nil, err
	}
	return rows(func(_ *env, o []operand) (func(int) (int64, error), error) {
		text, p := reader[string](o[0]), patternReader(pattern, o[1], parsePattern)
		return func(i int) (int64, error) {
			f, err := p(i)
			if err != nil {
				return 0, err
			}
			us, ok := parseWall(f, text(i))
			if !ok {
				return 0, errNull
			}
			return cut(us), nil
		}, nil
	})(c)
}

// The years 0 to 9999.
var (
	firstMicros = types.DaysFromCivil(0, 1, 1) * types.MicrosPerDay
	lastMicros  = types.DaysFromCivil(10000, 1, 1)*types.MicrosPerDay - 1
)

// fromWallSimple converts a wall clock to an instant as Java's SimpleDateFormat does: the later one of two, forward out of a gap.
func fromWallSimple(wall int64, zone *time.Location) int64 {
	us := types.FromWall(wall, zone, types.CastRule)
	if types.ToWall(us, zone) != wall { // a gap
		return us
	}
	return types.FromWall(wall, zone, types.WindowRule)
}

// newToTimestampLTZ is TO_TIMESTAMP_LTZ(number[, precision]), where the number counts 10^-precision seconds (3 when not given) and the
// result is NULL outside of the years 0 to 9999, and
// TO_TIMESTAMP_LTZ(text[, pattern[, zone]]), where the zone is UTC when not given and a text that does not match is an error.
func newToTimestampLTZ(c *call) (Evaluator, error) {
	if c.args[0].Type().IsNumeric() {
		return rows(func(_ *env, o []operand) (func(int) (int64, error), error) {
			precision := func(int) int64 { return 3 }
			if len(o) > 1 {
				precision = reader[int64](o[1])
			}
			var whole func(int) int64 // nil for FLOAT and DOUBLE
			switch o[0].t.Kind {
			case types.Decimal: // cut
				d := reader[types.Dec](o[0])
				whole = func(i int) int64 { v, _ := d(i).Int64(); return v }
			case types.Float, types.Double:
			default:
				whole = reader[int64](o[0])
			}
			approx := reader[float64](o[0])
			unit := c.result // of the result: microseconds or nanoseconds
			digits := 6
			if unit.Nanos() {
				digits = 9
			}
			return func(i int) (int64, error) {
				p := precision(i)
				if p < 0 || p > 9 {
					return 0, fmt.Errorf("the precision of TO_TIMESTAMP_LTZ is 0 (seconds) to 9, 3 being milliseconds; not %d", p)
				}
				scale := int64(1)
				for range max(digits-int(p), int(p)-digits) {
					scale *= 10
				}
				var v int64
				ok := true
				switch {
				case whole == nil:
					f := approx(i) * float64(scale)
					if int(p) > digits {
						f = approx(i) / float64(scale)
					}
					v, ok = types.DoubleToInt(math.Floor(f), types.BigInt)
				case int(p) > digits:
					v = types.FloorDiv(whole(i), scale)
				default:
					v, ok = mulChecked(whole(i), scale)
				}
				us := v
				if unit.Nanos() {
					us = types.FloorDiv(v, 1000)
				}
				if !ok || us < firstMicros || us > lastMicros {
					return 0, errNull // as in Flink
				}
				return v - types.FloorMod(v, resolution(unit)), nil
			}, nil
		})(c)
	}
	pattern, err := constPattern(c, 1, parsePattern)
	if err != nil {
		return nil, err
	}
	return rows(func(_ *env, o []operand) (func(int) (int64, error), error) {
		text, p := reader[string](o[0]), patternReader(pattern, optional(o, 1), parsePattern)
		zoneOf := func(int) string { return "UTC" }
		if len(o) > 2 {
			zoneOf = reader[string](o[2])
		}
		last, conv := "", (*types.ZoneConv)(nil)
		return func(i int) (int64, error) {
			f, err := p(i)
			if err != nil {
				return 0, err
			}
			us, ok := parseWall(f, text(i))
			if !ok {
				return 0, fmt.Errorf("'%s' does not match the pattern", text(i))
			}
			if z := zoneOf(i); conv == nil || z != last {
				loc, err := types.LoadZone(z)
				if err != nil {
					return 0, err
				}
				conv, last = types.NewZoneConv(loc), z
			}
			us = conv.FromWall(us, types.CastRule)
			return us - types.FloorMod(us, types.MicrosPerMilli), nil
		}, nil
	})(c)
}

var convertPattern = func() *timePattern { p, _ := compileTimePattern(defaultPattern, simpleParse); return p }()

// convertTZ is CONVERT_TZ(text, from, to); NULL for a text that is no yyyy-MM-dd HH:mm:ss.
func convertTZ(_ *env, s, from, to string) (string, error) {
	us, ok := convertPattern.parseMicros(s)
	if !ok {
		return "", errNull
	}
	zones := [2]*time.Location{}
	for i, name := range []string{from, to} {
		z, err := types.LoadZone(name)
		if err != nil {
			return "", err
		}
		zones[i] = z
	}
	us = types.ToWall(fromWallSimple(us, zones[0]), zones[1])
	return string(convertPattern.format(nil, us, 0)), nil
}
