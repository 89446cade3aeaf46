package op

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-sql/weir/types"
)

// TestOrder: prefixes and heaps against comparisons of values, for every kind of key, with NULL.
func TestOrder(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	text := []string{"", "a", "ab", "abcdefgh", "abcdefghi", "abcdefgh\x00", "\xff\xff", "b"}
	for _, typ := range []types.Type{types.BigIntType, types.IntType, types.StringType, types.TimestampOf(3), types.DateType, types.DoubleType, types.DecimalOf(10, 2),
		types.BooleanType, types.SmallIntType} {
		b := types.NewBuilder(memory.DefaultAllocator, typ)
		var vals []any
		for range 500 {
			n := r.Intn(9) - 4
			var v any
			switch typ.Kind {
			case types.BigInt:
				v = []int64{-1 << 63, 1<<63 - 1, int64(n)}[r.Intn(3)]
			case types.Int:
				v = int32(n)
			case types.SmallInt:
				v = int16(n)
			case types.VarChar:
				v = text[r.Intn(len(text))]
			case types.Timestamp:
				v = types.TimestampVal(n)
			case types.Date:
				v = types.DateVal(n)
			case types.Double:
				v = float64(n) / 2
			case types.Decimal:
				v = types.DecOf(int64(n), 2)
			case types.Boolean:
				v = n > 0
			}
			if r.Intn(7) == 0 {
				v = nil
			}
			vals = append(vals, v)
			if err := types.Append(b, v, typ); err != nil {
				t.Fatal(err)
			}
		}
		rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "a", Type: typ.Arrow(), Nullable: true}}, nil), []arrow.Array{b.NewArray()}, 500)
		for _, k := range []SortKey{{Type: typ}, {Type: typ, Desc: true}, {Type: typ, NullsLast: true}, {Type: typ, Desc: true, NullsLast: true}} {
			want := upTo(500)
			slices.SortStableFunc(want, func(i, j int32) int {
				a, b := vals[i], vals[j]
				switch {
				case a == nil || b == nil:
					c := types.Compare(a, b)
					if k.NullsLast {
						c = -c
					}
					return c
				case k.Desc:
					return types.Compare(b, a)
				}
				return types.Compare(a, b)
			})
			got := upTo(500)
			rand.New(rand.NewSource(2)).Shuffle(500, func(i, j int) { got[i], got[j] = got[j], got[i] })
			for _, n := range []int{0, 1, 7, 250, 499, 500, 600} {
				best := slices.Clone(first(rec, []SortKey{k}, slices.Clone(got), n))
				slices.Sort(best)
				ref := slices.Clone(want[:min(n, 500)])
				slices.SortFunc(ref, cmp.Compare[int32])
				if !slices.Equal(best, ref) {
					t.Errorf("%s %+v: the first %d are %v, want %v", typ, k, n, best, ref)
				}
			}
			order(rec, []SortKey{k}, got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s", typ, fmt.Sprintf("%+v: %v, want %v", k, got, want))
			}
		}
	}
}
