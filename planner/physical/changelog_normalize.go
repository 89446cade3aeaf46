package physical

import "time"

// ChangelogNormalize makes a full changelog of the upserts of a table: it keeps the last row of each key, gives -U before +U, drops repeats and deletions
// of what is not there.
type ChangelogNormalize struct {
	node
	Key []int
	// TTL, when positive, is after how long without a row of its key a row is forgotten, by the clock (table.exec.state.ttl).
	TTL time.Duration
}

// NewChangelogNormalize makes the node over a scan that gives upserts by its key.
func NewChangelogNormalize(in Node) *ChangelogNormalize {
	ip := in.Props()
	n := &ChangelogNormalize{Key: ip.Key}
	n.inputs = []Node{in}
	n.schema = in.Schema()
	n.props = Props{Changelog: Retract, Key: ip.Key, Partitioning: ip.Partitioning, EventTime: ip.EventTime, Bounded: ip.Bounded, State: PerKey}
	return n
}

// Op implements Node.
func (*ChangelogNormalize) Op() string { return "ChangelogNormalize" }

// Details implements Node.
func (n *ChangelogNormalize) Details() []Detail {
	d := []Detail{{"key", columnNames(n.schema, n.Key)}}
	if n.TTL > 0 {
		d = append(d, Detail{"ttl", n.TTL.String()})
	}
	return d
}
