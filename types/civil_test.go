package types

import (
	"testing"
	"time"
)

func TestCivilDays(t *testing.T) {
	// Every day of the years -1 to 10000 in order, against the length of months.
	day := DaysFromCivil(-1, 1, 1)
	for y := -1; y <= 10000; y++ {
		first := day
		for m := 1; m <= 12; m++ {
			for d := 1; d <= DaysInMonth(y, m); d++ {
				if got := DaysFromCivil(y, m, d); got != day {
					t.Fatalf("DaysFromCivil(%d, %d, %d) = %d, want %d", y, m, d, got, day)
				}
				if gy, gm, gd := CivilFromDays(day); gy != y || gm != m || gd != d {
					t.Fatalf("CivilFromDays(%d) = %d-%d-%d, want %d-%d-%d", day, gy, gm, gd, y, m, d)
				}
				if got := DayOfYear(day); got != int(day-first)+1 {
					t.Fatalf("DayOfYear(%d) = %d", day, got)
				}
				day++
			}
		}
	}
	if DaysFromCivil(1970, 1, 1) != 0 {
		t.Error("1970-01-01 is not day 0")
	}
	// Against package time, weeks too.
	for day := int64(-800_000); day < 800_000; day += 13 {
		tm := time.Unix(day*86400, 0).UTC()
		wy, ww := tm.ISOWeek()
		y, w := ISOWeek(day)
		if y != wy || w != ww || ISODayOfWeek(day) != (int(tm.Weekday())+6)%7+1 || DayOfYear(day) != tm.YearDay() {
			t.Fatalf("day %d (%s): week %d of %d, weekday %d", day, tm, w, y, ISODayOfWeek(day))
		}
	}
}

func TestAddMonths(t *testing.T) {
	for _, tt := range []struct {
		from   string
		months int64
		want   string
	}{
		{"2024-01-31", 1, "2024-02-29"}, {"2023-01-31", 1, "2023-02-28"}, {"2024-02-29", 12, "2025-02-28"}, {"2024-03-31", -1, "2024-02-29"},
		{"1970-01-15", -1, "1969-12-15"}, {"2024-12-01", 1, "2025-01-01"}, {"2024-05-10", 0, "2024-05-10"}, {"0001-01-01", -13, "-0001-12-01"},
	} {
		d, err := ParseDate([]byte(tt.from))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(AppendDate(nil, int32(AddMonths(int64(d), tt.months)))); got != tt.want {
			t.Errorf("%s + %d months = %s, want %s", tt.from, tt.months, got, tt.want)
		}
	}
}

func TestFloor(t *testing.T) {
	for _, tt := range [][4]int64{{7, 3, 2, 1}, {-7, 3, -3, 2}, {-6, 3, -2, 0}, {0, 3, 0, 0}, {-1, 10, -1, 9}} {
		if FloorDiv(tt[0], tt[1]) != tt[2] || FloorMod(tt[0], tt[1]) != tt[3] {
			t.Error(tt, FloorDiv(tt[0], tt[1]), FloorMod(tt[0], tt[1]))
		}
	}
}
