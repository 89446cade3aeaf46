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

// spoil fills memory that is given out or given back with nonsense.
func spoil(b []byte) {
	for i := range b {
		b[i] = 0xDB
	}
}
