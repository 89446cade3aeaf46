package bind

import (
	"testing"

	"github.com/weir-sql/weir/catalog"
)

// A function that exists is none of those that are refused by name.
func TestUnsupportedFunctionsDoNotExist(t *testing.T) {
	for name := range unsupportedFunctions {
		for _, kind := range []catalog.FunctionKind{catalog.Scalar, catalog.Aggregate} {
			if catalog.LookupFunction(name, kind) != nil {
				t.Errorf("%s exists", name)
			}
		}
	}
}
