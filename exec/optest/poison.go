package optest

import (
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Poison is an allocator that overwrites memory when it is given back, so that whoever still reads it reads nonsense.
type Poison struct{ Mem memory.Allocator }

const poisonByte = 0xDB

// Allocate implements memory.Allocator.
func (p Poison) Allocate(size int) []byte { return p.Mem.Allocate(size) }

// Reallocate implements memory.Allocator. It always moves, so that pointers into the old memory become stale.
func (p Poison) Reallocate(size int, b []byte) []byte {
	n := p.Mem.Allocate(size)
	copy(n, b)
	p.Free(b)
	return n
}

// Free implements memory.Allocator.
func (p Poison) Free(b []byte) {
	for i := range b {
		b[i] = poisonByte
	}
	p.Mem.Free(b)
}
