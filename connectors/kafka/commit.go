package kafka

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weir-sql/weir/connectors"
)

// Reports tells whether offsets are committed for the group: where 'properties.group.id' names one, when a job takes a checkpoint, is stopped in order or
// comes to its end ('properties.commit.offsets.on.checkpoint', as in Flink), and with 'properties.enable.auto.commit' also while it runs.
func (s *source) Reports() (bool, time.Duration) {
	p := s.t.props
	if p["group.id"] == "" {
		return false, 0
	}
	auto := strings.EqualFold(p["enable.auto.commit"], "true")
	if !auto && strings.EqualFold(p["commit.offsets.on.checkpoint"], "false") {
		return false, 0
	}
	if !auto || s.t.Bounded() {
		return true, 0
	}
	return true, max(p.millis("auto.commit.interval.ms", 5*time.Second), 100*time.Millisecond)
}

// Report commits offsets. Rows that operators hold would be lost to the next run, which does not have their state: then nothing is committed, and the next
// run reads them again.
func (s *source) Report(ctx context.Context, positions map[string][]connectors.Position, held int64) {
	group := s.t.props["group.id"]
	if held > 0 {
		s.env.Count("skipped_commits", 1)
		if !s.saidHeld {
			s.saidHeld = true
			s.env.Log.Warn("offsets are not committed while the query holds rows in its state (open windows, groups): a next run would not have them; it reads them again",
				"table", s.t.decl.Name, "group", group, "held", held)
		}
		return
	}
	offsets := kadm.Offsets{}
	s.mu.Lock()
	for id, list := range positions {
		p, ok := s.parts[id]
		if !ok {
			continue
		}
		for _, b := range list {
			at, err := decodePosition(b)
			if err != nil || at.topic != p.id {
				continue
			}
			// Of several scans of one job the one that is behind counts.
			if o, ok := offsets.Lookup(p.topic, p.num); !ok || at.next < o.At {
				offsets.AddOffset(p.topic, p.num, at.next, -1)
			}
		}
	}
	s.mu.Unlock()
	ctx, cancel := s.t.requestTime(ctx)
	defer cancel()
	err := coordinated(ctx, func() error {
		got, err := s.adm.CommitOffsets(ctx, group, offsets)
		if err == nil {
			err = got.Error()
		}
		return err
	})
	if err == nil {
		s.env.Count("commits", 1)
		return
	}
	s.env.Count("failed_commits", 1)
	why := err.Error()
	if errors.Is(err, kerr.UnknownMemberID) || errors.Is(err, kerr.IllegalGeneration) || errors.Is(err, kerr.RebalanceInProgress) {
		why = "the group has consumers of its own, which share its partitions: give this table another 'properties.group.id' (" + why + ")"
	}
	s.env.Log.Warn("offsets could not be committed; a next run reads these rows again", "table", s.t.decl.Name, "group", group, "error", why)
}
