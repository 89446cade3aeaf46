package connectors

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// CheckOptions checks names and values of the options of a table against what its connector and formats know. An option that nobody knows is an error
// with the nearest name; so are a missing required option and a value of the wrong type. After it the Get functions below cannot fail.
// owner is for messages: "connector 'filesystem'". The option 'connector' is always known.
func CheckOptions(owner string, given map[string]string, known ...[]Option) error {
	names := make([]string, 0, len(given))
	for name := range given {
		names = append(names, name)
	}
	sort.Strings(names) // the same error on every run
	for _, name := range names {
		if name == "connector" {
			continue
		}
		o, ok := findOption(name, known)
		if !ok {
			return unknownOption(owner, name, known)
		}
		if err := checkValue(o, name, given[name]); err != nil {
			return err
		}
	}
	for _, list := range known {
		for _, o := range list {
			if _, ok := given[o.Name]; o.Required && !ok {
				return fmt.Errorf("%s needs the option '%s': %s", owner, o.Name, o.Doc)
			}
		}
	}
	return nil
}

// NeedsOption is the error of a missing option, for what must be known before CheckOptions can be called: "connector 'kafka' needs the option 'format'",
// with why behind, or the option that nobody knows and that was meant to be it.
func NeedsOption(owner, name, why string, given map[string]string, known ...[]Option) error {
	names := make([]string, 0, len(given))
	for n := range given {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		if _, ok := findOption(n, known); !ok && Nearest(n, []string{name}) != "" {
			return fmt.Errorf("unknown option '%s' of %s; did you mean '%s'?", n, owner, name)
		}
	}
	return fmt.Errorf("%s needs the option '%s'%s", owner, name, why)
}

func findOption(name string, known [][]Option) (Option, bool) {
	for _, list := range known {
		for _, o := range list {
			if o.Name == name || matchesPattern(o.Name, name) {
				return o, true
			}
		}
	}
	return Option{}, false
}

// matchesPattern matches "fields.#.kind", where # is any column name (dots included).
func matchesPattern(pattern, name string) bool {
	before, after, ok := strings.Cut(pattern, "#")
	return ok && len(name) > len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}

func unknownOption(owner, name string, known [][]Option) error {
	var all []string
	for _, list := range known {
		for _, o := range list {
			all = append(all, o.Name)
		}
	}
	if near := Nearest(name, all); near != "" {
		return fmt.Errorf("unknown option '%s' of %s; did you mean '%s'?", name, owner, near)
	}
	sort.Strings(all)
	return fmt.Errorf("unknown option '%s' of %s; it takes: %s", name, owner, strings.Join(all, ", "))
}

func checkValue(o Option, name, value string) error {
	var err error
	switch o.Type {
	case "string", "":
		return nil
	case "integer":
		_, err = strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fmt.Errorf("option '%s': '%s' is not an integer", name, value)
		}
	case "double":
		var f float64
		f, err = strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("option '%s': '%s' is not a number", name, value)
		}
	case "boolean":
		if !strings.EqualFold(value, "true") && !strings.EqualFold(value, "false") {
			return fmt.Errorf("option '%s': '%s' is not a boolean: write 'true' or 'false'", name, value)
		}
	case "duration":
		if _, err = ParseDuration(value); err != nil {
			return fmt.Errorf("option '%s': %w", name, err)
		}
	case "size":
		if _, err = ParseSize(value); err != nil {
			return fmt.Errorf("option '%s': %w", name, err)
		}
	default: // the values joined by |
		values := strings.Split(o.Type, "|")
		for _, v := range values {
			if strings.EqualFold(v, value) {
				return nil
			}
		}
		return fmt.Errorf("option '%s': '%s' is not one of %s", name, value, strings.Join(values, ", "))
	}
	return nil
}

// GetString returns an option, or def.
func GetString(given map[string]string, name, def string) string {
	if v, ok := given[name]; ok {
		return v
	}
	return def
}

// GetBool returns a boolean option that CheckOptions has checked, or def.
func GetBool(given map[string]string, name string, def bool) bool {
	if v, ok := given[name]; ok {
		return strings.EqualFold(v, "true")
	}
	return def
}

// GetInt returns an integer option that CheckOptions has checked, or def.
func GetInt(given map[string]string, name string, def int64) int64 {
	if v, ok := given[name]; ok {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n
		}
	}
	return def
}

// GetDuration returns a duration option that CheckOptions has checked, or def.
func GetDuration(given map[string]string, name string, def time.Duration) time.Duration {
	if v, ok := given[name]; ok {
		if d, err := ParseDuration(v); err == nil {
			return d
		}
	}
	return def
}

// GetSize returns a size option in bytes that CheckOptions has checked, or def.
func GetSize(given map[string]string, name string, def int64) int64 {
	if v, ok := given[name]; ok {
		if n, err := ParseSize(v); err == nil {
			return n
		}
	}
	return def
}

// GetEnum returns an option in the spelling of one of values (they are compared without case), or def.
func GetEnum(given map[string]string, name, def string, values ...string) string {
	v, ok := given[name]
	if !ok {
		return def
	}
	for _, w := range values {
		if strings.EqualFold(v, w) {
			return w
		}
	}
	return def
}

// FormatOptions returns the options of given that begin with "prefix.", without it.
func FormatOptions(given map[string]string, prefix string) map[string]string {
	out := map[string]string{}
	for name, v := range given {
		if rest, ok := strings.CutPrefix(name, prefix+"."); ok {
			out[rest] = v
		}
	}
	return out
}

// PrefixOptions returns options with "prefix." in front of their names.
func PrefixOptions(prefix string, options []Option) []Option {
	out := make([]Option, len(options))
	for i, o := range options {
		o.Name = prefix + "." + o.Name
		out[i] = o
	}
	return out
}

var durationUnits = map[string]time.Duration{
	"ns": 1, "nano": 1, "nanos": 1, "nanosecond": 1, "nanoseconds": 1,
	"us": time.Microsecond, "µs": time.Microsecond, "micro": time.Microsecond, "micros": time.Microsecond, "microsecond": time.Microsecond, "microseconds": time.Microsecond,
	"": time.Millisecond, "ms": time.Millisecond, "milli": time.Millisecond, "millis": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
}

// ParseDuration reads a duration as Flink's options have it: a whole number and a unit ("10 s", "1min", "500 ms"; without a unit milliseconds).
func ParseDuration(s string) (time.Duration, error) {
	n, unit, ok := numberUnit(s)
	u, known := durationUnits[unit]
	if !ok || !known {
		return 0, fmt.Errorf("'%s' is not a duration: write a number and a unit, such as '10 s', '5 min' or '200 ms'", s)
	}
	if n > math.MaxInt64/int64(u) {
		return 0, fmt.Errorf("the duration '%s' is too long", s)
	}
	return time.Duration(n) * u, nil
}

var sizeUnits = map[string]int64{
	"": 1, "b": 1, "bytes": 1,
	"k": 1 << 10, "kb": 1 << 10, "kibibytes": 1 << 10, "kib": 1 << 10,
	"m": 1 << 20, "mb": 1 << 20, "mebibytes": 1 << 20, "mib": 1 << 20,
	"g": 1 << 30, "gb": 1 << 30, "gibibytes": 1 << 30, "gib": 1 << 30,
	"t": 1 << 40, "tb": 1 << 40, "tebibytes": 1 << 40, "tib": 1 << 40,
}

// ParseSize reads a size as Flink's options have it: a whole number and a unit ("128 mb", "64kb"; without a unit bytes). A kb is 1024 bytes.
func ParseSize(s string) (int64, error) {
	n, unit, ok := numberUnit(s)
	u, known := sizeUnits[unit]
	if !ok || !known {
		return 0, fmt.Errorf("'%s' is not a size: write a number and a unit, such as '128 mb' or '64 kb'", s)
	}
	if n > math.MaxInt64/u {
		return 0, fmt.Errorf("the size '%s' is too large", s)
	}
	return n * u, nil
}

func numberUnit(s string) (int64, string, bool) {
	s = strings.TrimSpace(s)
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	n, err := strconv.ParseInt(s[:i], 10, 64)
	return n, strings.ToLower(strings.TrimSpace(s[i:])), err == nil
}

// Nearest returns the name of names that is closest to name by edits, or "" when none is near enough to be meant.
func Nearest(name string, names []string) string {
	best, bestAt := "", 1+max(1, len(name)/3)
	low := strings.Map(unicode.ToLower, name)
	for _, n := range names {
		if d := editDistance(low, strings.ToLower(n), bestAt); d < bestAt {
			best, bestAt = n, d
		}
	}
	return best
}

// editDistance is Damerau's distance (neighbours may be swapped); it may stop at limit.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	var prev2 []int
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur := make([]int, len(b)+1)
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev = prev, cur
	}
	return prev[len(b)]
}
