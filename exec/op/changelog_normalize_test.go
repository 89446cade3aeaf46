package op_test

import (
	"testing"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/op"
	"github.com/weir-sql/weir/exec/optest"
	"github.com/weir-sql/weir/types"
)

func TestChangelogNormalize(t *testing.T) {
	in := cols("v", types.DecimalOf(6, 2), "k", str, "n", bigint)
	byText := optest.Operator{New: func() []exec.Operator { return []exec.Operator{op.NewChangelogNormalize([]int{1}, in)} }, Inputs: []types.Schema{in}, Output: in, Time: -1, Keys: []int{1}}
	two := cols("k", bigint, "v", bigint)
	byWord := optest.Operator{New: func() []exec.Operator { return []exec.Operator{op.NewChangelogNormalize([]int{0}, two)} }, Inputs: []types.Schema{two}, Output: two, Time: -1, Keys: []int{0}}
	optest.Run(t, "testdata/normalize.txt", map[string]optest.Operator{"normalize": byText, "normalize words": byWord})
}
