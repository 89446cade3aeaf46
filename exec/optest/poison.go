package optest

import (
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Poison is an allocator whose memory is nonsense, when it is given out and again when it is given back: whoever takes it for zeros, or still reads it, is
// found out.
type Poison struct{ Mem memory.Allocator }

const poisonByte = 0xDB

// Allocate implements memory.Allocator.
func (p Poison) Allocate(size int) []byte { return poison(p.Mem.Allocate(size)) }

// Reallocate implements memory.Allocator. It always moves, so that pointers into the old memory become stale.
func (p Poison) Reallocate(size int, b []byte) []byte {
	n := p.Allocate(size)
	copy(n, b)
	p.Free(b)
	return n
}

// Free implements memory.Allocator.
func (p Poison) Free(b []byte) {
	p.Mem.Free(poison(b))
}

func poison(b []byte) []byte {
	for i := range b {
		b[i] = poisonByte
	}
	return b
}
