package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestAdaptive holds the example to what it says, and two runs to the same figures.
func TestAdaptive(t *testing.T) {
	var text [2]strings.Builder
	for i := range text {
		all, err := run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := show(&text[i], all); err != nil {
			t.Fatal(err)
		}
		adaptive, patient, hasty := all[0], all[1], all[2]
		if a, p := percentile(adaptive.latency[1], 50), percentile(patient.latency[1], 50); a > 6*time.Second || p < 5*a {
			t.Errorf("busy: %s with the adaptive generator, %s with 30 s", a, p)
		}
		if a, p := fmt.Sprint(adaptive.latency[2]), fmt.Sprint(patient.latency[2]); a != p {
			t.Errorf("quiet again: %s with the adaptive generator, %s with 30 s", a, p)
		}
		if patient.late != 0 || adaptive.late*5 > hasty.late {
			t.Errorf("late rows: %d, %d, %d", adaptive.late, patient.late, hasty.late)
		}
	}
	if text[0].String() != text[1].String() {
		t.Errorf("%s\n%s", text[0].String(), text[1].String())
	}
	t.Log(text[0].String())
}
