package op

import (
	"math"
	"sort"
	"time"

	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// WindowKind says how rows fall into windows.
type WindowKind uint8

// The kinds of windows.
const (
	Tumble WindowKind = iota
	Hop
	Cumulate
)

// Window describes the windows of an operator. All lengths are microseconds.
type Window struct {
	Kind WindowKind
	// Size is the length of a window (of the last one, for CUMULATE); a multiple of Step.
	Size int64
	// Step is the slide of HOP and the step of CUMULATE; not used for TUMBLE.
	Step int64
	// Offset shifts the grid.
	Offset int64
	// Precision is that of the time column: windows close one millisecond before their end for 0 to 3, one microsecond for 4 to 6.
	Precision int
	// LTZ says that the time column is a TIMESTAMP_LTZ: windows follow the wall clock of the session zone.
	LTZ bool
}

// WindowProperty is a column that a window operator adds.
type WindowProperty uint8

// The window columns.
const (
	WindowStart WindowProperty = iota // TIMESTAMP(3), wall clock
	WindowEnd                         // TIMESTAMP(3), wall clock
	WindowTime                        // the last instant of the window, of the kind of the time column
)

// windows computes with a Window. Times are wall clock microseconds (those of the column itself for TIMESTAMP), except where they are stream.Time.
//
// A slice is the longest span whose rows are in the same windows; slices and windows go by their ends.
type windows struct {
	Window
	step int64
	unit int64
	conv *types.ZoneConv // nil: no zone
}

func newWindows(w Window, zone *time.Location) *windows {
	s := &windows{Window: w, step: w.Step, unit: types.MicrosPerMilli}
	if w.Kind == Tumble {
		s.step = w.Size
	}
	if w.Precision > 3 {
		s.unit = 1
	}
	if w.LTZ && zone != nil && zone != time.UTC {
		s.conv = types.NewZoneConv(zone)
	}
	return s
}

// wall is the wall clock of an instant.
func (w *windows) wall(t int64) int64 {
	if w.conv != nil {
		return w.conv.ToWall(t)
	}
	return t
}

// instant is the event time of a wall clock time.
func (w *windows) instant(wall int64) stream.Time {
	if w.conv != nil {
		return stream.Time(w.conv.FromWall(wall, types.WindowRule))
	}
	return stream.Time(wall)
}

// sliceEnd is the end of the slice of a wall clock time.
func (w *windows) sliceEnd(wall int64) int64 {
	return wall - types.FloorMod(wall-w.Offset, w.step) + w.step
}

// lastEnd is the end of the last window with the slice.
func (w *windows) lastEnd(sliceEnd int64) int64 {
	switch w.Kind {
	case Hop:
		return sliceEnd - w.step + w.Size
	case Cumulate:
		return w.start(sliceEnd) + w.Size
	}
	return sliceEnd
}

// start is the start of the window that ends at end.
func (w *windows) start(end int64) int64 {
	if w.Kind == Cumulate {
		s := end - w.step
		return s - types.FloorMod(s-w.Offset, w.Size)
	}
	return end - w.Size
}

// firesAt is the watermark that closes the window that ends at end; it is also the window's window_time.
func (w *windows) firesAt(end int64) stream.Time { return w.instant(end - w.unit) }

// firstOpen is the end of the first window with the slice that a watermark has not closed; false when there is none.
func (w *windows) firstOpen(sliceEnd int64, wm stream.Time) (int64, bool) {
	n := int((w.lastEnd(sliceEnd)-sliceEnd)/w.step) + 1
	k := sort.Search(n, func(k int) bool { return w.firesAt(sliceEnd+int64(k)*w.step) > wm })
	return sliceEnd + int64(k)*w.step, k < n
}

// inRange reports whether windows around a time can be computed without overflow; times outside are some 290,000 years away.
func (w *windows) inRange(t int64) bool {
	const far = math.MaxInt64/2 - 1
	return t > -far && t < far
}
