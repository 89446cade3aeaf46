package weir

import "github.com/weir-sql/weir/planner"

// explainPlan prints a plan.
func explainPlan(p *planner.Result, asJSON bool) string { return "" }
