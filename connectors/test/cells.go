package test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-sql/weir/types"
)

type textCell struct {
	text   string
	quoted bool
}

func (c textCell) null() bool { return !c.quoted && c.text == "NULL" }

// splitCells splits a line of CSV.
func splitCells(line string) ([]textCell, error) {
	var out []textCell
	for {
		if !strings.HasPrefix(line, `"`) {
			cell, rest, more := strings.Cut(line, ",")
			out = append(out, textCell{text: cell})
			if !more {
				return out, nil
			}
			line = rest
			continue
		}
		var b strings.Builder
		line = line[1:]
		for {
			i := strings.IndexByte(line, '"')
			if i < 0 {
				return nil, fmt.Errorf("a quote is not closed")
			}
			b.WriteString(line[:i])
			line = line[i+1:]
			if !strings.HasPrefix(line, `"`) {
				break
			}
			b.WriteByte('"')
			line = line[1:]
		}
		out = append(out, textCell{b.String(), true})
		if line == "" {
			return out, nil
		}
		if line[0] != ',' {
			return nil, fmt.Errorf("text behind a closing quote: %s", line)
		}
		line = line[1:]
	}
}

// parseCell reads a cell as CAST from STRING does; ARRAY, MAP, MULTISET and ROW are JSON.
func parseCell(s string, t types.Type, zone *time.Location) (any, error) {
	if !t.IsNested() {
		if t.IsInterval() {
			return parseInterval(s, t)
		}
		return types.ParseValue([]byte(s), t, zone)
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(s)))
	dec.UseNumber()
	v, err := ordered(dec)
	if err != nil {
		return nil, fmt.Errorf("a cell of type %s is written as JSON: %w", t, err)
	}
	return fromJSON(v, t, zone)
}

func parseInterval(s string, t types.Type) (any, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("an interval is written as a number of months, or of milliseconds, not '%s'", s)
	}
	if t.Kind == types.IntervalYearMonth {
		return types.MonthsVal(n), nil
	}
	return types.DurationVal(n * types.MicrosPerMilli), nil
}

// member is a name and value of a JSON object, in order.
type member struct {
	name  string
	value any
}

// ordered reads a JSON value; objects are []member.
func ordered(dec *json.Decoder) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := ordered(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = dec.Token()
		return list, err
	case json.Delim('{'):
		list := []member{}
		for dec.More() {
			name, err := dec.Token()
			if err != nil {
				return nil, err
			}
			v, err := ordered(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, member{fmt.Sprint(name), v})
		}
		_, err = dec.Token()
		return list, err
	}
	return tok, nil
}

func fromJSON(v any, t types.Type, zone *time.Location) (any, error) {
	if v == nil {
		return nil, nil
	}
	bad := fmt.Errorf("the JSON does not fit the type %s", t)
	switch t.Kind {
	case types.Array:
		list, ok := v.([]any)
		if !ok {
			return nil, bad
		}
		out := make([]any, len(list))
		for i, e := range list {
			var err error
			if out[i], err = fromJSON(e, *t.Elem, zone); err != nil {
				return nil, err
			}
		}
		return out, nil
	case types.Map, types.Multiset:
		list, ok := v.([]member)
		if !ok {
			return nil, bad
		}
		key, val := t.Key, t.Elem
		if t.Kind == types.Multiset {
			key, val = t.Elem, &types.IntType
		}
		out := types.MapVal{}
		for _, m := range list {
			k, err := parseCell(m.name, *key, zone)
			if err != nil {
				return nil, err
			}
			e, err := fromJSON(m.value, *val, zone)
			if err != nil {
				return nil, err
			}
			out = append(out, types.MapEntry{Key: k, Val: e})
		}
		return out, nil
	case types.Row:
		out := make(types.RowVal, len(t.Fields))
		switch list := v.(type) {
		case []any: // by position
			if len(list) != len(t.Fields) {
				return nil, bad
			}
			for i, e := range list {
				var err error
				if out[i], err = fromJSON(e, t.Fields[i].Type, zone); err != nil {
					return nil, err
				}
			}
			return out, nil
		case []member:
			for _, m := range list {
				i := 0
				for i < len(t.Fields) && t.Fields[i].Name != m.name {
					i++
				}
				if i == len(t.Fields) {
					return nil, fmt.Errorf("the type %s has no field %s", t, m.name)
				}
				var err error
				if out[i], err = fromJSON(m.value, t.Fields[i].Type, zone); err != nil {
					return nil, err
				}
			}
			return out, nil
		}
		return nil, bad
	}
	switch v.(type) {
	case []any, []member:
		return nil, bad
	}
	return parseCell(fmt.Sprint(v), t, zone)
}
