package weir_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weir-sql/weir"
)

// TestRuntimeErrorsHavePlace: what fails while a query runs is shown at its expression, where it stands in the statement.
func TestRuntimeErrorsHavePlace(t *testing.T) {
	db := open(t, weir.Options{})
	ctx := context.Background()
	if err := db.Exec(ctx, "CREATE VIEW v AS SELECT 10 / (a - 1) AS q FROM (VALUES (1), (2)) AS t(a); CREATE TABLE m (a INT, b AS 10 / a); INSERT INTO m VALUES (0)"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ sql, want string }{
		{"SELECT 'é',\n  a + 1, 10  /\n (a - 1) FROM (VALUES (1)) AS t(a)", "2:10: division by zero in `10 / (a - 1)` [WEIR-4001]"},
		{"SELECT 1/0", "1:8: division by zero in `1/0` [WEIR-4001]"},
		{"SELECT 1;\nSELECT CAST(s AS INT) FROM (VALUES ('1'), ('x')) AS t(s)", "2:8: not an INT: 'x' in `CAST(s AS INT)` [WEIR-4001]"},
		{"SELECT SUM(a) FROM (VALUES (9223372036854775807), (1)) AS t(a)", "1:8: numeric overflow: the sum 9223372036854775808 does not fit BIGINT in `SUM(a)` [WEIR-4001]"},
		{"INSERT INTO m SELECT s * 4 FROM (VALUES 2000000000) AS t(s)", "1:22: integer overflow: 2000000000 * 4 does not fit INT in `s * 4` [WEIR-4001]"},
		{"SELECT q FROM v", "division by zero in `(10 / (EXPR$0 - 1))` [WEIR-4001]"}, // written in another statement
		{"SELECT b FROM m", "division by zero in `(10 / a)` [WEIR-4001]"},
		{"SELECT CAST('a\x00\x1b' AS INT)", `1:8: not an INT: 'a\x00\x1b' in ` + "`CAST('a" + `\x00\x1b` + "' AS INT)` [WEIR-4001]"},
	} {
		err := db.Exec(ctx, tt.sql)
		var e *weir.Error
		if !errors.As(err, &e) || e.Error() != tt.want {
			t.Errorf("%q:\n got %v\nwant %s", tt.sql, err, tt.want)
			continue
		}
		if r := e.Render(tt.sql, "f"); strings.ContainsAny(r, "\x00\x1b") {
			t.Errorf("%q: rendered %q", tt.sql, r)
		}
		if text := tt.sql[e.Offset:e.End]; e.Line > 0 && !strings.HasPrefix(strings.Join(strings.Fields(tt.sql[e.Offset:]), " "), strings.Join(strings.Fields(text), " ")) {
			t.Errorf("%q: the place is %q", tt.sql, text)
		}
	}
}
