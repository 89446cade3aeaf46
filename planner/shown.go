package planner

import "github.com/weir-sql/weir/planner/logical"

// reading notes a CURRENT_WATERMARK in exprs while their input is converted; what it returns forgets it again.
//
// Over the results of windows it gives the watermark that was in force when the window closed, as if rows came one by one. Copies of an aggregate see a
// share of the rows only, and batches have several: such windows run in one copy, and all before them row by row.
func (c *converter) reading(exprs ...logical.Expr) func() {
	before := c.shown
	c.shown = c.shown || logical.ReadsWatermark(exprs...)
	return func() { c.shown = before }
}
