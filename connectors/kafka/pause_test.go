package kafka

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-sql/weir/connectors"
	"github.com/weir-sql/weir/connectors/conntest"
)

// TestPausedMemory: what was read ahead of paused partitions does not keep the others from being read, is bounded, and comes once and in order when they
// are resumed, be it kept or fetched again.
func TestPausedMemory(t *testing.T) {
	eachBroker(t, func(t *testing.T, b *broker) {
		const partitions, rows = 6, 300
		topic := b.topic(t, partitions)
		want := map[string][]string{}
		pad := strings.Repeat("x", 10_000)
		for p := range partitions {
			var values []string
			for i := range rows {
				values = append(values, fmt.Sprintf(`{"k":"%d","v":%d,"pad":%q}`, p, i, pad))
				want[fmt.Sprint(p)] = append(want[fmt.Sprint(p)], fmt.Sprint(i))
			}
			for chunk := range slices.Chunk(values, 30) {
				b.put(t, topic, int32(p), chunk...)
			}
		}
		s := mustOpen(t, conntest.NewEnv(t), b.table(t, topic, clicks), nil)
		defer s.close()
		src := s.src.(*source)
		src.maxHeld = 1 << 20
		s.held = map[string]bool{}
		s.until("a row of each", func() bool {
			seen := map[string]bool{}
			for _, r := range s.rows {
				seen[r[:strings.Index(r, "|")]] = true
			}
			return len(seen) == partitions
		})
		hold := func(on bool) {
			for p := range partitions - 1 {
				id := fmt.Sprintf("%s-%d", topic, p)
				s.held[id] = on
				if on {
					s.readers[id].(connectors.Pausable).Pause()
				} else {
					s.readers[id].(connectors.Pausable).Resume()
				}
			}
		}
		for range 3 {
			hold(true)
			hold(false)
		}
		hold(true)
		s.until("the last partition", func() bool { return s.ended[fmt.Sprintf("%s-%d", topic, partitions-1)] })
		src.mu.Lock()
		// One fetch more, and a batch that a fetch is not cut within.
		if over := src.held - src.maxHeld; over > maxPartFetch+minPartFetch+30*(10_100+recordBytes) || src.queued != src.held {
			t.Errorf("%d bytes are queued, %d of them of paused partitions", src.queued, src.held)
		}
		src.mu.Unlock()
		hold(false)
		s.until("all", func() bool { return len(s.ended) == partitions })
		got := map[string][]string{}
		for _, r := range s.rows {
			k, v, _ := strings.Cut(r, "|")
			got[k] = append(got[k], v)
		}
		for k, w := range want {
			if !slices.Equal(got[k], w) {
				t.Errorf("partition %s: %d rows, want %d: %v", k, len(got[k]), len(w), got[k])
			}
		}
		src.mu.Lock()
		defer src.mu.Unlock()
		if src.queued != 0 || src.held != 0 {
			t.Errorf("%d bytes are queued at the end, %d of them held", src.queued, src.held)
		}
	})
}
