package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
)

// chunk is the records of a partition that one fetch brought. Marks of transactions are among them: they are no rows, but positions go past them.
type chunk struct {
	records []*kgo.Record
	bytes   int64
	next    int64 // where reading goes on behind the chunk, 0: behind its last record
}

func (c *chunk) end() int64 {
	if c.next > 0 {
		return c.next
	}
	return c.records[len(c.records)-1].Offset + 1
}

// reader reads one partition: it hands out what the pump has queued.
type reader struct {
	s     *source
	part  partition
	block int
	ready chan struct{}

	// mu of the source guards what follows.
	at       position
	queue    []chunk
	bytes    int64
	begun    bool // something was read
	fresh    bool // it began where the scan begins at its first start
	attached bool // the partition is to be fetched
	live     bool // it is
	asked    bool // Next found nothing
	full     bool // paused because its queue is full and others starve
	held     bool // paused from outside
	trimmed  bool // its queue was, while it was held: the rest is fetched again when it is resumed
	paused   bool // as the client knows it
	closed   bool
}

// tail is the offset behind all that is queued; mu is held.
func (r *reader) tail() int64 {
	if n := len(r.queue); n > 0 {
		return r.queue[n-1].end()
	}
	return r.at.next
}

func (r *reader) done() bool { return r.at.stop >= 0 && r.at.next >= r.at.stop }

func (r *reader) signal() {
	select {
	case r.ready <- struct{}{}:
	default:
	}
}

// Ready signals that something was fetched.
func (r *reader) Ready() <-chan struct{} { return r.ready }

// Next returns records that were fetched, up to the budget of a block.
func (r *reader) Next(ctx context.Context) (connectors.Block, error) {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.closed || r.done() {
		return connectors.Block{}, connectors.EOF
	}
	if s.err != nil {
		return connectors.Block{}, s.err
	}
	if len(r.queue) == 0 {
		if !r.asked {
			r.asked = true
			s.signal()
		}
		return connectors.Block{}, connectors.ErrNotReady
	}
	r.asked, r.begun = false, true
	s.pops++
	var recs []*kgo.Record
	var taken int64
	for len(r.queue) > 0 && (len(recs) == 0 || taken < int64(r.block)) {
		c := &r.queue[0]
		list, bytes := c.records, int64(0)
		n := 0
		for n < len(list) && (taken+bytes < int64(r.block) || n == 0 && len(recs) == 0) {
			if r.at.stop >= 0 && list[n].Offset >= r.at.stop {
				break
			}
			bytes += size(list[n])
			n++
		}
		taken += bytes
		c.bytes -= bytes
		if recs == nil {
			recs = list[:n:n]
		} else {
			recs = append(recs, list[:n]...)
		}
		switch {
		case n < len(list) && r.at.stop >= 0 && list[n].Offset >= r.at.stop:
			taken += c.bytes
			r.at.next = r.at.stop
			for _, d := range r.queue[1:] {
				taken += d.bytes
			}
			r.queue = nil
		case n < len(list):
			c.records = list[n:]
			r.at.next = list[n].Offset
		default:
			r.at.next = c.end()
			r.queue = r.queue[1:]
		}
		if n < len(list) {
			break
		}
	}
	_ = s.charge(r, -taken)
	if r.full && r.bytes == 0 {
		r.full = false
		s.setPaused(r)
	}
	if r.done() {
		r.detach()
	}
	s.signal()
	if len(r.queue) > 0 {
		r.signal()
	}
	b := connectors.Block{Position: r.at.encode(), Watermark: stream.MinTime}
	for i, rec := range recs {
		if rec.Attrs.IsControl() {
			recs = withoutControl(recs, i)
			break
		}
	}
	if len(recs) > 0 {
		b.Bytes = taken
		b.Decode = recycling(recs, r.s.dec.block(r.part, recs, s.env))
	}
	return b, nil
}

func withoutControl(recs []*kgo.Record, from int) []*kgo.Record {
	out := append(make([]*kgo.Record, 0, len(recs)), recs[:from]...)
	for _, r := range recs[from:] {
		if !r.Attrs.IsControl() {
			out = append(out, r)
		}
	}
	return out
}

// signal wakes the pump.
func (s *source) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Pause stops fetching the partition.
func (r *reader) Pause() { r.hold(true) }

// Resume goes on with it.
func (r *reader) Resume() { r.hold(false) }

func (r *reader) hold(on bool) {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.held == on || !r.attached {
		return
	}
	r.held = on
	if on {
		s.held += r.bytes
	} else {
		s.held -= r.bytes
	}
	s.setPaused(r)
	switch {
	case on:
		s.trim(r)
	case r.trimmed:
		r.trimmed = false
		p, next := r.part, r.tail()
		s.do(func() {
			s.mu.Lock()
			live := r.attached && !r.trimmed
			r.live = live
			s.mu.Unlock()
			if live {
				s.consume(p, next)
			}
		})
	}
	s.signal()
}

// trim gives up what the queue of a held reader has beyond its share; mu is held.
func (s *source) trim(r *reader) {
	share := s.maxHeld / int64(max(len(s.readers), 1))
	if r.bytes <= share {
		return
	}
	for n := len(r.queue); n > 0 && r.bytes > share; n = len(r.queue) {
		c := &r.queue[n-1]
		if r.bytes-c.bytes >= share || len(c.records) == 1 {
			_ = s.charge(r, -c.bytes)
			r.queue = r.queue[:n-1]
			continue
		}
		keep, left := 0, share-(r.bytes-c.bytes)
		kept := int64(0)
		for ; keep < len(c.records) && kept < left; keep++ {
			kept += size(c.records[keep])
		}
		gone := c.bytes - kept
		c.records, c.bytes, c.next = c.records[:keep:keep], kept, 0
		_ = s.charge(r, -gone)
		break
	}
	if !r.live {
		return
	}
	r.live, r.trimmed = false, true
	p := r.part
	s.do(func() { s.client.RemoveConsumePartitions(map[string][]int32{p.topic: {p.num}}) })
}

// size is what a record takes.
func size(r *kgo.Record) int64 { return int64(len(r.Key)+len(r.Value)) + recordBytes }

// detach stops fetching; mu of the source is held.
func (r *reader) detach() {
	if !r.attached {
		return
	}
	s := r.s
	_ = s.charge(r, -r.bytes)
	r.queue = nil
	r.held, r.full = false, false
	s.setPaused(r)
	r.attached = false
	delete(s.readers, r.part)
	if r.live {
		r.live = false
		p := r.part
		s.do(func() { s.client.RemoveConsumePartitions(map[string][]int32{p.topic: {p.num}}) })
	}
	s.signal()
}

// Close stops fetching the partition.
func (r *reader) Close() error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.closed = true
	r.detach()
	return nil
}
