package bind

import (
	"regexp"
	"slices"
	"testing"

	"github.com/weir-sql/weir/catalog"
)

// TestFunctionsElsewhere: no such function is there, and those that are proposed are.
func TestFunctionsElsewhere(t *testing.T) {
	names := []string{"CAST", "FILTER", "TABLE", "TUMBLE", "DESCRIPTOR"}
	for _, f := range catalog.Functions() {
		names = append(append(names, f.Name), f.Aliases...)
	}
	call := regexp.MustCompile(`[A-Z_]+ ?\(`)
	for name, write := range functionsElsewhere {
		if slices.Contains(names, name) {
			t.Errorf("%s is there", name)
		}
		for _, c := range call.FindAllString(write, -1) {
			if f := regexp.MustCompile(`[A-Z_]+`).FindString(c); !slices.Contains(names, f) {
				t.Errorf("%s: %s, which is proposed, is not there", name, f)
			}
		}
	}
}
