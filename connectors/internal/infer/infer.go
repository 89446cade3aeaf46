// Package infer guesses column types from values: integers are BIGINT (DECIMAL(38, 0) where that is too small), numbers with a fraction DOUBLE, true and
// false BOOLEAN, days DATE, timestamps TIMESTAMP(3), or (6) or (9) where there are more digits, and TIMESTAMP_LTZ where they have a time zone. Columns of
// mixed values, and those that have none, are STRING.
package infer

import (
	"bytes"
	"math"
	"strconv"

	"github.com/weir-sql/weir/types"
)

// Guess is what is known about a column so far. The zero Guess has seen nothing.
type Guess struct {
	kind   kind
	digits int    // of fractions of seconds
	Elem   *Guess // of arrays
	Fields *Fields
}

// Fields are the members of objects, in order of appearance.
type Fields struct {
	Names []string
	Types []*Guess
	index map[string]int
}

// Get returns the guess for a member.
func (f *Fields) Get(name []byte) *Guess {
	if i, ok := f.index[string(name)]; ok {
		return f.Types[i]
	}
	if f.index == nil {
		f.index = map[string]int{}
	}
	f.index[string(name)] = len(f.Names)
	f.Names = append(f.Names, string(name))
	f.Types = append(f.Types, &Guess{})
	return f.Types[len(f.Types)-1]
}

type kind uint8

const (
	none kind = iota
	boolean
	integer
	bigInteger
	double
	date
	timestamp
	instant
	text
	array
	object
)

// Known reports whether a value was seen.
func (g *Guess) Known() bool { return g.kind != none }

// IsText reports whether only STRING fits.
func (g *Guess) IsText() bool { return g.kind == text }

func (g *Guess) add(k kind) {
	switch {
	case g.kind == k || k == none:
	case g.kind == none:
		g.kind = k
	case isNumber(g.kind) && isNumber(k):
		g.kind = max(g.kind, k) // integer < bigInteger < double
	default:
		g.kind = text
	}
}

func isNumber(k kind) bool { return k == integer || k == bigInteger || k == double }

// Bool has seen true or false.
func (g *Guess) Bool() { g.add(boolean) }

// Number has seen a number.
func (g *Guess) Number(b []byte) {
	k, _ := numberKind(b)
	g.add(k)
}

// Array has seen an array and returns the guess for its elements.
func (g *Guess) Array() *Guess {
	g.add(array)
	if g.Elem == nil {
		g.Elem = &Guess{}
	}
	return g.Elem
}

// Object has seen an object and returns its members.
func (g *Guess) Object() *Fields {
	g.add(object)
	if g.Fields == nil {
		g.Fields = &Fields{}
	}
	return g.Fields
}

// String has seen quoted text: only times are more than text.
func (g *Guess) String(b []byte) {
	k, digits := timeKind(b)
	g.digits = max(g.digits, digits)
	g.add(k)
}

// Cell has seen unquoted text, which may stand for anything.
func (g *Guess) Cell(b []byte) {
	if bytes.EqualFold(b, []byte("true")) || bytes.EqualFold(b, []byte("false")) {
		g.add(boolean)
		return
	}
	if k, ok := numberKind(b); ok {
		g.add(k)
		return
	}
	g.String(b)
}

// numberKind tells what a number is. A number with leading zeros is text, since as a number it would lose them.
func numberKind(b []byte) (kind, bool) {
	s := b
	if len(s) > 0 && s[0] == '-' {
		s = s[1:]
	}
	if len(s) == 0 || s[0]-'0' > 9 || len(s) > 1 && s[0] == '0' && s[1]-'0' <= 9 {
		return text, false
	}
	whole := true
	for _, c := range s {
		if c-'0' > 9 {
			whole = false
			if c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-' {
				return text, false
			}
		}
	}
	if !whole {
		if f, err := strconv.ParseFloat(string(b), 64); err != nil || math.IsInf(f, 0) {
			return text, false
		}
		return double, true
	}
	if _, err := strconv.ParseInt(string(b), 10, 64); err == nil {
		return integer, true
	}
	if len(s) <= types.MaxDecimalPrecision {
		return bigInteger, true
	}
	return text, false
}

// timeKind tells days, timestamps and timestamps with a zone, which must be ones that the formats read.
func timeKind(b []byte) (k kind, digits int) {
	if len(b) < 10 || len(b) > 40 || b[4] != '-' || b[7] != '-' {
		return text, 0
	}
	if len(b) == 10 {
		if _, err := types.ParseDate(b); err == nil && b[8]-'0' <= 9 && b[9]-'0' <= 9 {
			return date, 0
		}
		return text, 0
	}
	if b[10] != ' ' && b[10] != 'T' {
		return text, 0
	}
	k = timestamp
	wall := b
	for i := 16; i < len(b); i++ { // behind yyyy-mm-ddThh:mm
		if b[i] == 'Z' || b[i] == '+' || b[i] == '-' {
			if !isZone(b[i:]) {
				return text, 0
			}
			k, wall = instant, b[:i]
			break
		}
	}
	if len(wall) == 16 {
		wall = append(append([]byte(nil), wall...), ":00"...)
	}
	p := types.TimestampParser{Precision: 6, Sep: b[10], Strict: true}
	if _, err := p.Parse(wall); err != nil {
		return text, 0
	}
	return k, max(0, len(wall)-20)
}

func isZone(z []byte) bool {
	if string(z) == "Z" {
		return true
	}
	digits := bytes.Replace(z[1:], []byte(":"), nil, 1)
	for _, c := range digits {
		if c-'0' > 9 {
			return false
		}
	}
	return (len(digits) == 2 || len(digits) == 4) && (len(z) == len(digits)+1 || len(z) == 6 && z[3] == ':') && digits[0] <= '1'
}

// Type returns the type for what was seen.
func (g *Guess) Type() types.Type {
	precision := 3
	switch {
	case g.digits > 6:
		precision = 9
	case g.digits > 3:
		precision = 6
	}
	switch g.kind {
	case boolean:
		return types.BooleanType
	case integer:
		return types.BigIntType
	case bigInteger:
		return types.DecimalOf(types.MaxDecimalPrecision, 0)
	case double:
		return types.DoubleType
	case date:
		return types.DateType
	case timestamp:
		return types.TimestampOf(precision)
	case instant:
		return types.TimestampLTZOf(precision)
	case array:
		return types.ArrayOf(g.Elem.Type())
	case object:
		if len(g.Fields.Names) == 0 {
			return types.StringType
		}
		var fs []types.Field
		for i, n := range g.Fields.Names {
			fs = append(fs, types.Field{Name: n, Type: g.Fields.Types[i].Type()})
		}
		return types.RowOf(fs...)
	}
	return types.StringType
}
