package build

import (
	"math/rand"
	"sync"
	"testing"
	"unsafe"
)

// TestPool gives memory out, takes it back and gives it out again: aligned, large enough, never to two owners at once.
func TestPool(t *testing.T) {
	p := NewPool()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rnd := rand.New(rand.NewSource(int64(g)))
			var held [][]byte
			for range 3000 {
				switch {
				case len(held) < 20 && rnd.Intn(2) == 0:
					b := p.Allocate(rnd.Intn(70000))
					for i := range b {
						b[i] = byte(g)
					}
					held = append(held, b)
				case len(held) > 0:
					i := rnd.Intn(len(held))
					b := held[i]
					for _, x := range b {
						if x != byte(g) {
							t.Error("memory has two owners")
							return
						}
					}
					if rnd.Intn(3) == 0 {
						n := rnd.Intn(140000)
						old := len(b)
						b = p.Reallocate(n, b)
						for i := range b {
							if i < old && b[i] != byte(g) {
								t.Error("lost bytes")
								return
							}
							b[i] = byte(g)
						}
						held[i] = b
					} else {
						p.Free(b)
						held = append(held[:i], held[i+1:]...)
					}
				}
			}
		}()
	}
	wg.Wait()
	for _, n := range []int{1, 64, 200, 256, 257, 4096, 1 << 22, 1<<22 + 1} {
		b := p.Allocate(n)
		if len(b) != n || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%64 != 0 {
			t.Errorf("%d bytes: length %d, address %p", n, len(b), b)
		}
		p.Free(b)
	}
	if len(p.Allocate(0)) != 0 {
		t.Error("nothing is something")
	}
}

// TestPoolReuse gives freed memory out again.
func TestPoolReuse(t *testing.T) {
	p := NewPool()
	a := p.Allocate(5000)
	p.Free(a)
	b := p.Allocate(8000)
	if unsafe.SliceData(a) != unsafe.SliceData(b) {
		t.Error("freed memory is not used again")
	}
}

func BenchmarkPool(b *testing.B) {
	p := NewPool()
	b.ReportAllocs()
	for b.Loop() {
		p.Free(p.Allocate(64 << 10))
	}
}
