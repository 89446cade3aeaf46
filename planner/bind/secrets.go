package bind

import (
	"regexp"
	"strings"
)

// Secret tells by its name that an option's value is not to be shown.
func Secret(key string) bool {
	key = strings.ToLower(key)
	for _, word := range []string{"password", "passwd", "secret", "jaas", "token", "user-info", "keystore.key", "apikey", "api-key", "access-key", "access.key"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return false
}

// ShownValue is what may be seen of an option's value.
func ShownValue(key, value string) string {
	if Secret(key) {
		return "******"
	}
	return hideLogins(value)
}

// secretPair begins in the key of an option, not at its quote: a quote that is missing before it must not hide the key.
var secretPair = regexp.MustCompile(`([^'\s]+)'\s*=?\s*'((?:[^']|'')*)`)

// logins are passwords whatever the option is called and wherever a quote is missing: those of JAAS, and of addresses (http://user:password@host).
var logins = regexp.MustCompile(`(?i)password\s*=\s*"((?:[^"\\]|\\.)*)|://[^\s:/@'"]*:([^\s/'"]+)@`)

// HideSecrets puts asterisks in the place of what stands in statements for options whose names say that they are secrets (passwords, logins, keys), and of
// passwords in other places, so that they can be shown. Places and lines stay the same.
func HideSecrets(sql string) string {
	out := []byte(sql)
	for at := 0; ; {
		m := secretPair.FindStringSubmatchIndex(sql[at:])
		if m == nil {
			return hideLogins(string(out))
		}
		if !Secret(sql[at+m[2] : at+m[3]]) {
			at += m[3] // its value may be the key of another
			continue
		}
		blank(out[at+m[4] : at+m[5]])
		at += m[5]
	}
}

func hideLogins(s string) string {
	out := []byte(s)
	for _, m := range logins.FindAllStringSubmatchIndex(s, -1) {
		for i := 2; i < len(m); i += 2 {
			if m[i] >= 0 {
				blank(out[m[i]:m[i+1]])
			}
		}
	}
	return string(out)
}

func blank(b []byte) {
	for i, c := range b {
		if c != '\n' && c != '\r' {
			b[i] = '*'
		}
	}
}
