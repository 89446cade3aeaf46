package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/internal/colbuf"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// decoding turns records into rows of a scan.
type decoding struct {
	t      *table
	out    types.Schema
	schema *arrow.Schema
	from   []origin // of each column of out
	plain  bool     // the rows are those of the value's decoder
	upsert bool
	// key is nil when no key column is wanted.
	key, value decoders
	keySchema  types.Schema // all columns of the key
	tolerant   bool         // bad records are listed
}

// origin says where a column comes from: a column of the key's or the value's batch, or a metadata key.
type origin struct {
	key, value int // -1: not from there
	metadata   string
}

// decoders are copies of one decoder, one for each goroutine that decodes.
type decoders struct {
	proto connectors.MessageDecoder
	pool  *sync.Pool
}

func newDecoders(p part, cfg connectors.FormatConfig) (decoders, error) {
	d, err := p.format.Decoder(cfg)
	if err != nil {
		return decoders{}, err
	}
	m, ok := d.(connectors.MessageDecoder)
	if !ok {
		return decoders{}, fmt.Errorf("the format '%s' cannot read messages", p.name)
	}
	return decoders{m, &sync.Pool{New: func() any { return m.Clone() }}}, nil
}

func (d decoders) decode(ctx context.Context, m connectors.Messages, mem memory.Allocator) (connectors.Decoded, []int32, error) {
	one := d.pool.Get().(connectors.MessageDecoder)
	out, of, err := one.DecodeMessages(ctx, m, mem)
	d.pool.Put(one)
	return out, of, err
}

func newDecoding(t *table, scan connectors.Scan) (*decoding, error) {
	d := &decoding{t: t, upsert: t.upsert}
	var fromKey, fromValue []int
	for _, c := range scan.Columns {
		inKey, inValue := slices.Contains(t.keyCols, c), slices.Contains(t.valueCols, c)
		// A column that both have is the value's, as in Flink; but a deletion by a null value has the key only.
		if inValue {
			fromValue = append(fromValue, c)
		}
		if inKey && (!inValue || t.upsert) {
			fromKey = append(fromKey, c)
		}
	}
	var valueMeta []string
	for _, m := range scan.Metadata {
		if k, ok := strings.CutPrefix(m, "value."); ok {
			valueMeta = append(valueMeta, k)
		} else if metadataColumns.Index(m) < 0 {
			return nil, fmt.Errorf("unknown metadata '%s' of connector 'kafka'", m)
		}
	}
	// A record whose key is bad is no row, whichever columns are wanted: keys are read where the value does not have all of their columns.
	keyed := t.upsert || slices.ContainsFunc(t.keyCols, func(c int) bool { return !slices.Contains(t.valueCols, c) })
	d.plain = len(scan.Metadata) == len(valueMeta) && !keyed
	add := func(c types.Column, o origin) { d.out, d.from = append(d.out, c), append(d.from, o) }
	// Wanted columns of a format come in the order of its columns, not of the table's.
	position := func(cols, wanted []int, c int) int {
		n := 0
		for _, x := range cols {
			if x == c {
				return n
			}
			if slices.Contains(wanted, x) {
				n++
			}
		}
		return -1
	}
	for _, c := range scan.Columns {
		o := origin{key: -1, value: -1}
		if slices.Contains(fromValue, c) {
			o.value = position(t.valueCols, fromValue, c)
		}
		if slices.Contains(fromKey, c) {
			o.key = position(t.keyCols, fromKey, c)
		}
		add(t.decl.Columns[c], o)
	}
	for _, m := range scan.Metadata {
		o := origin{key: -1, value: -1, metadata: m}
		if k, ok := strings.CutPrefix(m, "value."); ok {
			o = origin{key: -1, value: len(fromValue) + slices.Index(valueMeta, k)}
		}
		add(t.metadata[t.metadata.Index(m)], o)
	}
	d.schema = d.out.Arrow()
	var err error
	cfg := t.valueConfig(fromValue, valueMeta, scan.KeepBad)
	if d.value, err = newDecoders(t.value, cfg); err != nil {
		return nil, err
	}
	if keyed {
		cfg := t.keyConfig(fromKey, scan.KeepBad)
		d.keySchema = cfg.Columns
		if d.key, err = newDecoders(t.key, cfg); err != nil {
			return nil, err
		}
	}
	d.tolerant = scan.KeepBad || connectors.GetBool(t.key.opts, "ignore-parse-errors", false)
	return d, nil
}

// block returns the Decode of a block of records of one partition.
func (d *decoding) block(p partition, recs []*kgo.Record, env *connectors.Env) func(context.Context, memory.Allocator) (connectors.Decoded, error) {
	return func(ctx context.Context, mem memory.Allocator) (connectors.Decoded, error) {
		out, err := d.decode(ctx, p, recs, env, mem)
		if err != nil {
			return out, d.located(p, err)
		}
		return out, nil
	}
}

// located says of a bad record where it is in Kafka's words.
func (d *decoding) located(p partition, err error) error {
	var b *connectors.BadRecord
	if !errors.As(err, &b) {
		return err
	}
	c := *b
	c.Err = d.t.value.asWritten(c.Err)
	return &badRecord{BadRecord: &c, text: fmt.Sprintf("table %s: the record at offset %d of partition %d of topic '%s' is bad: %s", d.t.decl.Name, c.Position, p.num, p.topic, c.Err)}
}

// asWritten gives options in a format's message the prefix that they have in the declaration.
func (p part) asWritten(s string) string {
	if p.prefix == p.name {
		return s
	}
	return strings.ReplaceAll(s, "'"+p.name+".", "'"+p.prefix+".")
}

// ofKey says of a bad record that its key is.
func (d *decoding) ofKey(err error) error {
	var b *connectors.BadRecord
	if !errors.As(err, &b) {
		return err
	}
	c := *b
	c.Err = "the key: " + d.t.key.asWritten(c.Err)
	return &c
}

type badRecord struct {
	*connectors.BadRecord
	text string
}

func (b *badRecord) Error() string { return b.text }
func (b *badRecord) Unwrap() error { return b.BadRecord }

func (d *decoding) decode(ctx context.Context, p partition, recs []*kgo.Record, env *connectors.Env, mem memory.Allocator) (connectors.Decoded, error) {
	if d.key.proto == nil {
		out, of, err := d.values(ctx, p, recs, env, mem)
		if err != nil {
			return out, err
		}
		if d.plain {
			out.Position = func(row int) int64 {
				if of != nil {
					row = int(of[row])
				}
				return recs[row].Offset
			}
			return out, nil
		}
		return d.assemble(out, of, nil, nil, recs, mem)
	}
	// The keys first: a record whose key is bad is no row.
	keys := make([][]byte, len(recs))
	for i, r := range recs {
		keys[i] = r.Key
	}
	offset := func(i int) int64 { return recs[i].Offset }
	k, keyOf, err := d.key.decode(ctx, connectors.Messages{Split: p.String(), Values: keys, Offset: offset}, mem)
	if err != nil {
		return connectors.Decoded{}, d.ofKey(err)
	}
	defer k.Batch.Release()
	rowOf := make([]int32, len(recs)) // row of the key's batch for each record, -1 for none
	var bad []connectors.BadRecord
	if keyOf == nil {
		for i := range rowOf {
			rowOf[i] = int32(i)
		}
	} else {
		for i := range rowOf {
			rowOf[i] = -1
		}
		for row, i := range keyOf {
			if rowOf[i] >= 0 {
				bad = append(bad, connectors.BadRecord{Raw: bytes.Clone(recs[i].Key), Err: "the key has more than one row", Split: p.String(), Position: recs[i].Offset})
			}
			rowOf[i] = int32(row)
		}
		for i, r := range recs {
			if why := d.noKey(r.Key); rowOf[i] < 0 && why != "" && !slices.ContainsFunc(k.Bad, func(b connectors.BadRecord) bool { return b.Position == r.Offset }) {
				bad = append(bad, connectors.BadRecord{Raw: bytes.Clone(r.Value), Err: why, Split: p.String(), Position: r.Offset})
			}
		}
	}
	if len(bad) > 0 && !d.tolerant {
		return connectors.Decoded{}, &bad[0]
	}
	for _, b := range k.Bad {
		b.Err = "the key: " + b.Err
		bad = append(bad, b)
	}
	if len(bad) > 0 {
		sort.SliceStable(bad, func(i, j int) bool { return bad[i].Position < bad[j].Position })
		isBad := map[int64]bool{}
		for _, b := range bad {
			if !b.Kept {
				isBad[b.Position] = true
			}
		}
		var good []*kgo.Record
		var rows []int32
		for i, r := range recs {
			if !isBad[r.Offset] {
				good, rows = append(good, r), append(rows, rowOf[i])
			}
		}
		recs, rowOf = good, rows
	}
	v, of, err := d.values(ctx, p, recs, env, mem)
	if err != nil {
		return v, err
	}
	v.Bad = mergeBad(v.Bad, bad, of, recs, v.Batch.Len())
	return d.assemble(v, of, k.Batch.Record, rowOf, recs, mem)
}

// noKey says why a record without a key row cannot be a row, "" when it can: its key columns are NULL then.
func (d *decoding) noKey(key []byte) string {
	if d.upsert {
		return "the key is null, and the table has a PRIMARY KEY"
	}
	for _, c := range d.keySchema {
		if !c.Type.Nullable {
			return "the key is null, and column " + c.Name + " is NOT NULL"
		}
	}
	return ""
}

// values decodes the values. A null value of upsert-kafka is a deletion: a row of its own, without columns of the value.
func (d *decoding) values(ctx context.Context, p partition, recs []*kgo.Record, env *connectors.Env, mem memory.Allocator) (connectors.Decoded, []int32, error) {
	values := make([][]byte, len(recs))
	nulls := int64(0)
	for i, r := range recs {
		if values[i] = r.Value; r.Value == nil {
			nulls++
		}
	}
	if nulls > 0 && !d.upsert && d.t.value.name != "raw" {
		env.Count("null_messages", nulls)
	}
	return d.value.decode(ctx, connectors.Messages{Split: p.String(), Values: values, Offset: func(i int) int64 { return recs[i].Offset }}, mem)
}

// mergeBad puts the bad keys among the bad values, by offset, with the number of good rows before each.
func mergeBad(values, keys []connectors.BadRecord, of []int32, recs []*kgo.Record, rows int) []connectors.BadRecord {
	if len(keys) == 0 {
		return values
	}
	for i := range keys {
		b := &keys[i]
		before := sort.Search(len(recs), func(k int) bool { return recs[k].Offset >= b.Position }) // records before it
		b.Row = min(before, rows)
		if of != nil {
			b.Row = sort.Search(len(of), func(k int) bool { return int(of[k]) >= before })
		}
	}
	out := append(append([]connectors.BadRecord{}, values...), keys...)
	sort.SliceStable(out, func(i, j int) bool { return out[i].Position < out[j].Position })
	return out
}

// assemble puts the columns of a scan together. It takes over the value's batch and borrows the keys.
func (d *decoding) assemble(v connectors.Decoded, of []int32, keys arrow.RecordBatch, keyRow []int32, recs []*kgo.Record, mem memory.Allocator) (connectors.Decoded, error) {
	value := v.Batch.Record
	defer value.Release()
	n := int(value.NumRows())
	record := func(row int) int {
		if of == nil {
			return row
		}
		return int(of[row])
	}
	kinds := v.Batch.Kinds
	valueRow := func(row int) int { return row }
	if d.upsert {
		// Rows in the order of their records: that of the value, or a deletion.
		var list []int32 // of the value's row, -1 for a deletion
		var from []int32 // of the record
		next := 0
		deletes := 0
		for i, r := range recs {
			if r.Value == nil {
				list, from = append(list, -1), append(from, int32(i))
				deletes++
				continue
			}
			for next < n && record(next) == i {
				list, from = append(list, int32(next)), append(from, int32(i))
				next++
			}
		}
		kinds = make([]stream.RowKind, len(list))
		for i, x := range list {
			kinds[i] = stream.UpdateAfter
			if x < 0 {
				kinds[i] = stream.Delete
			}
		}
		if deletes > 0 {
			for i := range v.Bad { // deletions are rows before it, too
				b := &v.Bad[i]
				b.Row = sort.Search(len(from), func(k int) bool { return recs[from[k]].Offset >= b.Position })
			}
		}
		n = len(list)
		record = func(row int) int { return int(from[row]) }
		valueRow = func(row int) int { return int(list[row]) }
		if deletes == 0 {
			valueRow = func(row int) int { return row }
		}
	}
	same := d.sameRows(n, valueRow)
	cols := make([]arrow.Array, len(d.from))
	defer func() {
		for _, c := range cols {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, o := range d.from {
		switch {
		case o.metadata != "":
			cols[i] = metadataColumn(mem, o.metadata, d.out[i].Type, n, func(row int) *kgo.Record { return recs[record(row)] })
		case o.value >= 0 && same && int(value.NumRows()) == n:
			cols[i] = value.Column(o.value)
			cols[i].Retain()
		case o.value >= 0 && o.key >= 0: // upsert: a deletion's key columns are those of the key
			cols[i] = pick(mem, d.out[i].Type, n, func(row int) (arrow.Array, int) {
				if r := valueRow(row); r >= 0 {
					return value.Column(o.value), r
				}
				return keys.Column(o.key), int(keyRow[record(row)])
			})
		case o.value >= 0:
			cols[i] = pick(mem, d.out[i].Type, n, func(row int) (arrow.Array, int) { return value.Column(o.value), valueRow(row) })
		default:
			cols[i] = pick(mem, d.out[i].Type, n, func(row int) (arrow.Array, int) { return keys.Column(o.key), int(keyRow[record(row)]) })
		}
	}
	v.Batch = stream.Batch{Record: array.NewRecordBatch(d.schema, cols, int64(n)), Kinds: kinds}
	v.Position = func(row int) int64 { return recs[record(row)].Offset }
	return v, nil
}

func (d *decoding) sameRows(n int, valueRow func(int) int) bool {
	if !d.upsert {
		return true
	}
	for i := range n {
		if valueRow(i) != i {
			return false
		}
	}
	return true
}

// pick makes a column of n values, each of a row of some array; a negative row is NULL.
func pick(mem memory.Allocator, t types.Type, n int, at func(row int) (arrow.Array, int)) arrow.Array {
	b := types.NewBuilder(mem, t)
	defer b.Release()
	b.Reserve(n)
	for i := range n {
		a, r := at(i)
		if r < 0 {
			b.AppendNull()
		} else {
			types.AppendFrom(b, a, r)
		}
	}
	return b.NewArray()
}

var timestampTypes = map[int8][]byte{-1: []byte("NoTimestampType"), 0: []byte("CreateTime"), 1: []byte("LogAppendTime")}

// metadataColumn makes the column of a metadata key.
func metadataColumn(mem memory.Allocator, key string, t types.Type, n int, record func(row int) *kgo.Record) arrow.Array {
	c := colbuf.New(t)
	c.Start(mem, n)
	for i := range n {
		r := record(i)
		switch key {
		case "topic":
			c.PutBytes([]byte(r.Topic))
		case "partition":
			c.PutI32(r.Partition)
		case "offset":
			c.PutI64(r.Offset)
		case "leader-epoch":
			if r.LeaderEpoch < 0 {
				c.PutNull()
			} else {
				c.PutI32(r.LeaderEpoch)
			}
		case "timestamp":
			c.PutI64(r.Timestamp.UnixMilli() * types.MicrosPerMilli)
		case "timestamp-type":
			c.PutBytes(timestampTypes[r.Attrs.TimestampType()])
		case "headers":
			for k, h := range r.Headers {
				if slices.ContainsFunc(r.Headers[k+1:], func(x kgo.RecordHeader) bool { return x.Key == h.Key }) {
					continue // of equal keys the last counts
				}
				c.Kids[0].PutBytes([]byte(h.Key))
				if h.Value == nil {
					c.Kids[1].PutNull()
				} else {
					c.Kids[1].PutBytes(h.Value)
				}
			}
			c.PutList()
		}
	}
	d := c.Finish()
	defer d.Release()
	return array.MakeFromData(d)
}
