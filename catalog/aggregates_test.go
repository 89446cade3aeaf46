package catalog

import (
	"testing"

	"github.com/weir-sql/weir/types"
)

func TestAggregateTypes(t *testing.T) {
	notNull := types.IntType.NotNull()
	for _, c := range []struct {
		call Call
		want string // the result type, or the error
	}{
		{Call{Name: "COUNT"}, "BIGINT NOT NULL"},
		{Call{Name: "COUNT", Args: []types.Type{types.StringType, types.IntType}, Distinct: true}, "BIGINT NOT NULL"},
		{Call{Name: "SUM", Args: []types.Type{notNull}}, "INT"},
		{Call{Name: "SUM", Args: []types.Type{types.DecimalOf(12, 3)}}, "DECIMAL(38, 3)"},
		{Call{Name: "SUM", Args: []types.Type{types.StringType}}, "SUM takes a number, not STRING"},
		{Call{Name: "SUM", Args: []types.Type{types.NullType}}, "INT"},
		{Call{Name: "AVG", Args: []types.Type{types.DecimalOf(12, 3)}}, "DECIMAL(38, 6)"},
		{Call{Name: "AVG", Args: []types.Type{types.FloatType}}, "FLOAT"},
		{Call{Name: "VAR_SAMP", Args: []types.Type{types.IntType}}, "INT"},
		{Call{Name: "VARIANCE", Args: []types.Type{types.DoubleType}}, "DOUBLE"},
		{Call{Name: "STDDEV", Args: []types.Type{types.IntType, types.IntType}}, "STDDEV takes one argument, not 2"},
		{Call{Name: "MIN", Args: []types.Type{types.TimestampOf(3).WithAttr(types.Rowtime).NotNull()}}, "TIMESTAMP(3)"},
		{Call{Name: "MAX", Args: []types.Type{types.ArrayOf(types.IntType)}}, "MAX does not take ARRAY<INT>: values of that type have no order"},
		{Call{Name: "LISTAGG", Args: []types.Type{types.CharOf(3)}}, "STRING"},
		{Call{Name: "LISTAGG", Args: []types.Type{types.IntType}}, "LISTAGG takes a string, not INT: write LISTAGG(CAST(... AS STRING))"},
		{Call{Name: "LISTAGG", Args: []types.Type{types.StringType, types.StringType}, Literals: []any{nil, nil}}, "the separator of LISTAGG must be a string literal"},
		{Call{Name: "LISTAGG", Args: []types.Type{types.StringType, types.CharOf(1).NotNull()}, Literals: []any{nil, "|"}}, "STRING"},
		{Call{Name: "FIRST_VALUE", Args: []types.Type{notNull}}, "INT"},
		{Call{Name: "COLLECT", Args: []types.Type{types.StringType}}, "MULTISET<STRING> NOT NULL"},
		{Call{Name: "ARRAY_AGG", Args: []types.Type{notNull}}, "ARRAY<INT NOT NULL>"},
	} {
		f := LookupFunction(c.call.Name, Aggregate)
		if f == nil {
			t.Fatalf("no function %s", c.call.Name)
		}
		s, err := f.Resolve(c.call)
		got := s.Result.String()
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s(%v): %s, want %s", c.call.Name, c.call.Args, got, c.want)
		}
	}
}
