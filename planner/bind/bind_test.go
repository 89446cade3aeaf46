package bind

import (
	"testing"
	"time"

	"github.com/weir-sql/weir/parser"
	"github.com/weir-sql/weir/parser/ast"
	"github.com/weir-sql/weir/planner/logical"
	"github.com/weir-sql/weir/types"
)

func TestIntervals(t *testing.T) {
	const s = types.MicrosPerSecond
	for _, c := range []struct {
		sql  string
		want any // nil: an error
	}{
		{"INTERVAL '10' MINUTE", types.DurationVal(600 * s)},
		{"INTERVAL '-10' MINUTES", types.DurationVal(-600 * s)},
		{"INTERVAL -'0.001' SECOND", types.DurationVal(-1000)},
		{"INTERVAL '1 12:30:01.5' DAY TO SECOND", types.DurationVal((24*3600+12*3600+30*60+1)*s + s/2)},
		{"INTERVAL '25:10' HOUR TO MINUTE", types.DurationVal((25*60 + 10) * 60 * s)},
		{"INTERVAL '1:02' MINUTE TO SECOND", types.DurationVal(62 * s)},
		{"INTERVAL '2' DAY", types.DurationVal(2 * types.MicrosPerDay)},
		{"INTERVAL '1-6' YEAR TO MONTH", types.MonthsVal(18)},
		{"INTERVAL '3' YEAR", types.MonthsVal(36)},
		{"INTERVAL '2' QUARTER", types.MonthsVal(6)},
		{"INTERVAL 'x' MINUTE", nil},
		{"INTERVAL '1.5' MINUTE", nil},
		{"INTERVAL '1:61' HOUR TO MINUTE", nil},
		{"INTERVAL '1-12' YEAR TO MONTH", nil},
		{"INTERVAL '1:2' DAY TO SECOND", nil},
		{"INTERVAL '99999999999999999999' DAY", nil},
		{"INTERVAL '9999999999999' DAY", nil},
	} {
		x, err := parser.ParseExpr(c.sql)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		iv, ok := x.(*ast.Interval)
		if !ok {
			t.Errorf("%s is a %T", c.sql, x)
			continue
		}
		e, err := interval(iv)
		switch {
		case c.want == nil && err == nil:
			t.Errorf("%s gives %v, want an error", c.sql, e)
		case c.want != nil && (err != nil || e.(*logical.Literal).Value != c.want):
			t.Errorf("%s gives %v, %v; want %v", c.sql, e, err, c.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"10 s": 10 * time.Second, "200ms": 200 * time.Millisecond, "1 min": time.Minute, "2 d": 48 * time.Hour,
		"7": 7 * time.Millisecond, "1 h": time.Hour, " 3 Seconds ": 3 * time.Second} {
		if got, err := Duration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "s", "-1 s", "1 parsec", "99999999999999 d", "1.5 s"} {
		if got, err := Duration(text); err == nil {
			t.Errorf("%q gives %v, want an error", text, got)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		s, pattern string
		fold, want bool
	}{
		{"orders", "o%", false, true}, {"orders", "O%", false, false}, {"orders", "O%", true, true}, {"orders", "%d_r%", false, true},
		{"orders", "order", false, false}, {"a_b", `a\_b`, false, true}, {"axb", `a\_b`, false, false}, {"", "%", false, true}, {"", "_", false, false},
		{"aaab", "%a%b", false, true}, {"日本", "_本", false, true},
	} {
		if got := Matches(c.s, c.pattern, c.fold); got != c.want {
			t.Errorf("Matches(%q, %q, %t) = %t", c.s, c.pattern, c.fold, got)
		}
	}
}
