package invariants

import (
	"math/rand/v2"
	"time"
)

// Delay now and then waits a moment, in builds with the tag: what goroutines do in between must not show in a result. It stands between looking for work
// and acting on that there was none, where the time between is a few instructions otherwise.
func Delay() {
	if Enabled && rand.IntN(8) == 0 {
		time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
	}
}
