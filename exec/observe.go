package exec

import "github.com/weir-sql/weir/exec/stream"

// Observer is implemented by operators that can tell of themselves at no cost, for the user who looks in. It is called between two calls of the operator, on
// its goroutine.
type Observer interface {
	// Observe returns false when there is nothing to tell.
	Observe() (Observation, bool)
}

// Observation is what an operator tells of itself.
type Observation struct {
	// StateRows counts the groups and rows in its keyed state (values of DISTINCT are not counted).
	StateRows int64
	// Windows says that it has windows of event time. NextWindow is the watermark that closes the first open one, MaxTime when none is open.
	Windows    bool
	NextWindow stream.Time
}
