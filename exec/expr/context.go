package expr

import (
	"time"

	"github.com/weir-sql/weir/types"
)

// scratch is what a Context keeps between batches: memory to reuse and caches.
type scratch struct {
	selections [][]int32
	blocks     []byte // see blockOf
	conv       *types.ZoneConv
	regexps    map[string]*javaRegexp
}

// selection lends an empty selection vector with room for n rows; give it back with putSelection.
func (s *scratch) selection(n int) []int32 {
	if k := len(s.selections); k > 0 {
		v := s.selections[k-1]
		s.selections = s.selections[:k-1]
		if cap(v) >= n {
			return v[:0]
		}
	}
	return make([]int32, 0, max(n, 64))
}

func (s *scratch) putSelection(v []int32) {
	if cap(v) > 0 && len(s.selections) < 16 {
		s.selections = append(s.selections, v)
	}
}

// zone is the session zone.
func (c *Context) zone() *time.Location {
	if c.Zone == nil {
		return time.UTC
	}
	return c.Zone
}

// zoneConv converts between instants and the wall clock of the session zone.
func (c *Context) zoneConv() *types.ZoneConv {
	if c.conv == nil || c.conv.Zone() != c.zone() {
		c.conv = types.NewZoneConv(c.zone())
	}
	return c.conv
}

// regexp compiles a pattern that is no constant, with a bounded cache.
func (c *Context) regexp(pattern string, compile func(string) (*javaRegexp, error)) (*javaRegexp, error) {
	if re, ok := c.regexps[pattern]; ok {
		return re, nil
	}
	re, err := compile(pattern)
	if err != nil {
		return nil, err
	}
	if c.regexps == nil || len(c.regexps) >= 256 {
		c.regexps = map[string]*javaRegexp{}
	}
	c.regexps[pattern] = re
	return re, nil
}
