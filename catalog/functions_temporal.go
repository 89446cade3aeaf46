package catalog

import (
	"errors"
	"fmt"

	"github.com/weir-sql/weir/types"
)

func init() {
	const g = "Temporal"
	register(
		volatileScalar(g, "CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP", "The time of processing.", sig(0, notNull(types.TimestampLTZOf(3)))),
		volatileScalar(g, "NOW", "NOW()", "The time of processing.", sig(0, notNull(types.TimestampLTZOf(3)))),
		volatileScalar(g, "CURRENT_ROW_TIMESTAMP", "CURRENT_ROW_TIMESTAMP()", "The time of processing.", sig(0, notNull(types.TimestampLTZOf(3)))),
		volatileScalar(g, "PROCTIME", "PROCTIME()", "The time of processing, as a time attribute.", sig(0, notNull(types.TimestampLTZOf(3)))),
		volatileScalar(g, "LOCALTIMESTAMP", "LOCALTIMESTAMP", "The time of processing on the wall clock of the session time zone.", sig(0, notNull(types.TimestampOf(3)))),
		volatileScalar(g, "LOCALTIME", "LOCALTIME", "The time of day of processing in the session time zone.", sig(0, notNull(types.TimeOf(0)))),
		volatileScalar(g, "CURRENT_TIME", "CURRENT_TIME", "The time of day of processing in the session time zone.", sig(0, notNull(types.TimeOf(0)))),
		volatileScalar(g, "CURRENT_DATE", "CURRENT_DATE", "The date of processing in the session time zone.", sig(0, notNull(types.DateType))),
		volatileScalar(g, "CURRENT_WATERMARK", "CURRENT_WATERMARK(rowtime)", "The watermark before this row; NULL while there is none.", sig(1, func(_ Call, args []types.Type) types.Type {
			t := args[0].WithNull(true)
			t.Precision = max(t.Precision, 3)
			return t
		}, func(t types.Type) (types.Type, error) {
			if !t.IsTimestamp() {
				return t, fmt.Errorf("an event time attribute, not %s", t.WithNull(true))
			}
			return t, nil
		})),
		volatileScalar("Catalog", "CURRENT_DATABASE", "CURRENT_DATABASE()", "The name of the current database.", sig(0, notNull(types.StringType))),
		scalar(g, "EXTRACT", "EXTRACT(unit FROM x)", "A field of a time or an interval. DOW counts from Sunday = 1, ISODOW from Monday = 1; WEEK and ISOYEAR are ISO's. TIMESTAMP_LTZ is read in the session time zone.",
			func(c Call) (Signature, error) { return resolveExtract(c, "") }),
		scalar(g, "DATE_FORMAT", "DATE_FORMAT(t, pattern)", "A timestamp (or its text) in a pattern of Java's DateTimeFormatter.",
			sig(2, nullable(types.StringType), func(t types.Type) (types.Type, error) {
				if t.IsTimestamp() {
					return t, nil
				}
				if u, err := text(t); err == nil {
					return u, nil
				}
				return t, fmt.Errorf("a TIMESTAMP or a string, not %s: write CAST(... AS TIMESTAMP(3))", t.WithNull(true))
			}, text)),
		scalar(g, "TIMESTAMPADD", "TIMESTAMPADD(unit, n, t)", "t moved by n units; the ends of months are kept.", resolveTimestampAdd),
		scalar(g, "TIMESTAMPDIFF", "TIMESTAMPDIFF(unit, a, b)", "The whole units from a to b; the ends of months count as whole months.", resolveTimestampDiff),
		scalar(g, "OVERLAPS", "(a, b) OVERLAPS (c, d)", "Whether two periods meet; the second of each pair may be an interval.", resolveOverlaps),
		scalar(g, "CONVERT_TZ", "CONVERT_TZ(s, from, to)", "A text yyyy-MM-dd HH:mm:ss taken from one time zone to another; NULL when it is none.",
			sig(3, nullable(types.StringType), text, text, text)),
		scalar(g, "FROM_UNIXTIME", "FROM_UNIXTIME(seconds[, pattern])", "Seconds since 1970 as text in the session time zone, in a pattern of Java's SimpleDateFormat.",
			sig(1, nullable(types.StringType), integer, text)),
		&Function{Name: "UNIX_TIMESTAMP", Kind: Scalar, Group: g, Syntax: "UNIX_TIMESTAMP([s[, pattern]])",
			Doc:      "Seconds since 1970: of now, or of a text in the session time zone (-9223372036854775808 for one that does not match).",
			Volatile: true, Resolve: sig(-1, is(types.BigIntType), text, text)},
		scalar(g, "TO_DATE", "TO_DATE(s[, pattern])", "The date of a text; NULL when it does not match.", sig(1, nullable(types.DateType), text, text)),
		scalar(g, "TO_TIMESTAMP", "TO_TIMESTAMP(s[, pattern])", "The timestamp of a text; NULL when it does not match.", sig(1, nullable(types.TimestampOf(3)), text, text)),
		scalar(g, "TO_TIMESTAMP_LTZ", "TO_TIMESTAMP_LTZ(n[, precision]) | TO_TIMESTAMP_LTZ(s[, pattern[, zone]])",
			"The instant of a number of 10^-precision seconds (3, milliseconds, when not given), or of a text in a time zone (UTC when not given).", resolveToLTZ),
	)
	for name, unit := range map[string]string{
		"YEAR": "YEAR", "QUARTER": "QUARTER", "MONTH": "MONTH", "WEEK": "WEEK", "DAYOFYEAR": "DOY", "DAYOFMONTH": "DAY", "DAYOFWEEK": "DOW",
		"HOUR": "HOUR", "MINUTE": "MINUTE", "SECOND": "SECOND",
	} {
		register(scalar(g, name, name+"(x)", "EXTRACT("+unit+" FROM x).", func(c Call) (Signature, error) { return resolveExtract(c, unit) }))
	}
}

func wrongUnitless(c Call) error {
	return fmt.Errorf("a number; of a time write %s(t TO unit)", c.Name)
}

const extractTime = "HOUR MINUTE SECOND MILLISECOND MICROSECOND NANOSECOND"

// resolveExtract resolves EXTRACT, and YEAR(x) and the like, whose unit is in their name.
func resolveExtract(c Call, unit string) (Signature, error) {
	if unit != "" {
		c.Units = []string{unit}
	}
	s, err := sig(1, is(types.BigIntType), func(t types.Type) (types.Type, error) {
		if t.IsInterval() {
			return t, nil
		}
		if u, err := datetime(t); err == nil {
			return u, nil
		}
		return t, fmt.Errorf("a DATE, TIME, TIMESTAMP or INTERVAL, not %s%s", t.WithNull(true), castHint(t, "TIMESTAMP(3)"))
	})(c)
	if err != nil {
		return s, err
	}
	t := s.Args[0]
	allowed := "MILLENNIUM CENTURY DECADE YEAR ISOYEAR QUARTER MONTH WEEK DAY DOW ISODOW DOY EPOCH " + extractTime
	switch t.Kind {
	case types.Time:
		allowed = extractTime
	case types.IntervalYearMonth:
		allowed = "YEAR QUARTER MONTH"
	case types.IntervalDayTime:
		allowed = "DAY HOUR MINUTE SECOND MILLISECOND"
	}
	_, err = unitIn(c, t, allowed)
	return s, err
}

const monthUnits = "MONTH QUARTER YEAR DECADE CENTURY MILLENNIUM"

func diffUnits(t types.Type, c Call) (string, error) {
	allowed := "MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY WEEK " + monthUnits
	if t.Kind == types.Time {
		allowed = "MILLISECOND SECOND MINUTE HOUR"
	}
	return unitIn(c, t, allowed)
}

func resolveTimestampAdd(c Call) (Signature, error) {
	s, err := sig(2, first, integer, datetime)(c)
	if err != nil {
		return s, err
	}
	t := s.Args[1]
	allowed := "MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY WEEK " + monthUnits
	if t.Kind == types.Time {
		allowed = "MILLISECOND SECOND MINUTE HOUR DAY"
	}
	u, err := unitIn(c, t, allowed)
	if err != nil {
		return s, err
	}
	s.Result = t.WithNull(anyNullable(s.Args))
	switch u {
	case "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR":
		digits := map[string]int{"MICROSECOND": 6, "MILLISECOND": 3}[u]
		switch {
		case t.Kind == types.Date:
			s.Result = types.TimestampOf(6).WithNull(s.Result.Nullable)
		case t.IsTimestamp():
			s.Result.Precision = max(t.Precision, digits)
		}
	}
	return s, nil
}

func resolveTimestampDiff(c Call) (Signature, error) {
	s, err := sig(2, is(types.IntType), datetime, datetime)(c)
	if err != nil {
		return s, err
	}
	a, b := s.Args[0], s.Args[1]
	if (a.Kind == types.Time) != (b.Kind == types.Time) {
		return s, fmt.Errorf("%s takes two TIMEs, or DATEs and TIMESTAMPs, not %s and %s", c.Name, a.WithNull(true), b.WithNull(true))
	}
	_, err = diffUnits(a, c)
	return s, err
}

func resolveOverlaps(c Call) (Signature, error) {
	if err := checkCount(c, 4, 4, false); err != nil {
		return Signature{}, err
	}
	for i, t := range c.Args {
		ok := t.IsDatetime() && (t.Kind == types.Time) == (c.Args[0].Kind == types.Time) || i%2 == 1 && t.IsInterval()
		if !ok {
			return Signature{}, errors.New("OVERLAPS takes two pairs of times of one kind; the second of a pair may be an interval")
		}
	}
	return Signature{c.Args, types.BooleanType.WithNull(anyNullable(c.Args))}, nil
}

func resolveToLTZ(c Call) (Signature, error) {
	r := types.TimestampLTZOf(3)
	if len(c.Args) > 0 && c.Args[0].IsNumeric() {
		if p, ok := literalInt(c, 1); ok {
			if p < 0 || p > 9 {
				return Signature{}, fmt.Errorf("the precision of TO_TIMESTAMP_LTZ is 0 (seconds) to 9, 3 being milliseconds; not %d", p)
			}
			r.Precision = max(3, int(p))
		}
		return sig(1, nullable(r), number, integer)(c)
	}
	return sig(1, nullable(r), func(t types.Type) (types.Type, error) {
		if u, err := text(t); err == nil {
			return u, nil
		}
		return t, fmt.Errorf("a number or a string, not %s", t.WithNull(true))
	}, text, text)(c)
}
