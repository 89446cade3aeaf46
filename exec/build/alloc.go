package build

import (
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Pool is an allocator that keeps freed memory by size class and gives it out again, so that batches do not become work for the garbage collector. Memory
// is aligned to 64 bytes and not cleared. It is safe for concurrent use.
type Pool struct {
	classes [poolClasses]poolClass
}

var _ memory.Allocator = (*Pool)(nil)

const (
	poolMinBits = 8  // 256 bytes: smaller pieces are made new
	poolMaxBits = 22 // 4 MiB: greater ones too
	poolClasses = poolMaxBits - poolMinBits + 1
	// poolKeep is how many bytes of each class are kept at most.
	poolKeep = 8 << 20
)

type poolClass struct {
	mu   sync.Mutex
	free [][]byte
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{} }

// classOf returns the class whose pieces hold n bytes, -1 when n is too large or too small to be kept.
func classOf(n int) int {
	if n <= 1<<poolMinBits/2 || n > 1<<poolMaxBits {
		return -1
	}
	return max(bits.Len(uint(n-1)), poolMinBits) - poolMinBits
}

// Allocate implements memory.Allocator.
func (p *Pool) Allocate(n int) []byte {
	b := p.take(n)
	spoil(b)
	return b
}

func (p *Pool) take(n int) []byte {
	k := classOf(n)
	if k < 0 {
		return fresh(n)
	}
	c := &p.classes[k]
	c.mu.Lock()
	if last := len(c.free) - 1; last >= 0 {
		b := c.free[last]
		c.free[last] = nil
		c.free = c.free[:last]
		c.mu.Unlock()
		return b[:n]
	}
	c.mu.Unlock()
	return fresh(1 << (k + poolMinBits))[:n]
}

// fresh is new memory, aligned.
func fresh(n int) []byte { return memory.DefaultAllocator.Allocate(n) }

// Reallocate implements memory.Allocator.
func (p *Pool) Reallocate(n int, b []byte) []byte {
	if n <= cap(b) && classOf(n) == classOf(cap(b)) {
		return b[:n]
	}
	out := p.Allocate(n)
	copy(out, b)
	p.Free(b)
	return out
}

// Free implements memory.Allocator.
func (p *Pool) Free(b []byte) {
	spoil(b)
	size := cap(b)
	k := classOf(size)
	if k < 0 || size != 1<<(k+poolMinBits) {
		return
	}
	c := &p.classes[k]
	c.mu.Lock()
	if len(c.free) < poolKeep>>(k+poolMinBits) {
		c.free = append(c.free, b[:size])
	}
	c.mu.Unlock()
}
