package expr

// For tests in package expr_test.
var (
	RandomColumn    = randomColumn
	BatchOf         = batchOf
	RandomSelection = randomSelection
)

func init() { maxText = 1 << 12 }
