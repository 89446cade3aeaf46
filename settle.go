package weir

import (
	"fmt"
	"strings"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/build"
)

// settleRows is how many rows a batch of a settled result has at most.
const settleRows = 8192

// settles reports whether the result of a SELECT is to be the final table instead of its changelog ('weir.result-mode' = 'table'). Where the plan's operators
// give their results once at the end there is no changelog; it is left where the table that is read has one.
func (db *DB) settles(q *Query) bool {
	return q.bounded && q.updating && strings.EqualFold(db.Config()["weir.result-mode"], "table")
}

// settle reads the changelog to its end and puts the table that it amounts to in its place. What it holds counts as memory of the query.
func (q *Query) settle() error {
	t := NewFinalTable(q.columns)
	t.zone, t.typed = q.zone, true
	held := exec.NewAccount("result", q.job.budget)
	defer func() { _ = held.Grow(-held.Used()) }()
	for {
		b, err := q.next()
		if err == errDone {
			break
		}
		if err != nil {
			return err
		}
		err = t.Apply(b)
		b.Release()
		if err != nil {
			return fmt.Errorf("the result has an impossible change: %w", err)
		}
		if err := held.Grow(t.bytes - held.Used()); err != nil {
			return err
		}
	}
	select {
	case <-q.quit: // nobody wants it any more
		return nil
	default:
	}
	t.compact()
	for from := 0; from < len(t.rows); from += settleRows {
		var values [][]any
		for _, r := range t.rows[from:min(from+settleRows, len(t.rows))] {
			values = append(values, r.values)
		}
		b, err := build.Rows(q.columns, values)
		if err != nil {
			return err
		}
		q.static = append(q.static, b)
	}
	return nil
}
