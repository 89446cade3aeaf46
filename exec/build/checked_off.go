//go:build !invariants

package build

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/exec"
)

// checked does nothing; with the build tag invariants it checks the operator contract.
func checked(make func() exec.Operator, _ string, _ *arrow.Schema) func() exec.Operator { return make }

// spoil does nothing; with the build tag invariants it fills memory that is given out or given back with nonsense.
func spoil([]byte) {}
