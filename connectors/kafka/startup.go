package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weir-sql/weir/connectors"
)

// partition is one of a topic.
type partition struct {
	topic string
	id    kadm.TopicID
	num   int32
}

func (p partition) String() string { return fmt.Sprintf("%s-%d", p.topic, p.num) }

// requestTime bounds one question to the brokers.
func (t *table) requestTime(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, max(t.props.millis("request.timeout.ms", 30*time.Second), time.Second))
}

// find lists the partitions there are, in order of topic (as declared; by name with a pattern) and number. Topics that are missing are an error, unless
// there is a pattern.
func (t *table) find(ctx context.Context, adm *kadm.Client) ([]partition, error) {
	ctx, cancel := t.requestTime(ctx)
	defer cancel()
	topics := t.topics
	if t.pattern != nil {
		all, err := adm.ListTopics(ctx)
		if err != nil {
			return nil, t.props.unreachable(err)
		}
		for _, name := range all.Names() {
			if t.pattern.MatchString(name) {
				topics = append(topics, name)
			}
		}
		return t.partitions(all, topics)
	}
	details, err := adm.ListTopicsWithInternal(ctx, topics...)
	if errors.Is(err, kerr.TopicAuthorizationFailed) {
		return nil, topicError(strings.Join(topics, "', '"), err)
	} else if err != nil {
		return nil, t.props.unreachable(err)
	}
	for _, name := range topics {
		if d := details[name]; errors.Is(d.Err, kerr.UnknownTopicOrPartition) {
			return nil, t.missing(ctx, adm, name)
		}
	}
	return t.partitions(details, topics)
}

func (t *table) partitions(details kadm.TopicDetails, topics []string) ([]partition, error) {
	var out []partition
	for _, name := range topics {
		d := details[name]
		if d.Err != nil {
			return nil, topicError(name, d.Err)
		}
		nums := d.Partitions.Numbers()
		slices.Sort(nums)
		for _, n := range nums {
			out = append(out, partition{topic: name, id: d.ID, num: n})
		}
	}
	return out, nil
}

func (t *table) missing(ctx context.Context, adm *kadm.Client, name string) error {
	hint := ""
	if all, err := adm.ListTopics(ctx); err == nil {
		names := all.Names()
		if near := connectors.Nearest(name, names); near != "" {
			hint = "; did you mean '" + near + "'?"
		} else if len(names) > 0 && len(names) <= 20 {
			hint = "; there are " + strings.Join(names, ", ")
		}
	}
	return fmt.Errorf("topic '%s' does not exist%s", name, hint)
}

// warnUnmatched says that no topic matches the pattern: nobody would tell that from topics without records.
func (s *source) warnUnmatched(ctx context.Context) {
	msg := "no topic matches 'topic-pattern': the table has no rows"
	if !s.t.Bounded() {
		msg = "no topic matches 'topic-pattern' yet"
		if s.t.discover <= 0 {
			msg = "no topic matches 'topic-pattern', and 'scan.topic-partition-discovery.interval' = '0' looks for none later: the table has no rows"
		}
	}
	pattern := s.t.opts["topic-pattern"]
	attrs := []any{"table", s.t.decl.Name, "pattern", pattern}
	ctx, cancel := s.t.requestTime(ctx)
	defer cancel()
	if all, err := s.adm.ListTopics(ctx); err == nil {
		names := all.Names()
		part, _ := regexp.Compile(pattern) // it is checked
		if i := slices.IndexFunc(names, part.MatchString); i >= 0 {
			attrs = append(attrs, "hint", fmt.Sprintf("it matches a part of '%s', and must match the whole name: write .*(%s).*", names[i], pattern))
		} else if len(names) <= 20 {
			attrs = append(attrs, "topics that this login sees", strings.Join(names, ", "))
		}
	}
	s.env.Log.Warn(msg, attrs...)
}

func topicError(topic string, err error) error {
	if errors.Is(err, kerr.TopicAuthorizationFailed) {
		return fmt.Errorf("topic '%s' may not be used by this login (%w)", topic, kerr.TopicAuthorizationFailed)
	}
	return fmt.Errorf("topic '%s': %w", topic, err)
}

// resolve returns the offset that w means for each partition. ends says that it is where reading ends.
func (t *table) resolve(ctx context.Context, adm *kadm.Client, w when, parts []partition, ends bool) ([]int64, error) {
	out := make([]int64, len(parts))
	if len(parts) == 0 {
		return out, nil
	}
	ctx, cancel := t.requestTime(ctx)
	defer cancel()
	all := make([]int, len(parts))
	for i := range all {
		all[i] = i
	}
	set := func(which []int, mode string) error { return t.list(ctx, adm, mode, w.millis, parts, which, out) }
	switch w.mode {
	case "earliest-offset", "latest-offset", "timestamp":
		return out, set(all, w.mode)
	case "specific-offsets":
		var rest []int
		for i, p := range parts {
			o, ok := w.offsets[p.num]
			if !ok {
				rest = append(rest, i)
			}
			out[i] = o
		}
		for n := range w.offsets {
			if !slices.ContainsFunc(parts, func(p partition) bool { return p.num == n }) {
				return nil, fmt.Errorf("'specific-offsets' name partition %d, which topic '%s' does not have", n, parts[0].topic)
			}
		}
		if len(rest) == 0 || ends { // the others end at 0: as in Flink, they are not read
			return out, nil
		}
		// As in Flink: where the group stands, else the beginning.
		rest, err := t.groupOffsets(ctx, adm, parts, rest, out)
		if err != nil {
			return nil, err
		}
		return out, set(rest, "earliest-offset")
	case "no-group":
		return nil, errors.New("there is no place to begin: set 'scan.startup.mode' ('earliest-offset', 'latest-offset', ...), or 'properties.group.id' for the default, " +
			"group-offsets, or 'properties.auto.offset.reset'")
	}
	rest, err := t.groupOffsets(ctx, adm, parts, all, out)
	if err != nil || len(rest) == 0 {
		return out, err
	}
	switch strings.ToLower(t.props["auto.offset.reset"]) {
	case "earliest":
		return out, set(rest, "earliest-offset")
	case "latest":
		return out, set(rest, "latest-offset")
	}
	option := "'scan.startup.mode' = 'earliest-offset' or 'latest-offset', or 'properties.auto.offset.reset'"
	if ends {
		option = "another 'scan.bounded.mode'"
	}
	return nil, fmt.Errorf("the group '%s' has committed no offset for partition %d of topic '%s': set %s", t.props["group.id"], parts[rest[0]].num, parts[rest[0]].topic, option)
}

// groupOffsets sets what the group has committed, and returns for which of the partitions it has nothing.
func (t *table) groupOffsets(ctx context.Context, adm *kadm.Client, parts []partition, which []int, out []int64) (rest []int, err error) {
	group := t.props["group.id"]
	if group == "" {
		return which, nil
	}
	var got kadm.OffsetResponses
	err = coordinated(ctx, func() error { got, err = adm.FetchOffsets(ctx, group); return err })
	if errors.Is(err, kerr.GroupIDNotFound) {
		return which, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the offsets of group '%s' cannot be read: %w", group, err)
	}
	for _, i := range which {
		o, ok := got.Lookup(parts[i].topic, parts[i].num)
		switch {
		case ok && o.Err != nil:
			return nil, fmt.Errorf("the offsets of group '%s' cannot be read: %w", group, o.Err)
		case ok && o.At >= 0:
			out[i] = o.At
		default:
			rest = append(rest, i)
		}
	}
	return rest, nil
}

// coordinated asks a group's coordinator. A broker that has just started, or has no group yet, needs a moment to make one.
func coordinated(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		if !errors.Is(err, kerr.CoordinatorNotAvailable) && !errors.Is(err, kerr.CoordinatorLoadInProgress) && !errors.Is(err, kerr.NotCoordinator) {
			return err
		}
		t := time.NewTimer(50 * time.Millisecond)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return err
		}
	}
}

// list asks the brokers for offsets.
func (t *table) list(ctx context.Context, adm *kadm.Client, mode string, millis int64, parts []partition, which []int, out []int64) error {
	names := map[string]bool{}
	for _, i := range which {
		names[parts[i].topic] = true
	}
	topics := sortedKeys(names)
	if len(topics) == 0 {
		return nil
	}
	var got kadm.ListedOffsets
	var err error
	switch {
	case mode == "earliest-offset":
		got, err = adm.ListStartOffsets(ctx, topics...)
	case mode == "timestamp":
		got, err = adm.ListOffsetsAfterMilli(ctx, millis, topics...)
	case t.props.committed():
		got, err = adm.ListCommittedOffsets(ctx, topics...)
	default:
		got, err = adm.ListEndOffsets(ctx, topics...)
	}
	if err != nil {
		return fmt.Errorf("the offsets of %s cannot be read: %w", strings.Join(topics, ", "), err)
	}
	var ends kadm.ListedOffsets
	for _, i := range which {
		o, ok := got.Lookup(parts[i].topic, parts[i].num)
		if ok && o.Err != nil {
			return topicError(parts[i].topic, o.Err)
		}
		if !ok || o.Offset < 0 { // no record with such a timestamp
			if ends == nil {
				if ends, err = adm.ListEndOffsets(ctx, topics...); err != nil {
					return fmt.Errorf("the offsets of %s cannot be read: %w", strings.Join(topics, ", "), err)
				}
			}
			if o, ok = ends.Lookup(parts[i].topic, parts[i].num); !ok || o.Err != nil || o.Offset < 0 {
				return fmt.Errorf("the end of partition %d of topic '%s' cannot be read: %v", parts[i].num, parts[i].topic, o.Err)
			}
		}
		out[i] = o.Offset
	}
	return nil
}

// position is where a split is read on.
type position struct {
	topic kadm.TopicID
	next  int64
	stop  int64 // where reading ends, -1 for nowhere
}

const positionVersion = 1

func (p position) encode() connectors.Position {
	b := append(make([]byte, 0, 33), positionVersion)
	b = append(b, p.topic[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(p.next))
	return binary.BigEndian.AppendUint64(b, uint64(p.stop))
}

func decodePosition(b connectors.Position) (position, error) {
	var p position
	if len(b) != 33 || b[0] != positionVersion {
		return p, errors.New("the position in the checkpoint is not one of connector 'kafka'")
	}
	copy(p.topic[:], b[1:])
	p.next, p.stop = int64(binary.BigEndian.Uint64(b[17:])), int64(binary.BigEndian.Uint64(b[25:]))
	return p, nil
}
