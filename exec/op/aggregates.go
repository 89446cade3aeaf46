package op

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec"
	"github.com/weir-sql/weir/exec/expr"
	"github.com/weir-sql/weir/exec/state"
	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// Aggregate is one aggregate call of an aggregating operator. Arguments and filter are columns of its input; expressions are computed by a Calc in
// front of it.
type Aggregate struct {
	Spec expr.AggSpec // Spec.Retract is set by the operator
	// Args are the columns of Spec.Args.
	Args []int
	// Filter is the BOOLEAN column of FILTER (WHERE ...), or -1.
	Filter int
	// Distinct takes each tuple of arguments once per group.
	Distinct bool
}

// aggSet holds the accumulators of an operator for one set of groups.
type aggSet struct {
	aggs     []Aggregate
	accs     []expr.Accumulator
	distinct []*distinctSet   // nil entries for calls without DISTINCT
	count    expr.Accumulator // rows of a group; nil when the input never retracts
	n        int
	oneGroup bool // there are no keys: all rows of a call belong to one group

	groups, rows []int32 // scratch
	args         []arrow.Array
}

func newAggSet(aggs []Aggregate, retract bool, acct *exec.Account) (*aggSet, error) {
	s := &aggSet{aggs: aggs, distinct: make([]*distinctSet, len(aggs))}
	for i, a := range aggs {
		a.Spec.Retract = retract
		acc, err := expr.NewAccumulator(a.Spec)
		if err != nil {
			return nil, err
		}
		s.accs = append(s.accs, acc)
		if a.Distinct {
			s.distinct[i] = newDistinctSet(a.Spec.Args, retract, acct)
		}
	}
	if retract {
		s.count, _ = expr.NewAccumulator(expr.AggSpec{Name: "COUNT", Result: types.BigIntType})
	}
	return s, nil
}

func (s *aggSet) resize(n int) {
	if n <= s.n {
		return
	}
	s.n = n
	for _, a := range s.accs {
		a.Resize(n)
	}
	if s.count != nil {
		s.count.Resize(n)
	}
}

func (s *aggSet) reset() {
	s.n = 0
	for i, a := range s.accs {
		a.Reset()
		if s.distinct[i] != nil {
			s.distinct[i].reset()
		}
	}
	if s.count != nil {
		s.count.Reset()
	}
}

func (s *aggSet) bytes() int64 {
	n := int64(cap(s.groups)+cap(s.rows)) * 4
	for i, a := range s.accs {
		n += a.Bytes()
		if d := s.distinct[i]; d != nil {
			n += d.bytes()
		}
	}
	if s.count != nil {
		n += s.count.Bytes()
	}
	return n
}

func (s *aggSet) close() {
	for _, d := range s.distinct {
		if d != nil {
			d.table.Close()
		}
	}
}

// update adds row rows[i] (i when rows is nil) of rec to group groups[i]. The groups exist.
func (s *aggSet) update(groups, rows []int32, rec arrow.RecordBatch, kinds []stream.RowKind) error {
	for i := range s.aggs {
		if err := s.updateOne(i, groups, rows, rec, kinds); err != nil {
			return err
		}
	}
	if s.count != nil {
		return s.count.Update(expr.AggInput{Groups: groups, Rows: rows, Kinds: kinds})
	}
	return nil
}

func (s *aggSet) updateOne(i int, groups, rows []int32, rec arrow.RecordBatch, kinds []stream.RowKind) error {
	a := &s.aggs[i]
	if a.Filter >= 0 {
		groups, rows = s.filter(groups, rows, rec.Column(a.Filter).(*array.Boolean))
	}
	args := s.args[:0]
	for _, c := range a.Args {
		args = append(args, rec.Column(c))
	}
	s.args = args
	if d := s.distinct[i]; d != nil {
		var err error
		if groups, rows, err = d.add(groups, rows, args, kinds); err != nil {
			return err
		}
	}
	if len(groups) == 0 {
		return nil
	}
	return s.accs[i].Update(expr.AggInput{Groups: groups, Rows: rows, Args: args, Kinds: kinds, OneGroup: s.oneGroup})
}

func (s *aggSet) filter(groups, rows []int32, f *array.Boolean) (g, r []int32) {
	g, r = s.groups[:0], s.rows[:0]
	for i, grp := range groups {
		row := int32(i)
		if rows != nil {
			row = rows[i]
		}
		if f.IsValid(int(row)) && f.Value(int(row)) {
			g, r = append(g, grp), append(r, row)
		}
	}
	s.groups, s.rows = g, r
	return g, r
}

// mergeFrom merges group src[i] of another set into group dst[i].
func (s *aggSet) mergeFrom(o *aggSet, src, dst []int32) error {
	for i, a := range s.accs {
		if d := s.distinct[i]; d != nil {
			if err := d.mergeFrom(o.distinct[i], src, dst, o.n, a); err != nil {
				return err
			}
			continue
		}
		a.MergeFrom(o.accs[i], src, dst)
	}
	if s.count != nil {
		s.count.MergeFrom(o.count, src, dst)
	}
	return nil
}

// stateTypes are the columns in which the state of the calls without DISTINCT travels.
func (s *aggSet) stateTypes() []arrow.DataType {
	var ts []arrow.DataType
	s.plain(func(a expr.Accumulator) { ts = append(ts, a.StateTypes()...) })
	return ts
}

// plain calls f for the accumulators whose state is written as it is: those without DISTINCT, and the row count.
func (s *aggSet) plain(f func(expr.Accumulator)) {
	for i, a := range s.accs {
		if s.distinct[i] == nil {
			f(a)
		}
	}
	if s.count != nil {
		f(s.count)
	}
}

// state returns the state of the groups (nil: all) as columns.
func (s *aggSet) state(mem memory.Allocator, groups []int32) []arrow.Array {
	var cols []arrow.Array
	n := s.number(groups)
	s.plain(func(a expr.Accumulator) { cols = append(cols, expr.AggState(mem, a, groups, n)...) })
	return cols
}

// mergeState merges row rows[i] of state columns into group groups[i].
func (s *aggSet) mergeState(groups, rows []int32, cols []arrow.Array) {
	s.plain(func(a expr.Accumulator) {
		n := len(a.StateTypes())
		a.MergeState(groups, rows, cols[:n])
		cols = cols[n:]
	})
}

func (s *aggSet) number(groups []int32) int {
	if groups == nil {
		return s.n
	}
	return len(groups)
}

// results returns one column for each call.
func (s *aggSet) results(mem memory.Allocator, groups []int32) ([]arrow.Array, error) {
	cols := make([]arrow.Array, 0, len(s.accs))
	for i, a := range s.accs {
		c, err := expr.AggResult(mem, a, s.aggs[i].Spec.Result, groups, s.number(groups))
		if err != nil {
			releaseAll(cols)
			return nil, err
		}
		cols = append(cols, c)
	}
	return cols, nil
}

// counts returns the number of rows of each group; nil when nothing retracts.
func (s *aggSet) counts(mem memory.Allocator) []int64 {
	if s.count == nil {
		return nil
	}
	c := expr.AggState(mem, s.count, nil, s.n)
	defer releaseAll(c)
	return append([]int64(nil), values[int64](c[0])...)
}

// distinctSet remembers the argument tuples of each group.
type distinctSet struct {
	table  *state.Table // group, args
	counts []int64      // of each tuple; nil when nothing retracts
	acct   *exec.Account
	types  []arrow.DataType

	ids, groups, rows []int32 // scratch
	words             []int64
	column            arrow.Array // of words
}

func newDistinctSet(args []types.Type, retract bool, acct *exec.Account) *distinctSet {
	d := &distinctSet{acct: acct, types: []arrow.DataType{arrow.PrimitiveTypes.Int64}}
	for _, t := range args {
		d.types = append(d.types, t.Arrow())
	}
	d.table = state.NewTable(d.types, acct)
	if retract {
		d.counts = []int64{}
	}
	return d
}

func (d *distinctSet) reset() {
	d.table.Reset()
	if d.counts != nil {
		d.counts = d.counts[:0]
	}
}

// bytes is what the table does not account itself.
func (d *distinctSet) bytes() int64 {
	return int64(cap(d.counts)+cap(d.words))*8 + int64(cap(d.ids)+cap(d.groups)+cap(d.rows))*4
}

// add takes rows and returns those that change what there is: the first of a tuple, and the one that takes the last of a tuple back.
func (d *distinctSet) add(groups, rows []int32, args []arrow.Array, kinds []stream.RowKind) (g, r []int32, err error) {
	n := len(groups)
	if n == 0 {
		return nil, nil, nil
	}
	// The group column has to be numbered as the arguments are.
	need := n
	if rows != nil {
		need = int(rows[n-1]) + 1
	}
	if need > len(d.words) {
		d.words = make([]int64, max(need, 2*len(d.words)))
		d.column = wordColumn(d.words)
	}
	for i, grp := range groups {
		if rows == nil {
			d.words[i] = int64(grp)
		} else {
			d.words[rows[i]] = int64(grp)
		}
	}
	var few [5]arrow.Array
	cols := append(append(few[:0], d.column), args...)
	d.ids = grown(d.ids, n)
	g, r = d.groups[:0], d.rows[:0]
	if d.counts == nil {
		seen := int32(d.table.Len())
		if err := d.table.Groups(cols, rows, n, d.ids); err != nil {
			return nil, nil, err
		}
		for i, id := range d.ids {
			if id == seen { // ids are given in order: this row brought the tuple
				seen++
				row := int32(i)
				if rows != nil {
					row = rows[i]
				}
				g, r = append(g, groups[i]), append(r, row)
			}
		}
		d.groups, d.rows = g, r
		return g, r, nil
	}
	for i, grp := range groups {
		row := [1]int32{int32(i)}
		if rows != nil {
			row[0] = rows[i]
		}
		var id [1]int32
		if kinds != nil && kinds[row[0]].Retracts() {
			d.table.Find(cols, row[:], 1, id[:])
			if id[0] < 0 {
				continue // a stray retraction
			}
			if d.counts[id[0]]--; d.counts[id[0]] > 0 {
				continue
			}
			d.table.Delete(id[0])
		} else {
			if err := d.table.Groups(cols, row[:], 1, id[:]); err != nil {
				return nil, nil, err
			}
			for len(d.counts) < d.table.Len() {
				d.counts = append(d.counts, 0)
			}
			if d.counts[id[0]]++; d.counts[id[0]] > 1 {
				continue
			}
		}
		g, r = append(g, grp), append(r, row[0])
	}
	d.groups, d.rows = g, r
	if holes := d.table.Len() - d.table.Live(); holes > 1024 && holes > d.table.Live() {
		return g, r, d.compact()
	}
	return g, r, nil
}

// compact builds the table anew without its holes.
func (d *distinctSet) compact() error {
	live := d.live(nil)
	cols := d.table.Keys(memory.DefaultAllocator, live)
	defer releaseAll(cols)
	counts := make([]int64, len(live))
	for i, id := range live {
		counts[i] = d.counts[id]
	}
	d.table.Close()
	d.table = state.NewTable(d.types, d.acct)
	d.ids = grown(d.ids, len(live))
	d.counts = counts
	return d.table.Groups(cols, nil, len(live), d.ids)
}

// live lists the ids that are no holes, of the groups in keep (nil: all).
func (d *distinctSet) live(keep func(id int32) bool) []int32 {
	ids := make([]int32, 0, d.table.Live())
	for id := int32(0); id < int32(d.table.Len()); id++ {
		if d.table.IsLive(id) && (keep == nil || keep(id)) {
			ids = append(ids, id)
		}
	}
	return ids
}

// tuples returns the live tuples as columns (group, args...) and their counts (all 1 when nothing retracts). The caller releases the columns.
func (d *distinctSet) tuples(mem memory.Allocator) (cols []arrow.Array, counts []int64) {
	ids := d.live(nil)
	cols = d.table.Keys(mem, ids)
	counts = make([]int64, len(ids))
	for i, id := range ids {
		counts[i] = 1
		if d.counts != nil {
			counts[i] = d.counts[id]
		}
	}
	return cols, counts
}

// merge adds tuples with their counts; groups[i] is the group of tuple i, negative to skip it. New ones go to acc.
func (d *distinctSet) merge(groups []int64, args []arrow.Array, counts []int64, acc expr.Accumulator) error {
	n := len(groups)
	if n == 0 {
		return nil
	}
	rows := d.rows[:0]
	for i, g := range groups {
		if g >= 0 {
			rows = append(rows, int32(i))
		}
	}
	d.rows = rows
	d.ids = grown(d.ids, len(rows))
	seen := int32(d.table.Len())
	cols := append([]arrow.Array{wordColumn(groups)}, args...)
	if err := d.table.Groups(cols, rows, len(rows), d.ids); err != nil {
		return err
	}
	var g, r []int32
	for i, id := range d.ids {
		if id == seen {
			seen++
			g, r = append(g, int32(groups[rows[i]])), append(r, rows[i])
			if d.counts != nil {
				d.counts = append(d.counts, 0)
			}
		}
		if d.counts != nil {
			d.counts[id] += counts[rows[i]]
		}
	}
	return acc.Update(expr.AggInput{Groups: g, Rows: r, Args: args})
}

// mergeFrom merges the tuples of group src[i] of o, which has n groups, into group dst[i].
func (d *distinctSet) mergeFrom(o *distinctSet, src, dst []int32, n int, acc expr.Accumulator) error {
	to := make([]int64, n)
	for i := range to {
		to[i] = -1
	}
	for i, s := range src {
		to[s] = int64(dst[i])
	}
	cols, counts := o.tuples(memory.DefaultAllocator)
	defer releaseAll(cols)
	groups := make([]int64, len(counts))
	for i, g := range values[int64](cols[0]) {
		groups[i] = to[g]
	}
	return d.merge(groups, cols[1:], counts, acc)
}
