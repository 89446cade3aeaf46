package exec

import (
	"sync"
	"sync/atomic"
)

// Metrics are the counters of one operator or source under names that a user can see. Counters are part of snapshots: a restored query goes on
// counting. The zero value is ready.
type Metrics struct {
	mu       sync.Mutex
	counters map[string]*atomic.Int64
	order    []string
}

// Names of counters that more than one package knows.
const (
	RowsIn         = "rows_in"
	RowsOut        = "rows_out"
	LateRows       = "late_rows"        // dropped: late for every window (Flink: numLateRecordsDropped)
	PartlyLateRows = "partly_late_rows" // missed some of their windows
	NullTimeRows   = "null_time_rows"   // rows without event time that were dropped or skipped
	FutureRows     = "future_rows"
	BadRows        = "bad_rows"
	StrayRetracts  = "stray_retractions" // a -U or -D for a row that was never there
	StateRows      = "state_rows"        // gauge
	PeakStateRows  = "peak_state_rows"   // most rows in keyed state so far, by copy of the operator
	WatermarkUs    = "watermark_us"      // gauge: the last watermark of a source before its end; absent before the first
)

// Counters are the names above; a connector counts under others.
var Counters = []string{RowsIn, RowsOut, LateRows, PartlyLateRows, NullTimeRows, FutureRows, BadRows, StrayRetracts, StateRows, PeakStateRows, WatermarkUs}

// Counter returns the counter called name; keep the pointer in hot loops.
func (m *Metrics) Counter(name string) *atomic.Int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.counters[name]; c != nil {
		return c
	}
	if m.counters == nil {
		m.counters = map[string]*atomic.Int64{}
	}
	c := new(atomic.Int64)
	m.counters[name] = c
	m.order = append(m.order, name)
	return c
}

// Each calls f for every counter, in the order of their first use.
func (m *Metrics) Each(f func(name string, value int64)) {
	m.mu.Lock()
	names := append([]string(nil), m.order...)
	m.mu.Unlock()
	for _, n := range names {
		f(n, m.Counter(n).Load())
	}
}
