package exec

import (
	"strings"
	"testing"
)

// TestMemoryErrorKeepsWhoHeld: the message is made after the query has given everything back.
func TestMemoryErrorKeepsWhoHeld(t *testing.T) {
	b := NewBudget(100)
	group, scan := NewAccount("GroupAggregate 2", b), NewAccount("table t", b)
	if err := group.Grow(90); err != nil {
		t.Fatal(err)
	}
	err := scan.Grow(20)
	if err == nil {
		t.Fatal("no error")
	}
	_ = group.Grow(-90)
	_ = scan.Grow(-20)
	want := "the query holds 110 bytes, more than weir.memory.limit (100): GroupAggregate 2 90 bytes, table t 20 bytes"
	if !strings.Contains(err.Error(), want) {
		t.Errorf("got %q, want %q", err, want)
	}
}
