package task

import (
	"sync"
	"time"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
)

// Alignment says how the splits of a source wait for those of its group: one whose watermark is more than MaxDrift ahead of the lowest in the group is
// paused. What is allowed is found anew every UpdateInterval; in between a split that passes it is paused too, but none is resumed. Before the first update
// a split may go MaxDrift beyond its own first watermark. All sources of a job that name the same Group are in it; drift and interval are each source's own.
type Alignment struct {
	Group          string
	MaxDrift       time.Duration
	UpdateInterval time.Duration
}

func (a Alignment) on() bool { return a.Group != "" && a.MaxDrift > 0 && a.UpdateInterval > 0 }

// AlignmentStats tells how alignment treats a split.
type AlignmentStats struct {
	Group string
	// Limit is the watermark behind which the split is paused.
	Limit stream.Time
	// WaitUntil is until when the group waits for its first watermark; zero for a split that has not been opened.
	WaitUntil time.Time
	// Paused says that the split is not read now.
	Paused bool
	// Drift is how far its watermark is ahead of the lowest in the group (alignmentDriftFromGroupMin); 0 while it has none or has ended, or the group has none.
	Drift time.Duration
	// Pauses counts how often it was paused (numberOfAlignmentPauseEvents), PausedFor how long in all, the pause under way included
	// (accumulatedPauseDuration).
	Pauses    int64
	PausedFor time.Duration
}

// aligner has the alignment groups of one job. It has no goroutine: the sources publish where their splits are, and the first of them that looks at or
// behind a due time makes the update for all of which one is due, before it reads anything. So an update sees what was before that instant, whichever
// source comes first.
type aligner struct {
	clock   connectors.Clock
	mu      sync.Mutex
	start   time.Time
	members []*member
}

// member is a source in its group. The aligner's mu guards it.
type member struct {
	spec    Alignment
	group   *group
	marks   []mark
	allowed stream.Time // highest watermark that is read on from; MaxTime before the first update
	due     time.Time   // of the next update
	updates int64
	version int64  // of the group at the last update
	paused  int    // splits that are
	begun   bool   // all its splits have been looked at once
	blocked bool   // the source waits for whoever takes its rows: the idle clocks stand still
	wake    func() // has the source look
}

// group is what the members that name it share.
type group struct{ version int64 }

// mark is where one split is.
type mark struct {
	watermark stream.Time // MinTime: it has none yet
	out       bool        // idle or at its end: it has no say
	idleAt    time.Time   // when it will be idle unless a row comes; zero for never
	waitUntil time.Time   // until when its first watermark is waited for
}

// What the others may do depends on where a split begins that has just been opened. A bounded one is waited for, since it gives a row or ends; another one
// until it counts as idle, or for alignmentGrace where no split does.
const (
	alignmentGrace = time.Second
	forEver        = 100 * 365 * 24 * time.Hour
)

func newAligner(clock connectors.Clock) *aligner { return &aligner{clock: clock, start: clock.Now()} }

// join adds a source.
func (a *aligner) join(spec Alignment, wake func()) *member {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := &member{spec: spec, allowed: stream.MaxTime, due: a.start.Add(spec.UpdateInterval), wake: wake}
	for _, o := range a.members {
		if o.spec.Group == spec.Group {
			m.group = o.group
		}
	}
	if m.group == nil {
		m.group = &group{}
	}
	a.members = append(a.members, m)
	return m
}

// restore puts back what a snapshot has. A due time that has passed meanwhile is none: the other sources have to begin first.
func (a *aligner) restore(m *member, allowed stream.Time, due time.Time, updates int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m.allowed, m.updates = allowed, updates
	if now := a.clock.Now(); due.After(now) {
		m.due = due
	} else {
		m.due = now.Add(m.spec.UpdateInterval)
	}
}

// begin says that m has looked at all its splits once: what it does not know of them now has to come.
func (a *aligner) begin(m *member) {
	a.mu.Lock()
	m.begun = true
	m.group.version++
	a.mu.Unlock()
}

// publish says where split i of m is.
func (a *aligner) publish(m *member, i int, at mark) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(m.marks) <= i {
		m.marks = append(m.marks, mark{watermark: stream.MinTime})
	}
	if old := m.marks[i]; old.watermark != at.watermark || old.out != at.out || old.waitUntil != at.waitUntil {
		m.group.version++
	}
	m.marks[i] = at
}

// leave takes m's splits out: nothing more is read of them.
func (a *aligner) leave(m *member) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m.group.version++
	m.begun, m.paused = true, 0
	for i := range m.marks {
		m.marks[i].out = true
	}
}

func (a *aligner) setBlocked(m *member, blocked bool) {
	a.mu.Lock()
	m.blocked = blocked
	a.mu.Unlock()
}

// look makes the updates that are due, and returns what m is allowed and the number of its last update.
func (a *aligner) look(m *member, paused int) (allowed stream.Time, updates int64) {
	now := a.clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	m.paused = paused
	for _, o := range a.members {
		if now.Before(o.due) {
			continue
		}
		// The update is as of the last due time that has come, whenever somebody looks.
		at := o.due.Add(now.Sub(o.due) / o.spec.UpdateInterval * o.spec.UpdateInterval)
		o.due = at.Add(o.spec.UpdateInterval)
		if a.waits(o.group, at) {
			continue // all stays as it was
		}
		o.allowed, o.version = allowedAt(a.lowest(o.group, at), o.spec.MaxDrift), o.group.version
		o.updates++
		if o != m && o.paused > 0 && o.wake != nil {
			o.wake()
		}
	}
	return m.allowed, m.updates
}

// next returns when m has to look again, for itself or for others of its group; false when no update would change anything.
func (a *aligner) next(m *member, paused int) (at time.Time, some bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m.paused = paused
	for _, o := range a.members {
		if o.group == m.group && (o.paused > 0 || o.version != o.group.version) && (!some || o.due.Before(at)) {
			at, some = o.due, true
		}
	}
	return at, some
}

// stateOf returns what a snapshot of m has.
func (a *aligner) stateOf(m *member) (allowed stream.Time, due time.Time, updates int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return m.allowed, m.due, m.updates
}

// groupMin returns the lowest watermark of m's group now; false when no split has a say.
func (a *aligner) groupMin(m *member) (stream.Time, bool) {
	now := a.clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	low := a.lowest(m.group, now)
	return low, low != stream.MaxTime
}

// waits reports that it is not known yet where all splits of the group begin.
func (a *aligner) waits(g *group, at time.Time) bool {
	some := false
	for _, m := range a.members {
		if m.group != g {
			continue
		}
		if !m.begun {
			return true
		}
		for _, k := range m.marks {
			if !k.out && k.watermark == stream.MinTime && at.Before(k.waitUntil) {
				return true
			}
			some = some || k.watermark != stream.MinTime
		}
	}
	return !some
}

// lowest is the lowest watermark of a group's splits at an instant, MaxTime when none has a say: those that are idle or at their end have none, and those
// that have no watermark yet neither, or a split that never gets a row would hold all others for ever.
func (a *aligner) lowest(g *group, at time.Time) stream.Time {
	low := stream.MaxTime
	for _, m := range a.members {
		if m.group == g {
			low = min(low, m.lowest(at))
		}
	}
	return low
}

func (m *member) lowest(at time.Time) stream.Time {
	low := stream.MaxTime
	for _, k := range m.marks {
		idle := !k.idleAt.IsZero() && !at.Before(k.idleAt) && !m.blocked
		if !k.out && !idle && k.watermark != stream.MinTime {
			low = min(low, k.watermark)
		}
	}
	return low
}

// allowedAt is the highest watermark that may be read on from when lowest is that of the group.
func allowedAt(lowest stream.Time, drift time.Duration) stream.Time {
	return lowest.Add(drift.Microseconds())
}

// freeSources are the sources that a backfill reads first: their rows are waited for while others are held back, so that alignment must not pause them.
func freeSources(g *Graph) map[*Task]bool {
	inputs := map[string][]ExchangeShape{}
	for _, s := range g.shape() {
		inputs[s.ID] = s.Inputs
	}
	feeds := map[string]bool{} // tasks that feed the bounded inputs
	var up func(x ExchangeShape)
	up = func(x ExchangeShape) {
		if !feeds[x.Task] {
			feeds[x.Task] = true
			for _, in := range inputs[x.Task] {
				up(in)
			}
		}
	}
	free := map[*Task]bool{}
	for _, t := range g.Tasks {
		for i, in := range t.Inputs {
			if t.BoundedFirst && in.Bounded {
				up(inputs[t.ID][i])
			}
		}
	}
	for _, t := range g.Tasks {
		free[t] = feeds[t.ID]
	}
	return free
}
