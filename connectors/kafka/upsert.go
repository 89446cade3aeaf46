package kafka

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-sql/weir/connectors"
)

// Upsert is the connector 'upsert-kafka': a topic whose keys are the PRIMARY KEY of the table. A record sets the row of its key, a null value deletes it.
type Upsert struct{}

// Name is upsert-kafka.
func (Upsert) Name() string { return "upsert-kafka" }

// Options lists the options.
func (Upsert) Options() []connectors.Option {
	return append([]connectors.Option{
		{Name: "topic", Type: "string", Required: true, Doc: "The topic."},
		{Name: "sink.buffer-flush.max-rows", Type: "integer", Default: "0", Doc: "With the interval: changes are kept until there are those of so many keys, and only the last one of each key is written."},
		{Name: "sink.buffer-flush.interval", Type: "duration", Default: "0", Doc: "For how long changes are kept at most; a checkpoint and the end write them too. Both options are needed; 0 for none."},
	}, commonOptions...)
}

// Table checks a declaration.
func (c Upsert) Table(ctx context.Context, decl connectors.Declaration) (connectors.Table, error) {
	t := &table{decl: decl, opts: decl.Options, upsert: true}
	for _, o := range []string{"key.format", "value.format"} {
		if decl.Options[o] == "" {
			return nil, connectors.NeedsOption("connector 'upsert-kafka'", o, "", decl.Options, c.Options())
		}
	}
	if len(decl.PrimaryKey) == 0 {
		return nil, fmt.Errorf("connector 'upsert-kafka' needs a PRIMARY KEY ... NOT ENFORCED: the columns that the key of a record has")
	}
	if err := t.setFormats("upsert-kafka", c.Options()); err != nil {
		return nil, err
	}
	if err := t.setTopics(); err != nil {
		return nil, err
	}
	if len(t.topics) > 1 {
		return nil, fmt.Errorf("connector 'upsert-kafka' takes one topic")
	}
	var key []string
	for _, i := range decl.PrimaryKey {
		key = append(key, decl.Columns[i].Name)
	}
	if err := t.splitColumns(key); err != nil {
		return nil, err
	}
	t.start = when{mode: "earliest-offset"}
	if rows, every := t.flushing(); (rows > 0) != (every > 0) {
		return nil, fmt.Errorf("'sink.buffer-flush.max-rows' and 'sink.buffer-flush.interval' act together only: set both above 0, or neither")
	}
	return t, t.finish()
}

// buffer keeps the last change of each key until there are enough, or for long enough ('sink.buffer-flush.*').
type buffer struct {
	s       *sink
	maxRows int
	ctx     context.Context // of the goroutine that sends when it is time
	cancel  context.CancelFunc
	stopped sync.WaitGroup

	mu    sync.Mutex
	at    map[string]int // key -> place in list
	list  []*kgo.Record
	bytes int64
}

// flushing is how many keys a sink keeps the changes of at most, and for how long; 0 for none.
func (t *table) flushing() (rows int64, every time.Duration) {
	return connectors.GetInt(t.opts, "sink.buffer-flush.max-rows", 0), connectors.GetDuration(t.opts, "sink.buffer-flush.interval", 0)
}

// newBuffer returns the buffer of a sink, nil when its table wants none.
func newBuffer(s *sink) *buffer {
	rows, every := s.t.flushing()
	if !s.t.upsert || rows <= 0 || every <= 0 {
		return nil
	}
	b := &buffer{s: s, maxRows: int(min(rows, 1<<24)), at: map[string]int{}}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.stopped.Add(1)
	s.env.Go(func(ctx context.Context) {
		defer b.stopped.Done()
		defer context.AfterFunc(ctx, b.cancel)()
		b.tick(every)
	})
	return b
}

// put takes a change.
func (b *buffer) put(ctx context.Context, r *kgo.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i, ok := b.at[string(r.Key)]; ok {
		b.bytes += size(r) - size(b.list[i])
		b.list[i] = r
	} else {
		b.at[string(r.Key)] = len(b.list)
		b.list = append(b.list, r)
		b.bytes += size(r)
	}
	if len(b.list) < b.maxRows && b.bytes < b.s.most {
		return nil
	}
	return b.send(ctx)
}

// send hands all to the client; mu is held. Keys come in the order in which they came first.
func (b *buffer) send(ctx context.Context) error {
	for _, r := range b.list {
		if err := b.s.send(ctx, r); err != nil {
			return err
		}
	}
	b.list, b.bytes = nil, 0
	clear(b.at)
	return nil
}

func (b *buffer) flush(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.send(ctx)
}

// tick sends from time to time. What goes wrong is met by the next Write, or by Prepare.
func (b *buffer) tick(every time.Duration) {
	for {
		c, off := b.s.env.Clock.After(every)
		select {
		case <-c:
			_ = b.flush(b.ctx)
		case <-b.ctx.Done():
			off()
			return
		}
	}
}

// close ends the buffer; what is in it is dropped.
func (b *buffer) close() {
	b.cancel()
	b.stopped.Wait()
}
