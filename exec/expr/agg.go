package expr

import (
	"fmt"
	"sort"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/exec/stream"
	"github.com/weir-sql/weir/types"
)

// AggSpec describes an aggregate call. FILTER and DISTINCT are no part of it: the operator narrows the rows before it calls Update.
type AggSpec struct {
	Name   string       // canonical name: COUNT, SUM, ...
	Args   []types.Type // none for COUNT(*)
	Result types.Type   // as the catalog's signature says
	// Retract says that rows may be taken back; MIN, MAX and the like then keep all values.
	Retract bool
	// Separator is that of LISTAGG (the planner gives "," where the call has none).
	Separator string
	// IgnoreNulls is set for ARRAY_AGG(x IGNORE NULLS).
	IgnoreNulls bool
	// Where is the call, for errors.
	Where Where
}

// fail is an error of the aggregate as the user sees it.
func (s *AggSpec) fail(format string, a ...any) error {
	return s.Where.fail(fmt.Errorf(format, a...))
}

// AggInput is the rows that an accumulator takes: row number Rows[i] of Args (i when Rows is nil) belongs to group Groups[i].
type AggInput struct {
	Groups []int32
	Rows   []int32
	Args   []arrow.Array
	// Kinds has the kind of each row by row number, so that -U and -D retract; nil means that all are added.
	Kinds []stream.RowKind
	// OneGroup says that all rows belong to Groups[0].
	OneGroup bool
}

func (in *AggInput) row(i int) int {
	if in.Rows != nil {
		return int(in.Rows[i])
	}
	return i
}

// sign is 1 for a row that is added and -1 for one that is taken back.
func (in *AggInput) sign(r int) int64 {
	if in.Kinds != nil && in.Kinds[r].Retracts() {
		return -1
	}
	return 1
}

// Accumulator holds the state of one aggregate for groups 0 to n-1. It is used by one goroutine at a time.
//
// A state can be written as Arrow columns (StateTypes) and merged from them: partial results of a local phase and snapshots have the same form.
type Accumulator interface {
	// Resize sets the number of groups; it only grows. New groups are empty.
	Resize(n int)
	// Update adds or retracts rows, in order.
	Update(in AggInput) error
	// AppendResult appends the result of each of the groups (nil: all) to b, a builder of the spec's result type.
	AppendResult(b array.Builder, groups []int32) error
	// StateTypes are the columns of the state.
	StateTypes() []arrow.DataType
	// AppendState appends the state of each of the groups (nil: all) to one builder for each of StateTypes.
	AppendState(bs []array.Builder, groups []int32)
	// MergeState merges row rows[i] (i when rows is nil) of state columns into group groups[i], as if its rows came after those that are there.
	MergeState(groups, rows []int32, cols []arrow.Array)
	// MergeFrom merges group src[i] of an accumulator of the same spec into group dst[i], as if its rows came after those that are there.
	MergeFrom(from Accumulator, src, dst []int32)
	// Reset forgets all groups and keeps the memory.
	Reset()
	// Bytes is about how much memory is held.
	Bytes() int64
}

type aggBuilder func(s *AggSpec) (Accumulator, error)

var aggregates = map[string]aggBuilder{}

func defineAgg(names []string, b aggBuilder) {
	for _, name := range names {
		if aggregates[name] != nil {
			panic("aggregate " + name + " defined twice")
		}
		aggregates[name] = b
	}
}

// NewAccumulator returns an empty accumulator for a call.
func NewAccumulator(s AggSpec) (Accumulator, error) {
	b := aggregates[s.Name]
	if b == nil {
		return nil, fmt.Errorf("aggregate function %s is not supported", s.Name)
	}
	return b(&s)
}

// AggregateNames lists the implemented aggregate functions, sorted.
func AggregateNames() []string {
	names := make([]string, 0, len(aggregates))
	for n := range aggregates {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// AggOrderDependent reports whether the result of a call depends on the order of its rows, so that it must be computed in one phase, row after row:
// sums of FLOAT and DOUBLE, FIRST_VALUE, LAST_VALUE, LISTAGG, ARRAY_AGG.
func AggOrderDependent(s AggSpec) bool {
	switch s.Name {
	case "FIRST_VALUE", "LAST_VALUE", "LISTAGG", "ARRAY_AGG":
		return true
	case "SUM", "AVG", "VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP":
		return s.Args[0].IsApprox()
	}
	return false
}

// AggResult returns the results of the groups (nil: all) as a column; n is their number.
func AggResult(mem memory.Allocator, a Accumulator, result types.Type, groups []int32, n int) (arrow.Array, error) {
	b := types.NewBuilder(mem, result)
	defer b.Release()
	b.Reserve(n)
	if err := a.AppendResult(b, groups); err != nil {
		return nil, err
	}
	return b.NewArray(), nil
}

// AggState returns the states of the groups (nil: all) as columns; n is their number.
func AggState(mem memory.Allocator, a Accumulator, groups []int32, n int) []arrow.Array {
	ts := a.StateTypes()
	bs := make([]array.Builder, len(ts))
	for i, t := range ts {
		bs[i] = array.NewBuilder(mem, t)
		defer bs[i].Release()
		bs[i].Reserve(n)
	}
	a.AppendState(bs, groups)
	out := make([]arrow.Array, len(ts))
	for i := range bs {
		out[i] = bs[i].NewArray()
	}
	return out
}

// aggGrow returns s with n elements; new ones are zero. Memory beyond len may hold old values, so it is cleared.
func aggGrow[T any](s []T, n int) []T {
	old := len(s)
	if n <= old {
		return s
	}
	if n <= cap(s) {
		s = s[:n]
		clear(s[old:])
		return s
	}
	t := make([]T, n, max(n, 2*cap(s)))
	copy(t, s)
	return t
}

// aggPick calls f for each of groups, or for 0..n-1.
func aggPick(groups []int32, n int, f func(g int)) {
	if groups == nil {
		for g := range n {
			f(g)
		}
		return
	}
	for _, g := range groups {
		f(int(g))
	}
}

func aggRow(rows []int32, i int) int {
	if rows != nil {
		return int(rows[i])
	}
	return i
}

// aggValues views the values of a fixed-width array without a copy.
func aggValues[T any](a arrow.Array) []T {
	d := a.Data()
	b := d.Buffers()[1]
	if b == nil || d.Len() == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b.Bytes()))), d.Offset()+d.Len())[d.Offset():]
}

func aggSize[T any](s []T) int64 {
	var t T
	return int64(cap(s)) * int64(unsafe.Sizeof(t))
}
