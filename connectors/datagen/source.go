package datagen

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/internal/colbuf"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Source prepares a scan.
func (t *table) Source(scan connectors.Scan) (connectors.Source, error) {
	if len(scan.Metadata) > 0 {
		return nil, fmt.Errorf("connector 'datagen' has no metadata")
	}
	s := &source{t: t, scan: scan}
	var out types.Schema
	for _, c := range scan.Columns {
		out = append(out, t.schema[c])
	}
	s.out, s.schema = out, out.Arrow()
	return s, nil
}

type source struct {
	t      *table
	scan   connectors.Scan
	out    types.Schema
	schema *arrow.Schema
}

func (s *source) Splits(context.Context, *connectors.Env) ([]connectors.Split, error) {
	return []connectors.Split{{ID: "datagen", Bounded: s.t.rows >= 0, Bytes: -1}}, nil
}

func (s *source) Changed() <-chan struct{} { return nil }
func (s *source) Close() error             { return nil }

func (s *source) Open(ctx context.Context, env *connectors.Env, split connectors.Split, from connectors.Position, blockBytes int) (connectors.Reader, error) {
	r := &reader{s: s, env: env, seed: s.t.seed, ready: make(chan struct{}, 1)}
	if !s.t.seeded {
		r.seed = rand.Uint64()
	}
	if from != nil {
		n := 0
		var v uint64
		if len(from) > 9 && from[0] == 1 {
			v, n = binary.Uvarint(from[9:])
		}
		if n <= 0 {
			return nil, fmt.Errorf("the position in the checkpoint is not one of connector 'datagen'")
		}
		r.seed, r.next = binary.LittleEndian.Uint64(from[1:]), int64(v)
	}
	// Rows come in small groups, some 50 in a second, so that a high rate does not mean a timer per row.
	r.group = max(1, s.t.rate/50)
	r.start = env.Clock.Now().Add(-r.due(r.next))
	return r, nil
}

type reader struct {
	s     *source
	env   *connectors.Env
	seed  uint64
	next  int64
	group int64
	start time.Time
	ready chan struct{}
	timer func() // cancels the timer that is set, and who waits for it
	tick  <-chan time.Time
	gone  chan struct{} // closed by timer
}

// due is when row n comes, after the start: with the first row of its group.
func (r *reader) due(n int64) time.Duration {
	n -= n % r.group
	sec := n / r.s.t.rate
	return time.Duration(sec)*time.Second + time.Duration(float64(n-sec*r.s.t.rate)*1e9/float64(r.s.t.rate))
}

// Next returns the rows that are due.
func (r *reader) Next(ctx context.Context) (connectors.Block, error) {
	total := r.s.t.rows
	if total >= 0 && r.next >= total {
		return connectors.Block{}, connectors.EOF
	}
	now := r.env.Clock.Now()
	from := r.next
	to := from
	most := from + int64(max(r.env.BatchRows, 1))
	for to < most && (total < 0 || to < total) && r.due(to) <= now.Sub(r.start) {
		to = min(to-to%r.group+r.group, most)
		if total >= 0 {
			to = min(to, total)
		}
	}
	if to == from {
		if r.timer != nil {
			r.timer()
		}
		tick, cancel := r.env.Clock.After(r.due(from) - now.Sub(r.start))
		gone := make(chan struct{})
		r.tick, r.gone, r.timer = tick, gone, func() { cancel(); close(gone) }
		return connectors.Block{}, connectors.ErrNotReady
	}
	r.next = to
	s, seed := r.s, r.seed
	pos := binary.LittleEndian.AppendUint64([]byte{1}, seed)
	return connectors.Block{
		Position:  binary.AppendUvarint(pos, uint64(to)),
		Bytes:     (to - from) * 32,
		Watermark: stream.MinTime,
		Decode: func(ctx context.Context, mem memory.Allocator) (connectors.Decoded, error) {
			cols := make([]arrow.ArrayData, len(s.scan.Columns))
			for i, c := range s.scan.Columns {
				col := colbuf.New(s.out[i].Type)
				col.Start(mem, int(to-from))
				for n := from; n < to; n++ {
					// Each cell has a generator of its own: rows do not depend on blocks or on the wanted columns.
					g := gen{rand.New(rand.NewPCG(seed^uint64(c+1)*0x9E3779B97F4A7C15, uint64(n))), now}
					g.put(col, s.t.fields[c], n)
				}
				cols[i] = col.Finish()
			}
			return connectors.Decoded{Batch: stream.Batch{Record: colbuf.Record(s.schema, cols, int(to-from))}}, nil
		},
	}, nil
}

// Ready signals when the next rows are due.
func (r *reader) Ready() <-chan struct{} {
	if r.tick == nil {
		return r.ready
	}
	tick, gone, ready := r.tick, r.gone, r.ready
	r.tick = nil
	r.env.Go(func(ctx context.Context) {
		select {
		case <-tick:
			select {
			case ready <- struct{}{}:
			default:
			}
		case <-gone: // the source asks anew: it was woken by something else
		case <-ctx.Done():
		}
	})
	return ready
}

// Close cancels the timer.
func (r *reader) Close() error {
	if r.timer != nil {
		r.timer()
		r.timer = nil
	}
	return nil
}

// gen makes values.
type gen struct {
	r   *rand.Rand
	now time.Time
}

const hexDigits = "0123456789abcdef"

func (g gen) put(c *colbuf.Col, f *field, row int64) {
	t := f.typ
	if f.nullRate > 0 && g.r.Float64() < f.nullRate {
		c.PutNull()
		return
	}
	if f.sequence {
		g.sequence(c, t, f.start+row)
		return
	}
	switch t.Kind {
	case types.Boolean:
		c.PutBool(g.r.IntN(2) == 0)
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		v := f.ilo
		if span := uint64(f.ihi) - uint64(f.ilo); span == math.MaxUint64 {
			v = int64(g.r.Uint64())
		} else {
			v += int64(g.r.Uint64N(span + 1))
		}
		colbuf.PutInt(c, v)
	case types.Float:
		c.PutF32(float32(g.float(f)))
	case types.Double:
		c.PutF64(g.float(f))
	case types.Decimal:
		g.decimal(c, f)
	case types.Char, types.VarChar:
		b := make([]byte, g.length(f))
		for i := range b {
			b[i] = hexDigits[g.r.IntN(16)]
		}
		c.PutBytes(b)
	case types.Binary, types.VarBinary:
		b := make([]byte, g.length(f))
		for i := range b {
			b[i] = byte(g.r.Uint32())
		}
		c.PutBytes(b)
	case types.Date:
		c.PutI32(int32(types.FloorDiv(g.now.Unix(), 86400)))
	case types.Time:
		c.PutI32(int32(types.FloorMod(g.now.UnixMilli(), types.MillisPerDay)))
	case types.Timestamp, types.TimestampLTZ:
		us := g.now.UnixMicro()
		if f.past > 0 {
			us -= g.r.Int64N(f.past.Microseconds() + 1)
		}
		if t.Precision < 6 {
			unit := int64(math.Pow10(6 - t.Precision))
			us -= types.FloorMod(us, unit)
		}
		if t.Precision > 6 {
			us *= 1000
		}
		c.PutI64(us)
	case types.IntervalYearMonth:
		c.PutI32(int32(g.r.IntN(120000)))
	case types.IntervalDayTime:
		c.PutI64(g.r.Int64N(types.MicrosPerDay*10_000/1000) * 1000)
	case types.Array:
		for range g.length(f) {
			g.put(c.Kids[0], f.kids[0], row)
		}
		c.PutList()
	case types.Map, types.Multiset:
		g.entries(c, f, row)
	case types.Row:
		for i, k := range f.kids {
			g.put(c.Kids[i], k, row)
		}
		c.PutRow()
	default:
		c.PutNull()
	}
}

// entries makes the pairs of a MAP or MULTISET; keys that come twice are left out.
func (g gen) entries(c *colbuf.Col, f *field, row int64) {
	keys, vals := c.Kids[0], c.Kids[1]
	seen := map[any]bool{}
	n := g.length(f)
	for range n {
		at := keys.Len()
		g.put(keys, f.kids[0], row)
		k := keys.Key(at)
		if seen[k] {
			keys.Truncate(at)
			continue
		}
		seen[k] = true
		g.put(vals, f.kids[1], row)
	}
	c.PutList()
}

func (g gen) length(f *field) int {
	if f.varLen {
		return 1 + g.r.IntN(f.length)
	}
	return f.length
}

func (g gen) float(f *field) float64 {
	x := g.r.Float64()
	return f.lo*(1-x) + f.hi*x // no overflow where hi - lo would
}

func (g gen) decimal(c *colbuf.Col, f *field) {
	t := f.typ
	d, err := types.DecFromFloat64(g.float(f), t.Precision, t.Scale)
	if err != nil { // rounded up beyond the precision
		d, _ = types.DecFromInt64(0, t.Precision, t.Scale)
	}
	c.PutDec(d.Num)
}

func (g gen) sequence(c *colbuf.Col, t types.Type, v int64) {
	switch t.Kind {
	case types.Float:
		c.PutF32(float32(v))
	case types.Double:
		c.PutF64(float64(v))
	case types.Decimal:
		d, _ := types.DecFromInt64(v, t.Precision, t.Scale)
		c.PutDec(d.Num)
	case types.Char, types.VarChar:
		c.PutBytes(strconv.AppendInt(nil, v, 10))
	default:
		colbuf.PutInt(c, v)
	}
}
