package expr

import (
	"net/netip"
	"strconv"
	"strings"
)

// parseURL is PARSE_URL; a text that is no URL, or lacks the part, gives NULL. Parts are not decoded.
func parseURL(s, part string) (string, error) {
	u, ok := javaURL(s)
	if !ok {
		return "", errNull
	}
	some := func(v *string) (string, error) {
		if v == nil {
			return "", errNull
		}
		return *v, nil
	}
	switch part {
	case "HOST":
		return u.host, nil
	case "PATH":
		return u.path, nil
	case "QUERY":
		return some(u.query)
	case "REF":
		return some(u.ref)
	case "PROTOCOL":
		return u.protocol, nil
	case "FILE":
		if u.query != nil {
			return u.path + "?" + *u.query, nil
		}
		return u.path, nil
	case "AUTHORITY":
		return some(u.authority)
	case "USERINFO":
		return some(u.userInfo)
	}
	return "", errNull
}

// urlParts is what java.net.URL makes of a text.
type urlParts struct {
	protocol, host, path            string
	authority, userInfo, query, ref *string
}

// javaURL reads a URL as java.net.URL does: blanks and whatever else may stand anywhere, but the protocol has to be one that Java knows.
func javaURL(s string) (u urlParts, ok bool) {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	if len(s) >= 4 && strings.EqualFold(s[:4], "url:") {
		s = s[4:]
	}
	protocol, rest, _ := strings.Cut(s, ":")
	u.protocol = strings.ToLower(protocol)
	switch u.protocol {
	case "http", "https", "ftp", "file", "mailto", "jrt", "jmod":
	case "jar":
		if !strings.Contains(rest, "!/") {
			return u, false
		}
	default:
		return u, false
	}
	cut := func(text, sep string) (string, *string) {
		before, after, found := strings.Cut(text, sep)
		if !found {
			return text, nil
		}
		return before, &after
	}
	rest, u.ref = cut(rest, "#")
	rest, u.query = cut(rest, "?")
	if strings.HasPrefix(rest, "//") && !strings.HasPrefix(rest, "////") {
		rest = rest[2:]
		end := strings.IndexByte(rest, '/')
		if end < 0 {
			end = len(rest)
		}
		authority := rest[:end]
		rest = rest[end:]
		u.authority = &authority
		if u.host, u.userInfo, ok = javaHost(authority); !ok {
			return u, false
		}
	}
	u.path = rest
	return u, true
}

// javaHost splits [user@]host[:port].
func javaHost(authority string) (host string, user *string, ok bool) {
	host = authority
	if i := strings.IndexByte(authority, '@'); i >= 0 {
		if strings.LastIndexByte(authority, '@') != i {
			return "", nil, true
		}
		name := authority[:i]
		host, user = authority[i+1:], &name
	}
	port := ""
	if strings.HasPrefix(host, "[") {
		end := strings.IndexByte(host, ']')
		if end <= 2 {
			return "", nil, false
		}
		if ip, err := netip.ParseAddr(host[1:end]); err != nil || !ip.Is6() {
			return "", nil, false
		}
		behind := host[end+1:]
		host = host[:end+1]
		if behind != "" && behind[0] != ':' {
			return "", nil, false
		}
		port = strings.TrimPrefix(behind, ":")
	} else {
		host, port, _ = strings.Cut(host, ":")
	}
	if port != "" {
		if n, err := strconv.ParseInt(port, 10, 32); err != nil || n < -1 {
			return "", nil, false
		}
	}
	return host, user, true
}
