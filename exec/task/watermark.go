package task

import "github.com/weir-sql/weir/exec/stream"

// InputState says whether an input has a say in the combined watermark.
type InputState uint8

// The states of an input.
const (
	// Active inputs hold the combined watermark at their own.
	Active InputState = iota
	// IdleInput has no say until it speaks again.
	IdleInput
	// Finished inputs are absent: they will never speak again.
	Finished
)

// Combiner combines the watermarks of several inputs, be it the splits of a source or the inputs of a task, by the one rule of the engine:
//
//   - the combined watermark is the minimum over the inputs that are neither idle nor finished;
//   - it never steps back: an input that wakes up behind holds it where it is until that input has caught up;
//   - when all that are not finished are idle, it stays where it is, and the combination is idle;
//   - only when all inputs are finished does it become stream.MaxTime.
//
// It is pure: no goroutine, no clock. The zero value has no inputs. Flink differs in two points (its StatusWatermarkValve emits the maximum over all
// channels when the last active one goes idle, and counts a finished channel as MaxTime); here a finished input never lifts the others.
type Combiner struct {
	marks    []stream.Time
	states   []InputState
	combined stream.Time
	begun    bool
}

// Add adds an active input without a watermark yet and returns its number. It holds the combined watermark where it is.
func (c *Combiner) Add() int {
	if !c.begun {
		c.begun, c.combined = true, stream.MinTime
	}
	c.marks = append(c.marks, stream.MinTime)
	c.states = append(c.states, Active)
	return len(c.marks) - 1
}

// Len returns the number of inputs.
func (c *Combiner) Len() int { return len(c.marks) }

// Advance tells that input i has spoken with watermark wm (MinTime: it spoke, without one). A value behind the input's last one is not taken. It makes
// an idle input active again. A finished input stays finished.
func (c *Combiner) Advance(i int, wm stream.Time) {
	if c.states[i] == Finished {
		return
	}
	c.states[i] = Active
	c.marks[i] = max(c.marks[i], wm)
	c.recompute()
}

// Idle tells that inputs have no say until they speak again. Inputs that fall silent at one instant do so together: when they are the last ones the
// combined watermark stays where it is, whatever their order.
func (c *Combiner) Idle(inputs ...int) {
	changed := false
	for _, i := range inputs {
		if c.states[i] == Active {
			c.states[i], changed = IdleInput, true
		}
	}
	if changed {
		c.recompute()
	}
}

// Wake tells that inputs that were idle have a say again, all at once: the first one alone must not lift the combined watermark.
func (c *Combiner) Wake(inputs ...int) {
	for _, i := range inputs {
		if c.states[i] == IdleInput {
			c.states[i] = Active
		}
	}
	c.recompute()
}

// Note takes the watermark of input i, as Advance does, and leaves an idle one idle.
func (c *Combiner) Note(i int, wm stream.Time) {
	if c.states[i] == IdleInput {
		c.marks[i] = max(c.marks[i], wm)
		return
	}
	c.Advance(i, wm)
}

// Finish tells that input i has ended.
func (c *Combiner) Finish(i int) {
	c.states[i] = Finished
	c.recompute()
}

func (c *Combiner) recompute() {
	low, any := c.lowest(-1)
	switch {
	case any:
		c.combined = max(c.combined, low)
	case c.AllFinished():
		c.combined = stream.MaxTime
	}
}

// lowest returns the minimum over the active inputs but for one.
func (c *Combiner) lowest(but int) (low stream.Time, any bool) {
	low = stream.MaxTime
	for i, s := range c.states {
		if s == Active && i != but {
			low, any = min(low, c.marks[i]), true
		}
	}
	return low, any
}

// Others returns the minimum over the active inputs other than i, MaxTime when there is none: as long as only i speaks, the combined watermark is
// max(combined, min(watermark of i, Others(i))).
func (c *Combiner) Others(i int) stream.Time {
	low, _ := c.lowest(i)
	return low
}

// Combined returns the combined watermark: MinTime before the first.
func (c *Combiner) Combined() stream.Time {
	if !c.begun {
		return stream.MinTime
	}
	return c.combined
}

// Mark returns the watermark of input i.
func (c *Combiner) Mark(i int) stream.Time { return c.marks[i] }

// State returns the state of input i.
func (c *Combiner) State(i int) InputState { return c.states[i] }

// AllIdle reports that no input is active and at least one is idle.
func (c *Combiner) AllIdle() bool {
	idle := false
	for _, s := range c.states {
		switch s {
		case Active:
			return false
		case IdleInput:
			idle = true
		}
	}
	return idle
}

// AllFinished reports that all inputs, of which there is at least one, are finished.
func (c *Combiner) AllFinished() bool {
	for _, s := range c.states {
		if s != Finished {
			return false
		}
	}
	return len(c.states) > 0
}

// restore puts back what a snapshot holds.
func (c *Combiner) restore(marks []stream.Time, states []InputState, combined stream.Time) {
	c.marks = append([]stream.Time(nil), marks...)
	c.states = append([]InputState(nil), states...)
	c.combined, c.begun = combined, true
}
