package main

import (
	"testing"
	"time"
)

// TestAlignment reads two days: the results are equal (or run fails), and alignment keeps few windows open.
func TestAlignment(t *testing.T) {
	free, aligned, err := run(t.Context(), "", 1, 2, 30*time.Minute, 5*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if len(aligned.windows) == 0 || aligned.late > 0 || aligned.peak*10 > free.peak {
		t.Errorf("as it comes: %s; aligned: %s", free, aligned)
	}
}
