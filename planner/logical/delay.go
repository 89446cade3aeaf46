package logical

import "github.com/weir-sql/weir/types"

// Delay recognizes the watermark `ts` and `ts - INTERVAL 'x'` of a constant x, in microseconds, where ts is a column: what is NULL for no row that has a time.
func Delay(e Expr, column int) (us int64, ok bool) {
	switch e := e.(type) {
	case *Column:
		return 0, e.Index == column
	case *Cast:
		return Delay(e.Arg, column)
	case *Call:
		if len(e.Args) != 2 || e.Name != "-" {
			return 0, false
		}
		lit, isLit := e.Args[1].(*Literal)
		if !isLit {
			return 0, false
		}
		d, isDuration := lit.Value.(types.DurationVal)
		before, ok := Delay(e.Args[0], column)
		return before + int64(d), ok && isDuration
	}
	return 0, false
}
