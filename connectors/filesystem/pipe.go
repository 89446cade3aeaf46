package filesystem

import (
	"errors"
	"io"
	"sync"
)

// pipe reads a stream that may keep its reader waiting, such as standard input, in a goroutine of its own. That goroutine is not one of Env.Go: a read
// of a terminal or a pipe cannot be interrupted, and the end of a query must not wait for a key to be pressed. It ends with the stream, or with the
// first data that comes after stop.
type pipe struct {
	ready chan struct{}

	mu      sync.Mutex
	room    *sync.Cond
	data    []byte
	err     error
	stopped bool
	limit   int
}

func newPipe(in io.Reader, limit int) *pipe {
	p := &pipe{ready: make(chan struct{}, 1), limit: limit}
	p.room = sync.NewCond(&p.mu)
	go p.run(in)
	return p
}

func (p *pipe) run(in io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := in.Read(buf)
		p.mu.Lock()
		p.data = append(p.data, buf[:n]...)
		if err != nil {
			p.err = err
		}
		for len(p.data) >= p.limit && !p.stopped && err == nil {
			p.signal()
			p.room.Wait()
		}
		stop := p.stopped || err != nil
		p.signal()
		p.mu.Unlock()
		if stop {
			return
		}
	}
}

func (p *pipe) signal() {
	select {
	case p.ready <- struct{}{}:
	default:
	}
}

// take returns what has come since, and whether that was all.
func (p *pipe) take() (data []byte, ended bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	data, p.data = p.data, nil
	p.room.Signal()
	if p.err != nil && !errors.Is(p.err, io.EOF) {
		return nil, false, p.err
	}
	return data, p.err != nil, nil
}

func (p *pipe) stop() {
	p.mu.Lock()
	p.stopped = true
	p.room.Signal()
	p.mu.Unlock()
}
