package expr

import (
	"errors"
	"fmt"
	"math"

	"github.com/weir-sql/weir/types"
)

// newTemporalArith is + - * where an operand is a DATE, TIME, TIMESTAMP or INTERVAL:
//
//	datetime + interval, interval + datetime, datetime - interval     the type of the datetime; a DATE moves by whole days, a TIME within its day
//	interval + interval, interval - interval                          of one kind
//	interval * integer, integer * interval
//	(datetime - datetime) unit                                        an interval; months and years count whole ones
func newTemporalArith(op string, c *call) (Evaluator, error) {
	l, r := c.args[0].Type(), c.args[1].Type()
	if l.IsInterval() && (r.IsDatetime() || r.IsNumeric()) {
		c.args[0], c.args[1] = c.args[1], c.args[0]
		l, r = r, l
	}
	sign := int64(1)
	if op == "-" {
		sign = -1
	}
	checked := func(f func(a, b int64) (int64, bool)) (Evaluator, error) {
		return rows(func(e *env, o []operand) (func(int) (int64, error), error) {
			a, b := reader[int64](o[0]), reader[int64](o[1])
			return func(i int) (int64, error) {
				v, ok := f(a(i), b(i))
				if !ok {
					return 0, fmt.Errorf("time overflow: %s %s %s does not fit %s", o[0].text(i), op, o[1].text(i), c.result.WithNull(true))
				}
				return v, nil
			}, nil
		})(c)
	}
	switch {
	case l.IsDatetime() && r.IsDatetime():
		return newDatetimeMinus(c)
	case l.IsInterval() && r.IsInterval():
		if l.Kind == types.IntervalYearMonth {
			return &arithEval{call: c, kernel: intKernel[int32](op)}, nil
		}
		return &arithEval{call: c, kernel: intKernel[int64](op)}, nil
	case l.IsNumeric(): // times an interval
		return checked(mulChecked)
	case l.IsTimestamp() && r.Kind == types.IntervalDayTime:
		if !l.Nanos() {
			return &arithEval{call: c, kernel: intKernel[int64](op)}, nil
		}
		return checked(func(a, b int64) (int64, bool) {
			ns, ok := mulChecked(b, 1000)
			if !ok {
				return 0, false
			}
			return addChecked(a, sign*ns)
		})
	case l.IsTimestamp():
		conv := func(e *env) *types.ZoneConv { return nil }
		if l.Kind == types.TimestampLTZ {
			conv = func(e *env) *types.ZoneConv { return e.zoneConv() }
		}
		return rows(func(e *env, o []operand) (func(int) (int64, error), error) {
			a, b := reader[int64](o[0]), reader[int64](o[1])
			z := conv(e)
			return func(i int) (int64, error) {
				v, ok := addMonthsChecked(a(i), sign*b(i), l.Nanos(), z)
				if !ok {
					return 0, fmt.Errorf("time overflow: %s %s %s does not fit %s", o[0].text(i), op, o[1].text(i), c.result.WithNull(true))
				}
				return v, nil
			}, nil
		})(c)
	case l.Kind == types.Date && r.Kind == types.IntervalDayTime:
		// Whole days: a part of a day is cut.
		return checked(func(a, b int64) (int64, bool) { return addChecked(a, sign*(b/types.MicrosPerDay)) })
	case l.Kind == types.Date:
		return checked(func(a, b int64) (int64, bool) { return types.AddMonths(a, sign*b), true })
	case l.Kind == types.Time && r.Kind == types.IntervalDayTime:
		return checked(func(a, b int64) (int64, bool) {
			return types.FloorMod(a+sign*(b/types.MicrosPerMilli), types.MillisPerDay), true
		})
	case l.Kind == types.Time:
		return c.args[0], nil
	}
	return nil, fmt.Errorf("internal error: no arithmetic of %s %s %s", l, op, r)
}

func addChecked(a, b int64) (int64, bool) {
	c := a + b
	return c, (a^c)&(b^c) >= 0
}

func mulChecked(a, b int64) (int64, bool) {
	var d [1]int64
	bad := mulInts(d[:], []int64{a}, []int64{b})
	return d[0], !bad
}

// addMonthsTo moves a timestamp (microseconds, or nanoseconds) by months; the day is clamped to the month. With a converter it is an instant that moves
// on the wall clock of the zone.
func addMonthsTo(v, months int64, nanos bool, conv *types.ZoneConv) int64 {
	sub := int64(0)
	if nanos {
		sub = types.FloorMod(v, 1000)
		v = types.FloorDiv(v, 1000)
	}
	if conv != nil {
		v = conv.ToWall(v)
	}
	days := types.FloorDiv(v, types.MicrosPerDay)
	v = types.AddMonths(days, months)*types.MicrosPerDay + types.FloorMod(v, types.MicrosPerDay)
	if conv != nil {
		v = conv.FromWall(v, types.CastRule)
	}
	if nanos {
		v = v*1000 + sub
	}
	return v
}

// addMonthsChecked is addMonthsTo, and false where the result does not fit: an int64 of microseconds reaches 292,000 years from 1970, of nanoseconds 292.
func addMonthsChecked(v, months int64, nanos bool, conv *types.ZoneConv) (int64, bool) {
	unit, years := types.MicrosPerDay, int64(292_000)
	if nanos {
		unit, years = types.MicrosPerDay*1000, 292
	}
	year, _, _ := types.CivilFromDays(types.FloorDiv(v, unit))
	if y := int64(year) + months/12 - 1970; y <= -years || y >= years {
		return 0, false
	}
	return addMonthsTo(v, months, nanos, conv), true
}

// unitMicros has the lengths of the units of fixed length.
var unitMicros = map[string]int64{
	"WEEK": 7 * types.MicrosPerDay, "DAY": types.MicrosPerDay, "HOUR": types.MicrosPerHour, "MINUTE": types.MicrosPerMinute,
	"SECOND": types.MicrosPerSecond, "MILLISECOND": types.MicrosPerMilli, "MICROSECOND": 1,
}

// unitMonths has the lengths of the others.
var unitMonths = map[string]int64{"MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120, "CENTURY": 1200, "MILLENNIUM": 12000}

// microsReader reads a datetime as microseconds of its wall clock (an instant stays one unless zone conversion is asked for by conv).
func microsReader(o operand, conv *types.ZoneConv) func(int) int64 {
	v := reader[int64](o)
	switch {
	case o.t.Kind == types.Date:
		return func(i int) int64 { return v(i) * types.MicrosPerDay }
	case o.t.Kind == types.Time:
		return func(i int) int64 { return v(i) * types.MicrosPerMilli }
	case o.t.Nanos() && conv != nil && o.t.Kind == types.TimestampLTZ:
		return func(i int) int64 { return conv.ToWall(types.FloorDiv(v(i), 1000)) }
	case o.t.Nanos():
		return func(i int) int64 { return types.FloorDiv(v(i), 1000) }
	case conv != nil && o.t.Kind == types.TimestampLTZ:
		return func(i int) int64 { return conv.ToWall(v(i)) }
	}
	return v
}

// subtractMonths is the number of whole months from b to a, the ends of months counting as whole: from Jan 31 to Feb 29 is 1. Microseconds.
// The rule is that of Calcite's DateTimeUtils.subtractMonths.
func subtractMonths(a, b int64) int64 {
	da, db := types.FloorDiv(a, types.MicrosPerDay), types.FloorDiv(b, types.MicrosPerDay)
	m := subtractMonthsOfDays(da, db)
	if types.AddMonths(db, m) == da && types.FloorMod(a, types.MicrosPerDay) < types.FloorMod(b, types.MicrosPerDay) {
		m--
	}
	return m
}

func subtractMonthsOfDays(a, b int64) int64 {
	if a < b {
		return -subtractMonthsOfDays(b, a)
	}
	y1, m1, _ := types.CivilFromDays(a)
	y0, m0, _ := types.CivilFromDays(b)
	m := int64(y1-y0)*12 + int64(m1-m0)
	if types.AddMonths(b, m) > a {
		m--
	}
	return m
}

// newDatetimeMinus is (a - b) unit.
func newDatetimeMinus(c *call) (Evaluator, error) {
	return rows(func(e *env, o []operand) (func(int) (int64, error), error) {
		a, b := wallPair(e, o[0], o[1])
		if c.result.Kind == types.IntervalYearMonth {
			return func(i int) (int64, error) { return subtractMonths(a(i), b(i)), nil }, nil
		}
		return func(i int) (int64, error) {
			d, ok := addChecked(a(i), -b(i))
			if !ok {
				return 0, errors.New("time overflow")
			}
			return d, nil
		}, nil
	})(c)
}

// wallPair reads two datetimes so that their difference makes sense: two instants as instants, otherwise both on the wall clock.
func wallPair(e *env, x, y operand) (a, b func(int) int64) {
	conv := e.zoneConv()
	if x.t.Kind == types.TimestampLTZ && y.t.Kind == types.TimestampLTZ {
		conv = nil
	}
	return microsReader(x, conv), microsReader(y, conv)
}

func init() {
	define("TIMESTAMPDIFF", func(c *call) (Evaluator, error) {
		unit := c.units[0]
		return rows(func(e *env, o []operand) (func(int) (int64, error), error) {
			a, b := wallPair(e, o[0], o[1])
			if months := unitMonths[unit]; months != 0 {
				if o[0].t.Kind == types.TimestampLTZ && o[1].t.Kind == types.TimestampLTZ {
					// Months are those of the wall clock.
					a, b = microsReader(o[0], e.zoneConv()), microsReader(o[1], e.zoneConv())
				}
				return func(i int) (int64, error) { return subtractMonths(b(i), a(i)) / months, nil }, nil
			}
			us := unitMicros[unit]
			return func(i int) (int64, error) {
				d, ok := addChecked(b(i), -a(i))
				if d /= us; !ok || int64(int32(d)) != d {
					return 0, fmt.Errorf("integer overflow: %d %sS do not fit INT", d, unit)
				}
				return d, nil
			}, nil
		})(c)
	})
	define("TIMESTAMPADD", func(c *call) (Evaluator, error) {
		unit := c.units[0]
		t := c.args[1].Type() // of the datetime; the result can be finer
		return rows(func(e *env, o []operand) (func(int) (int64, error), error) {
			n := reader[int64](o[0])
			var conv *types.ZoneConv
			if t.Kind == types.TimestampLTZ {
				conv = e.zoneConv()
			}
			v := reader[int64](o[1])
			fail := func(i int) error {
				return fmt.Errorf("time overflow: %s + %d %s does not fit %s", o[1].text(i), n(i), unit, c.result.WithNull(true))
			}
			if months := unitMonths[unit]; months != 0 {
				return func(i int) (int64, error) {
					m, ok := mulChecked(n(i), months)
					if !ok || m > math.MaxInt32 || m < math.MinInt32 {
						return 0, fail(i)
					}
					switch t.Kind {
					case types.Date:
						return types.AddMonths(v(i), m), nil
					case types.Time:
						return v(i), nil
					}
					x, ok := addMonthsChecked(v(i), m, t.Nanos(), conv)
					if !ok {
						return 0, fail(i)
					}
					return x, nil
				}, nil
			}
			us := unitMicros[unit]
			if t.Kind == types.Date && c.result.Kind == types.Date {
				us /= types.MicrosPerDay // DAY and WEEK
			}
			return func(i int) (int64, error) {
				x := v(i)
				switch {
				case t.Kind == types.Time:
					d, ok := mulChecked(n(i), us)
					if !ok {
						return 0, fail(i)
					}
					return types.FloorMod(x+d/types.MicrosPerMilli, types.MillisPerDay), nil
				case t.Kind == types.Date && c.result.Kind != types.Date:
					x *= types.MicrosPerDay
				}
				d, ok := mulChecked(n(i), us)
				if ok && t.Nanos() {
					d, ok = mulChecked(d, 1000)
				}
				if !ok {
					return 0, fail(i)
				}
				r, ok := addChecked(x, d)
				if !ok {
					return 0, fail(i)
				}
				return r, nil
			}, nil
		})(c)
	})
	define("OVERLAPS", func(c *call) (Evaluator, error) {
		// (a, b) OVERLAPS (c, d): the ends in either order, or an interval as second; touching counts.
		return rows(func(e *env, o []operand) (func(int) (bool, error), error) {
			period := func(x, y operand) func(int) (int64, int64) {
				from := microsReader(x, e.zoneConv())
				to := reader[int64](y)
				switch {
				case y.t.Kind == types.IntervalDayTime:
					d := to
					to = func(i int) int64 { return from(i) + d(i) }
				case y.t.Kind == types.IntervalYearMonth:
					d := to
					to = func(i int) int64 { return addMonthsTo(from(i), d(i), false, nil) }
				default:
					to = microsReader(y, e.zoneConv())
				}
				return func(i int) (int64, int64) {
					a, b := from(i), to(i)
					return min(a, b), max(a, b)
				}
			}
			p, q := period(o[0], o[1]), period(o[2], o[3])
			return func(i int) (bool, error) {
				s, t := p(i)
				u, v := q(i)
				return s <= v && u <= t, nil
			}, nil
		})(c)
	})
}
