package weir

import (
	"regexp"
	"strings"

	"github.com/weir-sql/weir/planner/bind"
)

var optionPair = regexp.MustCompile(`'((?:[^']|'')*)'(\s*=?\s*)'((?:[^']|'')*)'`)

// HideSecrets puts asterisks in the place of what stands in statements for options whose names say that they are secrets (passwords, logins, keys), so that
// they can be shown. Places and lines stay the same.
func HideSecrets(sql string) string {
	var b strings.Builder
	from := 0
	for _, m := range optionPair.FindAllStringSubmatchIndex(sql, -1) {
		if !bind.Secret(sql[m[2]:m[3]]) {
			continue
		}
		b.WriteString(sql[from:m[6]])
		for _, c := range []byte(sql[m[6]:m[7]]) {
			if c != '\n' && c != '\r' {
				c = '*'
			}
			b.WriteByte(c)
		}
		from = m[7]
	}
	if from == 0 {
		return sql
	}
	b.WriteString(sql[from:])
	return b.String()
}
