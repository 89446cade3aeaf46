package task

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/stream"
)

func timeText(t stream.Time) string {
	switch t {
	case stream.MinTime:
		return "-"
	case stream.MaxTime:
		return "end"
	}
	return strconv.FormatInt(int64(t), 10)
}

// TestCombiner runs scripts: "0:5" input 0 speaks with watermark 5, "0:-" it speaks without one, "0i" goes idle, "01i" both do at once, "01w" both wake
// up at once, "0~5" it says 5 without waking up, "0f" finishes, "+" adds an input.
// After each step the combined watermark is written down, with "~" behind it while all inputs are idle.
func TestCombiner(t *testing.T) {
	tests := []struct {
		name   string
		inputs int
		script string
		want   string
	}{
		{"one input", 1, "0:5 0:7 0:6 0f", "5 7 7 end"},
		{"minimum of two", 2, "0:5 1:3 1:9 0:6", "- 3 5 6"},
		{"silent input holds at minus infinity", 2, "0:5 0:50 1:-", "- - -"},
		{"idle input has no say", 2, "0:5 1i 0:8 1:6 1:9", "- 5 8 8 8"},
		{"wakes up behind: held until caught up", 2, "0:5 1i 0:20 1:7 0:30 1:19 1:25", "- 5 20 20 20 20 25"},
		{"wakes up without a watermark", 2, "0:5 1i 0:20 1:- 0:30 1:22", "- 5 20 20 20 22"},
		{"all idle: the watermark stays", 2, "0:5 1:9 0i 1i 0:6 0:7", "- 5 9 9~ 9 9"},
		{"all idle, the slower one first: the other had a say in between", 2, "0:5 1:9 0i 1i 1:7", "- 5 9 9~ 9"},
		{"all idle at once: the watermark stays", 2, "0:5 1:9 01i 0:6 1:7", "- 5 5~ 6 6"},
		{"some idle at once", 3, "0:5 1:9 2:7 02i 1:8 1:10", "- - 5 9 9 10"},
		{"idle without a watermark", 2, "0i 1i 0:5 1:3 1:6", "- -~ 5 5 5"},
		{"idle again behind", 2, "0:5 1:9 1i 0:20 1:10 1i 0:21", "- 5 5 20 20 20 21"},
		{"woken up at once: the faster one alone does not lift it", 2, "0:9 1:5 01i 01w 1:6", "- 5 5~ 5 6"},
		{"a finished one is not woken up", 2, "0:5 1:9 0f 1i 01w 1:10", "- 5 9 9~ 9 10"},
		{"said without waking up", 2, "0:5 1:9 0i 0~30 1:12 1i 0:- 1:40", "- 5 9 9 12 12~ 30 30"},
		{"said by one that is awake", 2, "0:5 1:9 0~7", "- 5 7"},
		{"finished is absent", 2, "0:5 1:9 0f 1:10 1f", "- 5 9 10 end"},
		{"finished and the rest idle is not the end", 2, "0:5 1:3 0f 1i 1:4 1f", "- 3 3 3~ 4 end"},
		{"finished before it spoke", 3, "0:5 1:6 2f 0f 1f", "- - 5 6 end"},
		{"idle finishes", 2, "0:5 1:6 1i 1f 0f", "- 5 5 5 end"},
		{"finished does not speak", 2, "0:5 1f 1:3 0:6", "- 5 5 6"},
		{"new input never steps back", 1, "0:5 + 0:9 1:3 1:8", "5 5 5 5 8"},
		{"new input after the end stays at the end", 1, "0:5 0f + 1:3", "5 end end end"},
		{"negative times", 2, "0:-5 1:-9 1:-1", "- -9 -5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c Combiner
			if c.Combined() != stream.MinTime || c.AllFinished() || c.AllIdle() {
				t.Fatal("the empty combiner has a watermark")
			}
			for range tt.inputs {
				c.Add()
			}
			var got []string
			for _, step := range strings.Fields(tt.script) {
				switch {
				case step == "+":
					c.Add()
				case strings.HasSuffix(step, "i"), strings.HasSuffix(step, "w"):
					var all []int
					for _, d := range strings.TrimRight(step, "iw") {
						all = append(all, int(d-'0'))
					}
					if strings.HasSuffix(step, "i") {
						c.Idle(all...)
					} else {
						c.Wake(all...)
					}
				case step[1] == '~':
					n, err := strconv.ParseInt(step[2:], 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					c.Note(int(step[0]-'0'), stream.Time(n))
				case strings.HasSuffix(step, "f"):
					c.Finish(int(step[0] - '0'))
				default:
					wm := stream.MinTime
					if v := step[2:]; v != "-" {
						n, err := strconv.ParseInt(v, 10, 64)
						if err != nil {
							t.Fatal(err)
						}
						wm = stream.Time(n)
					}
					i := int(step[0] - '0')
					before := c.Combined()
					others := c.Others(i)
					fin := c.State(i) == Finished
					c.Advance(i, wm)
					if want := max(before, min(c.Mark(i), others)); !fin && c.Combined() != want {
						t.Errorf("%s: combined %s, by Others %s", step, timeText(c.Combined()), timeText(want))
					}
				}
				s := timeText(c.Combined())
				if c.AllIdle() {
					s += "~"
				}
				got = append(got, s)
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("got  %s\nwant %s", s, tt.want)
			}
		})
	}
}

// heard notes what a consumer gets.
type heard struct{ got []string }

func (h *heard) batch(_ context.Context, _ int, b stream.Batch) error {
	b.Release()
	return nil
}
func (h *heard) watermark(_ context.Context, wm stream.Time) error {
	h.got = append(h.got, timeText(wm))
	return nil
}
func (h *heard) end(context.Context, int) error {
	h.got = append(h.got, "end")
	return nil
}

// TestWatermarkGoesOnWhenItGrows: to every consumer, and once; infinity comes with the end.
func TestWatermarkGoesOnWhenItGrows(t *testing.T) {
	ctx := context.Background()
	a, b := &heard{}, &heard{}
	f := newFanout([]receiver{a, b})
	for _, wm := range []stream.Time{stream.MinTime, -3, -3, 5, 4, 5, 6, stream.MaxTime} {
		if err := f.watermark(ctx, wm); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.end(ctx, 0); err != nil {
		t.Fatal(err)
	}
	for _, h := range []*heard{a, b} {
		if got := strings.Join(h.got, " "); got != "-3 5 6 end" {
			t.Error(got)
		}
	}
}

// TestWatermarkToAllPartitions: an exchange tells every partition, also those that get no row.
func TestWatermarkToAllPartitions(t *testing.T) {
	ctx := context.Background()
	c := &chain{job: &Job{o: Options{Clock: NewVirtualClock(time.UnixMilli(0))}}}
	w := newWriter(c, &Exchange{Keys: []int{0}})
	var boxes []*inbox
	var channels []*channel
	for range 3 {
		box := newInbox(make(chan struct{}, 1), exec.NewAccount("x", nil), 10)
		boxes, channels = append(boxes, box), append(channels, box.add(0))
	}
	w.connect(channels)
	for _, f := range []func() error{
		func() error { return w.watermark(ctx, 5) }, func() error { return w.phase(ctx, "s", 1) }, func() error { return w.phase(ctx, "s", 2) },
		func() error { return w.watermark(ctx, 7) }, func() error { return w.end(ctx, 0) },
	} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	for _, ch := range channels {
		var got []string
		for _, e := range ch.queue {
			switch e.Kind {
			case stream.EventWatermark:
				got = append(got, timeText(e.Watermark))
			case stream.EventIdle:
				got = append(got, fmt.Sprintf("%s %d", e.Source, e.Phase))
			case stream.EventEnd:
				got = append(got, "end")
			}
		}
		if s := strings.Join(got, " "); s != "5 s 1 s 2 7 end" {
			t.Error(s)
		}
	}
	for _, box := range boxes {
		box.close()
	}
}
