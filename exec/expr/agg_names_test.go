package expr_test

import (
	"testing"

	"github.com/weir-sql/weir/catalog"
	"github.com/weir-sql/weir/exec/expr"
)

// Every aggregate function of the catalog has an accumulator and the other way round.
func TestAggregateSignatures(t *testing.T) {
	have := map[string]bool{}
	for _, n := range expr.AggregateNames() {
		have[n] = true
	}
	for _, f := range catalog.Functions() {
		if f.Kind != catalog.Aggregate {
			continue
		}
		if !have[f.Name] {
			t.Errorf("the catalog has %s, which has no accumulator", f.Name)
		}
		delete(have, f.Name)
	}
	for n := range have {
		t.Errorf("%s has an accumulator, but no signature in the catalog", n)
	}
}
