package task

import (
	"fmt"
	"testing"
	"time"

	"github.com/weir-sql/weir/exec/stream"
)

// TestAllowed computes what a group allows, without tasks: each step moves the clock, publishes, or looks.
func TestAllowed(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	start := time.UnixMilli(0).UTC()
	type step struct {
		at     time.Duration // the clock
		member int
		split  int
		mark   *mark // published, when set
		want   stream.Time
		update int64 // number of the last update
	}
	at := func(wm stream.Time) *mark { return &mark{watermark: wm} }
	const none = stream.MaxTime
	second := []Alignment{{"g", 10 * us, time.Second}, {"g", 100 * us, time.Second}}
	for _, tt := range []struct {
		name    string
		sources []Alignment
		steps   []step
	}{
		{"nothing before the first update", second[:1], []step{{at: 0, mark: at(5), want: none}, {at: 999 * ms, want: none}, {at: 1000 * ms, want: 15, update: 1}}},
		{"the minimum of all splits", second[:1], []step{{at: 0, split: 0, mark: at(50), want: none}, {at: 0, split: 1, mark: at(7), want: none}, {at: time.Second, want: 17, update: 1}}},
		{"sticky until the next update", second[:1], []step{{at: 0, mark: at(5), want: none}, {at: time.Second, want: 15, update: 1}, {at: 1500 * ms, mark: at(100), want: 15, update: 1},
			{at: 1999 * ms, want: 15, update: 1}, {at: 2 * time.Second, want: 110, update: 2}}},
		{"drift is each source's own", second, []step{{at: 0, member: 0, mark: at(5), want: none}, {at: 0, member: 1, mark: at(40), want: none}, {at: time.Second, member: 0, want: 15, update: 1},
			{at: time.Second, member: 1, want: 105, update: 1}}},
		{"one look updates all that are due", second, []step{{at: 0, member: 0, mark: at(5), want: none}, {at: time.Second, member: 1, want: 105, update: 1},
			{at: 1200 * ms, member: 0, mark: at(9), want: 15, update: 1}}},
		{"each source has its interval", []Alignment{{"g", 10 * us, time.Second}, {"g", 10 * us, 3 * time.Second}}, []step{{at: 0, member: 0, mark: at(5), want: none},
			{at: time.Second, member: 0, want: 15, update: 1}, {at: time.Second, member: 1, want: none}, {at: 3 * time.Second, member: 0, want: 15, update: 2},
			{at: 3 * time.Second, member: 1, want: 15, update: 1}}},
		{"other groups do not matter", []Alignment{{"g", 10 * us, time.Second}, {"h", 10 * us, time.Second}}, []step{{at: 0, member: 1, mark: at(5), want: none},
			{at: 0, member: 0, mark: at(70), want: none}, {at: time.Second, member: 0, want: 80, update: 1}, {at: time.Second, member: 1, want: 15, update: 1}}},
		{"no watermark yet: no say", second[:1], []step{{at: 0, split: 0, mark: at(stream.MinTime), want: none}, {at: 0, split: 1, mark: at(30), want: none}, {at: time.Second, want: 40, update: 1}}},
		{"nobody has a watermark", second[:1], []step{{at: 0, split: 0, mark: at(stream.MinTime), want: none}, {at: time.Second, want: none}}},
		{"idle and ended splits have no say", second[:1], []step{{at: 0, split: 0, mark: &mark{watermark: 1, out: true}, want: none}, {at: 0, split: 1, mark: at(30), want: none},
			{at: time.Second, want: 40, update: 1}, {at: time.Second, split: 1, mark: &mark{watermark: 30, out: true}, want: 40, update: 1}, {at: 2 * time.Second, want: none, update: 2}}},
		{"idle from the instant of the update on", second[:1], []step{{at: 0, split: 0, mark: &mark{watermark: 1, idleAt: start.Add(2 * time.Second)}, want: none},
			{at: 0, split: 1, mark: at(30), want: none}, {at: time.Second, want: 11, update: 1}, {at: 2 * time.Second, want: 40, update: 2}}},
		{"a late look is as of the last due time", second[:1], []step{{at: 0, split: 0, mark: &mark{watermark: 1, idleAt: start.Add(2500 * ms)}, want: none},
			{at: 0, split: 1, mark: at(30), want: none}, {at: 2700 * ms, want: 11, update: 1}, {at: 3 * time.Second, want: 40, update: 2}}},
		{"one that wakes up behind takes it back", second[:1], []step{{at: 0, split: 0, mark: at(50), want: none}, {at: time.Second, want: 60, update: 1},
			{at: time.Second, split: 1, mark: at(5), want: 60, update: 1}, {at: 2 * time.Second, want: 15, update: 2}}},
		{"one that has just been opened is waited for", second[:1], []step{{at: 0, split: 0, mark: at(50), want: none},
			{at: 500 * ms, split: 1, mark: &mark{watermark: stream.MinTime, waitUntil: start.Add(1500 * ms)}, want: none}, {at: time.Second, want: none},
			{at: 1200 * ms, split: 1, mark: &mark{watermark: 7, waitUntil: start.Add(1500 * ms)}, want: none}, {at: 2 * time.Second, want: 17, update: 1}}},
		{"but not for ever", second[:1], []step{{at: 0, split: 0, mark: at(50), want: none},
			{at: 0, split: 1, mark: &mark{watermark: stream.MinTime, waitUntil: start.Add(1500 * ms)}, want: none}, {at: time.Second, want: none}, {at: 2 * time.Second, want: 60, update: 1}}},
		{"no overflow", []Alignment{{"g", 1 << 62, time.Second}}, []step{{at: 0, mark: at(stream.MaxTime - 5), want: none}, {at: time.Second, want: none, update: 1}}},
	} {
		clock := NewVirtualClock(start)
		a := newAligner(clock)
		var members []*member
		for _, s := range tt.sources {
			m := a.join(s, nil)
			a.begin(m)
			members = append(members, m)
		}
		for i, s := range tt.steps {
			clock.now = start.Add(s.at)
			m := members[s.member]
			if s.mark != nil {
				a.publish(m, s.split, *s.mark)
			}
			if allowed, n := a.look(m, 0); allowed != s.want || n != s.update {
				t.Errorf("%s: step %d: %s is allowed after %d updates, want %s after %d", tt.name, i, timeText(allowed), n, timeText(s.want), s.update)
			}
		}
	}
}

// TestBlockedIsNotIdle: the idle clock of a source that waits for its sink stands still, also in the eyes of others.
func TestBlockedIsNotIdle(t *testing.T) {
	clock := NewVirtualClock(time.UnixMilli(0).UTC())
	a := newAligner(clock)
	m := a.join(Alignment{"g", 10 * time.Microsecond, time.Second}, nil)
	other := a.join(Alignment{"g", 10 * time.Microsecond, time.Second}, nil)
	a.begin(m)
	a.begin(other)
	a.publish(m, 0, mark{watermark: 1, idleAt: clock.now.Add(time.Second)})
	a.publish(other, 0, mark{watermark: 50})
	a.setBlocked(m, true)
	clock.now = clock.now.Add(time.Second)
	if allowed, _ := a.look(other, 0); allowed != 11 {
		t.Errorf("%s is allowed while the source is blocked", timeText(allowed))
	}
	a.setBlocked(m, false)
	clock.now = clock.now.Add(time.Second)
	if allowed, _ := a.look(other, 0); allowed != 60 {
		t.Errorf("%s is allowed when it is idle", timeText(allowed))
	}
}

// TestWaitsForSources: as long as a source of the group has not looked at its splits, nobody is allowed more.
func TestWaitsForSources(t *testing.T) {
	clock := NewVirtualClock(time.UnixMilli(0).UTC())
	a := newAligner(clock)
	one := a.join(Alignment{"g", 10 * time.Microsecond, time.Second}, nil)
	two := a.join(Alignment{"g", 10 * time.Microsecond, time.Second}, nil)
	other := a.join(Alignment{"h", 10 * time.Microsecond, time.Second}, nil)
	for _, m := range []*member{one, other} {
		a.begin(m)
		a.publish(m, 0, mark{watermark: 5})
	}
	clock.now = clock.now.Add(time.Second)
	if _, n := a.look(one, 0); n != 0 {
		t.Error("an update before all have begun")
	}
	if _, n := a.look(other, 0); n != 1 {
		t.Error("another group waits")
	}
	a.leave(two) // it may have been at its end in the snapshot
	clock.now = clock.now.Add(time.Second)
	if allowed, n := a.look(one, 0); n != 1 || allowed != 15 {
		t.Errorf("%s is allowed after %d updates", timeText(allowed), n)
	}
}

// TestNextLook: a source looks again for as long as an update can change something, for itself or for others of its group.
func TestNextLook(t *testing.T) {
	clock := NewVirtualClock(time.UnixMilli(0).UTC())
	a := newAligner(clock)
	slow := a.join(Alignment{"g", time.Microsecond, 3 * time.Second}, nil)
	fast := a.join(Alignment{"g", time.Microsecond, time.Second}, nil)
	says := func(when, want string) {
		t.Helper()
		got := "never"
		if at, ok := a.next(slow, slow.paused); ok {
			got = fmt.Sprint(at.Sub(a.start))
		}
		if got != want {
			t.Errorf("%s: looks at %s, want %s", when, got, want)
		}
	}
	says("before anything", "never")
	a.begin(slow)
	a.begin(fast)
	a.publish(slow, 0, mark{watermark: 1})
	says("when something has changed", "1s")
	a.publish(slow, 0, mark{watermark: 1, idleAt: clock.now.Add(time.Hour)})
	clock.now = clock.now.Add(time.Second)
	a.look(fast, 0)
	says("when the other is up to date", "3s")
	clock.now = clock.now.Add(2 * time.Second)
	a.look(slow, 0)
	says("when both are", "never")
	a.look(fast, 1)
	says("while a split is paused", "4s")
	a.leave(fast)
	a.look(fast, 0)
	clock.now = clock.now.Add(3 * time.Second)
	a.look(slow, 0)
	says("when it has left", "never")
}

// TestFreeSources are those that a backfill reads first, behind whatever lies between.
func TestFreeSources(t *testing.T) {
	x := func(id string, bounded bool) *Exchange { return &Exchange{ID: id, Bounded: bounded} }
	a, b, c, d := x("a", true), x("b", true), x("c", false), x("d", false)
	files := &Task{ID: "files", Source: &Source{}, Head: []*Op{{}}, To: []Target{{Exchange: a}}}
	between := &Task{ID: "between", Inputs: []*Exchange{a}, To: []Target{{Op: &Op{Side: map[string][]Target{"late": {{Exchange: b}}}}}}}
	live := &Task{ID: "live", Source: &Source{}, To: []Target{{Exchange: c}}}
	other := &Task{ID: "other", Source: &Source{}, To: []Target{{Exchange: d}}}
	union := &Task{ID: "union", Inputs: []*Exchange{b, c}, BoundedFirst: true}
	plain := &Task{ID: "plain", Inputs: []*Exchange{d}}
	free := freeSources(&Graph{Tasks: []*Task{files, between, live, other, union, plain}})
	for _, tt := range []struct {
		task *Task
		want bool
	}{{files, true}, {live, false}, {other, false}} {
		if free[tt.task] != tt.want {
			t.Errorf("%s: %t", tt.task.ID, free[tt.task])
		}
	}
}
