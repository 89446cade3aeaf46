package task

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/weir-sql/weir/exec"
)

// How idleness passes exchanges. It belongs to a source, and a source counts its phases: even ones in which it has a say, odd ones in which it is idle. It
// tells of each on all its ways to the tasks behind, before the first row of a phase in which it speaks and behind the last one. A task hears that on many
// channels: from the copies of another task, and over branches that meet again; all are told the same, but each in its own time, some a whole phase and more
// behind. For a task
//
//   - a source is idle when all channels that bring its rows have told of the same idle phase, and then for all of them at once;
//   - it has a say again with the first channel that tells so;
//   - a channel has no say while each source that it brings rows of is idle, and only then. Rows and watermarks alone wake nobody up: what comes on a channel
//     without a say is what a timer has given.
//
// That is what the task tells those behind it in turn. Why it is right: on a channel that tells of idle phase n all rows of the phases before have come, since
// whoever tells so had been told so, behind these rows, on all its own channels. So with all channels at n nothing is outstanding of what the source said
// before it fell silent, and nothing has come of what it said since: that the watermark goes on without it now is as if it spoke a moment later. With one
// channel at n and another one further, rows are under way on the first, and it must hold the watermark. A copy may leave phases out (it never finds the
// source idle in a phase that one of its channels has left before another one has come to it), but none gives a phase another number, so that numbers of
// copies can be compared. They never step back, and idle phases and others take turns on a channel.
//
// A task that merges in order tells nothing: it has a say until it ends.

// phases are those of sources, by the ids of their tasks. One that is not in it has the phase 0.
type phases = map[string]int64

// gone is the phase of a source of which a task gets no more rows: idle for good. It is odd.
const gone = math.MaxInt64

// idlePhase reports a phase without a say.
func idlePhase(n int64) bool { return n&1 == 1 }

// commonPhase is the phase of a source for a task whose channels are in the given ones. The source has reached a phase when any channel has told of it, also
// one that has ended since.
func commonPhase(channels []int64, reached int64) int64 {
	if len(channels) == 0 {
		return gone
	}
	if low := slices.Min(channels); low >= reached {
		return low
	}
	return reached &^ 1
}

// restoredPhases is what a task has told those behind it: what its old copies had, or what it would have from what its channels told.
func (t *inputTask) restoredPhases(olds []*TaskSnapshot, heard []phases) phases {
	out := phases{}
	if t.task.Ordered {
		return out
	}
	said := heard
	if len(olds) > 0 {
		said = nil
		for _, o := range olds {
			said = append(said, o.Phases)
		}
	}
	for _, channel := range heard {
		for source := range channel {
			var all []int64
			reached := int64(0)
			for _, p := range said {
				all = append(all, p[source])
				if p[source] != gone {
					reached = max(reached, p[source])
				}
			}
			out[source] = commonPhase(all, reached)
		}
	}
	return out
}

// feeds lists the sources whose rows each task may get, both by the ids of their tasks.
func (g *Graph) feeds() map[string][]string {
	out := map[string][]string{}
	shapes := map[string]TaskShape{}
	for _, s := range g.shape() {
		shapes[s.ID] = s
	}
	var of func(task string) []string
	of = func(task string) []string {
		all, ok := out[task]
		if ok {
			return all
		}
		inputs := shapes[task].Inputs
		if len(inputs) == 0 {
			all = []string{task}
		}
		for _, x := range inputs {
			all = append(all, of(x.Task)...)
		}
		slices.Sort(all)
		out[task] = slices.Compact(all)
		return out[task]
	}
	for _, t := range g.Tasks {
		of(t.ID)
	}
	return out
}

// tell tells the tasks behind of a source's phase.
func (c *chain) tell(ctx context.Context, source string, phase int64) error {
	c.phases[source] = phase
	for _, w := range c.writers {
		if err := w.phase(ctx, source, phase); err != nil {
			return err
		}
	}
	return nil
}

// quiet reports that those behind have been told that the source is idle.
func (s *source) quiet() bool { return idlePhase(s.phases[s.task.ID]) }

// nextPhase has the source fall silent, or speak again.
func (s *source) nextPhase(ctx context.Context) error {
	return s.tell(ctx, s.task.ID, s.phases[s.task.ID]+1)
}

// phased notes what a channel has told of a source.
func (t *inputTask) phased(ctx context.Context, i int, source string, phase int64) error {
	t.heard[i][source] = phase
	t.reach(source, phase)
	return t.settle(ctx, source)
}

func (t *inputTask) reach(source string, phase int64) {
	if phase != gone {
		t.reached[source] = max(t.reached[source], phase)
	}
}

// settle finds out which of the sources are idle now, and passes on what has changed.
func (t *inputTask) settle(ctx context.Context, sources ...string) error {
	var fallen, woken []string
	for _, s := range sources {
		var channels []int64
		for i, heard := range t.heard {
			if phase, feeds := heard[s]; feeds && !t.ended[i] {
				channels = append(channels, phase)
			}
		}
		if n := commonPhase(channels, t.reached[s]); n != t.phases[s] && (idlePhase(n) || idlePhase(t.phases[s])) {
			t.phases[s] = n
			if idlePhase(n) {
				fallen = append(fallen, s)
			} else {
				woken = append(woken, s)
			}
		}
	}
	if len(fallen) == 0 && len(woken) == 0 {
		return nil
	}
	// What the watermark releases now belongs to the phase in which somebody speaks: behind the word that it has begun, and before the one that it is over.
	if err := t.tellAll(ctx, woken); err != nil {
		return err
	}
	var speaking, idle []int
	for i := range t.heard {
		switch {
		case t.ended[i]:
		case silent(t.heard[i], t.phases):
			idle = append(idle, i)
		default:
			speaking = append(speaking, i)
		}
	}
	t.comb.Wake(speaking...)
	t.comb.Idle(idle...)
	enough := t.forward(ctx, t.comb.Combined())
	if enough != nil && !errors.Is(enough, exec.ErrEnough) {
		return enough
	}
	if err := t.tellAll(ctx, fallen); err != nil {
		return err
	}
	return enough
}

func (t *inputTask) tellAll(ctx context.Context, sources []string) error {
	for _, s := range sources {
		if err := t.tell(ctx, s, t.phases[s]); err != nil {
			return err
		}
	}
	return nil
}

// sources are those whose rows the task gets.
func (t *inputTask) sources() []string {
	all := phases{}
	for _, heard := range t.heard {
		maps.Copy(all, heard)
	}
	return sortedKeys(all)
}

// silent reports a channel without a say: all sources that it brings rows of are idle.
func silent(heard, told phases) bool {
	for source, phase := range heard {
		if phase != gone && !idlePhase(told[source]) {
			return false
		}
	}
	return len(heard) > 0
}
