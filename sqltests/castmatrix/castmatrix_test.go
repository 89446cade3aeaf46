package castmatrix

import "testing"

// Every pair of types is there, a NULL stays NULL, and no difference is stale.
func TestLoad(t *testing.T) {
	cases, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	pairs, from, to := map[[2]string]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range cases {
		pairs[[2]string{c.From, c.To}] = true
		from[c.From], to[c.To] = true, true
		if c.Expr == "CAST(NULL AS "+c.From+")" && c.Cast.Fails == "" && !c.Cast.Null {
			t.Errorf("%s as %s is %s", c.Expr, c.To, c.Cast)
		}
		if (c.Cast.Fails == "plan") != (c.TryCast.Fails == "plan") {
			t.Errorf("%s as %s: CAST %s, TRY_CAST %s", c.Expr, c.To, c.Cast, c.TryCast)
		}
	}
	if len(from) != 29 || len(to) != 32 || len(pairs) != len(from)*len(to) {
		t.Errorf("%d source types, %d target types, %d pairs", len(from), len(to), len(pairs))
	}
}
