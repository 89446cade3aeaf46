package types

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones must be there on machines without a zone database
)

var offsetZone = regexp.MustCompile(`^(?:UTC|GMT|UT)?([+-])(?:(\d{1,2})|(\d{2}):?(\d{2})(?::?(\d{2}))?)$`)

// LoadZone returns the time zone called name: a region of the IANA database ('Europe/Berlin'), 'UTC', 'Z', or a fixed offset from UTC ('+08:00', '-5',
// 'GMT+8', 'UTC-03:30', at most 18 hours). Names are case-sensitive as in Java. The database is linked into the program.
func LoadZone(name string) (*time.Location, error) {
	switch name {
	case "UTC", "Z", "GMT", "UT", "Etc/UTC":
		return time.UTC, nil
	case "", "Local": // time.LoadLocation would take these for UTC and the machine's zone
		return nil, fmt.Errorf("unknown time zone '%s': give a name such as 'Europe/Berlin', 'UTC' or '+02:00'", name)
	}
	if m := offsetZone.FindStringSubmatch(name); m != nil {
		h, _ := strconv.Atoi(m[2] + m[3]) // one of the two
		mi, _ := strconv.Atoi(m[4])
		s, _ := strconv.Atoi(m[5])
		secs := h*3600 + mi*60 + s
		if mi > 59 || s > 59 || secs > 18*3600 {
			return nil, fmt.Errorf("time zone offset '%s' is out of range: at most 18:00", name)
		}
		if m[1] == "-" {
			secs = -secs
		}
		if secs == 0 {
			return time.UTC, nil
		}
		return time.FixedZone(name, secs), nil
	}
	if strings.HasPrefix(name, "/") || strings.Contains(name, "..") {
		return nil, fmt.Errorf("unknown time zone '%s'", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone '%s': give a name such as 'Europe/Berlin', 'UTC' or '+02:00'", name)
	}
	return loc, nil
}

// Overlap says which instant a wall clock time stands for that occurs twice, and what becomes of one that never occurs.
type Overlap uint8

const (
	// CastRule is that of CAST(TIMESTAMP AS TIMESTAMP_LTZ) (Java's LocalDateTime.atZone): the earlier of two instants; a time in a gap moves
	// forward by the length of the gap.
	CastRule Overlap = iota
	// WindowRule is that of window ends: the later of two instants, so that a window covers both; a time in a gap is the first instant behind it.
	WindowRule
)

// ToWall converts an instant (microseconds) to the wall clock of zone (microseconds, as if UTC).
func ToWall(us int64, zone *time.Location) int64 {
	if zone == time.UTC {
		return us
	}
	return us + offsetAt(FloorDiv(us, MicrosPerSecond), zone)*MicrosPerSecond
}

// FromWall converts a wall clock (microseconds, as if UTC) of zone to the instant, by rule where there are two or none.
func FromWall(wall int64, zone *time.Location, rule Overlap) int64 {
	if zone == time.UTC {
		return wall
	}
	s, _ := wallSeconds(FloorDiv(wall, MicrosPerSecond), zone, rule)
	if s.gapEnd {
		return s.sec * MicrosPerSecond // the first instant behind the gap, whatever the fraction was
	}
	return s.sec*MicrosPerSecond + FloorMod(wall, MicrosPerSecond)
}

type wallResult struct {
	sec    int64
	gapEnd bool
}

// wallSeconds finds the instant whose wall clock is wall, and the offset that it used.
func wallSeconds(wall int64, zone *time.Location, rule Overlap) (wallResult, int64) {
	// Every offset is less than a day, so the instant lies within a day of wall, and one of the zones in force there applies. Zones do not change
	// twice within two days except in a handful of historic cases; walk all periods in between.
	lo, hi := wall-86400, wall+86400
	var found []int64
	at := lo
	for {
		_, end, off := boundsAt(at, zone)
		inst := wall - off
		if inst >= at && inst < end {
			found = append(found, inst)
		}
		if end > hi {
			break
		}
		at = end
	}
	switch {
	case len(found) > 0 && rule == WindowRule:
		i := found[len(found)-1]
		return wallResult{sec: i}, wall - i
	case len(found) > 0:
		return wallResult{sec: found[0]}, wall - found[0]
	}
	// A gap: find the transition whose skipped wall clocks contain wall.
	at = lo
	for {
		_, end, off := boundsAt(at, zone)
		if end > hi {
			break // cannot happen: a wall clock is in a period or in a gap between two
		}
		_, _, next := boundsAt(end, zone)
		if wall >= end+off && wall < end+next {
			if rule == WindowRule {
				return wallResult{sec: end, gapEnd: true}, next
			}
			return wallResult{sec: wall - off}, off // forward by the length of the gap: the offset before it
		}
		at = end
	}
	off := offsetAt(wall, zone)
	return wallResult{sec: wall - off}, off
}

func offsetAt(sec int64, zone *time.Location) int64 {
	_, off := time.Unix(sec, 0).In(zone).Zone()
	return int64(off)
}

// boundsAt returns the period [start, end) around the instant sec in which the offset does not change, and the offset.
func boundsAt(sec int64, zone *time.Location) (start, end, off int64) {
	t := time.Unix(sec, 0).In(zone)
	_, o := t.Zone()
	s, e := t.ZoneBounds()
	start, end = math.MinInt64, math.MaxInt64
	if !s.IsZero() {
		start = s.Unix()
	}
	if !e.IsZero() {
		end = e.Unix()
	}
	if end <= sec || start > sec {
		// Go's ZoneBounds is a day short on the 31st of December of leap years behind the last listed transition (2037). No zone changes then.
		start = sec - FloorMod(sec, 86400)
		end = start + 86400
	}
	return start, end, int64(o)
}

// ZoneConv converts between instants and the wall clock of one zone and remembers the period it was in last, so that runs of near times cost a
// comparison. It is not safe for use by several goroutines at once.
type ZoneConv struct {
	zone       *time.Location
	start, end int64 // seconds; the period [start, end) has offset off
	off        int64
	wallLo     int64 // wall clocks in [wallLo, wallHi) are of this period and of no other
	wallHi     int64
}

// NewZoneConv returns a converter for zone.
func NewZoneConv(zone *time.Location) *ZoneConv {
	c := &ZoneConv{zone: zone}
	if zone == time.UTC {
		c.start, c.end, c.wallLo, c.wallHi = math.MinInt64, math.MaxInt64, math.MinInt64, math.MaxInt64
	}
	return c
}

// Zone returns the zone.
func (c *ZoneConv) Zone() *time.Location { return c.zone }

// ToWall is as the function ToWall.
func (c *ZoneConv) ToWall(us int64) int64 {
	sec := FloorDiv(us, MicrosPerSecond)
	if sec < c.start || sec >= c.end {
		c.enter(sec)
	}
	return us + c.off*MicrosPerSecond
}

// FromWall is as the function FromWall.
func (c *ZoneConv) FromWall(wall int64, rule Overlap) int64 {
	sec := FloorDiv(wall, MicrosPerSecond)
	if sec >= c.wallLo && sec < c.wallHi {
		return wall - c.off*MicrosPerSecond
	}
	us := FromWall(wall, c.zone, rule)
	c.enter(FloorDiv(us, MicrosPerSecond))
	return us
}

func (c *ZoneConv) enter(sec int64) {
	c.start, c.end, c.off = boundsAt(sec, c.zone)
	// A day at either end may overlap with the neighbouring periods.
	c.wallLo, c.wallHi = math.MinInt64, math.MaxInt64
	if c.start != math.MinInt64 {
		c.wallLo = c.start + 2*86400
	}
	if c.end != math.MaxInt64 {
		c.wallHi = c.end - 2*86400
	}
}
