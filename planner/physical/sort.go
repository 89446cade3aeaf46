package physical

import (
	"fmt"

	"github.com/weir-sql/weir/planner/logical"
)

// Sort sorts the whole bounded, append-only input, stable: rows that compare equal keep their order.
type Sort struct {
	node
	Keys []SortKey
}

// NewSort makes the sort.
func NewSort(in Node, keys []SortKey) *Sort {
	s := &Sort{Keys: keys}
	s.inputs = []Node{in}
	s.schema = logical.WithoutAttr(in.Schema())
	s.props = *in.Props()
	s.props.EventTime = -1
	s.props.State = InputSized
	return s
}

// Op implements Node.
func (*Sort) Op() string { return "Sort" }

// Details implements Node.
func (s *Sort) Details() []Detail {
	return []Detail{{"orderBy", logical.SortKeys(s.inputs[0].Schema(), s.Keys)}}
}

// Limit passes Count rows (-1: all) behind the first Offset ones, then asks for no more. Its input is append-only.
type Limit struct {
	node
	Count, Offset int64
}

// NewLimit makes the limit.
func NewLimit(in Node, n, offset int64) *Limit {
	l := &Limit{Count: n, Offset: offset}
	l.inputs = []Node{in}
	l.schema = in.Schema()
	l.props = *in.Props()
	l.props.State = ConstantState
	if n >= 0 {
		l.props.Bounded = true
	}
	return l
}

// Op implements Node.
func (*Limit) Op() string { return "Limit" }

// Details implements Node.
func (l *Limit) Details() []Detail { return limitDetails(nil, l.Count, l.Offset) }

func limitDetails(d []Detail, n, offset int64) []Detail {
	if n >= 0 {
		d = append(d, Detail{"limit", count(n)})
	}
	if offset > 0 {
		d = append(d, Detail{"offset", count(offset)})
	}
	return d
}

// TopN is ORDER BY with LIMIT over bounded, append-only input: it keeps Offset + Count rows. Ties are won by the earlier row.
type TopN struct {
	node
	Keys          []SortKey
	Count, Offset int64
}

// NewTopN makes the operator; n >= 0.
func NewTopN(in Node, keys []SortKey, n, offset int64) *TopN {
	t := &TopN{Keys: keys, Count: n, Offset: offset}
	t.inputs = []Node{in}
	t.schema = logical.WithoutAttr(in.Schema())
	t.props = *in.Props()
	t.props.EventTime = -1
	t.props.State = ConstantState
	return t
}

// Op implements Node.
func (*TopN) Op() string { return "TopN" }

// Details implements Node.
func (t *TopN) Details() []Detail {
	return limitDetails([]Detail{{"orderBy", logical.SortKeys(t.inputs[0].Schema(), t.Keys)}}, t.Count, t.Offset)
}

// ExchangeKind is how rows are spread.
type ExchangeKind uint8

// The exchanges.
const (
	HashExchange ExchangeKind = iota // equal keys meet
	Gather                           // all to one
	Broadcast                        // all to each
)

func (k ExchangeKind) String() string { return [...]string{"hash", "gather", "broadcast"}[k] }

// Exchange moves rows between tasks. Plans for parallelism 1 have none.
type Exchange struct {
	node
	Kind     ExchangeKind
	Keys     []int // of HashExchange; columns of the input
	From, To int   // copies on either side
	// Ordered: something behind depends on order. Rows carry Seq through a hash exchange, and a gather merges by it.
	Ordered bool
}

// NewExchange makes an exchange to the given number of copies.
func NewExchange(in Node, kind ExchangeKind, keys []int, to int) *Exchange {
	x := &Exchange{Kind: kind, Keys: keys, From: in.Props().Partitioning.Count, To: to}
	x.inputs = []Node{in}
	x.schema = in.Schema()
	x.props = *in.Props()
	x.props.Partitioning = Partitioning{Count: to, Columns: keys}
	x.props.State = NoState
	return x
}

// Op implements Node.
func (*Exchange) Op() string { return "Exchange" }

// Details implements Node.
func (x *Exchange) Details() []Detail {
	v := x.Kind.String()
	if x.Kind == HashExchange {
		v += "(" + columnNames(x.inputs[0].Schema(), x.Keys) + ")"
	}
	return []Detail{{"distribution", v}, {"copies", fmt.Sprintf("%d to %d", x.From, x.To)}}
}
