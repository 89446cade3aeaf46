package exec

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

// Budget is the memory limit of one query, weir.memory.limit: the sum of its accounts may not exceed it.
type Budget struct {
	limit int64
	used  atomic.Int64
	mu    sync.Mutex
	all   []*Account
}

// NewBudget returns a budget of limit bytes; 0 means unlimited.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

func (b *Budget) join(a *Account) {
	b.mu.Lock()
	b.all = append(b.all, a)
	b.mu.Unlock()
}

func (b *Budget) grow(n int64) error {
	used := b.used.Add(n)
	if n <= 0 || b.limit <= 0 || used <= b.limit {
		return nil
	}
	e := &MemoryError{Limit: b.limit, Used: used}
	for _, a := range b.Holders() {
		if n := a.Used(); n > 0 {
			e.Holders = append(e.Holders, Holding{Owner: a.Owner(), Bytes: n})
		}
	}
	return e
}

// Used returns the bytes held by all accounts.
func (b *Budget) Used() int64 { return b.used.Load() }

// Holders returns the accounts that hold memory, largest first.
func (b *Budget) Holders() []*Account {
	b.mu.Lock()
	held := append([]*Account(nil), b.all...)
	b.mu.Unlock()
	sort.SliceStable(held, func(i, j int) bool { return held[i].Used() > held[j].Used() })
	return held
}

// Holding is what an account held at the moment of a MemoryError.
type Holding struct {
	Owner string
	Bytes int64
}

// MemoryError says that a query holds more than weir.memory.limit allows, and who held how much at that moment, largest first.
type MemoryError struct {
	Limit, Used int64
	Holders     []Holding
}

func (e *MemoryError) Error() string {
	var who []string
	for _, h := range e.Holders[:min(len(e.Holders), 5)] {
		who = append(who, fmt.Sprintf("%s %d bytes", h.Owner, h.Bytes))
	}
	return fmt.Sprintf("the query holds %d bytes, more than weir.memory.limit (%d): %s", e.Used, e.Limit, strings.Join(who, ", "))
}
