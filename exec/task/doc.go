// Package task is the run loop of the engine: it turns a graph of tasks into goroutines, feeds them from sources and inboxes, combines watermarks,
// aligns barriers, takes and restores snapshots, fires timers, and cleans up. It is the only package below exec that starts goroutines, selects and
// recovers.
//
// A task is a chain (a tree, where an output has several consumers) of operators run with plain calls by one goroutine. A source task reads splits,
// has workers that decode blocks and run the stateless head of its chain, and keeps the order of rows and watermarks exact (source.go, order.go). Any
// other task reads an inbox (inbox.go, merge.go). The Job (job.go) starts, cancels, stops, checkpoints and watches them.
package task
