package types

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestLoadZone(t *testing.T) {
	for name, secs := range map[string]int64{"UTC": 0, "Z": 0, "GMT": 0, "GMT+8": 8 * 3600, "+08:00": 8 * 3600, "-05:30": -(5*3600 + 1800), "UTC-03:30": -(3*3600 + 1800),
		"+5": 5 * 3600, "GMT+0800": 8 * 3600, "+18:00": 18 * 3600, "Asia/Shanghai": 8 * 3600, "Asia/Kolkata": 5*3600 + 1800, "-00:00": 0} {
		z, err := LoadZone(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := ToWall(0, z) / MicrosPerSecond; name != "Asia/Shanghai" && got != secs {
			t.Errorf("%s is %d s from UTC", name, got)
		}
	}
	for _, name := range []string{"", "Local", "Europe/Nowhere", "+19:00", "+05:60", "../etc/passwd", "/etc/passwd", "+123", "utc+", "MEZ+1"} {
		if z, err := LoadZone(name); err == nil {
			t.Errorf("%q is %s", name, z)
		}
	}
}

func us(t testing.TB, s string) int64 {
	t.Helper()
	v, err := ParseTimestamp([]byte(s), 6)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestFromWall(t *testing.T) {
	for _, tt := range []struct {
		zone, wall   string
		cast, window string // instants in UTC
	}{
		{"Europe/Berlin", "2024-01-01 12:00:00", "2024-01-01 11:00:00.000000", ""},
		{"Europe/Berlin", "2024-03-31 01:59:59.999999", "2024-03-31 00:59:59.999999", ""},
		{"Europe/Berlin", "2024-03-31 02:00:00", "2024-03-31 01:00:00.000000", ""},
		// Measured on Flink: a time in the gap moves forward by an hour when it is cast; a window's end is the first instant behind the gap.
		{"Europe/Berlin", "2024-03-31 02:30:00.5", "2024-03-31 01:30:00.500000", "2024-03-31 01:00:00.000000"},
		{"Europe/Berlin", "2024-03-31 03:00:00", "2024-03-31 01:00:00.000000", ""},
		// Of the hour that comes twice a cast takes the first, a window the second.
		{"Europe/Berlin", "2024-10-27 02:30:00", "2024-10-27 00:30:00.000000", "2024-10-27 01:30:00.000000"},
		{"Europe/Berlin", "2024-10-27 03:00:00", "2024-10-27 02:00:00.000000", ""},
		{"Europe/Berlin", "1965-03-02 11:12:13.001", "1965-03-02 10:12:13.001000", ""},
		{"America/New_York", "2024-11-03 01:59:59.999999", "2024-11-03 05:59:59.999999", "2024-11-03 06:59:59.999999"},
		{"America/New_York", "2024-03-10 02:00:00", "2024-03-10 07:00:00.000000", ""},
		// Samoa left out the whole of 2011-12-30.
		{"Pacific/Apia", "2011-12-30 12:00:00", "2011-12-30 22:00:00.000000", "2011-12-30 10:00:00.000000"},
		{"Australia/Lord_Howe", "2024-04-07 01:45:00", "2024-04-06 14:45:00.000000", "2024-04-06 15:15:00.000000"},
		{"Asia/Kolkata", "1969-12-31 23:59:59.9", "1969-12-31 18:29:59.900000", ""},
		{"UTC", "2024-03-31 02:30:00", "2024-03-31 02:30:00.000000", ""},
		{"Europe/Berlin", "2300-07-01 00:00:00", "2300-06-30 22:00:00.000000", ""},
	} {
		z, err := LoadZone(tt.zone)
		if err != nil {
			t.Fatal(err)
		}
		if tt.window == "" {
			tt.window = tt.cast
		}
		c := NewZoneConv(z)
		wall := us(t, tt.wall)
		for _, rule := range []Overlap{CastRule, WindowRule} {
			want := tt.cast
			if rule == WindowRule {
				want = tt.window
			}
			if got := string(AppendTimestamp(nil, FromWall(wall, z, rule), 6)); got != want {
				t.Errorf("FromWall(%s, %s, %d) = %s, want %s", tt.wall, tt.zone, rule, got, want)
			}
			for range 2 {
				if got := string(AppendTimestamp(nil, c.FromWall(wall, rule), 6)); got != want {
					t.Errorf("ZoneConv.FromWall(%s, %s, %d) = %s, want %s", tt.wall, tt.zone, rule, got, want)
				}
			}
		}
	}
}

// TestZoneConv holds the converter that remembers against package time and the plain functions.
func TestZoneConv(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Asia/Tokyo", "Pacific/Apia", "Australia/Lord_Howe", "Africa/Casablanca", "UTC", "+05:30"} {
		z, err := LoadZone(name)
		if err != nil {
			t.Fatal(err)
		}
		c := NewZoneConv(z)
		at := int64(0)
		for i := range 20_000 {
			if i%50 == 0 {
				at = us(t, "1900-01-01 00:00:00") + r.Int64N(200*366*MicrosPerDay)
			}
			at += r.Int64N(2*MicrosPerDay) - MicrosPerDay
			tm := time.UnixMicro(at).In(z)
			_, off := tm.Zone()
			wall := at + int64(off)*MicrosPerSecond
			if got := c.ToWall(at); got != wall || ToWall(at, z) != wall {
				t.Fatalf("%s: wall of %d is %d, want %d", name, at, got, wall)
			}
			first, last := c.FromWall(wall, CastRule), c.FromWall(wall, WindowRule)
			if first != FromWall(wall, z, CastRule) || last != FromWall(wall, z, WindowRule) {
				t.Fatalf("%s: %d: converter and function differ", name, wall)
			}
			if first > at || last < at || c.ToWall(first) != wall || c.ToWall(last) != wall {
				t.Fatalf("%s: wall %d of %d: first %d, last %d", name, wall, at, first, last)
			}
		}
	}
}
