package op

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-sql/weir/exec"
)

// expiry makes what an operator keeps for each key expire (table.exec.state.ttl), as Flink does: a key that had no row for ttl of processing time is as if
// it had never been. Nothing is emitted for that; when the key comes again it begins anew. A row that changes nothing is emitted all the same, so that the
// state of operators behind stays too.
//
// Rows decide by the time of their batch. That keys nobody asks for are dropped too is the work of a timer, and changes no result.
type expiry struct {
	ttl   int64 // microseconds; 0: nothing expires
	env   *exec.Env
	used  []int64   // when each key last had a row, microseconds of the clock
	purge time.Time // when expired keys are dropped next; zero: not asked for
}

func (e *expiry) on() bool { return e.ttl > 0 }

func (e *expiry) now() int64 {
	if !e.on() {
		return 0
	}
	return e.env.Clock.Now().UnixMicro()
}

func (e *expiry) expired(key int32, now int64) bool { return e.on() && e.used[key]+e.ttl <= now }

// grow makes room for n keys.
func (e *expiry) grow(n int) {
	if e.on() && len(e.used) < n {
		e.used = append(e.used, make([]int64, n-len(e.used))...)
	}
}

// use notes that keys had a row, and asks for a timer when there is none.
func (e *expiry) use(keys []int32, now int64) {
	if !e.on() || len(keys) == 0 {
		return
	}
	for _, k := range keys {
		e.used[k] = now
	}
	if e.purge.IsZero() {
		e.ask(now + e.ttl)
	}
}

func (e *expiry) ask(us int64) {
	e.purge = time.UnixMicro(us).UTC()
	e.env.Timer(e.purge)
}

// due reports whether a timer is the one to drop keys at, and not one that was asked for before a restore.
func (e *expiry) due(at time.Time) bool {
	if !e.on() || !at.Equal(e.purge) {
		return false
	}
	e.purge = time.Time{}
	return true
}

// split divides keys into those that are kept and those that have expired.
func (e *expiry) split(keys []int32, now int64) (kept, gone []int32) {
	if !e.on() {
		return keys, nil
	}
	for _, k := range keys {
		if e.expired(k, now) {
			gone = append(gone, k)
		} else {
			kept = append(kept, k)
		}
	}
	return kept, gone
}

// again asks for the next timer when expired keys have been dropped and these are left. Not for each at its very time: what has expired does not count in
// any case.
func (e *expiry) again(kept []int32, now int64) {
	if !e.on() || len(kept) == 0 {
		return
	}
	oldest := now
	for _, k := range kept {
		oldest = min(oldest, e.used[k])
	}
	e.ask(max(oldest+e.ttl, now+e.ttl/8+1))
}

const usedColumn = "used_us"

// column adds the times of keys to a batch of a snapshot.
func (e *expiry) column(fs []arrow.Field, cols []arrow.Array, keys []int32) ([]arrow.Field, []arrow.Array) {
	if !e.on() {
		return fs, cols
	}
	return append(fs, wordFields(usedColumn)...), append(cols, words(e.env.Allocator, len(keys), func(i int) int64 { return e.used[keys[i]] }))
}

// restore reads the times of the keys of a snapshot's batch; where they were not kept it is now.
func (e *expiry) restore(rec arrow.RecordBatch, keys []int32) {
	if !e.on() || len(keys) == 0 {
		return
	}
	now := e.now()
	e.use(keys, now)
	if at := rec.Schema().FieldIndices(usedColumn); len(at) == 1 {
		for i, us := range values[int64](rec.Column(at[0])) {
			e.used[keys[i]] = us
		}
	}
}
