package logical

import (
	"fmt"
	"strings"

	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/types"
)

// WindowKind is the kind of a window function.
type WindowKind uint8

// The window kinds.
const (
	Tumble WindowKind = iota
	Hop
	Cumulate
)

func (k WindowKind) String() string { return [...]string{"TUMBLE", "HOP", "CUMULATE"}[k] }

// Window says which windows a row belongs to. All lengths are in microseconds; Size is a multiple of Slide.
type Window struct {
	Kind WindowKind
	Size int64 // TUMBLE's and HOP's size, CUMULATE's maximum size
	// Slide is HOP's slide and CUMULATE's step; the size for TUMBLE.
	Slide  int64
	Offset int64 // shifts the grid; may be negative
	// TimeColumn is the event time column of the input. It is TIMESTAMP or, when LTZ, TIMESTAMP_LTZ: the windows are then those of the wall clock in the
	// session zone.
	TimeColumn int
	LTZ        bool
	// Proctime: windows of processing time. TimeColumn is then a PROCTIME() column, whose values are ignored.
	Proctime bool
	// Unit is what window_time lies before window_end, and at which watermark (end - Unit) a window fires: 1000 for precision <= 3, 1 for 4 to 6.
	Unit int64
	// Precision is that of window_start, window_end (TIMESTAMP) and window_time (kind of the time column): 3, or that of the time column when it is greater.
	Precision int
	// Attached: the input already has its window in the columns StartColumn and EndColumn (TIMESTAMP(Precision)): each row belongs to that one window
	// only. Kind, Size, Slide and Offset then tell where it came from, for EXPLAIN.
	Attached               bool
	StartColumn, EndColumn int
	// Pos is the place of the window function in the text.
	Pos ast.Pos
}

// StartType is the type of window_start and window_end.
func (w Window) StartType() types.Type { return types.TimestampOf(w.Precision).NotNull() }

// TimeType is the type of window_time: a time attribute of the kind of the time column.
func (w Window) TimeType() types.Type {
	t := types.TimestampOf(w.Precision)
	if w.LTZ {
		t = types.TimestampLTZOf(w.Precision)
	}
	if w.Proctime {
		return t.NotNull().WithAttr(types.Proctime)
	}
	return t.NotNull().WithAttr(types.Rowtime)
}

// Same reports whether two windows cut time in the same way.
func (w Window) Same(v Window) bool {
	return w.Kind == v.Kind && w.Size == v.Size && w.Slide == v.Slide && w.Offset == v.Offset && w.LTZ == v.LTZ && w.Proctime == v.Proctime && w.Unit == v.Unit
}

// Text prints the window as EXPLAIN shows it; timeColumn may be empty.
func (w Window) Text(timeColumn string) string {
	var b strings.Builder
	if w.Attached {
		b.WriteString("ATTACHED ")
	}
	b.WriteString(w.Kind.String() + "(")
	if timeColumn != "" && !w.Attached {
		fmt.Fprintf(&b, "time=%s, ", timeColumn)
	}
	switch w.Kind {
	case Hop:
		fmt.Fprintf(&b, "slide=%s, ", micros(w.Slide))
	case Cumulate:
		fmt.Fprintf(&b, "step=%s, ", micros(w.Slide))
	}
	fmt.Fprintf(&b, "size=%s", micros(w.Size))
	if w.Offset != 0 {
		fmt.Fprintf(&b, ", offset=%s", micros(w.Offset))
	}
	if w.Proctime {
		b.WriteString(", processing time")
	}
	return b.String() + ")"
}

// TextOver prints the window with its time column by name.
func (w Window) TextOver(in types.Schema) string {
	if w.Attached {
		return w.Text("")
	}
	return w.Text(QuoteName(in[w.TimeColumn].Name))
}

func micros(us int64) string { return strings.TrimPrefix(FormatDuration(us), "INTERVAL ") }

// WindowColumn is a property of the window in an aggregate's output.
type WindowColumn uint8

// The window columns.
const (
	WindowStart WindowColumn = iota // first instant, wall clock
	WindowEnd                       // first instant behind, wall clock
	WindowTime                      // end - unit, of the time column's kind, a time attribute
)

func (c WindowColumn) String() string {
	return [...]string{"window_start", "window_end", "window_time"}[c]
}

// WindowOrigin tells which columns of a node's output are the bounds of a window.
type WindowOrigin struct {
	Window           Window
	Start, End, Time map[int]bool
}

// OriginOf finds the window whose bounds a node's output has; nil when there is none. Projections and filters keep it, aggregates per window too.
func OriginOf(n Node) *WindowOrigin {
	switch n := n.(type) {
	case *WindowTableFunction:
		k := len(n.In.Schema())
		return &WindowOrigin{Window: n.Window, Start: map[int]bool{k: true}, End: map[int]bool{k + 1: true}, Time: map[int]bool{k + 2: true}}
	case *Filter:
		return OriginOf(n.In)
	case *Limit:
		return nil
	case *Project:
		o := OriginOf(n.In)
		if o == nil {
			return nil
		}
		p := &WindowOrigin{Window: o.Window, Start: map[int]bool{}, End: map[int]bool{}, Time: map[int]bool{}}
		for i, e := range n.Exprs {
			if c, ok := e.(*Column); ok {
				p.Start[i], p.End[i], p.Time[i] = o.Start[c.Index], o.End[c.Index], o.Time[c.Index]
			}
		}
		return p
	case *Aggregate:
		if n.Window == nil {
			return nil
		}
		o := &WindowOrigin{Window: *n.Window, Start: map[int]bool{}, End: map[int]bool{}, Time: map[int]bool{}}
		for i, w := range n.WindowColumns {
			k := len(n.GroupBy) + len(n.Aggregates) + i
			switch w {
			case WindowStart:
				o.Start[k] = true
			case WindowEnd:
				o.End[k] = true
			case WindowTime:
				o.Time[k] = true
			}
		}
		return o
	case *Expand:
		o := OriginOf(n.In)
		if o == nil {
			return nil
		}
		p := &WindowOrigin{Window: o.Window, Start: map[int]bool{}, End: map[int]bool{}, Time: map[int]bool{}}
		for i := range n.Columns {
			first, ok := n.Projects[0][i].(*Column)
			for _, set := range n.Projects[1:] {
				c, is := set[i].(*Column)
				ok = ok && is && c.Index == first.Index
			}
			if ok {
				p.Start[i], p.End[i], p.Time[i] = o.Start[first.Index], o.End[first.Index], o.Time[first.Index]
			}
		}
		return p
	case *Union:
		var all *WindowOrigin
		for i, in := range n.Ins {
			o := OriginOf(in)
			if o == nil {
				return nil
			}
			if i == 0 {
				all = o
				continue
			}
			if !all.Window.Same(o.Window) {
				return nil
			}
			and(all.Start, o.Start)
			and(all.End, o.End)
			and(all.Time, o.Time)
		}
		return all
	}
	return nil
}

func and(a, b map[int]bool) {
	for k := range a {
		a[k] = a[k] && b[k]
	}
}
