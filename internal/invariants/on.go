//go:build invariants

package invariants

// Enabled is set in builds with the tag.
const Enabled = true
