package types

// Arithmetic of the proleptic Gregorian calendar, right for every year, before 1970 and before year 0 too.

// Units of time in microseconds.
const (
	MicrosPerMilli  int64 = 1000
	MicrosPerSecond int64 = 1_000_000
	MicrosPerMinute int64 = 60 * MicrosPerSecond
	MicrosPerHour   int64 = 60 * MicrosPerMinute
	MicrosPerDay    int64 = 24 * MicrosPerHour

	MillisPerDay int64 = 86_400_000
	NanosPerDay  int64 = 1000 * MicrosPerDay
)

// DaysFromCivil returns the days from 1970-01-01 to the given date. Month and day are not checked; they must be in 1..12 and 1..31.
func DaysFromCivil(year, month, day int) int64 {
	// Years begin in March, so that the leap day is the last; eras are 400 years.
	y, m, d := int64(year), int64(month), int64(day)
	if m <= 2 {
		y--
	}
	era := FloorDiv(y, 400)
	yoe := y - era*400
	mp := m - 3
	if m <= 2 {
		mp = m + 9
	}
	doy := (153*mp+2)/5 + d - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468
}

// CivilFromDays is the inverse of DaysFromCivil.
func CivilFromDays(days int64) (year, month, day int) {
	z := days + 719468
	era := FloorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d := doy - (153*mp+2)/5 + 1
	m := mp + 3
	if m > 12 {
		m -= 12
	}
	y := yoe + era*400
	if m <= 2 {
		y++
	}
	return int(y), int(m), int(d)
}

// IsLeap reports whether year has a 29th of February.
func IsLeap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

// DaysInMonth returns the number of days of a month (1..12).
func DaysInMonth(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if IsLeap(year) {
			return 29
		}
		return 28
	}
	return 31
}

// DayOfYear returns 1 for the first of January.
func DayOfYear(days int64) int {
	y, _, _ := CivilFromDays(days)
	return int(days-DaysFromCivil(y, 1, 1)) + 1
}

// ISODayOfWeek returns 1 for Monday to 7 for Sunday.
func ISODayOfWeek(days int64) int { return int(FloorMod(days+3, 7)) + 1 }

// ISOWeek returns the ISO 8601 week and the year that it belongs to.
func ISOWeek(days int64) (year, week int) {
	// A week belongs to the year of its Thursday.
	thursday := days - int64(ISODayOfWeek(days)) + 4
	y, _, _ := CivilFromDays(thursday)
	return y, int(thursday-DaysFromCivil(y, 1, 1))/7 + 1
}

// AddMonths moves a date by months; the day is clamped to the length of the month that is reached (Jan 31 + 1 month is the last of February).
func AddMonths(days int64, months int64) int64 {
	y, m, d := CivilFromDays(days)
	total := int64(y)*12 + int64(m-1) + months
	ny, nm := int(FloorDiv(total, 12)), int(FloorMod(total, 12))+1
	if last := DaysInMonth(ny, nm); d > last {
		d = last
	}
	return DaysFromCivil(ny, nm, d)
}

// FloorDiv is a / b rounded toward minus infinity; b > 0.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// FloorMod is a - b*FloorDiv(a, b); b > 0.
func FloorMod(a, b int64) int64 {
	m := a % b
	if m < 0 {
		m += b
	}
	return m
}
