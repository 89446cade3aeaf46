package weir_test

import (
	"strings"
	"testing"

	"github.com/weir-sql/weir"
)

// TestHideSecrets: values of secret options are hidden, in statements with mistakes too, whose lines are shown with the error.
func TestHideSecrets(t *testing.T) {
	for sql, want := range map[string]string{
		"WITH ('topic' = 'x', 'properties.sasl.password' = 'pw')": "WITH ('topic' = 'x', 'properties.sasl.password' = '**')",
		"SET 'a.token'='it''s\nlong'":                             "SET 'a.token'='*****\n****'",
		"/*+ OPTIONS('KEY.SECRET' 'pw') */":                       "/*+ OPTIONS('KEY.SECRET' '**') */",
		"WITH ('topic' = 'x, 'password' = 'pw')":                  "WITH ('topic' = 'x, 'password' = '**')",
		"WITH ('topic' 'password' = 'pw')":                        "WITH ('topic' 'password' = '**')",
		"WITH ('password' = 'pw, 'a' = 'b')":                      "WITH ('password' = '****'a' = 'b')",
		"WITH ('password' = 'pw":                                  "WITH ('password' = '**",
		"-- don't\nWITH ('password' = 'pw', 'password' = '')":     "-- don't\nWITH ('password' = '**', 'password' = '')",
		"SELECT password = 'x', 'secret', 'y' FROM t":             "SELECT password = 'x', 'secret', 'y' FROM t",
	} {
		got := weir.HideSecrets(sql)
		if got != want {
			t.Errorf("%s\ngives %s\nwant  %s", sql, got, want)
		}
		if len(got) != len(sql) || strings.Count(got, "\n") != strings.Count(sql, "\n") {
			t.Errorf("%s: places have changed", sql)
		}
	}
}
