package watermark

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/weir-sql/weir/exec/stream"
)

// Percentile is the factory of PERCENTILE_WATERMARK(ts, p [, min, max]): the watermark is the highest event time so far less a delay that a share of p of
// the rows seen did not exceed. How late a row is counts against the highest event time before it. min and max bound the delay.
//
// The delays are counted in buckets of at most 1/16 of their length, whose upper ends are taken: the delay is never too short by the bucketing. Every
// 65536 rows all counts are halved, so that it follows what is now. No clock has a part in it.
func Percentile(args []any) (Generator, error) {
	usage := errors.New("usage: PERCENTILE_WATERMARK(ts, 0.99 [, INTERVAL '1' SECOND, INTERVAL '1' MINUTE]): the share, the least and the greatest delay, which are constants")
	if len(args) != 1 && len(args) != 3 {
		return nil, usage
	}
	var share float64
	switch v := args[0].(type) {
	case float64:
		share = v
	case int64:
		share = float64(v)
	default:
		return nil, usage
	}
	if !(share > 0 && share <= 1) {
		return nil, fmt.Errorf("the share of PERCENTILE_WATERMARK must be greater than 0 and at most 1, not %v", share)
	}
	g := &percentile{share: share, most: time.Duration(math.MaxInt64), high: stream.MinTime}
	if len(args) == 3 {
		least, ok1 := args[1].(time.Duration)
		most, ok2 := args[2].(time.Duration)
		if !ok1 || !ok2 {
			return nil, usage
		}
		if least < 0 || most < least {
			return nil, fmt.Errorf("the delays of PERCENTILE_WATERMARK must be 0 or more, the least first: not %s, %s", least, most)
		}
		g.least, g.most = least, most
	}
	return g, nil
}

const (
	subBits   = 4                             // buckets of each power of two: 16
	buckets   = (64 - subBits + 1) << subBits // of milliseconds
	halving   = 1 << 16
	recompute = 64 // rows between two looks at the counts, once there are so many
)

type percentile struct {
	share       float64
	least, most time.Duration
	high        stream.Time
	counts      [buckets]uint32
	total, rows int64 // counted; seen since the last halving
	delay       int64 // milliseconds
}

func bucketOf(ms int64) int {
	if ms < 1<<subBits {
		return int(ms)
	}
	shift := bits.Len64(uint64(ms)) - subBits - 1
	return (shift+1)<<subBits + int(ms>>shift) - 1<<subBits
}

// upper is the greatest number of a bucket.
func upper(b int) int64 {
	if b < 1<<subBits {
		return int64(b)
	}
	shift := b>>subBits - 1
	return (int64(b&(1<<subBits-1))+1<<subBits+1)<<shift - 1
}

func (g *percentile) OnEvent(event stream.Time, _ func(stream.Time)) {
	late := int64(0)
	if event < g.high {
		late = (int64(g.high-event) + 999) / 1000
	}
	g.high = max(g.high, event)
	b := bucketOf(late)
	g.counts[b]++
	g.total++
	if g.rows++; g.rows >= halving {
		g.rows, g.total = 0, 0
		for i := range g.counts {
			g.counts[i] /= 2
			g.total += int64(g.counts[i])
		}
	}
	if g.rows < recompute || g.rows%recompute == 0 {
		want, sum := int64(math.Ceil(g.share*float64(g.total))), int64(0)
		for i, n := range g.counts {
			if sum += int64(n); sum >= want {
				g.delay = upper(i)
				break
			}
		}
	}
}

func (g *percentile) OnPeriodicEmit(emit func(stream.Time)) {
	d := time.Duration(math.MaxInt64)
	if g.delay < math.MaxInt64/int64(time.Millisecond) {
		d = time.Duration(g.delay) * time.Millisecond
	}
	emit(g.high.Add(-min(max(d, g.least), g.most).Microseconds()))
}

// Snapshot writes a version, the numbers, and the buckets that are not empty.
func (g *percentile) Snapshot() ([]byte, error) {
	out := []byte{1}
	for _, v := range []int64{int64(g.high), g.total, g.rows, g.delay} {
		out = binary.AppendVarint(out, v)
	}
	for i, n := range g.counts {
		if n > 0 {
			out = binary.AppendUvarint(binary.AppendUvarint(out, uint64(i)), uint64(n))
		}
	}
	return out, nil
}

// Restore reads what Snapshot wrote.
func (g *percentile) Restore(b []byte) error {
	bad := errors.New("the snapshot of PERCENTILE_WATERMARK cannot be read")
	if len(b) == 0 || b[0] != 1 {
		return bad
	}
	b = b[1:]
	var v [4]int64
	for i := range v {
		x, n := binary.Varint(b)
		if n <= 0 {
			return bad
		}
		v[i], b = x, b[n:]
	}
	g.high, g.total, g.rows, g.delay = stream.Time(v[0]), v[1], v[2], v[3]
	for len(b) > 0 {
		i, n := binary.Uvarint(b)
		if n <= 0 || i >= buckets {
			return bad
		}
		c, m := binary.Uvarint(b[n:])
		if m <= 0 {
			return bad
		}
		g.counts[i], b = uint32(c), b[n+m:]
	}
	return nil
}
