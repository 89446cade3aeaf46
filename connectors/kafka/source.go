package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-sql/weir/connectors"
)

// What is read ahead, for a whole table: the queues of its readers hold at most about maxQueued bytes, those of paused ones maxHeld besides, and the client
// about two fetches more. A fetch is as large as its records are to be when they are decompressed; but the brokers give at least one batch.
const (
	maxQueued     = 8 << 20
	maxHeld       = 32 << 20
	maxFetch      = 4 << 20
	firstFetch    = 512 << 10 // until it is known how well the records are compressed
	minFetch      = 64 << 10
	maxPartFetch  = 1 << 20
	minPartFetch  = 32 << 10
	allPartFetch  = 16 << 20 // of all partitions together
	recordBytes   = 250      // what a record takes beside its key and value
	starvingAfter = 20 * time.Millisecond
)

// Source prepares a scan.
func (t *table) Source(scan connectors.Scan) (connectors.Source, error) {
	s := &source{t: t, readers: map[partition]*reader{}, changed: make(chan struct{}, 1), wake: make(chan struct{}, 1), stop: make(chan struct{}), maxHeld: maxHeld}
	var err error
	if s.dec, err = newDecoding(t, scan); err != nil {
		return nil, err
	}
	return s, nil
}

// source is one scan: a client, which a goroutine (the pump) empties into the queues of the readers.
type source struct {
	t   *table
	dec *decoding
	env *connectors.Env

	client  *kgo.Client
	adm     *kadm.Client
	changed chan struct{}
	sizes   sizes
	wake    chan struct{} // the pump: there is room, or somebody starves
	stop    chan struct{}
	running sync.WaitGroup
	known   map[string]bool // splits of the snapshot that the scan is restored from; nil without one

	mu      sync.Mutex
	splits  []connectors.Split
	parts   map[string]partition // by id of the split
	readers map[partition]*reader
	ops     []func()           // what the pump does before it polls next: only it changes what is consumed, so that it knows what a poll is of
	unpoll  context.CancelFunc // ends a poll that waits
	queued  int64              // bytes in the queues
	held    int64              // of them, in those of readers that are paused from outside
	maxHeld int64              // beyond which these are given up
	pops    int64              // how often something was taken out of one
	err     error              // of the whole scan
	checked time.Time
	closed  bool

	saidHeld bool // Report has said that it does not commit
}

// Restored tells which splits a snapshot has.
func (s *source) Restored(splits []connectors.Split) {
	s.known = map[string]bool{}
	for _, sp := range splits {
		s.known[sp.ID] = true
	}
}

// Changed signals new partitions.
func (s *source) Changed() <-chan struct{} {
	if s.t.Bounded() || s.t.discover <= 0 {
		return nil
	}
	return s.changed
}

// Splits lists the partitions. The first call connects and fixes where reading begins and ends; later ones only give what was found meanwhile.
func (s *source) Splits(ctx context.Context, env *connectors.Env) ([]connectors.Split, error) {
	if s.client == nil {
		if err := s.begin(ctx, env); err != nil {
			return nil, fmt.Errorf("table %s: %w", s.t.decl.Name, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	return append([]connectors.Split{}, s.splits...), nil
}

func (s *source) begin(ctx context.Context, env *connectors.Env) error {
	p := s.t.props
	s.env = env
	wait := p.millis("fetch.max.wait.ms", 500*time.Millisecond)
	if s.t.Bounded() {
		wait = min(wait, 100*time.Millisecond) // all is there: a wait is for nothing, and a partition that is resumed comes late
	}
	opts := []kgo.Opt{
		kgo.FetchMaxBytes(firstFetch), kgo.FetchMaxPartitionBytes(firstFetch), kgo.FetchMinBytes(int32(p.int("fetch.min.bytes", 1))), kgo.WithHooks(&s.sizes), kgo.WithPools(&slabs{}),
		kgo.FetchMaxWait(wait), kgo.KeepControlRecords(), kgo.KeepRetryableFetchErrors(), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
	}
	if p.committed() {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	if r := p["client.rack"]; r != "" {
		opts = append(opts, kgo.Rack(r))
	}
	client, err := p.client(env, "weir", opts...)
	if err != nil {
		return err
	}
	s.client, s.adm = client, kadm.NewClient(client)
	if err := p.ping(ctx, client); err != nil {
		return err
	}
	parts, err := s.t.find(ctx, s.adm)
	if err != nil {
		return err
	}
	if len(parts) == 0 {
		s.warnUnmatched(ctx)
	}
	if err := s.add(ctx, parts, s.known != nil); err != nil {
		return err
	}
	s.running.Add(1)
	env.Go(func(ctx context.Context) { defer s.running.Done(); s.pump(ctx) })
	if s.Changed() != nil {
		s.running.Add(1)
		env.Go(func(ctx context.Context) { defer s.running.Done(); s.watch(ctx) })
	}
	return nil
}

// add makes splits of partitions. Those that were born later, which a restored scan or discovery finds, begin at their beginning.
func (s *source) add(ctx context.Context, parts []partition, later bool) error {
	var start []int64
	var err error
	switch {
	case !later:
		start, err = s.t.resolve(ctx, s.adm, s.t.start, parts, false)
	case s.known == nil || slices.ContainsFunc(parts, func(p partition) bool { return !s.known[p.String()] }):
		start, err = s.t.resolve(ctx, s.adm, when{mode: "earliest-offset"}, parts, false)
	default: // every split has its position
		start = make([]int64, len(parts))
	}
	if err != nil {
		return err
	}
	stop := make([]int64, len(parts))
	for i := range stop {
		stop[i] = -1
	}
	if s.t.Bounded() {
		if stop, err = s.t.resolve(ctx, s.adm, s.t.stop, parts, true); err != nil {
			return err
		}
		for _, p := range parts {
			if _, ok := s.t.stop.offsets[p.num]; !ok && s.t.stop.mode == "specific-offsets" {
				s.env.Log.Warn("a Kafka partition is not read: 'scan.bounded.specific-offsets' do not name it", "table", s.t.decl.Name, "topic", p.topic, "partition", p.num)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts == nil {
		s.parts = map[string]partition{}
	}
	for i, p := range parts {
		at := position{topic: p.id, next: start[i], stop: stop[i]}
		s.parts[p.String()] = p
		s.splits = append(s.splits, connectors.Split{ID: p.String(), Bounded: s.t.Bounded(), Bytes: -1, Start: at.encode()})
	}
	return nil
}

// Open starts to read a partition.
func (s *source) Open(ctx context.Context, env *connectors.Env, split connectors.Split, from connectors.Position, blockBytes int) (connectors.Reader, error) {
	if from == nil {
		from = split.Start
	}
	at, err := decodePosition(from)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.parts[split.ID]
	switch {
	case !ok:
		return nil, fmt.Errorf("table %s: partition %s does not exist any more", s.t.decl.Name, split.ID)
	case p.id != at.topic:
		return nil, s.recreated(p.topic)
	}
	r := &reader{s: s, part: p, at: at, fresh: s.known == nil && bytes.Equal(from, split.Start), block: max(blockBytes, 1), ready: make(chan struct{}, 1)}
	if r.done() {
		return r, nil
	}
	s.readers[p] = r
	r.attached = true
	s.do(func() {
		s.mu.Lock()
		live := r.attached
		r.live = live
		s.mu.Unlock()
		if live {
			s.consume(p, at.next)
		}
	})
	return r, nil
}

// consume starts fetching a partition.
func (s *source) consume(p partition, offset int64) {
	s.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{p.topic: {p.num: kgo.NewOffset().At(offset)}})
}

// do has the pump do something; mu is held.
func (s *source) do(f func()) {
	s.ops = append(s.ops, f)
	if s.unpoll != nil {
		s.unpoll()
	}
	s.signal()
}

func (s *source) recreated(topic string) error {
	return fmt.Errorf("table %s: topic '%s' was deleted and made again while it was read: its offsets are those of other records now; start the query anew, without its checkpoint", s.t.decl.Name, topic)
}

// Close ends the scan.
func (s *source) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	close(s.stop)
	s.running.Wait()
	if s.client != nil {
		// Nothing may be assigned when the client closes: an update of its metadata that comes meanwhile would begin to fetch again, and a fetch that arrives
		// when Close is through keeps a goroutine and all that the client holds for ever (franz-go 1.22).
		assigned := map[string][]int32{}
		for _, p := range s.parts {
			assigned[p.topic] = append(assigned[p.topic], p.num)
		}
		s.client.RemoveConsumePartitions(assigned)
		s.client.Close()
	}
	return nil
}

// until returns a context that ends with the scan.
func (s *source) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		select {
		case <-s.stop:
		case <-ctx.Done():
		}
		cancel()
	}()
	return ctx, cancel
}

// fail ends all readers with an error.
func (s *source) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.closed {
		return
	}
	s.err = err
	for _, r := range s.readers {
		r.signal()
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// pump polls the client while there is room, and fills the queues.
func (s *source) pump(ctx context.Context) {
	ctx, cancel := s.until(ctx)
	defer cancel()
	for ctx.Err() == nil {
		s.mu.Lock()
		ops := s.ops
		s.ops = nil
		s.mu.Unlock()
		for _, f := range ops {
			f()
		}
		if !s.room(ctx) {
			continue
		}
		polling, unpoll := context.WithCancel(ctx)
		s.mu.Lock()
		s.unpoll = unpoll
		if len(s.ops) > 0 {
			unpoll()
		}
		s.mu.Unlock()
		s.limit()
		fetches := s.client.PollFetches(polling)
		unpoll()
		if ctx.Err() != nil || fetches.IsClientClosed() {
			return
		}
		fetches.EachPartition(func(f kgo.FetchTopicPartition) {
			if f.Partition < 0 { // the poll was ended
				return
			}
			if f.Err != nil {
				s.fetchError(ctx, f)
			}
			if len(f.Records) > 0 {
				s.put(f)
			}
		})
	}
}

// sizes learns how well records are compressed.
type sizes struct {
	raw, packed atomic.Int64
	used        int64 // the limit that the client has
}

// OnFetchBatchRead implements kgo.HookFetchBatchRead.
func (z *sizes) OnFetchBatchRead(_ kgo.BrokerMetadata, _ string, _ int32, m kgo.FetchBatchMetrics) {
	z.raw.Add(int64(m.UncompressedBytes) + int64(m.NumRecords)*recordBytes)
	z.packed.Add(int64(m.CompressedBytes))
}

// limit tells the client how much to fetch at once: of compressed bytes as much as become maxFetch.
func (s *source) limit() {
	z, p := &s.sizes, s.t.props
	raw, packed := z.raw.Load(), z.packed.Load()
	if packed == 0 {
		return
	}
	if raw > 64<<20 { // the past counts less and less
		z.raw.Add(-raw / 2)
		z.packed.Add(-packed / 2)
	}
	ratio := max(1, float64(raw)/float64(packed))
	all := max(minFetch, int64(maxFetch/ratio))
	if d := all - z.used; d > -z.used/4 && d < z.used/4 {
		return
	}
	z.used = all
	s.mu.Lock()
	n := max(len(s.parts), 1)
	s.mu.Unlock()
	part := min(max(minPartFetch, int64(float64(allPartFetch)/ratio)/int64(n)), int64(maxPartFetch/ratio)+minPartFetch, all)
	s.client.UpdateFetchMaxBytes(int32(min(all, p.int("fetch.max.bytes", all))), int32(min(part, p.int("max.partition.fetch.bytes", part))))
}

// room waits until the queues have room; false when there is something else to do. A reader may be waiting for its first record while all that is queued
// is for others, whose turn it is not (a scan in order of event time): then those are paused, and fetching goes on.
func (s *source) room(ctx context.Context) bool {
	for {
		s.mu.Lock()
		full, pops, ops := s.queued-s.held >= maxQueued, s.pops, len(s.ops)
		s.mu.Unlock()
		if ops > 0 || ctx.Err() != nil {
			return false
		}
		if !full {
			return true
		}
		t := time.NewTimer(starvingAfter)
		select {
		case <-s.wake:
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
		s.mu.Lock()
		if s.queued-s.held >= maxQueued && s.pops == pops && s.starving() {
			for _, r := range s.readers {
				if len(r.queue) > 0 && !r.full {
					r.full = true
					s.setPaused(r)
				}
			}
			s.mu.Unlock()
			return true
		}
		s.mu.Unlock()
	}
}

// starving reports whether a reader was asked and has nothing; mu is held.
func (s *source) starving() bool {
	for _, r := range s.readers {
		if r.asked && len(r.queue) == 0 && !r.held {
			return true
		}
	}
	return false
}

// setPaused tells the client whether to fetch a partition; mu is held.
func (s *source) setPaused(r *reader) {
	want := r.full || r.held
	if want == r.paused || !r.attached {
		return
	}
	r.paused = want
	which := map[string][]int32{r.part.topic: {r.part.num}}
	if want {
		s.client.PauseFetchPartitions(which)
	} else {
		s.client.ResumeFetchPartitions(which)
	}
}

// put queues the records of one partition.
func (s *source) put(f kgo.FetchTopicPartition) {
	c := chunk{records: f.Records}
	for _, r := range f.Records {
		c.bytes += size(r)
	}
	s.mu.Lock()
	r := s.reader(f.Topic, f.Partition)
	if r == nil || !r.live { // closed meanwhile, or opened again
		s.mu.Unlock()
		return
	}
	r.queue = append(r.queue, c)
	err := s.charge(r, c.bytes)
	if r.held {
		s.trim(r)
	}
	r.signal()
	s.mu.Unlock()
	if err != nil {
		s.fail(err)
	}
}

// charge counts bytes that a reader's queue has more; mu is held.
func (s *source) charge(r *reader, n int64) error {
	r.bytes += n
	s.queued += n
	if r.held {
		s.held += n
	}
	return s.env.Grow(n)
}

// reader returns the open reader of a partition, or nil; mu is held.
func (s *source) reader(topic string, num int32) *reader {
	for p, r := range s.readers {
		if p.num == num && p.topic == topic {
			return r
		}
	}
	return nil
}

// fetchError handles what a fetch of a partition says. What passes by itself is tried again by the client.
func (s *source) fetchError(ctx context.Context, f kgo.FetchTopicPartition) {
	var lost *kgo.ErrDataLoss
	switch err := f.Err; {
	case ctx.Err() != nil:
	case errors.Is(err, kerr.OffsetOutOfRange):
		s.outOfRange(ctx, f)
	case errors.Is(err, kerr.UnknownTopicID), errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.InconsistentTopicID):
		s.topicsGone(ctx)
	case errors.As(err, &lost):
		s.fail(fmt.Errorf("table %s: partition %d of topic '%s' has lost records that were read before: %w", s.t.decl.Name, f.Partition, f.Topic, err))
	case kerr.IsRetriable(err), kgo.IsRetryableBrokerErr(err), errors.Is(err, context.DeadlineExceeded):
		s.warn("fetching from a Kafka partition failed; it is tried again", f, err)
	default:
		s.fail(fmt.Errorf("table %s: partition %d of topic '%s' cannot be read: %w", s.t.decl.Name, f.Partition, f.Topic, explain(s.t.props, topicError(f.Topic, err))))
	}
}

// warn writes to the log, at most one line in ten seconds.
func (s *source) warn(msg string, f kgo.FetchTopicPartition, err error) {
	s.env.Count("fetch_errors", 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.checked) > 10*time.Second {
		s.checked = now
		s.env.Log.Warn(msg, "table", s.t.decl.Name, "topic", f.Topic, "partition", f.Partition, "error", err)
	}
}

// outOfRange handles a position that the topic does not have (any more): records were deleted before they were read, or the topic is shorter than it was.
func (s *source) outOfRange(ctx context.Context, f kgo.FetchTopicPartition) {
	s.mu.Lock()
	r := s.reader(f.Topic, f.Partition)
	if r == nil {
		s.mu.Unlock()
		return
	}
	p, next, fresh := r.part, r.tail(), r.fresh && !r.begun
	s.mu.Unlock()
	out := make([]int64, 1)
	which := []partition{p}
	rctx, cancel := s.t.requestTime(ctx)
	defer cancel()
	if err := s.t.list(rctx, s.adm, "earliest-offset", 0, which, []int{0}, out); err != nil {
		s.fail(err)
		return
	}
	first := out[0]
	reset := s.t.props["auto.offset.reset"]
	switch {
	case next <= first && fresh && s.t.start.mode == "earliest-offset": // deleted while we came: the beginning is elsewhere now
	case reset == "earliest":
		fresh = false
	case reset == "latest":
		fresh = false
		if err := s.t.list(rctx, s.adm, "latest-offset", 0, which, []int{0}, out); err != nil {
			s.fail(err)
			return
		}
	case next < first:
		s.fail(fmt.Errorf("table %s: partition %d of topic '%s' begins at offset %d now: the records from %d on were deleted before they were read; set 'properties.auto.offset.reset' "+
			"= 'earliest' to go on without them", s.t.decl.Name, p.num, p.topic, first, next))
		return
	default:
		s.fail(fmt.Errorf("table %s: partition %d of topic '%s' has no offset %d: it ends before; set 'properties.auto.offset.reset' to go on elsewhere", s.t.decl.Name, p.num, p.topic, next))
		return
	}
	if !fresh {
		s.env.Count("lost_positions", 1)
		if out[0] > next {
			s.env.Count("lost_offsets", out[0]-next)
		}
		s.env.Log.Warn("a Kafka partition no longer has the next offset; reading goes on elsewhere", "table", s.t.decl.Name, "topic", p.topic, "partition", p.num,
			"offset", next, "goes_on_at", out[0])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readers[p] != r {
		return
	}
	if len(r.queue) == 0 {
		r.at.next = out[0]
	} else {
		last := &r.queue[len(r.queue)-1]
		last.next = out[0]
	}
	s.client.RemoveConsumePartitions(map[string][]int32{p.topic: {p.num}})
	s.consume(p, out[0])
	r.signal()
}

// topicsGone looks whether topics were deleted, or made again under the same name.
func (s *source) topicsGone(ctx context.Context) {
	rctx, cancel := s.t.requestTime(ctx)
	defer cancel()
	s.mu.Lock()
	names := map[string]kadm.TopicID{}
	for _, p := range s.parts {
		names[p.topic] = p.id
	}
	s.mu.Unlock()
	got, err := s.adm.ListTopicsWithInternal(rctx, sortedKeys(names)...)
	if err != nil {
		return // tried again with the next fetch
	}
	for _, name := range sortedKeys(names) {
		d := got[name]
		switch {
		case errors.Is(d.Err, kerr.UnknownTopicOrPartition):
			s.fail(fmt.Errorf("table %s: topic '%s' was deleted while it was read", s.t.decl.Name, name))
			return
		case d.Err == nil && d.ID != names[name]:
			s.fail(s.recreated(name))
			return
		}
	}
}

// watch looks for new partitions from time to time.
func (s *source) watch(ctx context.Context) {
	ctx, cancel := s.until(ctx)
	defer cancel()
	for {
		c, stop := s.env.Clock.After(s.t.discover)
		select {
		case <-c:
		case <-ctx.Done():
			stop()
			return
		}
		parts, err := s.t.find(ctx, s.adm)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.env.Log.Warn("looking for new Kafka partitions failed; it is tried again", "table", s.t.decl.Name, "error", err)
			continue
		}
		var fresh []partition
		s.mu.Lock()
		for _, p := range parts {
			old, there := s.parts[p.String()]
			if there && old.id != p.id {
				s.mu.Unlock()
				s.fail(s.recreated(p.topic))
				return
			}
			if !there {
				fresh = append(fresh, p)
			}
		}
		s.mu.Unlock()
		if len(fresh) == 0 {
			continue
		}
		if err := s.add(ctx, fresh, true); err != nil {
			s.env.Log.Warn("new Kafka partitions cannot be read yet; it is tried again", "table", s.t.decl.Name, "error", err)
			continue
		}
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
}
