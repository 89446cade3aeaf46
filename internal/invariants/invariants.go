// Package invariants has checks of the engine's own rules that only builds with the tag "invariants" make. A breach is a bug of the engine: it panics, and
// the run loop turns that into an internal error that names the operator.
package invariants

import "fmt"

// Check panics with the message when ok is false, in builds with the tag.
func Check(ok bool, format string, args ...any) {
	if Enabled && !ok {
		panic("invariant broken: " + fmt.Sprintf(format, args...))
	}
}
