//go:build invariants

package build

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/optest"
)

// checked puts a checker of the operator contract around each operator.
func checked(make func() exec.Operator, name string, schema *arrow.Schema) func() exec.Operator {
	return func() exec.Operator { return optest.Check(make(), name, schema) }
}
