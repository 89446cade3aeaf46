package expr_test

import (
	"testing"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/exec/expr"
)

// Every scalar function of the catalog has an evaluator and the other way round.
func TestNames(t *testing.T) {
	have := map[string]bool{}
	for _, n := range expr.Names() {
		have[n] = true
	}
	for _, f := range catalog.Functions() {
		if f.Kind != catalog.Scalar {
			continue
		}
		if !have[f.Name] {
			t.Errorf("the catalog has %s, which has no evaluator", f.Name)
		}
		delete(have, f.Name)
	}
	for n := range have {
		t.Errorf("%s has an evaluator, but no signature in the catalog", n)
	}
}
