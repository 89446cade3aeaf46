package op

import (
	"testing"
	"time"

	"github.com/weir-sql/weir/exec/stream"
)

func instant(t *testing.T, s string) stream.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return stream.Time(v.UnixMicro())
}

// TestWindowsInZone: reference 2.8. A window over the hour that comes twice has both; one that ends in a gap closes at the first instant behind it.
func TestWindowsInZone(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	w := newWindows(Window{Kind: Tumble, Size: 3600_000_000, LTZ: true, Precision: 3}, zone)
	for _, c := range []struct{ row, closes string }{
		{"2024-11-03T00:30:00-04:00", "2024-11-03T00:59:59.999-04:00"},
		{"2024-11-03T01:00:00-04:00", "2024-11-03T01:59:59.999-05:00"}, // the first pass
		{"2024-11-03T01:59:59-05:00", "2024-11-03T01:59:59.999-05:00"}, // the second
		{"2024-11-03T02:00:00-05:00", "2024-11-03T02:59:59.999-05:00"},
		{"2024-03-10T01:30:00-05:00", "2024-03-10T01:59:59.999-05:00"}, // 2:00 to 3:00 is left out
		{"2024-03-10T03:00:00-04:00", "2024-03-10T03:59:59.999-04:00"},
	} {
		end := w.sliceEnd(w.wall(int64(instant(t, c.row))))
		if got, want := w.firesAt(end), instant(t, c.closes); got != want {
			t.Errorf("row %s: closes at %d, want %d", c.row, got, want)
		}
	}
	half := newWindows(Window{Kind: Tumble, Size: 5400_000_000, LTZ: true, Precision: 3}, zone) // 1:30 to 3:00 ends behind the gap
	end := half.sliceEnd(half.wall(int64(instant(t, "2024-03-10T01:45:00-05:00"))))
	if got, want := half.firesAt(end), instant(t, "2024-03-10T03:00:00-04:00"); got != want {
		t.Errorf("window that ends in the gap: closes at %d, want %d", got, want)
	}
	// What is on time is in no closed window: every minute of both days, whatever the watermark just before it.
	for _, day := range []string{"2024-11-03T00:00:00-04:00", "2024-03-10T00:00:00-05:00"} {
		at := instant(t, day)
		for range 26 * 60 {
			for _, w := range []*windows{w, half} {
				end := w.sliceEnd(w.wall(int64(at)))
				if w.firesAt(end) < at {
					t.Fatalf("a row at %d is in a window that closed at %d", at, w.firesAt(end))
				}
			}
			at = at.Add(60_000_000)
		}
	}
}

func TestWindowEnds(t *testing.T) {
	const s = 1_000_000
	hop := newWindows(Window{Kind: Hop, Size: 10 * s, Step: 5 * s, Precision: 3}, time.UTC)
	cum := newWindows(Window{Kind: Cumulate, Size: 30 * s, Step: 10 * s, Offset: 5 * s, Precision: 3}, time.UTC)
	for _, c := range []struct {
		w                                *windows
		time, slice, last, start, before int64
		open                             int64 // first open window at watermark before; 0: none
	}{
		{hop, 7 * s, 10 * s, 15 * s, 0, 9999 * s / 1000, 15 * s},
		{hop, 7 * s, 10 * s, 15 * s, 0, 9998 * s / 1000, 10 * s},
		{hop, 7 * s, 10 * s, 15 * s, 0, 15 * s, 0},
		{hop, -1, 0, 5 * s, -10 * s, -2 * s, 0},
		{cum, 7 * s, 15 * s, 35 * s, 5 * s, 14999 * s / 1000, 25 * s},
		{cum, -1 * s, 5 * s, 5 * s, -25 * s, 4 * s, 5 * s},
	} {
		end := c.w.sliceEnd(c.time)
		if end != c.slice || c.w.lastEnd(end) != c.last || c.w.start(end) != c.start {
			t.Errorf("time %d: slice %d, last window %d, start %d; want %d %d %d", c.time, end, c.w.lastEnd(end), c.w.start(end), c.slice, c.last, c.start)
		}
		open, ok := c.w.firstOpen(end, stream.Time(c.before))
		if want := c.open; c.time == -1 && c.before == -2*s {
			if !ok || open != 0 {
				t.Errorf("time -1: first open window %d, %t", open, ok)
			}
		} else if ok != (want != 0) || ok && open != want {
			t.Errorf("time %d at watermark %d: first open window %d, %t; want %d", c.time, c.before, open, ok, want)
		}
	}
}
