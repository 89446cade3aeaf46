package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Sink prepares writing.
func (t *table) Sink(w connectors.Write) (connectors.Sink, error) {
	switch {
	case w.Overwrite:
		return nil, fmt.Errorf("table %s: a topic cannot be overwritten: use INSERT INTO", t.decl.Name)
	case t.AcceptsKinds() == "":
		return nil, fmt.Errorf("table %s: the format '%s' cannot be written", t.decl.Name, t.value.name)
	}
	if err := t.CheckWrite(w); err != nil {
		return nil, err
	}
	s := &sink{t: t, exactly: t.guarantee == "exactly-once", committed: map[string]bool{}, columns: len(t.decl.Columns), headers: -1, timestamp: -1, topicCol: -1}
	at := s.columns
	for _, m := range t.decl.Metadata {
		if m.Virtual {
			continue
		}
		switch m.Key {
		case "headers":
			s.headers = at
		case "timestamp":
			s.timestamp = at
		case "topic":
			s.topicCol = at
		default:
			return nil, fmt.Errorf("table %s: the metadata '%s' cannot be written: declare the column VIRTUAL", t.decl.Name, m.Key)
		}
		at++
	}
	if len(t.topics) == 1 {
		s.topic = t.topics[0]
	} else if s.topicCol < 0 {
		return nil, fmt.Errorf("table %s has several topics: a sink needs one, or a column METADATA FROM 'topic' that says which", t.decl.Name)
	}
	var err error
	if s.value, err = t.encoder(t.value, t.valueConfig(nil, nil, false), t.valueCols); err != nil {
		return nil, err
	}
	if t.key.format != nil {
		if s.key, err = t.encoder(t.key, t.keyConfig(nil, false), t.keyCols); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// encoding writes the key or the value.
type encoding struct {
	enc    connectors.MessageEncoder
	cols   []int
	schema *arrow.Schema
}

func (t *table) encoder(p part, cfg connectors.FormatConfig, cols []int) (*encoding, error) {
	e, err := p.format.Encoder(cfg)
	if err != nil {
		return nil, err
	}
	m, ok := e.(connectors.MessageEncoder)
	if !ok {
		return nil, fmt.Errorf("table %s: the format '%s' cannot write messages", t.decl.Name, p.name)
	}
	return &encoding{enc: m, cols: cols, schema: cfg.Columns.Arrow()}, nil
}

// project returns the columns of a batch that the encoder writes; the caller releases it.
func (e *encoding) project(rec arrow.RecordBatch) arrow.RecordBatch {
	cols := make([]arrow.Array, len(e.cols))
	for i, c := range e.cols {
		cols[i] = rec.Column(c)
	}
	return array.NewRecordBatch(e.schema, cols, rec.NumRows())
}

// sink writes one partition of a sink.
type sink struct {
	t                            *table
	columns                      int
	headers, timestamp, topicCol int // columns of the batch, -1 for none
	topic                        string
	key, value                   *encoding
	client                       *kgo.Client
	env                          *connectors.Env

	buffer   *buffer       // of upsert-kafka; nil without
	room     chan struct{} // something has arrived
	most     int64         // bytes that may be under way
	patience time.Duration // after which nothing has arrived

	// For exactly-once: the transaction that is written, those that wait for their commit, and the names of those that had it.
	exactly   bool
	txn       *transaction
	prepared  []*transaction
	committed map[string]bool
	begun     int // transactions so far

	mu       sync.Mutex
	pending  int64     // bytes under way
	progress time.Time // when something arrived last, or began to be under way
	err      error     // the first record that could not be written
}

// Immediate is true but for exactly-once: rows can be read as soon as they have arrived.
func (s *sink) Immediate() bool { return !s.exactly }

// Open connects.
func (s *sink) Open(ctx context.Context, env *connectors.Env, restored [][]byte) error {
	s.env, s.room, s.most = env, make(chan struct{}, 1), max(s.t.props.int("buffer.memory", 16<<20), 64<<10)
	s.patience = max(s.t.props.millis("delivery.timeout.ms", 2*time.Minute), time.Second)
	s.buffer = newBuffer(s)
	if s.exactly {
		if len(restored) > 0 {
			return fmt.Errorf("table %s: a snapshot has transactions that were not committed, which cannot be continued yet: start without it", s.t.decl.Name)
		}
		return s.begin(ctx)
	}
	opts, err := s.t.producerOptions(s.key != nil, env)
	if err != nil {
		return err
	}
	client, err := s.t.props.client(env, "weir", opts...)
	if err != nil {
		return fmt.Errorf("table %s: %w", s.t.decl.Name, err)
	}
	s.client = client
	if err := s.t.props.ping(ctx, client); err != nil {
		return fmt.Errorf("table %s: %w", s.t.decl.Name, err)
	}
	return nil
}

func (t *table) producerOptions(keyed bool, env *connectors.Env) ([]kgo.Opt, error) {
	p := t.props
	codec := map[string]kgo.CompressionCodec{"": kgo.NoCompression(), "none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}[strings.ToLower(p["compression.type"])]
	for _, c := range []string{"gzip", "lz4", "zstd"} {
		if _, ok := p["compression."+c+".level"]; ok && strings.EqualFold(p["compression.type"], c) {
			codec = codec.WithLevel(int(p.int("compression."+c+".level", 0)))
		}
	}
	batch := int32(min(max(p.int("max.request.size", 1<<20), 1<<10), 1<<30))
	opts := []kgo.Opt{
		kgo.ProducerBatchCompression(codec), kgo.ProducerLinger(p.millis("linger.ms", 5*time.Millisecond)), kgo.MaxBufferedRecords(math.MaxInt32),
		kgo.ProducerBatchMaxBytes(batch),
		kgo.UnknownTopicRetries(4),
	}
	if int64(batch) > 100<<20 {
		opts = append(opts, kgo.BrokerMaxWriteBytes(batch))
	}
	switch p["acks"] {
	case "0":
		opts = append(opts, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	case "1":
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	default:
		if strings.EqualFold(p["enable.idempotence"], "false") {
			opts = append(opts, kgo.DisableIdempotentWrite())
		}
	}
	switch connectors.GetEnum(t.opts, "sink.partitioner", "default", "default", "fixed", "round-robin") {
	case "fixed":
		own := env.Partition
		opts = append(opts, kgo.RecordPartitioner(kgo.BasicConsistentPartitioner(func(string) func(*kgo.Record, int) int {
			return func(_ *kgo.Record, n int) int { return own % n }
		})))
	case "round-robin":
		if !keyed { // with keys it is the default, as in Flink
			opts = append(opts, kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
		}
	}
	return opts, nil
}

// Write encodes the rows and hands them to the client; it waits while that holds too much that has not arrived.
func (s *sink) Write(ctx context.Context, b stream.Batch) error {
	defer b.Release()
	s.stuck()
	if err := s.failed(); err != nil {
		return err
	}
	n := b.Len()
	if n == 0 {
		return nil
	}
	if s.client == nil {
		if err := s.begin(ctx); err != nil {
			return err
		}
	}
	values := s.value.project(b.Record)
	defer values.Release()
	var keys arrow.RecordBatch
	if s.key != nil {
		keys = s.key.project(b.Record)
		defer keys.Release()
	}
	records := make([]kgo.Record, n)
	var text []byte // of all records; those that were cut off before it grew keep the old one
	cut := func(from int, ok bool) []byte {
		switch {
		case !ok:
			return nil
		case from == len(text):
			return []byte{} // empty is not null
		}
		return text[from:len(text):len(text)]
	}
	for i := range n {
		row := b.Row(i)
		kind := b.Kind(row)
		if s.t.upsert && kind == stream.UpdateBefore {
			continue // the row behind it says it all
		}
		r := &records[i]
		var err error
		var ok bool
		if len(text) > 1<<20 {
			text = nil
		}
		if s.key != nil {
			from := len(text)
			if text, ok, err = s.key.enc.EncodeMessage(text, keys, int32(row), stream.Insert); err != nil {
				return s.rowError("key", err)
			}
			r.Key = cut(from, ok)
		}
		if !s.t.upsert || kind != stream.Delete {
			from := len(text)
			if text, ok, err = s.value.enc.EncodeMessage(text, values, int32(row), kind); err != nil {
				return s.rowError("value", err)
			}
			if r.Value = cut(from, ok); s.t.upsert && !ok {
				return s.rowError("value", errors.New("a null value would be a deletion"))
			}
		}
		if err := s.metadata(r, b.Record, row); err != nil {
			return err
		}
		if s.buffer != nil {
			err = s.buffer.put(ctx, r)
		} else {
			err = s.send(ctx, r)
		}
		if err != nil {
			return err
		}
	}
	return s.failed()
}

// send hands a record to the client.
func (s *sink) send(ctx context.Context, r *kgo.Record) error {
	if err := s.wait(ctx, size(r)); err != nil {
		return err
	}
	if s.exactly {
		s.mu.Lock()
		s.txn.topics[r.Topic] = true
		s.mu.Unlock()
	}
	// A query that is cancelled still sends what it wrote before.
	s.client.Produce(context.WithoutCancel(ctx), r, s.promise)
	return nil
}

// wait waits until what has not arrived leaves room for n bytes more, and takes them.
func (s *sink) wait(ctx context.Context, n int64) error {
	for {
		s.mu.Lock()
		err := s.err
		if err == nil && (s.pending == 0 || s.pending+n <= s.most) {
			if s.pending == 0 {
				s.progress = time.Now()
			}
			s.pending += n
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
		t := time.NewTimer(s.patience)
		select {
		case <-s.room:
		case <-t.C:
			s.stuck()
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
		t.Stop()
	}
}

// stuck makes an error of it when nothing has arrived for 'properties.delivery.timeout.ms'. (The client's own timeout counts from the record's timestamp,
// which may be any.)
func (s *sink) stuck() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && s.pending > 0 && time.Since(s.progress) >= s.patience {
		s.err = fmt.Errorf("table %s: no broker has taken a record for %v ('properties.delivery.timeout.ms')", s.t.decl.Name, s.patience)
	}
}

func (s *sink) rowError(part string, err error) error {
	return fmt.Errorf("table %s: a row cannot be written as the %s of a record: %w", s.t.decl.Name, part, err)
}

// metadata sets what metadata columns say.
func (s *sink) metadata(r *kgo.Record, rec arrow.RecordBatch, row int) error {
	r.Topic = s.topic
	if s.topicCol >= 0 {
		if a := rec.Column(s.topicCol); !a.IsNull(row) {
			r.Topic = a.(*array.String).Value(row)
		}
		switch {
		case r.Topic == "":
			return fmt.Errorf("table %s: the metadata 'topic' is NULL: it says which topic a row goes to", s.t.decl.Name)
		case len(s.t.topics) > 0 && !slices.Contains(s.t.topics, r.Topic):
			return fmt.Errorf("table %s: a row goes to topic '%s', which option 'topic' does not list", s.t.decl.Name, r.Topic)
		case s.t.pattern != nil && !s.t.pattern.MatchString(r.Topic):
			return fmt.Errorf("table %s: a row goes to topic '%s', which 'topic-pattern' does not match", s.t.decl.Name, r.Topic)
		}
		r.Topic = strings.Clone(r.Topic)
	}
	if s.timestamp >= 0 {
		if a := rec.Column(s.timestamp); !a.IsNull(row) {
			us := int64(a.(*array.Timestamp).Value(row))
			if us < 0 {
				return fmt.Errorf("table %s: the metadata 'timestamp' is before 1970, which Kafka has no timestamps for", s.t.decl.Name)
			}
			r.Timestamp = time.UnixMilli(us / types.MicrosPerMilli)
		}
	}
	if s.headers >= 0 {
		if l := rec.Column(s.headers).(*array.List); !l.IsNull(row) {
			kv := l.ListValues().(*array.Struct)
			names, values := kv.Field(0).(*array.String), kv.Field(1).(*array.Binary)
			from, to := l.ValueOffsets(row)
			for j := int(from); j < int(to); j++ {
				if names.IsNull(j) {
					return fmt.Errorf("table %s: the metadata 'headers' has a NULL key", s.t.decl.Name)
				}
				h := kgo.RecordHeader{Key: strings.Clone(names.Value(j))}
				if !values.IsNull(j) {
					h.Value = slices.Clone(values.Value(j))
					if h.Value == nil {
						h.Value = []byte{}
					}
				}
				r.Headers = append(r.Headers, h)
			}
		}
	}
	return nil
}

// promise takes the outcome of a record.
func (s *sink) promise(r *kgo.Record, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = time.Now()
	s.pending -= size(r)
	select {
	case s.room <- struct{}{}:
	default:
	}
	switch {
	case err == nil || s.err != nil:
		return
	case s.t.guarantee == "none":
		s.env.Count("lost_records", 1)
		return
	}
	switch {
	case errors.Is(err, kerr.MessageTooLarge):
		err = fmt.Errorf("it is too large: raise 'properties.max.request.size', and max.message.bytes of the topic (%w)", err)
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		err = fmt.Errorf("the topic does not exist: create it first (%w)", err)
	}
	if s.exactly && (errors.Is(err, kerr.InvalidProducerEpoch) || errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidTxnState)) {
		s.err = s.transactionError("cannot go on", err)
		return
	}
	s.err = fmt.Errorf("table %s: a record could not be written to topic '%s': %w", s.t.decl.Name, r.Topic, explain(s.t.props, err))
}

func (s *sink) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Prepare waits until all rows have arrived.
func (s *sink) Prepare(ctx context.Context, epoch int64) ([]byte, error) {
	if s.buffer != nil {
		if err := s.buffer.flush(ctx); err != nil {
			return nil, err
		}
	}
	if s.exactly {
		return s.prepareTransaction(ctx)
	}
	if s.client == nil {
		return nil, nil
	}
	if s.t.guarantee != "none" {
		if err := s.flush(ctx); err != nil {
			return nil, err
		}
	}
	return nil, s.failed()
}

// flush waits until all has arrived, or nothing does any more.
func (s *sink) flush(ctx context.Context) error {
	for {
		limited, cancel := context.WithTimeout(ctx, s.patience)
		err := s.client.Flush(limited)
		cancel()
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if s.stuck(); s.failed() != nil {
			return s.failed()
		}
	}
}

// Commit ends the transaction of an exactly-once sink; of others rows are seen as they arrive.
func (s *sink) Commit(ctx context.Context, receipt []byte) error {
	if !s.exactly || receipt == nil {
		return nil
	}
	return s.commitTransaction(ctx, receipt)
}

// Close ends the client. Rows that were written and have not arrived yet get a moment to.
func (s *sink) Close() error {
	if s.buffer != nil {
		s.buffer.close()
	}
	if s.exactly {
		s.abort()
		return nil
	}
	if s.client == nil {
		return nil
	}
	if s.failed() == nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_ = s.client.Flush(ctx)
		cancel()
	}
	s.client.Close()
	s.client = nil
	return nil
}
