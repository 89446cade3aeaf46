package invariants

import "testing"

func TestCheck(t *testing.T) {
	Check(true, "never")
	defer func() {
		if p := recover(); (p != nil) != Enabled {
			t.Errorf("panic %v with Enabled %t", p, Enabled)
		}
	}()
	Check(false, "column %d", 3)
}
