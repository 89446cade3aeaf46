package weir

import (
	"regexp"

	"github.com/weir-sql/weir/planner/bind"
)

// secretPair begins in the key of an option, not at its quote: a quote that is missing before it must not hide the key.
var secretPair = regexp.MustCompile(`([^'\s]+)'\s*=?\s*'((?:[^']|'')*)`)

// HideSecrets puts asterisks in the place of what stands in statements for options whose names say that they are secrets (passwords, logins, keys), so that
// they can be shown. Places and lines stay the same.
func HideSecrets(sql string) string {
	out := []byte(sql)
	for at := 0; ; {
		m := secretPair.FindStringSubmatchIndex(sql[at:])
		if m == nil {
			return string(out)
		}
		if !bind.Secret(sql[at+m[2] : at+m[3]]) {
			at += m[3] // its value may be the key of another
			continue
		}
		for i := at + m[4]; i < at+m[5]; i++ {
			if out[i] != '\n' && out[i] != '\r' {
				out[i] = '*'
			}
		}
		at += m[5]
	}
}
