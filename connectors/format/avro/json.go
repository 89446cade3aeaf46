package avro

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hamba/avro/v2"

	"github.com/weir-sql/weir/types"
)

// Avro's JSON encoding of messages ('avro.encoding' = 'json'): the value of a union that is not null stands in an object under the name of its type, bytes
// are a string with a character U+0000 to U+00FF for each. A message is turned into Avro's binary encoding and back, so that types have one code. Fields may
// come in any order, and those that are none of the schema's are skipped, as in Flink; what Flink reads as something else in silence (a fraction as an int, a
// field that is there twice, more text behind the record) is an error here. Infinity and NaN are strings, as Flink writes them.

var errFiles = errors.New("'avro.encoding' = 'json' is for messages; a file is Avro's container, which is binary")

// fromJSON appends the binary encoding of a record.
func fromJSON(dst []byte, s Schema, text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return dst, errors.New("the text is not UTF-8")
	}
	in := jsonText{json.NewDecoder(bytes.NewReader(text))}
	in.UseNumber()
	dst, err := in.value(dst, s)
	if err != nil {
		return dst, err
	}
	if _, err := in.Token(); err != io.EOF {
		return dst, errors.New("something is left behind the record")
	}
	return dst, nil
}

// jsonText is the text of a record on its way into binary.
type jsonText struct{ *json.Decoder }

func (in jsonText) next() (json.Token, error) {
	t, err := in.Token()
	if err == io.EOF {
		return nil, errShort
	}
	return t, err
}

// value appends the next value of the text, which has to be one of s.
func (in jsonText) value(dst []byte, s Schema) ([]byte, error) {
	t, err := in.next()
	if err != nil {
		return dst, err
	}
	return in.rest(dst, deref(s), t)
}

// rest appends the value that begins with t.
func (in jsonText) rest(dst []byte, s Schema, t json.Token) ([]byte, error) {
	switch s := s.(type) {
	case *avro.UnionSchema:
		return in.union(dst, s, t)
	case *avro.RecordSchema:
		return in.record(dst, s, t)
	case *avro.ArraySchema:
		if t != json.Delim('[') {
			return dst, wants("an array", t)
		}
		return in.items(dst, func(dst []byte) ([]byte, error) { return in.value(dst, s.Items()) })
	case *avro.MapSchema:
		if t != json.Delim('{') {
			return dst, wants("an object", t)
		}
		return in.items(dst, func(dst []byte) ([]byte, error) {
			k, err := in.key()
			if err != nil {
				return dst, err
			}
			return in.value(append(appendLong(dst, int64(len(k))), k...), s.Values())
		})
	}
	return scalar(dst, s, t)
}

// items appends blocks of one item each, up to the end of the array or object.
func (in jsonText) items(dst []byte, item func(dst []byte) ([]byte, error)) ([]byte, error) {
	for in.More() {
		var err error
		if dst, err = item(appendLong(dst, 1)); err != nil {
			return dst, err
		}
	}
	_, err := in.next()
	return append(dst, 0), err
}

func (in jsonText) key() (string, error) {
	t, err := in.next()
	if err != nil {
		return "", err
	}
	k, ok := t.(string)
	if !ok {
		return "", wants("a name", t)
	}
	return k, nil
}

func (in jsonText) union(dst []byte, s *avro.UnionSchema, t json.Token) ([]byte, error) {
	var names []string
	for i, b := range s.Types() {
		names = append(names, nameOf(b))
		if t == nil && b.Type() == avro.Null {
			return appendLong(dst, int64(i)), nil
		}
	}
	if t == nil {
		return dst, errNull
	}
	if t != json.Delim('{') {
		return dst, wants("null or an object of the name of a type: "+strings.Join(names, ", "), t)
	}
	name, err := in.key()
	if err != nil {
		return dst, err
	}
	for i, b := range s.Types() {
		if nameOf(b) != name || b.Type() == avro.Null {
			continue
		}
		if dst, err = in.value(appendLong(dst, int64(i)), b); err != nil {
			return dst, err
		}
		end, err := in.next()
		if err == nil && end != json.Delim('}') {
			err = wants("the end of the object", end)
		}
		return dst, err
	}
	return dst, fmt.Errorf("'%s' is none of the types %s", types.Show([]byte(name), 80), strings.Join(names, ", "))
}

func (in jsonText) record(dst []byte, s *avro.RecordSchema, t json.Token) ([]byte, error) {
	if t != json.Delim('{') {
		return dst, wants("an object", t)
	}
	fields := s.Fields()
	values := make([][]byte, len(fields)) // they may come in another order
	for in.More() {
		name, err := in.key()
		if err != nil {
			return dst, err
		}
		at := -1
		for i, f := range fields {
			if f.Name() == name {
				at = i
			}
		}
		if at < 0 {
			var skipped json.RawMessage
			if err := in.Decode(&skipped); err != nil {
				return dst, err
			}
			continue
		}
		if values[at] != nil {
			return dst, fmt.Errorf("field %s: it is there twice", name)
		}
		if values[at], err = in.value([]byte{}, fields[at].Type()); err != nil {
			return dst, fmt.Errorf("field %s: %w", name, err)
		}
	}
	if _, err := in.next(); err != nil {
		return dst, err
	}
	for i, v := range values {
		if v == nil {
			return dst, fmt.Errorf("field %s: it is missing", fields[i].Name())
		}
		dst = append(dst, v...)
	}
	return dst, nil
}

func scalar(dst []byte, s Schema, t json.Token) ([]byte, error) {
	switch k := s.Type(); k {
	case avro.Null:
		if t == nil {
			return dst, nil
		}
	case avro.Boolean:
		if b, ok := t.(bool); ok {
			if b {
				return append(dst, 1), nil
			}
			return append(dst, 0), nil
		}
	case avro.Int, avro.Long:
		if n, ok := t.(json.Number); ok {
			bits := 64
			if k == avro.Int {
				bits = 32
			}
			v, err := whole(n.String(), bits)
			return appendLong(dst, v), err
		}
	case avro.Float, avro.Double:
		bits := 64
		if k == avro.Float {
			bits = 32
		}
		text, ok := t.(string)
		ok = ok && (text == "NaN" || text == "Infinity" || text == "-Infinity")
		if n, number := t.(json.Number); number {
			text, ok = n.String(), true
		}
		if ok {
			v, err := strconv.ParseFloat(text, bits)
			if err != nil {
				return dst, fmt.Errorf("%s is out of range", types.Show([]byte(text), 80))
			}
			if bits == 32 {
				return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v))), nil
			}
			return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v)), nil
		}
	case avro.String:
		if v, ok := t.(string); ok {
			return append(appendLong(dst, int64(len(v))), v...), nil
		}
	case avro.Bytes:
		if v, ok := t.(string); ok {
			b := make([]byte, 0, len(v))
			for _, r := range v {
				if r > 0xff {
					return dst, fmt.Errorf("%q is no byte: characters go to U+00FF", r)
				}
				b = append(b, byte(r))
			}
			return append(appendLong(dst, int64(len(b))), b...), nil
		}
	}
	return dst, wants("a value of "+string(s.Type()), t)
}

// whole reads a JSON number that may have a fraction of zeros or an exponent.
func whole(text string, bits int) (int64, error) {
	v, err := strconv.ParseInt(text, 10, bits)
	if err == nil {
		return v, nil
	}
	shown := types.Show([]byte(text), 80)
	f, _, err := big.ParseFloat(text, 10, 200, big.ToNearestEven)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s is no number of %d bits", shown, bits)
	case !f.IsInt():
		return 0, fmt.Errorf("%s is not a whole number", shown)
	}
	v, exact := f.Int64()
	if exact != big.Exact || bits == 32 && int64(int32(v)) != v {
		return 0, fmt.Errorf("%s is out of range", shown)
	}
	return v, nil
}

func wants(what string, t json.Token) error {
	got := fmt.Sprint(t)
	switch v := t.(type) {
	case nil:
		got = "null"
	case string:
		got = "'" + types.Show([]byte(v), 80) + "'"
	case json.Number:
		got = types.Show([]byte(v), 80)
	}
	return fmt.Errorf("%s should be there, not %s", what, got)
}

// nameOf is what a type is called in a union.
func nameOf(s Schema) string {
	if n, ok := deref(s).(avro.NamedSchema); ok {
		return n.FullName()
	}
	return string(s.Type())
}

// toJSON appends the JSON encoding of the value of s that b has at p, in binary, and returns the place behind it.
func toJSON(dst []byte, s Schema, b []byte, p int) ([]byte, int, error) {
	var err error
	s = deref(s)
	switch s := s.(type) {
	case *avro.UnionSchema:
		var i int64
		if i, p, err = long(b, p); err != nil {
			return dst, p, err
		}
		branch := s.Types()[i]
		if branch.Type() == avro.Null {
			return append(dst, "null"...), p, nil
		}
		dst = append(appendText(append(dst, '{'), nameOf(branch)), ':')
		dst, p, err = toJSON(dst, branch, b, p)
		return append(dst, '}'), p, err
	case *avro.RecordSchema:
		for i, f := range s.Fields() {
			dst = append(appendText(append(dst, "{,"[min(i, 1)]), f.Name()), ':')
			if dst, p, err = toJSON(dst, f.Type(), b, p); err != nil {
				return dst, p, err
			}
		}
		if len(s.Fields()) == 0 {
			dst = append(dst, '{')
		}
		return append(dst, '}'), p, nil
	case *avro.ArraySchema:
		dst, first := append(dst, '['), true
		p, err = blocks(b, p, func(p int) (_ int, err error) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst, p, err = toJSON(dst, s.Items(), b, p)
			return p, err
		})
		return append(dst, ']'), p, err
	case *avro.MapSchema:
		dst, first := append(dst, '{'), true
		p, err = blocks(b, p, func(p int) (int, error) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			k, p, err := chunk(b, p)
			if err != nil {
				return p, err
			}
			dst, p, err = toJSON(append(appendText(dst, string(k)), ':'), s.Values(), b, p)
			return p, err
		})
		return append(dst, '}'), p, err
	}
	switch s.Type() {
	case avro.Null:
		return append(dst, "null"...), p, nil
	case avro.Boolean:
		return strconv.AppendBool(dst, b[p] != 0), p + 1, nil
	case avro.Int, avro.Long:
		v, p, err := long(b, p)
		return strconv.AppendInt(dst, v, 10), p, err
	case avro.Float:
		return appendFloat(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(b[p:]))), 32), p + 4, nil
	case avro.Double:
		return appendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(b[p:])), 64), p + 8, nil
	case avro.String:
		v, p, err := chunk(b, p)
		return appendText(dst, string(v)), p, err
	case avro.Bytes:
		v, p, err := chunk(b, p)
		text := make([]rune, len(v))
		for i, x := range v {
			text[i] = rune(x)
		}
		return appendText(dst, string(text)), p, err
	}
	return dst, p, fmt.Errorf("no JSON for %s", s.Type())
}

func appendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Infinity"`...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits)
}

// appendText appends a JSON string; as in Flink only what has to be escaped is.
func appendText(dst []byte, s string) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string has a form
	return append(dst, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}
