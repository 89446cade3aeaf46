package biddata

import "math/bits"

// Pool is an allocator that keeps freed memory, as the engine's does, so that benchmarks measure decoding and not the garbage collector.
type Pool struct{ free [48][][]byte }

// Allocate returns memory that is not cleared.
func (p *Pool) Allocate(size int) []byte {
	if size == 0 {
		return nil
	}
	c := bits.Len(uint(size - 1))
	if l := p.free[c]; len(l) > 0 {
		b := l[len(l)-1]
		p.free[c] = l[:len(l)-1]
		return b[:size]
	}
	return make([]byte, size, 1<<c)
}

// Reallocate returns b with another size.
func (p *Pool) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	n := p.Allocate(size)
	copy(n, b)
	p.Free(b)
	return n
}

// Free takes b back.
func (p *Pool) Free(b []byte) {
	if cap(b) > 0 {
		c := bits.Len(uint(cap(b) - 1))
		p.free[c] = append(p.free[c], b)
	}
}
